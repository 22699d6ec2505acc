#include "heddle/scan/scan.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "heddle/base/metrics/counters.h"
#include "heddle/base/support_test.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/runtime/support_test.h"
#include "heddle/scan/associative.h"
#include "heddle/scan/cond.h"
#include "heddle/scan/loops.h"
#include "heddle/trace/devices/devices.h"
#include "heddle/trace/error.h"
#include "heddle/trace/ops/contraction/contractions.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/run/program.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

// A backend may use tensors of its own while it compiles.
TEST(AtOnce, ALoopIsCompiledWhenItsTraceHasEnded) {
  static int compiles = 0;
  static bool was_open = false;
  static runtime::Backend& backend = *new runtime::HollowBackend([] {
    ++compiles;
    was_open = was_open || trace_internal::Recorder::current() != nullptr;
    return Status();
  });
  Device& device = *backend.devices()[0];
  const Tensor x = device_put(ones({2}), device), yes = device_put(scalar(true), device);
  const Tensor zero = device_put(scalar(0.0f), device);
  const auto twice = [](Tensor v) { return v * 2; };
  const auto thrice = [](Tensor v) { return v * 3; };
  (void)error_of(
      [&] { (void)scan([](Tensor c, Tensor v) { return std::pair(c + v, c); }, zero, x); });
  EXPECT_EQ(compiles, 1);
  (void)error_of([&] { (void)cond(yes, twice, thrice, x); });
  EXPECT_EQ(compiles, 2);
  EXPECT_FALSE(was_open);
}

TEST(Map, OfSeveralXs) {
  const Tensor x = arange(3, f32), y = array<float>({{1, 1}, {2, 2}, {3, 3}});
  const auto product = [](Tensor a, Tensor b) { return a * b; };
  EXPECT_THAT(map(product, x, y).to_vector<float>(), ElementsAre(0, 0, 2, 2, 6, 6));
  const auto three = [](Tensor a, Tensor b, Tensor c) { return std::pair(a + sum(b), c); };
  const auto [sums, same] = map(three, x, y, x, {.reverse = true});
  EXPECT_THAT(sums.to_vector<float>(), ElementsAre(2, 5, 8));
  EXPECT_THAT(same.to_vector<float>(), ElementsAre(0, 1, 2));
  EXPECT_THAT(error_of([&] { map(product, x, ones({2})); }), HasSubstr("xs[1]"));
}

TEST(Scan, StaticFieldsOfACarryArePartOfItsType) {
  struct State {
    Tensor x;
    int heads = 0;
    static constexpr auto fields() {
      return heddle::fields(field("x", &State::x), static_field("heads", &State::heads));
    }
  };
  auto step = [](State s, None) { return std::pair(State{s.x + s.heads, s.heads}, None{}); };
  EXPECT_EQ(scan(step, State{zeros({}), 2}, None{}, {.length = 3}).first.x.item<float>(), 6);
  EXPECT_EQ(scan(step, State{zeros({}), 5}, None{}, {.length = 3}).first.x.item<float>(), 15);
  auto grows = [](State s, None) { return std::pair(State{s.x, s.heads + 1}, None{}); };
  EXPECT_THAT(error_of([&] {
                scan(grows, State{zeros({}), 2}, None{}, {.length = 3});
              }),
              HasSubstr("carry.heads"));
}

TEST(Scan, SumsAndStacks) {
  auto step = [](Tensor c, Tensor x) {
    Tensor next = c + x;
    return std::pair(next, next * 2);
  };
  auto [last, ys] = scan(step, scalar<float>(0.f), array<float>({1, 2, 3, 4}));
  EXPECT_EQ(last.item<float>(), 10);
  EXPECT_THAT(ys.to_vector<float>(), ElementsAre(2, 6, 12, 20));
}

TEST(Scan, ReverseWritesWhereItReads) {
  auto step = [](Tensor c, Tensor x) {
    Tensor next = c + x;
    return std::pair(next, next);
  };
  auto [last, ys] = scan(step, scalar<int>(0), array<int>({1, 2, 3}), {.reverse = true});
  EXPECT_EQ(last.item<int>(), 6);
  EXPECT_THAT(ys.to_vector<int>(), ElementsAre(6, 5, 3));
}

TEST(Scan, RunsWithoutXs) {
  auto step = [](Tensor c, None) { return std::pair(c * 2, None{}); };
  auto [last, ys] = scan(step, scalar<int>(1), None{}, {.length = 10});
  EXPECT_EQ(last.item<int>(), 1024);
}

