// Generic lambdas go wherever functions do: nothing asks what they do with anything but what they
// are called with. Beside them functions of Heddle's by their names.
#include "heddle/base/support_test.h"
#include "heddle/heddle.h"
#include "heddle/testing.h"

namespace heddle {
namespace {

std::vector<float> values(const Tensor& x) { return x.to_vector<float>(); }

// An Operand has no shape and no methods.
constexpr auto kNext = [](auto x) { return x.astype(f32) + 1; };
constexpr auto kTimes = [](auto x, auto y) { return x.astype(f32) * y; };

TEST(GenericLambdas, AreTracedAndTransformed) {
  const Tensor x = array<float>({1, 2}), y = array<float>({3, 4});
  EXPECT_THAT(values(trace(kNext, x)(x)), ElementsAre(2, 3));
  EXPECT_THAT(values(trace(kTimes, x, y)(x, y)), ElementsAre(3, 8));
  EXPECT_TRUE(try_trace(kNext, x).ok());
  EXPECT_THAT(values(compile(kNext)(x)), ElementsAre(2, 3));
  EXPECT_THAT(values(compile(kTimes)(x, y)), ElementsAre(3, 8));
  EXPECT_THAT(values(vmap(kNext)(x)), ElementsAre(2, 3));
  EXPECT_THAT(values(map(kNext, x)), ElementsAre(2, 3));
  EXPECT_THAT(values(map(kTimes, x, y)), ElementsAre(3, 8));
  EXPECT_THAT(values(grad([](auto v) { return sum(v * v); })(x)), ElementsAre(2, 4));
  EXPECT_THAT(values(tree_map(kNext, x)), ElementsAre(2, 3));
  EXPECT_THAT(values(tree_map(kTimes, x, y)), ElementsAre(3, 8));
  EXPECT_THAT(values(Function("next", kNext)(x)), ElementsAre(2, 3));
}

TEST(GenericLambdas, AreBranchesAndSteps) {
  const Tensor x = array<float>({1, 2}), y = array<float>({3, 4});
  const auto goes_on = [](auto v) { return v.astype(f32)[0] < 4; };
  for (const bool which : {true, false}) {
    EXPECT_THAT(values(cond(scalar(which), kNext, kNext, x)), ElementsAre(2, 3));
    EXPECT_THAT(values(cond(scalar(which), kTimes, kTimes, x, y)), ElementsAre(3, 8));
    EXPECT_THAT(values(cond(scalar(which), kNext, nn::relu, x)), ElementsAre(1 + which, 2 + which));
    EXPECT_THAT(values(cond(scalar(which), nn::relu, abs, x)), ElementsAre(1, 2));
  }
  EXPECT_THAT(values(while_loop(goes_on, kNext, x)), ElementsAre(4, 5));
  EXPECT_THAT(values(associative_scan(kTimes, y)), ElementsAre(3, 12));
  EXPECT_THAT(values(switch_case(1, {exp, abs}, x)), ElementsAre(1, 2));
}

// A name that stands for one function alone, and one that C's math has too.
TEST(NamesOfFunctions, HaveTheLineWhereTheyAreNamed) {
  const Tensor whole = array<int>({1, 2});
  for (const auto& [what, call] : std::vector<std::pair<const char*, std::function<void()>>>{
           {"nn::silu", [&] { (void)trace(nn::silu, whole); }},
           {"exp", [&] { (void)trace(exp, whole); }},
           {"exp", [&] { (void)compile(exp)(whole); }},
           {"exp", [&] { (void)vmap(exp)(whole); }},
           {"exp", [&] { (void)map(exp, whole); }}}) {
    try {
      call();
      ADD_FAILURE() << what << " takes integers";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("generic_lambdas_test.cc:")) << what;
    }
  }
}

}  // namespace
}  // namespace heddle
