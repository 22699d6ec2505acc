// Kernels: functions compiled ahead of time that a plan calls on whole buffers.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/module.h"

namespace heddle::interpreter {
struct RunContext;  // interpreter/run_context.h
}

namespace heddle::cpu {

class Kernel {
 public:
  Kernel() = default;
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  // The pointers of KernelUse::buffers: operands first, then results. Called from several threads.
  [[nodiscard]] virtual Status run(std::span<void* const> pointers) const = 0;
  // The same as a part of a program's run, for what draws random bits or is one device of several.
  [[nodiscard]] virtual Status run_within(interpreter::RunContext& /*context*/,
                                          std::span<void* const> pointers) const {
    return run(pointers);
  }
  // run_within() draws random bits: the context has to have a seed.
  [[nodiscard]] virtual bool draws() const { return false; }
};

// A module of one instruction, the root of its entry, whose operands are its parameters.
hlo::Module module_of(const hlo::Module& module, const hlo::Computation& computation,
                      const hlo::Instruction& instruction);

// What module_of() gave, by its evaluation rule: operands and results are its leaves.
// errors: as interpreter::Evaluator::prepare()
StatusOr<std::unique_ptr<Kernel>> make_rule_kernel(hlo::Module alone);

// A matrix product: c[i, j] = sum over l of a[i, l] * b[l, j]. Strides are in elements.
struct MatrixProduct {
  struct Axis {
    int64_t size = 0;
    int64_t a = 0, b = 0, c = 0;
  };
  // Of a and b, and of c: f32 or f64. Or narrow elements with c of 32 bits (matmul_narrow.h).
  DType dtype = DType::kF32;
  int64_t m = 0, n = 0, k = 0;
  int64_t a_row = 0, a_column = 0;
  int64_t b_row = 0, b_column = 0;
  int64_t c_row = 0, c_column = 1;
  std::vector<Axis> outer;   // a product for each place
  std::vector<Axis> summed;  // the sum of the products at all places
};

// What a kernel is made from, here or in another process.
struct KernelRecipe {
  std::optional<MatrixProduct> product;
  hlo::Module instruction;  // of module_of(); where it is no product
};

std::unique_ptr<Kernel> make_product_kernel(const MatrixProduct& product);

// A convolution of f32 or f64: buffers x, w, y.
std::unique_ptr<Kernel> make_convolution_kernel(const Shape& x, const Shape& w, const Shape& y,
                                                const hlo::ConvolutionAttrs& attrs);

// The lengths are those of the operand, so that make_fft_kernel() takes it.
bool is_fast_fourier(const Shape& x, const hlo::FftAttrs& attrs);
// Buffers x, y; of f32 and f64 and their complex types. `rule` takes what is not finite.
std::unique_ptr<Kernel> make_fft_kernel(const Shape& x, const Shape& y, const hlo::FftAttrs& attrs,
                                        std::unique_ptr<Kernel> rule);

// Of module_of() of a stable sort along the last dimension by its first operand, of integers of 32
// or 64 bits: buffers are the operands and the results. `rule` is returned for other sorts.
std::unique_ptr<Kernel> make_sort_kernel(const hlo::Module& alone, std::unique_ptr<Kernel> rule);

// Buffers x, values, positions. `rule` is returned for arrays that have no order, or no elements.
std::unique_ptr<Kernel> make_topk_kernel(const Shape& x, const hlo::TopKAttrs& attrs,
                                         std::unique_ptr<Kernel> rule);

// Of a call of LAPACK's syevd on small real matrices, in LAPACK's roundings: buffers a, vectors,
// values, info. `rule` takes a batch with numbers that are too large, too small or not finite; and
// it is returned for other calls.
std::unique_ptr<Kernel> make_eigen_kernel(const hlo::Instruction& call, const Shape& a,
                                          std::unique_ptr<Kernel> rule);

// The same of a call of gesdd on small square matrices: buffers a, the same again, values, u, v^T,
// info.
std::unique_ptr<Kernel> make_svd_kernel(const hlo::Instruction& call, const Shape& a,
                                        std::unique_ptr<Kernel> rule);

// The same of calls of either for the values alone, of matrices of a few rows and columns. Their
// roundings are not LAPACK's.
std::unique_ptr<Kernel> make_spectrum_kernel(const hlo::Instruction& call, const Shape& a,
                                             std::unique_ptr<Kernel> rule);

// The same of calls of gtsv, of f32 and f64 and any size, in LAPACK's roundings: buffers are the
// operands and the results.
std::unique_ptr<Kernel> make_tridiagonal_kernel(const hlo::Instruction& call,
                                                std::span<const Shape* const> operands,
                                                std::unique_ptr<Kernel> rule);

// Of a Cholesky factor, a triangular system, or a call of LAPACK's getrf, potrf or trsm, of f32 or
// f64: buffers are the operands and the leaves of the result. `rule` takes matrices that have no
// factor; and it is returned for other instructions.
std::unique_ptr<Kernel> make_factor_kernel(const hlo::Instruction& instruction,
                                           std::span<const Shape* const> operands,
                                           std::unique_ptr<Kernel> rule);

}  // namespace heddle::cpu
