#include "heddle/codegen/plan/cost.h"

#include <gtest/gtest.h>

#include "heddle/codegen/plan/builder.h"
#include "heddle/codegen/plan/summary.h"

namespace heddle::cpu {
namespace {

constexpr Type kWide = {Scalar::kF32, 16};

// for i in 0 .. 16 * turns by 16: b1[i] = b0[i] + b0[i]
void add_loop(PlanBuilder& b, int64_t turns) {
  const BufferId from = b.buffer({.kind = BufferInfo::Kind::kArgument, .bytes = 64 * turns});
  const BufferId to = b.buffer({.kind = BufferInfo::Kind::kResult, .bytes = 64 * turns});
  const auto loop = b.begin_for(b.index(0), b.index(16 * turns), 16, {});
  const PlanBuilder::Floor floor(b);
  const NodeId x = b.load(from, kWide, loop.parameters[0]);
  b.store(to, loop.parameters[0], b.add(x, x));
  b.end_for({});
}

const Node* first_loop(const Plan& plan) {
  for (const Node& node : plan.nodes) {
    if (node.op == Op::kFor || node.op == Op::kWhile) return &node;
  }
  return nullptr;
}

TEST(PlanCost, CountsLanesAndTurns) {
  Plan plan;
  PlanBuilder b(plan);
  add_loop(b, 100);
  const PlanCost cost = cost_of(plan);
  EXPECT_EQ(cost.flops, 16 * 100);
  EXPECT_EQ(cost.bytes, 2 * 64 * 100);
}

TEST(PlanCost, IsNotKnownOfLoopsThatDoNotCount) {
  for (const int64_t turns : {0, 7}) {
    Plan plan;
    PlanBuilder b(plan);
    const BufferId to = b.buffer({.kind = BufferInfo::Kind::kResult, .bytes = 4});
    const NodeId start[] = {b.number({Scalar::kF32, 1}, 1)};
    const auto head = b.begin_while(start, turns);
    const auto body =
        b.begin_body(b.compare(Predicate::kLt, head.parameters[0], b.number({Scalar::kF32, 1}, 9)));
    const NodeId next[] = {b.mul(body.parameters[0], body.parameters[0])};
    b.store(to, b.index(0), b.end_while(next)[0]);
    EXPECT_EQ(cost_of(plan).flops, turns == 0 ? std::nullopt : std::optional<double>(7));
    EXPECT_EQ(cost_of(plan).bytes, 4) << "of the store behind the loop";
    mark_stops(plan);
    EXPECT_EQ(first_loop(plan)->checks_stop, turns == 0);
  }
}

TEST(MarkStops, AsksInLoopsThatRunLong) {
  for (const int64_t turns : {100, 100'000'000}) {
    Plan plan;
    PlanBuilder b(plan);
    add_loop(b, turns);
    mark_stops(plan);
    EXPECT_EQ(first_loop(plan)->checks_stop, turns > 100) << turns;
  }
}

TEST(LiveBytes, AreTheMostOfOneMoment) {
  Plan plan;
  plan.buffers = {{.bytes = 10, .born = 0, .last = 1},
                  {.bytes = 20, .born = 1, .last = 2},
                  {.bytes = 5, .born = 2, .last = 2},
                  {.kind = BufferInfo::Kind::kResult, .bytes = 100}};
  EXPECT_EQ(live_bytes(plan), 30);
}

TEST(LoopsText, NamesWhatIsFusedAndHowWideItIs) {
  Plan plan;
  plan.origins.push_back({.name = "add.1", .file = "some/train.cc", .line = 41});
  PlanBuilder b(plan);
  const PlanBuilder::For made_for(b, 1);
  add_loop(b, 4);
  EXPECT_EQ(loops_text(plan), "  add.1 [train.cc:41]: for of 4 turns, vectors of 16 f32\n");
}

TEST(LoopsText, SaysWhyThereAreNoVectors) {
  Plan plan;
  plan.origins.push_back({.name = "scan.1"});
  PlanBuilder b(plan);
  const PlanBuilder::For made_for(b, 1);
  const BufferId x = b.buffer({.kind = BufferInfo::Kind::kArgument, .bytes = 400});
  const NodeId start[] = {b.number({Scalar::kF32, 1}, 0)};
  const auto loop = b.begin_for(b.index(0), b.index(100), 1, start);
  const PlanBuilder::Floor floor(b);
  const NodeId next[] = {
      b.add(loop.parameters[1], b.load(x, {Scalar::kF32, 1}, loop.parameters[0]))};
  b.end_for(next);
  EXPECT_EQ(loops_text(plan),
            "  scan.1: for of 100 turns, no vectors: a turn needs what the one before it leaves\n");
}

// Two loops of turns in any order; the second one reads `from` elements further than the first one
// writes.
std::string text_of_two_loops(int64_t from) {
  Plan plan;
  plan.origins.push_back({.name = "sin.1"});
  plan.origins.push_back({.name = "cos.1"});
  PlanBuilder b(plan);
  const BufferId x = b.buffer({.kind = BufferInfo::Kind::kArgument, .bytes = 4000}),
                 y = b.buffer({.kind = BufferInfo::Kind::kResult, .bytes = 4000}),
                 z = b.buffer({.kind = BufferInfo::Kind::kResult, .bytes = 4000, .index = 1});
  const auto add = [&](uint32_t origin, BufferId in, int64_t ahead, BufferId out) {
    const PlanBuilder::For made_for(b, origin);
    const auto loop = b.begin_for_each(b.index(0), b.index(100), 1);
    const PlanBuilder::Floor floor(b);
    const NodeId at = ahead == 0 ? loop.parameters[0] : b.add(loop.parameters[0], b.index(ahead));
    const NodeId value = b.load(in, {Scalar::kF32, 1}, at);
    b.store(out, loop.parameters[0], b.add(value, value));
    b.end_for({});
  };
  add(1, x, 0, y);
  add(2, y, from, z);
  return loops_text(plan);
}

TEST(LoopsText, SaysWhyLoopsAreNotFused) {
  const std::string first = "  sin.1: for of 100 turns, no vectors\n";
  EXPECT_EQ(text_of_two_loops(1),
            first +
                "  cos.1: for of 100 turns, no vectors; not one with the loop before it: a "
                "turn reads what other turns write\n");
  EXPECT_EQ(text_of_two_loops(0), first + "  cos.1: for of 100 turns, no vectors\n");
}

}  // namespace
}  // namespace heddle::cpu
