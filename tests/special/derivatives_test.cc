// Derivatives where a formula passes from one branch to the next, and at points that it leaves out.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "heddle/heddle.h"

namespace heddle::special {
namespace {

using Function = std::function<Tensor(Tensor)>;

double value_of(const Function& fn, double x) { return fn(scalar<double>(x)).item<double>(); }
double slope_of(const Function& fn, double x) { return value_of(grad(fn), x); }

std::vector<double> values_at(const Function& fn, const std::vector<double>& points) {
  return vmap(fn)(array<double>(points)).to_vector<double>();
}

// f(x + h) - f(x - h) by 2 h, freed of its term in h^2.
std::vector<double> differences(const Function& fn, const std::vector<double>& points) {
  constexpr double kStep = 2e-4;
  std::vector<double> around;
  for (double x : points)
    for (double k : {-2, -1, 1, 2}) around.push_back(x + k * kStep * std::abs(x));
  const std::vector<double> f = values_at(fn, around);
  std::vector<double> out;
  for (size_t i = 0; i < points.size(); ++i) {
    const double near = f[4 * i + 2] - f[4 * i + 1], far = f[4 * i + 3] - f[4 * i];
    out.push_back((8 * near - far) / (12 * kStep * std::abs(points[i])));
  }
  return out;
}
double difference(const Function& fn, double x) { return differences(fn, {x})[0]; }

struct Thresholds {
  const char* name;
  Function fn;
  std::vector<double> points;
};

std::vector<Thresholds> all_thresholds() {
  return {
      {"exp1", [](Tensor x) { return exp1(x); }, {1}},
      {"expi", [](Tensor x) { return expi(x); }, {-1, 40}},
      {"dawsn", [](Tensor x) { return dawsn(x); }, {-0.5, 0.5, -1000, 1000}},
      {"spence", [](Tensor x) { return spence(x); }, {0.5, 1, 2}},
      {"si", [](Tensor x) { return sici(x).si; }, {-2, 2}},
      {"ci", [](Tensor x) { return sici(x).ci; }, {-2, 2}},
      {"fresnel s", [](Tensor x) { return fresnel(x).s; }, {-1.26, 1.26}},
      {"fresnel c", [](Tensor x) { return fresnel(x).c; }, {-1.26, 1.26}},
      {"expn", [](Tensor x) { return expn(3, x); }, {1}},
      {"erfcx", [](Tensor x) { return erfcx(x); }, {-1, 1, 8, 30, 50, 1000}},
      {"owens_t by a", [](Tensor a) { return owens_t(0.8, a); }, {-1, 1}},
      {"betainc by a", [](Tensor a) { return betainc(a, 3, 0.3); }, {1}},
      {"betainc by b", [](Tensor b) { return betainc(2, b, 0.3); }, {1}},
      {"betaln", [](Tensor a) { return betaln(a, 2); }, {1, 2}},
      {"hyp2f1", [](Tensor x) { return hyp2f1(0.5, 1.5, 2.5, x); }, {0.5, 0.75, -1, -3}},
      {"hyp2f1 of a large c", [](Tensor x) { return hyp2f1(0.5, 1.5, 20, x); }, {0.75, -3}},
      {"hyp1f1 by a", [](Tensor a) { return hyp1f1(a, 1.5, 0.7); }, {-2, -1, 1.5}},
      {"hyp1f1 by a, left", [](Tensor a) { return hyp1f1(a, 1.5, -5); }, {-2, -1, 1.5}},
      {"hyp1f1 by b", [](Tensor b) { return hyp1f1(1.5, b, 4); }, {1.5}},
      {"wofz", [](Tensor y) { return imag(wofz(complex(y * 0 + 0.5, y))); }, {30, 100}},
      {"exprel", [](Tensor x) { return exprel(x); }, {-0.5, 0.5}},
      {"boxcox", [](Tensor l) { return boxcox(std::numbers::e, l); }, {-0.5, 0.5}},
      {"poch by x", [](Tensor x) { return poch(x, 2.5); }, {-1, -2}},
      {"poch by x of a whole m", [](Tensor x) { return poch(x, 2); }, {-1, -2}},
      {"bessel_jn", [](Tensor x) { return sum(bessel_jn(x, 3)); }, {-25, 25}},
  };
}

TEST(SpecialDerivatives, EqualDifferencesAtThresholds) {
  for (const auto& [name, fn, thresholds] : all_thresholds()) {
    std::vector<double> points;
    for (double t : thresholds) points.insert(points.end(), {t, t * (1 - 1e-3), t * (1 + 1e-3)});
    const std::vector<double> slopes = values_at(grad(fn), points);
    const std::vector<double> expected = differences(fn, points);
    for (size_t i = 0; i < points.size(); ++i)
      EXPECT_NEAR(slopes[i], expected[i], 1e-6 * std::abs(expected[i])) << name << " " << points[i];
  }
}

struct Point {
  const char* name;
  Function fn;
  double x, expected;
};

// Against mpmath and closed forms.
std::vector<Point> all_points() {
  const double bell = std::exp(-0.25);
  return {
      {"spence", [](Tensor x) { return spence(x); }, 1, -1},
      {"hyp2f1", [](Tensor x) { return hyp2f1(0.5, 1.5, 2.5, x); }, 0, 0.3},
      {"hyp1f1 by a", [](Tensor a) { return hyp1f1(a, 1.5, 0.7); }, 0, 0.54184097154},
      {"wofz", [](Tensor y) { return imag(wofz(complex(y * 0 + 0.5, y))); }, 0, -bell},
      {"wofz at 0", [](Tensor x) { return imag(wofz(complex(x, x * 0))); }, 0,
       2 / std::sqrt(std::numbers::pi)},
      {"owens_t by a", [](Tensor a) { return owens_t(0.8, a); }, 0,
       std::exp(-0.32) / (2 * std::numbers::pi)},
      {"poch by x", [](Tensor x) { return poch(x, 2.5); }, 0, std::tgamma(2.5)},
      {"poch by x of a whole m", [](Tensor x) { return poch(x, 2); }, 0, 1},
      {"poch by m", [](Tensor m) { return poch(1, m); }, 0, -std::numbers::egamma},
      {"comb by n", [](Tensor n) { return comb(n, 2); }, 5, 4.5},
      {"exprel", [](Tensor x) { return exprel(x); }, 0, 0.5},
      {"exprel near 0", [](Tensor x) { return exprel(x); }, 1e-12, 0.5},
      {"boxcox", [](Tensor l) { return boxcox(3, l); }, 0, std::pow(std::log(3), 2) / 2},
      {"boxcox1p", [](Tensor l) { return boxcox1p(3, l); }, 0, std::pow(std::log(4), 2) / 2},
      {"loggamma", [](Tensor y) { return imag(loggamma(complex(y * 0 + 1, y))); }, 0,
       -std::numbers::egamma},
  };
}

TEST(SpecialDerivatives, PointsThatAreLeftOut) {
  for (const auto& [name, fn, x, expected] : all_points())
    EXPECT_NEAR(slope_of(fn, x), expected, 1e-9 * std::abs(expected)) << name << " at " << x;
}

// Of two equal operands each keeps its own slope.
TEST(SpecialDerivatives, SecondOrder) {
  const Function beta = grad([](Tensor a) { return betaln(a, 2); });
  EXPECT_NEAR(slope_of(beta, 2), difference(beta, 2), 1e-6);
  const Function real_part = grad([](Tensor x) { return real(loggamma(complex(x, x * 0 + 0.5))); });
  EXPECT_NEAR(slope_of(real_part, 0.5), difference(real_part, 0.5), 1e-6);
  for (double a : {0.4, 2.0, 6.5}) {
    for (double x : {0.3, 2.1, 9.0}) {
      const auto by_a = [&](Tensor v) { return gammainc(v, x); };
      const Function once = grad(by_a), twice = grad(once);
      EXPECT_NEAR(slope_of(once, a), difference(once, a), 1e-8) << a << " " << x;
      EXPECT_NEAR(slope_of(twice, a), difference(twice, a), 1e-7) << a << " " << x;
      const Function mixed = [&](Tensor v) { return igamma_grad_a(a, v); };
      EXPECT_NEAR(slope_of(mixed, x), difference(mixed, x), 1e-8) << a << " " << x;
    }
  }
  const Function length = grad([](Tensor x) { return hypot(x, 1); });
  EXPECT_NEAR(slope_of(length, 1), 1 / std::sqrt(8), 1e-12);
  EXPECT_NEAR(slope_of(length, -1), 1 / std::sqrt(8), 1e-12);
}

Function bessel_of_order(int order) {
  return [order](Tensor x) { return bessel_jn(x, 4)[order]; };
}

// By the names of the table.
std::map<std::string, Function> functions_of_table() {
  return {
      {"asin", [](Tensor x) { return asin(x); }},   {"acos", [](Tensor x) { return acos(x); }},
      {"atanh", [](Tensor x) { return atanh(x); }}, {"asinh", [](Tensor x) { return asinh(x); }},
      {"acosh", [](Tensor x) { return acosh(x); }}, {"tanh", [](Tensor x) { return tanh(x); }},
      {"i0", [](Tensor x) { return i0(x); }},       {"bessel_jn 0", bessel_of_order(0)},
      {"bessel_jn 1", bessel_of_order(1)},          {"bessel_jn 2", bessel_of_order(2)},
      {"bessel_jn 3", bessel_of_order(3)},
  };
}

struct Column {
  std::vector<double> x, first, second;
};

std::map<std::string, Column> read_table() {
  std::map<std::string, Column> all;
  std::ifstream in("tests/special/derivatives.txt");
  EXPECT_TRUE(in) << "cannot read the table of derivatives; run from the project's root";
  const auto number = [](const std::string& text) { return std::strtod(text.c_str(), nullptr); };
  for (std::string name, x, first, second;
       std::getline(in, name, ';') && std::getline(in, x, ';') && std::getline(in, first, ';') &&
       std::getline(in, second);) {
    Column& column = all[name];
    column.x.push_back(number(x));
    column.first.push_back(number(first));
    column.second.push_back(number(second));
  }
  return all;
}

// Where the table says 0, results are 0 or subnormal.
TEST(SpecialDerivatives, EqualThoseOfTheTable) {
  const std::map<std::string, Column> table = read_table();
  const std::map<std::string, Function> functions = functions_of_table();
  EXPECT_EQ(table.size(), functions.size());
  for (const auto& [name, column] : table) {
    const Function slope = grad(functions.at(name));
    const std::vector<double> first = values_at(slope, column.x);
    const std::vector<double> second = values_at(grad(slope), column.x);
    for (size_t i = 0; i < first.size(); ++i) {
      EXPECT_NEAR(first[i], column.first[i], 5e-15 * std::abs(column.first[i]) + 1e-310)
          << name << "' at " << column.x[i];
      EXPECT_NEAR(second[i], column.second[i], 5e-15 * std::abs(column.second[i]) + 1e-310)
          << name << "'' at " << column.x[i];
    }
  }
}

// The quotient of the two, or its square, is out of range.
TEST(SpecialDerivatives, OfTinyProbabilities) {
  for (const double p : {1e-3, 1e-10, 1e-17, 1e-300}) {
    const Tensor tiny = scalar<double>(p);
    for (const double q : {1.0, 0.5, 1e-12, 1e-300, 1e300}) {
      const double log_ratio = std::log(p) - std::log(q);
      const auto entropy = [](Tensor a, Tensor b) { return rel_entr(a, b); };
      const auto [by_p, by_q] = grad(entropy, argnums<0, 1>)(tiny, scalar<double>(q));
      EXPECT_NEAR(by_p.item<double>(), log_ratio + 1, 1e-12 * std::abs(log_ratio)) << p;
      EXPECT_NEAR(by_q.item<double>(), -p / q, 1e-12 * p / q) << p;
      const Tensor of_kl = grad([&](Tensor a) { return kl_div(a, q); })(tiny);
      EXPECT_NEAR(of_kl.item<double>(), log_ratio, 1e-12 * std::abs(log_ratio) + 1e-12) << p;
    }
  }
}

TEST(SpecialDerivatives, OfEntropiesOfTinyFloats) {
  const auto entropy = [](Tensor q) { return rel_entr(0.5F, q); };
  EXPECT_NEAR(grad(entropy)(scalar(1e-20F)).item<float>(), -5e19, 1e14);
}

TEST(SpecialDerivatives, OfExprelAsFarAsItGoes) {
  const auto slope = grad([](Tensor x) { return exprel(x); });
  EXPECT_NEAR(slope(scalar(93.0F)).item<float>(), 2.607e38, 1e35);
  EXPECT_NEAR(slope(scalar(716.0)).item<double>(), 1.2569819458368153e308, 1e295);
  EXPECT_EQ(slope(scalar(double{INFINITY})).item<double>(), INFINITY);
  EXPECT_NEAR(slope(scalar(-1e6)).item<double>(), 1e-12, 1e-27);
  EXPECT_NEAR(slope(scalar(0.0)).item<double>(), 0.5, 1e-16);
  for (const double x : {-0.5, 0.4999, 0.5, 3.0}) {
    const double expected = (std::exp(x) - std::expm1(x) / x) / x;
    EXPECT_NEAR(slope(scalar(x)).item<double>(), expected, 1e-14 * expected) << x;
    EXPECT_NEAR(slope(scalar(static_cast<float>(x))).item<float>(), expected, 1e-6 * expected) << x;
  }
}

// By m it is psi(x + m) poch; by x that of x (x + 1).
TEST(SpecialDerivatives, OfPochOfLargeNumbers) {
  for (const double m : {1e-12, 1e-6, 2.0}) {
    for (const double x : {9.0, 20.0, 100.0}) {
      const auto by_m = grad([&](Tensor m) { return poch(x, m); });
      const double expected =
          digamma(scalar(x + m)).item<double>() * poch(scalar(x), m).item<double>();
      EXPECT_NEAR(by_m(scalar(m)).item<double>(), expected, 1e-12 * expected) << x << " " << m;
      EXPECT_NEAR(by_m(scalar(static_cast<float>(m))).item<float>(), expected, 1e-5 * expected);
    }
  }
  for (const double x : {33.0, 100.0, 1e10}) {
    const auto by_x = grad([](Tensor x) { return poch(x, 2.0); });
    EXPECT_NEAR(by_x(scalar(x)).item<double>(), 2 * x + 1, 1e-11 * x) << x;
  }
}

// It is gamma digamma.
TEST(SpecialDerivatives, OfGammaNearTheEndOfTheRange) {
  const auto value = [](Tensor x) { return gamma(x); };
  for (const double x : {5.0, 34.0, 170.0, 171.0}) {
    const double expected = std::tgamma(x) * digamma(scalar<double>(x)).item<double>();
    EXPECT_NEAR(grad(value)(scalar<double>(x)).item<double>(), expected, 1e-11 * expected) << x;
  }
  EXPECT_NEAR(grad(value)(scalar(34.0f)).item<float>(), 3.049e37, 1e35);
  EXPECT_EQ(grad(value)(scalar(60.0f)).item<float>(), INFINITY);
}

TEST(SpecialDerivatives, OfLogitAtItsEnds) {
  const auto slope = grad([](Tensor x) { return logit(x); });
  EXPECT_EQ(slope(scalar<double>(0)).item<double>(), INFINITY);
  EXPECT_EQ(slope(scalar<double>(1)).item<double>(), INFINITY);
  EXPECT_EQ(slope(scalar<double>(0.25)).item<double>(), 1 / (0.25 * 0.75));
}

TEST(SpecialDerivatives, ErfcxOfFloats) {
  const Tensor slope = grad([](Tensor x) { return erfcx(x); })(scalar<float>(40));
  EXPECT_NEAR(slope.item<float>(), -0.000352287, 1e-8);
}

TEST(SpecialDerivatives, OfAnInfiniteExpiAreInfinite) {
  const auto slope = grad([](Tensor x) { return expi(x); });
  for (const double x : {717.0, 800.0, 1e5}) {
    EXPECT_EQ(slope(scalar<double>(x)).item<double>(), INFINITY) << x;
    EXPECT_EQ(expi(scalar<double>(x)).item<double>(), INFINITY) << x;
  }
  EXPECT_EQ(slope(scalar<float>(200)).item<float>(), INFINITY);
  // e^x / x
  EXPECT_NEAR(slope(scalar<double>(700)).item<double>() / (std::exp(700.0) / 700), 1, 1e-12);
  EXPECT_TRUE(std::isfinite(expi(scalar<double>(716.3554)).item<double>()));
  EXPECT_TRUE(std::isfinite(expi(scalar<float>(93.2471F)).item<float>()));
}

}  // namespace
}  // namespace heddle::special
