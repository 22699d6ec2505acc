#include "heddle/trace/internal/eager.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "heddle/base/containers/sole_owner.h"
#include "heddle/base/containers/span.h"
#include "heddle/base/system/pool.h"
#include "heddle/runtime/host/direct.h"
#include "heddle/runtime/registry.h"
#include "heddle/trace/node.h"
#include "heddle/trace/op_names.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/run/known_program.h"

namespace heddle::trace_internal {

runtime::Buffer* concrete_buffer(const Operand& operand) {
  if (!operand.is_tensor() || !operand.tensor().is_valid()) return nullptr;
  const Node& node = *operand.tensor().node();
  return node.scope == nullptr ? node.buffer.get() : nullptr;
}

Node* own_node(const Operand& operand) {
  if (!operand.is_dying()) return nullptr;
  const std::shared_ptr<const Node>& shared = operand.tensor().node();
  if (!base::is_sole_owner(shared)) return nullptr;
  auto& node = const_cast<Node&>(*shared);  // each is made as one that may change
  const bool is_plain =
      node.scope == nullptr && node.number == nullptr && !node.has_remark && !node.sharding;
  return is_plain && base::is_sole_owner(node.buffer) ? &node : nullptr;
}

void drop_if_dying(const Operand& x) {
  if (x.is_dying()) [[maybe_unused]]
    const Tensor gone = std::move(const_cast<Tensor&>(x.tensor()));
}

template <class T>
bool Element::put(T value) {
  std::memcpy(bytes_, &value, sizeof value);
  return true;
}

bool Element::set(const Operand& operand, DType dtype) {
  if (const double* value = std::get_if<double>(&operand.number())) {
    if (dtype == f64) return put(*value);
    const auto narrow = static_cast<float>(*value);
    return dtype == f32 && (std::isfinite(narrow) || !std::isfinite(*value)) && put(narrow);
  }
  if (const uint64_t* bits = std::get_if<uint64_t>(&operand.number()); bits && dtype == u64)
    return put(*bits);
  if (const bool* truth = std::get_if<bool>(&operand.number())) return dtype == pred && put(*truth);
  const int64_t* value = std::get_if<int64_t>(&operand.number());
  if (value == nullptr) return false;
  constexpr int64_t kExactF32 = int64_t{1} << 24, kExactF64 = int64_t{1} << 53;
  const auto is_within = [&](int64_t most) { return *value >= -most && *value <= most; };
  if (dtype == f32) return is_within(kExactF32) && put(static_cast<float>(*value));
  if (dtype == f64) return is_within(kExactF64) && put(static_cast<double>(*value));
  const auto put_as = [&]<class T>(T narrow) { return std::in_range<T>(*value) && put(narrow); };
  if (dtype == s32) return put_as(static_cast<int32_t>(*value));
  if (dtype == u32) return put_as(static_cast<uint32_t>(*value));
  if (dtype == u64) return put_as(static_cast<uint64_t>(*value));
  return dtype == s64 && put(*value);
}

namespace {

using hlo::Opcode;
using runtime::DirectOp;
using runtime::DirectOperand;

std::optional<DirectOp> direct_op(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAdd: return DirectOp::kAdd;
    case Opcode::kSubtract: return DirectOp::kSubtract;
    case Opcode::kMultiply: return DirectOp::kMultiply;
    case Opcode::kDivide: return DirectOp::kDivide;
    case Opcode::kMaximum: return DirectOp::kMaximum;
    case Opcode::kMinimum: return DirectOp::kMinimum;
    case Opcode::kNegate: return DirectOp::kNegate;
    case Opcode::kAbs: return DirectOp::kAbs;
    case Opcode::kSqrt: return DirectOp::kSqrt;
    default: return std::nullopt;  // the usual way
  }
}

DirectOp direct_op(hlo::ComparisonDirection direction) {
  switch (direction) {
    case hlo::ComparisonDirection::kEq: return DirectOp::kEqual;
    case hlo::ComparisonDirection::kNe: return DirectOp::kNotEqual;
    case hlo::ComparisonDirection::kGe: return DirectOp::kGreaterEqual;
    case hlo::ComparisonDirection::kGt: return DirectOp::kGreater;
    case hlo::ComparisonDirection::kLe: return DirectOp::kLessEqual;
    case hlo::ComparisonDirection::kLt: break;
  }
  return DirectOp::kLess;
}

Tensor concrete(runtime::BufferPtr buffer, SourceLocation at) {
  if (buffer == nullptr) return {};
  return Tensor(base::make_pooled<Node>(std::move(buffer), PublicCall::line_or(at)));
}

// Times what runs without a program, where someone looks. What does not run so is not counted.
class DirectSpan {
 public:
  explicit DirectSpan(SourceLocation at)
      : at_(at), start_ns_(base::may_be_observed() ? base::now_ns() : 0) {}
  template <class NameOf>
  Tensor ended(Tensor made, const NameOf& name_of) const {
    if (start_ns_ != 0 && made.is_valid() && base::is_observed()) [[unlikely]] {
      const SourceLocation at = PublicCall::line_or(at_);
      base::add_span(base::Activity::kCall, name_of(), at.known() ? to_string(at) : "", start_ns_,
                     base::now_ns());
    }
    return made;
  }

