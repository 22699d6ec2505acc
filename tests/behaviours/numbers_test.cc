// C++ numbers in what runs at once: from the second number on that a call comes with, it is an
// operand, and the next one compiles nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <thread>
#include <vector>

#include "heddle/heddle.h"
#include "heddle/runtime/support_test.h"
#include "heddle/testing.h"

namespace heddle {
namespace {

// Calls run(0) and run(1), and then with four other numbers, for which nothing is lowered, compiled
// or moved.
void expect_one_program(const std::function<void(int)>& run) {
  run(0);
  run(1);
  const Counters before = counters();
  for (int i = 2; i < 6; ++i) run(i);
  const Counters did = counters() - before;
  EXPECT_EQ(did.lowerings, 0);
  EXPECT_EQ(did.compiles, 0);
  EXPECT_EQ(did.uploads, 0);
  EXPECT_GE(did.number_operands, 4);
}

float first_of(const Tensor& x) { return reshape(x, {x.size()})[0].item<float>(); }

TEST(Numbers, OfAnOpAreOperands) {
  const Tensor x = ones({4});
  expect_one_program([&](int i) { EXPECT_EQ(sum(x * double(i)).item<float>(), 4.0f * i); });
  expect_one_program([&](int i) { EXPECT_EQ(first_of(full({2, 2}, double(i))), float(i)); });
  expect_one_program([&](int i) {
    EXPECT_EQ(clamp(double(i), x * 3.0, i + 0.5)[0].item<float>(),
              std::clamp(3.0f, i + 0.f, i + .5f));
  });
}

TEST(Numbers, OfFunctionsOfManyOperationsAreOperands) {
  const Tensor key = random::key(7), x = array<float>({0.25f, 0.5f});
  expect_one_program([&](int i) {
    const Tensor drawn = random::randint(key, {64}, i, i + 3);
    EXPECT_EQ(min(drawn).item<int>(), i);
    EXPECT_EQ(max(drawn).item<int>(), i + 2);
  });
  expect_one_program([&](int i) {
    EXPECT_EQ(random::key(i - 2).to_vector<uint32_t>()[1], static_cast<uint32_t>(i - 2));
  });
  expect_one_program([&](int i) { (void)random::gamma(random::fold_in(key, i), i + 0.5, {3}); });
  expect_one_program([&](int i) {
    const double a = i + 1;  // betainc(a, 1, x) = x^a
    EXPECT_NEAR(special::betainc(a, 1.0, x)[1].item<float>(), std::pow(0.5, a), 1e-6);
  });
  expect_one_program(
      [&](int i) { EXPECT_EQ(clip(x, double(i), 9.0)[0].item<float>(), i ? i : 0.25f); });
}

// Such numbers are a part of the first program; the second and the third one do as others do.
TEST(Numbers, ThatAProgramHasInItAreOperandsLater) {
  const Tensor x = array<float>({-2, 2});
  const auto each = [&](int i) {
    EXPECT_EQ(linspace(double(i), 9.0, 5)[0].item<float>(), float(i));
    EXPECT_EQ(nn::leaky_relu(x, i + 0.5)[0].item<float>(), -2 * (i + 0.5f));
    EXPECT_EQ(nn::huber_loss(x, 0.0, i + 3.0)[1].item<float>(), 2.0f);
  };
  for (const int i : {0, 1, 0, 2}) each(i);
  const Counters before = counters();
  for (const int i : {3, 0, 4, 1}) each(i);
  EXPECT_EQ((counters() - before).compiles, 0);
}

// A call that finds its program records nothing: not even the bodies of its loops, which would be
// found in the cache of bodies.
TEST(Numbers, OfKnownProgramsRecordNoBody) {
  const Tensor key = random::key(7);
  const auto each = [&](int i) {
    (void)random::poisson(random::split<2>(key)[0], i + 2.5, {3});
    (void)special::digamma(ones({2}) * (i + 0.5));
    (void)median(array<float>({1, 2, 3, float(i)}));
  };
  each(0);
  const Counters before = counters();
  for (int i = 1; i < 5; ++i) each(i);
  const Counters did = counters() - before;
  EXPECT_EQ(did.combine_hits, 0);
  EXPECT_EQ(did.compiles, 0);
}

TEST(Numbers, ThatSayWhichQuantileAreOperands) {
  const Tensor x = arange(11.0f), large = arange(10'001.0f);
  const Tensor gap = array<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, NAN});
  expect_one_program([&](int i) {
    const double q = i / 10.0 + 0.05;
    EXPECT_NEAR(quantile(x, q).item<float>(), i + 0.5, 1e-5);
    EXPECT_NEAR(nan_quantile(gap, q).item<float>(), i + 0.5, 1e-5);
    EXPECT_EQ(quantile(x, {q, 1.0}, {}, QuantileMethod::kHigher).to_vector<float>(),
              (std::vector<float>{i + 1.0f, 10}));
    EXPECT_EQ(percentile(x, {10.0 * i, 100.0}).to_vector<float>(),
              (std::vector<float>{1.0f * i, 10}));
  });
  expect_one_program([&](int i) { EXPECT_EQ(quantile(large, i / 10.0).item<float>(), 1000 * i); });
  // Many levels move as arrays, four of a quantile and one of a nan_quantile, and compile nothing.
  const auto many = [&](int i) {
    const std::vector<double> levels(20, i / 10.0);
    EXPECT_EQ(quantile(large, levels).to_vector<float>()[19], 1000 * i);
    EXPECT_EQ(nan_quantile(large, levels).to_vector<float>()[0], 1000 * i);
  };
  many(1);
  const Counters before = counters();
  for (int i = 2; i < 6; ++i) many(i);
  EXPECT_EQ((counters() - before).compiles, 0);
  EXPECT_EQ((counters() - before).uploads, 4 * (4 + 1));
}

TEST(Numbers, OptionsOfAFunctionAreOtherPrograms) {
  const Tensor x = array<float>({{3, 1, 2}, {-1, 5, 4}}), key = random::key(3);
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(sort(x, 1).to_vector<float>(), (std::vector<float>{1, 2, 3, -1, 4, 5}));
    EXPECT_EQ(sort(x, 1, true).to_vector<float>(), (std::vector<float>{3, 2, 1, 5, 4, -1}));
    EXPECT_EQ(sort(x, 0).to_vector<float>(), (std::vector<float>{-1, 1, 2, 3, 5, 4}));
    EXPECT_EQ(cumsum(x, 1)[0][2].item<float>(), 6);
    EXPECT_EQ(cumsum(x, 1, true)[0][2].item<float>(), 2);
    EXPECT_NEAR(var(x).item<float>() * 6, var(x, {.axes = kAllAxes}, 1).item<float>() * 5, 1e-4);
    EXPECT_EQ(random::normal(key, {2}).shape(), Shape(f32, {2}));
    EXPECT_EQ(random::normal(key, {2}, c64).shape(), Shape(c64, {2}));
    EXPECT_EQ(random::geometric(key, 0.5, {2}, s32).dtype(), s32);
    EXPECT_EQ(random::geometric(key, 0.5, {2}, u8).dtype(), u8);
    EXPECT_EQ(random::permutation(key, 3).size(), 3);
    EXPECT_EQ(random::permutation(key, 4).size(), 4);
    EXPECT_THROW((void)random::permutation(key, 3.7), Error);  // and no permutation of 3
    EXPECT_THROW((void)random::permutation(key, true), Error);
    EXPECT_NEAR(quantile(x, 0.25).item<float>(), 1.25f, 1e-6);
    EXPECT_NEAR(quantile(x, 0.5).item<float>(), 2.5f, 1e-6);
    EXPECT_NEAR(linalg::norm(x, 1.0).item<float>(), 6.0f, 1e-6);
    EXPECT_NEAR(linalg::norm(x).item<float>(), std::sqrt(56.0f), 1e-5);
    EXPECT_EQ(interp(5.0f, x[0], x[0], {.left = 7.0, .right = 8.0}).item<float>(), 8.0f);
    EXPECT_EQ(interp(5.0f, x[0], x[0], {.left = 7.0, .right = 9.0}).item<float>(), 9.0f);
    EXPECT_EQ(tril(x, 0)[0][1].item<float>(), 0.0f);
    EXPECT_EQ(tril(x, 1)[0][1].item<float>(), 1.0f);
  }
}

