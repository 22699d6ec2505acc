#!/usr/bin/env python3
"""Writes reference.txt: special functions to 17 digits, by mpmath.

  python3 -m venv V && V/bin/pip install mpmath
  V/bin/python tests/special/make_reference.py 60 > tests/special/reference.txt

The argument is the number of points of each function. A line is: function; arguments; value, all as C's hexadecimal
floats. Arguments are f32 numbers, so that one table serves f32 and f64.
"""
import random
import struct
import sys

import mpmath as mp

mp.mp.dps = 40


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def uniform(low, high):
    return lambda r: r.uniform(low, high)


def spread(low, high):
    """Evenly in the logarithm."""
    return lambda r: float(mp.exp(r.uniform(float(mp.log(low)), float(mp.log(high)))))


def signed(one):
    return lambda r: one(r) * r.choice([-1, 1])


def either(*ones):
    return lambda r: r.choice(ones)(r)


def whole(low, high):
    return lambda r: float(r.randint(low, high))


def near_one(one):
    """1 less something: where inverse functions are steep."""
    return lambda r: 1 - one(r)


def off_poles(one):
    """Not within 0.01 of 0, -1, ...: nearer the result says more about the argument than about the function."""

    def draw(r):
        while True:
            x = one(r)
            if x > 0.01 or abs(x - round(x)) > 0.01:
                return x

    return draw


