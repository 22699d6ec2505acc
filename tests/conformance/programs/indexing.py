"""Gathers, scatters and slices in all modes: jnp indexing, x.at, lax.gather and lax.scatter with batch dimensions, their derivatives."""
import itertools
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
from programs._values import *

MODES = ['clip', 'drop', 'fill', 'promise_in_bounds', 'wrap']
INDICES = dict(
    scalar=np.int32(1), negative=np.int32(-2), beyond=np.int32(7), slice=slice(1, None, 2), reverse=slice(None, None, -1), empty=slice(2, 2), array=np.array([0, 2, 1, 2]), matrix=np.array([[0, 5], [-1, 2]]), mixed=(np.array([1, 0]), slice(1, 3)),
    far=(slice(None), np.array([3, -9, 0])), both=(np.array([0, 2, 3]), np.array([1, -1, 4])), split=(np.array([0, 1]), slice(None), np.array([1, 0])), new=(None, 1, Ellipsis, None), ellipsis=(Ellipsis, 0), mask=np.array([True, False, True, True]),
    broadcast=(np.array([[0], [1]]), np.array([2, 1, 0])), bytes=np.array([200, 1], 'uint8'), short=np.array([-100, 1], 'int8'), wide=np.array([2**40, 1, -2**35]), nothing=np.zeros((0,), 'int32'), tuple=(1, 2, 0), strided=(slice(None, None, 3), slice(-1, 0, -2)))


def programs():
    for name in ['float32', 'int32', 'bfloat16', 'bool', 'complex64', 'int8', 'float64', 'uint64']:
        x = values(rng_of('ix', name), (4, 5, 2), name)
        for key, index in INDICES.items():
            yield f'get_{key}_{name}', jitted(lambda v, i=index: v[i], x)
            shape = x[tuple(np.clip(i, 0, 1) if isinstance(i, np.ndarray) and i.dtype != bool else min(max(i, 0), 1) if isinstance(i, (int, np.integer)) else i
                            for i in (index if isinstance(index, tuple) else (index,)))].shape
            update = values(rng_of('up', name), shape, name)
            for method in ['set', 'add', 'multiply', 'min', 'max', 'subtract', 'divide', 'power']:
                if name in ('float32', 'int32') or method in ('set', 'add', 'max'):
                    yield f'{method}_{key}_{name}', jitted(lambda v, u, i=index, m=method: getattr(v.at[i], m)(u), x, update)
            if name in ('float32', 'complex64'):
                yield f'apply_{key}_{name}', jitted(lambda v, i=index: v.at[i].apply(jnp.sin), x)
            if name == 'float32':
                for mode in MODES:
                    yield f'get_{key}_{mode}', jitted(lambda v, i=index, m=mode: v.at[i].get(mode=m), x) if mode != 'promise_in_bounds' or key in ('scalar', 'array') else jitted(lambda v: v, x)
                    if mode not in ('wrap', 'promise_in_bounds'):
                        yield f'add_{key}_{mode}', jitted(lambda v, u, i=index, m=mode: v.at[i].add(u, mode=m), x, update)
                yield f'get_{key}_fill', jitted(lambda v, i=index: v.at[i].get(mode='fill', fill_value=7), x)
                yield f'get_{key}_gradient', jitted(jax.grad(lambda v, i=index: jnp.sum(v[i] ** 2)), x)
                for method in ['set', 'add', 'multiply', 'max', 'min']:
                    yield f'{method}_{key}_gradient', jitted(jax.grad(lambda v, u, i=index, m=method: jnp.sum(jnp.sin(getattr(v.at[i], m)(u))), (0, 1)), x, update)
                    yield f'{method}_{key}_vmap', jitted(jax.vmap(lambda v, u, i=index, m=method: getattr(v.at[i], m)(u)), np.stack([x, x]), np.stack([update, update * 2]))
                    yield f'{method}_{key}_jvp', jitted(lambda v, u, i=index, m=method: jax.jvp(lambda a, b: getattr(a.at[i], m)(b), (v, u), (v, u)), x, update)
    yield from chain(traced(), slices(), batched(), segments())


def traced():
    for index_type in INTS + UINTS:
        x = values(rng_of('tr'), (5, 3), 'float32')
        i = values(rng_of('tr', index_type), (4,), index_type, -3, 3)
        j = values(rng_of('tr', index_type, 2), (4,), index_type, -1, 1)
        yield f'traced_get_{index_type}', jitted(lambda v, i, j: v[i, j], x, i, j)
        for mode in ('clip', 'fill', 'drop'):
            yield f'traced_set_{index_type}_{mode}', jitted(lambda v, i, j, m=mode: v.at[i, j].set(1, mode=m), x, i, j)
            yield f'traced_row_{index_type}_{mode}', jitted(lambda v, i, m=mode: v.at[i].add(v[0], mode=m, indices_are_sorted=False), x, i)
        yield f'traced_vmap_{index_type}', jitted(jax.vmap(lambda v, k: v[k], (None, 0)), x, i)
        yield f'traced_vmap2_{index_type}', jitted(jax.vmap(lambda v, k: v.at[k].set(0)), np.stack([x] * 4), i)
        yield f'traced_dynamic_{index_type}', jitted(lambda v, i, j: (lax.dynamic_slice(v, (i[0], j[0]), (2, 2)), lax.dynamic_update_slice(v, v[:2, :2], (i[1], j[1])), lax.dynamic_index_in_dim(v, i[2], 0)), x, i, j)
        yield f'traced_dynamic_vmap_{index_type}', jitted(jax.vmap(lambda v, k: (lax.dynamic_slice(v, (k, k), (2, 2)), lax.dynamic_update_slice(v, v[:2, :2], (k, k))), (None, 0)), x, i)
        yield f'traced_along_{index_type}', jitted(lambda v, i: jnp.take_along_axis(v, i[:, None], 0, mode='fill'), x, i)


