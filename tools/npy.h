// NumPy's .npy files: arrays between files and literals. Format: numpy.lib.format, versions 1 to 3.
// Files are hostile input.
#pragma once

#include <string>
#include <string_view>

#include "heddle/base/status.h"
#include "heddle/hlo/literal.h"

namespace heddle::tools {

// An array from the bytes of a .npy file; C or Fortran order, little-endian. bf16 comes as numpy's
// 2-byte void ('V2'). errors: InvalidArgument for what is no such file, a dtype that has no
// counterpart, or a size that does not fit the bytes
StatusOr<Literal> read_npy(std::string_view bytes);

// The bytes of a .npy file, version 1, C order. bf16 becomes '|V2', f8 and smaller types '|u1'.
StatusOr<std::string> write_npy(const Literal& literal);

}  // namespace heddle::tools
