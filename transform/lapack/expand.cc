#include "heddle/transform/lapack/expand.h"

#include <algorithm>
#include <map>
#include <string>

#include "heddle/hlo/calls/lapack.h"
#include "heddle/transform/canonical.h"
#include "heddle/transform/emitter.h"
#include "heddle/transform/import.h"
#include "heddle/transform/internal/ir.h"
#include "heddle/transform/lapack/internal/arrays.h"
#include "heddle/transform/lapack/internal/problem.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::transform {
namespace {

using lapack::Problem;

Shape plain(Shape shape) {
  shape.clear_layout();
  return shape;
}

// Dimensions of a batch of matrices before the last two.
std::vector<int64_t> batch_of(const Shape& matrices) {
  return {matrices.dimensions().begin(), matrices.dimensions().end() - 2};
}

// A routine written as loops.
struct Loops {
  std::string_view routine;
  int64_t matrix_rank;  // of operand 0, behind the batch
  StatusOr<hlo::Module> (*write)(const Problem&);
};
constexpr Loops kLoops[] = {
    {"gesdd", 2, lapack::svd_module},   {"gesvd", 2, lapack::svd_module},
    {"getrf", 2, lapack::lu_module},    {"gtsv", 1, lapack::tridiagonal_module},
    {"heevd", 2, lapack::eigh_module},  {"ormqr", 2, lapack::ormqr_module},
    {"unmqr", 2, lapack::ormqr_module}, {"syevd", 2, lapack::eigh_module},
};

const Loops* find_loops(std::string_view routine) {
  const Loops* found = std::ranges::find(kLoops, routine, &Loops::routine);
  return found == std::end(kLoops) ? nullptr : found;
}

bool is_expanded(std::string_view routine) {
  constexpr std::string_view kOps[] = {"trsm", "potrf", "geqrf", "orgqr", "ungqr"};
  return find_loops(routine) != nullptr || std::ranges::find(kOps, routine) != std::end(kOps);
}

// The routine of a call that this pass writes. Empty for other calls, for unwanted ones, and for
// calls that do not fit their routine: the backend that runs those says what is wrong.
std::string_view routine_of(const hlo::Computation& computation, const Instruction& instruction,
                            const CallFilter& wanted) {
  if (instruction.opcode != Opcode::kCustomCall) return "";
  const auto& target = instruction.attrs.get<hlo::CustomCallAttrs>().custom_call_target;
  const auto name = hlo::lapack_name(target);
  if (!name || !is_expanded(name->routine)) return "";
  if (wanted != nullptr && !wanted(target)) return "";
  std::vector<const Shape*> operands;
  for (InstructionId id : instruction.operands) operands.push_back(&computation.at(id).shape);
  return hlo::check_lapack_call(instruction, operands).ok() ? name->routine : "";
}

// f32[2,3,m,n] as f32[6,m,n].
Shape flat(const Shape& shape, int64_t batch_rank) {
  std::vector<int64_t> sizes = {1};
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (d < batch_rank) {
      sizes[0] *= shape.dimension(d);
    } else {
      sizes.push_back(shape.dimension(d));
    }
  }
  return {shape.dtype(), std::move(sizes)};
}

std::vector<Shape> results_of(const Instruction& call) {
  return call.shape.is_tuple() ? call.shape.elements() : std::vector<Shape>{call.shape};
}

Problem problem_of(const Loops& loops, const hlo::Computation& computation,
                   const Instruction& call) {
  Problem problem{.config = call.extras->backend_config};
  const int64_t batch = computation.at(call.operands[0]).shape.rank() - loops.matrix_rank;
  for (InstructionId id : call.operands)
    problem.operands.push_back(flat(computation.at(id).shape, batch));
  for (const Shape& result : results_of(call)) problem.results.push_back(flat(result, batch));
  return problem;
}

// Equal problems have equal keys.
std::string key_of(std::string_view routine, const Problem& problem) {
  std::string key = base::cat(routine, problem.config);
  for (const Shape& shape : problem.operands) base::append(key, " ", shape);
  for (const Shape& shape : problem.results) base::append(key, " ", shape);
  return key;
}

// The computations of the loops that a module needs, by the key of their problem.
using Written = std::map<std::string, ComputationId, std::less<>>;

// Writes one call with older ops.
class Expansion {
 public:
  Expansion(ModuleRebuilder& into, Emitter& emit, const Instruction& call)
      : into_(into), emit_(emit), call_(call) {}

  // errors   for options that no LAPACK has
  InstructionId run(std::string_view routine) {
    if (routine == "trsm") return solve();
    if (routine == "potrf") return cholesky();
    if (routine == "geqrf") return renamed("Qr");
    return renamed("ProductOfElementaryHouseholderReflectors");
  }

  // A call of the loops for the problem.
  InstructionId run(const Problem& problem, ComputationId loops) {
    std::vector<InstructionId> operands, elements;
    for (size_t i = 0; i < problem.operands.size(); ++i)
      operands.push_back(reshape(call_.operands[i], problem.operands[i]));
    const ComputationId callee = into_[loops];
    const InstructionId result = emit_.op(Opcode::kCall, into_.into().at(callee).result_shape(),
                                          std::move(operands), hlo::CallAttrs(), {callee});
    for (const Shape& shape : results_of(call_)) {
      const auto number = static_cast<int64_t>(elements.size());
      elements.push_back(reshape(emit_.element(result, number), plain(shape)));
    }
    if (!call_.shape.is_tuple()) return elements[0];
    return emit_.tuple(std::move(elements));
  }

