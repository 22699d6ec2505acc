// The table of evaluations as a whole.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "heddle/hlo/dtype.h"
#include "heddle/interpreter/ops/op_testing.h"

namespace heddle::interpreter {
namespace {

using op_testing::try_evaluate;

TEST(Evaluations, ThatAreMissingSayWhy) {
  for (int i = 0; i < kOpcodeCount; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    const Evaluation& op = evaluation(opcode);
    if (op.evaluate) continue;
    EXPECT_GT(std::string(op.evaluate.reason()).size(), 10u) << to_string(opcode);
  }
}

// Counts the evaluations that an op has by the element types that its shape rule accepts. A row
// without the function would call a null pointer.
int evaluations_of(Opcode opcode, const Attrs& attrs) {
  int count = 0;
#define HEDDLE_X(enumerator, text, number, bits, bytes, kind)                              \
  if (is_array_element(DType::enumerator)) {                                               \
    const Literal zero(Shape::scalar(DType::enumerator));                                  \
    const std::vector<Literal> operands(static_cast<size_t>(operand_count(opcode)), zero); \
    count += try_evaluate(opcode, operands, attrs).ok() ? 1 : 0;                           \
  }
  HEDDLE_DTYPES(HEDDLE_X)
#undef HEDDLE_X
  return count;
}

TEST(Evaluations, OfElementwiseOpsCoverTheirShapeRules) {
  for (int i = 0; i < kOpcodeCount; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    if (!has_trait(opcode, kElementwise) || has_trait(opcode, kDeclared) || !fits(opcode, {}))
      continue;
    if (opcode == Opcode::kSelect) continue;  // moves elements of any type
    EXPECT_GT(evaluations_of(opcode, {}), 0) << to_string(opcode);
  }
  using enum ComparisonDirection;
  for (const ComparisonDirection direction : {kEq, kNe, kGe, kGt, kLe, kLt})
    EXPECT_GT(evaluations_of(Opcode::kCompare, CompareAttrs{direction}), 0);
}

}  // namespace
}  // namespace heddle::interpreter
