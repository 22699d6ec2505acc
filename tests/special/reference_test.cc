// Every point of the reference table, which mpmath made, in f32 and f64: no error may pass the
// greatest one of 10^4 points, as tests/special/measure.py found it (docs/functions.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "heddle/heddle.h"

namespace heddle {
namespace {

using Arguments = std::vector<Tensor>;

struct Function {
  std::function<Tensor(const Arguments&)> run;
  double bound32, bound64;  // in ulps of the greater of |value| and `scale`
  double scale;             // not 0 where terms cancel
  double cpu32 = 0;         // of machine code, where its functions round otherwise
};

// One function of one, two, three, four operands.
template <class Fn>
std::function<Tensor(const Arguments&)> one(Fn fn) {
  return [fn](const Arguments& v) { return fn(v[0]); };
}
template <class Fn>
std::function<Tensor(const Arguments&)> two(Fn fn) {
  return [fn](const Arguments& v) { return fn(v[0], v[1]); };
}
template <class Fn>
std::function<Tensor(const Arguments&)> three(Fn fn) {
  return [fn](const Arguments& v) { return fn(v[0], v[1], v[2]); };
}
template <class Fn>
std::function<Tensor(const Arguments&)> four(Fn fn) {
  return [fn](const Arguments& v) { return fn(v[0], v[1], v[2], v[3]); };
}

// J of the orders v[0], up to 8, at v[1].
Tensor bessel_of_order(const Arguments& v) {
  const Tensor rows = special::bessel_jn(v[1], 8);
  return sum(where(iota(v[0].dtype(), {9, v[0].shape().dimensions()[0]}, 0) == v[0], rows, 0),
             {.axes = {0}});
}

// A part of fn(v[0] + i v[1]).
Tensor part_of(const Arguments& v, Tensor (*fn)(Operand), Tensor (*part)(Operand)) {
  const DType wide = v[0].dtype() == f64 ? f64 : f32;
  const Tensor z = complex(v[0].astype(wide), v[1].astype(wide));
  return part(fn(z)).astype(v[0].dtype());
}

// The real part, of the degrees v[0] and orders v[1].
Tensor real_harmonic(const Arguments& v) {
  const Tensor y = special::sph_harm_y(v[0].astype(s32), v[1].astype(s32), v[2], v[3], 16);
  return real(y).astype(v[2].dtype());
}

const std::map<std::string, Function>& functions() {
  using namespace special;
  static const std::map<std::string, Function> kFunctions = {
      {"erf", {one([](Operand x) { return special::erf(x); }), 0.6, 1.0, 0}},
      {"erfc", {one(special::erfc), 4.4, 7.0, 0}},
      {"erfcx", {one(erfcx), 4.1, 5.0, 0}},
      {"erf_inv", {one(erf_inv), 64, 3.0, 0}},
      {"ndtr", {one(ndtr), 3.9, 7.0, 0}},
      {"log_ndtr", {one(log_ndtr), 4.2, 5.0, 0}},
      {"ndtri", {one(ndtri), 3.7, 5.0, 0}},
      {"lgamma", {one([](Operand x) { return special::lgamma(x); }), 29, 17, 1}},
      {"gamma", {one([](Operand x) { return special::gamma(x); }), 52, 51, 0}},
      {"digamma", {one(digamma), 7.9, 11, 1}},
      {"polygamma", {two(polygamma), 26, 22, 0}},
      {"zeta", {two(zeta), 8.1, 4.0, 0}},
      {"betaln", {two(betaln), 6.1, 6.0, 1}},
      {"igamma", {two(igamma), 130, 230, 0}},
      {"igammac", {two(igammac), 36, 53, 0}},
      {"igamma_grad_a", {two(igamma_grad_a), 220, 570, 0}},
      {"random_gamma_grad", {two(random_gamma_grad), 240, 420, 0}},
      {"betainc", {three(betainc), 62, 61, 0}},
      {"i0", {one(i0), 5.2, 4.0, 0}},
      {"i1", {one(i1), 14, 11, 0}},
      {"bessel_i0e", {one(bessel_i0e), 6.4, 6.0, 0}},
      {"bessel_i1e", {one(bessel_i1e), 9.8, 8.0, 0}},
      {"xlogy", {two(xlogy), 1.5, 1.0, 0}},
      {"xlog1py", {two(xlog1py), 1.4, 1.0, 0}},
      {"entr", {one(entr), 1.4, 1.0, 0}},
      {"rel_entr", {two(rel_entr), 2.0, 2.0, 0}},
      {"kl_div", {two(kl_div), 32, 27, 1}},
      {"logit", {one(logit), 1.2, 1.0, 1}},
      {"expit", {one(expit), 0.6, 1.0, 0, 1.2}},
      {"boxcox", {two(boxcox), 25, 26, 0}},
      {"boxcox1p", {two(boxcox1p), 21, 21, 0}},
      {"exprel", {one(exprel), 1.4, 1.0, 0}},
      {"sinc", {one(sinc), 2.4, 2.0, 0}},
      {"spence", {one(spence), 3.0, 3.0, 0}},
      {"sici_si", {one([](Operand x) { return sici(x).si; }), 1.2, 1.0, 0}},
      {"sici_ci", {one([](Operand x) { return sici(x).ci; }), 4.3, 4.0, 0}},
      {"fresnel_s", {one([](Operand x) { return fresnel(x).s; }), 3.2, 3.0, 0}},
      {"fresnel_c", {one([](Operand x) { return fresnel(x).c; }), 2.8, 2.0, 0}},
      {"expn", {two(expn), 6.4, 6.0, 0}},
      {"bessel_jn", {bessel_of_order, 24, 30, 0}},
      {"sph_harm_y", {real_harmonic, 46, 46, 1}},
      {"owens_t", {two(owens_t), 6.1, 9.0, 0}},
      {"factorial", {one(factorial), 120, 76, 0}},
      {"comb", {two(comb), 94, 96, 0}},
      {"poch", {two(poch), 330, 350, 0}},
      {"multigammaln", {one([](Operand x) { return multigammaln(x, 3); }), 29, 27, 1}},
      {"exp1", {one(exp1), 3.8, 4.0, 0}},
      {"expi", {one(expi), 7.7, 8.0, 1}},
      {"dawsn", {one(dawsn), 4.6, 5.0, 0}},
      {"hyp1f1", {three(hyp1f1), 160, 250, 0}},
      {"hyp2f1", {four(hyp2f1), 130, 77, 0}},
      {"loggamma_re", {[](const Arguments& v) { return part_of(v, loggamma, real); }, 91, 62, 1}},
      {"loggamma_im", {[](const Arguments& v) { return part_of(v, loggamma, imag); }, 37, 45, 1}},
      {"wofz_re", {[](const Arguments& v) { return part_of(v, wofz, real); }, 5.4, 5.0, 0}},
      {"wofz_im", {[](const Arguments& v) { return part_of(v, wofz, imag); }, 19, 44, 0}},
  };
  return kFunctions;
}

// The points of one function, by column.
struct Points {
  std::vector<std::vector<double>> arguments;
  std::vector<double> values;
};

std::map<std::string, Points> read_points() {
  std::map<std::string, Points> all;
  std::ifstream in("tests/special/reference.txt");
  EXPECT_TRUE(in) << "cannot read the reference table; run from the project's root";
  for (std::string name, point, value;
       std::getline(in, name, ';') && std::getline(in, point, ';') && std::getline(in, value);) {
    Points& points = all[name];
    std::istringstream parts(point);
    size_t column = 0;
    for (std::string x; std::getline(parts, x, ','); ++column) {
      if (points.arguments.size() <= column) points.arguments.emplace_back();
      points.arguments[column].push_back(std::strtod(x.c_str(), nullptr));
    }
    points.values.push_back(std::strtod(value.c_str(), nullptr));
  }
  return all;
}

struct Worst {
  double ulps = 0;
  size_t at = 0;
};

Worst greatest_error(const std::vector<double>& got, const std::vector<double>& expected,
                     DType dtype, double scale) {
  FloatLimits limits = float_limits(dtype);
  Worst worst;
  for (size_t i = 0; i < got.size(); ++i) {
    // Beyond the greatest float infinity is right.
    if (std::abs(expected[i]) > limits.largest && std::isinf(got[i])) continue;
    double size = std::max({std::abs(expected[i]), scale, limits.smallest_normal});
    double ulps = std::abs(got[i] - expected[i]) / std::ldexp(limits.epsilon, std::ilogb(size));
    if (std::isnan(ulps)) ulps = INFINITY;
    if (ulps > worst.ulps) worst = {ulps, i};
  }
  return worst;
}

void check(const std::string& name, const Function& function, const Points& points, DType dtype,
           bool is_cpu) {
  Arguments arguments;
  for (const std::vector<double>& column : points.arguments)
    arguments.push_back(array(column).astype(dtype));
  std::vector<double> got = function.run(arguments).to_vector<double>();
  Worst worst = greatest_error(got, points.values, dtype, function.scale);
  std::string where;
  for (const auto& column : points.arguments)
    base::append(where, where.empty() ? "" : ", ", column[worst.at]);
  testing::Test::RecordProperty(base::cat(name, "_", to_string(dtype)),
                                base::cat(worst.ulps, " at ", where));
  const double bound32 = is_cpu ? std::max(function.cpu32, function.bound32) : function.bound32;
  EXPECT_LE(worst.ulps, dtype == f32 ? bound32 : function.bound64)
      << (is_cpu ? "cpu: " : "interpreter: ") << name << " " << to_string(dtype) << " at " << where
      << " gives " << got[worst.at] << " and not " << points.values[worst.at];
}

void expect_as_measured(const char* backend) {
  const DefaultDevice on(*runtime::find_device(backend).value());
  std::map<std::string, Points> all = read_points();
  EXPECT_EQ(all.size(), functions().size());
  for (const auto& [name, points] : all) {
    ASSERT_TRUE(functions().count(name)) << name;
    for (DType dtype : {f32, f64})
      check(name, functions().at(name), points, dtype, std::string_view(backend) == "cpu");
  }
}

TEST(SpecialReference, NoErrorIsGreaterThanMeasured) { expect_as_measured("interpreter"); }
TEST(SpecialReference, NoErrorOfMachineCodeIsGreaterThanMeasured) { expect_as_measured("cpu"); }

// f16 and bf16 are computed in f32 and rounded once.
TEST(SpecialReference, NarrowFloatsAreRoundedF32) {
  for (auto& [name, points] : read_points()) {
    for (DType dtype : {f16, bf16}) {
      Arguments narrow, wide;
      for (const std::vector<double>& column : points.arguments) {
        narrow.push_back(array(column).astype(dtype));
        wide.push_back(narrow.back().astype(f32));
      }
      const Function& function = functions().at(name);
      Tensor expected = function.run(wide).astype(dtype);
      Tensor same = (function.run(narrow) == expected) | is_nan(expected);
      EXPECT_TRUE(all(same).item<bool>()) << name << " " << to_string(dtype);
    }
  }
}

}  // namespace
}  // namespace heddle
