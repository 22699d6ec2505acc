// What a module becomes before a plugin compiles it, by the evaluator; and the options beside it.
#include "heddle/pjrt/internal/program.h"

#include <cmath>
#include <complex>
#include <random>

#include "heddle/hlo/verify.h"
#include "heddle/pjrt/internal/expand.h"
#include "heddle/pjrt/internal/lapack.h"
#include "heddle/pjrt/internal/lapack_lu.h"
#include "heddle/pjrt/support_test.h"

namespace heddle::pjrt {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class MulhiOf : public ::testing::TestWithParam<DType> {};

TEST_P(MulhiOf, IsTheSameByOlderOps) {
  const DType dtype = GetParam();
  constexpr int64_t kCount = 400;
  const Shape shape(dtype, {kCount});
  Literal x(shape), y(shape);
  std::mt19937_64 random(11);
  for (Literal* literal : {&x, &y}) {
    for (int64_t i = 0; i < shape.byte_size(); ++i)
      literal->mutable_bytes()[i] = static_cast<std::byte>(random());
  }
  // Both extremes, against each other and against anything.
  const Literal least = Literal::scalar(dtype, INT64_MIN >> (64 - bit_width(dtype)));
  const Literal most = Literal::scalar(dtype, int64_t{-1});
  const auto width = static_cast<size_t>(storage_bytes(dtype));
  std::copy_n(least.bytes(), width, x.mutable_bytes());
  std::copy_n(least.bytes(), width, y.mutable_bytes());
  std::copy_n(most.bytes(), width, x.mutable_bytes() + width);
  std::copy_n(least.bytes(), width, y.mutable_bytes() + width);
  std::copy_n(most.bytes(), width, x.mutable_bytes() + 2 * width);
  std::copy_n(most.bytes(), width, y.mutable_bytes() + 2 * width);

  const hlo::Module module =
      module_of(cat("HloModule m\nENTRY e {\n x = ", dtype, "[400] parameter(0)\n y = ", dtype,
                    "[400] parameter(1)\n ROOT m = ", dtype, "[400] mulhi(x, y)\n}"));
  const auto expanded = expand_mulhi(module);
  ASSERT_TRUE(expanded.ok()) << expanded.status();
  ASSERT_EQ(hlo::verify(*expanded, hlo::Stage::kHlo), Status());
  EXPECT_THAT(hlo::print(*expanded), Not(HasSubstr("mulhi")));
  EXPECT_EQ(hlo::evaluate(*expanded, {x, y}).value(), hlo::evaluate(module, {x, y}).value());
}

INSTANTIATE_TEST_SUITE_P(Integers, MulhiOf, ::testing::Values(s8, u8, s16, u16, s32, u32, s64, u64),
                         [](const auto& info) { return std::string(to_string(info.param)); });

// P A = L U, by columns of `at(i, j)`.
template <class T>
void expect_factors(const Literal& a, const Literal& factors, const Literal& pivots, int64_t matrix,
                    int64_t m, int64_t n) {
  const auto offset = static_cast<size_t>(matrix * m * n);
  std::vector<T> want(a.values<T>().begin() + static_cast<std::ptrdiff_t>(offset),
                      a.values<T>().begin() + static_cast<std::ptrdiff_t>(offset) + m * n);
  const int64_t p = std::min(m, n);
  for (int64_t k = 0; k < p; ++k) {
    const int64_t row = pivots.to_int64(matrix * p + k) - 1;
    ASSERT_TRUE(row >= k && row < m);
    std::swap_ranges(want.begin() + k * n, want.begin() + (k + 1) * n, want.begin() + row * n);
  }
  const auto lu = factors.values<T>().subspan(offset);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T sum = 0;
      for (int64_t k = 0; k <= std::min({i, j, p - 1}); ++k) {
        const T left = k == i ? T(1) : lu[static_cast<size_t>(i * n + k)];
        EXPECT_TRUE(k >= i || std::abs(left) <= 1.5);  // pivoted by |re| + |im|
        sum += left * lu[static_cast<size_t>(k * n + j)];
      }
      EXPECT_LE(std::abs(sum - want[static_cast<size_t>(i * n + j)]), 1e-12) << i << "," << j;
    }
  }
}

