// The settings that Heddle reads: environment variables, or what the program has set in their place
// (base/config.h). base/settings.def is the list of them; nothing else of Heddle calls getenv().
//
//   if (setting<Setting::kPerf>()) ..                        // bool
//   const std::string folder = setting<Setting::kDump>();
//
// The first read writes to stderr, once a process, which variables named HEDDLE_.. nothing reads,
// with the nearest name, and which have an invalid value: those have their default. A process with
// more rights than its caller (setuid) has the defaults.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace heddle {

enum class Setting : uint8_t {
#define HEDDLE_SETTING(id, field, type, name, fallback, meaning) id,
#define HEDDLE_TEST_SETTING(id, type, name, fallback, meaning) id,
#include "heddle/base/settings.def"
#undef HEDDLE_SETTING
#undef HEDDLE_TEST_SETTING
};

namespace settings_internal {

enum class Type : uint8_t { kFlag, kNumber, kText };

template <class T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, bool>) return Type::kFlag;
  if constexpr (std::is_same_v<T, int64_t>) return Type::kNumber;
  if constexpr (std::is_same_v<T, std::string>) return Type::kText;
}

struct Row {
  Type type;
  std::string_view field;  // of Config; "": it is for tests
  std::string_view name;
  std::string_view fallback;
  std::string_view meaning;
};

inline constexpr Row kRows[] = {
#define HEDDLE_SETTING(id, field, type, name, fallback, meaning) \
  {type_of<type>(), #field, name, fallback, meaning},
#define HEDDLE_TEST_SETTING(id, type, name, fallback, meaning) \
  {type_of<type>(), "", name, fallback, meaning},
#include "heddle/base/settings.def"
#undef HEDDLE_SETTING
#undef HEDDLE_TEST_SETTING
};

constexpr const Row& row(Setting which) { return kRows[static_cast<size_t>(which)]; }

bool flag(Setting which);
int64_t number(Setting which);
std::string text(Setting which);

}  // namespace settings_internal

// The current value, or the default. An empty value counts as not set. Flags are 1, on, yes, true
// and 0, off, no, false.
template <Setting which>
[[nodiscard]] auto setting() {
  using settings_internal::Type;
  constexpr Type kType = settings_internal::row(which).type;
  if constexpr (kType == Type::kFlag) return settings_internal::flag(which);
  if constexpr (kType == Type::kNumber) return settings_internal::number(which);
  if constexpr (kType == Type::kText) return settings_internal::text(which);
}

// A row of `heddle info`.
struct SettingValue {
  std::string name;
  std::string value;    // in force; "" if there is none
  std::string from;     // "program", "environment", "default"
  std::string meaning;
};
// All but those of tests, in the order of the list.
[[nodiscard]] std::vector<SettingValue> settings();

// What is wrong with the environment, a sentence each. The first read writes these to stderr.
[[nodiscard]] std::vector<std::string> setting_problems();

namespace base {

// A variable that is not Heddle's, as HOME; empty if there is none, and in a setuid process.
[[nodiscard]] std::string environment_variable(const char* name);

}  // namespace base
}  // namespace heddle
