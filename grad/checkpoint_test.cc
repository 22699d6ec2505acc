// Tests of what the way back through loops keeps and sums: checkpoints, the split transpose, all
// steps at once.
#include "heddle/grad/checkpoint.h"

#include "heddle/base/support_test.h"
#include "heddle/grad/support_test.h"
#include "heddle/grad/vmap.h"
#include "heddle/numpy/math.h"
#include "heddle/trace/ops/contraction/contractions.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/run/program.h"

namespace heddle {
namespace {

using namespace grad_internal;  // NOLINT: support_test.h

TEST(Checkpoint, GivesTheSameGradient) {
  auto step = [](const Cell& cell, Tensor h, Tensor x) {
    return tanh(matmul(concat({x, h}, -1), cell.w) + cell.b);
  };
  auto loss = [](auto step) {
    return [=](const Cell& cell, Tensor h0, Tensor xs) {
      auto one = [&](Tensor h, Tensor x) { return std::pair(step(cell, h, x), None{}); };
      return mean(square(scan(one, h0, xs).first));
    };
  };
  const Cell cell{some({5, 3}), some({3})};
  const Tensor h0 = some({2, 3}, 1), xs = some({4, 2, 2}, 2);
  const Cell plain = grad(loss(step))(cell, h0, xs);
  const Cell kept = grad(loss(checkpoint(step)))(cell, h0, xs);
  EXPECT_THAT(values(kept.w), Pointwise(DoubleNear(1e-15), values(plain.w)));
  check_grads(loss(checkpoint(step)), std::tuple(cell, h0, xs));
}

TEST(Checkpoint, StacksTheCarryAlone) {
  auto step = checkpoint(
      [](Tensor w, Tensor h, Tensor x) { return sin(exp(tanh(matmul(w, h)) * x)) * cos(h); });
  auto f = [&](Tensor w, Tensor h, Tensor xs) {
    auto one = [&](Tensor h, Tensor x) { return std::pair(step(w, h, x), None{}); };
    return sum(scan(one, h, xs).first);
  };
  auto p = trace(grad(f), some({4, 4}), some({4}), some({9, 4}));
  EXPECT_THAT(p.hlo_text(), HasSubstr("= (f64[9,4]{1,0}, f64[4]{0}, f64[4,4]{1,0}) scan("));
}

TEST(Checkpoint, PoliciesSayWhatIsKept) {
  using namespace checkpoint_policies;  // NOLINT: the names under test
  const Tensor w1 = some({4, 4}), w2 = some({4, 4}, 1), x = some({4}, 2);
  const auto net = [&](Tensor x) {
    const Tensor h = checkpoint_name(sin(matmul(w1, x)), "hidden");
    return sum(sin(checkpoint_name(matmul(w2, cos(h)), "out")));
  };
  struct Ops {
    size_t dots, sines;
  };
  const std::vector<double> want = values(grad(net)(x));
  const auto ops = [&](const CheckpointPolicy& policy) {
    const auto kept = checkpoint(net, {.policy = policy});
    EXPECT_THAT(values(grad(kept)(x)), Pointwise(DoubleNear(1e-15), want));
    check_grads(kept, std::tuple(x));
    const std::string text = trace(value_and_grad(kept), x).hlo_text();
    return Ops{count_of(text, " dot("), count_of(text, " sine(")};
  };
  // Two dots and two more on the way back. sin(h) is the derivative of cos(h).
  EXPECT_EQ(ops(everything_saveable()).dots, 4U);
  EXPECT_EQ(ops(nothing_saveable()).dots, 6U);
  EXPECT_EQ(ops(dots_saveable()).dots, 4U);
  EXPECT_EQ(ops(dots_with_no_batch_dims_saveable()).dots, 4U);
  EXPECT_EQ(ops(nothing_saveable()).sines, ops(dots_saveable()).sines);
  EXPECT_EQ(ops(save_only_these_names({"hidden"})).dots, 6U);
  EXPECT_LT(ops(save_only_these_names({"hidden"})).sines, ops(nothing_saveable()).sines);
  EXPECT_EQ(ops(save_only_these_names({"out"})).dots, 5U);
  EXPECT_EQ(ops(save_any_names_but_these({"hidden"})).dots, 5U);
  EXPECT_EQ(ops(save_only_these_names({"hidden", "out"})).dots, 5U);
}

TEST(Checkpoint, APolicyOfAnotherNameIsAnError) {
  EXPECT_THAT(error_of([] { return CheckpointPolicy("dots_saveable"); }),
              StartsWith("CheckpointPolicy: the text is \"dots_saveable\"; it must be the text() "
                         "of a policy; take one of checkpoint_policies, such as "
                         "checkpoint_policies::dots_saveable() [checkpoint_test.cc:"));
  const CheckpointPolicy names = checkpoint_policies::save_only_these_names({"a"});
  EXPECT_EQ(CheckpointPolicy(names.text()).text(), names.text());
}

TEST(Checkpoint, PoliciesHoldInStepsAndLanes) {
  const Tensor w = some({4, 4});
  const auto step = checkpoint(
      [](Tensor w, Tensor h, Tensor x) { return sin(exp(tanh(matmul(w, h)) * x)) * cos(h); },
      {.policy = checkpoint_policies::dots_saveable()});
  const auto f = [&](Tensor w, Tensor h, Tensor xs) {
    const auto one = [&](Tensor h, Tensor x) { return std::pair(step(w, h, x), None{}); };
    return sum(scan(one, h, xs).first);
  };
  const Tensor h = some({4}), xs = some({9, 4});
  check_grads(f, std::tuple(w, h, xs));
  // The carries and the products.
  EXPECT_THAT(trace(grad(f), w, h, xs).hlo_text(),
              HasSubstr("= (f64[9,4]{1,0}, f64[9,4]{1,0}, f64[4]{0}, f64[4,4]{1,0}) scan("));
  const auto named = checkpoint([](Tensor x) { return sum(sin(checkpoint_name(exp(x), "e"))); },
                                {.policy = checkpoint_policies::save_only_these_names({"e"})});
  const std::string text = trace(vmap(grad(named)), xs).hlo_text();
  EXPECT_EQ(count_of(text, " exponential("), 1U);
}

TEST(Checkpoint, RefusesNamesThatAreNone) {
  EXPECT_THAT(
      error_of([] { return checkpoint_name(some({3}), "a,b"); }),
      HasSubstr("checkpoint_name: the name is \"a,b\"; it must have letters, and no comma"));
}

// A weight that all steps use: its gradient is one product after the loop.
TEST(SplitTranspose, SumsOverStepsInOneProduct) {
  const auto step = [](const Cell& cell, Tensor h, Tensor x) {
    return tanh(matmul(concat({x, h}, -1), cell.w) + cell.b);
  };
  const auto loss = [&](const Cell& cell, Tensor h0, Tensor xs) {
    const auto one = [&](Tensor h, Tensor x) { return std::pair(step(cell, h, x), h); };
    const auto [h, hs] = scan(one, h0, xs);
    return mean(square(h)) + mean(hs);
  };
  // The same sums in the loop: a step of its own for each.
  const auto unrolled = [&](const Cell& cell, Tensor h, Tensor xs) {
    Tensor all = scalar(0.0);
    for (int64_t t = 0; t < xs.dim(0); ++t) {
      all = all + mean(h);
      h = step(cell, h, xs[t]);
    }
    return mean(square(h)) + all / static_cast<double>(xs.dim(0));
  };
  const Cell cell{some({48, 32}), some({32})};
  for (const bool has_batch : {false, true}) {
    const Tensor h0 = has_batch ? some({2, 32}, 1) : some({32}, 1);
    const Tensor xs = has_batch ? some({5, 2, 16}, 2) : some({5, 16}, 2);
    const auto of_all = argnums<0, 1, 2>;
    const auto got = grad(loss, of_all)(cell, h0, xs), want = grad(unrolled, of_all)(cell, h0, xs);
    EXPECT_THAT(values(std::get<0>(got).w),
                Pointwise(DoubleNear(1e-13), values(std::get<0>(want).w)));
    EXPECT_THAT(values(std::get<0>(got).b),
                Pointwise(DoubleNear(1e-13), values(std::get<0>(want).b)));
    EXPECT_THAT(values(std::get<1>(got)), Pointwise(DoubleNear(1e-13), values(std::get<1>(want))));
    EXPECT_THAT(values(std::get<2>(got)), Pointwise(DoubleNear(1e-13), values(std::get<2>(want))));
    // The way back passes w on, and has no sum of its size.
    const std::string text = trace(grad(loss), cell, h0, xs).hlo_text();
    const size_t back = text.rfind(" scan(");
    const std::string type = text.substr(text.rfind('\n', back), back - text.rfind('\n', back));
    EXPECT_EQ(count_of(type, "f64[48,32]") + count_of(type, "f64[32,48]"), 1U) << type;
    check_grads(loss, std::tuple(cell, h0, xs), {.order = 1});
  }
}

TEST(SplitTranspose, SmallSumsStayInTheLoop) {
  const auto loss = [](Tensor w, Tensor h0) {
    const auto one = [&](Tensor h, None) { return std::pair(tanh(matmul(w, h)), None{}); };
    return sum(scan(one, h0, None{}, {.length = 4}).first);
  };
  const Tensor w = some({3, 3}), h = some({3}, 1);
  const std::string text = trace(grad(loss), w, h).hlo_text();
  EXPECT_EQ(count_of(text, " dot("), 3U) << text;  // all in steps
  check_grads(loss, std::tuple(w, h));
}

TEST(ParallelBackward, GivesWhatTheLoopGives) {
  for (const int64_t length : {0, 1, 2, 3, 7, 8}) {
    for (const bool reverse : {false, true}) {
      const auto loss = [&](bool parallel) {
        return [&, parallel](const Cell& cell, std::pair<Tensor, Tensor> h0, Tensor xs) {
          const auto one = [&](std::pair<Tensor, Tensor> h, Tensor x) {
            const Tensor a = tanh(matmul(cell.w, h.first) + cell.b * x + h.second);
            return std::pair(std::pair(a, h.second * 0.5 + sum(h.first)), sin(a) * x);
          };
          const auto [h, ys] =
              scan(one, h0, xs, {.reverse = reverse, .parallel_backward = parallel});
          return sum(h.first) + square(h.second) + sum(ys * ys);
        };
      };
      const Cell cell{some({3, 3}), some({3})};
      const std::pair h0(some({3}, 1), scalar(0.3));
      const Tensor xs = some({length}, 2);
      const auto of_all = argnums<0, 1, 2>;
      const auto got = grad(loss(true), of_all)(cell, h0, xs);
      const auto want = grad(loss(false), of_all)(cell, h0, xs);
      const auto near = [](const Tensor& a, const Tensor& b) {
        EXPECT_THAT(values(a), Pointwise(DoubleNear(1e-12), values(b)));
      };
      near(std::get<0>(got).w, std::get<0>(want).w);
      near(std::get<0>(got).b, std::get<0>(want).b);
      near(std::get<1>(got).first, std::get<1>(want).first);
      near(std::get<1>(got).second, std::get<1>(want).second);
      near(std::get<2>(got), std::get<2>(want));
      if (length == 7) check_grads(loss(true), std::tuple(cell, h0, xs));
    }
  }
}

// A step that is linear over the real numbers alone, as conj and abs are.
TEST(ParallelBackward, OfComplexCarries) {
  const auto loss = [](bool parallel) {
    return [parallel](Tensor z, Tensor w) {
      const auto one = [&](Tensor c, None) {
        const Tensor turned = conj(c) * w + exp(c * 0.1) / complex(abs(c) + 1.0, scalar(0.5));
        return std::pair(turned, real(c));
      };
      const auto [end, path] = scan(one, z, None{}, {.length = 5, .parallel_backward = parallel});
      return sum(abs(end)) + sum(path * path);
    };
  };
  const Tensor z = complex(some({3}), some({3}, 1)), w = complex(some({3}, 2), some({3}, 3));
  const auto got = grad(loss(true), argnums<0, 1>)(z, w);
  const auto want = grad(loss(false), argnums<0, 1>)(z, w);
  const auto near = [](const Tensor& a, const Tensor& b) {
    EXPECT_THAT(values(real(a)), Pointwise(DoubleNear(1e-12), values(real(b))));
    EXPECT_THAT(values(imag(a)), Pointwise(DoubleNear(1e-12), values(imag(b))));
  };
  near(std::get<0>(got), std::get<0>(want));
  near(std::get<1>(got), std::get<1>(want));
  check_grads(loss(true), std::tuple(z, w));
}

// The cotangent of a matrix that all steps use is one product after them, not a matrix for each.
TEST(ParallelBackward, SumsProductsOfAllStepsAtOnce) {
  const auto loss = [](bool parallel, int64_t axis) {
    return [parallel, axis](Tensor w, Tensor u, Tensor xs) {
      const auto one = [&](Tensor h, Tensor x) {
        h = tanh(matmul(u, h) + matmul(w, x));
        return std::pair(h, square(h));
      };
      const auto [h, ys] =
          scan(one, zeros({8}, f64), xs, {.axis = axis, .parallel_backward = parallel});
      return sum(h) + sum(ys);
    };
  };
  const Tensor w = some({8, 160}), u = some({8, 8}, 1), xs = some({11, 160}, 2);
  const auto of_all = argnums<0, 1, 2>;
  for (const int64_t axis : {0, 1}) {
    const Tensor each = axis == 0 ? xs : swapaxes(xs, 0, 1);
    const auto gradient = grad(loss(true, axis), of_all);
    EXPECT_THAT(trace(gradient, w, u, each).hlo_text(), Not(HasSubstr("f64[11,8,160]")));
    const auto got = gradient(w, u, each), want = grad(loss(false, axis), of_all)(w, u, each);
    expect_same(std::get<0>(got), std::get<0>(want));
    expect_same(std::get<1>(got), std::get<1>(want));
    expect_same(std::get<2>(got), std::get<2>(want));
  }
  expect_same(hessian(loss(true, 0), argnums<1>)(w, u, xs),
              hessian(loss(false, 0), argnums<1>)(w, u, xs));
}

// The cotangent of a table whose elements steps read is written in place.
TEST(ParallelBackward, WritesPartsOfABigSumInTurn) {
  const auto loss = [](bool parallel) {
    return [parallel](Tensor table, Tensor start, Tensor places) {
      const auto one = [&](std::pair<Tensor, Tensor> h, Tensor at) {
        const auto inner = [&](Tensor i, Tensor sum) { return sum + table[at + i] * sum; };
        const Tensor next = sin(h.first + table[at] * fori_loop(0, 3, inner, h.second));
        return std::pair(std::pair(next, h.second * cos(next)), next * sum(table) * 1e-3);
      };
      const auto [h, ys] =
          scan(one, std::pair(start, start), places, {.parallel_backward = parallel});
      return h.second + sum(ys * ys);
    };
  };
  const Tensor table = some({1100}), places = array<int>({5, 1000, 5, 6, 0});
  const auto of_both = argnums<0, 1>;
  const auto gradient = grad(loss(true), of_both);
  const std::string text = trace(gradient, table, scalar(0.4), places).hlo_text();
  EXPECT_THAT(text, Not(HasSubstr("f64[5,1100]")));
  const auto got = gradient(table, scalar(0.4), places);
  const auto want = grad(loss(false), of_both)(table, scalar(0.4), places);
  expect_same(std::get<0>(got), std::get<0>(want));
  expect_same(std::get<1>(got), std::get<1>(want));
  check_grads(loss(true), std::tuple(table, 0.4, places));
}

TEST(ParallelBackward, HasNoLoopBackAndSaysWhereItDoesNotFit) {
  const auto loss = [](Tensor a, Tensor x) {
    const auto one = [&](Tensor h, Tensor x) { return std::pair(a * h + x, None{}); };
    return sum(scan(one, zeros_like(x[0]), x, {.parallel_backward = true}).first);
  };
  EXPECT_EQ(count_of(trace(grad(loss), scalar(0.5), some({9, 4})).hlo_text(), " scan("), 1U);
  EXPECT_THAT(error_of([&] {
                return grad(loss)(scalar(0.5), some({9, 65}));
              }),
              HasSubstr("parallel_backward: the carries have 65 numbers, those of all lanes of a "
                        "vmap together; at most 64 are worth a Jacobian for each step"));
  const auto lanes = [&](Tensor a) {
    return sum(vmap([&](Tensor each) { return loss(each, some({9, 4})); })(a));
  };
  const Tensor a = some({5});
  EXPECT_EQ(count_of(trace(grad(lanes), a).hlo_text(), " scan("), 1U);
  EXPECT_THAT(values(grad(lanes)(a)), Pointwise(DoubleNear(1e-12), values(vmap([&](Tensor each) {
                                                  return grad(loss)(each, some({9, 4}));
                                                })(a))));
  const auto both = [](Tensor x) {
    const auto one = [&](Tensor h, Tensor x) { return std::pair(h + x, None{}); };
    return scan(one, scalar(0.0), x, {.checkpoint = every(2), .parallel_backward = true}).first;
  };
  EXPECT_THAT(error_of([&] { return both(some({9})); }),
              HasSubstr("scan: has both checkpoint and parallel_backward"));
}

}  // namespace
}  // namespace heddle
