#include "heddle/pjrt/internal/buffer.h"

#include "heddle/base/system/pool.h"
#include "heddle/pjrt/abi/buffer.h"

namespace heddle::pjrt {

std::shared_ptr<PjrtBuffer> PjrtBuffer::make(std::shared_ptr<const Client> client,
                                             runtime::Device& device, Shape shape,
                                             int64_t held_bytes, abi::Buffer* handle) {
  return base::make_pooled<PjrtBuffer>(std::move(client), device, std::move(shape), held_bytes,
                                       handle);
}

PjrtBuffer::PjrtBuffer(std::shared_ptr<const Client> client, runtime::Device& device, Shape shape,
                       int64_t held_bytes, abi::Buffer* handle)
    : Buffer(device, std::move(shape), held_bytes), client_(std::move(client)), handle_(handle) {}

PjrtBuffer::~PjrtBuffer() {
  if (!deleted_.load(std::memory_order_relaxed)) unpin();
}

abi::Buffer* PjrtBuffer::pin() const {
  int users = users_.load(std::memory_order_relaxed);
  do {
    if (users == 0 || is_deleted()) return nullptr;
  } while (!users_.compare_exchange_weak(users, users + 1, std::memory_order_acquire));
  return handle_;
}

void PjrtBuffer::unpin() const {
  if (users_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  client_->api()->destroy(abi::BufferDestroyArgs{.buffer = handle_});
}

void PjrtBuffer::release() {
  if (deleted_.exchange(true, std::memory_order_acq_rel)) return;
  unpin();
  forget_bytes();
}

StatusOr<std::shared_ptr<Held>> PjrtBuffer::ready() const {
  std::scoped_lock lock(mutex_);
  if (ready_ == nullptr) {
    abi::BufferReadyEventArgs args{.buffer = handle_};
    HEDDLE_RETURN_IF_ERROR(client_->api()->call(args));
    ready_ = make_held(Event(client_->api(), args.event));
  }
  return ready_;
}

void PjrtBuffer::finish(const Status& error) const {
  std::scoped_lock lock(mutex_);
  if (!done_.load(std::memory_order_relaxed)) set_error(error);
}

void PjrtBuffer::set_error(const Status& error) const {
  error_ = error;
  done_.store(true, std::memory_order_release);
}

// Nobody else has the buffer yet.
void PjrtBuffer::hold_until_ready(runtime::Throttle::Ticket ticket) {
  abi::BufferReadyEventArgs args{.buffer = handle_};
  if (Status status = client_->api()->call(args); !status.ok()) return set_error(status);
  Event event(client_->api(), args.event);
  // Short runs are over by now: whoever waits will have nothing to ask for.
  if (event.is_ready().value_or(false)) return set_error(event.await());
  ready_ = make_held(std::move(event));
  keep_room(ready_, std::move(ticket));
}

ValueState PjrtBuffer::state() const {
  const Pin pinned(*this);
  if (pinned.get() == nullptr) return ValueState::kDonated;
  if (done_.load(std::memory_order_acquire)) return ValueState::kReady;
  const StatusOr<std::shared_ptr<Held>> asked = ready();
  if (!asked.ok()) {
    finish(asked.status());
    return ValueState::kReady;
  }
  // The error, if there is one, is read by await(): it is not asked for before the event happened.
  const StatusOr<bool> happened = (*asked)->event.is_ready();
  return happened.ok() && !*happened ? ValueState::kPending : ValueState::kReady;
}

Status PjrtBuffer::await() {
  if (done_.load(std::memory_order_acquire) && !is_deleted()) return error_;
  const Pin pinned(*this);
  if (pinned.get() == nullptr) return runtime::deleted_error("await", shape());
  if (!done_.load(std::memory_order_acquire)) {
    const StatusOr<std::shared_ptr<Held>> asked = ready();
    finish(asked.ok() ? (*asked)->event.await() : asked.status());
  }
  return error_;
}

}  // namespace heddle::pjrt
