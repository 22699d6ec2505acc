#include "heddle/cpu/rewrites/numbers/short_integers.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/cpu/lower/regions/region.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/value.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kFewestNumbers = 16;  // fewer stand in registers
constexpr int64_t kMostConstants = 4096;
constexpr int kMostDepth = 32;  // of operations on operations

// From low to high.
struct Range {
  int64_t low = 0, high = 0;
};

std::optional<Range> range_of_all(std::initializer_list<int64_t> ends) {
  const Range range = {std::min(ends), std::max(ends)};
  const bool fits = range.low >= std::numeric_limits<int32_t>::min() &&
                    range.high <= std::numeric_limits<int32_t>::max();
  return fits ? std::optional(range) : std::nullopt;
}

std::optional<Range> range_of_constant(const Literal& literal) {
  const int64_t count = literal.element_count();
  if (count == 0 || count > kMostConstants) return std::nullopt;
  Range range = {literal.to_int64(0), literal.to_int64(0)};
  for (int64_t i = 1; i < count; ++i) {
    range.low = std::min(range.low, literal.to_int64(i));
    range.high = std::max(range.high, literal.to_int64(i));
  }
  return range_of_all({range.low, range.high});
}

// Of types whose numbers all fit.
bool is_narrower(DType dtype) {
  return dtype == pred || (is_integer(dtype) && storage_bytes(dtype) < 4) || dtype == s32;
}

// The s64 arrays of one computation, in s32.
class Shortened {
 public:
  Shortened(transform::Rebuilder& to, InstructionId user) : to_(to), graph_(to.in_place_of(user)) {}

  // Nothing where one of the numbers that lead to it may not fit.
  std::optional<hlo::Value> value(InstructionId id) {
    if (!range(id)) return std::nullopt;
    return write(id);
  }

 private:
  struct Known {
    bool was_asked = false;
    std::optional<Range> range;
    std::optional<hlo::Value> value;
  };

  [[nodiscard]] InstructionId operand(InstructionId id, size_t number) const {
    return to_.old(id).operands[number];
  }

  std::optional<Range> range(InstructionId id) {
    Known& known = known_[id.value];
    if (known.was_asked || depth_ == kMostDepth) return known.range;
    known.was_asked = true;
    ++depth_;
    known.range = find_range(id);
    --depth_;
    return known.range;
  }

