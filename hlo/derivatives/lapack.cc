// Derivatives of LAPACK's calls, and of functions of matrices that are known by name.
//
// source: JAX, jax/_src/lax/linalg.py; M. B. Giles, An extended collection of matrix derivative
// results (2008); G. H. Golub and V. Pereyra, SIAM Journal on Numerical Analysis 10(2) (1973),
// 413-432, for the pseudo-inverse.
#include "heddle/hlo/calls/lapack.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/derivatives/internal/matrices.h"
#include "heddle/hlo/derivatives/internal/rules.h"

namespace heddle::hlo {
namespace {

// An option of the call that is a letter.
char letter(const Instruction& call, std::string_view name) {
  const std::string text(lapack_option(call.extras->backend_config, name));
  return static_cast<char>(std::atoi(text.c_str()));
}

std::string option(std::string_view name, char value) {
  return base::cat(name, " = ", static_cast<int>(value), " : ui8");
}

// The results of a call as `of`, with other options and types of results.
Values call_like(Graph& graph, const Instruction& of, const Values& operands, Shape shape,
                 std::string options) {
  Instruction now = of;
  now.shape = std::move(shape);
  now.name.clear();
  now.operands.clear();
  for (const Value& each : operands) now.operands.push_back(each.id());
  InstructionExtras& extras = now.extras.mutate();
  extras.backend_config = std::move(options);
  extras.control_predecessors.clear();
  return graph.elements(graph.append(std::move(now)));
}

Dims batch_sizes(const Value& x, int64_t without, std::initializer_list<int64_t> more) {
  Dims out = x.sizes();
  out.resize(out.size() - static_cast<size_t>(without));
  out.insert(out.end(), more);
  return out;
}

Value as_row(const Value& x) { return reshape(x, batch_sizes(x, 1, {1, x.size(x.rank() - 1)})); }
Value as_column(const Value& x) { return reshape(x, batch_sizes(x, 1, {x.size(x.rank() - 1), 1})); }

// LU
// ---------------------------------------------------------------------------------------

// The rows' order that LAPACK's exchanges, counted from 1, come to: [.., m].
Value order_of(const Value& pivots, int64_t m) {
  Graph& graph = pivots.graph();
  const int64_t last = pivots.rank() - 1;
  const auto exchange = [&](Graph&, const Value& i, const Values& state) -> Values {
    const Value &order = state[0], &others = state[1];
    const Value row = order.graph().iota(order.sizes(), last);
    const Value other = pick(others, last, i) - 1.0, here = pick(order, last, i);
    const Value there = take_along(order, other, last);
    const Value step = broadcast(i, order.sizes(), {});
    return {select(row == step, stretched(there, order.sizes()),
                   select(row == other, stretched(here, order.sizes()), order)),
            others};
  };
  const Value order = graph.iota(batch_sizes(pivots, 1, {m}), last);
  return repeat(pivots.size(last), {order, pivots}, exchange)[0];
}

// x with its rows in the order.
Value rows_in_order(const Value& x, const Value& order) {
  return take_along(x, stretched(as_column(order), x.sizes()), x.rank() - 2);
}

struct Lu {
  Value lower, upper, order;  // [m, m] with ones on its diagonal, [n, n]
};

Lu as_factors(const Value& packed, const Value& pivots) {
  const int64_t m = row_count(packed), n = column_count(packed), k = std::min(m, n);
  const int64_t row = packed.rank() - 2, column = packed.rank() - 1;
  const Value left = pad_end(triangle(slice(packed, column, 0, k), true, true), column, m - k);
  const Value right = pad_end(triangle(slice(packed, row, 0, k), false, false), row, n - k);
  const Value upper = n > k ? right + ones_on_diagonal(right, k) : right;
  return {left + ones_on_diagonal(left), upper, order_of(pivots, m)};
}

// d of the packed factors.
Value lu_jvp(const Value& packed, const Value& pivots, const Value& da) {
  const Lu lu = as_factors(packed, pivots);
  const Value left = solve(lu.lower, rows_in_order(da, lu.order),
                           {.left_side = true, .lower = true, .unit_diagonal = true});
  const Value both = solve(lu.upper, left, {});
  return matmul(lu.lower, triangle(both, true, true)) +
         matmul(triangle(both, false, false), lu.upper);
}

// A^-1 b.
Value solved(const Value& packed, const Value& pivots, const Value& b) {
  const Value y = solve(packed, rows_in_order(b, order_of(pivots, row_count(packed))),
                        {.left_side = true, .lower = true, .unit_diagonal = true});
  return solve(packed, y, {.left_side = true});
}

// Eigenvalues and singular values
// ---------------------------------------------------------------------------------------

// 1 / x off the diagonal, 0 on it.
Value inverse_off_diagonal(const Value& x) {
  const Value ones = ones_on_diagonal(x);
  return 1.0 / (x + ones) - ones;
}

StatusOr<Values> eigh_jvp(const JvpArgs& d) {
  const char triangle_read = letter(d.of, "uplo");
  Values y(d.y.begin(), d.y.end());
  const bool has_vectors = letter(d.of, "mode") == 'V';
  if (!has_vectors) {
    y = call_like(d.graph, d.of, {d.x[0]}, d.of.shape,
                  base::cat("{", option("mode", 'V'), ", ", option("uplo", triangle_read), "}"));
  }
  const Value &v = y[0], &w = y[1];
  const Value inner = matmul(adjoint(v), matmul(hermitian_of(d.dx[0], triangle_read == 'L'), v));
  const Value dw = real(diagonal(inner));
  if (!has_vectors) return Values{Value(), dw, Value()};
  const Value gaps = inverse_off_diagonal(as_row(w) - as_column(w));
  return Values{matmul(v, inner * gaps), dw, Value()};
}

StatusOr<Values> svd_jvp(const JvpArgs& d) {
  const Value &a = d.x[0], &da = d.dx[0];
  const int64_t m = row_count(a), n = column_count(a), k = std::min(m, n);
  const char mode = letter(d.of, "mode");
  Values y(d.y.begin(), d.y.end());
  if (mode == 'A' && m != n) {
    d.why_none[m > n ? 2 : 3] =
        "the vectors that full_matrices adds are not determined by the matrix; pass "
        "full_matrices = false";
    y[2] = slice(y[2], a.rank() - 1, 0, k);
    y[3] = slice(y[3], a.rank() - 2, 0, k);
  }
  if (mode == 'N') {
    const DType dtype = a.dtype();
    const Shape& s = d.of.shape.element(1);
    y = call_like(d.graph, d.of, {a},
                  Shape::tuple({d.of.shape.element(0), s, Shape(dtype, batch_sizes(a, 2, {m, k})),
                                Shape(dtype, batch_sizes(a, 2, {k, n})), d.of.shape.element(4)}),
                  base::cat("{", option("mode", 'S'), "}"));
  }
  const Value &s = y[1], &u = y[2], &vh = y[3];
  const Value v = adjoint(vh), uh = adjoint(u);
  const Value inner = matmul(uh, matmul(da, v));
  const Value ds = real(diagonal(inner));
  if (mode == 'N') return Values{Value(), ds, Value(), Value(), Value()};
  const Value row = as_row(s), column = as_column(s);
  const Value gaps = inverse_off_diagonal((row + column) * (row - column));
  // The part of the diagonal that turns complex vectors.
  const Value is_zero = select(s == 0.0, s.graph().full(s.shape(), 1), s.graph().zeros(s.shape()));
  const Value inverse = as_row(1.0 / (s + is_zero) - is_zero);
  const Value turned = diagonal_part(inner - adjoint(inner)) * inverse * 0.5;
  const Value by_row = inner * row, by_column = inner * column;
  Value du = matmul(u, (by_row + adjoint(by_row)) * gaps + turned);
  Value dv = matmul(v, (by_column + adjoint(by_column)) * gaps);
  if (m > n) {
    const Value beyond = matmul(da, v);
    du = du + (beyond - matmul(u, matmul(uh, beyond))) / stretched(row, beyond.sizes());
  }
  if (n > m) {
    const Value beyond = matmul(adjoint(da), u);
    dv = dv + (beyond - matmul(v, matmul(vh, beyond))) / stretched(row, beyond.sizes());
  }
  return Values{Value(), ds, du, adjoint(dv), Value()};
}

Value as_complex(const Value& x) { return is_complex(x.dtype()) ? x : complex(x, x * 0.0); }

// Vectors are of length 1, and their greatest elements real.
StatusOr<Values> eig_jvp(const JvpArgs& d) {
  const Value& a = d.x[0];
  const bool is_real = !is_complex(a.dtype());
  const bool has_vectors = letter(d.of, "compute_right") == 'V';
  if (letter(d.of, "compute_left") == 'V')
    return base::unimplemented("left eigenvectors have no derivative; take them of the transpose");
  Values y(d.y.begin(), d.y.end());
  if (!has_vectors) {
    y = call_like(
        d.graph, d.of, {a}, d.of.shape,
        base::cat("{", option("compute_left", 'N'), ", ", option("compute_right", 'V'), "}"));
  }
  const size_t vectors = is_real ? 3 : 2;
  const Value& v = y[vectors];
  const Value w = is_real ? complex(y[0], y[1]) : y[0];
  Instruction factor = d.of;
  CustomCallAttrs attrs = d.of.attrs.get<CustomCallAttrs>();  // its API version stays
  attrs.custom_call_target = v.dtype() == c64 ? "lapack_cgetrf_ffi" : "lapack_zgetrf_ffi";
  attrs.constrain_layout = false;
  attrs.operand_layout_constraints.clear();
  attrs.output_to_operand_aliasing.clear();
  factor.attrs = std::move(attrs);
  const Shape info = d.of.shape.elements().back();
  const Values lu =
      call_like(d.graph, factor, {v}, Shape::tuple({v.shape(), Shape(s32, w.sizes()), info}), "{}");
  const Value inner = solved(lu[0], lu[1], matmul(as_complex(d.dx[0]), v));
  const Value dw = diagonal(inner);
  Values out(d.y.size());
  out[0] = is_real ? real(dw) : dw;
  if (is_real) out[1] = imag(dw);
  if (!has_vectors) return out;
  const Value gaps = as_row(w) - as_column(w);
  const Value ones = ones_on_diagonal(gaps);
  const Value dv = matmul(v, inner * (1.0 / (gaps + ones) - ones));
  const int64_t row = v.rank() - 2;
  const Value along = reduce_sum(real(conjugate(v) * dv), {row});
  // Where v's element is greatest: the first of those.
  const Value size = squared_size(v);
  const Value most = stretched(as_row(reduce(size, Opcode::kMaximum, 0, {row})), v.sizes());
  const Value at = rows(v);
  const Value first = reduce(select(size >= most, at, at.graph().full(at.shape(), 1e9)),
                             Opcode::kMinimum, 2e9, {row});
  const Value is_first = at == stretched(as_row(first), v.sizes());
  const auto there = [&](const Value& x) {
    return reduce_sum(select(is_first, x, x.graph().zeros(x.shape())), {row});
  };
  const Value turn = there(imag(dv)) / there(real(v));
  out[vectors] = dv - v * stretched(as_row(complex(along, turn)), v.sizes());
  return out;
}

// The other triangle is a's.
StatusOr<Values> potrf_jvp(const JvpArgs& d) {
  const bool lower = letter(d.of, "uplo") == 'L';
  const Value factor = triangle(d.y[0], lower, false), &da = d.dx[0];
  const Value of_factor =
      lower ? cholesky_jvp(factor, da) : adjoint(cholesky_jvp(adjoint(factor), adjoint(da)));
  return Values{of_factor + triangle(da, !lower, true), Value()};
}
StatusOr<Values> getrf_jvp(const JvpArgs& d) {
  return Values{lu_jvp(d.y[0], d.y[1], d.dx[0]), Value(), Value()};
}

struct RoutineRule {
  std::string_view name;
  JvpFn jvp;
};
constexpr RoutineRule kRoutineRules[] = {
    {"potrf", potrf_jvp}, {"getrf", getrf_jvp}, {"syevd", eigh_jvp}, {"heevd", eigh_jvp},
    {"gesdd", svd_jvp},   {"gesvd", svd_jvp},   {"geev", eig_jvp},
};

JvpFn routine_jvp(std::string_view name) {
  const auto* found = std::ranges::find(kRoutineRules, name, &RoutineRule::name);
  return found == std::end(kRoutineRules) ? nullptr : found->jvp;
}

}  // namespace

bool has_jvp_of_lapack(std::string_view routine) { return routine_jvp(routine) != nullptr; }

StatusOr<Values> jvp_lapack(const JvpArgs& d) {
  std::vector<Shape> shapes;
  std::vector<const Shape*> places;
  for (const Value& each : d.x) shapes.push_back(each.shape());
  for (const Shape& each : shapes) places.push_back(&each);
  HEDDLE_RETURN_IF_ERROR(check_lapack_call(d.of, places));
  return routine_jvp(lapack_name(d.attrs<CustomCallAttrs>().custom_call_target)->routine)(d);
}

// By name
// ---------------------------------------------------------------------------------------

namespace {

// (q, r) of a with as many columns as q, at most as many as rows.
std::pair<Value, Value> thin_qr_jvp(const Value& q, const Value& r, const Value& da) {
  const Value right = solve(r, da, {});  // dA R^-1
  const Value inner = matmul(adjoint(q), right), lower = triangle(inner, true, true);
  Value turned = lower - adjoint(lower);
  if (is_complex(inner.dtype())) {
    const Value on = diagonal_part(inner);
    turned = turned + (on - complex(real(on), imag(on) * 0.0));
  }
  return {matmul(q, turned - inner) + right, matmul(inner - turned, r)};
}

// Whether the call has results of these types.
bool gives(const JvpArgs& d, const std::vector<Shape>& results) {
  if (d.y.size() != results.size()) return false;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!same_type(d.y[i].shape(), results[i])) return false;
  }
  return true;
}

