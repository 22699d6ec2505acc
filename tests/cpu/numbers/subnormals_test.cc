// Backends that flush subnormal numbers, and those that keep them.
#include "heddle/base/system/subnormals.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "heddle/cpu/backend.h"
#include "heddle/heddle.h"
#include "heddle/hlo/text.h"
#include "heddle/runtime/spmd.h"
#include "heddle/runtime/transfer.h"

namespace heddle {
namespace {

constexpr float kTiny = 0x1p-140f;  // subnormal

hlo::Module half(const std::string& header, const std::string& size) {
  return hlo::parse_text("HloModule half" + header + " ENTRY main { x = f32[" + size +
                         "] parameter(0) c = f32[] constant(0.5) h = f32[" + size +
                         "] broadcast(c), dimensions={} ROOT y = f32[" + size +
                         "] multiply(x, h) }")
      .value();
}

Literal tiny(int64_t n) {
  return Literal::from<float>(Shape(f32, {n}), std::vector(static_cast<size_t>(n), kTiny));
}

using Make = std::function<std::unique_ptr<runtime::Backend>(bool asynchronous, bool flushes)>;

const std::pair<const char*, Make> kMakers[] = {
    {"cpu",
     [](bool asynchronous, bool flushes) {
       return cpu::make_cpu(
           {.asynchronous = asynchronous, .devices = 2, .flushes_subnormals = flushes});
     }},
    {"interpreter",
     [](bool asynchronous, bool flushes) {
       return interpreter::make_backend(
           {.asynchronous = asynchronous, .devices = 2, .flushes_subnormals = flushes});
     }},
};

// The last half of n tiny numbers.
float half_of(runtime::Backend& backend, int64_t n) {
  runtime::Device& device = *backend.devices()[0];
  const auto program = backend.compile(half("", std::to_string(n)), {}, device).value();
  const auto results = program->execute(std::vector{to_device(device, tiny(n), "test").value()});
  const Literal value = to_host(*results.value()[0], "test").value();
  return value.values<float>().back();
}

TEST(Subnormals, AreFlushedWhereTheBackendSaysSo) {
  for (const auto& [name, make] : kMakers) {
    for (const bool asynchronous : {false, true}) {
      SCOPED_TRACE(std::string(name) + (asynchronous ? ", asynchronous" : ""));
      const auto keeps = make(asynchronous, false), flushes = make(asynchronous, true);
      for (const int64_t n : {1, 5, 1 << 20}) {  // in the buffer itself, small, and with threads
        EXPECT_EQ(half_of(*keeps, n), kTiny / 2) << n;
        EXPECT_EQ(half_of(*flushes, n), 0.0f) << n;
      }
    }
  }
  volatile float x = kTiny;  // the caller's own numbers stay
  EXPECT_EQ(x * 0.5f, kTiny / 2);
}

// In a process of its own, since a setting holds from its first reading on.
TEST(Subnormals, AreFlushedWhereTheConfigurationSaysSo) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const auto make : {cpu::make_known, interpreter::make_known}) {
    const auto run = [&] {
      const bool is_set = configure({.flush_subnormals = true}).ok();
      const auto backend = make("").value();
      std::exit(is_set && half_of(*backend, 5) == 0.0f ? 0 : 1);
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
  }
}

TEST(Subnormals, AreFlushedByAllDevicesOfAGrid) {
  for (const auto& [name, make] : kMakers) {
    const auto backend = make(false, true);
    const runtime::DeviceGrid grid{
        .replicas = 2, .devices = {backend->devices()[0].get(), backend->devices()[1].get()}};
    const auto program = runtime::compile_spmd(half(", replica_count=2", "5"), {}, grid).value();
    runtime::DeviceBuffers arguments;
    for (runtime::Device* device : grid.devices)
      arguments.push_back({to_device(*device, tiny(5), "test").value()});
    const runtime::DeviceBuffers results = program->execute(arguments).value();
    for (const auto& each : results) {
      const Literal value = to_host(*each[0], "test").value();
      EXPECT_EQ(value.values<float>().back(), 0.0f) << name;
    }
  }
}

}  // namespace
}  // namespace heddle
