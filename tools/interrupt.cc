#include "heddle/tools/interrupt.h"

#include <csignal>

namespace heddle::tools {
namespace {

std::atomic<bool> asked{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

void ask(int /*signal*/) { asked.store(true, std::memory_order_relaxed); }

}  // namespace

StopToken stop_at_interrupt() {
  struct sigaction action = {};
  action.sa_handler = ask;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  return StopToken({&asked, [](const std::atomic<bool>*) {}});
}

}  // namespace heddle::tools
