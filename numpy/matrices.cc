#include "heddle/numpy/matrices.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "heddle/hlo/dimensions.h"
#include "heddle/numpy/internal/formula.h"
#include "heddle/numpy/math.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/ops/contraction/contractions.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/public_call.h"

namespace heddle {
namespace {

// The elements lie n + 1 apart in the flattened matrix.
Tensor diagonal_of(const Tensor& x, int64_t k) {
  const int64_t m = x.dim(-2), n = x.dim(-1);
  const int64_t length =
      std::max<int64_t>(0, std::min(m - std::max<int64_t>(-k, 0), n - std::max<int64_t>(k, 0)));
  Dimensions flat(x.shape().dimensions().begin(), x.shape().dimensions().end() - 2);
  flat.push_back(m * n);
  const int64_t start = length == 0 ? 0 : k >= 0 ? k : -k * n;
  const int64_t limit = length == 0 ? 0 : start + (length - 1) * (n + 1) + 1;
  return slice_in_dim(reshape(x, flat), start, limit, n + 1, -1);
}

// x[.., i] for i of the last axis.
Tensor component(const Tensor& x, int64_t i) {
  return squeeze(slice_in_dim(x, i, i + 1, 1, -1), {-1});
}

void require_last_two(const Operand& a) {
  const Tensor x = as_tensor(a);
  if (x.rank() >= 2) return;
  trace_internal::refuse("a is ", x.shape(), "; it must have rank 2 or more");
}

// errors: throws Error unless x, an operand called `name`, has an axis to contract
void require_axis(std::string_view name, const Tensor& x) {
  if (x.rank() >= 1) return;
  trace_internal::refuse(name, " is ", x.shape(), "; it must have rank 1 or more");
}

}  // namespace

Tensor diagonal(Operand operand, base::Int k, base::Int rows, base::Int columns) {
  const PublicCall call("diagonal", operand.at());
  Tensor x = as_tensor(operand);
  if (x.rank() < 2) trace_internal::refuse("x is ", x.shape(), "; it must have rank 2 or more");
  const std::vector<int64_t> axes = trace_internal::axes_of(x.shape(), {rows, columns});
  return one_program("diagonal", [&] {
    std::vector<int64_t> order = other_dimensions(x.rank(), axes);
    order.insert(order.end(), axes.begin(), axes.end());
    return diagonal_of(std::ranges::is_sorted(order) ? x : transpose(x, order), k);
  });
}

Tensor diag(Operand operand, base::Int k) {
  const PublicCall call("diag", operand.at());
  Tensor x = as_tensor(operand);
  if (x.rank() != 1 && x.rank() != 2)
    trace_internal::refuse("x is ", x.shape(), "; it must be a vector or a matrix");
  return one_program("diag", [&] {
    if (x.rank() == 2) return diagonal_of(x, k);
    const int64_t size = x.dim(0) + std::abs(k);
    Tensor row = pad(x, 0, {{std::max<int64_t>(k, 0), std::max<int64_t>(-k, 0)}});
    Tensor on = eye(size, size, k, pred);
    return where(on, broadcast_to(row, {size, size}), 0);
  });
}

Tensor inner(Operand left, Operand right) {
  const PublicCall call("inner", left.at());
  Tensor x = as_tensor(left), y = as_tensor(right);
  if (x.rank() == 0 || y.rank() == 0) return multiply(left, right);
  return one_program("inner", [&] {
    return dot_general(left, right, {.lhs_contracting = {-1}, .rhs_contracting = {-1}});
  });
}

Tensor vdot(Operand left, Operand right) {
  const PublicCall call("vdot", left.at());
  return one_program("vdot", [&] { return inner(ravel(conj(left)), ravel(right)); });
}

Tensor vecdot(Operand left, Operand right) {
  const PublicCall call("vecdot", left.at());
  const Tensor x = as_tensor(left), y = as_tensor(right);
  require_axis("x", x);
  require_axis("y", y);
  if (x.dim(-1) != y.dim(-1))
    trace_internal::refuse("operands are ", x.shape(), " and ", y.shape(),
                           "; their last axes must have one size");
  return one_program("vecdot", [&] {
    Tensor products = multiply(conj(left), right);
    return sum(products, {.axes = {-1}}).astype(products.dtype());
  });
}

Tensor matvec(Operand left, Operand right) {
  const PublicCall call("matvec", left.at());
  return one_program("matvec", [&] {
    require_last_two(left);
    const Tensor vector = as_tensor(right);
    require_axis("x", vector);
    Tensor column = expand_dims(vector, -1);
    return squeeze(matmul(left, column), {-1});
  });
}

Tensor vecmat(Operand left, Operand right) {
  const PublicCall call("vecmat", left.at());
  return one_program("vecmat", [&] {
    require_axis("x", as_tensor(left));
    require_last_two(as_tensor(right));
    Tensor row = expand_dims(conj(left), -2);
    return squeeze(matmul(row, right), {-2});
  });
}

Tensor cross(Operand left, Operand right) {
  const PublicCall call("cross", left.at());
  return one_program("cross", [&] {
    OperandPair pair = unify(left, right);
    const Tensor &x = pair.a, &y = pair.b;
    if (x.rank() == 0 || x.dim(-1) != 3)
      trace_internal::refuse("operands are ", x.shape(), "; their last axis must have size 3");
    std::vector<Tensor> parts;
    for (int64_t i : {0, 1, 2}) {
      const int64_t j = (i + 1) % 3, k = (i + 2) % 3;
      Tensor ahead = multiply(component(x, j), component(y, k));
      Tensor behind = multiply(component(x, k), component(y, j));
      parts.push_back(subtract(ahead, behind));
    }
    return stack(parts, -1);
  });
}

Tensor kron(Operand left, Operand right) {
  const PublicCall call("kron", left.at());
  Tensor x = as_tensor(left), y = as_tensor(right);
  if (x.rank() != y.rank())
    trace_internal::refuse("operands are ", x.shape(), " and ", y.shape(),
                           "; they must have one rank, use expand_dims");
  return one_program("kron", [&] {
    Dimensions x_spread, y_spread, merged;
    for (int64_t i = 0; i < x.rank(); ++i) {
      x_spread.insert(x_spread.end(), {x.dim(i), 1});
      y_spread.insert(y_spread.end(), {1, y.dim(i)});
      merged.push_back(x.dim(i) * y.dim(i));
    }
    Tensor products = multiply(reshape(x, x_spread), reshape(y, y_spread));
    return reshape(products, merged);
  });
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors, GridOrder order,
                             SourceLocation at) {
  const PublicCall call("meshgrid", at);
  Dimensions shape;
  for (const Tensor& vector : vectors) {
    if (vector.rank() != 1)
      trace_internal::refuse("vector ", shape.size(), " is ", vector.shape(),
                             "; it must have rank 1");
    shape.push_back(vector.size());
  }
  const bool swap = order == GridOrder::kColumnsFirst && shape.size() > 1;
  if (swap) std::swap(shape[0], shape[1]);
  std::vector<Tensor> grids;
  for (size_t i = 0; i < vectors.size(); ++i) {
    const size_t axis = swap && i < 2 ? 1 - i : i;
    grids.push_back(broadcast_in_dim(vectors[i], shape, {static_cast<int64_t>(axis)}));
  }
  return grids;
}

std::array<Tensor, 2> meshgrid(const Tensor& x, const Tensor& y, GridOrder order,
                               SourceLocation at) {
  std::vector<Tensor> all = meshgrid({x, y}, order, at);
  return {std::move(all[0]), std::move(all[1])};
}

std::array<Tensor, 3> meshgrid(const Tensor& x, const Tensor& y, const Tensor& z, GridOrder order,
                               SourceLocation at) {
  std::vector<Tensor> all = meshgrid({x, y, z}, order, at);
  return {std::move(all[0]), std::move(all[1]), std::move(all[2])};
}

}  // namespace heddle
