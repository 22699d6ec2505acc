// Every public function with a bucket: padded it gives what it gives without padding, or is an
// error. What a bucket takes for a function that keeps rows apart is held against the values here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "heddle/base/text/strings.h"
#include "heddle/compile/compile.h"
#include "heddle/hlo/module.h"
#include "heddle/runtime/registry.h"
#include "heddle/tests/laws/function_samples.h"

namespace heddle::laws {
namespace {

// Inputs of the samples that may have rows: x, y, v, m, image, kernel, heads, choice, square.
const std::vector<std::vector<int>> kWithRows = {
    {0}, {1}, {2}, {3}, {5}, {6}, {7}, {11}, {13}, {0, 1}, {0, 1, 2, 11, 13}};

std::vector<Tensor> random_inputs(DType t, uint32_t seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> uniform(0.2, 0.8);
  std::vector<Tensor> inputs;
  for (const Shape& shape : Inputs::shapes(t)) {
    std::vector<double> values(static_cast<size_t>(shape.element_count()));
    for (double& value : values)
      value = shape.dtype() == f32 ? uniform(engine) : static_cast<double>(engine() % 2);
    inputs.push_back(array(values, shape.dimensions()).astype(shape.dtype()));
  }
  return inputs;
}

bool is_near(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b)) ||
         std::abs(a - b) <= 1e-5 * std::max({std::abs(a), std::abs(b), 1e-3});
}

// "" where the leaves are the same.
std::string difference(const std::vector<Tensor>& have, const std::vector<Tensor>& want) {
  if (have.size() != want.size()) return "other leaves";
  for (size_t i = 0; i < have.size(); ++i) {
    if (!same_type(have[i].shape(), want[i].shape()))
      return base::cat(to_string(have[i].shape()), " and not ", to_string(want[i].shape()));
    const Literal a = have[i].to_literal(), b = want[i].to_literal();
    for (int64_t j = 0; j < a.element_count(); ++j) {
      if (!is_near(a.to_double(j), b.to_double(j)))
        return base::cat("leaf ", i, " has ", a.to_double(j), " and not ", b.to_double(j));
    }
  }
  return "";
}

bool reads_any(const hlo::Computation& computation, const std::vector<int>& parameters) {
  return std::ranges::any_of(parameters, [&](int number) {
    const hlo::InstructionId id = computation.parameters[static_cast<size_t>(number)];
    return std::ranges::any_of(computation.instructions, [&](const hlo::Instruction& each) {
      return each.opcode != hlo::Opcode::kTuple && std::ranges::count(each.operands, id) > 0;
    });
  });
}

TEST(BucketOfEveryFunction, IsRightOrAnError) {
  const runtime::DefaultDevice device(*runtime::find_device("interpreter:0").value());
  int right = 0;
  std::set<std::string_view> names;
  for (const FunctionSample& sample : every_sample()) {
    if (sample.name.starts_with("debug_")) continue;  // it prints
    const auto call = [&](const std::vector<Tensor>& inputs) {
      return sample.call(Inputs::of(f32, inputs));
    };
    const std::vector<Tensor> inputs = random_inputs(f32, 7);
    std::vector<Tensor> want;
    try {
      want = compile(call)(inputs);
    } catch (const Error&) {
      continue;  // not of f32, or of several devices
    }
    for (const std::vector<int>& rows : kWithRows) {
      Bucket bucket{.sizes = {5, 9}, .fill = 1};
      for (int leaf : rows) bucket.arguments.push_back(base::cat("arg0[", leaf, "]"));
      try {
        const auto padded = compile(call, {.bucket = bucket});
        EXPECT_EQ(difference(padded(inputs), want), "")
            << sample.name << " with rows in " << bucket.arguments[0].path().value() << "\n"
            << padded.program().hlo_text();
        if (!reads_any(padded.program().module().entry_computation(), rows)) continue;
        ++right;
        names.insert(sample.name);
      } catch (const Error&) {
        // It mixes rows, or takes no other number of them.
      }
    }
  }
  EXPECT_GT(right, 300) << "calls that read rows and keep them apart";
  EXPECT_GT(names.size(), 150u);
}

}  // namespace
}  // namespace heddle::laws
