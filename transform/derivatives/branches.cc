// Tangents of conditional: a result has one if it has one in any branch. In mode kApart, the
// branches pass their residuals to branches of the tangents, in slots that they share by type. A
// branch leaves zeros in slots that it does not need. An array that is the same in all steps of the
// scan around it is recomputed, where it would be kept for each step.
#include <algorithm>
#include <memory>

#include "heddle/hlo/op.h"
#include "heddle/transform/derivatives/internal/devices.h"
#include "heddle/transform/derivatives/internal/forward.h"
#include "heddle/transform/internal/ir.h"
#include "heddle/transform/internal/scan_parts.h"

namespace heddle::transform {
namespace {

constexpr int64_t kLeastBytes = 1024;  // of a residual that is recomputed

}  // namespace

class BranchesJvp {
 public:
  BranchesJvp(Forward& forward, Graph& graph, const Computation& caller,
              const Instruction& conditional, const Duals& operands)
      : forward_(forward), graph_(graph), index_(operands[0].x) {
    size_t next = leaf_count(caller.at(conditional.operands[0]).shape);
    for (size_t i = 0; i < conditional.called.size(); ++i) {
      const size_t count = leaf_count(caller.at(conditional.operands[i + 1]).shape);
      Branch branch;
      branch.old = forward.source_.at(conditional.called[i]);
      const auto first = operands.begin() + static_cast<std::ptrdiff_t>(next);
      branch.operands.assign(first, first + static_cast<std::ptrdiff_t>(count));
      next += count;
      branches_.push_back(std::move(branch));
    }
  }

  StatusOr<Duals> run() {
    HEDDLE_RETURN_IF_ERROR(write_branches());
    return forward_.mode_ == Mode::kTogether ? together() : apart();
  }

 private:
  struct Branch {
    Computation old;
    Duals operands;
    // The computation with tangents: its parameters are the operands' leaves and their tangents.
    ComputationId both;
    std::vector<InstructionId> linear_results;
    std::vector<std::pair<InstructionId, size_t>> read;  // residuals that are operands
    std::vector<std::pair<InstructionId, size_t>> kept;  // residuals, and their slots
  };

  // The operands that are the same in all steps of the scan around the conditional.
  [[nodiscard]] std::vector<bool> same_operands(const Branch& branch) const {
    std::vector<bool> out(branch.operands.size());
    if (forward_.same_in_ != &graph_) return out;
    size_t size = 0;
    for (const Dual& each : branch.operands) size = std::max(size, each.x.id().value + size_t{1});
    const auto at = [&](InstructionId id) -> const Instruction& { return graph_.at(id); };
    const std::vector<bool> same = same_values(forward_.source_.into(), size, at, forward_.same_);
    for (size_t i = 0; i < out.size(); ++i) out[i] = same[branch.operands[i].x.id().value];
    return out;
  }
  template <class Parameters>
  static std::vector<InstructionId> chosen(const Parameters& parameters,
                                           const std::vector<bool>& which) {
    std::vector<InstructionId> out;
    for (size_t i = 0; i < which.size(); ++i) {
      if (which[i]) out.push_back(parameters[i]);
    }
    return out;
  }

  // The tangents of a branch are known once all branches are written.
  Status write_branches() {
    std::vector<std::unique_ptr<Graph>> graphs;
    std::vector<Duals> all;
    for (Branch& branch : branches_) {
      graphs.push_back(std::make_unique<Graph>(forward_.source_.into(), branch.old.name));
      Graph& graph = *graphs.back();
      Duals parameters;
      for (const Dual& each : branch.operands)
        parameters.push_back({graph.parameter(each.x.shape())});
      for (size_t i = 0; i < parameters.size(); ++i) {
        if (branch.operands[i].dx) parameters[i].dx = graph.parameter(parameters[i].x.shape());
        parameters[i].why = branch.operands[i].why;
      }
      std::vector<InstructionId> ids;
      for (const Dual& each : parameters) ids.push_back(each.x.id());
      HEDDLE_ASSIGN_OR_RETURN(
          Duals results,
          forward_.run_inside(graph, branch.old, parameters, chosen(ids, same_operands(branch))));
      dy_.resize(results.size());
      why_.resize(results.size());
      for (size_t i = 0; i < results.size(); ++i) {
        if (results[i].dx) dy_[i] = true;
        if (!results[i].why.ok()) why_[i] = results[i].why;
      }
      all.push_back(std::move(results));
    }
    for (size_t i = 0; i < dy_.size(); ++i) dy_[i] = dy_[i] && why_[i].ok();
    for (size_t b = 0; b < branches_.size(); ++b) {
      Values results;
      for (const Dual& each : all[b]) results.push_back(each.x);
      for (size_t i = 0; i < dy_.size(); ++i) {
        const Dual& each = all[b][i];
        if (dy_[i]) results.push_back(each.dx ? each.dx : graphs[b]->zeros(each.x.shape()));
      }
      branches_[b].both = std::move(*graphs[b]).finish(results);
    }
    return {};
  }

