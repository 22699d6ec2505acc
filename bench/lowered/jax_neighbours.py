"""Neighbours by indices that are known before the run (x[(i + 1) % n], clipped and reflected ones, small windows), folds over a few shifted images,
histories that a loop reads by place and writes, convolutions of few pixels, and integer products. bench/lowered/jax_ops.py writes them."""
from jax_programs import floats, function as add, integers, jnp, lax, numbers

arange = jnp.arange


def bytes_of(*shape):
    return numbers(shape, "uint8", 0, 255)


# ----- neighbours

for kind, image in (("f32", floats(300, 400)), ("u8", bytes_of(300, 400)), ("line", floats(100_000))):
    axis, n = len(image["shape"]) - 1, image["shape"][-1]

    def near(x, i, axis=axis):
        return jnp.take(x, i, axis=axis)

    add(f"next_around_{kind}", lambda x, n=n: x[..., (arange(n) + 1) % n] * x, image)
    add(f"both_around_{kind}", lambda x, n=n, near=near: near(x, (arange(n) + 1) % n) + near(x, (arange(n) - 1) % n) - x - x, image)
    add(f"both_clipped_{kind}", lambda x, n=n, near=near: near(x, jnp.clip(arange(n) + 1, 0, n - 1)) + near(x, jnp.clip(arange(n) - 1, 0, n - 1)) - x - x, image)
    add(f"both_reflected_{kind}", lambda x, n=n, near=near: near(x, jnp.abs(arange(n) - 1)) + near(x, n - 1 - jnp.abs(n - 2 - arange(n))) - x - x, image)
    add(f"next_or_first_{kind}", lambda x, n=n, near=near: near(x, jnp.where(arange(n) == n - 1, 0, arange(n) + 1)) + x, image)


def ising(x):
    i, j = arange(400)[:, None], arange(400)[None]
    return x[(i + 1) % 400, j] + x[(i - 1) % 400, j] + x[i, (j + 1) % 400] + x[i, (j - 1) % 400]


def heat(x):
    up, down = jnp.clip(arange(64) + 1, 0, 63), jnp.clip(arange(64) - 1, 0, 63)
    return lax.fori_loop(0, 50, lambda _, x: 0.25 * (x[up] + x[down] + x[:, up] + x[:, down]), x)


def lorenz96(x):
    n = x.shape[0]
    i = arange(n)
    return lax.fori_loop(0, 300, lambda _, x: x + 0.01 * ((x[(i + 1) % n] - x[(i - 2) % n]) * x[(i - 1) % n] - x + 8.0), x)


add("ising", ising, floats(400, 400))
add("heat_clipped", heat, floats(64, 64))
add("lorenz96", lorenz96, floats(1000))

# ----- small windows


def places(n, k):
    return arange(n - k + 1)[:, None] + arange(k)[None]


def windows(x, k):
    return x[places(x.shape[0], k)[:, None, :, None], places(x.shape[1], k)[None, :, None, :]]


for kind, image in (("f32", floats(300, 400)), ("u8", bytes_of(300, 400))):
    for k in (2, 3, 5):
        add(f"windows_{k}_{kind}", lambda x, k=k: windows(x, k), image)
        add(f"max_of_windows_{k}_{kind}", lambda x, k=k: (windows(x, k) * 3).max((2, 3)), image)
        add(f"max_of_rows_{k}_{kind}", lambda x, k=k: x[places(300, k)].max(1), image)
        add(f"max_of_columns_{k}_{kind}", lambda x, k=k: x[:, places(400, k)].max(2), image)
        add(f"max_of_clipped_{k}_{kind}", lambda x, k=k: x[:, jnp.clip(arange(400)[:, None] + arange(-2, k - 2), 0, 399)].max(2), image)

# ----- folds over shifted images

for kind, image in (("f32", floats(480, 640)), ("u8", bytes_of(480, 640))):
    images = dict(image, shape=(8, 480, 640))
    add(f"sum_of_transitions_{kind}", lambda x: (x * jnp.roll(x, -1, 0)).sum(0, dtype=x.dtype), images)
    add(f"sum_of_stacked_{kind}", lambda *a: (lambda x: (x[1:] * x[:-1]).sum(0, dtype=x.dtype))(jnp.stack(a)), *[image] * 8)
    add(f"most_of_differences_{kind}", lambda *a: jnp.diff(jnp.stack(a), axis=0).max(0), *[image] * 8)
add("crops_of_padded", lambda x, at: lax.map(lambda one: lax.dynamic_slice(one[0], (one[1][0], one[1][1], 0), (32, 32, 3)),
                                             (jnp.pad(x, ((0, 0), (4, 4), (4, 4), (0, 0))), at)), floats(32, 32, 32, 3), integers(32, 2, high=8))

# ----- histories

HISTORY, DELAYS = floats(140, 1000), integers(1000, high=39)
add("delays_of_columns", lambda b, k: lax.fori_loop(0, 100, lambda i, b: b.at[i + 40].set(b[i + k, arange(1000)] * 0.9), b), HISTORY, DELAYS)
add("shuffled_rows", lambda b, k: lax.fori_loop(0, 100, lambda i, b: b.at[i + 40].set(b[i + 39, k] * 0.9), b), HISTORY, integers(1000, high=999))
add("sum_of_scaled", lambda x, t: lax.scan(lambda sum_, z: (sum_ + x * jnp.exp(z), None), jnp.zeros((128, 128)), t)[0], floats(128, 128), floats(64))

# ----- products

for n, hw, i, o, k, s in ((8, 4, 128, 128, 3, 1), (8, 8, 64, 64, 5, 2), (8, 7, 64, 128, 3, 2), (1, 8, 64, 64, 5, 2)):
    add(f"convolution_{n}_{hw}_{i}_{o}_{k}_{s}", lambda x, w, s=s: lax.conv_general_dilated(x, w, (s, s), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
        floats(n, hw, hw, i), floats(k, k, i, o))
add("attention_of_integers", lambda p, v: jnp.einsum("bhqk,bkhd->bqhd", p, v), numbers((2, 8, 64, 64), "int32", 0, 100), numbers((2, 64, 8, 64), "int32", 0, 100))
