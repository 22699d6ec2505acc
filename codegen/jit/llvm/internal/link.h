// Object files to images (codegen/jit/image.h).
#pragma once

#include <optional>

#include "heddle/codegen/jit/image.h"
#include "llvm/Support/MemoryBufferRef.h"

namespace heddle::cpu {

// Returns nothing where the object holds what an image has not: another machine's code, data that
// is written, or addresses of another kind; and where pages are not of 4 KiB. `entry`: the
// name of the function it begins with.
std::optional<CodeImage> link_image(llvm::MemoryBufferRef object, llvm::StringRef entry);

}  // namespace heddle::cpu
