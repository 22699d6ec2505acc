// `heddle bench` beside XLA's CPU backend.
#include "heddle/tools/bench/bench.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "heddle/pjrt/plugin.h"
#include "heddle/pjrt/xla_cpu_library_test.h"

namespace heddle {
namespace {

// 1e38 times 1e-42, a subnormal f32: 0 in XLA, and 1e-4 where a backend keeps the number.
TEST(BenchBesideXla, FlushesSubnormalNumbers) {
  if (xla_cpu_library().empty()) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
  ASSERT_TRUE(pjrt::register_plugin("bench-on-xla", {.library = xla_cpu_library()}).ok());
  const std::filesystem::path folder = testing::TempDir() + "/bench_beside_xla";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "module.hlo.txt")
      << "HloModule large ENTRY e { x = f32[64] parameter(0) c = f32[] constant(1e38)\n"
         "  h = f32[64] broadcast(c), dimensions={} ROOT y = f32[64] multiply(x, h) }";
  std::ofstream(folder / "meta.json")
      << R"({"name": "large", "steps": 1, "unit": "call", "inputs": [)"
         R"({"shape": [64], "dtype": "float32", "generator": {"gen": "const", "value": 1e-42}}]})";
  tools::BenchCommand command{.programs = {folder.string()},
                              .backends = {"cpu", "pjrt:bench-on-xla"},
                              .times = {.seconds = 1e-3, .rounds = 2}};
  EXPECT_EQ(tools::run_bench(command).value(), 0);
  command.keeps_subnormals = true;
  EXPECT_NE(tools::run_bench(command).value(), 0);
}

}  // namespace
}  // namespace heddle
