// Tangents of scan and while. Which carries have tangents is found by a fixpoint: those that start
// with one, and those that a step gives one.
//
//   ys, h = scan(xs, h0)                                 together:
//   ys, dys, h, dh = scan(xs, dxs, h0, dh0)
//                                                        apart:
//   ys, rs, h = scan(xs, h0)                             rs: what the tangents of a step read
//   dys, dh   = scan(xs, rs, dxs, invariants, dh0)       linear in dxs and dh0
//
// A while whose greatest number of steps is known is, apart, such a scan.
//
// What the tangents read of xs is read from xs again; what does not change from step to step is
// computed once, before the loop; an output of the loop is not kept twice.
#include <algorithm>
#include <map>

#include "heddle/base/strings.h"
#include "heddle/hlo/derivative.h"
#include "heddle/transform/derivatives/internal/forward.h"
#include "heddle/transform/internal/scan_parts.h"
#include "heddle/transform/trip_count.h"

namespace heddle::transform {

using hlo::Computation;
using hlo::ComputationId;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;

namespace {

Value or_zeros(Graph& graph, const Dual& dual) {
  return dual.dx ? dual.dx : graph.zeros(dual.x.shape());
}

std::vector<bool> tangents_in(std::span<const Dual> duals) {
  std::vector<bool> out;
  for (const Dual& dual : duals) out.push_back(bool(dual.dx));
  return out;
}

// Adds the carries that a step gives a tangent. Returns whether there were any.
bool widen(std::vector<bool>& carries, std::span<const Dual> after) {
  bool more = false;
  for (size_t i = 0; i < carries.size(); ++i) {
    if (carries[i] || after[i].dx.is_absent()) continue;
    carries[i] = more = true;
  }
  return more;
}

int64_t count(const std::vector<bool>& flags) { return std::ranges::count(flags, true); }

void append(Values& to, const Values& more) { to.insert(to.end(), more.begin(), more.end()); }

Value scan_of(Graph& graph, const Instruction& like, const Values& inputs, const Values& carries,
              ComputationId body) {
  Instruction scan = like;
  auto attrs = like.attrs.get<hlo::ScanAttrs>();
  attrs.num_carries = static_cast<int64_t>(carries.size());
  Values operands = inputs;
  append(operands, carries);
  const Value made = graph.op(Opcode::kScan, operands, attrs, {body});
  if (like.extras->frontend_attributes.empty()) return made;
  return graph.with_frontend_attributes(made, like.extras->frontend_attributes);
}

}  // namespace

class ScanJvp {
 public:
  ScanJvp(Forward& forward, Graph& graph, const Computation& caller, const Instruction& scan,
          const Duals& operands)
      : forward_(forward),
        graph_(graph),
        scan_(scan),
        body_(forward.source_.at(scan.called[0])),
        parts_(scan_parts(caller, scan, body_)),
        inputs_(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(parts_.inputs)),
        carries_(operands.begin() + static_cast<std::ptrdiff_t>(parts_.inputs), operands.end()) {}

  StatusOr<Duals> run() {
    dx_ = tangents_in(inputs_);
    dh_ = tangents_in(carries_);
    HEDDLE_RETURN_IF_ERROR(write_body());
    if (!poison_.ok()) return together_without_tangents();
    return forward_.mode_ == Mode::kTogether ? together() : apart();
  }

 private:
  [[nodiscard]] Shape slice_of(const Value& input) const {
    hlo::Dims sizes = input.sizes();
    sizes.erase(sizes.begin() + parts_.dimension);
    return {input.dtype(), sizes};
  }

  // (xs, dxs, h, dh) -> (ys, dys, h, dh) of one step.
  Status write_body() {
    while (true) {
      Graph body(forward_.source_.into(), body_.name);
      Duals parameters = body_parameters(body);
      HEDDLE_ASSIGN_OR_RETURN(const Duals results, forward_.run(body, body_, parameters));
      const std::span<const Dual> ys = std::span(results).first(parts_.outputs);
      const std::span<const Dual> after = std::span(results).subspan(parts_.outputs);
      if (widen(dh_, after)) continue;
      poison_ = reason_in(results);
      dy_ = tangents_in(ys);
      Values all;
      for (const Dual& y : ys) all.push_back(y.x);
      for (const Dual& y : ys) {
        if (y.dx) all.push_back(y.dx);
      }
      for (const Dual& h : after) all.push_back(h.x);
      for (size_t i = 0; i < after.size(); ++i) {
        if (dh_[i]) all.push_back(or_zeros(body, after[i]));
      }
      both_ = std::move(body).finish(all);
      return {};
    }
  }

