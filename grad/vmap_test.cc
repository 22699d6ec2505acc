#include "heddle/grad/vmap.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "heddle/base/metrics/counters.h"
#include "heddle/base/support_test.h"
#include "heddle/grad/jacobian.h"
#include "heddle/grad/support_test.h"
#include "heddle/hlo/module.h"
#include "heddle/numpy/aliases.h"
#include "heddle/numpy/math.h"
#include "heddle/numpy/sequences.h"
#include "heddle/numpy/sorting.h"
#include "heddle/scan/associative.h"
#include "heddle/scan/cond.h"
#include "heddle/scan/loops.h"
#include "heddle/trace/ops/contraction/contractions.h"
#include "heddle/trace/ops/device/collectives.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/run/exchange.h"
#include "heddle/trace/run/program.h"
#include "heddle/transform/passes.h"

namespace heddle {
namespace {

using namespace grad_internal;  // NOLINT: support_test.h

TEST(Vmap, DoesEachExample) {
  auto f = [](Tensor a, Tensor b) { return sum(a * b) + max(a); };
  const Tensor a = some({4, 3}), b = some({4, 3}, 1);
  expect_same(vmap(f)(a, b), one_by_one(f, 4, a, b));
}

TEST(Vmap, SharesWhatHasNoAxis) {
  auto f = [](const Cell& l, Tensor x) { return tanh(matmul(x, l.w) + l.b); };
  const Cell layer{some({3, 2}), some({2})};
  const Tensor x = some({5, 3});
  expect_same(vmap(f, {.in_axes = {kNoAxis, 0}})(layer, x), f(layer, x));
}

TEST(Vmap, TakesExamplesFromAndPutsThemAtAnyAxis) {
  auto f = [](Tensor x, Tensor y) { return std::pair(matmul(x, y), y * 2.0); };
  const Tensor x = some({2, 3, 5}), y = some({3, 5});  // 5 examples of [2,3] and [3]
  const auto [xy, doubled] = vmap(f, {.in_axes = -1, .out_axes = {1, 0}})(x, y);
  EXPECT_EQ(xy.shape(), Shape(f64, {2, 5}));
  expect_same(xy, einsum("ijk,jk->ik", x, y));
  expect_same(doubled, transpose(y) * 2.0);
}

TEST(Vmap, TakesAxesInsideOfTrees) {
  auto f = [](const Cell& l, Tensor x) { return std::pair(tanh(matmul(x, l.w) + l.b), l); };
  const Cell layer{some({3, 2, 5}), some({2})};  // 5 examples of w, one b
  const Tensor x = some({5, 3});
  const VmapOptions options{.in_axes = {{2, kNoAxis}, 0}, .out_axes = {1, {-1, kNoAxis}}};
  const auto [y, same] = vmap(f, options)(layer, x);
  expect_same(y, transpose(tanh(einsum("ni,ijn->nj", x, layer.w) + layer.b)));
  expect_same(same.w, layer.w);
  expect_same(same.b, layer.b);
  auto g = [](const Cell& l) { return sum(l.w) * l.b; };
  expect_same(vmap(g, {.in_axes = {{2, kNoAxis}}})(layer), einsum("ijn,b->nb", layer.w, layer.b));
  const auto lists = [](const std::vector<Cell>& cells) { return cells[0].w + sum(cells[1].w); };
  const std::vector<Cell> two{layer, {some({5, 4}), some({})}};
  expect_same(vmap(lists, {.in_axes = {{{-1, kNoAxis}, {0, kNoAxis}}}})(two),
              moveaxis(layer.w, 2, 0) + reshape(sum(two[1].w, 1), {5, 1, 1}));
}

TEST(Vmap, GivesWhatDoesNotDependOnTheExampleOnce) {
  auto f = [](Tensor x, Tensor w) { return std::pair(x + w, w * 2.0); };
  const auto [xs, w] =
      vmap(f, {.in_axes = {0, kNoAxis}, .out_axes = {0, kNoAxis}})(some({3}), some({}));
  EXPECT_EQ(xs.shape(), Shape(f64, {3}));
  EXPECT_EQ(w.shape(), Shape(f64, {}));
  const Tensor repeated = vmap([](Tensor) { return arange(2, f64); })(some({3}));
  EXPECT_THAT(values(repeated), ElementsAre(0, 1, 0, 1, 0, 1));
}

TEST(Vmap, OfItself) {
  auto dot = [](Tensor a, Tensor b) { return sum(a * b); };
  auto all = vmap(vmap(dot, {.in_axes = {kNoAxis, 0}}), {.in_axes = {0, kNoAxis}});
  const Tensor a = some({4, 3}), b = some({5, 3}, 1);
  expect_same(all(a, b), matmul(a, transpose(b)));
}

TEST(Vmap, WithoutArgumentsThatHaveAnAxis) {
  auto f = [](Tensor x) { return x + 1.0; };
  const Tensor y = vmap(f, {.in_axes = kNoAxis, .axis_size = 3})(some({2}));
  EXPECT_EQ(y.shape(), Shape(f64, {3, 2}));
}

TEST(Vmap, OfGradAndGradOfVmap) {
  auto f = [](Tensor w, Tensor x) { return sum(square(tanh(matmul(x, w)))); };
  const Tensor w = some({3, 2}), x = some({4, 3}, 1);
  const Tensor each = vmap(grad(f), {.in_axes = {kNoAxis, 0}})(w, x);  // one a row of x
  expect_same(each, one_by_one([&](Tensor row) { return grad(f)(w, row); }, 4, x));
  auto total = [&](Tensor v) { return sum(vmap(f, {.in_axes = {kNoAxis, 0}})(v, x)); };
  expect_same(grad(total)(w), sum(each, {.axes = 0}));
}

TEST(Vmap, InAStepAndOfAScan) {
  auto step = [](Tensor h, Tensor x) {
    h = tanh(h * 0.5 + x);
    return std::pair(h, sum(h));
  };
  auto run = [&](Tensor h, Tensor xs) { return scan(step, h, xs).second; };
  const Tensor h = some({4, 2}), xs = some({4, 6, 2}, 1);
  expect_same(vmap(run)(h, xs), one_by_one(run, 4, h, xs));
  auto wide = [&](Tensor hs, Tensor x) { return vmap(step, {.in_axes = {0, kNoAxis}})(hs, x); };
  const auto [last, ys] = scan(wide, h, some({6, 2}, 2));
  expect_same(transpose(ys), one_by_one(
                                 [&](Tensor one) {
                                   return run(one, some({6, 2}, 2));
                                 },
                                 4, h));
}

TEST(Vmap, LanesOfAWhileStopByThemselves) {
  // Collatz steps to 1.
  auto steps = [](Tensor n) {
    using State = std::pair<Tensor, Tensor>;
    return while_loop([](State s) { return s.first > 1; },
                      [](State s) {
                        return State(where(s.first % 2 == 0, s.first / 2, s.first * 3 + 1),
                                     s.second + 1);
                      },
                      State(n, zeros_like(n)))
        .second;
  };
  EXPECT_THAT(vmap(steps)(array<int>({1, 2, 3, 7, 27})).to_vector<int>(),
              ElementsAre(0, 1, 7, 16, 111));
}

TEST(Vmap, AWhileAsksItsConditionOnceAStep) {
  auto f = [](Tensor x) {
    return while_loop([](Tensor y) { return atan2(y, y * 2.0) < y; },
                      [](Tensor y) { return y * 0.5; }, x);
  };
  const auto program = trace(vmap(f), placeholder({4}, f64));
  const hlo::Module module = *transform::inline_calls(program.module());
  const auto count = [&](const hlo::Computation& in) {
    return std::ranges::count(in.instructions, hlo::Opcode::kAtan2, &hlo::Instruction::opcode);
  };
  const hlo::Computation& entry = module.entry_computation();
  const auto loop =
      std::ranges::find(entry.instructions, hlo::Opcode::kWhile, &hlo::Instruction::opcode);
  ASSERT_TRUE(loop != entry.instructions.end());
  EXPECT_EQ(count(entry), 1) << "before the first step";
  EXPECT_EQ(count(module.at(loop->called[0])), 1) << "after each step";
  EXPECT_EQ(count(module.at(loop->called[1])), 0) << "the loop asks what it found";
}

TEST(Vmap, OfCondSelects) {
  auto f = [](Tensor p, Tensor x) {
    return cond(
        p, [](Tensor v) { return sqrt(v); }, [](Tensor v) { return v * 2.0; }, x);
  };
  const Tensor p = array<bool>({true, false, true}), x = array<double>({4, -1, 9});
  EXPECT_THAT(values(vmap(f)(p, x)), ElementsAre(2, -2, 3));
}

// The loop ends only for numbers above 0.
Tensor halvings(Tensor x) {
  using State = std::pair<Tensor, Tensor>;
  return while_loop([](State s) { return s.first != 0.0; },
                    [](State s) { return State(floor(s.first / 2.0), s.second + 1); },
                    State(x, scalar(0)))
      .second;
}

TEST(Vmap, ALoopDoesNotWaitForLanesThatDoNotRunIt) {
  auto f = [](Tensor x) {
    return cond(
        x > 0.0, halvings, [](Tensor) { return scalar(-1); }, x);
  };
  const Tensor x = array<double>({4, -3, 1, -1});  // for -1 halvings() would not end
  EXPECT_THAT(vmap(f)(x).to_vector<int>(), ElementsAre(3, -1, 1, -1));
  EXPECT_THAT(vmap(f)(array<double>({-1, -2})).to_vector<int>(), ElementsAre(-1, -1));
  // The same behind a scan, in a loop that lanes leave at different steps, and nested.
  auto many = [&](Tensor start, Tensor n) {
    using State = std::tuple<Tensor, Tensor, Tensor>;
    auto step = [&](State s) {
      const Tensor i = std::get<0>(s), v = std::get<1>(s);
      auto once = [&](Tensor t, None) { return std::pair(t + halvings(v), None{}); };
      const Tensor total = scan(once, std::get<2>(s), None{}, {.length = 2}).first;
      return State(i + 1, v - 2.0, total);
    };
    return std::get<2>(while_loop([&](State s) { return std::get<0>(s) < n; }, step,
                                  State(scalar(0), start, scalar(0))));
  };
  const Tensor starts = array<double>({3, 1, 5}), counts = array<int>({2, 1, 2});
  EXPECT_THAT(vmap(many)(starts, counts).to_vector<int>(), ElementsAre(6, 2, 10));
}

TEST(Vmap, OfALoopThatAllLanesShareInABranchThatNoneTakes) {
  auto f = [](Tensor p, Tensor x) {
    return cond(
        p, [&] { return halvings(x); }, [] { return scalar(0); });
  };
  auto g = vmap(f, {.in_axes = {0, kNoAxis}});
  EXPECT_THAT(g(array<bool>({false, false}), scalar(-1.0)).to_vector<int>(), ElementsAre(0, 0));
  EXPECT_THAT(g(array<bool>({false, true}), scalar(5.0)).to_vector<int>(), ElementsAre(0, 3));
}

TEST(Vmap, RunsInATraceAsOneProgram) {
  auto f = [](Tensor x) { return sum(x * x); };
  const auto program = trace([&](Tensor x) { return vmap(f)(x); }, placeholder({3, 2}, f64));
  EXPECT_THAT(values(program(reshape(array<double>({1, 2, 3, 4, 5, 6}), {3, 2}))),
              ElementsAre(5, 25, 61));
}

TEST(Vmap, ASecondCallMakesNothing) {
  auto f = [](Tensor x, Tensor w) { return sum(tanh(matmul(w, x))); };
  auto g = vmap(f, {.in_axes = {0, kNoAxis}});
  const Tensor x = some({4, 3}), w = some({3, 3}, 1);
  (void)values(g(x, w));
  const Counters before = counters();
  (void)values(g(x, w));
  const Counters after = counters();
  EXPECT_EQ(after.compiles, before.compiles);
  EXPECT_EQ(after.lowerings, before.lowerings);
  EXPECT_EQ(after.uploads, before.uploads);
}

TEST(Vmap, SharedMatricesMakeOneLargerProduct) {
  auto f = [](Tensor x, Tensor w) { return matmul(x, w); };
  const auto program = trace(vmap(f, {.in_axes = {0, kNoAxis}}), some({4, 3}), some({3, 2}));
  EXPECT_THAT(program.hlo_text(), HasSubstr("f64[4,1,2]{2,1,0} dot("));
  EXPECT_THAT(program.hlo_text(), Not(HasSubstr("f64[4,3,2]")));
}

TEST(Vmap, OfNoExamples) {
  auto f = [](Tensor x) { return sum(sin(x)) + max(x); };
  EXPECT_EQ(vmap(f)(zeros({0, 3}, f64)).shape(), Shape(f64, {0}));
}

TEST(Vmap, ComposesWithJvpAndHessian) {
  auto f = [](Tensor x) { return sum(x * x * x); };
  const Tensor x = some({4, 3}), v = some({4, 3}, 1);
  const auto [y, dy] = jvp(vmap(f), std::tuple(x), std::tuple(v));
  expect_same(dy, sum(x * x * v * 3.0, {.axes = 1}));
  auto along = [&](Tensor a, Tensor b) { return jvp(f, std::tuple(a), std::tuple(b)).second; };
  expect_same(vmap(along)(x, v), dy);
  expect_same(vmap(hessian(f))(x), one_by_one(hessian(f), 4, x));
}

TEST(Vmap, ABoundedWhileOverNoExamples) {
  const auto f = [](Tensor x) {
    return while_loop([](Tensor c) { return sum(c) < 50.0; }, [](Tensor c) { return c * 2.0; }, x,
                      {.max_steps = 8});
  };
  EXPECT_EQ(vmap(f)(zeros({0, 3}, f64)).shape(), Shape(f64, {0, 3}));
  const auto total = [&](Tensor x) { return sum(vmap(f)(x)); };
  EXPECT_EQ(grad(total)(zeros({0, 3}, f64)).shape(), Shape(f64, {0, 3}));
}

// sqrt has no slope at the values of a lane that has ended.
TEST(Vmap, LanesThatHaveEndedHaveNoPartInDerivatives) {
  const auto f = [](Tensor x) {
    return while_loop([](Tensor y) { return y > 1.0; }, [](Tensor y) { return sqrt(y - 1.0); }, x,
                      {.max_steps = 3});
  };
  const Tensor xs = array<double>({1, 5, 1.2});
  const Tensor want = one_by_one(grad(f), 3, xs);
  expect_same(vmap(grad(f))(xs), want);
  expect_same(grad([&](Tensor x) { return sum(vmap(f)(x)); })(xs), want);
}

// The step of a lane that has ended would have an infinite derivative by what lanes share.
TEST(Vmap, LanesThatHaveEndedAddNothingToDerivativesByWhatIsShared) {
  const auto loop = [](Tensor x, Tensor w) {
    return while_loop([](Tensor c) { return c < 5.0; },
                      [&](Tensor c) { return c + sqrt(6.0 - c) * w; }, x, {.max_steps = 9});
  };
  const Tensor xs = array<double>({1, 7, 2}), w = scalar(0.5);
  const auto each = [&](Tensor w) { return loop(xs[0], w) + loop(xs[1], w) + loop(xs[2], w); };
  const Tensor want = grad(each)(w);
  const auto captured = [&](Tensor w) {
    return sum(vmap([&](Tensor x) { return loop(x, w); })(xs));
  };
  const auto argument = [&](Tensor w) { return sum(vmap(loop, {.in_axes = {0, kNoAxis}})(xs, w)); };
  EXPECT_TRUE(std::isfinite(want.item<double>()));
  expect_same(grad(captured)(w), want);
  expect_same(grad(argument)(w), want);
  expect_same(jacfwd(captured)(w), want);
  expect_same(hessian(captured)(w), hessian(each)(w));
}

TEST(Vmap, TheSizeAloneSaysHowManyExamples) {
  const auto f = [](None) { return axis_index("i"); };
  EXPECT_THAT(vmap(f, {.axis_size = 4, .axis_name = "i"})(None{}).to_vector<int32_t>(),
              ElementsAre(0, 1, 2, 3));
}

// All examples take part in a psum of a branch or of a step, also those that do not want it.
TEST(VmapAxis, DerivativesInBranchesAndLoopsThatExamplesLeave) {
  const Tensor x = array<double>({1.0, 2.5});
  const auto of_branch = [](Tensor x) {
    const auto one = [](Tensor h) {
      return cond(
          h > 2.0, [&] { return psum(h, "i"); }, [&] { return zeros_like(h); });
    };
    return sum(vmap(one, {.axis_name = "i"})(x));
  };
  EXPECT_THAT(grad(of_branch)(x).to_vector<double>(), ElementsAre(1.0, 1.0));
  EXPECT_THAT(jacfwd(of_branch)(x).to_vector<double>(), ElementsAre(1.0, 1.0));
  const auto of_loop = [](Tensor x) {
    const auto one = [](Tensor h) {
      return while_loop([](Tensor v) { return v < 3.0; }, [](Tensor v) { return v + psum(v, "i"); },
                        h, {.max_steps = 9});
    };
    return vmap(one, {.axis_name = "i"})(x);
  };
  const Tensor y = array<double>({1.0, 3.5});
  EXPECT_THAT(
      jvp(of_loop, std::tuple(y), std::tuple(array<double>({0.0, 1.0}))).second.to_vector<double>(),
      ElementsAre(1.0, 1.0));
  EXPECT_THAT(grad([&](Tensor x) { return sum(of_loop(x)); })(y).to_vector<double>(),
              ElementsAre(2.0, 2.0));
}

TEST(VmapAxis, ExamplesAreTakenTogetherByName) {
  auto centred = [](Tensor x) { return x - pmean(x, "batch"); };
  const Tensor x = array<double>({1, 2, 6});
  EXPECT_THAT(values(vmap(centred, {.axis_name = "batch"})(x)), ElementsAre(-2, -1, 3));
  auto all = [](Tensor v) {
    return std::tuple(psum(v, "i"), pmax(v, "i"), pmin(v, "i"), axis_index("i"), all_gather(v, "i"),
                      psum(scalar(1), "i"));
  };
  const VmapOptions options{.out_axes = {kNoAxis, kNoAxis, kNoAxis, 0, kNoAxis, kNoAxis},
                            .axis_name = "i"};
  const auto [total, greatest, least, index, gathered, count] = vmap(all, options)(x);
  EXPECT_EQ(total.item<double>(), 9);
  EXPECT_EQ(greatest.item<double>(), 6);
  EXPECT_EQ(least.item<double>(), 1);
  EXPECT_THAT(index.to_vector<int>(), ElementsAre(0, 1, 2));
  EXPECT_THAT(values(gathered), ElementsAre(1, 2, 6));
  EXPECT_EQ(count.item<int>(), 3);
}

TEST(VmapAxis, GreatestAndLeastOfEveryKindOfNumber) {
  auto both = [](Tensor v) { return std::pair(pmax(v, "i"), pmin(v, "i")); };
  auto g = vmap(both, {.out_axes = kNoAxis, .axis_name = "i"});
  for (DType dtype : {s8, s32, s64, u8, u64, f8e4m3fn, bf16, f32}) {
    const bool has_sign = !is_unsigned(dtype);
    const Tensor x = array<double>({has_sign ? -3.0 : 3.0, has_sign ? -2.0 : 2.0}).astype(dtype);
    const auto [greatest, least] = g(x);
    EXPECT_EQ(greatest.astype(f64).item<double>(), has_sign ? -2 : 3) << to_string(dtype);
    EXPECT_EQ(least.astype(f64).item<double>(), has_sign ? -3 : 2) << to_string(dtype);
  }
  const auto [any, all] = g(array<bool>({true, false}));
  EXPECT_TRUE(any.item<bool>());
  EXPECT_FALSE(all.item<bool>());
  EXPECT_TRUE(g(array<bool>({true, true})).second.item<bool>());
  EXPECT_FALSE(g(array<bool>({false, false})).first.item<bool>());
}

TEST(VmapAxis, EachLevelHasItsOwn) {
  auto f = [](Tensor x) { return psum(x, "i") * 10.0 + psum(x, "j"); };
  auto g = vmap(vmap(f, {.axis_name = "j"}), {.axis_name = "i"});
  const Tensor x = reshape(array<double>({1, 2, 3, 4}), {2, 2});
  EXPECT_THAT(values(g(x)), ElementsAre(43, 63, 47, 67));
  auto joined = [](Tensor x) { return all_gather(x, "i") + axis_index("j").astype(f64); };
  EXPECT_THAT(values(vmap(vmap(joined, {.axis_name = "j"}), {.axis_name = "i"})(x)),
              ElementsAre(1, 3, 3, 5, 1, 3, 3, 5));
  auto inner = [](Tensor x) { return psum(x, "i"); };  // of two with one name the inner one
  auto h = vmap(vmap(inner, {.axis_name = "i"}), {.axis_name = "i"});
  EXPECT_THAT(values(h(x)), ElementsAre(3, 3, 7, 7));
}

TEST(VmapAxis, SeveralAreOneGroup) {
  const Tensor x = reshape(array<double>({1, 2, 3, 5}), {2, 2});
  const auto both = [&](const std::function<Tensor(Tensor)>& f) {
    return [f](Tensor v) {
      return vmap([f](Tensor row) { return vmap(f, {.axis_name = "j"})(row); },
                  {.axis_name = "i"})(v);
    };
  };
  const auto each = [&](const std::function<Tensor(Tensor)>& f) { return values(both(f)(x)); };
  EXPECT_THAT(each([](Tensor a) { return psum(a, {"i", "j"}); }), Each(11));
  EXPECT_THAT(each([](Tensor a) { return pmean(a, {"i", "j"}); }), Each(2.75));
  EXPECT_THAT(each([](Tensor a) { return pmax(a, {"j", "i"}); }), Each(5));
  EXPECT_THAT(each([](Tensor a) { return pmin(a, {"i", "j"}); }), Each(1));
  EXPECT_THAT(each([](Tensor a) {
                return a * double(axis_size({"i", "j"}));
              }),
              ElementsAre(4, 8, 12, 20));
  EXPECT_THAT(error_of([&] { (void)each([](Tensor a) {
                               return psum(a, {"i", "i"});
                             }); }),
              HasSubstr("psum: names vmap axis i twice; must name it once"));
  const auto loss = [](const char* what) {
    return [what](Tensor a) {
      const MeshAxes axes = {"i", "j"};
      const std::string_view name = what;
      if (name == "psum") return a * psum(a * a, axes);
      if (name == "pmean") return a * pmean(sin(a), axes);
      return a * (name == "pmax" ? pmax(a, axes) : pmin(a, axes));
    };
  };
  for (const char* what : {"psum", "pmean", "pmax", "pmin"})
    check_grads(both(loss(what)), std::tuple(x));
}

// What examples give each other, beside the same for all examples at once.
struct Exchange {
  std::function<Tensor(Tensor)> one, all;
  Shape shape;
};
std::vector<Exchange> exchanges() {
  const auto blocks = [](const Tensor& x) { return reshape(x, {4, 4, 2, 3}); };
  return {
      {[](Tensor x) { return all_to_all(x, "i", 0, 0); },
       [=](Tensor x) {
         return reshape(transpose(blocks(x), {1, 0, 2, 3}), {4, 8, 3});
       },
       Shape(f64, {4, 8, 3})},
      {[](Tensor x) { return all_to_all(x, "i", 0, 1); },
       [=](Tensor x) {
         return reshape(transpose(blocks(x), {1, 2, 0, 3}), {4, 2, 12});
       },
       Shape(f64, {4, 8, 3})},
      {[](Tensor x) { return reduce_scatter(x, "i", {.tiled = true}); },
       [=](Tensor x) { return sum(blocks(x), 0); }, Shape(f64, {4, 8, 3})},
      {[](Tensor x) { return reduce_scatter(x, "i", {.axis = -1}); },
       [](Tensor x) { return transpose(sum(x, 0)); }, Shape(f64, {4, 3, 4})},
      {[](Tensor x) {
         return permute(x, "i", {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
       },
       [](Tensor x) { return roll(x, 1, 0); }, Shape(f64, {4, 2})},
      {[](Tensor x) {
         return permute(x, "i", {{2, 0}, {2, 3}});
       },
       [](Tensor x) {
         return stack({x[2], zeros_like(x[0]), zeros_like(x[0]), x[2]});
       },
       Shape(f64, {4, 2})},
      {[](Tensor x) { return permute(x, "i", {}); }, [](Tensor x) { return zeros_like(x); },
       Shape(f64, {4})},
  };
}

TEST(VmapAxis, ExamplesGiveEachOtherParts) {
  for (const Exchange& each : exchanges()) {
    const auto f = vmap(each.one, {.axis_name = "i"});
    const Tensor x = some(each.shape.dimensions());
    expect_same(f(x), each.all(x));
    const auto loss = [](const auto& g) {
      return [&g](Tensor v) { return sum(sin(g(v)) * (1.5 + cos(3.0 * g(v)))); };
    };
    expect_same(grad(loss(f))(x), grad(loss(each.all))(x));
    expect_same(jvp(f, std::tuple(x), std::tuple(cos(x))).second, each.all(cos(x)));
    const auto wide = vmap(f, {.in_axes = 1, .out_axes = 1});  // of another vmap around
    const Tensor two = stack({x, x * 2.0}, 1);
    expect_same(wide(two), stack({each.all(x), each.all(x * 2.0)}, 1));
  }
}

TEST(VmapAxis, WhatCannotBeDividedIsAnError) {
  const auto f = vmap([](Tensor x) { return all_to_all(x, "i", 0, 0); }, {.axis_name = "i"});
  EXPECT_THAT(error_of([&] {
                (void)f(some({4, 6}));
              }),
              HasSubstr("all_to_all: axis 0 of x, f64[6], goes to a group of 4 examples; its size "
                        "must be a multiple"));
  EXPECT_THAT(error_of([&] { (void)f(some({0, 6})); }), HasSubstr("a group of 0 examples"));
  const auto g = vmap([](Tensor x) { return permute(x, "i", {{0, 4}}); }, {.axis_name = "i"});
  EXPECT_THAT(error_of([&] { (void)g(some({4})); }),
              HasSubstr("permute: has the pair (0, 4) in a group of 4 examples"));
  const auto none = vmap([](Tensor x) { return permute(x, "i", {}); }, {.axis_name = "i"});
  EXPECT_EQ(none(some({0, 2})).shape(), Shape(f64, {0, 2}));
}

TEST(VmapAxis, GoesWithDerivativesAndLoops) {
  auto loss = [](Tensor x) { return square(psum(x, "i") - x); };
  const Tensor x = array<double>({1, 2, 6});
  // Of the sum of all losses.
  auto total = [&](Tensor v) { return sum(vmap(loss, {.axis_name = "i"})(v)); };
  const std::vector<double> want = values(grad(total)(x));
  EXPECT_THAT(want, ElementsAre(2 * (7 + 3), 2 * (8 + 3), 2 * (8 + 7)));
  EXPECT_EQ(values(vmap(grad(loss), {.axis_name = "i"})(x)), want);
  auto extremes = [](Tensor x) { return pmax(x * x, "i") * 3.0 - pmin(x, "i") * x; };
  auto of_all = [&](Tensor v) { return sum(vmap(extremes, {.axis_name = "i"})(v)); };
  auto plain = [](Tensor v) { return max(v * v) * 9.0 - min(v) * sum(v); };
  for (const Tensor& v : {x, array<double>({-2, 2, 1}), array<double>({1, 1, 1})}) {
    EXPECT_EQ(values(grad(of_all)(v)), values(grad(plain)(v)));
    expect_same(jvp(of_all, std::tuple(v), std::tuple(x)).second,
                jvp(plain, std::tuple(v), std::tuple(x)).second);
  }
  auto counted = [](Tensor x) {
    auto step = [](Tensor h, None) { return std::pair(h + psum(h, "i"), None{}); };
    return scan(step, x, None{}, {.length = 2}).first;
  };
  EXPECT_THAT(values(vmap(counted, {.axis_name = "i"})(array<double>({1, 2}))),
              ElementsAre(1 + 3 + 9, 2 + 3 + 9));
}

// Factors may be zero, two of them in the second column.
TEST(VmapAxis, ProductsHaveDerivatives) {
  const Tensor x = array<double>({2, 0, 3, 0, 5, 7}, {3, 2});
  const auto of_lanes = [](Tensor x) {
    const auto one = [](Tensor v) { return all_reduce(v, "i", CollectiveCombine::kProduct); };
    return sum(vmap(one, {.out_axes = 0, .axis_name = "i"})(x) * (x + 1.0));
  };
  const auto whole = [](Tensor x) { return sum(prod(x, 0) * (x + 1.0)); };
  EXPECT_EQ(grad(of_lanes)(x).to_vector<double>(), grad(whole)(x).to_vector<double>());
  const auto twice = [&](const auto& f) {
    return grad([&](Tensor x) { return sum(grad(f)(x) * x); })(x).template to_vector<double>();
  };
  EXPECT_EQ(twice(of_lanes), twice(whole));
}

// bf16 counts to 256.
TEST(VmapAxis, ManyEqualGreatestShareOne) {
  const auto greatest = [](Tensor v) { return pmax(v, "i"); };
  const auto first = [&](Tensor x) { return vmap(greatest, {.axis_name = "i"})(x)[0]; };
  const Tensor shares = grad(first)(ones({1024}, bf16));
  EXPECT_EQ(shares[7].astype(f32).item<float>(), 1.0F / 1024);
}

TEST(VmapAxis, OfAnotherNameIsAnError) {
  auto f = [](Tensor x) { return psum(x, "j"); };
  EXPECT_THAT(error_of([&] { (void)vmap(f, {.axis_name = "i"})(some({3})); }),
              HasSubstr("psum: names axis \"j\"; around are a vmap over \"i\", it must name one of "
                        "their axes"));
  EXPECT_THAT(error_of([&] {
                (void)vmap(vmap(f, {.axis_name = "k"}), {.axis_name = "i"})(some({3, 2}));
              }),
              HasSubstr("a vmap over \"k\", \"i\", it"));
  EXPECT_THAT(error_of([&] { (void)vmap(f)(some({3})); }),
              HasSubstr("psum: is outside of shard_map; only inside does each device have a part "
                        "of its own (nor is there a vmap around whose axis_name is \"j\")"));
}

TEST(VmapAxis, OfAProgramCalledOutsideOfItIsAnError) {
  std::optional<Program> kept;
  auto f = [&](Tensor x) {
    auto along = [](Tensor v) { return psum(v, "i"); };
    kept = trace(along, x);
    return along(x);
  };
  EXPECT_THAT(values(vmap(f, {.axis_name = "i"})(array<double>({1, 2, 3}))), ElementsAre(6, 6, 6));
  ASSERT_TRUE(kept.has_value());
  EXPECT_THAT(error_of([&] { (void)kept->call<Tensor>(scalar(1.0)); }),
              HasSubstr("all-reduce: is over the vmap axis \"i"));
}

TEST(Vmap, NamesWhatHasNoSuchAxis) {
  auto f = [](Tensor a, Tensor b) { return a * b; };
  EXPECT_THAT(error_of([&] { (void)vmap(f)(some({3}), some({4})); }),
              HasSubstr("vmap: arg1 is f64[4] with 4 examples along axis 0; it must have 3, since "
                        "arg0 is f64[3] with 3 along axis 0 [vmap_test.cc:"));
  EXPECT_THAT(error_of([&] { (void)vmap(f)(some({3}), some({})); }),
              HasSubstr("vmap: arg1 is f64[]; it must have an axis of examples, or kNoAxis in "
                        "in_axes where all share it"));
  EXPECT_THAT(error_of([&] { (void)vmap(f, {.in_axes = 1})(some({3}), some({3})); }),
              HasSubstr("vmap: arg0 is f64[3]; its axis in in_axes is 1, it must be in [-1, 0]"));
  EXPECT_THAT(error_of([&] { (void)vmap(f, {.in_axes = {0}})(some({3}), some({3})); }),
              HasSubstr("vmap: in_axes has 1 entry; the function is called with 2 arguments"));
  EXPECT_THAT(error_of([&] { (void)vmap(f, {.in_axes = kNoAxis})(some({3}), some({3})); }),
              HasSubstr("vmap: no argument has an axis of examples"));
  EXPECT_THAT(error_of([&] { (void)vmap(f, {.axis_size = 4})(some({3}), some({3})); }),
              HasSubstr("arg0 is f64[3] with 3 examples along axis 0; it must have 4, since "
                        "axis_size is 4"));
  EXPECT_THAT(error_of([&] { (void)vmap(f, {.out_axes = 2})(some({3}), some({3})); }),
              HasSubstr("vmap: result is f64[] for each example; its axis in out_axes is 2, it "
                        "must be in [-1, 0]"));
  EXPECT_THAT(
      error_of([&] { (void)vmap(f, {.out_axes = kNoAxis})(some({3}), some({3})); }),
      HasSubstr("vmap: result is f64[] for each example; it must have an axis in out_axes"));
  const Cell layer{some({3, 2}), some({2})};
  auto of_layer = [](const Cell& l) { return l.w; };
  EXPECT_THAT(error_of([&] {
                (void)vmap(of_layer, {.in_axes = {{0, 0, 0}}})(layer);
              }),
              HasSubstr("vmap: in_axes has 3 entries for arg0, which is a struct {w, b}; it must "
                        "have one for each element of that"));
  EXPECT_THAT(error_of([&] {
                (void)vmap(f, {.in_axes = {{0}, 0}})(some({3}), some({3}));
              }),
              HasSubstr("vmap: in_axes has 1 entry for arg0, which is a tensor; write one number, "
                        "without braces"));
  EXPECT_THAT(error_of([&] { (void)vmap([](const Cell& l) { return l.w; })(layer); }),
              HasSubstr("vmap: arg0.b is f64[2] with 2 examples along axis 0; it must have 3"));
}

}  // namespace
}  // namespace heddle
