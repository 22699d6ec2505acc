"""Arguments of the programs: arrays of any type, from a seed that the program's name gives."""
import zlib
from itertools import chain
import ml_dtypes
import numpy as np
import jax

SMALL_FLOATS = ['float8_e5m2', 'float8_e4m3fn', 'float8_e4m3b11fnuz', 'float8_e5m2fnuz', 'float8_e4m3fnuz', 'float8_e4m3',
                'float8_e3m4', 'float4_e2m1fn', 'float8_e8m0fnu']
SMALL_INTS = ['int2', 'int4', 'uint2', 'uint4']
INTS = ['int8', 'int16', 'int32', 'int64']
UINTS = ['uint8', 'uint16', 'uint32', 'uint64']
HALVES = ['bfloat16', 'float16']
FLOATS = HALVES + ['float32', 'float64']
COMPLEX = ['complex64', 'complex128']
COMMON = ['bool', 'int8', 'uint8', 'int32', 'uint32', 'int64', 'float16', 'bfloat16', 'float32', 'float64', 'complex64']
ALL = ['bool'] + INTS + UINTS + FLOATS + COMPLEX
EVERY = ALL + SMALL_FLOATS + SMALL_INTS
SHAPES = [(), (3,), (2, 3), (0,), (2, 0, 3), (2, 1, 4)]


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def rng_of(*key):
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def special_values(dtype):
    if dtype.kind in 'iu':
        info = np.iinfo(dtype)
        return [info.min, info.max, 0, 1]
    return [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0]


def values(rng, shape, name, low=-3.0, high=3.0, special=False):
    """Floats between low and high, integers over a small range (or with `special` anything and the extremes)."""
    dtype = dtype_of(name)
    if name == 'bool':
        return rng.integers(0, 2, shape).astype(bool)
    if name in SMALL_INTS:
        info = ml_dtypes.iinfo(dtype)
        return np.asarray(rng.integers(int(info.min), int(info.max) + 1, shape)).astype(np.int8).astype(dtype)
    if dtype.kind in 'iu':
        info = np.iinfo(dtype)
        lo, hi = (info.min, info.max) if special else (max(int(low * 3), info.min), min(int(high * 3), info.max))
        out = np.asarray(rng.integers(lo, hi, shape, endpoint=True, dtype=dtype))
    elif dtype.kind == 'c':
        out = np.asarray(rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)).astype(dtype)
    else:
        out = np.asarray(rng.uniform(low, high, shape)).astype(dtype)
    if special and out.size:
        flat = out.reshape(-1)
        known = special_values(dtype) if dtype.kind in 'iufc' or name == 'bfloat16' else [0.0, 1.0]
        for value in rng.choice(known, min(4, flat.size)):
            flat[rng.integers(flat.size)] = value
    return out


def jitted(function, *arguments, **options):
    """The program of a whole function."""
    return lambda: jax.block_until_ready(jax.jit(function, keep_unused=True, **options)(*arguments))


def eager(function, *arguments):
    """The programs that JAX makes of it op by op."""
    return lambda: jax.block_until_ready(function(*arguments))


def shape_name(*shapes):
    return '_'.join('x'.join(map(str, s)) or 'scalar' for s in shapes)
