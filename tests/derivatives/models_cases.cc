// Models as users write them: filters, recurrent nets, equations, optimisers.
#include "heddle/tests/derivatives/cases.h"
#include "heddle/tests/support/runge_kutta.h"

namespace heddle::derivatives {
namespace {

using Pair = std::pair<Tensor, Tensor>;

Tensor kalman(Tensor f, Tensor h, Tensor q, Tensor r, Tensor ys) {
  auto step = [&](Pair s, Tensor y) {
    const Tensor m = matmul(f, s.first), p = matmul(matmul(f, s.second), transpose(f)) + q;
    const Tensor spread = dot(matmul(h, p), h) + r, gain = matmul(p, h) / spread;
    const Tensor surprise = y - dot(h, m);
    return std::pair(Pair(m + gain * surprise, p - outer(gain, matmul(h, p))),
                     -0.5 * (surprise * surprise / spread + log(spread)));
  };
  return sum(scan(step, Pair(zeros({2}, f64), eye(2, f64)), ys).second);
}

Tensor hmm(V v) {
  const Tensor seen = array({0, 2, 1, 1, 0, 2}), a = log_softmax(v[1]), b = log_softmax(v[2]);
  auto step = [&](Tensor alpha, Tensor symbol) {
    return std::pair(logsumexp(expand_dims(alpha, 1) + a, 0) + take(b, symbol, 1), None{});
  };
  const Tensor start = log_softmax(v[0]) + take(b, seen[0], 1);
  return logsumexp(scan(step, start, seen[Slice{1}]).first);
}

Tensor rnn(V v) {
  auto step = [&](Tensor h, Tensor x) {
    h = tanh(matmul(h, v[0]) + matmul(x, v[1]) + v[2]);
    return Pair(h, h);
  };
  return scan(step, zeros({3}, f64), v[3]).second;
}

Tensor gru(V v) {
  auto step = [&](Tensor h, Tensor x) {
    const Tensor both = concat({h, x});
    const Tensor z = nn::sigmoid(matmul(both, v[0])), r = nn::sigmoid(matmul(both, v[1]));
    h = (1.0 - z) * h + z * tanh(matmul(concat({r * h, x}), v[2]));
    return Pair(h, h);
  };
  return scan(step, zeros({3}, f64), v[3]).second;
}

Tensor lstm(V v) {
  auto step = [&](Pair s, Tensor x) {
    const std::vector<Tensor> gates = split(matmul(concat({s.first, x}), v[0]), 4);
    const Tensor c =
        nn::sigmoid(gates[1] + 1.0) * s.second + nn::sigmoid(gates[0]) * tanh(gates[2]);
    const Tensor h = nn::sigmoid(gates[3]) * tanh(c);
    return std::pair(Pair(h, c), h);
  };
  const Tensor zero = zeros({2}, f64);
  return scan(step, Pair(zero, zero), v[1]).second;
}

Tensor lotka_volterra(Tensor p, Tensor x) {
  auto slope = [&](Tensor x) {
    return stack({p[0] * x[0] - p[1] * x[0] * x[1], p[2] * x[0] * x[1] - p[3] * x[1]});
  };
  return runge_kutta(slope, x, 0.1, 20);
}

Tensor lorenz(V v) {
  auto slope = [](Tensor x) {
    return stack(
        {10.0 * (x[1] - x[0]), x[0] * (28.0 - x[2]) - x[1], x[0] * x[1] - (8.0 / 3) * x[2]});
  };
  return runge_kutta(slope, v[0], 0.01, 30)[-1];
}

Tensor van_der_pol(V v) {
  auto slope = [&](Tensor x) { return stack({x[1], v[0] * (1.0 - x[0] * x[0]) * x[1] - x[0]}); };
  return runge_kutta(slope, v[1], 0.05, 20);
}

Tensor neural_ode(V v) {
  return runge_kutta([&](Tensor x) { return matmul(v[1], tanh(matmul(v[0], x))); }, v[2], 0.2, 5);
}

Tensor lqr(V v) {
  const Tensor &a = v[0], &b = v[1];
  auto step = [&](Tensor p, None) {
    const Tensor bp = matmul(transpose(b), p);
    const Tensor gain = matmul(bp, a) / (1.0 + matmul(bp, b));
    return Pair(eye(2, f64) + matmul(matmul(transpose(a), p), a - matmul(b, gain)), gain);
  };
  return scan(step, eye(2, f64), None{}, {.length = 8}).second;
}

Tensor ssm(V v) {
  auto step = [&](Tensor h, Tensor x) {
    h = nn::sigmoid(v[0]) * h + v[1] * x;
    return Pair(h, dot(v[2], h));
  };
  return scan(step, zeros({3}, f64), v[3]).second;
}

Tensor descent(V v) {
  auto slope = grad([](Tensor x) { return sum(pow(x - arange(3, f64), 4)) + x[0] * x[1]; });
  auto step = [&](Tensor x, None) { return std::pair(x - v[0] * slope(x), None{}); };
  return scan(step, v[1], None{}, {.length = 6}).first;
}

Tensor net(V v) { return log_softmax(matmul(nn::gelu(matmul(v[2], v[0])), v[1])); }

Tensor gaussian_process(V v) {
  const Tensor apart = (expand_dims(v[1], 1) - expand_dims(v[1], 0)) / exp(v[0]);
  const Tensor root = linalg::cholesky(exp(-0.5 * apart * apart) + 0.1 * eye(4, f64));
  const Tensor y = linalg::solve_triangular(root, sin(v[1]), {.lower = true});
  return -0.5 * sum(y * y) - sum(log(diag(root)));
}

Tensor sinkhorn(V v) {
  auto step = [&](Tensor f, None) {
    const Tensor g = -logsumexp(expand_dims(f, 1) - v[0], 0);
    return std::pair(-logsumexp(expand_dims(g, 0) - v[0], 1), None{});
  };
  return scan(step, zeros({3}, f64), None{}, {.length = 5}).first;
}

Tensor soft_dtw(V v) {
  auto row = [](Tensor above, Tensor cost) {
    auto step = [](Tensor left, std::tuple<Tensor, Tensor, Tensor> x) {
      const auto& [up, corner, here] = x;
      left = here - logsumexp(-stack({left, up, corner}));
      return Pair(left, left);
    };
    const auto xs = std::tuple(above[Slice{1}], above[Slice{0, -1}], cost);
    return std::pair(concat({full({1}, 1e4, f64), scan(step, scalar(1e4), xs).second}), None{});
  };
  return scan(row, full({5}, 1e4, f64).at(0).set(0.0), v[0]).first[4];
}

}  // namespace

std::vector<Case> model_cases() {
  return {
      {"kalman", modes([](V v) { return kalman(v[0], v[1], v[2], v[3], v[4]); })},
      {"hmm", modes(hmm)},
      {"rnn", modes(rnn)},
      {"gru", modes(gru)},
      {"lstm", modes(lstm)},
      {"lotka_volterra", modes([](V v) { return lotka_volterra(v[0], v[1]); })},
      {"lorenz", modes(lorenz)},
      {"van_der_pol", modes(van_der_pol)},
      {"neural_ode", modes(neural_ode)},
      {"lqr", modes(lqr)},
      {"ssm", modes(ssm)},
      {"descent_through_grad", modes(descent)},
      {"net", modes(net)},
      {"gaussian_process", modes(gaussian_process)},
      {"sinkhorn", modes(sinkhorn)},
      {"soft_dtw", modes(soft_dtw)},
      {"lotka_volterra_hessian", second([](T p) {
         return lotka_volterra(p, array({2.0, 1.0}));
       })},
  };
}

}  // namespace heddle::derivatives
