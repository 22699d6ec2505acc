// Functions of whole matrices, and norms. Names are those of jax.numpy.linalg and jax.scipy.linalg;
// matrices, batches, dtypes and errors as in linalg/factors.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <variant>
#include <vector>

#include "heddle/base/containers/fields.h"
#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/trace/axis_list.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::linalg {

// a[.., n, n] multiplied with itself, by repeated squaring: the identity for 0, of the inverse for
// negative exponents.
Tensor matrix_power(Operand a, base::Int exponent);

// The product of matrices in the order that takes the fewest multiplications. The first and the
// last may be vectors, a row and a column. errors: also for fewer than two, and sizes that disagree
Tensor multi_dot(const std::vector<Tensor>& matrices, SourceLocation at = SourceLocation::here());
// The sum of diagonal k of the last two axes, of any numbers: [.., m, n] -> [..].
Tensor trace(Operand a, base::Int k = 0);

// a[.., m, n] = u p with p[.., n, n] positive semidefinite and orthonormal columns (rows where m <
// n) of u[.., m, n]. source: by singular values, as scipy.linalg.polar
struct Polar {
  Tensor u;  // [.., m, n], of a's dtype
  Tensor p;  // [.., n, n], of a's dtype
  static constexpr auto kFields = fields(field("u", &Polar::u), field("p", &Polar::p));
};
// a[.., m, n] as the product of a u with orthonormal columns (rows) and a semidefinite p.
Polar polar(Operand a);

// The exponential of a[.., n, n]. Each matrix is scaled by a power of 2, and its Pade approximant
// squared as often; those of degree 13 (7 for f32 and c64), good to the dtype's last digits.
// source: N. J. Higham, SIAM J. Matrix Anal. Appl. 26(4) (2005), 1179-1193
Tensor expm(Operand a);

// Norms of matrices by name; the others have numbers.
enum class MatrixNorm : uint8_t { kFrobenius, kNuclear };
class NormOrder {
 public:
  NormOrder(double number) : value_(number) {}
  NormOrder(MatrixNorm name) : value_(name) {}
  [[nodiscard]] const std::variant<double, MatrixNorm>& value() const { return value_; }

 private:
  std::variant<double, MatrixNorm> value_;
};

// order  of vectors: p, for sum(|x|^p)^(1/p); INFINITY and -INFINITY, the greatest and least |x|;
//        0, the number of elements that are not 0.
//        of matrices: 1 and -1, the greatest and least sum of |a| down a column; INFINITY and
//        -INFINITY, along a row; 2 and -2, the greatest and least singular value; kNuclear, the sum
//        of singular values; kFrobenius.
//        none: the root of the sum of |x|^2
// axes   one, of vectors, or two, of a matrix's rows and columns; by default all of x, whose rank
//        must then suit the order; {}: none, of each element by itself
struct NormOptions {
  base::OnlyByName by_name = base::OnlyByName();  // {0, 1} could be an order or axes
  std::optional<NormOrder> order = {};
  AxisList axes = kAllAxes;
  base::Flag keep_dims = false;  // reduced axes stay, with size 1
};
// x of f32, f64, c64 or c128; the result is real. Over no elements it is 0. errors: also for an
// order that there is not, and for the least of no elements
Tensor norm(Operand x, const NormOptions& options = {});
// The norm of that order: norm(x, 2), as in numpy.
template <class Order>
requires(std::is_arithmetic_v<Order> && !std::same_as<Order, bool>) ||
    std::same_as<Order, MatrixNorm>  //
    Tensor
    norm(Operand x, Order order, const AxisList& axes = kAllAxes, base::Flag keep_dims = false) {
  return norm(x, {.order = order, .axes = axes, .keep_dims = keep_dims});
}
// The norm of the vectors along axes; by default of one vector of all elements.
Tensor vector_norm(Operand x, double order = 2, const AxisList& axes = kAllAxes,
                   base::Flag keep_dims = false);
// The norm of the matrices in the last two axes.
Tensor matrix_norm(Operand x, NormOrder order = MatrixNorm::kFrobenius,
                   base::Flag keep_dims = false);

// norm(a) norm(inv(a)) of a[.., n, n] -> [..], real; without an order and for 2 the greatest
// singular value over the least, of a[.., m, n], and for -2 the other way round. inf where that is
// NaN, but a has none.
Tensor cond(Operand a, std::optional<NormOrder> order = {});

}  // namespace heddle::linalg
