#include "heddle/cpu/rewrites/indexing/joined_tables.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "heddle/cpu/rewrites/if_any.h"
#include "heddle/cpu/rewrites/indexing/fixed_scatters.h"
#include "heddle/cpu/rewrites/indexing/picks.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/dimensions.h"

namespace heddle::cpu {
namespace {

constexpr size_t kMostOfATable = 4;

// The one dimension along which an update of these sizes is shorter than the array.
std::optional<int64_t> updated_along(const Shape& array, const Dims& sizes) {
  std::optional<int64_t> along;
  for (int64_t d = 0; d < array.rank(); ++d) {
    const int64_t size = sizes[static_cast<size_t>(d)];
    if (size == 0) return std::nullopt;
    if (size == array.dimension(d)) continue;
    if (along) return std::nullopt;
    along = d;
  }
  return along;
}

// A dimension along which an array is made of several: of the parts of a concatenation, of an array
// and its padding (the first dimension of several), of an array and an update of it.
// Nothing: it is none.
std::optional<int64_t> joined_along(const hlo::Module& module, const Computation& in,
                                    const Instruction& table) {
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
      const bool is_one_by_one = std::ssize(table.operands) == 2 + table.shape.rank();
      return is_one_by_one ? updated_along(table.shape, in.at(table.operands[1]).shape.dimensions())
                           : std::nullopt;
    }
    case Opcode::kScatter: {
      const Computation& by = module.at(table.called[0]);
      const std::optional<Dims> sizes = one_window(in, table);
      if (!sizes || by.root != by.parameters.back()) return std::nullopt;
      const std::optional<int64_t> along = updated_along(table.shape, *sizes);
      const auto& attrs = table.attrs.get<hlo::ScatterAttrs>();
      return along && attrs.scatter_dims_to_operand_dims == Dims{*along} ? along : std::nullopt;
    }
    default: return std::nullopt;
  }
}

// Of which all readers pick, and few elements in all.
bool is_table(const hlo::Module& module, const Computation& in, InstructionId id,
              const Picks& picks) {
  return picks.are_few(in, id) && joined_along(module, in, in.at(id)).has_value();
}

// What stands from a place on.
struct Part {
  hlo::Value begin;  // the place, of the indices' type; absent: the first one
  hlo::Value from;   // an array of which the place is `first`, or a number for all places
  hlo::Value first;  // absent: 0
};

class Picking {
 public:
  Picking(const hlo::Module& module, transform::Rebuilder& to, InstructionId id)
      : op_(to.old(id)),
        table_(to.old(op_.operands[0])),
        along_(*joined_along(module, to.from(), table_)),
        operands_(to.operands(id)),
        sources_(to.operands(op_.operands[0])),
        graph_(to.in_place_of(id)) {
    if (table_.opcode == Opcode::kPad) pad_others();
    if (table_.opcode == Opcode::kDynamicUpdateSlice)
      start_ = sources_[static_cast<size_t>(2 + along_)];
    if (table_.opcode == Opcode::kScatter) {
      start_ = reshape(sources_[1], {});
      sources_[1] = reshape(sources_[2], *one_window(to.from(), table_));
    }
  }

  // Nothing: the op stays.
  hlo::Value run() {
    // A scatter that does not fit begins behind all.
    if (table_.opcode == Opcode::kScatter && !holds(start_.shape().dtype(), size())) return {};
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
      const hlo::Value begin = convert(update_begin(), dtype);
      out = {{{}, sources_[0], {}},
             {begin, sources_[1], begin},
             {begin + static_cast<double>(count), sources_[0], {}}};
    }
    return out;
  }

  // Where an update begins; that of a scatter which does not fit, behind all.
  hlo::Value update_begin() {
    const hlo::Value last = start_.number(static_cast<double>(size() - sources_[1].size(along_)));
    const hlo::Value inside = minimum(maximum(start_, start_.number(0)), last);
    if (table_.opcode != Opcode::kScatter) return inside;
    return select(compare(hlo::ComparisonDirection::kEq, start_, inside), inside,
                  start_.number(static_cast<double>(size())));
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

  // All places along the dimension: what is picked of each part, joined in its turn.
  hlo::Value whole(const hlo::GatherAttrs& attrs) {
    if (attrs.slice_sizes[static_cast<size_t>(along_)] != size() ||
        std::ranges::count(attrs.collapsed_slice_dims, along_) > 0)
      return {};
    const auto of = [&](const hlo::Value& source) {
      hlo::GatherAttrs own = attrs;
      own.slice_sizes[static_cast<size_t>(along_)] = source.size(along_);
      return gather(source, operands_[1], own);
    };
    const int64_t along = attrs.offset_dims[kept_before(attrs)];
    if (table_.opcode == Opcode::kConcatenate) {
      hlo::Values out;
      for (const hlo::Value& source : sources_) out.push_back(of(source));
      return concatenate(out, along);
    }
    if (table_.opcode == Opcode::kPad) {
      std::vector<hlo::PadDimension> paddings(static_cast<size_t>(op_.shape.rank()));
      paddings[static_cast<size_t>(along)] = padding();
      return pad(of(sources_[0]), sources_[1], paddings);
    }
    hlo::Values starts(static_cast<size_t>(op_.shape.rank()), start_.number(0));
    starts[static_cast<size_t>(along)] = start_;
    const hlo::Value old = of(sources_[0]);
    const hlo::Value updated = dynamic_update_slice(old, of(sources_[1]), starts);
    if (table_.opcode != Opcode::kScatter) return updated;
    const hlo::Value fits = update_begin() < start_.number(static_cast<double>(size()));
    return select(spread(fits, op_.shape), updated, old);
  }

  // A window at starts, of which that along the dimension is replaced.
  hlo::Value window_at(hlo::Values starts, const Dims& sizes) {
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

  hlo::Value sliced() {
    const Dims& sizes = op_.attrs.get<hlo::DynamicSliceAttrs>().dynamic_slice_sizes;
    const hlo::Values starts(operands_.begin() + 1, operands_.end());
    if (std::ssize(starts) != op_.shape.rank()) return {};  // the older form, one array
    return window_at(starts, sizes);
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
      const Instruction& start = graph_.at(start_.id());
      if (start.opcode != Opcode::kConstant || table_.opcode == Opcode::kScatter) return {};
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
    if (out.empty()) return sliced_of_update();
    return out.size() == 1 ? out[0] : concatenate(out, along_);
  }

  // At a known place, of an update that is at another.
  hlo::Value sliced_of_update() {
    hlo::Values starts;
    for (const hlo::SliceDimension& d : op_.attrs.get<hlo::SliceAttrs>().slice) {
      if (d.stride != 1) return {};
      starts.push_back(graph_.number(s64, static_cast<double>(d.start)));
    }
    return window_at(starts, op_.shape.dimensions());
  }

  const Instruction& op_;
  const Instruction& table_;
  const int64_t along_;
  const hlo::Values operands_;
  hlo::Values sources_;
  hlo::Value start_;  // of an update, along the dimension
  hlo::Graph& graph_;
  Dims picked_dimensions_;  // of the result that are those of the indices
};

}  // namespace

StatusOr<std::optional<hlo::Module>> pick_from_parts(const hlo::Module& module) {
  return rewritten_if_any(module, [&](transform::Rebuilder& to, ComputationId) {
    return [&to, &module, picks = Picks(to.from())](InstructionId id) -> hlo::Value {
      const Instruction& op = to.old(id);
      if (picked_elements(op) == 0 || !is_table(module, to.from(), op.operands[0], picks))
        return {};
      return Picking(module, to, id).run();
    };
  });
}

}  // namespace heddle::cpu
