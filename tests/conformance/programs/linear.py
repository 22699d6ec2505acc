"""Factors, equations, eigenvalues and functions of matrices: jax.lax.linalg, jnp.linalg, jax.scipy.linalg, batched, with derivatives."""
import numpy as np
import jax
import jax.numpy as jnp
import jax.experimental.sparse.linalg, jax.scipy.linalg, jax.scipy.sparse.linalg
from jax import lax
from programs._values import *

TYPES = ['float32', 'float64', 'complex64', 'complex128']


def square(name, shape, kind='general'):
    x = values(rng_of('la', name, shape, kind), shape, name, -1, 1)
    if kind == 'positive' and x.size:
        x = np.matmul(x, np.conj(np.swapaxes(x, -1, -2))) + np.eye(shape[-1], dtype=x.dtype)
    if kind == 'triangular':
        x = np.tril(x) + 2 * np.eye(shape[-1], dtype=x.dtype)
    if kind == 'symmetric':
        x = x + np.conj(np.swapaxes(x, -1, -2))
    return x.astype(dtype_of(name))


def programs():
    yield from routines()
    yield from factors()


def factors():
    sp, la = jax.scipy.linalg, jnp.linalg
    for name in TYPES:
        for n, batch in [(1, ()), (4, ()), (3, (2,)), (0, ()), (7, (2, 1)), (3, (0,))]:
            shape = batch + (n, n)
            g, p, t, s = (square(name, shape, kind) for kind in ('general', 'positive', 'triangular', 'symmetric'))
            b = values(rng_of('b', name, shape), batch + (n, 2), name, -1, 1)
            key = f'{name}_{shape_name(shape)}'
            real = 'complex' not in name
            many = dict(
                cholesky=(la.cholesky, p), cholesky_upper=(lambda v: la.cholesky(v, upper=True), p), lu=(lax.linalg.lu, g), qr=(la.qr, g), qr_complete=(lambda v: la.qr(v[..., :2], 'complete'), g), qr_r=(lambda v: la.qr(v, 'r'), g), eigh=(la.eigh, s),
                eigvalsh=(la.eigvalsh, s), svdvals=(lambda v: la.svd(v, compute_uv=False), g), inv=(la.inv, p), det=(la.det, g), slogdet=(la.slogdet, p), solve=(la.solve, p, b), triangular=(lambda a, c: lax.linalg.triangular_solve(a, c, left_side=True, lower=True), t, b),
                triangular_right=(lambda a, c: lax.linalg.triangular_solve(a, jnp.swapaxes(c, -1, -2), transpose_a=True, lower=True), t, b), triangular_unit=(lambda a, c: lax.linalg.triangular_solve(a, c, left_side=True, unit_diagonal=True, lower=False), t, b), triangular_conj=(lambda a, c: lax.linalg.triangular_solve(a, c, left_side=True, lower=True, transpose_a=True, conjugate_a=True), t, b),
                pinv=(la.pinv, p), norm=(la.norm, g), norm_nuc=(lambda v: la.norm(v, 'nuc', axis=(-2, -1)), g), norm2=(lambda v: la.norm(v, 2, axis=(-2, -1)), g), cond=(la.cond, p), matrix_rank=(la.matrix_rank, p), expm=(sp.expm, g), cho_solve=(lambda a, c: sp.cho_solve((la.cholesky(a), True), c), p, b), eigvals=(la.eigvals, g), householder=(lambda v: lax.linalg.householder_product(*lax.linalg.geqrf(v)), g) if hasattr(lax.linalg, 'geqrf') else (la.det, g),
                hessenberg=(lambda v: lax.linalg.hessenberg(v), g), tridiagonal=(lambda v: lax.linalg.tridiagonal(v, lower=True)[1:3], s), logm_free=(lambda v: sp.sqrtm(v) if not batch else v, p), lu_pivots=(lambda v: lax.linalg.lu_pivots_to_permutation(lax.linalg.lu(v)[1], n) if n else v, g), matrix_norm=(lambda v: la.matrix_norm(v, ord=1), g), cross_trace=(lambda v: la.trace(v), g))
            for op, (f, *args) in many.items():
                if n == 0 and op in ('norm2', 'cond', 'norm_nuc', 'matrix_rank', 'expm', 'qr_complete', 'matrix_norm'):
                    continue
                yield f'{op}_{key}', jitted(f, *args)
            if n in (3, 4):
                yield from derivatives(many, key)
            if not batch and n:
                yield from single(sp, la, name, n, g, p, s, b, real)
        for m, n in [(3, 5), (5, 3), (1, 4), (4, 0)]:
            x = values(rng_of('rect', name, m, n), (m, n), name, -1, 1)
            key = f'{name}_{m}x{n}'
            yield f'svd_{key}', jitted(lambda v: (lambda u, s, w: (s, (u * s) @ w))(*la.svd(v, full_matrices=False)), x)
            yield f'svd_full_{key}', jitted(lambda v: la.svd(v)[1], x)
            yield f'qr_{key}', jitted(la.qr, x)
            yield f'lu_{key}', jitted(lax.linalg.lu, x)
            if n:
                yield f'lstsq_{key}', jitted(lambda v, b: la.lstsq(v, b)[0], x, x[:, :1])
                yield f'pinv_{key}', jitted(la.pinv, x)
            yield f'batched_svd_{key}', jitted(jax.vmap(lambda v: la.svd(v, compute_uv=False)), np.stack([x, -x]))


