// How often a while runs: from XLA's WhileLoopBackendConfig, JSON text in backend_config; and from
// while_loop's max_steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "heddle/hlo/module.h"

namespace heddle::transform {

// Returns {"known_trip_count":{"n":"10"}}.
std::string trip_count_config(int64_t trips);

// The trip count that a while's backend_config states, if it states one.
std::optional<int64_t> known_trip_count(const hlo::Instruction& loop);

// The frontend attribute of a while that runs its body at most so often: "heddle.max_steps".
inline constexpr char kMaxSteps[] = "heddle.max_steps";
// The most trips that a while can make, by that attribute or a known trip count, if it says.
std::optional<int64_t> greatest_trip_count(const hlo::Instruction& loop);
// The attributes that a loop in place of this one needs: its bound, and the blocks of its
// derivative.
hlo::FrontendAttributes bounds_of(const hlo::Instruction& loop);

}  // namespace heddle::transform
