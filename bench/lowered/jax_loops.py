#!/usr/bin/env python3
"""Loops that users write, lowered by JAX, as folders for `heddle bench`.

  V/bin/pip install "jax[cpu]==0.10.2"
  V/bin/python bench/lowered/jax_loops.py build/jax_loops [NAME ..]
  heddle bench build/jax_loops/* --backends cpu,pjrt:xla-cpu,pjrt:xla-cpu+loops --threads 1
"""
import jax_batches  # its programs
import jax_fields  # its programs
import jax_iterations  # its programs
import jax_matrices  # its programs
import jax_studies  # its programs
import jax_systems  # its programs
import jax_updates  # its programs
import jax_weights  # its programs
from jax.scipy.ndimage import map_coordinates
from jax_programs import KEY, PROGRAMS, floats, integers, jax, jnp, lax, loop, write_all

# ----- filters and state-space models


@loop(1024, floats(128, 16, low=0.1, high=0.9), floats(1024, 128, low=0.01, high=0.1), floats(1024, 128),
      floats(1024, 16), floats(1024, 16))
def selective_scan(a, dt, xs, bs, cs):
    def step(h, at):
        d, x, b, c = at
        h = jnp.exp(-d[:, None] * a) * h + (d * x)[:, None] * b[None]
        return h, (h * c[None]).sum(-1)

    return lax.scan(step, jnp.zeros((128, 16)), (dt, xs, bs, cs))


@loop(2000, floats(6, 6, low=-0.3, high=0.3), floats(3, 6), floats(2000, 3))
def kalman_n6m3(f, h, ys):
    q, r = jnp.eye(6) * 0.1, jnp.eye(3) * 0.2

    def step(state, y):
        m, p = state
        m, p = f @ m, f @ p @ f.T + q
        s = h @ p @ h.T + r
        k = jnp.linalg.solve(s, h @ p).T
        m, p = m + k @ (y - h @ m), p - k @ s @ k.T
        return (m, p), m

    return lax.scan(step, (jnp.zeros(6), jnp.eye(6)), ys)


@loop(500, floats(500), floats(512), KEY)
def particle_filter(ys, x, key):
    def step(state, y):
        x, key = state
        key, k1, k2 = jax.random.split(key, 3)
        x = 0.9 * x + jax.random.normal(k1, x.shape) * 0.3
        weights = jnp.cumsum(jax.nn.softmax(-0.5 * (y - x) ** 2))
        u = (jax.random.uniform(k2) + jnp.arange(512)) / 512
        x = x[jnp.clip(jnp.searchsorted(weights, u), 0, 511)]
        return (x, key), x.mean()

    return lax.scan(step, (x, key.astype(jnp.uint32)), ys)


@loop(1000, floats(32, 32), floats(32), integers(1000, high=32))
def viterbi(transition, start, observed):
    emission = transition * 0.5

    def step(d, o):
        s = d[:, None] + transition
        return s.max(0) + emission[:, o], s.argmax(0)

    d, back = lax.scan(step, start, observed)
    return lax.scan(lambda s, b: (b[s], s), d.argmax(), back, reverse=True)


@loop(256, floats(8, 256), floats(8))
def biquad_b8(xs, z):
    def step(state, x):
        a, b = state
        y = 0.2 * x + a
        return (0.3 * x - 0.5 * y + b, 0.1 * x - 0.2 * y), y

    return lax.scan(step, (z, z), xs.T)


@loop(2000, floats(2000), floats(8))
def garch_gradient(rs, p):
    def loss(a):
        def step(s, r):
            return a[0] ** 2 + a[1] ** 2 * r * r + 0.9 * s, -0.5 * (jnp.log(s) + r * r / s)

        return lax.scan(step, 1.0, rs)[1].sum()

    return jax.grad(loss)(p)


@loop(50, floats(4096), floats(31, low=0.0, high=0.08))
def smoothing_filter(x, taps):
    def step(x, _):
        return jnp.tanh(1.2 * jnp.convolve(x, taps, mode="same")), None

    return lax.scan(step, x, None, length=50)[0]


@loop(50, floats(1, 1, 128, 128), floats(1, 1, 5, 5, low=0.0, high=0.1))
def image_blur(x, kernel):
    def step(x, _):
        return jnp.tanh(lax.conv_general_dilated(x, kernel, (1, 1), "SAME")), None

    return lax.scan(step, x, None, length=50)[0]


