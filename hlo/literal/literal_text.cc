// The rules are those of numpy 2.4, numpy/_core/arrayprint.py; tests/numpy compares with it.
#include "heddle/hlo/literal/literal_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstdio>
#include <functional>
#include <string_view>
#include <vector>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/literal/native.h"

namespace heddle {
namespace {

// The magnitude of a finite number, d.ddd x 10^exponent; "0" for 0.
struct Decimal {
  std::string digits = "0";
  int exponent = 0;
};

Decimal parse_scientific(std::string_view text) {
  Decimal out;
  const size_t e = text.find('e');
  out.digits = text.substr(0, e);
  std::erase(out.digits, '.');
  const std::string_view power = text.substr(e + (text[e + 1] == '+' ? 2 : 1));
  std::from_chars(power.data(), power.data() + power.size(), out.exponent);
  while (out.digits.size() > 1 && out.digits.back() == '0') out.digits.pop_back();
  return out;
}

std::string printf_number(const char* format, int precision, double value) {
  std::string out(400, '\0');
  const int size = std::snprintf(out.data(), out.size(), format, precision, value);
  out.resize(static_cast<size_t>(size));
  return out;
}

// The nearest number of so many digits, or the one above or below it, if it is read back as
// `value`.
std::optional<Decimal> read_back(DType dtype, double value, int digits) {
  Decimal nearest = parse_scientific(printf_number("%.*e", digits - 1, value));
  nearest.digits.append(static_cast<size_t>(digits) - nearest.digits.size(), '0');
  const uint16_t want = encode_small_float(dtype, value);
  int64_t number = 0;
  std::from_chars(nearest.digits.data(), nearest.digits.data() + nearest.digits.size(), number);
  for (const int64_t step : {0, 1, -1}) {
    const std::string text = base::cat(number + step, "e", nearest.exponent - (digits - 1));
    if (encode_small_float(dtype, std::strtod(text.c_str(), nullptr)) != want) continue;
    const double found = std::strtod(text.c_str(), nullptr);
    return parse_scientific(printf_number("%.*e", digits, found));
  }
  return std::nullopt;
}

// The fewest digits that tell |value| from its neighbours in `dtype`.
Decimal shortest(DType dtype, double value) {
  if (value == 0) return {};
  char text[64];
  if (dtype == f64 || dtype == f32) {
    const auto end = dtype == f64
                         ? std::to_chars(text, text + 64, value, std::chars_format::scientific)
                         : std::to_chars(text, text + 64, static_cast<float>(value),
                                         std::chars_format::scientific);
    return parse_scientific(std::string_view(text, static_cast<size_t>(end.ptr - text)));
  }
  for (int digits = 1; digits < 17; ++digits) {
    if (std::optional<Decimal> found = read_back(dtype, value, digits)) return *found;
  }
  return parse_scientific(printf_number("%.*e", 17, value));
}

constexpr int kAllDigits = 1000;

// "12.5", "3.": the fraction has no zeros at its end, and `precision` digits at most.
std::string positional(DType dtype, double magnitude, int precision) {
  const Decimal d = shortest(dtype, magnitude);
  const int fraction = std::max(0, static_cast<int>(d.digits.size()) - 1 - d.exponent);
  if (fraction > precision) {
    std::string text = printf_number("%.*f", precision, magnitude);
    if (precision == 0) return text + '.';
    text.erase(text.find_last_not_of('0') + 1);
    return text;
  }
  std::string text = d.digits;
  if (d.exponent < 0) text.insert(0, static_cast<size_t>(-d.exponent), '0');
  const size_t whole = static_cast<size_t>(std::max(d.exponent, 0)) + 1;
  if (text.size() < whole) text.append(whole - text.size(), '0');
  return text.insert(whole, 1, '.');
}

struct Scientific {
  std::string mantissa;  // "1.", "1.25"
  int exponent = 0;
};

Scientific scientific(DType dtype, double magnitude, int precision) {
  Decimal d = shortest(dtype, magnitude);
  if (static_cast<int>(d.digits.size()) - 1 > precision)
    d = parse_scientific(printf_number("%.*e", precision, magnitude));
  return {d.digits.insert(1, 1, '.'), d.exponent};
}

// The same with exactly so many digits behind the point: those of the number, and no zeros.
Scientific exactly(DType dtype, double magnitude, int precision) {
  Scientific s = scientific(dtype, magnitude, precision);
  const size_t size = static_cast<size_t>(precision) + 2;
  if (s.mantissa.size() < size) {
    const Decimal d = parse_scientific(printf_number("%.*e", precision, magnitude));
    s = {d.digits, d.exponent};
    s.mantissa.insert(1, 1, '.');
    s.mantissa.append(size - s.mantissa.size(), '0');
  }
  return s;
}

std::string exponent_text(int exponent, size_t width) {
  std::string digits = std::to_string(std::abs(exponent));
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return base::cat("e", exponent < 0 ? '-' : '+', digits);
}

std::string padded(const std::string& text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

// From here on numbers have powers of ten: where an f32 has its sixth digit and an f16 its third,
// as in numpy, and where a bf16 no longer has every integer.
double greatest_in_columns(DType dtype) {
  return dtype == f64 ? 1e8 : dtype == f32 ? 1e6 : dtype == f16 ? 1e3 : 256;
}

// The dtype whose digits are printed. Floats of 8 bits and fewer have so few that the fewest would
// be misleading, 100 for 96: they are printed in full, as f32.
DType digits_of(DType dtype) {
  const DType part = real_part(dtype);
  return is_floating(part) && storage_bytes(part) == 1 ? f32 : part;
}

double rounded_to(DType dtype, double value) {
  if (dtype == f32) return static_cast<float>(value);
  if (dtype == f16) return decode_small_float(f16, encode_small_float(f16, value));
  return value;
}

// One width and one notation for a set of floats: numpy's FloatingFormat.
class FloatColumn {
 public:
  FloatColumn(DType dtype, const std::vector<double>& values, const PrintOptions& options,
              bool plus)
      : dtype_(dtype), precision_(static_cast<int>(options.precision.value_or(8))), plus_(plus) {
    std::vector<double> finite;
    for (double v : values) {
      if (std::isfinite(v)) finite.push_back(v);
    }
    is_scientific_ = wants_scientific(finite, options.suppress);
    if (is_scientific_)
      measure_scientific(finite);
    else
      measure_positional(finite);
    if (finite.size() != values.size()) widen_for_words(values);
  }

  [[nodiscard]] std::string text(double value) const {
    if (!std::isfinite(value)) return padded(word(value), left_ + right_ + 1);
    if (is_scientific_) {
      const Scientific s = exactly(dtype_, std::abs(value), precision_);
      return base::cat(padded(sign(value), left_ - 1), s.mantissa,
                       exponent_text(s.exponent, exponent_width_));
    }
    const std::string number = positional(dtype_, std::abs(value), precision_);
    const size_t point = number.find('.');
    return base::cat(padded(sign(value) + number.substr(0, point), left_), number.substr(point),
                     std::string(right_ - (number.size() - point - 1), ' '));
  }

 private:
  [[nodiscard]] bool wants_scientific(const std::vector<double>& finite, bool suppress) const {
    double least = INFINITY, greatest = 0;
    for (double v : finite) {
      if (v == 0) continue;
      least = std::min(least, std::abs(v));
      greatest = std::max(greatest, std::abs(v));
    }
    if (greatest == 0) return false;
    return greatest >= greatest_in_columns(dtype_) ||
           (!suppress &&
            (least < rounded_to(dtype_, 0.0001) || rounded_to(dtype_, greatest / least) > 1000));
  }

  [[nodiscard]] std::string sign(double value) const {
    return std::signbit(value) ? "-" : plus_ ? "+" : "";
  }

  void measure_scientific(const std::vector<double>& finite) {
    size_t fraction = 0;
    for (double v : finite) {
      const Scientific s = scientific(dtype_, std::abs(v), precision_);
      fraction = std::max(fraction, s.mantissa.size() - 2);
      exponent_width_ = std::max(exponent_width_, exponent_text(s.exponent, 2).size() - 2);
      left_ = std::max(left_, 1 + sign(v).size());
    }
    precision_ = static_cast<int>(fraction);
    right_ = exponent_width_ + 2 + fraction;
  }

  void measure_positional(const std::vector<double>& finite) {
    for (double v : finite) {
      const std::string number = positional(dtype_, std::abs(v), precision_);
      const size_t point = number.find('.');
      left_ = std::max(left_, point + sign(v).size());
      right_ = std::max(right_, number.size() - point - 1);
    }
  }

  void widen_for_words(const std::vector<double>& values) {
    const bool has_sign = plus_ || std::ranges::count(values, -INFINITY) > 0;
    const size_t width = 3 + (has_sign ? 1 : 0), taken = right_ + 1;
    if (width > taken) left_ = std::max(left_, width - taken);
  }

  [[nodiscard]] std::string word(double value) const {
    if (std::isnan(value)) return plus_ ? "+nan" : "nan";
    return base::cat(value < 0 ? "-" : plus_ ? "+" : "", "inf");
  }

  DType dtype_;
  int precision_;
  bool plus_;
  bool is_scientific_ = false;
  size_t left_ = 0, right_ = 0, exponent_width_ = 2;
};

double real_at(const Literal& literal, int64_t i) { return literal.to_double(i); }

double imag_at(const Literal& literal, int64_t i) {
  const size_t at = static_cast<size_t>(i);
  return literal.shape().dtype() == c64 ? literal.values<std::complex<float>>()[at].imag()
                                        : literal.values<std::complex<double>>()[at].imag();
}

std::string integer_at(const Literal& literal, int64_t i) {
  if (literal.shape().dtype() == u64)
    return std::to_string(literal.values<uint64_t>()[static_cast<size_t>(i)]);
  return std::to_string(literal.to_int64(i));
}

// A float alone, as numpy's str() of a scalar. `whole`: whether 1 is 1.0 or, in complex numbers, 1.
std::string scalar_text(DType dtype, double value, const PrintOptions& options, bool whole,
                        bool plus) {
  if (std::isnan(value)) return plus ? "+nan" : "nan";
  std::string sign = std::signbit(value) ? "-" : plus ? "+" : "";
  const double magnitude = std::abs(value);
  if (std::isinf(value)) return sign + "inf";
  const int precision = options.precision.value_or(kAllDigits);
  const double greatest = dtype == f64 ? 1e16 : greatest_in_columns(dtype);
  const bool is_plain = magnitude == 0 || (magnitude >= 1e-4 && magnitude < greatest);
  if (!is_plain && !options.suppress) {
    Scientific s = scientific(dtype, magnitude, precision);
    if (s.mantissa.back() == '.') s.mantissa.pop_back();
    return base::cat(sign, s.mantissa, exponent_text(s.exponent, 2));
  }
  std::string number = positional(dtype, magnitude, precision);
  if (number.back() == '.' && whole)
    number += '0';
  else if (number.back() == '.')
    number.pop_back();
  return sign + number;
}

std::string scalar_of(const Literal& literal, const PrintOptions& options) {
  const DType dtype = literal.shape().dtype();
  if (dtype == pred) return literal.to_int64(0) != 0 ? "True" : "False";
  if (is_integer(dtype)) return integer_at(literal, 0);
  const DType part = digits_of(dtype);
  const double real = real_at(literal, 0);
  if (!is_complex(dtype)) return scalar_text(part, real, options, true, false);
  const double imag = imag_at(literal, 0);
  if (real == 0 && !std::signbit(real)) return scalar_text(part, imag, options, false, false) + "j";
  return base::cat("(", scalar_text(part, real, options, false, false),
                   scalar_text(part, imag, options, false, true), "j)");
}

// Writes elements in nested brackets: numpy's _formatArray.
class ArrayText {
 public:
  ArrayText(const Literal& literal, const PrintOptions& options)
      : literal_(literal),
        sizes_(literal.shape().dimensions()),
        options_(options),
        is_short_(literal.element_count() > options.threshold) {
    collect(0, 0);
    choose_format();
  }

  [[nodiscard]] std::string text() const { return nested(0, 0, " ", options_.line_width); }

 private:
  // Indices of an axis that are shown; -1 stands for the ellipsis.
  [[nodiscard]] std::vector<int64_t> shown(size_t axis) const {
    std::vector<int64_t> out;
    const int64_t size = sizes_[axis], edge = options_.edge_items;
    const bool is_cut = is_short_ && edge < size && edge < size - edge;
    for (int64_t i = 0; i < (is_cut ? edge : size); ++i) out.push_back(i);
    if (!is_cut) return out;
    out.push_back(-1);
    for (int64_t i = size - edge; i < size; ++i) out.push_back(i);
    return out;
  }

  void collect(size_t axis, int64_t position) {
    if (axis == sizes_.size()) {
      positions_.push_back(position);
      return;
    }
    for (const int64_t i : shown(axis)) {
      if (i >= 0) collect(axis + 1, position * sizes_[axis] + i);
    }
  }

  void choose_format() {
    const DType dtype = literal_.shape().dtype();
    if (dtype == pred) {
      element_ = [this](int64_t i) { return literal_.to_int64(i) != 0 ? " True" : "False"; };
    } else if (is_integer(dtype)) {
      size_t width = 0;
      for (const int64_t i : positions_) width = std::max(width, integer_at(literal_, i).size());
      element_ = [this, width](int64_t i) { return padded(integer_at(literal_, i), width); };
    } else if (is_complex(dtype)) {
      element_ = [this, real = column(real_at, false), imag = column(imag_at, true)](int64_t i) {
        std::string second = imag.text(imag_at(literal_, i));
        second.insert(second.find_last_not_of(' ') + 1, 1, 'j');
        return real.text(real_at(literal_, i)) + second;
      };
    } else {
      element_ = [this, column = column(real_at, false)](int64_t i) {
        return column.text(real_at(literal_, i));
      };
    }
  }

  [[nodiscard]] FloatColumn column(double (*part)(const Literal&, int64_t), bool plus) const {
    std::vector<double> values;
    for (const int64_t i : positions_) values.push_back(part(literal_, i));
    return FloatColumn(digits_of(literal_.shape().dtype()), values, options_, plus);
  }

  [[nodiscard]] std::string nested(size_t axis, int64_t position, const std::string& indent,
                                   int64_t width) const {
    const std::string inside = axis + 1 == sizes_.size() ? row(position, indent, width)
                                                         : rows(axis, position, indent, width);
    return base::cat("[", inside.substr(indent.size()), "]");
  }

  [[nodiscard]] std::string rows(size_t axis, int64_t position, const std::string& indent,
                                 int64_t width) const {
    const std::string between(sizes_.size() - axis - 1, '\n');
    std::string out;
    for (const int64_t i : shown(axis)) {
      if (!out.empty()) out += between;
      out += indent;
      out += i < 0 ? "..." : nested(axis + 1, position * sizes_[axis] + i, indent + " ", width - 1);
    }
    return out;
  }

  // The last axis, in lines of at most `width` columns.
  [[nodiscard]] std::string row(int64_t position, const std::string& indent, int64_t width) const {
    std::string out, line = indent;
    for (const int64_t i : shown(sizes_.size() - 1)) {
      const std::string word = i < 0 ? "..." : element_(position * sizes_.back() + i);
      const bool is_first = line.size() <= indent.size();
      if (!is_first && static_cast<int64_t>(line.size() + word.size()) > width - 1) {
        line.erase(line.find_last_not_of(' ') + 1);
        base::append(out, line, "\n");
        line = indent;
      }
      base::append(line, word, " ");
    }
    line.pop_back();
    return out + line;
  }

  const Literal& literal_;
  const std::vector<int64_t>& sizes_;
  PrintOptions options_;
  bool is_short_;
  std::vector<int64_t> positions_;
  std::function<std::string(int64_t)> element_;
};

}  // namespace

std::string literal_text(const Literal& literal, PrintOptions options) {
  if (literal.is_tuple()) {
    std::string out;
    for (const Literal& element : literal.elements())
      base::append(out, out.empty() ? "" : "\n", literal_text(element, options));
    return out;
  }
  if (!literal.is_valid() || !literal.shape().is_array()) return to_string(literal.shape());
  if (literal.is_elided()) return base::cat(literal.shape(), " {...}");
  if (options.precision) options.precision = std::min<int64_t>(*options.precision, 300);
  if (literal.shape().rank() == 0) return scalar_of(literal, options);
  if (literal.element_count() == 0) return "[]";
  return ArrayText(literal, options).text();
}

}  // namespace heddle
