// Stable sorts of rows by integers, as rewrites/sorts/keyed_sorts.h writes them: a key and the
// position that has it are one number; digits are counted where rows are long. And topk.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/cpu/kernels/kernel.h"
#include "heddle/cpu/kernels/pool.h"
#include "heddle/cpu/kernels/products/matmul_table.h"
#include "heddle/hlo/attributes.h"
#include "heddle/interpreter/comparator.h"
#include "heddle/interpreter/topk.h"

namespace heddle::cpu {
namespace {

constexpr size_t kMostInserted = 24;                     // elements
constexpr size_t kMostCompared = 96;                     // elements
constexpr size_t kFewestOfLongDigits = size_t{1} << 14;  // elements, beside 3 x 2048 counters
constexpr int64_t kFewestShared = int64_t{1} << 13;  // elements of all rows, for several threads

// A wide key, and the position that has it.
struct Placed {
  uint64_t key;
  uint64_t position;
  friend bool operator<(const Placed& a, const Placed& b) {
    return a.key != b.key ? a.key < b.key : a.position < b.position;
  }
};
uint64_t position_of(const Placed& x) { return x.position; }
uint64_t key_of(const Placed& x) { return x.key; }

// A key of 32 bits above its position.
uint64_t position_of(uint64_t x) { return x & std::numeric_limits<uint32_t>::max(); }
uint64_t key_of(uint64_t x) { return x >> 32; }

// From the last digit of the keys on, which leaves equal ones in their order. Digits that all keys
// share cost nothing. Returns where the result is: in `from` or in `to`.
template <int kDigitBits, class T>
T* sort_by_digits(T* from, T* to, size_t count, uint64_t differing) {
  constexpr uint64_t kMost = (uint64_t{1} << kDigitBits) - 1;
  for (int shift = 0; shift < 64 && differing >> shift != 0; shift += kDigitBits) {
    if ((differing >> shift & kMost) == 0) continue;
    std::array<uint32_t, kMost + 1> ends = {};
    for (size_t i = 0; i < count; ++i) ++ends[key_of(from[i]) >> shift & kMost];
    uint32_t next = 0;
    for (uint32_t& end : ends) next += std::exchange(end, next);  // where each begins
    for (size_t i = 0; i < count; ++i) to[ends[key_of(from[i]) >> shift & kMost]++] = from[i];
    std::swap(from, to);
  }
  return from;
}

// Keys that are mostly in order cost least.
template <class T>
void insert_each(T* rows, size_t count) {
  for (size_t i = 1; i < count; ++i) {
    const T x = rows[i];
    size_t at = i;
    for (; at > 0 && x < rows[at - 1]; --at) rows[at] = rows[at - 1];
    rows[at] = x;
  }
}

template <class T>
T* sorted(T* rows, T* other, size_t count) {
  if (count <= kMostInserted) {
    insert_each(rows, count);
    return rows;
  }
  if (count <= kMostCompared) {
    std::sort(rows, rows + count);
    return rows;
  }
  uint64_t differing = 0;
  for (size_t i = 1; i < count; ++i) differing |= key_of(rows[i]) ^ key_of(rows[0]);
  return count < kFewestOfLongDigits ? sort_by_digits<8>(rows, other, count, differing)
                                     : sort_by_digits<11>(rows, other, count, differing);
}

template <class T>
void take(const std::byte* from, const uint32_t* order, size_t count, std::byte* to) {
  for (size_t i = 0; i < count; ++i)
    std::memcpy(to + i * sizeof(T), from + size_t{order[i]} * sizeof(T), sizeof(T));
}

class SortKernel final : public Kernel {
 public:
  SortKernel(const Shape& keys, bool is_descending, std::vector<size_t> widths)
      : length_(static_cast<size_t>(keys.dimensions().back())),
        rows_(keys.element_count() / keys.dimensions().back()),
        is_wide_(storage_bytes(keys.dtype()) == 8),
        widths_(std::move(widths)) {
    if (is_signed(keys.dtype())) flip_ = is_wide_ ? uint64_t{1} << 63 : uint64_t{1} << 31;
    if (is_descending) flip_ = ~flip_;
  }

  Status run(std::span<void* const> pointers) const override {
    const int64_t elements = rows_ * static_cast<int64_t>(length_);
    const int64_t parts =
        elements < kFewestShared ? 1 : std::min<int64_t>(rows_, 2 * thread_count());
    const auto part = [&](int64_t number) {
      const size_t each = length_ * (is_wide_ ? sizeof(Placed) : sizeof(uint64_t));
      const size_t bytes = 2 * each + length_ * sizeof(uint32_t);
      std::unique_ptr<std::byte[]> own;
      if (bytes > kMostKept) own = std::make_unique_for_overwrite<std::byte[]>(bytes);
      auto* scratch = own ? own.get() : static_cast<std::byte*>(matmul_scratch(bytes));
      for (int64_t row = rows_ * number / parts; row < rows_ * (number + 1) / parts; ++row)
        sort_row(pointers, static_cast<size_t>(row), scratch, each);
    };
    parts == 1 ? part(0) : parallel(parts, part);
    return {};
  }

