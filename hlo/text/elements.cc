#include "heddle/hlo/text/internal/elements.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "heddle/hlo/literal/native.h"

namespace heddle::hlo::text {
namespace {

// Formats with more than one NaN, which differ in the low bits of the mantissa.
struct NanFormat {
  int mantissa_bits = 0;  // 0: one NaN, or one of each sign, or none
  uint64_t infinity = 0;
  [[nodiscard]] uint64_t mask() const { return (uint64_t{1} << mantissa_bits) - 1; }
  [[nodiscard]] uint64_t quiet() const { return uint64_t{1} << (mantissa_bits - 1); }
};

NanFormat nan_format(DType dtype) {
  switch (dtype) {
    case DType::kF64: return {52, uint64_t{0x7FF} << 52};
    case DType::kF32: return {23, 0x7F800000};
    case DType::kF16: return {10, 0x7C00};
    case DType::kBF16: return {7, 0x7F80};
    case DType::kF8E5M2: return {2, 0x7C};
    case DType::kF8E4M3: return {3, 0x78};
    case DType::kF8E3M4: return {4, 0x70};
    default: return {};
  }
}

// Digits that tell any two values of the format apart.
int max_digits(DType dtype) {
  switch (dtype) {
    case DType::kF64: return 17;
    case DType::kF32: return 9;
    case DType::kF16: return 5;
    case DType::kBF16: return 4;
    case DType::kF8E3M4:
    case DType::kF8E4M3:
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E4M3B11FNUZ: return 3;
    default: return 2;
  }
}

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

uint64_t load_bits(const std::byte* at, int64_t size_bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, static_cast<size_t>(size_bytes));
  return bits;
}

void store_bits(std::byte* at, int64_t size_bytes, uint64_t bits) {
  std::memcpy(at, &bits, static_cast<size_t>(size_bytes));
}

double decode(DType dtype, const std::byte* at) {
  if (dtype == f64) return load<double>(at);
  if (dtype == f32) return load<float>(at);
  return decode_small_float(dtype, static_cast<uint16_t>(load_bits(at, storage_bytes(dtype))));
}

// As C's %.*g.
template <class T>
std::string_view format(T value, int digits, char (&buffer)[40]) {
  auto result =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, digits);
  return {buffer, static_cast<size_t>(result.ptr - buffer)};
}

template <class T>
void write_digits(std::string& out, T value, int few, int many) {
  char buffer[40];
  std::string_view text = format(value, few, buffer);
  T back = 0;
  std::from_chars(text.data(), text.data() + text.size(), back);
  out.append(back == value ? text : format(value, many, buffer));
}

void write_nan(std::string& out, DType dtype, const std::byte* at, bool negative) {
  out.append(negative ? "-nan" : "nan");
  NanFormat nan = nan_format(dtype);
  if (nan.mantissa_bits == 0) return;
  uint64_t payload = load_bits(at, storage_bytes(dtype)) & nan.mask();
  if (payload == nan.quiet()) return;
  char buffer[20];
  auto result = std::to_chars(buffer, buffer + sizeof buffer, payload, 16);
  base::append(out, "(0x", std::string_view(buffer, static_cast<size_t>(result.ptr - buffer)), ")");
}

void write_floating(std::string& out, DType dtype, const std::byte* at) {
  double value = decode(dtype, at);
  if (std::isnan(value)) {
    write_nan(out, dtype, at, std::signbit(value));
  } else if (std::isinf(value)) {
    out.append(value < 0 ? "-inf" : "inf");
  } else if (dtype == f32) {
    write_digits(out, static_cast<float>(value), 6, 9);
  } else if (dtype == f64) {
    write_digits(out, value, 15, 17);
  } else {
    char buffer[40];
    out.append(format(value, max_digits(dtype), buffer));
  }
}

void write_signed(std::string& out, DType dtype, const std::byte* at) {
  switch (storage_bytes(dtype)) {
    case 1: return base::append(out, static_cast<int>(load<int8_t>(at)));
    case 2: return base::append(out, load<int16_t>(at));
    case 4: return base::append(out, load<int32_t>(at));
    default: return base::append(out, load<int64_t>(at));
  }
}

