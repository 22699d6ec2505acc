// The behaviours that JAX's lax_control_flow_test checks, groups A (arguments), B (while), D
// (fori), E (cond and switch), H (scan) and K (associative_scan), by their numbers in the list of
// docs/behaviours.md. Those that wait, and those that types rule out, are there.
#include <map>
#include <numeric>

#include "heddle/base/support_test.h"
#include "heddle/heddle.h"
#include "heddle/tests/support/outcomes.h"

namespace heddle {
namespace {

using Map = std::map<std::string, Tensor>;
using List = std::vector<Tensor>;

constexpr auto kSum = [](Tensor c, Tensor x) {
  Tensor next = c + x;
  return std::pair(next, next);
};

// B. while.

TEST(Jax, N032_TupleStateCounts) {
  auto out = while_loop(
      [](std::pair<Tensor, Tensor> c) { return c.first < 5; },
      [](std::pair<Tensor, Tensor> c) { return std::pair(c.first + 1, c.second + c.first); },
      std::pair(scalar<int>(0), scalar<int>(0)));
  EXPECT_EQ(out.second.item<int>(), 10);
}

TEST(Jax, N033_ManyCarryLeaves) {
  List init;
  for (int i = 0; i < 256; ++i) init.push_back(scalar<int>(i));
  List out = while_loop([](List c) { return c[0] < 3; },
                        [](List c) {
                          for (Tensor& leaf : c) leaf = leaf + 1;
                          return c;
                        },
                        init);
  EXPECT_EQ(out[255].item<int>(), 258);
}

TEST(Jax, N034_NestedWhilesExchangeState) {
  auto outer = [](std::pair<Tensor, Tensor> c) {
    Tensor inner = while_loop([&](Tensor j) { return j < c.first; }, [](Tensor j) { return j + 1; },
                              zeros({}, s32));
    return std::pair(c.first + 1, c.second + inner);
  };
  auto out = while_loop([](std::pair<Tensor, Tensor> c) { return c.first < 4; }, outer,
                        std::pair(scalar<int>(0), scalar<int>(0)));
  EXPECT_EQ(out.second.item<int>(), 6);
}

TEST(Jax, N035_CapturedLimitsAreTracedOnce) {
  int runs = 0;
  Program program = trace(
      [&](Tensor limit, Tensor step) {
        return while_loop([&](Tensor c) { return c < limit; },
                          [&](Tensor c) {
                            ++runs;
                            return c + step;
                          },
                          zeros({}, s32));
      },
      scalar<int>(7), scalar<int>(2));
  EXPECT_EQ(program.call<Tensor>(scalar<int>(7), scalar<int>(2)).item<int>(), 8);
  EXPECT_EQ(program.call<Tensor>(scalar<int>(9), scalar<int>(3)).item<int>(), 9);
  EXPECT_EQ(runs, 1);
}

TEST(Jax, N037_NestedLoopsWithUpdatesBuildATriangle) {
  Tensor out = fori_loop(
      0, 3,
      [](Tensor i, Tensor m) {
        return fori_loop(
            scalar<int>(0), i + 1,
            [&](Tensor j, Tensor n) {
              return at(n, {i, j}).set(1);
            },
            m);
      },
      zeros({3, 3}, s32));
  EXPECT_THAT(out.to_vector<int>(), ElementsAre(1, 0, 0, 1, 1, 0, 1, 1, 1));
}

TEST(Jax, N038_ConjunctiveCondition) {
  for (int steps : {0, 5, 10, 15}) {
    Tensor xs = arange(10);
    auto out =
        while_loop([&](std::pair<Tensor, Tensor> c) { return (c.first < steps) & (c.first < 10); },
                   [&](std::pair<Tensor, Tensor> c) {
                     return std::pair(c.first + 1, c.second + take_at(xs, {c.first}));
                   },
                   std::pair(scalar<int>(0), scalar<int>(0)));
    int n = std::min(steps, 10);
    EXPECT_EQ(out.second.item<int>(), n * (n - 1) / 2) << steps;
  }
}

TEST(Jax, N039_EmptyCarryWithAFalseCondition) {
  std::tuple<> out = while_loop([](std::tuple<>) { return scalar<bool>(false); },
                                [](std::tuple<> c) { return c; }, std::tuple<>());
  EXPECT_EQ(out, std::tuple<>());
}

TEST(Jax, N040_LeafReplacedByAConstantEachStep) {
  auto out = while_loop(
      [](std::pair<Tensor, Tensor> c) { return c.first < 3; },
      [](std::pair<Tensor, Tensor> c) { return std::pair(c.first + 1, full({}, 7, s32)); },
      std::pair(scalar<int>(0), scalar<int>(0)));
  EXPECT_EQ(out.second.item<int>(), 7);
}

TEST(Jax, N041_NumbersTakeTheCarrysDtype) {
  for (DType dtype : {s8, s16, s32, s64, u8, u16, u32, u64}) {
    Tensor out = while_loop([](Tensor c) { return c < 5; }, [](Tensor c) { return c + 1; },
                            zeros({}, dtype));
    EXPECT_EQ(out.dtype(), dtype);
    EXPECT_EQ(out.item<int>(), 5);
  }
}

TEST(Jax, N042_SameFunctionsAreNotTracedAgain) {
  const Function condition("condition", [](Tensor c) { return c < 5; });
  const Function body("body", [](Tensor c) { return c + 2; });
  while_loop(condition, body, scalar<int>(0));
  Counters before = counters();
  while_loop(condition, body, scalar<int>(1));
  EXPECT_EQ((counters() - before).traces, 0);
}

TEST(Jax, N045_PassThroughLeavesOfAnyPermutation) {
  std::vector<int> keep(4);
  for (int mask = 0; mask < 16; ++mask) {
    auto body = [mask](List c) {
      for (int i = 0; i < 4; ++i) {
        if ((mask >> i) & 1) c[static_cast<size_t>(i)] = c[static_cast<size_t>(i)] + 1;
      }
      c.back() = c.back() + 1;
      return c;
    };
    List init;
    for (int i = 0; i < 5; ++i) init.push_back(scalar<int>(i == 4 ? 0 : 10 * i));
    List out = while_loop([](List c) { return c.back() < 3; }, body, init);
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(out[static_cast<size_t>(i)].item<int>(), 10 * i + 3 * ((mask >> i) & 1)) << mask;
  }
}

TEST(Jax, N046_LeafForwardedToAnotherSlotIsNoConstant) {
  auto out = while_loop([](List c) { return c[0] < 3; },
                        [](List c) {
                          return List{c[0] + 1, c[2], c[1]};
                        },
                        List{scalar<int>(0), scalar<int>(5), scalar<int>(6)});
  EXPECT_EQ(out[1].item<int>(), 6);
  EXPECT_EQ(out[2].item<int>(), 5);
}

// D. fori.

TEST(Jax, N062_MixedNumbersAsBounds) {
  EXPECT_EQ(fori_loop(
                int16_t{1}, int64_t{4}, [](Tensor i, Tensor v) { return v + i; }, scalar<int>(0))
                .item<int>(),
            6);
}

// Unrolling changes the loop and not the result.
TEST(Jax, N062_UnrollWithMixedNumbersAsBounds) {
  auto body = [](Tensor i, Tensor v) { return v * 2 + i; };
  for (int64_t unroll : {1, 2, 3, 7}) {
    auto run = [&](Tensor v) {
      return fori_loop(int16_t{1}, int64_t{5}, body, v, {.unroll = unroll});
    };
    EXPECT_EQ(run(scalar<int>(1)).item<int>(), 42) << unroll;
    std::string text = trace(run, scalar<int>(1)).lowered().hlo_text();
    EXPECT_EQ(occurrences(text, " while("), unroll < 3 ? 1u : 0u)
        << unroll;  // one trip needs no loop
  }
}

// JAX's true and false: all steps, and one.
TEST(Jax, N063_UnrollAllOrNothing) {
  for (int64_t unroll : {ForiOptions::kUnrollAll, int64_t{1}}) {
    auto run = [&](Tensor v) {
      return fori_loop(0, 5, [](Tensor i, Tensor w) { return w + i; }, v, {.unroll = unroll});
    };
    EXPECT_EQ(run(scalar<int>(0)).item<int>(), 10);
    std::string text = trace(run, scalar<int>(0)).lowered().hlo_text();
    EXPECT_EQ(occurrences(text, " while("), unroll == 1 ? 1u : 0u);
  }
}

TEST(Jax, N064_EmptyRangeGivesInit) {
  auto body = [](Tensor, Tensor v) { return v + 1; };
  for (int64_t unroll : {int64_t{1}, int64_t{2}, ForiOptions::kUnrollAll}) {
    EXPECT_EQ(fori_loop(4, 4, body, scalar<int>(9), {.unroll = unroll}).item<int>(), 9);
    EXPECT_EQ(fori_loop(4, 1, body, scalar<int>(9), {.unroll = unroll}).item<int>(), 9);
  }
  EXPECT_EQ(fori_loop(scalar<int>(4), scalar<int>(1), body, scalar<int>(9)).item<int>(), 9);
}

TEST(Jax, N065_DynamicUpperBoundIsAnArgument) {
  Program program = trace(
      [](Tensor n) {
        return fori_loop(
            0, n, [](Tensor i, Tensor v) { return v + i; }, zeros({}, s32));
      },
      scalar<int>(1));
  EXPECT_EQ(program.call<Tensor>(scalar<int>(5)).item<int>(), 10);
  EXPECT_EQ(program.call<Tensor>(scalar<int>(10)).item<int>(), 45);
}

TEST(Jax, N066_BodyCapturesTheBound) {
  Program program = trace(
      [](Tensor n) {
        return fori_loop(
            0, n, [&](Tensor, Tensor v) { return v + n; }, zeros({}, s32));
      },
      scalar<int>(1));
  EXPECT_EQ(program.call<Tensor>(scalar<int>(4)).item<int>(), 16);
}

TEST(Jax, N067_TupleState) {
  auto out = fori_loop(
      0, 5,
      [](Tensor i, std::pair<Tensor, Tensor> s) { return std::pair(s.first + i, s.second + 2); },
      std::pair(scalar<int>(0), scalar<int>(0)));
  EXPECT_EQ(out.first.item<int>(), 10);
  EXPECT_EQ(out.second.item<int>(), 10);
}

TEST(Jax, N068_DictState) {
  auto out = fori_loop(
      0, 5,
      [](Tensor i, Map s) {
        return Map{{"a", s["a"] + i}, {"b", s["b"]}};
      },
      Map{{"a", scalar<int>(0)}, {"b", scalar<int>(3)}});
  EXPECT_EQ(out["a"].item<int>(), 10);
  EXPECT_EQ(out["b"].item<int>(), 3);
}

TEST(Jax, N069_StateWithAnEmptyTuple) {
  auto out = fori_loop(
      0, 3,
      [](Tensor i, std::pair<Tensor, std::tuple<>> s) { return std::pair(s.first + i, s.second); },
      std::pair(scalar<int>(0), std::tuple<>()));
  EXPECT_EQ(out.first.item<int>(), 3);
}

// H. scan.

TEST(Jax, N130_AllVariantsEqualAPlainLoop) {
  std::vector<float> data(11);
  std::iota(data.begin(), data.end(), 1.0f);
  auto step = [](Tensor c, Tensor x) {
    Tensor next = c * 0.5 + x;
    return std::pair(next, next * x);
  };
  for (bool reverse : {false, true}) {
    std::vector<float> want(data.size());
    float c = 0.25f;
    for (size_t n = 0; n < data.size(); ++n) {
      size_t i = reverse ? data.size() - 1 - n : n;
      c = c * 0.5f + data[i];
      want[i] = c * data[i];
    }
    for (int64_t unroll : std::vector<int64_t>{1, ScanOptions::kUnrollAll, 2, 3, 11, 40}) {
      auto run = [&](Tensor init, Tensor xs) {
        return scan(step, init, xs, {.reverse = reverse, .unroll = unroll});
      };
      EXPECT_EQ(run(scalar<float>(0.25f), array(data)).second.to_vector<float>(), want)
          << unroll << reverse;
      Program lowered = trace(run, scalar<float>(0), array(data)).lowered();
      EXPECT_EQ((lowered.call<std::pair<Tensor, Tensor>>(scalar<float>(0.25f), array(data))
                     .second.to_vector<float>()),
                want)
          << unroll << reverse;
    }
  }
}

TEST(Jax, N131_LengthWithoutXsMakesARange) {
  auto step = [](Tensor c, None) { return std::pair(c + 1, c); };
  EXPECT_THAT(scan(step, scalar<int>(0), None{}, {.length = 5}).second.to_vector<int>(),
              ElementsAre(0, 1, 2, 3, 4));
}

TEST(Jax, N132_XsLeftOutNeedsALength) {
  auto step = [](Tensor c, None) { return std::pair(c, c); };
  EXPECT_THAT(error_of([&] { scan(step, scalar<int>(0)); }),
              HasSubstr("scan: has neither xs nor length"));
}

TEST(Jax, N133_ReverseEqualsFlippedCumsum) {
  Tensor x = array<int>({3, 1, 4, 1, 5});
  EXPECT_EQ(scan(kSum, scalar<int>(0), x, {.reverse = true}).second.to_vector<int>(),
            flip(cumsum(flip(x))).to_vector<int>());
}

TEST(Jax, N134_ZeroLength) {
  auto [last, ys] = scan(kSum, scalar<float>(3), zeros({0}));
  EXPECT_EQ(last.item<float>(), 3);
  EXPECT_EQ(ys.dim(0), 0);
}

TEST(Jax, N135_UnrollGrowsTheLoweredLoopAndFullUnrollHasNone) {
  auto text = [](int64_t unroll) {
    return trace(
               [&](Tensor xs) {
                 return scan(kSum, scalar<float>(0), xs, {.unroll = unroll}).second;
               },
               placeholder({12}, f32))
        .lowered()
        .hlo_text();
  };
  EXPECT_EQ(occurrences(text(1), " while("), 1u);
  EXPECT_EQ(occurrences(text(4), " while("), 1u);
  EXPECT_EQ(occurrences(text(ScanOptions::kUnrollAll), " while("), 0u);
  EXPECT_GT(text(4).size(), text(1).size());
}

// Slices of one step lose their axis at once, and nothing else has an axis of size 1.
TEST(Jax, N136_NoUnitDimensionInTheLoop) {
  const std::string text =
      trace([](Tensor xs) { return scan(kSum, zeros({3}), xs); }, placeholder({7, 3}, f32))
          .lowered()
          .hlo_text();
  EXPECT_EQ(occurrences(text, " while("), 1u);
  EXPECT_EQ(occurrences(text, "= f32[1,3]"), 2u) << text;  // the slice read, the row written
  EXPECT_EQ(occurrences(text, "= f32[7,1,3]") + occurrences(text, "= f32[1,1,3]"), 0u) << text;
}

TEST(Jax, N138_MapEqualsTheVectorisedFunction) {
  Tensor xs = array<float>({1, 2, 3});
  EXPECT_EQ(map([](Tensor x) { return sin(x) * 2; }, xs).to_vector<float>(),
            (sin(xs) * 2).to_vector<float>());
}

TEST(Jax, N139_MapOverAnEmptyArray) {
  EXPECT_EQ(map([](Tensor x) { return x + 1; }, zeros({0, 3})).shape(), Shape(f32, {0, 3}));
}

TEST(Jax, N140_AnotherLengthIsAnotherProgram) {
  auto step = [](Tensor c, Tensor x) { return std::pair(c + x * 3, None{}); };
  Tensor zero = scalar<float>(0), three = ones({3}), four = ones({4});
  scan(step, zero, three);
  Counters before = counters();
  EXPECT_EQ(scan(step, zero, four).first.item<float>(), 12);
  EXPECT_EQ((counters() - before).compiles, 1);
}

TEST(Jax, N144_PassThroughCarriesOfAnyPermutation) {
  for (int mask = 0; mask < 8; ++mask) {
    auto step = [mask](List c, Tensor x) {
      for (size_t i = 0; i < 3; ++i) {
        if ((mask >> i) & 1) c[i] = c[i] + x;
      }
      return std::pair(c, None{});
    };
    List out =
        scan(step, List{scalar<int>(1), scalar<int>(2), scalar<int>(3)}, array<int>({10, 20}))
            .first;
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(out[static_cast<size_t>(i)].item<int>(), i + 1 + 30 * ((mask >> i) & 1)) << mask;
  }
}

TEST(Jax, N145_ForwardedXsAreThoseXs) {
  auto step = [](Tensor c, std::pair<Tensor, Tensor> x) {
    return std::pair(c, std::tuple(x.second, x.first, x.first + c));
  };
  auto ys = scan(step, scalar<int>(1), std::pair(array<int>({1, 2}), array<int>({3, 4}))).second;
  EXPECT_THAT(std::get<0>(ys).to_vector<int>(), ElementsAre(3, 4));
  EXPECT_THAT(std::get<1>(ys).to_vector<int>(), ElementsAre(1, 2));
}

TEST(Jax, N146_ForwardedYIsAbsentFromTheLoweredLoop) {
  std::string text = trace(
                         [](Tensor xs) {
                           return scan([](Tensor c, Tensor x) { return std::pair(c + x, x); },
                                       scalar<float>(0), xs)
                               .second;
                         },
                         placeholder({5}, f32))
                         .lowered()
                         .hlo_text();
  EXPECT_EQ(occurrences(text, "dynamic-update-slice("), 0u) << text;
}

TEST(Jax, N147_OrderedDebugPrintSurvivesValueAndGradOfScan) {
  std::string printed;
  const DebugSink before = set_debug_sink([&](std::string_view lines) { printed += lines; });
  const auto loss = [](Tensor x) {
    const auto step = [](Tensor h, Tensor i) {
      debug_print("before {}", i);
      h = sin(h);
      debug_print("after {}", i);
      return std::pair(h, None{});
    };
    return scan(step, x, arange(3)).first;
  };
  const auto [value, gradient] = value_and_grad(loss)(scalar(1.0f));
  EXPECT_GT(gradient.item<float>(), 0);
  set_debug_sink(before);
  EXPECT_EQ(printed, "before 0\nafter 0\nbefore 1\nafter 1\nbefore 2\nafter 2\n");
}

// K. associative_scan.

TEST(Jax, N170_SumAlongAnyAxis) {
  for (Dimensions shape : std::vector<Dimensions>{
           {0}, {1}, {2}, {5}, {8}, {3, 4}, {4, 1}, {2, 0, 3}, {2, 3, 4}, {7, 2}}) {
    int64_t rank = static_cast<int64_t>(shape.size());
    Tensor x = reshape(
        iota(f32, {std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>())},
             0),
        shape);
    for (int64_t axis = -rank; axis < rank; ++axis) {
      Tensor got = associative_scan([](Tensor a, Tensor b) { return a + b; }, x, {.axis = axis});
      EXPECT_EQ(got.to_vector<float>(), cumsum(x, axis).to_vector<float>()) << axis;
    }
  }
}

TEST(Jax, N171_ReversedSumAtLengthAThousand) {
  Tensor got =
      associative_scan([](Tensor a, Tensor b) { return a + b; }, ones({1000}), {.reverse = true});
  EXPECT_EQ(got.to_vector<float>()[0], 1000);
  EXPECT_EQ(got.to_vector<float>()[999], 1);
}

struct Affine {
  Tensor a, b;  // x -> a x + b
  static constexpr auto kFields = fields(field("a", &Affine::a), field("b", &Affine::b));
};

TEST(Jax, N172_StructElements) {
  auto compose = [](Affine f, Affine g) { return Affine{f.a * g.a, g.a * f.b + g.b}; };
  Affine out = associative_scan(compose, Affine{array<float>({2, 3, 4}), array<float>({1, 1, 1})});
  EXPECT_THAT(out.b.to_vector<float>(), ElementsAre(1, 4, 17));
}

TEST(Jax, N173_BooleanElements) {
  Tensor out = associative_scan([](Tensor a, Tensor b) { return a ^ b; },
                                array<bool>({true, true, false, true, true}));
  EXPECT_THAT(out.to_vector<bool>(), ElementsAre(true, false, false, true, false));
}

TEST(Jax, N174_CombineOfMatrices) {
  for (int64_t n : {2, 43, 100}) {
    Tensor m = broadcast_to(array<float>({{1, 1}, {0, 1}}), {n, 2, 2});
    Tensor out = associative_scan([](Tensor a, Tensor b) { return matmul(b, a); }, m);
    EXPECT_EQ(take_at(out, {n - 1, 0, 1}).item<float>(), static_cast<float>(n));
  }
}

}  // namespace
}  // namespace heddle
