// Which rule each op has. A switch without a default: an op that is left out is a warning that CI
// makes an error.
#include "heddle/hlo/calls/lapack.h"
#include "heddle/hlo/derivatives/internal/rules.h"

namespace heddle::hlo {
namespace {

constexpr No kNotLinear{"it is not linear"};
constexpr No kInItsPlace{"it is transposed where it stands, by transform/derivatives"};
constexpr const char* kMadeByCompiler =
    "it is made by a compiler; give the program as it was before";

Derivative steps() { return {jvp_of_zero, kNotLinear}; }
Derivative no(const char* why) { return {No{why}, No{why}}; }
constexpr const char* kRunsComputations =
    "it runs computations; transform/derivatives has its rules";
Derivative region() { return no(kRunsComputations); }

}  // namespace

const Computation& JvpArgs::called(size_t which) const {
  return graph.writer().module().at(of.called[which]);
}
Value JvpArgs::full_dx(size_t i) const { return dx[i] ? dx[i] : graph.zeros(x[i].shape()); }
Value JvpArgs::again(const Values& operands) const {
  return graph.op(of.opcode, operands, of.attrs, of.called, &of.shape);
}

bool TransposeArgs::is_linear(size_t i) const { return x[i].is_absent(); }
const Computation& TransposeArgs::called(size_t which) const {
  return graph.writer().module().at(of.called[which]);
}

Value add(const Value& a, const Value& b) { return a ? (b ? a + b : a) : b; }

Derivative derivative_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAbs:
    case Opcode::kAcos:
    case Opcode::kAcosh:
    case Opcode::kAsin:
    case Opcode::kAsinh:
    case Opcode::kAtan:
    case Opcode::kAtanh:
    case Opcode::kCbrt:
    case Opcode::kCos:
    case Opcode::kCosh:
    case Opcode::kErf:
    case Opcode::kExp:
    case Opcode::kExpm1:
    case Opcode::kLog:
    case Opcode::kLog1p:
    case Opcode::kLogistic:
    case Opcode::kRsqrt:
    case Opcode::kSign:
    case Opcode::kSin:
    case Opcode::kSinh:
    case Opcode::kSqrt:
    case Opcode::kTan:
    case Opcode::kTanh: return {jvp_unary, kNotLinear};
    case Opcode::kAddDependency:
    case Opcode::kImag:
    case Opcode::kNegate:
    case Opcode::kReal: return {jvp_unary, transpose_elementwise};
    case Opcode::kReducePrecision:
    case Opcode::kCopy:
    case Opcode::kOptBarrier: return {jvp_linear, transpose_elementwise};
    case Opcode::kConvert: return {jvp_convert, transpose_elementwise};

    case Opcode::kCeil:
    case Opcode::kFloor:
    case Opcode::kRoundAfz:
    case Opcode::kRoundEven:
    case Opcode::kClz:
    case Opcode::kIsFinite:
    case Opcode::kNot:
    case Opcode::kPopcnt:
    case Opcode::kAnd:
    case Opcode::kMulhi:
    case Opcode::kOr:
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
    case Opcode::kXor:
    case Opcode::kCompare:
    case Opcode::kStochasticConvert:
    case Opcode::kBitcastConvert:
    case Opcode::kParameter:
    case Opcode::kConstant:
    case Opcode::kIota:
    case Opcode::kPartitionId:
    case Opcode::kReplicaId:
    case Opcode::kGetDimensionSize:
    case Opcode::kRngBitGenerator:
    case Opcode::kRngGetAndUpdateState:
    case Opcode::kAfterAll: return steps();

    case Opcode::kAdd:
    case Opcode::kSubtract:
    case Opcode::kMultiply:
    case Opcode::kDivide: return {jvp_binary, transpose_elementwise};
    case Opcode::kAtan2:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kPower:
    case Opcode::kRemainder: return {jvp_binary, kNotLinear};
    case Opcode::kComplex: return {jvp_complex, transpose_elementwise};
    case Opcode::kClamp: return {jvp_clamp, kNotLinear};
    case Opcode::kSelect: return {jvp_select, transpose_elementwise};