  Duals body_parameters(Graph& body) const {
    Duals inputs, carries;
    for (const Dual& each : inputs_) inputs.push_back({body.parameter(slice_of(each.x))});
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (dx_[i]) inputs[i].dx = body.parameter(slice_of(inputs_[i].x));
    }
    for (const Dual& each : carries_) carries.push_back({body.parameter(each.x.shape())});
    for (size_t i = 0; i < carries_.size(); ++i) {
      if (dh_[i]) carries[i].dx = body.parameter(carries_[i].x.shape());
    }
    inputs.insert(inputs.end(), carries.begin(), carries.end());
    return inputs;
  }

  Values primals(const Duals& duals) const {
    Values out;
    for (const Dual& each : duals) out.push_back(each.x);
    return out;
  }
  Values tangents(const Duals& duals, const std::vector<bool>& which) {
    Values out;
    for (size_t i = 0; i < duals.size(); ++i) {
      if (which[i]) out.push_back(or_zeros(graph_, duals[i]));
    }
    return out;
  }

  // ys and carries, with the tangents that the masks say, one after another in `dys` and `dhs`.
  [[nodiscard]] Duals results(const Values& ys, const Values& hs, const Values& dys,
                              const Values& dhs) const {
    Duals out;
    size_t next = 0;
    for (size_t i = 0; i < ys.size(); ++i) out.push_back({ys[i], dy_[i] ? dys[next++] : Value()});
    next = 0;
    for (size_t i = 0; i < hs.size(); ++i) out.push_back({hs[i], dh_[i] ? dhs[next++] : Value()});
    return out;
  }

