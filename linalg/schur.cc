#include "heddle/linalg/schur.h"

#include <cmath>

#include "heddle/base/function_ref.h"
#include "heddle/linalg/factors.h"
#include "heddle/linalg/internal/matrices.h"
#include "heddle/scan/loops.h"
#include "heddle/trace/formulas.h"
#include "heddle/trace/matrices.h"
#include "heddle/trace/moved_from.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/shaping.h"

namespace heddle::linalg {
namespace {

using namespace linalg_internal;  // NOLINT: the vocabulary of this folder

Located as_complex(const Located& x) {
  if (is_complex(x.dtype())) return x;
  return x.astype(x.dtype() == f32 ? c64 : c128);
}

// Column i of matrices, element i of vectors.
Located element(const Located& x, const Located& i) {
  return x.with(dynamic_index_in_dim(x.operand(), i.operand(), -1, false));
}
Located with_column(const Located& x, const Located& column_of_x, const Located& i) {
  return x.with(
      dynamic_update_index_in_dim(x.operand(), column(column_of_x).operand(), i.operand(), -1));
}
Located conj(const Located& x) { return x.with(heddle::conj(x.operand())); }
Located diagonal_of(const Located& x) { return x.with(diagonal(x.operand())); }
Located diagonal_matrix(const Located& values, const Located& ones) {
  return column(values) * ones;
}

// true in the first `count` of n.
Located first_of(const Located& count, int64_t n) {
  return count.with(iota(s32, {n}, 0, count.at())) < count;
}

// x with (u + shift) x = b in the first `count` rows and columns of the upper triangles u[.., n,
// n]; shift[..], b[.., n] -> [.., n], zeros behind. What is zero on the diagonal counts as 1.
struct Shifted {
  Located x;
  Located singular;  // bool[.., n]: where the diagonal was zero
};
Shifted solve_shifted(const Located& u, const Located& shift, const Located& b,
                      const Located& count) {
  const int64_t n = columns(u);
  const Located inside = first_of(count, n);
  const Located ones = identity(u, batch_of(u), n, n);
  const Located shifted = diagonal_of(u) + column(shift);
  const Located zero = (shifted == 0) & inside;
  const Located on_diagonal = where(zero | ~inside, 1.0, shifted);
  const Located above = where(inside, u, 0.0) * (1.0 - ones);  // columns behind are not used
  const Located matrix = above + diagonal_matrix(on_diagonal, ones);
  const Located right = column(where(inside, b, 0.0));
  const Tensor x = triangular_solve(matrix.operand(), right.operand(), {.left_side = true});
  return {where(inside, swept(u.with(x)), 0.0), zero};
}

// `start`[.., m, n] with new columns, one after another: fn(j, what there is so far) -> column j.
using ColumnFn = base::FunctionRef<Located(const Located& j, const Located& x)>;
Located column_by_column(const Located& start, ColumnFn fn) {
  const auto step = [&](const Tensor& number, const Tensor& so_far) {
    const Located j = start.with(number), x = start.with(so_far);
    return with_column(x, fn(j, x), j).tensor();
  };
  const auto n = static_cast<int32_t>(columns(start));
  return start.with(fori_loop({0, start.at()}, {n, start.at()}, step, start.tensor(), start.at()));
}

// T and Z of LAPACK's gees.
struct Form {
  Located t, z;
};
Form schur_of(const Located& a) {
  if (a.tensor().size() == 0) return {a, a};
  const Dimensions batch = batch_of(a);
  const Shape values(a.dtype(), with_axes(batch, {rows(a)})), counts(s32, batch);
  std::vector<Shape> results = {a.tensor().shape(), a.tensor().shape(), values};
  if (!is_complex(a.dtype())) results.push_back(values);
  results.insert(results.end(), {counts, counts});
  const std::vector<Located> out =
      lapack("gees", {a}, results, "{mode = 86 : ui8, sort = 78 : ui8}");
  return {if_converged(out.back(), out[0]), if_converged(out.back(), out[1])};
}

std::vector<Located> hessenberg_of(const Located& a) {
  const int64_t n = rows(a);
  if (a.tensor().size() == 0) return {a, a};
  const Dimensions batch = batch_of(a);
  const Shape tau(a.dtype(), with_axes(batch, {n - 1}));
  const std::vector<Located> out =
      lapack("gehrd", {a}, {a.tensor().shape(), tau, Shape(s32, batch)},
             base::cat("{high = ", n, " : i32, low = 1 : i32}"));
  const Located h = a.with(triu(out[0].operand(), -1)), one = identity(a, batch, n, n);
  if (n == 1) return {h, one};
  const Located below = a.with(slice_in_dim(corner(out[0], n, n - 1).operand(), 1, n, 1, -2));
  const Located inner = a.with(householder_product(below.operand(), out[1].operand()));
  const Located left = a.with(slice_in_dim(one.operand(), 0, 1, 1, -1));
  const Located top = a.with(zeros(with_axes(batch, {1, n - 1}), a.dtype(), a.at()));
  const Tensor right = concat({top.tensor(), inner.tensor()}, -2, a.at());
  return {h, a.with(concat({left.tensor(), right}, -1, a.at()))};
}

// Rotates rows and columns m - 1 and m of t, and the columns of z, so that t[m, m - 1] is zero.
Form rotated(const Located& t, const Located& z, const Located& m) {
  const auto at = [&](const Located& x, const Located& i, const Located& j) {
    return element(element(x, j), i);
  };
  const Located before = m - 1;
  const Located a = at(t, before, before), b = at(t, before, m), c = at(t, m, before),
                d = at(t, m, m);
  // An eigenvalue of the block less d, and its vector (mu, c) normalised.
  const Located half = (a - d) / 2.0, mu = half + sqrt(half * half + b * c);
  const Located size = sqrt(abs(mu) * abs(mu) + abs(c) * abs(c));
  const Located some = size != 0;
  const Located cosine = where(some, mu / where(some, size, 1.0).astype(t.dtype()), 1.0);
  const Located sine = where(some, c / where(some, size, 1.0).astype(t.dtype()), 0.0);
  const auto turn_columns = [&](const Located& x) {
    const Located p = element(x, before), q = element(x, m);
    const Located first = p * column(cosine) + q * column(sine);
    const Located second = q * column(conj(cosine)) - p * column(conj(sine));
    return with_column(with_column(x, first, before), second, m);
  };
  const Located rows_turned = adjoint(turn_columns(adjoint(t)));
  return {turn_columns(rows_turned), turn_columns(z)};
}

struct Forms {
  Tensor t, z;
  static constexpr auto kFields = fields(field("t", &Forms::t), field("z", &Forms::z));
};

std::vector<Located> complex_form(const Located& real_t, const Located& real_z) {
  const Located t = as_complex(real_t), z = as_complex(real_z);
  const auto n = static_cast<int32_t>(columns(t));
  if (t.tensor().size() == 0) return {t, z};
  const auto step = [&](const Tensor& i, const Forms& now) {
    const Form turned = rotated(t.with(now.t), z.with(now.z), n - 1 - t.with(i));
    return Forms{turned.t.tensor(), turned.z.tensor()};
  };
  const Forms end =
      fori_loop({0, t.at()}, {n - 1, t.at()}, step, Forms{t.tensor(), z.tensor()}, t.at());
  return {t.with(triu({end.t, t.at()})), z.with(end.z)};
}

// z x z^H.
Located turned_back(const Located& z, const Located& x) {
  return product(product(z, x), adjoint(z));
}

Located sqrtm_of(const Located& a) {
  const Form form = schur_of(as_complex(a));
  const Located &t = form.t, &z = form.z;
  if (t.tensor().size() == 0) return t;
  const Located roots = sqrt(diagonal_of(t));
  const Located ones = identity(t, batch_of(t), rows(t), rows(t));
  // Column j of s s = t: (s + s[j, j]) s[:, j] = t[:, j] above the diagonal.
  const Located s =
      column_by_column(diagonal_matrix(roots, ones), [&](const Located& j, const Located& x) {
        const Shifted above = solve_shifted(x, element(roots, j), element(t, j), j);
        return where(above.singular & (above.x != 0), NAN, above.x) + element(x, j);
      });
  return turned_back(z, s);
}

Located funm_of(const Located& a, const std::function<Tensor(const Tensor&)>& fn) {
  const Form form = schur_of(as_complex(a));
  const Located &t = form.t, &z = form.z;
  const Located eigenvalues = diagonal_of(t);
  trace_internal::count_trace();
  const Located values =
      t.with(trace_internal::as_users_code([&] { return fn(eigenvalues.tensor()); }));
  // The loop over columns is no function of the user's.
  const trace_internal::PublicCall own("linalg::funm by columns", a.at());
  if (values.tensor().shape() != eigenvalues.tensor().shape()) {
    throw Error(trace_internal::invalid_argument(
                    "linalg::funm", ": fn gives ", values.tensor().shape(), "; must give ",
                    eigenvalues.tensor().shape(), ", as the eigenvalues are"),
                a.at());
  }
  if (t.tensor().size() == 0) return t;
  const Located ones = identity(t, batch_of(t), rows(t), rows(t));
  // Column j of t f = f t: (t - t[j, j]) f[:, j] = f t[:, j] - f[j, j] t[:, j] above the diagonal.
  const Located f =
      column_by_column(diagonal_matrix(values, ones), [&](const Located& j, const Located& x) {
        const Located above = where(first_of(j, rows(t)), element(t, j), 0.0);
        const Located right = swept(product(x, column(above))) - above * column(element(values, j));
        return solve_shifted(t, -element(eigenvalues, j), right, j).x + element(x, j);
      });
  return turned_back(z, f);
}

Located sylvester_of(const Located& a, const Located& b, const Located& c) {
  const Form of_a = schur_of(as_complex(a)), of_b = schur_of(as_complex(b));
  const Located &r = of_a.t, &u = of_a.z, &s = of_b.t, &v = of_b.z;
  if (c.tensor().size() == 0) return c;
  const Located f = product(product(adjoint(u), as_complex(c)), v);
  const Located all = r.with(scalar(static_cast<int32_t>(rows(r)), r.at()));
  const Located eigenvalues = diagonal_of(s);
  // Column j of r y + y s = f: (r + s[j, j]) y[:, j] = f[:, j] less what the columns before give.
  const Located y = column_by_column(f.like(0), [&](const Located& j, const Located& x) {
    const Located right = element(f, j) - swept(product(x, column(element(s, j))));
    const Shifted found = solve_shifted(r, element(eigenvalues, j), right, all);
    return where(found.singular, NAN, found.x);
  });
  const Located x = product(product(u, y), adjoint(v));
  return is_complex(c.dtype()) ? x : x.with(real(x.operand()));
}

}  // namespace

Hessenberg hessenberg(Operand operand) {
  const trace_internal::PublicCall call("linalg::hessenberg", operand.at());
  const Located a = square_of("linalg::hessenberg", "a", operand);
  std::vector<Tensor> out =
      as_program("linalg::hessenberg", a.at(), [&] { return hessenberg_of(a); });
  return {out[0], out[1]};
}

Schur schur(Operand operand, SchurForm form) {
  const trace_internal::PublicCall call("linalg::schur", operand.at());
  const Located a = square_of("linalg::schur", "a", operand);
  std::vector<Tensor> out = as_program("linalg::schur", a.at(), [&]() -> std::vector<Located> {
    const Form found = schur_of(form == SchurForm::kComplex ? as_complex(a) : a);
    return {found.t, found.z};
  });
  return {out[0], out[1]};
}

Schur rsf2csf(Operand left, Operand right) {
  const trace_internal::PublicCall call("linalg::rsf2csf", left.at());
  const Located t = square_of("linalg::rsf2csf", "t", left),
                z = square_of("linalg::rsf2csf", "z", right);
  if (t.tensor().shape() != z.tensor().shape()) {
    throw Error(trace_internal::invalid_argument("linalg::rsf2csf", ": z is ", z.tensor().shape(),
                                                 "; must be ", t.tensor().shape(), ", as t is"),
                t.at());
  }
  std::vector<Tensor> out =
      as_program("linalg::rsf2csf", t.at(), [&] { return complex_form(t, z); });
  return {out[0], out[1]};
}

Tensor sqrtm(Operand operand) {
  const trace_internal::PublicCall call("linalg::sqrtm", operand.at());
  const Located a = square_of("linalg::sqrtm", "a", operand);
  return as_program("linalg::sqrtm", a.at(),
                    [&]() -> std::vector<Located> { return {sqrtm_of(a)}; })[0];
}

Tensor funm(Operand operand, const std::function<Tensor(const Tensor&)>& fn) {
  const trace_internal::PublicCall call("linalg::funm", operand.at(),
                                        trace_internal::PublicCall::Runs::kUsersFunction);
  trace_internal::require_function("linalg::funm", "function", fn, operand.at());
  const Located a = square_of("linalg::funm", "a", operand);
  return as_program("linalg::funm", a.at(),
                    [&]() -> std::vector<Located> { return {funm_of(a, fn)}; })[0];
}

Tensor solve_sylvester(Operand left, Operand right, Operand operand) {
  const trace_internal::PublicCall call("linalg::solve_sylvester", left.at());
  const Located a = square_of("linalg::solve_sylvester", "a", left);
  const Located b = square_of("linalg::solve_sylvester", "b", right);
  const Located c = matrices_of("linalg::solve_sylvester", "c", operand);
  check_same_dtype("linalg::solve_sylvester", a, b);
  check_same_dtype("linalg::solve_sylvester", a, c, "c");
  if (rows(c) != rows(a) || columns(c) != columns(b)) {
    throw Error(trace_internal::invalid_argument(
                    "linalg::solve_sylvester", ": c is ", c.tensor().shape(),
                    "; its matrices must be ", rows(a), " x ", columns(b), ", the sizes of a, ",
                    a.tensor().shape(), ", and b, ", b.tensor().shape()),
                a.at());
  }
  return as_program("linalg::solve_sylvester", a.at(), [&]() -> std::vector<Located> {
    const auto [a1, c1] = broadcast_batches(a, c);
    const auto [b1, c2] = broadcast_batches(b, c1);
    const auto [a2, b2] = broadcast_batches(a1, b1);
    return {sylvester_of(a2, b2, c2)};
  })[0];
}

}  // namespace heddle::linalg