 private:
  void sort_row(std::span<void* const> pointers, size_t row, std::byte* scratch,
                size_t bytes) const {
    auto* order = reinterpret_cast<uint32_t*>(scratch + 2 * bytes);
    if (is_wide_) {
      order_wide(static_cast<const uint64_t*>(pointers[0]) + row * length_, scratch, bytes, order);
    } else {
      const uint32_t* keys = static_cast<const uint32_t*>(pointers[0]) + row * length_;
      const auto flip = static_cast<uint32_t>(flip_);
      order_short([&](size_t i) { return keys[i] ^ flip; }, scratch, bytes, order);
    }
    for (size_t i = 0; i < widths_.size(); ++i) {
      const size_t at = row * length_ * widths_[i];
      const auto* from = static_cast<const std::byte*>(pointers[i]) + at;
      auto* to = static_cast<std::byte*>(pointers[widths_.size() + i]) + at;
      switch (widths_[i]) {
        case 1: take<uint8_t>(from, order, length_, to); break;
        case 2: take<uint16_t>(from, order, length_, to); break;
        case 4: take<uint32_t>(from, order, length_, to); break;
        case 8: take<uint64_t>(from, order, length_, to); break;
        default: take<std::array<uint64_t, 2>>(from, order, length_, to);
      }
    }
  }

  template <class KeyOf>
  void order_short(const KeyOf& key, std::byte* scratch, size_t bytes, uint32_t* order) const {
    auto* rows = reinterpret_cast<uint64_t*>(scratch);
    auto* other = reinterpret_cast<uint64_t*>(scratch + bytes);
    for (size_t i = 0; i < length_; ++i) rows[i] = static_cast<uint64_t>(key(i)) << 32 | i;
    set_order(sorted(rows, other, length_), order);
  }

  // Keys whose differences have 32 bits go as short ones.
  void order_wide(const uint64_t* keys, std::byte* scratch, size_t bytes, uint32_t* order) const {
    uint64_t least = keys[0] ^ flip_, most = least;
    for (size_t i = 1; i < length_; ++i) {
      least = std::min(least, keys[i] ^ flip_);
      most = std::max(most, keys[i] ^ flip_);
    }
    if (most - least <= std::numeric_limits<uint32_t>::max())
      return order_short([&](size_t i) { return (keys[i] ^ flip_) - least; }, scratch, bytes,
                         order);
    auto* rows = reinterpret_cast<Placed*>(scratch);
    auto* other = reinterpret_cast<Placed*>(scratch + bytes);
    for (size_t i = 0; i < length_; ++i) rows[i] = {keys[i] ^ flip_, i};
    set_order(sorted(rows, other, length_), order);
  }

  template <class T>
  void set_order(const T* rows, uint32_t* order) const {
    for (size_t i = 0; i < length_; ++i) order[i] = static_cast<uint32_t>(position_of(rows[i]));
  }

  size_t length_;
  int64_t rows_;
  bool is_wide_;
  std::vector<size_t> widths_;  // bytes of an element of each operand
  uint64_t flip_ = 0;           // what gives the keys unsigned order
};

class TopKKernel final : public Kernel {
 public:
  TopKKernel(Shape x, const hlo::TopKAttrs& attrs) : x_(std::move(x)), attrs_(attrs) {}

  Status run(std::span<void* const> pointers) const override {
    interpreter::top_k(x_, static_cast<const std::byte*>(pointers[0]), attrs_.k, attrs_.largest,
                       static_cast<std::byte*>(pointers[1]), static_cast<int32_t*>(pointers[2]));
    return {};
  }

 private:
  Shape x_;
  hlo::TopKAttrs attrs_;
};

}  // namespace

std::unique_ptr<Kernel> make_topk_kernel(const Shape& x, const hlo::TopKAttrs& attrs,
                                         std::unique_ptr<Kernel> rule) {
  if (is_complex(x.dtype()) || attrs.k == 0 || x.element_count() == 0) return rule;
  return std::make_unique<TopKKernel>(x, attrs);
}

std::unique_ptr<Kernel> make_sort_kernel(const hlo::Module& alone, std::unique_ptr<Kernel> rule) {
  const hlo::Computation& entry = alone.entry_computation();
  const hlo::Instruction& sort = entry.root_instruction();
  const auto& attrs = sort.attrs.get<hlo::SortAttrs>();
  const Shape& keys = entry.at(sort.operands[0]).shape;
  const hlo::Computation& comparator = alone.at(sort.called[0]);
  const auto found = interpreter::sort_keys(comparator);
  if (!found || found->size() != 1 || found->front().left != comparator.parameters[0] ||
      !is_integer(keys.dtype()) || storage_bytes(keys.dtype()) < 4 ||
      attrs.dimensions[0] != keys.rank() - 1 || keys.element_count() == 0 ||
      keys.dimensions().back() > std::numeric_limits<uint32_t>::max() ||
      (!attrs.is_stable && sort.operands.size() > 1))
    return rule;
  std::vector<size_t> widths;
  for (const hlo::InstructionId id : sort.operands)
    widths.push_back(static_cast<size_t>(storage_bytes(entry.at(id).shape.dtype())));
  return std::make_unique<SortKernel>(keys, found->front().is_descending, std::move(widths));
}

}  // namespace heddle::cpu
