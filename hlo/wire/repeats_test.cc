#include "heddle/hlo/wire/internal/repeats.h"

#include <gtest/gtest.h>

#include "heddle/hlo/builder.h"
#include "heddle/hlo/wire.h"
#include "heddle/hlo/wire/proto/heddle_hlo.pb.h"

namespace heddle::hlo {
namespace {

// A chain of n negations of f32[2], as a message.
proto::HloModuleProto chain(int n) {
  Module module;
  ComputationBuilder builder(module, "main");
  InstructionId x = builder.parameter(Shape(f32, {2}));
  for (int i = 0; i < n; ++i) x = *builder.add(Opcode::kNegate, {x});
  module.entry = module.add(std::move(builder).finish(x));
  proto::HloModuleProto message;
  EXPECT_TRUE(message.ParseFromString(to_proto(module)));
  return message;
}

proto::HloInstructionProto& at(proto::HloModuleProto& message, int i) {
  return *message.mutable_computations(0)->mutable_instructions(i);
}

const InstructionExtras& extras_of(const Module& module, size_t i) {
  return *module.computations[0].instructions[i].extras;
}

Sharding devices(int64_t n) {
  return {.type = Sharding::Type::kOther, .tile_dimensions = {n}, .iota_reshape = {n}};
}

// Values that come back after others, parts that some have and others have not, more values than
// are remembered.
TEST(Repeats, EveryInstructionHasItsOwnExtras) {
  constexpr int kCount = 500;
  auto message = chain(kCount);
  for (int i = 0; i < kCount; ++i) {
    auto& to = at(message, i);
    if (i % 3 != 0)
      to.mutable_metadata()->set_op_name(std::string(static_cast<size_t>(i % 200), 'n'));
    if (i % 5 != 0) to.mutable_sharding()->set_type(proto::OpSharding::OTHER);
    if (i % 5 != 0) to.mutable_sharding()->add_tile_assignment_dimensions(i % 2 + 1);
    if (i % 5 != 0) to.mutable_sharding()->add_iota_reshape_dims(i % 2 + 1);
    if (i % 7 == 0) continue;
    auto& entry = *to.mutable_frontend_attributes()->add_map();
    entry.set_key("k");
    entry.set_value(std::to_string(i % 4));
  }
  const auto module = from_proto(message.SerializeAsString());
  ASSERT_TRUE(module.ok()) << module.status();
  for (int i = 0; i < kCount; ++i) {
    InstructionExtras want;
    if (i % 3 != 0) want.metadata.op_name = std::string(static_cast<size_t>(i % 200), 'n');
    if (i % 5 != 0) want.sharding = base::Box(devices(i % 2 + 1));
    if (i % 7 != 0) want.frontend_attributes = {{"k", std::to_string(i % 4)}};
    EXPECT_EQ(extras_of(*module, static_cast<size_t>(i)), want) << i;
    EXPECT_EQ(module->computations[0].instructions[static_cast<size_t>(i)].extras.has_value(),
              want != InstructionExtras())
        << i;
  }
}

proto::HloInstructionProto named(const char* op_name) {
  proto::HloInstructionProto out;
  out.mutable_metadata()->set_op_name(op_name);
  out.mutable_shape()->set_element_type(proto::F32);
  return out;
}

using wire::Repeats;
constexpr auto kMetadata = Repeats::Field::kMetadata;
constexpr auto kShape = Repeats::Field::kShape;

TEST(Repeats, LeavesOutWhatAnEarlierInstructionHad) {
  const std::string a = named("a").SerializeAsString(), b = named("b").SerializeAsString();
  Repeats repeats;
  EXPECT_EQ(repeats.strip(a, 0), a);
  EXPECT_FALSE(repeats.earlier(kMetadata) || repeats.earlier(kShape));
  proto::HloInstructionProto rest;
  ASSERT_TRUE(rest.ParseFromString(std::string(repeats.strip(b, 1))));
  EXPECT_EQ(rest.metadata().op_name(), "b");
  EXPECT_FALSE(rest.has_shape() || repeats.earlier(kMetadata));
  EXPECT_EQ(repeats.earlier(kShape), 0u);
  EXPECT_EQ(repeats.strip(b, 2), "");
  EXPECT_EQ(repeats.earlier(kMetadata), 1u);
}

// The parser puts both together: nobody may take the message for its first half.
TEST(Repeats, LeavesFieldsThatStandTwiceToTheParser) {
  proto::HloInstructionProto more;
  more.mutable_metadata()->set_source_file("f.py");
  const std::string once = named("a").SerializeAsString();
  const std::string twice = once + more.SerializeAsString();
  Repeats repeats;
  EXPECT_EQ(repeats.strip(twice, 0), twice);
  EXPECT_EQ(repeats.strip(once, 1), once);
  EXPECT_EQ(repeats.strip(twice, 2), twice);
  EXPECT_FALSE(repeats.earlier(kMetadata) || repeats.earlier(kShape));
}

TEST(Repeats, LeavesBytesThatAreNoFieldsToTheParser) {
  const std::string good = named("a").SerializeAsString();
  Repeats repeats;
  EXPECT_EQ(repeats.strip(good, 0), good);
  for (const std::string& tail :
       {std::string("\x3a\x7f"), std::string("\x3a"), std::string(1, '\0')}) {
    const std::string bad = good.substr(0, good.size() / 2) + tail;
    EXPECT_EQ(repeats.strip(bad, 1), bad);
    EXPECT_FALSE(repeats.earlier(kMetadata) || repeats.earlier(kShape));
  }
}

}  // namespace
}  // namespace heddle::hlo
