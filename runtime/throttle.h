// Throttle: how much a device may have in flight. A device that takes every launch at once would
// fill its memory with results that nobody has read; here the caller waits instead, for the
// oldest launches and not for all.
//
//   auto throttle = std::make_shared<Throttle>(Throttle::Limits{.launches = 8, .bytes = 1 << 30});
//   Throttle::Ticket ticket = throttle->acquire(bytes_of_the_run);  // waits for room
//   start(.., [ticket = std::move(ticket)] {});                     // room again when it goes
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace heddle::runtime {

// Safe from any thread. Whoever waits is served in the order of arrival, so that a large launch is
// not overtaken for ever by small ones.
class Throttle : public std::enable_shared_from_this<Throttle> {
 public:
  struct Limits {
    int launches = 32;          // at least 1
    int64_t bytes = INT64_MAX;  // of all launches together; a larger launch goes alone
  };

  // Room for one launch, given back when this goes: on any thread.
  class Ticket {
   public:
    Ticket(Ticket&& from) noexcept
        : throttle_(std::move(from.throttle_)), bytes_(std::exchange(from.bytes_, 0)) {}
    Ticket& operator=(Ticket&&) = delete;
    ~Ticket() {
      if (throttle_ != nullptr) throttle_->give_back(bytes_);
    }

   private:
    friend class Throttle;
    Ticket(std::shared_ptr<Throttle> throttle, int64_t bytes)
        : throttle_(std::move(throttle)), bytes_(bytes) {}
    std::shared_ptr<Throttle> throttle_;
    int64_t bytes_;
  };

  // What is in flight, and the most that ever was.
  struct Load {
    int launches = 0;
    int64_t bytes = 0;
    int peak_launches = 0;
    int64_t peak_bytes = 0;
    int64_t waits = 0;  // acquire() calls that found no room at once
  };

  explicit Throttle(Limits limits) : limits_(limits) {}

  // Waits for room. Not to be called where the device's own work would wait for it.
  [[nodiscard]] Ticket acquire(int64_t bytes);
  // Nothing where there is no room now, or others wait for it.
  [[nodiscard]] std::optional<Ticket> try_acquire(int64_t bytes);

  // Larger limits let waiting launches go; smaller ones hold for those to come.
  void set_limits(Limits limits);
  [[nodiscard]] Limits limits() const;
  [[nodiscard]] Load load() const;

 private:
  [[nodiscard]] bool has_room(int64_t bytes) const;
  void take(int64_t bytes);
  void give_back(int64_t bytes);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Limits limits_;
  Load load_;
  uint64_t next_arrival_ = 0;  // numbers of those who wait
  uint64_t next_served_ = 0;
};

}  // namespace heddle::runtime
