#include "heddle/cpu/lower/complex.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "heddle/cpu/lower/complex_math.h"
#include "heddle/hlo/attributes.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::Computation;
using hlo::ComputationId;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;
using transform::Emitter;

bool is_complex_array(const Shape& shape) { return shape.is_array() && is_complex(shape.dtype()); }

bool holds_complex(const Shape& shape) {
  return is_complex_array(shape) ||
         (shape.is_tuple() && std::ranges::any_of(shape.elements(), holds_complex));
}

Shape part_of(const Shape& shape) { return shape.with_dtype(real_part(shape.dtype())); }

// The shape of a value with every complex array as a tuple of its parts.
Shape split(const Shape& shape) {
  if (is_complex_array(shape)) return Shape::tuple({part_of(shape), part_of(shape)});
  if (!shape.is_tuple()) return shape;
  std::vector<Shape> elements;
  for (const Shape& element : shape.elements()) elements.push_back(split(element));
  return Shape::tuple(std::move(elements));
}

// How a computation takes and gives complex values: as they are, as tuples of parts, or as parts
// among the other scalars.
enum class Form : uint8_t { kWhole, kTuples, kScalars, kEntry };

InstructionId convert(Emitter& e, InstructionId x, DType to) {
  if (e.shape(x).dtype() == to) return x;
  return e.op(Opcode::kConvert, e.shape(x).with_dtype(to), {x});
}

// The op that a computation of two complex scalars is: add, or `parameter` for the second of them.
std::optional<Opcode> combiner(const Computation& computation) {
  const Instruction& root = computation.root_instruction();
  if (computation.parameters.size() != 2) return std::nullopt;
  if (computation.root == computation.parameters[1]) return Opcode::kParameter;
  const bool of_both = root.operands.size() == 2 &&
                       std::ranges::is_permutation(root.operands, computation.parameters);
  return root.opcode == Opcode::kAdd && of_both ? std::optional(Opcode::kAdd) : std::nullopt;
}

class Splitting {
 public:
  explicit Splitting(const hlo::Module& from) : from_(from), into_(from) {}

  StatusOr<hlo::Module> run() {
    into_.replace(from_.entry, version(from_.entry, Form::kEntry));
    return std::move(into_).finish();
  }

  ComputationId version(ComputationId old, Form form);

  // Of two real scalars.
  ComputationId real_combiner(Opcode opcode, DType dtype, const Instruction& like) {
    const auto [found, is_new] = combiners_.try_emplace({opcode, dtype});
    if (!is_new) return found->second;
    hlo::ComputationBuilder to(into_.into());
    const InstructionId a = to.parameter(Shape::scalar(dtype)),
                        b = to.parameter(Shape::scalar(dtype));
    const InstructionId root = opcode == Opcode::kParameter
                                   ? b
                                   : Emitter(to, like).op(opcode, Shape::scalar(dtype), {a, b});
    return found->second = into_.add(std::move(to).finish(root));
  }

  [[nodiscard]] const hlo::Module& from() const { return from_; }
  [[nodiscard]] const hlo::Module& into() const { return into_.into(); }
  ComputationId add(Computation computation) { return into_.add(std::move(computation)); }

 private:
  const hlo::Module& from_;
  transform::ModuleRebuilder into_;
  std::map<std::pair<ComputationId, Form>, ComputationId> versions_;
  std::map<std::pair<Opcode, DType>, ComputationId> combiners_;
};

// Writes one computation in one form.
class Writer {
 public:
  Writer(Splitting& all, const Computation& from, Form form)
      : all_(all),
        from_(from),
        form_(form),
        to_(all.into(), from.name),
        map_(from.instructions.size()),
        parts_(from.instructions.size()) {}

  Computation run() {
    for (InstructionId parameter : from_.parameters) write_parameter(parameter);
    for (size_t i = 0; i < from_.instructions.size(); ++i) {
      if (from_.instructions[i].opcode != Opcode::kParameter) write(InstructionId(i));
    }
    return std::move(to_).finish(result());
  }

 private:
  Emitter emit(InstructionId i) { return {to_, from_.at(i)}; }
  const Shape& old_shape(InstructionId i) const { return from_.at(i).shape; }

