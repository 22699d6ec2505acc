// Collectives, transfers between devices and hosts, and asynchronous forms: held and passed on to backends that have several devices.
// Their types are believed after the checks that are cheap and certain.
#include "heddle/hlo/ops/region.h"
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

StatusOr<Shape> infer_same(const InferArgs& in) { return check_declared(in, types_of_operands(in)); }

// A combiner takes one accumulator and one value for each operand.
Status check_combiner(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_at_least(in, 1));
  HEDDLE_RETURN_IF_ERROR(check_callee(in, 0, "to_apply"));
  size_t parameters = in.called()[0]->parameter_count();
  if (parameters == 2 || parameters == 2 * in.size()) return {};
  return in.error("to_apply takes ", parameters, " parameters; must take 2");
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
  bool like = part != nullptr && part->is_array() && part->rank() == in[i].rank() && part->dtype() == in[i].dtype();
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

// With dimensions={d} one array is split and joined along d: as many elements. Without, each operand goes to one device.
StatusOr<Shape> infer_all_to_all(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_at_least(in, 1));
  HEDDLE_RETURN_IF_ERROR(check_arrays(in));
  const Dims& dims = in.attrs<CollectiveAttrs>().dimensions;
  if (dims.empty()) return *in.declared();
  HEDDLE_RETURN_IF_ERROR(check_one_dimension(in, dims, in[0].rank()));
  return check_declared(in, types_of_operands(in));
}

StatusOr<Shape> infer_ragged_all_to_all(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_arrays(in));
  return check_declared(in, in[1]);
}

// The form of four operands writes operand 0 into operand 1.
StatusOr<Shape> infer_permute(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_at_least(in, 1));
  if (in.attrs<CollectivePermuteAttrs>().slice_sizes.empty()) return infer_same(in);
  return *in.declared();
}

// A start gives a tuple that only the matching done takes apart.
StatusOr<Shape> infer_start(const InferArgs& in) {
  if (in.declared()->is_tuple()) return *in.declared();
  return in.error("result is declared as ", *in.declared(), "; must be a tuple of operands and results");
}

// The result stands second in what the start gave.
StatusOr<Shape> infer_done(const InferArgs& in) {
  if (in[0].is_tuple() && in[0].element_shapes() >= 2) return check_declared(in, in[0].element(1));
  return in.error("operand 0 is ", in[0], "; must be what a start gives");
}

StatusOr<Shape> infer_copy_start(const InferArgs& in) {
  const Shape& result = *in.declared();
  bool fits = result.is_tuple() && result.element_shapes() >= 2 && same_type(result.element(0), in[0]) &&
              same_type(result.element(1), in[0]);
  if (fits) return result;
  return in.error("result is declared as ", result, "; must be a tuple of twice ", in[0], " and a context");
}

StatusOr<Shape> infer_copy_done(const InferArgs& in) {
  if (in[0].is_tuple() && in[0].element_shapes() >= 1) return check_declared(in, in[0].element(0));
  return in.error("operand 0 is ", in[0], "; must be what a copy-start gives");
}

Status check_token(const InferArgs& in, size_t i) {
  if (in[i].is_token()) return {};
  return in.error("operand ", i, " is ", in[i], "; must be a token");
}

StatusOr<Shape> infer_send(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_token(in, 1));
  return infer_start(in);
}

StatusOr<Shape> infer_recv(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_token(in, 0));
  return infer_start(in);
}

StatusOr<Shape> infer_token_result(const InferArgs& in) { return check_declared(in, Shape::token()); }

StatusOr<Shape> infer_outfeed(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_token(in, 1));
  return infer_token_result(in);
}

StatusOr<Shape> infer_first(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_at_least(in, 1));
  return check_declared(in, in[0]);
}

// async-start: ((operands), result, state..); newest form: operands that come later are not in it.
StatusOr<Shape> infer_async_update(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_at_least(in, 1));
  return infer_start(in);
}

constexpr const char* kDevices = "is not evaluated by the interpreter: it runs on one device";
constexpr const char* kHost = "is not evaluated by the interpreter: there is no host program to talk to";
constexpr const char* kAsync = "is not evaluated by the interpreter yet; run the synchronous form";

}  // namespace

#define HEDDLE_DEVICE_OP(enumerator, rule, reason) \
  const OpDef enumerator##Def = unevaluated(Opcode::enumerator, {}, rule, reason)

HEDDLE_DEVICE_OP(kAllReduce, infer_all_reduce, kDevices);
HEDDLE_DEVICE_OP(kAllReduceStart, infer_all_reduce, kDevices);
HEDDLE_DEVICE_OP(kAllReduceDone, infer_same, kDevices);
HEDDLE_DEVICE_OP(kReduceScatter, infer_reduce_scatter, kDevices);
HEDDLE_DEVICE_OP(kAllGather, infer_all_gather, kDevices);
HEDDLE_DEVICE_OP(kAllGatherStart, infer_start, kDevices);
HEDDLE_DEVICE_OP(kAllGatherDone, infer_done, kDevices);
HEDDLE_DEVICE_OP(kAllToAll, infer_all_to_all, kDevices);
HEDDLE_DEVICE_OP(kRaggedAllToAll, infer_ragged_all_to_all, kDevices);
HEDDLE_DEVICE_OP(kCollectiveBroadcast, infer_same, kDevices);
HEDDLE_DEVICE_OP(kCollectiveReduce, believe, kDevices);
HEDDLE_DEVICE_OP(kCollectivePermute, infer_permute, kDevices);
HEDDLE_DEVICE_OP(kCollectivePermuteStart, infer_start, kDevices);
HEDDLE_DEVICE_OP(kCollectivePermuteDone, infer_done, kDevices);
HEDDLE_DEVICE_OP(kSend, infer_send, kHost);
HEDDLE_DEVICE_OP(kSendDone, infer_token_result, kHost);
HEDDLE_DEVICE_OP(kRecv, infer_recv, kHost);
HEDDLE_DEVICE_OP(kRecvDone, infer_start, kHost);
HEDDLE_DEVICE_OP(kInfeed, infer_recv, kHost);
HEDDLE_DEVICE_OP(kOutfeed, infer_outfeed, kHost);
HEDDLE_DEVICE_OP(kAsyncStart, infer_start, kAsync);
HEDDLE_DEVICE_OP(kAsyncUpdate, infer_async_update, kAsync);
HEDDLE_DEVICE_OP(kAsyncDone, infer_done, kAsync);
HEDDLE_DEVICE_OP(kCopyStart, infer_copy_start, kAsync);
HEDDLE_DEVICE_OP(kCopyDone, infer_copy_done, kAsync);
HEDDLE_DEVICE_OP(kDomain, infer_first, "is not evaluated by the interpreter yet: it marks where shardings change");
#undef HEDDLE_DEVICE_OP

}  // namespace heddle::hlo
