#include "heddle/runtime/throttle.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>

#include "heddle/base/arithmetic.h"
#include "heddle/base/containers/span.h"
#include "heddle/base/metrics/counters.h"

namespace heddle::runtime {

using Clock = std::chrono::steady_clock;

namespace {

thread_local int exemptions = 0;

// Those that there are.
struct Throttles {
  std::mutex mutex;  // taken before a throttle's own
  std::set<const Throttle*> all;
};

Throttles& throttles() {
  static Throttles& instance = *new Throttles;  // devices in static storage may outlive main()
  return instance;
}

}  // namespace

struct Throttle::Locks {
  std::mutex mutex;
  std::condition_variable drained;
};

struct Throttle::Waiting {
  int64_t bytes;
  Kind kind;
  bool is_for_launches = false;  // what the first one lacks is launches, and not bytes
  Waiting* next = nullptr;
  std::optional<Ticket> ticket = std::nullopt;
  std::condition_variable served = {};
};

Throttle::Throttle(Limits limits) : locks_(std::make_unique<Locks>()), limits_(limits) {
  const std::scoped_lock lock(throttles().mutex);
  throttles().all.insert(this);
}

Throttle::~Throttle() {
  const std::scoped_lock lock(throttles().mutex);
  throttles().all.erase(this);
}

Throttle::Load Throttle::total() {
  const std::scoped_lock lock(throttles().mutex);
  Load total;
  for (const Throttle* throttle : throttles().all) {
    const Load load = throttle->load();
    total.launches += load.launches;
    total.uploads += load.uploads;
    total.bytes = saturating_add(total.bytes, load.bytes);
    total.peak_launches += load.peak_launches;
    total.peak_bytes = saturating_add(total.peak_bytes, load.peak_bytes);
    total.waits += load.waits;
    total.waited_ns += load.waited_ns;
  }
  return total;
}

Throttle::Exempt::Exempt() { ++exemptions; }
Throttle::Exempt::~Exempt() { --exemptions; }

// What needs more bytes than there may be goes when it is alone.
bool Throttle::has_room(int64_t bytes, Kind kind) const {
  if (load_.launches == 0 && load_.uploads == 0) return true;
  if (kind == Kind::kLaunch && load_.launches >= limits_.launches) return false;
  return bytes <= limits_.bytes - load_.bytes;
}

Throttle::Ticket Throttle::take(int64_t bytes, Kind kind) {
  (kind == Kind::kLaunch ? load_.launches : load_.uploads) += 1;
  load_.bytes += bytes;
  load_.peak_launches = std::max(load_.peak_launches, load_.launches);
  load_.peak_bytes = std::max(load_.peak_bytes, load_.bytes);
  if (free_entries_.empty()) {
    free_entries_.push_back(numbers_.size());
    numbers_.push_back(0);
    free_entries_.reserve(numbers_.capacity());  // giving back allocates nothing
  }
  const size_t entry = free_entries_.back();
  free_entries_.pop_back();
  numbers_[entry] = next_number_++;
  return {*this, bytes, entry, kind};
}

Throttle::Ticket Throttle::acquire(int64_t bytes, Kind kind) {
  if (exemptions > 0) return {};
  std::unique_lock lock(locks_->mutex);
  if (first_ == nullptr && has_room(bytes, kind)) return take(bytes, kind);
  ++load_.waits;
  count(&Counters::throttle_waits);
  const Clock::time_point begin = Clock::now();
  const base::Span span(base::Activity::kWait);
  Waiting self{.bytes = bytes, .kind = kind};
  (first_ == nullptr ? first_ : last_->next) = &self;
  last_ = &self;
  if (first_ == &self) look_at_first();
  self.served.wait(lock, [&] { return self.ticket.has_value(); });
  load_.waited_ns += std::chrono::nanoseconds(Clock::now() - begin).count();
  return *std::move(self.ticket);
}

std::optional<Throttle::Ticket> Throttle::try_acquire(int64_t bytes, Kind kind) {
  if (exemptions > 0) return Ticket();
  std::scoped_lock lock(locks_->mutex);
  if (first_ != nullptr || !has_room(bytes, kind)) return std::nullopt;
  return take(bytes, kind);
}

void Throttle::look_at_first() {
  first_->is_for_launches = first_->kind == Kind::kLaunch && load_.launches >= limits_.launches;
}

void Throttle::serve_waiting() {
  while (first_ != nullptr && has_room(first_->bytes, first_->kind)) {
    Waiting& served = *first_;
    first_ = served.next;
    served.ticket = take(served.bytes, served.kind);
    served.served.notify_one();  // with the lock held: it goes from its stack when it has it
  }
  if (first_ != nullptr) look_at_first();
}

void Throttle::give_back(const Ticket& ticket) {
  std::scoped_lock lock(locks_->mutex);
  (ticket.kind_ == Kind::kLaunch ? load_.launches : load_.uploads) -= 1;
  load_.bytes -= ticket.bytes_;
  numbers_[ticket.entry_] = 0;
  free_entries_.push_back(ticket.entry_);
  const int few = std::max(limits_.launches - limits_.launches / 4, 1);
  const bool is_early = first_ != nullptr && first_->is_for_launches && load_.launches >= few;
  if (!is_early) serve_waiting();
  if (drains_ > 0) locks_->drained.notify_all();
}

bool Throttle::is_done_before(uint64_t number) const {
  return std::ranges::none_of(numbers_, [&](uint64_t n) { return n != 0 && n < number; });
}

void Throttle::drain() {
  std::unique_lock lock(locks_->mutex);
  const uint64_t end = next_number_;
  ++drains_;
  locks_->drained.wait(lock, [&] { return is_done_before(end); });
  --drains_;
}

void Throttle::set_limits(Limits limits) {
  std::scoped_lock lock(locks_->mutex);
  limits_ = limits;
  limits_.launches = std::max(limits.launches, 1);
  limits_.bytes = std::max<int64_t>(limits.bytes, 0);
  serve_waiting();
}

Throttle::Limits Throttle::limits() const {
  std::scoped_lock lock(locks_->mutex);
  return limits_;
}

Throttle::Load Throttle::load() const {
  std::scoped_lock lock(locks_->mutex);
  return load_;
}

void Throttle::reset_peaks() {
  std::scoped_lock lock(locks_->mutex);
  load_.peak_launches = load_.launches;
  load_.peak_bytes = load_.bytes;
}

}  // namespace heddle::runtime
