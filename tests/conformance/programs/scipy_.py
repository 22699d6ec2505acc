"""jax.scipy beyond linalg: special functions, statistics, optimisation, signals, interpolation, integration, clustering, n-d images; odes; sparse arrays."""
import numpy as np
import jax
import jax.numpy as jnp
import jax.experimental.jet, jax.scipy.cluster.vq, jax.scipy.fft, jax.scipy.integrate, jax.scipy.interpolate, jax.scipy.ndimage, jax.scipy.optimize, jax.scipy.signal
import jax.scipy.spatial.transform, jax.scipy.stats
from jax import lax
from programs._values import *

sp, st = jax.scipy.special, jax.scipy.stats
ONE = ['bernoulli', 'digamma', 'entr', 'erf', 'erfc', 'erfcx', 'erfinv', 'expi', 'exp1', 'expit', 'factorial', 'gamma', 'gammaln', 'gammasgn', 'i0', 'i0e', 'i1', 'i1e', 'log_ndtr', 'logit', 'ndtr', 'ndtri', 'spence', 'loggamma', 'sici', 'fresnel', 'log_softmax', 'softmax', 'logsumexp']
TWO = ['beta', 'betaln', 'comb', 'gammainc', 'gammaincc', 'kl_div', 'poch', 'rel_entr', 'xlog1py', 'xlogy', 'zeta', 'stdtr']
DISTRIBUTIONS = dict(bernoulli=(0.3,), beta=(1.5, 2.0), betabinom=(7, 1.5, 2.0), binom=(7, 0.3), cauchy=(0.2, 1.3), chi2=(3.0,), dirichlet=None, expon=(0.1, 2.0), gamma=(1.7,), gennorm=(1.3,), geom=(0.3,), gumbel_l=(0.1, 1.2), gumbel_r=(0.1, 1.2), laplace=(0.1, 1.2), logistic=(0.1, 1.2), multinomial=None, multivariate_normal=None, nbinom=(4, 0.4), norm=(0.1, 1.2), pareto=(2.0,), poisson=(2.5,), t=(3.0,), truncnorm=(-1.0, 2.0), uniform=(-1.0, 3.0), vonmises=(1.2,), wrapcauchy=(0.4,))


def programs():
    yield from chain(special(), statistics(), others(), odes(), sparse())


def special():
    for name in ['float32', 'float64', 'bfloat16']:
        for op in ONE:
            if not hasattr(sp, op):
                continue
            f = getattr(sp, op)
            for low, high in [(0.05, 0.95), (-3, 3), (2, 30), (-40, -2)]:
                x = values(rng_of(op, name, low), (17,), name, low, high)
                if op == 'bernoulli':
                    f, x = (lambda v: sp.bernoulli(6)), x
                yield f'{op}_{name}_{low}', jitted(f, x)
            yield f'{op}_{name}_edges', jitted(f, values(rng_of(op, name), (30,), name, special=True))
            if name != 'bfloat16' and op not in ('bernoulli', 'gammasgn', 'factorial'):
                yield f'{op}_{name}_gradient', jitted(jax.grad(lambda v, f=f: sum(jnp.sum(u) for u in jax.tree.leaves(f(v)))), values(rng_of(op), (5,), name, 0.1, 0.9))
        for op in TWO:
            if not hasattr(sp, op):
                continue
            f = getattr(sp, op)
            for low, high in [(0.1, 0.9), (0.5, 20), (-4, 4)]:
                x, y = (values(rng_of(op, name, k), (11,), name, low, high) for k in (1, 2))
                yield f'{op}_{name}_{low}', jitted(f, x + (1 if op == 'zeta' else 0), y)
            if op not in ('comb', 'poch', 'zeta', 'gammainc', 'gammaincc', 'stdtr'):
                yield f'{op}_{name}_gradient', jitted(jax.grad(lambda a, b, f=f: jnp.sum(f(a, b)), (0, 1)), *[values(rng_of(op, k), (5,), name, 0.2, 2) for k in (1, 2)])
        x, n = values(rng_of('pg', name), (6,), name, 0.5, 8), np.array([0, 1, 2, 3, 1, 2])
        many = dict(polygamma=lambda: sp.polygamma(n, x), multigammaln=lambda: sp.multigammaln(x + 3, 2), betainc=lambda: sp.betainc(x, x[::-1], jnp.asarray(x) / 10), hyp1f1=lambda: sp.hyp1f1(x, x + 1, x / 3), hyp2f1=lambda: sp.hyp2f1(x, 0.5, x + 1, x / 20), expn=lambda: sp.expn(2, x), bessel_jn=lambda: sp.bessel_jn(x, v=3), sph_harm=lambda: sp.sph_harm_y(jnp.array([2]), jnp.array([1]), x, x, n_max=3) if hasattr(sp, 'sph_harm_y') else 0,
                    logsumexp=lambda: sp.logsumexp(x, b=x - 2, return_sign=True), log_softmax=lambda: sp.log_softmax(x), lpmn=lambda: sp.lpmn_values(2, 2, x / 10, True) if hasattr(sp, 'lpmn_values') else 0, xlogy0=lambda: sp.xlogy(jnp.zeros_like(x), x - x), igamma_grad=lambda: jax.vmap(jax.grad(lax.igamma, (0, 1)))(jnp.asarray(x), jnp.asarray(x[::-1])), random_gamma_grad=lambda: lax.random_gamma_grad(jnp.asarray(x), jnp.asarray(x[::-1])))
        for op, f in many.items():
            yield f'{op}_{name}', eager(f)
            yield f'{op}_{name}_jit', jitted(f)


