#include "heddle/base/text/text_cursor.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace heddle {
namespace {

TEST(TextCursor, SkipsBlanksAndComments) {
  TextCursor in(" \t// to the end\n/* a * / b */ x");
  EXPECT_EQ(in.word(), "x");
  EXPECT_TRUE(in.at_end());
}

TEST(TextCursor, EndsAWordBeforeAnArrow) {
  TextCursor in("a-b.c_1->d");
  EXPECT_EQ(in.word(), "a-b.c_1");
  EXPECT_TRUE(in.accept("->"));
  EXPECT_EQ(in.word(), "d");
}

TEST(TextCursor, ReadsNumbersOfSixtyFourBits) {
  TextCursor in("-9223372036854775808 9223372036854775807");
  int64_t least = 0, most = 0;
  EXPECT_TRUE(in.read_int(least) && in.read_int(most));
  EXPECT_EQ(least, INT64_MIN);
  EXPECT_EQ(most, INT64_MAX);
}

TEST(TextCursor, RefusesNumbersOfMore) {
  TextCursor in("9223372036854775808");
  int64_t value = 0;
  EXPECT_FALSE(in.read_int(value));
  EXPECT_EQ(base::message_of(in.status()),
            "1:1: the number does not fit 64 bits\n9223372036854775808\n^");
}

TEST(TextCursor, UndoesTheEscapesOfC) {
  TextCursor in(R"('a\n\x41\101\'\"\\"')");
  std::string value;
  EXPECT_TRUE(in.read_string(value)) << in.status();
  EXPECT_EQ(value, "a\nAA'\"\\\"");
}

TEST(TextCursor, ReadsBackEveryByteThatWasQuoted) {
  std::string every;
  for (int c = 0; c < 256; ++c) every.append({static_cast<char>(c), '7'});
  std::string quoted, back;
  append_quoted(quoted, every);
  TextCursor in(quoted);
  EXPECT_TRUE(in.read_string(back) && in.at_end()) << in.status();
  EXPECT_EQ(back, every);
}

TEST(TextCursor, KeepsABraceGroupAsItStands) {
  TextCursor in(R"({ "}" : { } } rest)");
  std::string_view group;
  EXPECT_TRUE(in.read_braces(group));
  EXPECT_EQ(group, R"({ "}" : { } })");
  EXPECT_TRUE(is_brace_group(group));
  EXPECT_FALSE(is_brace_group("{}{}"));
  EXPECT_FALSE(is_brace_group("{\"}"));
}

TEST(TextCursor, KeepsTheFirstErrorAndReadsNothingAfterIt) {
  TextCursor in("a b");
  EXPECT_FALSE(in.expect('('));
  in.rewind(0);
  EXPECT_EQ(in.word(), "");
  EXPECT_FALSE(in.fail("later"));
  EXPECT_EQ(base::message_of(in.status()), "1:1: expected '(' but found 'a'\na b\n^");
}

TEST(TextCursor, PointsAtTheColumn) {
  EXPECT_EQ(point_at("one\ntwo\tthree\nfour", 8, "no"), "2:5: no\ntwo three\n    ^");
}

TEST(TextCursor, ShowsOfALongLineWhatIsAround) {
  std::string line = std::string(100, 'a') + "X" + std::string(100, 'b');
  EXPECT_EQ(point_at(line, 100, "no"), "1:101: no\n..." + std::string(60, 'a') + "X" +
                                           std::string(39, 'b') + "...\n" + std::string(63, ' ') +
                                           "^");
}

TEST(TextCursor, RefusesWhatIsNotClosed) {
  for (std::string_view text : {"/* a", "'a", "\"a\\\"", "{ {}", "{\"}"}) {
    TextCursor in(text);
    std::string value;
    std::string_view group;
    bool ok = in.peek() == '{' ? in.read_braces(group) : in.read_string(value);
    EXPECT_FALSE(ok) << text;
    EXPECT_NE(base::message_of(in.status()).find("1:1: the "), std::string::npos) << in.status();
    EXPECT_NE(base::message_of(in.status()).find("not closed"), std::string::npos) << in.status();
  }
}

}  // namespace
}  // namespace heddle
