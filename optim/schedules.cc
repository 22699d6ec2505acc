#include "heddle/optim/schedules.h"

#include <cmath>

#include "heddle/numpy/sorting.h"
#include "heddle/optim/internal/ranges.h"
#include "heddle/trace/devices/on_device_of.h"
#include "heddle/trace/moved_from.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/tree.h"

namespace heddle::optim {
namespace {

using optim_internal::require;
using optim_internal::require_finite;
using trace_internal::PublicCall;
using trace_internal::refuse;

int64_t at_least(int64_t least, const char* what, int64_t steps) {
  require(steps >= least, what, steps, base::cat("at least ", least));
  return steps;
}

// A schedule that is Heddle's function: its instructions have the line that made it.
template <class Fn>
Schedule made(const char* name, SourceLocation at, Fn fn) {
  return [=](const Tensor& step) {
    const PublicCall call(name, at);
    const trace_internal::OnDeviceOf device(step);
    return fn(step);
  };
}

Tensor real(const Tensor& step) { return is_floating(step.dtype()) ? step : step.astype(f32); }

Schedule always(double value, SourceLocation at) {
  return made("optim::constant", at,
              [value](const Tensor& step) { return full({}, value, real(step).dtype()); });
}

// min(step, steps) / steps.
Tensor part_of(const Tensor& step, int64_t steps) {
  return minimum(real(step), static_cast<double>(steps)) / static_cast<double>(steps);
}

}  // namespace

Schedule constant(double value, SourceLocation at) {
  const PublicCall call("optim::constant", at);
  require_finite("value", value);
  return always(value, at);
}

Schedule linear(double start, double end, base::Int steps, SourceLocation at) {
  const PublicCall call("optim::linear", at);
  require_finite("start", start);
  require_finite("end", end);
  const int64_t n = at_least(1, "steps", steps);
  return made("optim::linear", at,
              [=](const Tensor& step) { return start + (end - start) * part_of(step, n); });
}

Schedule exponential_decay(double start, base::Int steps, double rate, bool staircase,
                           SourceLocation at) {
  const PublicCall call("optim::exponential_decay", at);
  require_finite("start", start);
  require(std::isfinite(rate) && rate > 0, "rate", rate, "finite, and greater than 0");
  const int64_t n = at_least(1, "steps", steps);
  return made("optim::exponential_decay", at, [=](const Tensor& step) {
    Tensor turns = real(step) / static_cast<double>(n);
    if (staircase) turns = floor(turns);
    return start * exp(turns * std::log(rate));
  });
}

Schedule cosine_decay(double start, base::Int steps, double alpha, SourceLocation at) {
  const PublicCall call("optim::cosine_decay", at);
  require_finite("start", start);
  require_finite("alpha", alpha);
  const int64_t n = at_least(1, "steps", steps);
  return made("optim::cosine_decay", at, [=](const Tensor& step) {
    return start * ((1 - alpha) * 0.5 * (1 + cos(M_PI * part_of(step, n))) + alpha);
  });
}

Schedule warmup_cosine(double peak, base::Int warmup, base::Int steps, double end,
                       SourceLocation at) {
  const PublicCall call("optim::warmup_cosine", at);
  require_finite("peak", peak);
  require_finite("end", end);
  const int64_t rising = at_least(0, "warmup", warmup);
  const int64_t falling = at_least(1, "steps - warmup", steps - rising);
  return made("optim::warmup_cosine", at, [=](const Tensor& step) {
    const Tensor late = step - rising;
    const Tensor fall =
        end + (peak - end) * 0.5 * (1 + cos(M_PI * part_of(maximum(late, 0), falling)));
    return rising == 0 ? fall : where(late < 0, peak * part_of(step, rising), fall);
  });
}

Schedule piecewise_constant(double start, std::vector<std::pair<int64_t, double>> scales,
                            SourceLocation at) {
  const PublicCall call("optim::piecewise_constant", at);
  require_finite("start", start);
  for (const auto& [from, scale] : scales) require_finite(base::cat("the scale at ", from), scale);
  const auto rate_at = [start, scales = std::move(scales)](const Tensor& step) {
    Tensor rate = full({}, start, real(step).dtype());
    for (const auto& [from, scale] : scales) rate = where(step >= from, rate * scale, rate);
    return rate;
  };
  return made("optim::piecewise_constant", at, rate_at);
}

Rate::Rate(double value, SourceLocation at) : value_(value), made_at_(at) {}
Rate::Rate(const Tensor& value) : value_(value) {}

void Rate::check() const {
  constexpr std::string_view kName = "learning_rate";
  const Schedule* const schedule = std::get_if<Schedule>(&value_);
  if (schedule != nullptr && !*schedule) trace_internal::throw_no_function(kName);
  if (const double* number = std::get_if<double>(&value_))
    optim_internal::require_not_negative(kName, *number);
  if (const Tensor* tensor = std::get_if<Tensor>(&value_)) {
    trace_internal::require_values("optim", kName, {tensor, 1}, [] { return TreeSpec{}; });
    if (!is_floating(tensor->dtype()) || tensor->rank() != 0)
      refuse(kName, " is ", tensor->shape(), "; it must be a scalar of a floating dtype");
  }
}

Tensor Rate::at(const Tensor& step, DType dtype) const {
  const Tensor rate = trace_internal::as_users_code([&] {
    const Tensor number = step.astype(dtype == f64 ? f64 : f32);
    if (const Tensor* tensor = std::get_if<Tensor>(&value_)) return *tensor;
    if (const double* value = std::get_if<double>(&value_)) return always(*value, made_at_)(number);
    return std::get<Schedule>(value_)(number);
  });
  if (rate.rank() != 0)
    refuse("the schedule gives ", rate.shape(), "; a learning rate is a scalar");
  return rate.astype(dtype);
}

}  // namespace heddle::optim
