// Products, linear algebra, complex numbers and Fourier transforms.
#include "heddle/tests/derivatives/cases.h"

namespace heddle::derivatives {
namespace {

std::vector<Case> matrices() {
  using namespace linalg;
  return {
      {"matmul", modes([](V v) { return matmul(v[0], v[1]); })},
      {"matmul_batched", modes([](V v) { return matmul(v[0], v[1]); })},
      {"tensordot", modes([](V v) {
         return tensordot(v[0], v[1], {1, 2}, {1, 0});
       })},
      {"einsum_contract", modes([](V v) { return einsum("bij,bjk->bik", v[0], v[1]); })},
      {"einsum_three", modes([](V v) {
         return einsum("ij,jk,kl->il", {v[0], v[1], v[2]});
       })},
      {"einsum_diagonal", modes([](V v) { return einsum("ii->i", v[0]); })},
      {"einsum_trace", modes([](V v) { return einsum("ii", v[0]); })},
      {"solve", modes([](V v) { return solve(v[0], v[1]); })},
      {"solve_vector", modes([](V v) { return solve(v[0], v[1]); })},
      {"inv", modes([](V v) { return inv(v[0]); })},
      {"inv_second", second([](T a) { return inv(a); })},
      {"det", modes([](V v) { return det(v[0]); })},
      {"det_2", modes([](V v) { return det(v[0]); })},
      {"slogdet", modes([](V v) { return slogdet(v[0]).logabsdet; })},
      {"slogdet_negative", modes([](V v) { return slogdet(v[0]).logabsdet; })},
      {"slogdet_second", second([](T a) { return slogdet(a).logabsdet; })},
      {"cholesky", modes([](V v) { return cholesky(v[0]); })},
      {"cholesky_second", second([](T a) { return cholesky(a); })},
      {"cholesky_batched", modes([](V v) { return cholesky(v[0]); })},
      {"triangular_solve",
       modes([](V v) { return solve_triangular(v[0], v[1], {.lower = true}); })},
      {"triangular_solve_trans",
       modes([](V v) { return solve_triangular(v[0], v[1], {.transpose_a = true}); })},
      {"tridiagonal_solve", modes([](V v) { return tridiagonal_solve(v[0], v[1], v[2], v[3]); })},
      {"cho_solve", modes([](V v) { return cho_solve(cholesky(v[0]), v[1]); })},
      {"matrix_power", modes([](V v) { return matrix_power(v[0], 3); })},
      {"matrix_power_-2", modes([](V v) { return matrix_power(v[0], -2); })},
      {"expm", modes([](V v) { return expm(v[0]); })},
      {"multi_dot", modes([](V v) { return multi_dot(v); })},
      {"trace", modes([](V v) { return linalg::trace(v[0]); })},
      {"lu", modes([](V v) { return lu(v[0]).lu; })},
      {"qr", modes([](V v) {
         const Qr made = qr(v[0]);
         return stack({made.q, made.r});
       })},
      {"eigh", modes([](V v) { return eigh(v[0]).eigenvalues; })},
      {"eigh_vectors", modes([](V v) { return square(eigh(v[0]).eigenvectors); })},
      {"svd", modes([](V v) { return svd(v[0], false).s; })},
      {"svd_vectors", modes([](V v) { return square(svd(v[0], false).u); })},
      {"pinv", modes([](V v) { return pinv(v[0]); })},
      {"norm_nuclear", modes([](V v) { return norm(v[0], MatrixNorm::kNuclear); })},
      {"eigvals", modes([](V v) { return real(sum(pow(eigvals(v[0]), 3))); })},
      {"lstsq", modes([](V v) { return lstsq(v[0], v[1]).x; })},
  };
}

std::vector<Case> complex_numbers() {
  const auto parts = [](OfTensors f) { return modes(real_parts(std::move(f))); };
  return {
      {"complex_abs", modes([](V v) { return abs(v[0]); })},
      {"complex_square", parts([](V v) { return v[0] * v[0]; })},
      {"complex_exp", parts([](V v) { return exp(v[0]); })},
      {"complex_log", parts([](V v) { return log(v[0]); })},
      {"complex_sqrt", parts([](V v) { return sqrt(v[0]); })},
      {"complex_sin_tanh", parts([](V v) { return sin(v[0]) * tanh(v[0]); })},
      {"complex_conj", parts([](V v) { return conj(v[0]); })},
      {"complex_angle", modes([](V v) { return angle(v[0]); })},
      {"complex_divide", parts([](V v) { return v[0] / v[1]; })},
      {"complex_power", parts([](V v) { return power(v[0], v[1]); })},
      {"complex_matmul", parts([](V v) { return matmul(v[0], v[1]); })},
      {"complex_vdot", parts([](V v) { return vdot(v[0], v[1]); })},
      {"complex_made", modes([](V v) { return abs(exp(complex(v[0], v[1]))); })},
      {"complex_solve", parts([](V v) { return linalg::solve(v[0], v[1]); })},
      {"complex_det", parts([](V v) { return linalg::det(v[0]); })},
      {"complex_result", modes([](V v) { return v[0] * v[0] * conj(v[0]); })},
      {"fft", parts([](V v) { return fft(v[0]); })},
      {"ifft", parts([](V v) { return ifft(v[0]); })},
      {"rfft", parts([](V v) { return rfft(v[0]); })},
      {"rfft_odd", parts([](V v) { return rfft(v[0]); })},
      {"irfft", modes([](V v) { return irfft(v[0]); })},
      {"irfft_odd", modes([](V v) { return irfft(v[0], 5); })},
      {"fft2", parts([](V v) { return fft2(v[0]); })},
      {"spectrum", modes([](V v) { return square(abs(fft(v[0]))); })},
  };
}

}  // namespace

std::vector<Case> matrix_cases() { return joined({matrices(), complex_numbers()}); }

}  // namespace heddle::derivatives
