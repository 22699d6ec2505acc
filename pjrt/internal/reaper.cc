#include "heddle/pjrt/internal/reaper.h"

#include <cstdlib>
#include <utility>

#include "heddle/runtime/work_queue.h"

namespace heddle::pjrt {
namespace {

thread_local int depth = 0;

// Never destroyed: its thread is there to the end. What a plugin has in static storage goes when
// the process exits, so that nothing of it may be at work then.
runtime::WorkQueue& reaper() {
  static runtime::WorkQueue& instance = []() -> runtime::WorkQueue& {
    auto& made = *new runtime::WorkQueue;
    (void)std::atexit([] { reaper().await_idle(); });
    return made;
  }();
  return instance;
}

}  // namespace

InPluginsCall::InPluginsCall() { ++depth; }
InPluginsCall::~InPluginsCall() { --depth; }
bool InPluginsCall::is_here() { return depth > 0; }

void start_reaper() { (void)reaper(); }

void do_elsewhere(std::function<void()> work) { reaper().submit(std::move(work)); }

}  // namespace heddle::pjrt
