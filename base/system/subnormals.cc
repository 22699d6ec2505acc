#include "heddle/base/system/subnormals.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace heddle {
namespace {

#if defined(__x86_64__)
constexpr uint64_t kFlush = 0x8040;  // MXCSR: flush-to-zero and denormals-are-zero
constexpr uint64_t kExceptions = 0x3f;
uint64_t get() { return _mm_getcsr(); }
void set(uint64_t control) { _mm_setcsr(static_cast<unsigned>(control)); }
#elif defined(__aarch64__)
constexpr uint64_t kFlush = uint64_t{1} << 24;  // FPCR.FZ
constexpr uint64_t kExceptions = 0;
uint64_t get() {
  uint64_t control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  return control;
}
void set(uint64_t control) { asm volatile("msr fpcr, %0" : : "r"(control)); }
#else
constexpr uint64_t kFlush = 0;
constexpr uint64_t kExceptions = 0;
uint64_t get() { return 0; }
void set(uint64_t) {}
#endif

}  // namespace

FlushSubnormals::FlushSubnormals(bool flush) : flushes_(flush) {
  if (!flush) return;
  before_ = get();
  set(before_ | kFlush);
}

FlushSubnormals::~FlushSubnormals() {
  if (flushes_) set(before_);
}

FloatControl FloatControl::of_this_thread() {
  FloatControl mode;
  mode.control_ = get() & ~kExceptions;
  return mode;
}

void FloatControl::apply() const {
  const uint64_t now = get();
  if ((now & ~kExceptions) != control_) set(control_ | (now & kExceptions));
}

}  // namespace heddle
