// scan_until: what it gives, what it leaves out, and its derivatives.
#include <map>

#include "heddle/base/support_test.h"
#include "heddle/heddle.h"
#include "heddle/testing.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

std::pair<Tensor, Tensor> add(const Tensor& c, const Tensor& x) { return {c + x, c * x}; }

Tensor is_six(const Tensor& c) { return c >= 6.0; }

TEST(ScanUntil, StopsBeforeTheFirstStepThatIsNotWanted) {
  const auto found = scan_until(add, is_six, scalar(0.0), array<double>({1, 2, 3, 4, 5}));
  EXPECT_EQ(found.carry.item<double>(), 6);
  EXPECT_EQ(found.steps.item<int>(), 3);
  EXPECT_THAT(doubles(found.ys), ElementsAre(0, 2, 9, 0, 0));
}

TEST(ScanUntil, TheWholeFamilyOfCases) {
  const Tensor xs = array<double>({1, 2, 3});
  const auto at_once = scan_until(add, is_six, scalar(7.0), xs);
  EXPECT_EQ(at_once.steps.item<int>(), 0);
  EXPECT_EQ(at_once.carry.item<double>(), 7);
  const auto never = scan_until(add, is_six, scalar(-9.0), xs);
  EXPECT_EQ(never.steps.item<int>(), 3);
  EXPECT_EQ(never.carry.item<double>(), -3);
  const auto none = scan_until(add, is_six, scalar(0.0), zeros({0}, f64));
  EXPECT_EQ(none.steps.item<int>(), 0);
  EXPECT_EQ(none.ys.size(), 0);
  const auto reversed = scan_until(add, is_six, scalar(4.0), xs, {.reverse = true});
  EXPECT_EQ(reversed.steps.item<int>(), 1);
  EXPECT_THAT(doubles(reversed.ys), ElementsAre(0, 0, 12));
  const auto numbers = scan_until([](Tensor c, None) { return std::pair(c + 1, None{}); },
                                  [](Tensor c) { return c > 3; }, 0, None{}, {.length = 9});
  EXPECT_EQ(numbers.carry.item<int>(), 4);
}

TEST(ScanUntil, OfTreesInATraceAndACompiledFunction) {
  using Map = std::map<std::string, Tensor>;
  const auto step = [](Map c, Tensor x) {
    c.at("sum") = c.at("sum") + x;
    return std::pair(c, std::pair(c.at("sum"), None{}));
  };
  const auto run = compile([&](const Tensor& xs) {
    return scan_until(
        step, [](const Map& c) { return c.at("sum") > 4.0f; }, Map{{"sum", scalar(0.0f)}}, xs);
  });
  const auto found = run(array<float>({2, 1, 3, 8}));
  EXPECT_EQ(found.carry.at("sum").item<float>(), 6);
  EXPECT_THAT(found.ys.first.to_vector<float>(), ElementsAre(2, 3, 6, 0));
  const Tensor xs = array<float>({9, 1, 3, 8});
  expect_nothing_behind_my_back([&] { (void)run(xs); });
}

TEST(ScanUntil, HasDerivativesOfTheStepsThatWereMade) {
  const auto f = [](const Tensor& xs) {
    const auto found = scan_until(add, is_six, scalar(1.0), xs);
    return found.carry * found.carry + sum(found.ys);
  };
  const Tensor xs = array<double>({1, 2, 3, 4, 5});
  EXPECT_THAT(doubles(grad(f)(xs)), ElementsAre(20, 19, 18, 0, 0));
  check_grads(f, std::tuple(xs));
}

TEST(ScanUntil, NoStepIsComputedBehindTheEnd) {
  // The next step would be the root of a negative number.
  const auto f = [](const Tensor& x) {
    return scan_until([](Tensor c, None) { return std::pair(sqrt(c - 0.5), None{}); },
                      [](Tensor c) { return c <= 0.5; }, x, None{}, {.length = 10})
        .carry;
  };
  EXPECT_EQ(f(scalar(0.75)).item<double>(), 0.5);
  EXPECT_EQ(grad(f)(scalar(0.75)).item<double>(), 1);
}

TEST(ScanUntil, RunsStepAndUntilOnceHoweverManySteps) {
  int steps = 0, tests = 0;
  const auto step = [&](const Tensor& c, const Tensor& x) {
    ++steps;
    return std::pair(c + x, std::pair(x.astype(f32), None{}));
  };
  const auto until = [&](const Tensor& c) {
    ++tests;
    return c >= 6.0;
  };
  const Tensor xs = array<double>({1, 2, 3, 4, 5});
  const auto call = [&] { (void)scan_until(step, until, scalar(0.0), xs); };
  EXPECT_EQ(effects_of(call).traces, 3);  // scan's step, and the two branches in it
  EXPECT_EQ(steps, 1);
  EXPECT_EQ(tests, 1);
}

TEST(ScanUntil, TakesNumbersForUntilAndStopsAtNaN) {
  const auto steps = [](const auto& until) {
    return scan_until([](Tensor c, None) { return std::pair(c + 1, None{}); }, until, scalar(-2.0),
                      None{}, {.length = 5})
        .steps.template item<int>();
  };
  EXPECT_EQ(steps([](Tensor c) { return c * 0; }), 5);
  EXPECT_EQ(steps([](Tensor c) { return c + 2; }), 1);
  EXPECT_EQ(steps([](Tensor c) { return 0 / (c + 1); }), 1);  // 0 / 0
}

TEST(ScanUntil, MistakesAreErrorsOnTheUsersLine) {
  const auto wrong = [](const Tensor& c, const Tensor&) { return std::pair(c.astype(f32), c); };
  EXPECT_THAT(error_of([&] { (void)scan_until(wrong, is_six, scalar(0.0), ones({2}, f64)); }),
              AllOf(HasSubstr("f32[]"), EndsWith(here())));
  EXPECT_THAT(error_of([&] {
                (void)scan_until(
                    add,
                    [](Tensor c) {
                      return concat({c, c}, 0);
                    },
                    ones({1}, f64), ones({2, 1}, f64));
              }),
              AllOf(HasSubstr("scan_until: what until returns is f64[2]"), EndsWith(here())));
}

}  // namespace
}  // namespace heddle