def routines():
    """What reaches the other routines of LAPACK, and jax.lax's searches for the largest."""
    sp, la = jax.scipy.linalg, lax.linalg
    for name in TYPES:
        for n, m in [(4, 4), (5, 3), (3, 5)]:
            g, c, d = values(rng_of('rt', name, n, m), (n, m), name, -1, 1), values(rng_of('rt', name, n), (n, 2), name, -1, 1), values(rng_of('rt', name, n, 1), (2, n), name, -1, 1)
            many = dict(pivoted=lambda: sp.qr(g, pivoting=True), pivoted_economic=lambda: sp.qr(g, pivoting=True, mode='economic'), pivoted_r=lambda: sp.qr(g, pivoting=True, mode='r'), svd_qr=lambda: la.svd(g, algorithm=la.SvdAlgorithm.QR, compute_uv=False), svd_default=lambda: la.svd(g, compute_uv=False), svd_index=lambda: jnp.linalg.svd(g, full_matrices=False, compute_uv=False),
                        multiply=lambda: sp.qr_multiply(g, c, 'left'), multiply_right=lambda: sp.qr_multiply(g, d, 'right'), multiply_conjugate=lambda: sp.qr_multiply(g, c, 'left', conjugate=True), multiply_pivoted=lambda: sp.qr_multiply(g, c, 'left', pivoting=True), ormqr=lambda: la.ormqr(*la.geqrf(jnp.asarray(g)), jnp.asarray(c)), lu_factor=lambda: sp.lu_factor(g), lu_permuted=lambda: sp.lu(g, permute_l=True), polar=lambda: sp.polar(g), null_rank=lambda: jnp.linalg.matrix_rank(g), lstsq=lambda: jnp.linalg.lstsq(g, c, rcond=None)[0], batched_pivoted=lambda: jax.vmap(lambda v: la.qr(v, pivoting=True))(np.stack([g, -g])))
            for op, f in many.items():
                yield f'{op}_{name}_{n}x{m}', eager(f)
                yield f'{op}_{name}_{n}x{m}_jit', jitted(f)
        g = square(name, (4, 4))
        s = square(name, (4, 4), 'symmetric')
        many = dict(schur=lambda: sp.schur(g), schur_complex=lambda: jnp.abs(jnp.diagonal(sp.schur(g, output='complex')[0])).sum(), schur_sqrtm=lambda: sp.sqrtm(g @ g + 4 * np.eye(4, dtype=g.dtype)), eig=lambda: jnp.abs(jnp.linalg.eig(g)[0]).sum(), eig_left=lambda: jnp.abs(la.eig(g)[0]).sum(), hessenberg=lambda: sp.hessenberg(g), hessenberg_q=lambda: sp.hessenberg(g, calc_q=True), eigh_upper=lambda: jnp.linalg.eigh(s, UPLO='U')[0], eigh_subset=lambda: la.eigh(s, sort_eigenvalues=False)[1], tridiagonal=lambda: la.tridiagonal(jnp.asarray(s), lower=False)[1:3], sylvester=lambda: sp.solve_sylvester(g + 4 * np.eye(4, dtype=g.dtype), s + 9 * np.eye(4, dtype=g.dtype), g), cholesky_unsymmetrised=lambda: la.cholesky(jnp.asarray(square(name, (4, 4), 'positive')), symmetrize_input=False), cho_banded=lambda: sp.cho_solve(sp.cho_factor(square(name, (4, 4), 'positive'), lower=True), g), expm=lambda: sp.expm(g * 5), expm_upper=lambda: sp.expm(np.triu(g), upper_triangular=True), funm=lambda: sp.funm(s, jnp.exp), rsf2csf=lambda: jnp.abs(sp.rsf2csf(*sp.schur(g))[0]).sum() if 'c' not in name else 0)
        for op, f in many.items():
            yield f'{op}_{name}', eager(f)
            yield f'{op}_{name}_jit', jitted(f)
    for name in ['float32', 'bfloat16', 'float64', 'float16']:
        x = values(rng_of('approx', name), (3, 20), name)
        for k in (1, 4):
            for aggregate in (True, False):
                yield f'approx_max_{name}_{k}_{aggregate}', jitted(lambda v, k=k, a=aggregate: lax.approx_max_k(v, k, aggregate_to_topk=a), x)
                yield f'approx_min_{name}_{k}_{aggregate}', jitted(lambda v, k=k, a=aggregate: lax.approx_min_k(v, k, reduction_dimension=0, aggregate_to_topk=a) if k < 3 else lax.approx_min_k(v, k, recall_target=0.5), x)
        yield f'top_k_axis_{name}', jitted(lambda v: lax.top_k(v, 2, axis=0), x)
        yield f'argmax_many_{name}', jitted(lambda v: (lax.argmax(v, 1, np.int8), lax.argmin(v, 0, np.uint64)), x)


