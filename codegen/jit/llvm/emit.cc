#include "heddle/codegen/jit/llvm/internal/emit.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "heddle/codegen/jit/llvm/internal/branches.h"
#include "heddle/codegen/jit/llvm/internal/function.h"
#include "heddle/codegen/plan/pieces.h"
#include "llvm/IR/MDBuilder.h"

namespace heddle::cpu {
namespace {

// In instructions. Longer blocks become functions of kPieceSize; in loops later, since what stands
// in one function may stay in registers.
constexpr int64_t kMostStraight = 3000;
constexpr int64_t kMostInLoop = 12000;
constexpr int64_t kPieceSize = 500;
// cut() takes blocks of a piece's size to stay whole: they find their buffers by its places.
static_assert(kPieceSize <= kMostStraight && kPieceSize <= kMostInLoop);
constexpr int64_t kSlotAlignment = 64;  // bytes: of the widest vectors

// Writes one plan.
class Emitter : FunctionEmitter {
 public:
  using FunctionEmitter::FunctionEmitter;

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
    skip_unneeded_operands(skipping_);
    drop_unused_bases();
    lines_.end();
  }

  [[nodiscard]] int64_t arena_bytes() const { return arena_bytes_; }

 private:
  // Pieces read addresses by themselves. LLVM takes the square of the number of unused reads.
  void drop_unused_bases() {
    for (llvm::Value* base : buffers_) {
      auto* read = llvm::dyn_cast<llvm::LoadInst>(base);
      if (read != nullptr && read->use_empty()) read->eraseFromParent();
    }
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
        case Op::kParts: is_shared(node) ? share_loop(id) : emit_whole(id); break;
        case Op::kWhile: emit_while(id, node); break;
        case Op::kSwitch: emit_switch(id, node); break;
        case Op::kResult:
          values_[id.value] = results_[plan_.args_of(node)[0].value][static_cast<size_t>(node.imm)];
          break;
        case Op::kKernel: call_kernel(node); break;
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
  using Slots = std::map<NodeId, Slot>;
  llvm::Value* at_offset(llvm::Value* base, int64_t offset) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), base, static_cast<uint64_t>(offset));
  }
  llvm::Value* kept(llvm::Type* type, llvm::Value* address) {
    return with_lanes(type,
                      b_.CreateAlignedLoad(widened(type), address, llvm::Align(kSlotAlignment)));
  }
  llvm::Value* kept(const Slot& slot) {
    return kept(slot.type, at_offset(tables_[1], slot.offset));
  }
  // `base` is the address of what lies at `first`.
  void keep(NodeId id, Slots& slots, llvm::Value* base, int64_t first) {
    slots[id] = {value(id)->getType(), arena_bytes_};
    llvm::Value* wide = widened(value(id));
    b_.CreateAlignedStore(wide, at_offset(base, arena_bytes_ - first), llvm::Align(kSlotAlignment));
    const auto bytes = static_cast<int64_t>(
        module_.getDataLayout().getTypeAllocSize(wide->getType()).getFixedValue());
    arena_bytes_ += (bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
  }

  // Each piece becomes a function of its own, or a call of an equal one's.
  void emit_pieces(BlockId block) {
    const Pieces pieces = cut(plan_, block, kPieceSize);
    const std::set<NodeId> wanted(pieces.kept.begin(), pieces.kept.end());
    const std::set<NodeId> own(plan_.at(block).nodes.begin(), plan_.at(block).nodes.end());
    Slots slots;
    std::map<NodeId, llvm::Value*> outer;
    std::map<const Piece*, int, ByForm> times;
    std::map<const Piece*, std::vector<EqualPieces>, ByForm> known;
    for (const Piece& piece : pieces.pieces) {
      ++times[&piece];
      for (NodeId id : piece.inputs) {
        if (own.contains(id) || slots.contains(id) || llvm::isa<llvm::Constant>(value(id)))
          continue;
        outer[id] = value(id);
        keep(id, slots, tables_[1], 0);
      }
    }
    for (const Piece& piece : pieces.pieces) {
      b_.SetCurrentDebugLocation(line_of(plan_.at(piece.nodes[0])));
      // What fails is told by the instruction that the code was made for, and so are its lines.
      if (times[&piece] > 1 && !request_.checks_bounds && !lines_.are_wanted()) {
        call_equal(piece, wanted, slots, known[&piece]);
      } else {
        const auto [function, may_fail] = function_of(piece, wanted, slots, /*is_shared=*/false);
        call(function, {tables_.begin(), tables_.end()}, may_fail);
      }
    }
    for (const auto& [id, was] : outer) values_[id.value] = was;
    for (NodeId id : plan_.at(block).yields) {
      if (const auto slot = slots.find(id); own.contains(id) && slot != slots.end())
        values_[id.value] = kept(slot->second);
    }
  }

  struct ByForm {
    bool operator()(const Piece* a, const Piece* b) const { return a->form < b->form; }
  };

  // One function for pieces of one form. It finds inputs and places by a table of their offsets,
  // and writes what it hands on behind the address that it is given.
  struct EqualPieces {
    llvm::Function* function = nullptr;
    bool may_fail = false;
    std::vector<llvm::Value*> constants;  // by input: what it is, null where it is not known
    std::vector<size_t> places;           // of the nodes whose values others use
    std::vector<llvm::Value*> results;    // of these: what is known already, or null
    std::vector<Slot> slots;              // of the others; offsets from the first one
    int64_t bytes = 0;                    // of all slots
  };

  void call_equal(const Piece& piece, const std::set<NodeId>& wanted, Slots& slots,
                  std::vector<EqualPieces>& known) {
    EqualPieces made;
    std::vector<llvm::Constant*> offsets;
    for (NodeId id : piece.inputs) {
      const auto slot = slots.find(id);
      made.constants.push_back(slot == slots.end() ? value(id) : nullptr);
      offsets.push_back(
          b_.getInt64(slot == slots.end() ? 0 : static_cast<uint64_t>(slot->second.offset)));
    }
    for (const int64_t place : piece.places)
      offsets.push_back(b_.getInt64(static_cast<uint64_t>(std::max<int64_t>(place, 0))));
    for (size_t i = 0; i < piece.nodes.size(); ++i) {
      if (wanted.contains(piece.nodes[i])) made.places.push_back(i);
    }
    const int64_t first = arena_bytes_;
    auto same = std::ranges::find_if(known, [&](const EqualPieces& each) {
      return each.constants == made.constants && each.places == made.places;
    });
    if (same == known.end()) {
      std::tie(made.function, made.may_fail) = function_of(piece, wanted, slots, true);
      made.bytes = arena_bytes_ - first;
      for (size_t i : made.places) {
        const auto slot = slots.find(piece.nodes[i]);
        const bool is_kept = slot != slots.end();
        made.results.push_back(is_kept ? nullptr : value(piece.nodes[i]));
        made.slots.push_back(is_kept ? Slot{slot->second.type, slot->second.offset - first}
                                     : Slot());
      }
      same = known.insert(known.end(), std::move(made));
    } else {
      for (NodeId id : piece.nodes) {
        if (is_literal(plan_.at(id))) values_[id.value] = arithmetic(plan_.at(id));
      }
      for (size_t k = 0; k < same->places.size(); ++k) {
        const NodeId id = piece.nodes[same->places[k]];
        const Slot& slot = same->slots[k];
        values_[id.value] = same->results[k];
        if (slot.type != nullptr) slots[id] = {slot.type, first + slot.offset};
      }
      arena_bytes_ += same->bytes;
    }
    std::vector<llvm::Value*> args(tables_.begin(), tables_.end());
    args.push_back(table_of(offsets));
    args.push_back(at_offset(tables_[1], first));
    call(same->function, args, same->may_fail);
  }

  llvm::Value* table_of(llvm::ArrayRef<llvm::Constant*> numbers) {
    auto* type = llvm::ArrayType::get(b_.getInt64Ty(), numbers.size());
    return new llvm::GlobalVariable(module_, type, /*isConstant=*/true,
                                    llvm::GlobalValue::InternalLinkage,
                                    llvm::ConstantArray::get(type, numbers), "offsets");
  }

  // returns: the function, and whether it may return something else than 0
  std::pair<llvm::Function*, bool> function_of(const Piece& piece, const std::set<NodeId>& wanted,
                                               Slots& slots, bool is_shared) {
    const llvm::IRBuilderBase::InsertPointGuard back(b_);
    const auto buffers = buffers_;
    const auto tables = tables_;
    const auto outer = std::tuple(function_, entry_, failed_, exit_);
    const size_t parameters = tables_.size() + (is_shared ? 2 : 0);
    function_ = new_function(b_.getInt64Ty(), std::vector<llvm::Type*>(parameters, b_.getPtrTy()),
                             llvm::Function::InternalLinkage, "piece");
    const Lines::Inside lines(lines_, *function_);
    b_.SetCurrentDebugLocation(line_of(plan_.at(piece.nodes[0])));
    for (unsigned i = 0; i < tables_.size(); ++i) tables_[i] = function_->getArg(i);
    begin_exits();
    llvm::Value* offsets = is_shared ? function_->getArg(tables_.size()) : nullptr;
    for (BufferId buffer : piece.buffers) {
      const auto place = piece.place_of.find(buffer);
      const bool is_given = is_shared && place != piece.place_of.end();
      buffers_[buffer.value] =
          base_of(plan_.buffers[buffer.value],
                  is_given ? given(offsets, piece.inputs.size() + place->second) : nullptr);
    }
    const auto kernels = kernel_numbers_;
    for (const auto& [number, place] : piece.place_of_kernel) {
      if (is_shared) kernel_numbers_[number] = given(offsets, piece.inputs.size() + place);
    }
    for (size_t i = 0; i < piece.inputs.size(); ++i) {
      const auto slot = slots.find(piece.inputs[i]);
      if (slot == slots.end()) continue;
      values_[piece.inputs[i].value] =
          is_shared ? kept(slot->second.type, at_given_offset(offsets, i)) : kept(slot->second);
    }
    llvm::Value* base = is_shared ? function_->getArg(tables_.size() + 1) : tables_[1];
    const int64_t first = is_shared ? arena_bytes_ : 0;
    emit(piece.nodes, [&](NodeId id) {
      if (wanted.contains(id) && value(id) && !llvm::isa<llvm::Constant>(value(id)))
        keep(id, slots, base, first);
    });
    const bool may_fail = end_exits();
    llvm::Function* function = function_;
    std::tie(function_, entry_, failed_, exit_) = outer;
    buffers_ = buffers;
    tables_ = tables;
    kernel_numbers_ = kernels;
    return {function, may_fail};
  }

  // Number i of a table_of() numbers.
  llvm::Value* given(llvm::Value* table, size_t i) {
    llvm::LoadInst* number =
        b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), table, i));
    number->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    return number;
  }
  llvm::Value* at_given_offset(llvm::Value* table, size_t i) {
    return b_.CreateInBoundsGEP(b_.getInt8Ty(), tables_[1], given(table, i));
  }

  // A part cannot end the run, as a check of bounds must, and has no memory that pieces hand on.
  [[nodiscard]] bool is_shared(const Node& node) const {
    if (!node.shared.valid() || !request_.share_loop || request_.checks_bounds) return false;
    const auto is_short = [&](BlockId block) { return code_size(plan_, block) <= kMostInLoop; };
    return std::ranges::all_of(plan_.blocks_of(node), is_short);
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
      contents.push_back(widened(value(id)));
      types.push_back(contents.back()->getType());
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
    leave_if_stopped(loop);
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
      values_[captured[i].value] =
          with_lanes(values[captured[i].value]->getType(), content(tables_.size() + i));
    for (BufferId buffer : plan_.shared_loops[node.shared.value].buffers)
      buffers_[buffer.value] = base_of(plan_.buffers[buffer.value]);
    if (node.op == Op::kParts) {
      emit_part(loop, function_->getArg(1), function_->getArg(2));
    } else {
      emit_turns(loop, function_->getArg(1), function_->getArg(2), {});
    }
    b_.CreateRetVoid();
    is_part_ = false;
    llvm::Function* part = function_;
    std::tie(function_, entry_) = outer;
    values_ = values;
    buffers_ = buffers;
    tables_ = tables;
    return part;
  }

  void emit_whole(NodeId id) {
    const auto args = plan_.args_of(plan_.at(id));
    emit_part(id, value(args[0]), value(args[1]));
  }
  void emit_part(NodeId id, llvm::Value* from, llvm::Value* to) {
    const BlockId block = plan_.blocks_of(plan_.at(id))[0];
    values_[plan_.at(block).parameters[0].value] = from;
    values_[plan_.at(block).parameters[1].value] = to;
    emit(block);
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
    llvm::BasicBlock* loop = begin_block("for");
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
    llvm::BasicBlock* after = new_block();
    b_.CreateCondBr(b_.CreateICmpSLT(next, to), loop, after);
    b_.SetInsertPoint(after);
  }

  void emit_while(NodeId id, const Node& node) {
    const auto args = plan_.args_of(node);
    const Block& condition = plan_.at(plan_.blocks_of(node)[0]);
    const Block& body = plan_.at(plan_.blocks_of(node)[1]);
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* head = begin_block("while");
    std::vector<llvm::PHINode*> phis;
    for (size_t i = 0; i < args.size(); ++i) {
      phis.push_back(b_.CreatePHI(type(plan_.at(args[i]).type), 2));
      phis.back()->addIncoming(value(args[i]), before);
      values_[condition.parameters[i].value] = phis.back();
      values_[body.parameters[i].value] = phis.back();
    }
    ++loops_;
    emit(plan_.blocks_of(node)[0]);
    llvm::BasicBlock* turn = new_block("turn");
    llvm::BasicBlock* after = new_block();
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
    llvm::BasicBlock* after = new_block();
    std::vector<llvm::BasicBlock*> branches;
    for (size_t i = 0; i < blocks.size(); ++i) branches.push_back(new_block("branch"));
    llvm::SwitchInst* choose = b_.CreateSwitch(value(plan_.args_of(node)[0]), branches.back());
    // The library's function is for few arguments: registers are not to be saved for its sake. A
    // scalar's chain waits for each operation; there LLVM's own choice is the faster one.
    if (blocks.size() == 2 && std::ranges::any_of(plan_.at(blocks[0]).nodes, [&](NodeId inner) {
          return plan_.at(inner).op == Op::kMath && plan_.at(inner).type.lanes > 1;
        }))
      choose->setMetadata(llvm::LLVMContext::MD_prof,
                          llvm::MDBuilder(context_).createBranchWeights({1 << 20, 1}));
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

  int loops_ = 0;  // around the place where code is written
  int64_t arena_bytes_ = (plan_.arena_bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
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
