#include "heddle/transform/trip_count.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "heddle/base/text/strings.h"
#include "heddle/transform/derivatives.h"

namespace heddle::transform {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

// Drops blanks and then `token` from the front of `text`; false if something else is there.
bool eat(std::string_view& text, std::string_view token) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  if (!text.starts_with(token)) return false;
  text.remove_prefix(token.size());
  return true;
}

}  // namespace

std::string trip_count_config(int64_t trips) {
  return base::cat(R"({"known_trip_count":{"n":")", trips, R"("}})");
}

std::optional<int64_t> known_trip_count(const hlo::Instruction& loop) {
  constexpr std::string_view kKey = R"("known_trip_count")";
  std::string_view text = loop.extras->backend_config;
  size_t at = text.find(kKey);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + kKey.size());
  for (std::string_view token : {":", "{", R"("n")", ":"}) {
    if (!eat(text, token)) return std::nullopt;
  }
  eat(text, "\"");  // JSON writes 64-bit numbers as text; plain numbers are read too
  int64_t trips = 0;
  auto result = std::from_chars(text.data(), text.data() + text.size(), trips);
  if (result.ec != std::errc() || trips < 0) return std::nullopt;
  return trips;
}

std::optional<int64_t> greatest_trip_count(const hlo::Instruction& loop) {
  const std::string_view value = hlo::frontend_attribute(loop, kMaxSteps);
  int64_t steps = 0;
  const auto result = std::from_chars(value.data(), value.data() + value.size(), steps);
  if (result.ec == std::errc() && result.ptr == value.data() + value.size() && steps >= 0)
    return steps;
  return known_trip_count(loop);
}

hlo::FrontendAttributes bounds_of(const hlo::Instruction& loop) {
  hlo::FrontendAttributes out;
  const std::string_view lengths = hlo::frontend_attribute(loop, kBlockLengths);
  if (!lengths.empty()) out.emplace_back(kBlockLengths, lengths);
  if (const auto most = greatest_trip_count(loop)) out.emplace_back(kMaxSteps, base::cat(*most));
  return out;
}

}  // namespace heddle::transform
