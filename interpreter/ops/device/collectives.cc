// One device alone gets its values back; several meet where they are evaluated together.
#include <algorithm>

#include "heddle/hlo/sharding/device_lists.h"
#include "heddle/interpreter/ops/control/start_done.h"
#include "heddle/interpreter/ops/device/joint_collectives.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

Status needs_devices(const EvalArgs& in, int64_t devices) {
  const std::string count =
      devices > 1 ? base::cat(devices, " devices") : std::string("the devices of a mesh");
  return base::unimplemented(
      to_string(in.instruction.opcode), ": joins ", count,
      ", and the interpreter is one; run it on a backend with as many, or write "
      "the module for one");
}

Status check_alone(const EvalArgs& in) {
  // No groups: all devices, of which there is one.
  const StatusOr<int64_t> size =
      largest_group(in.instruction.attrs.get<CollectiveAttrs>().replica_groups);
  return size.ok() && *size == 1 ? Status() : needs_devices(in, size.ok() ? *size : 0);
}

std::vector<Literal> taken(EvalArgs& in) {
  return {std::make_move_iterator(in.operands.begin()), std::make_move_iterator(in.operands.end())};
}

// The value where it is of the result's type. Types that grow or shrink tell of several devices,
// where groups do not.
StatusOr<Literal> as_result(const EvalArgs& in, Literal value) {
  if (same_type(value.shape(), in.result())) return value;
  return base::unimplemented(to_string(in.instruction.opcode), ": result is declared as ",
                             in.result(), "; of one device it is ", value.shape(),
                             ", and the interpreter is one; run it on a backend with several");
}

// What a device has from its group; from one of its own: its operands.
StatusOr<Literal> evaluate_group(EvalArgs& in) {
  if (seat_of(in) != nullptr) return evaluate_jointly(in);
  HEDDLE_RETURN_IF_ERROR(check_alone(in));
  if (in.result().is_tuple() && in.size() == 1 && !in[0].shape().is_tuple())
    return as_result(in, Literal::tuple(taken(in)));
  return as_result(in, bundled(taken(in)));
}

// The same for the start of an asynchronous pair: (operands, results, contexts..).
StatusOr<Literal> start_group(EvalArgs& in) {
  if (seat_of(in) != nullptr) return start_jointly(in);
  HEDDLE_RETURN_IF_ERROR(check_alone(in));
  const Literal value = bundled(taken(in));
  return with_contexts(in, {value, value});
}

StatusOr<Literal> evaluate_whole(EvalArgs& in) { return std::move(in.operands[0]); }

// Device 0 gets what is sent to it, or zeros.
StatusOr<Literal> permuted_alone(EvalArgs& in) {
  const auto& attrs = in.attrs<CollectivePermuteAttrs>();
  int64_t last = 0;
  for (const SourceTarget& pair : attrs.source_target_pairs)
    last = std::max({last, pair.source, pair.target});
  if (last > 0) return needs_devices(in, std::min(last, INT64_MAX - 1) + 1);
  if (!attrs.slice_sizes.empty()) {
    return base::unimplemented(
        "collective-permute: the form with slice_sizes, which writes into an operand, is not "
        "evaluated; use the plain form");
  }
  Literal value = bundled(taken(in));
  if (attrs.source_target_pairs.empty()) value = Literal(value.shape());
  return value;
}

StatusOr<Literal> evaluate_permute(EvalArgs& in) {
  if (seat_of(in) != nullptr) return evaluate_jointly(in);
  HEDDLE_ASSIGN_OR_RETURN(Literal value, permuted_alone(in));
  return as_result(in, std::move(value));
}

StatusOr<Literal> evaluate_permute_start(EvalArgs& in) {
  if (seat_of(in) != nullptr) return start_jointly(in);
  const Literal sent = bundled({in.operands.begin(), in.operands.end()});
  HEDDLE_ASSIGN_OR_RETURN(Literal value, permuted_alone(in));
  return with_contexts(in, {sent, std::move(value)});
}

// Slices of rows of the input, each written to its place in the output.
StatusOr<Literal> evaluate_ragged_all_to_all(EvalArgs& in) {
  if (seat_of(in) != nullptr) return evaluate_jointly(in);
  HEDDLE_RETURN_IF_ERROR(check_alone(in));
  Literal out = std::move(in.operands[1]);
  HEDDLE_RETURN_IF_ERROR(
      write_slices(in.operands, 0, static_cast<size_t>(in[2].shape().element_count()), out));
  return out;
}

}  // namespace

const Evaluation kAllReduceEvaluation = {.evaluate = evaluate_group};
const Evaluation kAllReduceStartEvaluation = {.evaluate = evaluate_group};
const Evaluation kAllReduceDoneEvaluation = {.evaluate = evaluate_whole};
const Evaluation kReduceScatterEvaluation = {.evaluate = evaluate_group};
const Evaluation kAllGatherEvaluation = {.evaluate = evaluate_group};
const Evaluation kAllGatherStartEvaluation = {.evaluate = start_group};
const Evaluation kAllGatherDoneEvaluation = {.evaluate = evaluate_done};
const Evaluation kAllToAllEvaluation = {.evaluate = evaluate_group};
const Evaluation kRaggedAllToAllEvaluation = {.evaluate = evaluate_ragged_all_to_all};
const Evaluation kCollectiveBroadcastEvaluation = {.evaluate = evaluate_group};
const Evaluation kCollectiveReduceEvaluation = {.evaluate = evaluate_group};
const Evaluation kCollectivePermuteEvaluation = {.evaluate = evaluate_permute};
const Evaluation kCollectivePermuteStartEvaluation = {.evaluate = evaluate_permute_start};
const Evaluation kCollectivePermuteDoneEvaluation = {.evaluate = evaluate_done};

}  // namespace heddle::interpreter
