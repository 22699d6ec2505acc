// LU factorisation with partial pivoting, from HLO text with names to fill in.
#include <algorithm>
#include <cctype>
#include <limits>
#include <string_view>
#include <utility>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/transform/lapack/expand.h"
#include "heddle/transform/lapack/internal/arrays.h"
#include "heddle/transform/lapack/internal/problem.h"

namespace heddle::transform::lapack {
namespace {

// The greater value, and the smaller index of equal ones.
constexpr std::string_view kGreater = R"(
greater {
  a = R[] parameter(0)
  i = s32[] parameter(1)
  b = R[] parameter(2)
  j = s32[] parameter(3)
  is_greater = pred[] compare(a, b), direction=GT
  is_equal = pred[] compare(a, b), direction=EQ
  is_first = pred[] compare(i, j), direction=LT
  is_first_equal = pred[] and(is_equal, is_first)
  is_taken = pred[] or(is_greater, is_first_equal)
  value = R[] select(is_taken, a, b)
  index = s32[] select(is_taken, i, j)
  ROOT best = (R[], s32[]) tuple(value, index)
}
)";

// |x| as isamax and icamax measure it.
constexpr std::string_view kRealSize = "  size = R[M] abs(candidates)\n";
constexpr std::string_view kComplexSize = R"(  re = R[M] real(candidates)
  im = R[M] imag(candidates)
  re_size = R[M] abs(re)
  im_size = R[M] abs(im)
  size = R[M] add(re_size, im_size)
)";

// Step k: the greatest element of column k from row k on comes to the diagonal, by an exchange of
// rows (as isamax finds it: it takes a NaN in the first place, and no other one). The column below
// it is divided by it, and the product of column and row is subtracted from the rest.
constexpr std::string_view kStepHead = R"(
more {
  state = (s32[], T[M,N], s32[P], s32[]) parameter(0)
  k = s32[] get-tuple-element(state), index=0
  steps = s32[] constant(P)
  ROOT is_more = pred[] compare(k, steps), direction=LT
}

step {
  state = (s32[], T[M,N], s32[P], s32[]) parameter(0)
  k = s32[] get-tuple-element(state), index=0
  a = T[M,N] get-tuple-element(state), index=1
  pivots = s32[P] get-tuple-element(state), index=2
  info = s32[] get-tuple-element(state), index=3
  zero = s32[] constant(0)
  one = s32[] constant(1)
  next = s32[] add(k, one)
  row = s32[M] iota(), iota_dimension=0
  column = s32[N] iota(), iota_dimension=0
  k_row = s32[M] broadcast(k), dimensions={}
  k_column = s32[N] broadcast(k), dimensions={}
  column_k = T[M,1] dynamic-slice(a, zero, k), dynamic_slice_sizes={M,1}
  candidates = T[M] reshape(column_k)
)";
constexpr std::string_view kStepTail = R"(  is_candidate = pred[M] compare(row, k_row), direction=GE
  less = R[] constant(-1)
  lesses = R[M] broadcast(less), dimensions={}
  most = R[] constant(inf)
  mosts = R[M] broadcast(most), dimensions={}
  is_nan = pred[M] compare(size, size), direction=NE
  is_at = pred[M] compare(row, k_row), direction=EQ
  nan_size = R[M] select(is_at, mosts, lesses)
  known = R[M] select(is_nan, nan_size, size)
  sizes = R[M] select(is_candidate, known, lesses)
  best = (R[], s32[]) reduce(sizes, row, less, zero), dimensions={0}, to_apply=greater
  index = s32[] get-tuple-element(best), index=1
  pivot = s32[] maximum(index, k)
  row_k = T[1,N] dynamic-slice(a, k, zero), dynamic_slice_sizes={1,N}
  row_p = T[1,N] dynamic-slice(a, pivot, zero), dynamic_slice_sizes={1,N}
  a_k = T[M,N] dynamic-update-slice(a, row_p, k, zero)
  exchanged = T[M,N] dynamic-update-slice(a_k, row_k, pivot, zero)
  diagonal_k = T[1,1] dynamic-slice(exchanged, k, k), dynamic_slice_sizes={1,1}
  diagonal = T[] reshape(diagonal_k)
  nothing = T[] constant(Z)
  unit = T[] constant(U)
  is_singular = pred[] compare(diagonal, nothing), direction=EQ
  divisor = T[] select(is_singular, unit, diagonal)
  divisors = T[M] broadcast(divisor), dimensions={}
  full_k = T[M,1] dynamic-slice(exchanged, zero, k), dynamic_slice_sizes={M,1}
  full = T[M] reshape(full_k)
  divided = T[M] divide(full, divisors)
  is_below = pred[M] compare(row, k_row), direction=GT
  left = T[M] select(is_below, divided, full)
  left_k = T[M,1] reshape(left)
  b = T[M,N] dynamic-update-slice(exchanged, left_k, zero, k)
  right_k = T[1,N] dynamic-slice(exchanged, k, zero), dynamic_slice_sizes={1,N}
  right = T[N] reshape(right_k)
  is_right = pred[N] compare(column, k_column), direction=GT
  lefts = T[M,N] broadcast(left), dimensions={0}
  rights = T[M,N] broadcast(right), dimensions={1}
  product = T[M,N] multiply(lefts, rights)
  reduced = T[M,N] subtract(b, product)
  is_below_all = pred[M,N] broadcast(is_below), dimensions={0}
  is_right_all = pred[M,N] broadcast(is_right), dimensions={1}
  is_rest = pred[M,N] and(is_below_all, is_right_all)
  c = T[M,N] select(is_rest, reduced, b)
  number = s32[] add(pivot, one)
  number_k = s32[1] reshape(number)
  all_pivots = s32[P] dynamic-update-slice(pivots, number_k, k)
  is_first = pred[] compare(info, zero), direction=EQ
  is_told = pred[] and(is_first, is_singular)
  new_info = s32[] select(is_told, next, info)
  ROOT out = (s32[], T[M,N], s32[P], s32[]) tuple(next, c, all_pivots, new_info)
}
)";

