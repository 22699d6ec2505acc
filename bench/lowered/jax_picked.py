"""What JAX's users wrote that the evaluator's rules computed: FFTs of few rows, sorts and first elements, integers and floats of
8 bits, and elements of what is computed. bench/lowered/jax_ops.py writes them."""
from jax_programs import floats, function as add, jax, jnp, lax, numbers


def repeated(name, fn, *inputs):
    """50 steps of a loop whose state is the first input."""
    add(name, lambda x, *rest: lax.scan(lambda c, _: (fn(c, *rest), None), x, length=50)[0], *inputs)


# ----- FFTs of few rows

for rows, n in ((5, 100), (4, 64), (8, 200), (3, 1000)):
    repeated(f"rfft_{rows}_{n}", lambda c, n=n: jnp.fft.irfft(jnp.fft.rfft(c) * 0.999, n), floats(rows, n))
    add(f"fft_{rows}_{n}", lambda x: jnp.abs(jnp.fft.fft(x + 1j * x)), floats(rows, n))

# ----- sorts and first elements

for rows, n in ((16, 256), (64, 200), (1, 333)):
    add(f"sort_i32_{rows}_{n}", lambda x: jnp.sort(x, 1), numbers((rows, n), "int32", -10**6, 10**6))
add("sort_u8_axis0_9_10000", lambda x: jnp.sort(x, 0), numbers((9, 10000), "uint8", 0, 255))
add("sort_f32_axis0_25_10000", lambda x: jnp.sort(x, 0), floats(25, 10000))
add("approx_max_16_1000_10", lambda x: lax.approx_max_k(x, 10), floats(16, 1000))
for rows, n, k in ((512, 8, 2), (64, 100, 5), (1, 333, 10)):
    add(f"top_{k}_of_{rows}_{n}", lambda x, k=k: lax.top_k(x, k), floats(rows, n))

# ----- integers, truths, floats of 8 bits

integer_convolution = dict(window_strides=(1, 1), padding="SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
add("life_u8_64", lambda x, w: lax.conv_general_dilated(x, w, **integer_convolution),
    numbers((1, 64, 64, 1), "uint8", 0, 2), numbers((3, 3, 1, 1), "uint8", 0, 2))
add("conv_i8_32_16", lambda x, w: lax.conv_general_dilated(x, w, preferred_element_type=jnp.int32, **integer_convolution),
    numbers((1, 32, 32, 16), "int8", -100, 100), numbers((3, 3, 16, 32), "int8", -100, 100))
add("reach_100", lambda x: (x > 0.9) @ (x > 0.9), floats(100, 100, low=0.0))
add("matmul_fp8_weights", lambda x, w: x @ lax.bitcast_convert_type(w, jnp.float8_e4m3fn).astype(jnp.float32),
    floats(8, 256), numbers((256, 256), "uint8", 0, 255))
add("quantize_fp8", lambda x: lax.bitcast_convert_type(x.astype(jnp.float8_e4m3fn), jnp.uint8), floats(200, 200))
add("matmul_int4_weights", lambda x, w, s: x @ (w.astype(jnp.int4).astype(jnp.float32) * s), floats(8, 256),
    numbers((256, 256), "int8", -8, 7), floats(256))
add("reduce_precision_bf16", lambda x: lax.reduce_precision(x, 8, 7), floats(200, 200))

# ----- elements of what is computed

add("embedding_bf16", lambda table, i: table.astype(jnp.bfloat16)[i], floats(5000, 64), numbers((16,), "int32", 0, 4999))
add("embedding_int8", lambda table, s, i: (table.astype(jnp.float32) * s[:, None])[i],
    numbers((5000, 64), "int8", -100, 100), floats(5000), numbers((16,), "int32", 0, 4999))
add("last_of_each", lambda x, n: jnp.tanh(x * 2 + 1)[jnp.arange(16), n], floats(16, 200, 64),
    numbers((16,), "int32", 0, 199))
add("slice_of_inner_jit", lambda x: jax.jit(lambda v: jnp.concatenate([v, jnp.sort(v)]))(x)[:100], floats(2000))
