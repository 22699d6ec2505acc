// Bytes from anywhere give an error or a module: never a crash, a hang or memory that the bytes do not pay for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "heddle/hlo/builder.h"
#include "heddle/hlo/proto/heddle_hlo.pb.h"
#include "heddle/hlo/verify.h"
#include "heddle/hlo/wire.h"

namespace heddle::hlo {
namespace {

using ::testing::HasSubstr;

// A loop with a constant, a tuple, a gather, and some of everything in its header.
std::string sample() {
  Module module;
  module.name = "sample";
  ComputationBuilder body(module, "body");
  auto p = body.parameter(Shape::tuple({Shape::scalar(s32), Shape(f32, {4, 2})}), "p");
  auto i = *body.add(Opcode::kGetTupleElement, {p}, TupleIndexAttrs{0});
  auto x = *body.add(Opcode::kGetTupleElement, {p}, TupleIndexAttrs{1});
  auto one = body.constant(Literal::scalar(s32, int64_t{1}));
  auto next = *body.add(Opcode::kAdd, {i, one});
  auto y = *body.add(Opcode::kReverse, {x}, DimensionsAttrs{{0}});
  ComputationId body_id = module.add(std::move(body).finish(*body.add(Opcode::kTuple, {next, y})));
  ComputationBuilder condition(module, "condition");
  auto q = condition.parameter(Shape::tuple({Shape::scalar(s32), Shape(f32, {4, 2})}));
  auto k = *condition.add(Opcode::kGetTupleElement, {q}, TupleIndexAttrs{0});
  auto limit = condition.constant(Literal::scalar(s32, int64_t{3}));
  auto less = *condition.add(Opcode::kCompare, {k, limit}, CompareAttrs{.direction = ComparisonDirection::kLt});
  ComputationId condition_id = module.add(std::move(condition).finish(less));
  ComputationBuilder main(module, "main");
  auto start = main.parameter(Shape::tuple({Shape::scalar(s32), Shape(f32, {4, 2})}));
  auto loop = *main.add(Opcode::kWhile, {start}, {}, {body_id, condition_id});
  main.mutable_at(loop).extras.mutate().backend_config = "{}";
  main.mutable_at(loop).extras.mutate().metadata.op_name = "loop";
  module.entry = module.add(std::move(main).finish(loop));
  module.extras.mutate().is_scheduled = true;
  return to_proto(module);
}

// Whatever comes out is a module that can be written and read again.
void expect_error_or_module(const std::string& bytes) {
  StatusOr<Module> module = from_proto(bytes);
  if (!module.ok()) {
    EXPECT_FALSE(module.status().message().empty());
    return;
  }
  EXPECT_TRUE(verify(*module).ok());
  EXPECT_TRUE(from_proto(to_proto(*module)).ok());
}

TEST(WireHostile, SampleIsGood) { EXPECT_TRUE(from_proto(sample()).ok()) << from_proto(sample()).status(); }

TEST(WireHostile, EveryPrefixGivesAnErrorOrAModule) {
  const std::string bytes = sample();
  for (size_t size = 0; size < bytes.size(); ++size) expect_error_or_module(bytes.substr(0, size));
}

TEST(WireHostile, EveryBitFlipGivesAnErrorOrAModule) {
  const std::string bytes = sample();
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    expect_error_or_module(flipped);
  }
}

TEST(WireHostile, RandomEditsGiveAnErrorOrAModule) {
  std::mt19937 random(20240719);
  const std::string bytes = sample();
  for (int round = 0; round < 2000; ++round) {
    std::string edited = bytes;
    for (int edit = 0; edit < 3; ++edit) {
      const size_t at = random() % edited.size();
      if (random() % 2 == 0) edited.erase(at, random() % 9);
      if (random() % 2 == 0) edited.insert(at, edited.substr(random() % edited.size(), random() % 40));
      if (!edited.empty()) edited[random() % edited.size()] = static_cast<char>(random());
    }
    expect_error_or_module(edited);
  }
}

TEST(WireHostile, NoBytesAreNoModule) { EXPECT_FALSE(from_proto("").ok()); }

TEST(WireHostile, TextIsNoModule) { EXPECT_FALSE(from_proto("HloModule m\nENTRY e { ROOT x = f32[] parameter(0) }").ok()); }

TEST(WireHostile, LengthBeyondTheEndIsAnError) {
  EXPECT_THAT(message_of(from_proto("\x1a\xff\xff\xff\xff\x07").status()), HasSubstr("is no serialised proto"));
}

proto::HloModuleProto sample_message() {
  proto::HloModuleProto message;
  EXPECT_TRUE(message.ParseFromString(sample()));
  return message;
}

TEST(WireHostile, DeepShardingIsAnError) {
  auto message = sample_message();
  auto* sharding = message.mutable_computations(0)->mutable_instructions(0)->mutable_sharding();
  for (int i = 0; i < 80; ++i) sharding = sharding->add_tuple_shardings();
  EXPECT_THAT(message_of(from_proto(message.SerializeAsString()).status()), HasSubstr("tuples nest deeper than 64"));
}

TEST(WireHostile, DeepShapeIsAnError) {
  auto message = sample_message();
  auto* shape = message.mutable_computations(0)->mutable_instructions(0)->mutable_shape();
  for (int i = 0; i < 5000; ++i) shape = shape->add_tuple_shapes();
  EXPECT_FALSE(from_proto(message.SerializeAsString()).ok());
}

TEST(WireHostile, RankBeyondTheLimitIsAnError) {
  auto message = sample_message();
  auto* shape = message.mutable_computations(0)->mutable_instructions(3)->mutable_shape();
  for (int i = 0; i < 100; ++i) shape->add_dimensions(1);
  EXPECT_THAT(message_of(from_proto(message.SerializeAsString()).status()), HasSubstr("has rank 100"));
}

TEST(WireHostile, LongChainsNeedNoStack) {
  auto message = sample_message();
  auto& computation = *message.mutable_computations(1);
  const int64_t first = 1000;
  for (int64_t i = 0; i < 50000; ++i) {  // each depends on the next: the worst order
    auto& instruction = *computation.add_instructions();
    instruction.set_name(cat("n", i));
    instruction.set_opcode("negate");
    *instruction.mutable_shape() = computation.instructions(2).shape();
    instruction.set_id(first + i);
    instruction.add_operand_ids(i == 49999 ? computation.instructions(2).id() : first + i + 1);
  }
  message.clear_schedule();
  EXPECT_TRUE(from_proto(message.SerializeAsString()).ok()) << from_proto(message.SerializeAsString()).status();
}

TEST(WireHostile, ErrorsDoNotRepeatWholeNames) {
  auto message = sample_message();
  message.mutable_computations(0)->mutable_instructions(0)->set_opcode(std::string(1 << 20, 'x'));
  EXPECT_LT(from_proto(message.SerializeAsString()).status().message().size(), 500u);
}

}  // namespace
}  // namespace heddle::hlo
