#include "heddle/interpreter/ops/device/rendezvous.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "heddle/base/system/subnormals.h"
#include "heddle/hlo/sharding/device_lists.h"
#include "heddle/interpreter/evaluate.h"

namespace heddle::interpreter {
Status Rendezvous::broken(const Instruction& at) const {
  const std::string what = base::cat(to_string(at.opcode), at.name.empty() ? "" : " ", at.name);
  if (failed_) return base::make_error(StatusCode::kAborted, what, ": another device has failed");
  return base::failed_precondition(
      what,
      ": waits for devices that never come; all devices of a group must "
      "reach the same collectives in the same order");
}

StatusOr<std::vector<Literal>> Rendezvous::exchange(const Instruction& at, const Dims& members,
                                                    int64_t self, Literal value) {
  std::unique_lock lock(mutex_);
  const auto key = std::pair(&at, members);
  std::shared_ptr<Meeting>& place = meetings_[key];
  if (place == nullptr) {
    place = std::make_shared<Meeting>();
    place->values.resize(members.size());
  }
  const std::shared_ptr<Meeting> meeting = place;
  const auto number = std::ranges::find(members, self) - members.begin();
  meeting->values[static_cast<size_t>(number)] = std::move(value);
  if (++meeting->arrived == members.size()) {
    meeting->complete = true;
    waiting_ -= static_cast<int64_t>(members.size()) - 1;
    meetings_.erase(key);  // the next time around is another meeting
    changed_.notify_all();
    return meeting->values;
  }
  stuck_ |= ++waiting_ == running_;
  if (stuck_) changed_.notify_all();
  changed_.wait(lock, [&] { return meeting->complete || stuck_ || failed_; });
  if (!meeting->complete) return broken(at);
  return meeting->values;
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
Status run_all(const Evaluator& evaluator, const DeviceCounts& devices,
               std::vector<std::vector<Literal>> arguments, uint64_t seed,
               const AroundDevice& around, Results& results) {
  Rendezvous rendezvous(devices.total());
  Status status;
  std::vector<std::thread> threads;
  threads.reserve(results.size());
  const auto evaluate = [&](size_t i) {
    const Seat seat{&rendezvous, devices, static_cast<int64_t>(i)};
    results[i] = evaluator.run_as(seat, std::move(arguments[i]), {.seed = seed});
    rendezvous.leave(!results[i].ok());
  };
  const FloatControl control = FloatControl::of_this_thread();
  const auto run = [&](size_t i) {
    control.apply();
    if (around == nullptr) return evaluate(i);
    around([&] { evaluate(i); });
  };
  try {
    for (size_t i = 0; i < results.size(); ++i) threads.emplace_back(run, i);
  } catch (const std::system_error& error) {
    status = base::resource_exhausted("evaluate ", evaluator.module().name, ": has ",
                                      results.size(), " devices, each a thread; ", threads.size(),
                                      " could be started: ", error.what());
    for (size_t i = threads.size(); i < results.size(); ++i) rendezvous.leave(/*failed=*/true);
  }
  for (std::thread& thread : threads) thread.join();
  return status;
}

}  // namespace

StatusOr<std::vector<Literal>> evaluate_together(const Evaluator& evaluator,
                                                 const DeviceCounts& devices,
                                                 std::vector<std::vector<Literal>> arguments,
                                                 uint64_t seed, const AroundDevice& around) {
  const Dims counts = {devices.replicas, devices.partitions};
  const std::optional<int64_t> count = device_count(counts);
  if (!count || arguments.size() != static_cast<size_t>(*count)) {
    return base::invalid_argument("evaluate ", evaluator.module().name, ": has arguments for ",
                                  arguments.size(), " devices; must have them for ",
                                  devices.replicas, " replicas of ", devices.partitions,
                                  " partitions");
  }
  Results results(arguments.size(), Literal());
  HEDDLE_RETURN_IF_ERROR(run_all(evaluator, devices, std::move(arguments), seed, around, results));
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

}  // namespace heddle::interpreter
