#include "heddle/cpu/rewrites/folds/repeated_values.h"

#include <algorithm>

#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/cpu/rewrites/if_any.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kMostRepeats = int64_t{1} << 24;  // an f32 holds each such number

// Nothing: the fold stays.
hlo::Value once(const hlo::Module& module, transform::Rebuilder& to, InstructionId id) {
  const Instruction& fold = to.old(id);
  if (fold.opcode != Opcode::kReduce || fold.operands.size() != 2 || fold.shape.is_dynamic() ||
      !fold_of(module.at(fold.called[0])).has_value())
    return {};
  const Instruction& from = to.old(fold.operands[0]);
  if (from.opcode != Opcode::kBroadcast) return {};
  const Dims &folded = dimensions_of(fold), &own = dimensions_of(from);
  int64_t repeats = 1;
  for (const int64_t d : folded) {
    if (std::ranges::count(own, d) > 0) return {};
    repeats *= from.shape.dimension(d);
  }
  const Opcode op = module.at(fold.called[0]).root_instruction().opcode;
  const DType dtype = fold.shape.dtype();
  if (from.shape.dtype() != dtype) return {};
  const bool is_sum = op == Opcode::kAdd;
  const bool is_counted =
      dtype == f32 || dtype == f64 || dtype == s32 || dtype == s64 || dtype == u32 || dtype == u64;
  const bool is_extreme = op == Opcode::kMaximum || op == Opcode::kMinimum;
  if (repeats < 1 || repeats > kMostRepeats || !(is_sum ? is_counted : is_extreme)) return {};
  Dims places;
  for (const int64_t d : own)
    places.push_back(d - std::ranges::count_if(folded, [&](int64_t f) { return f < d; }));
  hlo::Value x = to.value(from.operands[0]);
  const hlo::Value start = to.operands(id)[1];
  to.in_place_of(id);
  if (is_sum) x = x * static_cast<double>(repeats);
  return binary(op, spread(start, fold.shape), broadcast(x, fold.shape.dimensions(), places));
}

}  // namespace

StatusOr<std::optional<hlo::Module>> fold_repeated(const hlo::Module& module) {
  return rewritten_if_any(module, [&](transform::Rebuilder& to, ComputationId) {
    return [&](InstructionId id) { return once(module, to, id); };
  });
}

}  // namespace heddle::cpu
