#include "heddle/cpu/rewrites/pads/interleaved_pads.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/regions/region.h"
#include "heddle/cpu/rewrites/if_any.h"
#include "heddle/cpu/rewrites/pads/pad_sums.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::PadDimension;

constexpr int64_t kMostByTurns = 8;  // arrays that take turns

// Of an array padded with zeros: every how manieth row along one dimension is its own, from which
// one on.
struct Turn {
  int64_t along = 0;
  int64_t every = 0;
  int64_t first = 0;
};

std::optional<Turn> turn_of(const Computation& computation, const Instruction& pad) {
  if (pad.opcode != Opcode::kPad || !is_zero(computation.at(pad.operands[1]))) return std::nullopt;
  const Shape& rows = computation.at(pad.operands[0]).shape;
  const auto& padding = pad.attrs.get<hlo::PadAttrs>().padding;
  std::optional<Turn> found;
  for (size_t d = 0; d < padding.size(); ++d) {
    const PadDimension& p = padding[d];
    if (p == PadDimension{}) continue;
    const auto along = static_cast<int64_t>(d);
    const int64_t every = p.interior + 1;
    if (found || every < 2 || every > kMostByTurns || p.low < 0 || p.low >= every || p.high < 0 ||
        p.high >= every || rows.dimension(along) == 0)
      return std::nullopt;
    found = {.along = along, .every = every, .first = p.low};
  }
  return found;
}

class TurnJoiner {
 public:
  explicit TurnJoiner(transform::Rebuilder& to) : to_(to), terms_(to) {}

  // Nothing: the instruction stays.
  hlo::Value operator()(InstructionId id) {
    std::optional<Turn> all;
    std::vector<bool> is_taken(kMostByTurns);
    const auto fits = [&](InstructionId pad) {
      const std::optional<Turn> turn = turn_of(to_.from(), to_.old(pad));
      if (!turn || (all && (all->along != turn->along || all->every != turn->every))) return false;
      all = turn;
      is_taken[static_cast<size_t>(turn->first)] = true;
      return true;
    };
    if (!terms_.has(id, fits)) return {};
    const int64_t taken = std::ranges::count(is_taken, true);
    if (taken < 2 || taken * 2 < all->every) return {};
    to_.in_place_of(id);
    hlo::Values turns;
    for (int64_t turn = 0; turn < all->every; ++turn) {
      turns.push_back(terms_.sum(id, [&](InstructionId pad) {
        return turn_of(to_.from(), to_.old(pad))->first == turn ? to_.operands(pad)[0]
                                                                : hlo::Value();
      }));
    }
    return by_turns(id, turns, *all);
  }

 private:
  // The rows of all by turns; of the first ones there may be one more.
  hlo::Value by_turns(InstructionId id, hlo::Values rows, const Turn& turn) {
    const Shape& all = to_.old(id).shape;
    const int64_t turns = all.dimension(turn.along) / turn.every,
                  rest = all.dimension(turn.along) % turn.every;
    Dims sizes = all.dimensions();
    auto& size = sizes[static_cast<size_t>(turn.along)];
    hlo::Values side_by_side, last;
    for (int64_t i = 0; i < turn.every; ++i) {
      size = turns + (i < rest ? 1 : 0);
      hlo::Value& own = rows[static_cast<size_t>(i)];
      if (own.is_absent()) own = to_.in_place_of(id).zeros(Shape(all.dtype(), sizes));
      side_by_side.push_back(add_dimension(slice(own, turn.along, 0, turns), turn.along + 1));
      if (i < rest) last.push_back(slice(own, turn.along, turns, 1));
    }
    size = turns * turn.every;
    const hlo::Value whole = reshape(hlo::concatenate(side_by_side, turn.along + 1), sizes);
    if (rest == 0) return whole;
    last.insert(last.begin(), whole);
    return hlo::concatenate(last, turn.along);
  }

  transform::Rebuilder& to_;
  PadSum terms_;
};

}  // namespace

StatusOr<std::optional<hlo::Module>> join_interleaved_pads(const hlo::Module& module) {
  return rewritten_if_any(module,
                          [](transform::Rebuilder& to, ComputationId) { return TurnJoiner(to); });
}

}  // namespace heddle::cpu
