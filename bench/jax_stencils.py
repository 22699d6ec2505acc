"""Stencils of jnp.roll in loops, of short rows, of two dimensions and of channels that lie last; functions and masks that are transposed; folds over
one place and of repeated values; transposed convolutions whose stride is greater than their kernel. bench/jax_ops.py writes them."""
from jax_programs import floats, function as add, jax, jnp, lax

# ----- stencils


def scanned(step, turns):
    return lambda u: lax.scan(lambda u, _: (step(u), None), u, None, length=turns)[0]


def wave(state):
    u, before = state
    return 2 * u - before + 0.1 * (jnp.roll(u, 1, -1) + jnp.roll(u, -1, -1) - 2 * u), u


def lorenz96(u):
    return u + 0.01 * ((jnp.roll(u, -1, -1) - jnp.roll(u, 2, -1)) * jnp.roll(u, 1, -1) - u + 8)


def heat(u, rows=-2, columns=-1):
    return u + 0.1 * (jnp.roll(u, 1, columns) + jnp.roll(u, -1, columns) + jnp.roll(u, 1, rows) + jnp.roll(u, -1, rows) - 4 * u)


for batch, size in ((500, 6), (500, 17), (100, 33), (100, 100)):
    add(f"wave_{batch}_{size}", lambda u: scanned(wave, 50)((u, u))[0], floats(batch, size))
    add(f"lorenz96_{batch}_{size}", scanned(lorenz96, 20), floats(batch, size))
    add(f"grad_lorenz96_{batch}_{size}", jax.grad(lambda u: (scanned(lorenz96, 20)(u) ** 2).mean()), floats(batch, size))
    add(f"upwind_{batch}_{size}", scanned(lambda u: u - 0.1 * (u - jnp.roll(u, 1, -1)), 50), floats(batch, size))
for size in (8, 17, 33, 100):
    add(f"heat_of_32_{size}", scanned(heat, 20), floats(32, size, size))
    add(f"heat_channels_last_{size}", scanned(lambda u: heat(u, 1, 2), 20), floats(4, size, size, 8))
add("heat_vmapped_last", jax.vmap(scanned(heat, 20), in_axes=-1, out_axes=-1), floats(17, 17, 32))

# ----- transposes of what is computed

for rows, columns in ((256, 128), (1000, 50), (64, 64)):
    shape = rows, columns
    add(f"transposed_exp_{rows}_{columns}", lambda x: jnp.exp(x).T, floats(*shape))
    add(f"transposed_weights_{rows}_{columns}", lambda a, b: (jnp.minimum(jnp.exp(a), 1) * (b - a)).T, floats(*shape), floats(*shape))
    add(f"transposed_mask_{rows}_{columns}", lambda x: (x > 0).T, floats(*shape))
    add(f"scan_of_masks_{rows}_{columns}", lambda x: jax.vmap(lambda row: lax.scan(lambda c, d: ((c + 1) * ~d, c), 0, row)[1])(x > 0), floats(*shape))
add("grad_flip_of_transpose", jax.grad(lambda x: ((jnp.flip(x.T, -1) + x.T) ** 2).mean()), floats(9, 9, 1000, 1))

# ----- folds, and a convolution

add("median_of_one", lambda x: jnp.median(x, 2), floats(100, 64, 1))
add("sum_of_repeated", lambda v: jnp.broadcast_to(v, (3000, 200)).sum(0), floats(200))
add("upsampled_few_taps", lambda x, w: lax.conv_general_dilated(x, w, (1, 1), ((0, 0), (2, 3)), lhs_dilation=(1, 4),
                                                                dimension_numbers=("NHWC", "HWIO", "NHWC")),
    floats(4, 32, 64, 16), floats(1, 3, 16, 2))