// The largest value of an integer type, and how far it goes below 0.
uint64_t most(DType dtype) {
  int64_t bits = bit_width(dtype) - (is_signed(dtype) ? 1 : 0);
  return bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
}

uint64_t most_negative(DType dtype) {
  if (dtype == u64) return uint64_t{1} << 63;  // wraps
  return is_signed(dtype) ? most(dtype) + 1 : 0;
}

bool does_not_fit(TextCursor& in, size_t start, std::string_view token, DType dtype) {
  return in.fail_at(
      start, base::invalid_argument(token.substr(0, 40), " does not fit ", to_string(dtype)));
}

bool read_integer(TextCursor& in, DType dtype, std::byte* at) {
  size_t start = in.position();
  std::string_view token = in.number();
  bool negative = token.starts_with('-');
  uint64_t magnitude = 0;
  const char* end = token.data() + token.size();
  auto result = std::from_chars(token.data() + (negative ? 1 : 0), end, magnitude);
  bool overflows = result.ec == std::errc::result_out_of_range;
  if ((result.ec != std::errc() && !overflows) || result.ptr != end) {
    in.rewind(start);
    return in.fail_expected("a whole number");
  }
  uint64_t limit = negative ? most_negative(dtype) : most(dtype);
  if (overflows || magnitude > limit) return does_not_fit(in, start, token, dtype);
  store_bits(at, storage_bytes(dtype), negative ? uint64_t{0} - magnitude : magnitude);
  return true;
}

bool read_predicate(TextCursor& in, std::byte* at) {
  bool value = false;
  if (in.peek() == '0' || in.peek() == '1') {
    size_t start = in.position();
    std::string_view token = in.number();
    if (token.size() != 1) return does_not_fit(in, start, token, pred);
    value = token == "1";
  } else if (!in.read_bool(value)) {
    return false;
  }
  store_bits(at, 1, value ? 1 : 0);
  return true;
}

void store_float(DType dtype, double value, std::byte* at) {
  if (dtype == f64) return store(at, value);
  if (dtype == f32) return store(at, static_cast<float>(value));
  store_bits(at, storage_bytes(dtype), encode_small_float(dtype, value));
}

// After "nan".
bool read_nan(TextCursor& in, size_t start, DType dtype, bool negative, std::byte* at) {
  NanFormat nan = nan_format(dtype);
  uint64_t payload = nan.mantissa_bits > 0 ? nan.quiet() : 0;
  if (in.raw() == '(') {
    in.accept('(');
    std::string_view digits = in.number();
    const char* end = digits.data() + digits.size();
    if (!digits.starts_with("0x") ||
        std::from_chars(digits.data() + 2, end, payload, 16).ptr != end) {
      return in.fail_expected("a payload like 0x1f");
    }
    if (!in.expect(')')) return false;
    if (payload == 0 || payload > nan.mask() || nan.mantissa_bits == 0) {
      return in.fail_at(start,
                        base::invalid_argument(to_string(dtype), " has no NaN of this payload"));
    }
  }
  if (nan.mantissa_bits > 0) {
    uint64_t sign = negative ? (nan.infinity << 1) & ~nan.infinity & ~nan.mask() : 0;
    store_bits(at, storage_bytes(dtype), sign | nan.infinity | payload);
    return true;
  }
  store_float(dtype, std::copysign(std::numeric_limits<double>::quiet_NaN(), negative ? -1.0 : 1.0),
              at);
  if (!std::isnan(decode(dtype, at)))
    return in.fail_at(start, base::invalid_argument(to_string(dtype), " has no NaN"));
  return true;
}

