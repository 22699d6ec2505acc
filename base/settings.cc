#include "heddle/base/settings.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <vector>

#include "heddle/base/text/near_name.h"
#include "heddle/base/text/strings.h"

namespace heddle {
namespace settings_internal {
namespace {

constexpr std::string_view kPrefix = "HEDDLE_", kTestPrefix = "HEDDLE_TEST_";

std::optional<bool> read_flag(std::string_view text) {
  for (const char* yes : {"1", "on", "yes", "true"})
    if (text == yes) return true;
  for (const char* no : {"0", "off", "no", "false"})
    if (text == no) return false;
  return std::nullopt;
}

std::optional<int64_t> read_number(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < 0) return std::nullopt;
  return value;
}

constexpr std::string_view kTrace = row(Setting::kTrace).name,
                           kPlugins = row(Setting::kPlugins).name;

// NAME:PATH,NAME:PATH
bool are_plugins(std::string_view text) {
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const size_t colon = item.find(':');
    if (colon == 0 || colon == item.npos || colon + 1 == item.size()) return false;
  }
  return true;
}

// What is wrong with a value: "it must be ..".
std::string_view wanted(const Row& row, std::string_view value) {
  if (row.name == kTrace && value == "-")
    return "it must be the path of a file; ./- is one of that name";
  if (row.name == kPlugins && !are_plugins(value))
    return "it must be NAME:PATH, with commas between several";
  switch (row.type) {
    case Type::kFlag: return read_flag(value) ? "" : "it must be 1 or 0, on or off";
    case Type::kNumber: return read_number(value) ? "" : "it must be a number, 0 or more";
    case Type::kText: return "";
  }
  return "";
}

// Anybody may set a variable: no control characters, and no long texts.
std::string quoted(std::string_view text) {
  constexpr size_t kMost = 100;
  std::string out = "\"";
  for (char c : text.substr(0, kMost)) {
    const bool is_plain = c >= ' ' && c != 127;
    out += is_plain ? c : '?';
  }
  return out + (text.size() > kMost ? "..\"" : "\"");
}

std::string unknown(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Row& row : kRows) names.push_back(row.name);
  const std::string_view nearest = base::near_name(name, names, kPrefix.size());
  return base::cat(
      "the environment has ", quoted(name), ", which Heddle does not read; ",
      nearest.empty() ? "heddle info lists what it reads" : base::cat("is it ", nearest, "?"));
}

const Row* find(std::string_view name) {
  const Row* found = std::ranges::find(kRows, name, &Row::name);
  return found == std::end(kRows) ? nullptr : found;
}

void tell_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const std::string& problem : setting_problems())
      std::fprintf(stderr, "heddle: %s\n", problem.c_str());
  });
}

// The value in force, and whether it is from the environment.
struct Value {
  std::string text;
  bool is_set;
};
Value value_of(const Row& row) {
  std::string set = base::environment_variable(row.name.data());
  // Plugins are read as far as possible. A plugin that a program asks for has errors of its own.
  const bool is_used = row.name == kPlugins || wanted(row, set).empty();
  if (!set.empty() && is_used) return {std::move(set), true};
  return {std::string(row.fallback), false};
}

constexpr bool is_known_as_written() {
  for (const Row& row : kRows)
    if (!row.name.starts_with(kPrefix) || row.name.starts_with(kTestPrefix)) return false;
  return true;
}
static_assert(is_known_as_written());

}  // namespace

std::string text(Setting which) {
  tell_once();
  return value_of(row(which)).text;
}

bool flag(Setting which) { return read_flag(text(which)).value_or(false); }

int64_t number(Setting which) { return read_number(text(which)).value_or(0); }

}  // namespace settings_internal

using namespace settings_internal;

std::vector<SettingValue> settings() {
  std::vector<SettingValue> all;
  for (const Row& row : kRows) {
    if (row.is_for_tests) continue;
    Value value = value_of(row);
    all.push_back({std::string(row.name), std::move(value.text),
                   value.is_set ? "environment" : "default", std::string(row.meaning)});
  }
  return all;
}

std::vector<std::string> setting_problems() {
  std::vector<std::string> problems;
  char** each = __atomic_load_n(&environ, __ATOMIC_ACQUIRE);
  for (; each != nullptr && *each != nullptr; ++each) {
    const std::string_view variable = *each;
    const std::string_view name = variable.substr(0, variable.find('='));
    if (!name.starts_with(kPrefix) || name.starts_with(kTestPrefix)) continue;
    const Row* row = find(name);
    if (row == nullptr) {
      problems.push_back(unknown(name));
      continue;
    }
    const std::string_view value =
        name.size() < variable.size() ? variable.substr(name.size() + 1) : "";
    const std::string_view must = value.empty() ? "" : wanted(*row, value);
    if (!must.empty())
      problems.push_back(base::cat(name, " is ", quoted(value), "; ", must, "; ",
                                   row->name == kPlugins   ? "what is behind that is not read"
                                   : row->fallback.empty() ? "it counts as not set"
                                                           : "it counts as ",
                                   row->name == kPlugins ? "" : row->fallback));
  }
  return problems;
}

namespace base {

std::string environment_variable(const char* name) {
  const char* value = secure_getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace base
}  // namespace heddle
