// LU and Cholesky factors and triangular solutions of matrices too large to be written out: blocks
// by the loops of factors.h, what is beside a block by matrix products.
//
// source: Toledo, Locality of Reference in LU Decomposition with Partial Pivoting, 1997: the halves
// of the columns in turn.
#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "heddle/cpu/kernels/factors/factors.h"
#include "heddle/cpu/kernels/kernel.h"
#include "heddle/cpu/kernels/pool.h"
#include "heddle/cpu/kernels/products/matmul.h"
#include "heddle/hlo/calls/lapack.h"

namespace heddle::cpu {
namespace {

constexpr double kFewestFactorProducts = 1 << 20;  // multiplications that are worth a thread
constexpr int64_t kFewestRightSides = 4;           // that are solved for by whole rows

// A row-major part of a matrix.
template <class T>
struct RowMajor {
  T* data;
  int64_t stride;
  T* at(int64_t row, int64_t column = 0) const { return data + row * stride + column; }
  [[nodiscard]] RowMajor from(int64_t row, int64_t column) const {
    return {at(row, column), stride};
  }
};

// Rows of whole blocks, and no multiple of a page apart, which would fill the same lines of caches.
int64_t padded(int64_t columns) {
  const int64_t blocks = (columns + kFactorBlock - 1) / kFactorBlock;
  return (blocks + (blocks > 8 && blocks % 8 == 0 ? 1 : 0)) * kFactorBlock;
}

// About one half of n, of whole blocks.
int64_t half_of(int64_t n) { return (n / 2 + kFactorBlock - 1) / kFactorBlock * kFactorBlock; }

// Elements (i, j) of a matrix, wherever they lie: data[i * row + j * column].
template <class T>
struct Places {
  T* data;
  int64_t row, column;
  [[nodiscard]] Places from(int64_t i, int64_t j) const {
    return {data + i * row + j * column, row, column};
  }
};

// to := from, converted, of rows x columns.
template <class From, class To>
void copy_elements(Places<From> from, Places<To> to, int64_t rows, int64_t columns) {
  if (from.column == 1 && to.column == 1) {
    for (int64_t i = 0; i < rows; ++i)
      std::copy_n(from.data + i * from.row, columns, to.data + i * to.row);
    return;
  }
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      to.data[i * to.row + j * to.column] =
          static_cast<To>(from.data[i * from.row + j * from.column]);
    }
  }
}

struct Triangle {
  bool lower;
  bool unit_diagonal;
};

template <class T>
TriangularBlock<T> block_of(Triangle form, Places<const T> a, T* x, int64_t x_row, int64_t n) {
  if (form.lower) return {a.data, a.row, a.column, x, x_row, n, form.unit_diagonal};
  const int64_t last = n - 1;
  return {a.from(last, last).data, -a.row, -a.column, x + last * x_row, -x_row, n,
          form.unit_diagonal};
}

template <class T>
class BlockedFactors {
 public:
  // Products are shared by the threads where the caller does not share out more than that.
  explicit BlockedFactors(bool shares_products) : shares_products_(shares_products) {}

  // x := y with a y = x, of `columns` right sides.
  void solve(Triangle form, Places<const T> a, RowMajor<T> x, int64_t n, int64_t columns) const {
    if (n == 0) return;
    if (n <= kFactorBlock)
      return factor_loops<T>().solve_rows(block_of(form, a, x.data, x.stride, n), columns);
    const int64_t first = half_of(n), second = n - first;
    const RowMajor<T> rest = x.from(first, 0);
    if (form.lower) {
      solve(form, a, x, first, columns);
      subtract_product(a.from(first, 0), x, rest, second, columns, first);
      solve(form, a.from(first, first), rest, second, columns);
    } else {
      solve(form, a.from(first, first), rest, second, columns);
      subtract_product(a.from(0, first), rest, x, first, columns, second);
      solve(form, a, x, first, columns);
    }
  }

  // Swaps row i with row pivots[i], in order, in `columns` columns.
  static void swap_rows(RowMajor<T> a, std::span<const int32_t> pivots, int64_t columns) {
    for (size_t i = 0; i < pivots.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      if (pivots[i] != row) std::swap_ranges(a.at(row), a.at(row) + columns, a.at(pivots[i]));
    }
  }

