#include "heddle/tests/plugins/random_maker.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace heddle::random_programs {
namespace {

// The number of bits of a significand.
int digits(DType dtype) {
  switch (real_part(dtype)) {
    case bf16: return 8;
    case f16: return 11;
    case f32: return 24;
    default: return 53;
  }
}

int64_t count_of(const Dimensions& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

double exact_bound(DType dtype) { return std::ldexp(1.0, std::min(digits(dtype), 40)); }
// Products of two such are exact.
double kept_bound(DType dtype) { return std::ldexp(1.0, std::min(digits(dtype) / 2, 12)); }
double epsilon(DType dtype) { return std::ldexp(1.0, -digits(dtype)); }

DType Maker::any_dtype() {
  static const std::vector<DType> all = {f32, f32, f32, f32, f64, f16, bf16, s32,  s32, s8,
                                         s16, s64, u8,  u16, u32, u64, pred, pred, c64, c128};
  return one_of(all);
}

DType Maker::any_integer() {
  static const std::vector<DType> all = {s32, s32, s8, s16, s64, u8, u16, u32, u64};
  return one_of(all);
}

Dimensions Maker::any_dims(int64_t most_axes) {
  Dimensions dims(static_cast<size_t>(between(0, most_axes)));
  for (int64_t& size : dims) size = one_in(40) ? 0 : between(1, 5);
  return dims;
}

std::vector<int64_t> Maker::permutation(int64_t n) {
  std::vector<int64_t> out(static_cast<size_t>(n));
  std::iota(out.begin(), out.end(), int64_t{0});
  for (size_t i = out.size(); i > 1; --i)
    std::swap(out[i - 1], out[static_cast<size_t>(below(static_cast<int64_t>(i)))]);
  return out;
}

Value Maker::pick(const Wanted& wanted) {
  std::vector<size_t> found;
  for (size_t i = 0; i < pool.size(); ++i)
    if (wanted(pool[i])) found.push_back(i);
  if (found.empty()) throw NoOperand();
  // The last few in half of all cases, so that ops stand on one another.
  const auto count = static_cast<int64_t>(found.size());
  const int64_t at = one_in(2) ? below(count) : count - 1 - below(std::min<int64_t>(count, 3));
  return pool[found[static_cast<size_t>(at)]];
}

Value Maker::like(const Value& x) {
  return pick([&](const Value& v) { return v.dtype() == x.dtype() && (v.exact() || !x.exact()); });
}

Value Maker::partner(const Value& x) {
  Value y = like(x);
  if (common_dimensions(x.tensor.shape(), y.tensor.shape()).has_value()) return y;
  return fit(y, x.dims());
}

Value Maker::fit(const Value& x, const Dimensions& dims) {
  if (x.dims() == dims) return x;
  Value out = x;
  const int64_t wanted = count_of(dims);
  if (x.tensor.size() == wanted) {
    out.tensor = reshape(x.tensor, dims);
  } else if (wanted == 0) {
    out.tensor = zeros(dims, x.dtype());
  } else if (x.tensor.size() == 0) {
    out.tensor = ones(dims, x.dtype());
    out.bound = std::max(out.bound, 1.0);
  } else if (common_dimensions(x.tensor.shape(), Shape(x.dtype(), dims)) == dims) {
    out.tensor = broadcast_to(x.tensor, dims);
  } else {
    out.tensor = resize(x.tensor, dims);
  }
  return out;
}

Value Maker::cast(const Value& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  if (heddle::is_complex(dtype) || (x.is_inexact_type() && is_integer(dtype))) need_finite();
  Value out = x;
  if (heddle::is_complex(x.dtype()) && !heddle::is_complex(dtype)) {
    out.tensor = one_in(2) ? real(x.tensor) : imag(x.tensor);
    return cast(out, dtype);
  }
  if (dtype == pred) {
    if (!x.exact()) throw NoOperand();
    return {not_equal(x.tensor, 0), 0, 0};
  }
  const bool to_inexact = is_floating(dtype) || heddle::is_complex(dtype);
  if (!x.is_inexact_type()) {
    if (to_inexact && x.dtype() != pred) {
      // Of all of an integer's bits a few stay.
      const Tensor low = bitwise_and(out.tensor, 7);
      out.tensor = low;
    }
    return {out.tensor.astype(dtype), to_inexact ? 8.0 : 0.0, 0};
  }
  if (!to_inexact) {
    if (!x.exact()) throw NoOperand();
    const double most = is_integer(dtype) && bit_width(dtype) <= 8 ? 100 : 1000;
    if (x.bound > most || is_unsigned(dtype))
      out.tensor = clamp(is_unsigned(dtype) ? 0.0 : -most, out.tensor, most);
    return {out.tensor.astype(dtype), 0, 0};
  }
  const double most = kept_bound(dtype);
  if (x.bound > most && is_floating(x.dtype())) {
    out.tensor = clamp(-most, out.tensor, most);
    out.bound = most;
  }
  out.tensor = out.tensor.astype(dtype);
  if (!out.exact()) out.error += epsilon(dtype) * out.bound;
  return out;
}

Value Maker::exact_of(DType dtype, const Dimensions& dims) {
  return fit(cast(exact(), dtype), dims);
}

Tensor Maker::position(int64_t size) {
  if (one_in(3)) return scalar<int32_t>(static_cast<int32_t>(between(-2, size + 1)));
  const Value from = integer();
  Tensor number = from.tensor;
  if (number.size() == 0) throw NoOperand();
  if (number.rank() > 0) number = ravel(number)[below(number.size())];
  return one_in(2) ? number : bitwise_and(number, 7);
}

Tensor Maker::choice(const Dimensions& dims) {
  const Value from = pick([](const Value& v) { return v.dtype() == pred; });
  return fit(from, one_in(3) ? Dimensions{} : dims).tensor;
}

double Maker::number(DType dtype) {
  const bool negative = !is_unsigned(dtype) && dtype != pred && one_in(2);
  return static_cast<double>(dtype == pred ? below(2) : between(0, 4)) * (negative ? -1 : 1);
}

void Maker::add(const Tensor& tensor, double bound, double error) {
  if (tensor.size() > kMostElements || tensor.rank() > 5) return;
  Value value{tensor, bound, error};
  if (!value.is_inexact_type()) {
    pool.push_back({tensor, 0, 0});
    return;
  }
  if (value.exact() && bound > exact_bound(tensor.dtype()))
    value.error = epsilon(tensor.dtype()) * bound;
  const double most = kept_bound(tensor.dtype());
  if (bound > most) {
    const auto clamped = [&](const Tensor& x) { return clamp(-most, x, most); };
    value.tensor = heddle::is_complex(tensor.dtype())
                       ? complex(clamped(real(tensor)), clamped(imag(tensor)))
                       : clamped(tensor);
    value.bound = most;
  }
  // What is known no better than this says nothing.
  if (value.error > 0.05 * std::max(1.0, value.bound)) return;
  pool.push_back(std::move(value));
}

void run_steps(Maker& maker, int64_t count) {
  static const std::vector<Step>& steps = *new std::vector<Step>([] {
    std::vector<Step> all;
    for (const auto& part : {elementwise_steps(), movement_steps(), indexing_steps(),
                             reduction_steps(), control_steps(), catalogue_steps()}) {
      for (const Step& step : part) all.insert(all.end(), static_cast<size_t>(step.weight), step);
    }
    return all;
  }());
  for (int64_t i = 0; i < count; ++i) {
    const Step& step = maker.one_of(steps);
    try {
      step.run(maker);
    } catch (const NoOperand&) {
    } catch (const Error& error) {
      maker.note_refused(step.name, error);
    }
  }
}

}  // namespace heddle::random_programs
