#include "heddle/scan/searching.h"

#include <bit>

#include "heddle/scan/associative.h"
#include "heddle/scan/loops.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/dtypes.h"
#include "heddle/trace/elementwise.h"
#include "heddle/trace/error.h"
#include "heddle/trace/indexing.h"
#include "heddle/trace/located.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle {
namespace {

using trace_internal::Located;
using trace_internal::PublicCall;

// a before b; NaN last.
Located before(const Located& a, const Located& b) {
  if (!is_floating(a.dtype())) return a < b;
  return (a < b) | (is_nan(b) & ~is_nan(a));
}

// The answer is above low, or 0, and up to high.
struct Interval {
  Tensor low, high;
  static constexpr auto kFields =
      fields(field("low", &Interval::low), field("high", &Interval::high));
};

}  // namespace

Tensor searchsorted(Operand sorted_operand, Operand value_operand, SearchSide side) {
  const PublicCall call("searchsorted", sorted_operand.at());
  SourceLocation at = sorted_operand.at();
  Tensor sorted = as_tensor(sorted_operand);
  Tensor values = value_operand.is_tensor() ? value_operand.tensor()
                                            : constant_like(value_operand, sorted.dtype());
  if (sorted.rank() != 1)
    throw Error(
        trace_internal::invalid_argument("searchsorted", ": sorted is ", sorted.shape(),
                                         "; it must have rank 1, call it for each row with map"),
        at);
  if (is_complex(sorted.dtype()))
    throw Error(trace_internal::invalid_argument(
                    "searchsorted", ": sorted is ", sorted.shape(),
                    "; complex numbers are not searched, take abs(x) or real(x)"),
                at);
  if (values.dtype() != sorted.dtype())
    throw Error(trace_internal::invalid_argument("searchsorted", ": values are ", values.shape(),
                                                 " and sorted is ", sorted.shape(),
                                                 "; cast one with astype(", sorted.dtype(), ")"),
                at);
  int64_t size = sorted.size();
  return trace_internal::one_program("searchsorted", at, [&] {
    Located wanted(values, at);
    Located zero(zeros(values.shape().dimensions(), s32, at), at);
    if (size == 0) return zero.tensor();
    // The places that jax looks at, so that rounded sums, which are not quite sorted, give the
    // same.
    auto halve = [&](const Tensor&, const Interval& s) {
      Located low(s.low, at), high(s.high, at);
      Located middle = low + ((high - low) >> 1);
      Located found(take({sorted, at}, middle.operand()), at);
      Located left = side == SearchSide::kLeft ? ~before(found, wanted) : before(wanted, found);
      return Interval{where(left, low, middle).tensor(), where(left, middle, high).tensor()};
    };
    int steps = std::bit_width(static_cast<uint64_t>(size));
    Interval start{zero.tensor(), zero.like(size).tensor()};
    return fori_loop({0, at}, {steps, at}, halve, start, at).high;
  });
}

namespace {

// current[place] = combine(current[place], update), one update a place; those past the end are
// dropped.
Tensor scattered(const Located& current, const Located& places, const Located& updates,
                 base::FunctionRef<Tensor(const Tensor&, const Tensor&)> combine) {
  int64_t count = updates.tensor().size();
  Tensor rows = reshape(places.operand(), {count, 1});
  return scatter(current.operand(), places.with(rows).operand(), updates.operand(),
                 {.update_window_dims = {},
                  .inserted_window_dims = {0},
                  .scatter_dims_to_operand_dims = {0},
                  .index_vector_dim = 1},
                 combine);
}

// pred: whether an element of a sorted array differs from the one before it; the first does.
Located is_new(const Located& sorted) {
  int64_t n = sorted.tensor().size();
  Located left = sorted.with(slice_in_dim(sorted.operand(), 0, n - 1));
  Located right = sorted.with(slice_in_dim(sorted.operand(), 1, n));
  Located differs = left != right;
  if (is_floating(sorted.dtype())) differs = differs & ~(is_nan(left) & is_nan(right));
  Tensor first = full({1}, {true, sorted.at()}, pred);
  return sorted.with(concat({first, differs.tensor()}, 0, sorted.at()));
}

UniqueResult unique_of(const Located& x, int64_t size, const std::optional<Operand>& fill) {
  SourceLocation at = x.at();
  int64_t n = x.tensor().size();
  Located flat = x.with(reshape(x.operand(), {n}));
  Located order = x.with(argsort(flat.operand(), 0));
  Located sorted = x.with(take(flat.operand(), order.operand()));
  Located starts = is_new(sorted);
  Located place = x.with(cumsum(starts.astype(s32).operand())) - 1;

  auto replace = [](const Tensor&, const Tensor& update) { return update; };
  auto least = [at](const Tensor& a, const Tensor& b) { return minimum({a, at}, {b, at}); };
  auto plus = [at](const Tensor& a, const Tensor& b) { return add({a, at}, {b, at}); };
  auto nothing = [&](DType dtype) { return Located(zeros({size}, dtype, at), at); };
  Located all_ones = place.like(1);

  Located counts = x.with(scattered(nothing(s32), place, all_ones, plus));
  // Stable sorting puts the first of equals first, so the least position is it.
  Located first = x.with(scattered(nothing(s32).like(n), place, order, least));
  Located least_element = x.with(slice_in_dim(sorted.operand(), 0, 1));
  Located filler = fill ? x.with(trace_internal::like("unique", "fill", *fill, x.dtype(), at))
                        : x.with(reshape(least_element.operand(), {}));
  Located taken = counts > 0;
  Located values = x.with(scattered(nothing(x.dtype()), place, sorted, replace));
  Located origin = x.with(reshape({slice_in_dim(order.operand(), 0, 1), at}, {}));
  Located inverse = x.with(scattered(place.like(0), order, place, replace));
  Located last = x.with(slice_in_dim(place.operand(), n - 1, n));
  return {where(taken, values, filler).tensor(), where(taken, first, origin).tensor(),
          reshape(inverse.operand(), x.dimensions()), counts.tensor(),
          (x.with(reshape(last.operand(), {})) + 1).tensor()};
}

}  // namespace

UniqueResult unique(Operand x, base::Int size, std::optional<Operand> fill) {
  const PublicCall call("unique", x.at());
  SourceLocation at = x.at();
  Tensor elements = as_tensor(x);
  if (is_complex(elements.dtype()) || elements.size() == 0)
    throw Error(
        trace_internal::invalid_argument("unique", ": x is ", elements.shape(),
                                         "; it must have elements, of a dtype with an order"),
        at);
  if (size < 1)
    throw Error(
        trace_internal::invalid_argument("unique", ": size is ", size, "; it must be 1 or more"),
        at);
  std::vector<Tensor> out = trace_internal::in_program("unique", at, [&] {
    UniqueResult u = unique_of({elements, at}, size, fill);
    return std::vector<Tensor>{u.values, u.indices, u.inverse, u.counts, u.number};
  });
  return {out[0], out[1], out[2], out[3], out[4]};
}

}  // namespace heddle
