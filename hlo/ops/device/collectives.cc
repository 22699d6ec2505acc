// Collectives: ops in which devices take part together. One device alone gets its values back;
// several meet where they are evaluated together (interpreter/rendezvous.h). Types are
// believed after the checks that are cheap and certain.
#include <algorithm>

#include "heddle/hlo/ops/control/region.h"
#include "heddle/hlo/ops/control/start_done.h"
#include "heddle/hlo/ops/rules.h"

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

StatusOr<Shape> infer_as_operands(const InferArgs& in) {
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
  return infer_as_operands(in);
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
  if (in.attrs<CollectivePermuteAttrs>().slice_sizes.empty()) return infer_as_operands(in);
  return *in.declared();
}

}  // namespace

const OpDef kAllReduceDef = {Opcode::kAllReduce, {}, kOpaque, infer_all_reduce};
const OpDef kAllReduceStartDef = {Opcode::kAllReduceStart, {}, kOpaque, infer_all_reduce};
const OpDef kAllReduceDoneDef = {Opcode::kAllReduceDone, {}, kOpaque, infer_as_operands};
const OpDef kReduceScatterDef = {Opcode::kReduceScatter, {}, kOpaque, infer_reduce_scatter};
const OpDef kAllGatherDef = {Opcode::kAllGather, {}, kOpaque, infer_all_gather};
const OpDef kAllGatherStartDef = {Opcode::kAllGatherStart, {}, kOpaque, infer_start};
const OpDef kAllGatherDoneDef = {Opcode::kAllGatherDone, {}, kOpaque, infer_done};
const OpDef kAllToAllDef = {Opcode::kAllToAll, {}, kOpaque, infer_all_to_all};
const OpDef kRaggedAllToAllDef = {Opcode::kRaggedAllToAll, {}, kOpaque, infer_ragged_all_to_all};
const OpDef kCollectiveBroadcastDef = {
    Opcode::kCollectiveBroadcast, {}, kOpaque, infer_as_operands};
const OpDef kCollectiveReduceDef = {Opcode::kCollectiveReduce, {}, kOpaque, believe};
const OpDef kCollectivePermuteDef = {Opcode::kCollectivePermute, {}, kOpaque, infer_permute};
const OpDef kCollectivePermuteStartDef = {
    Opcode::kCollectivePermuteStart, {}, kOpaque, infer_start};
const OpDef kCollectivePermuteDoneDef = {Opcode::kCollectivePermuteDone, {}, kOpaque, infer_done};

}  // namespace heddle::hlo
