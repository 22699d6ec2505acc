"""Convolutions of every form, windows of every kind, their derivatives, pooling, image functions and fourier transforms."""
import itertools
import numpy as np
import jax
import jax.numpy as jnp
import jax.scipy.fft, jax.scipy.ndimage
from jax import lax
from programs._values import *


def programs():
    yield from chain(convolutions(), convolution_types(), convolution_gradients(), patches(), windows(), images(), fourier())


def conv(**options):
    return lambda x, k: lax.conv_general_dilated(x, k, **options)


FORMS = [
    # lhs, rhs, options
    ((1, 1, 7), (1, 1, 3), dict(window_strides=(2,), padding=[(1, 2)])),
    ((2, 3, 8), (4, 3, 3), dict(window_strides=(1,), padding='SAME', rhs_dilation=(2,))),
    ((2, 3, 8), (4, 3, 3), dict(window_strides=(3,), padding=[(-1, 4)], lhs_dilation=(2,))),
    ((2, 4, 5), (4, 2, 3), dict(window_strides=(1,), padding='VALID', feature_group_count=2)),
    ((4, 2, 5), (4, 2, 3), dict(window_strides=(1,), padding='VALID', batch_group_count=2)),
    ((2, 3, 6, 5), (4, 3, 3, 2), dict(window_strides=(1, 1), padding='SAME')),
    ((2, 3, 6, 5), (4, 3, 3, 2), dict(window_strides=(2, 1), padding='SAME_LOWER')),
    ((2, 3, 6, 5), (4, 3, 3, 2), dict(window_strides=(1, 2), padding=[(2, -1), (0, 3)], lhs_dilation=(1, 2), rhs_dilation=(2, 1))),
    ((1, 6, 5, 5), (6, 1, 3, 3), dict(window_strides=(1, 1), padding='SAME', feature_group_count=6)),
    ((6, 2, 5, 5), (6, 2, 3, 3), dict(window_strides=(1, 1), padding='VALID', batch_group_count=3)),
    ((6, 2, 5, 5), (6, 2, 1, 1), dict(window_strides=(1, 1), padding='VALID')),
    ((1, 2, 4, 4), (3, 2, 4, 4), dict(window_strides=(1, 1), padding='VALID')),
    ((1, 2, 3, 3), (3, 2, 4, 4), dict(window_strides=(1, 1), padding='VALID')),
    ((0, 2, 4, 4), (3, 2, 2, 2), dict(window_strides=(1, 1), padding='SAME')),
    ((2, 0, 4, 4), (3, 0, 2, 2), dict(window_strides=(1, 1), padding='SAME')),
    ((2, 3), (4, 3), dict(window_strides=(), padding=())),
    ((2, 2, 3, 4, 3), (3, 2, 2, 2, 2), dict(window_strides=(1, 2, 1), padding='SAME')),
    ((1, 2, 3, 4, 3), (2, 2, 2, 1, 3), dict(window_strides=(1, 1, 1), padding=[(0, 1), (1, 0), (1, 1)], rhs_dilation=(1, 2, 1), lhs_dilation=(2, 1, 1))),
]
LAYOUTS = {3: ['NCH', 'NHC', 'HNC'], 4: ['NCHW', 'NHWC', 'CHWN', 'HWNC'], 5: ['NCDHW', 'NDHWC']}
KERNELS = {3: ['OIH', 'HIO'], 4: ['OIHW', 'HWIO', 'IHWO'], 5: ['OIDHW', 'DHWIO']}


def arrange(x, source, target):
    return np.transpose(x, [source.index(c) for c in target])


