// What the combine cache promises: hits do nothing, what differs misses, collisions and threads
// give right results.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "heddle/heddle.h"
#include "heddle/runtime/cache/program_cache.h"
#include "heddle/scan/combine_cache.h"
#include "heddle/scan/ready_scans.h"
#include "heddle/testing.h"

namespace heddle {
namespace {

constexpr auto kStep = [](Tensor c, Tensor x) {
  Tensor next = c + x;
  return std::pair(next, next);
};

TEST(CombineCache, AnotherDtypeLengthOrOptionIsCompiled) {
  Tensor zero = scalar<float>(0), xs = ones({4});
  const Tensor wide_zero = scalar<double>(0), wide = ones({4}, f64);
  scan(kStep, zero, xs);
  EXPECT_EQ(effects_of([&] { scan(kStep, wide_zero, wide); }).compiles, 1);
  EXPECT_GE(effects_of([&] { scan(kStep, zero, ones({5})); }).compiles, 1);
  EXPECT_EQ(effects_of([&] { scan(kStep, zero, xs, {.reverse = true}); }).compiles, 1);
  EXPECT_EQ(effects_of([&] { scan(kStep, zero, xs, {.unroll = 2}); }).compiles, 1);
}

// A square of xs, which fits along either axis.
TEST(CombineCache, AnotherAxisIsAnotherProgram) {
  const auto step = [](Tensor c, Tensor x) { return std::pair(c * 10.0 + x, None{}); };
  const Tensor zero = zeros({2}), xs = array<float>({{1, 2}, {3, 4}});
  EXPECT_EQ(scan(step, zero, xs).first.to_vector<float>(), (std::vector<float>{13, 24}));
  EXPECT_EQ(effects_of([&] {
              EXPECT_EQ(scan(step, zero, xs, {.axis = 1}).first.to_vector<float>(),
                        (std::vector<float>{12, 34}));
            }).compiles,
            1);
  EXPECT_EQ(scan(step, zero, xs, {.axis = -2}).first.to_vector<float>(),
            (std::vector<float>{13, 24}));
  expect_zero_compiles([&] { scan(step, zero, xs, {.axis = 1}); });
}

TEST(CombineCache, AnotherCapturedShapeIsAnotherComputation) {
  Tensor xs = ones({3});
  auto run = [&](const Tensor& w) {
    return scan([&](Tensor c, Tensor x) { return std::pair(c + x * sum(w), None{}); },
                scalar<float>(0), xs)
        .first;
  };
  Tensor small = ones({2}), large = ones({5});
  run(small);
  EXPECT_EQ(effects_of([&] { run(small); }).compiles, 0);
  EXPECT_EQ(effects_of([&] { EXPECT_EQ(run(large).item<float>(), 15); }).compiles, 1);
}

TEST(CombineCache, AnotherValueOfTheSameCapturedShapeIsNeverStale) {
  Tensor xs = ones({3});
  auto run = [&](float w) {
    Tensor weight = scalar<float>(w);
    return scan([&](Tensor c, Tensor x) { return std::pair(c + x * weight, None{}); },
                scalar<float>(0), xs)
        .first.item<float>();
  };
  EXPECT_EQ(run(2), 6);
  EXPECT_EQ(run(5), 15);
}

// Loops and choices outside of a trace are found by what their functions are now.
TEST(CombineCache, NumbersInBodiesConditionsAndBranchesAreNeverStale) {
  const Tensor zero = scalar<float>(0), one = scalar<int>(1);
  auto loop = [&](float step, float limit) {
    return while_loop([&](Tensor c) { return c < limit; }, [&](Tensor c) { return c + step; }, zero)
        .item<float>();
  };
  using Branch = std::function<Tensor(Tensor)>;
  auto choose = [&](float number) {
    const std::vector<Branch> branches{[=](Tensor x) { return x + number; },
                                       [=](Tensor x) { return x - number; }};
    return switch_case(one, branches, zero).item<float>();
  };
  auto total = [&](float number) {
    return reduce(
               {ones({3})}, {zero},
               [&](std::span<const Tensor> a) { return std::vector<Tensor>{a[0] + a[1] * number}; },
               {0})[0]
        .item<float>();
  };
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(loop(2, 5), 6);
    EXPECT_EQ(loop(2, 7), 8);
    EXPECT_EQ(loop(3, 7), 9);
    EXPECT_EQ(choose(2), -2);
    EXPECT_EQ(choose(5), -5);
    EXPECT_EQ(total(2), 6);
    EXPECT_EQ(total(5), 15);
  }
}

// The state of the loop's tuple follows what is captured, in its order.
TEST(CombineCache, ALoopOnOtherCapturesIsAnotherLoop) {
  const Tensor zero = scalar<float>(0), a = scalar<float>(1), b = scalar<float>(10);
  auto run = [&](const Tensor& step, const Tensor& limit) {
    return while_loop([&](Tensor c) { return c < limit; }, [&](Tensor c) { return c + step; }, zero)
        .item<float>();
  };
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(run(a, b), 10);
    EXPECT_EQ(run(b, a), 10);
    EXPECT_EQ(run(a, a), 1);
    EXPECT_EQ(run(b, b), 10);
  }
}

