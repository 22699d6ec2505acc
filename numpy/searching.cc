#include "heddle/numpy/searching.h"

#include <bit>

#include "heddle/numpy/internal/formula.h"
#include "heddle/scan/associative.h"
#include "heddle/scan/loops.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/ops/elementwise/dtypes.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/run/known_program.h"

namespace heddle {
namespace {

// a before b; NaN last.
Expr before(const Expr& a, const Expr& b) {
  if (!is_floating(a.dtype())) return a < b;
  return (a < b) | (is_nan(b) & ~is_nan(a));
}

// The answer is above low (or 0) and at most high.
struct Interval {
  Tensor low, high;
  static constexpr auto kFields =
      fields(field("low", &Interval::low), field("high", &Interval::high));
};

}  // namespace

Tensor searchsorted(Operand sorted_operand, Operand value_operand, SearchSide side) {
  const PublicCall call("searchsorted", sorted_operand.at());
  Tensor sorted = as_tensor(sorted_operand);
  Tensor values = value_operand.is_tensor() ? value_operand.tensor()
                                            : constant_like(value_operand, sorted.dtype());
  if (sorted.rank() != 1)
    trace_internal::refuse("sorted is ", sorted.shape(),
                           "; it must have rank 1, call it for each row with map");
  if (is_complex(sorted.dtype()))
    trace_internal::refuse("sorted is ", sorted.shape(),
                           "; complex numbers are not searched, take abs(x) or real(x)");
  if (values.dtype() != sorted.dtype())
    trace_internal::refuse("values are ", values.shape(), " and sorted is ", sorted.shape(),
                           "; cast one with astype(", sorted.dtype(), ")");
  int64_t size = sorted.size();
  const auto formula = [&](std::span<const Operand> in) {
    const Tensor &places = in[0].tensor(), &values = in[1].tensor();
    Expr wanted(values);
    Expr zero(zeros(values.shape().dimensions(), s32));
    if (size == 0) return zero.tensor();
    // It reads the same places as jax, so that rounded sums, which are not quite sorted, give the
    // same result.
    auto halve = [&](const Tensor&, const Interval& s) {
      Expr low(s.low), high(s.high);
      Expr middle = low + ((high - low) >> 1);
      Expr found(take(places, middle.operand()));
      Expr left = side == SearchSide::kLeft ? ~before(found, wanted) : before(wanted, found);
      return Interval{where(left, low, middle).tensor(), where(left, middle, high).tensor()};
    };
    int steps = std::bit_width(static_cast<uint64_t>(size));
    Interval start{zero.tensor(), zero.like(size).tensor()};
    return fori_loop(0, steps, halve, start).high;
  };
  return trace_internal::one_program("searchsorted", trace_internal::KnownOptions(side),
                                     {{sorted}, {values}}, formula);
}

namespace {

// current[place] = combine(current[place], update), one update for each place; places past the end
// are dropped.
Tensor scattered(const Expr& current, const Expr& places, const Expr& updates,
                 base::FunctionRef<Tensor(const Tensor&, const Tensor&)> combine) {
  int64_t count = updates.tensor().size();
  Tensor rows = reshape(places.operand(), {count, 1});
  return scatter(current.operand(), Expr(rows).operand(), updates.operand(),
                 {.update_window_dims = {},
                  .inserted_window_dims = {0},
                  .scatter_dims_to_operand_dims = {0},
                  .index_vector_dim = 1},
                 combine);
}

// pred: whether an element of a sorted array differs from the one before it; the first does.
Expr is_new(const Expr& sorted) {
  int64_t n = sorted.tensor().size();
  Expr left = slice_in_dim(sorted.operand(), 0, n - 1);
  Expr right = slice_in_dim(sorted.operand(), 1, n);
  Expr differs = left != right;
  if (is_floating(sorted.dtype())) differs = differs & ~(is_nan(left) & is_nan(right));
  Tensor first = full({1}, true, pred);
  return concat({first, differs.tensor()}, 0);
}

UniqueResult unique_of(const Expr& x, int64_t size, const std::optional<Operand>& fill) {
  int64_t n = x.tensor().size();
  Expr flat = reshape(x.operand(), {n});
  Expr order = argsort(flat.operand(), 0);
  Expr sorted = take(flat.operand(), order.operand());
  Expr starts = is_new(sorted);
  Expr place = Expr(cumsum(starts.astype(s32).operand())) - 1;

  auto replace = [](const Tensor&, const Tensor& update) { return update; };
  auto least = [](const Tensor& a, const Tensor& b) { return minimum(a, b); };
  auto plus = [](const Tensor& a, const Tensor& b) { return add(a, b); };
  auto nothing = [&](DType dtype) { return Expr(zeros({size}, dtype)); };
  Expr all_ones = place.like(1);

  Expr counts = scattered(nothing(s32), place, all_ones, plus);
  // Stable sorting puts the first of equal elements first, so it has the least position.
  Expr first = scattered(nothing(s32).like(n), place, order, least);
  Expr least_element = slice_in_dim(sorted.operand(), 0, 1);
  Expr filler = fill ? Expr(trace_internal::like("fill", *fill, x.dtype()))
                     : Expr(reshape(least_element.operand(), {}));
  Expr taken = counts > 0;
  Expr values = scattered(nothing(x.dtype()), place, sorted, replace);
  Expr origin = reshape(slice_in_dim(order.operand(), 0, 1), {});
  Expr inverse = scattered(place.like(0), order, place, replace);
  Expr last = slice_in_dim(place.operand(), n - 1, n);
  return {where(taken, values, filler).tensor(), where(taken, first, origin).tensor(),
          reshape(inverse.operand(), x.dimensions()), counts.tensor(),
          (Expr(reshape(last.operand(), {})) + 1).tensor()};
}

}  // namespace

UniqueResult unique(Operand x, base::Int size, std::optional<Operand> fill) {
  const PublicCall call("unique", x.at());
  Tensor elements = as_tensor(x);
  if (is_complex(elements.dtype()) || elements.size() == 0)
    trace_internal::refuse("x is ", elements.shape(),
                           "; it must have elements, of a dtype with an order");
  if (size < 1) trace_internal::refuse("size is ", size, "; it must be 1 or more");
  std::vector<Tensor> out = trace_internal::in_program("unique", [&] {
    UniqueResult u = unique_of(elements, size, fill);
    return std::vector<Tensor>{u.values, u.indices, u.inverse, u.counts, u.number};
  });
  return {out[0], out[1], out[2], out[3], out[4]};
}

}  // namespace heddle
