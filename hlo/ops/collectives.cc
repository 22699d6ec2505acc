// Collectives: ops in which devices take part together. One device alone gets its values back;
// several meet (rendezvous.h) where they are evaluated together. Types are believed after the
// checks that are cheap and certain.
#include <algorithm>
#include <cstring>

#include "heddle/hlo/internal/device_lists.h"
#include "heddle/hlo/ops/indices.h"
#include "heddle/hlo/ops/joint.h"
#include "heddle/hlo/ops/region.h"
#include "heddle/hlo/ops/starts.h"

namespace heddle::hlo {
namespace {

// One operand: its type. Several: the tuple of their types.
Shape types_of_operands(const InferArgs& in) {
  if (in.size() == 1) return in[0];
  std::vector<Shape> shapes;
  shapes.reserve(in.size());
  for (const Shape* operand : in.operands()) shapes.push_back(*operand);
  return Shape::tuple(std::move(shapes));
}

StatusOr<Shape> infer_same(const InferArgs& in) {
  return check_declared(in, types_of_operands(in));
}

// A combiner takes two scalars of the operands' element type, or the accumulators of all operands
// and then their values, and returns what it accumulates. Its values are computed in its own types,
// so they must be the operands'.
Status check_combiner(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_at_least(in, 1));
  HEDDLE_RETURN_IF_ERROR(check_arrays(in));
  HEDDLE_RETURN_IF_ERROR(check_callee(in, 0, "to_apply"));
  const bool takes_all = in.called()[0]->parameter_count() > 2;
  std::vector<Shape> scalars;
  for (const Shape* operand : in.operands()) {
    scalars.push_back(Shape::scalar(operand->dtype()));
    if (takes_all) continue;
    HEDDLE_RETURN_IF_ERROR(check_takes(in, 0, "to_apply", std::vector<Shape>(2, scalars.back())));
    HEDDLE_RETURN_IF_ERROR(check_returns(in, 0, "to_apply", scalars.back()));
  }
  if (!takes_all) return {};
  HEDDLE_RETURN_IF_ERROR(check_returns(in, 0, "to_apply", Shape::tuple(scalars)));
  std::vector<Shape> both = scalars;
  both.insert(both.end(), scalars.begin(), scalars.end());
  return check_takes(in, 0, "to_apply", both);
}

StatusOr<Shape> infer_all_reduce(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_combiner(in));
  return infer_same(in);
}

// The part of the result that belongs to operand i.
const Shape* part_of_result(const InferArgs& in, size_t i) {
  const Shape& result = *in.declared();
  if (in.size() == 1 && !result.is_tuple()) return &result;
  bool fits = result.is_tuple() && result.element_shapes() == static_cast<int64_t>(in.size());
  return fits ? &result.element(static_cast<int64_t>(i)) : nullptr;
}

// Operand and result differ along `dim` alone, where `large` is a multiple of `small`.
Status check_resized(const InferArgs& in, size_t i, int64_t dim, bool grows) {
  const Shape* part = part_of_result(in, i);
  bool like = part != nullptr && part->is_array() && part->rank() == in[i].rank() &&
              part->dtype() == in[i].dtype();
  for (int64_t d = 0; like && d < in[i].rank(); ++d) {
    int64_t small = grows ? in[i].dimension(d) : part->dimension(d);
    int64_t large = grows ? part->dimension(d) : in[i].dimension(d);
    like = d == dim ? (small == 0 ? large == 0 : large % small == 0) : small == large;
  }
  if (like) return {};
  return in.error("operand ", i, " is ", in[i], " and the result ", *in.declared(),
                  "; must differ along dimension ", dim, " alone, by a whole factor");
}

StatusOr<Shape> infer_resized(const InferArgs& in, bool grows) {
  const Dims& dims = in.attrs<CollectiveAttrs>().dimensions;
  HEDDLE_RETURN_IF_ERROR(check_at_least(in, 1));
  for (size_t i = 0; i < in.size(); ++i) {
    HEDDLE_RETURN_IF_ERROR(check_sized(in, i));
    HEDDLE_RETURN_IF_ERROR(check_one_dimension(in, dims, in[i].rank()));
    HEDDLE_RETURN_IF_ERROR(check_resized(in, i, dims[0], grows));
  }
  return *in.declared();
}

StatusOr<Shape> infer_all_gather(const InferArgs& in) { return infer_resized(in, true); }

StatusOr<Shape> infer_reduce_scatter(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_combiner(in));
  return infer_resized(in, false);
}

// With dimensions={d} one array is split and joined along d: as many elements. Without, each
// operand goes to one device.
StatusOr<Shape> infer_all_to_all(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_at_least(in, 1));
  HEDDLE_RETURN_IF_ERROR(check_arrays(in));
  const Dims& dims = in.attrs<CollectiveAttrs>().dimensions;
  if (dims.empty()) return *in.declared();
  HEDDLE_RETURN_IF_ERROR(check_one_dimension(in, dims, in[0].rank()));
  return check_declared(in, types_of_operands(in));
}

// Operands: input, output, then the offsets in the input, sizes, offsets in the output and sizes
// received, one for each slice.
StatusOr<Shape> infer_ragged_all_to_all(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_arrays(in));
  for (size_t i = 2; i < in.size(); ++i) {
    HEDDLE_RETURN_IF_ERROR(check_rank(in, i, in[2].rank()));
    if (is_integer(in[i].dtype()) && same_dimensions(in[i], in[2])) continue;
    return in.error("operand ", i, " is ", in[i], "; must be of integers, as many as operand 2, ",
                    in[2]);
  }
  const bool rows = in[0].rank() > 0 && in[0].rank() == in[1].rank() &&
                    in[0].dtype() == in[1].dtype() &&
                    std::equal(in[0].dimensions().begin() + 1, in[0].dimensions().end(),
                               in[1].dimensions().begin() + 1);
  if (rows) return check_declared(in, in[1]);
  return in.error("operand 0 is ", in[0], " and operand 1 ", in[1],
                  "; must differ along dimension 0 alone");
}

