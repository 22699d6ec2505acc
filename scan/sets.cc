#include "heddle/scan/sets.h"

#include "heddle/scan/searching.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/dtypes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/indexing.h"
#include "heddle/trace/located.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/sequences.h"

namespace heddle {
namespace {

using trace_internal::in_program;
using trace_internal::Located;
using trace_internal::one_program;
using trace_internal::PublicCall;

void require_order(std::string_view op, const Tensor& x, const Tensor& y, SourceLocation at) {
  if (x.dtype() == y.dtype() && !is_complex(x.dtype())) return;
  throw Error(
      trace_internal::invalid_argument(op, ": operands are ", x.shape(), " and ", y.shape(),
                                       "; they must be of one dtype, of integers, floats or pred"),
      at);
}

Located isin_of(const Located& x, const Located& elements) {
  const int64_t n = elements.tensor().size();
  if (n == 0) return x != x;
  Located sorted = x.with(sort(x.with(ravel(elements.operand())).operand()));
  Located place = x.with(searchsorted(sorted.operand(), x.operand()));
  return x == x.with(take(sorted.operand(), minimum(place, n - 1).operand()));
}

// The different elements for which `keep` is true, of those of `all`.
template <class Keep>
SetResult set_of(std::string_view op, const Operand& left, const Operand& right, int64_t size,
                 const Operand& fill, Keep&& keep) {
  const PublicCall call(op, left.at());
  SourceLocation at = left.at();
  Tensor a = as_tensor(left), b = as_tensor(right);
  require_order(op, a, b, at);
  if (size < 0)
    throw Error(trace_internal::invalid_argument(op, ": size is ", size, "; it must be 0 or more"),
                at);
  std::vector<Tensor> out = in_program(op, at, [&] {
    Located x(ravel({a, at}), at), y(ravel({b, at}), at);
    const Tensor filler = trace_internal::like(op, "fill", fill, a.dtype(), at);
    Located all(concat({x.tensor(), y.tensor()}, 0, at), at);
    const int64_t n = all.tensor().size();
    if (n == 0) return std::vector<Tensor>{broadcast_to(filler, {size}, at), zeros({}, s32, at)};
    UniqueResult u = unique(all.operand(), n);
    Located values(u.values, at);
    Located kept = (Located(u.counts, at) > 0) & (values == values) & keep(values, x, y);
    Located number = sum(kept.astype(s32), {});
    Located order(nonzero(kept.operand(), size), at);
    Located found(take(values.operand(), order.operand()), at);
    Located is_place = Located(iota(s32, {size}, 0, at), at) < number;
    return std::vector<Tensor>{where(is_place, found, Located(filler, at)).tensor(),
                               number.tensor()};
  });
  return {out[0], out[1]};
}

}  // namespace

Tensor isin(Operand operand, Operand elements) {
  const PublicCall call("isin", operand.at());
  SourceLocation at = operand.at();
  const bool adapts = operand.is_tensor() && !elements.is_tensor();
  Tensor of = adapts ? constant_like(elements, as_tensor(operand).dtype()) : as_tensor(elements);
  Tensor x = operand.is_tensor() ? operand.tensor() : constant_like(operand, of.dtype());
  require_order("isin", x, of, at);
  return one_program("isin", at, [&] { return isin_of(Located(x, at), Located(of, at)).tensor(); });
}

SetResult union1d(Operand x, Operand y, base::Int size, Operand fill) {
  return set_of("union1d", x, y, size, fill,
                [](const Located& v, const Located&, const Located&) { return v == v; });
}

SetResult intersect1d(Operand x, Operand y, base::Int size, Operand fill) {
  return set_of("intersect1d", x, y, size, fill,
                [](const Located& v, const Located& a, const Located& b) {
                  return isin_of(v, a) & isin_of(v, b);
                });
}

SetResult setdiff1d(Operand x, Operand y, base::Int size, Operand fill) {
  return set_of("setdiff1d", x, y, size, fill,
                [](const Located& v, const Located& a, const Located& b) {
                  return isin_of(v, a) & ~isin_of(v, b);
                });
}

SetResult setxor1d(Operand x, Operand y, base::Int size, Operand fill) {
  return set_of("setxor1d", x, y, size, fill,
                [](const Located& v, const Located& a, const Located& b) {
                  return isin_of(v, a) != isin_of(v, b);
                });
}

}  // namespace heddle
