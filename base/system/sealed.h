// Bytes that can tell whether they are whole: a mark, a checksum, then parts with their lengths.
// They are for files that may be cut off, changed or exchanged for another. The checksum is no
// signature: anybody can write one.
#pragma once

#include <string>
#include <string_view>

#include "heddle/base/status.h"

namespace heddle::base {

struct Sealed {
  std::string_view about;  // for people
  std::string_view key;    // says what the payload belongs to
  std::string_view payload;
};

std::string seal(const Sealed& parts);

// The parts, which point into `bytes`.
// errors: InvalidArgument that says what is wrong with the bytes
StatusOr<Sealed> open_sealed(std::string_view bytes);

}  // namespace heddle::base
