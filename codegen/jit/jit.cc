#include "heddle/codegen/jit/jit.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "heddle/base/text/strings.h"

namespace heddle::cpu {
namespace {

constexpr const char* kLibrary = "libheddle_cpu_jit.so";
constexpr const char* kLlvm = "libLLVM.so.19.1";

// LLVM's own statics end before those that were made before it was loaded, whose destructors may
// still compile.
constinit std::atomic<bool> llvm_has_ended = false;
void note_end_of_llvm() {
  std::atexit([] { llvm_has_ended = true; });
}

struct Library {
  JitCompile compile = nullptr;
  std::string error;
};

// Where it was built, where it is installed, and where the loader looks.
Library load() {
  const std::string name = kLibrary;
  std::string error;
  dlopen(kLlvm,
         RTLD_LAZY | RTLD_LOCAL);  // where it is: its functions are bound when they are called
  for (const std::string& path :
       {HEDDLE_JIT_FOLDER "/" + name, HEDDLE_JIT_INSTALLED "/" + name, name}) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* compile = library ? dlsym(library, kJitCompileSymbol) : nullptr;
    void* layout = library ? dlsym(library, kJitLayoutSymbol) : nullptr;
    if (compile && layout) {
      if (reinterpret_cast<JitLayout>(layout)() == jit_layout()) {
        note_end_of_llvm();
        return {reinterpret_cast<JitCompile>(compile), {}};
      }
      error = base::cat(path, " is of another build of Heddle");
      continue;
    }
    const char* reason = dlerror();
    if (error.empty()) error = reason ? reason : "no symbol";
  }
  return {nullptr, error};
}

const Library& library() {
  static const Library loaded = load();
  return loaded;
}

}  // namespace

Status find_code_generator() {
  if (llvm_has_ended) return base::not_found("cpu: the process ends, and LLVM has ended already");
  if (library().compile != nullptr) return {};
  return base::not_found("cpu: the code generator could not be loaded: ", library().error,
                         "; install LLVM 19 (llvm-19-dev) and build again");
}

StatusOr<JitResult> compile_plan(const JitRequest& request) {
  HEDDLE_RETURN_IF_ERROR(find_code_generator());
  const std::vector<Import> imports = imports_of(request.call_kernel, request.share_loop);
  JitRequest whole = request;
  whole.imports = imports;
  JitResult result;
  library().compile(whole, result);
  static std::once_flag first;  // use makes statics of LLVM's too
  std::call_once(first, note_end_of_llvm);
  if (!result.error.empty()) return base::internal_error("cpu: ", result.error);
  if (result.image.has_value()) {
    HEDDLE_ASSIGN_OR_RETURN(result.code, load_code(*result.image, imports));
  }
  for (CodeRange& range : result.ranges)
    range.begin = reinterpret_cast<const char*>(result.code->entry()) + range.from_entry;
  return result;
}

}  // namespace heddle::cpu
