#include "heddle/transform/batch.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>

#include "heddle/base/containers/span.h"
#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/hlo/calls/debug_calls.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/op.h"
#include "heddle/transform/batching/internal/batcher.h"
#include "heddle/transform/dump.h"
#include "heddle/transform/internal/ir.h"
#include "heddle/transform/internal/leaves.h"
#include "heddle/transform/internal/transform_span.h"
#include "heddle/transform/passes.h"

namespace heddle::transform {

using hlo::Module;

std::vector<bool> mask_of(const AllLanes& lanes) {
  std::vector<bool> out;
  for (const Lanes& each : lanes) out.push_back(each.is_batched);
  return out;
}

namespace {

bool is_any_batched(const AllLanes& lanes) {
  return std::ranges::any_of(lanes, [](const Lanes& each) { return each.is_batched; });
}

Status without_form(const Instruction& instruction, std::string_view why) {
  return at_line(base::unimplemented(to_string(instruction.opcode), ": has no batched form: ", why),
                 instruction);
}

bool is_dynamic(const Shape& shape) {
  if (shape.is_tuple()) return std::ranges::any_of(shape.elements(), is_dynamic);
  return shape.is_dynamic();
}

}  // namespace

bool Batcher::minds_active(ComputationId id) {
  const auto known = minds_active_.find(id);
  if (known != minds_active_.end()) return known->second;
  const Computation computation = source_.at(id);
  const bool has = std::ranges::any_of(computation.instructions,
                                       [&](const Instruction& each) { return minds_active(each); });
  minds_active_.emplace(id, has);
  return has;
}

bool Batcher::minds_active(const Instruction& instruction) {
  return instruction.opcode == Opcode::kWhile || hlo::is_debug_call(instruction) ||
         std::ranges::any_of(instruction.called,
                             [&](ComputationId id) { return minds_active(id); });
}

bool Batcher::is_together(const Instruction& instruction) {
  if (together_.empty()) return false;
  if (hlo::together_along(instruction) == together_) return true;
  return std::ranges::any_of(instruction.called, [&](ComputationId id) {
    const auto known = has_together_.find(id);
    if (known != has_together_.end()) return known->second;
    const bool has = has_together(source_.at(id));
    return has_together_[id] = has;
  });
}

bool Batcher::has_together(const Computation& computation) {
  return std::ranges::any_of(computation.instructions,
                             [&](const Instruction& each) { return is_together(each); });
}

namespace {

// The value that leaves the other operand as it is.
Literal neutral(const Computation& combiner, DType dtype) {
  const int64_t bits = bit_width(dtype);
  const int64_t least = is_signed(dtype) ? INT64_MIN >> (64 - bits) : 0;
  const int64_t greatest = is_signed(dtype) ? -(least + 1)
                           : bits == 64     ? -1
                                            : (int64_t{1} << bits) - 1;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool is_float = is_floating(dtype);
  switch (combiner.root_instruction().opcode) {
    case Opcode::kMultiply: return Literal::scalar(dtype, int64_t{1});
    case Opcode::kMaximum:
      return is_float ? Literal::scalar(dtype, -kInfinity) : Literal::scalar(dtype, least);
    case Opcode::kMinimum:
      return is_float ? Literal::scalar(dtype, kInfinity) : Literal::scalar(dtype, greatest);
    default: return Literal::scalar(dtype, int64_t{0});
  }
}

}  // namespace

// Reduces over all lanes. 8-bit floats have no infinities to start from, so they are reduced as
// f32.
Value Batcher::reduced(Graph& graph, const Value& x, const Instruction& instruction) {
  const Computation combiner = source_.at(instruction.called[0]);
  const bool is_small = is_floating(x.dtype()) && bit_width(x.dtype()) <= 8;
  const Value wide = is_small ? hlo::convert(x, f32) : x;
  const ComputationId called = is_small ? into().combiner(combiner.root_instruction().opcode, f32)
                                        : source_.called(instruction.called[0]);
  const Value start = graph.constant(neutral(combiner, wide.dtype()));
  const Value made =
      graph.op(Opcode::kReduce, {wide, start}, hlo::DimensionsAttrs{.dimensions = {0}}, {called});
  return hlo::convert(made, x.dtype());
}

Lanes Batcher::together(Graph& graph, const Instruction& instruction, const AllLanes& operands) {
  if (instruction.opcode == Opcode::kReplicaId)
    return {graph.iota({size_}, 0, instruction.shape.dtype()), true};
  const Value x = full(operands[0]);
  const hlo::Dims& sizes = instruction.shape.dimensions();
  hlo::Dims order = consecutive_dimensions(x.rank());
  if (instruction.opcode == Opcode::kAllReduce) return {reduced(graph, x, instruction)};
  if (instruction.opcode == Opcode::kCollectivePermute)
    return {sent(x, instruction.attrs.get<hlo::CollectivePermuteAttrs>().source_target_pairs),
            true};
  const int64_t along = instruction.attrs.get<hlo::CollectiveAttrs>().dimensions[0];
  switch (instruction.opcode) {
    case Opcode::kAllGather:  // the lanes' parts one after the other
      order.erase(order.begin());
      order.insert(order.begin() + along, 0);
      return {hlo::reshape(hlo::transpose(x, order), sizes)};
    case Opcode::kReduceScatter: {  // part i of the sum is lane i's
      hlo::Dims parts = sizes;
      parts.insert(parts.begin() + along, size_);
      order.erase(order.begin() + along);
      order.insert(order.begin(), along);
      return {hlo::transpose(hlo::reshape(reduced(graph, x, instruction), parts), order), true};
    }
    default: {  // all-to-all: part j of lane i is part i of lane j
      hlo::Dims parts = x.sizes();
      parts[static_cast<size_t>(along) + 1] /= std::max<int64_t>(size_, 1);
      parts.insert(parts.begin() + along + 1, size_);
      order.push_back(x.rank());
      std::swap(order[0], order[static_cast<size_t>(along) + 1]);
      return {hlo::reshape(hlo::transpose(hlo::reshape(x, parts), order), x.sizes()), true};
    }
  }
}

// What lanes receive from each other; zeros for a lane that receives nothing.
Value Batcher::sent(const Value& x, const std::vector<hlo::SourceTarget>& pairs) const {
  if (size_ == 0) return x;
  std::vector<int32_t> from(static_cast<size_t>(size_), -1);
  for (const hlo::SourceTarget& pair : pairs)
    from[static_cast<size_t>(pair.target)] = static_cast<int32_t>(pair.source);
  Graph& graph = x.graph();
  hlo::GatherAttrs attrs{.collapsed_slice_dims = {0},
                         .start_index_map = {0},
                         .index_vector_dim = 1,
                         .slice_sizes = x.sizes()};
  attrs.slice_sizes[0] = 1;
  attrs.offset_dims = consecutive_dimensions(x.rank() - 1, 1);
  const Value indices =
      graph.constant(Literal::from<int32_t>(Shape(s32, {size_}), std::span<const int32_t>(from)));
  const Value all = gather(x, indices, attrs);  // an index of -1 reads lane 0
  if (std::ranges::find(from, -1) == from.end()) return all;
  return chosen(indices >= 0, all, graph.zeros(x.shape()));
}

Shape Batcher::type_of(const Shape& lane, bool is_batched) const {
  return is_batched ? hlo::with_lanes(lane, size_) : lane;
}

Value Batcher::full(const Lanes& lanes) const {
  return lanes.is_batched ? lanes.x : hlo::in_each_lane(lanes.x, size_);
}

Value Batcher::chosen(const Value& p, const Value& x, const Value& y) const {
  return hlo::select(hlo::broadcast(p, x.sizes(), {0}), x, y);
}

AllLanes Batcher::plain(Graph& graph, const Computation& computation,
                        const Instruction& instruction, const AllLanes& operands) {
  Values leaves;
  for (const Lanes& operand : operands) leaves.push_back(operand.x);
  const Values values = assembled(graph, operand_shapes(computation, instruction), leaves);
  const Value y = copied(graph, instruction, values, source_.called(instruction.called));
  AllLanes out;
  for (const Value& leaf : flattened(graph, y)) out.push_back({leaf});
  return out;
}

StatusOr<AllLanes> Batcher::by_rule(Graph& graph, const Computation& computation,
                                    const Instruction& instruction, const AllLanes& operands) {
  for (InstructionId id : instruction.operands) {
    const Shape& shape = computation.at(id).shape;
    if (shape.is_tuple()) return without_form(instruction, "it takes a tuple");
    if (is_dynamic(shape)) return without_form(instruction, "its sizes are known at run time only");
  }
  const hlo::Slot<hlo::BatchFn> rule = hlo::batching_of(instruction.opcode);
  if (!rule) return without_form(instruction, rule.reason());
  AllLanes out;
  if (size_ == 0) {
    for (const Shape& leaf : leaves_of(instruction.shape))
      out.push_back({graph.zeros(hlo::with_lanes(leaf, 0)), true});
    return out;
  }
  Instruction of = instruction;
  of.called = source_.called(instruction.called);
  Values values;
  for (const Lanes& each : operands) values.push_back(each.x);
  auto made = rule.rule()({graph, of, values, mask_of(operands), size_});
  if (!made.ok()) return without_form(instruction, base::message_of(made.status()));
  for (const Value& value : *made) {
    for (const Value& leaf : flattened(graph, value))
      out.push_back({leaf, leaf.shape().is_array()});
  }
  return out;
}

Value Batcher::stopped_where_not(Graph& graph, const Value& p, const Value& x) const {
  const Shape type = x.shape();
  return chosen(p, x, graph.op(Opcode::kBitcastConvert, {x}, {}, {}, &type));
}

StatusOr<AllLanes> Batcher::of_call(Graph& graph, const Instruction& call, const AllLanes& operands,
                                    const Value& active) {
  const bool has_active = active && minds_active(call.called[0]);
  Values given;
  for (const Lanes& each : operands) given.push_back(each.x);
  if (has_active) given.push_back(active);
  const std::tuple key{call.called[0], mask_of(operands), has_active};
  auto known = calls_.find(key);
  if (known == calls_.end()) {
    const Computation computation = source_.at(call.called[0]);
    Graph inside(source_.into(), computation.name);
    AllLanes parameters;
    for (const Lanes& each : operands)
      parameters.push_back({inside.parameter(each.x.shape()), each.is_batched});
    const Value active_inside = has_active ? inside.parameter(active.shape()) : Value();
    HEDDLE_ASSIGN_OR_RETURN(const AllLanes results,
                            run(inside, computation, parameters, active_inside));
    Values values;
    std::vector<size_t> operand_of;
    for (const Lanes& each : results) {
      values.push_back(each.x);
      const auto is_this = [&](const Lanes& one) { return one.x.id() == each.x.id(); };
      const auto parameter = std::ranges::find_if(parameters, is_this);
      operand_of.push_back(static_cast<size_t>(parameter - parameters.begin()));
    }
    const ComputationId id = std::move(inside).finish(values);
    known = calls_.emplace(key, Called{id, mask_of(results), std::move(operand_of)}).first;
  }
  const auto& [id, results, operand_of] = known->second;
  Value made = graph.op(Opcode::kCall, given, hlo::CallAttrs{}, {id});
  const bool is_composite = call.attrs.get<hlo::CallAttrs>().is_composite;
  if (!is_composite && !call.extras->frontend_attributes.empty())
    made = graph.with_frontend_attributes(made, call.extras->frontend_attributes);
  AllLanes out;
  const Values leaves = flattened(graph, made);
  for (size_t i = 0; i < leaves.size(); ++i) {
    const bool is_operand = operand_of[i] < operands.size();
    out.push_back(is_operand ? operands[operand_of[i]] : Lanes{leaves[i], results[i]});
  }
  return out;
}

StatusOr<AllLanes> Batcher::of_custom_derivative(Graph& graph, const Instruction& call,
                                                 const AllLanes& operands) {
  Instruction wide = call;
  wide.name.clear();
  if (!wide.extras->control_predecessors.empty()) wide.extras.mutate().control_predecessors.clear();
  wide.operands.clear();
  for (const Lanes& each : operands) wide.operands.push_back(full(each).id());
  for (hlo::ComputationId& called : wide.called) {
    const Computation computation = source_.at(called);
    Graph inside(source_.into(), computation.name);
    AllLanes parameters;
    for (InstructionId id : computation.parameters)
      parameters.push_back({inside.parameter(type_of(computation.at(id).shape, true)), true});
    HEDDLE_ASSIGN_OR_RETURN(const AllLanes results, run(inside, computation, parameters, Value()));
    Values values;
    for (const Lanes& each : results) values.push_back(full(each));
    called = std::move(inside).finish(values);
  }
  std::vector<Shape> types;
  for (const Shape& leaf : leaves_of(call.shape)) types.push_back(type_of(leaf, true));
  wide.shape = Shape::tuple(types);
  AllLanes out;
  for (const Value& each : graph.elements(graph.append(std::move(wide))))
    out.push_back({each, true});
  return out;
}

// The call if `on` is true, else zeros.
Value Batcher::guarded(Graph& graph, const Instruction& call, const Value& on,
                       const Values& operands) {
  std::vector<Shape> types;
  for (const Value& each : operands) types.push_back(each.shape());
  Graph runs(source_.into(), call.name), rests(source_.into(), base::cat(call.name, ".none"));
  const Values given = runs.elements(runs.parameter(Shape::tuple(types)));
  const Value made = copied(runs, call, given, source_.called(call.called));
  rests.parameter(Shape::tuple(types));
  Values none;
  for (const Shape& leaf : leaves_of(call.shape)) none.push_back(rests.zeros(leaf));
  const hlo::ComputationId branches[] = {std::move(runs).finish(runs.elements(made)),
                                         std::move(rests).finish(none)};
  const Value tuple = graph.tuple(operands);
  return graph.op(Opcode::kConditional, {on, tuple, tuple}, {}, {branches[0], branches[1]});
}

AllLanes Batcher::of_active_lanes(Graph& graph, const Instruction& call, const AllLanes& operands,
                                  const Value& active) {
  AllLanes out;
  if (!is_any_batched(operands)) {
    Values shared;
    for (const Lanes& each : operands) shared.push_back(each.x);
    const Value any = hlo::reduce(active, Opcode::kOr, 0, {0});
    for (const Value& each : graph.elements(guarded(graph, call, any, shared)))
      out.push_back({each});
    return out;
  }
  Graph step(source_.into(), call.name);
  Values inputs{active}, parameters;
  const Value on = step.parameter(Shape(pred, {}));
  for (const Lanes& each : operands) {
    const Value all = full(each);
    inputs.push_back(all);
    parameters.push_back(step.parameter(slice_of(all, 0)));
  }
  const ComputationId body =
      std::move(step).finish(step.elements(guarded(step, call, on, parameters)));
  const Value made = graph.op(Opcode::kScan, inputs, hlo::ScanAttrs{.dimensions = {0}}, {body});
  for (const Value& each : flattened(graph, made)) out.push_back({each, true});
  return out;
}

StatusOr<AllLanes> Batcher::of_debug_call(Graph& graph, const Instruction& call,
                                          const AllLanes& operands, const Value& active) {
  Instruction now = call;
  std::string& config = now.extras.mutate().backend_config;
  Values given;
  if (hlo::is_custom(call, hlo::kPrintCall)) {
    // The lanes of an inner vmap and these are one dimension.
    const auto entry = [&](std::string_view name) { return hlo::dictionary_entry(config, name); };
    int64_t lanes = 0;
    const std::string_view text = entry("lanes");
    std::from_chars(text.data(), text.data() + text.size(), lanes);
    const bool is_masked = entry("masked") == "true";
    if ((lanes != 0 && operands.empty()) || (is_masked && lanes == 0))
      return without_form(call, "it has no operand for its lanes");
    for (const Lanes& each : operands) {
      const Shape shape = each.x.shape();
      const int64_t d = each.is_batched ? 1 : 0;
      if (lanes != 0 && (shape.rank() <= d || shape.dimension(d) != lanes))
        return without_form(call, "it has other lanes than its operands");
    }
    const auto flat = [&](const Value& x) {
      if (lanes == 0) return x;
      hlo::Dims sizes = x.sizes();
      sizes[1] *= sizes[0];
      sizes.erase(sizes.begin());
      return hlo::reshape(x, sizes);
    };
    for (const Lanes& each : operands) given.push_back(flat(full(each)));
    if (active) {
      const Value mask = lanes == 0 ? active : flat(hlo::broadcast(active, {size_, lanes}, {0}));
      if (is_masked)
        given.back() = given.back() & mask;
      else
        given.push_back(mask);
    }
    const bool has_mask = is_masked || active;
    config = base::cat("{text = ", entry("text"), ", at = ", entry("at"),
                       ", lanes = ", std::max<int64_t>(lanes, 1) * size_,
                       has_mask ? ", masked = true}" : "}");
  } else {
    // A check sees all lanes at once, with zeros for inactive ones. A bar shows the lane that is
    // ahead.
    for (const Lanes& each : operands) {
      Value x = each.x;
      if (active) x = chosen(active, full(each), graph.zeros(full(each).shape()));
      if (hlo::is_custom(call, hlo::kProgressCall) && (active || each.is_batched))
        x = hlo::reduce(x, Opcode::kMaximum, 0, {0});
      given.push_back(x);
    }
  }
  return AllLanes{{copied(graph, now, given, {})}};
}

StatusOr<AllLanes> Batcher::batched(Graph& graph, const Computation& computation,
                                    const Instruction& instruction, const AllLanes& operands,
                                    const Value& active) {
  switch (instruction.opcode) {
    case Opcode::kCall: return of_call(graph, instruction, operands, active);
    case Opcode::kScan:
      return batch_of_scan(*this, graph, computation, instruction, operands, active);
    case Opcode::kWhile: return batch_of_while(*this, graph, instruction, operands, active);
    case Opcode::kConditional:
      return batch_of_conditional(*this, graph, computation, instruction, operands, active);
    case Opcode::kCopy:
    case Opcode::kOptBarrier: {
      if (!instruction.shape.is_tuple()) break;
      Values leaves;
      for (const Lanes& each : operands) leaves.push_back(each.x);
      const Value made = graph.op(instruction.opcode, {graph.tuple(leaves)});
      AllLanes out = operands;
      const Values now = flattened(graph, made);
      for (size_t i = 0; i < out.size(); ++i) out[i].x = now[i];
      return out;
    }
    case Opcode::kCustomCall: {
      if (hlo::is_debug_call(instruction)) {
        if (size_ == 0) return AllLanes{{graph.number(u32, 0)}};
        return of_debug_call(graph, instruction, operands, active);
      }
      const auto may_wait = [&](hlo::ComputationId id) { return active && minds_active(id); };
      if (!hlo::has_own_derivative(instruction) || size_ == 0) break;
      if (std::ranges::any_of(instruction.called, may_wait))
        return of_active_lanes(graph, instruction, operands, active);
      return of_custom_derivative(graph, instruction, operands);
    }
    default: break;
  }
  return by_rule(graph, computation, instruction, operands);
}

StatusOr<AllLanes> Batcher::run(Graph& graph, const Computation& computation,
                                const AllLanes& parameters, const Value& active) {
  return leaves_of_run(
      graph, computation, parameters,
      [&](const Instruction& instruction, const AllLanes& operands) -> StatusOr<AllLanes> {
        if (!together_.empty() && hlo::together_along(instruction) == together_)
          return AllLanes{together(graph, instruction, operands)};
        if (is_any_batched(operands) || (active && minds_active(instruction)) ||
            is_together(instruction))
          return batched(graph, computation, instruction, operands, active);
        return plain(graph, computation, instruction, operands);
      });
}

StatusOr<Batch> batch(const Module& module, const std::vector<bool>& of, int64_t size,
                      std::string_view together) {
  const TransformSpan span("batch");
  Writer writer;
  const Computation& entry = module.entry_computation();
  Source source(writer, module);
  Graph graph(writer, entry.name);
  AllLanes parameters;
  for (InstructionId id : entry.parameters) {
    const std::vector<Shape> leaves = leaves_of(entry.at(id).shape);
    const bool is_flat = leaves.size() == 1 && !entry.at(id).shape.is_tuple();
    for (const Shape& leaf : leaves) {
      const bool is_batched = of[parameters.size()];
      Instruction parameter = is_flat ? entry.at(id) : Instruction{.opcode = Opcode::kParameter};
      parameter.attrs = hlo::ParameterAttrs{.number = static_cast<int64_t>(parameters.size())};
      parameter.shape = is_batched ? hlo::with_lanes(leaf, size) : leaf;
      if (is_batched && parameter.extras->sharding.has_value())
        parameter.extras.mutate().sharding.reset();
      parameters.push_back({graph.append(std::move(parameter)), is_batched});
    }
  }
  HEDDLE_ASSIGN_OR_RETURN(const AllLanes results,
                          Batcher(source, size, together).run(graph, entry, parameters, Value()));
  Values values;
  for (const Lanes& each : results) values.push_back(each.x);
  const ComputationId id = std::move(graph).finish(values);
  HEDDLE_RETURN_IF_ERROR(writer.status());
  Batch out{std::move(writer).finish(id), mask_of(results)};
  out.module.name = module.name;
  // It is not simplified: that would remove stop_gradient, which a derivative of the module needs.
  HEDDLE_ASSIGN_OR_RETURN(out.module, merge_equal(out.module));
  HEDDLE_ASSIGN_OR_RETURN(out.module, remove_unused(out.module));
  HEDDLE_RETURN_IF_ERROR(dump_step("batch", module, out.module));
  return out;
}

}  // namespace heddle::transform
