// c128 and pairs of c64 in each other's bits: the real part of a c128 are the bytes of the first
// c64, the imaginary part those of the second, and of each the low half comes first.
#include "heddle/pjrt/internal/expand/expand.h"
#include "heddle/pjrt/internal/expand/rewrite.h"
#include "heddle/transform/emitter.h"

namespace heddle::pjrt {
namespace {

using hlo::Dims;

class ComplexBits {
 public:
  ComplexBits(hlo::ComputationBuilder& to, const Instruction& op)
      : emit_(to, op), x_(op.operands[0]), narrow_(op.shape.dtype() == c64), result_(op.shape) {
    result_.clear_layout();
  }

  InstructionId run() { return narrow_ ? halves() : joined(); }

 private:
  // c128[..] as c64[..,2].
  InstructionId halves() {
    const Shape shape = emit_.shape(x_);
    const InstructionId parts =
        beside(bits(part(Opcode::kReal), extended(shape, {2}, f32)),
               bits(part(Opcode::kImag), extended(shape, {2}, f32)), shape.rank());
    return complex(along(parts, shape.rank() + 1, 0), along(parts, shape.rank() + 1, 1));
  }

  // c64[..,2] as c128[..].
  InstructionId joined() {
    const int64_t last = emit_.shape(x_).rank() - 1;
    const InstructionId pairs = beside(part(Opcode::kReal), part(Opcode::kImag), last + 1);
    const InstructionId doubles = bits(pairs, emit_.shape(x_).with_dtype(f64));
    return complex(along(doubles, last, 0), along(doubles, last, 1));
  }

  InstructionId part(Opcode opcode) {
    const Shape shape = emit_.shape(x_);
    return emit_.op(opcode, Shape(narrow_ ? f64 : f32, shape.dimensions()), {x_});
  }
  InstructionId complex(InstructionId real, InstructionId imaginary) {
    return emit_.op(Opcode::kComplex, result_, {real, imaginary});
  }
  InstructionId bits(InstructionId x, Shape shape) {
    shape.clear_layout();
    return emit_.op(Opcode::kBitcastConvert, std::move(shape), {x});
  }
  // The two along a new dimension.
  InstructionId beside(InstructionId a, InstructionId b, int64_t dimension) {
    return emit_.concatenate({emit_.add_dimension(a, dimension), emit_.add_dimension(b, dimension)},
                             dimension);
  }
  // x[.., index, ..], without the dimension.
  InstructionId along(InstructionId x, int64_t dimension, int64_t index) {
    return emit_.drop_dimension(emit_.slice(x, dimension, index, 1), dimension);
  }
  static Shape extended(const Shape& shape, const Dims& more, DType dtype) {
    Dims sizes = shape.dimensions();
    sizes.insert(sizes.end(), more.begin(), more.end());
    return {dtype, std::move(sizes)};
  }

  transform::Emitter emit_;
  const InstructionId x_;
  const bool narrow_;
  Shape result_;
};

bool is_of_complex_bits(const hlo::Computation& computation, const Instruction& instruction) {
  if (instruction.opcode != Opcode::kBitcastConvert) return false;
  const DType from = computation.at(instruction.operands[0]).shape.dtype();
  const DType to = instruction.shape.dtype();
  return (from == c128 && to == c64) || (from == c64 && to == c128);
}

}  // namespace

bool has_complex_bits(const hlo::Module& module) {
  return any_instruction(module, is_of_complex_bits);
}

hlo::Module expand_complex_bits(const hlo::Module& module) {
  return rewritten(module, is_of_complex_bits,
                   [](transform::ModuleRebuilder&, transform::Rebuilder& to, InstructionId i) {
                     return ComplexBits(to.builder(), to.mapped(i)).run();
                   });
}

}  // namespace heddle::pjrt