Status unlike(const JvpArgs& d) {
  return base::invalid_argument("its types are not those that ", kDerivativeAttribute, " = ",
                                derivative_name(d.of), " has");
}

StatusOr<Values> qr_jvp(const JvpArgs& d) {
  const Value& da = d.dx[0];
  if (da.rank() < 2 || d.y.size() != 2 || d.y[0].rank() != da.rank()) return unlike(d);
  const int64_t m = row_count(da), n = column_count(da), column = da.rank() - 1;
  const int64_t k = column_count(d.y[0]);
  if ((k != m && k != std::min(m, n)) || !gives(d, {Shape(da.dtype(), batch_sizes(da, 2, {m, k})),
                                                    Shape(da.dtype(), batch_sizes(da, 2, {k, n}))}))
    return unlike(d);
  const Value &q = d.y[0], &r = d.y[1];
  if (column_count(q) > n) {
    d.why_none[0] =
        "the columns that full_matrices adds to q are not determined by the matrix; pass "
        "full_matrices = false";
    const Value top = slice(r, column - 1, 0, n);  // a is its product with the first columns
    const auto [dq, dr] = thin_qr_jvp(solve(top, d.x[0], {}), top, da);
    return Values{Value(), pad_end(dr, column - 1, m - n)};
  }
  if (m >= n) {
    const auto [dq, dr] = thin_qr_jvp(q, r, da);
    return Values{dq, dr};
  }
  const auto [dq, left] = thin_qr_jvp(q, slice(r, column, 0, m), slice(da, column, 0, m));
  const Value rest =
      matmul(adjoint(q), slice(da, column, m, n - m) - matmul(dq, slice(r, column, m, n - m)));
  return Values{dq, concatenate({left, rest}, column)};
}

