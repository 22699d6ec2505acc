#include "heddle/codegen/jit/llvm/internal/arithmetic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/MDBuilder.h"

namespace heddle::cpu {

using llvm::Intrinsic::ID;
namespace in = llvm::Intrinsic;

namespace {

llvm::Value* contract(llvm::Value* value) {
  if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(value))
    instruction->setHasAllowContract(true);
  return value;
}

// Ops that are one intrinsic, of operands of the result's type.
constexpr std::pair<Op, ID> kIntrinsicOps[] = {
    {Op::kMin, in::minimum},       {Op::kMax, in::maximum}, {Op::kSMin, in::smin},
    {Op::kSMax, in::smax},         {Op::kUMin, in::umin},   {Op::kUMax, in::umax},
    {Op::kCopysign, in::copysign}, {Op::kAbs, in::fabs},    {Op::kSqrt, in::sqrt},
    {Op::kFloor, in::floor},       {Op::kCeil, in::ceil},   {Op::kRoundEven, in::roundeven},
    {Op::kRoundAway, in::round},   {Op::kPopcnt, in::ctpop}};

}  // namespace

llvm::Type* ArithmeticEmitter::scalar(Scalar scalar) {
  switch (scalar) {
    case Scalar::kPred: return b_.getInt1Ty();
    case Scalar::kI8: return b_.getInt8Ty();
    case Scalar::kI16: return b_.getInt16Ty();
    case Scalar::kI32: return b_.getInt32Ty();
    case Scalar::kI64: return b_.getInt64Ty();
    case Scalar::kF32: return b_.getFloatTy();
    case Scalar::kF64: return b_.getDoubleTy();
  }
  return nullptr;
}

llvm::Type* ArithmeticEmitter::type(Type type) {
  llvm::Type* one = scalar(type.scalar);
  return type.lanes == 1 ? one : llvm::FixedVectorType::get(one, static_cast<unsigned>(type.lanes));
}

llvm::Type* ArithmeticEmitter::half(Type t) { return type(t)->getWithNewType(b_.getHalfTy()); }

llvm::Type* ArithmeticEmitter::stored(Type t) {
  return type({t.scalar == Scalar::kPred ? Scalar::kI8 : t.scalar, t.lanes});
}

std::vector<llvm::Value*> ArithmeticEmitter::values(std::span<const NodeId> ids) {
  std::vector<llvm::Value*> out;
  for (NodeId id : ids) out.push_back(value(id));
  return out;
}

// x * y + z may become one rounding, but not the sum of two products: which of them were rounded
// would decide what is left where they cancel, as in a complex product.
llvm::Value* ArithmeticEmitter::contract_sum(const Node& node, llvm::Value* sum) {
  const auto args = plan_.args_of(node);
  const bool first = plan_.at(args[0]).op == Op::kMul, second = plan_.at(args[1]).op == Op::kMul;
  return node.imm == 0 && first != second ? contract(sum) : sum;
}

llvm::Value* ArithmeticEmitter::constant(const Node& node) {
  llvm::Type* one = scalar(node.type.scalar);
  llvm::Constant* value;
  if (node.type.scalar == Scalar::kF32) {
    value = llvm::ConstantFP::get(context_,
                                  llvm::APFloat(llvm::APFloat::IEEEsingle(),
                                                llvm::APInt(32, static_cast<uint32_t>(node.imm))));
  } else if (node.type.scalar == Scalar::kF64) {
    value = llvm::ConstantFP::get(context_,
                                  llvm::APFloat(llvm::APFloat::IEEEdouble(),
                                                llvm::APInt(64, static_cast<uint64_t>(node.imm))));
  } else {
    value = llvm::ConstantInt::get(one, static_cast<uint64_t>(node.imm), /*isSigned=*/true);
  }
  if (node.type.lanes == 1) return value;
  return llvm::ConstantVector::getSplat(
      llvm::ElementCount::getFixed(static_cast<unsigned>(node.type.lanes)), value);
}

