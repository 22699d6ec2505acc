// Whose turn it is to trace. One thread traces a graph, and others that want it wait only for that
// thread. No lock is held while a user's function runs. Private to compile/.
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

  // Waits while another thread traces the same graph. The turn is then not this thread's, and it
  // looks for the graph again. It is this thread's turn if waiting might not end: if that thread
  // waits for this one, or takes very long, perhaps for a lock that this thread's caller holds.
  //
  // errors  Error if this thread is tracing the same graph: the function calls itself
  Turn(const Graphs* graphs, const Call& call, Of of);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  [[nodiscard]] bool is_mine() const { return serial_ != 0; }

 private:
  uint64_t serial_ = 0;  // of the running trace; 0: none
};

}  // namespace heddle::compile_internal
