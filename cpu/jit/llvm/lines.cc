#include "heddle/cpu/jit/llvm/internal/lines.h"

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"

namespace heddle::cpu {

void Lines::begin(llvm::Function& function) {
  llvm::DIFile* file = builder_.createFile("heddle", "");
  module_.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  builder_.createCompileUnit(llvm::dwarf::DW_LANG_C, file, "heddle", /*isOptimized=*/true, "", 0,
                             "", llvm::DICompileUnit::LineTablesOnly);
  function_ =
      builder_.createFunction(file, function.getName(), "", file, 1,
                              builder_.createSubroutineType(builder_.getOrCreateTypeArray({})), 1,
                              llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
  function.setSubprogram(function_);
}

llvm::DebugLoc Lines::at(uint32_t number, const Origin& origin) {
  llvm::DILexicalBlockFile*& scope = scopes_[number];
  if (scope == nullptr) {
    const std::string name = origin.name.empty() ? "heddle" : to_string(origin);
    scope = builder_.createLexicalBlockFile(function_, builder_.createFile(name, ""));
  }
  const auto line = static_cast<unsigned>(std::max<int64_t>(origin.line, 1));  // 0 is none
  return llvm::DILocation::get(module_.getContext(), line, 0, scope);
}

void Lines::end() {
  if (are_wanted()) builder_.finalize();
}

}  // namespace heddle::cpu
