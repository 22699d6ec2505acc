"""Loops over many products of small matrices, and gradients of exponentials, among the programs of jax_loops.py."""

from jax_programs import floats, jax, jnp, lax, loop

STEPS = 25


def lindblad(h, l, rho):
    """Lindblad's equation by Runge and Kutta's fourth order: 36 products of n x n a step."""

    def slope(r):
        decay = jnp.conj(l.T) @ l
        return -1j * (h @ r - r @ h) + (l @ r) @ jnp.conj(l.T) - 0.5 * (decay @ r + r @ decay)

    def step(r, _):
        size = 0.02
        k1 = slope(r)
        k2 = slope(r + size / 2 * k1)
        k3 = slope(r + size / 2 * k2)
        k4 = slope(r + size * k3)
        return r + size / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    return lax.scan(step, rho, None, length=STEPS)[0]


def of_equation(name, n, batch=None, of_gradient=False):

    def program(h, l, rho):
        h, l, rho = (lax.complex(x[0], x[1]) for x in (h, l, rho))
        run = lambda h, rho: lindblad(h, l, rho)
        if batch:
            return jax.vmap(run, (None, 0))(h, rho)
        if of_gradient:
            return jax.grad(lambda h: jnp.sum(jnp.abs(run(h, rho))**2))(h)
        return run(h, rho)

    program.__name__ = name
    square = lambda *lead: floats(2, *lead, n, n, low=-0.3, high=0.3)
    loop(STEPS, square(), square(), square(batch) if batch else square())(program)


of_equation("lindblad_6", 6)
of_equation("lindblad_8", 8)
of_equation("lindblad_9", 9)
of_equation("lindblad_8_each", 8, batch=16)
of_equation("lindblad_8_gradient", 8, of_gradient=True)


def of_products(name, n, count):

    def program(x, y):

        def step(x, _):
            x = jnp.tanh(x @ y)
            return x, x[0, 0]

        return lax.scan(step, x, None, length=100)

    program.__name__ = name
    loop(100, floats(count, n, n), floats(count, n, n))(program)


of_products("products_of_6_each", 6, 128)
of_products("products_of_8_each", 8, 128)
of_products("products_of_12_each", 12, 128)


@loop(100, floats(4096, 16), floats(16, 8), floats(8, 16))
def points_by_small_matrices(x, v, w):

    def step(x, _):
        x = jnp.tanh(x @ v) @ w
        return x, x[0, 0]

    return lax.scan(step, x, None, length=100)


@loop(20, floats(32, 32, low=-0.3, high=0.3), floats(32))
def expm_gradient(a, x):

    def loss(a):
        times = jnp.linspace(0.0, 1.0, 20)
        return jnp.sum(lax.scan(lambda x, t: (jax.scipy.linalg.expm(a * t) @ x, None), x, times)[0])

    return jax.grad(loss)(a)
