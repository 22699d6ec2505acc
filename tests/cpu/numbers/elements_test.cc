// Functions of floats on special values, in arrays of such lengths that the code for one element,
// for what is left of a vector, and for whole vectors all runs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/backend.h"
#include "heddle/hlo/builder.h"
#include "heddle/hlo/op.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/tests/cpu/support.h"
#include "heddle/tests/laws/samples.h"

namespace heddle::cpu {
namespace {

using hlo::Opcode;

constexpr int64_t kLengths[] = {1, 3, 16, 17, 33};

template <class T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> out = {Limits::quiet_NaN(), -Limits::quiet_NaN()};
  const T tiny = Limits::denorm_min(), least = Limits::min();
  for (T x : {T(0),
              tiny,
              T(3) * tiny,
              least - tiny,
              least,
              T(1e-5),
              T(0.25),
              T(0.5),
              T(1) - Limits::epsilon() / 2,
              T(1),
              T(1) + Limits::epsilon(),
              T(1.5),
              T(2),
              T(2.5),
              T(3),
              T(M_PI),
              T(M_PI_2),
              T(10),
              T(88.5),
              T(104),
              T(710),
              T(1e4),
              T(123456.75),
              T(1e8),
              T(16777217),
              T(1e15),
              T(1e22),
              T(1e30),
              Limits::max() / 2,
              Limits::max(),
              Limits::infinity()}) {
    out.push_back(x);
    out.push_back(-x);
  }
  return out;
}

// All of `values` in arrays of `length`, the last one filled up from the first.
template <class T>
std::vector<Literal> arrays_of(const std::vector<T>& values, DType dtype, int64_t length) {
  std::vector<Literal> out;
  for (size_t from = 0; from < values.size(); from += static_cast<size_t>(length)) {
    Literal array(Shape(dtype, {length}));
    T* to = reinterpret_cast<T*>(array.mutable_bytes());
    for (size_t i = 0; i < static_cast<size_t>(length); ++i)
      to[i] = values[(from + i) % values.size()];
    out.push_back(std::move(array));
  }
  return out;
}

// A function of arrays, or no module where the op takes none such.
std::optional<hlo::Module> module_of(Opcode opcode, size_t count, const Shape& shape) {
  hlo::Module module;
  hlo::ComputationBuilder to(module);
  std::vector<hlo::InstructionId> operands;
  for (size_t i = 0; i < count; ++i) operands.push_back(to.parameter(shape));
  const auto root = to.add(opcode, operands);
  if (!root.ok()) return std::nullopt;
  module.entry = module.add(std::move(to).finish(*root));
  return module;
}

class CpuElements : public ::testing::TestWithParam<Opcode> {
 protected:
  void SetUp() override { HEDDLE_NEEDS_CODE_GENERATOR(); }
};

// Integer operands of the same number of arguments as the op's are given in pairs of neighbours.
template <class T>
void expect_as_evaluated(Opcode opcode, DType dtype) {
  const std::vector<T> values = special_values<T>();
  std::vector<T> xs = values, ys;
  const size_t count = hlo::definition(opcode).operand_names.size();
  if (count == 2) {
    xs.clear();
    for (T x : values) {
      for (T y : values) {
        xs.push_back(x);
        ys.push_back(y);
      }
    }
  }
  for (int64_t length : kLengths) {
    const auto module = module_of(opcode, count, Shape(dtype, {length}));
    if (!module || count > 2) return;
    const auto evaluator = interpreter::Evaluator::prepare(*module);
    if (!evaluator.ok()) return;
    const OnCpu native(*module);
    const std::vector<Literal> first = arrays_of(xs, dtype, length);
    const std::vector<Literal> second = arrays_of(ys, dtype, length);
    for (size_t i = 0; i < first.size(); ++i) {
      std::vector<Literal> arguments = {first[i]};
      if (count == 2) arguments.push_back(second[i]);
      const Literal want = evaluator->run(arguments).value();
      const std::string found = difference(native.run(arguments), want, {.ulp = 2});
      EXPECT_EQ(found, "") << to_string(opcode) << " of " << hlo::print_literal(arguments[0])
                           << (count == 2 ? hlo::print_literal(arguments[1]) : "");
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST_P(CpuElements, OfF32AreTheEvaluators) { expect_as_evaluated<float>(GetParam(), f32); }
TEST_P(CpuElements, OfF64AreTheEvaluators) { expect_as_evaluated<double>(GetParam(), f64); }

// Powers that are written by products and a root, and others beside them.
template <class T>
void expect_constant_powers(DType dtype) {
  for (double power : {0.0, 0.5, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5}) {
    for (double sign : {1.0, -1.0}) {
      const std::string type = base::cat(to_string(dtype), "[17]");
      const hlo::Module module =
          hlo::parse_text(base::cat("HloModule m\nENTRY main {\n  x = ", type,
                                    " parameter(0)\n  c = ", to_string(dtype), "[] constant(",
                                    sign * power, ")\n  y = ", type,
                                    " broadcast(c), dimensions={}\n  ROOT r = ", type,
                                    " power(x, y) }\n"))
              .value();
      const OnCpu native(module);
      for (const Literal& x : arrays_of(special_values<T>(), dtype, 17)) {
        const Literal want = interpreter::evaluate(module, {x}).value();
        EXPECT_EQ(difference(native.run({x}), want, {.ulp = 2}), "")
            << sign * power << " of " << hlo::print_literal(x);
      }
    }
  }
}

TEST(CpuElementsOf, ConstantPowersOfF32) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  expect_constant_powers<float>(f32);
}
TEST(CpuElementsOf, ConstantPowersOfF64) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  expect_constant_powers<double>(f64);
}

// LLVM takes the lanes of a conversion that saturates one by one.
template <class T>
void expect_conversions_at_once(DType dtype) {
  std::vector<T> numbers = special_values<T>();
  for (const int bits : {7, 8, 15, 16, 31, 32, 63, 64}) {
    for (const T x : {std::ldexp(T(1), bits), std::nextafter(std::ldexp(T(1), bits), T(0))})
      numbers.insert(numbers.end(), {x, -x, x + T(1), -x - T(1)});
  }
  for (const DType to : {s8, s16, s32, s64, u8, u16, u32, u64}) {
    const hlo::Module module =
        hlo::parse_text(base::cat("HloModule m\nENTRY main {\n  x = ", to_string(dtype),
                                  "[33] parameter(0)\n  ROOT y = ", to_string(to),
                                  "[33] convert(x) }\n"))
            .value();
    EXPECT_EQ(stages_of(module).value().llvm.find("i.sat.v"), std::string::npos);
    const OnCpu native(module);
    for (const Literal& x : arrays_of(numbers, dtype, 33))
      EXPECT_EQ(difference(native.run({x}), interpreter::evaluate(module, {x}).value()), "")
          << to_string(to) << " of " << hlo::print_literal(x);
  }
}

TEST(CpuElementsOf, ConversionsOfF32ToIntegersInVectors) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  expect_conversions_at_once<float>(f32);
}
TEST(CpuElementsOf, ConversionsOfF64ToIntegersInVectors) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  expect_conversions_at_once<double>(f64);
}

