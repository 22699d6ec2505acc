"""Programs as scientists and engineers write them: filters, optimal control, solvers of equations and odes, sampling, decoding, dynamic programs, state space models,
attention in blocks, and training steps of a real size; their derivatives and batched forms."""
import functools
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, nn, random
from programs._values import *


def arr(*key, shape, name='float32', scale=0.5):
    return values(rng_of('solvers', *key), shape, name, -scale, scale)


def spd(*key, n, name='float32'):
    x = arr(*key, shape=(n, n), name=name)
    return (x @ x.T + np.eye(n)).astype(name)


def total(tree):
    return sum(jnp.sum(jnp.square(x.astype('float64' if x.dtype == jnp.float64 else 'float32'))) for x in jax.tree.leaves(tree) if jnp.issubdtype(x.dtype, jnp.floating))


def programs():
    for name, (f, arguments, kinds) in {**filters(), **control(), **equations(), **decoding(), **models()}.items():
        yield f'{name}', jitted(f, *arguments)
        floats = tuple(i for i, a in enumerate(arguments) if all(np.asarray(v).dtype.kind == 'f' for v in jax.tree.leaves(a)))
        if 'g' in kinds:
            loss = lambda *a, f=f: total(f(*a))
            yield f'{name}_grad', jitted(jax.value_and_grad(loss, floats), *arguments)
            yield f'{name}_remat', jitted(jax.grad(jax.checkpoint(loss), floats), *arguments)
        if 'j' in kinds:
            fixed = lambda f, a: lambda *x: f(*[x[floats.index(i)] if i in floats else v for i, v in enumerate(a)])
            yield f'{name}_jvp', jitted(lambda *a, f=f, fixed=fixed, floats=floats: jax.jvp(fixed(f, a), tuple(a[i] for i in floats), tuple(a[i] for i in floats)), *arguments)
        if 'h' in kinds:
            yield f'{name}_hvp', jitted(lambda *a, f=f, k=floats[0]: jax.jvp(jax.grad(lambda x: total(f(*a[:k], x, *a[k + 1:]))), (a[k],), (a[k],))[1], *arguments)
        if 'v' in kinds:
            twice = [jax.tree.map(lambda x: np.stack([x, x * 0.9 if np.asarray(x).dtype.kind == 'f' else x]).astype(np.asarray(x).dtype), a) for a in arguments]
            yield f'{name}_vmap', jitted(jax.vmap(f), *twice)
            if 'g' in kinds:
                yield f'{name}_vmap_grad', jitted(jax.vmap(jax.grad(lambda *a, f=f: total(f(*a)), floats)), *twice)
        if 'd' in kinds:
            yield f'{name}_double', jitted(f, *[jax.tree.map(lambda x: np.asarray(x).astype('float64') if np.asarray(x).dtype == np.float32 else x, a) for a in arguments])
        if 'b' in kinds:
            yield f'{name}_bfloat16', jitted(f, *[jax.tree.map(lambda x: np.asarray(x).astype(dtype_of('bfloat16')) if np.asarray(x).dtype == np.float32 else x, a) for a in arguments])
    yield from training()


