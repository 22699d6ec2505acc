"""Stencils of jnp.roll in loops, of short rows, of two dimensions and of channels that lie last; functions and masks that are transposed; folds over
one place and of repeated values; transposed convolutions whose stride is greater than their kernel; rows and windows of tables that were just joined,
padded or updated; messages between the nodes of graphs; many unrolled steps. bench/lowered/jax_ops.py writes them."""
from jax_programs import floats, function as add, integers, jax, jnp, lax, numbers

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
    add(f"transposed_mask_{rows}_{columns}", lambda x: x.T, numbers(shape, "bool", 0, 1))
    add(f"scan_of_masks_{rows}_{columns}", jax.vmap(lambda row: lax.scan(lambda c, d: ((c + 1) * ~d, c), 0, row)[1]), numbers(shape, "bool", 0, 1))
add("grad_flip_of_transpose", jax.grad(lambda x: ((jnp.flip(x.T, -1) + x.T) ** 2).mean()), floats(9, 9, 1000, 1))

# ----- folds, and a convolution

add("median_of_one", lambda x: jnp.median(x, 2), floats(100, 64, 1))
add("sum_of_repeated", lambda v: jnp.broadcast_to(v, (3000, 200)).sum(0), floats(200))
add("upsampled_few_taps", lambda x, w: lax.conv_general_dilated(x, w, (1, 1), ((0, 0), (2, 3)), lhs_dilation=(1, 4),
                                                                dimension_numbers=("NHWC", "HWIO", "NHWC")),
    floats(4, 32, 64, 16), floats(1, 3, 16, 2))

# ----- tables, graphs and unrolled steps

TABLE, ROWS = floats(20_000, 64), integers(128, high=20_000)
add("row_of_joined", lambda e, a, k: jnp.concatenate([e, a])[k], TABLE, floats(100, 64), ROWS)
add("row_of_padded", lambda e, k: jnp.pad(e, ((1, 0), (0, 0)))[k], TABLE, ROWS)
add("row_of_padding_token", lambda e, k: e.at[0].set(0)[k], TABLE, ROWS)
add("row_of_rolled", lambda e, k: jnp.roll(e, 1, 0)[k], TABLE, ROWS)
add("row_of_stacked", lambda e, a, k: jnp.stack([e, a], 1)[k], TABLE, TABLE, ROWS)
add("rows_of_updated", lambda e, row: e.at[17].set(row)[10:20], TABLE, floats(64))


def crop(image, at):
    return lax.dynamic_slice(jnp.pad(image, ((4, 4), (4, 4), (0, 0))), (at[0], at[1], jnp.int32(0)), (32, 32, 3))


def learn(q, key):
    state, action, after = key
    best = jnp.concatenate([q, jnp.zeros((1, 4), q.dtype)])[after].max()
    return q.at[state, action].add(0.1 * (best - q[state, action])), None


add("crops_of_padded", jax.vmap(crop), floats(32, 32, 32, 3), integers(32, 2, high=9))
add("q_learning", lambda q, keys: lax.scan(learn, q, keys)[0], floats(65_536, 4), integers(256, 3, high=4))
SENDERS, RECEIVERS = integers(3072, high=1024), integers(3072, high=1024)
add("graph_diffusion", lambda x, s, d: lax.fori_loop(0, 5, lambda i, x: x + 0.1 * jax.vmap(
    lambda x: jax.ops.segment_sum(x[s] - x[d], d, 1024))(x), x), floats(20, 1024, 3), SENDERS, RECEIVERS)
add("columns_added", lambda u, i: jnp.zeros((3, 10_000)).at[:, i].add(u), floats(3, 5000), integers(5000, high=10_000))


def unrolled(steps):
    def loss(m, h):
        for _ in range(steps):
            h = jnp.tanh(m @ h)
        return h.sum()
    return jax.grad(loss)


for steps in (50, 200, 400):
    add(f"grad_of_{steps}_steps", unrolled(steps), floats(64, 64, low=-0.1, high=0.1), floats(64))
