#include "heddle/cpu/rewrites/indexing/known_indices.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "heddle/cpu/lower/arrays/loops.h"
#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kMostKnown = int64_t{1} << 17;       // elements of one array that are known
constexpr int kDeepest = 500;                          // ops that one is computed from
constexpr int64_t kMostKnownInAll = int64_t{1} << 22;  // of all arrays of a module

bool is_known_type(DType dtype) { return dtype == pred || is_integer(dtype); }

int64_t wrapped(int64_t value, DType dtype) {
  if (dtype == pred) return value != 0;
  const int64_t lost = 64 - bit_width(dtype);
  const uint64_t up = static_cast<uint64_t>(value) << lost;
  return is_signed(dtype) ? static_cast<int64_t>(up) >> lost : static_cast<int64_t>(up >> lost);
}

bool is_less(int64_t x, int64_t y, DType dtype) {
  return is_signed(dtype) ? x < y : static_cast<uint64_t>(x) < static_cast<uint64_t>(y);
}

bool compares(hlo::ComparisonDirection direction, int64_t x, int64_t y, DType dtype) {
  using enum hlo::ComparisonDirection;
  switch (direction) {
    case kEq: return x == y;
    case kNe: return x != y;
    case kGe: return !is_less(x, y, dtype);
    case kGt: return is_less(y, x, dtype);
    case kLe: return !is_less(y, x, dtype);
    case kLt: return is_less(x, y, dtype);
  }
  return false;
}

// Of an op on elements of `dtype`. Nothing: another op, or a quotient that is not known.
std::optional<int64_t> computed(const Instruction& op, std::span<const int64_t> x, DType dtype) {
  const auto bits = [](int64_t value) { return static_cast<uint64_t>(value); };
  const auto of_bits = [](uint64_t value) { return static_cast<int64_t>(value); };
  switch (op.opcode) {
    case Opcode::kConvert:
    case Opcode::kCopy: return x[0];
    case Opcode::kAdd: return of_bits(bits(x[0]) + bits(x[1]));
    case Opcode::kSubtract: return of_bits(bits(x[0]) - bits(x[1]));
    case Opcode::kMultiply: return of_bits(bits(x[0]) * bits(x[1]));
    case Opcode::kNegate: return of_bits(-bits(x[0]));
    case Opcode::kAbs: return is_signed(dtype) && x[0] < 0 ? of_bits(-bits(x[0])) : x[0];
    case Opcode::kSign: return is_less(x[0], 0, dtype) ? -1 : x[0] != 0;
    case Opcode::kNot: return dtype == pred ? x[0] == 0 : ~x[0];
    case Opcode::kAnd: return x[0] & x[1];
    case Opcode::kOr: return x[0] | x[1];
    case Opcode::kXor: return x[0] ^ x[1];
    case Opcode::kMaximum: return is_less(x[0], x[1], dtype) ? x[1] : x[0];
    case Opcode::kMinimum: return is_less(x[1], x[0], dtype) ? x[1] : x[0];
    case Opcode::kClamp: {
      const int64_t raised = is_less(x[1], x[0], dtype) ? x[0] : x[1];
      return is_less(x[2], raised, dtype) ? x[2] : raised;
    }
    case Opcode::kDivide:
    case Opcode::kRemainder: {
      const bool divides = op.opcode == Opcode::kDivide;
      if (x[1] == 0 || (x[1] == -1 && x[0] == std::numeric_limits<int64_t>::min()))
        return std::nullopt;
      if (is_signed(dtype)) return divides ? x[0] / x[1] : x[0] % x[1];
      return of_bits(divides ? bits(x[0]) / bits(x[1]) : bits(x[0]) % bits(x[1]));
    }
    case Opcode::kSelect: return x[0] != 0 ? x[1] : x[2];
    case Opcode::kCompare:
      return compares(op.attrs.get<hlo::CompareAttrs>().direction, x[0], x[1], dtype);
    default: return std::nullopt;
  }
}

// Calls visit(place) for each place along `along`, until it is false; other dimensions are at 0.
template <class Visit>
bool all_places(const Dims& along, const Dims& sizes, Dims& place, const Visit& visit) {
  for (int64_t i = 0, count = product_of(sizes); i < count; ++i) {
    int64_t rest = i;
    for (size_t k = along.size(); k-- > 0; rest /= sizes[k])
      place[static_cast<size_t>(along[k])] = rest % sizes[k];
    if (!visit(place)) return false;
  }
  return true;
}

}  // namespace

