// Learning rates as functions of the number of the step, from 0. Names and formulas are those of
// optax.schedules. Optimizers give them the number as f32[], or f64[] for f64 parameters, and the
// rate has the same dtype. An integer gives f32[]. Rates, starts, ends and scales are finite.
// errors: Error (InvalidArgument) that names the argument, its value and the range
#pragma once

#include <functional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::optim {

using Schedule = std::function<Tensor(const Tensor& step)>;

Schedule constant(double value, SourceLocation at = SourceLocation::here());
// From `start` to `end` in `steps` steps, and `end` from then on. errors: steps < 1
Schedule linear(double start, double end, base::Int steps,
                SourceLocation at = SourceLocation::here());
// start * rate^(step / steps), with the whole part of step / steps alone where `staircase`.
// errors: steps < 1; rate <= 0
Schedule exponential_decay(double start, base::Int steps, double rate, bool staircase = false,
                           SourceLocation at = SourceLocation::here());
// start * ((1 - alpha) (1 + cos(pi min(step, steps) / steps)) / 2 + alpha). errors: steps < 1
Schedule cosine_decay(double start, base::Int steps, double alpha = 0,
                      SourceLocation at = SourceLocation::here());
// From 0 to `peak` in `warmup` steps, linearly, then to `end` by a half cosine at step `steps`.
// errors: warmup < 0, steps <= warmup
Schedule warmup_cosine(double peak, base::Int warmup, base::Int steps, double end = 0,
                       SourceLocation at = SourceLocation::here());
// `start`, multiplied by each scale whose step has been reached: {{1000, 0.1}, {2000, 0.1}}.
Schedule piecewise_constant(double start, std::vector<std::pair<int64_t, double>> scales,
                            SourceLocation at = SourceLocation::here());

// An optimizer's learning rate: a number (finite, 0 or greater), a scalar tensor, or a schedule.
class Rate {
 public:
  // implicit: {.learning_rate = 1e-3}; or a tensor of a float dtype, an argument of the step
  Rate(double value, SourceLocation at = SourceLocation::here());
  Rate(const Tensor& value);
  template <class Fn>
  requires std::is_invocable_r_v<Tensor, const Fn&, const Tensor&> Rate(Fn schedule)
      : value_(Schedule(std::move(schedule))) {}  // implicit: {.learning_rate = optim::linear(..)}

  template <class Fn>
  requires(std::is_class_v<Fn> && !std::is_convertible_v<Fn, Tensor> &&
           !std::is_invocable_r_v<Tensor, const Fn&, const Tensor&>) Rate(const Fn& /*schedule*/)
      : value_(0.0) {
    static_assert(!sizeof(Fn),
                  "a schedule takes the step, a Tensor s32[], and returns a Tensor: write "
                  "[](Tensor step) { return 0.1 * exp(-1e-3 * step.astype(f32)); }");
  }
  // errors: throws Error where it is no rate
  void check() const;
  // errors: Error if a schedule gives another shape than []
  [[nodiscard]] Tensor at(const Tensor& step, DType dtype) const;

 private:
  std::variant<double, Tensor, Schedule> value_;
  SourceLocation made_at_ = {};  // of a number
};

}  // namespace heddle::optim