 private:
  const SourceLocation at_;
  const int64_t start_ns_;  // 0: nobody looks
};

// The result in an operand's own memory; a tensor without a value where it has to have another.
Tensor run_in_place(DirectOp op, DirectOperand a, DirectOperand b, const Operand& operand,
                    SourceLocation at) {
  Node* node = own_node(operand);
  if (node == nullptr || !runtime::run_direct_into(op, a, b, *node->buffer)) return {};
  node->id = next_value_id();  // another value
  node->where = PublicCall::line_or(at);
  return std::move(const_cast<Tensor&>(operand.tensor()));
}

Tensor run_direct(Opcode opcode, DirectOp op, const Operand& x, const Operand& y) {
  runtime::Buffer *const first = concrete_buffer(x), *const second = concrete_buffer(y);
  const runtime::Buffer* array = first != nullptr ? first : second;
  if (array == nullptr || Recorder::current() != nullptr) return {};
  DirectOperand a{first}, b{second};
  Element number;
  if (first == nullptr || second == nullptr) {
    const Operand& other = first == nullptr ? x : y;
    if (other.is_tensor() || !number.set(other, array->shape().dtype())) return {};
    (first == nullptr ? a : b).number = number.bytes();
  }
  const DirectSpan span(x.at());
  Tensor made = run_in_place(op, a, b, x, x.at());
  if (!made.is_valid()) made = run_in_place(op, a, b, y, x.at());
  if (!made.is_valid()) made = concrete(runtime::run_direct(op, a, b), x.at());
  return span.ended(std::move(made), [&] { return user_name(opcode); });
}

hlo::Attrs attrs_of(std::optional<hlo::ComparisonDirection> direction) {
  if (!direction) return {};
  return hlo::CompareAttrs{.direction = *direction};
}

// The program of one op on two arrays, broadcast where they have to be.
Tensor run_program(Opcode opcode, std::optional<hlo::ComparisonDirection> direction,
                   const Operand& x, const Operand& y) {
  const runtime::Buffer *const first = concrete_buffer(x), *const second = concrete_buffer(y);
  if (first == nullptr || second == nullptr || first->shape().dtype() != second->shape().dtype())
    return {};
  return known_program(user_name(opcode), KnownOptions(opcode, direction), {x, y},
                       [&](std::span<const Tensor> xs) {
                         OperandPair pair = unify(xs[0], xs[1]);
                         return emit({.opcode = opcode,
                                      .operands = {std::move(pair.a), std::move(pair.b)},
                                      .attrs = attrs_of(direction)});
                       });
}

}  // namespace

