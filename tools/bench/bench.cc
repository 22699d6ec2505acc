#include "heddle/tools/bench/bench.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <span>

#include "heddle/base/system/subnormals.h"
#include "heddle/base/text/json.h"

namespace heddle::tools {
namespace {

// Four significant digits, and no exponent.
std::string number(std::optional<double> x) {
  if (!x.has_value()) return "-";
  const int whole = *x > 0 ? static_cast<int>(std::floor(std::log10(*x))) + 1 : 4;
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", std::clamp(4 - whole, 0, 6), *x);
  return text;
}

template <class T>
std::string json_number(const std::optional<T>& x) {
  return x.has_value() ? base::cat(*x) : "null";
}

std::optional<double> divided(std::optional<double> x, double by) {
  if (x.has_value()) *x /= by;
  return x;
}

std::string json_line(const BenchProgram& program, const Measurement& found) {
  const auto steps = static_cast<double>(program.steps);
  return base::cat(
      "{\"program\": ", base::json_text(program.name),
      ", \"backend\": ", base::json_text(found.backend),
      ", \"unit_ns_min\": ", json_number(divided(found.call_ns_min, steps)),
      ", \"unit_ns_median\": ", json_number(divided(found.call_ns_median, steps)),
      ", \"compile_ms\": ", json_number(found.compile_ms),
      ", \"peak_bytes\": ", json_number(found.peak_bytes),
      ", \"agrees\": ", found.agrees ? "true" : "false",
      found.sensitive ? ", \"sensitive\": true" : "",
      found.error.empty() ? "" : base::cat(", \"error\": ", base::json_text(found.error)), "}\n");
}

// Time of the best other backend that agrees, divided by that of the first.
std::optional<double> ratio_of(const std::vector<Measurement>& found) {
  const auto counts = [](const Measurement& each) {
    return each.agrees && each.call_ns_min.has_value();
  };
  std::optional<double> best;
  for (const Measurement& other : std::span(found).subspan(1)) {
    if (counts(other) && other.call_ns_min < best.value_or(HUGE_VAL)) best = other.call_ns_min;
  }
  return counts(found.front()) ? divided(best, *found.front().call_ns_min) : std::nullopt;
}

class Report {
 public:
  explicit Report(const BenchCommand& command) : count_(command.programs.size()) {
    for (const std::string& backend : command.backends)
      backend_width_ = std::max(backend_width_, static_cast<int>(backend.size()));
  }

  Status open(const std::string& path) {
    if (path.empty()) return {};
    json_.open(path);
    return json_ ? Status()
                 : base::make_error(StatusCode::kUnavailable, path,
                                    ": cannot be written: ", std::strerror(errno));
  }

  void print_head(const std::string& first) {
    std::printf(
        "ms: of a call. ratio: least time of the best other backend that agrees / that of %s.\n"
        "agrees: floats are off by a share of the largest value of their output at most: f64 1e-9, "
        "f32 1e-4, f16 1e-2, others 5e-2.\n"
        "sensitive: by twice the change at most that arguments make when a twentieth of that share "
        "moves them.\n",
        first.c_str());
    row("program", "backend",
        {"ms min", "ms median", "ns a unit", "ratio", "compile ms", "peak MB"}, "agrees");
  }

  void start(const std::string& path) {
    ++started_;
    if (terminal_) std::fprintf(stderr, "\r\033[K%zu of %zu: %s", started_, count_, path.c_str());
  }