struct Pair {
  Tensor mean, spread;
  static constexpr auto kFields =
      fields(field("mean", &Pair::mean), field("spread", &Pair::spread));
};

TEST(Scan, ALeafWithoutAValueIsNamed) {
  auto step = [](Pair c, Tensor x) { return std::pair(c, x); };
  auto error_of = [&](const Pair& init, const Tensor& xs) -> std::string {
    try {
      scan(step, init, xs);
    } catch (const Error& e) {
      return e.what();
    }
    return "none";
  };
  EXPECT_THAT(
      error_of({zeros({}), {}}, ones({3})),
      HasSubstr("scan: carry.spread has no value (a default-constructed Tensor); assign one "
                "first [scan_test.cc:"));
  EXPECT_THAT(error_of({zeros({}), zeros({})}, {}), HasSubstr("scan: xs has no value"));
}

TEST(Scan, ZeroLengthGivesInitAndEmptyYs) {
  auto step = [](Tensor c, Tensor x) { return std::pair(c + x, x); };
  auto [last, ys] = scan(step, scalar<float>(7.f), zeros({0}));
  EXPECT_EQ(last.item<float>(), 7);
  EXPECT_EQ(ys.shape(), Shape(f32, {0}));
}

TEST(Scan, CapturedTensorIsOneMoreOperand) {
  Tensor w = scalar<float>(10.f);
  auto step = [&](Tensor c, Tensor x) { return std::pair(c + x * w + w, None{}); };
  auto [last, ys] = scan(step, scalar<float>(0.f), array<float>({1, 2}));
  EXPECT_EQ(last.item<float>(), 50);
}

TEST(Scan, CapturesStayWithTheirValuesInWhateverOrderTheyAreUsed) {
  const Tensor two = array({2.0, 2.0}), three = array({1.0, 1.0, 1.0});
  auto step = [&](Tensor sum_so_far, Tensor x) {
    Tensor last = x * sum(three);
    Tensor first = sum_so_far + sum(two);
    return std::pair(first + last, three);
  };
  const auto [total, threes] = scan(step, scalar(0.0), array({1.0, 2.0}));
  EXPECT_EQ(total.item<float>(), 2 * 4 + 3 * (1 + 2));
  EXPECT_EQ(threes.to_vector<float>(), std::vector<float>(6, 1));
}

TEST(Scan, CarryMismatchNamesPathAndBothTypes) {
  auto step = [](Tensor c, Tensor x) { return std::pair(c + stack({x, x}), None{}); };
  try {
    scan(step, scalar<float>(0.f), array<float>({1, 2}));
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(),
                HasSubstr("scan: carry enters as f32[] and leaves as f32[2] (shapes differ)"));
    EXPECT_THAT(e.what(), HasSubstr("scan_test.cc:"));
  }
}

TEST(Scan, ACarryThatGrowsIsToldWhereItsPartsGo) {
  auto step = [](Tensor c, Tensor x) { return std::pair(concat({c, reshape(x, {1})}), None{}); };
  try {
    scan(step, zeros({1}), array<float>({1, 2}));
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(
        e.what(),
        HasSubstr("carry enters as f32[1] and leaves as f32[2] (shapes differ); start it as "
                  "what leaves or, where it grows at each step, return what is new as y"));
  }
}

TEST(Loops, ACarryThatGrowsIsToldToStartWithItsLastSize) {
  const auto twice = [](Tensor c) { return concat({c, c}); };
  EXPECT_THAT(error_of([&] { while_loop([](Tensor c) { return all(c < 3); }, twice, ones({2})); }),
              HasSubstr("while_loop: carry enters as f32[2] and leaves as f32[4] (shapes differ); "
                        "start it as what leaves or, where it grows at each step, start it with "
                        "its last size and write with at(i).set"));
}

TEST(Scan, TooLongAnUnrollIsToldInTheUsersWords) {
  auto step = [](Tensor c, None) { return std::pair(c + 1.0, None{}); };
  try {
    scan(step, scalar(0.0f), None{}, {.length = 1'000'000, .unroll = 70'000});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("scan: its unroll makes 90000 of 1000000 steps stand without a "
                                    "loop; they must be at most 65536, unroll less"));
  }
}

