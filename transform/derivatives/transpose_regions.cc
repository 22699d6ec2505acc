// Transposes of scan and conditional. A scan that is linear in some inputs and carries becomes one
// that goes the other way:
//
//   dys, dh = scan(rs, dxs, invariants, dh0)          forward, linear in dxs and dh0
//   cxs, ch0 = scan(rs, cys, invariants, ch), is_reverse
//
// A tensor that all steps use is a carry that every step passes on, so that its cotangent is summed
// in the loop, or after it (split_sums.h). A fixpoint finds the cotangents of carries that are not
// zero.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/hlo/derivative.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/transform/derivatives.h"
#include "heddle/transform/derivatives/internal/backward.h"
#include "heddle/transform/derivatives/internal/parallel.h"
#include "heddle/transform/derivatives/internal/split_sums.h"
#include "heddle/transform/internal/ir.h"
#include "heddle/transform/internal/scan_parts.h"

namespace heddle::transform {

class ScanTranspose {
 public:
  ScanTranspose(Backward& backward, Graph& graph, const Computation& caller,
                const Instruction& scan, const Values& operands, const Values& ct, Values& totals)
      : backward_(backward),
        graph_(graph),
        scan_(scan),
        body_(backward.source_.at(scan.called[0])),
        parts_(scan_parts(caller, scan, body_)),
        ct_(ct),
        totals_(totals),
        returned_(returned_values(body_)) {
    for (InstructionId id : scan.operands) shapes_.push_back(caller.at(id).shape);
    const auto carry = operands.begin() + static_cast<std::ptrdiff_t>(parts_.inputs);
    inputs_.assign(operands.begin(), carry);
    carries_.assign(carry, operands.end());
  }

  StatusOr<Values> run() {
    find_linear_carries();
    for (size_t i = 0; i < parts_.carries; ++i) {
      if (linear_[i] && backward_.is_constant_term(carries_[i]))
        return at_line(base::invalid_argument("scan: carry ", i,
                                              " begins as what does not depend on the argument, so "
                                              "that the function is not linear; begin with zeros"),
                       scan_);
    }
    for (size_t i = 0; i < parts_.carries; ++i) {
      if (!linear_[i] && !is_handed_on(i))
        return at_line(
            base::unimplemented("scan: has no reverse derivative: carry ", i,
                                " does not depend on the argument, and changes from step to step; "
                                "use vjp(), which computes it before"),
            scan_);
      ch_.push_back(linear_[i] && ct_[parts_.outputs + i]);
    }
    HEDDLE_RETURN_IF_ERROR(write_body());
    return loop();
  }

 private:
  // A sum begins with what its operand has from elsewhere.
  [[nodiscard]] bool is_sum(size_t carry) const { return linear_[carry] && is_handed_on(carry); }

  [[nodiscard]] bool is_handed_on(size_t carry) const {
    return returned_[parts_.outputs + carry] == body_.parameters[parts_.inputs + carry];
  }

  // A carry that starts as zeros may be one of tangents too.
  void find_linear_carries() {
    for (const Value& each : carries_) linear_.push_back(each.is_absent());
    bool more = true;
    while (more) {
      more = false;
      std::vector<bool> depends(body_.instructions.size());
      for (size_t i = 0; i < parts_.inputs; ++i)
        depends[body_.parameters[i].value] = inputs_[i].is_absent();
      for (size_t i = 0; i < parts_.carries; ++i)
        depends[body_.parameters[parts_.inputs + i].value] = linear_[i];
      for (size_t i = 0; i < depends.size(); ++i) {
        for (InstructionId id : body_.instructions[i].operands) {
          if (depends[id.value]) depends[i] = true;
        }
      }
      for (size_t i = 0; i < parts_.carries; ++i) {
        if (linear_[i] || !depends[returned_[parts_.outputs + i].value]) continue;
        linear_[i] = more = true;
      }
    }
  }

