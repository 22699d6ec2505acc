// Laws of derivatives, for every op on its samples: in f64 and c128 against differences, and in
// every element type against those.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/derivative.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/tests/laws/around_ops.h"
#include "heddle/tests/laws/batches.h"
#include "heddle/tests/laws/derivative_checks.h"
#include "heddle/tests/laws/narrow_derivatives.h"
#include "heddle/tests/laws/samples.h"
#include "heddle/transform/derivatives.h"

namespace heddle::laws {
namespace {

using hlo::Opcode;

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// The sample with f64 in place of f32.
hlo::Module in_doubles(const hlo::Module& module) {
  std::string text = hlo::print(module);
  return *hlo::parse_text(replaced(replaced(text, "f32", "f64"), "c64", "c128"));
}

bool is_sampled(const Sample& sample) {
  const bool has_types = sample.row->line.find("$t") != std::string_view::npos;
  return !has_types || sample.type == f64 || sample.type == c128;
}

// Numbers where the ops have values and no kinks: 0.2 .. 0.8, of acosh above 1. Matrices to be
// factored have a diagonal that is larger.
Literal smooth(const Shape& shape, Opcode opcode, std::mt19937_64& engine) {
  Literal out(shape);
  std::uniform_real_distribution<double> uniform(0.2, 0.8);
  const size_t parts = shape.dtype() == c128 ? 2 : 1;
  const size_t count = static_cast<size_t>(shape.byte_size()) / sizeof(double);
  auto* to = count > 0 ? reinterpret_cast<double*>(out.mutable_bytes()) : nullptr;
  for (size_t i = 0; i < count; ++i) to[i] = uniform(engine) + (opcode == Opcode::kAcosh ? 1 : 0);
  const bool is_factored = opcode == Opcode::kCholesky || opcode == Opcode::kTriangularSolve;
  if (!is_factored || shape.rank() < 2) return out;
  const auto n = static_cast<size_t>(shape.dimension(shape.rank() - 1));
  for (size_t i = 0; i < count / parts; ++i) {
    if (i % n != i / n % n) continue;
    to[i * parts] += 4;
    if (opcode == Opcode::kCholesky && parts == 2) to[i * parts + 1] = 0;
  }
  return out;
}

std::vector<Literal> arguments_of(const Sample& sample, Opcode opcode) {
  std::mt19937_64 engine(7);
  std::vector<Literal> out;
  for (const Literal& leaf : leaves_of(sample.arguments)) {
    const DType dtype = leaf.shape().dtype();
    const DType wide = dtype == f32 ? f64 : dtype == c64 ? c128 : dtype;
    const bool has_tangent = wide == f64 || wide == c128;
    out.push_back(has_tangent ? smooth(leaf.shape().with_dtype(wide), opcode, engine) : leaf);
  }
  return out;
}

// Initial values of reductions, which have no tangents but in sums.
std::vector<bool> constants_of(Opcode opcode, size_t operands) {
  std::vector<bool> out(operands);
  if (opcode == Opcode::kReduce || opcode == Opcode::kReduceWindow)
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(operands / 2), out.end(), true);
  return out;
}

// What rules refuse: functions of the program's own, and complex numbers that become real.
bool is_refused(const Sample& sample, Opcode opcode) {
  const auto has = [&](std::string_view text) {
    return sample.line.find(text) != std::string::npos;
  };
  if (opcode == Opcode::kScatter) return has("to_apply=swap_in");
  const bool is_of_complex = has("(c64") || has("(c128");
  if (opcode == Opcode::kClamp) return is_of_complex;
  if (opcode == Opcode::kDot) return is_of_complex && has("-> f32");
  return false;
}

// By convention: what rounds passes tangents on, what reads bits has none.
bool has_its_own_convention(Opcode opcode) {
  return opcode == Opcode::kReducePrecision || opcode == Opcode::kBitcastConvert;
}

// Regions and what makes tuples have their rules where modules are rewritten.
bool has_rules(Opcode opcode) {
  switch (opcode) {
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kCall:
    case Opcode::kWhile:
    case Opcode::kConditional:
    case Opcode::kMap:
    case Opcode::kScan: return true;
    default: return bool(hlo::derivative_of(opcode).jvp);
  }
}

// What joins several devices does not run here: tests/behaviours/sharding_test.cc has its laws, and
// transform/derivatives/derivatives_test.cc those of ragged-all-to-all.
bool joins_devices(Opcode opcode) {
  return opcode == Opcode::kReduceScatter || opcode == Opcode::kAllGather ||
         opcode == Opcode::kAllToAll || opcode == Opcode::kCollectivePermute ||
         opcode == Opcode::kRaggedAllToAll;
}

class DerivativeLaws : public ::testing::TestWithParam<Opcode> {};

TEST_P(DerivativeLaws, TangentIsTheCentralDifferenceAndTheTransposeItsAdjoint) {
  const Opcode opcode = GetParam();
  if (!has_rules(opcode) || has_its_own_convention(opcode) || joins_devices(opcode)) return;
  for (const Sample& sample : samples_of(opcode)) {
    if (!is_sampled(sample)) continue;
    SCOPED_TRACE(sample.line);
    const std::vector<Literal> arguments = arguments_of(sample, opcode);
    const DerivativeCheck check{.reverse = opcode != Opcode::kWhile,
                                .constants = constants_of(opcode, arguments.size())};
    const std::string wrong = check_derivatives(in_doubles(sample.module), arguments, check);
    if (is_refused(sample, opcode))
      EXPECT_NE(wrong.find("has no derivative"), std::string::npos) << wrong;
    else
      EXPECT_EQ(wrong, "");
    if (HasFailure()) return;
  }
}

// In every element type
// --------------------------------------------------------------------------------

// Numbers of smooth(). Those of small types lie in the middle: f8e3m4 has none above 15.5, and
// f4e2m1fn only 0.5 between 0 and 1.
Literal smooth_in(const Shape& shape, Opcode opcode, std::mt19937_64& engine) {
  Literal wide = smooth(shape.with_dtype(widest(shape.dtype())), opcode, engine);
  if (bit_width(shape.dtype()) <= 8) {
    for (double& each : wide.mutable_values<double>())
      each = opcode == Opcode::kAcosh ? 1.25 + each / 4 : 0.5 + each / 4;
  }
  return rounded(wide, shape.dtype());
}

std::vector<Literal> arguments_in_its_types(const Sample& sample, Opcode opcode) {
  std::mt19937_64 engine(7);
  std::vector<Literal> out;
  for (const Literal& leaf : leaves_of(sample.arguments)) {
    const bool is_number = leaf.shape().is_array() && hlo::has_tangent(leaf.shape());
    out.push_back(is_number ? smooth_in(leaf.shape(), opcode, engine) : leaf);
  }
  return out;
}

// Types that go with the width of another; such ops have no tangents but zeros.
bool has_a_wide_form(Opcode opcode) {
  return opcode != Opcode::kBitcastConvert && opcode != Opcode::kStochasticConvert;
}

bool has_tangents(const std::vector<Literal>& leaves) {
  return std::ranges::any_of(leaves, [](const Literal& each) {
    return each.shape().is_array() && hlo::has_tangent(each.shape());
  });
}

bool has_small_floats(const std::vector<Literal>& leaves) {
  return std::ranges::any_of(leaves, [](const Literal& each) {
    return is_floating(each.shape().dtype()) && bit_width(each.shape().dtype()) <= 8;
  });
}

// Why an op has no law here; "" where it has.
std::string_view reason_to_leave_out(Opcode opcode) {
  if (joins_devices(opcode)) return "tests/behaviours/sharding_test.cc has its laws";
  if (!has_rules(opcode)) return hlo::derivative_of(opcode).jvp.reason();
  return is_random(opcode) ? "each run draws other numbers" : "";
}

// Types in which an op's derivative has no numbers to compare, and why.
std::string_view reason_to_leave_out(const Sample& sample, Opcode opcode) {
  const auto has = [&](std::string_view text) {
    return sample.line.find(text) != std::string::npos;
  };
  if (has("f8e8m0fnu")) return "f8e8m0fnu has neither zero nor negative numbers for tangents";
  if (opcode == Opcode::kAtan2 && has("f4e2m1fn")) return "f4e2m1fn has no squares of 0.5";
  return "";
}

// The types of the law are those of the sample; integers and pred have zeros for tangents.
TEST_P(DerivativeLaws, HoldInEveryElementType) {
  const Opcode opcode = GetParam();
  const std::string_view why = reason_to_leave_out(opcode);
  if (!why.empty()) GTEST_SKIP() << why;
  std::map<DType, int> compared;
  double worst = 0;
  for (const Sample& sample : samples_of(opcode)) {
    if (!reason_to_leave_out(sample, opcode).empty()) continue;
    SCOPED_TRACE(sample.line);
    const std::vector<Literal> arguments = arguments_in_its_types(sample, opcode);
    const NarrowResult result =
        check_narrow_derivatives(sample.module, arguments,
                                 {.order = has_small_floats(arguments) ? 1 : 2,
                                  .reverse = opcode != Opcode::kWhile,
                                  .has_wide_form = has_a_wide_form(opcode),
                                  .constants = constants_of(opcode, arguments.size())});
    if (is_refused(sample, opcode) && has_tangents(arguments)) {
      EXPECT_NE(result.wrong.find("has no derivative"), std::string::npos) << result.wrong;
      continue;
    }
    ASSERT_EQ(result.wrong, "");
    compared[sample.type] += result.compared;
    worst = std::max(worst, result.worst);
  }
  int all = 0;
  for (const auto& [type, count] : compared) {
    EXPECT_TRUE(count > 0 || opcode == Opcode::kAfterAll) << "no sample of " << type << " has any";
    all += count;
  }
  RecordProperty("compared", all);
  RecordProperty("epsilons", base::cat(worst));
}

std::string refusal_of(const Sample& sample) {
  std::vector<bool> of;
  for (const Literal& leaf : leaves_of(sample.arguments))
    of.push_back(leaf.shape().is_array() && hlo::has_tangent(leaf.shape()));
  if (std::ranges::find(of, true) == of.end()) return "";
  return base::message_of(transform::jvp(sample.module, of).status());
}

// Of every op: it has a rule, which is checked, or a reason, which is what users read.
TEST(DerivativesOfOps, AreCheckedOrRefusedForAReason) {
  int checked = 0, elsewhere = 0, refused = 0;
  for (Opcode opcode : every_opcode()) {
    SCOPED_TRACE(to_string(opcode));
    EXPECT_FALSE(samples_of(opcode).empty());
    const std::string_view reason = reason_to_leave_out(opcode);
    ++(reason.empty() ? checked : has_rules(opcode) ? elsewhere : refused);
    if (has_rules(opcode)) continue;
    EXPECT_FALSE(reason.empty());
    for (const Sample& sample : samples_of(opcode)) {
      const std::string told = refusal_of(sample);
      EXPECT_TRUE(told.empty() || told.find(reason) != std::string::npos) << told;
    }
  }
  // A change of these is one of what can be differentiated.
  EXPECT_EQ(checked, 105);
  EXPECT_EQ(elsewhere, 6);
  EXPECT_EQ(refused, 25);
}

// The cotangents of vjp(), by a transpose of the op itself in each operand alone.
void expect_transposes(const hlo::Module& module, const std::vector<Literal>& arguments,
                       const Literal& ct) {
  for (size_t i : {0, 1}) {
    std::vector<bool> linear(arguments.size());
    linear[i] = true;
    std::vector<Literal> known = arguments, all = arguments;
    known.erase(known.begin() + static_cast<std::ptrdiff_t>(i));
    known.push_back(ct);
    all.push_back(ct);
    const auto back = transform::transpose(module, linear);
    ASSERT_TRUE(back.ok()) << back.status();
    const auto value = [](const hlo::Module& each, std::vector<Literal> given) {
      const auto evaluator = interpreter::Evaluator::prepare(each);
      return evaluator->run(std::move(given)).value().elements().back();
    };
    EXPECT_EQ(
        far_apart(value(*back, known), value(*transform::vjp(module, linear, {true}), all), 1e-14),
        "");
  }
}

// Sizes that differ for each batch, of a contracted dimension and of a batch dimension; some
// elements are of no group.
TEST(DerivativesOfOps, OfEveryKindOfRaggedDot) {
  struct Kind {
    std::vector<int64_t> x, y;
    std::string rest;
  };
  const Kind kinds[] = {
      {{2, 4, 3},
       {2, 2, 3, 2},
       "s = s32[2,2] constant({{1, 2}, {3, 1}})\n  ROOT r = f64[2,4,2] ragged-dot(x, y, s), "
       "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, "
       "rhs_contracting_dims={2}, lhs_ragged_dims={1}, rhs_group_dims={1}"},
      {{3, 4},
       {4, 2},
       "s = u8[2] constant({1, 2})\n  ROOT r = f64[2,3,2] ragged-dot(x, y, s), "
       "lhs_contracting_dims={1}, rhs_contracting_dims={0}, lhs_ragged_dims={1}"},
      {{4, 3, 2},
       {4, 2, 3},
       "s = s64[2] constant({1, 2})\n  ROOT r = f64[4,3,3] ragged-dot(x, y, s), "
       "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, "
       "rhs_contracting_dims={1}, lhs_ragged_dims={0}"},
  };
  std::mt19937_64 engine(7);
  for (const Kind& kind : kinds) {
    SCOPED_TRACE(kind.rest);
    const Shape x(f64, kind.x), y(f64, kind.y);
    const auto module =
        hlo::parse_text(base::cat("ENTRY main {\n  x = ", x, " parameter(0)\n  y = ", y,
                                  " parameter(1)\n  ", kind.rest, "\n}"));
    ASSERT_TRUE(module.ok()) << module.status();
    const std::vector<Literal> arguments{smooth(x, Opcode::kRaggedDot, engine),
                                         smooth(y, Opcode::kRaggedDot, engine)};
    EXPECT_EQ(check_derivatives(*module, arguments), "");
    const Shape& result = module->entry_computation().result_shape();
    expect_transposes(*module, arguments, smooth(result, Opcode::kRaggedDot, engine));
  }
}

// A scale for each block of two numbers, and one for all.
TEST(DerivativesOfOps, OfScaledDotByScalesToo) {
  const auto module = hlo::parse_text(R"(ENTRY main {
    x = f64[2,4] parameter(0)
    y = f64[4,3] parameter(1)
    x_scale = f64[2,2] parameter(2)
    y_scale = f64[] parameter(3)
    ROOT r = f64[2,3] scaled-dot(x, y, x_scale, y_scale), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  })");
  ASSERT_TRUE(module.ok()) << module.status();
  std::mt19937_64 engine(7);
  std::vector<Literal> arguments;
  for (const Shape& shape :
       {Shape(f64, {2, 4}), Shape(f64, {4, 3}), Shape(f64, {2, 2}), Shape(f64, {})})
    arguments.push_back(smooth(shape, Opcode::kScaledDot, engine));
  EXPECT_EQ(check_derivatives(*module, arguments), "");
  expect_transposes(*module, arguments, smooth(Shape(f64, {2, 3}), Opcode::kScaledDot, engine));
}

