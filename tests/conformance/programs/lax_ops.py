"""Elementwise primitives of jax.lax by type and shape, with extremes among the arguments; their derivatives and batched forms."""
import itertools
import numpy as np
import jax
from jax import lax
from jax._src.internal_test_util import lax_test_util
from programs._values import *

SHAPES_OF = [[(3,)], [(3, 4), (3, 1)], [()], [(0, 2)]]


def records():
    for record in lax_test_util.lax_ops():
        for dtype in record.dtypes:
            yield record, np.dtype(dtype)


def operands(record, dtype, shape, special, key):
    rng = rng_of(record.op, dtype.name, shape, key)
    if special:
        return [values(rng, shape, dtype.name, special=True) for _ in range(record.nargs)]
    make = record.rng_factory(np.random.RandomState(len(shape) + key))
    return [make(shape, dtype) for _ in range(record.nargs)]


def programs():
    for record, dtype in records():
        op = getattr(lax, record.op)
        for shape, special in [((), False), ((3, 5), False), ((37,), True), ((0, 3), False), ((2, 1, 4), True)]:
            args = operands(record, dtype, shape, special, 0)
            yield f'{record.op}_{dtype.name}_{shape_name(shape)}', jitted(op, *args)
        if dtype.kind in 'fc' and dtype.itemsize >= 4:
            yield from derivatives(record, dtype, op)
        yield from batched(record, dtype, op)


def derivatives(record, dtype, op):
    args = operands(record, dtype, (5,), False, 1)
    tangents = operands(record, dtype, (5,), False, 2)
    yield f'{record.op}_jvp_{dtype.name}', jitted(lambda *a: jax.jvp(op, a, tuple(tangents)), *args)

    def pulled(*a):
        out, back = jax.vjp(op, *a)
        return back(out)
    yield f'{record.op}_vjp_{dtype.name}', jitted(pulled, *args)
    if record.op not in ('nextafter', 'betainc', 'igamma', 'igammac', 'polygamma'):
        hessian = lambda *a: jax.jvp(lambda *b: jax.jvp(op, b, tuple(tangents))[1], a, tuple(tangents))
        yield f'{record.op}_jvp2_{dtype.name}', jitted(hessian, *args)


def batched(record, dtype, op):
    if record.nargs == 2:
        x = operands(record, dtype, (4, 3), False, 3)[0]
        y = operands(record, dtype, (3,), False, 4)[1]
        yield f'{record.op}_vmap_{dtype.name}', jitted(jax.vmap(op, in_axes=(1, None)), x.T.reshape(3, 4), y)
