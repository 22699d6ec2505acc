"""Loops of control, finance, learning and discrete algorithms, among the programs of jax_loops.py."""
from jax_programs import KEY, floats, integers, jax, jnp, lax, loop

# ----- control and estimation


@loop(200, floats(12, 12, low=-0.25, high=0.25), floats(12, 4), floats(12))
def lqr_riccati(a, b, x):
    q, r = jnp.eye(12), jnp.eye(4)

    def back(p, _):
        k = jnp.linalg.solve(r + b.T @ p @ b, b.T @ p @ a)
        return q + a.T @ p @ (a - b @ k), k

    _, gains = lax.scan(back, q, None, length=200)

    def forward(x, k):
        u = -k @ x
        return a @ x + b @ u, (x, u)

    return lax.scan(forward, x, gains, reverse=True)


@loop(500, floats(500, 2), floats(4))
def unscented_kalman(ys, x):
    def move(s):
        return jnp.stack([s[0] + 0.1 * s[2], s[1] + 0.1 * s[3], 0.99 * s[2] - 0.1 * jnp.sin(s[0]), 0.99 * s[3]])

    def step(state, y):
        x, p = state
        root = jnp.linalg.cholesky(4.0 * p + 1e-3 * jnp.eye(4))
        points = jax.vmap(move)(jnp.concatenate([x[None], x + root.T, x - root.T]))
        weights = jnp.concatenate([jnp.zeros(1), jnp.full(8, 1 / 8)])
        x = weights @ points
        d = points - x
        p = (weights[:, None] * d).T @ d + 0.01 * jnp.eye(4)
        s = p[:2, :2] + 0.1 * jnp.eye(2)
        k = jnp.linalg.solve(s, p[:2]).T
        x = x + k @ (y - x[:2])
        return (x, p - k @ s @ k.T), x

    return lax.scan(step, (x, jnp.eye(4)), ys)


@loop(100, floats(2), KEY)
def sampled_control(x, key):  # 256 rollouts of 20 steps at each step
    def roll(x, us):
        def step(s, u):
            angle, speed = s
            speed = speed + 0.05 * (9.8 * jnp.sin(angle) + u)
            return (angle + 0.05 * speed, speed), angle ** 2 + 0.1 * speed ** 2 + 0.001 * u * u

        return lax.scan(step, (x[0], x[1]), us)[1].sum()

    def step(state, _):
        x, plan, key = state
        key, k = jax.random.split(key)
        tries = plan + jax.random.normal(k, (256, 20))
        costs = jax.vmap(lambda us: roll(x, us))(tries)
        plan = jax.nn.softmax(-costs) @ tries
        speed = x[1] + 0.05 * (9.8 * jnp.sin(x[0]) + plan[0])
        return (jnp.stack([x[0] + 0.05 * speed, speed]), jnp.roll(plan, -1), key), plan[0]

    return lax.scan(step, (x, jnp.zeros(20), key.astype(jnp.uint32)), None, length=100)


@loop(300, floats(64, 40), floats(300, 20), KEY)
def ensemble_kalman(ensemble, ys, key):  # of Lorenz's model of 1996, every second place observed
    def field(x):
        return (jnp.roll(x, -1, -1) - jnp.roll(x, 2, -1)) * jnp.roll(x, 1, -1) - x + 8

    def step(state, y):
        e, key = state
        key, k = jax.random.split(key)
        k1 = field(e)
        k2 = field(e + 0.025 * k1)
        e = e + 0.05 * k2
        d = e - e.mean(0)
        h = d[:, ::2]
        s = h.T @ h / 63 + jnp.eye(20)
        seen = y + jax.random.normal(k, (64, 20)) - e[:, ::2]
        e = e + seen @ jnp.linalg.solve(s, h.T @ d / 63)
        return (e, key), e.mean(0)

    return lax.scan(step, (ensemble, key.astype(jnp.uint32)), ys)