llvm::Value* ArithmeticEmitter::compare(const Node& node) {
  using P = llvm::CmpInst::Predicate;
  const auto args = plan_.args_of(node);
  const bool is_fp = is_float(plan_.at(args[0]).type.scalar);
  constexpr P kFloat[] = {P::FCMP_OEQ, P::FCMP_UNE, P::FCMP_OLT,
                          P::FCMP_OLE, P::FCMP_OGT, P::FCMP_OGE};
  constexpr P kInteger[] = {P::ICMP_EQ,  P::ICMP_NE,  P::ICMP_SLT, P::ICMP_SLE, P::ICMP_SGT,
                            P::ICMP_SGE, P::ICMP_ULT, P::ICMP_ULE, P::ICMP_UGT, P::ICMP_UGE};
  if (is_fp) return b_.CreateFCmp(kFloat[node.imm], value(args[0]), value(args[1]));
  return b_.CreateICmp(kInteger[node.imm], value(args[0]), value(args[1]));
}

llvm::Value* ArithmeticEmitter::math(const Node& node) {
  const auto args = plan_.args_of(node);
  llvm::Type* one = scalar(node.type.scalar);
  static constexpr const char* kNames[] = {
#define HEDDLE_X(name) #name,
      HEDDLE_MATH_FUNCTIONS(HEDDLE_X)
#undef HEDDLE_X
  };
  const std::string name =
      std::string(kNames[node.imm]) + (node.type.scalar == Scalar::kF32 ? "f" : "");
  std::vector<llvm::Type*> parameters(args.size(), one);
  llvm::FunctionCallee callee =
      module_.getOrInsertFunction(name, llvm::FunctionType::get(one, parameters, false));
  if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee())) {
    function->setDoesNotAccessMemory();
    function->setDoesNotThrow();
  }
  if (node.type.lanes == 1) return b_.CreateCall(callee, values(args));
  llvm::Value* out = llvm::PoisonValue::get(type(node.type));
  for (int32_t lane = 0; lane < node.type.lanes; ++lane) {
    std::vector<llvm::Value*> operands;
    for (NodeId arg : args)
      operands.push_back(b_.CreateExtractElement(value(arg), static_cast<uint64_t>(lane)));
    out = b_.CreateInsertElement(out, b_.CreateCall(callee, operands), static_cast<uint64_t>(lane));
  }
  return out;
}

llvm::Value* ArithmeticEmitter::reduce_lanes(Op fold, Type type, llvm::Value* x) {
  const bool is_fp = is_float(type.scalar);
  const auto reduce = [&](ID id) { return b_.CreateUnaryIntrinsic(id, x); };
  llvm::Value* out = nullptr;
  switch (fold) {
    case Op::kAdd:
      out = is_fp ? b_.CreateFAddReduce(llvm::ConstantFP::getNegativeZero(scalar(type.scalar)), x)
                  : b_.CreateAddReduce(x);
      break;
    case Op::kMul:
      out = is_fp ? b_.CreateFMulReduce(llvm::ConstantFP::get(scalar(type.scalar), 1.0), x)
                  : b_.CreateMulReduce(x);
      break;
    case Op::kMin: return reduce(in::vector_reduce_fminimum);
    case Op::kMax: return reduce(in::vector_reduce_fmaximum);
    case Op::kSMin: return b_.CreateIntMinReduce(x, true);
    case Op::kSMax: return b_.CreateIntMaxReduce(x, true);
    case Op::kUMin: return b_.CreateIntMinReduce(x, false);
    case Op::kUMax: return b_.CreateIntMaxReduce(x, false);
    case Op::kAnd: return b_.CreateAndReduce(x);
    case Op::kOr: return b_.CreateOrReduce(x);
    default: return b_.CreateXorReduce(x);
  }
  if (is_fp) llvm::cast<llvm::Instruction>(out)->setHasAllowReassoc(true);
  return out;
}

