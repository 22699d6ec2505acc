// The behaviours that JAX's lax_control_flow_test checks about loops and branches under vmap, by
// their numbers in the list of docs/behaviours.md.
#include <cmath>
#include <regex>

#include "heddle/base/support_test.h"
#include "heddle/grad/support_test.h"
#include "heddle/heddle.h"

namespace heddle {
namespace {

using grad_internal::expect_same;
using grad_internal::one_by_one;
using grad_internal::some;
using grad_internal::values;

size_t count_of(const std::string& text, const std::string& word) {
  const std::regex pattern(word);
  return static_cast<size_t>(std::distance(std::sregex_iterator(text.begin(), text.end(), pattern),
                                           std::sregex_iterator()));
}

// B. and C. while and fori

TEST(Jax, N044_ACarryThatIsOnlyReadStaysUnbatched) {
  using State = std::tuple<Tensor, Tensor, Tensor>;
  auto f = [](Tensor n, Tensor step) {
    return std::get<1>(while_loop([](const State& s) { return std::get<0>(s) > 0; },
                                  [](const State& s) {
                                    auto [i, x, by] = s;
                                    return State(i - 1, x + by, by);
                                  },
                                  State(n, zeros_like(step), step)));
  };
  auto g = vmap(f, {.in_axes = {0, kNoAxis}});
  const Tensor n = array<int>({0, 1, 3}), step = array<double>({1, 2});
  EXPECT_THAT(values(g(n, step)), ElementsAre(0, 0, 1, 2, 3, 6));
  // (i, x, step, which lanes go on)
  EXPECT_THAT(trace(g, n, step).hlo_text(),
              HasSubstr("(s32[3]{0}, f64[3,2]{1,0}, f64[2]{0}, pred[3]{0}) while("));
}

TEST(Jax, N048_VmapOfWhile) {
  auto f = [](Tensor x) {
    return while_loop([](Tensor y) { return y < 100.0; }, [](Tensor y) { return y * y; }, x);
  };
  EXPECT_THAT(values(vmap(f)(array<double>({2, 3, 200}))), ElementsAre(256, 6561, 200));
}

TEST(Jax, N050_LanesStopIndependently) {
  auto f = [](Tensor x) {
    return while_loop([](Tensor y) { return y < 3; }, [](Tensor y) { return y + 2; }, x);
  };
  const Tensor x = array<int>({0, 1, 2, 3});
  EXPECT_THAT(ints(vmap(f)(x)), ElementsAre(4, 3, 4, 3));
  const auto program = trace([&](Tensor v) { return vmap(f)(v); }, x);
  EXPECT_THAT(ints(program(x)), ElementsAre(4, 3, 4, 3));
}

TEST(Jax, N051_ConditionOnTheLanesNumber) {
  auto f = [](Tensor lane, Tensor start) {
    return while_loop([&](Tensor y) { return y < lane; }, [](Tensor y) { return y + 1; }, start);
  };
  const Tensor lanes = arange(4);
  EXPECT_THAT(ints(vmap(f, {.in_axes = {0, kNoAxis}})(lanes, scalar(0))), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ints(vmap(f)(lanes, array<int>({2, 2, 2, 2}))), ElementsAre(2, 2, 2, 3));
}

TEST(Jax, N052_ConstantBodyAndFalseConditionKeepInit) {
  auto f = [](Tensor x) {
    return while_loop([](Tensor) { return scalar(false); }, [](Tensor y) { return ones_like(y); },
                      x);
  };
  EXPECT_THAT(values(vmap(f)(array<double>({3, 4}))), ElementsAre(3, 4));
}

TEST(Jax, N053_OnlyWhatTheConditionCapturesIsBatched) {
  auto f = [](Tensor limit) {
    return while_loop([&](Tensor y) { return y < limit; }, [](Tensor y) { return y + 2; },
                      scalar(0));
  };
  EXPECT_THAT(ints(vmap(f)(array<int>({0, 1, 5}))), ElementsAre(0, 2, 6));
}

TEST(Jax, N054_OnlyWhatTheBodyCapturesIsBatched) {
  auto f = [](Tensor by) {
    return while_loop([](Tensor y) { return y < 5; }, [&](Tensor y) { return y + by; }, scalar(0));
  };
  EXPECT_THAT(ints(vmap(f)(array<int>({1, 2, 7}))), ElementsAre(5, 6, 7));
}

TEST(Jax, N055_ALeafOfTheStateThatIsNotTouched) {
  using State = std::pair<Tensor, Tensor>;
  auto f = [](Tensor x, Tensor y) {
    return while_loop([](State s) { return s.first < 3; },
                      [](State s) { return State(s.first + 1, s.second); }, State(x, y));
  };
  const auto [x, y] = vmap(f)(array<int>({0, 5}), array<double>({1, 2}));
  EXPECT_THAT(ints(x), ElementsAre(3, 5));
  EXPECT_THAT(values(y), ElementsAre(1, 2));
}

TEST(Jax, N056_NestedLoopsThatDependOnData) {
  // Adds 1 .. i for i = n, n - 1, .. 1.
  using State = std::pair<Tensor, Tensor>;
  auto inner = [](Tensor i, Tensor total) {
    return while_loop([](State s) { return s.first > 0; },
                      [](State s) { return State(s.first - 1, s.second + s.first); },
                      State(i, total))
        .second;
  };
  auto f = [&](Tensor n) {
    return while_loop([](State s) { return s.first > 0; },
                      [&](State s) { return State(s.first - 1, inner(s.first, s.second)); },
                      State(n, zeros_like(n)))
        .second;
  };
  EXPECT_THAT(ints(vmap(f)(array<int>({0, 1, 2, 5}))), ElementsAre(0, 1, 4, 35));
}

TEST(Jax, N057_ForiWithOneBatchedLeaf) {
  using State = std::pair<Tensor, Tensor>;
  auto f = [](Tensor x, Tensor y) {
    return fori_loop(
        0, 3, [](Tensor i, State s) { return State(s.first + s.second, s.second + i); },
        State(x, y));
  };
  const auto [x, y] =
      vmap(f, {.in_axes = {0, kNoAxis}, .out_axes = {0, kNoAxis}})(arange(3), scalar(1));
  EXPECT_THAT(ints(x), ElementsAre(4, 5, 6));  // + 1 + 1 + 2
  EXPECT_EQ(y.item<int>(), 4);
}

TEST(Jax, N058_ACounterThatAllLanesShareStaysUnbatched) {
  auto f = [](Tensor x, Tensor n) {
    return fori_loop(
        scalar(0), n, [](Tensor i, Tensor y) { return y + i.astype(f64); }, x);
  };
  const auto program = trace(vmap(f, {.in_axes = {0, kNoAxis}}), some({3}), scalar(4));
  EXPECT_THAT(program.hlo_text(), HasSubstr("while"));
  EXPECT_THAT(program.hlo_text(), Not(HasSubstr("s32[3]")));
  EXPECT_THAT(program.hlo_text(), Not(HasSubstr("pred[3]")));
}

TEST(Jax, N059_NestedVmapsWithABatchedCount) {
  auto f = [](Tensor x, Tensor n) {
    return fori_loop(
        scalar(0), n, [](Tensor, Tensor y) { return y * 2.0; }, x);
  };
  auto all = vmap(vmap(f, {.in_axes = {0, kNoAxis}}), {.in_axes = {kNoAxis, 0}});
  EXPECT_THAT(values(all(array<double>({1, 3}), array<int>({0, 2, 3}))),
              ElementsAre(1, 3, 4, 12, 8, 24));
}

TEST(Jax, N060_BatchedConditionAndAConstantOnAnotherAxis) {
  auto f = [](Tensor n, Tensor by) {
    using State = std::pair<Tensor, Tensor>;
    return while_loop([](State s) { return s.first > 0; },
                      [&](State s) { return State(s.first - 1, s.second + by); },
                      State(n, zeros_like(by)))
        .second;
  };
  const Tensor by = array<double>({1, 2, 3, 4, 5, 6});  // [2,3]: 3 examples along axis 1
  const Tensor y =
      vmap(f, {.in_axes = {0, 1}, .out_axes = 1})(array<int>({0, 1, 2}), reshape(by, {2, 3}));
  EXPECT_THAT(values(y), ElementsAre(0, 2, 6, 0, 5, 12));
}

TEST(Jax, N061_SplitKeysAndCondInAFori) {
  auto f = [](Tensor key) {
    using State = std::pair<Tensor, Tensor>;
    return fori_loop(
               0, 4,
               [](Tensor, State s) {
                 const Tensor keys = random::split(s.first);
                 const Tensor x = random::uniform(keys[0], {}, f64);
                 const Tensor y = cond(
                     x < 0.5, [](Tensor v) { return v + 1.0; }, [](Tensor v) { return v * 3.0; },
                     s.second);
                 return State(keys[1], y);
               },
               State(key, scalar(0.25)))
        .second;
  };
  const Tensor keys = random::split(random::key(7), 5);
  expect_same(vmap(f)(keys), one_by_one(f, 5, keys));
}

// F. cond and switch

Tensor two_ways(Tensor p, Tensor x) {
  return cond(
      p, [](Tensor v) { return sin(v); }, [](Tensor v) { return v * 2.0; }, x);
}

TEST(Jax, N096_CondWithABatchedPredicateSelects) {
  const Tensor p = array<bool>({true, false}), x = array<double>({1, 2});
  const auto program = trace(vmap(two_ways), p, x);
  EXPECT_THAT(program.hlo_text(), HasSubstr(" select("));
  EXPECT_THAT(program.hlo_text(), Not(HasSubstr(" conditional(")));
  EXPECT_THAT(values(program(p, x)), ElementsAre(std::sin(1.0), 4));
}

Tensor three_ways(Tensor i, Tensor x) {
  return switch_case(i,
                     std::tuple([](Tensor v) { return v; }, [](Tensor v) { return v * 2.0; },
                                [](Tensor v) { return v * 3.0; }),
                     x);
}

TEST(Jax, N097_SwitchWithASharedIndexStaysOne) {
  const Tensor x = array<double>({1, 2});
  const auto program = trace(vmap(three_ways, {.in_axes = {kNoAxis, 0}}), scalar(1), x);
  EXPECT_EQ(count_of(program.hlo_text(), " conditional\\("), 1u);
  EXPECT_THAT(program.hlo_text(), Not(HasSubstr("f64[2]{0} select(")));
  EXPECT_THAT(values(program(scalar(2), x)), ElementsAre(3, 6));
}

TEST(Jax, N098_SwitchWithABatchedIndexSelectsAndClamps) {
  const Tensor i = array<int>({-1, 0, 1, 2, 9}), x = array<double>({1, 2, 3, 4, 5});
  const auto program = trace(vmap(three_ways), i, x);
  EXPECT_THAT(program.hlo_text(), Not(HasSubstr(" conditional(")));
  EXPECT_THAT(values(program(i, x)), ElementsAre(1, 2, 6, 12, 15));
}

TEST(Jax, N109_BranchesThatAreNotTakenSpoilNoGradient) {
  auto safe_root = [](Tensor x, Tensor w) {
    return cond(
        x > 0.0, [&](Tensor v) { return sqrt(v) * w; }, [](Tensor v) { return zeros_like(v); }, x);
  };
  auto total = [&](Tensor x, Tensor w) {
    return sum(vmap(safe_root, {.in_axes = {0, kNoAxis}})(x, w));
  };
  const auto [dx, dw] = grad(total, argnums<0, 1>)(array<double>({4, 0, -1}), scalar(1.0));
  EXPECT_THAT(values(dx), ElementsAre(0.25, 0, 0));
  EXPECT_EQ(dw.item<double>(), 2);
}

TEST(Jax, N109_OperandsThatLanesShareAreNotSpoiledEither) {
  auto f = [](Tensor x, Tensor c) {
    return cond(
        x > c, [](Tensor v, Tensor d) { return sqrt(v - d); },
        [](Tensor v, Tensor) { return v * 0.0; }, x, c);
  };
  auto total = [&](Tensor c) {
    return sum(vmap(f, {.in_axes = {0, kNoAxis}})(array<double>({5, 1, 0}), c));
  };
  EXPECT_EQ(grad(total)(scalar(1.0)).item<double>(), -0.25);
}

TEST(Jax, N110_VmapOfGradOfCondIsWhere) {
  auto f = [](Tensor x) {
    return cond(
        x < 1.0, [](Tensor v) { return v * v; }, [](Tensor v) { return sin(v) * 3.0; }, x);
  };
  const Tensor x = array<double>({0.5, 2, -1});
  expect_same(vmap(grad(f))(x), where(x < 1.0, x * 2.0, cos(x) * 3.0));
  auto g = [](Tensor x) {
    return cond(
        x < 1.0, [](Tensor v) { return v * v; }, [](Tensor) { return scalar(4.0); }, x);
  };
  expect_same(vmap(grad(g))(x), where(x < 1.0, x * 2.0, zeros_like(x)));
  auto h = [](Tensor x, Tensor y) {
    return cond(
        y < 1.0, [&] { return x * x; }, [&] { return x * y; });
  };
  const Tensor y = array<double>({0, 3, 5});
  expect_same(vmap(grad(h))(x, y), where(y < 1.0, x * 2.0, y));
}

TEST(Jax, N115_VmapOfJacrevOfNestedConds) {
  auto f = [](Tensor x) {
    auto inner = [](Tensor v) {
      return cond(
          sum(v) < 0.0, [](Tensor u) { return u * u; }, [](Tensor u) { return exp(u); }, v);
    };
    return cond(sum(x) < 0.0, inner, inner, x);
  };
  const Tensor x = some({4, 2});
  expect_same(vmap(jacrev(f))(x), one_by_one(jacrev(f), 4, x));
}

TEST(Jax, N118_AResultThatPassesThroughStaysUnbatched) {
  auto f = [](Tensor p, Tensor x, Tensor w) {
    using Both = std::pair<Tensor, Tensor>;
    return cond(
        p, [](Tensor v, Tensor u) { return Both(v + 1.0, u); },
        [](Tensor v, Tensor u) { return Both(v * 2.0, u); }, x, w);
  };
  const Tensor x = array<double>({1, 2}), w = scalar(5.0);
  const auto shared = vmap(f, {.in_axes = {kNoAxis, 0, kNoAxis}, .out_axes = {0, kNoAxis}});
  const auto [y, v] = shared(scalar(true), x, w);
  EXPECT_THAT(values(y), ElementsAre(2, 3));
  EXPECT_EQ(v.item<double>(), 5);
  const auto each = vmap(f, {.in_axes = {0, 0, kNoAxis}, .out_axes = {0, kNoAxis}});
  const auto [z, u] = each(array<bool>({true, false}), x, w);
  EXPECT_THAT(values(z), ElementsAre(2, 4));
  EXPECT_EQ(u.item<double>(), 5);
}

// H. and J. scan

TEST(Jax, N142_SumsOverANamedAxisInAScan) {
  auto f = [](Tensor x) {
    auto step = [](Tensor h, Tensor x) {
      h = h + psum(x, "i");
      return std::pair(h, h * x);
    };
    return scan(step, zeros_like(x[0]), x).second;
  };
  const Tensor x = array<double>({1, 2, 3, 4});  // 2 examples of 2 steps
  EXPECT_THAT(values(vmap(f, {.axis_name = "i"})(reshape(x, {2, 2}))), ElementsAre(4, 20, 12, 40));
}

TEST(Jax, N143_ACarryThatIsOnlyReadInAVmappedCond) {
  auto f = [](Tensor p, Tensor x) {
    using Carry = std::pair<Tensor, Tensor>;
    auto loop = [](Tensor v) {
      auto step = [](Carry c, None) {
        return std::pair(Carry(c.first + c.second, c.second), None{});
      };
      return scan(step, Carry(v, v * 2.0), None{}, {.length = 3}).first.first;
    };
    return cond(
        p, loop, [](Tensor v) { return v; }, x);
  };
  EXPECT_THAT(values(vmap(f)(array<bool>({true, false}), array<double>({1, 2}))),
              ElementsAre(7, 2));
}

TEST(Jax, N167_EveryMixOfCarryAndXsAxes) {
  auto run = [](Tensor h, Tensor xs) {
    auto step = [](Tensor c, Tensor x) {
      c = sin(c) + x;
      return std::pair(c, c * x);
    };
    auto [last, ys] = scan(step, h, xs);
    return concat({expand_dims(last, 0), ys}, 0);
  };
  // Lanes: 3; steps: 5; of [2].
  const Tensor h = some({3, 2}), xs = some({3, 5, 2}, 1);
  for (int64_t carry_axis : {int64_t{0}, int64_t{1}, kNoAxis}) {
    for (int64_t xs_axis : {int64_t{0}, int64_t{1}, int64_t{2}, kNoAxis}) {
      if (carry_axis == kNoAxis && xs_axis == kNoAxis) continue;
      const Tensor h_at = carry_axis == kNoAxis ? h[0] : moveaxis(h, 0, carry_axis);
      const Tensor xs_at = xs_axis == kNoAxis ? xs[0] : moveaxis(xs, 0, xs_axis);
      const Tensor have = vmap(run, {.in_axes = {carry_axis, xs_axis}})(h_at, xs_at);
      const Tensor all_h = carry_axis == kNoAxis ? broadcast_to(h[0], {3, 2}) : h;
      const Tensor all_xs = xs_axis == kNoAxis ? broadcast_to(xs[0], {3, 5, 2}) : xs;
      expect_same(have, one_by_one(run, 3, all_h, all_xs));
    }
  }
}

TEST(Jax, N168_TreesOnDifferentAxes) {
  using Pair = std::pair<Tensor, Tensor>;
  auto run = [](Pair h, Pair xs) {
    auto step = [](Pair c, Pair x) {
      return std::pair(Pair(c.first + sum(x.first), c.second * x.second), c.first * c.second);
    };
    return scan(step, h, xs).second;
  };
  const Pair h(some({3}), some({3}, 1));
  const Tensor a = some({4, 3, 2}, 2), b = some({4, 3}, 3);  // 4 steps, 3 lanes
  const Tensor have = vmap(run, {.in_axes = {0, 1}, .out_axes = 1})(h, Pair(a, b));
  std::vector<Tensor> lanes;
  for (int64_t i = 0; i < 3; ++i)
    lanes.push_back(
        run(Pair(h.first[i], h.second[i]), Pair(swapaxes(a, 0, 1)[i], swapaxes(b, 0, 1)[i])));
  expect_same(have, stack(lanes, 1));
}

TEST(Jax, N169_LanesSpreadThroughACarryThatShifts) {
  auto f = [](Tensor x) {
    using Carry = std::tuple<Tensor, Tensor, Tensor>;
    auto step = [&](Carry c, None) {
      auto [p, q, r] = c;
      return std::pair(Carry(q, r, r + x), p);
    };
    return scan(step, Carry(scalar(1.0), scalar(2.0), scalar(3.0)), None{}, {.length = 5}).second;
  };
  EXPECT_THAT(values(vmap(f)(array<double>({0, 10}))), ElementsAre(1, 2, 3, 3, 3, 1, 2, 3, 13, 23));
}

}  // namespace
}  // namespace heddle