// The form of four operands writes operand 0 into operand 1.
StatusOr<Shape> infer_permute(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_at_least(in, 1));
  if (in.attrs<CollectivePermuteAttrs>().slice_sizes.empty()) return infer_same(in);
  return *in.declared();
}

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
  if (this_seat() != nullptr) return evaluate_jointly(in);
  HEDDLE_RETURN_IF_ERROR(check_alone(in));
  if (in.result().is_tuple() && in.size() == 1 && !in[0].shape().is_tuple())
    return as_result(in, Literal::tuple(taken(in)));
  return as_result(in, bundled(taken(in)));
}

// The same for the start of an asynchronous pair: (operands, results, contexts..).
StatusOr<Literal> start_group(EvalArgs& in) {
  if (this_seat() != nullptr) return start_jointly(in);
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
  if (this_seat() != nullptr) return evaluate_jointly(in);
  HEDDLE_ASSIGN_OR_RETURN(Literal value, permuted_alone(in));
  return as_result(in, std::move(value));
}

StatusOr<Literal> evaluate_permute_start(EvalArgs& in) {
  if (this_seat() != nullptr) return start_jointly(in);
  const Literal sent = bundled({in.operands.begin(), in.operands.end()});
  HEDDLE_ASSIGN_OR_RETURN(Literal value, permuted_alone(in));
  return with_contexts(in, {sent, std::move(value)});
}

// Slices of rows of the input, each written to its place in the output.
StatusOr<Literal> evaluate_ragged_all_to_all(EvalArgs& in) {
  if (this_seat() != nullptr) return evaluate_jointly(in);
  HEDDLE_RETURN_IF_ERROR(check_alone(in));
  const std::vector<int64_t> from = all_indices(in[2]), sizes = all_indices(in[3]),
                             to = all_indices(in[4]);
  const int64_t rows_in = in[0].shape().dimension(0), rows_out = in[1].shape().dimension(0);
  Literal out = std::move(in.operands[1]);
  const int64_t row_bytes = out.byte_size() / std::max<int64_t>(1, rows_out);
  for (size_t i = 0; i < from.size(); ++i) {
    const bool inside = sizes[i] >= 0 && from[i] >= 0 && to[i] >= 0 &&
                        from[i] <= rows_in - sizes[i] && to[i] <= rows_out - sizes[i];
    if (!inside) {
      return base::invalid_argument("ragged-all-to-all: slice ", i, " has ", sizes[i],
                                    " rows from ", from[i], " to ", to[i], "; must lie in ",
                                    rows_in, " rows of the input and ", rows_out, " of the output");
    }
    if (sizes[i] * row_bytes == 0) continue;
    std::memcpy(out.mutable_bytes() + to[i] * row_bytes, in[0].bytes() + from[i] * row_bytes,
                static_cast<size_t>(sizes[i] * row_bytes));
  }
  return out;
}

// Of a group of one it is the operand.
StatusOr<Literal> evaluate_collective_reduce(EvalArgs& in) {
  const ReplicaGroups& groups = in.instruction.attrs.get<CollectiveAttrs>().replica_groups;
  const StatusOr<int64_t> size = largest_group(groups);
  const Seat* seat = this_seat();
  const bool everyone = groups == ReplicaGroups() && seat != nullptr && seat->devices.total() > 1;
  if (size.ok() && *size == 1 && !everyone) return as_result(in, bundled(taken(in)));
  return base::unimplemented(
      "collective-reduce: joins several devices, and what it gives to each is not known to Heddle; "
      "use all-reduce");
}

}  // namespace

#define HEDDLE_COLLECTIVE(enumerator, shape_rule, value_rule)  \
  const OpDef enumerator##Def = {.opcode = Opcode::enumerator, \
                                 .operand_names = {},          \
                                 .infer = shape_rule,          \
                                 .evaluate = value_rule}

HEDDLE_COLLECTIVE(kAllReduce, infer_all_reduce, evaluate_group);
HEDDLE_COLLECTIVE(kAllReduceStart, infer_all_reduce, evaluate_group);
HEDDLE_COLLECTIVE(kAllReduceDone, infer_same, evaluate_whole);
HEDDLE_COLLECTIVE(kReduceScatter, infer_reduce_scatter, evaluate_group);
HEDDLE_COLLECTIVE(kAllGather, infer_all_gather, evaluate_group);
HEDDLE_COLLECTIVE(kAllGatherStart, infer_start, start_group);
HEDDLE_COLLECTIVE(kAllGatherDone, infer_done, evaluate_done);
HEDDLE_COLLECTIVE(kAllToAll, infer_all_to_all, evaluate_group);
HEDDLE_COLLECTIVE(kRaggedAllToAll, infer_ragged_all_to_all, evaluate_ragged_all_to_all);
HEDDLE_COLLECTIVE(kCollectiveBroadcast, infer_same, evaluate_group);
HEDDLE_COLLECTIVE(kCollectiveReduce, believe, evaluate_collective_reduce);
HEDDLE_COLLECTIVE(kCollectivePermute, infer_permute, evaluate_permute);
HEDDLE_COLLECTIVE(kCollectivePermuteStart, infer_start, evaluate_permute_start);
HEDDLE_COLLECTIVE(kCollectivePermuteDone, infer_done, evaluate_done);
#undef HEDDLE_COLLECTIVE

}  // namespace heddle::hlo
