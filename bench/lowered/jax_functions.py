"""Further functions of jax.numpy, jax.scipy, jax.random and jax.nn, among the programs of jax_ops.py."""

from jax import scipy as jsp
from jax_programs import floats, function as add, jax, jnp, lax, numbers

M = floats(1024, 1024)
V = floats(1 << 20)
S = floats(256, 256)
I = numbers((1 << 20,), "int32", 0, 1000)
KEY = numbers((2,), "uint32", 0, 1 << 20)

add("nonzero", lambda x: jnp.nonzero(x > 0.5, size=1 << 18)[0], V)
add("partition", lambda x: jnp.partition(x, 100), floats(1 << 16))
add("percentiles", lambda x: jnp.percentile(x, jnp.array([5.0, 25, 50, 75, 95]), axis=1), floats(256, 1024))
add("corrcoef", lambda x: jnp.corrcoef(x), floats(256, 1024))
add("convolve2d", lambda x, k: jsp.signal.convolve2d(x, k, mode="same"), S, floats(5, 5))
add("fftconvolve", lambda x, k: jsp.signal.fftconvolve(x, k, mode="same"), floats(1 << 14), floats(1025))
add("vander", lambda x: jnp.vander(x, 8), floats(1 << 16))
add("gradient", lambda x: jnp.gradient(x, axis=1), M)
add("trapezoid", lambda x: jnp.trapezoid(x, axis=1), M)
add("cross", lambda a, b: jnp.cross(a, b), floats(1 << 16, 3), floats(1 << 16, 3))
add("bincount_w", lambda i, w: jnp.bincount(i, w, length=1000), I, V)
add("digitize", lambda x, b: jnp.digitize(x, jnp.sort(b)), floats(1 << 18), floats(64))
add(
    "histogram2d",
    lambda x, y: jnp.histogram2d(x, y, bins=16, range=[[-1, 1], [-1, 1]])[0],
    floats(1 << 16),
    floats(1 << 16),
)
add("packbits", lambda x: jnp.packbits(x > 0), V)
add("unpackbits", lambda x: jnp.unpackbits(x), numbers((1 << 17,), "uint8", 0, 255))
add(
    "gcd",
    lambda a, b: jnp.gcd(a, b + 1),
    numbers((1 << 14,), "int32", 0, 10000),
    numbers((1 << 14,), "int32", 0, 10000),
)
add("fmod", lambda a, b: jnp.fmod(a, b), floats(1 << 20), floats(1 << 20, low=0.1))
add("floor_divide", lambda a, b: a // b, floats(1 << 20), floats(1 << 20, low=0.1))
add("hypot", lambda a, b: jnp.hypot(a, b), V, V)
add("logaddexp", lambda a, b: jnp.logaddexp(a, b), V, V)
add("exp2", lambda a: jnp.exp2(a), V)
add("log2", lambda a: jnp.log2(a), floats(1 << 20, low=0.01))
add("tan", lambda a: jnp.tan(a), V)
add("cos", lambda a: jnp.cos(a), V)
add("asinh", lambda a: jnp.arcsinh(a), V)
add("acosh", lambda a: jnp.arccosh(a), floats(1 << 20, low=1.0, high=9.0))
add("atanh", lambda a: jnp.arctanh(a), V)
add("atan", lambda a: jnp.arctan(a), V)
add("acos", lambda a: jnp.arccos(a), V)
add("sinc", lambda a: jnp.sinc(a), V)
add("i0e", lambda a: jsp.special.i0e(a), V)
add("cube", lambda a: a**3, V)
add("pow25", lambda a: a**2.5, floats(1 << 20, low=0.01))
add("nan_to_num", lambda a: jnp.nan_to_num(a), V)
add("unwrap", lambda a: jnp.unwrap(a, axis=1), M)
add("resize", lambda x: jax.image.resize(x, (512, 512), "bilinear"), S)


def group_norm(x):
    y = x.reshape(8, 8, 8, 32, 32)
    off = y - y.mean((2, 3, 4), keepdims=True)
    return (off / jnp.sqrt(y.var((2, 3, 4), keepdims=True) + 1e-5)).reshape(x.shape)


add("groupnorm", group_norm, floats(8, 64, 32, 32))
add("rmsnorm", lambda x, w: x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w, M, floats(1024))


def rope(x):
    h = x.shape[-1] // 2
    f = 1e4 ** (-jnp.arange(h, dtype=jnp.float32) / h)
    a = jnp.arange(x.shape[0], dtype=jnp.float32)[:, None] * f
    c, s = jnp.cos(a)[:, None], jnp.sin(a)[:, None]
    u, v = x[..., :h], x[..., h:]
    return jnp.concatenate([u * c - v * s, u * s + v * c], -1)


add("rope", rope, floats(512, 16, 64))
add(
    "swiglu",
    lambda x, a, b, c: (jax.nn.silu(x @ a) * (x @ b)) @ c,
    floats(128, 256),
    floats(256, 512),
    floats(256, 512),
    floats(512, 256),
)


def causal_attention(q, k, v):
    s = jnp.einsum("qhd,khd->hqk", q, k) / 8
    m = jnp.tril(jnp.ones((256, 256), bool))
    return jnp.einsum("hqk,khd->qhd", jax.nn.softmax(jnp.where(m, s, -1e9), -1), v)


add("causal_attention", causal_attention, floats(256, 8, 64), floats(256, 8, 64), floats(256, 8, 64))
add("embed_mean", lambda t, i: t[i].mean(1), floats(10000, 64), numbers((512, 32), "int32", 0, 10000))
add("scatter_max", lambda x, i: jnp.full(1000, -jnp.inf, jnp.float32).at[i].max(x), V, I)
add(
    "scatter_2d",
    lambda x, i, j: jnp.zeros((64, 64), jnp.float32).at[i, j].add(x),
    floats(1 << 16),
    numbers((1 << 16,), "int32", 0, 64),
    numbers((1 << 16,), "int32", 0, 64),
)
add(
    "gather_2d",
    lambda x, i, j: x[i, j],
    M,
    numbers((1 << 16,), "int32", 0, 1024),
    numbers((1 << 16,), "int32", 0, 1024),
)
add("segment_prod", lambda x, i: jax.ops.segment_prod(x, i, 1000), V, I)
add("triangular_solve", lambda a, b: jsp.linalg.solve_triangular(a + 20 * jnp.eye(256), b, lower=True), S, S)
add("slogdet", lambda a: jnp.linalg.slogdet(a)[1], S)
add("pinv", lambda a: jnp.linalg.pinv(a), floats(64, 32))
add("lstsq", lambda a, b: jnp.linalg.lstsq(a, b)[0], floats(256, 16), floats(256))
add("matrix_power", lambda a: jnp.linalg.matrix_power(a, 10), floats(128, 128, low=-0.1, high=0.1))
add("expm", lambda a: jsp.linalg.expm(a), floats(64, 64, low=-0.1, high=0.1))
add("qr_tall", lambda a: jnp.linalg.qr(a)[1], floats(1024, 32))
add(
    "gammainc",
    lambda a, x: jsp.special.gammainc(a, x),
    floats(1 << 14, low=0.1, high=5.0),
    floats(1 << 14, low=0.1, high=5.0),
)
add(
    "betainc",
    lambda a, x: jsp.special.betainc(a, a + 1, x),
    floats(1 << 14, low=0.1, high=5.0),
    floats(1 << 14, low=0.1, high=0.9),
)
add("zeta", lambda a: jsp.special.zeta(a, 1.5), floats(1 << 16, low=1.5, high=5.0))
add("ndtri", lambda a: jsp.special.ndtri(a), floats(1 << 18, low=0.01, high=0.99))
add("erfc", lambda a: jsp.special.erfc(a), V)
add("xlogy", lambda a, b: jsp.special.xlogy(a, b), V, floats(1 << 20, low=0.1))
add("norm_logpdf", lambda a: jsp.stats.norm.logpdf(a).sum(), V)
RANDOM = dict(
    dirichlet=lambda k: jax.random.dirichlet(k, jnp.ones(8, jnp.float32), (4096,)),
    exponential=lambda k: jax.random.exponential(k, (1 << 20,), jnp.float32),
    gumbel=lambda k: jax.random.gumbel(k, (1 << 20,), jnp.float32),
    laplace=lambda k: jax.random.laplace(k, (1 << 20,), jnp.float32),
    beta=lambda k: jax.random.beta(k, 2.0, 3.0, (1 << 14,), jnp.float32),
    choice_norep=lambda k: jax.random.choice(k, 1 << 16, (1000,), replace=False),
    cauchy=lambda k: jax.random.cauchy(k, (1 << 20,), jnp.float32),
    student_t=lambda k: jax.random.t(k, 3.0, (1 << 14,), jnp.float32),
    binomial=lambda k: jax.random.binomial(k, 10.0, 0.3, (1 << 14,), jnp.float32),
)
for name, fn in RANDOM.items():
    add(f"rng_{name}", fn, KEY)
add(
    "lexsort",
    lambda a, b: jnp.lexsort((a, b)),
    numbers((1 << 16,), "int32", 0, 100),
    numbers((1 << 16,), "int32", 0, 100),
)
add("topk_large", lambda x: lax.top_k(x, 1000)[0], floats(16, 32000))
add("argsort_desc", lambda x: jnp.argsort(x, descending=True), floats(64, 1024))
add("roll_2d", lambda x: jnp.roll(x, (3, 5), (0, 1)), M)
add("rot90", lambda x: jnp.rot90(x), M)
add("transpose021", lambda x: x.transpose(0, 2, 1), floats(64, 128, 128))
add("transpose102", lambda x: x.transpose(1, 0, 2), floats(128, 64, 128))
add("transpose210", lambda x: x.transpose(2, 1, 0), floats(64, 128, 128))
add("pad_wrap", lambda x: jnp.pad(x, 8, mode="wrap"), M)
add("pad_edge", lambda x: jnp.pad(x, 8, mode="edge"), M)
add("outer_add", lambda a, b: a[:, None] + b[None], floats(1024), floats(1024))
add("sq_dists", lambda a, b: ((a[:, None] - b[None]) ** 2).sum(-1), floats(512, 16), floats(512, 16))
add("cdist_argmin", lambda a, b: ((a[:, None] - b[None]) ** 2).sum(-1).argmin(1), floats(4096, 8), floats(64, 8))
add("reduce_window_sum", lambda x: lax.reduce_window(x, 0.0, lax.add, (7, 7), (1, 1), "SAME"), floats(512, 512))
add("max_pool_1d", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (9,), (1,), "SAME"), V)
add("cumsum_rev", lambda x: lax.cumsum(x, 1, reverse=True), M)
add("split_sum", lambda x: sum(jnp.split(x, 8, 1)), M)
add("std_all", lambda x: jnp.std(x), V)
add("minmax", lambda x: (x.min(), x.max()), V)
add("norms", lambda x: jnp.linalg.norm(x, axis=1), M)
add("normalise", lambda x: x / jnp.linalg.norm(x, axis=1, keepdims=True), M)
add(
    "cosine_sim",
    lambda a, b: (a @ b.T) / (jnp.linalg.norm(a, axis=1)[:, None] * jnp.linalg.norm(b, axis=1)[None]),
    floats(512, 64),
    floats(512, 64),
)
add(
    "adamw",
    lambda p, g, m, v: (lambda m2, v2: (p * 0.999 - 1e-3 * m2 / (jnp.sqrt(v2) + 1e-8), m2, v2))(
        0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    ),
    V,
    V,
    V,
    floats(1 << 20, low=0.0),
)
add("bf16_matmul", lambda a, b: a @ b, numbers((256, 256), "bfloat16"), numbers((256, 256), "bfloat16"))
add("f16_softmax", lambda a: jax.nn.softmax(a, 1), numbers((512, 512), "float16"))
add(
    "int8_dequant",
    lambda q, s: q.astype(jnp.float32) * s[:, None],
    numbers((1024, 1024), "int8", -100, 100),
    floats(1024),
)
add("xor_reduce", lambda x: lax.reduce(x, jnp.int32(0), lax.bitwise_xor, (0,)), I)
add("clz_u64", lambda x: lax.clz(x), numbers((1 << 18,), "uint64", 0, 1 << 30))
add(
    "i64_mul",
    lambda a, b: a * b % 1000003,
    numbers((1 << 18,), "int64", 0, 1 << 30),
    numbers((1 << 18,), "int64", 0, 1 << 30),
)
add("complex_exp_mul", lambda a, b: jnp.exp(1j * a) * b, V, V)
add("ifft", lambda x: jnp.fft.ifft(x.astype(jnp.complex64)), floats(64, 1024))
add("fft_2_rows", lambda x: jnp.fft.fft(x.astype(jnp.complex64)), floats(2, 8192))
add("fft_8_rows", lambda x: jnp.fft.fft(x.astype(jnp.complex64)), floats(8, 211))
add("irfft", lambda x: jnp.fft.irfft(x.astype(jnp.complex64)), floats(64, 513))
add("dct", lambda x: jsp.fft.dct(x), floats(64, 512))
add("einsum_bij", lambda a, b: jnp.einsum("bij,bkj->bik", a, b), floats(32, 64, 64), floats(32, 64, 64))
add("tensordot2", lambda a, b: jnp.tensordot(a, b, 2), floats(64, 32, 32), floats(32, 32, 64))
add("mat_triple", lambda a, b, c: a @ b @ c, S, S, S)
add(
    "conv_groups",
    lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "SAME", feature_group_count=4),
    floats(8, 16, 32, 32),
    floats(32, 4, 3, 3),
)
add(
    "conv3d",
    lambda x, k: lax.conv_general_dilated(x, k, (1, 1, 1), "SAME"),
    floats(1, 4, 16, 32, 32),
    floats(8, 4, 3, 3, 3),
)
add(
    "conv_dilated",
    lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "SAME", rhs_dilation=(2, 2)),
    floats(4, 16, 32, 32),
    floats(16, 16, 3, 3),
)
for co in (1, 8, 32):
    add(
        f"conv_grad_w_last_{co}",  # features are the last axis
        lambda x, k: jax.grad(lambda k: (lax.conv_general_dilated(
            x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))**2).sum())(k),
        floats(4, 32, 32, 8),
        floats(3, 3, 8, co),
    )
