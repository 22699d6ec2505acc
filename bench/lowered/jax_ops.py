#!/usr/bin/env python3
"""Single functions of jax.numpy and jax.lax at usual sizes, lowered by JAX, as folders for `heddle bench`.

  V/bin/pip install "jax[cpu]==0.10.2"
  V/bin/python bench/lowered/jax_ops.py build/jax_ops [NAME ..] [--dtype bfloat16 | --odd]
  heddle bench build/jax_ops/* --backends cpu,pjrt:xla-cpu --threads 1

With HEDDLE_CPU_VECTOR_BYTES=32 and XLA_FLAGS=--xla_cpu_max_isa=AVX2, as on a processor with AVX2.
"""
import jax_functions  # its programs
import jax_images  # its programs
import jax_neighbours  # its programs
import jax_picked  # its programs
import jax_places  # its programs
import jax_points  # its programs
import jax_sizes  # its programs
import jax_small  # its programs
import jax_stencils  # its programs
import jax_turns  # its programs
from jax_programs import FUNCTIONS, floats, function as add, jax, jnp, lax, numbers, write_all

jax.config.update("jax_enable_x64", True)

M = floats(1024, 1024)
V = floats(1 << 20)
S = floats(256, 256)
I = numbers((1 << 20,), "int32", 0, 1000)
D = numbers((512, 512), "float64")

# ----- reductions

add("sum_all", lambda x: x.sum(), M)
add("sum_ax0", lambda x: x.sum(0), M)
add("sum_ax1", lambda x: x.sum(1), M)
add("sum_mid", lambda x: x.sum(1), floats(64, 128, 64))
add("max_ax0", lambda x: x.max(0), M)
add("argmax_ax1", lambda x: x.argmax(1), M)
add("argmax_ax0", lambda x: x.argmax(0), M)
add("argmin_all", lambda x: x.argmin(), V)
add("mean_var", lambda x: (x.mean(0), x.var(0)), M)
add("any_ax1", lambda x: (x > 0.99).any(1), M)
add("count_nonzero", lambda x: jnp.count_nonzero(x > 0), V)
add("prod_ax1", lambda x: x.prod(1), M)
add("sum_i32", lambda x: x.sum(dtype=jnp.int32), I)
add("sum_u8", lambda x: x.astype(jnp.int32).sum(0), numbers((1024, 1024), "uint8", 0, 200))
add("sum_bf16", lambda x: x.sum(1), numbers((1024, 1024), "bfloat16"))
add("logsumexp", lambda x: jax.nn.logsumexp(x, axis=1), M)
add("softmax", lambda x: jax.nn.softmax(x, axis=1), M)
add("softmax_ax0", lambda x: jax.nn.softmax(x, axis=0), M)
add("layernorm", lambda x: (x - x.mean(1, keepdims=True)) / jnp.sqrt(x.var(1, keepdims=True) + 1e-5), M)

# ----- running folds, sorts and searches

add("cumsum_ax0", lambda x: jnp.cumsum(x, 0), M)
add("cumsum_ax1", lambda x: jnp.cumsum(x, 1), M)
add("cumprod", lambda x: jnp.cumprod(x, 1), M)
add("cummax", lambda x: lax.cummax(x, 1), M)
add("cumlogsumexp", lambda x: lax.cumlogsumexp(x, 1), S)
add("sort_rows", lambda x: jnp.sort(x, 1), floats(64, 4096))
add("sort_1m", lambda x: jnp.sort(x), V)
add("sort_i32", lambda x: jnp.sort(x), I)
add("argsort", lambda x: jnp.argsort(x), floats(65536))
add("topk", lambda x: lax.top_k(x, 8), floats(64, 4096))
add("median", lambda x: jnp.median(x, 1), floats(64, 1001))
add("searchsorted", lambda a, v: jnp.searchsorted(jnp.sort(a), v), floats(1024), floats(16384))
add("unique_counts", lambda x: jnp.bincount(x, length=1000), I)

# ----- gathers and scatters

add("gather_rows", lambda e, i: e[i], floats(1000, 64), numbers((4096,), "int32", 0, 999))
add("gather_cols", lambda e, i: e[:, i], floats(64, 1000), numbers((4096,), "int32", 0, 999))
add("take_along", lambda x, i: jnp.take_along_axis(x, i, 1), M, numbers((1024, 64), "int32", 0, 1000))
add("scatter_add_rows", lambda z, i, u: z.at[i].add(u), floats(1000, 64), numbers((4096,), "int32", 0, 999),
    floats(4096, 64))