@loop(100, floats(3), floats(64), floats(64))
def levenberg_marquardt(p, t, y):
    def residual(p):
        return p[0] * jnp.exp(-p[1] * p[1] * t) + p[2] - y

    def step(state, _):
        p, damping = state
        j, r = jax.jacfwd(residual)(p), residual(p)
        g = j.T @ j
        q = p - jnp.linalg.solve(g + damping * jnp.diag(jnp.diag(g) + 1e-3), j.T @ r)
        better = (residual(q) ** 2).sum() < (r ** 2).sum()
        return (jnp.where(better, q, p), jnp.where(better, damping * 0.5, damping * 3)), (r ** 2).sum()

    return lax.scan(step, (p, 0.1), None, length=100)


# ----- finance


@loop(252, floats(4096, low=0.9, high=1.1), KEY)
def heston(s, key):
    def step(state, _):
        s, v, key = state
        key, k1, k2 = jax.random.split(key, 3)
        z1 = jax.random.normal(k1, s.shape)
        z2 = -0.7 * z1 + 0.714 * jax.random.normal(k2, s.shape)
        root = jnp.sqrt(jnp.maximum(v, 0) / 252)
        s = s * jnp.exp((0.02 - 0.5 * v) / 252 + root * z1)
        return (s, v + 1.5 * (0.04 - v) / 252 + 0.3 * root * z2, key), None

    s, _, _ = lax.scan(step, (s, jnp.full(4096, 0.04), key.astype(jnp.uint32)), None, length=252)[0]
    return jnp.maximum(s - 1, 0).mean()


@loop(1000, floats(16, low=0.9, high=1.1))
def american_option(strikes):
    up = jnp.exp(0.2 * jnp.sqrt(1 / 1000))
    p = (jnp.exp(0.03 / 1000) - 1 / up) / (up - 1 / up)
    prices = up ** (2.0 * jnp.arange(1001) - 1000)

    def of(strike):
        def step(v, i):
            held = jnp.exp(-0.03 / 1000) * (p * jnp.append(v[1:], 0) + (1 - p) * v)
            return jnp.maximum(held, strike - prices * up ** i), None

        return lax.scan(step, jnp.maximum(strike - prices, 0), jnp.arange(1, 1001, dtype=jnp.float32))[0][0]

    return jax.vmap(of)(strikes)


# ----- learning


@loop(200, floats(128, 16), floats(16, 64), floats(64, 1), KEY)
def training_with_dropout(x, w1, w2, key):
    y = jnp.sin(x.sum(1, keepdims=True))

    def loss(w, k):
        h = jnp.tanh(x @ w[0])
        h = jnp.where(jax.random.bernoulli(k, 0.8, h.shape), h / 0.8, 0)
        return ((h @ w[1] - y) ** 2).mean()

    def step(state, _):
        w, m, key = state
        key, k = jax.random.split(key)
        value, g = jax.value_and_grad(loss)(w, k)
        m = jax.tree.map(lambda m, g: 0.9 * m + g, m, g)
        return (jax.tree.map(lambda w, m: w - 0.05 * m, w, m), m, key), value

    w = (w1, w2)
    return lax.scan(step, (w, jax.tree.map(jnp.zeros_like, w), key.astype(jnp.uint32)), None, length=200)


