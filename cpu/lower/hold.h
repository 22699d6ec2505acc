// Hold: buffers that stay as they are while a step reads them.
#pragma once

#include <vector>

#include "heddle/cpu/lower/lowering.h"

namespace heddle::cpu {

// Keeps a buffer from being overwritten while it lives.
class Hold {
 public:
  explicit Hold(ProgramLowering& program) : program_(program) {}
  ~Hold() {
    for (BufferId buffer : buffers_) --program_.state(buffer).pending;
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  void add(const Value& value) {
    if (!value.is_buffer()) return;
    ++program_.state(value.buffer).pending;
    buffers_.push_back(value.buffer);
  }

 private:
  ProgramLowering& program_;
  std::vector<BufferId> buffers_;
};

}  // namespace heddle::cpu
