#include "heddle/codegen/jit/llvm/internal/function.h"

#include <algorithm>

#include "llvm/IR/MDBuilder.h"

namespace heddle::cpu {

void FunctionEmitter::begin_exits() {
  entry_ = b_.GetInsertBlock();
  failed_ = new_block("failed");
  exit_ = llvm::PHINode::Create(b_.getInt64Ty(), 0, "exit", failed_);
}

bool FunctionEmitter::end_exits() {
  b_.CreateRet(b_.getInt64(0));
  b_.SetInsertPoint(failed_);
  b_.CreateRet(exit_);
  const bool may_fail = exit_->getNumIncomingValues() > 0;
  if (!may_fail) failed_->eraseFromParent();
  return may_fail;
}

llvm::Function* FunctionEmitter::new_function(llvm::Type* result,
                                              llvm::ArrayRef<llvm::Type*> parameters,
                                              llvm::Function::LinkageTypes linkage,
                                              const char* name) {
  auto* function = llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                                          linkage, name, module_);
  function->addFnAttr("target-features", target_features_);
  function->addFnAttr("prefer-vector-width", std::to_string(8 * plan_.vector_bytes));
  function->addFnAttr("min-legal-vector-width", std::to_string(8 * plan_.vector_bytes));
  function->addFnAttr(llvm::Attribute::NoUnwind);
  b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
  return function;
}

llvm::Value* FunctionEmitter::base_of(const BufferInfo& buffer, llvm::Value* place) {
  if (place == nullptr)
    place = b_.getInt64(static_cast<uint64_t>(std::max<int64_t>(buffer.index, 0)));
  if (buffer.kind == BufferInfo::Kind::kArena)
    return b_.CreateInBoundsGEP(b_.getInt8Ty(), tables_[1], place);
  const unsigned table = buffer.kind == BufferInfo::Kind::kArgument ? 2
                         : buffer.kind == BufferInfo::Kind::kResult ? 3
                                                                    : 4;
  llvm::LoadInst* base =
      b_.CreateLoad(b_.getPtrTy(), b_.CreateInBoundsGEP(b_.getPtrTy(), tables_[table], place));
  // The tables stay as they are during a run, so that no store has to wait for this.
  base->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  return base;
}

llvm::DebugLoc FunctionEmitter::line_of(const Node& node) {
  return lines_.are_wanted() ? lines_.at(node.origin, plan_.origins[node.origin])
                             : llvm::DebugLoc();
}

llvm::BasicBlock* FunctionEmitter::begin_block(const char* name) {
  llvm::BasicBlock* block = new_block(name);
  b_.CreateBr(block);
  b_.SetInsertPoint(block);
  return block;
}

void FunctionEmitter::call(llvm::Function* function, llvm::ArrayRef<llvm::Value*> args,
                           bool may_fail) {
  llvm::Value* code = b_.CreateCall(function, args);
  if (may_fail) leave_with(b_.CreateICmpNE(code, b_.getInt64(0)), code);
}

void FunctionEmitter::leave_if(llvm::Value* condition, Exit::Reason reason, NodeId id) {
  leave_with(condition, b_.getInt64(static_cast<uint64_t>(Exit{reason, id}.code())));
}

void FunctionEmitter::leave_with(llvm::Value* condition, llvm::Value* code) {
  exit_->addIncoming(code, b_.GetInsertBlock());
  leave_to(failed_, condition);
}

void FunctionEmitter::leave_to(llvm::BasicBlock* block, llvm::Value* condition) {
  llvm::BasicBlock* next = new_block();
  b_.CreateCondBr(condition, block, next, llvm::MDBuilder(context_).createUnlikelyBranchWeights());
  b_.SetInsertPoint(next);
}

void FunctionEmitter::leave_if_stopped(NodeId id) {
  if (!plan_.at(id).checks_stop || (is_part_ && plan_.at(id).shared.valid())) return;
  llvm::LoadInst* stop = b_.CreateAlignedLoad(b_.getInt8Ty(), tables_[5], llvm::Align(1), "stop");
  stop->setAtomic(llvm::AtomicOrdering::Monotonic);
  llvm::Value* is_stopped = b_.CreateICmpNE(stop, b_.getInt8(0));
  if (!is_part_) return leave_if(is_stopped, Exit::Reason::kStopped, id);
  llvm::BasicBlock* end = new_block("stopped");
  leave_to(end, is_stopped);
  const llvm::IRBuilderBase::InsertPointGuard back(b_);
  b_.SetInsertPoint(end);
  b_.CreateRetVoid();
}

void FunctionEmitter::check_bounds(NodeId id, const Node& node) {
  const auto args = plan_.args_of(node);
  const auto leave = [&](llvm::Value* condition) {
    leave_if(condition, Exit::Reason::kOutOfBounds, id);
  };
  const auto check = [&](BufferId buffer, llvm::Value* index, int64_t width, int64_t step) {
    const int64_t last = plan_.buffers[buffer.value].bytes / step - width;
    llvm::Value* past =
        last < 0 ? b_.getTrue()
                 : b_.CreateICmpUGT(index, llvm::ConstantInt::get(index->getType(),
                                                                  static_cast<uint64_t>(last)));
    leave(past->getType()->isVectorTy() ? b_.CreateOrReduce(past) : past);
  };
  const int64_t element = bytes_of(node.type.scalar);
  switch (node.op) {
    case Op::kLoad:
    case Op::kStore: check(node.buffer, value(args[0]), node.type.lanes, element); break;
    case Op::kGather:
    case Op::kScatter: check(node.buffer, value(args[0]), 1, element); break;
    case Op::kCopy:
      leave(b_.getInt1(node.imm > plan_.buffers[node.buffer.value].bytes ||
                       node.imm > plan_.buffers[node.buffer2.value].bytes));
      break;
    case Op::kKernel:
      for (size_t i = 0; i < args.size(); ++i)
        check(plan_.kernels[static_cast<size_t>(node.imm)].buffers[i], value(args[i]), 1, 1);
      break;
    default: break;
  }
}

void FunctionEmitter::call_kernel(const Node& node) {
  const auto& buffers = plan_.kernels[static_cast<size_t>(node.imm)].buffers;
  llvm::ArrayType* table = llvm::ArrayType::get(b_.getPtrTy(), buffers.size());
  llvm::IRBuilder<> at_entry(entry_, entry_->begin());
  llvm::Value* pointers = at_entry.CreateAlloca(table);
  for (size_t i = 0; i < buffers.size(); ++i) {
    llvm::Value* pointer = buffers_[buffers[i].value];
    if (node.arg_count > 0)
      pointer = b_.CreateGEP(b_.getInt8Ty(), pointer, value(plan_.args_of(node)[i]));
    b_.CreateStore(pointer, b_.CreateConstInBoundsGEP2_64(table, pointers, 0, i));
  }
  llvm::FunctionType* signature = llvm::FunctionType::get(
      b_.getInt64Ty(), {b_.getPtrTy(), b_.getInt64Ty(), b_.getPtrTy()}, false);
  const auto given = kernel_numbers_.find(node.imm);
  llvm::Value* number =
      given == kernel_numbers_.end() ? b_.getInt64(static_cast<uint64_t>(node.imm)) : given->second;
  llvm::Value* code = b_.CreateCall(module_.getOrInsertFunction(kCallKernelName, signature),
                                    {tables_[0], number, pointers});
  // The kernel says what failed, so that no node is named: equal pieces have one code.
  leave_if(b_.CreateICmpNE(code, b_.getInt64(0)), Exit::Reason::kKernelFailed, NodeId(0));
}

}  // namespace heddle::cpu
