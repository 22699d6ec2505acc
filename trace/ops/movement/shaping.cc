#include "heddle/trace/ops/movement/shaping.h"

#include <algorithm>
#include <optional>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/devices/on_device_of.h"
#include "heddle/trace/internal/eager.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/run/known_program.h"

namespace heddle {
namespace {

using hlo::Opcode;
using trace_internal::axes_of;
using trace_internal::axis_of;
using trace_internal::dtype_beside;
using trace_internal::emit;
using trace_internal::in_program;
using trace_internal::known_program;
using trace_internal::KnownOperand;
using trace_internal::KnownOptions;
using trace_internal::one_program;
using trace_internal::PublicCall;

Tensor reshaped(const Tensor& x, Dimensions shape) {
  if (x.shape().dimensions() == shape) return x;
  const Shape type(x.dtype(), shape);
  if (Tensor made = trace_internal::eager_reshape(x, type); made.is_valid()) return made;
  const auto of = [&](std::span<const Tensor> xs) { return reshaped(xs[0], shape); };
  const Operand operand(x, PublicCall::line_or({}));
  if (Tensor made = known_program("reshape", KnownOptions(shape), {operand}, of); made.is_valid())
    return made;
  return emit({.opcode = Opcode::kReshape,
               .operands = {x},
               .attrs = hlo::ReshapeAttrs{},
               .declared = type});
}

Tensor permuted(const Tensor& x, std::vector<int64_t> order) {
  if (std::ranges::is_sorted(order)) return x;
  const auto of = [&](std::span<const Tensor> xs) { return permuted(xs[0], order); };
  const Operand operand(x, PublicCall::line_or({}));
  if (Tensor made = known_program("transpose", KnownOptions(order), {operand}, of); made.is_valid())
    return made;
  return emit({.opcode = Opcode::kTranspose,
               .operands = {x},
               .attrs = hlo::DimensionsAttrs{.dimensions = std::move(order)}});
}

// Start indices for dynamic ops: `index` along `axis`, zeros elsewhere, all of one dtype.
std::vector<Tensor> starts_along(const Tensor& x, const Tensor& index, int64_t axis) {
  std::vector<Tensor> starts(static_cast<size_t>(x.rank()), constant_like(0, index.dtype()));
  starts[static_cast<size_t>(axis)] = index;
  return starts;
}

// `operands`, then the starts, C++ integers as constants of the dtype that the first tensor has.
std::vector<Tensor> with_starts(std::vector<Tensor> operands, const SliceStarts& starts) {
  DType dtype = s32;
  for (const Operand& start : starts.each()) {
    if (!start.is_tensor()) continue;
    dtype = as_tensor(start).dtype();
    break;
  }
  for (const Operand& start : starts.each())
    operands.push_back(start.is_tensor() ? start.tensor() : constant_like(start, dtype));
  return operands;
}

// x and what goes with it, and then the starts, as operands of a known program.
std::vector<KnownOperand> operands_with_starts(std::initializer_list<KnownOperand> operands,
                                               const SliceStarts& starts) {
  DType dtype = s32;
  const auto first = std::ranges::find_if(starts.each(), &Operand::is_tensor);
  if (first != starts.each().end()) dtype = dtype_beside(*first);
  std::vector<KnownOperand> all(operands);
  for (const Operand& start : starts.each()) all.emplace_back(start, dtype);
  return all;
}

Tensor scalar_index(const Operand& index) {
  Tensor value = as_tensor(index);
  if (!value.shape().is_scalar() || !is_integer(value.dtype())) {
    trace_internal::refuse("index is ", value.shape(), "; it must be a scalar of an integer dtype");
  }
  return value;
}

// The element that comes first along an axis of `size` elements after a roll by `shift`.
int64_t first_after_roll(int64_t shift, int64_t size) {
  return size == 0 ? 0 : (size - shift % size) % size;
}

// x with the element `first` along the axis in front, and those before it at the end. A tensor
// `first` takes a copy of x behind x, a number none.
Tensor rolled(const Tensor& x, const Operand& first, int64_t axis) {
  if (first.is_tensor())
    return dynamic_slice_in_dim(concat({x, x}, axis), first, x.dim(axis), axis);
  const int64_t at = std::get<int64_t>(first.number());
  if (at == 0) return x;
  std::vector<Tensor> parts = split_at(x, {at}, axis);
  return concat({parts[1], parts[0]}, axis);
}

}  // namespace

Tensor reshape(Operand operand, const base::Ints& shape) {
  const PublicCall call("reshape", operand.at());
  Tensor x = as_tensor(operand);
  Dimensions out = shape;
  auto open = std::ranges::find(out, -1);
  if (open != out.end()) {
    int64_t known = 1;
    for (int64_t size : out) known *= size == -1 ? 1 : size;
    if (std::ranges::count(out, -1) > 1)
      trace_internal::refuse("shape is [", base::join(shape, ","),
                             "]; at most one size may be -1, which is what is left");
    if (known == 0 || x.size() % known != 0)
      trace_internal::refuse("x is ", x.shape(), "; it does not fit [", base::join(shape, ","),
                             "] with one size -1 for the rest");
    *open = x.size() / known;
  }
  return reshaped(x, std::move(out));
}

Tensor ravel(Operand operand) {
  const PublicCall call("ravel", operand.at());
  const Tensor x = as_tensor(operand);
  return reshaped(x, {x.size()});
}

Tensor Tensor::T(SourceLocation at) const { return transpose({*this, at}); }

Tensor transpose(Operand operand, const base::Ints& axes) {
  const PublicCall call("transpose", operand.at());
  Tensor x = as_tensor(operand);
  std::vector<int64_t> order =
      axes.empty() ? consecutive_dimensions(x.rank()) : axes_of(x.shape(), axes);
  if (axes.empty()) std::ranges::reverse(order);
  if (static_cast<int64_t>(order.size()) != x.rank()) {
    trace_internal::refuse("axes are (", base::join(axes, ","), "); x is ", x.shape(),
                           ", list each of its axes once");
  }
  return permuted(x, std::move(order));
}

Tensor swapaxes(Operand operand, base::Int axis1, base::Int axis2) {
  const PublicCall call("swapaxes", operand.at());
  Tensor x = as_tensor(operand);
  std::vector<int64_t> order = consecutive_dimensions(x.rank());
  std::swap(order[static_cast<size_t>(axis_of(x.shape(), axis1))],
            order[static_cast<size_t>(axis_of(x.shape(), axis2))]);
  return permuted(x, std::move(order));
}

Tensor moveaxis(Operand operand, base::Int from, base::Int to) {
  const PublicCall call("moveaxis", operand.at());
  Tensor x = as_tensor(operand);
  int64_t source = axis_of(x.shape(), from);
  int64_t target = axis_of(x.shape(), to);
  std::vector<int64_t> order = consecutive_dimensions(x.rank());
  order.erase(order.begin() + source);
  order.insert(order.begin() + target, source);
  return permuted(x, std::move(order));
}

Tensor moveaxis(Operand operand, std::initializer_list<int64_t> from,
                std::initializer_list<int64_t> to) {
  const PublicCall call("moveaxis", operand.at());
  const Tensor x = as_tensor(operand);
  if (from.size() != to.size())
    trace_internal::refuse("from lists ", from.size(), " axes and to ", to.size(),
                           "; they must list as many");
  std::vector<int64_t> order(static_cast<size_t>(x.rank()), -1),
      rest = consecutive_dimensions(x.rank());
  for (size_t i = 0; i < from.size(); ++i) {
    const int64_t source = axis_of(x.shape(), from.begin()[i]),
                  target = axis_of(x.shape(), to.begin()[i]);
    if (std::erase(rest, source) == 0)
      trace_internal::refuse("from lists axis ", source, " of ", x.shape(), " twice");
    if (order[static_cast<size_t>(target)] >= 0)
      trace_internal::refuse("to lists axis ", target, " of ", x.shape(), " twice");
    order[static_cast<size_t>(target)] = source;
  }
  auto next = rest.begin();
  for (int64_t& axis : order)
    if (axis < 0) axis = *next++;
  return permuted(x, std::move(order));
}

Tensor expand_dims(Operand operand, const base::Ints& axes) {
  const PublicCall call("expand_dims", operand.at());
  Tensor x = as_tensor(operand);
  const int64_t rank = x.rank() + static_cast<int64_t>(axes.size());
  std::vector<int64_t> added;
  for (int64_t axis : axes) {
    const int64_t index = axis < 0 ? axis + rank : axis;
    if (index < 0 || index >= rank)
      trace_internal::refuse("axis is ", axis, "; the result has axes ", -rank, " .. ", rank - 1);
    if (std::ranges::count(added, index) > 0)
      trace_internal::refuse("axis ", axis, " of the result is listed twice");
    added.push_back(index);
  }
  std::ranges::sort(added);
  Dimensions shape = x.shape().dimensions();
  for (int64_t index : added) shape.insert(shape.begin() + index, 1);
  return reshaped(x, std::move(shape));
}

Tensor squeeze(Operand operand, const AxisList& axes) {
  const PublicCall call("squeeze", operand.at());
  Tensor x = as_tensor(operand);
  std::vector<int64_t> gone;
  if (!axes.is_all()) gone = axes_of(x.shape(), axes.list());
  for (int64_t axis : gone) {
    if (x.dim(axis) != 1)
      trace_internal::refuse("axis ", axis, " of ", x.shape(), " has size ", x.dim(axis),
                             "; it must be 1");
  }
  Dimensions shape;
  for (int64_t i = 0; i < x.rank(); ++i) {
    bool drop = axes.is_all() ? x.dim(i) == 1 : std::ranges::count(gone, i) > 0;
    if (!drop) shape.push_back(x.dim(i));
  }
  return reshaped(x, std::move(shape));
}

Tensor broadcast_in_dim(Operand operand, const base::Ints& shape, const base::Ints& dimensions) {
  const PublicCall call("broadcast_in_dim", operand.at());
  Tensor x = as_tensor(operand);
  return emit({.opcode = Opcode::kBroadcast,
               .operands = {x},
               .attrs = hlo::DimensionsAttrs{.dimensions = dimensions},
               .declared = Shape(x.dtype(), shape)});
}

Tensor flip(Operand operand, const AxisList& axes) {
  const PublicCall call("flip", operand.at());
  Tensor x = as_tensor(operand);
  std::vector<int64_t> all = axes_of(x.shape(), axes.of_rank(x.rank()));
  if (all.empty() && x.rank() > 0) return x;
  return one_program("flip", KnownOptions(all), {{x}}, [&](std::span<const Operand> in) {
    return emit({.opcode = Opcode::kReverse,
                 .operands = {in[0].tensor()},
                 .attrs = hlo::DimensionsAttrs{.dimensions = all}});
  });
}

Tensor roll(Operand operand, const base::Ints& shifts, const base::Ints& axes) {
  const PublicCall call("roll", operand.at());
  if (shifts.size() != axes.size())
    trace_internal::refuse("has ", shifts.size(), " shifts and ", axes.size(),
                           " axes; give as many of both");
  const Tensor x = as_tensor(operand);
  std::vector<Operand> operands{x};
  for (size_t i = 0; i < axes.size(); ++i)
    operands.emplace_back(first_after_roll(shifts[i], x.dim(axis_of(x.shape(), axes[i]))));
  std::vector<KnownOperand> known;
  for (const Operand& each : operands) known.emplace_back(each, s64);
  const auto formula = [&](std::span<const Operand> in) {
    Tensor out = in[0].tensor();
    for (size_t i = 0; i < axes.size(); ++i)
      out = rolled(out, in[i + 1], axis_of(x.shape(), axes[i]));
    return std::vector<Tensor>{out};
  };
  return in_program("roll", KnownOptions(axes), known, formula)[0];
}

Tensor roll(Operand operand, base::Int shift) {
  const PublicCall call("roll", operand.at());
  const Tensor x = as_tensor(operand);
  const Operand first(first_after_roll(shift, x.size()));
  const auto formula = [&](std::span<const Operand> in) {
    return reshaped(rolled(ravel(in[0]), in[1], 0), x.shape().dimensions());
  };
  return one_program("roll", KnownOptions(), {{x}, {first, s64}}, formula);
}

Tensor tile(Operand operand, const base::Ints& repeats) {
  const PublicCall call("tile", operand.at());
  Tensor x = as_tensor(operand);
  size_t rank = std::max(repeats.size(), static_cast<size_t>(x.rank()));
  Dimensions wide;  // [repeat0, size0, repeat1, size1, ..]
  Dimensions merged;
  std::vector<int64_t> mapping;
  for (size_t i = 0; i < rank; ++i) {
    size_t missing_repeats = rank - repeats.size();
    size_t missing_sizes = rank - static_cast<size_t>(x.rank());
    int64_t times = i < missing_repeats ? 1 : repeats[i - missing_repeats];
    int64_t size = i < missing_sizes ? 1 : x.shape().dimensions()[i - missing_sizes];
    if (times < 0)
      trace_internal::refuse("repeats are (", base::join(repeats, ","),
                             "); they must be 0 or more");
    wide.insert(wide.end(), {times, size});
    merged.push_back(times * size);
    if (i >= missing_sizes) mapping.push_back(static_cast<int64_t>(2 * i + 1));
  }
  return one_program("tile", [&] { return reshaped(broadcast_in_dim(x, wide, mapping), merged); });
}

Tensor repeat(Operand operand, base::Int count, base::Int axis) {
  const PublicCall call("repeat", operand.at());
  Tensor x = as_tensor(operand);
  int64_t index = axis_of(x.shape(), axis);
  if (count < 0) trace_internal::refuse("count is ", count, "; it must be 0 or more");
  Dimensions wide = x.shape().dimensions();
  wide.insert(wide.begin() + index + 1, count);
  std::vector<int64_t> mapping;
  for (int64_t i = 0; i < x.rank(); ++i) mapping.push_back(i <= index ? i : i + 1);
  Dimensions merged = x.shape().dimensions();
  merged[static_cast<size_t>(index)] *= count;
  return one_program("repeat",
                     [&] { return reshaped(broadcast_in_dim(x, wide, mapping), merged); });
}

Tensor repeat(Operand operand, base::Int count) {
  const PublicCall call("repeat", operand.at());
  const Tensor x = as_tensor(operand);
  return one_program("repeat", [&] {
    const Tensor flat = ravel(x);
    return repeat(flat, count, 0);
  });
}

Tensor append(Operand operand, Operand values, std::optional<base::Int> axis) {
  const PublicCall call("append", operand.at());
  const Tensor x = as_tensor(operand);
  const auto joined = [&] {
    const trace_internal::OnDeviceOf device(x);
    const Tensor more = values.is_tensor() ? as_tensor(values) : constant_like(values, x.dtype());
    if (axis) return concat({x, more}, *axis);
    return concat({ravel(x), ravel(more)}, 0);
  };
  // Arrays that grow have a new shape each time, which a program would be compiled for.
  return trace_internal::Recorder::current() == nullptr ? joined() : one_program("append", joined);
}

Tensor slice(Operand operand, const base::Ints& start, const base::Ints& limit,
             const base::Ints& strides) {
  const PublicCall call("slice", operand.at());
  Tensor x = as_tensor(operand);
  size_t rank = static_cast<size_t>(x.rank());
  if (start.size() != rank || limit.size() != rank ||
      (!strides.empty() && strides.size() != rank)) {
    trace_internal::refuse("x is ", x.shape(),
                           "; start, limit and strides must have one entry an axis");
  }
  hlo::SliceAttrs attrs;
  for (size_t i = 0; i < rank; ++i)
    attrs.slice.push_back({start[i], limit[i], strides.empty() ? 1 : strides[i]});
  return emit({.opcode = Opcode::kSlice, .operands = {x}, .attrs = std::move(attrs)});
}

Tensor slice_in_dim(Operand operand, base::Int start, base::Int limit, base::Int stride,
                    base::Int axis) {
  const PublicCall call("slice_in_dim", operand.at());
  Tensor x = as_tensor(operand);
  int64_t index = axis_of(x.shape(), axis);
  std::vector<int64_t> starts(static_cast<size_t>(x.rank()), 0);
  std::vector<int64_t> limits = x.shape().dimensions();
  std::vector<int64_t> strides(static_cast<size_t>(x.rank()), 1);
  size_t i = static_cast<size_t>(index);
  int64_t size = limits[i];
  starts[i] = start < 0 ? start + size : int64_t{start};
  limits[i] = limit < 0 ? limit + size : int64_t{limit};
  strides[i] = stride;
  return one_program("slice_in_dim", [&] { return slice(x, starts, limits, strides); });
}

SliceStarts::SliceStarts(const std::vector<Tensor>& each, SourceLocation at) {
  for (const Tensor& start : each) each_.emplace_back(start, at);
}

Tensor dynamic_slice(Operand operand, const SliceStarts& starts, const base::Ints& sizes) {
  const PublicCall call("dynamic_slice", operand.at());
  const auto of = [&](std::span<const Tensor> xs) {
    const std::vector<Tensor> values(xs.begin() + 1, xs.end());
    return dynamic_slice(xs[0], values, sizes);
  };
  const std::vector<KnownOperand> operands = operands_with_starts({operand}, starts);
  if (Tensor made = known_program("dynamic_slice", KnownOptions(sizes), operands, of);
      made.is_valid())
    return made;
  return one_program("dynamic_slice", [&] {
    std::vector<Tensor> operands = with_starts({as_tensor(operand)}, starts);
    return emit({.opcode = Opcode::kDynamicSlice,
                 .operands = std::move(operands),
                 .attrs = hlo::DynamicSliceAttrs{.dynamic_slice_sizes = sizes}});
  });
}

Tensor dynamic_update_slice(Operand operand, Operand update, const SliceStarts& starts) {
  const PublicCall call("dynamic_update_slice", operand.at());
  constexpr std::string_view kOp = "dynamic_update_slice";
  const auto of = [&](std::span<const Tensor> xs) {
    const std::vector<Tensor> values(xs.begin() + 2, xs.end());
    return dynamic_update_slice(xs[0], xs[1], values);
  };
  const KnownOperand block(update, dtype_beside(operand));
  const std::vector<KnownOperand> operands = operands_with_starts({operand, block}, starts);
  Tensor made = known_program(kOp, KnownOptions(), operands, of, /*spare=*/0);
  if (!made.is_valid()) {
    made = one_program(kOp, [&] {
      Tensor x = as_tensor(operand);
      Tensor values = update.is_tensor() ? update.tensor() : constant_like(update, x.dtype());
      return emit(
          {.opcode = Opcode::kDynamicUpdateSlice, .operands = with_starts({x, values}, starts)});
    });
  }
  trace_internal::drop_if_dying(operand);
  return made;
}

Tensor dynamic_slice_in_dim(Operand operand, Operand start, base::Int size, base::Int axis) {
  const PublicCall call("dynamic_slice_in_dim", operand.at());
  constexpr std::string_view kOp = "dynamic_slice_in_dim";
  const Tensor x = as_tensor(operand);
  const int64_t along = axis_of(x.shape(), axis);
  return one_program(kOp, [&] {
    Dimensions sizes = x.shape().dimensions();
    sizes[static_cast<size_t>(along)] = size;
    return dynamic_slice(x, starts_along(x, scalar_index(start), along), sizes);
  });
}

Tensor dynamic_update_slice_in_dim(Operand operand, Operand update, Operand start, base::Int axis) {
  const PublicCall call("dynamic_update_slice_in_dim", operand.at());
  constexpr std::string_view kOp = "dynamic_update_slice_in_dim";
  const Tensor x = as_tensor(operand);
  const int64_t along = axis_of(x.shape(), axis);
  return one_program(kOp, [&] {
    return dynamic_update_slice(x, update, starts_along(x, scalar_index(start), along));
  });
}

Tensor dynamic_index_in_dim(Operand operand, Operand index, base::Int axis, base::Flag keep_dims) {
  const PublicCall call("dynamic_index_in_dim", operand.at());
  Tensor x = as_tensor(operand);
  int64_t along = axis_of(x.shape(), axis);
  return one_program("dynamic_index_in_dim", [&] {
    Dimensions sizes = x.shape().dimensions();
    sizes[static_cast<size_t>(along)] = 1;
    Tensor row = dynamic_slice(x, starts_along(x, scalar_index(index), along), sizes);
    return keep_dims ? row : squeeze(row, {along});
  });
}

Tensor dynamic_update_index_in_dim(Operand operand, Operand update, Operand index, base::Int axis) {
  const PublicCall call("dynamic_update_index_in_dim", operand.at());
  Tensor x = as_tensor(operand);
  int64_t along = axis_of(x.shape(), axis);
  return one_program("dynamic_update_index_in_dim", [&] {
    Tensor row = update.is_tensor() ? update.tensor() : constant_like(update, x.dtype());
    Dimensions sizes = x.shape().dimensions();
    sizes[static_cast<size_t>(along)] = 1;
    if (row.rank() != x.rank()) row = row.rank() == x.rank() - 1 ? expand_dims(row, along) : row;
    row = broadcast_to(row, sizes);
    return dynamic_update_slice(x, row, starts_along(x, scalar_index(index), along));
  });
}

Tensor pad(Operand x, const std::vector<Padding>& padding) {
  return pad(x, Operand(0, x.at()), padding);
}

Tensor pad(Operand operand, Operand value, const std::vector<Padding>& padding) {
  const PublicCall call("pad", operand.at());
  const trace_internal::OnDeviceOf device(operand, value);
  Tensor x = as_tensor(operand);
  hlo::PadAttrs attrs;
  for (const Padding& p : padding) attrs.padding.push_back({p.low, p.high, p.interior});
  Tensor edge = value.is_tensor() ? value.tensor() : constant_like(value, x.dtype());
  return emit({.opcode = Opcode::kPad, .operands = {x, edge}, .attrs = std::move(attrs)});
}

}  // namespace heddle