@loop(20, floats(16, 16, 16, 3), floats(3, 3, 3, 8), floats(3, 3, 8, 16), floats(16, 10), integers(16, high=10))
def convolution_training(x, w1, w2, w3, y):
    def loss(w):
        h = x
        for each in w[:2]:
            h = lax.conv_general_dilated(h, each, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            h = jax.nn.relu(h)
        scores = h.mean((1, 2)) @ w[2]
        return -jnp.take_along_axis(jax.nn.log_softmax(scores), y[:, None], 1).mean()

    def step(w, _):
        value, g = jax.value_and_grad(loss)(w)
        return jax.tree.map(lambda w, g: w - 0.1 * g, w, g), value

    return lax.scan(step, (w1, w2, w3), None, length=20)


@loop(256, floats(256, 4, 32), floats(256, 4, 32), floats(256, 4, 32), floats(256, 4, low=0.0, high=1.0))
def delta_rule(qs, ks, vs, betas):
    def step(s, at):
        q, k, v, b = at
        k = k / jnp.linalg.norm(k, axis=-1, keepdims=True)
        old = jnp.einsum("hkv,hk->hv", s, k)
        s = s + jnp.einsum("hk,hv->hkv", k, b[:, None] * (v - old))
        return s, jnp.einsum("hkv,hk->hv", s, q)

    return lax.scan(step, jnp.zeros((4, 32, 32)), (qs, ks, vs, betas))


@loop(512, floats(512, 256), floats(512, 256), floats(512, 256), floats(256), floats(256))
def rwkv(rs, ks, vs, decay, bonus):
    w = -jnp.exp(decay)

    def step(state, at):
        num, den, top = state
        r, k, v = at
        m = jnp.maximum(top, bonus + k)
        a, b = jnp.exp(top - m), jnp.exp(bonus + k - m)
        out = jax.nn.sigmoid(r) * (a * num + b * v) / (a * den + b)
        m = jnp.maximum(top + w, k)
        a, b = jnp.exp(top + w - m), jnp.exp(k - m)
        return (a * num + b * v, a * den + b, m), out

    zero = jnp.zeros(256)
    return lax.scan(step, (zero, zero, zero - 1e30), (rs, ks, vs))


@loop(300, floats(300, 64), floats(64, 128), floats(128, 128, low=-0.1, high=0.1), floats(128, 10))
def spiking_gradient(xs, w_in, w_rec, w_out):
    @jax.custom_jvp
    def spike(v):
        return (v > 0).astype(jnp.float32)

    spike.defjvp(lambda p, t: (spike(p[0]), t[0] / (1 + 10 * jnp.abs(p[0])) ** 2))

    def loss(w):
        def step(state, x):
            v, s, out = state
            v = 0.9 * v * (1 - s) + x @ w[0] + s @ w[1]
            s = spike(v - 1)
            out = 0.95 * out + s @ w[2]
            return (v, s, out), (out ** 2).sum()

        zero = jnp.zeros(128)
        return lax.scan(step, (zero, zero, jnp.zeros(10)), xs)[1].mean()

    return jax.grad(loss)((w_in, w_rec, w_out))


@loop(1000, floats(1000, 32), floats(1000, 32), integers(4096, high=1000), integers(4096, high=1000))
def word_vectors(left, right, a, b):
    def step(state, i):
        left, right = state
        at = lax.dynamic_slice(a, (i * 4 % 4096,), (4,))
        bt = lax.dynamic_slice(b, (i * 4 % 4096,), (4,))
        u, v = left[at], right[bt]
        score = jax.nn.sigmoid((u * v).sum(1)) - 1
        return (left.at[at].add(-0.1 * score[:, None] * v), right.at[bt].add(-0.1 * score[:, None] * u)), score.sum()

    return lax.scan(step, (left, right), jnp.arange(1000))


@loop(49, floats(50, 20), integers(19, high=26))
def ctc_gradient(scores, labels):
    scores = jnp.concatenate([scores, scores[:, :7]], 1)
    extended = jnp.zeros(39, jnp.int32).at[1::2].set(labels + 1)
    skip = jnp.concatenate([jnp.zeros(2, bool), extended[2:] != extended[:-2]]) & (extended != 0)

    def loss(scores):
        p = jax.nn.log_softmax(scores)

        def step(alpha, row):
            one = jnp.concatenate([jnp.full(1, -1e30), alpha[:-1]])
            two = jnp.where(skip, jnp.concatenate([jnp.full(2, -1e30), alpha[:-2]]), -1e30)
            alpha = jnp.logaddexp(jnp.logaddexp(alpha, one), two) + row[extended]
            return alpha, None

        start = jnp.full(39, -1e30).at[:2].set(p[0][extended[:2]])
        end, _ = lax.scan(step, start, p[1:])
        return -jnp.logaddexp(end[-1], end[-2])

    return jax.value_and_grad(loss)(scores)


@loop(100, floats(256, 8), floats(8), KEY)
def evolution(data, w, key):
    def step(state, _):
        w, key = state
        key, k = jax.random.split(key)
        noise = jax.random.normal(k, (64, 8))
        fit = -((data @ (w + 0.1 * noise).T - 1) ** 2).mean(0)
        rank = jnp.argsort(jnp.argsort(fit)) / 63 - 0.5
        return (w + 0.05 * rank @ noise, key), fit.max()

    return lax.scan(step, (w, key.astype(jnp.uint32)), None, length=100)


@loop(60, floats(64, 4), KEY)
def cart_poles(s, key):  # 64 of them, begun anew where the pole falls
    def one(s, push):
        x, v, angle, spin = s
        temp = (push + 0.05 * spin ** 2 * jnp.sin(angle)) / 1.1
        turn = (9.8 * jnp.sin(angle) - jnp.cos(angle) * temp) / (0.5 * (4 / 3 - 0.1 * jnp.cos(angle) ** 2 / 1.1))
        speed = temp - 0.05 * turn * jnp.cos(angle) / 1.1
        return jnp.stack([x + 0.02 * v, v + 0.02 * speed, angle + 0.02 * spin, spin + 0.02 * turn])

    def step(state, _):
        s, key = state
        key, k1, k2 = jax.random.split(key, 3)
        push = jnp.where(s[:, 2] + 0.3 * s[:, 3] + 0.1 * jax.random.normal(k1, (64,)) > 0, 10.0, -10.0)
        s = jax.vmap(one)(s, push)
        fallen = (jnp.abs(s[:, 2]) > 0.2) | (jnp.abs(s[:, 0]) > 2.4)
        s = jnp.where(fallen[:, None], jax.random.uniform(k2, (64, 4), minval=-0.05, maxval=0.05), s)
        return (s, key), fallen.sum()

    return lax.scan(step, (s, key.astype(jnp.uint32)), None, length=60)


# ----- discrete algorithms


@loop(64, integers(64, high=1 << 20))
def sha_rounds(words):  # of SHA-256, for one block
    words = words.astype(jnp.uint32)

    def turn(x, n):
        return (x >> n) | (x << (32 - n))

    def step(s, w):
        a, b, c, d, e, f, g, h = s
        t1 = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + w
        t2 = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
        return (t1 + t2, a, b, c, d + t1, e, f, g), None

    return lax.scan(step, tuple(jnp.uint32(0x9E3779B9 * (i + 1) & 0xFFFFFFFF) for i in range(8)), words)[0]


@loop(10_000, integers(256, high=1 << 20), integers(10_000, high=256))
def checksum(table, data):
    def step(c, byte):
        return table[(c ^ byte) & 255] ^ (c >> 8), None

    table, data = table.astype(jnp.uint32), data.astype(jnp.uint32)
    return lax.scan(step, jnp.uint32(0xFFFFFFFF), data)[0]


@loop(200, integers(200, high=50), floats(200))
def knapsack(weights, values):
    def step(best, item):
        w, v = item
        at = jnp.arange(2001) - w
        taken = jnp.where(at >= 0, best[jnp.clip(at, 0)] + v, -jnp.inf)
        return jnp.maximum(best, taken), (taken > best).sum()

    return lax.scan(step, jnp.zeros(2001), (weights, values))


@loop(256, integers(256, high=4), integers(256, high=4))
def affine_alignment(a, b):  # Gotoh's
    def row(state, x):
        h, e = state
        e = jnp.maximum(e - 1, h - 4)
        score = jnp.where(b == x, 2.0, -1.0)

        def cell(s, at):
            left, f, diagonal = s
            up, e, score = at
            f = jnp.maximum(f - 1, left - 4)
            best = jnp.maximum(jnp.maximum(jnp.maximum(diagonal + score, e), f), 0)
            return (best, f, up), best

        _, now = lax.scan(cell, (0.0, -1e9, 0.0), (h, e, score))
        return (now, e), now.max()

    return lax.scan(row, (jnp.zeros(256), jnp.full(256, -1e9)), a)[1].max()


@loop(20, integers(1 << 12, high=1 << 20))
def radix_sort(x):
    x = x.astype(jnp.uint32)

    def step(x, bit):
        one = (x >> bit) & 1
        zeros = (1 - one).sum()
        at = jnp.where(one == 0, jnp.cumsum(1 - one) - 1, zeros + jnp.cumsum(one) - 1)
        return jnp.zeros_like(x).at[at].set(x), zeros

    return lax.scan(step, x, jnp.arange(20, dtype=jnp.uint32))


@loop(12, floats(4096, 16), integers(4095, high=16), floats(4095))
def decision_tree(x, feature, threshold):
    def step(node, _):
        go = jnp.take_along_axis(x, feature[node][:, None], 1)[:, 0] > threshold[node]
        return jnp.minimum(2 * node + 1 + go, 4094), None

    return lax.scan(step, jnp.zeros(4096, jnp.int32), None, length=12)[0]


@loop(50, integers(512, 8, high=512))
def breadth_first(neighbours):
    def body(s):
        distance, level, grew = s
        reached = (distance == level)[neighbours].any(1) & (distance < 0)
        return jnp.where(reached, level + 1, distance), level + 1, reached.any()

    start = jnp.full(512, -1).at[0].set(0)
    return lax.while_loop(lambda s: s[2], body, (start, 0, True))


# ----- equations


@loop(100, floats(66, 66))
def gauss_seidel(f):  # row by row, each row by the one before
    def sweep(u, _):
        def row(above, at):
            here, below, f = at
            inner = 0.25 * (above[1:-1] + below[1:-1] + here[:-2] + here[2:] - f[1:-1])
            here = here.at[1:-1].set(inner)
            return here, here

        _, rows = lax.scan(row, u[0], (u[1:-1], u[2:], f[1:-1]))
        return u.at[1:-1].set(rows), None

    return lax.scan(sweep, jnp.zeros((66, 66)), None, length=100)[0]


@loop(50, floats(65, 65))
def multigrid(f):  # two levels, red and black
    i = jnp.arange(65)
    red = ((i[:, None] + i[None]) % 2 == 0)[1:-1, 1:-1]

    def relax(u, f, mask):
        for colour in (mask, ~mask):
            new = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - f[1:-1, 1:-1])
            u = u.at[1:-1, 1:-1].set(jnp.where(colour, new, u[1:-1, 1:-1]))
        return u

    def step(u, _):
        u = relax(u, f, red)
        r = f[1:-1, 1:-1] - (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
        r = jnp.pad(r, 1)[::2, ::2] * 4
        e = jnp.zeros((33, 33))
        e = lax.fori_loop(0, 8, lambda _, e: relax(e, r, red[:31, :31]), e)
        fine = jnp.repeat(jnp.repeat(e, 2, 0), 2, 1)[:65, :65]
        return relax(u + jnp.pad(fine[1:-1, 1:-1], 1), f, red), (r ** 2).sum()

    return lax.scan(step, jnp.zeros((65, 65)), None, length=50)


@loop(500, floats(100, 100), floats(100, 100), floats(100, 100))
def maxwell(e, hx, hy):
    def step(s, t):
        e, hx, hy = s
        hx = hx.at[:, :-1].add(-0.5 * (e[:, 1:] - e[:, :-1]))
        hy = hy.at[:-1].add(0.5 * (e[1:] - e[:-1]))
        e = e.at[1:-1, 1:-1].add(0.5 * (hy[1:-1, 1:-1] - hy[:-2, 1:-1] - hx[1:-1, 1:-1] + hx[1:-1, :-2]))
        e = e.at[50, 50].add(jnp.sin(0.1 * t))
        return (e, hx, hy), e[20, 20]

    return lax.scan(step, (e, hx, hy), jnp.arange(500.0))


@loop(100, floats(256), floats(256, 3))
def coupled_oscillators(phase, place):
    d = ((place[:, None] - place[None]) ** 2).sum(-1)
    k = jnp.exp(-d)

    def step(p, _):
        return p + 0.01 * (1 + (k * jnp.sin(p[None] - p[:, None])).mean(1)), jnp.cos(p).mean()

    return lax.scan(step, phase, None, length=100)


@loop(200, floats(64, 48), floats(64), floats(48))
def linear_programme(a, b, c):  # by primal and dual steps
    def step(s, _):
        x, y, mean = s
        new = jnp.maximum(x - 0.05 * (c + a.T @ y), 0)
        y = jnp.maximum(y + 0.05 * (a @ (2 * new - x) - b), 0)
        return (new, y, 0.99 * mean + 0.01 * new), c @ new

    return lax.scan(step, (jnp.zeros(48), jnp.zeros(64), jnp.zeros(48)), None, length=200)


@loop(50, floats(32))
def quasi_newton(x):  # BFGS on Rosenbrock's function, step sizes halved until they help
    def f(x):
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    def step(state, _):
        x, h, g, value = state
        d = -h @ g

        def shorter(s):
            return s[0] * 0.5, f(x + s[0] * 0.5 * d)

        size, _ = lax.while_loop(lambda s: (s[1] > value + 1e-4 * s[0] * (g @ d)) & (s[0] > 1e-6), shorter,
                                 (1.0, f(x + d)))
        new = x + size * d
        value, now = jax.value_and_grad(f)(new)
        s, y = new - x, now - g
        r = 1 / jnp.maximum(y @ s, 1e-8)
        v = jnp.eye(32) - r * jnp.outer(s, y)
        return (new, v @ h @ v.T + r * jnp.outer(s, s), now, value), value

    value, g = jax.value_and_grad(f)(x)
    return lax.scan(step, (x, jnp.eye(32), g, value), None, length=50)


@loop(1000, floats(8), KEY)
def metropolis(x, key):
    def energy(x):
        return (x ** 2).sum() + jnp.cos(3 * x).sum()

    def step(state, _):
        x, e, key, taken = state
        key, k1, k2 = jax.random.split(key, 3)
        y = x + 0.3 * jax.random.normal(k1, x.shape)
        now = energy(y)
        yes = jnp.log(jax.random.uniform(k2)) < e - now
        return (jnp.where(yes, y, x), jnp.where(yes, now, e), key, taken + yes), x

    return lax.scan(step, (x, energy(x), key.astype(jnp.uint32), 0), None, length=1000)


@loop(10, floats(12, 12))
def jacobi_eigenvalues(m):
    a = m + m.T

    def rotate(i, state):
        a, v = state
        p = i // 12
        q = i % 12
        angle = 0.5 * jnp.arctan2(2 * a[p, q], a[q, q] - a[p, p] + 1e-30)
        c, s = jnp.cos(angle), jnp.sin(angle)

        def apply(a):
            left, right = a[:, p], a[:, q]
            return a.at[:, p].set(c * left - s * right).at[:, q].set(s * left + c * right)

        now = apply(apply(a).T).T
        yes = p < q
        return jnp.where(yes, now, a), jnp.where(yes, apply(v), v)

    return lax.fori_loop(0, 10, lambda _, s: lax.fori_loop(0, 144, rotate, s), (a, jnp.eye(12)))


@loop(30, floats(16, 16))
def unshifted_qr(m):
    def step(a, _):
        q, r = jnp.linalg.qr(a)
        return r @ q, jnp.diag(a)

    return lax.scan(step, m @ m.T, None, length=30)


@loop(256, floats(8192), floats(512, low=0.0, high=1.0))
def windows_spectrum(x, window):
    def step(total, i):
        part = lax.dynamic_slice(x, (i * 30,), (512,)) * window
        power = jnp.abs(jnp.fft.rfft(part)) ** 2
        return 0.9 * total + 0.1 * power, power.argmax()

    return lax.scan(step, jnp.zeros(257), jnp.arange(256))
