"""Loops whose turns do by themselves what they could do at once: functions, random numbers and products of the turn's own rows, and what only
results need; functions of a number that a loop carries; products of batches that lie innermost; tridiagonal systems in a loop, rows of odd
lengths, and transposes of small matrices. bench/lowered/jax_ops.py writes them."""
from jax_programs import KEY, floats, function as add, integers, jax, jnp, lax, numbers

# ----- what a turn computes of its row, and what follows from the state

FUNCTIONS_OF_ONE = {"exp": jnp.exp, "log1p": lambda x: jnp.log1p(jnp.abs(x)), "sin": jnp.sin, "tanh": jnp.tanh, "erf": lax.erf, "cbrt": jnp.cbrt,
                    "pow": lambda x: jnp.abs(x) ** 1.3, "atan2": lambda x: jnp.arctan2(x, 2.0), "lgamma": lambda x: lax.lgamma(1.5 + jnp.abs(x))}


def scanned(step, first):
    return lambda xs: lax.scan(step, jnp.zeros(first, xs.dtype), xs)


for dtype in ("float32", "float64"):
    for name, f in FUNCTIONS_OF_ONE.items():
        row = numbers((5000,), dtype)
        add(f"of_state_{name}_{dtype}", scanned(lambda x, u, f=f: (0.9 * x + 0.1 * u, f(0.9 * x + 0.1 * u)), ()), row)
        add(f"of_row_{name}_{dtype}", scanned(lambda x, u, f=f: (0.9 * x + 0.1 * f(u),) * 2, ()), row)
        add(f"carried_{name}_{dtype}", scanned(lambda x, u, f=f: (0.5 * f(x) + 0.1 * u,) * 2, ()), row)
add("lax_map", lambda x: lax.map(lambda v: jnp.exp(-v * v) * jnp.sin(3 * v), x), floats(5000))
add("lax_map_of_rows", lambda x: lax.map(lambda v: jnp.exp(-v @ v) * jnp.sin(3 * v[0]), x), floats(5000, 3))


def langevin(x, noise):
    return x - 0.1 * x * x * x + 0.1 * noise


for size in ((), (2,), (8,), (16,)):
    name = "x".join(map(str, size)) or "1"
    add(f"noise_of_keys_{name}", lambda k, x: lax.scan(lambda x, k: (langevin(x, jax.random.normal(k, x.shape, x.dtype)),) * 2, x,
                                                       jax.random.split(k.astype(jnp.uint32), 2000)), KEY, floats(*size))
    add(f"noise_of_turns_{name}", lambda k, x: lax.scan(lambda x, i: (langevin(x, jax.random.normal(
        jax.random.fold_in(k.astype(jnp.uint32), i), x.shape, x.dtype)),) * 2, x, jnp.arange(2000)), KEY, floats(*size))


def garch(r, p):
    def step(state, r):
        s, total = state
        s = p[0] + p[1] * r * r + p[2] * s
        return (s, total - 0.5 * (jnp.log(s) + r * r / s)), None
    return lax.scan(step, (p[0], jnp.zeros_like(p[0])), r)[0][1]


add("garch", garch, floats(5000), floats(3, low=0.1, high=0.3))

# ----- products

for size in (64, 256, 512):
    def gru(x, wx, wh, h, size=size):
        def step(h, x):
            g, u = x @ wx, h @ wh
            z, r = jax.nn.sigmoid((g + u)[..., :size]), jax.nn.sigmoid((g + u)[..., size:2 * size])
            h = (1 - z) * jnp.tanh(g[..., 2 * size:] + r * u[..., 2 * size:]) + z * h
            return h, h
        return lax.scan(step, h, x)
    for batch in ((), (4,)):
        add(f"gru_{size}_{batch[0] if batch else 1}", gru, floats(200, *batch, size), floats(size, 3 * size, low=-0.1, high=0.1),
            floats(size, 3 * size, low=-0.1, high=0.1), floats(*batch, size))


def lstm(x, w, v, b, h):
    def step(state, x):
        h, c = state
        i, f, g, o = jnp.split(jnp.concatenate([x, h], -1) @ w + b, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h @ v
    return lax.scan(step, (h, h), x)


def tokens(t, e, wx, wh, wo, h):
    def step(h, t):
        h = jnp.tanh(e[t] @ wx + h @ wh)
        return h, jax.nn.log_softmax(h @ wo)
    return lax.scan(step, h, t)[1]


add("lstm_128", lstm, floats(200, 128), floats(256, 512, low=-0.1, high=0.1), floats(128, 64), floats(512), floats(128))
add("tokens_256", tokens, integers(500, high=1000), floats(1000, 256), *2 * (floats(256, 256, low=-0.1, high=0.1),), floats(256, 1000), floats(256))


def complex_einsum(spec):
    def run(a, b):
        y = jnp.einsum(spec, lax.complex(a[0], a[1]), lax.complex(b[0], b[1]))
        return y.real, y.imag
    return run


for m, n, k in ((4, 4, 40), (8, 8, 8), (16, 16, 4), (1, 16, 16), (2, 2, 256)):
    for lanes in (8, 33, 200):
        add(f"inner_{m}_{n}_{k}_{lanes}", lambda a, b: jnp.einsum("mkf,nkf->fmn", a, b), floats(m, k, lanes), floats(n, k, lanes))
add("spectral_covariance", complex_einsum("ctf,dtf->fcd"), *2 * (floats(2, 4, 40, 65),))
add("spectral_convolution", complex_einsum("bixy,ioxy->boxy"), floats(2, 4, 16, 12, 12), floats(2, 16, 16, 12, 12))
add("outer_mean", lambda a, b: jnp.einsum("sic,sjd->ijcd", a, b), *2 * (floats(8, 20, 8),))

# ----- ordinary and partial differential equations


def pendulum(x, us, p):
    def f(x, u):
        return jnp.array([x[1], -p[0] * jnp.sin(x[0]) - p[1] * x[1] + u])

    def step(x, u):
        k1 = f(x, u)
        k2 = f(x + 0.05 * k1, u)
        k3 = f(x + 0.05 * k2, u)
        x = x + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + f(x + 0.1 * k3, u))
        return x, jnp.array([jnp.cos(x[0]), jnp.sin(x[0])])
    return lax.scan(step, x, jnp.tanh(us))


add("pendulum_with_input", pendulum, floats(2), floats(2000), floats(2, low=0.5, high=1.0))
for n in (20, 100):
    def diffused(u, n=n):
        def step(i, u):
            return lax.linalg.tridiagonal_solve(*(jnp.full_like(u, d) for d in (-0.1, 1.2, -0.1)), u[:, None])[:, 0]
        return lax.fori_loop(0, 50, step, u)
    add(f"implicit_diffusion_{n}", diffused, floats(n))
for n in (7, 13, 15, 17, 31):
    def wave(u, n=n):
        def step(i, state):
            u, before = state
            return 2 * u - before + 0.1 * (jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 2 * u), u
        return lax.fori_loop(0, 50, step, (u, u))
    add(f"waves_{n}", wave, floats(500, n))

# ----- transposes of small matrices

for rows, columns in ((2, 8), (3, 8), (4, 8), (5, 5), (8, 8), (10, 10), (8, 16), (3, 3)):
    count = 65536 // (rows * columns)
    add(f"transposed_{rows}_{columns}", lambda x: x.transpose(0, 2, 1), floats(count, rows, columns))
    if rows == columns:
        add(f"symmetric_{rows}", lambda x: 0.5 * (x + x.transpose(0, 2, 1)), floats(count, rows, rows))