def filters():
    def kalman(a, c, q, r, ys):
        def step(s, y):
            m, p = s
            m, p = a @ m, a @ p @ a.T + q
            innovation, cov = y - c @ m, c @ p @ c.T + r
            gain = jnp.linalg.solve(cov, c @ p).T
            logp = -0.5 * (innovation @ jnp.linalg.solve(cov, innovation) + jnp.linalg.slogdet(cov)[1])
            return (m + gain @ innovation, p - gain @ c @ p), (m, p, logp)
        return lax.scan(step, (jnp.zeros(a.shape[0], a.dtype), jnp.eye(a.shape[0], dtype=a.dtype)), ys)[1]

    def smoother(a, c, q, r, ys):
        means, covs, _ = kalman(a, c, q, r, ys)
        def back(s, t):
            m, p = t
            g = jnp.linalg.solve(a @ p @ a.T + q, a @ p).T
            m = m + g @ (s[0] - a @ m)
            return (m, p + g @ (s[1] - a @ p @ a.T - q) @ g.T), m
        return lax.scan(back, (means[-1], covs[-1]), (means, covs), reverse=True)[1]

    def particle(key, ys):
        def step(s, y):
            k, x = s
            k, a, b = random.split(k, 3)
            x = 0.9 * x + 0.3 * random.normal(a, x.shape)
            w = nn.softmax(-0.5 * jnp.square(y - x) / 0.2)
            index = jnp.searchsorted(jnp.cumsum(w), (jnp.arange(x.size) + random.uniform(b)) / x.size)
            x = x[jnp.clip(index, 0, x.size - 1)]
            return (k, x), (x.mean(), 1 / jnp.sum(w * w))
        return lax.scan(step, (key, random.normal(key, (16,))), ys)[1]

    def hmm(start, move, emit, ys):
        forward = lambda a, y: (lambda b: (b - nn.logsumexp(b), nn.logsumexp(b)))(nn.logsumexp(a[:, None] + move, 0) + emit[:, y])
        alpha, logp = lax.scan(forward, start + emit[:, ys[0]], ys[1:])
        return alpha, logp.sum()

    def viterbi(start, move, emit, ys):
        def step(s, y):
            scores = s[:, None] + move
            return scores.max(0) + emit[:, y], scores.argmax(0)
        last, back = lax.scan(step, start + emit[:, ys[0]], ys[1:])
        return lax.scan(lambda i, b: (b[i], b[i]), jnp.argmax(last), back, reverse=True)

    def gauss(x, y, at, scale):
        k = lambda a, b: jnp.exp(-0.5 * jnp.sum(jnp.square(a[:, None] - b[None]), -1) / scale ** 2)
        low = jnp.linalg.cholesky(k(x, x) + 0.1 * jnp.eye(x.shape[0], dtype=x.dtype))
        alpha = jax.scipy.linalg.cho_solve((low, True), y)
        v = jax.scipy.linalg.solve_triangular(low, k(x, at), lower=True)
        return k(at, x) @ alpha, k(at, at) - v.T @ v, -0.5 * y @ alpha - jnp.sum(jnp.log(jnp.diag(low)))
    a, c = arr('a', shape=(3, 3)), arr('c', shape=(2, 3))
    q, r, ys = 0.1 * spd('q', n=3), spd('r', n=2), arr('y', shape=(6, 2), scale=2)
    tables = [np.log(nn.softmax(arr(k, shape=s, scale=2))) for k, s in (('s', (4,)), ('m', (4, 4)), ('e', (4, 3)))]
    symbols = np.array([0, 2, 1, 1, 0, 2])
    return dict(kalman=(kalman, (a, c, q, r, ys), 'gjvd'), smoother=(smoother, (a, c, q, r, ys), 'gvd'), particle=(lambda y: particle(random.key(0), y), (ys[:, 0],), ''), hmm=(hmm, (*tables, symbols), 'gjhvd'), viterbi=(viterbi, (*tables, symbols), 'v'),
                gauss=(gauss, (arr('gx', shape=(6, 2), scale=2), arr('gy', shape=(6,)), arr('gt', shape=(3, 2), scale=2), np.float32(1.3)), 'gjvd'))


