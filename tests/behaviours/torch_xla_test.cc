// The behaviours that torch_xla's tests check for scan, scan_layers, placeholders, while_loop and
// the lowering context, by their numbers in the list of docs/behaviours.md. Those that wait, and
// those that types rule out, are listed there too.
#include <cmath>
#include <set>

#include "heddle/base/support_test.h"
#include "heddle/heddle.h"
#include "heddle/testing.h"
#include "heddle/tests/support/outcomes.h"
#include "heddle/trace/node.h"

namespace heddle {
namespace {

Tensor real(float value) { return scalar<float>(value); }

constexpr auto kRunningSum = [](Tensor c, Tensor x) {
  Tensor next = c + x;
  return std::pair(next, next);
};

TEST(TorchXla, N01_CumulativeSumWithTheCacheOnAndOff) {
  Tensor xs = array<float>({1, 2, 3, 4, 5});
  float offset = 0;
  auto uncached = [&offset](Tensor c, Tensor x) {  // no Function: level 1 does not know it
    Tensor next = c + x + offset;
    return std::pair(next, next);
  };
  for (int round = 0; round < 2; ++round) {
    auto [last, ys] = scan(kRunningSum, real(0), xs);
    EXPECT_EQ(last.item<float>(), 15);
    EXPECT_THAT(ys.to_vector<float>(), ElementsAre(1, 3, 6, 10, 15));
    EXPECT_THAT(scan(uncached, real(0), xs).second.to_vector<float>(),
                ElementsAre(1, 3, 6, 10, 15));
  }
}

TEST(TorchXla, N03_UnequalLeadingLengthsAreRefused) {
  auto step = [](Tensor c, std::pair<Tensor, Tensor> x) {
    return std::pair(c + x.first + x.second, None{});
  };
  EXPECT_THAT(error_of([&] { scan(step, real(0), std::pair(ones({3}), ones({4}))); }),
              HasSubstr("scan: leaves of xs differ in length: xs[0] has 3 and xs[1] has 4"));
}

TEST(TorchXla, N04_TuplesOfDifferentInnerShapes) {
  auto step = [](std::pair<Tensor, Tensor> c, std::tuple<Tensor, Tensor> x) {
    auto [a, b] = c;
    auto [u, v] = x;
    return std::pair(std::pair(a + sum(u), b + v), std::tuple(u * 2, sum(v)));
  };
  auto xs = std::tuple(ones({4, 3}), ones({4, 2, 2}));
  auto [carry, ys] = scan(step, std::pair(real(0), zeros({2, 2})), xs);
  EXPECT_EQ(carry.first.item<float>(), 12);
  EXPECT_THAT(carry.second.to_vector<float>(), ElementsAre(4, 4, 4, 4));
  EXPECT_EQ(std::get<0>(ys).shape(), Shape(f32, {4, 3}));
  EXPECT_THAT(std::get<1>(ys).to_vector<float>(), ElementsAre(4, 4, 4, 4));
}

TEST(TorchXla, N05_StepMakesConstants) {
  auto step = [](Tensor c, Tensor x) {
    return std::pair(c + x * array<float>({1, 2}) + full({2}, 0.5), None{});
  };
  EXPECT_THAT(scan(step, zeros({2}), ones({3, 2})).first.to_vector<float>(), ElementsAre(4.5, 7.5));
}

TEST(TorchXla, N06_ConstantsInAStepMoveNoByte) {
  auto step = [](Tensor c, Tensor x) {
    return std::pair(c + x * array<float>({3, 4}) + 2.5, None{});
  };
  Tensor init = zeros({2});
  Tensor xs = ones({3, 2});
  Counters done = effects_of([&] { scan(step, init, xs).first.wait(); });
  EXPECT_EQ(done.upload_bytes, 0);
  EXPECT_EQ(done.download_bytes, 0);
}

TEST(TorchXla, N07_UpdatesOfTheStepsOwnValuesAreFine) {
  auto step = [](Tensor c, Tensor x) {
    Tensor copy = at(x, {0}).set(10.0);
    return std::pair(c + copy, None{});
  };
  EXPECT_THAT(scan(step, zeros({2}), ones({3, 2})).first.to_vector<float>(), ElementsAre(30, 3));
}

TEST(TorchXla, N08_CarryReturnedUnchanged) {
  auto step = [](Tensor c, Tensor x) { return std::pair(c, c + x); };
  auto [last, ys] = scan(step, real(5), array<float>({1, 2}));
  EXPECT_EQ(last.item<float>(), 5);
  EXPECT_THAT(ys.to_vector<float>(), ElementsAre(6, 7));
}

TEST(TorchXla, N09_XReturnedUnchangedAsY) {
  auto step = [](Tensor c, Tensor x) { return std::pair(c + x, x); };
  EXPECT_THAT(scan(step, real(0), array<float>({1, 2, 3})).second.to_vector<float>(),
              ElementsAre(1, 2, 3));
}

TEST(TorchXla, N10_InputsOfAStepAreNeverChanged) {
  Tensor xs = array<float>({1, 2});
  auto step = [](Tensor c, Tensor x) {
    x = x + 1;
    c = c + x;
    return std::pair(c, None{});
  };
  scan(step, real(0), xs);
  EXPECT_THAT(xs.to_vector<float>(), ElementsAre(1, 2));
}

TEST(TorchXla, N13_NoneYGivesNoneYs) {
  auto step = [](Tensor c, Tensor x) { return std::pair(c + x, None{}); };
  EXPECT_EQ(scan(step, real(0), ones({2})).second, None{});
}

TEST(TorchXla, N14_EmptyTupleYGivesEmptyTuple) {
  auto step = [](Tensor c, Tensor x) { return std::pair(c + x, std::tuple<>()); };
  EXPECT_EQ(scan(step, real(0), ones({2})).second, std::tuple<>());
}

TEST(TorchXla, N15_RandomNumbersDifferBetweenSteps) {
  auto step = [](Tensor key, Tensor) {
    auto [next, now] = random::split<2>(key);
    return std::pair(next, random::normal(now, {4}));
  };
  Tensor ys = scan(step, random::key(7), zeros({3})).second;
  EXPECT_EQ(ys.shape(), Shape(f32, {3, 4}));
  std::vector<float> all = ys.to_vector<float>();
  EXPECT_EQ(std::set<float>(all.begin(), all.end()).size(), all.size());
}

TEST(TorchXla, N17_LeavesKeepTheirDtypes) {
  auto step = [](Tensor c, Tensor x) {
    return std::pair(c + x.astype(f16), std::pair(x.astype(bf16), x));
  };
  auto [last, ys] = scan(step, zeros({}, f16), array<float>({1.5, 2.5}));
  EXPECT_EQ(last.dtype(), f16);
  EXPECT_EQ(ys.first.dtype(), bf16);
  EXPECT_EQ(ys.second.dtype(), f32);
  EXPECT_EQ(last.item<float>(), 4);
}

TEST(TorchXla, N19_PureStepRunsOnceInTenScans) {
  static int runs = 0;
  const Function step("step", [](Tensor c, Tensor x) {
    ++runs;
    return std::pair(c * 0.5 + x, None{});
  });
  Tensor xs = ones({4});
  for (int i = 0; i < 10; ++i) scan(step, real(0), xs);
  EXPECT_EQ(runs, 1);
}

TEST(TorchXla, N20_AnotherFunctionIsAnotherEntry) {
  const Function one("one", [](Tensor c, Tensor x) { return std::pair(c + x + 101, None{}); });
  const Function two("two", [](Tensor c, Tensor x) { return std::pair(c + x + 102, None{}); });
  clear_combine_cache();
  scan(one, real(0), ones({2}));
  size_t after_one = combine_cache_size().first;
  scan(two, real(0), ones({2}));
  EXPECT_EQ(combine_cache_size().first, after_one + 1);
}

TEST(TorchXla, N21_StepWithStateMakesNoLevelOneEntry) {
  Tensor w = real(2);
  auto step = [&w](Tensor c, Tensor x) { return std::pair(c + x * w, None{}); };
  clear_combine_cache();
  scan(step, real(0), ones({2}));
  EXPECT_EQ(combine_cache_size().first, 0u);
}

TEST(TorchXla, N22_FlattenDropsNoneAndUnflattenPutsItBack) {
  auto tree = std::tuple(real(1), None{}, std::optional<Tensor>(), std::vector<Tensor>{real(2)});
  std::vector<Tensor> leaves = flatten(tree);
  EXPECT_EQ(leaves.size(), 2u);
  std::span<const Tensor> rest(leaves);
  auto back = unflatten<decltype(tree)>(tree_spec(tree), rest);
  EXPECT_FALSE(std::get<2>(back).has_value());
  EXPECT_EQ(std::get<3>(back)[0].item<float>(), 2);
}

TEST(TorchXla, N25_TracingAndRunningOnDeviceInputsUploadsNothing) {
  Tensor init = real(0);
  Tensor xs = ones({8});
  auto sine = [](Tensor c, Tensor x) { return std::pair(sin(c + x), c); };
  auto identity = [](Tensor c, Tensor x) { return std::pair(c, x); };
  Counters done = effects_of([&] {
    scan(sine, init, xs);
    scan(identity, init, xs);
  });
  EXPECT_EQ(done.uploads, 0);
  EXPECT_EQ(done.aliased_bytes, 0);
}

TEST(TorchXla, N26_IdenticalStepOnOtherLinesIsOneCompileAndAHit) {
  Tensor init = real(0);
  Tensor xs = ones({7});
  auto first = [](Tensor c, Tensor x) { return std::pair(cos(c) - x, None{}); };
  auto another_name = [](Tensor c, Tensor x) {
    //
    return std::pair(cos(c) - x, None{});
  };
  Counters done = effects_of([&] {
    scan(first, init, xs);
    scan(first, init, xs);
    scan(another_name, init, xs);
  });
  EXPECT_EQ(done.compiles, 1);
  EXPECT_EQ(done.combine_hits, 2);
}

struct Linear {
  Tensor w;  // [in, out]
  Tensor b;  // [out]
  static constexpr auto kFields = fields(field("w", &Linear::w), field("b", &Linear::b));
};
constexpr auto kApply = [](Linear l, Tensor x) { return tanh(matmul(x, l.w) + l.b); };

TEST(TorchXla, N27_NoLayersGiveTheInput) {
  Tensor x = ones({2});
  EXPECT_EQ(scan_layers(kApply, std::vector<Linear>{}, x).id(), x.id());
}

TEST(TorchXla, N28_TenLinearLayersEqualTheLoopAsOneWhile) {
  std::vector<Linear> layers;
  for (int i = 0; i < 10; ++i) layers.push_back({full({3, 3}, 0.1 * i), full({3}, 0.01 * i)});
  Tensor x = array<float>({{1, 2, 3}});
  Tensor expected = x;
  for (const Linear& layer : layers) expected = kApply(layer, expected);
  EXPECT_EQ(scan_layers(kApply, layers, x).to_vector<float>(), expected.to_vector<float>());
  std::string text =
      trace([&](Tensor t) { return scan_layers(kApply, layers, t); }, x).lowered().hlo_text();
  EXPECT_EQ(occurrences(text, " while("), 1u) << text;
}

TEST(TorchXla, N29_LayersTakeAndGiveTuples) {
  auto layer = [](Linear l, std::pair<Tensor, Tensor> x) {
    return std::pair(matmul(x.second, l.w), x.first + l.b);
  };
  Linear stacked{full({3, 2, 2}, 0.5), full({3, 2}, 1.0)};
  auto x = std::pair(full({2}, 2.0) * 1.5, ones({2}) + 1.0);  // computed, not read
  auto want = x;
  for (int i = 0; i < 3; ++i) want = layer({full({2, 2}, 0.5), full({2}, 1.0)}, want);
  auto got = scan_layers(layer, stacked, x);
  EXPECT_EQ(got.first.to_vector<float>(), want.first.to_vector<float>());
  EXPECT_EQ(got.second.to_vector<float>(), want.second.to_vector<float>());
}

TEST(TorchXla, N32_LayersOfDifferentShapesAreRefused) {
  std::vector<Linear> layers{{ones({2, 2}), ones({2})}, {ones({2, 3}), ones({2})}};
  EXPECT_THAT(error_of([&] {
                scan_layers(kApply, layers, ones({1, 2}));
              }),
              HasSubstr("scan_layers: layer.w is f32[2,2] in layer 0 and f32[2,3] in layer 1"));
}

TEST(TorchXla, N33_RepeatedPureLayersAddNoEntries) {
  Linear stacked{full({3, 2, 2}, 0.25), full({3, 2}, 1.0)};
  scan_layers(kApply, stacked, ones({1, 2}));
  auto size = combine_cache_size();
  scan_layers(kApply, stacked, ones({1, 2}));
  EXPECT_EQ(combine_cache_size(), size);
}

TEST(TorchXla, N38_AttentionLayersByScanEqualALoopOverThem) {
  const int64_t layers = 3, tokens = 5, width = 8;
  auto layer = [](Tensor w, Tensor h) {
    Tensor scores = einsum("qd,kd->qk", matmul(h, w), h) * 0.35;
    return h + matmul(softmax(scores, -1), h);
  };
  Tensor weights = random::normal(random::key(1), {layers, width, width});
  Tensor start = random::normal(random::key(2), {tokens, width});
  Tensor looped = start;
  for (int64_t i = 0; i < layers; ++i) looped = layer(weights[i], looped);
  const auto want = looped.to_vector<float>(),
             got = scan_layers(layer, weights, start).to_vector<float>();
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-3);
}

TEST(TorchXla, N40_PlaceholderHasShapeAndDtypeAndSaysWhatItIs) {
  for (DType dtype : {f32, bf16, s8}) {
    Tensor p = placeholder({2, 3}, dtype);
    EXPECT_EQ(p.shape(), Shape(dtype, {2, 3}));
    EXPECT_TRUE(p.is_placeholder());
    EXPECT_FALSE(p.is_ready());
  }
}

TEST(TorchXla, N41_ReadingAPlaceholderNamesIt) {
  Tensor p = placeholder({2, 3}, bf16);
  std::string error = error_of([&] { static_cast<void>(p.to_vector<float>()); });
  EXPECT_THAT(error, HasSubstr(base::cat("placeholder #", p.id(), " bf16[2,3]")));
  EXPECT_THAT(error, HasSubstr("torch_xla_test.cc:"));
}

TEST(TorchXla, N42_PlaceholderUsedTwiceIsOneParameter) {
  Tensor p1 = placeholder({2}, f32);
  Tensor p2 = placeholder({2}, f32);
  Counters done = effects_of([&] {
    Program program = trace([&] { return p1 + p2 * p2; });
    EXPECT_EQ(occurrences(program.hlo_text(), " parameter("), 2u);
    EXPECT_EQ(program.signature().captures.size(), 2u);
  });
  EXPECT_EQ(done.uploads, 0);
}

TEST(TorchXla, N43_EqualPlaceholdersHaveDifferentIds) {
  EXPECT_NE(placeholder({2}, f32).id(), placeholder({2}, f32).id());
}

TEST(TorchXla, N46_WhileAddsUntilTheCounterIsZero) {
  auto out =
      while_loop([](std::pair<Tensor, Tensor> c) { return c.first > 0; },
                 [](std::pair<Tensor, Tensor> c) { return std::pair(c.first - 1, c.second + 1); },
                 std::pair(scalar<int>(10), scalar<int>(0)));
  EXPECT_EQ(out.second.item<int>(), 10);
}

TEST(TorchXla, N47_TwoNestedAddsPerStep) {
  auto inner = [](Tensor x) { return x + 1; };
  auto out = while_loop([](Tensor c) { return c < 10; }, [&](Tensor c) { return inner(inner(c)); },
                        scalar<int>(1));
  EXPECT_EQ(out.item<int>(), 11);
}

TEST(TorchXla, N48_LinearWithCapturedWeightsIsBitEqualToTheLoop) {
  Linear l{array<float>({{0.3f, -0.2f}, {0.7f, 0.1f}}), array<float>({0.01f, 0.02f})};
  Tensor want = ones({1, 2});
  for (int i = 0; i < 5; ++i) want = kApply(l, want);
  auto out = while_loop(
      [](std::pair<Tensor, Tensor> c) { return c.first > 0; },
      [&](std::pair<Tensor, Tensor> c) { return std::pair(c.first - 1, kApply(l, c.second)); },
      std::pair(scalar<int>(5), ones({1, 2})));
  EXPECT_EQ(out.second.to_vector<float>(), want.to_vector<float>());
}

TEST(TorchXla, N49_ForiAddsItsIndex) {
  EXPECT_EQ(fori_loop(
                0, 10, [](Tensor i, Tensor v) { return v + i; }, scalar<int>(0))
                .item<int>(),
            45);
}

TEST(TorchXla, N44_ADonatedBufferIsNoPlaceholderAndSaysThatItIsGone) {
  const Tensor x = ones({2}), p = placeholder({2}, f32);
  x.node()->buffer->release();
  EXPECT_TRUE(x.is_donated());
  EXPECT_FALSE(x.is_placeholder());
  EXPECT_FALSE(p.is_donated());
  EXPECT_EQ(x.shape(), Shape(f32, {2}));
  EXPECT_THAT(
      error_of([&] { x + 1; }),
      AllOf(StartsWith(base::cat("add: tensor #", x.id(), " f32[2], made at torch_xla_test.cc:")),
            HasSubstr("was donated or released, so its buffer is gone")));
  EXPECT_THAT(error_of([&] { static_cast<void>(x.to_vector<float>()); }), HasSubstr("donated"));
}

TEST(TorchXla, N61_NameOfAFunctionStandsInTheHloOfItsLoop) {
  const auto body = [](Tensor c, Tensor x) { return std::pair(c * 0.75 + x, None{}); };
  const Function filter("leaky filter", body), twin("twin", body);
  const auto programs = [&](const auto& step) {
    const Program traced =
        trace([&](Tensor xs) { return scan(step, zeros({}), xs).first; }, placeholder({3}, f32));
    return std::pair(traced.hlo_text(), traced.lowered().hlo_text());
  };
  const auto [anonymous, anonymous_while] = programs(body);
  EXPECT_THAT(anonymous, HasSubstr("to_apply=%scan"));
  for (int call = 0; call < 2; ++call) {
    // Equal bodies are one computation with as many names as Functions.
    const auto [traced, lowered] = programs(filter);
    EXPECT_THAT(traced, HasSubstr("to_apply=%leaky_filter"));
    EXPECT_THAT(lowered, HasSubstr("body=%leaky_filter.while_body"));
    EXPECT_THAT(programs(twin).first, HasSubstr("to_apply=%twin"));
  }
  const Tensor xs = ones({3}), zero = zeros({});
  scan(body, zero, xs);
  EXPECT_EQ(effects_of([&] { scan(filter, zero, xs); }).compiles, 0);
}

TEST(TorchXla, N61_NamesOfConditionBodyAndBranches) {
  const Function below("below_ten", [](Tensor c) { return c < 10; });
  const Function step("step", [](Tensor c) { return c + 4; });
  const std::string text =
      trace([&](Tensor c) { return while_loop(below, step, c); }, placeholder({}, s32)).hlo_text();
  EXPECT_THAT(text, HasSubstr("condition=%below_ten"));
  EXPECT_THAT(text, HasSubstr("body=%step"));
  const Function plus("plus", [](Tensor x) { return x + 4; });
  const std::string chosen = trace([&](Tensor p, Tensor x) { return cond(p, step, plus, x); },
                                   placeholder({}, pred), placeholder({}, s32))
                                 .hlo_text();
  EXPECT_THAT(chosen, HasSubstr("%step"));
  EXPECT_THAT(chosen, HasSubstr("%plus"));
}

TEST(TorchXla, N62_CapturedDeviceTensorsMoveNothing) {
  Tensor w = ones({1024});
  Counters done =
      effects_of([&] { trace([&](Tensor x) { return x * w; }, placeholder({1024}, f32)); });
  EXPECT_EQ(done.upload_bytes + done.download_bytes, 0);
}

TEST(TorchXla, N63_EqualCapturesShareAParameter) {
  Tensor w = real(2);
  Program program = trace([&](Tensor x) { return x * w + w - w; }, placeholder({}, f32));
  EXPECT_EQ(program.signature().captures.size(), 1u);
}

TEST(TorchXla, N64_MetadataAloneDoesNotRecompile) {
  Tensor x = ones({3});
  Program a = trace([](Tensor t) { return exp(t) * 3.25; }, x);
  Program b = trace(
      [](Tensor t) {
        // Other lines, other names.
        Tensor e = exp(t);
        return e * 3.25;
      },
      x);
  Counters done = effects_of([&] {
    a.call<Tensor>(x);
    b.call<Tensor>(x);
  });
  EXPECT_EQ(done.compiles, 1);
}

}  // namespace
}  // namespace heddle
