#include "heddle/interpreter/ops/movement/indices.h"

#include <algorithm>
#include <type_traits>

#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

template <class T>
int64_t as_index(T value) {
  if constexpr (std::is_same_v<T, uint64_t>)
    return static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX));
  return static_cast<int64_t>(value);
}

// Calls visit(T{}) with the type that stores the integer dtype: those under 8 bits are kept in
// bytes.
template <class Visit>
decltype(auto) visit_integer(DType dtype, Visit&& visit) {
  switch (storage_bytes(dtype)) {
    case 1: return is_signed(dtype) ? visit(int8_t{}) : visit(uint8_t{});
    case 2: return is_signed(dtype) ? visit(int16_t{}) : visit(uint16_t{});
    case 4: return is_signed(dtype) ? visit(int32_t{}) : visit(uint32_t{});
    default: return is_signed(dtype) ? visit(int64_t{}) : visit(uint64_t{});
  }
}

}  // namespace

int64_t index_at(const Literal& indices, int64_t position) {
  return visit_integer(indices.shape().dtype(), [&]<class T>(T) {
    return as_index(reinterpret_cast<const T*>(indices.bytes())[position]);
  });
}

std::vector<int64_t> all_indices(const Literal& indices) {
  std::vector<int64_t> out(static_cast<size_t>(indices.element_count()));
  visit_integer(indices.shape().dtype(), [&]<class T>(T) {
    const T* from = reinterpret_cast<const T*>(indices.bytes());
    for (size_t i = 0; i < out.size(); ++i) out[i] = as_index(from[i]);
  });
  return out;
}

}  // namespace heddle::interpreter
