#include "heddle/runtime/internal/literal_buffer.h"

#include <cstring>
#include <thread>

#include "heddle/base/containers/sole_owner.h"

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
  const bool others = users_.fetch_sub(1, std::memory_order_acq_rel) > 1;
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

const std::byte* Slot::bytes() const {
  if (!is_ready() || !error_.ok() || !value_.shape().is_array()) return nullptr;
  return value_.bytes();
}

std::byte* Slot::own_bytes() {
  if (bytes() == nullptr || users_.load(std::memory_order_acquire) != 0 || !value_.is_unique())
    return nullptr;
  return value_.mutable_bytes();
}

std::byte* LiteralBuffer::own_bytes() {
  const std::scoped_lock lock(mutex_);
  if (is_released_) return nullptr;
  if (is_few_) return slot_ == nullptr ? few() : nullptr;  // else the slot has a copy
  return base::is_sole_owner(slot_) ? slot_->own_bytes() : nullptr;
}

// Under the lock.
std::shared_ptr<Slot> LiteralBuffer::slot() const {
  if (slot_ != nullptr || is_released_) return slot_;
  Literal value = Literal::uninitialised(shape());
  std::memcpy(value.mutable_bytes(), direct_.load(std::memory_order_relaxed),
              static_cast<size_t>(size_bytes()));
  return slot_ = std::make_shared<Slot>(std::move(value));
}

ValueState LiteralBuffer::state() const {
  if (direct_.load(std::memory_order_acquire) != nullptr) return ValueState::kReady;
  std::scoped_lock lock(mutex_);
  if (is_released_) return ValueState::kDonated;
  return slot_->is_ready() ? ValueState::kReady : ValueState::kPending;
}

Status LiteralBuffer::await() {
  if (direct_.load(std::memory_order_acquire) != nullptr) return {};
  std::shared_ptr<Slot> waited;
  {
    std::scoped_lock lock(mutex_);
    waited = slot();
  }
  if (waited == nullptr) return deleted_error("await", shape());
  return waited->await();
}

void LiteralBuffer::release() {
  std::shared_ptr<Slot> dropped;
  {
    std::scoped_lock lock(mutex_);
    dropped = std::move(slot_);
    is_released_ = true;
    direct_.store(nullptr, std::memory_order_seq_cst);
  }
  while (pins_.load(std::memory_order_seq_cst) > 0) std::this_thread::yield();
  forget_bytes();
}

std::shared_ptr<Slot> LiteralBuffer::use() {
  std::scoped_lock lock(mutex_);
  std::shared_ptr<Slot> used = slot();
  if (used != nullptr) used->add_user();
  return used;
}

const std::byte* LiteralBuffer::bytes_for_run(std::shared_ptr<Slot>& slot) {
  if (is_few_) return direct_.load(std::memory_order_acquire);
  slot = use();
  if (slot == nullptr) return nullptr;
  const std::byte* bytes = slot->bytes();
  if (bytes == nullptr) {
    slot->end_use();
    slot = nullptr;
  }
  return bytes;
}

}  // namespace heddle::runtime
