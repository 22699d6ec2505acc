// Linear equations with tridiagonal matrices.
#include "heddle/transform/lapack/internal/arrays.h"
#include "heddle/transform/lapack/internal/problem.h"

namespace heddle::transform::lapack {
namespace {

// Diagonals [b,n,1]; below[i] is in row i, left of the diagonal. Elimination turns it into a second
// diagonal above, one row further up. The last element has no place there and stays, as in LAPACK.
// b[b,n,k], info s32[b,1,1].
struct Rows {
  Array below, middle, above, b, info;
  explicit Rows(const Arrays& from)
      : below(from[0]), middle(from[1]), above(from[2]), b(from[3]), info(from[4]) {}
};

Array or_one(const Array& x) { return select(x == 0.0, x.number(1), x); }

// Row i + 1 without its element in column i. If that element is the greater one, the rows are
// exchanged first. A matrix with a column of zeros, now or before, stays as it is.
Arrays eliminated(const Array& i, const Rows& rows, int64_t n) {
  const Array next = i + 1.0;
  const Array low = pick(rows.below, 1, next), here = pick(rows.middle, 1, i),
              other = pick(rows.middle, 1, next), up = pick(rows.above, 1, i),
              far = pick(rows.above, 1, next), b_here = pick(rows.b, 1, i),
              b_next = pick(rows.b, 1, next);
  const Array is_first_zero = (here == 0.0) & (low == 0.0) & (rows.info == 0.0);
  const Array info = select(is_first_zero, next, rows.info);
  const Array is_going = info == 0.0;
  const Array is_kept = size_of(here) >= size_of(low);
  const Array factor = select(is_kept, low / or_one(here), here / or_one(low));
  const Array has_second = next < static_cast<double>(n - 1);
  const auto choose = [&](const Array& old, const Array& kept, const Array& exchanged) {
    return select(is_going, select(is_kept, kept, exchanged), old);
  };
  const auto second = [&](const Array& value) { return select(has_second, value, low); };
  return {put(rows.below, choose(low, second(low.number(0)), second(far)), 1, next),
          put(put(rows.middle, choose(here, here, low), 1, i),
              choose(other, other - factor * up, up - factor * other), 1, next),
          put(put(rows.above, choose(up, up, other), 1, i),
              choose(far, far, select(has_second, -factor * far, far)), 1, next),
          put(put(rows.b, choose(b_here, b_here, b_next), 1, i),
              choose(b_next, b_next - factor * b_here, b_here - factor * b_next), 1, next),
          info};
}

// Row i of the solution from those below it.
Array substituted(const Array& i, const Rows& rows, int64_t n) {
  const auto product = [&](const Array& diagonal, double row, double distance) {
    const Array value = pick(diagonal, 1, i + row) * pick(rows.b, 1, i + distance);
    return select(i + distance < static_cast<double>(n), value, 0.0);
  };
  const Array here = pick(rows.b, 1, i);
  const Array rest = here - product(rows.above, 0, 1) - product(rows.below, 1, 2);
  const Array x = rest / pick(rows.middle, 1, i);
  return put(rows.b, select(rows.info == 0.0, x, here), 1, i);
}

}  // namespace

StatusOr<hlo::Module> tridiagonal_module(const Problem& problem) {
  Writer writer;
  Scope main(writer);
  Arrays state;
  for (const Shape& shape : problem.operands) state.push_back(main.parameter(shape));
  const int64_t batch = state[1].size(0), n = state[1].size(1);
  for (size_t i = 0; i < 3; ++i) state[i] = reshape(state[i], {batch, n, 1});
  state.push_back(main.zeros(Shape(s32, {batch, 1, 1})));
  state = repeat(n - 1, state, [n](Scope&, const Array& i, const Arrays& now) {
    return eliminated(i, Rows(now), n);
  });
  const Array is_last_zero = (slice(state[1], 1, n - 1, 1) == 0.0) & (state[4] == 0.0);
  state[4] = select(is_last_zero, main.number(s32, static_cast<double>(n)), state[4]);
  state = repeat(n, state, [n](Scope& body, const Array& i, const Arrays& now) {
    const Array row = body.number(s32, static_cast<double>(n - 1)) - i;
    Arrays next = now;
    next[3] = substituted(row, Rows(now), n);
    return next;
  });
  for (size_t i = 0; i < 3; ++i) state[i] = reshape(state[i], {batch, n});
  state[4] = reshape(state[4], {batch});
  return std::move(writer).finish(std::move(main).finish(state));
}

}  // namespace heddle::transform::lapack
