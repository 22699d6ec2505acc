// Derivatives of functions on flat leaves: what the typed functions of grad.h hand down.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/function_ref.h"
#include "heddle/scan/body.h"
#include "heddle/trace/tensor.h"
#include "heddle/trace/tree.h"

namespace heddle::grad_internal {

using scan_internal::FlatBody;

// A function and what it is differentiated at.
struct FlatFunction {
  std::string_view what;  // the public function: "grad"
  std::string_view name;  // of a named Function; "" of any other callable
  FlatBody run;           // gives the leaves of its result, and its structure
  SourceLocation at;
  // Of a named Function, which is traced once: who it is, a tag of its arguments' types, and what
  // those do not say.
  scan_internal::Identity identity = {};
  const void* types = nullptr;
  std::string structure = {};
};

struct Point {
  std::vector<Tensor> leaves;   // of all arguments
  std::vector<bool> of;         // leaves by which it is differentiated
  std::vector<TreeSpec> specs;  // of the arguments, for errors
};

struct Derived {
  std::vector<Tensor> results;
  TreeSpec spec;                    // of the results
  std::vector<Tensor> derivatives;  // grad: of the leaves in `of`; jvp: of the results
};

// What a function is to first order at a point: it is traced and run once, and applied as often as
// wanted. Copies share it.
class Linear {
 public:
  struct State;
  explicit Linear(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  // Tangents of the leaves in `of` -> of the results; cotangents of the results -> of those leaves.
  // errors: Error naming the leaf that is of another type
  [[nodiscard]] std::vector<Tensor> push(const std::vector<Tensor>& tangents,
                                         const TreeSpec& spec) const;
  [[nodiscard]] std::vector<Tensor> pull(const std::vector<Tensor>& cotangents,
                                         const TreeSpec& spec) const;

 private:
  std::shared_ptr<const State> state_;
};

// The value, and the gradient of its first leaf, a scalar.
// errors: Error where a leaf in `of` is of integers, or the first result no scalar of floats; where
// an op has no derivative, naming it and its line
Derived gradient(const FlatFunction& fn, const Point& point);
// The value and its tangent.
Derived jvp(const FlatFunction& fn, const Point& point, const std::vector<Tensor>& tangents);
// The value, and what is linear.
std::pair<Derived, Linear> linearize(const FlatFunction& fn, const Point& point);
// The transpose of a function that is linear: nothing runs, and the leaves are looked at for their
// types alone. errors: Error naming what is not linear in it and its line
Linear transposed(const FlatFunction& fn, const Point& point);

// errors: Error where a leaf in `of` has no tangents, naming it
void require_floats(const FlatFunction& fn, const Point& point);
// errors: Error that a tangent is unlike its argument, and how
[[noreturn]] void throw_tangent(std::string_view what, const std::string& unlike,
                                SourceLocation at);
// errors: Error where the tangent of argument `number` is of another type than `leaf`
void require_tangent(std::string_view what, const Tensor& leaf, const Tensor& tangent,
                     size_t number, SourceLocation at);
// Whether a tensor is of floats or complex numbers.
bool has_tangent(const Tensor& x);

// Checks derivatives; see check_grads().
struct CheckOptions {
  int64_t order = 2;
  bool reverse = true;
  double step = 0;       // 0: by dtype
  double tolerance = 0;  // 0: by dtype
};
void check(const FlatFunction& fn, const Point& point, const CheckOptions& options);

// fn at the point, as one call of which reverse mode keeps the operands and what the policy saves
// (transform/derivatives.h).
Derived checkpointed(const FlatFunction& fn, const Point& point, std::string_view policy);
// x, under a name for policies.
Tensor named(const Tensor& x, std::string_view name, SourceLocation at);

// x, of which derivatives know nothing.
Tensor stopped(const Tensor& x, SourceLocation at);

}  // namespace heddle::grad_internal
