#include "heddle/transform/expand_checks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/hlo/calls/debug_calls.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/transform/derivatives/internal/parts.h"
#include "heddle/transform/internal/ir.h"
#include "heddle/transform/rebuilder.h"
#include "heddle/transform/state_thread.h"

namespace heddle::transform {

using hlo::Dims;

namespace {

bool is_float(const Shape& shape) {
  return shape.is_array() && !shape.is_dynamic() &&
         (is_floating(shape.dtype()) || is_complex(shape.dtype())) && shape.element_count() > 0;
}

bool has_float(const Shape& shape) {
  return shape.is_tuple() ? std::ranges::any_of(shape.elements(), has_float) : is_float(shape);
}

Instruction call_with_effect(std::string_view target, hlo::InstructionId operand,
                             std::string config) {
  hlo::CustomCallAttrs attrs;
  attrs.custom_call_target = target;
  attrs.custom_call_has_side_effect = true;
  attrs.api_version = hlo::ApiVersion::kTypedFfi;
  Instruction call{.opcode = Opcode::kCustomCall,
                   .shape = Shape::scalar(u32),
                   .operands = {operand},
                   .attrs = std::move(attrs)};
  call.extras.mutate().backend_config = std::move(config);
  return call;
}

// Ops that make no value of their own, or that are written as they are.
bool only_moves(Opcode opcode) {
  if (has_trait(opcode, hlo::kMoves)) return true;
  switch (opcode) {
    case Opcode::kParameter:
    case Opcode::kConstant:
    case Opcode::kTuple:
    case Opcode::kOptBarrier:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kGather:
    case Opcode::kSort: return true;
    default: return false;
  }
}

// The values that are only chosen from: where(x > 0, log(x), 0) may well have NaN in the elements
// that nobody takes. The choice is checked in their place.
std::vector<bool> chosen_from(const Computation& computation, bool is_root_chosen_from) {
  std::vector<bool> out(computation.instructions.size(), true);
  out[computation.root.value] = is_root_chosen_from;
  for (size_t i = out.size(); i-- > 0;) {
    const Instruction& user = computation.instructions[i];
    const bool hands_on =
        out[i] && (has_trait(user.opcode, hlo::kElementwise) || only_moves(user.opcode));
    for (size_t k = 0; k < user.operands.size(); ++k) {
      const bool chooses = user.opcode == Opcode::kSelect && k > 0;
      if (!chooses && !hands_on) out[user.operands[k].value] = false;
    }
  }
  return out;
}

// The same for each computation. The result of a call may be chosen from too: for a branch that
// some lanes take, or a step that some lanes have left.
std::vector<std::vector<bool>> chosen_from(const hlo::Module& module) {
  const size_t count = module.computations.size();
  std::vector<std::vector<bool>> out(count);
  std::vector<bool> is_called(count), is_all_chosen(count, true);
  for (size_t c = count; c-- > 0;) {  // callees precede their callers
    const Computation& computation = module.computations[c];
    out[c] = chosen_from(computation, is_called[c] && is_all_chosen[c]);
    for (size_t i = 0; i < computation.instructions.size(); ++i) {
      const Instruction& instruction = computation.instructions[i];
      for (ComputationId id : instruction.called) {
        is_called[id.value] = true;
        if (instruction.opcode != Opcode::kCall || !out[c][i]) is_all_chosen[id.value] = false;
      }
    }
  }
  return out;
}

int64_t loop_depth(const hlo::Module& module) {
  std::vector<int64_t> depth(module.computations.size());  // callees precede their callers
  for (size_t c = 0; c < depth.size(); ++c) {
    for (const Instruction& instruction : module.computations[c].instructions) {
      const bool loops =
          instruction.opcode == Opcode::kWhile || instruction.opcode == Opcode::kScan;
      for (ComputationId id : instruction.called)
        depth[c] = std::max(depth[c], depth[id.value] + (loops ? 1 : 0));
    }
  }
  return depth[module.entry.value];
}

std::string place_of(const Instruction& instruction) {
  if (instruction.at.known()) return to_string(instruction.at);
  const hlo::Metadata& metadata = instruction.extras->metadata;
  if (metadata.source_file.empty()) return "";
  return base::cat(metadata.source_file, ":", metadata.source_line);
}

// "check_nans: the result of sqrt in step", quoted; `program` is main where it has no name.
std::string result_of(const Instruction& instruction, const std::string& program) {
  const bool has_name = !program.empty() && program != "main";
  return hlo::quoted_text(base::cat("check_nans: the result of ", to_string(instruction.opcode),
                                    instruction.name.empty() ? "" : " ", instruction.name,
                                    has_name ? " in " : "", has_name ? program : ""));
}

constexpr std::string_view kOnlyNans = "only_nans";  // an entry of a check

Value any(const Value& p) {
  return p.rank() == 0 ? p : hlo::reduce(p, Opcode::kOr, 0, consecutive_dimensions(p.rank()));
}

// The state: a record s32[2 + loops], which heddle.report reads, and s32[loops], the current steps
// of the loops around, the innermost first; -1 beyond the last loop.
class Checks final : public StateThread {
 public:
  Checks(const hlo::Module& module, bool all)
      : loops_(std::max<int64_t>(loop_depth(module), 1)), all_(all), program_(module.name) {
    if (!all) return;
    std::vector<std::vector<bool>> chosen = chosen_from(module);
    for (size_t c = 0; c < chosen.size(); ++c)
      chosen_from_.emplace(&module.computations[c], std::move(chosen[c]));
  }