def convolutions():
    for n, (lhs, rhs, options) in enumerate(FORMS):
        for name in ['float32', 'float64', 'int32', 'complex64', 'bfloat16']:
            x, k = values(rng_of(n, name), lhs, name), values(rng_of(n, name, 2), rhs, name)
            yield f'form{n}_{name}', jitted(conv(**options), x, k)
        if len(lhs) < 3:
            continue
        x, k = values(rng_of(n), lhs, 'float32'), values(rng_of(n, 2), rhs, 'float32')
        for a, b in itertools.product(LAYOUTS[len(lhs)], KERNELS[len(lhs)]):
            yield f'layout{n}_{a}_{b}', jitted(conv(dimension_numbers=(a, b, a), **options),
                                               arrange(x, LAYOUTS[len(lhs)][0], a), arrange(k, KERNELS[len(lhs)][0], b))


def convolution_types():
    lhs, rhs, options = FORMS[7]
    for a in ['int8', 'uint8', 'int16', 'float16', 'bfloat16', 'float8_e5m2', 'float8_e4m3fn', 'int4', 'bool', 'int64', 'complex128']:
        for out in [None, 'int32', 'float32', 'float64', 'bfloat16']:
            x, k = values(rng_of(a), lhs, a), values(rng_of(a, 2), rhs, a)
            yield f'preferred_{a}_{out}', jitted(conv(preferred_element_type=out and dtype_of(out), **options), x, k)


def convolution_gradients():
    for n, (lhs, rhs, options) in enumerate(FORMS):
        x, k = values(rng_of(n), lhs, 'float32'), values(rng_of(n, 2), rhs, 'float32')
        def gradients(x, k, options=options):
            return jax.grad(lambda a, b: jnp.sum(jnp.sin(conv(**options)(a, b))), (0, 1))(x, k)
        yield f'gradient{n}', jitted(gradients, x, k)
        xs = np.stack([x, x * 2])
        ks = np.stack([k, k + 1])
        yield f'vmap{n}', jitted(jax.vmap(conv(**options)), xs, ks)
        yield f'vmap_lhs{n}', jitted(jax.vmap(conv(**options), (1, None)), np.moveaxis(xs, 0, 1), k)
        yield f'vmap_rhs{n}', jitted(jax.vmap(conv(**options), (None, 0), 1), x, ks)
        yield f'jvp{n}', jitted(lambda x, k, options=options: jax.jvp(conv(**options), (x, k), (x * 2, k - 1)), x, k)
    for padding in ['SAME', 'VALID']:
        for strides in [(1, 1), (2, 2), (3, 2)]:
            x, k = values(rng_of('t'), (2, 4, 5, 3), 'float32'), values(rng_of('t2'), (3, 3, 3, 2), 'float32')
            yield f'transpose_{padding}_{strides[0]}', jitted(lambda x, k, p=padding, s=strides: lax.conv_transpose(x, k, s, p), x, k)
            yield f'transpose_kernel_{padding}_{strides[0]}', jitted(
                lambda x, k, p=padding, s=strides: lax.conv_transpose(x, k, s, p, transpose_kernel=True), x, np.transpose(k, (0, 1, 3, 2)))


def patches():
    x = values(rng_of('p'), (2, 3, 6, 5), 'float32')
    yield 'patches', jitted(lambda x: lax.conv_general_dilated_patches(x, (2, 3), (1, 2), 'SAME'), x)
    yield 'patches_dilated', jitted(lambda x: lax.conv_general_dilated_patches(x, (2, 2), (1, 1), 'VALID', rhs_dilation=(2, 1)), x)
    k = values(rng_of('p2'), (6, 4, 2, 12), 'float32')
    yield 'local', jitted(lambda x, k: lax.conv_general_dilated_local(x, k.reshape(4, 18, 4, 4)[:, :18], (1, 1), 'VALID', (3, 2)) if k.size == 1152 else 0, x,
                          values(rng_of('p3'), (1152,), 'float32'))


