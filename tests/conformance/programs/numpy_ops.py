"""The functions of jax.numpy by type and shape: what its own tests go through, and some of what they do not."""
import numpy as np
import jax
import jax.numpy as jnp
from programs._values import *

UNARY = '''absolute arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil conjugate cos cosh deg2rad degrees exp exp2 expm1 fabs floor
    i0 imag invert isfinite isinf isnan isneginf isposinf log log10 log1p log2 logical_not modf negative positive rad2deg radians real
    reciprocal rint round sign signbit sin sinc sinh spacing sqrt square tan tanh trunc frexp angle nan_to_num unwrap bitwise_count
    iscomplex isreal bitwise_invert'''.split()
BINARY = '''add arctan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide divmod equal
    float_power floor_divide fmax fmin fmod gcd greater greater_equal heaviside hypot isclose lcm ldexp left_shift less less_equal logaddexp
    logaddexp2 logical_and logical_or logical_xor maximum minimum mod multiply nextafter not_equal power remainder right_shift
    subtract true_divide'''.split()
REDUCERS = '''all any amax amin argmax argmin average count_nonzero max mean median min nanargmax nanargmin nanmax nanmean nanmedian nanmin
    nanprod nanstd nansum nanvar prod ptp std sum var'''.split()
CUMULATIVE = 'cumsum cumprod nancumsum nancumprod cumulative_sum cumulative_prod'.split()


def programs():
    yield from chain(elementwise(), reducers(), shapes(), building(), products(), sets_and_sorting(), polynomials())


def elementwise():
    for name in COMMON:
        for op in UNARY:
            for shape in [(), (7,), (2, 0)]:
                x = values(rng_of(op, name), shape, name)
                yield f'{op}_{name}_{shape_name(shape)}', jitted(getattr(jnp, op), x)
        for op in BINARY:
            x, y = values(rng_of(op, name), (3, 4), name), values(rng_of(op, name, 2), (4,), name)
            yield f'{op}_{name}', jitted(getattr(jnp, op), x, y)
            yield f'{op}_{name}_one', jitted(lambda v, op=op: getattr(jnp, op)(v, 2), x)
    for a in COMMON:
        for b in COMMON:
            for op in ['add', 'power', 'floor_divide', 'where', 'maximum', 'remainder']:
                x, y = values(rng_of(op, a), (3,), a), values(rng_of(op, b, 2), (2, 3), b, 1, 3)
                function = (lambda p, q: jnp.where(p, p, q)) if op == 'where' else getattr(jnp, op)
                yield f'{op}_{a}_{b}', jitted(function, x, y)


def reducers():
    for name in COMMON:
        for op in REDUCERS:
            for shape, axis in [((3, 4), None), ((3, 4), 0), ((2, 3, 4), (0, 2)), ((5,), -1), ((3, 0), 0), ((), None)]:
                if isinstance(axis, tuple) and op.startswith(('arg', 'nanarg')):
                    axis = 1
                x = values(rng_of(op, name, shape), shape, name)
                if op.startswith('nan') and dtype_of(name).kind in 'fc' and x.size > 2:
                    x.reshape(-1)[1] = np.nan
                options = [{}] if op in ('average', 'count_nonzero') else [{}, dict(keepdims=True)]
                for option in options[:1 + (axis == 0)]:
                    yield f'{op}_{name}_{shape_name(shape)}_{axis}{"k" if option else ""}', jitted(
                        lambda v, f=getattr(jnp, op), axis=axis, option=option: f(v, axis=axis, **option), x)
            if op in ('sum', 'prod', 'max', 'min', 'mean', 'var', 'std'):
                mask = rng_of('mask').random((3, 4)) < 0.6
                option = {} if op in ('mean', 'var', 'std') else dict(initial=1)
                yield f'{op}_where_{name}', jitted(lambda v, m, f=getattr(jnp, op), option=option: f(v, axis=1, where=m, **option),
                                                   values(rng_of(op), (3, 4), name), mask)
        for op in CUMULATIVE:
            for axis in (0, -1):
                yield f'{op}_{name}_{axis}', jitted(lambda v, f=getattr(jnp, op), axis=axis: f(v, axis=axis),
                                                    values(rng_of(op, name), (3, 5), name))
    for name in ['float32', 'float64', 'bfloat16', 'int32']:
        x = values(rng_of('q', name), (4, 7), name)
        for method in ['linear', 'lower', 'higher', 'midpoint', 'nearest']:
            for op in ['quantile', 'percentile', 'nanquantile', 'nanpercentile']:
                q = np.array([0.0, 0.3, 1.0]) * (100 if 'percentile' in op else 1)
                yield f'{op}_{name}_{method}', jitted(lambda v, f=getattr(jnp, op), q=q, method=method: f(v, q, axis=1, method=method), x)
        for op in ['cov', 'corrcoef']:
            yield f'{op}_{name}', jitted(getattr(jnp, op), x)
        for bins in [4, np.array([-2.0, -1, 0, 1.5])]:
            yield f'histogram_{name}_{np.size(bins)}', jitted(lambda v, bins=bins: jnp.histogram(v, bins), x)
            yield f'histogram_density_{name}_{np.size(bins)}', jitted(lambda v, bins=bins: jnp.histogram(v, bins, density=True), x)
        yield f'histogram2d_{name}', jitted(lambda v: jnp.histogram2d(v[0], v[1], bins=3), x)
        yield f'histogramdd_{name}', jitted(lambda v: jnp.histogramdd(v.T[:, :3], bins=3), x)
        yield f'digitize_{name}', jitted(lambda v: jnp.digitize(v, np.array([-1.0, 0, 2])), x)