// Rounded once to T. False where the text is no number; magnitudes too large become infinite, too
// small ones 0.
template <class T>
bool parse_number(std::string_view token, T& value) {
  const char* end = token.data() + token.size();
  auto result = std::from_chars(token.data(), end, value);
  if (result.ec == std::errc::invalid_argument || result.ptr != end) return false;
  if (result.ec == std::errc::result_out_of_range) {
    std::string copy(token);
    value = std::is_same_v<T, float> ? static_cast<T>(std::strtof(copy.c_str(), nullptr))
                                     : static_cast<T>(std::strtod(copy.c_str(), nullptr));
  }
  return true;
}

// True if `at` holds what `value` rounds to, and not what formats without infinity make of values
// that are too large.
bool fits(DType dtype, double value, const std::byte* at) {
  double stored = decode(dtype, at);
  if (!std::isfinite(stored)) return false;
  if (dtype == f64 || dtype == f32 || std::abs(value) <= std::abs(stored)) return true;
  return std::abs(stored) < decode_small_float(dtype, encode_small_float(dtype, 1e300)) ||
         !std::isfinite(decode_small_float(dtype, encode_small_float(dtype, 1e300)));
}

bool read_finite(TextCursor& in, size_t start, std::string_view token, DType dtype, std::byte* at) {
  double value = 0;
  float single = 0;
  bool number = dtype == f32 ? parse_number(token, single) : parse_number(token, value);
  if (!number) {
    in.rewind(start);
    return in.fail_expected("a number");
  }
  if (dtype == f32) {
    value = single;
    store(at, single);
  } else {
    store_float(dtype, value, at);
  }
  return fits(dtype, value, at) || does_not_fit(in, start, token, dtype);
}

bool read_floating(TextCursor& in, DType dtype, std::byte* at) {
  size_t start = in.position();
  std::string_view token = in.number();
  if (token.empty()) token = in.word();
  bool negative = token.starts_with('-');
  std::string_view magnitude = token.substr(negative ? 1 : 0);
  if (magnitude == "nan") return read_nan(in, start, dtype, negative, at);
  if (magnitude != "inf") return read_finite(in, start, token, dtype, at);
  double infinity = std::numeric_limits<double>::infinity();
  store_float(dtype, negative ? -infinity : infinity, at);
  return std::isinf(decode(dtype, at)) ||
         in.fail_at(start, base::invalid_argument(to_string(dtype), " has no infinity"));
}

}  // namespace

void write_element(std::string& out, DType dtype, const std::byte* at) {
  switch (kind_of(dtype)) {
    case DTypeKind::kPredicate: return base::append(out, load<uint8_t>(at) != 0);
    case DTypeKind::kSigned: return write_signed(out, dtype, at);
    case DTypeKind::kUnsigned: return base::append(out, load_bits(at, storage_bytes(dtype)));
    case DTypeKind::kFloat: return write_floating(out, dtype, at);
    case DTypeKind::kComplex:
      out.push_back('(');
      write_floating(out, real_part(dtype), at);
      out.append(", ");
      write_floating(out, real_part(dtype), at + storage_bytes(dtype) / 2);
      return out.push_back(')');
    case DTypeKind::kNone: return;
  }
}

bool read_element(TextCursor& in, DType dtype, std::byte* at) {
  switch (kind_of(dtype)) {
    case DTypeKind::kPredicate: return read_predicate(in, at);
    case DTypeKind::kSigned:
    case DTypeKind::kUnsigned: return read_integer(in, dtype, at);
    case DTypeKind::kFloat: return read_floating(in, dtype, at);
    case DTypeKind::kComplex: {
      DType part = real_part(dtype);
      return in.expect('(') && read_floating(in, part, at) && in.expect(',') &&
             read_floating(in, part, at + storage_bytes(part)) && in.expect(')');
    }
    case DTypeKind::kNone: break;
  }
  return in.fail("a value of type ", to_string(dtype), " cannot be written");
}

void write_float(std::string& out, float value) {
  write_element(out, f32, reinterpret_cast<const std::byte*>(&value));
}
bool read_float(TextCursor& in, float& value) {
  return read_element(in, f32, reinterpret_cast<std::byte*>(&value));
}

}  // namespace heddle::hlo::text
