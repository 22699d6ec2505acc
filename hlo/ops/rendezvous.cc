#include "heddle/hlo/ops/rendezvous.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "heddle/hlo/evaluate.h"

namespace heddle::hlo {
namespace {

thread_local const Seat* current_seat = nullptr;

}  // namespace

const Seat* this_seat() { return current_seat; }

Status Rendezvous::broken(const Instruction& at) const {
  const std::string what = cat(to_string(at.opcode), at.name.empty() ? "" : " ", at.name);
  if (failed_) return make_error(absl::StatusCode::kAborted, what, ": another device has failed");
  return failed_precondition(what,
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

StatusOr<std::vector<Literal>> evaluate_together(const Evaluator& evaluator,
                                                 const DeviceCounts& devices,
                                                 std::vector<std::vector<Literal>> arguments,
                                                 uint64_t seed) {
  const auto count = static_cast<size_t>(std::max<int64_t>(devices.total(), 0));
  if (devices.replicas < 1 || devices.partitions < 1 || arguments.size() != count) {
    return invalid_argument("evaluate ", evaluator.module().name, ": has arguments for ",
                            arguments.size(), " devices; must have them for ", devices.replicas,
                            " replicas of ", devices.partitions, " partitions");
  }
  Rendezvous rendezvous(devices.total());
  std::vector<StatusOr<Literal>> results(count, Literal());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      const Seat seat{&rendezvous, devices, static_cast<int64_t>(i)};
      current_seat = &seat;
      results[i] = evaluator.run(std::move(arguments[i]), {.seed = seed});
      rendezvous.leave(!results[i].ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  // That others had to give up says less than why one did.
  for (const bool aborted : {false, true}) {
    for (size_t i = 0; i < count; ++i) {
      if (!results[i].ok() && absl::IsAborted(results[i].status()) == aborted)
        return annotate(results[i].status(), "device ", i, ": ");
    }
  }
  std::vector<Literal> values;
  for (StatusOr<Literal>& result : results) values.push_back(*std::move(result));
  return values;
}

}  // namespace heddle::hlo
