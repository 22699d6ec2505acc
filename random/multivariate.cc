#include "heddle/random/multivariate.h"

#include <algorithm>

#include "heddle/linalg/factors.h"
#include "heddle/linalg/spectra.h"
#include "heddle/numpy/matrices.h"
#include "heddle/random/continuous.h"
#include "heddle/random/discrete.h"
#include "heddle/random/internal/sampling.h"
#include "heddle/scan/associative.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/ops/contraction/contractions.h"
#include "heddle/trace/public_call.h"

namespace heddle::random {
namespace {

// The shape without its last `count` sizes.
Dimensions without_last(const Dimensions& shape, size_t count) {
  return {shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(count)};
}

Dimensions with_last(Dimensions shape, std::initializer_list<int64_t> sizes) {
  shape.insert(shape.end(), sizes);
  return shape;
}

Expr column_scaled(const Expr& matrix, const Expr& variances) {
  return matrix * sqrt(Expr(expand_dims(variances.operand(), -2)));
}

Expr root_of(const Expr& covariance, CovarianceRoot root) {
  switch (root) {
    case CovarianceRoot::kCholesky: return Expr(linalg::cholesky(covariance.operand()));
    case CovarianceRoot::kEigh: {
      linalg::Eigh e = linalg::eigh(covariance.operand());
      return column_scaled(Expr(e.eigenvectors), Expr(e.eigenvalues));
    }
    case CovarianceRoot::kSvd: {
      linalg::Svd s = linalg::svd(covariance.operand());
      return column_scaled(Expr(s.u), Expr(s.s));
    }
  }
  return covariance;
}

void check_moments(const Shape& mean, const Shape& covariance) {
  if (mean.dtype() != f32 && mean.dtype() != f64)
    trace_internal::refuse("mean is ", mean,
                           "; it must be of f32 or f64, cast it with astype(f32)");
  if (mean.rank() == 0) trace_internal::refuse("mean is ", mean, "; it must have rank 1 or more");
  const int64_t n = mean.dimensions().back();
  const Dimensions& sizes = covariance.dimensions();
  if (sizes.size() < 2 || sizes.back() != n || sizes[sizes.size() - 2] != n) {
    trace_internal::refuse("covariance is ", covariance, "; it must be [.., ", n, ",", n,
                           "], square of the size of mean ", mean);
  }
  if (covariance.dtype() != mean.dtype()) {
    trace_internal::refuse("covariance is ", covariance, " and mean ", mean,
                           "; their dtypes must be equal, ",
                           cast_advice(covariance.dtype(), mean.dtype()));
  }
}

// The shape of a batch, for an operand's leading axes.
Dimensions batch_shape(const Dimensions& shape, const Dimensions& a, const Dimensions& b) {
  Dimensions common = broadcast_shapes(Shape(f32, a), Shape(f32, b));
  if (shape.empty()) return common;
  if (broadcast_shapes(Shape(f32, shape), Shape(f32, common)) == shape) return shape;
  trace_internal::refuse("batches of the parameters are [", base::join(common, ","),
                         "]; they must broadcast to the shape asked for, [", base::join(shape, ","),
                         "]");
}

Tensor counts_of(const Expr& n, const Expr& p, const Operand& key, const Options& options) {
  SourceLocation at = key.at();
  Expr left(cumsum(p.operand(), 0, /*reverse=*/true));
  Expr ratios = p / where(left == 0.0, 1.0, left);
  ratios = minimum(maximum(ratios, 0.0), 1.0);
  Tensor keys = split(key, p.dimensions()[0], options);
  auto step = [&](Tensor trials, std::pair<Tensor, Tensor> x) {
    Operand now(x.second);
    Expr count(binomial(now, trials, x.first, n.dimensions(), n.dtype(), options));
    return std::pair((Expr(trials) - count).tensor(), count.tensor());
  };
  return scan(step, n.tensor(), std::pair(ratios.tensor(), keys), {}, at).second;
}

}  // namespace

Tensor multivariate_normal(Operand key, Operand mean, Operand covariance, const base::Ints& shape,
                           const Options& options, CovarianceRoot root) {
  const PublicCall call("random::multivariate_normal", key.at());
  constexpr std::string_view kOp = "random::multivariate_normal";
  Expr center(as_tensor(mean)), spread(as_tensor(covariance));
  check_moments(center.tensor().shape(), spread.tensor().shape());
  int64_t n = center.dimensions().back();
  Dimensions batch = batch_shape(shape, without_last(center.dimensions(), 1),
                                 without_last(spread.dimensions(), 2));
  return one_program(kOp, [&] {
    Expr factor = root_of(spread, root);
    Expr z(normal(key, with_last(batch, {n}), center.dtype(), options));
    Tensor column = expand_dims(z.operand(), -1);
    Tensor turned = squeeze(matmul(factor.operand(), column), {-1});
    return (center + Expr(turned)).tensor();
  });
}

Tensor orthogonal(Operand key, base::Int n, const base::Ints& shape, DType dtype,
                  std::optional<base::Int> m, const Options& options) {
  const PublicCall call("random::orthogonal", key.at());
  constexpr std::string_view kOp = "random::orthogonal";
  if (n < 0) trace_internal::refuse("n is ", n, "; it must be 0 or more");
  const int64_t columns = trace_internal::count_or("m", m, n);
  return one_program(kOp, [&] {
    Dimensions tall =
        with_last(shape, {std::max<int64_t>(n, columns), std::min<int64_t>(n, columns)});
    Tensor z = normal(key, tall, dtype, options);
    linalg::Qr qr = linalg::qr(z);
    // Without the signs of r's diagonal, q would depend on the factorisation.
    Expr signs = sign(Expr(expand_dims(diagonal(qr.r, 0, -2, -1), -2)));
    Expr q = Expr(qr.q) * signs;
    return n < columns ? swapaxes(q.operand(), -1, -2) : q.tensor();
  });
}

Tensor multinomial(Operand key, Parameter n, Operand p, const base::Ints& shape,
                   const Options& options) {
  const PublicCall call("random::multinomial", key.at());
  constexpr std::string_view kOp = "random::multinomial";
  random_internal::require_in(random_internal::Domain::kNotNegative, "n", n);
  Tensor odds = as_tensor(p);
  trace_internal::require_ieee_float("p", odds.dtype());
  Dimensions sizes = shape.empty() ? odds.shape().dimensions() : shape.list();
  if (odds.rank() == 0 || sizes.back() != odds.dim(-1)) {
    trace_internal::refuse("p is ", odds.shape(), " and the sample [", base::join(sizes, ","),
                           "]; p must have rank 1 or more, and both the "
                           "outcomes as their last axis");
  }
  Tensor trials = n.is_tensor() ? n.tensor() : constant_like(n, odds.dtype());
  if (trials.dtype() != odds.dtype()) {
    trace_internal::refuse("n is ", trials.shape(), " and p ", odds.shape(),
                           "; their dtypes must be equal, cast n with astype(",
                           to_string(odds.dtype()), ")");
  }
  return one_program(kOp, [&] {
    Expr all(broadcast_to(odds, sizes));
    Expr first = moveaxis(all.operand(), -1, 0);
    Expr start(broadcast_to(trials, without_last(sizes, 1)));
    Tensor counts = counts_of(start, first, key, options);
    return moveaxis(counts, 0, -1);
  });
}

}  // namespace heddle::random
