// while as control flow of the plan.
//
// A carried scalar is a value that the loop hands on, and so are the vectors of a small carried
// array. A larger one has one place in memory: the initial value is put there, or was there, and
// each turn leaves the next value there. What a turn hands on unchanged is no carry at all.
#include <algorithm>
#include <list>
#include <map>

#include "heddle/cpu/lower/control/counted_loop.h"
#include "heddle/cpu/lower/control/double_turns.h"
#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/cpu/lower/hold.h"
#include "heddle/cpu/lower/lowering.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
namespace {

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

// A while, and how its state goes from turn to turn.
struct RegionLowering::LoopState {
  enum class Carry : uint8_t {
    kSame,   // no turn changes it
    kNode,   // a scalar
    kSmall,  // an array as vectors; it is in memory only while a turn reads it there
    kArray,  // an array in one place
  };
  struct CarriedLeaf {
    Carry kind;
    Value value;                // where each turn begins with it; of a scalar, the initial value
    std::vector<NodeId> nodes;  // the initial values that the loop hands on for it alone
    size_t first_node = 0;      // the number of the first one among all that the loop hands on
    [[nodiscard]] bool has_place() const { return kind == Carry::kSmall || kind == Carry::kArray; }
  };

  InstructionId id;
  const Instruction& loop;
  Region body, condition;
  std::span<const LeafId> initial, results;
  std::optional<CountedLoop> counted;
  std::vector<CarriedLeaf> leaves;
  // Numbers of leaves, scalars, that go side by side in one vector. The loop hands these on first.
  std::vector<std::vector<size_t>> vectors;

  // Where packs make the next values, in the order of the packs.
  void find_vectors(int64_t lanes) {
    std::map<int, std::vector<size_t>> by_pack;
    const Packs packs(body, lanes);
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (leaves[i].kind != Carry::kNode) continue;
      const int pack = packs.pack_of(body.leaves()[body.results()[i].value].producer);
      if (pack >= 0) by_pack[pack].push_back(i);
    }
    for (auto& [pack, carries] : by_pack) {
      if (carries.size() < Packs::kFewest) continue;
      for (size_t i : carries) leaves[i].nodes.clear();
      vectors.push_back(std::move(carries));
    }
  }

  // By leaf; a value that is none: turns change it.
  [[nodiscard]] std::vector<Value> unchanged() const {
    std::vector<Value> values;
    for (const CarriedLeaf& leaf : leaves)
      values.push_back(leaf.kind == Carry::kSame ? leaf.value : Value{});
    return values;
  }

  // Those of all that the loop hands on that are leaf `i` alone.
  [[nodiscard]] std::span<const NodeId> nodes_of(size_t i, std::span<const NodeId> all) const {
    return all.subspan(leaves[i].first_node, leaves[i].nodes.size());
  }
};