def statistics():
    for name in ['float32', 'float64']:
        x = values(rng_of('stats', name), (9,), name, -2, 5)
        for dist, arguments in DISTRIBUTIONS.items():
            if arguments is None:
                continue
            module = getattr(st, dist)
            for op in ['pdf', 'logpdf', 'pmf', 'logpmf', 'cdf', 'logcdf', 'sf', 'logsf', 'ppf', 'isf', 'entropy']:
                if hasattr(module, op):
                    v = np.clip(np.abs(x) / 5, 0.01, 0.99) if op in ('ppf', 'isf') or dist == 'beta' else np.round(x) if op.endswith('pmf') else x
                    f = lambda v, m=module, op=op, a=arguments: getattr(m, op)(*a) if op == 'entropy' else getattr(m, op)(v, *a)
                    yield f'{dist}_{op}_{name}', jitted(f, v.astype(name))
                    if op in ('logpdf', 'pdf', 'cdf', 'logcdf'):
                        yield f'{dist}_{op}_{name}_gradient', jitted(jax.grad(lambda v, f=f: jnp.sum(f(v))), v.astype(name))
        cov = np.array([[1, 0.3], [0.3, 2]], name)
        many = dict(mvn=lambda: st.multivariate_normal.logpdf(x[:2], jnp.zeros(2, name), cov), dirichlet=lambda: st.dirichlet.logpdf(jnp.array([0.2, 0.3, 0.5], name), jnp.array([1, 2, 0.5], name)), multinomial=lambda: st.multinomial.logpmf(jnp.array([1, 2, 3]), 6, jnp.array([0.2, 0.3, 0.5], name)), mode=lambda: st.mode(np.round(x)), rankdata=lambda: [st.rankdata(np.round(x), method=m) for m in ('average', 'min', 'max', 'dense', 'ordinal')], sem=lambda: st.sem(x), kde=lambda: st.gaussian_kde(x)(x[:3]), kde_int=lambda: st.gaussian_kde(x).integrate_box_1d(-1, 1), zscore=lambda: (x - jnp.mean(x)) / jnp.std(x))
        for op, f in many.items():
            yield f'{op}_{name}', eager(f)
            yield f'{op}_{name}_jit', jitted(f)