  [[nodiscard]] bool has_input() const {
    const auto is_given = [](const Value& each) { return bool(each); };
    return std::ranges::any_of(inputs_, is_given) ||
           std::ranges::any_of(std::span(ct_).first(parts_.outputs), is_given);
  }
  [[nodiscard]] Shape counter_slice() const {
    return {s32, hlo::Dims(static_cast<size_t>(parts_.dimension), 1)};
  }
  [[nodiscard]] Shape slice(size_t input) const { return body_.parameter_shape(input); }
  [[nodiscard]] const Shape& carry(size_t i) const { return shapes_[parts_.inputs + i]; }

  // (known slices.., cts of outputs.., known carries.., cts of carries..)
  // -> (cts of slices.., known carries.., cts of carries..) of one step.
  Status write_body() {
    while (true) {
      Graph step(backward_.source_.into(), body_.name.empty() ? "" : body_.name + ".transposed");
      Values parameters(shapes_.size()), ct(parts_.outputs + parts_.carries), known;
      for (size_t i = 0; i < parts_.inputs; ++i) {
        if (inputs_[i]) parameters[i] = step.parameter(slice(i));
      }
      for (size_t i = 0; i < parts_.outputs; ++i) {
        if (ct_[i]) ct[i] = step.parameter(body_.at(returned_[i]).shape);
      }
      if (!has_input()) step.parameter(counter_slice());
      for (size_t i = 0; i < parts_.carries; ++i) {
        if (linear_[i]) continue;
        known.push_back(step.parameter(carry(i)));
        parameters[parts_.inputs + i] = known.back();
      }
      for (size_t i = 0; i < parts_.carries; ++i) {
        if (ch_[i]) ct[parts_.outputs + i] = step.parameter(carry(i));
      }
      HEDDLE_ASSIGN_OR_RETURN(const Backward::Result out,
                              backward_.run(step, body_, parameters, ct));
      if (widen(out.ct)) continue;
      Values results;
      for (size_t i = 0; i < parts_.inputs; ++i) {
        cx_.push_back(bool(out.ct[i]));
        if (out.ct[i]) results.push_back(out.ct[i]);
      }
      results.insert(results.end(), known.begin(), known.end());
      for (size_t i = 0; i < parts_.carries; ++i) {
        if (!ch_[i]) continue;
        const Value& of_carry = out.ct[parts_.inputs + i];
        results.push_back(of_carry ? of_carry : step.zeros(carry(i)));
      }
      step_ = std::move(step).finish(results);
      return {};
    }
  }

  bool widen(const Values& of_parameters) {
    bool more = false;
    for (size_t i = 0; i < parts_.carries; ++i) {
      if (ch_[i] || !linear_[i] || of_parameters[parts_.inputs + i].is_absent()) continue;
      ch_[i] = more = true;
    }
    return more;
  }

  // Cotangents of the carries that have any, before the first step.
  [[nodiscard]] Values carries_before() {
    Values out;
    for (size_t i = 0; i < parts_.carries; ++i) {
      if (!ch_[i]) continue;
      Value ct = ct_[parts_.outputs + i];
      if (is_sum(i)) ct = hlo::add(ct, std::exchange(totals_[parts_.inputs + i], {}));
      out.push_back(ct ? ct : graph_.zeros(carry(i)));
    }
    return out;
  }
  // Which of them all steps use, and add to.
  [[nodiscard]] std::vector<bool> sums() const {
    std::vector<bool> out;
    for (size_t i = 0; i < parts_.carries; ++i) {
      if (ch_[i]) out.push_back(is_sum(i));
    }
    return out;
  }
  // The values that differ in every step: known slices, and cotangents of outputs.
  [[nodiscard]] Values scanned() const {
    Values out;
    for (const Value& each : inputs_) {
      if (each) out.push_back(each);
    }
    for (size_t i = 0; i < parts_.outputs; ++i) {
      if (ct_[i]) out.push_back(ct_[i]);
    }
    if (out.empty()) out.push_back(counter_input(graph_, parts_.dimension, parts_.length));
    return out;
  }
  [[nodiscard]] Values known_carries() const {
    Values out;
    for (size_t i = 0; i < parts_.carries; ++i) {
      if (!linear_[i]) out.push_back(carries_[i]);
    }
    return out;
  }
  [[nodiscard]] size_t output_count() const {
    return static_cast<size_t>(std::ranges::count(cx_, true));
  }

