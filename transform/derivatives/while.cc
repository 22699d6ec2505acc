// Tangents of while. In mode kTogether the loop carries them beside the values. In mode kApart the
// loop becomes a scan of the most steps that it may make, if that is known: its tangents have a
// transpose.
#include "heddle/transform/derivatives.h"
#include "heddle/transform/derivatives/internal/forward.h"
#include "heddle/transform/internal/ir.h"
#include "heddle/transform/trip_count.h"

namespace heddle::transform {

class WhileJvp {
 public:
  WhileJvp(Forward& forward, Graph& graph, const Instruction& loop, const Duals& operands)
      : forward_(forward),
        graph_(graph),
        loop_(loop),
        body_(forward.source_.at(loop.called[0])),
        condition_(forward.source_.at(loop.called[1])),
        state_(operands) {}

  StatusOr<Duals> run() {
    // It is written only if needed: a loop with an effect runs even if nobody reads it.
    const auto plain = [&] { return forward_.plain(graph_, loop_, {loop_.shape}, state_); };
    if (const Status why = reason_in(state_); !why.ok()) return poisoned(plain(), why);
    const std::optional<int64_t> most = greatest_trip_count(loop_);
    if (forward_.mode_ == Mode::kApart && most) return as_scan(*most);
    HEDDLE_RETURN_IF_ERROR(write_body());
    if (!poison_.ok()) return poisoned(plain(), poison_);
    HEDDLE_RETURN_IF_ERROR(write_condition());
    if (forward_.mode_ == Mode::kApart) {  // the loop without tangents makes the debug calls
      for (ComputationId* id : {&body_id_, &condition_id_}) {
        HEDDLE_ASSIGN_OR_RETURN(*id, computed_again(forward_.source_.into(), *id,
                                                    "take it out of the while_loop, or use jvp"));
      }
    }
    Values start = tuple_of(state_);
    Value made = graph_.op(Opcode::kWhile, {graph_.tuple(start)}, {}, {body_id_, condition_id_});
    if (most) made = graph_.with_frontend_attributes(made, bounds_of(loop_));
    const Values all = flattened(graph_, made);
    // In mode kApart the values are those of the loop without tangents.
    Duals out = forward_.mode_ == Mode::kApart ? plain() : Duals(state_.size());
    size_t next = state_.size();
    for (size_t i = 0; i < out.size(); ++i) {
      if (forward_.mode_ == Mode::kTogether) out[i].x = all[i];
      if (d_[i]) out[i].dx = all[next++];
    }
    return out;
  }

 private:
  Values tuple_of(const Duals& duals) {
    Values out;
    for (const Dual& each : duals) out.push_back(each.x);
    for (size_t i = 0; i < duals.size(); ++i) {
      if (d_[i]) out.push_back(or_zeros(graph_, duals[i]));
    }
    return out;
  }

  // The state as a parameter.
  Duals parameter(Graph& graph) {
    std::vector<Shape> shapes;
    for (const Dual& each : state_) shapes.push_back(each.x.shape());
    for (size_t i = 0; i < d_.size(); ++i) {
      if (d_[i]) shapes.push_back(shapes[i]);
    }
    const Values all = graph.elements(graph.parameter(Shape::tuple(shapes)));
    Duals out;
    size_t next = state_.size();
    for (size_t i = 0; i < d_.size(); ++i) out.push_back({all[i], d_[i] ? all[next++] : Value()});
    return out;
  }

  Status write_body() {
    d_ = tangents_in(state_);
    while (true) {
      Graph body(forward_.source_.into(), body_.name);
      HEDDLE_ASSIGN_OR_RETURN(const Duals after, forward_.run(body, body_, parameter(body)));
      if (widen(d_, after)) continue;
      poison_ = reason_in(after);
      Values all;
      for (const Dual& each : after) all.push_back(each.x);
      for (size_t i = 0; i < after.size(); ++i) {
        if (d_[i]) all.push_back(or_zeros(body, after[i]));
      }
      body_id_ = std::move(body).finish(all);
      return {};
    }
  }

  Status write_condition() {
    Graph condition(forward_.source_.into(), condition_.name);
    Duals state = parameter(condition);
    for (Dual& each : state) each.dx = Value();
    HEDDLE_ASSIGN_OR_RETURN(const Duals result, forward_.run(condition, condition_, state));
    condition_id_ = std::move(condition).finish_with(result[0].x);
    return {};
  }

  // scan of `most` steps: state = condition(state) ? body(state) : state. It has a transpose, since
  // it is known how much it keeps. A step after the loop's end does no work, there and back.
  StatusOr<Duals> as_scan(int64_t most) {
    Writer& writer = forward_.source_.into();
    const ComputationId body = forward_.source_.called(loop_.called[0]);
    const ComputationId condition = forward_.source_.called(loop_.called[1]);
    Graph same(writer, body_.name + ".done");
    const Value state_as_it_is = same.parameter(loop_.shape);
    const ComputationId done = std::move(same).finish_with(state_as_it_is);
    Graph step(writer, body_.name + ".step");
    step.parameter(Shape(s32, {}));  // the counter
    Values state;
    for (const Dual& each : state_) state.push_back(step.parameter(each.x.shape()));
    const Value tuple = assembled(step, loop_.shape, state);
    const Value goes_on = step.op(Opcode::kCall, {tuple}, hlo::CallAttrs{}, {condition});
    const Value next = step.op(Opcode::kConditional, {goes_on, tuple, tuple}, {}, {body, done});
    Values results = flattened(step, next);
    hand_on(state, results);
    const ComputationId step_id = std::move(step).finish(results);

    Graph whole(writer, body_.name + ".scan");
    Values operands{counter_input(whole, /*dimension=*/0, most)};
    for (const Dual& each : state_) operands.push_back(whole.parameter(each.x.shape()));
    Value scan = whole.op(
        Opcode::kScan, operands,
        hlo::ScanAttrs{.dimensions = {0}, .num_carries = static_cast<int64_t>(state_.size())},
        {step_id});
    if (const auto lengths = hlo::frontend_attribute(loop_, kBlockLengths); !lengths.empty()) {
      scan = whole.with_frontend_attributes(scan,
                                            {{std::string(kBlockLengths), std::string(lengths)}});
    }
    const ComputationId id = std::move(whole).finish(flattened(whole, scan));
    Source written(writer);
    return Forward(written, forward_).run(graph_, written.at(id), state_);
  }

  // Puts the state itself in the place of elements that the body passes on.
  void hand_on(const Values& state, Values& next) const {
    const Instruction& root = body_.root_instruction();
    if (root.opcode != Opcode::kTuple || root.operands.size() != state.size()) return;
    for (size_t i = 0; i < state.size(); ++i) {
      const Instruction& element = body_.at(root.operands[i]);
      if (element.opcode == Opcode::kGetTupleElement &&
          element.operands[0] == body_.parameters[0] &&
          element.attrs.get<hlo::TupleIndexAttrs>().index == static_cast<int64_t>(i))
        next[i] = state[i];
    }
  }

  Forward& forward_;
  Graph& graph_;
  const Instruction& loop_;
  Computation body_, condition_;
  Duals state_;
  std::vector<bool> d_;
  ComputationId body_id_, condition_id_;
  Status poison_;
};

StatusOr<Duals> jvp_of_while(Forward& forward, Graph& graph, const Instruction& loop,
                             const Duals& operands) {
  return WhileJvp(forward, graph, loop, operands).run();
}

}  // namespace heddle::transform
