#include "heddle/cpu/rewrites/loops/turn_batches.h"

#include <algorithm>
#include <utility>

#include "heddle/hlo/value.h"
#include "heddle/transform/batch.h"

namespace heddle::cpu {
namespace {

// The part of one turn as a function of its own.
class TurnPart {
 public:
  TurnPart(const hlo::Module& module, const Turns& turns, const std::vector<bool>& is_given)
      : module_(module),
        turns_(turns),
        is_given_(is_given),
        graph_(writer_, "turn"),
        made_(is_given.size()) {}

  StatusOr<std::optional<TurnBatch>> batched(const std::vector<LeafId>& results) && {
    const std::vector<bool> is_wanted = wanted_for(results);
    for (size_t i = 0; i < is_wanted.size(); ++i)
      if (is_wanted[i]) write(LeafId(i));
    hlo::Values out;
    for (const LeafId leaf : results) out.push_back(made_[leaf.value]);
    const ComputationId entry = std::move(graph_).finish(out);
    HEDDLE_RETURN_IF_ERROR(writer_.status());
    std::vector<bool> lanes;
    for (const LeafId leaf : parameters_)
      lanes.push_back(turns_.needs(leaf) != Turns::Needs::kNothing);
    const hlo::Module turn = std::move(writer_).finish(entry);
    HEDDLE_ASSIGN_OR_RETURN(transform::Batch batch, transform::batch(turn, lanes, turns_.count()));
    if (std::ranges::find(batch.results, false) != batch.results.end())
      return std::optional<TurnBatch>();
    return std::optional(TurnBatch{std::move(batch.module), std::move(parameters_)});
  }

 private:
  [[nodiscard]] bool is_parameter(LeafId leaf) const {
    return is_given_[leaf.value] || turns_.is_row(leaf) || turns_.carry_of(leaf).has_value();
  }
  // By leaf. Operands have smaller numbers.
  [[nodiscard]] std::vector<bool> wanted_for(const std::vector<LeafId>& results) const {
    std::vector<bool> is_wanted(made_.size());
    for (const LeafId leaf : results) is_wanted[leaf.value] = true;
    for (size_t i = is_wanted.size(); i-- > 0;) {
      if (!is_wanted[i] || is_parameter(LeafId(i))) continue;
      for (const LeafId operand : turns_.operands(LeafId(i))) is_wanted[operand.value] = true;
    }
    return is_wanted;
  }
  void write(LeafId leaf) {
    if (is_parameter(leaf)) {
      made_[leaf.value] = graph_.parameter(turns_.shape(leaf));
      parameters_.push_back(leaf);
      return;
    }
    Instruction copy = without_order(turns_.producer(leaf));
    for (InstructionId& operand : copy.operands)
      operand = made_[turns_.body().leaf(operand).value].id();
    for (ComputationId& called : copy.called) called = writer_.add(module_.at(called));
    made_[leaf.value] = graph_.append(std::move(copy));
  }

  const hlo::Module& module_;
  const Turns& turns_;
  const std::vector<bool>& is_given_;
  hlo::Writer writer_;
  hlo::Graph graph_;
  hlo::Values made_;  // by leaf
  std::vector<LeafId> parameters_;
};

}  // namespace

hlo::Instruction without_order(hlo::Instruction instruction) {
  if (instruction.extras.has_value()) instruction.extras.mutate().control_predecessors.clear();
  return instruction;
}

StatusOr<std::optional<TurnBatch>> batch_of_turns(const hlo::Module& module, const Turns& turns,
                                                  const std::vector<LeafId>& results,
                                                  const std::vector<bool>& is_given) {
  return TurnPart(module, turns, is_given).batched(results);
}

}  // namespace heddle::cpu
