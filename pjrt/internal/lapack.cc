#include "heddle/pjrt/internal/lapack.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "heddle/hlo/text.h"
#include "heddle/pjrt/internal/lapack_lu.h"
#include "heddle/transform/emitter.h"
#include "heddle/transform/import.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::pjrt {
namespace {

using hlo::ComputationId;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;
using transform::Emitter;

// "lapack_sgetrf_ffi" is getrf; empty for what is no such call.
std::string_view routine_of(const Instruction& instruction) {
  if (instruction.opcode != Opcode::kCustomCall) return "";
  std::string_view target = instruction.attrs.get<hlo::CustomCallAttrs>().custom_call_target;
  constexpr std::string_view kPrefix = "lapack_", kSuffix = "_ffi";
  if (!target.starts_with(kPrefix) || !target.ends_with(kSuffix)) return "";
  target.remove_prefix(kPrefix.size() + 1);  // and the letter of the type
  target.remove_suffix(kSuffix.size());
  return target;
}

// The letter of an option: `uplo = 76 : ui8` is 'L'. '\0' where it is not there.
char option(const Instruction& call, std::string_view name) {
  const std::string& config = call.extras->backend_config;
  const size_t at = config.find(cat(name, " = "));
  if (at == std::string::npos) return '\0';
  return static_cast<char>(std::atoi(config.c_str() + at + name.size() + 3));
}

Shape plain(Shape shape) {
  shape.clear_layout();
  return shape;
}

// Dimensions of a batch of matrices before the last two.
std::vector<int64_t> batch_of(const Shape& matrices) {
  return {matrices.dimensions().begin(), matrices.dimensions().end() - 2};
}

// f32[2,3,m,n] as f32[6,m,n].
LuSignature signature_of(const Shape& matrices) {
  LuSignature signature{.dtype = matrices.dtype(),
                        .batch = 1,
                        .rows = matrices.dimension(matrices.rank() - 2),
                        .columns = matrices.dimension(matrices.rank() - 1)};
  for (int64_t size : batch_of(matrices)) signature.batch *= size;
  return signature;
}

using LuComputations = std::map<LuSignature, ComputationId>;

// Writes one call with older ops.
class Expansion {
 public:
  Expansion(transform::ModuleRebuilder& into, const LuComputations& lu, Emitter& emit,
            const Instruction& call)
      : into_(into), lu_(lu), emit_(emit), call_(call) {}

  // errors   for options that no LAPACK has
  InstructionId run(std::string_view routine) {
    if (routine == "trsm") return solve();
    if (routine == "potrf") return cholesky();
    if (routine == "getrf") return lu();
    if (routine == "geqrf") return renamed("Qr");
    return renamed("ProductOfElementaryHouseholderReflectors");
  }

 private:
  InstructionId solve() {
    const char transposed = option(call_, "trans_x");
    hlo::TriangularSolveAttrs attrs{.left_side = option(call_, "side") == 'L',
                                    .lower = option(call_, "uplo") == 'L',
                                    .unit_diagonal = option(call_, "diag") == 'U'};
    if (transposed == 'T') attrs.transpose_a = hlo::TransposeA::kTranspose;
    if (transposed == 'C') attrs.transpose_a = hlo::TransposeA::kAdjoint;
    return emit_.op(Opcode::kTriangularSolve, plain(call_.shape), call_.operands, attrs);
  }

  // The other triangle is that of the operand, as LAPACK leaves it.
  InstructionId cholesky() {
    const bool lower = option(call_, "uplo") == 'L';
    const InstructionId a = call_.operands[0];
    const Shape shape = plain(emit_.shape(a));
    const InstructionId factor =
        emit_.op(Opcode::kCholesky, shape, {a}, hlo::CholeskyAttrs{.lower = lower});
    const InstructionId inside = triangle(shape, lower);
    const InstructionId result = emit_.op(Opcode::kSelect, shape, {inside, factor, a});
    return emit_.tuple({result, is_nan_in(factor, inside)});
  }

  // pred: row >= column, or row <= column.
  InstructionId triangle(const Shape& shape, bool lower) {
    const Shape numbers = shape.with_dtype(s32);
    const auto iota = [&](int64_t dimension) {
      return emit_.op(Opcode::kIota, numbers, {}, hlo::IotaAttrs{.iota_dimension = dimension});
    };
    const auto direction = lower ? hlo::ComparisonDirection::kGe : hlo::ComparisonDirection::kLe;
    return emit_.op(Opcode::kCompare, shape.with_dtype(pred),
                    {iota(shape.rank() - 2), iota(shape.rank() - 1)},
                    hlo::CompareAttrs{.direction = direction});
  }

