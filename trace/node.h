// What a Tensor refers to, and the scope of a trace. Private to Heddle.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/source_location.h"
#include "heddle/hlo/module.h"
#include "heddle/placeholder/placeholder.h"
#include "heddle/runtime/backend.h"
#include "heddle/trace/tensor.h"

namespace heddle::trace_internal {

class Recorder;

// A C++ number that became a tensor, scalar(0.0) or the 0.0 of scan(step, 0.0, xs): its dtype is
// that of a C++ type, which errors of unlike dtypes have to say.
struct Number {
  double value = 0;
  DType dtype = pred;
  SourceLocation at;
  std::string_view of = {};  // the loop or branch whose init or operand it is; static storage
};

// One run of a user's function. Outlives it as long as a tensor of it is kept, so that a leak can
// be told.
struct Scope {
  std::string what;  // "main", "scan", "while_loop body"
  SourceLocation where;
  uint64_t serial = 0;           // process-wide
  Recorder* recorder = nullptr;  // while it runs
  std::atomic<bool> finished = false;
  bool is_named = false;           // `what` is the name of a Function of the user's
  std::string_view given_to = {};  // the public function that calls it on scalars; static storage
  std::vector<std::pair<hlo::InstructionId, Number>> numbers;  // of its instructions
};

// What errors say of a concrete value, where there is anything to say.
struct Remark {
  std::optional<Number> number;
  std::shared_ptr<const std::string> donated_as;  // "arg0.level of the program"
  SourceLocation donated_at;
};

// Immutable: which value a tensor is never changes. Traced: scope and instruction. Concrete:
// buffer. Placeholder: neither.
struct Node {
  Node() = default;
  Node(const Shape& type, SourceLocation at) : shape(type), where(at) {}
  // Of a concrete value.
  Node(runtime::BufferPtr value, SourceLocation at)
      : shape(value->shape()), where(at), id(next_value_id()), buffer(std::move(value)) {}
  Node(const Shape& type, SourceLocation at, std::shared_ptr<Scope> of, hlo::InstructionId number)
      : shape(type), where(at), scope(std::move(of)), instruction(number) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const Shape shape = {};
  SourceLocation where;
  ValueId id = 0;
  std::shared_ptr<Scope> scope;
  hlo::InstructionId instruction;
  runtime::BufferPtr buffer;
  std::unique_ptr<const Literal> number;  // that a recorder captured; nothing else has it
  std::shared_ptr<const hlo::Sharding> sharding;
  mutable bool has_remark = false;
  mutable std::shared_ptr<const Remark> remark;  // of a concrete value; set_remark, remark_of
};

// From any thread.
void set_remark(const Node& node, std::shared_ptr<const Remark> remark);
std::shared_ptr<const Remark> remark_of(const Node& node);

// Why a tensor has no value: "was moved from; use the variable that it was moved to".
std::string_view why_no_value(const Tensor& tensor);

// Notes on a tensor that was just made that it is a C++ number, and returns it.
Tensor with_number(Tensor fresh, const Number& number);
// The same of a parameter that stands for `from`, where that is a number; `of`: whose init it is.
void keep_number(const Tensor& parameter, const Tensor& from, std::string_view of);
// The number that gives the tensor its dtype; none where an array has a part in it.
std::optional<Number> number_behind(const Tensor& tensor);

// "the function 'step' traced at a.cc:7", "the scan at a.cc:7".
std::string name_of(const Scope& scope);

// The node, or Error "op: operand has no value ..".
const Node& node_of(const Tensor& tensor, std::string_view op, SourceLocation at = {});

// The same inside of a public function.
const Node& node_of(const Tensor& tensor);
// errors: throws Error where what the user's function gave has no value
void require_result(const Tensor& result);

// "op: operand is a traced f32[3], made at a.cc:7, that escaped from the scan at a.cc:5; .."
Status escaped_error(const Node& node, std::string_view op, std::string_view which = "operand");

// A C++ number that a trace captures: it has no buffer before the program runs.
Tensor captured_number(Literal literal, SourceLocation at);

// A concrete tensor over a device buffer.
Tensor tensor_of(runtime::BufferPtr buffer);

// The buffer of a concrete tensor; Error for a traced value, a placeholder (named), or a donated
// buffer.
runtime::BufferPtr buffer_of(const Tensor& tensor, std::string_view op,
                             std::string_view which = "operand");

Placeholder placeholder_of(const Node& node);

}  // namespace heddle::trace_internal
