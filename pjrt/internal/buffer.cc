#include "heddle/pjrt/internal/buffer.h"

#include <chrono>
#include <thread>

#include "heddle/base/system/pool.h"
#include "heddle/base/text/strings.h"
#include "heddle/pjrt/abi/buffer.h"

namespace heddle::pjrt {

using Use = SharedBuffer::Use;
using Pinned = SharedBuffer::Pinned;

namespace {

constexpr int kShortTries = 100;

// Launches are short, but where a plugin runs programs in them or they wait for room.
void pause(int tries) {
  if (tries < kShortTries) return std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::microseconds(50));
}

}  // namespace

std::shared_ptr<PjrtBuffer> PjrtBuffer::make(std::shared_ptr<const Client> client,
                                             runtime::Device& device, Shape shape,
                                             int64_t held_bytes, abi::Buffer* handle) {
  return base::make_pooled<PjrtBuffer>(std::move(client), device, std::move(shape), held_bytes,
                                       handle);
}

SharedBuffer* SharedBuffer::make(std::shared_ptr<const Client> client, abi::Buffer* buffer) {
  return new (base::allocate_pooled(sizeof(SharedBuffer))) SharedBuffer(std::move(client), buffer);
}

SharedBuffer::Pinned SharedBuffer::pin(Use use) {
  const auto added = static_cast<uint64_t>(use);
  // A launch that donates waits for the others when it has its pins: LaunchPins::pin().
  uint64_t counts = counts_.load(std::memory_order_relaxed);
  do {
    if ((counts & kArrayUses) == 0) return Pinned::kIsDeleted;
    if (use != Use::kCall && (counts & kIsDonated) != 0) return Pinned::kIsBeingDonated;
  } while (!counts_.compare_exchange_weak(counts, counts + added, std::memory_order_acq_rel));
  return Pinned::kYes;
}

// The last user holds the client until the buffer is destroyed.
void SharedBuffer::drop(uint64_t parts) {
  uint64_t counts = counts_.load(std::memory_order_relaxed), left;
  bool is_last_user;
  do {
    left = counts - parts;
    is_last_user = (counts & kUsers) != 0 && (left & kUsers) == 0;
    if (is_last_user) left |= kIsDestroyed;
  } while (!counts_.compare_exchange_weak(counts, left, std::memory_order_acq_rel));
  if (is_last_user) {
    destroy_buffer();
    left = counts_.fetch_sub(kIsDestroyed, std::memory_order_acq_rel) - kIsDestroyed;
  }
  if ((left & kHolders) == 0) destroy();
}

// Where nobody else has it, the counts need no atomic write, which would cost more than the rest.
void SharedBuffer::let_go(bool is_released) {
  const uint64_t parts = is_released ? kArrayHolds : kArrayHolds | kArrayUses;
  if (counts_.load(std::memory_order_acquire) != parts) return drop(parts);
  if (!is_released) destroy_buffer();
  destroy();
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

void LaunchPins::add(PjrtBuffer& buffer, bool is_donated) {
  arguments_.push_back(
      {&buffer, &buffer.handle(), is_donated ? Use::kDonatingLaunch : Use::kLaunch});
  donates_ |= is_donated;
}

// What is donated comes first, and a launch that meets another's donation lets go of all it has.
// So none waits for a launch that waits for it: launch A waits here for B, in the end, only where B
// had all its pins before A had what it donates.
std::optional<LaunchPins::Refusal> LaunchPins::pin(bool waits) {
  int tries = 0;
  const auto goes_on = [&] { return waits || tries < kShortTries; };
  while (true) {
    size_t place = 0;
    Pinned pinned = donates_ ? try_to_pin(Use::kDonatingLaunch, place) : Pinned::kYes;
    if (pinned == Pinned::kYes) pinned = try_to_pin(Use::kLaunch, place);
    if (pinned == Pinned::kYes) break;
    unpin();
    if (pinned == Pinned::kIsDeleted || !goes_on()) return Refusal{pinned, place};
    pause(tries++);
  }
  for (size_t i = 0; i < arguments_.size() && donates_; ++i) {
    if (arguments_[i].use != Use::kDonatingLaunch) continue;
    for (; arguments_[i].handle->is_being_launched(); pause(tries++)) {
      if (goes_on()) continue;
      unpin();
      return Refusal{Pinned::kIsBeingDonated, i};
    }
  }
  return std::nullopt;
}

Status LaunchPins::error_of(const Refusal& refusal, std::string_view program,
                            const std::vector<Shape>& parameters) {
  const size_t number = refusal.place % parameters.size();
  const std::string argument = base::cat("run ", program, ": argument ", number);
  // execute() saw the buffers whole, so another thread released this one since.
  if (refusal.why == Pinned::kIsDeleted)
    return runtime::deleted_error(argument, parameters[number]);
  return base::make_error(StatusCode::kUnavailable, argument,
                          " is donated, or used, by a run that ",
                          "waits for room; wait for it, or run without only_if_room");
}

SharedBuffer::Pinned LaunchPins::try_to_pin(Use use, size_t& place) {
  for (place = 0; place < arguments_.size(); ++place) {
    Argument& argument = arguments_[place];
    if (argument.use != use) continue;
    const Pinned pinned = argument.handle->pin(use);
    if (pinned != Pinned::kYes) return pinned;
    argument.is_pinned = true;
  }
  return Pinned::kYes;
}

void LaunchPins::delete_donated() {
  if (!donates_) return;
  for (const Argument& argument : arguments_) {
    if (argument.use == Use::kDonatingLaunch) argument.buffer->release();
  }
}

void LaunchPins::unpin() {
  for (Argument& argument : arguments_) {
    if (std::exchange(argument.is_pinned, false)) argument.handle->unpin(argument.use);
  }
}

}  // namespace heddle::pjrt
