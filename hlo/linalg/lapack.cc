#include "heddle/hlo/linalg/internal/lapack.h"

#include <algorithm>

namespace heddle::hlo::linalg {
namespace {

struct Letter {
  char letter;
  DType dtype;
};
constexpr Letter kLetters[] = {{'s', f32}, {'d', f64}, {'c', c64}, {'z', c128}};
constexpr std::string_view kPrefix = "lapack_";
constexpr std::string_view kSuffix = "_ffi";

LapackFunction function_for(const LapackRoutine& routine, DType dtype) {
  if (dtype == c64 && routine.single_complex != nullptr) return routine.single_complex;
  if (is_complex(dtype)) return routine.complex;
  return dtype == f32 && routine.single != nullptr ? routine.single : routine.real;
}

std::vector<LapackRoutine> all_routines() {
  std::vector<LapackRoutine> out(lapack_factors().begin(), lapack_factors().end());
  out.insert(out.end(), lapack_values().begin(), lapack_values().end());
  return out;
}

}  // namespace

CustomCallFunction find_lapack(std::string_view target) {
  if (!target.starts_with(kPrefix) || !target.ends_with(kSuffix)) return nullptr;
  target.remove_prefix(kPrefix.size());
  if (target.size() <= kSuffix.size()) return nullptr;
  target.remove_suffix(kSuffix.size());
  const auto letter = std::ranges::find(kLetters, target[0], &Letter::letter);
  if (letter == std::end(kLetters)) return nullptr;
  for (const LapackRoutine& routine : all_routines()) {
    const LapackFunction function = function_for(routine, letter->dtype);
    if (routine.name != target.substr(1) || function == nullptr) continue;
    return [function, dtype = letter->dtype](CustomCall& call) { return function(call, dtype); };
  }
  return nullptr;
}

std::vector<std::string> lapack_targets() {
  std::vector<std::string> out;
  for (const LapackRoutine& routine : all_routines()) {
    for (const Letter& letter : kLetters) {
      if (function_for(routine, letter.dtype) != nullptr) {
        out.push_back(cat(kPrefix, letter.letter, routine.name, kSuffix));
      }
    }
  }
  return out;
}

}  // namespace heddle::hlo::linalg
