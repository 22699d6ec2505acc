// Joining text: cat(1, " of ", x) and join(list, ",").
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace heddle::base {

namespace strings_internal {

inline void append_to(std::string& out, std::string_view text) { out.append(text); }
inline void append_to(std::string& out, char c) { out.push_back(c); }
template <std::same_as<bool> T>  // a template, since otherwise pointers would convert to bool
void append_to(std::string& out, T b) {
  out.append(b ? "true" : "false");
}

void append_number(std::string& out, long long value);
void append_number(std::string& out, unsigned long long value);
void append_number(std::string& out, float value);
void append_number(std::string& out, double value);
void append_number(std::string& out, long double value);

template <std::integral T>
requires(!std::same_as<T, bool> && !std::same_as<T, char>) void append_to(std::string& out,
                                                                          T value) {
  using Wide = std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>;
  append_number(out, static_cast<Wide>(value));
}
template <std::floating_point T>
void append_to(std::string& out, T value) {
  append_number(out, value);
}

// Whatever has to_string(): shapes, dtypes, ids.
template <class T>
requires(!std::convertible_to<T, std::string_view> && !std::integral<T> && requires(const T& t) {
  { to_string(t) } -> std::convertible_to<std::string_view>;
}) void append_to(std::string& out, const T& value) {
  out.append(to_string(value));
}

}  // namespace strings_internal

// Appends each part to `out`: text, characters, numbers, and anything with a to_string().
template <class... Parts>
void append(std::string& out, const Parts&... parts) {
  (strings_internal::append_to(out, parts), ...);
}

// Returns the parts as one string.
template <class... Parts>
[[nodiscard]] std::string cat(const Parts&... parts) {
  std::string out;
  append(out, parts...);
  return out;
}

// Returns the items of a range separated by `separator`.
template <class Range>
[[nodiscard]] std::string join(const Range& range, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& item : range) {
    if (!first) out.append(separator);
    first = false;
    append(out, item);
  }
  return out;
}

}  // namespace heddle::base
