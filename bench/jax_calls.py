#!/usr/bin/env python3
"""The measurements of bench/pjrt.cc with JAX in place of Heddle: a run of a tiny program with its wait, and an upload of 16 MB.

  V/bin/pip install "jax[cpu]==0.10.2"
  V/bin/python bench/jax_calls.py [PLUGIN.so | PLATFORM]

It runs on jaxlib's own CPU backend, on a PJRT plugin, or on a platform of JAX's, as cuda. Prints microseconds, the least and the median of 5 repeats.
"""
import statistics
import sys
import time

import jax
import numpy as np

if len(sys.argv) > 1 and not sys.argv[1].endswith(".so"):
    jax.config.update("jax_platforms", sys.argv[1])
elif len(sys.argv) > 1:
    from jax._src import xla_bridge
    xla_bridge.register_plugin("plugin", library_path=sys.argv[1], options={})
    jax.config.update("jax_platforms", "plugin")
else:
    jax.config.update("jax_platforms", "cpu")


def measure(name, call, count):
    for _ in range(count // 10 + 1):
        call()
    repeats = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(count):
            call()
        repeats.append((time.perf_counter() - start) / count * 1e6)
    print(f"{name:40} {min(repeats):10.2f} {statistics.median(repeats):10.2f}")


def main():
    print(f"{jax.devices()[0].platform}: microseconds {'least':>15} {'median':>10}")
    increment = jax.jit(lambda x: x + 1)
    x = jax.device_put(np.zeros((), np.float32))
    measure("run of f32[] + 1 and its wait", lambda: increment(x).block_until_ready(), 20000)
    memory = np.zeros((16 << 20) // 4 + 16, np.float32)
    start = (-memory.ctypes.data % 64) // 4
    aligned = memory[start:start + (16 << 20) // 4]
    measure("upload of 16 MB, aligned", lambda: jax.device_put(aligned).block_until_ready(), 200)


if __name__ == "__main__":
    main()