// The operand of a shuffle. LLVM would look for one shuffle in place of this one and those that it
// is made of, which takes long where they turn a square.
llvm::Value* ArithmeticEmitter::shuffled(NodeId id) {
  const Node& node = plan_.at(id);
  const bool is_deep = node.op == Op::kShuffle && node.arg_count == 2;
  if (!is_deep || !is_float(node.type.scalar) || plan_.vector_bytes < 32) return value(id);
  return b_.CreateIntrinsic(in::arithmetic_fence, {value(id)->getType()}, {value(id)});
}

// LLVM 19 takes zeros for lanes of a vector that was cut, in shuffles of what is made of them.
llvm::Value* ArithmeticEmitter::extract(const Node& node) {
  const NodeId from = plan_.args_of(node)[0];
  if (plan_.at(from).type.lanes == 1) return value(from);
  llvm::Value* x = value(from);
  if (plan_.at(from).op == Op::kTruncate) x = b_.CreateFreeze(x);
  return b_.CreateExtractElement(x, static_cast<uint64_t>(node.imm));
}

// Operand after operand takes its lanes into the result.
llvm::Value* ArithmeticEmitter::shuffle(const Node& node) {
  const auto args = plan_.args_of(node);
  const auto& lanes = plan_.shuffles[static_cast<size_t>(node.imm)];
  const auto width = static_cast<int>(lanes.size());
  const auto lanes_of = [&](size_t i) { return plan_.at(args[i]).type.lanes; };
  if (lanes_of(0) > 1 && (args.size() == 1 || (args.size() == 2 && lanes_of(0) == lanes_of(1)))) {
    llvm::SmallVector<int, 16> from;
    for (const LaneSource& source : lanes)
      from.push_back(static_cast<int>(source.operand) * lanes_of(0) +
                     static_cast<int>(source.lane));
    if (args.size() == 1) {
      llvm::Value* out = b_.CreateShuffleVector(value(args[0]), from);
      // LLVM 19 crashes where it joins stores of parts of vectors of six lanes and the like.
      const bool is_odd_part =
          width < lanes_of(0) && !std::has_single_bit(static_cast<unsigned>(lanes_of(0)));
      return is_odd_part ? b_.CreateFreeze(out) : out;
    }
    return b_.CreateShuffleVector(shuffled(args[0]), shuffled(args[1]), from);
  }
  llvm::Value* out = llvm::PoisonValue::get(type(node.type));
  for (uint32_t operand = 0; operand < args.size(); ++operand) {
    llvm::Value* from = value(args[operand]);
    if (plan_.at(args[operand]).type.lanes == 1) {
      for (int lane = 0; lane < width; ++lane) {
        if (lanes[static_cast<size_t>(lane)].operand == operand)
          out = b_.CreateInsertElement(out, from, static_cast<uint64_t>(lane));
      }
      continue;
    }
    llvm::SmallVector<int, 16> placed, merged;
    for (int lane = 0; lane < width; ++lane) {
      const LaneSource& source = lanes[static_cast<size_t>(lane)];
      const bool here = source.operand == operand;
      placed.push_back(here ? static_cast<int>(source.lane) : -1);
      merged.push_back(here ? width + lane : lane);
    }
    out = b_.CreateShuffleVector(out, b_.CreateShuffleVector(from, placed), merged);
  }
  return out;
}

