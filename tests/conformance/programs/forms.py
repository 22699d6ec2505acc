"""Primitives of jax.lax with parameters that are seldom set: dots with precisions and algorithms, ragged and scaled dots, sorts of many operands, reductions of many
with computations of their own, batched scatters, windows of several operands, custom rules, and their derivatives and batched forms."""
import itertools
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
from programs._values import *


def programs():
    yield from chain(dots(), sorts(), reductions(), windows(), scatters(), convolutions(), elementwise(), second_order())


def arr(*key, shape, name='float32', low=-2.0, high=2.0):
    return values(rng_of('forms', *key), shape, name, low, high)


DOTS = [((3, 4), (4, 2), (((1,), (0,)), ((), ()))), ((3, 4), (3, 2), (((0,), (0,)), ((), ()))), ((2, 3, 4), (4, 3, 2), (((1,), (1,)), ((0,), (2,)))), ((2, 3, 4), (3, 4, 5), (((1, 2), (0, 1)), ((), ()))),
        ((2, 3, 4), (4, 3, 5), (((2, 1), (0, 1)), ((), ()))), ((2, 3), (2, 3), (((), ()), ((0, 1), (0, 1)))), ((2, 3), (4,), (((), ()), ((), ()))), ((2, 0), (0, 3), (((1,), (0,)), ((), ()))), ((1, 5), (5, 1), (((1,), (0,)), ((), ()))),
        ((2, 3, 4, 2), (2, 4, 3, 5), (((2,), (1,)), ((3, 1), (0, 2)))), ((0, 3), (3, 2), (((1,), (0,)), ((), ()))), ((70, 65), (65, 33), (((1,), (0,)), ((), ()))), ((1, 200), (200, 50), (((1,), (0,)), ((), ())))]
ALGORITHMS = ['F16_F16_F16', 'F16_F16_F32', 'BF16_BF16_BF16', 'BF16_BF16_F32', 'BF16_BF16_F32_X3', 'BF16_BF16_F32_X6', 'BF16_BF16_F32_X9', 'TF32_TF32_F32', 'TF32_TF32_F32_X3', 'F32_F32_F32', 'F64_F64_F64', 'ANY_F8_ANY_F8_F32']


def dots():
    for n, (a, b, dims) in enumerate(DOTS):
        for name in ['float32', 'float64', 'complex64', 'int32', 'bfloat16', 'float16', 'uint8', 'int4', 'bool', 'float8_e4m3fn', 'complex128', 'int64']:
            x, y = arr(n, name, shape=a, name=name), arr(n, name, 2, shape=b, name=name)
            yield f'dot{n}_{name}', jitted(lambda p, q, d=dims: lax.dot_general(p, q, d), x, y)
        x, y = arr(n, shape=a), arr(n, 2, shape=b)
        dot = lambda p, q, d=dims: lax.dot_general(p, q, d)
        yield f'dot{n}_gradient', jitted(jax.grad(lambda p, q, f=dot: jnp.sum(jnp.sin(f(p, q))), (0, 1)), x, y)
        yield f'dot{n}_vmap', jitted(jax.vmap(jax.vmap(dot, (0, None)), (None, 1)), np.stack([x, -x]), np.stack([y, y + 1], 1))
        for precision in ['default', 'high', 'highest', 'tensorfloat32', 'bfloat16_3x']:
            yield f'dot{n}_{precision}', jitted(lambda p, q, d=dims, r=precision: lax.dot_general(p, q, d, precision=r), x, y)
        for algorithm in ALGORITHMS if n in (0, 2, 11) else []:
            for name in ['float32', 'bfloat16', 'float16', 'float64']:
                yield f'dot{n}_{algorithm}_{name}', jitted(lambda p, q, d=dims, r=algorithm: lax.dot_general(p, q, d, precision=getattr(lax.DotAlgorithmPreset, r)), x.astype(dtype_of(name)), y.astype(dtype_of(name)))
    for name in ['float32', 'bfloat16', 'float64']:
        groups = np.array([2, 0, 3], 'int32')
        x, y = arr('rg', name, shape=(6, 4), name=name), arr('rg2', name, shape=(3, 4, 5), name=name)
        f = lambda p, q, g: lax.ragged_dot(p, q, g)
        yield f'ragged_{name}', jitted(f, x, y, groups)
        yield f'ragged_{name}_gradient', jitted(jax.grad(lambda p, q, g: jnp.sum(f(p, q, g) ** 2), (0, 1)), x, y, groups)
        yield f'ragged_{name}_vmap', jitted(jax.vmap(f), np.stack([x, x]), np.stack([y, y]), np.stack([groups, groups[::-1]]))
    for kind in ['float8_e4m3fn', 'float8_e5m2']:
        x, y = arr('sd', kind, shape=(2, 4, 64), name=kind), arr('sd2', kind, shape=(2, 3, 64), name=kind)
        s, t = arr('ss', shape=(2, 4, 2), low=0.5).astype(dtype_of('float8_e8m0fnu')), arr('ss2', shape=(2, 3, 2), low=0.5).astype(dtype_of('float8_e8m0fnu'))
        yield f'scaled_matmul_{kind}', jitted(lambda p, q, s, t: jax.nn.scaled_matmul(p, q, s, t), x, y, s, t)


