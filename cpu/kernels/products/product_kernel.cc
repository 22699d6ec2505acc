#include <algorithm>

#include "heddle/cpu/kernels/kernel.h"
#include "heddle/cpu/kernels/pool.h"
#include "heddle/cpu/kernels/products/matmul.h"
#include "heddle/cpu/kernels/products/matmul_narrow.h"

namespace heddle::cpu {
namespace {

constexpr double kFewestProducts = 1 << 20;  // multiplications, some 20 us
// Summands of a block of a long sum. Blocks are summed by themselves and then added: a chain of all
// would lose digits.
constexpr int64_t kSummands = 2048;
constexpr int64_t kBlockRows = 512, kBlockColumns = 1024;  // that are summed at once

int64_t places_of(std::span<const MatrixProduct::Axis> axes) {
  int64_t places = 1;
  for (const MatrixProduct::Axis& axis : axes) places *= axis.size;
  return places;
}

int64_t panel_of(DType dtype) {
  if (dtype == f64) return MatmulOf<double>::panel();
  return dtype == f32 ? MatmulOf<float>::panel() : kNarrowPanel;
}

void compute_part(DType dtype, const MatmulArgs& args, const MatmulPart& part) {
  if (dtype == f64) return MatmulOf<double>::part(args, part);
  if (dtype == f32) return MatmulOf<float>::part(args, part);
  narrow_part(dtype, args, part);
}

class ProductKernel final : public Kernel {
 public:
  explicit ProductKernel(const MatrixProduct& product)
      : p_(product),
        products_(places_of(p_.outer)),
        slabs_(places_of(p_.summed)),
        work_(static_cast<double>(products_ * slabs_) * static_cast<double>(p_.m * p_.n * p_.k)) {}

  Status run(std::span<void* const> pointers) const override {
    if (work_ < kFewestProducts) {
      for (int64_t i = 0; i < products_; ++i) compute(pointers, i, {0, p_.m, 0, p_.n});
      return {};
    }
    // A part is some columns of one product: which thread has it changes no bits.
    const int64_t panel = panel_of(p_.dtype);
    const int64_t wanted = std::max<int64_t>(2 * thread_count() / products_, 1);
    const int64_t columns = std::max((p_.n / wanted + panel - 1) / panel * panel, panel);
    const int64_t cuts = (p_.n + columns - 1) / columns;
    parallel(products_ * cuts, [&](int64_t part) {
      const int64_t first = part % cuts * columns;
      compute(pointers, part / cuts, {0, p_.m, first, std::min(first + columns, p_.n)});
    });
    return {};
  }

 private:
  struct Place {
    int64_t a = 0, b = 0, c = 0;
  };

  static Place advanced(Place from, std::span<const MatrixProduct::Axis> axes, int64_t number) {
    for (size_t d = axes.size(); d-- > 0; number /= axes[d].size) {
      const int64_t at = number % axes[d].size;
      from = {from.a + at * axes[d].a, from.b + at * axes[d].b, from.c + at * axes[d].c};
    }
    return from;
  }

  void compute(std::span<void* const> pointers, int64_t product, const MatmulPart& part) const {
    const int64_t size = storage_bytes(p_.dtype), result_size = std::max<int64_t>(size, 4);
    const auto at = [&](size_t which, int64_t element) {
      return static_cast<std::byte*>(pointers[which]) + element * (which < 2 ? size : result_size);
    };
    const Place place = advanced({}, p_.outer, product);
    for (int64_t slab = 0; slab < slabs_; ++slab) {
      const Place here = advanced(place, p_.summed, slab);
      const MatmulArgs args{.a = at(0, here.a),
                            .b = at(1, here.b),
                            .c = at(2, here.c),
                            .m = p_.m,
                            .n = p_.n,
                            .k = p_.k,
                            .a_row = p_.a_row,
                            .a_col = p_.a_column,
                            .b_row = p_.b_row,
                            .b_col = p_.b_column,
                            .c_row = p_.c_row,
                            .c_col = p_.c_column,
                            .accumulate = slab > 0};
      const bool sums_f32 = is_floating(p_.dtype) && p_.dtype != f64;
      if (!sums_f32 || p_.k < 2 * kSummands) {
        compute_part(p_.dtype, args, part);
      } else {
        compute_in_blocks(args, part);
      }
    }
  }

  // All calls have the sizes of all and a part: bits depend on what is computed, not on who does.
  void compute_in_blocks(const MatmulArgs& args, const MatmulPart& part) const {
    std::vector<float> sums(
        static_cast<size_t>(std::min(kBlockRows, part.row_end - part.row_begin) *
                            std::min(kBlockColumns, part.col_end - part.col_begin)));
    for (int64_t col = part.col_begin; col < part.col_end; col += kBlockColumns) {
      for (int64_t row = part.row_begin; row < part.row_end; row += kBlockRows) {
        add_blocks(args,
                   {row, std::min(row + kBlockRows, part.row_end), col,
                    std::min(col + kBlockColumns, part.col_end)},
                   sums.data());
      }
    }
  }

  void add_blocks(const MatmulArgs& args, const MatmulPart& part, float* sums) const {
    const int64_t size = storage_bytes(p_.dtype), columns = part.col_end - part.col_begin;
    for (int64_t first = 0; first < args.k; first += kSummands) {
      MatmulArgs block = args;
      block.a = static_cast<const std::byte*>(args.a) + first * args.a_col * size;
      block.b = static_cast<const std::byte*>(args.b) + first * args.b_row * size;
      block.k = std::min(kSummands, args.k - first);
      if (first > 0) {
        block.c_row = columns;
        block.c_col = 1;
        block.accumulate = false;
        // The part's first element is the first of the sums.
        const auto before = static_cast<uintptr_t>(part.row_begin * columns + part.col_begin);
        block.c =
            reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(sums) - before * sizeof(float));
      }
      compute_part(p_.dtype, block, part);
      if (first == 0) continue;
      for (int64_t row = part.row_begin; row < part.row_end; ++row) {
        float* to = static_cast<float*>(args.c) + row * args.c_row + part.col_begin * args.c_col;
        const float* from = sums + (row - part.row_begin) * columns;
        for (int64_t j = 0; j < columns; ++j) to[j * args.c_col] += from[j];
      }
    }
  }

  MatrixProduct p_;
  int64_t products_, slabs_;
  double work_;  // multiplications
};

}  // namespace

std::unique_ptr<Kernel> make_product_kernel(const MatrixProduct& product) {
  return std::make_unique<ProductKernel>(product);
}

}  // namespace heddle::cpu