TEST(CombineCache, OneTensorAsTwoLeavesDoesNotFixThemTogether) {
  auto step = [](std::pair<Tensor, Tensor> c, Tensor x) {
    return std::pair(std::pair(c.first + x, c.second * 2), None{});
  };
  Tensor one = scalar<float>(1), xs = ones({2});
  scan(step, std::pair(one, one), xs);
  auto out = scan(step, std::pair(one, scalar<float>(10)), xs).first;
  EXPECT_EQ(out.first.item<float>(), 3);
  EXPECT_EQ(out.second.item<float>(), 40);
}

// What a callable reads is no part of its type: each of these promises nothing.
double rate = 2;
std::pair<Tensor, None> plain_step(Tensor c, Tensor x) { return {c + rate * x, None{}}; }
Tensor plain_body(Tensor, Tensor value) { return value + rate; }
Tensor plain_branch(Tensor x) { return x * rate; }

TEST(ChangedGlobal, IsSeenByEachLoopThatReadsIt) {
  const Tensor xs = ones({3}), zero = zeros({});
  const auto lambda = [](Tensor c, Tensor x) { return std::pair(c + rate * x, None{}); };
  const auto twice = [](Tensor x) { return x * (rate + 1); };
  static double local = 1;
  const auto of_a_static = [](Tensor c, Tensor x) { return std::pair(c + local * x, None{}); };
  struct Loop {
    const char* name;
    std::function<Tensor()> run;
    std::array<float, 3> expected;  // with a rate of 2, 10, 10
  };
  const Loop loops[] = {
      {"scan", [&] { return scan(lambda, zero, xs).first; }, {6, 30, 30}},
      {"plain scan", [&] { return scan(plain_step, zero, xs).first; }, {6, 30, 30}},
      {"pointer", [&] { return scan(&plain_step, zero, xs).first; }, {6, 30, 30}},
      {"fori_loop", [&] { return fori_loop(0, 3, plain_body, zero); }, {6, 30, 30}},
      {"while_loop",
       [&] {
         return while_loop([](Tensor c) { return c < rate; }, [](Tensor c) { return c + rate; },
                           zero);
       },
       {2, 10, 10}},
      {"cond", [&] { return cond(true, plain_branch, twice, ones({})); }, {2, 10, 10}},
      {"switch_case",
       [&] { return switch_case(1, std::tuple(&plain_branch, twice), ones({})); },
       {3, 11, 11}},
      {"map", [&] { return map(plain_branch, xs)[0]; }, {2, 10, 10}},
      {"scan_layers",
       [&] { return scan_layers([](Tensor w, Tensor x) { return x + w * rate; }, xs, zero); },
       {6, 30, 30}},
      {"associative_scan",
       [&] { return associative_scan([](Tensor a, Tensor b) { return a * rate + b * 0; }, xs)[1]; },
       {2, 10, 10}},
      {"trace", [&] { return trace(plain_branch, xs).call<Tensor>(xs)[0]; }, {2, 10, 10}},
      {"reduce",
       [&] {
         return reduce(
             {xs}, {zero},
             [](std::span<const Tensor> t) { return std::vector<Tensor>{t[0] + t[1] * 0 + rate}; },
             {0})[0];
       },
       {6, 30, 30}},
      {"static of a function", [&] { return scan(of_a_static, zero, xs).first; }, {6, 15, 15}}};
  for (const Loop& loop : loops) {
    rate = 2, local = 2;
    EXPECT_EQ(loop.run().item<float>(), loop.expected[0]) << loop.name;
    rate = 10, local = 5;
    EXPECT_EQ(loop.run().item<float>(), loop.expected[1]) << loop.name;
    // The same value once more: traced, and nothing else.
    expect_nothing_but_traces([&] { loop.run(); });
    EXPECT_EQ(loop.run().item<float>(), loop.expected[2]) << loop.name;
  }
}