def sorts():
    for name in ['float32', 'int8', 'bfloat16', 'uint64', 'complex64', 'float8_e5m2', 'bool', 'int4', 'float16']:
        x, y = arr('s', name, shape=(4, 6), name=name), arr('s2', name, shape=(4, 6), name=name)
        i = np.arange(24, dtype='int32').reshape(4, 6)
        for keys, stable, dimension in itertools.product((1, 2, 3), (True, False), (0, 1)):
            if stable or keys == 3:
                yield f'sort_{name}_{keys}_{stable}_{dimension}', jitted(lambda a, b, c, k=keys, s=stable, d=dimension: lax.sort((a, b, c), dimension=d, is_stable=s, num_keys=k), x, y, i)
        for k in (1, 3, 6):
            yield f'top_k_{name}_{k}', jitted(lambda a, k=k: lax.top_k(a, k), x)
            yield f'top_k_axis_{name}_{k}', jitted(lambda a, k=k: lax.top_k(a, min(k, 4), axis=0), x)
        yield f'approx_max_{name}', jitted(lambda a: (lax.approx_max_k(a, 2), lax.approx_min_k(a, 2, reduction_dimension=0)), x)
        yield f'many_{name}', jitted(lambda *a: lax.sort(a, num_keys=2), *[arr('sm', name, k, shape=(9,), name=name) for k in range(9)])
        yield f'sort_vmap_{name}', jitted(jax.vmap(lambda a, b: lax.sort((a, b), num_keys=1), (1, 0), 1), x, y.T.copy())
    x = arr('sg', shape=(4, 6))
    yield 'sort_gradient', jitted(jax.grad(lambda a, b: jnp.sum(lax.sort((a, b), num_keys=1)[1] * jnp.arange(6)), (0, 1)), x, x * 2)
    yield 'top_k_gradient', jitted(jax.grad(lambda a: jnp.sum(lax.top_k(a, 3)[0] ** 2)), x)
    yield 'sort_jvp', jitted(lambda a: jax.jvp(lambda v: lax.sort(v, dimension=0), (a,), (a * 2,)), x)
    yield 'median_gradient', jitted(jax.grad(lambda a: jnp.sum(jnp.median(a, 0) + jnp.quantile(a, 0.3, 0))), x)
    yield 'lexsort', jitted(lambda a: jnp.lexsort((jnp.round(a[0]), jnp.round(a[1]), a[2])), x)


