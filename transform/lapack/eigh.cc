// Eigenvalues and eigenvectors of Hermitian matrices by Jacobi's method.
#include <cmath>

#include "heddle/transform/lapack/internal/jacobi.h"
#include "heddle/transform/lapack/internal/problem.h"

namespace heddle::transform::lapack {
namespace {

// The state for matrices [b,n,n], n even. The diagonal is separate, so that it takes no part in the
// sums of squares: the matrix has zeros there.
struct State {
  Array rest;      // [b,n,n]
  Array diagonal;  // real [b,n,1]
  Arrays vectors;  // [b,n,n], as rows; none if they are not wanted

  explicit State(const Arrays& from)
      : rest(from[0]), diagonal(from[1]), vectors(from.begin() + 2, from.end()) {}
  State(Array rest_, Array diagonal_, Arrays vectors_)
      : rest(std::move(rest_)), diagonal(std::move(diagonal_)), vectors(std::move(vectors_)) {}
  [[nodiscard]] Arrays all() const {
    Arrays out = {rest, diagonal};
    out.insert(out.end(), vectors.begin(), vectors.end());
    return out;
  }
};

// The Hermitian matrix of one triangle; its diagonal is real.
Array hermitian(const Array& a, bool lower) {
  Scope& scope = a.graph();
  const int64_t n = a.size(1);
  const Array row = scope.iota({1, n, n}, 1), column = scope.iota({1, n, n}, 2);
  const Array half = select(lower ? row > column : column > row, a, 0.0);
  const Array middle = convert(real(select(row == column, a, 0.0)), a.dtype());
  return half + adjoint(half) + middle;
}

// The elements where the row and the column of each pair meet: [b,h,1].
Array couplings(const Array& rest) {
  const int64_t h = rest.size(1) / 2;
  const Array corner = slice(slice(rest, 1, 0, h), 2, h, h);
  return sum(select(on_diagonal(rest.graph(), h, h), corner, 0.0), {2});
}

Array as_row(const Array& x) { return reshape(x, {x.size(0), 1, x.size(1)}); }

// rest := J^H rest J, vectors := vectors J.
State round(Scope& scope, const State& now) {
  const int64_t n = now.rest.size(1), h = n / 2;
  const Array first = slice(now.diagonal, 1, 0, h), second = slice(now.diagonal, 1, h, h);
  const Rotations turn = rotations(first, second, couplings(now.rest));
  const Array v = turn.versine, s = turn.sine, t = conjugate(s);
  const Array rows = turned(now.rest, 1, v, -s, t);
  const Array both = turned(rows, 2, as_row(v), as_row(-t), as_row(s));
  const Array number = pair_numbers(scope, h);
  const Array is_pair = reshape(number, {1, n, 1}) == reshape(number, {1, 1, n});
  Arrays vectors;
  for (const Array& each : now.vectors) vectors.push_back(turned(each, 1, v, -t, s));
  return {select(is_pair, both.number(0), both),
          moved_on(first - turn.change, second + turn.change, 1), vectors};
}

Array squares_of(const Array& rest) { return sum(squared_size(rest), {1, 2}); }

// Ends once the sum of squares off the diagonal is at most `goal`, real [b,1,1], or after
// kMaxSweeps. Returns the state, and pred [b,1,1]: whether the goal is reached.
std::pair<State, Array> diagonalised(const State& start, const Array& goal) {
  const int64_t n = start.rest.size(1);
  Arrays state = start.all();
  const size_t count = state.size();
  Scope& scope = goal.graph();
  state.insert(state.end(), {goal, squares_of(start.rest), scope.number(s32, 0)});
  const auto is_more = [&](Scope&, const Arrays& now) {
    const Array far = reshape(any(now[count + 1] > now[count], {0, 1, 2}), {});
    return far & (now[count + 2] < static_cast<double>(kMaxSweeps));
  };
  const auto sweep = [&](Scope&, const Arrays& now) {
    const Arrays values(now.begin(), now.begin() + static_cast<std::ptrdiff_t>(count));
    Arrays next = repeat(n - 1, values, [&](Scope& body, const Array&, const Arrays& each) {
      return round(body, State(each)).all();
    });
    next.insert(next.end(), {now[count], squares_of(next[0]), now[count + 2] + 1.0});
    return next;
  };
  const Arrays last = loop(state, is_more, sweep);
  return {State({last.begin(), last.begin() + static_cast<std::ptrdiff_t>(count)}),
          last[count + 1] <= last[count]};
}

// [b,n] in ascending order and, if there are vectors, [b,n,n] as columns in the same order.
Arrays sorted(const Array& values, const Arrays& vectors) {
  constexpr auto kAscending = hlo::ComparisonDirection::kLt;
  Arrays out = sort({values}, 1, kAscending);
  if (vectors.empty()) return out;
  const Array key = reshape(values, {values.size(0), 1, values.size(1)});
  const Array columns = transpose(vectors[0]);
  out.push_back(sort({stretched(key, columns.shape().dimensions()), columns}, 2, kAscending)[1]);
  return out;
}

// n rows and columns of a state of n or n + 1.
Arrays found(const State& last, int64_t n) {
  const int64_t batch = last.rest.size(0);
  const Array values = reshape(slice(last.diagonal, 1, 0, n), {batch, n});
  Arrays vectors;
  for (const Array& each : last.vectors) vectors.push_back(slice(slice(each, 1, 0, n), 2, 0, n));
  return sorted(values, vectors);
}

}  // namespace

StatusOr<hlo::Module> eigh_module(const Problem& problem) {
  Writer writer;
  Scope main(writer);
  const Array a = main.parameter(problem.operands[0]);
  const int64_t batch = a.size(0), n = a.size(1), even = n + n % 2;
  const Scaled given = scaled(hermitian(a, problem.option("uplo") == 'L'));
  const Array goal = squares_of(given.matrix) * (epsilon_of(a.dtype()) * epsilon_of(a.dtype()));
  const Array padded = pad_end(pad_end(given.matrix, 1, even - n), 2, even - n);
  const Array is_diagonal = on_diagonal(main, even, even);
  Arrays vectors;
  if (problem.option("mode") == 'V') {
    const Array identity = convert(is_diagonal, a.dtype());
    vectors.push_back(stretched(identity, {batch, even, even}));
  }
  const State start(select(is_diagonal, padded.number(0), padded),
                    sum(real(select(is_diagonal, padded, 0.0)), {2}), vectors);
  const auto [last, is_done] = diagonalised(start, goal);
  const Arrays out = found(last, n);
  const Array is_good = given.is_finite & is_done;
  const Array values = out[0] * reshape(given.scale, {batch, 1});
  const Array nan = values.number(NAN);
  return std::move(writer).finish(std::move(main).finish(
      {out.size() == 1 ? a : select(is_good, out[1], convert(nan, a.dtype())),
       select(reshape(is_good, {batch, 1}), values, nan), info_of(is_good)}));
}

}  // namespace heddle::transform::lapack