// That fn traces so often, and compiles and moves nothing. Returns what it does.
template <class Fn>
Counters expect_traces(int64_t count, const Fn& fn) {
  const Counters before = counters();
  fn();
  const Counters done = counters() - before;
  EXPECT_EQ(done.traces, count);
  EXPECT_EQ(done.lowerings + done.compiles, 0);
  EXPECT_EQ(done.uploads + done.downloads, 0);
  return done;
}

TEST(Scan, SecondCallOfAFunctionDoesNothingBehindTheBack) {
  Function step("step", [](Tensor c, Tensor x) { return std::pair(tanh(c) + x, None{}); });
  Tensor init = scalar<float>(0.f);
  Tensor xs = array<float>({1, 2, 3});
  scan(step, init, xs);
  const Counters done = expect_traces(0, [&] { scan(step, init, xs); });
  EXPECT_EQ(done.combine_hits, 1);
}

TEST(Scan, EqualButDistinctLambdaIsTracedAndNothingElse) {
  Tensor init = scalar<float>(0.f);
  Tensor xs = array<float>({1, 2, 3});
  auto first = [](Tensor c, Tensor x) { return std::pair(sin(c) + x, None{}); };
  auto second = [](Tensor carry, Tensor row) { return std::pair(sin(carry) + row, None{}); };
  scan(first, init, xs);
  expect_traces(1, [&] { scan(second, init, xs); });
}

TEST(While, CountsDown) {
  Tensor out =
      while_loop([](Tensor c) { return c > 0; }, [](Tensor c) { return c - 3; }, scalar<int>(10));
  EXPECT_EQ(out.item<int>(), -2);
}

TEST(Fori, StaticAndDynamicBoundsAgree) {
  auto body = [](Tensor i, Tensor v) { return v * 2 + i; };
  Tensor a = fori_loop(2, 6, body, scalar<int>(1));
  Tensor b = fori_loop(2, scalar<int>(6), body, scalar<int>(1));
  EXPECT_EQ(a.item<int>(), 57);
  EXPECT_EQ(b.item<int>(), 57);
}

TEST(Fori, RefusesBoundsBeyondS64) {
  auto body = [](Tensor, Tensor v) { return v; };
  EXPECT_THAT(error_of([&] { fori_loop(0, size_t{0} - 1, body, scalar<int>(1)); }),
              HasSubstr("fori_loop: high is the C++ number 18446744073709551615; it must be an "
                        "integer that s64 holds"));
}

TEST(Cond, TakesOneBranch) {
  Tensor x = scalar<float>(3.f);
  auto pick = [&](bool p) {
    return cond(
               scalar<bool>(p), [](Tensor t) { return t + 1; }, [](Tensor t) { return t * 10; }, x)
        .item<float>();
  };
  EXPECT_EQ(pick(true), 4);
  EXPECT_EQ(pick(false), 30);
}

TEST(SwitchCase, ClampsTheIndex) {
  auto run = [](int i) {
    auto branches = std::tuple([](Tensor t) { return t; }, [](Tensor t) { return t + 1; },
                               [](Tensor t) { return t + 2; });
    return switch_case(scalar<int>(i), branches, scalar<int>(0)).item<int>();
  };
  EXPECT_EQ(run(-5), 0);
  EXPECT_EQ(run(1), 1);
  EXPECT_EQ(run(9), 2);
}

TEST(AssociativeScan, EqualsRunningSum) {
  Tensor x = array<float>({1, 2, 3, 4, 5, 6, 7});
  Tensor out = associative_scan([](Tensor a, Tensor b) { return a + b; }, x);
  EXPECT_THAT(out.to_vector<float>(), ElementsAre(1, 3, 6, 10, 15, 21, 28));
  EXPECT_THAT(cumsum(x).to_vector<float>(), ElementsAre(1, 3, 6, 10, 15, 21, 28));
}

// Two vectors of 1000 numbers whose sums and products round. Expected: the sums of the elements'
// bits that jax 0.10.2 gives on a CPU.
TEST(Cumulative, SumsAndProductsHaveTheBitsOfJax) {
  const Tensor x = 1.0 / (arange(1000) + 1).astype(f32), near_one = 1.0 + x / 64.0;
  const auto bits = [](const Tensor& t) {
    uint64_t total = 0;
    for (uint32_t word : bitcast_convert(t, u32).to_vector<uint32_t>()) total += word;
    return total;
  };
  EXPECT_EQ(bits(cumsum(x)), 1087296697025U);
  EXPECT_EQ(bits(cumsum(x, 0, /*reverse=*/true)), 1057936418696U);
  EXPECT_EQ(bits(cumprod(near_one)), 1066248122301U);
  EXPECT_EQ(bits(cumprod(near_one, 0, /*reverse=*/true)), 1065486327679U);
}