  // L and U of the first pivots.size() <= rows columns; what lies right of them stays as it is.
  int lu(RowMajor<T> a, int64_t rows, std::span<int32_t> pivots) const {
    const auto columns = static_cast<int64_t>(pivots.size());
    if (columns <= kFactorBlock)
      return factor_loops<T>().lu(a.data, a.stride, rows, columns, pivots.data());
    const int64_t first = half_of(columns), second = columns - first;
    const auto left = pivots.first(static_cast<size_t>(first));
    const auto right = pivots.subspan(static_cast<size_t>(first));
    const int info = lu(a, rows, left);
    const RowMajor<T> upper = a.from(0, first), corner = a.from(first, first);
    swap_rows(upper, left, second);
    const Places<const T> l = {a.data, a.stride, 1};
    solve({.lower = true, .unit_diagonal = true}, l, upper, first, second);
    subtract_product(l.from(first, 0), upper, corner, rows - first, second, first);
    const int info_of_rest = lu(corner, rows - first, right);
    swap_rows(a.from(first, 0), right, first);
    for (int32_t& pivot : right) pivot += static_cast<int32_t>(first);
    return info != 0 || info_of_rest == 0 ? info : info_of_rest + static_cast<int>(first);
  }

  // L from the lower triangle. What is above it is overwritten.
  int cholesky(RowMajor<T> a, int64_t n) const {
    if (n <= kFactorBlock) return factor_loops<T>().cholesky(a.data, a.stride, n);
    const int64_t first = half_of(n), second = n - first;
    const int info = cholesky(a, first);
    if (info != 0) return info;
    // The rows below are the solutions of L x^T = a^T.
    const RowMajor<T> below = a.from(first, 0), above = a.from(0, first);
    const Places<T> rows = {below.data, below.stride, 1}, columns = {above.data, 1, above.stride};
    copy_elements(rows, columns, second, first);
    solve({.lower = true, .unit_diagonal = false}, {a.data, a.stride, 1}, above, first, second);
    copy_elements(columns, rows, second, first);
    constexpr int64_t kStripe = 4 * kFactorBlock;  // of rows, which need no column beyond them
    for (int64_t row = 0; row < second; row += kStripe) {
      const int64_t end = std::min(row + kStripe, second);
      subtract_product({below.at(row), a.stride, 1}, above, a.from(first + row, first), end - row,
                       end, first);
    }
    const int info_of_rest = cholesky(a.from(first, first), second);
    return info_of_rest == 0 ? 0 : info_of_rest + static_cast<int>(first);
  }

 private:
  // c -= a b, for m x k elements of a and n columns of b.
  void subtract_product(Places<const T> a, RowMajor<T> b, RowMajor<T> c, int64_t m, int64_t n,
                        int64_t k) const {
    if (m == 0 || n == 0 || k == 0) return;
    std::vector<T> negative(static_cast<size_t>(m * k));
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t l = 0; l < k; ++l)
        negative[static_cast<size_t>(i * k + l)] = -a.data[i * a.row + l * a.column];
    }
    const MatmulArgs product{.a = negative.data(),
                             .b = b.data,
                             .c = c.data,
                             .m = m,
                             .n = n,
                             .k = k,
                             .a_row = k,
                             .a_col = 1,
                             .b_row = b.stride,
                             .b_col = 1,
                             .c_row = c.stride,
                             .c_col = 1,
                             .accumulate = true};
    const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    if (!shares_products_ || work < kFewestFactorProducts) return MatmulOf<T>::product(product);
    const int64_t panel = MatmulOf<T>::panel(), wanted = 2 * thread_count();
    const int64_t columns = std::max((n / wanted + panel - 1) / panel * panel, panel);
    parallel((n + columns - 1) / columns, [&](int64_t part) {
      MatmulOf<T>::part(product, {0, m, part * columns, std::min((part + 1) * columns, n)});
    });
  }

  bool shares_products_;
};

