#include "heddle/tests/cpu/support.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "heddle/base/text/strings.h"
#include "heddle/codegen/jit/jit.h"
#include "heddle/cpu/backend.h"
#include "heddle/hlo/literal/blocks.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/runtime/transfer.h"

namespace heddle::cpu {
namespace {

using base::cat;
using runtime::BufferPtr;

// Neighbours are 1 apart, and -0 is beside 0.
template <class Int>
int64_t order(Int bits) {
  return bits < 0 ? -int64_t{bits ^ std::numeric_limits<Int>::min()} - 1 : int64_t{bits};
}

// The values x and y, whose bits are those of `got` and `want`.
template <class Int, class T>
std::string difference_of_floats(const Literal& got, const Literal& want, std::span<const T> x,
                                 std::span<const T> y, const Allowed& allowed) {
  const auto* of_got = reinterpret_cast<const Int*>(got.bytes());
  const auto* of_want = reinterpret_cast<const Int*>(want.bytes());
  double largest = 0;
  for (const T value : y) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  for (size_t i = 0; i < x.size(); ++i) {
    const T a = x[i], b = y[i];
    if ((std::isnan(a) && std::isnan(b)) || of_got[i] == of_want[i]) continue;
    if (a == b && allowed.any_zero) continue;
    if (!std::isnan(a) && !std::isnan(b) && std::signbit(a) == std::signbit(b)) {
      const auto apart =
          static_cast<double>(order(of_got[i])) - static_cast<double>(order(of_want[i]));
      if (std::abs(apart) <= static_cast<double>(allowed.ulp)) continue;
    }
    if (std::abs(static_cast<double>(a) - static_cast<double>(b)) <= allowed.share * largest)
      continue;
    return cat("element ", i, " of ", to_string(got.shape()), ": got ", a, ", want ", b, " (bits ",
               of_got[i], " and ", of_want[i], ")");
  }
  return "";
}

// Parts of complex numbers are elements too.
template <class T, class Int>
std::string difference_of_parts(const Literal& got, const Literal& want, const Allowed& allowed) {
  const auto numbers = [](const Literal& from) {
    return std::span(reinterpret_cast<const T*>(from.bytes()),
                     static_cast<size_t>(from.byte_size()) / sizeof(T));
  };
  return difference_of_floats<Int>(got, want, numbers(got), numbers(want), allowed);
}

std::vector<double> numbers_of(const Literal& literal) {
  std::vector<double> out(static_cast<size_t>(literal.element_count()));
  load(literal.shape().dtype(), literal.bytes(), literal.element_count(), out.data());
  return out;
}

bool are_equal_numbers(const Literal& got, const Literal& want) {
  return std::ranges::equal(numbers_of(got), numbers_of(want), [](double x, double y) {
    return x == y || (std::isnan(x) && std::isnan(y));
  });
}

template <class Int>
std::string difference_of_small(const Literal& got, const Literal& want, const Allowed& allowed) {
  const std::vector<double> x = numbers_of(got), y = numbers_of(want);
  return difference_of_floats<Int, double>(got, want, x, y, allowed);
}

void append_leaves(const Literal& value, std::vector<Literal>& out) {
  if (!value.is_tuple()) return out.push_back(value);
  for (const Literal& element : value.elements()) append_leaves(element, out);
}

Literal of_leaves(const Shape& shape, std::span<const Literal>& leaves) {
  if (!shape.is_tuple()) {
    const Literal leaf = leaves.front();
    leaves = leaves.subspan(1);
    return leaf;
  }
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements()) elements.push_back(of_leaves(element, leaves));
  return Literal::tuple(std::move(elements));
}

Literal small_numbers(const Shape& shape, int64_t& next) {
  if (shape.is_tuple()) {
    std::vector<Literal> elements;
    for (const Shape& element : shape.elements()) elements.push_back(small_numbers(element, next));
    return Literal::tuple(std::move(elements));
  }
  Literal out(shape);
  const int64_t width = storage_bytes(shape.dtype());
  for (std::byte* to = out.mutable_bytes(); to < out.bytes() + out.byte_size(); to += width) {
    const int64_t number = shape.dtype() == pred ? next % 2 : next % 11;
    const Literal one = is_integer(shape.dtype()) || shape.dtype() == pred
                            ? Literal::scalar(shape.dtype(), number)
                            : Literal::scalar(shape.dtype(), static_cast<double>(number));
    std::memcpy(to, one.bytes(), static_cast<size_t>(width));
    next += 7;
  }
  return out;
}

}  // namespace

runtime::Device& cpu_device() {
  static runtime::Backend& backend = *make_known("").value().release();  // HEDDLE_CPU_CHECKS=1
  return *backend.devices()[0];
}

runtime::Device& checked_device() {
  static runtime::Backend& backend = *make_cpu({.checks_bounds = true}).release();
  return *backend.devices()[0];
}