  bool takes_part(const Computation& computation, const Instruction& instruction) const override {
    if (hlo::is_custom(instruction, hlo::kCheckCall)) return true;
    if (!all_ || only_moves(instruction.opcode) || !has_float(instruction.shape)) return false;
    const auto at = static_cast<size_t>(&instruction - computation.instructions.data());
    return !chosen_from_.at(&computation)[at];
  }

  Values start(Graph& graph) const override {
    std::vector<int64_t> none(static_cast<size_t>(loops_), -1);
    const Value steps = graph.integers(none);
    none.insert(none.begin(), {0, 0});
    return {graph.integers(none), steps};
  }

  Value write(Graph& graph, const Instruction& instruction, const Values& operands,
              std::vector<ComputationId> called, Values& state) override {
    if (hlo::is_custom(instruction, hlo::kCheckCall)) {
      const int64_t number = note(instruction, {});
      const bool infinities =
          hlo::dictionary_entry(instruction.extras->backend_config, kOnlyNans).empty();
      if (!operands.empty()) check(graph, operands[0], number, infinities, state);
      return graph.number(u32, 0);
    }
    const Value made = copied(graph, instruction, operands, std::move(called));
    const int64_t number = note(instruction, to_string(instruction.opcode));
    for (const Value& leaf : flattened(graph, made))
      check(graph, leaf, number, /*infinities=*/false, state);
    return made;
  }

  Values entered(Graph& graph, const Values& state) const override {
    const Value zero = graph.integers({0});
    if (loops_ == 1) return {state[0], zero};
    return {state[0], hlo::concatenate({zero, slice(state[1], 0, 0, loops_ - 1)}, 0)};
  }
  Values stepped(Graph& graph, const Values& state) const override {
    std::vector<int64_t> one(static_cast<size_t>(loops_));
    one[0] = 1;
    return {state[0], state[1] + graph.integers(one)};
  }
  Values left(Graph&, const Values& before, const Values& after) const override {
    return {after[0], before[1]};
  }
  Value goes_on(Graph&, const Value& condition, const Values& state) const override {
    return condition & is_fine(state[0]);
  }

  void finish(Graph& graph, const Values& state) override {
    graph.append(call_with_effect(hlo::kReportCall, state[0].id(), base::cat("{", sites_, "}")));
  }

 private:
  // The number of a check, from 1. `opcode`: of the instruction, if it is no debug_check.
  int64_t note(const Instruction& instruction, std::string_view opcode) {
    const int64_t number = ++count_;
    const std::string& config = instruction.extras->backend_config;
    std::string name = "\"?\"", at = "\"\"";
    if (!opcode.empty()) {
      name = result_of(instruction, program_);
      at = hlo::quoted_text(place_of(instruction));
    } else if (const auto text = hlo::dictionary_entry(config, "name"); text.size() > 1) {
      const bool is_own = !hlo::dictionary_entry(config, kOnlyNans).empty();
      name = is_own ? std::string(text) : base::cat("\"debug_check: ", text.substr(1));
      if (const auto place = hlo::dictionary_entry(config, "at"); !place.empty()) at = place;
    }
    base::append(sites_, sites_.empty() ? "" : ", ", "name", number, " = ", name, ", at", number,
                 " = ", at);
    return number;
  }

