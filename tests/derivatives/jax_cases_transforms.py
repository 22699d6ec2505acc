"""Transforms of transforms: jvp of grad, grad of vmap, Jacobians, rules of one's own, examples."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn

from jax_modes import complexes, definite, points, positive, some, weigh

CASES = {}


def case(name, f, *xs):
    CASES[name] = (lambda *v: jax.tree.leaves(f(*v)), list(xs))


def f3(x):
    """R^3 -> R^2."""
    return jnp.stack([x[0] * jnp.sin(x[1]), jnp.exp(x[2]) * x[0] ** 2])


def g3(x):
    return weigh(f3(x)) * x[1]


X = some(3)
case("grad", jax.grad(g3), X)
case("grad_grad", jax.grad(lambda x: weigh(jax.grad(g3)(x))), X)
case("grad_grad_grad", jax.grad(lambda x: weigh(jax.grad(lambda x: weigh(jax.grad(g3)(x)))(x))), X)
case("value_and_grad", jax.value_and_grad(g3), X)
case("grad_aux", jax.grad(lambda x: (g3(x), x * 2), has_aux=True), X)
case("grad_two", jax.grad(lambda a, b: weigh(a * jnp.sin(b)), argnums=(0, 1)), X, X + 1)
case("grad_second_argument", jax.grad(lambda a, b: weigh(a * jnp.sin(b)), argnums=1), X, X + 1)
case("grad_of_a_pair", lambda a, b: jax.grad(lambda p: weigh(p[0] @ p[1]))((a, b)), some(2, 3), some(3, seed=1))
case("jvp", lambda x, t: jax.jvp(f3, (x,), (t,)), X, X + 1)
case("jvp_of_jvp", lambda x, t: jax.jvp(lambda x: jax.jvp(f3, (x,), (t,))[1], (x,), (t,)), X, X + 1)
case("jvp_of_grad", lambda x, t: jax.jvp(jax.grad(g3), (x,), (t,)), X, X + 1)
case("grad_of_jvp", lambda x, t: jax.grad(lambda x: weigh(jax.jvp(f3, (x,), (t,))[1]))(x), X, X + 1)
case("vjp", lambda x, c: jax.vjp(f3, x)[1](c), X, some(2, seed=4))
case("linearize", lambda x, t: jax.linearize(f3, x)[1](t), X, X + 1)
case("jacfwd", jax.jacfwd(f3), X)
case("jacrev", jax.jacrev(f3), X)
case("jacfwd_of_jacrev", jax.jacfwd(jax.jacrev(f3)), X)
case("jacrev_of_jacfwd", jax.jacrev(jax.jacfwd(f3)), X)
case("hessian", jax.hessian(g3), X)
case("hessian_of_matrix", jax.hessian(lambda a: weigh(a @ a)), some(2, 2))
case("jacobian_of_matrix", jax.jacrev(lambda a: a @ a.T), some(2, 3))
case("grad_of_hessian_trace", jax.grad(lambda x: jnp.trace(jax.hessian(g3)(x))), X)
case("laplacian", lambda x: jnp.sum(jax.vmap(lambda e: e @ jax.jvp(jax.grad(g3), (x,), (e,))[1])(jnp.eye(3))), X)


def layer(w, b, x):
    return jnp.tanh(w @ x + b)


def carried(c, x):
    """The last state and all outputs of a scan, from a pair of a matrix and a vector."""
    step = lambda s, v: ((s[0] * v, jnp.sin(s[1] @ s[0]) + v), (s[1] * v, {"n": jnp.sum(s[0] * s[0])}))
    return lax.scan(step, c, x)


M, B = some(2, 3), some(2, seed=1)
SQUARE, STATE = some(3, 3), some(3, seed=1)
for mode in (jax.jacrev, jax.jacfwd):
    name = mode.__name__ + "_"
    case(name + "by_tree", lambda w, b, x, mode=mode: mode(lambda c: layer(c[0], c[1], x))((w, b)), M, B, X)
    case(name + "of_tree", mode(lambda x: (jnp.outer(x, x**2), {"s": jnp.sum(x**3)})), X)
    case(name + "of_tree_by_tree", lambda w, b, mode=mode: mode(lambda c: [c[0] @ c[0].T, (jnp.sum(c[1] ** 2), c[1] * c[0][:, 0])])((w, b)), M, B)
    case(name + "argnums", mode(layer, argnums=(2, 0)), M, B, X)
    case(name + "aux", mode(lambda w, b, x: (layer(w, b, x), jnp.argmax(x)), argnums=1, has_aux=True), M, B, X)
    case(name + "of_scan_by_tree", lambda a, b, x, mode=mode: mode(lambda c: carried(c, x))((a, b)), SQUARE, STATE, some(4, seed=2))
    case(name + "by_tree_in_lanes", lambda w, b, x, mode=mode: jax.vmap(mode(lambda c: layer(c[0], c[1], x)), ((None, 0),))((w, b)), M, some(3, 2), X)
case("hessian_by_tree", lambda w, b, x: jax.hessian(lambda c: weigh(layer(c[0], c[1], x) ** 2))((w, b)), M, B, X)
case("hessian_argnums", jax.hessian(lambda w, b, x: weigh(layer(w, b, x)), argnums=(2, 1)), M, B, X)
case("hessian_aux", jax.hessian(lambda x: (g3(x), f3(x)), has_aux=True), X)
case("hessian_of_scan_by_tree", lambda a, b, x: jax.hessian(lambda c: weigh(carried(c, x)[0][1]))((a, b)), SQUARE, STATE, some(4, seed=2))
case("vmap_grad", jax.vmap(jax.grad(g3)), some(4, 3))
case("grad_vmap", jax.grad(lambda xs: weigh(jax.vmap(f3)(xs))), some(4, 3))
case("vmap_hessian", jax.vmap(jax.hessian(g3)), some(4, 3))
case("hessian_vmap", jax.hessian(lambda xs: weigh(jax.vmap(f3)(xs))), some(2, 3))
case("vmap_jacrev", jax.vmap(jax.jacrev(f3)), some(4, 3))
case("vmap_jvp", jax.vmap(lambda x, t: jax.jvp(f3, (x,), (t,)), (0, None)), some(4, 3), X)
case("vmap_vmap", jax.vmap(jax.vmap(lambda a, b: a * jnp.sin(b), (None, 0)), (0, None)), X, X + 1)
case("vmap_axes", jax.vmap(lambda a, b: a @ b, (1, -1), 1), some(3, 4), some(3, 2, 4, seed=1))
case("vmap_none", jax.vmap(lambda a, b: a + b, (None, 0)), X, some(2, 3, seed=1))
case("vmap_matmul_shared", jax.vmap(jnp.dot, (0, None)), some(4, 3), some(3, 2, seed=1))
case("vmap_solve", jax.vmap(jnp.linalg.cholesky), np.stack([definite(2), definite(2, 1)]))
case("vmap_sort", jax.vmap(jnp.sort), some(3, 4))
case("vmap_argsort_take", jax.vmap(lambda x: x[jnp.argsort(x)[:2]]), some(3, 4))
case("vmap_index", jax.vmap(lambda x, i: x[i]), some(3, 4), np.array([3, 0, 1], dtype=np.int32))
case("vmap_at_add", jax.vmap(lambda x, i: x.at[i].add(1.0)), some(3, 4), np.array([3, 0, 1], dtype=np.int32))
case("vmap_dynamic_slice", jax.vmap(lambda x, i: lax.dynamic_slice(x, (i,), (2,))), some(3, 4), np.array([3, 0, 1], dtype=np.int32))
case("vmap_where", jax.vmap(lambda p, x: jnp.where(p > 0, x, 0.0)), some(4), some(4, 3, seed=1))
case("vmap_cumsum", jax.vmap(jnp.cumsum), some(3, 4))
case("vmap_fft", jax.vmap(lambda x: jnp.abs(jnp.fft.fft(x))), some(3, 4))
case("vmap_conv", jax.vmap(lambda x, k: jnp.convolve(x, k)), some(2, 5), some(2, 3, seed=1))
case("vmap_psum", jax.vmap(lambda x: x / lax.psum(x, "i"), axis_name="i"), positive(4))
case("vmap_pmean_grad", jax.vmap(jax.grad(lambda x: jnp.sin(x) * lax.stop_gradient(x)), axis_name="i"), some(4))
case("vmap_axis_index", jax.vmap(lambda x: x * lax.axis_index("i"), axis_name="i"), some(4))
case("grad_psum", jax.grad(lambda xs: weigh(jax.vmap(lambda x: x * lax.psum(x * x, "i"), axis_name="i")(xs))), some(4))
W, XS, YS = some(3, 2), some(5, 3, seed=1), some(5, 2, seed=2)
loss = lambda w, x, y: jnp.sum((jnp.tanh(x @ w) - y) ** 2)
case("per_example_gradients", jax.vmap(jax.grad(loss), (None, 0, 0)), W, XS, YS)
case("per_example_norms", lambda w, xs, ys: jnp.sqrt(jnp.sum(jax.vmap(jax.grad(loss), (None, 0, 0))(w, xs, ys) ** 2, (1, 2))), W, XS, YS)
case("gauss_newton", lambda w, x: (lambda j: j.T @ j)(jax.jacrev(lambda w: jnp.tanh(x @ w.reshape(3, 2)).ravel())(w)), some(6), some(4, 3, seed=1))
case("hessian_vector", lambda w, t, xs, ys: jax.jvp(jax.grad(lambda w: jnp.mean(jax.vmap(loss, (None, 0, 0))(w, xs, ys))), (w,), (t,))[1], W, W + 1, XS, YS)
case("meta_gradient", jax.grad(lambda w: loss(w - 0.1 * jax.grad(loss)(w, XS[0], YS[0]), XS[1], YS[1])), W)
case("implicit", jax.grad(lambda a: jnp.sqrt(a) ** 3), np.array(2.0))


@jax.custom_jvp
def clamped(x):
    return jnp.maximum(x, 0)


@clamped.defjvp
def slope_of_clamped(x, t):
    y = jnp.maximum(x[0], 0)
    return y, t[0] * (1 + 0.1 * y)


@jax.custom_vjp
def doubled(x):
    return jnp.sin(x)


doubled.defvjp(lambda x: (jnp.sin(x), x), lambda x, c: (2 * c * jnp.cos(x),))
case("custom_jvp", lambda x: jax.jvp(clamped, (x,), (x + 1,)), X)
case("custom_jvp_grad", jax.grad(lambda x: weigh(clamped(x) * x)), X)
case("custom_jvp_second", jax.hessian(lambda x: weigh(clamped(x))), X)
case("custom_jvp_vmap", jax.vmap(jax.grad(clamped)), X)
case("custom_jvp_in_scan", jax.grad(lambda x: lax.scan(lambda c, v: (clamped(c * v), None), x, X)[0]), np.array(0.5))
case("custom_vjp", jax.grad(lambda x: weigh(doubled(x * x))), X)
case("custom_vjp_vmap", jax.vmap(jax.grad(doubled)), X)
case("custom_vjp_second", jax.grad(lambda x: weigh(jax.grad(lambda x: weigh(doubled(x)))(x))), X)
case("custom_vjp_in_scan", jax.grad(lambda x: lax.scan(lambda c, v: (doubled(c * v), None), x, X)[0]), np.array(0.5))
case("complex_to_real", jax.grad(lambda z: jnp.sum(jnp.abs(z) ** 2 * jnp.real(z))), complexes(3))
case("holomorphic", jax.grad(lambda z: jnp.sum(z**3), holomorphic=True), complexes(3))
case("complex_jacobian", jax.jacfwd(lambda x: jnp.abs(jnp.fft.fft(x))), some(4))
case("vmap_complex_grad", jax.vmap(jax.grad(lambda z: jnp.abs(jnp.exp(z)))), complexes(4))
