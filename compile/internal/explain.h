// Explanations of a call without a graph, and of a function that has become another one. Private to
// compile/.
#pragma once

#include <cstdint>
#include <string>

#include "heddle/compile/graphs.h"

namespace heddle::compile_internal {

// How a call differs from a graph.
struct Difference {
  int64_t size = 0;  // leaves, or more if the structure differs
  std::string what;  // "arg0.h is f32[4]"
  std::string was;   // "it is f32[3]"
};
Difference difference(const Graph& graph, const Call& call);

// "it captures the traced f32[3] made at a.cc:7, of the scan at a.cc:5", for a graph that captures
// a value of the trace around it. Only the thread that runs that trace may call it.
std::string traced_capture(const Program& program);

// What differs in the second of two programs of a function: a tensor that it captures, or the first
// operation, its loop and its line. "" if they are the same.
std::string change(const Program& was, const Program& is);

}  // namespace heddle::compile_internal