 private:
  // With a scalar after the matrices it solves for b times that scalar.
  InstructionId solve() {
    const char transposed = option("trans_x");
    hlo::TriangularSolveAttrs attrs{.left_side = option("side") == 'L',
                                    .lower = option("uplo") == 'L',
                                    .unit_diagonal = option("diag") == 'U'};
    if (transposed == 'T') attrs.transpose_a = hlo::TransposeA::kTranspose;
    if (transposed == 'C') attrs.transpose_a = hlo::TransposeA::kAdjoint;
    const Shape shape = plain(call_.shape);
    InstructionId b = call_.operands[1];
    if (call_.operands.size() == 3) {
      const InstructionId alpha =
          emit_.op(Opcode::kBroadcast, shape, {call_.operands[2]}, hlo::DimensionsAttrs());
      b = emit_.op(Opcode::kMultiply, shape, {b, alpha});
    }
    return emit_.op(Opcode::kTriangularSolve, shape, {call_.operands[0], b}, attrs);
  }

  // The other triangle is the operand's, as LAPACK leaves it.
  InstructionId cholesky() {
    const bool lower = option("uplo") == 'L';
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

  [[nodiscard]] char option(std::string_view name) const {
    return Problem{.config = call_.extras->backend_config}.option(name);
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

  ModuleRebuilder& into_;
  Emitter& emit_;
  const Instruction& call_;
};

// A factorisation of matrices without elements: matrix results are identities, as LAPACK's u and
// v^H; the others are zeros.
hlo::Module empty_module(const Problem& problem) {
  lapack::Writer writer;
  lapack::Scope main(writer);
  lapack::Arrays results;
  for (const Shape& shape : problem.operands) main.parameter(shape);
  for (const Shape& shape : problem.results) {
    const bool is_matrix = shape.rank() == 3;
    const std::vector<int64_t>& sizes = shape.dimensions();
    results.push_back(
        is_matrix ? stretched(convert(lapack::on_diagonal(main, sizes[1], sizes[2]), shape.dtype()),
                              sizes)
                  : main.zeros(shape));
  }
  return std::move(writer).finish(std::move(main).finish(results));
}

StatusOr<hlo::Module> written_as(const Loops& loops, const Problem& problem) {
  const bool is_product = loops.write == lapack::ormqr_module;  // c without reflectors
  if (problem.operands[0].element_count() == 0 && !is_product) return empty_module(problem);
  return loops.write(problem);
}

// Appends the computation of the call, if its routine has loops and they are not here yet.
Status add_loops(const hlo::Computation& computation, const Instruction& call,
                 const CallFilter& wanted, bool unrolls, Written& written, hlo::Module& out) {
  const std::string_view routine = routine_of(computation, call, wanted);
  const Loops* loops = find_loops(routine);
  if (loops == nullptr) return {};
  Problem problem = problem_of(*loops, computation, call);
  problem.unrolls = unrolls;
  const std::string key = key_of(routine, problem);
  if (written.contains(key)) return {};
  HEDDLE_ASSIGN_OR_RETURN(hlo::Module made, written_as(*loops, problem));
  made = in_canonical_order(std::move(made));  // the order must not depend on the C++ compiler
  made.computations[made.entry.value].name = routine;
  written.emplace(key, import(out, std::move(made)));
  return {};
}

// The module after the computations of its calls.
StatusOr<hlo::Module> with_loops(const hlo::Module& module, const CallFilter& wanted, bool unrolls,
                                 Written& written) {
  hlo::Module out;
  for (const hlo::Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions)
      HEDDLE_RETURN_IF_ERROR(add_loops(computation, instruction, wanted, unrolls, written, out));
  }
  out.entry = import(out, module);
  out.name = module.name;
  out.extras = module.extras;
  return out;
}

// The value in place of a call.
InstructionId expanded(ModuleRebuilder& into, Rebuilder& to, InstructionId i,
                       std::string_view routine, const Written& written) {
  const Instruction call = to.mapped(i);
  Emitter emit(to.builder(), call);
  Expansion expansion(into, emit, call);
  const Loops* loops = find_loops(routine);
  if (loops == nullptr) return expansion.run(routine);
  const Problem problem = problem_of(*loops, to.from(), to.old(i));
  return expansion.run(problem, written.at(key_of(routine, problem)));
}

}  // namespace

char lapack::Problem::option(std::string_view name) const {
  return static_cast<char>(std::atoi(std::string(hlo::lapack_option(config, name)).c_str()));
}

bool lapack::Problem::flag(std::string_view name) const {
  return hlo::lapack_option(config, name) == "true";
}

bool can_expand(std::string_view target) {
  const auto name = hlo::lapack_name(target);
  return name && is_expanded(name->routine);
}

bool has_lapack(const hlo::Module& module, const CallFilter& wanted) {
  return std::ranges::any_of(module.computations, [&](const hlo::Computation& computation) {
    return std::ranges::any_of(computation.instructions, [&](const Instruction& instruction) {
      return !routine_of(computation, instruction, wanted).empty();
    });
  });
}

StatusOr<hlo::Module> expand_lapack(const hlo::Module& module) {
  return expand_lapack(module, nullptr);
}

StatusOr<hlo::Module> expand_lapack(const hlo::Module& module, const CallFilter& wanted,
                                    bool unrolls) {
  Written written;
  HEDDLE_ASSIGN_OR_RETURN(const hlo::Module from, with_loops(module, wanted, unrolls, written));
  return with_rewritten(from, [&](ModuleRebuilder& into, Rebuilder& to, auto, InstructionId i) {
    const std::string_view routine = routine_of(to.from(), to.old(i), wanted);
    return routine.empty() ? InstructionId() : expanded(into, to, i, routine, written);
  });
}

}  // namespace heddle::transform
