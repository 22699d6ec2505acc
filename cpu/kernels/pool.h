// The threads of the process that help kernels and loops. The caller works too, and waits for no
// thread that has not begun: what another process takes a processor from is not waited for. Where
// one that has begun comes late all the same, callers work alone for the next 10 ms and longer.
#pragma once

#include <cstdint>

namespace heddle::cpu {

// The processors that this process may use, the caller's among them; read once.
int thread_count();

// Calls work(data, part) for each part in [0, parts), in any order, on any of the threads. Not from
// inside of work, which throws nothing. Calls of several threads take turns to have help. Nothing
// is allocated but at the first call.
void parallel(int64_t parts, void (*work)(const void* data, int64_t part), const void* data);

// Calls work(part).
template <class Work>
void parallel(int64_t parts, const Work& work) {
  parallel(
      parts, [](const void* data, int64_t part) { (*static_cast<const Work*>(data))(part); },
      &work);
}

// While one lives, parallel() has no help on its thread: for threads that already have a processor
// each, or less.
class WithoutHelp {
 public:
  explicit WithoutHelp(bool applies);
  ~WithoutHelp();
  WithoutHelp(const WithoutHelp&) = delete;
  WithoutHelp& operator=(const WithoutHelp&) = delete;

 private:
  bool before_;
};

}  // namespace heddle::cpu
