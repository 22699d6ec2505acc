// The code generator: LLVM IR compiled by ORC. This folder alone includes LLVM.
#include <algorithm>
#include <mutex>

#include "heddle/codegen/jit/build_digest.h"
#include "heddle/codegen/jit/jit.h"
#include "heddle/codegen/jit/llvm/internal/broadcasts.h"
#include "heddle/codegen/jit/llvm/internal/constants.h"
#include "heddle/codegen/jit/llvm/internal/emit.h"
#include "heddle/codegen/jit/llvm/internal/link.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
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

// The features that this processor has, never its model: virtual machines lie about that. Those of
// wider vectors than the plan's, and all that builds on them, are left out.
std::string host_features([[maybe_unused]] int64_t vector_bytes) {
  std::string text;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    if (!text.empty()) text += ',';
    text += (feature.second ? "+" : "-") + feature.first().str();
  }
#if defined(__x86_64__)
  if (vector_bytes < 64) text += ",-avx512f";
  if (vector_bytes < 32) text += ",-avx";
#endif
  return text;
}

orc::SymbolMap symbols_of(std::span<const Import> imports, orc::LLJIT& jit) {
  orc::SymbolMap symbols;
  for (const Import& import : imports) {
    symbols[jit.mangleAndIntern(import.name)] = {
        orc::ExecutorAddr::fromPtr(import.address),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  }
  return symbols;
}

llvm::SmallVector<char, 0> assembly_of(orc::JITTargetMachineBuilder& builder,
                                       const llvm::Module& module) {
  llvm::SmallVector<char, 0> bytes;
  auto machine = builder.createTargetMachine();
  if (!machine) {
    llvm::consumeError(machine.takeError());
    return bytes;
  }
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  (*machine)->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile);
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  passes.run(*copy);
  return bytes;
}

bool divides_by_power_of_two(const llvm::Function& function) {
  return std::ranges::any_of(llvm::instructions(function), [](const llvm::Instruction& each) {
    if (!each.isIntDivRem()) return false;
    const auto* divisor = llvm::dyn_cast<llvm::ConstantInt>(each.getOperand(1));
    return divisor != nullptr && divisor->getValue().isPowerOf2();
  });
}

// With instructions combined, the maximum of floats that come from halves is one of halves, which
// LLVM 19 computes wrongly of NaN and zero.
bool has_halves(const llvm::Function& function) {
  return std::ranges::any_of(llvm::instructions(function), [](const llvm::Instruction& each) {
    return each.getType()->getScalarType()->isHalfTy();
  });
}

// With instructions combined, LLVM 19 takes x / select(p, 1, d) of vectors for x where it knows
// that some lane of d is 0 (llvm-project pull request 114280).
bool divides_vectors(const llvm::Function& function) {
  return std::ranges::any_of(llvm::instructions(function), [](const llvm::Instruction& each) {
    return each.isIntDivRem() && each.getType()->isVectorTy() &&
           !llvm::isa<llvm::Constant>(each.getOperand(1));
  });
}

// With instructions combined, LLVM 19 takes c - x for x - c where c is a vector that a loop carries
// from this difference on, and one lane of it is read: InstCombinerImpl::scalarizePHI keeps no
// order of operands.
bool subtracts_carried_vectors(const llvm::Function& function) {
  return std::ranges::any_of(llvm::instructions(function), [](const llvm::Instruction& each) {
    const auto* carried = llvm::dyn_cast<llvm::PHINode>(&each);
    return carried != nullptr && carried->getType()->isVectorTy() &&
           std::ranges::any_of(carried->incoming_values(), [&](const llvm::Use& next) {
             const auto* op = llvm::dyn_cast<llvm::BinaryOperator>(next.get());
             return op != nullptr && !op->isCommutative() && op->getOperand(1) == carried;
           });
  });
}

// Tests of signs and remainders around a division by a power of two become masks and shifts, also
// where a test before says that x > 0. Other functions stay as the plan orders them, which is
// faster.
void simplify_divisions(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::legacy::FunctionPassManager passes(&module);
  passes.add(llvm::createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()));
  passes.add(llvm::createInstructionCombiningPass());
  passes.doInitialization();
  for (llvm::Function& function : module) {
    if (divides_by_power_of_two(function) && !has_halves(function) && !divides_vectors(function) &&
        !subtracts_carried_vectors(function))
      passes.run(function);
  }
  passes.doFinalization();
}

