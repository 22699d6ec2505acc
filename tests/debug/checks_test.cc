// debug_check, check_nans and progress on the evaluator, cpu and, where it is there, XLA's CPU
// plugin.
#include <cmath>
#include <limits>

#include "heddle/base/support_test.h"
#include "heddle/heddle.h"
#include "heddle/tests/debug/support.h"

namespace heddle {
namespace {

class Checks : public Debug {};
INSTANTIATE_TEST_SUITE_P(Backends, Checks, testing::Values("interpreter", "cpu", "xla"),
                         [](const auto& info) { return std::string(info.param); });

// ---- Checks.

TEST_P(Checks, ACheckOutsideOfATraceIsAnErrorAtOnce) {
  debug_check(array<float>({1, 2}), "fine");
  debug_check(arange(3), "integers");
  EXPECT_THAT(
      error_of([] { debug_check(ones({2}) > 2, "x must be large"); }),
      StartsWith("debug_check: x must be large is pred[2], and debug_check looks for NaN and "
                 "infinity: it asserts nothing of truths"));
  EXPECT_THAT(error_of([] {
                debug_check(log(array<float>({1, -1})), "log");
              }),
              AllOf(StartsWith("debug_check: log is not a number; it must be finite"),
                    HasSubstr("checks_test.cc:")));
  EXPECT_THAT(error_of([] { debug_check(exp(scalar(1e30f)), "exp"); }),
              StartsWith("debug_check: exp is infinite"));
}

TEST_P(Checks, ACheckNamesTheStepOfEachLoop) {
  const auto inner = [](Tensor h, Tensor x) {
    h = h + log(x);
    debug_check(h, "h");
    return std::pair(h, None{});
  };
  const auto outer = [&](Tensor h, Tensor x) { return std::pair(scan(inner, h, x).first, None{}); };
  const auto fn = compile([&](Tensor xs) {
    debug_check(xs, "xs");
    return scan(outer, scalar(0.0f), xs).first;
  });
  EXPECT_EQ(fn(ones({3, 4})).item<float>(), 0);
  const Tensor bad = ones({3, 4}).at({2, 1}).set(-1.0);
  EXPECT_THAT(error_of([&] { fn(bad).wait(); }),
              AllOf(HasSubstr("debug_check: h is not a number in step 1 of the loop, in step 2 of "
                              "the loop around it; it must be finite"),
                    HasSubstr("checks_test.cc:")));
  EXPECT_THAT(error_of([&] {
                fn(ones({3, 4}) * std::numeric_limits<double>::infinity()).wait();
              }),
              AllOf(HasSubstr("debug_check: xs is infinite; it must be finite")));
  EXPECT_EQ(fn(ones({3, 4})).item<float>(), 0);
}

TEST_P(Checks, AWhileLoopEndsWhereACheckFails) {
  const auto fn = compile([](Tensor x) {
    return while_loop([](Tensor t) { return ~(t < 0.5); },  // true of NaN: without end
                      [](Tensor t) {
                        t = log(t - 1.0);
                        debug_check(t, "t");
                        return t;
                      },
                      x);
  });
  EXPECT_THAT(error_of([&] { fn(scalar(2.5f)).wait(); }), HasSubstr("no error"));
  EXPECT_THAT(error_of([&] { fn(scalar(20.0f)).wait(); }),
              HasSubstr("debug_check: t is not a number in step 2 of the loop"));
}

TEST_P(Checks, ChecksUnderTransforms) {
  const auto fn = [](Tensor x) {
    const auto step = [](Tensor h, Tensor i) {
      h = log(h - i);
      debug_check(h, "h");
      return std::pair(h, None{});
    };
    return scan(step, x, arange(3.0f)).first;
  };
  const auto is_told = HasSubstr("h is not a number in step 1 of the loop");
  EXPECT_THAT(error_of([&] { grad(fn)(scalar(2.0f)).wait(); }), is_told);
  EXPECT_THAT(error_of([&] { pushed(fn, scalar(2.0f), scalar(1.0f)).wait(); }), is_told);
  EXPECT_THAT(error_of([&] { vmap(fn)(array<float>({1e30f, 2})).wait(); }), is_told);
  EXPECT_THAT(error_of([&] { vmap(grad(fn))(array<float>({2, 3})).wait(); }), is_told);
  // A lane that is not there checks nothing.
  const auto branch = [](Tensor x) {
    return cond(
        x > 0.0,
        [](Tensor t) {
          debug_check(t, "t");
          return log(t);
        },
        [](Tensor t) { return t; }, x);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(vmap(branch)(array<float>({1, static_cast<float>(nan)})).to_vector<float>()[0], 0);
}

TEST_P(Checks, CheckNansNamesTheFirstOperation) {
  const auto fn = [](Tensor x) {
    const auto step = [](Tensor h, Tensor i) {
      const Tensor safe = where(h > 0.0, log(h), 0.0);  // NaN where nobody takes it
      h = safe + sqrt(h - i);
      return std::pair(h, h);
    };
    return scan(step, x, arange(4.0f)).second;
  };
  const auto checked = compile(fn, {.check_nans = true});
  EXPECT_THAT(error_of([&] { checked(scalar(100.0f)).wait(); }), HasSubstr("no error"));
  EXPECT_THAT(
      error_of([&] { checked(scalar(0.9f)).wait(); }),
      AllOf(HasSubstr("check_nans: the result of sqrt"), HasSubstr("is not a number in step "),
            HasSubstr("of the loop"), HasSubstr("checks_test.cc:")));
  const auto with_name =
      compile([](Tensor x) { return sqrt(x); }, {.name = "root", .check_nans = true});
  const std::string text = "check_nans: the result of sqrt in root is not a number; it must be one";
  EXPECT_THAT(error_of([&] { with_name(scalar(-1.0f)).wait(); }), HasSubstr(text));
  EXPECT_THAT(error_of([&] { vmap(with_name)(full({2}, -1)).wait(); }), HasSubstr(text));
  const auto plain = compile(fn);
  EXPECT_TRUE(std::isnan(plain(scalar(0.9f)).to_vector<float>()[3]));
  EXPECT_THAT(error_of([&] {
                compile(grad([](Tensor x) { return sqrt(x * 0.0) * x; }),
                        {.check_nans = true})(scalar(1.0f))
                    .wait();
              }),
              HasSubstr("check_nans: the result of "));
}

// Lanes that take the other branch, or have left the loop, are computed and not taken.
TEST_P(Checks, CheckNansLeavesLanesThatAreNotTaken) {
  const auto branch = [](const Tensor& x) {
    return cond(x > 0, [](const Tensor& y) { return log(y); },
                [](const Tensor& y) { return y; }, x);
  };
  const auto loop = [](const Tensor& x) {
    return while_loop([](const Tensor& y) { return y > 0.5; },
                      [](const Tensor& y) { return sqrt(y) - 0.6; }, x);
  };
  const Tensor x = array<float>({1, -3, 2});
  const auto all_branches = compile([&](const Tensor& v) { return vmap(branch)(v); },
                                    {.check_nans = true});
  EXPECT_THAT(all_branches(x).to_vector<float>(), ElementsAre(0, -3, FloatNear(0.6931472f, 1e-6f)));
  const auto all_loops = compile([&](const Tensor& v) { return vmap(loop)(v); },
                                 {.check_nans = true});
  EXPECT_EQ(all_loops(x).to_vector<float>()[1], -3);
  // What a lane takes is checked.
  EXPECT_THAT(error_of([&] { all_branches(array<float>({1, NAN, 2})).wait(); }),
              HasSubstr("is not a number"));
}

TEST_P(Checks, CheckNansOfAnInnerFunctionHoldsInsideOfTraces) {
  const auto root = compile(
      [](Tensor x) {
        const Tensor safe = where(x > 0.0, log(x), 0.0);
        return safe + sqrt(x);
      },
      {.name = "root", .check_nans = true});
  const int line = __LINE__ - 3;
  const auto is_told = testing::AllOf(HasSubstr("check_nans: the result of sqrt"),
                                      HasSubstr(base::cat("[checks_test.cc:", line, "]")));
  const Tensor good = array<float>({1, 4}), bad = array<float>({1, -4});
  const auto all = [&](const auto& f) {
    EXPECT_THAT(error_of([&] { f(good).wait(); }), HasSubstr("no error"));
    EXPECT_THAT(error_of([&] { f(bad).wait(); }), is_told);
  };
  all(root);
  all(compile([&](const Tensor& x) { return root(x) * 2.0; }));
  all(trace([&](const Tensor& x) { return root(x); }, good));
  all([&](const Tensor& x) { return map(root, x); });
  all([&](const Tensor& x) { return vmap(root)(x); });
  all([&](const Tensor& x) {
    return grad([&](const Tensor& y) { return sum(root(y)); })(x);
  });
  all([&](const Tensor& x) {
    return scan([&](Tensor c, Tensor e) { return std::pair(c + root(e), None{}); }, 0.0f, x).first;
  });
  // What is around it is not checked.
  const auto outer = compile([&](const Tensor& x) { return sqrt(x) + root(x * x); });
  EXPECT_TRUE(std::isnan(outer(bad).to_vector<float>()[1]));
}

TEST_P(Checks, WithoutChecksTheProgramIsTheSame) {
  const auto fn = [](Tensor x) { return sin(x) * x; };
  const auto p = trace(fn, scalar(1.0f));
  EXPECT_THAT(p.hlo_text(), testing::Not(HasSubstr("heddle.")));
  p(scalar(1.0f)).wait();
  const Counters before = counters();
  compile(fn)(scalar(1.0f)).wait();
  EXPECT_EQ(counters().compiles, before.compiles);
}

// ---- Progress.

TEST_P(Checks, ALoopShowsItsProgress) {
  const auto step = [](Tensor h, Tensor x) { return std::pair(h + x, h); };
  for (const bool reverse : {false, true}) {
    const auto [last, ys] =
        scan(step, scalar(0), arange(1000), {.reverse = reverse, .progress = "fit"});
    EXPECT_EQ(last.item<int>(), 499500);
    EXPECT_THAT(lines_.take(), ElementsAre(StartsWith("fit: step 1000 of 1000 (100%), ")));
  }
  const auto plain = scan(step, scalar(0), arange(1000));
  EXPECT_EQ(plain.first.item<int>(), 499500);
  EXPECT_THAT(lines_.take(), IsEmpty());
  const auto loss = [&](Tensor x) {
    const auto by = [&](Tensor h, Tensor t) { return std::pair(sin(h) * x + t, None{}); };
    return scan(by, x, arange(500.0f), {.unroll = 2, .progress = "loss"}).first;
  };
  (void)grad(loss)(scalar(0.5f)).item<float>();
  EXPECT_THAT(lines_.take(), ElementsAre(StartsWith("loss: step 500 of 500")));
  (void)vmap(loss)(ones({3})).to_vector<float>();
  EXPECT_THAT(lines_.take(), ElementsAre(StartsWith("loss: step 500 of 500")));
  (void)fori_loop(
      0, 30,
      [](Tensor i, Tensor x) {
        progress(i, 30, "solve");
        return x + i;
      },
      scalar(0))
      .item<int>();
  EXPECT_THAT(lines_.take(), ElementsAre(StartsWith("solve: step 30 of 30 (100%)")));
  progress(scalar(9), 3, "more");  // a total that is wrong is not 100%
  EXPECT_THAT(lines_.take(),
              ElementsAre(StartsWith("more: step 10, past the 3 that it was to take")));
}

}  // namespace
}  // namespace heddle
