// Functions of a program as LLVM IR: how they begin and end, and what they call.
#pragma once

#include <array>
#include <map>

#include "heddle/codegen/jit/jit.h"
#include "heddle/codegen/jit/llvm/internal/lines.h"
#include "heddle/codegen/jit/llvm/internal/memory.h"

namespace heddle::cpu {

class FunctionEmitter : protected MemoryEmitter {
 public:
  FunctionEmitter(const JitRequest& request, const std::string& target_features,
                  llvm::Module& module)
      : MemoryEmitter(*request.plan, target_features, module), request_(request), lines_(module) {}

 protected:
  // Stands at the beginning of the new function.
  llvm::Function* new_function(llvm::Type* result, llvm::ArrayRef<llvm::Type*> parameters,
                               llvm::Function::LinkageTypes linkage, const char* name);
  // The function begins and ends here; it returns 0, or the code of an Exit.
  void begin_exits();
  // returns: false, where it always returns 0
  bool end_exits();

  // `place`: where it is in its table, or null: where the plan says.
  llvm::Value* base_of(const BufferInfo& buffer, llvm::Value* place = nullptr);
  llvm::DebugLoc line_of(const Node& node);
  llvm::BasicBlock* new_block(const char* name = "") {
    return llvm::BasicBlock::Create(context_, name, function_);
  }
  // A new block, which the code up to here goes on in.
  llvm::BasicBlock* begin_block(const char* name);

  // A function that returns 0, or the code of an Exit.
  void call(llvm::Function* function, llvm::ArrayRef<llvm::Value*> args, bool may_fail);
  void call_kernel(const Node& node);
  void check_bounds(NodeId id, const Node& node);
  // In a loop that runs long: one load and a branch a turn. A part ends; who shared it asks again.
  void leave_if_stopped(NodeId id);

  const JitRequest& request_;
  Lines lines_;
  std::array<llvm::Value*, 6> tables_{};  // what an Entry is given
  llvm::BasicBlock* entry_ = nullptr;
  llvm::BasicBlock* failed_ = nullptr;  // of the program's function: parts end by themselves
  llvm::PHINode* exit_ = nullptr;       // in failed_: the code of the Exit
  std::map<int64_t, llvm::Value*> kernel_numbers_;  // those that the function is given
  bool is_part_ = false;                // of a loop that threads share

 private:
  // Ends the run where `condition` is true.
  void leave_if(llvm::Value* condition, Exit::Reason reason, NodeId id);
  void leave_with(llvm::Value* condition, llvm::Value* code);
  // To a block that hardly ever runs.
  void leave_to(llvm::BasicBlock* block, llvm::Value* condition);
};

}  // namespace heddle::cpu
