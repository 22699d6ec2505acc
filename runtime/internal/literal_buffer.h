// LiteralBuffer: a buffer whose device memory is a Literal. For backends that compute in host
// memory.
//
// The buffer and the runs that use it share a Slot. A donated buffer lets go of its slot at once,
// while the value may still be on its way to it: the run that took the slot will find it there.
//
// A value of a few bytes lies in the buffer itself, and gets a slot when one is asked for: most
// results of small ops are read by the next op alone.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "heddle/hlo/literal/literal.h"
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
  void end_use() { users_.fetch_sub(1, std::memory_order_release); }
  // These wait for the value, and end the use.
  [[nodiscard]] StatusOr<Literal> share();
  [[nodiscard]] StatusOr<Literal> take();
  [[nodiscard]] Status copy_to(void* data);
  // The value's bytes, for a user until its end_use(), and for the buffer until it is released;
  // null where there is no value, or not yet.
  [[nodiscard]] const std::byte* bytes() const;
  // The same, to be written over; null where a user or another literal reads them.
  [[nodiscard]] std::byte* own_bytes();

 private:
  std::unique_lock<std::mutex> wait();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> ready_{false};
  std::atomic<int> users_{0};
  Status error_;  // does not change once it is ready, nor does the value but by take()
  Literal value_;
};

class LiteralBuffer final : public Buffer {
 public:
  LiteralBuffer(Device& device, Shape shape, int64_t held_bytes, std::shared_ptr<Slot> slot)
      : Buffer(device, std::move(shape), held_bytes),
        slot_(std::move(slot)),
        direct_(slot_->bytes()) {}
  // Of a value of at most kFewBytes, which its maker writes to few() before another thread has it.
  LiteralBuffer(Device& device, const Shape& shape)
      : Buffer(device, shape, shape.byte_size()), is_few_(true), direct_(few()) {}

  static constexpr int64_t kFewBytes = 64;
  [[nodiscard]] std::byte* few() {
    const auto address = reinterpret_cast<uintptr_t>(few_.data());
    return few_.data() + (kAlignment - address % kAlignment) % kAlignment;
  }

  [[nodiscard]] ValueState state() const override;
  [[nodiscard]] Status await() override;
  void release() override;

  // Returns the slot with one user more; null where the buffer is deleted.
  [[nodiscard]] std::shared_ptr<Slot> use();

  // For a short read by the caller's thread: the bytes, which stay until unpin(), and null, with
  // nothing to unpin, where the value is not there. release() waits for it.
  [[nodiscard]] const std::byte* pin() {
    if (is_few_) return direct_.load(std::memory_order_acquire);  // as long as the buffer
    pins_.fetch_add(1, std::memory_order_seq_cst);
    const std::byte* bytes = direct_.load(std::memory_order_seq_cst);
    if (bytes == nullptr) unpin();
    return bytes;
  }
  void unpin() {
    if (!is_few_) pins_.fetch_sub(1, std::memory_order_release);
  }
  // For the only owner of the buffer: the bytes, to be written over; null where something else may
  // read them, as a view or a run that was started.
  [[nodiscard]] std::byte* own_bytes();
  // For a run that may be long: as pin(), and `slot` is what keeps the bytes, whose use the caller
  // has to end; null where the buffer does.
  [[nodiscard]] const std::byte* bytes_for_run(std::shared_ptr<Slot>& slot);

 private:
  static constexpr size_t kAlignment = 64;  // as that of literals

  [[nodiscard]] std::shared_ptr<Slot> slot() const;

  mutable std::mutex mutex_;
  mutable std::shared_ptr<Slot> slot_;  // null: deleted, or few bytes that nobody asked for yet
  const bool is_few_ = false;
  bool is_released_ = false;
  std::atomic<int> pins_{0};
  std::atomic<const std::byte*> direct_;  // null: pending, failed or deleted
  // Last, and not initialised. Not aligned to kAlignment: memory of greater alignment than any new
  // gives comes slowly.
  alignas(std::max_align_t)
      std::array<std::byte, kFewBytes + kAlignment - alignof(std::max_align_t)> few_;
};

}  // namespace heddle::runtime
