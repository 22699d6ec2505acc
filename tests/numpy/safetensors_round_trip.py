"""What safetensors_test.cc asks of the safetensors package.

  safetensors_round_trip.py write FOLDER numpy|torch    writes theirs.safetensors there
  safetensors_round_trip.py check FOLDER numpy|torch    checks ours.safetensors, which Heddle wrote
"""
import importlib
import sys

import numpy as np
from safetensors import safe_open

W = np.arange(6, dtype=np.float32).reshape(2, 3) / 4
B = np.array([True, False])


def array_of(values, library):
    if library == "numpy":
        return values
    import torch
    return torch.from_numpy(values)


def write(folder, library, package):
    arrays = {"w": W, "layers.0.b": B, "one": np.array(-3, np.int8), "none": np.zeros((0, 3))}
    arrays = {name: array_of(values, library) for name, values in arrays.items()}
    if library == "torch":
        import torch
        arrays["half"] = torch.tensor([1, -2.5], dtype=torch.bfloat16)
        arrays["eighth"] = torch.tensor([1, -2.5]).to(torch.float8_e4m3fn)
    package.save_file(arrays, f"{folder}/theirs.safetensors", {"format": "np"})


def check(folder, library, package):
    path = f"{folder}/ours.safetensors"
    arrays = package.load_file(path)
    want = {"w": W, "layers.0.b": B, "naïve": np.array(1 + 2j, np.complex64),
            "none": np.zeros((0, 3)), "large": np.arange(100_000, dtype=np.int32)}
    halves = {"half", "eighth"} if library == "torch" else set()
    assert set(arrays) == set(want) | halves, arrays.keys()
    for name, values in want.items():
        found = np.asarray(arrays[name])
        assert found.dtype == values.dtype and found.shape == values.shape, (name, found)
        assert (found == values).all(), name
    for name in halves:
        assert arrays[name].float().tolist() == [1, -2.5], arrays[name]
        assert str(arrays[name].dtype) in ("torch.bfloat16", "torch.float8_e5m2")
    with safe_open(path, {"numpy": "np", "torch": "pt"}[library]) as file:
        assert file.metadata() == {"by": "é\""}, file.metadata()


verb, folder, library = sys.argv[1:]
{"write": write, "check": check}[verb](folder, library,
                                       importlib.import_module(f"safetensors.{library}"))
