// Which calls expand_lapack() writes, and that it leaves others alone.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "heddle/transform/lapack/support_test.h"

namespace heddle::transform {
namespace {

std::string call_text(const std::string& target, const std::vector<std::string>& operands,
                      const std::string& result, const std::string& config) {
  std::string text = "HloModule m\nENTRY main {\n", names;
  for (size_t i = 0; i < operands.size(); ++i) {
    base::append(text, "  a", i, " = ", operands[i], " parameter(", i, ")\n");
    base::append(names, i == 0 ? "" : ", ", "a", i);
  }
  return base::cat(text, "  ROOT r = ", result, " custom-call(", names, "), custom_call_target=\"",
                   target, "\", backend_config=", config, "\n}\n");
}

// A call stays, or its expansion has its type.
void expect_left_or_written(const std::string& text, int& written) {
  SCOPED_TRACE(text);
  const hlo::Module module = parsed(text);
  const auto out = expand_lapack(module);
  ASSERT_EQ(out.status(), Status());
  EXPECT_EQ(hlo::verify(*out, hlo::Stage::kHlo), Status());
  EXPECT_TRUE(same_type(out->entry_computation().result_shape(),
                        module.entry_computation().result_shape()));
  EXPECT_FALSE(has_lapack(*out));
  written += has_lapack(module) ? 1 : 0;
}

TEST(Expand, CallsThatAreNotWhatTheirRoutineTakesStay) {
  int written = 0;
  for (const char* target : {"lapack_ffi", "lapack__ffi", "lapack_s_ffi", "lapack_hgetrf_ffi",
                             "lapack_sheevd_ffi", "lapack_zormqr_ffi", "lapack_sgetrf"}) {
    expect_left_or_written(
        call_text(target, {"f32[3,3]"}, "(f32[3,3], s32[3], s32[])", "{uplo = 76 : ui8}"), written);
  }
  expect_left_or_written(call_text("lapack_sgetrf_ffi", {}, "()", "{}"), written);
  expect_left_or_written(
      call_text("lapack_spotrf_ffi", {"f32[8,8]"}, "f32[8,8]", "{uplo = 76 : ui8}"), written);
  expect_left_or_written(
      call_text("lapack_spotrf_ffi", {"f32[8,8]"}, "(f32[8,8], s32[])", "{uplo = 77 : ui8}"),
      written);
  expect_left_or_written(
      call_text("lapack_hgetrf_ffi", {"f16[3,3]"}, "(f16[3,3], s32[3], s32[])", "{}"), written);
  EXPECT_EQ(written, 0);
}

TEST(Expand, AnyCallIsLeftOrWrittenWithItsType) {
  constexpr const char* kRoutines[] = {"gees",  "geev",  "gehrd", "geqp3", "geqrf", "gesdd",
                                       "gesvd", "getrf", "gtsv",  "heevd", "orgqr", "ormqr",
                                       "potrf", "syevd", "sytrd", "trsm",  "ungqr", "unmqr"};
  constexpr const char* kOperands[] = {
      "f32[3,3]", "f32[3,3]", "f32[2,3,3]", "f32[3,2]", "f32[3]",     "f32[2,3]",    "f32[]",
      "f32[0,0]", "f32[3,0]", "f32[0]",     "s32[3,3]", "c64[3,3]",   "f16[3,3]",    "f64[3,3]",
      "token[]",  "()",       "(f32[3,3])", "pred[3]",  "f32[<=3,3]", "f32[2,0,3,3]"};
  constexpr const char* kResults[] = {"f32[3,3]",
                                      "f32[3]",
                                      "()",
                                      "(f32[3,3], s32[])",
                                      "(f32[3,3], s32[3], s32[])",
                                      "(f32[3,3], f32[3])",
                                      "(f32[3,3], f32[3], s32[])",
                                      "(f32[2,3,3], f32[2,3], s32[2])",
                                      "(f32[3,3], f32[3], f32[3,3], f32[3,3], s32[])",
                                      "(c64[3,3], f32[3], s32[])",
                                      "(f32[0,0], s32[0], s32[])",
                                      "(f32[3], f32[3], f32[3], f32[3,3], s32[])",
                                      "f32[0,0]",
                                      "token[]"};
  constexpr const char* kConfigs[] = {
      "{mode = 86 : ui8, uplo = 76 : ui8}",
      "{mode = 65 : ui8, uplo = 85 : ui8, left = true, transpose = false}",
      "{mode = 78 : ui8, diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 85 : ui8}",
      "{uplo = 300 : ui8, mode = -1 : ui8}", "{}"};
  std::mt19937 random(20261122);
  const auto any = [&](auto& list) { return list[random() % std::size(list)]; };
  int written = 0;
  for (const char* routine : kRoutines) {
    const std::string target = base::cat("lapack_s", routine, "_ffi");
    for (const char* operand : kOperands) {
      for (const char* result : kResults)
        expect_left_or_written(call_text(target, {operand}, result, any(kConfigs)), written);
    }
  }
  EXPECT_GT(written, 5);
  for (int i = 0; i < 6000; ++i) {
    const std::string letter(1, std::string_view("sssdczh")[random() % 7]);
    std::vector<std::string> operands;
    for (size_t n = random() % 5; n > 0; --n) operands.emplace_back(any(kOperands));
    expect_left_or_written(call_text(base::cat("lapack_", letter, any(kRoutines), "_ffi"), operands,
                                     any(kResults), any(kConfigs)),
                           written);
    if (HasFatalFailure()) return;
  }
}

TEST(Expand, CallsBecomeOpsAndTheRestStays) {
  const hlo::Module module = parsed(R"(HloModule m
ENTRY e {
  a = f32[2,3,3]{1,2,0} parameter(0)
  b = f32[2,3,1]{1,2,0} parameter(1)
  x = f32[2,3,1]{1,2,0} custom-call(a, b), custom_call_target="lapack_strsm_ffi", backend_config={diag = 85 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 76 : ui8}
  c = (f32[2,3,3]{1,2,0}, s32[2]{0}) custom-call(a), custom_call_target="lapack_spotrf_ffi", backend_config={uplo = 76 : ui8}
  l = (f32[2,3,3]{1,2,0}, s32[2,3]{1,0}, s32[2]{0}) custom-call(a), custom_call_target="lapack_sgetrf_ffi", backend_config={}
  q = (f32[2,3,3]{1,2,0}, f32[2,3]{1,0}) custom-call(a), custom_call_target="lapack_sgeqrf_ffi", backend_config={}
  other = f32[] custom-call(a), custom_call_target="lapack_sgeev_ffi"
  ROOT t = (f32[2,3,1]{1,2,0}, (f32[2,3,3]{1,2,0}, s32[2]{0}), (f32[2,3,3]{1,2,0}, s32[2,3]{1,0}, s32[2]{0}), (f32[2,3,3]{1,2,0}, f32[2,3]{1,0}), f32[]) tuple(x, c, l, q, other)
})");
  EXPECT_TRUE(has_lapack(module));
  const std::string text = hlo::print(expanded(module), {.form = hlo::PrintOptions::Form::kShort});
  EXPECT_THAT(text, HasSubstr("triangular-solve"));
  EXPECT_THAT(text, HasSubstr("left_side=true, lower=true, unit_diagonal=true, "
                              "transpose_a=TRANSPOSE"));
  EXPECT_THAT(text, HasSubstr("cholesky"));
  EXPECT_THAT(text, HasSubstr("custom_call_target=\"Qr\""));
  EXPECT_THAT(text, HasSubstr("lapack_sgeev_ffi"));
}

TEST(Expand, EqualCallsAreOneComputation) {
  const hlo::Module module = parsed(R"(HloModule m
ENTRY e {
  a = f32[4,3,3] parameter(0)
  b = f32[2,2,3,3] parameter(1)
  x = (f32[4,3,3], s32[4,3], s32[4]) custom-call(a), custom_call_target="lapack_sgetrf_ffi", backend_config={}
  y = (f32[2,2,3,3], s32[2,2,3], s32[2,2]) custom-call(b), custom_call_target="lapack_sgetrf_ffi", backend_config={}
  ROOT t = ((f32[4,3,3], s32[4,3], s32[4]), (f32[2,2,3,3], s32[2,2,3], s32[2,2])) tuple(x, y)
})");
  const hlo::Module out = expanded(module);
  const auto is_getrf = [](const hlo::Computation& each) { return each.name == "getrf"; };
  EXPECT_EQ(std::ranges::count_if(out.computations, is_getrf), 1);
}

}  // namespace
}  // namespace heddle::transform
