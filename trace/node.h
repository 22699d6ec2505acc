// What a Tensor refers to, and the scope of a trace. Private to Heddle.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "heddle/base/source_location.h"
#include "heddle/hlo/module.h"
#include "heddle/placeholder/placeholder.h"
#include "heddle/runtime/backend.h"
#include "heddle/trace/tensor.h"

namespace heddle::trace_internal {

class Recorder;

// One run of a user's function. Outlives it as long as a tensor of it is kept, so that a leak can
// be told.
struct Scope {
  std::string what;  // "trace", "scan", "cond branch 1"
  SourceLocation where;
  uint64_t serial = 0;           // process-wide
  Recorder* recorder = nullptr;  // while it runs
  std::atomic<bool> finished = false;
};

// Immutable: which value a tensor is never changes. Traced: scope and instruction. Concrete:
// buffer. Placeholder: neither.
struct Node {
  Shape shape;
  SourceLocation where;
  ValueId id = 0;
  std::shared_ptr<Scope> scope;
  hlo::InstructionId instruction;
  runtime::BufferPtr buffer;
  std::shared_ptr<const hlo::Sharding> sharding;
};

// The node, or Error "op: operand has no value (default-constructed Tensor)".
const Node& node_of(const Tensor& tensor, std::string_view op, SourceLocation at);

// "op: operand is a traced f32[3], made at a.cc:7, that escaped from a finished scan; .."
Status escaped_error(const Node& node, std::string_view op);

// A concrete tensor over a device buffer.
Tensor tensor_of(runtime::BufferPtr buffer, SourceLocation at);

// The buffer of a concrete tensor; Error for a traced value, a placeholder (named), or a donated
// buffer.
runtime::BufferPtr buffer_of(const Tensor& tensor, std::string_view op, SourceLocation at);

Placeholder placeholder_of(const Node& node);

}  // namespace heddle::trace_internal
