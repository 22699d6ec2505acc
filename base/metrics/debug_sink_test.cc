#include "heddle/base/metrics/debug_sink.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace heddle {
namespace {

std::string written_by(DebugSink sink) {
  const DebugSink before = set_debug_sink(std::move(sink));
  ::testing::internal::CaptureStderr();
  debug_internal::write_lines("a line\n");
  std::string text = ::testing::internal::GetCapturedStderr();
  set_debug_sink(before);
  return text;
}

TEST(DebugSink, GetsTheLines) {
  std::string lines;
  EXPECT_EQ(written_by([&](std::string_view given) { lines += given; }), "");
  EXPECT_EQ(lines, "a line\n");
  EXPECT_EQ(written_by({}), "a line\n") << "without one they go to stderr";
}

TEST(DebugSink, ThatThrowsLosesNoLine) {
  EXPECT_EQ(written_by([](std::string_view) { throw std::runtime_error("no disk"); }),
            "heddle: the debug sink threw no disk; it was given:\na line\n");
  EXPECT_EQ(written_by([](std::string_view) { throw 5; }),
            "heddle: the debug sink threw what is no std::exception; it was given:\na line\n");
}

}  // namespace
}  // namespace heddle