// Floats to integers. LLVM would take a vector's lanes one by one, with a branch each.
llvm::Value* ArithmeticEmitter::saturated(const Node& node, llvm::Value* x) {
  const bool has_sign = node.op == Op::kFloatToS;
  llvm::Type* to = type(node.type);
  if (node.type.lanes == 1)
    return b_.CreateIntrinsic(has_sign ? in::fptosi_sat : in::fptoui_sat, {to, x->getType()}, {x});
  const int64_t digits = bits_of(node.type.scalar) - (has_sign ? 1 : 0);
  const int64_t exact = plan_.at(plan_.args_of(node)[0]).type.scalar == Scalar::kF32 ? 24 : 53;
  const double limit = std::ldexp(1.0, static_cast<int>(digits));
  const double below =
      limit - std::ldexp(1.0, static_cast<int>(std::max<int64_t>(digits - exact, 0)));
  const auto constant = [&](double value) { return llvm::ConstantFP::get(x->getType(), value); };
  llvm::Value* least = constant(has_sign ? -limit : 0);
  llvm::Value* number = b_.CreateSelect(b_.CreateFCmpORD(x, x), x, constant(0));
  llvm::Value* within = b_.CreateSelect(b_.CreateFCmpOLT(number, least), least, number);
  within = b_.CreateSelect(b_.CreateFCmpOGT(within, constant(below)), constant(below), within);
  llvm::Value* out = has_sign ? b_.CreateFPToSI(within, to) : b_.CreateFPToUI(within, to);
  if (digits <= exact) return out;
  const auto width = static_cast<unsigned>(bits_of(node.type.scalar));
  const llvm::APInt most =
      has_sign ? llvm::APInt::getSignedMaxValue(width) : llvm::APInt::getMaxValue(width);
  return b_.CreateSelect(b_.CreateFCmpOGE(number, constant(limit)),
                         llvm::ConstantInt::get(to, most), out);
}

// An f32 that is an f16 made wider, as that f16. Null: this function makes it of something else.
llvm::Value* ArithmeticEmitter::half_of(llvm::Value* x) {
  llvm::Type* narrow = x->getType()->getWithNewType(b_.getHalfTy());
  if (auto* constant = llvm::dyn_cast<llvm::Constant>(x)) {
    if (constant->getType()->isVectorTy()) constant = constant->getSplatValue();
    auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
    if (number == nullptr) return nullptr;
    llvm::APFloat half = number->getValueAPF();
    bool is_other = false;
    half.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven, &is_other);
    return is_other ? nullptr : llvm::ConstantFP::get(narrow, half);
  }
  if (!is_made_here(x)) return nullptr;
  if (auto* wide = llvm::dyn_cast<llvm::FPExtInst>(x))
    return wide->getSrcTy() == narrow ? wide->getOperand(0) : nullptr;
  llvm::Value* one = x->getType()->isVectorTy() ? llvm::getSplatValue(x) : nullptr;
  llvm::Value* half = one == nullptr ? nullptr : half_of(one);
  return half == nullptr
             ? nullptr
             : b_.CreateVectorSplat(llvm::cast<llvm::VectorType>(narrow)->getElementCount(), half);
}

bool ArithmeticEmitter::has_half_arithmetic() const {
  const auto has = [&](const char* text) {
    return target_features_.find(text) != std::string::npos;
  };
  return has("+avx512fp16") && !has("-avx512f");
}

bool ArithmeticEmitter::is_made_here(llvm::Value* x) {
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(x);
  return instruction != nullptr && instruction->getFunction() == b_.GetInsertBlock()->getParent();
}

// What is rounded to f16, where the machine computes it of f16 alone: the sum, difference or
// product of two such in f32 rounds to the same. Null: it is computed in f32.
llvm::Value* ArithmeticEmitter::half_arithmetic(llvm::Value* x) {
  auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(x);
  if (!has_half_arithmetic() || binary == nullptr || !is_made_here(x)) return nullptr;
  const auto opcode = binary->getOpcode();
  if (opcode != llvm::Instruction::FAdd && opcode != llvm::Instruction::FSub &&
      opcode != llvm::Instruction::FMul)
    return nullptr;
  llvm::Value* first = half_of(binary->getOperand(0));
  llvm::Value* second = first == nullptr ? nullptr : half_of(binary->getOperand(1));
  return second == nullptr ? nullptr : b_.CreateBinOp(opcode, first, second);
}