// A small array as vectors.
std::vector<NodeId> RegionLowering::load_pieces(const Region& body, const Shape& shape,
                                                BufferId from) {
  const Scalar scalar = scalar_type(shape);
  const int32_t lanes = lanes_in_registers(body, shape, lanes_for(program_.program.plan, scalar));
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

// Decides how a leaf of the state is carried, and puts the initial value there.
void RegionLowering::enter_loop(LoopState& state, size_t i) {
  using Carry = LoopState::Carry;
  const LeafId initial = state.initial[i];
  const LeafId result = state.body.results()[i];
  const bool is_same = result == state.body.parameters()[i];
  LoopState::CarriedLeaf& leaf = state.leaves.emplace_back();
  if (is_node_type(shape(initial))) {
    Memo memo;
    leaf = {is_same ? Carry::kSame : Carry::kNode, Value::of(element(initial, {}, memo)), {}};
    if (!is_same) leaf.nodes = {leaf.value.node};
  } else if (is_same) {
    leaf = {Carry::kSame, Value::of(in_memory(initial)), {}};
  } else if (is_handed_on(state.body, result, program_.program.plan.vector_bytes)) {
    leaf = {Carry::kSmall, Value::of(program_.allocate(shape(initial))), {}};
    leaf.nodes = load_pieces(state.body, shape(initial), in_memory(initial));
  } else {
    leaf = {Carry::kArray, Value::of(place_in_loop(state, i)), {}};
  }
}

// Where turns leave an array, with the initial value there.
BufferId RegionLowering::place_in_loop(const LoopState& state, size_t i) {
  const LeafId initial = state.initial[i];
  const Value& old = values_[initial.value];
  const bool is_alone = old.is_buffer() && std::ranges::count(state.initial, initial) == 1;
  if (is_alone && program_.state(old.buffer).is_writable && program_.state(old.buffer).pending == 1)
    return old.buffer;
  const BufferId place = place_for(state.results[i], state.id);
  if (state.counted && writes_all_rows(*state.counted, state.condition, state.body, i))
    return place;  // nothing of the initial value is left
  if (is_alone) {
    program_.copy_whole(place, old.buffer, shape(initial).byte_size(), 1);
  } else {
    write_leaf(initial, place);
  }
  return place;
}

// All that a loop hands on: vectors of these leaves, then what `nodes_of` gives for each.
std::vector<NodeId> RegionLowering::handed_on(
    const LoopState& state, std::span<const LeafId> leaves,
    const std::function<std::vector<NodeId>(size_t)>& nodes_of) {
  std::vector<NodeId> nodes;
  for (const std::vector<size_t>& vector : state.vectors) {
    std::vector<LeafId> lanes;
    for (size_t i : vector) lanes.push_back(leaves[i]);
    nodes.push_back(vector_of(lanes));
  }
  for (size_t i = 0; i < leaves.size(); ++i) {
    const std::vector<NodeId> own = nodes_of(i);
    nodes.insert(nodes.end(), own.begin(), own.end());
  }
  return nodes;
}

// The state as arguments of the loop's body or condition, where the loop hands on `nodes`.
std::vector<Value> RegionLowering::state_in(const LoopState& state, const Region& inside,
                                            std::span<const NodeId> nodes) {
  std::vector<Value> arguments;
  for (const LoopState::CarriedLeaf& leaf : state.leaves) arguments.push_back(leaf.value);
  for (size_t v = 0; v < state.vectors.size(); ++v) {
    int64_t lane = 0;
    for (size_t i : state.vectors[v]) arguments[i] = Value::of(b().extract(nodes[v], lane++));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::span<const NodeId> own = state.nodes_of(i, nodes);
    if (own.empty()) continue;
    if (arguments[i].is_node()) {
      arguments[i] = Value::of(own[0]);
    } else if (inside.read_count(inside.parameters()[i]) > 0) {
      store_pieces(arguments[i].buffer, own);
    }
  }
  return arguments;
}

void RegionLowering::set_lanes(const LoopState& state, std::span<const LeafId> leaves,
                               std::span<const NodeId> nodes) {
  for (size_t v = 0; v < state.vectors.size(); ++v) {
    int64_t lane = 0;
    for (size_t i : state.vectors[v]) set_lane(leaves[i], nodes[v], lane++);
  }
}

StatusOr<NodeId> RegionLowering::emit_condition(const LoopState& state,
                                                std::span<const NodeId> nodes) {
  const std::vector<Value> arguments = state_in(state, state.condition, nodes);
  Hold carries(program_);
  for (const LoopState::CarriedLeaf& leaf : state.leaves) carries.add(leaf.value);
  RegionLowering inner(program_, state.condition, arguments);
  HEDDLE_RETURN_IF_ERROR(inner.run());
  return inner.result(0).node;
}

// A turn, which leaves arrays in their places. Returns what it hands on.
StatusOr<std::vector<NodeId>> RegionLowering::emit_turn(const LoopState& state,
                                                        std::span<const NodeId> nodes,
                                                        std::map<LeafId, View> turned) {
  using Carry = LoopState::Carry;
  const std::vector<Value> arguments = state_in(state, state.body, nodes);
  std::vector<BufferId> places(arguments.size()), from(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const LoopState::CarriedLeaf& leaf = state.leaves[i];
    if (state.counted && leaf.kind == Carry::kNode) {
      if (const std::optional<int64_t> step = step_of(state.body, i))
        assume_counter(b(), arguments[i].node, leaf.value.node, *step, state.counted->turns);
    }
    if (!leaf.has_place()) continue;
    places[i] = leaf.value.buffer;
    program_.state(places[i]).pending = 0;
  }
  RegionLowering inner(program_, state.body, arguments);
  inner.turned_ = std::move(turned);
  inner.set_lanes(state, state.body.parameters(), nodes);
  inner.want_results(places);
  HEDDLE_RETURN_IF_ERROR(inner.run());

  const PlanBuilder::Floor floor(b());
  int64_t copied_bytes = 0;
  std::vector<NodeId> next =
      inner.handed_on(state, state.body.results(), [&](size_t i) -> std::vector<NodeId> {
        const LoopState::CarriedLeaf& leaf = state.leaves[i];
        if (leaf.kind == Carry::kSame) return {};
        const Value result = inner.result(i);
        if (leaf.kind == Carry::kNode)
          return std::vector<NodeId>(leaf.nodes.size(), result.node);  // none: it is a lane
        if (leaf.kind == Carry::kArray) {
          from[i] = result.buffer;
          if (from[i] != places[i]) copied_bytes += shape(state.initial[i]).byte_size();
          return {};
        }
        program_.touch(result.buffer);
        return load_pieces(state.body, shape(state.initial[i]), result.buffer);
      });
  if (state.counted && is_worth_doubling(program_.module, state.loop, *state.counted, copied_bytes))
    program_.to_double.insert(&state.loop);
  put_in_places(state.initial, places, std::move(from));
  inner.release_results();
  return next;
}

// The results of a loop that hands `nodes` out.
void RegionLowering::bind_state(const LoopState& state, std::span<const NodeId> nodes) {
  using Carry = LoopState::Carry;
  set_lanes(state, state.results, nodes);
  // Arrays first: until they are bound, nothing keeps new places out of theirs.
  for (size_t i = 0; i < state.leaves.size(); ++i) {
    if (state.leaves[i].kind != Carry::kArray) continue;
    const Value& old = values_[state.initial[i].value];
    const Value& value = state.leaves[i].value;
    const bool is_own = old.is_buffer() && old.buffer == value.buffer;  // this step gives it back
    program_.state(value.buffer).pending = is_own ? 1 : 0;
    bind(state.results[i], value);
  }
  for (size_t i = 0; i < state.leaves.size(); ++i) {
    const LoopState::CarriedLeaf& leaf = state.leaves[i];
    const std::span<const NodeId> own = state.nodes_of(i, nodes);
    if (leaf.kind == Carry::kSame) bind(state.results[i], leaf.value);
    if (leaf.kind == Carry::kNode && !own.empty()) bind(state.results[i], Value::of(own[0]));
    if (leaf.kind != Carry::kSmall) continue;
    const BufferId place = place_for(state.results[i], state.id);
    const Value& old = values_[state.initial[i].value];
    if (old.is_buffer() && std::ranges::count(state.initial, state.initial[i]) == 1)
      program_.take_over(place, old.buffer, 1);
    store_pieces(place, own);
    bind(state.results[i], Value::of(place));
  }
}

Status RegionLowering::emit_while(InstructionId id) {
  const Instruction& loop = at(id);
  const auto called = [&](size_t number) {
    return Region(program_.module, program_.module.at(loop.called[number]));
  };
  LoopState state{
      id, loop, called(0), called(1), region_.leaves_of(loop.operands[0]), region_.leaves_of(id)};
  state.counted = counted_loop(region_, loop, state.condition, state.body);
  for (size_t i = 0; i < state.initial.size(); ++i) enter_loop(state, i);
  const std::vector<Value> unchanged = state.unchanged();
  std::map<LeafId, View> turned = turned_matrices(state.body, unchanged);

  program_.begin_loop();
  Hold same(program_);
  std::list<PlanBuilder::Still> still;
  for (const LoopState::CarriedLeaf& leaf : state.leaves) {
    if (leaf.value.is_buffer()) program_.touch(leaf.value.buffer);
  }
  for (const Value& value : unchanged) {
    if (!value.is_buffer()) continue;
    same.add(value);
    still.emplace_back(b(), value.buffer);
  }
  for (const auto& [leaf, view] : turned) still.emplace_back(b(), view.buffer);
  state.find_vectors(lanes_for(program_.program.plan, Scalar::kF32));
  size_t next = state.vectors.size();
  for (LoopState::CarriedLeaf& leaf : state.leaves)
    next = (leaf.first_node = next) + leaf.nodes.size();
  const std::vector<NodeId> nodes =
      handed_on(state, state.initial, [&](size_t i) { return state.leaves[i].nodes; });
  const PlanBuilder::Region test = b().begin_while(nodes, state.counted ? state.counted->turns : 0);
  HEDDLE_ASSIGN_OR_RETURN(const NodeId goes_on, emit_condition(state, test.parameters));
  const PlanBuilder::Region turn = b().begin_body(goes_on);
  HEDDLE_ASSIGN_OR_RETURN(const std::vector<NodeId> last,
                          emit_turn(state, turn.parameters, std::move(turned)));
  const std::vector<NodeId> out = b().end_while(last);
  program_.end_loop();
  bind_state(state, out);
  return {};
}

}  // namespace heddle::cpu