template <class T>
void check_lu(DType dtype, int64_t batch, int64_t m, int64_t n) {
  const hlo::Module module =
      module_of(lu_text({.dtype = dtype, .batch = batch, .rows = m, .columns = n}));
  ASSERT_EQ(hlo::verify(module, hlo::Stage::kHlo), Status());
  Literal a(Shape(dtype, {batch, m, n}));
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (T& value : a.mutable_values<T>()) {
    if constexpr (std::is_same_v<T, double>) {
      value = normal(random);
    } else {
      value = {normal(random), normal(random)};
    }
  }
  const Literal result = hlo::evaluate(module, {a}).value();
  for (int64_t i = 0; i < batch; ++i) {
    expect_factors<T>(a, result.element(0), result.element(1), i, m, n);
    EXPECT_EQ(result.element(2).to_int64(i), 0);
  }
}

TEST(Lu, FactorsRealMatricesOfEveryForm) {
  check_lu<double>(f64, 1, 1, 1);
  check_lu<double>(f64, 3, 5, 5);
  check_lu<double>(f64, 2, 6, 3);
  check_lu<double>(f64, 2, 3, 6);
}

TEST(Lu, FactorsComplexMatrices) { check_lu<std::complex<double>>(c128, 2, 4, 4); }

TEST(Lu, TellsTheFirstPivotThatIsZero) {
  const hlo::Module module =
      module_of(lu_text({.dtype = f64, .batch = 1, .rows = 3, .columns = 3}));
  // The second column is the first one twice.
  const Literal a = Literal::from<double>(Shape(f64, {1, 3, 3}), {1, 2, 0, 2, 4, 0, 3, 6, 1});
  const Literal result = hlo::evaluate(module, {a}).value();
  EXPECT_EQ(result.element(2).to_int64(0), 2);
}

TEST(Lapack, CallsBecomeOpsAndTheRestStays) {
  const hlo::Module module = module_of(R"(HloModule m
ENTRY e {
  a = f32[2,3,3]{1,2,0} parameter(0)
  b = f32[2,3,1]{1,2,0} parameter(1)
  x = f32[2,3,1]{1,2,0} custom-call(a, b), custom_call_target="lapack_strsm_ffi", backend_config={diag = 85 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 76 : ui8}
  c = (f32[2,3,3]{1,2,0}, s32[2]{0}) custom-call(a), custom_call_target="lapack_spotrf_ffi", backend_config={uplo = 76 : ui8}
  l = (f32[2,3,3]{1,2,0}, s32[2,3]{1,0}, s32[2]{0}) custom-call(a), custom_call_target="lapack_sgetrf_ffi", backend_config={}
  q = (f32[2,3,3]{1,2,0}, f32[2,3]{1,0}) custom-call(a), custom_call_target="lapack_sgeqrf_ffi", backend_config={}
  other = f32[] custom-call(a), custom_call_target="lapack_sgesdd_ffi"
  ROOT t = (f32[2,3,1]{1,2,0}, (f32[2,3,3]{1,2,0}, s32[2]{0}), (f32[2,3,3]{1,2,0}, s32[2,3]{1,0}, s32[2]{0}), (f32[2,3,3]{1,2,0}, f32[2,3]{1,0}), f32[]) tuple(x, c, l, q, other)
})");
  EXPECT_TRUE(has_lapack(module));
  const auto expanded = expand_lapack(module);
  ASSERT_TRUE(expanded.ok()) << expanded.status();
  EXPECT_EQ(hlo::verify(*expanded, hlo::Stage::kHlo), Status());
  EXPECT_FALSE(has_lapack(*expanded));
  const std::string text = hlo::print(*expanded, {.form = hlo::PrintOptions::Form::kShort});
  EXPECT_THAT(text, HasSubstr("triangular-solve"));
  EXPECT_THAT(text, HasSubstr("left_side=true, lower=true, unit_diagonal=true, "
                              "transpose_a=TRANSPOSE"));
  EXPECT_THAT(text, HasSubstr("cholesky"));
  EXPECT_THAT(text, HasSubstr("custom_call_target=\"Qr\""));
  EXPECT_THAT(text, HasSubstr("lapack_sgesdd_ffi"));
}

