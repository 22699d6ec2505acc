#include "heddle/trace/indexing.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "heddle/hlo/attributes.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/elementwise.h"
#include "heddle/trace/error.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/reductions.h"
#include "heddle/trace/shaping.h"

namespace heddle {
namespace {

using hlo::Opcode;
using trace_internal::axis_of;
using trace_internal::emit;
using trace_internal::one_program;

// Indices from the end made positive; the dtype stays.
Tensor from_start(const Tensor& indices, int64_t size, SourceLocation at) {
  if (is_unsigned(indices.dtype())) return indices;
  return where({less({indices, at}, {0, at}), at}, {add({indices, at}, {size, at}), at},
               {indices, at});
}

void require_integers(std::string_view op, const Tensor& indices, SourceLocation at) {
  if (is_integer(indices.dtype())) return;
  throw Error(invalid_argument(op, ": indices are ", indices.shape(),
                               "; they must be integers, cast them with astype(s32)"),
              at);
}

Status nothing_to_take(std::string_view op, const Shape& shape, int64_t axis) {
  return invalid_argument(op, ": axis ", axis, " of ", shape,
                          " has size 0; there is nothing to take");
}

// Wide enough to hold any position of the axis.
Tensor widened(const Tensor& indices, SourceLocation at) {
  return bit_width(indices.dtype()) < 32 ? indices.astype(s32, at) : indices;
}

Tensor filled(const Tensor& taken, const Tensor& inside, int64_t axis, SourceLocation at) {
  Dimensions shape = taken.shape().dimensions();
  std::vector<int64_t> mapping;
  for (int64_t i = 0; i < inside.rank(); ++i) mapping.push_back(axis + i);
  Tensor mask = broadcast_in_dim({inside, at}, shape, mapping);
  bool has_nan = is_floating(taken.dtype()) || is_complex(taken.dtype());
  Tensor fill = has_nan ? full_like({taken, at}, {std::nan(""), at}) : zeros_like({taken, at});
  return where({mask, at}, {taken, at}, {fill, at});
}

}  // namespace

Tensor take(Operand operand, Operand which, int64_t axis, IndexMode mode) {
  Tensor x = as_tensor(operand);
  Tensor indices = as_tensor(which);
  SourceLocation at = operand.at();
  int64_t along = axis_of("take", x.shape(), axis, at);
  require_integers("take", indices, at);
  int64_t size = x.shape().dimension(along);
  if (size == 0 && indices.size() > 0) throw Error(nothing_to_take("take", x.shape(), axis), at);
  return one_program("take", at, [&] {
    Tensor positions = from_start(widened(indices, at), size, at);
    GatherDims dims{.offset_dims = {},
                    .collapsed_slice_dims = {along},
                    .start_index_map = {along},
                    .index_vector_dim = positions.rank()};
    for (int64_t i = 0; i < x.rank() - 1; ++i)
      dims.offset_dims.push_back(i < along ? i : i + positions.rank());
    Dimensions sizes = x.shape().dimensions();
    sizes[static_cast<size_t>(along)] = 1;
    Tensor taken = gather({x, at}, {positions, at}, dims, sizes);
    if (mode == IndexMode::kClip) return taken;
    Tensor inside = greater_equal({positions, at}, {0, at}) & less({positions, at}, {size, at});
    return filled(taken, inside, along, at);
  });
}

Tensor gather(Operand operand, Operand start_indices, const GatherDims& dims,
              const Dimensions& slice_sizes) {
  return emit(
      {.opcode = Opcode::kGather,
       .operands = {as_tensor(operand), as_tensor(start_indices)},
       .attrs = hlo::GatherAttrs{.offset_dims = dims.offset_dims,
                                 .collapsed_slice_dims = dims.collapsed_slice_dims,
                                 .start_index_map = dims.start_index_map,
                                 .operand_batching_dims = dims.operand_batching_dims,
                                 .start_indices_batching_dims = dims.start_indices_batching_dims,
                                 .index_vector_dim = dims.index_vector_dim,
                                 .slice_sizes = slice_sizes},
       .at = operand.at()});
}

Tensor scatter(Operand operand, Operand indices, Operand updates, const ScatterDims& dims,
               FunctionRef<Tensor(const Tensor&, const Tensor&)> combine) {
  Tensor x = as_tensor(operand);
  SourceLocation at = operand.at();
  Shape scalar = Shape::scalar(x.dtype());
  std::vector<Shape> scalars{scalar, scalar};
  auto fn = [&](std::span<const Tensor> t) { return std::vector<Tensor>{combine(t[0], t[1])}; };
  return emit(
      {.opcode = Opcode::kScatter,
       .operands = {x, as_tensor(indices), as_tensor(updates)},
       .attrs =
           hlo::ScatterAttrs{.update_window_dims = dims.update_window_dims,
                             .inserted_window_dims = dims.inserted_window_dims,
                             .scatter_dims_to_operand_dims = dims.scatter_dims_to_operand_dims,
                             .input_batching_dims = dims.input_batching_dims,
                             .scatter_indices_batching_dims = dims.scatter_indices_batching_dims,
                             .index_vector_dim = dims.index_vector_dim,
                             .unique_indices = dims.unique_indices},
       .called = {trace_internal::scalar_fragment("scatter", scalars, fn, at)},
       .at = at});
}

namespace {

// x[{..}] taken apart: a static slice with strides, then positions that are values, then at most
// one array of indices.
class Indexing {
 public:
  Indexing(const Tensor& x, const std::vector<IndexEntry>& entries, SourceLocation at)
      : x_(x), entries_(entries), at_(at) {
    if (static_cast<int64_t>(entries.size()) > x.rank()) {
      throw Error(invalid_argument("index: has ", entries.size(), " entries; x is ", x.shape(),
                                   ", give at most one an axis"),
                  at);
    }
  }

