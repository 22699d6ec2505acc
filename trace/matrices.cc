#include "heddle/trace/matrices.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "heddle/trace/axes.h"
#include "heddle/trace/contractions.h"
#include "heddle/trace/creation.h"
#include "heddle/trace/elementwise.h"
#include "heddle/trace/error.h"
#include "heddle/trace/formulas.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/reductions.h"
#include "heddle/trace/shaping.h"

namespace heddle {
namespace {

using trace_internal::one_program;
using trace_internal::PublicCall;

// The elements lie n + 1 apart in the flattened matrix.
Tensor diagonal_of(const Tensor& x, int64_t k, SourceLocation at) {
  const int64_t m = x.dim(-2), n = x.dim(-1);
  const int64_t length =
      std::max<int64_t>(0, std::min(m - std::max<int64_t>(-k, 0), n - std::max<int64_t>(k, 0)));
  Dimensions flat(x.shape().dimensions().begin(), x.shape().dimensions().end() - 2);
  flat.push_back(m * n);
  const int64_t start = length == 0 ? 0 : k >= 0 ? k : -k * n;
  const int64_t limit = length == 0 ? 0 : start + (length - 1) * (n + 1) + 1;
  return slice_in_dim({reshape({x, at}, flat), at}, start, limit, n + 1, -1);
}

// x[.., i] for i of the last axis.
Tensor component(const Tensor& x, int64_t i, SourceLocation at) {
  return squeeze({slice_in_dim({x, at}, i, i + 1, 1, -1), at}, {-1});
}

void require_last_two(std::string_view op, const Operand& a) {
  const Tensor x = as_tensor(a);
  if (x.rank() >= 2) return;
  throw Error(
      trace_internal::invalid_argument(op, ": a is ", x.shape(), "; it must have rank 2 or more"),
      a.at());
}

// errors: throws Error unless x, an operand called `name`, has an axis to contract
void require_axis(std::string_view op, std::string_view name, const Tensor& x, SourceLocation at) {
  if (x.rank() >= 1) return;
  throw Error(trace_internal::invalid_argument(op, ": ", name, " is ", x.shape(),
                                               "; it must have rank 1 or more"),
              at);
}

}  // namespace

Tensor diagonal(Operand operand, base::Int k) {
  const PublicCall call("diagonal", operand.at());
  Tensor x = as_tensor(operand);
  SourceLocation at = operand.at();
  if (x.rank() < 2)
    throw Error(trace_internal::invalid_argument("diagonal", ": x is ", x.shape(),
                                                 "; it must have rank 2 or more"),
                at);
  return one_program("diagonal", at, [&] { return diagonal_of(x, k, at); });
}

Tensor diag(Operand operand, base::Int k) {
  const PublicCall call("diag", operand.at());
  Tensor x = as_tensor(operand);
  SourceLocation at = operand.at();
  if (x.rank() != 1 && x.rank() != 2)
    throw Error(trace_internal::invalid_argument("diag", ": x is ", x.shape(),
                                                 "; it must be a vector or a matrix"),
                at);
  return one_program("diag", at, [&] {
    if (x.rank() == 2) return diagonal_of(x, k, at);
    const int64_t size = x.dim(0) + std::abs(k);
    Tensor row = pad({x, at}, {0, at}, {{std::max<int64_t>(k, 0), std::max<int64_t>(-k, 0)}});
    Tensor on = eye(size, size, k, pred, at);
    return where({on, at}, {broadcast_to(row, {size, size}, at), at}, {0, at});
  });
}

Tensor inner(Operand left, Operand right) {
  const PublicCall call("inner", left.at());
  Tensor x = as_tensor(left), y = as_tensor(right);
  if (x.rank() == 0 || y.rank() == 0) return multiply(left, right);
  return one_program("inner", left.at(), [&] {
    return dot_general(left, right, {.lhs_contracting = {-1}, .rhs_contracting = {-1}});
  });
}

Tensor vdot(Operand left, Operand right) {
  const PublicCall call("vdot", left.at());
  SourceLocation at = left.at();
  return one_program("vdot", at, [&] {
    return inner({ravel({conj(left), at}), at}, {ravel(right), at});
  });
}

Tensor vecdot(Operand left, Operand right) {
  const PublicCall call("vecdot", left.at());
  SourceLocation at = left.at();
  const Tensor x = as_tensor(left), y = as_tensor(right);
  require_axis("vecdot", "x", x, at);
  require_axis("vecdot", "y", y, at);
  if (x.dim(-1) != y.dim(-1))
    throw Error(trace_internal::invalid_argument("vecdot", ": operands are ", x.shape(), " and ",
                                                 y.shape(), "; their last axes must have one size"),
                at);
  return one_program("vecdot", at, [&] {
    Tensor products = multiply({conj(left), at}, right);
    return sum({products, at}, {.axes = {-1}}).astype(products.dtype(), at);
  });
}

Tensor matvec(Operand left, Operand right) {
  const PublicCall call("matvec", left.at());
  SourceLocation at = left.at();
  return one_program("matvec", at, [&] {
    require_last_two("matvec", left);
    const Tensor vector = as_tensor(right);
    require_axis("matvec", "x", vector, at);
    Tensor column = expand_dims({vector, at}, -1);
    return squeeze({matmul(left, {column, at}), at}, {-1});
  });
}

Tensor vecmat(Operand left, Operand right) {
  const PublicCall call("vecmat", left.at());
  SourceLocation at = left.at();
  return one_program("vecmat", at, [&] {
    require_axis("vecmat", "x", as_tensor(left), at);
    require_last_two("vecmat", {as_tensor(right), at});
    Tensor row = expand_dims({conj(left), at}, -2);
    return squeeze({matmul({row, at}, right), at}, {-2});
  });
}

Tensor cross(Operand left, Operand right) {
  const PublicCall call("cross", left.at());
  SourceLocation at = left.at();
  return one_program("cross", at, [&] {
    OperandPair pair = unify(left, right);
    const Tensor &x = pair.a, &y = pair.b;
    if (x.rank() == 0 || x.dim(-1) != 3)
      throw Error(trace_internal::invalid_argument("cross", ": operands are ", x.shape(),
                                                   "; their last axis must have size 3"),
                  at);
    std::vector<Tensor> parts;
    for (int64_t i : {0, 1, 2}) {
      const int64_t j = (i + 1) % 3, k = (i + 2) % 3;
      Tensor ahead = multiply({component(x, j, at), at}, {component(y, k, at), at});
      Tensor behind = multiply({component(x, k, at), at}, {component(y, j, at), at});
      parts.push_back(subtract({ahead, at}, {behind, at}));
    }
    return stack(parts, -1, at);
  });
}

Tensor kron(Operand left, Operand right) {
  const PublicCall call("kron", left.at());
  Tensor x = as_tensor(left), y = as_tensor(right);
  SourceLocation at = left.at();
  if (x.rank() != y.rank())
    throw Error(
        trace_internal::invalid_argument("kron", ": operands are ", x.shape(), " and ", y.shape(),
                                         "; they must have one rank, use expand_dims"),
        at);
  return one_program("kron", at, [&] {
    Dimensions x_spread, y_spread, merged;
    for (int64_t i = 0; i < x.rank(); ++i) {
      x_spread.insert(x_spread.end(), {x.dim(i), 1});
      y_spread.insert(y_spread.end(), {1, y.dim(i)});
      merged.push_back(x.dim(i) * y.dim(i));
    }
    Tensor products = multiply({reshape({x, at}, x_spread), at}, {reshape({y, at}, y_spread), at});
    return reshape({products, at}, merged);
  });
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors, GridOrder order,
                             SourceLocation at) {
  const PublicCall call("meshgrid", at);
  Dimensions shape;
  for (const Tensor& vector : vectors) {
    if (vector.rank() != 1)
      throw Error(trace_internal::invalid_argument("meshgrid", ": vector ", shape.size(), " is ",
                                                   vector.shape(), "; it must have rank 1"),
                  at);
    shape.push_back(vector.size());
  }
  const bool swap = order == GridOrder::kColumnsFirst && shape.size() > 1;
  if (swap) std::swap(shape[0], shape[1]);
  std::vector<Tensor> grids;
  for (size_t i = 0; i < vectors.size(); ++i) {
    const size_t axis = swap && i < 2 ? 1 - i : i;
    grids.push_back(broadcast_in_dim({vectors[i], at}, shape, {static_cast<int64_t>(axis)}));
  }
  return grids;
}

}  // namespace heddle
