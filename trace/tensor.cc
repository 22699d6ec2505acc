#include "heddle/trace/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "heddle/base/system/memory.h"
#include "heddle/base/system/pool.h"
#include "heddle/hlo/literal/blocks.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/runtime/mesh.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/transfer.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/lazy_numbers.h"
#include "heddle/trace/moved_from.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle {

using trace_internal::Node;
using trace_internal::PublicCall;
using trace_internal::Recorder;

namespace trace_internal {
namespace {

// The literal in another element type.
StatusOr<Literal> converted(const Literal& literal, DType dtype) {
  const Shape& shape = literal.shape();
  if (shape.dtype() == dtype) return literal;
  const auto convert = [&]() -> StatusOr<Literal> {
    Literal out = Literal::uninitialised(Shape(dtype, shape.dimensions()));
    convert_elements(shape.dtype(), literal.bytes(), dtype, out.mutable_bytes(),
                     literal.element_count());
    return out;
  };
  return base::within_memory(convert, "convert: ", shape);
}

}  // namespace

const Node kMovedFrom{};

const Node& node_of(const Tensor& tensor, std::string_view op, SourceLocation at) {
  if (!tensor.is_valid()) throw Error(invalid_argument(op, ": operand ", why_no_value(tensor)), at);
  return *tensor.node();
}

const Node& node_of(const Tensor& tensor) {
  return node_of(tensor, PublicCall::function_or("heddle"), {});
}

void require_result(const Tensor& result) {
  if (!result.is_valid()) refuse("the result of its function ", why_no_value(result));
}

std::string_view why_no_value(const Tensor& tensor) {
  return tensor.node()
             ? "was moved from and has no value; use the variable that it was moved to, "
               "or copy it there"
             : "has no value (a default-constructed Tensor), as operator[] of a map makes "
               "it of a key that is missing; assign one first";
}

std::string name_of(const Scope& scope) {
  const std::string line = scope.where.known() ? base::cat(" at ", to_string(scope.where)) : "";
  if (!scope.given_to.empty()) return base::cat("the function of ", scope.given_to, line);
  if (scope.is_named) return base::cat("the function '", scope.what, "' traced", line);
  return scope.what == "main" ? base::cat("the function traced", line)
                              : base::cat("the ", scope.what, line);
}

Status escaped_error(const Node& node, std::string_view op, std::string_view which) {
  const Scope& scope = *node.scope;
  const std::string made =
      node.where.known() ? base::cat(", made at ", to_string(node.where), ",") : "";
  return failed_precondition(op, ": ", which, " is a traced ", to_string(node.shape), made,
                             " that escaped from ", name_of(scope),
                             ", which has ended; return it from the traced function instead of "
                             "keeping it");
}

void set_remark(const Node& node, std::shared_ptr<const Remark> remark) {
  std::atomic_store(&node.remark, std::move(remark));
  std::atomic_ref<bool>(node.has_remark).store(true, std::memory_order_release);
}
std::shared_ptr<const Remark> remark_of(const Node& node) {
  const bool has_remark = std::atomic_ref<bool>(node.has_remark).load(std::memory_order_acquire);
  return has_remark ? std::atomic_load(&node.remark) : nullptr;
}

Tensor with_number(Tensor fresh, const Number& number) {
  const Node& node = *fresh.node();
  if (node.scope)
    node.scope->numbers.emplace_back(node.instruction, number);
  else
    set_remark(node, std::make_shared<const Remark>(Remark{number, {}, {}}));
  return fresh;
}

namespace {

// Of the value itself.
std::optional<Number> number_of(const Node& node) {
  if (!node.scope) {
    const std::shared_ptr<const Remark> remark = remark_of(node);
    return remark ? remark->number : std::nullopt;
  }
  LazyNumbers::settle(*node.scope);
  for (const auto& [instruction, number] : node.scope->numbers) {
    if (instruction == node.instruction) return number;
  }
  return std::nullopt;
}

}  // namespace

void keep_number(const Tensor& parameter, const Tensor& from, std::string_view of) {
  std::optional<Number> number = number_of(*from.node());
  if (!number) return;
  if (number->of.empty()) number->of = of;
  (void)with_number(parameter, *number);
}

namespace {

thread_local constinit LazyNumbers* lazy_numbers = nullptr;

}  // namespace

LazyNumbers::LazyNumbers(std::span<const Tensor> parameters, std::span<const Tensor> from,
                         std::string_view of)
    : parameters_(parameters), from_(from), of_(of), outer_(lazy_numbers) {
  lazy_numbers = this;
}
LazyNumbers::~LazyNumbers() { lazy_numbers = outer_; }

void LazyNumbers::settle(const Scope& scope) {
  for (LazyNumbers* each = lazy_numbers; each != nullptr; each = each->outer_) {
    if (each->from_.empty() || each->parameters_[0].node()->scope.get() != &scope) continue;
    const std::span<const Tensor> from =
        std::exchange(each->from_, {});  // keep_number() comes here
    for (size_t i = 0; i < from.size(); ++i) keep_number(each->parameters_[i], from[i], each->of_);
  }
}

std::optional<Number> number_behind(const Tensor& tensor) {
  const Node& node = *tensor.node();
  if (std::optional<Number> number = number_of(node)) return number;
  if (!node.scope || !node.scope->recorder) return std::nullopt;
  return node.scope->recorder->number_behind(node.instruction);
}

Tensor tensor_of(runtime::BufferPtr buffer) {
  const hlo::Sharding* sharding = runtime::sharding_of(*buffer);
  auto node = base::make_pooled<Node>(std::move(buffer), PublicCall::line_or({}));
  if (sharding) node->sharding = std::make_shared<const hlo::Sharding>(*sharding);
  return Tensor(std::move(node));
}

Tensor captured_number(Literal literal, SourceLocation at) {
  auto node = base::make_pooled<Node>(literal.shape(), at);
  node->id = next_value_id();
  node->number = std::make_unique<const Literal>(std::move(literal));
  return Tensor(std::move(node));
}

Placeholder placeholder_of(const Node& node) {
  return {node.id, node.shape, node.where, node.sharding};
}

namespace {

// Functions that want the value on the host.
bool is_read(std::string_view op) {
  return op == "item" || op == "to_vector" || op == "to_literal" || op == "read";
}

std::string made_at(const Node& node) {
  return node.where.known() ? base::cat(", made at ", to_string(node.where), ",") : "";
}

// " as arg0.level of the program at a.cc:7"
std::string donated_as(const Node& node) {
  const std::shared_ptr<const Remark> remark = remark_of(node);
  if (!remark || !remark->donated_as) return " or released";
  return base::cat(
      " as ", *remark->donated_as,
      remark->donated_at.known() ? base::cat(" at ", to_string(remark->donated_at)) : "");
}

}  // namespace

runtime::BufferPtr buffer_of(const Tensor& tensor, std::string_view op, std::string_view which) {
  if (!tensor.is_valid()) throw Error(invalid_argument(op, ": ", which, " ", why_no_value(tensor)));
  const Node& node = *tensor.node();
  if (node.scope && node.scope->finished) throw Error(escaped_error(node, op, which));
  if (node.scope) {
    const Status status = failed_precondition(
        op, ": ", which, " is a traced ", to_string(node.shape), ", which has no value yet; ",
        op == "call"
            ? "a compiled program takes values: in a trace call the Program, or compile(fn)"
            : "return it from the traced function and read the result, or branch on it "
              "with cond(..) or where(..)");
    if (is_read(op)) throw TracedReadError(status);
    throw Error(status);
  }
  if (!node.buffer && is_read(op)) throw Error(read_error(placeholder_of(node), op));
  if (!node.buffer) {
    throw Error(failed_precondition(op, ": ", which, " is ", placeholder_of(node),
                                    ", which has a type and no value; trace the function that uses "
                                    "it, bind a value to it, or make the tensor from host data"));
  }
  if (node.buffer->is_deleted()) {
    throw Error(failed_precondition(op, ": ", which == "operand" ? "" : base::cat(which, ", "),
                                    "tensor #", node.id, " ", to_string(node.shape), made_at(node),
                                    " was donated", donated_as(node),
                                    ", so its buffer is gone; use the "
                                    "result that took it, or do not donate it"));
  }
  return node.buffer;
}

Literal literal_from_bytes(const void* data, size_t count, DType dtype,
                           std::vector<int64_t> dimensions) {
  const Shape shape(dtype, std::move(dimensions));
  throw_if_error(base::annotate(check_shape(shape), PublicCall::function_or("array"), ": "));
  if (static_cast<size_t>(shape.element_count()) != count) {
    refuse("has ", count, " values; ", to_string(shape), " takes ", shape.element_count());
  }
  Literal literal = Literal::uninitialised(shape);
  if (count > 0) std::memcpy(literal.mutable_bytes(), data, static_cast<size_t>(shape.byte_size()));
  return literal;
}

namespace {

struct Lost {
  int64_t place;
  std::string value;
};

// Whether integers of the type hold the number. Their bounds are powers of two.
bool holds(DType integers, double number) {
  const int digits = static_cast<int>(bit_width(integers)) - (is_signed(integers) ? 1 : 0);
  return number == std::trunc(number) && number < std::ldexp(1.0, digits) &&
         number >= (is_signed(integers) ? -std::ldexp(1.0, digits) : 0.0);
}

// Every value of an integer type is one of the other.
bool holds_all(DType to, DType from) {
  if (!is_integer(from) || !is_integer(to)) return false;
  const int spare = bit_width(to) - bit_width(from);
  return is_unsigned(from) == is_unsigned(to) ? spare >= 0 : is_unsigned(from) && spare > 0;
}

// The first finite number that floats of the other type hold as infinity or NaN.
std::optional<Lost> value_that_overflows(const Literal& given, const Literal& floats) {
  const DType from = given.shape().dtype(), to = floats.shape().dtype();
  if (from == to || from == pred || to == f64 || (to == f32 && from != f64)) return std::nullopt;
  for (int64_t i = 0; i < floats.element_count(); ++i) {
    if (std::isfinite(floats.to_double(i)) || !std::isfinite(given.to_double(i))) continue;
    return Lost{i, base::cat(given.to_double(i))};
  }
  return std::nullopt;
}

// Integers hold what they are made from: a cut-off fraction or another number would be silent.
// Returns the first value that `integers`, converted from those given, do not hold.
std::optional<Lost> value_that_is_lost(const Literal& given, const Literal& integers) {
  const DType from = given.shape().dtype(), to = integers.shape().dtype();
  if (from == to || from == pred || holds_all(to, from)) return std::nullopt;
  const Literal back = value_or_throw(converted(integers, from));
  const bool is_resigned = is_integer(from) && is_unsigned(from) != is_unsigned(to);
  for (int64_t i = 0; i < given.element_count(); ++i) {
    const bool is_kept = is_integer(from) ? given.to_int64(i) == back.to_int64(i) &&
                                                !(is_resigned && given.to_int64(i) < 0)
                                          : holds(to, given.to_double(i));
    if (is_kept) continue;
    const std::string value = !is_integer(from) ? base::cat(given.to_double(i))
                              : is_unsigned(from)
                                  ? base::cat(static_cast<uint64_t>(given.to_int64(i)))
                                  : base::cat(given.to_int64(i));
    return Lost{i, value};
  }
  return std::nullopt;
}

}  // namespace

Tensor array_from_bytes(const void* data, size_t count, DType dtype, std::vector<int64_t> shape,
                        SourceLocation at, std::optional<DType> as) {
  const PublicCall call("array", at);
  const Literal given = literal_from_bytes(data, count, dtype, std::move(shape));
  if (!as.has_value() || *as == dtype) return array(given);
  if (is_complex(dtype) && !is_complex(*as))
    refuse("has complex values, and ", to_string(*as), " holds none; take their real parts first");
  const Literal values = value_or_throw(converted(given, *as));
  if (is_integer(*as)) {
    if (const std::optional<Lost> lost = value_that_is_lost(given, values))
      refuse("value ", lost->place, " is ", lost->value, ", which no ", to_string(*as),
             " holds; round it, or take another dtype");
  } else if (!is_complex(*as)) {
    if (const std::optional<Lost> lost = value_that_overflows(given, values))
      refuse("value ", lost->place, " is ", lost->value, ", which no ", to_string(*as),
             " holds; take another dtype, or give an infinity");
  }
  return array(values);
}

Tensor scalar_from_bytes(const void* data, DType dtype, SourceLocation at) {
  const PublicCall call("scalar", at);
  const Literal literal = literal_from_bytes(data, 1, dtype, {});
  const Tensor made = array(literal);
  return is_complex(dtype) ? made : with_number(made, {literal.to_double(0), dtype, at});
}

namespace {

Literal value_on_host(std::string_view op, const Tensor& tensor) {
  return value_or_throw(runtime::to_host(*buffer_of(tensor, op), op));
}

}  // namespace

void read_as(std::string_view op, const Tensor& tensor, DType dtype, void* out, SourceLocation at) {
  const PublicCall call(op, at);
  const Literal given = value_on_host(op, tensor);
  if (is_complex(given.shape().dtype()) && !is_complex(dtype)) {
    refuse("operand is ", to_string(given.shape()), "; its elements do not fit ", to_string(dtype),
           ", read std::complex<double> or take real(x)");
  }
  const Literal literal = value_or_throw(converted(given, dtype));
  if (is_integer(dtype)) {
    if (const std::optional<Lost> lost = value_that_is_lost(given, literal))
      refuse("element ", lost->place, " of the operand, ", given.shape(), ", is ", lost->value,
             ", which no ", to_string(dtype),
             " holds; read another type, or round and cast the tensor first");
  }
  if (literal.byte_size() > 0)
    std::memcpy(out, literal.bytes(), static_cast<size_t>(literal.byte_size()));
}

void NestedShape::enter(size_t length) {
  const auto size = static_cast<int64_t>(length);
  const size_t depth = path_.size();
  if (depth == sizes_.size()) sizes_.push_back(size);
  if (sizes_[depth] != size) {
    std::string row, first;
    for (const int64_t i : path_) {
      base::append(row, "[", i, "]");
      base::append(first, "[0]");
    }
    if (depth == 1) {
      row = std::to_string(path_[0]);
      first.assign(1, '0');  // of text, g++ 12 warns of its own string's copy
    }
    throw Error(invalid_argument("array", ": row ", row, " has ", size, " values; it must have ",
                                 sizes_[depth], " as row ", first),
                at_);
  }
  path_.push_back(0);
}

void require_one_element(const Tensor& tensor, SourceLocation at) {
  const Node& node = node_of(tensor, "item", at);
  if (node.buffer && node.shape.element_count() != 1) {
    throw Error(invalid_argument("item", ": operand is ", to_string(node.shape),
                                 "; it must have one element, read others with to_vector"),
                at);
  }
}

}  // namespace trace_internal

