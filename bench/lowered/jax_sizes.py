"""Functions of real sizes whose arrays lie transposed or pass through memory: gradients of weights, of paddings and of
parts, statistics of columns, distances, experts, sorts, rows of few elements, and functions of complex numbers.
bench/lowered/jax_ops.py writes them."""
from jax_programs import floats, function as add, jax, jnp, numbers

# ----- x^T dy: the first operand lies transposed

for tokens, features, columns in ((512, 4096, 1024), (1024, 2048, 512), (2048, 768, 768), (64, 2048, 2048),
                                  (32, 1024, 4096), (256, 784, 1024), (4096, 512, 512)):
    add(f"wgrad_{tokens}_{features}_{columns}", lambda x, y: x.T @ y, floats(tokens, features), floats(tokens, columns))
add("tn_4096_512_512", lambda x, y: x.T @ y, floats(512, 4096), floats(512, 512))

# ----- statistics of columns, distances, experts

add("corrcoef_columns", lambda x: jnp.corrcoef(x.T), floats(4000, 128))
add("distances", lambda x, y: (x * x).sum(1)[:, None] - 2 * x @ y.T + (y * y).sum(1), floats(2000, 64),
    floats(2000, 64))
add("dense_layer", lambda x, w, b: jax.nn.relu(x @ w + b), floats(2048, 256), floats(256, 1024), floats(1024))
add("experts_combine", lambda m, y: jnp.einsum("ngc,gcd->nd", m, y), floats(1024, 8, 128), floats(8, 128, 256))

# ----- sorts

add("sort_1m", jnp.sort, floats(1 << 20))
add("argsort_256k", jnp.argsort, floats(1 << 18))
add("sort_i32_256k", jnp.sort, numbers((1 << 18,), "int32", -(10**6), 10**6))

# ----- functions of complex numbers

for size, part in (("c64", "float32"), ("c128", "float64")):
    parts = [numbers((4096,), part, -2, 2)] * 2
    for name, fn in (("tanh", jnp.tanh), ("tan", jnp.tan), ("expm1", jnp.expm1), ("log1p", jnp.log1p)):
        add(f"{name}_{size}", lambda a, b, fn=fn: jnp.abs(fn(jax.lax.complex(a, b))), *parts)
    add(f"power_{size}", lambda a, b: jnp.abs(jax.lax.complex(a, b) ** jax.lax.complex(b, a)), *parts)

# ----- gradients of paddings, differences, picked columns, repeated elements and strided slices


def gradient(name, fn, *inputs):
    add(name, jax.grad(fn), *inputs)


gradient("grad_pad_nchw", lambda x, t: ((jnp.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))) * t) ** 2).sum(),
         floats(8, 16, 56, 56), floats(8, 16, 58, 58))
gradient("grad_diff_rows", lambda x: (jnp.diff(x, axis=0) ** 2).mean(), floats(1024, 1024))
gradient("grad_total_variation", lambda x: jnp.abs(jnp.diff(x, axis=1)).sum() + jnp.abs(jnp.diff(x, axis=2)).sum(),
         floats(4, 64, 64, 16))
gradient("grad_columns", lambda s: (s[:, 0] * s[:, 1]).sum(), floats(100000, 3))
gradient("grad_luma", lambda x, y: ((.3 * x[..., 0] + .6 * x[..., 1] + .1 * x[..., 2] - y) ** 2).mean(),
         floats(8, 128, 128, 3), floats(8, 128, 128))
gradient("grad_upsampled", lambda x, t: ((jnp.repeat(jnp.repeat(x, 2, 1), 2, 2) - t) ** 2).mean(),
         floats(8, 28, 28, 64), floats(8, 56, 56, 64))
gradient("grad_repeated", lambda x: ((jnp.repeat(x, 4, 1) * .5) ** 2).mean(), floats(16, 256, 64))
gradient("grad_haar", lambda x: ((x[:, ::2] + x[:, 1::2] - (x[:, ::2] - x[:, 1::2]) ** 2) ** 2).mean(),
         floats(1024, 1024))


def lorenz(state, _):
    def step(s):
        return s + .01 * jnp.array([10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]])

    return jax.vmap(step)(state), None


gradient("grad_lorenz_indexed", lambda s: (jax.lax.scan(lorenz, s, None, length=20)[0] ** 2).sum(), floats(1000, 3))

# ----- rows of few elements

add("stack_16", lambda x, y, z: jnp.stack([x * (k + 1) + y * (k - 3) * z for k in range(16)], -1), floats(20000),
    floats(20000), floats(20000))
add("max_argmax_middle", lambda x: (x.max(1), x.argmax(1)), floats(500, 64, 5))
add("softmax_1000_5_5", lambda x: jax.nn.softmax(x, -1), floats(1000, 5, 5))
add("sum_200000_2", lambda x: x.sum(), floats(200000, 2))