  [[nodiscard]] Tensor get() const {
    Tensor out = x_;
    int64_t axis = 0;
    for (const IndexEntry& entry : entries_)
      axis += std::visit([&](const auto& e) { return apply(e, axis, out); }, entry.value());
    return out;
  }

  // The shape of get() where no entry is a slice of a part or an array, and nothing recorded.
  [[nodiscard]] Dimensions block_shape() const {
    Dimensions shape;
    for (int64_t axis = 0; axis < x_.rank(); ++axis) {
      auto entry = static_cast<size_t>(axis);
      if (entry >= entries_.size() || std::holds_alternative<Slice>(entries_[entry].value()))
        shape.push_back(x_.dim(axis));
      else if (const int64_t* position = std::get_if<int64_t>(&entries_[entry].value()))
        (void)checked(*position, axis, x_.shape());
      else
        require_integers("index", std::get<Tensor>(entries_[entry].value()), at_);
    }
    return shape;
  }

  // The flat positions of the elements that get() picks, in its shape: what scatter needs, whatever
  // the entries are.
  [[nodiscard]] Tensor positions() const {
    DType dtype = x_.size() > INT32_MAX ? s64 : s32;
    Tensor flat = reshape({iota(dtype, {x_.size()}, 0, at_), at_}, x_.shape().dimensions());
    return Indexing(flat, entries_, at_).get();
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    throw Error(invalid_argument("index: ", parts...), at_);
  }

  // A position from the start.
  [[nodiscard]] int64_t checked(int64_t position, int64_t axis, const Shape& shape) const {
    int64_t size = shape.dimension(axis);
    int64_t at = position < 0 ? position + size : position;
    if (at < 0 || at >= size)
      fail("position ", position, " is outside axis ", axis, " of ", shape, ", which has size ",
           size);
    return at;
  }