def shapes():
    for name in ['float32', 'int8', 'bool', 'complex64', 'bfloat16', 'uint64']:
        x = values(rng_of('shape', name), (2, 3, 4), name)
        many = dict(
            moveaxis=lambda v: jnp.moveaxis(v, 0, -1), swapaxes=lambda v: jnp.swapaxes(v, 0, 2), rollaxis=lambda v: jnp.rollaxis(v, 2),
            flip=lambda v: jnp.flip(v, (0, 2)), rot90=lambda v: jnp.rot90(v, 3, (1, 2)), repeat=lambda v: jnp.repeat(v, np.array([1, 0, 2]), 1),
            repeat_traced=lambda v: jnp.repeat(v, jnp.array([1, 2, 0]), axis=1, total_repeat_length=4),
            tile=lambda v: jnp.tile(v, (2, 1, 3)), pad_edge=lambda v: jnp.pad(v, 2, 'edge'), pad_wrap=lambda v: jnp.pad(v, ((1, 2),) * 3, 'wrap'),
            pad_reflect=lambda v: jnp.pad(v, 1, 'reflect'), pad_symmetric=lambda v: jnp.pad(v, 3, 'symmetric'), pad_max=lambda v: jnp.pad(v, 1, 'maximum'),
            pad_mean=lambda v: jnp.pad(v, 1, 'mean'), pad_ramp=lambda v: jnp.pad(v, 2, 'linear_ramp'), pad_const=lambda v: jnp.pad(v, ((0, 1), (2, 0), (1, 1))),
            roll=lambda v: jnp.roll(v, (1, -2), (0, 2)), stack=lambda v: jnp.stack([v, v], 1), concatenate=lambda v: jnp.concatenate([v, v], None),
            vstack=lambda v: jnp.vstack([v, v]), hstack=lambda v: jnp.hstack([v, v]), dstack=lambda v: jnp.dstack([v, v]),
            column_stack=lambda v: jnp.column_stack([v[0, 0], v[1, 1]]), block=lambda v: jnp.block([[v[0], v[1]], [v[1], v[0]]]),
            split=lambda v: jnp.split(v, [1, 2], axis=1), array_split=lambda v: jnp.array_split(v, 3, axis=2), hsplit=lambda v: jnp.hsplit(v, 3),
            delete=lambda v: jnp.delete(v, 1, axis=1), insert=lambda v: jnp.insert(v, 1, v[0, 0, 0], axis=1), append=lambda v: jnp.append(v, v, 0),
            squeeze=lambda v: jnp.squeeze(v[:1], 0), expand=lambda v: jnp.expand_dims(v, (0, 2)), ravel=lambda v: jnp.ravel(v, order='F'),
            reshape_f=lambda v: jnp.reshape(v, (4, 6), order='F'), broadcast_to=lambda v: jnp.broadcast_to(v[:, :1], (2, 5, 4)),
            triu=lambda v: jnp.triu(v, 1), tril=lambda v: jnp.tril(v, -1), diag=lambda v: jnp.diag(v[0], 1), diagflat=lambda v: jnp.diagflat(v[0, 0], -1),
            diagonal=lambda v: jnp.diagonal(v, 1, 1, 2), trace=lambda v: jnp.trace(v, 0, 1, 2), fill_diagonal=lambda v: jnp.fill_diagonal(v[0], 1, inplace=False),
            take=lambda v: jnp.take(v, np.array([3, -1, 7]), 2), take_clip=lambda v: jnp.take(v, np.array([3, -1, 7]), 2, mode='clip'),
            take_along=lambda v: jnp.take_along_axis(v, np.array([[[0, 3, 1]]]), 2), put_along=lambda v: jnp.put_along_axis(v, np.array([[[0, 3]]]), v[..., :2], 2, inplace=False),
            choose=lambda v: jnp.choose(np.array([0, 1, 1, 0]), v[:, 0]), compress=lambda v: jnp.compress(np.array([True, False, True]), v, 1),
            extract=lambda v: jnp.extract(np.arange(24) % 3 == 0, v, size=5), select=lambda v: jnp.select([v == v[0], v != v[1]], [v, v[::-1]], v[0, 0, 0]),
            place=lambda v: jnp.place(v, np.arange(24).reshape(2, 3, 4) % 3 == 0, v[0, 0, :2], inplace=False), put=lambda v: jnp.put(v, np.array([1, 30, -2]), v[0, 0, 0], inplace=False, mode='clip'),
            piecewise=lambda v: jnp.piecewise(v, [v == v[0]], [lambda z: z, lambda z: z * 0]), vander=lambda v: jnp.vander(v[0, 0], 3), outer=lambda v: jnp.outer(v[0], v[1]),
            nonzero=lambda v: jnp.nonzero(v, size=7, fill_value=-1), flatnonzero=lambda v: jnp.flatnonzero(v, size=9), argwhere=lambda v: jnp.argwhere(v, size=6),
            where1=lambda v: jnp.where(v, size=5), resize=lambda v: jnp.resize(v, (5, 7)), trim=lambda v: jnp.atleast_3d(v[0]), apply=lambda v: jnp.apply_along_axis(jnp.cumsum, 1, v),
            apply_over=lambda v: jnp.apply_over_axes(jnp.sum, v, [0, 2]), ediff=lambda v: jnp.ediff1d(v), diff=lambda v: jnp.diff(v, 2), gradient=lambda v: jnp.gradient(v),
            packbits=lambda v: jnp.packbits(v, axis=2), unpackbits=lambda v: jnp.unpackbits(v.astype('uint8'), axis=1), astype=lambda v: v.astype('float16'), view=lambda v: v.view('int8'),
            unravel=lambda v: jnp.unravel_index(np.array([5, 30]), v.shape), ravel_multi=lambda v: jnp.ravel_multi_index((v[0, 0].astype(int), v[1, 0].astype(int)), (5, 6), mode='clip'),
            array_equal=lambda v: jnp.array_equal(v, v), allclose=lambda v: jnp.allclose(v, v), tri=lambda v: v[0, :, :3] * jnp.tri(3, k=-1, dtype=v.dtype), lexsort=lambda v: jnp.lexsort((v[0, 0], v[1, 0])),
            nd_index=lambda v: v[..., None, 1:3, :], fancy=lambda v: v[np.array([0, 1, 1]), :, np.array([3, 0, 9])], mask=lambda v: v[:, np.array([True, False, True])], neg=lambda v: v[::-1, -1, ::-2], trapezoid=lambda v: jnp.trapezoid(v))
        for op, function in many.items():
            yield f'{op}_{name}', jitted(function, x)


