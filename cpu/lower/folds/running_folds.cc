// Folds from the first element of each row to every other one, as cumsum and cumprod are.
#include <algorithm>
#include <optional>
#include <vector>

#include "heddle/cpu/lower/arrays/loops.h"
#include "heddle/cpu/lower/lowering.h"

namespace heddle::cpu {

struct RegionLowering::Running {
  const Instruction& window;
  const Computation& body;
  std::optional<Op> fold;  // none: the body is called
  size_t along;
  int64_t length;
  bool is_reverse;
  NodeId initial;
  BufferId to;
};

// The place of the t-th element or vector, from where the fold begins.
NodeId RegionLowering::position(const Running& running, NodeId t, int64_t lanes) {
  return running.is_reverse ? b().binary(Op::kSub, b().index(running.length - lanes), t) : t;
}

// Takes the element at the place in, and writes the result there.
NodeId RegionLowering::fold_one(const Running& running, const Place& place, NodeId sum) {
  Memo memo;
  const NodeId x = b().splat(operand_element(running.window.operands[0], place, memo), place.lanes);
  const NodeId both[] = {sum, x};
  const NodeId next = running.fold
                          ? b().binary(*running.fold, sum, x)
                          : b().splat(inline_scalars(b(), running.body, both)[0], place.lanes);
  store_at(running.to, running.window.shape, place, next);
  return next;
}

// Element by element from number `from` on. The place is that of the first one.
void RegionLowering::fold_each(const Running& running, Place place, int64_t from, NodeId before) {
  const NodeId start[] = {before};
  auto loop = b().begin_for(b().index(from), b().index(running.length), 1, start);
  place.coordinates[running.along].base = position(running, loop.parameters[0], 1);
  const NodeId next[] = {fold_one(running, place, loop.parameters[1])};
  b().end_for(next);
}

// Vectors fold themselves in log2(lanes) steps and then take in what came before.
void RegionLowering::fold_vectors(const Running& running, Place place, int64_t lanes) {
  const Op fold = *running.fold;
  const int64_t in_vectors = running.length / lanes * lanes;
  const Type wide = {scalar_type(running.window.shape), static_cast<int32_t>(lanes)};
  const NodeId identity = b().bits(wide, identity_bits(fold, wide.scalar));
  // What came before is in every lane: from turn to turn, it waits for one operation alone.
  const NodeId start[] = {b().splat(running.initial, wide.lanes)};
  auto loop = b().begin_for(b().index(0), b().index(in_vectors), lanes, start);
  place.lanes = wide.lanes;
  place.coordinates[running.along] = {position(running, loop.parameters[0], lanes), 1};
  Memo memo;
  NodeId x = b().splat(operand_element(running.window.operands[0], place, memo), place.lanes);
  for (int64_t by = 1; by < lanes; by *= 2)
    x = b().binary(fold, b().shift_lanes(x, running.is_reverse ? -by : by, identity), x);
  store_at(running.to, running.window.shape, place, b().binary(fold, loop.parameters[1], x));
  const NodeId all = b().splat(b().extract(x, running.is_reverse ? 0 : lanes - 1), wide.lanes);
  const NodeId carried[] = {b().binary(fold, loop.parameters[1], all)};
  const NodeId sum = b().extract(b().end_for(carried)[0], 0);
  if (in_vectors == running.length) return;
  place.lanes = 1;
  place.coordinates[running.along].step = 0;
  fold_each(running, std::move(place), in_vectors, sum);
}

// Along another dimension than that of the lanes, all lanes run side by side, and fold by any
// function.
void RegionLowering::emit_running(InstructionId id, BufferId to) {
  const Instruction& window = at(id);
  const Shape& from = at(window.operands[0]).shape;
  const RunningFold fold = *running_fold(program_.module, from, window);
  const Computation& body = program_.module.at(window.called[0]);
  Memo memo;
  const Running running{.window = window,
                        .body = body,
                        .fold = fold_of(body),
                        .along = static_cast<size_t>(fold.dimension),
                        .length = from.dimension(fold.dimension),
                        .is_reverse = fold.is_reverse,
                        .initial = operand_element(window.operands[1], {}, memo),
                        .to = to};
  std::vector<int64_t> others = from.dimensions();
  if (!running.fold || lane_dimension(others) != fold.dimension) {
    others[running.along] = 1;
    for_each_place(others, widest_scalar(id), [&](const Place& place) {
      fold_each(running, place, 0, b().splat(running.initial, place.lanes));
    });
    return;
  }
  others.erase(others.begin() + fold.dimension);
  if (std::ranges::count(others, 0)) return;
  const int64_t lanes =
      std::min<int64_t>(lanes_for(program_.program.plan, widest_scalar(id)), running.length);
  std::vector<NodeId> at_others;
  for_each_nest(b(), others, at_others, [&] {
    Place place = place_at(at_others);
    place.coordinates.insert(place.coordinates.begin() + fold.dimension, Coordinate{});
    fold_vectors(running, std::move(place), lanes);
  });
}

}  // namespace heddle::cpu