def control():
    def lqr(a, b, q, r):
        def step(p, _):
            gain = jnp.linalg.solve(r + b.T @ p @ b, b.T @ p @ a)
            p = q + a.T @ p @ (a - b @ gain)
            return p, gain
        p, gains = lax.scan(step, q, None, 8)
        x = lax.scan(lambda x, k: ((a - b @ k) @ x, x), jnp.ones(a.shape[0], a.dtype), gains, reverse=True)[1]
        return p, gains, x

    def pendulum(x, u):
        return jnp.stack([x[0] + 0.1 * x[1], x[1] + 0.1 * (jnp.sin(x[0]) + u[0] - 0.1 * x[1])])

    def cost(x, u):
        return jnp.sum(x * x) + 0.1 * jnp.sum(u * u)

    def ilqr(x0, us):
        def iteration(us, _):
            xs = jnp.concatenate([x0[None], lax.scan(lambda x, u: (pendulum(x, u),) * 2, x0, us)[1]])[:-1]
            fx, fu = jax.vmap(jax.jacfwd(pendulum, 0))(xs, us), jax.vmap(jax.jacfwd(pendulum, 1))(xs, us)
            lx, lu = jax.vmap(jax.grad(cost, 0))(xs, us), jax.vmap(jax.grad(cost, 1))(xs, us)
            def back(s, t):
                v, vv = s
                fx, fu, lx, lu = t
                qx, qu = lx + fx.T @ v, lu + fu.T @ v
                qxx, quu, qux = 2 * jnp.eye(2, dtype=x0.dtype) + fx.T @ vv @ fx, 0.2 * jnp.eye(1, dtype=x0.dtype) + fu.T @ vv @ fu, fu.T @ vv @ fx
                k, kk = -jnp.linalg.solve(quu, qu), -jnp.linalg.solve(quu, qux)
                return (qx + kk.T @ quu @ k + kk.T @ qu + qux.T @ k, qxx + kk.T @ quu @ kk + kk.T @ qux + qux.T @ kk), (k, kk)
            ks, kks = lax.scan(back, (jnp.zeros(2, x0.dtype), jnp.eye(2, dtype=x0.dtype)), (fx, fu, lx, lu), reverse=True)[1]
            def roll(x, t):
                old, u, k, kk = t
                u = u + 0.5 * k + kk @ (x - old)
                return pendulum(x, u), (u, cost(x, u))
            us, costs = lax.scan(roll, x0, (xs, us, ks, kks))[1]
            return us, costs.sum()
        return lax.scan(iteration, us, None, 4)

    def shooting(x0, us):
        rollout = lambda us: lax.scan(lambda x, u: (pendulum(x, u), cost(x, u)), x0, us)[1].sum()
        return lax.fori_loop(0, 5, lambda i, u: u - 0.05 * jax.grad(rollout)(u), us)

    def value_iteration(p, r):
        return lax.while_loop(lambda s: (jnp.max(jnp.abs(s[0] - s[1])) > 1e-3) & (s[2] < 60), lambda s: (jnp.max(r + 0.8 * jnp.einsum('ast,t->sa', p, s[0]), 1), s[0], s[2] + 1), (jnp.zeros(r.shape[0], r.dtype), jnp.ones(r.shape[0], r.dtype), 0))

    def cartpole(w):
        def step(s, _):
            x, v, th, om = s
            f = jnp.tanh(s @ w) * 10
            t = (f + 0.05 * om ** 2 * jnp.sin(th)) / 1.1
            acc = (9.8 * jnp.sin(th) - jnp.cos(th) * t) / (0.5 * (4 / 3 - 0.1 * jnp.cos(th) ** 2 / 1.1))
            new = s + 0.02 * jnp.stack([v, t - 0.05 * acc * jnp.cos(th) / 1.1, om, acc])
            done = (jnp.abs(new[2]) > 0.5) | (jnp.abs(new[0]) > 2.4)
            return lax.cond(done, lambda: jnp.zeros_like(new) + 0.01, lambda: new), jnp.where(done, 0.0, 1.0).astype(w.dtype)
        return lax.scan(step, jnp.array([0, 0, 0.1, 0], w.dtype), None, 30)

    def advantage(rewards, vs, done):
        return lax.scan(lambda g, t: ((lambda d: (d + 0.9 * (1 - t[2]) * g,) * 2)(t[0] + 0.99 * (1 - t[2]) * t[3] - t[1])), jnp.zeros_like(vs[0]), (rewards, vs[:-1], done, vs[1:]), reverse=True)[1]
    a, b = arr('la', shape=(3, 3)), arr('lb', shape=(3, 2))
    p = np.asarray(nn.softmax(arr('vp', shape=(2, 4, 4), scale=3)))
    return dict(lqr=(lqr, (a, b, spd('lq', n=3), spd('lr', n=2)), 'gjvd'), ilqr=(ilqr, (np.array([1, 0], 'float32'), np.zeros((6, 1), 'float32')), 'jvd'), shooting=(shooting, (np.array([1, 0], 'float32'), arr('su', shape=(5, 1))), 'gvd'), value_iteration=(value_iteration, (p, arr('vr', shape=(4, 2), scale=1)), 'vd'),
                cartpole=(cartpole, (arr('cp', shape=(4,), scale=1),), 'gjhv'), advantage=(advantage, (arr('r', shape=(7, 2)), arr('v', shape=(8, 2)), (np.arange(14).reshape(7, 2) % 5 == 0).astype('float32')), 'gjv'))


