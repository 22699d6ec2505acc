#include "heddle/cpu/rewrites/split_columns.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/region.h"
#include "heddle/cpu/lower/scalar_ops.h"
#include "heddle/hlo/attributes.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;
using Ids = std::vector<InstructionId>;

constexpr int64_t kMostSplitColumns = 8;
constexpr int64_t kFewestPlaces = 64;
constexpr int64_t kMostSplit = 512;      // of a group, once it is written
constexpr int64_t kWorkPerCrossing = 4;  // elements that a group computes for one at its border

int64_t last_of(const Shape& shape) { return shape.dimension(shape.rank() - 1); }

bool is_plain(const Shape& shape) {
  return shape.is_array() && !shape.is_dynamic() && scalar_of(shape.dtype()).has_value();
}

bool has_columns(const Shape& shape) {
  return is_plain(shape) && shape.rank() >= 2 && last_of(shape) >= 2 &&
         last_of(shape) <= kMostSplitColumns &&
         shape.element_count() >= kFewestPlaces * last_of(shape);
}

const std::vector<int64_t>& dimensions_of(const Instruction& instruction) {
  return instruction.attrs.get<hlo::DimensionsAttrs>().dimensions;
}

bool names(const std::vector<int64_t>& dimensions, int64_t d) {
  return std::ranges::find(dimensions, d) != dimensions.end();
}

// Which operands are read column by column, and in what way.
enum class Part {
  kNone,     // the op cannot be split
  kNothing,  // no operand has the last dimension
  kAll,      // each operand that is no scalar has it
  kFirst,    // operand 0 has it
};

class Columns {
 public:
  Columns(const hlo::Module& module, const hlo::Computation& computation)
      : module_(module), computation_(computation), groups_(computation.instructions.size()) {
    std::iota(groups_.begin(), groups_.end(), size_t{0});
    for (size_t i = 0; i < groups_.size(); ++i) {
      const Instruction& instruction = at(InstructionId(i));
      const bool is_wide = instruction.opcode == Opcode::kReduce || has_columns(instruction.shape);
      is_split_.push_back(is_wide && part_of(instruction) != Part::kNone);
      is_fold_.push_back(is_fold(instruction));
    }
    join_groups();
    choose();
  }

  [[nodiscard]] bool is_split(InstructionId id) const { return is_split_[id.value]; }
  // A reduction of columns, along them too.
  [[nodiscard]] bool is_fold(InstructionId id) const { return is_fold_[id.value]; }
  [[nodiscard]] bool has_any() const {
    return std::ranges::find(is_split_, true) != is_split_.end();
  }
  [[nodiscard]] Part part_of(const Instruction& instruction) const;

 private:
  struct Sums {
    int64_t work = 0, crossings = 0, written = 0;
    bool has_gain = false;
  };

  const Instruction& at(InstructionId id) const { return computation_.at(id); }

  [[nodiscard]] bool is_plain_reduce(const Instruction& reduce) const {
    return reduce.opcode == Opcode::kReduce && reduce.operands.size() == 2 &&
           is_plain(reduce.shape) && has_columns(at(reduce.operands[0]).shape) &&
           fold_of(module_.at(reduce.called[0])).has_value();
  }
  [[nodiscard]] bool is_fold(const Instruction& instruction) const {
    return is_plain_reduce(instruction) &&
           names(dimensions_of(instruction), at(instruction.operands[0]).shape.rank() - 1);
  }

  // The operands that are read column by column.
  [[nodiscard]] Ids read_by_columns(InstructionId id) const {
    const Instruction& instruction = at(id);
    if (is_fold_[id.value]) return {instruction.operands[0]};
    Ids out;
    if (part_of(instruction) == Part::kFirst) out.push_back(instruction.operands[0]);
    if (part_of(instruction) == Part::kAll) {
      for (InstructionId operand : instruction.operands) {
        if (!at(operand).shape.is_scalar()) out.push_back(operand);
      }
    }
    return out;
  }