TEST(Numbers, ThatIndexAreOperands) {
  const Tensor x = reshape(arange(60.0f), {10, 6});
  expect_one_program([&](int i) { EXPECT_EQ((x[{i, i}].item<float>()), 7.0f * i); });
  expect_one_program([&](int i) { EXPECT_EQ(x[-1 - i][0].item<float>(), 54.0f - 6 * i); });
  expect_one_program([&](int i) {
    const Tensor rows = x[Slice{i, i + 3}];
    EXPECT_EQ(rows.shape(), Shape(f32, {3, 6}));
    EXPECT_EQ(first_of(rows), 6.0f * i);
  });
  expect_one_program([&](int i) {
    EXPECT_EQ((x.at({i, 2}).set(double(-i))[{i, 2}].item<float>()), float(-i));
  });
  EXPECT_THROW(x[10], Error);
}

TEST(Numbers, ThatIndexWithStepsAreOperands) {
  const Tensor x = reshape(arange(60.0f), {10, 6});
  expect_one_program([&](int i) { EXPECT_EQ(first_of(x[Slice{i, i + 5, 2}]), 6.0f * i); });
  expect_one_program([&](int i) { EXPECT_EQ(first_of(x[Slice{i + 4, i, -2}]), 6.0f * (i + 4)); });
}

