"""Loops of linear algebra, graphs and clusters, of nets and their training, among the programs of jax_loops.py."""
from jax_programs import floats, integers, jax, jnp, lax, loop

# ----- iterations of linear algebra, graphs and clusters


@loop(200, floats(128, 128, low=0.0))
def sinkhorn(cost):
    k, n = jnp.exp(-cost / 0.1), 128

    def step(state, _):
        u, v = state
        u = (1 / n) / (k @ v)
        return (u, (1 / n) / (k.T @ u)), None

    (u, v), _ = lax.scan(step, (jnp.ones(n), jnp.ones(n)), None, length=200)
    return u[:, None] * k * v[None]


@loop(1000, floats(64, 64, low=0.0), floats(64))
def conjugate_gradients(m, b):
    a = m @ m.T + 64 * jnp.eye(64)

    def body(state):
        x, r, p, i, rs = state
        ap = a @ p
        alpha = rs / (p @ ap + 1e-30)
        x, r = x + alpha * p, r - alpha * ap
        now = r @ r
        return x, r, r + now / (rs + 1e-30) * p, i + 1, now

    return lax.while_loop(lambda s: s[3] < 1000, body, (jnp.zeros(64), b, b, 0, b @ b))[0]


@loop(1000, floats(3), floats(4))
def newton_n3(x, c):
    def f(x):
        return jnp.stack([x[0] ** 2 + x[1] - c[0], jnp.sin(x[1]) + x[2] - c[1], x[0] * x[2] - c[2]])

    def step(x, _):
        x = x - 0.1 * jnp.linalg.solve(jax.jacfwd(f)(x) + 2 * jnp.eye(3), f(x))
        return x, x

    return lax.scan(step, x, None, length=1000)


@loop(300, floats(1024, low=0.0), integers(8192, high=1024), integers(8192, high=1024))
def pagerank(r, source, target):
    degree = jnp.zeros(1024).at[source].add(1.0) + 1

    def step(r, _):
        return 0.15 / 1024 + 0.85 * jnp.zeros(1024).at[target].add(r[source] / degree[source]), None

    return lax.scan(step, r, None, length=300)[0]


@loop(300, floats(64, 64, low=0.0))
def shortest_paths(d):
    def step(d, k):
        return jnp.minimum(d, d[:, k][:, None] + d[k][None]), None

    return lax.scan(step, d, jnp.arange(300) % 64)[0]


@loop(100, floats(2048, 8), floats(16, 8))
def k_means(x, c):
    def step(c, _):
        nearest = ((x[:, None] - c[None]) ** 2).sum(-1).argmin(1)
        members = jax.nn.one_hot(nearest, 16)
        return (members.T @ x) / (members.sum(0)[:, None] + 1e-6), None

    return lax.scan(step, c, None, length=100)[0]


@loop(1000, floats(1000, 32), floats(64, 32), integers(64, high=10))
def nearest_neighbours(queries, known, labels):
    def step(c, x):
        v, i = lax.top_k(-((known - x) ** 2).sum(-1), 4)
        return c + v[0], labels[i].sum()

    return lax.scan(step, 0.0, queries)


@loop(10_000, integers(10_000, high=1000), integers(1000, high=5))
def histogram(places, h):
    return lax.scan(lambda h, i: (h.at[i].add(1), h[i]), h, places)


@loop(200, floats(256), floats(200, 256))
def sorting(c, xs):
    def step(c, x):
        s = jnp.sort(c + x)
        return s * 0.5 + 0.1 * x, s[128]

    return lax.scan(step, c, xs)


@loop(200, floats(64))
def spectral(x):
    def step(x, _):
        spectrum = jnp.fft.rfft(x) * jnp.exp(-0.01 * jnp.arange(33))
        return jnp.fft.irfft(spectrum, 64) + 0.01 * jnp.sin(x), x.sum()

    return lax.scan(step, x, None, length=200)


@loop(100, floats(100, 100, low=0.0))
def all_shortest_paths(d):
    def step(k, d):
        return jnp.minimum(d, d[:, k][:, None] + d[k][None, :])

    return lax.fori_loop(0, 100, step, d)


@loop(40_000, integers(200, high=4), integers(200, high=4))
def common_subsequence(a, b):
    def row(before, i):
        def column(left, j):
            length = jnp.where(a[i] == b[j], before[j] + 1, jnp.maximum(before[j + 1], left))
            return length, length

        lengths = lax.scan(column, jnp.int32(0), jnp.arange(200))[1]
        return jnp.concatenate([jnp.zeros(1, jnp.int32), lengths]), None

    return lax.scan(row, jnp.zeros(201, jnp.int32), jnp.arange(200))[0][-1]


@loop(5000, floats(5000, 3, low=0.0))
def q_learning(us):
    def step(state, u):
        q, s = state
        a = jnp.where(u[0] < 0.1, (u[1] * 4).astype(jnp.int32), jnp.argmax(q[s]))
        s2 = (s * 3 + a + (u[2] * 3).astype(jnp.int32)) % 25
        reward = jnp.where(s2 == 24, 1.0, 0.0)
        return (q.at[s, a].add(0.1 * (reward + 0.9 * q[s2].max() - q[s, a])), s2), reward

    return lax.scan(step, (jnp.zeros((25, 4)), jnp.int32(0)), us)