// A copy of `columns` columns with padded rows; what is beyond them is zeros.
template <class T, class In>
std::vector<T> copy_of(const In* from, int64_t rows, int64_t columns) {
  const int64_t stride = padded(columns);
  std::vector<T> out(static_cast<size_t>(rows * stride));
  copy_elements(Places<const In>{from, columns, 1}, Places<T>{out.data(), stride, 1}, rows,
                columns);
  return out;
}

// Element `at` of a buffer.
template <class Element>
Element* element(std::span<void* const> pointers, size_t which, int64_t at) {
  return static_cast<Element*>(pointers[which]) + at;
}

// A kernel for each matrix of a batch. `rule` takes the batch where one of them is not usual.
template <class T>
class BatchKernel : public Kernel {
 public:
  BatchKernel(int64_t batch, double products, std::unique_ptr<Kernel> rule)
      : batch_(batch),
        together_(std::max<int64_t>(static_cast<int64_t>(kFewestFactorProducts / products), 1)),
        rule_(std::move(rule)) {}

  Status run(std::span<void* const> pointers) const final {
    if (batch_ > 1 && !may_take_turns(pointers)) return rule_->run(pointers);
    if (batch_ <= together_) {
      for (int64_t at = 0; at < batch_; ++at) {
        if (!find(pointers, at, BlockedFactors<T>(true))) return rule_->run(pointers);
      }
      return {};
    }
    std::atomic<bool> is_usual = true;
    parallel((batch_ + together_ - 1) / together_, [&](int64_t part) {
      const int64_t end = std::min((part + 1) * together_, batch_);
      for (int64_t at = part * together_; at < end; ++at) {
        if (!find(pointers, at, BlockedFactors<T>(false))) is_usual = false;
      }
    });
    return is_usual ? Status() : rule_->run(pointers);
  }

 protected:
  // Writes the results of one matrix once its operands are read; writes nothing where it returns
  // false.
  [[nodiscard]] virtual bool find(std::span<void* const> pointers, int64_t at,
                                  const BlockedFactors<T>& factors) const = 0;
  // No result of one matrix lies on an operand of another one, or on one that the rule reads again.
  [[nodiscard]] virtual bool may_take_turns(std::span<void* const> pointers) const = 0;

 private:
  int64_t batch_;
  int64_t together_;  // matrices that one thread takes
  std::unique_ptr<Kernel> rule_;
};

// getrf: buffers a, lu, pivots counted from 1, info.
template <class T>
class LuKernel final : public BatchKernel<T> {
 public:
  LuKernel(int64_t batch, int64_t rows, int64_t columns, std::unique_ptr<Kernel> rule)
      : BatchKernel<T>(batch, static_cast<double>(rows * columns * std::min(rows, columns)) / 3,
                       std::move(rule)),
        rows_(rows),
        columns_(columns) {}

 private:
  bool may_take_turns(std::span<void* const> /*pointers*/) const override { return true; }
  bool find(std::span<void* const> pointers, int64_t at,
            const BlockedFactors<T>& factors) const override {
    const int64_t size = rows_ * columns_, pivoted = std::min(rows_, columns_);
    std::vector<T> copy = copy_of<T>(element<const T>(pointers, 0, at * size), rows_, columns_);
    const RowMajor<T> a = {copy.data(), padded(columns_)};
    auto* const first_pivot = element<int32_t>(pointers, 2, at * pivoted);
    const std::span<int32_t> pivots(first_pivot, static_cast<size_t>(pivoted));
    const int info = factors.lu(a, rows_, pivots);
    if (columns_ > rows_) {
      const RowMajor<T> rest = a.from(0, rows_);
      factors.swap_rows(rest, pivots, columns_ - rows_);
      factors.solve({.lower = true, .unit_diagonal = true}, {a.data, a.stride, 1}, rest, rows_,
                    columns_ - rows_);
    }
    for (int32_t& pivot : pivots) ++pivot;
    copy_elements(Places<T>{a.data, a.stride, 1},
                  Places<T>{element<T>(pointers, 1, at * size), columns_, 1}, rows_, columns_);
    *element<int32_t>(pointers, 3, at) = info;
    return true;
  }

  int64_t rows_, columns_;
};

