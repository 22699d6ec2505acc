// What the handles of the mock stand for.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "heddle/pjrt/mock/mock.h"

namespace heddle::pjrt::mock {

// Counts what is alive.
class Alive {
 public:
  explicit Alive(std::atomic<int>& count) : count_(&count) { ++*count_; }
  Alive(const Alive& from) : count_(from.count_) { ++*count_; }
  Alive& operator=(const Alive&) = delete;
  ~Alive() { --*count_; }

 private:
  std::atomic<int>* count_;
};

// Something that happens once, and who waits for it.
class Moment {
 public:
  using Then = std::function<void(const std::optional<Fault>&)>;

  void happen(std::optional<Fault> fault = std::nullopt) {
    std::vector<Then> then;
    {
      std::scoped_lock lock(mutex_);
      if (done_) return;
      done_ = true;
      fault_ = std::move(fault);
      then.swap(then_);
      changed_.notify_all();
    }
    for (const Then& call : then) call(fault_);
  }
  void then(Then call) {
    {
      std::scoped_lock lock(mutex_);
      if (!done_) return then_.push_back(std::move(call));
    }
    call(fault_);
  }
  bool is_done() {
    std::scoped_lock lock(mutex_);
    return done_;
  }
  std::optional<Fault> wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
    return fault_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::optional<Fault> fault_;
  std::vector<Then> then_;
};

// Runs work in order, on a thread.
class Worker {
 public:
  explicit Worker(bool held) : held_(held), thread_([this] { run(); }) {}
  ~Worker() {
    {
      std::scoped_lock lock(mutex_);
      held_ = false;
      stop_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  void add(std::function<void()> work) {
    std::scoped_lock lock(mutex_);
    work_.push_back(std::move(work));
    changed_.notify_all();
  }
  void open() {
    std::scoped_lock lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return !held_ && (stop_ || !work_.empty()); });
      if (work_.empty()) return;
      auto work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      work();
      work = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool held_;
  bool stop_ = false;
  std::thread thread_;
};

inline void add_up(std::atomic<int64_t>& sum, int64_t more, std::atomic<int64_t>& peak) {
  const int64_t now = sum += more;
  int64_t most = peak;
  while (now > most && !peak.compare_exchange_weak(most, now)) {
  }
}

// The memory of a buffer: shared by the buffer and the runs that use it.
struct Memory {
  // With `from`: the host's memory, which is read when the array is, and not before.
  Memory(Seen& s, Array a, size_t bytes, const void* from = nullptr)
      : seen(s), array(std::move(a)), size(static_cast<int64_t>(bytes)), lent(from) {
    add_up(seen.bytes, held(), seen.peak_bytes);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    seen.bytes -= held();
    host_is_free->happen();
  }
  Seen& seen;
  Array array;
  const int64_t size;
  const void* lent;                // the host's memory, where it is used in place
  std::atomic<int> references{0};  // external ones
  [[nodiscard]] const void* data() const {
    return lent == nullptr ? static_cast<const void*>(array.bytes.data()) : lent;
  }
  // Of the device's memory.
  [[nodiscard]] int64_t held() const { return lent == nullptr ? size : 0; }
  // The array as it is now.
  [[nodiscard]] Array read() const {
    const auto* bytes = static_cast<const std::byte*>(data());
    return {.type = array.type, .dims = array.dims, .bytes = {bytes, bytes + size}};
  }
  std::shared_ptr<Moment> ready = std::make_shared<Moment>();
  std::shared_ptr<Moment> host_is_free = std::make_shared<Moment>();
};

}  // namespace heddle::pjrt::mock

// The handles.
namespace heddle::pjrt::abi {

struct Error {
  mock::Alive alive;
  mock::Fault fault;
};
struct Event {
  mock::Alive alive;
  std::shared_ptr<mock::Moment> moment;
};
struct DeviceDescription {
  int id = 0;
  std::string text = {};
};
struct Memory {
  int id = 0;
  Device* device = nullptr;
};
struct Device {
  DeviceDescription description;
  int local_id = 0;
  Memory memory = {};
};
struct Client {
  mock::Alive alive;
  std::vector<Device> devices;
  std::vector<Device*> handles;
  std::unique_ptr<mock::Worker> worker;
  std::vector<Memory*> memories = {};
};
struct Executable {
  std::shared_ptr<const mock::Program> program;
  std::vector<BufferType> types;
  std::vector<int64_t> dims;
  std::vector<size_t> ranks;
};
struct LoadedExecutable {
  mock::Alive alive;
  Client* client;
  std::shared_ptr<const mock::Program> program;
};
struct Buffer {
  mock::Alive alive;
  std::shared_ptr<mock::Memory> memory;
  std::atomic<bool> is_deleted{false};
};

}  // namespace heddle::pjrt::abi
