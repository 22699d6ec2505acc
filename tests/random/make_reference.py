#!/usr/bin/env python3
"""Writes reference.txt: what jax.random gives, bit for bit.

  python3 -m venv V && V/bin/pip install "jax[cpu]==0.10.2"
  V/bin/python tests/random/make_reference.py > tests/random/reference.txt
  V/bin/python tests/random/make_reference.py build/plugins/xla_cpu_pjrt.so > tests/random/reference_xla.txt

A line is: function; dtype; shape; partitionable (0 or 1); seed; the elements' bits in hexadecimal. The functions, with
their arguments, are those of `CASES` here and of reference_test.cc. 64-bit dtypes are drawn in JAX's 64-bit mode, all
others in its 32-bit mode.

With a PJRT plugin JAX draws on it, each sample as one program: what our programs are compared with on the same
compiler. It writes the functions of floats alone, for one seed and their last shape, and skips what a bare plugin has
no LAPACK for. What f16 rounds to there depends on the processor: reference_xla.txt is of one with AVX512-FP16, and
the rows that one without it draws otherwise are in reference_xla_without_fp16.txt.
"""
import os
import sys

PLUGIN = sys.argv[1] if len(sys.argv) > 1 else None
os.environ["JAX_PLATFORMS"] = "cpu" if PLUGIN is None else "plugin"

import jax
import jax.numpy as jnp
import numpy as np

random = jax.random
FLOATS = ["f32", "f64", "f16", "bf16"]
HALVES = ["f32", "f16", "bf16"]
SIGNED = ["s8", "s16", "s32", "s64"]
UNSIGNED = ["u8", "u16", "u32", "u64"]
NUMPY = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": jnp.bfloat16, "pred": np.bool_}
NUMPY |= {f"s{w}": np.dtype(f"int{w}") for w in (8, 16, 32, 64)}
NUMPY |= {f"u{w}": np.dtype(f"uint{w}") for w in (8, 16, 32, 64)}


def grid(values):
    """The values, repeated over the sample's shape in row-major order."""
    return lambda shape, dtype: jnp.asarray(np.resize(np.array(values, np.float64), shape), dtype)


ALPHAS = grid([0.3, 1.0, 2.5, 11.0, 0.05])
RATES = grid([0.5, 3.0, 9.5, 12.0, 40.0, 0.0, 700.0])
ODDS = grid([0.1, 0.5, 0.9, 0.25])
COUNTS = grid([5.0, 40.0, 3.0, 100.0])


def PARTS(dtype):
    """Probabilities of outcomes, in rows; one outcome cannot occur."""
    return jnp.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.0, 0.25, 0.25]], dtype)


def FALLING(n, dtype):
    """Weights 1, 1/2, 1/3, .. whose sums round: most of all in 16 bits."""
    return jnp.asarray((np.float32(1) / np.arange(1, n + 1, dtype=np.float32)).astype(dtype))


def COVARIANCE(dtype):
    return jnp.array([[2.0, 0.5, -0.25], [0.5, 1.0, 0.125], [-0.25, 0.125, 3.0]], dtype)


def parts(z):
    """Real and imaginary parts as a last axis."""
    return jnp.stack([z.real, z.imag], -1)


def chain(key, shape, dtype):
    """Three draws of a loop that carries its key."""
    out = []
    for _ in range(3):
        key, now = random.split(key)
        out.append(random.normal(now, shape, dtype))
    return jnp.stack(out)


