// Whose turn it is to trace: a graph is traced by one thread, and others that want it wait for that
// one alone. No lock is held while a user's function runs. Private to compile/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/compile/graphs.h"

namespace heddle::compile_internal {

// While it lives its thread traces the call, if it is the thread's turn.
class Turn {
 public:
  enum class Of : uint8_t { kGraph, kCheck };  // a check makes no graph: nobody waits for it

  // Waits while another thread traces the same graph; the turn is then not this thread's, which
  // looks for the graph again. It is this thread's where waiting might not end: where that thread
  // waits for this one, or takes very long, perhaps for a lock that this thread's caller holds.
  //
  // errors  Error where this thread is tracing the same graph: the function calls itself
  Turn(const Graphs* graphs, const Call& call, Of of);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  [[nodiscard]] bool is_mine() const { return serial_ != 0; }

 private:
  uint64_t serial_ = 0;  // of what runs; 0: nothing
};

}  // namespace heddle::compile_internal