  // Cotangents of the operands, from those of inputs and carries.
  [[nodiscard]] Values of_operands(const Values& inputs, const Values& carries) const {
    Values out(shapes_.size());
    size_t next = 0;
    for (size_t i = 0; i < parts_.inputs; ++i) {
      if (cx_[i]) out[i] = inputs[next++];
    }
    next = 0;
    for (size_t i = 0; i < parts_.carries; ++i) {
      if (ch_[i]) out[parts_.inputs + i] = carries[next++];
    }
    return out;
  }

  // One dimension in another place.
  static Value with_moved(const Value& x, int64_t from, int64_t to) {
    if (from == to) return x;
    hlo::Dims order = other_dimensions(x.rank(), {&from, 1});
    order.insert(order.begin() + to, from);
    return transpose(x, order);
  }

  // Another step, and its arguments.
  struct Steps {
    SplitSums split;
    Values inputs, known, carries;  // carries that are still in the steps
    std::vector<bool> is_sum;
  };

  // The way back of a step is no matrix: the author of a custom_vjp wrote it.
  [[nodiscard]] bool has_pullback(const Computation& step) const {
    return std::ranges::any_of(step.instructions, [&](const Instruction& instruction) {
      return hlo::is_custom(instruction, hlo::kCustomPullback) ||
             std::ranges::any_of(instruction.called, [&](hlo::ComputationId id) {
               return has_pullback(backward_.source_.at(id));
             });
    });
  }

  // All steps at once: outputs and carries after them.
  StatusOr<Values> at_once(const Steps& steps) {
    if (has_pullback(body_)) {
      return at_line(base::unimplemented(
                         "parallel_backward: a step calls a custom_vjp, whose backward need not "
                         "be linear, and has no Jacobian; leave the option out, or write a "
                         "custom_jvp"),
                     scan_);
    }
    std::vector<bool> is_cotangent(steps.inputs.size());
    const auto known = static_cast<size_t>(
        std::ranges::count_if(inputs_, [](const Value& each) { return bool(each); }));
    for (size_t i = known; i < is_cotangent.size(); ++i) is_cotangent[i] = true;
    auto all = all_at_once(backward_.source_, graph_,
                           {.step = steps.split.id,
                            .inputs = steps.inputs,
                            .is_cotangent = is_cotangent,
                            .outputs = output_count() + steps.split.more,
                            .known = steps.known,
                            .carries = steps.carries,
                            .is_sum = steps.is_sum,
                            .length = parts_.length,
                            .is_reverse = !parts_.reverse});
    return all.ok() ? std::move(all) : at_line(all.status(), scan_);
  }

  // The same in a loop.
  Values in_turn(const Steps& steps) {
    Values operands = steps.inputs;
    append(operands, steps.known);
    append(operands, steps.carries);
    auto attrs = scan_.attrs.get<hlo::ScanAttrs>();
    attrs.num_carries = static_cast<int64_t>(operands.size() - steps.inputs.size());
    attrs.is_reverse = !attrs.is_reverse;
    const Value made = graph_.op(Opcode::kScan, operands, attrs, {steps.split.id});
    if (!scan_.extras->frontend_attributes.empty())
      graph_.with_frontend_attributes(made, scan_.extras->frontend_attributes);
    Values all = flattened(graph_, made);
    const auto known = all.begin() + static_cast<std::ptrdiff_t>(output_count() + steps.split.more);
    all.erase(known, known + static_cast<std::ptrdiff_t>(steps.known.size()));
    return all;
  }

