#include "heddle/cpu/jit/llvm/internal/branches.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace heddle::cpu {
namespace {

constexpr int kBranch = 10;  // instructions that take as long

int cost_of(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  const bool is_long = instruction.getOpcode() == llvm::Instruction::FDiv ||
                       (call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::sqrt);
  return is_long ? kBranch : 1;
}

// From the last one on: what stands before the select in its block and nothing else uses.
llvm::SmallVector<llvm::Instruction*, 64> only_for_first_operand(llvm::SelectInst& select) {
  llvm::SmallVector<llvm::Instruction*, 64> found;
  llvm::SmallPtrSet<llvm::User*, 32> users;
  for (llvm::Instruction* at = select.getPrevNode(); at != nullptr; at = at->getPrevNode()) {
    if (llvm::isa<llvm::PHINode>(at)) break;
    const bool is_operand =
        at == select.getTrueValue() && at != select.getFalseValue() && at != select.getCondition();
    const bool is_only = !at->use_empty() && llvm::all_of(at->users(), [&](llvm::User* user) {
      return users.contains(user) || (is_operand && user == &select);
    });
    if (!is_only || at->mayReadOrWriteMemory() || at->mayHaveSideEffects()) continue;
    users.insert(at);
    found.push_back(at);
  }
  return found;
}

}  // namespace

void skip_unneeded_operands(std::span<llvm::SelectInst* const> selects) {
  for (llvm::SelectInst* select : llvm::reverse(selects)) {
    const auto moved = only_for_first_operand(*select);
    int cost = 0;
    for (const llvm::Instruction* each : moved) cost += cost_of(*each);
    if (cost < kBranch) continue;
    llvm::BasicBlock* before = select->getParent();
    llvm::Value* other = select->getFalseValue();
    llvm::Value* any = select->getCondition();
    if (any->getType()->isVectorTy()) any = llvm::IRBuilder<>(select).CreateOrReduce(any);
    llvm::Instruction* end = llvm::SplitBlockAndInsertIfThen(any, select, /*Unreachable=*/false);
    for (llvm::Instruction* each : llvm::reverse(moved)) each->moveBefore(end);
    auto* out = llvm::PHINode::Create(select->getType(), 2);
    out->insertBefore(select->getParent()->begin());
    select->replaceAllUsesWith(out);
    out->addIncoming(other, before);
    out->addIncoming(select, end->getParent());
    select->moveBefore(end);
  }
}

}  // namespace heddle::cpu
