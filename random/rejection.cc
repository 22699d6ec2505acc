// Small counts by inversion, large ones by rejection. All elements go through both loops, with a
// harmless parameter in the loop that is not theirs.
#include <cmath>

#include "heddle/random/discrete.h"
#include "heddle/random/internal/sampling.h"
#include "heddle/scan/loops.h"
#include "heddle/special/gamma.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/public_call.h"

namespace heddle::random {
namespace {

using trace_internal::any_of;
using Parameters = std::span<const Expr>;

// A loop's key and two arrays of the sample's shape.
struct Counting {
  Tensor key;    // u32[2]
  Tensor count;  // floats
  Tensor total;  // floats, or pred: accepted
  static constexpr auto kFields =
      fields(field("key", &Counting::key), field("count", &Counting::count),
             field("total", &Counting::total));
};

Words words_in(const Counting& s) { return words_of(s.key); }

// Knuth's method: the number of uniform numbers until their product falls to e^-lam, in logarithms.
Expr poisson_by_product(const Request& r, const Expr& lam) {
  auto below = [&](const Counting& s) { return Expr(s.total) > -lam; };
  auto running = [&](const Counting& s) { return any_of(below(s)).tensor(); };
  auto step = [&](const Counting& s) {
    std::vector<Words> keys = split_each(words_in(s), 2, r.options);
    Expr count = Expr(s.count) + below(s).astype(s.count.dtype());
    Expr total = Expr(s.total) + log(uniform_of(r.of(keys[1])));
    return Counting{key_of(keys[0]), count.tensor(), total.tensor()};
  };
  Tensor zero = lam.like(0.0).tensor();
  Counting start{key_of(r.words), zeros(lam.dimensions(), s32), zero};
  return Expr(while_loop(running, step, start).count) - 1;
}

// Whether a proposal of Hoermann's two rejection methods is accepted, and its count.
struct HatProposal {
  Expr count, taken;
};

// Draws until all are accepted; `propose` has u in [-1/2, 1/2), 1/2 - |u| and v in [0, 1).
using Propose = base::FunctionRef<HatProposal(const Expr& u, const Expr& us, const Expr& v)>;
Expr accepted_counts(const Request& r, const Expr& like, Propose propose) {
  auto running = [&](const Counting& s) { return any_of(~Expr(s.total)).tensor(); };
  auto step = [&](const Counting& s) {
    std::vector<Words> keys = split_each(words_in(s), 3, r.options);
    Expr u = uniform_of(r.of(keys[1])) - 0.5;
    Expr v = uniform_of(r.of(keys[2]));
    HatProposal p = propose(u, 0.5 - abs(u), v);
    Expr count = where(p.taken, p.count, Expr(s.count));
    return Counting{key_of(keys[0]), count.tensor(), (Expr(s.total) | p.taken).tensor()};
  };
  Counting start{key_of(r.words), like.like(-1.0).tensor(), (like != like).tensor()};
  return Expr(while_loop(running, step, start).count);
}

Expr lgamma_of(const Expr& x) { return special::lgamma(x.operand()); }

Expr poisson_by_rejection(const Request& r, const Expr& lam) {
  Expr log_lam = log(lam);
  Expr b = 0.931 + 2.53 * sqrt(lam);
  Expr a = -0.059 + 0.02483 * b;
  Expr inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  Expr v_r = 0.9277 - 3.6224 / (b - 2.0);
  return accepted_counts(r, lam, [&](const Expr& u, const Expr& us, const Expr& v) {
    Expr k = floor((2.0 * a / us + b) * u + lam + 0.43);
    Expr s = log(v * inverse_alpha / (a / (us * us) + b));
    Expr t = -lam + k * log_lam - lgamma_of(k + 1.0);
    Expr at_once = (us >= 0.07) & (v <= v_r);
    Expr reject = (k < 0.0) | ((us < 0.013) & (v > us));
    return HatProposal{k, at_once | (~reject & (s <= t))};
  });
}

Expr poisson_of(const Request& r, const Expr& lam) {
  Expr small = is_nan(lam) | (lam < 10.0);
  Expr by_product = poisson_by_product(r, where(small, lam, 0.0)).astype(r.result);
  Expr by_rejection = poisson_by_rejection(r, where(small, 1e5, lam)).astype(r.result);
  return where(lam == 0.0, 0, where(small, by_product, by_rejection));
}

// The logarithm of k! minus Stirling's (k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2, for whole k.
Expr stirling_tail(const Expr& k) {
  constexpr double kTail[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983,
                              0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
                              0.0118967099458917,  0.0104112652619720, 0.00925546218271273,
                              0.00833056343336287};
  Expr clamped = minimum(maximum(k, 0.0), 9.0);
  Expr square_of = (clamped + 1.0) * (clamped + 1.0);
  Expr far = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square_of) / square_of) / (clamped + 1.0);
  Expr near = k.like(kTail[0]);
  for (size_t i = 1; i < std::size(kTail); ++i)
    near = where(floor(clamped) == static_cast<double>(i), kTail[i], near);
  return where(k <= 9.0, near, far);
}

