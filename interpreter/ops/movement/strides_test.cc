// Strided copies against one that goes index by index.
#include "heddle/hlo/literal/strides.h"

#include <gtest/gtest.h>

#include "heddle/interpreter/ops/movement/index_testing.h"

namespace heddle::interpreter {
namespace {

using namespace hlo;
using namespace index_testing;

// Random strides: the dimensions of a row-major array with gaps, in any order, some walked
// backwards.
struct Layout {
  std::vector<int64_t> strides;
  int64_t start = 0;
  int64_t elements = 1;
};

Layout random_layout(Random& random, const std::vector<int64_t>& dims) {
  Layout out{.strides = std::vector<int64_t>(dims.size())};
  for (int64_t d : random.permutation(dims.size())) {
    const auto at = static_cast<size_t>(d);
    const int64_t step = out.elements * random.in(1, 2);
    out.strides[at] = step;
    out.elements = step * std::max<int64_t>(dims[at], 1);
    if (random.in(0, 3) == 0) {
      out.start += (dims[at] - 1) * step;
      out.strides[at] = -step;
    }
  }
  return out;
}

int64_t offset(const Layout& layout, const Index& index) {
  int64_t offset = layout.start;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * layout.strides[d];
  return offset;
}

TEST(CopyStrided, MovesEveryElementAndNoOther) {
  for (uint32_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto dims = random.dims(5, random.in(0, 4) == 0 ? 70 : 6);
    Layout to = random_layout(random, dims);
    Layout from = random_layout(random, dims);
    if (!dims.empty() && random.coin()) from.strides[0] = 0;
    if (to.elements > 1000000 || from.elements > 1000000) continue;
    const DType type = random.width();
    const int64_t width = storage_bytes(type);
    const Literal source = random.array(Shape(type, {from.elements}));
    Literal got = random.array(Shape(type, {to.elements}));
    Literal want = got;
    for_each_index(dims, [&](const Index& index) {
      set(want, {offset(to, index)}, at(source, {offset(from, index)}));
    });
    copy_strided(got.mutable_bytes() + to.start * width, to.strides,
                 source.bytes() + from.start * width, from.strides, dims, width);
    ASSERT_TRUE(got == want);
  }
}

TEST(Fill, WritesAllAndNoMore) {
  for (DType type : kWidths) {
    for (int64_t count : {0, 1, 3, 16, 100, 257, 5000}) {
      Random random(static_cast<uint32_t>(count));
      const Literal value = random.array(Shape::scalar(type));
      Literal got = random.array(Shape(type, {count + 2}));
      const Literal before = got;
      fill(got.mutable_bytes() + storage_bytes(type), count, value.bytes(), storage_bytes(type));
      const Literal want = build(got.shape(), [&](const Index& i) {
        return i[0] == 0 || i[0] == count + 1 ? at(before, i) : at(value, {});
      });
      EXPECT_TRUE(got == want) << to_string(type) << " " << count;
    }
  }
}

}  // namespace
}  // namespace heddle::interpreter
