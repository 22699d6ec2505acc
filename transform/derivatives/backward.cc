#include "heddle/transform/derivatives/internal/backward.h"

#include <algorithm>
#include <optional>

#include "heddle/hlo/calls/custom_derivative.h"
#include "heddle/hlo/derivative.h"
#include "heddle/hlo/op.h"
#include "heddle/transform/derivatives/internal/cotangent.h"
#include "heddle/transform/derivatives/internal/dependence.h"
#include "heddle/transform/internal/ir.h"
#include "heddle/transform/internal/leaves.h"
#include "heddle/transform/trip_count.h"

namespace heddle::transform {

namespace {

bool any_absent(const Values& values) {
  for (const Value& each : values) {
    if (each.is_absent()) return true;
  }
  return false;
}

using Cotangents = std::vector<Cotangent>;  // by leaf

bool any_given(const Cotangents& all) {
  return std::ranges::any_of(all, [](const Cotangent& each) { return !each.is_absent(); });
}
void append_sums(Values& to, const Cotangents& all) {
  for (const Cotangent& each : all) to.push_back(each.value());
}

// Whether the transpose adds to what its operands have.
bool has_totals(Opcode opcode) {
  return opcode == Opcode::kScan || opcode == Opcode::kConditional || opcode == Opcode::kCall;
}

struct Leaf {
  InstructionId id;
  size_t number;