add("scatter_set", lambda z, i, u: z.at[i].set(u), V, numbers((65536,), "int32", 0, 1000000), floats(65536))
add("segment_sum", lambda x, i: jax.ops.segment_sum(x, i, 1000), V, I)
add("segment_max", lambda x, i: jax.ops.segment_max(x, i, 1000), V, I)
add("one_hot", lambda i: jax.nn.one_hot(i, 1000), numbers((1024,), "int32", 0, 999))

# ----- movement

add("transpose", lambda x: x.T + 0, M)
add("transpose4", lambda x: x.transpose(0, 2, 3, 1) * 2, floats(8, 64, 32, 32))
add("transpose_u8", lambda x: x.T, numbers((1024, 1024), "uint8", 0, 200))
add("concat0", lambda a, b: jnp.concatenate([a, b], 0), M, M)
add("concat1", lambda a, b: jnp.concatenate([a, b], 1), M, M)
add("stack_last", lambda a, b: jnp.stack([a, b], -1), M, M)
add("pad", lambda x: jnp.pad(x, 3), M)
add("pad_reflect", lambda x: jnp.pad(x, 3, mode="reflect"), M)
add("roll", lambda x: jnp.roll(x, 7, 1) + x, M)
add("flip", lambda x: x[:, ::-1], M)
add("strided", lambda x: x[::2, ::2] + 1, M)
add("tile", lambda x: jnp.tile(x, (4, 4)), S)
add("repeat", lambda x: jnp.repeat(x, 4, 1), S)
add("tril", lambda x: jnp.tril(x), M)
add("where3", lambda a, b: jnp.where(a > 0, a, b * 2), M, M)
add("outer", lambda a, b: jnp.outer(a, b), floats(1024), floats(1024))

# ----- functions

add("exp", jnp.exp, V)
add("log", lambda x: jnp.log(jnp.abs(x) + 1e-3), V)
add("tanh", jnp.tanh, V)
add("sin", jnp.sin, V)
add("pow", lambda x: jnp.abs(x) ** 1.7, V)
add("erf", jax.scipy.special.erf, V)
add("erfinv", jax.scipy.special.erfinv, V)
add("lgamma", lambda x: jax.scipy.special.gammaln(x + 3), V)
add("digamma", lambda x: jax.scipy.special.digamma(x + 3), V)
add("atan2", jnp.arctan2, V, V)
add("log1p", lambda x: jnp.log1p(x * 0.5), V)
add("expm1", jnp.expm1, V)
add("asin", jnp.arcsin, V)
add("sinh", jnp.sinh, V)
add("cbrt", jnp.cbrt, V)
add("rsqrt", lambda x: lax.rsqrt(jnp.abs(x) + 1), V)
add("gelu", jax.nn.gelu, V)
add("silu", jax.nn.silu, V)
add("softplus", jax.nn.softplus, V)
add("sigmoid", jax.nn.sigmoid, V)
W = numbers((1 << 18,), "float64")
add("exp64", jnp.exp, W)
add("log64", lambda x: jnp.log(jnp.abs(x) + 1e-3), W)
add("sin64", jnp.sin, W)
add("pow64", lambda x: jnp.abs(x) ** 1.7, W)
add("tanh64", jnp.tanh, W)
add("erf64", jax.scipy.special.erf, W)

# ----- integers and conversions

