"""Loops, branches, calls and their transforms, each over several bodies: scan, while, fori, cond, switch, map, associative_scan, remat, custom rules."""
import functools
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
from programs._values import *

X = values(rng_of('c', 1), (6, 3), 'float32', -1, 1)
W = values(rng_of('c', 2), (3, 3), 'float32', -1, 1)
H = values(rng_of('c', 3), (3,), 'float32', -1, 1)
N = np.int32(4)

# (carry, x) -> (carry, y), with the closed-over W; each of a different shape of state.
BODIES = dict(
    affine=lambda w, h, x: (jnp.tanh(h @ w + x), h * x),
    multiply=lambda w, h, x: (h * x + 0.1, jnp.sum(h)),
    none=lambda w, h, x: (h + w[0], None),
    branch=lambda w, h, x: (lax.cond(x[0] > 0, lambda: jnp.sin(h), lambda: h * x), h[:2]),
    inner=lambda w, h, x: (lax.fori_loop(0, 3, lambda i, v: jnp.cos(v @ w) + x[i], h), h),
    nested=lambda w, h, x: lax.scan(lambda c, r: (c + jnp.tanh(r * c), c * r), h, w * x),
    switch=lambda w, h, x: (lax.switch(jnp.argmax(x), [lambda v: v, jnp.sin, lambda v: v @ w], h), jnp.argmax(x)),
    update=lambda w, h, x: (h.at[jnp.argmin(x)].add(x[0]), (h, x)),
    sorted=lambda w, h, x: (jnp.sort(h + x), jnp.argsort(x)),
    dynamic=lambda w, h, x: (lax.dynamic_update_slice(h, lax.dynamic_slice(x, (1,), (1,)), (jnp.argmax(h),)), h[jnp.argmin(x)]),
    remat=lambda w, h, x: (jax.checkpoint(lambda v: jnp.sin(jnp.sin(v @ w)) + x)(h), jnp.max(h)),
    solve=lambda w, h, x: (jnp.linalg.norm(h) * x, h.mean()),
    reduce=lambda w, h, x: (h - lax.reduce_window(x, np.float32(-np.inf), lax.max, (2,), (1,), 'SAME'), jnp.cumsum(h)),
)


def runs():
    for name, body in BODIES.items():
        for option in [dict(), dict(reverse=True), dict(unroll=2), dict(unroll=4, reverse=True), dict(_split_transpose=True), dict(unroll=True)]:
            key = '_'.join(map(str, sum(option.items(), ())))
            yield f'{name}_{key}', lambda w, h, xs, body=body, option=option: lax.scan(functools.partial(body, w), h, xs, **option)


def loss_of(run):
    def loss(w, h, xs):
        carry, ys = run(w, h, xs)
        floats = [y for y in jax.tree.leaves(ys) if jnp.issubdtype(y.dtype, jnp.floating)]
        return jnp.sum(carry ** 2) + sum(jnp.sum(jnp.sin(y)) for y in floats)
    return loss