@loop(1, floats(256), floats(256, low=2.5, high=4.0))
def cg_tridiagonal(b, d):
    def mul(x):
        return d * x - jnp.pad(x[1:], (0, 1)) - jnp.pad(x[:-1], (1, 0))
    def body(s):
        x, r, p, rs, n = s
        ap = mul(p)
        al = rs / jnp.vdot(p, ap)
        x, r = x + al * p, r - al * ap
        now = jnp.vdot(r, r)
        return x, r, r + (now / rs) * p, now, n + 1
    return lax.while_loop(lambda s: (s[3] > 1e-12) & (s[4] < 500), body, (jnp.zeros(256), b, b, jnp.vdot(b, b), 0))

@loop(63, floats(64), floats(64))
def levinson(r, y):
    r = r.at[0].set(70.0)
    def step(s, k):
        f, x, e = s
        idx = jnp.arange(64)
        lag = jnp.where(idx < k, r[jnp.clip(k - idx, 0, 63)], 0.0)
        g = -jnp.dot(lag, f) / e
        rev = jnp.where(idx <= k, f[jnp.clip(k - idx, 0, 63)], 0.0)
        f = f + g * rev
        e = e * (1 - g * g)
        q = (y[k] - jnp.dot(lag, x)) / e
        x = x + q * jnp.where(idx <= k, f[jnp.clip(k - idx, 0, 63)], 0.0)
        return (f, x, e), g
    f0 = jnp.zeros(64).at[0].set(1.0)
    return lax.scan(step, (f0, jnp.zeros(64).at[0].set(y[0] / r[0]), r[0]), jnp.arange(1, 64))

@loop(200, floats(24, 24, low=-0.2, high=0.2))
def orthogonal_iteration(m):  # by Gram and Schmidt
    a = m @ m.T + jnp.eye(24)
    def step(q, _):
        z = a @ q
        def col(i, z):
            v = z[:, i] / jnp.linalg.norm(z[:, i])
            rest = jnp.where(jnp.arange(4) > i, v @ z, 0.0)
            return (z - v[:, None] * rest[None]).at[:, i].set(v)
        q = lax.fori_loop(0, 4, col, z)
        return q, jnp.einsum("ij,ik,kj->j", q, a, q)
    return lax.scan(step, m[:, :4], None, length=200)


# ----- nets and their training


@loop(256, floats(64, 64, low=-0.1, high=0.1), floats(64, 192, low=-0.1, high=0.1), floats(256, 8, 64))
def gru_with_norm(w, u, xs):
    def step(h, x):
        centred = h - h.mean(-1, keepdims=True)
        z = centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) @ u
        reset, update, candidate = jnp.split(z, 3, -1)
        reset, update = jax.nn.sigmoid(reset + x), jax.nn.sigmoid(update)
        h = (1 - update) * h + update * jnp.tanh(candidate + reset * (x @ w))
        return h, h

    return lax.scan(step, jnp.zeros((8, 64)), xs)


@loop(64, floats(4, 64, 64, low=-0.1, high=0.1), floats(64), floats(4, 8, 128, 16), floats(4, 8, 128, 16))
def decode_h8(weights, x, keys, values):
    def token(state, t):
        def layer(x, of_layer):
            w, k, v = of_layer
            q = (w @ x)[:, None].reshape(8, 8)
            q = jnp.concatenate([q, q], -1)
            k = lax.dynamic_update_slice(k, q[:, None], (0, t, 0))
            v = lax.dynamic_update_slice(v, q[:, None] * 0.5, (0, t, 0))
            s = jnp.where(jnp.arange(128) <= t, jnp.einsum("hd,htd->ht", q, k) / 4, -1e9)
            o = jnp.einsum("ht,htd->hd", jax.nn.softmax(s, -1), v).reshape(-1)[:64]
            return x + 0.1 * jnp.tanh(o), (k, v)

        x, keys, values = state
        x, (keys, values) = lax.scan(layer, x, (weights, keys, values))
        return (x, keys, values), x[0]

    return lax.scan(token, (x, keys, values), jnp.arange(64))


@loop(100, floats(32, 32, low=-0.1, high=0.1), floats(32, 32, low=-0.1, high=0.1), floats(100, 16, 32))
def rnn_gradient(w, u, xs):
    def loss(weights):
        w, u = weights

        def step(h, x):
            h = jnp.tanh(h @ w + x @ u)
            return h, h

        return (lax.scan(step, jnp.zeros((16, 32)), xs)[1] ** 2).mean()

    return jax.grad(loss)((w, u))


@loop(50, floats(50, 1, 16, 16, 4), floats(3, 3, 4, 4, low=-0.1, high=0.1))
def convolutional_rnn(xs, w):
    def step(h, x):
        y = lax.conv_general_dilated(h + x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        h = jnp.tanh(y)
        return h, h.mean()

    return lax.scan(step, jnp.zeros((1, 16, 16, 4)), xs)


@loop(1000, floats(16), floats(1000, 16))
def adam_online(w, xs):
    def step(state, x):
        w, m, v, t = state
        g = jax.grad(lambda w: (jnp.dot(w, x) - 1.0) ** 2)(w)
        m, v, t = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g, t + 1
        w = w - 0.01 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8)
        return (w, m, v, t), w[0]

    return lax.scan(step, (w, jnp.zeros(16), jnp.zeros(16), 0.0), xs)


@loop(200, floats(200, 12), floats(12, 96, low=-0.5, high=0.5), floats(24, 96, low=-0.5, high=0.5))
def lstm_gradient(xs, w, u):
    def loss(weights):
        def step(state, x):
            h, c = state
            i, f, g, o = jnp.split(x @ weights[0] + h @ weights[1], 4)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        return jnp.sum(lax.scan(step, (jnp.zeros(24), jnp.zeros(24)), xs)[1] ** 2)

    return jax.grad(loss)((w, u))
