"""jax.numpy, jax.nn and the windows, factors and loops of jax.lax in the types that programs rarely use: floats of 8 and 4 bits, integers of 2 to 16,
mixed with the common ones."""
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, nn
from programs import numpy_ops
from programs._values import *

NAMES = SMALL_FLOATS + SMALL_INTS + ['int16', 'uint16', 'uint64', 'complex128']
MIXED = ['float8_e5m2', 'float8_e4m3fn', 'int4', 'uint2', 'int16', 'bfloat16', 'float32', 'complex64', 'uint64', 'bool']


def programs():
    for name in NAMES:
        yield from elementwise(name)
        yield from reducers(name)
        yield from shapes(name)
        yield from products(name)
        yield from control(name)
    yield from mixed()


def elementwise(name):
    x, y = values(rng_of('se', name), (3, 4), name, special=True), values(rng_of('se2', name), (4,), name, 1, 3)
    for op in numpy_ops.UNARY:
        yield f'{op}_{name}', jitted(getattr(jnp, op), x)
    for op in numpy_ops.BINARY:
        yield f'{op}_{name}', jitted(getattr(jnp, op), x, y)
    for op in ['relu', 'relu6', 'sigmoid', 'softplus', 'silu', 'leaky_relu', 'hard_tanh', 'elu', 'gelu', 'softmax', 'log_softmax', 'logsumexp', 'standardize', 'one_hot']:
        f = (lambda v: nn.one_hot(jnp.arange(3), 4, dtype=v.dtype)) if op == 'one_hot' else getattr(nn, op)
        yield f'{op}_{name}', jitted(f, y)
    yield f'clip_{name}', jitted(lambda a, b: jnp.clip(a, b[0], b[1]), x, y)
    yield f'where_{name}', jitted(lambda a, b: jnp.where(a > b, a, 1), x, y)
    yield f'clamp_{name}', jitted(lambda a, b: lax.clamp(b[0], a, b[3]), x, y)


def reducers(name):
    x = values(rng_of('sr', name), (3, 5), name)
    for op in numpy_ops.REDUCERS + numpy_ops.CUMULATIVE:
        axis = dict(axis=1)
        yield f'{op}_{name}', jitted(lambda v, f=getattr(jnp, op), a=axis: f(v, **a), x)
        if op not in numpy_ops.CUMULATIVE:
            yield f'{op}_{name}_whole', jitted(getattr(jnp, op), x)
    for op, (f, start) in dict(add=(lax.add, 0), mul=(lax.mul, 1), max=(lax.max, 0), min=(lax.min, 1)).items():
        for n, call in enumerate([dict(window_dimensions=(2, 3), window_strides=(1, 2), padding='SAME'), dict(window_dimensions=(2, 2), window_strides=(1, 1), padding=((0, 1), (2, -1)), window_dilation=(1, 2)),
                                  dict(window_dimensions=(1, 2), window_strides=(2, 1), padding='VALID', base_dilation=(2, 1))]):
            yield f'window_{op}{n}_{name}', jitted(lambda v, f=f, s=start, c=call: lax.reduce_window(v, np.array(s).astype(v.dtype), f, **c), x)
        yield f'reduce_{op}_{name}', jitted(lambda v, f=f, s=start: lax.reduce(v, np.array(s).astype(v.dtype), f, (0,)), x)
    yield f'arg_pair_{name}', jitted(lambda v: lax.reduce((v, lax.iota('int32', 15).reshape(3, 5)), (v[0, 0], np.int32(0)), lambda a, b: (jnp.where(a[0] > b[0], a[0], b[0]), jnp.where(a[0] > b[0], a[1], b[1])), (1,)), x)
    yield f'argmax_index_{name}', jitted(lambda v: (lax.argmax(v, 1, jnp.int8), lax.argmin(v, 0, jnp.uint64)), x)
    yield f'sas_{name}', jitted(lambda v: lax._src.lax.windowed_reductions._select_and_scatter(v, lax.ge, (1, 2), (1, 2), ((0, 0), (0, 0)), v[:, :2], np.array(0).astype(v.dtype), lax.add) if hasattr(lax, '_src') else
                                jax._src.lax.windowed_reductions._select_and_scatter(v, lax.ge, (1, 2), (1, 2), ((0, 0), (0, 0)), v[:, :2], np.array(0).astype(v.dtype), lax.add), x)