def programs():
    for name, run in runs():
        loss = loss_of(run)
        yield f'scan_{name}', jitted(run, W, H, X)
        yield f'scan_{name}_length1', jitted(run, W, H, X[:1])
        yield f'scan_{name}_length0', jitted(run, W, H, X[:0])
        yield f'scan_{name}_grad', jitted(jax.grad(loss, (0, 1, 2)), W, H, X)
        yield f'scan_{name}_jvp', jitted(lambda w, h, xs, l=loss: jax.jvp(l, (w, h, xs), (w, h, xs)), W, H, X)
        yield f'scan_{name}_vmap', jitted(jax.vmap(run, (None, 0, 1)), W, np.stack([H, -H]), np.stack([X, X * 2], 1))
        yield f'scan_{name}_vmap_grad', jitted(jax.vmap(jax.grad(loss, (0, 2)), (0, None, None)), np.stack([W, -W]), H, X)
        yield f'scan_{name}_remat_grad', jitted(jax.grad(jax.checkpoint(loss)), W, H, X)
        if '_' == name[-1]:
            yield f'scan_{name}_hessian', jitted(jax.hessian(loss, 1), W, H, X)
            yield f'scan_{name}_jacfwd', jitted(jax.jacfwd(run), W, H, X)
            yield f'scan_{name}_jacrev', jitted(jax.jacrev(lambda w, h, xs, l=loss: l(w, h, xs)), W, H, X)
            yield f'scan_{name}_linearize', jitted(lambda w, h, xs, l=loss: jax.linearize(l, w, h, xs)[1](w, h, xs), W, H, X)
            policy = jax.checkpoint_policies.dots_with_no_batch_dims_saveable
            yield f'scan_{name}_policy', jitted(jax.grad(jax.checkpoint(loss, policy=policy)), W, H, X)
            yield f'scan_{name}_eager', eager(run, W, H, X)
    yield from chain(loops(), branches(), maps(), custom(), types(), algorithms())


def loops():
    bodies = dict(add=lambda i, v: v + i, tanh=lambda i, v: jnp.tanh(v @ W) * i, set=lambda i, v: v.at[i].set(v[i - 1] * 2), nested=lambda i, v: lax.fori_loop(0, i, lambda j, u: u + j * v, v),
                  gather=lambda i, v: v[jnp.array([1, 2, 0])] + X[i % 6], cond=lambda i, v: jnp.where(i % 2 == 0, v, -v) + 1, rng=lambda i, v: v + jax.random.normal(jax.random.fold_in(jax.random.key(0), i), v.shape))
    for name, body in bodies.items():
        for lower, upper in [(0, 4), (2, 2), (5, 1), (-2, 3)]:
            static = lambda h, b=body, l=lower, u=upper: lax.fori_loop(l, u, b, h)
            dynamic = lambda h, n, b=body, l=lower: lax.fori_loop(l, n, b, h)
            yield f'fori_{name}_{lower}_{upper}', jitted(static, H)
            yield f'fori_{name}_{lower}_{upper}_dynamic', jitted(dynamic, H, np.int32(upper))
            yield f'fori_{name}_{lower}_{upper}_wide', jitted(dynamic, H, np.int64(upper))
            if name != 'nested':
                yield f'fori_{name}_{lower}_{upper}_grad', jitted(jax.grad(lambda h, f=static: jnp.sum(f(h) ** 2)), H)
            yield f'fori_{name}_{lower}_{upper}_jvp', jitted(lambda h, n, f=dynamic: jax.jvp(lambda v: f(v, n), (h,), (h * 2,)), H, np.int32(upper))
            yield f'fori_{name}_{lower}_{upper}_vmap', jitted(jax.vmap(dynamic), np.stack([H, 2 * H]), np.array([upper, lower], np.int32))
            yield f'fori_{name}_{lower}_{upper}_unroll', jitted(lambda h, b=body, l=lower, u=upper: lax.fori_loop(l, u, b, h, unroll=2), H)
    whiles = dict(collatz=(lambda s: s[0] > 1, lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (np.int32(27), np.int32(0))), newton=(lambda s: jnp.abs(s * s - 2) > 1e-5, lambda s: s - (s * s - 2) / (2 * s), np.float32(1)),
                  bisect=(lambda s: s[1] - s[0] > 1e-3, lambda s: lax.cond(jnp.cos((s[0] + s[1]) / 2) > 0, lambda t: ((t[0] + t[1]) / 2, t[1]), lambda t: (t[0], (t[0] + t[1]) / 2), s), (np.float32(0), np.float32(3))),
                  gcd=(lambda s: s[1] != 0, lambda s: (s[1], s[0] % s[1]), (np.uint32(462), np.uint32(1071))), power=(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] @ s[1] / 2), (np.int64(0), W)), never=(lambda s: s < 0, lambda s: s - 1, np.int8(3)),
                  inner=(lambda s: s[0] < 3, lambda s: (s[0] + 1, lax.while_loop(lambda t: jnp.sum(t) < s[0], lambda t: t + 0.3, s[1])), (np.int32(0), H)), mixed=(lambda s: jnp.all(s['a'] < 20), lambda s: dict(a=s['a'] + s['b'], b=s['b'] * 2, c=~s['c']), dict(a=np.array([1, 2]), b=np.array([1, 0]) + 1, c=np.array(True))))
    for name, (test, body, start) in whiles.items():
        yield f'while_{name}', jitted(lambda s, t=test, b=body: lax.while_loop(t, b, s), start)
        many = jax.tree.map(lambda v: np.stack([v, v + 1 if v.dtype != bool else v, v]), start)
        yield f'while_{name}_vmap', jitted(jax.vmap(lambda s, t=test, b=body: lax.while_loop(t, b, s)), many)
        if name in ('newton', 'power', 'inner'):
            yield f'while_{name}_jvp', jitted(lambda s, t=test, b=body: jax.jvp(lambda u: lax.while_loop(t, b, u), (s,), (jax.tree.map(lambda v: v * 2 if v.dtype.kind == 'f' else np.zeros(v.shape, jax.dtypes.float0), s),)), start)
        yield f'while_{name}_eager', eager(lambda s, t=test, b=body: lax.while_loop(t, b, s), start)


