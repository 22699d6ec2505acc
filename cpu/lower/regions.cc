// while and conditional as control flow of the plan.
//
// A carried scalar is a value that the loop hands on, and so are the vectors of a small carried
// array. A larger one has one place in memory: the initial value is put there, or was there, and
// each turn leaves the next value there. What a turn hands on unchanged is no carry at all.
#include <algorithm>
#include <list>
#include <map>
#include <set>

#include "heddle/cpu/lower/counted_loop.h"
#include "heddle/cpu/lower/double_turns.h"
#include "heddle/cpu/lower/lowering.h"
#include "heddle/cpu/lower/scalar_ops.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
namespace {

using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;

// Keeps a buffer from being overwritten while it lives.
class Hold {
 public:
  explicit Hold(ProgramLowering& program) : program_(program) {}
  ~Hold() {
    for (BufferId buffer : held_) --program_.state(buffer).pending;
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  void add(const Value& value) {
    if (!value.is_buffer()) return;
    ++program_.state(value.buffer).pending;
    held_.push_back(value.buffer);
  }

 private:
  ProgramLowering& program_;
  std::vector<BufferId> held_;
};

// Carried scalars that go side by side.
struct CarriedVector {
  std::vector<size_t> carries;  // numbers of leaves of the state
};

template <class Kind>
std::vector<size_t> kinds_are(const std::vector<Kind>& kinds, Kind kind) {
  std::vector<size_t> found;
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] == kind) found.push_back(i);
  }
  return found;
}

constexpr int64_t kMaxCarriedVectors = 4;  // of an array that loops hand on in registers

// What is computed anew: an update in place would be one store of the whole.
bool is_handed_on(const Region& body, LeafId result, int64_t vector_bytes) {
  const Shape& shape = *body.leaves()[result.value].shape;
  const std::optional<Scalar> scalar = shape.is_array() ? scalar_of(shape.dtype()) : std::nullopt;
  if (!scalar || bytes_of(*scalar) < 4 || shape.byte_size() > kMaxCarriedVectors * vector_bytes)
    return false;
  const auto updates = [&](LeafId leaf) {
    const Instruction& producer = body.computation().at(body.leaves()[leaf.value].producer);
    return updated_operands(producer) > 0 || producer.opcode == Opcode::kConditional;
  };
  return !updates(result);
}

// In the order of the packs that make the next values; none where the body has no packs.
std::vector<CarriedVector> carried_vectors(const Region& body, const std::vector<size_t>& scalars,
                                           int64_t lanes) {
  std::map<int, std::vector<size_t>> by_pack;
  const Packs packs(body, lanes);
  for (size_t i : scalars) {
    const int pack = packs.pack_of(body.leaves()[body.results()[i].value].producer);
    if (pack >= 0) by_pack[pack].push_back(i);
  }
  std::vector<CarriedVector> vectors;
  for (auto& [pack, carries] : by_pack) {
    if (carries.size() >= Packs::kFewest) vectors.push_back({std::move(carries)});
  }
  return vectors;
}

// The counter is start, start + step, .. in the turns of a loop.
void assume_counter(PlanBuilder& builder, NodeId counter, NodeId start, int64_t step,
                    int64_t turns) {
  const Bounds all = bounds_of(builder.type(counter).scalar);
  int64_t way, low, high;
  if (__builtin_mul_overflow(step, turns - 1, &way) ||
      __builtin_add_overflow(builder.bounds(start).low, std::min<int64_t>(way, 0), &low) ||
      __builtin_add_overflow(builder.bounds(start).high, std::max<int64_t>(way, 0), &high))
    return;
  if (low >= all.low && high <= all.high) builder.assume(counter, {low, high});
}

// Whether it is a reshape or view that lies where its operand does.
bool is_same_memory(const Region& region, const Instruction& reshape) {
  if (is_complex_view(region.computation(), reshape)) return true;
  if (reshape.opcode != Opcode::kReshape) return false;
  const Shape& from = region.computation().at(reshape.operands[0]).shape;
  return !is_degenerate_reshape(from, reshape.shape) && !from.is_scalar();
}

// The regions of computations within a region, made once.
using InnerRegions = std::map<hlo::ComputationId, Region>;

int64_t updated_parameter(const hlo::Module& module, const Region& region, LeafId leaf,
                          InnerRegions& inner);

