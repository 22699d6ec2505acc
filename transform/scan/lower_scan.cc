// lower-scan: scan as the while that XLA of any age reads.
//
//   (ys, h) = scan(xs, h0), dimensions={0}, num_carries=1, to_apply=f          xs: f32[10,4]
// becomes
//   state = (s32[] 0, h0, xs, broadcast(0))
//   while (i < 10) {
//     x = reshape(dynamic-slice(xs, i, 0))
//     (y, h) = call(x, h), to_apply=f                  the body stays one computation, shared by
//     all who call it ys = dynamic-update-slice(ys, reshape(y), i, 0) i = i + 1
//   }
//
// The state is: counter, carries that change, whole inputs, stacked outputs, carries that do not
// change. Values that need no loop stay out of it (scan_plan.h), and remove-unused removes values
// that nobody reads. Reverse scans index with n-1-i. Partial unroll by k takes k steps in one pass,
// with their slices as one block; the other n mod k steps follow the loop. A loop of one pass is
// written without while.
#include <algorithm>

#include "heddle/hlo/batching.h"
#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/transform/derivatives/internal/parts.h"
#include "heddle/transform/internal/ir.h"
#include "heddle/transform/internal/scan_plan.h"
#include "heddle/transform/internal/scan_sharding.h"
#include "heddle/transform/passes.h"
#include "heddle/transform/rebuilder.h"
#include "heddle/transform/trip_count.h"

namespace heddle::transform {
namespace {

using Kind = OutputSource::Kind;

// Lowers one scan. `scan` has its operands and callee mapped to new ids.
class Lowering {
 public:
  Lowering(Graph& graph, const Instruction& scan, const ScanPlan& plan)
      : graph_(graph),
        scan_(scan),
        plan_(plan),
        parts_(plan.parts),
        body_(scan.called[0]),
        shardings_(result_shardings(scan)),
        carries_(graph.wrap(scan.operands)) {
    const auto first_carry = carries_.begin() + static_cast<std::ptrdiff_t>(parts_.inputs);
    inputs_.assign(carries_.begin(), first_carry);
    carries_.erase(carries_.begin(), first_carry);
    index_dtype_ = parts_.length > INT32_MAX ? s64 : s32;
  }

  // Writes the instructions; returns the results, one each.
  Values run() {
    if (plan_.trips > 0) loop();
    if (plan_.tail > 0) steps_behind_the_loop();
    if (parts_.length == 0) {
      for (size_t j : plan_.stacked) stacks_.push_back(graph_.zeros(result_shape(j)));
    }
    Values results;
    for (size_t j = 0; j < parts_.outputs; ++j) results.push_back(output(j, results));
    results.insert(results.end(), carries_.begin(), carries_.end());
    if (parts_.length > 0) annotate_results();
    return results;
  }

 private:
  // The results of `count` steps: all carries, and a block of each stacked output.
  struct Block {
    Values carries;
    Values outputs;
  };

  [[nodiscard]] const Shape& result_shape(size_t i) const {
    return scan_.shape.is_tuple() ? scan_.shape.elements()[i] : scan_.shape;
  }

  Value output(size_t j, const Values& earlier) {
    const OutputSource& source = plan_.outputs[j];
    switch (source.kind) {
      case Kind::kInput: return inputs_[source.index];
      case Kind::kRepeatedCarry:
        return repeated(carries_[source.index], parts_.dimension, parts_.length);
      case Kind::kEarlierOutput: return earlier[source.index];
      case Kind::kLoop: break;
    }
    auto at = std::ranges::find(plan_.stacked, j) - plan_.stacked.begin();
    return stacks_[static_cast<size_t>(at)];
  }

