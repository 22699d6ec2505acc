#include "heddle/transform/lapack/expand.h"

#include <algorithm>
#include <map>
#include <string>

#include "heddle/hlo/calls/lapack.h"
#include "heddle/transform/canonical.h"
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

// Writes one call, whose operands are in the graph, with older ops.
class Expansion {
 public:
  Expansion(hlo::Graph& graph, const Instruction& call) : graph_(graph), call_(call) {}

  // errors   for options that no LAPACK has
  hlo::Value run(std::string_view routine) {
    if (routine == "trsm") return solve();
    if (routine == "potrf") return cholesky();
    if (routine == "geqrf") return renamed("Qr");
    return renamed("ProductOfElementaryHouseholderReflectors");
  }

  // A call of the loops for the problem.
  hlo::Value run(const Problem& problem, ComputationId loops) {
    hlo::Values operands, elements;
    for (size_t i = 0; i < problem.operands.size(); ++i)
      operands.push_back(reshape(operand(i), problem.operands[i].dimensions()));
    const hlo::Values results =
        graph_.op_of_many(Opcode::kCall, operands, hlo::CallAttrs(), {loops});
    const std::vector<Shape> shapes = results_of(call_);
    for (size_t i = 0; i < shapes.size(); ++i)
      elements.push_back(reshape(results[i], shapes[i].dimensions()));
    return call_.shape.is_tuple() ? graph_.tuple(elements) : elements[0];
  }

 private:
  hlo::Value operand(size_t i) { return graph_.wrap(call_.operands[i]); }

  // With a scalar after the matrices it solves for b times that scalar.
  hlo::Value solve() {
    const char transposed = option("trans_x");
    hlo::TriangularSolveAttrs attrs{.left_side = option("side") == 'L',
                                    .lower = option("uplo") == 'L',
                                    .unit_diagonal = option("diag") == 'U'};
    if (transposed == 'T') attrs.transpose_a = hlo::TransposeA::kTranspose;
    if (transposed == 'C') attrs.transpose_a = hlo::TransposeA::kAdjoint;
    const hlo::Value b = call_.operands.size() == 3 ? operand(1) * operand(2) : operand(1);
    const Shape shape = plain(call_.shape);
    return graph_.op(Opcode::kTriangularSolve, {operand(0), b}, attrs, {}, &shape);
  }

  // The other triangle is the operand's, as LAPACK leaves it.
  hlo::Value cholesky() {
    const bool lower = option("uplo") == 'L';
    const hlo::Value a = operand(0);
    const Shape shape = plain(a.shape());
    const hlo::Value factor =
        graph_.op(Opcode::kCholesky, {a}, hlo::CholeskyAttrs{.lower = lower}, {}, &shape);
    const int64_t column = a.rank() - 1, row = column - 1;
    const hlo::Value rows = graph_.iota(a.sizes(), row), columns = graph_.iota(a.sizes(), column);
    const hlo::Value inside = lower ? rows >= columns : rows <= columns;
    const hlo::Value is_nan = (factor != factor) & inside;
    const hlo::Value any_nan = reduce(is_nan, Opcode::kOr, 0, {row, column});
    return graph_.tuple({select(inside, factor, a), convert(any_nan, s32)});
  }

  [[nodiscard]] char option(std::string_view name) const {
    return Problem{.config = call_.extras->backend_config}.option(name);
  }

  // XLA's own call of the same meaning.
  hlo::Value renamed(std::string_view target) {
    hlo::CustomCallAttrs attrs;
    attrs.custom_call_target = target;
    const Shape shape = plain(call_.shape);
    return graph_.op(Opcode::kCustomCall, graph_.wrap(call_.operands), std::move(attrs), {},
                     &shape);
  }

  hlo::Graph& graph_;
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
hlo::Value expanded(const ModuleRebuilder& into, Rebuilder& to, InstructionId i,
                    std::string_view routine, const Written& written) {
  const Instruction call = to.mapped(i);
  Expansion expansion(to.in_place_of(i), call);
  const Loops* loops = find_loops(routine);
  if (loops == nullptr) return expansion.run(routine);
  const Problem problem = problem_of(*loops, to.from(), to.old(i));
  return expansion.run(problem, into[written.at(key_of(routine, problem))]);
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
    return routine.empty() ? hlo::Value() : expanded(into, to, i, routine, written);
  });
}

}  // namespace heddle::transform
