#include "heddle/cpu/jit/llvm/internal/emit.h"

#include <array>
#include <map>
#include <set>
#include <tuple>

#include "heddle/cpu/jit/llvm/internal/arithmetic.h"
#include "heddle/cpu/jit/llvm/internal/lines.h"
#include "heddle/cpu/plan/pieces.h"
#include "llvm/IR/MDBuilder.h"

namespace heddle::cpu {
namespace {

// In instructions. Longer blocks become functions of kPieceSize; in loops later, since what stands
// in one function may stay in registers.
constexpr int64_t kMostStraight = 3000;
constexpr int64_t kMostInLoop = 12000;
constexpr int64_t kPieceSize = 500;
constexpr int64_t kSlotAlignment = 64;  // bytes: of the widest vectors

// Writes one plan.
class Emitter : ArithmeticEmitter {
 public:
  Emitter(const JitRequest& request, const std::string& target_features, llvm::Module& module)
      : ArithmeticEmitter(*request.plan, module),
        request_(request),
        target_features_(target_features),
        lines_(module),
        buffers_(plan_.buffers.size()) {}

  void run() {
    llvm::Type* pointer = b_.getPtrTy();
    function_ = new_function(b_.getInt64Ty(), std::vector<llvm::Type*>(tables_.size(), pointer),
                             llvm::Function::ExternalLinkage, kEntryName);
    if (request_.wants_text || request_.wants_ranges) lines_.begin(*function_);
    for (unsigned i = 0; i < tables_.size(); ++i) tables_[i] = function_->getArg(i);
    for (size_t i = 0; i < buffers_.size(); ++i) buffers_[i] = base_of(plan_.buffers[i]);
    begin_exits();
    emit(plan_.entry);
    end_exits();
    lines_.end();
  }

  [[nodiscard]] int64_t arena_bytes() const { return arena_bytes_; }

 private:
  // The function begins and ends here; it returns 0, or the code of an Exit.
  void begin_exits() {
    entry_ = b_.GetInsertBlock();
    failed_ = llvm::BasicBlock::Create(context_, "failed", function_);
    exit_ = llvm::PHINode::Create(b_.getInt64Ty(), 0, "exit", failed_);
  }
  // returns: false, where it always returns 0
  bool end_exits() {
    b_.CreateRet(b_.getInt64(0));
    b_.SetInsertPoint(failed_);
    b_.CreateRet(exit_);
    const bool may_fail = exit_->getNumIncomingValues() > 0;
    if (!may_fail) failed_->eraseFromParent();
    return may_fail;
  }

  // Stands at the beginning of the new function.
  llvm::Function* new_function(llvm::Type* result, llvm::ArrayRef<llvm::Type*> parameters,
                               llvm::Function::LinkageTypes linkage, const char* name) {
    auto* function = llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                                            linkage, name, module_);
    function->addFnAttr("target-features", target_features_);
    function->addFnAttr("prefer-vector-width", std::to_string(8 * plan_.vector_bytes));
    function->addFnAttr("min-legal-vector-width", std::to_string(8 * plan_.vector_bytes));
    function->addFnAttr(llvm::Attribute::NoUnwind);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
    return function;
  }

