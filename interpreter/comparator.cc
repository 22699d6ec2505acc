#include "heddle/interpreter/comparator.h"

#include <bit>
#include <cmath>

#include "heddle/hlo/literal/blocks.h"
#include "heddle/interpreter/internal/lift.h"

namespace heddle::interpreter {
namespace {

class Matcher {
 public:
  explicit Matcher(const Computation& comparator) : comparator_(comparator) {}

  std::optional<std::vector<SortKey>> run() {
    if (!match_order(comparator_.root)) return std::nullopt;
    return std::move(keys_);
  }

 private:
  // More keys than any sort has operands would be a comparator made to waste time.
  static constexpr size_t kMaxKeys = 64;
  static constexpr int kMaxNodes = 4096;

  const Instruction& at(InstructionId id) const { return comparator_.at(id); }

  // The comparison that decides comes first in keys_, then those of `rest`.
  bool match_order(InstructionId id) {
    const Instruction& node = at(id);
    if (node.opcode == Opcode::kCompare) return match_less(id);
    if (node.opcode == Opcode::kOr) {
      return match_or(node.operands[0], node.operands[1]) ||
             match_or(node.operands[1], node.operands[0]);
    }
    if (node.opcode != Opcode::kSelect) return false;
    return match_tie(node.operands[2], node.operands[0], node.operands[1]);
  }

  bool match_or(InstructionId less, InstructionId rest) {
    if (at(rest).opcode != Opcode::kAnd) return false;
    const InstructionId a = at(rest).operands[0];
    const InstructionId b = at(rest).operands[1];
    return match_tie(less, a, b) || match_tie(less, b, a);
  }

  // L(k), E(k) and rest.
  bool match_tie(InstructionId less, InstructionId equal, InstructionId rest) {
    const size_t before = keys_.size();
    if (match_less(less) && is_tie(at(less), at(equal)) && keys_.size() < kMaxKeys &&
        match_order(rest))
      return true;
    keys_.resize(before);
    return false;
  }

  bool match_less(InstructionId id) {
    const Instruction& compare = at(id);
    if (compare.opcode != Opcode::kCompare) return false;
    const auto& attrs = compare.attrs.get<CompareAttrs>();
    const bool less = attrs.direction == ComparisonDirection::kLt;
    if (!less && attrs.direction != ComparisonDirection::kGt) return false;
    const InstructionId a = compare.operands[0];
    const InstructionId b = compare.operands[1];
    const bool total = attrs.type == ComparisonType::kTotalOrder;
    nodes_ = 0;
    if (mirrors(a, b) && is_liftable(comparator_, a)) {
      keys_.push_back({a, !less, total});
      return true;
    }
    nodes_ = 0;
    if (mirrors(b, a) && is_liftable(comparator_, b)) {
      keys_.push_back({b, less, total});
      return true;
    }
    return false;
  }

  static bool is_tie(const Instruction& less, const Instruction& equal) {
    return equal.opcode == Opcode::kCompare &&
           equal.attrs.get<CompareAttrs>().direction == ComparisonDirection::kEq &&
           equal.attrs.get<CompareAttrs>().type == less.attrs.get<CompareAttrs>().type &&
           (equal.operands == less.operands ||
            (equal.operands[0] == less.operands[1] && equal.operands[1] == less.operands[0]));
  }

  // `left` reads only even parameters, and `right` is the same expression of the odd ones.
  bool mirrors(InstructionId left, InstructionId right) {
    if (++nodes_ > kMaxNodes) return false;
    const Instruction& a = at(left);
    const Instruction& b = at(right);
    if (a.opcode != b.opcode || !same_type(a.shape, b.shape)) return false;
    if (a.opcode == Opcode::kParameter) {
      const int64_t number = a.attrs.get<ParameterAttrs>().number;
      return number % 2 == 0 && b.attrs.get<ParameterAttrs>().number == number + 1;
    }
    if (a.attrs != b.attrs || a.operands.size() != b.operands.size() || !a.called.empty())
      return false;
    for (size_t i = 0; i < a.operands.size(); ++i) {
      if (!mirrors(a.operands[i], b.operands[i])) return false;
    }
    return true;
  }

  const Computation& comparator_;
  std::vector<SortKey> keys_;
  int nodes_ = 0;
};

constexpr uint64_t kSign = uint64_t{1} << 63;

// Total order of IEEE values: bits of negatives in reverse, then those of positives.
uint64_t total_order(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

uint64_t numeric_order(double value) {
  if (std::isnan(value)) return UINT64_MAX;
  return total_order(value == 0 ? 0.0 : value);
}

std::vector<uint64_t> encode_floats(const Literal& values, bool is_total_order) {
  std::vector<double> numbers(static_cast<size_t>(values.element_count()));
  load(values.shape().dtype(), values.bytes(), values.element_count(), numbers.data());
  std::vector<uint64_t> codes;
  codes.reserve(numbers.size());
  for (double x : numbers) codes.push_back(is_total_order ? total_order(x) : numeric_order(x));
  return codes;
}

std::vector<uint64_t> encode_integers(const Literal& values) {
  std::vector<int64_t> numbers(static_cast<size_t>(values.element_count()));
  load(values.shape().dtype(), values.bytes(), values.element_count(), numbers.data());
  const uint64_t flip = is_signed(values.shape().dtype()) ? kSign : 0;
  std::vector<uint64_t> codes;
  codes.reserve(numbers.size());
  for (int64_t x : numbers) codes.push_back(static_cast<uint64_t>(x) ^ flip);
  return codes;
}

}  // namespace

std::optional<std::vector<SortKey>> sort_keys(const Computation& comparator) {
  return Matcher(comparator).run();
}

std::vector<uint64_t> encode(const Literal& values, const SortKey& key) {
  std::vector<uint64_t> codes = is_floating(values.shape().dtype())
                                    ? encode_floats(values, key.is_total_order)
                                    : encode_integers(values);
  if (key.is_descending) {
    for (uint64_t& code : codes) code = ~code;
  }
  return codes;
}

}  // namespace heddle::interpreter
