"""Functions of arrays: reductions, sorting, indexing, shapes, linear algebra, transforms, windows."""
import jax
import jax.numpy as jnp
import jax.scipy.linalg as sl
import jax.scipy.special as sp
import numpy as np
from jax import lax, nn

from jax_modes import complexes, definite, forward, modes, points, positive, second, some

INF = float("inf")
CASES = {}
TIES = np.array([[1.0, 3.0, 3.0, 2.0], [0.0, 0.0, -1.0, -1.0], [2.0, 5.0, 2.0, 5.0]])


def case(name, f, *xs):
    CASES[name] = (modes(f), list(xs))


def hess(name, f, x):
    CASES[name] = (second(f), [x])


def real_parts(f):
    """A complex result as two real ones."""
    return lambda *xs: (lambda y: jnp.stack([jnp.real(y), jnp.imag(y)]))(f(*xs))


# Reductions.
case("sum_axis", lambda x: jnp.sum(x, 1), some(2, 3, 2))
case("mean_all", jnp.mean, some(3, 4))
case("prod", lambda x: jnp.prod(x, 1), some(3, 4))
case("prod_one_zero", jnp.prod, points(2, 0, 3, -1))
case("prod_two_zeros", jnp.prod, points(2, 0, 3, 0))
hess("prod_second", jnp.prod, points(2, 0, 3, -1))
case("max_ties", lambda x: jnp.max(x, 1), TIES)
case("min_ties", lambda x: jnp.min(x, 1), TIES)
case("max_all", jnp.max, TIES)
case("logsumexp", lambda x: sp.logsumexp(x, 1), some(3, 4) * 9)
case("logsumexp_inf", lambda x: sp.logsumexp(x), points(-INF, 0, 1))
case("logsumexp_large", lambda x: sp.logsumexp(x), points(1000, 999, -1000))
hess("logsumexp_second", sp.logsumexp, some(4))
case("softmax", lambda x: nn.softmax(x, -1), some(2, 4) * 5)
case("log_softmax", lambda x: nn.log_softmax(x, -1), some(2, 4) * 50)
hess("log_softmax_second", lambda x: nn.log_softmax(x), some(3))
case("var", lambda x: jnp.var(x, 0), some(4, 3))
case("var_ddof", lambda x: jnp.var(x, 0, ddof=1), some(4, 3))
case("std", lambda x: jnp.std(x, 0), some(4, 3))
hess("std_second", jnp.std, some(4))
case("median_odd", jnp.median, some(5))
case("median_even", jnp.median, some(6))
case("quantile", lambda x: jnp.quantile(x, jnp.array([0.1, 0.35, 0.9]), axis=0), some(6, 2))
case("percentile", lambda x: jnp.percentile(x, 30), some(7))
case("norm", jnp.linalg.norm, some(5))
case("norm_1", lambda x: jnp.linalg.norm(x, 1), some(5))
case("norm_3", lambda x: jnp.linalg.norm(x, 3), some(5))
case("norm_inf", lambda x: jnp.linalg.norm(x, jnp.inf), some(5))
case("norm_fro", jnp.linalg.norm, some(3, 2))
hess("norm_second", jnp.linalg.norm, some(4))
case("average", lambda x, w: jnp.average(x, weights=w), some(5), positive(5))
case("ptp", lambda x: jnp.ptp(x, 1), some(2, 4))
case("cumsum", lambda x: jnp.cumsum(x, 1), some(2, 5))
case("cumsum_reverse", lambda x: lax.cumsum(x, 0, reverse=True), some(4, 2))
case("cumprod", lambda x: jnp.cumprod(x, 1), some(2, 5))
case("cumprod_zero", jnp.cumprod, points(2, 0, 3, 0.5))
case("cummax", lambda x: lax.cummax(x, 0), some(6))
case("cummin_reverse", lambda x: lax.cummin(x, 0, reverse=True), some(6))
case("cumlogsumexp", lambda x: lax.cumlogsumexp(x, 0), some(6) * 5)
case("nansum", jnp.nansum, points(1, float("nan"), 2))
case("nanmean", jnp.nanmean, points(1, float("nan"), 2))
case("cov", jnp.cov, some(3, 5))
case("corrcoef", jnp.corrcoef, some(3, 5))
case("diff", lambda x: jnp.diff(x, 2), some(6))
case("gradient", jnp.gradient, some(6))
case("trapezoid", jnp.trapezoid, some(6))
case("polyval", jnp.polyval, some(4), some(3, seed=1))
case("interp", lambda x, f: jnp.interp(x, jnp.array([0.0, 1.0, 2.5]), f), points(-1, 0.3, 2, 4), some(3))

