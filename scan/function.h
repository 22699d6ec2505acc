// Which callables can be recognised without running them. A captureless lambda (any empty class) is
// known by its type, a plain function by its address, a named Function by its id: their loops are
// traced once. Any other callable is traced again at each call, and its computation is then found
// by structure.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "heddle/trace/tree_checks.h"

namespace heddle {

namespace scan_internal {

// Address that stands for a type.
template <class T>
const void* type_tag() {
  static constexpr char kTag = 0;
  return &kTag;
}

inline uint64_t next_function_id() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// Who a callable is; tag null: cannot be told.
struct Identity {
  const void* tag = nullptr;
  uint64_t id = 0;              // of a named Function or a function pointer
  bool keeps_captures = false;  // its captured tensors belong to it and are the same at each call
  [[nodiscard]] bool known() const { return tag != nullptr; }
  friend bool operator==(const Identity&, const Identity&) = default;
};

}  // namespace scan_internal

// A callable with a name and an identity. What it captures when it is made is what it uses for
// good: Heddle may keep its trace, and the tensors it captured, as long as the cache entry lives.
// Its computation has its name in HLO, and what a loop is lowered to is named after it. Letters,
// digits, '_', '-' and '.' stay; anything else becomes '_'.
//
//   Function step("step", [w](Tensor h, Tensor x) { ... });
//   scan(step, h0, xs);   // traced once, however often: %step, and %step.while_body
template <class Fn>
class Function {
 public:
  Function(std::string name, Fn fn)
      : name_(std::move(name)), fn_(std::move(fn)), id_(scan_internal::next_function_id()) {}

  template <class... Args>
  requires std::is_invocable_v<const Fn&, Args...>
  auto operator()(Args&&... args) const {
    tree_internal::require_value<Fn, std::invoke_result_t<const Fn&, Args...>>();
    return fn_(std::forward<Args>(args)...);
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] uint64_t id() const { return id_; }

 private:
  std::string name_;
  Fn fn_;
  uint64_t id_;
};

namespace scan_internal {

template <class T>
struct IsFunction : std::false_type {};
template <class Fn>
struct IsFunction<Function<Fn>> : std::true_type {};

template <class Fn>
Identity identity_of(const Fn& fn) {
  using Plain = std::remove_cvref_t<Fn>;
  if constexpr (IsFunction<Plain>::value)
    return {type_tag<Plain>(), fn.id(), true};
  else if constexpr (std::is_pointer_v<std::decay_t<Plain>>)
    return {type_tag<std::decay_t<Plain>>(), reinterpret_cast<uint64_t>(+fn), false};
  else if constexpr (std::is_empty_v<Plain>)
    return {type_tag<Plain>(), 0, false};
  else
    return {};
}

// The name of a Function; "" of any other callable.
template <class Fn>
std::string_view name_of(const Fn& fn) {
  if constexpr (IsFunction<std::remove_cvref_t<Fn>>::value)
    return fn.name();
  else
    return {};
}

}  // namespace scan_internal
}  // namespace heddle
