#include "heddle/compile/internal/mixed_rows.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/op.h"
#include "heddle/trace/op_names.h"

namespace heddle::compile_internal {
namespace {

using hlo::Computation;
using hlo::Dims;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;

// A value's type in both traces. A dimension follows the rows where its size differs.
struct Type {
  const Shape& here;
  const Shape& other;

  [[nodiscard]] int64_t rank() const { return here.is_array() ? here.rank() : 0; }
  [[nodiscard]] bool follows(int64_t d) const { return here.dimension(d) != other.dimension(d); }
  [[nodiscard]] bool follows() const {
    for (int64_t d = 0; d < rank(); ++d) {
      if (follows(d)) return true;
    }
    return false;
  }
  [[nodiscard]] bool follows_in(const Dims& dims) const {
    return std::ranges::any_of(dims, [&](int64_t d) { return follows(d); });
  }
};

// One instruction in both traces.
class Step {
 public:
  Step(const Computation& in, const Computation& in_other, size_t number)
      : in_(in),
        in_other_(in_other),
        here(in.instructions[number]),
        other(in_other.instructions[number]) {}

 private:
  const Computation& in_;
  const Computation& in_other_;

 public:
  const Instruction& here;
  const Instruction& other;

  [[nodiscard]] Type result() const { return {here.shape, other.shape}; }
  [[nodiscard]] size_t operands() const { return here.operands.size(); }
  [[nodiscard]] Type operand(size_t i) const {
    return {in_.at(here.operands[i]).shape, in_other_.at(other.operands[i]).shape};
  }
  [[nodiscard]] bool operand_follows_in(const Dims& dims) const {
    for (size_t i = 0; i < operands(); ++i) {
      if (operand(i).rank() > 0 && operand(i).follows_in(dims)) return true;
    }
    return false;
  }
  // Rows are known only for arrays; for tuples, where they are used.
  [[nodiscard]] bool takes_rows() const {
    for (size_t i = 0; i < operands(); ++i) {
      if (operand(i).follows()) return true;
    }
    return false;
  }
  [[nodiscard]] bool has_rows() const { return takes_rows() || result().follows(); }
  [[nodiscard]] bool has_equal_attributes() const { return here.attrs == other.attrs; }
  [[nodiscard]] const Computation& in() const { return in_; }
};

// ----- rules: whether a step that has rows keeps them apart

bool keeps(const Step& step) { return step.has_equal_attributes(); }

// Whether the instruction goes over other dimensions than the rows.
bool keeps_beside_dimensions(const Step& step) {
  const auto& dims = step.here.attrs.get<hlo::DimensionsAttrs>().dimensions;
  return keeps(step) && !step.operand_follows_in(dims);
}

// Whether the rows stay between the same elements.
bool keeps_reshaped(const Step& step) {
  const auto places = [](const Type& type) {
    std::vector<int64_t> before;
    int64_t count = 1;
    for (int64_t d = 0; d < type.rank(); ++d) {
      if (type.follows(d)) before.push_back(count);
      count *= type.here.dimension(d);
    }
    return before;
  };
  return places(step.operand(0)) == places(step.result());
}

bool keeps_sliced(const Step& step) {
  const auto& here = step.here.attrs.get<hlo::SliceAttrs>().slice;
  const auto& other = step.other.attrs.get<hlo::SliceAttrs>().slice;
  for (size_t i = 0; i < here.size(); ++i) {
    const auto d = static_cast<int64_t>(i);
    if (!step.result().follows(d)) {
      if (step.operand(0).follows(d) || here[i] != other[i]) return false;
    } else if (here[i].start != 0 || here[i].stride != 1 || other[i].start != 0 ||
               other[i].stride != 1) {
      return false;  // else row i is row i of all rows, or of a table that has more
    }
  }
  return true;
}

// Whether the slice is whole along the rows, so that its start is 0.
bool keeps_dynamic_slice(const Step& step) {
  const Type from = step.operand(0);
  for (int64_t d = 0; d < from.rank(); ++d) {
    if (from.follows(d) != step.result().follows(d)) return false;
    if (from.here.dimension(d) != step.result().here.dimension(d) && from.follows(d)) return false;
  }
  return true;
}
bool keeps_dynamic_update(const Step& step) {
  const Type into = step.operand(0), update = step.operand(1);
  for (int64_t d = 0; d < into.rank(); ++d) {
    if (into.follows(d) != update.follows(d)) return false;
    if (into.follows(d) && into.here.dimension(d) != update.here.dimension(d)) return false;
  }
  return true;
}

bool keeps_padded(const Step& step) {
  const auto& padding = step.here.attrs.get<hlo::PadAttrs>().padding;
  for (size_t i = 0; i < padding.size(); ++i) {
    if (step.operand(0).follows(static_cast<int64_t>(i)) && padding[i] != hlo::PadDimension{})
      return false;
  }
  return keeps(step);
}

bool has(const Dims& dims, int64_t d) { return std::ranges::count(dims, d) > 0; }

// Rows of indices give rows. Rows of the array that they point into are whole, or lanes of their
// own.
bool keeps_gathered(const Step& step) {
  hlo::GatherAttrs here = step.here.attrs.get<hlo::GatherAttrs>();
  hlo::GatherAttrs other = step.other.attrs.get<hlo::GatherAttrs>();
  const Type from = step.operand(0);
  for (int64_t d = 0; d < from.rank(); ++d) {
    const auto i = static_cast<size_t>(d);
    if (!from.follows(d)) {
      if (here.slice_sizes[i] != other.slice_sizes[i]) return false;
    } else if (!has(here.operand_batching_dims, d)) {
      if (here.slice_sizes[i] != from.here.dimension(d) || has(here.start_index_map, d))
        return false;
    }
  }
  here.slice_sizes.clear();
  other.slice_sizes.clear();
  return here == other;
}

bool keeps_sorted(const Step& step) {
  return keeps(step) && !step.operand_follows_in(step.here.attrs.get<hlo::SortAttrs>().dimensions);
}

// Whether the last `last` dimensions of the first `count` operands have no rows.
bool keeps_before_last(const Step& step, size_t count, int64_t last) {
  for (size_t i = 0; i < count; ++i) {
    const Type type = step.operand(i);
    for (int64_t d = std::max<int64_t>(type.rank() - last, 0); d < type.rank(); ++d) {
      if (type.follows(d)) return false;
    }
  }
  return keeps(step);
}
bool keeps_top(const Step& step) { return keeps_before_last(step, 1, 1); }
bool keeps_transformed(const Step& step) {
  return keeps_before_last(
      step, 1, static_cast<int64_t>(step.here.attrs.get<hlo::FftAttrs>().fft_length.size()));
}

bool keeps_window(const Step& step) {
  const auto& window = step.here.attrs.get<hlo::WindowAttrs>().window.dimensions;
  for (size_t i = 0; i < window.size(); ++i) {
    if (step.operand(0).follows(static_cast<int64_t>(i)) && window[i] != hlo::WindowDimension{})
      return false;
  }
  return keeps(step);
}

bool keeps_dot(const Step& step) {
  const auto& dot = step.here.attrs.get<hlo::DotAttrs>();
  return keeps(step) && !step.operand(0).follows_in(dot.lhs_contracting_dims) &&
         !step.operand(1).follows_in(dot.rhs_contracting_dims);
}

bool keeps_convolved(const Step& step) {
  const auto& convolution = step.here.attrs.get<hlo::ConvolutionAttrs>();
  for (int64_t d = 0; d < step.operand(0).rank(); ++d) {
    if (d != convolution.dim_labels.input_batch && step.operand(0).follows(d)) return false;
  }
  return keeps(step) && convolution.batch_group_count == 1 && !step.operand(1).follows();
}

bool keeps_normalised(const Step& step) {
  const int64_t feature = step.here.attrs.get<hlo::BatchNormAttrs>().feature_index;
  return keeps(step) && !step.operand(0).follows(feature);
}

// Whether an element after the first `from` ones of a tuple is used.
bool uses_elements(const Computation& in, const Instruction& tuple, int64_t from) {
  const auto number = static_cast<size_t>(&tuple - in.instructions.data());
  if (in.root.value == number) return true;
  std::vector<bool> used(in.instructions.size());
  used[in.root.value] = true;
  for (const Instruction& user : in.instructions) {
    for (InstructionId operand : user.operands) used[operand.value] = true;
  }
  for (size_t i = 0; i < in.instructions.size(); ++i) {
    const Instruction& user = in.instructions[i];
    const bool is_of_it = std::ranges::any_of(
        user.operands, [&](InstructionId operand) { return operand.value == number; });
    if (!is_of_it) continue;
    if (user.opcode != Opcode::kGetTupleElement) return true;
    if (used[i] && user.attrs.get<hlo::TupleIndexAttrs>().index >= from) return true;
  }
  return false;
}

// A loop over the rows. Without a carry it keeps them apart. With a carry, if it begins with the
// first row and nobody reads the last carry, no row sees the rows after it.
bool keeps_scanned(const Step& step) {
  const auto& scan = step.here.attrs.get<hlo::ScanAttrs>();
  if (!keeps(step) || scan.dimensions.size() != 1) return false;
  const auto inputs = static_cast<int64_t>(step.operands()) - scan.num_carries;
  const auto is_along = [&](const Shape& here, const Shape& other) {
    return here.is_array() && Type{here, other}.follows(scan.dimensions[0]);
  };
  bool is_over_rows = false;
  for (int64_t i = 0; i < inputs; ++i) {
    const Type type = step.operand(static_cast<size_t>(i));
    is_over_rows |= is_along(type.here, type.other);
  }
  const Shape& result = step.here.shape;
  const int64_t outputs =
      (result.is_tuple() ? static_cast<int64_t>(result.elements().size()) : 1) - scan.num_carries;
  for (int64_t i = 0; i < outputs && result.is_tuple(); ++i)
    is_over_rows |= is_along(result.element(i), step.other.shape.element(i));
  if (!is_over_rows || scan.num_carries == 0) return true;
  return !scan.is_reverse && result.is_tuple() && !uses_elements(step.in(), step.here, outputs);
}

struct Rule {
  Opcode opcode;
  bool (*keeps_rows)(const Step&);
};
// Of the ops with Rows::kByRule.
constexpr Rule kRules[] = {
    {Opcode::kBatchNormInference, keeps_normalised},
    {Opcode::kConvolution, keeps_convolved},
    {Opcode::kDot, keeps_dot},
    {Opcode::kDynamicSlice, keeps_dynamic_slice},
    {Opcode::kDynamicUpdateSlice, keeps_dynamic_update},
    {Opcode::kFft, keeps_transformed},
    {Opcode::kGather, keeps_gathered},
    {Opcode::kPad, keeps_padded},
    {Opcode::kReduceWindow, keeps_window},
    {Opcode::kReshape, keeps_reshaped},
    {Opcode::kScan, keeps_scanned},
    {Opcode::kSlice, keeps_sliced},
    {Opcode::kSort, keeps_sorted},
    {Opcode::kTopK, keeps_top},
};

const Rule* rule_of(Opcode opcode) {
  const auto* rule = std::ranges::find(kRules, opcode, &Rule::opcode);
  return rule == std::end(kRules) ? nullptr : rule;
}

bool keeps_rows(const Step& step) {
  switch (hlo::facts(step.here.opcode).rows) {
    case hlo::Rows::kMixed: return false;
    case hlo::Rows::kKept: return true;
    case hlo::Rows::kKeptIfAlike: return keeps(step);
    case hlo::Rows::kKeptBeside: return keeps_beside_dimensions(step);
    case hlo::Rows::kKeptAbove: return keeps_before_last(step, step.operands(), 2);
    case hlo::Rows::kByRule: break;
  }
  const Rule* rule = rule_of(step.here.opcode);
  return rule != nullptr && rule->keeps_rows(step);
}

// What the user called.
std::string_view user_name(const Instruction& instruction) {
  const std::string_view noted = instruction.extras->metadata.op_name;
  return noted.empty() ? trace_internal::user_name(instruction.opcode) : noted;
}

bool are_alike(const Instruction& here, const Instruction& other) {
  return here.opcode == other.opcode && here.operands == other.operands &&
         here.called == other.called && here.shape.is_array() == other.shape.is_array() &&
         (!here.shape.is_array() || here.shape.rank() == other.shape.rank());
}

// For each instruction, whether it follows from the last argument.
std::vector<bool> follows_last_argument(const Computation& in) {
  std::vector<bool> follows(in.instructions.size());
  for (size_t i = 0; i < in.instructions.size(); ++i) {
    follows[i] = i == in.parameters.back().value ||
                 std::ranges::any_of(in.instructions[i].operands,
                                     [&](InstructionId id) { return follows[id.value]; });
  }
  return follows;
}

class Finder {
 public:
  explicit Finder(const TwoTraces& traces) : traces_(traces) {}

