// x.at({..}).set(v) and the like: entries as one block, as rows, or as places of a scatter.
#include <algorithm>
#include <optional>

#include "heddle/hlo/dimensions.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/internal/index_entries.h"
#include "heddle/trace/ops/elementwise/dtypes.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/positions.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle {
namespace {

using trace_internal::array_of;
using trace_internal::Entries;
using trace_internal::from_start;
using trace_internal::Indexing;
using trace_internal::one_program;
using trace_internal::PublicCall;
using trace_internal::range_of;
using trace_internal::require_integers;
using trace_internal::stretched;
using trace_internal::Together;
using trace_internal::widened;

bool is_whole(const IndexEntry& entry) {
  const Slice* s = std::get_if<Slice>(&entry.value());
  return s != nullptr && !s->start && !s->stop && s->step == 1;
}

bool is_value(const IndexEntry& entry) { return std::holds_alternative<Tensor>(entry.value()); }

bool is_one_position(const std::vector<IndexEntry>& entries) {
  return std::ranges::all_of(entries, [](const IndexEntry& e) {
    if (const Tensor* t = std::get_if<Tensor>(&e.value())) return t->rank() == 0;
    return !std::holds_alternative<Slice>(e.value()) || is_whole(e);
  });
}

// Single positions and slices of step 1.
bool is_block(const std::vector<IndexEntry>& entries) {
  return std::ranges::all_of(entries, [](const IndexEntry& e) {
    const Slice* s = std::get_if<Slice>(&e.value());
    return s != nullptr ? s->step == 1 : std::holds_alternative<int64_t>(e.value());
  });
}

// A contiguous block, which is known to be inside. One dynamic-update-slice, in place inside loops.
Tensor update_block(const Tensor& x, const std::vector<IndexEntry>& entries, const Tensor& value) {
  std::vector<Tensor> starts;
  Dimensions sizes = x.shape().dimensions();
  const bool is_long = std::ranges::any_of(sizes, [](int64_t size) { return size > INT32_MAX; });
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t start = 0;
    if (i < entries.size()) {
      if (const Slice* slice = std::get_if<Slice>(&entries[i].value())) {
        const trace_internal::Range range = range_of(*slice, sizes[i]);
        start = range.start;
        sizes[i] = range.count;
      } else {
        const int64_t position = std::get<int64_t>(entries[i].value());
        start = position < 0 ? position + sizes[i] : position;
        sizes[i] = 1;
      }
    }
    starts.push_back(constant_like(start, is_long ? s64 : s32));
  }
  if (value.size() == 0) return x;
  return dynamic_update_slice(x, reshape(value, sizes), starts);
}

// The same where positions are values: one scatter, also in place, which does nothing where one of
// them is outside.
Tensor update_slab(const Tensor& x, const std::vector<IndexEntry>& entries, const Tensor& value,
                   base::FunctionRef<Tensor(const Tensor&, const Tensor&)> combine) {
  ScatterDims dims{.update_window_dims = {},
                   .inserted_window_dims = {},
                   .scatter_dims_to_operand_dims = {},
                   .index_vector_dim = 0};
  std::vector<Tensor> positions;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (std::holds_alternative<Slice>(entries[i].value())) continue;
    const auto axis = static_cast<int64_t>(i);
    const Tensor* t = std::get_if<Tensor>(&entries[i].value());
    const Tensor position =
        t != nullptr ? widened(*t) : constant_like(std::get<int64_t>(entries[i].value()), s64);
    dims.inserted_window_dims.push_back(axis);
    positions.push_back(from_start(position, x.dim(axis)));
  }
  dims.scatter_dims_to_operand_dims = dims.inserted_window_dims;
  dims.update_window_dims = consecutive_dimensions(value.rank());
  const bool alike = std::ranges::all_of(
      positions, [&](const Tensor& t) { return t.dtype() == positions[0].dtype(); });
  if (!alike) {
    for (Tensor& position : positions) position = position.astype(s64);
  }
  return scatter(x, stack(positions, 0), value, dims, combine);
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

// Whole slices of x at the indices along an axis; one scatter, which leaves out those outside.
Tensor update_rows(const Tensor& x, const Tensor& indices, int64_t axis, const Tensor& value,
                   base::FunctionRef<Tensor(const Tensor&, const Tensor&)> combine) {
  require_integers(indices);
  int64_t size = x.dim(axis);
  Tensor rows = from_start(widened(indices), size);
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
  return scatter(x, rows, stretched(value, shape), dims, combine);
}

// Any entries: elements one by one.
Tensor update_elements(const Tensor& x, const Tensor& positions, const Tensor& value,
                       base::FunctionRef<Tensor(const Tensor&, const Tensor&)> combine) {
  Tensor update = stretched(value, positions.shape().dimensions());
  Tensor flat = scatter(reshape(x, {x.size()}), reshape(positions, {update.size(), 1}),
                        reshape(update, {update.size()}),
                        {.update_window_dims = {},
                         .inserted_window_dims = {0},
                         .scatter_dims_to_operand_dims = {0},
                         .index_vector_dim = 1},
                        combine);
  return reshape(flat, x.shape().dimensions());
}

