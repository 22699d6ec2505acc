#include "heddle/trace/internal/index_entries.h"

#include <algorithm>
#include <optional>
#include <span>

#include "heddle/trace/axes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/internal/eager.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/positions.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle {
namespace trace_internal {
namespace {

bool is_new_axis(const IndexEntry& entry) { return std::holds_alternative<NewAxis>(entry.value()); }
bool is_ellipsis(const IndexEntry& entry) {
  return std::holds_alternative<Ellipsis>(entry.value());
}

// Whether something else stands between tensors or positions: numpy then puts the axes of the
// tensors in front of all others.
bool are_apart(const std::vector<IndexEntry>& entries) {
  int runs = 0;
  bool inside = false;
  for (const IndexEntry& entry : entries) {
    const bool picks = std::holds_alternative<int64_t>(entry.value()) ||
                       std::holds_alternative<Tensor>(entry.value());
    if (picks && !inside) ++runs;
    inside = picks;
  }
  return runs > 1;
}

void check_masks(const std::vector<IndexEntry>& entries) {
  for (size_t i = 0; i < entries.size(); ++i) {
    const Tensor* t = std::get_if<Tensor>(&entries[i].value());
    if (t == nullptr || t->dtype() != pred) continue;
    refuse("entry ", i, " is ", t->shape(),
           ", a mask; how much it picks would depend on its values, use where(mask, "
           "x, ..), or the positions nonzero(mask, size)");
  }
}

// The axes of the one array, `rank` of them from `first` on, before all others.
Tensor moved_to_front(const Tensor& out, int64_t first, int64_t rank) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < out.rank(); ++i)
    order.push_back(i < rank ? first + i : i < first + rank ? i - rank : i);
  return transpose(out, order);
}

}  // namespace

void require_values(const std::vector<IndexEntry>& entries) {
  for (const IndexEntry& entry : entries) {
    if (const Tensor* t = std::get_if<Tensor>(&entry.value())) node_of(*t);
  }
}

const Tensor* array_of(const IndexEntry& entry) {
  const Tensor* t = std::get_if<Tensor>(&entry.value());
  return t != nullptr && t->rank() > 0 ? t : nullptr;
}

int64_t count_arrays(const std::vector<IndexEntry>& entries) {
  return std::ranges::count_if(entries, [](const auto& e) { return array_of(e) != nullptr; });
}

Entries entries_of(const Tensor& x, const std::vector<IndexEntry>& given) {
  require_values(given);
  check_masks(given);
  const int64_t added = std::ranges::count_if(given, is_new_axis);
  const int64_t ellipses = std::ranges::count_if(given, is_ellipsis);
  const int64_t used = static_cast<int64_t>(given.size()) - added - ellipses;
  if (used > x.rank())
    refuse("has ", used, " entries; x is ", x.shape(), ", give at most one an axis");
  if (ellipses > 1) refuse("has ", ellipses, " ellipses; x is ", x.shape(), ", give at most one");
  Entries out{x, {}, are_apart(given)};
  std::vector<int64_t> new_axes;
  for (const IndexEntry& entry : given) {
    if (is_new_axis(entry)) new_axes.push_back(static_cast<int64_t>(out.each.size()));
    if (is_ellipsis(entry))
      out.each.insert(out.each.end(), static_cast<size_t>(x.rank() - used), Slice{});
    else
      out.each.push_back(is_new_axis(entry) ? IndexEntry(Slice{}) : entry);
  }
  out.each.resize(static_cast<size_t>(x.rank() + added), Slice{});
  if (new_axes.empty()) return out;
  Dimensions shape = x.shape().dimensions();
  for (int64_t axis : new_axes) shape.insert(shape.begin() + axis, 1);
  out.x = reshape(x, shape);
  return out;
}

Range range_of(const Slice& slice, int64_t size) {
  const bool back = slice.step < 0;
  auto bound = [&](std::optional<int64_t> given, int64_t otherwise) {
    if (!given) return otherwise;
    return std::clamp<int64_t>(*given < 0 ? *given + size : *given, back ? -1 : 0,
                               back ? size - 1 : size);
  };
  const int64_t start = bound(slice.start, back ? size - 1 : 0);
  const int64_t stop = bound(slice.stop, back ? -1 : size);
  const int64_t reach = back ? start - stop : stop - start;
  // Without a sign, so that the least step has an opposite and none is too great to add.
  const auto step = static_cast<uint64_t>(slice.step), stride = back ? -step : step;
  const int64_t count =
      reach > 0 ? static_cast<int64_t>(1 + (static_cast<uint64_t>(reach) - 1) / stride) : 0;
  return {start, stop, count};
}

void Together::add(const Tensor& indices, int64_t axis) {
  require_integers(indices);
  arrays_.push_back(widened(indices));
  axes_.push_back(axis);
  widen(indices.dtype());
}

void Together::widen(DType dtype) {
  const int64_t bits = bit_width(dtype);
  if (bits > 32 || (bits == 32 && is_unsigned(dtype))) dtype_ = s64;
}

Dimensions Together::shape() const {
  Shape common(dtype_, {});
  for (const Tensor& array : arrays_)
    common = Shape(array.dtype(), broadcast_shapes(common, array.shape()));
  return common.dimensions();
}

