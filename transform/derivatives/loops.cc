// Tangents of scan. A fixpoint finds the carries with tangents: those that start with one, and
// those that get one in a step.
//
//   ys, h = scan(xs, h0)                                 together:
//   ys, dys, h, dh = scan(xs, dxs, h0, dh0)
//                                                        apart:
//   ys, rs, h = scan(xs, h0)                             rs: what the tangents of a step read
//   dys, dh   = scan(xs, rs, dxs, invariants, dh0)       linear in dxs and dh0
//
// Tangents read xs itself again. Values that do not change from step to step are computed once,
// before the loop, and so are tangents that do not. An output of the loop is not kept twice.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/derivative.h"
#include "heddle/transform/derivatives.h"
#include "heddle/transform/derivatives/internal/devices.h"
#include "heddle/transform/derivatives/internal/forward.h"
#include "heddle/transform/derivatives/internal/invariant_tangents.h"
#include "heddle/transform/effects.h"
#include "heddle/transform/internal/ir.h"
#include "heddle/transform/internal/scan_parts.h"

namespace heddle::transform {

namespace {

int64_t count(const std::vector<bool>& flags) { return std::ranges::count(flags, true); }

Value scan_of(Graph& graph, const Instruction& like, const Values& inputs, const Values& carries,
              ComputationId body, const hlo::FrontendAttributes& attributes) {
  auto attrs = like.attrs.get<hlo::ScanAttrs>();
  attrs.num_carries = static_cast<int64_t>(carries.size());
  Values operands = inputs;
  append(operands, carries);
  const Value made = graph.op(Opcode::kScan, operands, attrs, {body});
  return attributes.empty() ? made : graph.with_frontend_attributes(made, attributes);
}
Value scan_of(Graph& graph, const Instruction& like, const Values& inputs, const Values& carries,
              ComputationId body) {
  return scan_of(graph, like, inputs, carries, body, like.extras->frontend_attributes);
}

// The lengths of the blocks of steps whose carries the derivative keeps, from scan's .checkpoint,
// the longest first. It leaves out a length that is not less than the one before it, or than the
// scan's.
std::vector<int64_t> block_lengths(const Instruction& scan, int64_t length) {
  std::vector<int64_t> lengths;
  const std::string_view value = hlo::frontend_attribute(scan, kBlockLengths);
  const char* at = value.data();
  const char* const end = at + value.size();
  for (int64_t each = 0; at < end; ++at) {  // after the comma
    const auto [next, error] = std::from_chars(at, end, each);
    if (error != std::errc() || (next != end && *next != ',')) return {};
    if (each >= 1 && each < length) {
      lengths.push_back(each);
      length = each;
    }
    at = next;
  }
  return lengths;
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
    if (forward_.mode_ == Mode::kApart) {
      const std::vector<int64_t> lengths = block_lengths(scan_, parts_.length);
      if (!lengths.empty()) return in_blocks(lengths);
    }
    HEDDLE_RETURN_IF_ERROR(write_body());
    if (!poison_.ok()) return together_without_tangents();
    return forward_.mode_ == Mode::kTogether ? together() : apart();
  }

