#include "heddle/pjrt/internal/reaper.h"

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace heddle::pjrt {
namespace {

thread_local int depth = 0;

class Reaper {
 public:
  Reaper() {
    std::thread([this] { serve(); }).detach();
  }

  void add(std::function<void()> work) {
    const std::scoped_lock lock(mutex_);
    work_.push_back(std::move(work));
    changed_.notify_all();
  }
  void await_end() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return work_.empty(); });
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return !work_.empty(); });
      const std::function<void()> work = std::move(work_.front());
      lock.unlock();
      work();
      lock.lock();
      work_.pop_front();  // now that it is done
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
};

// Never destroyed: its thread is there to the end. What a plugin has in static storage goes when
// the process exits, so that nothing of it may be at work then.
Reaper& reaper() {
  static Reaper& instance = []() -> Reaper& {
    auto& made = *new Reaper;
    (void)std::atexit([] { reaper().await_end(); });
    return made;
  }();
  return instance;
}

}  // namespace

InPluginsCall::InPluginsCall() { ++depth; }
InPluginsCall::~InPluginsCall() { --depth; }
bool InPluginsCall::is_here() { return depth > 0; }

void start_reaper() { (void)reaper(); }

void do_elsewhere(std::function<void()> work) { reaper().add(std::move(work)); }

}  // namespace heddle::pjrt
