// Arrays as text, in the words of numpy 2: what std::cout << x shows, and lines of debug_print.
#pragma once

#include <optional>
#include <string>

#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/hlo/literal/literal.h"

namespace heddle {

// The names and defaults of numpy.set_printoptions.
struct PrintOptions {
  // Digits after the point, at most. Unset: 8 in arrays, and in a scalar those that tell it from
  // its neighbours.
  std::optional<base::Int> precision = {};
  base::Int threshold = 1000;   // arrays of more elements are shortened with ...
  base::Int edge_items = 3;     // so many are left at both ends of each axis
  base::Int line_width = 75;    // columns before a row goes on in the next line
  base::Flag suppress = false;  // small numbers do not lead to 1.e-05 for all: they may print as 0.
};

// As array_to_string() of trace/printing.h, of options that were checked.
std::string literal_text(const Literal& literal, PrintOptions options);

}  // namespace heddle
