#include "heddle/base/metrics/progress.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>

#include "heddle/base/metrics/debug_sink.h"
#include "heddle/base/text/strings.h"

namespace heddle::debug_internal {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kBetweenBars = std::chrono::milliseconds(100);
constexpr auto kBetweenLines = std::chrono::seconds(5);
constexpr size_t kMostBars = 64;

struct Bar {
  Clock::time_point began, shown;
  int64_t first = 0, last = -1;
};

struct Bars {
  std::mutex mutex;
  std::map<std::string, Bar, std::less<>> bars;
};

Bars& all() {
  static Bars* const kBars = new Bars;  // never destroyed: threads may outlive main
  return *kBars;
}

std::string duration(double seconds) {
  char text[32];
  if (seconds < 60) {
    std::snprintf(text, sizeof(text), "%.1f s", seconds);
  } else {
    const auto whole = static_cast<long long>(std::min(seconds, 1e9));
    std::snprintf(text, sizeof(text), "%lld:%02lld min", whole / 60, whole % 60);
  }
  return text;
}

std::string line_of(std::string_view name, const Bar& bar, int64_t total, Clock::time_point now,
                    bool is_terminal) {
  const double done = static_cast<double>(bar.last) + 1, all = static_cast<double>(total);
  const double seconds = std::chrono::duration<double>(now - bar.began).count();
  std::string out = base::cat(name, ": ");
  if (total > 0 && is_terminal) {
    constexpr size_t kWidth = 30;
    const auto full = static_cast<size_t>(kWidth * std::clamp(done / all, 0.0, 1.0));
    base::append(out, "[", std::string(full, '#'), std::string(kWidth - full, '.'), "] ");
  }
  base::append(out, "step ", static_cast<int64_t>(std::min(done, 9e18)));
  if (total > 0 && done > all) {
    base::append(out, ", past the ", total, " that it was to take");
  } else if (total > 0) {
    base::append(out, " of ", total, " (",
                 static_cast<int64_t>(100 * std::clamp(done / all, 0.0, 1.0)), "%)");
  }
  base::append(out, ", ", duration(seconds));
  const double here = done - static_cast<double>(bar.first);  // the first began before the clock
  if (all > done && here > 1)
    base::append(out, ", ", duration(seconds / (here - 1) * (all - done)), " left");
  return out;
}

}  // namespace

void show_progress(std::string_view name, int64_t step, int64_t total) {
  const bool is_terminal = !has_debug_sink() && isatty(STDERR_FILENO) == 1;
  const auto now = Clock::now();
  std::string text;
  {
    const std::lock_guard lock(all().mutex);
    if (all().bars.size() >= kMostBars) all().bars.clear();
    const auto [found, is_new] = all().bars.try_emplace(std::string(name));
    Bar& bar = found->second;
    if (is_new || step <= bar.last)  // the loop runs anew
      bar = {.began = now, .shown = now, .first = step};
    bar.last = step;
    const bool is_done = total > 0 && step >= total - 1;
    const bool is_due =
        is_terminal ? now - bar.shown >= kBetweenBars : now - bar.shown >= kBetweenLines;
    if (!is_done && !is_due) return;
    bar.shown = now;
    text = line_of(name, bar, total, now, is_terminal);
    // What stands in the line now may be longer.
    text = is_terminal ? base::cat("\r", text, "\x1b[K", is_done ? "\n" : "") : text + "\n";
    if (is_done) all().bars.erase(found);
  }
  write_lines(text);
}

}  // namespace heddle::debug_internal
