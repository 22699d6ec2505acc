#include "heddle/runtime/throttle.h"

#include <algorithm>

namespace heddle::runtime {

// A launch of more bytes than there may be goes when it is alone.
bool Throttle::has_room(int64_t bytes) const {
  if (load_.launches == 0) return true;
  return load_.launches < limits_.launches && bytes <= limits_.bytes - load_.bytes;
}

void Throttle::take(int64_t bytes) {
  load_.launches += 1;
  load_.bytes += bytes;
  load_.peak_launches = std::max(load_.peak_launches, load_.launches);
  load_.peak_bytes = std::max(load_.peak_bytes, load_.bytes);
}

Throttle::Ticket Throttle::acquire(int64_t bytes) {
  std::unique_lock lock(mutex_);
  const uint64_t arrival = next_arrival_++;
  const auto is_served = [&] { return next_served_ == arrival && has_room(bytes); };
  if (!is_served()) {
    ++load_.waits;
    changed_.wait(lock, is_served);
  }
  ++next_served_;
  take(bytes);
  if (next_served_ != next_arrival_) changed_.notify_all();  // the next one may have room too
  return {shared_from_this(), bytes};
}

std::optional<Throttle::Ticket> Throttle::try_acquire(int64_t bytes) {
  std::scoped_lock lock(mutex_);
  if (next_served_ != next_arrival_ || !has_room(bytes)) return std::nullopt;
  take(bytes);
  return Ticket(shared_from_this(), bytes);
}

void Throttle::give_back(int64_t bytes) {
  std::scoped_lock lock(mutex_);
  load_.launches -= 1;
  load_.bytes -= bytes;
  if (next_served_ != next_arrival_) changed_.notify_all();
}

void Throttle::set_limits(Limits limits) {
  std::scoped_lock lock(mutex_);
  limits_ = limits;
  changed_.notify_all();
}

Throttle::Limits Throttle::limits() const {
  std::scoped_lock lock(mutex_);
  return limits_;
}

Throttle::Load Throttle::load() const {
  std::scoped_lock lock(mutex_);
  return load_;
}

}  // namespace heddle::runtime
