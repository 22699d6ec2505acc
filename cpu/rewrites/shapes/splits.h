// What a reshape makes of each dimension.
#pragma once

#include <optional>
#include <vector>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/shape.h"

namespace heddle::cpu {

// Each dimension of an array as the dimensions that a reshape makes of it.
using Splits = std::vector<hlo::Dims>;

// Nothing: the reshape joins dimensions.
std::optional<Splits> splits_of(const Shape& from, const Shape& to);

// All dimensions one after the other.
hlo::Dims sizes_of(const Splits& splits);

// The splits of what `first` splits into the dimensions that `then` splits.
Splits composed(const Splits& first, const Splits& then);

// The splits of the dimensions into which `first` splits what `all` splits. Nothing: they cut
// across.
std::optional<Splits> refined(const Splits& first, const Splits& all);

// Where the dimensions of a part of the splits stand among all.
hlo::Dims places_of(const Splits& splits, const hlo::Dims& dims);

}  // namespace heddle::cpu
