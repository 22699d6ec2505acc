// Function: a callable with a name, which promises that it always computes the same. Only callables
// with that promise are not traced again: a Function in a loop, a Program, a compiled program.
// Every other callable, a captureless lambda and a plain function too, may read something that has
// changed (a global, a static). It runs on placeholders at each call. Its computation is then found
// by structure, so that nothing is lowered or compiled again.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "heddle/base/source_location.h"
#include "heddle/trace/identity.h"
#include "heddle/trace/moved_from.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tree_checks.h"

namespace heddle {

namespace scan_internal {

using trace_internal::type_tag;

// Who a callable is: the id of a Function or of a compiled function, or 0, which says nothing. What
// a transform of a Function gives has its id, and a type of its own.
struct Identity {
  uint64_t id = 0;
  std::string options = {};  // of the transforms
  [[nodiscard]] bool known() const { return id != 0; }
  friend bool operator==(const Identity&, const Identity&) = default;
};

}  // namespace scan_internal

// A callable with a name and a promise: it always uses what it captured when it was made, and reads
// nothing that changes. Heddle keeps its trace, and the tensors that it captured, as long as the
// cache entry lives; a global that it reads is read once.
// Its computation has its name in HLO, and the lowered loop is named after it. Letters, digits,
// '_', '-' and '.' stay; anything else becomes '_'.
//
//   Function step("step", [w](Tensor h, Tensor x) { ... });
//   scan(step, h0, xs);   // traced once, however often: %step, and %step.while_body
template <class Fn>
class Function {
 public:
  // errors: Error if fn is a null pointer or an empty std::function
  Function(std::string name, Fn fn, SourceLocation at = SourceLocation::here())
      : name_(std::move(name)),
        fn_(std::move(fn)),
        id_(trace_internal::next_function_id()),
        made_at_(at) {
    const trace_internal::PublicCall call("Function", at);
    if (base::is_null_function(fn_)) trace_internal::throw_no_function("callable");
  }

  template <class F>
  requires(!std::same_as<std::decay_t<F>, Function>) explicit Function(F&& fn)
      : Function(std::string(), std::forward<F>(fn)) {
    static_assert(!sizeof(std::decay_t<F>),
                  "a Function has a name, by which it is cached and shown: write "
                  "Function step(\"step\", fn)");
  }

  template <class... Args>
  requires std::is_invocable_v<const Fn&, Args...>
  auto operator()(Args&&... args) const {
    require_here("call");
    tree_internal::require_value<Fn, std::invoke_result_t<const Fn&, Args...>>();
    return fn_(std::forward<Args>(args)...);
  }

  // errors: Error, as for a call, if it was moved from
  [[nodiscard]] const std::string& name() const {
    require_here("name");
    return name_;
  }
  [[nodiscard]] uint64_t id() const {
    require_here("id");
    return id_.value;
  }

  // For Heddle's own code. errors: Error if it was moved from
  void require_here(std::string_view op) const {
    if (id_.value == 0)
      trace_internal::throw_moved_from(op, base::cat("Function made at ", made_at_));
  }

 private:
  // 0 if it was moved from.
  struct Id {
    explicit Id(uint64_t number) : value(number) {}
    Id(const Id&) = default;
    Id& operator=(const Id&) = default;
    Id(Id&& from) noexcept : value(std::exchange(from.value, 0)) {}
    Id& operator=(Id&& from) noexcept {
      value = std::exchange(from.value, 0);
      return *this;
    }
    ~Id() = default;
    uint64_t value;
  };

  std::string name_;
  Fn fn_;
  Id id_;
  SourceLocation made_at_;
};

template <class F>
Function(F) -> Function<F>;  // refused, in words

// Wraps a function of Heddle's, given by its name: Function("exp", exp).
Function(std::string, trace_internal::ByName<Operand>, SourceLocation = {})
    ->Function<trace_internal::ByName<Operand>>;
Function(std::string, trace_internal::ByName<Operand, Operand>, SourceLocation = {})
    ->Function<trace_internal::ByName<Operand, Operand>>;
template <std::same_as<Operand> X>
Function(std::string, Tensor (*)(X), SourceLocation = {}) -> Function<trace_internal::ByName<X>>;
template <std::same_as<Operand> X, std::same_as<Operand> Y>
Function(std::string, Tensor (*)(X, Y), SourceLocation = {})
    -> Function<trace_internal::ByName<X, Y>>;

namespace scan_internal {

template <class Fn>
concept HasIdentity = requires(const Fn& fn) {
  { fn.identity() } -> std::same_as<Identity>;
};

template <class Fn>
Identity identity_of(const Fn& fn) {
  if constexpr (trace_internal::HasName<Fn>)
    return {fn.id()};
  else if constexpr (HasIdentity<Fn>)
    return fn.identity();
  else
    return {};
}

// That of a transform of `fn`. options: of the transform, in a form that tells its end
template <class Fn>
Identity identity_of_transform(const Fn& fn, std::string_view options = {}) {
  trace_internal::require_function("function", fn);
  Identity out = identity_of(fn);
  out.options += options;
  return out;
}

// The name of a Function; "" of any other callable.
template <class Fn>
std::string_view name_of(const Fn& fn) {
  if constexpr (trace_internal::HasName<Fn>)
    return fn.name();
  else
    return {};
}

}  // namespace scan_internal
}  // namespace heddle
