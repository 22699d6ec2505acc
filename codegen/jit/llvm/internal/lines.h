// Where code comes from, as debug locations: each instruction of a program is a file of its own,
// named "tanh.3 [train.cc:41]", so that IR, assembly and tables of addresses say both.
#pragma once

#include <map>

#include "heddle/codegen/plan/plan.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/Module.h"

namespace heddle::cpu {

class Lines {
 public:
  explicit Lines(llvm::Module& module) : module_(module), builder_(module) {}

  // The program's function.
  void begin(llvm::Function& function);
  // While it lives, code is made for another function.
  class Inside {
   public:
    Inside(Lines& lines, llvm::Function& function);
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Lines& lines_;
    llvm::DISubprogram* outer_;
    std::map<uint32_t, llvm::DILexicalBlockFile*> outer_scopes_;
  };
  [[nodiscard]] bool are_wanted() const { return function_ != nullptr; }
  llvm::DebugLoc at(uint32_t number, const Origin& origin);
  void end();

 private:
  void enter(llvm::Function& function);

  llvm::Module& module_;
  llvm::DIBuilder builder_;
  llvm::DIFile* file_ = nullptr;
  llvm::DISubprogram* function_ = nullptr;
  std::map<uint32_t, llvm::DILexicalBlockFile*> scopes_;
};

}  // namespace heddle::cpu
