#include "heddle/cpu/kernels/pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "heddle/base/system/subnormals.h"

namespace heddle::cpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kSpin{50};   // before a thread sleeps
constexpr std::chrono::microseconds kAlone{5};   // before it lets others run meanwhile
constexpr std::chrono::microseconds kLate{500};  // what the last part of a job may come too late
constexpr std::chrono::milliseconds kShortestRest{10}, kLongestRest{320};

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // `yield` returns at once on most processors
#endif
}

class Pool {
 public:
  using Work = void (*)(const void* data, int64_t part);

  explicit Pool(int threads) {
    for (int i = 1; i < threads; ++i) std::thread([this] { serve(); }).detach();
  }

  void run(int64_t parts, Work work, const void* data) {
    const std::unique_lock turn(turn_, std::try_to_lock);
    const Clock::time_point began = Clock::now();
    if (!turn.owns_lock() ||
        began < alone_until_) {  // others have the threads, or their processors
      for (int64_t part = 0; part < parts; ++part) work(data, part);
      return;
    }
    // Closed, so that who sees what follows claims no part of the job before.
    const uint64_t job = job_of(next_.load()) + 1;
    next_.store(claim_of(job, kClosed));
    work_.store(work, std::memory_order_release);
    data_.store(data, std::memory_order_release);
    floats_.store(FloatControl::of_this_thread(), std::memory_order_release);
    parts_.store(parts, std::memory_order_release);
    done_.store(0, std::memory_order_relaxed);
    {
      const std::lock_guard lock(mutex_);
      next_.store(claim_of(job + 1, 0));
    }
    if (sleeping_.load() > 0) wake_.notify_all();
    help();
    wait_for(parts, began);
  }

 private:
  // Where a thread takes longer for a part than the caller did for all of its own, another process
  // has the thread's processor: callers do without help for some time.
  void wait_for(int64_t parts, Clock::time_point began) {
    const Clock::time_point idle_from = Clock::now();
    Clock::time_point now = idle_from;
    while (done_.load(std::memory_order_acquire) < parts) {
      relax();
      now = Clock::now();
      if (now - idle_from > kAlone) sched_yield();
    }
    if (now - idle_from < idle_from - began + kLate) {
      rest_ = kShortestRest;
      return;
    }
    alone_until_ = now + rest_;
    rest_ = std::min(2 * rest_, kLongestRest);
  }

  // A claim: the number of the job in the upper half, the next part of it in the lower one.
  static constexpr uint64_t kClosed = UINT32_MAX;  // no job has so many parts
  static uint64_t claim_of(uint64_t job, uint64_t part) { return job << 32 | part; }
  static uint64_t job_of(uint64_t claim) { return claim >> 32; }
  static int64_t part_of(uint64_t claim) { return static_cast<int64_t>(claim & UINT32_MAX); }

  // Works on parts of the job that runs now, until none is left. Returns the job's number.
  uint64_t help() {
    uint64_t claim = next_.load(std::memory_order_acquire);
    for (;;) {
      // Of a later job, if that has begun in between: then the claim fails.
      const int64_t parts = parts_.load(std::memory_order_acquire);
      const Work work = work_.load(std::memory_order_acquire);
      const void* data = data_.load(std::memory_order_acquire);
      const FloatControl floats = floats_.load(std::memory_order_acquire);
      if (part_of(claim) >= parts) return job_of(claim);
      if (!next_.compare_exchange_weak(claim, claim + 1, std::memory_order_acq_rel,
                                       std::memory_order_acquire))
        continue;
      floats.apply();
      work(data, part_of(claim));
      done_.fetch_add(1, std::memory_order_release);
      ++claim;
    }
  }

  [[noreturn]] void serve() {
    uint64_t seen = 0;
    for (;;) {
      wait_for_job_after(seen);
      seen = help();
    }
  }

  void wait_for_job_after(uint64_t seen) {
    const auto is_seen = [&] { return job_of(next_.load(std::memory_order_acquire)) == seen; };
    const auto from = Clock::now();
    while (is_seen()) {
      relax();
      // The caller may be on this processor, where a thread that is woken runs at once.
      const auto now = Clock::now();
      if (now - from > kAlone) sched_yield();
      if (now - from < kSpin) continue;
      std::unique_lock lock(mutex_);
      ++sleeping_;
      wake_.wait(lock, [&] { return !is_seen(); });
      --sleeping_;
    }
  }

  std::mutex turn_;
  Clock::time_point alone_until_;                   // with turn_
  std::chrono::milliseconds rest_ = kShortestRest;  // with turn_: the next time alone
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<int> sleeping_{0};
  std::atomic<uint64_t> next_{0};  // claim
  std::atomic<Work> work_{nullptr};
  std::atomic<const void*> data_{nullptr};
  std::atomic<FloatControl> floats_{};  // of the caller
  std::atomic<int64_t> parts_{0};
  std::atomic<int64_t> done_{0};
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

thread_local bool is_alone = false;

}  // namespace

WithoutHelp::WithoutHelp(bool applies) : before_(is_alone) { is_alone |= applies; }
WithoutHelp::~WithoutHelp() { is_alone = before_; }

int thread_count() {
  static const int count = count_processors();
  return count;
}

void parallel(int64_t parts, void (*work)(const void* data, int64_t part), const void* data) {
  if (parts <= 1 || is_alone || thread_count() == 1) {
    for (int64_t part = 0; part < parts; ++part) work(data, part);
    return;
  }
  pool().run(parts, work, data);
}

}  // namespace heddle::cpu
