// Plans to machine code. LLVM stands behind this header, in a shared library of its own
// (jit/llvm/) that is loaded at the first compile: a program that compiles nothing pays nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/codegen/jit/image.h"
#include "heddle/codegen/plan/plan.h"

namespace heddle::cpu {

// Runs kernel number `number` of the program that `context` is; not 0: it failed.
using CallKernel = int64_t (*)(void* context, int64_t number, void* const* pointers);

// The turns of a loop with the index in [from, to).
using LoopPart = void (*)(const void* frame, int64_t from, int64_t to);

// Runs all of a loop, in parts of `chunk` values of the index, in any order and on any thread.
using ShareLoop = void (*)(LoopPart part, const void* frame, int64_t from, int64_t to,
                           int64_t chunk);

// Runs the program. Not 0: an Exit. `stop`: a byte that is not 0 where the run is to stop.
using Entry = int64_t (*)(void* context, void* arena, void* const* arguments, void* const* results,
                          const void* const* constants, const std::atomic<bool>* stop);

// Why a program ended early, and at which node.
struct Exit {
  enum class Reason : uint8_t { kNone, kKernelFailed, kStopped, kOutOfBounds };
  Reason reason = Reason::kNone;
  NodeId node;

  static Exit of(int64_t code) {
    return {static_cast<Reason>(code & 0xff), NodeId(static_cast<uint32_t>(code >> 8))};
  }
  [[nodiscard]] int64_t code() const {
    return static_cast<int64_t>(reason) | (int64_t{node.value} << 8);
  }
};

// Machine code, which lives as long as this.
class Code {
 public:
  virtual ~Code() = default;
  [[nodiscard]] virtual Entry entry() const = 0;
};

// The names by which code calls these functions of a request.
inline constexpr char kCallKernelName[] = "heddle_call_kernel";
inline constexpr char kShareLoopName[] = "heddle_share_loop";

struct JitRequest {
  const Plan* plan = nullptr;
  CallKernel call_kernel = nullptr;
  ShareLoop share_loop = nullptr;
  bool wants_text = false;     // LLVM's IR and the machine's assembly, for people
  bool wants_ranges = false;   // JitResult::ranges
  bool checks_bounds = false;  // an access outside of its buffer ends the run
  std::span<const Import> imports = {};  // what code may call by name: compile_plan() fills it
};

// Code that was made for one instruction.
struct CodeRange {
  const void* begin = nullptr;
  int64_t from_entry = 0;  // bytes from the program's function to `begin`
  int64_t bytes = 0;
  std::string origin;
};

struct JitResult {
  std::unique_ptr<Code> code;
  // What `code` was loaded from; nothing where LLVM loaded it itself, as on machines other than
  // x86-64 and 64-bit Arm.
  std::optional<CodeImage> image;
  std::string error;        // empty: none
  std::string build;        // of the library: its kBuildDigest (codegen/jit/build_digest.h)
  int64_t arena_bytes = 0;  // that a run needs: the plan's, and what parts of the code hand on
  std::string ir;
  std::string assembly;
  std::vector<CodeRange> ranges;
};

// What the library exports, under the name heddle_jit_compile.
using JitCompile = void (*)(const JitRequest& request, JitResult& result);
inline constexpr char kJitCompileSymbol[] = "heddle_jit_compile";
// ... and with which jit_layout() it was built.
constexpr uint64_t jit_layout() {
  return plan_layout() + 31 * sizeof(JitRequest) + 4099 * sizeof(JitResult) +
         65539 * sizeof(CodeImage) + 524309 * sizeof(CodeRange);
}
using JitLayout = uint64_t (*)();
inline constexpr char kJitLayoutSymbol[] = "heddle_jit_layout";

// Loads the library, once. errors: NotFound where it is not there, with the repair
Status find_code_generator();

// errors: as find_code_generator(); Internal for LLVM's own
StatusOr<JitResult> compile_plan(const JitRequest& request);

// What machine code may call: functions of the C library that code generation knows, and these two.
std::vector<Import> imports_of(CallKernel call_kernel, ShareLoop share_loop);

// Code from an image that a request gave, in this process or another. Without LLVM.
// errors: InvalidArgument for an image that is none
StatusOr<std::unique_ptr<Code>> load_code(const CodeImage& image, std::span<const Import> imports);

}  // namespace heddle::cpu
