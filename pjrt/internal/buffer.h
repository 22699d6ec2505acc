// PjrtBuffer: an array on a foreign device.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>

#include "heddle/pjrt/internal/client.h"
#include "heddle/pjrt/internal/event.h"
#include "heddle/runtime/backend.h"
#include "heddle/runtime/throttle.h"

namespace heddle::pjrt {

// The plugin's buffer is destroyed when the last call that uses it has returned: runs that were
// started with it hold its memory by themselves.
class PjrtBuffer final : public runtime::Buffer {
 public:
  // Takes the plugin's buffer, which is of `shape`.
  PjrtBuffer(std::shared_ptr<const Client> client, runtime::Device& device, Shape shape,
             int64_t held_bytes, abi::Buffer* handle);
  ~PjrtBuffer() override;

  [[nodiscard]] ValueState state() const override;
  [[nodiscard]] Status await() override;
  void release() override;

  // Keeps the ticket until the bytes are there or never will be. A plugin that cannot call back is
  // waited for.
  void hold_until_done(runtime::Throttle::Ticket ticket) const;

  // The plugin's buffer for a call, or null where it is deleted. Each is followed by unpin().
  [[nodiscard]] abi::Buffer* pin() const;
  void unpin() const;

 private:
  // Where it stands, asking the plugin only until it is known to be done. With mutex_ held.
  void ask() const;
  void destroy_unused() const;

  const std::shared_ptr<const Client> client_;
  mutable std::mutex mutex_;
  mutable abi::Buffer* handle_;
  mutable int users_ = 0;
  mutable bool deleted_ = false;
  mutable std::atomic<bool> done_{false};       // error_ is final
  mutable std::shared_ptr<const Event> ready_;  // null before it was asked for
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
