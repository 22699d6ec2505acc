#include "heddle/runtime/work_queue.h"

#include <utility>

namespace heddle::runtime {

WorkQueue::WorkQueue() : thread_([this] { serve(); }) {}

WorkQueue::~WorkQueue() {
  {
    std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void WorkQueue::submit(std::function<void()> work) {
  {
    std::scoped_lock lock(mutex_);
    queue_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void WorkQueue::await_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !working_ && queue_.empty(); });
}

void WorkQueue::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    working_ = true;
    lock.unlock();
    work();
    work = nullptr;  // what it held goes before the lock is taken again
    lock.lock();
    working_ = false;
    changed_.notify_all();
  }
}

}  // namespace heddle::runtime