Tensor Together::positions(size_t i, const Tensor& x) const {
  const int64_t size = x.dim(axes_[i]);
  Tensor from = from_start(arrays_[i], size);
  // The greatest of u64 would be negative.
  if (from.dtype() == u64) from = heddle::minimum(from, size);
  return from.astype(dtype_);
}

Dimensions Together::picked_shape(const Tensor& x, const Dimensions& common, int64_t place) const {
  Dimensions shape;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    if (std::ranges::count(axes_, axis) == 0) shape.push_back(x.dim(axis));
  }
  shape.insert(shape.begin() + place, common.begin(), common.end());
  return shape;
}

Tensor Together::gathered(const Tensor& x, int64_t place) const {
  const Dimensions common = shape();
  const auto rank = static_cast<int64_t>(common.size());
  for (int64_t axis : axes_) {
    if (x.dim(axis) > 0) continue;
    if (std::ranges::count(common, 0) == 0) throw Error(nothing_to_take("index", x.shape(), axis));
    return zeros(picked_shape(x, common, place), x.dtype());
  }
  std::vector<Tensor> columns;
  for (size_t i = 0; i < arrays_.size(); ++i)
    columns.push_back(broadcast_to(positions(i, x), common));
  GatherDims dims{.offset_dims = {},
                  .collapsed_slice_dims = axes_,
                  .start_index_map = axes_,
                  .index_vector_dim = rank};
  Dimensions sizes = x.shape().dimensions();
  for (int64_t axis : axes_) sizes[static_cast<size_t>(axis)] = 1;
  for (int64_t i = 0; i < x.rank() - static_cast<int64_t>(axes_.size()); ++i)
    dims.offset_dims.push_back(i < place ? i : i + rank);
  return gather(x, stack(columns, rank), dims, sizes);
}

Tensor Indexing::get() const {
  Tensor out = x_;
  int64_t axis = 0, first = 0;
  Together several;
  const int64_t arrays = count_arrays(entries_);
  check_positions();
  for (const IndexEntry& entry : entries_) {
    const Tensor* array = array_of(entry);
    if (array != nullptr && (several.axes().empty() || arrays == 1)) first = axis;
    if (array != nullptr && arrays > 1)
      several.add(*array, axis++);
    else
      axis += std::visit([&](const auto& e) { return apply(e, axis, out); }, entry.value());
  }
  if (arrays > 1) return several.gathered(out, apart_ ? 0 : first);
  if (arrays == 0 || !apart_) return out;
  return moved_to_front(out, first, array_of(*std::ranges::find_if(entries_, array_of))->rank());
}

// By x's own axes, before positions take any away: errors name those.
void Indexing::check_positions() const {
  for (size_t i = 0; i < entries_.size(); ++i) {
    const int64_t* position = std::get_if<int64_t>(&entries_[i].value());
    if (position) (void)checked(*position, static_cast<int64_t>(i), x_.shape());
  }
}

Dimensions Indexing::block_shape() const {
  Dimensions shape;
  for (int64_t axis = 0; axis < x_.rank(); ++axis) {
    auto entry = static_cast<size_t>(axis);
    if (entry >= entries_.size())
      shape.push_back(x_.dim(axis));
    else if (const Slice* slice = std::get_if<Slice>(&entries_[entry].value()))
      shape.push_back(range_of(*slice, x_.dim(axis)).count);
    else if (const int64_t* position = std::get_if<int64_t>(&entries_[entry].value()))
      (void)checked(*position, axis, x_.shape());
    else
      require_integers(std::get<Tensor>(entries_[entry].value()));
  }
  return shape;
}

Tensor Indexing::positions() const {
  check_positions();
  DType dtype = x_.size() > INT32_MAX ? s64 : s32;
  Tensor flat = reshape(iota(dtype, {x_.size()}, 0), x_.shape().dimensions());
  return Indexing(flat, {flat, entries_, apart_}).get();
}

int64_t Indexing::checked(int64_t position, int64_t axis, const Shape& shape) {
  int64_t size = shape.dimension(axis);
  int64_t from_start = position < 0 ? position + size : position;
  if (from_start >= 0 && from_start < size) return from_start;
  refuse("position ", position, " is outside axis ", axis, " of ", shape, ", which has size ", size,
         size == 0 ? "" : base::cat("; it must be in [", -size, ", ", size - 1, "]"));
}

namespace {

bool takes_starts() {
  const Recorder* recorder = Recorder::current();
  return recorder != nullptr && recorder->takes_starts();
}

// Elements start, start + step, .. of x. In a program that runs at once the start is a number like
// others: the next one needs no other program.
Tensor part_of(const Tensor& x, int64_t start, int64_t count, int64_t axis, int64_t step = 1) {
  const int64_t span = count == 0 ? 0 : (count - 1) * step + 1;
  if (!takes_starts()) return slice_in_dim(x, start, start + span, step, axis);
  if (step > 1) return slice_in_dim(part_of(x, start, span, axis), 0, span, step, axis);
  const DType dtype = x.dim(axis) > INT32_MAX ? s64 : s32;
  std::vector<Tensor> operands{x};
  for (int64_t i = 0; i < x.rank(); ++i)
    operands.push_back(constant_like(i == axis ? start : 0, dtype));
  Dimensions sizes = x.shape().dimensions();
  sizes[static_cast<size_t>(axis)] = count;
  return emit({.opcode = hlo::Opcode::kDynamicSlice,
               .operands = std::move(operands),
               .attrs = hlo::DynamicSliceAttrs{.dynamic_slice_sizes = std::move(sizes)}});
}

}  // namespace

