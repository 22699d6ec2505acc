// batch: a module for many lanes at once. A value that differs between lanes has them along
// dimension 0; a value that they share is computed once.
//
// The rules of ops are in hlo/batching.h. Loops stay loops. In a scan only those carries have lanes
// that come to differ between them. A while whose condition differs by lane runs until all lanes
// have ended, and a lane that has ended keeps its values. A conditional whose index differs by lane
// runs all branches and selects.
//
// Parameters and results are counted by leaves, as in transform/derivatives.h.
#pragma once

#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::transform {

struct Batch {
  hlo::Module module;         // parameters.., those in `of` wider -> results..
  std::vector<bool> results;  // which results have one value a lane; lanes share the others
};

// together: the name of the instructions that lanes do together (hlo::kTogetherAttribute). errors:
// Unimplemented that names the op without a batched form, and its line
StatusOr<Batch> batch(const hlo::Module& module, const std::vector<bool>& of, int64_t size,
                      std::string_view together = {});

}  // namespace heddle::transform