@loop(20_000, floats(20_000))
def moving_average(xs):
    def step(state, i):
        window, total = state
        total = total + xs[i] - window[i % 64]
        return (window.at[i % 64].set(xs[i]), total), total / 64

    return lax.scan(step, (jnp.zeros(64), 0.0), jnp.arange(20_000))


# ----- differential equations and sampling


@loop(10_000, KEY, floats(32))
def double_well_sde(key, x):
    def step(state, _):
        x, key = state
        key, k = jax.random.split(key)
        x = x + 0.01 * (x - x**3) + 0.1 * jax.random.normal(k, x.shape)
        return (x, key), x[0]

    return lax.scan(step, (x, key.astype(jnp.uint32)), None, length=10_000)


@loop(5000, floats(4), floats(5000))
def pendulum_rk4(x, us):
    def slope(x, u):
        return jnp.stack([x[1], -jnp.sin(x[0]) * 9.8 - 0.1 * x[1] + u, x[3], -jnp.cos(x[2]) * x[0]])

    def step(x, u):
        h = 0.01
        k1 = slope(x, u)
        k2 = slope(x + h / 2 * k1, u)
        k3 = slope(x + h / 2 * k2, u)
        k4 = slope(x + h * k3, u)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return x, x

    return lax.scan(step, x, us)


@loop(500, floats(256, 256, low=0.0))
def heat(u):
    def step(u, _):
        p = jnp.pad(u, 1)
        return u + 0.1 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u), None

    return lax.scan(step, u, None, length=500)[0]


@loop(500, floats(128, 128, low=0.0))
def life(u):
    def step(u, _):
        places = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
        n = sum(jnp.roll(jnp.roll(u, i, 0), j, 1) for i, j in places)
        return ((n == 3) | ((u == 1) & (n == 2))).astype(jnp.int32), None

    return lax.scan(step, (u > 0.5).astype(jnp.int32), None, length=500)[0]


@loop(1000, floats(8), floats(16, 8), floats(16), KEY)
def hamiltonian_monte_carlo(q, xs, ys, key):
    def energy(q):
        return jnp.sum(jnp.logaddexp(0.0, -ys * (xs @ q))) + 0.5 * q @ q

    slope = jax.grad(energy)

    def leap(_, state):
        q, p = state
        p = p - 0.05 * slope(q)
        q = q + 0.1 * p
        return q, p - 0.05 * slope(q)

    def step(state, _):
        q, key = state
        key, a, b = jax.random.split(key, 3)
        p = jax.random.normal(a, q.shape)
        q1, p1 = lax.fori_loop(0, 10, leap, (q, p))
        gain = energy(q) - energy(q1) + 0.5 * (p @ p - p1 @ p1)
        q = jnp.where(jnp.log(jax.random.uniform(b)) < gain, q1, q)
        return (q, key), q

    return lax.scan(step, (q, key.astype(jnp.uint32)), None, length=1000)


@loop(1000, floats(10, 10), floats(10))
def linear_system10(a, x):
    def step(x, _):
        return x + 0.01 * (a @ x) - 0.01 * x * jnp.sum(x * x), x

    return lax.scan(step, x, None, length=1000)[1]


@loop(100, floats(1024))
def spectral_heat(u):
    k = jnp.arange(513)

    def step(u, _):
        u = jnp.fft.irfft(jnp.fft.rfft(u) * jnp.exp(-1e-5 * k * k), n=1024)
        return u - 0.01 * u**3, None

    return lax.scan(step, u, None, length=100)[0]


# ----- pairs, adaptive steps, cells


@loop(200, floats(64, 3), floats(64, 3))
def bodies(r, v):
    def step(state, _):
        r, v = state
        d = r[None] - r[:, None]
        v = v + 0.001 * (d * (((d**2).sum(-1) + 0.01) ** -1.5)[..., None]).sum(1)
        return (r + 0.001 * v, v), (v**2).sum()

    return lax.scan(step, (r, v), None, length=200)


@loop(300, floats(256, 3, low=0.0, high=5.0), floats(256, 3))
def boids(p, v):
    def step(state, _):
        p, v = state
        d = p[None] - p[:, None]
        near = ((d**2).sum(-1) < 1.0).astype(jnp.float32)
        count = near.sum(1, keepdims=True)
        v = v + 0.01 * (near[..., None] * d).sum(1) / count + 0.05 * (near @ v / count - v)
        v = v / (1e-3 + jnp.linalg.norm(v, axis=1, keepdims=True))
        return (p + 0.1 * v, v), None

    return lax.scan(step, (p, v), None, length=300)[0]


