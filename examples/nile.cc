// The flow of the Nile at Aswan, 1871-1970, through a local-level Kalman filter written as one
// scan. Newton's method on their logarithms finds the two variances of greatest likelihood. The
// derivatives go through the scan. Published optimum: 15100 and 1468, log-likelihood -632.54 (J.
// Durbin and S. J. Koopman, Time Series Analysis by State Space Methods, 2001, section 2.10).
//
//   nile [OUTPUT_DIR]     writes nile.svg there: data, filtered level, and a band of
//                         two standard deviations
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "heddle/base/metrics/counters.h"
#include "heddle/cpu/backend.h"
#include "heddle/examples/newton.h"
#include "heddle/examples/plot.h"
#include "heddle/scan/scan.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/run/program.h"

using namespace heddle;

namespace {

// Annual flow in 10^8 m^3 (R's `datasets::Nile`).
const std::vector<double> kFlow = {
    1120, 1160, 963, 1210, 1160, 1160, 813,  1230, 1370, 1140, 995,  935,  1110, 994,  1020,
    960,  1180, 799, 958,  1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774,  840,
    874,  694,  940, 833,  701,  916,  692,  1020, 1050, 969,  831,  726,  456,  824,  702,
    1120, 1100, 832, 764,  821,  768,  845,  864,  862,  698,  845,  744,  796,  1040, 759,
    781,  865,  845, 944,  984,  897,  822,  1010, 771,  676,  649,  846,  812,  742,  801,
    1040, 860,  874, 848,  890,  744,  749,  838,  1050, 918,  986,  797,  923,  975,  815,
    1020, 906,  901, 1170, 912,  746,  919,  718,  714,  740};

struct Variances {
  Tensor noise;  // f64[], of an observation around the level
  Tensor level;  // f64[], of the level's yearly change
  static constexpr auto kFields =
      fields(field("noise", &Variances::noise), field("level", &Variances::level));
};

struct State {
  Tensor mean;            // f64[], of the level given the flows so far
  Tensor variance;        // f64[]
  Tensor log_likelihood;  // f64[], of the flows so far
  static constexpr auto kFields =
      fields(field("mean", &State::mean), field("variance", &State::variance),
             field("log_likelihood", &State::log_likelihood));
};

struct Filtered {
  Tensor log_likelihood;  // f64[]
  Tensor mean;            // f64[years - 1]
  Tensor variance;        // f64[years - 1]
  static constexpr auto kFields =
      fields(field("log_likelihood", &Filtered::log_likelihood), field("mean", &Filtered::mean),
             field("variance", &Filtered::variance));
};

// Diffuse start: the first flow is the first level, and counts for no likelihood. flow: f64[years].
Filtered kalman_filter(const Variances& v, Tensor flow) {
  auto step = [&](State s, Tensor y) {
    Tensor predicted = s.variance + v.level;
    Tensor total = predicted + v.noise;
    Tensor surprise = y - s.mean;
    Tensor gain = predicted / total;
    State next{
        s.mean + gain * surprise, predicted * (1.0 - gain),
        s.log_likelihood - 0.5 * (std::log(2 * M_PI) + log(total) + square(surprise) / total)};
    return std::pair(next, std::pair(next.mean, next.variance));
  };
  State first{take_at(flow, {0}), v.noise, zeros({}, f64)};
  auto [last, path] = scan(step, first, slice_in_dim(flow, 1, flow.dim(0)));
  return {last.log_likelihood, path.first, path.second};
}

Variances variances(double noise, double level) {
  return {scalar<double>(noise), scalar<double>(level)};
}

void write_plot(const std::string& path, const Filtered& result) {
  std::vector<double> mean = result.mean.to_vector<double>();
  std::vector<double> variance = result.variance.to_vector<double>();
  Plot plot("Nile at Aswan: annual flow and filtered level", "year", "flow, 10^8 m^3");
  std::vector<double> years, low, high, all_years;
  for (size_t i = 0; i < kFlow.size(); ++i) all_years.push_back(1871.0 + static_cast<double>(i));
  for (size_t i = 0; i < mean.size(); ++i) {
    years.push_back(1872.0 + static_cast<double>(i));
    low.push_back(mean[i] - 2 * std::sqrt(variance[i]));
    high.push_back(mean[i] + 2 * std::sqrt(variance[i]));
  }
  plot.band(years, low, high, "level, two standard deviations");
  plot.points(all_years, kFlow, "flow");
  plot.line(years, mean, "filtered level");
  plot.write(path);
}

}  // namespace

int main(int argc, char** argv) {
  Tensor flow = array(kFlow);
  Program program = trace(kalman_filter, variances(1e4, 1e3), flow);
  std::printf(
      "kalman_filter ran once, on placeholders. Heddle wrote down what it did: the step of the "
      "scan, "
      "and the\nprogram that calls it. No byte has moved, and nothing is compiled yet.\n\n%s\n",
      program.short_text().c_str());

  const Minimum best = minimize(
      [flow](Tensor logs) {
        return -kalman_filter({exp(logs[0]), exp(logs[1])}, flow).log_likelihood;
      },
      log(array<double>({1e4, 1e3})));
  const std::vector<double> fit = exp(best.point).to_vector<double>();
  Variances optimum = variances(fit[0], fit[1]);
  Filtered result = program.call<Filtered>(optimum, flow);
  double log_likelihood = result.log_likelihood.item<double>();
  std::printf("                     fitted      published\n");
  std::printf("noise variance   %10.1f          15100\n", fit[0]);
  std::printf("level variance   %10.1f           1468\n", fit[1]);
  std::printf("log-likelihood   %10.3f        -632.54\n", log_likelihood);
  std::printf("(%d evaluations of the likelihood with its derivatives, through the scan)\n\n",
              best.evaluations);

  Counters before = counters();
  Filtered again = program.call<Filtered>(optimum, flow);
  Counters done = counters() - before;
  std::printf(
      "A repeated call: traces %lld, lowerings %lld, compiles %lld, uploads %lld, upload bytes "
      "%lld, downloads %lld\n",
      static_cast<long long>(done.traces), static_cast<long long>(done.lowerings),
      static_cast<long long>(done.compiles), static_cast<long long>(done.uploads),
      static_cast<long long>(done.upload_bytes), static_cast<long long>(done.downloads));
  if (argc > 1) {
    std::string path = std::string(argv[1]) + "/nile.svg";
    write_plot(path, result);
    std::printf("Wrote %s\n", path.c_str());
  }
  bool right = std::abs(fit[0] - 15100) < 20 && std::abs(fit[1] - 1468) < 10 &&
               std::abs(log_likelihood + 632.54) < 0.01;
  return right && done.traces + done.lowerings + done.compiles + done.uploads + done.downloads == 0
             ? 0
             : 1;
}
