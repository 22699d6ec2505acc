// Optimizers: sgd, momentum, adam, adamw, lion, as functions of trees; and clipping of gradients.
// Formulas and defaults are those of optax; a line says where they are not.
//
//   auto opt = optim::adam({.learning_rate = 1e-3});
//   auto state = opt.init(params);
//   auto step = compile([opt](Params params, optim::AdamState<Params> state, Tensor batch) {
//     auto [loss, grads] = value_and_grad(loss_of)(params, batch);
//     auto [next, next_state] = opt.update(grads, state, params);
//     return std::tuple(next, next_state, loss);
//   }, {.donate = {0, 1}});
//
// A state is a tree, like the parameters: loops carry it, files save it, calls donate it. Each leaf
// is updated in its own float dtype (f16 by f32 moments, as squares underflow), on its parameters'
// device. update() gives the new parameters themselves. errors: Error (InvalidArgument) that names
// an option outside of its range, where the optimizer is made; of update(), that names the leaf
// without a value, or whose dtype or shape differs from that of the parameters
#pragma once

#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/base/source_location.h"
#include "heddle/optim/schedules.h"
#include "heddle/trace/devices/on_device_of.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/tensor.h"
#include "heddle/trace/tree.h"

namespace heddle::trace_internal {
class KnownOptions;  // trace/run/known_program.h
}

namespace heddle::optim {

// The number of updates so far, s32[], and an optimizer's state for each parameter.
template <TensorTree P>
struct SgdState {
  Tensor step;
  static constexpr auto kFields = fields(field("step", &SgdState::step));
};
template <TensorTree P>
struct MomentumState {
  Tensor step;
  P velocity;
  static constexpr auto kFields =
      fields(field("step", &MomentumState::step), field("velocity", &MomentumState::velocity));
};
template <TensorTree P>
struct AdamState {
  Tensor step;
  P mean, square;  // of the gradients, decaying
  static constexpr auto kFields =
      fields(field("step", &AdamState::step), field("mean", &AdamState::mean),
             field("square", &AdamState::square));
};
template <TensorTree P>
struct LionState {
  Tensor step;
  P mean;
  static constexpr auto kFields =
      fields(field("step", &LionState::step), field("mean", &LionState::mean));
};

struct SgdOptions {
  template <TensorTree P>
  using State = SgdState<P>;
  static constexpr const char* kName = "optim::sgd";
  Rate learning_rate;
};
struct MomentumOptions {
  template <TensorTree P>
  using State = MomentumState<P>;
  static constexpr const char* kName = "optim::momentum";
  Rate learning_rate;
  double decay = 0.9;  // 0 .. 1
  bool nesterov = false;
};
struct AdamOptions {
  template <TensorTree P>
  using State = AdamState<P>;
  static constexpr const char* kName = "optim::adam";
  Rate learning_rate;
  double b1 = 0.9, b2 = 0.999;  // from 0 to below 1
  double eps = 1e-8;            // added to the root
  double eps_root = 0;          // added below it
  double weight_decay = 0;  // times the learning rate (Loshchilov and Hutter 2017); adam has none
};
struct LionOptions {
  template <TensorTree P>
  using State = LionState<P>;
  static constexpr const char* kName = "optim::lion";
  Rate learning_rate;
  double b1 = 0.9, b2 = 0.99;  // from 0 to below 1
  double weight_decay = 1e-3;
};

}  // namespace heddle::optim

namespace heddle::optim_internal {

using Leaves = std::vector<Tensor>;
using trace_internal::PublicCall;

// A tree during its update. It checks that another tree is like it; its device is the default one
// until it goes.
class Update {
 public:
  // `paths`: of each leaf, for errors
  Update(Leaves params, std::vector<std::string> paths)
      : params_(std::move(params)), paths_(std::move(paths)), device_(std::span(params_)) {}
  // `are_moments`: as the parameters, f32 where those are f16
  // errors: throws Error if they are not like the parameters
  Leaves check(std::string_view what, Leaves leaves, bool are_moments = false) const;

  // One step; `moments` are those of the state, in order.
  void apply(const optim::SgdOptions& o, const Tensor& step, const Leaves& grads,
             std::span<Leaves> moments);
  void apply(const optim::MomentumOptions& o, const Tensor& step, const Leaves& grads,
             std::span<Leaves> moments);
  void apply(const optim::AdamOptions& o, const Tensor& step, const Leaves& grads,
             std::span<Leaves> moments);
  void apply(const optim::LionOptions& o, const Tensor& step, const Leaves& grads,
             std::span<Leaves> moments);