// Whether 0 < |x| < least: one comparison of the bits without their sign, less one, which makes
// zero the largest; shifted, since AVX2 compares signed integers alone.
llvm::Value* ArithmeticEmitter::is_small(llvm::Value* x, llvm::Value* least, Type of) {
  const bool is_single = of.scalar == Scalar::kF32;
  llvm::Type* bits = type({is_single ? Scalar::kI32 : Scalar::kI64, of.lanes});
  llvm::Value* shift = llvm::ConstantInt::get(
      bits, is_single ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int64_t>::max());
  const auto rank = [&](llvm::Value* number) {
    llvm::Value* given = b_.CreateBitCast(number, bits);
    return b_.CreateAdd(b_.CreateAdd(given, given), shift);
  };
  return b_.CreateICmpSLT(rank(x), rank(least));
}

// SSE, AVX and NEON divide no vectors of integers. They divide floats. A quotient x / y that is no
// integer is 1 / |y| or more from the next one. Rounding to a float of p bits moves it by |x| / |y|
// 2^-p at most, which is less: |x| is 2^16 at most where p is 24, and 2^32 where it is 53.
llvm::Value* ArithmeticEmitter::divided_integers(const Node& node, llvm::Value* x, llvm::Value* y) {
  const bool is_signed = node.op == Op::kSDiv || node.op == Op::kSRem;
  const bool is_rest = node.op == Op::kSRem || node.op == Op::kURem;
  llvm::Type* type = x->getType();
  if (!node.type.is_divided_as_float() || llvm::isa<llvm::Constant>(y)) {
    if (is_rest) return is_signed ? b_.CreateSRem(x, y) : b_.CreateURem(x, y);
    return is_signed ? b_.CreateSDiv(x, y) : b_.CreateUDiv(x, y);
  }
  llvm::Type* wide =
      type->getWithNewType(type->getScalarSizeInBits() > 16 ? b_.getDoubleTy() : b_.getFloatTy());
  const auto as_float = [&](llvm::Value* number) {
    return is_signed ? b_.CreateSIToFP(number, wide) : b_.CreateUIToFP(number, wide);
  };
  llvm::Value* exact = b_.CreateFDiv(as_float(x), as_float(y));
  llvm::Value* quotient = is_signed ? b_.CreateFPToSI(exact, type) : b_.CreateFPToUI(exact, type);
  return is_rest ? b_.CreateSub(x, b_.CreateMul(quotient, y)) : quotient;
}

// Products, but where one of them is not normal and the dividend is not zero: there it divides.
llvm::Value* ArithmeticEmitter::divided_by(const Node& node) {
  const auto args = plan_.args_of(node);
  llvm::Value* x = value(args[0]);
  llvm::Value* low = b_.CreateFMul(x, value(args[2]));
  llvm::Value* quotient = b_.CreateIntrinsic(in::fma, {x->getType()}, {x, value(args[1]), low});
  llvm::Value* small = is_small(x, value(args[3]), node.type);
  llvm::BasicBlock* quick = b_.GetInsertBlock();
  llvm::BasicBlock* slow = llvm::BasicBlock::Create(context_, "", quick->getParent());
  llvm::BasicBlock* next = llvm::BasicBlock::Create(context_, "", quick->getParent());
  const bool is_vector = small->getType()->isVectorTy();
  b_.CreateCondBr(is_vector ? b_.CreateOrReduce(small) : small, slow, next,
                  llvm::MDBuilder(context_).createUnlikelyBranchWeights());
  b_.SetInsertPoint(slow);
  llvm::Value* divided =
      b_.CreateFDiv(x, llvm::ConstantFP::get(x->getType(), std::bit_cast<double>(node.imm)));
  b_.CreateBr(next);
  b_.SetInsertPoint(next);
  llvm::PHINode* out = b_.CreatePHI(x->getType(), 2);
  out->addIncoming(quotient, quick);
  out->addIncoming(divided, slow);
  return out;
}

