#include "heddle/optim/lbfgs.h"

#include <limits>

#include "heddle/numpy/sorting.h"
#include "heddle/optim/internal/ranges.h"
#include "heddle/scan/loops.h"
#include "heddle/trace/devices/on_device_of.h"
#include "heddle/trace/ops/contraction/contractions.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/ops/reduction/reductions.h"

namespace heddle::optim_internal {
namespace {

using trace_internal::PublicCall;
using trace_internal::refuse;

constexpr std::string_view kName = "optim::lbfgs";

// Nocedal and Wright's constants.
constexpr double kDecrease = 1e-4;
constexpr double kCurvature = 0.9;

struct Point {
  Tensor x, value, gradient;
  static constexpr auto kFields = fields(field("x", &Point::x), field("value", &Point::value),
                                         field("gradient", &Point::gradient));
};

// The last steps, newest last. An empty place has scale 0, and adds nothing.
struct Memory {
  Tensor steps, changes;  // [memory, n], of x and of the gradient
  Tensor scales;          // [memory]: 1 / (step . change)
  Tensor curvature;       // [], of the newest step: its step . change / change . change
  static constexpr auto kFields =
      fields(field("steps", &Memory::steps), field("changes", &Memory::changes),
             field("scales", &Memory::scales), field("curvature", &Memory::curvature));
};

struct State {
  Point at;
  Memory memory;
  Tensor count, evaluations, stuck;
  static constexpr auto kFields = fields(
      field("at", &State::at), field("memory", &State::memory), field("count", &State::count),
      field("evaluations", &State::evaluations), field("stuck", &State::stuck));
};

struct Search {
  Point trial;
  Tensor t, low, high, tries, found;
  static constexpr auto kFields = fields(
      field("trial", &Search::trial), field("t", &Search::t), field("low", &Search::low),
      field("high", &Search::high), field("tries", &Search::tries), field("found", &Search::found));
};

Tensor product(const Tensor& a, const Tensor& b) { return sum(a * b); }

// -H gradient: the two loops of algorithm 7.4.
Tensor direction(const Memory& memory, const Tensor& gradient) {
  const auto own = PublicCall::own_code();
  const int64_t size = memory.scales.size();
  const Tensor none = zeros({size}, gradient.dtype());
  const auto back = [&](Tensor turn, std::pair<Tensor, Tensor> now) {
    const Tensor i = static_cast<int>(size) - 1 - turn;
    const Tensor part = memory.scales[i] * product(memory.steps[i], now.first);
    return std::pair(now.first - part * memory.changes[i], now.second.at({i}).set(part));
  };
  const auto [q, parts] = fori_loop(0, size, back, std::pair(gradient, none));
  const auto forth = [&, parts = parts](Tensor i, Tensor r) {
    const Tensor part = memory.scales[i] * product(memory.changes[i], r);
    return r + (parts[i] - part) * memory.steps[i];
  };
  return -fori_loop(0, size, forth, memory.curvature * q);
}

Memory remember(const Memory& memory, const Tensor& step, const Tensor& change) {
  const Tensor curvature = product(step, change);
  const Tensor is_good = curvature > 0;  // else the step is only rounding
  const auto shifted = [&](const Tensor& all, const Tensor& newest) {
    const Tensor moved = concat({all[Slice{1, all.dim(0)}], expand_dims(newest, 0)}, /*axis=*/0);
    return where(is_good, moved, all);
  };
  return {shifted(memory.steps, step), shifted(memory.changes, change),
          shifted(memory.scales, 1 / curvature),
          where(is_good, curvature / product(change, change), memory.curvature)};
}

void check(const optim::LbfgsOptions& o) {
  static constexpr int64_t kMost = std::numeric_limits<int32_t>::max();  // what the loops count to
  const auto counts = [](std::string_view name, int64_t value, int64_t least) {
    require(value >= least && value <= kMost, name, value,
            base::cat("at least ", least, ", and at most ", kMost));
  };
  counts("memory", o.memory, 1);
  counts("max_steps", o.max_steps, 0);
  counts("max_halvings", o.max_halvings, 1);
  require_not_negative("tolerance", o.tolerance);
}

}  // namespace

FlatLbfgs lbfgs(const Tensor& start,
                const std::function<std::pair<Tensor, Tensor>(const Tensor&)>& look,
                const optim::LbfgsOptions& options) {
  check(options);
  const trace_internal::OnDeviceOf device(start);
  const DType dtype = start.dtype();
  const double tolerance = options.tolerance > 0 ? options.tolerance : dtype == f64 ? 1e-9 : 1e-5;
  const int64_t memory = options.memory, size = start.size();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto look_at = [&](const Tensor& x) {
    const auto [value, gradient] = look(x);
    if (value.dtype() != dtype)
      refuse("the function gives ", value.shape(), "; it must give ", dtype, "[], as start is");
    return Point{x, value, gradient};
  };
  const auto slope_of = [](const Point& p) {
    return p.gradient.size() == 0 ? zeros({}, p.gradient.dtype()) : max(abs(p.gradient));
  };

  // The first t, from 1 on, that is neither too long nor too short.
  const auto search = [&](const State& now, const Tensor& along) {
    const Tensor slope = product(now.at.gradient, along);
    const auto goes_on = [&](const Search& s) {
      const PublicCall call(kName, {});
      return ~s.found & (s.tries < static_cast<int>(int64_t{options.max_halvings}));
    };
    const auto next = [&](const Search& s) {
      const trace_internal::HigherOrderCall call(kName, {});
      const Point trial = look_at(now.at.x + s.t * along);
      // Not <=: a NaN is too far.
      const Tensor too_far = ~(trial.value <= now.at.value + kDecrease * s.t * slope);
      const Tensor too_near = product(trial.gradient, along) < kCurvature * slope;
      const Tensor low = where(too_far, s.low, s.t), high = where(too_far, s.t, s.high);
      const Tensor found = ~too_far & ~too_near;
      const Tensor t = where(high == infinity, 2 * low, 0.5 * (low + high));
      return Search{trial, where(found, s.t, t), low, high, s.tries + 1, found};
    };
    // The very first step has a length of at most 1.
    const Tensor first = where(now.count == 0, minimum(1 / sum(abs(now.at.gradient)), 1), 1);
    return while_loop(goes_on, next,
                      Search{now.at, first.astype(dtype), zeros({}, dtype),
                             full({}, infinity, dtype), zeros({}, s32), zeros({}, pred)});
  };
  const auto goes_on = [&](const State& now) {
    const PublicCall call(kName, {});
    return (slope_of(now.at) > tolerance) & ~now.stuck &
           (now.count < static_cast<int>(int64_t{options.max_steps}));
  };
  const auto step = [&](const State& now) {
    const trace_internal::HigherOrderCall call(kName, {});
    const Search s = search(now, direction(now.memory, now.at.gradient));
    // A step that goes down is taken, even if its slope is not yet flat enough.
    const Tensor is_taken = s.trial.value < now.at.value;
    const auto taken = [&](const Tensor& fresh, const Tensor& old) {
      return where(is_taken, fresh, old);
    };
    const Point to{taken(s.trial.x, now.at.x), taken(s.trial.value, now.at.value),
                   taken(s.trial.gradient, now.at.gradient)};
    return State{to, remember(now.memory, to.x - now.at.x, to.gradient - now.at.gradient),
                 now.count + 1, now.evaluations + s.tries, ~is_taken};
  };
  const Memory nothing{zeros({memory, size}, dtype), zeros({memory, size}, dtype),
                       zeros({memory}, dtype), ones({}, dtype)};
  const State end =
      while_loop(goes_on, step,
                 State{look_at(start), nothing, zeros({}, s32), ones({}, s32), zeros({}, pred)});
  const Tensor slope = slope_of(end.at);
  return {end.at.x, end.at.value, slope, end.count, end.evaluations, slope <= tolerance};
}

Tensor joined(const std::vector<Tensor>& leaves, const std::vector<std::string>& paths) {
  std::vector<Tensor> flat;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const Shape &shape = leaves[i].shape(), &first = leaves[0].shape();
    if (shape.dtype() != f32 && shape.dtype() != f64)
      refuse("start", paths[i], " is ", shape, "; it must be f32 or f64");
    if (shape.dtype() != first.dtype())
      refuse("start", paths[i], " is ", shape, " and start", paths[0], " is ", first,
             "; all of it must be f32, or all f64");
    flat.push_back(reshape(leaves[i], {leaves[i].size()}));
  }
  return flat.empty() ? zeros({0}) : concat(flat, /*axis=*/0);
}

std::vector<Tensor> parted(const Tensor& all, const std::vector<Tensor>& like) {
  std::vector<Tensor> leaves;
  int64_t from = 0;
  for (const Tensor& leaf : like) {
    leaves.push_back(reshape(
        all[Slice{from, from + leaf.size()}],
        std::vector<int64_t>(leaf.shape().dimensions().begin(), leaf.shape().dimensions().end())));
    from += leaf.size();
  }
  return leaves;
}

}  // namespace heddle::optim_internal