  // Steps through blocks of `count` slices, first to last, or last to first in reverse.
  Block steps(Graph& graph, const Values& blocks, Values carries, int64_t count) const {
    std::vector<Values> slices(plan_.stacked.size(), Values(static_cast<size_t>(count)));
    for (int64_t step = 0; step < count; ++step) {
      const int64_t at = parts_.reverse ? count - 1 - step : step;
      Values operands;
      for (const Value& block : blocks) {
        operands.push_back(drop_dimension(slice(block, parts_.dimension, at, 1), parts_.dimension));
      }
      append(operands, carries);
      const Values results = graph.op_of_many(Opcode::kCall, operands, hlo::CallAttrs(), {body_});
      for (size_t c : plan_.stepped) carries[c] = results[parts_.outputs + c];
      for (size_t o = 0; o < slices.size(); ++o) {
        slices[o][static_cast<size_t>(at)] =
            add_dimension(results[plan_.stacked[o]], parts_.dimension);
      }
    }
    Block done{std::move(carries), {}};
    for (const Values& list : slices)
      done.outputs.push_back(hlo::concatenate(list, parts_.dimension));
    return done;
  }

  // The loop's state, in order.
  struct State {
    Value counter;
    Values stepped;  // carries that change
    Values inputs;
    Values stacks;     // outputs
    Values invariant;  // carries that do not

    [[nodiscard]] Values flat() const {
      Values all = {counter};
      for (const Values* list : {&stepped, &inputs, &stacks, &invariant}) append(all, *list);
      return all;
    }
  };

  State initial_state() {
    State state;
    state.counter = graph_.number(index_dtype_, 0);
    state.inputs = inputs_;
    for (size_t j : plan_.stacked) state.stacks.push_back(graph_.zeros(result_shape(j)));
    for (size_t c = 0; c < parts_.carries; ++c) {
      (plan_.invariant[c] ? state.invariant : state.stepped).push_back(carries_[c]);
    }
    return state;
  }

  // The elements of a tuple that has the form of initial_state().
  [[nodiscard]] State state_of(const Value& tuple) const {
    const Values all = tuple.graph().elements(tuple);
    auto at = all.begin() + 1;
    auto take = [&](size_t count) {
      Values list(at, at + static_cast<std::ptrdiff_t>(count));
      at += static_cast<std::ptrdiff_t>(count);
      return list;
    };
    State state;
    state.counter = all[0];
    state.stepped = take(plan_.stepped.size());
    state.inputs = take(parts_.inputs);
    state.stacks = take(plan_.stacked.size());
    state.invariant = take(parts_.carries - plan_.stepped.size());
    return state;
  }

  // All carries by number, from the state's two lists.
  [[nodiscard]] Values carries_of(const State& state) const {
    Values carries;
    auto stepped = state.stepped.begin();
    auto invariant = state.invariant.begin();
    for (size_t c = 0; c < parts_.carries; ++c)
      carries.push_back(plan_.invariant[c] ? *invariant++ : *stepped++);
    return carries;
  }

  void loop() {
    const Values initial = initial_state().flat();
    const Value init = graph_.tuple(initial);
    const ComputationId body = loop_body(init.shape());
    const ComputationId condition = loop_condition(init.shape());
    const Value loop = graph_.op(Opcode::kWhile, {init}, {}, {body, condition});
    annotate_loop(graph_.mutable_at(loop), initial);
    const State last = state_of(loop);
    const Values carries = carries_of(last);
    for (size_t c : plan_.stepped) carries_[c] = carries[c];
    stacks_ = last.stacks;
  }

  [[nodiscard]] std::string name(std::string_view suffix) const {
    const std::string& body = graph_.writer().module().at(body_).name;
    return base::cat(body.empty() ? "scan" : body, ".", suffix);
  }

  // The first index of the block of pass i: i*k, or in reverse (n-k) - i*k.
  [[nodiscard]] Value block_start(const Value& counter) const {
    const Value start = plan_.block > 1 ? counter * static_cast<double>(plan_.block) : counter;
    return parts_.reverse ? static_cast<double>(parts_.length - plan_.block) - start : start;
  }

