// Which rule each op has. A switch without a default: an op that is left out is a warning that CI
// makes an error.
#include "heddle/hlo/batching/internal/rules.h"
#include "heddle/hlo/dimensions.h"

namespace heddle::hlo {

Dims BatchArgs::sizes(size_t i) const {
  Dims sizes = x[i].sizes();
  if (is_batched(i)) sizes.erase(sizes.begin());
  return sizes;
}
int64_t BatchArgs::rank(size_t i) const { return x[i].rank() - (is_batched(i) ? 1 : 0); }
Value BatchArgs::full(size_t i) const { return is_batched(i) ? x[i] : in_each_lane(x[i], size); }
Values BatchArgs::all_full() const {
  Values out;
  for (size_t i = 0; i < x.size(); ++i) out.push_back(full(i));
  return out;
}
Values BatchArgs::again(const Values& operands) const { return again(operands, of.attrs); }
Values BatchArgs::again(const Values& operands, Attrs attrs) const {
  const Shape shape = with_lanes(of.shape, size);
  const Value made = graph.op(of.opcode, operands, std::move(attrs), of.called, &shape);
  if (!of.extras->frontend_attributes.empty())  // another vmap's axis; a name
    graph.with_frontend_attributes(made, of.extras->frontend_attributes);
  return made.shape().is_tuple() ? graph.elements(made) : Values{made};
}

std::string_view together_along(const Instruction& instruction) {
  return frontend_attribute(instruction, kTogetherAttribute);
}

Shape with_lanes(const Shape& shape, int64_t size) {
  if (shape.is_tuple()) {
    std::vector<Shape> elements;
    for (const Shape& each : shape.elements()) elements.push_back(with_lanes(each, size));
    return Shape::tuple(std::move(elements));
  }
  if (!shape.is_array()) return shape;
  Dims sizes = shape.dimensions();
  sizes.insert(sizes.begin(), size);
  return {shape.dtype(), sizes};
}

Value in_each_lane(const Value& x, int64_t size) {
  const Shape shape = x.shape();
  if (!shape.is_array()) return x;
  return broadcast(x, with_lanes(shape, size).dimensions(),
                   consecutive_dimensions(shape.rank(), 1));
}

namespace {

constexpr No kRegion{"it runs computations; transform/batching has its rule"};
constexpr No kLeaf{"it takes no operands, so that all lanes share it"};
constexpr No kHost{"it talks to the host, once for all lanes"};
constexpr No kCompiled{"it is made by a compiler; give the program as it was before"};
constexpr No kDynamic{"sizes of its result are known at run time only, and may differ by lane"};

}  // namespace

Slot<BatchFn> batching_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAbs:
    case Opcode::kAcos:
    case Opcode::kAcosh:
    case Opcode::kAsin:
    case Opcode::kAsinh:
    case Opcode::kAtan:
    case Opcode::kAtanh:
    case Opcode::kCbrt:
    case Opcode::kCeil:
    case Opcode::kClz:
    case Opcode::kCos:
    case Opcode::kCosh:
    case Opcode::kErf:
    case Opcode::kExp:
    case Opcode::kExpm1:
    case Opcode::kFloor:
    case Opcode::kImag:
    case Opcode::kIsFinite:
    case Opcode::kLog:
    case Opcode::kLog1p:
    case Opcode::kLogistic:
    case Opcode::kNegate:
    case Opcode::kNot:
    case Opcode::kPopcnt:
    case Opcode::kReal:
    case Opcode::kRoundAfz:
    case Opcode::kRoundEven:
    case Opcode::kRsqrt:
    case Opcode::kSign:
    case Opcode::kSin:
    case Opcode::kSinh:
    case Opcode::kSqrt:
    case Opcode::kTan:
    case Opcode::kTanh:
    case Opcode::kConvert:
    case Opcode::kReducePrecision:
    case Opcode::kCopy:
    case Opcode::kAdd:
    case Opcode::kAnd:
    case Opcode::kAtan2:
    case Opcode::kComplex:
    case Opcode::kDivide:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kMulhi:
    case Opcode::kMultiply:
    case Opcode::kOr:
    case Opcode::kPower:
    case Opcode::kRemainder:
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
    case Opcode::kSubtract:
    case Opcode::kXor:
    case Opcode::kCompare:
    case Opcode::kStochasticConvert:
    case Opcode::kClamp:
    case Opcode::kSelect: return batch_elementwise;