  // It finds nothing inside of loops and branches.
  [[nodiscard]] std::string unmasked_in(const Computation& here, const Computation& other) const {
    const std::vector<bool> is_masked = follows_last_argument(here);
    for (size_t i = 0; i < std::min(here.instructions.size(), other.instructions.size()); ++i) {
      if (!are_alike(here.instructions[i], other.instructions[i])) return "";
      const Step step(here, other, i);
      if (is_masked[i] || !step.takes_rows() || keeps_rows(step)) continue;
      return base::cat(place(step.here), " goes over the rows, and what it takes has no mask");
    }
    return "";
  }

  [[nodiscard]] std::string in(const Computation& here, const Computation& other) const {
    for (size_t i = 0; i < std::min(here.instructions.size(), other.instructions.size()); ++i) {
      if (!are_alike(here.instructions[i], other.instructions[i])) return changed(here, i);
      if (std::string found = at(Step(here, other, i)); !found.empty()) return found;
    }
    if (here.instructions.size() != other.instructions.size())
      return changed(here, std::min(here.instructions.size(), other.instructions.size()) - 1);
    return "";
  }

 private:
  // "sum f32[] at loss.cc:12"
  [[nodiscard]] std::string place(const Instruction& instruction) const {
    return base::cat(user_name(instruction), " ", instruction.shape,
                     instruction.at.known() ? base::cat(" at ", to_string(instruction.at)) : "");
  }

