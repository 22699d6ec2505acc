// Throttle: how much a device may have in flight. A device that takes every launch at once would
// fill its memory with results that nobody has read; here the caller waits instead, for the
// oldest launches and not for all. Each device has one, Device::throttle(), which execute() and
// the uploads of every backend ask.
//
//   device.throttle().set_limits({.launches = 8, .bytes = 1 << 30});
//
//   Throttle::Ticket ticket = throttle->acquire(bytes_of_the_run);  // in a backend: waits for room
//   start(.., [ticket = std::move(ticket)] {});                     // room again when it goes
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace heddle::runtime {

// Safe from any thread. Whoever waits is served in the order of arrival, so that a large launch is
// not overtaken for ever by small ones. Who waits for launches is woken when a quarter of them is
// done, and not for each: a device whose launches are short would spend its time on waking.
class Throttle : public std::enable_shared_from_this<Throttle> {
 public:
  struct Limits {
    int launches = 32;          // at least 1
    int64_t bytes = INT64_MAX;  // of all that is in flight; what is larger goes alone
  };

  // An upload counts bytes alone.
  enum class Kind : uint8_t { kLaunch, kUpload };

  // Room for one launch or upload, given back when this goes: on any thread, while the device is
  // there, or after outlive_device().
  class Ticket {
   public:
    Ticket() = default;  // of nothing
    Ticket(Ticket&& from) noexcept
        : throttle_(std::exchange(from.throttle_, nullptr)),
          owner_(std::move(from.owner_)),
          bytes_(from.bytes_),
          entry_(from.entry_),
          kind_(from.kind_) {}
    Ticket& operator=(Ticket&& from) noexcept {
      std::swap(throttle_, from.throttle_);
      std::swap(owner_, from.owner_);
      std::swap(bytes_, from.bytes_);
      std::swap(entry_, from.entry_);
      std::swap(kind_, from.kind_);
      return *this;
    }
    ~Ticket() {
      if (throttle_ != nullptr) throttle_->give_back(*this);
    }
    // For a ticket that outlives its call: the device may go first.
    void outlive_device() {
      if (throttle_ != nullptr) owner_ = throttle_->shared_from_this();
    }

   private:
    friend class Throttle;
    Ticket(Throttle& throttle, int64_t bytes, size_t entry, Kind kind)
        : throttle_(&throttle), bytes_(bytes), entry_(entry), kind_(kind) {}
    Throttle* throttle_ = nullptr;
    std::shared_ptr<Throttle> owner_;
    int64_t bytes_ = 0;
    size_t entry_ = 0;
    Kind kind_ = Kind::kLaunch;
  };

  // What is in flight, and the most that ever was.
  struct Load {
    int launches = 0;
    int uploads = 0;
    int64_t bytes = 0;  // results and scratch of the launches, and arrays on their way there
    int peak_launches = 0;
    int64_t peak_bytes = 0;
    int64_t waits = 0;      // acquire() calls that found no room at once
    int64_t waited_ns = 0;  // of them together
  };

  // While it lives, this thread does a device's own work: what it starts is neither held back nor
  // counted, since the run that it is part of would wait for it.
  class Exempt {
   public:
    Exempt();
    ~Exempt();
    Exempt(const Exempt&) = delete;
    Exempt& operator=(const Exempt&) = delete;
  };

  explicit Throttle(Limits limits);
  ~Throttle();
  Throttle(const Throttle&) = delete;
  Throttle& operator=(const Throttle&) = delete;

  // Waits for room. Not to be called where the device's own work would wait for it. Counted in
  // `throttle_waits` where there was none.
  [[nodiscard]] Ticket acquire(int64_t bytes, Kind kind = Kind::kLaunch);
  // Nothing where there is no room now, or others wait for it.
  [[nodiscard]] std::optional<Ticket> try_acquire(int64_t bytes, Kind kind = Kind::kLaunch);

  // Waits until all that is in flight now is done: not for what others start meanwhile.
  void drain();

  // Larger limits let waiting launches go; smaller ones hold for those to come.
  void set_limits(Limits limits);
  [[nodiscard]] Limits limits() const;
  [[nodiscard]] Load load() const;
  // Of all devices of the process together. The peaks are the sums of the devices' own: the most
  // that there can have been at one moment.
  [[nodiscard]] static Load total();
  void reset_peaks();  // to what is in flight now

 private:
  struct Waiting;  // who waits, in a list, on its own stack
  struct Locks;    // in throttle.cc: headers of threads cost more than this one

  [[nodiscard]] bool has_room(int64_t bytes, Kind kind) const;
  [[nodiscard]] Ticket take(int64_t bytes, Kind kind);
  void serve_waiting();
  // Says what the first one waits for.
  void look_at_first();
  void give_back(const Ticket& ticket);
  [[nodiscard]] bool is_done_before(uint64_t number) const;

  const std::unique_ptr<Locks> locks_;
  Limits limits_;
  Load load_;
  Waiting* first_ = nullptr;
  Waiting* last_ = nullptr;
  // What is in flight, by entry: its number in the order of starts, or 0.
  std::vector<uint64_t> numbers_;
  std::vector<size_t> free_entries_;
  uint64_t next_number_ = 1;
  int drains_ = 0;
};

}  // namespace heddle::runtime