  // A conditional between computations of tuples.
  Values choose(const std::vector<Values>& operands, const std::vector<ComputationId>& ids) {
    Values all{index_};
    for (const Values& each : operands) all.push_back(graph_.tuple(each));
    return flattened(graph_, graph_.op(Opcode::kConditional, all, {}, ids));
  }

  static Values parameters_of(Graph& graph, const Values& operands) {
    std::vector<Shape> shapes;
    for (const Value& each : operands) shapes.push_back(each.shape());
    return graph.elements(graph.parameter(Shape::tuple(shapes)));
  }

  static Values values_of(const Duals& duals) {
    Values out;
    for (const Dual& each : duals) out.push_back(each.x);
    return out;
  }
  static Values tangents_of(const Duals& duals) {
    Values out;
    for (const Dual& each : duals) {
      if (each.dx) out.push_back(each.dx);
    }
    return out;
  }

  [[nodiscard]] Duals results(const Values& values, const Values& tangents) const {
    Duals out;
    size_t next = 0;
    for (size_t i = 0; i < dy_.size(); ++i) {
      out.push_back({values[i], dy_[i] ? tangents[next++] : Value()});
      out.back().why = why_[i];
    }
    return out;
  }

  // A conditional of what `write` makes of each branch.
  template <class Write>
  Values conditional_of(bool with_tangents, const Write& write) {
    std::vector<Values> operands;
    std::vector<ComputationId> ids;
    for (const Branch& branch : branches_) {
      const Computation both = merged(forward_.source_.into(), branch.both);
      operands.push_back(values_of(branch.operands));
      if (with_tangents) {
        for (const Value& each : tangents_of(branch.operands)) operands.back().push_back(each);
      }
      Graph graph(forward_.source_.into(), branch.old.name);
      const Values parameters = parameters_of(graph, operands.back());
      PartCopy copy(graph, both);
      for (size_t i = 0; i < parameters.size(); ++i) copy.give(both.parameters[i], parameters[i]);
      const Values results = write(branch, both, graph, copy);
      ids.push_back(std::move(graph).finish(results));
    }
    return choose(operands, ids);
  }

  Duals together() {
    const Values all =
        conditional_of(true, [](const Branch&, const Computation& both, Graph&, PartCopy& copy) {
          return copy.want_with_effects(returned_values(both));
        });
    return results(all, {all.begin() + static_cast<std::ptrdiff_t>(dy_.size()), all.end()});
  }

  Duals apart() {
    for (Branch& branch : branches_) assign_slots(branch);
    const Values all = known_branches();
    const Values values(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(dy_.size()));
    if (std::ranges::count(dy_, true) == 0) return results(values, {});
    return results(values, linear_branches(all));
  }

  // By instruction, whether it is cheap to recompute from operands that are the same in all steps
  // of the scan around the conditional.
  [[nodiscard]] std::vector<bool> recomputable(const Branch& branch,
                                               const Computation& both) const {
    const std::vector<InstructionId> same = chosen(both.parameters, same_operands(branch));
    if (same.empty()) return std::vector<bool>(both.instructions.size());
    const auto at = [&](InstructionId id) -> const Instruction& { return both.at(id); };
    std::vector<bool> out =
        same_values(forward_.source_.into(), both.instructions.size(), at, same);
    for (size_t i = 0; i < out.size(); ++i) {
      const Instruction& instruction = both.instructions[i];
      if (!out[i] || instruction.opcode == Opcode::kParameter) continue;
      const hlo::Work work = hlo::facts(instruction.opcode).work;
      const bool is_cheap = instruction.opcode == Opcode::kReduce ||
                            (work != hlo::Work::kStays && work != hlo::Work::kMost);
      out[i] = is_cheap && std::ranges::all_of(instruction.operands, [&](InstructionId id) {
                 return bool(out[id.value]);
               });
    }
    return out;
  }

