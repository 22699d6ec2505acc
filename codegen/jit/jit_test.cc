#include "heddle/codegen/jit/jit.h"

#include <array>

#include "heddle/base/support_test.h"
#include "heddle/codegen/plan/builder.h"
#include "heddle/codegen/plan/cost.h"

namespace heddle::cpu {
namespace {

constexpr Type kOne = {Scalar::kF32, 1};

class JitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!find_code_generator().ok()) GTEST_SKIP() << "no LLVM";
    plan_.origins.push_back({.name = "negate.1", .file = "a/train.cc", .line = 41});
  }
  Exit run(const JitRequest& request) {
    JitResult result = compile_plan(request).value();
    void* results[] = {result_};
    const void* arguments[] = {argument_};
    return Exit::of(result.code->entry()(nullptr, nullptr, const_cast<void* const*>(arguments),
                                         results, nullptr, &stop_));
  }
  // result[to] = -argument[from]
  void negate(NodeId from, NodeId to) {
    const PlanBuilder::For made_for(b_, 1);
    b_.store(out_, to, b_.unary(Op::kNeg, b_.load(in_, kOne, from)));
  }

  Plan plan_;
  PlanBuilder b_{plan_};
  BufferId in_ = b_.buffer({.kind = BufferInfo::Kind::kArgument, .bytes = 16});
  BufferId out_ = b_.buffer({.kind = BufferInfo::Kind::kResult, .bytes = 16});
  float argument_[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float result_[8] = {};
  std::atomic<bool> stop_ = false;
};

TEST_F(JitTest, AnAccessInsideIsNoError) {
  negate(b_.index(3), b_.index(3));
  EXPECT_EQ(run({.plan = &plan_, .checks_bounds = true}).reason, Exit::Reason::kNone);
  EXPECT_EQ(result_[3], -4);
}

TEST_F(JitTest, AnAccessOutsideEndsTheRunAtItsNode) {
  for (const auto& [from, to, op] :
       {std::tuple(4, 0, Op::kLoad), std::tuple(-1, 0, Op::kLoad), std::tuple(0, 4, Op::kStore)}) {
    SetUp();
    plan_ = Plan();
    plan_.origins.push_back({.name = "negate.1"});
    PlanBuilder b(plan_);
    in_ = b.buffer({.kind = BufferInfo::Kind::kArgument, .bytes = 16});
    out_ = b.buffer({.kind = BufferInfo::Kind::kResult, .bytes = 16});
    b.store(out_, b.index(to), b.unary(Op::kNeg, b.load(in_, kOne, b.index(from))));
    const Exit exit = run({.plan = &plan_, .checks_bounds = true});
    ASSERT_EQ(exit.reason, Exit::Reason::kOutOfBounds) << from << " to " << to;
    EXPECT_EQ(plan_.at(exit.node).op, op);
  }
}

TEST_F(JitTest, AVectorThatEndsOutsideIsFound) {
  b_.store(out_, b_.index(1), b_.load(in_, {Scalar::kF32, 4}, b_.index(0)));
  EXPECT_EQ(run({.plan = &plan_, .checks_bounds = true}).reason, Exit::Reason::kOutOfBounds);
}

TEST_F(JitTest, ARemainderByAPowerOfTwoIsAMask) {
  const Type integer = {Scalar::kI32, 1};
  const NodeId x = b_.load(in_, integer, b_.index(0));
  b_.store(out_, b_.index(0), b_.binary(Op::kURem, x, b_.integer(integer, 8)));
  const std::string ir = compile_plan({.plan = &plan_, .wants_text = true}).value().ir;
  EXPECT_THAT(ir, HasSubstr("and i32"));
  EXPECT_THAT(ir, Not(HasSubstr("urem")));
}

TEST_F(JitTest, LanesThatAreBroadcastOneByOneAreLoaded) {
  plan_.vector_bytes = 64;
  const Type type = {Scalar::kF32, 16};
  const BufferId wide = b_.buffer({.kind = BufferInfo::Kind::kArgument, .bytes = 64});
  const BufferId out = b_.buffer({.kind = BufferInfo::Kind::kResult, .bytes = 64});
  const NodeId x = b_.load(wide, type, b_.index(0));
  NodeId sum = x;
  for (uint32_t lane = 0; lane < 16; ++lane) {
    const NodeId each =
        b_.shuffle(std::span(&x, 1), std::vector<LaneSource>(16, {.operand = 0, .lane = lane}));
    sum = b_.fma(each, each, sum);
  }
  b_.store(out, b_.index(0), sum);
  const std::string ir = compile_plan({.plan = &plan_, .wants_text = true}).value().ir;
  EXPECT_THAT(ir, HasSubstr("alloca <16 x float>"));
  EXPECT_THAT(ir, HasSubstr("load float, ptr"));
}

