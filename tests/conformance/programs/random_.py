"""jax.random: each distribution by type, kind of key and shape; keys and bits."""
import numpy as np
import jax
import jax.numpy as jnp
from jax import random
from programs._values import *

PLAIN = ['normal', 'uniform', 'truncated_normal', 'exponential', 'gumbel', 'laplace', 'logistic', 'cauchy', 'maxwell', 'rademacher', 'double_sided_maxwell', 'weibull_min', 'rayleigh', 'ball',
         'orthogonal', 'gamma', 'loggamma', 'beta', 'dirichlet', 'pareto', 't', 'chisquare', 'f', 'generalized_normal', 'wald', 'triangular', 'lognormal', 'multivariate_normal', 'geometric', 'poisson', 'bernoulli', 'binomial']
ARGUMENTS = dict(truncated_normal=(-1.0, 2.0), double_sided_maxwell=(0.5, 2.0), weibull_min=(1.5, 0.7), rayleigh=(1.3,), gamma=(1.7,), loggamma=(0.3,), beta=(1.2, 0.6), pareto=(2.0,), t=(3.0,), chisquare=(4.0,), f=(3.0, 5.0), generalized_normal=(1.4,), wald=(0.8,), triangular=(-1.0, 0.3, 2.0))


def draw(name, key, shape, dtype):
    f = getattr(random, name)
    if name == 'ball':
        return f(key, 3, 2, shape, dtype)
    if name == 'orthogonal':
        return f(key, 3, shape[:1], dtype)
    if name == 'dirichlet':
        return f(key, jnp.array([0.5, 1, 2], dtype), shape, dtype)
    if name == 'multivariate_normal':
        return f(key, jnp.zeros(2, dtype), jnp.array([[1, 0.3], [0.3, 2]], dtype), shape, dtype)
    if name in ('geometric',):
        return f(key, 0.3, shape, np.int32)
    if name == 'poisson':
        return f(key, jnp.array([0.5, 3, 30], dtype)[:1] if shape == (1,) else 7.5, shape, np.int32)
    if name == 'bernoulli':
        return f(key, 0.3, shape)
    if name == 'binomial':
        return f(key, 10, 0.4, shape, dtype)
    return f(key, *ARGUMENTS.get(name, ()), shape=shape, dtype=dtype)


