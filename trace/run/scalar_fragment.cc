#include "heddle/trace/internal/scalar_fragment.h"

#include <map>

#include "heddle/base/system/of_this_thread.h"
#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/hlo/calls/debug_calls.h"
#include "heddle/trace/error.h"
#include "heddle/trace/public_call.h"
#include "heddle/transform/canonical.h"

namespace heddle::trace_internal {
namespace {

// Nothing would be shown or checked, and silently: backends run such functions in any order, and
// drop what gives no result.
void refuse_debug_calls(std::string_view what, const hlo::Module& function) {
  for (const hlo::Computation& computation : function.computations) {
    for (const hlo::Instruction& instruction : computation.instructions) {
      if (!hlo::is_debug_call(instruction)) continue;
      const std::string_view name = hlo::is_custom(instruction, hlo::kPrintCall)   ? "debug_print"
                                    : hlo::is_custom(instruction, hlo::kCheckCall) ? "debug_check"
                                                                                   : "progress";
      throw Error(base::invalid_argument(name, ": stands in the function of ",
                                         PublicCall::function_or(what),
                                         ", which runs on single elements in any order; look at "
                                         "what goes in and comes out instead"),
                  instruction.at);
    }
  }
}

}  // namespace

Fragment scalar_fragment(std::string_view what, std::span<const Shape> shapes,
                         base::FunctionRef<std::vector<Tensor>(std::span<const Tensor>)> fn) {
  count_trace();
  using Fragments = Recordings<Fragment>;
  const uint64_t place = place_of(what.data(), nullptr, PublicCall::line_or({}));
  Fragments* fragments = Fragments::of_thread();
  const auto last = fragments ? fragments->all_at(place) : nullptr;
  Recorder recorder(what, expected_of(last));
  recorder.set_given_to(PublicCall::function_or(what));
  std::vector<Tensor> parameters;
  for (const Shape& shape : shapes) parameters.push_back(recorder.parameter(shape));
  std::vector<Tensor> results = as_users_code([&] { return fn(parameters); });
  for (const Tensor& result : results) require_result(result);
  const Recorder::Root root = results.size() == 1 ? Recorder::Root::kBare : Recorder::Root::kTuple;
  if (recorder.ends_as_expected(results, what, root))
    return (*last)[recorder.which_was_expected()]->made;
  Traced traced = recorder.finish_as_recorded(results, what, root);
  std::optional<Recording> recording = recorder.recording_of(traced);
  if (!traced.captures.empty()) {
    trace_internal::refuse(
        "its function captures ", to_string(traced.captures[0]),
        "; a function of single elements may use its arguments and C++ numbers only");
  }
  refuse_debug_calls(what, traced.module);
  traced = in_canonical_order(std::move(traced), false);
  auto fragment = std::make_shared<const hlo::Module>(std::move(traced.module));
  if (recording && fragments) fragments->keep(place, {*std::move(recording), fragment});
  return fragment;
}

void require_results(const hlo::Module& function, std::span<const Shape> wanted) {
  const Shape& result = function.entry_computation().result_shape();
  const size_t given = result.is_tuple() ? result.elements().size() : 1;
  if (given != wanted.size()) {
    refuse("its function gives ", given, given == 1 ? " result" : " results", "; must give ",
           wanted.size(), ", one for each operand");
  }
  for (size_t i = 0; i < wanted.size() && i < given; ++i) {
    const Shape& each = result.is_tuple() ? result.elements()[i] : result;
    if (each.is_tuple() || same_type(each, wanted[i])) continue;
    if (each.dtype() == wanted[i].dtype())
      refuse("its function gives ", each, "; must give ", wanted[i]);
    refuse("its function gives ", each, "; must give ", wanted[i], ", cast it with astype(",
           to_string(wanted[i].dtype()), ")");
  }
}

Fragment scalar_computation(hlo::Opcode opcode, DType dtype) {
  using Made = std::map<std::pair<hlo::Opcode, DType>, Fragment>;
  auto* made = base::of_this_thread<Made>();  // null when destructors of globals run
  Fragment own;
  Fragment& fragment = made != nullptr ? (*made)[{opcode, dtype}] : own;
  if (!fragment) {
    hlo::Module module;
    hlo::ComputationBuilder builder(module, std::string(to_string(opcode)));
    hlo::InstructionId a = builder.parameter(Shape::scalar(dtype));
    hlo::InstructionId b = builder.parameter(Shape::scalar(dtype));
    hlo::InstructionId root = value_or_throw(builder.add(opcode, {a, b}), {});
    module.entry = module.add(std::move(builder).finish(root));
    fragment = std::make_shared<const hlo::Module>(std::move(module));
  }
  return fragment;
}

}  // namespace heddle::trace_internal