// The operand whose memory result `number` of a conditional may be made in. Invalid: none.
LeafId updated_in_branches(const hlo::Module& module, const Region& region,
                           const Instruction& conditional, size_t number, InnerRegions& inner) {
  LeafId same;
  for (size_t k = 0; k < conditional.called.size(); ++k) {
    const hlo::ComputationId called = conditional.called[k];
    const Region& branch = inner.try_emplace(called, module, module.at(called)).first->second;
    const int64_t parameter = updated_parameter(module, branch, branch.results()[number], inner);
    if (parameter < 0) return {};
    const LeafId given =
        region.leaves_of(conditional.operands[k + 1])[static_cast<size_t>(parameter)];
    if (k > 0 && given != same) return {};
    same = given;
  }
  return same;
}

// The leaves whose memory a leaf that a step gives may be made in: what it updates, or each operand
// of an elementwise step.
std::vector<LeafId> updated_leaves(const hlo::Module& module, const Region& region, LeafId leaf,
                                   InnerRegions& inner) {
  const InstructionId id = region.leaves()[leaf.value].producer;
  const Instruction& producer = region.computation().at(id);
  const auto number = static_cast<size_t>(leaf.value - region.leaf(id).value);
  if (producer.opcode == hlo::Opcode::kWhile)
    return {region.leaves_of(producer.operands[0])[number]};
  if (producer.opcode == hlo::Opcode::kConditional)
    return {updated_in_branches(module, region, producer, number, inner)};
  if (number < updated_operands(producer) || is_same_memory(region, producer))
    return {region.leaf(producer.operands[number])};
  std::vector<LeafId> operands;
  if (is_scalar_op(region.computation(), producer)) {
    for (const InstructionId operand : producer.operands)
      if (region.computation().at(operand).shape == producer.shape)
        operands.push_back(region.leaf(operand));
  }
  return operands;
}

// The parameter whose memory a result may be made in: what it updates, at last. -1: none.
int64_t updated_parameter(const hlo::Module& module, const Region& region, LeafId leaf,
                          InnerRegions& inner) {
  std::vector<LeafId> todo = {leaf};
  std::set<LeafId> seen;
  while (!todo.empty()) {
    const LeafId next = todo.back();
    todo.pop_back();
    if (!next.valid() || !seen.insert(next).second) continue;
    const auto& parameters = region.parameters();
    const auto found = std::ranges::find(parameters, next);
    if (found != parameters.end()) return found - parameters.begin();
    const std::vector<LeafId> updated = updated_leaves(module, region, next, inner);
    todo.insert(todo.end(), updated.rbegin(), updated.rend());
  }
  return -1;
}

}  // namespace

void RegionLowering::put_in_places(std::span<const LeafId> leaves, std::span<const BufferId> places,
                                   std::vector<BufferId> from) {
  // A value that lies in another one's place is saved before that is written.
  for (size_t i = 0; i < from.size(); ++i) {
    if (!from[i].valid() || from[i] == places[i]) continue;
    const auto owner = std::ranges::find(places, from[i]);
    if (owner == places.end()) continue;
    const BufferId next = from[static_cast<size_t>(owner - places.begin())];
    if (!next.valid() || next == *owner) continue;
    const BufferId saved = program_.allocate(shape(leaves[i]));
    program_.touch(from[i]);
    b().copy(saved, from[i], shape(leaves[i]).byte_size());
    from[i] = saved;
  }
  for (size_t i = 0; i < from.size(); ++i) {
    if (!from[i].valid()) continue;
    program_.touch(from[i]);
    program_.touch(places[i]);  // nobody may read it later, and it is written now all the same
    b().copy(places[i], from[i], shape(leaves[i]).byte_size());
  }
}

// A small array as vectors.
std::vector<NodeId> RegionLowering::load_pieces(const Shape& shape, int32_t lanes, BufferId from) {
  const Scalar scalar = scalar_type(shape);
  const auto count = static_cast<int32_t>(shape.element_count());
  std::vector<NodeId> pieces;
  for (int32_t i = 0; i < count; i += lanes)
    pieces.push_back(b().load(from, {scalar, std::min(lanes, count - i)}, b().index(i)));
  return pieces;
}

void RegionLowering::store_pieces(BufferId to, std::span<const NodeId> pieces) {
  int64_t at = 0;
  for (NodeId piece : pieces) {
    b().store(to, b().index(at), piece);
    at += b().type(piece).lanes;
  }
}

