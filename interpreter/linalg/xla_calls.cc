// Calls beside LAPACK's. XLA itself writes and expands those of xla::Qr,
// xla::ProductOfElementaryHouseholderReflectors and xla::SelfAdjointEig, with which torch_xla
// computes QR and symmetric eigenvalues; JAX has a solver of its own for inverse iteration.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "heddle/interpreter/linalg/internal/batch.h"
#include "heddle/interpreter/linalg/internal/jacobi.h"
#include "heddle/interpreter/linalg/internal/lapack.h"
#include "heddle/interpreter/linalg/internal/solve.h"

namespace heddle::interpreter::linalg {
namespace {

// As LAPACK's routine of the operand's type: conventions of signs and packing are the same.
StatusOr<Literal> as_lapack(CustomCall& call, std::string_view real, std::string_view complex) {
  const DType dtype = call.size() > 0 ? call[0].shape().dtype() : DType::kInvalid;
  const std::string_view letter = dtype == f32   ? "s"
                                  : dtype == f64 ? "d"
                                  : dtype == c64 ? "c"
                                                 : "z";
  if (dtype != f32 && dtype != f64 && dtype != c64 && dtype != c128)
    return call.error("operand 0 must be of f32, f64, c64 or c128");
  return find_lapack(base::cat("lapack_", letter, is_complex(dtype) ? complex : real, "_ffi"))(
      call);
}

// Qr(a): (R with the reflectors below it, tau).
StatusOr<Literal> qr_call(CustomCall& call) { return as_lapack(call, "geqrf", "geqrf"); }

// ProductOfElementaryHouseholderReflectors(a, tau): as many columns of Q as a has.
StatusOr<Literal> reflectors_call(CustomCall& call) { return as_lapack(call, "orgqr", "ungqr"); }

struct EighOptions {
  int64_t lower = 0;
  int64_t is_sorted = 0;
  JacobiOptions jacobi;
};

// Takes a number, and the comma after it if there is one.
template <class Number>
bool take_number(std::string_view& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (text.starts_with(',')) text.remove_prefix(1);
  return error == std::errc();
}

// "lower,sort,sweeps,tolerance", as in 1,1,100,0.000001.
StatusOr<EighOptions> eigh_options(const CustomCall& call) {
  EighOptions out;
  std::string_view text = call.backend_config();
  const bool read = take_number(text, out.lower) && take_number(text, out.is_sorted) &&
                    take_number(text, out.jacobi.most_sweeps) &&
                    take_number(text, out.jacobi.tolerance) && text.empty();
  if (!read)
    return call.error("backend_config is ", call.backend_config(),
                      "; must be lower,sort,sweeps,tolerance, as in 1,1,100,1e-6");
  return out;
}

// -0 below +0, NaN of either sign at its end.
template <class R>
bool total_order(R a, R b) {
  const auto rank = [](R x) {
    return std::isnan(x) ? (std::signbit(x) ? -2 : 2) : x == 0 ? (std::signbit(x) ? -1 : 1) : 0;
  };
  const int p = rank(a), q = rank(b);
  if (std::abs(p) == 2 || std::abs(q) == 2) return p < q && (p == -2 || q == 2);
  return a < b || (a == b && p < q);
}

// Columns by ascending values. Of equals the order is that of std::sort, as in XLA's own sort,
// which is not stable here.
template <class T>
void sort_values(JacobiEigen<T>& eigen) {
  std::vector<int64_t> order(eigen.values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](int64_t a, int64_t b) {
    return total_order(real_of(eigen.values[static_cast<size_t>(a)]),
                       real_of(eigen.values[static_cast<size_t>(b)]));
  });
  JacobiEigen<T> out{Matrix<T>(eigen.vectors.rows(), eigen.vectors.columns()), {}};
  for (size_t j = 0; j < order.size(); ++j) {
    std::ranges::copy(eigen.vectors.column(order[j]),
                      out.vectors.column(static_cast<int64_t>(j)).begin());
    out.values.push_back(eigen.values[static_cast<size_t>(order[j])]);
  }
  eigen = std::move(out);
}

template <class T>
StatusOr<Literal> eigh(CustomCall& call, DType dtype) {
  Batch batch(call);
  HEDDLE_RETURN_IF_ERROR(call.check_size(1));
  HEDDLE_RETURN_IF_ERROR(batch.check_operand(0, dtype, 2));
  HEDDLE_ASSIGN_OR_RETURN(const EighOptions options, eigh_options(call));
  const int64_t n = batch.rows(0);
  if (batch.columns(0) != n)
    return call.error("operand 0 is ", call[0].shape(), "; its last two dimensions must be equal");
  HEDDLE_RETURN_IF_ERROR(batch.check_results({Shape(dtype, {n, n}), Shape(real_part(dtype), {n})}));
  std::vector<Matrix<T>> matrices;
  for (int64_t at = 0; at < batch.size(); ++at)
    matrices.push_back(hermitian(batch.matrix<T>(0, at), options.lower != 0));
  std::vector<JacobiEigen<T>> found = jacobi_eigen(matrices, options.jacobi);
  for (int64_t at = 0; at < batch.size(); ++at) {
    JacobiEigen<T>& eigen = found[static_cast<size_t>(at)];
    if (options.is_sorted != 0 && n > 1) sort_values(eigen);
    batch.put(0, at, eigen.vectors);
    std::vector<decltype(real_of(T()))> values;
    for (const T& value : eigen.values) values.push_back(real_of(value));
    batch.put(1, at, values);
  }
  return std::move(batch).finish();
}

StatusOr<Literal> eigh_call(CustomCall& call) {
  const DType dtype = call.size() > 0 ? call[0].shape().dtype() : DType::kInvalid;
  switch (dtype) {
    case f64: return eigh<double>(call, dtype);
    case c64: return eigh<SingleComplex>(call, dtype);
    case c128: return eigh<Complex>(call, dtype);
    default: return eigh<float>(call, f32);
  }
}

// tridiagonal_solve_perturbed_ffi(dl, d, du, b): x. dl[0] and du[n-1] are not looked at.
template <class T>
StatusOr<Literal> perturbed(CustomCall& call, DType dtype) {
  Batch batch(call);
  HEDDLE_RETURN_IF_ERROR(call.check_size(4));
  for (size_t i = 0; i < 3; ++i) HEDDLE_RETURN_IF_ERROR(batch.check_operand(i, dtype, 1));
  HEDDLE_RETURN_IF_ERROR(batch.check_operand(3, dtype, 2));
  const int64_t n = batch.columns(1);
  if (batch.columns(0) != n || batch.columns(2) != n || batch.rows(3) != n) {
    return call.error("operands are ", call[0].shape(), ", ", call[1].shape(), ", ",
                      call[2].shape(), " and ", call[3].shape(),
                      "; all must have the length of d, and b as many rows");
  }
  HEDDLE_RETURN_IF_ERROR(batch.check_results({Shape(dtype, {n, batch.columns(3)})}));
  for (int64_t at = 0; at < batch.size(); ++at) {
    const std::vector<T> below = batch.vector<T>(0, at), middle = batch.vector<T>(1, at),
                         above = batch.vector<T>(2, at);
    Matrix<T> b = batch.matrix<T>(3, at);
    solve_perturbed<T>(below, middle, above, b);
    batch.put(0, at, b);
  }
  return std::move(batch).finish();
}

StatusOr<Literal> perturbed_call(CustomCall& call) {
  const DType dtype = call.size() > 0 ? call[0].shape().dtype() : DType::kInvalid;
  switch (dtype) {
    case f64: return perturbed<double>(call, dtype);
    case c64: return perturbed<SingleComplex>(call, dtype);
    case c128: return perturbed<Complex>(call, dtype);
    default: return perturbed<float>(call, f32);
  }
}

struct XlaCall {
  std::string_view target;
  StatusOr<Literal> (*function)(CustomCall&);
};
constexpr XlaCall kXlaCalls[] = {
    {"Eigh", eigh_call},
    {"ProductOfElementaryHouseholderReflectors", reflectors_call},
    {"Qr", qr_call},
    {"tridiagonal_solve_perturbed_ffi", perturbed_call},
};

}  // namespace

CustomCallFunction find_xla_call(std::string_view target) {
  const auto* const found = std::ranges::find(kXlaCalls, target, &XlaCall::target);
  if (found == std::end(kXlaCalls)) return nullptr;
  return found->function;
}

std::vector<std::string> xla_call_targets() {
  std::vector<std::string> out;
  for (const XlaCall& each : kXlaCalls) out.emplace_back(each.target);
  return out;
}

}  // namespace heddle::interpreter::linalg
