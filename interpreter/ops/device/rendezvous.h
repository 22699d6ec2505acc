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
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"
#include "heddle/interpreter/evaluate_together.h"

namespace heddle::interpreter {

using namespace hlo;

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

// Which device a run is of those that run together.
struct Seat {
  Rendezvous* rendezvous = nullptr;
  DeviceCounts devices;
  int64_t device = 0;
  [[nodiscard]] int64_t replica() const { return device / devices.partitions; }
  [[nodiscard]] int64_t partition() const { return device % devices.partitions; }
};

}  // namespace heddle::interpreter
