// The start of a reduction, which XLA takes for an identity of its function: over one element a
// reduction is dropped with its start, and over more than 32 a sum takes it once for every 32.
//
//   reduce(x, s), add              =>   add(reduce(x, 0), s)
//   reduce(x, y, s, t), over one   =>   map(s, t, x, y), a map for each result
//
// The second stands for every function that is none of those known, where one element is reduced.
#include <cmath>
#include <numeric>
#include <optional>

#include "heddle/pjrt/internal/expand.h"
#include "heddle/pjrt/internal/rewrite.h"
#include "heddle/transform/emitter.h"

namespace heddle::pjrt {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;

bool is_reduction(const Instruction& instruction) {
  return instruction.opcode == Opcode::kReduce || instruction.opcode == Opcode::kReduceWindow;
}

// The one op of the two parameters that the function is.
std::optional<Opcode> only_op(const Computation& function) {
  if (function.parameter_count() != 2) return std::nullopt;
  const Instruction& root = function.root_instruction();
  if (root.operands.size() != 2) return std::nullopt;
  const InstructionId a = function.parameters[0], b = function.parameters[1];
  const bool is_of_both = (root.operands[0] == a && root.operands[1] == b) ||
                          (root.operands[0] == b && root.operands[1] == a);
  return is_of_both ? std::optional(root.opcode) : std::nullopt;
}

int64_t largest_integer(DType dtype) {
  const int bits = bit_width(dtype) - (is_signed(dtype) ? 1 : 0);
  if (bits == 64) return -1;  // the bits of u64's
  return static_cast<int64_t>((uint64_t{1} << bits) - 1);
}

bool has_infinity(DType dtype) {
  return dtype == f16 || dtype == bf16 || dtype == f32 || dtype == f64;
}

// What the op leaves as it is with any other number. None: not known.
std::optional<Literal> identity(Opcode opcode, DType dtype) {
  const bool is_real_number = has_infinity(dtype), is_whole = is_integer(dtype);
  const bool is_number = is_real_number || is_whole || is_complex(dtype);
  const bool is_bits = is_whole || dtype == pred;
  switch (opcode) {
    case Opcode::kAdd:
      if (is_real_number) return Literal::scalar(dtype, -0.0);
      return is_number || dtype == pred ? std::optional(Literal(Shape::scalar(dtype)))
                                        : std::nullopt;
    case Opcode::kMultiply:
      if (is_bits) return Literal::scalar(dtype, int64_t{1});
      return is_number ? std::optional(Literal::scalar(dtype, 1.0)) : std::nullopt;
    case Opcode::kAnd:
      if (dtype == pred) return Literal::scalar(dtype, int64_t{1});
      if (!is_whole) return std::nullopt;
      return Literal::scalar(dtype, is_signed(dtype) ? int64_t{-1} : largest_integer(dtype));
    case Opcode::kOr:
    case Opcode::kXor: return is_bits ? std::optional(Literal(Shape::scalar(dtype))) : std::nullopt;
    case Opcode::kMaximum:
      if (is_real_number) return Literal::scalar(dtype, -INFINITY);
      if (dtype == pred) return Literal::scalar(dtype, int64_t{0});
      if (!is_whole) return std::nullopt;
      return Literal::scalar(dtype, is_signed(dtype) ? -largest_integer(dtype) - 1 : 0);
    case Opcode::kMinimum:
      if (is_real_number) return Literal::scalar(dtype, INFINITY);
      if (dtype == pred) return Literal::scalar(dtype, int64_t{1});
      if (!is_whole) return std::nullopt;
      return Literal::scalar(dtype, largest_integer(dtype));
    default: return std::nullopt;
  }
}

// Zeros of either sign are the same start.
bool is_equal(const Literal& a, const Literal& b) {
  if (a == b) return true;
  return is_floating(a.shape().dtype()) && a.to_double(0) == b.to_double(0);
}

// The identity that the function has; none where it is not known, or several arrays are reduced.
std::optional<Literal> identity_of(const hlo::Module& module, const Instruction& reduction) {
  if (reduction.operands.size() != 2) return std::nullopt;
  const std::optional<Opcode> op = only_op(module.at(reduction.called[0]));
  return op.has_value() ? identity(*op, reduction.shape.dtype()) : std::nullopt;
}

bool starts_from(const Computation& computation, const Instruction& reduction,
                 const Literal& wanted) {
  const Instruction& start = computation.at(reduction.operands[1]);
  if (start.opcode != Opcode::kConstant) return false;
  const Literal& value = start.attrs.get<hlo::ConstantAttrs>().literal;
  return value.shape().dtype() == wanted.shape().dtype() && is_equal(value, wanted);
}

bool is_of_one_element(const Computation& computation, const Instruction& reduction) {
  const Shape& x = computation.at(reduction.operands[0]).shape;
  if (reduction.opcode != Opcode::kReduce) return x.rank() == 0;
  const auto& dimensions = reduction.attrs.get<hlo::DimensionsAttrs>().dimensions;
  return std::ranges::all_of(dimensions, [&](int64_t d) { return x.dimension(d) == 1; });
}

bool is_misread(const hlo::Module& module, const Computation& computation,
                const Instruction& reduction) {
  if (!is_reduction(reduction)) return false;
  const std::optional<Literal> known = identity_of(module, reduction);
  return known.has_value() ? !starts_from(computation, reduction, *known)
                           : is_of_one_element(computation, reduction);
}

Shape plain(Shape shape) {
  shape.clear_layout();
  return shape;
}

InstructionId spread(transform::Emitter& emit, InstructionId scalar, const Shape& result) {
  return emit.op(Opcode::kBroadcast, plain(result).with_dtype(emit.shape(scalar).dtype()), {scalar},
                 hlo::DimensionsAttrs());
}

InstructionId from_identity(hlo::ComputationBuilder& to, Instruction now, Opcode op,
                            const Literal& identity) {
  transform::Emitter emit(to, now);
  const InstructionId start = spread(emit, now.operands[1], now.shape);
  const Shape result = plain(now.shape);
  now.operands[1] =
      emit.op(Opcode::kConstant, identity.shape(), {}, hlo::ConstantAttrs{.literal = identity});
  return emit.op(op, result, {start, to.append(now)});
}

// The function with its result of that number alone.
Computation part_of(Computation function, int64_t number, const transform::Effects& effects) {
  if (!function.result_shape().is_tuple()) return function;
  const Instruction& root = function.root_instruction();
  if (root.opcode == Opcode::kTuple) {
    function.root = root.operands[static_cast<size_t>(number)];
  } else {
    Instruction element;
    element.opcode = Opcode::kGetTupleElement;
    element.shape = root.shape.elements()[static_cast<size_t>(number)];
    element.operands = {function.root};
    element.attrs = hlo::TupleIndexAttrs{.index = number};
    function.instructions.push_back(std::move(element));
    function.root = InstructionId(function.instructions.size() - 1);
  }
  transform::sweep(function, effects);
  return function;
}

InstructionId as_maps(transform::ModuleRebuilder& into, transform::Rebuilder& to, InstructionId i) {
  const Instruction now = to.mapped(i);
  transform::Emitter emit(to.builder(), to.old(i));
  const auto count = static_cast<int64_t>(now.operands.size() / 2);
  const bool is_several = now.shape.is_tuple();
  const Shape first = plain(is_several ? now.shape.elements()[0] : now.shape);
  std::vector<InstructionId> operands;
  for (int64_t k = 0; k < count; ++k)
    operands.push_back(spread(emit, now.operands[static_cast<size_t>(count + k)], first));
  for (int64_t k = 0; k < count; ++k) {
    const InstructionId x = now.operands[static_cast<size_t>(k)];
    operands.push_back(emit.op(Opcode::kReshape, first.with_dtype(emit.shape(x).dtype()), {x},
                               hlo::ReshapeAttrs()));
  }
  hlo::DimensionsAttrs every;
  every.dimensions.resize(static_cast<size_t>(first.rank()));
  std::iota(every.dimensions.begin(), every.dimensions.end(), int64_t{0});
  std::vector<InstructionId> results;
  for (int64_t k = 0; k < count; ++k) {
    const hlo::ComputationId function =
        into.add(part_of(into.into().at(now.called[0]), k, into.effects()));
    const Shape result = is_several ? now.shape.elements()[static_cast<size_t>(k)] : now.shape;
    results.push_back(emit.op(Opcode::kMap, plain(result), operands, every, {function}));
  }
  return is_several ? emit.tuple(std::move(results)) : results[0];
}

}  // namespace

bool has_misread_starts(const hlo::Module& module) {
  return any_instruction(module, [&](const Computation& computation, const Instruction& each) {
    return is_misread(module, computation, each);
  });
}

hlo::Module expand_reduce_starts(const hlo::Module& module) {
  return rewritten(
      module,
      [&](const Computation& computation, const Instruction& each) {
        return is_misread(module, computation, each);
      },
      [&](transform::ModuleRebuilder& into, transform::Rebuilder& to, InstructionId i) {
        const Instruction& old = to.old(i);
        const std::optional<Literal> known = identity_of(module, old);
        if (!known.has_value()) return as_maps(into, to, i);
        return from_identity(to.builder(), to.mapped(i), *only_op(module.at(old.called[0])),
                             *known);
      });
}

}  // namespace heddle::pjrt
