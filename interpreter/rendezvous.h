// Rendezvous: where the devices of one evaluation hand each other values.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/base/status.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"
#include "heddle/interpreter/evaluate_together.h"

namespace heddle::interpreter {

using namespace hlo;

// What the members of a group gave at one instruction, in their order.
class Meeting {
 public:
  explicit Meeting(size_t members) : values_(members) {}
  [[nodiscard]] const std::vector<Literal>& values() const { return values_; }
  // What the last one to come made of them for all.
  [[nodiscard]] const StatusOr<std::vector<Literal>>& joint() const { return joint_; }

 private:
  friend class Rendezvous;

  std::vector<Literal> values_;
  size_t arrived_ = 0;
  StatusOr<std::vector<Literal>> joint_ = std::vector<Literal>();
  std::atomic<bool> is_complete_ = false;
};

using MakeJoint =
    base::FunctionRef<StatusOr<std::vector<Literal>>(std::span<const Literal> values)>;

// Shared by the threads of one evaluation.
class Rendezvous {
 public:
  explicit Rendezvous(int64_t devices) : threads_(devices), running_(devices) {}
  [[nodiscard]] int64_t threads() const { return threads_; }

  // Gives `value` and returns the meeting of all members, which is at one instruction. The last one
  // to come calls `make`.
  //
  // errors   FailedPrecondition where every device waits; Aborted where another device has failed
  [[nodiscard]] StatusOr<std::shared_ptr<Meeting>> meet(const Instruction& at, const Dims& members,
                                                        int64_t self, Literal value,
                                                        MakeJoint make);

  // A device's program is done, well or not.
  void leave(bool failed);

 private:
  [[nodiscard]] Status broken(const Instruction& at) const;
  void spin_until(const std::atomic<bool>& is_there) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<const Instruction*, Dims>, std::shared_ptr<Meeting>> meetings_;
  const int64_t threads_;  // one a device
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

// What one device does, on a thread of its own.
using DeviceWork = std::function<StatusOr<Literal>(const Seat& seat)>;

// Calls work for all devices at once. `name` is the program's. Returns the results by device.
// errors: as evaluate_together()
StatusOr<std::vector<Literal>> run_together(std::string_view name, const DeviceCounts& devices,
                                            const DeviceWork& work,
                                            const AroundDevice& around = nullptr);

// Its value differs from device to device, or comes from several.
bool joins_devices(const hlo::Instruction& instruction);
// The same of any instruction of it, or it has a part that is written for one device of several.
bool joins_devices(const hlo::Module& module);

// Which parameters of a module every partition has alike, whatever their bytes: a sharding says how
// they are spread, and arguments are whole arrays.
std::vector<bool> parameters_said_equal(const hlo::Module& module);

// The partitions of each replica have equal arguments. Where nothing in a module joins devices,
// they then compute the same values.
bool partitions_have_equal(const DeviceCounts& devices, const std::vector<bool>& said_equal,
                           std::span<const std::vector<Literal>> arguments);

// As run_together() where the partitions are alike: calls work once a replica.
StatusOr<std::vector<Literal>> run_replicas(std::string_view name, const DeviceCounts& devices,
                                            const DeviceWork& work,
                                            const AroundDevice& around = nullptr);

}  // namespace heddle::interpreter
