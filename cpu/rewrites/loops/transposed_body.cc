#include "heddle/cpu/rewrites/loops/transposed_body.h"

#include <algorithm>

#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/op.h"
#include "heddle/transform/trip_count.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kMostOfARow = 64;            // elements: longer rows fill their vectors
constexpr int64_t kFewestInABatch = 16;        // else new rows are short too
constexpr int64_t kFewestTransposedTurns = 8;  // if they are known
constexpr int64_t kWorkPerTransposed = 6;  // elements computed for one that each turn transposes
constexpr int64_t kOfLongRows = 32;        // elements
constexpr int64_t kWorkPerTransposedLong = 10;  // the same, where rows are long

// The dimensions along which an op moves elements of its result; nothing: it is no such op.
std::optional<Dims> moved_dimensions(const Instruction& instruction) {
  Dims out;
  switch (instruction.opcode) {
    case Opcode::kConcatenate:
    case Opcode::kReverse: return dimensions_of(instruction);
    case Opcode::kPad: {
      const auto& padding = instruction.attrs.get<hlo::PadAttrs>().padding;
      for (size_t d = 0; d < padding.size(); ++d) {
        if (padding[d] != hlo::PadDimension()) out.push_back(static_cast<int64_t>(d));
      }
      return out;
    }
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<int64_t> Family::lead(const Shape& shape) const {
  if (!is_plain(shape)) return std::nullopt;
  const int64_t lead = shape.rank() - rank;
  if (lead != 0 && lead != 1) return std::nullopt;
  const auto sizes = shape.dimensions().begin() + lead;
  return std::equal(batch.begin(), batch.end(), sizes) ? std::optional(lead) : std::nullopt;
}

Dims Family::order(const Shape& shape) const {
  const int64_t lead = shape.rank() - rank;
  Dims out;
  if (lead == 1) out.push_back(0);
  for (int64_t d = first_place(lead); d < shape.rank(); ++d) out.push_back(d);
  for (int64_t d = lead; d < first_place(lead); ++d) out.push_back(d);
  return out;
}

std::optional<TransposedBody> TransposedBody::of(const hlo::Module& module,
                                                 const Instruction& loop) {
  const auto trips = transform::greatest_trip_count(loop);
  const Computation& body = module.at(loop.called[0]);
  if (trips.value_or(kFewestTransposedTurns) < kFewestTransposedTurns ||
      body.root_instruction().opcode != Opcode::kTuple || !takes_elements(body) ||
      !takes_elements(module.at(loop.called[1])))
    return std::nullopt;
  const std::optional<Family> family = family_of(body);
  if (!family) return std::nullopt;
  TransposedBody out(body, *family);
  out.find_elements(module.at(loop.called[1]));
  while (out.drops_some()) {
  }
  return !out.elements_.empty() && out.pays() ? std::optional(std::move(out)) : std::nullopt;
}

Dims TransposedBody::dimensions(const Instruction& broadcast) const {
  return permuted(inverse_permutation(family_.order(broadcast.shape)), dimensions_of(broadcast));
}

bool TransposedBody::keeps_order(const Instruction& broadcast) const {
  return std::ranges::is_sorted(dimensions(broadcast));
}

Shape TransposedBody::state(const Shape& from) const {
  std::vector<Shape> out = from.elements();
  for (const int64_t i : elements_)
    out[static_cast<size_t>(i)] = family_.transposed(out[static_cast<size_t>(i)]);
  return Shape::tuple(out);
}

bool TransposedBody::takes_elements(const Computation& of) {
  return of.root != of.parameters[0] &&
         std::ranges::all_of(of.instructions, [&](const Instruction& each) {
           return each.opcode == Opcode::kGetTupleElement ||
                  std::ranges::count(each.operands, of.parameters[0]) == 0;
         });
}

std::optional<Family> TransposedBody::family_of(const Computation& body) {
  const Instruction* most = nullptr;
  for (const Instruction& each : body.instructions) {
    const std::optional<Dims> moved = moved_dimensions(each);
    if (!moved || !is_plain(each.shape) || each.shape.rank() < 2) continue;
    const int64_t last = each.shape.rank() - 1;
    const bool is_seed =
        std::ranges::count(*moved, last) > 0 && each.shape.dimension(last) <= kMostOfARow;
    if (is_seed && (most == nullptr || each.shape.element_count() > most->shape.element_count()))
      most = &each;
  }
  if (most == nullptr) return std::nullopt;
  const Dims& sizes = most->shape.dimensions();
  int64_t batch = std::ssize(sizes) - 1;
  for (const Instruction& each : body.instructions) {
    if (!each.shape.is_array() || each.shape.dimensions() != sizes) continue;
    for (const int64_t d : moved_dimensions(each).value_or(Dims())) batch = std::min(batch, d);
  }
  Family out{std::ssize(sizes), Dims(sizes.begin(), sizes.begin() + batch)};
  int64_t rows = 1;
  for (const int64_t size : out.batch) rows *= size;
  const bool fill_vectors = rows >= sizes.back() || rows % kFewestInABatch == 0;
  return rows >= kFewestInABatch && fill_vectors ? std::optional(std::move(out)) : std::nullopt;
}

void TransposedBody::find_elements(const Computation& condition) {
  const Shape& state = at(body_->parameters[0]).shape;
  for (int64_t i = 0; i < std::ssize(state.elements()); ++i) {
    if (family_.lead(state.elements()[static_cast<size_t>(i)])) elements_.insert(i);
  }
  for (const Instruction& each : condition.instructions) {
    if (each.opcode == Opcode::kGetTupleElement)
      elements_.erase(each.attrs.get<hlo::TupleIndexAttrs>().index);
  }
  for (size_t i = 0; i < is_in_.size(); ++i) is_in_[i] = may_be_in(InstructionId(i));
}

bool TransposedBody::may_be_in(InstructionId id) const {
  const Instruction& op = at(id);
  const std::optional<int64_t> lead = family_.lead(op.shape);
  if (!lead || id == body_->root) return false;
  const int64_t first = family_.first_place(*lead);
  if (const std::optional<Dims> moved = moved_dimensions(op))
    return std::ranges::all_of(*moved, [&](int64_t d) { return d >= first; });
  const auto is_like = [&](size_t operand) {
    return family_.lead(at(op.operands[operand]).shape).has_value();
  };
  switch (op.opcode) {
    case Opcode::kSlice: return is_like(0) && family_.lead(at(op.operands[0]).shape) == lead;
    case Opcode::kReshape: return is_row(op.shape, at(op.operands[0]).shape);
    case Opcode::kDynamicSlice: return *lead == 1 && is_whole_row(op, op.operands[0]);
    case Opcode::kDynamicUpdateSlice: return *lead == 1 && is_whole_row(op, op.operands[1]);
    case Opcode::kBroadcast:
    case Opcode::kIota: return true;
    case Opcode::kGetTupleElement: return op.operands[0] == body_->parameters[0];
    default:
      return has_trait(op.opcode, hlo::kElementwise) &&
             std::ranges::all_of(op.operands, [&](InstructionId operand) {
               const Shape& read = at(operand).shape;
               return read.is_scalar() || read.dimensions() == op.shape.dimensions();
             });
  }
}

bool TransposedBody::is_row(const Shape& a, const Shape& b) const {
  const Shape &row = a.rank() < b.rank() ? a : b, &stacked = a.rank() < b.rank() ? b : a;
  const Dims &own = row.dimensions(), &others = stacked.dimensions();
  return own.size() + 1 == others.size() && family_.lead(row) == 0 && others[0] == 1 &&
         std::equal(own.begin(), own.end(), others.begin() + 1);
}

bool TransposedBody::is_whole_row(const Instruction& op, InstructionId other) const {
  const Dims &own = op.shape.dimensions(), &others = at(other).shape.dimensions();
  return own.size() == others.size() &&
         std::equal(own.begin() + 1, own.end(), others.begin() + 1) &&
         std::cmp_greater(op.operands.size(), own.size());
}

bool TransposedBody::drops_some() {
  bool drops = false;
  const auto drop = [&](InstructionId id) {
    is_in_[id.value] = false;
    drops = true;
  };
  const Instruction& root = body_->root_instruction();
  for (size_t i = 0; i < is_in_.size(); ++i) {
    const InstructionId id(i);
    const Instruction& op = at(id);
    if (!has(id)) continue;
    if (op.opcode == Opcode::kGetTupleElement) {
      if (!elements_.contains(op.attrs.get<hlo::TupleIndexAttrs>().index)) drop(id);
    } else if ((op.opcode == Opcode::kDynamicSlice || op.opcode == Opcode::kDynamicUpdateSlice) &&
               !has(op.operands[0])) {
      drop(id);
    }
  }
  std::erase_if(elements_, [&](int64_t e) {
    const bool goes = !has(root.operands[static_cast<size_t>(e)]);
    drops = drops || goes;
    return goes;
  });
  return drops;
}

bool TransposedBody::pays() const {
  int64_t work = 0, longest_row = 0;
  std::set<InstructionId> transposed;
  for (size_t i = 0; i < is_in_.size(); ++i) {
    const InstructionId id(i);
    const Instruction& op = at(id);
    const auto differs = [&](size_t operand) {
      if (id == body_->root && elements_.contains(static_cast<int64_t>(operand))) return false;
      const bool is_spread =
          has(id) && op.opcode == Opcode::kBroadcast && keeps_order(op);  // as it is
      return has(op.operands[operand]) != has(id) && !is_spread && has_order(op.operands[operand]);
    };
    for (size_t operand = 0; operand < op.operands.size(); ++operand) {
      if (differs(operand)) transposed.insert(op.operands[operand]);
    }
    const bool moves = moved_dimensions(op).has_value();
    if (!has(id) || !(moves || has_trait(op.opcode, hlo::kElementwise))) continue;
    work += op.shape.element_count();
    if (moves) longest_row = std::max(longest_row, op.shape.dimensions().back());
  }
  int64_t elements = 0;
  for (const InstructionId id : transposed) elements += at(id).shape.element_count();
  const bool is_long = longest_row >= kOfLongRows;
  return longest_row > 0 &&
         elements * (is_long ? kWorkPerTransposedLong : kWorkPerTransposed) <= work;
}

bool TransposedBody::has_order(InstructionId id) const {
  const Instruction& read = at(id);
  return is_plain(read.shape) && read.shape.rank() >= 2 && read.opcode != Opcode::kConstant;
}

}  // namespace heddle::cpu