  static Values part(const Values& all, size_t& next, size_t size) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(next);
    next += size;
    return {first, first + static_cast<std::ptrdiff_t>(size)};
  }

  // The loop as it was.
  Duals plain() {
    std::vector<Shape> shapes;
    Duals operands = inputs_;
    operands.insert(operands.end(), carries_.begin(), carries_.end());
    for (const Dual& each : operands) shapes.push_back(each.x.shape());
    return forward_.plain(graph_, scan_, shapes, operands);
  }
  Duals together_without_tangents() { return poisoned(plain(), poison_); }

  Duals together() {
    Values inputs = primals(inputs_), carries = primals(carries_);
    append(inputs, tangents(inputs_, dx_));
    append(carries, tangents(carries_, dh_));
    const Values all = flattened(graph_, scan_of(graph_, scan_, inputs, carries, both_));
    size_t next = 0;
    const Values ys = part(all, next, parts_.outputs);
    const Values dys = part(all, next, static_cast<size_t>(count(dy_)));
    const Values hs = part(all, next, parts_.carries);
    const Values dhs = part(all, next, static_cast<size_t>(count(dh_)));
    return results(ys, hs, dys, dhs);
  }

  // Places in the parameters and results of the step that both_ is.
  [[nodiscard]] size_t first_carry() const {
    return parts_.inputs + static_cast<size_t>(count(dx_));
  }
  [[nodiscard]] size_t first_carry_result() const {
    return parts_.outputs + static_cast<size_t>(count(dy_));
  }

  Duals apart() {
    const Computation both = merged(forward_.source_.into(), both_);
    const std::vector<InstructionId> returned = returned_values(both);
    std::vector<InstructionId> linear_results;
    for (size_t i = parts_.outputs; i < first_carry_result(); ++i)
      linear_results.push_back(returned[i]);
    for (size_t i = first_carry_result() + parts_.carries; i < returned.size(); ++i)
      linear_results.push_back(returned[i]);
    std::vector<bool> linear(both.parameters.size());
    for (size_t i = parts_.inputs; i < first_carry(); ++i) linear[i] = true;
    for (size_t i = first_carry() + parts_.carries; i < linear.size(); ++i) linear[i] = true;
    const Split cut = split(both, linear, linear_results);
    sort_residuals(both, returned, cut);
    const Duals values = known_loop(both, returned);
    if (linear_results.empty()) return values;
    return linear_loop(both, linear_results, values);
  }

  // Which values of a step are the same in every step.
  [[nodiscard]] std::vector<bool> invariants(const Computation& both,
                                             const std::vector<InstructionId>& returned,
                                             const std::vector<bool>& is_linear) const {
    std::vector<bool> out(both.instructions.size());
    for (size_t i = 0; i < parts_.carries; ++i) {
      const InstructionId parameter = both.parameters[first_carry() + i];
      out[parameter.value] = returned[first_carry_result() + i] == parameter;
    }
    for (size_t i = 0; i < out.size(); ++i) {
      const Instruction& instruction = both.instructions[i];
      if (instruction.opcode == Opcode::kParameter || is_linear[i] ||
          has_trait(instruction.opcode, hlo::kSideEffect))
        continue;
      out[i] = std::ranges::all_of(instruction.operands,
                                   [&](InstructionId id) { return bool(out[id.value]); });
    }
    return out;
  }

  void sort_residuals(const Computation& both, const std::vector<InstructionId>& returned,
                      const Split& cut) {
    const std::vector<bool> invariant = invariants(both, returned, cut.is_linear);
    for (InstructionId id : cut.residuals) {
      const auto parameter = std::ranges::find(both.parameters, id) - both.parameters.begin();
      if (static_cast<size_t>(parameter) < parts_.inputs)
        read_.emplace_back(id, static_cast<size_t>(parameter));
      else if (invariant[id.value])
        hoisted_.push_back(id);
      else
        stacked_.push_back(id);
    }
    if (hoisted_.empty()) return;
    PartCopy before(graph_, both);
    for (size_t i = 0; i < parts_.carries; ++i)
      before.give(both.parameters[first_carry() + i], carries_[i].x);
    hoisted_values_ = before.want(hoisted_);
  }

  // The loop of the values, with the residuals as outputs.
  Duals known_loop(const Computation& both, const std::vector<InstructionId>& returned) {
    Graph body(forward_.source_.into(), body_.name);
    PartCopy step(body, both);
    for (size_t i = 0; i < parts_.inputs; ++i)
      step.give(both.parameters[i], body.parameter(slice_of(inputs_[i].x)));
    for (size_t i = 0; i < parts_.carries; ++i)
      step.give(both.parameters[first_carry() + i], body.parameter(carries_[i].x.shape()));
    const auto first = returned.begin();
    std::vector<InstructionId> results(first, first + static_cast<std::ptrdiff_t>(parts_.outputs));
    std::vector<size_t> place;  // of each stacked residual, among the outputs
    for (InstructionId id : stacked_) {
      const auto known = std::ranges::find(results, id);
      place.push_back(static_cast<size_t>(known - results.begin()));
      if (known == results.end()) results.push_back(id);
    }
    const size_t outputs = results.size();
    const auto carry = first + static_cast<std::ptrdiff_t>(first_carry_result());
    results.insert(results.end(), carry, carry + static_cast<std::ptrdiff_t>(parts_.carries));
    const ComputationId id = std::move(body).finish(step.want(results));
    const Values all =
        flattened(graph_, scan_of(graph_, scan_, primals(inputs_), primals(carries_), id));
    for (size_t at : place) stacked_values_.push_back(all[at]);
    Duals out;
    for (size_t i = 0; i < parts_.outputs; ++i) out.push_back({all[i]});
    for (size_t i = 0; i < parts_.carries; ++i) out.push_back({all[outputs + i]});
    return out;
  }

  // The loop of the tangents.
  Duals linear_loop(const Computation& both, const std::vector<InstructionId>& linear_results,
                    const Duals& values) {
    Graph body(forward_.source_.into(), body_.name.empty() ? "" : body_.name + ".tangent");
    PartCopy step(body, both);
    Values inputs, carries;
    for (const auto& [id, input] : read_) {
      inputs.push_back(inputs_[input].x);
      step.give(id, body.parameter(slice_of(inputs_[input].x)));
    }
    for (size_t i = 0; i < stacked_.size(); ++i) {
      inputs.push_back(stacked_values_[i]);
      step.give(stacked_[i], body.parameter(slice_of(stacked_values_[i])));
    }
    append(inputs, tangents(inputs_, dx_));
    for (size_t i = parts_.inputs; i < first_carry(); ++i)
      step.give(both.parameters[i], body.parameter(both.parameter_shape(i)));
    if (inputs.empty()) {
      inputs.push_back(counter_input(graph_, parts_.dimension, parts_.length));
      body.parameter(slice_of(inputs[0]));
    }
    Values through;
    for (size_t i = 0; i < hoisted_.size(); ++i) {
      carries.push_back(hoisted_values_[i]);
      through.push_back(body.parameter(hoisted_values_[i].shape()));
      step.give(hoisted_[i], through.back());
    }
    append(carries, tangents(carries_, dh_));
    for (size_t i = first_carry() + parts_.carries; i < both.parameters.size(); ++i)
      step.give(both.parameters[i], body.parameter(both.parameter_shape(i)));
    Values results = step.want(linear_results);
    const auto dys = static_cast<size_t>(count(dy_));
    results.insert(results.begin() + static_cast<std::ptrdiff_t>(dys), through.begin(),
                   through.end());
    const ComputationId id = std::move(body).finish(results);
    const Values all = flattened(graph_, scan_of(graph_, scan_, inputs, carries, id));
    Duals out = values;
    size_t next = 0;
    for (size_t i = 0; i < parts_.outputs; ++i) {
      if (dy_[i]) out[i].dx = all[next++];
    }
    next += through.size();
    for (size_t i = 0; i < parts_.carries; ++i) {
      if (dh_[i]) out[parts_.outputs + i].dx = all[next++];
    }
    return out;
  }

  Forward& forward_;
  Graph& graph_;
  const Instruction& scan_;
  Computation body_;
  ScanParts parts_;
  Duals inputs_, carries_;
  std::vector<bool> dx_, dh_, dy_;  // which inputs, carries and outputs have tangents
  ComputationId both_;
  Status poison_;
  // Residuals: inputs (and which), those that do not change, and those that every step has its own
  // of.
  std::vector<std::pair<InstructionId, size_t>> read_;
  std::vector<InstructionId> hoisted_, stacked_;
  Values hoisted_values_, stacked_values_;
};

