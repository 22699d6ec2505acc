// Products of many matrices, traces, polar factors and condition numbers.
#include <algorithm>
#include <cmath>
#include <limits>

#include "heddle/linalg/functions.h"
#include "heddle/linalg/internal/matrices.h"
#include "heddle/linalg/solving.h"
#include "heddle/linalg/spectra.h"
#include "heddle/numpy/matrices.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/ops/contraction/contractions.h"
#include "heddle/trace/public_call.h"

namespace heddle::linalg {
namespace {

using namespace linalg_internal;  // NOLINT: the vocabulary of this folder

// Where to split the product of matrices first .. last, of sizes[i] x sizes[i + 1], so that it
// takes the fewest multiplications. source: the dynamic programme of Cormen et al., section 15.2
class Order {
 public:
  explicit Order(const std::vector<int64_t>& sizes)
      : count_(sizes.size() - 1), cost_(count_ * count_), split_(count_ * count_) {
    for (size_t length = 2; length <= count_; ++length) {
      for (size_t first = 0; first + length <= count_; ++first)
        choose(sizes, first, first + length - 1);
    }
  }
  [[nodiscard]] size_t split(size_t first, size_t last) const {
    return split_[first * count_ + last];
  }

 private:
  void choose(const std::vector<int64_t>& sizes, size_t first, size_t last) {
    double& best = cost_[first * count_ + last];
    best = std::numeric_limits<double>::infinity();
    for (size_t middle = first; middle < last; ++middle) {
      const double outer = static_cast<double>(sizes[first]) *
                           static_cast<double>(sizes[middle + 1]) *
                           static_cast<double>(sizes[last + 1]);
      const double total =
          cost_[first * count_ + middle] + cost_[(middle + 1) * count_ + last] + outer;
      if (total >= best) continue;
      best = total;
      split_[first * count_ + last] = middle;
    }
  }

  size_t count_;
  std::vector<double> cost_;
  std::vector<size_t> split_;
};

Tensor multiplied(const std::vector<Tensor>& matrices, const Order& order, size_t first,
                  size_t last) {
  if (first == last) return matrices[first];
  const size_t middle = order.split(first, last);
  Tensor left = multiplied(matrices, order, first, middle);
  Tensor right = multiplied(matrices, order, middle + 1, last);
  return matmul(left, right);
}

// The matrices, a vector at either end as a row or column, and their sizes.
std::vector<Tensor> chain_of(const std::vector<Tensor>& given, std::vector<int64_t>& sizes) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < given.size(); ++i) {
    Tensor each = given[i];
    if (each.rank() == 1 && i == 0) each = expand_dims(each, 0);
    if (each.rank() == 1 && i + 1 == given.size()) each = expand_dims(each, 1);
    if (each.rank() != 2 || (i > 0 && each.dim(0) != sizes.back()))
      trace_internal::refuse("matrix ", i, " is ", given[i].shape(),
                             "; it must be a matrix (the first and last may be vectors) with "
                             "as many rows as the one before has columns");
    if (i == 0) sizes.push_back(each.dim(0));
    sizes.push_back(each.dim(1));
    out.push_back(each);
  }
  return out;
}

}  // namespace

Tensor multi_dot(const std::vector<Tensor>& matrices, SourceLocation at) {
  const trace_internal::PublicCall call("linalg::multi_dot", at);
  if (matrices.size() < 2)
    trace_internal::refuse("has ", matrices.size(), " matrices; give two or more");
  return trace_internal::one_program("linalg::multi_dot", [&] {
    std::vector<int64_t> sizes;
    const std::vector<Tensor> chain = chain_of(matrices, sizes);
    Tensor product = multiplied(chain, Order(sizes), 0, chain.size() - 1);
    std::vector<int64_t> ends;
    if (matrices.front().rank() == 1) ends.push_back(0);
    if (matrices.back().rank() == 1) ends.push_back(1);
    return ends.empty() ? product : squeeze(product, ends);
  });
}

Tensor trace(Operand a, base::Int k) {
  const trace_internal::PublicCall call("linalg::trace", a.at());
  return trace_internal::one_program("linalg::trace",
                                     [&] { return sum(diagonal(a, k, -2, -1), {.axes = {-1}}); });
}

