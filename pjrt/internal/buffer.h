// PjrtBuffer: an array on a foreign device.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "heddle/pjrt/internal/client.h"
#include "heddle/pjrt/internal/event.h"
#include "heddle/runtime/backend.h"
#include "heddle/runtime/throttle.h"

namespace heddle::pjrt {

// Owns a plugin's buffer. Its users are an array that is not deleted, and pins: the last of them
// destroys it. The holders of this object are an array, deleted or not, and pins: it goes with the
// last of them, and holds the client until then.
class SharedBuffer {
 public:
  // For an array, which is the first user and holder.
  static SharedBuffer* make(std::shared_ptr<const Client> client, abi::Buffer* buffer);

  [[nodiscard]] const Client& client() const { return *client_; }
  [[nodiscard]] abi::Buffer* buffer() const { return buffer_; }
  // False: its last user is gone.
  [[nodiscard]] bool pin();
  void unpin();
  // The array is deleted: it uses the buffer no longer, and still holds this object.
  void release();
  // The array goes. Nobody can pin from now on.
  void let_go(bool is_released);

 private:
  static constexpr uint64_t kUser = 1, kUsers = 0xFFFFFFFF, kHolder = uint64_t{1} << 32;

  SharedBuffer(std::shared_ptr<const Client> client, abi::Buffer* buffer)
      : client_(std::move(client)), buffer_(buffer) {}
  void drop_holder();
  void destroy_buffer();
  void destroy();

  const std::shared_ptr<const Client> client_;
  abi::Buffer* const buffer_;
  std::atomic<uint64_t> counts_{kHolder | kUser};
};

// The plugin's buffer is destroyed when the last call that uses it has returned: runs that were
// started with it hold its memory by themselves.
class PjrtBuffer final : public runtime::Buffer {
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

  // Pinned for a call, which unpins it; null where it is deleted.
  [[nodiscard]] SharedBuffer* pin() const;

 private:
  // Its ready event, asked for once. Pinned by the caller.
  [[nodiscard]] StatusOr<std::shared_ptr<Held>> ready() const;
  // The error is final.
  void finish(const Status& error) const;
  void set_error(const Status& error) const;

  [[nodiscard]] const std::shared_ptr<const Api>& api() const { return handle_->client().api(); }

  SharedBuffer* const handle_;
  std::atomic<bool> deleted_{false};
  mutable std::atomic<bool> done_{false};  // error_ is final
  mutable std::mutex mutex_;
  mutable std::shared_ptr<Held> ready_;  // null before it was asked for
  mutable Status error_;
};

// A plugin's buffer that is in use. The array may go before it; who has a pin holds the client.
class Pin {
 public:
  explicit Pin(const PjrtBuffer& buffer) : handle_(buffer.pin()) {}
  Pin(Pin&& from) noexcept : handle_(std::exchange(from.handle_, nullptr)) {}
  Pin& operator=(Pin&&) = delete;
  ~Pin() {
    if (handle_ != nullptr) handle_->unpin();
  }
  // Null where the array was deleted.
  [[nodiscard]] abi::Buffer* get() const {
    return handle_ == nullptr ? nullptr : handle_->buffer();
  }

 private:
  SharedBuffer* handle_;
};

}  // namespace heddle::pjrt
