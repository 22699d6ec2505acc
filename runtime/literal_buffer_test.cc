#include "heddle/runtime/internal/literal_buffer.h"

#include <gtest/gtest.h>

#include "heddle/interpreter/backend.h"

namespace heddle::runtime {
namespace {

// However large a mutex is, which stands before them.
TEST(LiteralBuffer, HoldsItsFewBytesAlignedAsLiteralsAre) {
  const auto backend = interpreter::make_backend();
  const Shape shape(u8, {LiteralBuffer::kFewBytes});
  std::vector<std::unique_ptr<LiteralBuffer>> buffers;
  for (int i = 0; i < 20; ++i) {
    buffers.push_back(std::make_unique<LiteralBuffer>(*backend->devices()[0], shape));
    LiteralBuffer& buffer = *buffers.back();
    const auto end = reinterpret_cast<std::byte*>(&buffer) + sizeof buffer;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.few()) % 64, 0U);
    EXPECT_LE(buffer.few() + LiteralBuffer::kFewBytes, end);
  }
}

}  // namespace
}  // namespace heddle::runtime
