// What a module becomes before a plugin compiles it, by the evaluator; and the options beside it.
#include "heddle/pjrt/internal/program.h"

#include <cmath>
#include <complex>
#include <random>

#include "heddle/base/support_test.h"
#include "heddle/hlo/verify.h"
#include "heddle/pjrt/internal/expand/expand.h"
#include "heddle/pjrt/support_test.h"

namespace heddle::pjrt {
namespace {

class MulhiOf : public ::testing::TestWithParam<DType> {};

TEST_P(MulhiOf, IsTheSameByOlderOps) {
  const DType dtype = GetParam();
  constexpr int64_t kCount = 400;
  const Shape shape(dtype, {kCount});
  Literal x(shape), y(shape);
  std::mt19937_64 random(11);
  for (Literal* literal : {&x, &y}) {
    for (int64_t i = 0; i < shape.byte_size(); ++i)
      literal->mutable_bytes()[i] = static_cast<std::byte>(random());
  }
  // Both extremes, against each other and against anything.
  const Literal least = Literal::scalar(dtype, INT64_MIN >> (64 - bit_width(dtype)));
  const Literal most = Literal::scalar(dtype, int64_t{-1});
  const auto width = static_cast<size_t>(storage_bytes(dtype));
  std::copy_n(least.bytes(), width, x.mutable_bytes());
  std::copy_n(least.bytes(), width, y.mutable_bytes());
  std::copy_n(most.bytes(), width, x.mutable_bytes() + width);
  std::copy_n(least.bytes(), width, y.mutable_bytes() + width);
  std::copy_n(most.bytes(), width, x.mutable_bytes() + 2 * width);
  std::copy_n(most.bytes(), width, y.mutable_bytes() + 2 * width);

  const hlo::Module module = module_of(
      base::cat("HloModule m\nENTRY e {\n x = ", dtype, "[400] parameter(0)\n y = ", dtype,
                "[400] parameter(1)\n ROOT m = ", dtype, "[400] mulhi(x, y)\n}"));
  const hlo::Module expanded = expand_mulhi(module).value();
  ASSERT_EQ(hlo::verify(expanded, hlo::Stage::kHlo), Status());
  EXPECT_THAT(hlo::print(expanded), Not(HasSubstr("mulhi")));
  EXPECT_EQ(interpreter::evaluate(expanded, {x, y}).value(),
            interpreter::evaluate(module, {x, y}).value());
}

INSTANTIATE_TEST_SUITE_P(Integers, MulhiOf, ::testing::Values(s8, u8, s16, u16, s32, u32, s64, u64),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST(Prepare, AliasesOfTheModuleAreLeftOut) {
  const hlo::Module module = module_of(R"(HloModule m, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY e {
  x = f32[2] parameter(0)
  ROOT y = f32[2] negate(x)
})");
  ASSERT_EQ(module.extras->input_output_alias.size(), 1u);
  EXPECT_TRUE(prepare(module, 114).value().extras->input_output_alias.empty());
  EXPECT_EQ(prepare(module, 114, {0}).value().extras->input_output_alias.size(), 1u);
}

TEST(Prepare, DonatedArgumentsArePairedWithResultsOfTheirType) {
  const hlo::Module module = module_of(R"(HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  n = s32[] parameter(1)
  y = f32[2] parameter(2)
  ROOT t = (s32[], f32[2]) tuple(n, x)
})");
  const auto aliases = prepare(module, 114, {0, 1, 2}).value().extras->input_output_alias;
  ASSERT_EQ(aliases.size(), 2u);  // there is no second result for y
  EXPECT_EQ(aliases[0].parameter, 0);
  EXPECT_EQ(aliases[0].output_index, (std::vector<int64_t>{1}));
  EXPECT_EQ(aliases[1].parameter, 1);
  EXPECT_EQ(aliases[1].output_index, (std::vector<int64_t>{0}));
}

TEST(Prepare, ATypeThatThePluginHasNotIsRefusedWithTheOp) {
  const hlo::Module module = module_of(R"(HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  narrow = f8e8m0fnu[2] convert(x)
  ROOT y = f32[2] convert(narrow)
})");
  EXPECT_TRUE(prepare(module, 63).ok());
  const Status status = prepare(module, 62).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_EQ(
      base::message_of(status),
      "compile m: convert narrow: arrays of f8e8m0fnu came with PJRT 0.63; convert to another "
      "type, or use a newer plugin");
}

TEST(Prepare, ProgramsOfSeveralDevicesAreRefused) {
  const hlo::Module module =
      module_of("HloModule m, replica_count=4\nENTRY e { ROOT x = f32[] parameter(0) }");
  EXPECT_EQ(base::message_of(prepare(module, 114).status()),
            "compile m: a program of 4 replicas and 1 partitions; compile it for as many devices "
            "(runtime/spmd.h)");
}

// The bytes that XLA was seen to take, and the options of a program behind them.
TEST(CompileOptions, AreXlasBytes) {
  EXPECT_EQ(compile_options(2, {{"xla_a", "b"}}),
            std::string("\x1A\x1A\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x20\x01\x28\x01"
                        "\x4A\x09\x08\x01\x10\x01\x1A\x03\x0A\x01\x02"
                        "\x3A\x0C\x0A\x05xla_a\x12\x03\x0A\x01"
                        "b"));
}

TEST(CompileOptions, TruthValuesAreNoText) {
  EXPECT_THAT(compile_options(0, {{"xla_a", "false"}}),
              HasSubstr(std::string("xla_a\x12\x02\x10\0", 9)));
}

TEST(Explained, AMissingFunctionIsUnimplementedAndNamesTheInstruction) {
  const hlo::Module module = module_of(R"(HloModule m
ENTRY e {
  x = f32[] parameter(0)
  ROOT call.7 = f32[] custom-call(x), custom_call_target="nobody_ffi"
})");
  for (const char* words : {"No FFI handler registered for nobody_ffi on a platform Host",
                            "No registered implementation for untyped custom call to nobody_ffi "
                            "for Host"}) {
    const Status status =
        explained(base::not_found("plugin p (PJRT 0.81): ClientCompile: ", words), module);
    EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
    EXPECT_THAT(base::message_of(status),
                HasSubstr("compile m: custom-call call.7: the plugin has no "
                          "function nobody_ffi; plugin p (PJRT 0.81): "));
  }
}

// What comes from another framework; our derivatives keep arrays of all parts.
TEST(ManualRegions, APartThatACallGivesIsRefused) {
  const auto module = hlo::parse_text(R"(HloModule parts
part {
  x = f32[4] parameter(0)
  cut = f32[4] custom-call(x), custom_call_target="Sharding", sharding={devices=[2]<=[2]}
  ROOT own = f32[2] custom-call(cut), custom_call_target="SPMDFullToShardShape", sharding={manual}
}
ENTRY main {
  x = f32[4] parameter(0)
  ROOT r = f32[2] call(x), to_apply=part
})");
  ASSERT_TRUE(module.ok()) << module.status();
  const auto made = with_own_constants(*module);
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(std::string(made.status().message()),
              ::testing::StartsWith("compile parts: a loop, a branch or a call gives what a "
                                    "shard_map in it computes, of which XLA's partitioner dies; "
                                    "put it into the shard_map"));
}

}  // namespace
}  // namespace heddle::pjrt
