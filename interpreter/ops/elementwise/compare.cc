// TOTALORDER compares integers of the same order, which the patterns of floats give.
#include "heddle/hlo/literal/native.h"
#include "heddle/interpreter/ops/elementwise/elementwise.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

// By ComparisonDirection.
constexpr ElementwiseRow kDirections[] = {
    {.real = [](double x, double y) { return x == y; },
     .integer = [](auto x, auto y, int) { return x == y; },
     .complex = [](std::complex<double> x, std::complex<double> y) { return x == y; }},
    {.real = [](double x, double y) { return x != y; },
     .integer = [](auto x, auto y, int) { return x != y; },
     .complex = [](std::complex<double> x, std::complex<double> y) { return x != y; }},
    {.real = [](double x, double y) { return x >= y; },
     .integer = [](auto x, auto y, int) { return x >= y; }},
    {.real = [](double x, double y) { return x > y; },
     .integer = [](auto x, auto y, int) { return x > y; }},
    {.real = [](double x, double y) { return x <= y; },
     .integer = [](auto x, auto y, int) { return x <= y; }},
    {.real = [](double x, double y) { return x < y; },
     .integer = [](auto x, auto y, int) { return x < y; }},
};

// Replaces each float by an integer of the same order: its pattern, counted down from -1 where the
// sign bit is set.
Literal keys_of(const Literal& x) {
  const DType dtype = x.shape().dtype();
  Literal out = Literal::uninitialised(x.shape().with_dtype(s64));
  std::span<int64_t> keys = out.mutable_values<int64_t>();
  visit_dtype(dtype, [&](auto type) {
    using T = Native<type()>;
    std::span<const T> values = x.values<T>();
    for (size_t i = 0; i < keys.size(); ++i) {
      if constexpr (std::is_same_v<T, double>) {
        keys[i] = std::bit_cast<int64_t>(values[i]);
      } else if constexpr (std::is_same_v<T, float>) {
        keys[i] = int64_t{std::bit_cast<int32_t>(values[i])} << 32;
      } else if constexpr (requires { values[i].bits; }) {
        keys[i] = static_cast<int64_t>(uint64_t{values[i].bits} << (64 - bit_width(dtype)));
      }
      if (keys[i] < 0) keys[i] ^= INT64_MAX;
    }
  });
  return out;
}

const ElementwiseRow& row_of(const CompareAttrs& attrs) {
  return kDirections[static_cast<size_t>(attrs.direction)];
}

StatusOr<Literal> evaluate_compare(EvalArgs& in) {
  const auto& attrs = in.attrs<CompareAttrs>();
  if (attrs.type == ComparisonType::kTotalOrder) {
    for (Literal& operand : in.operands) operand = keys_of(operand);
  }
  return evaluate_elementwise(in, row_of(attrs));
}

ScalarOp scalar(const Attrs& attrs, DType from, DType to) {
  const auto& compare = attrs.get<CompareAttrs>();
  if (compare.type == ComparisonType::kTotalOrder) return {};
  return scalar_elementwise(row_of(compare), from, to);
}

}  // namespace

const Evaluation kCompareEvaluation = {.evaluate = evaluate_compare, .scalar = scalar};

}  // namespace heddle::interpreter