// Cholesky factors, computed in T: of the op, buffers a and l; of potrf, which leaves the other
// triangle as it is, a, l and info.
template <class T, class In>
class CholeskyKernel final : public BatchKernel<T> {
 public:
  CholeskyKernel(int64_t batch, int64_t n, bool lower, bool is_call, std::unique_ptr<Kernel> rule)
      : BatchKernel<T>(batch, static_cast<double>(n * n * n) / 6, std::move(rule)),
        n_(n),
        lower_(lower),
        is_call_(is_call) {}

 private:
  bool may_take_turns(std::span<void* const> pointers) const override {
    return pointers[0] != pointers[1];
  }
  bool find(std::span<void* const> pointers, int64_t at,
            const BlockedFactors<T>& factors) const override {
    const In* const from = element<const In>(pointers, 0, at * n_ * n_);
    const int64_t stride = padded(n_);
    std::vector<T> copy(static_cast<size_t>(n_ * stride));
    T* const l = copy.data();
    // Row i of the lower triangle is column i of the upper one.
    const int64_t row = lower_ ? n_ : 1, column = lower_ ? 1 : n_;
    for (int64_t i = 0; i < n_; ++i) {
      copy_elements(Places<const In>{from + i * row, 0, column}, Places<T>{l + i * stride, 0, 1}, 1,
                    i + 1);
    }
    if (factors.cholesky({l, stride}, n_) != 0) return false;
    In* const to = element<In>(pointers, 1, at * n_ * n_);
    if (!is_call_) std::fill_n(to, n_ * n_, In(0));
    if (is_call_ && to != from) std::copy_n(from, n_ * n_, to);
    for (int64_t i = 0; i < n_; ++i) {
      copy_elements(Places<const T>{l + i * stride, 0, 1}, Places<In>{to + i * row, 0, column}, 1,
                    i + 1);
    }
    if (is_call_) *element<int32_t>(pointers, 2, at) = 0;
    return true;
  }

  int64_t n_;
  bool lower_, is_call_;
};

struct SolveForm {
  bool left;
  bool lower;
  bool transposed;
  bool unit_diagonal;
};

// Triangular systems, computed in T: buffers a, b, x.
template <class T, class In>
class SolveKernel final : public BatchKernel<T> {
 public:
  // x is rows x columns.
  SolveKernel(SolveForm form, int64_t batch, int64_t rows, int64_t columns,
              std::unique_ptr<Kernel> rule)
      : BatchKernel<T>(batch,
                       static_cast<double>(rows * columns * (form.left ? rows : columns)) / 2,
                       std::move(rule)),
        form_(form),
        rows_(rows),
        columns_(columns) {}

 private:
  bool may_take_turns(std::span<void* const> pointers) const override {
    return pointers[0] != pointers[2] || rows_ == columns_;
  }
  bool find(std::span<void* const> pointers, int64_t at,
            const BlockedFactors<T>& factors) const override {
    const int64_t n = form_.left ? rows_ : columns_, sides = form_.left ? columns_ : rows_;
    const In* const given = element<const In>(pointers, 0, at * n * n);
    std::vector<T> converted;
    const T* data = nullptr;
    if constexpr (std::is_same_v<T, In>) {
      data = given;
    } else {
      converted.assign(given, given + n * n);
      data = converted.data();
    }
    // x a = b is a^T x^T = b^T.
    const bool flips = form_.transposed == form_.left;
    const Places<const T> a = {data, flips ? 1 : n, flips ? n : 1};
    const Triangle triangle = {.lower = form_.lower != flips, .unit_diagonal = form_.unit_diagonal};
    const In* const b = element<const In>(pointers, 1, at * rows_ * columns_);
    In* const to = element<In>(pointers, 2, at * rows_ * columns_);
    // The unknowns of one right side lie along a column of x, or along a row.
    const int64_t step = form_.left ? columns_ : 1, side = form_.left ? 1 : columns_;
    std::vector<T> solved(static_cast<size_t>(n * sides));
    const bool by_rows = sides >= kFewestRightSides;
    const Places<T> x = {solved.data(), by_rows ? sides : 1, by_rows ? 1 : n};
    copy_elements(Places<const In>{b, step, side}, x, n, sides);
    if (by_rows) {
      factors.solve(triangle, a, {x.data, sides}, n, sides);
    } else {
      for (int64_t j = 0; j < sides; ++j)
        factor_loops<T>().solve_vector(block_of(triangle, a, x.data + j * n, 1, n));
    }
    copy_elements(Places<const T>{x.data, x.row, x.column}, Places<In>{to, step, side}, n, sides);
    return true;
  }

