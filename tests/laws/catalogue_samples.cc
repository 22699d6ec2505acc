#include "heddle/tests/laws/function_samples.h"

namespace heddle::laws {
namespace {

using Tensors = std::vector<Tensor>;
using In = const Inputs&;

std::vector<FunctionSample> matrices() {
  using namespace linalg;
  return {
      {"linalg::cholesky", [](In i) { return Tensors{cholesky(i.m)}; }},
      {"linalg::triangular_solve", [](In i) { return Tensors{triangular_solve(i.m, i.m)}; }},
      {"linalg::lu", [](In i) { return members_of(lu(i.m)); }},
      {"linalg::lu_pivots_to_permutation",
       [](In i) { return Tensors{lu_pivots_to_permutation(i.rows, 3)}; }, false},
      {"linalg::qr", [](In i) { return members_of(qr(i.m)); }},
      {"linalg::matrix_power", [](In i) { return Tensors{matrix_power(i.m, 5)}; }},
      {"linalg::expm", [](In i) { return Tensors{expm(i.m)}; }},
      {"linalg::norm", [](In i) { return Tensors{linalg::norm(i.x)}; }},
      {"linalg::solve", [](In i) { return Tensors{solve(i.m, i.m)}; }},
      {"linalg::inv", [](In i) { return Tensors{inv(i.m)}; }},
      {"linalg::det", [](In i) { return Tensors{det(i.m)}; }},
      {"linalg::slogdet", [](In i) { return members_of(slogdet(i.m)); }},
      {"linalg::lstsq", [](In i) { return members_of(lstsq(i.m, i.m)); }},
      {"linalg::pinv", [](In i) { return Tensors{pinv(i.m)}; }},
      {"linalg::matrix_rank", [](In i) { return Tensors{matrix_rank(i.m)}; }},
      {"linalg::eigh", [](In i) { return members_of(eigh(i.m)); }},
      {"linalg::eigvalsh", [](In i) { return Tensors{eigvalsh(i.m)}; }},
      {"linalg::svd", [](In i) { return members_of(svd(i.m)); }},
      {"linalg::svdvals", [](In i) { return Tensors{svdvals(i.m)}; }},
  };
}

std::vector<FunctionSample> more_matrices() {
  using namespace linalg;
  return {
      {"linalg::multi_dot",
       [](In i) {
         return Tensors{multi_dot({i.square, i.x, i.pair})};
       }},
      {"linalg::trace", [](In i) { return Tensors{linalg::trace(i.m)}; }},
      {"linalg::polar", [](In i) { return members_of(polar(i.m)); }},
      {"linalg::vector_norm", [](In i) { return Tensors{vector_norm(i.m)}; }},
      {"linalg::matrix_norm", [](In i) { return Tensors{matrix_norm(i.m)}; }},
      {"linalg::cond", [](In i) { return Tensors{cond(i.m)}; }},
      {"linalg::lu_solve", [](In i) { return Tensors{lu_solve(lu(i.m), i.m)}; }},
      {"linalg::solve_triangular", [](In i) { return Tensors{solve_triangular(i.m, i.m)}; }},
      {"linalg::tridiagonal_solve",
       [](In i) { return Tensors{tridiagonal_solve(i.v, i.v, i.v, i.m)}; }},
      {"linalg::cho_solve", [](In i) { return Tensors{cho_solve(i.m, i.m)}; }},
      {"linalg::tensorsolve", [](In i) { return Tensors{tensorsolve(i.square, i.v)}; }},
      {"linalg::tensorinv", [](In i) { return Tensors{tensorinv(i.square, 1)}; }},
      {"linalg::householder_product",
       [](In i) { return Tensors{householder_product(i.square, i.pair)}; }},
      {"linalg::hessenberg", [](In i) { return members_of(hessenberg(i.m)); }},
      {"linalg::schur", [](In i) { return members_of(schur(i.m)); }},
      {"linalg::rsf2csf", [](In i) { return members_of(rsf2csf(i.m, i.m)); }},
      {"linalg::sqrtm", [](In i) { return Tensors{sqrtm(i.m)}; }},
      {"linalg::funm",
       [](In i) { return Tensors{funm(i.m, [](const Tensor& w) { return exp(w); })}; }},
      {"linalg::solve_sylvester", [](In i) { return Tensors{solve_sylvester(i.m, i.m, i.m)}; }},
      {"linalg::eig", [](In i) { return members_of(eig(i.m)); }},
      {"linalg::eigvals", [](In i) { return Tensors{eigvals(i.m)}; }},
      {"linalg::eigh_tridiagonal", [](In i) { return members_of(eigh_tridiagonal(i.v, i.pair)); }},
      {"linalg::roots", [](In i) { return Tensors{roots(i.v)}; }},
      {"linalg::polyfit", [](In i) { return Tensors{polyfit(i.v, i.v, 1)}; }},
      {"linalg::block_diag",
       [](In i) {
         return Tensors{block_diag({i.x, i.v})};
       }},
      {"linalg::toeplitz", [](In i) { return Tensors{toeplitz(i.v)}; }},
      {"linalg::hankel", [](In i) { return Tensors{hankel(i.v)}; }},
      {"linalg::circulant", [](In i) { return Tensors{circulant(i.v)}; }},
      {"linalg::companion", [](In i) { return Tensors{companion(i.v)}; }},
      {"linalg::leslie", [](In i) { return Tensors{leslie(i.v, i.pair)}; }},
      {"linalg::hilbert", [](In i) { return Tensors{hilbert(3, i.t)}; }},
      {"linalg::hadamard", [](In i) { return Tensors{hadamard(4, i.t)}; }},
  };
}

std::vector<FunctionSample> special_functions() {
  namespace sp = special;
  return {
      one("special::i0", sp::i0),
      one("special::i1", sp::i1),
      one("special::bessel_i0e", sp::bessel_i0e),
      one("special::bessel_i1e", sp::bessel_i1e),
      one("special::i0e", sp::i0e),
      {"special::kaiser", [](In i) { return Tensors{sp::kaiser(4, 8.6, i.t)}; }},
      one("special::exp1", sp::exp1),
      one("special::expi", sp::expi),
      one("special::dawsn", sp::dawsn),
      one("special::factorial", sp::factorial),
      two("special::comb", sp::comb),
      two("special::poch", sp::poch),
      {"special::multigammaln", [](In i) { return Tensors{sp::multigammaln(i.x, 2)}; }},
      one("special::i1e", sp::i1e),
      one("special::lgamma", sp::lgamma),
      one("special::gammasgn", sp::gammasgn),
      one("special::gamma", sp::gamma),
      one("special::gammaln", sp::gammaln),
      two("special::betaln", sp::betaln),
      one("special::digamma", sp::digamma),
      two("special::polygamma", sp::polygamma),
      two("special::zeta", sp::zeta),
      two("special::igamma", sp::igamma),
      two("special::igammac", sp::igammac),
      two("special::gammainc", sp::gammainc),
      two("special::gammaincc", sp::gammaincc),
      two("special::igamma_grad_a", sp::igamma_grad_a),
      two("special::random_gamma_grad", sp::random_gamma_grad),
      {"special::betainc", [](In i) { return Tensors{sp::betainc(i.x, i.y, i.x)}; }},
      two("special::xlogy", sp::xlogy),
      two("special::xlog1py", sp::xlog1py),
      one("special::entr", sp::entr),
      two("special::rel_entr", sp::rel_entr),
      two("special::kl_div", sp::kl_div),
      one("special::logit", sp::logit),
      one("special::expit", sp::expit),
      two("special::boxcox", sp::boxcox),
      two("special::boxcox1p", sp::boxcox1p),
      one("special::exprel", sp::exprel),
      one("special::sinc", sp::sinc),
      one("special::spence", sp::spence),
      {"special::sici",
       [](In i) {
         sp::SineCosineIntegrals both = sp::sici(i.x);
         return Tensors{both.si, both.ci};
       }},
      {"special::fresnel",
       [](In i) {
         sp::FresnelIntegrals both = sp::fresnel(i.x);
         return Tensors{both.s, both.c};
       }},
      two("special::expn", sp::expn),
      two("special::owens_t", sp::owens_t),
      {"special::hyp1f1", [](In i) { return Tensors{sp::hyp1f1(i.x, i.y, i.x)}; }},
      {"special::hyp2f1", [](In i) { return Tensors{sp::hyp2f1(i.x, i.y, i.y, i.x)}; }},
      one("special::wofz", sp::wofz),
      one("special::loggamma", sp::loggamma),
      {"special::bernoulli", [](In i) { return Tensors{sp::bernoulli(4, i.t)}; }},
      {"special::bessel_jn", [](In i) { return Tensors{sp::bessel_jn(i.x, 2)}; }},
      {"special::sph_harm_y",
       [](In i) { return Tensors{sp::sph_harm_y(i.position, i.position, i.x, i.y, 3)}; }},
      one("special::erfc", sp::erfc),
      one("special::erfcx", sp::erfcx),
      one("special::erf_inv", sp::erf_inv),
      one("special::ndtr", sp::ndtr),
      one("special::log_ndtr", sp::log_ndtr),
      one("special::ndtri", sp::ndtri),
  };
}

std::vector<FunctionSample> distributions() {
  namespace rd = random;
  using Plain = Tensor (*)(Operand, const base::Ints&, DType, const rd::Options&);
  auto plain = [](const char* name, Plain fn) {
    return FunctionSample{name, [fn](In i) { return Tensors{fn(i.key, {4}, i.t, {})}; }};
  };
  auto weights = [](const char* name, Tensor (*fn)(Operand, const base::Ints&, DType)) {
    return FunctionSample{name, [fn](In i) { return Tensors{fn(i.key, {2, 3}, i.t)}; }};
  };
  return {
      {"random::key", [](In i) { return Tensors{rd::key(i.s)}; }},
      {"random::split", [](In i) { return Tensors{rd::split(i.key)}; }, false},
      {"random::fold_in", [](In i) { return Tensors{rd::fold_in(i.key, i.s)}; }},
      plain("random::bits", rd::bits),
      {"random::uniform", [](In i) { return Tensors{rd::uniform(i.key, {4}, i.t)}; }},
      plain("random::normal", rd::normal),
      {"random::truncated_normal",
       [](In i) { return Tensors{rd::truncated_normal(i.key, i.s, i.s, {4}, i.t)}; }},
      {"random::lognormal", [](In i) { return Tensors{rd::lognormal(i.key, i.s, {4}, i.t)}; }},
      plain("random::exponential", rd::exponential),
      plain("random::gumbel", rd::gumbel),
      plain("random::laplace", rd::laplace),
      plain("random::logistic", rd::logistic),
      plain("random::cauchy", rd::cauchy),
      plain("random::maxwell", rd::maxwell),
      {"random::double_sided_maxwell",
       [](In i) { return Tensors{rd::double_sided_maxwell(i.key, i.s, i.s, {4}, i.t)}; }},
      {"random::pareto", [](In i) { return Tensors{rd::pareto(i.key, i.s, {4}, i.t)}; }},
      {"random::rayleigh", [](In i) { return Tensors{rd::rayleigh(i.key, i.s, {4}, i.t)}; }},
      {"random::weibull_min",
       [](In i) { return Tensors{rd::weibull_min(i.key, i.s, i.s, {4}, i.t)}; }},
      {"random::triangular",
       [](In i) { return Tensors{rd::triangular(i.key, i.s, i.s, i.s, {4}, i.t)}; }},
      {"random::wald", [](In i) { return Tensors{rd::wald(i.key, i.s, {4}, i.t)}; }},
      {"random::gamma", [](In i) { return Tensors{rd::gamma(i.key, i.s, {4}, i.t)}; }},
      {"random::loggamma", [](In i) { return Tensors{rd::loggamma(i.key, i.s, {4}, i.t)}; }},
      {"random::beta", [](In i) { return Tensors{rd::beta(i.key, i.s, i.s, {4}, i.t)}; }},
      {"random::chisquare", [](In i) { return Tensors{rd::chisquare(i.key, i.s, {4}, i.t)}; }},
      {"random::f", [](In i) { return Tensors{rd::f(i.key, i.s, i.s, {4}, i.t)}; }},
      {"random::t", [](In i) { return Tensors{rd::t(i.key, i.s, {4}, i.t)}; }},
      {"random::generalized_normal",
       [](In i) { return Tensors{rd::generalized_normal(i.key, 1.5, {4}, i.t)}; }},
      {"random::ball", [](In i) { return Tensors{rd::ball(i.key, 3, 2, {4}, i.t)}; }},
      {"random::dirichlet", [](In i) { return Tensors{rd::dirichlet(i.key, i.v, {4}, i.t)}; }},
      {"random::randint", [](In i) { return Tensors{rd::randint(i.key, {4}, 0, 7, i.t)}; }},
      {"random::bernoulli", [](In i) { return Tensors{rd::bernoulli(i.key, i.s, {4})}; }},
      plain("random::rademacher", rd::rademacher),
      {"random::categorical", [](In i) { return Tensors{rd::categorical(i.key, i.x)}; }},
      {"random::poisson", [](In i) { return Tensors{rd::poisson(i.key, 3.0, {4}, i.t)}; }},
      {"random::geometric", [](In i) { return Tensors{rd::geometric(i.key, 0.5, {4}, i.t)}; }},
      {"random::binomial", [](In i) { return Tensors{rd::binomial(i.key, i.s, i.s, {4}, i.t)}; }},
      {"random::permutation", [](In i) { return Tensors{rd::permutation(i.key, i.x)}; }},
      {"random::choice", [](In i) { return Tensors{rd::choice(i.key, i.x, {4})}; }},
      {"random::multivariate_normal",
       [](In i) { return Tensors{rd::multivariate_normal(i.key, i.v, i.m)}; }},
      {"random::variance_scaling",
       [](In i) {
         return Tensors{rd::variance_scaling(i.key, {2, 3}, {}, i.t)};
       }},
      weights("random::glorot_uniform", rd::glorot_uniform),
      weights("random::glorot_normal", rd::glorot_normal),
      weights("random::he_uniform", rd::he_uniform),
      weights("random::he_normal", rd::he_normal),
      weights("random::lecun_uniform", rd::lecun_uniform),
      weights("random::lecun_normal", rd::lecun_normal),
      {"random::orthogonal_weights",
       [](In i) {
         return Tensors{rd::orthogonal_weights(i.key, {3, 2}, 1, -1, i.t)};
       }},
      {"random::orthogonal", [](In i) { return Tensors{rd::orthogonal(i.key, 3, {}, i.t)}; }},
      {"random::multinomial", [](In i) { return Tensors{rd::multinomial(i.key, i.s, i.v)}; }},
  };
}

std::vector<FunctionSample> nets() {
  return {
      one("nn::relu", nn::relu),
      one("nn::relu6", nn::relu6),
      {"nn::leaky_relu", [](In i) { return Tensors{nn::leaky_relu(i.x)}; }},
      {"nn::elu", [](In i) { return Tensors{nn::elu(i.x)}; }},
      {"nn::celu", [](In i) { return Tensors{nn::celu(i.x)}; }},
      one("nn::selu", nn::selu),
      one("nn::sigmoid", nn::sigmoid),
      one("nn::silu", nn::silu),
      one("nn::mish", nn::mish),
      one("nn::sparse_plus", nn::sparse_plus),
      {"nn::squareplus", [](In i) { return Tensors{nn::squareplus(i.x)}; }},
      one("nn::sparse_sigmoid", nn::sparse_sigmoid),
      one("nn::softplus", nn::softplus),
      one("nn::soft_sign", nn::soft_sign),
      one("nn::log_sigmoid", nn::log_sigmoid),
      one("nn::hard_tanh", nn::hard_tanh),
      one("nn::hard_sigmoid", nn::hard_sigmoid),
      one("nn::hard_silu", nn::hard_silu),
      one("nn::hard_swish", nn::hard_swish),
      one("nn::swish", nn::swish),
      one("nn::log1mexp", nn::log1mexp),
      {"nn::logmeanexp", [](In i) { return Tensors{nn::logmeanexp(i.x)}; }},
      {"nn::gelu", [](In i) { return Tensors{nn::gelu(i.x)}; }},
      {"nn::glu", [](In i) { return Tensors{nn::glu(i.x)}; }},
      {"nn::dot_product_attention",
       [](In i) { return Tensors{nn::dot_product_attention(i.heads, i.heads, i.heads)}; }},
      two("nn::softmax_cross_entropy", nn::softmax_cross_entropy),
      {"nn::softmax_cross_entropy_with_integer_labels",
       [](In i) {
         return Tensors{nn::softmax_cross_entropy_with_integer_labels(i.v, i.position)};
       }},
      two("nn::sigmoid_binary_cross_entropy", nn::sigmoid_binary_cross_entropy),
      {"nn::huber_loss", [](In i) { return Tensors{nn::huber_loss(i.x, i.y)}; }},
      two("nn::l2_loss", nn::l2_loss),
      {"nn::standardize", [](In i) { return Tensors{nn::standardize(i.x)}; }},
      {"nn::layer_norm", [](In i) { return Tensors{nn::layer_norm(i.x)}; }},
      {"nn::rms_norm", [](In i) { return Tensors{nn::rms_norm(i.x)}; }},
  };
}

}  // namespace

std::vector<FunctionSample> catalogue_samples() {
  std::vector<FunctionSample> samples;
  for (const auto& part :
       {matrices(), more_matrices(), special_functions(), distributions(), nets()})
    samples.insert(samples.end(), part.begin(), part.end());
  return samples;
}

}  // namespace heddle::laws