  // The way back, all steps at once if the scan asks for it. Products that sums have from every
  // step are added after it.
  StatusOr<Values> loop() {
    const bool is_at_once =
        !hlo::frontend_attribute(scan_, kParallelBackward).empty() && parts_.length > 0;
    const int64_t dimension = is_at_once ? 0 : parts_.dimension;
    Steps steps{.inputs = scanned(), .known = known_carries()};
    for (Value& each : steps.inputs) each = with_moved(each, parts_.dimension, dimension);
    const Values before = carries_before();
    const std::vector<bool> is_sum = sums();
    steps.split = split_sums(
        backward_.source_.into(),
        {step_, steps.inputs.size(), output_count(), steps.known.size(), dimension}, is_sum);
    const SplitSums& split = steps.split;
    for (size_t i = 0; i < before.size(); ++i) {
      if (!split.stays[i]) continue;
      steps.carries.push_back(before[i]);
      steps.is_sum.push_back(is_sum[i]);
    }
    Values all;
    if (is_at_once) {
      HEDDLE_ASSIGN_OR_RETURN(all, at_once(steps));
    } else {
      all = in_turn(steps);
    }
    const auto value_of = [&](const SplitSums::Operand& each) {
      return each.is_input ? steps.inputs[each.number] : all[output_count() + each.number];
    };
    Values carries;
    size_t next = output_count() + split.more;
    for (size_t i = 0; i < before.size(); ++i) {
      Value sum = split.stays[i] ? all[next++] : before[i];
      for (const SplitSums::Product& each : split.products[i])
        sum = sum + sum_of_products(graph_, each, value_of(each.a), value_of(each.b), dimension);
      carries.push_back(sum);
    }
    for (Value& each : std::span(all).first(output_count()))
      each = with_moved(each, dimension, parts_.dimension);
    return of_operands(all, carries);
  }

  Backward& backward_;
  Graph& graph_;
  const Instruction& scan_;
  Computation body_;
  ScanParts parts_;
  Values ct_;
  Values& totals_;  // of the operands' leaves, from elsewhere
  std::vector<InstructionId> returned_;
  std::vector<Shape> shapes_;  // of the operands
  Values inputs_, carries_;    // absent: those that the scan is linear in
  std::vector<bool> linear_;   // carries that are tangents
  std::vector<bool> ch_, cx_;  // carries and inputs whose cotangents are not zero
  ComputationId step_;
};

StatusOr<Values> transpose_of_scan(Backward& backward, Graph& graph, const Computation& caller,
                                   const Instruction& scan, const Values& operands,
                                   const Values& ct, Values& totals) {
  return ScanTranspose(backward, graph, caller, scan, operands, ct, totals).run();
}

// Each branch has its own operand. But a value in several of them has one cotangent, which comes
// from the branch that is taken.
class BranchesTranspose {
 public:
  BranchesTranspose(Backward& backward, Graph& graph, const Computation& caller,
                    const Instruction& conditional, const Values& operands, const Values& ct,
                    Values& totals)
      : backward_(backward), graph_(graph), ct_(ct), totals_(totals), index_(operands[0]) {
    size_t next = 1;
    for (size_t b = 0; b < conditional.called.size(); ++b) {
      Branch branch{.body = backward.source_.at(conditional.called[b])};
      const InstructionId operand = conditional.operands[b + 1];
      const std::vector<Shape> shapes = leaves_of(caller.at(operand).shape);
      for (size_t i = 0; i < shapes.size(); ++i, ++next) {
        branch.leaves.push_back(operands[next]);
        branch.slots.push_back(operands[next] ? 0 : slot_of(caller, operand, i, next, shapes[i]));
      }
      branches_.push_back(std::move(branch));
    }
  }

  StatusOr<Values> run() {
    for (Branch& branch : branches_) HEDDLE_RETURN_IF_ERROR(write(branch));
    Values all{index_};
    std::vector<ComputationId> ids;
    for (Branch& branch : branches_) {
      Values results;
      for (size_t slot = 0; slot < slots_.size(); ++slot) {
        if (!slots_[slot].is_needed) continue;
        const Value& ct = branch.ct[slot];
        const Value& total = branch.totals[slot];
        results.push_back(ct ? ct : total ? total : branch.graph->zeros(slots_[slot].shape));
      }
      ids.push_back(std::move(*branch.graph).finish(results));
      all.push_back(graph_.tuple(branch.given));
    }
    const Values chosen =
        flattened(graph_, graph_.op(Opcode::kConditional, all, {}, std::move(ids)));
    Values out(totals_.size());
    size_t next = 0;
    for (const Slot& slot : slots_) {
      if (!slot.is_needed) continue;
      out[slot.leaf] = chosen[next++];
      totals_[slot.leaf] = Value();
    }
    return out;
  }

