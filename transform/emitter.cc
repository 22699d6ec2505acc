#include "heddle/transform/emitter.h"

#include "heddle/transform/internal/ir.h"

namespace heddle::transform {

namespace {

Shape resized(const Shape& shape, int64_t dimension, int64_t size) {
  std::vector<int64_t> sizes = shape.dimensions();
  sizes[static_cast<size_t>(dimension)] = size;
  return {shape.dtype(), std::move(sizes)};
}

Shape inserted(const Shape& shape, int64_t dimension, int64_t size) {
  std::vector<int64_t> sizes = shape.dimensions();
  sizes.insert(sizes.begin() + dimension, size);
  return {shape.dtype(), std::move(sizes)};
}

}  // namespace

InstructionId Emitter::op(Opcode opcode, Shape shape, std::vector<InstructionId> operands,
                          hlo::Attrs attrs, std::vector<hlo::ComputationId> called) {
  hlo::Instruction instruction;
  instruction.opcode = opcode;
  instruction.shape = std::move(shape);
  instruction.operands = std::move(operands);
  instruction.attrs = std::move(attrs);
  instruction.called = std::move(called);
  instruction.at = like_.at;
  const hlo::Metadata& metadata = like_.extras->metadata;
  if (metadata != hlo::Metadata()) instruction.extras.mutate().metadata = metadata;
  return to_.append(std::move(instruction));
}

InstructionId Emitter::scalar(DType dtype, int64_t value) {
  return op(Opcode::kConstant, Shape::scalar(dtype), {},
            hlo::ConstantAttrs{.literal = Literal::scalar(dtype, value)});
}

InstructionId Emitter::zeros(Shape shape) {
  InstructionId zero = scalar(shape.dtype(), 0);
  return op(Opcode::kBroadcast, std::move(shape), {zero}, hlo::DimensionsAttrs());
}

InstructionId Emitter::repeat(InstructionId x, int64_t dimension, int64_t size) {
  hlo::DimensionsAttrs attrs;
  for (int64_t d = 0; d < shape(x).rank(); ++d)
    attrs.dimensions.push_back(d < dimension ? d : d + 1);
  return op(Opcode::kBroadcast, inserted(shape(x), dimension, size), {x}, std::move(attrs));
}

InstructionId Emitter::tuple(std::vector<InstructionId> elements) {
  std::vector<Shape> shapes;
  shapes.reserve(elements.size());
  for (InstructionId id : elements) shapes.push_back(shape(id));
  return op(Opcode::kTuple, Shape::tuple(std::move(shapes)), std::move(elements));
}

InstructionId Emitter::element(InstructionId tuple, int64_t index) {
  return op(Opcode::kGetTupleElement, shape(tuple).element(index), {tuple},
            hlo::TupleIndexAttrs{.index = index});
}

std::vector<InstructionId> Emitter::elements(InstructionId tuple) {
  std::vector<InstructionId> out;
  for (int64_t i = 0; i < shape(tuple).element_shapes(); ++i) out.push_back(element(tuple, i));
  return out;
}

InstructionId Emitter::slice(InstructionId x, int64_t dimension, int64_t start, int64_t size) {
  if (size == shape(x).dimension(dimension)) return x;
  hlo::SliceAttrs attrs;
  for (int64_t d = 0; d < shape(x).rank(); ++d)
    attrs.slice.push_back({.limit = shape(x).dimension(d)});
  attrs.slice[static_cast<size_t>(dimension)] = {.start = start, .limit = start + size};
  return op(Opcode::kSlice, resized(shape(x), dimension, size), {x}, std::move(attrs));
}

std::vector<InstructionId> Emitter::starts(InstructionId x, int64_t dimension,
                                           InstructionId start) {
  std::vector<InstructionId> out;
  InstructionId zero;
  for (int64_t d = 0; d < shape(x).rank(); ++d) {
    if (d != dimension && !zero.valid()) zero = scalar(shape(start).dtype(), 0);
    out.push_back(d == dimension ? start : zero);
  }
  return out;
}

InstructionId Emitter::dynamic_slice(InstructionId x, int64_t dimension, InstructionId start,
                                     int64_t size) {
  std::vector<InstructionId> operands = {x};
  for (InstructionId id : starts(x, dimension, start)) operands.push_back(id);
  Shape block = resized(shape(x), dimension, size);
  hlo::DynamicSliceAttrs attrs{.dynamic_slice_sizes = block.dimensions()};
  return op(Opcode::kDynamicSlice, std::move(block), std::move(operands), std::move(attrs));
}

InstructionId Emitter::update(InstructionId x, InstructionId block, int64_t dimension,
                              InstructionId start) {
  std::vector<InstructionId> operands = {x, block};
  for (InstructionId id : starts(x, dimension, start)) operands.push_back(id);
  return op(Opcode::kDynamicUpdateSlice, shape(x), std::move(operands));
}

InstructionId Emitter::drop_dimension(InstructionId x, int64_t dimension) {
  std::vector<int64_t> sizes = shape(x).dimensions();
  sizes.erase(sizes.begin() + dimension);
  return op(Opcode::kReshape, Shape(shape(x).dtype(), std::move(sizes)), {x}, hlo::ReshapeAttrs());
}

InstructionId Emitter::add_dimension(InstructionId x, int64_t dimension) {
  return op(Opcode::kReshape, inserted(shape(x), dimension, 1), {x}, hlo::ReshapeAttrs());
}

InstructionId Emitter::concatenate(std::vector<InstructionId> xs, int64_t dimension) {
  if (xs.size() == 1) return xs[0];
  int64_t size = 0;
  for (InstructionId x : xs) size += shape(x).dimension(dimension);
  Shape whole = resized(shape(xs[0]), dimension, size);
  return op(Opcode::kConcatenate, std::move(whole), std::move(xs),
            hlo::DimensionsAttrs{{dimension}});
}

}  // namespace heddle::transform
