// The cost of the throttle: launches of 4 threads with a window of 32 beside launches without one,
// from the first call to the end of the last run. Each round has both, one after the other, so that
// other load on the machine hits both; it shows the least and the median of the rounds.
//
//   mock      a plugin that takes every launch at once; a run is a copy of 64 bytes, or takes 20 us
//   xla_cpu   real XLA, which itself takes 32 at most; skipped where it is not there
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "heddle/hlo/text.h"
#include "heddle/pjrt/mock/mock.h"
#include "heddle/pjrt/plugin.h"
#include "heddle/pjrt/xla_cpu_library_test.h"
#include "heddle/runtime/transfer.h"

namespace heddle {
namespace {

constexpr int kThreads = 4, kWindow = 32, kUnthrottled = 1 << 20;

struct Launched {
  runtime::Device& device;
  std::shared_ptr<runtime::Executable> program;
  runtime::BufferPtr argument;
};

Launched made(runtime::Backend& backend, int64_t elements, const char* body) {
  const Shape type(f32, {elements});
  const hlo::Module module =
      hlo::parse_text(base::cat("HloModule launched\nENTRY main {\n  x = ", type,
                                " parameter(0)\n  ROOT y = ", type, " ", body, "(x)\n}"))
          .value();
  runtime::Device& device = *backend.devices()[0];
  return {device, backend.compile(module, {}, device).value(),
          runtime::to_device(device, Literal(type)).value()};
}

double seconds_of(const Launched& what, int window, int launches) {
  what.device.throttle().set_limits({.launches = window});
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      const std::vector arguments = {what.argument};
      std::vector<runtime::BufferPtr> results(1);
      for (int i = 0; i < launches / kThreads; ++i) {
        if (!what.program->execute_into(arguments, results).ok()) std::abort();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  synchronize(what.device);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The rounds of a benchmark are its iterations.
void compare(benchmark::State& state, const Launched& what, int launches) {
  what.device.throttle().reset_peaks();
  std::vector<double> limited, unlimited;
  int peak = 0;
  for (auto _ : state) {
    const bool limited_first = limited.size() % 2 == 0;
    for (const bool limit : {limited_first, !limited_first}) {
      (limit ? limited : unlimited)
          .push_back(seconds_of(what, limit ? kWindow : kUnthrottled, launches));
      if (!limit) peak = std::max(peak, what.device.throttle().load().peak_launches);
    }
  }
  const auto least = [](std::vector<double>& seconds) {
    std::ranges::sort(seconds);
    return seconds.front();
  };
  const double least_limited = least(limited), least_unlimited = least(unlimited);
  const double middle_limited = limited[limited.size() / 2];
  const double middle_unlimited = unlimited[unlimited.size() / 2];
  const double microseconds = 1e6 / launches;
  state.counters["window_us_least"] = least_limited * microseconds;
  state.counters["window_us_median"] = middle_limited * microseconds;
  state.counters["none_us_least"] = least_unlimited * microseconds;
  state.counters["none_us_median"] = middle_unlimited * microseconds;
  state.counters["throughput_least"] = least_unlimited / least_limited;
  state.counters["throughput_median"] = middle_unlimited / middle_limited;
  state.counters["peak_unthrottled"] = peak;
}

#ifdef HEDDLE_PJRT_MOCK  // where the tests are built

pjrt::mock::Program copying(std::chrono::microseconds time) {
  pjrt::mock::Program program;
  program.results = {{.type = pjrt::abi::BufferType::kF32, .dims = {16}, .bytes = {}}};
  program.run = [time](const std::vector<const pjrt::mock::Array*>& arguments) {
    // A sleep would take longer than it says.
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
    }
    return std::vector<pjrt::mock::Array>{*arguments[0]};
  };
  return program;
}

void mock(benchmark::State& state) {
  void* library = dlopen(HEDDLE_PJRT_MOCK, RTLD_NOW | RTLD_LOCAL);
  auto& plugin = *reinterpret_cast<pjrt::mock::Plugin* (*)()>(dlsym(library, "heddle_pjrt_mock"))();
  const std::chrono::microseconds time(state.range(0));
  plugin.reset({.compile = [time](std::string_view, std::string_view) { return copying(time); },
                .asynchronous = true});
  const auto backend = pjrt::make_backend("mock", {.library = HEDDLE_PJRT_MOCK}).value();
  compare(state, made(*backend, 16, "negate"), state.range(0) == 0 ? 100000 : 10000);
}
BENCHMARK(mock)->ArgName("us_of_a_run")->Arg(0)->Arg(20)->Iterations(9)->UseRealTime();

#endif

void xla_cpu(benchmark::State& state) {
  if (xla_cpu_library().empty()) return state.SkipWithError("no plugin");
  static runtime::Backend& backend =
      *pjrt::make_backend("xla-cpu", {.library = xla_cpu_library()}).value().release();
  const int64_t elements = state.range(0);
  compare(state, made(backend, elements, "exponential"), elements > 1000 ? 4000 : 100000);
}
BENCHMARK(xla_cpu)->ArgName("elements")->Arg(16)->Arg(1 << 18)->Iterations(9)->UseRealTime();

}  // namespace
}  // namespace heddle