bool has_code_generator() {
  static const bool has = [] {
    Plan plan;
    plan.entry = BlockId(0);
    plan.blocks.emplace_back();
    return compile_plan({.plan = &plan}).status().code() != StatusCode::kNotFound;
  }();
  return has;
}

std::string difference(const Literal& got, const Literal& want, const Allowed& allowed) {
  if (!same_type(got.shape(), want.shape()))
    return cat("type ", to_string(got.shape()), ", want ", to_string(want.shape()));
  if (want.is_tuple()) {
    for (size_t i = 0; i < want.elements().size(); ++i) {
      const std::string found = difference(got.elements()[i], want.elements()[i], allowed);
      if (!found.empty()) return cat("{", i, "} ", found);
    }
    return "";
  }
  const DType part = real_part(want.shape().dtype());
  if (part == f32) return difference_of_parts<float, int32_t>(got, want, allowed);
  if (part == f64) return difference_of_parts<double, int64_t>(got, want, allowed);
  if (part == bf16 || part == f16) return difference_of_small<int16_t>(got, want, allowed);
  if (part == f8e4m3fn || part == f8e5m2) return difference_of_small<int8_t>(got, want, allowed);
  // Of smaller floats the NaNs differ in bits, and are printed alike.
  if (got == want || hlo::print_literal(got) == hlo::print_literal(want)) return "";
  if (allowed.any_zero && is_floating(part) && are_equal_numbers(got, want)) return "";
  return cat("got ", hlo::print_literal(got), ", want ", hlo::print_literal(want));
}

OnCpu::OnCpu(const hlo::Module& module, runtime::Device& device)
    : device_(device),
      program_(device.backend().compile(module, {}, device).value()),
      result_(module.entry_computation().result_shape()) {}

Literal OnCpu::run(const std::vector<Literal>& arguments, bool donated) const {
  std::vector<Literal> leaves;
  for (const Literal& argument : arguments) append_leaves(argument, leaves);
  std::vector<BufferPtr> buffers;
  runtime::ExecuteOptions options;
  for (const Literal& leaf : leaves) {
    if (donated) options.donate.push_back(static_cast<int>(buffers.size()));
    buffers.push_back(runtime::to_device(device_, leaf).value());
  }
  const std::vector<BufferPtr> outputs = program_->execute(buffers, options).value();
  std::vector<Literal> results;
  for (const BufferPtr& buffer : outputs) results.push_back(runtime::to_host(*buffer).value());
  if (!donated) {
    for (size_t i = 0; i < leaves.size(); ++i) {
      EXPECT_EQ(difference(runtime::to_host(*buffers[i]).value(), leaves[i]), "")
          << "argument " << i << " has changed";
    }
  }
  std::span<const Literal> left = results;
  return of_leaves(result_, left);
}

std::vector<Literal> arguments_of(const hlo::Module& module) {
  std::vector<Literal> out;
  int64_t next = 3;
  const hlo::Computation& entry = module.entry_computation();
  for (size_t i = 0; i < entry.parameter_count(); ++i)
    out.push_back(small_numbers(entry.parameter_shape(i), next));
  return out;
}

void expect_as_evaluated(std::string_view text, const Allowed& allowed) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const auto module = hlo::parse_text(text);
  ASSERT_TRUE(module.ok()) << module.status() << "\n" << text;
  const std::vector<Literal> arguments = arguments_of(*module);
  const auto want = interpreter::evaluate(*module, arguments);
  ASSERT_TRUE(want.ok()) << want.status();
  const int64_t before = statistics().native;
  const OnCpu program(*module), checked(*module, checked_device());
  EXPECT_EQ(statistics().native, before + 2) << "the evaluator runs it";
  for (const bool donated : {false, true}) {
    for (const OnCpu* each : {&program, &checked}) {
      const Literal got = each->run(arguments, donated);
      EXPECT_EQ(difference(got, *want, allowed), "")
          << (donated ? "donated" : "not donated") << (each == &checked ? ", checked" : "")
          << "\ngot " << hlo::print_literal(got) << "\nwant " << hlo::print_literal(*want) << "\n"
          << text;
    }
  }
}

std::pair<uint64_t, uint64_t> random_numbers(uint64_t programs) {
  const char* asked = std::getenv("HEDDLE_RANDOM_PROGRAMS");
  if (asked == nullptr) return {0, programs};
  char* end = nullptr;
  const uint64_t first = std::strtoull(asked, &end, 10);
  const auto numbers = *end == ':' ? std::pair{first, uint64_t{std::strtoull(end + 1, nullptr, 10)}}
                                   : std::pair{uint64_t{0}, first};
  EXPECT_LT(numbers.first, numbers.second) << "HEDDLE_RANDOM_PROGRAMS is LAST or FIRST:LAST";
  return numbers;
}

}  // namespace heddle::cpu
