// Neural-net functions against formulas and loops in double, and at the edges of the dtypes.
#include <cmath>
#include <limits>
#include <numbers>

#include "heddle/base/metrics/counters.h"
#include "heddle/base/support_test.h"
#include "heddle/nn/activations.h"
#include "heddle/nn/attention.h"
#include "heddle/nn/losses.h"
#include "heddle/nn/normalization.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/support_test.h"

namespace heddle::nn {
namespace {

using testing::FloatEq;

const float kInf = INFINITY;
constexpr double kUnit = std::numeric_limits<double>::epsilon();

// Values without a pattern, in -1.5 .. 1.5.
Tensor waves(std::vector<int64_t> shape, double seed) {
  std::vector<double> values(static_cast<size_t>(Shape(f64, shape).element_count()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = 1.5 * std::sin(seed + 1.7 * static_cast<double>(i * i + i));
  return array<double>(values, std::move(shape));
}

double logistic_of(double x) { return 1 / (1 + std::exp(-x)); }
double elu_of(double x, double alpha) { return x > 0 ? x : alpha * std::expm1(x); }
double relu6_of(double x) { return std::min(std::max(x, 0.0), 6.0); }

// `scale`: the result's rounding errors are relative to it, if it is more than the result.
struct Activation {
  const char* name;
  Tensor (*fn)(Operand);
  double (*want)(double);
  double (*scale)(double) = [](double) { return 0.0; };
};

const Activation kActivations[] = {
    {"relu", relu, [](double x) { return std::max(x, 0.0); }},
    {"relu6", relu6, relu6_of},
    {"leaky_relu", [](Operand x) { return leaky_relu(x, 0.2); },
     [](double x) { return x >= 0 ? x : 0.2 * x; }},
    {"elu", [](Operand x) { return elu(x, 0.7); }, [](double x) { return elu_of(x, 0.7); }},
    {"celu", [](Operand x) { return celu(x, 2); }, [](double x) { return elu_of(x / 2, 1) * 2; }},
    {"selu", selu,
     [](double x) { return 1.0507009873554804934 * elu_of(x, 1.6732632423543772848); }},
    {"silu", silu, [](double x) { return x * logistic_of(x); }},
    {"sigmoid", sigmoid, logistic_of},
    {"mish", mish, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
    {"sparse_plus", sparse_plus,
     [](double x) { return x <= -1  ? 0
                           : x >= 1 ? x
                                    : (x + 1) * (x + 1) / 4; }},
    {"squareplus", [](Operand x) { return squareplus(x); },
     [](double x) { return (x + std::sqrt(x * x + 4)) / 2; }, [](double x) { return std::abs(x); }},
    {"sparse_sigmoid", sparse_sigmoid,
     [](double x) { return x <= -1  ? 0
                           : x >= 1 ? 1
                                    : (x + 1) / 2; }},
    {"softplus", softplus, [](double x) { return std::log1p(std::exp(x)); }},
    {"log_sigmoid", log_sigmoid, [](double x) { return -std::log1p(std::exp(-x)); }},
    {"soft_sign", soft_sign, [](double x) { return x / (1 + std::abs(x)); }},
    {"hard_tanh", hard_tanh, [](double x) { return std::min(std::max(x, -1.0), 1.0); }},
    {"hard_sigmoid", hard_sigmoid, [](double x) { return relu6_of(x + 3) / 6; }},
    {"hard_silu", hard_silu, [](double x) { return x * relu6_of(x + 3) / 6; }},
    {"swish", swish, [](double x) { return x / (1 + std::exp(-x)); },
     [](double x) { return std::abs(x); }},
    {"hard_swish", hard_swish, [](double x) { return x * relu6_of(x + 3) / 6; }},
    {"gelu", [](Operand x) { return gelu(x); },
     [](double x) {
       double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
       return x / 2 * (1 + std::tanh(inner));
     },
     [](double x) { return std::abs(x); }},
    {"exact gelu", [](Operand x) { return gelu(x, {.approximate = false}); },
     [](double x) { return x / 2 * std::erfc(-x / std::numbers::sqrt2); }},
};

TEST(Activations, AreTheirFormulas) {
  std::vector<double> points = {-20, -4, -3, -1.5, -0.3, -1e-6, 0, 1e-6, 0.3, 1, 2.9, 5.5, 7, 20};
  for (const Activation& each : kActivations) {
    std::vector<double> got = each.fn(array<double>(points)).to_vector<double>();
    for (size_t i = 0; i < points.size(); ++i) {
      double want = each.want(points[i]);
      // erfc at -20 / sqrt(2) multiplies an error of its argument by 400.
      double bound = 600 * kUnit * std::max(std::abs(want), each.scale(points[i]));
      EXPECT_NEAR(got[i], want, bound) << each.name << " at " << points[i];
    }
  }
}

TEST(Activations, HasTheNamesThatJaxNnSharesWithOthers) {
  Tensor x = array<float>({0, 1, -2});
  EXPECT_EQ(nn::softmax(x).to_vector<float>(), softmax(x).to_vector<float>());
  EXPECT_EQ(nn::log_softmax(x).to_vector<float>(), log_softmax(x).to_vector<float>());
  EXPECT_EQ(nn::logsumexp(x).item<float>(), logsumexp(x).item<float>());
  EXPECT_EQ(nn::tanh(x).to_vector<float>(), tanh(x).to_vector<float>());
  EXPECT_EQ(nn::one_hot(array<int>({1, 0}), 2).to_vector<float>(),
            std::vector<float>({0, 1, 1, 0}));
}

TEST(Activations, AtTheEdgesOfFloats) {
  Tensor x = array<float>({-1e4F, 1e4F, -kInf, kInf});
  auto of = [&](const Tensor& y) { return y.to_vector<float>(); };
  EXPECT_THAT(of(relu(x)), ElementsAre(0, 1e4F, 0, kInf));
  EXPECT_THAT(of(elu(x)), ElementsAre(-1, 1e4F, -1, kInf));
  EXPECT_THAT(of(celu(x, 3)), ElementsAre(-3, 1e4F, -3, kInf));
  EXPECT_THAT(of(softplus(x)), ElementsAre(0, 1e4F, 0, kInf));
  EXPECT_THAT(of(log_sigmoid(x)), ElementsAre(-1e4F, 0, -kInf, 0));
  EXPECT_THAT(of(silu(x)), ElementsAre(0, 1e4F, IsNan(), kInf));
  EXPECT_THAT(of(gelu(x)), ElementsAre(0, 1e4F, IsNan(), kInf));
  EXPECT_THAT(of(gelu(x, {.approximate = false})), ElementsAre(0, 1e4F, IsNan(), kInf));
  EXPECT_THAT(of(hard_tanh(x)), ElementsAre(-1, 1, -1, 1));
  EXPECT_THAT(of(hard_sigmoid(x)), ElementsAre(0, 1, 0, 1));
  for (const Activation& each : kActivations)
    EXPECT_THAT(each.fn(scalar<float>(NAN)).item<float>(), IsNan()) << each.name;
}

TEST(Activations, ExactGeluKeepsItsNegativeTail) {
  double want = -10 / 2.0 * std::erfc(10 / std::numbers::sqrt2);  // -7.6e-23
  float got = gelu(scalar<float>(-10), {.approximate = false}).item<float>();
  EXPECT_NEAR(got / want, 1, 1e-5);  // 100 / 2 roundings of f32 in the argument
}

TEST(Activations, KeepDtypeAndTakeIntegersWhereTheyMay) {
  EXPECT_EQ(gelu(ones({2}, bf16), {.approximate = false}).dtype(), bf16);
  EXPECT_EQ(silu(ones({2}, f16)).dtype(), f16);
  EXPECT_THAT(relu(array<int>({-2, 3})).to_vector<int>(), ElementsAre(0, 3));
  EXPECT_THAT(relu6(array<int>({-2, 9})).to_vector<int>(), ElementsAre(0, 6));
  std::string error = error_of([] { softplus(array<int>({1})); });
  EXPECT_THAT(error, HasSubstr("nn::softplus: x is s32[1]; it must be of floats"));
  EXPECT_THAT(error_of([] { relu(ones({2}, pred)); }),
              HasSubstr("nn::relu: x is pred[2]; it must be of numbers"));
  EXPECT_THAT(error_of([] { huber_loss(ones({2}), ones({2}), -1); }),
              HasSubstr("nn::huber_loss: delta is -1; it must be more than 0"));
  EXPECT_THAT(error, HasSubstr("nn_test.cc:"));
}

TEST(Activations, OneCallIsOneProgram) {
  Tensor x = ones({4});
  Counters before = counters();
  gelu(x);
  EXPECT_EQ((counters() - before).executions, 1);
}

TEST(Activations, GluGatesOneHalfByTheOther) {
  Tensor x = array<double>({1, 2, 3, 4}, {2, 2});
  EXPECT_THAT(glu(x, 0).to_vector<double>(), ElementsAre(testing::DoubleEq(logistic_of(3)),
                                                         testing::DoubleEq(2 * logistic_of(4))));
  EXPECT_THAT(error_of([] {
                glu(ones({2, 3}));
              }),
              HasSubstr("glu: axis -1 of x, f32[2,3], has size 3; it must be even"));
}

TEST(Normalization, LayerNormScalesAndShifts) {
  Tensor x = array<double>({1, 2, 6, -1, 0, 1}, {2, 3});
  Tensor scale = array<double>({1, 2, 3});
  Tensor bias = array<double>({0.5, 0, -1});
  std::vector<double> got =
      layer_norm(x, {.scale = scale, .bias = bias, .epsilon = 0.25}).to_vector<double>();
  double first = 1 / std::sqrt(14.0 / 3 + 0.25);  // deviations -2 -1 3
  double second = 1 / std::sqrt(2.0 / 3 + 0.25);  // -1 0 1
  std::vector<double> want = {-2 * first + 0.5,  -2 * first, 9 * first - 1,
                              -1 * second + 0.5, 0,          3 * second - 1};
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 16 * kUnit * 9) << i;
}

TEST(Normalization, OverAnAxisByItsNumber) {
  const Tensor x = array<double>({{1, 2, 4}, {3, 5, 9}});
  const auto same = [](const Tensor& a, const Tensor& b) { return all(a == b).item<bool>(); };
  EXPECT_TRUE(same(layer_norm(x, 0), layer_norm(x, {.axes = {0}})));
  EXPECT_TRUE(same(rms_norm(x, -2), rms_norm(x, {.axes = {0}})));
  EXPECT_TRUE(same(standardize(x, 0), standardize(x, {.axes = {0}})));
}

TEST(Normalization, SurvivesALargeMean) {  // mean(x * x) - mean(x)^2 would be off by hundreds
  Tensor x = array<float>({10000, 10001, 10002});
  float side = std::sqrt(1.5F);
  EXPECT_THAT(standardize(x, {.epsilon = 0}).to_vector<float>(),
              ElementsAre(FloatNear(-side, 1e-6F), FloatNear(0, 1e-6F), FloatNear(side, 1e-6F)));
}

TEST(Normalization, OverSeveralAxes) {
  Tensor x = array<double>({1, 2, 3, 4}, {2, 2});
  std::vector<double> got = standardize(x, {.axes = {0, 1}, .epsilon = 0}).to_vector<double>();
  EXPECT_NEAR(got[0], -1.5 / std::sqrt(1.25), 8 * kUnit);
  EXPECT_NEAR(got[3], 1.5 / std::sqrt(1.25), 8 * kUnit);
}

TEST(Normalization, RmsNormDividesByTheRootOfMeanSquares) {
  Tensor x = array<double>({3, 4}, {1, 2});
  std::vector<double> got =
      rms_norm(x, {.scale = array<double>({1, 2}), .epsilon = 0}).to_vector<double>();
  EXPECT_NEAR(got[0], 3 / std::sqrt(12.5), 4 * kUnit);
  EXPECT_NEAR(got[1], 8 / std::sqrt(12.5), 8 * kUnit);
  // The mean of squares of 4096 ones would stop at 256 in bf16.
  EXPECT_EQ(rms_norm(ones({4096}, bf16)).astype(f32).to_vector<float>()[0], 1);
}

TEST(Normalization, ErrorsNameTheFactor) {
  EXPECT_THAT(
      error_of([] {
        layer_norm(ones({2, 3}), {.scale = ones({4})});
      }),
      HasSubstr("layer_norm: scale is f32[4]; it must be f32 and broadcast to x, f32[2,3]"));
  EXPECT_THAT(
      error_of([] {
        layer_norm(ones({2, 3}), {.scale = ones({3}, bf16)});
      }),
      HasSubstr("layer_norm: scale is bf16[3]; it must be f32 and broadcast to x, f32[2,3]"));
  EXPECT_THAT(error_of([] {
                rms_norm(ones({2, 3}), {.bias = ones({2})});
              }),
              HasSubstr("rms_norm: "));
  EXPECT_THAT(error_of([] {
                rms_norm(ones({2, 3}), {.axes = {2}});
              }),
              HasSubstr("rms_norm: axis is 2"));
}

struct Heads {
  int64_t batch, queries, keys, heads, groups, size, value_size;
};

// Attention by plain loops; `sees` says which keys a query may look at.
template <class Sees>
std::vector<double> attention_loop(const Heads& n, const Tensor& q, const Tensor& k,
                                   const Tensor& v, double scale, Sees sees) {
  std::vector<double> a = q.to_vector<double>(), b = k.to_vector<double>(),
                      c = v.to_vector<double>(), out;
  auto at = [](std::vector<double>& data, int64_t i) -> double& {
    return data[static_cast<size_t>(i)];
  };
  for (int64_t i = 0; i < n.batch * n.queries * n.heads; ++i) {
    int64_t head = i % n.heads, query = i / n.heads % n.queries, batch = i / n.heads / n.queries;
    int64_t group = head / (n.heads / n.groups);
    std::vector<double> weights(static_cast<size_t>(n.keys));
    double total = 0;
    for (int64_t s = 0; s < n.keys; ++s) {
      double score = 0;
      for (int64_t h = 0; h < n.size; ++h)
        score +=
            at(a, i * n.size + h) * at(b, ((batch * n.keys + s) * n.groups + group) * n.size + h);
      at(weights, s) = sees(head, query, s) ? std::exp(score * scale) : 0;
      total += at(weights, s);
    }
    for (int64_t d = 0; d < n.value_size; ++d) {
      double sum = 0;
      for (int64_t s = 0; s < n.keys; ++s)
        sum += at(weights, s) / total *
               at(c, ((batch * n.keys + s) * n.groups + group) * n.value_size + d);
      out.push_back(sum);
    }
  }
  return out;
}

void expect_close(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 64 * kUnit) << i;
}

TEST(AttentionOf, GroupedHeadsIsTheLoop) {
  Heads n{2, 3, 5, 4, 2, 6, 7};
  Tensor q = waves({2, 3, 4, 6}, 1), k = waves({2, 5, 2, 6}, 2), v = waves({2, 5, 2, 7}, 3);
  Tensor out = dot_product_attention(q, k, v);
  EXPECT_EQ(out.shape(), Shape(f64, {2, 3, 4, 7}));
  expect_close(out.to_vector<double>(),
               attention_loop(n, q, k, v, 1 / std::sqrt(6.0),
                              [](int64_t, int64_t, int64_t) { return true; }));
}

TEST(AttentionOf, MaskAndCausalityLeaveKeysOut) {
  Heads n{1, 4, 4, 2, 1, 3, 3};
  Tensor q = waves({4, 2, 3}, 1), k = waves({4, 1, 3}, 2), v = waves({4, 1, 3}, 3);
  std::vector<bool> seen(2 * 4 * 4, true);
  seen[16 + 3 * 4 + 1] = false;  // head 1, query 3, key 1
  Tensor mask = array<bool>(seen, {2, 4, 4});
  Tensor out = dot_product_attention(q, k, v, {.scale = 0.3, .causal = true, .mask = mask});
  expect_close(out.to_vector<double>(),
               attention_loop(n, q, k, v, 0.3, [](int64_t head, int64_t query, int64_t key) {
                 return key <= query && !(head == 1 && query == 3 && key == 1);
               }));
}

TEST(AttentionOf, BiasIsAddedToScaledScores) {
  Tensor q = waves({2, 1, 3}, 1), k = waves({2, 1, 3}, 2), v = waves({2, 1, 3}, 3);
  Tensor only_second = array<double>({-1e9, 0}, {2});
  Tensor out = dot_product_attention(q, k, v, {.bias = only_second});
  std::vector<double> values = v.to_vector<double>();
  std::vector<double> second(values.begin() + 3, values.end());
  std::vector<double> want = second;
  want.insert(want.end(), second.begin(), second.end());
  EXPECT_EQ(out.to_vector<double>(), want);
}

TEST(AttentionOf, AQueryThatSeesNothingTakesTheMean) {
  Tensor q = ones({1, 1, 2}), k = waves({2, 1, 2}, 1).astype(f32);
  Tensor v = array<float>({1, 10, 3, 30}, {2, 1, 2});
  Tensor out = dot_product_attention(q, k, v, {.mask = array<bool>({false, false})});
  EXPECT_THAT(out.to_vector<float>(), ElementsAre(2, 20));
}

TEST(AttentionOf, LargeScoresDoNotOverflow) {
  Tensor q = full({1, 1, 1}, 1e4), k = array<float>({1e4F, -1e4F}, {2, 1, 1});
  Tensor v = array<float>({7, 8}, {2, 1, 1});
  EXPECT_EQ(dot_product_attention(q, k, v).item<float>(), 7);
  Tensor half = dot_product_attention(q.astype(bf16), k.astype(bf16), v.astype(bf16));
  EXPECT_EQ(half.dtype(), bf16);
  EXPECT_EQ(half.astype(f32).item<float>(), 7);
}

TEST(AttentionOf, ErrorsSayWhatDisagrees) {
  auto attend = [](std::vector<int64_t> q, std::vector<int64_t> k, const Attention& how = {}) {
    return error_of([&] { dot_product_attention(ones(q), ones(k), ones(k), how); });
  };
  EXPECT_THAT(
      attend({2, 3, 4}, {2, 2, 4}),
      HasSubstr("dot_product_attention: query, key and value are f32[2,3,4], f32[2,2,4] and "
                "f32[2,2,4]; the heads of the query must be a multiple"));
  EXPECT_THAT(attend({2, 2, 4}, {2, 2, 5}), HasSubstr("heads of query and key must have one size"));
  EXPECT_THAT(attend({2, 4}, {2, 4}), HasSubstr("they must be [.., T, N, H]"));
  EXPECT_THAT(
      attend({2, 2, 4}, {3, 2, 4}, {.mask = ones({2, 2, 3})}),
      HasSubstr("mask is f32[2,2,3]; it must be of pred and broadcast to the scores, [2,2,3]; "
                "write mask != 0, or"));
}

TEST(Losses, CrossEntropyOfLabelsAndOfProbabilitiesAgree) {
  Tensor logits = array<double>({1, 2, 3, -1, 0.5, 4}, {2, 3});
  double first = std::log(std::exp(1) + std::exp(2) + std::exp(3)) - 3;
  double second = std::log(std::exp(-1) + std::exp(0.5) + std::exp(4)) + 1;
  Tensor labels = array<int>({2, 0});
  for (const Tensor& loss : {softmax_cross_entropy_with_integer_labels(logits, labels),
                             softmax_cross_entropy(logits, one_hot(labels, 3, f64))}) {
    EXPECT_NEAR(loss.to_vector<double>()[0], first, 16 * kUnit);
    EXPECT_NEAR(loss.to_vector<double>()[1], second, 32 * kUnit);
  }
  Tensor halves = array<double>({0.5, 0.5, 0}, {3});
  double mixed = std::log(std::exp(1) + std::exp(2) + std::exp(3)) - 1.5;
  EXPECT_NEAR(softmax_cross_entropy(logits, halves).to_vector<double>()[0], mixed, 16 * kUnit);
}

TEST(Losses, CrossEntropyOfExtremeLogits) {
  Tensor logits = array<float>({1e4F, -1e4F, -kInf}, {1, 3});
  auto labelled = [&](int label) {
    return softmax_cross_entropy_with_integer_labels(logits, array<int>({label})).item<float>();
  };
  auto weighted = [&](int label) {
    return softmax_cross_entropy(logits, one_hot(array<int>({label}), 3)).item<float>();
  };
  EXPECT_EQ(labelled(0), 0);
  EXPECT_EQ(weighted(0), 0);
  EXPECT_EQ(labelled(1), 2e4F);
  EXPECT_EQ(weighted(1), 2e4F);
  EXPECT_EQ(labelled(2), kInf);
  EXPECT_EQ(weighted(2), kInf);
  EXPECT_THAT(labelled(3), IsNan());
  EXPECT_THAT(labelled(-1), IsNan());
}

TEST(Losses, LabelsOf8BitsAmongManyClasses) {  // classes 200 and -56 are one in 8 bits
  Tensor loss =
      softmax_cross_entropy_with_integer_labels(zeros({1, 300}), array<int>({-56}).astype(s8));
  EXPECT_THAT(loss.item<float>(), IsNan());
}

TEST(Losses, CrossEntropyErrors) {
  EXPECT_THAT(
      error_of([] {
        softmax_cross_entropy_with_integer_labels(ones({2, 3}), array<int>({1, 2, 0}));
      }),
      HasSubstr("labels are s32[3]; they must be integers of shape [2], as logits, f32[2,3]"));
  EXPECT_THAT(error_of([] { softmax_cross_entropy(ones({}), ones({})); }),
              HasSubstr("softmax_cross_entropy: logits are f32[]; their last axis"));
}

TEST(Losses, BinaryCrossEntropy) {
  double x = 0.8;
  double want = -0.3 * std::log(logistic_of(x)) - 0.7 * std::log(1 - logistic_of(x));
  EXPECT_NEAR(sigmoid_binary_cross_entropy(scalar<double>(x), 0.3).item<double>(), want, 8 * kUnit);
  Tensor logits = array<float>({1e4F, 1e4F, -1e4F, kInf, -kInf});
  Tensor labels = array<float>({1, 0, 1, 1, 0});
  EXPECT_THAT(sigmoid_binary_cross_entropy(logits, labels).to_vector<float>(),
              ElementsAre(0, 1e4F, 1e4F, 0, 0));
}

TEST(Losses, HuberIsSquareThenLinear) {
  Tensor x = array<float>({0.5, -2, 1e4F, kInf});
  EXPECT_THAT(huber_loss(x, 0).to_vector<float>(),
              ElementsAre(0.125F, 1.5F, FloatEq(1e4F - 0.5F), kInf));
  EXPECT_THAT(huber_loss(x, zeros({4}), 2).to_vector<float>(),
              ElementsAre(0.125F, 2, FloatEq(2e4F - 2), kInf));
  EXPECT_THAT(l2_loss(array<float>({3, -1}), array<float>({1, -1})).to_vector<float>(),
              ElementsAre(2, 0));
  EXPECT_EQ(l2_loss(scalar<float>(4)).item<float>(), 8);
  EXPECT_EQ(l2_loss(ones({5, 3}), ones({3})).shape(), Shape(f32, {5, 3}));
  EXPECT_EQ(l2_loss(ones({3}), ones({5, 3})).shape(), Shape(f32, {5, 3}));
  EXPECT_THAT(error_of([] {
                (void)l2_loss(ones({5, 1}), ones({5}));
              }),
              HasSubstr("nn::l2_loss: targets are f32[5] and predictions f32[5,1]; a loss of [5,5] "
                        "would be of all pairs; reshape one to the sizes of the other"));
  EXPECT_THAT(error_of([] {
                (void)sigmoid_binary_cross_entropy(ones({5}), ones({5, 1}));
              }),
              HasSubstr("labels are f32[5,1] and logits f32[5]; a loss of [5,5]"));
}

// Against results of jax.nn.
TEST(Activations, LogarithmsOfDifferencesAndMeans) {
  auto near = [](double x) { return testing::DoubleNear(x, 1e-14 * std::abs(x)); };
  EXPECT_THAT(log1mexp(array<double>({0, 1e-10, 0.5, 2, 50})).to_vector<double>(),
              ElementsAre(-INFINITY, near(-23.025850929990458), near(-0.9327521295671887),
                          near(-0.14541345786885906), near(-1.9287498479639178e-22)));
  Tensor x = array<double>({1, 2, 3, 1000, 1000, 1000}, {2, 3});
  EXPECT_THAT(logmeanexp(x, {.axes = {-1}}).to_vector<double>(),
              ElementsAre(near(2.3089936757762706), near(1000)));
  EXPECT_EQ(logmeanexp(x, {.axes = {-1}, .keep_dims = true}).shape(), Shape(f64, {2, 1}));
}

}  // namespace
}  // namespace heddle::nn
