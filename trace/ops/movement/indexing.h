// Indexing and sorting: x[i], x.at(i), take, sort and argsort, and HLO's gather and scatter in
// full.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/base/containers/ints.h"
#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/tensor.h"
#include "heddle/trace/tree_checks.h"

namespace heddle {

// What indices outside the array do. kClip takes the nearest element; kFill gives NaN (0 for
// integers and pred) when reading, and drops the update when writing.
enum class IndexMode : uint8_t { kClip, kFill };

// x's slices at `indices` along an axis: the axis is replaced by the axes of `indices` (integers;
// negative ones count from the end). errors: Error for indices that are no integers, an axis that x
// has not, and any index into an axis of size 0
Tensor take(Operand x, Operand indices, base::Int axis = 0, IndexMode mode = IndexMode::kClip);

// start:stop:step of one axis; what is left out reaches to the end. Negative positions count from
// the end.
struct Slice {
  std::optional<base::Int> start = {};
  std::optional<base::Int> stop = {};
  base::Int step = 1;
};

struct NewAxis {};   // an axis of size 1 that x has not
struct Ellipsis {};  // all of as many axes as the other entries leave over

namespace trace_internal {
template <class T>
constexpr void refuse_comma() {
  static_assert(!sizeof(std::type_identity<T>),
                "x[Slice{0, 1}, 1] would be x[1], since C++ takes the comma for an operator: write "
                "x[{Slice{0, 1}, 1}]");
}
template <class T>
constexpr void refuse_part() {
  static_assert(!sizeof(std::type_identity<T>),
                "x.at(..) is a part of x, and x stays as it is: write x = x.at({0}).add(1) for += "
                "1, and likewise .set(..), .subtract(..), .multiply(..), .divide(..)");
}
}  // namespace trace_internal

// x[Slice{0, 1}, 1] would be x[1]: C++20 takes the comma for an operator. Write x[{.., ..}].
template <class T>
Slice operator,(const Slice& slice, T&&) {
  trace_internal::refuse_comma<T>();
  return slice;
}
template <class T>
NewAxis operator,(NewAxis axis, T&&) {
  trace_internal::refuse_comma<T>();
  return axis;
}
template <class T>
Ellipsis operator,(Ellipsis rest, T&&) {
  trace_internal::refuse_comma<T>();
  return rest;
}

// One entry of x[{..}]: a position, a slice, a scalar integer tensor (a position that is a value),
// an integer tensor, a new axis (None{}, as numpy's None) or an ellipsis. Notes the caller's line.
class IndexEntry {
 public:
  template <class T>  // an integer, or an enum that is one without a cast
  requires((std::integral<T> || (std::is_enum_v<T> && std::is_convertible_v<T, int64_t>)) &&
           !std::same_as<T, bool>)
      IndexEntry(T position, SourceLocation at = SourceLocation::here())
      : value_(int64_t{base::Int(position)}), at_(at) {}
  template <class T>
  requires(std::same_as<T, bool> || std::floating_point<T>) IndexEntry(T) {
    static_assert(!sizeof(T),
                  "an index is an integer, a Slice, NewAxis{}, Ellipsis{} or a tensor of integers; "
                  "a mask is a tensor of pred, for where(..) or x.at(mask).set(..)");
  }
  IndexEntry(const Slice& slice, SourceLocation at = SourceLocation::here())
      : value_(slice), at_(at) {}
  IndexEntry(NewAxis axis, SourceLocation at = SourceLocation::here()) : value_(axis), at_(at) {}
  IndexEntry(None, SourceLocation at = SourceLocation::here()) : value_(NewAxis()), at_(at) {}
  IndexEntry(Ellipsis rest, SourceLocation at = SourceLocation::here()) : value_(rest), at_(at) {}
  IndexEntry(const Tensor& indices, SourceLocation at = SourceLocation::here())
      : value_(indices), at_(at) {}

  using Value = std::variant<int64_t, Slice, NewAxis, Ellipsis, Tensor>;
  [[nodiscard]] const Value& value() const { return value_; }
  [[nodiscard]] SourceLocation at() const { return at_; }

