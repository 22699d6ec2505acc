// Hares and lynxes: the parameters of a predator-prey equation, fitted to the pelts that the
// Hudson's Bay Company took from 1900 to 1920 (C. Hewitt, The Conservation of the Wild Life of
// Canada, 1921). The equation is solved by a Runge-Kutta scan; gradient and second derivatives of
// the likelihood go through it.
//
//   d hare / dt = (alpha - beta lynx) hare,   d lynx / dt = (-gamma + delta hare) lynx
//
// Counts have log-normal errors. Parameters of greatest likelihood: 0.540, 0.0272, 0.797, 0.0237.
//
//   lotka_volterra [OUTPUT_DIR]     writes lotka_volterra.svg there
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "heddle/examples/newton.h"
#include "heddle/examples/plot.h"
#include "heddle/heddle.h"

using namespace heddle;

namespace {

// Thousands of pelts, 1900 to 1920.
const std::vector<double> kHares = {30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1,
                                    21.4, 22.0, 25.4, 27.1, 40.3, 57.0, 76.6,
                                    52.3, 19.5, 11.2, 7.6,  14.6, 16.2, 24.7};
const std::vector<double> kLynxes = {4.0, 6.1,  9.8,  35.2, 59.4, 41.7, 19.0, 13.0, 8.3,  9.1, 7.4,
                                     8.0, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7,  10.1, 8.6};
constexpr int64_t kStepsAYear = 20;

// [solve]
struct Animals {
  Tensor hares, lynxes;  // f64[]
  static constexpr auto kFields =
      fields(field("hares", &Animals::hares), field("lynxes", &Animals::lynxes));
};

Animals along(Animals from, double time, Animals slope) {
  return {from.hares + time * slope.hares, from.lynxes + time * slope.lynxes};
}

// The classical method of fourth order, and the numbers at the end of each year, the first too.
// rates: f64[4], alpha to delta.
Animals solve(Tensor rates, Animals start, int64_t years) {
  const auto slope = [&](Animals at) {
    return Animals{(rates[0] - rates[1] * at.lynxes) * at.hares,
                   (rates[3] * at.hares - rates[2]) * at.lynxes};
  };
  const auto step = [&](Tensor, Animals at) {
    const double h = 1.0 / kStepsAYear;
    const Animals a = slope(at), b = slope(along(at, h / 2, a)), c = slope(along(at, h / 2, b)),
                  d = slope(along(at, h, c));
    return Animals{at.hares + h / 6 * (a.hares + 2 * b.hares + 2 * c.hares + d.hares),
                   at.lynxes + h / 6 * (a.lynxes + 2 * b.lynxes + 2 * c.lynxes + d.lynxes)};
  };
  const auto year = [&](Animals at, None) {
    return std::pair(fori_loop(0, kStepsAYear, step, at), at);
  };
  return scan(year, start, None{}, {.length = years}).second;
}
// [/solve]

// The parameters: logarithms of the four rates, of the two numbers of 1900 and of the two errors.
Animals path(Tensor logs) {
  const Tensor p = exp(logs);
  return solve(p[Slice{0, 4}], {p[4], p[5]}, static_cast<int64_t>(kHares.size()));
}

// -log p, of logarithms that are normally distributed around the path's.
Tensor surprise(Tensor seen, Tensor expected, Tensor log_error) {
  const Tensor distance = (log(seen) - log(expected)) / exp(log_error);
  return sum(0.5 * square(distance) + log_error + 0.5 * std::log(2 * M_PI));
}

void write_plot(const std::string& file, const Animals& fitted) {
  std::vector<double> years;
  for (size_t i = 0; i < kHares.size(); ++i) years.push_back(1900.0 + static_cast<double>(i));
  Plot plot("Pelts of the Hudson's Bay Company and a fitted predator-prey equation", "year",
            "thousands of pelts");
  plot.points(years, kHares, "hares");
  plot.line(years, fitted.hares.to_vector<double>(), "hares, fitted");
  plot.points(years, kLynxes, "lynxes");
  plot.line(years, fitted.lynxes.to_vector<double>(), "lynxes, fitted");
  plot.write(file);
}

}  // namespace

int main(int argc, char** argv) {
  const Tensor hares = array(kHares), lynxes = array(kLynxes);
  const Minimum best = minimize(
      [&](Tensor logs) {
        const Animals expected = path(logs);
        return surprise(hares, expected.hares, logs[6]) +
               surprise(lynxes, expected.lynxes, logs[7]);
      },
      log(array<double>({0.5, 0.03, 0.8, 0.02, 30, 4, 0.5, 0.5})));
  const std::vector<double> fit = exp(best.point).to_vector<double>();
  const char* const names[] = {"alpha",          "beta",           "gamma",
                               "delta",          "hares of 1900",  "lynxes of 1900",
                               "error of hares", "error of lynxes"};
  const double reference[] = {0.540, 0.0272, 0.797, 0.0237, 34.6, 5.84, 0.218, 0.220};
  bool right = true;
  std::printf("                     fitted   reference\n");
  for (size_t i = 0; i < fit.size(); ++i) {
    std::printf("%-16s %10.4f  %10.4f\n", names[i], fit[i], reference[i]);
    right &= std::abs(fit[i] - reference[i]) < 0.005 * reference[i];
  }
  std::printf("(%d evaluations of the likelihood with gradient and second derivatives)\n",
              best.evaluations);
  if (argc > 1) {
    const std::string file = std::string(argv[1]) + "/lotka_volterra.svg";
    write_plot(file, path(best.point));
    std::printf("Wrote %s\n", file.c_str());
  }
  return right ? 0 : 1;
}
