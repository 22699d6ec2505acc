// Collectives of devices that are evaluated together (hlo/evaluate_together.h).
#pragma once

#include "heddle/hlo/op.h"
#include "heddle/hlo/ops/rendezvous.h"

namespace heddle::hlo {

// What a device gets from a collective; to be called with a seat.
// errors: InvalidArgument where the groups do not say who takes part, or the result is of another
// type; Unimplemented for forms that are not evaluated; those of Rendezvous::exchange()
StatusOr<Literal> evaluate_jointly(EvalArgs& in);
// The same for the start of an asynchronous pair: (operands, results, contexts..).
StatusOr<Literal> start_jointly(EvalArgs& in);

// custom-call SPMDFullToShardShape: of the array that every device holds, its own tile by the
// operand's sharding. SPMDShardToFullShape: the array of all tiles, by its own sharding.
bool changes_view(std::string_view custom_call_target);
StatusOr<Literal> change_view(EvalArgs& in);

}  // namespace heddle::hlo
