#include "heddle/tests/laws/derivative_programs.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "heddle/base/text/strings.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/runtime/transfer.h"
#include "heddle/tests/laws/derivative_checks.h"
#include "heddle/transform/derivatives.h"
#include "heddle/transform/lower.h"

namespace heddle::laws {
namespace {

constexpr size_t kArguments = 3;

std::vector<Shape> parameters_of(const hlo::Module& module) {
  std::vector<Shape> out;
  const hlo::Computation& entry = module.entry_computation();
  for (size_t i = 0; i < entry.parameter_count(); ++i) out.push_back(entry.parameter_shape(i));
  return out;
}

double inner(const Literal& a, const Literal& b) {
  double sum = 0;
  for (size_t i = 0; i < a.values<double>().size(); ++i)
    sum += a.values<double>()[i] * b.values<double>()[i];
  return sum;
}

}  // namespace

StatusOr<SecondOrder> second_order(const LoopProgram& program, int seed) {
  SecondOrder out;
  out.results = program.module.entry_computation().result_shape().elements().size();
  out.has_reverse = !program.has_while;
  HEDDLE_ASSIGN_OR_RETURN(const hlo::Module forward,
                          transform::jvp(program.module, {true, true, true}));
  const std::vector<bool> arguments(2 * kArguments, true), results(2 * out.results, true);
  if (out.has_reverse) {
    HEDDLE_ASSIGN_OR_RETURN(out.module, transform::vjp(forward, arguments, results));
  } else {
    HEDDLE_ASSIGN_OR_RETURN(out.module, transform::jvp(forward, arguments));
  }
  out.arguments = program.arguments;
  std::mt19937_64 engine(static_cast<uint64_t>(seed) + 17);
  std::normal_distribution<double> normal;
  const std::vector<Shape> shapes = parameters_of(out.module);
  for (size_t i = out.arguments.size(); i < shapes.size(); ++i) {
    Literal direction(shapes[i]);
    for (double& each : direction.mutable_values<double>()) each = normal(engine);
    out.arguments.push_back(std::move(direction));
  }
  return out;
}

namespace {

using Leaves = std::vector<Literal>;

StatusOr<Leaves> run_on(runtime::Device& device, const SecondOrder& program) {
  HEDDLE_ASSIGN_OR_RETURN(const hlo::Module lowered, transform::lower(program.module));
  HEDDLE_ASSIGN_OR_RETURN(const std::shared_ptr<runtime::Executable> executable,
                          device.backend().compile(lowered, {}, device));
  std::vector<runtime::BufferPtr> buffers;
  for (const Literal& argument : program.arguments) {
    HEDDLE_ASSIGN_OR_RETURN(buffers.emplace_back(), runtime::to_device(device, argument));
  }
  HEDDLE_ASSIGN_OR_RETURN(const std::vector<runtime::BufferPtr> results,
                          executable->execute(buffers, {}));
  Leaves out;
  for (const runtime::BufferPtr& each : results) {
    HEDDLE_ASSIGN_OR_RETURN(out.emplace_back(), runtime::to_host(*each));
  }
  return out;
}

// What was rounded otherwise on the way is a share of the largest number.
std::string difference_of(const Leaves& have, const Leaves& want) {
  double largest = 1;
  for (const Literal& each : want) {
    for (double number : each.values<double>()) largest = std::max(largest, std::abs(number));
  }
  for (size_t k = 0; k < want.size(); ++k) {
    const auto a = have[k].values<double>(), b = want[k].values<double>();
    for (size_t i = 0; i < b.size(); ++i) {
      if (std::abs(a[i] - b[i]) <= 1e-9 * largest) continue;
      return base::cat("result ", k, " is ", a[i], " at ", i, "; the evaluator gives ", b[i]);
    }
  }
  return "";
}

// Empty, or that <u, J v> is not <J' u, v> in what a run gave.
std::string adjoint_difference(const SecondOrder& program, const Leaves& given) {
  const size_t n = program.results, x = kArguments;
  double forward = 0, backward = 0, size = 1;
  for (size_t i = 0; i < n; ++i) {
    forward += inner(program.arguments[2 * x + n + i], given[n + i]);
    for (double each : given[n + i].values<double>()) size += std::abs(each);
  }
  for (size_t i = 0; i < x; ++i) backward += inner(given[2 * n + x + i], program.arguments[x + i]);
  if (std::abs(forward - backward) <= 1e-9 * size) return "";
  return base::cat("<u, J v> is ", forward, " and <J' u, v> ", backward);
}

}  // namespace

std::string difference_on(runtime::Device& device, const SecondOrder& program) {
  const auto want = interpreter::evaluate(program.module, program.arguments);
  if (!want.ok()) return base::cat(want.status());
  const auto have = run_on(device, program);
  if (!have.ok()) return base::cat(have.status());
  const std::string found = difference_of(*have, leaves_of({*want}));
  return found.empty() && program.has_reverse ? adjoint_difference(program, *have) : found;
}

}  // namespace heddle::laws
