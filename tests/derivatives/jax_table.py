#!/usr/bin/env python3
"""Writes jax_table.txt: gradients, tangents, Jacobians and batched values in f64, by JAX on a CPU.

  python3 -m venv V && V/bin/pip install "jax[cpu]==0.10.2"
  V/bin/python tests/derivatives/jax_table.py > tests/derivatives/jax_table.txt

A line is a case: name; inputs; values. Arrays are `type[sizes] number ..` with 17 digits, split by
`|`; a complex number is two. The cases are in jax_cases_*.py beside this file; those of one name in
*_cases.cc compute the same with Heddle. Tensors that are not differentiated stand in both.
"""
import pathlib
import sys
import warnings

import jax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")
warnings.filterwarnings("ignore")

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import jax_cases_elements
import jax_cases_arrays
import jax_cases_loops
import jax_cases_models
import jax_cases_transforms
import numpy as np

TYPES = {"float64": "f64", "complex128": "c128", "int32": "s32", "int64": "s64", "bool": "pred"}


def text_of(x):
    x = np.asarray(x)
    if x.dtype == np.float32:
        raise TypeError("the table is of f64")
    flat = x.ravel().view(np.float64) if x.dtype == np.complex128 else x.ravel()
    sizes = ",".join(str(n) for n in x.shape)
    numbers = ["%.17g" % v for v in flat]
    return " ".join([f"{TYPES[x.dtype.name]}[{sizes}]"] + numbers)


def main():
    cases = {}
    for module in [
        jax_cases_elements,
        jax_cases_arrays,
        jax_cases_loops,
        jax_cases_models,
        jax_cases_transforms,
    ]:
        for name, case in module.CASES.items():
            assert name not in cases, name
            cases[name] = case
    failures = []
    for name, (fn, inputs) in cases.items():
        if sys.argv[1:] and name not in sys.argv[1:]:  # of some alone, to look at them
            continue
        try:
            values = jax.tree.leaves(fn(*inputs))
        except Exception as error:
            failures.append(f"{name}: {error!r}"[:500])
            continue
        print(";".join([name, "|".join(map(text_of, inputs)), "|".join(map(text_of, values))]))
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
