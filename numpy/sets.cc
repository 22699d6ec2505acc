#include "heddle/numpy/internal/formula.h"
#include "heddle/numpy/searching.h"
#include "heddle/numpy/sequences.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/ops/elementwise/dtypes.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/public_call.h"

namespace heddle {
namespace {

void require_order(const Tensor& x, const Tensor& y) {
  if (x.dtype() == y.dtype() && !is_complex(x.dtype())) return;
  trace_internal::refuse("operands are ", x.shape(), " and ", y.shape(),
                         "; they must be of one dtype, of integers, floats or pred");
}

Expr isin_of(const Expr& x, const Expr& elements) {
  const int64_t n = elements.tensor().size();
  if (n == 0) return Expr(full(x.dimensions(), false, pred));
  Expr sorted = sort(Expr(ravel(elements.operand())).operand());
  Expr place = searchsorted(sorted.operand(), x.operand());
  return x == Expr(take(sorted.operand(), minimum(place, n - 1).operand()));
}

// The different elements of `all` for which `keep` is true.
template <class Keep>
SetResult set_of(std::string_view op, const Operand& left, const Operand& right, int64_t size,
                 const Operand& fill, Keep&& keep) {
  const PublicCall call(op, left.at());
  Tensor a = as_tensor(left), b = as_tensor(right);
  require_order(a, b);
  if (size < 0) trace_internal::refuse("size is ", size, "; it must be 0 or more");
  std::vector<Tensor> out = in_program(op, [&] {
    Expr x(ravel(a)), y(ravel(b));
    const Tensor filler = trace_internal::like("fill", fill, a.dtype());
    Expr all(concat({x.tensor(), y.tensor()}, 0));
    const int64_t n = all.tensor().size();
    if (n == 0) return std::vector<Tensor>{broadcast_to(filler, {size}), zeros({}, s32)};
    UniqueResult u = unique(all.operand(), n);
    Expr values(u.values);
    Expr is_member = (Expr(u.counts) > 0) & (values == values) & keep(values, x, y);
    Expr number = sum(is_member.astype(s32), {});
    Expr order(nonzero(is_member.operand(), size));
    Expr found(take(values.operand(), order.operand()));
    Expr is_place = Expr(iota(s32, {size}, 0)) < number;
    return std::vector<Tensor>{where(is_place, found, Expr(filler)).tensor(), number.tensor()};
  });
  return {out[0], out[1]};
}

}  // namespace

Tensor isin(Operand operand, Operand elements) {
  const PublicCall call("isin", operand.at());
  const bool adapts = operand.is_tensor() && !elements.is_tensor();
  Tensor of = adapts ? constant_like(elements, as_tensor(operand).dtype()) : as_tensor(elements);
  Tensor x = operand.is_tensor() ? operand.tensor() : constant_like(operand, of.dtype());
  require_order(x, of);
  return one_program("isin", [&] { return isin_of(Expr(x), Expr(of)).tensor(); });
}

SetResult union1d(Operand x, Operand y, base::Int size, Operand fill) {
  return set_of("union1d", x, y, size, fill,
                [](const Expr& v, const Expr&, const Expr&) { return v == v; });
}

SetResult intersect1d(Operand x, Operand y, base::Int size, Operand fill) {
  return set_of("intersect1d", x, y, size, fill, [](const Expr& v, const Expr& a, const Expr& b) {
    return isin_of(v, a) & isin_of(v, b);
  });
}

SetResult setdiff1d(Operand x, Operand y, base::Int size, Operand fill) {
  return set_of("setdiff1d", x, y, size, fill, [](const Expr& v, const Expr& a, const Expr& b) {
    return isin_of(v, a) & ~isin_of(v, b);
  });
}

SetResult setxor1d(Operand x, Operand y, base::Int size, Operand fill) {
  return set_of("setxor1d", x, y, size, fill, [](const Expr& v, const Expr& a, const Expr& b) {
    return isin_of(v, a) != isin_of(v, b);
  });
}

}  // namespace heddle