TEST(Numbers, ThatSayWhereToWriteAreOperands) {
  const Tensor x = reshape(arange(60.0f), {10, 6});
  const auto expect_sum = [&](const Tensor& now, double more) {
    EXPECT_EQ(sum(now - x).item<float>(), more);
  };
  expect_one_program([&](int i) { expect_sum(x.at({i}).add(1.0), 6); });
  expect_one_program([&](int i) { expect_sum(x.at({i, 3}).subtract(2.0), -2); });
  expect_one_program([&](int i) { expect_sum(x.at({i, 3}).max(0.0), 0); });
  expect_one_program([&](int i) { expect_sum(x.at({i, 0}).multiply(2.0), 6 * i); });
  expect_one_program([&](int i) { expect_sum(x.at({Slice{i, i + 3}}).add(1.0), 18); });
  expect_one_program([&](int i) {
    expect_sum(x.at({Slice{i, i + 3}, 2}).set(0.0), -(3 * (6 * i + 2) + 18));
  });
  expect_one_program([&](int i) { expect_sum(x.at({Slice{i, i + 4, 2}}).add(1.0), 12); });
}

TEST(Numbers, ASliceOfAnotherSizeIsAnotherProgram) {
  const Tensor x = arange(10.0f);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ((x[Slice{i, 10}].size()), 10 - i);
    EXPECT_EQ((first_of(x[Slice{i, 10}])), float(i));
  }
}

TEST(Numbers, OfRandomKeysAreOperands) {
  const Tensor key = random::key(7);
  expect_one_program(
      [&](int i) { EXPECT_EQ(random::key(i).to_vector<uint32_t>()[1], uint32_t(i)); });
  expect_one_program([&](int i) { (void)random::fold_in(key, i); });
  EXPECT_NE(random::fold_in(key, 3).to_vector<uint32_t>(),
            random::fold_in(key, 4).to_vector<uint32_t>());
}

TEST(Numbers, OfLoopsBodiesAreOperands) {
  const Tensor xs = arange(4.0f);
  expect_one_program([&](int i) {
    const double rate = i;
    const auto step = [rate](Tensor c, Tensor x) { return std::pair(c + rate * x, c * rate); };
    const auto [end, all] = scan(step, zeros({}), xs);
    EXPECT_EQ(end.item<float>(), 6.0f * i);
  });
  expect_one_program([&](int i) {
    const double limit = 10 * i + 5;
    const Tensor end = while_loop([limit](Tensor c) { return c < limit; },
                                  [](Tensor c) { return c + 10.0; }, zeros({}));
    EXPECT_EQ(end.item<float>(), 10.0f * (i + 1));
  });
  expect_one_program([&](int i) {
    const double rate = i;
    const auto twice = [rate](Tensor, Tensor a) { return a * rate; };
    const auto step = [&](Tensor c, Tensor x) {
      return std::pair(c + fori_loop(0, 2, twice, x), None{});
    };
    EXPECT_EQ(scan(step, zeros({}), xs).first.item<float>(), 6.0f * i * i);
  });
  expect_one_program([&](int i) {
    const double rate = i;
    const Tensor y = cond(
        sum(xs) > 1.0, [rate](Tensor a) { return a * rate; }, [](Tensor a) { return a; }, xs);
    EXPECT_EQ(y[2].item<float>(), 2.0f * i);
  });
}

