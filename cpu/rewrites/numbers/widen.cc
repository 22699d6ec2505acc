#include "heddle/cpu/rewrites/numbers/widen.h"

#include <algorithm>
#include <optional>

#include "heddle/cpu/kernels/products/matmul_narrow.h"
#include "heddle/cpu/lower/elements/small_floats.h"
#include "heddle/cpu/lower/regions/region.h"
#include "heddle/hlo/attributes.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

bool is_number(const Shape& shape) {
  return shape.is_array() && (is_floating(shape.dtype()) || is_integer(shape.dtype()));
}

// A value of `from` is one of `to` as well.
bool holds(DType to, DType from) {
  return from == to || (kind_of(from) == kind_of(to) && storage_bytes(from) < storage_bytes(to)) ||
         (is_signed(to) && is_unsigned(from) && storage_bytes(from) < storage_bytes(to));
}

// The type that products of the operands are summed in.
DType sum_type(const Computation& computation, const Instruction& product) {
  DType widest = product.shape.dtype();
  if (!is_floating(widest)) return widest;
  for (InstructionId id : product.operands) {
    const DType dtype = computation.at(id).shape.dtype();
    if (storage_bytes(dtype) > storage_bytes(widest)) widest = dtype;
  }
  return storage_bytes(widest) < 4 ? f32 : widest;
}

// Sizes of a plain dot's products, each of rows x inner by inner x columns.
struct Sizes {
  int64_t rows, columns, inner;
};

Sizes sizes_of(const Computation& computation, const Instruction& dot) {
  const Shape &lhs = computation.at(dot.operands[0]).shape,
              &rhs = computation.at(dot.operands[1]).shape;
  const auto& attrs = dot.attrs.get<hlo::DotAttrs>();
  int64_t batch = 1, inner = 1;
  for (int64_t d : attrs.lhs_batch_dims) batch *= lhs.dimension(d);
  for (int64_t d : attrs.lhs_contracting_dims) inner *= lhs.dimension(d);
  const int64_t shared = std::max<int64_t>(batch * inner, 1);
  return {lhs.element_count() / shared, rhs.element_count() / shared, inner};
}

// A dot that reads each element of an operand once at most, so that it may convert what it reads.
bool is_vector_product(const Computation& computation, const Instruction& dot) {
  return dot.opcode == Opcode::kDot && is_plain_dot(computation, dot) &&
         (reads_once(computation, dot, 0) || reads_once(computation, dot, 1));
}

// Products of bf16, s8 or u8 that the processor's unit may take, or loops that convert what they
// read, and the type that these sum them in.
std::optional<DType> sum_type_of_unit(const Computation& computation, const Instruction& dot) {
  constexpr int64_t kFewestLanes = 2, kFewestProducts = 1 << 15;
  if (dot.opcode != Opcode::kDot || !is_number(dot.shape)) return std::nullopt;
  const Shape &lhs = computation.at(dot.operands[0]).shape,
              &rhs = computation.at(dot.operands[1]).shape;
  const DType element = lhs.dtype(), result = dot.shape.dtype();
  const bool has_unit = narrow_unit(element) != NarrowUnit::kNone && rhs.dtype() == element &&
                        is_floating(result) == is_floating(element) && storage_bytes(result) <= 4;
  if (!has_unit || result == f16 || lhs.is_dynamic() || rhs.is_dynamic()) return std::nullopt;
  const auto [rows, columns, inner] = sizes_of(computation, dot);
  if (std::min(rows, columns) < kFewestLanes || rows * columns * inner < kFewestProducts)
    return std::nullopt;
  if (storage_bytes(result) == 4) return result;
  return element == bf16 ? f32 : s32;
}

