#include "heddle/cpu/rewrites/stacked_folds.h"

#include <algorithm>
#include <utility>

#include "heddle/cpu/lower/scalar_ops.h"
#include "heddle/cpu/rewrites/inlined_scalars.h"
#include "heddle/hlo/attributes.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::Computation;
using hlo::Dims;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;

constexpr int64_t kMostStackedArrays = 8;
constexpr int64_t kFewestFolded = 64;  // results: fewer may stand in registers as they are
constexpr int64_t kMostInlinedInstructions = 64;  // instructions of the computation that folds

const Dims& dims_of(const Instruction& instruction) {
  return instruction.attrs.get<hlo::DimensionsAttrs>().dimensions;
}

bool is_stack(const Computation& in, const Instruction& x, int64_t d) {
  return x.opcode == Opcode::kConcatenate && dims_of(x)[0] == d &&
         std::ranges::all_of(
             x.operands, [&](InstructionId piece) { return in.at(piece).shape.dimension(d) == 1; });
}

// Each element is its place along d.
bool is_number(const Computation& in, const Instruction& x, int64_t d) {
  if (x.opcode == Opcode::kIota) return x.attrs.get<hlo::IotaAttrs>().iota_dimension == d;
  return x.opcode == Opcode::kBroadcast && dims_of(x) == Dims{d} &&
         in.at(x.operands[0]).opcode == Opcode::kIota;
}

bool is_alike(const Instruction& x, int64_t d) {
  return x.opcode == Opcode::kBroadcast && !std::ranges::count(dims_of(x), d);
}

bool is_fold_of_stacks(const hlo::Module& module, const Computation& in, const Instruction& fold) {
  if (fold.opcode != Opcode::kReduce || dims_of(fold).size() != 1) return false;
  const int64_t d = dims_of(fold)[0];
  const std::span<const InstructionId> arrays(fold.operands.data(), fold.operands.size() / 2);
  const Shape& first = in.at(arrays[0]).shape;
  const int64_t count = first.dimension(d);
  if (count < 1 || count > kMostStackedArrays || first.element_count() / count < kFewestFolded)
    return false;
  const auto fits = [&](InstructionId id) {
    const Instruction& x = in.at(id);
    return !x.shape.is_dynamic() && scalar_of(x.shape.dtype()).has_value() &&
           (is_stack(in, x, d) || is_number(in, x, d) || is_alike(x, d));
  };
  return std::ranges::all_of(arrays, fits) &&
         std::ranges::any_of(arrays,
                             [&](InstructionId id) { return is_stack(in, in.at(id), d); }) &&
         module.at(fold.called[0]).size() <= kMostInlinedInstructions &&
         is_scalar_computation(module.at(fold.called[0]));
}

// Place i along d of an array that is_fold_of_stacks() took.
hlo::Value place_of(hlo::Graph& graph, transform::Rebuilder& to, InstructionId id, int64_t d,
                    int64_t i) {
  const Instruction& x = to.old(id);
  const hlo::Values operands = to.operands(id);
  if (x.opcode == Opcode::kConcatenate) return drop_dimension(operands[static_cast<size_t>(i)], d);
  Dims sizes = x.shape.dimensions();
  sizes.erase(sizes.begin() + d);
  if (is_number(to.from(), x, d))
    return graph.full(Shape(x.shape.dtype(), sizes), static_cast<double>(i));
  Dims places = dims_of(x);
  for (int64_t& place : places) place -= place > d ? 1 : 0;
  return broadcast(operands[0], sizes, places);
}

hlo::Value folded(const hlo::Module& module, transform::Rebuilder& to, InstructionId id) {
  const Instruction& fold = to.old(id);
  const Computation& by = module.at(fold.called[0]);
  const int64_t d = dims_of(fold)[0];
  const size_t count = fold.operands.size() / 2;
  Dims sizes = to.from().at(fold.operands[0]).shape.dimensions();
  const int64_t turns = sizes[static_cast<size_t>(d)];
  sizes.erase(sizes.begin() + d);
  hlo::Graph& graph = to.in_place_of(id);
  const hlo::Values operands = to.operands(id);
  hlo::Values sums;
  for (size_t j = count; j < 2 * count; ++j) sums.push_back(broadcast(operands[j], sizes, {}));
  for (int64_t i = 0; i < turns; ++i) {
    hlo::Values arguments = sums;
    for (size_t j = 0; j < count; ++j)
      arguments.push_back(place_of(graph, to, fold.operands[j], d, i));
    InlinedScalars inlined(by, std::move(arguments));
    const Instruction& root = by.root_instruction();
    if (root.opcode != Opcode::kTuple) {
      sums[0] = inlined.of(by.root);
      continue;
    }
    for (size_t j = 0; j < count; ++j) sums[j] = inlined.of(root.operands[j]);
  }
  return fold.shape.is_tuple() ? graph.tuple(sums) : sums[0];
}

}  // namespace

StatusOr<std::optional<hlo::Module>> fold_without_stacks(const hlo::Module& module) {
  const auto has_fold = [&](const Computation& in) {
    return std::ranges::any_of(in.instructions, [&](const Instruction& each) {
      return is_fold_of_stacks(module, in, each);
    });
  };
  if (std::ranges::none_of(module.computations, has_fold)) return std::optional<hlo::Module>();
  HEDDLE_ASSIGN_OR_RETURN(
      hlo::Module out,
      transform::with_rewritten(
          module, [&](auto&, transform::Rebuilder& to, auto, InstructionId id) -> hlo::Value {
            if (!is_fold_of_stacks(module, to.from(), to.old(id))) return {};
            return folded(module, to, id);
          }));
  return std::optional(std::move(out));
}

}  // namespace heddle::cpu
