"""Images whose pixels have few features (flips, every other pixel, pools by a reshape, crops), images of bytes, places of tables that were rolled by a
number of the run, updated or stacked, choices among many arrays, updates at every other place, and small arrays that a condition updates.
bench/lowered/jax_ops.py writes them."""
from jax_programs import floats, function as add, integers, jax, jnp, lax, numbers

# ----- pixels of few features

for c in (1, 2, 3, 4, 5, 16):
    image = floats(16, 64, 64, c)
    add(f"flipped_{c}", lambda x: x[:, :, ::-1], image)
    add(f"every_other_{c}", lambda x: x[:, ::2, ::2], image)
    add(f"max_of_blocks_{c}", lambda x: x.reshape(16, 32, 2, 32, 2, x.shape[-1]).max((2, 4)), image)
    add(f"mean_of_blocks_{c}", lambda x: x.reshape(16, 32, 2, 32, 2, x.shape[-1]).mean((2, 4)), image)
add("mask_of_channels", lambda x: x.transpose(2, 0, 1), numbers((256, 256, 3), "bool", 0, 2))

# ----- bytes


def bytes_of(*shape):
    return numbers(shape, "uint8", 0, 255)


def quarters(image):
    c = image.astype(jnp.int32) * 3
    mean = (c[::2, ::2] + c[1::2, ::2] + c[::2, 1::2] + c[1::2, 1::2] + 2) >> 4
    return mean.astype(jnp.uint8), (c >> 2).astype(jnp.uint8)


def rows_between(image, y):
    v = image.astype(jnp.int32)
    return ((v[y] + v[jnp.minimum(y + 1, image.shape[0] - 1)]) >> 1).astype(jnp.uint8)


add("bytes_quarters", quarters, bytes_of(480, 640))
add("bytes_rows", rows_between, bytes_of(480, 640), integers(480, high=480))

# ----- places of tables

TABLE = floats(4096, 64)
add("rolled_rows", lambda x, s: jnp.roll(x, s, axis=0)[:4], TABLE, integers(high=4096))
add("rolled_rows_in_turn", lambda x, ss: lax.map(lambda s: jnp.roll(x, s, axis=0)[:4].sum(0), ss), TABLE, integers(200, high=4096))
add("updated_rows", lambda e, j, r, k: e.at[j].set(r)[k], TABLE, integers(high=4096), floats(64), integers(8, high=4096))
add("updated_rows_in_turn", lambda e, j, r, k: lax.map(lambda a: e.at[a[0]].set(a[1])[a[2]].sum(), (j, r, k)), TABLE,
    integers(300, high=4096), floats(300, 64), integers(300, high=4096))
add("updated_column", lambda e, c, k: e.at[:, 0].set(c)[k], TABLE, floats(4096), integers(8, high=4096))
add("replayed", lambda o, k: jnp.stack([o, jnp.roll(o, 1, axis=0)], 1)[k], TABLE, integers(32, high=4096))
for k in (6, 9, 16):
    add(f"chosen_of_{k}", lambda i, *x: jnp.take_along_axis(jnp.stack(x), i[None], 0)[0], integers(128, 128, high=k), *[floats(128, 128)] * k)

# ----- updates


def red_black(u, f):
    def step(u, _):
        u = u.at[1::2].set(0.5 * (jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + f)[1::2])
        return u.at[::2].set(0.5 * (jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + f)[::2]), None
    return lax.scan(step, u, None, length=50)[0]


def queens(n):
    """The number of solutions, by a stack of rows that a condition pushes to and pops from."""
    def step(state):
        row, column, queens, found = state
        fits = ((queens != column) & (jnp.abs(queens - column) != row - jnp.arange(n))) | (jnp.arange(n) >= row)
        ok = fits.all() & (column < n)
        last = ok & (row == n - 1)
        queens = jnp.where(ok & ~last, queens.at[row].set(column), queens)
        back = column >= n
        row_back = jnp.maximum(row - 1, 0)
        row_next = jnp.where(back, row - 1, jnp.where(ok & ~last, row + 1, row))
        column_next = jnp.where(back, queens[row_back] + 1, jnp.where(ok & ~last, 0, column + 1))
        return row_next, column_next, queens, found + last.astype(jnp.int32)
    zero = jnp.int32(0)
    return lambda q: lax.while_loop(lambda s: s[0] >= 0, step, (zero, zero, q, zero))[3]


add("bytes_updated", lambda o, y: o.at[::2, ::2, 0].set(y).at[1::2, 1::2, 2].set(y), bytes_of(512, 512, 3), bytes_of(256, 256))
add("red_black", red_black, floats(256, 256), floats(256, 256))
add("added_to_every_other", lambda x, y: x.at[1::2].add(y), floats(1024, 256), floats(512, 256))
for n in (6, 8):
    add(f"queens_{n}", queens(n), integers(n, high=1))
