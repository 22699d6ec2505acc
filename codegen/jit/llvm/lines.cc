#include "heddle/codegen/jit/llvm/internal/lines.h"

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"

namespace heddle::cpu {

void Lines::begin(llvm::Function& function) {
  file_ = builder_.createFile("heddle", "");
  module_.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  builder_.createCompileUnit(llvm::dwarf::DW_LANG_C, file_, "heddle", /*isOptimized=*/true, "", 0,
                             "", llvm::DICompileUnit::LineTablesOnly);
  enter(function);
}

void Lines::enter(llvm::Function& function) {
  function_ =
      builder_.createFunction(file_, function.getName(), "", file_, 1,
                              builder_.createSubroutineType(builder_.getOrCreateTypeArray({})), 1,
                              llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
  function.setSubprogram(function_);
  scopes_.clear();
}

Lines::Inside::Inside(Lines& lines, llvm::Function& function)
    : lines_(lines), outer_(lines.function_), outer_scopes_(lines.scopes_) {
  if (lines.are_wanted()) lines.enter(function);
}
Lines::Inside::~Inside() {
  lines_.function_ = outer_;
  lines_.scopes_ = std::move(outer_scopes_);
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
