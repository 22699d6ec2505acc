// Rendezvous: where the devices of one evaluation hand each other values.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/evaluate_together.h"
#include "heddle/hlo/literal.h"
#include "heddle/hlo/module.h"

namespace heddle::hlo {

// Shared by the threads of one evaluation.
class Rendezvous {
 public:
  explicit Rendezvous(int64_t devices) : running_(devices) {}

  // Gives `value` and returns those of all members, in their order: they meet at one instruction.
  //
  // errors   FailedPrecondition where every device waits; Aborted where another device has failed
  [[nodiscard]] StatusOr<std::vector<Literal>> exchange(const Instruction& at, const Dims& members,
                                                        int64_t self, Literal value);

  // A device's program is done, well or not.
  void leave(bool failed);

 private:
  struct Meeting {
    std::vector<Literal> values;
    size_t arrived = 0;
    bool complete = false;
  };

  [[nodiscard]] Status broken(const Instruction& at) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<const Instruction*, Dims>, std::shared_ptr<Meeting>> meetings_;
  int64_t running_;
  int64_t waiting_ = 0;  // at meetings that are not complete
  bool failed_ = false;
  bool stuck_ = false;
};

// Which device this thread evaluates for.
struct Seat {
  Rendezvous* rendezvous = nullptr;
  DeviceCounts devices;
  int64_t device = 0;
  [[nodiscard]] int64_t replica() const { return device / devices.partitions; }
  [[nodiscard]] int64_t partition() const { return device % devices.partitions; }
};

// Null: one device, alone.
[[nodiscard]] const Seat* this_seat();

// The time of one run, which takes the seat that this thread offers (offer_seat) and none
// otherwise: what a custom-call function runs of its own is alone.
class SeatScope {
 public:
  SeatScope();
  ~SeatScope();
  SeatScope(const SeatScope&) = delete;
  SeatScope& operator=(const SeatScope&) = delete;

 private:
  const Seat* outer_;
};
// For the next run of this thread; the seat outlives it.
void offer_seat(const Seat& seat);

}  // namespace heddle::hlo