// The trace of one place is compared with the last one there, which differs each time.
TEST(ChangedGlobal, OfACallThatGoesBackAndForthIsNeverStale) {
  const Tensor xs = ones({3}), zero = zeros({});
  const auto step = [](Tensor c, Tensor x) {
    return std::pair(rate > 5 ? c - x : c + x * rate, None{});
  };
  for (int round = 0; round < 3; ++round) {
    for (double now : {1.0, 7.0, 2.0}) {
      rate = now;
      EXPECT_EQ(scan(step, zero, xs).first.item<float>(), now > 5 ? -3 : 3 * now);
    }
  }
}

TEST(ChangedGlobal, IsReadOnceByAFunctionAsItPromises) {
  const Tensor xs = ones({3}), zero = zeros({});
  const Function step("step", plain_step);
  rate = 2;
  EXPECT_EQ(scan(step, zero, xs).first.item<float>(), 6);
  rate = 10;
  EXPECT_EQ(scan(step, zero, xs).first.item<float>(), 6);
}

// A replayed trace stops where a tensor has another type, and captures are taken in their order.
TEST(Replay, OfOneLambdaOnOtherTensorsIsRight) {
  const auto run = [](const Tensor& a, const Tensor& b, const Tensor& xs) {
    return scan([&](Tensor c, Tensor x) { return std::pair(c + x * sum(a) - sum(b), None{}); },
                zeros({}, xs.dtype()), xs)
        .first.item<double>();
  };
  const Tensor one = ones({1}), two = ones({2}), xs = ones({3});
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(run(one, two, xs), 3 - 6);
    EXPECT_EQ(run(two, one, xs), 6 - 3);
    EXPECT_EQ(run(two, two, xs), 0);
    EXPECT_EQ(run(ones({1}, f64), ones({2}, f64), ones({4}, f64)), 4 - 8);
  }
}

TEST(Replay, OfABodyThatLoopsItselfIsRight) {
  const Tensor xs = ones({2, 3}), zero = zeros({});
  const auto run = [&](double factor) {
    const auto inner = [&](Tensor c, Tensor x) { return std::pair(c + x * factor, c); };
    const auto outer = [&](Tensor c, Tensor row) {
      return std::pair(c + scan(inner, zero, row).first, None{});
    };
    return scan(outer, zero, xs).first.item<float>();
  };
  for (double factor : {1.0, 1.0, 3.0, 1.0, 3.0}) EXPECT_EQ(run(factor), 6 * factor);
}

// One computation of parameters that are once a counter and once an x; once an x, once captured.
TEST(CombineCache, OneBodyOfOtherInputsIsAnotherProgram) {
  for (bool counted_first : {true, false}) {
    clear_combine_cache();
    const Tensor zero = zeros({});
    const auto counted = [&] {
      const auto step = [](Tensor c, None) { return std::pair(c + 1, None{}); };
      EXPECT_EQ(scan(step, zero, None{}, {.length = 4}).first.item<float>(), 4);
    };
    const auto given = [&] {
      const auto step = [](Tensor c, Tensor) { return std::pair(c + 1, None{}); };
      EXPECT_EQ(scan(step, zero, arange(4)).first.item<float>(), 4);
    };
    for (bool is_counted : {counted_first, !counted_first}) is_counted ? counted() : given();
  }
  using Two = std::pair<Tensor, Tensor>;
  const Tensor start = ones({}), a = ones({3}), k = full({}, 2.0f);
  const auto both = [](Tensor c, Two x) { return std::pair(c, x.first + x.second * c); };
  const auto captured = [&](Tensor c, Tensor x) { return std::pair(x + c * k, None{}); };
  EXPECT_EQ(scan(both, start, Two(a, a)).second.to_vector<float>(), (std::vector<float>{2, 2, 2}));
  EXPECT_EQ(scan(captured, start, a).first.item<float>(), 1 + 2 * (1 + 2 * 3));
}

