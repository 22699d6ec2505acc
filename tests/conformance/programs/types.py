"""Every pair of types under convert and bitcast; arithmetic, comparisons, dots and sums in the small types."""
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
from programs._values import *

SPREAD = np.array([0, 1, -1, 2, 3.5, -2.5, 0.1, 7, 100, -130, 260, 1e-3, 500, -70000, 1e10, -1e30, np.inf, -np.inf, np.nan, 0.5, 1.5, -0.0])


def spread(name):
    dtype = dtype_of(name)
    with np.errstate(all='ignore'):
        if dtype.kind in 'iub' or name in SMALL_INTS:
            rng = rng_of('spread', name)
            return values(rng, (22,), name, special=True)
        return SPREAD.astype(dtype)


def programs():
    yield from chain(conversions(), arithmetic(), dots(), movements(), reductions())


def conversions():
    for a in EVERY:
        for b in EVERY:
            yield f'convert_{a}_{b}', jitted(lambda x, b=b: lax.convert_element_type(x, dtype_of(b)), spread(a))
    for a in EVERY:
        for b in EVERY:
            if 'bool' not in (a, b) and 'complex' not in a + b:
                yield f'bitcast_{a}_{b}', jitted(lambda x, b=b: lax.bitcast_convert_type(x, dtype_of(b)),
                                                 values(rng_of('bitcast', a), (2, 8), a, special=True))
    for name in FLOATS + SMALL_FLOATS:
        for bits in [(5, 10), (8, 7), (4, 3), (5, 2), (2, 1), (8, 23), (11, 52), (1, 0), (8, 0)]:
            yield f'reduce_precision_{name}_{bits[0]}_{bits[1]}', jitted(
                lambda x, bits=bits: lax.reduce_precision(x, *bits), spread(name))


UNARY = dict(neg=lax.neg, sign=lax.sign, abs=lax.abs, floor=lax.floor, ceil=lax.ceil, round=lax.round, exp=lax.exp, log=lax.log, sqrt=lax.sqrt,
             rsqrt=lax.rsqrt, cbrt=lax.cbrt, tanh=lax.tanh, sin=lax.sin, cos=lax.cos, tan=lax.tan, expm1=lax.expm1, log1p=lax.log1p,
             logistic=lax.logistic, is_finite=lax.is_finite, not_=lax.bitwise_not, popcnt=lax.population_count, clz=lax.clz, erf=lax.erf,
             erfc=lax.erfc, erf_inv=lax.erf_inv, lgamma=lax.lgamma, digamma=lax.digamma, asin=lax.asin, acos=lax.acos, atan=lax.atan,
             sinh=lax.sinh, cosh=lax.cosh, asinh=lax.asinh, acosh=lax.acosh, atanh=lax.atanh, i0e=lax.bessel_i0e, i1e=lax.bessel_i1e,
             real=lax.real, imag=lax.imag, conj=lax.conj, exp2=lax.exp2, square=lax.square, ipow3=lambda x: lax.integer_pow(x, 3),
             ipow_2=lambda x: lax.integer_pow(x, -2), reciprocal=lax.reciprocal, round_even=lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN))
BINARY = dict(add=lax.add, sub=lax.sub, mul=lax.mul, div=lax.div, rem=lax.rem, max=lax.max, min=lax.min, pow=lax.pow, atan2=lax.atan2,
              nextafter=lax.nextafter, eq=lax.eq, ne=lax.ne, lt=lax.lt, le=lax.le, gt=lax.gt, ge=lax.ge, and_=lax.bitwise_and,
              or_=lax.bitwise_or, xor=lax.bitwise_xor, shl=lax.shift_left, shra=lax.shift_right_arithmetic,
              shrl=lax.shift_right_logical, complex=lax.complex, mulhi=lax.mulhi, igamma=lax.igamma)


def arithmetic():
    for name in EVERY:
        x = values(rng_of('x', name), (40,), name, special=True)
        y = values(rng_of('y', name), (40,), name, special=True)
        for op, function in UNARY.items():
            yield f'{op}_{name}', jitted(function, x)
        for op, function in BINARY.items():
            yield f'{op}_{name}', jitted(function, x, y)
        yield f'clamp_{name}', jitted(lax.clamp, x[:1].reshape(()), x, y[:1].reshape(()))
        yield f'select_{name}', jitted(lax.select, np.arange(40) % 3 == 0, x, y)
        if dtype_of(name).kind != 'b':
            whole = values(rng_of('z', name), (16,), name)
            yield f'polynomial_{name}', jitted(lambda a, b: (a * b + a - b) * a, whole, whole[::-1].copy())