  // The residuals, with the operands in place of big arrays that the tangents recompute.
  [[nodiscard]] std::vector<InstructionId> residuals_of(const Branch& branch,
                                                        const Computation& both,
                                                        const Split& cut) const {
    const std::vector<bool> cheap = recomputable(branch, both);
    std::vector<bool> kept(cheap.size()), needed(cheap.size());
    for (InstructionId id : cut.residuals) {
      const Instruction& instruction = both.at(id);
      const bool is_recomputed = cheap[id.value] && instruction.opcode != Opcode::kParameter &&
                                 instruction.shape.byte_size() >= kLeastBytes;
      (is_recomputed ? needed : kept)[id.value] = true;
    }
    std::vector<InstructionId> out;
    for (size_t i = kept.size(); i-- > 0;) {
      const Instruction& instruction = both.instructions[i];
      if (kept[i] || (needed[i] && instruction.opcode == Opcode::kParameter))
        out.emplace_back(i);
      else if (needed[i])
        for (InstructionId id : instruction.operands) needed[id.value] = true;
    }
    std::ranges::reverse(out);
    return out;
  }

  void assign_slots(Branch& branch) {
    const Computation both = merged(forward_.source_.into(), branch.both);
    const std::vector<InstructionId> returned = returned_values(both);
    branch.linear_results.assign(returned.begin() + static_cast<std::ptrdiff_t>(dy_.size()),
                                 returned.end());
    std::vector<bool> linear(both.parameters.size());
    for (size_t i = branch.operands.size(); i < linear.size(); ++i) linear[i] = true;
    const PartsOfDevices devices(both);
    std::vector<bool> taken(slots_.size());
    for (InstructionId id :
         residuals_of(branch, both, split(both, linear, branch.linear_results))) {
      const auto parameter = std::ranges::find(both.parameters, id) - both.parameters.begin();
      if (static_cast<size_t>(parameter) < branch.operands.size()) {
        branch.read.emplace_back(id, static_cast<size_t>(parameter));
        continue;
      }
      const Shape kept = devices.residual_type(both, id);
      size_t slot = 0;
      while (slot < slots_.size() && (taken[slot] || !same_type(slots_[slot], kept))) ++slot;
      if (slot == slots_.size()) {
        slots_.push_back(kept);
        taken.push_back(false);
      }
      taken[slot] = true;
      branch.kept.emplace_back(id, slot);
    }
  }

  // (values.., slots..)
  Values known_branches() {
    return conditional_of(
        false, [&](const Branch& branch, const Computation& both, Graph& graph, PartCopy& copy) {
          std::vector<InstructionId> wanted = returned_values(both);
          wanted.resize(dy_.size());
          for (const auto& [id, slot] : branch.kept) wanted.push_back(id);
          Values made = copy.want_with_effects(wanted);
          PartsOfDevices(both).join(graph, wanted, made);
          Values all(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(dy_.size()));
          all.resize(dy_.size() + slots_.size());
          for (size_t i = 0; i < branch.kept.size(); ++i)
            all[dy_.size() + branch.kept[i].second] = made[dy_.size() + i];
          for (size_t i = 0; i < slots_.size(); ++i) {
            Value& slot = all[dy_.size() + i];
            if (slot.is_absent()) slot = graph.zeros(slots_[i]);
          }
          return all;
        });
  }

  Values linear_branches(const Values& known) {
    std::vector<Values> operands;
    std::vector<ComputationId> ids;
    for (const Branch& branch : branches_) {
      const Computation both = merged(forward_.source_.into(), branch.both);
      Values given;
      std::vector<InstructionId> stands_for;
      for (const auto& [id, operand] : branch.read) {
        given.push_back(branch.operands[operand].x);
        stands_for.push_back(id);
      }
      for (const auto& [id, slot] : branch.kept) {
        given.push_back(known[dy_.size() + slot]);
        stands_for.push_back(id);
      }
      const Values tangents = tangents_of(branch.operands);
      given.insert(given.end(), tangents.begin(), tangents.end());
      stands_for.insert(
          stands_for.end(),
          both.parameters.begin() + static_cast<std::ptrdiff_t>(branch.operands.size()),
          both.parameters.end());
      Graph graph(forward_.source_.into(), branch.old.name);
      const Values parameters = parameters_of(graph, given);
      PartCopy copy(graph, both);
      const PartsOfDevices devices(both);
      for (size_t i = 0; i < parameters.size(); ++i)
        copy.give(stands_for[i], devices.read(graph, stands_for[i], parameters[i]));
      ids.push_back(std::move(graph).finish(copy.want(branch.linear_results)));
      operands.push_back(std::move(given));
    }
    return choose(operands, ids);
  }

  Forward& forward_;
  Graph& graph_;
  Value index_;
  std::vector<Branch> branches_;
  std::vector<bool> dy_;     // which results have tangents
  std::vector<Status> why_;  // why a result has none, though it should
  std::vector<Shape> slots_;
};

StatusOr<Duals> jvp_of_conditional(Forward& forward, Graph& graph, const Computation& caller,
                                   const Instruction& conditional, const Duals& operands) {
  return BranchesJvp(forward, graph, caller, conditional, operands).run();
}

}  // namespace heddle::transform