Tensor eager_unary(Opcode opcode, const Operand& x) {
  if (const std::optional<DirectOp> op = direct_op(opcode)) {
    runtime::Buffer* const buffer = concrete_buffer(x);
    if (buffer == nullptr || Recorder::current() != nullptr) return {};
    const DirectSpan span(x.at());
    Tensor made = run_in_place(*op, {buffer}, {}, x, x.at());
    if (!made.is_valid()) made = concrete(runtime::run_direct(*op, {buffer}, {}), x.at());
    made = span.ended(std::move(made), [&] { return user_name(opcode); });
    if (made.is_valid()) return made;
  }
  return known_program(
      user_name(opcode), KnownOptions(opcode), {x},
      [&](std::span<const Tensor> xs) { return emit({.opcode = opcode, .operands = {xs[0]}}); });
}

Tensor eager_binary(Opcode opcode, const Operand& x, const Operand& y) {
  if (const std::optional<DirectOp> op = direct_op(opcode)) {
    if (Tensor made = run_direct(opcode, *op, x, y); made.is_valid()) return made;
  }
  return run_program(opcode, {}, x, y);
}

Tensor eager_comparison(hlo::ComparisonDirection direction, const Operand& x, const Operand& y) {
  if (Tensor made = run_direct(Opcode::kCompare, direct_op(direction), x, y); made.is_valid())
    return made;
  return run_program(Opcode::kCompare, direction, x, y);
}

namespace {

Tensor joined(std::string_view name, std::span<const Tensor> parts, int64_t axis,
              const Shape& shape) {
  if (Recorder::current() != nullptr) return {};
  std::vector<runtime::Buffer*> buffers;
  for (const Tensor& part : parts) {
    buffers.push_back(concrete_buffer(part));
    if (buffers.back() == nullptr || part.node()->sharding != nullptr) return {};
  }
  const DirectSpan span({});
  int64_t blocks = 1;
  for (int64_t i = 0; i < axis; ++i) blocks *= shape.dimension(i);
  return span.ended(concrete(runtime::join(buffers, blocks, shape), {}), [&] { return name; });
}

}  // namespace

Tensor eager_join(std::span<const Tensor> parts, int64_t axis, const Shape& shape) {
  return joined("concat", parts, axis, shape);
}

Tensor eager_fill(const Operand& value, const Shape& shape) {
  if (Recorder::current() != nullptr || value.is_tensor()) return {};
  const StatusOr<Device*> device = runtime::find_default_device();
  if (!device.ok()) return {};
  const DirectSpan span(value.at());
  const auto filled = [&](const void* bytes) {
    return span.ended(concrete(runtime::fill(**device, shape, bytes), value.at()),
                      [] { return "full"; });
  };
  Element element;
  if (element.set(value, shape.dtype())) return filled(element.bytes());
  // Each dtype has these two.
  const int64_t* whole = std::get_if<int64_t>(&value.number());
  if (whole == nullptr || (*whole != 0 && *whole != 1)) return {};
  const Literal one = Literal::scalar(shape.dtype(), static_cast<double>(*whole));
  return filled(one.bytes());
}

Tensor eager_reshape(const Tensor& x, const Shape& shape) {
  if (!x.is_ready() || x.size() != shape.element_count()) return {};
  return joined("reshape", std::span(&x, 1), 0, shape);
}

Tensor eager_row(const Operand& x, int64_t position) {
  runtime::Buffer* const buffer = concrete_buffer(x);
  if (buffer == nullptr || Recorder::current() != nullptr || buffer->shape().rank() == 0) return {};
  const DirectSpan span(x.at());
  const int64_t from_start = position < 0 ? position + buffer->shape().dimension(0) : position;
  return span.ended(concrete(runtime::copy_row(*buffer, from_start), x.at()),
                    [] { return "index"; });
}

Tensor eager_part(const Operand& x, std::span<const int64_t> starts, std::span<const int64_t> sizes,
                  const std::vector<int64_t>& dimensions) {
  runtime::Buffer* const buffer = concrete_buffer(x);
  if (buffer == nullptr || Recorder::current() != nullptr || x.tensor().node()->sharding != nullptr)
    return {};
  const DirectSpan span(x.at());
  const Shape shape = buffer->shape().with_dimensions(dimensions);
  return span.ended(concrete(runtime::copy_part(*buffer, starts, sizes, shape), x.at()),
                    [] { return "index"; });
}

}  // namespace heddle::trace_internal
