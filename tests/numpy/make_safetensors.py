"""Writes safetensors.txt: files that the safetensors package wrote, and what is in them.

    python3 make_safetensors.py > tests/numpy/safetensors.txt     (safetensors 0.8.0)

A line is name;dtype;sizes;elements;file, elements and file in hex. The array is "x" of each file;
a file may have others, and words.
"""
import json
import struct

import numpy as np
import safetensors

# The package's names, ours, and how many bytes an element takes.
DTYPES = [
    ("bool", "pred", 1), ("uint8", "u8", 1), ("int8", "s8", 1), ("float8_e5m2", "f8e5m2", 1),
    ("float8_e4m3fn", "f8e4m3fn", 1), ("float8_e8m0fnu", "f8e8m0fnu", 1),
    ("float8_e4m3fnuz", "f8e4m3fnuz", 1), ("float8_e5m2fnuz", "f8e5m2fnuz", 1),
    ("int16", "s16", 2), ("uint16", "u16", 2), ("float16", "f16", 2), ("bfloat16", "bf16", 2),
    ("int32", "s32", 4), ("uint32", "u32", 4), ("float32", "f32", 4), ("complex64", "c64", 8),
    ("float64", "f64", 8), ("int64", "s64", 8), ("uint64", "u64", 8),
]


def line(name, dtype, sizes, data, file):
    # What the package reads is what it was given.
    found = dict(safetensors.deserialize(file))["x"]
    assert bytes(found["data"]) == data and found["shape"] == sizes, (name, dtype)
    print(name, dtype, ",".join(map(str, sizes)), data.hex(), file.hex(), sep=";")


def serialize(arrays, words=None):
    kept = {name: np.frombuffer(data or b"\0", np.uint8) for name, (_, _, data) in arrays.items()}
    specs = {name: safetensors.TensorSpec(dtype=dtype, shape=sizes, data_len=len(data),
                                          data_ptr=kept[name].ctypes.data)
             for name, (dtype, sizes, data) in arrays.items()}
    return bytes(safetensors.serialize(specs, words))


def main():
    for theirs, ours, width in DTYPES:
        data = bytes(i % 2 if ours == "pred" else i * 37 % 256 for i in range(6 * width))
        line("dtype", ours, [2, 3], data, serialize({"x": (theirs, [2, 3], data)}))
    for sizes in ([], [0], [0, 3], [1], [1, 1, 1], [4]):
        data = bytes(4 * int(np.prod(sizes)))
        line("shape", "f32", sizes, data, serialize({"x": ("float32", sizes, data)}))
    data = bytes(range(12))
    several = {"naïve \"a\"/b": ("float64", [1], bytes(8)), "x": ("float32", [3], data),
               "z": ("bool", [3], b"\0\1\0"), "none": ("int64", [0], b"")}
    line("several", "f32", [3], data, serialize(several, {"format": "pt", "é\n": "\"\\\t"}))
    # By hand, and read by the package: keys in another order, an empty header's end, escapes.
    header = json.dumps({"x": {"data_offsets": [8, 20], "shape": [3], "dtype": "F32"},
                         "\U0001F600": {"shape": [2, 2], "dtype": "I16", "data_offsets": [0, 8]},
                         "__metadata__": {"\x7f": ""}}, indent=1).encode()
    file = struct.pack("<Q", len(header)) + header + bytes(8) + data
    line("by_hand", "f32", [3], data, file)


main()
