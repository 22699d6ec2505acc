// What a compiled function says: of a call that is another's, of what has changed, of names.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>

#include "heddle/base/support_test.h"
#include "heddle/heddle.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

// ----- the line of a call that a loop or a transform makes

std::string line(int number) { return base::cat("compile_messages_test.cc:", number); }

TEST(CompileMessages, ACallThatALoopMakesHasTheLineOfTheLoop) {
  const Tensor x = ones({3});
  const auto step = compile([](const Tensor& c, const Tensor& e) { return std::pair(c + e, c); },
                            {.name = "step"});
  (void)scan(step, scalar(0.0f), x);
  EXPECT_THAT(step.explain_miss(), HasSubstr("graph 1 for the call at " + line(__LINE__ - 1)));
  const auto one = compile([](const Tensor& e) { return sum(e) + 1; }, {.name = "one"});
  (void)map(one, x);
  EXPECT_THAT(one.explain_miss(), HasSubstr("graph 1 for the call at " + line(__LINE__ - 1)));
  (void)vmap(one)(ones({3, 2}));
  EXPECT_THAT(one.explain_miss(), HasSubstr("graph 2 for the call at " + line(__LINE__ - 1)));
  (void)grad(one)(ones({4}));
  EXPECT_THAT(one.explain_miss(), HasSubstr("graph 3 for the call at " + line(__LINE__ - 1)));
  (void)cond(true, one, one, ones({5}));
  EXPECT_THAT(one.explain_miss(), HasSubstr("graph 4 for the call at " + line(__LINE__ - 1)));
  (void)while_loop([](const Tensor& e) { return e < 3; }, one, scalar(1));
  EXPECT_THAT(one.explain_miss(), HasSubstr("graph 5 for the call at " + line(__LINE__ - 1)));
  (void)trace(one, ones({6}));
  EXPECT_THAT(one.explain_miss(), HasSubstr("graph 6 for the call at " + line(__LINE__ - 1)));
  const auto outer = compile(one);
  (void)outer(ones({7}));
  EXPECT_THAT(one.explain_miss(), HasSubstr("graph 7 for the call at " + line(__LINE__ - 1)));
}

TEST(CompileMessages, AndSoDoErrorsAndWhatIsRecorded) {
  const Tensor x = ones({3});
  const auto one = compile([](const Tensor& e) { return e + 1; }, {.name = "one", .max_graphs = 1});
  (void)one(scalar(1.0f));
  EXPECT_THAT(error_of([&] {
                (void)map(one, ones({3, 2}));
              }),
              AllOf(StartsWith("one: this call needs a graph more"), EndsWith(here())));
  EXPECT_THAT(error_of([&] {
                (void)vmap(one)(ones({3, 2}));
              }),
              AllOf(StartsWith("one: this call needs a graph more"), EndsWith(here())));
  const auto p = trace([&](const Tensor& v) { return map(one, v); }, x);
  EXPECT_THAT(p.short_text(), AllOf(HasSubstr(line(__LINE__ - 1)), Not(HasSubstr(".h:"))));
  // A program is called on a line of a header too.
  const auto program = trace([](const Tensor& e) { return e * 2; }, scalar(1.0f));
  EXPECT_THAT(error_of([&] { (void)map(program, ones({3, 2})); }), EndsWith(here()));
}

// Through the standard library nothing better is known than where it was compiled, or the loop.
TEST(CompileMessages, ACallOfTheStandardLibrarysHasALineOfTheUsers) {
  const int made = __LINE__ + 1;
  const auto one = compile([](const Tensor& e) { return e + 1; }, {.name = "one"});
  const std::function<Tensor(Tensor)> wrapped = one;
  (void)wrapped(ones({2}));
  EXPECT_THAT(one.explain_miss(), HasSubstr("for the call at " + line(made)));
  (void)map(wrapped, ones({3}));
  EXPECT_THAT(one.explain_miss(), HasSubstr("for the call at " + line(__LINE__ - 1)));
}

// ----- what has changed

