#include "heddle/cpu/rewrites/indexing/joined_tables.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "heddle/cpu/rewrites/if_any.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/dimensions.h"

namespace heddle::cpu {
namespace {

constexpr size_t kMostOfATable = 4;
constexpr int64_t kLeastOfAll = 8;  // elements of a table for one that is picked

// The elements of an op that picks places of its first operand. 0: it is no such op.
int64_t picked(const Instruction& op) {
  const bool picks = op.opcode == Opcode::kGather || op.opcode == Opcode::kDynamicSlice ||
                     op.opcode == Opcode::kSlice;
  return picks && !op.shape.is_dynamic() ? op.shape.element_count() : 0;
}

// A dimension along which an array is made of several: of the parts of a concatenation, of an array
// and its padding (the first dimension of several), of an array and an update of it.
// Nothing: it is none.
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
        if (padding[d].interior != 0 || padding[d].low < 0 || padding[d].high < 0)
          return std::nullopt;
        if (!along) along = static_cast<int64_t>(d);
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

// How many elements of each array are picked; -1: something else reads it.
std::vector<int64_t> picked_of(const Computation& in) {
  std::vector<int64_t> out(in.instructions.size());
  out[in.root.value] = -1;
  for (const Instruction& reader : in.instructions) {
    for (size_t k = 0; k < reader.operands.size(); ++k) {
      int64_t& elements = out[reader.operands[k].value];
      const int64_t own = k == 0 ? picked(reader) : 0;
      elements = own == 0 || elements < 0 ? -1 : elements + own;
    }
  }
  return out;
}

// Of which all readers pick, and few elements in all.
bool is_table(const Computation& in, InstructionId id, const std::vector<int64_t>& picked) {
  const int64_t elements = picked[id.value];
  const Instruction& table = in.at(id);
  return elements > 0 && !table.shape.is_dynamic() && joined_along(in, table) &&
         elements * kLeastOfAll <= table.shape.element_count();
}

bool holds(DType dtype, int64_t number) {
  const int bits = bit_width(dtype) - (is_signed(dtype) ? 1 : 0);
  return bits >= 63 || number < (int64_t{1} << bits);
}

// What stands from a place on.
struct Part {
  hlo::Value begin;  // the place, of the indices' type; absent: the first one
  hlo::Value from;   // an array of which the place is `first`, or a number for all places
  hlo::Value first;  // absent: 0
};

class Picking {
 public:
  Picking(transform::Rebuilder& to, InstructionId id)
      : op_(to.old(id)),
        table_(to.old(op_.operands[0])),
        along_(*joined_along(to.from(), table_)),
        operands_(to.operands(id)),
        sources_(to.operands(op_.operands[0])),
        graph_(to.in_place_of(id)) {
    if (table_.opcode == Opcode::kPad) pad_others();
  }

  // Nothing: the op stays.
  hlo::Value run() {
    switch (op_.opcode) {
      case Opcode::kGather: return gathered();
      case Opcode::kDynamicSlice: return sliced();
      default: return sliced_at_constants();
    }
  }

 private:
  [[nodiscard]] int64_t size() const { return table_.shape.dimension(along_); }
  [[nodiscard]] const hlo::PadDimension& padding() const {
    return table_.attrs.get<hlo::PadAttrs>().padding[static_cast<size_t>(along_)];
  }

  // The array that lies between the padding along the dimension.
  void pad_others() {
    std::vector<hlo::PadDimension> others = table_.attrs.get<hlo::PadAttrs>().padding;
    others[static_cast<size_t>(along_)] = {};
    if (std::ranges::count(others, hlo::PadDimension()) < std::ssize(others))
      sources_[0] = pad(sources_[0], sources_[1], others);
  }

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
      const hlo::Value begin = padding().low == 0 ? hlo::Value() : place(padding().low);
      if (padding().low > 0) out.push_back({{}, sources_[1], {}});
      out.push_back({begin, sources_[0], begin});
      if (padding().high > 0) out.push_back({place(size() - padding().high), sources_[1], {}});
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
      const bool is_number = part.from.shape().is_scalar();
      const hlo::Value own = is_number ? spread(part.from, op_.shape) : pick(part);
      out = out.is_absent() ? own
                            : select(to_shape(inside < spread(part.begin, at.shape())), out, own);
    }
    return out;
  }
  // Truths of the places that were picked, for their elements.
  [[nodiscard]] hlo::Value to_shape(const hlo::Value& truths) const {
    return broadcast(truths, op_.shape.dimensions(), picked_dimensions_);
  }

  // A gather of single places along the dimension.
  struct Gather {
    hlo::Value at, indices;  // the places, and the vectors that they are a component of
    int64_t component = 0;
    hlo::GatherAttrs attrs;
  };