def reductions():
    welford = lambda a, b: (a[0] + b[0], a[1] + b[1], a[2] + b[2] + jnp.square(a[1] / jnp.maximum(a[0], 1) - b[1] / jnp.maximum(b[0], 1)) * a[0] * b[0] / jnp.maximum(a[0] + b[0], 1))
    for shape, dims in [((6,), (0,)), ((3, 4), (1,)), ((3, 4), (0, 1)), ((2, 3, 2), (0, 2)), ((0, 2), (0,)), ((2, 3), ())]:
        x = arr('r', shape, shape=shape)
        key = f'{shape_name(shape)}_{len(dims)}'
        yield f'welford_{key}', jitted(lambda a, d=dims: lax.reduce((jnp.ones_like(a), a, a * 0), (np.float32(0),) * 3, welford, d), x)
        yield f'logaddexp_{key}', jitted(lambda a, d=dims: lax.reduce(a, np.float32(-np.inf), jnp.logaddexp, d), x)
        yield f'branch_{key}', jitted(lambda a, d=dims: lax.reduce(a, np.float32(0), lambda p, q: lax.cond(p > q, lambda: p + 0.5 * q, lambda: q + 0.5 * p), d) if a.size else a, x)
        yield f'precision_{key}', jitted(lambda a, d=dims: lax.reduce(lax.reduce_precision(a, 5, 10), np.float32(1), lambda p, q: lax.reduce_precision(p * q, 8, 7), d), x)
        yield f'arg_{key}', jitted(lambda a, d=dims: lax.reduce((a, lax.iota('int32', a.size).reshape(a.shape)), (np.float32(-np.inf), np.int32(-1)), lambda p, q: (jnp.maximum(p[0], q[0]), jnp.where(p[0] >= q[0], p[1], q[1])), d), x)
        for name in ['int8', 'uint8', 'int16', 'bool', 'uint32']:
            y = values(rng_of('ri', name, shape), shape, name, special=True)
            yield f'bits_{key}_{name}', jitted(lambda a, d=dims: (lax.reduce_and(a, d), lax.reduce_or(a, d), lax.reduce_xor(a, d)), y)
        yield f'all_{key}', jitted(lambda a, d=dims: (jnp.sum(a, d, dtype='float64'), jnp.sum(a, d, dtype='bfloat16'), jnp.prod(a, d), jnp.max(a, d, initial=0.5), jnp.any(a > 0, d), jnp.mean(a, d, dtype='float16')), x)
        yield f'reduce_gradient_{key}', jitted(jax.grad(lambda a, d=dims: jnp.sum(jnp.sin(jnp.prod(a, d)) + (jnp.max(a, d) if a.size else 0) + jax.nn.logsumexp(a, d) * 2)), x)
        yield f'reduce_jvp2_{key}', jitted(lambda a, d=dims: jax.jvp(jax.grad(lambda v: jnp.sum(jnp.std(v, d) + jnp.prod(v, d))), (a,), (a,)), x)
    for axis, reverse in itertools.product((0, 1), (True, False)):
        x = arr('cum', axis, shape=(5, 3))
        for op in ['cumsum', 'cumprod', 'cummax', 'cummin', 'cumlogsumexp']:
            f = lambda a, op=op: getattr(lax, op)(a, axis, reverse)
            yield f'{op}_{axis}_{reverse}_gradient', jitted(jax.grad(lambda a, f=f: jnp.sum(jnp.sin(f(a)))), x)
            yield f'{op}_{axis}_{reverse}_jvp', jitted(lambda a, f=f: jax.jvp(f, (a,), (a + 1,)), x)
            yield f'{op}_{axis}_{reverse}_vmap', jitted(jax.vmap(f, 2, 0), np.stack([x, x * 2], 2))
            yield f'{op}_{axis}_{reverse}_long', jitted(f, arr('cl', axis, shape=(300, 2) if axis == 0 else (2, 300), low=-1, high=1))