def others():
    signal, nd = jax.scipy.signal, jax.scipy.ndimage
    for name in ['float32', 'float64', 'complex64']:
        x, k, m = values(rng_of('sig', name), (40,), name), values(rng_of('sk', name), (5,), name), values(rng_of('sm', name), (6, 7), name)
        many = dict(detrend=lambda: signal.detrend(x), detrend_constant=lambda: signal.detrend(x, type='constant'), welch=lambda: signal.welch(x, nperseg=16), csd=lambda: signal.csd(x, x[::-1], nperseg=8), stft=lambda: signal.stft(x, nperseg=8), istft=lambda: signal.istft(signal.stft(x, nperseg=8)[2], nperseg=8), fftconvolve=lambda: signal.fftconvolve(x, k), periodogram=lambda: signal.welch(x, nperseg=40))
        for mode in ('full', 'same', 'valid'):
            many |= {f'convolve_{mode}': lambda mode=mode: signal.convolve(x, k, mode), f'correlate_{mode}': lambda mode=mode: signal.correlate(x, k, mode), f'convolve2d_{mode}': lambda mode=mode: signal.convolve2d(m, m[:2, :3], mode), f'correlate2d_{mode}': lambda mode=mode: signal.correlate2d(m, m[:2, :3], mode), f'convolve_fft_{mode}': lambda mode=mode: signal.convolve(x, k, mode, method='fft')}
        for op, f in many.items():
            yield f'signal_{op}_{name}', jitted(f)
    for name in ['float32', 'float64']:
        x = values(rng_of('oth', name), (4, 5), name)
        grid = [np.linspace(0, 1, 4).astype(name), np.linspace(0, 2, 5).astype(name)]
        at = values(rng_of('at', name), (6, 2), name, 0.1, 0.9)
        for method in ('linear', 'nearest'):
            yield f'grid_{method}_{name}', jitted(lambda v, a, me=method: jax.scipy.interpolate.RegularGridInterpolator(grid, v, me, bounds_error=False, fill_value=0)(a), x, at)
        yield f'trapezoid_{name}', jitted(lambda v: jax.scipy.integrate.trapezoid(v, axis=1, dx=0.3), x)
        yield f'vq_{name}', jitted(lambda v: jax.scipy.cluster.vq.vq(v, v[:2]), x)
        for method in ('fft',):
            yield f'spatial_{name}', jitted(lambda q, v: jax.scipy.spatial.transform.Rotation.from_quat(q).apply(v), x[:, :4], x[:, :3])
            yield f'rotation_{name}', jitted(lambda q: (lambda r: (r.as_matrix(), r.as_euler('xyz'), r.as_rotvec(), (r * r).as_quat(), r.inv().magnitude()))(jax.scipy.spatial.transform.Rotation.from_quat(q)), x[:, :4])
        rosenbrock = lambda v: jnp.sum(100 * (v[1:] - v[:-1] ** 2) ** 2 + (1 - v[:-1]) ** 2)
        yield f'bfgs_{name}', jitted(lambda v: jax.scipy.optimize.minimize(rosenbrock, v, method='BFGS', options=dict(maxiter=3)).x, x[0, :2] * 0.2)
        yield f'bfgs_quadratic_{name}', jitted(lambda v: jax.scipy.optimize.minimize(lambda u: jnp.sum((u - 1) ** 2), v, method='BFGS').x, x[0, :3])
        yield f'lbfgs_{name}', jitted(lambda v: jax.scipy.optimize.minimize(lambda u: jnp.sum((u - 1) ** 2 * jnp.arange(1, 4)), v, method='l-bfgs-experimental-do-not-rely-on-this', options=dict(maxiter=3)).x, x[0, :3])
        yield f'gradient_descent_{name}', jitted(lambda v: lax.while_loop(lambda s: (jnp.linalg.norm(jax.grad(rosenbrock)(s[0])) > 1) & (s[1] < 30), lambda s: (s[0] - 1e-3 * jax.grad(rosenbrock)(s[0]), s[1] + 1), (v, 0)), x[0, :3] * 0.1)
        yield f'jet_{name}', jitted(lambda v: jax.experimental.jet.jet(lambda u: jnp.sin(u) * jnp.exp(u), (v,), ((jnp.ones_like(v), jnp.zeros_like(v)),)), x[0])


