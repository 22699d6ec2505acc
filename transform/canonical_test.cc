#include "heddle/transform/canonical.h"

#include <gtest/gtest.h>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/builder.h"
#include "heddle/hlo/text.h"
#include "heddle/transform/internal/ir.h"

namespace heddle::transform {
namespace {

using hlo::ComputationBuilder;
using hlo::Module;

const Shape kF32(f32, {4});

InstructionId apply(ComputationBuilder& to, Opcode opcode,
                    std::initializer_list<InstructionId> operands) {
  return *to.add(opcode, operands, {}, {}, &kF32);
}

// x * y + z with the product named, a dead instruction before it or not.
Module product_sum(bool dead, std::string name) {
  Module module;
  ComputationBuilder to(module);
  InstructionId x = to.parameter(kF32, name);
  InstructionId y = to.parameter(kF32);
  if (dead) apply(to, Opcode::kDivide, {x, y});
  InstructionId z = to.parameter(kF32);
  InstructionId product = apply(to, Opcode::kMultiply, {x, y});
  InstructionId sum = apply(to, Opcode::kAdd, {product, z});
  module.entry = module.add(std::move(to).finish(sum));
  return module;
}

base::Hash128 hash_of_canonical(const Module& module) { return hlo::hash_of(canonicalize(module)); }

TEST(Canonical, NamesAndDeadCodeCountNot) {
  Module plain = canonicalize(product_sum(false, ""));
  Module noisy = canonicalize(product_sum(true, "left"));
  EXPECT_TRUE(hlo::equal(plain, noisy));
  EXPECT_EQ(hash_of_canonical(product_sum(false, "")),
            hash_of_canonical(product_sum(true, "left")));
  EXPECT_EQ(noisy.instruction_count(), 5);
  EXPECT_EQ(noisy.computations[0].instructions[0].name, "");
}

using Extras = hlo::ModuleExtras;

// Two programs whose headers differ in one field: are they one program?
void expect_one_program(bool is_one, const char* field, void (*change)(Extras&)) {
  const Module plain = product_sum(false, "");
  Module other = plain;
  change(other.extras.mutate());
  ASSERT_NE(*plain.extras, *other.extras) << field;
  EXPECT_EQ(hlo::equal(plain, other), is_one) << field;
  EXPECT_EQ(hlo::equal(canonicalize(plain), canonicalize(other)), is_one) << field;
  if (is_one) {
    EXPECT_EQ(hash_of_canonical(plain), hash_of_canonical(other)) << field;
  }
}

#define EXPECT_TWO(field, ...) \
  expect_one_program(false, #field, [](Extras& e) { e.field = __VA_ARGS__; })
#define EXPECT_ONE(field, ...) \
  expect_one_program(true, #field, [](Extras& e) { e.field = __VA_ARGS__; })

TEST(Canonical, WhatTheHeaderSaysOfTheProgramCounts) {
  EXPECT_TWO(is_dynamic, true);
  EXPECT_TWO(alias_passthrough_params, true);
  EXPECT_TWO(input_output_alias, {{.output_index = {}}});
  EXPECT_TWO(buffer_donors, {{.parameter = 1}});
  EXPECT_TWO(propagate_sharding_to_parameters, {true});
  EXPECT_TWO(propagate_sharding_to_output, {true});
  EXPECT_TWO(replica_count, 2);
  EXPECT_TWO(num_partitions, 2);
  EXPECT_TWO(frontend_attributes, {{"mesh", "x"}});
  EXPECT_TWO(unknown_proto, "x");
  EXPECT_TWO(unknown_parts, "x");
  EXPECT_ONE(is_scheduled, true);
  EXPECT_ONE(entry_parameter_layouts, {kF32});
  EXPECT_ONE(entry_result_layout, kF32);
  EXPECT_ONE(frames, "x");
  EXPECT_ONE(origin_recovery_table, "x");
  // These are all: a new field does not compile until it has a line above.
  [[maybe_unused]] const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = Extras();
}

#undef EXPECT_TWO
#undef EXPECT_ONE

// The same of programs that differ in one field of the extras of parameter 0, or of a computation.
template <class Change>
void expect_programs(int count, const char* field, Change change) {
  const Module plain = product_sum(false, "");
  Module other = plain;
  if constexpr (std::is_invocable_v<Change, hlo::Computation&>) {
    change(other.computations[0]);
  } else {
    change(other.computations[0].instructions[0].extras.mutate());
  }
  EXPECT_EQ(hlo::equal(plain, other), count == 1) << field;
  EXPECT_EQ(hlo::equal(canonicalize(plain), canonicalize(other)), count == 1) << field;
  if (count == 1) {
    EXPECT_EQ(hash_of_canonical(plain), hash_of_canonical(other)) << field;
  }
}

#define EXPECT_PROGRAMS(count, Type, field, ...) \
  expect_programs(count, #field, [](hlo::Type& e) { e.field = __VA_ARGS__; })

TEST(Canonical, WhatExtrasSayOfTheProgramCounts) {
  EXPECT_PROGRAMS(2, InstructionExtras, sharding, base::Box<hlo::Sharding>(hlo::Sharding()));
  EXPECT_PROGRAMS(2, InstructionExtras, frontend_attributes, {{"mesh", "x"}});
  EXPECT_PROGRAMS(2, InstructionExtras, backend_config, "x");
  EXPECT_PROGRAMS(2, InstructionExtras, control_predecessors, {InstructionId(1)});
  EXPECT_PROGRAMS(2, InstructionExtras, parameter_replication, {true});
  EXPECT_PROGRAMS(2, InstructionExtras, result_accuracy, "x");
  // Text has none of these: runtime/cache/program_cache.cc compares them.
  EXPECT_PROGRAMS(1, InstructionExtras, unknown_proto, "x");
  EXPECT_PROGRAMS(1, InstructionExtras, unknown_parts, "x");
  EXPECT_PROGRAMS(1, InstructionExtras, metadata, {.op_name = "x"});
  EXPECT_PROGRAMS(1, InstructionExtras, statistics, "x");
  EXPECT_PROGRAMS(1, InstructionExtras, origin, "x");
  // These are all: a new field does not compile until it has a line above.
  [[maybe_unused]] const auto& [a, b, c, d, e, f, g, h, i, j, k] = hlo::InstructionExtras();
}

TEST(Canonical, SoDoesWhatAComputationSays) {
  EXPECT_PROGRAMS(2, Computation, execution_thread, "x");
  EXPECT_PROGRAMS(2, Computation, is_fusion, true);
  EXPECT_PROGRAMS(1, Computation, unknown_proto, "x");
  EXPECT_PROGRAMS(1, Computation, unknown_parts, "x");
  EXPECT_PROGRAMS(1, Computation, name, "x");
  // The others are its instructions, parameters and root.
  [[maybe_unused]] const auto& [a, b, c, d, e, f, g, h] = hlo::Computation();
}
#undef EXPECT_PROGRAMS

TEST(Canonical, TextsThatDifferInReplicationAloneAreTwoPrograms) {
  const auto program = [](std::string_view more) {
    return *hlo::parse_text(
        base::cat("HloModule m\nENTRY e { ROOT x = f32[4] parameter(0)", more, " }"));
  };
  EXPECT_FALSE(hlo::equal(program(""), program(", parameter_replication={true}")));
}

TEST(CanonicalOrder, KeepsNames) {
  Module module = in_canonical_order(product_sum(true, "left"));
  EXPECT_EQ(module.instruction_count(), 5);
  EXPECT_EQ(module.computations[0].instructions[0].name, "left");
  EXPECT_TRUE(hlo::equal(canonicalize(module), canonicalize(product_sum(false, ""))));
}

TEST(Canonical, OrderOfIndependentInstructionsCountsNot) {
  auto build = [](bool swapped) {
    Module module;
    ComputationBuilder to(module);
    InstructionId x = to.parameter(kF32);
    InstructionId first = apply(to, swapped ? Opcode::kCos : Opcode::kSin, {x});
    InstructionId second = apply(to, swapped ? Opcode::kSin : Opcode::kCos, {x});
    InstructionId root = swapped ? apply(to, Opcode::kSubtract, {second, first})
                                 : apply(to, Opcode::kSubtract, {first, second});
    module.entry = module.add(std::move(to).finish(root));
    return module;
  };
  EXPECT_TRUE(hlo::equal(canonicalize(build(false)), canonicalize(build(true))));
}

TEST(Canonical, OrderOfOperandsCounts) {
  auto build = [](bool swapped) {
    Module module;
    ComputationBuilder to(module);
    InstructionId x = to.parameter(kF32);
    InstructionId y = to.parameter(kF32);
    InstructionId root =
        swapped ? apply(to, Opcode::kAdd, {y, x}) : apply(to, Opcode::kAdd, {x, y});
    module.entry = module.add(std::move(to).finish(root));
    return module;
  };
  EXPECT_FALSE(hlo::equal(canonicalize(build(false)), canonicalize(build(true))));
  EXPECT_NE(hash_of_canonical(build(false)), hash_of_canonical(build(true)));
}

// A module that calls f and g, which are equal, and never calls h.
Module calls_equal_twins() {
  Module module;
  for (Opcode opcode : {Opcode::kSin, Opcode::kCos, Opcode::kSin}) {
    ComputationBuilder callee(module);
    InstructionId x = callee.parameter(kF32);
    module.add(std::move(callee).finish(apply(callee, opcode, {x})));
  }
  ComputationBuilder to(module);
  InstructionId x = to.parameter(kF32);
  InstructionId a = *to.add(Opcode::kCall, {x}, hlo::CallAttrs(), {ComputationId(0)}, &kF32);
  InstructionId b = *to.add(Opcode::kCall, {a}, hlo::CallAttrs(), {ComputationId(2)}, &kF32);
  module.entry = module.add(std::move(to).finish(b));
  return module;
}

TEST(Canonical, EqualComputationsBecomeOneAndUncalledOnesGo) {
  Module module = canonicalize(calls_equal_twins());
  ASSERT_EQ(module.computations.size(), 2u);
  const auto& entry = module.entry_computation();
  EXPECT_EQ(entry.instructions[1].called[0], ComputationId(0));
  EXPECT_EQ(entry.instructions[2].called[0], ComputationId(0));
}

TEST(Canonical, IsIdempotentAndMovingGivesTheSame) {
  Module once = canonicalize(calls_equal_twins());
  EXPECT_TRUE(hlo::equal(once, canonicalize(once)));
  EXPECT_TRUE(hlo::equal(once, canonicalize(Module(calls_equal_twins()))));
}

TEST(Canonical, EffectsStayInTheirOrder) {
  Module module;
  ComputationBuilder to(module);
  InstructionId x = to.parameter(kF32);
  hlo::CustomCallAttrs attrs;
  attrs.custom_call_has_side_effect = true;
  attrs.custom_call_target = "second";
  InstructionId late = *to.add(Opcode::kCustomCall, {x}, attrs, {}, &kF32);
  attrs.custom_call_target = "third";
  ASSERT_TRUE(to.add(Opcode::kCustomCall, {late}, attrs, {}, &kF32).ok());
  module.entry = module.add(std::move(to).finish(x));
  Module canonical = canonicalize(module);
  ASSERT_EQ(canonical.instruction_count(), 3);
  const auto& last = canonical.entry_computation().instructions[2];
  EXPECT_EQ(last.attrs.get<hlo::CustomCallAttrs>().custom_call_target, "third");
}

// A chain longer than any stack would allow, if the walk recursed.
Module long_chain(int64_t length) {
  Module module;
  ComputationBuilder to(module);
  InstructionId x = to.parameter(kF32);
  for (int64_t i = 0; i < length; ++i) x = apply(to, Opcode::kAdd, {x, x});
  module.entry = module.add(std::move(to).finish(x));
  return module;
}

TEST(Canonical, WalksChainsOfManyInstructions) {
  EXPECT_EQ(canonicalize(long_chain(200'000)).instruction_count(), 200'001);
}

TEST(Canonical, MergedComputationsDifferInBitcastLayoutOnly) {
  auto build = [](std::vector<int64_t> minor_to_major) {
    Module module;
    ComputationBuilder to(module);
    Shape shape(f32, {2, 2});
    Layout layout;
    layout.minor_to_major = std::move(minor_to_major);
    shape.set_layout(layout);
    InstructionId x = to.parameter(shape);
    Shape plain(f32, {2, 2});
    InstructionId y = *to.add(Opcode::kBitcast, {x}, {}, {}, &plain);
    module.entry = module.add(std::move(to).finish(y));
    return module;
  };
  EXPECT_FALSE(hlo::equal(canonicalize(build({0, 1})), canonicalize(build({1, 0}))));
}

}  // namespace
}  // namespace heddle::transform
