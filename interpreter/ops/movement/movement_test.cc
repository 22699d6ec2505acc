// Ops that move elements, against definitions that go index by index, on random shapes and every
// width of element.
#include <gtest/gtest.h>

#include "heddle/base/support_test.h"
#include "heddle/interpreter/ops/movement/index_testing.h"
#include "heddle/interpreter/ops/op_testing.h"

namespace heddle::interpreter {
namespace {

using namespace index_testing;
using namespace op_testing;

constexpr uint32_t kSeeds = 150;

class Movement : public ::testing::TestWithParam<uint32_t> {
 protected:
  Random random{GetParam()};
  Literal x = random.array(Shape(random.width(), random.dims(4, 5)));
  const Shape& shape() const { return x.shape(); }
  const std::vector<int64_t>& dims() const { return x.shape().dimensions(); }
};
INSTANTIATE_TEST_SUITE_P(Random, Movement, ::testing::Range(0u, kSeeds));

TEST_P(Movement, BroadcastRepeatsAlongNewDimensions) {
  std::vector<int64_t> sizes = random.dims(2, 4);
  for (int64_t size : dims()) sizes.push_back(size);
  // where each goes in the result
  const std::vector<int64_t> order = random.permutation(sizes.size());
  std::vector<int64_t> result(sizes.size());
  for (size_t d = 0; d < sizes.size(); ++d) result[static_cast<size_t>(order[d])] = sizes[d];
  const Dims map(order.end() - shape().rank(), order.end());
  const Literal want = build(shape().with_dimensions(result), [&](const Index& i) {
    Index from;
    for (int64_t d : map) from.push_back(i[static_cast<size_t>(d)]);
    return at(x, from);
  });
  EXPECT_EQ(evaluate(Opcode::kBroadcast, {x}, DimensionsAttrs{map}, want.shape()), want);
}

TEST_P(Movement, TransposePermutesIndices) {
  const Dims order = random.permutation(dims().size());
  Dims result;
  for (int64_t d : order) result.push_back(shape().dimension(d));
  const Literal want = build(shape().with_dimensions(result), [&](const Index& i) {
    Index from(i.size());
    for (size_t d = 0; d < i.size(); ++d) from[static_cast<size_t>(order[d])] = i[d];
    return at(x, from);
  });
  EXPECT_EQ(evaluate(Opcode::kTranspose, {x}, DimensionsAttrs{order}), want);
}

TEST_P(Movement, ReverseCountsFromTheEnd) {
  Dims flipped;
  for (int64_t d : random.permutation(dims().size())) {
    if (random.coin()) flipped.push_back(d);
  }
  const Literal want = build(shape(), [&](Index i) {
    for (int64_t d : flipped)
      i[static_cast<size_t>(d)] = shape().dimension(d) - 1 - i[static_cast<size_t>(d)];
    return at(x, i);
  });
  EXPECT_EQ(evaluate(Opcode::kReverse, {x}, DimensionsAttrs{flipped}), want);
}

TEST_P(Movement, SliceStepsFromStartToLimit) {
  SliceAttrs attrs;
  Dims result;
  for (int64_t size : dims()) {
    const int64_t limit = random.in(0, size);
    const SliceDimension range{random.in(0, limit), limit, random.in(1, 3)};
    attrs.slice.push_back(range);
    int64_t count = 0;
    for (int64_t i = range.start; i < range.limit; i += range.stride) ++count;
    result.push_back(count);
  }
  const Literal want = build(shape().with_dimensions(result), [&](Index i) {
    for (size_t d = 0; d < i.size(); ++d)
      i[d] = attrs.slice[d].start + i[d] * attrs.slice[d].stride;
    return at(x, i);
  });
  EXPECT_EQ(evaluate(Opcode::kSlice, {x}, attrs), want);
}

TEST_P(Movement, ConcatenateStandsEachAfterTheLast) {
  if (shape().rank() == 0) return;
  const int64_t dim = random.in(0, shape().rank() - 1);
  const auto along = static_cast<size_t>(dim);
  std::vector<Literal> parts = {x};
  std::vector<Index> sources;  // (part, index in it) by index of the joined dimension
  Dims sizes = dims();
  for (int64_t i = random.in(0, 3); i > 0; --i) {
    sizes[along] = random.in(0, 4);
    parts.push_back(random.array(shape().with_dimensions(sizes)));
  }
  for (size_t p = 0; p < parts.size(); ++p) {
    for (int64_t i = 0; i < parts[p].shape().dimension(dim); ++i)
      sources.push_back({static_cast<int64_t>(p), i});
  }
  sizes[along] = static_cast<int64_t>(sources.size());
  const Literal want = build(shape().with_dimensions(sizes), [&](Index i) {
    const Index& source = sources[static_cast<size_t>(i[along])];
    i[along] = source[1];
    return at(parts[static_cast<size_t>(source[0])], i);
  });
  EXPECT_EQ(evaluate(Opcode::kConcatenate, parts, DimensionsAttrs{{dim}}), want);
}

TEST_P(Movement, PadPutsEachElementAtItsPlaceOrDropsIt) {
  PadAttrs attrs;
  Dims result;
  for (int64_t size : dims()) {
    const PadDimension pad{random.in(-4, 4), random.in(-4, 4), random.in(0, 2)};
    const int64_t spread = size + std::max<int64_t>(size - 1, 0) * pad.interior;
    const int64_t crop = std::max<int64_t>(-(spread + pad.low + pad.high), 0);
    attrs.padding.push_back({pad.low, pad.high + crop, pad.interior});
    result.push_back(spread + pad.low + pad.high + crop);
  }
  const Literal value = random.array(Shape::scalar(shape().dtype()));
  Literal want =
      build(shape().with_dimensions(result), [&](const Index&) { return at(value, {}); });
  for_each_index(dims(), [&](const Index& i) {
    Index to = i;
    for (size_t d = 0; d < to.size(); ++d) {
      to[d] = attrs.padding[d].low + i[d] * (attrs.padding[d].interior + 1);
      if (to[d] < 0 || to[d] >= result[d]) return;
    }
    set(want, to, at(x, i));
  });
  EXPECT_EQ(evaluate(Opcode::kPad, {x, value}, attrs), want);
}

// Starts of any integer type, some out of range; and what they are once clamped.
struct Starts {
  std::vector<Literal> operands;
  Index clamped;
};

Starts random_starts(Random& random, const Dims& sizes, const Dims& block) {
  Starts out;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const DType type =
        std::vector<DType>{s8, s32, s64, u8, u32}[static_cast<size_t>(random.in(0, 4))];
    const int64_t start = random.in(is_unsigned(type) ? 0 : -3, 8);
    out.operands.push_back(Literal::scalar(type, start));
    out.clamped.push_back(std::min(std::max<int64_t>(start, 0), sizes[d] - block[d]));
  }
  return out;
}

Index sum(Index a, const Index& b) {
  for (size_t d = 0; d < a.size(); ++d) a[d] += b[d];
  return a;
}

TEST_P(Movement, DynamicSliceClampsItsStart) {
  Dims block;
  for (int64_t size : dims()) block.push_back(random.in(0, size));
  const Starts starts = random_starts(random, dims(), block);
  const Literal want = build(shape().with_dimensions(block),
                             [&](const Index& i) { return at(x, sum(starts.clamped, i)); });
  std::vector<Literal> operands = starts.operands;
  operands.insert(operands.begin(), x);
  EXPECT_EQ(evaluate(Opcode::kDynamicSlice, operands, DynamicSliceAttrs{block}), want);
}

TEST_P(Movement, DynamicUpdateSliceReplacesTheBlockAndNothingElse) {
  Dims block;
  for (int64_t size : dims()) block.push_back(random.in(0, size));
  const Starts starts = random_starts(random, dims(), block);
  const Literal update = random.array(shape().with_dimensions(block));
  Literal want = x;
  for_each_index(block, [&](const Index& i) { set(want, sum(starts.clamped, i), at(update, i)); });
  std::vector<Literal> operands = starts.operands;
  operands.insert(operands.begin(), {x, update});
  const Literal before = build(shape(), [&](const Index& i) { return at(x, i); });
  EXPECT_EQ(evaluate(Opcode::kDynamicUpdateSlice, operands, NoAttrs{}), want);
  EXPECT_EQ(x, before) << "a shared operand was written";
}

TEST_P(Movement, ReshapeKeepsRowMajorOrder) {
  const Shape flat(shape().dtype(), {1, shape().element_count(), 1});
  const Literal want = build(flat, [&](const Index& i) {
    Index from;
    for (int64_t d = shape().rank(), rest = i[1]; d-- > 0; rest /= shape().dimension(d)) {
      from.insert(from.begin(), rest % shape().dimension(d));
    }
    return at(x, from);
  });
  EXPECT_EQ(evaluate(Opcode::kReshape, {x}, ReshapeAttrs{}, flat), want);
}

// Position in memory of an index, by the layout.
int64_t place(const Shape& shape, const Index& index) {
  int64_t place = 0;
  int64_t stride = 1;
  for (int64_t d : shape.minor_to_major()) {
    place += index[static_cast<size_t>(d)] * stride;
    stride *= shape.dimension(d);
  }
  return place;
}

Shape with_layout(Shape shape, std::vector<int64_t> minor_to_major) {
  Layout layout;
  layout.minor_to_major = std::move(minor_to_major);
  shape.set_layout(layout);
  return shape;
}

TEST_P(Movement, BitcastKeepsTheOrderInMemory) {
  const Shape from = with_layout(shape(), random.permutation(dims().size()));
  const std::vector<int64_t> order = random.permutation(dims().size());
  Dims sizes;
  for (int64_t d : order) sizes.push_back(shape().dimension(d));
  const Shape to = with_layout(shape().with_dimensions(sizes), random.permutation(dims().size()));
  std::vector<std::string> memory(static_cast<size_t>(x.element_count()));
  for_each_index(dims(),
                 [&](const Index& i) { memory[static_cast<size_t>(place(from, i))] = at(x, i); });
  const Literal want =
      build(to, [&](const Index& i) { return memory[static_cast<size_t>(place(to, i))]; });
  EXPECT_EQ(evaluate(Opcode::kBitcast, {x.reshaped(from)}, NoAttrs{}, to), want);
}

TEST(Reshape, SharesTheBytes) {
  const Literal x(Shape(f32, {2, 3}));
  EXPECT_EQ(evaluate(Opcode::kReshape, {x}, ReshapeAttrs{}, Shape(f32, {6})).bytes(), x.bytes());
  EXPECT_EQ(evaluate(Opcode::kBitcast, {x}, NoAttrs{}, Shape(s32, {3, 2})).bytes(), x.bytes());
}

TEST(Bitcast, OfElementsUnderAByteIsReadAsTheOtherType) {
  const Literal minus_two = Literal::scalar(f4e2m1fn, -2.0);  // 1100
  const Literal as_signed = evaluate(Opcode::kBitcast, {minus_two}, NoAttrs{}, Shape(s4, {}));
  EXPECT_EQ(as_signed.to_int64(0), -4);
  EXPECT_EQ(evaluate(Opcode::kBitcast, {as_signed}, NoAttrs{}, Shape(u4, {})).to_int64(0), 12);
  EXPECT_EQ(evaluate(Opcode::kBitcast, {as_signed}, NoAttrs{}, Shape(f4e2m1fn, {})), minus_two);
}

TEST(Bitcast, RefusesTiles) {
  Layout tiled;
  tiled.minor_to_major = {1, 0};
  tiled.tiles = {{8, 128}};
  Shape to(f32, {3, 2});
  to.set_layout(tiled);
  auto value =
      op_testing::try_evaluate(Opcode::kBitcast, {Literal(Shape(f32, {2, 3}))}, NoAttrs{}, to);
  EXPECT_EQ(base::message_of(value.status()),
            "bitcast: x f32[2,3] or the result f32[3,2] has a tiled layout, whose padding the "
            "interpreter does not hold");
}

TEST(DynamicSlice, TakesStartsAsOneVectorToo) {
  const Literal x = op_testing::array(s32, {0, 1, 2, 3, 4, 5}).reshaped(Shape(s32, {2, 3}));
  const Literal starts = op_testing::array(s32, {1, 7});
  EXPECT_EQ(integers(evaluate(Opcode::kDynamicSlice, {x, starts}, DynamicSliceAttrs{{1, 2}})),
            (std::vector<int64_t>{4, 5}));
}

TEST(DynamicSlice, ReadsUnsignedStartsAsLarge) {
  const Literal x = op_testing::array(s32, {0, 1, 2, 3});
  const Literal start = Literal::from<uint64_t>(Shape::scalar(u64), {UINT64_MAX});
  EXPECT_EQ(integers(evaluate(Opcode::kDynamicSlice, {x, start}, DynamicSliceAttrs{{2}})),
            (std::vector<int64_t>{2, 3}));
}

TEST(DynamicUpdateSlice, WritesInPlaceWhenNobodyElseHoldsX) {
  std::vector<Literal> operands = {Literal(Shape(f32, {4})), Literal(Shape(f32, {1})),
                                   Literal::scalar(s32, int64_t{2})};
  const std::byte* bytes = operands[0].bytes();
  Instruction instruction;
  instruction.opcode = Opcode::kDynamicUpdateSlice;
  instruction.shape = Shape(f32, {4});
  op_testing::NoCaller caller;
  EvalArgs args{instruction, operands, caller};
  EXPECT_EQ(evaluation(Opcode::kDynamicUpdateSlice).evaluate.rule()(args)->bytes(), bytes);
}

TEST(Pad, TakesHugePaddingThatCancels) {
  const Literal x = op_testing::array(s32, {1, 2, 3});
  const Literal value = Literal::scalar(s32, int64_t{9});
  constexpr int64_t kHuge = INT64_MAX - 5;
  EXPECT_EQ(integers(evaluate(Opcode::kPad, {x, value}, PadAttrs{{{-kHuge, kHuge, 0}}})),
            (std::vector<int64_t>{9, 9, 9}));
  EXPECT_EQ(integers(evaluate(Opcode::kPad, {op_testing::array(s32, {1}), value},
                              PadAttrs{{{1, 0, INT64_MAX}}})),
            (std::vector<int64_t>{9, 1}));
}

TEST(Iota, CountsAlongItsDimensionInEveryType) {
  for (DType type : {s8, u4, bf16, f32, f64, c64, c128}) {
    const Literal got = evaluate(Opcode::kIota, {}, IotaAttrs{1}, Shape(type, {2, 3, 2}));
    EXPECT_EQ(numbers(got), (std::vector<double>{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}))
        << to_string(type);
  }
}

TEST(Iota, CountsPastABlock) {
  const Literal got = evaluate(Opcode::kIota, {}, IotaAttrs{0}, Shape(s32, {3000}));
  for (int64_t i = 0; i < 3000; ++i) ASSERT_EQ(got.to_int64(i), i);
}

TEST(Iota, WrapsWhereTheTypeIsNarrow) {
  const Literal got = evaluate(Opcode::kIota, {}, IotaAttrs{0}, Shape(s8, {130}));
  EXPECT_EQ(got.to_int64(128), -128);
}

TEST(Constant, IsItsLiteral) {
  const Literal value = op_testing::array(f32, {1, 2});
  EXPECT_EQ(evaluate(Opcode::kConstant, {}, ConstantAttrs{value}, value.shape()), value);
}

TEST(Constant, ThatWasElidedHasNoValue) {
  const Shape shape(f32, {2});
  auto value =
      op_testing::try_evaluate(Opcode::kConstant, {}, ConstantAttrs{Literal::elided(shape)}, shape);
  EXPECT_EQ(base::message_of(value.status()),
            "constant: its value was elided as {...} when it was printed; print it in full");
}

TEST(Ids, AreZeroOnOneDevice) {
  EXPECT_EQ(evaluate(Opcode::kReplicaId, {}, NoAttrs{}, Shape::scalar(u32)).to_int64(0), 0);
  EXPECT_EQ(evaluate(Opcode::kPartitionId, {}, NoAttrs{}, Shape::scalar(u32)).to_int64(0), 0);
}

TEST(GetDimensionSize, IsTheSizeOfAStaticDimension) {
  EXPECT_EQ(evaluate(Opcode::kGetDimensionSize, {Literal(Shape(f32, {2, 7}))}, DimensionsAttrs{{1}})
                .to_int64(0),
            7);
}

TEST(GetDimensionSize, OfADynamicDimensionIsTheBoundWhichArraysFill) {
  Shape dynamic(f32, {4});
  dynamic.set_dynamic_dimension(0, true);
  EXPECT_EQ(
      evaluate(Opcode::kGetDimensionSize, {Literal(dynamic)}, DimensionsAttrs{{0}}).to_int64(0), 4);
}

TEST(Tuple, AndItsElementsShareBytes) {
  const Literal a = op_testing::array(f32, {1, 2});
  const Literal b = Literal::scalar(s32, int64_t{3});
  const Literal pair = evaluate(Opcode::kTuple, {a, b});
  EXPECT_EQ(to_string(pair.shape()), "(f32[2], s32[])");
  EXPECT_EQ(evaluate(Opcode::kGetTupleElement, {pair}, TupleIndexAttrs{0}).bytes(), a.bytes());
  EXPECT_EQ(evaluate(Opcode::kOptBarrier, {pair}).element(1).bytes(), b.bytes());
}

TEST(Tokens, ComeOutOfTokens) {
  const Literal token = evaluate(Opcode::kAfterAll, {Literal(Shape::token())});
  EXPECT_EQ(to_string(token.shape()), "token[]");
  const Literal x = op_testing::array(f32, {1});
  EXPECT_EQ(evaluate(Opcode::kAddDependency, {x, token}).bytes(), x.bytes());
}

}  // namespace
}  // namespace heddle::interpreter
