#include "heddle/interpreter/comparator.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

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
    if (less_of(id) != nullptr) return match_less(id);
    const Instruction& node = at(id);
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
    if (match_less(less) && is_tie(less, equal) && keys_.size() < kMaxKeys && match_order(rest))
      return true;
    keys_.resize(before);
    return false;
  }

  bool match_less(InstructionId id) {
    const Instruction* compare = less_of(id);
    if (compare == nullptr) return false;
    const auto& attrs = compare->attrs.get<CompareAttrs>();
    const bool less = attrs.direction == ComparisonDirection::kLt;
    const InstructionId a = compare->operands[0];
    const InstructionId b = compare->operands[1];
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

  // The comparison of L(k) or L'(k); null for all else.
  const Instruction* less_of(InstructionId id) const {
    const Instruction& node = at(id);
    if (is_compare(node, ComparisonDirection::kLt) || is_compare(node, ComparisonDirection::kGt))
      return &node;
    return either(node, [&](InstructionId less, const Instruction& both) -> const Instruction* {
      const Instruction& compare = at(less);
      const bool rises = is_compare(compare, ComparisonDirection::kLt);
      if ((!rises && !is_compare(compare, ComparisonDirection::kGt)) || is_total(compare))
        return nullptr;
      const InstructionId great = compare.operands[rises ? 1 : 0];
      const InstructionId small = compare.operands[rises ? 0 : 1];
      const InstructionId x = both.operands[0], y = both.operands[1];
      const bool fits =
          (is_nan(x, great) && is_number(y, small)) || (is_nan(y, great) && is_number(x, small));
      return fits ? &compare : nullptr;
    });
  }

  // Whether it is E(k) of L(k), or E'(k) of either, of the same operands. L'(k) and E(k) have NaN
  // that no later key puts in order, and encode() has not.
  bool is_tie(InstructionId order, InstructionId id) const {
    const Instruction& less = *less_of(order);
    const bool names_nan = &less != &at(order);
    const Instruction& node = at(id);
    const auto is_plain = [&](const Instruction& equal) {
      return is_compare(equal, ComparisonDirection::kEq) && is_total(equal) == is_total(less) &&
             (equal.operands == less.operands ||
              (equal.operands[0] == less.operands[1] && equal.operands[1] == less.operands[0]));
    };
    if (!names_nan && is_plain(node)) return true;
    const auto* found =
        either(node, [&](InstructionId equal, const Instruction& both) -> const Instruction* {
          const InstructionId a = less.operands[0], b = less.operands[1];
          const InstructionId x = both.operands[0], y = both.operands[1];
          const bool fits = is_plain(at(equal)) && !is_total(less) &&
                            ((is_nan(x, a) && is_nan(y, b)) || (is_nan(x, b) && is_nan(y, a)));
          return fits ? &node : nullptr;
        });
    return found != nullptr;
  }

  // What `match` gives of or(first, and(..)), in any order of the operands; else null.
  template <class Match>
  const Instruction* either(const Instruction& node, const Match& match) const {
    if (node.opcode != Opcode::kOr) return nullptr;
    for (const size_t i : {0, 1}) {
      const Instruction& both = at(node.operands[1 - i]);
      if (both.opcode != Opcode::kAnd) continue;
      if (const Instruction* found = match(node.operands[i], both)) return found;
    }
    return nullptr;
  }

  static bool is_compare(const Instruction& node, ComparisonDirection direction) {
    return node.opcode == Opcode::kCompare && node.attrs.get<CompareAttrs>().direction == direction;
  }
  static bool is_total(const Instruction& compare) {
    return compare.attrs.get<CompareAttrs>().type == ComparisonType::kTotalOrder;
  }
  bool is_itself(InstructionId id, InstructionId x, ComparisonDirection direction) const {
    const Instruction& node = at(id);
    return is_compare(node, direction) && !is_total(node) && node.operands[0] == x &&
           node.operands[1] == x;
  }
  bool is_nan(InstructionId id, InstructionId x) const {
    return is_itself(id, x, ComparisonDirection::kNe);
  }
  bool is_number(InstructionId id, InstructionId x) const {
    const Instruction& node = at(id);
    return is_itself(id, x, ComparisonDirection::kEq) ||
           (node.opcode == Opcode::kNot && is_nan(node.operands[0], x));
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
template <class T>
uint64_t total_order(T value) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr Bits kSignBit = Bits{1} << (8 * sizeof(T) - 1);
  const auto bits = std::bit_cast<Bits>(value);
  return (bits & kSignBit) != 0 ? static_cast<Bits>(~bits) : bits | kSignBit;
}

template <class T>
uint64_t numeric_order(T value) {
  if (std::isnan(value)) return sizeof(T) == 4 ? UINT32_MAX : UINT64_MAX;
  return total_order(value == 0 ? T{0} : value);
}

// Every number of the literal's dtype is a T.
template <class T>
std::vector<uint64_t> encode_floats(const Literal& values, bool is_total_order) {
  std::vector<double> numbers(static_cast<size_t>(values.element_count()));
  load(values.shape().dtype(), values.bytes(), values.element_count(), numbers.data());
  std::vector<uint64_t> codes;
  codes.reserve(numbers.size());
  for (const double number : numbers) {
    const T x = static_cast<T>(number);
    codes.push_back(is_total_order ? total_order(x) : numeric_order(x));
  }
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
  const DType dtype = values.shape().dtype();
  std::vector<uint64_t> codes = !is_floating(dtype) ? encode_integers(values)
                                : dtype == f64 ? encode_floats<double>(values, key.is_total_order)
                                               : encode_floats<float>(values, key.is_total_order);
  if (key.is_descending) {
    for (uint64_t& code : codes) code = ~code;
  }
  return codes;
}

}  // namespace heddle::interpreter
