#include "heddle/codegen/jit/llvm/internal/branches.h"

#include <utility>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
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

using Selects = llvm::ArrayRef<llvm::SelectInst*>;
using Moved = llvm::SmallVector<llvm::Instruction*, 64>;

// From the last one on: what stands before the selects, of one condition and block, and nothing
// else uses.
Moved only_for_first_operands(Selects selects) {
  Moved found;
  llvm::SmallPtrSet<const llvm::User*, 32> users(selects.begin(), selects.end());
  const auto uses_only_as_first = [&](const llvm::User* user, const llvm::Instruction* at) {
    const auto* select = llvm::dyn_cast<llvm::SelectInst>(user);
    return select == nullptr || !llvm::is_contained(selects, select) ||
           (at != select->getFalseValue() && at != select->getCondition());
  };
  for (llvm::Instruction* at = selects.back()->getPrevNode(); at != nullptr;
       at = at->getPrevNode()) {
    if (llvm::isa<llvm::PHINode>(at)) break;
    const bool is_only = !at->use_empty() && llvm::all_of(at->users(), [&](llvm::User* user) {
      return users.contains(user) && uses_only_as_first(user, at);
    });
    if (!is_only || at->mayReadOrWriteMemory() || at->mayHaveSideEffects()) continue;
    if (users.insert(at).second) found.push_back(at);
  }
  return found;
}

// All that the selects and what moves with them read is there before the first select.
bool can_stand_at_first(Selects selects, const Moved& moved) {
  const llvm::SelectInst* first = selects.front();
  const auto is_ready = [&](const llvm::Value* x) {
    const auto* at = llvm::dyn_cast<llvm::Instruction>(x);
    return at == nullptr || at->getParent() != first->getParent() || at->comesBefore(first);
  };
  const llvm::SmallPtrSet<const llvm::Value*, 32> moves(moved.begin(), moved.end());
  const auto has_operands = [&](const llvm::Instruction* each) {
    return llvm::all_of(each->operands(), [&](const llvm::Use& x) {
      return moves.contains(x.get()) || is_ready(x.get());
    });
  };
  return llvm::all_of(selects, has_operands) && llvm::all_of(moved, has_operands);
}

// Moves the selects to the first of them. False: they stand too far apart for it.
bool brought_together(Selects selects) {
  if (selects.size() == 1) return true;
  const Moved moved = only_for_first_operands(selects);
  if (!can_stand_at_first(selects, moved)) return false;
  for (llvm::Instruction* each : llvm::reverse(moved)) each->moveBefore(selects.front());
  for (size_t i = 1; i < selects.size(); ++i) selects[i]->moveAfter(selects[i - 1]);
  return true;
}

// Puts the selects into a branch, with what only their first operands need.
void branch_to(Selects selects) {
  const Moved moved = only_for_first_operands(selects);
  int cost = 0;
  for (const llvm::Instruction* each : moved) cost += cost_of(*each);
  if (cost < kBranch) return;
  llvm::SelectInst* first = selects.front();
  llvm::BasicBlock* before = first->getParent();
  llvm::Value* any = first->getCondition();
  if (any->getType()->isVectorTy()) any = llvm::IRBuilder<>(first).CreateOrReduce(any);
  llvm::Instruction* end = llvm::SplitBlockAndInsertIfThen(any, first, /*Unreachable=*/false);
  llvm::BasicBlock* after = first->getParent();
  for (llvm::Instruction* each : llvm::reverse(moved)) each->moveBefore(end);
  for (llvm::SelectInst* select : selects) {
    auto* out = llvm::PHINode::Create(select->getType(), 2);
    out->insertBefore(after->begin());
    select->replaceAllUsesWith(out);
    out->addIncoming(select->getFalseValue(), before);
    out->addIncoming(select, end->getParent());
    select->moveBefore(end);
  }
}

}  // namespace

void skip_unneeded_operands(Selects selects) {
  using Group = llvm::SmallVector<llvm::SelectInst*, 2>;
  llvm::DenseMap<std::pair<llvm::Value*, llvm::BasicBlock*>, Group> groups;
  const auto group_of = [&](llvm::SelectInst* each) -> Group& {
    return groups[{each->getCondition(), each->getParent()}];
  };
  for (llvm::SelectInst* each : selects) group_of(each).push_back(each);
  std::vector<Group> in_order;
  for (llvm::SelectInst* each : selects) {
    Group& group = group_of(each);
    const bool is_first = !group.empty() && group.front() == each;
    if (is_first && brought_together(group)) {
      in_order.push_back(group);
    } else if (is_first || group.empty()) {
      group.clear();
      in_order.push_back({each});
    }
  }
  // From the last one on, since a block is split where a branch begins.
  for (const Group& group : llvm::reverse(in_order)) branch_to(group);
}

}  // namespace heddle::cpu
