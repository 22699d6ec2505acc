// How each op does many lanes at once: one rule an op, which writes it for operands that have one
// value a lane, along a new dimension 0, or one value that all lanes share. vmap is made of these
// rules (transform/batch.h).
//
// Rules are written as formulas on Values. Ops whose computations run many times (while, scan,
// conditional, call) are not here: their rules stand where modules are rewritten. An op that has no
// wider form is written as a loop over the lanes.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"
#include "heddle/hlo/slot.h"

namespace heddle::hlo {

class Graph;  // hlo/value.h
class Value;
using Values = std::vector<Value>;

// The frontend attribute of what lanes do together: all-reduce and all-gather over the lanes of the
// vmap that it names, and replica-id, the number of a lane.
inline constexpr std::string_view kTogetherAttribute = "heddle.lanes";
// Which vmap; empty where the instruction has no such attribute.
std::string_view together_along(const Instruction& instruction);

// What a rule sees of y = op(x). At least one operand is batched.
struct BatchArgs {
  Graph& graph;
  const Instruction& of;             // of one lane; what it calls is in this module
  std::span<const Value> x;          // operands, which are arrays or tokens
  const std::vector<bool>& batched;  // which have one value a lane
  int64_t size;                      // how many lanes

  template <class T>
  [[nodiscard]] const T& attrs() const {
    return of.attrs.get<T>();
  }
  [[nodiscard]] bool is_batched(size_t i) const { return batched[i]; }
  // Operand i in one lane.
  [[nodiscard]] Dims sizes(size_t i) const;
  [[nodiscard]] int64_t rank(size_t i) const;
  // Operand i with one value a lane; all of them.
  [[nodiscard]] Value full(size_t i) const;
  [[nodiscard]] Values all_full() const;
  // The op on operands of all lanes, with other attributes: elements of its result.
  [[nodiscard]] Values again(const Values& operands, Attrs attrs) const;
  [[nodiscard]] Values again(const Values& operands) const;
};

// The results, one value a lane each. errors: why this instruction has no such form
using BatchFn = StatusOr<Values> (*)(const BatchArgs&);

// Every op has a rule, or the reason for having none.
Slot<BatchFn> batching_of(Opcode opcode);

// The type of all lanes' values: {size} in front of the sizes of each array.
Shape with_lanes(const Shape& shape, int64_t size);
// The value of each lane, where all share it.
Value in_each_lane(const Value& x, int64_t size);

}  // namespace heddle::hlo
