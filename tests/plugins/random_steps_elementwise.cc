// Steps of random programs: ops that go element by element.
#include <algorithm>
#include <cmath>

#include "heddle/tests/plugins/random_maker.h"

namespace heddle::random_programs {
namespace {

using Unary = Tensor (*)(Operand);
using Binary = Tensor (*)(Operand, Operand);

bool is_float(const Value& v) { return is_floating(v.dtype()); }
bool is_int(const Value& v) { return is_integer(v.dtype()); }
bool is_bits(const Value& v) { return is_int(v) || v.dtype() == pred; }
bool is_real(const Value& v) { return is_int(v) || is_float(v); }

// Values stay whole numbers, and no larger.
Step keeps(std::string_view name, Unary fn, Maker::Wanted wanted) {
  return {name, [fn, wanted](Maker& m) {
            const Value x = m.pick([&](const Value& v) { return wanted(v); });
            m.add(fn(x.tensor), x.bound, x.error);
          }};
}

// The same, of values that decide a result.
Step decides(std::string_view name, Unary fn, Maker::Wanted wanted) {
  return {name, [fn, wanted](Maker& m) {
            const Value x = m.pick([&](const Value& v) { return v.exact() && wanted(v); });
            m.add(fn(x.tensor), std::max(x.bound, 1.0), 0);
          }};
}

// A smooth function of floats: |fn| <= bound(|x|), and its slope is `slope` at most.
Step smooth(std::string_view name, std::function<Tensor(const Tensor&)> fn, double slope,
            std::function<double(double)> bound) {
  return {name, [fn, slope, bound](Maker& m) {
            const Value x = m.pick(is_float);
            const double most = bound(x.bound);
            m.add(fn(x.tensor), most,
                  slope * x.error + 8 * epsilon(x.dtype()) * std::max(1.0, most));
          }};
}

Step whole_pair(std::string_view name, Binary fn, Maker::Wanted wanted) {
  return {name, [fn, wanted](Maker& m) {
            const Value x = m.pick([&](const Value& v) { return wanted(v) && v.exact(); });
            const Value y = m.partner(x);
            m.add(fn(x.tensor, y.tensor), std::max(x.bound, y.bound), 0);
          }};
}

void plus(Maker& m, Binary fn) {
  const Value x = fn == Binary(subtract) ? m.numeric() : m.any();
  if (m.one_in(3) && x.dtype() != pred) {
    const double number = m.number(x.dtype());
    const Tensor sum = m.one_in(2) ? fn(x.tensor, number) : fn(number, x.tensor);
    m.add(sum, x.bound + 4, x.error);
    return;
  }
  const Value y = m.partner(x);
  m.add(fn(x.tensor, y.tensor), x.bound + y.bound, x.error + y.error);
}

void times(Maker& m) {
  const Value x = m.any();
  if (m.one_in(3) && x.dtype() != pred) {
    m.add(multiply(x.tensor, m.number(x.dtype())), 4 * x.bound, 4 * x.error);
    return;
  }
  const Value y = m.partner(x);
  const double parts = is_complex(x.dtype()) ? 2 : 1;
  m.add(multiply(x.tensor, y.tensor), parts * x.bound * y.bound,
        parts * (x.error * y.bound + y.error * x.bound));
}

void quotient(Maker& m) {
  const Value x = m.pick(is_float);
  if (m.one_in(2)) {
    const double by = m.one_of<double>({2, 0.5, 3, 7, -4});
    m.add(divide(x.tensor, by), 2 * x.bound, 2 * x.error + 4 * epsilon(x.dtype()) * x.bound);
    return;
  }
  const Value y = m.partner(x);
  m.add(divide(x.tensor, abs(y.tensor) + 1), x.bound,
        x.error + x.bound * y.error + 4 * epsilon(x.dtype()) * x.bound);
}

void extreme(Maker& m, Binary fn) {
  const Value x = m.pick([](const Value& v) { return !is_complex(v.dtype()); });
  if (m.one_in(3) && x.dtype() != pred) {
    m.add(fn(x.tensor, m.number(x.dtype())), std::max(4.0, x.bound), x.error);
    return;
  }
  const Value y = m.partner(x);
  m.add(fn(x.tensor, y.tensor), std::max(x.bound, y.bound), std::max(x.error, y.error));
}

void compare(Maker& m) {
  static const std::vector<Binary> all = {equal,      not_equal, less,
                                          less_equal, greater,   greater_equal};
  const Value x = m.exact();
  if (is_complex(x.dtype())) {
    const Value y = m.partner(x);
    m.add(m.one_in(2) ? equal(x.tensor, y.tensor) : not_equal(x.tensor, y.tensor));
    return;
  }
  const Binary fn = m.one_of(all);
  if (m.one_in(3) && x.dtype() != pred) {
    m.add(fn(x.tensor, m.number(x.dtype())));
    return;
  }
  m.add(fn(x.tensor, m.partner(x).tensor));
}

void clamped(Maker& m) {
  const Value x = m.pick(is_real);
  const double low = m.number(x.dtype()), high = low + static_cast<double>(m.below(4));
  const int64_t form = m.below(5);
  const auto bound = std::max(std::abs(low), std::abs(high));
  if (form == 0) {
    m.add(clip(x.tensor, low, high), bound, x.error);
  } else if (form == 1) {
    const Value y = m.fit(m.like(x), x.dims());
    m.add(clamp(y.tensor, x.tensor, y.tensor + 2), y.bound + 2, std::max(x.error, y.error));
  } else if (form == 2) {  // one bound is a scalar of the program
    const Value y = m.fit(m.like(x), {});
    m.add(clamp(y.tensor, x.tensor, high), std::max(y.bound, bound), std::max(x.error, y.error));
  } else {
    m.add(clamp(low, x.tensor, high), bound, x.error);
  }
}

void choose(Maker& m) {
  const Value x = m.any();
  const Value y = m.partner(x);
  const Dimensions dims = *common_dimensions(x.tensor.shape(), y.tensor.shape());
  m.add(where(m.choice(dims), x.tensor, y.tensor), std::max(x.bound, y.bound),
        std::max(x.error, y.error));
}

void converted(Maker& m) {
  const Value x = m.any();
  m.add(m.cast(x, m.any_dtype()));
}

void bits(Maker& m) {
  const Value x = m.pick(is_int);
  static const std::vector<DType> all = {s8, u8, s16, u16, s32, u32, s64, u64};
  const DType to = m.one_of(all);
  // Several of a narrow type make one of a wide type.
  const int64_t together = std::max<int64_t>(1, bit_width(to) / bit_width(x.dtype()));
  if (together > 1 && (x.rank() == 0 || x.dims().back() != together)) throw NoOperand();
  m.add(bitcast_convert(x.tensor, to));
}

void shift(Maker& m) {
  static const std::vector<Binary> all = {shift_left, shift_right_arithmetic, shift_right_logical};
  const Value x = m.pick(is_int);
  const Binary fn = m.one_of(all);
  if (m.one_in(2)) {
    m.add(fn(x.tensor, m.below(10)));
  } else {
    m.add(fn(x.tensor, m.partner(x).tensor));
  }
}

void integer_power(Maker& m) {
  const Value x = m.pick([](const Value& v) { return is_int(v) && v.exact(); });
  m.add(power(x.tensor, m.below(5)));
}

void float_remainder(Maker& m) {
  const Value x = m.pick([](const Value& v) { return is_float(v) && v.exact(); });
  const Value y = m.partner(x);
  m.add(rem(x.tensor, abs(y.tensor) + 1), x.bound, 0);
}

void quarters(Maker& m) {
  m.need_finite();
  const Value x = m.pick([](const Value& v) { return v.dtype() == f32 || v.dtype() == f64; });
  const Value y = m.partner(x);
  m.add(complex(x.tensor, y.tensor), std::max(x.bound, y.bound), std::max(x.error, y.error));
}

void complex_parts(Maker& m) {
  const Value x = m.pick([](const Value& v) { return is_complex(v.dtype()); });
  switch (m.below(4)) {
    case 0: m.add(real(x.tensor), x.bound, x.error); break;
    case 1: m.add(imag(x.tensor), x.bound, x.error); break;
    case 2: m.add(conj(x.tensor), x.bound, x.error); break;
    default: m.add(abs(x.tensor), 2 * x.bound, 2 * x.error + 8 * epsilon(x.dtype()) * x.bound);
  }
}

std::function<double(double)> at_most(double bound) {
  return [bound](double) { return bound; };
}

}  // namespace

std::vector<Step> elementwise_steps() {
  const auto is_number = [](const Value& v) { return v.dtype() != pred; };
  const auto same = [](double x) { return x; };
  return {
      keeps("negative", negative, is_number),
      keeps("abs", abs, is_real),
      decides("sign", sign, is_real),
      decides("floor", floor, is_float),
      decides("ceil", ceil, is_float),
      decides("round", round, is_float),
      decides("round_half_away", round_half_away, is_float),
      decides("is_finite", is_finite, is_float),
      decides("is_nan", is_nan, is_float),
      decides("logical_not", logical_not, is_bits),
      decides("bitwise_not", bitwise_not, is_bits),
      decides("population_count", population_count, is_int),
      decides("clz", clz, is_int),
      smooth(
          "sin", [](const Tensor& x) { return sin(x); }, 1, at_most(1)),
      smooth(
          "cos", [](const Tensor& x) { return cos(x); }, 1, at_most(1)),
      smooth(
          "tanh", [](const Tensor& x) { return tanh(x); }, 1, at_most(1)),
      smooth(
          "logistic", [](const Tensor& x) { return logistic(x); }, 1, at_most(1)),
      smooth(
          "erf", [](const Tensor& x) { return erf(x); }, 2, at_most(1)),
      smooth(
          "atan", [](const Tensor& x) { return atan(x); }, 1, at_most(2)),
      smooth(
          "asinh", [](const Tensor& x) { return asinh(x); }, 1, same),
      smooth(
          "exp", [](const Tensor& x) { return exp(clamp(-3.0, x, 2.0)); }, 8, at_most(8)),
      smooth(
          "expm1", [](const Tensor& x) { return expm1(minimum(x, 2.0)); }, 8, at_most(8)),
      smooth(
          "log1p", [](const Tensor& x) { return log1p(abs(x)); }, 1, same),
      smooth(
          "sqrt", [](const Tensor& x) { return sqrt(abs(x) + 1.0); }, 1,
          [](double x) { return x + 1; }),
      smooth(
          "rsqrt", [](const Tensor& x) { return rsqrt(square(x) + 1.0); }, 1, at_most(1)),
      smooth(
          "reciprocal", [](const Tensor& x) { return reciprocal(abs(x) + 1.0); }, 1, at_most(1)),
      {"add", [](Maker& m) { plus(m, add); }, 3},
      {"subtract", [](Maker& m) { plus(m, subtract); }, 3},
      {"multiply", times, 3},
      {"divide", quotient, 2},
      {"maximum", [](Maker& m) { extreme(m, maximum); }, 2},
      {"minimum", [](Maker& m) { extreme(m, minimum); }, 2},
      {"compare", compare, 4},
      {"clamp", clamped, 4},
      {"where", choose, 4},
      {"astype", converted, 4},
      {"bitcast_convert", bits},
      {"shift", shift, 2},
      {"power", integer_power},
      {"rem_of_floats", float_remainder},
      {"complex", quarters},
      {"complex_parts", complex_parts, 2},
      whole_pair("divide_integers", divide, is_int),
      whole_pair("rem", rem, is_int),
      whole_pair("mulhi", mulhi, is_int),
      whole_pair("bitwise_and", bitwise_and, is_bits),
      whole_pair("bitwise_or", bitwise_or, is_bits),
      whole_pair("bitwise_xor", bitwise_xor, is_bits),
      whole_pair("logical_and", logical_and, is_bits),
      whole_pair("logical_or", logical_or, is_bits),
  };
}

}  // namespace heddle::random_programs
