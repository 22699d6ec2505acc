"""Functions of many rows of a few elements (points, colours, quaternions, small matrices), among the programs of
jax_ops.py."""

from jax_programs import floats, function as add, jax, jnp, numbers

P = floats(4096, 3)

for k in (2, 3, 4, 6, 8):
    add(f"points_by_matrix{k}", lambda x, w: x @ w, floats(4096, k), floats(k, k))
add("points_by_matrix_f64", lambda x, w: x @ w, numbers((4096, 3), "float64"), numbers((3, 3), "float64"))
add("points_by_matrix_few", lambda x, w: x @ w, floats(512, 3), floats(3, 3))
add("points_by_matrix_3to4", lambda x, w: x @ w, P, floats(3, 4))
add("points_by_matrix_8to2", lambda x, w: x @ w, floats(4096, 8), floats(8, 2))
add("points_by_matrix_16to3", lambda x, w: x @ w, floats(4096, 16), floats(16, 3))
add("points_by_matrix_3to16", lambda x, w: x @ w, P, floats(3, 16))
add("points_by_vector", lambda x, w: x @ w, P, floats(3))
add("matrix_by_points", lambda w, x: w @ x, floats(3, 3), floats(3, 4096))
add("rows_turned", lambda w, x: jax.vmap(lambda p: w @ p)(x), floats(3, 3), P)
add("gram_of_points", lambda x, y: x.T @ y, P, P)
add("gram_of_8", lambda x, y: x.T @ y, floats(4096, 8), floats(4096, 8))
add("dense_tanh3", lambda x, w, b: jnp.tanh(x @ w + b), P, floats(3, 3), floats(3))
add("frames_left", lambda q, p: q @ p, floats(3, 3), floats(512, 3, 3))
add("frames_right", lambda p, q: p @ q, floats(512, 3, 3), floats(3, 3))
add("frames_each", lambda p, q: p @ q, floats(512, 3, 3), floats(512, 3, 3))
add("frames_by_points", lambda p, x: jnp.einsum("nij,nj->ni", p, x), floats(4096, 3, 3), P)
add("frames_of_4", lambda p, q: p @ q, floats(512, 4, 4), floats(512, 4, 4))
add("turned_frames", lambda p, q: jnp.einsum("nji,njk->nik", p, q), floats(512, 3, 3), floats(512, 3, 3))
add("congruence", lambda r, m: jnp.einsum("ia,nab,jb->nij", r, m, r), floats(3, 3), floats(1024, 3, 3))
add("image_colours", lambda x, m: jnp.clip(x @ m.T, 0, 1), floats(256, 256, 3, low=0), floats(3, 3))
add("quadratic_form", lambda x, a: jnp.einsum("ni,ij,nj->n", x, a, x), P, floats(3, 3))
add("homography", lambda h, x: (lambda y: y[:, :2] / y[:, 2:])(jnp.concatenate([x, jnp.ones((4096, 1))], 1) @ h.T),
    floats(3, 3), floats(4096, 2))
add("shoelace", lambda p: 0.5 * jnp.abs((p[:, 0] * jnp.roll(p[:, 1], -1) - p[:, 1] * jnp.roll(p[:, 0], -1)).sum()),
    floats(4096, 2))
add("quaternion_product", lambda p, q: jnp.stack([
    p[:, 0] * q[:, 0] - p[:, 1] * q[:, 1] - p[:, 2] * q[:, 2] - p[:, 3] * q[:, 3],
    p[:, 0] * q[:, 1] + p[:, 1] * q[:, 0] + p[:, 2] * q[:, 3] - p[:, 3] * q[:, 2],
    p[:, 0] * q[:, 2] - p[:, 1] * q[:, 3] + p[:, 2] * q[:, 0] + p[:, 3] * q[:, 1],
    p[:, 0] * q[:, 3] + p[:, 1] * q[:, 2] - p[:, 2] * q[:, 1] + p[:, 3] * q[:, 0]], 1),
    floats(4096, 4), floats(4096, 4))