  // Each returns how many axes of the result the entry leaves behind.
  int64_t apply(int64_t position, int64_t axis, Tensor& out) const {
    int64_t at = checked(position, axis, out.shape());
    out = squeeze({slice_in_dim({out, at_}, at, at + 1, 1, axis), at_}, {axis});
    return 0;
  }

  int64_t apply(const Slice& slice, int64_t axis, Tensor& out) const {
    int64_t size = out.dim(axis);
    if (slice.step == 0) fail("slice of axis ", axis, " has step 0; it must not be");
    bool back = slice.step < 0;
    auto bound = [&](std::optional<int64_t> given, int64_t otherwise) {
      if (!given) return otherwise;
      return std::clamp<int64_t>(*given < 0 ? *given + size : *given, back ? -1 : 0,
                                 back ? size - 1 : size);
    };
    int64_t start = bound(slice.start, back ? size - 1 : 0);
    int64_t stop = bound(slice.stop, back ? -1 : size);
    // A slice from the end is the slice of the same elements, reversed.
    int64_t count = back ? (start > stop ? (start - stop - slice.step - 1) / -slice.step : 0) : 0;
    if (back) {
      int64_t lowest = start + (count - 1) * slice.step;
      Tensor part = count == 0 ? slice_in_dim({out, at_}, 0, 0, 1, axis)
                               : slice_in_dim({out, at_}, lowest, start + 1, -slice.step, axis);
      out = flip({part, at_}, {axis});
    } else if (start != 0 || stop != size || slice.step != 1) {
      out = slice_in_dim({out, at_}, start, std::max(start, stop), slice.step, axis);
    }
    return 1;
  }

  int64_t apply(const Tensor& indices, int64_t axis, Tensor& out) const {
    require_integers("index", indices, at_);
    if (indices.rank() == 0) {
      Tensor position = from_start(widened(indices, at_), out.dim(axis), at_);
      out = dynamic_index_in_dim({out, at_}, {position, at_}, axis, /*keep_dims=*/false);
      return 0;
    }
    out = take({out, at_}, {indices, at_}, axis);
    return indices.rank();
  }

  const Tensor& x_;
  const std::vector<IndexEntry>& entries_;
  SourceLocation at_;
};

bool is_whole(const IndexEntry& entry) {
  const Slice* s = std::get_if<Slice>(&entry.value());
  return s != nullptr && !s->start && !s->stop && s->step == 1;
}

bool is_one_position(const std::vector<IndexEntry>& entries, const Tensor& x) {
  return std::ranges::all_of(entries,
                             [](const IndexEntry& e) {
                               if (const Tensor* t = std::get_if<Tensor>(&e.value()))
                                 return t->rank() == 0;
                               return !std::holds_alternative<Slice>(e.value()) || is_whole(e);
                             }) &&
         static_cast<int64_t>(entries.size()) <= x.rank();
}

// A contiguous block: whole axes and single positions. One dynamic-update-slice, in place inside
// loops.
Tensor update_block(const Tensor& x, const std::vector<IndexEntry>& entries, const Tensor& value,
                    SourceLocation at) {
  std::vector<Tensor> starts;
  Dimensions sizes = x.shape().dimensions();
  bool wide = false;
  for (const IndexEntry& entry : entries) {
    if (const Tensor* t = std::get_if<Tensor>(&entry.value())) wide |= bit_width(t->dtype()) > 32;
  }
  DType dtype = wide ? s64 : s32;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Tensor start = constant_like({0, at}, dtype, "at");
    if (i < entries.size()) {
      if (const int64_t* p = std::get_if<int64_t>(&entries[i].value()))
        start = constant_like({*p < 0 ? *p + sizes[i] : *p, at}, dtype, "at");
      if (const Tensor* t = std::get_if<Tensor>(&entries[i].value()))
        start = from_start(widened(*t, at), sizes[i], at).astype(dtype, at);
      if (!std::holds_alternative<Slice>(entries[i].value())) sizes[i] = 1;
    }
    starts.push_back(start);
  }
  return dynamic_update_slice({x, at}, {reshape({value, at}, sizes), at}, starts);
}

// The axis of the one array of indices where all other entries are whole axes.
std::optional<size_t> axis_of_rows(const std::vector<IndexEntry>& entries) {
  std::optional<size_t> axis;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (is_whole(entries[i])) continue;
    if (axis || !std::holds_alternative<Tensor>(entries[i].value())) return std::nullopt;
    axis = i;
  }
  return axis;
}

