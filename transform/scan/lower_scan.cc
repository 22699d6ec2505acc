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
#include "heddle/transform/emitter.h"
#include "heddle/transform/internal/ir.h"
#include "heddle/transform/internal/scan_plan.h"
#include "heddle/transform/internal/scan_sharding.h"
#include "heddle/transform/passes.h"
#include "heddle/transform/rebuilder.h"
#include "heddle/transform/trip_count.h"

namespace heddle::transform {
namespace {

using hlo::ComputationBuilder;
using Ids = std::vector<InstructionId>;
using Kind = OutputSource::Kind;

// Lowers one scan. `scan` has its operands and callee mapped to new ids.
class Lowering {
 public:
  Lowering(ModuleRebuilder& module, Rebuilder& to, const Instruction& scan, const ScanPlan& plan)
      : module_(module),
        to_(to),
        scan_(scan),
        plan_(plan),
        parts_(plan.parts),
        body_(scan.called[0]),
        emit_(to.builder(), scan),
        shardings_(result_shardings(scan)) {
    auto first_carry = scan.operands.begin() + static_cast<std::ptrdiff_t>(parts_.inputs);
    inputs_.assign(scan.operands.begin(), first_carry);
    carries_.assign(first_carry, scan.operands.end());
    index_dtype_ = parts_.length > INT32_MAX ? s64 : s32;
  }

  // Writes the instructions; returns the results, one each.
  Ids run() {
    if (plan_.trips > 0) loop();
    if (plan_.tail > 0) steps_behind_the_loop();
    if (parts_.length == 0) {
      for (size_t j : plan_.stacked) stacks_.push_back(emit_.zeros(result_shape(j)));
    }
    Ids results;
    for (size_t j = 0; j < parts_.outputs; ++j) results.push_back(output(j, results));
    results.insert(results.end(), carries_.begin(), carries_.end());
    if (parts_.length > 0) annotate_results();
    return results;
  }

 private:
  // The results of `count` steps: all carries, and a block of each stacked output.
  struct Block {
    Ids carries;
    Ids outputs;
  };

  [[nodiscard]] const Shape& result_shape(size_t i) const {
    return scan_.shape.is_tuple() ? scan_.shape.elements()[i] : scan_.shape;
  }

  InstructionId output(size_t j, const Ids& earlier) {
    const OutputSource& source = plan_.outputs[j];
    switch (source.kind) {
      case Kind::kInput: return inputs_[source.index];
      case Kind::kRepeatedCarry:
        return emit_.repeat(carries_[source.index], parts_.dimension, parts_.length);
      case Kind::kEarlierOutput: return earlier[source.index];
      case Kind::kLoop: break;
    }
    auto at = std::ranges::find(plan_.stacked, j) - plan_.stacked.begin();
    return stacks_[static_cast<size_t>(at)];
  }

  // The body's results as values, one each.
  static Ids call(Emitter& emit, const Computation& body, ComputationId id, Ids operands) {
    InstructionId result =
        emit.op(Opcode::kCall, body.result_shape(), std::move(operands), hlo::CallAttrs(), {id});
    if (!body.result_shape().is_tuple()) return {result};
    return emit.elements(result);
  }

  // Steps through blocks of `count` slices, first to last, or last to first in reverse.
  Block steps(Emitter& emit, const Ids& blocks, Ids carries, int64_t count) const {
    const Computation& body = module_.into().at(body_);
    std::vector<Ids> slices(plan_.stacked.size(), Ids(static_cast<size_t>(count)));
    for (int64_t step = 0; step < count; ++step) {
      int64_t at = parts_.reverse ? count - 1 - step : step;
      Ids operands;
      for (InstructionId block : blocks) {
        operands.push_back(
            emit.drop_dimension(emit.slice(block, parts_.dimension, at, 1), parts_.dimension));
      }
      operands.insert(operands.end(), carries.begin(), carries.end());
      Ids results = call(emit, body, body_, std::move(operands));
      for (size_t c : plan_.stepped) carries[c] = results[parts_.outputs + c];
      for (size_t o = 0; o < slices.size(); ++o) {
        slices[o][static_cast<size_t>(at)] =
            emit.add_dimension(results[plan_.stacked[o]], parts_.dimension);
      }
    }
    Block done{std::move(carries), {}};
    for (Ids& list : slices)
      done.outputs.push_back(emit.concatenate(std::move(list), parts_.dimension));
    return done;
  }

  // The loop's state, in order.
  struct State {
    InstructionId counter;
    Ids stepped;  // carries that change
    Ids inputs;
    Ids stacks;     // outputs
    Ids invariant;  // carries that do not

