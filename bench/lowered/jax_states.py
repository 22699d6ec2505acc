"""Loops whose state is an array that a turn reads and replaces: linear attention, state spaces and their chunked forms, and the smallest such
loops. Run as `python3 bench/lowered/jax_states.py FOLDER`."""
from jax_programs import FUNCTIONS, floats, function as add, jnp, lax, write_all

HEADS, KEYS, STEPS = 16, 64, 128
ROWS = floats(STEPS, HEADS, KEYS)


def recurrence(step):
    """A scan from zeros of [heads, keys, keys] over rows."""
    return lambda *rows: lax.scan(step, jnp.zeros((HEADS, KEYS, KEYS), rows[0].dtype), rows)[1]


def outer(k, v):
    return k[:, :, None] * v[:, None, :]


def gla_after(s, row):
    r, k, v, w = row
    s = s * w[..., None] + outer(k, v)
    return s, jnp.einsum("hk,hkv->hv", r, s)


def gla_before(s, row):
    r, k, v, w = row
    return s * w[..., None] + outer(k, v), jnp.einsum("hk,hkv->hv", r, s)


def rwkv(r, k, v, w, u):
    def step(s, row):
        r, k, v, w = row
        kv = outer(k, v)
        return s * w[..., None] + kv, jnp.einsum("hk,hkv->hv", r, s + u[:, :, None] * kv)

    return recurrence(step)(r, k, v, w)


def chunks(s, row):
    q, k, v, d = row
    return s * d[..., None] + jnp.einsum("hqk,hqv->hkv", k, v), jnp.einsum("hqk,hkv->hqv", q, s)


def delta(s, row):
    k, v, b, q = row
    error = v - jnp.einsum("hk,hkv->hv", k, s)
    return s + outer(k, b * error), jnp.einsum("hk,hkv->hv", q, s)


def whole(read, size=256, turns=100):
    def program(s, w, r):
        return lax.scan(lambda s, _: (s * w + 1, read(r, s, w)), s, None, length=turns)[1]

    return program, floats(size, size), floats(size, size), floats(size)


add("gla_after", recurrence(gla_after), ROWS, ROWS, ROWS, ROWS)
add("gla_before", recurrence(gla_before), ROWS, ROWS, ROWS, ROWS)
add("rwkv", rwkv, ROWS, ROWS, ROWS, ROWS, floats(HEADS, KEYS))
add("chunks", recurrence(chunks), *[floats(32, HEADS, 16, KEYS)] * 3, floats(32, HEADS, KEYS))
add("delta", recurrence(delta), ROWS, ROWS, ROWS, ROWS)
add("read_by_product", *whole(lambda r, s, w: r @ s))
add("read_by_sum", *whole(lambda r, s, w: (r[:, None] * s).sum(0)))
add("read_beside", *whole(lambda r, s, w: r @ (s + w)))
add("read_row", *whole(lambda r, s, w: s[3] * r))
write_all(FUNCTIONS, "call", "x")
