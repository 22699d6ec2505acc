// Text of literals and of their elements.
#pragma once

#include <cstddef>
#include <string>

#include "heddle/base/text/text_cursor.h"
#include "heddle/hlo/literal/literal.h"

namespace heddle::hlo::text {

// One element, at `at` in the dtype's storage. Floats are written in the fewest digits of XLA's two
// tries that read back as the same bits; NaNs carry their payload, nan(0x123), unless it is the
// usual one.
void write_element(std::string& out, DType dtype, const std::byte* at);

// errors: what is no number of this kind, or does not fit: f16 65520, s4 8, u8 -1. u64 takes
// negative numbers, which wrap.
bool read_element(TextCursor& in, DType dtype, std::byte* at);

// A number in f32, for attributes.
void write_float(std::string& out, float value);
bool read_float(TextCursor& in, float& value);

// `max_elements` as in PrintOptions::max_constant_elements.
void write_literal(std::string& out, const Literal& literal, int64_t max_elements);

// A literal of the given shape, which was checked. Takes no memory before the text is long enough
// to fill it.
bool read_literal(TextCursor& in, const Shape& shape, Literal& literal);

}  // namespace heddle::hlo::text