// Whole slices of x at the indices along an axis, clamped as take() clamps them: one scatter.
Tensor update_rows(const Tensor& x, const Tensor& indices, int64_t axis, const Tensor& value,
                   SourceLocation at, FunctionRef<Tensor(const Tensor&, const Tensor&)> combine) {
  require_integers("index", indices, at);
  int64_t size = x.dim(axis);
  if (size == 0 && indices.size() > 0) throw Error(nothing_to_take("at", x.shape(), axis), at);
  Tensor rows = from_start(widened(indices, at), size, at);
  rows = clip({rows, at}, {0, at}, {std::max<int64_t>(size, 1) - 1, at});
  Dimensions shape = x.shape().dimensions();
  shape.erase(shape.begin() + axis);
  const Dimensions& inserted = rows.shape().dimensions();
  shape.insert(shape.begin() + axis, inserted.begin(), inserted.end());
  ScatterDims dims{.update_window_dims = {},
                   .inserted_window_dims = {axis},
                   .scatter_dims_to_operand_dims = {axis},
                   .index_vector_dim = rows.rank()};
  for (int64_t i = 0; i < x.rank() - 1; ++i)
    dims.update_window_dims.push_back(i < axis ? i : i + rows.rank());
  return scatter({x, at}, {rows, at}, {broadcast_to(value, shape, at), at}, dims, combine);
}

// Any entries: elements one by one.
Tensor update_elements(const Tensor& x, const Tensor& positions, const Tensor& value,
                       SourceLocation at,
                       FunctionRef<Tensor(const Tensor&, const Tensor&)> combine) {
  Tensor update = broadcast_to(value, positions.shape().dimensions(), at);
  Tensor flat = scatter({reshape({x, at}, {x.size()}), at},
                        {reshape({positions, at}, {update.size(), 1}), at},
                        {reshape({update, at}, {update.size()}), at},
                        {.update_window_dims = {},
                         .inserted_window_dims = {0},
                         .scatter_dims_to_operand_dims = {0},
                         .index_vector_dim = 1},
                        combine);
  return reshape({flat, at}, x.shape().dimensions());
}

Tensor updated(const Tensor& x, const std::vector<IndexEntry>& entries, const Operand& value,
               SourceLocation at, bool set,
               FunctionRef<Tensor(const Tensor&, const Tensor&)> combine) {
  return one_program("at", at, [&] {
    Indexing indexing(x, entries, at);
    Tensor update = value.is_tensor() ? value.tensor() : constant_like(value, x.dtype(), "at");
    if (update.dtype() != x.dtype()) {
      throw Error(invalid_argument("at: value is ", update.shape(), "; x is ", x.shape(),
                                   ", cast the value with astype(", x.dtype(), ")"),
                  at);
    }
    if (is_one_position(entries, x)) {
      update = broadcast_to(update, indexing.block_shape(), at);
      return update_block(x, entries, set ? update : combine(indexing.get(), update), at);
    }
    if (std::optional<size_t> axis = axis_of_rows(entries))
      return update_rows(x, std::get<Tensor>(entries[*axis].value()), static_cast<int64_t>(*axis),
                         update, at, combine);
    return update_elements(x, indexing.positions(), update, at, combine);
  });
}

}  // namespace

Tensor index(Operand operand, const std::vector<IndexEntry>& entries) {
  Tensor x = as_tensor(operand);
  return one_program("index", operand.at(),
                     [&] { return Indexing(x, entries, operand.at()).get(); });
}