// From an object's lines: which instruction each part of its code is of.
std::vector<CodeRange> ranges_of(llvm::MemoryBufferRef object) {
  std::vector<CodeRange> ranges;
  auto file = llvm::object::ObjectFile::createObjectFile(object);
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
    const auto from_entry = static_cast<int64_t>(begin - entry_address);
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
        ranges.push_back({.from_entry = from_entry + static_cast<int64_t>(from),
                          .bytes = static_cast<int64_t>(to - from),
                          .origin = origin});
      }
    }
  }
  return ranges;
}

std::string text_of(llvm::Error error) { return llvm::toString(std::move(error)); }

// LLVM's own linker knows all machines; what it loads cannot be kept.
void load_by_llvm(const JitRequest& request, const orc::JITTargetMachineBuilder& machine,
                  const llvm::MemoryBuffer& object, JitResult& result) {
  auto jit = orc::LLJITBuilder().setJITTargetMachineBuilder(machine).create();
  if (!jit) return void(result.error = text_of(jit.takeError()));
  auto& dylib = (*jit)->getMainJITDylib();
  if (auto error = dylib.define(orc::absoluteSymbols(symbols_of(request.imports, **jit))))
    return void(result.error = text_of(std::move(error)));
  if (auto error = (*jit)->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(object.getBuffer())))
    return void(result.error = text_of(std::move(error)));
  auto entry = (*jit)->lookup(kEntryName);
  if (!entry) return void(result.error = text_of(entry.takeError()));
  result.code = std::make_unique<JitCode>(std::move(*jit), entry->toPtr<Entry>());
}

// The scheduler compares each load and store of a block with all that may be at the same place.
// Beyond so many it keeps the order of half of them, so that its time is not quadratic. LLVM has
// one setting for the whole process.
void limit_scheduler() {
  constexpr unsigned kMostAccesses = 300;  // LLVM's own is 1000
  const auto& options = llvm::cl::getRegisteredOptions();
  const auto found = options.find("dag-maps-huge-region");
  if (found != options.end())
    static_cast<llvm::cl::opt<unsigned>*>(found->second)->setValue(kMostAccesses);
}

void compile(const JitRequest& request, JitResult& result) {
  result.build = kBuildDigest;
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    limit_scheduler();
  });
  const std::string features = host_features(request.plan->vector_bytes);
  auto machine = orc::JITTargetMachineBuilder::detectHost();
  if (!machine) return void(result.error = text_of(machine.takeError()));
#if defined(__x86_64__)
  machine->setCPU("x86-64");
#elif defined(__aarch64__)
  machine->setCPU("generic");
#endif
  machine->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  machine->getOptions().AllowFPOpFusion = llvm::FPOpFusion::Standard;
  machine->setRelocationModel(llvm::Reloc::PIC_);
  machine->setCodeModel(llvm::CodeModel::Small);
  auto target = machine->createTargetMachine();
  if (!target) return void(result.error = text_of(target.takeError()));

  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("heddle", *context);
  module->setDataLayout((*target)->createDataLayout());
  module->setTargetTriple((*target)->getTargetTriple().str());
  result.arena_bytes = emit_plan(request, features, *module);
  simplify_divisions(*module, **target);
  broadcast_from_memory(*module, request.plan->vector_bytes);
  keep_constants_in_memory(*module, request.plan->vector_bytes);
  if (request.wants_text) {
    llvm::raw_string_ostream(result.ir) << *module;
    const auto text = assembly_of(*machine, *module);
    const llvm::StringRef whole(text.data(), text.size());
    result.assembly = whole.take_front(whole.find("\t.section\t.debug_")).str();
  }
#ifndef NDEBUG
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(*module, &stream)) return void(result.error = problem);
#endif
  auto object = orc::SimpleCompiler(**target)(*module);
  if (!object) return void(result.error = text_of(object.takeError()));
  if (request.wants_ranges) result.ranges = ranges_of((*object)->getMemBufferRef());
  result.image = link_image((*object)->getMemBufferRef(), kEntryName);
  if (!result.image) load_by_llvm(request, *machine, **object, result);
}

}  // namespace
}  // namespace heddle::cpu

extern "C" __attribute__((visibility("default"))) void heddle_jit_compile(
    const heddle::cpu::JitRequest& request, heddle::cpu::JitResult& result) {
  heddle::cpu::compile(request, result);
}

extern "C" __attribute__((visibility("default"))) uint64_t heddle_jit_layout() {
  return heddle::cpu::jit_layout();
}