namespace {

Expr cond_by_norm(const Expr& a, const NormOrder& order) {
  const Expr of_a = matrix_norm(a.operand(), order);
  return of_a * Expr(matrix_norm(inv(a.operand()), order));
}

// The greatest singular value over the least, or the other way round.
Expr cond_by_values(const Expr& a, bool greatest_first) {
  const Expr s = svdvals(a.operand());
  const Expr greatest = max(s.operand(), {.axes = {-1}});
  const Expr least = min(s.operand(), {.axes = {-1}});
  const Expr &over = greatest_first ? greatest : least, &under = greatest_first ? least : greatest;
  return where(under == 0, INFINITY, over / where(under == 0, 1, under));
}

}  // namespace

Polar polar(Operand operand) {
  const trace_internal::PublicCall call("linalg::polar", operand.at());
  const Expr a = matrices_of("a", operand);
  std::vector<Tensor> out = as_program("linalg::polar", [&]() -> std::vector<Expr> {
    const Svd factors = svd(a.operand(), /*full_matrices=*/false);
    const Expr vh = Expr(factors.vh), s = Expr(factors.s).astype(a.dtype());
    return {product(Expr(factors.u), vh), product(adjoint(vh), column(s) * vh)};
  });
  return {out[0], out[1]};
}

Tensor vector_norm(Operand x, double order, const AxisList& given, base::Flag keep_dims) {
  const trace_internal::PublicCall call("linalg::vector_norm", x.at());
  Expr numbers = numbers_of("x", x, 0);
  return trace_internal::one_program("linalg::vector_norm", [&] {
    const int64_t rank = numbers.tensor().rank();
    std::vector<int64_t> moved =
        trace_internal::axes_of(numbers.tensor().shape(), given.of_rank(rank));
    if (!given.is_all() && moved.size() == 1)
      return norm(x, {.order = order, .axes = moved, .keep_dims = keep_dims});
    // Several axes are one long vector: they move to the end and are flattened.
    std::vector<int64_t> stays;
    Dimensions shape, with_ones = numbers.dimensions();
    for (int64_t i = 0; i < rank; ++i) {
      const bool goes = std::ranges::count(moved, i) > 0;
      if (goes) with_ones[static_cast<size_t>(i)] = 1;
      if (goes) continue;
      stays.push_back(i);
      shape.push_back(numbers.tensor().dim(i));
    }
    int64_t length = 1;
    for (int64_t axis : moved) length *= numbers.tensor().dim(axis);
    shape.push_back(length);
    std::vector<int64_t> order_of_axes = stays;
    order_of_axes.insert(order_of_axes.end(), moved.begin(), moved.end());
    Tensor flat = reshape(transpose(x, order_of_axes), shape);
    Tensor out = norm(flat, {.order = order, .axes = {-1}});
    return keep_dims ? reshape(out, with_ones) : out;
  });
}

Tensor matrix_norm(Operand x, NormOrder order, base::Flag keep_dims) {
  const trace_internal::PublicCall call("linalg::matrix_norm", x.at());
  matrices_of("x", x);
  return norm(x, {.order = order, .axes = {-2, -1}, .keep_dims = keep_dims});
}

Tensor cond(Operand operand, std::optional<NormOrder> order) {
  const trace_internal::PublicCall call("linalg::cond", operand.at());
  // 2 or -2 for the two quotients of singular values; else 0.
  const double* number = order ? std::get_if<double>(&order->value()) : nullptr;
  const double by_values = !order ? 2 : number && std::abs(*number) == 2 ? *number : 0;
  const Expr a = by_values == 0 ? square_of("a", operand) : matrices_of("a", operand);
  if (rows(a) == 0 || columns(a) == 0)
    trace_internal::refuse("a is ", a.tensor().shape(), "; it must have elements");
  return as_program("linalg::cond", [&]() -> std::vector<Expr> {
    const Expr out = by_values == 0 ? cond_by_norm(a, *order) : cond_by_values(a, by_values > 0);
    // The norm of a singular matrix's inverse may be NaN.
    const Expr is_given = any(is_nan(a).operand(), {.axes = {-2, -1}});
    return {where(is_nan(out) & ~is_given, INFINITY, out)};
  })[0];
}

}  // namespace heddle::linalg