def shapes(name):
    x = values(rng_of('ss', name), (2, 3, 4), name)
    many = dict(rot90=lambda v: jnp.rot90(v, 3, (1, 2)), repeat=lambda v: jnp.repeat(v, np.array([1, 0, 2]), 1), pad_edge=lambda v: jnp.pad(v, 2, 'edge'), pad_reflect=lambda v: jnp.pad(v, 1, 'reflect'), pad_max=lambda v: jnp.pad(v, 1, 'maximum'),
                pad_mean=lambda v: jnp.pad(v, 1, 'mean'), block=lambda v: jnp.block([[v[0], v[1]], [v[1], v[0]]]), delete=lambda v: jnp.delete(v, 1, axis=1), triu=lambda v: jnp.triu(v, 1), diag=lambda v: jnp.diag(v[0], 1), trace=lambda v: jnp.trace(v, 0, 1, 2),
                take=lambda v: jnp.take(v, np.array([3, -1, 7]), 2), take_clip=lambda v: jnp.take(v, np.array([3, -1, 7]), 2, mode='clip'), take_along=lambda v: jnp.take_along_axis(v, np.array([[[0, 3, 1]]]), 2), choose=lambda v: jnp.choose(np.array([0, 1, 1, 0]), v[:, 0]),
                nonzero=lambda v: jnp.nonzero(v, size=7, fill_value=-1), diff=lambda v: jnp.diff(v, 2), sort=lambda v: (jnp.sort(v, 1), jnp.argsort(v, 2)), unique=lambda v: jnp.unique(v, size=9, return_index=True, return_inverse=True, return_counts=True),
                searchsorted=lambda v: jnp.searchsorted(jnp.sort(v[0, 0]), v[1]), top_k=lambda v: lax.top_k(v, 3), isin=lambda v: jnp.isin(v, v[0, 0]), histogram=lambda v: jnp.histogram(v, 3), median=lambda v: jnp.median(v, 1), quantile=lambda v: jnp.quantile(v, 0.3, 1),
                set=lambda v: v.at[:, 1].set(v[:, 0]), add_at=lambda v: v.at[np.array([0, 0, 1])].add(v[0]), max_at=lambda v: v.at[..., np.array([0, 3, 0])].max(v[..., :3]), mul_at=lambda v: v.at[0, np.array([0, 0])].multiply(v[1, :2]), apply_at=lambda v: v.at[0].apply(lambda z: z * z),
                segment=lambda v: jax.ops.segment_sum(v, np.array([1, 1]), 3), segment_max=lambda v: jax.ops.segment_max(v, np.array([2, -1]), 3), eye=lambda v: jnp.eye(3, 4, 1, v.dtype) * v[0], arange=lambda v: jnp.arange(1, 4, dtype=v.dtype), full=lambda v: jnp.full((2,), 1, v.dtype),
                astype32=lambda v: v.astype('float32'), astype8=lambda v: v.astype('uint8'), ints=lambda v: v.astype('int64'), dynamic=lambda v: lax.dynamic_update_slice(v, v[:1, :2, :1], (jnp.int8(1), jnp.int8(-1), jnp.int8(5))), interior=lambda v: lax.pad(v, v[0, 0, 0], ((0, 1, 2), (-1, 0, 0), (1, -2, 1))),
                reshape=lambda v: lax.reshape(v, (4, 6), (2, 0, 1)), bits=lambda v: lax.bitcast_convert_type(v, jnp.uint8) if v.dtype.itemsize == 1 and 'nt4' not in str(v.dtype) and 'nt2' not in str(v.dtype) and 'float4' not in str(v.dtype) else v, one_hot=lambda v: nn.one_hot(v, 3))
    for op, f in many.items():
        yield f'{op}_{name}', jitted(f, x)