TEST(CompileMessages, ChangesInsideOfLoopsAreNamed) {
  double number = 2;
  bool is_other = false;
  const auto step = [&](const Tensor& c, const Tensor& e) {
    return std::pair(is_other ? c - e : c * number + e, c);
  };
  const auto f = compile([&](const Tensor& x) { return scan(step, scalar(0.0f), x).first; },
                         {.name = "f", .check = true});
  const int loop = __LINE__ - 2, inside = __LINE__ - 4;
  (void)f(ones({3}));
  number = 3;
  EXPECT_THAT(error_of([&] { (void)f(ones({3})); }),
              HasSubstr(base::cat(": in the step of the scan at ", line(loop),
                                  " a number or an attribute of constant f32[] is another, at ",
                                  line(inside))));
  is_other = true;
  EXPECT_THAT(
      error_of([&] { (void)f(ones({3})); }),
      AllOf(HasSubstr(base::cat(": in the step of the scan at ", line(loop), " it computes ")),
            HasSubstr(line(inside))));
}

TEST(CompileMessages, ChangesInsideOfConditionsAndCallsAreNamed) {
  double most = 10;
  const auto inner = compile([&](const Tensor& x) { return x + 1; }, {.name = "inner"});
  const auto f = compile(
      [&](const Tensor& x) {
        return inner(while_loop([&](const Tensor& c) { return c < most; },
                                [](const Tensor& c) { return c * 2; }, x));
      },
      {.name = "f", .check = true});
  (void)f(ones({}));
  most = 20;
  EXPECT_THAT(error_of([&] { (void)f(ones({})); }),
              HasSubstr(": in the condition of the while at compile_messages_test.cc:"));
  bool is_more = false;
  const auto g = compile([&](const Tensor& x) { return is_more ? exp(x) * 2 : exp(x); },
                         {.name = "g", .check = true});
  (void)g(ones({2}));
  is_more = true;
  EXPECT_THAT(error_of([&] { (void)g(ones({2})); }),
              AllOf(HasSubstr(": it computes "), HasSubstr(line(__LINE__ - 5))));
}

// ----- graphs of a trace alone

TEST(CompileMessages, AGraphThatCapturesAValueOfATraceSaysWhich) {
  std::string said;
  const int made = __LINE__ + 3;
  (void)trace(
      [&](const Tensor& x) {
        const Tensor w = x * 2;
        const auto f = compile([&](const Tensor& y) { return w * y; }, {.name = "f"});
        const Tensor a = f(x);
        const Tensor b = f(x);
        said = f.explain_miss();
        return a + b;
      },
      ones({3}));
  EXPECT_THAT(said, HasSubstr(base::cat(": graph 1, the last one, is not used again: it captures "
                                        "the traced f32[3] made at ",
                                        line(made), ", of ")));
}

// ----- devices of inner functions

TEST(CompileMessages, AnInnerFunctionOfAnotherDeviceIsAnError) {
  const auto inner = compile([](const Tensor& x) { return x * x; }, {.device = "interpreter:0"});
  const Tensor there = device_put(ones({3}), "interpreter:0"),
               here = device_put(ones({3}), "cpu:0");
  int called = 0;
  const auto is_told = [&] {
    return AllOf(HasSubstr(base::cat("the function called at ", line(called),
                                     " is compiled with .device = \"interpreter:0\", and is a part "
                                     "of what runs on cpu:0; compile the outermost function for")),
                 HasSubstr("[compile_messages_test.cc:"));
  };
  const auto outer = compile([&](const Tensor& x) { return inner(x) + 1; });
  called = __LINE__ - 1;
  EXPECT_EQ(outer(there).to_vector<float>()[0], 2);
  EXPECT_THAT(error_of([&] { (void)outer(here); }), is_told());
  const auto slope = compile(grad([&](const Tensor& x) { return sum(inner(x)); }));
  called = __LINE__ - 1;
  EXPECT_EQ(slope(there).to_vector<float>()[0], 2);
  EXPECT_THAT(error_of([&] { (void)slope(here); }), HasSubstr("a part of what runs on cpu:0"));
  EXPECT_THAT(
      error_of([&] { (void)map(inner, here); }),
      HasSubstr("compiled with .device = \"interpreter:0\", and is a part of what runs on"));
  EXPECT_EQ(map(inner, there).to_vector<float>()[0], 1);
  EXPECT_THAT(error_of([&] { (void)vmap(inner)(here); }),
              HasSubstr("a part of what runs on cpu:0"));
  EXPECT_THAT(error_of([&] { (void)trace([&](const Tensor& x) { return inner(x); }, here)(here); }),
              HasSubstr("a part of what runs on cpu:0"));
}

