#include "heddle/cpu/rewrites/fixed_scatters.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::Computation;
using hlo::Dims;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;
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

// The sizes of the one window, by dimension; nothing where there are several.
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

// Where the window begins, by dimension; nothing where that is not known, or it does not fit.
std::optional<Dims> fixed_start(const Computation& computation, const Instruction& scatter,
                                const Dims& sizes) {
  const std::optional<Dims> numbers = constant_numbers(computation, scatter.operands[1]);
  if (!numbers) return std::nullopt;
  const Dims& mapped = scatter.attrs.get<ScatterAttrs>().scatter_dims_to_operand_dims;
  Dims start(sizes.size());
  for (size_t i = 0; i < mapped.size(); ++i) start[static_cast<size_t>(mapped[i])] = (*numbers)[i];
  for (size_t d = 0; d < start.size(); ++d) {
    if (start[d] < 0 || start[d] > scatter.shape.dimension(static_cast<int64_t>(d)) - sizes[d])
      return std::nullopt;
  }
  return start;
}

// How an old element and a new one are combined: by one operation, or the new one stays (kCopy).
struct Combiner {
  Opcode opcode = Opcode::kCopy;
  bool is_turned = false;  // opcode(new, old)

  [[nodiscard]] hlo::Value of(const hlo::Value& old, const hlo::Value& part) const {
    return is_turned ? binary(opcode, part, old) : binary(opcode, old, part);
  }
};

// Nothing where it is another function.
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

// At a place that is known.
hlo::Value updated_at(const hlo::Values& operands, const Dims& start, const Dims& sizes,
                      const Combiner& combiner) {
  std::vector<hlo::SliceDimension> slices;
  hlo::Values starts;
  for (size_t d = 0; d < start.size(); ++d) {
    slices.push_back({.start = start[d], .limit = start[d] + sizes[d]});
    starts.push_back(operands[0].graph().constant(Literal::scalar(s64, start[d])));
  }
  hlo::Value part = reshape(operands[2], sizes);
  if (combiner.opcode != Opcode::kCopy) part = combiner.of(slice(operands[0], slices), part);
  return dynamic_update_slice(operands[0], part, starts);
}

// At another one: a window that does not fit changes nothing.
hlo::Value updated_somewhere(const hlo::Values& operands, const ScatterAttrs& attrs,
                             const Dims& sizes, const Combiner& combiner) {
  const hlo::Value &x = operands[0], &indices = operands[1];
  hlo::Graph& graph = x.graph();
  const Dims& mapped = attrs.scatter_dims_to_operand_dims;
  const hlo::Value numbers = reshape(indices, {std::ssize(mapped)});
  hlo::Values starts(sizes.size(), graph.number(indices.dtype(), 0));
  hlo::Value fits;
  for (size_t i = 0; i < mapped.size(); ++i) {
    const auto d = static_cast<size_t>(mapped[i]);
    starts[d] = reshape(slice(numbers, 0, static_cast<int64_t>(i), 1), {});
    const auto last = static_cast<double>(x.size(mapped[i]) - sizes[d]);
    const hlo::Value is_within =
        (starts[d] >= starts[d].number(0)) & (starts[d] <= starts[d].number(last));
    fits = fits ? fits & is_within : is_within;
  }
  const hlo::Value old = dynamic_slice(x, starts, sizes);
  const hlo::Value now = combiner.of(old, reshape(operands[2], sizes));
  return dynamic_update_slice(x, fits ? select(broadcast(fits, sizes, {}), now, old) : now, starts);
}

hlo::Value updated(const hlo::Module& module, transform::Rebuilder& to, InstructionId id) {
  const Instruction& scatter = to.old(id);
  if (scatter.opcode != Opcode::kScatter) return {};
  const std::optional<Dims> sizes = one_window(to.from(), scatter);
  if (!sizes) return {};
  const std::optional<Combiner> combiner = combiner_of(module.at(scatter.called[0]));
  if (!combiner) return {};
  const std::optional<Dims> start = fixed_start(to.from(), scatter, *sizes);
  // Parts of complex numbers are scattered each for itself, but where both make each of them.
  const bool joins_parts =
      is_complex(scatter.shape.dtype()) && combiner->opcode == Opcode::kMultiply;
  if (!start && !joins_parts) return {};
  to.in_place_of(id);
  const hlo::Values operands = to.operands(id);
  return start ? updated_at(operands, *start, *sizes, *combiner)
               : updated_somewhere(operands, scatter.attrs.get<ScatterAttrs>(), *sizes, *combiner);
}

}  // namespace

StatusOr<hlo::Module> update_fixed_scatters(const hlo::Module& module) {
  return transform::with_rewritten(
      module, [&](transform::ModuleRebuilder&, transform::Rebuilder& to, hlo::ComputationId,
                  InstructionId id) { return updated(module, to, id); });
}

}  // namespace heddle::cpu