add(
    "conv_grad_w",
    lambda x, k: jax.grad(lambda k: (lax.conv_general_dilated(x, k, (1, 1), "SAME") ** 2).sum())(k),
    floats(8, 16, 28, 28),
    floats(16, 16, 3, 3),
)

for dtype, part in {"c64": floats(1 << 18), "c128": numbers((1 << 18,), "float64", -1, 1)}.items():
    for name in ("abs", "exp", "log", "sqrt", "sin", "sign"):
        add(f"{name}_{dtype}", lambda a, b, of=getattr(jnp, name): of(lax.complex(a, b)), part, part)
    add(f"quotient_{dtype}", lambda a, b: lax.complex(a, b) / lax.complex(b, a), part, part)
add("power_c64", lambda a, b: lax.complex(a, b)**lax.complex(b, a), floats(1 << 18), floats(1 << 18))

B = numbers((1024, 1024), "uint8", 0, 100)
add("roll_u8", lambda x: jnp.roll(x, (3, 5), (0, 1)), B)
add("flip_u8", lambda x: jnp.flip(x, 1), B)
add("repeat_u8", lambda x: jnp.repeat(x, 2, 1), B)
add("pad_edge_u8", lambda x: jnp.pad(x, 1, mode="edge"), B)
add("nchw_u8", lambda x: jnp.transpose(x.reshape(64, 4, 64, 64), (0, 2, 3, 1)), B)
add("table_u8", lambda x: jnp.arange(256)[::-1].astype(x.dtype)[x.astype(jnp.int32)], B)
add("table_of_u8", lambda t, x: t[x.astype(jnp.int32)], numbers((256,), "uint8", 0, 100), B)
add("rows_u8", lambda x: x[jnp.arange(1024) * 7 % 1024], B)
add("take_u8", lambda x: x.reshape(-1)[(jnp.arange(1 << 20) * 977) % (1 << 20)], B)


def next_life(b):
    n = sum(jnp.roll(b, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
    return ((n == 3) | ((b == 1) & (n == 2))).astype(b.dtype)


add("life_u8", lambda x: lax.fori_loop(0, 10, lambda i, b: next_life(b), x), numbers((512, 512), "uint8", 0, 2))

R = floats(256, 256)
add("qr256", lambda a: jnp.linalg.qr(a), R)
add("eigh256", lambda a: jnp.linalg.eigh(a + a.T), R)
add("svd256", lambda a: jnp.linalg.svd(a, full_matrices=False), R)
add("qr_tall", lambda a: jnp.linalg.qr(a), floats(2000, 64))
