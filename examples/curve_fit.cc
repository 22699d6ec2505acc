// Least squares of a curve by Gauss and Newton's method: a while_loop whose steps are QR
// factorisations. Data, start and certified results: NIST's statistical reference data set Misra1a
// (dental research in monomolecular adsorption, D. Misra, 1978).
#include <cmath>
#include <cstdio>

#include "heddle/heddle.h"

using namespace heddle;

// [fit]
struct Fit {
  Tensor b;       // f64[2], of y = b0 (1 - exp(-b1 x))
  Tensor r;       // f64[2, 2] with r^T r = J^T J, J the derivatives of the curve by b
  Tensor moving;  // pred[]: whether the last step was more than a rounding
  static constexpr auto kFields =
      fields(field("b", &Fit::b), field("r", &Fit::r), field("moving", &Fit::moving));
};

Tensor curve(Tensor b, Tensor x) { return take_at(b, {0}) * (1 - exp(-take_at(b, {1}) * x)); }

Tensor derivatives(Tensor b, Tensor x) {
  Tensor decay = exp(-take_at(b, {1}) * x);
  return stack({1 - decay, take_at(b, {0}) * x * decay}, /*axis=*/-1);
}

Fit fit(Tensor start, Tensor x, Tensor y) {
  auto moving = [](Fit f) { return f.moving; };
  auto step = [&](Fit f) {
    auto [q, r] = linalg::qr(derivatives(f.b, x));
    Tensor target = matmul(transpose(q), y - curve(f.b, x));
    Tensor by = linalg::triangular_solve(r, target, {.left_side = true});
    return Fit{f.b + by, r, any(abs(by) > 1e-12 * abs(f.b))};
  };
  return while_loop(moving, step, Fit{start, eye(2, 2, 0, f64), scalar(true)});
}
// [/fit]

// Within 1e-9 of the certified value.
bool is_certified(const char* name, double value, double certified) {
  std::printf("%-22s %.10e   certified %.10e\n", name, value, certified);
  return std::abs(value - certified) <= 1e-9 * certified;
}

int main() {
  const Tensor y = array<double>({10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76,
                                  55.05, 61.01, 66.40, 75.47, 81.78});
  const Tensor x = array<double>({77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8,
                                  477.3, 536.8, 593.1, 689.1, 760.0});
  const Fit found = fit(array<double>({250, 0.0005}), x, y);
  const Tensor residual = sum(square(y - curve(found.b, x)));
  const Tensor covariance = linalg::inv(matmul(transpose(found.r), found.r)) * (residual / 12.0);
  const auto b = found.b.to_vector<double>(), v = covariance.to_vector<double>();
  bool right = is_certified("b0", b[0], 2.3894212918e+02);
  right &= is_certified("b1", b[1], 5.5015643181e-04);
  right &= is_certified("deviation of b0", std::sqrt(v[0]), 2.7070075241e+00);
  right &= is_certified("deviation of b1", std::sqrt(v[3]), 7.2668688436e-06);
  right &= is_certified("sum of squares", residual.item<double>(), 1.2455138894e-01);
  return right ? 0 : 1;
}
