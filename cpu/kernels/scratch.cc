#include "heddle/cpu/kernels/scratch.h"

#include <algorithm>
#include <new>

namespace heddle::cpu {
namespace {

constexpr size_t kMostKept = size_t{8} << 20;
constexpr std::align_val_t kAlignment{64};

struct Kept {
  std::byte* data = nullptr;
  size_t bytes = 0;
  bool is_taken = false;
  ~Kept() { ::operator delete(data, kAlignment); }
};
thread_local Kept kept;

std::byte* allocated(size_t bytes) {
  return static_cast<std::byte*>(::operator new(std::max<size_t>(bytes, 64), kAlignment));
}

}  // namespace

KernelScratch::KernelScratch(size_t bytes) : is_kept_(bytes <= kMostKept && !kept.is_taken) {
  if (!is_kept_) {
    data_ = next_ = allocated(bytes);
    return;
  }
  if (bytes > kept.bytes) {
    ::operator delete(kept.data, kAlignment);
    kept.bytes = 0;
    kept.data = nullptr;
    kept.data = allocated(bytes);
    kept.bytes = bytes;
  }
  kept.is_taken = true;
  data_ = next_ = kept.data;
}

KernelScratch::~KernelScratch() {
  if (is_kept_)
    kept.is_taken = false;
  else
    ::operator delete(data_, kAlignment);
}

}  // namespace heddle::cpu