Status RegionLowering::emit_while(InstructionId id) {
  const Instruction& loop = at(id);
  const hlo::Computation& body_computation = program_.module.at(loop.called[0]);
  const hlo::Computation& condition_computation = program_.module.at(loop.called[1]);
  const Region body(program_.module, body_computation);
  const Region condition(program_.module, condition_computation);
  const auto initial = region_.leaves_of(loop.operands[0]);
  const auto results = region_.leaves_of(id);

  const std::optional<CountedLoop> counted = counted_loop(region_, loop, condition, body);

  const auto lanes_of_pieces = [&](size_t i) {
    const Shape& array = shape(initial[i]);
    return lanes_in_registers(body, array, lanes_for(program_.program.plan, scalar_type(array)));
  };
  enum class Carry : uint8_t { kSame, kNode, kSmall, kArray };
  std::vector<Carry> kinds(initial.size());
  std::vector<Value> values(initial.size());
  std::vector<std::vector<NodeId>> pieces(initial.size());
  for (size_t i = 0; i < initial.size(); ++i) {
    const bool is_node = is_node_type(shape(initial[i]));
    Memo memo;
    if (is_node) values[i] = Value::of(element(initial[i], {}, memo));
    if (body.results()[i] == body.parameters()[i]) {
      kinds[i] = Carry::kSame;
      if (!is_node) {
        if (!values_[initial[i].value].is_buffer()) {
          values[i] = Value::of(program_.allocate(shape(initial[i])));
          write_leaf(initial[i], values[i].buffer);
        } else {
          values[i] = values_[initial[i].value];
        }
      }
    } else if (is_node) {
      kinds[i] = Carry::kNode;
    } else if (is_handed_on(body, body.results()[i], program_.program.plan.vector_bytes)) {
      kinds[i] = Carry::kSmall;
      values[i] = Value::of(program_.allocate(shape(initial[i])));  // in the loop
      pieces[i] = load_pieces(shape(initial[i]), lanes_of_pieces(i), in_memory(initial[i]));
    } else {
      kinds[i] = Carry::kArray;
      const Value& old = values_[initial[i].value];
      const bool once = std::ranges::count(initial, initial[i]) == 1;
      if (once && old.is_buffer() && program_.state(old.buffer).is_writable &&
          program_.state(old.buffer).pending == 1) {
        values[i] = old;
      } else {
        values[i] = Value::of(place_for(results[i], id));
        if (counted && writes_all_rows(*counted, condition, body, i)) {
          // nothing of the initial value is left
        } else if (once && old.is_buffer()) {
          program_.copy_whole(values[i].buffer, old.buffer, shape(initial[i]).byte_size(), 1);
        } else {
          write_leaf(initial[i], values[i].buffer);
        }
      }
    }
  }

  std::vector<Value> unchanged = values;
  for (size_t i = 0; i < values.size(); ++i) {
    if (kinds[i] != Carry::kSame) unchanged[i] = {};
  }
  std::map<LeafId, View> turned = turned_matrices(body, unchanged);

  program_.begin_loop();
  Hold same(program_);
  std::list<PlanBuilder::Still> still;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].is_buffer()) continue;
    program_.touch(values[i].buffer);
    if (kinds[i] != Carry::kSame) continue;
    same.add(values[i]);
    still.emplace_back(b(), values[i].buffer);
  }
  for (const auto& [leaf, view] : turned) still.emplace_back(b(), view.buffer);
  // Where the body's scalars go in packs, carried scalars do too.
  const std::vector<CarriedVector> vectors = carried_vectors(
      body, kinds_are(kinds, Carry::kNode), lanes_for(program_.program.plan, Scalar::kF32));
  std::vector<bool> in_vector(values.size());
  std::vector<NodeId> nodes;
  for (const CarriedVector& vector : vectors) {
    std::vector<LeafId> leaves;
    for (size_t i : vector.carries) {
      in_vector[i] = true;
      leaves.push_back(initial[i]);
    }
    nodes.push_back(vector_of(leaves));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (kinds[i] == Carry::kNode && !in_vector[i]) nodes.push_back(values[i].node);
    nodes.insert(nodes.end(), pieces[i].begin(), pieces[i].end());
  }
  const auto with_nodes = [&](const PlanBuilder::Region& block, const Region& inside) {
    std::vector<Value> arguments = values;
    size_t next = 0;
    for (const CarriedVector& vector : vectors) {
      const NodeId node = block.parameters[next++];
      for (size_t lane = 0; lane < vector.carries.size(); ++lane)
        arguments[vector.carries[lane]] = Value::of(b().extract(node, static_cast<int64_t>(lane)));
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (kinds[i] == Carry::kNode && !in_vector[i])
        arguments[i] = Value::of(block.parameters[next++]);
      if (inside.read_count(inside.parameters()[i]) > 0)
        store_pieces(values[i].buffer, std::span(block.parameters).subspan(next, pieces[i].size()));
      next += pieces[i].size();
    }
    return arguments;
  };

  const std::vector<Value> at_condition =
      with_nodes(b().begin_while(nodes, counted ? counted->turns : 0), condition);
  NodeId goes_on;
  {
    Hold carries(program_);
    for (const Value& value : values) carries.add(value);
    RegionLowering inner(program_, condition, at_condition);
    HEDDLE_RETURN_IF_ERROR(inner.run());
    goes_on = inner.result(0).node;
  }
  const PlanBuilder::Region turn = b().begin_body(goes_on);
  const std::vector<Value> at_body = with_nodes(turn, body);
  if (counted) {
    for (size_t i = 0; i < at_body.size(); ++i) {
      if (kinds[i] != Carry::kNode) continue;
      if (const std::optional<int64_t> step = step_of(body, i))
        assume_counter(b(), at_body[i].node, values[i].node, *step, counted->turns);
    }
  }
  std::vector<BufferId> places(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (kinds[i] != Carry::kArray && kinds[i] != Carry::kSmall) continue;
    places[i] = values[i].buffer;
    program_.state(places[i]).pending = 0;
  }
  RegionLowering inner(program_, body, at_body);
  inner.turned_ = std::move(turned);
  for (size_t v = 0; v < vectors.size(); ++v) {
    for (size_t lane = 0; lane < vectors[v].carries.size(); ++lane)
      inner.set_lane(body.parameters()[vectors[v].carries[lane]], turn.parameters[v],
                     static_cast<int64_t>(lane));
  }
  inner.want_results(places);
  HEDDLE_RETURN_IF_ERROR(inner.run());

  const PlanBuilder::Floor floor(b());
  std::vector<NodeId> next_nodes;
  for (const CarriedVector& vector : vectors) {
    std::vector<LeafId> leaves;
    for (size_t i : vector.carries) leaves.push_back(body.results()[i]);
    next_nodes.push_back(inner.vector_of(leaves));
  }
  std::vector<BufferId> from(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const Value next = kinds[i] == Carry::kSame ? Value{} : inner.result(i);
    if (kinds[i] == Carry::kNode && !in_vector[i]) next_nodes.push_back(next.node);
    if (kinds[i] == Carry::kArray) from[i] = next.buffer;
    if (kinds[i] != Carry::kSmall) continue;
    program_.touch(next.buffer);
    for (NodeId piece : load_pieces(shape(initial[i]), lanes_of_pieces(i), next.buffer))
      next_nodes.push_back(piece);
  }
  int64_t copied_bytes = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i].valid() && from[i] != places[i]) copied_bytes += shape(initial[i]).byte_size();
  }
  if (counted && is_worth_doubling(program_.module, loop, *counted, copied_bytes))
    program_.to_double.insert(&loop);
  put_in_places(initial, places, std::move(from));
  inner.release_results();
  const std::vector<NodeId> last = b().end_while(next_nodes);
  program_.end_loop();

  for (size_t v = 0; v < vectors.size(); ++v) {
    for (size_t lane = 0; lane < vectors[v].carries.size(); ++lane)
      set_lane(results[vectors[v].carries[lane]], last[v], static_cast<int64_t>(lane));
  }
  // Arrays first: until they are bound, nothing keeps new places out of theirs.
  for (size_t i = 0; i < values.size(); ++i) {
    if (kinds[i] != Carry::kArray) continue;
    const Value& old = values_[initial[i].value];
    const bool is_own = old.is_buffer() && old.buffer == places[i];  // which this step gives back
    program_.state(places[i]).pending = is_own ? 1 : 0;
    bind(results[i], values[i]);
  }
  size_t next = vectors.size();
  for (size_t i = 0; i < values.size(); ++i) {
    if (in_vector[i] || kinds[i] == Carry::kArray) continue;
    if (kinds[i] == Carry::kSmall) {
      values[i] = Value::of(place_for(results[i], id));
      if (const Value& old = values_[initial[i].value];
          old.is_buffer() && std::ranges::count(initial, initial[i]) == 1)
        program_.take_over(values[i].buffer, old.buffer, 1);
      store_pieces(values[i].buffer, std::span(last).subspan(next, pieces[i].size()));
      next += pieces[i].size();
    }
    bind(results[i], kinds[i] == Carry::kNode ? Value::of(last[next++]) : values[i]);
  }
  return {};
}

