// What a plan costs, by its loops and their turns.
#pragma once

#include <optional>

#include "heddle/codegen/plan/plan.h"

namespace heddle::cpu {

// Of a run, as it is executed: lanes that are computed count, values in registers move no bytes.
struct PlanCost {
  std::optional<double> flops;  // nothing where a loop's turns or a kernel's work are not known
  std::optional<double> bytes;  // that are read and written
};

PlanCost cost_of(const Plan& plan);

// Turns of a for, or of a while that counts. Nothing: not known.
std::optional<double> turns_of(const Plan& plan, const Node& loop);

// Marks the loops in which a run asks whether it is to stop: no more than some milliseconds of work
// lie between two of these, and none is asked where the rest of a turn is short beside asking.
void mark_stops(Plan& plan);

// The most bytes of the arena that are alive at one moment: no layout needs less.
int64_t live_bytes(const Plan& plan);

}  // namespace heddle::cpu
