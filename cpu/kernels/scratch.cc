#include "heddle/cpu/kernels/scratch.h"

#include <algorithm>
#include <new>

#include "heddle/base/system/of_this_thread.h"

namespace heddle::cpu {

namespace {

constexpr size_t kMostOfThread = size_t{8} << 20;
constexpr std::align_val_t kAlignment{64};

std::byte* allocated(size_t bytes) {
  return static_cast<std::byte*>(::operator new(std::max<size_t>(bytes, 64), kAlignment));
}

}  // namespace

struct KernelScratch::Block {
  std::byte* data = nullptr;
  size_t bytes = 0;
  bool is_used = false;
  ~Block() { ::operator delete(data, kAlignment); }
};

KernelScratch::KernelScratch(size_t bytes) {
  Block* block = bytes <= kMostOfThread ? base::of_this_thread<Block>() : nullptr;
  if (block == nullptr || block->is_used) {
    own_ = next_ = allocated(bytes);
    return;
  }
  if (bytes > block->bytes) {
    ::operator delete(block->data, kAlignment);
    block->bytes = 0;
    block->data = nullptr;
    block->data = allocated(bytes);
    block->bytes = bytes;
  }
  block->is_used = true;
  block_ = block;
  next_ = block->data;
}

KernelScratch::~KernelScratch() {
  if (block_ != nullptr) block_->is_used = false;
  ::operator delete(own_, kAlignment);
}

}  // namespace heddle::cpu
