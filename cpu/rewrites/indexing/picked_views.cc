#include "heddle/cpu/rewrites/indexing/picked_views.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/cpu/rewrites/if_any.h"
#include "heddle/cpu/rewrites/indexing/picks.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/value.h"

namespace heddle::cpu {
namespace {

constexpr int kMostOpsBetween = 3;  // from an op to a joined array
constexpr int64_t kLongView = 512;  // elements; shorter ones are as well copied

// Which dimension of `from` each dimension of `to` is, where the types differ in dimensions of size
// 1 alone; -1: it is a new one of size 1. Nothing: they differ otherwise.
std::optional<Dims> kept_dimensions(const Shape& from, const Shape& to) {
  Dims out;
  int64_t next = 0;
  for (int64_t d = 0; d < to.rank(); ++d) {
    const int64_t size = to.dimension(d);
    while (next < from.rank() && from.dimension(next) != size && from.dimension(next) == 1) ++next;
    if (next < from.rank() && from.dimension(next) == size) {
      out.push_back(next++);
    } else if (size == 1) {
      out.push_back(-1);
    } else {
      return std::nullopt;
    }
  }
  for (; next < from.rank(); ++next)
    if (from.dimension(next) != 1) return std::nullopt;
  return out;
}

// What pick_from_parts() takes apart, as joined_along() has it, or a view of it.
bool is_joined(Opcode opcode) {
  switch (opcode) {
    case Opcode::kConcatenate:
    case Opcode::kPad:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kScatter:
    case Opcode::kDynamicSlice: return true;
    default: return false;
  }
}

class ViewPicking {
 public:
  ViewPicking(transform::Rebuilder& to, InstructionId id)
      : to_(to),
        id_(id),
        op_(to.old(id)),
        view_(to.old(op_.operands[0])),
        from_(to.from().at(view_.operands[0]).shape),
        operands_(to.operands(id)),
        sources_(to.operands(op_.operands[0])),
        graph_(to.in_place_of(id)) {}

  // Nothing: the op stays.
  hlo::Value run() {
    if (view_.opcode == Opcode::kReshape) return of_reshape();
    if (view_.opcode != Opcode::kDynamicSlice) return of_elements();
    // The older form has one array of starts.
    const bool fit =
        std::ssize(sources_) == 1 + view_.shape.rank() &&
        std::all_of(sources_.begin() + 1, sources_.end(),
                    [&](const hlo::Value& start) { return holds_all(start.shape().dtype()); });
    if (!fit) return {};
    switch (op_.opcode) {
      case Opcode::kGather: return gathered_of_slice();
      case Opcode::kDynamicSlice: return sliced_of_slice();
      default: return sliced_at_constants_of_slice();
    }
  }

 private:
  // Where the slice begins along a dimension; absent: it has the whole dimension.
  hlo::Value begin(int64_t d) {
    const int64_t last = from_.dimension(d) - view_.shape.dimension(d);
    if (last == 0) return {};
    const hlo::Value& start = sources_[static_cast<size_t>(1 + d)];
    return minimum(maximum(start, start.number(0)), start.number(static_cast<double>(last)));
  }
  // Whether an integer type has all places of the array.
  [[nodiscard]] bool holds_all(DType dtype) const {
    return std::ranges::all_of(from_.dimensions(),
                               [&](int64_t size) { return holds(dtype, size); });
  }

