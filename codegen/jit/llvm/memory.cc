#include "heddle/codegen/jit/llvm/internal/memory.h"

#include <algorithm>
#include <bit>

namespace heddle::cpu {
namespace {

uint64_t element_bytes(Type type) { return static_cast<uint64_t>(bytes_of(type.scalar)); }

}  // namespace

llvm::Value* MemoryEmitter::emit_node(const Node& node) {
  const auto args = plan_.args_of(node);
  const auto x = [&](size_t i) { return value(args[i]); };
  switch (node.op) {
    case Op::kLoad: {
      llvm::Value* raw = b_.CreateAlignedLoad(stored(node.type), address(node, x(0)),
                                              llvm::Align(element_bytes(node.type)));
      return from_memory(node.type, raw);
    }
    case Op::kGather: return gather(node, x(0));
    case Op::kStore: {
      llvm::Value* raw = x(1);
      const Type t = plan_.at(args[1]).type;
      if (t.scalar == Scalar::kPred) raw = b_.CreateZExt(raw, stored(t));
      b_.CreateAlignedStore(raw, address_of(node.buffer, t, x(0)), llvm::Align(element_bytes(t)));
      return nullptr;
    }
    case Op::kScatter: scatter(node, x(0), x(1)); return nullptr;
    case Op::kCopy:
      if (plan_.buffers[node.buffer.value].kind == BufferInfo::Kind::kResult &&
          plan_.buffers[node.buffer2.value].kind == BufferInfo::Kind::kArgument) {
        copy_unless_same(node);
        return nullptr;
      }
      b_.CreateMemCpy(buffers_[node.buffer.value], llvm::MaybeAlign(1),
                      buffers_[node.buffer2.value], llvm::MaybeAlign(1),
                      static_cast<uint64_t>(node.imm));
      return nullptr;
    default: return arithmetic(node);
  }
}

llvm::Type* MemoryEmitter::widened(llvm::Type* type) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (vector == nullptr) return type;
  return llvm::FixedVectorType::get(vector->getElementType(),
                                    std::bit_ceil(vector->getNumElements()));
}
llvm::Value* MemoryEmitter::with_lanes(llvm::Type* type, llvm::Value* value) {
  if (type == value->getType()) return value;
  const unsigned known = llvm::cast<llvm::FixedVectorType>(value->getType())->getNumElements();
  llvm::SmallVector<int> lanes(llvm::cast<llvm::FixedVectorType>(type)->getNumElements());
  for (unsigned i = 0; i < lanes.size(); ++i) lanes[i] = static_cast<int>(std::min(i, known));
  return b_.CreateShuffleVector(value, llvm::Constant::getNullValue(value->getType()), lanes);
}

llvm::Value* MemoryEmitter::address_of(BufferId buffer, Type element, llvm::Value* index) {
  return b_.CreateInBoundsGEP(stored({element.scalar, 1}), buffers_[buffer.value], index);
}
llvm::Value* MemoryEmitter::address(const Node& node, llvm::Value* index) {
  return address_of(node.buffer, node.type, index);
}
llvm::Value* MemoryEmitter::from_memory(Type type, llvm::Value* raw) {
  if (type.scalar != Scalar::kPred) return raw;
  return b_.CreateICmpNE(raw, llvm::Constant::getNullValue(raw->getType()));
}

llvm::Value* MemoryEmitter::gather(const Node& node, llvm::Value* index) {
  if (plan_.at(plan_.args_of(node)[0]).type.scalar == Scalar::kI32)
    return b_.CreateMaskedGather(stored(node.type), address(node, index),
                                 llvm::Align(element_bytes(node.type)));
  llvm::Value* out = llvm::PoisonValue::get(stored(node.type));
  for (int32_t lane = 0; lane < node.type.lanes; ++lane) {
    llvm::Value* at = b_.CreateExtractElement(index, static_cast<uint64_t>(lane));
    llvm::Value* one = b_.CreateAlignedLoad(stored({node.type.scalar, 1}), address(node, at),
                                            llvm::Align(element_bytes(node.type)));
    out = b_.CreateInsertElement(out, one, static_cast<uint64_t>(lane));
  }
  return from_memory(node.type, out);
}

// A result may have taken the argument's memory.
void MemoryEmitter::copy_unless_same(const Node& node) {
  llvm::Value *to = buffers_[node.buffer.value], *from = buffers_[node.buffer2.value];
  llvm::BasicBlock* copy = llvm::BasicBlock::Create(context_, "copy", function_);
  llvm::BasicBlock* next = llvm::BasicBlock::Create(context_, "", function_);
  b_.CreateCondBr(b_.CreateICmpEQ(to, from), next, copy);
  b_.SetInsertPoint(copy);
  b_.CreateMemCpy(to, llvm::MaybeAlign(1), from, llvm::MaybeAlign(1),
                  static_cast<uint64_t>(node.imm));
  b_.CreateBr(next);
  b_.SetInsertPoint(next);
}

void MemoryEmitter::scatter(const Node& node, llvm::Value* index, llvm::Value* value) {
  if (node.type.scalar == Scalar::kPred) value = b_.CreateZExt(value, stored(node.type));
  for (int32_t lane = 0; lane < node.type.lanes; ++lane) {
    llvm::Value* at = b_.CreateExtractElement(index, static_cast<uint64_t>(lane));
    b_.CreateAlignedStore(b_.CreateExtractElement(value, static_cast<uint64_t>(lane)),
                          address(node, at), llvm::Align(element_bytes(node.type)));
  }
}

}  // namespace heddle::cpu
