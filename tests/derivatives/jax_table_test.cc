// Every case of jax_table.txt: gradients, tangents, Jacobians and batched values that JAX computed
// in f64, to 1e-10 of the greatest element.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "heddle/tests/derivatives/cases.h"

namespace heddle::derivatives {
namespace {

constexpr double kTolerance = 1e-10;  // of the greatest element, and absolute
constexpr const char* kTable = "tests/derivatives/jax_table.txt";

struct Array {
  std::string type;  // f64[2,3]
  std::vector<double> numbers;
};

struct Row {
  std::vector<Array> inputs, values;
};

std::vector<Array> read_arrays(const std::string& text) {
  std::vector<Array> arrays;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, '|');) {
    std::istringstream words(part);
    Array one;
    words >> one.type;
    for (std::string word; words >> word;)
      one.numbers.push_back(std::strtod(word.c_str(), nullptr));
    arrays.push_back(std::move(one));
  }
  return arrays;
}

std::map<std::string, Row> read_table() {
  std::map<std::string, Row> rows;
  std::ifstream in(kTable);
  EXPECT_TRUE(in) << "cannot read " << kTable << "; run from the project's root";
  std::string name, inputs, values;
  while (std::getline(in, name, ';') && std::getline(in, inputs, ';') && std::getline(in, values))
    rows[name] = {read_arrays(inputs), read_arrays(values)};
  return rows;
}

const Row& row_of(const std::string& name) {
  static const std::map<std::string, Row> kRows = read_table();
  return kRows.at(name);
}

std::vector<Case> all_cases() {
  return joined({element_cases(), array_cases(), matrix_cases(), loop_cases(), model_cases(),
                 transform_cases()});
}

std::vector<int64_t> sizes_of(const std::string& type) {
  std::vector<int64_t> sizes;
  const size_t open = type.find('[');
  std::istringstream parts(type.substr(open + 1, type.size() - open - 2));
  for (std::string n; std::getline(parts, n, ',');) sizes.push_back(std::stoll(n));
  return sizes;
}

Tensor tensor_of(const Array& from) {
  const std::string dtype = from.type.substr(0, from.type.find('['));
  const std::vector<int64_t> sizes = sizes_of(from.type);
  if (dtype == "f64") return array(from.numbers, sizes);
  if (dtype == "s32")
    return array(std::vector<int32_t>(from.numbers.begin(), from.numbers.end()), sizes);
  std::vector<std::complex<double>> parts;
  for (size_t i = 0; i < from.numbers.size(); i += 2)
    parts.emplace_back(from.numbers[i], from.numbers[i + 1]);
  return array(parts, sizes);
}

std::vector<double> numbers_of(const Tensor& x) {
  if (x.dtype() != c128) return x.astype(f64).to_vector<double>();
  std::vector<double> out;
  for (const std::complex<double>& z : x.to_vector<std::complex<double>>()) {
    out.push_back(z.real());
    out.push_back(z.imag());
  }
  return out;
}

bool is_near(double got, double expected, double size) {
  if (std::isnan(expected) || std::isinf(expected))
    return std::isnan(expected) ? std::isnan(got) : got == expected;
  return std::abs(got - expected) <= kTolerance * (1 + size);
}

// Where value `number` differs, and by what; empty where it does not.
std::string difference(const Tensor& got, const Array& expected, size_t number) {
  const std::string what = base::cat("value ", number);
  if (base::cat(got.shape()) != expected.type)
    return base::cat(what, " is ", got.shape(), " and not ", expected.type, "\n");
  const std::vector<double> numbers = numbers_of(got);
  double size = 0;
  for (double x : expected.numbers) {
    if (std::isfinite(x)) size = std::max(size, std::abs(x));
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (!is_near(numbers[i], expected.numbers[i], size))
      return base::cat(what, ", element ", i, " is ", numbers[i], " and not ", expected.numbers[i],
                       "; the greatest is ", size, "\n");
  }
  return "";
}

std::string difference(const Case& one) {
  const Row& row = row_of(one.name);
  Tensors inputs;
  for (const Array& input : row.inputs) inputs.push_back(tensor_of(input));
  try {
    const Tensors values = one.run(inputs);
    std::string all;
    if (values.size() != row.values.size())
      return base::cat(values.size(), " values and not ", row.values.size());
    for (size_t i = 0; i < values.size(); ++i) all += difference(values[i], row.values[i], i);
    return all;
  } catch (const Error& e) {
    return e.what();
  }
}

class JaxTable : public testing::TestWithParam<Case> {};

