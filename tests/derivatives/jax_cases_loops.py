"""Loops and branches: derivatives of each kind, of each mode, and batched ones."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_modes import complexes, forward, modes, points, positive, second, some, weigh

CASES = {}
NS = np.array([0, 3, 1, 5], dtype=np.int32)


def case(name, f, *xs):
    CASES[name] = (modes(f), list(xs))


def ahead(name, f, *xs):
    CASES[name] = (forward(f), list(xs))


def hess(name, f, x):
    CASES[name] = (second(f), [x])


def batched(name, f, *xs, **axes):
    CASES[name] = (lambda *v: jax.tree.leaves(jax.vmap(f, **axes)(*v)), list(xs))


def cell(h, x):
    h = jnp.tanh(0.9 * h + x)
    return h, h * x


def both(result):
    """The last carry and the ys as one array."""
    return jnp.concatenate([result[0][None], result[1]])


H, XS = some(3), some(5, 3, seed=1)
case("scan", lambda h, xs: both(lax.scan(cell, h, xs)), H, XS)
case("scan_reverse", lambda h, xs: both(lax.scan(cell, h, xs, reverse=True)), H, XS)
case("scan_unroll_2", lambda h, xs: both(lax.scan(cell, h, xs, unroll=2)), H, XS)
case("scan_unroll_all", lambda h, xs: both(lax.scan(cell, h, xs, unroll=True)), H, XS)
case("scan_length_0", lambda h, xs: lax.scan(cell, h, xs)[0] * 2, H, np.zeros((0, 3)))
case("scan_length_1", lambda h, xs: both(lax.scan(cell, h, xs)), H, some(1, 3))
case("scan_no_ys", lambda h, xs: lax.scan(lambda h, x: (jnp.sin(h + x), None), h, xs)[0], H, XS)
case("scan_no_xs", lambda h: lax.scan(lambda h, _: (jnp.cos(h), h), h, None, length=4)[1], H)
case("scan_no_carry", lambda xs: lax.map(lambda x: jnp.sin(x) * x, xs), XS)
case("scan_captured", lambda w, xs: both(lax.scan(lambda h, x: (jnp.tanh(h @ w + x), h), jnp.zeros(3), xs)), some(3, 3, seed=2), XS)
case("scan_pair_carry", lambda a, b: (lambda r: r[0][0] * r[0][1])(lax.scan(lambda c, _: ((c[1], c[0] * 0.5 + jnp.sin(c[1])), None), (a, b), None, length=6)), H, H + 1)
case("scan_int_in_carry", lambda h: lax.scan(lambda c, _: ((c[0] * (1 + 0.1 * c[1]), c[1] + 1), None), (h, 0), None, length=4)[0][0], H)
case("scan_passthrough", lambda a, h: lax.scan(lambda c, _: ((c[0], c[1] * c[0]), None), (a, h), None, length=3)[0][1], H, H + 1)
case("scan_stacked_inputs", lambda xs: lax.scan(lambda c, x: (c + x * x, c * x), jnp.zeros(3), xs)[1], XS)
case("scan_axis_1", lambda xs: lax.map(lambda x: jnp.cumsum(x) * x, xs.T), some(3, 4))
case("scan_dus_carry", lambda x: lax.fori_loop(0, 4, lambda i, a: a.at[i + 1].set(jnp.sin(a[i]) + a[i + 1]), x), some(5))
hess("scan_second", lambda h: lax.scan(cell, h, some(4, 3, seed=1))[0], H)
hess("scan_ys_second", lambda h: lax.scan(cell, h, some(4, 3, seed=1))[1], H)


def nested(h, xss):
    def outer(h, xs):
        h, ys = lax.scan(cell, h, xs)
        return h * 0.5, jnp.sum(ys, 0)

    return both(lax.scan(outer, h, xss))


case("scan_nested", nested, H, some(2, 3, 3, seed=1))
hess("scan_nested_second", lambda h: nested(h, some(2, 2, 3, seed=1)), H)
case("scan_checkpoint_step", lambda h, xs: both(lax.scan(jax.checkpoint(cell), h, xs)), H, XS)
case("scan_checkpoint_blocks", lambda h, xs: both(lax.scan(cell, h, xs)), H, some(10, 3, seed=1))
case("scan_checkpoint_recursive", lambda h, xs: both(lax.scan(cell, h, xs)), H, some(9, 3, seed=2))
case("checkpoint", lambda x: jax.checkpoint(lambda x: jnp.sin(jnp.exp(x)) * x)(x), H)
case("map", lambda xs: lax.map(lambda x: jnp.outer(x, x).ravel(), xs), XS)
case("scan_layers", lambda w, x: lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, w)[0], some(4, 3, 3), H)
case("fori", lambda x: lax.fori_loop(0, 5, lambda i, x: jnp.sin(x) * (i + 1), x), H)
ahead("fori_dynamic", lambda x: lax.fori_loop(0, jnp.argmax(x) + 2, lambda i, x: jnp.sin(x) + i, x), H)
ahead("while", lambda x: lax.while_loop(lambda x: jnp.sum(x * x) < 100, lambda x: x * 1.5 + 0.1, x), H)
ahead("while_pair", lambda x: lax.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, jnp.sin(c[1]) * x), (0, x))[1], H)
case("while_max_steps", lambda x: lax.scan(lambda x, _: (jnp.where(jnp.sum(x * x) < 9, x * 1.5 + 0.1, x), None), x, None, length=12)[0], H)
case("while_max_steps_sqrt", lambda a: lax.scan(lambda x, _: (jnp.where(jnp.abs(x * x - a) > 1e-12, 0.5 * (x + a / x), x), None), a, None, length=9)[0], np.array(2.5))


def branch(p, x):
    return lax.cond(p, lambda x: jnp.sin(x) * x, lambda x: x**3, x)


case("cond_true", lambda x: branch(x[0] < 5, x), H)
case("cond_false", lambda x: branch(x[0] > 5, x), H)
case("cond_captured", lambda x, y: lax.cond(x[0] < 5, lambda: x * y, lambda: x - y), H, H + 1)
case("cond_constant_branch", lambda x: lax.cond(x[0] > 5, lambda x: x * x, lambda x: jnp.ones(3), x), H)
case("cond_nan_not_taken", lambda x: lax.cond(x[0] < 5, lambda x: x * x, lambda x: jnp.sqrt(x - 9), x), H)
case("cond_in_scan", lambda h, xs: both(lax.scan(lambda h, x: (branch(x[0] > 0, h + x), h), h, xs)), H, XS)
case("scan_in_cond", lambda h, xs: lax.cond(h[0] < 5, lambda: lax.scan(cell, h, xs)[0], lambda: h), H, XS)
BRANCHES = [lambda x: x * 2, lambda x: jnp.exp(x), lambda x: x * x * x]
for which in (-1, 0, 1, 2, 7):
    case(f"switch_{which}", lambda x, i=which: lax.switch(i, BRANCHES, x), H)
case("switch_in_scan", lambda h: lax.scan(lambda h, i: (lax.switch(i, BRANCHES, h) * 0.5, h), h, jnp.array([0, 1, 2, 1]))[1], H)
hess("cond_second", lambda x: branch(x[0] < 5, x), H)
case("associative_sum", lambda x: lax.associative_scan(jnp.add, x), some(7, 2))
case("associative_matmul", lambda x: lax.associative_scan(jnp.matmul, x), some(6, 2, 2))
case("associative_reverse", lambda x: lax.associative_scan(jnp.multiply, x, reverse=True), some(5))


def affine(a, b):
    return lax.associative_scan(lambda s, t: (s[0] * t[0], t[0] * s[1] + t[1]), (a, b))[1]


case("associative_affine", affine, some(8), some(8, seed=1))
hess("associative_second", lambda a: affine(a, some(4, seed=1)), some(4))
case("scan_complex", lambda z: jnp.abs(lax.scan(lambda h, z: (h * z + 1, None), 1 + 0j, z)[0]), complexes(4))

# Batched loops.
batched("vmap_scan", lambda h, xs: lax.scan(cell, h, xs), some(4, 3), some(4, 5, 3, seed=1))
batched("vmap_scan_shared_xs", lambda h, xs: lax.scan(cell, h, xs), some(4, 3), XS, in_axes=(0, None))
batched("vmap_scan_shared_h", lambda h, xs: lax.scan(cell, h, xs), H, some(5, 3, 4, seed=1), in_axes=(None, 2))
batched("vmap_scan_out_axes", lambda h, xs: lax.scan(cell, h, xs), some(4, 3), XS, in_axes=(0, None), out_axes=(1, -1))
batched("vmap_while", lambda n: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 1.5), (0, 1.0))[1], NS)
batched("vmap_while_float", lambda x: lax.while_loop(lambda x: x < 9, lambda x: x * x + 1, x), points(0, 1, 2, 20))
batched("vmap_fori_dynamic", lambda n, x: lax.fori_loop(0, n, lambda i, x: x * 0.5 + i, x), NS, some(4))
batched("vmap_cond", lambda p, x: branch(p > 0, x), some(4), some(4, 3, seed=1))
batched("vmap_cond_shared", lambda p, x: branch(p > 0, x), np.array(0.5), some(4, 3, seed=1), in_axes=(None, 0))
batched("vmap_switch", lambda i, x: lax.switch(i, BRANCHES, x), NS, some(4, 3))
batched("vmap_associative", affine, some(3, 6), some(3, 6, seed=1))
batched("vmap_map", lambda xs: lax.map(jnp.sin, xs), some(2, 4))
batched("vmap_grad_scan", jax.grad(lambda h, xs: weigh(both(lax.scan(cell, h, xs)))), some(4, 3), XS, in_axes=(0, None))
batched("vmap_jvp_while", lambda x: jax.jvp(lambda x: lax.while_loop(lambda x: x < 9, lambda x: x * x + 1, x), (x,), (1.0,)), points(0, 1, 2, 20))
batched("vmap_grad_cond", jax.grad(lambda x: branch(x > 0, x)), some(4))
batched("vmap_vmap_scan", jax.vmap(lambda h, xs: lax.scan(cell, h, xs)[0], in_axes=(0, None)), some(4, 2, 3), some(4, 5, 3, seed=1))
CASES["grad_vmap_scan"] = (lambda h, xs: jax.grad(lambda h: weigh(jax.vmap(lambda h: both(lax.scan(cell, h, xs)))(h)))(h), [some(4, 3), XS])
CASES["vmap_in_scan"] = (lambda h, xs: lax.scan(lambda h, x: (jax.vmap(lambda a: jnp.sin(a) * x[0])(h), None), h, xs)[0], [H, XS])
CASES["grad_in_scan"] = (lambda x: lax.scan(lambda x, _: (x - 0.1 * jax.grad(lambda x: weigh(x**4))(x), x), x, None, length=5)[1], [H])
CASES["jacfwd_scan"] = (lambda h, xs: jax.jacfwd(lambda h: lax.scan(cell, h, xs)[1])(h), [H, XS])
CASES["jacrev_scan"] = (lambda h, xs: jax.jacrev(lambda h: lax.scan(cell, h, xs)[1])(h), [H, XS])
CASES["jacfwd_while"] = (jax.jacfwd(lambda x: lax.while_loop(lambda x: jnp.sum(x * x) < 100, lambda x: x * jnp.roll(x, 1) + 1, x)), [H])
