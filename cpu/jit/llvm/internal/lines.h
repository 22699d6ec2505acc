// Where code comes from, as debug locations: each instruction of a program is a file of its own,
// named "tanh.3 [train.cc:41]", so that IR, assembly and tables of addresses say both.
#pragma once

#include <map>

#include "heddle/cpu/plan/plan.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/Module.h"

namespace heddle::cpu {

class Lines {
 public:
  explicit Lines(llvm::Module& module) : module_(module), builder_(module) {}

  void begin(llvm::Function& function);
  [[nodiscard]] bool are_wanted() const { return function_ != nullptr; }
  llvm::DebugLoc at(uint32_t number, const Origin& origin);
  void end();

 private:
  llvm::Module& module_;
  llvm::DIBuilder builder_;
  llvm::DISubprogram* function_ = nullptr;
  std::map<uint32_t, llvm::DILexicalBlockFile*> scopes_;
};

}  // namespace heddle::cpu
