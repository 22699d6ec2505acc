#include "heddle/interpreter/ops/reduction/topk.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

// Numbers that order as the elements of a type do.
class OrderKey {
 public:
  explicit OrderKey(DType dtype)
      : is_floating_(is_floating(dtype)),
        has_sign_(dtype != f8e8m0fnu && (is_floating_ || is_signed(dtype))),
        sign_(uint64_t{1} << ((is_floating_ ? bit_width(dtype) : 8 * storage_bytes(dtype)) - 1)) {}

  uint64_t of(uint64_t bits) const {
    if (!has_sign_) return bits;
    // The larger the pattern of a negative float, the smaller the number.
    return is_floating_ && (bits & sign_) != 0 ? ~bits & (sign_ | (sign_ - 1)) : bits ^ sign_;
  }

 private:
  bool is_floating_, has_sign_;
  uint64_t sign_;
};

constexpr int64_t kFewest = 32;  // that stand in order while the others are looked at

// The keys of a row of elements of as many bytes as Bits has; `largest` come first.
template <class Bits>
void find_keys(const OrderKey& key, const std::byte* row, bool largest, std::span<uint64_t> keys) {
  for (size_t i = 0; i < keys.size(); ++i) {
    Bits bits;
    std::memcpy(&bits, row + i * sizeof(bits), sizeof(bits));
    keys[i] = largest ? ~key.of(bits) : key.of(bits);
  }
}

using FindKeys = void (*)(const OrderKey&, const std::byte*, bool, std::span<uint64_t>);

FindKeys find_keys_of(size_t bytes) {
  switch (bytes) {
    case 1: return find_keys<uint8_t>;
    case 2: return find_keys<uint16_t>;
    case 4: return find_keys<uint32_t>;
    default: return find_keys<uint64_t>;
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

// Leaves the first ones of the order at its beginning: each element of the row goes among those
// before it, if it comes before the last of them.
void insert_first(std::span<const uint64_t> keys, std::span<int32_t> first) {
  size_t count = 0;
  uint64_t last = UINT64_MAX;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (count == first.size() && keys[i] >= last) continue;
    size_t at = count < first.size() ? count++ : count - 1;
    for (; at > 0 && keys[static_cast<size_t>(first[at - 1])] > keys[i]; --at)
      first[at] = first[at - 1];
    first[at] = static_cast<int32_t>(i);
    last = keys[static_cast<size_t>(first[count - 1])];
  }
}

}  // namespace

Literal top_k(const Literal& x, int64_t k, bool largest) {
  const DType dtype = x.shape().dtype();
  const auto width = static_cast<size_t>(storage_bytes(dtype));
  std::vector<int64_t> sizes = x.shape().dimensions();
  const auto length = static_cast<size_t>(sizes.back());
  sizes.back() = k;
  Literal values = Literal::uninitialised(x.shape().with_dimensions(sizes));
  Literal positions = Literal::uninitialised(Shape(s32, sizes));
  std::byte* to = values.mutable_bytes();
  auto position = positions.mutable_values<int32_t>().begin();
  std::vector<uint64_t> keys(length);
  std::vector<int32_t> order(length);
  const OrderKey key(dtype);
  const FindKeys find_keys = find_keys_of(width);
  const bool is_few = 8 * static_cast<size_t>(k) < length;
  const int64_t rows = k == 0 ? 0 : values.element_count() / k;
  for (int64_t row = 0; row < rows; ++row) {
    const std::byte* from = x.bytes() + static_cast<size_t>(row) * length * width;
    find_keys(key, from, largest, keys);
    const auto is_before = [&](int32_t a, int32_t b) {
      const uint64_t left = keys[static_cast<size_t>(a)], right = keys[static_cast<size_t>(b)];
      return left != right ? left < right : a < b;  // of equal ones, the first
    };
    if (is_few && k <= kFewest) {
      insert_first(keys, std::span(order).first(static_cast<size_t>(k)));
    } else if (is_few) {
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + k, order.end(), is_before);
    } else {
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), is_before);
    }
    for (int64_t i = 0; i < k; ++i, to += width) {
      const int32_t at = order[static_cast<size_t>(i)];
      *position++ = at;
      std::memcpy(to, from + static_cast<size_t>(at) * width, width);
    }
  }
  return Literal::tuple({std::move(values), std::move(positions)});
}

const Evaluation kTopKEvaluation = {.evaluate = evaluate_topk};

}  // namespace heddle::interpreter