def branches():
    fs = dict(sin=jnp.sin, matmul=lambda v: v @ W, constant=lambda v: jnp.ones_like(v), cumsum=jnp.cumsum, loop=lambda v: lax.fori_loop(0, 3, lambda i, u: u * 1.1, v), identity=lambda v: v, gather=lambda v: v[jnp.array([2, 2, 0])])
    names = list(fs)
    for k in range(1, 8):
        chosen = [fs[names[(k * 3 + j) % 7]] for j in range(k)]
        f = lambda i, h, c=chosen: lax.switch(i, c, h)
        for i in (-1, 0, k - 1, k + 3):
            yield f'switch_{k}_{i}', jitted(f, np.int32(i), H)
        yield f'switch_{k}_vmap', jitted(jax.vmap(f), np.arange(-1, 3).astype(np.int32), np.stack([H] * 4))
        yield f'switch_{k}_vmap_operand', jitted(jax.vmap(f, (None, 0)), np.int32(1), np.stack([H] * 4))
        yield f'switch_{k}_grad', jitted(lambda i, h, f=f: jax.grad(lambda v: jnp.sum(f(i, v) ** 2))(h), np.int32(1), H)
        yield f'switch_{k}_jvp', jitted(lambda i, h, f=f: jax.jvp(lambda v: f(i, v), (h,), (h,)), np.int32(2), H)
        yield f'switch_{k}_hessian', jitted(lambda i, h, f=f: jax.hessian(lambda v: jnp.sum(f(i, v) ** 3))(h), np.int32(0), H)
    for a in names:
        for b in names:
            f = lambda p, h, a=a, b=b: lax.cond(p, fs[a], fs[b], h)
            yield f'cond_{a}_{b}', jitted(f, np.bool_(True), H)
            yield f'cond_{a}_{b}_grad', jitted(lambda p, h, f=f: jax.value_and_grad(lambda v: jnp.sum(f(p, v) ** 2))(h), np.bool_(False), H)
            yield f'cond_{a}_{b}_vmap', jitted(jax.vmap(f), np.array([True, False]), np.stack([H, -H]))
            yield f'cond_{a}_{b}_scan', jitted(lambda h, xs, f=f: lax.scan(lambda c, x: (f(x[0] > 0, c), f(x[1] > x[2], x)), h, xs), H, X)


