#include "heddle/hlo/lapack.h"

#include <algorithm>

#include "heddle/interpreter/linalg/internal/lapack.h"

namespace heddle::interpreter::linalg {

using hlo::lapack_name;
using hlo::LapackName;

namespace {

struct Letter {
  char letter;
  DType dtype;
};
constexpr Letter kLetters[] = {{'s', f32}, {'d', f64}, {'c', c64}, {'z', c128}};
constexpr std::string_view kPrefix = "lapack_";
constexpr std::string_view kSuffix = "_ffi";

LapackFunction function_for(const LapackRoutine& routine, DType dtype) {
  switch (dtype) {
    case f32: return routine.s;
    case f64: return routine.d;
    case c64: return routine.c;
    case c128: return routine.z;
    default: return nullptr;
  }
}

std::vector<LapackRoutine> all_routines() {
  std::vector<LapackRoutine> out(lapack_factors().begin(), lapack_factors().end());
  out.insert(out.end(), lapack_values().begin(), lapack_values().end());
  return out;
}

// The routine of this type, in the types that it computes in; null where there is none.
LapackFunction find_function(const LapackName& name) {
  for (const LapackRoutine& routine : all_routines()) {
    if (routine.name == name.routine) return function_for(routine, name.dtype);
  }
  return nullptr;
}

}  // namespace

CustomCallFunction find_lapack(std::string_view target) {
  const std::optional<LapackName> name = lapack_name(target);
  const LapackFunction function = name ? find_function(*name) : nullptr;
  if (function == nullptr) return nullptr;
  return [function, dtype = name->dtype](CustomCall& call) { return function(call, dtype); };
}

std::vector<std::string> lapack_targets() {
  std::vector<std::string> out;
  for (const LapackRoutine& routine : all_routines()) {
    for (const Letter& letter : kLetters) {
      if (function_for(routine, letter.dtype) != nullptr) {
        out.push_back(base::cat(kPrefix, letter.letter, routine.name, kSuffix));
      }
    }
  }
  return out;
}

}  // namespace heddle::interpreter::linalg
