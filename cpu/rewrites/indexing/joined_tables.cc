#include "heddle/cpu/rewrites/indexing/joined_tables.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "heddle/cpu/rewrites/if_any.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
namespace {

constexpr size_t kMostOfATable = 4;
constexpr int64_t kLeastOfAll = 8;  // elements of a table for one that is picked

// The elements of an op that picks places of its first operand. 0: it is no such op.
int64_t picked(const Instruction& op) {
  const bool picks = op.opcode == Opcode::kGather || op.opcode == Opcode::kDynamicSlice;
  return picks && !op.shape.is_dynamic() ? op.shape.element_count() : 0;
}

// A dimension along which an array is made of several: of the parts of a concatenation, of an array
// and its padding, of an array and an update of it. Nothing: it is none, or has more dimensions.
std::optional<int64_t> joined_along(const Computation& in, const Instruction& table) {
  switch (table.opcode) {
    case Opcode::kConcatenate: {
      const int64_t along = dimensions_of(table)[0];
      const bool are_few = table.operands.size() <= kMostOfATable &&
                           std::ranges::all_of(table.operands, [&](InstructionId part) {
                             return in.at(part).shape.dimension(along) > 0;
                           });
      return are_few ? std::optional(along) : std::nullopt;
    }
    case Opcode::kPad: {
      std::optional<int64_t> along;
      const auto& padding = table.attrs.get<hlo::PadAttrs>().padding;
      for (size_t d = 0; d < padding.size(); ++d) {
        if (padding[d] == hlo::PadDimension()) continue;
        if (along || padding[d].interior != 0 || padding[d].low < 0 || padding[d].high < 0)
          return std::nullopt;
        along = static_cast<int64_t>(d);
      }
      const bool has_any = in.at(table.operands[0]).shape.element_count() > 0;
      return has_any ? along : std::nullopt;
    }
    case Opcode::kDynamicUpdateSlice: {
      std::optional<int64_t> along;
      const Shape& part = in.at(table.operands[1]).shape;
      for (int64_t d = 0; d < table.shape.rank(); ++d) {
        if (part.dimension(d) == table.shape.dimension(d)) continue;
        if (along) return std::nullopt;
        along = d;
      }
      const bool is_one_by_one = std::ssize(table.operands) == 2 + table.shape.rank();
      return is_one_by_one && part.element_count() > 0 ? along : std::nullopt;
    }
    default: return std::nullopt;
  }
}

// Of which all readers pick, and few elements in all.
bool is_table(const Computation& in, InstructionId id) {
  const Instruction& table = in.at(id);
  if (table.shape.is_dynamic() || in.root == id || !joined_along(in, table)) return false;
  int64_t elements = 0;
  for (const Instruction& reader : in.instructions) {
    const auto reads = std::ranges::count(reader.operands, id);
    if (reads == 0) continue;
    if (reads != 1 || reader.operands[0] != id || picked(reader) == 0) return false;
    elements += picked(reader);
  }
  return elements > 0 && elements * kLeastOfAll <= table.shape.element_count();
}

bool holds(DType dtype, int64_t number) {
  const int bits = bit_width(dtype) - (is_signed(dtype) ? 1 : 0);
  return bits >= 63 || number < (int64_t{1} << bits);
}

// What stands from a place on.
struct Part {
  hlo::Value begin;  // the place, of the indices' type; not valid: the first one
  hlo::Value from;   // an array of which the place is `first`, or a number for all places
  hlo::Value first;  // not valid: 0
};

class Picking {
 public:
  Picking(transform::Rebuilder& to, InstructionId id)
      : op_(to.old(id)),
        table_(to.old(op_.operands[0])),
        along_(*joined_along(to.from(), table_)),
        operands_(to.operands(id)),
        sources_(to.operands(op_.operands[0])),
        graph_(to.in_place_of(id)) {}

  // Nothing: the op stays.
  hlo::Value run() { return op_.opcode == Opcode::kGather ? gathered() : sliced(); }

 private:
  [[nodiscard]] int64_t size() const { return table_.shape.dimension(along_); }

  std::vector<Part> parts(DType dtype) {
    const auto place = [&](int64_t at) { return graph_.number(dtype, static_cast<double>(at)); };
    std::vector<Part> out;
    if (table_.opcode == Opcode::kConcatenate) {
      int64_t first = 0;
      for (const hlo::Value& source : sources_) {
        const hlo::Value begin = first == 0 ? hlo::Value() : place(first);
        out.push_back({begin, source, begin});
        first += source.size(along_);
      }
    } else if (table_.opcode == Opcode::kPad) {
      const auto& padding = table_.attrs.get<hlo::PadAttrs>().padding[static_cast<size_t>(along_)];
      const hlo::Value begin = padding.low == 0 ? hlo::Value() : place(padding.low);
      if (padding.low > 0) out.push_back({{}, sources_[1], {}});
      out.push_back({begin, sources_[0], begin});
      if (padding.high > 0) out.push_back({place(size() - padding.high), sources_[1], {}});
    } else {
      const int64_t count = sources_[1].size(along_);
      const hlo::Value start = sources_[static_cast<size_t>(2 + along_)];
      const hlo::Value last = start.number(static_cast<double>(size() - count));
      const hlo::Value begin = convert(minimum(maximum(start, start.number(0)), last), dtype);
      out = {{{}, sources_[0], {}},
             {begin, sources_[1], begin},
             {begin + static_cast<double>(count), sources_[0], {}}};
    }
    return out;
  }

