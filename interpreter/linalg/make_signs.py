"""Writes the rows of signs_test.cc: signs of eigenvectors and singular vectors, and the order of eigenvalues, as JAX's LAPACK gives them.

    python make_signs.py > rows

Matrices are those whose answer LAPACK itself keeps when elements move by a unit in the last place, up or down."""
import os
os.environ['JAX_ENABLE_X64'] = '1'
import numpy as np
from jax import lax

# Two signs of the f32 matrix of 20 rows turn where its bidiagonal form moves by such a unit, 6 times of 200, and ours are those.
LEFT_OUT = [('gesdd', 's', 20, 20)]
# Seeds up to here are passed over: OpenBLAS itself gives three answers for the matrix of seed 1, by the processor that it runs on.
PASSED_OVER = {('eigh_upper', 's', 16, 16): 1}
TYPES = dict(s=np.float32, d=np.float64, c=np.complex64, z=np.complex128)


def matrix(letter, rows, columns, seed):
    """Multiples of 1/256 below 2 in size, by a linear congruential generator; column after column, the real part first."""
    state, out = seed, []
    for _ in range(rows * columns * (2 if letter in 'cz' else 1)):
        state = (state * 1664525 + 1013904223) % 2**32
        out.append((state >> 16) % 1024 / 256 - 2)
    out = np.array(out) if letter in 'sd' else np.array(out).reshape(-1, 2) @ [1, 1j]
    return out.reshape(columns, rows).T.astype(TYPES[letter])


def signs(vectors):
    """Of the element of each vector whose real part is largest; None where two are so all but equally."""
    out = ''
    for v in np.asarray(vectors).real.T:
        second, first = np.argsort(abs(v))[-2:]
        if abs(v[second]) > 0.999 * abs(v[first]):
            return None
        out += '+' if v[first] > 0 else '-'
    return out


def order(values):
    """Where the values stand by their real parts: a is the least."""
    real = np.asarray(values).real
    return ''.join(chr(ord('a') + int(r)) for r in np.argsort(np.argsort(real)))


ROUTINES = dict(
    eigh_lower=lambda a: signs(lax.linalg.eigh(a, lower=True, symmetrize_input=False)[0]),
    eigh_upper=lambda a: signs(lax.linalg.eigh(a, lower=False, symmetrize_input=False)[0]),
    gesdd=lambda a: signs(lax.linalg.svd(a, full_matrices=False)[0]),
    gesvd=lambda a: signs(lax.linalg.svd(a, full_matrices=False, algorithm=lax.linalg.SvdAlgorithm.QR)[0]),
    geev=lambda a: order(lax.linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]),
)


def is_steady(routine, a, answer, rng):
    """Whether the answer is that of six neighbours too."""
    unit = np.finfo(a.dtype).eps / 2
    return answer and all(routine((a * (1 + unit * rng.integers(-2, 3, a.shape))).astype(a.dtype)) == answer for _ in range(6))


def rows():
    squares = [(n, n) for n in (6, 8, 10, 12, 16, 20, 24)]
    for name, letters, sizes in (
        ('eigh_lower', 'scdz', squares), ('eigh_upper', 'sc', squares), ('geev', 'cz', squares),
        ('gesdd', 'scdz', squares), ('gesdd', 'sc', [(12, 7), (24, 13), (7, 12), (20, 8), (8, 20)]), ('gesvd', 'sc', [(10, 10), (16, 12), (12, 16), (30, 30)])):
        for letter in letters:
            for m, n in sizes:
                if (name, letter, m, n) in LEFT_OUT:
                    continue
                rng = np.random.default_rng(0)
                for seed in range(1 + PASSED_OVER.get((name, letter, m, n), 0), 200):
                    a = matrix(letter, m, n, seed)
                    answer = ROUTINES[name](a)
                    if is_steady(ROUTINES[name], a, answer, rng):
                        yield f'    {{"{name}", \'{letter}\', {m}, {n}, {seed}, "{answer}"}},'
                        break


print('\n'.join(rows()))
