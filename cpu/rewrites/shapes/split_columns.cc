#include "heddle/cpu/rewrites/shapes/split_columns.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/cpu/rewrites/shapes/column_groups.h"
#include "heddle/hlo/attributes.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

// Writes one computation anew.
class Splitter {
 public:
  Splitter(transform::ModuleRebuilder& module, ComputationId id, const ColumnGroups& columns,
           const ColumnStates& states)
      : module_(module), id_(id), to_(module, id), columns_(columns), states_(states) {}

  Computation run() && {
    for (InstructionId id : to_.order()) {
      const Part part = columns_.of(id).part;
      if (columns_.is_split(id)) {
        parts_[id] = split(id);
      } else if (part == Part::kFolded) {
        to_.replace(id, folded(id));
      } else if (part == Part::kTaken) {
        to_.replace(id, add_dimension(range(id)[0], columns_.of(id).axis));
      } else if (part == Part::kTurned) {
        to_.replace(id, turned(id));
      } else if (!columns_.elements_of(id).empty()) {
        to_.replace(id, tuple(id));
      } else {
        for (InstructionId operand : to_.old(id).operands) make_whole(operand);
        copy(id);
      }
    }
    make_whole(to_.from().root);
    return std::move(to_).finish();
  }

 private:
  // With tuples of columns in a loop's state.
  void copy(InstructionId id) {
    Instruction now = to_.mapped(id);
    if (now.opcode == Opcode::kParameter && !states_.of(id_).empty())
      now.shape = states_.shape(now.shape, id_);
    if (now.opcode == Opcode::kWhile) now.shape = states_.shape(now.shape, to_.old(id).called[0]);
    to_.replace(id, to_.builder().append(std::move(now)));
  }

  // A loop's state, with tuples of columns.
  hlo::Value tuple(InstructionId id) {
    const Instruction& old = to_.old(id);
    hlo::Values elements;
    for (size_t i = 0; i < old.operands.size(); ++i) {
      const InstructionId operand = old.operands[i];
      const bool is_split = columns_.elements_of(id).contains(static_cast<int64_t>(i));
      elements.push_back(is_split ? to_.in_place_of(id).tuple(
                                        columns_of(operand, *short_axis(to_.old(operand).shape)))
                                  : whole(operand));
    }
    return to_.in_place_of(id).tuple(elements);
  }

  // The array of the columns, where it is needed.
  void make_whole(InstructionId old) {
    if (!columns_.is_split(old) || to_[old].valid()) return;
    to_.in_place_of(old);
    to_.replace(old, joined(parts_[old], columns_.of(old).axis));
  }
  hlo::Value whole(InstructionId old) {
    make_whole(old);
    return to_.value(old);
  }
  static hlo::Value joined(hlo::Values columns, int64_t axis) {
    for (hlo::Value& column : columns) column = add_dimension(column, axis);
    return concatenate(columns, axis);
  }

  // The columns of an operand: those that were written, or slices.
  const hlo::Values& columns_of(InstructionId old, int64_t axis) {
    hlo::Values& parts = columns_.is_split(old) ? parts_[old] : slices_[{old, axis}];
    if (!parts.empty()) return parts;
    to_.in_place_of(old);
    const hlo::Value x = to_.value(old);
    for (int64_t j = 0; j < x.size(axis); ++j)
      parts.push_back(drop_dimension(slice(x, axis, j, 1), axis));
    return parts;
  }
  const hlo::Values& columns_read(InstructionId id) {
    const ColumnSplit::Read& read = columns_.of(id).reads[0];
    return columns_of(read.operand, read.axis);
  }

  hlo::Values split(InstructionId id) {
    switch (columns_.of(id).part) {
      case Part::kElement: return elements(id);
      case Part::kPieces: return pieces(id);
      case Part::kRange: return range(id);
      case Part::kUpdate: return updated(id);
      case Part::kTransposed: return transposed(id);
      default: return each(id);
    }
  }

  // Without the dimension, those after it one less.
  static Dims without(const Dims& dimensions, int64_t axis) {
    Dims out;
    for (const int64_t d : dimensions) {
      if (d != axis) out.push_back(d - (d > axis ? 1 : 0));
    }
    return out;
  }

  // The op on each column of what it reads so, and on all of the rest.
  hlo::Values each(InstructionId id) {
    const Instruction& old = to_.old(id);
    const ColumnSplit& split = columns_.of(id);
    std::vector<hlo::Values> operands;
    for (InstructionId operand : old.operands) {
      const auto read = std::ranges::find(split.reads, operand, &ColumnSplit::Read::operand);
      operands.push_back(read == split.reads.end() ? hlo::Values{whole(operand)}
                                                   : columns_of(operand, read->axis));
    }
    std::vector<ComputationId> called;
    for (ComputationId each : old.called) called.push_back(module_[each]);
    hlo::Attrs attrs = old.attrs;
    if (old.opcode == Opcode::kBroadcast || old.opcode == Opcode::kReduce) {
      const int64_t axis = old.opcode == Opcode::kReduce ? split.reads[0].axis : split.axis;
      attrs = hlo::DimensionsAttrs{.dimensions = without(dimensions_of(old), axis)};
    }
    std::vector<int64_t> sizes = old.shape.dimensions();
    sizes.erase(sizes.begin() + split.axis);
    const Shape shape(old.shape.dtype(), std::move(sizes));
    hlo::Graph& graph = to_.in_place_of(id);
    const auto column = [&](size_t j) {
      hlo::Values now;
      for (const hlo::Values& values : operands) now.push_back(values[values.size() == 1 ? 0 : j]);
      return graph.op(old.opcode, now, attrs, called, &shape);
    };
    const auto count = static_cast<size_t>(old.shape.dimension(split.axis));
    if (split.part == Part::kAlike) return hlo::Values(count, column(0));
    hlo::Values out;
    for (size_t j = 0; j < count; ++j) out.push_back(column(j));
    return out;
  }

