// NumPy's .npy files: arrays between bytes and literals. Format: numpy.lib.format, versions 1 to 3.
// Files are hostile input.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "heddle/base/status.h"
#include "heddle/hlo/literal/literal.h"

namespace heddle::hlo {

// An array from the bytes of a .npy file; C or Fortran order, either byte order.
//
// dtype    what the array has to be. numpy has no names for bf16, f8 and the types of fewer bits,
//          and ml_dtypes saves them as raw bytes, '<V2' and '<V1': two raw bytes are bf16, and of
//          one raw byte only this says which type it is; its '<f1' is f8e5m2
// errors   InvalidArgument for what is no such file, another dtype than asked for, one that has no
//          counterpart (text, dates, structs, Python objects, long double), raw bytes without
//          `dtype`, or a size that is not that of the bytes
StatusOr<Literal> read_npy(std::string_view bytes, std::optional<DType> dtype = {});

// Whether read_npy() takes a file of `size` bytes that begins with `front`, its header at least, so
// that who unpacks one takes no memory for another.
// errors: those of read_npy() of its header and size
Status check_npy_size(std::string_view front, uint64_t size, std::optional<DType> dtype = {});

// What stands in front of the elements in C order, version 1: magic, dtype and shape.
// errors: InvalidArgument for what is no array
StatusOr<std::string> npy_header(const Shape& shape);

// The bytes of a .npy file. bf16 becomes '<V2', f8 and types of fewer bits '<V1', as ml_dtypes
// writes them: numpy loads raw bytes, and `.view(ml_dtypes.bfloat16)` gives them their type back.
// errors: InvalidArgument for what is no array, or has no value
StatusOr<std::string> write_npy(const Literal& literal);

}  // namespace heddle::hlo
