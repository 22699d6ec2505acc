#include "heddle/cpu/jit/llvm/internal/branches.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace heddle::cpu {
namespace {

constexpr size_t kFewest = 10;  // instructions that a branch is worth

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
  for (llvm::SelectInst* select : selects) {
    const auto moved = only_for_first_operand(*select);
    if (moved.size() < kFewest) continue;
    llvm::BasicBlock* before = select->getParent();
    llvm::Value* other = select->getFalseValue();
    llvm::Value* any = llvm::IRBuilder<>(select).CreateOrReduce(select->getCondition());
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
