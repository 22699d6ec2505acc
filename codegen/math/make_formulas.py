#!/usr/bin/env python3
"""Writes formulas_coefficients.h: minimax polynomials for formulas.h, by Remez exchange.

  python3 make_formulas.py > formulas_coefficients.h        (needs mpmath; about a minute)

Each polynomial minimises the largest |weight(x) * (target(x) - p(x))| on a grid of the interval.
The leading coefficients are rounded to the scalar type one at a time, and the rest is fitted again
to make up for it. The error that is left, in bits, stands above each array.
"""
import struct
import sys

from mpmath import mp, mpf

mp.dps = 60


def rounded(value, is_float):
    if is_float:
        return mpf(struct.unpack("f", struct.pack("f", float(value)))[0])
    return mpf(float(value))


def solve(points, values, weights, count, offset):
    """The polynomial whose weighted error alternates between +-level on count + 1 points."""
    rows = mp.matrix(count + 1, count + 1)
    right = mp.matrix(count + 1, 1)
    for i, x in enumerate(points):
        power = x**offset
        for j in range(count):
            rows[i, j] = power
            power *= x
        rows[i, count] = (-1) ** i / weights[i]
        right[i] = values[i]
    solution = mp.lu_solve(rows, right)
    return [solution[j] for j in range(count)], abs(solution[count])


