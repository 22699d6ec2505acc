// WorkQueue: one thread that does what it is given, in that order. A device that works on its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace heddle::runtime {

class WorkQueue {
 public:
  WorkQueue();
  ~WorkQueue();  // does first what is still in the queue
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // Returns at once. `work` may submit more.
  void submit(std::function<void()> work);

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool closing_ = false;
  std::thread thread_;  // last: it starts when the rest is there
};

}  // namespace heddle::runtime
