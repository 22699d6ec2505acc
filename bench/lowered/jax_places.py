"""Programs whose elements do not lie as loops like them: few states side by side, channels before places, windows and choices by
indices, gates, rows that change places, parts of complex arrays; and products of narrow numbers. bench/lowered/jax_ops.py writes them."""
from jax_programs import floats, function as add, jax, jnp, lax, numbers

# ----- few states


def viterbi(batch, states, axis):
    def best(seen, weights, emissions):
        def step(scores, o):
            all_ = (scores[:, :, None] if axis == 1 else scores[:, None]) + weights
            return all_.max(axis) + emissions[o].reshape(batch, states), all_.argmax(axis).astype(jnp.int32)
        return lax.scan(step, jnp.zeros((batch, states), jnp.float32), seen)
    add(f"viterbi_{batch}_{states}_axis{axis}", best, numbers((50, batch), "int32", 0, states), floats(states, states),
        floats(states, states))


def forward(batch, states):
    def likelihood(seen, weights, emissions):
        def step(a, o):
            return jax.nn.logsumexp(a[:, :, None] + weights, axis=1) + emissions[o].reshape(batch, states), None
        return lax.scan(step, jnp.zeros((batch, states), jnp.float32), seen)[0]
    types = numbers((50, batch), "int32", 0, states), floats(states, states), floats(states, states)
    add(f"forward_{batch}_{states}", likelihood, *types)
    add(f"forward_{batch}_{states}_grad", jax.grad(lambda *args: likelihood(*args).sum(), argnums=(1, 2)), *types)


for sizes in ((256, 4), (1000, 3), (64, 8)):
    viterbi(*sizes, axis=1)
    forward(*sizes)
viterbi(100, 5, axis=2)

# ----- channels before places


def convolution(x, w, stride=2):
    return lax.conv_general_dilated(x, w, (stride,) * (x.ndim - 2), "SAME")


def of_both(part):
    return lambda x, w, g: jax.vjp(convolution, x, w)[1](g)[part]


SIGNAL, FILTER, OUTPUT = floats(8, 16, 32, 32), floats(32, 16, 3, 3), floats(8, 32, 16, 16)
add("nchw_stride2", convolution, SIGNAL, FILTER)
add("nchw_stride2_input", of_both(0), SIGNAL, FILTER, OUTPUT)
add("nchw_stride2_weights", of_both(1), SIGNAL, FILTER, OUTPUT)
add("nchw_dense", lambda x, w: convolution(x, w, 1), floats(4, 64, 28, 28), floats(64, 64, 3, 3))
add("ncdhw_dense", lambda x, w: convolution(x, w, 1), floats(2, 32, 16, 16, 16), floats(32, 32, 3, 3, 3))