// Waiting times for a success, until they pass the count of trials.
Expr binomial_by_waiting(const Request& r, const Expr& n, const Expr& p) {
  Expr log_failure = log1p(-p);
  auto within = [&](const Counting& s) { return Expr(s.total) <= n; };
  auto running = [&](const Counting& s) { return any_of(within(s)).tensor(); };
  auto step = [&](const Counting& s) {
    std::vector<Words> keys = split_each(words_in(s), 2, r.options);
    Expr count = Expr(s.count) + within(s).astype(s.count.dtype());
    Expr wait = ceil(log(uniform_of(r.of(keys[0]))) / log_failure);
    return Counting{key_of(keys[1]), count.tensor(), (Expr(s.total) + wait).tensor()};
  };
  Tensor zero = p.like(0.0).tensor();
  Expr count = while_loop(running, step, Counting{key_of(r.words), zero, zero}).count;
  return count - 1.0;
}

Expr binomial_by_rejection(const Request& r, const Expr& n, const Expr& p) {
  Expr deviation = sqrt(n * p * (1.0 - p));
  Expr b = 1.15 + 2.53 * deviation;
  Expr a = -0.0873 + 0.0248 * b + 0.01 * p;
  Expr c = n * p + 0.5;
  Expr v_r = 0.92 - 4.2 / b;
  Expr odds = p / (1.0 - p);
  Expr alpha = (2.83 + 5.1 / b) * deviation;
  Expr m = floor((n + 1.0) * p);
  return accepted_counts(r, p, [&](const Expr& u, const Expr& us, const Expr& v) {
    Expr k = floor((2.0 * a / us + b) * u + c);
    Expr s = log(v * alpha / (a / (us * us) + b));
    Expr bound = (m + 0.5) * log((m + 1.0) / (odds * (n - m + 1.0))) +
                 (n + 1.0) * log((n - m + 1.0) / (n - k + 1.0)) +
                 (k + 0.5) * log(odds * (n - k + 1.0) / (k + 1.0)) + stirling_tail(m) +
                 stirling_tail(n - m) - stirling_tail(k) - stirling_tail(n - k);
    Expr at_once = (us >= 0.07) & (v <= v_r);
    Expr reject = (k < 0.0) | (k > n);
    return HatProposal{k, at_once | (~reject & (s <= bound))};
  });
}

// Counts successes if p < 1/2, else failures: q is the probability of the rarer one.
Expr binomial_of(const Request& r, const Expr& n, const Expr& p) {
  Expr rare = p < 0.5;
  Expr q_given = where(rare, p, 1.0 - p);
  Expr bad_n = is_nan(n) | (n < 0.0);
  Expr bad_q = is_nan(q_given) | (q_given < 0.0);
  Expr q = where(bad_q, 0.01, q_given);
  Expr few = bad_n | (n * q <= 10.0);
  Expr trials = floor(n);
  Expr waiting = binomial_by_waiting(r, where(few, trials, 0.0), q);
  Expr rejection = binomial_by_rejection(r, where(few, 1e4, trials), where(few, 0.5, q));
  Expr successes = where(few, waiting, rejection);
  Expr endless = n == INFINITY;
  successes = where(bad_q | bad_n, NAN, where(endless, INFINITY, successes));
  return where(rare | bad_n | is_nan(q_given) | endless, successes, trials - successes);
}

}  // namespace

Tensor poisson(Operand key, Parameter lam, const base::Ints& shape, DType dtype,
               const Options& options) {
  const PublicCall call("random::poisson", key.at());
  if (!is_integer(dtype))
    trace_internal::refuse("dtype is ", to_string(dtype), "; it must be of integers");
  return sample(
      "random::poisson", key, {{"lam", lam, Domain::kNotNegative}}, shape, f32, options,
      [](const Request& r, Parameters p) { return poisson_of(r, p[0]); }, dtype);
}

Tensor binomial(Operand key, Parameter n, Parameter p, const base::Ints& shape, DType dtype,
                const Options& options) {
  return sample("random::binomial", key,
                {{"n", n, Domain::kNotNegative}, {"p", p, Domain::kProbability}}, shape, dtype,
                options, [](const Request& r, Parameters v) { return binomial_of(r, v[0], v[1]); });
}

}  // namespace heddle::random