Status RegionLowering::emit_conditional(InstructionId id) {
  const Instruction& conditional = at(id);
  const auto branches = static_cast<int64_t>(conditional.called.size());
  const auto results = region_.leaves_of(id);
  Memo memo;
  NodeId which = element(region_.leaf(conditional.operands[0]), {}, memo);
  if (at(conditional.operands[0]).shape.dtype() == pred) {  // true first
    which = b().select(which, b().index(0), b().index(1));
  } else {
    which = as_index(b(), s32, which);
    const NodeId in_range = b().compare(Predicate::kULt, which, b().index(branches));
    which = b().select(in_range, which, b().index(branches - 1));
  }
  std::vector<Region> regions;
  for (hlo::ComputationId called : conditional.called)
    regions.emplace_back(program_.module, program_.module.at(called));
  const auto argument = [&](size_t branch, int64_t parameter) {
    return region_.leaves_of(conditional.operands[branch + 1])[static_cast<size_t>(parameter)];
  };

  // A result is made where its old value is, if all branches update the same array.
  std::vector<BufferId> places(results.size());
  std::vector<Type> types;
  std::vector<BufferId> taken;
  InnerRegions inner_regions;
  for (size_t r = 0; r < results.size(); ++r) {
    if (is_node_type(shape(results[r]))) {
      types.push_back({scalar_type(shape(results[r])), 1});
      continue;
    }
    BufferId same;
    for (size_t k = 0; k < regions.size(); ++k) {
      const int64_t parameter =
          updated_parameter(program_.module, regions[k], regions[k].results()[r], inner_regions);
      const Value value = parameter < 0 ? Value{} : values_[argument(k, parameter).value];
      if (!value.is_buffer() || (k > 0 && value.buffer != same)) {
        same = {};
        break;
      }
      same = value.buffer;
    }
    const bool fits = same.valid() && program_.state(same).is_writable &&
                      program_.state(same).pending == 1 && !std::ranges::count(taken, same);
    if (fits) taken.push_back(same);
    places[r] = fits ? same : place_for(results[r], id);
  }

  b().begin_switch(which, types);
  for (size_t k = 0; k < regions.size(); ++k) {
    b().begin_branch();
    Hold held(program_);
    for (LeafId read : region_.reads(id)) {  // the branch before may have been their last reader
      if (values_[read.value].is_buffer()) program_.touch(values_[read.value].buffer);
    }
    std::vector<Value> arguments;
    for (size_t p = 0; p < regions[k].parameters().size(); ++p) {
      const LeafId leaf = argument(k, static_cast<int64_t>(p));
      arguments.push_back(values_[leaf.value]);
      if (is_node_type(shape(leaf))) arguments.back() = Value::of(element(leaf, {}, memo));
      if (region_.is_lazy(leaf) && !is_node_type(shape(leaf)) &&
          regions[k].read_count(regions[k].parameters()[p]) > 0) {
        arguments.back() = Value::of(program_.allocate(shape(leaf)));
        write_leaf(leaf, arguments.back().buffer);
      }
      if (!arguments.back().is_buffer()) continue;
      if (!std::ranges::count(taken, arguments.back().buffer)) held.add(arguments.back());
    }
    for (BufferId buffer : taken) program_.state(buffer).pending = 0;
    RegionLowering inner(program_, regions[k], arguments);
    inner.want_results(places);
    HEDDLE_RETURN_IF_ERROR(inner.run());
    std::vector<NodeId> yields;
    std::vector<BufferId> from(results.size());
    for (size_t r = 0; r < results.size(); ++r) {
      const Value value = inner.result(r);
      if (value.is_node()) yields.push_back(value.node);
      if (value.is_buffer()) from[r] = value.buffer;
    }
    put_in_places(results, places, std::move(from));
    inner.release_results();
    b().end_branch(yields);
  }
  for (BufferId buffer : taken) program_.state(buffer).pending = 1;  // this step's own
  const std::vector<NodeId> nodes = b().end_switch();
  size_t next = 0;
  for (size_t r = 0; r < results.size(); ++r) {
    bind(results[r], places[r].valid() ? Value::of(places[r]) : Value::of(nodes[next++]));
  }
  return {};
}

}  // namespace heddle::cpu