TEST_F(JitTest, WhatNoLaneTakesIsSkipped) {
  plan_.vector_bytes = 16;
  const NodeId x = b_.load(in_, {Scalar::kF32, 4}, b_.index(0));
  NodeId power = x;
  for (int i = 0; i < 12; ++i) power = b_.unary(Op::kSqrt, power);
  const NodeId mask = b_.compare(Predicate::kGt, x, b_.number({Scalar::kF32, 4}, 4));
  b_.store(out_, b_.index(0), b_.choose(mask, power, x));
  const std::string ir = compile_plan({.plan = &plan_, .wants_text = true}).value().ir;
  EXPECT_LT(ir.find("br i1"), ir.find("llvm.sqrt"));
  EXPECT_EQ(run({.plan = &plan_}).reason, Exit::Reason::kNone);
  EXPECT_THAT(std::vector(result_, result_ + 4), ElementsAre(1, 2, 3, 4));
  argument_[0] = INFINITY;
  EXPECT_EQ(run({.plan = &plan_}).reason, Exit::Reason::kNone);
  EXPECT_THAT(std::vector(result_, result_ + 4), ElementsAre(INFINITY, 2, 3, 4));
}

TEST_F(JitTest, WhatIsRareIsSkippedForOneNumberTooAndForSeveralSelects) {
  NodeId values[2];
  NodeId masks[2];
  for (int i = 0; i < 2; ++i) {
    values[i] = b_.load(in_, {Scalar::kF32, 1}, b_.index(i));
    masks[i] = b_.compare(Predicate::kGt, values[i], b_.number({Scalar::kF32, 1}, 4));
  }
  NodeId roots[] = {values[0], values[1]};
  for (int step = 0; step < 2; ++step) {
    for (NodeId& root : roots) root = b_.unary(Op::kSqrt, root);
  }
  for (int i = 0; i < 2; ++i) b_.store(out_, b_.index(i), b_.rarely(masks[i], roots[i], values[i]));
  const std::string ir = compile_plan({.plan = &plan_, .wants_text = true}).value().ir;
  const auto first_root = ir.find("call float @llvm.sqrt");
  EXPECT_LT(ir.find("br i1"), first_root);
  EXPECT_LT(ir.find("br i1", first_root), ir.rfind("call float @llvm.sqrt"));
  argument_[1] = 81;
  EXPECT_EQ(run({.plan = &plan_}).reason, Exit::Reason::kNone);
  EXPECT_THAT(std::vector(result_, result_ + 2), ElementsAre(1, 3));
}

// What both need is computed once, in one branch.
TEST_F(JitTest, SelectsOfOneConditionShareTheirBranch) {
  const Type one = {Scalar::kF32, 1};
  const NodeId x = b_.load(in_, one, b_.index(0)), y = b_.load(in_, one, b_.index(1));
  const NodeId is_large = b_.compare(Predicate::kGt, x, b_.number(one, 4));
  NodeId root = x;
  for (int step = 0; step < 4; ++step) root = b_.unary(Op::kSqrt, root);
  const NodeId first = b_.rarely(is_large, b_.binary(Op::kAdd, root, y), x);
  const NodeId other = b_.rarely(b_.compare(Predicate::kGt, y, b_.number(one, 4)),
                                 b_.unary(Op::kSqrt, b_.unary(Op::kSqrt, y)), y);
  const NodeId second = b_.rarely(is_large, b_.binary(Op::kMul, root, y), y);
  b_.store(out_, b_.index(0), first);
  b_.store(out_, b_.index(1), second);
  b_.store(out_, b_.index(2), other);
  const std::string ir = compile_plan({.plan = &plan_, .wants_text = true}).value().ir;
  EXPECT_LT(ir.find("br i1"), ir.find("call float @llvm.sqrt"));
  EXPECT_EQ(run({.plan = &plan_}).reason, Exit::Reason::kNone);
  EXPECT_THAT(std::vector(result_, result_ + 3), ElementsAre(1, 2, 2));
  argument_[0] = 65536;
  EXPECT_EQ(run({.plan = &plan_}).reason, Exit::Reason::kNone);
  EXPECT_THAT(std::vector(result_, result_ + 3), ElementsAre(4, 4, 2));
  argument_[1] = 16;
  EXPECT_EQ(run({.plan = &plan_}).reason, Exit::Reason::kNone);
  EXPECT_THAT(std::vector(result_, result_ + 3), ElementsAre(18, 32, 2));
}