// Instructions of a combine are pasted, and are not what one records.
TEST(Replay, OfACombineThatIsThenRecordedIsRight) {
  const auto f = [](Tensor a, Tensor b) { return a + b * sum(b); };
  bool is_direct = false;
  const SourceLocation at = SourceLocation::here();  // both record their slices on one line
  const auto step = [&](Tensor c, Tensor x) {
    Tensor y;
    if (is_direct) {
      const Tensor left = slice_in_dim({x, at}, 0, 1), right = slice_in_dim({x, at}, 1, 2);
      y = f(left, right);
    } else {
      y = slice_in_dim(associative_scan(f, x, {}, at), 1, 2);
    }
    return std::pair(c + sum(y), None{});
  };
  const Tensor zero = zeros({}), xs = full({3, 2}, 2.0f);
  for (bool direct : {false, true, false, true}) {
    is_direct = direct;
    EXPECT_EQ(scan(step, zero, xs).first.item<float>(), 3 * (2 + 2 * 2)) << direct;
  }
}

// What runs when the tables of the thread are gone is recorded.
struct RunsAtItsEnd {
  Tensor x;
  float* out = nullptr;
  ~RunsAtItsEnd() { *out = (x + scan(plain_step, zeros({}), ones({3})).first).item<float>(); }
};

TEST(Replay, IsLeftWhenAThreadEnds) {
  rate = 2;
  float out = 0;
  std::thread([&] {
    thread_local RunsAtItsEnd last{ones({}), &out};
    static_cast<void>((last.x + 1).wait());
    scan(plain_step, zeros({}), ones({3}));
  }).join();
  EXPECT_EQ(out, 7);
}

TEST(Replay, OfALongBodyIsRight) {
  const Tensor zero = zeros({}), xs = ones({2});
  for (int ops : {600, 601, 600}) {
    const auto step = [&](Tensor c, Tensor x) {
      for (int i = 0; i < ops; ++i) c = c + x;
      return std::pair(c, None{});
    };
    EXPECT_EQ(scan(step, zero, xs).first.item<float>(), 2 * ops);
  }
}

TEST(Replay, GoesOnBehindAnErrorThatIsCaught) {
  const Tensor zero = zeros({}), xs = ones({2});
  for (bool is_wrong : {false, true, false, true}) {
    const auto step = [&](Tensor c, Tensor x) {
      Tensor next = c + x;
      try {
        if (is_wrong) static_cast<void>(next + ones({2, 3}, f64));
      } catch (const Error&) {
        next = next * 2;
      }
      return std::pair(next, None{});
    };
    EXPECT_EQ(scan(step, zero, xs).first.item<float>(), is_wrong ? 6 : 2);
  }
}

TEST(CombineCache, NamedFunctionIsTracedOnceAndKeepsItsCaptures) {
  Tensor w = scalar<float>(3);
  Function step("step", [w](Tensor c, Tensor x) { return std::pair(c + w * x, None{}); });
  Tensor zero = scalar<float>(0), xs = ones({4});
  scan(step, zero, xs);
  Counters done = effects_of([&] { EXPECT_EQ(scan(step, zero, xs).first.wait().dtype(), f32); });
  EXPECT_EQ(done.traces + done.lowerings + done.compiles + done.uploads + done.downloads, 0);
  EXPECT_EQ(scan(step, zero, xs).first.item<float>(), 12);
}

// All hashes are one while it lives, and the caches begin empty.
class Collisions {
 public:
  Collisions() {
    clear_combine_cache();
    scan_internal::force_combine_hash_for_testing(&kSame);
    runtime::program_cache().set_hash_for_testing([](const hlo::Module&) { return kSame; });
  }
  ~Collisions() {
    scan_internal::force_combine_hash_for_testing(nullptr);
    runtime::program_cache().set_hash_for_testing(&hlo::hash_of);
    clear_combine_cache();
  }

 private:
  static constexpr base::Hash128 kSame{1, 1};
};

