// For your unit tests, with GoogleTest: assertions on what a block of code made Heddle do.
//
//   TEST(Train, StepMovesNothing) {
//     step(state, batch);  // traced, compiled
//     expect_nothing_behind_my_back([&] { step(state, batch); });
//   }
//
// Counters belong to the process: a block sees also what other threads do meanwhile. GoogleTest
// runs the tests of a process one after another; a test that starts threads has to join them before
// its next block.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "heddle/base/metrics/counters.h"
#include "heddle/base/source_location.h"

namespace heddle {

// What a block did: the growth of each counter. EXPECT_EQ(effects.upload_bytes, 0).
using Effects = Counters;

template <class Fn>
[[nodiscard]] Effects effects_of(Fn&& fn) {
  const Counters before = counters();
  std::forward<Fn>(fn)();
  return counters() - before;
}

namespace testing_internal {

// Records a failure at the caller's line that names those of `which` that moved. Returns whether
// none did.
inline bool expect_zero(const char* claim, const Effects& effects,
                        std::initializer_list<int64_t Counters::*> which, SourceLocation at) {
  std::string moved;
  for_each_field(effects, [&](std::string_view name, const int64_t& value) {
    for (int64_t Counters::*member : which) {
      if (&(effects.*member) == &value && value != 0) {
        base::append(moved, moved.empty() ? "" : ", ", name, " +", value);
      }
    }
  });
  if (moved.empty()) return true;
  GTEST_MESSAGE_AT_(at.file, static_cast<int>(at.line),
                    base::cat("expected ", claim, "; the block moved ", moved,
                              "\nall it did: ", to_string(effects))
                        .c_str(),
                    ::testing::TestPartResult::kNonFatalFailure);
  return false;
}

}  // namespace testing_internal

// Each runs `fn` once. Where a counter moved that had to stand still, the test fails (and goes on)
// with its name, at the caller's line. Returns whether it held, so that
// ASSERT_TRUE(expect_zero_bytes_up(..)) stops the test.

// No upload, nothing lent to a device.
template <class Fn>
bool expect_zero_bytes_up(Fn&& fn, SourceLocation at = SourceLocation::here()) {
  return testing_internal::expect_zero(
      "zero bytes from host to device", effects_of(std::forward<Fn>(fn)),
      {&Counters::uploads, &Counters::upload_bytes, &Counters::aliased_bytes}, at);
}

// No download.
template <class Fn>
bool expect_zero_bytes_down(Fn&& fn, SourceLocation at = SourceLocation::here()) {
  return testing_internal::expect_zero("zero bytes from device to host",
                                       effects_of(std::forward<Fn>(fn)),
                                       {&Counters::downloads, &Counters::download_bytes}, at);
}

// No function of the user ran on placeholders.
template <class Fn>
bool expect_zero_traces(Fn&& fn, SourceLocation at = SourceLocation::here()) {
  return testing_internal::expect_zero("zero traces", effects_of(std::forward<Fn>(fn)),
                                       {&Counters::traces}, at);
}

// No backend compiled.
template <class Fn>
bool expect_zero_compiles(Fn&& fn, SourceLocation at = SourceLocation::here()) {
  return testing_internal::expect_zero("zero compiles", effects_of(std::forward<Fn>(fn)),
                                       {&Counters::compiles}, at);
}

// Nothing but executions and cache hits: what the second call of a Program does, and of loops whose
// steps are named Functions. A lambda or a plain function runs on placeholders at each call, which
// counts as a trace: expect_nothing_but_traces() lets it.
template <class Fn>
bool expect_nothing_behind_my_back(Fn&& fn, SourceLocation at = SourceLocation::here()) {
  return testing_internal::expect_zero(
      "no trace, transform, lowering, compile or transfer", effects_of(std::forward<Fn>(fn)),
      {&Counters::traces, &Counters::transforms, &Counters::lowerings, &Counters::compiles,
       &Counters::uploads, &Counters::upload_bytes, &Counters::downloads, &Counters::download_bytes,
       &Counters::aliased_bytes},
      at);
}

// Executions, cache hits and runs of your functions on placeholders: what the second call of a loop
// with a lambda does.
template <class Fn>
bool expect_nothing_but_traces(Fn&& fn, SourceLocation at = SourceLocation::here()) {
  return testing_internal::expect_zero(
      "no transform, lowering, compile or transfer", effects_of(std::forward<Fn>(fn)),
      {&Counters::transforms, &Counters::lowerings, &Counters::compiles, &Counters::uploads,
       &Counters::upload_bytes, &Counters::downloads, &Counters::download_bytes,
       &Counters::aliased_bytes},
      at);
}

}  // namespace heddle
