// docs/ops.md says what the definitions say. UPDATE_GOLDEN=1 writes it anew (./dev docs).
#include "heddle/tests/laws/ops_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "heddle/tests/laws/public_functions.h"

namespace heddle::laws {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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
                          "box::lid | Tensor lid(T of, Lid lid = {}) | Opens x [.., n]",
                          "box::both | Tensor both(A a, B b) | Opens x [.., n]",
                          "box::silent | Tensor silent(Operand x) | "));
}

}  // namespace
}  // namespace heddle::laws
