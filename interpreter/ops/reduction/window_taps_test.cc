// Where the taps of a window fall: against a search.
#include "heddle/interpreter/ops/reduction/window_taps.h"

#include <gtest/gtest.h>

#include "heddle/interpreter/ops/reduction/window_testing.h"

namespace heddle::interpreter {
namespace {

using window_testing::count_places;
using window_testing::element_at;
using window_testing::Random;
using window_testing::random_entry;

// The pairs (number, element) that hits stand for.
std::vector<std::pair<int64_t, int64_t>> pairs_of(const Hits& hits) {
  std::vector<std::pair<int64_t, int64_t>> out;
  for (int64_t i = 0; i < hits.count; ++i) {
    out.emplace_back(hits.first + i * hits.step, hits.position + i * hits.position_step);
  }
  return out;
}

TEST(Window, HitsAreThoseThatASearchFinds) {
  Random random(1);
  for (int round = 0; round < 3000; ++round) {
    const int64_t base = random.in(0, 6);
    const WindowDimension w = random_entry(random, random.in(1, 5));
    const int64_t places = count_places(w, base);
    SCOPED_TRACE(base::cat("round ", round, ", base ", base));
    for (int64_t place = 0; place < places; ++place) {
      std::vector<std::pair<int64_t, int64_t>> want;
      for (int64_t tap = 0; tap < w.size; ++tap) {
        if (const int64_t i = element_at(w, base, place, tap); i >= 0) want.emplace_back(tap, i);
      }
      EXPECT_EQ(pairs_of(hits_at_place(w, base, place)), want);
    }
    for (int64_t tap = 0; tap < w.size; ++tap) {
      std::vector<std::pair<int64_t, int64_t>> want;
      for (int64_t place = 0; place < places; ++place) {
        if (const int64_t i = element_at(w, base, place, tap); i >= 0) want.emplace_back(place, i);
      }
      EXPECT_EQ(pairs_of(hits_of_tap(w, base, places, tap)), want);
    }
  }
}

TEST(Window, SizesNearTheLimitDoNotOverflow) {
  constexpr int64_t kHuge = int64_t{1} << 60;
  const WindowDimension spread{.size = kHuge, .base_dilation = kHuge - 1};
  EXPECT_EQ(pairs_of(hits_at_place(spread, 2, 0)),
            (std::vector<std::pair<int64_t, int64_t>>{{0, 0}, {kHuge - 1, 1}}));
  const WindowDimension padded{.size = kHuge + 1, .padding_low = kHuge, .padding_high = kHuge};
  EXPECT_EQ(pairs_of(hits_at_place(padded, 1, 0)),
            (std::vector<std::pair<int64_t, int64_t>>{{kHuge, 0}}));
  const WindowDimension cropped{.size = 1, .padding_low = INT64_MIN, .padding_high = INT64_MAX};
  EXPECT_EQ(hits_at_place(cropped, 5, 0).count, 0);
}

TEST(Window, AWindowFarLargerThanItsArrayVisitsOnlyWhatItHits) {
  constexpr int64_t kHuge = int64_t{1} << 40;
  const Window window{{{.size = kHuge, .padding_low = kHuge, .padding_high = 0}}};
  int visits = 0;
  const Status status =
      for_each_tap(window, Shape(f32, {3}), Shape(f32, {4}), [&](const TapPart& part) {
        ++visits;
        EXPECT_GT(part.sizes[0], 0);
        return Status();
      });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(visits, 3);  // element - place is -3 to -1: no other tap falls on an element
}

TEST(Window, StopsAtTheFirstError) {
  const Window window{{{.size = 2}}};
  int visits = 0;
  const Status status = for_each_tap(window, Shape(f32, {3}), Shape(f32, {2}), [&](const TapPart&) {
    ++visits;
    return base::invalid_argument("enough");
  });
  EXPECT_EQ(base::message_of(status), "enough");
  EXPECT_EQ(visits, 1);
}

}  // namespace
}  // namespace heddle::interpreter