def evaluate(coefficients, offset, x):
    total = mpf(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total * x**offset


def exchange(errors, count):
    """Indices of count + 1 alternating extremes of the error."""
    runs = []
    for i, e in enumerate(errors):
        if runs and (errors[runs[-1]] > 0) == (e > 0):
            if abs(e) > abs(errors[runs[-1]]):
                runs[-1] = i
        else:
            runs.append(i)
    while len(runs) > count + 1:
        if abs(errors[runs[0]]) < abs(errors[runs[-1]]):
            runs.pop(0)
        else:
            runs.pop()
    return runs


def remez(grid, values, weights, count, offset):
    n = len(grid)
    # The grid itself is Chebyshev spaced, so equal steps in it are Chebyshev points.
    chosen = [round((n - 1) * i / count) for i in range(count + 1)]
    best = None
    for _ in range(30):
        coefficients, level = solve([grid[i] for i in chosen], [values[i] for i in chosen],
                                    [weights[i] for i in chosen], count, offset)
        errors = [w * (v - evaluate(coefficients, offset, x))
                  for x, v, w in zip(grid, values, weights)]
        largest = max(abs(e) for e in errors)
        if best is None or largest < best[0]:
            best = (largest, coefficients)
        following = exchange(errors, count)
        if len(following) < count + 1 or following == chosen or largest < level * mpf("1.001"):
            break
        chosen = following
    return best[1], best[0]


def least_squares(grid, values, weights, count, offset):
    """As remez, by Lawson's reweighted least squares: also for intervals with zero inside."""
    columns = [[w * x ** (offset + j) for x, w in zip(grid, weights)] for j in range(count)]
    goal = [w * v for v, w in zip(values, weights)]
    lawson = [mpf(1)] * len(grid)
    best = None
    for _ in range(12):
        normal = mp.matrix(count, count)
        right = mp.matrix(count, 1)
        for i in range(count):
            scaled = [a * b for a, b in zip(lawson, columns[i])]
            right[i] = mp.fdot(scaled, goal)
            for j in range(i, count):
                normal[i, j] = normal[j, i] = mp.fdot(scaled, columns[j])
        solution = mp.lu_solve(normal, right)
        coefficients = [solution[j] for j in range(count)]
        errors = [abs(w * (v - evaluate(coefficients, offset, x)))
                  for x, v, w in zip(grid, values, weights)]
        largest = max(errors)
        if best is None or largest < best[0]:
            best = (largest, coefficients)
        lawson = [a * (e / largest + mpf("0.01")) for a, e in zip(lawson, errors)]
    return best[1], best[0]


def fit(target, weight, low, high, count, is_float):
    """count coefficients of the scalar type, and the error left."""
    n = 24 * (count + 2)
    low, high = mpf(low), mpf(high)
    grid = [low + (high - low) * (1 - mp.cos(mp.pi * (i + mpf(1) / 2) / n)) / 2 for i in range(n)]
    exact = [target(x) for x in grid]
    weights = [weight(x) for x in grid]
    approximate = least_squares if low < 0 < high else remez
    done = []
    sequential = count if is_float else min(3, count)
    for i in range(sequential):
        values = [v - evaluate(done, 0, x) for x, v in zip(grid, exact)]
        free, _ = approximate(grid, values, weights, count - i, i)
        done.append(rounded(free[0], is_float))
    if sequential < count:
        values = [v - evaluate(done, 0, x) for x, v in zip(grid, exact)]
        free, _ = approximate(grid, values, weights, count - sequential, sequential)
        done += [rounded(c, is_float) for c in free]
    error = max(abs(w * (v - evaluate(done, 0, x))) for x, v, w in zip(grid, exact, weights))
    return done, error


def series(function, start, step=1):
    """The Taylor series of function from term `start`, every `step`-th: sum c[start+k*step] u^k."""
    terms = mp.taylor(function, 0, start + 60 * step)[start::step]
    return lambda u: mp.polyval(terms[::-1], u)


def factorial_tail(start, step, alternating):
    """sum over k of (+-1)^k u^k / (start + k*step)!"""
    sign = -1 if alternating else 1
    return lambda u: mp.fsum((sign * u) ** k / mp.factorial(start + k * step) for k in range(40))


def log_rest(f):
    """(log(1+f) - f + f^2/2) / f^3"""
    if abs(f) < mpf("0.01"):
        return mp.fsum((-1) ** k * f**k / (k + 3) for k in range(40))
    return (mp.log1p(f) - f + f * f / 2) / f**3


def atanh_rest(first):
    """sum over k of 2 z^k / (2k + first), the tail of log((1+s)/(1-s)) / s in z = s^2."""
    return lambda z: mp.fsum(2 * z**k / (2 * k + first) for k in range(60))


def atan_rest(u):
    """(atan(q) - q) / q^3 in u = q^2"""
    if u < mpf("0.001"):
        return mp.fsum((-1) ** (k + 1) * u**k / (2 * k + 3) for k in range(40))
    q = mp.sqrt(u)
    return (mp.atan(q) - q) / q**3


def tanh_rest(u):
    """(tanh(x) - x) / x^3 in u = x^2"""
    if u < mpf("1e-12"):
        return -mpf(1) / 3 + 2 * u / 15
    x = mp.sqrt(u)
    return (mp.tanh(x) - x) / x**3


def half_coth_rest(u):
    """(r coth(r/2) - 2) / r^2 in u = r^2"""
    if u < mpf("1e-12"):
        return mpf(1) / 6 - u / 360
    r = mp.sqrt(u)
    return (r * mp.coth(r / 2) - 2) / u


def a_coth_rest(u):
    """(a coth(a) - 1) / a^2 in u = a^2"""
    if u < mpf("1e-12"):
        return mpf(1) / 3 - u / 45
    a = mp.sqrt(u)
    return (a * mp.coth(a) - 1) / u


def half_expm1_rest(r):
    """((e^2r - 1) / 2 - r) / r^2"""
    if abs(r) < mpf("1e-12"):
        return 1 + 2 * r / 3
    return (mp.expm1(2 * r) / 2 - r) / r**2


def log2_rest(f):
    """log2(1+f) / f"""
    if abs(f) < mpf("1e-12"):
        return (1 - f / 2) / mp.log(2)
    return mp.log1p(f) / f / mp.log(2)


def exp2_rest(r):
    """(2^r - 1) / r"""
    if abs(r) < mpf("1e-12"):
        return mp.log(2) * (1 + mp.log(2) * r / 2)
    return mp.expm1(mp.log(2) * r) / r


def erf_rest(u):
    """erf(x) / x - 1 in u = x^2"""
    x = mp.sqrt(u)
    return mp.erf(x) / x - 1


def polynomials(is_float):
    half_ln2 = mp.log(2) / 2 * mpf("1.001")
    quarter = (mp.pi / 4 * mpf("1.01")) ** 2
    atanh_high = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mpf("1.0001")
    atan_high = (mp.sqrt(2) - 1) ** 2 * mpf("1.0001")
    erf_one, erf_middle = mpf("3.92"), rounded(mpf("2.46"), True)

    def pick(a, b):
        return a if is_float else b

    yield ("exp", "(exp(r) - 1 - r) / r^2 for |r| <= ln(2)/2", factorial_tail(2, 1, False),
           lambda r: r * r, -half_ln2, half_ln2, pick(6, 11))
    if is_float:
        yield ("log", "(log(1+f) - f + f^2/2) / f^3 for 1+f in [sqrt(1/2), sqrt(2)]", log_rest,
               lambda f: abs(f * f), mp.sqrt(mpf(1) / 2) - 1, mp.sqrt(2) - 1, 9)
    else:
        yield ("log", "(2 atanh(s) - 2s) / s^3 in s^2, for s = f/(2+f)", atanh_rest(3),
               lambda z: z, 0, atanh_high, 7)
        yield ("log_tail", "(2 atanh(s) - 2s - 2s^3/3) / s^5 in s^2", atanh_rest(5),
               lambda z: z * z, 0, atanh_high, 8)
    if is_float:
        yield ("a_coth", "(a coth(a) - 1) / a^2 in a^2 for |a| <= 0.26", a_coth_rest,
               lambda u: u, 0, mpf("0.26") ** 2, 2)
        yield ("half_expm1", "((e^2r - 1) / 2 - r) / r^2 for |r| <= ln(2)/4", half_expm1_rest,
               lambda r: r, -half_ln2 / 2, half_ln2 / 2, 5)
    else:
        yield ("half_coth", "(r coth(r/2) - 2) / r^2 in r^2 for |r| <= 0.5005 ln(2)",
               half_coth_rest, lambda u: u / 2, 0, (mpf("0.5005") * mp.log(2)) ** 2, 5)
    if not is_float:
        yield ("tanh", "(tanh(x) - x) / x^3 in x^2 for |x| <= 1", tanh_rest,
               lambda u: u, 0, 1, 16)
    yield ("sinh", "(sinh(x) - x) / x^3 in x^2 for |x| <= 1", factorial_tail(3, 2, False),
           lambda u: u, 0, 1, pick(4, 8))
    yield ("sin", "(sin(r) - r) / r^3 in r^2 for |r| <= pi/4",
           lambda u: -factorial_tail(3, 2, True)(u), lambda u: u, 0, quarter, pick(3, 6))
    yield ("cos", "(cos(r) - 1 + r^2/2) / r^4 in r^2 for |r| <= pi/4", factorial_tail(4, 2, True),
           lambda u: u * u, 0, quarter, pick(3, 6))
    yield ("atan", "(atan(q) - q) / q^3 in q^2 for |q| <= tan(pi/8)", atan_rest,
           lambda u: u, 0, atan_high, pick(5, 11))
    yield ("erf", "erf(x)/x - 1 in x^2 for |x| <= 1", erf_rest,
           lambda u: mpf(1), 0, 1, pick(7, 13))
    if is_float:
        yield ("erfc", "erfc(2.46 + t) for 2.46 + t in [1, 3.92]",
               lambda t: mp.erfc(erf_middle + t), lambda t: mpf(1),
               1 - erf_middle, erf_one - erf_middle, 16)
    else:
        yield ("erfc_log", "log(erfc(1 + t)) for t <= 5", lambda t: mp.log(mp.erfc(1 + t)),
               lambda t: mp.erfc(1 + t), 0, 5, 19)
    yield ("cbrt", "m^(-1/3) for m in [1, 2]", lambda m: mp.cbrt(1 / m),
           lambda m: mpf(1), 1, 2, pick(4, 6))
    if not is_float:
        yield ("log2_for_single", "log2(1+f) / f for 1+f in [sqrt(1/2), sqrt(2)]", log2_rest,
               lambda f: mpf(1), mp.sqrt(mpf(1) / 2) - 1, mp.sqrt(2) - 1, 13)
        yield ("exp2_for_single", "(2^r - 1) / r for |r| <= 1/2", exp2_rest,
               lambda r: abs(r), mpf(-1) / 2, mpf(1) / 2, 6)


def text(value, is_float):
    if is_float:
        return "%.9gF" % float(value) if "." in "%.9g" % float(value) or "e" in "%.9g" % float(
            value) else "%.1fF" % float(value)
    return repr(float(value))


def parts(value, widths, is_float):
    """value as a sum of scalars; part i has only widths[i] bits."""
    result = []
    for width in widths:
        with mp.workprec(400):
            scale = mpf(2) ** (width - 1 - int(mp.floor(mp.log(abs(value), 2))))
            part = mp.nint(value * scale) / scale
            result.append(part)
            value = value - part
    return result


def constants(is_float):
    with mp.workprec(400):
        ln2, pi = mp.log(2), +mp.pi
        width = 24 if is_float else 53
        short = width - (9 if is_float else 12)
        hi, lo = parts(ln2, [short, width], is_float)
        yield "ln2_hi", hi
        yield "ln2_lo", lo
        yield "ln2", ln2
        hi, lo = parts(1 / ln2, [width] * 2, is_float)
        yield "log2_e", hi
        yield "log2_e_lo", lo
        yield "twice_log2_e", 2 / ln2
        if is_float:
            yield "half_ln2", ln2 / 2
        yield "two_over_pi", 2 / pi
        for i, part in enumerate(parts(pi / 2, [width] * 3, is_float)):
            yield "half_pi_%d" % (i + 1), part
        if not is_float:
            hi, lo = parts(mpf(2) / 3, [width] * 2, is_float)
            yield "two_thirds_hi", hi
            yield "two_thirds_lo", lo
        hi, lo = parts(pi / 4, [width - 2, width], is_float)
        yield "quarter_pi_hi", hi
        yield "quarter_pi_lo", lo
        yield "cbrt_half", mp.cbrt(mpf(1) / 2)
        yield "cbrt_quarter", mp.cbrt(mpf(1) / 4)


def main():
    print("// Minimax polynomials and split constants for formulas.h, a set for each scalar type.")
    print("// Written by make_formulas.py (Remez exchange); do not edit.")
    print("#pragma once\n\n#include <array>\n\nnamespace heddle::cpu {\n")
    print("// The numbers that differ between float and double.\n"
          "template <class Scalar>\nstruct Coefficients;")
    for is_float in (True, False):
        scalar = "float" if is_float else "double"
        print("\ntemplate <>\nstruct Coefficients<%s> {" % scalar)
        for name, value in constants(is_float):
            print("  static constexpr %s %s = %s;" % (scalar, name, text(value, is_float)))
        for name, comment, target, weight, low, high, count in polynomials(is_float):
            coefficients, error = fit(target, weight, low, high, count, is_float)
            print("  // %s: error 2^%.1f." % (comment, float(mp.log(error, 2))))
            print("  static constexpr std::array<%s, %d> %s{" % (scalar, count, name))
            for i in range(0, count, 3):
                line = ", ".join(text(c, is_float) for c in coefficients[i:i + 3])
                print("      %s," % line)
            print("  };")
            print(scalar, name, count, "2^%.1f" % float(mp.log(error, 2)), file=sys.stderr)
        print("};")
    print("\n}  // namespace heddle::cpu")


if __name__ == "__main__":
    main()
