// PjrtBuffer: an array on a foreign device.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "heddle/pjrt/internal/client.h"
#include "heddle/pjrt/internal/event.h"
#include "heddle/runtime/backend.h"
#include "heddle/runtime/throttle.h"

namespace heddle::pjrt {

// The plugin's buffer is destroyed when the last call that uses it has returned: runs that were
// started with it hold its memory by themselves.
class PjrtBuffer final : public runtime::Buffer, public std::enable_shared_from_this<PjrtBuffer> {
 public:
  // Takes the plugin's buffer, which is of `shape`.
  [[nodiscard]] static std::shared_ptr<PjrtBuffer> make(std::shared_ptr<const Client> client,
                                                        runtime::Device& device, Shape shape,
                                                        int64_t held_bytes, abi::Buffer* handle);
  // For make().
  PjrtBuffer(std::shared_ptr<const Client> client, runtime::Device& device, Shape shape,
             int64_t held_bytes, abi::Buffer* handle);
  ~PjrtBuffer() override;

  [[nodiscard]] ValueState state() const override;
  [[nodiscard]] bool is_deleted() const override {
    return deleted_.load(std::memory_order_acquire);
  }
  [[nodiscard]] Status await() override;
  void release() override;
  // A plugin that cannot call back is waited for.
  void hold_until_ready(runtime::Throttle::Ticket ticket) override;

  // The plugin's buffer for a call, or null where it is deleted. Each is followed by unpin().
  [[nodiscard]] abi::Buffer* pin() const;
  void unpin() const;

 private:
  // Its ready event, asked for once. Pinned by the caller.
  [[nodiscard]] StatusOr<std::shared_ptr<Held>> ready() const;
  // The error is final.
  void finish(const Status& error) const;
  void set_error(const Status& error) const;

  const std::shared_ptr<const Client> client_;
  abi::Buffer* const handle_;
  mutable std::atomic<int> users_{1};  // pins, and one until it is deleted
  std::atomic<bool> deleted_{false};
  mutable std::atomic<bool> done_{false};  // error_ is final
  mutable std::mutex mutex_;
  mutable std::shared_ptr<Held> ready_;  // null before it was asked for
  mutable Status error_;
};

// A pinned buffer.
class Pin {
 public:
  explicit Pin(const PjrtBuffer& buffer) : buffer_(&buffer), handle_(buffer.pin()) {}
  Pin(Pin&& from) noexcept : buffer_(from.buffer_), handle_(std::exchange(from.handle_, nullptr)) {}
  Pin& operator=(Pin&&) = delete;
  ~Pin() {
    if (handle_ != nullptr) buffer_->unpin();
  }
  [[nodiscard]] abi::Buffer* get() const { return handle_; }

 private:
  const PjrtBuffer* buffer_;
  abi::Buffer* handle_;
};

}  // namespace heddle::pjrt