// Statistics along the middle dimension, in order 1 and 2, in both modes.
TEST(DerivativesOfOps, OfBatchNormalisationAlongTheMiddle) {
  const std::string_view ops[] = {
      "(f64[2,3,4], f64[3], f64[3]) batch-norm-training(x, a, b)",
      "f64[2,3,4] batch-norm-inference(x, a, b, c, e)",
      "(f64[2,3,4], f64[3], f64[3]) batch-norm-grad(x, a, b, c, g)",
  };
  std::mt19937_64 engine(7);
  const Shape x(f64, {2, 3, 4}), feature(f64, {3});
  std::vector<Literal> arguments;
  std::string parameters;
  for (const auto& [name, shape] : {std::pair("x", x),
                                    {"a", feature},
                                    {"b", feature},
                                    {"c", feature},
                                    {"e", feature},
                                    {"g", x}}) {
    base::append(parameters, "  ", name, " = ", shape, " parameter(", arguments.size(), ")\n");
    arguments.push_back(smooth(shape, Opcode::kBatchNormGrad, engine));
  }
  for (std::string_view op : ops) {
    SCOPED_TRACE(op);
    const auto module = hlo::parse_text(base::cat("ENTRY main {\n", parameters, "  ROOT r = ", op,
                                                  ", epsilon=0.01, feature_index=1\n}"));
    ASSERT_TRUE(module.ok()) << module.status();
    EXPECT_EQ(check_derivatives(*module, arguments), "");
  }
}

