#!/usr/bin/env python3
"""Writes printed.txt, arrays and what numpy prints for them, and files.txt, the bytes of files that numpy wrote.

  python3 -m venv V && V/bin/pip install numpy==2.4.6
  V/bin/python tests/numpy/make_reference.py tests/numpy

printed.txt: a line `= dtype; shape; options; bytes in hexadecimal`, then the lines that numpy prints.
files.txt: a line is name; dtype; shape; bytes of the array in C order; bytes of the file.
"""
import io
import sys
import zipfile

import numpy as np

NAMES = {"bool": "pred", "complex64": "c64", "complex128": "c128"}
NAMES |= {f"int{w}": f"s{w}" for w in (8, 16, 32, 64)} | {f"uint{w}": f"u{w}" for w in (8, 16, 32, 64)}
NAMES |= {f"float{w}": f"f{w}" for w in (16, 32, 64)}

rng = np.random.default_rng(15)
inf, nan = np.inf, np.nan
f16, f32, f64, c64, c128 = np.float16, np.float32, np.float64, np.complex64, np.complex128


def special(dtype):
    """Finite values of every size in the dtype, from random bits."""
    bits = rng.integers(0, 256, 2 * np.dtype(dtype).itemsize * 12, dtype=np.uint8)
    values = np.frombuffer(bits.tobytes(), dtype)
    return values[np.isfinite(values)]


def printed():
    """Arrays, and options as keywords of numpy.printoptions."""
    for dtype in (f16, f32, f64):
        for values in ([1, 2.5, -3], [0.1, 1 / 3, 2 / 3], [1e-5, 1], [1e8, 1], [0, -0.0], [nan, 1, inf], [nan, -inf],
                       [inf, -inf, 0.001], [1e-4, 9e-5], [999, 1000], [0.0001, 0.1], [1, 1000.5], [123456, 0.5],
                       [1e6, 1], [1.5e-7, 2.5e-7], [-1, 100, 3.14159265358979], [3, 300, 60000]):
            yield np.array(values).astype(dtype)
        for value in (0, -0.0, 1, 0.1, 1 / 3, 1e-4, 9.9e-5, 65000, nan, inf, -inf, -2.5):
            yield np.array(value).astype(dtype)
        for _ in range(4):
            yield special(dtype)
        yield rng.normal(size=(3, 4)).astype(dtype)
        yield (rng.normal(size=(2, 3, 2)) * 100).astype(dtype)
        yield np.array([[1e-8, 1], [nan, 2e3]]).astype(dtype)
        yield np.finfo(dtype).max * np.array([1, -0.5], dtype)
        yield np.array([np.finfo(dtype).smallest_subnormal, np.finfo(dtype).tiny])
    for value in (1e16, 9999999999999998.0, 1e15, 123456789012, 1e300, 5e-324, 16777216.0, 0.1 + 0.2):
        yield np.array(value)
        yield np.array([value])
    for value in (1e38, 16777216, 1e10, 33554432, 1e-45, 8388608.5):
        yield np.array(value, f32)
        yield np.array([value, 1], f32)
    yield np.array([9007199254740993, 2.0**60, 2.0**-44])
    yield np.array([2.0**i for i in range(-30, -10)], f32)
    yield np.array([2.0**i for i in range(-24, 15)], f16)
    yield np.array([1e100, 1e-100])
    yield np.array([1e9, 1e-9, nan, -inf])
    yield np.array([99999999.0, 0.99999999])
    yield np.array([0.999999999, 1.000000001])
    yield np.array([0.129999999999, 0.5])
    yield np.array([0.000244140625, 0.0001220703125])
    yield np.arange(30.0)
    yield np.arange(30.0).reshape(5, 6) / 7
    yield np.array([True, False])
    yield np.array([True, True])
    yield np.array([[False, True], [True, True]])
    yield np.array(True)
    yield np.array(False)
    for dtype in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64):
        yield np.array([np.iinfo(dtype).min, 0, 7, np.iinfo(dtype).max], dtype)
        yield np.array(np.iinfo(dtype).max, dtype)
    yield np.arange(60, dtype=np.int32)
    yield np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    yield np.arange(16, dtype=np.int64).reshape(2, 2, 2, 2) * -1000
    yield np.arange(100, dtype=np.int32).reshape(2, 50)
    for dtype in (c64, c128):
        for values in ([1 + 2j, -1.5 - 0.25j], [0, 1j], [complex(nan, 1), complex(1, inf)], [1e-9 + 1j, 1 + 1e9j],
                       [complex(-0.0, -0.0), 1], [complex(nan, nan), complex(-inf, -inf)], [1 / 3 + 2j / 3, 10]):
            yield np.array(values, dtype)
        for value in (1 + 2j, 1j, complex(-0.0, 1), complex(0, -0.0), complex(nan, nan), complex(1, -inf), 1e20 + 1e-7j,
                      1 / 3 - 1j, complex(-inf, 0)):
            yield np.array(value, dtype)
        yield (rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3))).astype(dtype)
    for shape in ((0,), (0, 3), (3, 0), (2, 0, 2)):
        yield np.zeros(shape, f32)
    yield np.zeros((1, 1, 1), f32)
    yield np.arange(1000, dtype=np.int16)
    yield np.arange(1001, dtype=np.int16)
    yield np.arange(40 * 40, dtype=np.int16).reshape(40, 40)
    yield np.arange(12 * 11 * 10, dtype=np.int16).reshape(12, 11, 10)
    yield np.arange(4 * 300, dtype=np.int16).reshape(4, 300)
    yield np.arange(300 * 4, dtype=np.int16).reshape(300, 4)
    yield np.linspace(0, 1, 1200).astype(f16)
    yield np.concatenate([np.ones(600, f32), np.array([1e9], f32), np.ones(600, f32)])
    yield (np.arange(1200) % 3 == 0)
    yield np.arange(7 * 150, dtype=np.int16).reshape(7, 150)
    yield np.arange(6 * 200, dtype=np.int16).reshape(6, 200)
    yield (np.arange(1100) * (0.5 - 0.25j)).astype(c64)
    third = np.array([1 / 3, 20, -0.125])
    for options in ({"precision": 3}, {"precision": 0}, {"precision": 1}, {"precision": 15}, {"linewidth": 10},
                    {"linewidth": 1}, {"suppress": True}, {"threshold": 2, "edgeitems": 1}):
        yield third, options
        yield np.arange(12.0).reshape(3, 4) / 7, options
    yield np.array([1e-6, 1, 2e-3]), {"suppress": True}
    yield np.array([1e-6, 1, 2e-3]), {"suppress": True, "precision": 3}
    yield np.array([1e-6, 123456789]), {"precision": 2}
    yield np.array([0.5, 1.5, 2.5, 3.5]), {"precision": 0}
    yield np.array([1 / 3 + 2j, 10 - 1e-3j]), {"precision": 2}
    yield np.arange(100, dtype=np.int32), {"threshold": 50, "edgeitems": 2}
    yield np.arange(100, dtype=np.int32), {"linewidth": 40}


