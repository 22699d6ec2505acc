// OnDeviceOf: what a function makes of numbers alone goes where its operands are. Private to
// Heddle's op functions.
//
//   Tensor zeros_like(Operand x) {
//     const OnDeviceOf device(x);
//     ..
//   }
#pragma once

#include <optional>
#include <span>

#include "heddle/runtime/registry.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::trace_internal {

// While it lives the default device of this thread is that of the first operand that has a value.
// In a trace it does nothing: numbers are constants there.
class OnDeviceOf {
 public:
  template <class... Operands>
  explicit OnDeviceOf(const Operands&... operands) {
    (look(operands), ...);
  }
  OnDeviceOf(const OnDeviceOf&) = delete;
  OnDeviceOf& operator=(const OnDeviceOf&) = delete;

 private:
  void look(const Tensor& tensor);
  void look(const Operand& operand) {
    if (operand.is_tensor()) look(operand.tensor());
  }
  void look(const std::optional<Operand>& operand) {
    if (operand) look(*operand);
  }
  void look(std::span<const Tensor> tensors) {
    for (const Tensor& tensor : tensors) look(tensor);
  }

  std::optional<runtime::DefaultDevice> device_;
};

}  // namespace heddle::trace_internal