add("pixel_neighbours", lambda x: (x + jnp.roll(x, 1, 0)) / 2, floats(64, 64, 3))
add("group_norm8", lambda x: (lambda g: ((g - g.mean(-1, keepdims=True)) /
                                         jnp.sqrt(g.var(-1, keepdims=True) + 1e-5)).reshape(x.shape))(
    x.reshape(512, 8, 8)), floats(512, 64))
add("layer_norm16", lambda x: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5),
    floats(4096, 16))
add("softmax4", lambda x: jax.nn.softmax(x), floats(4096, 4))
add("select_of_three", lambda x: jnp.select([x < -0.5, x < 0, x < 0.5], [x, x * 2, x * 3], 0.0), floats(1 << 16))
add("mod_one", lambda x: jnp.mod(x, 1.0), floats(1 << 16, low=-100, high=100))
add("rem_two", lambda x: jax.lax.rem(x, jnp.full_like(x, 2.0)), floats(1 << 16, low=-100, high=100))
add("wrap_angle", lambda x: jnp.mod(x + jnp.pi, 2 * jnp.pi) - jnp.pi, floats(1 << 16, low=-100, high=100))

F = floats(512, 3, 3)
SYMMETRIC = lambda a: a @ a.swapaxes(1, 2) + jnp.eye(a.shape[-1])

add("svd3_each", jnp.linalg.svd, F)
add("singular3_each", lambda a: jnp.linalg.svd(a, compute_uv=False), F)
add("eigh3_each", lambda a: jnp.linalg.eigh(SYMMETRIC(a)), F)
add("qr3_each", jnp.linalg.qr, F)
add("inv3_each", jnp.linalg.inv, F)
add("det3_each", jnp.linalg.det, F)
add("det5_each", jnp.linalg.det, floats(512, 5, 5))
add("slogdet5_each", jnp.linalg.slogdet, floats(512, 5, 5))
add("solve3_each", lambda a, b: jnp.linalg.solve(a, b[..., None])[..., 0], F, floats(512, 3))
add("cholesky3_each", lambda a: jnp.linalg.cholesky(SYMMETRIC(a)), F)
add("cholesky8_each", lambda a: jnp.linalg.cholesky(SYMMETRIC(a)), floats(256, 8, 8))
add("expm3_each", lambda a: jax.vmap(jax.scipy.linalg.expm)(a), floats(128, 3, 3))
add("kabsch", lambda p, q: (lambda u, s, v: u @ v)(*jnp.linalg.svd((p - p.mean(0)).T @ (q - q.mean(0)))), P, P)
add("permuted_einsum", lambda a, b: jnp.einsum("abc,dc->dba", a, b), floats(32, 64, 16), floats(16, 16))
add("kron_small", lambda a, b: jax.vmap(jnp.kron)(a, b), F, F)
add("outer_each", lambda a, b: jax.vmap(jnp.outer)(a, b), floats(1024, 4), floats(1024, 4))
add("attention_small", lambda q, k, v: jax.nn.softmax(q @ k.swapaxes(1, 2) / 4.0) @ v, floats(32, 64, 16),
    floats(32, 64, 16), floats(32, 64, 16))
add("axial_attention", lambda x: jax.nn.softmax(jnp.einsum("hwc,hvc->hwv", x, x)) @ x, floats(32, 32, 8))
add("lookup_u8", lambda t, i: t[i.astype(jnp.int32)], floats(256), numbers((1 << 16,), "uint8", 0, 256))
add("jacobian_of_chain", lambda x: jax.jacfwd(lambda x: jnp.array([
    [jnp.cos(x[0]), -jnp.sin(x[0]), 0, 1], [jnp.sin(x[0]), jnp.cos(x[0]), 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]]) @
    jnp.array([[jnp.cos(x[1]), -jnp.sin(x[1]), 0, 1], [jnp.sin(x[1]), jnp.cos(x[1]), 0, 0], [0, 0, 1, 0],
               [0, 0, 0, 1.0]]))(x), floats(2))
