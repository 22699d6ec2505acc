"""Steps that change a part of what they carry, gradients that add up in a part, and work that a
broadcast repeats, among the programs of jax_loops.py."""
from jax_programs import floats, integers, jax, jnp, lax, loop

# ----- what a step changes


def steps(turn, state, count=1000):
    return lax.scan(lambda x, _: (turn(x), None), state, None, length=count)[0]


@loop(1000, floats(9216))
def scale_and_set(x):
    return steps(lambda x: (x * 0.99).at[0].set(1.0), x)


@loop(1000, floats(64, 64))
def four_edges(u):
    return steps(lambda u: (u * 0.99).at[0].set(0.0).at[-1].set(0.0).at[:, 0].set(0.0).at[:, -1].set(0.0), u)


@loop(1000, floats(96, 96), floats(96))
def inflow(u, row):
    return steps(lambda u: (u * 0.99).at[0].set(row), u)


@loop(1000, floats(1024, 3))
def shifted_points(x):
    return steps(lambda x: x.at[1:].add(0.01), x)


@loop(1000, floats(32, 32, 3))
def springs(x):

    def relax(x):
        e = x[1:] - x[:-1]
        return x.at[:-1].add(0.25 * e).at[1:].add(-0.25 * e)

    return steps(relax, x)


@loop(50, floats(128, 128, 3))
def colour_blur(x):

    def blur(x):
        lines = x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1]
        return x.at[1:-1, 1:-1].set(0.2 * (x[1:-1, 1:-1] + lines))

    return steps(blur, x, 50)


@loop(50, floats(64, 64, 3), floats(64), floats(64, 3))
def driven_vectors(v, a, b):
    return steps(lambda v: 0.5 * v * a[:, None, None] + 0.1 * b[None], v, 50)


# ----- gradients by what a step reads at one place


@loop(200, floats(1000, 32), integers(200, high=1000), floats(32, 32, low=-0.2, high=0.2))
def embedding_gradient(table, ids, u):

    def loss(table):
        cell = lambda h, i: 2 * (jnp.tanh(h @ u + table[i]),)
        return jnp.square(lax.scan(cell, jnp.zeros(32), ids)[1]).mean()

    return jax.grad(loss)(table)


@loop(200, floats(4096), floats(64))
def window_gradient(signal, w):

    def loss(signal):
        cell = lambda h, i: 2 * (jnp.tanh(0.5 * h + w @ lax.dynamic_slice(signal, ((i * 19) % 4000,), (64,))),)
        return lax.scan(cell, 0.0, jnp.arange(200))[1].mean()

    return jax.grad(loss)(signal)


@loop(200, floats(24, 64, 64), integers(200, high=24), floats(64))
def layer_bank_gradient(layers, ids, x):

    def loss(layers):
        cell = lambda h, i: 2 * (jnp.tanh(0.2 * layers[i] @ h),)
        return lax.scan(cell, x, ids)[1].sum(1).mean()

    return jax.grad(loss)(layers)


# ----- work of rows beside their columns


@loop(100, floats(512, low=0.5, high=5.0), floats(512, 50, low=0.1))
def row_functions(g, m):

    def step(s, _):
        g, m = s
        return (g + 0.001, jnp.sin(jnp.exp(jnp.cos(g)))[:, None] * m + 0.5 * m), None

    return lax.scan(step, (g, m), None, length=100)[0]


@loop(100, floats(64, 8, low=0.5, high=5.0), floats(64, 8, 50, low=0.1))
def dirichlet_means(g, b):
    step = lambda g: 1.5 + jnp.tanh((jax.scipy.special.digamma(g)[:, :, None] * b).mean(2))
    return steps(step, g, 100)


# ----- numbers of few bits, and complex ones


@loop(500, integers(64, 64, high=2), integers(64, high=2), integers(64, high=2))
def eliminated_bits(a, rows, columns):

    columns = columns > 0

    def step(s, _):
        a, rows = s
        return (a ^ (rows[:, None] & columns[None, :]), ~rows), None

    return lax.scan(step, (a > 0, rows > 0), None, length=500)[0]


@loop(500, floats(2, 16, 4))
def normalised_states(s):
    return steps(lambda q: q / jnp.sqrt((jnp.abs(q)**2).sum(0)) + 0.01j * q, s[0] + 1j * s[1], 500)