def dots():
    for a in EVERY:
        for out in [None, 'int32', 'float32', 'bfloat16', 'float64']:
            x, y = (values(rng_of(k, a), s, a) for k, s in (('l', (3, 5)), ('r', (5, 4))))
            yield f'dot_{a}_{out}', jitted(
                lambda p, q, out=out: lax.dot_general(p, q, (((1,), (0,)), ((), ())), preferred_element_type=out and dtype_of(out)), x, y)
    for a in FLOATS + ['float8_e5m2', 'float8_e4m3fn', 'int8']:
        for b in FLOATS + ['float8_e5m2', 'float8_e4m3fn', 'int8']:
            x, y = values(rng_of('l', a), (2, 3, 5), a), values(rng_of('r', b), (2, 4, 5), b)
            yield f'dot_mixed_{a}_{b}', jitted(
                lambda p, q: lax.dot_general(p, q, (((2,), (2,)), ((0,), (0,))), preferred_element_type=np.float32), x, y)


def movements():
    for name in EVERY:
        x = values(rng_of('m', name), (3, 4), name)
        start = np.int32(1)
        ops = dict(
            transpose=lambda v: v.T, reshape=lambda v: lax.reshape(v, (2, 6)), rev=lambda v: lax.rev(v, (0,)),
            slice=lambda v: lax.slice(v, (1, 0), (3, 4), (1, 2)), pad=lambda v: lax.pad(v, v[0, 0], ((1, -1, 1), (0, 2, 0))),
            concat=lambda v: lax.concatenate([v, v[:, :2]], 1), broadcast=lambda v: lax.broadcast_in_dim(v, (3, 2, 4), (0, 2)),
            dslice=lambda v, i=start: lax.dynamic_slice(v, (i, i), (2, 3)),
            dus=lambda v, i=start: lax.dynamic_update_slice(v, v[:1, :2], (i, i)),
            gather=lambda v: v[np.array([2, 0, 1, 5])], take=lambda v: jnp.take(v, np.array([1, -1, 9]), axis=1, mode='fill'),
            set=lambda v: v.at[np.array([0, 2])].set(v[1]), sort=lambda v: lax.sort(v, dimension=1), argmax=lambda v: jnp.argmax(v, 1),
            argsort=lambda v: jnp.argsort(v, axis=0), top_k=lambda v: lax.top_k(v, 2), where=lambda v: jnp.where(v == v[0], v, v[1]),
            iota=lambda v: lax.iota(v.dtype, 4) + v[0], full=lambda v: jnp.full((2, 2), 1, v.dtype), split=lambda v: jnp.split(v, 2, axis=1),
            tile=lambda v: jnp.tile(v, (2, 1)), roll=lambda v: jnp.roll(v, 1, 0), scatter_add=lambda v: v.at[np.array([0, 0, 2])].add(v),
            scatter_max=lambda v: v.at[np.array([0, 0, 2])].max(v), cond=lambda v: lax.cond(v[0, 0] == v[1, 1], lambda: v, lambda: v[::-1]),
            scan=lambda v: lax.scan(lambda c, r: (jnp.where(r == c, c, r), c), v[0], v),
            loop=lambda v: lax.fori_loop(0, 3, lambda i, c: c.at[i].set(v[2 - i]), v))
        for op, function in ops.items():
            yield f'{op}_{name}', jitted(function, x)


def reductions():
    for name in EVERY:
        for shape in [(4, 5), (0, 3), (1, 1)]:
            x = values(rng_of('red', name), shape, name)
            for op, function in dict(sum=lax.reduce_sum, prod=lax.reduce_prod, max=lax.reduce_max, min=lax.reduce_min,
                                     and_=lax.reduce_and, or_=lax.reduce_or, xor=lax.reduce_xor).items():
                for axes in [(0,), (0, 1)]:
                    yield f'reduce_{op}_{name}_{shape_name(shape)}_{len(axes)}', jitted(
                        lambda v, f=function, axes=axes: f(v, axes), x)
        x = values(rng_of('cum', name), (3, 4), name)
        for op, function in dict(cumsum=lax.cumsum, cumprod=lax.cumprod, cummax=lax.cummax, cummin=lax.cummin,
                                 cumlogsumexp=lax.cumlogsumexp).items():
            yield f'{op}_{name}', jitted(lambda v, f=function: (f(v, 0), f(v, 1, reverse=True)), x)
        yield f'window_sum_{name}', jitted(lambda v: lax.reduce_window(v, np.zeros((), v.dtype), lax.add, (2, 2), (1, 1), 'SAME'), x)
        low = lambda v: np.array(-np.inf if dtype_of(name).kind not in 'iub' else 0, v.dtype)
        yield f'window_max_{name}', jitted(lambda v: lax.reduce_window(v, low(v), lax.max, (2, 2), (1, 2), 'VALID'), x)
