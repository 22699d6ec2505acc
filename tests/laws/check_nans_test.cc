// No public function makes NaNs to throw them away: under .check_nans a call whose results have
// none runs to its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "heddle/compile/compile.h"
#include "heddle/tests/laws/function_samples.h"

namespace heddle::laws {
namespace {

using Tensors = std::vector<Tensor>;

// Operands of f32 whose elements take turns.
Tensors operands(std::span<const double> values) {
  Tensors out;
  for (const Shape& shape : Inputs::shapes(f32)) {
    if (shape.dtype() != f32) {
      out.push_back(ones(shape.dimensions(), shape.dtype()));
      continue;
    }
    std::vector<float> elements;
    for (int64_t i = 0; i < shape.element_count(); ++i) {
      const size_t turn = static_cast<size_t>(i) + out.size();  // another start in each
      elements.push_back(static_cast<float>(values[turn % values.size()]));
    }
    out.push_back(array<float>(elements, shape.dimensions()));
  }
  return out;
}

bool has_nan(const Tensors& results) {
  return std::ranges::any_of(results, [](const Tensor& result) {
    const bool has_any = is_floating(result.dtype()) || is_complex(result.dtype());
    return has_any && any(result != result).item<bool>();
  });
}

// What .check_nans says of a call whose results have no NaN; "" where it says nothing.
std::string false_alarm(const FunctionSample& sample, std::span<const double> values) {
  const auto call = [&](const Tensors& leaves) { return sample.call(Inputs::of(f32, leaves)); };
  const Tensors leaves = operands(values);
  try {
    Tensors results = compile(call)(leaves);
    if (has_nan(results)) return "";
  } catch (const Error&) {
    return "";  // takes no f32
  }
  try {
    for (const Tensor& result : compile(call, {.check_nans = true})(leaves)) result.wait();
  } catch (const Error& error) {
    return base::cat(sample.name, ": ", error.what());
  }
  return "";
}

std::vector<std::string> false_alarms(std::span<const std::array<double, 5>> all,
                                      bool (*is_asked)(std::string_view name)) {
  std::vector<std::string> wrong;
  for (const FunctionSample& sample : every_sample()) {
    if (!is_asked(sample.name)) continue;
    for (const auto& values : all) {
      const std::string found = false_alarm(sample, values);
      if (found.empty()) continue;
      wrong.push_back(found);
      break;
    }
  }
  return wrong;
}

constexpr double kInf = std::numeric_limits<double>::infinity(),
                 kNan = std::numeric_limits<double>::quiet_NaN();

TEST(CheckNans, PublicFunctionsGiveNoFalseAlarmOfFiniteNumbers) {
  constexpr std::array<double, 5> kValues[] = {
      {0, 0, 0, 0, 0},           {1, 1, 1, 1, 1},
      {-1, -1, -1, -1, -1},      {0.25, 0.5, 0.75, 0.5, 0.1},
      {2, 0, -1, 0.5, -0.25},    {3, 1, 2, 5, 4},
      {1e30, -1e30, 0, 1, 1e-30}};
  EXPECT_EQ(base::join(false_alarms(kValues, [](std::string_view) { return true; }), "\n"), "");
}

TEST(CheckNans, ArithmeticGivesNoneOfInfinities) {
  constexpr std::array<double, 5> kValues[] = {
      {-kInf, -kInf, -kInf, -kInf, -kInf}, {kInf, kInf, kInf, kInf, kInf}, {kInf, 0, -kInf, 1, 2}};
  const auto is_plain = [](std::string_view name) { return name.find("::") == name.npos; };
  EXPECT_EQ(base::join(false_alarms(kValues, is_plain), "\n"), "");
}

TEST(CheckNans, FunctionsThatLeaveNansOutGiveNoneOfThem) {
  constexpr std::array<double, 5> kValues[] = {{kNan, 0.5, 1, kNan, 2}, {kNan, 3, 2, 1, 0}};
  const auto leaves_out = [](std::string_view name) {
    return name.starts_with("nan") || name.starts_with("is") || name == "fmax" || name == "fmin";
  };
  EXPECT_EQ(base::join(false_alarms(kValues, leaves_out), "\n"), "");
}

}  // namespace
}  // namespace heddle::laws
