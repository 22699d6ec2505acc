#include "heddle/interpreter/evaluate.h"

#include <new>
#include <stdexcept>

#include "heddle/base/located_status.h"
#include "heddle/interpreter/internal/plan.h"
#include "heddle/interpreter/internal/run.h"
#include "heddle/interpreter/internal/sizes.h"

namespace heddle::interpreter {

using namespace hlo;

namespace {

std::string parameter_name(const Computation& computation, size_t number) {
  const std::string& name = computation.at(computation.parameters[number]).name;
  return name.empty() ? base::cat("parameter ", number)
                      : base::cat("parameter ", number, ", ", name, ",");
}

Status check_arguments(const Module& module, const std::vector<Literal>& arguments) {
  const Computation& entry = module.entry_computation();
  if (arguments.size() != entry.parameter_count()) {
    return base::invalid_argument("evaluate: ", module.name, " takes ", entry.parameter_count(),
                                  " arguments; got ", arguments.size());
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!stands_for(arguments[i].shape(), entry.parameter_shape(i))) {
      return base::invalid_argument("evaluate: ", parameter_name(entry, i), " of ", module.name,
                                    " is ", to_string(entry.parameter_shape(i)),
                                    "; its argument is ", to_string(arguments[i].shape()));
    }
    if (arguments[i].is_elided()) {
      return base::invalid_argument("evaluate: the argument of ", parameter_name(entry, i), " of ",
                                    module.name, " is elided, {...}; it has no value");
    }
  }
  return {};
}

// The array of most bytes, which the user's line made.
const Instruction* greatest_array(const Module& module) {
  const Instruction* greatest = nullptr;
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      if (instruction.shape.is_tuple() || instruction.shape.is_token()) continue;
      if (!greatest || instruction.shape.byte_size() > greatest->shape.byte_size())
        greatest = &instruction;
    }
  }
  return greatest;
}

Status out_of_memory(const Module& module) {
  const std::string what = base::cat("evaluate: ", module.name, " needs more memory than there is");
  const Instruction* greatest = greatest_array(module);
  if (!greatest) return base::resource_exhausted(what);
  const Status status = base::resource_exhausted(what, ": ", greatest->shape, " alone takes ",
                                                 greatest->shape.byte_size(), " bytes");
  return greatest->at.known() ? with_location(status, to_string(greatest->at)) : status;
}

}  // namespace

StatusOr<Evaluator> Evaluator::prepare(Module module) {
  HEDDLE_ASSIGN_OR_RETURN(auto plan, make_evaluation_plan(std::move(module)));
  return Evaluator(std::move(plan));
}

StatusOr<Literal> Evaluator::run(std::vector<Literal> arguments, const RunOptions& options) const {
  RunContext run{.seed = options.seed};
  return run_within(run, std::move(arguments), options.stop);
}

StatusOr<Literal> Evaluator::run_as(const Seat& seat, std::vector<Literal> arguments,
                                    const RunOptions& options) const {
  RunContext run{.seed = options.seed, .counter = {}, .seat = &seat};
  return run_within(run, std::move(arguments), options.stop);
}

StatusOr<Literal> Evaluator::run_within(RunContext& context, std::vector<Literal> arguments,
                                        const StopToken& stop) const {
  HEDDLE_RETURN_IF_ERROR(check_arguments(plan_->module, arguments));
  if (context.seat == nullptr) HEDDLE_RETURN_IF_ERROR(plan_->alone);
  try {
    EvaluationRun run(*plan_, context, stop);
    Literal result;
    HEDDLE_RETURN_IF_ERROR(
        run.call(plan_->module.entry, {arguments.data(), arguments.data()}, result));
    return result;
  } catch (const std::bad_alloc&) {
    return out_of_memory(plan_->module);
  } catch (const std::length_error&) {  // a std::vector that could never be that long
    return out_of_memory(plan_->module);
  }
}

const Module& Evaluator::module() const { return plan_->module; }

StatusOr<Literal> evaluate(const Module& module, std::vector<Literal> arguments) {
  HEDDLE_ASSIGN_OR_RETURN(Evaluator evaluator, Evaluator::prepare(module));
  return evaluator.run(std::move(arguments));
}

}  // namespace heddle::interpreter