  hlo::Value sliced_at_constants_of_slice() {
    hlo::Values starts;
    const auto& dims = op_.attrs.get<hlo::SliceAttrs>().slice;
    const DType dtype = sources_[1].shape().dtype();
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d].stride != 1) return {};
      const double first = static_cast<double>(dims[d].start);
      const hlo::Value own = begin(static_cast<int64_t>(d));
      starts.push_back(own.is_absent() ? graph_.number(dtype, first) : own + first);
    }
    return dynamic_slice(sources_[0], starts, op_.shape.dimensions());
  }

  hlo::Value sliced_of_slice() {
    hlo::Values starts(operands_.begin() + 1, operands_.end());
    if (std::ssize(starts) != op_.shape.rank()) return {};
    const DType dtype = starts[0].shape().dtype();
    if (!holds_all(dtype)) return {};
    for (int64_t d = 0; d < op_.shape.rank(); ++d) {
      hlo::Value& start = starts[static_cast<size_t>(d)];
      const int64_t last = view_.shape.dimension(d) - op_.shape.dimension(d);
      start = minimum(maximum(start, start.number(0)), start.number(static_cast<double>(last)));
      if (const hlo::Value own = begin(d)) start = start + convert(own, dtype);
    }
    return dynamic_slice(sources_[0], starts, op_.shape.dimensions());
  }

  hlo::Value gathered_of_slice() {
    const auto& attrs = op_.attrs.get<hlo::GatherAttrs>();
    const hlo::Value& indices = operands_[1];
    const DType dtype = indices.shape().dtype();
    if (!holds_all(dtype)) return {};
    for (int64_t d = 0; d < view_.shape.rank(); ++d) {
      const bool is_whole = view_.shape.dimension(d) == from_.dimension(d);
      if (!is_whole && std::ranges::count(attrs.start_index_map, d) == 0) return {};
    }
    const int64_t along = attrs.index_vector_dim;
    hlo::Values components;
    for (size_t k = 0; k < attrs.start_index_map.size(); ++k) {
      const int64_t d = attrs.start_index_map[k];
      hlo::Value at =
          along < indices.rank() ? slice(indices, along, static_cast<int64_t>(k), 1) : indices;
      const int64_t last = view_.shape.dimension(d) - attrs.slice_sizes[static_cast<size_t>(d)];
      at = minimum(maximum(at, at.number(0)), at.number(static_cast<double>(last)));
      if (const hlo::Value own = begin(d)) at = at + spread(convert(own, dtype), at.shape());
      components.push_back(at);
    }
    const hlo::Value shifted =
        components.size() == 1 ? components[0] : concatenate(components, along);
    return gather(sources_[0], shifted, attrs);
  }

  // Of an array without the new dimensions of size 1, and with those that went.
  hlo::Value of_reshape() {
    kept_ = *kept_dimensions(from_, view_.shape);
    hlo::Value out;
    switch (op_.opcode) {
      case Opcode::kGather: out = gathered_of_reshape(); break;
      case Opcode::kDynamicSlice: {
        hlo::Values starts(static_cast<size_t>(from_.rank()), operands_[1].number(0));
        Dims sizes(static_cast<size_t>(from_.rank()), 1);
        if (std::ssize(operands_) != 1 + view_.shape.rank()) return {};
        place(hlo::Values(operands_.begin() + 1, operands_.end()), starts);
        place(op_.shape.dimensions(), sizes);
        out = dynamic_slice(sources_[0], starts, sizes);
        break;
      }
      default: {
        std::vector<hlo::SliceDimension> dims(static_cast<size_t>(from_.rank()), {0, 1, 1});
        place(op_.attrs.get<hlo::SliceAttrs>().slice, dims);
        out = slice(sources_[0], dims);
      }
    }
    return out.is_absent() ? out : reshape(out, op_.shape.dimensions());
  }
  // Of the view's dimensions those of the array.
  template <class Each>
  void place(const std::vector<Each>& of_view, std::vector<Each>& of_array) const {
    for (size_t d = 0; d < kept_.size(); ++d)
      if (kept_[d] >= 0) of_array[static_cast<size_t>(kept_[d])] = of_view[d];
  }

  hlo::Value gathered_of_reshape() {
    const auto& old = op_.attrs.get<hlo::GatherAttrs>();
    hlo::GatherAttrs now = old;
    const auto mapped = [&](Dims& dims) {
      for (int64_t& d : dims) d = kept_[static_cast<size_t>(d)];
      return std::ranges::count(dims, -1) == 0;
    };
    if (!mapped(now.start_index_map) || !mapped(now.operand_batching_dims)) return {};
    now.slice_sizes.assign(static_cast<size_t>(from_.rank()), 1);
    place(old.slice_sizes, now.slice_sizes);
    // A dimension that went is collapsed, and a new one no dimension of the result.
    Dims is_dropped(static_cast<size_t>(from_.rank()), 1), dropped_results;
    size_t next = 0;  // of the offset dimensions
    for (size_t d = 0; d < kept_.size(); ++d) {
      const auto has = [&](const Dims& dims) {
        return std::ranges::count(dims, static_cast<int64_t>(d)) > 0;
      };
      const bool is_result = !has(old.collapsed_slice_dims) && !has(old.operand_batching_dims);
      if (kept_[d] >= 0)
        is_dropped[static_cast<size_t>(kept_[d])] = has(old.collapsed_slice_dims) ? 1 : 0;
      if (kept_[d] < 0 && is_result) dropped_results.push_back(old.offset_dims[next]);
      if (is_result) ++next;
    }
    now.collapsed_slice_dims.clear();
    for (size_t d = 0; d < is_dropped.size(); ++d)
      if (is_dropped[d] == 1) now.collapsed_slice_dims.push_back(static_cast<int64_t>(d));
    now.offset_dims.clear();
    for (const int64_t d : old.offset_dims) {
      if (std::ranges::count(dropped_results, d) > 0) continue;
      now.offset_dims.push_back(
          d - std::ranges::count_if(dropped_results, [d](int64_t each) { return each < d; }));
    }
    return gather(sources_[0], operands_[1], now);
  }

  // An op on single elements: of those that are picked of its operands.
  hlo::Value of_elements() {
    hlo::Values picked;
    for (const hlo::Value& source : sources_) {
      hlo::Values operands = operands_;
      operands[0] = source;
      const bool is_number = source.shape().is_scalar();
      picked.push_back(is_number ? source : copy_of(id_, source.shape().dtype(), operands));
    }
    return copy_of(op_.operands[0], view_.shape.dtype(), picked);
  }
  // An instruction with other operands, and the type that the op has, of such elements.
  hlo::Value copy_of(InstructionId id, DType dtype, const hlo::Values& operands) {
    Instruction copy = to_.mapped(id);
    copy.operands.clear();
    for (const hlo::Value& operand : operands) copy.operands.push_back(operand.id());
    copy.shape = Shape(dtype, op_.shape.dimensions());
    return graph_.wrap(to_.builder().append(std::move(copy)));
  }

  transform::Rebuilder& to_;
  const InstructionId id_;
  const Instruction& op_;
  const Instruction& view_;
  const Shape& from_;
  const hlo::Values operands_, sources_;
  hlo::Graph& graph_;
  Dims kept_;  // by dimension of the view, that of the array
};