  void add(const BenchProgram& program, const std::vector<Measurement>& found) {
    clear();
    const std::optional<double> ratio = found.size() > 1 ? ratio_of(found) : std::nullopt;
    for (size_t i = 0; i < found.size(); ++i) {
      const Measurement& each = found[i];
      const auto unit_ns = divided(each.call_ns_min, static_cast<double>(program.steps));
      const std::string unit = unit_ns.has_value() ? "/" + program.unit : "";
      std::optional<double> peak;
      if (each.peak_bytes.has_value()) peak = static_cast<double>(*each.peak_bytes) / 1e6;
      row(program.name, each.backend,
          {number(divided(each.call_ns_min, 1e6)), number(divided(each.call_ns_median, 1e6)),
           number(unit_ns) + unit, i == 0 ? number(ratio) : "", number(each.compile_ms),
           number(peak)},
          each.error.empty() ? "yes" : (each.sensitive ? "sensitive: " : "no: ") + each.error);
      json_ << json_line(program, each);
      all_agree_ &= each.agrees;
    }
    json_.flush();
    if (ratio.has_value()) ratios_.push_back({*ratio, program.name});
  }

  // Adds a program that cannot be read.
  void add_error(const Status& status) {
    clear();
    all_agree_ = false;
    std::printf("%s\n", base::message_of(status).c_str());
  }

  StatusOr<int> finish(const std::string& path) {
    clear();
    if (!ratios_.empty()) {
      double logs = 0;
      for (const auto& [ratio, name] : ratios_) logs += std::log(ratio);
      const auto& [least, least_name] = *std::ranges::min_element(ratios_);
      std::printf("ratio of %zu programs: geometric mean %s, least %s (%s)\n", ratios_.size(),
                  number(std::exp(logs / static_cast<double>(ratios_.size()))).c_str(),
                  number(least).c_str(), least_name.c_str());
    }
    if (!path.empty() && !json_)
      return base::make_error(StatusCode::kUnavailable, path, ": cannot be written");
    return all_agree_ ? 0 : 1;
  }

 private:
  void row(const std::string& program, const std::string& backend,
           const std::array<std::string, 6>& columns, const std::string& agrees) const {
    constexpr int kWidths[] = {10, 10, 20, 7, 11, 9};
    std::printf("%-24s  %-*s", program.c_str(), backend_width_, backend.c_str());
    for (size_t i = 0; i < columns.size(); ++i) std::printf(" %*s", kWidths[i], columns[i].c_str());
    std::printf("  %s\n", agrees.c_str());
    std::fflush(stdout);
  }
  void clear() const {
    if (terminal_) std::fprintf(stderr, "\r\033[K");
  }

  size_t count_;
  size_t started_ = 0;
  int backend_width_ = 7;
  bool terminal_ = isatty(2) == 1;
  bool all_agree_ = true;
  std::ofstream json_;
  std::vector<std::pair<double, std::string>> ratios_;  // and the program
};

// XLA's CPU plugin flushes subnormal numbers, whatever it is told.
bool is_xla_cpu(const BenchBackend& backend) {
  return backend.name.starts_with("pjrt:") && backend.device->kind() == "cpu";
}

}  // namespace

StatusOr<int> run_bench(const BenchCommand& command) {
  std::vector<BenchBackend> backends;
  for (const std::string& name : command.backends) {
    HEDDLE_ASSIGN_OR_RETURN(backends.emplace_back(), open_bench_backend(name));
  }
  Report report(command);
  HEDDLE_RETURN_IF_ERROR(report.open(command.json));
  report.print_head(command.backends.front());
  const bool flushes = !command.keeps_subnormals && std::ranges::any_of(backends, is_xla_cpu);
  if (flushes) {
    std::printf(
        "Subnormal numbers count as zero here, as they always do in XLA's CPU backend; with "
        "--keep-subnormals the other backends compute as they are configured.\n");
  }
  for (const std::string& path : command.programs) {
    report.start(path);
    const StatusOr<BenchProgram> program = load_bench_program(path);
    if (program.ok()) {
      const FlushSubnormals as_xla_does(flushes);
      const std::vector<Measurement> found = measure(*program, backends, command.times);
      if (command.times.stop.stop_requested())
        return base::make_error(StatusCode::kCancelled, "bench: interrupted at ", path);
      report.add(*program, found);
    } else {
      report.add_error(program.status());
    }
  }
  return report.finish(command.json);
}

}  // namespace heddle::tools
