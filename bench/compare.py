#!/usr/bin/env python3
"""JAX on the programs of `heddle bench`: the same HLO and inputs, in the columns of `heddle bench`.

  V/bin/pip install "jax[cpu]==0.10.2"
  V/bin/python bench/compare.py ../shared/peers/programs/* [--json lines.json]

With XLA_FLAGS=--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=1000000000 JAX has XLA's loop flag.
With --platform cuda JAX runs on a GPU, for comparison with `heddle bench .. --backends pjrt:xla-cuda13`.
Without JAX it says so and ends. It compares results with the sums in meta.json.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

try:
    import jax
    import numpy as np
    from jax._src.lib import _jax, xla_client
except ImportError as missing:
    sys.exit(f"compare.py: JAX is not installed ({missing}); nothing is compared")

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARES = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2}  # as docs/bench.md


def generated(generator, shape, dtype):
    if generator["gen"] == "const":
        return np.full(shape, generator["value"], dtype)
    z = np.arange(int(np.prod(shape)), dtype=np.uint64) + np.uint64(generator["seed"] << 40)
    with np.errstate(over="ignore"):
        z *= np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    low, high = generator["lo"], generator["hi"]
    values = low + (high - low) * ((z >> np.uint64(11)) * 2.0**-53)
    return (np.floor(values) if generator.get("floor") else values).astype(dtype).reshape(shape)


def inputs_of(folder, meta):
    for one in meta["inputs"]:
        if "generator" in one:
            yield generated(one["generator"], one["shape"], jax.numpy.dtype(one["dtype"]))
        else:
            yield np.load(folder / one["file"])


def agrees(results, meta):
    """Nothing where the folder has no sums, as those that bench/lowered/jax_programs.py writes."""
    if "outputs" not in meta:
        return None
    for result, want in zip(results, meta["outputs"]):
        share = SHARES.get(want["dtype"], 5e-2)
        total = float(np.sum(np.asarray(result).astype(np.float64)))
        if abs(total - want["sum"]) > share * want["abs_sum"]:
            return False
    return True


def compiled(folder, tool):
    proto = subprocess.run([tool, "opt", folder / "module.hlo.txt", "--to", "proto"], capture_output=True, check=True).stdout
    device = jax.devices()[0]
    program = xla_client._xla.mlir.hlo_to_stablehlo(proto)
    start = time.perf_counter()
    executable = device.client.compile_and_load(program, _jax.DeviceList((device,)), xla_client.CompileOptions())
    return executable, (time.perf_counter() - start) * 1e3


def measure(folder, arguments):
    meta = json.loads((folder / "meta.json").read_text())
    executable, compile_ms = compiled(folder, arguments.tool)
    values = list(inputs_of(folder, meta))
    donated = set(meta.get("donated_parameters", []))
    buffers = [jax.device_put(value) for value in values]

    def call():
        for number in donated:
            buffers[number] = jax.device_put(values[number]).block_until_ready()
        start = time.perf_counter()
        results = jax.block_until_ready(executable.execute(buffers))
        return time.perf_counter() - start, results

    first, results = call()
    same = agrees(results, meta)
    del results
    times = []
    while len(times) < arguments.rounds or sum(times) < arguments.seconds:
        times.append(call()[0])
        if sum(times) > 10 * arguments.seconds:
            break
    unit = 1e9 / meta["steps"]
    return {"program": meta["name"], "backend": "jax", "unit_ns_min": min(times) * unit,
            "unit_ns_median": statistics.median(times) * unit, "compile_ms": compile_ms, "peak_bytes": None,
            "agrees": same}, min(times) * 1e3, statistics.median(times) * 1e3, meta["unit"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="+", type=pathlib.Path, help="folders with module.hlo.txt and meta.json")
    parser.add_argument("--tool", default=ROOT / "build/release/bin/heddle")
    parser.add_argument("--platform", default="cpu", help="JAX's: cpu, cuda")
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=argparse.FileType("w"), help="write a line a program to this file")
    arguments = parser.parse_args()
    jax.config.update("jax_platforms", arguments.platform)
    jax.config.update("jax_enable_x64", True)
    jax.numpy.linalg.inv(jax.numpy.eye(2)).block_until_ready()  # JAX looks LAPACK's functions up at its first call of one
    print(f"{'program':24}  backend {'ms min':>10} {'ms median':>10} {'ns a unit':>20} {'compile ms':>11}  agrees")
    for folder in arguments.program:
        try:
            line, least, median, unit = measure(folder, arguments)
        except Exception as error:  # a program that JAX refuses is told, and the others go on
            print(f"{folder.name:24}  jax     {'-':>10} {'-':>10} {'-':>20} {'-':>11}  no: {str(error).splitlines()[0]}")
            continue
        unit_ns = f"{line['unit_ns_min']:.4g}/{unit}"
        print(f"{line['program']:24}  jax     {least:10.4g} {median:10.4g} {unit_ns:>20} {line['compile_ms']:11.4g}  "
              f"{ {True: 'yes', False: 'no', None: 'not asked'}[line['agrees']]}", flush=True)
        if arguments.json:
            arguments.json.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