def windows():
    pairs = dict(argmax=lambda a, b: (jnp.maximum(a[0], b[0]), jnp.where(a[0] >= b[0], a[1], b[1])), sums=lambda a, b: (a[0] + b[0], a[1] * 2 + b[1]))
    calls = [dict(window_dimensions=(2, 3), window_strides=(1, 2), padding='SAME'), dict(window_dimensions=(3, 1), window_strides=(2, 1), padding=((2, 1), (0, 0)), base_dilation=(2, 3)), dict(window_dimensions=(2, 2), window_strides=(1, 1), padding=((-1, 1), (3, -2)), window_dilation=(2, 1)),
             dict(window_dimensions=(4, 5), window_strides=(1, 1), padding=((3, 0), (0, 4))), dict(window_dimensions=(1, 1), window_strides=(3, 2), padding='VALID')]
    for n, call in enumerate(calls):
        x, y = arr('w', n, shape=(4, 5)), arr('w2', n, shape=(4, 5), name='int32')
        for name, f in pairs.items():
            yield f'window_{name}_{n}', jitted(lambda a, b, f=f, c=call: lax.reduce_window((a, b), (np.float32(-1), np.int32(3)), f, **c), x, y)
        for name, (f, start) in dict(add=(lax.add, 0.0), max=(lax.max, -np.inf), min=(lax.min, np.inf), mul=(lax.mul, 1.0), logaddexp=(jnp.logaddexp, -np.inf), first=(lambda p, q: p * 0.5 + q, 0.0)).items():
            g = lambda a, f=f, s=start, c=call: lax.reduce_window(a, np.asarray(s, a.dtype), f, **c)
            yield f'window_{name}_{n}_odd', jitted(g, x)
            if name in ('add', 'max', 'min'):
                yield f'window_{name}_{n}_grad', jitted(jax.grad(lambda a, g=g: jnp.sum(jnp.sin(jnp.nan_to_num(g(a), posinf=0, neginf=0)))), x)
                yield f'window_{name}_{n}_hessian', jitted(lambda a, g=g: jax.jvp(jax.grad(lambda v: jnp.sum(jnp.nan_to_num(g(v), posinf=0, neginf=0) ** 3)), (a,), (a,)), x)
                yield f'window_{name}_{n}_vmap_grad', jitted(jax.vmap(jax.grad(lambda a, g=g: jnp.sum(jnp.nan_to_num(g(a), posinf=0, neginf=0) ** 2))), np.stack([x, x[::-1]]))


def scatters():
    for n, (shape, index_shape, update_shape, numbers) in enumerate([
            ((6, 4), (3, 1), (3, 4), lax.ScatterDimensionNumbers((1,), (0,), (0,))), ((6, 4), (2, 2), (2,), lax.ScatterDimensionNumbers((), (0, 1), (0, 1))), ((6, 4), (2, 3, 1), (2, 3, 2), lax.ScatterDimensionNumbers((2,), (0,), (0,))),
            ((5, 4, 3), (2, 1), (5, 2, 3), lax.ScatterDimensionNumbers((0, 2), (1,), (1,))), ((6,), (1,), (3,), lax.ScatterDimensionNumbers((0,), (), (0,))), ((3, 6), (3, 2, 1), (3, 2), lax.ScatterDimensionNumbers((), (1,), (1,), (0,), (0,))), ((6, 4), (0, 1), (0, 4), lax.ScatterDimensionNumbers((1,), (0,), (0,)))]):
        x, i = arr('sc', n, shape=shape), rng_of('sci', n).integers(-1, 7, index_shape).astype('int32')
        u = arr('scu', n, shape=update_shape)
        for mode in ('clip', 'fill'):
            for op in ['scatter', 'scatter_add', 'scatter_mul', 'scatter_min', 'scatter_max']:
                f = lambda a, k, v, op=op, m=mode, d=numbers: getattr(lax, op)(a, k, v, d, mode=m)
                for name in ['float32', 'int16', 'bfloat16', 'complex64', 'uint8', 'float8_e4m3fn'] + (['bool', 'int4'] if op == 'scatter' else []):
                    if not (name == 'complex64' and op in ('scatter_min', 'scatter_max')):
                        yield f'{op}{n}_{mode}_{name}', jitted(f, arr('sc', n, name, shape=shape, name=name), i, arr('scu', n, name, shape=update_shape, name=name))
                yield f'{op}{n}_{mode}_jvp', jitted(lambda a, k, v, f=f: jax.jvp(lambda p, q: f(p, k, q), (a, v), (a * 2, v)), x, i, u) if op != 'scatter_mul' else jitted(lambda a: a, x)
                yield f'{op}{n}_{mode}_vmap_index', jitted(jax.vmap(f, (None, 0, None)), x, np.stack([i, i + 1]), u)
                yield f'{op}{n}_{mode}_scan', jitted(lambda a, k, v, f=f: lax.scan(lambda c, s: (f(c, k + s, v * 0.5), c.sum()), a, jnp.arange(3, dtype='int32')), x, i, u)


