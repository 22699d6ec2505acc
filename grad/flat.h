// Derivatives of functions on flat leaves: the typed functions of grad.h call these.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/scan/body.h"
#include "heddle/trace/tensor.h"
#include "heddle/trace/tree.h"

namespace heddle::grad_internal {

using scan_internal::FlatBody;

// A function to differentiate.
struct FlatFunction {
  std::string_view what;  // the public function: "grad"
  std::string_view name;  // of a named Function; "" of any other callable
  FlatBody run;           // gives the leaves of its result, and its structure
  // For a named Function, which is traced once: its identity, a tag of its arguments' types, and
  // what the types do not say.
  scan_internal::Identity identity = {};
  const void* types = nullptr;
  std::string structure = {};
};

struct Point {
  std::vector<Tensor> leaves;   // of all arguments
  std::vector<bool> of;         // whether the derivative is by this leaf
  std::vector<TreeSpec> specs;  // of the arguments, for errors
};

struct Derived {
  std::vector<Tensor> results;
  TreeSpec spec;                    // of the results
  std::vector<Tensor> derivatives;  // grad: of the leaves in `of`; jvp: of the results
};

// A function to first order at a point. It is traced and run once, and may be applied any number of
// times. Copies share it.
class Linear {
 public:
  struct State;
  explicit Linear(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  // Tangents of the leaves -> of the results; cotangents of the results -> of the leaves in `of`.
  // The spec of tangents is a tuple of those of the arguments.
  // errors: Error naming what is of another structure, or the leaf that has another type
  [[nodiscard]] std::vector<Tensor> push(const std::vector<Tensor>& tangents,
                                         const TreeSpec& spec) const;
  [[nodiscard]] std::vector<Tensor> pull(const std::vector<Tensor>& cotangents,
                                         const TreeSpec& spec) const;
  // Of each along axis 0, all at once.
  [[nodiscard]] std::vector<Tensor> push_each(const std::vector<Tensor>& tangents) const;
  [[nodiscard]] std::vector<Tensor> pull_each(const std::vector<Tensor>& cotangents) const;

 private:
  std::shared_ptr<const State> state_;
};

// The value, and the gradient of its first leaf, a scalar.
// errors: Error if a leaf in `of` has integers, or if the first result is no scalar of floats; if
// an op has no derivative, naming it and its line
Derived gradient(const FlatFunction& fn, const Point& point);
// The value and its tangent.
Derived jvp(const FlatFunction& fn, const Point& point, const std::vector<Tensor>& tangents);
enum class Wanted : uint8_t { kAll, kFirst };  // the result, or the first of a pair
// The value, and the linear part of what is wanted.
std::pair<Derived, Linear> linearize(const FlatFunction& fn, const Point& point,
                                     Wanted wanted = Wanted::kAll);
// The transpose of a linear function. Nothing runs, and only the types of the leaves matter.
// errors: Error naming the op that is not linear and its line
Linear transposed(const FlatFunction& fn, const Point& point);

// The paths of all arguments' leaves: "arg0.w".
std::vector<std::string> paths_of(const Point& point);
// errors: Error naming a leaf in `of` that has no tangents
void require_floats(const Point& point);
// errors: Error that `name` is unlike what it belongs to, which is `whose`, and how
void require_structure(std::string_view name, const TreeSpec& have, const TreeSpec& want,
                       std::string_view whose);
// The tangent of argument `number`, a tree of the structure `spec`. types: of that argument's
// leaves, and maybe more behind.
// errors: Error if it is unlike the argument, and how
void require_tangent(std::string_view what, size_t number, std::span<const Tensor> tangent,
                     const TreeSpec& spec, const TreeSpec& argument, std::span<const Shape> types);
// Types of tensors.
std::vector<Shape> types_of(std::span<const Tensor> leaves);
// Whether a tensor has floats or complex numbers.
bool has_tangent(const Tensor& x);

// Checks derivatives; see check_grads().
struct CheckOptions {
  int64_t order = 2;
  bool reverse = true;
  bool forward = true;
  std::optional<double> step = {};
  std::optional<double> tolerance = {};
};
void check(const FlatFunction& fn, const Point& point, const CheckOptions& options);

// fn at the point, as one call. Reverse mode keeps its operands and what the policy saves
// (transform/derivatives.h).
Derived checkpointed(const FlatFunction& fn, const Point& point, std::string_view policy);
// x, under a name for policies.
Tensor named(const Tensor& x, std::string_view name);

// x, with derivative zero.
Tensor stopped(const Tensor& x);

}  // namespace heddle::grad_internal