// The second needs what is computed of the first.
TEST_F(JitTest, SelectsOfOneConditionThatDependOnEachOtherHaveBranchesOfTheirOwn) {
  const Type one = {Scalar::kF32, 1};
  const NodeId x = b_.load(in_, one, b_.index(0));
  const NodeId is_large = b_.compare(Predicate::kGt, x, b_.number(one, 4));
  const auto fourth_root = [&](NodeId of) { return b_.unary(Op::kSqrt, b_.unary(Op::kSqrt, of)); };
  const NodeId first = b_.rarely(is_large, fourth_root(x), x);
  const NodeId second = b_.rarely(is_large, fourth_root(b_.binary(Op::kMul, first, first)), first);
  b_.store(out_, b_.index(0), first);
  b_.store(out_, b_.index(1), second);
  EXPECT_EQ(run({.plan = &plan_}).reason, Exit::Reason::kNone);
  EXPECT_THAT(std::vector(result_, result_ + 2), ElementsAre(1, 1));
  argument_[0] = 256;
  EXPECT_EQ(run({.plan = &plan_}).reason, Exit::Reason::kNone);
  EXPECT_THAT(std::vector(result_, result_ + 2), ElementsAre(4, 2));
}

TEST_F(JitTest, ALongLoopEndsWhereItIsAskedTo) {
  const PlanBuilder::For made_for(b_, 1);
  const NodeId start[] = {b_.number(kOne, 1)};
  const auto head = b_.begin_while(start);
  const auto body =
      b_.begin_body(b_.compare(Predicate::kGt, head.parameters[0], b_.number(kOne, 0)));
  const NodeId next[] = {body.parameters[0]};
  b_.store(out_, b_.index(0), b_.end_while(next)[0]);
  mark_stops(plan_);
  stop_ = true;
  const Exit exit = run({.plan = &plan_});
  ASSERT_EQ(exit.reason, Exit::Reason::kStopped);
  EXPECT_EQ(to_string(plan_.origins[plan_.at(exit.node).origin]), "negate.1 [train.cc:41]");
}

// One function for all turns but the first ones: code does not grow with their number.
TEST_F(JitTest, WhatRepeatsIsCompiledOnce) {
  const auto bytes = [&](int turns) {
    Plan plan;
    PlanBuilder b(plan);
    const BufferId in = b.buffer({.kind = BufferInfo::Kind::kArgument, .bytes = 16});
    const BufferId out = b.buffer({.kind = BufferInfo::Kind::kResult, .bytes = 16});
    NodeId sum = b.load(in, kOne, b.index(0));
    for (int k = 0; k < turns; ++k) {
      const NodeId term = b.unary(Op::kSqrt, b.load(in, kOne, b.index(1)));
      for (int i = 0; i < 4; ++i) sum = b.binary(Op::kMul, b.binary(Op::kAdd, sum, term), term);
      b.store(out, b.index(0), sum);
    }
    const JitResult result = compile_plan({.plan = &plan}).value();
    return result.image ? result.image->executed_bytes : 0;
  };
  EXPECT_LT(bytes(8000), 4 * bytes(800));
}

// Machine code computes on eight lanes where the program has six: the others hold no leftovers.
TEST_F(JitTest, PiecesHandOnWholeVectors) {
  const NodeId x = b_.load(in_, {Scalar::kF32, 6}, b_.index(0));
  NodeId product = x;
  for (int i = 0; i < 4000; ++i) product = b_.binary(Op::kMul, product, x);
  b_.store(out_, b_.index(0), product);
  const JitResult result = compile_plan({.plan = &plan_}).value();
  alignas(64) std::array<float, 1024> arena;
  ASSERT_GT(result.arena_bytes, 0);
  ASSERT_LE(result.arena_bytes, static_cast<int64_t>(sizeof(arena)));
  arena.fill(1e-40F);
  void* results[] = {result_};
  void* arguments[] = {argument_};
  result.code->entry()(nullptr, arena.data(), arguments, results, nullptr, &stop_);
  EXPECT_THAT(std::vector(arena.begin(), arena.begin() + 8), ElementsAre(1, 2, 3, 4, 5, 6, 0, 0));
}

TEST_F(JitTest, CodeAndTextSayWhatTheyAreOf) {
  negate(b_.index(0), b_.index(0));
  const JitResult result =
      compile_plan({.plan = &plan_, .wants_text = true, .wants_ranges = true}).value();
  EXPECT_THAT(result.ir, HasSubstr("negate.1 [train.cc:41]"));
  EXPECT_THAT(result.assembly, HasSubstr("negate.1 [train.cc:41]"));
  int64_t bytes = 0;
  bool is_named = false;
  for (const CodeRange& range : result.ranges) {
    EXPECT_GT(range.bytes, 0);
    bytes += range.bytes;
    is_named |= range.origin == "negate.1 [train.cc:41]";
  }
  EXPECT_TRUE(is_named);
  EXPECT_GT(bytes, 8);
  EXPECT_EQ(reinterpret_cast<const void*>(result.code->entry()), result.ranges.at(0).begin);
}

}  // namespace
}  // namespace heddle::cpu