def words_of(options):
    return ",".join(f"{key}={int(value)}" for key, value in options.items())


def shape_of(x):
    return ",".join(map(str, x.shape))


def write_printed(out):
    for item in printed():
        x, options = item if isinstance(item, tuple) else (item, {})
        x = np.ascontiguousarray(x).reshape(x.shape)
        out.write(f"= {NAMES[x.dtype.name]}; {shape_of(x)}; {words_of(options)}; {x.tobytes().hex()}\n")
        with np.printoptions(**options):
            out.write(str(x) + "\n")  # an f-string would format a scalar as Python does


def saved(save, *args, **named):
    out = io.BytesIO()
    save(out, *args, **named)
    return out.getvalue()


def files():
    """Name, what is in the file (an archive's array x), and its bytes."""
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    for dtype in NAMES:
        y = (x % 2).astype(dtype) if dtype == "bool" else x.astype(dtype)
        yield "c_order", y, saved(np.save, y)
        yield "big_endian", y, saved(np.save, y.astype(y.dtype.newbyteorder(">")))
    yield "fortran", x, saved(np.save, np.asfortranarray(x))
    y = np.arange(24, dtype=f64).reshape(2, 3, 4)
    yield "fortran", y, saved(np.save, np.asfortranarray(y))
    yield "fortran_big_endian", y, saved(np.save, np.asfortranarray(y).astype(">f8"))
    for shape in ((), (0,), (0, 3), (1,), (1, 1, 1)):
        y = np.zeros(shape, f32)
        yield "shape", y, saved(np.save, y)
    for version in ((1, 0), (2, 0), (3, 0)):
        out = io.BytesIO()
        np.lib.format.write_array(out, x, version=version)
        yield "version", x, out.getvalue()
    yield "npz", x, saved(np.savez, x=x)
    yield "npz", x, saved(np.savez_compressed, x=x)
    y = np.zeros((100, 100), f32)
    yield "npz", y, saved(np.savez_compressed, x=y)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("x.npy", saved(np.save, x))
    yield "npz", x, out.getvalue()


def write_files(out):
    for name, x, data in files():
        x = np.ascontiguousarray(x).reshape(x.shape)
        out.write(f"{name};{NAMES[x.dtype.name]};{shape_of(x)};{x.tobytes().hex() if x.any() else ''};{data.hex()}\n")


if __name__ == "__main__":
    with open(f"{sys.argv[1]}/printed.txt", "w") as out:
        write_printed(out)
    with open(f"{sys.argv[1]}/files.txt", "w") as out:
        write_files(out)