TEST(Prepare, AliasesOfTheModuleAreLeftOut) {
  const hlo::Module module = module_of(R"(HloModule m, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY e {
  x = f32[2] parameter(0)
  ROOT y = f32[2] negate(x)
})");
  ASSERT_EQ(module.extras->input_output_alias.size(), 1u);
  EXPECT_TRUE(prepare(module, 114).value().extras->input_output_alias.empty());
  EXPECT_EQ(prepare(module, 114, {0}).value().extras->input_output_alias.size(), 1u);
}

TEST(Prepare, DonatedArgumentsArePairedWithResultsOfTheirType) {
  const hlo::Module module = module_of(R"(HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  n = s32[] parameter(1)
  y = f32[2] parameter(2)
  ROOT t = (s32[], f32[2]) tuple(n, x)
})");
  const auto aliases = prepare(module, 114, {0, 1, 2}).value().extras->input_output_alias;
  ASSERT_EQ(aliases.size(), 2u);  // there is no second result for y
  EXPECT_EQ(aliases[0].parameter, 0);
  EXPECT_EQ(aliases[0].output_index, (std::vector<int64_t>{1}));
  EXPECT_EQ(aliases[1].parameter, 1);
  EXPECT_EQ(aliases[1].output_index, (std::vector<int64_t>{0}));
}

TEST(Prepare, ProgramsOfSeveralDevicesAreRefused) {
  const hlo::Module module =
      module_of("HloModule m, replica_count=4\nENTRY e { ROOT x = f32[] parameter(0) }");
  EXPECT_EQ(
      message_of(prepare(module, 114).status()),
      "compile m: a program of 4 replicas and 1 partitions; compile it for as many devices "
      "(runtime/spmd.h)");
}

// The bytes that XLA was seen to take, and the options of a program behind them.
TEST(CompileOptions, AreXlasBytes) {
  EXPECT_EQ(compile_options(2, {{"xla_a", "b"}}),
            std::string("\x1A\x1A\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x20\x01\x28\x01"
                        "\x4A\x09\x08\x01\x10\x01\x1A\x03\x0A\x01\x02"
                        "\x3A\x0C\x0A\x05xla_a\x12\x03\x0A\x01"
                        "b"));
}

TEST(CompileOptions, TruthValuesAreNoText) {
  EXPECT_THAT(compile_options(0, {{"xla_a", "false"}}),
              HasSubstr(std::string("xla_a\x12\x02\x10\0", 9)));
}

TEST(Explained, AMissingFunctionIsUnimplementedAndNamesTheInstruction) {
  const hlo::Module module = module_of(R"(HloModule m
ENTRY e {
  x = f32[] parameter(0)
  ROOT call.7 = f32[] custom-call(x), custom_call_target="nobody_ffi"
})");
  for (const char* words : {"No FFI handler registered for nobody_ffi on a platform Host",
                            "No registered implementation for untyped custom call to nobody_ffi "
                            "for Host"}) {
    const Status status =
        explained(not_found("plugin p (PJRT 0.81): ClientCompile: ", words), module);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(message_of(status), HasSubstr("compile m: custom-call call.7: the plugin has no "
                                              "function nobody_ffi; plugin p (PJRT 0.81): "));
  }
}

}  // namespace
}  // namespace heddle::pjrt
