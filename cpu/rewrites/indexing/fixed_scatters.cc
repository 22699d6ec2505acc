#include "heddle/cpu/rewrites/indexing/fixed_scatters.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::ScatterAttrs;

// The numbers of a constant array; of a scalar that is broadcast, as many as it has elements.
std::optional<Dims> constant_numbers(const Computation& computation, InstructionId id) {
  const Instruction& array = computation.at(id);
  const bool is_spread = array.opcode == Opcode::kBroadcast;
  const Instruction& from = is_spread ? computation.at(array.operands[0]) : array;
  if (from.opcode != Opcode::kConstant || (is_spread && !from.shape.is_scalar())) return {};
  const Literal& literal = from.attrs.get<hlo::ConstantAttrs>().literal;
  Dims numbers;
  for (int64_t i = 0; i < array.shape.element_count(); ++i)
    numbers.push_back(literal.to_int64(is_spread ? 0 : i));
  return numbers;
}

// Where the window lies in the operand, by dimension.
struct Window {
  Dims start, size;
};

// Nothing where there are several windows, or the one does not fit.
std::optional<Window> fixed_window(const Computation& computation, const Instruction& scatter) {
  std::optional<Dims> sizes = one_window(computation, scatter);
  if (!sizes) return std::nullopt;
  const std::optional<Dims> numbers = constant_numbers(computation, scatter.operands[1]);
  if (!numbers) return std::nullopt;
  Window window{Dims(sizes->size()), *std::move(sizes)};
  const Dims& mapped = scatter.attrs.get<ScatterAttrs>().scatter_dims_to_operand_dims;
  for (size_t i = 0; i < mapped.size(); ++i)
    window.start[static_cast<size_t>(mapped[i])] = (*numbers)[i];
  for (size_t d = 0; d < window.start.size(); ++d) {
    const int64_t last = scatter.shape.dimension(static_cast<int64_t>(d)) - window.size[d];
    if (window.start[d] < 0 || window.start[d] > last) return std::nullopt;
  }
  return window;
}

hlo::Value updated(const hlo::Module& module, transform::Rebuilder& to, InstructionId id) {
  const Instruction& scatter = to.old(id);
  if (scatter.opcode != Opcode::kScatter) return {};
  const std::optional<Window> window = fixed_window(to.from(), scatter);
  if (!window) return {};
  const std::optional<Combiner> combiner = combiner_of(module.at(scatter.called[0]));
  if (!combiner) return {};
  to.in_place_of(id);
  const hlo::Values operands = to.operands(id);
  std::vector<hlo::SliceDimension> slices;
  hlo::Values starts;
  for (size_t d = 0; d < window->start.size(); ++d) {
    const int64_t start = window->start[d];
    slices.push_back({.start = start, .limit = start + window->size[d]});
    starts.push_back(operands[0].graph().constant(Literal::scalar(s64, start)));
  }
  const hlo::Value part =
      combiner->of(slice(operands[0], slices), reshape(operands[2], window->size));
  return dynamic_update_slice(operands[0], part, starts);
}

}  // namespace

hlo::Value Combiner::of(const hlo::Value& old, const hlo::Value& part) const {
  if (opcode == Opcode::kCopy) return part;
  return is_turned ? binary(opcode, part, old) : binary(opcode, old, part);
}

std::optional<Combiner> combiner_of(const Computation& by) {
  const InstructionId first = by.parameters[0], second = by.parameters[1];
  if (by.root == second) return Combiner{};
  const Instruction& root = by.root_instruction();
  const bool is_turned = root.operands == std::vector<InstructionId>{second, first};
  if (!is_turned && root.operands != std::vector<InstructionId>{first, second}) return {};
  switch (root.opcode) {
    case Opcode::kAdd:
    case Opcode::kSubtract:
    case Opcode::kMultiply:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor: return Combiner{root.opcode, is_turned};
    default: return {};
  }
}

std::optional<Dims> one_window(const Computation& computation, const Instruction& scatter) {
  const auto& attrs = scatter.attrs.get<ScatterAttrs>();
  const Shape& shape = scatter.shape;
  if (scatter.operands.size() != 3 || shape.is_dynamic() || shape.is_scalar() ||
      !attrs.input_batching_dims.empty() || !attrs.scatter_indices_batching_dims.empty())
    return std::nullopt;
  const Shape& indices = computation.at(scatter.operands[1]).shape;
  const Shape& updates = computation.at(scatter.operands[2]).shape;
  if (indices.is_dynamic() || updates.is_dynamic() || updates.element_count() == 0 ||
      indices.element_count() != std::ssize(attrs.scatter_dims_to_operand_dims))
    return std::nullopt;
  Dims sizes;
  auto next = attrs.update_window_dims.begin();
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const bool is_inserted = std::ranges::count(attrs.inserted_window_dims, d) > 0;
    sizes.push_back(is_inserted ? 1 : updates.dimension(*next++));
  }
  // Several windows, of indices without numbers, are all at one place.
  if (Shape(pred, sizes).element_count() != updates.element_count()) return std::nullopt;
  return sizes;
}

StatusOr<hlo::Module> update_fixed_scatters(const hlo::Module& module) {
  return transform::with_rewritten(
      module, [&](transform::Rebuilder& to, InstructionId id) { return updated(module, to, id); });
}

}  // namespace heddle::cpu