  SolveForm form_;
  int64_t rows_, columns_;
};

// Of a batch of matrices.
struct BatchSizes {
  int64_t batch = 0, rows = 0, columns = 0;
};
BatchSizes sizes_of(const Shape& shape) {
  const int64_t rows = shape.dimension(shape.rank() - 2);
  const int64_t columns = shape.dimension(shape.rank() - 1);
  return {shape.element_count() / (rows * columns), rows, columns};
}

// A kernel of f32 or f64; the ops compute f32 in double.
template <template <class, class> class Of, class... Args>
std::unique_ptr<Kernel> of_dtype(DType dtype, bool is_call, Args... args) {
  if (dtype == f64) return std::make_unique<Of<double, double>>(std::move(args)...);
  if (is_call) return std::make_unique<Of<float, float>>(std::move(args)...);
  return std::make_unique<Of<double, float>>(std::move(args)...);
}

bool is_letter(const hlo::Instruction& call, std::string_view option, char letter) {
  return hlo::lapack_option(call.extras.get().backend_config, option) ==
         std::to_string(static_cast<int>(letter));
}

}  // namespace

std::unique_ptr<Kernel> make_factor_kernel(const hlo::Instruction& instruction,
                                           std::span<const Shape* const> operands,
                                           std::unique_ptr<Kernel> rule) {
  const Shape& a = *operands[0];
  const DType dtype = a.dtype();
  if ((dtype != f32 && dtype != f64) || a.rank() < 2 || a.element_count() == 0) return rule;
  const BatchSizes of_a = sizes_of(a);
  if (instruction.opcode == hlo::Opcode::kCholesky) {
    return of_dtype<CholeskyKernel>(dtype, false, of_a.batch, of_a.rows,
                                    instruction.attrs.get<hlo::CholeskyAttrs>().lower, false,
                                    std::move(rule));
  }
  if (instruction.opcode == hlo::Opcode::kTriangularSolve) {
    if (instruction.shape.element_count() == 0) return rule;
    const auto& attrs = instruction.attrs.get<hlo::TriangularSolveAttrs>();
    const SolveForm form = {attrs.left_side, attrs.lower,
                            attrs.transpose_a != hlo::TransposeA::kNoTranspose,
                            attrs.unit_diagonal};
    const BatchSizes of_x = sizes_of(instruction.shape);
    return of_dtype<SolveKernel>(dtype, false, form, of_x.batch, of_x.rows, of_x.columns,
                                 std::move(rule));
  }
  if (instruction.opcode != hlo::Opcode::kCustomCall) return rule;
  const std::string_view routine = hlo::lapack_routine(instruction, operands);
  if (routine == "getrf") {
    if (dtype == f32)
      return std::make_unique<LuKernel<float>>(of_a.batch, of_a.rows, of_a.columns,
                                               std::move(rule));
    return std::make_unique<LuKernel<double>>(of_a.batch, of_a.rows, of_a.columns, std::move(rule));
  }
  if (routine == "potrf") {
    return of_dtype<CholeskyKernel>(dtype, true, of_a.batch, of_a.rows,
                                    is_letter(instruction, "uplo", 'L'), true, std::move(rule));
  }
  if (routine == "trsm" && operands.size() == 2 && operands[1]->element_count() > 0) {
    const SolveForm form = {
        is_letter(instruction, "side", 'L'), is_letter(instruction, "uplo", 'L'),
        !is_letter(instruction, "trans_x", 'N'), is_letter(instruction, "diag", 'U')};
    const BatchSizes of_x = sizes_of(*operands[1]);
    return of_dtype<SolveKernel>(dtype, true, form, of_x.batch, of_x.rows, of_x.columns,
                                 std::move(rule));
  }
  return rule;
}

}  // namespace heddle::cpu