def building():
    for name in ['float32', 'int32', 'complex64', 'float64', 'bfloat16', 'uint8', 'float16']:
        dtype = dtype_of(name)
        s = values(rng_of('build', name), (), name)
        yield f'arange_{name}', jitted(lambda: jnp.arange(2, 11, 3, dtype=dtype))
        for n in (0, 1, 2, 7):
            yield f'linspace_{name}_{n}', jitted(lambda a, n=n: jnp.linspace(a, a + 3, n, dtype=dtype), s)
            yield f'linspace_open_{name}_{n}', jitted(lambda a, n=n: jnp.linspace(a, 5, n, endpoint=False), s)
        yield f'logspace_{name}', jitted(lambda a: jnp.logspace(a, 2, 5, dtype=dtype), s)
        yield f'geomspace_{name}', jitted(lambda a: jnp.geomspace(a, 20, 5, dtype=dtype), np.array(2, dtype))
        for op in ['eye', 'identity', 'tri', 'hamming', 'hanning', 'blackman', 'bartlett']:
            yield f'{op}_{name}', jitted(lambda f=getattr(jnp, op): f(6) * jnp.ones(6, dtype))
        yield f'kaiser_{name}', jitted(lambda: jnp.kaiser(6, 2.0))
        yield f'meshgrid_{name}', jitted(lambda v: jnp.meshgrid(v, v[:2], indexing='ij', sparse=True), values(rng_of('g', name), (3,), name))
        yield f'indices_{name}', jitted(lambda: jnp.indices((2, 3), dtype=dtype))
        yield f'full_like_{name}', jitted(lambda v: jnp.full_like(v, 3, shape=(2, 2)), s)
        yield f'fromfunction_{name}', jitted(lambda: jnp.fromfunction(lambda i, j: i * 2 + j, (3, 2), dtype=dtype))


