#include "heddle/linalg/schur.h"

#include <cmath>

#include "heddle/base/containers/function_ref.h"
#include "heddle/linalg/factors.h"
#include "heddle/linalg/internal/matrices.h"
#include "heddle/numpy/math.h"
#include "heddle/numpy/matrices.h"
#include "heddle/scan/loops.h"
#include "heddle/trace/moved_from.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle::linalg {
namespace {

using namespace linalg_internal;  // NOLINT: the vocabulary of this folder

Expr as_complex(const Expr& x) {
  if (is_complex(x.dtype())) return x;
  return x.astype(x.dtype() == f32 ? c64 : c128);
}

// Column i of matrices, element i of vectors.
Expr element(const Expr& x, const Expr& i) {
  return dynamic_index_in_dim(x.operand(), i.operand(), -1, false);
}
Expr with_column(const Expr& x, const Expr& column_of_x, const Expr& i) {
  return dynamic_update_index_in_dim(x.operand(), column(column_of_x).operand(), i.operand(), -1);
}
Expr conj(const Expr& x) { return heddle::conj(x.operand()); }
Expr diagonal_of(const Expr& x) { return diagonal(x.operand(), 0, -2, -1); }
Expr diagonal_matrix(const Expr& values, const Expr& ones) { return column(values) * ones; }

// true in the first `count` of n.
Expr first_of(const Expr& count, int64_t n) { return Expr(iota(s32, {n}, 0)) < count; }

// x with (u + shift) x = b in the first `count` rows and columns of the upper triangles u[.., n,
// n]; shift[..], b[.., n] -> [.., n], with zeros after them. A zero on the diagonal counts as 1.
struct Shifted {
  Expr x;
  Expr singular;  // bool[.., n]: where the diagonal was zero
};
Shifted solve_shifted(const Expr& u, const Expr& shift, const Expr& b, const Expr& count) {
  const int64_t n = columns(u);
  const Expr inside = first_of(count, n);
  const Expr ones = identity(u, batch_of(u), n, n);
  const Expr shifted = diagonal_of(u) + column(shift);
  const Expr zero = (shifted == 0) & inside;
  const Expr on_diagonal = where(zero | ~inside, 1.0, shifted);
  const Expr above = where(inside, u, 0.0) * (1.0 - ones);  // later columns are not used
  const Expr matrix = above + diagonal_matrix(on_diagonal, ones);
  const Expr right = column(where(inside, b, 0.0));
  const Tensor x = triangular_solve(matrix.operand(), right.operand(), {.left_side = true});
  return {where(inside, swept(Expr(x)), 0.0), zero};
}

// `start`[.., m, n] with new columns, one after another: fn(j, the columns so far) -> column j.
using ColumnFn = base::FunctionRef<Expr(const Expr& j, const Expr& x)>;
Expr column_by_column(const Expr& start, ColumnFn fn) {
  const auto step = [&](const Tensor& number, const Tensor& so_far) {
    const Expr j = Expr(number), x = Expr(so_far);
    return with_column(x, fn(j, x), j).tensor();
  };
  const auto n = static_cast<int32_t>(columns(start));
  return Expr(fori_loop(0, n, step, start.tensor()));
}

// T and Z of LAPACK's gees.
struct Form {
  Expr t, z;
};
Form schur_of(const Expr& a) {
  if (a.tensor().size() == 0) return {a, a};
  const Dimensions batch = batch_of(a);
  const Shape values(a.dtype(), with_axes(batch, {rows(a)})), counts(s32, batch);
  std::vector<Shape> results = {a.tensor().shape(), a.tensor().shape(), values};
  if (!is_complex(a.dtype())) results.push_back(values);
  results.insert(results.end(), {counts, counts});
  const std::vector<Expr> out = lapack("gees", {a}, results, "{mode = 86 : ui8, sort = 78 : ui8}");
  return {if_converged(out.back(), out[0]), if_converged(out.back(), out[1])};
}

std::vector<Expr> hessenberg_of(const Expr& a) {
  const int64_t n = rows(a);
  if (a.tensor().size() == 0) return {a, a};
  const Dimensions batch = batch_of(a);
  const Shape tau(a.dtype(), with_axes(batch, {n - 1}));
  const std::vector<Expr> out = lapack("gehrd", {a}, {a.tensor().shape(), tau, Shape(s32, batch)},
                                       base::cat("{high = ", n, " : i32, low = 1 : i32}"));
  const Expr h = Expr(triu(out[0].operand(), -1)), one = identity(a, batch, n, n);
  if (n == 1) return {h, one};
  const Expr below = slice_in_dim(corner(out[0], n, n - 1).operand(), 1, n, 1, -2);
  const Expr inner = householder_product(below.operand(), out[1].operand());
  const Expr left = slice_in_dim(one.operand(), 0, 1, 1, -1);
  const Expr top = zeros(with_axes(batch, {1, n - 1}), a.dtype());
  const Tensor right = concat({top.tensor(), inner.tensor()}, -2);
  return {h, Expr(concat({left.tensor(), right}, -1))};
}

// Rotates rows and columns m - 1 and m of t, and the columns of z, so that t[m, m - 1] is zero.
Form rotated(const Expr& t, const Expr& z, const Expr& m) {
  const auto at = [&](const Expr& x, const Expr& i, const Expr& j) {
    return element(element(x, j), i);
  };
  const Expr before = m - 1;
  const Expr a = at(t, before, before), b = at(t, before, m), c = at(t, m, before), d = at(t, m, m);
  // An eigenvalue of the block minus d, and its normalised vector (mu, c).
  const Expr half = (a - d) / 2.0, mu = half + sqrt(half * half + b * c);
  const Expr size = sqrt(abs(mu) * abs(mu) + abs(c) * abs(c));
  const Expr some = size != 0;
  const Expr cosine = where(some, mu / where(some, size, 1.0).astype(t.dtype()), 1.0);
  const Expr sine = where(some, c / where(some, size, 1.0).astype(t.dtype()), 0.0);
  const auto turn_columns = [&](const Expr& x) {
    const Expr p = element(x, before), q = element(x, m);
    const Expr first = p * column(cosine) + q * column(sine);
    const Expr second = q * column(conj(cosine)) - p * column(conj(sine));
    return with_column(with_column(x, first, before), second, m);
  };
  const Expr rows_turned = adjoint(turn_columns(adjoint(t)));
  return {turn_columns(rows_turned), turn_columns(z)};
}

struct Forms {
  Tensor t, z;
  static constexpr auto kFields = fields(field("t", &Forms::t), field("z", &Forms::z));
};

std::vector<Expr> complex_form(const Expr& real_t, const Expr& real_z) {
  const Expr t = as_complex(real_t), z = as_complex(real_z);
  const auto n = static_cast<int32_t>(columns(t));
  if (t.tensor().size() == 0) return {t, z};
  const auto step = [&](const Tensor& i, const Forms& now) {
    const Form turned = rotated(Expr(now.t), Expr(now.z), n - 1 - Expr(i));
    return Forms{turned.t.tensor(), turned.z.tensor()};
  };
  const Forms end = fori_loop(0, n - 1, step, Forms{t.tensor(), z.tensor()});
  return {Expr(triu(end.t)), Expr(end.z)};
}

// z x z^H.
Expr turned_back(const Expr& z, const Expr& x) { return product(product(z, x), adjoint(z)); }

Expr sqrtm_of(const Expr& a) {
  const Form form = schur_of(as_complex(a));
  const Expr &t = form.t, &z = form.z;
  if (t.tensor().size() == 0) return t;
  const Expr roots = sqrt(diagonal_of(t));
  const Expr ones = identity(t, batch_of(t), rows(t), rows(t));
  // Column j of s s = t: (s + s[j, j]) s[:, j] = t[:, j] above the diagonal.
  const Expr s = column_by_column(diagonal_matrix(roots, ones), [&](const Expr& j, const Expr& x) {
    const Shifted above = solve_shifted(x, element(roots, j), element(t, j), j);
    return where(above.singular & (above.x != 0), NAN, above.x) + element(x, j);
  });
  return turned_back(z, s);
}

Expr funm_of(const Expr& a, const std::function<Tensor(const Tensor&)>& fn) {
  const Form form = schur_of(as_complex(a));
  const Expr &t = form.t, &z = form.z;
  const Expr eigenvalues = diagonal_of(t);
  trace_internal::count_trace();
  const Expr values = trace_internal::as_users_code([&] { return fn(eigenvalues.tensor()); });
  trace_internal::require_result(values.tensor());
  // The loop over columns is Heddle's own function.
  const auto own = trace_internal::PublicCall::own_code();
  if (values.tensor().shape() != eigenvalues.tensor().shape()) {
    trace_internal::refuse("fn gives ", values.tensor().shape(), "; must give ",
                           eigenvalues.tensor().shape(), ", as the eigenvalues are");
  }
  if (t.tensor().size() == 0) return t;
  const Expr ones = identity(t, batch_of(t), rows(t), rows(t));
  // Column j of t f = f t: (t - t[j, j]) f[:, j] = f t[:, j] - f[j, j] t[:, j] above the diagonal.
  const Expr f = column_by_column(diagonal_matrix(values, ones), [&](const Expr& j, const Expr& x) {
    const Expr above = where(first_of(j, rows(t)), element(t, j), 0.0);
    const Expr right = swept(product(x, column(above))) - above * column(element(values, j));
    return solve_shifted(t, -element(eigenvalues, j), right, j).x + element(x, j);
  });
  return turned_back(z, f);
}

Expr sylvester_of(const Expr& a, const Expr& b, const Expr& c) {
  const Form of_a = schur_of(as_complex(a)), of_b = schur_of(as_complex(b));
  const Expr &r = of_a.t, &u = of_a.z, &s = of_b.t, &v = of_b.z;
  if (c.tensor().size() == 0) return c;
  const Expr f = product(product(adjoint(u), as_complex(c)), v);
  const Expr all = scalar(static_cast<int32_t>(rows(r)));
  const Expr eigenvalues = diagonal_of(s);
  // Column j of r y + y s = f: (r + s[j, j]) y[:, j] = f[:, j] minus the terms of earlier columns.
  const Expr y = column_by_column(f.like(0), [&](const Expr& j, const Expr& x) {
    const Expr right = element(f, j) - swept(product(x, column(element(s, j))));
    const Shifted found = solve_shifted(r, element(eigenvalues, j), right, all);
    return where(found.singular, NAN, found.x);
  });
  const Expr x = product(product(u, y), adjoint(v));
  return is_complex(c.dtype()) ? x : Expr(real(x.operand()));
}

}  // namespace