bool is_narrow_product(const Computation& computation, const Instruction& instruction) {
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
std::optional<Opcode> float_fold(const Computation& computation) {
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

bool is_fold(const Instruction& instruction) {
  return instruction.opcode == Opcode::kReduce || instruction.opcode == Opcode::kReduceWindow;
}

bool is_narrow_fold(const hlo::Module& module, const Instruction& instruction) {
  if (!is_fold(instruction)) return false;
  if (instruction.opcode == Opcode::kReduceWindow &&
      has_few_taps(instruction.attrs.get<hlo::WindowAttrs>().window))
    return false;
  return instruction.operands.size() == 2 && instruction.shape.is_array() &&
         is_small_float(instruction.shape.dtype()) && bit_width(instruction.shape.dtype()) == 16 &&
         float_fold(module.at(instruction.called[0]));
}

// A dot of its operands as they are, summed in another type than that of its result.
hlo::Value summed_in(transform::Rebuilder& to, InstructionId i, DType dtype) {
  const Instruction& old = to.old(i);
  if (old.shape.dtype() == dtype) return {};
  hlo::Graph& graph = to.in_place_of(i);
  const Shape shape = old.shape.with_dtype(dtype);
  const hlo::Value y = graph.op(old.opcode, to.operands(i), old.attrs, {}, &shape);
  return convert(y, old.shape.dtype());
}

// The instruction computed in another type.
hlo::Value wide(transform::Rebuilder& to, InstructionId i, DType dtype,
                std::vector<ComputationId> called) {
  const Instruction& old = to.old(i);
  hlo::Graph& graph = to.in_place_of(i);
  hlo::Values operands = to.operands(i);
  for (hlo::Value& x : operands) x = convert(x, dtype);
  const Shape shape = old.shape.with_dtype(dtype);
  const hlo::Value y = graph.op(old.opcode, operands, old.attrs, std::move(called), &shape);
  if (y.dtype() == old.shape.dtype()) return y;
  return graph.op(Opcode::kConvert, {y}, {}, {}, &old.shape);
}

// The type in which the fold's computation takes operand i. The operands are (elements.., initial
// values..), and the parameters (sums.., elements..).
DType folded_as(const hlo::Module& module, const Instruction& fold, size_t i) {
  const Computation& by = module.at(fold.called[0]);
  const size_t count = fold.operands.size(), parameter = (i + count / 2) % count;
  return by.at(by.parameters[parameter]).shape.dtype();
}

// A fold whose computation takes other types than those of the operands, as sums of bf16 in f32.
bool has_other_types(const hlo::Module& module, const Computation& computation,
                     const Instruction& instruction) {
  if (!is_fold(instruction)) return false;
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    if (computation.at(instruction.operands[i]).shape.dtype() != folded_as(module, instruction, i))
      return true;
  }
  return false;
}

hlo::Value with_folded_types(const hlo::Module& module, transform::Rebuilder& to, InstructionId id,
                             ComputationId by) {
  const Instruction& old = to.old(id);
  hlo::Graph& graph = to.in_place_of(id);
  hlo::Values operands = to.operands(id);
  for (size_t i = 0; i < operands.size(); ++i)
    operands[i] = convert(operands[i], folded_as(module, old, i));
  return graph.op(old.opcode, operands, old.attrs, {by}, &old.shape);
}

bool is_long_to_small(const Computation& computation, const Instruction& convert) {
  if (convert.opcode != Opcode::kConvert || convert.shape.is_dynamic() ||
      !is_small_float(convert.shape.dtype()))
    return false;
  const DType from = computation.at(convert.operands[0]).shape.dtype();
  return from == s64 || from == u64;
}

// Through f64, and rounded once: of more bits than f64 has, the last ones become one that says
// whether any of them is set (rounding to odd).
// source: S. Boldo, G. Melquiond, Emulation of FMA and correctly rounded sums (IEEE TC 2008)
hlo::Value through_f64(transform::Rebuilder& to, InstructionId id) {
  constexpr double kBelow = 1 << 11;  // f64 has 53 of 64 bits
  constexpr double kExact = static_cast<double>(int64_t{1} << 53);
  to.in_place_of(id);
  const hlo::Value x = to.operands(id)[0];
  const hlo::Value last = x & x.number(kBelow - 1);
  const hlo::Value odd = (x - last) | select(last != x.number(0), x.number(kBelow), 0);
  hlo::Value is_long = x > x.number(kExact);
  if (x.dtype() == s64) is_long = is_long | (x < x.number(-kExact));
  return convert(convert(select(is_long, odd, x), f64), to.old(id).shape.dtype());
}

}  // namespace

StatusOr<hlo::Module> widen(const hlo::Module& module) {
  return transform::with_rewritten(module,
                                   [&](transform::ModuleRebuilder& into, transform::Rebuilder& to,
                                       auto, InstructionId i) -> hlo::Value {
                                     const Instruction& old = to.old(i);
                                     if (const auto dtype = sum_type_of_unit(to.from(), old))
                                       return summed_in(to, i, *dtype);
                                     if (is_narrow_product(to.from(), old))
                                       return wide(to, i, sum_type(to.from(), old), {});
                                     if (is_narrow_fold(module, old)) {
                                       const Opcode opcode = *float_fold(module.at(old.called[0]));
                                       return wide(to, i, f32, {into.combiner(opcode, f32)});
                                     }
                                     if (is_long_to_small(to.from(), old))
                                       return through_f64(to, i);
                                     if (has_other_types(module, to.from(), old))
                                       return with_folded_types(module, to, i, into[old.called[0]]);
                                     return {};
                                   });
}

}  // namespace heddle::cpu
