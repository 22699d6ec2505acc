// Who a callable is, where it promises to compute the same for good. Private to Heddle.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <string>

namespace heddle::trace_internal {

// Address that stands for a type.
template <class T>
const void* type_tag() {
  static constexpr char kTag = 0;
  return &kTag;
}

// Never 0, which says nothing.
inline uint64_t next_function_id() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// A callable with a promise: a Function (scan/function.h) or what compile() returns
// (compile/compile.h).
template <class Fn>
concept HasName = requires(const Fn& fn) {
  { fn.name() } -> std::same_as<const std::string&>;
  { fn.id() } -> std::same_as<uint64_t>;
};

}  // namespace heddle::trace_internal