 private:
  Value value_;
  SourceLocation at_;
};

// x[i], x[{i, Slice{1, 4}, j}]: entries go to the leading axes, as numpy's do; positions remove
// their axis. Tensors of rank 1 or more broadcast together, and pick one element (or slice of the
// other axes) for each place of their common shape. Its axes stand where the tensors stood; in
// front where a slice, a new axis or an ellipsis stands between tensors or positions. Negative
// indices count from the end; a tensor's that are outside are clamped.
// errors: Error naming the axis, where a C++ position is out of range; also for more entries than
// axes, for two ellipses, for tensors that do not broadcast, and for masks (tensors of pred)
Tensor take_at(Operand x, const std::vector<IndexEntry>& entries);

// x.at(..).set(v) and the like: a new tensor, with the part at the entries replaced or combined
// with v (which broadcasts to it). Places where an index tensor is outside are
// left out, as in JAX (IndexMode::kFill): nothing is written there. Where places repeat, `set`
// leaves one of the values. A mask, a tensor of pred with the leading sizes of x, may be the only
// entry: v then broadcasts to the axes of x that the mask has not, with an axis of size 1 before
// them or none.
class [[nodiscard]] At {
 public:
  At(Tensor x, std::vector<IndexEntry> entries, SourceLocation at)
      : x_(std::move(x)), entries_(std::move(entries)), location_(at) {}
  [[nodiscard]] Tensor get() const;
  [[nodiscard]] Tensor set(Operand value) const;
  [[nodiscard]] Tensor add(Operand value) const;
  [[nodiscard]] Tensor subtract(Operand value) const;
  [[nodiscard]] Tensor multiply(Operand value) const;
  [[nodiscard]] Tensor divide(Operand value) const;
  [[nodiscard]] Tensor min(Operand value) const;
  [[nodiscard]] Tensor max(Operand value) const;

  // Of Tensors alone.
  template <class V>
  requires(!std::same_as<std::remove_cvref_t<V>, At>) void operator=(V&&) {
    trace_internal::refuse_part<V>();
  }
  template <class V>
  void operator+=(V&&) const {
    trace_internal::refuse_part<V>();
  }
  template <class V>
  void operator-=(V&&) const {
    trace_internal::refuse_part<V>();
  }
  template <class V>
  void operator*=(V&&) const {
    trace_internal::refuse_part<V>();
  }
  template <class V>
  void operator/=(V&&) const {
    trace_internal::refuse_part<V>();
  }

 private:
  Tensor x_;
  std::vector<IndexEntry> entries_;
  SourceLocation location_;
};
// The part of x at the entries, to be replaced or combined: x.at(..) as a function.
At at(const Tensor& x, std::vector<IndexEntry> entries,
      SourceLocation location = SourceLocation::here());

// Ascending along an axis; stable. A NaN is greater than every number, as in jax.numpy: the last,
// or descending the first. Complex numbers go by their real and then by their imaginary parts.
// errors: Error for an axis that x has not
Tensor sort(Operand x, base::Int axis = -1, base::Flag descending = false);
Tensor argsort(Operand x, base::Int axis = -1, base::Flag descending = false);  // s32: the order
// HLO's sort: several operands go together; `before` (a0, b0, a1, b1, ..) -> pred[] says whether a
// comes first.
std::vector<Tensor> sort_by(const std::vector<Tensor>& xs,
                            base::FunctionRef<Tensor(std::span<const Tensor>)> before,
                            base::Int axis = -1, base::Flag stable = true,
                            SourceLocation at = SourceLocation::here());

// HLO's gather and scatter; the fields are those of the HLO text, explained in docs/catalogue.md.
// index_vector_dim   the axis of the indices that has one for each axis of start_index_map (of
//                    scatter_dims_to_operand_dims); as JAX has it: the last one. The rank of the
//                    indices: each is of one axis
// errors: Error naming the rule of the dims or shapes that is broken
struct GatherDims {
  base::Ints offset_dims;
  base::Ints collapsed_slice_dims;
  base::Ints start_index_map;
  base::Ints operand_batching_dims = {};
  base::Ints start_indices_batching_dims = {};
  base::Int index_vector_dim = -1;
};
// HLO's gather: windows of x that begin at `start_indices`.
Tensor gather(Operand x, Operand start_indices, const GatherDims& dims,
              const base::Ints& slice_sizes);

struct ScatterDims {
  base::Ints update_window_dims;
  base::Ints inserted_window_dims;
  base::Ints scatter_dims_to_operand_dims;
  base::Ints input_batching_dims = {};
  base::Ints scatter_indices_batching_dims = {};
  base::Int index_vector_dim = -1;
  base::Flag unique_indices = false;
};
// `combine` (current, update) -> new, on scalars. Updates that would reach outside are left out.
Tensor scatter(Operand x, Operand indices, Operand updates, const ScatterDims& dims,
               base::FunctionRef<Tensor(const Tensor&, const Tensor&)> combine);

}  // namespace heddle