const Shape& Tensor::shape_for(std::string_view op, SourceLocation at) const {
  return trace_internal::node_of(*this, op, at).shape;
}

const Shape& Tensor::shape(SourceLocation at) const { return shape_for("shape", at); }

int64_t Tensor::dim(base::Int axis, SourceLocation at) const {
  const PublicCall call("dim", at);
  const Shape& of = shape_for("dim", at);
  return of.dimension(trace_internal::axis_of(of, axis));
}

void Tensor::copy_dims(int64_t* to, size_t rank, SourceLocation at) const {
  const PublicCall call("dims", at);
  const Shape& of = shape_for("dims", at);
  if (static_cast<size_t>(of.rank()) != rank)
    trace_internal::refuse("x is ", of, "; dims<", rank, ">() needs ", rank, " axes: write dims<",
                           of.rank(), ">()");
  std::ranges::copy(of.dimensions(), to);
}

bool Tensor::is_traced() const { return node_ && node_->scope != nullptr; }
bool Tensor::is_placeholder() const { return is_valid() && !node_->scope && !node_->buffer; }
bool Tensor::is_ready() const {
  return node_ && node_->buffer && !node_->buffer->is_deleted() && node_->buffer->is_ready();
}
bool Tensor::is_donated() const { return node_ && node_->buffer && node_->buffer->is_deleted(); }
uint64_t Tensor::id() const { return node_ ? node_->id : 0; }

