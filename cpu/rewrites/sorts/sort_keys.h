// The keys that a sort's comparator compares, as instructions.
#pragma once

#include "heddle/hlo/module.h"
#include "heddle/hlo/value.h"
#include "heddle/interpreter/comparator.h"

namespace heddle::cpu {

// The comparator's expression of the left elements, which are `values`: scalars, or arrays of one
// size. As encode(), numbers that are not compared in total order have one zero, and NaN above all.
hlo::Value key_of(const interpreter::SortKey& key, const hlo::Computation& comparator,
                  const hlo::Values& values);

// Integers in the order of a key, floats in their total order.
hlo::Value as_ordered_integers(const hlo::Value& key);

}  // namespace heddle::cpu
