// FlushSubnormals: while it lives, this thread takes subnormal f32 and f64 numbers for zero, as
// operands and as results. XLA's CPU backend always computes so; Heddle keeps subnormals by
// default. Config::flush_subnormals flushes them in runs of cpu and of the interpreter.
// FloatControl: the state that a helping thread takes from the thread that it helps.
#pragma once

#include <cstdint>

namespace heddle {

class FlushSubnormals {
 public:
  // Does nothing if `flush` is false, or if the processor is neither x86-64 nor 64-bit Arm.
  explicit FlushSubnormals(bool flush = true);
  ~FlushSubnormals();
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
  bool flushes_;
  uint64_t before_ = 0;
};

// How a thread rounds, and whether it flushes subnormals; not which exceptions it has seen.
class FloatControl {
 public:
  static FloatControl of_this_thread();
  // Makes this thread compute so.
  void apply() const;

 private:
  uint64_t control_ = 0;
};

}  // namespace heddle
