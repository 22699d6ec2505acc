// LiteralBuffer: a buffer whose device memory is a Literal. For backends that compute in host
// memory.
//
// The buffer and the runs that use it share a Slot. A donated buffer lets go of its slot at once,
// while the value may still be on its way to it: the run that took the slot will find it there.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "heddle/hlo/literal.h"
#include "heddle/runtime/backend.h"

namespace heddle::runtime {

// A value that is written once and then read, and at last perhaps taken away.
class Slot {
 public:
  Slot() = default;
  explicit Slot(Literal value) : ready_(true), value_(std::move(value)) {}

  void set(StatusOr<Literal> value);
  [[nodiscard]] bool is_ready() const { return ready_.load(std::memory_order_acquire); }
  [[nodiscard]] Status await();

  // A user is a run or a download that was started and has not read yet. While there are others,
  // take() leaves the value in place.
  void add_user() { users_.fetch_add(1, std::memory_order_relaxed); }
  void end_use() { users_.fetch_sub(1, std::memory_order_relaxed); }
  // These wait for the value, and end the use.
  [[nodiscard]] StatusOr<Literal> share();
  [[nodiscard]] StatusOr<Literal> take();
  [[nodiscard]] Status copy_to(void* data);

 private:
  std::unique_lock<std::mutex> wait();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> ready_{false};
  std::atomic<int> users_{0};
  Status error_;
  Literal value_;
};

class LiteralBuffer final : public Buffer {
 public:
  LiteralBuffer(Device& device, Shape shape, int64_t held_bytes, std::shared_ptr<Slot> slot)
      : Buffer(device, std::move(shape), held_bytes), slot_(std::move(slot)) {}
  // Of a shape that many buffers share, with its size.
  LiteralBuffer(Device& device, std::shared_ptr<const Shape> shape, int64_t size_bytes,
                std::shared_ptr<Slot> slot)
      : Buffer(device, std::move(shape), size_bytes, size_bytes), slot_(std::move(slot)) {}

  [[nodiscard]] ValueState state() const override;
  [[nodiscard]] Status await() override;
  void release() override;

  // Returns the slot with one user more; null where the buffer is deleted.
  [[nodiscard]] std::shared_ptr<Slot> use();

 private:
  [[nodiscard]] std::shared_ptr<Slot> slot() const;

  mutable std::mutex mutex_;
  std::shared_ptr<Slot> slot_;  // null: deleted
};

}  // namespace heddle::runtime
