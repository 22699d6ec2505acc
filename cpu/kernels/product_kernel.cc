#include <Eigen/Core>

#include "heddle/cpu/kernels/kernel.h"

namespace heddle::cpu {
namespace {

template <class T>
class ProductKernel final : public Kernel {
 public:
  explicit ProductKernel(const MatrixProduct& product) : p_(product) {}

  Status run(std::span<void* const> pointers) const override {
    using Stride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
    using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    using View = Eigen::Map<const Matrix, Eigen::Unaligned, Stride>;
    for (int64_t i = 0; i < p_.batch; ++i) {
      const T* a = static_cast<const T*>(pointers[0]) + i * p_.a_batch;
      const T* b = static_cast<const T*>(pointers[1]) + i * p_.b_batch;
      T* c = static_cast<T*>(pointers[2]) + i * p_.m * p_.n;
      Eigen::Map<Matrix>(c, p_.m, p_.n).noalias() =
          View(a, p_.m, p_.k, Stride(p_.a_row, p_.a_column)) *
          View(b, p_.k, p_.n, Stride(p_.b_row, p_.b_column));
    }
    return {};
  }

 private:
  MatrixProduct p_;
};

}  // namespace

std::unique_ptr<Kernel> make_product_kernel(const MatrixProduct& product) {
  if (product.dtype == f64) return std::make_unique<ProductKernel<double>>(product);
  return std::make_unique<ProductKernel<float>>(product);
}

}  // namespace heddle::cpu
