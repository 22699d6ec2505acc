// The behaviours that JAX's lax_control_flow_test checks about derivatives of scan and while (group
// I), by their numbers in the list of docs/behaviours.md.
#include <cmath>
#include <random>
#include <regex>

#include "heddle/base/support_test.h"
#include "heddle/grad/support_test.h"
#include "heddle/heddle.h"
#include "heddle/tests/support/loops_of.h"

namespace heddle {
namespace {

using grad_internal::one_by_one;
using grad_internal::some;
using grad_internal::values;

double value(const Tensor& x) { return x.item<double>(); }

void expect_near(const Tensor& have, const Tensor& want, double tolerance) {
  ASSERT_EQ(have.shape(), want.shape());
  EXPECT_THAT(values(have), Pointwise(DoubleNear(tolerance), values(want)));
}

size_t count_of(const std::string& text, const std::string& word) {
  const std::regex pattern(word);
  return static_cast<size_t>(std::distance(std::sregex_iterator(text.begin(), text.end(), pattern),
                                           std::sregex_iterator()));
}

// JAX's five ways to run a scan, and both directions: unrolled or not, and the whole scan in a
// checkpoint that keeps nothing or everything.
struct Way {
  const char* name;
  ScanOptions options = {};
  std::optional<CheckpointPolicy> policy = {};
};
const Way kWays[] = {
    {"plain"},
    {"unroll 2", {.unroll = 2}},
    {"unroll all", {.unroll = ScanOptions::kUnrollAll}},
    {"reverse", {.reverse = true}},
    {"checkpoint, nothing", {}, checkpoint_policies::nothing_saveable()},
    {"checkpoint, everything", {}, checkpoint_policies::everything_saveable()},
};
enum class Compiled : uint8_t { kNothing, kStep, kScan, kBoth };
constexpr Compiled kAllCompiled[] = {Compiled::kNothing, Compiled::kStep, Compiled::kScan,
                                     Compiled::kBoth};

// The scan of step(carry, x, d), whose d does not change.
template <class Step, class C>
auto scanned(const Way& way, Compiled compiled, const Step& step, const C& c, const Tensor& xs,
             const Tensor& d) {
  const auto run = [&](const auto& once) {
    const auto whole = [&](const C& c, const Tensor& xs) { return scan(once, c, xs, way.options); };
    const auto checked = [&](const auto& loop) {
      return way.policy ? checkpoint(loop, {.policy = *way.policy})(c, xs) : loop(c, xs);
    };
    return compiled >= Compiled::kScan ? checked(compile(whole)) : checked(whole);
  };
  const auto once = [&](const C& c, const Tensor& x) { return step(c, x, d); };
  const bool is_step = compiled == Compiled::kStep || compiled == Compiled::kBoth;
  return is_step ? run(compile(once)) : run(once);
}

// The same as a C++ loop.
template <class Step, class C>
auto looped(bool reverse, const Step& step, C c, const Tensor& xs, const Tensor& d) {
  const int64_t n = xs.dim(0);
  std::vector<Tensor> ys(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k) {
    const int64_t i = reverse ? n - 1 - k : k;
    std::tie(c, ys[static_cast<size_t>(i)]) = step(c, xs[i], d);
  }
  return std::pair(c, stack(ys));
}

// use(f, reference), functions of (c, xs, d), for each way.
template <class Step, class Use>
void for_each_scan(const Step& step, const Use& use) {
  for (const Way& way : kWays) {
    for (Compiled compiled : kAllCompiled) {
      SCOPED_TRACE(base::cat(way.name, ", compiled ", static_cast<int>(compiled)));
      use([&](const auto& c, Tensor xs,
              Tensor d) { return scanned(way, compiled, step, c, xs, d); },
          [&](const auto& c, Tensor xs, Tensor d) {
            return looped(way.options.reverse, step, c, xs, d);
          });
    }
  }
}

// It reads all that a step can: carry, x and what it captures.
std::pair<Tensor, Tensor> bent(const Tensor& c, const Tensor& x, const Tensor& d) {
  const Tensor b = sum(cos(x * d)) * sin(c) * 0.5;
  return {sin(c * b), b + c * x[0]};
}

struct Point {
  Tensor c = some({}), xs = some({4, 2}, 1), d = some({2}, 2);
};

TEST(Jax, N148_ScanTangentsEqualTheLoopsAndAreRightToOrder2) {
  const auto [c, xs, d] = Point();
  const std::tuple at(c, xs, d), along(c * 0.3, cos(xs), d + 0.5);
  for_each_scan(bent, [&](auto f, auto loop) {
    const auto [y, dy] = jvp(f, at, along);
    const auto [wanted, d_wanted] = jvp(loop, at, along);
    expect_near(y.first, wanted.first, 1e-14);
    expect_near(dy.first, d_wanted.first, 1e-14);
    expect_near(dy.second, d_wanted.second, 1e-14);
    check_grads(f, at, {.reverse = false});
  });
}

TEST(Jax, N149_ScanLinearizeEqualsTheLoops) {
  const auto [c, xs, d] = Point();
  for_each_scan(bent, [&](auto f, auto loop) {
    const auto [y, push] = linearize(f, c, xs, d);
    const auto [wanted, push_loop] = linearize(loop, c, xs, d);
    expect_near(y.second, wanted.second, 1e-14);
    for (double size : {1.0, -3.0}) {  // it is used again
      const auto dy = push(c * size, xs * 0.5, d), d_wanted = push_loop(c * size, xs * 0.5, d);
      expect_near(dy.first, d_wanted.first, 1e-14);
      expect_near(dy.second, d_wanted.second, 1e-14);
    }
  });
}

// A scalar of all results of f.
template <class F>
auto total_of(const F& f) {
  return [f](const auto& c, Tensor xs, Tensor d) {
    const auto [last, ys] = f(c, xs, d);
    return sum(last) + sum(square(ys));
  };
}

TEST(Jax, N150_ScanGradEqualsTheLoopsAndIsRightToOrder2) {
  const auto [c, xs, d] = Point();
  for_each_scan(bent, [&](auto f, auto loop) {
    const auto have = grad(total_of(f), argnums<0, 1, 2>)(c, xs, d);
    const auto want = grad(total_of(loop), argnums<0, 1, 2>)(c, xs, d);
    expect_near(std::get<0>(have), std::get<0>(want), 1e-13);
    expect_near(std::get<1>(have), std::get<1>(want), 1e-13);
    expect_near(std::get<2>(have), std::get<2>(want), 1e-13);
    check_grads(f, std::tuple(c, xs, d));
  });
}

TEST(Jax, N151_ReverseOverReverse) {
  const auto [c, xs, d] = Point();
  for_each_scan(bent, [&](auto f, auto loop) {
    const auto slope_of = [](const auto& fn) {
      return [total = total_of(fn)](Tensor c, Tensor xs, Tensor d) {
        return sum(square(grad(total, argnums<2>)(c, xs, d)));
      };
    };
    const auto have = grad(slope_of(f), argnums<1, 2>)(c, xs, d);
    const auto want = grad(slope_of(loop), argnums<1, 2>)(c, xs, d);
    expect_near(std::get<0>(have), std::get<0>(want), 1e-12);
    expect_near(std::get<1>(have), std::get<1>(want), 1e-12);
  });
}

TEST(Jax, N152_ToyRnn) {
  using Weights = std::pair<Tensor, Tensor>;
  const auto step = [](const Weights& w) {
    return [&](Tensor h, Tensor x) {
      h = tanh(matmul(w.first, h) + matmul(w.second, x));
      return std::pair(h, h);
    };
  };
  const auto loss = [&](Weights w, Tensor xs, Tensor targets) {
    return sum(square(targets - scan(step(w), zeros({3}, f64), xs).second));
  };
  const auto by_loop = [&](Weights w, Tensor xs, Tensor targets) {
    const auto once = [&](Tensor h, Tensor x, Tensor) { return step(w)(h, x); };
    return sum(square(targets - looped(false, once, zeros({3}, f64), xs, xs).second));
  };
  const Weights w(some({3, 3}), some({3, 2}, 1)), dw(some({3, 3}, 5), some({3, 2}, 6));
  const Tensor xs = some({4, 2}, 2), targets = some({4, 3}, 3);
  const double slope =
      value(jvp(by_loop, std::tuple(w, xs, targets), std::tuple(dw, xs, None{})).second);
  EXPECT_NEAR(value(jvp(loss, std::tuple(w, xs, targets), std::tuple(dw, xs, None{})).second),
              slope, 1e-13);
  const auto [y, push] = linearize(loss, w, xs, targets);
  EXPECT_NEAR(value(y), value(by_loop(w, xs, targets)), 1e-13);
  EXPECT_NEAR(value(push(dw, xs, targets * 0.0)), slope, 1e-13);
  check_grads(loss, std::tuple(w, xs, targets));
  const Tensor all_xs = some({5, 4, 2}, 7), all_targets = some({5, 4, 3}, 8);
  const auto of_one = [&](Tensor xs, Tensor targets) { return by_loop(w, xs, targets); };
  expect_near(vmap(loss, {.in_axes = {kNoAxis, 0, 0}})(w, all_xs, all_targets),
              one_by_one(of_one, 5, all_xs, all_targets), 1e-13);
  const Program program = trace(grad(loss), w, xs, targets);
  EXPECT_EQ(loops_of(program), (Loops{.loops = 2}));  // one forward, one back
  EXPECT_EQ(loops_of(program.lowered()), (Loops{.loops = 2}));
}

// What the test above counts as dead.
TEST(Jax, N152_DeadOutputsAreSeen) {
  const auto squares = [](Tensor xs) {
    return scan([](Tensor c, Tensor x) { return std::pair(c + x, square(c)); }, scalar(0.0), xs);
  };
  const auto scans = [&](auto fn) { return loops_of(trace(fn, some({4}))); };
  EXPECT_EQ(scans([&](Tensor xs) { return squares(xs).second; }), (Loops{.loops = 1}));
  EXPECT_EQ(scans([&](Tensor xs) { return squares(xs).first; }),
            (Loops{.loops = 1, .dead_outputs = 1}));
  const auto pairs = [](Tensor x) {
    using State = std::pair<Tensor, Tensor>;
    return while_loop([](State s) { return s.first < 9.0; },
                      [](State s) { return State(s.first + 1.0, s.second * s.first); },
                      State(x, x));
  };
  const auto whiles = [&](auto fn) { return loops_of(trace(fn, scalar(1.0))); };
  EXPECT_EQ(whiles([&](Tensor x) { return pairs(x).second; }), (Loops{.loops = 1}));
  EXPECT_EQ(whiles([&](Tensor x) { return pairs(x).first; }),
            (Loops{.loops = 1, .dead_outputs = 1}));
}

TEST(Jax, N153_GradThroughAScanWhoseStepCallsGradWithACounter) {
  auto f = [](Tensor x) {
    auto step = [](std::pair<Tensor, Tensor> s, None) {
      const Tensor g = grad([](Tensor y) { return y * y * y; })(s.second);
      return std::pair(std::pair(s.first + 1, s.second - 0.1 * g), None{});
    };
    return scan(step, std::pair(scalar(0), x), None{}, {.length = 3}).first.second;
  };
  check_grads(f, std::tuple(scalar(0.5)));
}

TEST(Jax, N154_JacfwdThroughAScanWhoseStepCallsGrad) {
  auto f = [](Tensor x) {
    auto step = [](Tensor y, None) {
      return std::pair(y - 0.1 * grad([](Tensor z) { return sum(z * z * z); })(y), None{});
    };
    return scan(step, x, None{}, {.length = 2}).first;
  };
  auto p = trace(jacfwd(f), some({3}));
  const Tensor x = some({3});
  EXPECT_THAT(values(p(x)), Pointwise(DoubleNear(1e-14), values(jacrev(f)(x))));
}

TEST(Jax, N155_GradWithAKeyInTheCarry) {
  auto f = [](Tensor x) {
    auto step = [](std::pair<Tensor, Tensor> s, None) {
      auto keys = random::split(s.first);
      return std::pair(std::pair(keys[0], s.second * random::normal(keys[1], {}, f64)), None{});
    };
    return scan(step, std::pair(random::key(0), x), None{}, {.length = 3}).first.second;
  };
  EXPECT_NEAR(value(grad(f)(scalar(2.0))), value(f(scalar(2.0))) / 2, 1e-14);
}

TEST(Jax, N156_GradWhereACarryIsResetToAConstant) {
  auto f = [](Tensor x) {
    auto step = [](std::pair<Tensor, Tensor> s, None) {
      return std::pair(std::pair(s.first + s.second, scalar(0.0)), None{});
    };
    return scan(step, std::pair(x, x), None{}, {.length = 2}).first.first;
  };
  EXPECT_EQ(value(grad(f)(scalar(3.0))), 2);
}

TEST(Jax, N157_ACarryThatBecomesConstantHasATangent) {
  auto f = [](Tensor x) {
    auto step = [](std::pair<Tensor, Tensor> s, None) {
      return std::pair(std::pair(s.second * 2.0, scalar(1.0)), None{});
    };
    auto last = scan(step, std::pair(x, x), None{}, {.length = 1}).first;
    return last.first + last.second;
  };
  EXPECT_EQ(value(grad(f)(scalar(3.0))), 2);
  EXPECT_EQ(value(jvp(f, std::tuple(scalar(3.0)), std::tuple(scalar(1.0))).second), 2);
}

TEST(Jax, N158_AnInvariantResidualIsNotStacked) {
  auto f = [](Tensor x) {
    auto step = [&](Tensor c, None) { return std::pair(c + exp(x) * 3.0, None{}); };
    return scan(step, scalar(0.0), None{}, {.length = 5}).first;
  };
  auto p = trace(grad(f), scalar(1.0));
  EXPECT_EQ(count_of(p.lowered().hlo_text(), " dynamic-update-slice\\("), 0u);
  EXPECT_NEAR(value(p(scalar(1.0))), 15 * std::exp(1.0), 1e-13);
}

TEST(Jax, N159_SeveralInvariantResidualsCompile) {
  // Three values of d are the same in all steps, and tangents read each.
  const auto step = [](const Tensor& c, const Tensor& x, const Tensor& d) {
    const Tensor next = c * sin(d[0]) * cos(d[1]) + exp(d[0] * d[1]) * x[0];
    return std::pair(next, next);
  };
  const auto [c, xs, d] = Point();
  for_each_scan(step, [&](auto f, auto loop) {
    const auto want = grad(total_of(loop), argnums<0, 2>)(c, xs, d);
    const auto slopes = grad(total_of(f), argnums<0, 2>);
    for (const auto& have : {slopes(c, xs, d), compile(slopes)(c, xs, d)}) {
      expect_near(std::get<0>(have), std::get<0>(want), 1e-13);
      expect_near(std::get<1>(have), std::get<1>(want), 1e-13);
    }
    check_grads(f, std::tuple(c, xs, d), {.order = 1});
  });
}

// The cosine is what tangents read of a step, beside its carry and x.
Tensor of_wide_xs(const Tensor& c, const Tensor& xs) {
  return scan([](Tensor c, Tensor x) { return std::pair(sin(sum(c * x)), None{}); }, c, xs).first;
}

TEST(Jax, N160_XsAreReadAgainAndNotCopied) {
  const auto f = [](Tensor c, Tensor xs) { return of_wide_xs(c, xs); };
  const auto expect_not_copied = [](const auto& f, const std::string& forward) {
    const auto p = trace([&](Tensor c, Tensor xs) { return vjp(f, c, xs).second(c); }, scalar(1.0),
                         some({5, 4000}));
    // Of the loops none gives an array of the type of xs but the cotangent of xs.
    EXPECT_THAT(p.hlo_text(), HasSubstr(forward));
    EXPECT_EQ(count_of(p.hlo_text(), "= \\([^=]*f64\\[5,4000\\][^=]*\\) scan\\("), 1u)
        << p.hlo_text();
    // Outside of a trace the pullback keeps the tensor itself.
    const Tensor xs = some({5, 4000}), c = scalar(1.0);
    xs.wait();
    const int64_t before = array_memory().live_bytes;
    const auto [y, pull] = vjp(f, c, xs);
    y.wait();
    EXPECT_LT(array_memory().live_bytes - before, xs.shape().byte_size() / 4);
    EXPECT_EQ(std::get<1>(pull(scalar(1.0))).shape(), xs.shape());
  };
  expect_not_copied(f, "(f64[5]{0}, f64[5]{0}, f64[]) scan(");
  expect_not_copied(checkpoint(f), "scan(");
  const auto everything = checkpoint_policies::everything_saveable();
  expect_not_copied(checkpoint(f, {.policy = everything}), "(f64[5]{0}, f64[5]{0}, f64[]) scan(");
  const auto step = [](Tensor c, Tensor x) { return std::pair(sin(sum(c * x)), None{}); };
  expect_not_copied([&](Tensor c, Tensor xs) { return scan(checkpoint(step), c, xs).first; },
                    "(f64[5]{0}, f64[]) scan(");
}

// Numbers of the host are uploaded once, when they become a tensor: what the way back reads is that
// tensor, and no literal of the program.
TEST(Jax, N161_XsOfTheHostAreOneArrayOfTheDevice) {
  const std::vector<double> host(1000, 0.5);
  const Tensor xs = array(host), c = scalar(1.0);
  const auto f = [&](Tensor c) {
    return scan([](Tensor c, Tensor x) { return std::pair(sin(c * x), None{}); }, c, xs).first;
  };
  const Program p = trace([&](Tensor c) { return vjp(f, c).second(c); }, c);
  ASSERT_EQ(p.captures().size(), 1u);
  EXPECT_EQ(p.captures()[0].id(), xs.id());
  EXPECT_EQ(count_of(p.hlo_text(), "f64\\[1000\\][^ ]* constant"), 0u) << p.hlo_text();
  const Counters before = counters();
  const auto [y, pull] = vjp(f, c);
  (void)pull(c);
  EXPECT_EQ((counters() - before).uploads, 0);
}

TEST(Jax, N162_RandomMixesOfForwardedValues) {
  using List = std::vector<Tensor>;
  std::mt19937 engine(2);
  for (int round = 0; round < 20; ++round) {
    std::vector<unsigned> pick;
    for (int i = 0; i < 4; ++i) pick.push_back(engine() % 4);
    auto f = [&](Tensor w, List c, List xs) {
      auto step = [&](List c, List x) {
        const List from = {c[0], c[1], x[0], w};
        const List next = {from[pick[0]] * from[pick[1]], sin(from[pick[2]])};
        return std::pair(next, List{from[pick[3]], from[pick[0]] * from[pick[3]]});
      };
      return scan(step, c, xs);
    };
    check_grads(f,
                std::tuple(scalar(0.7), List{scalar(0.3), scalar(0.4)}, List{some({4}), some({4})}),
                {.order = 1});
  }
}

// JAX's placements of jit: around the loop, its step and its condition.
template <class Use>
void for_each_while(const Use& use) {
  for (int placed = 0; placed < 8; ++placed) {
    SCOPED_TRACE(placed);
    const auto is_small = [](Tensor x) { return x[2] <= 8.0; };
    const auto bend = [](Tensor x) { return x * x + sin(x) * 0.1; };
    const auto with = [&](const auto& condition, const auto& body) {
      const auto loop = [&](Tensor x) { return while_loop(condition, body, x); };
      if ((placed & 1) != 0)
        use(compile(loop));
      else
        use(loop);
    };
    const auto with_body = [&](const auto& condition) {
      if ((placed & 2) != 0)
        with(condition, compile(bend));
      else
        with(condition, bend);
    };
    if ((placed & 4) != 0)
      with_body(compile(is_small));
    else
      with_body(is_small);
  }
}
const Tensor& begin() {
  static const Tensor made = array<double>({0.3, 1.1, 1.4});
  return made;
}
// The same as a C++ loop, of as many steps.
Tensor bent_by_loop(Tensor x) {
  for (double at = begin().to_vector<double>()[2]; at <= 8.0; at = at * at + std::sin(at) * 0.1)
    x = x * x + sin(x) * 0.1;
  return x;
}

TEST(Jax, N163_WhileTangentsEqualTheLoopsAndAreRightToOrder2) {
  const std::tuple at(begin()), along(some({3}));
  const auto [wanted, d_wanted] = jvp(bent_by_loop, at, along);
  for_each_while([&](const auto& f) {
    const auto [y, dy] = jvp(f, at, along);
    expect_near(y, wanted, 1e-13);
    EXPECT_THAT(values(dy / d_wanted), Each(DoubleNear(1, 1e-13)));
    check_grads(f, at, {.reverse = false});
  });
}

TEST(Jax, N164_WhileTangentsThatBeginInTheLoop) {
  auto f = [](Tensor x) {
    auto body = [&](std::tuple<Tensor, Tensor, Tensor> s) {
      auto [i, a, b] = s;
      return std::tuple(i + 1, x * 2.0, a + b);
    };
    auto last = while_loop([](std::tuple<Tensor, Tensor, Tensor> s) { return std::get<0>(s) < 3; },
                           body, std::tuple(scalar(0), scalar(1.0), scalar(1.0)));
    return std::get<2>(last);
  };
  EXPECT_EQ(value(jvp(f, std::tuple(scalar(5.0)), std::tuple(scalar(1.0))).second), 4);
}

TEST(Jax, N165_WhileLinearizeEqualsTheLoops) {
  const Tensor v = some({3});
  const Tensor d_wanted = linearize(bent_by_loop, begin()).second(v);
  for_each_while([&](const auto& f) {
    const auto expect_equal = [&](const auto& f) {
      const auto [y, push] = linearize(f, begin());
      expect_near(y, bent_by_loop(begin()), 1e-13);
      EXPECT_THAT(values(push(v) / d_wanted), Each(DoubleNear(1, 1e-13)));
    };
    expect_equal(f);
    expect_equal(checkpoint(f));
  });
}

TEST(Jax, N166_ACheckpointedLoopThatSwapsItsCarriesLinearizes) {
  const auto loop = checkpoint([](Tensor x) {
    auto body = [](std::tuple<Tensor, Tensor, Tensor> s) {
      auto [i, a, b] = s;
      return std::tuple(i + 1, b, sin(a) + b);
    };
    return std::get<2>(
        while_loop([](std::tuple<Tensor, Tensor, Tensor> s) { return std::get<0>(s) < 5; }, body,
                   std::tuple(scalar(0), x, x * x), {.max_steps = 8}));
  });
  const Tensor x = scalar(0.3);
  const double slope = value(jvp(loop, std::tuple(x), std::tuple(scalar(1.0))).second);
  EXPECT_NEAR(value(linearize(loop, x).second(scalar(1.0))), slope, 1e-14);
  EXPECT_NEAR(value(grad(loop)(x)), slope, 1e-14);
}

// The sum over the steps is of the type of what they share. In bf16 it loses small parts after some
// hundreds of steps, as JAX's does; a tensor of f32 that the step casts keeps them.
TEST(NarrowSums, AreOfTheTypeOfWhatAllStepsShare) {
  constexpr int64_t kSteps = 4000, kSize = 8;
  const auto loss = [](DType dtype) {
    return [dtype](const Tensor& w) {
      const Tensor angles = reshape(arange(double(kSteps * kSize), f64), {kSteps, kSize}) * 0.37;
      const auto step = [&](const Tensor& h, const Tensor& x) {
        const Tensor next = tanh(matmul(h, w.astype(dtype)) * 0.05 + x);
        return std::pair(next, sum(next));
      };
      const Tensor ys = scan(step, zeros({kSize}, dtype), (sin(angles) + 1.0).astype(dtype)).second;
      return sum(ys.astype(f32)) / double(kSteps);
    };
  };
  const Tensor w = sin(reshape(arange(64.0, f64), {kSize, kSize})).astype(bf16);
  const Tensor want = grad(loss(f64))(w.astype(f64));
  const auto error = [&](const Tensor& got) {
    return (max(abs(got.astype(f64) - want)) / max(abs(want))).item<double>();
  };
  EXPECT_GT(error(grad(loss(bf16))(w)), 0.1);
  EXPECT_LT(error(grad(loss(bf16))(w.astype(f32))), 0.01);
}

}  // namespace
}  // namespace heddle
