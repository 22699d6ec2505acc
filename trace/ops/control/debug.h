// What a program shows of itself while it runs: lines, and where the first NaN came to be.
//
//   auto step = [](Tensor h, Tensor x) {
//     h = h + x;
//     debug_print("h is {} after {}", h, x);
//     debug_check(h, "h");
//     return std::pair(h, None{});
//   };
//
// Both work at once, in traces, loops, branches and compiled functions. vmap prints a line a lane;
// derivatives print what the function prints, once.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "heddle/base/metrics/debug_sink.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// A format with its line in the user's program.
class DebugFormat {
 public:
  template <class Text>
  requires std::is_convertible_v<const Text&, std::string_view> DebugFormat(
      const Text& text, SourceLocation at = SourceLocation::here())
      : at_(at) {
    if constexpr (std::is_pointer_v<Text>)
      if (text == nullptr) return;  // as getenv() gives it: a format without places
    text_ = std::string_view(text);
  }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] SourceLocation at() const { return at_; }

 private:
  std::string text_;
  SourceLocation at_;
};

// A value to be printed: a tensor, a C++ number, or text. The last two are the same in every run of
// a program.
class DebugValue {
 public:
  DebugValue(const Tensor& x) : value_(x) {}
  template <class T>
  requires std::is_arithmetic_v<T> DebugValue(T number) : value_(text_of(number)) {}
  template <class T>
  requires std::is_convertible_v<const T&, std::string_view> DebugValue(const T& text)
      : value_(std::string(std::string_view(text))) {}

  [[nodiscard]] const Tensor* tensor() const { return std::get_if<Tensor>(&value_); }
  [[nodiscard]] const std::string& text() const { return std::get<std::string>(value_); }

 private:
  template <class T>
  static std::string text_of(T number) {
    if constexpr (std::is_same_v<T, bool>)
      return number ? "True" : "False";
    else if constexpr (std::is_floating_point_v<T>)
      return float_text(static_cast<double>(number), sizeof(T) <= sizeof(float));
    else
      return std::to_string(number);
  }
  static std::string float_text(double number, bool is_single);

  std::variant<Tensor, std::string> value_;
};

namespace trace_internal {
void print_values(const DebugFormat& format, const std::vector<DebugValue>& values);
}  // namespace trace_internal

// Writes a line, to stderr or where set_debug_sink() says: the format, with each {} filled in by
// the next value, as std::cout << x has it; {{ and }} are braces. Lines come in the order of the
// program, from a loop one a step. Under vmap a line for each lane that gets there, if a value
// differs by lane; under derivatives as the function itself prints; a checkpoint that computes
// again prints nothing again.
//
// errors   Error: InvalidArgument where there are more or fewer values than places. Compiling for a
//          device that cannot call this process is Unimplemented
// cost     in a program: a call a line, that waits for the value. Outside of one: waits for all
//          that runs on the device, and a download of the tensors, counted
template <class... Values>
requires(std::is_convertible_v<const Values&, DebugValue>&&...)  //
    void debug_print(const DebugFormat& format, const Values&... values) {
  trace_internal::print_values(format, {DebugValue(values)...});
}

// The run's error where an element of x is NaN or infinite: the name, the step of each loop around
// it, this line. The first one that fails counts; a while_loop ends there. Integers are always
// fine.
//
// errors   Error: OutOfRange; outside of a trace at once, else of the results of the run
// cost     in a program: one reduction of x, and one call of the host where the program ends
void debug_check(const Tensor& x, std::string_view name = "the value",
                 SourceLocation at = SourceLocation::here());

}  // namespace heddle
