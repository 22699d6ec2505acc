// Loops by hand in C++, one for each program of ../shared/peers: the bar for generated code. A
// backend of `heddle bench` runs them (main.cc), so that one run times both.
#pragma once

#include <span>
#include <string_view>

namespace heddle::baselines {

// The arguments and results of a program, by leaf.
struct Call {
  const void* const* arguments;
  void* const* results;

  template <class T = float>
  [[nodiscard]] const T* in(int number) const {
    return static_cast<const T*>(arguments[number]);
  }
  template <class T = float>
  [[nodiscard]] T* out(int number) const {
    return static_cast<T*>(results[number]);
  }
};

using Loop = void (*)(const Call& call);

struct NamedLoop {
  std::string_view program;
  Loop loop;
};

std::span<const NamedLoop> array_loops();
std::span<const NamedLoop> leaf_loops();
std::span<const NamedLoop> matrix_loops();
std::span<const NamedLoop> scalar_loops();

}  // namespace heddle::baselines
