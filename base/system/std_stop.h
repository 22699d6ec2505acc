// A std::stop_token, as of a std::jthread, for runs. heddle.h does not include this, since it
// brings threads.
#pragma once

#include <memory>
#include <stop_token>
#include <utility>

#include "heddle/base/system/stop.h"

namespace heddle {

// A token that asks when `from` does, as long as a copy of it lives.
[[nodiscard]] inline StopToken stop_token(std::stop_token from) {
  if (!from.stop_possible()) return {};
  struct Link {
    std::atomic<bool> flag = false;
    struct Set {
      std::atomic<bool>& flag;
      void operator()() const { flag.store(true, std::memory_order_relaxed); }
    };
    std::stop_callback<Set> callback;
    explicit Link(std::stop_token from) : callback(std::move(from), Set{flag}) {}
  };
  auto link = std::make_shared<Link>(std::move(from));
  return StopToken(std::shared_ptr<const std::atomic<bool>>(link, &link->flag));
}

}  // namespace heddle
