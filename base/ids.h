// Typed 32-bit ids: an index into a table that cannot be mixed up with an index into another.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

#include "heddle/base/text/strings.h"

namespace heddle {

template <class Tag>
struct Id {
  uint32_t value = UINT32_MAX;  // UINT32_MAX: none
  constexpr Id() = default;
  constexpr explicit Id(size_t v) : value(static_cast<uint32_t>(v)) {}
  [[nodiscard]] constexpr bool valid() const { return value != UINT32_MAX; }
  friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

template <class Tag>
std::string to_string(Id<Tag> id) {
  return id.valid() ? base::cat(id.value) : std::string("none");
}

}  // namespace heddle

template <class Tag>
struct std::hash<heddle::Id<Tag>> {
  size_t operator()(heddle::Id<Tag> id) const { return id.value * 0x9E3779B97F4A7C15ull; }
};