TEST(CombineCache, CollisionOfStructuresGivesTheRightComputation) {
  const Collisions collisions;
  float bias = 0;
  Tensor xs = ones({3});
  auto plus = [&](Tensor c, Tensor x) { return std::pair(c + x + bias, None{}); };
  auto minus = [&](Tensor c, Tensor x) { return std::pair(c - x - bias, None{}); };
  EXPECT_EQ(scan(plus, scalar<float>(0), xs).first.item<float>(), 3);
  EXPECT_EQ(scan(minus, scalar<float>(0), xs).first.item<float>(), -3);
  EXPECT_EQ(scan(plus, scalar<float>(1), xs).first.item<float>(), 4);
}

// Level 1 answers inside of traces, and outside too.
TEST(CombineCache, CollisionOfPromisesGivesTheRightComputation) {
  const Collisions collisions;
  const Function plus("plus", [](Tensor c, Tensor x) { return std::pair(c + x, None{}); });
  const Function minus("minus", [](Tensor c, Tensor x) { return std::pair(c - x, None{}); });
  const Tensor zero = zeros({}), xs = ones({3}), longer = ones({5});
  for (int round = 0; round < 2; ++round) {
    const auto both = [&](Tensor c, Tensor x) {
      return std::pair(scan(plus, c, x).first, scan(minus, c, x).first);
    };
    const auto [up, down] = trace(both, zero, xs).call<std::pair<Tensor, Tensor>>(zero, xs);
    EXPECT_EQ(up.item<float>(), 3);
    EXPECT_EQ(down.item<float>(), -3);
    EXPECT_EQ(scan(plus, zero, xs).first.item<float>(), 3);
    EXPECT_EQ(scan(minus, zero, xs).first.item<float>(), -3);
    EXPECT_EQ(scan(plus, zero, longer).first.item<float>(), 5);
    EXPECT_EQ(scan(plus, zero, xs, {.reverse = true}).first.item<float>(), 3);
    EXPECT_EQ(scan(plus, zeros({}, f64), ones({3}, f64)).first.dtype(), f64);
  }
  EXPECT_GE(combine_cache_size().first, 3u);  // one hash, several entries
  EXPECT_GE(scan_internal::ready_scan_count(), 5u);
}

TEST(ProgramCache, CollisionOfProgramsGivesTheRightOne) {
  const Collisions collisions;
  const Tensor x = scalar<float>(3);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ((x + 1.25).item<float>(), 4.25f);
    EXPECT_EQ((x * 1.25).item<float>(), 3.75f);
    EXPECT_EQ(exp(x - 3.0).item<float>(), 1);
  }
}

constexpr size_t kFew = 4;

// Functions, each another one.
auto numbered(int number) {
  return Function("numbered", [number](Tensor c, Tensor x) {
    return std::pair(c + x * (500 + number), None{});
  });
}

TEST(CombineCache, LevelsAndWholeScansAreBounded) {
  const size_t capacity = combine_cache_capacity();
  clear_combine_cache();
  set_combine_cache_capacity(kFew);
  const Tensor zero = zeros({}), xs = ones({2});
  std::vector<decltype(numbered(0))> steps;
  for (int i = 0; i < 12; ++i) {
    steps.push_back(numbered(i));
    scan(steps.back(), zero, xs);
  }
  EXPECT_EQ(combine_cache_size(), std::pair(kFew, kFew));
  EXPECT_EQ(scan_internal::ready_scan_count(), kFew);
  // The last ones are there, the first went.
  expect_nothing_behind_my_back([&] { scan(steps[11], zero, xs); });
  EXPECT_EQ(effects_of([&] { scan(steps[0], zero, xs); }).traces, 1);
  for (int i = 0; i < 12; ++i) {
    scan([i](Tensor c, Tensor x) { return std::pair(c + x + 1000 + i, None{}); }, zero, xs);
  }
  EXPECT_EQ(combine_cache_size().second, kFew);
  set_combine_cache_capacity(1 << 20);
  EXPECT_EQ(combine_cache_capacity(), size_t{1} << 20);
  EXPECT_THROW(set_combine_cache_capacity(-1), Error);
  set_combine_cache_capacity(capacity);
}

