// How custom-call finds its functions.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/hlo/custom_call.h"

namespace heddle::hlo {

// The function of a target, registered or built in; null where there is none.
std::shared_ptr<const CustomCallFunction> find_custom_call(std::string_view target);

// Of the targets that are built in: empty where there is none.
CustomCallFunction find_builtin_call(std::string_view target);
std::vector<std::string> builtin_call_targets();

// The value of entry `name` of a dictionary {name = value : type, ..} or {"name": value, ..}, as
// text without its type; `found` is false where there is no such entry, or no dictionary. A name
// without a value has the value "true".
struct DictionaryEntry {
  bool found = false;
  std::string_view value;
};
DictionaryEntry find_entry(std::string_view dictionary, std::string_view name);

}  // namespace heddle::hlo
