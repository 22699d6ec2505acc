// The C++ numbers that parameters of a loop's body stand for: errors of unlike dtypes have to say
// them, and nothing else asks, so that they are looked for when an error does. Private to Heddle.
#pragma once

#include <span>
#include <string_view>

#include "heddle/trace/node.h"

namespace heddle::trace_internal {

// While it lives, parameters[i] stands for from[i] where an error asks; `of`: whose init it is.
// All of one trace, which this thread runs.
class LazyNumbers {
 public:
  LazyNumbers(std::span<const Tensor> parameters, std::span<const Tensor> from,
              std::string_view of);
  ~LazyNumbers();
  LazyNumbers(const LazyNumbers&) = delete;
  LazyNumbers& operator=(const LazyNumbers&) = delete;

  // Notes those of a trace on its scope, as keep_number() does.
  static void settle(const Scope& scope);

 private:
  std::span<const Tensor> parameters_;
  std::span<const Tensor> from_;
  std::string_view of_;
  LazyNumbers* outer_;
};

}  // namespace heddle::trace_internal
