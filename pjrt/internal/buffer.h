// PjrtBuffer: an array on a foreign device.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "heddle/pjrt/internal/client.h"
#include "heddle/pjrt/internal/event.h"
#include "heddle/runtime/backend.h"
#include "heddle/runtime/throttle.h"

namespace heddle::pjrt {

// Owns a plugin's buffer. Its users are an array that is not deleted, and pins: the last of them
// destroys it. The holders of this object are an array, deleted or not, and pins: it goes with the
// last of them, and holds the client until then.
//
// A run is not launched with a buffer while another launch donates it, and the other way round:
// plugins may lock up there (XLA's CPU plugin does).
class SharedBuffer {
  // The parts of counts_: pins fill the bits 3 to 31, launches those from 33.
  static constexpr uint64_t kArrayHolds = 1, kArrayUses = 2, kIsDestroyed = 4, kOnePin = 8;
  static constexpr uint64_t kPins = (uint64_t{1} << 32) - kOnePin, kIsDonated = uint64_t{1} << 32,
                            kOneLaunch = uint64_t{1} << 33;
  static constexpr uint64_t kUsers = kArrayUses | kPins,
                            kHolders = kArrayHolds | kIsDestroyed | kPins;

 public:
  // What a pin is for.
  enum class Use : uint64_t {
    kCall = kOnePin,
    kLaunch = kOnePin | kOneLaunch,
    kDonatingLaunch = kOnePin | kIsDonated
  };
  enum class Pinned { kYes, kIsDeleted, kIsBeingDonated };

  // For an array, which is the first user and holder.
  static SharedBuffer* make(std::shared_ptr<const Client> client, abi::Buffer* buffer);

  [[nodiscard]] const Client& client() const { return *client_; }
  [[nodiscard]] abi::Buffer* buffer() const { return buffer_; }
  // kIsDeleted: the array is. kIsBeingDonated: only a launch is told.
  [[nodiscard]] Pinned pin(Use use);
  void unpin(Use use) { drop(static_cast<uint64_t>(use)); }
  [[nodiscard]] bool is_being_launched() const {
    return counts_.load(std::memory_order_acquire) >= kOneLaunch;
  }
  // The array is deleted: it uses the buffer no longer, and still holds this object.
  void release() { drop(kArrayUses); }
  // The array goes. Nobody can pin from now on.
  void let_go(bool is_released);

 private:
  SharedBuffer(std::shared_ptr<const Client> client, abi::Buffer* buffer)
      : client_(std::move(client)), buffer_(buffer) {}
  void drop(uint64_t parts);
  void destroy_buffer();
  void destroy();

  const std::shared_ptr<const Client> client_;
  abi::Buffer* const buffer_;
  std::atomic<uint64_t> counts_{kArrayHolds | kArrayUses};
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

  // The owner of the plugin's buffer, for pins.
  [[nodiscard]] SharedBuffer& handle() const { return *handle_; }

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
  explicit Pin(const PjrtBuffer& buffer)
      : handle_(buffer.handle().pin(SharedBuffer::Use::kCall) == SharedBuffer::Pinned::kYes
                    ? &buffer.handle()
                    : nullptr) {}
  Pin(Pin&& from) noexcept : handle_(std::exchange(from.handle_, nullptr)) {}
  Pin& operator=(Pin&&) = delete;
  ~Pin() {
    if (handle_ != nullptr) handle_->unpin(SharedBuffer::Use::kCall);
  }
  // Null where the array was deleted.
  [[nodiscard]] abi::Buffer* get() const {
    return handle_ == nullptr ? nullptr : handle_->buffer();
  }

 private:
  SharedBuffer* handle_;
};

// The arguments of a run that is being launched. They are pinned before the run waits for room:
// a run that has its room waits for no other launch.
class LaunchPins {
 public:
  LaunchPins() = default;
  LaunchPins(LaunchPins&&) = delete;
  ~LaunchPins() { unpin(); }

  void add(PjrtBuffer& buffer, bool is_donated);
  // Pins all of them, once no launch donates one of them and none uses what this one donates.
  // A refusal pins nothing. It names an argument that is deleted; or, where this launch may not
  // wait, one that another launch has for longer than a call takes: that one waits for room.
  struct Refusal {
    SharedBuffer::Pinned why;
    size_t place;
  };
  [[nodiscard]] std::optional<Refusal> pin(bool waits = true);
  // The error of such a run of a program, whose parameters are those of each device.
  static Status error_of(const Refusal& refusal, std::string_view program,
                         const std::vector<Shape>& parameters);
  // In the order of the arguments.
  [[nodiscard]] abi::Buffer* operator[](size_t i) const { return arguments_[i].handle->buffer(); }
  // The run has started: those that it donates are deleted.
  void delete_donated();

 private:
  struct Argument {
    PjrtBuffer* buffer;  // the caller's; a pin outlives it
    SharedBuffer* handle;
    SharedBuffer::Use use;
    bool is_pinned = false;
  };
  [[nodiscard]] SharedBuffer::Pinned try_to_pin(SharedBuffer::Use use, size_t& place);
  void unpin();

  absl::InlinedVector<Argument, 16> arguments_;  // no allocation for programs of usual size
  bool donates_ = false;
};

}  // namespace heddle::pjrt