constexpr std::string_view kBatch = R"(
more_matrices {
  state = (s32[], T[B,M,N], s32[B,P], s32[B]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  count = s32[] constant(B)
  ROOT is_more = pred[] compare(i, count), direction=LT
}

matrix {
  state = (s32[], T[B,M,N], s32[B,P], s32[B]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  all = T[B,M,N] get-tuple-element(state), index=1
  all_pivots = s32[B,P] get-tuple-element(state), index=2
  all_info = s32[B] get-tuple-element(state), index=3
  zero = s32[] constant(0)
  one = s32[] constant(1)
  a_i = T[1,M,N] dynamic-slice(all, i, zero, zero), dynamic_slice_sizes={1,M,N}
  a = T[M,N] reshape(a_i)
  no_pivots = s32[P] broadcast(zero), dimensions={}
  first = (s32[], T[M,N], s32[P], s32[]) tuple(zero, a, no_pivots, zero)
  last = (s32[], T[M,N], s32[P], s32[]) while(first), condition=more, body=step
  factors = T[M,N] get-tuple-element(last), index=1
  pivots = s32[P] get-tuple-element(last), index=2
  info = s32[] get-tuple-element(last), index=3
  factors_i = T[1,M,N] reshape(factors)
  pivots_i = s32[1,P] reshape(pivots)
  info_i = s32[1] reshape(info)
  new_all = T[B,M,N] dynamic-update-slice(all, factors_i, i, zero, zero)
  new_pivots = s32[B,P] dynamic-update-slice(all_pivots, pivots_i, i, zero)
  new_info = s32[B] dynamic-update-slice(all_info, info_i, i)
  next = s32[] add(i, one)
  ROOT out = (s32[], T[B,M,N], s32[B,P], s32[B]) tuple(next, new_all, new_pivots, new_info)
}

ENTRY main {
  all = T[B,M,N] parameter(0)
  zero = s32[] constant(0)
  no_pivots = s32[B,P] broadcast(zero), dimensions={}
  no_info = s32[B] broadcast(zero), dimensions={}
  first = (s32[], T[B,M,N], s32[B,P], s32[B]) tuple(zero, all, no_pivots, no_info)
  last = (s32[], T[B,M,N], s32[B,P], s32[B]) while(first), condition=more_matrices, body=matrix
  factors = T[B,M,N] get-tuple-element(last), index=1
  pivots = s32[B,P] get-tuple-element(last), index=2
  info = s32[B] get-tuple-element(last), index=3
  ROOT out = (T[B,M,N], s32[B,P], s32[B]) tuple(factors, pivots, info)
}
)";

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Puts values in place of the words that are one capital: types T and R (of its parts), sizes B, M,
// N and P, the zero Z and the one U of T.
std::string filled(std::string_view text, const Shape& matrices) {
  const DType dtype = matrices.dtype();
  const int64_t m = matrices.dimension(1), n = matrices.dimension(2);
  const std::pair<char, std::string> kWords[] = {
      {'Z', is_complex(dtype) ? "(0, 0)" : "0"},
      {'U', is_complex(dtype) ? "(1, 0)" : "1"},
      {'T', base::cat(dtype)},
      {'R', base::cat(real_part(dtype))},
      {'B', base::cat(matrices.dimension(0))},
      {'M', base::cat(m)},
      {'N', base::cat(n)},
      {'P', base::cat(std::min(m, n))},
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool alone =
        (i == 0 || !is_word(text[i - 1])) && (i + 1 == text.size() || !is_word(text[i + 1]));
    const auto* word = std::ranges::find(kWords, text[i], &std::pair<char, std::string>::first);
    if (alone && word != std::end(kWords)) {
      out += word->second;
    } else {
      out += text[i];
    }
  }
  return out;
}

// The rows from k on whose element in column k may come to the diagonal, of which one is left: it
// has the greatest size, all along the row. Of equal ones the first is taken.
struct Pivot {
  Array size;
  Array row;
  Array number;  // s32
};
Pivot better(const Pivot& a, const Pivot& b) {
  const Array is_b = b.size > a.size;
  return {select(is_b, b.size, a.size), select(is_b, b.row, a.row),
          select(is_b, b.number, a.number)};
}
Pivot best_of(std::vector<Pivot> all) {
  for (size_t half = 1; half < all.size(); half *= 2) {
    for (size_t i = 0; i + half < all.size(); i += 2 * half) all[i] = better(all[i], all[i + half]);
  }
  return all[0];
}

// A batch of matrices whose rows are values, [b,n]. What one row needs of another one stands in
// all of its elements.
class SmallLu {
 public:
  SmallLu(Scope& main, const Shape& matrices) : main_(main), matrices_(matrices) {
    const Array all = main.parameter(matrices);
    const hlo::Dims sizes = {matrices.dimension(0), matrices.dimension(2)};
    for (int64_t i = 0; i < matrices.dimension(1); ++i)
      rows_.push_back(reshape(slice(all, 1, i, 1), sizes));
    column_ = main.iota(sizes, 1);
    info_ = main.zeros(Shape(s32, sizes));
  }

  Arrays factors_pivots_and_info() {
    const int64_t b = matrices_.dimension(0), m = matrices_.dimension(1),
                  n = matrices_.dimension(2);
    Arrays pivots, rows;
    for (int64_t k = 0; k < std::min(m, n); ++k) pivots.push_back(step(k));
    for (const Array& row : rows_) rows.push_back(reshape(row, {b, 1, n}));
    return {concatenate(rows, 1), concatenate(pivots, 1), reshape(slice(info_, 1, 0, 1), {b})};
  }

 private:
  // returns: the row that came to the diagonal, from 1 on
  Array step(int64_t k) {
    const auto first = static_cast<size_t>(k);
    std::vector<Pivot> candidates;
    for (size_t i = first; i < rows_.size(); ++i) {
      const Array size = size_of(along(rows_[i], k));
      const double of_nan = i == first ? std::numeric_limits<double>::infinity() : -1;
      candidates.push_back({select(size != size, size.number(of_nan), size), rows_[i],
                            main_.full(column_.shape(), static_cast<double>(i + 1))});
    }
    const Pivot pivot = best_of(std::move(candidates));
    for (size_t i = first + 1; i < rows_.size(); ++i)
      rows_[i] = select(pivot.number == static_cast<double>(i + 1), rows_[first], rows_[i]);
    rows_[first] = pivot.row;
    eliminate(k);
    return slice(pivot.number, 1, 0, 1);
  }

  void eliminate(int64_t k) {
    const Array& row_k = rows_[static_cast<size_t>(k)];
    const Array diagonal = along(row_k, k);
    const Array is_singular = diagonal == 0.0;
    const Array divisor = select(is_singular, diagonal.number(1), diagonal);
    info_ = select((info_ == 0.0) & is_singular, info_.number(static_cast<double>(k + 1)), info_);
    const auto at = static_cast<double>(k);
    for (auto i = static_cast<size_t>(k) + 1; i < rows_.size(); ++i) {
      const Array factor = along(rows_[i], k) / divisor;
      const Array left = select(column_ == at, factor, rows_[i]);
      rows_[i] = select(column_ > at, rows_[i] - factor * row_k, left);
    }
  }

  // Element k in all places.
  Array along(const Array& row, int64_t k) { return stretched(slice(row, 1, k, 1), row.sizes()); }

  Scope& main_;
  const Shape& matrices_;
  Arrays rows_;
  Array column_;  // by element, s32
  Array info_;    // all along the row, s32
};

hlo::Module small_lu_module(const Shape& matrices) {
  Writer writer;
  Scope main(writer);
  return std::move(writer).finish(
      std::move(main).finish(SmallLu(main, matrices).factors_pivots_and_info()));
}

}  // namespace

StatusOr<hlo::Module> lu_module(const Problem& problem) {
  const Shape& matrices = problem.operands[0];
  if (problem.unrolls &&
      std::max(matrices.dimension(1), matrices.dimension(2)) <= kMostUnrolledRows)
    return small_lu_module(matrices);
  const std::string_view size = is_complex(matrices.dtype()) ? kComplexSize : kRealSize;
  return hlo::parse_text(filled(
      base::cat("HloModule getrf\n", kGreater, kStepHead, size, kStepTail, kBatch), matrices));
}

}  // namespace heddle::transform::lapack