@loop(1, floats(18))
def three_bodies_adaptive(y):
    def slope(y):
        r, v = y[:9].reshape(3, 3), y[9:]
        d = r[None] - r[:, None]
        return jnp.concatenate([v, (d / (((d**2).sum(-1) + 0.05) ** 1.5)[..., None]).sum(1).reshape(-1)])

    def body(state):  # Bogacki and Shampine's pair of orders 3 and 2
        t, y, h, n = state
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h * 3 / 4 * k2)
        now = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        error = h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - slope(now) / 8)
        size = jnp.sqrt((error**2).mean()) / 1e-4
        fits = size < 1
        h1 = h * jnp.clip(0.9 * size**-0.33, 0.2, 5.0)
        return jnp.where(fits, t + h, t), jnp.where(fits, now, y), h1, n + 1

    return lax.while_loop(lambda s: (s[0] < 5.0) & (s[3] < 5000), body, (jnp.float32(0), y, jnp.float32(0.01), 0))


@loop(100, floats(2000, 4), floats(5, 4))
def gaussian_mixture_em(x, means):
    def step(state, _):
        means, spread, weight = state
        d = -0.5 * (((x[:, None] - means) ** 2) * jnp.exp(-spread) + spread).sum(-1) + weight
        share = jax.nn.softmax(d, -1)
        n = share.sum(0)
        means = (share.T @ x) / n[:, None]
        spread = (share[..., None] * (x[:, None] - means) ** 2).sum(0) / n[:, None] + 1e-3
        return (means, jnp.log(spread), jnp.log(n / 2000)), jax.nn.logsumexp(d, -1).sum()

    return lax.scan(step, (means, jnp.zeros((5, 4)), jnp.zeros(5)), None, length=100)


@loop(10_000, floats(10_000))
def median_filter(xs):
    def step(window, x):
        window = jnp.concatenate([window[1:], x[None]])
        return window, jnp.sort(window)[2]

    return lax.scan(step, jnp.zeros(5), xs)[1]


@loop(1000, integers(1000, high=100_000))
def collatz(ns):
    def steps_of(_, n):
        def body(s):
            return jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1

        return 0, lax.while_loop(lambda s: s[0] > 1, body, (n, 0))[1]

    return lax.scan(steps_of, 0, ns)[1]


