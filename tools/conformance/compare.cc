#include "heddle/tools/conformance/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/literal/blocks.h"

namespace heddle::conformance {
namespace {

double flush(double x, double least) { return std::abs(x) < least ? std::copysign(0.0, x) : x; }

// The place of a value among the representable ones of its type, counted from zero.
int64_t place_of(DType dtype, const std::byte* element) {
  uint64_t bits = 0;
  std::memcpy(&bits, element, static_cast<size_t>(storage_bytes(dtype)));
  if (dtype == f8e8m0fnu) return static_cast<int64_t>(bits);  // no sign
  const uint64_t sign = uint64_t{1} << (bit_width(dtype) - 1);
  const auto magnitude = static_cast<int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

// Saturates: the distance between two f64 may exceed 63 bits.
uint64_t distance(int64_t a, int64_t b) {
  return a > b ? static_cast<uint64_t>(a) - static_cast<uint64_t>(b)
               : static_cast<uint64_t>(b) - static_cast<uint64_t>(a);
}

// The findings about a leaf that differs.
struct Finding {
  int64_t count = 0;
  int64_t first = -1;
  double largest = 0;
  void add(int64_t position, double by) {
    if (count++ == 0) first = position;
    if (std::isfinite(by)) largest = std::max(largest, by);
  }
};

bool agree(double got, double want, const Tolerance& tolerance) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
  if (got == want && (!tolerance.signed_zero_exact || std::signbit(got) == std::signbit(want)))
    return true;
  if (tolerance.exact || !std::isfinite(got) || !std::isfinite(want)) return false;
  return std::abs(got - want) <= tolerance.atol + tolerance.rtol * std::abs(want);
}

// A run of floats of one type: an array, or the parts of a complex one, one after the other.
class Floats {
 public:
  Floats(const Literal& literal, DType dtype, int64_t count)
      : dtype_(dtype), bytes_(literal.bytes()) {
    values_.resize(static_cast<size_t>(count));
    load(dtype, bytes_, count, values_.data());
  }
  [[nodiscard]] double operator[](int64_t i) const { return values_[static_cast<size_t>(i)]; }
  [[nodiscard]] int64_t place(int64_t i) const {
    return place_of(dtype_, bytes_ + i * storage_bytes(dtype_));
  }

 private:
  DType dtype_;
  const std::byte* bytes_;
  std::vector<double> values_;
};

bool within_ulps(const Floats& got, const Floats& want, int64_t i, const Tolerance& tolerance) {
  if (tolerance.exact || tolerance.max_ulp <= 0) return false;
  if (!std::isfinite(got[i]) || !std::isfinite(want[i])) return false;
  return distance(got.place(i), want.place(i)) <= static_cast<uint64_t>(tolerance.max_ulp);
}

std::string index_text(const Shape& shape, int64_t position) {
  std::vector<int64_t> index(shape.dimensions().size());
  for (size_t i = index.size(); i-- > 0;) {
    index[i] = position % shape.dimensions()[i];
    position /= shape.dimensions()[i];
  }
  return base::cat("[", base::join(index, ","), "]");
}

std::string summary(const Shape& shape, const Finding& found, int64_t per_element,
                    const std::string& values) {
  std::string out = base::cat(found.count, " of ", shape.element_count() * per_element,
                              per_element == 2 ? " parts" : " elements", " differ; first at ",
                              index_text(shape, found.first / per_element), ": ", values);
  if (found.largest > 0) base::append(out, "; largest difference ", found.largest);
  return out;
}

std::string float_difference(const Literal& got, const Literal& want, const Tolerance& tolerance) {
  const Shape& shape = want.shape();
  const DType part = real_part(shape.dtype());
  const int64_t per_element = is_complex(shape.dtype()) ? 2 : 1;
  const int64_t count = shape.element_count() * per_element;
  const Floats a(got, part, count);
  const Floats b(want, part, count);
  const double least = least_normal(part);
  Finding found;
  for (int64_t i = 0; i < count; ++i) {
    if (agree(flush(a[i], least), flush(b[i], least), tolerance) || within_ulps(a, b, i, tolerance))
      continue;
    found.add(i, std::abs(a[i] - b[i]));
  }
  if (found.count == 0) return {};
  const int64_t i = found.first;
  const char* which = per_element == 1 ? "" : i % 2 == 0 ? "real part " : "imaginary part ";
  return summary(shape, found, per_element,
                 base::cat(which, "got ", a[i], ", want ", b[i], ", ",
                           distance(a.place(i), b.place(i)), " ulp apart"));
}

std::string integer_text(DType dtype, int64_t value) {
  return dtype == u64 ? base::cat(static_cast<uint64_t>(value)) : base::cat(value);
}

std::string integer_difference(const Literal& got, const Literal& want) {
  const Shape& shape = want.shape();
  std::vector<int64_t> a(static_cast<size_t>(shape.element_count()));
  std::vector<int64_t> b(a.size());
  load(shape.dtype(), got.bytes(), shape.element_count(), a.data());
  load(shape.dtype(), want.bytes(), shape.element_count(), b.data());
  Finding found;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) found.add(static_cast<int64_t>(i), 0);
  }
  if (found.count == 0) return {};
  const auto first = static_cast<size_t>(found.first);
  return summary(shape, found, 1,
                 base::cat("got ", integer_text(shape.dtype(), a[first]), ", want ",
                           integer_text(shape.dtype(), b[first])));
}

class LeafComparison {
 public:
  explicit LeafComparison(std::span<const Tolerance> tolerances) : tolerances_(tolerances) {}

  std::string run(const Literal& got, const Literal& want) {
    if (!want.is_tuple()) return leaf(got, want);
    for (size_t i = 0; i < want.elements().size(); ++i) {
      path_.push_back(static_cast<int64_t>(i));
      std::string found = run(got.elements()[i], want.elements()[i]);
      path_.pop_back();
      if (!found.empty()) return found;
    }
    return {};
  }

 private:
  std::string leaf(const Literal& got, const Literal& want) {
    const size_t number = leaves_++;
    if (!want.shape().is_array() || want.element_count() == 0) return {};
    std::string found = is_integer(want.shape().dtype()) || want.shape().dtype() == pred
                            ? integer_difference(got, want)
                            : float_difference(got, want, tolerance(number));
    if (found.empty()) return {};
    return base::cat(path_.empty() ? "" : base::cat("output {", base::join(path_, ","), "}: "),
                     to_string(want.shape()), ": ", found);
  }

  [[nodiscard]] Tolerance tolerance(size_t leaf) const {
    if (tolerances_.empty()) return {.exact = true};
    return tolerances_[tolerances_.size() == 1 ? 0 : std::min(leaf, tolerances_.size() - 1)];
  }

  std::span<const Tolerance> tolerances_;
  size_t leaves_ = 0;
  std::vector<int64_t> path_;
};

}  // namespace

double least_normal(DType dtype) {
  switch (real_part(dtype)) {
    case f64: return std::numeric_limits<double>::min();
    case f32:
    case bf16: return std::numeric_limits<float>::min();
    default: return 0;
  }
}

std::string difference(const Literal& got, const Literal& want,
                       std::span<const Tolerance> tolerances) {
  if (!same_type(got.shape(), want.shape())) {
    return base::cat("got ", to_string(got.shape()), ", want ", to_string(want.shape()));
  }
  return LeafComparison(tolerances).run(got, want);
}

}  // namespace heddle::conformance
