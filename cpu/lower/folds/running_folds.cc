// Folds from the first element of each row to every other one, as cumsum and cumprod are.
#include <algorithm>
#include <optional>
#include <vector>

#include "heddle/cpu/lower/arrays/loops.h"
#include "heddle/cpu/lower/lowering.h"

namespace heddle::cpu {
namespace {

// Turns whose sum is added to the sum of those before at once, since each addition rounds.
constexpr int64_t kTurnsOfBlock = 256;

}  // namespace

struct RegionLowering::Running {
  const Instruction& window;
  const Computation& body;
  std::optional<Op> fold;  // none: the body is called
  size_t along;
  int64_t length;
  bool is_reverse;
  NodeId initial;
  BufferId to;

  [[nodiscard]] bool is_sum_of_floats() const {
    return fold == Op::kAdd && is_floating(window.shape.dtype());
  }
};

// The place of the t-th element or vector, from where the fold begins.
NodeId RegionLowering::position(const Running& running, NodeId t, int64_t lanes) {
  return running.is_reverse ? b().binary(Op::kSub, b().index(running.length - lanes), t) : t;
}

// Calls turn(t, sum, before) for each step-th t. It gives the next sum, of which the first one is
// `start`; where `before` is valid, what it writes is that sum too. Long sums of floats are those
// of blocks.
template <class Turn>
NodeId RegionLowering::fold_turns(const Running& running, int64_t from, int64_t to, int64_t step,
                                  NodeId start, const Turn& turn) {
  const auto turns = [&](NodeId first, NodeId last, NodeId sum, NodeId before) {
    const NodeId sums[] = {sum};
    auto loop = b().begin_for(first, last, step, sums);
    const NodeId next[] = {turn(loop.parameters[0], loop.parameters[1], before)};
    return b().end_for(next)[0];
  };
  const int64_t block = kTurnsOfBlock * step, blocks = (to - from) / block;
  if (!running.is_sum_of_floats() || blocks < 2)
    return turns(b().index(from), b().index(to), start, NodeId());
  const Type type = b().type(start);
  const NodeId none = b().bits(type, identity_bits(Op::kAdd, type.scalar)), sums[] = {start};
  auto loop = b().begin_for(b().index(from), b().index(from + blocks * block), block, sums);
  const NodeId first = loop.parameters[0], before = loop.parameters[1];
  const NodeId next[] = {
      b().binary(Op::kAdd, before, turns(first, b().add(first, b().index(block)), none, before))};
  const NodeId sum = b().end_for(next)[0];
  const int64_t rest = from + blocks * block;
  if (rest == to) return sum;
  return b().binary(Op::kAdd, sum, turns(b().index(rest), b().index(to), none, sum));
}

// Element by element from number `from` on. The place is that of the first one.
void RegionLowering::fold_each(const Running& running, Place place, int64_t from, NodeId start) {
  (void)fold_turns(
      running, from, running.length, 1, start, [&](NodeId t, NodeId sum, NodeId before) {
        place.coordinates[running.along].base = position(running, t, 1);
        Memo memo;
        const NodeId x =
            b().splat(operand_element(running.window.operands[0], place, memo), place.lanes);
        const NodeId both[] = {sum, x};
        const NodeId next =
            running.fold ? b().binary(*running.fold, sum, x)
                         : b().splat(inline_scalars(b(), running.body, both)[0], place.lanes);
        store_at(running.to, running.window.shape, place,
                 before.valid() ? b().binary(Op::kAdd, before, next) : next);
        return next;
      });
}

// Vectors fold themselves in log2(lanes) steps and then take in what came before.
void RegionLowering::fold_vectors(const Running& running, Place place, int64_t lanes) {
  const Op fold = *running.fold;
  const int64_t in_vectors = running.length / lanes * lanes;
  const Type wide = {scalar_type(running.window.shape), static_cast<int32_t>(lanes)};
  const NodeId identity = b().bits(wide, identity_bits(fold, wide.scalar));
  place.lanes = wide.lanes;
  // What came before is in every lane: from turn to turn, it waits for one operation alone.
  const NodeId start = b().splat(running.initial, wide.lanes);
  const auto turn = [&](NodeId t, NodeId sum, NodeId before) {
    place.coordinates[running.along] = {position(running, t, lanes), 1};
    Memo memo;
    NodeId x = b().splat(operand_element(running.window.operands[0], place, memo), place.lanes);
    for (int64_t by = 1; by < lanes; by *= 2)
      x = b().binary(fold, b().shift_lanes(x, running.is_reverse ? -by : by, identity), x);
    const NodeId next = b().binary(fold, sum, x);
    store_at(running.to, running.window.shape, place,
             before.valid() ? b().binary(fold, before, next) : next);
    const NodeId all = b().splat(b().extract(x, running.is_reverse ? 0 : lanes - 1), wide.lanes);
    return b().binary(fold, sum, all);
  };
  const NodeId sum = b().extract(fold_turns(running, 0, in_vectors, lanes, start, turn), 0);
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
