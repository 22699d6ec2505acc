#include "heddle/compile/internal/turn.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <thread>

#include "heddle/compile/internal/matching.h"
#include "heddle/trace/node.h"

namespace heddle::compile_internal {
namespace {

// Longer than a trace takes. A trace that takes longer is made a second time, and one of the two
// stays.
constexpr std::chrono::seconds kLongest{10};

// A function that a thread is tracing for a call.
struct Running {
  uint64_t serial;
  const Graphs* graphs;
  CallTypes types;
  std::thread::id thread;
  Turn::Of of;
};

// What all threads trace, and which of them wait for which. No code of the user's runs under its
// lock.
struct Board {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t last_serial = 0;
  std::list<Running> running;
  std::map<std::thread::id, std::thread::id> waits;

  // Whether `thread` waits, perhaps through others, for `me`.
  [[nodiscard]] bool is_waiting_for(std::thread::id thread, std::thread::id me) const {
    for (auto found = waits.find(thread); found != waits.end(); found = waits.find(thread)) {
      thread = found->second;
      if (thread == me) return true;
    }
    return false;
  }
};
Board& board() {
  static Board* const kBoard = new Board;  // never destroyed: threads may outlive main
  return *kBoard;
}

}  // namespace

Turn::Turn(const Graphs* graphs, const Call& call, Of of) {
  const std::thread::id me = std::this_thread::get_id();
  CallTypes types = types_of(call);
  Board& all = board();
  std::unique_lock lock(all.mutex);
  const Running* other = nullptr;
  for (const Running& each : all.running) {
    if (each.graphs != graphs || !fits(each.types, call)) continue;
    if (each.thread == me) {
      throw Error(base::failed_precondition(
                      graphs->label(),
                      ": calls itself, with arguments of the same types; nothing would end "
                      "that: use while_loop or scan"),
                  call.at);
    }
    if (each.of == Of::kGraph) other = &each;
  }
  if (of == Of::kGraph && other != nullptr && !all.is_waiting_for(other->thread, me)) {
    all.waits[me] = other->thread;
    const auto has_ended = [&all, serial = other->serial] {
      return std::ranges::find(all.running, serial, &Running::serial) == all.running.end();
    };
    const bool has = all.changed.wait_for(lock, kLongest, has_ended);
    all.waits.erase(me);
    if (has) return;
  }
  serial_ = ++all.last_serial;
  all.running.push_back({serial_, graphs, std::move(types), me, of});
}

Turn::~Turn() {
  if (!is_mine()) return;
  Board& all = board();
  const std::lock_guard lock(all.mutex);
  all.running.remove_if([&](const Running& each) { return each.serial == serial_; });
  all.changed.notify_all();
}

}  // namespace heddle::compile_internal