  // The new value; a complex array as a tuple of its parts.
  InstructionId value(InstructionId old) {
    if (!is_complex_array(old_shape(old)) || form_ == Form::kWhole) return map_[old.value];
    return emit(old).tuple({parts_[old.value].re, parts_[old.value].im});
  }
  void set(InstructionId old, InstructionId now) {
    if (is_complex_array(old_shape(old)) && form_ != Form::kWhole) {
      Emitter e = emit(old);
      parts_[old.value] = {e.element(now, 0), e.element(now, 1)};
    } else {
      map_[old.value] = now;
    }
  }

  // Between values with complex arrays and those with tuples of parts.
  static InstructionId joined(Emitter& e, InstructionId now, const Shape& old) {
    if (!holds_complex(old)) return now;
    if (!old.is_tuple()) return e.op(Opcode::kComplex, old, {e.element(now, 0), e.element(now, 1)});
    std::vector<InstructionId> elements;
    for (size_t i = 0; i < old.elements().size(); ++i)
      elements.push_back(joined(e, e.element(now, static_cast<int64_t>(i)), old.elements()[i]));
    return e.tuple(std::move(elements));
  }
  static InstructionId taken_apart(Emitter& e, InstructionId now, const Shape& old) {
    if (!holds_complex(old)) return now;
    if (!old.is_tuple()) {
      const Shape part = part_of(old);
      return e.tuple({e.op(Opcode::kReal, part, {now}), e.op(Opcode::kImag, part, {now})});
    }
    std::vector<InstructionId> elements;
    for (size_t i = 0; i < old.elements().size(); ++i)
      elements.push_back(
          taken_apart(e, e.element(now, static_cast<int64_t>(i)), old.elements()[i]));
    return e.tuple(std::move(elements));
  }

  void write_parameter(InstructionId id) {
    const Shape& shape = old_shape(id);
    if (form_ == Form::kScalars && is_complex_array(shape)) {
      const InstructionId re = to_.parameter(part_of(shape));
      parts_[id.value] = {re, to_.parameter(part_of(shape))};
      return;
    }
    const bool is_old = form_ == Form::kWhole || form_ == Form::kEntry;
    InstructionId now = to_.parameter(is_old ? shape : split(shape), from_.at(id).name);
    Emitter e = emit(id);
    if (form_ == Form::kEntry) now = taken_apart(e, now, shape);
    set(id, now);
  }

  InstructionId result() {
    const InstructionId root = from_.root;
    const Shape& shape = old_shape(root);
    Emitter e = emit(root);
    if (form_ == Form::kEntry) return joined(e, value(root), shape);
    if (form_ != Form::kScalars || !shape.is_tuple()) return value(root);
    std::vector<InstructionId> scalars;
    for (size_t i = 0; i < shape.elements().size(); ++i) {
      const InstructionId element = e.element(value(root), static_cast<int64_t>(i));
      if (is_complex_array(shape.elements()[i])) {
        scalars.push_back(e.element(element, 0));
        scalars.push_back(e.element(element, 1));
      } else {
        scalars.push_back(element);
      }
    }
    return e.tuple(std::move(scalars));
  }

  // The instruction on other operands.
  Instruction copy_of(InstructionId id, std::vector<InstructionId> operands, Form callees) {
    Instruction copy = from_.at(id);
    copy.operands = std::move(operands);
    for (ComputationId& called : copy.called) called = all_.version(called, callees);
    if (copy.extras.has_value()) copy.extras.mutate().control_predecessors.clear();
    return copy;
  }

  void write(InstructionId id) {
    const Instruction& old = from_.at(id);
    std::vector<InstructionId> operands;
    if (form_ == Form::kWhole) {
      for (InstructionId operand : old.operands) operands.push_back(map_[operand.value]);
      map_[id.value] = to_.append(copy_of(id, std::move(operands), Form::kWhole));
      return;
    }
    const bool has_state = old.opcode == Opcode::kWhile || old.opcode == Opcode::kConditional;
    const bool is_structure =
        has_state || old.opcode == Opcode::kTuple || old.opcode == Opcode::kGetTupleElement ||
        old.opcode == Opcode::kOptBarrier || (old.opcode == Opcode::kCopy && old.shape.is_tuple());
    const auto takes = [&](InstructionId operand) { return holds_complex(old_shape(operand)); };
    const bool is_concerned = holds_complex(old.shape) || std::ranges::any_of(old.operands, takes);
    if (!is_structure && is_concerned && write_parts(id)) return;
    Emitter e = emit(id);
    for (InstructionId operand : old.operands) {
      const InstructionId now = value(operand);
      operands.push_back(is_structure ? now : joined(e, now, old_shape(operand)));
    }
    Instruction copy = copy_of(id, std::move(operands), has_state ? Form::kTuples : Form::kWhole);
    if (is_structure) copy.shape = split(old.shape);
    InstructionId now = to_.append(std::move(copy));
    if (!is_structure) now = taken_apart(e, now, old.shape);
    set(id, now);
  }

