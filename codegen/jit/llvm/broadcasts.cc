#include "heddle/codegen/jit/llvm/internal/broadcasts.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kAvx512 = 64;     // bytes of a vector
constexpr size_t kFewestLanes = 8;  // for which storing the vector takes less time

using Shuffles = llvm::SmallVector<llvm::ShuffleVectorInst*, 16>;

bool has_many_lanes(const Shuffles& shuffles) {
  llvm::SmallSet<int, 16> lanes;
  for (const llvm::ShuffleVectorInst* shuffle : shuffles)
    lanes.insert(shuffle->getShuffleMask()[0]);
  return lanes.size() >= kFewestLanes;
}

// The vectors of which a lane is broadcast in the block, each with those shuffles in order.
llvm::MapVector<llvm::Value*, Shuffles> broadcasts_of(llvm::BasicBlock& block) {
  llvm::MapVector<llvm::Value*, Shuffles> found;
  for (llvm::Instruction& each : block) {
    auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&each);
    if (shuffle == nullptr || shuffle->getType() != shuffle->getOperand(0)->getType()) continue;
    const llvm::ArrayRef<int> lanes = shuffle->getShuffleMask();
    if (shuffle->getType()->getPrimitiveSizeInBits() == 8 * kAvx512 &&
        shuffle->getType()->isFPOrFPVectorTy() && llvm::all_equal(lanes) && lanes[0] >= 0 &&
        lanes[0] < static_cast<int>(lanes.size()))
      found[shuffle->getOperand(0)].push_back(shuffle);
  }
  return found;
}

void load_lanes(llvm::Value* vector, const Shuffles& shuffles) {
  llvm::Function* function = shuffles[0]->getFunction();
  auto* type = llvm::cast<llvm::FixedVectorType>(vector->getType());
  llvm::IRBuilder<> at_entry(&*function->getEntryBlock().getFirstInsertionPt());
  llvm::AllocaInst* slot = at_entry.CreateAlloca(type);
  llvm::IRBuilder<>(shuffles[0]).CreateStore(vector, slot);
  for (llvm::ShuffleVectorInst* shuffle : shuffles) {
    llvm::IRBuilder<> before(shuffle);
    llvm::Type* element = type->getElementType();
    llvm::Value* lane = before.CreateConstGEP1_64(element, slot, shuffle->getShuffleMask()[0]);
    shuffle->replaceAllUsesWith(
        before.CreateVectorSplat(type->getNumElements(), before.CreateLoad(element, lane)));
  }
}

}  // namespace

void broadcast_from_memory(llvm::Module& module, int64_t vector_bytes) {
  if (vector_bytes != kAvx512) return;
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      for (const auto& [vector, shuffles] : broadcasts_of(block))
        if (has_many_lanes(shuffles)) load_lanes(vector, shuffles);
    }
  }
}

}  // namespace heddle::cpu