@loop(100, floats(64, 64, low=-0.3, high=0.3), floats(64, 1000), floats(1000, 64))
def beam_search(w, out, words):
    def step(state, _):
        h, score = state
        score, best = lax.top_k((score[:, None] + jax.nn.log_softmax(h @ out)).reshape(-1), 8)
        word = best % 1000
        return (jnp.tanh(h[best // 1000] @ w + words[word]), score), word

    return lax.scan(step, (jnp.zeros((8, 64)), jnp.zeros(8)), None, length=100)


@loop(100, floats(28, 28), floats(3, 3, 1, 8, low=-0.2, high=0.2))
def neural_automaton(x, weights):
    def step(x, _):
        y = lax.conv_general_dilated(x, weights, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return x + 0.1 * jnp.tanh(y).mean(-1, keepdims=True), None

    return lax.scan(step, x[None, :, :, None], None, length=100)[0]


@loop(365, floats(365, 2), floats(2))
def reservoir_gradient(weather, start):
    def flow(start):
        def step(stores, day):
            rain, heat = jax.nn.relu(day)
            upper, lower = stores[0] + rain, stores[1]
            down = jnp.where(upper > 1.0, (upper - 1.0) * 0.5, 0.0)
            lower = lower + down
            out = 0.1 * lower**1.5
            return (jnp.maximum(upper - down - 0.3 * heat, 0.0), lower - out), out

        return lax.scan(step, (start[0] ** 2, start[1] ** 2), weather)[1].sum()

    return jax.value_and_grad(flow)(start)


@loop(500, floats(64, 64), KEY)
def ising(spins, key):
    black = (jnp.arange(64)[:, None] + jnp.arange(64)) % 2 == 0

    def sweep(s, i):
        k = jax.random.fold_in(key.astype(jnp.uint32), i)
        for j, cells in enumerate((black, ~black)):
            sum_of = jnp.roll(s, 1, 0) + jnp.roll(s, -1, 0) + jnp.roll(s, 1, 1) + jnp.roll(s, -1, 1)
            u = jax.random.uniform(jax.random.fold_in(k, j), (64, 64))
            s = jnp.where(cells & (u < jnp.exp(-0.88 * s * sum_of)), -s, s)
        return s, s.mean()

    return lax.scan(sweep, jnp.sign(spins), jnp.arange(500))


@loop(300, integers(300, high=20), integers(400, high=20))
def edit_distance(a, b):
    def row(state, x):
        i, before = state
        base = jnp.minimum(before[:-1] + (b != x), before[1:] + 1)
        _, now = lax.scan(lambda left, c: (jnp.minimum(left + 1, c),) * 2, i + 1, base)
        return (i + 1, jnp.concatenate([(i + 1)[None], now])), None

    return lax.scan(row, (jnp.int32(0), jnp.arange(401)), a)[0][1]


# ----- adaptive steps, warps, tracking, lattices


@loop(20, floats(128, 128, 3), floats(2, 128, 128, low=0.0, high=126.0))
def warp_colours(u, flow):
    def step(u, _):
        y, x = flow[0], flow[1] + 0.1 * u[..., 0]
        i, j = jnp.floor(y).astype(int), jnp.floor(x).astype(int)
        a, b = (y - i)[..., None], (x - j)[..., None]
        above = (1 - a) * (1 - b) * u[i, j] + (1 - a) * b * u[i, j + 1]
        return above + a * (1 - b) * u[i + 1, j] + a * b * u[i + 1, j + 1], None
    return lax.scan(step, u, None, length=20)[0]

@loop(50, floats(128, 128), floats(2, 128, 128, low=0.0, high=127.0))
def bilinear_warp(image, flow):
    def step(u, _):
        return 0.9 * map_coordinates(u, [flow[0], flow[1]], order=1, mode="nearest") + 0.1 * image, None
    return lax.scan(step, image, None, length=50)[0]

@loop(1, floats(4), floats(4))
def rk45_adaptive(y, p):  # Fehlberg
    def slope(y):
        return jnp.stack([y[1], p[0] * (1 - y[0] ** 2) * y[1] - y[0], y[3], jnp.cos(y[0]) - y[2] - 0.1 * y[3]])
    def body(s):
        t, y, h, n = s
        k1 = slope(y)
        k2 = slope(y + h * k1 / 4)
        k3 = slope(y + h * (3 * k1 + 9 * k2) / 32)
        k4 = slope(y + h * (1932 * k1 - 7200 * k2 + 7296 * k3) / 2197)
        k5 = slope(y + h * (439 / 216 * k1 - 8 * k2 + 3680 / 513 * k3 - 845 / 4104 * k4))
        k6 = slope(y + h * (-8 / 27 * k1 + 2 * k2 - 3544 / 2565 * k3 + 1859 / 4104 * k4 - 11 / 40 * k5))
        y1 = y + h * (25 / 216 * k1 + 1408 / 2565 * k3 + 2197 / 4104 * k4 - k5 / 5)
        y2 = y + h * (16 / 135 * k1 + 6656 / 12825 * k3 + 28561 / 56430 * k4 - 9 / 50 * k5 + 2 / 55 * k6)
        e = jnp.max(jnp.abs(y2 - y1)) / 1e-5
        ok = e <= 1
        factor = jnp.clip(0.84 * (1 / (e + 1e-10)) ** 0.25, 0.1, 4.0)
        return jnp.where(ok, t + h, t), jnp.where(ok, y2, y), jnp.minimum(0.1, h * factor), n + 1
    return lax.while_loop(lambda s: (s[0] < 50.0) & (s[3] < 10000), body, (jnp.float32(0), y, jnp.float32(0.01), 0))

@loop(5000, floats(5000, 3), floats(4))
def quaternion_attitude(ws, q):
    def step(q, w):
        h = 0.005 * w
        n = jnp.sqrt((h**2).sum() + 1e-12)
        d = jnp.concatenate([jnp.cos(n)[None], h * jnp.sin(n) / n])
        r = jnp.stack([
            q[0] * d[0] - q[1] * d[1] - q[2] * d[2] - q[3] * d[3],
            q[0] * d[1] + q[1] * d[0] + q[2] * d[3] - q[3] * d[2],
            q[0] * d[2] - q[1] * d[3] + q[2] * d[0] + q[3] * d[1],
            q[0] * d[3] + q[1] * d[2] - q[2] * d[1] + q[3] * d[0]])
        r = r / jnp.linalg.norm(r)
        return r, r
    return lax.scan(step, q, ws)

@loop(5000, floats(5000, low=-3.0, high=3.0), floats(2))
def phase_locked_loop(x, p):
    def step(s, u):
        ph, fr = s
        e = u * jnp.sin(ph)
        fr = fr + 0.001 * e
        ph = jnp.remainder(ph + fr + 0.1 * e, 6.2831855)
        return (ph, fr), jnp.cos(ph)
    return lax.scan(step, (p[0], p[1]), x)

@loop(10_000, floats(10_000), floats(4, low=0.1, high=0.5))
def pid_control(reference, gains):
    def step(s, r):
        x, v, i, before = s
        e = r - x
        i = jnp.clip(i + 0.01 * e, -2.0, 2.0)
        u = jnp.clip(gains[0] * e + gains[1] * i + gains[2] * (e - before) / 0.01, -10.0, 10.0)
        v = v + 0.01 * (u - gains[3] * v - jnp.sign(v) * 0.05)
        return (x + 0.01 * v, v, i, e), (x, u)
    z = jnp.float32(0)
    return lax.scan(step, (z, z, z, z), reference)

@loop(2000, floats(2000, 2), floats(4))
def ekf_bearing(zs, x):
    q, r = jnp.eye(4) * 1e-3, jnp.eye(2) * 1e-2
    f = jnp.eye(4).at[0, 2].set(0.1).at[1, 3].set(0.1)
    def h(x):
        return jnp.stack([jnp.arctan2(x[1] + 2.0, x[0] + 3.0), jnp.sqrt((x[0] + 3.0) ** 2 + (x[1] + 2.0) ** 2)])
    def step(s, z):
        x, p = s
        x, p = f @ x, f @ p @ f.T + q
        hj = jax.jacfwd(h)(x)
        sm = hj @ p @ hj.T + r
        k = jnp.linalg.solve(sm, hj @ p).T
        x = x + k @ (z - h(x))
        p = (jnp.eye(4) - k @ hj) @ p
        return (x, p), x
    return lax.scan(step, (x, jnp.eye(4)), zs)

@loop(2000, floats(2000, 8), floats(16, 8))
def online_k_means(xs, c):
    def step(s, x):
        c, n = s
        k = jnp.argmin(((c - x) ** 2).sum(1))
        n = n.at[k].add(1.0)
        c = c.at[k].add((x - c[k]) / n[k])
        return (c, n), k
    return lax.scan(step, (c, jnp.ones(16)), xs)

@loop(300, floats(300, 64), floats(64, 64, low=-0.2, high=0.2), floats(64))
def recursive_least_squares(us, w, o):
    def step(s, u):
        h, p, o = s
        h = 0.7 * h + 0.3 * jnp.tanh(w @ h + u)
        y = o @ h
        ph = p @ h
        k = ph / (0.99 + h @ ph)
        o = o + k * (u[0] - y)
        p = (p - jnp.outer(k, ph)) / 0.99
        return (h, p, o), y
    return lax.scan(step, (jnp.zeros(64), jnp.eye(64), o), us)[1]

@loop(100, floats(9, 64, 64, low=0.05, high=0.15))
def lattice_boltzmann(f):
    cx = jnp.array([0, 1, 0, -1, 0, 1, -1, -1, 1.0])
    cy = jnp.array([0, 0, 1, 0, -1, 1, 1, -1, -1.0])
    w = jnp.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    shift = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
    def step(f, _):
        rho = f.sum(0)
        ux = jnp.tensordot(cx, f, 1) / rho
        uy = jnp.tensordot(cy, f, 1) / rho
        cu = 3 * (cx[:, None, None] * ux + cy[:, None, None] * uy)
        eq = w[:, None, None] * rho * (1 + cu + 0.5 * cu**2 - 1.5 * (ux**2 + uy**2))
        f = f + (eq - f) / 0.6
        return jnp.stack([jnp.roll(f[i], s, (0, 1)) for i, s in enumerate(shift)]), None
    return lax.scan(step, f, None, length=100)[0]

@loop(200, floats(200, 8, low=0.1), floats(8, 8, low=0.1))
def belief_propagation(unary, pair):  # sum-product, forward and backward
    def f(m, u):
        m = pair.T @ (m * u)
        m = m / m.sum()
        return m, m
    one = jnp.ones(8) / 8
    _, a = lax.scan(f, one, unary)
    def b(m, u):
        m = pair @ (m * u)
        m = m / m.sum()
        return m, m
    _, c = lax.scan(b, one, unary, reverse=True)
    p = unary * a * c
    return p / p.sum(1, keepdims=True)


if __name__ == "__main__":
    write_all(PROGRAMS, "step", __doc__)
