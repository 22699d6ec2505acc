// Lanes of conditional. If all lanes share the index, it stays one conditional, and a result has
// lanes if it has them in any branch. If each lane has its own index, all branches run, and each
// lane selects its own.
#include <memory>

#include "heddle/hlo/derivative.h"
#include "heddle/transform/batching/internal/batcher.h"
#include "heddle/transform/internal/ir.h"

namespace heddle::transform {

class BranchesBatch {
 public:
  BranchesBatch(Batcher& batcher, Graph& graph, const Computation& caller,
                const Instruction& conditional, const AllLanes& operands, const Value& active)
      : batcher_(batcher), graph_(graph), index_(operands[0]), active_(active) {
    size_t next = 1;
    for (size_t i = 0; i < conditional.called.size(); ++i) {
      const size_t count = leaf_count(caller.at(conditional.operands[i + 1]).shape);
      const auto first = operands.begin() + static_cast<std::ptrdiff_t>(next);
      branches_.push_back({batcher.at(conditional.called[i]),
                           {first, first + static_cast<std::ptrdiff_t>(count)},
                           active && batcher.minds_active(conditional.called[i])});
      next += count;
    }
  }

  StatusOr<AllLanes> run() { return index_.is_batched ? selected() : chosen(); }

 private:
  struct Branch {
    Computation computation;
    AllLanes operands;
    bool has_active;
  };

  StatusOr<AllLanes> chosen() {
    std::vector<std::unique_ptr<Graph>> graphs;
    std::vector<AllLanes> all;
    std::vector<bool> wide;
    Values operands{index_.x};
    for (const Branch& branch : branches_) {
      graphs.push_back(std::make_unique<Graph>(batcher_.into(), branch.computation.name));
      Values given;
      for (const Lanes& each : branch.operands) given.push_back(each.x);
      if (branch.has_active) given.push_back(active_);
      const Value operand = graph_.tuple(given);
      operands.push_back(operand);
      Graph& graph = *graphs.back();
      const Values inside = graph.elements(graph.parameter(operand.shape()));
      AllLanes parameters;
      for (size_t i = 0; i < branch.operands.size(); ++i)
        parameters.push_back({inside[i], branch.operands[i].is_batched});
      HEDDLE_ASSIGN_OR_RETURN(AllLanes results,
                              batcher_.run(graph, branch.computation, parameters,
                                           branch.has_active ? inside.back() : Value()));
      wide.resize(results.size());
      for (size_t i = 0; i < results.size(); ++i) wide[i] = wide[i] || results[i].is_batched;
      all.push_back(std::move(results));
    }
    std::vector<ComputationId> ids;
    for (size_t b = 0; b < branches_.size(); ++b) {
      Values values;
      for (size_t i = 0; i < wide.size(); ++i)
        values.push_back(wide[i] ? batcher_.full(all[b][i]) : all[b][i].x);
      ids.push_back(std::move(*graphs[b]).finish(values));
    }
    const Values leaves = flattened(graph_, graph_.op(Opcode::kConditional, operands, {}, ids));
    AllLanes out;
    for (size_t i = 0; i < leaves.size(); ++i) out.push_back({leaves[i], bool(wide[i])});
    return out;
  }

  // Which lanes take each branch: true is the first of two, and an index out of range the last.
  Values taken() {
    if (index_.x.dtype() == pred) return {index_.x, !index_.x};
    Values out;
    Value none = graph_.full(batcher_.active_type(), 1);
    for (size_t b = 0; b + 1 < branches_.size(); ++b) {
      out.push_back(index_.x == static_cast<double>(b));
      none = none & !out.back();
    }
    out.push_back(none);
    return out;
  }

  StatusOr<AllLanes> selected() {
    const Values is_taken = taken();
    std::vector<AllLanes> all;
    for (size_t b = 0; b < branches_.size(); ++b) {
      HEDDLE_ASSIGN_OR_RETURN(AllLanes results, in_lanes(branches_[b], is_taken[b]));
      all.push_back(std::move(results));
    }
    AllLanes out = all.back();
    for (size_t b = branches_.size() - 1; b-- > 0;) {
      for (size_t i = 0; i < out.size(); ++i) {
        if (all[b][i].x.id() == out[i].x.id() || !out[i].x.shape().is_array()) continue;
        out[i] = {batcher_.chosen(is_taken[b], batcher_.full(all[b][i]), batcher_.full(out[i])),
                  true};
      }
    }
    return out;
  }

  // A branch for all lanes. Operands of lanes that do not take it have derivative zero, so that
  // infinities and NaN in the tangents of such a lane go nowhere. But all lanes take part in what
  // lanes do together, and so do their tangents.
  StatusOr<AllLanes> in_lanes(const Branch& branch, const Value& taken) {
    const bool is_together = batcher_.has_together(branch.computation);
    AllLanes parameters;
    for (const Lanes& each : branch.operands) {
      const Shape shape = each.x.shape();
      if (is_together || !shape.is_array() || !hlo::has_tangent(shape)) {
        parameters.push_back(each);
        continue;
      }
      parameters.push_back({batcher_.stopped_where_not(graph_, taken, batcher_.full(each)), true});
    }
    const Value active = active_ ? active_ & taken : taken;
    HEDDLE_ASSIGN_OR_RETURN(AllLanes results,
                            batcher_.run(graph_, branch.computation, parameters, active));
    // A result that is an operand is the operand from outside.
    for (Lanes& result : results) {
      for (size_t i = 0; i < parameters.size(); ++i) {
        if (parameters[i].x.id() != result.x.id()) continue;
        result = branch.operands[i];
        break;
      }
    }
    return results;
  }

  Batcher& batcher_;
  Graph& graph_;
  Lanes index_;
  Value active_;
  std::vector<Branch> branches_;
};

StatusOr<AllLanes> batch_of_conditional(Batcher& batcher, Graph& graph, const Computation& caller,
                                        const Instruction& conditional, const AllLanes& operands,
                                        const Value& active) {
  return BranchesBatch(batcher, graph, caller, conditional, operands, active).run();
}

}  // namespace heddle::transform