def maps():
    for name, f in dict(sin=jnp.sin, matmul=lambda r: r @ W, scalar=lambda r: r.sum(), pair=lambda r: (r, r[0] > 0), sort=jnp.sort).items():
        yield f'map_{name}', jitted(lambda xs, f=f: lax.map(f, xs), X)
        for size in (2, 4, 6):
            yield f'map_{name}_batch{size}', jitted(lambda xs, f=f, s=size: lax.map(f, xs, batch_size=s), X)
    combines = dict(add=jnp.add, mul=jnp.multiply, max=jnp.maximum, min=jnp.minimum, logaddexp=jnp.logaddexp, matmul=jnp.matmul)
    for n in (0, 1, 2, 5, 8, 13):
        for name, f in combines.items():
            for dtype in ['float32', 'float64', 'int32']:
                if name == 'matmul':
                    x = values(rng_of('as', n), (n, 2, 2), dtype, -1, 1)
                elif name == 'logaddexp' and dtype == 'int32':
                    continue
                else:
                    x = values(rng_of('as', n), (n, 2), dtype, -1, 1)
                for reverse in (False, True):
                    yield f'associative_{name}_{n}_{dtype}_{reverse}', jitted(lambda v, f=f, r=reverse: lax.associative_scan(f, v, reverse=r), x)
                if n and dtype != 'int32':
                    yield f'associative_{name}_{n}_{dtype}_grad', jitted(jax.grad(lambda v, f=f: jnp.sum(lax.associative_scan(f, v) ** 2)), x)
        pair = lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1])
        yield f'associative_linear_{n}', jitted(lambda a, b: lax.associative_scan(pair, (a, b)), *[values(rng_of('al', n, k), (n, 3), 'float32') for k in (1, 2)])
        yield f'associative_linear_{n}_axis', jitted(lambda a, b: lax.associative_scan(pair, (a, b), axis=1), *[values(rng_of('al', n, k), (2, n), 'float32') for k in (1, 2)])


