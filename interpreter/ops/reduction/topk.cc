#include "heddle/interpreter/topk.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

constexpr size_t kBlock = 32;     // elements that are looked at together
constexpr size_t kInserted = 16;  // that stand in order while the others are looked at

// Signed numbers that order as the elements of a type do, ascending in the order of the result.
template <class Key>
class OrderKeys {
 public:
  OrderKeys(DType dtype, bool largest) {
    const bool has_sign = dtype != f8e8m0fnu && (is_floating(dtype) || is_signed(dtype));
    if (is_floating(dtype)) shift_ = static_cast<int>(kBits - bit_width(dtype));
    // The larger the pattern of a negative float, the smaller the number.
    if (is_floating(dtype) && has_sign) if_negative_ = std::numeric_limits<Key>::max();
    if (!has_sign) always_ = std::numeric_limits<Key>::min();
    if (largest) always_ = static_cast<Key>(~always_);
  }

  Key of(Key bits) const {
    const Key x = static_cast<Key>(static_cast<std::make_unsigned_t<Key>>(bits) << shift_);
    return static_cast<Key>(x ^ ((x >> (kBits - 1)) & if_negative_) ^ always_);
  }

 private:
  static constexpr int kBits = 8 * sizeof(Key);
  int shift_ = 0;
  Key if_negative_ = 0, always_ = 0;
};

// The k first elements of a row: those that come before the k-th one of those that were looked at
// before are kept, 2 k at most. `Ranked` is a number: the key, and below it the position.
template <class Key>
class FirstOfRow {
  using Ranked = std::conditional_t<sizeof(Key) == 8, unsigned __int128, uint64_t>;

 public:
  FirstOfRow(DType dtype, bool largest, size_t k) : keys_(dtype, largest), k_(k), kept_(2 * k) {}

  // In order; positions in the low 32 bits.
  std::span<const Ranked> find(const std::byte* row, size_t length) {
    count_ = 0;
    is_full_ = false;
    size_t i = 0;
    for (; i + kBlock <= length; i += kBlock) look_at(row, i, kBlock);
    look_at(row, i, length - i);
    keep_first();
    const auto first = std::span(kept_).first(k_);
    std::sort(first.begin(), first.end());
    return first;
  }

 private:
  // From `at` on.
  void look_at(const std::byte* row, size_t at, size_t count) {
    std::array<Key, kBlock> keys = {};
    std::memcpy(keys.data(), row + at * sizeof(Key), count * sizeof(Key));
    Key some = 0;
    for (size_t i = 0; i < kBlock; ++i) {
      keys[i] = keys_.of(keys[i]);
      some |= static_cast<Key>(keys[i] < last_ ? 1 : 0);
    }
    if (is_full_ && some == 0) return;
    for (size_t i = 0; i < count; ++i) {
      if (is_full_ && keys[i] >= last_) continue;
      const Ranked next = ranked(keys[i], at + i);
      if (k_ <= kInserted) {
        insert(next);
      } else {
        kept_[count_++] = next;
        if (count_ == kept_.size()) keep_first();
      }
    }
  }

  // Among those that are kept, which are in order.
  void insert(Ranked next) {
    size_t at = is_full_ ? k_ - 1 : count_++;
    for (; at > 0 && kept_[at - 1] > next; --at) kept_[at] = kept_[at - 1];
    kept_[at] = next;
    if (count_ == k_) keep_first();
  }

  void keep_first() {
    if (count_ > k_)
      std::nth_element(kept_.begin(), kept_.begin() + static_cast<ptrdiff_t>(k_) - 1,
                       kept_.begin() + static_cast<ptrdiff_t>(count_));
    count_ = k_;
    last_ = static_cast<Key>((kept_[k_ - 1] >> 32) ^ kSign);
    is_full_ = true;
  }

  static constexpr Ranked kSign = Ranked{1} << (8 * sizeof(Key) - 1);
  static Ranked ranked(Key key, size_t position) {
    return (static_cast<std::make_unsigned_t<Key>>(key) ^ kSign) << 32 | position;
  }

  OrderKeys<Key> keys_;
  size_t k_, count_ = 0;
  Key last_ = 0;          // of the k-th one
  bool is_full_ = false;  // k are kept
  std::vector<Ranked> kept_;
};

template <class Key>
void find_first(const Shape& shape, const std::byte* row, int64_t k, bool largest,
                std::byte* values, int32_t* positions) {
  const auto length = static_cast<size_t>(shape.dimensions().back());
  const int64_t rows = shape.element_count() / shape.dimensions().back();
  FirstOfRow<Key> first(shape.dtype(), largest, static_cast<size_t>(k));
  for (int64_t i = 0; i < rows; ++i, row += length * sizeof(Key)) {
    for (const auto ranked : first.find(row, length)) {
      const auto at = static_cast<uint32_t>(ranked);
      *positions++ = static_cast<int32_t>(at);
      std::memcpy(values, row + at * sizeof(Key), sizeof(Key));
      values += sizeof(Key);
    }
  }
}

StatusOr<Literal> evaluate_topk(EvalArgs& in) {
  const auto& attrs = in.attrs<TopKAttrs>();
  if (is_complex(in[0].shape().dtype())) {
    return base::invalid_argument("topk: x is ", in[0].shape(),
                                  "; its elements must have an order");
  }
  return top_k(in[0], attrs.k, attrs.largest);
}

}  // namespace

Literal top_k(const Literal& x, int64_t k, bool largest) {
  std::vector<int64_t> sizes = x.shape().dimensions();
  sizes.back() = k;
  Literal values = Literal::uninitialised(x.shape().with_dimensions(sizes));
  Literal positions = Literal::uninitialised(Shape(s32, sizes));
  if (values.element_count() > 0)
    top_k(x.shape(), x.bytes(), k, largest, values.mutable_bytes(),
          positions.mutable_values<int32_t>().data());
  return Literal::tuple({std::move(values), std::move(positions)});
}

void top_k(const Shape& shape, const std::byte* x, int64_t k, bool largest, std::byte* values,
           int32_t* positions) {
  const auto find = [&](auto key) {
    find_first<decltype(key)>(shape, x, k, largest, values, positions);
  };
  switch (storage_bytes(shape.dtype())) {
    case 1: find(int8_t{}); break;
    case 2: find(int16_t{}); break;
    case 4: find(int32_t{}); break;
    default: find(int64_t{});
  }
}

const Evaluation kTopKEvaluation = {.evaluate = evaluate_topk};

}  // namespace heddle::interpreter