Hessenberg hessenberg(Operand operand) {
  const trace_internal::PublicCall call("linalg::hessenberg", operand.at());
  const Expr a = square_of("a", operand);
  std::vector<Tensor> out = as_program("linalg::hessenberg", [&] { return hessenberg_of(a); });
  return {out[0], out[1]};
}

Schur schur(Operand operand, SchurForm form) {
  const trace_internal::PublicCall call("linalg::schur", operand.at());
  const Expr a = square_of("a", operand);
  std::vector<Tensor> out = as_program("linalg::schur", [&]() -> std::vector<Expr> {
    const Form found = schur_of(form == SchurForm::kComplex ? as_complex(a) : a);
    return {found.t, found.z};
  });
  return {out[0], out[1]};
}

Schur rsf2csf(Operand left, Operand right) {
  const trace_internal::PublicCall call("linalg::rsf2csf", left.at());
  const Expr t = square_of("t", left), z = square_of("z", right);
  if (t.tensor().shape() != z.tensor().shape()) {
    trace_internal::refuse("z is ", z.tensor().shape(), "; must be ", t.tensor().shape(),
                           ", as t is");
  }
  std::vector<Tensor> out = as_program("linalg::rsf2csf", [&] { return complex_form(t, z); });
  return {out[0], out[1]};
}

