"""Models as users write them: filters, recurrent nets, equations, optimisers."""
import jax
import jax.numpy as jnp
import jax.scipy.special as sp
import numpy as np
from jax import lax, nn

from jax_modes import definite, modes, points, positive, second, some

CASES = {}


def case(name, f, *xs):
    CASES[name] = (modes(f), list(xs))


def kalman(f, h, q, r, ys):
    def step(s, y):
        m, p = s
        m, p = f @ m, f @ p @ f.T + q
        spread = h @ p @ h + r
        gain = p @ h / spread
        surprise = y - h @ m
        s = m + gain * surprise, p - jnp.outer(gain, h @ p)
        return s, -0.5 * (surprise**2 / spread + jnp.log(spread))

    return jnp.sum(lax.scan(step, (jnp.zeros(2), jnp.eye(2)), ys)[1])


def hmm(start, moves, emits):
    seen = jnp.array([0, 2, 1, 1, 0, 2])
    a, b = nn.log_softmax(moves), nn.log_softmax(emits)

    def step(alpha, symbol):
        return sp.logsumexp(alpha[:, None] + a, 0) + b[:, symbol], None

    return sp.logsumexp(lax.scan(step, nn.log_softmax(start) + b[:, seen[0]], seen[1:])[0])


def rnn(w, u, b, xs):
    step = lambda h, x: (lambda h: (h, h))(jnp.tanh(h @ w + x @ u + b))
    return lax.scan(step, jnp.zeros(3), xs)[1]


def gru(wz, wr, wh, xs):
    def step(h, x):
        both = jnp.concatenate([h, x])
        z, r = nn.sigmoid(both @ wz), nn.sigmoid(both @ wr)
        h = (1 - z) * h + z * jnp.tanh(jnp.concatenate([r * h, x]) @ wh)
        return h, h

    return lax.scan(step, jnp.zeros(3), xs)[1]


def lstm(w, xs):
    def step(s, x):
        h, c = s
        i, f, g, o = jnp.split(jnp.concatenate([h, x]) @ w, 4)
        c = nn.sigmoid(f + 1) * c + nn.sigmoid(i) * jnp.tanh(g)
        h = nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(step, (jnp.zeros(2), jnp.zeros(2)), xs)[1]


def runge_kutta(slope, x, dt, steps):
    def step(x, _):
        k1 = slope(x)
        k2 = slope(x + dt / 2 * k1)
        k3 = slope(x + dt / 2 * k2)
        k4 = slope(x + dt * k3)
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return x, x

    return lax.scan(step, x, None, length=steps)[1]


def lotka_volterra(p, x):
    slope = lambda x: jnp.stack([p[0] * x[0] - p[1] * x[0] * x[1], p[2] * x[0] * x[1] - p[3] * x[1]])
    return runge_kutta(slope, x, 0.1, 20)


def lorenz(x):
    slope = lambda x: jnp.stack([10 * (x[1] - x[0]), x[0] * (28 - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]])
    return runge_kutta(slope, x, 0.01, 30)[-1]


def van_der_pol(mu, x):
    slope = lambda x: jnp.stack([x[1], mu * (1 - x[0] ** 2) * x[1] - x[0]])
    return runge_kutta(slope, x, 0.05, 20)


def neural_ode(w1, w2, x):
    return runge_kutta(lambda x: w2 @ jnp.tanh(w1 @ x), x, 0.2, 5)


def lqr(a, b):
    def step(p, _):
        gain = b.T @ p @ a / (1 + b.T @ p @ b)
        return jnp.eye(2) + a.T @ p @ (a - b @ gain), gain

    return lax.scan(step, jnp.eye(2), None, length=8)[1]


def ssm(a, b, c, xs):
    def step(h, x):
        h = nn.sigmoid(a) * h + b * x
        return h, c @ h

    return lax.scan(step, jnp.zeros(3), xs)[1]


def descent(rate, x):
    loss = lambda x: jnp.sum((x - jnp.arange(3.0)) ** 4) + x[0] * x[1]
    return lax.scan(lambda x, _: (x - rate * jax.grad(loss)(x), None), x, None, length=6)[0]


def net(w1, w2, xs):
    return nn.log_softmax(nn.gelu(xs @ w1) @ w2)


def gp(log_scale, xs):
    apart = (xs[:, None] - xs[None, :]) / jnp.exp(log_scale)
    root = jnp.linalg.cholesky(jnp.exp(-0.5 * apart**2) + 0.1 * jnp.eye(4))
    y = lax.linalg.triangular_solve(root, jnp.sin(xs)[:, None], left_side=True, lower=True)
    return -0.5 * jnp.sum(y**2) - jnp.sum(jnp.log(jnp.diag(root)))


def sinkhorn(costs):
    def step(f, _):
        g = -sp.logsumexp(f[:, None] - costs, 0)
        return -sp.logsumexp(g[None, :] - costs, 1), None

    return lax.scan(step, jnp.zeros(3), None, length=5)[0]


def dtw(costs):
    def row(above, cost):
        def step(left, x):
            left = x[2] - sp.logsumexp(-jnp.stack([left, x[0], x[1]]))
            return left, left

        _, out = lax.scan(step, 1e4, (above[1:], above[:-1], cost))
        return jnp.concatenate([jnp.full(1, 1e4), out]), None

    return lax.scan(row, jnp.full(5, 1e4).at[0].set(0.0), costs)[0][4]


F = 0.9 * np.eye(2) + 0.1 * some(2, 2)
case("kalman", kalman, F, some(2), definite(2), np.array(0.7), some(8))
case("hmm", hmm, some(3), some(3, 3), some(3, 3, seed=1))
case("rnn", rnn, some(3, 3), some(2, 3, seed=1), some(3, seed=2), some(6, 2, seed=3))
case("gru", gru, some(5, 3), some(5, 3, seed=1), some(5, 3, seed=2), some(6, 2, seed=3))
case("lstm", lstm, some(4, 8), some(5, 2, seed=1))
case("lotka_volterra", lotka_volterra, points(1.1, 0.4, 0.1, 0.4), points(2, 1))
case("lorenz", lorenz, points(1, 1.5, 20))
case("van_der_pol", van_der_pol, np.array(1.3), points(1, 0.5))
case("neural_ode", neural_ode, some(4, 2), some(2, 4, seed=1), some(2, seed=2))
case("lqr", lqr, F, some(2, 1, seed=3))
case("ssm", ssm, some(3), some(3, seed=1), some(3, seed=2), some(9, seed=3))
case("descent_through_grad", descent, np.array(0.01), some(3))
case("net", net, some(4, 5), some(5, 3, seed=1), some(2, 4, seed=2))
case("gaussian_process", gp, np.array(0.2), some(4))
case("sinkhorn", sinkhorn, some(3, 4))
case("soft_dtw", dtw, positive(3, 4))
CASES["lotka_volterra_hessian"] = (second(lambda p: lotka_volterra(p, jnp.array([2.0, 1.0]))), [points(1.1, 0.4, 0.1, 0.4)])
