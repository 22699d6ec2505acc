// XLA_FLAGS, which XLA's plugins read when their first client is made: they end the process over
// what they do not like in it, where a user needs an error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/status.h"

namespace heddle::pjrt {

// The words of a text of flags as XLA splits it: `--a=1 --b="x y" end --c` gives --a=1, --b=x y.
// The first word without a dash ends it.
[[nodiscard]] std::vector<std::string> flag_words(std::string_view text);

// What the library's XLA would end the process over is told before it is loaded, as far as the file
// tells: flags by the names that stand in it, and the values of truths and numbers by the types of
// the fields of XLA's options, whose description stands in it too. The rest, such as the words that
// one flag alone takes, is told by nothing but XLA. A library that has nothing of XLA_FLAGS in it
// is no XLA.
// errors   FailedPrecondition that names the flag, what is wrong with it, and the repair
[[nodiscard]] Status check_xla_flags(const std::string& plugin, const std::string& library);

// Adds an option of XLA's backend to XLA_FLAGS, unless that names an option of the name. Where it
// names a file, it becomes what stands in it.
void add_xla_option(const std::string& name, int64_t value);

}  // namespace heddle::pjrt
