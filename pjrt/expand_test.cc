// Ops written with older ones have the evaluator's values of the ops themselves.
#include "heddle/pjrt/internal/expand/expand.h"

#include <random>

#include "heddle/base/support_test.h"
#include "heddle/hlo/verify.h"
#include "heddle/pjrt/internal/program.h"
#include "heddle/pjrt/support_test.h"

namespace heddle::pjrt {
namespace {

// Small whole numbers, whose sums of products are exact.
Literal drawn(const Shape& shape, std::mt19937& random) {
  Literal out(shape);
  for (float& value : out.mutable_values<float>()) value = static_cast<float>(random() % 9) - 4;
  return out;
}

Literal sizes_of(std::vector<int32_t> values, std::vector<int64_t> dimensions) {
  return Literal::from<int32_t>(Shape(s32, std::move(dimensions)), values);
}

// ragged-dot of f32 arrays with these attributes.
void expect_equal_values(const Shape& x, const Shape& y, const Literal& sizes, const Shape& result,
                         const std::string& attributes) {
  const hlo::Module module = module_of(base::cat(
      "ENTRY main { x = ", x, " parameter(0) y = ", y, " parameter(1) g = ", sizes.shape(),
      " parameter(2) ROOT r = ", result, " ragged-dot(x, y, g), ", attributes, " }"));
  const hlo::Module expanded = prepare(module, 114).value();
  ASSERT_EQ(hlo::verify(expanded, hlo::Stage::kHlo), Status()) << hlo::print(expanded);
  EXPECT_THAT(hlo::print(expanded), Not(HasSubstr("ragged-dot")));
  std::mt19937 random(5);
  const std::vector<Literal> arguments = {drawn(x, random), drawn(y, random), sizes};
  EXPECT_EQ(interpreter::evaluate(expanded, arguments).value(),
            interpreter::evaluate(module, arguments).value())
      << hlo::print(expanded);
}

constexpr char kFree[] =
    "lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}";

TEST(RaggedDotIsADot, OfGroupsOfRows) {
  const Shape x(f32, {6, 3}), y(f32, {3, 3, 2}), result(f32, {6, 2});
  expect_equal_values(x, y, sizes_of({2, 1, 3}, {3}), result, kFree);
  expect_equal_values(x, y, sizes_of({0, 4, 0}, {3}), result, kFree);  // rows that are of none
  expect_equal_values(x, y, sizes_of({5, 5, 5}, {3}), result, kFree);  // past the end
  expect_equal_values(x, y, sizes_of({-2, 3, INT32_MAX}, {3}), result, kFree);  // and before it
}

TEST(RaggedDotIsADot, OfGroupsLargerThanAnySignedNumber) {
  const Literal sizes = Literal::from<uint64_t>(Shape(u64, {3}), {2, UINT64_MAX, 1});
  expect_equal_values(Shape(f32, {6, 3}), Shape(f32, {3, 3, 2}), sizes, Shape(f32, {6, 2}), kFree);
}

TEST(RaggedDotIsADot, OfGroupsOfTheContractedDimension) {
  expect_equal_values(Shape(f32, {4, 6}), Shape(f32, {6, 5}), sizes_of({1, 0, 4}, {3}),
                      Shape(f32, {3, 4, 5}),
                      "lhs_contracting_dims={1}, rhs_contracting_dims={0}, lhs_ragged_dims={1}");
}

TEST(RaggedDotIsADot, OfGroupsOfABatch) {
  expect_equal_values(Shape(f32, {3, 4, 6}), Shape(f32, {3, 6, 5}), sizes_of({1, 2}, {2}),
                      Shape(f32, {3, 4, 5}),
                      "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, "
                      "rhs_contracting_dims={1}, lhs_ragged_dims={0}");
}

// Group sizes of their own for each index of the batch, which stands behind the rows.
TEST(RaggedDotIsADot, OfGroupsThatDifferByBatch) {
  expect_equal_values(Shape(f32, {5, 2, 3}), Shape(f32, {2, 2, 3, 4}),
                      sizes_of({1, 3, 5, 0}, {2, 2}), Shape(f32, {2, 5, 4}),
                      "lhs_batch_dims={1}, lhs_contracting_dims={2}, rhs_batch_dims={0}, "
                      "rhs_contracting_dims={2}, lhs_ragged_dims={0}, rhs_group_dims={1}");
  expect_equal_values(Shape(f32, {5, 2, 3}), Shape(f32, {2, 4, 5}), sizes_of({1, 3, 5, 0}, {2, 2}),
                      Shape(f32, {2, 2, 3, 4}),
                      "lhs_batch_dims={1}, lhs_contracting_dims={0}, rhs_batch_dims={0}, "
                      "rhs_contracting_dims={2}, lhs_ragged_dims={0}");
}

void expect_equal_bits(const Shape& from, const Shape& to) {
  const hlo::Module module = module_of(
      base::cat("ENTRY main { x = ", from, " parameter(0) ROOT y = ", to, " bitcast-convert(x) }"));
  const hlo::Module expanded = prepare(module, 114).value();
  ASSERT_EQ(hlo::verify(expanded, hlo::Stage::kHlo), Status()) << hlo::print(expanded);
  for (const hlo::Instruction& instruction : expanded.entry_computation().instructions) {
    const bool is_bits = instruction.opcode == hlo::Opcode::kBitcastConvert;
    EXPECT_FALSE(is_bits && is_complex(instruction.shape.dtype()));
  }
  std::mt19937 random(5);
  Literal x(from);
  for (int64_t i = 0; i < from.byte_size(); ++i) {
    // Any bits but those of NaN, which a conversion may change: no exponent has all its bits set.
    x.mutable_bytes()[i] = static_cast<std::byte>(random() % 0x3F);
  }
  EXPECT_EQ(interpreter::evaluate(expanded, {x}).value(),
            interpreter::evaluate(module, {x}).value());
}

TEST(ComplexBits, AreThoseOfTheParts) {
  expect_equal_bits(Shape(c128, {3, 4}), Shape(c64, {3, 4, 2}));
  expect_equal_bits(Shape(c128, {}), Shape(c64, {2}));
  expect_equal_bits(Shape(c64, {3, 2}), Shape(c128, {3}));
}

// XLA's CPU cannot compile a dot of such a constant.
TEST(Counts, OfSmallFloatsAreIota) {
  const auto prepared = [](const std::string& constant) {
    const hlo::Module module = module_of(base::cat("ENTRY main { ROOT c = ", constant, " }"));
    const hlo::Module out = prepare(module, 114).value();
    EXPECT_EQ(interpreter::evaluate(out, {}).value(), interpreter::evaluate(module, {}).value());
    return hlo::print(out);
  };
  EXPECT_THAT(prepared("f8e3m4[4] constant({0, 1, 2, 3})"), HasSubstr("iota"));
  EXPECT_THAT(prepared("f8e5m2[2] constant({0, 1})"), HasSubstr("iota"));
  EXPECT_THAT(prepared("f8e3m4[4] constant({0, 1, 2, 3.5})"), Not(HasSubstr("iota")));
  EXPECT_THAT(prepared("f32[3] constant({0, 1, 2})"), Not(HasSubstr("iota")));
}

// XLA takes {-0, 1, ..} for an iota as well, whose zero has no sign.
TEST(Counts, FromMinusZeroAreHidden) {
  for (const char* type : {"f8e3m4", "f8e5m2", "f4e2m1fn", "bf16", "f16", "f32", "f64"}) {
    const hlo::Module module =
        module_of(base::cat("ENTRY main { ROOT c = ", type, "[4] constant({-0, 1, 2, 3}) }"));
    const hlo::Module out = prepare(module, 114).value();
    EXPECT_EQ(interpreter::evaluate(out, {}).value(), interpreter::evaluate(module, {}).value())
        << type;
    EXPECT_THAT(hlo::print(out), HasSubstr("constant({0, -1, -2, -3})")) << type;
    EXPECT_THAT(hlo::print(out), HasSubstr("opt-barrier(")) << type;
  }
}

// XLA's CPU ends the process over the clamp of a reshape with scalar bounds.
TEST(ScalarOperands, AreBroadcast) {
  const std::vector<Literal> arguments = {
      Literal::scalar(f32, -1.0), Literal::from<float>(Shape(f32, {2, 2}), {-3, 0.5, 2, -1}),
      Literal::scalar(f32, 1.0), Literal::scalar(pred, int64_t{1})};
  const hlo::Module module = module_of(
      "ENTRY main { low = f32[] parameter(0) x = f32[2,2] parameter(1) high = f32[] parameter(2)\n"
      "p = pred[] parameter(3) y = f32[4] reshape(x) c = f32[4] clamp(low, y, high)\n"
      "ROOT s = f32[4] select(p, c, y) }");
  const hlo::Module out = prepare(module, 114).value();
  ASSERT_EQ(hlo::verify(out, hlo::Stage::kHlo), Status()) << hlo::print(out);
  EXPECT_EQ(interpreter::evaluate(out, arguments).value(),
            interpreter::evaluate(module, arguments).value());
  for (const hlo::Instruction& each : out.entry_computation().instructions) {
    if (each.opcode != hlo::Opcode::kClamp && each.opcode != hlo::Opcode::kSelect) continue;
    for (hlo::InstructionId operand : each.operands)
      EXPECT_EQ(out.entry_computation().at(operand).shape.rank(), 1) << hlo::print(out);
  }
}

TEST(ScalarOperands, OfScalarsStay) {
  const hlo::Module module =
      module_of("ENTRY main { x = s32[] parameter(0) ROOT c = s32[] clamp(x, x, x) }");
  EXPECT_EQ(hlo::print(prepare(module, 114).value()), hlo::print(module));
}

}  // namespace
}  // namespace heddle::pjrt