  hlo::Value gathered() {
    const auto& attrs = op_.attrs.get<hlo::GatherAttrs>();
    if (std::ranges::count(attrs.operand_batching_dims, along_) > 0) return {};
    const auto found = std::ranges::find(attrs.start_index_map, along_);
    if (found == attrs.start_index_map.end()) return whole(attrs);
    Gather gather{.at = operands_[1],
                  .indices = operands_[1],
                  .component = found - attrs.start_index_map.begin(),
                  .attrs = attrs};
    if (!holds(gather.at.shape().dtype(), size())) return {};
    const int64_t along = attrs.index_vector_dim;
    if (along < gather.indices.rank())
      gather.at = drop_dimension(slice(gather.indices, along, gather.component, 1), along);
    if (attrs.slice_sizes[static_cast<size_t>(along_)] != 1 && !widen(gather)) return {};
    picked_dimensions_ = other_dimensions(op_.shape.rank(), gather.attrs.offset_dims);
    return chosen(gather.at, [&](const Part& part) { return of_part(gather, part); });
  }

  static hlo::Value of_part(const Gather& whole, const Part& part) {
    if (part.first.is_absent()) return gather(part.from, whole.indices, whole.attrs);
    const int64_t along = whole.attrs.index_vector_dim;
    hlo::Value shift = part.first;
    if (along < whole.indices.rank()) {
      const int64_t after = whole.indices.size(along) - 1 - whole.component;
      shift = pad(reshape(shift, {1}), {{.low = whole.component, .high = after, .interior = 0}});
      shift = broadcast(shift, whole.indices.shape().dimensions(), {along});
    } else {
      shift = spread(shift, whole.indices.shape());
    }
    return gather(part.from, whole.indices - shift, whole.attrs);
  }

  // A window along the dimension as its places: the indices get a last dimension of them. False:
  // the result has the window before a dimension of the indices.
  bool widen(Gather& gather) {
    hlo::GatherAttrs& attrs = gather.attrs;
    const int64_t rank = gather.at.rank();
    if (attrs.index_vector_dim < rank || std::ranges::count(attrs.collapsed_slice_dims, along_) > 0)
      return false;
    const auto window = attrs.offset_dims.begin() + static_cast<std::ptrdiff_t>(kept_before(attrs));
    for (int64_t d = *window + 1; d < op_.shape.rank(); ++d)
      if (std::ranges::count(attrs.offset_dims, d) == 0) return false;
    const int64_t count = attrs.slice_sizes[static_cast<size_t>(along_)];
    Dims sizes = gather.at.shape().dimensions();
    const Dims own = consecutive_dimensions(rank);
    sizes.push_back(count);
    const auto wide = [&](const hlo::Value& x) { return broadcast(x, sizes, own); };
    const bool has_vectors = attrs.index_vector_dim < gather.indices.rank();
    hlo::Values components;
    for (int64_t k = 0; has_vectors && k < gather.indices.size(rank); ++k)
      components.push_back(wide(drop_dimension(slice(gather.indices, rank, k, 1), rank)));
    gather.at =
        wide(clamped(gather.at, count)) + graph_.iota(sizes, rank, gather.at.shape().dtype());
    gather.indices = gather.at;
    if (has_vectors) {
      components[static_cast<size_t>(gather.component)] = gather.at;
      for (hlo::Value& each : components) each = add_dimension(each, rank + 1);
      gather.indices = concatenate(components, rank + 1);
    }
    attrs.offset_dims.erase(window);
    attrs.collapsed_slice_dims.push_back(along_);
    std::ranges::sort(attrs.collapsed_slice_dims);
    attrs.slice_sizes[static_cast<size_t>(along_)] = 1;
    attrs.index_vector_dim = rank + 1;
    attrs.indices_are_sorted = false;
    return true;
  }
  // Where a window of `count` places begins.
  [[nodiscard]] hlo::Value clamped(const hlo::Value& at, int64_t count) const {
    return minimum(maximum(at, at.number(0)), at.number(static_cast<double>(size() - count)));
  }

  // How many dimensions of a slice stand before the dimension.
  [[nodiscard]] size_t kept_before(const hlo::GatherAttrs& attrs) const {
    size_t kept = 0;
    for (int64_t d = 0; d < along_; ++d) {
      const bool is_dropped = std::ranges::count(attrs.collapsed_slice_dims, d) > 0 ||
                              std::ranges::count(attrs.operand_batching_dims, d) > 0;
      kept += is_dropped ? 0 : 1;
    }
    return kept;
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
    return concatenate(out, attrs.offset_dims[kept_before(attrs)]);
  }