def odes():
    from jax.experimental.ode import odeint
    import jax.experimental.jet
    t = np.linspace(0, 1, 5).astype('float32')
    many = dict(decay=(lambda y, t: -y, np.float32(1)), oscillator=(lambda y, t: jnp.stack([y[1], -y[0]]), np.array([1, 0], 'float32')), forced=(lambda y, t: jnp.sin(t) * y, np.ones(3, 'float32')), lorenz=(lambda y, t: jnp.array([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]), np.ones(3, 'float32')), tree=(lambda y, t: (y[1], -y[0] * t), (np.float32(1), np.float32(0.5))))
    for name, (f, y) in many.items():
        yield f'ode_{name}', jitted(lambda y, f=f: odeint(f, y, t, rtol=1e-3), y)
        yield f'ode_{name}_gradient', jitted(jax.grad(lambda y, f=f: sum(jnp.sum(v[-1]) for v in jax.tree.leaves(odeint(f, y, t[:3], rtol=1e-3)))), y)
        yield f'ode_{name}_double', jitted(lambda y, f=f: odeint(f, y, t.astype('float64'), rtol=1e-6), jax.tree.map(lambda v: v.astype('float64'), y))
        rk4 = lambda y, h, f=f: lax.scan(lambda y, s: (lambda a: (lambda b: (lambda c: (lambda d: (jax.tree.map(lambda y, a, b, c, d: y + h / 6 * (a + 2 * b + 2 * c + d), y, a, b, c, d), y))(f(jax.tree.map(lambda y, c: y + h * c, y, c), s + h)))(f(jax.tree.map(lambda y, b: y + h / 2 * b, y, b), s + h / 2)))(f(jax.tree.map(lambda y, a: y + h / 2 * a, y, a), s + h / 2)))(f(y, s)), y, jnp.arange(6) * h)
        yield f'rk4_{name}', jitted(rk4, y, np.float32(0.05))
        yield f'rk4_{name}_gradient', jitted(jax.grad(lambda y, h, f=rk4: sum(jnp.sum(v) for v in jax.tree.leaves(f(y, h)[0]))), y, np.float32(0.05))
        yield f'rk4_{name}_vmap', jitted(jax.vmap(rk4, (None, 0)), y, np.array([0.05, 0.1], 'float32'))


def sparse():
    from jax.experimental import sparse as js
    for name in ['float32', 'float64', 'complex64', 'int32', 'bfloat16']:
        dense = values(rng_of('sparse', name), (5, 6), name) * (rng_of('sp').random((5, 6)) < 0.4).astype(dtype_of(name))
        v, w = values(rng_of('sv', name), (6,), name), values(rng_of('sw', name), (6, 3), name)
        for n_batch, n_dense in [(0, 0), (1, 0), (0, 1)]:
            m = js.BCOO.fromdense(dense, n_batch=n_batch, n_dense=n_dense, nse=30 if not n_batch + n_dense else None)
            many = dict(todense=lambda m: m.todense(), transpose=lambda m: m.T.todense() if not n_batch + n_dense else 0, sum=lambda m: m.sum(0).todense(), sort=lambda m: m.sort_indices().indices, dups=lambda m: m.sum_duplicates(nse=30).data, mul=lambda m: (m * 2).todense(), neg=lambda m: (-m).todense(), slice=lambda m: m[1:4].todense() if not n_batch else 0, add=lambda m: (m + m).todense() if not n_batch + n_dense else 0, reshape=lambda m: m.reshape(30).todense() if not n_batch + n_dense else 0)
            for op, f in many.items():
                yield f'bcoo_{op}_{name}_{n_batch}{n_dense}', jitted(f, m)
                yield f'bcoo_{op}_{name}_{n_batch}{n_dense}_eager', eager(f, m)
            if not n_dense:
                yield f'bcoo_matvec_{name}_{n_batch}', jitted(lambda m, v: m @ v, m, v)
                yield f'bcoo_matmat_{name}_{n_batch}', jitted(lambda m, v: m @ v, m, w)
                yield f'bcoo_gradient_{name}_{n_batch}', jitted(lambda m, v: jax.vjp(lambda d: js.BCOO((d, m.indices), shape=m.shape) @ v, m.data)[1]((m @ v)), m, w) if name.startswith('float') else jitted(lambda v: v, w)
        m = js.BCOO.fromdense(dense)
        yield f'bcoo_spmm_{name}', jitted(lambda a, b: (a @ b.T).todense(), m, m)
        yield f'bcoo_eager_{name}', eager(lambda: js.BCOO.fromdense(jnp.asarray(dense)).todense())
        for kind in ('BCSR', 'CSR', 'CSC', 'COO'):
            a = getattr(js, kind).fromdense(jnp.asarray(dense))
            yield f'{kind}_dense_{name}', jitted(lambda a: a.todense(), a)
            yield f'{kind}_matvec_{name}', jitted(lambda a, v: a @ v, a, v)
            yield f'{kind}_matmat_{name}', jitted(lambda a, v: a @ v, a, w)
        yield f'sparsify_{name}', jitted(js.sparsify(lambda a, b: jnp.sum(a * 2 + a, 1) @ b[:5] if False else (a * 2) @ b), m, v)
