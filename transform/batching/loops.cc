// Lanes of scan and while. A fixpoint finds the carries that come to differ between lanes: those
// that start with lanes, and those that get them in a step.
#include <algorithm>

#include "heddle/hlo/derivative.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/transform/batching/internal/batcher.h"
#include "heddle/transform/internal/ir.h"
#include "heddle/transform/internal/scan_parts.h"
#include "heddle/transform/trip_count.h"

namespace heddle::transform {

namespace {

// Adds the carries that differ after a step. Returns whether there were any.
bool widen(std::vector<bool>& carries, std::span<const Lanes> after) {
  bool more = false;
  for (size_t i = 0; i < carries.size(); ++i) {
    if (carries[i] || !after[i].is_batched) continue;
    carries[i] = more = true;
  }
  return more;
}

// x with dimensions d and d + 1 exchanged.
Value swapped(const Value& x, int64_t d) {
  hlo::Dims permutation = consecutive_dimensions(x.rank());
  std::swap(permutation[static_cast<size_t>(d)], permutation[static_cast<size_t>(d) + 1]);
  return hlo::transpose(x, permutation);
}

}  // namespace

// Lanes follow the scanned dimension of inputs and outputs, so that they are in front of each
// slice: if it is dimension 0, an input of [lanes, steps, ..] goes through as [steps, lanes, ..].
class ScanBatch {
 public:
  ScanBatch(Batcher& batcher, Graph& graph, const Computation& caller, const Instruction& scan,
            const AllLanes& operands, const Value& active)
      : batcher_(batcher),
        graph_(graph),
        scan_(scan),
        body_(batcher.at(scan.called[0])),
        parts_(scan_parts(caller, scan, body_)),
        inputs_(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(parts_.inputs)),
        carries_(operands.begin() + static_cast<std::ptrdiff_t>(parts_.inputs), operands.end()) {
    if (active && batcher.minds_active(scan.called[0])) active_ = active;
    for (Lanes& each : inputs_) {
      if (each.is_batched) each.x = swapped(each.x, parts_.dimension);
    }
  }

  StatusOr<AllLanes> run() {
    is_batched_ = mask_of(carries_);
    HEDDLE_RETURN_IF_ERROR(write_body());
    Instruction scan = scan_;
    auto attrs = scan_.attrs.get<hlo::ScanAttrs>();
    attrs.num_carries = static_cast<int64_t>(carries_.size()) + (active_ ? 1 : 0);
    Values operands;
    for (const Lanes& each : inputs_) operands.push_back(each.x);
    for (size_t i = 0; i < carries_.size(); ++i)
      operands.push_back(is_batched_[i] ? batcher_.full(carries_[i]) : carries_[i].x);
    if (active_) operands.push_back(active_);
    Value made = graph_.op(Opcode::kScan, operands, attrs, {body_id_});
    if (!scan_.extras->frontend_attributes.empty())
      made = graph_.with_frontend_attributes(made, scan_.extras->frontend_attributes);
    const Values all = flattened(graph_, made);
    AllLanes out;
    for (size_t i = 0; i < parts_.outputs; ++i)
      out.push_back({outputs_[i] ? swapped(all[i], parts_.dimension) : all[i], outputs_[i]});
    for (size_t i = 0; i < carries_.size(); ++i)
      out.push_back({all[parts_.outputs + i], is_batched_[i]});
    return out;
  }

 private:
  Status write_body() {
    while (true) {
      Graph body(batcher_.into(), body_.name);
      AllLanes parameters;
      for (const Lanes& each : inputs_)
        parameters.push_back({body.parameter(slice_of(each.x, parts_.dimension)), each.is_batched});
      for (size_t i = 0; i < carries_.size(); ++i) {
        const Shape& lane = body_.parameter_shape(parts_.inputs + i);
        parameters.push_back(
            {body.parameter(batcher_.type_of(lane, is_batched_[i])), bool(is_batched_[i])});
      }
      const Value active = active_ ? body.parameter(active_.shape()) : Value();
      HEDDLE_ASSIGN_OR_RETURN(const AllLanes results,
                              batcher_.run(body, body_, parameters, active));
      if (widen(is_batched_, std::span(results).subspan(parts_.outputs))) continue;
      outputs_.clear();
      Values values;
      for (size_t i = 0; i < results.size(); ++i) {
        const bool is_output = i < parts_.outputs;
        const bool wide = is_output ? results[i].is_batched : is_batched_[i - parts_.outputs];
        if (is_output) outputs_.push_back(wide);
        values.push_back(wide ? batcher_.full(results[i]) : results[i].x);
      }
      if (active_) values.push_back(active);
      body_id_ = std::move(body).finish(values);
      return {};
    }
  }