// By one or more of the machine's vectors, whose other lanes nobody reads.
llvm::Value* ArithmeticEmitter::rsqrt_estimate(llvm::Value* x) {
  const bool is_rough = plan_.vector_bytes < 64;
  constexpr unsigned kLeast = 16;  // bytes of a vector
  const unsigned most = is_rough ? 32 : 64;
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (vector == nullptr) {
    auto* four = llvm::FixedVectorType::get(x->getType(), 4);
    llvm::Value* lane = b_.CreateInsertElement(llvm::PoisonValue::get(four), x, uint64_t{0});
    return b_.CreateExtractElement(rsqrt_estimate(lane), uint64_t{0});
  }
  const unsigned bytes = vector->getScalarSizeInBits() / 8, lanes = vector->getNumElements();
  const unsigned width = std::clamp(std::bit_ceil(lanes * bytes), kLeast, most) / bytes;
  constexpr ID kIds[2][3] = {
      {in::x86_avx512_rsqrt14_ps_128, in::x86_avx512_rsqrt14_ps_256, in::x86_avx512_rsqrt14_ps_512},
      {in::x86_avx512_rsqrt14_pd_128, in::x86_avx512_rsqrt14_pd_256,
       in::x86_avx512_rsqrt14_pd_512}};
  constexpr ID kRough[2] = {in::x86_sse_rsqrt_ps, in::x86_avx_rsqrt_ps_256};
  const int which = std::countr_zero(width * bytes / kLeast);
  const ID id = is_rough ? kRough[which] : kIds[bytes / 4 - 1][which];
  llvm::Value* out = llvm::PoisonValue::get(vector);
  for (unsigned first = 0; first < lanes; first += width) {
    llvm::SmallVector<int, 16> taken(width, -1), put;
    for (unsigned i = 0; i < std::min(width, lanes - first); ++i)
      taken[i] = static_cast<int>(first + i);
    llvm::Value* part = b_.CreateShuffleVector(x, taken);
    llvm::Value* mask =
        llvm::ConstantInt::getAllOnesValue(width > 8 ? b_.getInt16Ty() : b_.getInt8Ty());
    part = is_rough ? b_.CreateIntrinsic(id, {}, {part})
                    : b_.CreateIntrinsic(id, {}, {part, part, mask});
    if (lanes == width) return part;
    // Lanes of a vector of `lanes`, then those of `out` and of the part.
    llvm::SmallVector<int, 16> spread(lanes, -1);
    for (unsigned i = 0; i < lanes; ++i) {
      const bool is_here = i >= first && i < first + width;
      if (is_here) spread[i] = static_cast<int>(i - first);
      put.push_back(static_cast<int>(is_here ? lanes + i : i));
    }
    out = b_.CreateShuffleVector(out, b_.CreateShuffleVector(part, spread), put);
  }
  return out;
}

// Lane l is lane l - imm of the first operand.
llvm::Value* ArithmeticEmitter::shift_lanes(const Node& node) {
  const auto args = plan_.args_of(node);
  llvm::SmallVector<int, 16> from;
  for (int32_t lane = 0; lane < node.type.lanes; ++lane) {
    const int64_t source = lane - node.imm;
    const bool is_there = source >= 0 && source < node.type.lanes;
    from.push_back(is_there ? static_cast<int>(source) : node.type.lanes + lane);
  }
  return b_.CreateShuffleVector(value(args[0]), value(args[1]), from);
}

llvm::Value* ArithmeticEmitter::select(const Node& node) {
  const auto args = plan_.args_of(node);
  llvm::Value* out = b_.CreateSelect(value(args[0]), value(args[1]), value(args[2]));
  auto* select = llvm::dyn_cast<llvm::SelectInst>(out);
  if (node.imm == 1 && select != nullptr) skipping_.push_back(select);
  return out;
}