  [[nodiscard]] const Leaves& params() const { return params_; }

 private:
  using Formula = base::FunctionRef<Leaves(const Leaves& values)>;
  // Each leaf by one program, of (parameter, gradient, moments.., step, rate) to (parameter,
  // moments..). `options`: the numbers that the formula has in it.
  void apply(const char* name, const trace_internal::KnownOptions& options, const optim::Rate& rate,
             const Tensor& step, const Leaves& grads, std::span<Leaves> moments, Formula formula);

  Leaves params_;
  std::vector<std::string> paths_;
  trace_internal::OnDeviceOf device_;
};

// errors: throws Error that names the option outside of its range
void check(const optim::SgdOptions& o);
void check(const optim::MomentumOptions& o);
void check(const optim::AdamOptions& o);
// errors: Error where adam, which has none, is given a weight decay
void require_no_decay(const optim::AdamOptions& options, SourceLocation at);
void check(const optim::LionOptions& o);

Leaves moments_of(const Leaves& params);
Tensor first_step(const Leaves& params);
Tensor next_step(const Tensor& step);
Tensor norm_of(const Leaves& leaves);
Leaves clipped(const Leaves& leaves, double greatest_norm);
Leaves bounded(const Leaves& leaves, double bound);

// The leaves of a tree. errors: throws Error that names the one without a value
template <TensorTree P>
Leaves leaves_of(std::string_view what, const P& tree) {
  Leaves leaves = flatten(tree);
  trace_internal::require_values("optim", what, leaves, [&] { return tree_spec(tree); });
  return leaves;
}
template <TensorTree P>
P tree_of(const TreeSpec& spec, const Leaves& leaves) {
  std::span<const Tensor> rest(leaves);
  return unflatten<P>(spec, rest);
}
template <TensorTree P>
Update update_of(const P& params) {
  return Update(leaves_of("params", params), leaf_paths(tree_spec(params)));
}

// Calls visit(name, moment) for what a state has beside its step.
template <class State, class Visit>
void for_each_moment(State& state, const Visit& visit) {
  const auto each = [&](const auto& /*step*/, const auto&... moments) {
    (visit(moments.name, state.*(moments.member)), ...);
  };
  std::apply(each, fields_of<std::remove_const_t<State>>());
}

template <class Options>
struct Optimizer {
  template <TensorTree P>
  using State = typename Options::template State<P>;

  Options options;
  const char* name = Options::kName;  // of the function that made it, for errors

  template <TensorTree P>
  [[nodiscard]] State<P> init(const P& params, SourceLocation at = SourceLocation::here()) const {
    const PublicCall call(name, at);
    const Leaves leaves = leaves_of("params", params);
    const TreeSpec spec = tree_spec(params);
    State<P> state;
    state.step = first_step(leaves);
    for_each_moment(
        state, [&](std::string_view, P& moment) { moment = tree_of<P>(spec, moments_of(leaves)); });
    return state;
  }
  template <TensorTree P>
  [[nodiscard]] std::pair<P, State<P>> update(const P& grads, const State<P>& state,
                                              const P& params,
                                              SourceLocation at = SourceLocation::here()) const {
    const PublicCall call(name, at);
    Update update = update_of(params);
    std::vector<Leaves> moments;
    (void)leaves_of("state.step", state.step);
    for_each_moment(state, [&](std::string_view which, const P& moment) {
      const std::string what = base::cat("state.", which);
      moments.push_back(update.check(what, leaves_of(what, moment), true));
    });
    update.apply(options, state.step, update.check("gradients", leaves_of("gradients", grads)),
                 moments);
    const TreeSpec spec = tree_spec(params);
    State<P> next;
    next.step = next_step(state.step);
    size_t i = 0;
    for_each_moment(next,
                    [&](std::string_view, P& moment) { moment = tree_of<P>(spec, moments[i++]); });
    return {tree_of<P>(spec, update.params()), std::move(next)};
  }
  // Other orders, and optax's update() of two arguments, which gives steps.
  template <class A, class B, class... More>
  static auto update(const A&, const B&, const More&...) {  // auto: this error comes first
    static_assert(!sizeof(std::type_identity<A>),
                  "update gives the new parameters and state: write opt.update(grads, state, "
                  "params), with gradients of the type of the parameters");
    return trace_internal::Refused();
  }
};

template <class Options>
Optimizer<Options> optimizer(Options options, const char* name, SourceLocation at) {
  const PublicCall call(name, at);
  check(options);
  return {std::move(options), name};
}

template <class T>
trace_internal::Refused refuse_rate() {
  static_assert(!sizeof(std::type_identity<T>),
                "the rate has a name, as in adam({.learning_rate = 1e-3})");
  return {};
}

}  // namespace heddle::optim_internal