  // The op once for the real parts and once for the imaginary ones.
  bool write_each(InstructionId id, const std::vector<ComputationId>& called = {}) {
    const Instruction& old = from_.at(id);
    const auto one = [&](bool is_imag) {
      std::vector<InstructionId> operands;
      for (InstructionId operand : old.operands) {
        const ComplexParts& parts = parts_[operand.value];
        operands.push_back(!is_complex_array(old_shape(operand)) ? map_[operand.value]
                           : is_imag                             ? parts.im
                                                                 : parts.re);
      }
      return emit(id).op(old.opcode, part_of(old.shape), std::move(operands), old.attrs, called);
    };
    parts_[id.value].re = one(false);
    parts_[id.value].im = one(true);
    return true;
  }

  // True if it could be written on parts.
  bool write_parts(InstructionId id) {
    const Instruction& old = from_.at(id);
    switch (old.opcode) {
      case Opcode::kAdd:
      case Opcode::kSubtract:
      case Opcode::kNegate:
      case Opcode::kCopy:
      case Opcode::kReshape:
      case Opcode::kBroadcast:
      case Opcode::kTranspose:
      case Opcode::kReverse:
      case Opcode::kSlice:
      case Opcode::kDynamicSlice:
      case Opcode::kDynamicUpdateSlice:
      case Opcode::kPad:
      case Opcode::kConcatenate:
      case Opcode::kGather:
      case Opcode::kSelect: return write_each(id);
      case Opcode::kReduce: return write_reduce(id);
      case Opcode::kReduceWindow:
      case Opcode::kScatter: return write_combined(id);
      case Opcode::kDot:
      case Opcode::kConvolution: return write_product(id);
      case Opcode::kConstant: return write_constant(id);
      case Opcode::kConvert: return write_convert(id);
      case Opcode::kReal: map_[id.value] = parts_[old.operands[0].value].re; return true;
      case Opcode::kImag: map_[id.value] = parts_[old.operands[0].value].im; return true;
      case Opcode::kComplex:
        parts_[id.value] = {map_[old.operands[0].value], map_[old.operands[1].value]};
        return true;
      default: return write_elementwise(id);
    }
  }

  bool write_elementwise(InstructionId id) {
    const Instruction& old = from_.at(id);
    std::vector<ComplexParts> operands;
    for (InstructionId operand : old.operands) {
      if (!is_complex_array(old_shape(operand))) return false;
      operands.push_back(parts_[operand.value]);
    }
    const auto written = write_complex(emit(id), old, operands);
    if (!written) return false;
    if (is_complex_array(old.shape)) {
      parts_[id.value] = *written;
    } else {
      map_[id.value] = written->re;
    }
    return true;
  }

  bool write_constant(InstructionId id) {
    const Literal& literal = from_.at(id).attrs.get<hlo::ConstantAttrs>().literal;
    if (!is_complex_array(literal.shape())) return false;
    const Shape shape = part_of(literal.shape());
    const auto width = static_cast<size_t>(storage_bytes(shape.dtype()));
    const auto part = [&](size_t which) {
      Literal out = Literal::uninitialised(shape);
      std::byte* to = out.mutable_bytes();
      for (size_t i = 0; i < static_cast<size_t>(shape.element_count()); ++i)
        std::memcpy(to + i * width, literal.bytes() + (2 * i + which) * width, width);
      return emit(id).op(Opcode::kConstant, shape, {}, hlo::ConstantAttrs{.literal = out});
    };
    parts_[id.value].re = part(0);
    parts_[id.value].im = part(1);
    return true;
  }