def derivatives(many, key):
    for op in ['cholesky', 'inv', 'det', 'slogdet', 'solve', 'triangular', 'triangular_right', 'qr', 'eigvalsh', 'svdvals', 'expm', 'norm', 'lu', 'pinv', 'cho_solve']:
        f, *args = many[op]
        flat = lambda *a, f=f: sum(jnp.sum(jnp.abs(v) ** 2) for v in jax.tree.leaves(f(*a)) if jnp.issubdtype(v.dtype, jnp.inexact))
        yield f'{op}_gradient_{key}', jitted(jax.grad(flat, tuple(range(len(args)))), *args)
        yield f'{op}_jvp_{key}', jitted(lambda *a, f=flat: jax.jvp(f, a, tuple(jnp.flip(v) for v in a)), *args)


def single(sp, la, name, n, g, p, s, b, real):
    key = f'{name}_{n}'
    many = dict(
        sp_lu=lambda: sp.lu(g), lu_solve=lambda: sp.lu_solve(sp.lu_factor(p), b), lu_solve_t=lambda: sp.lu_solve(sp.lu_factor(p), b, trans=1), sp_qr=lambda: sp.qr(g), sp_solve=lambda: sp.solve(p, b, assume_a='pos'), solve_triangular=lambda: sp.solve_triangular(np.tril(p), b, lower=True, trans='C'), schur=lambda: sp.schur(g)[0].shape,
        toeplitz=lambda: sp.toeplitz(g[0], g[1]), hilbert=lambda: sp.hilbert(n), pascal=lambda: sp.pascal(n), block_diag=lambda: sp.block_diag(g, s), polar=lambda: sp.polar(p), funm=lambda: sp.funm(p, lambda v: v * v)[0].shape, expm_frechet=lambda: sp.expm_frechet(g, s) if real else 0, eigh_tridiagonal=lambda: sp.eigh_tridiagonal(g[0].real, g[0, 1:].real, eigvals_only=True) if real and n > 1 else 0,
        cho_factor=lambda: sp.cho_factor(p), inv=lambda: sp.inv(p), det=lambda: sp.det(g), eigh=lambda: sp.eigh(s, eigvals_only=True), svd=lambda: sp.svd(g, compute_uv=False), hadamard=lambda: sp.hadamard(4) if hasattr(sp, 'hadamard') else 0, tridiagonal_solve=lambda: lax.linalg.tridiagonal_solve(jnp.asarray(g[0]), jnp.asarray(p[0] + 4), jnp.asarray(g[1]), jnp.asarray(b)) if n > 2 else 0,
        matrix_power=lambda: la.matrix_power(g, 3), matrix_power_neg=lambda: la.matrix_power(p, -2), tensorinv=lambda: la.tensorinv(p.reshape(n, 1, n, 1) if n > 1 else p.reshape(1, 1, 1, 1)), tensorsolve=lambda: la.tensorsolve(p, b[:, 0]), vector_norm=lambda: [la.vector_norm(g, ord=o) for o in (1, 2, 3, np.inf, 0)], matrix_norms=lambda: [la.norm(g, o) for o in ('fro', 1, -1, np.inf, -np.inf)])
    for op, f in many.items():
        yield f'{op}_{key}', eager(f)
    if real and n > 1:
        cholesky_update = lambda a, v: lax.linalg.cholesky_update(jnp.swapaxes(la.cholesky(a), -1, -2), v)
        yield f'cholesky_update_{key}', jitted(cholesky_update, p, b[:, 0])
        yield f'symmetric_product_{key}', jitted(lambda a: lax.linalg.symmetric_product(a, a @ a.T), g)
        yield f'cg_{key}', jitted(lambda a, v: jax.scipy.sparse.linalg.cg(lambda z: a @ z, v, maxiter=n)[0], p, b[:, 0])
        yield f'bicgstab_{key}', jitted(lambda a, v: jax.scipy.sparse.linalg.bicgstab(lambda z: a @ z, v, maxiter=n)[0], p, b[:, 0])
        yield f'gmres_{key}', jitted(lambda a, v: jax.scipy.sparse.linalg.gmres(lambda z: a @ z, v, maxiter=2, solve_method='incremental')[0], p, b[:, 0])
        yield f'lobpcg_{key}', jitted(lambda a, v: jax.experimental.sparse.linalg.lobpcg_standard(a, v[:, :1], m=3)[0], square(name, (10, 10), 'positive'), values(rng_of('lob'), (10, 2), name))
