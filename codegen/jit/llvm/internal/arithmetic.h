// What a plan computes between loads and stores, as LLVM IR.
#pragma once

#include <span>
#include <vector>

#include "heddle/codegen/plan/plan.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace heddle::cpu {

class ArithmeticEmitter {
 protected:
  ArithmeticEmitter(const Plan& plan, const std::string& target_features, llvm::Module& module)
      : plan_(plan),
        target_features_(target_features),
        module_(module),
        context_(module.getContext()),
        b_(context_),
        values_(plan.nodes.size()) {}

  llvm::Type* scalar(Scalar scalar);
  llvm::Type* type(Type type);
  // As it lies in memory.
  llvm::Type* stored(Type type);

  llvm::Value* value(NodeId id) { return values_[id.value]; }
  std::vector<llvm::Value*> values(std::span<const NodeId> ids);

  // A node that neither reads memory, writes it nor has blocks. Null: no such node.
  llvm::Value* arithmetic(const Node& node);

  const Plan& plan_;
  const std::string& target_features_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;
  std::vector<llvm::Value*> values_;  // by node
  std::vector<llvm::SelectInst*> skipping_;  // whose first operand is skipped where no lane has it

 private:
  llvm::Type* half(Type type);
  bool has_half_arithmetic() const;
  bool is_made_here(llvm::Value* x);
  llvm::Value* half_of(llvm::Value* x);
  llvm::Value* half_arithmetic(llvm::Value* x);
  llvm::Value* contract_sum(const Node& node, llvm::Value* sum);
  llvm::Value* constant(const Node& node);
  llvm::Value* compare(const Node& node);
  llvm::Value* math(const Node& node);
  llvm::Value* is_small(llvm::Value* x, llvm::Value* least, Type of);
  llvm::Value* divided_integers(const Node& node, llvm::Value* x, llvm::Value* y);
  llvm::Value* divided_by(const Node& node);
  llvm::Value* rsqrt_estimate(llvm::Value* x);
  llvm::Value* saturated(const Node& node, llvm::Value* x);
  llvm::Value* reduce_lanes(Op fold, Type type, llvm::Value* x);
  llvm::Value* extract(const Node& node);
  llvm::Value* shuffle(const Node& node);
  llvm::Value* shuffled(NodeId id);
  llvm::Value* shift_lanes(const Node& node);
  llvm::Value* select(const Node& node);
  llvm::Value* conversion(const Node& node, llvm::Value* x);
};

}  // namespace heddle::cpu
