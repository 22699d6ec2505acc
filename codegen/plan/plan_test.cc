#include "heddle/codegen/plan/plan.h"

#include <gtest/gtest.h>

#include <random>

#include "heddle/codegen/plan/builder.h"

namespace heddle::cpu {
namespace {

bool live_together(const BufferInfo& x, const BufferInfo& y) {
  return x.born <= y.last && y.born <= x.last;
}
bool overlap(const BufferInfo& x, const BufferInfo& y) {
  return x.index < y.index + y.bytes && y.index < x.index + x.bytes;
}

Plan placed(std::vector<BufferInfo> buffers) {
  Plan plan;
  plan.buffers = std::move(buffers);
  place_buffers(plan);
  return plan;
}

TEST(PlaceBuffers, KeepsApartWhatLivesTogether) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](int64_t n) {
      return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
    };
    std::vector<BufferInfo> buffers;
    for (int64_t left = 1 + below(60); left > 0; --left) {
      const int64_t born = below(40);
      buffers.push_back({.bytes = 1 + below(300), .born = born, .last = born + below(12)});
    }
    const Plan plan = placed(std::move(buffers));
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const BufferInfo& x = plan.buffers[i];
      ASSERT_EQ(x.index % 64, 0) << "seed " << seed;
      ASSERT_GE(x.index, 0) << "seed " << seed;
      ASSERT_LE(x.index + x.bytes, plan.arena_bytes) << "seed " << seed;
      for (size_t k = 0; k < i; ++k) {
        const BufferInfo& y = plan.buffers[k];
        ASSERT_FALSE(live_together(x, y) && overlap(x, y))
            << "seed " << seed << ": buffers " << k << " and " << i;
      }
    }
  }
}

TEST(PlaceBuffers, GivesThePlaceOfTheDeadToTheNext) {
  const Plan plan = placed({{.bytes = 1000, .born = 0, .last = 1},
                            {.bytes = 1000, .born = 1, .last = 2},
                            {.bytes = 1000, .born = 2, .last = 3},
                            {.bytes = 500, .born = 3, .last = 4}});
  EXPECT_EQ(plan.buffers[0].index, 0);
  EXPECT_EQ(plan.buffers[1].index, 1024);
  EXPECT_EQ(plan.buffers[2].index, 0);
  EXPECT_EQ(plan.buffers[3].index, 1024);
  EXPECT_EQ(plan.arena_bytes, 2024);
}

TEST(PlaceBuffers, FillsAGap) {
  const Plan plan = placed({{.bytes = 64, .born = 0, .last = 9},
                            {.bytes = 128, .born = 0, .last = 1},
                            {.bytes = 64, .born = 0, .last = 9},
                            {.bytes = 129, .born = 2, .last = 9},
                            {.bytes = 100, .born = 3, .last = 9}});
  EXPECT_EQ(plan.buffers[3].index, 256) << "the gap is too small";
  EXPECT_EQ(plan.buffers[4].index, 64);
}

TEST(PlaceBuffers, LeavesWhatIsNotInTheArena) {
  const Plan plan = placed({{.kind = BufferInfo::Kind::kArgument, .bytes = 64, .index = 7},
                            {.kind = BufferInfo::Kind::kArena, .bytes = 64},  // never touched
                            {.kind = BufferInfo::Kind::kConstant, .bytes = 64, .index = 3}});
  EXPECT_EQ(plan.buffers[0].index, 7);
  EXPECT_EQ(plan.buffers[2].index, 3);
  EXPECT_EQ(plan.arena_bytes, 0);
}

TEST(PlanText, ShowsLoopsAndMemory) {
  Plan plan;
  plan.name = "sums";
  PlanBuilder b(plan);
  const BufferId x = b.buffer({.kind = BufferInfo::Kind::kArgument, .bytes = 32, .index = 0});
  const NodeId from = b.index(0), to = b.index(8);
  auto loop = b.begin_for(from, to, 4, {});
  const NodeId value = b.load(x, {Scalar::kF32, 4}, loop.parameters[0]);
  b.store(x, loop.parameters[0], b.math(MathFunction::k_sin, {value}));
  b.end_for({});
  EXPECT_EQ(to_text(plan),
            "plan sums, arena 0 bytes, of which 0 are alive at one moment\n"
            "loops\n"
            "  for of 2 turns, vectors of 4 f32\n"
            "buffers\n"
            "  b0: 32 bytes, argument 0\n"
            "nodes\n"
            "  %0 = const i64 0\n"
            "  %1 = const i64 8\n"
            "  %6 = for i64 (%0, %1) #4\n"
            "    (%2)\n"
            "    %3 = load f32x4 b0 (%2)\n"
            "    %4 = math f32x4 (%3) sin\n"
            "    %5 = store f32x4 b0 (%2, %4)\n");
}

}  // namespace
}  // namespace heddle::cpu
