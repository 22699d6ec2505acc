#include "heddle/runtime/host/direct.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <new>
#include <optional>

#include "heddle/base/metrics/counters.h"
#include "heddle/base/system/of_this_thread.h"
#include "heddle/base/system/pool.h"
#include "heddle/hlo/literal/array_memory.h"
#include "heddle/runtime/internal/literal_buffer.h"

namespace heddle::runtime {
namespace {

std::optional<size_t> type_number(DType dtype) {
  switch (dtype) {
    case DType::kF32: return 0;
    case DType::kF64: return 1;
    case DType::kS32: return 2;
    case DType::kS64: return 3;
    default: return std::nullopt;
  }
}

// Of copies: a program is faster at many pieces of a few elements.
constexpr int64_t kShortPiece = 64;  // bytes
constexpr int64_t kManyPieces = 256;

// Plain arrays whose bytes the host reads.
bool is_small(const Buffer& buffer) {
  const Shape& shape = buffer.shape();
  return buffer.size_bytes() <= kMostDirectBytes && !shape.is_dynamic() && !shape.has_layout();
}

// The bytes of an operand, while this lives.
class Pinned {
 public:
  explicit Pinned(const DirectOperand& operand)
      : buffer_(static_cast<LiteralBuffer*>(operand.buffer)),  // of a device that has kernels
        bytes_(buffer_ ? buffer_->pin() : operand.number) {}
  ~Pinned() {
    if (buffer_ != nullptr && bytes_ != nullptr) buffer_->unpin();
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  [[nodiscard]] const void* bytes() const { return bytes_; }

 private:
  LiteralBuffer* buffer_;
  const void* bytes_;
};

// The types of results that are not their operand's own: few, so that most calls make none.
enum class Derived : uint8_t { kTruths, kRow };
struct DerivedShapes {
  struct Entry {
    Shape from, to;
    Derived which = Derived::kTruths;
  };
  std::array<Entry, 8> entries;
};

Shape make_derived(const Shape& from, Derived which) {
  if (which == Derived::kTruths) return from.with_dtype(pred);
  const auto& sizes = from.dimensions();
  return from.with_dimensions(std::vector<int64_t>(sizes.begin() + 1, sizes.end()));
}

Shape derived(const Shape& from, Derived which) {
  auto* known = base::of_this_thread<DerivedShapes>();
  if (known == nullptr) return make_derived(from, which);
  const auto place = static_cast<size_t>(from.byte_size()) / 4 + static_cast<size_t>(which);
  DerivedShapes::Entry& entry = known->entries[place % known->entries.size()];
  if (entry.from != from || entry.which != which) entry = {from, make_derived(from, which), which};
  return entry.to;
}

// write(bytes) makes the value.
template <class Write>
BufferPtr result(Device& device, const Shape& shape, const Write& write) {
  try {
    if (shape.byte_size() <= LiteralBuffer::kFewBytes) {
      auto buffer = base::make_pooled<LiteralBuffer>(device, shape);
      write(buffer->few());
      return buffer;
    }
    Literal value = Literal::uninitialised(shape);
    write(value.mutable_bytes());
    return base::make_pooled<LiteralBuffer>(device, shape, shape.byte_size(),
                                            base::make_pooled<Slot>(std::move(value)));
  } catch (const std::bad_alloc&) {
    return nullptr;  // a program says what memory it lacks
  }
}

// The kernel of op(x, y), and the operand of the result's shape.
struct Choice {
  DirectKernel kernel = nullptr;  // null: none
  Buffer* whole = nullptr;
};

Choice choose(DirectOp op, const DirectOperand& x, const DirectOperand& y) {
  Buffer* whole = x.buffer != nullptr ? x.buffer : y.buffer;
  if (whole == nullptr) return {};
  DirectForm form = DirectForm::kArrays;
  if (x.buffer == nullptr || y.buffer == nullptr) {
    if (!is_unary(op))
      form = x.buffer == nullptr ? DirectForm::kFirstIsOne : DirectForm::kSecondIsOne;
  } else if (!same_type(x.buffer->shape(), y.buffer->shape())) {
    const Shape &of_x = x.buffer->shape(), &of_y = y.buffer->shape();
    if (of_x.dtype() != of_y.dtype() || (of_x.rank() > 0 && of_y.rank() > 0)) return {};
    form = of_x.rank() == 0 ? DirectForm::kFirstIsOne : DirectForm::kSecondIsOne;
    whole = of_x.rank() == 0 ? y.buffer : x.buffer;
  }
  const DirectKernels* kernels = whole->device().direct_kernels();
  const Shape& shape = whole->shape();
  const std::optional<size_t> type = type_number(shape.dtype());
  if (kernels == nullptr || !type || !is_small(*whole)) return {};
  if (x.buffer && y.buffer &&
      (&x.buffer->device() != &y.buffer->device() || x.buffer->shape().has_layout() ||
       y.buffer->shape().has_layout()))
    return {};
  return {kernels->table[static_cast<size_t>(op)][*type][static_cast<size_t>(form)], whole};
}

void count_run(const DirectOperand& x, const DirectOperand& y) {
  heddle::count(&Counters::executions);
  if (x.number != nullptr || y.number != nullptr) heddle::count(&Counters::number_operands);
}

}  // namespace

BufferPtr run_direct(DirectOp op, DirectOperand x, DirectOperand y) {
  const auto [kernel, whole] = choose(op, x, y);
  if (kernel == nullptr) return nullptr;
  const Pinned first(x), second(y);
  if (first.bytes() == nullptr || (!is_unary(op) && second.bytes() == nullptr)) return nullptr;
  const int64_t count = whole->shape().element_count();
  const bool gives_truths = is_comparison(op);
  BufferPtr made = result(
      whole->device(), gives_truths ? derived(whole->shape(), Derived::kTruths) : whole->shape(),
      [&, run = kernel](void* out) { run(first.bytes(), second.bytes(), out, count); });
  if (made != nullptr) count_run(x, y);
  return made;
}

bool run_direct_into(DirectOp op, DirectOperand x, DirectOperand y, Buffer& into) {
  if (is_comparison(op)) return false;
  const auto [kernel, whole] = choose(op, x, y);
  if (kernel == nullptr || (whole != &into && !same_type(whole->shape(), into.shape())))
    return false;
  std::byte* out = static_cast<LiteralBuffer&>(into).own_bytes();
  if (out == nullptr) return false;
  const Pinned first(x), second(y);
  if (first.bytes() == nullptr || (!is_unary(op) && second.bytes() == nullptr)) return false;
  kernel(first.bytes(), second.bytes(), out, whole->shape().element_count());
  count_run(x, y);
  count_in_place();
  return true;
}

const void* address_of(Buffer& buffer) { return Pinned({&buffer}).bytes(); }

namespace {

// Arrays of more bytes are left to programs, which share them among threads.
constexpr int64_t kMostBytes = int64_t{16} << 20;
// But a program for each number of parts takes longer to compile than they to copy.
constexpr size_t kManyParts = 8;

// Whether the bytes of such an array are written here.
bool can_write(Device& device, const Shape& shape) {
  return device.direct_kernels() != nullptr && bit_width(shape.dtype()) % 8 == 0;
}

}  // namespace

BufferPtr fill(Device& device, const Shape& shape, const void* element) {
  if (!can_write(device, shape) || shape.byte_size() > kMostBytes) return nullptr;
  BufferPtr made = result(device, shape, [&](void* out) {
    auto* to = static_cast<std::byte*>(out);
    const auto all = static_cast<size_t>(shape.byte_size());
    auto done = std::min(all, static_cast<size_t>(bit_width(shape.dtype()) / 8));
    std::memcpy(to, element, done);
    for (; done < all; done += std::min(done, all - done))
      std::memcpy(to + done, to, std::min(done, all - done));
  });
  if (made != nullptr) heddle::count(&Counters::executions);
  return made;
}

BufferPtr join(std::span<Buffer* const> parts, int64_t blocks, const Shape& shape) {
  Device& device = parts[0]->device();
  if (!can_write(device, shape) || shape.byte_size() == 0 ||
      (shape.byte_size() > kMostBytes && parts.size() < kManyParts))
    return nullptr;
  for (Buffer* part : parts) {
    const Shape& of_part = part->shape();
    if (&part->device() != &device || of_part.is_dynamic() || of_part.has_layout()) return nullptr;
    if (!part->await().ok()) return nullptr;
  }
  const int64_t block = shape.byte_size() / blocks;
  bool are_there = true;
  BufferPtr made = result(device, shape, [&](void* out) {
    auto* to = static_cast<std::byte*>(out);
    for (Buffer* part : parts) {
      const Pinned pinned({part});
      are_there = are_there && pinned.bytes() != nullptr;
      if (!are_there) return;
      const auto* from = static_cast<const std::byte*>(pinned.bytes());
      const int64_t share = part->size_bytes() / blocks;
      for (int64_t i = 0; i < blocks; ++i)
        std::memcpy(to + i * block, from + i * share, static_cast<size_t>(share));
      to += share;
    }
  });
  if (made == nullptr || !are_there) return nullptr;
  heddle::count(&Counters::executions);
  return made;
}

BufferPtr copy_row(Buffer& x, int64_t position) {
  const Shape& shape = x.shape();
  if (x.device().direct_kernels() == nullptr || shape.is_dynamic() || shape.has_layout())
    return nullptr;
  if (shape.rank() == 0 || position < 0 || position >= shape.dimension(0)) return nullptr;
  const int64_t row_bytes = x.size_bytes() / shape.dimension(0);
  if (row_bytes > kMostDirectBytes) return nullptr;
  const Pinned whole({&x});
  if (whole.bytes() == nullptr) return nullptr;
  const auto* from = static_cast<const std::byte*>(whole.bytes()) + position * row_bytes;
  BufferPtr made = result(x.device(), derived(shape, Derived::kRow), [&](void* out) {
    std::memcpy(out, from, static_cast<size_t>(row_bytes));
  });
  if (made == nullptr) return nullptr;
  heddle::count(&Counters::executions);
  heddle::count(&Counters::number_operands);
  return made;
}

BufferPtr copy_part(Buffer& x, std::span<const int64_t> starts, std::span<const int64_t> sizes,
                    const Shape& shape) {
  const Shape& from = x.shape();
  const int64_t bytes = shape.byte_size();
  if (!can_write(x.device(), shape) || bytes == 0 || bytes > kMostBytes || from.is_dynamic() ||
      from.has_layout() || !x.await().ok())
    return nullptr;
  // Axes behind the last one that is cut lie together.
  size_t cut = sizes.size();
  while (cut > 0 && sizes[cut - 1] == from.dimension(static_cast<int64_t>(cut) - 1)) --cut;
  int64_t run = bytes, pieces = 1;
  for (size_t d = 0; d + 1 < cut; ++d) pieces *= sizes[d];
  run /= pieces;
  if (run < kShortPiece && pieces > kManyPieces) return nullptr;
  std::vector<int64_t> steps(sizes.size());  // bytes
  int64_t step = shape.byte_size() / shape.element_count();
  for (size_t d = sizes.size(); d-- > 0; step *= from.dimension(static_cast<int64_t>(d)))
    steps[d] = step;
  const Pinned whole({&x});
  if (whole.bytes() == nullptr) return nullptr;
  BufferPtr made = result(x.device(), shape, [&](void* out) {
    const auto* first = static_cast<const std::byte*>(whole.bytes());
    for (size_t d = 0; d < sizes.size(); ++d) first += starts[d] * steps[d];
    auto* to = static_cast<std::byte*>(out);
    for (int64_t piece = 0; piece < pieces; ++piece, to += run) {
      const std::byte* at = first;
      int64_t rest = piece;
      for (size_t d = cut > 0 ? cut - 1 : 0; d-- > 0; rest /= sizes[d])
        at += rest % sizes[d] * steps[d];
      std::memcpy(to, at, static_cast<size_t>(run));
    }
  });
  if (made == nullptr) return nullptr;
  heddle::count(&Counters::executions);
  heddle::count(&Counters::number_operands, std::ssize(starts));
  return made;
}

}  // namespace heddle::runtime
