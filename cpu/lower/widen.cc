#include "heddle/cpu/lower/widen.h"

#include <algorithm>
#include <map>
#include <optional>

#include "heddle/cpu/lower/region.h"
#include "heddle/cpu/lower/small_floats.h"
#include "heddle/hlo/attributes.h"
#include "heddle/transform/emitter.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::ComputationId;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;
using transform::Emitter;

bool is_number(const Shape& shape) {
  return shape.is_array() && (is_floating(shape.dtype()) || is_integer(shape.dtype()));
}

// A value of `from` is one of `to` as well.
bool holds(DType to, DType from) {
  return from == to || (kind_of(from) == kind_of(to) && storage_bytes(from) < storage_bytes(to)) ||
         (is_signed(to) && is_unsigned(from) && storage_bytes(from) < storage_bytes(to));
}

// The type that products of the operands are summed in.
DType sum_type(const hlo::Computation& computation, const Instruction& product) {
  DType widest = product.shape.dtype();
  if (!is_floating(widest)) return widest;
  for (InstructionId id : product.operands) {
    const DType dtype = computation.at(id).shape.dtype();
    if (storage_bytes(dtype) > storage_bytes(widest)) widest = dtype;
  }
  return storage_bytes(widest) < 4 ? f32 : widest;
}

// A dot that reads each element of an operand once at most, so that it may convert what it reads.
bool is_vector_product(const hlo::Computation& computation, const Instruction& dot) {
  if (dot.opcode != Opcode::kDot || !is_plain_dot(computation, dot)) return false;
  const auto& attrs = dot.attrs.get<hlo::DotAttrs>();
  int64_t batch = 1;
  for (int64_t d : attrs.lhs_batch_dims)
    batch *= computation.at(dot.operands[0]).shape.dimension(d);
  int64_t inner = batch;
  for (int64_t d : attrs.lhs_contracting_dims)
    inner *= computation.at(dot.operands[0]).shape.dimension(d);
  return std::ranges::any_of(dot.operands, [&](InstructionId id) {
    return computation.at(id).shape.element_count() == inner;
  });
}

bool is_narrow_product(const hlo::Computation& computation, const Instruction& instruction) {
  if (instruction.opcode != Opcode::kDot && instruction.opcode != Opcode::kConvolution)
    return false;
  if (!is_number(instruction.shape) || is_vector_product(computation, instruction)) return false;
  const DType wanted = sum_type(computation, instruction);
  bool differs = instruction.shape.dtype() != wanted;
  if (differs && !is_small_float(instruction.shape.dtype())) return false;
  for (InstructionId id : instruction.operands) {
    const Shape& shape = computation.at(id).shape;
    if (!is_number(shape) || !holds(wanted, shape.dtype())) return false;
    differs = differs || shape.dtype() != wanted;
  }
  return differs;
}

// The op of a computation that folds two floats with it.
std::optional<Opcode> float_fold(const hlo::Computation& computation) {
  const Instruction& root = computation.root_instruction();
  const auto& parameters = computation.parameters;
  if (parameters.size() != 2 || root.operands.size() != 2) return std::nullopt;
  if (!std::ranges::is_permutation(root.operands, parameters)) return std::nullopt;
  switch (root.opcode) {
    case Opcode::kAdd:
    case Opcode::kMultiply:
    case Opcode::kMaximum:
    case Opcode::kMinimum: return root.opcode;
    default: return std::nullopt;
  }
}

// Windows of fewer taps round at every step of their body, as it says.
constexpr int64_t kFewTaps = 64;

bool has_few_taps(const hlo::Window& window) {
  int64_t taps = 1;
  for (const hlo::WindowDimension& w : window.dimensions) {
    taps *= w.size;
    if (taps > kFewTaps) return false;
  }
  return true;
}

bool is_narrow_fold(const hlo::Module& module, const Instruction& instruction) {
  const bool is_window = instruction.opcode == Opcode::kReduceWindow;
  if (instruction.opcode != Opcode::kReduce && !is_window) return false;
  if (is_window && has_few_taps(instruction.attrs.get<hlo::WindowAttrs>().window)) return false;
  return instruction.operands.size() == 2 && instruction.shape.is_array() &&
         is_small_float(instruction.shape.dtype()) && float_fold(module.at(instruction.called[0]));
}

class Widening {
 public:
  explicit Widening(const hlo::Module& from) : from_(from) {}

  // What is read in place of an instruction; none where it stays.
  InstructionId operator()(transform::ModuleRebuilder& into, transform::Rebuilder& to,
                           InstructionId i) {
    const Instruction& old = to.old(i);
    if (is_narrow_product(to.from(), old)) return wide(to, i, sum_type(to.from(), old), {});
    if (!is_narrow_fold(from_, old)) return {};
    return wide(to, i, f32, {fold(into, *float_fold(from_.at(old.called[0])), old)});
  }

 private:
  // The instruction computed in another type.
  static InstructionId wide(transform::Rebuilder& to, InstructionId i, DType dtype,
                            std::vector<ComputationId> called) {
    Emitter emit(to.builder(), to.old(i));
    const auto convert = [&](InstructionId x, DType type) {
      if (emit.shape(x).dtype() == type) return x;
      return emit.op(Opcode::kConvert, emit.shape(x).with_dtype(type), {x});
    };
    std::vector<InstructionId> operands;
    for (InstructionId operand : to.old(i).operands)
      operands.push_back(convert(to[operand], dtype));
    const Shape& shape = to.old(i).shape;
    return convert(emit.op(to.old(i).opcode, shape.with_dtype(dtype), std::move(operands),
                           to.old(i).attrs, std::move(called)),
                   shape.dtype());
  }

  ComputationId fold(transform::ModuleRebuilder& into, Opcode opcode, const Instruction& like) {
    const auto found = folds_.find(opcode);
    if (found != folds_.end()) return found->second;
    hlo::ComputationBuilder to(into.into());
    const InstructionId a = to.parameter(Shape::scalar(f32)), b = to.parameter(Shape::scalar(f32));
    const InstructionId root = Emitter(to, like).op(opcode, Shape::scalar(f32), {a, b});
    return folds_[opcode] = into.add(std::move(to).finish(root));
  }

  const hlo::Module& from_;
  std::map<Opcode, ComputationId> folds_;
};

}  // namespace

StatusOr<hlo::Module> widen(const hlo::Module& module) {
  Widening widening(module);
  return transform::with_rewritten(
      module, [&](auto& into, auto& to, auto, InstructionId i) {
        const InstructionId now = widening(into, to, i);
        return now.valid() ? to.in_place_of(i).wrap(now) : hlo::Value();
      });
}

}  // namespace heddle::cpu