  static Value is_fine(const Value& record) {
    return hlo::reshape(slice(record, 0, 0, 1), {}) == 0.0;
  }

  void check(Graph& graph, const Value& given, int64_t number, bool infinities,
             Values& state) const {
    if (!is_float(given.shape())) return;
    const bool is_small = is_floating(given.dtype()) && bit_width(given.dtype()) <= 8;
    const Value x = is_small ? hlo::convert(given, f32) : given;
    const Value re = hlo::real(x), im = hlo::imag(x);
    const Value is_nan = any(is_complex(x.dtype()) ? (re != re) | (im != im) : x != x);
    const Value bad = infinities ? any(!hlo::is_finite(x)) : is_nan;
    const Value kind = hlo::select(is_nan, graph.number(s32, 1), graph.number(s32, 2));
    const Value found =
        hlo::concatenate({graph.integers({number}), hlo::reshape(kind, {1}), state[1]}, 0);
    const Value is_first = hlo::broadcast(bad & is_fine(state[0]), state[0].sizes(), {});
    state[0] = hlo::select(is_first, found, state[0]);
  }

  const int64_t loops_;
  const bool all_;
  const std::string program_;  // its name
  int64_t count_ = 0;
  std::string sites_;
  std::map<const Computation*, std::vector<bool>> chosen_from_;  // for all
};

// Ops that run a computation once: its instructions are checked in their place.
bool runs_computations(Opcode opcode) {
  return opcode == Opcode::kCall || opcode == Opcode::kWhile || opcode == Opcode::kScan ||
         opcode == Opcode::kConditional;
}

// The computations that run so, and not a scalar at a time as the function of a reduction does.
std::vector<bool> that_run(const hlo::Module& module) {
  std::vector<bool> out(module.computations.size());
  out[module.entry.value] = true;
  for (size_t c = out.size(); c-- > 0;) {  // callees precede their callers
    for (const Instruction& each : module.computations[c].instructions) {
      if (!out[c] || !runs_computations(each.opcode)) continue;
      for (ComputationId id : each.called) out[id.value] = true;
    }
  }
  return out;
}

Instruction nan_check(const Instruction& of, hlo::InstructionId leaf, const std::string& program) {
  Instruction check = call_with_effect(
      hlo::kCheckCall, leaf,
      base::cat("{name = ", result_of(of, program), ", at = ", hlo::quoted_text(place_of(of)), ", ",
                kOnlyNans, " = true}"));
  check.at = of.at;
  return check;
}

Status add_nan_checks(Rebuilder& to, hlo::InstructionId i, const std::string& program) {
  const Instruction& old = to.old(i);
  if (only_moves(old.opcode) || runs_computations(old.opcode)) return {};
  if (is_float(old.shape)) to.builder().append(nan_check(old, to[i], program));
  if (!old.shape.is_tuple()) return {};
  for (size_t k = 0; k < old.shape.elements().size(); ++k) {
    if (!is_float(old.shape.elements()[k])) continue;
    HEDDLE_ASSIGN_OR_RETURN(
        const hlo::InstructionId leaf,
        to.builder().add(Opcode::kGetTupleElement, {to[i]},
                         hlo::TupleIndexAttrs{.index = static_cast<int64_t>(k)}));
    to.builder().append(nan_check(old, leaf, program));
  }
  return {};
}

}  // namespace

StatusOr<hlo::Module> with_nan_checks(const hlo::Module& module) {
  const std::vector<std::vector<bool>> chosen = chosen_from(module);
  const std::vector<bool> run = that_run(module);
  ModuleRebuilder rebuilt(module);
  for (ComputationId id : rebuilt.order()) {
    Rebuilder to(rebuilt, id);
    for (hlo::InstructionId i : to.order()) {
      to.copy(i);
      if (run[id.value] && !chosen[id.value][i.value])
        HEDDLE_RETURN_IF_ERROR(add_nan_checks(to, i, module.name));
    }
    rebuilt.replace(id, std::move(to).finish());
  }
  return std::move(rebuilt).finish();
}

bool has_checks(const hlo::Module& module) {
  return std::ranges::any_of(module.computations, [](const Computation& computation) {
    return std::ranges::any_of(computation.instructions, [](const Instruction& each) {
      return hlo::is_custom(each, hlo::kCheckCall);
    });
  });
}

StatusOr<hlo::Module> expand_checks(const hlo::Module& module, bool all) {
  Checks checks(module, all);
  return with_state(module, checks);
}

}  // namespace heddle::transform
