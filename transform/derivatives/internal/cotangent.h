// A sum of cotangents that is not made yet. A term that is zeros but for a part, as what a
// dynamic-slice, a gather or a slice has read, is written into the sum of the others:
//
//   a + dynamic-update-slice(0, u, i)  =  dynamic-update-slice(a, dynamic-slice(a, i) + u, i)
//   a + scatter(0, i, u)               =  scatter(a, i, u)
//
// So a step of a loop that reads a row of a table touches a row of the table's cotangent. A part of
// a reshape's cotangent is written into a reshape of the sum, which moves no bytes, and a part of a
// transpose's is transposed; so with reverse. A part of a slice's is a part of what is sliced. What
// an elementwise op does to its cotangent it does to the parts:
//
//   dynamic-update-slice(0, u, i) * w  =  dynamic-update-slice(0, u * dynamic-slice(w, i), i)
//
// Parts at one place are one part, and an op whose cotangent has other terms too, or many parts,
// takes all of it: so the program stays linear in the length of the function's.
#pragma once

#include <span>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/base/status.h"
#include "heddle/transform/derivatives/internal/parts.h"

namespace heddle::transform {

class Cotangent {
 public:
  void add(const Value& term);
  void add(const Cotangent& of);
  // Adds what is the cotangent of a reshape, of transpose(x, order), or of reverse(x, dimensions),
  // of this one's value x.
  void add_reshaped(const Cotangent& of, const hlo::Dims& sizes);
  void add_transposed(const Cotangent& of, const hlo::Dims& order);
  void add_reversed(const Cotangent& of, const hlo::Dims& dimensions);
  // The same of a slice of x, which has these sizes, where all terms are parts that are written
  // themselves; false where some are not.
  bool add_sliced(const Cotangent& of, const Values& starts, const hlo::Dims& sizes);
  // Gives the elements of a known operand that stand where the part `ct` does.
  using Read = base::FunctionRef<Value(const Value&)>;
  // This is the cotangent of an elementwise op. Adds what `transpose` makes of each part to the
  // cotangents of the operands: one each, or absent.
  // errors: those of `transpose`
  Status add_to(std::span<Cotangent* const> operands,
                base::FunctionRef<StatusOr<Values>(const Value& ct, Read read)> transpose) const;
  [[nodiscard]] bool has_parts() const { return !parts_.empty(); }
  [[nodiscard]] bool is_absent() const { return sum_.is_absent() && parts_.empty(); }
  // Writes the sum. Absent: zero.
  [[nodiscard]] Value value() const;

 private:
  // A term that is zeros but for a part. It has these sizes where it is reshaped.
  struct Part {
    Value term;
    hlo::Dims sizes;
  };
  void add_part(const Part& part);

  Value sum_;                // of the terms that are in it
  std::vector<Part> parts_;  // further terms
};

}  // namespace heddle::transform
