#include "heddle/base/system/pool.h"

namespace heddle::base::pool_internal {
namespace {

// kNone: the lists are as they began. The pool does not keep blocks that a thread frees in its last
// moments, when its variables are being destroyed.
enum class Life : uint8_t { kNone, kRuns, kEnds };
constinit thread_local Life life = Life::kNone;

struct GivesAllBack {
  GivesAllBack() {
    for (Free& list : free_blocks) list.room = kMostKept;
    life = Life::kRuns;
  }
  ~GivesAllBack() {
    life = Life::kEnds;
    for (Free& list : free_blocks) {
      list.room = 0;
      while (Block* block = list.first) {
        list.first = block->next;
        ::operator delete(block);
      }
    }
  }
};

}  // namespace

void give_to_full(void* block, size_t number) noexcept {
  if (life == Life::kNone) {
    thread_local const GivesAllBack kAtEnd;
    (void)kAtEnd;
    return free_pooled(block, (number + 1) * kStep);
  }
  ::operator delete(block);
}

}  // namespace heddle::base::pool_internal