def products(name):
    for n, (spec, a, b) in enumerate([('ij,jk->ik', (3, 4), (4, 2)), ('bij,bkj->bik', (2, 3, 5), (2, 4, 5)), ('i,i->', (5,), (5,)), ('ij,kj->', (2, 3), (4, 3)), ('ij,->ji', (2, 3), ())]):
        x, y = values(rng_of('sp', name), a, name), values(rng_of('sp2', name), b, name)
        yield f'einsum{n}_{name}', jitted(lambda p, q, s=spec: jnp.einsum(s, p, q), x, y)
        yield f'einsum_wide{n}_{name}', jitted(lambda p, q, s=spec: jnp.einsum(s, p, q, preferred_element_type='float32' if p.dtype.kind in 'Vf' else None), x, y)
    x, k = values(rng_of('sp3', name), (2, 3, 6), name), values(rng_of('sp4', name), (4, 3, 2), name)
    for n, call in enumerate([dict(window_strides=(1,), padding='SAME'), dict(window_strides=(2,), padding=[(1, 2)], lhs_dilation=(2,)), dict(window_strides=(1,), padding='VALID', rhs_dilation=(3,))]):
        yield f'conv{n}_{name}', jitted(lambda a, b, c=call: lax.conv_general_dilated(a, b, **c), x, k)
    yield f'kron_{name}', jitted(lambda v: jnp.kron(v[:2], v[1:]), values(rng_of('sp5', name), (3, 2), name))
    yield f'power_{name}', jitted(lambda v: jnp.linalg.matrix_power(v, 3), values(rng_of('sp6', name), (3, 3), name))


def control(name):
    h, xs = values(rng_of('sc', name), (3,), name), values(rng_of('sc2', name), (4, 3), name)
    yield f'scan_{name}', jitted(lambda h, xs: lax.scan(lambda c, x: (jnp.where(x > c, x, c) + x, c * x), h, xs), h, xs)
    yield f'scan_reverse_{name}', jitted(lambda h, xs: lax.scan(lambda c, x: (x - c, (c, x)), h, xs, reverse=True, unroll=3), h, xs)
    yield f'cumulative_{name}', jitted(lambda xs: (lax.cumsum(xs, 0), lax.cumprod(xs, 1, reverse=True), lax.cummax(xs, 0)), xs)
    yield f'associative_{name}', jitted(lambda xs: lax.associative_scan(lambda a, b: a * b + a, xs, reverse=True), xs)
    yield f'switch_{name}', jitted(lambda i, h: lax.switch(i, [lambda v: v, lambda v: v * v, lambda v: v[::-1]], h), np.int8(1), h)
    yield f'while_{name}', jitted(lambda h: lax.while_loop(lambda s: s[0] < 4, lambda s: (s[0] + 1, s[1] + s[1][::-1]), (np.uint8(0), h)), h)
    yield f'map_{name}', jitted(lambda xs: lax.map(lambda r: (r.sum(), r.max()), xs), xs)
    yield f'vmap_cond_{name}', jitted(jax.vmap(lambda p, v: lax.cond(p, lambda: v * 2, lambda: -v)), np.array([True, False, True, True]), xs)


def mixed():
    for a in MIXED:
        for b in MIXED:
            if a == b:
                continue
            x, y = values(rng_of('mx', a), (2, 3), a), values(rng_of('my', b), (3,), b, 1, 3)
            yield f'mixed_cast_{a}_{b}', jitted(lambda p, q: (p.astype(q.dtype) + q, p * q.astype(p.dtype)), x, y)
            yield f'mixed_round_{a}_{b}', jitted(lambda p, q: ((p.astype('float32') + q.astype('float32')).astype(p.dtype), (p.astype('float32') * q.astype('float32') - 1).astype(q.dtype)), x, y)
            yield f'mixed_set_{a}_{b}', jitted(lambda p, q: p.at[0].set(q.astype(p.dtype)).at[1].add(q[0].astype(p.dtype)), x, y)
            yield f'mixed_scan_{a}_{b}', jitted(lambda p, q: lax.scan(lambda c, r: (c + r.astype(c.dtype), (c > 0) & (r > 0)), q, p), x, y)
