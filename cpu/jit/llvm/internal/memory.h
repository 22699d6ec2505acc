// What a plan reads and writes, as LLVM IR.
#pragma once

#include <vector>

#include "heddle/cpu/jit/llvm/internal/arithmetic.h"

namespace heddle::cpu {

class MemoryEmitter : protected ArithmeticEmitter {
 protected:
  MemoryEmitter(const Plan& plan, llvm::Module& module)
      : ArithmeticEmitter(plan, module), buffers_(plan.buffers.size()) {}

  // A node without blocks. returns: its value; null where it has none
  llvm::Value* emit_node(const Node& node);

  llvm::Function* function_ = nullptr;  // where code is written
  std::vector<llvm::Value*> buffers_;   // by buffer

 private:
  llvm::Value* address_of(BufferId buffer, Type element, llvm::Value* index);
  llvm::Value* address(const Node& node, llvm::Value* index);
  llvm::Value* from_memory(Type type, llvm::Value* raw);
  llvm::Value* gather(const Node& node, llvm::Value* index);
  void scatter(const Node& node, llvm::Value* index, llvm::Value* value);
  void copy_unless_same(const Node& node);
};

}  // namespace heddle::cpu
