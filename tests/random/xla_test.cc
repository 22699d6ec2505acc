// What jax.random draws on real XLA, against the same draws of ours on it: the same compiler rounds
// logarithms and the like alike, so that floats are equal in every bit where the graph is JAX's.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "heddle/heddle.h"
#include "heddle/pjrt/xla_cpu_library_test.h"
#include "heddle/runtime/registry.h"
#include "heddle/tests/random/samplers.h"

namespace heddle::random_test {
namespace {

// XLA rounds each operation of f16 where the processor has AVX512-FP16, and computes some of them
// in f32 elsewhere. Then JAX draws other numbers for four rows, which are in a table of their own.
constexpr const char* kRows = "tests/random/reference_xla.txt";
constexpr const char* kRowsWithoutHalf = "tests/random/reference_xla_without_fp16.txt";

bool has_half_arithmetic() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512fp16");
#else
  return false;
#endif
}

// Greatest distances in ulps where XLA compiles another program than ours: JAX draws each gamma
// number in a loop of its own on a CPU, and the sums of maxwell stand in another fusion.
double allowed_ulps(const Row& row) {
  static const std::map<std::string, double> kAllowed = {
      {"gamma f32", 0.25},
      {"loggamma f32", 1.5},
      {"beta f32", 0.25},
      {"maxwell f32", 1},
      {"maxwell f16", 1},
      {"double_sided_maxwell f32", 1},
      {"double_sided_maxwell f16", 1},
  };
  auto found = kAllowed.find(base::cat(row.function, " ", to_string(row.dtype)));
  return found == kAllowed.end() ? 0 : found->second;
}

// As the rows were drawn, under jax.jit: the parameters are constants, by whose inverses XLA
// multiplies. A call outside of a trace gives it operands, as one of JAX outside of jit does.
Literal sampled_by_program(const std::map<std::string, Sampler>& samplers, const Row& row) {
  const Tensor key = random::key(row.seed);
  const auto draw = [&](const Tensor& key) { return samplers.at(row.function)(row, key); };
  return trace(draw, key).compile()(key).to_literal();
}

// The same of a call outside of a trace: these divide by a parameter.
double allowed_at_once(const Row& row) {
  const std::string name = base::cat(row.function, " ", to_string(row.dtype));
  if (name == "pareto f64" || name == "f f64") return 1;
  return name == "f f32" ? 3 : allowed_ulps(row);
}

TEST(RandomOnXla, FloatsHaveTheBitsOfJaxsOnIt) {
  if (xla_cpu_library().empty()) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
  const auto xla = pjrt::make_backend("xla-cpu", {.library = xla_cpu_library()}).value();
  const runtime::DefaultDevice scope(*xla->devices()[0]);
  int rows = 0;
  for (const auto* samplers : {&exact_samplers(), &rounded_samplers()}) {
    const auto others =
        has_half_arithmetic() ? std::vector<Row>() : rows_of(*samplers, kRowsWithoutHalf);
    for (const Row& drawn : rows_of(*samplers, kRows)) {
      ++rows;
      const auto other = std::ranges::find(others, describe(drawn), describe);
      const Row& row = other == others.end() ? drawn : *other;
      const double apart = distance(sampled_by_program(*samplers, row), row);
      EXPECT_LE(apart, allowed_ulps(row)) << describe(row);
      EXPECT_LE(distance(sampled(*samplers, row), row), allowed_at_once(row)) << describe(row);
    }
  }
  EXPECT_EQ(rows, 100);
}

}  // namespace
}  // namespace heddle::random_test
