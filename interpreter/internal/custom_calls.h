// How custom-call finds its functions.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/interpreter/custom_call.h"

namespace heddle::interpreter {

// The function of a target, registered or built in; null where there is none.
std::shared_ptr<const CustomCallFunction> find_custom_call(std::string_view target);

// Of the targets that are built in: empty where there is none.
CustomCallFunction find_builtin_call(std::string_view target);
std::vector<std::string> builtin_call_targets();

}  // namespace heddle::interpreter
