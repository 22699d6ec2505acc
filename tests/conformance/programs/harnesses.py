"""JAX's own table of primitives by shapes, types and options, which StableHLO's test data were made from."""
import sys
import numpy as np
import jax

ONE_MODULE_EACH = True  # so that a known one need not be compiled


def programs():
    argv, sys.argv = sys.argv, sys.argv[:1]
    from jax._src.internal_test_util import test_harnesses
    sys.argv = argv
    for harness in test_harnesses.all_harnesses:
        if harness.filter('cpu'):
            yield harness.fullname[:90], lambda harness=harness: run(harness)


def run(harness):
    arguments = harness.dyn_args_maker(np.random.RandomState(0))
    jax.block_until_ready(jax.jit(harness.dyn_fun)(*arguments))