// A C++ number is a constant in one program and an argument in another.
TEST(CpuElementsOf, PowersHaveTheBitsOfConstantOnes) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const std::vector<float> bases = {0.1f, 0.7f, 1.3f, 2.9f, 3.1f, 17.3f, 1e-20f, 3e25f, -1.7f, 0.f};
  for (const int64_t length : {1, 10}) {
    const std::string type = base::cat("f32[", length, "]");
    const auto program = [&](const std::string& exponent) {
      return hlo::parse_text(base::cat("HloModule m\nENTRY main {\n  x = ", type,
                                       " parameter(0)\n  c = f32[] ", exponent, "\n  y = ", type,
                                       " broadcast(c), dimensions={}\n  ROOT r = ", type,
                                       " power(x, y) }\n"))
          .value();
    };
    const OnCpu with_argument(program("parameter(1)"));
    for (const float power : {1.f, 2.f, 3.f, 0.5f, 1.5f, 2.5f, -1.f, -2.f, -0.5f, -1.5f, 0.7f}) {
      const OnCpu with_constant(program(base::cat("constant(", power, ")")));
      for (const Literal& x : arrays_of(bases, f32, length)) {
        const Literal y = Literal::scalar(f32, static_cast<double>(power));
        EXPECT_EQ(difference(with_argument.run({x, y}), with_constant.run({x})), "") << power;
      }
    }
  }
}

std::vector<Opcode> functions() {
  std::vector<Opcode> out;
  for (Opcode opcode : laws::every_opcode()) {
    if (hlo::has_trait(opcode, hlo::kElementwise) &&
        module_of(opcode, hlo::definition(opcode).operand_names.size(), Shape(f32, {1})))
      out.push_back(opcode);
  }
  return out;
}

TEST(CpuElementsOf, ManyFunctions) { EXPECT_GE(functions().size(), 30u); }

std::string name_of(const ::testing::TestParamInfo<Opcode>& info) {
  std::string name(to_string(info.param));
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}
INSTANTIATE_TEST_SUITE_P(EveryOp, CpuElements, ::testing::ValuesIn(functions()), name_of);

}  // namespace
}  // namespace heddle::cpu