EINSUMS = ['ij,jk->ik', 'ij,ij->', 'ii->i', 'ii', 'ijk->kji', 'bij,bjk->bik', 'ij,kj->ki', 'i,j->ij', 'ijkl,klmn->ijmn', 'ij,jk,kl->il', 'bi,bj->bij',
           'ijk,ijk->jk', 'iij->j', '...ij,...jk->...ik', 'ij->', 'abc,cd,de->abe', 'i,i,i->i', 'ijij->ij', 'bhqd,bhkd->bhqk', 'ab,ab,c->c']


def products():
    for name in ['float32', 'float64', 'int32', 'complex64', 'bfloat16', 'float16', 'bool', 'uint8', 'int64']:
        for spec in EINSUMS:
            sizes = dict(zip('abcdehijklmnq', [2, 3, 4, 2, 3, 2, 3, 3, 2, 4, 2, 3, 2]))
            if spec in ('ii->i', 'ii', 'iij->j', 'ijij->ij'):
                sizes['i'] = 3
            operands = [values(rng_of(spec, k), [5] * t.count('...') + [sizes[c] for c in t.replace('...', '')], name) for k, t in enumerate(spec.split('->')[0].split(','))]
            yield f'einsum_{name}_{spec.replace(">", "").replace(",", "_")}', jitted(lambda *a, spec=spec: jnp.einsum(spec, *a), *operands)
        for op, a, b in [('dot', (2, 3), (3, 4)), ('dot', (3,), (3,)), ('dot', (2, 3, 4), (5, 4, 2)), ('dot', (), (3,)), ('matmul', (3,), (3, 2)), ('matmul', (2, 1, 3, 4), (5, 4, 2)),
                         ('matmul', (0, 3), (3, 2)), ('matmul', (2, 0), (0, 3)), ('inner', (2, 4), (3, 4)), ('outer', (3,), (4,)), ('kron', (2, 2), (2, 3)), ('vdot', (2, 3), (2, 3)),
                         ('cross', (4, 3), (4, 3)), ('convolve', (5,), (3,)), ('correlate', (5,), (3,)), ('vecdot', (2, 3), (2, 3)), ('tensordot', (2, 3, 4), (3, 4, 2)), ('matvec', (2, 3), (3,)), ('vecmat', (2,), (2, 3)), ('polymul', (3,), (2,)), ('polyadd', (3,), (2,)), ('polyval', (3,), (4,))]:
            x, y = values(rng_of(op, name, 1), a, name), values(rng_of(op, name, 2), b, name)
            yield f'{op}_{name}_{shape_name(a, b)}', jitted(getattr(jnp, op), x, y)
        for mode in ['same', 'valid']:
            x, y = values(rng_of('cv', name, 1), (5,), name), values(rng_of('cv', name, 2), (8,), name)
            yield f'convolve_{mode}_{name}', jitted(lambda p, q, mode=mode: (jnp.convolve(p, q, mode), jnp.correlate(p, q, mode)), x, y)
        x = values(rng_of('mp', name), (3, 3), name, -1, 1)
        yield f'matrix_power_{name}', jitted(lambda v: jnp.linalg.matrix_power(v, 5), x)
        yield f'multi_dot_{name}', jitted(lambda v: jnp.linalg.multi_dot([v, v[:, :2], v[:2]]), x)