// x with its rows and columns moved up and left, around the end.
Value turned(const Value& x, int64_t up, int64_t left) {
  const auto along = [](const Value& of, int64_t dimension, int64_t by) {
    const int64_t size = of.size(dimension);
    return concatenate({slice(of, dimension, by, size - by), slice(of, dimension, 0, by)},
                       dimension);
  };
  return along(along(x, x.rank() - 2, up), x.rank() - 1, left);
}

// The cofactors of matrices of 2 or 3 rows, as polynomials: their own derivatives are right at
// singular matrices too.
Value small_cofactors(const Value& a) {
  if (row_count(a) == 3)
    return turned(a, 1, 1) * turned(a, 2, 2) - turned(a, 1, 2) * turned(a, 2, 1);
  const Value minors = turned(a, 1, 1);
  return select(rows(a) == columns(a), minors, -minors);
}

// d det A = tr(adj(A) dA). Of more rows by the factors: with the product of U's diagonal but for
// its last element in place of a division by that, so that it is right where one element is 0.
StatusOr<Values> det_jvp(const JvpArgs& d) {
  const Value& da = d.dx[0];
  if (da.rank() < 2 || row_count(da) != column_count(da)) return unlike(d);
  const int64_t n = row_count(da);
  const Shape number(da.dtype(), batch_sizes(da, 2, {}));
  if (!gives(d, {number, da.shape(), Shape(s32, batch_sizes(da, 2, {n})), number}))
    return unlike(d);
  const Value &packed = d.y[1], &pivots = d.y[2], &sign = d.y[3];
  if (n == 0) return Values(d.y.size());
  const Value dpacked = lu_jvp(packed, pivots, da);
  const int64_t row = packed.rank() - 2, last = row;
  const Value on = diagonal(packed);
  if (n == 1) return Values{reshape(da, d.y[0].sizes()), dpacked, Value(), Value()};
  if (n <= 3) {
    const Value sum = reduce_sum(small_cofactors(d.x[0]) * da, {row, row + 1});
    return Values{sum, dpacked, Value(), Value()};
  }
  Value before = sign;  // the sign times the product of all but the last
  for (int64_t i = 0; i + 1 < n; ++i)
    before = before * reshape(slice(on, last, i, 1), before.sizes());
  // The last row of adj(U) needs no division by the last pivot: it is the product of the others,
  // `before`. So U x = y det A is solved with that row scaled by `before` and a pivot of 1.
  const Value whole = d.y[0];
  const Value y = solve(packed, rows_in_order(da, order_of(pivots, n)),
                        {.left_side = true, .lower = true, .unit_diagonal = true});
  const auto per_matrix = [&](const Value& x) {
    return reshape(x, batch_sizes(packed, 2, {1, 1}));
  };
  const Value scaled = concatenate(
      {slice(y, row, 0, n - 1) * per_matrix(whole), slice(y, row, n - 1, 1) * per_matrix(before)},
      row);
  const Value is_last =
      (rows(packed) == static_cast<double>(n - 1)) & (rows(packed) == columns(packed));
  const Value x = solve(select(is_last, packed.graph().full(packed.shape(), 1), packed), scaled,
                        {.left_side = true});
  return Values{reduce_sum(diagonal(x), {last}), dpacked, Value(), Value()};
}

