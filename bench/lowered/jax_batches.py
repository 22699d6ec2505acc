"""Batches of small states, as jax.vmap makes them of a function of one: [batch, n] arrays whose columns a step
computes, sets or turns; among the programs of jax_loops.py."""
from jax_programs import floats, integers, jax, jnp, lax, loop, numbers


def runge_kutta(slope, x, h):
    a = slope(x)
    b = slope(x + 0.5 * h * a)
    c = slope(x + 0.5 * h * b)
    d = slope(x + h * c)
    return x + h / 6 * (a + 2 * b + 2 * c + d)


def turns(step, state, count=1000):
    return lax.scan(lambda x, _: (step(x), None), state, None, length=count)[0]


# ----- states that a step puts together


@loop(1000, floats(1024, 3))
@jax.vmap
def lorenz_batch(x):
    def slope(x):
        return jnp.stack([10 * (x[1] - x[0]), x[0] * (28 - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]])

    return lax.scan(lambda x, _: (runge_kutta(slope, x, 0.001), x[0]), x, None, length=1000)


@loop(200, floats(512, 4))
@jax.vmap
def double_pendulum_batch(state):
    def slope(state):
        a, b, p, q = state
        d = a - b
        mass = 2 - jnp.cos(d) ** 2
        left = -jnp.sin(d) * (q * q + p * p * jnp.cos(d)) - 2 * 9.8 * jnp.sin(a)
        right = jnp.sin(d) * (p * p + q * q * jnp.cos(d)) - 9.8 * jnp.sin(b)
        return jnp.array([p, q, left / mass, right / mass])

    return turns(lambda x: runge_kutta(slope, x, 0.01), state, 200)


@loop(500, floats(512, 4))
@jax.vmap
def cart_pole_batch(state):
    def step(state, _):
        x, v, angle, w = state
        force = 10 * jnp.where(angle + 0.5 * w > 0, 1.0, -1.0)
        c, s = jnp.cos(angle), jnp.sin(angle)
        push = (force + 0.05 * w * w * s) / 1.1
        turn = (9.8 * s - c * push) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        new = jnp.array([x + 0.02 * v, v + 0.02 * (push - 0.05 * turn * c / 1.1), angle + 0.02 * w, w + 0.02 * turn])
        done = (jnp.abs(x) > 2.4) | (jnp.abs(angle) > 0.2)
        return jnp.where(done, jnp.zeros(4), new), jnp.where(done, 0.0, 1.0)

    return lax.scan(step, state, None, length=500)


@loop(300, floats(256, 8))
@jax.vmap
def ring_of_species(x):
    limits = jnp.arange(10, 2, -1) / 10.0
    return turns(
        lambda x: runge_kutta(
            lambda x: x * (1 - limits * x - 0.1 * jnp.roll(x, 1) + 0.1 * jnp.roll(x, -1)), x, 0.01), x, 300)


@loop(500, floats(1024, 3, 2))
@jax.vmap
def three_bodies(q):
    def step(state):
        q, p = state
        d = q[:, None] - q[None]
        p = p - 0.01 * (d * ((d * d).sum(-1) + 0.1)[..., None] ** -1.5).sum(1)
        return q + 0.01 * p, p

    return turns(step, (q, jnp.zeros_like(q)), 500)


# ----- states whose elements a step sets


@loop(1000, numbers((256, 4), "uint32", 0, 2**20))
@jax.vmap
def xoshiro_batch(s):
    def step(s, _):
        result, t = s[0] + s[3], s[1] << 9
        s = s.at[2].set(s[2] ^ s[0])
        s = s.at[3].set(s[3] ^ s[1])
        s = s.at[1].set(s[1] ^ s[2])
        s = s.at[0].set(s[0] ^ s[3])
        s = s.at[2].set(s[2] ^ t)
        return s.at[3].set((s[3] << 11) | (s[3] >> 21)), result

    return lax.scan(step, s, None, length=1000)


@loop(100, numbers((256, 16), "uint32", 0, 2**20))
@jax.vmap
def chacha_batch(x):
    def quarter(x, a, b, c, d):
        for target, by, into, shift in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x = x.at[target].add(x[by])
            mixed = x[into] ^ x[target]
            x = x.at[into].set((mixed << shift) | (mixed >> (32 - shift)))
        return x

    def rounds(x):
        for places in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                       (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            x = quarter(x, *places)
        return x

    return turns(rounds, x, 100)


@loop(1000, floats(16, 256))
def rows_in_turn(x):
    def step(x):
        x = x.at[0].add(0.1 * x[4])
        x = x.at[12].set(0.5 * x[12] - x[0])
        x = x.at[8].add(0.1 * x[12])
        return x.at[4].set(0.5 * x[4] - x[8])

    return turns(step, x)


# ----- fields of few components


@loop(20, floats(3, 48, 48, 48))
def curl(e):
    def difference(f, axis):
        return jnp.roll(f, -1, axis) - f

    return turns(
        lambda e: e + 0.3 * jnp.stack([
            difference(e[2], 1) - difference(e[1], 2),
            difference(e[0], 2) - difference(e[2], 0),
            difference(e[1], 0) - difference(e[0], 1)]), e, 20)


# ----- gradients of several rows a turn


@loop(200, floats(1000, 32), integers(200, 8, high=1000))
def embedding_bag_gradient(table, bags):
    def loss(table):
        return lax.scan(lambda s, bag: (s + jnp.tanh(table[bag].mean(0)).sum(), None), 0.0, bags)[0]

    return jax.grad(loss)(table)
