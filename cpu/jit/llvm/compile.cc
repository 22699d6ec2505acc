// The code generator: LLVM IR compiled by ORC. This folder alone includes LLVM.
#include <cmath>
#include <cstring>
#include <mutex>

#include "heddle/cpu/jit/jit.h"
#include "heddle/cpu/jit/llvm/internal/emit.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace heddle::cpu {
namespace {

namespace orc = llvm::orc;

class JitCode final : public Code {
 public:
  JitCode(std::unique_ptr<orc::LLJIT> jit, Entry entry) : jit_(std::move(jit)), entry_(entry) {}
  Entry entry() const override { return entry_; }

 private:
  std::unique_ptr<orc::LLJIT> jit_;
  Entry entry_;
};

// The features that this processor has, never its model: virtual machines lie about that.
std::string host_features() {
  std::string text;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    if (!text.empty()) text += ',';
    text += (feature.second ? "+" : "-") + feature.first().str();
  }
  return text;
}

orc::SymbolMap library_functions(orc::LLJIT& jit) {
  orc::SymbolMap symbols;
  const auto add = [&](const char* name, auto* function) {
    symbols[jit.mangleAndIntern(name)] = {
        orc::ExecutorAddr::fromPtr(function),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
  using One = double (*)(double);
  using OneF = float (*)(float);
  using Two = double (*)(double, double);
  using TwoF = float (*)(float, float);
#define HEDDLE_ONE(name)              \
  add(#name, static_cast<One>(name)); \
  add(#name "f", static_cast<OneF>(name##f));
#define HEDDLE_TWO(name)              \
  add(#name, static_cast<Two>(name)); \
  add(#name "f", static_cast<TwoF>(name##f));
  HEDDLE_ONE(exp)
  HEDDLE_ONE(expm1)
  HEDDLE_ONE(log)
  HEDDLE_ONE(log1p)
  HEDDLE_ONE(sin)
  HEDDLE_ONE(cos)
  HEDDLE_ONE(tan)
  HEDDLE_ONE(asin)
  HEDDLE_ONE(acos)
  HEDDLE_ONE(atan) HEDDLE_ONE(sinh) HEDDLE_ONE(cosh) HEDDLE_ONE(tanh) HEDDLE_ONE(asinh)
      HEDDLE_ONE(acosh) HEDDLE_ONE(atanh) HEDDLE_ONE(erf) HEDDLE_ONE(cbrt) HEDDLE_TWO(pow)
          HEDDLE_TWO(atan2) HEDDLE_TWO(fmod)
      // What code generation calls by itself where the machine has no instruction.
      HEDDLE_ONE(floor) HEDDLE_ONE(ceil) HEDDLE_ONE(round) HEDDLE_ONE(sqrt) HEDDLE_ONE(fabs)
          HEDDLE_ONE(roundeven)
              add("memcpy", static_cast<void* (*)(void*, const void*, size_t)>(memcpy));
  add("memset", static_cast<void* (*)(void*, int, size_t)>(memset));
  return symbols;
}

// The module as assembly or as an object file.
llvm::SmallVector<char, 0> written(orc::JITTargetMachineBuilder& builder,
                                   const llvm::Module& module, llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  auto machine = builder.createTargetMachine();
  if (!machine) {
    llvm::consumeError(machine.takeError());
    return bytes;
  }
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  (*machine)->addPassesToEmitFile(passes, stream, nullptr, type);
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  passes.run(*copy);
  return bytes;
}

// From the lines of an object with the same code: which instruction each part of it is of.
std::vector<CodeRange> ranges_of(const llvm::SmallVector<char, 0>& object, const char* entry) {
  std::vector<CodeRange> ranges;
  auto file = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef({object.data(), object.size()}, "heddle"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return ranges;
  }
  // All functions stand in one section, which is loaded as a whole.
  uint64_t entry_address = 0;
  for (const llvm::object::SymbolRef symbol : (*file)->symbols()) {
    if (llvm::cantFail(symbol.getName()) == kEntryName)
      entry_address = llvm::cantFail(symbol.getAddress());
  }
  for (const llvm::object::SymbolRef symbol : (*file)->symbols()) {
    if (llvm::cantFail(symbol.getType()) != llvm::object::SymbolRef::ST_Function) continue;
    const uint64_t begin = llvm::cantFail(symbol.getAddress());
    const uint64_t size = llvm::object::ELFSymbolRef(symbol).getSize();
    if (size == 0) continue;
    const auto section = llvm::cantFail(symbol.getSection())->getIndex();
    const char* loaded = entry + static_cast<int64_t>(begin - entry_address);
    const size_t first = ranges.size();
    const auto lines = llvm::DWARFContext::create(**file)->getLineInfoForAddressRange(
        {begin, section}, size, llvm::DILineInfoSpecifier::FileLineInfoKind::RawValue);
    for (size_t i = 0; i < lines.size(); ++i) {
      const uint64_t from = lines[i].first - begin;
      const uint64_t to = i + 1 < lines.size() ? lines[i + 1].first - begin : size;
      const std::string& origin = lines[i].second.FileName;
      if (ranges.size() > first && ranges.back().origin == origin) {
        ranges.back().bytes += static_cast<int64_t>(to - from);
      } else {
        ranges.push_back({loaded + from, static_cast<int64_t>(to - from), origin});
      }
    }
  }
  return ranges;
}

std::string text_of(llvm::Error error) { return llvm::toString(std::move(error)); }

void compile(const JitRequest& request, JitResult& result) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  const std::string features = host_features();
  auto machine = orc::JITTargetMachineBuilder::detectHost();
  if (!machine) return void(result.error = text_of(machine.takeError()));
#if defined(__x86_64__)
  machine->setCPU("x86-64");
#endif
  machine->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  machine->getOptions().AllowFPOpFusion = llvm::FPOpFusion::Standard;
  auto jit = orc::LLJITBuilder().setJITTargetMachineBuilder(*machine).create();
  if (!jit) return void(result.error = text_of(jit.takeError()));

  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("heddle", *context);
  module->setDataLayout((*jit)->getDataLayout());
  module->setTargetTriple((*jit)->getTargetTriple().str());
  result.arena_bytes = emit_plan(request, features, *module);
  if (request.wants_text) {
    llvm::raw_string_ostream(result.ir) << *module;
    const auto text = written(*machine, *module, llvm::CodeGenFileType::AssemblyFile);
    const llvm::StringRef whole(text.data(), text.size());
    result.assembly = whole.take_front(whole.find("\t.section\t.debug_")).str();
  }
  llvm::SmallVector<char, 0> object;
  if (request.wants_ranges) object = written(*machine, *module, llvm::CodeGenFileType::ObjectFile);
#ifndef NDEBUG
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(*module, &stream)) return void(result.error = problem);
#endif
  auto& dylib = (*jit)->getMainJITDylib();
  if (auto error = dylib.define(orc::absoluteSymbols(library_functions(**jit))))
    return void(result.error = text_of(std::move(error)));
  if (auto error =
          (*jit)->addIRModule(orc::ThreadSafeModule(std::move(module), std::move(context))))
    return void(result.error = text_of(std::move(error)));
  auto entry = (*jit)->lookup(kEntryName);
  if (!entry) return void(result.error = text_of(entry.takeError()));
  const auto address = entry->toPtr<Entry>();
  if (request.wants_ranges)
    result.ranges = ranges_of(object, reinterpret_cast<const char*>(address));
  result.code = std::make_unique<JitCode>(std::move(*jit), address);
}

}  // namespace
}  // namespace heddle::cpu

extern "C" __attribute__((visibility("default"))) void heddle_jit_compile(
    const heddle::cpu::JitRequest& request, heddle::cpu::JitResult& result) {
  heddle::cpu::compile(request, result);
}

extern "C" __attribute__((visibility("default"))) uint64_t heddle_jit_layout() {
  return heddle::cpu::plan_layout();
}