  hlo::Value sliced() {
    const Dims& sizes = op_.attrs.get<hlo::DynamicSliceAttrs>().dynamic_slice_sizes;
    hlo::Values starts(operands_.begin() + 1, operands_.end());
    if (std::ssize(starts) != op_.shape.rank()) return {};  // the older form, one array
    hlo::Value& start = starts[static_cast<size_t>(along_)];
    const hlo::Value at = start;
    if (!holds(at.shape().dtype(), size())) return {};
    const int64_t count = sizes[static_cast<size_t>(along_)];
    if (count == 1) {
      return chosen(at, [&](const Part& part) {
        start = part.first.is_absent() ? at : at - part.first;
        return dynamic_slice(part.from, starts, sizes);
      });
    }
    // The places of the window one by one, of what the window has along other dimensions.
    start = at.number(0);
    picked_dimensions_ = {along_};
    hlo::GatherAttrs attrs{.collapsed_slice_dims = {along_},
                           .start_index_map = {along_},
                           .index_vector_dim = 1,
                           .slice_sizes = sizes};
    attrs.slice_sizes[static_cast<size_t>(along_)] = 1;
    attrs.offset_dims = other_dimensions(op_.shape.rank(), picked_dimensions_);
    const hlo::Value places =
        broadcast(clamped(at, count), {count}, {}) + graph_.iota({count}, 0, at.shape().dtype());
    const Gather rows{.at = places, .indices = places, .component = 0, .attrs = attrs};
    return chosen(places, [&](Part part) {
      Dims whole = sizes;
      whole[static_cast<size_t>(along_)] = part.from.size(along_);
      part.from = dynamic_slice(part.from, starts, whole);
      return of_part(rows, part);
    });
  }

  // What stands in places begin .. end - 1: a number, or those of an array from `first` on.
  struct Range {
    int64_t begin, end;
    hlo::Value from;
    int64_t first;
  };
  // Empty: an update is not at a known place.
  [[nodiscard]] std::vector<Range> ranges() const {
    std::vector<Range> out;
    if (table_.opcode == Opcode::kConcatenate) {
      int64_t begin = 0;
      for (const hlo::Value& source : sources_) {
        out.push_back({begin, begin + source.size(along_), source, 0});
        begin = out.back().end;
      }
    } else if (table_.opcode == Opcode::kPad) {
      const int64_t last = size() - padding().high;
      out = {{0, padding().low, sources_[1], 0},
             {padding().low, last, sources_[0], 0},
             {last, size(), sources_[1], 0}};
    } else {
      const Instruction& start = graph_.at(sources_[static_cast<size_t>(2 + along_)].id());
      if (start.opcode != Opcode::kConstant) return {};
      const int64_t count = sources_[1].size(along_);
      const int64_t begin = std::clamp<int64_t>(
          start.attrs.get<hlo::ConstantAttrs>().literal.to_int64(0), 0, size() - count);
      out = {{0, begin, sources_[0], 0},
             {begin, begin + count, sources_[1], 0},
             {begin + count, size(), sources_[0], begin + count}};
    }
    return out;
  }

  hlo::Value sliced_at_constants() {
    const std::vector<hlo::SliceDimension>& dims = op_.attrs.get<hlo::SliceAttrs>().slice;
    const hlo::SliceDimension& own = dims[static_cast<size_t>(along_)];
    hlo::Values out;
    for (const Range& range : ranges()) {
      const int64_t before = std::max<int64_t>(range.begin - own.start, 0);
      const int64_t from = own.start + (before + own.stride - 1) / own.stride * own.stride;
      const int64_t to = std::min(own.limit, range.end);
      if (from >= to) continue;
      std::vector<hlo::SliceDimension> now = dims;
      hlo::SliceDimension& part = now[static_cast<size_t>(along_)];
      part.start = from - range.begin + range.first;
      part.limit = to - range.begin + range.first;
      if (range.from.shape().is_scalar()) {
        Dims sizes = op_.shape.dimensions();
        sizes[static_cast<size_t>(along_)] = (to - from + own.stride - 1) / own.stride;
        out.push_back(broadcast(range.from, sizes, {}));
      } else {
        out.push_back(slice(range.from, now));
      }
    }
    if (out.empty()) return {};
    return out.size() == 1 ? out[0] : concatenate(out, along_);
  }

  const Instruction& op_;
  const Instruction& table_;
  const int64_t along_;
  const hlo::Values operands_;
  hlo::Values sources_;
  hlo::Graph& graph_;
  Dims picked_dimensions_;  // of the result that are those of the indices
};

}  // namespace

StatusOr<std::optional<hlo::Module>> pick_from_parts(const hlo::Module& module) {
  return rewritten_if_any(module, [&](transform::Rebuilder& to, ComputationId) {
    return [&to, elements = picked_of(to.from())](InstructionId id) -> hlo::Value {
      const Instruction& op = to.old(id);
      if (picked(op) == 0 || !is_table(to.from(), op.operands[0], elements)) return {};
      return Picking(to, id).run();
    };
  });
}

}  // namespace heddle::cpu