TEST(ProgramCache, IsBounded) {
  runtime::ProgramCache& cache = runtime::program_cache();
  const size_t capacity = cache.capacity();
  EXPECT_LE(cache.size(), capacity);
  cache.set_capacity(kFew);
  const auto run = [](int64_t size) { return sum(full({size}, 2000)).item<float>(); };
  for (int i = 1; i <= 12; ++i) EXPECT_EQ(run(i), 2000 * i);
  EXPECT_EQ(cache.size(), kFew);
  EXPECT_EQ(effects_of([&] { run(12); }).lowerings, 0);
  EXPECT_GT(effects_of([&] { run(1); }).lowerings, 0) << "it was dropped";
  cache.set_capacity(capacity);
}

TEST(CombineCache, ThreadsTraceAndScanAtOnce) {
  std::array<float, 4> results{};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&results, t] {
      for (int i = 0; i < 50; ++i) {
        Tensor w = scalar<float>(static_cast<float>(t));
        auto step = [&](Tensor c, Tensor x) { return std::pair(c + x * w, None{}); };
        results[t] = scan(step, scalar<float>(0), ones({4})).first.item<float>() +
                     scan(kStep, scalar<float>(0), ones({3})).first.item<float>();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < results.size(); ++t) EXPECT_EQ(results[t], 4 * static_cast<float>(t) + 3);
}

// ----- conditionals that run at once, whose programs are found by their branches

TEST(EagerConditionals, AreCompiledOnceAndStillRunTheirLambdas) {
  const Tensor x = array<float>({1, 2}), yes = scalar(1.0f) < 2.0f, no = scalar(2.0f) < 1.0f;
  float number = 10;
  bool subtracts = false;
  const auto run = [&](const Tensor& which, const Tensor& added) {
    return cond(
               which, [&](Tensor c) { return subtracts ? c - added : c + added; },
               [&](Tensor c) { return c * number; }, x)
        .to_vector<float>();
  };
  const Tensor one = ones({2}), two = one + one;
  using Floats = std::vector<float>;
  EXPECT_EQ(run(yes, one), (Floats{2, 3}));
  EXPECT_EQ(effects_of([&] {
              EXPECT_EQ(run(no, one), (Floats{10, 20}));
              EXPECT_EQ(run(yes, two), (Floats{3, 4})) << "another tensor is captured";
              EXPECT_EQ(run(yes, x), (Floats{2, 4})) << "the operand is captured too";
            }).compiles,
            0);
  number = 20;
  EXPECT_EQ(run(no, one), (Floats{20, 40}));
  number = 30;
  expect_zero_compiles([&] { EXPECT_EQ(run(no, one), (Floats{30, 60})); });
  subtracts = true;
  EXPECT_EQ(run(yes, one), (Floats{0, 1}));
  subtracts = false;
  expect_zero_compiles([&] { EXPECT_EQ(run(yes, one), (Floats{2, 3})); });
}

TEST(EagerConditionals, OfOneBodyDifferByWhatIsAnOperand) {
  const Tensor yes = scalar(1.0f) < 2.0f, a = scalar(3.0f), b = scalar(5.0f);
  for (int i = 0; i < 3; ++i) {
    const Tensor captured = cond(
        yes, [&](Tensor c) { return c - b; }, [&](Tensor c) { return c + b; }, a);
    const Tensor given = cond(
        yes, [](Tensor c, Tensor d) { return c - d; }, [](Tensor c, Tensor d) { return c + d; }, a,
        b);
    EXPECT_EQ(captured.item<float>(), -2);
    EXPECT_EQ(given.item<float>(), -2);
  }
}

TEST(EagerConditionals, ClampTheIndexOfASwitch) {
  const auto run = [](const Tensor& index) {
    return switch_case(
               index,
               std::tuple([](Tensor c) { return c + 1.0f; }, [](Tensor c) { return c * 2.0f; },
                          [](Tensor c) { return c - 1.0f; }),
               scalar(10.0f))
        .item<float>();
  };
  for (const int32_t index : {-5, 0, 1, 2, 7, 1}) {
    const float wanted = index <= 0 ? 11 : index == 1 ? 20 : 9;
    EXPECT_EQ(run(scalar<int32_t>(index)), wanted) << index;
    EXPECT_EQ(run(scalar<int64_t>(index)), wanted) << index << " of s64";
  }
}

}  // namespace
}  // namespace heddle
