// docs/ops.md says what the definitions say. UPDATE_GOLDEN=1 writes it anew (./dev docs).
#include "heddle/tests/laws/ops_page.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "heddle/base/support_test.h"
#include "heddle/tests/laws/public_functions.h"

namespace heddle::laws {
namespace {

constexpr const char* kPath = "docs/ops.md";

TEST(OpsPage, IsWhatTheDefinitionsSay) {
  std::string page = ops_page();
  if (const char* update = std::getenv("UPDATE_GOLDEN"); update && std::string(update) == "1")
    std::ofstream(kPath) << page;
  std::ifstream in(kPath);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_EQ(text.str(), page) << kPath << " is out of date: run ./dev docs";
}

TEST(OpsPage, HasEveryPublicFunction) { EXPECT_THAT(ops_page_gaps(), IsEmpty()); }

std::vector<std::string> told(const PublicHeader& header) {
  std::vector<std::string> out;
  for (const PublicFunction& f : header.functions)
    out.push_back(f.name + " | " + f.signature + " | " + f.summary);
  return out;
}

TEST(PublicFunctions, AreReadWithTheirComments) {
  const char* text = R"(// Things. And more
// of them.
#pragma once

namespace heddle::box {

// Opens x [.., n]
//
// of  what  it is told. The rest
// errors: none
Tensor open(Operand x, double by = 1,
            SourceLocation at = SourceLocation::here());
Tensor shut(Operand x);  // the other way: e
struct Lid {
  int size = 0;  // not a function(of its own);
};
template <class T>
requires std::is_arithmetic_v<T> Tensor lid(T of, Lid lid = {}) {
  return open(of);
}
template <class A, class B>
requires std::is_arithmetic_v<A> && std::is_arithmetic_v<B> Tensor both(A a, B b);

Tensor silent(Operand x);

namespace box_internal {
Tensor hidden(Operand x);
}  // namespace box_internal
}  // namespace heddle::box
)";
  PublicHeader header = parse_header("box/box.h", text);
  EXPECT_EQ(header.summary, "Things");
  EXPECT_THAT(told(header),
              ElementsAre("box::open | Tensor open(Operand x, double by = 1) | Opens x [.., n]",
                          "box::shut | Tensor shut(Operand x) | the other way: e",
                          "box::lid | Tensor lid(T of, Lid lid = {}) | ",
                          "box::both | Tensor both(A a, B b) | ",
                          "box::silent | Tensor silent(Operand x) | "));
}

// A comment is of the declaration that follows and of that one's overloads. Whatever else stands
// below it has no comment, and HasEveryPublicFunction says so.
TEST(PublicFunctions, TakeNoCommentOfAnotherOne) {
  const char* text = R"(namespace heddle {
// The sum.
Tensor psum(Operand x);
Tensor psum(Operand x, int64_t axis);
Tensor pmax(Operand x);
Tensor psum(Operand x, double scale);

// How a lid is made.
struct Lid {};
Lid(Tensor (*)(Operand)) -> Lid;
Tensor lid(Lid lid);
enum class Side { kLeft };  // of a lid
// Scaled.
Tensor selu(Operand x);
Tensor silu(Operand x);                             // x * sigmoid(x)
inline Tensor swish(Operand x) { return silu(x); }  // silu
inline Tensor twice(Operand x) {
  return x + x;  // no comment of the function
}
using Other = Lid;  // not of hidden()
Tensor hidden(Operand x);
}  // namespace heddle
)";
  EXPECT_THAT(
      told(parse_header("box/box.h", text)),
      ElementsAre("psum | Tensor psum(Operand x) | The sum",
                  "psum | Tensor psum(Operand x, int64_t axis) | The sum",
                  "pmax | Tensor pmax(Operand x) | ",
                  "psum | Tensor psum(Operand x, double scale) | The sum",
                  "lid | Tensor lid(Lid lid) | ", "selu | Tensor selu(Operand x) | Scaled",
                  "silu | Tensor silu(Operand x) | x * sigmoid(x)",
                  "swish | Tensor swish(Operand x) | silu", "twice | Tensor twice(Operand x) | ",
                  "hidden | Tensor hidden(Operand x) | "));
}

}  // namespace
}  // namespace heddle::laws