def custom():
    @jax.custom_vjp
    def clip(x):
        return x * 1.0
    clip.defvjp(lambda x: (clip(x), x), lambda x, g: (jnp.clip(g, -0.1, 0.1) * x,))

    @jax.custom_jvp
    def softplus(x):
        return jnp.log1p(jnp.exp(x))
    softplus.defjvp(lambda p, t: (softplus(p[0]), t[0] * jax.nn.sigmoid(p[0])))
    for name, f in dict(clip=clip, softplus=softplus).items():
        yield f'custom_{name}', jitted(f, H)
        yield f'custom_{name}_grad', jitted(jax.grad(lambda v, f=f: jnp.sum(f(v) ** 2)), H)
        yield f'custom_{name}_scan', jitted(jax.grad(lambda h, f=f: jnp.sum(lax.scan(lambda c, x: (f(c * x), f(x)), h, X)[0])), H)
        yield f'custom_{name}_vmap', jitted(jax.vmap(jax.grad(lambda v, f=f: jnp.sum(f(v)))), X)
    root = lambda a: lax.custom_root(lambda v: v ** 3 - a, jnp.ones_like(a), lambda g, v0: lax.fori_loop(0, 20, lambda i, v: v - g(v) / (3 * v * v), v0), lambda g, y: y / g(jnp.ones_like(y)))
    yield 'custom_root', jitted(root, np.float32(5))
    yield 'custom_root_grad', jitted(jax.grad(root), np.float32(5))
    solve = lambda m, b: lax.custom_linear_solve(lambda v: m @ v, b, lambda mv, r: lax.fori_loop(0, 30, lambda i, v: v + 0.3 * (r - mv(v)), jnp.zeros_like(r)), symmetric=True)
    spd = np.eye(3, dtype='float32') + 0.1 * W @ W.T
    yield 'custom_solve', jitted(solve, spd, H)
    yield 'custom_solve_grad', jitted(jax.grad(lambda m, b: jnp.sum(solve(m, b) ** 2), (0, 1)), spd, H)
    yield 'custom_solve_vmap', jitted(jax.vmap(solve, (None, 0)), spd, X)
    yield 'nested_jit', jitted(lambda h: jax.jit(lambda v: jax.jit(jnp.sin)(v) + jax.jit(jnp.sin)(v * 2))(h) + jax.jit(jnp.sin)(h), H)
    yield 'named_call', jitted(lambda h: jax.named_call(jnp.cos, name='inner')(h), H)
    yield 'closed_call', jitted(lambda h: jax.closure_convert(lambda v: v @ W, h)[0](h), H)
    yield 'barrier', jitted(lambda h: lax.optimization_barrier((h, h * 2)), H)
    yield 'barrier_grad', jitted(jax.grad(lambda h: jnp.sum(lax.optimization_barrier(h) ** 2)), H)
    yield 'donated', jitted(lambda h, w: (h + 1, h @ w), H, W, donate_argnums=(0,))
    yield 'donated_all', jitted(lambda h, w: (h + 1, w * 2), H, W, donate_argnums=(0, 1))
    mesh = jax.make_mesh((1,), ('i',))
    P = jax.sharding.PartitionSpec
    for name, f in dict(psum=lambda v: lax.psum(v, 'i'), pmean=lambda v: lax.pmean(v, 'i'), gather=lambda v: lax.all_gather(v, 'i'), permute=lambda v: lax.ppermute(v, 'i', [(0, 0)]), scatter=lambda v: lax.psum_scatter(v, 'i', tiled=True),
                        to_all=lambda v: lax.all_to_all(v, 'i', 0, 0, tiled=True), index=lambda v: v + lax.axis_index('i'), pmax=lambda v: lax.pmax(v, 'i'), scan=lambda v: lax.scan(lambda c, r: (c + lax.psum(r, 'i'), c), v[0] * 0, v)[1]).items():
        mapped = jax.shard_map(f, mesh=mesh, in_specs=P('i'), out_specs=P('i') if name not in ('psum', 'pmean', 'pmax') else P(), check_vma=False)
        yield f'shard_map_{name}', jitted(mapped, X)
        yield f'shard_map_{name}_grad', jitted(jax.grad(lambda v, m=mapped: jnp.sum(m(v) ** 2)), X)
        yield f'vmap_{name}', jitted(jax.vmap(f if name in ('psum', 'pmean', 'index', 'pmax') else (lambda v: lax.psum(v, 'i')), axis_name='i'), X)


def types():
    for name in EVERY:
        x = values(rng_of('st', name), (5, 2), name)
        start = values(rng_of('st2', name), (2,), name)
        combine = dict(pick=lambda c, v: jnp.where(v == c, v, c[::-1]), add=lambda c, v: c + v, mul=lambda c, v: c * v, max=lambda c, v: jnp.maximum(c, v))
        for op, f in combine.items():
            yield f'type_scan_{op}_{name}', jitted(lambda h, v, f=f: lax.scan(lambda c, r: (f(c, r), c), h, v), start, x)
            yield f'type_while_{op}_{name}', jitted(lambda h, v, f=f: lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, f(s[1], v[s[0]])), (0, h)), start, x)
            yield f'type_reduce_{op}_{name}', jitted(lambda h, v, f=f: lax.reduce(v, h[0], f, (0,)), start, x)
            yield f'type_window_{op}_{name}', jitted(lambda h, v, f=f: lax.reduce_window(v, h[0], f, (2, 1), (2, 1), 'SAME') if op != 'pick' else v, start, x)
            yield f'type_associative_{op}_{name}', jitted(lambda h, v, f=f: lax.associative_scan(f, v) if op != 'pick' else v, start, x)
        for wide in ['int8', 'uint8', 'int64', 'uint32']:
            yield f'type_index_{wide}_{name}', jitted(lambda v, i: (v[i], lax.dynamic_index_in_dim(v, i, 0), v.at[i].set(v[0])), x, np.array(3, wide))


