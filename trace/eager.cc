#include "heddle/trace/eager.h"

#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "heddle/base/hash.h"
#include "heddle/hlo/builder.h"
#include "heddle/runtime/direct.h"
#include "heddle/trace/node.h"
#include "heddle/trace/op_names.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/run_module.h"

namespace heddle::trace_internal {
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

// The buffer of a concrete value; null for all else. It may be donated.
runtime::Buffer* buffer_of(const Operand& operand) {
  if (!operand.is_tensor() || !operand.tensor().is_valid()) return nullptr;
  const Node& node = *operand.tensor().node();
  return node.scope == nullptr ? node.buffer.get() : nullptr;
}

// A C++ number as one element, where the dtype plainly holds it: constant_like() knows the rest.
class Element {
 public:
  [[nodiscard]] bool set(const Operand& operand, DType dtype) {
    if (const double* value = std::get_if<double>(&operand.number())) {
      if (dtype == f64) return put(*value);
      const auto narrow = static_cast<float>(*value);
      return dtype == f32 && (std::isfinite(narrow) || !std::isfinite(*value)) && put(narrow);
    }
    const int64_t* value = std::get_if<int64_t>(&operand.number());
    if (value == nullptr) return false;
    constexpr int64_t kExactF32 = int64_t{1} << 24, kExactF64 = int64_t{1} << 53;
    const auto is_within = [&](int64_t most) { return *value >= -most && *value <= most; };
    if (dtype == f32) return is_within(kExactF32) && put(static_cast<float>(*value));
    if (dtype == f64) return is_within(kExactF64) && put(static_cast<double>(*value));
    if (dtype == s32) return is_within(INT32_MAX) && put(static_cast<int32_t>(*value));
    return dtype == s64 && put(*value);
  }
  [[nodiscard]] const void* bytes() const { return bytes_; }

 private:
  template <class T>
  bool put(T value) {
    std::memcpy(bytes_, &value, sizeof value);
    return true;
  }
  alignas(8) std::byte bytes_[8];
};

Tensor concrete(runtime::BufferPtr buffer, SourceLocation at) {
  if (buffer == nullptr) return {};
  return Tensor(std::make_shared<Node>(std::move(buffer), PublicCall::line_or(at)));
}

// The node of a concrete value that the operand alone refers to, and its reader reads no more.
Node* own_node(const Operand& operand) {
  if (!operand.is_dying()) return nullptr;
  const std::shared_ptr<const Node>& shared = operand.tensor().node();
  if (shared == nullptr || shared.use_count() != 1) return nullptr;
#ifdef __SANITIZE_THREAD__
  const auto fence = shared;  // as in Literal::is_unique()
#else
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
  auto& node = const_cast<Node&>(*shared);  // each is made as one that may change
  const bool is_plain =
      node.scope == nullptr && node.number == nullptr && !node.has_remark && !node.sharding;
  return is_plain && node.buffer.use_count() == 1 ? &node : nullptr;
}

// The result in an operand's own memory; a tensor without a value where it has to have another.
Tensor run_in_place(DirectOp op, DirectOperand a, DirectOperand b, const Operand& operand,
                    SourceLocation at) {
  Node* node = own_node(operand);
  if (node == nullptr || !runtime::run_direct_into(op, a, b, *node->buffer)) return {};
  node->id = next_value_id();  // another value
  node->where = PublicCall::line_or(at);
  return std::move(const_cast<Tensor&>(operand.tensor()));
}

Tensor run_direct(DirectOp op, const Operand& x, const Operand& y) {
  runtime::Buffer *const first = buffer_of(x), *const second = buffer_of(y);
  const runtime::Buffer* array = first != nullptr ? first : second;
  if (array == nullptr || Recorder::current() != nullptr) return {};
  DirectOperand a{first}, b{second};
  Element number;
  if (first == nullptr || second == nullptr) {
    const Operand& other = first == nullptr ? x : y;
    if (other.is_tensor() || !number.set(other, array->shape().dtype())) return {};
    (first == nullptr ? a : b).number = number.bytes();
  }
  if (Tensor made = run_in_place(op, a, b, x, x.at()); made.is_valid()) return made;
  if (Tensor made = run_in_place(op, a, b, y, x.at()); made.is_valid()) return made;
  return concrete(runtime::run_direct(op, a, b), x.at());
}

// ----- programs of one op

// An op on one or two arrays of a type, on a device.
struct Key {
  Opcode opcode;
  std::optional<hlo::ComparisonDirection> direction;
  size_t operands;
  const runtime::Buffer* first;
  SourceLocation at;  // where it is made; no part of the key

  [[nodiscard]] size_t hash() const {
    base::Hasher hasher;
    hasher.add_word(static_cast<uint64_t>(opcode) * 8 + operands);
    hasher.add_word(direction ? static_cast<uint64_t>(*direction) + 1 : 0);
    hasher.add_word(first->device().serial());
    hash_value(hasher, first->shape());
    return hasher.digest().low;
  }
};

// What a thread keeps of a program that executable_for() holds: a hit takes no lock.
struct Known {
  Opcode opcode = {};
  std::optional<hlo::ComparisonDirection> direction;
  size_t operands = 0;
  Shape shape;
  uint64_t device = 0;  // serial number
  std::weak_ptr<runtime::Executable> executable;
  uint64_t hash = 0;  // of the program there
  uint32_t hits = 0;

