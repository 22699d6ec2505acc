#include "heddle/transform/batch.h"

#include "heddle/base/support_test.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/verify.h"

namespace heddle::transform {
namespace {

// The text of the module with `of` batched to 4 lanes, or the error's message.
std::string batched(std::string_view text, const std::vector<bool>& of) {
  const auto module = hlo::parse_text(text);
  if (!module.ok()) return std::string(module.status().message());
  const auto made = batch(*module, of, 4);
  if (!made.ok()) return std::string(made.status().message());
  const Status status = hlo::verify(made->module);
  return status.ok() ? hlo::print(made->module) : std::string(status.message());
}

TEST(Batch, ShardingsHaveTheLanesInFront) {
  EXPECT_THAT(batched(R"(ENTRY main {
      x = f32[6,2] parameter(0)
      ROOT y = f32[6,2] custom-call(x), custom_call_target="Sharding", sharding={devices=[2,1]<=[2]}
    })",
                      {true}),
              HasSubstr("f32[4,6,2]{2,1,0} custom-call(%x), custom_call_target=\"Sharding\", "
                        "sharding={devices=[1,2,1]<=[2]}"));
}

TEST(Batch, LapackTakesBatchesOfMatrices) {
  const std::string text = batched(R"(ENTRY main {
      x = f32[3,3] parameter(0)
      ROOT y = (f32[3,3], s32[]) custom-call(x), custom_call_target="lapack_spotrf_ffi",
        api_version=API_VERSION_TYPED_FFI, backend_config={uplo = 76 : ui8}
    })",
                                   {true});
  EXPECT_THAT(text, HasSubstr("(f32[4,3,3]{2,1,0}, s32[4]{0}) custom-call(%x)"));
  EXPECT_THAT(text, Not(HasSubstr("scan(")));
}

TEST(Batch, CallsOfOtherFunctionsGoOneByOne) {
  EXPECT_THAT(batched(R"(ENTRY main {
      x = f32[3] parameter(0)
      ROOT y = f32[] custom-call(x), custom_call_target="mine"
    })",
                      {true}),
              HasSubstr("(f32[4]{0}) scan(%x)"));
}

TEST(Batch, EffectsAreRefusedByName) {
  EXPECT_EQ(batched(R"(ENTRY main {
      x = f32[3] parameter(0)
      ROOT y = f32[] custom-call(x), custom_call_target="mine", custom_call_has_side_effect=true
    })",
                    {true}),
            "custom-call: has no batched form: it has an effect, which lanes cannot share");
}

TEST(Batch, ConvolutionsStayOne) {
  const char* text = R"(ENTRY main {
      x = f32[2,5,5,3] parameter(0)
      k = f32[3,3,3,6] parameter(1)
      ROOT y = f32[2,5,5,6] convolution(x, k), window={size=3x3 pad=1_1x1_1},
        dim_labels=b01f_01io->b01f
    })";
  EXPECT_THAT(batched(text, {true, false}), HasSubstr("f32[8,5,5,6]{3,2,1,0} convolution("));
  EXPECT_THAT(batched(text, {false, true}), HasSubstr("f32[2,5,5,24]{3,2,1,0} convolution("));
  EXPECT_THAT(batched(text, {true, true}), HasSubstr("feature_group_count=4"));
}

TEST(Batch, WhatLanesShareIsComputedOnce) {
  EXPECT_THAT(batched(R"(ENTRY main {
      x = f32[3] parameter(0)
      w = f32[3] parameter(1)
      e = f32[3] exponential(w)
      ROOT y = f32[3] multiply(x, e)
    })",
                      {true, false}),
              HasSubstr("f32[3]{0} exponential("));
}

}  // namespace
}  // namespace heddle::transform
