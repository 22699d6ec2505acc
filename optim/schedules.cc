#include "heddle/optim/schedules.h"

#include <cmath>

#include "heddle/numpy/sorting.h"
#include "heddle/trace/creation.h"
#include "heddle/trace/elementwise.h"
#include "heddle/trace/error.h"

namespace heddle::optim {
namespace {

int64_t positive(const char* name, const char* what, int64_t steps, int64_t least = 1) {
  if (steps >= least) return steps;
  throw Error(base::invalid_argument("optim::", name, ": ", what, " is ", steps,
                                     "; it must be at least ", least),
              {});
}

Tensor real(const Tensor& step) { return is_floating(step.dtype()) ? step : step.astype(f32); }

// min(step, steps) / steps.
Tensor part_of(const Tensor& step, int64_t steps) {
  return minimum(real(step), static_cast<double>(steps)) / static_cast<double>(steps);
}

}  // namespace

Schedule constant(double value) {
  return [value](const Tensor& step) { return full({}, value, real(step).dtype()); };
}

Schedule linear(double start, double end, base::Int steps) {
  return [=, n = positive("linear", "steps", steps)](const Tensor& step) {
    return start + (end - start) * part_of(step, n);
  };
}

Schedule exponential_decay(double start, base::Int steps, double rate, bool staircase) {
  if (!(rate > 0)) {
    throw Error(base::invalid_argument("optim::exponential_decay: rate is ", rate,
                                       "; it must be greater than 0"),
                {});
  }
  return [=, n = positive("exponential_decay", "steps", steps)](const Tensor& step) {
    Tensor turns = real(step) / static_cast<double>(n);
    if (staircase) turns = floor(turns);
    return start * exp(turns * std::log(rate));
  };
}

Schedule cosine_decay(double start, base::Int steps, double alpha) {
  return [=, n = positive("cosine_decay", "steps", steps)](const Tensor& step) {
    return start * ((1 - alpha) * 0.5 * (1 + cos(M_PI * part_of(step, n))) + alpha);
  };
}

Schedule warmup_cosine(double peak, base::Int warmup, base::Int steps, double end) {
  const int64_t rising = positive("warmup_cosine", "warmup", warmup, 0);
  const int64_t falling = positive("warmup_cosine", "steps - warmup", steps - rising);
  return [=](const Tensor& step) {
    const Tensor late = step - rising;
    const Tensor fall =
        end + (peak - end) * 0.5 * (1 + cos(M_PI * part_of(maximum(late, 0), falling)));
    return rising == 0 ? fall : where(late < 0, peak * part_of(step, rising), fall);
  };
}

Schedule piecewise_constant(double start, std::vector<std::pair<int64_t, double>> scales) {
  return [start, scales = std::move(scales)](const Tensor& step) {
    Tensor rate = full({}, start, real(step).dtype());
    for (const auto& [from, scale] : scales) rate = where(step >= from, rate * scale, rate);
    return rate;
  };
}

namespace {

Schedule always(const Tensor& value) {
  if (!value.is_valid() || !is_floating(value.dtype()) || value.rank() != 0) {
    throw Error(base::invalid_argument(
                    "optim: the learning rate is ",
                    value.is_valid() ? to_string(value.shape()) : "a Tensor without a value",
                    "; it must be a scalar of a floating dtype"),
                {});
  }
  return [value](const Tensor&) { return value; };
}

}  // namespace

Rate::Rate(double value) : at_(constant(value)) {}
Rate::Rate(const Tensor& value) : at_(always(value)) {}

Tensor Rate::at(const Tensor& step, DType dtype) const {
  const Tensor rate = at_(step.astype(dtype == f64 ? f64 : f32));
  if (rate.rank() != 0) {
    throw Error(base::invalid_argument("optim: the schedule gives ", to_string(rate.shape()),
                                       "; a learning rate is a scalar"),
                {});
  }
  return rate.astype(dtype);
}

}  // namespace heddle::optim
