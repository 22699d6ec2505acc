// Arrays are printed as numpy prints them: printed.txt has numpy's own text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heddle/base/text/strings.h"
#include "heddle/tests/numpy/reference.h"
#include "heddle/trace/printing.h"

namespace heddle::numpy_test {
namespace {

PrintOptions options_of(const std::string& words) {
  PrintOptions out;
  if (words.empty()) return out;
  for (const std::string& word : split(words, ",")) {
    const std::vector<std::string> sides = split(word, "=");
    const int value = std::stoi(sides[1]);
    if (sides[0] == "precision")
      out.precision = value;
    else if (sides[0] == "threshold")
      out.threshold = value;
    else if (sides[0] == "edgeitems")
      out.edge_items = value;
    else if (sides[0] == "linewidth")
      out.line_width = value;
    else if (sides[0] == "suppress")
      out.suppress = value != 0;
    else
      ADD_FAILURE() << words;
  }
  return out;
}

TEST(Printed, AsNumpyPrints) {
  const std::vector<std::string> lines = lines_of("tests/numpy/printed.txt");
  int count = 0;
  for (size_t i = 0; i < lines.size();) {
    ASSERT_TRUE(lines[i].starts_with("= ")) << lines[i];
    const std::vector<std::string> head = split(lines[i].substr(2), "; ");
    ASSERT_EQ(head.size(), 4u) << lines[i];
    std::string want;
    for (++i; i < lines.size() && !lines[i].starts_with("= "); ++i)
      base::append(want, want.empty() ? "" : "\n", lines[i]);
    const Literal literal = literal_of(shape_of(head[0], head[1]), head[3]);
    EXPECT_EQ(array_to_string(literal, options_of(head[2])), want)
        << head[0] << "[" << head[1] << "] " << head[2];
    ++count;
  }
  EXPECT_GE(count, 60);
  RecordProperty("arrays", count);
}

}  // namespace
}  // namespace heddle::numpy_test
