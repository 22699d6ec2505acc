// Windows that move over arrays, as loops: reduce-window, select-and-scatter, and convolutions of
// few products an element. Lanes lie along the last dimension of the places.
#include <algorithm>

#include "heddle/cpu/lower/arrays/loops.h"
#include "heddle/cpu/lower/lowering.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {

using hlo::WindowDimension;

namespace {

constexpr int64_t kMaxTaps = 32;  // that are written one after the other
constexpr int64_t kMaxScatteredTaps = 64;
constexpr int64_t kFewProducts = 4096;
constexpr int64_t kFewColumns = 8;
constexpr int64_t kFewWeights = 512;

// Some places have a tap that falls on no element.
bool has_holes(const WindowDimension& w, int64_t base, int64_t places) {
  const int64_t last = (places - 1) * w.stride + (w.size - 1) * w.window_dilation - w.padding_low;
  return w.padding_low > 0 || w.base_dilation > 1 || last >= base;
}

// Calls body(taps, carried) for all taps in row-major order; returns what they carry out.
std::vector<NodeId> for_each_tap(
    PlanBuilder& b, const std::vector<int64_t>& sizes, std::vector<NodeId> carried,
    const std::function<std::vector<NodeId>(const std::vector<NodeId>&, std::vector<NodeId>)>&
        body) {
  int64_t taps = 1;
  for (int64_t size : sizes) taps *= size;
  std::vector<NodeId> at;
  if (taps > kMaxTaps)
    return loop_nest(b, sizes, at, carried,
                     [&](std::vector<NodeId> inner) { return body(at, std::move(inner)); });
  at.resize(sizes.size());
  for (int64_t tap = 0; tap < taps; ++tap) {
    int64_t rest = tap;
    for (size_t d = sizes.size(); d-- > 0; rest /= sizes[d]) at[d] = b.index(rest % sizes[d]);
    carried = body(at, std::move(carried));
  }
  return carried;
}

}  // namespace

// Along one dimension: where the element under a tap lies, for the window at a place; and in `fits`
// whether there is one. Where there is none, the coordinate is that of some other element.
Coordinate RegionLowering::under_tap(const WindowDimension& w, int64_t base, int64_t places,
                                     const Coordinate& place, NodeId tap, int32_t lanes,
                                     NodeId& fits) {
  const NodeId start = b().add(b().mul(place.base, w.stride), b().mul(tap, w.window_dilation));
  const Coordinate spread{b().add(start, -w.padding_low), place.step * w.stride};
  if (!has_holes(w, base, places)) return spread;
  NodeId position = lane_value(spread, lanes);
  const auto holds = [&](NodeId condition) {
    fits = fits.valid() ? b().binary(Op::kAnd, fits, condition) : condition;
  };
  const int64_t last = (base - 1) * w.base_dilation;
  const Type type = b().type(position);
  // Below 0 is far above as an unsigned number.
  holds(b().compare(Predicate::kULe, position, b().integer(type, last)));
  position = b().binary(Op::kSMax, position, b().integer(type, 0));
  position = b().binary(Op::kSMin, position, b().integer(type, last));
  if (w.base_dilation > 1) {
    const NodeId dilation = b().integer(type, w.base_dilation);
    holds(b().compare(Predicate::kEq, b().binary(Op::kURem, position, dilation),
                      b().integer(type, 0)));
    position = b().binary(Op::kUDiv, position, dilation);
  }
  return {position};
}

bool is_plain_window(const hlo::Module& module, const Computation& computation,
                     const Instruction& instruction) {
  return instruction.opcode == Opcode::kReduceWindow &&
         is_scalar_computation(module.at(instruction.called[0])) &&
         std::ranges::all_of(instruction.operands,
                             [&](InstructionId id) {
                               const Shape& shape = computation.at(id).shape;
                               return shape.is_array() && !shape.is_dynamic() &&
                                      scalar_of(shape.dtype());
                             }) &&
         !computation.at(instruction.operands[0]).shape.is_scalar() &&
         computation.at(instruction.operands[0]).shape.element_count() > 0;
}

