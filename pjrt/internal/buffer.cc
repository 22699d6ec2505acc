#include "heddle/pjrt/internal/buffer.h"

#include "heddle/pjrt/abi/buffer.h"

namespace heddle::pjrt {

PjrtBuffer::PjrtBuffer(std::shared_ptr<const Client> client, runtime::Device& device, Shape shape,
                       int64_t held_bytes, abi::Buffer* handle)
    : Buffer(device, std::move(shape), held_bytes), client_(std::move(client)), handle_(handle) {}

PjrtBuffer::~PjrtBuffer() {
  deleted_ = true;
  destroy_unused();
}

abi::Buffer* PjrtBuffer::pin() const {
  std::scoped_lock lock(mutex_);
  if (deleted_) return nullptr;
  ++users_;
  return handle_;
}

void PjrtBuffer::unpin() const {
  std::scoped_lock lock(mutex_);
  --users_;
  destroy_unused();
}

void PjrtBuffer::destroy_unused() const {
  if (!deleted_ || users_ > 0 || handle_ == nullptr) return;
  client_->api()->destroy(abi::BufferDestroyArgs{.buffer = std::exchange(handle_, nullptr)});
}

void PjrtBuffer::release() {
  {
    std::scoped_lock lock(mutex_);
    deleted_ = true;
    destroy_unused();
  }
  forget_bytes();
}

void PjrtBuffer::ask() const {
  if (done_.load(std::memory_order_relaxed)) return;
  if (ready_ == nullptr) {
    abi::BufferReadyEventArgs args{.buffer = handle_};
    error_ = client_->api()->call(args);
    if (!error_.ok()) return done_.store(true, std::memory_order_release);
    ready_ = std::make_shared<const Event>(client_->api(), args.event);
  }
}

void PjrtBuffer::hold_until_done(runtime::Throttle::Ticket ticket) const {
  std::shared_ptr<const Event> ready;
  {
    std::scoped_lock lock(mutex_);
    if (!deleted_) ask();
    ready = ready_;
  }
  if (ready == nullptr || ready->is_ready().value_or(false)) return;
  // The event lives in its own callback.
  auto held = std::make_shared<runtime::Throttle::Ticket>(std::move(ticket));
  if (!ready->on_ready([ready, held](const Status&) {}).ok()) (void)ready->await();
}

ValueState PjrtBuffer::state() const {
  std::scoped_lock lock(mutex_);
  if (deleted_) return ValueState::kDonated;
  ask();
  if (done_.load(std::memory_order_relaxed)) return ValueState::kReady;
  StatusOr<bool> ready = ready_->is_ready();
  if (ready.ok() && !*ready) return ValueState::kPending;
  // The error, if there is one, is read by await(): it is not asked for before the event happened.
  return ValueState::kReady;
}

Status PjrtBuffer::await() {
  if (done_.load(std::memory_order_acquire)) {
    std::scoped_lock lock(mutex_);
    if (!deleted_) return error_;
  }
  const Pin pinned(*this);
  if (pinned.get() == nullptr) return runtime::deleted_error("await", shape());
  std::shared_ptr<const Event> ready;
  {
    std::scoped_lock lock(mutex_);
    ask();
    if (done_.load(std::memory_order_relaxed)) return error_;
    ready = ready_;
  }
  Status result = ready->await();
  std::scoped_lock lock(mutex_);
  error_ = result;
  done_.store(true, std::memory_order_release);
  return result;
}

}  // namespace heddle::pjrt