// ----- names

TEST(CompileMessages, NamesAreShownAsText) {
  const auto f = compile([](const std::map<std::string, Tensor>& m) { return m.begin()->second; },
                         {.name = "a\nb\x1b[2J"});
  (void)f(std::map<std::string, Tensor>{{"w", ones({2})}});
  EXPECT_THAT(f.explain_miss(), StartsWith("a\\nb\\x1b[2J: graph 1"));
  EXPECT_THAT(f.explain(std::map<std::string, Tensor>{{"\x1b[1m\n", ones({2})}}),
              AllOf(HasSubstr("\\x1b[1m\\n"), Not(HasSubstr("\x1b")), Not(HasSubstr("\n"))));
}

TEST(CompileMessages, DonationsAreNamedWithTheFunction) {
  const auto f = compile([](const Tensor& x) { return x; }, {.name = "f", .donate = {"level"}});
  EXPECT_THAT(error_of([&] { (void)f(ones({2})); }),
              AllOf(StartsWith("compile: donates \"level\""), Not(HasSubstr("with:")),
                    HasSubstr("f"), EndsWith(here())));
  const auto g = compile([](const Tensor& x) { return x; }, {.name = "g", .donate = {3}});
  EXPECT_THAT(error_of([&] { (void)g(ones({2})); }), StartsWith("compile: donates argument 3; g"));
}

TEST(CompileMessages, StaticsOfLongDoublesAreToldApart) {
  const auto f = compile([](const Tensor& x, const Static<long double>& s) {
    return x * static_cast<float>(s.value == 0.1L);
  });
  const long double next = std::nextafter(0.1L, 1.0L);
  EXPECT_EQ(f(ones({1}), Static{0.1L}).to_vector<float>()[0], 1);
  EXPECT_EQ(f(ones({1}), Static{next}).to_vector<float>()[0], 0);
  EXPECT_EQ(f.stats().graphs, 2);
  const Static<long double> back = tree_map([](const Tensor& x) { return x; }, Static{next});
  EXPECT_EQ(back.value, next);
}

// ----- variables, which are read once: processes of their own

TEST(CompileMessagesDeathTest, LogCompiledWritesEachMissOnStderr) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  setenv("HEDDLE_LOG_COMPILED", "1", 1);
  const auto program = [] {
    const auto f = compile([](const Tensor& x) { return x * 2.0; }, {.name = "f"});
    for (const int64_t size : {3, 4, 3}) (void)f(ones({size}));
    std::_Exit(0);
  };
  EXPECT_EXIT(program(), ::testing::ExitedWithCode(0),
              "^heddle: f: graph 1 for the call at [^\n]*: it is the first call\n"
              "heddle: f: graph 2 for the call at [^\n]*: arg0 is f32\\[4\\]; in graph 1 it is "
              "f32\\[3\\]\n$");
  unsetenv("HEDDLE_LOG_COMPILED");
}

TEST(CompileMessagesDeathTest, CheckCompiledComparesEachCallWithItsTrace) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  setenv("HEDDLE_CHECK_COMPILED", "1", 1);
  const auto program = [] {
    double rate = 2;
    const auto f = compile([&](const Tensor& x) { return x * rate; }, {.name = "f"});
    (void)f(ones({3}));
    (void)f(ones({3}));
    rate = 3;
    std::fputs(error_of([&] { (void)f(ones({3})); }).c_str(), stderr);
    std::_Exit(0);
  };
  EXPECT_EXIT(program(), ::testing::ExitedWithCode(0),
              "^f: it is another function than when graph 1 was traced at [^\n]*: a number or an "
              "attribute of constant f32\\[\\] is another[^\n]*$");
  unsetenv("HEDDLE_CHECK_COMPILED");
}

}  // namespace
}  // namespace heddle