TEST_P(JaxTable, IsEqual) {
  const Case& one = GetParam();
  const std::string different = difference(one);
  EXPECT_EQ(different, "");
}

std::string test_name(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name;
  for (char& c : name) {
    if (c == '-') c = 'm';
    if (c == '.') c = 'p';
  }
  return name;
}
INSTANTIATE_TEST_SUITE_P(Derivatives, JaxTable, testing::ValuesIn(all_cases()), test_name);

// The branch that is not taken has no infinite derivative, which times 0 would be NaN in reverse.
TEST(Derivatives, OfReverseModeAreFiniteFarOut) {
  const auto slopes_at = [](auto fn, Tensor x) {
    return grad([=](Tensor at) { return sum(fn(at)); })(x).template to_vector<float>();
  };
  const Tensor far = array({2.3e5F, 1e9F, -1e6F});
  const auto gelu = [](Tensor x) { return nn::gelu(x, {.approximate = false}); };
  EXPECT_EQ(slopes_at(gelu, far), (std::vector<float>{1, 1, 0}));
  const auto ndtr = [](Tensor x) { return special::ndtr(x); };
  EXPECT_EQ(slopes_at(ndtr, far), (std::vector<float>{0, 0, 0}));
  const auto erfc = [](Tensor x) { return special::erfc(x); };
  EXPECT_EQ(slopes_at(erfc, far), (std::vector<float>{0, 0, 0}));
  const Tensor ends = array({-INFINITY, INFINITY});
  EXPECT_EQ(slopes_at(ndtr, ends), (std::vector<float>{0, 0}));
  EXPECT_EQ(slopes_at(erfc, ends), (std::vector<float>{0, 0}));
  const auto log_ndtr = [](Tensor x) { return special::log_ndtr(x); };
  EXPECT_EQ(slopes_at(log_ndtr, ends), (std::vector<float>{INFINITY, 0}));
  const auto erfcx = [](Tensor x) { return special::erfcx(x); };
  EXPECT_EQ(slopes_at(erfcx, array({-INFINITY, -1e30F, INFINITY})),
            (std::vector<float>{-INFINITY, -INFINITY, 0}));
  const auto erf_inv = [](Tensor x) { return special::erf_inv(x); };
  EXPECT_EQ(slopes_at(erf_inv, array({-1.0F, 1.0F})), (std::vector<float>{INFINITY, INFINITY}));
  // -1/2 (2 pi)^(-1/2) x^(-3/2), far out.
  const auto i0e = [](Tensor x) { return special::bessel_i0e(x); };
  const auto i1e = [](Tensor x) { return special::bessel_i1e(x); };
  EXPECT_NEAR(slopes_at(i0e, array({1e6F}))[0], -1.9947116e-10F, 1e-15);
  EXPECT_NEAR(slopes_at(i1e, array({1e6F}))[0], -1.9947116e-10F, 1e-15);
  const auto log1mexp = [](Tensor x) { return nn::log1mexp(x); };
  EXPECT_NEAR(slopes_at(log1mexp, array({1e-8F}))[0], 1e8F, 100);
  const auto spread = [](Tensor x) { return nan_var(x); };
  const std::vector<float> of_spread = slopes_at(spread, array({0.5F, std::nanf(""), -0.3F, 0.2F}));
  EXPECT_NEAR(of_spread[0], 0.24444444F, 1e-6);
  EXPECT_EQ(of_spread[1], 0);
}

// Of x^(a-1) (1-x)^(b-1) / B(a, b): where x is 0 and 1.
TEST(Derivatives, OfBetaincAtItsEnds) {
  const auto slopes_of = [](float a, float b) {
    const auto fn = [=](Tensor x) {
      return sum(special::betainc(full_like(x, a), full_like(x, b), x));
    };
    return grad(fn)(array({0.0F, 1.0F})).to_vector<float>();
  };
  EXPECT_EQ(slopes_of(1.5, 2), (std::vector<float>{0, 0}));
  EXPECT_EQ(slopes_of(1, 3), (std::vector<float>{3, 0}));
  EXPECT_EQ(slopes_of(2.5, 1), (std::vector<float>{0, 2.5}));
  EXPECT_EQ(slopes_of(0.5, 0.5), (std::vector<float>{INFINITY, INFINITY}));
}

