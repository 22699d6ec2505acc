#include "heddle/tests/plugins/random_programs.h"

#include <algorithm>
#include <cmath>

#include "heddle/base/system/subnormals.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/tests/plugins/random_maker.h"
#include "heddle/tools/conformance/against.h"
#include "heddle/tools/conformance/backend.h"
#include "heddle/tools/conformance/compare.h"

namespace heddle::random_programs {
namespace {

constexpr double kUnknown = -1;

// Whole numbers of -4 .. 4, of integers a few of all bits, and of floats NaN, infinities and -0
// where the program has such.
Literal drawn(const Shape& shape, std::mt19937_64& random, bool has_specials) {
  const DType dtype = shape.dtype();
  const bool is_wide = is_integer(dtype) && random() % 3 == 0;
  Literal out(shape);
  const auto number = [&]() -> int64_t {
    if (dtype == pred) return static_cast<int64_t>(random() % 2);
    if (is_wide) return static_cast<int64_t>(random());
    const auto small = static_cast<int64_t>(random() % 9);
    return is_unsigned(dtype) ? small : small - 4;
  };
  const DType part = real_part(dtype);
  const int64_t width = storage_bytes(part);
  const auto real_number = [&]() -> double {
    constexpr double kSpecials[] = {NAN, INFINITY, -INFINITY, -0.0};
    if (has_specials && random() % 4 == 0) return kSpecials[random() % 4];
    return static_cast<double>(number());
  };
  for (std::byte* to = out.mutable_bytes(); to < out.bytes() + out.byte_size(); to += width) {
    const Literal one = is_integer(part) || part == pred ? Literal::scalar(part, number())
                                                         : Literal::scalar(part, real_number());
    std::copy_n(one.bytes(), width, to);
  }
  return out;
}

std::vector<Shape> random_types(Maker& m) {
  std::vector<Shape> out = {Shape(f32, m.any_dims()), Shape(s32, m.any_dims()),
                            Shape(pred, m.any_dims(2))};
  for (int64_t more = m.between(1, 3); more > 0; --more) {
    const DType dtype = m.any_dtype();
    out.emplace_back(m.has_specials() ? real_part(dtype) : dtype, m.any_dims());
  }
  return out;
}

// What is returned: the newest values, and one of the others.
std::vector<Value> results_of(Maker& m, size_t arguments) {
  std::vector<Value> out;
  const size_t made = m.pool.size() - arguments;
  for (size_t i = 0; i < std::min<size_t>(made, 3); ++i) out.push_back(m.pool.rbegin()[i]);
  if (made > 3) out.push_back(m.pool[arguments + static_cast<size_t>(m.below(made))]);
  for (const Tensor& loose : m.loose) out.push_back({loose, 0, kUnknown});
  if (out.empty()) out.push_back(m.pool[0]);
  return out;
}

// As a list of leaves.
std::vector<Literal> leaves(const Literal& value) {
  if (!value.is_tuple()) return {value};
  return {value.elements().begin(), value.elements().end()};
}

conformance::Tolerance allowed(const Program& program, size_t result, const Literal& want) {
  const double error = result < program.errors.size() ? program.errors[result] : kUnknown;
  conformance::Tolerance out = conformance::tolerance_of(program.module, want);
  if (out.exact) return out;
  if (error < 0) {
    out.rtol = std::max(out.rtol, 1e-3);
    out.atol = std::max(out.atol, 1e-3);
  } else {
    out.rtol = 0;
    out.atol = 2 * error;
  }
  return out;
}

}  // namespace

Program make_program(uint64_t seed) {
  std::mt19937_64 random(seed);
  Program out;
  const bool has_specials = random() % 4 == 0;
  Maker types(random, has_specials, out.refused);
  const std::vector<Shape> shapes = random_types(types);
  std::vector<Tensor> placeholders;
  for (const Shape& shape : shapes) {
    out.arguments.push_back(drawn(shape, random, has_specials));
    placeholders.push_back(placeholder(shape));
  }
  const auto fn = [&](std::vector<Tensor> arguments) {
    Maker maker(random, has_specials, out.refused);
    for (const Tensor& each : arguments) maker.pool.push_back({each, 4, 0});
    run_steps(maker, maker.between(4, 20));
    std::vector<Tensor> results;
    for (const Value& value : results_of(maker, arguments.size())) {
      results.push_back(value.tensor);
      out.errors.push_back(value.error);
    }
    return results;
  };
  out.module = trace(fn, placeholders).module();
  return out;
}

Finding compare(const Program& program, runtime::Device& ours, runtime::Device& xla) {
  const FlushSubnormals as_xla_does;
  const StatusOr<Literal> want =
      conformance::run_on_device(ours, program.module, program.arguments);
  const StatusOr<Literal> got = conformance::run_on_device(xla, program.module, program.arguments);
  if (!want.ok() && !got.ok()) return {};
  if (!want.ok())
    return {Outcome::kDiffers, base::cat("the evaluator: ", base::message_of(want.status()))};
  if (!got.ok()) return {Outcome::kRefused, base::message_of(got.status())};
  const std::vector<Literal> wants = leaves(*want), gots = leaves(*got);
  for (size_t i = 0; i < wants.size(); ++i) {
    const conformance::Tolerance tolerance = allowed(program, i, wants[i]);
    const std::string found = conformance::difference(gots[i], wants[i], {&tolerance, 1});
    if (!found.empty()) return {Outcome::kDiffers, base::cat("result ", i, ": ", found)};
  }
  return {};
}

}  // namespace heddle::random_programs