def programs():
    for impl in ['threefry2x32', 'rbg', 'unsafe_rbg']:
        key = random.key(7, impl=impl)
        for name in PLAIN:
            for dtype in ['float32', 'float64', 'bfloat16', 'float16']:
                for shape in [(5,), (), (2, 3), (0,)]:
                    if impl != 'threefry2x32' and (dtype != 'float32' or shape == (2, 3)):
                        continue
                    yield f'{name}_{impl}_{dtype}_{shape_name(shape)}', jitted(lambda k, n=name, s=shape, d=dtype_of(dtype): draw(n, k, s, d), key)
            yield f'{name}_{impl}_vmap', jitted(lambda k, n=name: jax.vmap(lambda q: draw(n, q, (2,), np.float32))(random.split(k, 3)), key)
            yield f'{name}_{impl}_loop', jitted(lambda k, n=name: jax.lax.scan(lambda q, _: (lambda a, b: (a, draw(n, b, (2,), np.float32)))(*random.split(q)), k, None, 3)[1], key)
            yield f'{name}_{impl}_eager', eager(lambda n=name: draw(n, key, (3,), np.float32))
        many = dict(split=lambda k: random.split(k, (2, 3)), fold=lambda k: random.fold_in(k, 12345), clone=lambda k: random.clone(k), data=lambda k: random.key_data(k),
                    permutation=lambda k: random.permutation(k, 9), permutation_array=lambda k: random.permutation(k, jnp.arange(12).reshape(4, 3), 1, independent=True), choice=lambda k: random.choice(k, 7, (4,), replace=False),
                    choice_p=lambda k: random.choice(k, jnp.arange(5.0), (6,), p=jnp.array([0.1, 0.2, 0.3, 0.4, 0.0])), choice_p_without=lambda k: random.choice(k, 5, (3,), False, jnp.array([0.1, 0.2, 0.3, 0.2, 0.2])), categorical=lambda k: random.categorical(k, jnp.log(jnp.array([[0.2, 0.8, 0.1], [0.5, 0.3, 0.9]]))),
                    categorical_shape=lambda k: random.categorical(k, jnp.zeros((4,)), shape=(3, 2)), categorical_without=lambda k: random.categorical(k, jnp.arange(5.0), shape=(3,), replace=False), multinomial=lambda k: random.multinomial(k, 20, jnp.array([0.2, 0.5, 0.3])), shuffle=lambda k: random.permutation(k, jnp.arange(1000)),
                    poisson_small=lambda k: random.poisson(k, jnp.array([0.1, 2.0, 9.9, 10.1, 500.0])), binomial_many=lambda k: random.binomial(k, jnp.array([1.0, 20, 100]), jnp.array([0.5, 0.01, 0.9])), gamma_small=lambda k: random.gamma(k, jnp.array([0.01, 0.3, 1.0, 20])), complex_normal=lambda k: random.normal(k, (3,), np.complex64), complex_wide=lambda k: random.normal(k, (3,), np.complex128))
        for name, f in many.items():
            yield f'{name}_{impl}', jitted(f, key)
        for dtype in INTS + UINTS + ['int4', 'uint4']:
            for shape in [(4,), (3, 5), (0,), ()]:
                if not dtype.endswith('nt4'):
                    if dtype.startswith('u'):
                        yield f'bits_{impl}_{dtype}_{shape_name(shape)}', jitted(lambda k, s=shape, d=dtype: random.bits(k, s, d), key)
                    yield f'randint_{impl}_{dtype}_{shape_name(shape)}', jitted(lambda k, s=shape, d=dtype: random.randint(k, s, 3, 100, d), key)
            if not dtype.endswith('nt4'):
                info = np.iinfo(dtype)
                yield f'randint_full_{impl}_{dtype}', jitted(lambda k, d=dtype, info=info: random.randint(k, (5,), info.min, info.max, d), key)
                yield f'randint_traced_{impl}_{dtype}', jitted(lambda k, a, b, d=dtype: random.randint(k, (5,), a, b, d), key, np.array(5, dtype), np.array([1, 6, 7, 90, 100], dtype))
    for n in [1, 2, 3, 7, 1000]:
        for dtype in ['uint8', 'uint16', 'uint32', 'uint64', 'int32', 'float32', 'bfloat16'][:4]:
            for algorithm in ['RNG_DEFAULT', 'RNG_THREE_FRY', 'RNG_PHILOX']:
                key = np.array([1, 2, 3, 4], 'uint32')
                yield f'rng_bit_generator_{n}_{dtype}_{algorithm}', jitted(lambda k, n=n, d=dtype, a=algorithm: jax.lax.rng_bit_generator(k, (n,), d, getattr(jax.lax.RandomAlgorithm, a)), key)
    with jax.threefry_partitionable(False):
        for name in ['normal', 'uniform', 'gamma', 'poisson', 'beta', 'gumbel']:
            for shape in [(5,), (2, 3), ()]:
                yield f'{name}_old_{shape_name(shape)}', jitted(lambda k, n=name, s=shape: draw(n, k, s, np.float32), random.key(3))
        for dtype in UINTS:
            for n in (1, 3, 8):
                yield f'bits_old_{dtype}_{n}', jitted(lambda k, n=n, d=dtype: (random.bits(k, (n,), d), random.split(k, n)), random.key(3))
    for name in ['gamma', 'beta', 'dirichlet', 't', 'loggamma']:
        yield f'{name}_gradient', jitted(lambda k, a, n=name: jax.grad(lambda v: jnp.sum(random.gamma(k, v, (4,)) if n == 'gamma' else random.loggamma(k, v, (4,)) if n == 'loggamma' else random.t(k, v, (4,)) if n == 't' else random.beta(k, v, v + 1, (4,)) if n == 'beta' else random.dirichlet(k, jnp.stack([v, v]), ())))(a), random.key(1), np.float32(1.3))
    for kind in ['glorot_uniform', 'he_normal', 'lecun_normal', 'orthogonal', 'delta_orthogonal', 'truncated_normal', 'variance_scaling']:
        make = getattr(jax.nn.initializers, kind)
        build = make(1.0, 'fan_avg', 'uniform') if kind == 'variance_scaling' else make()
        shape = (3, 3, 2, 4) if kind == 'delta_orthogonal' else (4, 3)
        yield f'initializer_{kind}', jitted(lambda k, b=build, s=shape: b(k, s, np.float32), random.key(2))
