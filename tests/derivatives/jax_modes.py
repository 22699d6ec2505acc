"""What is computed of a function in jax_table.py: the same as cases.h says."""
import jax
import jax.numpy as jnp
import numpy as np


def weigh(y):
    """A number that depends on each element of y in another way."""
    at = jnp.arange(1.0, y.size + 1).reshape(y.shape)
    if jnp.iscomplexobj(y):
        return jnp.sum(jnp.real(y) * jnp.cos(at)) + jnp.sum(jnp.imag(y) * jnp.sin(at))
    return jnp.sum(y * jnp.cos(at))


def direction(x):
    at = jnp.arange(x.size, dtype=jnp.float64).reshape(x.shape)
    one = jnp.sin(2 + 3 * at)
    return one + 1j * jnp.cos(1 + at) if jnp.iscomplexobj(x) else one


def each(f):
    """Of a function of a number: its first and second derivative at each x."""
    return lambda x: [jax.vmap(jax.grad(f))(x), jax.vmap(jax.grad(jax.grad(f)))(x)]


def pair(f):
    """Of a function of two numbers: its gradient and its Hessian at each (x, y)."""
    both = lambda xy: f(xy[0], xy[1])

    def run(x, y):
        at = jnp.stack([x, y], 1)
        return [jax.vmap(jax.grad(both))(at), jax.vmap(jax.hessian(both))(at)]

    return run


def modes(f):
    """Its value, the gradient of weigh(f), and its tangent along direction()."""

    def run(*xs):
        def loss(args):
            return weigh(f(*args))

        tangents = tuple(direction(x) for x in xs)
        y, dy = jax.jvp(f, xs, tangents)
        return [y, *jax.grad(loss)(list(xs)), dy]

    return run


def forward(f):
    """Its value and tangent alone, where there is no way back."""
    return lambda *xs: list(jax.jvp(f, xs, tuple(direction(x) for x in xs)))


def second(f):
    """The Hessian of weigh(f), of one array."""
    return jax.hessian(lambda x: weigh(f(x)))


def some(*sizes, seed=0):
    """Numbers in -1 .. 1 without order, all different."""
    n = int(np.prod(sizes))
    return np.sin(np.cos(np.arange(n) * 1.7 + seed) * 9.3 + seed).reshape(sizes)


def positive(*sizes, seed=0):
    return some(*sizes, seed=seed) ** 2 + 0.1


def definite(n, seed=0):
    a = some(n, n, seed=seed)
    return a @ a.T + np.eye(n)


def complexes(*sizes, seed=0):
    return some(*sizes, seed=seed) + 1j * some(*sizes, seed=seed + 0.5)


def points(*xs):
    return np.array(xs, dtype=np.float64)
