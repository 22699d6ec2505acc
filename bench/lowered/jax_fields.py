"""Fields on grids and elementwise recurrences, among the programs of jax_loops.py."""
from jax_programs import PROGRAMS, floats, jnp, lax, loop

# ----- fields on grids


def laplacian(u):  # by slices: of what lies inside
    return -4 * u[1:-1, 1:-1] + u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]


def rolled_laplacian(u):
    return sum(jnp.roll(u, s, d) for d in range(u.ndim) for s in (1, -1)) - 2 * u.ndim * u


@loop(300, floats(128, 128), floats(128, 128))
def wave(u, before):
    def step(s, _):
        u, before = s
        inside = 2 * u[1:-1, 1:-1] - before[1:-1, 1:-1] + 0.1 * laplacian(u)
        now = jnp.zeros_like(u).at[1:-1, 1:-1].set(inside)
        return (now, u), now[64, 64]
    return lax.scan(step, (u, before), None, length=300)


@loop(300, floats(128, 128))
def heat_inside(u):
    step = lambda u, _: (u.at[1:-1, 1:-1].add(0.1 * laplacian(u)), None)
    return lax.scan(step, u, None, length=300)[0]


@loop(300, floats(4096))
def advection(u):  # Lax and Friedrichs, Burgers' equation
    def step(u, _):
        f = 0.5 * u * u
        flux = 0.5 * (f + jnp.roll(f, -1)) - 0.2 * (jnp.roll(u, -1) - u)
        return u - 0.1 * (flux - jnp.roll(flux, 1)), None
    return lax.scan(step, u, None, length=300)[0]


@loop(200, floats(128, 128, low=0.0), floats(128, 128, low=0.0))
def gray_scott(u, v):
    def step(_, s):
        u, v = s
        uvv = u * v * v
        return (u + 0.16 * rolled_laplacian(u) - uvv + 0.035 * (1 - u),
                v + 0.08 * rolled_laplacian(v) + uvv - 0.095 * v)
    return lax.fori_loop(0, 200, step, (u, v))


@loop(200, floats(64, 64, 64))
def heat_in_space(u):
    return lax.scan(lambda u, _: (u + 0.1 * rolled_laplacian(u), None), u, None, length=200)[0]


@loop(100, floats(64, 64), floats(64, 64))
def cavity_flow(u, v):
    dx = lambda a: 0.5 * (jnp.roll(a, -1, 0) - jnp.roll(a, 1, 0))
    dy = lambda a: 0.5 * (jnp.roll(a, -1, 1) - jnp.roll(a, 1, 1))
    def step(s, _):
        u, v, p = s
        us = u + 0.01 * (rolled_laplacian(u) - u * dx(u) - v * dy(u))
        vs = v + 0.01 * (rolled_laplacian(v) - u * dx(v) - v * dy(v))
        divergence = dx(us) + dy(vs)
        relax = lambda _, p: 0.25 * (rolled_laplacian(p) + 4 * p - divergence)
        p = lax.fori_loop(0, 10, relax, p)
        return (us - dx(p), vs - dy(p), p), None
    return lax.scan(step, (u, v, jnp.zeros((64, 64))), None, length=100)[0]


@loop(100, floats(256, low=1.0, high=2.0), floats(64, 256))
def crank_nicolson(diagonal, u):  # tridiagonal systems by two scans
    a = -0.5
    def step(u, _):
        wide = jnp.pad(u, ((0, 0), (1, 1)))
        rhs = u + 0.25 * (wide[:, 2:] - 2 * u + wide[:, :-2])
        def down(s, row):
            d, r = row
            m = d - a * s[0]
            now = (jnp.broadcast_to(a / m, (64,)), (r - a * s[1]) / m)
            return now, now
        _, rows = lax.scan(down, (jnp.zeros(64), jnp.zeros(64)), (diagonal, rhs.T))
        def up(x, row):
            x = row[1] - row[0] * x
            return x, x
        return lax.scan(up, jnp.zeros(64), rows, reverse=True)[1].T, None
    return lax.scan(step, u, None, length=100)[0]


# ----- elementwise recurrences


@loop(64, floats(256, 256), floats(256, 256))
def mandelbrot(re, im):
    c = lax.complex(2 * re - 0.5, 1.5 * im)
    def body(s):
        i, z, n = s
        z = jnp.where(jnp.abs(z) < 2, z * z + c, z)
        return i + 1, z, n + (jnp.abs(z) < 2)
    start = (0, jnp.zeros_like(c), jnp.zeros((256, 256), jnp.int32))
    return lax.while_loop(lambda s: s[0] < 64, body, start)[2]


@loop(500, floats(256))
def bisection(a):
    def step(s, _):
        low, high = s
        middle = 0.5 * (low + high)
        below = jnp.tanh(middle) < 0.5 * a
        return (jnp.where(below, middle, low), jnp.where(below, high, middle)), None
    return lax.scan(step, (jnp.full(256, -3.0), jnp.full(256, 3.0)), None, length=500)[0]


@loop(2000, floats(256), floats(256))
def van_der_pol(x, v):
    rate = lambda x, v: (v, 2.0 * (1 - x * x) * v - x)
    def step(s, _):
        h = 0.01
        x, v = s
        a = rate(x, v)
        b = rate(x + h / 2 * a[0], v + h / 2 * a[1])
        c = rate(x + h / 2 * b[0], v + h / 2 * b[1])
        d = rate(x + h * c[0], v + h * c[1])
        mean = lambda i: h / 6 * (a[i] + 2 * b[i] + 2 * c[i] + d[i])
        return (x + mean(0), v + mean(1)), x[0]
    return lax.scan(step, (x, v), None, length=2000)


def repeated(fn):
    def program(x):
        return lax.scan(lambda x, _: (fn(x), None), x, None, length=500)[0]
    return program


for each, function in {"exponentials": lambda x: jnp.exp(-x), "rounding": lambda x: jnp.round(x * 8) / 7,
                       "clipping": lambda x: jnp.clip(x * 1.5, -1, 1)}.items():
    PROGRAMS[each] = (repeated(function), 500, (floats(256),))