// d P of the pseudo-inverse P of A, whose rank does not change.
StatusOr<Values> pinv_jvp(const JvpArgs& d) {
  const Value &a = d.x[0], &da = d.dx[0];
  if (a.rank() < 2 ||
      !gives(d, {Shape(a.dtype(), batch_sizes(a, 2, {column_count(a), row_count(a)}))}))
    return unlike(d);
  const Value& p = d.y[0];
  const Value dah = adjoint(da), ph = adjoint(p);
  const Value right = matmul(matmul(p, ph), dah), left = matmul(dah, matmul(ph, p));
  return Values{-matmul(p, matmul(da, p)) + right - matmul(matmul(right, a), p) + left -
                matmul(p, matmul(a, left))};
}

}  // namespace

StatusOr<Values> jvp_by_name(const JvpArgs& d) {
  if (d.x.size() != 1 || d.dx[0].is_absent()) return unlike(d);
  const std::string_view name = derivative_name(d.of);
  if (name == "qr") return qr_jvp(d);
  if (name == "det") return det_jvp(d);
  if (name == "pinv") return pinv_jvp(d);
  return base::unimplemented("there is no derivative of the name \"", name, "\"");
}

std::string_view derivative_name(const Instruction& instruction) {
  return frontend_attribute(instruction, kDerivativeAttribute);
}

}  // namespace heddle::hlo
