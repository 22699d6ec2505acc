"""Functions of one and two numbers, where they are smooth and where they are not."""
import jax
import jax.numpy as jnp
import jax.scipy.special as sp
from jax import lax, nn

from jax_modes import each, pair, points

INF, NAN = float("inf"), float("nan")
CASES = {}


def one(name, f, *xs):
    CASES[name] = (each(f), [points(*xs)])


def slope(name, f, *xs):
    """Of what JAX has no second derivative of."""
    CASES[name] = (jax.vmap(jax.grad(f)), [points(*xs)])


def two(name, f, *at):
    xs, ys = zip(*at)
    CASES[name] = (pair(f), [points(*xs), points(*ys)])


one("abs", jnp.abs, -1.5, 0, 2)
one("acos", jnp.arccos, -0.9, 0.3, 0.999)
one("acosh", jnp.arccosh, 1.001, 1.5, 300)
one("asin", jnp.arcsin, -0.9, 0, 0.3)
one("asinh", jnp.arcsinh, -2, 0, 1e5)
one("atan", jnp.arctan, -2, 0, 1e5)
one("atanh", jnp.arctanh, -0.9, 0, 0.999)
one("cbrt", jnp.cbrt, -8, 1e-3, 0.7)
one("ceil", jnp.ceil, -0.5, 0, 0.5)
one("cos", jnp.cos, -2, 0, 100)
one("cosh", jnp.cosh, -2, 0, 20)
one("erf", lax.erf, -6, 0, 0.4, 1)
one("exp", jnp.exp, -800, 0, 3)
one("exp2", jnp.exp2, -3, 0, 2.5)
one("expm1", jnp.expm1, -40, 0, 1e-12, 3)
one("floor", jnp.floor, -0.5, 0, 0.5)
one("log", jnp.log, 1e-100, 1, 5)
one("log10", jnp.log10, 0.3, 5)
one("log1p", jnp.log1p, -0.5, 0, 1e-14, 5)
one("log2", jnp.log2, 0.3, 5)
one("logistic", lax.logistic, -800, -30, 0, 1, 30, 800)
one("negative", jnp.negative, -1, 0)
one("reciprocal", jnp.reciprocal, -0.5, 3)
one("round", jnp.round, -0.5, 0.7)
one("rsqrt", lax.rsqrt, 1e-10, 4)
one("sign", jnp.sign, -1, 0, 2)
one("sin", jnp.sin, -2, 0, 1e5)
one("sinh", jnp.sinh, -2, 0, 20)
one("sqrt", jnp.sqrt, 0, 1e-30, 2)
one("square", jnp.square, -1, 0, 3)
one("tan", jnp.tan, -1, 0, 1.5)
one("tanh", jnp.tanh, -20, 0, 0.5, 400)
one("trunc", jnp.trunc, -0.5, 0.5)
one("deg2rad", jnp.deg2rad, 90)
one("rad2deg", jnp.rad2deg, 2)
one("nan_to_num", jnp.nan_to_num, -INF, NAN, 1, INF)
one("around", lambda x: jnp.around(x, 1), 0.27)
one("pow_0", lambda x: x**0, -2, 0, 3)
one("pow_1", lambda x: x**1, -2, 0, 3)
one("pow_2", lambda x: x**2, -2, 0, 3)
one("pow_3", lambda x: x**3, -2, 0, 3)
one("pow_-2", lambda x: x**-2, -2, 3)
one("pow_half", lambda x: x**0.5, 0, 3)
one("pow_2.5", lambda x: x**2.5, 0, 3)
one("pow_of_2", lambda x: 2.0**x, -2, 0, 3)
one("sqrt_of_square", lambda x: jnp.sqrt(x * x), -2, 0, 3)
one("guarded_sqrt", lambda x: jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1)), 0), -1, 0, 2)
one("unguarded_sqrt", lambda x: jnp.where(x > 0, jnp.sqrt(x), 0), -1, 0, 2)
one("unguarded_log", lambda x: jnp.where(x > 0, jnp.log(x), x), -1, 0, 2)
one("clip", lambda x: jnp.clip(x, -1, 1), -2, -1, 0.5, 1, 2)
one("stopped", lambda x: lax.stop_gradient(x) * x * x, -2, 3)

two("add_multiply", lambda x, y: x + y * x, (1, 2), (-3, 0))
two("divide", jnp.divide, (1, 2), (0, 3), (-3, -0.1))
two("power", jnp.power, (2, 3), (0.5, -1.5), (3, 0), (1, 0))
two("power_of_0", jnp.power, (0, 3), (0, 4.5))  # not (0, 0..2): JAX multiplies 0 by infinity
two("power_of_negative", lambda x, y: jnp.power(x, lax.stop_gradient(y)), (-2, 3), (-2, -1))
two("maximum", jnp.maximum, (1, 2), (2, 1), (1, 1), (0, 0))
two("minimum", jnp.minimum, (1, 2), (2, 1), (1, 1), (0, 0))
two("atan2", jnp.arctan2, (0, 1), (1, 0), (-1, 0), (0, -1), (1, 2), (-2, -0.5))
two("rem", lax.rem, (5.5, 2), (-5.5, 2), (5.5, -2))
two("mod", jnp.mod, (5.5, 2), (-5.5, 2), (5.5, -2))
two("fmod", jnp.fmod, (5.5, 2), (-5.5, 2), (5.5, -2))
two("floor_divide", jnp.floor_divide, (5.5, 2), (-5.5, 2))
two("copysign", jnp.copysign, (5.5, -2), (-5.5, -2))
two("hypot", jnp.hypot, (3, 4), (-1, 0), (0, 2))
two("logaddexp", jnp.logaddexp, (0, 0), (800, 801), (-3, 5), (-INF, 1))
two("logaddexp2", jnp.logaddexp2, (0, 0), (800, 801), (-3, 5))
two("fmax", jnp.fmax, (1, 2), (2, 1), (1, 1))
two("fmin", jnp.fmin, (1, 2), (2, 1), (1, 1))
two("where", lambda x, y: jnp.where(x > y, x * y, x - y), (1, 2), (2, 1), (1, 1))
two("heaviside", jnp.heaviside, (1, 2), (-2, 1))