// Of thousands of ops, as a training step of a deep net is.
TEST(Numbers, OfLongBodiesAreOperands) {
  const Tensor xs = arange(100.0f);
  expect_one_program([&](int i) {
    const auto [end, ys] = scan(
        [&](Tensor s, Tensor x) {
          Tensor sum = s * 0.0;
          for (int k = 0; k < 100; ++k) sum = sum + xs[k] * double(i) + x;
          return std::pair(sum, sum);
        },
        0.0f, ones({2}));
    EXPECT_EQ(end.item<float>(), 4950.0f * i + 100) << i;
  });
  expect_one_program([&](int i) {
    const auto f = [&](Tensor y) {
      for (int k = 0; k < 600; ++k) y = sin(y) * 0.1 + double(i);
      return y;
    };
    double want = 0.5;
    for (int k = 0; k < 600; ++k) want = std::sin(want) * 0.1 + i;
    const auto [value, slope] = value_and_grad(f)(full({}, 0.5));
    EXPECT_NEAR(value.item<float>(), want, 1e-5) << i;
    EXPECT_EQ(slope.item<float>(), 0) << i;  // 0.1^600
  });
}

TEST(Numbers, ThatBoundLoopsAreOperands) {
  expect_one_program([](int i) {
    const auto add_index = [](Tensor k, Tensor c) { return c + k; };
    EXPECT_EQ(fori_loop(i, 2 * i + 3, add_index, 0).item<int>(), (i + 3) * (3 * i + 2) / 2);
    EXPECT_EQ(fori_loop(5, i, add_index, 0).item<int>(), i > 5 ? (i - 5) * (i + 4) / 2 : 0);
  });
  // What needs the count has it.
  const auto triple = [](Tensor, Tensor c) { return c * 3.0; };
  for (const int i : {1, 2, 3})
    EXPECT_EQ(
        grad([&](Tensor c) { return fori_loop(0, i, triple, c); })(scalar(1.0f)).item<float>(),
        std::pow(3.0f, i));
}

TEST(Numbers, OfAnAssociativeFunctionAreOperands) {
  const Tensor xs = arange(4.0f);
  expect_one_program([&](int i) {
    const double bias = i;
    const auto combine = [&](Tensor a, Tensor b) { return a + b + bias; };
    EXPECT_EQ(associative_scan(combine, xs)[3].item<float>(), 6.0f + 3 * i);
  });
  const Tensor many = arange(40.0f);  // slabs of ten sizes
  expect_one_program([&](int i) {
    const double bias = i;
    const auto combine = [&](Tensor a, Tensor b) { return a + b + bias; };
    EXPECT_EQ(associative_scan(combine, many)[39].item<float>(), 780.0f + 39 * i);
  });
}

TEST(Numbers, ThatRollAreOperands) {
  const Tensor x = reshape(arange(60.0f), {10, 6});
  expect_one_program([&](int i) {
    EXPECT_EQ((roll(x, {i, -2 * i}, {0, 1})[{i + 1, 0}].item<float>()), 6.0f + 2 * i % 6);
    EXPECT_EQ((roll(x, i - 70)[{2, i}].item<float>()), 22.0f);
    EXPECT_EQ(roll(zeros({0, 3}), {i}, {0}).shape(), Shape(f32, {0, 3}));
  });
}

