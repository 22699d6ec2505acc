// Entries of a custom-call's backend_config that is a dictionary: {name = 3 : i64, ..}, as JAX
// writes it for typed calls, or {"name": 3, ..}.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::hlo {

// The value of entry `name` of a dictionary as text without its type; `found` is false where there
// is no such entry, or no dictionary. A name without a value has the value "true".
struct DictionaryEntry {
  bool found = false;
  std::string_view value;
};
DictionaryEntry find_entry(std::string_view dictionary, std::string_view name);

// Of a custom-call. errors: NotFound where there is none of the name; InvalidArgument where it is
// of another kind
[[nodiscard]] StatusOr<int64_t> config_integer(const Instruction& call, std::string_view name);
[[nodiscard]] StatusOr<double> config_number(const Instruction& call, std::string_view name);
[[nodiscard]] StatusOr<bool> config_boolean(const Instruction& call, std::string_view name);
[[nodiscard]] StatusOr<std::string> config_text(const Instruction& call, std::string_view name);

}  // namespace heddle::hlo
