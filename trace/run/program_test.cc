// What Program's own errors say, and of which line.
#include "heddle/trace/run/program.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "heddle/base/support_test.h"
#include "heddle/hlo/text.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

TEST(Program, CanBeDrawn) {
  const Program program = trace([](Tensor a) { return a + 1; }, ones({2}));
  EXPECT_THAT(program.dot(), StartsWith("digraph \"main\" {"));
  EXPECT_THAT(program.html(), HasSubstr("main: the entry; "));
  EXPECT_THAT(program.html(), HasSubstr("program_test.cc:"));
}

TEST(Program, ErrorsOfACallHaveItsLine) {
  const Tensor x = ones({2}), y = ones({3});
  const Program one = trace([](Tensor a) { return a + 1; }, x);
  const Program four =
      trace([](Tensor a, Tensor b, Tensor c, Tensor d) { return a + b + c + d; }, x, x, x, x);
  EXPECT_THAT(error_of([&] { one.call<Tensor>(y); }), EndsWith(here()));
  EXPECT_THAT(error_of([&] { one.call<Tensor>(y); }),
              StartsWith("call: argument arg0 is f32[3]; the program was traced with f32[2]"));
  EXPECT_THAT(error_of([&] { one.call<Tensor>(); }), EndsWith(here()));
  EXPECT_THAT(error_of([&] { one.call<Tensor>(x, x); }), EndsWith(here()));
  EXPECT_THAT(error_of([&] { one.call<Tensor>(x, x, x); }), EndsWith(here()));
  EXPECT_THAT(error_of([&] { four.call<Tensor>(x, x, x, y); }), EndsWith(here()));
  EXPECT_THAT(four.call<Tensor>(x, x, x, x).to_vector<float>(), testing::ElementsAre(4, 4));
  EXPECT_THAT(error_of([&] { one.call<Tensor>(placeholder({2}, f32)); }),
              StartsWith("call: argument arg0 is placeholder #"));
  EXPECT_THAT(
      error_of([&] { one.call<Tensor>(Tensor()); }),
      StartsWith("call: argument arg0 has no value (a default-constructed Tensor); assign"));
}

TEST(Program, CallsWithMoreArgumentsTakeALine) {
  const Tensor x = ones({2}), y = ones({3});
  auto sum_of_nine = [](Tensor a, Tensor b, Tensor c, Tensor d, Tensor e, Tensor f, Tensor g,
                        Tensor h, Tensor i) { return a + b + c + d + e + f + g + h + i; };
  const Program nine = trace(sum_of_nine, x, x, x, x, x, x, x, x, x);
  EXPECT_THAT(nine.call<Tensor>(x, x, x, x, x, x, x, x, x).to_vector<float>(), ElementsAre(9, 9));
  const SourceLocation at = SourceLocation::here();
  EXPECT_THAT(error_of([&] { nine.call_at<Tensor>(at, x, x, x, x, x, x, x, x, y); }),
              HasSubstr(here(at)));
  const Program five =
      trace([](Tensor a, Tensor b, Tensor c, Tensor d, Tensor e) { return a + b + c + d + e; }, x,
            x, x, x, x);
  EXPECT_THAT(error_of([&] { five.call<Tensor>(x, x, x, x, y); }), EndsWith(here()));
}

using Named = std::map<std::string, Tensor>;
using List = std::vector<Tensor>;
struct Maybe {
  Tensor a;
  std::optional<Tensor> b, c;
  static constexpr auto kFields =
      fields(field("a", &Maybe::a), field("b", &Maybe::b), field("c", &Maybe::c));
};

// All of these have the leaves that the program takes, in number and type.
TEST(Program, CallTakesTheStructuresThatItWasTracedWith) {
  const Tensor x = ones({2});
  const Program map = trace([](Named t) { return t["a"] - t["b"]; }, Named{{"a", x}, {"b", x}});
  EXPECT_THAT(error_of([&] {
                map.call<Tensor>(Named{{"b", x}, {"z", x}});
              }),
              StartsWith("call: argument arg0 has key 'z'; it must be a map with the keys {a, b}"));
  EXPECT_THAT(error_of([&] { map.call<Tensor>(std::pair(x, x)); }),
              StartsWith("call: argument arg0 is a tuple of 2; it must be a map with the keys"));
  const Program maybe =
      trace([](Maybe o) { return o.b ? o.a + *o.b : o.a - *o.c; }, Maybe{x, x, {}});
  EXPECT_THAT(error_of([&] {
                maybe.call<Tensor>(Maybe{x, {}, x});
              }),
              StartsWith("call: argument arg0.b is an empty optional; it must be a tensor"));
  const Program lists = trace([](List a, List b) { return a[1] - b[0]; }, List{x, x}, List{x});
  EXPECT_THAT(error_of([&] {
                lists.call<Tensor>(List{x}, List{x, x});
              }),
              StartsWith("call: argument arg0 is a vector of 1; it must be a vector of 2"));
  EXPECT_THAT(error_of([&] {
                lists.call<Tensor>(List{x, x, x});
              }),
              StartsWith("call: the program was given 1 argument; it takes 2"));
  EXPECT_THAT(lists.call<Tensor>(List{x, 3 * x}, List{x}).to_vector<float>(), ElementsAre(2, 2));
  EXPECT_THAT(map.call<Tensor>(Named{{"a", x}, {"b", x}}).to_vector<float>(), ElementsAre(0, 0));
  EXPECT_THAT(maybe.call<Tensor>(Maybe{x, x, {}}).to_vector<float>(), ElementsAre(2, 2));
}

TEST(Program, CallNamesWhatItReturns) {
  const Tensor x = ones({2});
  const Program one = trace([](Tensor a) { return a; }, x);
  EXPECT_THAT(error_of([&] { one.call<List>(x); }),
              StartsWith("call: the program returns a tensor; call<..> must name the type"));
}

// A struct may hold a list of its own kind, and is a tree then too.
struct Branch {
  Tensor w;
  std::vector<Branch> parts;
  static constexpr auto kFields = fields(field("w", &Branch::w), field("parts", &Branch::parts));
};
static_assert(TensorTree<Branch>);

TEST(Program, TakesStructsOfTheirOwnKind) {
  const Tensor x = ones({2});
  const Branch tree{x, {{x, {}}, {x, {{x, {}}}}}};
  const Program p = trace([](Branch b) { return b.w + b.parts[1].parts[0].w; }, tree);
  EXPECT_THAT(p.call<Tensor>(tree).to_vector<float>(), ElementsAre(2, 2));
  EXPECT_THAT(error_of([&] {
                p.call<Tensor>(Branch{x, {{x, {}}, {x, {}}}});
              }),
              StartsWith("call: argument arg0.parts[1].parts is a vector of 0; it must be a vector "
                         "of 1"));
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
