// What Program's own errors say, and of which line.
#include "heddle/trace/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "heddle/trace/creation.h"
#include "heddle/trace/elementwise.h"
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

}  // namespace
}  // namespace heddle
