#include "heddle/runtime/internal/literal_buffer.h"

#include <cstring>

namespace heddle::runtime {

void Slot::set(StatusOr<Literal> value) {
  std::scoped_lock lock(mutex_);
  if (value.ok()) {
    value_ = *std::move(value);
  } else {
    error_ = value.status();
  }
  ready_.store(true, std::memory_order_release);
  changed_.notify_all();
}

std::unique_lock<std::mutex> Slot::wait() {
  std::unique_lock lock(mutex_);
  if (!is_ready()) changed_.wait(lock, [this] { return is_ready(); });
  return lock;
}

Status Slot::await() {
  auto lock = wait();
  return error_;
}

StatusOr<Literal> Slot::share() {
  auto lock = wait();
  end_use();
  if (!error_.ok()) return error_;
  return value_;
}

StatusOr<Literal> Slot::take() {
  auto lock = wait();
  const bool others = users_.fetch_sub(1, std::memory_order_relaxed) > 1;
  if (!error_.ok()) return error_;
  if (others) return value_;
  return std::move(value_);
}

// Under the lock, so that the bytes are not shared with a literal that a later run would have to
// copy before writing.
Status Slot::copy_to(void* data) {
  auto lock = wait();
  end_use();
  if (error_.ok() && value_.byte_size() > 0) {
    std::memcpy(data, value_.bytes(), static_cast<size_t>(value_.byte_size()));
  }
  return error_;
}

std::shared_ptr<Slot> LiteralBuffer::slot() const {
  std::scoped_lock lock(mutex_);
  return slot_;
}

ValueState LiteralBuffer::state() const {
  std::scoped_lock lock(mutex_);
  if (slot_ == nullptr) return ValueState::kDonated;
  return slot_->is_ready() ? ValueState::kReady : ValueState::kPending;
}

Status LiteralBuffer::await() {
  std::shared_ptr<Slot> waited = slot();
  if (waited == nullptr) return deleted_error("await", shape());
  return waited->await();
}

void LiteralBuffer::release() {
  std::shared_ptr<Slot> dropped;
  {
    std::scoped_lock lock(mutex_);
    dropped = std::move(slot_);
  }
  forget_bytes();
}

std::shared_ptr<Slot> LiteralBuffer::use() {
  std::scoped_lock lock(mutex_);
  if (slot_ != nullptr) slot_->add_user();
  return slot_;
}

}  // namespace heddle::runtime