  size_t root(size_t i) {
    while (groups_[i] != i) i = groups_[i] = groups_[groups_[i]];
    return i;
  }
  void join_groups() {
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (!is_split_[i] && !is_fold_[i]) continue;
      for (InstructionId operand : read_by_columns(InstructionId(i))) {
        if (is_split_[operand.value]) groups_[root(i)] = root(operand.value);
      }
    }
  }

  // Drops groups that do not pay.
  void choose() {
    std::map<size_t, Sums> sums;
    std::vector<bool> crosses(groups_.size());
    for (size_t i = 0; i < groups_.size(); ++i) {
      const Instruction& instruction = at(InstructionId(i));
      const bool is_inside = is_split_[i] || is_fold_[i];
      const Ids by_columns = is_inside ? read_by_columns(InstructionId(i)) : Ids();
      for (InstructionId operand : instruction.operands) {
        const bool is_read = std::ranges::find(by_columns, operand) != by_columns.end();
        if (is_read != is_split_[operand.value] && !crosses[operand.value]) {
          crosses[operand.value] = true;
          sums[root(is_read ? i : operand.value)].crossings += at(operand).shape.element_count();
        }
      }
      if (!is_inside) continue;
      Sums& own = sums[root(i)];
      const int64_t size =
          std::max(instruction.shape.element_count(),
                   by_columns.empty() ? 0 : at(by_columns[0]).shape.element_count());
      own.work += instruction.opcode == Opcode::kBroadcast ? 0 : size;
      own.written +=
          is_fold_[i] ? last_of(at(instruction.operands[0]).shape) : last_of(instruction.shape);
      own.has_gain = own.has_gain || is_fold_[i] || instruction.opcode == Opcode::kReduce ||
                     (instruction.opcode == Opcode::kBroadcast && !by_columns.empty() &&
                      size >= 4 * at(by_columns[0]).shape.element_count());
    }
    if (is_split_[computation_.root.value])
      sums[root(computation_.root.value)].crossings += at(computation_.root).shape.element_count();
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (!is_split_[i] && !is_fold_[i]) continue;
      const Sums& own = sums[root(i)];
      const bool pays =
          own.has_gain && own.work >= kWorkPerCrossing * own.crossings && own.written <= kMostSplit;
      if (!pays) is_split_[i] = is_fold_[i] = false;
    }
  }

  const hlo::Module& module_;
  const hlo::Computation& computation_;
  std::vector<size_t> groups_;
  std::vector<bool> is_split_, is_fold_;
};

Part Columns::part_of(const Instruction& instruction) const {
  const Shape& shape = instruction.shape;
  switch (instruction.opcode) {
    case Opcode::kBroadcast: {
      if (!names(dimensions_of(instruction), shape.rank() - 1)) return Part::kNothing;
      const Shape& from = at(instruction.operands[0]).shape;
      const bool is_last = dimensions_of(instruction).back() == shape.rank() - 1;
      return is_plain(from) && is_last ? Part::kFirst : Part::kNone;
    }
    case Opcode::kReshape: {
      const Shape& from = at(instruction.operands[0]).shape;
      const bool keeps = is_plain(from) && from.rank() >= 1 && last_of(from) == last_of(shape);
      return keeps ? Part::kFirst : Part::kNone;
    }
    case Opcode::kReduce:
      return is_plain_reduce(instruction) && !is_fold(instruction) ? Part::kFirst : Part::kNone;
    default: break;
  }
  if (!is_scalar_op(computation_, instruction)) return Part::kNone;
  const bool all_alike = std::ranges::all_of(instruction.operands, [&](InstructionId id) {
    const Shape& operand = at(id).shape;
    return operand.is_scalar() || operand.dimensions() == shape.dimensions();
  });
  return all_alike ? Part::kAll : Part::kNone;
}

// Writes one computation anew.
class Splitter {
 public:
  Splitter(transform::ModuleRebuilder& module, hlo::ComputationId id, const Columns& columns)
      : module_(module), to_(module, id), columns_(columns) {}

  hlo::Computation run() && {
    for (InstructionId id : to_.order()) {
      const Instruction& old = to_.old(id);
      if (columns_.is_split(id)) {
        parts_[id] = split(id);
      } else if (columns_.is_fold(id)) {
        to_.replace(id, folded(id));
      } else {
        for (InstructionId operand : old.operands) make_whole(operand);
        to_.copy(id);
      }
    }
    make_whole(to_.from().root);
    return std::move(to_).finish();
  }

 private:
  // The array of the columns, where it is needed.
  void make_whole(InstructionId old) {
    if (!columns_.is_split(old) || to_[old].valid()) return;
    to_.in_place_of(old);
    const int64_t last = to_.old(old).shape.rank() - 1;
    hlo::Values columns;
    for (const hlo::Value& part : parts_[old]) columns.push_back(add_dimension(part, last));
    to_.replace(old, hlo::concatenate(columns, last));
  }
  hlo::Value whole(InstructionId old) {
    make_whole(old);
    return to_.value(old);
  }

