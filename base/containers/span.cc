#include "heddle/base/containers/span.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <mutex>

#include "heddle/base/internal/events.h"
#include "heddle/base/metrics/timers.h"
#include "heddle/base/settings.h"

namespace heddle {
namespace base {
namespace {

using namespace span_internal;

struct Total {
  std::atomic<int64_t> count{0}, total_ns{0}, own_ns{0};
};
std::array<Total, kActivityCount> totals;

thread_local Span* innermost = nullptr;
// How many spans of each activity the thread is in.
thread_local std::array<uint32_t, kActivityCount> depths{};

void add(std::atomic<int64_t>& to, int64_t amount) {
  to.fetch_add(amount, std::memory_order_relaxed);
}

void add_time(Activity activity, int64_t ns, int64_t own_ns, bool is_outermost) {
  Total& total = totals[static_cast<size_t>(activity)];
  add(total.count, 1);
  add(total.own_ns, own_ns);
  if (is_outermost) add(total.total_ns, ns);
}

// Reads what the environment asks for, once a process.
void look_at_environment() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (!setting<Setting::kReport>().empty()) observers.fetch_or(kTimes);
    if (const std::string file = setting<Setting::kTrace>(); !file.empty()) profile_process(file);
    observers.fetch_and(static_cast<uint8_t>(~kUnknown));
  });
}

}  // namespace

int64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::max<int64_t>(std::chrono::nanoseconds(now).count(), 1);
}

bool is_observed() {
  if (observers.load(std::memory_order_relaxed) & kUnknown) look_at_environment();
  return observers.load(std::memory_order_relaxed) != 0;
}

void Span::begin(Activity activity, std::string_view name, SourceLocation at, int64_t bytes) {
  if (!is_observed() && !is_always_timed(activity)) return;
  inner_ns_ = 0;
  outer_ = innermost;
  name_ = name;
  at_ = at;
  bytes_ = bytes;
  activity_ = activity;
  innermost = this;
  ++depths[static_cast<size_t>(activity)];
  start_ns_ = now_ns();
}

void Span::end() {
  const int64_t end_ns = now_ns(), ns = end_ns - start_ns_;
  innermost = outer_;
  if (outer_ != nullptr) outer_->inner_ns_ += ns;
  const bool is_outermost = --depths[static_cast<size_t>(activity_)] == 0;
  add_time(activity_, ns, ns - inner_ns_, is_outermost);
  if (observers.load(std::memory_order_relaxed) & kEvents)
    keep_event(activity_, name_, at_.known() ? to_string(at_) : "", bytes_, start_ns_, end_ns);
}

void add_span(Activity activity, std::string_view name, std::string_view place, int64_t start_ns,
              int64_t end_ns, Counts counts) {
  const int64_t ns = end_ns - start_ns;
  if (counts == Counts::kYes) {
    if (innermost != nullptr) innermost->add_inner(ns);
    add_time(activity, ns, ns, true);
  }
  if (observers.load(std::memory_order_relaxed) & kEvents)
    keep_event(activity, name, place, -1, start_ns, end_ns);
}

}  // namespace base

std::vector<Timer> timers() {
  std::vector<Timer> all;
  for (size_t i = 0; i < base::kActivityCount; ++i) {
    const base::Total& total = base::totals[i];
    all.push_back({base::kActivityNames[i], total.count, total.total_ns, total.own_ns});
  }
  return all;
}

void set_timing(bool is_on) {
  using namespace base::span_internal;
  (void)base::is_observed();  // reads the environment first
  if (is_on)
    observers.fetch_or(kTimes);
  else
    observers.fetch_and(static_cast<uint8_t>(~kTimes));
}

}  // namespace heddle