  Batcher& batcher_;
  Graph& graph_;
  const Instruction& scan_;
  Computation body_;
  ScanParts parts_;
  AllLanes inputs_, carries_;
  Value active_;
  std::vector<bool> is_batched_;  // by carry
  std::vector<bool> outputs_;
  ComputationId body_id_;
};

StatusOr<AllLanes> batch_of_scan(Batcher& batcher, Graph& graph, const Computation& caller,
                                 const Instruction& scan, const AllLanes& operands,
                                 const Value& active) {
  return ScanBatch(batcher, graph, caller, scan, operands, active).run();
}

// If the condition is the same for all lanes, the loop stays as it was. If it differs:
//
//   on = condition(h)                                   pred, one a lane
//   while (any(on)) { h = select(on, step(h), h); on = on & condition(h); }
//
// The condition is evaluated once a step. A carry that no step changes stays shared.
class WhileBatch {
 public:
  WhileBatch(Batcher& batcher, Graph& graph, const Instruction& loop, const AllLanes& operands,
             const Value& active)
      : batcher_(batcher),
        graph_(graph),
        body_(batcher.at(loop.called[0])),
        condition_(batcher.at(loop.called[1])),
        state_(operands),
        types_(leaves_of(loop.shape)),
        bounds_(bounds_of(loop)),
        active_(active),
        has_on_(bool(active)),
        is_together_(batcher.has_together(body_)) {}

  StatusOr<AllLanes> run() {
    is_batched_ = mask_of(state_);
    while (true) {
      HEDDLE_ASSIGN_OR_RETURN(const bool more, write());
      if (!more) break;
    }
    for (size_t i = 0; i < state_.size(); ++i) {
      if (is_batched_[i]) state_[i] = {batcher_.full(state_[i]), true};
    }
    Values start;
    for (const Lanes& each : state_) start.push_back(each.x);
    if (has_on_) {
      HEDDLE_ASSIGN_OR_RETURN(const Value on, first_on());
      start.push_back(on);
    }
    Value made = graph_.op(Opcode::kWhile, {graph_.tuple(start)}, {}, {body_id_, condition_id_});
    if (!bounds_.empty())  // of each lane, so of all
      made = graph_.with_frontend_attributes(made, bounds_);
    const Values all = flattened(graph_, made);
    AllLanes out;
    for (size_t i = 0; i < state_.size(); ++i) out.push_back({all[i], bool(is_batched_[i])});
    return out;
  }

 private:
  struct State {
    AllLanes leaves;
    Value on;
  };

  State parameter(Graph& graph) const {
    std::vector<Shape> shapes;
    for (size_t i = 0; i < types_.size(); ++i)
      shapes.push_back(batcher_.type_of(types_[i], is_batched_[i]));
    if (has_on_) shapes.push_back(batcher_.active_type());
    const Values all = graph.elements(graph.parameter(Shape::tuple(shapes)));
    State out;
    for (size_t i = 0; i < types_.size(); ++i) out.leaves.push_back({all[i], bool(is_batched_[i])});
    if (has_on_) out.on = all.back();
    return out;
  }

  StatusOr<Lanes> is_more(Graph& graph, const AllLanes& state, const Value& on) {
    HEDDLE_ASSIGN_OR_RETURN(const AllLanes made, batcher_.run(graph, condition_, state, on));
    return made[0];
  }

  static Value any(const Value& on) { return hlo::reduce(on, Opcode::kOr, 0, {0}); }

  // The state that a step takes. In reverse mode, lanes that have ended have no part in its
  // derivative, but for what lanes do together. They take the state of the first lane that runs:
  // what they add to the derivative by a value that lanes share is 0 times what that lane computes,
  // where an ended lane's own state could give NaN.
  AllLanes in_running_lanes(Graph& graph, const State& state) const {
    AllLanes out = state.leaves;
    if (!differs_ || bounds_.empty() || is_together_) return out;
    const int64_t lanes = state.on.sizes()[0];
    if (lanes == 0) return out;
    const auto last = static_cast<double>(lanes - 1);
    const Value numbers = hlo::select(state.on, graph.iota({lanes}, 0), last);
    const Value first = hlo::reduce(numbers, Opcode::kMinimum, last, {0});
    for (Lanes& each : out) {
      if (!each.is_batched || !each.x.shape().is_array()) continue;
      each.x = batcher_.chosen(state.on, each.x, of_lane(graph, first, each.x));
    }
    return out;
  }

