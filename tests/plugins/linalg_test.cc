// Linear algebra on real XLA, which has no LAPACK as a bare plugin: its calls are loops there. What
// does not depend on the signs of vectors is what the evaluator's own LAPACK gives.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "heddle/heddle.h"
#include "heddle/pjrt/xla_cpu_library_test.h"
#include "heddle/runtime/registry.h"
#include "heddle/tests/plugins/differential.h"

namespace heddle {
namespace {

class LinalgOnXla : public ::testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (xla_cpu_library().empty()) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
    xla_ = pjrt::make_backend("xla-cpu", {.library = xla_cpu_library()}).value();
    both_ = differential::make_backend(*runtime::find_device("interpreter").value(),
                                       *xla_->devices()[0], findings_);
  }
  runtime::Device& device() { return *both_->devices()[0]; }

  std::unique_ptr<runtime::Backend> xla_;
  differential::Findings findings_;
  std::unique_ptr<runtime::Backend> both_;
};
INSTANTIATE_TEST_SUITE_P(Numbers, LinalgOnXla, ::testing::Values(f32, c128),
                         [](const auto& each) { return std::string(to_string(each.param)); });

Tensor draw(const std::vector<int64_t>& shape, DType dtype) {
  std::mt19937 bits(3);
  std::normal_distribution<double> normal;
  const auto part = [&] {
    std::vector<double> values(static_cast<size_t>(Shape(f64, shape).element_count()));
    for (double& value : values) value = normal(bits);
    return array<double>(values, shape);
  };
  const Tensor re = part();
  return is_complex(dtype) ? complex(re, part()).astype(dtype) : re.astype(dtype);
}

Tensor adjoint(const Tensor& x) {
  const Tensor y = swapaxes(x, -2, -1);
  return is_complex(x.dtype()) ? complex(real(y), -imag(y)) : y;
}

using Results = std::vector<Tensor>;

Results of_square_matrices(const Tensor& a, const Tensor& b) {
  const Tensor hermitian = (a + adjoint(a)) / 2.0;
  const auto [w, v] = linalg::eigh(hermitian);
  const Tensor again = matmul(v * expand_dims(w, -2).astype(a.dtype()), adjoint(v));
  const auto [sign, size] = linalg::slogdet(a);
  return {w,
          linalg::eigvalsh(a),
          again,
          matmul(adjoint(v), v),
          linalg::solve(a, b),
          linalg::inv(a),
          linalg::det(a),
          sign,
          size,
          linalg::expm(a)};
}

Results of_matrices(const Tensor& a, const Tensor& b) {
  const auto [u, s, vh] = linalg::svd(a);
  const auto [q, r] = linalg::qr(a);
  const linalg::Lstsq least = linalg::lstsq(a, b);
  return {s,
          matmul(adjoint(u), u),
          matmul(vh, adjoint(vh)),
          matmul(q, r),
          least.x,
          least.rank,
          linalg::pinv(a),
          linalg::matrix_rank(a),
          linalg::norm(a, {.order = 2, .axes = {-2, -1}})};
}

TEST_P(LinalgOnXla, GivesWhatTheEvaluatorGives) {
  const DType dtype = GetParam();
  {
    const runtime::DefaultDevice scope(device());
    const Tensor a = draw({2, 5, 5}, dtype), b = draw({2, 5, 2}, dtype);
    (void)trace(of_square_matrices, a, b).call<Results>(a, b);
    for (const auto& [m, n] : {std::pair{6, 4}, std::pair{4, 6}}) {
      const Tensor x = draw({m, n}, dtype), y = draw({m, 1}, dtype);
      (void)trace(of_matrices, x, y).call<Results>(x, y);
    }
  }
  EXPECT_GE(findings_.programs, 3);
  EXPECT_GE(findings_.results, 28);
  for (const std::string& difference : findings_.differences) ADD_FAILURE() << difference;
}

}  // namespace
}  // namespace heddle