Tensor Tensor::operator[](const IndexEntry& entry) const {
  return index({*this, entry.at()}, {entry});
}

Tensor Tensor::operator[](std::initializer_list<IndexEntry> entries) const {
  return index({*this, entries.size() == 0 ? SourceLocation() : entries.begin()->at()}, entries);
}

At Tensor::at(std::initializer_list<IndexEntry> entries, SourceLocation location) const {
  return {*this, entries, location};
}

At at(const Tensor& x, std::vector<IndexEntry> entries, SourceLocation location) {
  return {x, std::move(entries), location};
}

Tensor At::get() const { return index({x_, location_}, entries_); }
Tensor At::set(Operand value) const {
  return updated(x_, entries_, value, location_, true,
                 [](const Tensor&, const Tensor& update) { return update; });
}
Tensor At::add(Operand value) const {
  return updated(x_, entries_, value, location_, false,
                 [](const Tensor& a, const Tensor& b) { return heddle::add(a, b); });
}
Tensor At::multiply(Operand value) const {
  return updated(x_, entries_, value, location_, false,
                 [](const Tensor& a, const Tensor& b) { return heddle::multiply(a, b); });
}
Tensor At::min(Operand value) const {
  return updated(x_, entries_, value, location_, false,
                 [](const Tensor& a, const Tensor& b) { return minimum(a, b); });
}
Tensor At::max(Operand value) const {
  return updated(x_, entries_, value, location_, false,
                 [](const Tensor& a, const Tensor& b) { return maximum(a, b); });
}

std::vector<Tensor> sort_by(const std::vector<Tensor>& xs,
                            FunctionRef<Tensor(std::span<const Tensor>)> before, int64_t axis,
                            bool stable, SourceLocation at) {
  if (xs.empty()) throw Error(invalid_argument("sort_by: has no operands; give at least one"), at);
  std::vector<Shape> scalars;
  for (const Tensor& x : xs) {
    Shape scalar = Shape::scalar(trace_internal::node_of(x, "sort_by", at).shape.dtype());
    scalars.insert(scalars.end(), {scalar, scalar});
  }
  int64_t along = axis_of("sort_by", xs[0].shape(), axis, at);
  return trace_internal::in_program("sort", at, [&] {
    auto fn = [&](std::span<const Tensor> t) { return std::vector<Tensor>{before(t)}; };
    return trace_internal::emit_many(
        {.opcode = Opcode::kSort,
         .operands = xs,
         .attrs = hlo::SortAttrs{.dimensions = {along}, .is_stable = stable},
         .called = {trace_internal::scalar_fragment("compare", scalars, fn, at)},
         .at = at});
  });
}

namespace {

// a before b: numbers by value, NaN last.
Tensor comes_first(const Tensor& a, const Tensor& b, bool descending) {
  Tensor first = descending ? greater(a, b) : less(a, b);
  if (!is_floating(a.dtype())) return first;
  return first | (is_nan(b) & ~is_nan(a));
}

}  // namespace

Tensor sort(Operand operand, int64_t axis, bool descending) {
  Tensor x = as_tensor(operand);
  int64_t along = axis_of("sort", x.shape(), axis, operand.at());
  auto before = [&](std::span<const Tensor> t) { return comes_first(t[0], t[1], descending); };
  return sort_by({x}, before, along, true, operand.at())[0];
}

Tensor argsort(Operand operand, int64_t axis, bool descending) {
  Tensor x = as_tensor(operand);
  SourceLocation at = operand.at();
  int64_t along = axis_of("argsort", x.shape(), axis, at);
  return one_program("argsort", at, [&] {
    auto before = [&](std::span<const Tensor> t) { return comes_first(t[0], t[1], descending); };
    return sort_by({x, iota(s32, x.shape().dimensions(), along, at)}, before, along, true, at)[1];
  });
}

}  // namespace heddle