  friend bool operator==(const Leaf&, const Leaf&) = default;
};

// The leaf that stands there in a tuple, if it is one.
Leaf in_tuple(const Computation& computation, Leaf leaf) {
  while (computation.at(leaf.id).opcode == Opcode::kTuple) {
    for (InstructionId id : computation.at(leaf.id).operands) {
      const size_t count = leaf_count(computation.at(id).shape);
      if (leaf.number < count) {
        leaf.id = id;
        break;
      }
      leaf.number -= count;
    }
  }
  return leaf;
}

hlo::Dims sizes_of(const Computation& computation, const Leaf& leaf) {
  return leaves_of(computation.at(leaf.id).shape)[leaf.number].dimensions();
}

// Where a slice begins. Empty: it takes steps, or is no slice.
Values starts_of(Graph& graph, const Instruction& slice, const Values& operands) {
  if (slice.opcode == Opcode::kDynamicSlice) return {operands.begin() + 1, operands.end()};
  if (slice.opcode != Opcode::kSlice) return {};
  Values out;
  for (const hlo::SliceDimension& each : slice.attrs.get<hlo::SliceAttrs>().slice) {
    if (each.stride != 1 || each.start > INT32_MAX) return {};
    out.push_back(graph.number(s32, static_cast<double>(each.start)));
  }
  return out;
}

// Adds the cotangents of a tuple, or of an element of one, to those of the operands. Whether it is
// one.
bool passes_cotangents(const Computation& computation, const Instruction& instruction,
                       const Cotangents& from, std::vector<Cotangents>& to) {
  if (instruction.opcode == Opcode::kGetTupleElement) {
    Cotangents& of_tuple = to[instruction.operands[0].value];
    const size_t first = first_leaf_of(computation, instruction);
    for (size_t k = 0; k < from.size(); ++k) of_tuple[first + k].add(from[k]);
    return true;
  }
  if (instruction.opcode != Opcode::kTuple) return false;
  size_t leaf = 0;
  for (InstructionId id : instruction.operands) {
    for (Cotangent& each : to[id.value]) each.add(from[leaf++]);
  }
  return true;
}

// Adds the cotangent of what moves elements of its operand to that of the operand. Whether it does.
bool moves_cotangent(Graph& graph, const Computation& computation, const Instruction& instruction,
                     const Values& operands, const Cotangents& from, std::vector<Cotangents>& to) {
  if (!hlo::has_tangent(instruction.shape)) return false;
  const auto sizes = [&] { return sizes_of(computation, {instruction.operands[0], 0}); };
  const auto dimensions = [&]() -> const hlo::Dims& {
    return instruction.attrs.get<hlo::DimensionsAttrs>().dimensions;
  };
  const auto sum = [&]() -> Cotangent& { return to[instruction.operands[0].value][0]; };
  switch (instruction.opcode) {
    case Opcode::kSlice:
    case Opcode::kDynamicSlice:
      return sum().add_sliced(from[0], starts_of(graph, instruction, operands), sizes());
    case Opcode::kReshape: sum().add_reshaped(from[0], sizes()); return true;
    case Opcode::kTranspose: sum().add_transposed(from[0], dimensions()); return true;
    case Opcode::kReverse: sum().add_reversed(from[0], dimensions()); return true;
    default: return false;
  }
}

// Adds a cotangent with parts of an elementwise op to those of its operands. Whether it does.
StatusOr<bool> passes_parts(Graph& graph, const Computation& computation,
                            const Instruction& instruction, const Values& operands,
                            const Cotangents& from, std::vector<Cotangents>& to) {
  if (!has_trait(instruction.opcode, hlo::kElementwise) || !from[0].has_parts()) return false;
  std::vector<const Shape*> shapes;
  std::vector<Cotangent*> sums;
  for (size_t i = 0; i < operands.size(); ++i) {
    const InstructionId id = instruction.operands[i];
    shapes.push_back(&computation.at(id).shape);
    if (shapes.back()->dimensions() != instruction.shape.dimensions() ||
        (operands[i].is_absent() && !hlo::has_tangent(*shapes.back())))
      return false;
    sums.push_back(&to[id.value][0]);
  }
  const hlo::Derivative derivative = hlo::derivative_of(instruction);
  if (!derivative.transpose) return false;
  const auto transpose = [&](const Value& ct, Cotangent::Read read) {
    Values x;
    for (const Value& each : operands) x.push_back(each ? read(each) : Value());
    return derivative.transpose.rule()({graph, instruction, x, shapes, std::span(&ct, 1)});
  };
  HEDDLE_RETURN_IF_ERROR(from[0].add_to(sums, transpose));
  return true;
}

// The leaves whose cotangents the transpose may add to, for each leaf of the operands: that leaf,
// and what it is a reshape of. One that comes again is there once.
std::vector<std::vector<Leaf>> leaves_with_totals(const Computation& computation,
                                                  const Instruction& instruction) {
  std::vector<std::vector<Leaf>> out;
  std::vector<Leaf> known;
  for (InstructionId id : instruction.operands) {
    const size_t count = leaf_count(computation.at(id).shape);
    for (size_t k = 0; k < count; ++k) {
      out.emplace_back();
      if (!has_totals(instruction.opcode)) continue;
      Leaf leaf = in_tuple(computation, {id, k});
      while (std::ranges::find(known, leaf) == known.end()) {
        out.back().push_back(leaf);
        known.push_back(leaf);
        const Instruction& of = computation.at(leaf.id);
        if (of.opcode == Opcode::kReshape) leaf = {of.operands[0], 0};
      }
    }
  }
  return out;
}

Value copy_of(Graph& graph, Source& source, const Computation& computation,
              const Instruction& instruction, const Values& leaves) {
  return copied(graph, instruction,
                assembled(graph, operand_shapes(computation, instruction), leaves),
                source.called(instruction.called));
}

std::string no_reverse(const Instruction& instruction, std::string_view why) {
  return base::cat(to_string(instruction.opcode), ": has no reverse derivative: ", why);
}
Status without_transpose(const Instruction& instruction, std::string_view why) {
  return at_line(base::unimplemented(no_reverse(instruction, why)), instruction);
}
Status not_linear_at(const Instruction& instruction, std::string_view why) {
  return at_line(base::invalid_argument(no_reverse(instruction, why)), instruction);
}
// The same where its rule says so.
Status not_linear_by_rule(const Instruction& instruction, std::string_view why) {
  return not_linear_at(instruction,
                       base::cat(why,
                                 "; take vjp() at a point, or make the rule of a custom_jvp "
                                 "linear in the tangents"));
}

// The first operand with integers or booleans that are absent. A user's function that is not linear
// may have such; modules of jvp have none.
std::optional<size_t> absent_integers(const Computation& computation,
                                      const Instruction& instruction, const Values& operands) {
  size_t leaf = 0;
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    for (const Shape& shape : leaves_of(computation.at(instruction.operands[i]).shape)) {
      if (operands[leaf++].is_absent() && !hlo::has_tangent(shape)) return i;
    }
  }
  return std::nullopt;
}

std::string depends(const Computation& computation, const Instruction& instruction,
                    size_t operand) {
  constexpr std::string_view kEnd =
      " depends on the argument, so that the function is not linear; compute it of what the "
      "function captures, or take vjp() at a point";
  const bool is_choice = instruction.opcode == Opcode::kConditional && operand == 0;
  if (is_choice) return base::cat("what chooses its branch, or ends a scan_until,", kEnd);
  return base::cat("operand ", operand, ", ", computation.at(instruction.operands[operand]).shape,
                   ",", kEnd);
}

Status constant_term(const Instruction& instruction) {
  return at_line(base::invalid_argument(
                     to_string(instruction.opcode),
                     ": a term does not depend on the argument, so that the function is not "
                     "linear; take the term out"),
                 instruction);
}

}  // namespace