WINDOWS = [((5,), (2,), (1,), [(0, 0)], None, None), ((7,), (3,), (2,), [(1, 2)], None, (2,)), ((6,), (2,), (1,), [(2, 1)], (2,), None),
           ((4, 6), (2, 3), (2, 1), 'SAME', None, None), ((4, 6), (2, 3), (1, 2), [(0, 3), (2, -1)], None, None), ((3, 4), (2, 2), (1, 1), [(1, 1), (0, 1)], (2, 3), (2, 1)),
           ((2, 6, 5, 3), (1, 3, 2, 1), (1, 2, 2, 1), 'SAME', None, None), ((0, 4), (1, 2), (1, 1), 'VALID', None, None), ((3, 4), (5, 1), (1, 1), 'VALID', None, None), ((), (), (), (), None, None)]
COMBINE = dict(add=(lax.add, 0), mul=(lax.mul, 1), max=(lax.max, None), min=(lax.min, None), or_=(lax.bitwise_or, 0))


def identity(op, dtype):
    if op == 'max':
        return -np.inf if dtype.kind in 'fV' else np.iinfo(dtype).min if dtype.kind in 'iu' else False
    if op == 'min':
        return np.inf if dtype.kind in 'fV' else np.iinfo(dtype).max if dtype.kind in 'iu' else True
    return COMBINE[op][1]


def windows():
    for n, (shape, size, strides, padding, base, dilation) in enumerate(WINDOWS):
        call = dict(window_dimensions=size, window_strides=strides, padding=padding, base_dilation=base, window_dilation=dilation)
        for name in ['float32', 'int32', 'bfloat16', 'uint8', 'bool', 'float64', 'float16', 'complex64']:
            x = values(rng_of(n, name), shape, name)
            for op, (function, _) in COMBINE.items():
                if (op == 'or_') != (name == 'bool') or (name == 'complex64' and op in ('max', 'min')):
                    continue
                start = np.array(identity(op, dtype_of(name)), dtype_of(name))
                yield f'window{n}_{op}_{name}', jitted(lambda v, f=function, s=start, call=call: lax.reduce_window(v, s, f, **call), x)
                other = np.array(2, dtype_of(name))
                yield f'window{n}_{op}_{name}_start', jitted(lambda v, f=function, s=other, call=call: lax.reduce_window(v, s, f, **call), x)
        x = values(rng_of(n), shape, 'float32')
        y = values(rng_of(n, 2), shape, 'int32')
        pair = lambda a, b: (jnp.where(a[0] >= b[0], a[0], b[0]), jnp.where(a[0] >= b[0], a[1], b[1]))
        yield f'window{n}_pair', jitted(lambda v, i, call=call: lax.reduce_window((v, i), (np.float32(-np.inf), np.int32(-1)), pair, **call), x, y)
        for op, function in dict(sum=lax.add, max=lax.max).items():
            start = np.float32(identity('max' if op == 'max' else 'add', np.dtype('float32')))
            pooled = lambda v, f=function, s=start, call=call: lax.reduce_window(v, s, f, **call)
            gradient = lambda v, p=pooled: jax.grad(lambda u: jnp.sum(jnp.sin(p(u))))(v)
            yield f'window{n}_{op}_gradient', jitted(gradient, x)
            yield f'window{n}_{op}_jvp', jitted(lambda v, p=pooled: jax.jvp(p, (v,), (v * 2,)), x)
            yield f'window{n}_{op}_vmap', jitted(jax.vmap(gradient), np.stack([x, -x]))
    for name in FLOATS + ['int32']:
        x = values(rng_of('sas', name), (4, 6), name)
        for select in (lax.ge_p, lax.le_p):
            if name != 'int32':
                yield f'select_and_gather_{select}_{name}', jitted(
                    lambda v, s=select: jax._src.lax.windowed_reductions._select_and_gather_add(v, v * 2, s, (2, 3), (2, 1), ((0, 0), (1, 1)), (1, 1), (1, 1)), x)


