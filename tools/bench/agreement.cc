#include "heddle/tools/bench/agreement.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "heddle/hlo/literal/blocks.h"
#include "heddle/tools/conformance/compare.h"

namespace heddle::tools {
namespace {

double share_of(DType dtype) {
  switch (real_part(dtype)) {
    case f64: return 1e-9;
    case f32: return 1e-4;
    case f16: return 1e-2;
    default: return 5e-2;
  }
}

bool is_float(const Literal& leaf) {
  return is_floating(leaf.shape().dtype()) || is_complex(leaf.shape().dtype());
}

// Complex numbers by their parts.
std::vector<double> numbers_of(const Literal& leaf) {
  const int64_t count = leaf.element_count() * (is_complex(leaf.shape().dtype()) ? 2 : 1);
  std::vector<double> out(static_cast<size_t>(count));
  load(real_part(leaf.shape().dtype()), leaf.bytes(), count, out.data());
  return out;
}

double largest(const Literal& leaf) {
  double out = 0;
  for (const double x : numbers_of(leaf))
    if (std::isfinite(x)) out = std::max(out, std::abs(x));
  return out;
}

double slack_of(const Slack& slack, size_t output) {
  return output < slack.size() ? slack[output] : 0;
}

// `times`: how many values may be off.
std::string difference(const Literal& got, const Literal& want, double slack, int times) {
  if (!is_float(want)) return conformance::difference(got, want, {});
  const conformance::Tolerance allowed{
      .atol = times * (share_of(want.shape().dtype()) * largest(want) + slack)};
  return conformance::difference(got, want, {&allowed, 1});
}

Literal every(int64_t stride, const Literal& from) {
  const auto size = static_cast<size_t>(storage_bytes(from.shape().dtype()));
  const int64_t count = (from.element_count() + stride - 1) / stride;
  Literal out = Literal::uninitialised(Shape(from.shape().dtype(), {count}));
  std::byte* to = out.mutable_bytes();
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * size, from.bytes() + i * stride * size, size);
  return out;
}

struct Sums {
  double sum = 0, abs_sum = 0, squares = 0;
};

Sums sums_of(const Literal& result) {
  Sums out;
  for (const double x : numbers_of(result)) {
    out.sum += x;
    out.abs_sum += std::abs(x);
    out.squares += x * x;
  }
  return out;
}

std::string sum_difference(const Literal& result, const ExpectedOutput& expected, double slack) {
  const Sums got = sums_of(result);
  const double share = is_float(result) ? share_of(result.shape().dtype()) : 1e-12;
  const auto count = static_cast<double>(result.element_count());
  const auto differs = [&](const char* what, double value, std::optional<double> want, double size,
                           double more) -> std::string {
    if (!want.has_value() || std::abs(value - *want) <= share * std::abs(size) + more) return {};
    return base::cat(what, " is ", value, ", want ", *want);
  };
  const double size = expected.abs_sum.value_or(got.abs_sum);
  std::string found = differs("sum", got.sum, expected.sum, size, slack * count);
  if (found.empty()) {
    found = differs("sum of absolute values", got.abs_sum, expected.abs_sum, size, slack * count);
  }
  if (found.empty()) {
    const double norm = std::sqrt(got.squares);
    found = differs("l2 norm", norm, expected.l2, norm, slack * std::sqrt(count));
  }
  return found;
}

std::string at_output(size_t number, size_t count, const std::string& found) {
  return found.empty() || count == 1 ? found : base::cat("output ", number, ": ", found);
}

}  // namespace

std::string difference_from_expected(std::span<const Literal> results,
                                     std::span<const ExpectedOutput> expected, const Slack& slack) {
  for (size_t i = 0; i < expected.size() && i < results.size(); ++i) {
    std::string found;
    const double more = slack_of(slack, i);
    if (expected[i].samples.is_valid())
      found = difference(every(expected[i].stride, results[i]), expected[i].samples, more, 1);
    if (found.empty()) found = sum_difference(results[i], expected[i], more);
    if (!found.empty()) return at_output(i, results.size(), found);
  }
  return {};
}

std::string difference_between(std::span<const Literal> results, std::span<const Literal> others,
                               const Slack& slack) {
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string found = difference(results[i], others[i], slack_of(slack, i), 2);
    if (!found.empty()) return at_output(i, results.size(), found);
  }
  return {};
}

std::vector<Literal> moved(std::vector<Literal> arguments, int turn) {
  for (Literal& argument : arguments) {
    if (!is_float(argument)) continue;
    const DType part = real_part(argument.shape().dtype());
    const double by = std::ldexp(share_of(part) / 20, -turn);
    std::vector<double> values = numbers_of(argument);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] *= (i + static_cast<size_t>(turn)) % 2 == 0 ? 1 + by : 1 - by;
    store(part, values.data(), static_cast<int64_t>(values.size()), argument.mutable_bytes());
  }
  return arguments;
}

Slack changes(std::span<const Literal> before, std::span<const Literal> after) {
  Slack out;
  for (size_t i = 0; i < before.size(); ++i) {
    double& change = out.emplace_back(0);
    if (!is_float(before[i])) continue;
    const std::vector<double> a = numbers_of(before[i]), b = numbers_of(after[i]);
    for (size_t j = 0; j < a.size(); ++j)
      if (std::isfinite(a[j] - b[j])) change = std::max(change, std::abs(a[j] - b[j]));
  }
  return out;
}

}  // namespace heddle::tools