llvm::Value* ArithmeticEmitter::conversion(const Node& node, llvm::Value* x) {
  llvm::Type* to = type(node.type);
  switch (node.op) {
    case Op::kFloatCast: return b_.CreateFPCast(x, to);
    case Op::kFromHalf: return b_.CreateFPExt(b_.CreateBitCast(x, half(node.type)), to);
    case Op::kToHalf:
      if (llvm::Value* half = half_arithmetic(x)) return b_.CreateBitCast(half, to);
      return b_.CreateBitCast(b_.CreateFPTrunc(x, half(node.type)), to);
    case Op::kTruncate: return b_.CreateTrunc(x, to);
    case Op::kSExtend: return b_.CreateSExt(x, to);
    case Op::kZExtend: return b_.CreateZExt(x, to);
    case Op::kSToFloat: return b_.CreateSIToFP(x, to);
    case Op::kUToFloat: return b_.CreateUIToFP(x, to);
    case Op::kFloatToS:
    case Op::kFloatToU: return saturated(node, x);
    case Op::kBitcast: return b_.CreateBitCast(x, to);
    default: return nullptr;
  }
}

llvm::Value* ArithmeticEmitter::arithmetic(const Node& node) {
  const auto args = plan_.args_of(node);
  const auto x = [&](size_t i) { return value(args[i]); };
  const bool is_fp = is_float(node.type.scalar);
  llvm::Type* to = type(node.type);
  for (const auto& [op, id] : kIntrinsicOps) {
    if (op == node.op)
      return args.size() == 1 ? b_.CreateUnaryIntrinsic(id, x(0))
                              : b_.CreateBinaryIntrinsic(id, x(0), x(1));
  }
  switch (node.op) {
    case Op::kConstant: return constant(node);
    case Op::kLanes:
      return node.type.lanes == 1 ? llvm::Constant::getNullValue(to) : b_.CreateStepVector(to);
    case Op::kAdd:
      if (!is_fp) return b_.CreateAdd(x(0), x(1));
      return contract_sum(node, b_.CreateFAdd(x(0), x(1)));
    case Op::kSub:
      if (!is_fp) return b_.CreateSub(x(0), x(1));
      return contract_sum(node, b_.CreateFSub(x(0), x(1)));
    case Op::kMul:
      if (!is_fp) return b_.CreateMul(x(0), x(1));
      return node.imm == 0 ? contract(b_.CreateFMul(x(0), x(1))) : b_.CreateFMul(x(0), x(1));
    case Op::kDiv: return b_.CreateFDiv(x(0), x(1));
    case Op::kDivBy: return divided_by(node);
    case Op::kSDiv:
    case Op::kUDiv:
    case Op::kSRem:
    case Op::kURem: return divided_integers(node, x(0), x(1));
    case Op::kFma: return b_.CreateIntrinsic(in::fmuladd, {to}, {x(0), x(1), x(2)});
    case Op::kAnd: return b_.CreateAnd(x(0), x(1));
    case Op::kOr: return b_.CreateOr(x(0), x(1));
    case Op::kXor: return b_.CreateXor(x(0), x(1));
    case Op::kShl: return b_.CreateShl(x(0), x(1));
    case Op::kLShr: return b_.CreateLShr(x(0), x(1));
    case Op::kAShr: return b_.CreateAShr(x(0), x(1));
    case Op::kNeg: return b_.CreateFNeg(x(0));
    case Op::kRsqrtEstimate: return rsqrt_estimate(x(0));
    case Op::kClz: return b_.CreateIntrinsic(in::ctlz, {to}, {x(0), b_.getFalse()});
    case Op::kCompare: return compare(node);
    case Op::kSelect: return select(node);
    case Op::kMath: return math(node);
    case Op::kSplat: return b_.CreateVectorSplat(static_cast<unsigned>(node.type.lanes), x(0));
    case Op::kReduceLanes: return reduce_lanes(static_cast<Op>(node.imm), node.type, x(0));
    case Op::kShiftLanes: return shift_lanes(node);
    case Op::kShuffle: return shuffle(node);
    case Op::kExtract: return extract(node);
    default: return args.empty() ? nullptr : conversion(node, x(0));
  }
}

}  // namespace heddle::cpu