int64_t Indexing::apply(int64_t position, int64_t axis, Tensor& out) const {
  const int64_t at = checked(position, axis, out.shape());
  out = squeeze(part_of(out, at, 1, axis), {axis});
  return 0;
}

int64_t Indexing::apply(const Slice& slice, int64_t axis, Tensor& out) const {
  int64_t size = out.dim(axis);
  if (slice.step == 0) refuse("slice of axis ", axis, " has step 0; it must not be");
  const Range range = range_of(slice, size);
  // A slice from the end is the slice of the same elements, reversed.
  if (slice.step < 0) {
    const int64_t stride = range.count < 2 ? 1 : -slice.step;  // of one element: any
    int64_t lowest = range.start - (range.count - 1) * stride;
    Tensor part = range.count == 0 ? slice_in_dim(out, 0, 0, 1, axis)
                                   : part_of(out, lowest, range.count, axis, stride);
    out = flip(part, {axis});
  } else if (range.count < size && (slice.step == 1 || (takes_starts() && range.count > 0))) {
    out = part_of(out, range.start, range.count, axis, range.count < 2 ? 1 : int64_t{slice.step});
  } else if (range.start != 0 || range.stop != size || slice.step != 1) {
    out = slice_in_dim(out, range.start, std::max(range.start, range.stop), slice.step, axis);
  }
  return 1;
}

int64_t Indexing::apply(const Tensor& indices, int64_t axis, Tensor& out) const {
  require_integers(indices);
  if (indices.rank() == 0) {
    Tensor position = from_start(widened(indices), out.dim(axis));
    out = dynamic_index_in_dim(out, position, axis, /*keep_dims=*/false);
    return 0;
  }
  out = take(out, indices, axis);
  return indices.rank();
}

}  // namespace trace_internal

Tensor trace_internal::picked(std::string_view op, const Tensor& x,
                              const std::vector<IndexEntry>& entries, SourceLocation at) {
  const PublicCall call(op, at);
  node_of(x);
  return one_program(op, at, [&] {
    const Entries all = entries_of(x, entries);
    return Indexing(all.x, all).get();
  });
}

namespace {

// x[..] of numbers and of slices of step 1: no size of a slice costs a compile.
Tensor eager_slices(const Tensor& x, std::span<const IndexEntry> entries, SourceLocation at) {
  if (trace_internal::Recorder::current() != nullptr || !x.is_valid() ||
      std::ssize(entries) > x.rank())
    return {};
  const std::vector<int64_t>& all = x.shape().dimensions();
  std::vector<int64_t> starts, sizes = all, dimensions;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    const int64_t size = sizes[axis];
    const IndexEntry entry = axis < entries.size() ? entries[axis] : IndexEntry(Slice{});
    if (const int64_t* position = std::get_if<int64_t>(&entry.value())) {
      starts.push_back(*position < 0 ? *position + size : *position);
      if (starts.back() < 0 || starts.back() >= size) return {};
      sizes[axis] = 1;
    } else if (const Slice* slice = std::get_if<Slice>(&entry.value()); slice && slice->step == 1) {
      const trace_internal::Range range = trace_internal::range_of(*slice, size);
      starts.push_back(range.start);
      sizes[axis] = range.count;
      dimensions.push_back(range.count);
    } else {
      return {};
    }
  }
  if (dimensions == all) return {};  // it is x
  return trace_internal::eager_part({x, at}, starts, sizes, dimensions);
}

}  // namespace

Tensor take_at(Operand operand, const std::vector<IndexEntry>& entries) {
  const trace_internal::PublicCall call("take_at", operand.at());
  return trace_internal::picked("take_at", as_tensor(operand), entries, operand.at());
}

Tensor Tensor::operator[](const IndexEntry& entry) const {
  if (const int64_t* position = std::get_if<int64_t>(&entry.value())) {
    Tensor row = trace_internal::eager_row({*this, entry.at()}, *position);
    if (row.is_valid()) return row;
  }
  if (Tensor part = eager_slices(*this, {&entry, 1}, entry.at()); part.is_valid()) return part;
  return trace_internal::picked(trace_internal::kSubscript, *this, {entry}, entry.at());
}

Tensor Tensor::operator[](std::initializer_list<IndexEntry> entries) const {
  const SourceLocation at = entries.size() == 0 ? SourceLocation() : entries.begin()->at();
  if (Tensor part = eager_slices(*this, {entries.begin(), entries.size()}, at); part.is_valid())
    return part;
  return trace_internal::picked(trace_internal::kSubscript, *this, entries, at);
}

}  // namespace heddle
