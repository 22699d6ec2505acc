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

SharedBuffer* SharedBuffer::make(std::shared_ptr<const Client> client, abi::Buffer* buffer) {
  return new (base::allocate_pooled(sizeof(SharedBuffer))) SharedBuffer(std::move(client), buffer);
}

bool SharedBuffer::pin() {
  uint64_t counts = counts_.load(std::memory_order_relaxed);
  do {
    if ((counts & kUsers) == 0) return false;
  } while (!counts_.compare_exchange_weak(counts, counts + (kHolder | kUser),
                                          std::memory_order_acquire));
  return true;
}

// The last user holds the client until the buffer is destroyed.
void SharedBuffer::unpin() {
  uint64_t counts = counts_.load(std::memory_order_relaxed);
  while ((counts & kUsers) > kUser) {
    if (counts_.compare_exchange_weak(counts, counts - (kHolder | kUser),
                                      std::memory_order_acq_rel))
      return;
  }
  release();
  drop_holder();
}

void SharedBuffer::release() {
  if ((counts_.fetch_sub(kUser, std::memory_order_acq_rel) & kUsers) == kUser) destroy_buffer();
}

// Where nobody else has it, the counts need no atomic write, which would cost more than the rest.
void SharedBuffer::let_go(bool is_released) {
  if (counts_.load(std::memory_order_acquire) == (is_released ? kHolder : kHolder | kUser)) {
    if (!is_released) destroy_buffer();
    return destroy();
  }
  is_released ? drop_holder() : unpin();
}

void SharedBuffer::drop_holder() {
  if (counts_.fetch_sub(kHolder, std::memory_order_acq_rel) < 2 * kHolder) destroy();
}

void SharedBuffer::destroy_buffer() {
  client_->api()->destroy(abi::BufferDestroyArgs{.buffer = buffer_});
}

void SharedBuffer::destroy() {
  this->~SharedBuffer();
  base::free_pooled(this, sizeof(SharedBuffer));
}

PjrtBuffer::PjrtBuffer(std::shared_ptr<const Client> client, runtime::Device& device, Shape shape,
                       int64_t held_bytes, abi::Buffer* handle)
    : Buffer(device, std::move(shape), held_bytes),
      handle_(SharedBuffer::make(std::move(client), handle)) {}

PjrtBuffer::~PjrtBuffer() { handle_->let_go(deleted_.load(std::memory_order_relaxed)); }

SharedBuffer* PjrtBuffer::pin() const {
  return !is_deleted() && handle_->pin() ? handle_ : nullptr;
}

void PjrtBuffer::release() {
  if (deleted_.exchange(true, std::memory_order_acq_rel)) return;
  handle_->release();
  forget_bytes();
}

StatusOr<std::shared_ptr<Held>> PjrtBuffer::ready() const {
  std::scoped_lock lock(mutex_);
  if (ready_ == nullptr) {
    abi::BufferReadyEventArgs args{.buffer = handle_->buffer()};
    HEDDLE_RETURN_IF_ERROR(api()->call(args));
    ready_ = make_held(Event(api(), args.event));
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
  abi::BufferReadyEventArgs args{.buffer = handle_->buffer()};
  if (Status status = api()->call(args); !status.ok()) return set_error(status);
  Event event(api(), args.event);
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
