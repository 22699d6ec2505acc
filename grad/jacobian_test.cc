#include "heddle/grad/jacobian.h"

#include <cmath>

#include "heddle/base/support_test.h"
#include "heddle/grad/support_test.h"
#include "heddle/trace/ops/contraction/contractions.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/run/program.h"

namespace heddle {
namespace {

using namespace grad_internal;  // NOLINT: support_test.h

struct Layer {
  Cell cell;
  int power = 2;
  std::optional<Tensor> shift;
  static constexpr auto kFields =
      fields(field("cell", &Layer::cell), static_field("power", &Layer::power),
             field("shift", &Layer::shift));
};

Cell cell() { return {some({2, 3}), some({2}, 1)}; }
Tensor x3() { return some({3}, 2); }
Tensor layer(const Cell& c, const Tensor& x) { return tanh(matmul(c.w, x) + c.b); }

// [f(x)'s sizes.., x's sizes..], a column at a time.
template <class Fn>
Tensor by_columns(const Fn& f, const Tensor& x) {
  std::vector<Tensor> columns;
  const int64_t n = x.shape().element_count();
  for (int64_t i = 0; i < n; ++i) {
    const Tensor dx = reshape(eye(n, f64)[i], x.shape().dimensions());
    columns.push_back(jvp(f, std::tuple(x), std::tuple(dx)).second);
  }
  Dimensions sizes = columns[0].shape().dimensions();
  sizes.insert(sizes.end(), x.shape().dimensions().begin(), x.shape().dimensions().end());
  return reshape(stack(columns, -1), sizes);
}

// jacrev(f, by)(args..) and jacfwd's
template <class Fn, class Check, class By, class... Args>
void in_both_modes(const Fn& f, By by, const Check& check, const Args&... args) {
  check(jacrev(f, by)(args...));
  check(jacfwd(f, by)(args...));
  check(trace(jacrev(f, by), args...)(args...));
  check(trace(jacfwd(f, by), args...)(args...));
}

TEST(Jacobian, OfATensorIsATreeLikeTheArgument) {
  const auto by_w = by_columns([](Tensor w) { return layer({w, cell().b}, x3()); }, cell().w);
  const auto by_b = by_columns([](Tensor b) { return layer({cell().w, b}, x3()); }, cell().b);
  const auto check = [&](const Cell& j) {
    expect_same(j.w, by_w);
    expect_same(j.b, by_b);
  };
  in_both_modes(layer, argnums<0>, check, cell(), x3());
  check(jacrev(layer)(cell(), x3()));
  check(jacfwd(layer)(cell(), x3()));
}

TEST(Jacobian, OfATreeByATensorIsATreeLikeTheResult) {
  const auto f = [](Tensor x) { return Layer{{outer(x, square(x)), sum(x)}, 5, exp(x)}; };
  const auto check = [&](const Layer& j) {
    expect_same(j.cell.w, by_columns([&](Tensor x) { return f(x).cell.w; }, x3()));
    expect_same(j.cell.b, ones({3}, f64));
    expect_same(*j.shift, by_columns([](Tensor x) { return exp(x); }, x3()));
    EXPECT_EQ(j.power, 5);
  };
  in_both_modes(f, argnums<0>, check, x3());
}

TEST(Jacobian, OfATreeByATreeHasATreeForEachTensor) {
  using Map = std::map<std::string, Tensor>;
  const auto f = [](const Cell& c) {
    return std::tuple(std::pair(c.w * 2, c.b), std::vector{c.b[0] * c.w[0], c.b},
                      std::array{sum(c.w)}, Map{{"m", square(c.b)}}, std::optional(c.b), None{});
  };
  const auto check = [&](const auto& j) {
    const auto& [pair, vector, array, map, optional, none] = j;
    expect_same(pair.first.w, reshape(2 * eye(6, f64), {2, 3, 2, 3}));
    expect_same(pair.first.b, zeros({2, 3, 2}, f64));
    expect_same(pair.second.w, zeros({2, 2, 3}, f64));
    expect_same(pair.second.b, eye(2, f64));
    const Cell c = cell();
    expect_same(swapaxes(vector[0].w, 0, 1)[0], c.b[0] * eye(3, f64));
    expect_same(swapaxes(vector[0].w, 0, 1)[1], zeros({3, 3}, f64));
    expect_same(vector[0].b, stack({c.w[0], zeros({3}, f64)}, -1));
    expect_same(vector[1].b, eye(2, f64));
    expect_same(array[0].w, ones({2, 3}, f64));
    expect_same(map.at("m").b, diag(2 * c.b));
    expect_same(optional->b, eye(2, f64));
    static_assert(std::is_same_v<decltype(none), const None>);
  };
  in_both_modes(f, argnums<0>, check, cell());
}

TEST(Jacobian, OfAStructByATreeIsATupleOfItsFields) {
  const auto f = [](const Cell& c) { return Layer{{c.b * 3, c.b}, 5, c.w}; };
  const auto check = [](const std::tuple<std::tuple<Cell, Cell>, std::optional<Cell>>& j) {
    const auto& [by_cell, by_shift] = j;
    expect_same(std::get<0>(by_cell).b, 3 * eye(2, f64));
    expect_same(std::get<1>(by_cell).b, eye(2, f64));
    expect_same(by_shift->w, reshape(eye(6, f64), {2, 3, 2, 3}));
  };
  in_both_modes(f, argnums<0>, check, cell());
}

TEST(Jacobian, BySeveralArgumentsIsATupleInTheOrderOfTheNumbers) {
  const auto f = [](Tensor x, Tensor n, const Cell& c) { return (c.b * n.astype(f64))[0] * x; };
  const auto check = [](const std::tuple<Cell, Tensor>& j) {
    const auto& [by_cell, by_x] = j;
    expect_same(by_cell.b, stack({3 * x3(), zeros({3}, f64)}, -1));
    expect_same(by_cell.w, zeros({3, 2, 3}, f64));
    expect_same(by_x, 3 * cell().b[0] * eye(3, f64));
  };
  in_both_modes(f, argnums<2, 0>, check, x3(), scalar(3), cell());
  const auto by_x = [](const Tensor& j) { expect_same(j, 3 * cell().b[0] * eye(3, f64)); };
  in_both_modes(f, argnums<0>, by_x, x3(), scalar(3), cell());
}

TEST(Jacobian, TakesNumbersAndFunctionsByName) {
  EXPECT_NEAR(jacfwd(sin)(1.0).item<double>(), std::cos(1.0), 1e-15);
  EXPECT_NEAR(jacrev(sin)(1.0).item<double>(), std::cos(1.0), 1e-15);
  EXPECT_NEAR(hessian(sin)(1.0).item<double>(), -std::sin(1.0), 1e-15);
}

TEST(Jacobian, HasAllResultsInOneLoop) {
  const auto f = [](const Cell& c, Tensor x) {
    auto step = [&](Tensor h, Tensor) { return std::pair(tanh(h * c.b[0] + c.w[0]), h); };
    return scan(step, x, arange(5, f64));
  };
  const auto of_one = [&](const Cell& c, Tensor x) { return f(c, x).second; };
  const auto loops = [](const auto& program) { return count_of(program.hlo_text(), " scan("); };
  EXPECT_EQ(loops(trace(f, cell(), x3())), 1u);
  EXPECT_EQ(loops(trace(jacrev(f, argnums<0, 1>), cell(), x3())),
            loops(trace(jacrev(of_one), cell(), x3())));
}

// The aux has no derivative, and needs none: it may be integers, or of a loop without an end known.
TEST(Jacobian, HasAux) {
  const auto f = [](const Cell& c, Tensor x) {
    const Tensor far = while_loop([](Tensor v) { return sum(v) < 100.0; },
                                  [](Tensor v) { return v * 2.0 + 1.0; }, square(x));
    return std::pair(std::pair(layer(c, x), c.b), std::pair(argmax(x), far));
  };
  const auto alone = [&](const Cell& c, Tensor x) { return f(c, x).first; };
  const auto want = jacrev(alone, argnums<0, 1>)(cell(), x3());
  const auto check = [&](const auto& all) {
    const auto& [j, aux] = all;
    expect_same(std::get<0>(j.first).w, std::get<0>(want.first).w);
    expect_same(std::get<1>(j.first), std::get<1>(want.first));
    expect_same(std::get<0>(j.second).b, eye(2, f64));
    expect_same(aux.first, argmax(x3()));
    expect_same(aux.second, f(cell(), x3()).second.second);
  };
  check(jacrev(f, argnums<0, 1>, has_aux)(cell(), x3()));
  check(jacfwd(f, argnums<0, 1>, has_aux)(cell(), x3()));
  check(trace(jacrev(f, argnums<0, 1>, has_aux), cell(), x3())(cell(), x3()));
  check(trace(jacfwd(f, argnums<0, 1>, has_aux), cell(), x3())(cell(), x3()));
  expect_same(jacrev(f, has_aux)(cell(), x3()).first.first.w, std::get<0>(want.first).w);
  expect_same(jacfwd(f, has_aux)(cell(), x3()).first.first.w, std::get<0>(want.first).w);
  // The Jacobian of a pair without has_aux is still that of both.
  expect_same(jacrev([](Tensor x) { return std::pair(x, 2 * x); })(x3()).second, 2 * eye(3, f64));
}

// Nothing is made for the aux: the text of the program has no array of its derivative.
TEST(Jacobian, AuxCostsNothing) {
  const auto f = [](Tensor x) { return std::pair(sum(square(x)), sin(outer(x, ones({7}, f64)))); };
  for (const bool is_reverse : {true, false}) {
    const std::string text = is_reverse ? trace(jacrev(f, has_aux), x3()).hlo_text()
                                        : trace(jacfwd(f, has_aux), x3()).hlo_text();
    EXPECT_EQ(count_of(text, "cosine("), 0u) << text;
    EXPECT_EQ(count_of(text, "f64[3,3,7]"), 0u) << text;
    EXPECT_EQ(count_of(text, "f64[1,3,7]"), 0u) << text;
  }
}

TEST(Jacobian, OfNoNumbersIsEmpty) {
  const auto f = [](const Cell& c) { return std::pair(c.w, c.b); };
  const auto check = [](const std::pair<Cell, Cell>& j) {
    EXPECT_EQ(j.first.w.shape().dimensions(), (Dimensions{0, 2, 0, 2}));
    EXPECT_EQ(j.second.w.shape().dimensions(), (Dimensions{2, 0, 2}));
    expect_same(j.second.b, eye(2, f64));
  };
  in_both_modes(f, argnums<0>, check, Cell{zeros({0, 2}, f64), some({2})});
}

TEST(Jacobian, NestsAndCapturesInsideOfTransforms) {
  const auto f = [](const Cell& c) { return c.b * c.b * sum(c.w); };
  const auto twice = jacfwd(jacrev(f))(cell());  // by w, by b: each of w and b
  const auto& [first_by_w, first_by_b] = twice;
  expect_same(first_by_b.w, jacrev([&](Tensor w) {
                return jacrev([&](Tensor b) { return f({w, b}); })(cell().b);
              })(cell().w));
  expect_same(first_by_w.b, jacrev([&](Tensor b) {
                return jacrev([&](Tensor w) { return f({w, b}); })(cell().w);
              })(cell().b));
  // d/ds of the trace of db'/db
  const auto slope = [&](Tensor s) {
    return sum(diag(jacrev([&](const Cell& c) { return f(c) * s; })(cell()).b));
  };
  EXPECT_NEAR(grad(slope)(scalar(2.0)).item<double>(), slope(scalar(1.0)).item<double>(), 1e-14);
  const auto many = vmap(jacfwd(f))(Cell{some({4, 2, 3}), some({4, 2})});
  expect_same(many.w[1], jacfwd(f)(Cell{some({4, 2, 3})[1], some({4, 2})[1]}).w);
}

// (w0 b)^2 / 2: second derivatives b^2, 2 w0 b, w0^2.
TEST(Hessian, OfATreeIsATreeOfTrees) {
  const auto f = [](const Cell& c) { return square(c.w[0] * c.b) / 2; };
  const Cell at{array({3.0, 7.0}), scalar(2.0)};
  for (bool traced : {false, true}) {
    const auto [w, b] = traced ? trace(hessian(f), at)(at) : hessian(f)(at);
    EXPECT_THAT(values(w.w), ElementsAre(4, 0, 0, 0));
    EXPECT_THAT(values(w.b), ElementsAre(12, 0));
    EXPECT_THAT(values(b.w), ElementsAre(12, 0));
    EXPECT_THAT(values(b.b), ElementsAre(9));
  }
}

TEST(Hessian, BySeveralArgumentsIsATupleOfTuples) {
  const auto f = [](Tensor x, Tensor n, Tensor y) { return x * x * y * n.astype(f64); };
  const auto [y, x] = hessian(f, argnums<2, 0>)(scalar(3.0), 2, scalar(5.0));
  EXPECT_EQ(std::get<0>(y).item<double>(), 0);
  EXPECT_EQ(std::get<1>(y).item<double>(), 12);
  EXPECT_EQ(std::get<0>(x).item<double>(), 12);
  EXPECT_EQ(std::get<1>(x).item<double>(), 20);
  EXPECT_EQ(hessian(f, argnums<0>)(scalar(3.0), 2, scalar(5.0)).item<double>(), 20);
}

TEST(Hessian, HasAuxWhereTheLossHas) {
  const auto f = [](Tensor x, Tensor y) {
    return std::pair(x * x * y, std::map<std::string, Tensor>{{"twice", 2 * x}});
  };
  const Tensor x = scalar(3.0), y = scalar(5.0);
  for (bool traced : {false, true}) {
    const auto [h, aux] = traced ? trace(hessian(f), x, y)(x, y) : hessian(f)(x, y);
    EXPECT_EQ(h.item<double>(), 10);
    EXPECT_EQ(aux.at("twice").item<double>(), 6);
  }
  const auto both = hessian(f, argnums<0, 1>)(x, y);
  EXPECT_EQ(std::get<1>(std::get<0>(both.first)).item<double>(), 6);
  EXPECT_EQ(both.second.at("twice").item<double>(), 6);
}

TEST(JacobianError, NamesTheLeafThatIsNotReal) {
  const auto of_complex = [](const Cell& c) { return std::pair(c.w, c.b.astype(c128)); };
  EXPECT_THAT(error_of([&] { return jacrev(of_complex)(cell()); }),
              StartsWith("jacrev: the result[1] is c128[2]; it must be real: take"));
  const auto of_integers = [](const Cell& c) { return Cell{c.w, c.b.astype(s32)}; };
  EXPECT_THAT(error_of([&] { return jacrev(of_integers)(cell()); }),
              StartsWith("jacrev: the result.b is s32[2], which has no derivative; cast it"));
  const auto f = [](Tensor x, const Cell& c) { return x * sum(real(c.b)); };
  const Cell integers{some({1}), array({1, 2})};
  EXPECT_THAT(error_of([&] { return jacfwd(f, argnums<1>)(x3(), integers); }),
              StartsWith("jacfwd: arg1.b is s32[2], which has no derivative; cast it to floats"));
  EXPECT_THAT(error_of([&] { return jacrev(f, argnums<0, 1>)(x3(), integers); }),
              StartsWith("jacrev: arg1.b is s32[2], which has no derivative; cast it to floats"));
  const Cell complex{some({1}), some({2}).astype(c128)};
  EXPECT_THAT(error_of([&] { return jacfwd(f, argnums<1>)(x3(), complex); }),
              StartsWith("jacfwd: arg1.b is c128[2]; it must be real: take the Jacobian of"));
  EXPECT_THAT(error_of([&] {
                return jacfwd(f, argnums<1>)(x3(), Cell{some({1}), {}});
              }),
              StartsWith("jacfwd: arg1.b has no value"));
}

}  // namespace
}  // namespace heddle