def slices():
    for name in ['float32', 'int16', 'complex128']:
        x = values(rng_of('sl', name), (6, 5), name)
        many = dict(a=lambda v: lax.slice(v, (0, 1), (6, 5), (2, 3)), b=lambda v: lax.slice_in_dim(v, 1, 5, 2, 0), c=lambda v: lax.dynamic_slice_in_dim(v, 4, 3, 0), d=lambda v: lax.index_in_dim(v, -1, 1), e=lambda v: lax.index_take(v, [np.array([0, 3]), np.array([1, 4])], (0, 1)),
                    f=lambda v: lax.rev(v, (0, 1)), g=lambda v: lax.pad(v, v[0, 0], ((-1, 2, 0), (0, -2, 1))), h=lambda v: lax.pad(v, v[0, 0], ((-3, -4, 2), (1, 1, 0))), i=lambda v: lax.collapse(v, 0), j=lambda v: lax.broadcast_in_dim(v, (2, 6, 5, 1), (1, 2)), k=lambda v: lax.squeeze(v[:1], (0,)))
        for op, function in many.items():
            yield f'slice_{op}_{name}', jitted(function, x)
            if name == 'float32':
                yield f'slice_{op}_gradient', jitted(jax.grad(lambda v, f=function: jnp.sum(f(v) ** 2)), x)
                yield f'slice_{op}_vmap', jitted(jax.vmap(function, 2), np.stack([x, x + 1], 2))


def batched():
    dims = [
        ((5, 4, 3), (5, 2, 1), lax.GatherDimensionNumbers((2,), (0,), (1,), (), ()) if False else lax.GatherDimensionNumbers((2,), (1,), (1,), (0,), (0,)), (1, 1, 3)),
        ((5, 4, 3), (2, 5, 2), lax.GatherDimensionNumbers((2, 3), (), (1, 2), (0,), (1,)), (1, 2, 2)),
        ((6, 4), (3, 2), lax.GatherDimensionNumbers((1,), (0,), (0, 1)), (1, 2)),
        ((6, 4), (3, 2), lax.GatherDimensionNumbers((1, 2), (), (1, 0)), (2, 3)),
        ((6,), (2, 3, 1), lax.GatherDimensionNumbers((0,), (), (0,)), (4,)),
        ((6, 4), (0, 1), lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 4)),
    ]
    for n, (shape, index_shape, numbers, sizes) in enumerate(dims):
        for name in ['float32', 'int8', 'bool']:
            x = values(rng_of(n, name), shape, name)
            i = rng_of(n).integers(-2, 7, index_shape).astype('int32')
            for mode in ('clip', 'fill', 'promise_in_bounds'):
                if mode == 'promise_in_bounds':
                    i = np.clip(i, 0, 0)
                gather = lambda v, k, d=numbers, s=sizes, m=mode: lax.gather(v, k, d, s, mode=m)
                yield f'gather{n}_{mode}_{name}', jitted(gather, x, i)
                scatter_numbers = lax.ScatterDimensionNumbers(numbers.offset_dims, numbers.collapsed_slice_dims, numbers.start_index_map, numbers.operand_batching_dims, numbers.start_indices_batching_dims)
                out = jax.eval_shape(gather, x, i)
                u = values(rng_of(n, 'u'), out.shape, name)
                for op in ['scatter', 'scatter_add', 'scatter_mul', 'scatter_min', 'scatter_max', 'scatter_apply', 'scatter_sub']:
                    if op == 'scatter_apply':
                        f = lambda v, k, u, d=scatter_numbers, m=mode: lax.scatter_apply(v, k, lambda z: z, d, update_shape=u.shape, mode=m)
                    else:
                        f = lambda v, k, u, op=op, d=scatter_numbers, m=mode: getattr(lax, op)(v, k, u, d, mode=m)
                    yield f'{op}{n}_{mode}_{name}', jitted(f, x, i, u)
                    if name == 'float32' and op in ('scatter', 'scatter_add', 'scatter_mul', 'scatter_max'):
                        yield f'{op}{n}_{mode}_gradient', jitted(jax.grad(lambda v, k, u, f=f: jnp.sum(jnp.sin(f(v, k, u))), (0, 2)), x, i, u)
                        yield f'{op}{n}_{mode}_vmap', jitted(jax.vmap(f), np.stack([x, x]), np.stack([i, i + 1]), np.stack([u, u]))
                        yield f'{op}{n}_{mode}_vmap_u', jitted(jax.vmap(f, (None, None, 0)), x, i, np.stack([u, u]))


def segments():
    for name in ['float32', 'int32', 'bfloat16', 'uint8']:
        for shape in [(9,), (9, 2), (0, 3)]:
            x = values(rng_of('seg', name), shape, name)
            s = rng_of('seg').integers(-1, 5, shape[:1])
            for op in ['sum', 'prod', 'max', 'min']:
                f = getattr(jax.ops, 'segment_' + op)
                yield f'segment_{op}_{name}_{shape_name(shape)}', jitted(lambda v, s, f=f: f(v, s, 4), x, s)
                yield f'segment_{op}_{name}_{shape_name(shape)}_sorted', jitted(lambda v, s, f=f: f(v, s, 4, indices_are_sorted=True, bucket_size=4), x, np.sort(s))
                if name == 'float32' and op != 'prod':
                    yield f'segment_{op}_{shape_name(shape)}_gradient', jitted(jax.grad(lambda v, s, f=f: jnp.sum(jnp.nan_to_num(f(v, s, 4), posinf=0, neginf=0) ** 2)), x, s)