TEST(Numbers, ThatIndexInLoopsBodiesAreOperands) {
  const Tensor xs = arange(4.0f), rows = reshape(arange(60.0f), {10, 6});
  expect_one_program([&](int i) {
    const auto step = [&](Tensor c, Tensor x) {
      return std::pair(c + x * rows[i][2], rows[Slice{i, i + 2}]);
    };
    const auto [end, all] = scan(step, zeros({}), xs);
    EXPECT_EQ(end.item<float>(), 6.0f * (6.0f * i + 2));
    EXPECT_EQ((all[{3, 1, 0}].item<float>()), 6.0f * i + 6);
  });
  expect_one_program([&](int i) {
    const auto put = [&](Tensor, Tensor c) { return c.at({i}).add(rows[{i, 1}]); };
    EXPECT_EQ(fori_loop(0, 3, put, zeros({10}))[i].item<float>(), 3 * (6.0f * i + 1));
  });
  expect_one_program([&](int i) {
    const auto pick = [&](Tensor a) { return a[i]; };
    EXPECT_EQ(cond(sum(xs) > 1.0, pick, pick, rows)[0].item<float>(), 6.0f * i);
  });
  expect_one_program([&](int i) {
    const auto loss = [&](Tensor w) {
      return scan([&](Tensor c, Tensor x) { return std::pair(c + x * w[i], None{}); }, zeros({}),
                  xs)
          .first;
    };
    const Tensor slope = grad(loss)(ones({10}));
    EXPECT_EQ(slope[i].item<float>(), 6);
    EXPECT_EQ(sum(slope).item<float>(), 6);
  });
  expect_one_program([&](int i) {
    EXPECT_EQ(grad([&](Tensor w) { return w[i] * w[i]; })(ones({10}))[i].item<float>(), 2);
  });
  expect_one_program([&](int i) {
    EXPECT_EQ(vmap([&](Tensor w) { return w[i]; })(rows)[3].item<float>(), 18.0f + i);
  });
}

TEST(Numbers, OfWhatIsTransformedAreOperands) {
  const Tensor w = array<float>({1, 2, 3}), ones3 = ones({3});
  const auto loss = [](int i) { return [i](Tensor w) { return sum(square(w - double(i))); }; };
  const auto scaled = [](int i) { return [i](Tensor x) { return x * x * double(i); }; };
  expect_one_program([&](int i) { EXPECT_EQ(first_of(grad(loss(i))(w)), 2.0f * (1 - i)); });
  expect_one_program([&](int i) {
    EXPECT_EQ(value_and_grad(loss(i))(w).first.item<float>(), 3.0f * i * i - 12 * i + 14);
  });
  expect_one_program([&](int i) {
    const auto [y, dy] = jvp(scaled(i), std::tuple(w), std::tuple(ones3));
    EXPECT_EQ(dy[2].item<float>(), 6.0f * i);
  });
  expect_one_program([&](int i) {
    const auto [y, pullback] = vjp(scaled(i), w);
    EXPECT_EQ(pullback(ones3)[1].item<float>(), 4.0f * i);
  });
  expect_one_program([&](int i) { EXPECT_EQ(vmap(scaled(i))(w)[1].item<float>(), 4.0f * i); });
  expect_one_program([&](int i) { EXPECT_EQ(first_of(jacfwd(scaled(i))(w)), 2.0f * i); });
  expect_one_program([&](int i) {
    const auto f = [i](Tensor x) { return sum(x * x * double(i)); };
    EXPECT_EQ(first_of(hessian(f)(w)), 2.0f * i);
  });
  expect_one_program([&](int i) {
    const auto f = [i](Tensor x) {
      const auto step = [i](Tensor c, Tensor v) { return std::pair(c * double(i) + v, None{}); };
      return scan(step, zeros({}), x).first;
    };
    EXPECT_EQ(first_of(grad(f)(w)), float(i * i));
  });
  expect_one_program([&](int i) {
    const auto f = checkpoint([i](Tensor x) { return sum(sin(x) * double(i)); });
    EXPECT_NEAR(first_of(grad(f)(w)), std::cos(1.0) * i, 1e-5);
  });
}

// What reverse mode has to know stays a constant: how many steps a loop has.
TEST(Numbers, ThatReverseModeNeedsAreConstants) {
  for (int n = 0; n < 5; ++n) {
    const auto f = [n](Tensor x) {
      return fori_loop(
          0, n, [](Tensor, Tensor a) { return a * 2.0; }, x);
    };
    EXPECT_EQ(grad(f)(scalar(1.0f)).item<float>(), float(1 << n));
  }
}

// A linear part that is kept may be used in a trace later.
TEST(Numbers, OfALinearPartAreValues) {
  for (int i = 0; i < 4; ++i) {
    const auto [y, pullback] = vjp([i](Tensor x) { return x * double(i); }, scalar(1.0f));
    const auto program = trace([&](Tensor ct) { return pullback(ct); }, scalar(2.0f));
    EXPECT_EQ(program(scalar(2.0f)).item<float>(), 2.0f * i);
  }
}