  llvm::Value* base_of(const BufferInfo& buffer) {
    if (buffer.kind == BufferInfo::Kind::kArena)
      return b_.CreateConstInBoundsGEP1_64(
          b_.getInt8Ty(), tables_[1], static_cast<uint64_t>(std::max<int64_t>(buffer.index, 0)));
    const unsigned table = buffer.kind == BufferInfo::Kind::kArgument ? 2
                           : buffer.kind == BufferInfo::Kind::kResult ? 3
                                                                      : 4;
    return b_.CreateLoad(b_.getPtrTy(),
                         b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), tables_[table],
                                                       static_cast<uint64_t>(buffer.index)));
  }

  llvm::DebugLoc line_of(const Node& node) {
    return lines_.are_wanted() ? lines_.at(node.origin, plan_.origins[node.origin])
                               : llvm::DebugLoc();
  }

  void emit(BlockId block) {
    if (!is_part_ && code_size(plan_, block) > (loops_ > 0 ? kMostInLoop : kMostStraight)) {
      emit_pieces(block);
    } else {
      emit(plan_.at(block).nodes, [](NodeId) {});
    }
  }

  // Calls done(id) after each node.
  template <class Done>
  void emit(std::span<const NodeId> nodes, const Done& done) {
    for (NodeId id : nodes) {
      const Node& node = plan_.at(id);
      b_.SetCurrentDebugLocation(line_of(node));
      if (request_.checks_bounds) check_bounds(id, node);
      switch (node.op) {
        case Op::kFor: emit_for(id); break;
        case Op::kForEach: is_shared(node) ? share_loop(id) : emit_for(id); break;
        case Op::kWhile: emit_while(id, node); break;
        case Op::kSwitch: emit_switch(id, node); break;
        case Op::kResult:
          values_[id.value] = results_[plan_.args_of(node)[0].value][static_cast<size_t>(node.imm)];
          break;
        case Op::kKernel: call_kernel(id, node); break;
        default: values_[id.value] = emit_node(node);
      }
      done(id);
    }
  }

  // A place behind the program's own memory, where pieces hand on a value.
  struct Slot {
    llvm::Type* type = nullptr;
    int64_t offset = 0;
  };
  llvm::Value* address_of(const Slot& slot) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), tables_[1],
                                         static_cast<uint64_t>(slot.offset));
  }
  void keep(NodeId id, std::map<NodeId, Slot>& slots) {
    Slot& slot = slots[id];
    slot.type = value(id)->getType();
    slot.offset = arena_bytes_;
    const auto bytes =
        static_cast<int64_t>(module_.getDataLayout().getTypeAllocSize(slot.type).getFixedValue());
    arena_bytes_ += (bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
    b_.CreateAlignedStore(value(id), address_of(slot), llvm::Align(kSlotAlignment));
  }
  llvm::Value* kept(const Slot& slot) {
    return b_.CreateAlignedLoad(slot.type, address_of(slot), llvm::Align(kSlotAlignment));
  }

  // Each piece becomes a function of its own.
  void emit_pieces(BlockId block) {
    const Pieces pieces = cut(plan_, block, kPieceSize);
    const std::set<NodeId> wanted(pieces.kept.begin(), pieces.kept.end());
    const std::set<NodeId> own(plan_.at(block).nodes.begin(), plan_.at(block).nodes.end());
    std::map<NodeId, Slot> slots;
    std::map<NodeId, llvm::Value*> outer;
    for (const Piece& piece : pieces.pieces) {
      for (NodeId id : piece.inputs) {
        if (own.contains(id) || slots.contains(id) || llvm::isa<llvm::Constant>(value(id)))
          continue;
        outer[id] = value(id);
        keep(id, slots);
      }
    }
    for (const Piece& piece : pieces.pieces) {
      const auto [function, may_fail] = function_of(piece, wanted, slots);
      b_.SetCurrentDebugLocation(line_of(plan_.at(piece.nodes[0])));
      llvm::Value* code = b_.CreateCall(function, {tables_.begin(), tables_.end()});
      if (may_fail) leave_with(b_.CreateICmpNE(code, b_.getInt64(0)), code);
    }
    for (const auto& [id, was] : outer) values_[id.value] = was;
    for (NodeId id : plan_.at(block).yields) {
      if (const auto slot = slots.find(id); own.contains(id) && slot != slots.end())
        values_[id.value] = kept(slot->second);
    }
  }

  std::pair<llvm::Function*, bool> function_of(const Piece& piece, const std::set<NodeId>& wanted,
                                               std::map<NodeId, Slot>& slots) {
    const llvm::IRBuilderBase::InsertPointGuard back(b_);
    const auto buffers = buffers_;
    const auto tables = tables_;
    const auto outer = std::tuple(function_, entry_, failed_, exit_);
    function_ =
        new_function(b_.getInt64Ty(), std::vector<llvm::Type*>(tables_.size(), b_.getPtrTy()),
                     llvm::Function::InternalLinkage, "piece");
    const Lines::Inside lines(lines_, *function_);
    b_.SetCurrentDebugLocation(line_of(plan_.at(piece.nodes[0])));
    for (unsigned i = 0; i < tables_.size(); ++i) tables_[i] = function_->getArg(i);
    begin_exits();
    for (BufferId buffer : piece.buffers)
      buffers_[buffer.value] = base_of(plan_.buffers[buffer.value]);
    for (NodeId id : piece.inputs) {
      if (const auto slot = slots.find(id); slot != slots.end())
        values_[id.value] = kept(slot->second);
    }
    emit(piece.nodes, [&](NodeId id) {
      if (wanted.contains(id) && value(id) && !llvm::isa<llvm::Constant>(value(id)))
        keep(id, slots);
    });
    const bool may_fail = end_exits();
    llvm::Function* function = function_;
    std::tie(function_, entry_, failed_, exit_) = outer;
    buffers_ = buffers;
    tables_ = tables;
    return {function, may_fail};
  }

  // Memory; all else is arithmetic.
  llvm::Value* emit_node(const Node& node) {
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

  static uint64_t element_bytes(Type type) { return static_cast<uint64_t>(bytes_of(type.scalar)); }

  llvm::Value* address_of(BufferId buffer, Type element, llvm::Value* index) {
    return b_.CreateInBoundsGEP(stored({element.scalar, 1}), buffers_[buffer.value], index);
  }
  llvm::Value* address(const Node& node, llvm::Value* index) {
    return address_of(node.buffer, node.type, index);
  }
  llvm::Value* from_memory(Type type, llvm::Value* raw) {
    if (type.scalar != Scalar::kPred) return raw;
    return b_.CreateICmpNE(raw, llvm::Constant::getNullValue(raw->getType()));
  }

  llvm::Value* gather(const Node& node, llvm::Value* index) {
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
  void copy_unless_same(const Node& node) {
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

  void scatter(const Node& node, llvm::Value* index, llvm::Value* value) {
    if (node.type.scalar == Scalar::kPred) value = b_.CreateZExt(value, stored(node.type));
    for (int32_t lane = 0; lane < node.type.lanes; ++lane) {
      llvm::Value* at = b_.CreateExtractElement(index, static_cast<uint64_t>(lane));
      b_.CreateAlignedStore(b_.CreateExtractElement(value, static_cast<uint64_t>(lane)),
                            address(node, at), llvm::Align(element_bytes(node.type)));
    }
  }

  // Ends the run where `condition` is true.
  void leave_if(llvm::Value* condition, Exit::Reason reason, NodeId id) {
    leave_with(condition, b_.getInt64(static_cast<uint64_t>(Exit{reason, id}.code())));
  }
  void leave_with(llvm::Value* condition, llvm::Value* code) {
    llvm::BasicBlock* next = llvm::BasicBlock::Create(context_, "", function_);
    exit_->addIncoming(code, b_.GetInsertBlock());
    b_.CreateCondBr(condition, failed_, next,
                    llvm::MDBuilder(context_).createUnlikelyBranchWeights());
    b_.SetInsertPoint(next);
  }

  // In a loop that runs long: one load and a branch a turn.
  void leave_if_stopped(NodeId id) {
    if (!plan_.at(id).checks_stop || is_part_) return;
    llvm::LoadInst* stop = b_.CreateAlignedLoad(b_.getInt8Ty(), tables_[5], llvm::Align(1), "stop");
    stop->setAtomic(llvm::AtomicOrdering::Monotonic);
    leave_if(b_.CreateICmpNE(stop, b_.getInt8(0)), Exit::Reason::kStopped, id);
  }

  void check_bounds(NodeId id, const Node& node) {
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

  void call_kernel(NodeId id, const Node& node) {
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
    llvm::Value* code =
        b_.CreateCall(module_.getOrInsertFunction(kCallKernelName, signature),
                      {tables_[0], b_.getInt64(static_cast<uint64_t>(node.imm)), pointers});
    leave_if(b_.CreateICmpNE(code, b_.getInt64(0)), Exit::Reason::kKernelFailed, id);
  }

  // A part has no way to end the run, which a check of bounds must.
  [[nodiscard]] bool is_shared(const Node& node) const {
    return node.shared.valid() && request_.share_loop && !request_.checks_bounds;
  }

  // The body becomes a function of its own. What it needs goes through a frame in memory.
  void share_loop(NodeId loop) {
    const Node& node = plan_.at(loop);
    const auto args = plan_.args_of(node);
    const SharedLoop& shared = plan_.shared_loops[node.shared.value];
    llvm::Value *from = value(args[0]), *to = value(args[1]);
    std::vector<NodeId> captured;
    std::vector<llvm::Type*> types(tables_.size(), b_.getPtrTy());
    std::vector<llvm::Value*> contents(tables_.begin(), tables_.end());
    for (NodeId id : shared.captured) {
      if (llvm::isa<llvm::Constant>(value(id))) continue;
      captured.push_back(id);
      types.push_back(value(id)->getType());
      contents.push_back(value(id));
    }
    llvm::StructType* layout = llvm::StructType::get(context_, types);
    llvm::Value* frame = llvm::IRBuilder<>(entry_, entry_->begin()).CreateAlloca(layout);
    for (unsigned i = 0; i < contents.size(); ++i)
      b_.CreateStore(contents[i], b_.CreateStructGEP(layout, frame, i));
    llvm::Function* part = part_of(loop, layout, captured);
    llvm::Type *pointer = b_.getPtrTy(), *index = b_.getInt64Ty();
    llvm::FunctionType* signature =
        llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, index, index, index}, false);
    b_.CreateCall(module_.getOrInsertFunction(kShareLoopName, signature),
                  {part, frame, from, to, b_.getInt64(static_cast<uint64_t>(shared.chunk))});
  }

  llvm::Function* part_of(NodeId loop, llvm::StructType* layout,
                          const std::vector<NodeId>& captured) {
    const Node& node = plan_.at(loop);
    const llvm::IRBuilderBase::InsertPointGuard back(b_);
    const auto values = values_, buffers = buffers_;
    const auto tables = tables_;
    const auto outer = std::pair(function_, entry_);
    function_ = new_function(b_.getVoidTy(), {b_.getPtrTy(), b_.getInt64Ty(), b_.getInt64Ty()},
                             llvm::Function::InternalLinkage, "part");
    entry_ = b_.GetInsertBlock();
    const Lines::Inside lines(lines_, *function_);
    b_.SetCurrentDebugLocation(line_of(node));
    is_part_ = true;
    const auto content = [&](size_t i) {
      const auto number = static_cast<unsigned>(i);
      return b_.CreateLoad(layout->getElementType(number),
                           b_.CreateStructGEP(layout, function_->getArg(0), number));
    };
    for (size_t i = 0; i < tables_.size(); ++i) tables_[i] = content(i);
    for (size_t i = 0; i < captured.size(); ++i)
      values_[captured[i].value] = content(tables_.size() + i);
    for (BufferId buffer : plan_.shared_loops[node.shared.value].buffers)
      buffers_[buffer.value] = base_of(plan_.buffers[buffer.value]);
    emit_turns(loop, function_->getArg(1), function_->getArg(2), {});
    b_.CreateRetVoid();
    is_part_ = false;
    llvm::Function* part = function_;
    std::tie(function_, entry_) = outer;
    values_ = values;
    buffers_ = buffers;
    tables_ = tables;
    return part;
  }

  void emit_for(NodeId id) {
    const std::vector<llvm::Value*> args = values(plan_.args_of(plan_.at(id)));
    emit_turns(id, args[0], args[1], std::span(args).subspan(2));
    results_[id.value] = values(plan_.at(plan_.blocks_of(plan_.at(id))[0]).yields);
  }

  // Bounds are known and there is at least one turn.
  void emit_turns(NodeId id, llvm::Value* from, llvm::Value* to,
                  std::span<llvm::Value* const> initial) {
    const Node& node = plan_.at(id);
    const Block& body = plan_.at(plan_.blocks_of(node)[0]);
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* loop = llvm::BasicBlock::Create(context_, "for", function_);
    b_.CreateBr(loop);
    b_.SetInsertPoint(loop);
    std::vector<llvm::PHINode*> phis;
    for (size_t i = 0; i < body.parameters.size(); ++i) {
      phis.push_back(b_.CreatePHI(type(plan_.at(body.parameters[i]).type), 2));
      phis.back()->addIncoming(i == 0 ? from : initial[i - 1], before);
      values_[body.parameters[i].value] = phis.back();
    }
    ++loops_;
    emit(plan_.blocks_of(node)[0]);
    --loops_;
    leave_if_stopped(id);
    llvm::BasicBlock* last = b_.GetInsertBlock();
    llvm::Value* next = b_.CreateAdd(phis[0], b_.getInt64(static_cast<uint64_t>(node.imm)), "",
                                     /*HasNUW=*/true, /*HasNSW=*/true);
    phis[0]->addIncoming(next, last);
    for (size_t i = 0; i < body.yields.size(); ++i)
      phis[i + 1]->addIncoming(value(body.yields[i]), last);
    llvm::BasicBlock* after = llvm::BasicBlock::Create(context_, "", function_);
    b_.CreateCondBr(b_.CreateICmpSLT(next, to), loop, after);
    b_.SetInsertPoint(after);
  }

  void emit_while(NodeId id, const Node& node) {
    const auto args = plan_.args_of(node);
    const Block& condition = plan_.at(plan_.blocks_of(node)[0]);
    const Block& body = plan_.at(plan_.blocks_of(node)[1]);
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* head = llvm::BasicBlock::Create(context_, "while", function_);
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    std::vector<llvm::PHINode*> phis;
    for (size_t i = 0; i < args.size(); ++i) {
      phis.push_back(b_.CreatePHI(type(plan_.at(args[i]).type), 2));
      phis.back()->addIncoming(value(args[i]), before);
      values_[condition.parameters[i].value] = phis.back();
      values_[body.parameters[i].value] = phis.back();
    }
    ++loops_;
    emit(plan_.blocks_of(node)[0]);
    llvm::BasicBlock* turn = llvm::BasicBlock::Create(context_, "turn", function_);
    llvm::BasicBlock* after = llvm::BasicBlock::Create(context_, "", function_);
    b_.CreateCondBr(value(condition.yields[0]), turn, after);
    b_.SetInsertPoint(turn);
    emit(plan_.blocks_of(node)[1]);
    --loops_;
    leave_if_stopped(id);
    for (size_t i = 0; i < args.size(); ++i)
      phis[i]->addIncoming(value(body.yields[i]), b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(after);
    results_[id.value].assign(phis.begin(), phis.end());
  }

  void emit_switch(NodeId id, const Node& node) {
    const auto blocks = plan_.blocks_of(node);
    llvm::BasicBlock* after = llvm::BasicBlock::Create(context_, "", function_);
    std::vector<llvm::BasicBlock*> branches;
    for (size_t i = 0; i < blocks.size(); ++i)
      branches.push_back(llvm::BasicBlock::Create(context_, "branch", function_));
    llvm::SwitchInst* choose = b_.CreateSwitch(value(plan_.args_of(node)[0]), branches.back());
    std::vector<std::pair<std::vector<llvm::Value*>, llvm::BasicBlock*>> ends;
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (i + 1 < blocks.size()) choose->addCase(b_.getInt64(i), branches[i]);
      b_.SetInsertPoint(branches[i]);
      emit(blocks[i]);
      ends.emplace_back(values(plan_.at(blocks[i]).yields), b_.GetInsertBlock());
      b_.CreateBr(after);
    }
    b_.SetInsertPoint(after);
    for (size_t r = 0; r < ends[0].first.size(); ++r) {
      llvm::PHINode* phi =
          b_.CreatePHI(ends[0].first[r]->getType(), static_cast<unsigned>(ends.size()));
      for (const auto& [yields, block] : ends) phi->addIncoming(yields[r], block);
      results_[id.value].push_back(phi);
    }
  }

  const JitRequest& request_;
  const std::string& target_features_;
  Lines lines_;
  std::array<llvm::Value*, 6> tables_{};  // what an Entry is given
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  llvm::BasicBlock* failed_ = nullptr;  // of the program's function: parts end by themselves
  llvm::PHINode* exit_ = nullptr;       // in failed_: the code of the Exit
  bool is_part_ = false;                // of a loop that threads share
  int loops_ = 0;                       // around the place where code is written
  int64_t arena_bytes_ = (plan_.arena_bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
  std::vector<llvm::Value*> buffers_;   // by buffer
  std::map<uint32_t, std::vector<llvm::Value*>> results_;  // by control node
};

}  // namespace

int64_t emit_plan(const JitRequest& request, const std::string& target_features,
                  llvm::Module& module) {
  Emitter emitter(request, target_features, module);
  emitter.run();
  return emitter.arena_bytes();
}

}  // namespace heddle::cpu
