// Collectives of devices that are evaluated together (interpreter/evaluate_together.h).
#pragma once

#include <string_view>

#include "heddle/interpreter/rendezvous.h"
#include "heddle/interpreter/rules.h"
#include "heddle/interpreter/run_context.h"

namespace heddle::interpreter {

// Null: one device, alone.
inline const Seat* seat_of(const EvalArgs& in) {
  return in.run == nullptr ? nullptr : in.run->seat;
}

// What a device gets from a collective; to be called with a seat.
// errors: InvalidArgument where the groups do not say who takes part, or the result is of another
// type; Unimplemented for forms that are not evaluated; those of Rendezvous::meet()
StatusOr<Literal> evaluate_jointly(EvalArgs& in);
// The same for the start of an asynchronous pair: (operands, results, contexts..).
StatusOr<Literal> start_jointly(EvalArgs& in);

// Writes slices first .. first + count - 1 of a ragged-all-to-all's operands to their places in
// `out`. errors: InvalidArgument where one does not lie in the rows
Status write_slices(std::span<const Literal> operands, size_t first, size_t count, Literal& out);

// custom-call SPMDFullToShardShape: of the array that every device holds, its own tile by the
// operand's sharding. SPMDShardToFullShape: the array of all tiles, by its own sharding.
bool changes_view(std::string_view custom_call_target);
StatusOr<Literal> change_view(EvalArgs& in);

}  // namespace heddle::interpreter
