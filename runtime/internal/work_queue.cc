#include "heddle/runtime/internal/work_queue.h"

#include <utility>

namespace heddle::runtime {

WorkQueue::WorkQueue() : thread_([this] { serve(); }) {}

WorkQueue::~WorkQueue() {
  {
    std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void WorkQueue::submit(std::function<void()> work) {
  {
    std::scoped_lock lock(mutex_);
    queue_.push_back(std::move(work));
  }
  wake_.notify_one();
}

void WorkQueue::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // what it held goes before the lock is taken again
    lock.lock();
  }
}

}  // namespace heddle::runtime