  // s32 of the batch: 1 where a masked element is not a number, else 0.
  InstructionId is_nan_in(InstructionId x, InstructionId mask) {
    const Shape marks = emit_.shape(mask);
    const InstructionId nan =
        emit_.op(Opcode::kCompare, marks, {x, x},
                 hlo::CompareAttrs{.direction = hlo::ComparisonDirection::kNe});
    const InstructionId inside = emit_.op(Opcode::kAnd, marks, {nan, mask});
    const Shape batch(pred, batch_of(marks));
    const InstructionId any = emit_.op(
        Opcode::kReduce, batch, {inside, emit_.scalar(pred, 0)},
        hlo::DimensionsAttrs{.dimensions = {marks.rank() - 2, marks.rank() - 1}}, {logical_or()});
    return emit_.op(Opcode::kConvert, batch.with_dtype(s32), {any});
  }

  ComputationId logical_or() {
    hlo::ComputationBuilder to(into_.into());
    const InstructionId a = to.parameter(Shape::scalar(pred)),
                        b = to.parameter(Shape::scalar(pred));
    Emitter emit(to, call_);
    const InstructionId root = emit.op(Opcode::kOr, Shape::scalar(pred), {a, b});
    return into_.add(std::move(to).finish(root));
  }

  InstructionId lu() {
    const InstructionId a = call_.operands[0];
    const LuSignature signature = signature_of(emit_.shape(a));
    const ComputationId callee = into_[lu_.at(signature)];
    const Shape flat(signature.dtype, {signature.batch, signature.rows, signature.columns});
    const InstructionId result = emit_.op(Opcode::kCall, into_.into().at(callee).result_shape(),
                                          {reshape(a, flat)}, hlo::CallAttrs(), {callee});
    std::vector<InstructionId> elements;
    for (int64_t i = 0; i < 3; ++i)
      elements.push_back(reshape(emit_.element(result, i), plain(call_.shape.element(i))));
    return emit_.tuple(std::move(elements));
  }

  InstructionId reshape(InstructionId x, const Shape& shape) {
    return emit_.op(Opcode::kReshape, shape, {x}, hlo::ReshapeAttrs());
  }

  // XLA's own call of the same meaning.
  InstructionId renamed(std::string_view target) {
    hlo::CustomCallAttrs attrs;
    attrs.custom_call_target = target;
    return emit_.op(Opcode::kCustomCall, plain(call_.shape), call_.operands, std::move(attrs));
  }

  transform::ModuleRebuilder& into_;
  const LuComputations& lu_;
  Emitter& emit_;
  const Instruction& call_;
};

bool is_expanded(std::string_view routine) {
  constexpr std::string_view kRoutines[] = {"trsm", "potrf", "getrf", "geqrf", "orgqr", "ungqr"};
  return std::ranges::find(kRoutines, routine) != std::end(kRoutines);
}

// The module behind the computations of LU that it needs.
StatusOr<hlo::Module> with_lu(const hlo::Module& module, LuComputations& lu) {
  hlo::Module out;
  for (const hlo::Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      if (routine_of(instruction) != "getrf") continue;
      const LuSignature signature = signature_of(computation.at(instruction.operands[0]).shape);
      if (lu.contains(signature)) continue;
      HEDDLE_ASSIGN_OR_RETURN(hlo::Module made, hlo::parse_text(lu_text(signature)));
      lu.emplace(signature, transform::import(out, std::move(made)));
    }
  }
  out.entry = transform::import(out, module);
  out.name = module.name;
  out.extras = module.extras;
  return out;
}

}  // namespace

bool has_lapack(const hlo::Module& module) {
  return std::ranges::any_of(module.computations, [](const hlo::Computation& computation) {
    return std::ranges::any_of(computation.instructions, [](const Instruction& instruction) {
      return is_expanded(routine_of(instruction));
    });
  });
}

StatusOr<hlo::Module> expand_lapack(const hlo::Module& module) {
  LuComputations lu;
  HEDDLE_ASSIGN_OR_RETURN(const hlo::Module from, with_lu(module, lu));
  transform::ModuleRebuilder into(from);
  for (ComputationId id : into.order()) {
    transform::Rebuilder to(into, id);
    for (InstructionId i : to.order()) {
      const std::string_view routine = routine_of(to.old(i));
      if (!is_expanded(routine)) {
        to.copy(i);
        continue;
      }
      const Instruction call = to.mapped(i);
      Emitter emit(to.builder(), call);
      to.replace(i, Expansion(into, lu, emit, call).run(routine));
    }
    into.replace(id, std::move(to).finish());
  }
  return std::move(into).finish();
}

}  // namespace heddle::pjrt