Tensor sqrtm(Operand operand) {
  const trace_internal::PublicCall call("linalg::sqrtm", operand.at());
  const Expr a = square_of("a", operand);
  return as_program("linalg::sqrtm", [&]() -> std::vector<Expr> { return {sqrtm_of(a)}; })[0];
}

Tensor funm(Operand operand, const std::function<Tensor(const Tensor&)>& fn) {
  const trace_internal::HigherOrderCall call("linalg::funm", operand.at());
  trace_internal::require_function("function", fn);
  const Expr a = square_of("a", operand);
  return as_program("linalg::funm", [&]() -> std::vector<Expr> { return {funm_of(a, fn)}; })[0];
}

Tensor funm(Operand operand, Tensor (*fn)(Operand)) {
  if (fn == nullptr) return funm(operand, std::function<Tensor(const Tensor&)>());
  return funm(operand, trace_internal::ByName(fn, operand.at()));
}

Tensor solve_sylvester(Operand left, Operand right, Operand operand) {
  const trace_internal::PublicCall call("linalg::solve_sylvester", left.at());
  const Expr a = square_of("a", left);
  const Expr b = square_of("b", right);
  const Expr c = matrices_of("c", operand);
  check_same_dtype(a, b);
  check_same_dtype(a, c, "c");
  if (rows(c) != rows(a) || columns(c) != columns(b)) {
    trace_internal::refuse("c is ", c.tensor().shape(), "; its matrices must be ", rows(a), " x ",
                           columns(b), ", the sizes of a, ", a.tensor().shape(), ", and b, ",
                           b.tensor().shape());
  }
  return as_program("linalg::solve_sylvester", [&]() -> std::vector<Expr> {
    const auto [a1, c1] = broadcast_batches(a, c);
    const auto [b1, c2] = broadcast_batches(b, c1);
    const auto [a2, b2] = broadcast_batches(a1, b1);
    return {sylvester_of(a2, b2, c2)};
  })[0];
}

}  // namespace heddle::linalg