# Sorting.
case("sort", lambda x: jnp.sort(x, 1), some(2, 5))
case("sort_ties", lambda x: jnp.sort(x, 1), TIES)
case("sort_descending", lambda x: jnp.sort(x, 0, descending=True), some(5, 2))
case("argsort_picks", lambda x: x[jnp.argsort(x)] * jnp.arange(5.0), some(5))
case("top_k", lambda x: lax.top_k(x, 3)[0], some(2, 6))
case("argmax_picks", lambda x: x[jnp.argmax(x)], some(5))

# Indexing.
ROWS = np.array([2, 0, 2, 1], dtype=np.int32)
case("take", lambda x: jnp.take(x, ROWS, 0), some(3, 2))
case("take_outside", lambda x: jnp.take(x, jnp.array([5, -7, 1]), 0, mode="clip"), some(3, 2))
case("take_along_axis", lambda x: jnp.take_along_axis(x, jnp.array([[1, 1], [0, 2]]), 1), some(2, 3))
case("index_pairs", lambda x: x[jnp.array([0, 1, 1]), jnp.array([2, 0, 0])], some(2, 3))
case("slice_step", lambda x: x[1:6:2], some(7))
case("slice_negative", lambda x: x[-3:, ::-1], some(5, 2))
case("at_set", lambda x, v: x.at[jnp.array([3, 0])].set(v), some(5), some(2, seed=1))
case("at_add", lambda x, v: x.at[jnp.array([3, 0, 3])].add(v), some(5), some(3, seed=1))
case("at_add_outside", lambda x, v: x.at[jnp.array([3, 9])].add(v), some(5), some(2, seed=1))
case("at_multiply", lambda x, v: x.at[jnp.array([3, 0])].multiply(v, unique_indices=True), some(5), some(2, seed=1))
case("dynamic_slice", lambda x: lax.dynamic_slice(x, (1, 0), (2, 2)), some(4, 3))
case("dynamic_slice_outside", lambda x: lax.dynamic_slice(x, (9,), (2,)), some(4))
case("dynamic_update_slice", lambda x, u: lax.dynamic_update_slice(x, u, (2, 1)), some(4, 3), some(2, 2, seed=1))
case("segment_sum", lambda x: jax.ops.segment_sum(x, jnp.array([0, 2, 0, 1]), 3), some(4, 2))
case("segment_max", lambda x: jax.ops.segment_max(x, jnp.array([0, 2, 0, 1]), 3), some(4))

# Shapes.
case("roll", lambda x: jnp.roll(x, 2, 0), some(5, 2))
case("pad_constant", lambda x: jnp.pad(x, ((1, 2),), constant_values=7.0), some(4))
case("pad_interior", lambda x, v: lax.pad(x, v, [(1, -1, 2)]), some(4), some(1)[0])
case("pad_edge", lambda x: jnp.pad(x, ((2, 1),), mode="edge"), some(4))
case("pad_reflect", lambda x: jnp.pad(x, ((2, 1),), mode="reflect"), some(4))
case("pad_symmetric", lambda x: jnp.pad(x, ((2, 1),), mode="symmetric"), some(4))
case("pad_wrap", lambda x: jnp.pad(x, ((2, 1),), mode="wrap"), some(4))
case("concat", lambda x, y: jnp.concatenate([x, y, x], 1), some(2, 2), some(2, 3, seed=1))
case("stack", lambda x, y: jnp.stack([x, y], 1), some(3), some(3, seed=1))
case("tile", lambda x: jnp.tile(x, (2, 3)), some(2, 2))
case("repeat", lambda x: jnp.repeat(x, 3, 0), some(2, 2))
case("flip", lambda x: jnp.flip(x, 1), some(2, 3))
case("transpose", lambda x: jnp.transpose(x, (2, 0, 1)), some(2, 3, 2))
case("tril", jnp.tril, some(3, 3))
case("diagonal", lambda x: jnp.diagonal(x, 1), some(3, 4))
case("diag", lambda x: jnp.diag(x, 1), some(3))
case("kron", jnp.kron, some(2, 2), some(2, 3, seed=1))
case("outer", jnp.outer, some(2), some(3, seed=1))
case("cross", jnp.cross, some(2, 3), some(2, 3, seed=1))
case("split", lambda x: jnp.split(x, 3)[1], some(6))
case("broadcast_to", lambda x: jnp.broadcast_to(x[:, None], (3, 2)), some(3))