// How many last dimensions are written as one, as joined_dimensions(): windows stand on one place
// of all but the first of them, and side by side along that.
int64_t RegionLowering::joined_in_window(InstructionId id) {
  const Instruction& instruction = at(id);
  const auto& window = instruction.attrs.get<hlo::WindowAttrs>().window.dimensions;
  const auto is_beside = [&](size_t d) {
    const auto dim = static_cast<int64_t>(d);
    const Shape& from = at(instruction.operands[0]).shape;
    return window[d].stride == 1 && window[d].padding_low == 0 && window[d].padding_high == 0 &&
           !has_holes(window[d], from.dimension(dim), shape(region_.leaf(id)).dimension(dim));
  };
  size_t first = window.size() - 1;
  while (first > 0 && window[first].size == 1 && is_beside(first)) --first;
  int64_t joined = std::ssize(window) - static_cast<int64_t>(first);
  if (!is_beside(first)) return 1;
  for (size_t i = 0; i < region_.leaves_of(id).size() && joined > 1; ++i)
    if (joined_dimensions_of(instruction.operands[i], joined) < joined) joined = 1;
  return joined;
}

// Any function, several operands; holes are left out.
void RegionLowering::emit_window(InstructionId id) {
  const Instruction& instruction = at(id);
  const auto leaves = region_.leaves_of(id);
  const size_t count = leaves.size();
  const Shape& from = at(instruction.operands[0]).shape;
  const Shape& places = shape(leaves[0]);
  const auto& window = instruction.attrs.get<hlo::WindowAttrs>().window.dimensions;
  const Computation& body = program_.module.at(instruction.called[0]);
  std::vector<int64_t> taps;
  for (const WindowDimension& w : window) taps.push_back(w.size);
  std::vector<BufferId> to;
  for (LeafId leaf : leaves) to.push_back(place_for(leaf, id));
  const int64_t joined = joined_in_window(id);
  const size_t last = window.size() - static_cast<size_t>(joined);  // of the coordinates
  const int64_t neighbour = row_major_strides(from.dimensions())[last];
  for_each_place(with_joined(places, joined), widest_scalar(id), [&](Place place) {
    place.joined = joined;
    Memo memo;
    std::vector<NodeId> values;
    for (size_t i = 0; i < count; ++i)
      values.push_back(
          b().splat(operand_element(instruction.operands[count + i], {}, memo), place.lanes));
    values = for_each_tap(
        b(), taps, values, [&](const std::vector<NodeId>& tap, std::vector<NodeId> before) {
          Place source{.coordinates = {}, .lanes = place.lanes, .joined = joined};
          NodeId fits;
          for (size_t d = 0; d <= last; ++d) {
            if (joined > 1 && d == last) {
              source.coordinates.push_back(place.coordinates[d]);
              NodeId& base = source.coordinates[d].base;
              base = b().add(base, b().mul(tap[d], window[d].window_dilation * neighbour));
              continue;
            }
            const auto dim = static_cast<int64_t>(d);
            source.coordinates.push_back(under_tap(window[d], from.dimension(dim),
                                                   places.dimension(dim), place.coordinates[d],
                                                   tap[d], place.lanes, fits));
          }
          std::vector<NodeId> arguments = before;
          Memo inner;
          for (size_t i = 0; i < count; ++i)
            arguments.push_back(operand_element(instruction.operands[i], source, inner));
          std::vector<NodeId> next = inline_scalars(b(), body, arguments);
          for (size_t i = 0; i < count; ++i) {
            next[i] = b().splat(next[i], place.lanes);
            if (fits.valid()) next[i] = b().select(fits, next[i], before[i]);
          }
          return next;
        });
    for (size_t i = 0; i < count; ++i) store_at(to[i], places, place, values[i]);
  });
  for (size_t i = 0; i < count; ++i) bind(leaves[i], Value::of(to[i]));
}

