// Singular values and vectors by Jacobi's method on columns.
#include <cmath>
#include <optional>

#include "heddle/transform/lapack/internal/jacobi.h"
#include "heddle/transform/lapack/internal/problem.h"
#include "heddle/transform/lapack/internal/reflectors.h"

namespace heddle::transform::lapack {
namespace {

// Norms below this count as 0: their squares lose digits. The matrix was scaled to 1.
double least_norm(DType dtype) { return real_part(dtype) == f32 ? 1e-16 : 1e-150; }

// Rotates the rows of x[b,n,l], n even. Their first `length` elements are the vectors that should
// become orthogonal. Returns the rows and pred [b,1,1]: whether a rotation was needed.
// Two vectors are orthogonal to working precision if their product is below epsilon sqrt(length)
// times their norms: that is the rounding of the sum.
std::pair<Array, Array> round(const Array& x, int64_t length) {
  const int64_t h = x.size(1) / 2;
  const Array vectors = slice(x, 2, 0, length);
  const Array p = slice(vectors, 1, 0, h), q = slice(vectors, 1, h, h);
  const Array first = sum(squared_size(p), {2}), second = sum(squared_size(q), {2});
  const Array coupling = sum(conjugate(p) * q, {2});
  const double tolerance = epsilon_of(x.dtype()) * std::sqrt(static_cast<double>(length));
  const Array least = first.number(least_norm(x.dtype()));
  const Array sizes = maximum(sqrt(first), least) * maximum(sqrt(second), least);
  const Array is_coupled = abs(coupling) > sizes * tolerance;
  const Rotations turn = rotations(first, second, select(is_coupled, coupling, 0.0));
  return {turned(x, 1, turn.versine, -conjugate(turn.sine), turn.sine), any(is_coupled, {1, 2})};
}

// Sweeps until one rotates nothing. Returns x and pred [b,1,1]: whether kMaxSweeps was enough.
std::pair<Array, Array> orthogonalised(const Array& x, int64_t length) {
  Scope& scope = x.graph();
  const int64_t n = x.size(1);
  const Shape flags(pred, {x.size(0), 1, 1});
  const auto is_more = [&](Scope&, const Arrays& now) {
    return reshape(any(now[1], {0, 1, 2}), {}) & (now[2] < static_cast<double>(kMaxSweeps));
  };
  const auto sweep = [&](Scope& body, const Arrays& now) -> Arrays {
    const Arrays last = repeat(n - 1, {now[0], body.zeros(flags)},
                               [&](Scope&, const Array&, const Arrays& each) -> Arrays {
                                 const auto [next, is_turned] = round(each[0], length);
                                 return {next, each[1] | is_turned};
                               });
    return {last[0], last[1], now[2] + 1.0};
  };
  const Arrays last = loop({x, !scope.zeros(flags), scope.number(s32, 0)}, is_more, sweep);
  return {last[0], !last[1]};
}

// The results for square matrices [b,n,n]; without vectors if they are not wanted.
struct Found {
  Array values;            // real [b,n], descending
  std::optional<Array> u;  // [b,n,n], its columns orthonormal where their value is not 0
  std::optional<Array> v;  // [b,n,n]
  Array is_done;           // pred [b,1,1]
};

Found jacobi(const Array& a, bool vectors) {
  const int64_t batch = a.size(0), n = a.size(1), even = n + n % 2;
  Scope& scope = a.graph();
  Arrays parts = {transpose(a)};
  if (vectors) {
    const Array is_diagonal = on_diagonal(scope, n, n);
    parts.push_back(stretched(convert(is_diagonal, a.dtype()), {batch, n, n}));
  }
  const auto [last, is_done] = orthogonalised(pad_end(concatenate(parts, 2), 1, even - n), n);
  const Array x = slice(last, 1, 0, n);
  const Array size = sqrt(sum(squared_size(slice(x, 2, 0, n)), {2}));
  constexpr auto kDescending = hlo::ComparisonDirection::kGt;
  const Array values = sort({reshape(size, {batch, n})}, 1, kDescending)[0];
  if (!vectors) return {values, {}, {}, is_done};
  const Array columns = transpose(x), key = reshape(size, {batch, 1, n});
  const Array ordered =
      sort({stretched(key, columns.shape().dimensions()), columns}, 2, kDescending)[1];
  return {values, slice(ordered, 1, 0, n), slice(ordered, 1, n, n), is_done};
}

// Columns u s of [b,n,n] with their norms s[b,n] -> orthonormal ones, also where s is 0.
Array orthonormal(const Array& columns, const Array& values) {
  const int64_t batch = columns.size(0), n = columns.size(1);
  const Array size = reshape(values, {batch, 1, n});
  const Array is_kept = size > least_norm(columns.dtype());
  const Array units = select(is_kept, columns / select(is_kept, size, 1.0), 0.0);
  const Qr factors = qr(units, n);
  Scope& scope = columns.graph();
  const Array is_diagonal = on_diagonal(scope, n, n);
  const Array diagonal = sum(real(select(is_diagonal, factors.r, 0.0)), {1});
  return factors.q * select(diagonal >= 0.0, diagonal.number(1), -1.0);
}

// a[b,m,n], m >= n, finite: u[b,m,k], s, v[b,n,n].
Found decomposed(const Array& a, int64_t k, bool vectors) {
  const int64_t m = a.size(1), n = a.size(2);
  if (m == n) {
    Found found = jacobi(a, vectors);
    if (vectors) found.u = orthonormal(*found.u, found.values);
    return found;
  }
  const Qr tall = qr(a, vectors ? k : n);
  Found found = jacobi(tall.r, vectors);
  if (!vectors) return found;
  const Array u = matmul(slice(tall.q, 2, 0, n), orthonormal(*found.u, found.values));
  found.u = k == n ? u : concatenate({u, slice(tall.q, 2, n, k - n)}, 2);
  return found;
}

}  // namespace

StatusOr<hlo::Module> svd_module(const Problem& problem) {
  Writer writer;
  Scope main(writer);
  const Array a = main.parameter(problem.operands[0]);
  const bool is_wide = a.size(1) < a.size(2), vectors = problem.option("mode") != 'N';
  const Scaled given = scaled(is_wide ? adjoint(a) : a);
  const Shape& widest = problem.results[is_wide ? 3 : 2];
  Found found = decomposed(given.matrix, widest.dimension(is_wide ? 1 : 2), vectors);
  const Array is_good = given.is_finite & found.is_done;
  const int64_t batch = a.size(0);
  const Array values = found.values * reshape(given.scale, {batch, 1});
  const auto or_nan = [&](const Array& x) {
    return select(is_good, x, convert(values.number(NAN), x.dtype()));
  };
  Arrays out = {a, select(reshape(is_good, {batch, 1}), values, NAN)};
  if (vectors) {
    const Array &left = is_wide ? *found.v : *found.u, &right = is_wide ? *found.u : *found.v;
    out.insert(out.end(), {or_nan(left), or_nan(adjoint(right))});
  } else {
    out.insert(out.end(), {main.zeros(problem.results[2]), main.zeros(problem.results[3])});
  }
  out.push_back(info_of(is_good));
  return std::move(writer).finish(std::move(main).finish(out));
}

}  // namespace heddle::transform::lapack