def equations():
    def cg(m, b):
        def step(s):
            x, r, p, rr, i = s
            mp = m @ p
            alpha = rr / (p @ mp)
            x, r = x + alpha * p, r - alpha * mp
            new = r @ r
            return x, r, r + new / rr * p, new, i + 1
        return lax.while_loop(lambda s: (s[3] > 1e-4) & (s[4] < 20), step, (jnp.zeros_like(b), b, b, b @ b, 0))[0]

    def newton(x):
        f = lambda v: jnp.stack([v[0] ** 2 + v[1] - 2, v[0] - v[1] ** 3])
        return lax.fori_loop(0, 5, lambda i, v: v - jnp.linalg.solve(jax.jacfwd(f)(v), f(v)), x)

    def dopri(y, t1):
        f = lambda y: jnp.stack([y[0] * (1 - y[1]), y[1] * (y[0] - 1)])
        def body(s):
            t, h, y, n = s
            k1 = f(y); k2 = f(y + h * k1 / 5); k3 = f(y + h * (3 * k1 + 9 * k2) / 40); k4 = f(y + h * (44 * k1 / 45 - 56 * k2 / 15 + 32 * k3 / 9))
            fourth, third = y + h * (k1 + 3 * k2 + k3 + k4) / 6, y + h * (k1 + k2 + 2 * k3 + 2 * k4) / 6
            error = jnp.max(jnp.abs(fourth - third))
            ok = error < 0.3
            return jnp.where(ok, t + h, t), h * jnp.clip(0.9 * (0.3 / (error + 1e-6)) ** 0.2, 0.5, 2.0), jnp.where(ok, fourth, y), n + 1
        return lax.while_loop(lambda s: (s[0] < t1) & (s[3] < 40), body, (jnp.zeros_like(t1), 0.1 * jnp.ones_like(t1), y, 0))[2]

    def heat(u, k):
        step = lambda u, _: (u + 0.1 * k * (jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 4 * u), u.sum())
        return lax.scan(step, u, None, 7)

    def burgers(u):
        return lax.fori_loop(0, 10, lambda i, u: u.at[1:-1].add(-0.05 * u[1:-1] * (u[2:] - u[:-2]) + 0.02 * (u[2:] - 2 * u[1:-1] + u[:-2])), u)

    def thomas(lower, diagonal, upper, b):
        def down(s, t):
            c, d = s
            low, diag, up, v = t
            w = diag - low * c
            return (up / w, (v - low * d) / w), (up / w, (v - low * d) / w)
        c, d = lax.scan(down, (jnp.zeros_like(b[0]), jnp.zeros_like(b[0])), (lower, diagonal, upper, b))[1]
        return lax.scan(lambda x, t: (t[1] - t[0] * x,) * 2, jnp.zeros_like(b[0]), (c, d), reverse=True)[1]

    def leapfrog(q, p):
        energy = lambda q: jnp.sum(q ** 4) / 4 + jnp.sum(jnp.square(q[1:] - q[:-1]))
        def step(s, _):
            q, p = s
            p = p - 0.05 * jax.grad(energy)(q); q = q + 0.1 * p; p = p - 0.05 * jax.grad(energy)(q)
            return (q, p), energy(q) + 0.5 * p @ p
        return lax.scan(step, (q, p), None, 8)

    def hmc(q):
        logp = lambda q: -jnp.sum(jnp.square(q - jnp.arange(q.size)) / 2)
        def step(s, key):
            a, b = random.split(key)
            p = random.normal(a, q.shape, q.dtype)
            def leap(i, t):
                x, m = t
                m = m + 0.1 * jax.grad(logp)(x); x = x + 0.2 * m
                return x, m + 0.1 * jax.grad(logp)(x)
            x, m = lax.fori_loop(0, 4, leap, (s, p))
            accept = jnp.log(random.uniform(b, dtype=q.dtype)) < logp(x) - logp(s) - 0.5 * (m @ m - p @ p)
            return jnp.where(accept, x, s), accept
        return lax.scan(step, q, random.split(random.key(3), 6))

    def sinkhorn(c):
        k = jnp.exp(-c / 0.5)
        u, v = lax.fori_loop(0, 10, lambda i, s: (1 / (k @ s[1]), 1 / (k.T @ (1 / (k @ s[1])))), (jnp.ones(c.shape[0], c.dtype), jnp.ones(c.shape[1], c.dtype)))
        return u[:, None] * k * v

    def power(m):
        return lax.while_loop(lambda s: (s[2] < 12) & (jnp.sum(jnp.square(s[0] - s[1])) > 1e-3), lambda s: ((lambda w: (w / jnp.linalg.norm(w), s[0], s[2] + 1))(m @ s[0])), (jnp.ones(m.shape[0], m.dtype), jnp.zeros(m.shape[0], m.dtype), 0))[0]

    def gauss_newton(x, t, y):
        f = lambda p: p[0] * jnp.exp(-p[1] * t) - y
        def step(p, lam):
            j = jax.jacfwd(f)(p)
            return p - jnp.linalg.solve(j.T @ j + lam * jnp.eye(2, dtype=p.dtype), j.T @ f(p)), jnp.sum(f(p) ** 2)
        return lax.scan(step, x, jnp.array([1, 0.5, 0.2, 0.1], x.dtype))

    def kmeans(x, c):
        def step(c, _):
            label = jnp.argmin(jnp.sum(jnp.square(x[:, None] - c), -1), 1)
            return jax.ops.segment_sum(x, label, 3) / jnp.maximum(jax.ops.segment_sum(jnp.ones(x.shape[0], x.dtype), label, 3), 1)[:, None], label
        return lax.scan(step, c, None, 4)
    spring = np.abs(arr('th', shape=(6,)))
    return dict(cg=(cg, (spd('cg', n=5), arr('cgb', shape=(5,))), 'jvd'), newton=(newton, (np.array([1.5, 0.5], 'float32'),), 'gjhvd'), dopri=(dopri, (np.array([1.5, 0.5], 'float32'), np.float32(2)), 'jvd'), heat=(heat, (arr('hu', shape=(6, 5), scale=2), np.abs(arr('hk', shape=(6, 5)))), 'gjhvdb'), burgers=(burgers, (arr('bu', shape=(12,), scale=1),), 'gjhvdb'),
                thomas=(thomas, (spring, 2 + spring, spring, arr('tb', shape=(6,))), 'gjhvd'), leapfrog=(leapfrog, (arr('q', shape=(4,), scale=1), arr('p', shape=(4,), scale=1)), 'gjvd'), hmc=(hmc, (np.zeros(3, 'float32'),), 'vd'), sinkhorn=(sinkhorn, (np.abs(arr('sk', shape=(4, 3), scale=1)),), 'gjhvd'), power=(power, (spd('pw', n=4),), 'jvd'),
                gauss_newton=(gauss_newton, (np.array([1, 0.5], 'float32'), np.linspace(0, 2, 6, dtype='float32'), np.exp(-np.linspace(0, 2, 6)).astype('float32') * 1.5), 'gjvd'), kmeans=(kmeans, (arr('km', shape=(12, 2), scale=2), arr('kc', shape=(3, 2), scale=2)), 'vd'))


