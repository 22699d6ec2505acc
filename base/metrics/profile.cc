#include "heddle/base/metrics/profile.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "heddle/base/internal/events.h"
#include "heddle/base/text/json.h"
#include "heddle/base/text/strings.h"

namespace heddle {
namespace base {
namespace {

struct Event {
  Activity activity;
  std::string name;
  std::string place;
  int64_t bytes;
  int64_t start_ns;
  int64_t end_ns;
};

struct ThreadEvents {
  int number = 0;
  std::mutex mutex;  // guards the events between their thread and the one that writes a file
  std::vector<Event> events;
};

// The events of all threads, also of those that have ended. Never destroyed: threads may outlive
// main().
struct Log {
  std::mutex mutex;
  std::vector<std::shared_ptr<ThreadEvents>> threads;
  int profiles = 0;  // how many are going on
  int next_number = 1;
  std::atomic<int64_t> span_count{0}, dropped{0};
};
Log& log() {
  static Log& instance = *new Log;
  return instance;
}

ThreadEvents& of_this_thread() {
  thread_local const std::shared_ptr<ThreadEvents> events = [] {
    auto made = std::make_shared<ThreadEvents>();
    const std::scoped_lock lock(log().mutex);
    made->number = log().next_number++;
    log().threads.push_back(made);
    return made;
  }();
  return *events;
}

// Call it with the log's mutex locked. It removes threads that have ended.
void forget_all(Log& all) {
  std::erase_if(all.threads, [](const auto& thread) { return thread.use_count() == 1; });
  for (const auto& thread : all.threads) {
    const std::scoped_lock lock(thread->mutex);
    thread->events = {};
  }
  all.span_count = 0;
  all.dropped = 0;
}

// Nanoseconds as microseconds.
std::string microseconds(int64_t ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%lld.%03d", static_cast<long long>(ns / 1000),
                static_cast<int>(ns % 1000));
  return text;
}

std::string json_of(const Event& event, int64_t zero_ns, int thread) {
  std::string arguments;
  if (!event.place.empty()) append(arguments, "\"line\": ", json_text(event.place));
  if (event.bytes >= 0)
    append(arguments, arguments.empty() ? "" : ", ", "\"bytes\": ", event.bytes);
  const std::string_view activity = to_string(event.activity);
  return cat("{\"ph\": \"X\", \"pid\": ", getpid(), ", \"tid\": ", thread,
             ", \"ts\": ", microseconds(event.start_ns - zero_ns),
             ", \"dur\": ", microseconds(event.end_ns - event.start_ns), ", \"cat\": \"", activity,
             "\", \"name\": ",
             json_text(event.name.empty() ? std::string(activity) : cat(activity, " ", event.name)),
             ", \"args\": {", arguments, "}}");
}

Status not_written(const std::string& path) {
  return make_error(StatusCode::kUnavailable, "profile: ", path, " cannot be written");
}

// Call it with the log's mutex locked.
Status write(const std::string& path, Log& all, int64_t start_ns) {
  std::ofstream out(path, std::ios::binary);
  out << "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"dropped\": " << all.dropped
      << "}, \"traceEvents\": [";
  const char* separator = "\n";
  for (const auto& thread : all.threads) {
    const std::scoped_lock lock(thread->mutex);
    if (thread->events.empty()) continue;
    out << separator << "{\"ph\": \"M\", \"pid\": " << getpid() << ", \"tid\": " << thread->number
        << ", \"name\": \"thread_name\", \"args\": {\"name\": \"thread " << thread->number
        << "\"}}";
    separator = ",\n";
    for (const Event& event : thread->events) {
      if (event.start_ns >= start_ns) out << separator << json_of(event, start_ns, thread->number);
    }
  }
  out << "\n]}\n";
  return out.flush() ? Status() : not_written(path);
}

}  // namespace

void keep_event(Activity activity, std::string_view name, std::string_view place, int64_t bytes,
                int64_t start_ns, int64_t end_ns) {
  Log& all = log();
  const bool has_room = all.span_count.fetch_add(1, std::memory_order_relaxed) < Profile::kMaxSpans;
  try {
    if (has_room) {
      ThreadEvents& own = of_this_thread();
      const std::scoped_lock lock(own.mutex);
      own.events.push_back(
          {activity, std::string(name), std::string(place), bytes, start_ns, end_ns});
      return;
    }
  } catch (const std::bad_alloc&) {  // a span ends in a destructor
  }
  all.dropped.fetch_add(1, std::memory_order_relaxed);
}

void profile_process(const std::string& path) {
  static Profile* of_process = nullptr;
  static pid_t process = 0;
  process = getpid();
  of_process = new Profile(path);
  std::atexit([] {
    if (getpid() == process) delete of_process;  // else a forked child ends
  });
}

}  // namespace base

Profile::Profile(std::string path) : path_(std::move(path)), start_ns_(base::now_ns()) {
  if (!std::ofstream(path_, std::ios::binary)) {
    status_ = base::not_written(path_);
    std::fprintf(stderr, "heddle: %s\n", base::message_of(status_).c_str());
  }
  const std::scoped_lock lock(base::log().mutex);
  if (base::log().profiles++ == 0)
    base::span_internal::observers.fetch_or(base::span_internal::kEvents);
}

Status Profile::finish() {
  if (std::exchange(is_finished_, true)) return status_;
  base::Log& all = base::log();
  const std::scoped_lock lock(all.mutex);
  const bool is_last = --all.profiles == 0;
  if (is_last)
    base::span_internal::observers.fetch_and(static_cast<uint8_t>(~base::span_internal::kEvents));
  if (status_.ok()) {
    status_ = base::write(path_, all, start_ns_);
    if (!status_.ok()) std::fprintf(stderr, "heddle: %s\n", base::message_of(status_).c_str());
  }
  if (is_last) base::forget_all(all);
  return status_;
}

Profile::~Profile() { (void)finish(); }

}  // namespace heddle