namespace heddle::optim {

// p - rate g.
using Sgd = optim_internal::Optimizer<SgdOptions>;
// v = decay v + g; p - rate v, or p - rate (g + decay v) where `nesterov`.
using Momentum = optim_internal::Optimizer<MomentumOptions>;
// Kingma and Ba 2014, algorithm 1; with weight decay Loshchilov and Hutter 2017, algorithm 2.
using Adam = optim_internal::Optimizer<AdamOptions>;
// p - rate (sign(b1 m + (1 - b1) g) + weight_decay p); m = b2 m + (1 - b2) g. Chen et al. 2023.
using Lion = optim_internal::Optimizer<LionOptions>;

inline Sgd sgd(SgdOptions options, SourceLocation at = SourceLocation::here()) {
  return optim_internal::optimizer(std::move(options), SgdOptions::kName, at);
}
inline Momentum momentum(MomentumOptions options, SourceLocation at = SourceLocation::here()) {
  return optim_internal::optimizer(std::move(options), MomentumOptions::kName, at);
}
inline Adam adam(AdamOptions options, SourceLocation at = SourceLocation::here()) {
  optim_internal::require_no_decay(options, at);
  return optim_internal::optimizer(std::move(options), AdamOptions::kName, at);
}
// A rate without its name.
template <std::floating_point Number>
trace_internal::Refused sgd(Number) {
  return optim_internal::refuse_rate<Number>();
}
template <std::floating_point Number>
trace_internal::Refused momentum(Number) {
  return optim_internal::refuse_rate<Number>();
}
template <std::floating_point Number>
trace_internal::Refused adam(Number) {
  return optim_internal::refuse_rate<Number>();
}
template <std::floating_point Number>
trace_internal::Refused adamw(Number) {
  return optim_internal::refuse_rate<Number>();
}
template <std::floating_point Number>
trace_internal::Refused lion(Number) {
  return optim_internal::refuse_rate<Number>();
}

// Adam with a weight decay of 1e-4 by default (optax; torch has 1e-2).
struct AdamWOptions {
  Rate learning_rate;
  double b1 = 0.9, b2 = 0.999;
  double eps = 1e-8, eps_root = 0;
  double weight_decay = 1e-4;
};
inline Adam adamw(const AdamWOptions& o, SourceLocation at = SourceLocation::here()) {
  return optim_internal::optimizer(
      AdamOptions{o.learning_rate, o.b1, o.b2, o.eps, o.eps_root, o.weight_decay}, "optim::adamw",
      at);
}
inline Lion lion(LionOptions options, SourceLocation at = SourceLocation::here()) {
  return optim_internal::optimizer(std::move(options), LionOptions::kName, at);
}

// The root of the sum of the squares of all elements, in f32, or f64 where a leaf is.
template <TensorTree P>
Tensor global_norm(const P& tree, SourceLocation at = SourceLocation::here()) {
  const optim_internal::PublicCall call("optim::global_norm", at);
  return optim_internal::norm_of(optim_internal::leaves_of("tree", tree));
}
// The tree times min(1, greatest_norm / global_norm(tree)); infinity leaves it as it is.
// errors: Error if greatest_norm is not greater than 0
template <TensorTree P>
P clip_by_global_norm(const P& grads, double greatest_norm,
                      SourceLocation at = SourceLocation::here()) {
  const optim_internal::PublicCall call("optim::clip_by_global_norm", at);
  return optim_internal::tree_of<P>(
      tree_spec(grads),
      optim_internal::clipped(optim_internal::leaves_of("gradients", grads), greatest_norm));
}
// Each element brought to -bound .. bound. errors: Error if bound is not greater than 0
template <TensorTree P>
P clip_by_value(const P& grads, double bound, SourceLocation at = SourceLocation::here()) {
  const optim_internal::PublicCall call("optim::clip_by_value", at);
  return optim_internal::tree_of<P>(
      tree_spec(grads),
      optim_internal::bounded(optim_internal::leaves_of("gradients", grads), bound));
}

}  // namespace heddle::optim