  std::optional<Range> find_range(InstructionId id) {
    const Instruction& from = to_.old(id);
    if (from.shape.dtype() != s64 || from.shape.is_dynamic()) return std::nullopt;
    switch (from.opcode) {
      case Opcode::kIota: {
        const auto& attrs = from.attrs.get<hlo::IotaAttrs>();
        return range_of_all({0, from.shape.dimension(attrs.iota_dimension)});
      }
      case Opcode::kConstant:
        return range_of_constant(from.attrs.get<hlo::ConstantAttrs>().literal);
      case Opcode::kConvert:
        if (!is_narrower(to_.old(from.operands[0]).shape.dtype())) return std::nullopt;
        return Range{std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
      case Opcode::kBroadcast: return range(from.operands[0]);
      case Opcode::kAdd:
      case Opcode::kSubtract:
      case Opcode::kMultiply: {
        const std::optional<Range> a = range(from.operands[0]), b = range(from.operands[1]);
        if (!a || !b) return std::nullopt;
        if (from.opcode == Opcode::kAdd) return range_of_all({a->low + b->low, a->high + b->high});
        if (from.opcode == Opcode::kSubtract)
          return range_of_all({a->low - b->high, a->high - b->low});
        return range_of_all(
            {a->low * b->low, a->low * b->high, a->high * b->low, a->high * b->high});
      }
      default: return std::nullopt;
    }
  }

  hlo::Value write(InstructionId id) {
    std::optional<hlo::Value>& value = known_[id.value].value;
    if (!value) value = written(id);
    return *value;
  }

  hlo::Value written(InstructionId id) {
    const Instruction& from = to_.old(id);
    switch (from.opcode) {
      case Opcode::kConvert: {
        const hlo::Value given = to_.value(operand(id, 0));
        return given.dtype() == s32 ? given : convert(given, s32);
      }
      case Opcode::kIota:
        return graph_.iota(from.shape.dimensions(),
                           from.attrs.get<hlo::IotaAttrs>().iota_dimension);
      case Opcode::kConstant: {
        const Literal& literal = from.attrs.get<hlo::ConstantAttrs>().literal;
        std::vector<int32_t> numbers;
        for (int64_t i = 0; i < literal.element_count(); ++i)
          numbers.push_back(static_cast<int32_t>(literal.to_int64(i)));
        return graph_.constant(Literal::from<int32_t>(Shape(s32, from.shape.dimensions()),
                                                      std::span<const int32_t>(numbers)));
      }
      case Opcode::kBroadcast:
        return broadcast(write(operand(id, 0)), from.shape.dimensions(), dimensions_of(from));
      default: return binary(from.opcode, write(operand(id, 0)), write(operand(id, 1)));
    }
  }

  transform::Rebuilder& to_;
  hlo::Graph& graph_;
  std::map<uint64_t, Known> known_;
  int depth_ = 0;
};

// Whether a conversion of `dtype` to `than` keeps the low bits of its numbers: all that `than` has.
bool is_no_wider(DType dtype, DType than) {
  return dtype == pred || (is_integer(dtype) && storage_bytes(dtype) <= storage_bytes(than));
}

// A sum of widened integers that is cut to as few bits as they had: those bits are their own sum's.
hlo::Value narrow_sum(transform::ModuleRebuilder& into, transform::Rebuilder& to,
                      InstructionId id) {
  const Instruction& cut = to.old(id);
  const DType narrow = cut.shape.dtype();
  if (cut.opcode != Opcode::kConvert || !is_integer(narrow)) return {};
  const Instruction& sum = to.old(cut.operands[0]);
  if (sum.opcode != Opcode::kReduce || sum.operands.size() != 2 || !is_integer(sum.shape.dtype()) ||
      storage_bytes(sum.shape.dtype()) <= storage_bytes(narrow) ||
      !is_zero(to.old(sum.operands[1])) || fold_of(into.from().at(sum.called[0])) != Op::kAdd)
    return {};
  const Instruction& widened = to.old(sum.operands[0]);
  if (widened.opcode != Opcode::kConvert) return {};
  const hlo::Value x = to.in_place_of(id).wrap(to[widened.operands[0]]);
  if (!is_no_wider(x.dtype(), narrow)) return {};
  return reduce(x.dtype() == narrow ? x : convert(x, narrow), Opcode::kAdd, 0, dimensions_of(sum));
}

// Nothing where it stays as it is.
hlo::Value shortened(transform::ModuleRebuilder& into, transform::Rebuilder& to, InstructionId id) {
  if (const hlo::Value sum = narrow_sum(into, to, id)) return sum;
  const Instruction& user = to.old(id);
  if (user.opcode != Opcode::kCompare && user.opcode != Opcode::kConvert) return {};
  const Shape& numbers = to.old(user.operands[0]).shape;
  if (numbers.dtype() != s64 || numbers.element_count() < kFewestNumbers) return {};
  Shortened known(to, id);
  const std::optional<hlo::Value> a = known.value(user.operands[0]);
  if (!a) return {};
  if (user.opcode == Opcode::kConvert) return convert(*a, user.shape.dtype());
  const std::optional<hlo::Value> b = known.value(user.operands[1]);
  if (!b) return {};
  return compare(user.attrs.get<hlo::CompareAttrs>().direction, *a, *b);
}

}  // namespace

StatusOr<hlo::Module> shorten_integers(const hlo::Module& module) {
  return transform::with_rewritten(
      module, [&](transform::ModuleRebuilder& into, transform::Rebuilder& to, ComputationId,
                  InstructionId id) { return shortened(into, to, id); });
}

}  // namespace heddle::cpu