  [[nodiscard]] std::string changed(const Computation& in, size_t number) const {
    return base::cat("from ", place(in.instructions[number]),
                     " on, it computes something else for ", traces_.other_rows, " rows");
  }

  [[nodiscard]] std::string at(const Step& step) const {
    if (step.here.shape.is_array()) {
      if (rows_of(step.here.shape, step.other.shape, traces_) == RowsOf::kOther &&
          !follows_only_rows(step.result()))
        return base::cat(place(step.here), " has a size that is computed from the number of rows");
    }
    if (step.has_rows() || step.here.opcode == Opcode::kScan) {
      if (keeps_rows(step)) return "";
      return base::cat(place(step.here), " goes over the rows");
    }
    if (step.has_equal_attributes() || step.here.opcode == Opcode::kParameter) return "";
    return base::cat(place(step.here), " follows from the number of rows");
  }

  [[nodiscard]] bool follows_only_rows(const Type& type) const {
    for (int64_t d = 0; d < type.rank(); ++d) {
      if (type.follows(d) &&
          (type.here.dimension(d) != traces_.rows || type.other.dimension(d) != traces_.other_rows))
        return false;
    }
    return true;
  }

  const TwoTraces& traces_;
};

}  // namespace

bool has_rule_of_rows(Opcode opcode) { return rule_of(opcode) != nullptr; }

RowsOf rows_of(const Shape& shape, const Shape& other, const TwoTraces& traces) {
  const Type type{shape, other};
  if (shape.rank() != other.rank()) return RowsOf::kOther;
  if (!type.follows()) return RowsOf::kNone;
  for (int64_t d = 1; d < type.rank(); ++d) {
    if (type.follows(d)) return RowsOf::kOther;
  }
  return shape.dimension(0) == traces.rows && other.dimension(0) == traces.other_rows
             ? RowsOf::kLeading
             : RowsOf::kOther;
}

std::string mixed_rows(const TwoTraces& traces) {
  const auto& here = traces.module.computations;
  const auto& other = traces.other.computations;
  const Finder finder(traces);
  for (size_t i = 0; i < std::min(here.size(), other.size()); ++i) {
    if (std::string found = finder.in(here[i], other[i]); !found.empty()) return found;
  }
  if (here.size() != other.size())
    return base::cat("it computes something else for ", traces.other_rows, " rows");
  return "";
}

std::string unmasked_rows(const TwoTraces& traces) {
  return Finder(traces).unmasked_in(traces.module.entry_computation(),
                                    traces.other.entry_computation());
}

}  // namespace heddle::compile_internal