def convolutions():
    for n, (lhs, rhs, options) in enumerate([
            ((2, 5, 6, 3), (3, 2, 3, 4), dict(dimension_numbers=('NHWC', 'HWIO', 'NHWC'), padding='SAME', window_strides=(2, 1))), ((3, 5, 6, 4), (3, 2, 4, 6), dict(dimension_numbers=('HNWC', 'HWIO', 'NCHW'), padding=((1, 1), (0, 2)), window_strides=(1, 1))),
            ((2, 7, 4), (3, 2, 8), dict(dimension_numbers=('NWC', 'WIO', 'NWC'), padding='SAME', window_strides=(1,), feature_group_count=2)), ((4, 7, 4), (3, 4, 8), dict(dimension_numbers=('NWC', 'WIO', 'NWC'), padding=[(2, 0)], window_strides=(2,), batch_group_count=2)),
            ((1, 4, 4, 4, 2), (2, 2, 2, 2, 3), dict(dimension_numbers=('NDHWC', 'DHWIO', 'NDHWC'), padding='SAME', window_strides=(1, 2, 1), lhs_dilation=(2, 1, 1))), ((2, 9, 9, 8), (3, 3, 1, 16), dict(dimension_numbers=('NHWC', 'HWIO', 'NHWC'), padding='SAME', window_strides=(1, 1), feature_group_count=8)),
            ((1, 64, 64, 3), (7, 7, 3, 8), dict(dimension_numbers=('NHWC', 'HWIO', 'NHWC'), padding='SAME', window_strides=(2, 2)))]):
        x, k = arr('cv', n, shape=lhs), arr('cv2', n, shape=rhs)
        f = lambda a, b, o=options: lax.conv_general_dilated(a, b, **o)
        yield f'conv{n}', jitted(f, x, k)
        yield f'conv{n}_gradient', jitted(jax.grad(lambda a, b, f=f: jnp.sum(jnp.tanh(f(a, b))), (0, 1)), x, k)
        if n < 6:
            yield f'conv{n}_hessian', jitted(lambda a, b, f=f: jax.jvp(jax.grad(lambda p, q: jnp.sum(f(p, q) ** 3), (0, 1)), (a, b), (a, b)), x, k)
            yield f'conv{n}_vmap_grad', jitted(jax.vmap(jax.grad(lambda a, b, f=f: jnp.sum(f(a, b) ** 2), (0, 1)), (0, None)), np.stack([x, -x]), k)
            for name in ['int8', 'float16', 'complex64', 'float64', 'uint32', 'float8_e5m2', 'bool']:
                yield f'conv{n}_{name}', jitted(f, arr('cv', n, name, shape=lhs, name=name), arr('cv2', n, name, shape=rhs, name=name))


