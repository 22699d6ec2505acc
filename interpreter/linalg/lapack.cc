#include "heddle/hlo/calls/lapack.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "heddle/interpreter/linalg/internal/fortran.h"
#include "heddle/interpreter/linalg/internal/lapack.h"

namespace heddle::interpreter::linalg {
namespace {

thread_local std::string last_refusal;

}  // namespace

// LAPACK calls it by this name for an argument that is wrong, and so finds this function before its
// own, which writes the same line and ends the process. Weak, since a program may have one too.
extern "C" [[gnu::weak, gnu::visibility("default")]] void xerbla_(const char* name,
                                                                  const Int* number,
                                                                  size_t length) {
  const std::string routine(name, length);
  std::fprintf(stderr, " ** On entry to %s parameter number %2d had an illegal value\n",
               routine.c_str(), *number);
  last_refusal = base::cat(routine, ", argument ", *number);
}

std::string take_refusal() { return std::exchange(last_refusal, {}); }

StatusOr<Lapack> load_lapack(const char* library) {
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  bool complete = handle != nullptr;
  const auto find = [&](const char* name) {
    void* const found = complete ? dlsym(handle, name) : nullptr;
    complete = found != nullptr;
    return reinterpret_cast<Fortran>(found);
  };
  const Lapack out = {
#define HEDDLE_ROUTINE(real, complex)                                        \
  .real = {find("s" #real "_"), find("d" #real "_"), find("c" #complex "_"), \
           find("z" #complex "_")},
      HEDDLE_ROUTINES(HEDDLE_ROUTINE)
#undef HEDDLE_ROUTINE
  };
  if (complete) return out;
  return base::not_found("LAPACK could not be loaded: ", dlerror(),
                         "; install it (Debian: liblapack3)");
}

const StatusOr<Lapack>& lapack() {
  static const auto& loaded = *new StatusOr<Lapack>(load_lapack("liblapack.so.3"));
  return loaded;
}

namespace {

const LapackRoutine* find_routine(std::string_view target) {
  if (!hlo::is_lapack_target(target)) return nullptr;
  const std::optional<hlo::LapackName> name = hlo::lapack_name(target);
  for (const auto& routines : {lapack_factors(), lapack_values(), xla_calls()}) {
    const auto found =
        std::ranges::find(routines, name ? name->routine : target, &LapackRoutine::name);
    if (found != routines.end()) return &*found;
  }
  return nullptr;
}

LapackFunction function_for(const LapackRoutine& routine, DType dtype) {
  switch (dtype) {
    case f32: return routine.s;
    case f64: return routine.d;
    case c64: return routine.c;
    default: return routine.z;
  }
}

Status check(const CustomCall& call) {
  std::vector<const Shape*> operands;
  for (const Literal& each : call.operands()) operands.push_back(&each.shape());
  return hlo::check_lapack_call(call.instruction(), operands);
}

}  // namespace

CustomCallFunction find_lapack(std::string_view target) {
  const LapackRoutine* routine = find_routine(target);
  if (routine == nullptr) return nullptr;
  return [routine](CustomCall& call) -> StatusOr<Literal> {
    HEDDLE_RETURN_IF_ERROR(check(call));
    if (!routine->is_ours) HEDDLE_RETURN_IF_ERROR(lapack().status());
    (void)take_refusal();  // a user's own call of LAPACK may have left one
    StatusOr<Literal> out = function_for(*routine, call[0].shape().dtype())(call);
    if (const std::string refusal = take_refusal(); !refusal.empty())
      return base::internal_error("bug in heddle: LAPACK refuses ", refusal);
    return out;
  };
}

}  // namespace heddle::interpreter::linalg