const Tensor& Tensor::wait(SourceLocation at) const {
  const PublicCall call("wait", at);
  throw_if_error(trace_internal::buffer_of(*this, "wait")->await());
  return *this;
}

Literal Tensor::to_literal(SourceLocation at) const {
  const PublicCall call("to_literal", at);
  return trace_internal::value_on_host("to_literal", *this);
}

Tensor Tensor::astype(DType dtype, SourceLocation at) const {
  const Node& node = trace_internal::node_of(*this, "astype", at);
  if (node.shape.dtype() == dtype) return *this;
  const PublicCall call("astype", at);
  return trace_internal::emit({.opcode = hlo::Opcode::kConvert,
                               .operands = {*this},
                               .declared = node.shape.with_dtype(dtype)});
}

std::string to_string(const Tensor& tensor) {
  if (!tensor.is_valid()) return tensor.node() ? "no value (moved from)" : "no value";
  const Node& node = *tensor.node();
  if (node.scope) return base::cat("traced ", to_string(node.shape));
  if (!node.buffer) return to_string(trace_internal::placeholder_of(node));
  return base::cat(to_string(node.buffer->state()), " ", to_string(node.shape));
}
Tensor placeholder(const Shape& shape, SourceLocation at) {
  const PublicCall call("placeholder", at);
  throw_if_error(base::annotate(check_shape(shape), "placeholder: "));
  auto node = std::make_shared<Node>(shape, PublicCall::line_or({}));
  node->id = next_value_id();
  return Tensor(std::move(node));
}

Tensor placeholder(const base::Ints& shape, DType dtype, SourceLocation at) {
  const PublicCall call("placeholder", at);
  return placeholder(Shape(dtype, shape));
}

Tensor array(const Literal& literal, SourceLocation at) {
  const PublicCall call("array", at);
  if (literal.shape().is_array() && !literal.owner())
    trace_internal::throw_moved_from("array", "literal");
  if (Recorder* recorder = Recorder::current()) return recorder->constant(literal);
  Device& device = *value_or_throw(runtime::find_default_device());
  const std::string_view function = PublicCall::function_or("array");
  return trace_internal::tensor_of(value_or_throw(runtime::to_device(device, literal, function)));
}

}  // namespace heddle