    [[nodiscard]] Ids flat() const {
      Ids all = {counter};
      for (const Ids* list : {&stepped, &inputs, &stacks, &invariant})
        all.insert(all.end(), list->begin(), list->end());
      return all;
    }
  };

  State initial_state() {
    State state;
    state.counter = emit_.scalar(index_dtype_, 0);
    state.inputs = inputs_;
    for (size_t j : plan_.stacked) state.stacks.push_back(emit_.zeros(result_shape(j)));
    for (size_t c = 0; c < parts_.carries; ++c) {
      (plan_.invariant[c] ? state.invariant : state.stepped).push_back(carries_[c]);
    }
    return state;
  }

  // The elements of a tuple that has the form of initial_state().
  State state_of(Emitter& emit, InstructionId tuple) const {
    Ids all = emit.elements(tuple);
    auto at = all.begin() + 1;
    auto take = [&](size_t count) {
      Ids list(at, at + static_cast<std::ptrdiff_t>(count));
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
  [[nodiscard]] Ids carries_of(const State& state) const {
    Ids carries;
    auto stepped = state.stepped.begin();
    auto invariant = state.invariant.begin();
    for (size_t c = 0; c < parts_.carries; ++c)
      carries.push_back(plan_.invariant[c] ? *invariant++ : *stepped++);
    return carries;
  }

  void loop() {
    Ids initial = initial_state().flat();
    InstructionId init = emit_.tuple(initial);
    Shape shape = emit_.shape(init);
    ComputationId body = module_.add(loop_body(shape));
    ComputationId condition = module_.add(loop_condition(shape));
    InstructionId loop = emit_.op(Opcode::kWhile, std::move(shape), {init}, {}, {body, condition});
    annotate_loop(to_.builder().mutable_at(loop), initial);
    State last = state_of(emit_, loop);
    Ids carries = carries_of(last);
    for (size_t c : plan_.stepped) carries_[c] = carries[c];
    stacks_ = last.stacks;
  }

  [[nodiscard]] std::string name(std::string_view suffix) const {
    const std::string& body = module_.into().at(body_).name;
    return base::cat(body.empty() ? "scan" : body, ".", suffix);
  }

  // The first index of the block of pass i: i*k, or in reverse (n-k) - i*k.
  InstructionId block_start(Emitter& emit, InstructionId counter) const {
    InstructionId start = counter;
    const Shape scalar = Shape::scalar(index_dtype_);
    if (plan_.block > 1) {
      start = emit.op(Opcode::kMultiply, scalar, {start, emit.scalar(index_dtype_, plan_.block)});
    }
    if (!parts_.reverse) return start;
    return emit.op(Opcode::kSubtract, scalar,
                   {emit.scalar(index_dtype_, parts_.length - plan_.block), start});
  }

  Computation loop_body(const Shape& shape) {
    ComputationBuilder builder(module_.into(), name("while_body"));
    Emitter emit(builder, scan_);
    State state = state_of(emit, builder.parameter(shape));
    InstructionId start = block_start(emit, state.counter);
    Ids blocks;
    for (InstructionId input : state.inputs) {
      blocks.push_back(emit.dynamic_slice(input, parts_.dimension, start, plan_.block));
    }
    Block done = steps(emit, blocks, carries_of(state), plan_.block);
    for (size_t o = 0; o < state.stacks.size(); ++o) {
      state.stacks[o] = emit.update(state.stacks[o], done.outputs[o], parts_.dimension, start);
    }
    state.stepped.clear();
    for (size_t c : plan_.stepped) state.stepped.push_back(done.carries[c]);
    state.counter = emit.op(Opcode::kAdd, Shape::scalar(index_dtype_),
                            {state.counter, emit.scalar(index_dtype_, 1)});
    InstructionId root = emit.op(Opcode::kTuple, shape, state.flat());
    return std::move(builder).finish(root);
  }

  Computation loop_condition(const Shape& shape) {
    ComputationBuilder builder(module_.into(), name("while_condition"));
    Emitter emit(builder, scan_);
    InstructionId counter = emit.element(builder.parameter(shape), 0);
    InstructionId root = emit.op(Opcode::kCompare, Shape::scalar(pred),
                                 {counter, emit.scalar(index_dtype_, plan_.trips)},
                                 hlo::CompareAttrs{.direction = hlo::ComparisonDirection::kLt});
    return std::move(builder).finish(root);
  }

  // The tail has the steps after the loop: the last ones, which in reverse are at the front.
  // Without a loop it has all steps.
  void steps_behind_the_loop() {
    int64_t first = parts_.reverse ? 0 : parts_.length - plan_.tail;
    Ids blocks;
    for (InstructionId input : inputs_) {
      blocks.push_back(emit_.slice(input, parts_.dimension, first, plan_.tail));
    }
    auto first_new = static_cast<size_t>(to_.builder().computation().size());
    Block done = steps(emit_, blocks, carries_, plan_.tail);
    carries_ = done.carries;
    if (plan_.trips == 0) {
      stacks_ = done.outputs;
      keep_order(first_new);
      return;
    }
    InstructionId start = emit_.scalar(index_dtype_, first);
    for (size_t o = 0; o < stacks_.size(); ++o) {
      stacks_[o] = emit_.update(stacks_[o], done.outputs[o], parts_.dimension, start);
    }
  }

  // The new steps come after the control predecessors of the scan.
  void keep_order(size_t first_new) {
    const auto& before = scan_.extras->control_predecessors;
    auto end = static_cast<size_t>(to_.builder().computation().size());
    for (size_t i = first_new; !before.empty() && i < end; ++i) {
      Instruction& step = to_.builder().mutable_at(InstructionId(i));
      if (step.opcode == Opcode::kCall) step.extras.mutate().control_predecessors = before;
    }
  }

  // The while has the scan's name, frontend attributes and order, and the trip count, which is
  // known now.
  void annotate_loop(Instruction& loop, const Ids& initial) const {
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
  [[nodiscard]] std::vector<const hlo::Sharding*> state_shardings(const Ids& initial) const {
    std::vector<const hlo::Sharding*> out = {nullptr};
    for (size_t c : plan_.stepped) out.push_back(&shardings_[parts_.outputs + c]);
    for (size_t i = 0; i < parts_.inputs; ++i) {
      const auto& extras = to_.at(initial[out.size()]).extras;
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
    auto annotate = [&](InstructionId id, const hlo::Sharding& sharding) {
      to_.builder().mutable_at(id).extras.mutate().sharding = base::Box<hlo::Sharding>(sharding);
    };
    for (size_t c : plan_.stepped) {
      if (to_.at(carries_[c]).opcode == Opcode::kGetTupleElement) {
        annotate(carries_[c], shardings_[parts_.outputs + c]);
      }
    }
    for (size_t o = 0; o < stacks_.size(); ++o) annotate(stacks_[o], shardings_[plan_.stacked[o]]);
  }

  ModuleRebuilder& module_;
  Rebuilder& to_;
  const Instruction& scan_;
  const ScanPlan& plan_;
  const ScanParts& parts_;
  ComputationId body_;
  Emitter emit_;
  std::vector<hlo::Sharding> shardings_;  // by result; empty: none
  DType index_dtype_ = s32;
  Ids inputs_;
  Ids carries_;  // by number: initial, then last values
  Ids stacks_;   // by position in plan_.stacked
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
      } else if (const Ids* results = scan_read_by(old)) {
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
  [[nodiscard]] const Ids* scan_read_by(const Instruction& old) const {
    if (old.opcode != Opcode::kGetTupleElement) return nullptr;
    if (to_.old(old.operands[0]).opcode != Opcode::kScan) return nullptr;
    return &results_[old.operands[0].value];
  }

  // The loop's element takes the name of the scan's element.
  void keep_name(InstructionId now, const Instruction& old) {
    Instruction& value = to_.builder().mutable_at(now);
    if (value.opcode == Opcode::kGetTupleElement && value.name.empty()) value.name = old.name;
  }

  Status lower(InstructionId i) {
    Instruction scan = to_.mapped(i);
    auto plan = plan_scan(to_.from(), to_.old(i), module_.into().at(scan.called[0]));
    if (!plan.ok())
      return base::annotate(plan.status(), scan.name.empty() ? base::cat("#", i) : scan.name, ": ");
    Ids results = Lowering(module_, to_, scan, *plan).run();
    results_[i.value] = results;
    // Read where the scan is used as a whole; unused otherwise.
    to_.replace(i, scan.shape.is_tuple() ? Emitter(to_.builder(), scan).tuple(std::move(results))
                                         : results[0]);
    return {};
  }

  ModuleRebuilder& module_;
  Rebuilder to_;
  std::vector<Ids> results_;  // by old scan
};

}  // namespace

StatusOr<hlo::Module> lower_scan(const hlo::Module& module) {
  ModuleRebuilder to(module);
  for (ComputationId id : to.order()) {
    HEDDLE_ASSIGN_OR_RETURN(Computation lowered, ScanRemover(to, id).run());
    to.replace(id, std::move(lowered));
  }
  return remove_unused(std::move(to).finish());
}

}  // namespace heddle::transform
