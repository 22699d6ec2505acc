// What Program's own errors say, and of which line.
#include "heddle/trace/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "heddle/hlo/text.h"
#include "heddle/trace/creation.h"
#include "heddle/trace/elementwise.h"
#include "heddle/trace/reductions.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// " [program_test.cc:LINE]" of the line that calls this.
std::string here(SourceLocation at = SourceLocation::here()) {
  return cat("[", to_string(at), "]");
}

TEST(Program, ErrorsOfACallHaveItsLine) {
  const Tensor x = ones({2}), y = ones({3});
  const Program one = trace([](Tensor a) { return a + 1; }, x);
  const Program four =
      trace([](Tensor a, Tensor b, Tensor c, Tensor d) { return a + b + c + d; }, x, x, x, x);
  EXPECT_THAT(error_of([&] { one.call<Tensor>(y); }), EndsWith(here()));
  EXPECT_THAT(error_of([&] { one.call<Tensor>(y); }),
              StartsWith("run: argument arg0 is f32[3]; the program was traced with f32[2]"));
  EXPECT_THAT(error_of([&] { one.call<Tensor>(); }), EndsWith(here()));
  EXPECT_THAT(error_of([&] { one.call<Tensor>(x, x); }), EndsWith(here()));
  EXPECT_THAT(error_of([&] { one.call<Tensor>(x, x, x); }), EndsWith(here()));
  EXPECT_THAT(error_of([&] { four.call<Tensor>(x, x, x, y); }), EndsWith(here()));
  EXPECT_THAT(four.call<Tensor>(x, x, x, x).to_vector<float>(), testing::ElementsAre(4, 4));
}

TEST(Program, CallsWithMoreArgumentsTakeALine) {
  const Tensor x = ones({2}), y = ones({3});
  const Program five =
      trace([](Tensor a, Tensor b, Tensor c, Tensor d, Tensor e) { return a + b + c + d + e; }, x,
            x, x, x, x);
  EXPECT_THAT(five.call<Tensor>(x, x, x, x, x).to_vector<float>(), testing::ElementsAre(5, 5));
  const SourceLocation at = SourceLocation::here();
  EXPECT_THAT(error_of([&] { five.call_at<Tensor>(at, x, x, x, x, y); }), HasSubstr(here(at)));
}

// Which of two operands C++ evaluates first is the compiler's choice; the program is the same.
TEST(Program, IsTheSameInWhateverOrderOperandsAreRecorded) {
  const Tensor a = placeholder({2}, f32), b = placeholder({3}, f32);
  auto left_first = [&](Tensor x) {
    Tensor left = x * sum(a);
    Tensor right = sin(x) - sum(b);
    return left + right;
  };
  auto right_first = [&](Tensor x) {
    Tensor unused = cos(x);
    Tensor right = sin(x) - sum(b);
    Tensor left = x * sum(a);
    return left + right;
  };
  const Program one = trace(left_first, placeholder({4}, f32));
  const Program other = trace(right_first, placeholder({4}, f32));
  const hlo::PrintOptions without_lines{.metadata = false};
  EXPECT_EQ(hlo::print(one.module(), without_lines), hlo::print(other.module(), without_lines));
  ASSERT_EQ(other.signature().captures.size(), 2u);
  EXPECT_EQ(other.signature().captures[0].shape, a.shape());
  EXPECT_EQ(other.signature().captures[1].shape, b.shape());
}

}  // namespace
}  // namespace heddle
