// Sums of many f32, which are sums of blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

std::string sum_of(const std::string& from, const std::string& kept, const std::string& dims) {
  return cat(
      "HloModule m\nf { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] "
      "add(a, b) }\nENTRY main {\n x = f32",
      from,
      " parameter(0)\n z = f32[] constant(0)\n"
      " ROOT r = f32",
      kept, " reduce(x, z), dimensions={", dims, "}, to_apply=f\n}\n");
}

std::string product_of(const std::string& type, const std::string& lhs, const std::string& rhs,
                       const std::string& result, int lhs_dim, int rhs_dim) {
  return cat("HloModule m\nENTRY main {\n x = ", type, lhs, " parameter(0)\n y = ", type, rhs,
             " parameter(1)\n ROOT r = f32", result, " dot(x, y), lhs_contracting_dims={", lhs_dim,
             "}, rhs_contracting_dims={", rhs_dim, "}\n}\n");
}

// Sums of whole numbers are exact in any order: blocks, what is left of them, and parts of threads.
TEST(CpuLongSums, HaveAllNumbersOnce) {
  for (const int size : {2047, 2048, 2049, 8191, 40003}) {
    expect_as_evaluated(sum_of(cat("[", size, "]"), "[]", "0"));
    expect_as_evaluated(sum_of(cat("[", size, ",3]"), "[3]", "0"));
    expect_as_evaluated(sum_of(cat("[", size, ",70]"), "[70]", "0"));
    expect_as_evaluated(sum_of(cat("[3,", size, "]"), "[3]", "1"));
    expect_as_evaluated(sum_of(cat("[2,", size, ",5]"), "[5]", "0,1"));
    expect_as_evaluated(sum_of(cat("[", size, ",5]"), "[]", "0,1"));
    expect_as_evaluated(sum_of(cat("[", size, ",3,2]"), "[3]", "0,2"));
    expect_as_evaluated(sum_of(cat("[", size, ",2,17]"), "[2]", "0,2"));
    expect_as_evaluated(sum_of(cat("[2,9,", size, ",20]"), "[9,20]", "0,2"));
    expect_as_evaluated(product_of("f32", cat("[", size, "]"), cat("[", size, "]"), "[]", 0, 0));
    expect_as_evaluated(
        product_of("f32", cat("[", size, "]"), cat("[", size, ",40]"), "[40]", 0, 0));
    expect_as_evaluated(
        product_of("f32", cat("[20,", size, "]"), cat("[", size, "]"), "[20]", 1, 0));
  }
  for (const int size : {4095, 4096, 4101, 6150}) {
    for (const char* type : {"f32", "bf16"}) {
      expect_as_evaluated(
          product_of(type, cat("[21,", size, "]"), cat("[", size, ",33]"), "[21,33]", 1, 0));
      expect_as_evaluated(
          product_of(type, cat("[", size, ",21]"), cat("[33,", size, "]"), "[21,33]", 0, 1));
    }
    expect_as_evaluated(
        product_of("f32", cat("[2,", size, "]"), cat("[", size, ",1100]"), "[2,1100]", 1, 0));
    expect_as_evaluated(
        product_of("f32", cat("[600,", size, "]"), cat("[", size, ",2]"), "[600,2]", 1, 0));
  }
}

// The largest share by which a sum of one number, or of its products with 1, is off.
double error_of_tenths(const std::string& text, double count, float number = 0.1F) {
  const hlo::Module module = hlo::parse_text(text).value();
  std::vector<Literal> arguments;
  for (const hlo::InstructionId id : module.entry_computation().parameters) {
    Literal x(module.entry_computation().at(id).shape);
    for (float& value : x.mutable_values<float>()) value = arguments.empty() ? number : 1.0F;
    arguments.push_back(std::move(x));
  }
  const Literal sums = OnCpu(module).run(arguments);
  double most = 0;
  for (int64_t i = 0; i < sums.element_count(); ++i)
    most = std::max(most, std::abs(sums.to_double(i) / (count * number) - 1));
  return most;
}