int64_t Known::at(const Dims& place) const {
  int64_t position = 0;
  for (size_t k = 0; k < along.size(); ++k)
    position = position * sizes[k] + place[static_cast<size_t>(along[k])];
  return values[static_cast<size_t>(position)];
}

bool Known::are_alike() const {
  return std::ranges::all_of(values, [&](int64_t value) { return value == values[0]; });
}

KnownIndices::KnownIndices(const hlo::Module& module)
    : module_(module), loops_(module.computations.size()) {
  std::vector<int> callers(module.computations.size());
  for (size_t c = 0; c < module.computations.size(); ++c) {
    known_.emplace_back(module.computations[c].instructions.size());
    for (const Instruction& i : module.computations[c].instructions) {
      for (const ComputationId called : i.called) {
        ++callers[called.value];
        if (i.opcode == Opcode::kWhile) loops_[called.value] = {ComputationId(c), &i};
      }
    }
  }
  for (size_t c = 0; c < callers.size(); ++c) {
    if (callers[c] > 1) loops_[c].loop = nullptr;
  }
}

const Known* KnownIndices::of(ComputationId in, InstructionId id) {
  Entry& entry = known_[in.value][id.value];
  if (!entry.is_asked) {
    if (depth_ == kDeepest) return nullptr;
    ++depth_;
    entry.is_asked = true;
    const ComputationId outer = std::exchange(in_, in);
    const Instruction& x = module_.at(in).at(id);
    if (x.shape.is_array() && !x.shape.is_dynamic() && x.shape.element_count() > 0 &&
        is_known_type(x.shape.dtype()))
      entry.known = values_of(x);
    in_ = outer;
    --depth_;
    if (entry.known) elements_ += std::ssize(entry.known->values);
    if (elements_ > kMostKnownInAll) entry.known.reset();
  }
  return entry.known ? &*entry.known : nullptr;
}

std::optional<Known> KnownIndices::values_of(const Instruction& x) {
  Known out;
  switch (x.opcode) {
    case Opcode::kConstant: {
      const Literal& literal = x.attrs.get<hlo::ConstantAttrs>().literal;
      if (literal.is_elided() || x.shape.element_count() > kMostKnown) return std::nullopt;
      for (int64_t d = 0; d < x.shape.rank(); ++d) {
        if (x.shape.dimension(d) == 1) continue;
        out.along.push_back(d);
        out.sizes.push_back(x.shape.dimension(d));
      }
      for (int64_t i = 0; i < x.shape.element_count(); ++i)
        out.values.push_back(literal.to_int64(i));
      return out;
    }
    case Opcode::kIota: {
      const int64_t d = x.attrs.get<hlo::IotaAttrs>().iota_dimension, size = x.shape.dimension(d);
      if (size > kMostKnown) return std::nullopt;
      if (size > 1) out = {.along = {d}, .sizes = {size}, .values = {}};
      for (int64_t i = 0; i < size; ++i) out.values.push_back(wrapped(i, x.shape.dtype()));
      return out;
    }
    case Opcode::kBroadcast: return of_broadcast(x);
    case Opcode::kReshape: return of_reshape(x);
    case Opcode::kReduce: return of_fold(x);
    case Opcode::kGetTupleElement: return of_state(x);
    default: return of_operands(x);
  }
}

