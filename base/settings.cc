#include "heddle/base/settings.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/base/config.h"
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
                           kPlugins = row(Setting::kPlugins).name,
                           kVectorBytes = row(Setting::kCpuVectorBytes).name;

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
  if (row.name == kVectorBytes && value != "64" && value != "32" && value != "16")
    return "it must be 64, 32 or 16";
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

// What the program has set, and which settings were read. It is of the process, as the environment
// is that it stands for.
struct Program {
  std::mutex mutex;
  std::array<std::optional<std::string>, std::size(kRows)> set;
  std::array<bool, std::size(kRows)> is_read;
};
Program& program() {
  static Program* const kProgram = new Program();  // never destroyed: threads may outlive main
  return *kProgram;
}

size_t row_number(const Row& row) { return static_cast<size_t>(&row - kRows); }

// The value in force, and where it is from.
struct Value {
  std::string text;
  const char* from;
};
// With the program's mutex locked.
Value value_of(const Row& row) {
  if (const std::optional<std::string>& set = program().set[row_number(row)])
    return {*set, "program"};
  std::string set = base::environment_variable(row.name.data());
  // Plugins are read as far as possible. A plugin that a program asks for has errors of its own.
  const bool is_used = row.name == kPlugins || wanted(row, set).empty();
  if (!set.empty() && is_used) return {std::move(set), "environment"};
  return {std::string(row.fallback), "default"};
}

std::string written(bool value) { return value ? "1" : "0"; }
std::string written(int64_t value) { return std::to_string(value); }
std::string written(const std::string& value) { return value; }

// "on" is "1".
bool is_same(Type type, std::string_view a, std::string_view b) {
  switch (type) {
    case Type::kFlag: return read_flag(a) == read_flag(b);
    case Type::kNumber: return read_number(a) == read_number(b);
    case Type::kText: return a == b;
  }
  return false;
}

// "cache_bytes is "-1"; it must be a number, 0 or more"
Status check_setting(const Row& row, const std::string& value) {
  const std::string_view must = value.empty() ? "" : wanted(row, value);
  if (!must.empty())
    return base::invalid_argument("configure: ", row.field, " is ", quoted(value), "; ", must);
  const std::string now = value_of(row).text;
  if (!program().is_read[row_number(row)] || is_same(row.type, now, value)) return {};
  return base::failed_precondition("configure: ", row.field, " is ", quoted(value),
                                   ", and Heddle has read ", row.name, " as ", quoted(now),
                                   " before; call configure before everything else of Heddle");
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
  const std::lock_guard lock(program().mutex);
  program().is_read[static_cast<size_t>(which)] = true;
  return value_of(row(which)).text;
}

bool flag(Setting which) { return read_flag(text(which)).value_or(false); }

int64_t number(Setting which) { return read_number(text(which)).value_or(0); }

}  // namespace settings_internal

using namespace settings_internal;

std::vector<SettingValue> settings() {
  std::vector<SettingValue> all;
  const std::lock_guard lock(program().mutex);
  for (const Row& row : kRows) {
    if (row.field.empty()) continue;
    Value value = value_of(row);
    all.push_back(
        {std::string(row.name), std::move(value.text), value.from, std::string(row.meaning)});
  }
  return all;
}

Status configure(const Config& config) {
  std::vector<std::pair<const Row*, std::string>> values;
#define HEDDLE_SETTING(id, field, type, name, fallback, meaning) \
  if (config.field) values.emplace_back(&row(Setting::id), written(*config.field));
#define HEDDLE_TEST_SETTING(id, type, name, fallback, meaning)
#include "heddle/base/settings.def"
#undef HEDDLE_SETTING
#undef HEDDLE_TEST_SETTING
  const std::lock_guard lock(program().mutex);
  for (const auto& [row, value] : values) HEDDLE_RETURN_IF_ERROR(check_setting(*row, value));
  for (auto& [row, value] : values) program().set[row_number(*row)] = std::move(value);
  return {};
}

namespace {

bool is_set_by_program(const Row& row) {
  const std::lock_guard lock(program().mutex);
  return program().set[row_number(row)].has_value();
}

}  // namespace

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
    if (!must.empty() && !is_set_by_program(*row))
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