def sets_and_sorting():
    for name in COMMON + ['int8', 'uint64']:
        x = values(rng_of('sets', name), (12,), name)
        y = values(rng_of('sets2', name), (7,), name)
        table = values(rng_of('sets3', name), (4, 5), name, special=name != 'bool')
        many = dict(
            unique=lambda v, w: jnp.unique(v, size=9, return_index=True, return_inverse=True, return_counts=True), unique_fill=lambda v, w: jnp.unique(v, size=5, fill_value=1),
            unique_rows=lambda v, w: jnp.unique(v.reshape(4, 3), axis=0, size=3), unique_values=lambda v, w: jnp.unique_values(v, size=4), isin=lambda v, w: jnp.isin(v, w), isin_inv=lambda v, w: jnp.isin(v, w, invert=True, method='sort'),
            isin_search=lambda v, w: jnp.isin(v, w, method='binary_search'), union=lambda v, w: jnp.union1d(v, w, size=14), intersect=lambda v, w: jnp.intersect1d(v, w, size=5), setdiff=lambda v, w: jnp.setdiff1d(v, w, size=6),
            setxor=lambda v, w: jnp.setxor1d(v, w, size=8), searchsorted=lambda v, w: jnp.searchsorted(jnp.sort(v), w), searchsorted_r=lambda v, w: jnp.searchsorted(jnp.sort(v), w, side='right', method='sort'),
            searchsorted_all=lambda v, w: jnp.searchsorted(jnp.sort(v), w, method='compare_all'), partition=lambda v, w: jnp.partition(v, 4), argpartition=lambda v, w: jnp.argpartition(v, 4), sort_desc=lambda v, w: jnp.sort(v, descending=True),
            argsort_desc=lambda v, w: jnp.argsort(v, descending=True, stable=True), bincount=lambda v, w: jnp.bincount(jnp.abs(v).astype(int), length=8), sort_complex=lambda v, w: jnp.sort_complex(v), interp=lambda v, w: jnp.interp(w.real, jnp.arange(12.0), v.real),
            nan_sort=lambda v, w: jnp.nanmax(v), tril_indices=lambda v, w: v[jnp.tril_indices(3)[0]], median=lambda v, w: jnp.median(v.reshape(3, 4), axis=0))
        for op, function in many.items():
            yield f'{op}_{name}', jitted(function, x, y)
        for axis in (0, 1, None):
            yield f'sort_{name}_{axis}', jitted(lambda v, axis=axis: (jnp.sort(v, axis), jnp.argsort(v, axis)), table)


def polynomials():
    for name in ['float32', 'float64', 'complex64']:
        p, q, x = (values(rng_of('poly', name, k), (n,), name) for k, n in ((1, 5), (2, 3), (3, 6)))
        many = dict(polyval=lambda: jnp.polyval(p, x), polydiv=lambda: jnp.polydiv(p, q), polyder=lambda: jnp.polyder(p, 2), polyint=lambda: jnp.polyint(p, 2), polysub=lambda: jnp.polysub(p, q), poly=lambda: jnp.poly(q), roots=lambda: jnp.roots(p, strip_zeros=False),
                    polyfit=lambda: jnp.polyfit(x, x * x, 2))
        for op, function in many.items():
            yield f'{op}_{name}', eager(function)
            yield f'{op}_{name}_jit', jitted(function)
