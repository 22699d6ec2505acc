// What a window that moves over an array touches. Along each dimension the window has `size` taps
// and a number of places; a tap at a place falls on an element of the array, or on padding or a
// hole between spread elements.
#pragma once

#include <cstdint>
#include <functional>

#include "heddle/base/status.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/shape.h"

namespace heddle::interpreter {

using namespace hlo;

// Has one tap, at every element in turn: does nothing along this dimension.
bool is_point(const WindowDimension& w);

// Of a row of taps or places, those that fall on elements: number first, first + step, .., `count`
// of them. They fall on the elements position, position + position_step, ..
struct Hits {
  int64_t first = 0;
  int64_t step = 1;
  int64_t count = 0;
  int64_t position = 0;
  int64_t position_step = 1;
  friend bool operator==(const Hits&, const Hits&) = default;
};

// The taps that fall on elements when the window stands at `place`; `base` is the number of
// elements. Both in constant time.
Hits hits_at_place(const WindowDimension& w, int64_t base, int64_t place);
// The places, of `places`, at which a tap falls on an element.
Hits hits_of_tap(const WindowDimension& w, int64_t base, int64_t places, int64_t tap);

// Places where one tap falls on elements, and these elements: two parts of arrays, of equal sizes.
// Offsets and strides in elements.
struct TapPart {
  Dims sizes;
  int64_t in_places = 0;
  Dims place_strides;
  int64_t in_base = 0;
  Dims base_strides;
};

// Visits the taps of a window over an array of dimensions `base` in row-major order, but for those
// that never fall on an element. Stops at an error, and returns it.
Status for_each_tap(const Window& window, const Shape& base, const Shape& places,
                    const std::function<Status(const TapPart&)>& visit);

}  // namespace heddle::interpreter