// ldexp is x 2^n, and a mantissa is x 2^-exponent.
TEST(Derivatives, OfPartsOfFloats) {
  const Tensor x = array({0.0F, 1e-40F, 0.3F, -6.0F, 1e38F});
  const auto moved = [](Tensor x) { return sum(ldexp(x, array({3, 0, -2, 130, 1}))); };
  EXPECT_EQ(grad(moved)(x).to_vector<float>(), (std::vector<float>{8, 1, 0.25F, INFINITY, 2}));
  const auto mantissa = [](Tensor x) { return sum(frexp(x).mantissa); };
  EXPECT_EQ(grad(mantissa)(x).to_vector<float>(),
            (std::vector<float>{1, INFINITY, 2, 0.125F, std::ldexp(1.0F, -127)}));
}

// Both parts are as large, and their slopes add up to 1 (JAX has NaN).
TEST(Derivatives, OfLogaddexpOfEqualInfinities) {
  for (const double x : {-INFINITY, INFINITY}) {
    for (const auto& fn : {logaddexp, logaddexp2}) {
      const auto twice = [&](Tensor v) { return fn(v, v); };
      EXPECT_EQ(twice(scalar(x)).item<double>(), x);
      EXPECT_EQ(grad(twice)(scalar(x)).item<double>(), 1);
    }
  }
}

// Of hypot(k, v) at v = 1.3 k by v, twice: 1 / (k (1 + 1.3^2)^(3/2)).
TEST(Derivatives, OfHypotDoNotDependOnTheScale) {
  for (const double k : {1e-200, 1.0, 1e200}) {
    const auto slope = grad([&](Tensor v) { return hypot(k, v); });
    const Tensor at = scalar(1.3 * k);
    EXPECT_NEAR(slope(at).item<double>(), 1.3 / std::hypot(1, 1.3), 1e-15);
    EXPECT_NEAR(grad(slope)(at).item<double>() * k, std::pow(1 + 1.3 * 1.3, -1.5), 1e-15) << k;
  }
  const auto of_small = [](Tensor x) { return hypot(x, 1e200); };
  const Tensor one = scalar(1.0);
  EXPECT_EQ(jvp(of_small, std::tuple(one), std::tuple(one)).second.item<double>(), 1e-200);
  const auto slope_at = [](double x, double y) {
    return grad([&](Tensor a) { return hypot(a, y); })(scalar(x)).item<double>();
  };
  EXPECT_EQ(slope_at(0, 0), 0);
  EXPECT_EQ(slope_at(-INFINITY, 1), -1);
  EXPECT_EQ(slope_at(1, INFINITY), 0);
  EXPECT_NEAR(slope_at(1.3e308, 1.3e308), M_SQRT1_2, 1e-15);
}

// Where JAX 0.10.2 errs, or has NaN: against the hazard of the normal distribution by its continued
// fraction, 3/2 less the harmonic number of 32, log(x) / (1 - x), 0, 1/2, -pi^2 / 3 and 0.
TEST(JaxTable, HasNotWhereJaxErrs) {
  const auto slope_at = [](auto fn, double x) {
    return grad(fn)(scalar(x)).template item<double>();
  };
  const auto log_ndtr = [](Tensor x) { return special::log_ndtr(x); };
  EXPECT_NEAR(slope_at(log_ndtr, -21), 21.047405496518665, 1e-13);
  EXPECT_NEAR(slope_at(log_ndtr, -40), 40.024968847207264, 1e-13);
  const auto betaln = [](Tensor a) { return special::betaln(a, 30); };
  EXPECT_NEAR(slope_at(betaln, 3), -2.5584951954365202, 1e-13);
  const auto spence = [](Tensor x) { return special::spence(x); };
  EXPECT_NEAR(slope_at(spence, 1.5), -0.81093021621632876, 1e-13);
  const auto i0 = [](Tensor x) { return special::i0(x); };
  EXPECT_NEAR(slope_at(i0, 0), 0, 1e-13);
  EXPECT_NEAR(slope_at(grad(i0), 0), 0.5, 1e-13);
  const auto sinc = [](Tensor x) { return special::sinc(x); };
  EXPECT_NEAR(slope_at(grad(sinc), 1e-9), -3.2898681336964529, 1e-13);
  const auto power = [](Tensor x) { return heddle::power(x, 1.0); };
  EXPECT_EQ(slope_at(grad(power), 0), 0);
}

TEST(JaxTable, HasTheSameNamesAsTheCases) {
  std::set<std::string> in_table, in_code;
  for (const auto& [name, row] : read_table()) in_table.insert(name);
  for (const Case& one : all_cases()) EXPECT_TRUE(in_code.insert(one.name).second) << one.name;
  EXPECT_EQ(in_table, in_code);
  EXPECT_GE(in_table.size(), 200u);
}

}  // namespace
}  // namespace heddle::derivatives
