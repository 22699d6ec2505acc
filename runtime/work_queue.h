// WorkQueue: one thread that does the work it is given, in the order in which it comes. It serves a
// device that works on its own, and frees what must not be freed on a plugin's thread.
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
  // Until all is done, and what it held is gone.
  void await_idle();

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool working_ = false;
  bool closing_ = false;
  std::thread thread_;  // last: it starts when the rest is there
};

}  // namespace heddle::runtime
