#include "heddle/transform/lapack/internal/reflectors.h"

namespace heddle::transform::lapack {
namespace {

// 1 - tau v v^H, each of a batch.
struct Reflector {
  Array v;    // [b,m,1], with a 1 in its row, zeros above
  Array tau;  // [b,1,1]
};

// x without tau v v^H x.
Array reflected(const Array& x, const Array& v, const Array& tau) {
  return x - tau * v * matmul(adjoint(v), x);
}

// The reflector that makes a column [b,m,1] zero below row `at`.
Reflector reflector(const Array& column, const Array& at) {
  const Array row = column.graph().iota({1, column.size(1), 1}, 1);
  const Array is_at = row == at, is_below = row > at;
  const Array head = sum(select(is_at, column, 0.0), {1});
  const Array tail = sum(select(is_below, squared_size(column), 0.0), {1});
  const Array size = sqrt(squared_size(head) + tail);
  const Array is_done = (tail == 0.0) & (imag(head) == 0.0);
  const Array beta = select(is_done, size.number(1), select(real(head) >= 0.0, -size, size));
  const Array divisor = select(is_done, head.number(1), head - beta);
  const Array below = select(is_below, column / divisor, 0.0);
  return {select(is_at, column.number(1), below),
          select(is_done, head.number(0), (beta - head) / beta)};
}

struct Factors {
  Array r;           // [b,m,n]: upper triangular but for rounding
  Array reflectors;  // [b,m,n]: one a column
  Array taus;        // [b,1,n]
};

Factors factors(const Array& a) {
  const int64_t batch = a.size(0), n = a.size(2);
  Scope& scope = a.graph();
  const Arrays last =
      repeat(n, {a, scope.zeros(a.shape()), scope.zeros(Shape(a.dtype(), {batch, 1, n}))},
             [](Scope&, const Array& i, const Arrays& now) -> Arrays {
               const Reflector h = reflector(pick(now[0], 2, i), i);
               return {reflected(now[0], h.v, conjugate(h.tau)), put(now[1], h.v, 2, i),
                       put(now[2], h.tau, 2, i)};
             });
  return {last[0], last[1], last[2]};
}

}  // namespace

Array times(const Array& reflectors, const Array& taus, bool is_adjoint, const Array& c) {
  const int64_t k = reflectors.size(2);
  return repeat(k, {c, reflectors, taus},
                [&](Scope& body, const Array& i, const Arrays& now) -> Arrays {
                  const Array back = body.number(s32, static_cast<double>(k - 1)) - i;
                  const Array at = is_adjoint ? i : back;
                  const Array tau = pick(now[2], 2, at);
                  return {reflected(now[0], pick(now[1], 2, at), is_adjoint ? conjugate(tau) : tau),
                          now[1], now[2]};
                })[0];
}

Qr qr(const Array& a, int64_t k) {
  const Factors found = factors(a);
  const int64_t batch = a.size(0), m = a.size(1), n = a.size(2);
  const Array is_diagonal = on_diagonal(a.graph(), m, k);
  const Array identity = stretched(convert(is_diagonal, a.dtype()), {batch, m, k});
  const Array square = slice(found.r, 1, 0, n);
  const Array row = a.graph().iota({1, n, n}, 1), column = a.graph().iota({1, n, n}, 2);
  return {times(found.reflectors, found.taus, false, identity), select(row <= column, square, 0.0)};
}

}  // namespace heddle::transform::lapack
