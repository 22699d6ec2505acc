// Clocks around the loops of a plan, for base/metrics/profile.h.
#pragma once

#include <memory>
#include <vector>

#include "heddle/codegen/plan/plan.h"
#include "heddle/cpu/kernels/kernel.h"

namespace heddle::cpu {

// Puts a kernel before and one behind each loop, branch, copy and kernel of the entry block, which
// make a span of it: "tanh.1", at "train.cc:41". What stands in a loop around several others, such
// as a scan, is a span with the sum of all turns: "dot.2 x1000". `kernels` are those of the plan,
// to which these are added.
void add_loop_clocks(Plan& plan, std::vector<std::unique_ptr<Kernel>>& kernels);

}  // namespace heddle::cpu
