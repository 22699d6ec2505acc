// Laws that hold for every op, tested on its samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <regex>

#include "heddle/hlo/builder.h"
#include "heddle/hlo/op.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/wire.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/interpreter/rules.h"
#include "heddle/tests/laws/around_ops.h"
#include "heddle/tests/laws/samples.h"
#include "heddle/transform/canonical.h"
#include "heddle/transform/pass.h"

namespace heddle::laws {
namespace {

using hlo::ComputationBuilder;
using hlo::InstructionId;
using hlo::Opcode;

// Whether the interpreter may refuse some of the op's programs: of a custom-call it knows a few
// targets, of what devices do together groups of one.
bool is_known_in_part(Opcode opcode) {
  return opcode == Opcode::kCustomCall || hlo::has_trait(opcode, hlo::kSideEffect);
}

// The same value in bytes of its own.
Literal deep_copy(const Literal& value) {
  if (value.is_tuple()) {
    std::vector<Literal> elements;
    for (const Literal& element : value.elements()) elements.push_back(deep_copy(element));
    return Literal::tuple(std::move(elements));
  }
  if (!value.shape().is_array()) return value;
  Literal out = Literal::uninitialised(value.shape());
  if (value.byte_size() > 0)
    std::memcpy(out.mutable_bytes(), value.bytes(), static_cast<size_t>(value.byte_size()));
  return out;
}

std::vector<Literal> deep_copies(const std::vector<Literal>& values) {
  std::vector<Literal> out;
  for (const Literal& value : values) out.push_back(deep_copy(value));
  return out;
}

// The value, none where the op has no evaluation; any other error fails the test.
std::optional<Literal> value_of(Opcode opcode, const hlo::Module& module,
                                std::vector<Literal> arguments) {
  auto value = interpreter::evaluate(module, std::move(arguments));
  if (value.ok()) return *std::move(value);
  const bool refuses = !interpreter::evaluation(opcode).evaluate || is_known_in_part(opcode);
  EXPECT_TRUE(refuses && value.status().code() == StatusCode::kUnimplemented) << value.status();
  return std::nullopt;
}

std::optional<Literal> value_of(const Sample& sample) {
  return value_of(sample.module.entry_computation().root_instruction().opcode, sample.module,
                  sample.arguments);
}

class OpLaws : public ::testing::TestWithParam<Opcode> {
 protected:
  // Runs a law on every sample until one breaks it.
  template <class Law>
  void for_each_sample(Law law) {
    for (const Sample& sample : samples_of(GetParam())) {
      SCOPED_TRACE(sample.line);
      law(sample);
      if (HasFailure()) return;
    }
  }
};

TEST_P(OpLaws, HasSamplesOrAReasonForNone) {
  auto is_this = [](const Unsampled& row) { return row.opcode == GetParam(); };
  EXPECT_NE(samples_of(GetParam()).empty(), std::ranges::none_of(unsampled(), is_this));
  for_each_sample([](const Sample& sample) {
    EXPECT_EQ(sample.module.entry_computation().root_instruction().opcode, GetParam());
  });
}

TEST_P(OpLaws, RefusesTheTypesThatSamplesLeaveOut) {
  for (const Refused& refused : refused_of(GetParam())) {
    EXPECT_FALSE(hlo::parse_text(refused.text).ok()) << refused.line << " verifies";
    if (HasFailure()) return;
  }
}

TEST_P(OpLaws, InferredTypeIsTheValues) {
  for_each_sample([](const Sample& sample) {
    const std::optional<Literal> value = value_of(sample);
    if (!value) return;
    const Shape& inferred = sample.module.entry_computation().result_shape();
    EXPECT_TRUE(same_type(value->shape(), inferred)) << to_string(value->shape());
  });
}

TEST_P(OpLaws, TextRoundTrips) {
  using Form = hlo::PrintOptions::Form;
  for_each_sample([](const Sample& sample) {
    for (Form form : {Form::kLong, Form::kShort, Form::kCanonical}) {
      const std::string text = hlo::print(sample.module, {.form = form});
      auto again = hlo::parse_text(text);
      ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
      EXPECT_TRUE(hlo::equal(sample.module, *again)) << text << hlo::print(*again);
      EXPECT_EQ(hlo::hash_of(sample.module), hlo::hash_of(*again));
    }
  });
}

TEST_P(OpLaws, ProtosRoundTrip) {
  for_each_sample([](const Sample& sample) {
    const std::string bytes = hlo::to_proto(sample.module);
    auto again = hlo::from_proto(bytes);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(hlo::equal(sample.module, *again)) << hlo::print(*again);
    EXPECT_EQ(hlo::hash_of(sample.module), hlo::hash_of(*again));
    EXPECT_EQ(hlo::to_proto(*again), bytes);
  });
}

TEST_P(OpLaws, CanonicalFormIsItsOwnAndKeepsTheValue) {
  for_each_sample([](const Sample& sample) {
    const hlo::Module once = transform::canonicalize(sample.module);
    EXPECT_TRUE(hlo::equal(once, transform::canonicalize(once))) << hlo::print(once);
    const std::optional<Literal> want = value_of(sample);
    if (!want || is_random(GetParam())) return;
    EXPECT_TRUE(value_of(GetParam(), once, sample.arguments) == want) << hlo::print(once);
  });
}

TEST_P(OpLaws, ValueIsTheSameInPlaceAndLeavesSharedOperandsAlone) {
  for_each_sample([](const Sample& sample) {
    const std::vector<Literal> before = deep_copies(sample.arguments);
    const std::optional<Literal> shared = value_of(sample);
    EXPECT_TRUE(sample.arguments == before) << "an operand that is held elsewhere has changed";
    if (!shared || is_random(GetParam())) return;
    const std::optional<Literal> unique = value_of(GetParam(), sample.module, deep_copies(before));
    ASSERT_TRUE(unique);
    EXPECT_TRUE(*unique == *shared) << hlo::print_literal(*unique) << "\n"
                                    << hlo::print_literal(*shared);
    EXPECT_TRUE(value_of(sample) == shared) << "a second run gives another value";
  });
}

// Programs around an op
// --------------------------------------------------------------------------------

// (f(x..), f(x..)), where f is the sample: for inline, merge-equal and remove-unused.
hlo::Module called_twice(const Sample& sample) {
  hlo::Module out = sample.module;
  const hlo::Computation& callee = sample.module.entry_computation();
  ComputationBuilder to(out);
  std::vector<InstructionId> operands;
  for (size_t i = 0; i < callee.parameter_count(); ++i)
    operands.push_back(to.parameter(callee.parameter_shape(i)));
  std::vector<InstructionId> results;
  for (int i = 0; i < 2; ++i) {
    results.push_back(*to.add(Opcode::kCall, operands, hlo::CallAttrs(), {sample.module.entry},
                              &callee.result_shape()));
  }
  const InstructionId root = *to.add(Opcode::kTuple, results);
  out.entry = out.add(std::move(to).finish(root));
  return out;
}

std::vector<std::string> pass_lists() {
  std::vector<std::string> names = {"lower", "flatten"};
  for (const transform::Pass& pass : transform::kPasses) names.emplace_back(pass.name);
  return names;
}

void expect_passes_keep_the_value(Opcode opcode, const hlo::Module& module,
                                  const std::vector<Literal>& arguments) {
  const std::optional<Literal> want = value_of(opcode, module, arguments);
  for (const std::string& names : pass_lists()) {
    auto now =
        transform::run_pipeline(module, *transform::parse_pipeline(names), {.verify_each = true});
    ASSERT_TRUE(now.ok()) << names << ": " << now.status() << "\n" << hlo::print(module);
    if (!want || is_random(opcode)) continue;
    const std::optional<Literal> got = value_of(opcode, *now, arguments);
    ASSERT_TRUE(got);
    EXPECT_TRUE(*got == *want) << names << " gives " << hlo::print_literal(*got) << ", not "
                               << hlo::print_literal(*want) << "\n"
                               << hlo::print(*now);
  }
}

TEST_P(OpLaws, PassesKeepTheValue) {
  for_each_sample([](const Sample& sample) {
    expect_passes_keep_the_value(GetParam(), sample.module, sample.arguments);
    expect_passes_keep_the_value(GetParam(), called_twice(sample), sample.arguments);
  });
}

TEST_P(OpLaws, LoopsGiveTheOpsValueAndPassesKeepIt) {
  for_each_sample([](const Sample& sample) {
    if (!is_made_of_arrays(sample.module.entry_computation().result_shape())) return;
    const hlo::Module loop = looped(sample);
    const std::optional<Literal> once = value_of(sample);
    const std::optional<Literal> thrice = value_of(GetParam(), loop, sample.arguments);
    ASSERT_EQ(once.has_value(), thrice.has_value());
    if (once && !is_random(GetParam())) {
      EXPECT_TRUE(thrice->elements().back() == *once) << hlo::print_literal(*thrice);
    }
    expect_passes_keep_the_value(GetParam(), loop, sample.arguments);
  });
}

// The sample's op, of arrays, as a program on scalars.
hlo::Module on_scalars(const Sample& sample) {
  const hlo::Computation& whole = sample.module.entry_computation();
  const hlo::Instruction& op = whole.root_instruction();
  hlo::Module out;
  ComputationBuilder to(out);
  std::vector<InstructionId> operands;
  for (InstructionId id : op.operands)
    operands.push_back(to.parameter(Shape::scalar(whole.at(id).shape.dtype())));
  const Shape result = Shape::scalar(op.shape.dtype());
  const InstructionId root = *to.add(op.opcode, operands, op.attrs, {}, &result);
  out.entry = out.add(std::move(to).finish(root));
  return out;
}

// Element i; of a scalar, which stands for all elements, itself.
Literal element_of(const Literal& array, int64_t i) {
  Literal out = Literal::uninitialised(Shape::scalar(array.shape().dtype()));
  const auto width = static_cast<size_t>(out.byte_size());
  const int64_t at = array.shape().is_scalar() ? 0 : i;
  std::memcpy(out.mutable_bytes(), array.bytes() + static_cast<size_t>(at) * width, width);
  return out;
}

// A value in full, -0 apart from 0. Of what sign and payload the NaN of two NaN is hangs on which
// one the compiler's code takes first: each is NaN.
std::string written(const Literal& value) {
  static const std::regex kNan(R"(-?nan(\(0x[0-9a-f]+\))?)");
  return std::regex_replace(hlo::print_literal(value), kNan, "nan");
}

// The interpreter has a way of its own for scalars.
TEST_P(OpLaws, ElementwiseOpsGiveAScalarWhatTheyGiveAnElement) {
  if (!hlo::has_trait(GetParam(), hlo::kElementwise)) return;
  for_each_sample([](const Sample& sample) {
    const hlo::Computation& whole = sample.module.entry_computation();
    const std::optional<Literal> want = value_of(sample);
    if (!want || !want->shape().is_array() || want->shape().is_dynamic()) return;
    auto evaluator = interpreter::Evaluator::prepare(on_scalars(sample));
    ASSERT_TRUE(evaluator.ok()) << evaluator.status();
    for (int64_t i = 0; i < want->element_count(); ++i) {
      std::vector<Literal> arguments;
      for (InstructionId id : whole.root_instruction().operands) {
        const int64_t number = whole.at(id).attrs.get<hlo::ParameterAttrs>().number;
        arguments.push_back(element_of(sample.arguments[static_cast<size_t>(number)], i));
      }
      auto got = evaluator->run(arguments);
      ASSERT_TRUE(got.ok()) << got.status();
      ASSERT_EQ(written(*got), written(element_of(*want, i))) << i;
    }
  });
}

// A law on few samples says little: that no change empties the table unseen.
TEST(Samples, AreManyOfEveryElementType) {
  std::map<DType, int> of_type;
  for (Opcode opcode : every_opcode()) {
    for (const Sample& sample : samples_of(opcode)) ++of_type[sample.type];
  }
#define HEDDLE_X(enumerator, text, number, bits, bytes, kind) \
  EXPECT_GE(of_type[DType::enumerator], 150) << #text;
  HEDDLE_DTYPES(HEDDLE_X)
#undef HEDDLE_X
}

INSTANTIATE_TEST_SUITE_P(EveryOp, OpLaws, ::testing::ValuesIn(every_opcode()), OpName());

}  // namespace
}  // namespace heddle::laws
