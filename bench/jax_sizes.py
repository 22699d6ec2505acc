"""Functions of real sizes whose arrays lie transposed or pass through memory: gradients of weights, statistics of
columns, distances, experts, sorts, and functions of complex numbers. bench/jax_ops.py writes them."""
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