def lower_gamma(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def upper_gamma(a, x):
    return mp.gammainc(a, x, mp.inf, regularized=True)


def lower_gamma_slope(a, x):
    step = a * mp.mpf(10) ** -12
    with mp.workdps(60):
        return (lower_gamma(a + step, x) - lower_gamma(a - step, x)) / (2 * step)


def gamma_sample_slope(a, x):
    return -lower_gamma_slope(a, x) * mp.gamma(a) * mp.exp(x) / x ** (a - 1)


def zeta(x, q):
    with mp.workdps(100):  # mpmath's error is absolute, and the value may be small
        return +mp.zeta(x, q)


def normal_inverse(p):
    return mp.sqrt(2) * mp.erfinv(2 * p - 1)


def gamma_point(r):
    """a, and x not so far from it that P or Q is 0."""
    a = f32(spread(0.05, 200)(r))
    return a, f32(abs(a + r.gauss(0, 3) * a**0.5) + spread(1e-3, 1)(r))


def beta_point(r):
    a, b = f32(spread(0.1, 50)(r)), f32(spread(0.1, 50)(r))
    return a, b, f32(min(max(r.betavariate(a, b), 1e-6), 1 - 1e-6))


def spence(x):
    return mp.re(mp.polylog(2, 1 - x))


def owens_t(h, a):
    """The integral with a tangent for its variable, to where e^-72 of the integrand is left."""
    top = min(mp.atan(a), 12 / max(abs(h), mp.mpf(1)))
    with mp.workdps(25):
        parts = mp.quad(lambda v: mp.exp(-((h * mp.tan(v)) ** 2) / 2), mp.linspace(0, top, 9), method="gauss-legendre")
        return parts * mp.exp(-h * h / 2) / (2 * mp.pi)


def owens_point(r):
    h = abs(either(uniform(0, 6), spread(1e-3, 12))(r))
    return f32(h * r.choice([-1, 1])), f32(either(uniform(0, 1), spread(1e-3, 100))(r))


def off_zeros(function, size, one):
    """Points where the function, which swings by `size`, is not near 0: an ulp of it is one of its terms."""

    def draw(r):
        while True:
            point = one(r)
            if abs(function(*point)) > 0.3 * size(*point):
                return point

    return draw


def bessel_size(v, z):
    return (2 / (mp.pi * abs(z))) ** 0.5 if abs(z) > v + 1 else 0


def harmonic_point(r):
    n = r.randint(0, 16)
    return float(n), float(r.randint(-n, n)), f32(r.uniform(0, 3.14159)), f32(r.uniform(0, 6.28318))


def harmonic(n, m, theta, phi):
    return mp.re(mp.spherharm(int(n), int(m), theta, phi))


def choice_point(r):
    """n, and k not greater."""
    n = f32(either(whole(0, 60), uniform(0.1, 60))(r))
    return n, f32(min(n, either(whole(0, 60), uniform(0, 1))(r) if r.random() < 0.5 else r.uniform(0, n)))


def log_gamma_of_matrices(x, d):
    return mp.log(mp.pi) * d * (d - 1) / 4 + sum(mp.loggamma(x - mp.mpf(i) / 2) for i in range(d))


def kummer_point(r):
    """Where all terms have one sign, after the reflection for x < 0."""
    a, b, x = f32(spread(0.05, 20)(r)), f32(spread(0.05, 20)(r)), f32(either(uniform(0, 80), spread(1e-3, 80))(r))
    return (a, b, x) if r.random() < 0.5 else (a, f32(a + b), -f32(x * r.choice([1, 1, 100])))


def gauss_point(r):
    """The same: c is greater than the lesser of a and b for x < 0."""
    a, b, c = (f32(spread(0.05, 10)(r)) for _ in range(3))
    x = f32(either(uniform(-2, 1), near_one(spread(1e-6, 1)), lambda r: -spread(1e-3, 1e4)(r))(r))
    return a, b, f32(c + min(a, b)) if x < 0 else c, x


def wofz(x, y):
    with mp.workdps(60):
        z = mp.mpc(x, y)
        return mp.exp(-z * z) * mp.erfc(-1j * z)


UPPER_HALF = (either(uniform(-8, 8), signed(spread(1e-3, 100))), either(uniform(0, 8), spread(1e-3, 100)))


def each(*ones):
    return lambda r: tuple(f32(one(r)) for one in ones)


ANY = signed(spread(1e-4, 30))
POSITIVE = spread(1e-4, 1e4)
PROBABILITY = either(uniform(0, 1), spread(1e-7, 1), near_one(spread(1e-6, 1)))
FUNCTIONS = {
    "erf": (mp.erf, each(signed(spread(1e-5, 6)))),
    "erfc": (mp.erfc, each(either(uniform(-5, 9), uniform(-5, 26)))),
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), each(either(uniform(-8, 10), spread(1e-3, 1e5)))),
    "erf_inv": (mp.erfinv, each(signed(either(uniform(0, 1), spread(1e-6, 1), near_one(spread(1e-6, 1)))))),
    "ndtr": (mp.ncdf, each(uniform(-13, 6))),
    "log_ndtr": (lambda x: mp.log(mp.ncdf(x)), each(either(uniform(-30, 5), signed(spread(1e-4, 5))))),
    "ndtri": (normal_inverse, each(PROBABILITY)),
    "lgamma": (lambda x: mp.log(abs(mp.gamma(x))), each(off_poles(either(uniform(-20, 40), spread(1e-6, 1e6))))),
    "gamma": (mp.gamma, each(off_poles(either(uniform(-8, 20), spread(1e-4, 30))))),
    "digamma": (mp.digamma, each(off_poles(either(uniform(-20, 20), spread(1e-5, 1e6))))),
    "polygamma": (lambda n, x: mp.psi(int(n), x), each(whole(1, 6), either(uniform(0.05, 30), spread(0.01, 1e3)))),
    "zeta": (zeta, each(either(uniform(1.05, 20), uniform(1.05, 3)), spread(0.05, 100))),
    "betaln": (lambda a, b: mp.log(mp.beta(a, b)), each(spread(0.01, 100), spread(0.01, 100))),
    "igamma": (lower_gamma, gamma_point),
    "igammac": (upper_gamma, gamma_point),
    "igamma_grad_a": (lower_gamma_slope, gamma_point),
    "random_gamma_grad": (gamma_sample_slope, gamma_point),
    "betainc": (lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True), beta_point),
    "i0": (lambda x: mp.besseli(0, x), each(signed(spread(1e-3, 80)))),
    "i1": (lambda x: mp.besseli(1, x), each(signed(spread(1e-3, 80)))),
    "bessel_i0e": (lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), each(signed(spread(1e-3, 1e3)))),
    "bessel_i1e": (lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), each(signed(spread(1e-3, 1e3)))),
    "xlogy": (lambda x, y: x * mp.log(y), each(ANY, POSITIVE)),
    "xlog1py": (lambda x, y: x * mp.log1p(y), each(ANY, either(POSITIVE, uniform(-0.99, 1)))),
    "entr": (lambda x: -x * mp.log(x), each(POSITIVE)),
    "rel_entr": (lambda p, q: p * mp.log(p / q), each(POSITIVE, POSITIVE)),
    "kl_div": (lambda p, q: p * mp.log(p / q) - p + q, each(spread(0.01, 100), spread(0.01, 100))),
    "logit": (lambda p: mp.log(p / (1 - p)), each(PROBABILITY)),
    "expit": (lambda x: 1 / (1 + mp.exp(-x)), each(uniform(-80, 80))),
    "boxcox": (lambda x, y: mp.expm1(y * mp.log(x)) / y, each(spread(0.01, 100), signed(spread(0.01, 5)))),
    "boxcox1p": (lambda x, y: mp.expm1(y * mp.log1p(x)) / y, each(spread(0.01, 100), signed(spread(0.01, 5)))),
    "exprel": (lambda x: mp.expm1(x) / x, each(ANY)),
    "factorial": (mp.factorial, each(either(uniform(0, 33), whole(0, 33), spread(1e-4, 30)))),
    "comb": (mp.binomial, choice_point),
    "poch": (mp.rf, each(spread(0.05, 30), uniform(0, 10))),
    "multigammaln": (lambda x: log_gamma_of_matrices(x, 3), each(either(uniform(1.05, 40), spread(1.01, 1e4)))),
    "exp1": (mp.e1, each(spread(1e-4, 80))),
    "expi": (mp.ei, each(signed(spread(1e-3, 80)))),
    "dawsn": (lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), each(signed(spread(1e-3, 100)))),
    "sinc": (lambda x: mp.sinc(mp.pi * x), each(off_poles(signed(spread(1e-3, 20))))),
    "spence": (spence, each(either(uniform(0, 4), spread(1e-6, 1e6)))),
    "sici_si": (mp.si, each(signed(either(uniform(0, 10), spread(1e-4, 1e4))))),
    "sici_ci": (mp.ci, off_zeros(mp.ci, lambda x: min(1, 1 / x), each(either(uniform(0, 10), spread(1e-4, 1e4))))),
    "fresnel_s": (mp.fresnels, each(signed(either(uniform(0, 4), spread(1e-4, 1e3))))),
    "fresnel_c": (mp.fresnelc, each(signed(either(uniform(0, 4), spread(1e-4, 1e3))))),
    "expn": (lambda n, x: mp.expint(int(n), x), each(whole(0, 12), either(uniform(0, 2), spread(1e-5, 60)))),
    "bessel_jn": (lambda v, z: mp.besselj(int(v), z), off_zeros(mp.besselj, bessel_size, each(whole(0, 8), signed(either(uniform(0, 60), spread(1e-2, 1e4)))))),
    "sph_harm_y": (harmonic, harmonic_point),
    "owens_t": (owens_t, owens_point),
    "hyp1f1": (mp.hyp1f1, kummer_point),
    "wofz_re": (lambda x, y: mp.re(wofz(x, y)), each(*UPPER_HALF)),
    "wofz_im": (lambda x, y: mp.im(wofz(x, y)), each(*UPPER_HALF)),
    "hyp2f1": (mp.hyp2f1, gauss_point),
    "loggamma_re": (lambda x, y: mp.re(mp.loggamma(mp.mpc(x, y))), each(either(uniform(-8, 8), off_poles(spread(1e-3, 100))), signed(spread(1e-2, 30)))),
    "loggamma_im": (lambda x, y: mp.im(mp.loggamma(mp.mpc(x, y))), each(either(uniform(-8, 8), off_poles(spread(1e-3, 100))), signed(spread(1e-2, 30)))),
}


def main():
    count = int(sys.argv[1])
    for name, (function, draw) in FUNCTIONS.items():
        r = random.Random(name)
        for _ in range(count):
            point = draw(r)
            value = float(function(*map(mp.mpf, point)))
            print(f"{name};{','.join(x.hex() for x in point)};{value.hex()}")


if __name__ == "__main__":
    main()