  // One lane's value in all lanes, without its derivative.
  static Value of_lane(Graph& graph, const Value& lane, const Value& x) {
    hlo::Dims sizes = x.sizes();
    Values starts(sizes.size(), lane.number(0));
    starts[0] = lane;
    sizes[0] = 1;
    Value one = hlo::dynamic_slice(x, starts, sizes);
    if (hlo::has_tangent(x.shape())) {
      const Shape type = one.shape();
      one = graph.op(Opcode::kBitcastConvert, {one}, {}, {}, &type);
    }
    return hlo::broadcast(hlo::reshape(one, {sizes.begin() + 1, sizes.end()}), x.sizes(),
                          consecutive_dimensions(std::ssize(sizes) - 1, 1));
  }

  // Returns whether it has to be written again, with more values that differ between lanes.
  StatusOr<bool> write() {
    Graph condition(batcher_.into(), condition_.name);
    const State before = parameter(condition);
    HEDDLE_ASSIGN_OR_RETURN(const Lanes test, is_more(condition, before.leaves, before.on));
    if (test.is_batched && !differs_) return differs_ = has_on_ = true;

    Graph body(batcher_.into(), body_.name);
    const State now = parameter(body);
    const AllLanes given = in_running_lanes(body, now);
    HEDDLE_ASSIGN_OR_RETURN(AllLanes next, batcher_.run(body, body_, given, now.on));
    for (Lanes& each : next) {  // a carry that no step changes is the one that came
      for (size_t i = 0; i < given.size(); ++i) {
        if (given[i].x.id() == each.x.id()) each = now.leaves[i];
      }
    }
    if (differs_) {
      for (size_t i = 0; i < next.size(); ++i) {
        if (next[i].x.id() != now.leaves[i].x.id() && types_[i].is_array())
          next[i] = {batcher_.full(next[i]), true};
      }
    }
    if (widen(is_batched_, next)) return true;

    Values values;
    for (size_t i = 0; i < next.size(); ++i) {
      if (is_batched_[i]) next[i] = {batcher_.full(next[i]), true};
      if (differs_ && next[i].x.id() != now.leaves[i].x.id() && types_[i].is_array())
        next[i].x = batcher_.chosen(now.on, next[i].x, now.leaves[i].x);
      values.push_back(next[i].x);
    }
    if (differs_) {
      HEDDLE_ASSIGN_OR_RETURN(const Lanes again, is_more(body, next, now.on));
      values.push_back(now.on & batcher_.full(again));
    } else if (has_on_) {
      values.push_back(now.on);
    }
    body_id_ = std::move(body).finish(values);
    if (differs_) {  // the body has evaluated it, with what it shows and checks
      Graph any_on(batcher_.into(), condition_.name);
      const Value result = any(parameter(any_on).on);
      condition_id_ = std::move(any_on).finish_with(result);
    } else {
      const Value result = has_on_ ? test.x & any(before.on) : test.x;
      condition_id_ = std::move(condition).finish_with(result);
    }
    return false;
  }

  StatusOr<Value> first_on() {
    if (!differs_) return active_;
    HEDDLE_ASSIGN_OR_RETURN(const Lanes test, is_more(graph_, state_, active_));
    const Value on = batcher_.full(test);
    return active_ ? active_ & on : on;
  }

  Batcher& batcher_;
  Graph& graph_;
  Computation body_, condition_;
  AllLanes state_;
  std::vector<Shape> types_;        // of one lane
  hlo::FrontendAttributes bounds_;  // how often it runs, if that is known
  Value active_;
  bool has_on_;           // whether the state has one more leaf, which lanes go on
  bool is_together_;      // lanes do something in a step together
  bool differs_ = false;  // whether the condition differs by lane
  std::vector<bool> is_batched_;
  ComputationId body_id_, condition_id_;
};

StatusOr<AllLanes> batch_of_while(Batcher& batcher, Graph& graph, const Instruction& loop,
                                  const AllLanes& operands, const Value& active) {
  return WhileBatch(batcher, graph, loop, operands, active).run();
}

}  // namespace heddle::transform