# Products and linear algebra.
case("matmul", jnp.matmul, some(2, 3), some(3, 2, seed=1))
case("matmul_batched", jnp.matmul, some(4, 2, 3), some(3, 2, seed=1))
case("tensordot", lambda a, b: jnp.tensordot(a, b, ((1, 2), (1, 0))), some(2, 3, 2), some(2, 3, seed=1))
case("einsum_contract", lambda a, b: jnp.einsum("bij,bjk->bik", a, b), some(2, 2, 3), some(2, 3, 2, seed=1))
case("einsum_three", lambda a, b, c: jnp.einsum("ij,jk,kl->il", a, b, c), some(2, 3), some(3, 2, seed=1), some(2, 2, seed=2))
case("einsum_diagonal", lambda a: jnp.einsum("ii->i", a), some(3, 3))
case("einsum_trace", lambda a: jnp.einsum("ii", a), some(3, 3))
case("solve", jnp.linalg.solve, definite(3), some(3, 2, seed=1))
case("solve_vector", jnp.linalg.solve, definite(3), some(3, seed=1))
case("inv", jnp.linalg.inv, definite(3))
hess("inv_second", jnp.linalg.inv, definite(2))
case("det", jnp.linalg.det, definite(3))
case("det_2", jnp.linalg.det, some(2, 2))
case("slogdet", lambda a: jnp.linalg.slogdet(a)[1], definite(3))
case("slogdet_negative", lambda a: jnp.linalg.slogdet(a)[1], np.diag([1.0, -2, 3]) + 0.1 * some(3, 3))
hess("slogdet_second", lambda a: jnp.linalg.slogdet(a)[1], definite(2))
case("cholesky", jnp.linalg.cholesky, definite(3))
hess("cholesky_second", jnp.linalg.cholesky, definite(2))
case("cholesky_batched", jnp.linalg.cholesky, np.stack([definite(2), definite(2, 1)]))
case("triangular_solve", lambda a, b: sl.solve_triangular(a, b, lower=True), definite(3), some(3, 2, seed=1))
case("triangular_solve_trans", lambda a, b: sl.solve_triangular(a, b, trans=1), definite(3), some(3, seed=1))
case("tridiagonal_solve", lambda l, d, u, b: jax.lax.linalg.tridiagonal_solve(
    l.at[0].set(0), d, u.at[-1].set(0), b), some(4), some(4, seed=3), some(4, seed=1), some(4, 2, seed=2))
case("cho_solve", lambda a, b: sl.cho_solve((jnp.linalg.cholesky(a), True), b), definite(3), some(3, seed=1))
case("matrix_power", lambda a: jnp.linalg.matrix_power(a, 3), some(3, 3))
case("matrix_power_-2", lambda a: jnp.linalg.matrix_power(a, -2), definite(3))
case("expm", sl.expm, some(3, 3))
case("multi_dot", lambda a, b, c: jnp.linalg.multi_dot([a, b, c]), some(2, 3), some(3, 2, seed=1), some(2, 4, seed=2))
case("trace", jnp.trace, some(3, 3))
case("lu", lambda a: sl.lu_factor(a)[0], definite(3))
case("qr", lambda a: jnp.stack(jnp.linalg.qr(a)), definite(3))
case("eigh", lambda a: jnp.linalg.eigh(a)[0], definite(3))
case("eigh_vectors", lambda a: jnp.linalg.eigh(a)[1] ** 2, definite(3))
case("svd", lambda a: jnp.linalg.svd(a, full_matrices=False)[1], some(3, 2))
case("svd_vectors", lambda a: jnp.linalg.svd(a, full_matrices=False)[0] ** 2, some(3, 2))
case("pinv", jnp.linalg.pinv, some(3, 2))
case("norm_nuclear", lambda a: jnp.linalg.norm(a, "nuc"), some(3, 2))
case("eigvals", lambda a: jnp.sum(jnp.linalg.eigvals(a) ** 3).real, some(3, 3))
case("lstsq", lambda a, b: jnp.linalg.lstsq(a, b)[0], some(4, 2), some(4, seed=1))