// An op on elements of joined arrays, or of such ops, that nothing else reads.
bool has_joined_operand(const Computation& in, const Instruction& op, const Picks& picks,
                        int depth = 0) {
  if (!is_scalar_op(in, op) || op.shape.is_scalar() || depth == kMostOpsBetween) return false;
  return std::ranges::any_of(op.operands, [&](InstructionId id) {
    const Instruction& from = in.at(id);
    return picks.readers(id) == 1 &&
           (is_joined(from.opcode) || has_joined_operand(in, from, picks, depth + 1));
  });
}

bool is_view(const Computation& in, const Instruction& view, const Picks& picks) {
  if (view.shape.element_count() >= kLongView && has_joined_operand(in, view, picks)) return true;
  const bool is_slice = view.opcode == Opcode::kDynamicSlice;
  if (!is_slice && view.opcode != Opcode::kReshape) return false;
  const Instruction& from = in.at(view.operands[0]);
  if (is_slice) return is_joined(from.opcode) || view.shape.element_count() >= kLongView;
  return is_joined(from.opcode) && kept_dimensions(from.shape, view.shape).has_value();
}

}  // namespace

StatusOr<std::optional<hlo::Module>> pick_from_views(const hlo::Module& module) {
  return rewritten_if_any(module, [](transform::Rebuilder& to, ComputationId) {
    return [&to, picks = Picks(to.from())](InstructionId id) -> hlo::Value {
      const Computation& in = to.from();
      const Instruction& op = to.old(id);
      const bool picks_few = picked_elements(op) > 0 && picks.are_few(in, op.operands[0]);
      if (!picks_few || !is_view(in, in.at(op.operands[0]), picks)) return {};
      return ViewPicking(to, id).run();
    };
  });
}

}  // namespace heddle::cpu
