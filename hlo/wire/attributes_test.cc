// Every opcode: its attributes, each with a value of its own, go to a message and come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heddle/hlo/wire/internal/codec.h"
#include "heddle/hlo/wire/proto/heddle_hlo.pb.h"

namespace heddle::hlo::wire {
namespace {

// Values that differ from one another and from any default.
class Filler {
 public:
  void fill(int64_t& value) { value = ++next_; }
  void fill(float& value) { value = static_cast<float>(++next_); }
  void fill(bool& value) { value = !value; }
  void fill(std::string& value) { value = base::cat("text", ++next_); }
  void fill(Shape& value) { value = Shape(f32, {++next_}); }
  void fill(Literal& value) { value = Literal::scalar(s64, ++next_); }
  void fill(Sharding& value) {
    value = {.type = Sharding::Type::kOther, .tile_dimensions = {++next_}};
  }
  void fill(ReplicaGroups& value) { value.groups = {{++next_, ++next_}, {++next_}}; }
  void fill(std::vector<Dims>& lists) { lists = {{++next_, ++next_}}; }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void fill(Enum& value) { value = static_cast<Enum>(1); }
  template <class T>
  void fill(std::vector<T>& values) {
    values.resize(2);
    for (T& value : values) fill(value);
  }
  template <class T>
  void fill(base::Box<T>& value) {
    fill(value.mutate());
  }
  template <HasFields Struct>
  void fill(Struct& value) {
    for_each_field(value, [this](std::string_view, auto& member) { this->fill(member); });
  }

