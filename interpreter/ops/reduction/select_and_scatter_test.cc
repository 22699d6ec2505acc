// select-and-scatter: against loops over places and taps.
#include "heddle/base/support_test.h"
#include "heddle/interpreter/internal/testing.h"
#include "heddle/interpreter/ops/op_testing.h"
#include "heddle/interpreter/ops/reduction/window_testing.h"

namespace heddle::interpreter {
namespace {

using window_testing::Index;
using window_testing::Random;

// The gradient of a pool by maximum, or of what `select` compares by; `scatter` are instructions
// after parameters a and b.
Literal scattered(const std::string& compare, const std::string& scatter, const Literal& x,
                  const Literal& source, float init, const std::vector<WindowDimension>& window) {
  return run(
      base::cat("HloModule m\n s { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] "
                "compare(a, b), direction=",
                compare, " }\n f { a = f32[] parameter(0) b = f32[] parameter(1) ", scatter,
                " }\n ENTRY main { x = ", to_string(x.shape()),
                " parameter(0) source = ", to_string(source.shape()),
                " parameter(1) init = f32[] parameter(2) ROOT r = ", to_string(x.shape()),
                " select-and-scatter(x, source, init)", window_testing::text_of(window),
                ", select=s, scatter=f }"),
      {x, source, f32_of(init)});
}

constexpr const char* kAdd = "ROOT c = f32[] add(a, b)";

template <class Keep, class Combine>
std::vector<double> by_loops(const Literal& x, const Literal& source, double init,
                             const std::vector<WindowDimension>& window, Keep keep,
                             Combine combine) {
  const auto& base = x.shape().dimensions();
  std::vector<double> out(static_cast<size_t>(x.element_count()), init);
  index_testing::for_each_index(source.shape().dimensions(), [&](const Index& place) {
    int64_t picked = -1;
    index_testing::for_each_index(window_testing::sizes_of(window), [&](const Index& tap) {
      Index at;
      if (!window_testing::element_at(window, base, place, tap, at)) return;
      const int64_t here = index_testing::position(base, at);
      if (picked < 0 || !keep(x.to_double(picked), x.to_double(here))) picked = here;
    });
    if (picked < 0) return;
    double& to = out[static_cast<size_t>(picked)];
    to = combine(to, source.to_double(index_testing::position(source.shape().dimensions(), place)));
  });
  return out;
}

struct Sample {
  std::vector<WindowDimension> window;
  Literal x, source;
};

// Few distinct values, so that windows hold equals.
Sample random_sample(Random& random) {
  Sample out;
  const std::vector<int64_t> base = random.dims(3, 5);
  std::vector<int64_t> places;
  for (int64_t size : base) {
    out.window.push_back(window_testing::random_entry(random, random.in(1, 4)));
    places.push_back(window_testing::count_places(out.window.back(), size));
  }
  out.x = Literal(Shape(f32, base));
  out.source = Literal(Shape(f32, places));
  for (float& value : out.x.mutable_values<float>()) value = static_cast<float>(random.in(-3, 3));
  for (float& value : out.source.mutable_values<float>())
    value = static_cast<float>(random.in(-100, 100));
  return out;
}

TEST(SelectAndScatter, AnyWindowMatchesLoops) {
  Random random(5);
  for (int round = 0; round < 300; ++round) {
    const Sample s = random_sample(random);
    SCOPED_TRACE(
        base::cat("round ", round, window_testing::text_of(s.window), " of ", s.x.shape()));
    const auto add = [](double a, double b) { return a + b; };
    EXPECT_EQ(numbers(scattered("GE", kAdd, s.x, s.source, 10, s.window)),
              by_loops(s.x, s.source, 10, s.window, std::greater_equal<>(), add));
    EXPECT_EQ(numbers(scattered("LT", kAdd, s.x, s.source, 10, s.window)),
              by_loops(s.x, s.source, 10, s.window, std::less<>(), add));
  }
}

TEST(SelectAndScatter, CallsABodyWithTheCurrentValueFirst) {
  Random random(6);
  const std::string body =
      "two = f32[] constant(2) t = f32[] multiply(a, two) ROOT c = f32[] subtract(t, b)";
  for (int round = 0; round < 100; ++round) {
    const Sample s = random_sample(random);
    SCOPED_TRACE(
        base::cat("round ", round, window_testing::text_of(s.window), " of ", s.x.shape()));
    EXPECT_EQ(numbers(scattered("GT", body, s.x, s.source, 1, s.window)),
              by_loops(s.x, s.source, 1, s.window, std::greater<>(),
                       [](double a, double b) { return 2 * a - b; }));
  }
}

TEST(SelectAndScatter, ThePickOfOverlappingWindowsTakesBothValues) {
  EXPECT_THAT(
      numbers(scattered("GE", kAdd, floats({1, 5, 2, 5}), floats({10, 20, 30}), 0, {{.size = 2}})),
      ElementsAre(0, 30, 0, 30));
}

TEST(SelectAndScatter, PaddingIsNeverPicked) {
  const std::vector<WindowDimension> padded = {
      {.size = 3, .stride = 3, .padding_low = 1, .padding_high = 1}};
  EXPECT_THAT(numbers(scattered("GE", kAdd, floats({-4, -5, -6, -7}), floats({1, 2}), 0, padded)),
              ElementsAre(1, 0, 2, 0));
  const std::vector<WindowDimension> outside = {{.size = 1, .padding_low = 1}};
  EXPECT_THAT(numbers(scattered("GE", kAdd, floats({3}), floats({8, 9}), 0, outside)),
              ElementsAre(9));
}

TEST(SelectAndScatter, NaNGivesWayToWhatFollowsAndIsPickedOverWhatStands) {
  const auto nan = static_cast<float>(op_testing::kNaN);
  // GE is false beside a NaN, so the later element is picked: of (nan, 1) the 1, of (1, nan) the
  // NaN.
  EXPECT_THAT(numbers(scattered("GE", kAdd, floats({nan, 1, 1, nan}), floats({3, 4}), 0,
                                {{.size = 2, .stride = 2}})),
              ElementsAre(0, 3, 0, 4));
}

}  // namespace
}  // namespace heddle::interpreter