// Arrays of indices, or positions that are values, and what else there is: one scatter, which
// leaves out the places where one is outside. Axes taken whole are its windows;
// positions, arrays and parts of axes give it a column of indices each.
class ManyPlaces {
 public:
  ManyPlaces(const Entries& entries) : x_(entries.x), entries_(entries.each) {
    for (int64_t axis = 0; axis < x_.rank(); ++axis) {
      if (const Tensor* array = array_of(entry(axis))) arrays_.add(*array, axis);
      if (const Tensor* t = std::get_if<Tensor>(&entry(axis).value())) arrays_.widen(t->dtype());
    }
    common_ = arrays_.shape();
    bool placed = entries.apart;
    if (placed) add_common();
    for (int64_t axis = 0; axis < x_.rank(); ++axis) {
      if (array_of(entry(axis)) != nullptr && !placed) {
        placed = true;
        add_common();
      }
      add_axis(axis);
    }
  }

  [[nodiscard]] Tensor updated(
      const Tensor& value, base::FunctionRef<Tensor(const Tensor&, const Tensor&)> combine) const {
    std::vector<Tensor> columns;
    for (int64_t axis : indexed_) columns.push_back(column(axis));
    const auto rank = static_cast<int64_t>(places_.size());
    ScatterDims dims{.update_window_dims = windows_,
                     .inserted_window_dims = indexed_,
                     .scatter_dims_to_operand_dims = indexed_,
                     .index_vector_dim = rank};
    return scatter(x_, stack(columns, rank), stretched(value, shape_), dims, combine);
  }

 private:
  [[nodiscard]] const IndexEntry& entry(int64_t axis) const {
    return entries_[static_cast<size_t>(axis)];
  }

  void add_common() {
    common_at_ = static_cast<int64_t>(places_.size());
    places_.insert(places_.end(), common_.begin(), common_.end());
    shape_.insert(shape_.end(), common_.begin(), common_.end());
  }

  void add_axis(int64_t axis) {
    if (is_whole(entry(axis))) {
      windows_.push_back(static_cast<int64_t>(shape_.size()));
      shape_.push_back(x_.dim(axis));
      return;
    }
    indexed_.push_back(axis);
    const Slice* slice = std::get_if<Slice>(&entry(axis).value());
    if (slice == nullptr) return;
    if (slice->step == 0)
      trace_internal::refuse("slice of axis ", axis, " has step 0; it must not be");
    slice_at_.push_back(static_cast<int64_t>(places_.size()));
    places_.push_back(range_of(*slice, x_.dim(axis)).count);
    shape_.push_back(places_.back());
  }

  // Where along the axis each of the places lies.
  [[nodiscard]] Tensor column(int64_t axis) const {
    const DType dtype = arrays_.dtype();
    const auto& value = entry(axis).value();
    if (const Slice* slice = std::get_if<Slice>(&value)) {
      const auto before = std::count_if(entries_.begin(), entries_.begin() + axis, [](auto& e) {
        return std::holds_alternative<Slice>(e.value()) && !is_whole(e);
      });
      Tensor steps = iota(dtype, places_, slice_at_[static_cast<size_t>(before)]);
      const auto range = range_of(*slice, x_.dim(axis));
      // The step to the second of one element may be any number.
      if (range.count > 1) steps = multiply(steps, int64_t{slice->step});
      return add(steps, range.start);
    }
    if (const int64_t* position = std::get_if<int64_t>(&value))
      return full(places_, Indexing::checked(*position, axis, x_.shape()), dtype);
    const Tensor& indices = std::get<Tensor>(value);
    if (indices.rank() == 0) {
      require_integers(indices);
      Tensor position = from_start(widened(indices), x_.dim(axis));
      return broadcast_to(position.astype(dtype), places_);
    }
    const auto which = std::ranges::find(arrays_.axes(), axis) - arrays_.axes().begin();
    Tensor spread = broadcast_to(arrays_.positions(static_cast<size_t>(which), x_), common_);
    if (places_ == common_) return spread;
    std::vector<int64_t> mapping;
    for (size_t i = 0; i < common_.size(); ++i)
      mapping.push_back(common_at_ + static_cast<int64_t>(i));
    return broadcast_in_dim(spread, places_, mapping);
  }

  const Tensor& x_;
  const std::vector<IndexEntry>& entries_;
  Together arrays_;
  Dimensions common_;              // what the arrays broadcast to
  int64_t common_at_ = 0;          // where it stands in places_
  Dimensions places_;              // of the scatter: common_ and parts of axes
  Dimensions shape_;               // of the update: places_ and windows
  std::vector<int64_t> slice_at_;  // of each part of an axis, in places_
  std::vector<int64_t> windows_;   // axes of the update
  std::vector<int64_t> indexed_;   // axes of x
};

using Combine = base::FunctionRef<Tensor(const Tensor&, const Tensor&)>;