one("lgamma", sp.gammaln, -2.5, 0.1, 1, 2, 30)
one("gamma", sp.gamma, -2.5, 0.1, 1, 5)
one("digamma", sp.digamma, 0.1, 1.4616321449683623, 30)
one("erfc", sp.erfc, -3, 0, 1, 10)
one("erf_inv", sp.erfinv, -0.9, 0, 1e-8, 0.999999)
one("ndtr", sp.ndtr, -10, 0, 2)
one("log_ndtr", sp.log_ndtr, -6, -1, 0, 3, 6, 10)  # not -21, where JAX is off by 3e-9
one("ndtri", sp.ndtri, 1e-8, 0.1, 0.5, 0.9)
one("expit", sp.expit, -30, 0, 3)
one("logit", sp.logit, 1e-8, 0.5, 0.9)
one("entr", sp.entr, 0.2, 1, 3)
one("i0", sp.i0, -2, 1, 9)
one("i1", sp.i1, -2, 1, 9)
slope("i1_at_0", sp.i1, 0)  # not that of i0, which is 0, and 1 in JAX
one("i0e", sp.i0e, -2, 1, 9, 100)
slope("i0e_at_0", sp.i0e, 0)  # a corner
one("i1e", sp.i1e, -2, 1e-3, 1, 9, 100)
slope("i1e_at_0", sp.i1e, 0)
one("polygamma_1", lambda x: sp.polygamma(1, x), 0.5, 3)
one("polygamma_3", lambda x: sp.polygamma(3, x), 0.5, 3)
one("zeta_by_q", lambda q: sp.zeta(2.5, q), 0.5, 3)
one("multigammaln", lambda x: sp.multigammaln(x, 3), 1.5, 8)
one("expi", sp.expi, -3, 0.5, 4)
slope("exp1", sp.exp1, 0.5, 4)
slope("expn_2", lambda x: sp.expn(2, x), 0.5, 4)
one("spence", sp.spence, 0.3, 0.999, 4)  # not 1.5, where JAX has NaN
one("factorial", sp.factorial, 0.5, 3)
one("sinc", jnp.sinc, -1, 0, 0.5)  # not 1e-9, where JAX cancels
one("igamma_by_x", lambda x: sp.gammainc(2.5, x), 0.1, 2, 9)
one("igammac_by_x", lambda x: sp.gammaincc(2.5, x), 0.1, 2, 9)
one("betainc_by_x", lambda x: sp.betainc(2.5, 1.5, x), 0.1, 0.5, 0.99)
slope("igamma_by_a", lambda a: sp.gammainc(a, 2.5), 0.5, 2.5, 20)
two("betaln", sp.betaln, (0.5, 2), (3, 4))  # not (3, 30), where JAX is off by 1e-9
two("xlogy", sp.xlogy, (2, 3), (0, 3), (-1, 0.5))
two("xlogy_0_0", lambda x, y: sp.xlogy(lax.stop_gradient(x), y), (0, 3))
two("xlog1py", sp.xlog1py, (2, 3), (0, 3), (-1, -0.5))
two("rel_entr", sp.rel_entr, (2, 3), (1, 1))
two("kl_div", sp.kl_div, (2, 3), (1, 1))
two("poch", sp.poch, (2, 1.5), (0.5, 3))
one("hyp1f1_by_x", lambda x: sp.hyp1f1(0.7, 1.6, x), 0.3, 4)

one("relu", nn.relu, -1, 0, 2)
one("relu6", nn.relu6, -1, 0, 2, 6, 7)
one("leaky_relu", nn.leaky_relu, -1, 0, 2)
one("elu", nn.elu, -40, -1, 0, 2)
one("celu", lambda x: nn.celu(x, 2.0), -40, -1, 0, 2)
one("selu", nn.selu, -40, -1, 0, 2)
one("silu", nn.silu, -800, -1, 0, 2)
one("mish", nn.mish, -40, -1, 0, 2)
one("softplus", nn.softplus, -800, -40, 0, 1, 800)
one("soft_sign", nn.soft_sign, -1, 0, 2)
one("log_sigmoid", nn.log_sigmoid, -800, -1, 0, 40)
one("squareplus", nn.squareplus, -1, 0, 2)
one("sparse_plus", nn.sparse_plus, -2, -0.5, 0.5, 2)
one("hard_tanh", nn.hard_tanh, -2, -1, 0.5, 1, 2)
one("hard_sigmoid", nn.hard_sigmoid, -4, 0.5, 4)
one("hard_silu", nn.hard_silu, -4, 0.5, 4)
one("gelu_tanh", lambda x: nn.gelu(x, approximate=True), -20, -1, 0, 2)
one("gelu_erf", lambda x: nn.gelu(x, approximate=False), -20, -1, 0, 2)
one("log1mexp", nn.log1mexp, 1e-3, 0.69, 0.7, 5)