bool is_plain_selection(const hlo::Module& module, const Computation& computation,
                        const Instruction& instruction) {
  if (instruction.opcode != Opcode::kSelectAndScatter) return false;
  const Shape& x = computation.at(instruction.operands[0]).shape;
  const Shape& source = computation.at(instruction.operands[1]).shape;
  const auto& window = instruction.attrs.get<hlo::WindowAttrs>().window.dimensions;
  int64_t taps = 1;
  for (size_t d = 0; d < window.size(); ++d) {
    const auto dim = static_cast<int64_t>(d);
    taps *= window[d].size;
    if (taps > kMaxScatteredTaps || source.dimension(dim) == 0 ||
        has_holes(window[d], x.dimension(dim), source.dimension(dim)))
      return false;
  }
  return !window.empty() && x.element_count() > 0 && scalar_of(x.dtype()) &&
         source.dtype() == x.dtype() && !x.is_dynamic() &&
         is_scalar_computation(module.at(instruction.called[0])) &&
         is_scalar_computation(module.at(instruction.called[1]));
}

namespace {

// What lies under tap number t of the window at a place.
Place under(PlanBuilder& b, std::span<const WindowDimension> window, int64_t t,
            const Place& place) {
  Place source{.coordinates = std::vector<Coordinate>(window.size()), .lanes = place.lanes};
  for (size_t d = window.size(); d-- > 0; t /= window[d].size) {
    const WindowDimension& w = window[d];
    const int64_t tap = t % w.size * w.window_dilation - w.padding_low;
    source.coordinates[d] = {b.add(b.mul(place.coordinates[d].base, w.stride), tap),
                             place.coordinates[d].step * w.stride};
  }
  return source;
}

}  // namespace

// One place after the other, but for lanes, which share no element.
void RegionLowering::emit_selection(InstructionId id, BufferId to) {
  const Instruction& instruction = at(id);
  const Shape& places = at(instruction.operands[1]).shape;
  const WindowDimension& last = instruction.attrs.get<hlo::WindowAttrs>().window.dimensions.back();
  for_each_place(instruction.shape.dimensions(), widest_scalar(id), [&](const Place& place) {
    Memo memo;
    store_at(to, instruction.shape, place, operand_element(instruction.operands[2], {}, memo));
  });
  if (places.dimensions().back() > 1 && last.size == 1) {
    for_each_place(places.dimensions(), widest_scalar(id),
                   [&](const Place& place) { scatter_to_selected(instruction, place, to); });
    return;
  }
  std::vector<NodeId> at_place;
  loop_nest(b(), places.dimensions(), at_place, {},
            [&](const std::vector<NodeId>&) -> std::vector<NodeId> {
              scatter_to_selected(instruction, place_at(at_place), to);
              return {};
            });
}

void RegionLowering::scatter_to_selected(const Instruction& scatter, const Place& place,
                                         BufferId to) {
  const auto& window = scatter.attrs.get<hlo::WindowAttrs>().window.dimensions;
  int64_t taps = 1;
  for (const WindowDimension& w : window) taps *= w.size;
  std::vector<Place> sources;
  NodeId best, number;
  for (int64_t t = 0; t < taps; ++t) {
    Memo memo;
    sources.push_back(under(b(), window, t, place));
    const NodeId x =
        b().splat(operand_element(scatter.operands[0], sources.back(), memo), place.lanes);
    const NodeId mine = b().integer({Scalar::kI32, place.lanes}, t);
    const NodeId both[] = {best, x};
    const NodeId stays =
        t == 0 ? NodeId() : inline_scalars(b(), program_.module.at(scatter.called[0]), both)[0];
    best = t == 0 ? x : b().select(stays, best, x);
    number = t == 0 ? mine : b().select(stays, number, mine);
  }
  Memo memo;
  const NodeId value = operand_element(scatter.operands[1], place, memo);
  for (int64_t t = 0; t < taps; ++t) {
    const Place& target = sources[static_cast<size_t>(t)];
    NodeId before;
    {
      const PlanBuilder::Ordered after_the_last_one(b());
      before = load_at(to, scatter.shape, target);
    }
    const NodeId both[] = {before, value};
    const NodeId after = inline_scalars(b(), program_.module.at(scatter.called[1]), both)[0];
    const NodeId is_picked = b().compare(Predicate::kEq, number, b().integer(b().type(number), t));
    store_at(to, scatter.shape, target, b().select(is_picked, after, before));
  }
}