def images():
    for name in ['float32', 'uint8', 'bfloat16', 'float64', 'int32']:
        x = values(rng_of('img', name), (1, 5, 4, 2), name, 0, 3)
        for method in ['nearest', 'linear', 'cubic', 'lanczos3', 'lanczos5']:
            for shape in [(1, 7, 3, 2), (1, 2, 8, 2), (1, 5, 4, 2)]:
                for antialias in (True, False):
                    yield f'resize_{name}_{method}_{shape_name(shape)}_{antialias}', jitted(
                        lambda v, m=method, s=shape, a=antialias: jax.image.resize(v, s, m, a), x)
            if name.startswith('float') and method != 'nearest':
                yield f'scale_{name}_{method}', jitted(
                    lambda v, m=method: jax.image.scale_and_translate(v, (1, 6, 6, 2), (1, 2), jnp.array([1.2, 0.7]), jnp.array([0.5, -1.0]), m), x)
                yield f'resize_gradient_{name}_{method}', jitted(lambda v, m=method: jax.grad(lambda u: jnp.sum(jax.image.resize(u, (1, 7, 3, 2), m) ** 2))(v), x)
        for order in (0, 1):
            for mode in ['constant', 'nearest', 'wrap', 'mirror', 'reflect']:
                at = [values(rng_of('mc', k), (6,), 'float32', -2, 6) for k in (1, 2)]
                yield f'map_coordinates_{name}_{order}_{mode}', jitted(
                    lambda v, a, b, o=order, m=mode: jax.scipy.ndimage.map_coordinates(v[0, :, :, 0], [a, b], o, m), x, *at)


def fourier():
    f = jnp.fft
    for name in ['float32', 'float64', 'complex64', 'complex128', 'int32']:
        real = 'complex' not in name
        for shape in [(8,), (7,), (1,), (3, 5), (2, 4, 6), (2, 0), (0, 4), (60,), (17,)]:
            x = values(rng_of('fft', name), shape, name)
            for op in ['fft', 'ifft', 'hfft', 'irfft'] + (['rfft', 'ihfft'] if real else []):
                yield f'{op}_{name}_{shape_name(shape)}', jitted(getattr(f, op), x)
                yield f'{op}_n_{name}_{shape_name(shape)}', jitted(lambda v, op=op: getattr(f, op)(v, n=6, axis=0, norm='ortho'), x)
            for op in ['fftn', 'ifftn', 'irfftn'] + (['rfftn'] if real else []):
                yield f'{op}_{name}_{shape_name(shape)}', jitted(getattr(f, op), x)
            if len(shape) > 1:
                for op in ['fft2', 'ifft2', 'irfft2'] + (['rfft2'] if real else []):
                    yield f'{op}_{name}_{shape_name(shape)}', jitted(lambda v, op=op: getattr(f, op)(v, s=(4, 5), norm='forward'), x)
            yield f'shift_{name}_{shape_name(shape)}', jitted(lambda v: (f.fftshift(v), f.ifftshift(v, 0)), x)
        if name in ('float32', 'float64'):
            x = values(rng_of('fft', name), (3, 5), name)
            for op in ['fft', 'rfft', 'rfftn', 'irfft', 'hfft', 'fft2', 'irfft2']:
                loss = lambda v, op=op: jnp.sum(jnp.abs(getattr(f, op)(v)) ** 2)
                yield f'gradient_{op}_{name}', jitted(jax.grad(loss), x)
                yield f'jvp_{op}_{name}', jitted(lambda v, op=op: jax.jvp(getattr(f, op), (v,), (v * 2,)), x)
            for kind in (2,):
                for norm in (None, 'ortho'):
                    yield f'dct_{name}_{norm}', jitted(lambda v, n=norm: (jax.scipy.fft.dct(v, norm=n), jax.scipy.fft.idct(v, norm=n), jax.scipy.fft.dctn(v, norm=n), jax.scipy.fft.idctn(v, norm=n)), x)
    for n in (5, 8):
        yield f'freq_{n}', jitted(lambda n=n: (f.fftfreq(n, 0.3), f.rfftfreq(n, 0.3)))
