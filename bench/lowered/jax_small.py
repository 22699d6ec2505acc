"""Programs of many small things: products of a batch of small matrices, rows that are converted, values of small matrices; convolutions whose
image has holes or is smaller than the window, pooling by a reshape; branches within branches of a loop; and what is computed of transposed
arrays. bench/lowered/jax_ops.py writes them."""
from jax_programs import floats, function as add, jax, jnp, lax, numbers

# ----- products

for m, k, n in ((8, 3, 3), (33, 3, 3), (100, 2, 2), (12, 3, 4), (7, 3, 5), (5, 5, 5), (3, 8, 3), (20, 3, 2), (16, 2, 3), (10, 3, 10)):
    for dtype in ("float32", "bfloat16"):
        for layout in ("zmk,zkn->zmn", "zmk,znk->zmn", "zkm,zkn->zmn", "zkm,znk->zmn"):
            if dtype == "bfloat16" and layout.startswith("zkm"):
                continue
            left = (1000, m, k) if "zmk" in layout else (1000, k, m)
            right = (1000, k, n) if "zkn" in layout else (1000, n, k)
            add(f"batch_{dtype}_{m}_{k}_{n}_{layout[1:3]}_{layout[5:7]}", lambda x, y, layout=layout: jnp.einsum(layout, x, y),
                numbers(left, dtype, -1, 1), numbers(right, dtype, -1, 1))
for n in (2, 3):
    add(f"covariances_{n}", lambda f, p: lax.fori_loop(0, 50, lambda i, p: 0.9 * jax.vmap(lambda p: f @ p @ f.T)(p), p), floats(n, n),
        floats(1000, n, n))
for dtype in ("uint8", "int8", "int16", "int32", "float16", "bfloat16"):
    for columns in (2, 3, 5, 7, 10):
        add(f"converted_{dtype}_{columns}", lambda x, w: x.astype(jnp.float32) @ w, numbers((50000, columns), dtype, 0, 100), floats(columns))
for rows in (2, 3, 4, 5, 8, 12):
    for summed in (8, 12, 24, 64, 256):
        add(f"few_rows_{rows}_{summed}", lambda a, b: a @ b.T, floats(rows, summed), floats(2000, summed))
for batch in (2, 3, 4):
    for inputs, outputs in ((128, 512), (64, 256)):
        add(f"weights_{batch}_{inputs}_{outputs}", lambda x, d: (d.T @ x).T, floats(batch, inputs), floats(batch, outputs))
for dtype in ("bfloat16", "float16"):
    for rows, summed, columns in ((5000, 12, 12), (1000, 10, 10), (3000, 4, 8), (1000, 20, 12)):
        shapes = numbers((rows, summed), dtype, -1, 1), numbers((columns, summed), dtype, -1, 1)
        add(f"short_rows_{dtype}_{rows}_{summed}_{columns}", lambda a, b: a @ b.T, *shapes)
        add(f"short_rows_{dtype}_{rows}_{summed}_{columns}_turned", lambda a, b: b @ a.T, *shapes)

# ----- values of small matrices

for n in (2, 3, 4, 5, 6, 8):
    for count in (1, 100, 2000):
        add(f"eigenvalues_{n}_{count}", lambda a: jnp.linalg.eigh(a + jnp.swapaxes(a, -1, -2))[0], floats(count, n, n))
        add(f"singular_values_{n}_{count}", lambda a: jnp.linalg.svd(a, compute_uv=False), floats(count, n, n))

# ----- windows

LAYOUTS = {"last": ("NHWC", "HWIO", "NHWC"), "first": ("NCHW", "OIHW", "NCHW")}


def transposed_convolutions(layout, size, stride, inputs, outputs, places):
    dims, name = LAYOUTS[layout], f"{layout}_{size}_{stride}_{inputs}_{outputs}"
    image = (2, places, places, inputs) if layout == "last" else (2, inputs, places, places)
    kernel = (size, size, inputs, outputs) if layout == "last" else (outputs, inputs, size, size)

    def up(x, w):
        return lax.conv_transpose(x, w, (stride, stride), "SAME", dimension_numbers=dims)

    def down(x, w):
        return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=dims)
    add(f"upsampled_{name}", up, floats(*image), floats(*kernel))
    add(f"upsampled_{name}_grad", jax.grad(lambda x, w: (up(x, w) ** 2).sum(), (0, 1)), floats(*image), floats(*kernel))
    add(f"downsampled_{name}_grad", jax.grad(lambda x, w: (down(x, w) ** 2).sum()), floats(*image), floats(*kernel))


for layout in LAYOUTS:
    for sizes in ((2, 2, 8, 16, 16), (2, 2, 16, 8, 12), (3, 2, 16, 8, 12), (4, 2, 5, 3, 12), (4, 2, 32, 16, 16), (5, 3, 5, 3, 10),
                  (3, 2, 1, 8, 28), (4, 2, 16, 1, 14), (4, 4, 16, 3, 8), (4, 2, 64, 64, 8)):
        transposed_convolutions(layout, *sizes)


def convolved(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=LAYOUTS["last"])


for size, inputs, outputs in ((16, 3, 16), (16, 16, 16), (32, 32, 8)):
    def of_weights(x, w, z):
        return (jax.grad(lambda w: (convolved(x, w) ** 2).sum())(w) * z).sum()
    add(f"gradient_of_gradient_{size}_{inputs}_{outputs}", jax.grad(of_weights), floats(4, size, size, inputs),
        floats(3, 3, inputs, outputs), floats(3, 3, inputs, outputs))
for dtype in ("float32", "bfloat16", "uint8", "int32"):
    for n, h, w, b, c in ((100, 20, 20, 2, 2), (30, 20, 20, 3, 3), (20, 16, 16, 4, 4), (1, 200, 200, 2, 2), (60, 7, 9, 2, 2), (30, 20, 20, 2, 4)):
        add(f"blocks_{dtype}_{n}_{h}_{w}_{b}_{c}", lambda x, n=n, h=h, w=w, b=b, c=c: x.reshape(n, h, b, w, c).max((2, 4)),
            numbers((n, h * b, w * c), dtype, 0, 100))

# ----- branches in a loop, of an array of 200 kB


def loop_of(branch):
    return lambda x: lax.fori_loop(0, 200, lambda i, p: lax.cond(p[i] > 0, lambda p: branch(i, p), lambda p: p, p), x)


LARGE = floats(50000)
add("branch_in_branch", loop_of(lambda i, p: lax.cond(p[i] > .5, lambda p: p.at[i].set(1.), lambda p: p.at[i].set(2.), p)), LARGE)
add("loop_in_branch", loop_of(lambda i, p: lax.while_loop(lambda c: c[0] < i + 10, lambda c: (c[0] + 1, c[1].at[c[0]].set(.5)), (i, p))[1]), LARGE)
add("all_of_it_in_a_branch", loop_of(lambda i, p: p * .9 + .1), LARGE)

# ----- of transposed arrays

for name, fn in {"exp": jnp.exp, "log": lambda x: jnp.log(x * x + 1), "tanh": jnp.tanh, "sigmoid": jax.nn.sigmoid,
                 "argmax": lambda x: x.argmax(-1)}.items():
    for shape, order in (((33, 2048), (1, 0)), ((2048, 33), (1, 0)), ((64, 1024), (1, 0)), ((4, 16, 32, 32), (0, 2, 3, 1)),
                         ((8, 128, 32), (2, 0, 1))):
        add(f"turned_{name}_{'x'.join(map(str, shape))}", lambda x, fn=fn, order=order: fn(x.transpose(order)), floats(*shape))