// The lone mask of the entries, if it is one.
const Tensor* mask_of(const std::vector<IndexEntry>& entries) {
  const Tensor* t = entries.size() == 1 ? std::get_if<Tensor>(&entries[0].value()) : nullptr;
  return t != nullptr && t->dtype() == pred ? t : nullptr;
}

Tensor update_where(const Tensor& mask, const Tensor& x, const Tensor& given, bool set,
                    Combine combine) {
  const Dimensions& sizes = x.shape().dimensions();
  if (mask.rank() > x.rank() ||
      !std::ranges::equal(mask.shape().dimensions(), std::span(sizes).first(mask.rank())))
    trace_internal::refuse("mask is ", mask.shape(), "; x is ", x.shape(),
                           ", the mask must have its leading sizes");
  Tensor value = given;
  // One for all that the mask picks, whose axis is the first of x[mask].
  if (mask.rank() > 0 && value.rank() == x.rank() - mask.rank() + 1 && value.dim(0) == 1)
    value = squeeze(value, {0});
  if (value.rank() > x.rank() - mask.rank())
    trace_internal::refuse("value is ", value.shape(), "; x is ", x.shape(), " and the mask ",
                           mask.shape(),
                           ", the value must broadcast to the axes that the mask has not");
  Tensor update = stretched(value, sizes);
  return where(broadcast_in_dim(mask, sizes, consecutive_dimensions(mask.rank())),
               set ? update : combine(x, update), x);
}

Tensor update_entries(const Tensor& x, const Entries& entries, const Tensor& update, bool set,
                      Combine combine) {
  Indexing indexing(x, entries);
  if (is_block(entries.each)) {
    const Tensor block = stretched(update, indexing.block_shape());
    return update_block(x, entries.each, set ? block : combine(indexing.get(), block));
  }
  if (is_one_position(entries.each))
    return update_slab(x, entries.each, stretched(update, indexing.block_shape()), combine);
  if (std::optional<size_t> axis = axis_of_rows(entries.each))
    return update_rows(x, std::get<Tensor>(entries.each[*axis].value()),
                       static_cast<int64_t>(*axis), update, combine);
  if (std::ranges::any_of(entries.each, is_value))
    return ManyPlaces(entries).updated(update, combine);
  return update_elements(x, indexing.positions(), update, combine);
}

// Integers and a number with a point: as divide() has it, before the number becomes an element.
void refuse_point(std::string_view op, const Tensor& x, const Operand& value) {
  if (op != "at.divide" || !is_integer(x.dtype()) ||
      !std::holds_alternative<double>(value.number()))
    return;
  (void)heddle::divide(x, value);
}

// A place to which a FunctionRef may refer.
constexpr auto kSum = [](const Tensor& x, const Tensor& y) { return heddle::add(x, y); };

Tensor updated(std::string_view op, const Tensor& x, const std::vector<IndexEntry>& given,
               const Operand& value, SourceLocation at, bool set, Combine combine) {
  const PublicCall call(op, at);
  return one_program(op, [&] {
    trace_internal::node_of(x);
    refuse_point(op, x, value);
    Tensor update = trace_internal::like("value", value, x.dtype());
    trace_internal::require_values(given);
    if (op == "at.subtract" && (is_floating(x.dtype()) || is_complex(x.dtype()))) {
      update = negative(update);  // a scatter that sums has a derivative
      combine = kSum;
    }
    if (const Tensor* mask = mask_of(given)) return update_where(*mask, x, update, set, combine);
    const Entries entries = trace_internal::entries_of(x, given);
    Tensor out = update_entries(entries.x, entries, update, set, combine);
    return out.rank() == x.rank() ? out : reshape(out, x.shape().dimensions());
  });
}

}  // namespace

At Tensor::at(const IndexEntry& entry, SourceLocation location) const {
  return {*this, {entry}, location};
}

At Tensor::at(std::initializer_list<IndexEntry> entries, SourceLocation location) const {
  return {*this, entries, location};
}

At at(const Tensor& x, std::vector<IndexEntry> entries, SourceLocation location) {
  const PublicCall call("at", location);
  return {x, std::move(entries), location};
}

Tensor At::get() const { return trace_internal::picked("at.get", x_, entries_, location_); }
Tensor At::set(Operand value) const {
  return updated("at.set", x_, entries_, value, location_, true,
                 [](const Tensor&, const Tensor& update) { return update; });
}
Tensor At::add(Operand value) const {
  return updated("at.add", x_, entries_, value, location_, false, heddle::add);
}
Tensor At::subtract(Operand value) const {
  return updated("at.subtract", x_, entries_, value, location_, false, heddle::subtract);
}
Tensor At::multiply(Operand value) const {
  return updated("at.multiply", x_, entries_, value, location_, false, heddle::multiply);
}
Tensor At::divide(Operand value) const {
  return updated("at.divide", x_, entries_, value, location_, false, heddle::divide);
}
Tensor At::min(Operand value) const {
  return updated("at.min", x_, entries_, value, location_, false, heddle::minimum);
}
Tensor At::max(Operand value) const {
  return updated("at.max", x_, entries_, value, location_, false, heddle::maximum);
}

}  // namespace heddle
