// Text of shapes: f32[2,3]{1,0:T(8,128)}, (s32[], token[]), f32[<=10,?], b(f32[4]).
#pragma once

#include <string>

#include "heddle/base/text/text_cursor.h"
#include "heddle/hlo/shape.h"

namespace heddle::hlo::text {

// Reads a shape, with its layout where one follows, and checks it (check_shape).
bool read_shape(TextCursor& in, Shape& shape);

// With layouts every array of rank 1 or more shows one; without, none does.
void write_shape(std::string& out, const Shape& shape, bool layouts);

// True if a shape comes next: an element type and '[', or '('.
bool at_shape(TextCursor& in);

// Separator before item `i` of a long list: ", ", with /*index=5*/ before each fifth item.
void write_separator(std::string& out, size_t i, bool index_comments);

}  // namespace heddle::hlo::text
