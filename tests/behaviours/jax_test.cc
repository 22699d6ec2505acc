// The behaviours that JAX's lax_control_flow_test checks, groups A (arguments), B (while), D
// (fori), E (cond and switch), H (scan) and K (associative_scan), by their numbers in the list of
// docs/behaviours.md. Those that wait, and those that types rule out, are there.
#include <map>
#include <numeric>

#include "heddle/base/support_test.h"
#include "heddle/heddle.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/verify.h"
#include "heddle/tests/support/outcomes.h"

namespace heddle {
namespace {

using Map = std::map<std::string, Tensor>;
using List = std::vector<Tensor>;

// A. Argument checking.

TEST(Jax, N003_WhileConditionMustBeOneBoolean) {
  EXPECT_THAT(error_of([] {
                while_loop([](Tensor c) { return c; }, [](Tensor c) { return c; },
                           scalar<float>(1));
              }),
              HasSubstr("while_loop: condition returns f32[]; it must return pred[]"));
}

TEST(Jax, N004_WhileBodyWithAnotherStructure) {
  EXPECT_THAT(error_of([] {
                while_loop([](List c) { return c[0] > 0; },
                           [](List c) {
                             return List{c[0], c[0]};
                           },
                           List{scalar<int>(1)});
              }),
              HasSubstr("while_loop: carry enters as a vector of 1 and leaves as a vector of 2"));
}

TEST(Jax, N005_WhileLeafNamesPathAndTypes) {
  EXPECT_THAT(
      error_of([] {
        while_loop([](Map c) { return c["a"] > 0; },
                   [](Map c) {
                     return Map{{"a", c["a"].astype(f32)}};
                   },
                   Map{{"a", scalar<int>(1)}});
      }),
      HasSubstr("while_loop: carry['a'] enters as s32[] and leaves as f32[] (dtypes differ)"));
}

TEST(Jax, N007_ForiBoundsOfTwoTypes) {
  EXPECT_THAT(error_of([] {
                fori_loop(
                    scalar<int16_t>(0), scalar<int>(3), [](Tensor, Tensor v) { return v; },
                    scalar<int>(0));
              }),
              HasSubstr("fori_loop: low is s16[] and high s32[]; their dtypes must be equal"));
}

TEST(Jax, N008_ForiBoundsTypedAgainstNumberEitherSide) {
  auto body = [](Tensor i, Tensor v) { return v + i; };
  EXPECT_EQ(fori_loop(0, scalar<int64_t>(4), body, scalar<int64_t>(0)).item<int64_t>(), 6);
  EXPECT_EQ(fori_loop(scalar<int64_t>(0), 4, body, scalar<int64_t>(0)).item<int64_t>(), 6);
}

TEST(Jax, N009_ForiBetweenTensorsIsNotUnrolled) {
  auto body = [](Tensor i, Tensor v) { return v + i; };
  EXPECT_THAT(error_of([&] { fori_loop(0, scalar<int>(4), body, 0, {.unroll = 3}); }),
              HasSubstr("fori_loop: unroll is 3 and a bound is a tensor"));
  EXPECT_THAT(error_of([&] { fori_loop(0, 4, body, 0, {.unroll = -1}); }),
              HasSubstr("fori_loop: unroll is -1; it must be 1 or more"));
}

TEST(Jax, N010_PredicateMustBeAScalar) {
  auto same = [](Tensor x) { return x; };
  EXPECT_THAT(error_of([&] { cond(ones({2}) > 0.0, same, same, scalar<int>(1)); }),
              HasSubstr("cond: predicate is pred[2]; it must be pred[]"));
}

TEST(Jax, N012_BranchStructuresNameThePath) {
  auto one = [](Tensor x) { return std::pair(x, List{x}); };
  auto two = [](Tensor x) { return std::pair(x, List{x, x}); };
  EXPECT_THAT(
      error_of([&] { cond(true, one, two, scalar<int>(1)); }),
      HasSubstr("cond: result[1] is a vector of 1 in on_true and a vector of 2 in on_false"));
}

TEST(Jax, N013_BranchTypesNameBoth) {
  auto one = [](Tensor x) { return x; };
  auto two = [](Tensor x) { return stack({x, x}); };
  EXPECT_THAT(error_of([&] { cond(true, one, two, scalar<float>(1)); }),
              HasSubstr("cond: result is f32[] in on_true and f32[2] in on_false"));
}

TEST(Jax, N014_SwitchIndexMustBeAnInteger) {
  auto same = [](Tensor x) { return x; };
  EXPECT_THAT(
      error_of([&] { switch_case(scalar<float>(1), std::tuple(same, same), scalar<int>(1)); }),
      HasSubstr("switch_case: index is f32[]; it must be a scalar of an integer dtype"));
}

TEST(Jax, N015_SwitchIndexMustBeAScalar) {
  auto same = [](Tensor x) { return x; };
  EXPECT_THAT(error_of([&] {
                switch_case(array<int>({0, 1}), std::tuple(same, same), scalar<int>(1));
              }),
              HasSubstr("switch_case: index is s32[2]"));
}

TEST(Jax, N016_SwitchWithoutBranches) {
  using Fn = std::function<Tensor(Tensor)>;
  EXPECT_THAT(error_of([] { switch_case(0, std::vector<Fn>{}, scalar<int>(1)); }),
              HasSubstr("switch_case: has no branches"));
}

TEST(Jax, N017_SwitchStructuresNameTheBranches) {
  using Fn = std::function<List(Tensor)>;
  std::vector<Fn> branches{[](Tensor x) { return List{x}; }, [](Tensor x) { return List{x, x}; }};
  EXPECT_THAT(
      error_of([&] { switch_case(0, branches, scalar<int>(1)); }),
      HasSubstr("switch_case: result is a vector of 1 in branch 0 and a vector of 2 in branch 1"));
}

TEST(Jax, N018_SwitchTypesNamePathAndTypes) {
  using Fn = std::function<List(Tensor)>;
  std::vector<Fn> branches{[](Tensor x) { return List{x}; },
                           [](Tensor x) { return List{x.astype(f32)}; }};
  EXPECT_THAT(
      error_of([&] { switch_case(0, branches, scalar<int>(1)); }),
      HasSubstr("switch_case: result[0] is s32[] in branch 0 and f32[] in branch 1; cast one"));
}

TEST(Jax, N021_DictKeysOfTheCarryAreBothShown) {
  auto step = [](Map c, Tensor x) { return std::pair(Map{{"b", c.begin()->second + x}}, None{}); };
  EXPECT_THAT(
      error_of([&] {
        scan(step, Map{{"a", scalar<float>(0)}}, ones({2}));
      }),
      HasSubstr(
          "carry['a'] enters as f32[] and leaves as nothing; carry['b'] enters as nothing and "
          "leaves as f32[]; return the structure"));
}

TEST(Jax, N022_CarryStructureNamesTheNestedPath) {
  auto step = [](std::pair<Tensor, Map> c, Tensor x) {
    c.second["new"] = x;
    return std::pair(c, None{});
  };
  EXPECT_THAT(
      error_of([&] {
        scan(step, std::pair(scalar<float>(0), Map{{"old", scalar<float>(0)}}), ones({2}));
      }),
      HasSubstr(
          "scan: carry[1]['new'] enters as nothing and leaves as f32[]; return the structure"));
}

TEST(Jax, N023_SeveralLeavesAtOnce) {
  auto step = [](std::pair<Tensor, Tensor> c, Tensor x) {
    return std::pair(std::pair(c.first.astype(f64), stack({c.second, x})), None{});
  };
  EXPECT_THAT(
      error_of([&] { scan(step, std::pair(scalar<float>(0), scalar<float>(0)), ones({2})); }),
      AllOf(HasSubstr("carry[0] enters as f32[] and leaves as f64[] (dtypes differ)"),
            HasSubstr("carry[1] enters as f32[] and leaves as f32[2] (shapes differ)")));
}

constexpr auto kSum = [](Tensor c, Tensor x) {
  Tensor next = c + x;
  return std::pair(next, next);
};

TEST(Jax, N024_LengthThatDisagreesGivesBothNumbers) {
  EXPECT_THAT(error_of([] { scan(kSum, scalar<float>(0), ones({3}), {.length = 5}); }),
              HasSubstr("scan: length is 5; xs has 3 elements"));
}

TEST(Jax, N025_NegativeUnroll) {
  EXPECT_THAT(error_of([] { scan(kSum, scalar<float>(0), ones({3}), {.unroll = 0}); }),
              HasSubstr("scan: unroll is 0; it must be 1 or more, or ScanOptions::kUnrollAll"));
  EXPECT_THAT(error_of([] { scan(kSum, scalar<float>(0), ones({3}), {.unroll = -1}); }),
              HasSubstr("scan: unroll is -1"));
}

// The checker of the IR itself: what no front end of ours writes is refused in text too.

std::string verify_error(const std::string& entry) {
  auto module = hlo::parse_text(
      "f {\n  x = f32[] parameter(0)\n  c = f32[] parameter(1)\n"
      "  ROOT t = (f32[], f32[]) tuple(x, c)\n}\n"
      "g {\n  a = f32[] parameter(0)\n  ROOT r = f32[] negate(a)\n}\nENTRY main {\n" +
      entry + "\n}\n");
  Status status = module.ok() ? hlo::verify(*module) : module.status();
  return status.ok() ? "none" : base::message_of(status);
}

TEST(Jax, N028_CheckerRefusesAScanWithMalformedParts) {
  const std::string begin = "  xs = f32[4] parameter(0)\n  c = f32[] parameter(1)\n";
  auto scan_with = [&](const std::string& attributes) {
    return verify_error(begin + "  ROOT s = (f32[4], f32[]) scan(xs, c), dimensions={0}, " +
                        attributes + ", to_apply=f");
  };
  EXPECT_EQ(scan_with("num_carries=1"), "none");
  EXPECT_EQ(scan_with("num_carries=1, is_reverse=true"), "none");
  EXPECT_THAT(scan_with("num_carries=1, is_reverse=3"), HasSubstr("is_reverse"));
  EXPECT_THAT(scan_with("num_carries=3"), HasSubstr("scan: "));
  EXPECT_THAT(scan_with("num_carries=0"), HasSubstr("scan: "));
}

TEST(Jax, N029_CheckerRefusesAConditionalWhoseBranchIsNone) {
  const std::string begin = "  i = s32[] parameter(0)\n  x = f32[] parameter(1)\n";
  auto branches = [&](const std::string& list) {
    return verify_error(begin + "  ROOT r = f32[] conditional(i, x, x), branch_computations={" +
                        list + "}");
  };
  EXPECT_EQ(branches("g, g"), "none");
  EXPECT_THAT(branches("g, x"), HasSubstr("x"));
  EXPECT_THAT(branches("g, 3"), AllOf(Not(testing::Eq("none")), HasSubstr("3")));
  EXPECT_THAT(branches("g, f"), HasSubstr("conditional: "));
}

// E. cond and switch.

TEST(Jax, N073_BranchesWithSeveralOutputs) {
  Program program = trace(
      [](Tensor x) {
        return cond(
            x < 3, [](Tensor t) { return std::pair(t, t * 2); },
            [](Tensor t) { return std::pair(t * 10, t); }, x);
      },
      scalar<int>(0));
  auto small = program.call<std::pair<Tensor, Tensor>>(scalar<int>(2));
  auto large = program.call<std::pair<Tensor, Tensor>>(scalar<int>(4));
  EXPECT_EQ(small.second.item<int>(), 4);
  EXPECT_EQ(large.first.item<int>(), 40);
}

TEST(Jax, N074_TwoOperands) {
  auto minus = [](Tensor a, Tensor b) { return a - b; };
  auto plus = [](Tensor a, Tensor b) { return a + b; };
  for (bool which : {true, false}) {
    EXPECT_EQ(cond(which, minus, plus, scalar<int>(5), scalar<int>(2)).item<int>(), which ? 3 : 7);
  }
}

TEST(Jax, N075_ThreeOperands) {
  auto first = [](Tensor a, Tensor, Tensor) { return a; };
  auto all = [](Tensor a, Tensor b, Tensor c) { return a * 100 + b * 10 + c; };
  auto run = [&](Tensor p, Tensor a, Tensor b, Tensor c) { return cond(p, first, all, a, b, c); };
  const Tensor one = scalar<int>(1), two = scalar<int>(2), three = scalar<int>(3);
  Program program = trace(run, scalar(true), one, two, three);
  for (bool which : {true, false}) {
    const int want = which ? 1 : 123;
    EXPECT_EQ(run(scalar(which), one, two, three).item<int>(), want);
    EXPECT_EQ(program.call<Tensor>(scalar(which), one, two, three).item<int>(), want);
  }
}

TEST(Jax, N077_NumericPredicates) {
  auto yes = [](Tensor) { return full({}, 1, s32); };
  auto no = [](Tensor) { return full({}, 0, s32); };
  Tensor x = scalar<int>(0);
  EXPECT_EQ(cond(1, yes, no, x).item<int>(), 1);
  EXPECT_EQ(cond(0.0, yes, no, x).item<int>(), 0);
  EXPECT_EQ(cond(scalar<float>(-2), yes, no, x).item<int>(), 1);
  EXPECT_EQ(cond(scalar<int>(0), yes, no, x).item<int>(), 0);
}

TEST(Jax, N078_NestedCond) {
  auto classify = [](Tensor x) {
    return cond(
        x < 0, [](Tensor) { return full({}, -1, s32); },
        [](Tensor t) {
          return cond(
              t == 0, [](Tensor) { return full({}, 0, s32); },
              [](Tensor) { return full({}, 1, s32); }, t);
        },
        x);
  };
  EXPECT_EQ(classify(scalar<int>(-5)).item<int>(), -1);
  EXPECT_EQ(classify(scalar<int>(0)).item<int>(), 0);
  EXPECT_EQ(classify(scalar<int>(5)).item<int>(), 1);
}

TEST(Jax, N083_CondTracedEqualsCondAtOnce) {
  auto f = [](Tensor x) {
    return cond(
        x > 0, [](Tensor t) { return t * 2; }, [](Tensor t) { return t - 1; }, x);
  };
  Program program = trace(f, scalar<int>(0));
  for (int x : {-3, 0, 4})
    EXPECT_EQ(program.call<Tensor>(scalar<int>(x)).item<int>(), f(scalar<int>(x)).item<int>());
}

TEST(Jax, N084_SwitchTracedEqualsSwitchAtOnce) {
  auto f = [](Tensor i) {
    return switch_case(i,
                       std::tuple([](Tensor t) { return t; }, [](Tensor t) { return t * 5; },
                                  [](Tensor t) { return t * 7; }),
                       i + 1);
  };
  Program program = trace(f, scalar<int>(0));
  for (int i : {0, 1, 2})
    EXPECT_EQ(program.call<Tensor>(scalar<int>(i)).item<int>(), f(scalar<int>(i)).item<int>());
}

// A number among the operands is a tensor in the branches and in the result.
TEST(Jax, N087_NumberAsOperandComesBackAsATensor) {
  const auto same = [](Tensor t) { return t; };
  const Tensor out = cond(true, same, same, 3.5f);
  EXPECT_EQ(out.shape(), Shape(f32, {}));
  EXPECT_EQ(out.item<float>(), 3.5f);
}

TEST(Jax, N088_NumbersAndTensorsTogetherAsOperands) {
  const auto first = [](Tensor a, Tensor b) { return std::pair(a, b); };
  const auto second = [](Tensor a, Tensor b) { return std::pair(a * 2, b + 1.0); };
  for (const bool which : {true, false}) {
    const auto [number, tensor] = cond(which, first, second, 7, ones({2}));
    EXPECT_EQ(number.item<int>(), which ? 7 : 14);
    EXPECT_EQ(tensor.to_vector<float>()[1], which ? 1 : 2);
  }
}

TEST(Jax, N089_SwitchClamps) {
  auto f = [](Tensor i) {
    return switch_case(i,
                       std::tuple([](Tensor t) { return t + 1; }, [](Tensor t) { return t + 2; }),
                       zeros({}, s32));
  };
  Program program = trace(f, scalar<int>(0));
  for (int i : {-1, 0}) EXPECT_EQ(program.call<Tensor>(scalar<int>(i)).item<int>(), 1) << i;
  for (int i : {1, 2}) EXPECT_EQ(f(scalar<int>(i)).item<int>(), 2) << i;
  EXPECT_EQ(f(full({}, uint64_t{1} << 40, u64)).item<int>(), 2);
}

TEST(Jax, N090_SwitchWithTwoOperands) {
  auto out = switch_case(1,
                         std::tuple([](Tensor a, Tensor b) { return a + b; },
                                    [](Tensor a, Tensor b) { return a * b; }),
                         scalar<int>(3), scalar<int>(4));
  EXPECT_EQ(out.item<int>(), 12);
}

TEST(Jax, N091_OneBranchNeedsNoConditional) {
  std::string text =
      trace([](Tensor i) { return switch_case(i, std::tuple([](Tensor t) { return t * 2; }), i); },
            scalar<int>(0))
          .hlo_text();
  EXPECT_EQ(occurrences(text, "conditional("), 0u);
  for (int i : {-7, 0, 7})
    EXPECT_EQ(
        switch_case(i, std::tuple([](Tensor t) { return t + 1; }), scalar<int>(1)).item<int>(), 2);
}

TEST(Jax, N092_TenCondsWithNewValuesCompileFewPrograms) {
  auto once = [](int i) {
    cond(
        scalar<bool>(i % 2 == 0), [](Tensor t) { return t + 1; }, [](Tensor t) { return t - 1; },
        scalar<int>(i));
  };
  Counters before = counters();
  for (int i = 0; i < 10; ++i) once(i);
  EXPECT_LT((counters() - before).compiles, 5);
}

TEST(Jax, N093_ClearingTheCacheFreesCapturedTensors) {
  std::weak_ptr<const trace_internal::Node> kept;
  {
    Tensor w = ones({16});
    kept = w.node();
    Function step("step", [w](Tensor c, Tensor x) { return std::pair(c + w * x, None{}); });
    scan(step, zeros({16}), ones({3}));
  }
  EXPECT_FALSE(kept.expired());  // the cache entry of a named Function keeps what it captured
  clear_combine_cache();
  EXPECT_TRUE(kept.expired());
}

}  // namespace
}  // namespace heddle