 private:
  int64_t next_ = 1;
};

Attrs filled(Opcode opcode) {
  return visit_struct(opcode, []<class Struct>(std::type_identity<Struct>) -> Attrs {
    Struct attrs;
    Filler().fill(attrs);
    // the only kind on the wire
    if constexpr (std::is_same_v<Struct, DomainAttrs>) attrs.kind = "sharding";
    return attrs;
  });
}

constexpr Opcode kOpcodes[] = {
#define HEDDLE_OP(enumerator, text, Struct, operands, called, traits) Opcode::enumerator,
#include "heddle/hlo/opcodes.def"
#undef HEDDLE_OP
};

std::string test_name(const ::testing::TestParamInfo<Opcode>& info) {
  std::string name(to_string(info.param));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class EveryOpcode : public ::testing::TestWithParam<Opcode> {};

TEST_P(EveryOpcode, AttributesAreEqualAfterARoundTripAndNothingIsLeft) {
  Instruction instruction;
  instruction.opcode = GetParam();
  instruction.attrs = filled(GetParam());
  instruction.shape = Shape::scalar(s64);
  proto::HloInstructionProto message;
  write_attrs(instruction, message);
  ASSERT_TRUE(message.ParseFromString(message.SerializeAsString()));
  const StatusOr<Attrs> back = take_attrs(GetParam(), instruction.shape, message);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(*back == instruction.attrs) << message.DebugString();
  EXPECT_EQ(message.ByteSizeLong(), 0u) << message.DebugString();
}

INSTANTIATE_TEST_SUITE_P(All, EveryOpcode, ::testing::ValuesIn(kOpcodes), test_name);

proto::HloInstructionProto written(Opcode opcode, Attrs attrs, size_t operands = 2) {
  Instruction instruction;
  instruction.opcode = opcode;
  instruction.attrs = std::move(attrs);
  instruction.operands.resize(operands);
  proto::HloInstructionProto message;
  write_attrs(instruction, message);
  return message;
}

TEST(WireAttributes, DotWithoutDimensionsStillHasItsMessage) {
  EXPECT_TRUE(written(Opcode::kDot, DotAttrs{}).has_dot_dimension_numbers());
}

TEST(WireAttributes, DefaultPrecisionIsWrittenForEachOperand) {
  EXPECT_EQ(written(Opcode::kDot, DotAttrs{}).precision_config().operand_precision_size(), 2);
}

TEST(WireAttributes, GroupCountsThatAreNotThereAreOne) {
  auto message = written(Opcode::kConvolution, ConvolutionAttrs{});
  message.clear_feature_group_count();
  const StatusOr<Attrs> attrs = take_attrs(Opcode::kConvolution, Shape::scalar(f32), message);
  ASSERT_TRUE(attrs.ok()) << attrs.status();
  EXPECT_EQ(attrs->get<ConvolutionAttrs>().feature_group_count, 1);
}

TEST(WireAttributes, CarriesThatAreNotCountedAreHalfOfTheOperands) {
  proto::HloInstructionProto message;
  for (int64_t id : {1, 2, 3, 4}) message.add_operand_ids(id);
  const StatusOr<Attrs> attrs = take_attrs(Opcode::kScan, Shape::tuple({}), message);
  ASSERT_TRUE(attrs.ok()) << attrs.status();
  EXPECT_EQ(attrs->get<ScanAttrs>().num_carries, 2);
}

TEST(WireAttributes, NoCarriesIsNotTheSameAsNotCounted) {
  auto message = written(Opcode::kScan, ScanAttrs{.dimensions = {0}, .num_carries = 0}, 4);
  ASSERT_TRUE(message.ParseFromString(message.SerializeAsString()));
  const StatusOr<Attrs> attrs = take_attrs(Opcode::kScan, Shape::tuple({}), message);
  ASSERT_TRUE(attrs.ok()) << attrs.status();
  EXPECT_EQ(attrs->get<ScanAttrs>().num_carries, 0);
}

TEST(WireAttributes, IsAssociativeHasXlasNumbers) {
  EXPECT_EQ(written(Opcode::kScan, ScanAttrs{}).is_associative(), 0);
  EXPECT_EQ(written(Opcode::kScan, ScanAttrs{.is_associative = TriState::kTrue}).is_associative(),
            1);
  EXPECT_EQ(written(Opcode::kScan, ScanAttrs{.is_associative = TriState::kFalse}).is_associative(),
            2);
}

TEST(WireAttributes, KindsOfConvolutionsHaveXlasNumbers) {
  ConvolutionAttrs attrs;
  for (const auto& [kind, number] : {std::pair{ConvolutionKind::kFprop, 1},
                                     {ConvolutionKind::kDgrad, 2},
                                     {ConvolutionKind::kWgrad, 3}}) {
    attrs.convolution_kind = kind;
    EXPECT_EQ(written(Opcode::kConvolution, attrs, 2).conv_kind(), number);
  }
}

TEST(WireAttributes, InferredDimensionThatIsNoneIsNotWritten) {
  EXPECT_EQ(written(Opcode::kReshape, ReshapeAttrs{}).dimensions_size(), 0);
}

TEST(WireAttributes, ReplicaGroupsOfADeviceListAreRead) {
  proto::HloInstructionProto message;
  message.mutable_collective_device_list()->add_replica_groups()->add_replica_ids(3);
  const StatusOr<Attrs> attrs = take_attrs(Opcode::kAllGather, Shape(f32, {1}), message);
  ASSERT_TRUE(attrs.ok()) << attrs.status();
  EXPECT_EQ(attrs->get<CollectiveAttrs>().replica_groups.groups, std::vector<Dims>{{3}});
}

TEST(WireAttributes, IotaReplicaGroupsAreEqualAfterARoundTrip) {
  CollectiveAttrs attrs;
  attrs.replica_groups = {.iota_tile = {3, 10}, .iota_reshape = {6, 5}, .iota_transpose = {1, 0}};
  auto message = written(Opcode::kAllGather, attrs);
  const StatusOr<Attrs> back = take_attrs(Opcode::kAllGather, Shape(f32, {1}), message);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(*back == Attrs(attrs));
}

TEST(WireAttributes, EnumValueThatIsNotKnownIsAnError) {
  auto message = written(Opcode::kDot, DotAttrs{});
  message.mutable_precision_config()->set_algorithm(99);
  EXPECT_EQ(base::message_of(take_attrs(Opcode::kDot, Shape::scalar(f32), message).status()),
            "algorithm: value 99 is not known");
}

TEST(WireAttributes, ElidedConstantHasNoLiteral) {
  Instruction constant;
  constant.opcode = Opcode::kConstant;
  constant.shape = Shape(f32, {1000});
  constant.attrs = ConstantAttrs{Literal::elided(constant.shape)};
  proto::HloInstructionProto message;
  write_attrs(constant, message);
  EXPECT_FALSE(message.has_literal());
  EXPECT_TRUE(take_attrs(Opcode::kConstant, constant.shape, message)
                  ->get<ConstantAttrs>()
                  .literal.is_elided());
}

TEST(WireAttributes, ConstantIsWrittenInTheLayoutOfItsInstruction) {
  Instruction constant;
  constant.opcode = Opcode::kConstant;
  constant.shape = Shape(s32, {2, 2});
  constant.attrs = ConstantAttrs{Literal::from<int32_t>(constant.shape, {1, 2, 3, 4})};
  constant.shape.set_layout({.minor_to_major = {0, 1}});
  proto::HloInstructionProto message;
  write_attrs(constant, message);
  EXPECT_THAT(message.literal().s32s(), ::testing::ElementsAre(1, 3, 2, 4));
}

TEST(WireAttributes, SliceSizesAreCutByTheRankOfTheOperand) {
  CollectivePermuteAttrs attrs;
  attrs.slice_sizes = {{1, 2, 3, 4}};
  const Shape operand(f32, {8, 8});
  const Shape* operands[] = {&operand};
  EXPECT_EQ(cut_slice_sizes(operands, attrs).get<CollectivePermuteAttrs>().slice_sizes,
            (std::vector<Dims>{{1, 2}, {3, 4}}));
}

}  // namespace
}  // namespace heddle::hlo::wire
