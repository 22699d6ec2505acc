#include "heddle/cpu/kernels/kernel.h"
#include "heddle/cpu/kernels/matmul.h"

namespace heddle::cpu {
namespace {

class ProductKernel final : public Kernel {
 public:
  explicit ProductKernel(const MatrixProduct& product) : p_(product) {}

  Status run(std::span<void* const> pointers) const override {
    const int64_t size = storage_bytes(p_.dtype);
    const auto at = [&](size_t which, int64_t element) {
      return static_cast<std::byte*>(pointers[which]) + element * size;
    };
    for (int64_t i = 0; i < p_.batch; ++i) {
      const MatmulArgs args = {.a = at(0, i * p_.a_batch),
                               .b = at(1, i * p_.b_batch),
                               .c = at(2, i * p_.m * p_.n),
                               .m = p_.m,
                               .n = p_.n,
                               .k = p_.k,
                               .a_row = p_.a_row,
                               .a_col = p_.a_column,
                               .b_row = p_.b_row,
                               .b_col = p_.b_column,
                               .c_row = p_.n,
                               .c_col = 1,
                               .accumulate = false};
      p_.dtype == f64 ? matmul_f64(args) : matmul_f32(args);
    }
    return {};
  }

 private:
  MatrixProduct p_;
};

}  // namespace

std::unique_ptr<Kernel> make_product_kernel(const MatrixProduct& product) {
  return std::make_unique<ProductKernel>(product);
}

}  // namespace heddle::cpu
