// What the tests of debug_print and its kin share: backends, and what is printed.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "heddle/heddle.h"
#include "heddle/pjrt/xla_cpu_library_test.h"
#include "heddle/trace/support_test.h"

namespace heddle {

// What is printed while it lives.
class Lines {
 public:
  Lines() {
    before_ = set_debug_sink([this](std::string_view lines) { text_ += lines; });
  }
  ~Lines() { set_debug_sink(std::move(before_)); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  // Since the last call.
  std::vector<std::string> take() {
    std::vector<std::string> out;
    size_t from = 0;
    for (size_t end; (end = text_.find('\n', from)) != std::string::npos; from = end + 1)
      out.push_back(text_.substr(from, end - from));
    EXPECT_EQ(from, text_.size()) << "a line without an end";
    text_.clear();
    return out;
  }

 private:
  DebugSink before_;
  std::string text_;
};

// The tangent of fn at x along dx.
template <class Fn>
Tensor pushed(const Fn& fn, const Tensor& x, const Tensor& dx) {
  return jvp(fn, std::tuple(x), std::tuple(dx)).second;
}

class Debug : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string name = GetParam();
    if (name == "xla") {
      static const bool there =
          !xla_cpu_library().empty() &&
          pjrt::register_plugin("debug-on-xla", {.library = xla_cpu_library()}).ok();
      if (!there) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
      scope_.emplace(*find_device("pjrt:debug-on-xla").value());
    } else {
      scope_.emplace(*find_device(name).value());
    }
  }
  Lines lines_;

 private:
  std::optional<DefaultDevice> scope_;
};

}  // namespace heddle