std::optional<Known> KnownIndices::of_operands(const Instruction& x) {
  if (x.operands.empty() || x.operands.size() > 3) return std::nullopt;
  std::vector<const Known*> operands;
  Known out;
  for (const InstructionId operand : x.operands) {
    const Shape& shape = module_.at(in_).at(operand).shape;
    const Known* known = of(in_, operand);
    if (known == nullptr || (!shape.is_scalar() && shape.dimensions() != x.shape.dimensions()))
      return std::nullopt;
    operands.push_back(known);
    for (const int64_t d : known->along) {
      if (std::ranges::count(out.along, d) == 0) out.along.push_back(d);
    }
  }
  std::ranges::sort(out.along);
  for (const int64_t d : out.along) out.sizes.push_back(x.shape.dimension(d));
  if (product_of(out.sizes) > kMostKnown) return std::nullopt;
  // The type that the op computes in: a select's is that of what it chooses.
  const DType dtype = module_.at(in_).at(x.operands.back()).shape.dtype();
  Dims place(x.shape.dimensions().size(), 0);
  const bool is_known = all_places(out.along, out.sizes, place, [&](const Dims& at) {
    int64_t values[3] = {};
    for (size_t k = 0; k < operands.size(); ++k) values[k] = operands[k]->at(at);
    const auto value = computed(x, std::span(values, operands.size()), dtype);
    if (value) out.values.push_back(wrapped(*value, x.shape.dtype()));
    return value.has_value();
  });
  return is_known ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<Known> KnownIndices::of_broadcast(const Instruction& x) {
  const Known* from = of_operand(x, 0);
  const Dims& places = dimensions_of(x);
  if (from == nullptr || !std::ranges::is_sorted(places)) return std::nullopt;
  Known out = *from;
  for (int64_t& d : out.along) d = places[static_cast<size_t>(d)];
  return out;
}

// Dimensions of size 1 come and go.
std::optional<Known> KnownIndices::of_reshape(const Instruction& x) {
  const Known* from = of_operand(x, 0);
  if (from == nullptr) return std::nullopt;
  const Dims &old = module_.at(in_).at(x.operands[0]).shape.dimensions(),
             &now = x.shape.dimensions();
  std::vector<int64_t> place(old.size(), 0);  // by old dimension
  size_t next = 0;
  for (size_t d = 0; d < old.size(); ++d) {
    if (old[d] == 1) continue;
    while (next < now.size() && now[next] == 1) ++next;
    if (next == now.size() || now[next] != old[d]) return std::nullopt;
    place[d] = static_cast<int64_t>(next++);
  }
  Known out = *from;
  for (int64_t& d : out.along) d = place[static_cast<size_t>(d)];
  return out;
}

// Whether all, or any, are true.
std::optional<Known> KnownIndices::of_fold(const Instruction& x) {
  const Computation& by = module_.at(x.called[0]);
  const Opcode op = by.root_instruction().opcode;
  if (x.operands.size() != 2 || (op != Opcode::kAnd && op != Opcode::kOr) ||
      !std::ranges::is_permutation(by.root_instruction().operands, by.parameters))
    return std::nullopt;
  const Known *from = of_operand(x, 0), *start = of_operand(x, 1);
  if (from == nullptr || start == nullptr) return std::nullopt;
  const Dims& folded = dimensions_of(x);
  Known out;
  for (size_t k = 0; k < from->along.size(); ++k) {
    const int64_t d = from->along[k];
    if (std::ranges::count(folded, d) > 0) return std::nullopt;
    out.along.push_back(d - std::ranges::count_if(folded, [&](int64_t f) { return f < d; }));
    out.sizes.push_back(from->sizes[k]);
  }
  for (const int64_t value : from->values)
    out.values.push_back(op == Opcode::kAnd ? value & start->values[0] : value | start->values[0]);
  return out;
}

// What each turn hands on as it is.
std::optional<Known> KnownIndices::of_state(const Instruction& x) {
  const Computation& body = module_.at(in_);
  const auto& [outer, loop] = loops_[in_.value];
  if (loop == nullptr || body.at(x.operands[0]).opcode != Opcode::kParameter) return std::nullopt;
  const auto index = static_cast<size_t>(x.attrs.get<hlo::TupleIndexAttrs>().index);
  for (const ComputationId called : loop->called) {
    const Computation& each = module_.at(called);
    const Instruction& root = each.root_instruction();
    if (!root.shape.is_tuple()) continue;  // the condition
    if (root.opcode != Opcode::kTuple) return std::nullopt;
    const Instruction& next = each.at(root.operands[index]);
    if (next.opcode != Opcode::kGetTupleElement ||
        static_cast<size_t>(next.attrs.get<hlo::TupleIndexAttrs>().index) != index ||
        each.at(next.operands[0]).opcode != Opcode::kParameter)
      return std::nullopt;
  }
  const Instruction& start = module_.at(outer).at(loop->operands[0]);
  if (start.opcode != Opcode::kTuple) return std::nullopt;
  const Known* known = of(outer, start.operands[index]);
  return known == nullptr ? std::nullopt : std::optional(*known);
}

}  // namespace heddle::cpu