  ComputationId loop_body(const Shape& shape) {
    Graph graph(graph_, name("while_body"));
    State state = state_of(graph.parameter(shape));
    const Value start = block_start(state.counter);
    Values blocks;
    for (const Value& input : state.inputs)
      blocks.push_back(dynamic_slice(input, parts_.dimension, start, plan_.block));
    const Block done = steps(graph, blocks, carries_of(state), plan_.block);
    for (size_t o = 0; o < state.stacks.size(); ++o)
      state.stacks[o] = put(state.stacks[o], done.outputs[o], parts_.dimension, start);
    state.stepped.clear();
    for (size_t c : plan_.stepped) state.stepped.push_back(done.carries[c]);
    state.counter = state.counter + 1;
    return std::move(graph).finish(state.flat());
  }

  ComputationId loop_condition(const Shape& shape) {
    Graph graph(graph_, name("while_condition"));
    const Value counter = graph.element(graph.parameter(shape), 0);
    return std::move(graph).finish_with(counter < static_cast<double>(plan_.trips));
  }

  // The tail has the steps after the loop: the last ones, which in reverse are at the front.
  // Without a loop it has all steps.
  void steps_behind_the_loop() {
    int64_t first = parts_.reverse ? 0 : parts_.length - plan_.tail;
    Values blocks;
    for (const Value& input : inputs_)
      blocks.push_back(slice(input, parts_.dimension, first, plan_.tail));
    const size_t first_new = instruction_count();
    const Block done = steps(graph_, blocks, carries_, plan_.tail);
    carries_ = done.carries;
    if (plan_.trips == 0) {
      stacks_ = done.outputs;
      keep_order(first_new);
      return;
    }
    const Value start = graph_.number(index_dtype_, static_cast<double>(first));
    for (size_t o = 0; o < stacks_.size(); ++o)
      stacks_[o] = put(stacks_[o], done.outputs[o], parts_.dimension, start);
  }

  [[nodiscard]] size_t instruction_count() const {
    return static_cast<size_t>(graph_.builder().computation().size());
  }

  // The new steps come after the control predecessors of the scan.
  void keep_order(size_t first_new) {
    const auto& before = scan_.extras->control_predecessors;
    const size_t end = instruction_count();
    for (size_t i = first_new; !before.empty() && i < end; ++i) {
      Instruction& step = graph_.builder().mutable_at(InstructionId(i));
      if (step.opcode == Opcode::kCall) step.extras.mutate().control_predecessors = before;
    }
  }

  // The while has the scan's name, frontend attributes and order, and the trip count, which is
  // known now.
  void annotate_loop(Instruction& loop, const Values& initial) const {
    loop.name = scan_.name;
    hlo::InstructionExtras& extras = loop.extras.mutate();
    extras.backend_config = trip_count_config(plan_.trips);
    extras.control_predecessors = scan_.extras->control_predecessors;
    extras.frontend_attributes = scan_.extras->frontend_attributes;
    std::erase_if(extras.frontend_attributes,
                  [](const auto& kv) { return kv.first == kUnrollAttribute; });
    if (!shardings_.empty()) {
      extras.sharding =
          base::Box<hlo::Sharding>(tuple_sharding(loop.shape, state_shardings(initial)));
    }
  }

  // One for each element of the state: the counter is replicated, and inputs have the shardings of
  // their producers.
  [[nodiscard]] std::vector<const hlo::Sharding*> state_shardings(const Values& initial) const {
    std::vector<const hlo::Sharding*> out = {nullptr};
    for (size_t c : plan_.stepped) out.push_back(&shardings_[parts_.outputs + c]);
    for (size_t i = 0; i < parts_.inputs; ++i) {
      const auto& extras = graph_.at(initial[out.size()].id()).extras;
      out.push_back(extras->sharding.has_value() ? &*extras->sharding : nullptr);
    }
    for (size_t j : plan_.stacked) out.push_back(&shardings_[j]);
    for (size_t c = 0; c < parts_.carries; ++c) {
      if (plan_.invariant[c]) out.push_back(&shardings_[parts_.outputs + c]);
    }
    return out;
  }

