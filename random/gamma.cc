// Gamma samples by rejection, and distributions that use them. All elements go through the loops
// together; an accepted one keeps its values while the others try again.
#include "heddle/special/gamma.h"

#include <cmath>
#include <numbers>

#include "heddle/numpy/float_limits.h"
#include "heddle/random/continuous.h"
#include "heddle/random/internal/sampling.h"
#include "heddle/scan/loops.h"
#include "heddle/scan/own_rule.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/public_call.h"

namespace heddle::random {
namespace {

using trace_internal::any_of;
using Parameters = std::span<const Expr>;

Tensor choose(const Expr& condition, const Expr& x, const Tensor& otherwise) {
  return where(condition, x, Expr(otherwise)).tensor();
}

// v = 1 + c x of a normal x, once it is positive.
struct Cube {
  Tensor key_a, key_b;  // u32[n]
  Tensor x, v;          // [n]
  static constexpr auto kFields = fields(field("key_a", &Cube::key_a), field("key_b", &Cube::key_b),
                                         field("x", &Cube::x), field("v", &Cube::v));
};

Cube positive_cube(const Words& keys, const Expr& c, const Options& options) {
  auto negative = [&](const Cube& s) { return (Expr(s.v) <= 0.0); };
  auto running = [&](const Cube& s) { return any_of(negative(s)).tensor(); };
  auto step = [&](const Cube& s) {
    Expr retry = negative(s);
    std::vector<Words> next = split_each({s.key_a, s.key_b}, 2, options);
    Expr x = normal_of({next[1], {}, c.dtype(), options});
    return Cube{choose(retry, next[0].a, s.key_a), choose(retry, next[0].b, s.key_b),
                choose(retry, x, s.x), choose(retry, 1.0 + x * c, s.v)};
  };
  return while_loop(
      running, step,
      Cube{keys.a.tensor(), keys.b.tensor(), c.like(0.0).tensor(), c.like(-1.0).tensor()});
}

struct Proposal {
  Tensor key_a, key_b;  // u32[n]
  Tensor x2, v3, u;     // [n]: x^2, v^3, and the uniform number that decides
  static constexpr auto kFields =
      fields(field("key_a", &Proposal::key_a), field("key_b", &Proposal::key_b),
             field("x2", &Proposal::x2), field("v3", &Proposal::v3), field("u", &Proposal::u));
};

// v^3 of the accepted proposals, for the shape d + 1/3, with c = 1 / (3 sqrt(d)).
Expr accepted_cubes(const Words& keys, const Expr& d, const Expr& c, const Options& options) {
  auto rejected = [&](const Proposal& s) {
    Expr x2(s.x2), v3(s.v3), u(s.u);
    Expr outside_squeeze = u >= 1.0 - 0.0331 * (x2 * x2);
    return outside_squeeze & (log(u) >= x2 * 0.5 + d * ((1.0 - v3) + log(v3)));
  };
  auto running = [&](const Proposal& s) { return any_of(rejected(s)).tensor(); };
  auto step = [&](const Proposal& s) {
    Expr retry = rejected(s);
    std::vector<Words> next = split_each({s.key_a, s.key_b}, 3, options);
    Cube cube = positive_cube(next[1], c, options);
    Expr x(cube.x), v(cube.v);
    Expr u = uniform_of({next[2], {}, d.dtype(), options});
    return Proposal{choose(retry, next[0].a, s.key_a), choose(retry, next[0].b, s.key_b),
                    choose(retry, x * x, s.x2), choose(retry, v * v * v, s.v3),
                    choose(retry, u, s.u)};
  };
  // A start that is rejected everywhere.
  Proposal start{keys.a.tensor(), keys.b.tensor(), d.like(0.0).tensor(), d.like(1.0).tensor(),
                 d.like(2.0).tensor()};
  return Expr(while_loop(running, step, start).v3);
}

// Marsaglia and Tsang's method needs a >= 1. A smaller a is raised by 1, and the sample multiplied
// by u^(1/a).
Expr gamma_of_each(const Words& keys, const Expr& a, bool log_space, const Options& options) {
  Expr large = a >= 1.0;
  Expr d = where(large, a, a + 1.0) - 1.0 / 3.0;
  Expr c = (1.0 / 3.0) / sqrt(d);
  std::vector<Words> words = split_each(keys, 2, options);
  Expr v3 = accepted_cubes(words[0], d, c, options);
  Request last{words[1], {}, a.dtype(), options};
  if (!log_space) {
    Expr boost = where(large, 1.0, power(1.0 - uniform_of(last), 1.0 / a));
    return d * v3 * boost;
  }
  Expr log_u = -exponential_of(last);
  Expr boost = where(large | (log_u == 0.0), 0.0, log_u * (1.0 / a));
  return log(d) + log(v3) + boost;
}

// The derivative of a sample by a: that of the inverse of the distribution function. The tangent of
// the loop would be biased, since it does not see which candidates are rejected.
// source: M. Figurnov, S. Mohamed and A. Mnih, Implicit reparameterization gradients (2018)
Expr slope_of(const Expr& a, const Expr& sample, bool log_space) {
  if (!log_space) return special::random_gamma_grad(a.operand(), sample.operand());
  const Expr size = exp(sample);
  const Expr safe = where(size == 0.0, float_limits(a.dtype()).smallest_normal, size);
  return Expr(special::random_gamma_grad(a.operand(), safe.operand())) / safe;
}

// Samples of any shape: each element draws from its own key. r.shape is a's shape.
Expr gamma_of(const Request& r, const Expr& a, bool log_space) {
  int64_t count = a.tensor().size();
  Expr flat = reshape(a.operand(), {count});
  const Words keys = split_many(r.words, count, r.options);
  const auto draw = [&](std::span<const Tensor> x) {
    return gamma_of_each({x[0], x[1]}, x[2], log_space, r.options).tensor();
  };
  const auto rule = [&](std::span<const Tensor> x, const Tensor& y, std::span<const Tensor> dx) {
    return (slope_of(x[2], y, log_space) * Expr(dx[2])).tensor();
  };
  const Tensor out = scan_internal::with_rule(
      "random::gamma", {keys.a.tensor(), keys.b.tensor(), flat.tensor()}, draw, rule);
  return reshape(out, a.dimensions());
}

Expr chisquare_of(const Request& r, const Expr& df) {
  return exp(gamma_of(r, df / 2.0, true)) * 2.0;
}

Expr beta_of(const Request& r, const Expr& a, const Expr& b) {
  std::vector<Words> keys = r.split(2);
  Expr log_a = gamma_of(r.of(keys[0]), a, true);
  Expr log_b = gamma_of(r.of(keys[1]), b, true);
  Expr top = maximum(log_a, log_b);
  Expr share = exp(log_a - top);
  return share / (share + exp(log_b - top));
}

Expr f_of(const Request& r, const Expr& dfnum, const Expr& dfden) {
  std::vector<Words> keys = r.split(2);
  Expr above = chisquare_of(r.of(keys[1]), dfnum) / dfnum;
  return above / (chisquare_of(r.of(keys[0]), dfden) / dfden);
}

Expr t_of(const Request& r, const Expr& df) {
  std::vector<Words> keys = r.split(2);
  Expr half = df / 2.0;
  return normal_of(r.of(keys[0])) * sqrt(half / gamma_of(r.of(keys[1]), half, false));
}

Expr generalized_normal_of(const Request& r, double p) {
  std::vector<Words> keys = r.split(2);
  Expr a = full(r.shape, 1 / p, r.dtype);
  Expr size = power(gamma_of(r.of(keys[0]), a, false), 1 / p);
  return rademacher_of(r.of(keys[1])) * size;
}

Expr ball_of(const Request& r, int64_t d, double p) {
  std::vector<Words> keys = r.split(2);
  Dimensions sizes = r.shape;
  sizes.push_back(d);
  Expr g = generalized_normal_of(r.of(keys[0], sizes), p);
  Expr e = exponential_of(r.of(keys[1]));
  Expr powers = power(abs(g), p);
  Expr length = power(Expr(sum(powers.operand(), {.axes = {-1}})) + e, 1 / p);
  return g / Expr(expand_dims(length.operand(), -1));
}

}  // namespace

Tensor gamma(Operand key, Parameter a, const base::Ints& shape, DType dtype,
             const Options& options) {
  return sample("random::gamma", key, {{"a", a, Domain::kNotNegative}}, shape, dtype, options,
                [](const Request& r, Parameters p) { return gamma_of(r, p[0], false); });
}

Tensor loggamma(Operand key, Parameter a, const base::Ints& shape, DType dtype,
                const Options& options) {
  return sample("random::loggamma", key, {{"a", a, Domain::kNotNegative}}, shape, dtype, options,
                [](const Request& r, Parameters p) { return gamma_of(r, p[0], true); });
}

Tensor beta(Operand key, Parameter a, Parameter b, const base::Ints& shape, DType dtype,
            const Options& options) {
  return sample("random::beta", key, {{"a", a, Domain::kPositive}, {"b", b, Domain::kPositive}},
                shape, dtype, options,
                [](const Request& r, Parameters p) { return beta_of(r, p[0], p[1]); });
}

Tensor chisquare(Operand key, Parameter df, const base::Ints& shape, DType dtype,
                 const Options& options) {
  return sample("random::chisquare", key, {{"df", df, Domain::kPositive}}, shape, dtype, options,
                [](const Request& r, Parameters p) { return chisquare_of(r, p[0]); });
}

Tensor f(Operand key, Parameter dfnum, Parameter dfden, const base::Ints& shape, DType dtype,
         const Options& options) {
  return sample("random::f", key,
                {{"dfnum", dfnum, Domain::kPositive}, {"dfden", dfden, Domain::kPositive}}, shape,
                dtype, options, [](const Request& r, Parameters p) { return f_of(r, p[0], p[1]); });
}

Tensor t(Operand key, Parameter df, const base::Ints& shape, DType dtype, const Options& options) {
  return sample("random::t", key, {{"df", df, Domain::kPositive}}, shape, dtype, options,
                [](const Request& r, Parameters p) { return t_of(r, p[0]); });
}

Tensor generalized_normal(Operand key, double p, const base::Ints& shape, DType dtype,
                          const Options& options) {
  const PublicCall call("random::generalized_normal", key.at());
  random_internal::require_in(Domain::kPositive, "p", p);
  return sample("random::generalized_normal", key, shape, dtype, options,
                [p](const Request& r) { return generalized_normal_of(r, p); });
}

Tensor ball(Operand key, base::Int d, double p, const base::Ints& shape, DType dtype,
            const Options& options) {
  const PublicCall call("random::ball", key.at());
  random_internal::require_in(Domain::kPositive, "p", p);
  return sample("random::ball", key, shape, dtype, options,
                [d, p](const Request& r) { return ball_of(r, d, p); });
}

Tensor dirichlet(Operand key, Parameter alpha, const base::Ints& shape, DType dtype,
                 const Options& options) {
  const PublicCall call("random::dirichlet", key.at());
  Tensor given = as_tensor(alpha);
  if (given.rank() == 0)
    trace_internal::refuse("alpha is ", given.shape(),
                           "; it must have rank 1 or more, its last axis the categories");
  Dimensions sizes = shape;
  if (!sizes.empty()) sizes.push_back(given.dim(-1));
  return sample("random::dirichlet", key, {{"alpha", alpha}}, sizes, dtype, options,
                [](const Request& r, Parameters p) {
                  Expr logs = gamma_of(r, p[0], true);
                  return Expr(softmax(logs.operand(), -1));
                });
}

}  // namespace heddle::random