  bool write_convert(InstructionId id) {
    const Instruction& old = from_.at(id);
    const InstructionId operand = old.operands[0];
    Emitter e = emit(id);
    if (!is_complex_array(old.shape)) {
      if (old.shape.dtype() == pred) return false;  // not zero in either part
      map_[id.value] = convert(e, parts_[operand.value].re, old.shape.dtype());
      return true;
    }
    const DType part = real_part(old.shape.dtype());
    if (is_complex_array(old_shape(operand))) {
      parts_[id.value] = {convert(e, parts_[operand.value].re, part),
                          convert(e, parts_[operand.value].im, part)};
    } else {
      parts_[id.value].re = convert(e, map_[operand.value], part);
      parts_[id.value].im = e.zeros(part_of(old.shape));
    }
    return true;
  }

  // (a + bi)(c + di) for ops that are linear in each operand.
  bool write_product(InstructionId id) {
    const Instruction& old = from_.at(id);
    const InstructionId x = old.operands[0], y = old.operands[1];
    if (!is_complex_array(old.shape)) return false;
    const Shape part = part_of(old.shape);
    for (InstructionId operand : old.operands)
      if (old_shape(operand).dtype() != old.shape.dtype()) return false;
    Emitter e = emit(id);
    const auto product = [&](InstructionId a, InstructionId b) {
      return e.op(old.opcode, part, {a, b}, old.attrs);
    };
    const auto [a, b] = parts_[x.value];
    const auto [c, d] = parts_[y.value];
    parts_[id.value].re = e.op(Opcode::kSubtract, part, {product(a, c), product(b, d)});
    parts_[id.value].im = e.op(Opcode::kAdd, part, {product(a, d), product(b, c)});
    return true;
  }

  // Of one array, where the function is one of the parts by themselves.
  bool write_combined(InstructionId id) {
    const Instruction& old = from_.at(id);
    const auto opcode = combiner(all_.from().at(old.called[0]));
    if (!is_complex_array(old.shape) || !opcode) return false;
    if (*opcode == Opcode::kParameter && old.opcode != Opcode::kScatter) return false;
    return write_each(id, {all_.real_combiner(*opcode, real_part(old.shape.dtype()), old)});
  }

  // Any function: of an array for each part.
  bool write_reduce(InstructionId id) {
    const Instruction& old = from_.at(id);
    if (write_combined(id)) return true;
    Emitter e = emit(id);
    std::vector<InstructionId> operands;
    for (InstructionId operand : old.operands) {
      if (is_complex_array(old_shape(operand))) {
        operands.push_back(parts_[operand.value].re);
        operands.push_back(parts_[operand.value].im);
      } else {
        operands.push_back(map_[operand.value]);
      }
    }
    std::vector<Shape> shapes;
    const std::vector<Shape> results =
        old.shape.is_tuple() ? old.shape.elements() : std::vector<Shape>{old.shape};
    for (const Shape& shape : results)
      shapes.insert(shapes.end(), is_complex_array(shape) ? 2 : 1,
                    is_complex_array(shape) ? part_of(shape) : shape);
    const InstructionId all = e.op(old.opcode, Shape::tuple(shapes), std::move(operands), old.attrs,
                                   {all_.version(old.called[0], Form::kScalars)});
    std::vector<InstructionId> elements;
    int64_t next = 0;
    for (const Shape& shape : results) {
      const InstructionId first = e.element(all, next++);
      elements.push_back(is_complex_array(shape) ? e.tuple({first, e.element(all, next++)})
                                                 : first);
    }
    set(id, old.shape.is_tuple() ? e.tuple(std::move(elements)) : elements[0]);
    return true;
  }

  Splitting& all_;
  const Computation& from_;
  Form form_;
  hlo::ComputationBuilder to_;
  std::vector<InstructionId> map_;   // by old instruction; not of complex arrays
  std::vector<ComplexParts> parts_;  // of these
};

ComputationId Splitting::version(ComputationId old, Form form) {
  const auto found = versions_.find({old, form});
  if (found != versions_.end()) return found->second;
  const ComputationId now = into_.add(Writer(*this, from_.at(old), form).run());
  versions_.emplace(std::pair(old, form), now);
  return now;
}

}  // namespace

bool has_complex(const hlo::Module& module) {
  return std::ranges::any_of(module.computations, [](const Computation& computation) {
    return std::ranges::any_of(computation.instructions,
                               [](const Instruction& i) { return holds_complex(i.shape); });
  });
}

StatusOr<hlo::Module> split_complex(const hlo::Module& module) { return Splitting(module).run(); }

}  // namespace heddle::cpu