// Where squares are beyond the type's range.
TEST(DerivativesOfOps, HoldFarOutInF16) {
  for (const char* op : {"asinh(x)", "acosh(x)", "atan(x)", "atan2(x, y)", "sqrt(x)", "log(x)"}) {
    const auto module = hlo::parse_text(
        base::cat("ENTRY main {\n  x = f16[4] parameter(0)\n  y = f16[4] parameter(1)\n  ROOT r = "
                  "f16[4] ",
                  op, "\n}"));
    ASSERT_TRUE(module.ok()) << module.status();
    const auto numbers = [](std::initializer_list<double> all) {
      return rounded(Literal::from<double>(Shape(f64, {4}), all), f16);
    };
    const Literal x = numbers({60, 300, 5000, 60000}), y = numbers({-60, 300, 200, 60000});
    EXPECT_EQ(check_narrow_derivatives(*module, {x, y}, {.order = 1, .least_size = 0}).wrong, "")
        << op;
  }
}

// More ties than the type counts to.
TEST(DerivativesOfOps, AGreatestNumberIsSharedByAllThatAreEqual) {
  const std::vector<double> halves(1000, 0.5);
  for (DType dtype : {f64, f32, f16, bf16, f8e5m2, f8e4m3fn, f8e3m4}) {
    const std::string t(to_string(dtype));
    const auto module = hlo::parse_text(base::cat(
        "greatest {\n  a = ", t, "[] parameter(0)\n  b = ", t, "[] parameter(1)\n  ROOT r = ", t,
        "[] maximum(a, b)\n}\nENTRY main {\n  x = ", t, "[1000] parameter(0)\n  z = ", t,
        "[] constant(0)\n  ROOT y = ", t, "[] reduce(x, z), dimensions={0}, to_apply=greatest\n}"));
    ASSERT_TRUE(module.ok()) << module.status();
    const Literal x =
        rounded(Literal::from<double>(Shape(f64, {1000}), std::span<const double>(halves)), dtype);
    const auto gradient = interpreter::evaluate(*transform::gradient(*module, {true}), {x});
    ASSERT_TRUE(gradient.ok()) << gradient.status();
    EXPECT_EQ(gradient->element(1).to_double(999), Literal::scalar(dtype, 0.001).to_double(0)) << t;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, DerivativeLaws, ::testing::ValuesIn(every_opcode()), OpName());

}  // namespace
}  // namespace heddle::laws