def algorithms():
    def levenshtein(a, b):
        def row(prev, ca):
            def cell(left, args):
                up, diag, cb = args
                v = jnp.minimum(jnp.minimum(left, up) + 1, diag + (ca != cb))
                return v, v
            first = prev[0] + 1
            _, rest = lax.scan(cell, first, (prev[1:], prev[:-1], b))
            out = jnp.concatenate([first[None], rest])
            return out, None
        return lax.scan(row, jnp.arange(b.shape[0] + 1), a)[0][-1]
    yield 'levenshtein', jitted(levenshtein, np.array([1, 2, 3, 4, 2]), np.array([2, 3, 3, 1]))
    sieve = lambda: lax.fori_loop(2, 11, lambda i, s: jnp.where(s[i] & (jnp.arange(100) % i == 0) & (jnp.arange(100) > i), False, s), jnp.ones(100, bool))
    yield 'sieve', jitted(sieve)
    yield 'life', jitted(lambda g: lax.fori_loop(0, 5, lambda i, v: (lambda n: ((n == 3) | ((n == 2) & (v == 1))).astype(v.dtype))(sum(jnp.roll(v, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b)), g), values(rng_of('life'), (8, 8), 'bool').astype('int32'))
    yield 'viterbi', jitted(lambda t, e: lax.scan(lambda s, o: ((s[:, None] + t + o[None]).max(0), (s[:, None] + t).argmax(0)), e[0], e[1:]), W, X)
    yield 'kalman', jitted(lambda f, ys: lax.scan(lambda s, y: (lambda m, p: (lambda k: ((m + k @ (y - m), p - k @ p), m))(p @ jnp.linalg.inv(p + jnp.eye(3))))(f @ s[0], f @ s[1] @ f.T + 0.1 * jnp.eye(3)), (jnp.zeros(3), jnp.eye(3)), ys), W, X)
    yield 'euler', jitted(lambda y: lax.fori_loop(0, 50, lambda i, v: v + 0.01 * jnp.array([10 * (v[1] - v[0]), v[0] * (28 - v[2]) - v[1], v[0] * v[1] - 8 / 3 * v[2]]), y), H)
    for odd in (2, 3):
        yield f'heapify_{odd}', jitted(lambda v: lax.fori_loop(0, 9, lambda i, u: lax.fori_loop(0, 9 - i, lambda j, w: lax.cond(w[j] > w[j + 1], lambda z: z.at[j].set(z[j + 1]).at[j + 1].set(z[j]), lambda z: z, w), u), v), values(rng_of('hp', odd), (10,), 'float32'))
    yield 'fibonacci', jitted(lambda n: lax.fori_loop(0, n, lambda i, s: (s[1], s[0] + s[1]), (np.uint64(0), np.uint64(1))), np.int32(90))
    yield 'mandelbrot', jitted(lambda c: lax.fori_loop(0, 12, lambda i, s: (jnp.where(jnp.abs(s[0]) < 2, s[0] ** 2 + c, s[0]), s[1] + (jnp.abs(s[0]) < 2)), (jnp.zeros_like(c), jnp.zeros(c.shape, 'int32'))), values(rng_of('m'), (4, 5), 'complex64', -1.5, 1))
    yield 'fixpoint', jitted(lambda w: lax.while_loop(lambda s: (jnp.max(jnp.abs(s[1] - s[0])) > 1e-6) & (s[2] < 50), lambda s: (s[1], jnp.cos(s[1] @ w * 0.3), s[2] + 1), (jnp.zeros(3), jnp.ones(3), 0)), W)
    yield 'crc', jitted(lambda b: lax.scan(lambda c, x: (lax.fori_loop(0, 8, lambda i, v: jnp.where(v & 1, (v >> 1) ^ np.uint32(0xEDB88320), v >> 1), c ^ x.astype('uint32')), None), np.uint32(0xffffffff), b)[0], values(rng_of('crc'), (20,), 'uint8', special=True))