// Added one after the other they would stay at 256.
TEST(Cumulative, ManySmallFloatsAreNotLost) {
  EXPECT_EQ(cumsum(ones({4096}, bf16))[-1].item<double>(), 4096);
  EXPECT_EQ(cumsum(ones({4096}, f16), 0, true)[0].item<double>(), 4096);
  EXPECT_EQ(cumlogsumexp(zeros({1000}, bf16))[-1].item<double>(), 6.90625);
  EXPECT_EQ(cumlogsumexp(zeros({5000}, f16))[-1].item<double>(), 8.515625);
  const double whole = cumlogsumexp(zeros({1000}), 0, /*reverse=*/true)[0].item<double>();
  EXPECT_NEAR(whole, std::log(1000.0), 1e-6);
}

TEST(Cumulative, AlongAnyAxisAndLengthAreRunningResults) {
  for (const int64_t n : {1, 2, 15, 16, 17, 33, 256, 300}) {
    const Tensor x = rem(iota(s32, {2, n, 3}, 1) * 7 + iota(s32, {2, n, 3}, 2), 5) + 1;
    for (const bool reverse : {false, true}) {
      // These do not depend on the order.
      Tensor sums = cumsum(x, 1, reverse), greatest = cummax(x, 1, reverse);
      EXPECT_EQ(sums.to_literal(), cumsum(x.astype(f32), 1, reverse).astype(s32).to_literal());
      const std::vector<int> in = x.to_vector<int>(), sum = sums.to_vector<int>(),
                             most = greatest.to_vector<int>();
      for (int64_t lane = 0; lane < 6; ++lane) {
        int total = 0, top = 0;
        for (int64_t step = 0; step < n; ++step) {
          const int64_t row = reverse ? n - 1 - step : step;
          const auto i = static_cast<size_t>((lane / 3 * n + row) * 3 + lane % 3);
          ASSERT_EQ(sum[i], total += in[i]) << n << " " << i;
          ASSERT_EQ(most[i], top = std::max(top, in[i])) << n << " " << i;
        }
      }
    }
  }
}

TEST(Map, AppliesToEachRow) {
  Tensor out = map([](Tensor row) { return sum(row); }, array<float>({{1, 2}, {3, 4}}));
  EXPECT_THAT(out.to_vector<float>(), ElementsAre(3, 7));
}

TEST(Nesting, AFunctionThatCallsItselfIsAnError) {
  std::function<Tensor(Tensor)> self;
  const Function f("f", [&](Tensor a) { return self(a); });
  const auto same = [](Tensor a) { return a; };
  self = [&](Tensor a) { return cond(sum(a) > 0.0, f, same, a); };
  EXPECT_THAT(error_of([&] { (void)self(ones({3})); }),
              HasSubstr("cond: Function f calls itself, with arguments of the same types; nothing "
                        "would end that: use while_loop or scan"));
  self = [&](Tensor a) { return sum(map(f, a)); };  // of one dimension less each time
  const auto ends = [&](Tensor a) { return a.shape().rank() == 0 ? a : sum(map(f, a)); };
  self = ends;
  EXPECT_EQ(self(ones({2, 3})).item<float>(), 6);
}

TEST(Nesting, OfTracesHasALimit) {
  int depth = 0, most = 200;
  std::function<Tensor(Tensor)> nested = [&](Tensor a) {
    return ++depth > most ? a : map(nested, expand_dims(a, 0))[0] + 1.0;
  };
  EXPECT_EQ(nested(zeros({})).item<float>(), 200);
  depth = 0;
  most = 100000;
  EXPECT_THAT(error_of([&] { (void)nested(zeros({})); }),
              HasSubstr("map: is called in 300 traces inside each other, which is the most; a "
                        "function that calls itself without an end reaches any number: use "
                        "while_loop or scan"));
  EXPECT_EQ(trace_internal::Recorder::current(), nullptr);
  EXPECT_EQ(map([](Tensor a) { return a + 1.0; }, zeros({2}))[0].item<float>(), 1);
}

}  // namespace
}  // namespace heddle