 private:
  // (xs, dxs, h, dh) -> (ys, dys, h, dh) of one step.
  Status write_body() {
    while (true) {
      Graph body(forward_.source_.into(), body_.name);
      Duals parameters = body_parameters(body);
      HEDDLE_ASSIGN_OR_RETURN(const Duals results,
                              forward_.run_inside(body, body_, parameters, handed_on(parameters)));
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

  // The parameters of carries that every step passes on.
  [[nodiscard]] std::vector<InstructionId> handed_on(const Duals& parameters) const {
    std::vector<InstructionId> out;
    const std::vector<InstructionId> returned = returned_values(body_);
    for (size_t i = 0; i < parts_.carries; ++i) {
      if (returned[parts_.outputs + i] == body_.parameters[parts_.inputs + i])
        out.push_back(parameters[parts_.inputs + i].x.id());
    }
    return out;
  }

  Duals body_parameters(Graph& body) const {
    Duals inputs, carries;
    for (const Dual& each : inputs_)
      inputs.push_back({body.parameter(slice_of(each.x, parts_.dimension))});
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (dx_[i]) inputs[i].dx = body.parameter(slice_of(inputs_[i].x, parts_.dimension));
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

  // The loop without tangents.
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

  // Places in the parameters and results of the step both_.
  [[nodiscard]] size_t first_carry() const {
    return parts_.inputs + static_cast<size_t>(count(dx_));
  }
  [[nodiscard]] size_t first_carry_result() const {
    return parts_.outputs + static_cast<size_t>(count(dy_));
  }

  Duals apart() {
    Computation both = merged(forward_.source_.into(), both_);
    const std::vector<InstructionId> returned = returned_values(both);
    std::vector<InstructionId> linear_results;
    for (size_t i = parts_.outputs; i < first_carry_result(); ++i)
      linear_results.push_back(returned[i]);
    for (size_t i = first_carry_result() + parts_.carries; i < returned.size(); ++i)
      linear_results.push_back(returned[i]);
    std::vector<bool> linear(both.parameters.size());
    for (size_t i = parts_.inputs; i < first_carry(); ++i) linear[i] = true;
    for (size_t i = first_carry() + parts_.carries; i < linear.size(); ++i) linear[i] = true;
    Split cut = split(both, linear, linear_results);
    if (parts_.length > 0 && lift_tangents(both, returned, cut.is_linear, linear_results)) {
      linear.resize(both.parameters.size(), true);
      cut = split(both, linear, linear_results);
    }
    devices_.emplace(both);
    sort_residuals(both, returned, cut);
    const Duals values = known_loop(both, returned);
    if (linear_results.empty()) return values;
    return linear_loop(both, linear_results, values);
  }

  // Makes tangents that are the same in every step carries that every step passes on. Whether there
  // are any.
  bool lift_tangents(Computation& both, const std::vector<InstructionId>& returned,
                     const std::vector<bool>& is_linear,
                     std::vector<InstructionId>& linear_results) {
    const Effects effects(forward_.source_.into().module());
    StepValues values{is_linear, invariants(both, returned)};
    PartCopy before(graph_, both);
    size_t next = first_carry() + parts_.carries, result = first_carry_result() + parts_.carries;
    for (size_t i = 0; i < parts_.carries; ++i) {
      before.give(both.parameters[first_carry() + i], carries_[i].x);
      if (!dh_[i]) continue;
      const InstructionId tangent = both.parameters[next++];
      if (returned[result++] != tangent) continue;
      values.is_same[tangent.value] = true;
      before.give(tangent, or_zeros(graph_, carries_[i]));
    }
    const auto lifted = tangents_to_lift(both, effects, values, linear_results);
    lifted_values_ = before.want(lifted);
    for (InstructionId id : lifted) {
      both.instructions[id.value] = {.opcode = Opcode::kParameter, .shape = both.at(id).shape};
      both.parameters.push_back(id);
      linear_results.push_back(id);
    }
    return !lifted.empty();
  }

  // Which values of a step are the same in every step.
  [[nodiscard]] std::vector<bool> invariants(const Computation& both,
                                             const std::vector<InstructionId>& returned) const {
    std::vector<InstructionId> same;
    for (size_t i = 0; i < parts_.carries; ++i) {
      const InstructionId parameter = both.parameters[first_carry() + i];
      if (returned[first_carry_result() + i] == parameter) same.push_back(parameter);
    }
    const auto at = [&](InstructionId id) -> const Instruction& { return both.at(id); };
    return same_values(forward_.source_.into(), both.instructions.size(), at, same);
  }

  void sort_residuals(const Computation& both, const std::vector<InstructionId>& returned,
                      const Split& cut) {
    const std::vector<bool> invariant = invariants(both, returned);
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
    devices_->join(graph_, hoisted_, hoisted_values_);
  }

  // The loop of the values, with the residuals as outputs.
  Duals known_loop(const Computation& both, const std::vector<InstructionId>& returned) {
    Graph body(forward_.source_.into(), body_.name);
    PartCopy step(body, both);
    for (size_t i = 0; i < parts_.inputs; ++i)
      step.give(both.parameters[i], body.parameter(slice_of(inputs_[i].x, parts_.dimension)));
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
    Values made = step.want_with_effects(results);
    devices_->join(body, results, made);
    const ComputationId id = std::move(body).finish(made);
    const Values all =
        flattened(graph_, scan_of(graph_, scan_, primals(inputs_), primals(carries_), id));
    for (size_t at : place) stacked_values_.push_back(all[at]);
    Duals out;
    for (size_t i = 0; i < parts_.outputs; ++i) out.push_back({all[i]});
    for (size_t i = 0; i < parts_.carries; ++i) out.push_back({all[outputs + i]});
    return out;
  }

  // The results of steps first .. first + length - 1 of xs. `attributes` are those of the scan.
  Values part_of(Graph& graph, const Values& xs, const Values& carries, int64_t first,
                 int64_t length, ComputationId body, hlo::FrontendAttributes attributes) {
    Writer& writer = graph.writer();
    Graph block(writer, body_.name + ".block");
    Values block_xs, block_carries, given;
    for (const Value& x : xs) {
      given.push_back(slice(x, parts_.dimension, first, length));
      block_xs.push_back(block.parameter(given.back().shape()));
    }
    for (const Value& h : carries) block_carries.push_back(block.parameter(h.shape()));
    append(given, carries);
    const Value scan = scan_of(block, scan_, block_xs, block_carries, body, std::move(attributes));
    const ComputationId id = std::move(block).finish(flattened(block, scan));
    const Value call = graph.op(Opcode::kCall, given, hlo::CallAttrs{}, {id});
    return with_handed_on(
        graph.elements(graph.with_frontend_attributes(
            call, {{std::string(kCheckpointAttribute), std::string(kSaveNothing)}})),
        carries);
  }

  // Results of steps, with the carries that every step passes on as they were given: so a loop over
  // blocks does not keep them for each block.
  [[nodiscard]] Values with_handed_on(Values results, const Values& carries) const {
    const std::vector<InstructionId> returned = returned_values(body_);
    for (size_t i = 0; i < parts_.carries; ++i) {
      if (returned[parts_.outputs + i] == body_.parameters[parts_.inputs + i])
        results[parts_.outputs + i] = carries[i];
    }
    return results;
  }

  // A scan of checkpointed scans of lengths[0] steps each, and one scan of the remaining steps. It
  // keeps the carries where blocks begin; each block does the same with the next length.
  StatusOr<Duals> in_blocks(const std::vector<int64_t>& lengths) {
    Writer& writer = forward_.source_.into();
    const ComputationId body = forward_.source_.called(scan_.called[0]);
    const int64_t d = parts_.dimension, length = lengths[0], count = parts_.length / length;
    const int64_t all = count * length;
    hlo::FrontendAttributes inner;
    for (const auto& attribute : scan_.extras->frontend_attributes) {
      if (attribute.first != kBlockLengths) inner.push_back(attribute);
    }
    if (lengths.size() > 1)
      inner.emplace_back(kBlockLengths, base::join(std::span(lengths).subspan(1), ","));

    Graph whole(writer, body_.name + ".blocks");
    Values xs, carries, ys(parts_.outputs);
    for (const Dual& x : inputs_) xs.push_back(whole.parameter(x.x.shape()));
    for (const Dual& h : carries_) carries.push_back(whole.parameter(h.x.shape()));
    // `made`: the results of a scan of steps, after those of earlier steps, or before them in
    // reverse.
    const auto take = [&](const Values& made) {
      for (size_t i = 0; i < ys.size(); ++i) {
        if (ys[i].is_absent())
          ys[i] = made[i];
        else
          ys[i] =
              hlo::concatenate(parts_.reverse ? Values{made[i], ys[i]} : Values{ys[i], made[i]}, d);
      }
      carries.assign(made.begin() + static_cast<std::ptrdiff_t>(ys.size()), made.end());
    };
    const auto rest = [&] {
      if (all < parts_.length)
        take(part_of(whole, xs, carries, all, parts_.length - all, body, inner));
    };
    const auto blocks = [&] {
      Graph step(writer, body_.name + ".step");
      Values in_blocks, step_xs, step_carries;
      for (const Value& x : xs) {
        hlo::Dims sizes = x.sizes();
        sizes[static_cast<size_t>(d)] = length;
        step_xs.push_back(step.parameter({x.dtype(), sizes}));
        sizes.insert(sizes.begin() + d, count);
        in_blocks.push_back(reshape(hlo::slice(x, d, 0, all), sizes));
      }
      for (const Value& h : carries) step_carries.push_back(step.parameter(h.shape()));
      const ComputationId step_id =
          std::move(step).finish(part_of(step, step_xs, step_carries, 0, length, body, inner));
      Values made = flattened(whole, scan_of(whole, scan_, in_blocks, carries, step_id, {}));
      for (size_t i = 0; i < ys.size(); ++i) {
        hlo::Dims sizes = made[i].sizes();
        sizes.erase(sizes.begin() + d);
        sizes[static_cast<size_t>(d)] = all;
        made[i] = reshape(made[i], sizes);
      }
      take(with_handed_on(std::move(made), carries));
    };
    if (parts_.reverse) rest();
    blocks();
    if (!parts_.reverse) rest();
    append(ys, carries);
    const ComputationId id = std::move(whole).finish(ys);

    Source written(writer);
    Duals operands = inputs_;
    operands.insert(operands.end(), carries_.begin(), carries_.end());
    return Forward(written, forward_).run(graph_, written.at(id), operands);
  }

  // The loop of the tangents.
  Duals linear_loop(const Computation& both, const std::vector<InstructionId>& linear_results,
                    const Duals& values) {
    Graph body(forward_.source_.into(), body_.name.empty() ? "" : body_.name + ".tangent");
    PartCopy step(body, both);
    Values inputs, carries;
    for (const auto& [id, input] : read_) {
      inputs.push_back(inputs_[input].x);
      step.give(id, body.parameter(slice_of(inputs_[input].x, parts_.dimension)));
    }
    for (size_t i = 0; i < stacked_.size(); ++i) {
      inputs.push_back(stacked_values_[i]);
      const Value kept = body.parameter(slice_of(stacked_values_[i], parts_.dimension));
      step.give(stacked_[i], devices_->read(body, stacked_[i], kept));
    }
    append(inputs, tangents(inputs_, dx_));
    for (size_t i = parts_.inputs; i < first_carry(); ++i)
      step.give(both.parameters[i], body.parameter(both.parameter_shape(i)));
    if (inputs.empty()) {
      inputs.push_back(counter_input(graph_, parts_.dimension, parts_.length));
      body.parameter(slice_of(inputs[0], parts_.dimension));
    }
    Values through;
    for (size_t i = 0; i < hoisted_.size(); ++i) {
      carries.push_back(hoisted_values_[i]);
      through.push_back(body.parameter(hoisted_values_[i].shape()));
      step.give(hoisted_[i], devices_->read(body, hoisted_[i], through.back()));
    }
    append(carries, tangents(carries_, dh_));
    append(carries, lifted_values_);
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
  // Residuals: inputs (and which), values that do not change, and values that differ in every step.
  std::vector<std::pair<InstructionId, size_t>> read_;
  std::vector<InstructionId> hoisted_, stacked_;
  Values hoisted_values_, stacked_values_;
  Values lifted_values_;                   // tangents that do not change
  std::optional<PartsOfDevices> devices_;  // of the step with tangents
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

}  // namespace heddle::transform
