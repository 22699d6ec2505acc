#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "heddle/hlo/dimensions.h"
#include "heddle/interpreter/comparator.h"
#include "heddle/interpreter/ops/movement/permute.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

using Order = std::vector<int64_t>;           // the row's positions, as they come in the result
using Ranked = std::pair<uint64_t, int64_t>;  // a key, and the position that has it

constexpr size_t kFewestOfLongDigits = 1 << 14;  // elements, beside 3 x 2048 counters
constexpr int64_t kLongRow = 512;  // from here on digits are counted and not keys compared

// Sorts by keys of kBits, digit by digit from the last one on, which leaves equal keys in their
// order. Digits that all keys share cost nothing.
template <int kBits, int kDigitBits, class Row, class KeyOf>
void sort_by_digits(std::vector<Row>& rows, const KeyOf& key_of) {
  constexpr int kDigits = (kBits + kDigitBits - 1) / kDigitBits;
  constexpr uint64_t kMost = (uint64_t{1} << kDigitBits) - 1;
  std::array<std::array<size_t, kMost + 1>, kDigits> counts = {};
  for (const Row& row : rows) {
    for (int digit = 0; digit < kDigits; ++digit)
      ++counts[static_cast<size_t>(digit)][key_of(row) >> (digit * kDigitBits) & kMost];
  }
  std::vector<Row> sorted(rows.size());
  for (int digit = 0; digit < kDigits; ++digit) {
    auto& ends = counts[static_cast<size_t>(digit)];
    if (std::ranges::count(ends, rows.size()) > 0) continue;
    size_t next = 0;
    for (size_t& end : ends) next += std::exchange(end, next);  // where each begins
    for (const Row& row : rows) sorted[ends[key_of(row) >> (digit * kDigitBits) & kMost]++] = row;
    std::swap(rows, sorted);
  }
}

// The rows to sort: every operand as [rows, length].
class Sorter {
 public:
  explicit Sorter(EvalArgs& in) : in_(in), is_stable_(in.attrs<SortAttrs>().is_stable) {
    const int64_t dimension = in.attrs<SortAttrs>().dimensions[0];
    permutation_ = other_dimensions(in[0].shape().rank(), {&dimension, 1});
    permutation_.push_back(dimension);
    length_ = in[0].shape().dimension(dimension);
    for (const Literal& operand : in.operands) values_.push_back(permuted(operand, permutation_));
  }

  StatusOr<Literal> run() {
    const bool has_work = in_[0].element_count() > 0;
    if (has_work) HEDDLE_RETURN_IF_ERROR(find_keys());
    std::vector<Literal> results;
    for (const Literal& each : values_) results.push_back(Literal::uninitialised(each.shape()));
    for (int64_t start = 0; has_work && start < in_[0].element_count(); start += length_) {
      HEDDLE_ASSIGN_OR_RETURN(const Order order,
                              keys_.empty() ? order_by_calls(start) : order_by_keys(start));
      for (size_t i = 0; i < values_.size(); ++i) gather(values_[i], start, order, results[i]);
    }
    for (size_t i = 0; i < results.size(); ++i) {
      results[i] = permuted(results[i], inverse_of(permutation_)).reshaped(in_[i].shape());
    }
    return in_.result().is_tuple() ? Literal::tuple(std::move(results)) : std::move(results[0]);
  }

 private:
  // Evaluates the keys of all rows at once. None: the comparator is of another form.
  Status find_keys() {
    const auto keys = sort_keys(in_.caller.computation(0));
    if (!keys) return {};
    std::vector<Literal> sides;  // the expressions read the left sides only
    for (const Literal& each : values_) sides.insert(sides.end(), 2, each);
    for (const SortKey& key : *keys) {
      HEDDLE_ASSIGN_OR_RETURN(const Literal values, in_.caller.map(0, key.left, sides));
      keys_.push_back(encode(values, key));
    }
    return {};
  }

  // The last key first: those before it keep the order that they have.
  Order order_by_digits(int64_t start) const {
    Order order(static_cast<size_t>(length_));
    std::iota(order.begin(), order.end(), int64_t{0});
    for (size_t k = keys_.size(); k-- > 0;) {
      const std::span keys(keys_[k].data() + start, order.size());
      const auto [least, most] = std::ranges::minmax(keys);
      if (std::max<uint64_t>(most - least, order.size()) <= std::numeric_limits<uint32_t>::max()) {
        order_by_short_key(keys, least, order);
      } else {
        order_by_key(keys, order);
      }
    }
    return order;
  }

  static void order_by_key(std::span<const uint64_t> keys, Order& order) {
    std::vector<Ranked> rows(order.size());
    for (size_t i = 0; i < rows.size(); ++i)
      rows[i] = {keys[static_cast<size_t>(order[i])], order[i]};
    sort_by_digits<64, 8>(rows, [](const Ranked& row) { return row.first; });
    for (size_t i = 0; i < rows.size(); ++i) order[i] = rows[i].second;
  }

  // Key and position are one number: half of what is moved.
  static void order_by_short_key(std::span<const uint64_t> keys, uint64_t least, Order& order) {
    std::vector<uint64_t> rows(order.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto position = static_cast<uint64_t>(order[i]);
      rows[i] = (keys[position] - least) << 32 | position;
    }
    const auto key_of = [](uint64_t row) { return row >> 32; };
    order.size() < kFewestOfLongDigits ? sort_by_digits<32, 8>(rows, key_of)
                                       : sort_by_digits<32, 11>(rows, key_of);
    for (size_t i = 0; i < rows.size(); ++i)
      order[i] = static_cast<int64_t>(rows[i] & std::numeric_limits<uint32_t>::max());
  }