def decoding():
    def logits(w, token, h):
        h = jnp.tanh(w['h'] @ h + w['e'][token])
        return h, nn.log_softmax(w['e'] @ h)

    def beam(w):
        def step(s, t):
            scores, h, tokens = s
            h, lp = jax.vmap(functools.partial(logits, w))(tokens[:, t], h)
            best, index = lax.top_k((scores[:, None] + lp).reshape(-1), 3)
            parent, token = index // lp.shape[1], index % lp.shape[1]
            return (best, h[parent], tokens[parent].at[:, t + 1].set(token)), best
        start = (jnp.array([0, -1e9, -1e9], w['h'].dtype), jnp.zeros((3, 4), w['h'].dtype), jnp.zeros((3, 7), 'int32'))
        return lax.scan(step, start, jnp.arange(6))

    def greedy(w, n):
        cond = lambda s: (s[0] < n) & (s[1][s[0]] != 5)
        def body(s):
            i, tokens, h = s
            h, lp = logits(w, tokens[i], h)
            return i + 1, tokens.at[i + 1].set(jnp.argmax(lp).astype('int32')), h
        return lax.while_loop(cond, body, (0, jnp.zeros(9, 'int32'), jnp.zeros(4, w['h'].dtype)))

    def sample(w, key):
        def step(s, k):
            token, h = s
            h, lp = logits(w, token, h)
            top, _ = lax.top_k(lp, 4)
            order = jnp.sort(nn.softmax(lp))[::-1]
            lp = jnp.where(lp < top[-1], -jnp.inf, lp) / 0.7
            token = random.categorical(k, lp)
            return (token, h), (token, jnp.sum(jnp.cumsum(order) < 0.9))
        return lax.scan(step, (0, jnp.zeros(4, w['h'].dtype)), random.split(random.wrap_key_data(key), 6))[1]

    def cached(w, prompt):
        def step(s, i):
            k, v, token = s
            x = w['e'][token]
            k, v = lax.dynamic_update_slice(k, (x @ w['h'])[None], (i, 0)), lax.dynamic_update_slice(v, x[None], (i, 0))
            scores = jnp.where(jnp.arange(8) <= i, k @ x, -jnp.inf)
            out = w['e'] @ (nn.softmax(scores) @ v)
            return (k, v, jnp.argmax(out).astype('int32')), out
        return lax.scan(step, (jnp.zeros((8, 4), w['h'].dtype), jnp.zeros((8, 4), w['h'].dtype), prompt), jnp.arange(8))

    def ctc(lp, labels):
        extended = jnp.zeros(2 * labels.size + 1, labels.dtype).at[1::2].set(labels)
        skip = jnp.concatenate([jnp.zeros(2, bool), (extended[2:] != extended[:-2]) & (extended[2:] != 0)])
        def step(a, row):
            one = jnp.concatenate([jnp.array([-1e30], a.dtype), a[:-1]])
            two = jnp.where(skip, jnp.concatenate([jnp.array([-1e30, -1e30], a.dtype), a[:-2]]), -1e30)
            return jnp.logaddexp(jnp.logaddexp(a, one), two) + row[extended], None
        start = jnp.full(extended.shape, -1e30, lp.dtype).at[:2].set(lp[0, extended[:2]])
        a = lax.scan(step, start, lp[1:])[0]
        return -jnp.logaddexp(a[-1], a[-2])

    def dtw(x, y):
        d = jnp.abs(x[:, None] - y)
        def row(prev, r):
            def cell(left, t):
                up, diagonal, c = t
                v = c + jnp.minimum(left, jnp.minimum(up, diagonal))
                return v, v
            new = lax.scan(cell, jnp.asarray(1e9, x.dtype), (prev, jnp.concatenate([jnp.array([1e9], x.dtype), prev[:-1]]), r))[1]
            return new, None
        first = jnp.cumsum(d[0])
        return lax.scan(row, first, d[1:])[0][-1]

    def soft_dtw(x, y):
        d = jnp.square(x[:, None] - y)
        row = lambda prev, r: ((lambda new: (new, new))(lax.scan(lambda left, t: (lambda v: (v, v))(t[2] - 0.1 * nn.logsumexp(-jnp.stack([left, t[0], t[1]]) / 0.1)), prev[0], (prev[1:], prev[:-1], r[1:]))[1]))
        return jnp.sum(lax.scan(lambda p, r: ((lambda n: (jnp.concatenate([p[:1] + r[:1], n]), n.sum()))(row(p, r)[0])), jnp.cumsum(d[0]), d[1:])[1])

    def knapsack(weights, gains):
        return lax.scan(lambda best, t: (jnp.maximum(best, jnp.where(jnp.arange(12) >= t[0], best[jnp.clip(jnp.arange(12) - t[0], 0, 11)] + t[1], 0)),) * 2, jnp.zeros(12, gains.dtype), (weights, gains))

    def floyd(d):
        return lax.fori_loop(0, d.shape[0], lambda k, m: jnp.minimum(m, m[:, k][:, None] + m[k]), d)

    def dijkstra(d):
        def body(s):
            dist, done, n = s
            u = jnp.argmin(jnp.where(done, jnp.inf, dist))
            return jnp.minimum(dist, dist[u] + d[u]), done.at[u].set(True), n + 1
        return lax.while_loop(lambda s: ~jnp.all(s[1]), body, (jnp.full(d.shape[0], jnp.inf, d.dtype).at[0].set(0), jnp.zeros(d.shape[0], bool), 0))

    def pagerank(m):
        m = m / m.sum(0)
        return lax.while_loop(lambda s: (jnp.abs(s[0] - s[1]).sum() > 1e-3) & (s[2] < 50), lambda s: (0.85 * m @ s[0] + 0.15 / 5, s[0], s[2] + 1), (jnp.ones(5, m.dtype) / 5, jnp.zeros(5, m.dtype), 0))
    w = dict(h=arr('dh', shape=(4, 4), scale=1.5), e=arr('de', shape=(7, 4), scale=2))
    lp, d = np.asarray(nn.log_softmax(arr('ctc', shape=(8, 5), scale=2))), np.abs(arr('fl', shape=(5, 5), scale=3))
    x, y = arr('dx', shape=(6,), scale=2), arr('dy', shape=(5,), scale=2)
    return dict(beam=(beam, (w,), 'vdb'), greedy=(greedy, (w, np.int32(6)), 'vd'), sample=(sample, (w, np.array([1, 2], 'uint32')), 'v'), cached=(cached, (w, np.int32(2)), 'vd'), ctc=(ctc, (lp, np.array([1, 2, 2, 4])), 'gjhvd'), dtw=(dtw, (x, y), 'gjvdb'), soft_dtw=(soft_dtw, (x, y), 'gjhvd'),
                knapsack=(knapsack, (np.array([3, 4, 2, 5], 'int32'), np.array([4, 5, 3, 8], 'float32')), 'v'), floyd=(floyd, (d,), 'gvdb'), dijkstra=(dijkstra, (d,), 'vd'), pagerank=(pagerank, (d + 0.1,), 'jvd'))