  [[nodiscard]] bool is_of(const Key& key) const {
    return opcode == key.opcode && direction == key.direction && operands == key.operands &&
           device == key.first->device().serial() && same_type(shape, key.first->shape());
  }
};
using KnownPrograms = std::array<Known, 256>;

// Of this thread; null when its variables are being destroyed.
KnownPrograms* known_programs() {
  thread_local bool is_gone = false;  // has no destructor, so that it may be read at any time
  struct Owner {
    std::unique_ptr<KnownPrograms> all = std::make_unique<KnownPrograms>();
    ~Owner() { is_gone = true; }
  };
  if (is_gone) return nullptr;
  thread_local const Owner kOwner;
  return kOwner.all.get();
}

// The module that recording the op would give.
StatusOr<hlo::Module> module_of(const Key& key) {
  hlo::Module module;
  module.name = user_name(key.opcode);
  hlo::ComputationBuilder builder(module);
  builder.set_location(PublicCall::line_or(key.at));
  std::vector<hlo::InstructionId> operands;
  for (size_t i = 0; i < key.operands; ++i)
    operands.push_back(builder.parameter(key.first->shape()));
  hlo::Attrs attrs;
  if (key.direction) attrs = hlo::CompareAttrs{.direction = *key.direction};
  HEDDLE_ASSIGN_OR_RETURN(const hlo::InstructionId id, builder.add(key.opcode, operands, attrs));
  HEDDLE_ASSIGN_OR_RETURN(const hlo::InstructionId root,
                          builder.add(Opcode::kTuple, std::span(&id, 1)));
  hlo::Computation computation = std::move(builder).finish(root);
  computation.name = module.name;
  module.entry = module.add(std::move(computation));
  return module;
}

// Null where there is none, for which the usual way has words.
std::shared_ptr<runtime::Executable> program_of(const Key& key) {
  KnownPrograms* all = known_programs();
  if (all == nullptr) return nullptr;
  Known& known = (*all)[key.hash() % all->size()];
  if (known.is_of(key)) {
    std::shared_ptr<runtime::Executable> executable = known.executable.lock();
    constexpr uint32_t kRefresh = 64;  // the cache of programs lets go of what is not used
    if (executable && ++known.hits % kRefresh == 0) used_again(known.hash, executable);
    if (executable) return executable;
  }
  const StatusOr<hlo::Module> module = module_of(key);
  if (!module.ok()) return nullptr;
  uint64_t hash = 0;
  auto executable = executable_for(*module, key.first->device(), {}, &hash);
  if (!executable.ok()) return nullptr;
  known = {
      key.opcode,  key.direction, key.operands, key.first->shape(), key.first->device().serial(),
      *executable, hash};
  return *std::move(executable);
}

// An array as an operand of a program of one op; null for all else.
const Node* plain_array(const Operand& operand) {
  if (buffer_of(operand) == nullptr) return nullptr;
  const Node& node = *operand.tensor().node();
  const bool is_plain = !node.sharding && !node.shape.is_dynamic() && !node.shape.has_layout();
  return is_plain && !node.buffer->is_deleted() ? &node : nullptr;
}

Tensor run_program(Opcode opcode, std::optional<hlo::ComparisonDirection> direction,
                   const Operand& x, const Operand* y) {
  if (Recorder::current() != nullptr) return {};
  const Node *const first = plain_array(x), *const second = y ? plain_array(*y) : nullptr;
  if (first == nullptr || (y != nullptr && second == nullptr)) return {};
  if (second && (&first->buffer->device() != &second->buffer->device() ||
                 !same_type(first->shape, second->shape)))
    return {};
  const auto executable =
      program_of({opcode, direction, size_t{1} + (second != nullptr), first->buffer.get(), x.at()});
  if (executable == nullptr) return {};
  const runtime::BufferPtr arguments[] = {first->buffer, second ? second->buffer : nullptr};
  auto results = executable->execute(std::span(arguments, second ? 2 : 1));
  return results.ok() ? concrete(std::move(results->front()), x.at()) : Tensor();
}

}  // namespace

Tensor eager_unary(Opcode opcode, const Operand& x) {
  if (const std::optional<DirectOp> op = direct_op(opcode)) {
    runtime::Buffer* const buffer = buffer_of(x);
    if (buffer == nullptr || Recorder::current() != nullptr) return {};
    if (Tensor made = run_in_place(*op, {buffer}, {}, x, x.at()); made.is_valid()) return made;
    if (Tensor made = concrete(runtime::run_direct(*op, {buffer}, {}), x.at()); made.is_valid())
      return made;
  }
  return run_program(opcode, {}, x, nullptr);
}

Tensor eager_binary(Opcode opcode, const Operand& x, const Operand& y) {
  if (const std::optional<DirectOp> op = direct_op(opcode)) {
    if (Tensor made = run_direct(*op, x, y); made.is_valid()) return made;
  }
  return run_program(opcode, {}, x, &y);
}

Tensor eager_comparison(hlo::ComparisonDirection direction, const Operand& x, const Operand& y) {
  if (Tensor made = run_direct(direct_op(direction), x, y); made.is_valid()) return made;
  return run_program(Opcode::kCompare, direction, x, &y);
}

Tensor eager_row(const Tensor& x, int64_t position, SourceLocation at) {
  runtime::Buffer* const buffer = buffer_of(Operand(x, at));
  if (buffer == nullptr || Recorder::current() != nullptr || buffer->shape().rank() == 0) return {};
  const int64_t from_start = position < 0 ? position + buffer->shape().dimension(0) : position;
  return concrete(runtime::copy_row(*buffer, from_start), at);
}

}  // namespace heddle::trace_internal