add("idiv", lambda x: x // 7 + x % 13, I)
add("idiv_var", lambda x, y: x // (y + 1), I, I)
add("popcount", lambda x: lax.population_count(x), I)
add("clz", lax.clz, I)
add("bits", lambda x: (x ^ (x >> 3)) & 0xff, I)
add("imul_u8", lambda x: x * x + 3, numbers((1 << 20,), "uint8", 0, 200))
add("to_f16", lambda x: x.astype(jnp.float16), V)
add("to_bf16", lambda x: x.astype(jnp.bfloat16), V)
add("to_u8", lambda x: (x * 100).astype(jnp.uint8), V)
add("to_f64", lambda x: x.astype(jnp.float64) * 2, V)
add("u8_to_f32", lambda x: x.astype(jnp.float32) / 255, numbers((1 << 20,), "uint8", 0, 200))
add("round_mod", lambda x: jnp.round(x * 10) + jnp.mod(x, 0.3) + jnp.floor(x), V)
add("f16_ew", lambda x: jnp.tanh(x) * x + 1, numbers((1 << 20,), "float16"))

# ----- complex numbers

add("cmul", lambda a, b: (a + 1j * b) * (b - 1j * a), V, V)
add("cexp", lambda a: jnp.exp(1j * a).real, V)
add("cabs", lambda a, b: jnp.abs(a + 1j * b), V, V)

# ----- products

add("matmul33", lambda a, b: a @ b, floats(333, 257), floats(257, 411))
add("matmul_t", lambda a, b: a.T @ b, S, S)
add("matmul_bt", lambda a, b: a @ b.T, S, S)
add("matvec", lambda a, b: a @ b, M, floats(1024))
add("vecmat", lambda a, b: a @ b, floats(1024), M)
add("dot1", lambda a, b: a @ b, V, V)
add("bmm", lambda a, b: a @ b, floats(64, 32, 32), floats(64, 32, 32))
add("bmv", lambda a, b: jnp.einsum("bij,bj->bi", a, b), floats(512, 32, 32), floats(512, 32))
add("einsum4", lambda a, b: jnp.einsum("bqhd,bkhd->bhqk", a, b), floats(2, 128, 8, 32), floats(2, 128, 8, 32))
add("einsum_outer", lambda a, b: jnp.einsum("bi,bj->ij", a, b), floats(256, 128), floats(256, 128))
add("matmul64", lambda a, b: a @ b, D, D)
add("small33", lambda a, b: a @ b, floats(4096, 3, 3), floats(4096, 3, 3))
add("cmatmul", lambda a, b: (a + 1j * b) @ (b - 1j * a), S, S)
add("imatmul", lambda a, b: a @ b, numbers((256, 256), "int32", 0, 100), numbers((256, 256), "int32", 0, 100))
add("attention", lambda q, k, v: jnp.einsum("hqk,khd->qhd", jax.nn.softmax(jnp.einsum("qhd,khd->hqk", q, k) / 8),
    v), floats(256, 8, 64), floats(256, 8, 64), floats(256, 8, 64))
add("dist", lambda x, y: ((x[:, None] - y[None]) ** 2).sum(-1), floats(512, 16), floats(512, 16))

# ----- convolutions, pools and transforms

add("conv3", lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO",
    "NHWC")), floats(4, 32, 32, 32), floats(3, 3, 32, 32))
add("conv3_nchw", lambda x, w: lax.conv(x, w, (1, 1), "SAME"), floats(4, 32, 32, 32), floats(32, 32, 3, 3))
add("conv1x1", lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO",
    "NHWC")), floats(4, 32, 32, 64), floats(1, 1, 64, 64))
add("conv_stride", lambda x, w: lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO",
    "NHWC")), floats(4, 64, 64, 3), floats(7, 7, 3, 32))
add("conv_dw", lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO",
    "NHWC"), feature_group_count=64), floats(4, 32, 32, 64), floats(3, 3, 1, 64))
add("conv_t", lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"), floats(4, 16, 16, 32), floats(3, 3, 32, 16))
add("conv1d", lambda x, w: lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")),
    floats(4, 1024, 16), floats(5, 16, 16))
add("maxpool", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), floats(8,
    64, 64, 32))
add("avgpool3", lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME"), floats(8, 32, 32,
    32))
add("maxpool_grad", jax.grad(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1),
    "VALID").sum()), floats(8, 32, 32, 32))
add("rfft", lambda x: jnp.abs(jnp.fft.rfft(x)), floats(64, 1024))
add("fft2", lambda x: jnp.abs(jnp.fft.fft2(x)), floats(256, 256))
add("fft_997", lambda x: jnp.abs(jnp.fft.fft(x)), floats(64, 997))
add("fft_60", lambda x: jnp.abs(jnp.fft.fft(x)), floats(1024, 60))


def spd(a):
    return a @ a.swapaxes(-1, -2) + 300 * jnp.eye(a.shape[-1], dtype=a.dtype)



# ----- factors

