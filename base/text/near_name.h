// The name that was meant, where one is given that nobody knows.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace heddle::base {

// The one of `known` that is nearest to `name` by letters to add, drop, replace or swap with the
// next: at most four, and a third of those behind the first `shared`. Empty where none is so near,
// and for a name of more than 100 letters.
[[nodiscard]] std::string_view near_name(std::string_view name,
                                         std::span<const std::string_view> known,
                                         size_t shared = 0);

}  // namespace heddle::base
