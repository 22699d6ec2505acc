// The trace of a function to transform, and calls of the result.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "heddle/grad/flat.h"
#include "heddle/scan/combine_cache.h"
#include "heddle/trace/recorder.h"

namespace heddle::grad_internal {

using scan_internal::Fragment;

// Its module, the structure of its result, and what it captured.
struct Trace {
  Fragment module;
  TreeSpec spec;
  std::vector<Shape> results;
  std::vector<Tensor> captures;
};

// like: the tensors that the parameters stand for, if there are any. numbers: what becomes of C++
// numbers that the function captures; where no trace runs around it, captures may be such numbers.
Trace traced(
    const FlatFunction& fn, const std::vector<Shape>& shapes, std::span<const Tensor> like,
    trace_internal::Recorder::Numbers numbers = trace_internal::Recorder::Numbers::kConstants);

std::vector<Tensor> with_captures(std::vector<Tensor> leaves, const Trace& trace);

std::vector<Tensor> call(std::string_view what, const Fragment& module,
                         std::vector<Tensor> operands,
                         const hlo::FrontendAttributes& attributes = {});

// The call for each element along axis 0 of the operands in `each`, of which there is one at least;
// those in `shared`, which stand before them, are the same for all.
std::vector<Tensor> call_each(std::string_view what, const Fragment& module,
                              std::vector<Tensor> shared, const std::vector<Tensor>& each);

// The custom call of `target` (hlo/calls/custom_derivative.h) on the point and the captures of the
// functions. The first function is its meaning.
Derived custom_call(const FlatFunction& fn, std::string_view target, const Point& point,
                    std::initializer_list<const Trace*> functions);

// errors: Error if leaves, which `what` names, have other types than wanted
void require_alike(std::string_view what, std::span<const Shape> have,
                   const std::vector<Shape>& want, const std::vector<std::string>& paths);

// Throws an error of a transform of the function. Equal traces are one, with the lines of the
// first; this makes the error with this trace's lines.
[[noreturn]] void throw_in_own_lines(const FlatFunction& fn, const std::vector<Shape>& types,
                                     std::span<const Tensor> like, const Status& status,
                                     base::FunctionRef<Status(const Fragment&)> make_again);

// The transpose of a module that is linear in the chosen parameters; the second time it is found.
// errors: as transform::transpose
StatusOr<Fragment> transpose_of(const Fragment& module, const std::vector<bool>& linear);

}  // namespace heddle::grad_internal