TEST(CpuLongSums, KeepTheirDigits) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  // One chain is a thousandth and more off.
  EXPECT_LT(error_of_tenths(sum_of("[200000,2]", "[]", "0,1"), 4e5), 5e-6);
  EXPECT_LT(error_of_tenths(sum_of("[300000,8,2]", "[8]", "0,2"), 6e5), 5e-6);
  EXPECT_LT(error_of_tenths(sum_of("[1000,1000,3]", "[]", "0,1,2"), 3e6), 5e-6);
  EXPECT_LT(error_of_tenths(sum_of("[400000,8]", "[8]", "0"), 4e5), 5e-5);
  EXPECT_LT(error_of_tenths(sum_of("[400000,64]", "[64]", "0"), 4e5), 5e-5);
  EXPECT_LT(error_of_tenths(sum_of("[2,4000000]", "[2]", "1"), 4e6), 5e-5);
  // Each addition rounds in the same direction: blocks of 128 are 4e-6 off.
  EXPECT_LT(error_of_tenths(sum_of("[2,4000000]", "[2]", "1"), 4e6, 1000.005F), 1.5e-6);
  // So are chunks of 256 turns, and 256 of them.
  EXPECT_LT(error_of_tenths(sum_of("[4194304]", "[]", "0"), 4194304, 1000.005F), 1e-6);
  EXPECT_LT(error_of_tenths(sum_of("[8,128,16]", "[]", "0,1,2"), 16384, 1000.005F), 1.5e-6);
  EXPECT_LT(error_of_tenths("HloModule m\nENTRY e {\n x = f32[4,2048,4] parameter(0)\n y = "
                            "f32[4,2,2048] parameter(1)\n ROOT r = f32[4,2] dot(x, y), "
                            "lhs_contracting_dims={1,2}, rhs_contracting_dims={2,0}\n}",
                            8192, 1000.005F),
            1e-5);
  EXPECT_LT(error_of_tenths(product_of("f32", "[8000000]", "[8000000]", "[]", 0, 0), 8e6), 5e-5);
  EXPECT_LT(error_of_tenths(product_of("f32", "[400000]", "[400000,32]", "[32]", 0, 0), 4e5), 5e-5);
  EXPECT_LT(error_of_tenths(product_of("f32", "[16,400000]", "[400000,32]", "[16,32]", 1, 0), 4e5),
            5e-5);
}

// cumsum of f32`sizes` along a dimension of `length`, from the first element or from the last one.
std::string running_sum(const std::string& sizes, const std::string& window,
                        const std::string& padding) {
  return cat(
      "HloModule m\nf { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] "
      "add(a, b) }\nENTRY main {\n x = f32",
      sizes, " parameter(0)\n z = f32[] constant(0)\n ROOT r = f32", sizes,
      " reduce-window(x, z), window={size=", window, " pad=", padding, "}, to_apply=f\n}\n");
}

// Running sums of many are those of blocks, and what is left of them.
TEST(CpuLongSums, RunningOnes) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const int size : {511, 512, 513, 4097, 8192, 8193, 20011}) {
    expect_as_evaluated(running_sum(cat("[", size, "]"), cat(size), cat(size - 1, "_0")));
    expect_as_evaluated(running_sum(cat("[", size, "]"), cat(size), cat("0_", size - 1)));
    expect_as_evaluated(
        running_sum(cat("[", size, ",3]"), cat(size, "x1"), cat(size - 1, "_0x0_0")));
    expect_as_evaluated(
        running_sum(cat("[", size, ",20]"), cat(size, "x1"), cat("0_", size - 1, "x0_0")));
  }
  // Sums of -0 from -0 on are -0.
  std::string zeros = running_sum("[1100]", "1100", "1099_0");
  zeros.replace(zeros.find("constant(0)"), 11, "constant(-0)");
  const hlo::Module of_zeros = hlo::parse_text(zeros).value();
  Literal minus(Shape(f32, {1100}));
  for (float& value : minus.mutable_values<float>()) value = -0.0F;
  const Literal sums_of_minus = OnCpu(of_zeros).run({minus});
  for (const float sum : sums_of_minus.values<float>()) EXPECT_TRUE(std::signbit(sum));
  constexpr int kMany = 200'000;
  for (const auto& [sizes, window, padding] :
       {std::tuple(cat("[", kMany, "]"), cat(kMany), cat(kMany - 1, "_0")),
        std::tuple(cat("[", kMany, ",2]"), cat(kMany, "x1"), cat(kMany - 1, "_0x0_0"))}) {
    const hlo::Module module = hlo::parse_text(running_sum(sizes, window, padding)).value();
    Literal x(module.entry_computation().root_instruction().shape);
    const auto columns = static_cast<size_t>(x.shape().element_count() / kMany);
    for (float& value : x.mutable_values<float>()) value = 0.1F;
    const Literal sums = OnCpu(module).run({x});
    double worst = 0;
    for (size_t i = 0; i < kMany; ++i) {
      const double exact = static_cast<double>(i + 1) * double{0.1F};
      worst = std::max(worst, std::abs(sums.values<float>()[i * columns] / exact - 1));
    }
    EXPECT_LT(worst, 1e-5) << sizes;  // one chain: 1e-3
  }
}

}  // namespace
}  // namespace heddle::cpu
