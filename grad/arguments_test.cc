// What derivatives take beside the point: C++ numbers, tangents and cotangents, options.
#include <cmath>

#include "heddle/base/support_test.h"
#include "heddle/grad/checkpoint.h"
#include "heddle/grad/custom.h"
#include "heddle/grad/grad.h"
#include "heddle/grad/implicit.h"
#include "heddle/grad/support_test.h"
#include "heddle/numpy/sorting.h"
#include "heddle/trace/run/program.h"

namespace heddle {
namespace {

using namespace grad_internal;  // NOLINT: support_test.h

Tensor numbers(std::vector<double> values) { return array(values); }
double value(const Tensor& x) { return x.item<double>(); }

TEST(Derivatives, OfYourOwnTakeNumbers) {
  const auto square = [](Tensor x) { return x * x; };
  EXPECT_EQ(value(checkpoint(square)(3.0)), 9);
  EXPECT_EQ(value(checkpoint_name(stop_gradient(3.0), "three")), 3);
  using One = std::tuple<Tensor>;
  const auto by_jvp = custom_jvp(square, [](const One& x, const One& dx) {
    return std::pair(std::get<0>(x) * 5, std::get<0>(dx) * 7);
  });
  EXPECT_EQ(value(by_jvp(3.0)), 9);
  EXPECT_EQ(value(grad(by_jvp)(3.0)), 7);
  const auto by_vjp = custom_vjp(
      square, [](Tensor x) { return std::pair(x * x, x); },
      [](Tensor x, Tensor ct) { return x * ct * 4; });
  EXPECT_EQ(value(by_vjp(3.0)), 9);
  EXPECT_EQ(value(grad(by_vjp)(3.0)), 12);
  const auto [a, b] =
      linear_transpose([](Tensor x, Tensor y) { return 2 * x + 3 * y; }, 1.0, 1.0)(1.0);
  EXPECT_EQ(value(a), 2);
  EXPECT_EQ(value(b), 3);
  EXPECT_THAT(error_of([&] { (void)linear_transpose(square, 3); }),
              StartsWith("linear_transpose: arg0 is s32[], which has no derivative"));
  const auto twice = [](Tensor x) { return 2 * x; };
  const auto halve = [](const auto&, Tensor y) { return y / 2; };
  EXPECT_EQ(value(custom_linear_solve(twice, 3.0, halve)), 1.5);
  EXPECT_EQ(value(custom_linear_solve(twice, 3.0, halve, halve)), 1.5);
  EXPECT_THAT(error_of([&] { (void)custom_linear_solve(twice, 3, halve); }),
              StartsWith("custom_linear_solve: b is s32[]; it must be floats, cast it"));
  const auto minus_two = [](Tensor x) { return x - 2; };
  const auto solve = [](const auto& f, Tensor x) { return x - f(x); };
  EXPECT_EQ(value(custom_root(minus_two, 1.0, solve, [](const auto&, Tensor y) { return y; })), 2);
}

TEST(TangentError, OfATangentOfIntegersThatIsNotZero) {
  const Cell at{numbers({1, 2}), array<int>({3, 4})};
  const auto f = [](const Cell& c) { return c.w * c.b.astype(f64); };
  const auto along = [&](const Tensor& db) { return std::tuple(Cell{numbers({1, 0}), db}); };
  const auto told = [&](const Tensor& db) {
    return error_of([&] { (void)jvp(f, std::tuple(at), along(db)); });
  };
  EXPECT_THAT(told(numbers({1, 1})),
              StartsWith("jvp: tangent 0.b is f64[2]; its argument is s32[2], which has no "
                         "derivative; give zeros of that type, or cast its argument to floats "
                         "[arguments_test.cc:"));
  EXPECT_THAT(
      told(array<int>({0, 1})),
      StartsWith("jvp: tangent 0.b is s32[2] and not 0; its argument is s32[2], which has"));
  const auto push = linearize(f, at).second;
  EXPECT_THAT(
      error_of([&] {
        (void)push(std::get<0>(along(array<int>({0, 1}))));
      }),
      StartsWith("linearize: tangent 0.b is s32[2] and not 0; its argument is s32[2], which "
                 "has no derivative; give zeros of that type, or cast its argument"));
  const auto zero = along(zeros({2}, s32));
  EXPECT_THAT(values(jvp(f, std::tuple(at), zero).second), ElementsAre(3, 0));
  EXPECT_THAT(values(push(std::get<0>(zero))), ElementsAre(3, 0));
}

TEST(TangentError, OfANumberAsATangentOfIntegers) {
  const auto f = [](Tensor n) { return n.astype(f64) * 2; };
  const auto first_of = [&](const Tensor& n) {
    return jvp(f, std::tuple(n), std::tuple(1)).second;
  };
  const std::string text =
      "jvp: tangent 0 is s32[] and not 0; its argument is s32[], which has no derivative; give "
      "zeros "
      "of that type or None{}, or cast its argument to floats";
  EXPECT_THAT(error_of([&] { (void)first_of(scalar(3)); }), StartsWith(text));
  EXPECT_THAT(error_of([&] { (void)trace(first_of, scalar(3)); }), StartsWith(text));
  EXPECT_EQ(value(jvp(f, std::tuple(3), std::tuple(0)).second), 0);
  EXPECT_EQ(value(jvp(f, std::tuple(3), std::tuple(None{})).second), 0);
}

TEST(TangentError, OfACotangentOfIntegersThatIsNotZero) {
  const auto f = [](Tensor x) { return std::pair(x * x, argmax(x)); };
  const auto pull = vjp(f, numbers({1, 3})).second;
  const auto of = [&](const Tensor& n) { return pull(std::pair(numbers({1, 1}), n)); };
  EXPECT_THAT(error_of([&] {
                (void)of(argmax(numbers({1, 3})));
              }),
              StartsWith("vjp: cotangent[1] is s32[] and not 0; the result is s32[], which has no "
                         "derivative; give zeros of that type, or cast the result to floats"));
  EXPECT_THAT(error_of([&] { (void)of(scalar(1.0)); }),
              StartsWith("vjp: cotangent[1] is f64[]; the result is s32[], which has no"));
  EXPECT_THAT(values(of(scalar(0))), ElementsAre(2, 6));
}

TEST(TangentError, OfATangentOfAnotherTypeNamesItsPlace) {
  using Two = std::pair<Tensor, Tensor>;
  const auto f = [](Tensor x, const Two& y) { return x + y.first * y.second; };
  const Tensor x = numbers({1, 2});
  const std::string text = ": tangent 1[1] is f64[]; it must be f64[2], as its argument is [";
  EXPECT_THAT(
      error_of([&] { (void)jvp(f, std::tuple(x, Two(x, x)), std::tuple(x, Two(x, scalar(1.0)))); }),
      StartsWith("jvp" + text));
  EXPECT_THAT(error_of([&] { (void)linearize(f, x, Two(x, x)).second(x, Two(x, scalar(1.0))); }),
              StartsWith("linearize" + text));
}

TEST(Linearize, GivesAListOfValuesWhole) {
  const auto f = [](Tensor x) { return std::vector<Tensor>{sin(x), x * 2.0}; };
  const auto [values, push] = linearize(f, scalar(0.5));
  EXPECT_EQ(values.size(), 2);
  EXPECT_EQ(push(scalar(1.0)).size(), 2);
}

TEST(CheckError, OfACheckWithAStepOrAToleranceThatIsNone) {
  const auto check = [](const CheckGradsOptions& options) {
    return error_of(
        [&] { check_grads([](Tensor x) { return x * x; }, std::tuple(scalar(1.0)), options); });
  };
  EXPECT_THAT(
      check({.step = 0}),
      StartsWith("check_grads: step is 0; it must be a number above 0, leave it out for one "
                 "by dtype [arguments_test.cc:"));
  EXPECT_THAT(check({.step = -1e-5}), StartsWith("check_grads: step is -1e-05; it must be"));
  EXPECT_THAT(check({.step = INFINITY}), StartsWith("check_grads: step is inf; it must be"));
  EXPECT_THAT(check({.tolerance = 0}), StartsWith("check_grads: tolerance is 0; it must be"));
  EXPECT_THAT(check({.tolerance = NAN}), StartsWith("check_grads: tolerance is nan; it must be"));
  check_grads([](Tensor x) { return x * x; }, std::tuple(scalar(1.0)),
              {.step = 1e-4, .tolerance = 1e-5});
}

}  // namespace
}  // namespace heddle