# name: (function of key, shape and dtype; dtypes; shapes)
SHAPES = [(), (5,), (2, 3)]
WIDE = [(24,)]
CASES = {
    "key": (lambda k, s, d: random.key_data(k), ["u32"], [()]),
    "split": (lambda k, s, d: random.key_data(random.split(k, 3)), ["u32"], [()]),
    "fold_in": (lambda k, s, d: random.key_data(random.fold_in(k, 12345)), ["u32"], [()]),
    "bits": (lambda k, s, d: random.bits(k, s, d), UNSIGNED, SHAPES + [(0,), (33,)]),
    "uniform": (lambda k, s, d: random.uniform(k, s, d), FLOATS, SHAPES + WIDE),
    "uniform_range": (lambda k, s, d: random.uniform(k, s, d, -3.0, 5.5), FLOATS, WIDE),
    "randint": (lambda k, s, d: random.randint(k, s, 3, 100, d), SIGNED + UNSIGNED, SHAPES),
    "randint_all": (lambda k, s, d: random.randint(k, s, *np.array([jnp.iinfo(d).min, jnp.iinfo(d).max], d), d), SIGNED + UNSIGNED, [(7,)]),
    "randint_past": (lambda k, s, d: random.randint(k, s, 0, 256, d), ["u8", "s32"], [(9,)]),
    "permutation": (lambda k, s, d: random.permutation(k, 20), ["s32"], [()]),
    "permutation_rows": (lambda k, s, d: random.permutation(k, jnp.arange(12, dtype=np.int32).reshape(4, 3)), ["s32"], [()]),
    "permutation_each": (
        lambda k, s, d: random.permutation(k, jnp.arange(12, dtype=np.int32).reshape(4, 3), 1, independent=True), ["s32"], [()]),
    "choice": (lambda k, s, d: random.choice(k, 10, s).astype(np.int32), ["s32"], SHAPES),
    "choice_once": (lambda k, s, d: random.choice(k, 10, s, replace=False).astype(np.int32), ["s32"], [(6,)]),
    "choice_weighted": (
        lambda k, s, d: random.choice(k, 4, s, p=jnp.array([0.1, 0.2, 0.3, 0.4], np.float32)).astype(np.int32), ["s32"], WIDE),
    "choice_weighted_once": (
        lambda k, s, d: random.choice(k, 5, s, replace=False, p=jnp.array([0.1, 0.2, 0.3, 0.15, 0.25], np.float32)).astype(
            np.int32), ["s32"], [(4,)]),
    "bernoulli": (lambda k, s, d: random.bernoulli(k, np.float32(0.3), s), ["pred"], SHAPES + WIDE),
    "rademacher": (lambda k, s, d: random.rademacher(k, s, d), ["s32", "f32"], SHAPES),
    "categorical": (
        lambda k, s, d: random.categorical(k, jnp.log(jnp.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]], np.float32)), shape=(8, 2)).astype(
            np.int32), ["s32"], [()]),
    "geometric": (lambda k, s, d: random.geometric(k, np.float32(0.3), s, d), ["s32"], WIDE),
    "normal": (lambda k, s, d: random.normal(k, s, d), FLOATS, SHAPES + WIDE),
    "chain": (chain, ["f32"], [(4,)]),
    "truncated_normal": (lambda k, s, d: random.truncated_normal(k, -0.5, 2.0, s, d), FLOATS, WIDE),
    "lognormal": (lambda k, s, d: random.lognormal(k, np.array(0.5, d), s, d), FLOATS, [(7,)]),
    "exponential": (lambda k, s, d: random.exponential(k, s, d), FLOATS, WIDE),
    "gumbel": (lambda k, s, d: random.gumbel(k, s, d), FLOATS, WIDE),
    "laplace": (lambda k, s, d: random.laplace(k, s, d), FLOATS, WIDE),
    "logistic": (lambda k, s, d: random.logistic(k, s, d), FLOATS, WIDE),
    "cauchy": (lambda k, s, d: random.cauchy(k, s, d), FLOATS, WIDE),
    "maxwell": (lambda k, s, d: random.maxwell(k, s, d), FLOATS, [(7,)]),
    "pareto": (lambda k, s, d: random.pareto(k, np.array(3.0, d), s, d), FLOATS, [(7,)]),
    "rayleigh": (lambda k, s, d: random.rayleigh(k, np.array(2.0, d), s, d), FLOATS, [(7,)]),
    "weibull_min": (lambda k, s, d: random.weibull_min(k, 2.0, 1.5, s, d), FLOATS, [(7,)]),
    "triangular": (lambda k, s, d: random.triangular(k, *np.array([-1.0, 0.25, 2.0], d), s, d), FLOATS, [(7,)]),
    "wald": (lambda k, s, d: random.wald(k, np.array(1.5, d), s, d), FLOATS, [(7,)]),
    "gamma": (lambda k, s, d: random.gamma(k, ALPHAS(s, d), s, d), ["f32", "f64"], WIDE + [()]),
    "loggamma": (lambda k, s, d: random.loggamma(k, ALPHAS(s, d), s, d), ["f32", "f64"], WIDE),
    "beta": (lambda k, s, d: random.beta(k, ALPHAS(s, d), np.array(1.5, d), s, d), ["f32", "f64"], [(10,)]),
    "chisquare": (lambda k, s, d: random.chisquare(k, ALPHAS(s, d), s, d), ["f32", "f64"], [(10,)]),
    "f": (lambda k, s, d: random.f(k, np.array(4.0, d), np.array(6.5, d), s, d), ["f32", "f64"], [(10,)]),
    "t": (lambda k, s, d: random.t(k, np.array(4.0, d), s, d), ["f32", "f64"], [(10,)]),
    "dirichlet": (lambda k, s, d: random.dirichlet(k, jnp.array([0.5, 1.0, 3.0], d), s, d), ["f32", "f64"], [(4,)]),
    "generalized_normal": (lambda k, s, d: random.generalized_normal(k, 1.5, s, d), ["f32"], [(10,)]),
    "ball": (lambda k, s, d: random.ball(k, 3, 2.0, s, d), ["f32"], [(4,)]),
    "poisson": (lambda k, s, d: random.poisson(k, RATES(s, np.float32), s, d), ["s32"], [(35,)]),
    "binomial": (lambda k, s, d: random.binomial(k, COUNTS(s, d), ODDS(s, d), s, d), ["f32"], [(24,)]),
    "bernoulli_high": (lambda k, s, d: random.bernoulli(k, np.float32(0.3), s, mode="high"), ["pred"], SHAPES + WIDE),
    "bernoulli_rare": (lambda k, s, d: random.bernoulli(k, np.float32(1e-3), s, mode="high"), ["pred"], [(1500,)]),
    "gumbel_high": (lambda k, s, d: random.gumbel(k, s, d, mode="high"), FLOATS, WIDE),
    "gumbel_highest": (lambda k, s, d: random.gumbel(k, s, d, mode="highest"), ["f32", "f64"], SHAPES + WIDE),
    "categorical_high": (
        lambda k, s, d: random.categorical(k, jnp.log(jnp.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]], np.float32)), shape=(8, 2),
                                           mode="high").astype(np.int32), ["s32"], [()]),
    "categorical_once": (
        lambda k, s, d: random.categorical(k, jnp.log(jnp.array([[0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.3, 0.2]], np.float32)),
                                           shape=(3, 2), replace=False).astype(np.int32), ["s32"], [()]),
    "choice_weighted_once_high": (
        lambda k, s, d: random.choice(k, 5, s, replace=False, p=jnp.array([0.1, 0.2, 0.3, 0.15, 0.25], np.float32),
                                      mode="high").astype(np.int32), ["s32"], [(4,)]),
    "multinomial": (lambda k, s, d: random.multinomial(k, jnp.array([7.0, 120.0], d), PARTS(d)), ["f32"], [()]),
    "multinomial_wide": (
        lambda k, s, d: random.multinomial(k, jnp.array(30.0, d), PARTS(d)[0], shape=(6, 4)), ["f32"], [()]),
    "normal_complex": (lambda k, s, d: parts(random.normal(k, s, np.result_type(d, np.complex64))), ["f32", "f64"], SHAPES + WIDE),
    "double_sided_maxwell": (
        lambda k, s, d: random.double_sided_maxwell(k, np.array([0.5, -1.0], d), np.array(2.0, d), s, d), FLOATS, [(), (3,)]),
    "multivariate_normal": (
        lambda k, s, d: random.multivariate_normal(k, jnp.array([1.0, -2.0, 0.5], d), COVARIANCE(d), s, d), ["f32", "f64"],
        [(), (7,)]),
    "multivariate_normal_eigh": (
        lambda k, s, d: random.multivariate_normal(k, jnp.array([1.0, -2.0, 0.5], d), COVARIANCE(d), s, d, method="eigh"),
        ["f32", "f64"], [(7,)]),
    "multivariate_normal_svd": (
        lambda k, s, d: random.multivariate_normal(k, jnp.array([1.0, -2.0, 0.5], d), COVARIANCE(d), s, d, method="svd"),
        ["f32", "f64"], [(7,)]),
    "orthogonal": (lambda k, s, d: random.orthogonal(k, 4, s, d), ["f32", "f64"], [(), (3,)]),
    "orthogonal_wide": (lambda k, s, d: random.orthogonal(k, 2, s, d, m=5), ["f32", "f64"], [(2,)]),
    "orthogonal_complex": (
        lambda k, s, d: parts(random.orthogonal(k, 3, s, np.result_type(d, np.complex64))), ["f32", "f64"], [(2,)]),
    "rademacher_wide": (lambda k, s, d: random.rademacher(k, s, d), ["s64", "f64"], [(24,)]),
    "generalized_normal_wide": (lambda k, s, d: random.generalized_normal(k, 1.5, s, d), ["f64"], [(10,)]),
    "ball_wide": (lambda k, s, d: random.ball(k, 3, 2.0, s, d), ["f64"], [(4,)]),
    "choice_weighted_64": (lambda k, s, d: random.choice(k, 64, s, p=FALLING(64, d)).astype(np.int32), HALVES, WIDE),
    "choice_weighted_1000": (lambda k, s, d: random.choice(k, 1000, s, p=FALLING(1000, d)).astype(np.int32), HALVES, WIDE),
    "multinomial_40": (
        lambda k, s, d: random.multinomial(k, jnp.array(500.0, d), FALLING(40, d) / np.array(4.5, d)), ["f32"], [()]),
}


