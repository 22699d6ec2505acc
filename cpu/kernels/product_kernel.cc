#include <algorithm>

#include "heddle/cpu/kernels/kernel.h"
#include "heddle/cpu/kernels/matmul.h"
#include "heddle/cpu/kernels/pool.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kFewestOfThreads = int64_t{1} << 20;  // multiplications, some 20 us

class ProductKernel final : public Kernel {
 public:
  explicit ProductKernel(const MatrixProduct& product) : p_(product) {}

  Status run(std::span<void* const> pointers) const override {
    const int64_t size = storage_bytes(p_.dtype);
    const auto at = [&](size_t which, int64_t element) {
      return static_cast<std::byte*>(pointers[which]) + element * size;
    };
    const auto args = [&](int64_t i) {
      return MatmulArgs{.a = at(0, i * p_.a_batch),
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
    };
    if (p_.batch * p_.m * p_.n * p_.k < kFewestOfThreads) {
      for (int64_t i = 0; i < p_.batch; ++i)
        p_.dtype == f64 ? matmul_f64(args(i)) : matmul_f32(args(i));
      return {};
    }
    // A part is some columns of one product: which thread has it changes no bits.
    const int64_t panel = p_.dtype == f64 ? matmul_panel_f64() : matmul_panel_f32();
    const int64_t wanted = std::max<int64_t>(2 * thread_count() / p_.batch, 1);
    const int64_t columns = std::max((p_.n / wanted + panel - 1) / panel * panel, panel);
    const int64_t cuts = (p_.n + columns - 1) / columns;
    parallel(p_.batch * cuts, [&](int64_t part) {
      const int64_t first = part % cuts * columns;
      const MatmulPart some = {0, p_.m, first, std::min(first + columns, p_.n)};
      p_.dtype == f64 ? matmul_part_f64(args(part / cuts), some)
                      : matmul_part_f32(args(part / cuts), some);
    });
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
