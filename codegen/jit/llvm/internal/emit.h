// A Plan as LLVM IR.
#pragma once

#include <string>

#include "heddle/codegen/jit/jit.h"
#include "llvm/IR/Module.h"

namespace heddle::cpu {

inline constexpr char kEntryName[] = "heddle_entry";

// Writes the function kEntryName, an Entry, into the module.
// returns: the bytes of the arena that it needs, the plan's and more
int64_t emit_plan(const JitRequest& request, const std::string& target_features,
                  llvm::Module& module);

}  // namespace heddle::cpu
