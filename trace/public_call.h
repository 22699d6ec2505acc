// PublicCall: the public function that the user called, and his line. It is set once, by the
// outermost of Heddle's functions on a thread; the functions that this one is made of inherit both,
// for the errors that they throw and for the instructions that they record. Private to Heddle.
//
//   Tensor det(Operand a) {
//     const PublicCall call("linalg::det", a.at());
//     ..
//   }
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/base/source_location.h"
#include "heddle/base/status.h"
#include "heddle/trace/error.h"

namespace heddle::trace_internal {

class PublicCall {
 public:
  enum class Runs : uint8_t { kOwnCode, kUsersFunction };

  // `function`: of static storage, as users write it. kUsersFunction: it calls one that it was
  // given, unless it is itself a part of a function that calls none.
  PublicCall(std::string_view function, SourceLocation at, Runs runs = Runs::kOwnCode)
      : before_(now) {
    if (now.function == function) return;  // the same call, on its way down
    if (now.function.empty()) now = {function, users_line(at), false};
    now.is_own = now.is_own || runs == Runs::kOwnCode;
  }
  ~PublicCall() { now = before_; }
  PublicCall(const PublicCall&) = delete;
  PublicCall& operator=(const PublicCall&) = delete;

  // While one of these lives: a function of the user's runs, and what it calls are outermost
  // functions (nothing changes where the function is Heddle's own); a function that is given
  // functions runs its own; what is recorded has no line, since all callers share the computation.
  static PublicCall users_code() {
    return PublicCall(now.is_own ? now : State{.caller = now.at.known() ? now.at : now.caller});
  }
  static PublicCall own_code() { return PublicCall({now.function, now.at, true}); }
  static PublicCall shared_code() { return PublicCall({now.function, {}, now.is_own}); }

  // The outermost function and its line; those given where the user's code runs.
  static std::string_view function_or(std::string_view function) {
    return now.function.empty() ? function : now.function;
  }
  static SourceLocation line_or(SourceLocation at) {
    return now.function.empty() ? users_line(at) : now.at;
  }
  // A function that is given to another one is called on a line of Heddle's headers, or of the
  // standard library's, or on none: then the line of the call that it was given to, `otherwise`
  // where there is none. Any other line is the user's, and stays.
  static SourceLocation users_line(SourceLocation at, SourceLocation otherwise = {});
  // Whether what runs on placeholders is Heddle's own (the step of cumsum, the condition of gcd),
  // and no function of the user's.
  static bool is_own() { return now.is_own; }

 private:
  struct State {
    std::string_view function = {};  // empty: none
    SourceLocation at = {};
    bool is_own = false;
    SourceLocation caller = {};  // of the user's code that runs
  };
  static constinit thread_local State now;

  explicit PublicCall(const State& next) : before_(now) { now = next; }

  State before_;
};

// The call of a public function that calls one that it was given.
struct HigherOrderCall : PublicCall {
  HigherOrderCall(std::string_view function, SourceLocation at)
      : PublicCall(function, at, Runs::kUsersFunction) {}
};

// Calls `fn`, which the user gave.
template <class Fn>
auto as_users_code(Fn&& fn) {
  const PublicCall user = PublicCall::users_code();
  return fn();
}

// Throws Error (InvalidArgument) inside of a public function: "det: " and the parts, and its line.
template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw Error(base::invalid_argument(PublicCall::function_or("heddle"), ": ", parts...), {});
}

// Errors that begin with the function that the user called, "linalg::det: x is ..", or with
// `function` where his own code runs.
template <class... Parts>
Status invalid_argument(std::string_view function, const Parts&... parts) {
  return base::invalid_argument(PublicCall::function_or(function), parts...);
}
template <class... Parts>
Status failed_precondition(std::string_view function, const Parts&... parts) {
  return base::failed_precondition(PublicCall::function_or(function), parts...);
}
template <class... Parts>
Status unimplemented(std::string_view function, const Parts&... parts) {
  return base::unimplemented(PublicCall::function_or(function), parts...);
}

}  // namespace heddle::trace_internal
