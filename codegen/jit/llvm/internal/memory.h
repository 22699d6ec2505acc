// What a plan reads and writes, as LLVM IR.
#pragma once

#include <vector>

#include "heddle/codegen/jit/llvm/internal/arithmetic.h"

namespace heddle::cpu {

class MemoryEmitter : protected ArithmeticEmitter {
 protected:
  MemoryEmitter(const Plan& plan, const std::string& target_features, llvm::Module& module)
      : ArithmeticEmitter(plan, target_features, module), buffers_(plan.buffers.size()) {}

  // A node without blocks. returns: its value; null where it has none
  llvm::Value* emit_node(const Node& node);

  // Between functions vectors have a power of two of lanes. Machine code computes on so many, and
  // what it found behind a shorter one in memory might be subnormal, which takes long.
  static llvm::Type* widened(llvm::Type* type);
  llvm::Value* widened(llvm::Value* value) { return with_lanes(widened(value->getType()), value); }
  // The first lanes of a vector, or all of them and zeros.
  llvm::Value* with_lanes(llvm::Type* type, llvm::Value* value);

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
