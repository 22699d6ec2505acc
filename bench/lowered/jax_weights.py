"""Loops with weights of narrow types, powers in chains, and values that decay below the normal numbers, among the
programs of jax_loops.py. HEDDLE_FLUSH_SUBNORMALS=1 takes the last ones for zero, as XLA always does."""

from jax_programs import floats, jnp, lax, loop, numbers

STEPS = 200


def by_weights(name, dtype, low, high, shape, scale):
    rows, columns = shape

    def program(w, x):
        def step(x, _):
            y = jnp.tanh(w.astype(jnp.float32) @ x * scale)
            return y[:columns] if rows >= columns else jnp.concatenate([y, x[: columns - rows]]), y[0]

        return lax.scan(step, x, None, length=STEPS)

    program.__name__ = name
    loop(STEPS, numbers(shape, dtype, low, high), floats(columns))(program)


by_weights("weights_int8_128", "int8", -10, 10, (128, 128), 0.05)
by_weights("weights_int8_256x64", "int8", -10, 10, (256, 64), 0.05)
by_weights("weights_bf16_128", "bfloat16", -1, 1, (128, 128), 0.5)
by_weights("weights_bf16_512", "bfloat16", -1, 1, (512, 512), 0.2)
by_weights("weights_f16_128", "float16", -1, 1, (128, 128), 0.5)
by_weights("weights_uint8_512", "uint8", 0, 4, (512, 512), 0.1)
by_weights("weights_int16_200", "int16", -10, 10, (200, 200), 0.05)
by_weights("weights_int32_200", "int32", -10, 10, (200, 200), 0.05)


@loop(200, numbers((200, 128, 128), "int8", -10, 10), floats(128))
def layers_of_int8(w, x):
    def step(x, w):
        y = jnp.tanh(w.astype(jnp.float32) @ x * 0.05)
        return y, y[0]

    return lax.scan(step, x, w)


@loop(10000, floats(10000, low=0.5, high=1.5))
def chain_of_powers(x):
    def step(s, x):
        s = (s + x) ** x * 0.5
        return s, s

    return lax.scan(step, jnp.float32(0.5), x)


@loop(2000, floats(2000, 16), floats(16, 64))
def filters_after_impulse(x, c):
    x = x.at[50:].set(0.0)

    def step(state, x):
        a, b = state
        y = 0.9 * a - 0.3 * b + x.sum() * c[0]
        return (y, a), y[0]

    zero = jnp.zeros(64)
    return lax.scan(step, (zero, zero), x)


@loop(2000, floats(64, 64, low=0.0))
def absorbing_chain(p):
    p = 0.8 * p / p.sum(1, keepdims=True)

    def step(m, _):
        m = m @ p
        return m, m[0, 0]

    return lax.scan(step, p, None, length=2000)