  Order order_by_keys(int64_t start) const {
    if (is_stable_ && length_ >= kLongRow) return order_by_digits(start);
    std::vector<Ranked> first(static_cast<size_t>(length_));
    for (int64_t i = 0; i < length_; ++i)
      first[static_cast<size_t>(i)] = {keys_[0][static_cast<size_t>(start + i)], i};
    std::sort(first.begin(), first.end(), [&](const auto& a, const auto& b) {
      if (a.first != b.first) return a.first < b.first;
      for (size_t k = 1; k < keys_.size(); ++k) {
        const uint64_t left = keys_[k][static_cast<size_t>(start + a.second)];
        const uint64_t right = keys_[k][static_cast<size_t>(start + b.second)];
        if (left != right) return left < right;
      }
      return is_stable_ && a.second < b.second;
    });
    Order order;
    order.reserve(first.size());
    for (const auto& [key, i] : first) order.push_back(i);
    return order;
  }

  // From the stable order to that of std::sort. Ranks stand for the comparator, so that one that
  // contradicts itself cannot lead std::sort out of the row.
  StatusOr<Order> unsettled(int64_t start, Order order) {
    Order ranks(order.size());
    for (size_t i = 1; i < order.size(); ++i) {
      HEDDLE_ASSIGN_OR_RETURN(const bool differs, is_less(start + order[i - 1], start + order[i]));
      ranks[static_cast<size_t>(order[i])] =
          ranks[static_cast<size_t>(order[i - 1])] + (differs ? 1 : 0);
    }
    std::iota(order.begin(), order.end(), int64_t{0});
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return ranks[static_cast<size_t>(a)] < ranks[static_cast<size_t>(b)];
    });
    return order;
  }

  // Merges runs of doubling length, a call of the comparator for each comparison. Whatever the
  // comparator says, it ends and loses no element.
  StatusOr<Order> order_by_calls(int64_t start) {
    Order order(static_cast<size_t>(length_)), merged(order.size());
    std::iota(order.begin(), order.end(), int64_t{0});
    make_sides();
    for (size_t width = 1; width < order.size(); width *= 2) {
      for (size_t low = 0; low < order.size(); low += 2 * width) {
        const size_t middle = std::min(low + width, order.size());
        const size_t high = std::min(middle + width, order.size());
        HEDDLE_RETURN_IF_ERROR(merge(start, {order.data() + low, middle - low},
                                     {order.data() + middle, high - middle}, merged.data() + low));
      }
      std::swap(order, merged);
    }
    return is_stable_ ? order : unsettled(start, std::move(order));
  }

  Status merge(int64_t start, std::span<const int64_t> left, std::span<const int64_t> right,
               int64_t* to) {
    while (!left.empty() && !right.empty()) {
      HEDDLE_ASSIGN_OR_RETURN(const bool right_first, is_less(start + right[0], start + left[0]));
      std::span<const int64_t>& from = right_first ? right : left;
      *to++ = from[0];
      from = from.subspan(1);
    }
    to = std::copy(left.begin(), left.end(), to);
    std::copy(right.begin(), right.end(), to);
    return {};
  }

  void make_sides() {
    sides_.clear();
    for (const Literal& each : values_) {
      for (int side = 0; side < 2; ++side) sides_.emplace_back(Shape::scalar(each.shape().dtype()));
    }
  }

  StatusOr<bool> is_less(int64_t left, int64_t right) {
    for (size_t i = 0; i < values_.size(); ++i) {
      const auto width = static_cast<size_t>(sides_[2 * i].byte_size());
      std::memcpy(sides_[2 * i].mutable_bytes(),
                  values_[i].bytes() + static_cast<size_t>(left) * width, width);
      std::memcpy(sides_[2 * i + 1].mutable_bytes(),
                  values_[i].bytes() + static_cast<size_t>(right) * width, width);
    }
    HEDDLE_RETURN_IF_ERROR(in_.caller.call_on(0, sides_, less_));
    return less_.values<bool>()[0];
  }

  static void gather(const Literal& values, int64_t start, const Order& order, Literal& to) {
    const auto width = static_cast<size_t>(storage_bytes(values.shape().dtype()));
    const std::byte* from = values.bytes() + static_cast<size_t>(start) * width;
    std::byte* out = to.mutable_bytes() + static_cast<size_t>(start) * width;
    for (size_t i = 0; i < order.size(); ++i) {
      std::memcpy(out + i * width, from + static_cast<size_t>(order[i]) * width, width);
    }
  }

  EvalArgs& in_;
  const bool is_stable_;
  std::vector<int64_t> permutation_;
  int64_t length_ = 0;
  std::vector<Literal> values_;
  std::vector<std::vector<uint64_t>> keys_;
  std::vector<Literal> sides_;  // scalars: left and right of each operand
  Literal less_;
};

StatusOr<Literal> evaluate_sort(EvalArgs& in) { return Sorter(in).run(); }

}  // namespace

const Evaluation kSortEvaluation = {.evaluate = evaluate_sort};

}  // namespace heddle::interpreter