    case Opcode::kParameter:
    case Opcode::kConstant:
    case Opcode::kIota:
    case Opcode::kPartitionId:
    case Opcode::kReplicaId:
    case Opcode::kRngGetAndUpdateState: return kLeaf;

    case Opcode::kBroadcast: return batch_broadcast;
    case Opcode::kReshape: return batch_reshape;
    case Opcode::kTranspose: return batch_transpose;
    case Opcode::kReverse:
    case Opcode::kConcatenate: return batch_dimensions;
    case Opcode::kSlice: return batch_slice;
    case Opcode::kPad: return batch_pad;
    case Opcode::kDynamicSlice: return batch_dynamic_slice;
    case Opcode::kDynamicUpdateSlice: return batch_dynamic_update_slice;
    case Opcode::kGather: return batch_gather;
    case Opcode::kScatter: return batch_scatter;
    case Opcode::kSort: return batch_sort;
    case Opcode::kGetDimensionSize: return batch_dimension_size;

    // Lanes are one batch dimension more in front of what they take.
    case Opcode::kBitcastConvert:
    case Opcode::kTopK:
    case Opcode::kFft:
    case Opcode::kTriangularSolve:
    case Opcode::kCholesky:
    case Opcode::kOptBarrier:
    case Opcode::kAddDependency: return batch_leading;

    case Opcode::kReduce: return batch_reduce;
    case Opcode::kReduceWindow: return batch_reduce_window;
    case Opcode::kSelectAndScatter: return batch_select_and_scatter;
    case Opcode::kMap: return batch_map;
    case Opcode::kDot: return batch_dot;
    case Opcode::kConvolution: return batch_convolution;

    case Opcode::kRaggedDot:
    case Opcode::kScaledDot:
    case Opcode::kBatchNormTraining:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormGrad:
    case Opcode::kRngBitGenerator: return batch_one_by_one;

    case Opcode::kCustomCall: return batch_custom_call;

    case Opcode::kAllReduce:
    case Opcode::kReduceScatter:
    case Opcode::kAllGather:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectiveReduce:
    case Opcode::kCollectivePermute: return batch_collective;
    case Opcode::kRaggedAllToAll: return batch_ragged_all_to_all;

    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kCall:
    case Opcode::kWhile:
    case Opcode::kConditional:
    case Opcode::kScan: return kRegion;

    case Opcode::kBitcast: return No{"it reads memory as another type; use reshape or transpose"};
    case Opcode::kDynamicReshape:
    case Opcode::kSetDimensionSize: return kDynamic;
    case Opcode::kRng: return No{"its stream is not specified; use random::uniform"};
    case Opcode::kAfterAll: return No{"it takes tokens, of which lanes have one in common"};

    case Opcode::kSend:
    case Opcode::kSendDone:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
    case Opcode::kInfeed:
    case Opcode::kOutfeed: return kHost;

    case Opcode::kFusion:
    case Opcode::kAllReduceStart:
    case Opcode::kAllReduceDone:
    case Opcode::kAllGatherStart:
    case Opcode::kAllGatherDone:
    case Opcode::kCollectivePermuteStart:
    case Opcode::kCollectivePermuteDone:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
    case Opcode::kCopyStart:
    case Opcode::kCopyDone:
    case Opcode::kDomain:
    case Opcode::kShuffle: return kCompiled;
  }
  return No{"it is not an op"};
}

}  // namespace heddle::hlo
