// The reference table on real XLA, which made it: where a program is JAX's own graph the bits are
// JAX's own, floats too.
#include <gtest/gtest.h>

#include "heddle/heddle.h"
#include "heddle/runtime/registry.h"
#include "heddle/tests/plugins/xla_cpu.h"
#include "heddle/tests/random/samplers.h"

namespace heddle::random_test {
namespace {

TEST(RandomOnXla, BitsAreJaxs) {
  if (xla_cpu_library().empty()) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
  auto xla = pjrt::make_backend("xla-cpu", {.library = xla_cpu_library()}).value();
  std::map<std::string, std::pair<int, int>> counts;
  const runtime::DefaultDevice scope(*xla->devices()[0]);
  for (const auto* samplers : {&exact_samplers(), &rounded_samplers()}) {
    for (const Row& row : rows_of(*samplers)) {
      auto& [equal, all] = counts[cat(row.function, "_", to_string(row.dtype))];
      ++all;
      try {
        equal += bits_of(sampled(*samplers, row)) == row.bits;
      } catch (const Error& e) {
        std::cout << describe(row) << e.what() << "\n";
      }
    }
  }
  for (const auto& [what, count] : counts)
    if (count.first != count.second)
      std::cout << what << " " << count.first << " of " << count.second << "\n";
}

}  // namespace
}  // namespace heddle::random_test