def bits_of(array):
    array = np.asarray(array)
    if array.dtype == np.bool_:
        array = array.astype(np.uint8)
    unsigned = array.view(f"uint{8 * array.dtype.itemsize}")
    width = 2 * array.dtype.itemsize
    return " ".join(f"{int(x):0{width}x}" for x in unsigned.reshape(-1))


def line(name, dtype, shape, partitionable, seed, wrap=lambda f: f):
    function = CASES[name][0]
    with jax.enable_x64(dtype in ("f64", "s64", "u64")), jax.threefry_partitionable(partitionable):
        result = wrap(lambda key: function(key, shape, NUMPY[dtype]))(random.key(seed))
        sizes = ",".join(map(str, shape))
        return f"{name};{dtype};{sizes};{int(partitionable)};{seed};{bits_of(result)}"


def on_jaxlib():
    for name, (_, dtypes, shapes) in CASES.items():
        for dtype in dtypes:
            for shape in shapes:
                for partitionable in (True, False):
                    for seed in (0, 1234567) if shape != (33,) else (7,):
                        print(line(name, dtype, shape, partitionable, seed))


# Drawn on the host by JAX, or by LAPACK.
NOT_ON_PLUGINS = {"key", "split", "fold_in", "multivariate_normal", "multivariate_normal_eigh", "multivariate_normal_svd"}


def on_plugin():
    from jax._src import xla_bridge
    xla_bridge.register_plugin("plugin", library_path=PLUGIN, options={})
    for name, (_, dtypes, shapes) in CASES.items():
        if name in NOT_ON_PLUGINS or name.startswith("orthogonal"):
            continue
        for dtype in (d for d in dtypes if d in FLOATS):
            print(line(name, dtype, shapes[-1], True, 1234567, jax.jit))


if __name__ == "__main__":
    on_plugin() if PLUGIN else on_jaxlib()
