// Derivatives of batch normalisation (hlo/ops/contraction/batch_norm.cc), with r = 1 /
// sqrt(variance + epsilon) and z = (x - mean) r:
//
//   dr = r (-r^2 dvariance / 2)                    written as r d, where d is dr / r
//   dz = (dx - dmean) r + z d
//   dy = dz scale + z dscale + doffset
//   training   dmean = sum(dx) / n, dvariance = 2 sum((x - mean) dx) / n
//
// Numbers of less than 32 bits are computed in f32.
#include "heddle/hlo/derivatives/internal/rules.h"
#include "heddle/hlo/dimensions.h"

namespace heddle::hlo {
namespace {

// Where one is absent, so is the result.
Value times(const Value& a, const Value& b) { return a && b ? a * b : Value(); }
Value minus(const Value& a, const Value& b) { return add(a, b ? -b : Value()); }

class BatchNorm {
 public:
  BatchNorm(const JvpArgs& d, const Value& mean, const Value& variance)
      : d_(d),
        attrs_(d.attrs<BatchNormAttrs>()),
        sizes_(d.x[0].sizes()),
        others_(other_dimensions(d.x[0].rank(), {&attrs_.feature_index, 1})),
        r_(rsqrt(wide(variance) + static_cast<double>(attrs_.epsilon))),
        centred_(wide(d.x[0]) - spread(wide(mean))),
        z_(centred_ * spread(r_)) {
    for (int64_t dimension : others_) count_ *= static_cast<double>(d.x[0].size(dimension));
  }

  // x, scale, offset, mean, variance -> y
  StatusOr<Values> inference() const { return as_results({of_y(of_z(tangent(3), tangent(4)))}); }

  // x, scale, offset -> y, mean, variance
  StatusOr<Values> training() const {
    const Value dx = tangent(0);
    const Value of_mean = over_count(sum(dx));
    const Value of_variance = over_count(sum(times(centred_ * 2.0, dx)));
    return as_results({of_y(of_z(of_mean, of_variance)), of_mean, of_variance});
  }

  // x, scale, mean, variance, grad -> the gradients by x, scale and offset, which are
  // scale r (grad - (of offset + z of scale) / n), sum(grad z) and sum(grad)
  StatusOr<Values> gradient() const {
    const Value scale = spread(wide(d_.x[1])), grad = wide(d_.x[4]), dgrad = tangent(4);
    const Value by_scale = spread(wide(d_.y[1])), by_offset = spread(wide(d_.y[2]));
    const Value dz = of_z(tangent(2), tangent(3));
    const Value of_offset = sum(dgrad);
    const Value of_scale = sum(add(times(dgrad, z_), times(grad, dz)));
    const Value rest = grad - (by_offset + z_ * by_scale) / count_;
    const Value of_rest = minus(
        dgrad,
        over_count(add(spread(of_offset), add(times(dz, by_scale), times(z_, spread(of_scale))))));
    const Value factor = scale * spread(r_);
    const Value of_factor =
        add(times(spread(tangent(1)), spread(r_)), times(factor, spread(of_r(tangent(3)))));
    return as_results({add(times(of_factor, rest), times(factor, of_rest)), of_scale, of_offset});
  }

 private:
  [[nodiscard]] Value wide(const Value& x) const {
    return convert(x, d_.x[0].dtype() == f64 ? f64 : f32);
  }
  // Of an operand; absent where that has none.
  [[nodiscard]] Value tangent(size_t i) const { return d_.dx[i] ? wide(d_.dx[i]) : Value(); }
  // A value for each feature, for all elements; and the sums of them.
  [[nodiscard]] Value spread(const Value& x) const {
    return x ? broadcast(x, sizes_, {attrs_.feature_index}) : Value();
  }
  [[nodiscard]] Value sum(const Value& x) const { return x ? reduce_sum(x, others_) : Value(); }
  [[nodiscard]] Value over_count(const Value& x) const { return x ? x / count_ : Value(); }

  // dr / r
  [[nodiscard]] Value of_r(const Value& of_variance) const {
    return times(r_ * r_ * -0.5, of_variance);
  }
  [[nodiscard]] Value of_z(const Value& of_mean, const Value& of_variance) const {
    return add(times(minus(tangent(0), spread(of_mean)), spread(r_)),
               times(z_, spread(of_r(of_variance))));
  }
  [[nodiscard]] Value of_y(const Value& dz) const {
    return add(add(times(dz, spread(wide(d_.x[1]))), times(z_, spread(tangent(1)))),
               spread(tangent(2)));
  }

  [[nodiscard]] Values as_results(Values tangents) const {
    for (size_t i = 0; i < tangents.size(); ++i) {
      if (tangents[i]) tangents[i] = convert(tangents[i], d_.y[i].dtype());
    }
    return tangents;
  }

  const JvpArgs& d_;
  const BatchNormAttrs& attrs_;
  const Dims sizes_;
  const Dims others_;  // dimensions
  const Value r_, centred_, z_;
  double count_ = 1;  // elements of a feature
};

}  // namespace

StatusOr<Values> jvp_batch_norm(const JvpArgs& d) {
  switch (d.of.opcode) {
    case Opcode::kBatchNormTraining: return BatchNorm(d, d.y[1], d.y[2]).training();
    case Opcode::kBatchNormInference: return BatchNorm(d, d.x[3], d.x[4]).inference();
    default: return BatchNorm(d, d.x[2], d.x[3]).gradient();
  }
}

}  // namespace heddle::hlo
