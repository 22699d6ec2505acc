// The threads of the process that help kernels. The caller works too, and waits for no thread that
// has not begun: what another process takes a processor from is not waited for.
#pragma once

#include <cstdint>
#include <functional>

namespace heddle::cpu {

// The processors that this process may use, the caller's among them; read once.
int thread_count();

// Calls work(part) for each part in [0, parts), in any order, on any of the threads. Not from
// inside of work, which throws nothing. Calls of several threads take turns to have help.
void parallel(int64_t parts, const std::function<void(int64_t part)>& work);

}  // namespace heddle::cpu