def models():
    def mamba(p, x):
        u = nn.silu(x @ p['in'])
        delta, b, c = nn.softplus(u @ p['dt']), u @ p['b'], u @ p['c']
        a = -jnp.exp(p['a'])
        def step(h, t):
            u, d, b, c = t
            h = jnp.exp(d[:, None] * a) * h + (d * u)[:, None] * b
            return h, h @ c
        return lax.scan(step, jnp.zeros(a.shape, x.dtype), (u, delta, b, c))[1] @ p['out']

    def mamba_parallel(p, x):
        u = nn.silu(x @ p['in'])
        delta, b, c = nn.softplus(u @ p['dt']), u @ p['b'], u @ p['c']
        decay = jnp.exp(delta[..., None] * -jnp.exp(p['a']))
        h = lax.associative_scan(lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]), (decay, (delta * u)[..., None] * b[:, None]))[1]
        return jnp.einsum('tds,ts->td', h, c) @ p['out']

    def flash(q, k, v):
        def outer(_, qb):
            def inner(s, t):
                m, l, o = s
                kb, vb, at = t
                scores = qb[0] @ kb.T / 2
                scores = jnp.where(qb[1][:, None] >= at[None], scores, -1e30)
                new = jnp.maximum(m, scores.max(-1))
                p = jnp.exp(scores - new[:, None])
                shrink = jnp.exp(m - new)
                return (new, l * shrink + p.sum(-1), o * shrink[:, None] + p @ vb), None
            n = qb[0].shape[0]
            (m, l, o), _ = lax.scan(inner, (jnp.full(n, -1e30, q.dtype), jnp.zeros(n, q.dtype), jnp.zeros_like(qb[0])), (k.reshape(3, 4, -1), v.reshape(3, 4, -1), jnp.arange(12).reshape(3, 4)))
            return None, o / l[:, None]
        return lax.scan(outer, None, (q.reshape(4, 3, -1), jnp.arange(12).reshape(4, 3)))[1].reshape(q.shape)

    def linear_attention(q, k, v):
        def step(s, t):
            q, k, v = t
            s = 0.9 * s + k[:, None] * v
            return s, q @ s
        return lax.scan(step, jnp.zeros((q.shape[1], v.shape[1]), q.dtype), (nn.elu(q) + 1, nn.elu(k) + 1, v))[1]

    def delta_rule(q, k, v, beta):
        def step(s, t):
            q, k, v, b = t
            s = s + b * jnp.outer(v - s @ k, k)
            return s, s @ q
        return lax.scan(step, jnp.zeros((v.shape[1], k.shape[1]), q.dtype), (q, k / jnp.linalg.norm(k, axis=-1, keepdims=True), v, nn.sigmoid(beta)))

    def s4(lam, b, c, x):
        kernel = (c[:, None] * jnp.exp(lam[:, None] * jnp.arange(x.size))) .T @ b
        n = 2 * x.size
        return jnp.fft.irfft(jnp.fft.rfft(kernel, n) * jnp.fft.rfft(x, n), n)[:x.size]

    def xlstm(p, x):
        def cell(s, row):
            c, n, m, h = s
            i, f, z, o = jnp.split(row @ p['x'] + h @ p['h'], 4)
            new = jnp.maximum(f + m, i)
            i, f = jnp.exp(i - new), jnp.exp(f + m - new)
            c, n = f * c + i * jnp.tanh(z), f * n + i
            h = nn.sigmoid(o) * c / n
            return (c, n, new, h), h
        zero = jnp.zeros(4, x.dtype)
        return lax.scan(cell, (zero, zero, zero, zero), x)[1]

    def deq(w, x):
        return lax.while_loop(lambda s: (s[2] < 20) & (jnp.max(jnp.abs(s[0] - s[1])) > 1e-3), lambda s: (jnp.tanh(w @ s[0] + x), s[0], s[2] + 1), (jnp.zeros_like(x), jnp.ones_like(x), 0))[0]

    def neural_ode(w, y):
        f = lambda y: jnp.tanh(w[0] @ y) @ w[1]
        step = lambda y, h: ((lambda a: (lambda b: (y + h * b, y))(f(y + h / 2 * a)))(f(y)))
        return lax.scan(step, y, jnp.full(6, 0.2, y.dtype))

    def meta(w, x, y):
        inner = lambda w: jnp.mean(jnp.square(jnp.tanh(x @ w) - y))
        adapted = lax.fori_loop(0, 3, lambda i, v: v - 0.1 * jax.grad(inner)(v), w)
        return inner(adapted)

    def diffusion(w, x, key):
        def step(x, t):
            k, s = t
            noise = jnp.tanh(jnp.concatenate([x, s[None]]) @ w)
            return (x - s * noise) / jnp.sqrt(1 - s * s) + 0.1 * s * random.normal(k, x.shape, x.dtype), noise.sum()
        return lax.scan(step, x, (random.split(random.wrap_key_data(key), 5), jnp.linspace(0.5, 0.1, 5, dtype=x.dtype)))

    def quantised(w, x):
        scale = jnp.max(jnp.abs(w), 0) / 127
        q = jnp.clip(jnp.round(w / scale), -128, 127).astype('int8')
        s = jnp.max(jnp.abs(x)) / 127
        xi = jnp.clip(jnp.round(x / s), -128, 127).astype('int8')
        return lax.dot_general(xi, q, (((1,), (0,)), ((), ())), preferred_element_type='int32').astype(x.dtype) * scale * s

    def fp8(w, x):
        one = lambda v: (lambda s: ((v / s).astype(jnp.float8_e4m3fn), s))(jnp.max(jnp.abs(v)) / 448)
        (a, s), (b, t) = one(x), one(w)
        return (lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type='float32') * s * t, (x * 3).astype(jnp.float8_e5m2).astype('float32'))

    def bn_net(p, state, x):
        y = lax.conv_general_dilated(x, p['k'], (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
        mean, var = y.mean((0, 1, 2)), y.var((0, 1, 2))
        y = nn.relu((y - mean) * lax.rsqrt(var + 1e-5))
        state = 0.9 * state + 0.1 * jnp.stack([mean, var])
        y = lax.reduce_window(y, np.array(-np.inf, y.dtype), lax.max, (1, 3, 3, 1), (1, 2, 2, 1), 'SAME')
        return y.mean((1, 2)), state
    m = dict(a=arr('ma', shape=(4, 3)), b=arr('mb', shape=(4, 3)), c=arr('mc', shape=(4, 3)), dt=arr('mt', shape=(4, 4)))
    m |= {'in': arr('mi', shape=(2, 4)), 'out': arr('mo', shape=(4, 2))}
    q, k, v = (arr(n, shape=(12, 4), scale=1) for n in 'qkv')
    return dict(mamba=(mamba, (m, arr('mx', shape=(7, 2), scale=1)), 'gjhvdb'), mamba_parallel=(mamba_parallel, (m, arr('mx', shape=(7, 2), scale=1)), 'gjvdb'), flash=(flash, (q, k, v), 'gjvdb'), linear_attention=(linear_attention, (q, k, v), 'gjhvdb'), delta_rule=(delta_rule, (q, k, v, arr('be', shape=(12,))), 'gjvdb'),
                s4=(s4, (-np.abs(arr('sl', shape=(4,))), arr('sb', shape=(4,)), arr('sc', shape=(4,)), arr('sx', shape=(9,), scale=1)), 'gjvd'), xlstm=(xlstm, (dict(x=arr('xx', shape=(3, 16)), h=arr('xh', shape=(4, 16))), arr('xs', shape=(6, 3), scale=1)), 'gjvdb'), deq=(deq, (arr('dq', shape=(4, 4)), arr('dv', shape=(4,), scale=1)), 'jvd'),
                neural_ode=(neural_ode, (arr('no', shape=(2, 3, 3), scale=1), arr('ny', shape=(3,), scale=1)), 'gjhvdb'), meta=(meta, (arr('me', shape=(3, 2)), arr('mx2', shape=(5, 3), scale=1), arr('my', shape=(5, 2))), 'gjhvd'), diffusion=(diffusion, (arr('df', shape=(4, 3)), arr('dfx', shape=(3,), scale=1), np.array([3, 4], 'uint32')), 'vd'),
                quantised=(quantised, (arr('qw', shape=(6, 4)), arr('qx', shape=(3, 6), scale=2)), 'vd'), fp8=(fp8, (arr('fw', shape=(6, 4)), arr('fx', shape=(3, 6), scale=2)), 'v'), bn_net=(bn_net, (dict(k=arr('bk', shape=(3, 3, 2, 4))), np.ones((2, 4), 'float32'), arr('bx', shape=(2, 7, 6, 2), scale=1)), 'gjvd'))


def training():
    """Steps of a size that is trained: a net of three layers of 256 on batches of 64, and two blocks of a transformer 64 wide."""
    def mlp(p, x, y):
        for w, b in p[:-1]:
            x = nn.relu(x @ w + b)
        return -jnp.mean(jnp.sum(nn.log_softmax(x @ p[-1][0] + p[-1][1]) * nn.one_hot(y, 10), -1))

    def block(p, x):
        norm = lambda v, g: v * lax.rsqrt(jnp.mean(v * v, -1, keepdims=True) + 1e-6) * g
        q, k, v = jnp.split(norm(x, p['g']) @ p['qkv'], 3, -1)
        heads = lambda t: t.reshape(*t.shape[:2], 4, 16)
        s = jnp.einsum('bqhd,bkhd->bhqk', heads(q), heads(k)) / 4
        s = jnp.where(jnp.tril(jnp.ones(s.shape[-2:], bool)), s, -1e9)
        x = x + jnp.einsum('bhqk,bkhd->bqhd', nn.softmax(s), heads(v)).reshape(x.shape) @ p['o']
        return x + nn.gelu(norm(x, p['g']) @ p['up']) @ p['down']

    def transformer(p, tokens):
        x = lax.scan(lambda x, q: (jax.checkpoint(block)(q, x), None), p['e'][tokens], p['layers'])[0]
        lp = nn.log_softmax(x[:, :-1] @ p['e'].T)
        return -jnp.mean(jnp.take_along_axis(lp, tokens[:, 1:, None], -1))

    def adam(loss, p, m, v, t, *a):
        value, g = jax.value_and_grad(loss)(p, *a)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, g)
        return value, jax.tree.map(lambda p, m, v: p - 1e-2 * (m / (1 - 0.9 ** t)) / (jnp.sqrt(v / (1 - 0.99 ** t)) + 1e-2), p, m, v), m, v
    zero = lambda p: jax.tree.map(np.zeros_like, p)
    p = [(arr('tw', i, shape=s, scale=0.1), np.zeros(s[1], 'float32')) for i, s in enumerate([(64, 128), (128, 128), (128, 10)])]
    x, y = arr('tx', shape=(64, 64), scale=1), rng_of('ty').integers(0, 10, 64)
    yield 'train_mlp', jitted(functools.partial(adam, mlp), p, zero(p), zero(p), np.float32(3), x, y)
    yield 'train_mlp_half', jitted(functools.partial(adam, lambda p, x, y: mlp(jax.tree.map(lambda v: v.astype('bfloat16'), p), x.astype('bfloat16'), y).astype('float32')), p, zero(p), zero(p), np.float32(3), x, y)
    layers = jax.tree.map(lambda *v: np.stack(v), *[dict(g=np.ones(64, 'float32'), qkv=arr('tq', k, shape=(64, 192), scale=0.1), o=arr('to', k, shape=(64, 64), scale=0.1), up=arr('tu', k, shape=(64, 128), scale=0.1), down=arr('td', k, shape=(128, 64), scale=0.1)) for k in range(2)])
    q = dict(e=arr('te', shape=(50, 64), scale=0.3), layers=layers)
    tokens = rng_of('tt').integers(0, 50, (2, 24)).astype('int32')
    yield 'train_transformer_sgd', jitted(lambda p, t: (lambda v, g: (v, jax.tree.map(lambda a, b: a - 0.1 * b, p, g)))(*jax.value_and_grad(transformer)(p, t)), q, tokens)
    yield 'train_transformer_forward', jitted(transformer, q, tokens)