TEST(Numbers, OfSeveralThatStayAreConstants) {
  const Tensor xs = arange(4.0f);
  for (int i = 0; i < 6; ++i) {
    const double changes = i;
    const auto step = [&](Tensor c, Tensor x) { return std::pair(c * 0.5 + x * changes, c + 1.0); };
    const auto [end, all] = scan(step, ones({}), xs);
    float want = 1;
    for (int x = 0; x < 4; ++x) want = want * 0.5f + float(x * i);
    EXPECT_EQ(end.item<float>(), want);
  }
}

// A trace promises that what it recorded stays: numbers are constants in it, which fold.
TEST(Numbers, InATraceAreConstants) {
  for (int i = 0; i < 4; ++i) {
    const auto program = trace([&](Tensor x) { return x * double(i); }, ones({3}));
    EXPECT_NE(program.hlo_text().find("constant("), std::string::npos);
    EXPECT_EQ(program(ones({3}))[0].item<float>(), float(i));
  }
}

TEST(Numbers, OfANamedFunctionAreConstants) {
  const Tensor xs = arange(4.0f);
  double rate = 1;
  const Function step("rated", [&](Tensor c, Tensor x) { return std::pair(c + rate * x, None{}); });
  EXPECT_EQ(scan(step, zeros({}), xs).first.item<float>(), 6);
  rate = 2;  // the name promises that nothing like this is read
  EXPECT_EQ(scan(step, zeros({}), xs).first.item<float>(), 6);
}

TEST(Numbers, AGuardDoesNotForbidThem) {
  const Tensor x = ones({4});
  for (int i = 0; i < 4; ++i) {
    const TransferGuard none(TransferGuard::Policy::kForbid);
    (void)(x * double(i));
  }
}

