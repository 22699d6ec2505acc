// What a program sets instead of environment variables.
//
//   int main() {
//     throw_if_error(configure({.cache_dir = "/var/cache/train", .log_compiled = true}));
//
// base/settings.def has the meanings, and docs/observability.md#environment-variables a table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "heddle/base/status.h"

namespace heddle {

// A field for each variable: .cache_dir for HEDDLE_CACHE_DIR. A field that is not set leaves the
// variable in force, or the default.
struct Config {
#define HEDDLE_SETTING(id, field, type, name, fallback, meaning) std::optional<type> field = {};
#define HEDDLE_TEST_SETTING(id, type, name, fallback, meaning)
#include "heddle/base/settings.def"
#undef HEDDLE_SETTING
#undef HEDDLE_TEST_SETTING
};

// Sets them for the process. A later call sets more.
//
// errors  InvalidArgument for a value that is none, FailedPrecondition for a setting that Heddle
//         has read with another value: call it before the rest of Heddle. Then it sets nothing.
[[nodiscard]] Status configure(const Config& config);

}  // namespace heddle