  // Gives the results of the loop or of the steps the shardings of the scan's results.
  void annotate_results() {
    if (shardings_.empty()) return;
    auto annotate = [&](const Value& x, const hlo::Sharding& sharding) {
      graph_.mutable_at(x).extras.mutate().sharding = base::Box<hlo::Sharding>(sharding);
    };
    for (size_t c : plan_.stepped) {
      if (graph_.at(carries_[c].id()).opcode == Opcode::kGetTupleElement) {
        annotate(carries_[c], shardings_[parts_.outputs + c]);
      }
    }
    for (size_t o = 0; o < stacks_.size(); ++o) annotate(stacks_[o], shardings_[plan_.stacked[o]]);
  }

  Graph& graph_;
  const Instruction& scan_;
  const ScanPlan& plan_;
  const ScanParts& parts_;
  ComputationId body_;
  std::vector<hlo::Sharding> shardings_;  // by result; empty: none
  DType index_dtype_ = s32;
  Values inputs_;
  Values carries_;  // by number: initial, then last values
  Values stacks_;   // by position in plan_.stacked
};

// Copies a computation. Readers of a scan's elements read the new values of those elements.
class ScanRemover {
 public:
  ScanRemover(ModuleRebuilder& module, ComputationId id)
      : module_(module), to_(module, id), results_(to_.from().instructions.size()) {}

  StatusOr<Computation> run() {
    for (InstructionId i : to_.order()) {
      const Instruction& old = to_.old(i);
      if (const std::string_view axis = hlo::together_along(old); !axis.empty()) {
        return at_line(base::failed_precondition(
                           to_string(old.opcode), ": is over the vmap axis \"", axis,
                           "\", and runs outside of that vmap; call the program inside of it"),
                       old);
      }
      if (old.opcode == Opcode::kScan) {
        HEDDLE_RETURN_IF_ERROR(lower(i));
      } else if (const Values* results = scan_read_by(old)) {
        auto index = static_cast<size_t>(old.attrs.get<hlo::TupleIndexAttrs>().index);
        to_.replace(i, (*results)[index]);
        keep_name((*results)[index], old);
      } else if (old.opcode == Opcode::kCustomCall && hlo::without_custom_derivative(old)) {
        to_.replace(i, to_.builder().append(*hlo::without_custom_derivative(to_.mapped(i))));
      } else {
        to_.copy(i);
      }
    }
    return std::move(to_).finish();
  }

 private:
  [[nodiscard]] const Values* scan_read_by(const Instruction& old) const {
    if (old.opcode != Opcode::kGetTupleElement) return nullptr;
    if (to_.old(old.operands[0]).opcode != Opcode::kScan) return nullptr;
    return &results_[old.operands[0].value];
  }

  // The loop's element takes the name of the scan's element.
  static void keep_name(const Value& now, const Instruction& old) {
    Instruction& value = now.graph().mutable_at(now);
    if (value.opcode == Opcode::kGetTupleElement && value.name.empty()) value.name = old.name;
  }

  Status lower(InstructionId i) {
    const Instruction scan = to_.mapped(i);
    auto plan = plan_scan(to_.from(), to_.old(i), module_.into().at(scan.called[0]));
    if (!plan.ok())
      return base::annotate(plan.status(), scan.name.empty() ? base::cat("#", i) : scan.name, ": ");
    Graph& graph = to_.in_place_of(i);
    const Values& results = results_[i.value] = Lowering(graph, scan, *plan).run();
    // Read where the scan is used as a whole; unused otherwise.
    to_.replace(i, scan.shape.is_tuple() ? graph.tuple(results) : results[0]);
    return {};
  }

  ModuleRebuilder& module_;
  Rebuilder to_;
  std::vector<Values> results_;  // by old scan
};

}  // namespace

StatusOr<hlo::Module> lower_scan(const hlo::Module& module) {
  ModuleRebuilder to(module);
  for (ComputationId id : to.order()) {
    HEDDLE_ASSIGN_OR_RETURN(Computation lowered, ScanRemover(to, id).run());
    to.replace(id, std::move(lowered));
  }
  HEDDLE_ASSIGN_OR_RETURN(const hlo::Module lowered, std::move(to).finish());
  return remove_unused(lowered);
}

}  // namespace heddle::transform