bool Backward::is_constant_term(const Value& value) const {
  return given_ == Given::kPerhapsAffine && value && hlo::has_tangent(value.shape()) &&
         !is_zero(value.graph(), value.id());
}

Status Backward::check_no_constant(const Instruction& instruction, const Values& operands) const {
  // What a select-and-scatter compares is no term; if it is not known, its rule says so.
  const bool compares = instruction.opcode == Opcode::kSelectAndScatter;
  if (!hlo::does(instruction.opcode, hlo::kJoins) || (compares && operands[0].is_absent()) ||
      std::ranges::none_of(std::span(operands).subspan(compares ? 1 : 0),
                           [&](const Value& each) { return is_constant_term(each); }))
    return {};
  return constant_term(instruction);
}

// It stands behind a barrier, with the cotangents, so that no pass merges it with the first
// computation, and so that it does not run earlier than needed.
StatusOr<Values> Backward::of_call(Graph& graph, const Instruction& call, const Values& operands,
                                   const Values& ct, Values& totals) {
  Values given;
  for (const Values* all : {&operands, &ct}) {
    for (const Value& each : *all) {
      if (each) given.push_back(each);
    }
  }
  const Values behind = graph.elements(graph.op(Opcode::kOptBarrier, {graph.tuple(given)}));
  size_t next = 0;
  const auto moved = [&](const Values& all) {
    Values out;
    for (const Value& each : all) out.push_back(each ? behind[next++] : Value());
    return out;
  };
  const Values parameters = moved(operands), cotangents = moved(ct);
  HEDDLE_ASSIGN_OR_RETURN(Result out,
                          run(graph, source_.at(call.called[0]), parameters, cotangents, totals));
  for (size_t i = 0; i < totals.size(); ++i) {
    if (totals[i].is_absent()) continue;
    const bool is_changed = out.ct[i].id() != totals[i].id();
    (is_changed ? totals[i] : out.ct[i]) = Value();
  }
  return std::move(out.ct);
}

StatusOr<Values> Backward::transposed(Graph& graph, const Computation& computation,
                                      const Instruction& instruction, const Values& operands,
                                      const Values& ct, Values& totals) {
  if (const auto operand = absent_integers(computation, instruction, operands))
    return not_linear_at(instruction, depends(computation, instruction, *operand));
  switch (instruction.opcode) {
    case Opcode::kScan:
      return transpose_of_scan(*this, graph, computation, instruction, operands, ct, totals);
    case Opcode::kConditional:
      return transpose_of_conditional(*this, graph, computation, instruction, operands, ct, totals);
    case Opcode::kCall: return of_call(graph, instruction, operands, ct, totals);
    case Opcode::kCopy:
    case Opcode::kOptBarrier: return ct;  // leaf by leaf
    case Opcode::kWhile:
      if (greatest_trip_count(instruction))
        return not_linear_at(instruction,
                             "its steps are not linear in the argument, or its condition reads "
                             "it; take vjp() at a point");
      return without_transpose(
          instruction,
          "the number of its steps is not known before it runs; write while_loop(.., {.max_steps = "
          "n}), use scan or fori_loop between C++ integers, or forward mode (jvp)");
    case Opcode::kCustomCall:
      if (hlo::is_custom(instruction, hlo::kCustomPullback))
        return transpose_of_pullback(source_, graph, instruction, operands, ct);
      if (hlo::is_custom(instruction, "SPMDFullToShardShape") ||
          hlo::is_custom(instruction, "SPMDShardToFullShape"))
        return transpose_of_shard_edge(graph, computation, instruction, ct[0]);
      if (hlo::is_custom(instruction, hlo::kLinearSolve))
        return transpose_of_linear_solve(source_, graph, instruction, operands, ct);
      break;
    default: break;
  }
  const hlo::Derivative derivative = hlo::derivative_of(instruction);
  if (!derivative.transpose) {
    const bool has_tangent = bool(derivative.jvp);  // so it is not linear
    return has_tangent ? not_linear_by_rule(instruction, derivative.transpose.reason())
                       : without_transpose(instruction, derivative.transpose.reason());
  }
  std::vector<const Shape*> shapes;
  for (InstructionId id : instruction.operands) shapes.push_back(&computation.at(id).shape);
  Instruction of = instruction;
  of.called = source_.called(instruction.called);
  auto out = derivative.transpose.rule()({graph, of, operands, shapes, ct});
  if (out.ok()) return out;
  const std::string why = base::message_of(out.status());
  return out.status().code() == StatusCode::kInvalidArgument ? not_linear_by_rule(instruction, why)
                                                             : without_transpose(instruction, why);
}