def generator_loss(z, *filters):
    for w in filters:
        z = jax.nn.leaky_relu(lax.conv_transpose(z, w, (2, 2), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW")))
    return (z**2).sum()


add("dcgan_grad", lambda z, *filters: jax.grad(lambda f: generator_loss(z, *f))(filters), floats(4, 64, 4, 4),
    floats(64, 64, 4, 4), floats(32, 64, 4, 4), floats(16, 32, 4, 4))

# ----- by indices

add("frames", lambda x: x[jnp.arange(300)[:, None] + jnp.arange(200)], floats(600))
add("frames_take", lambda x: jnp.take(x, jnp.arange(100)[:, None] * 50 + jnp.arange(200)), floats(5200))


def patches(x):
    i, d = jnp.arange(28), jnp.arange(5)
    return x[i[:, None, None, None] + d[:, None], i[:, None, None] + d]


add("patches", patches, floats(32, 32))
add("choose_4", lambda i, a: jnp.choose(i, [a * 0, a, a * 2, a * 3], mode="clip"), numbers((65536,), "int32", 0, 4),
    floats(65536))

# ----- small products


def gates(states, u):
    def layer(_, s):
        for q in range(10):
            s = jnp.einsum("ab,xby->xay", u, s.reshape(2**q, 2, 2 ** (9 - q))).reshape(-1)
        return s
    return lax.fori_loop(0, 10, layer, states)


add("gates_10", lambda r, i, u, v: jnp.abs(gates(r + 1j * i, u + 1j * v)), floats(1024), floats(1024), floats(2, 2), floats(2, 2))
add("khatri_rao", lambda a, b: jnp.einsum("ik,jk->ijk", a, b), floats(64, 64), floats(64, 64))
add("pairs_bf16", lambda x: jnp.einsum("ic,jc->ijc", x, x), numbers((300, 8), "bfloat16"))


def narrow(dtype, result, m, k, n):
    range_ = (-1, 1) if "float" in dtype else (-100, 100)
    add(f"{dtype}_{m}_{k}_{n}",
        lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=result),
        numbers((m, k), dtype, *range_), numbers((k, n), dtype, *range_))


for sizes in ((4, 1024, 1024), (12, 2048, 512), (256, 256, 256), (5000, 8, 8), (512, 2048, 2), (512, 2048, 12)):
    narrow("bfloat16", jnp.float32, *sizes)
    narrow("int8", jnp.int32, *sizes)

# ----- rows that change in place


def steps(step, count=100):
    return lambda *state: lax.scan(lambda s, i: (step(s, i), None), state, jnp.arange(count))[0]


def swap(state, i):
    (x,), j = state, 499 - i
    return (x.at[i].set(x[j]).at[j].set(x[i]),)


def rotate(state, i):
    x, y = state
    return x.at[i].set(x[i] * 0.6 - y[i] * 0.8), y.at[i].set(x[i] * 0.8 + y[i] * 0.6)


def factors(state, i):
    p, q = state
    u, v = i % 500, i * 7 % 500
    error = 1.0 - p[u] @ q[v]
    return p.at[u].add(0.1 * error * q[v]), q.at[v].add(0.1 * error * p[u])


def metropolis(spins, chances, places):
    def step(s, given):
        chance, (i, j) = given
        change = 2 * s[i, j] * (s[i - 1, j] + s[(i + 1) % 200, j] + s[i, j - 1] + s[i, (j + 1) % 200])
        return jnp.where(chance < jnp.exp(-0.4 * change), s.at[i, j].set(-s[i, j]), s), None
    return lax.scan(step, jnp.sign(spins), (chances, places))[0]


def append_large(x, values):
    def step(state, v):
        x, count = state
        return (jnp.where(v > 0.2, lax.dynamic_update_slice(x, v[None], (count,)), x), count + (v > 0.2)), None
    return lax.scan(step, (x, jnp.int32(0)), values)[0][0]


add("metropolis", metropolis, floats(200, 200), floats(1000, low=0.0), numbers((1000, 2), "int32", 0, 199))
add("append_large", append_large, floats(10000), floats(1000))
add("swap_rows", steps(swap), floats(500, 500))
add("rotate_rows", steps(rotate), floats(256, 256), floats(256, 256))
add("factorize", steps(factors, 1000), floats(500, 16), floats(500, 16))
add("complex_rows", lambda r, i: steps(lambda s, k: (s[0].at[k].multiply(0.6 + 0.8j),))(r + 1j * i)[0], floats(256, 256),
    floats(256, 256))
add("complex_sum", lambda x: lax.scan(lambda s, row: (s + row, None), x[0], x)[0], numbers((256, 256), "complex64"))
add("complex_diagonal", jnp.diagonal, numbers((256, 256), "complex64"))
add("complex_segments", lambda r, i, k: jax.ops.segment_max(r + 1j * i, k, 100), floats(5000), floats(5000),
    numbers((5000,), "int32", 0, 99))
add("long_to_bf16", lambda x: x.astype(jnp.bfloat16), numbers((32768,), "int64", -1000, 1000))

# ----- complex arrays that are only moved

for name, fn in (("roll", lambda x: jnp.roll(x, 1, 1)), ("roll_rows", lambda x: jnp.roll(x, 3, 0)),
                 ("repeat", lambda x: jnp.repeat(x, 2, 1)), ("reverse", lambda x: x[:, ::-1]), ("transpose", jnp.transpose),
                 ("pad", lambda x: jnp.pad(x, 3)), ("pad_wrap", lambda x: jnp.pad(x, 3, mode="wrap")),
                 ("half", lambda x: x.reshape(2, -1)[1]), ("seventh", lambda x: x.reshape(-1)[::7]),
                 ("shifted_fft", lambda x: jnp.fft.fftshift(jnp.fft.fft(x)))):
    add(f"complex_{name}", fn, numbers((512, 512), "complex64"))
add("complex_join", lambda x, y: jnp.concatenate([x, y], 1), *(numbers((512, 512), "complex64"),) * 2)
add("complex_row_set", lambda x, y: x.at[5].set(y), numbers((512, 512), "complex64"), numbers((512,), "complex64"))

# ----- a few columns

for dtype in ("uint8", "bfloat16", "float32"):
    for m, n in ((10000, 6), (6, 10000), (10000, 8), (8, 10000)):
        add(f"transpose_{dtype}_{m}_{n}", jnp.transpose, numbers((m, n), dtype, 0, 100))

# ----- convolutions to few features

for batch, size, from_, to, taps in ((4, 32, 16, 3, 3), (4, 32, 64, 1, 3), (1, 128, 8, 1, 7), (4, 32, 64, 6, 5)):
    add(f"conv_{from_}_to_{to}_by_{taps}", lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC")), floats(batch, size, size, from_), floats(taps, taps, from_, to))

# ----- short rows

for dtype in ("int32", "float32", "bfloat16"):
    for length in (10, 19, 47):
        for name in ("sum", "max", "argmax"):
            add(f"{name}_{dtype}_{length}", lambda x, name=name: getattr(jnp, name)(x, axis=1),
                numbers((8000, length), dtype, 0, 100))
add("floor_divide_s16", lambda x, y: x // y, numbers((65536,), "int16", -100, 100), numbers((65536,), "int16", 1, 100))

# ----- messages along edges, and tables that a loop reads

for lanes, nodes, edges in ((8, 1000, 5000), (128, 500, 1000)):
    given = numbers((edges,), "int32", 0, nodes - 1), numbers((edges,), "int32", 0, nodes - 1)
    add(f"pagerank_{lanes}_{nodes}", lambda p, s, d: lax.fori_loop(
        0, 20, lambda k, p: 0.2 * jnp.zeros_like(p).at[:, d].add(p[:, s]) + 0.01, p), floats(lanes, nodes), *given)
    add(f"segments_{lanes}_{nodes}", lambda u, d, n=nodes: jax.vmap(lambda v: jax.ops.segment_max(v, d, n))(u),
        floats(lanes, edges), given[0])
add("table_gradient", jax.grad(lambda table, x, places: lax.scan(
    lambda x, i: (jnp.tanh(0.9 * x + table[i]), None), x, places)[0].sum()), floats(90000), floats(300),
    numbers((50, 300), "int32", 0, 89999))

# ----- rows of a few elements that are moved

for name, fn in (("repeat", lambda x: jnp.repeat(x, 2, 1)), ("reverse", lambda x: x[:, ::-1]),
                 ("twice", lambda x: jnp.repeat(x, 2, 0))):
    for dtype in ("uint8", "float32"):
        add(f"{name}_{dtype}_6", fn, numbers((8000, 6), dtype, 0, 100))
