// What of a loop's body is computed with its short last dimension first.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// from[order[0]], from[order[1]], ..
template <class Elements>
Elements permuted(const Elements& from, const Dims& order) {
  Elements out;
  for (const int64_t d : order) out.push_back(from[static_cast<size_t>(d)]);
  return out;
}

// Arrays of one rank and batch, [batch.., places..], and such with one dimension before these: the
// stack of all turns', and a row of it.
struct Family {
  int64_t rank = 0;
  Dims batch;

  // The number of dimensions before the batch; nothing: it is another array.
  [[nodiscard]] std::optional<int64_t> lead(const Shape& shape) const;
  [[nodiscard]] int64_t first_place(int64_t lead) const { return lead + std::ssize(batch); }
  // Dimension d of a transposed array is dimension order[d] of it.
  [[nodiscard]] Dims order(const Shape& shape) const;
  [[nodiscard]] Shape transposed(const Shape& shape) const {
    return Shape(shape.dtype(), permuted(shape.dimensions(), order(shape)));
  }
};

// What of a loop's body is transposed.
class TransposedBody {
 public:
  // Nothing: it does not pay.
  static std::optional<TransposedBody> of(const hlo::Module& module, const Instruction& loop);

  [[nodiscard]] const Family& family() const { return family_; }
  // Of the state.
  [[nodiscard]] const std::set<int64_t>& elements() const { return elements_; }
  [[nodiscard]] bool has(InstructionId id) const { return is_in_[id.value]; }
  // The dimensions of the transposed result that those of the operand are, of a broadcast that it
  // has.
  [[nodiscard]] Dims dimensions(const Instruction& broadcast) const;
  [[nodiscard]] bool keeps_order(const Instruction& broadcast) const;
  [[nodiscard]] Shape state(const Shape& from) const;

 private:
  TransposedBody(const Computation& body, Family family)
      : body_(&body), family_(std::move(family)), is_in_(body.instructions.size()) {}

  const Instruction& at(InstructionId id) const { return body_->at(id); }

  // Nobody but its elements reads the state.
  static bool takes_elements(const Computation& of);

  // Of the biggest array that moves along its short last dimension.
  static std::optional<Family> family_of(const Computation& body);

  // The elements of the state, and the ops, that may be transposed.
  void find_elements(const Computation& condition);

  [[nodiscard]] bool may_be_in(InstructionId id) const;
  // One is the other with a dimension of one place before the batch.
  [[nodiscard]] bool is_row(const Shape& a, const Shape& b) const;
  // The op's other array has the same places; its starts come one by one.
  [[nodiscard]] bool is_whole_row(const Instruction& op, InstructionId other) const;

  // Drops what something else hinders. Returns whether it did.
  bool drops_some();

  // The elements that one turn computes are many beside those that it transposes.
  [[nodiscard]] bool pays() const;
  // An array of which a transpose is another one, and not known before the program runs.
  [[nodiscard]] bool has_order(InstructionId id) const;

  const Computation* body_;
  Family family_;
  std::set<int64_t> elements_;
  std::vector<bool> is_in_;
};

}  // namespace heddle::cpu
