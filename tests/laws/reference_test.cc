// What ops compute, against second implementations that share nothing with the first: for all
// element types at once, where the tests beside the ops (interpreter/ops/*_test.cc) take a few.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/tests/laws/samples.h"

namespace heddle::laws {
namespace {

using hlo::Opcode;

Literal value_of(const Sample& sample, std::vector<Literal> arguments) {
  auto value = interpreter::evaluate(sample.module, std::move(arguments));
  if (value.ok()) return *std::move(value);
  ADD_FAILURE() << sample.line << ": " << value.status();
  return {};
}

// The bytes of an array under another type of elements as wide; tuples part by part.
Literal reinterpreted(const Literal& value, const Shape& as) {
  if (value.is_tuple()) {
    std::vector<Literal> elements;
    for (size_t i = 0; i < value.elements().size(); ++i) {
      elements.push_back(reinterpreted(value.elements()[i], as.elements()[i]));
    }
    return Literal::tuple(std::move(elements));
  }
  Literal out(as);
  if (as.byte_size() > 0)
    std::memcpy(out.mutable_bytes(), value.bytes(), static_cast<size_t>(as.byte_size()));
  return out;
}

// Movement
// --------------------------------------------------------------------------------

// Elements are carried, whatever they mean: an array of any type moves as the unsigned integers of
// its bytes do.
class Movement : public ::testing::TestWithParam<Opcode> {};

DType word_of(DType type) {
  switch (storage_bytes(type)) {
    case 1: return u8;
    case 2: return u16;
    case 4: return u32;
    case 8: return u64;
    default: return c128;
  }
}

TEST_P(Movement, IsThatOfTheBytes) {
  std::map<std::pair<const Row*, DType>, std::vector<const Sample*>> samples;
  for (const Sample& sample : samples_of(GetParam())) {
    if (sample.row->types == "all") samples[{sample.row, sample.type}].push_back(&sample);
  }
  ASSERT_FALSE(samples.empty());
  for (const auto& [key, of_type] : samples) {
    const auto& of_words = samples.at({key.first, word_of(key.second)});
    ASSERT_EQ(of_type.size(), of_words.size());
    for (size_t i = 0; i < of_type.size(); ++i) {
      SCOPED_TRACE(of_type[i]->line);
      const hlo::Computation& entry = of_words[i]->module.entry_computation();
      std::vector<Literal> words;
      for (size_t p = 0; p < entry.parameter_count(); ++p) {
        Shape shape = entry.parameter_shape(p);
        shape.clear_layout();
        words.push_back(reinterpreted(of_type[i]->arguments[p], shape));
      }
      const Literal got = value_of(*of_type[i], of_type[i]->arguments);
      const Literal want = value_of(*of_words[i], words);
      EXPECT_TRUE(reinterpreted(got, want.shape()) == want) << hlo::print_literal(got);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryOp, Movement,
                         ::testing::Values(Opcode::kCopy, Opcode::kSelect, Opcode::kBitcast,
                                           Opcode::kBroadcast, Opcode::kReshape, Opcode::kTranspose,
                                           Opcode::kReverse, Opcode::kConcatenate, Opcode::kSlice,
                                           Opcode::kDynamicSlice, Opcode::kDynamicUpdateSlice,
                                           Opcode::kPad, Opcode::kGather, Opcode::kTuple,
                                           Opcode::kGetTupleElement, Opcode::kOptBarrier,
                                           Opcode::kAddDependency),
                         [](const auto& info) {
                           std::string name(to_string(info.param));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// Conversions
// --------------------------------------------------------------------------------

// A real number that every element type has exactly: x87's long double has 64 bits of mantissa, and
// f64's range and more.
static_assert(std::numeric_limits<long double>::digits >= 64);

long double number_at(const Literal& x, int64_t i) {
  const DType type = x.shape().dtype();
  if (is_unsigned(type)) return static_cast<long double>(static_cast<uint64_t>(x.to_int64(i)));
  if (is_integer(type) || type == pred) return static_cast<long double>(x.to_int64(i));
  return x.to_double(i);
}

// All numbers of a float type of up to 16 bits, in ascending order.
const std::vector<double>& numbers_of(DType type) {
  static auto* const kMade = new std::map<DType, std::vector<double>>();
  std::vector<double>& numbers = (*kMade)[type];
  if (!numbers.empty()) return numbers;
  const int64_t patterns = int64_t{1} << bit_width(type);
  Literal all(Shape(type, {patterns}));
  for (int64_t i = 0; i < patterns; ++i) {
    std::memcpy(all.mutable_bytes() + i * storage_bytes(type), &i,
                static_cast<size_t>(storage_bytes(type)));
  }
  for (int64_t i = 0; i < patterns; ++i) {
    if (std::isfinite(all.to_double(i))) numbers.push_back(all.to_double(i));
  }
  std::ranges::sort(numbers);
  return numbers;
}

// The neighbours of x among a type's numbers: the greatest at or below, and the least at or above.
std::pair<long double, long double> neighbours(DType type, long double x) {
  if (type == f64) {
    const double near = static_cast<double>(x);
    if (near == x) return {x, x};
    return near < x ? std::pair<long double, long double>(near, std::nextafter(near, HUGE_VAL))
                    : std::pair<long double, long double>(std::nextafter(near, -HUGE_VAL), near);
  }
  if (type == f32) {
    const float near = static_cast<float>(x);
    if (near == x) return {x, x};
    return near < x ? std::pair<long double, long double>(near, std::nextafter(near, HUGE_VALF))
                    : std::pair<long double, long double>(std::nextafter(near, -HUGE_VALF), near);
  }
  const std::vector<double>& numbers = numbers_of(type);
  const auto above = std::ranges::lower_bound(numbers, x, {},
                                              [](double n) { return static_cast<long double>(n); });
  if (above == numbers.end()) return {numbers.back(), HUGE_VALL};
  if (*above == x) return {x, x};
  if (above == numbers.begin()) return {-HUGE_VALL, *above};
  return {*std::prev(above), *above};
}

// Between numbers of the type: the nearer one. What lies outside of them is
// hlo/literal/native_test.cc's: formats differ there.
void expect_nearest(DType type, long double x, double got) {
  if (std::isnan(x)) return;
  const auto [below, above] = neighbours(type, x);
  if (std::isinf(below) || std::isinf(above) || std::isinf(x)) return;
  EXPECT_TRUE(got == below || got == above) << static_cast<double>(x) << " is " << got;
  EXPECT_LE(std::fabs(got - x), std::min(x - below, above - x))
      << static_cast<double>(x) << " is " << got;
}

// Toward zero, the nearest of the type's ends where it is outside, 0 for NaN.
void expect_truncated(DType type, long double x, int64_t got) {
  const int width = static_cast<int>(bit_width(type));
  const long double end = std::ldexp(1.0L, is_signed(type) ? width - 1 : width);
  const long double low = is_signed(type) ? -end : 0;
  const long double want = std::isnan(x) ? 0 : std::clamp(std::trunc(x), low, end - 1);
  const long double number = is_unsigned(type)
                                 ? static_cast<long double>(static_cast<uint64_t>(got))
                                 : static_cast<long double>(got);
  EXPECT_EQ(number, want + 0.0L) << static_cast<double>(x);
}

// The low bits, read with the type's sign.
void expect_wrapped(DType type, int64_t x, int64_t got) {
  const int unused = 64 - static_cast<int>(bit_width(type));
  const uint64_t low = static_cast<uint64_t>(x) << unused;
  const int64_t want =
      is_signed(type) ? static_cast<int64_t>(low) >> unused : static_cast<int64_t>(low >> unused);
  EXPECT_EQ(got, want) << x;
}

bool is_whole(DType type) { return is_integer(type) || type == pred; }

TEST(Convert, IsTheNearestNumberTheTruncatedOneOrTheLowBits) {
  int64_t compared = 0;
  for (const Sample& sample : samples_of(Opcode::kConvert)) {
    const Literal& x = sample.arguments[0];
    const Literal y = value_of(sample, sample.arguments);
    const DType from = x.shape().dtype(), to = y.shape().dtype();
    if (is_complex(from) || is_complex(to))
      continue;  // their parts are as real numbers: interpreter/ops/elementwise/convert_test.cc
    SCOPED_TRACE(sample.line);
    for (int64_t i = 0; i < x.element_count(); ++i, ++compared) {
      const long double number = number_at(x, i);
      if (to == pred) {
        EXPECT_EQ(y.to_int64(i), number != 0);
      } else if (is_floating(to)) {
        expect_nearest(to, number, y.to_double(i));
      } else if (is_whole(from)) {
        expect_wrapped(to, x.to_int64(i), y.to_int64(i));
      } else {
        expect_truncated(to, number, y.to_int64(i));
      }
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(compared, 10000);
}

// Narrow floats
// --------------------------------------------------------------------------------

Literal converted(const Literal& x, DType type) {
  auto module = hlo::parse_text(
      base::cat("ENTRY main { x = ", to_string(x.shape()),
                " parameter(0) ROOT y = ", to_string(x.shape().with_dtype(type)), " convert(x) }"));
  auto value = interpreter::evaluate(*module, {x});
  EXPECT_TRUE(value.ok()) << value.status();
  return *std::move(value);
}

// Sample of the same row and size with other element types.
const Sample& counterpart(Opcode opcode, const Sample& sample, DType type) {
  std::vector<const Sample*> mine, others;
  for (const Sample& other : samples_of(opcode)) {
    if (other.row != sample.row) continue;
    if (other.type == sample.type) mine.push_back(&other);
    if (other.type == type) others.push_back(&other);
  }
  return *others.at(static_cast<size_t>(std::ranges::find(mine, &sample) - mine.begin()));
}

class NarrowFloats : public ::testing::TestWithParam<Opcode> {};

// Each type of up to 16 bits has so few that an op on it is the op on f64, rounded.
TEST_P(NarrowFloats, AreTheF64OpRounded) {
  for (const Sample& sample : samples_of(GetParam())) {
    if (!is_floating(sample.type) || bit_width(sample.type) > 16 ||
        sample.row->line.find("small") != std::string_view::npos)
      continue;
    SCOPED_TRACE(sample.line);
    std::vector<Literal> wide;
    for (const Literal& argument : sample.arguments) {
      wide.push_back(argument.shape().dtype() == sample.type ? converted(argument, f64) : argument);
    }
    const Literal got = value_of(sample, sample.arguments);
    const Literal exact = value_of(counterpart(GetParam(), sample, f64), wide);
    if (testing::Test::HasFailure()) return;
    const Literal want = exact.shape().dtype() == f64 ? converted(exact, sample.type) : exact;
    for (int64_t i = 0; i < got.element_count(); ++i) {
      const double a = got.to_double(i), b = want.to_double(i);
      if (std::isnan(a) && std::isnan(b)) continue;
      EXPECT_TRUE(a == b && std::signbit(a) == std::signbit(b)) << i << ": " << a << ", not " << b;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    EveryOp, NarrowFloats,
    ::testing::Values(Opcode::kAbs, Opcode::kNegate, Opcode::kSign, Opcode::kFloor, Opcode::kCeil,
                      Opcode::kRoundAfz, Opcode::kRoundEven, Opcode::kExp, Opcode::kExpm1,
                      Opcode::kLog, Opcode::kLog1p, Opcode::kLogistic, Opcode::kErf, Opcode::kSqrt,
                      Opcode::kRsqrt, Opcode::kCbrt, Opcode::kSin, Opcode::kCos, Opcode::kTan,
                      Opcode::kAsin, Opcode::kAcos, Opcode::kAtan, Opcode::kSinh, Opcode::kCosh,
                      Opcode::kTanh, Opcode::kAsinh, Opcode::kAcosh, Opcode::kAtanh, Opcode::kReal,
                      Opcode::kImag, Opcode::kIsFinite, Opcode::kAdd, Opcode::kSubtract,
                      Opcode::kMultiply, Opcode::kDivide, Opcode::kRemainder, Opcode::kPower,
                      Opcode::kAtan2, Opcode::kMaximum, Opcode::kMinimum, Opcode::kClamp),
    [](const auto& info) {
      std::string name(to_string(info.param));
      std::ranges::replace(name, '-', '_');
      return name;
    });

}  // namespace
}  // namespace heddle::laws
