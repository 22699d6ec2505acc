"""Loops that solve dense systems, among the programs of jax_loops.py."""
from jax.scipy import linalg
from jax_programs import floats, jnp, lax, loop


def fixed_point(n, solution):
    """x := the solution of (a + |x| + n) x = x + 1, 200 times."""

    def program(a, x):
        def step(x, _):
            x = solution(a, jnp.diag(jnp.abs(x) + n), x + 1)
            return x, x[0]

        return lax.scan(step, x, None, length=200)

    return program


def register(name, n, solution):
    program = fixed_point(n, solution)
    program.__name__ = f"{name}_{n}"
    loop(200, floats(n, n), floats(n))(program)


for rows in (13, 16, 32, 64):
    register("solve", rows, lambda a, d, b: jnp.linalg.solve(a + d, b))
    register("cho_solve", rows, lambda a, d, b: linalg.cho_solve(linalg.cho_factor(a @ a.T + d), b))


@loop(20, floats(16, 16))
def expm_16(a):
    def step(x, _):
        x = linalg.expm(x) * 0.1
        return x, x[0]

    return lax.scan(step, a, None, length=20)
