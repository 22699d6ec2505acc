#include "heddle/runtime/host/rows.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "heddle/runtime/internal/literal_buffer.h"

namespace heddle::runtime {
namespace {

Shape of_rows(const Shape& shape, int64_t rows) {
  std::vector<int64_t> sizes(shape.dimensions().begin(), shape.dimensions().end());
  sizes[0] = rows;
  return shape.with_dimensions(std::move(sizes));
}

// Writes `pattern` over and over.
void repeat(std::byte* to, size_t size, const std::byte* pattern, size_t pattern_size) {
  if (size == 0 || pattern_size == 0) return;
  if (std::all_of(pattern, pattern + pattern_size, [](std::byte b) { return b == std::byte{0}; })) {
    std::memset(to, 0, size);
    return;
  }
  size_t done = std::min(size, pattern_size);
  std::memcpy(to, pattern, done);
  while (done < size) {  // what is there, doubled
    const size_t more = std::min(done, size - done);
    std::memcpy(to + done, to, more);
    done += more;
  }
}

// A buffer of so many rows, written by write(from, to).
template <class Write>
StatusOr<BufferPtr> copied(Buffer& x, int64_t rows, const Write& write) {
  auto* buffer = dynamic_cast<LiteralBuffer*>(&x);
  const Shape& shape = x.shape();
  if (buffer == nullptr || shape.rank() == 0 || shape.is_dynamic() || shape.has_layout())
    return BufferPtr();
  if (Status status = buffer->await(); !status.ok()) return status;
  const std::byte* from = buffer->pin();
  if (from == nullptr) return deleted_error("call", shape);
  struct Unpin {
    LiteralBuffer* pinned;
    ~Unpin() { pinned->unpin(); }
  } const unpin{buffer};
  try {
    Literal value = Literal::uninitialised(of_rows(shape, rows));
    write(from, value.mutable_bytes());
    const int64_t bytes = value.byte_size();
    Shape made = value.shape();
    return BufferPtr(std::make_shared<LiteralBuffer>(x.device(), std::move(made), bytes,
                                                     std::make_shared<Slot>(std::move(value))));
  } catch (const std::bad_alloc&) {
    return base::resource_exhausted("call: no memory for ", to_string(of_rows(shape, rows)));
  }
}

}  // namespace

StatusOr<BufferPtr> with_rows(Buffer& x, int64_t rows, const Literal& filler) {
  return copied(x, rows, [&](const std::byte* from, std::byte* to) {
    const auto have = static_cast<size_t>(x.size_bytes());
    const auto want = static_cast<size_t>(of_rows(x.shape(), rows).byte_size());
    if (have > 0) std::memcpy(to, from, have);
    if (filler.is_valid())
      return repeat(to + have, want - have, filler.bytes(),
                    static_cast<size_t>(filler.byte_size()));
    const size_t row = have / static_cast<size_t>(std::max<int64_t>(x.shape().dimension(0), 1));
    repeat(to + have, want - have, from + have - row, row);
  });
}

StatusOr<BufferPtr> first_rows(Buffer& x, int64_t rows) {
  return copied(x, rows, [&](const std::byte* from, std::byte* to) {
    const int64_t bytes = of_rows(x.shape(), rows).byte_size();
    if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
  });
}

}  // namespace heddle::runtime