add("chol256", lambda a: jnp.linalg.cholesky(spd(a)), S)
add("chol_batch", lambda a: jnp.linalg.cholesky(spd(a)), floats(256, 16, 16))
add("lu512", lambda a: jax.scipy.linalg.lu_factor(a), floats(512, 512))
add("solve256", lambda a, b: jnp.linalg.solve(a, b), floats(256, 256), floats(256, 256))
add("solve_batch", lambda a, b: jnp.linalg.solve(a, b), floats(256, 24, 24), floats(256, 24, 1))
add("solve64", lambda a, b: jnp.linalg.solve(spd(a), b), floats(64, 64), floats(64, 8))
add("inv_batch", lambda a: jnp.linalg.inv(spd(a)), floats(256, 8, 8))
add("eigh32", lambda a: jnp.linalg.eigh(a + a.T)[0], floats(32, 32))
add("svd32", lambda a: jnp.linalg.svd(a)[1], floats(32, 32))
add("qr64", lambda a: jnp.linalg.qr(a)[1], floats(64, 64))
add("det_batch", lambda a: jnp.linalg.det(a), floats(512, 4, 4))
add("eigh_batch3", lambda a: jnp.linalg.eigh(a + a.swapaxes(-1, -2))[0], floats(256, 3, 3))
K = numbers((2,), "uint32", 0, 1000)

# ----- random numbers

add("uniform", lambda k: jax.random.uniform(k, (1 << 20,)), K)
add("normal", lambda k: jax.random.normal(k, (1 << 20,)), K)
add("randint", lambda k: jax.random.randint(k, (1 << 20,), 0, 100), K)
add("permutation", lambda k: jax.random.permutation(k, 65536), K)
add("categorical", lambda k, x: jax.random.categorical(k, x), K, S)
add("bernoulli", lambda k: jax.random.bernoulli(k, 0.3, (1 << 20,)), K)
add("gamma", lambda k: jax.random.gamma(k, 2.0, (4096,)), K)
add("expo", lambda k: jax.random.exponential(k, (1 << 20,)), K)
add("choice", lambda k, x: jax.random.choice(k, x, (4096,)), K, V)
add("tnormal", lambda k: jax.random.truncated_normal(k, -1, 1, (1 << 18,)), K)
add("poisson", lambda k: jax.random.poisson(k, 3.0, (4096,)), K)

# ----- compounds

add("hist", lambda x: jnp.histogram(x, bins=64, range=(-1, 1))[0], V)
add("interp", lambda x, xp, fp: jnp.interp(x, jnp.sort(xp), fp), floats(65536), floats(512), floats(512))
add("polyval", lambda x: jnp.polyval(jnp.arange(8.0, dtype=jnp.float32), x), V)
add("convolve", lambda x, w: jnp.convolve(x, w), floats(65536), floats(64))
add("diff", lambda x: jnp.diff(x, axis=1), M)
add("cov", lambda x: jnp.cov(x), floats(64, 1024))
add("kron", lambda a, b: jnp.kron(a, b), floats(32, 32), floats(32, 32))
add("trace", lambda x: jnp.trace(x), M)
add("diag", lambda x: jnp.diag(x), floats(1024))
add("meshgrid", lambda a, b: sum(jnp.meshgrid(a, b)), floats(1024), floats(1024))
add("clip_abs", lambda x: jnp.clip(jnp.abs(x), 0.1, 0.9), V)
add("nanmean", lambda x: jnp.nanmean(x, 1), M)
add("isfinite", lambda x: jnp.isfinite(x).all(), V)
add("xent", lambda x, y: -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], 1).mean(), floats(256, 1000),
    numbers((256,), "int32", 0, 999))
add("quant", lambda x: (jnp.round(x * 127).astype(jnp.int8)), V)
add("batchnorm", lambda x: (x - x.mean((0, 1, 2))) * lax.rsqrt(x.var((0, 1, 2)) + 1e-5), floats(8, 32, 32, 64))
add("mlp_grad", jax.grad(lambda w, x: jnp.tanh(jnp.tanh(x @ w) @ w).sum()), S, S)
add("assoc_scan", lambda a, b: lax.associative_scan(lambda x, y: (x[0] * y[0], x[1] * y[0] + y[1]), (a, b))[1],
    floats(1024, 64), floats(1024, 64))

if __name__ == "__main__":
    write_all(FUNCTIONS, "call", __doc__)