StatusOr<Backward::Result> Backward::run(Graph& graph, const Computation& computation,
                                         const Values& parameters, const Values& ct,
                                         const Values& totals) {
  const size_t size = computation.instructions.size();
  // By leaf; a value that is absent is linear.
  std::vector<Values> values = values_of_parameters(computation, parameters);
  std::vector<Cotangents> cts(size);
  for (size_t i = 0; i < size; ++i) {
    const Instruction& instruction = computation.instructions[i];
    cts[i].resize(leaf_count(instruction.shape));
    if (instruction.opcode == Opcode::kParameter) continue;
    const Values operands = leaves_of_operands(instruction, values);
    if (instruction.opcode == Opcode::kTuple) {
      values[i] = operands;
    } else if (instruction.opcode == Opcode::kGetTupleElement) {
      values[i] = leaves_of_element(computation, instruction, operands);
    } else if (any_absent(operands)) {
      HEDDLE_RETURN_IF_ERROR(check_no_constant(instruction, operands));
      const bool is_barrier = instruction.opcode == Opcode::kOptBarrier;
      values[i] = is_barrier ? operands : Values(cts[i].size());  // known leaves stay known
    } else {
      graph.set_location(instruction.at);
      values[i] = flattened(graph, copy_of(graph, source_, computation, instruction, operands));
    }
  }

  size_t leaf = 0;
  for (InstructionId id : computation.parameters) {
    for (size_t k = 0; k < cts[id.value].size() && leaf < totals.size(); ++k, ++leaf)
      cts[id.value][k].add(totals[leaf]);
  }
  const Values& results = values[computation.root.value];
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].is_absent())
      cts[computation.root.value][i].add(ct[i]);
    else if (ct[i] && is_constant_term(results[i]))
      return constant_term(computation.at(computation.root));
  }
  for (size_t i = size; i-- > 0;) {
    const Instruction& instruction = computation.instructions[i];
    if (!any_given(cts[i]) || instruction.opcode == Opcode::kParameter) continue;
    graph.set_location(instruction.at);
    if (passes_cotangents(computation, instruction, cts[i], cts)) continue;
    const Values operands = leaves_of_operands(instruction, values);
    if (moves_cotangent(graph, computation, instruction, operands, cts[i], cts)) continue;
    HEDDLE_ASSIGN_OR_RETURN(const bool is_passed,
                            passes_parts(graph, computation, instruction, operands, cts[i], cts));
    if (is_passed) continue;
    Values given, totals_before;
    append_sums(given, cts[i]);
    const auto with_totals = leaves_with_totals(computation, instruction);
    for (const std::vector<Leaf>& all : with_totals) {
      Cotangent total;
      for (const Leaf& at : all) {
        if (values[at.id.value][at.number].is_absent())
          total.add_reshaped(cts[at.id.value][at.number], sizes_of(computation, all[0]));
      }
      totals_before.push_back(total.value());
    }
    Values left = totals_before;
    HEDDLE_ASSIGN_OR_RETURN(const Values of_operands,
                            transposed(graph, computation, instruction, operands, given, left));
    leaf = 0;
    for (InstructionId id : instruction.operands) {
      for (size_t k = 0; k < cts[id.value].size(); ++k, ++leaf) {
        if (values[id.value][k] || of_operands[leaf].is_absent()) continue;
        if (totals_before[leaf] && left[leaf].is_absent()) {
          for (const Leaf& at : with_totals[leaf]) cts[at.id.value][at.number] = {};
        }
        cts[id.value][k].add(of_operands[leaf]);
      }
    }
  }

  Result out;
  out.known = results;
  for (InstructionId id : computation.parameters) append_sums(out.ct, cts[id.value]);
  return out;
}

}  // namespace heddle::transform
