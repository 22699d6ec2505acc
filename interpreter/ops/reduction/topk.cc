#include "heddle/interpreter/ops/reduction/topk.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

// A number that orders as the element does.
uint64_t order_key(DType dtype, const std::byte* element) {
  uint64_t bits = 0;
  std::memcpy(&bits, element, static_cast<size_t>(storage_bytes(dtype)));
  const bool has_sign = dtype != f8e8m0fnu && (is_floating(dtype) || is_signed(dtype));
  if (!has_sign) return bits;
  const int64_t width = is_floating(dtype) ? bit_width(dtype) : 8 * storage_bytes(dtype);
  const uint64_t sign = uint64_t{1} << (width - 1);
  const uint64_t all = sign | (sign - 1);
  if (is_floating(dtype) && (bits & sign) != 0)
    return ~bits & all;  // the larger the pattern, the smaller the number
  return bits ^ sign;
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
  const int64_t rows = k == 0 ? 0 : values.element_count() / k;
  for (int64_t row = 0; row < rows; ++row) {
    const std::byte* from = x.bytes() + static_cast<size_t>(row) * length * width;
    for (size_t i = 0; i < length; ++i) keys[i] = order_key(dtype, from + i * width);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      const uint64_t left = keys[static_cast<size_t>(a)], right = keys[static_cast<size_t>(b)];
      return largest ? left > right : left < right;
    });
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
