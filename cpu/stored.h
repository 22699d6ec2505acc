// Programs in the disk cache: what a program is called there, and how it is written.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/cpu/native_program.h"
#include "heddle/hlo/module.h"
#include "heddle/runtime/cache/disk_cache.h"

namespace heddle::cpu {

// One program on its way to or from the disk.
class StoredProgram {
 public:
  // `cache` null: nothing is found, and nothing stored.
  StoredProgram(const hlo::Module& module, std::shared_ptr<runtime::DiskCache> cache);

  // All of it but its name and plan. Neither plan nor LLVM's code is made.
  std::optional<NativeParts> find();
  // Not where LLVM loaded the code itself: there is no image then.
  void store(const NativeParts& parts, const std::optional<CodeImage>& image,
             const std::vector<KernelRecipe>& recipes);

 private:
  std::shared_ptr<runtime::DiskCache> cache_;
  std::string about_;
  std::string key_;
};

// All that a program's code depends on: the module, Heddle's build, LLVM's, and the processor.
std::string stored_key(const hlo::Module& module);

std::string encode(const NativeParts& parts, const CodeImage& image,
                   const std::vector<KernelRecipe>& recipes);
// The bytes may be anything; but code in them is believed, so they have to come from where programs
// are taken from.
// errors: InvalidArgument for bytes that are no program; those of make_kernel()
StatusOr<NativeParts> decode(std::string_view bytes);

}  // namespace heddle::cpu
