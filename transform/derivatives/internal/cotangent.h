// A sum of cotangents that is not made yet. A term that is zeros but for a part, as what a
// dynamic-slice, a gather or a slice has read, is written into the sum of the others:
//
//   a + dynamic-update-slice(0, u, i)  =  dynamic-update-slice(a, dynamic-slice(a, i) + u, i)
//   a + scatter(0, i, u)               =  scatter(a, i, u)
//
// So a step of a loop that reads a row of a table touches a row of the table's cotangent.
#pragma once

#include "heddle/transform/derivatives/internal/parts.h"

namespace heddle::transform {

class Cotangent {
 public:
  void add(const Value& term);
  [[nodiscard]] bool is_absent() const { return sum_.is_absent() && parts_.empty(); }
  // Writes the sum. Absent: zero.
  [[nodiscard]] Value value() const;

 private:
  Value sum_;     // of the terms that are in it
  Values parts_;  // further terms: zeros but for a part
};

}  // namespace heddle::transform
