#include "heddle/random/multivariate.h"

#include <algorithm>

#include "heddle/linalg/factors.h"
#include "heddle/linalg/spectra.h"
#include "heddle/random/continuous.h"
#include "heddle/random/discrete.h"
#include "heddle/random/internal/sampling.h"
#include "heddle/scan/associative.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/contractions.h"
#include "heddle/trace/error.h"
#include "heddle/trace/matrices.h"
#include "heddle/trace/public_call.h"

namespace heddle::random {
namespace {

using trace_internal::Located;
using trace_internal::one_program;
using trace_internal::PublicCall;

// The shape without its last `count` sizes.
Dimensions without_last(const Dimensions& shape, size_t count) {
  return {shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(count)};
}

Dimensions with_last(Dimensions shape, std::initializer_list<int64_t> sizes) {
  shape.insert(shape.end(), sizes);
  return shape;
}

Located column_scaled(const Located& matrix, const Located& variances) {
  return matrix * sqrt(matrix.with(expand_dims(variances.operand(), -2)));
}

Located root_of(const Located& covariance, CovarianceRoot root) {
  auto with = [&](const Tensor& t) { return covariance.with(t); };
  switch (root) {
    case CovarianceRoot::kCholesky: return with(linalg::cholesky(covariance.operand()));
    case CovarianceRoot::kEigh: {
      linalg::Eigh e = linalg::eigh(covariance.operand());
      return column_scaled(with(e.eigenvectors), with(e.eigenvalues));
    }
    case CovarianceRoot::kSvd: {
      linalg::Svd s = linalg::svd(covariance.operand());
      return column_scaled(with(s.u), with(s.s));
    }
  }
  return covariance;
}

void check_moments(std::string_view op, const Shape& mean, const Shape& covariance,
                   SourceLocation at) {
  if (mean.dtype() != f32 && mean.dtype() != f64)
    throw Error(trace_internal::invalid_argument(
                    op, ": mean is ", mean, "; it must be of f32 or f64, cast it with astype(f32)"),
                at);
  if (mean.rank() == 0)
    throw Error(
        trace_internal::invalid_argument(op, ": mean is ", mean, "; it must have rank 1 or more"),
        at);
  const int64_t n = mean.dimensions().back();
  const Dimensions& sizes = covariance.dimensions();
  if (sizes.size() < 2 || sizes.back() != n || sizes[sizes.size() - 2] != n) {
    throw Error(
        trace_internal::invalid_argument(op, ": covariance is ", covariance, "; it must be [.., ",
                                         n, ",", n, "], square of the size of mean ", mean),
        at);
  }
  if (covariance.dtype() != mean.dtype()) {
    throw Error(trace_internal::invalid_argument(op, ": covariance is ", covariance, " and mean ",
                                                 mean, "; their dtypes must be equal, ",
                                                 cast_advice(covariance.dtype(), mean.dtype())),
                at);
  }
}

// A tensor of the batch's shape that stands for an operand's leading axes.
Dimensions batch_shape(std::string_view op, const Dimensions& shape, const Dimensions& a,
                       const Dimensions& b, SourceLocation at) {
  Dimensions common = broadcast_shapes(Shape(f32, a), Shape(f32, b), at);
  if (shape.empty()) return common;
  if (broadcast_shapes(Shape(f32, shape), Shape(f32, common), at) == shape) return shape;
  throw Error(trace_internal::invalid_argument(
                  op, ": batches of the parameters are [", base::join(common, ","),
                  "]; they must broadcast to the shape asked for, [", base::join(shape, ","), "]"),
              at);
}

Tensor counts_of(const Located& n, const Located& p, const Operand& key, const Options& options) {
  SourceLocation at = key.at();
  Located left(cumsum(p.operand(), 0, /*reverse=*/true), at);
  Located ratios = p / where(left == 0.0, 1.0, left);
  ratios = minimum(maximum(ratios, 0.0), 1.0);
  Tensor keys = split(key, p.dimensions()[0], options);
  auto step = [&](Tensor trials, std::pair<Tensor, Tensor> x) {
    Operand now(x.second, at);
    Located count(binomial(now, {trials, at}, {x.first, at}, n.dimensions(), n.dtype(), options),
                  at);
    return std::pair((Located(trials, at) - count).tensor(), count.tensor());
  };
  return scan(step, n.tensor(), std::pair(ratios.tensor(), keys), {}, at).second;
}

}  // namespace

Tensor multivariate_normal(Operand key, Operand mean, Operand covariance, const Dimensions& shape,
                           const Options& options, CovarianceRoot root) {
  const PublicCall call("random::multivariate_normal", key.at());
  constexpr std::string_view kOp = "random::multivariate_normal";
  SourceLocation at = key.at();
  Located center(as_tensor(mean), at), spread(as_tensor(covariance), at);
  check_moments(kOp, center.tensor().shape(), spread.tensor().shape(), at);
  int64_t n = center.dimensions().back();
  Dimensions batch = batch_shape(kOp, shape, without_last(center.dimensions(), 1),
                                 without_last(spread.dimensions(), 2), at);
  return one_program(kOp, at, [&] {
    Located factor = root_of(spread, root);
    Located z(normal(key, with_last(batch, {n}), center.dtype(), options), at);
    Tensor column = expand_dims(z.operand(), -1);
    Tensor turned = squeeze({matmul(factor.operand(), {column, at}), at}, {-1});
    return (center + Located(turned, at)).tensor();
  });
}

Tensor orthogonal(Operand key, base::Int n, const Dimensions& shape, DType dtype,
                  std::optional<base::Int> m, const Options& options) {
  const PublicCall call("random::orthogonal", key.at());
  constexpr std::string_view kOp = "random::orthogonal";
  SourceLocation at = key.at();
  if (n < 0)
    throw Error(trace_internal::invalid_argument(kOp, ": n is ", n, "; it must be 0 or more"), at);
  const int64_t columns = trace_internal::count_or(kOp, "m", m, n, at);
  return one_program(kOp, at, [&] {
    Dimensions tall =
        with_last(shape, {std::max<int64_t>(n, columns), std::min<int64_t>(n, columns)});
    Tensor z = normal(key, tall, dtype, options);
    linalg::Qr qr = linalg::qr({z, at});
    // Without the signs of r's diagonal q would depend on how it was factored.
    Located signs = sign(Located(expand_dims({diagonal({qr.r, at}), at}, -2), at));
    Located q = Located(qr.q, at) * signs;
    return n < columns ? swapaxes(q.operand(), -1, -2) : q.tensor();
  });
}

Tensor multinomial(Operand key, Operand n, Operand p, const Dimensions& shape,
                   const Options& options) {
  const PublicCall call("random::multinomial", key.at());
  constexpr std::string_view kOp = "random::multinomial";
  SourceLocation at = key.at();
  Tensor odds = as_tensor(p);
  trace_internal::require_ieee_float(kOp, "p", odds.dtype(), at);
  Dimensions sizes = shape.empty() ? odds.shape().dimensions() : shape;
  if (odds.rank() == 0 || sizes.back() != odds.dim(-1)) {
    throw Error(trace_internal::invalid_argument(kOp, ": p is ", odds.shape(), " and the sample [",
                                                 base::join(sizes, ","),
                                                 "]; p must have rank 1 or more, and both the "
                                                 "outcomes as their last axis"),
                at);
  }
  Tensor trials = n.is_tensor() ? n.tensor() : constant_like(n, odds.dtype());
  if (trials.dtype() != odds.dtype()) {
    throw Error(
        trace_internal::invalid_argument(kOp, ": n is ", trials.shape(), " and p ", odds.shape(),
                                         "; their dtypes must be equal, cast n with astype(",
                                         to_string(odds.dtype()), ")"),
        at);
  }
  return one_program(kOp, at, [&] {
    Located all(broadcast_to(odds, sizes, at), at);
    Located first = all.with(moveaxis(all.operand(), -1, 0));
    Located start(broadcast_to(trials, without_last(sizes, 1), at), at);
    Tensor counts = counts_of(start, first, key, options);
    return moveaxis({counts, at}, 0, -1);
  });
}

}  // namespace heddle::random
