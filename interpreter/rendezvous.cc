#include "heddle/interpreter/rendezvous.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "heddle/base/system/subnormals.h"
#include "heddle/hlo/sharding/device_lists.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/interpreter/ops/device/joint_collectives.h"

namespace heddle::interpreter {
namespace {
constexpr std::chrono::microseconds kSpin{50};
}

Status Rendezvous::broken(const Instruction& at) const {
  const std::string what = base::cat(to_string(at.opcode), at.name.empty() ? "" : " ", at.name);
  if (failed_) return base::make_error(StatusCode::kAborted, what, ": another device has failed");
  return base::failed_precondition(
      what,
      ": waits for devices that never come; all devices of a group must "
      "reach the same collectives in the same order");
}

StatusOr<std::shared_ptr<Meeting>> Rendezvous::meet(const Instruction& at, const Dims& members,
                                                    int64_t self, Literal value, MakeJoint make) {
  std::unique_lock lock(mutex_);
  const auto key = std::pair(&at, members);
  std::shared_ptr<Meeting>& place = meetings_[key];
  if (place == nullptr) place = std::make_shared<Meeting>(members.size());
  const std::shared_ptr<Meeting> meeting = place;
  const auto number = std::ranges::find(members, self) - members.begin();
  meeting->values_[static_cast<size_t>(number)] = std::move(value);
  if (++meeting->arrived_ == members.size()) {
    meetings_.erase(key);  // the next time around is another meeting
    lock.unlock();
    meeting->joint_ = make(meeting->values_);
    lock.lock();
    meeting->is_complete_ = true;
    waiting_ -= static_cast<int64_t>(members.size()) - 1;
    changed_.notify_all();
    return meeting;
  }
  stuck_ |= ++waiting_ == running_;
  if (stuck_) changed_.notify_all();
  lock.unlock();
  spin_until(meeting->is_complete_);
  lock.lock();
  changed_.wait(lock, [&] { return meeting->is_complete_ || stuck_ || failed_; });
  if (!meeting->is_complete_) return broken(at);
  return meeting;
}

// Others come soon, where each thread has a processor: to sleep and to wake takes longer.
void Rendezvous::spin_until(const std::atomic<bool>& is_there) const {
  if (threads_ > static_cast<int64_t>(std::thread::hardware_concurrency())) return;
  const auto until = std::chrono::steady_clock::now() + kSpin;
  while (!is_there && std::chrono::steady_clock::now() < until) {
  }
}

void Rendezvous::leave(bool failed) {
  std::scoped_lock lock(mutex_);
  --running_;
  failed_ |= failed;
  stuck_ |= running_ > 0 && waiting_ == running_;
  changed_.notify_all();
}

namespace {

// The result of each device, or its error.
using Results = std::vector<StatusOr<Literal>>;

// One thread a device. Where the system has no more threads, those that run are told that the
// others have failed.
Status run_all(std::string_view name, const DeviceCounts& devices, const DeviceWork& work,
               const AroundDevice& around, Results& results) {
  Rendezvous rendezvous(devices.total());
  Status status;
  std::vector<std::thread> threads;
  threads.reserve(results.size());
  const auto run_one = [&](size_t i) {
    results[i] = work({&rendezvous, devices, static_cast<int64_t>(i)});
    rendezvous.leave(!results[i].ok());
  };
  const FloatControl control = FloatControl::of_this_thread();
  const auto run = [&](size_t i) {
    control.apply();
    if (around == nullptr) return run_one(i);
    around([&] { run_one(i); });
  };
  try {
    for (size_t i = 0; i + 1 < results.size(); ++i) threads.emplace_back(run, i);
  } catch (const std::system_error& error) {
    status = base::resource_exhausted("run ", name, ": has ", results.size(),
                                      " devices, each a thread; ", threads.size(),
                                      " could be started: ", error.what());
    for (size_t i = threads.size(); i < results.size(); ++i) rendezvous.leave(/*failed=*/true);
  }
  if (status.ok()) run(results.size() - 1);
  for (std::thread& thread : threads) thread.join();
  return status;
}

bool are_equal(const Literal& x, const Literal& y) {
  return x.shares_bytes(y) ||
         (same_type(x.shape(), y.shape()) && x.shape().is_array() &&
          std::memcmp(x.bytes(), y.bytes(), static_cast<size_t>(x.byte_size())) == 0);
}

}  // namespace

StatusOr<std::vector<Literal>> run_together(std::string_view name, const DeviceCounts& devices,
                                            const DeviceWork& work, const AroundDevice& around) {
  Results results(static_cast<size_t>(devices.total()), Literal());
  HEDDLE_RETURN_IF_ERROR(run_all(name, devices, work, around, results));
  // That others had to give up says less than why one did.
  for (const bool aborted : {false, true}) {
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].ok() && (results[i].status().code() == StatusCode::kAborted) == aborted)
        return base::annotate(results[i].status(), "device ", i, ": ");
    }
  }
  std::vector<Literal> values;
  for (StatusOr<Literal>& result : results) values.push_back(*std::move(result));
  return values;
}

std::vector<bool> parameters_said_equal(const Module& module) {
  const Computation& entry = module.entry_computation();
  std::vector<bool> out;
  for (InstructionId parameter : entry.parameters)
    out.push_back(entry.at(parameter).extras->sharding.has_value());
  return out;
}

bool partitions_have_equal(const DeviceCounts& devices, const std::vector<bool>& said_equal,
                           std::span<const std::vector<Literal>> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto first = i - i % static_cast<size_t>(devices.partitions);
    if (arguments[i].size() != said_equal.size()) return false;  // the run says so
    for (size_t k = 0; k < arguments[i].size(); ++k) {
      if (!said_equal[k] && !are_equal(arguments[i][k], arguments[first][k])) return false;
    }
  }
  return true;
}

StatusOr<std::vector<Literal>> run_replicas(std::string_view name, const DeviceCounts& devices,
                                            const DeviceWork& work, const AroundDevice& around) {
  const DeviceCounts replicas{devices.replicas, 1};
  const auto first = [&](const Seat& seat) {
    return work({seat.rendezvous, devices, seat.device * devices.partitions});
  };
  HEDDLE_ASSIGN_OR_RETURN(const std::vector<Literal> own,
                          run_together(name, replicas, first, around));
  std::vector<Literal> values;
  for (const Literal& value : own) values.insert(values.end(), devices.partitions, value);
  return values;
}

StatusOr<std::vector<Literal>> evaluate_together(const Evaluator& evaluator,
                                                 const DeviceCounts& devices,
                                                 std::vector<std::vector<Literal>> arguments,
                                                 uint64_t seed, const AroundDevice& around) {
  const Dims counts = {devices.replicas, devices.partitions};
  const std::optional<int64_t> count = device_count(counts);
  const std::string& name = evaluator.module().name;
  if (!count || arguments.size() != static_cast<size_t>(*count)) {
    return base::invalid_argument("evaluate ", name, ": has arguments for ", arguments.size(),
                                  " devices; must have them for ", devices.replicas,
                                  " replicas of ", devices.partitions, " partitions");
  }
  const auto work = [&](const Seat& seat) {
    return evaluator.run_as(seat, std::move(arguments[static_cast<size_t>(seat.device)]),
                            {.seed = seed});
  };
  const Module& module = evaluator.module();
  const bool alike = !joins_devices(module) &&
                     partitions_have_equal(devices, parameters_said_equal(module), arguments);
  return (alike ? run_replicas : run_together)(name, devices, work, around);
}

}  // namespace heddle::interpreter