 private:
  struct Branch {
    Computation body;
    Values leaves = {};              // of its operand; absent: the branch is linear in them
    std::vector<size_t> slots = {};  // of the absent ones
    std::unique_ptr<Graph> graph = {};
    Values given = {};   // its operand when it is transposed
    Values totals = {};  // by slot: what the cotangents begin with; absent: zero
    Values ct = {};      // by slot; absent: the branch adds nothing
  };
  struct Slot {
    Shape shape;
    size_t leaf;  // the leaf that gets the cotangent, among those of all operands
    bool is_needed = false;
  };

  // The slot of leaf i of a branch's operand, which is leaf `number` of all.
  size_t slot_of(const Computation& caller, InstructionId operand, size_t i, size_t number,
                 const Shape& shape) {
    const Instruction& made = caller.at(operand);
    const bool is_flat = made.opcode == Opcode::kTuple && made.operands.size() > i &&
                         leaf_count(made.shape) == made.operands.size();
    const InstructionId value = is_flat ? made.operands[i] : InstructionId();
    if (is_flat) {
      const auto known = slot_by_value_.find(value.value);
      if (known != slot_by_value_.end()) return known->second;
      slot_by_value_.emplace(value.value, slots_.size());
    }
    slots_.push_back({shape, number});
    return slots_.size() - 1;
  }

  Status write(Branch& branch) {
    branch.graph = std::make_unique<Graph>(backward_.source_.into(), branch.body.name);
    Values totals;
    for (const Slot& slot : slots_) totals.push_back(totals_[slot.leaf]);
    for (const Values* all : {&branch.leaves, &ct_, &totals}) {
      for (const Value& each : *all) {
        if (each) branch.given.push_back(each);
      }
    }
    std::vector<Shape> types;
    for (const Value& each : branch.given) types.push_back(each.shape());
    const Values given = branch.graph->elements(branch.graph->parameter(Shape::tuple(types)));
    size_t next = 0;
    Values parameters(branch.leaves.size()), ct(ct_.size());
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (branch.leaves[i]) parameters[i] = given[next++];
    }
    for (size_t i = 0; i < ct.size(); ++i) {
      if (ct_[i]) ct[i] = given[next++];
    }
    for (const Value& each : totals) branch.totals.push_back(each ? given[next++] : Value());
    Values begin(parameters.size()), unused = branch.totals;  // a slot's first leaf has its total
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (branch.leaves[i].is_absent()) begin[i] = std::exchange(unused[branch.slots[i]], {});
    }
    HEDDLE_ASSIGN_OR_RETURN(const Backward::Result out,
                            backward_.run(*branch.graph, branch.body, parameters, ct, begin));
    branch.ct.resize(slots_.size());
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (branch.leaves[i] || out.ct[i].is_absent()) continue;
      Value& slot = branch.ct[branch.slots[i]];
      slot = hlo::add(slot, out.ct[i]);
      const bool is_changed = begin[i].is_absent() || begin[i].id() != out.ct[i].id();
      if (is_changed) slots_[branch.slots[i]].is_needed = true;
    }
    return {};
  }

  Backward& backward_;
  Graph& graph_;
  Values ct_;
  Values& totals_;  // of the operands' leaves, from elsewhere
  Value index_;
  std::vector<Branch> branches_;
  std::vector<Slot> slots_;
  std::map<uint32_t, size_t> slot_by_value_;
};

StatusOr<Values> transpose_of_conditional(Backward& backward, Graph& graph,
                                          const Computation& caller, const Instruction& conditional,
                                          const Values& operands, const Values& ct,
                                          Values& totals) {
  return BranchesTranspose(backward, graph, caller, conditional, operands, ct, totals).run();
}

}  // namespace heddle::transform
