#include "heddle/base/text/json.h"

#include <gtest/gtest.h>

namespace heddle::base {
namespace {

TEST(JsonText, EscapesWhatEndsAString) {
  EXPECT_EQ(json_text("a \"b\"\\\n\x01"), R"("a \"b\"\\\u000a\u0001")");
}

TEST(JsonText, KeepsUtf8AndReplacesWhatIsNone) {
  EXPECT_EQ(json_text("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"),
            "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"");
  EXPECT_EQ(json_text("a\xFF\xC3(\xE2\x82"), R"("a\ufffd\ufffd(\ufffd\ufffd")");
  EXPECT_EQ(json_text("\xC0\x80"), R"("\ufffd\ufffd")");
  EXPECT_EQ(json_text("\xED\xA0\x80"), R"("\ufffd\ufffd\ufffd")") << "half of a surrogate pair";
}

}  // namespace
}  // namespace heddle::base
