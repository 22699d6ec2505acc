#include "heddle/transform/derivatives/internal/cotangent.h"

#include <algorithm>

#include "heddle/hlo/derivative.h"
#include "heddle/transform/derivatives/internal/dependence.h"
#include "heddle/transform/internal/ir.h"

namespace heddle::transform {

namespace {

// A padded part pays if it is this much smaller than the whole, and the whole is no small array,
// which a backend makes in one go.
constexpr int64_t kLeastPadded = 256, kLeastRatio = 4;

bool is_worth_writing(const Instruction& pad, const Shape& part) {
  const auto& dimensions = pad.attrs.get<hlo::PadAttrs>().padding;
  const int64_t whole = pad.shape.element_count();
  return whole >= kLeastPadded && part.element_count() * kLeastRatio <= whole &&
         std::ranges::all_of(dimensions, [](const hlo::PadDimension& d) {
           return d.low >= 0 && d.high >= 0 && d.interior == 0;
         });
}

// Whether it is zeros but for a part.
bool is_part(Graph& graph, const Instruction& term) {
  switch (term.opcode) {
    case Opcode::kDynamicUpdateSlice: return is_zero(graph, term.operands[0]);
    case Opcode::kScatter:
      return term.operands.size() == 3 && is_zero(graph, term.operands[0]) &&
             term.called[0] == graph.writer().combiner(Opcode::kAdd, term.shape.dtype());
    case Opcode::kPad:
      return is_zero(graph, term.operands[1]) &&
             is_worth_writing(term, graph.at(term.operands[0]).shape);
    default: return false;
  }
}

Values starts_of(Graph& graph, const Instruction& update) {
  Values starts;
  for (InstructionId id : std::span(update.operands).subspan(2)) starts.push_back(graph.wrap(id));
  return starts;
}

bool reads(Graph& graph, const Value& slice, const Instruction& update) {
  const Instruction& read = graph.at(slice.id());
  return read.opcode == Opcode::kDynamicSlice && read.operands[0] == update.operands[0] &&
         slice.shape() == graph.at(update.operands[1]).shape &&
         std::ranges::equal(std::span(read.operands).subspan(1),
                            std::span(update.operands).subspan(2));
}

// sum + the part at `starts`. A place that was just written is written once.
Value with_slice(Graph& graph, const Value& sum, const Value& part, const Values& starts) {
  const Instruction last = graph.at(sum.id());
  const auto is_start = [](InstructionId id, const Value& start) { return id == start.id(); };
  const bool is_same_place =
      last.opcode == Opcode::kDynamicUpdateSlice &&
      graph.at(last.operands[1]).shape == part.shape() &&
      std::ranges::equal(std::span(last.operands).subspan(2), starts, is_start);
  if (!is_same_place)
    return dynamic_update_slice(sum, dynamic_slice(sum, starts, part.sizes()) + part, starts);
  const Value before = graph.wrap(last.operands[0]), there = graph.wrap(last.operands[1]);
  const Value both = is_zero(graph, there.id()) ? part : there + part;
  return reads(graph, both, last) ? before : dynamic_update_slice(before, both, starts);
}

Value with_part(const Value& sum, const Value& part) {
  Graph& graph = sum.graph();
  Instruction term = graph.at(part.id());
  if (term.opcode == Opcode::kScatter)
    return copied(graph, term, {sum, graph.wrap(term.operands[1]), graph.wrap(term.operands[2])},
                  term.called);
  if (term.opcode == Opcode::kDynamicUpdateSlice)
    return with_slice(graph, sum, graph.wrap(term.operands[1]), starts_of(graph, term));
  Values starts;
  for (const hlo::PadDimension& each : term.attrs.get<hlo::PadAttrs>().padding)
    starts.push_back(graph.number(each.low > INT32_MAX ? s64 : s32, static_cast<double>(each.low)));
  return with_slice(graph, sum, graph.wrap(term.operands[0]), starts);
}

}  // namespace

void Cotangent::add(const Value& term) {
  if (term.is_absent()) return;
  if (is_part(term.graph(), term.graph().at(term.id())))
    parts_.push_back(term);
  else
    sum_ = hlo::add(sum_, term);
}

Value Cotangent::value() const {
  Value out = sum_;
  for (const Value& part : parts_) out = out ? with_part(out, part) : part;
  return out;
}

}  // namespace heddle::transform