  hlo::Values elements(InstructionId id) {
    const Instruction& old = to_.old(id);
    hlo::Graph& graph = to_.in_place_of(id);
    return graph.elements(
        graph.element(to_.value(old.operands[0]), old.attrs.get<hlo::TupleIndexAttrs>().index));
  }

  hlo::Values pieces(InstructionId id) {
    const int64_t axis = columns_.of(id).axis;
    hlo::Values out;
    for (InstructionId operand : to_.old(id).operands) {
      if (to_.old(operand).shape.dimension(axis) == 1) {
        const hlo::Value piece = whole(operand);
        to_.in_place_of(id);
        out.push_back(drop_dimension(piece, axis));
      } else {
        const hlo::Values& columns = columns_of(operand, axis);
        out.insert(out.end(), columns.begin(), columns.end());
      }
    }
    return out;
  }

  // Of a slice.
  hlo::Values range(InstructionId id) {
    std::vector<hlo::SliceDimension> others = to_.old(id).attrs.get<hlo::SliceAttrs>().slice;
    const int64_t axis = columns_.of(id).axis;
    const hlo::SliceDimension own = others[static_cast<size_t>(axis)];
    others.erase(others.begin() + axis);
    const hlo::Values& columns = columns_read(id);
    to_.in_place_of(id);
    hlo::Values out;
    for (int64_t j = own.start; j < own.limit; j += own.stride)
      out.push_back(slice(columns[static_cast<size_t>(j)], others));
    return out;
  }

  hlo::Values updated(InstructionId id) {
    const Instruction& old = to_.old(id);
    const int64_t axis = columns_.of(id).axis;
    hlo::Values columns = columns_read(id);
    hlo::Values starts;
    for (int64_t d = 0; d < old.shape.rank(); ++d) {
      if (d != axis) starts.push_back(whole(old.operands[static_cast<size_t>(2 + d)]));
    }
    const Instruction& start = to_.old(old.operands[static_cast<size_t>(2 + axis)]);
    const int64_t place =
        std::clamp<int64_t>(start.attrs.get<hlo::ConstantAttrs>().literal.to_int64(0), 0,
                            old.shape.dimension(axis) - 1);
    const hlo::Value update = whole(old.operands[1]);
    to_.in_place_of(id);
    const hlo::Value part = drop_dimension(update, axis);
    hlo::Value& column = columns[static_cast<size_t>(place)];
    column = part.shape() == column.shape() ? part : dynamic_update_slice(column, part, starts);
    return columns;
  }

  hlo::Values transposed(InstructionId id) {
    const Dims& permutation = dimensions_of(to_.old(id));
    const int64_t axis = columns_.of(id).reads[0].axis;
    hlo::Values out = columns_read(id);
    to_.in_place_of(id);
    for (hlo::Value& column : out) column = transpose(column, without(permutation, axis));
    return out;
  }
  hlo::Value turned(InstructionId id) {
    const Dims& permutation = dimensions_of(to_.old(id));
    const auto place = std::ranges::find(permutation, columns_.of(id).reads[0].axis);
    return joined(transposed(id), place - permutation.begin());
  }

  // A reduction along the columns, and along others too.
  hlo::Value folded(InstructionId id) {
    const Instruction& old = to_.old(id);
    const hlo::Values& columns = columns_read(id);
    const hlo::Value start = whole(old.operands[1]);
    const Opcode opcode = module_.from().at(old.called[0]).root_instruction().opcode;
    hlo::Graph& graph = to_.in_place_of(id);
    hlo::Value sum = columns[0];
    for (size_t j = 1; j < columns.size(); ++j) sum = binary(opcode, sum, columns[j]);
    const hlo::DimensionsAttrs others{.dimensions =
                                          without(dimensions_of(old), columns_.of(id).axis)};
    if (others.dimensions.empty()) return binary(opcode, start, sum);
    return graph.op(Opcode::kReduce, {sum, start}, others, {module_[old.called[0]]}, &old.shape);
  }

  transform::ModuleRebuilder& module_;
  const ComputationId id_;
  transform::Rebuilder to_;
  const ColumnGroups& columns_;
  const ColumnStates& states_;
  std::map<InstructionId, hlo::Values> parts_;  // by the old instruction
  std::map<std::pair<InstructionId, int64_t>, hlo::Values>
      slices_;  // of whole arrays, by dimension
};

}  // namespace

StatusOr<std::optional<hlo::Module>> split_into_columns(const hlo::Module& module) {
  transform::ModuleRebuilder rebuilt(module);
  ColumnStates states(module);
  std::vector<ColumnGroups> groups;  // callees first
  for (ComputationId id : rebuilt.order()) groups.emplace_back(module, id, states);
  if (std::ranges::none_of(groups, &ColumnGroups::has_any)) return std::optional<hlo::Module>();
  for (ComputationId id : rebuilt.order())
    rebuilt.replace(id, Splitter(rebuilt, id, groups[id.value], states).run());
  HEDDLE_ASSIGN_OR_RETURN(hlo::Module out, std::move(rebuilt).finish());
  return std::optional(std::move(out));
}

}  // namespace heddle::cpu
