// Span: what a thread is doing, from its construction to its end.
//
//   const base::Span span(base::Activity::kCompile, module.name);
//
// The time goes to the totals of base/metrics/timers.h, and into a file if somebody wants one
// (base/metrics/profile.h). Activities of a compile are always timed. Activities that run often are
// timed only if somebody asked; else a span is one load of a flag.
#pragma once

#include <atomic>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "heddle/base/source_location.h"

namespace heddle::base {

enum class Activity : uint8_t {
  // always timed
  kTrace,      // a user's function runs on placeholders
  kTransform,  // a derivative or a batch is made of a module
  kLower,      // a traced module becomes plain HLO
  kPass,       // one pass over a module
  kCompile,    // a backend compiles, or reads from the disk
  kDisk,       // the part of kCompile for looking for, reading and writing files
  // timed if somebody asked
  kBody,      // the function of a loop or a branch runs on placeholders
  kCall,      // a user's call of a program, an op or a loop
  kExecute,   // the part of kCall for the run, or for its launch if results are pending
  kUpload,    // a copy to a device
  kDownload,  // a copy from a device, without the wait for its bytes
  kWait,      // a launch or an upload waits for room on its device
  kLoop,      // a loop nest of a program of cpu that was compiled with profile_loops
};
inline constexpr std::string_view kActivityNames[] = {
    "trace", "transform", "lower",  "pass",     "compile", "disk", "body",
    "call",  "execute",   "upload", "download", "wait",    "loop"};
inline constexpr size_t kActivityCount = std::size(kActivityNames);
static_assert(kActivityCount == static_cast<size_t>(Activity::kLoop) + 1);
constexpr std::string_view to_string(Activity activity) {
  return kActivityNames[static_cast<size_t>(activity)];
}
constexpr bool is_always_timed(Activity activity) { return activity <= Activity::kDisk; }

namespace span_internal {

// Bits that say who looks. kUnknown: the environment is not read yet.
inline constexpr uint8_t kTimes = 1, kEvents = 2, kUnknown = 4;
inline std::atomic<uint8_t> observers{kUnknown};

}  // namespace span_internal

// Whether a span that is not always timed may be timed now. It is for calls so short that a Span
// would slow them.
[[nodiscard]] inline bool may_be_observed() {
  return span_internal::observers.load(std::memory_order_relaxed) != 0;
}

class Span {
 public:
  // `name`, of a program or a pass, must live as long as the span. `bytes` are those that it moves;
  // below 0: none.
  explicit Span(Activity activity, std::string_view name = {}, SourceLocation at = {},
                int64_t bytes = -1) {
    if (is_always_timed(activity) || may_be_observed()) [[unlikely]]
      begin(activity, name, at, bytes);
  }
  ~Span() {
    if (start_ns_ != 0) [[unlikely]]
      end();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  // Adds the time of an activity inside that has no Span.
  void add_inner(int64_t ns) { inner_ns_ += ns; }

 private:
  void begin(Activity activity, std::string_view name, SourceLocation at, int64_t bytes);
  void end();

  int64_t start_ns_ = 0;  // 0: nobody looks, and the members below have no value
  int64_t inner_ns_;      // of spans inside
  Span* outer_;           // of the thread
  std::string_view name_;
  SourceLocation at_;
  int64_t bytes_;
  Activity activity_;
};

// Nanoseconds of a clock that only goes forward; never 0.
[[nodiscard]] int64_t now_ns();

// Whether spans that are not always timed are timed now.
[[nodiscard]] bool is_observed();

// Adds a span of this thread that is over, of an activity without a Span: a loop of machine code.
// `name` and `place` ("train.cc:41") are copied. `Counts::kNo`: it is part of the span that was
// added before, whose time the totals have.
enum class Counts : bool { kNo, kYes };
void add_span(Activity activity, std::string_view name, std::string_view place, int64_t start_ns,
              int64_t end_ns, Counts counts = Counts::kYes);

}  // namespace heddle::base
