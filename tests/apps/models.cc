// Models over time: state spaces, filters, hidden Markov chains, advantages, and equations.
#include "heddle/tests/apps/app.h"
#include "heddle/tests/support/runge_kutta.h"

namespace heddle::apps {
namespace {

using V = const Tensors&;

// Generalised advantage estimates. values: one more than rewards.
Tensor gae(Tensor rewards, Tensor values, Tensor dones) {
  auto step = [](Tensor next, std::tuple<Tensor, Tensor, Tensor, Tensor> x) {
    const auto& [reward, value, value_after, done] = x;
    const Tensor delta = reward + 0.99 * value_after * (1.0 - done) - value;
    next = delta + 0.9405 * (1.0 - done) * next;
    return std::pair(next, next);
  };
  const Tensor now = values[Slice{0, 16}], after = values[Slice{1, 17}];
  return scan(step, scalar(0.0f), std::tuple(rewards, now, after, dones), {.reverse = true}).second;
}

// A memory that is corrected along each key.
Tensor delta_rule(Tensor q, Tensor k, Tensor v, Tensor beta) {
  auto step = [](Tensor memory, std::tuple<Tensor, Tensor, Tensor, Tensor> x) {
    auto [query, key, value, rate] = x;
    key = key / sqrt(sum(key * key) + 1e-6);
    memory = memory + outer(rate * key, value - matmul(key, memory));
    return std::pair(memory, matmul(query, memory));
  };
  return scan(step, zeros({4, 4}), std::tuple(q, k, v, beta)).second;
}

Tensor recurrence(Tensor a, Tensor b, Tensor c) {
  using Affine = std::pair<Tensor, Tensor>;
  auto compose = [](Affine first, Affine then) {
    return Affine(first.first * then.first, then.first * first.second + then.second);
  };
  return sum(associative_scan(compose, Affine(a, b)).second * c, -1);
}

Tensor retention(Tensor q, Tensor k, Tensor v) {
  auto step = [](Tensor memory, std::tuple<Tensor, Tensor, Tensor> x) {
    const auto& [query, key, value] = x;
    memory = 0.9 * memory + outer(key, value);
    return std::pair(memory, matmul(query, memory));
  };
  return scan(step, zeros({4, 5}), std::tuple(q, k, v)).second;
}

Tensor mamba(Tensor log_a, Tensor to_b, Tensor to_c, Tensor skip, Tensor to_rate, Tensor x) {
  const Tensor a = -exp(log_a), rates = nn::softplus(matmul(x, to_rate));
  auto step = [&](Tensor h, std::tuple<Tensor, Tensor, Tensor, Tensor> at) {
    const auto& [rate, b, c, u] = at;
    h = exp(expand_dims(rate, -1) * a) * h + outer(rate * u, b);
    return std::pair(h, matmul(h, c) + skip * u);
  };
  return scan(step, zeros_like(log_a), std::tuple(rates, matmul(x, to_b), matmul(x, to_c), x))
      .second;
}

struct Wkv {
  Tensor sum, weight, greatest;
  static constexpr auto kFields = fields(field("sum", &Wkv::sum), field("weight", &Wkv::weight),
                                         field("greatest", &Wkv::greatest));
};
// RWKV's attention without overflow: exponents are relative to the greatest so far.
Tensor rwkv(Tensor keys, Tensor values, Tensor decay, Tensor bonus) {
  auto step = [&](Wkv s, std::pair<Tensor, Tensor> x) {
    const auto& [key, value] = x;
    const Tensor top = maximum(s.greatest, bonus + key);
    const Tensor old = exp(s.greatest - top), now = exp(bonus + key - top);
    const Tensor y = (old * s.sum + now * value) / (old * s.weight + now);
    const Tensor next = maximum(s.greatest + decay, key);
    const Tensor kept = exp(s.greatest + decay - next), added = exp(key - next);
    return std::pair(Wkv{kept * s.sum + added * value, kept * s.weight + added, next}, y);
  };
  const Tensor none = zeros_like(decay);
  return scan(step, Wkv{none, none, full_like(decay, -1e38)}, std::pair(keys, values)).second;
}

std::vector<App> sequences() {
  return {
      {"rl/gae_grad", [](V v) { return value_and_grads(gae, argnums<0, 1>, v[0], v[1], v[2]); }},
      {"rl/gae_jvp",
       [](V v) {
         return flatten(
             jvp(gae, std::tuple(v[0], v[1], v[2]), std::tuple(ones_like(v[0]), None{}, None{})));
       }},
      {"rl/gae_vmap", [](V v) { return Tensors{vmap(gae)(v[0], v[1], v[2])}; }},
      {"ssm/delta_rule_grad",
       [](V v) {
         return value_and_grads(delta_rule, argnums<0, 1, 2, 3>, v[0], v[1], v[2], v[3]);
       }},
      {"ssm/linear_recurrence_assoc_grad",
       [](V v) { return value_and_grads(recurrence, argnums<0, 1, 2>, v[0], v[1], v[2]); }},
      {"ssm/linear_recurrence_assoc_vmap",
       [](V v) { return Tensors{vmap(recurrence)(v[0], v[1], v[2])}; }},
      {"ssm/retention_grad",
       [](V v) { return value_and_grads(retention, argnums<0, 1, 2>, v[0], v[1], v[2]); }},
      {"ssm/retention_vmap", [](V v) { return Tensors{vmap(retention)(v[0], v[1], v[2])}; }},
      {"ssm/mamba_selective_grad",
       [](V v) {
         return value_and_grads(mamba, argnums<0, 1, 2, 3, 4, 5>, v[0], v[1], v[2], v[3], v[4],
                                v[5]);
       }},
      {"ssm/rwkv_wkv_grad",
       [](V v) { return value_and_grads(rwkv, argnums<0, 1, 2, 3>, v[0], v[1], v[2], v[3]); }},
  };
}

// The log-likelihood of a hidden Markov chain.
Tensor hmm(Tensor start, Tensor moves, Tensor emits, Tensor seen) {
  const Tensor p0 = log_softmax(start), a = log_softmax(moves), b = log_softmax(emits);
  auto step = [&](Tensor alpha, Tensor symbol) {
    alpha = logsumexp(expand_dims(alpha, -1) + a, 0) + take(b, symbol, 1);
    return std::pair(alpha, None{});
  };
  const Tensor first = p0 + take(b, seen[0], 1);
  return logsumexp(scan(step, first, seen[Slice{1}]).first);
}

// The log-likelihood of a linear Gaussian model with one observation a step.
Tensor kalman(Tensor f, Tensor h, Tensor q, Tensor r, Tensor ys) {
  auto step = [&](std::pair<Tensor, Tensor> s, Tensor y) {
    auto [m, p] = s;
    m = matmul(f, m);
    p = matmul(matmul(f, p), transpose(f)) + q;
    const Tensor spread = dot(matmul(h, p), h) + r, gain = matmul(p, h) / spread;
    const Tensor surprise = y - dot(h, m);
    m = m + gain * surprise;
    p = p - outer(gain, matmul(h, p));
    return std::pair(std::pair(m, p), -0.5 * (surprise * surprise / spread + log(spread)));
  };
  return sum(scan(step, std::pair(zeros({2}), eye(2)), ys).second);
}

// One block of keys and values after the other.
Tensor flash_attention(Tensor q, Tensor k, Tensor v) {
  using State = std::tuple<Tensor, Tensor, Tensor>;
  auto step = [&](State s, std::pair<Tensor, Tensor> block) {
    const auto& [greatest, total, out] = s;
    const Tensor scores = matmul(q, transpose(block.first));
    const Tensor next = maximum(greatest, max(scores, 1));
    const Tensor p = exp(scores - expand_dims(next, -1)), shrink = exp(greatest - next);
    return std::pair(State(next, total * shrink + sum(p, 1),
                           out * expand_dims(shrink, -1) + matmul(p, block.second)),
                     None{});
  };
  const State start(full({5}, -1e30f), zeros({5}), zeros({5, 3}));
  const auto blocks = std::pair(reshape(k, {4, 3, 4}), reshape(v, {4, 3, 3}));
  const auto [greatest, total, out] = scan(step, start, blocks).first;
  return out / expand_dims(total, -1);
}

std::vector<App> likelihoods() {
  return {
      {"prob/hmm_forward_grad",
       [](V v) { return flatten(value_and_grad(hmm, argnums<0, 1, 2>)(v[0], v[1], v[2], v[3])); }},
      {"prob/hmm_forward_vmap",
       [](V v) {
         auto one = [&](Tensor seen) { return hmm(v[1], v[3], v[2], seen); };
         return Tensors{vmap(one)(v[0])};
       }},
      {"prob/kalman_grad",
       [](V v) {
         return flatten(value_and_grad(kalman, argnums<0, 2, 3>)(v[0], v[1], v[2], v[3], v[4]));
       }},
      {"transformer/flash_attention_scan_vmap",
       [](V v) { return Tensors{vmap(flash_attention)(v[0], v[1], v[2])}; }},
  };
}

Tensor lorenz(Tensor x) {
  auto step = [](Tensor, Tensor x) {
    const Tensor slope =
        stack({10.0 * (x[1] - x[0]), x[0] * (28.0 - x[2]) - x[1], x[0] * x[1] - (8.0 / 3) * x[2]});
    return x + 0.01 * slope;
  };
  return fori_loop(0, 20, step, x);
}

Tensor lotka_volterra(Tensor p, Tensor x) {
  auto slope = [&](Tensor x) {
    return stack({p[0] * x[0] - p[1] * x[0] * x[1], p[2] * x[0] * x[1] - p[3] * x[1]});
  };
  return runge_kutta(slope, x, 0.1, 25);
}

Tensor van_der_pol(Tensor mu, Tensor x) {
  auto slope = [&](Tensor x) { return stack({x[1], mu * (1.0 - x[0] * x[0]) * x[1] - x[0]}); };
  return runge_kutta(slope, x, 0.05, 30);
}

Tensor neural_ode(Tensor w1, Tensor w2, Tensor x) {
  return runge_kutta([&](Tensor x) { return matmul(w2, tanh(matmul(w1, x))); }, x, 0.2, 8);
}

// Positions, velocities, and the sum of squared velocities at each step.
std::tuple<Tensor, Tensor, Tensor> n_body(Tensor x, Tensor v, Tensor mass) {
  auto acceleration = [&](Tensor x) {
    const Tensor apart = expand_dims(x, 0) - expand_dims(x, 1);
    const Tensor r = sqrt(sum(apart * apart, 2) + 0.1);
    return sum(reshape(mass, {1, 4, 1}) * apart / expand_dims(r * r * r, -1), 1);
  };
  auto step = [&](std::pair<Tensor, Tensor> s, None) {
    auto [x, v] = s;
    v = v + 0.01 * acceleration(x);
    x = x + 0.02 * v;
    v = v + 0.01 * acceleration(x);
    return std::pair(std::pair(x, v), sum(v * v));
  };
  const auto [last, energies] = scan(step, std::pair(x, v), None{}, {.length = 15});
  return {last.first, last.second, energies};
}

struct Heun {
  Tensor t, x, dt, steps;
  static constexpr auto kFields = fields(field("t", &Heun::t), field("x", &Heun::x),
                                         field("dt", &Heun::dt), field("steps", &Heun::steps));
};
Heun adaptive_heun(Tensor x, Tensor tolerance) {
  auto slope = [](Tensor x) { return stack({x[1], -x[0] * 3.0}); };
  auto more = [](Heun s) { return (s.t < 2.0) & (s.steps < 500); };
  auto step = [&](Heun s) {
    const Tensor k1 = slope(s.x), euler = s.x + s.dt * k1;
    const Tensor heun = s.x + s.dt / 2.0 * (k1 + slope(euler));
    const Tensor error = max(abs(heun - euler)), is_good = error < tolerance;
    const Tensor grow = clip(0.9 * sqrt(tolerance / (error + 1e-12)), 0.3, 2.0);
    return Heun{where(is_good, s.t + s.dt, s.t), where(is_good, heun, s.x), s.dt * grow,
                s.steps + 1};
  };
  return while_loop(more, step, Heun{scalar(0.0f), x, scalar(0.1f), scalar(0)});
}

std::vector<App> equations() {
  return {
      {"ode/lorenz_euler_grad", [](V v) { return value_and_grads(lorenz, argnums<0>, v[0]); }},
      {"ode/lorenz_euler_jvp", [](V v) { return value_and_tangents(lorenz, v[0]); }},
      {"ode/lotka_volterra_rk4_grad",
       [](V v) { return value_and_grads(lotka_volterra, argnums<0, 1>, v[0], v[1]); }},
      {"ode/lotka_volterra_rk4_jvp",
       [](V v) {
         return flatten(
             jvp(lotka_volterra, std::tuple(v[0], v[1]), std::tuple(ones_like(v[0]), None{})));
       }},
      {"ode/van_der_pol_grad",
       [](V v) { return value_and_grads(van_der_pol, argnums<0>, v[0], v[1]); }},
      {"ode/neural_ode_rk4_jvp",
       [](V v) {
         return flatten(jvp(neural_ode, std::tuple(v[0], v[1], v[2]),
                            std::tuple(ones_like(v[0]), ones_like(v[1]), None{})));
       }},
      {"ode/nbody_leapfrog_grad",
       [](V v) { return value_and_grads(n_body, argnums<0>, v[0], v[1], v[2]); }},
      {"ode/adaptive_heun_vmap",
       [](V v) {
         return flatten(vmap(adaptive_heun, {.in_axes = {0, kNoAxis}})(v[0], v[1]));
       }},
  };
}

}  // namespace

std::vector<App> model_apps() { return joined({sequences(), likelihoods(), equations()}); }

}  // namespace heddle::apps