StatusOr<Duals> jvp_of_scan(Forward& forward, Graph& graph, const Computation& caller,
                            const Instruction& scan, const Duals& operands) {
  if (const Status why = reason_in(operands); !why.ok()) {
    Duals known = operands;
    for (Dual& each : known) each = {each.x};
    HEDDLE_ASSIGN_OR_RETURN(Duals plain, ScanJvp(forward, graph, caller, scan, known).run());
    return poisoned(std::move(plain), why);
  }
  return ScanJvp(forward, graph, caller, scan, operands).run();
}

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
    Duals plain = forward_.plain(graph_, loop_, {loop_.shape}, state_);
    if (const Status why = reason_in(state_); !why.ok()) return poisoned(std::move(plain), why);
    const std::optional<int64_t> most = greatest_trip_count(loop_);
    if (forward_.mode_ == Mode::kApart && most) return as_scan(*most);
    HEDDLE_RETURN_IF_ERROR(write_body());
    if (!poison_.ok()) return poisoned(std::move(plain), poison_);
    HEDDLE_RETURN_IF_ERROR(write_condition());
    Values start = tuple_of(state_);
    Value made = graph_.op(Opcode::kWhile, {graph_.tuple(start)}, {}, {body_id_, condition_id_});
    if (most) made = graph_.with_frontend_attributes(made, {{kMaxSteps, base::cat(*most)}});
    const Values all = flattened(graph_, made);
    // Apart, the values are those of the loop without tangents.
    Duals out = forward_.mode_ == Mode::kApart ? plain : Duals(plain.size());
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

  // scan of `most` steps: state = condition(state) ? body(state) : state. It has a transpose: how
  // much it keeps is known. A step behind the loop's end does no work, there and back.
  StatusOr<Duals> as_scan(int64_t most) {
    Writer& writer = forward_.source_.into();
    const ComputationId body = forward_.source_.called(loop_.called[0]);
    const ComputationId condition = forward_.source_.called(loop_.called[1]);
    Graph same(writer, body_.name + ".done");
    const ComputationId done = std::move(same).finish_with(same.parameter(loop_.shape));
    const Value counter = counter_input(graph_, /*dimension=*/0, most);

    Graph step(writer, body_.name + ".step");
    step.parameter(Shape(counter.dtype(), {}));
    Values state;
    for (const Dual& each : state_) state.push_back(step.parameter(each.x.shape()));
    const Value whole = assembled(step, loop_.shape, state);
    const Value goes_on = step.op(Opcode::kCall, {whole}, hlo::CallAttrs{}, {condition});
    const Value next = step.op(Opcode::kConditional, {goes_on, whole, whole}, {}, {body, done});
    const ComputationId step_id = std::move(step).finish(flattened(step, next));

    // A computation of its own, which tells the rule of scan the types of the operands.
    Graph caller(writer, body_.name + ".scan");
    Values operands{caller.parameter(counter.shape())};
    for (const Dual& each : state_) operands.push_back(caller.parameter(each.x.shape()));
    const Value scan = caller.op(
        Opcode::kScan, operands,
        hlo::ScanAttrs{.dimensions = {0}, .num_carries = static_cast<int64_t>(state_.size())},
        {step_id});
    const Instruction instruction = caller.at(scan.id());
    const ComputationId caller_id = std::move(caller).finish_with(scan);

    Source written(writer);
    Forward forward(written, Mode::kApart);
    Duals all{{counter}};
    all.insert(all.end(), state_.begin(), state_.end());
    return jvp_of_scan(forward, graph_, written.at(caller_id), instruction, all);
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
