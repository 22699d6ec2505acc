// Model predictive control swings up a pole on a cart, and holds it, by pushing the cart. At each
// tick two steps of Gauss and Newton's method (iLQR, E. Todorov and W. Li 2005) improve the plan of
// the next two seconds; their linear models are Jacobians of the simulator. Then the first push of
// the plan is made. The closed loop is one scan around the backward and forward scans of each plan.
//
// First the example tests the plan itself where the optimum is known: for a linear system and
// squared costs, L-BFGS with the gradient through the simulation must find what Riccati's recursion
// gives.
//
//   cart_pole [OUTPUT_DIR]     writes cart_pole.svg there
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "heddle/examples/plot.h"
#include "heddle/heddle.h"

using namespace heddle;

namespace {

constexpr double kTick = 0.04;                // seconds
constexpr int64_t kAhead = 50, kTicks = 150;  // ticks of a plan, and of the run
constexpr double kCart = 1, kPole = 0.1, kHalf = 0.5, kGravity = 9.8;  // kg, kg, m, m/s^2

// state: f64[4], place of the cart, angle of the pole from upright, and their velocities;
// push: f64[], newtons.
Tensor slope(Tensor state, Tensor push) {
  const Tensor angle = state[1], turning = state[3];
  const Tensor force = (push + kPole * kHalf * square(turning) * sin(angle)) / (kCart + kPole);
  const Tensor turn = (kGravity * sin(angle) - cos(angle) * force) /
                      (kHalf * (4.0 / 3 - kPole * square(cos(angle)) / (kCart + kPole)));
  const Tensor push_back = kPole * kHalf / (kCart + kPole) * turn * cos(angle);
  return stack({state[2], turning, force - push_back, turn});
}

// A tick later: Runge and Kutta's method of fourth order.
Tensor tick(Tensor state, Tensor push) {
  const Tensor a = slope(state, push), b = slope(state + kTick / 2 * a, push),
               c = slope(state + kTick / 2 * b, push), d = slope(state + kTick * c, push);
  return state + kTick / 6 * (a + 2 * b + 2 * c + d);
}

// The misses, which should be small: half the sum of their squares is the cost of a tick, or of the
// end.
Tensor misses(Tensor state, Tensor push) {
  return stack(
      {0.5 * state[0], 2 * sin(state[1] / 2), 0.1 * state[2], 0.1 * state[3], 0.05 * push});
}
Tensor last_misses(Tensor state) {
  return stack({3 * state[0], 20 * sin(state[1] / 2), 2 * state[2], 2 * state[3]});
}

Tensor half_square(Tensor x) { return 0.5 * sum(square(x)); }

// A linear model of a tick and of its misses: f64[4, 4], f64[4], f64[5, 4], f64[5], f64[5].
struct Linear {
  Tensor by_state, by_push, misses_by_state, misses_by_push, misses;
  static constexpr auto kFields =
      fields(field("by_state", &Linear::by_state), field("by_push", &Linear::by_push),
             field("misses_by_state", &Linear::misses_by_state),
             field("misses_by_push", &Linear::misses_by_push), field("misses", &Linear::misses));
};

Linear linear_at(Tensor state, Tensor push) {
  const auto [by_state, by_push] = jacfwd(tick, argnums<0, 1>)(state, push);
  const auto [misses_by_state, misses_by_push] = jacfwd(misses, argnums<0, 1>)(state, push);
  return {by_state, by_push, misses_by_state, misses_by_push, misses(state, push)};
}

// What to add to a push: change + gain . (state - planned state).
struct Policy {
  Tensor change;  // f64[]
  Tensor gain;    // f64[4]
  static constexpr auto kFields =
      fields(field("change", &Policy::change), field("gain", &Policy::gain));
};

// The cost to come for small changes of the state: slope . x + x . curvature . x / 2.
struct Ahead {
  Tensor slope;      // f64[4]
  Tensor curvature;  // f64[4, 4]
  static constexpr auto kFields =
      fields(field("slope", &Ahead::slope), field("curvature", &Ahead::curvature));
};

// Riccati's recursion, from the last tick to the first.
std::pair<Ahead, Policy> back(Ahead ahead, Linear l) {
  const Tensor to_come = matmul(ahead.curvature, l.by_state);  // [4, 4]
  const Tensor push_slope = dot(l.misses_by_push, l.misses) + dot(l.by_push, ahead.slope);
  const Tensor push_curvature =
      dot(l.misses_by_push, l.misses_by_push) + dot(l.by_push, matmul(ahead.curvature, l.by_push));
  const Tensor both = matmul(l.misses_by_push, l.misses_by_state) + matmul(l.by_push, to_come);
  const Policy policy{-push_slope / push_curvature, -both / push_curvature};
  return {Ahead{matmul(l.misses, l.misses_by_state) + matmul(ahead.slope, l.by_state) +
                    push_slope * policy.gain,
                matmul(transpose(l.misses_by_state), l.misses_by_state) +
                    matmul(transpose(l.by_state), to_come) + outer(policy.gain, both)},
          policy};
}

Ahead at_end(Tensor state) {
  const Tensor by_state = jacfwd(last_misses)(state);
  return {matmul(last_misses(state), by_state), matmul(transpose(by_state), by_state)};
}

// [plan]
struct Path {
  Tensor cost;    // f64[]
  Tensor states;  // f64[kAhead, 4], before each push
  Tensor pushes;  // f64[kAhead]
  static constexpr auto kFields = fields(field("cost", &Path::cost), field("states", &Path::states),
                                         field("pushes", &Path::pushes));
};

// From `start`, the pushes of a path and what a policy adds, `part` of its change.
Path follow(Tensor start, Path path, Policy policy, Tensor part) {
  const auto step = [&](std::pair<Tensor, Tensor> now, std::tuple<Tensor, Tensor, Policy> at) {
    const auto [state, cost] = now;
    const auto [planned, push, add] = at;
    const Tensor pushed = push + part * add.change + dot(add.gain, state - planned);
    return std::pair(std::pair(tick(state, pushed), cost + half_square(misses(state, pushed))),
                     std::pair(state, pushed));
  };
  const auto [last, made] =
      scan(step, std::pair(start, zeros({}, f64)), std::tuple(path.states, path.pushes, policy));
  return {last.second + half_square(last_misses(last.first)), made.first, made.second};
}

// The path of these pushes.
Path path_of(Tensor start, Tensor pushes) {
  const Policy nothing{zeros({kAhead}, f64), zeros({kAhead, 4}, f64)};
  return follow(start, {zeros({}, f64), zeros({kAhead, 4}, f64), pushes}, nothing, zeros({}, f64));
}

// One step of Gauss and Newton's method: the best of five lengths, of which one is 0.
Path better(Tensor start, Path path) {
  const Linear linear = vmap(linear_at)(path.states, path.pushes);
  const Tensor last = tick(path.states[-1], path.pushes[-1]);
  const Policy policy = scan(back, at_end(last), linear, {.reverse = true}).second;
  const Path tried = vmap([&](Tensor part) { return follow(start, path, policy, part); })(
      array<double>({1, 0.5, 0.25, 0.1, 0}));
  const Tensor best = argmin(tried.cost);
  return {tried.cost[best], tried.states[best], tried.pushes[best]};
}

// The closed loop: all states, and all pushes.
std::pair<Tensor, Tensor> control(Tensor start, Tensor pushes) {
  const auto every_tick = [](std::pair<Tensor, Tensor> now, None) {
    const auto [state, planned] = now;
    const auto improve = [&](Tensor, Path path) { return better(state, path); };
    const Path path = fori_loop(0, 2, improve, path_of(state, planned));
    const Tensor push = path.pushes[0];
    const Tensor rest = concat({path.pushes[Slice{1}], zeros({1}, f64)});
    return std::pair(std::pair(tick(state, push), rest), std::pair(state, push));
  };
  return scan(every_tick, std::pair(start, pushes), None{}, {.length = kTicks}).second;
}
// [/plan]

// The plan of a linear system and squared costs, by gradients and by Riccati's recursion: the
// greatest difference of two pushes.
double worst_push() {
  const Tensor still = zeros({4}, f64), start = array<double>({0.5, 0.1, 0, 0});
  const Linear l = linear_at(still, zeros({}, f64));  // upright
  const Tensor last = jacfwd(last_misses)(still);
  const auto cost = [&](Tensor pushes) {
    const auto step = [&](std::pair<Tensor, Tensor> now, Tensor push) {
      const auto [state, sum_so_far] = now;
      const Tensor miss = matmul(l.misses_by_state, state) + l.misses_by_push * push;
      return std::pair(
          std::pair(matmul(l.by_state, state) + l.by_push * push, sum_so_far + half_square(miss)),
          None{});
    };
    const auto [state, so_far] = scan(step, std::pair(start, zeros({}, f64)), pushes).first;
    return so_far + half_square(matmul(last, state));
  };
  const auto found = optim::lbfgs(cost, zeros({kAhead}, f64), {.memory = 50, .max_steps = 500});

  const auto plan = [&](Ahead ahead, None) { return back(ahead, l); };
  const Policy policy =
      scan(plan, at_end(still), None{}, {.length = kAhead, .reverse = true}).second;
  const auto obey = [&](Tensor state, Policy p) {
    const Tensor push = dot(p.gain, state);
    return std::pair(matmul(l.by_state, state) + l.by_push * push, push);
  };
  const Tensor pushes = scan(obey, start, policy).second;
  std::printf("upright, linear: cost %.12f by gradients (%d steps), %.12f by Riccati\n",
              found.value.item<double>(), found.steps.item<int>(), cost(pushes).item<double>());
  return max(abs(found.x - pushes)).item<double>();
}

void write_plot(const std::string& file, const std::vector<double>& states,
                const std::vector<double>& pushes) {
  std::vector<double> time, angle, place, force;
  for (size_t i = 0; i < pushes.size(); ++i) {
    time.push_back(kTick * static_cast<double>(i));
    place.push_back(states[4 * i]);
    angle.push_back(states[4 * i + 1]);
    force.push_back(pushes[i] / 10);
  }
  Plot plot("A pole on a cart, swung up by model predictive control", "seconds", "");
  plot.line(time, angle, "angle from upright, rad");
  plot.line(time, place, "place of the cart, m");
  plot.line(time, force, "push, 10 N");
  plot.write(file);
}

}  // namespace

int main(int argc, char** argv) {
  const double worst = worst_push();
  std::printf("greatest difference of two pushes: %.1e N\n", worst);

  const auto run = compile(control, {.name = "control"});
  const auto [states, pushes] =
      run(array<double>({0, M_PI, 0, 0}), 0.1 * ones({kAhead}, f64));  // hanging
  const std::vector<double> path = states.to_vector<double>(), made = pushes.to_vector<double>();
  const double* end = &path[4 * (kTicks - 1)];
  std::printf("after %.1f s: place %.4f m, angle %.4f, velocities %.4f and %.4f\n", kTick * kTicks,
              end[0], std::remainder(end[1], 2 * M_PI), end[2], end[3]);
  if (argc > 1) {
    const std::string file = std::string(argv[1]) + "/cart_pole.svg";
    write_plot(file, path, made);
    std::printf("Wrote %s\n", file.c_str());
  }
  const bool stands = std::abs(std::remainder(end[1], 2 * M_PI)) < 0.02 &&
                      std::abs(end[0]) < 0.05 && std::abs(end[3]) < 0.02;
  return stands && worst < 1e-6 && run.stats().graphs == 1 ? 0 : 1;
}
