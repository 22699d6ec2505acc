#include "heddle/codegen/jit/llvm/internal/constants.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kAvx2 = 32;           // bytes of a vector
constexpr size_t kMostInRegisters = 8;  // constants of a loop; its values take the others

// Not comparisons: one with a select of the same constant is a minimum.
bool takes_memory(const llvm::Instruction& instruction) {
  if (const auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&instruction)) {
    const auto opcode = binary->getOpcode();
    return binary->getType()->isFPOrFPVectorTy() || opcode == llvm::Instruction::Add ||
           opcode == llvm::Instruction::Sub;
  }
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call != nullptr && (call->getIntrinsicID() == llvm::Intrinsic::fma ||
                             call->getIntrinsicID() == llvm::Intrinsic::fmuladd);
}

// The constants of whole vectors that the block's instructions may have in memory.
llvm::MapVector<llvm::Constant*, llvm::SmallVector<llvm::Use*, 2>> constants_of(
    llvm::BasicBlock& block, unsigned bits) {
  llvm::MapVector<llvm::Constant*, llvm::SmallVector<llvm::Use*, 2>> found;
  for (llvm::Instruction& instruction : block) {
    if (!takes_memory(instruction)) continue;
    for (llvm::Use& use : instruction.operands()) {
      auto* constant = llvm::dyn_cast<llvm::ConstantDataVector>(use.get());
      if (constant != nullptr && constant->getType()->getPrimitiveSizeInBits() == bits)
        found[constant].push_back(&use);
    }
  }
  return found;
}

using Globals = llvm::DenseMap<llvm::Constant*, llvm::GlobalVariable*>;

llvm::GlobalVariable* global_of(llvm::Constant* constant, llvm::Module& module, Globals& globals) {
  llvm::GlobalVariable*& global = globals[constant];
  if (global == nullptr) {
    global = new llvm::GlobalVariable(module, constant->getType(), /*isConstant=*/true,
                                      llvm::GlobalValue::InternalLinkage, constant);
    global->setAlignment(llvm::Align(kAvx2));
  }
  return global;
}

// Constants of one use; one register serves several.
void load_constants(llvm::BasicBlock& block, llvm::Module& module, Globals& globals) {
  const auto constants = constants_of(block, 8 * kAvx2);
  if (constants.size() <= kMostInRegisters) return;
  for (const auto& [constant, uses] : constants) {
    if (uses.size() > 1) continue;
    llvm::IRBuilder<> before(llvm::cast<llvm::Instruction>(uses[0]->getUser()));
    uses[0]->set(before.CreateAlignedLoad(constant->getType(), global_of(constant, module, globals),
                                          llvm::Align(kAvx2)));
  }
}

}  // namespace

void keep_constants_in_memory(llvm::Module& module, int64_t vector_bytes) {
  if (vector_bytes != kAvx2) return;
  Globals globals;
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      if (llvm::is_contained(llvm::successors(&block), &block))
        load_constants(block, module, globals);
    }
  }
}

}  // namespace heddle::cpu