    case Opcode::kBroadcast:
    case Opcode::kReshape:
    case Opcode::kTranspose:
    case Opcode::kReverse:
    case Opcode::kConcatenate:
    case Opcode::kSlice:
    case Opcode::kPad: return {jvp_linear, transpose_movement};
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice: return {jvp_linear, transpose_dynamic};
    case Opcode::kGather: return {jvp_linear, transpose_gather};
    case Opcode::kScatter: return {jvp_scatter, transpose_scatter};
    case Opcode::kSort: return {jvp_sort, kNotLinear};
    case Opcode::kTopK: return {jvp_topk, kNotLinear};

    case Opcode::kReduce: return {jvp_reduce, transpose_reduce};
    case Opcode::kReduceWindow: return {jvp_reduce_window, transpose_reduce_window};
    case Opcode::kSelectAndScatter: return {jvp_select_and_scatter, transpose_select_and_scatter};
    case Opcode::kDot: return {jvp_bilinear, transpose_dot};
    case Opcode::kConvolution: return {jvp_bilinear, transpose_convolution};
    case Opcode::kFft: return {jvp_linear, transpose_fft};
    case Opcode::kTriangularSolve: return {jvp_triangular_solve, transpose_triangular_solve};
    case Opcode::kCholesky: return {jvp_cholesky, kNotLinear};

    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kCall:
    case Opcode::kWhile:
    case Opcode::kConditional:
    case Opcode::kScan: return region();

    case Opcode::kBitcast: return no("it reads memory as another type; use reshape or transpose");
    case Opcode::kDynamicReshape:
    case Opcode::kSetDimensionSize: return no("sizes of its result are known at run time only");
    case Opcode::kMap:
      return {No{kRunsComputations}, No{"it applies a function of the program's to scalars"}};
    case Opcode::kRaggedDot: return {jvp_ragged_dot, transpose_ragged_dot};
    case Opcode::kScaledDot: return {jvp_scaled_dot, transpose_scaled_dot};
    case Opcode::kBatchNormTraining:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormGrad: return {jvp_batch_norm, kNotLinear};
    case Opcode::kRng: return no("its stream is not specified; use random::uniform");
    case Opcode::kCustomCall: return no("what it computes is not known");

    case Opcode::kAllReduce:
    case Opcode::kReduceScatter:
    case Opcode::kAllGather:
    case Opcode::kAllToAll: return {jvp_together, transpose_together};
    case Opcode::kCollectivePermute: return {jvp_together, transpose_permute};
    case Opcode::kCollectiveBroadcast: return {jvp_together, transpose_broadcast_together};
    case Opcode::kRaggedAllToAll: return {jvp_ragged_all_to_all, transpose_ragged_all_to_all};
    case Opcode::kCollectiveReduce: return {jvp_together, transpose_collective_reduce};
    case Opcode::kSend:
    case Opcode::kSendDone:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
    case Opcode::kInfeed:
    case Opcode::kOutfeed: return no("it talks to the host");
    case Opcode::kAllReduceStart:
    case Opcode::kAllReduceDone:
    case Opcode::kAllGatherStart:
    case Opcode::kAllGatherDone:
    case Opcode::kCollectivePermuteStart:
    case Opcode::kCollectivePermuteDone:
    case Opcode::kDomain:
    case Opcode::kFusion:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
    case Opcode::kCopyStart:
    case Opcode::kCopyDone:
    case Opcode::kShuffle: return no(kMadeByCompiler);
  }
  return no("it is not an op");
}

namespace {

Derivative of_custom_call(std::string_view target) {
  if (const auto lapack = lapack_name(target)) {
    if (has_jvp_of_lapack(lapack->routine)) return {jvp_lapack, kNotLinear};
    return no("the derivative of this routine of LAPACK is not known");
  }
  if (target == "Sharding") return {jvp_together, transpose_together};
  if (target == "SPMDFullToShardShape" || target == "SPMDShardToFullShape")
    return {jvp_together, kInItsPlace};
  return derivative_of(Opcode::kCustomCall);
}

}  // namespace

Derivative derivative_of(const Instruction& instruction) {
  if (instruction.opcode == Opcode::kCustomCall)
    return of_custom_call(instruction.attrs.get<CustomCallAttrs>().custom_call_target);
  if (instruction.opcode == Opcode::kCall && !derivative_name(instruction).empty())
    return {jvp_by_name, kNotLinear};
  return derivative_of(instruction.opcode);
}

}  // namespace heddle::hlo