bool is_direct_convolution(const Computation& computation, const Instruction& instruction) {
  if (!is_product_convolution(computation, instruction)) return false;
  const auto& attrs = instruction.attrs.get<hlo::ConvolutionAttrs>();
  const Shape& weights = computation.at(instruction.operands[1]).shape;
  const int64_t groups = attrs.feature_group_count * attrs.batch_group_count;
  const int64_t outputs = weights.dimension(attrs.dim_labels.kernel_output_feature);
  const int64_t products = instruction.shape.element_count() * (weights.element_count() / outputs);
  // Rows under a window that are shorter than the copies and calls around them.
  const bool has_few_weights = weights.element_count() <= kFewWeights;
  return products <= kFewProducts || has_few_weights ||
         (groups > 1 && outputs / groups < kFewColumns);
}

void RegionLowering::emit_direct_convolution(InstructionId id, BufferId to) {
  const Instruction& instruction = at(id);
  const auto& attrs = instruction.attrs.get<hlo::ConvolutionAttrs>();
  const hlo::ConvolutionDims& dims = attrs.dim_labels;
  const auto& window = attrs.window.dimensions;
  const Shape& x = at(instruction.operands[0]).shape;
  const Shape& weights = at(instruction.operands[1]).shape;
  const Shape& places = instruction.shape;
  const Scalar scalar = scalar_type(places);
  const int64_t groups = attrs.feature_group_count * attrs.batch_group_count;
  const int64_t columns = weights.dimension(dims.kernel_output_feature) / groups;
  const int64_t features = weights.dimension(dims.kernel_input_feature);
  std::vector<int64_t> taps;
  for (int64_t d : dims.kernel_spatial) taps.push_back(weights.dimension(d));
  taps.push_back(features);
  const auto of = [](std::vector<Coordinate>& coordinates, int64_t d) -> Coordinate& {
    return coordinates[static_cast<size_t>(d)];
  };
  for_each_place(places.dimensions(), scalar, [&](Place place) {
    const Coordinate output = of(place.coordinates, dims.output_feature);
    Coordinate group = output;
    if (columns > 1) {
      const NodeId lanes = lane_value(output, place.lanes);
      group = {b().binary(Op::kUDiv, lanes, b().integer(b().type(lanes), columns))};
    }
    const auto in_group = [&](int64_t size, Coordinate inner) {
      return Coordinate{b().add(b().mul(group.base, size), inner.base),
                        group.step * size + inner.step};
    };
    std::vector<NodeId> sum = {b().bits({scalar, place.lanes}, 0)};
    sum = for_each_tap(
        b(), taps, sum, [&](const std::vector<NodeId>& tap, std::vector<NodeId> before) {
          Place from{.coordinates = std::vector<Coordinate>(x.dimensions().size()),
                     .lanes = place.lanes};
          Place weight{.coordinates = std::vector<Coordinate>(weights.dimensions().size()),
                       .lanes = place.lanes};
          NodeId fits;
          for (size_t d = 0; d < window.size(); ++d) {
            const int64_t in = dims.input_spatial[d], out = dims.output_spatial[d];
            of(from.coordinates, in) =
                under_tap(window[d], x.dimension(in), places.dimension(out),
                          of(place.coordinates, out), tap[d], place.lanes, fits);
            of(weight.coordinates, dims.kernel_spatial[d]) = {
                window[d].window_reversal
                    ? b().binary(Op::kSub, b().index(window[d].size - 1), tap[d])
                    : tap[d]};
          }
          const Coordinate feature{tap.back()}, batch = of(place.coordinates, dims.output_batch);
          of(from.coordinates, dims.input_feature) =
              attrs.feature_group_count > 1 ? in_group(features, feature) : feature;
          of(from.coordinates, dims.input_batch) =
              attrs.batch_group_count > 1 ? in_group(places.dimension(dims.output_batch), batch)
                                          : batch;
          of(weight.coordinates, dims.kernel_input_feature) = feature;
          of(weight.coordinates, dims.kernel_output_feature) = output;
          Memo memo;
          NodeId value =
              b().splat(operand_element(instruction.operands[0], from, memo), place.lanes);
          if (fits.valid()) value = b().select(fits, value, b().bits(b().type(value), 0));
          const NodeId factor = operand_element(instruction.operands[1], weight, memo);
          return std::vector{b().fma(value, b().splat(factor, place.lanes), before[0])};
        });
    store_at(to, places, place, sum[0]);
  });
}

}  // namespace heddle::cpu
