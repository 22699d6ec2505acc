#include "heddle/cpu/kernels/pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace heddle::cpu {
namespace {

constexpr std::chrono::microseconds kSpin{50};  // before a thread sleeps

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// One call of parallel(). Shared: a thread may look at it after the call has returned.
struct Job {
  std::function<void(int64_t)> work;
  int64_t parts = 0;
  std::atomic<int64_t> next{0};  // part to claim
  std::atomic<int64_t> done{0};  // parts

  void help() {
    for (int64_t part = next.fetch_add(1); part < parts; part = next.fetch_add(1)) {
      work(part);
      done.fetch_add(1, std::memory_order_release);
    }
  }
};

class Pool {
 public:
  explicit Pool(int threads) {
    for (int i = 1; i < threads; ++i) std::thread([this] { serve(); }).detach();
  }

  void run(int64_t parts, const std::function<void(int64_t)>& work) {
    const std::unique_lock turn(turn_, std::try_to_lock);
    if (!turn.owns_lock()) {  // others have the threads
      for (int64_t part = 0; part < parts; ++part) work(part);
      return;
    }
    auto job = std::make_shared<Job>();
    job->work = work;
    job->parts = parts;
    {
      const std::lock_guard lock(mutex_);
      job_ = job;
      number_.fetch_add(1, std::memory_order_release);
    }
    if (sleeping_.load() > 0) wake_.notify_all();
    job->help();
    while (job->done.load(std::memory_order_acquire) < parts) relax();
  }

 private:
  [[noreturn]] void serve() {
    uint64_t seen = 0;
    for (;;) {
      const std::shared_ptr<Job> job = wait(seen);
      job->help();
    }
  }

  std::shared_ptr<Job> wait(uint64_t& seen) {
    const auto until = std::chrono::steady_clock::now() + kSpin;
    while (number_.load(std::memory_order_acquire) == seen) {
      relax();
      if (std::chrono::steady_clock::now() < until) continue;
      std::unique_lock lock(mutex_);
      ++sleeping_;
      wake_.wait(lock, [&] { return number_.load() != seen; });
      --sleeping_;
    }
    const std::lock_guard lock(mutex_);
    seen = number_.load();
    return job_;
  }

  std::mutex turn_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::shared_ptr<Job> job_;
  std::atomic<uint64_t> number_{0};  // of jobs
  std::atomic<int> sleeping_{0};
};

// Never destroyed: its threads end with the process.
Pool& pool() {
  static Pool& instance = *new Pool(thread_count());
  return instance;
}

int count_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return std::max<int>(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

}  // namespace

int thread_count() {
  static const int count = count_processors();
  return count;
}

void parallel(int64_t parts, const std::function<void(int64_t part)>& work) {
  if (parts <= 1 || thread_count() == 1) {
    for (int64_t part = 0; part < parts; ++part) work(part);
    return;
  }
  pool().run(parts, work);
}

}  // namespace heddle::cpu