# Complex numbers: the gradient is by <a, b> = real(sum(a b)).
case("complex_abs", jnp.abs, complexes(3))
case("complex_square", real_parts(lambda z: z * z), complexes(3))
case("complex_exp", real_parts(jnp.exp), complexes(3))
case("complex_log", real_parts(jnp.log), complexes(3))
case("complex_sqrt", real_parts(jnp.sqrt), complexes(3))
case("complex_sin_tanh", real_parts(lambda z: jnp.sin(z) * jnp.tanh(z)), complexes(3))
case("complex_conj", real_parts(jnp.conj), complexes(3))
case("complex_angle", jnp.angle, complexes(3))
case("complex_divide", real_parts(jnp.divide), complexes(3), complexes(3, seed=1))
case("complex_power", real_parts(jnp.power), complexes(3), complexes(3, seed=1))
case("complex_matmul", real_parts(jnp.matmul), complexes(2, 3), complexes(3, 2, seed=1))
case("complex_vdot", real_parts(jnp.vdot), complexes(3), complexes(3, seed=1))
case("complex_made", lambda x, y: jnp.abs(jnp.exp(lax.complex(x, y))), some(3), some(3, seed=1))
case("complex_solve", real_parts(jnp.linalg.solve), complexes(2, 2) + 2 * np.eye(2), complexes(2, seed=1))
case("complex_det", real_parts(jnp.linalg.det), complexes(3, 3) + 2 * np.eye(3))
case("complex_result", lambda z: z * z * jnp.conj(z), complexes(3))
case("fft", real_parts(jnp.fft.fft), complexes(2, 6))
case("ifft", real_parts(jnp.fft.ifft), complexes(5))
case("rfft", real_parts(jnp.fft.rfft), some(2, 6))
case("rfft_odd", real_parts(jnp.fft.rfft), some(5))
case("irfft", jnp.fft.irfft, complexes(2, 4))
case("irfft_odd", lambda z: jnp.fft.irfft(z, 5), complexes(3))
case("fft2", real_parts(jnp.fft.fft2), complexes(3, 2))
case("spectrum", lambda x: jnp.abs(jnp.fft.fft(x)) ** 2, some(6))

# Windows and layers.
NHWC = ("NHWC", "HWIO", "NHWC")


def conv(strides, padding, lhs=(1, 1), rhs=(1, 1), groups=1):
    return lambda x, k: lax.conv_general_dilated(
        x, k, strides, padding, lhs, rhs, dimension_numbers=NHWC, feature_group_count=groups
    )


def pool(init, op, sizes, strides, padding):
    return lambda x: lax.reduce_window(x, init, op, (1, *sizes, 1), (1, *strides, 1), padding)


case("conv_valid", conv((1, 1), "VALID"), some(1, 4, 4, 2), some(2, 3, 2, 2, seed=1))
case("conv_strided", conv((2, 2), "SAME"), some(1, 5, 4, 2), some(3, 2, 2, 2, seed=1))
case("conv_dilated", conv((1, 1), [(1, 1), (2, 0)], (2, 1), (1, 2)), some(1, 3, 4, 1), some(2, 2, 1, 2, seed=1))
case("conv_grouped", conv((1, 1), "SAME", groups=2), some(1, 3, 3, 4), some(2, 2, 2, 4, seed=1))
case("conv_transpose", lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME", dimension_numbers=NHWC), some(1, 2, 3, 2), some(3, 3, 2, 2, seed=1))
case("convolve", lambda x, y: jnp.convolve(x, y), some(5), some(3, seed=1))
case("max_pool", pool(-INF, lax.max, (2, 2), (2, 2), "VALID"), some(1, 4, 4, 2))
case("max_pool_overlapping", pool(-INF, lax.max, (3, 3), (1, 2), "SAME"), some(1, 4, 5, 1))
case("max_pool_ties", pool(-INF, lax.max, (2, 2), (1, 1), "VALID"), TIES.reshape(1, 3, 4, 1))
case("sum_pool", pool(0.0, lax.add, (2, 3), (1, 2), "SAME"), some(1, 4, 5, 1))
case("avg_pool", lambda x: pool(0.0, lax.add, (2, 2), (2, 2), "VALID")(x) / 4, some(1, 4, 4, 2))


def layer_norm(x, scale, bias):
    centred = x - jnp.mean(x, -1, keepdims=True)
    return centred / jnp.sqrt(jnp.mean(centred**2, -1, keepdims=True) + 1e-6) * scale + bias


case("layer_norm", layer_norm, some(2, 5), positive(5), some(5, seed=1))
case("standardize", lambda x: nn.standardize(x), some(2, 5))
case("glu", lambda x: nn.glu(x), some(2, 6))


def attention(causal):
    """nn.dot_product_attention, whose scores are f32."""

    def run(q, k, v):
        scores = jnp.einsum("btnh,bsnh->bnts", q, k) / np.sqrt(q.shape[-1])
        if causal:
            scores = jnp.where(jnp.tril(jnp.ones(scores.shape[2:], bool)), scores, -1e30)
        return jnp.einsum("bnts,bsnh->btnh", nn.softmax(scores), v)

    return run


case("attention", attention(False), some(1, 3, 2, 4), some(1, 5, 2, 4, seed=1), some(1, 5, 2, 4, seed=2))
case("attention_causal", attention(True), some(1, 4, 2, 2), some(1, 4, 2, 2, seed=1), some(1, 4, 2, 2, seed=2))
LABELS = np.array([2, 0], dtype=np.int32)
case("cross_entropy", lambda x: sp.logsumexp(x, 1) - x[jnp.arange(2), LABELS], some(2, 3) * 5)
hess("cross_entropy_second", lambda x: sp.logsumexp(x) - x[1], some(3))
