// torch_xla's behaviours that need derivatives, compiled functions or eager calls, by their numbers
// in the list of docs/behaviours.md.
#include <map>
#include <optional>
#include <regex>

#include "heddle/base/support_test.h"
#include "heddle/grad/support_test.h"
#include "heddle/heddle.h"
#include "heddle/testing.h"
#include "heddle/trace/support_test.h"
#include "heddle/transform/derivatives.h"

namespace heddle {
namespace {

using grad_internal::some;
using grad_internal::values;

void expect_near(const Tensor& a, const Tensor& b, double tolerance = 1e-12) {
  EXPECT_EQ(a.shape(), b.shape());
  EXPECT_THAT(values(a), testing::Pointwise(testing::DoubleNear(tolerance), values(b)));
}

size_t count_of(const std::string& text, const std::string& word) {
  const std::regex pattern(word);
  return static_cast<size_t>(std::distance(std::sregex_iterator(text.begin(), text.end(), pattern),
                                           std::sregex_iterator()));
}

// ---- Derivatives of scan.

// c * sin(x), the carry and each step's value; and the same as a C++ loop.
std::pair<Tensor, Tensor> looped(const Tensor& init, const Tensor& xs) {
  Tensor c = init;
  std::vector<Tensor> ys;
  for (int64_t i = 0; i < xs.dim(0); ++i) ys.push_back(c = c * sin(xs[i]) + xs[i]);
  return {c, stack(ys)};
}
std::pair<Tensor, Tensor> scanned(const Tensor& init, const Tensor& xs) {
  return scan(
      [](Tensor c, Tensor x) {
        const Tensor next = c * sin(x) + x;
        return std::pair(next, next);
      },
      init, xs);
}

TEST(TorchXla, N12_GradientsByInitByXsAndByBoth) {
  const Tensor init = some({3}), xs = some({5, 3}, 1);
  const auto loss = [](auto run) {
    return [run](const Tensor& c, const Tensor& x) {
      const auto [last, ys] = run(c, x);
      return sum(last) + sum(ys * ys);
    };
  };
  const auto [by_init, by_xs] = grad(loss(scanned), argnums<0, 1>)(init, xs);
  const auto [want_init, want_xs] = grad(loss(looped), argnums<0, 1>)(init, xs);
  expect_near(by_init, want_init);
  expect_near(by_xs, want_xs);
  expect_near(grad(loss(scanned))(init, xs), want_init);
  expect_near(grad(loss(scanned), argnums<1>)(init, xs), want_xs);
}

TEST(TorchXla, N16_CheckpointComputesAgainAndGivesTheSame) {
  const Tensor init = some({4}), xs = some({6, 4}, 2);
  const auto step = [](Tensor c, Tensor x) {
    for (int i = 0; i < 10; ++i) c = sin(c) + x;
    return std::pair(c, None{});
  };
  const auto plain = [&](const Tensor& c) { return sum(scan(step, c, xs).first); };
  const auto again = [&](const Tensor& c) { return sum(scan(checkpoint(step), c, xs).first); };
  expect_near(grad(again)(init), grad(plain)(init));
  const auto sines = [&](auto loss) {
    return count_of(trace(grad(loss), init).lowered().hlo_text(), " sine\\(");
  };
  EXPECT_EQ(sines(plain), 10u);
  EXPECT_EQ(sines(again), 19u) << "nine more in the backward loop; it needs no last sine";
}

TEST(TorchXla, N18_AResidualThatIsXsIsNotStackedAgain) {
  const Tensor xs = some({7, 3});
  const auto loss = [&](const Tensor& w) {
    return sum(scan([](Tensor c, Tensor x) { return std::pair(c * x, None{}); }, w, xs).first);
  };
  const std::string text = trace(grad(loss), some({3}, 1)).lowered().hlo_text();
  EXPECT_THAT(text, HasSubstr("dynamic-slice("));
  EXPECT_EQ(count_of(text, "dynamic-update-slice\\("), 0u)
      << "nothing is stacked: the backward loop reads xs itself\n"
      << text;
}

// Which parameter each residual of its derivative is; nothing for a value that is computed.
std::vector<std::optional<size_t>> residuals_of(const Program& program) {
  const hlo::Module& module = program.module();
  const size_t parameters = module.entry_computation().parameters.size();
  return transform::linearize(module, std::vector<bool>(parameters, true))->residuals;
}

TEST(TorchXla, N23_TheResidualsOfAMatmulAreItsOperands) {
  const Tensor w = some({3, 3}), x = some({2, 3}, 1);
  const auto loss = [](const Tensor& m, const Tensor& v) { return sum(matmul(v, m)); };
  const auto [value, grads] = value_and_grad(loss, argnums<0, 1>)(w, x);
  expect_near(value, loss(w, x));
  expect_near(std::get<0>(grads), matmul(transpose(x), ones({2, 3}, f64)));
  expect_near(std::get<1>(grads), matmul(ones({2, 3}, f64), transpose(w)));
  EXPECT_THAT(residuals_of(trace(loss, w, x)), testing::UnorderedElementsAre(0, 1));
  // In a loop they are the carry and x: the carries are stacked, x is read again.
  const Tensor xs = some({5, 3, 3}, 2);
  const auto by_scan = [](const Tensor& c, const Tensor& xs) {
    const auto step = [](Tensor c, Tensor x) { return std::pair(matmul(c, x), None{}); };
    return sum(scan(step, c, xs).first);
  };
  const auto by_loop = [](Tensor c, const Tensor& xs) {
    for (int64_t i = 0; i < xs.dim(0); ++i) c = matmul(c, xs[i]);
    return sum(c);
  };
  const auto both = value_and_grad(by_scan, argnums<0, 1>);
  const auto [last, slopes] = both(w, xs);
  const auto wanted = grad(by_loop, argnums<0, 1>)(w, xs);
  expect_near(last, by_loop(w, xs));
  expect_near(std::get<0>(slopes), std::get<0>(wanted));
  expect_near(std::get<1>(slopes), std::get<1>(wanted));
  EXPECT_THAT(residuals_of(trace(by_scan, w, xs)), testing::UnorderedElementsAre(std::nullopt, 1));
  EXPECT_THAT(trace(both, w, xs).hlo_text(), HasSubstr("(f64[5,3,3]{2,1,0}, f64[3,3]{1,0}) scan("));
}

TEST(TorchXla, N24_TreesOfMapsHaveTheGradientsOfTheLoop) {
  using Weights = std::map<std::string, Tensor>;
  const Weights weights = {{"w", some({3, 3})}, {"b", some({3}, 1)}};
  const Tensor x = some({3}, 2);
  const auto layer = [](const Weights& w, const Tensor& h) {
    return tanh(matmul(w.at("w"), h) + w.at("b"));
  };
  const auto by_scan = [&](const Weights& w) {
    return sum(fori_loop(
        0, 4, [&](Tensor, Tensor h) { return layer(w, h); }, x));
  };
  const auto by_loop = [&](const Weights& w) {
    Tensor h = x;
    for (int i = 0; i < 4; ++i) h = layer(w, h);
    return sum(h);
  };
  const Weights got = grad(by_scan)(weights), want = grad(by_loop)(weights);
  expect_near(got.at("w"), want.at("w"));
  expect_near(got.at("b"), want.at("b"));
}

// ---- Gradient accumulation: a scan over micro-batches.

struct Accumulated {
  Tensor loss, gradient, key;
  static constexpr auto kFields =
      fields(field("loss", &Accumulated::loss), field("gradient", &Accumulated::gradient),
             field("key", &Accumulated::key));
};

Tensor loss_of(const Tensor& w, const Tensor& batch) { return mean(square(matmul(batch, w))); }

Accumulated accumulate(const Tensor& w, const Tensor& batches, const Tensor& key) {
  const auto step = [&](Accumulated sum, Tensor batch) {
    const auto [loss, gradient] = value_and_grad(loss_of)(w, batch);
    return std::pair(
        Accumulated{sum.loss + loss, sum.gradient + gradient, random::fold_in(sum.key, 1)}, None{});
  };
  return scan(step, Accumulated{zeros({}, f64), zeros_like(w), key}, batches).first;
}

TEST(TorchXla, N57_AccumulatedGradientsEqualPlainOnes) {
  const Tensor w = some({3}), batches = some({4, 5, 3}, 1);
  const Accumulated got = accumulate(w, batches, random::key(0));
  const auto whole = [&](const Tensor& v) { return loss_of(v, reshape(batches, {20, 3})); };
  expect_near(got.loss / 4.0, whole(w));
  expect_near(got.gradient / 4.0, grad(whole)(w));
}

TEST(TorchXla, N58_WhatIsCarriedAndTheKeyAdvance) {
  const Tensor key = random::key(3);
  const Accumulated got = accumulate(some({3}), some({4, 5, 3}, 1), key);
  Tensor want = key;
  for (int i = 0; i < 4; ++i) want = random::fold_in(want, 1);
  EXPECT_EQ(got.key.to_vector<uint32_t>(), want.to_vector<uint32_t>());
}

TEST(TorchXla, N60_InputsStayAsTheyWere) {
  const Tensor w = some({3}), batches = some({4, 5, 3}, 1);
  const std::vector<double> before = values(w);
  (void)accumulate(w, batches, random::key(0));
  EXPECT_EQ(values(w), before);
  EXPECT_FALSE(batches.is_donated());
}

// ---- Compiled functions.

TEST(TorchXla, N65_ACompiledFunctionHasTheValuesAndGradientsOfThePlainOne) {
  const auto f = [](const Tensor& a, const Tensor& b) { return sum(sin(a) * b); };
  const auto compiled = compile(f);
  const Tensor a = some({4}), b = some({4}, 1);
  expect_near(compiled(a, b), f(a, b));
  expect_near(grad(compiled)(a, b), grad(f)(a, b));
}

TEST(TorchXla, N66_OnADeviceThatIsNotTheDefaultOne) {
  const Tensor x = device_put(some({4}), "interpreter:0");
  const Tensor y = compile([](const Tensor& v) { return v * 2.0; })(x);
  EXPECT_EQ(device_of(y).name(), "interpreter:0");
}

struct Convolution {
  Tensor kernel, bias;
  static constexpr auto kFields =
      fields(field("kernel", &Convolution::kernel), field("bias", &Convolution::bias));
  [[nodiscard]] Tensor operator()(const Tensor& x) const {
    return conv(x, kernel, {.layout = {.x = "NCW", .kernel = "OIW"}}) + reshape(bias, {1, 2, 1});
  }
};

TEST(TorchXla, N67_AModuleIsATreeOfItsWeights) {
  const Convolution module{some({2, 3, 3}), some({2}, 1)};
  const Tensor x = some({1, 3, 9}, 2);
  const auto call = compile([](const Convolution& m, const Tensor& v) { return m(v); });
  expect_near(call(module, x), module(x));
  const auto slope =
      compile(grad([](const Convolution& m, const Tensor& v) { return sum(square(m(v))); }));
  expect_near(slope(module, x).bias, 2.0 * sum(module(x), {.axes = {0, 2}}), 1e-10);
}

TEST(TorchXla, N68_FiveCallsTraceOnce) {
  int traced = 0;
  const auto f = compile([&](const Tensor& x) {
    ++traced;
    return x + 1.0;
  });
  for (int i = 0; i < 5; ++i) (void)f(some({3}));
  EXPECT_EQ(traced, 1);
}

TEST(TorchXla, N69_CompiledFunctionsNest) {
  const auto inner = compile([](const Tensor& x) { return sin(x); });
  const auto outer = compile([&](const Tensor& x) { return inner(inner(x)); });
  expect_near(outer(some({3})), sin(sin(some({3}))));
  EXPECT_EQ(inner.stats().graphs, 1);
}

// ---- Eager calls.

TEST(TorchXla, N70_EachOpIsOneCompileAndOneRunAndIsFoundAgain) {
  const Tensor x = ones({3, 17}), y = x + x;
  const auto first = effects_of([&] { (void)atan2(x, y); });
  EXPECT_EQ(first.compiles, 1);
  EXPECT_EQ(first.executions, 1);
  const auto second = effects_of([&] { (void)atan2(y, x); });
  EXPECT_EQ(second.compiles, 0);
  EXPECT_EQ(second.executions, 1);
}

TEST(TorchXla, N71_AnUpdateIsOneRun) {
  const Tensor x = ones({5});
  (void)x.at({2}).add(1.0f);
  EXPECT_EQ(effects_of([&] { (void)x.at({2}).add(1.0f); }).executions, 1);
}

TEST(TorchXla, N72_KeysGiveOtherNumbersOfOneProgramAndTheSameAgain) {
  const auto draw = [](const Tensor& key) { return values(random::normal(key, {4})); };
  const Tensor a = random::key(1), b = random::key(2);
  const auto first = draw(a);
  std::vector<double> second;
  EXPECT_EQ(effects_of([&] { second = draw(b); }).compiles, 0);
  EXPECT_NE(first, second);
  EXPECT_EQ(draw(a), first);
}

TEST(TorchXla, N73_AnOpOfSeveralResultsIsOneRun) {
  const Tensor x = some({6});
  (void)top_k(x, 2);
  EXPECT_EQ(effects_of([&] { (void)top_k(x, 2); }).executions, 1);
}

TEST(TorchXla, N74_ACompiledFunctionIsOneRun) {
  const auto f = compile([](const Tensor& x) { return exp(sin(x) + cos(x)) * 2.0; });
  const Tensor x = some({3});
  EXPECT_EQ(effects_of([&] { (void)f(x); }).executions, 1);
}

TEST(TorchXla, N75_TwoCompiledFunctionsAreTwoRuns) {
  const auto f = compile([](const Tensor& x) { return sin(x) * 2.0; });
  const auto g = compile([](const Tensor& x) { return cos(x) * 2.0; });
  const Tensor x = some({3});
  EXPECT_EQ(effects_of([&] { (void)g(f(x)); }).executions, 2);
}

TEST(TorchXla, N76_AnIfOnDataInsideOfACompiledFunctionIsAnError) {
  const auto f = compile([](const Tensor& x) { return x.item<double>() > 0 ? x : -x; });
  EXPECT_THAT(error_of([&] { (void)f(scalar(1.0)); }),
              AllOf(HasSubstr("which has no value yet"), HasSubstr("branch on it with cond(..)")));
}

TEST(TorchXla, N77_AsManyGraphsAsAllowedAndRepeatsAreFree) {
  const auto f = compile([](const Tensor& x) { return x * 2.0; }, {.max_graphs = 3});
  for (int round = 0; round < 3; ++round) {
    for (int64_t size = 1; size <= 3; ++size) (void)f(some({size}));
  }
  EXPECT_EQ(f.stats().graphs, 3);
}

TEST(TorchXla, N78_AGraphTooManyIsAnErrorThatSaysWhatIsNew) {
  const auto f = compile([](const auto& x) { return x; }, {.name = "f", .max_graphs = 1});
  (void)f(some({2}));
  EXPECT_THAT(error_of([&] { (void)f(some({3})); }),
              AllOf(StartsWith("f: this call needs a graph more, and max_graphs is 1: arg0 is "
                               "f64[3]; in graph 1 it is f64[2]"),
                    EndsWith(here())));
  EXPECT_THAT(error_of([&] { (void)f(std::pair(some({2}), some({2}))); }),
              HasSubstr("arg0 is a tuple of 2; in graph 1 it is a tensor"));
}

}  // namespace
}  // namespace heddle