// A line that more shapes come to in turn than traces of it are kept, as an optimiser's loop over
// the layers of a net is.
TEST(Numbers, AreOperandsForManyShapes) {
  constexpr int kShapes = 12;
  const auto step = [](const Tensor& p, double rate) {
    std::vector<Tensor> all = {p - rate * p, pow(p, rate), p.at({0}).set(rate), p[Slice{0, 9, 3}]};
    all.push_back(grad([=](Tensor x) { return sum(x * x * rate); })(p));
    all.push_back(while_loop([](Tensor x) { return sum(x) < 3.0f; },
                             [=](Tensor x) { return x * (2.0 + rate); }, p));
    all.push_back(cond(
        p[0] > 0.0f, [=](Tensor x) { return x * rate; }, [](Tensor x) { return x; }, p));
    all.push_back(fori_loop(
        0, 3, [=](Tensor, Tensor x) { return x * rate; }, p));
    all.push_back(scan([=](Tensor c, Tensor x) { return std::pair(c + x * rate, None{}); }, p,
                       concat({reshape(p, {1, p.size()}), reshape(p, {1, p.size()})}))
                      .first);
    return all;
  };
  const auto epoch = [&](double rate) {
    for (int i = 0; i < kShapes; ++i) {
      const Tensor p = ones({20'000 + 100 * i});
      const float r = static_cast<float>(rate);
      const std::vector<Tensor> all = step(p, rate);
      EXPECT_NEAR(first_of(all[0]), 1 - r, 1e-6);
      EXPECT_EQ(first_of(all[2]), r);
      EXPECT_NEAR(first_of(all[4]), 2 * r, 1e-6);
      EXPECT_EQ(first_of(all[6]), r);
      EXPECT_NEAR(first_of(all[7]), r * r * r, 1e-6);
      EXPECT_NEAR(first_of(all[8]), 1 + 2 * r, 1e-6);
    }
  };
  for (int i = 0; i < 3; ++i) epoch(0.5 / (i + 1));
  const Counters before = counters();
  for (int i = 3; i < 6; ++i) epoch(0.5 / (i + 1));
  const Counters did = counters() - before;
  EXPECT_EQ(did.compiles, 0);
  EXPECT_GE(did.number_operands, 3 * kShapes * 8);
}

// A count that follows from the type is a constant of each program.
TEST(Numbers, ThatFollowFromTypesAreConstants) {
  for (int turn = 0; turn < 3; ++turn) {
    for (const int size : {300, 400, 500}) {
      const Tensor x = ones({size});
      const Counters before = counters();
      const Tensor slope = grad([](Tensor y) { return mean(y * y); })(x);
      EXPECT_EQ((counters() - before).number_operands, 0);
      EXPECT_NEAR(first_of(slope), 2.0 / size, 1e-6);
    }
  }
}

// The trace leaves the expected one at its end, where its number is known to vary.
TEST(Numbers, AreOperandsWhereResultsDiffer) {
  const auto last = [](Tensor p, double k, bool is_turned) {
    return scan(
               [=](Tensor c, Tensor x) {
                 const Tensor a = c * k, b = a + x;
                 return is_turned ? std::pair(a, b) : std::pair(b, a);
               },
               p, stack({p, p}))
        .first;
  };
  const Tensor four = ones({4}), five = ones({5});
  EXPECT_EQ(first_of(last(four, 2, false)), 7);
  EXPECT_EQ(first_of(last(five, 3, false)), 13);
  EXPECT_EQ(first_of(last(four, 2, true)), 4);
  EXPECT_EQ(first_of(last(four, 2, false)), 7);
  EXPECT_EQ(first_of(last(four, 5, true)), 25);
}

TEST(Numbers, AreOperandsInOtherThreads) {
  const Tensor x = ones({20'000}), few = ones({4});
  const auto calls = [&](double k) {
    (void)(x * k);
    (void)pow(few, k);
    (void)few.at({0}).set(k);
    (void)nn::leaky_relu(few, k);
    (void)linspace(0.0, k, 5);
    (void)grad([=](Tensor y) { return sum(y * k); })(few);
    (void)fori_loop(
        0, 3, [=](Tensor, Tensor y) { return y * k; }, few);
    (void)fori_loop(
        0, 2 + static_cast<int>(10 * k) % 7, [](Tensor, Tensor y) { return y + 1.0; }, few);
  };
  for (int i = 1; i < 4; ++i) calls(0.1 * i);
  const Counters before = counters();
  for (int i = 4; i < 8; ++i) std::thread(calls, 0.1 * i).join();
  EXPECT_EQ((counters() - before).compiles, 0);
}

TEST(Numbers, GoToEachDeviceOfAMesh) {
  const Mesh mesh({{"data", 4}}, runtime::four_devices());
  const Tensor x = array(std::vector<float>(4, 1), {4}, Sharding(mesh, {"data"}));
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ((x * double(i)).to_vector<float>(), std::vector<float>(4, float(i)));
}

TEST(Numbers, AreOfOneTypeEach) {
  for (int i = 0; i < 4; ++i) {
    const auto times = [&](const Tensor& x) { return x * double(i); };
    EXPECT_EQ(times(ones({2}, f32)).dtype(), f32);
    EXPECT_EQ(times(ones({2}, f64)).dtype(), f64);
    EXPECT_EQ(times(ones({3}, bf16))[0].astype(f32).item<float>(), float(i));
  }
}

// Outside of a trace these copy, so that no number of parts is a program of its own.
TEST(Parts, AreJoinedWithoutAProgram) {
  std::vector<Tensor> rows, columns;
  for (int i = 0; i < 40; ++i) {
    rows.push_back(array<float>({float(i), float(-i)}));
    columns.push_back(array<double>(std::vector<double>(size_t(2 * (i + 1)), i)));
    columns.back() = reshape(columns.back(), {2, i + 1});
  }
  const Counters before = counters();
  for (size_t n = 2; n <= rows.size(); ++n) {
    const std::vector<Tensor> some(rows.begin(), rows.begin() + std::ptrdiff_t(n));
    const auto down = stack(some).to_vector<float>(), across = stack(some, -1).to_vector<float>();
    const auto end_to_end = concat(some).to_vector<float>();
    EXPECT_EQ(down, end_to_end);
    for (size_t i = 0; i < n; ++i) {
      EXPECT_EQ(down[2 * i + 1], -float(i));
      EXPECT_EQ(across[n + i], -float(i));
    }
  }
  const Tensor wide = concat(columns, -1);
  const Counters did = counters() - before;
  EXPECT_EQ(did.lowerings, 0);
  EXPECT_EQ(did.compiles, 0);
  EXPECT_EQ(did.executions, 3 * 39 + 1);
  EXPECT_EQ(wide.shape(), Shape(f64, {2, 820}));
  EXPECT_EQ(wide.to_vector<double>()[820 + 1], 1);
  EXPECT_EQ(wide.to_vector<double>()[819], 39);
  EXPECT_EQ(stack(std::vector<Tensor>{zeros({0}), zeros({0})}).shape(), Shape(f32, {2, 0}));
}

}  // namespace
}  // namespace heddle
