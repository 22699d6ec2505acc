
#include <complex>
#include <cstring>

#include "heddle/base/support_test.h"
#include "heddle/hlo/wire.h"
#include "heddle/hlo/wire/proto/heddle_hlo.pb.h"

namespace heddle::hlo {
namespace {

constexpr DType kElementTypes[] = {
#define HEDDLE_X(enumerator, text, number, bits, bytes, kind) DType::enumerator,
    HEDDLE_DTYPES(HEDDLE_X)
#undef HEDDLE_X
};

std::string error_of(const proto::LiteralProto& message) {
  StatusOr<Literal> literal = literal_from_proto(message.SerializeAsString());
  return literal.ok() ? "" : base::message_of(literal.status());
}

proto::LiteralProto message_of_literal(const Literal& literal) {
  proto::LiteralProto message;
  EXPECT_TRUE(message.ParseFromString(literal_to_proto(literal)));
  return message;
}

// Elements 0, 1, .. of any type, in range for it.
Literal counting(const Shape& shape) {
  Literal literal(shape);
  const int64_t width = storage_bytes(shape.dtype());
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    const int64_t last = bit_width(shape.dtype()) == 1 ? 1 : 3;
    literal.mutable_bytes()[i * width] =
        static_cast<std::byte>(i % (last + 1) - (is_signed(shape.dtype()) ? 1 : 0));
    if (is_signed(shape.dtype())) {  // -1 fills the higher bytes too
      const int fill = i % (last + 1) == 0 ? 0xFF : 0;
      std::memset(literal.mutable_bytes() + i * width + 1, fill, static_cast<size_t>(width - 1));
    }
    if (bit_width(shape.dtype()) == 2 && is_signed(shape.dtype()) && i % 4 == 3)
      literal.mutable_bytes()[i] = std::byte{0xFE};
    if (shape.dtype() == s1)
      literal.mutable_bytes()[i] = static_cast<std::byte>(i % 2 == 0 ? 0xFF : 0);
  }
  return literal;
}

class EveryType : public ::testing::TestWithParam<DType> {};

TEST_P(EveryType, LiteralIsEqualAfterARoundTrip) {
  const Literal literal = counting(Shape(GetParam(), {2, 3}));
  StatusOr<Literal> back = literal_from_proto(literal_to_proto(literal));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, literal);
}

TEST_P(EveryType, ColumnMajorLiteralIsEqualAfterARoundTrip) {
  Shape shape(GetParam(), {2, 3, 2});
  shape.set_layout({.minor_to_major = {0, 2, 1}});
  const Literal literal = counting(shape);
  StatusOr<Literal> back = literal_from_proto(literal_to_proto(literal));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, literal);
  EXPECT_EQ(back->shape(), shape);
}

TEST_P(EveryType, EmptyLiteralIsEqualAfterARoundTrip) {
  const Literal literal{Shape(GetParam(), {2, 0})};
  StatusOr<Literal> back = literal_from_proto(literal_to_proto(literal));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, literal);
}

TEST_P(EveryType, OneElementTooFewIsAnError) {
  proto::LiteralProto message = message_of_literal(counting(Shape(GetParam(), {4})));
  message.mutable_shape()->set_dimensions(0, 5);
  EXPECT_THAT(error_of(message), HasSubstr("[5] comes with "));
}

INSTANTIATE_TEST_SUITE_P(All, EveryType, ::testing::ValuesIn(kElementTypes),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST(WireLiteral, ElementsLieInTheOrderOfTheLayout) {
  Shape shape(s32, {2, 3});
  shape.set_layout({.minor_to_major = {0, 1}});
  const auto message = message_of_literal(Literal::from<int32_t>(shape, {1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(message.s32s(), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(message.shape().layout().minor_to_major(), ElementsAre(0, 1));
}

TEST(WireLiteral, ComplexNumbersAreInterleaved) {
  const auto message =
      message_of_literal(Literal::from<std::complex<float>>(Shape(c64, {2}), {{1, 2}, {3, 4}}));
  EXPECT_THAT(message.c64s(), ElementsAre(1, 2, 3, 4));
}

TEST(WireLiteral, SmallIntegersTakeAByteEachWithoutTheirSign) {
  const auto message = message_of_literal(Literal::from<int8_t>(Shape(s4, {3}), {-8, -1, 7}));
  EXPECT_EQ(message.s4s(), std::string("\x08\x0f\x07", 3));
}

TEST(WireLiteral, SmallIntegersAreSignExtendedWhenRead) {
  proto::LiteralProto message =
      message_of_literal(Literal::from<int8_t>(Shape(s4, {3}), {0, 0, 0}));
  message.set_s4s(std::string("\x08\xff\x07", 3));  // one with its upper bits set
  const StatusOr<Literal> literal = literal_from_proto(message.SerializeAsString());
  ASSERT_TRUE(literal.ok());
  EXPECT_THAT(literal->values<int8_t>(), ElementsAre(-8, -1, 7));
}

TEST(WireLiteral, NestedTupleIsEqualAfterARoundTrip) {
  const Literal literal =
      Literal::tuple({Literal::scalar(f32, 1.5), Literal::tuple({}), Literal(Shape::token()),
                      Literal::tuple({counting(Shape(bf16, {3}))})});
  StatusOr<Literal> back = literal_from_proto(literal_to_proto(literal));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, literal);
}

TEST(WireLiteral, NotANumberKeepsItsBits) {
  const uint32_t bits = 0x7fc12345;
  float nan;
  std::memcpy(&nan, &bits, 4);
  const Literal literal = Literal::from<float>(Shape(f32, {1}), {nan});
  EXPECT_EQ(*literal_from_proto(literal_to_proto(literal)), literal);
}

TEST(WireLiteral, TerabytesThatAreNotThereAreNotAllocated) {
  proto::LiteralProto message = message_of_literal(counting(Shape(f32, {4})));
  message.mutable_shape()->set_dimensions(0, int64_t{1} << 40);
  EXPECT_EQ(error_of(message),
            "literal: f32[1099511627776] comes with 16 bytes; takes 4398046511104");
}

TEST(WireLiteral, TupleWithOneElementTooFewIsAnError) {
  auto message =
      message_of_literal(Literal::tuple({Literal::scalar(f32, 1.0), Literal::scalar(f32, 2.0)}));
  message.mutable_tuple_literals()->RemoveLast();
  EXPECT_EQ(error_of(message), "literal: (f32[], f32[]) comes with 1 elements");
}

TEST(WireLiteral, NoShapeIsAnError) { EXPECT_EQ(error_of({}), "literal: has no shape"); }

TEST(WireLiteral, TuplesNestedTooDeepAreAnError) {
  proto::LiteralProto message;
  proto::ShapeProto* shape = message.mutable_shape();
  for (int i = 0; i < 70; ++i) {
    shape->set_element_type(proto::TUPLE);
    shape = shape->add_tuple_shapes();
  }
  shape->set_element_type(proto::TOKEN);
  EXPECT_THAT(error_of(message), HasSubstr("tuples nest deeper than 64"));
}

}  // namespace
}  // namespace heddle::hlo
