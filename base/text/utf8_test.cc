#include "heddle/base/text/utf8.h"

#include <gtest/gtest.h>

namespace heddle::base {
namespace {

TEST(Utf8, IsToldFromOtherBytes) {
  for (const char* text : {"", "plain", "na\u00efve", "\u20ac", "\U0001F600", "\x7f"})
    EXPECT_TRUE(is_valid_utf8(text)) << text;
  // Cut off, overlong, half of a pair, past the last character, a second byte alone.
  for (const char* text : {"\xc3", "\xe2\x82", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
                           "\xf4\x90\x80\x80", "\x80", "long enough for words \xff"})
    EXPECT_FALSE(is_valid_utf8(text)) << text;
  EXPECT_EQ(valid_utf8("a\xff\u00ef\xc3"), "a?\u00ef?");
}

TEST(Utf8, KnowsWhatATerminalWouldObey) {
  EXPECT_FALSE(has_control_characters("layers[0].w na\u00efve \U0001F600 \u00a0"));
  for (const char* text : {"\x1b[2J", "a\n", "\x7f", "a\u009b2J", "\u0080"})
    EXPECT_TRUE(has_control_characters(text)) << text;
  EXPECT_FALSE(has_control_characters("cut off \xc2"));
}

TEST(Utf8, ShowsWhatCannotBeShown) {
  EXPECT_EQ(printable("a na\u00efve 'name'"), "a na\u00efve 'name'");
  EXPECT_EQ(printable("a\nb\tc\x1b[2J\xff"), "a\\nb\\tc\\x1b[2J\\xff");
  EXPECT_EQ(printable("\u009b2J\u00ef"), "\\xc2\\x9b2J\u00ef");
}

}  // namespace
}  // namespace heddle::base
