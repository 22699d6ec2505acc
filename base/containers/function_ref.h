// FunctionRef<R(Args...)>: a callable by reference. It allocates nothing, and is valid while the
// callable lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace heddle::base {

// Whether a callable has nothing to call: a null pointer to a function, or an empty std::function.
template <class F>
constexpr bool is_null_function([[maybe_unused]] const F& f) {
  if constexpr (std::is_pointer_v<F> || std::is_member_pointer_v<F>)
    return f == nullptr;
  else if constexpr (std::is_class_v<F> && std::is_constructible_v<F, std::nullptr_t> &&
                     std::is_constructible_v<bool, const F&>)
    return !static_cast<bool>(f);
  else
    return false;
}

template <class Signature>
class FunctionRef;

template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> &&
           std::is_invocable_r_v<R, F&, Args...>)
      FunctionRef(F&& f)  // implicit: it stands for the callable in a call
      : object_(address(f)),
        call_([](void* object, Args... args) -> R {
          using Callable = std::remove_reference_t<F>;
          if constexpr (std::is_function_v<Callable>)
            return (*reinterpret_cast<Callable*>(object))(std::forward<Args>(args)...);
          else
            return (*static_cast<Callable*>(object))(std::forward<Args>(args)...);
        }),
        is_null_(is_null_function(f)),
        identity_(identity_of(f)) {}

  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }
  // Whether the callable has nothing to call.
  [[nodiscard]] bool is_null() const { return is_null_; }
  // A number of what is called, the same in each call of this process, where it is a function or an
  // object without state, such as a lambda that captures nothing. 0: it has state.
  [[nodiscard]] uint64_t identity() const { return identity_; }

 private:
  template <class F>
  uint64_t identity_of(F& f) const {
    if constexpr (std::is_function_v<F>)
      return reinterpret_cast<uint64_t>(&f);
    else if constexpr (std::is_pointer_v<F>)
      return reinterpret_cast<uint64_t>(f);
    else
      return std::is_empty_v<F> ? reinterpret_cast<uint64_t>(call_) : 0;
  }
  template <class F>
  static void* address(F& f) {
    if constexpr (std::is_function_v<F>)
      return reinterpret_cast<void*>(&f);
    else
      return const_cast<void*>(static_cast<const void*>(std::addressof(f)));
  }

  void* object_;
  R (*call_)(void*, Args...);
  bool is_null_;
  uint64_t identity_;
};

}  // namespace heddle::base