  // The columns of an operand: those that were written, or slices.
  const hlo::Values& columns_of(InstructionId old) {
    hlo::Values& parts = parts_[old];
    if (!parts.empty()) return parts;
    to_.in_place_of(old);
    const hlo::Value x = to_.value(old);
    const int64_t last = x.rank() - 1;
    for (int64_t j = 0; j < x.size(last); ++j)
      parts.push_back(drop_dimension(slice(x, last, j, 1), last));
    return parts;
  }

  static Shape column_of(const Shape& shape) {
    std::vector<int64_t> sizes = shape.dimensions();
    sizes.pop_back();
    return {shape.dtype(), std::move(sizes)};
  }

  // The attributes of the op on a column.
  static hlo::Attrs attrs_of(const Instruction& old, Part part) {
    if (old.opcode != Opcode::kBroadcast || part != Part::kFirst) return old.attrs;
    hlo::DimensionsAttrs dimensions = old.attrs.get<hlo::DimensionsAttrs>();
    dimensions.dimensions.pop_back();
    return dimensions;
  }

  // What the op reads of operand k: its columns, or the one value that all columns read.
  hlo::Values read(const Instruction& old, size_t k, Part part) {
    const InstructionId operand = old.operands[k];
    const bool is_one = part == Part::kNothing || to_.old(operand).shape.is_scalar() ||
                        (part == Part::kFirst && k > 0);
    return is_one ? hlo::Values{whole(operand)} : columns_of(operand);
  }

  hlo::Values split(InstructionId id) {
    const Instruction& old = to_.old(id);
    const Part part = columns_.part_of(old);
    std::vector<hlo::Values> operands;
    for (size_t k = 0; k < old.operands.size(); ++k) operands.push_back(read(old, k, part));
    std::vector<hlo::ComputationId> called;
    for (hlo::ComputationId each : old.called) called.push_back(module_[each]);
    const hlo::Attrs attrs = attrs_of(old, part);
    const Shape shape = column_of(old.shape);
    hlo::Graph& graph = to_.in_place_of(id);
    const auto column = [&](size_t j) {
      hlo::Values now;
      for (const hlo::Values& each : operands) now.push_back(each[each.size() == 1 ? 0 : j]);
      return graph.op(old.opcode, now, attrs, called, &shape);
    };
    const auto count = static_cast<size_t>(last_of(old.shape));
    if (part == Part::kNothing) return hlo::Values(count, column(0));  // all columns are alike
    hlo::Values out;
    for (size_t j = 0; j < count; ++j) out.push_back(column(j));
    return out;
  }

  // A reduction along the columns, and along others too.
  hlo::Value folded(InstructionId id) {
    const Instruction& old = to_.old(id);
    const hlo::Values columns = columns_of(old.operands[0]);
    const hlo::Value start = whole(old.operands[1]);
    const Opcode opcode = module_.from().at(old.called[0]).root_instruction().opcode;
    hlo::Graph& graph = to_.in_place_of(id);
    hlo::Value sum = columns[0];
    for (size_t j = 1; j < columns.size(); ++j) sum = binary(opcode, sum, columns[j]);
    hlo::DimensionsAttrs others = old.attrs.get<hlo::DimensionsAttrs>();
    std::erase(others.dimensions, to_.old(old.operands[0]).shape.rank() - 1);
    if (others.dimensions.empty()) return binary(opcode, start, sum);
    return graph.op(Opcode::kReduce, {sum, start}, others, {module_[old.called[0]]}, &old.shape);
  }

  transform::ModuleRebuilder& module_;
  transform::Rebuilder to_;
  const Columns& columns_;
  std::map<InstructionId, hlo::Values> parts_;  // by the old instruction
};

}  // namespace

StatusOr<std::optional<hlo::Module>> split_into_columns(const hlo::Module& module) {
  transform::ModuleRebuilder rebuilt(module);
  bool is_changed = false;
  for (hlo::ComputationId id : rebuilt.order()) {
    const Columns columns(module, module.at(id));
    is_changed = is_changed || columns.has_any();
    rebuilt.replace(id, Splitter(rebuilt, id, columns).run());
  }
  if (!is_changed) return std::optional<hlo::Module>();
  HEDDLE_ASSIGN_OR_RETURN(hlo::Module out, std::move(rebuilt).finish());
  return std::optional(std::move(out));
}

}  // namespace heddle::cpu
