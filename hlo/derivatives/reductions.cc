// Derivatives of reductions: of whole dimensions, and of windows. Where several elements are the
// greatest of a reduction they share its tangent; of a window the first one has it.
#include <algorithm>
#include <cmath>

#include "heddle/hlo/derivatives/internal/rules.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/window.h"

namespace heddle::hlo {
namespace {

constexpr std::string_view kInitDepends = "its initial value depends on the argument";

Value to_operand(const Value& y, const Dims& sizes, const Dims& reduced) {
  return broadcast(y, sizes, other_dimensions(std::ssize(sizes), reduced));
}

// Those that are the greatest are counted, and share, in 32 bits or more: bf16 counts to 256, and
// f8e3m4 to 15.
Value extreme(const JvpArgs& d, const Dims& reduced) {
  const Value &x = d.x[0], &y = d.y[0];
  const DType dtype = x.dtype(), counter = bit_width(dtype) < 32 ? f32 : dtype;
  const Value spread = to_operand(y, x.sizes(), reduced);
  const Value is_it = (x == spread) | (spread != spread);
  const Value count = reduce_sum(convert(is_it, counter), reduced);
  const Value sum = reduce_sum(select(is_it, d.dx[0], d.graph.zeros(x.shape())), reduced);
  const Value shares = select(y == y, maximum(count, count.number(1)), convert(y, counter));
  return convert(convert(sum, counter) / shares, dtype);  // of NaN: NaN
}

Value product(const JvpArgs& d, const Dims& reduced) {
  for (int64_t dimension : reduced) {
    if (d.x[0].size(dimension) == 0) return d.graph.zeros(d.y[0].shape());
  }
  return reshape(tangent_of_product(d.x[0], d.dx[0], reduced), d.y[0].sizes()) * d.x[1];
}

// (value, place) of several reduced together: the value is the element at the place, where places
// are counted along the one dimension that is reduced.
bool picks_a_place(const JvpArgs& d, const Dims& reduced) {
  if (d.x.size() != 4 || reduced.size() != 1) return false;
  const Instruction& places = d.graph.at(d.x[1].id());
  if (places.opcode != Opcode::kIota || places.attrs.get<IotaAttrs>().iota_dimension != reduced[0])
    return false;
  const Computation& combine = d.called();
  const auto selects = [&](size_t which) -> const Instruction* {
    const Instruction& root = combine.root_instruction();
    if (root.opcode != Opcode::kTuple || root.operands.size() != 2) return nullptr;
    const Instruction& made = combine.at(root.operands[which]);
    const auto number = [&](size_t operand) {
      const Instruction& of = combine.at(made.operands[operand]);
      return of.opcode == Opcode::kParameter ? of.attrs.get<ParameterAttrs>().number : -1;
    };
    const auto first = static_cast<int64_t>(which);
    const bool is_choice =
        made.opcode == Opcode::kSelect && number(1) == first && number(2) == first + 2;
    return is_choice ? &made : nullptr;
  };
  const Instruction *value = selects(0), *place = selects(1);
  return value != nullptr && place != nullptr && d.y.size() == 2;
}

Value at_place(const JvpArgs& d, int64_t dimension) {
  const Value &dx = d.dx[0], &place = d.y[1];
  Dims kept = dx.sizes();
  kept[static_cast<size_t>(dimension)] = 1;
  const Value spread = to_operand(place, dx.sizes(), {dimension});
  const Value places = convert(d.graph.iota(dx.sizes(), dimension), place.dtype());
  return reduce_sum(select(places == spread, dx, d.graph.zeros(dx.shape())), {dimension});
}

}  // namespace

// By halves: nothing is divided, so that elements may be 0.
Value tangent_of_product(Value x, Value dx, const Dims& reduced) {
  for (int64_t dimension : reduced) {
    while (x.size(dimension) > 1) {
      const int64_t half = (x.size(dimension) + 1) / 2, rest = x.size(dimension) - half;
      const Value a = slice(x, dimension, 0, half), da = slice(dx, dimension, 0, half);
      std::vector<PadDimension> end(static_cast<size_t>(x.rank()));
      end[static_cast<size_t>(dimension)].high = half - rest;
      const Value b = pad(slice(x, dimension, half, rest), x.number(1), end);
      const Value db = pad(slice(dx, dimension, half, rest), end);
      x = a * b;
      dx = da * b + a * db;
    }
  }
  return dx;
}

std::optional<Opcode> op_of(const Computation& computation) {
  const Instruction& root = computation.root_instruction();
  if (computation.parameters.size() != 2 || root.operands.size() != 2) return std::nullopt;
  for (InstructionId id : root.operands) {
    if (computation.at(id).opcode != Opcode::kParameter) return std::nullopt;
  }
  if (root.operands[0] == root.operands[1]) return std::nullopt;
  const bool in_order = root.operands[0] == computation.parameters[0];
  if (!in_order && !has_trait(root.opcode, kCommutative)) return std::nullopt;
  return root.opcode;
}

StatusOr<Values> jvp_reduce(const JvpArgs& d) {
  const Dims& reduced = d.attrs<DimensionsAttrs>().dimensions;
  if (d.x.size() > 2) {
    if (!picks_a_place(d, reduced) || d.dx[1] || d.dx[2] || d.dx[3])
      return base::unimplemented("it reduces several arrays by a function of their own");
    return Values{at_place(d, reduced[0]), Value()};
  }
  const std::optional<Opcode> combine = op_of(d.called());
  const Value of_start = d.dx[1] ? stretched(d.dx[1], d.y[0].sizes()) : Value();
  if (combine == Opcode::kAdd)
    return Values{add(d.dx[0] ? reduce_sum(d.dx[0], reduced) : Value(), of_start)};
  if (of_start) return base::unimplemented("its initial value has a tangent");
  if (combine == Opcode::kMaximum || combine == Opcode::kMinimum)
    return Values{extreme(d, reduced)};
  if (combine == Opcode::kMultiply) return Values{product(d, reduced)};
  return base::unimplemented(
      "its function is neither a sum, a product, a maximum nor a minimum; use associative_scan or "
      "scan");
}

StatusOr<Values> transpose_reduce(const TransposeArgs& t) {
  if (t.x.size() != 2 || op_of(t.called()) != Opcode::kAdd)
    return base::internal_error("reduce is not a sum");
  Values out(2);
  const Value& ct = t.ct[0];
  if (t.is_linear(0))
    out[0] = to_operand(ct, t.shape(0).dimensions(), t.attrs<DimensionsAttrs>().dimensions);
  if (t.is_linear(1)) out[1] = sum_all(ct);
  return out;
}

namespace {

// For each window the flat position in x of its first greatest (or least) element, -1 where it has
// none.
Value places(const Value& x, const Window& window, bool greatest, const Dims& sizes) {
  Graph& graph = x.graph();
  const DType dtype = x.dtype();
  Graph pick(graph.writer());
  const Value a = pick.parameter(Shape::scalar(dtype)), i = pick.parameter(Shape::scalar(s32)),
              b = pick.parameter(Shape::scalar(dtype)), j = pick.parameter(Shape::scalar(s32));
  const Value is_first = (i >= 0.0) & (greatest ? a >= b : a <= b);
  const ComputationId choice = std::move(pick).finish(
      {select(is_first | (j < 0.0), a, b), select(is_first | (j < 0.0), i, j)});
  const Value flat = reshape(graph.iota({x.shape().element_count()}, 0), x.sizes());
  const double bound = greatest ? -HUGE_VAL : HUGE_VAL;
  const Shape result = Shape::tuple({Shape(dtype, sizes), Shape(s32, sizes)});
  const Value both =
      graph.op(Opcode::kReduceWindow, {x, flat, x.number(bound), graph.number(s32, -1)},
               WindowAttrs{.window = window}, {choice}, &result);
  return graph.element(both, 1);
}

// Elements of x at places(), zeros where there is none.
Value at_places(const Value& x, const Value& at) {
  const Value read = take(x, maximum(at, at.number(0)));
  return select(at >= 0.0, read, x.graph().zeros(read.shape()));
}

// The window of a sum over windows, seen from its operand.
Window seen_from(const Window& window, const Dims& operand, const Dims& result) {
  Window out;
  const std::vector<WindowDimension> entries = window_entries(window, operand.size());
  for (size_t d = 0; d < operand.size(); ++d) {
    const WindowDimension& w = entries[d];
    const int64_t reach = dilated_size(w.size, w.window_dilation);
    const int64_t low = reach - 1 - w.padding_low;
    const int64_t high = dilated_size(operand[d], w.base_dilation) + reach - 1 -
                         dilated_size(result[d], w.stride) - low;
    out.dimensions.push_back({.size = w.size,
                              .stride = w.base_dilation,
                              .padding_low = low,
                              .padding_high = high,
                              .window_dilation = w.window_dilation,
                              .base_dilation = w.stride});
  }
  return out;
}

std::optional<bool> selects_greatest(const Computation& select) {
  const Instruction& root = select.root_instruction();
  if (root.opcode != Opcode::kCompare || root.operands[0] != select.parameters[0])
    return std::nullopt;
  switch (root.attrs.get<CompareAttrs>().direction) {
    case ComparisonDirection::kGe:
    case ComparisonDirection::kGt: return true;
    case ComparisonDirection::kLe:
    case ComparisonDirection::kLt: return false;
    default: return std::nullopt;
  }
}

}  // namespace

StatusOr<Values> jvp_reduce_window(const JvpArgs& d) {
  if (d.x.size() != 2)
    return base::unimplemented("it reduces several arrays by a function of their own");
  if (d.dx[1]) return base::unimplemented("its initial value has a tangent");
  const std::optional<Opcode> combine = op_of(d.called());
  if (combine == Opcode::kAdd) return Values{d.again({d.dx[0], d.x[1].number(0)})};
  if (combine == Opcode::kMaximum || combine == Opcode::kMinimum) {
    const Value at =
        places(d.x[0], d.attrs<WindowAttrs>().window, combine == Opcode::kMaximum, d.y[0].sizes());
    return Values{at_places(d.dx[0], at)};
  }
  return base::unimplemented("its function is neither a sum, a maximum nor a minimum");
}

StatusOr<Values> transpose_reduce_window(const TransposeArgs& t) {
  if (t.x.back().is_absent()) return not_linear(kInitDepends);
  if (t.x.size() != 2 || op_of(t.called()) != Opcode::kAdd)
    return base::internal_error("reduce-window is not a sum");
  const Value& ct = t.ct[0];
  const Shape& shape = t.shape(0);
  const Window window = seen_from(t.attrs<WindowAttrs>().window, shape.dimensions(), ct.sizes());
  return Values{t.graph.op(Opcode::kReduceWindow, {ct, ct.number(0)}, WindowAttrs{.window = window},
                           {t.graph.writer().combiner(Opcode::kAdd, ct.dtype())}, &shape),
                Value()};
}

StatusOr<Values> jvp_select_and_scatter(const JvpArgs& d) {
  if (op_of(d.called(1)) != Opcode::kAdd) return base::unimplemented("it does not scatter sums");
  const Value of_start = d.dx[2] ? stretched(d.dx[2], d.y[0].sizes()) : Value();
  if (d.dx[1].is_absent()) return Values{of_start};
  return Values{add(d.again({d.x[0], d.dx[1], d.x[2].number(0)}), of_start)};
}

StatusOr<Values> transpose_select_and_scatter(const TransposeArgs& t) {
  if (t.is_linear(0)) return not_linear("what it compares depends on the argument");
  if (op_of(t.called(1)) != Opcode::kAdd)
    return base::internal_error("select-and-scatter is not a sum");
  Values out(3);
  if (t.is_linear(2)) out[2] = sum_all(t.ct[0]);
  if (!t.is_linear(1)) return out;
  const std::optional<bool> greatest = selects_greatest(t.called(0));
  if (!greatest) return base::unimplemented("it selects by a function of its own");
  const Value at =
      places(t.x[0], t.attrs<WindowAttrs>().window, *greatest, t.shape(1).dimensions());
  out[1] = at_places(t.ct[0], at);
  return out;
}

}  // namespace heddle::hlo
