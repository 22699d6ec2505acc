#!/usr/bin/env python3
"""Writes derivatives.txt: first and second derivatives where terms of a formula cancel or overflow, by mpmath.

  V/bin/python tests/special/make_derivatives.py > tests/special/derivatives.txt

make_reference.py says how V is made. A line is: function; x; first; second derivative, as C's hexadecimal floats.
"""
import mpmath as mp

mp.mp.dps = 60
NEAR_0 = [0.0, 1e-12, 1e-6, 1e-3]
INSIDE = [*NEAR_0, -1e-9, 0.3, 0.499, 0.5, -0.501, 0.9, 1 - 1e-10]
FAR = [2.0, 1e8, 1e60, 1e76, 1e78, 1e100, 1e150, 1e153]

FUNCTIONS = {
    "asin": (mp.asin, INSIDE),
    "acos": (mp.acos, INSIDE),
    "atanh": (mp.atanh, INSIDE),
    "asinh": (mp.asinh, [*NEAR_0, *FAR, 1e160, 1e300, -1e160]),
    "acosh": (mp.acosh, [1 + 1e-10, *FAR, 1e160, 1e300]),
    "tanh": (mp.tanh, [*NEAR_0, 1e-9, -0.3, 1.0]),
    "i0": (lambda x: mp.besseli(0, x), [*NEAR_0, 1e-8, -1e-8, 0.5, 5.0, -8.0, 9.0, 50.0]),
    **{f"bessel_jn {n}": (lambda x, n=n: mp.besselj(n, x), [0.0, 1e-6, -1e-6, 1e-3, 0.1, 1.0, 20.0, 30.0])
       for n in range(4)},
}


def derivative(function, x, order):
    value = mp.diff(function, mp.mpf(x), order, h=mp.mpf(10) ** -25 * (abs(x) if x else 1))
    least = mp.mpf(10) ** (-310 if x else -40)  # of a difference
    return float(mp.re(value) if abs(value) > least else 0)


def main():
    mp.mp.dps = 120
    for name, (function, points) in FUNCTIONS.items():
        for x in points:
            first, second = (derivative(function, x, order) for order in (1, 2))
            print(f"{name};{x.hex()};{first.hex()};{second.hex()}")


if __name__ == "__main__":
    main()
