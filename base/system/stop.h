// StopSource and StopToken: asks runs to end.
//
//   StopSource source;
//   auto slow = trace(simulate, state).compile("cpu").with({.stop = source.token()});
//   .. on another thread: source.request_stop();
//   slow(state);  // Error (Cancelled) with the line of the loop that it was in
//
// It is one flag, since machine code reads it in its loops. base/system/std_stop.h makes a token of
// a std::stop_token.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

namespace heddle {

class StopToken {
 public:
  StopToken() = default;  // a token that never asks
  explicit StopToken(std::shared_ptr<const std::atomic<bool>> flag) : flag_(std::move(flag)) {}

  // Someone may ask.
  [[nodiscard]] bool stop_possible() const { return flag_ != nullptr; }
  [[nodiscard]] bool stop_requested() const {
    return flag_ != nullptr && flag_->load(std::memory_order_relaxed);
  }
  // Null if nobody may ask.
  [[nodiscard]] const std::atomic<bool>* flag() const { return flag_.get(); }

 private:
  std::shared_ptr<const std::atomic<bool>> flag_;
};

// Copies are the same source.
class StopSource {
 public:
  [[nodiscard]] StopToken token() const { return StopToken(flag_); }
  // Any thread may call it. Runs that have one of its tokens end soon, and no other one begins.
  void request_stop() { flag_->store(true, std::memory_order_relaxed); }

 private:
  std::shared_ptr<std::atomic<bool>> flag_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace heddle