def elementwise():
    for name in FLOATS:
        x = values(rng_of('el', name), (23,), name, special=True)
        y = values(rng_of('el2', name), (23,), name, 0.1, 4)
        one = dict(sinpi=lambda v: jnp.sin(np.pi * v), betainc=lambda v: lax.betainc(v, v + 1, v / 8), gamma_grad=lambda v: lax.random_gamma_grad(v, v), igamma_grad=lambda v: lax.igamma_grad_a(v, v + 1), lgamma=lambda v: lax.lgamma(v - 3), polygamma=lambda v: lax.polygamma(jnp.ones_like(v) * 2, v), zeta=lambda v: lax.zeta(v + 1, v),
                   nextafter=lambda v: lax.nextafter(v, -v), clamp=lambda v: lax.clamp(v - 1, v * 1.5, v + 1), pow_int=lambda v: v ** 5, pow_negative=lambda v: lax.integer_pow(v, -3), pow_array=lambda v: lax.pow(v, jnp.round(v).astype('int32')), rem=lambda v: lax.rem(v * 7, v), frexp=jnp.frexp, modf=jnp.modf, exp2=lax.exp2,
                   select_n=lambda v: lax.select_n((jnp.round(v).astype('int32') % 3), v, v * 2, -v), round=lambda v: (lax.round(v * 1.5, lax.RoundingMethod.AWAY_FROM_ZERO), lax.round(v * 1.5, lax.RoundingMethod.TO_NEAREST_EVEN)), reduce_precision=lambda v: lax.reduce_precision(v, 5, 2), order=lambda v: lax.eq(v, v))
        for op, f in one.items():
            yield f'{op}_{name}', jitted(f, y)
            yield f'{op}_{name}_special', jitted(f, x)
            if name in ('float32', 'float64') and op not in ('nextafter', 'frexp', 'modf', 'select_n', 'round', 'order', 'gamma_grad', 'igamma_grad', 'polygamma', 'zeta', 'betainc'):
                yield f'{op}_{name}_grad', jitted(jax.grad(lambda v, f=f: jnp.sum(f(v))), y)
                yield f'{op}_{name}_grad2', jitted(lambda v, f=f: jax.jvp(jax.grad(lambda u: jnp.sum(f(u))), (v,), (v,)), y)


def second_order():
    x = arr('h', shape=(4,), low=0.2)
    table = dict(prod=jnp.prod, cumprod=lambda v: jnp.cumprod(v).sum(), softmax=lambda v: jax.nn.softmax(v)[0], norm=jnp.linalg.norm, sort=lambda v: (jnp.sort(v) ** 3 @ jnp.arange(4.0)), logsumexp=jax.nn.logsumexp, inverse=lambda v: jnp.linalg.inv(jnp.diag(v) + jnp.outer(v, v)).sum(), det=lambda v: jnp.linalg.det(jnp.diag(v) + jnp.outer(v, v)),
                 cholesky=lambda v: jnp.linalg.cholesky(jnp.diag(v) + jnp.outer(v, v)).sum(), solve=lambda v: jnp.linalg.solve(jnp.diag(v) + 0.1, v ** 2).sum(), scan=lambda v: lax.scan(lambda c, s: (jnp.sin(c * s), c), 0.5, v)[0], cond=lambda v: lax.cond(v[0] > 0, lambda: jnp.prod(jnp.sin(v)), lambda: jnp.sum(v)), interp=lambda v: jnp.interp(v, jnp.arange(4.0), v ** 2).sum(),
                 gather=lambda v: (v[jnp.array([0, 0, 3])] ** 3).sum(), scatter=lambda v: (v.at[jnp.array([0, 0])].add(v[2:]) ** 3).sum(), expm=lambda v: jax.scipy.linalg.expm(jnp.outer(v, v) * 0.2).sum(), conv=lambda v: (jnp.convolve(v, v) ** 2).sum(), fft=lambda v: (jnp.abs(jnp.fft.fft(v)) ** 4).sum(), eigh=lambda v: jnp.linalg.eigvalsh(jnp.diag(jnp.arange(4.0)) + jnp.outer(v, v))[0])
    for name, f in table.items():
        f = (lambda g: lambda v: g(v) * jnp.ones((), v.dtype))(f)
        yield f'{name}_hessian', jitted(jax.hessian(f), x)
        yield f'{name}_jacrev2', jitted(jax.jacrev(jax.jacfwd(f)), x)
        yield f'{name}_third', jitted(lambda v, f=f: jax.jvp(jax.hessian(f), (v,), (v,))[1], x)
        yield f'{name}_hessian_vmap', jitted(jax.vmap(jax.hessian(f)), np.stack([x, x * 1.5]))
        yield f'{name}_hvp_loop', jitted(lambda v, f=f: lax.fori_loop(0, 3, lambda i, u: u - 0.01 * jax.jvp(jax.grad(f), (u,), (u,))[1], v), x)
        yield f'{name}_hessian_double', jitted(jax.hessian(f), x.astype('float64'))