  // pick(part) of the part in which each place `at` lies. Places outside lie at the ends.
  template <class Pick>
  hlo::Value chosen(const hlo::Value& at, const Pick& pick) {
    hlo::Value out;
    const hlo::Value inside = minimum(maximum(at, at.number(0)), at.number(size() - 1));
    for (const Part& part : parts(at.shape().dtype())) {
      const hlo::Value own = part.from.shape().is_scalar() && table_.shape.rank() > 0
                                 ? spread(part.from, op_.shape)
                                 : pick(part);
      out = out.is_absent() ? own
                            : select(to_shape(inside < spread(part.begin, at.shape())), out, own);
    }
    return out;
  }
  // Truths of the places that were picked, for their elements.
  [[nodiscard]] hlo::Value to_shape(const hlo::Value& truths) const {
    return broadcast(truths, op_.shape.dimensions(), picked_dimensions_);
  }

  hlo::Value gathered() {
    const auto& attrs = op_.attrs.get<hlo::GatherAttrs>();
    if (std::ranges::count(attrs.operand_batching_dims, along_) > 0) return {};
    const auto found = std::ranges::find(attrs.start_index_map, along_);
    if (found == attrs.start_index_map.end()) return whole(attrs);
    const hlo::Value& indices = operands_[1];
    const DType dtype = indices.shape().dtype();
    if (attrs.slice_sizes[static_cast<size_t>(along_)] != 1 || !holds(dtype, size())) return {};
    const int64_t component = found - attrs.start_index_map.begin();
    const int64_t along = attrs.index_vector_dim;
    const bool has_vectors = along < indices.rank();
    const hlo::Value at =
        has_vectors ? drop_dimension(slice(indices, along, component, 1), along) : indices;
    for (int64_t d = 0; d < op_.shape.rank(); ++d)
      if (std::ranges::count(attrs.offset_dims, d) == 0) picked_dimensions_.push_back(d);
    return chosen(at, [&](const Part& part) {
      if (part.first.is_absent()) return gather(part.from, indices, attrs);
      hlo::Value shift = part.first;
      if (has_vectors) {
        const int64_t after = indices.size(along) - 1 - component;
        shift = pad(reshape(shift, {1}), {{.low = component, .high = after, .interior = 0}});
        shift = broadcast(shift, indices.shape().dimensions(), {along});
      } else {
        shift = spread(shift, indices.shape());
      }
      return gather(part.from, indices - shift, attrs);
    });
  }

  // All places of each part of a concatenation, side by side.
  hlo::Value whole(const hlo::GatherAttrs& attrs) {
    if (table_.opcode != Opcode::kConcatenate ||
        attrs.slice_sizes[static_cast<size_t>(along_)] != size() ||
        std::ranges::count(attrs.collapsed_slice_dims, along_) > 0)
      return {};
    hlo::Values out;
    for (const hlo::Value& source : sources_) {
      hlo::GatherAttrs own = attrs;
      own.slice_sizes[static_cast<size_t>(along_)] = source.size(along_);
      out.push_back(gather(source, operands_[1], own));
    }
    const auto is_dropped = [&](int64_t d) {
      return std::ranges::count(attrs.collapsed_slice_dims, d) +
                 std::ranges::count(attrs.operand_batching_dims, d) >
             0;
    };
    size_t kept = 0;  // dimensions of a slice before it
    for (int64_t d = 0; d < along_; ++d) kept += is_dropped(d) ? 0 : 1;
    return concatenate(out, attrs.offset_dims[kept]);
  }

  hlo::Value sliced() {
    const Dims& sizes = op_.attrs.get<hlo::DynamicSliceAttrs>().dynamic_slice_sizes;
    hlo::Values starts(operands_.begin() + 1, operands_.end());
    if (std::ssize(starts) != op_.shape.rank()) return {};  // the older form, one array
    const hlo::Value at = starts[static_cast<size_t>(along_)];
    if (sizes[static_cast<size_t>(along_)] != 1 || !holds(at.shape().dtype(), size())) return {};
    return chosen(at, [&](const Part& part) {
      hlo::Values own = starts;
      if (!part.first.is_absent()) own[static_cast<size_t>(along_)] = at - part.first;
      return dynamic_slice(part.from, own, sizes);
    });
  }

  const Instruction& op_;
  const Instruction& table_;
  const int64_t along_;
  const hlo::Values operands_, sources_;
  hlo::Graph& graph_;
  Dims picked_dimensions_;  // of the result that are those of the indices
};

}  // namespace

StatusOr<std::optional<hlo::Module>> pick_from_parts(const hlo::Module& module) {
  return rewritten_if_any(module, [&](transform::Rebuilder& to, ComputationId) {
    return [&to](InstructionId id) -> hlo::Value {
      const Instruction& op = to.old(id);
      if (picked(op) == 0 || !is_table(to.from(), op.operands[0])) return {};
      return Picking(to, id).run();
    };
  });
}

}  // namespace heddle::cpu
