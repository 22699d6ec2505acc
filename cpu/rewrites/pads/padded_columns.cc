#include "heddle/cpu/rewrites/pads/padded_columns.h"

#include <algorithm>
#include <map>
#include <utility>

#include "heddle/cpu/lower/regions/region.h"
#include "heddle/cpu/rewrites/if_any.h"
#include "heddle/cpu/rewrites/pads/pad_sums.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kMostPaddedColumns = 16;

// The columns of an array padded with zeros that are its own: from the first one to behind the
// last one. Nothing: other dimensions are padded, or it has holes.
using Columns = std::pair<int64_t, int64_t>;
std::optional<Columns> columns_of(const Computation& computation, const Instruction& pad) {
  if (pad.opcode != Opcode::kPad || !is_zero(computation.at(pad.operands[1]))) return std::nullopt;
  const auto& padding = pad.attrs.get<hlo::PadAttrs>().padding;
  for (size_t d = 0; d + 1 < padding.size(); ++d)
    if (padding[d] != hlo::PadDimension{}) return std::nullopt;
  const hlo::PadDimension& own = padding.back();
  if (own.interior != 0 || own.low < 0 || own.high < 0 || own == hlo::PadDimension{})
    return std::nullopt;
  return Columns(own.low, pad.shape.dimensions().back() - own.high);
}

class ColumnJoiner {
 public:
  explicit ColumnJoiner(transform::Rebuilder& to) : to_(to), terms_(to) {}

  // Nothing: the instruction stays.
  hlo::Value operator()(InstructionId id) {
    const Shape& shape = to_.old(id).shape;
    if (!shape.is_array() || shape.rank() == 0 || shape.element_count() == 0) return {};
    const int64_t last = shape.rank() - 1, count = shape.dimension(last);
    if (count > kMostPaddedColumns) return {};
    std::map<int64_t, int64_t> ends;  // of columns, by their first one
    bool has_others = false, has_one_end = true;
    const auto sees = [&](InstructionId term) {
      const auto columns = columns_of(to_.from(), to_.old(term));
      if (!columns) return has_others = true;
      if (columns->first == columns->second) return has_one_end = false;
      const int64_t end = ends.emplace(*columns).first->second;
      return has_one_end = has_one_end && end == columns->second;
    };
    if (!terms_.has(id, sees) || !has_one_end || ends.size() < 2) return {};
    int64_t behind = 0, taken = 0;
    for (const auto& [first, end] : ends) {
      if (first < behind) return {};
      taken += end - first;
      behind = end;
    }
    if (taken * 2 < count) return {};
    to_.in_place_of(id);
    hlo::Values pieces;
    const auto add_zeros = [&](int64_t from, int64_t to) {
      Dims sizes = shape.dimensions();
      sizes.back() = to - from;
      if (to > from) pieces.push_back(to_.in_place_of(id).zeros(Shape(shape.dtype(), sizes)));
    };
    behind = 0;
    for (const auto& [first, end] : ends) {
      add_zeros(behind, first);
      pieces.push_back(terms_.sum(id, [&](InstructionId term) {
        const auto columns = columns_of(to_.from(), to_.old(term));
        return columns && columns->first == first ? to_.operands(term)[0] : hlo::Value();
      }));
      behind = end;
    }
    add_zeros(behind, count);
    const hlo::Value all = concatenate(pieces, last);
    if (!has_others) return all;
    const hlo::Value others = terms_.sum(id, [&](InstructionId term) {
      return columns_of(to_.from(), to_.old(term)) ? hlo::Value() : to_.value(term);
    });
    return others + all;
  }

 private:
  transform::Rebuilder& to_;
  PadSum terms_;
};

}  // namespace

StatusOr<std::optional<hlo::Module>> join_padded_columns(const hlo::Module& module) {
  return rewritten_if_any(module,
                          [](transform::Rebuilder& to, ComputationId) { return ColumnJoiner(to); });
}

}  // namespace heddle::cpu
