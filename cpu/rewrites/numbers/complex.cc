#include "heddle/cpu/rewrites/numbers/complex.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/cpu/rewrites/numbers/complex_math.h"
#include "heddle/hlo/attributes.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

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

  [[nodiscard]] const hlo::Module& from() const { return from_; }
  hlo::Writer& into() { return into_; }

 private:
  const hlo::Module& from_;
  transform::ModuleRebuilder into_;
  std::map<std::pair<ComputationId, Form>, ComputationId> versions_;
};

// Writes one computation in one form.
class Writer {
 public:
  Writer(Splitting& all, const Computation& from, Form form)
      : all_(all),
        from_(from),
        form_(form),
        graph_(all.into(), from.name),
        map_(from.instructions.size()),
        parts_(from.instructions.size()) {}

  Computation run() {
    for (InstructionId parameter : from_.parameters) write_parameter(parameter);
    for (size_t i = 0; i < from_.instructions.size(); ++i) {
      if (from_.instructions[i].opcode != Opcode::kParameter) write(InstructionId(i));
    }
    graph_.set_origin(from_.root_instruction());
    return std::move(graph_.builder()).finish(result().id());
  }

 private:
  const Shape& old_shape(InstructionId i) const { return from_.at(i).shape; }

  hlo::Value tuple_of(const ComplexParts& parts) { return graph_.tuple({parts.re, parts.im}); }
  hlo::Value element(const hlo::Value& tuple, size_t i) {
    return graph_.element(tuple, static_cast<int64_t>(i));
  }

  // The new value; a complex array as a tuple of its parts.
  hlo::Value value(InstructionId old) {
    if (!is_complex_array(old_shape(old)) || form_ == Form::kWhole) return map_[old.value];
    return tuple_of(parts_[old.value]);
  }
  void set(InstructionId old, const hlo::Value& now) {
    if (is_complex_array(old_shape(old)) && form_ != Form::kWhole) {
      parts_[old.value] = {element(now, 0), element(now, 1)};
    } else {
      map_[old.value] = now;
    }
  }

  // Between values with complex arrays and those with tuples of parts. The layouts stay, which a
  // bitcast reads.
  hlo::Value joined(const hlo::Value& now, const Shape& old) {
    if (!holds_complex(old)) return now;
    if (!old.is_tuple())
      return graph_.op(Opcode::kComplex, {element(now, 0), element(now, 1)}, {}, {}, &old);
    hlo::Values elements;
    for (size_t i = 0; i < old.elements().size(); ++i)
      elements.push_back(joined(element(now, i), old.elements()[i]));
    return graph_.tuple(elements);
  }
  hlo::Value taken_apart(const hlo::Value& now, const Shape& old) {
    if (!holds_complex(old)) return now;
    if (!old.is_tuple()) {
      const Shape part = part_of(old);
      return tuple_of({graph_.op(Opcode::kReal, {now}, {}, {}, &part),
                       graph_.op(Opcode::kImag, {now}, {}, {}, &part)});
    }
    hlo::Values elements;
    for (size_t i = 0; i < old.elements().size(); ++i)
      elements.push_back(taken_apart(element(now, i), old.elements()[i]));
    return graph_.tuple(elements);
  }

  void write_parameter(InstructionId id) {
    graph_.set_origin(from_.at(id));
    const Shape& shape = old_shape(id);
    if (form_ == Form::kScalars && is_complex_array(shape)) {
      const hlo::Value re = graph_.parameter(part_of(shape));
      parts_[id.value] = {re, graph_.parameter(part_of(shape))};
      return;
    }
    const bool is_old = form_ == Form::kWhole || form_ == Form::kEntry;
    const hlo::Value now =
        graph_.wrap(graph_.builder().parameter(is_old ? shape : split(shape), from_.at(id).name));
    set(id, form_ == Form::kEntry ? taken_apart(now, shape) : now);
  }

  hlo::Value result() {
    const InstructionId root = from_.root;
    const Shape& shape = old_shape(root);
    if (form_ == Form::kEntry) return joined(value(root), shape);
    if (form_ != Form::kScalars || !shape.is_tuple()) return value(root);
    hlo::Values scalars;
    for (size_t i = 0; i < shape.elements().size(); ++i) {
      const hlo::Value one = element(value(root), i);
      if (is_complex_array(shape.elements()[i])) {
        scalars.push_back(element(one, 0));
        scalars.push_back(element(one, 1));
      } else {
        scalars.push_back(one);
      }
    }
    return graph_.tuple(scalars);
  }

  // The instruction on other operands.
  Instruction copy_of(InstructionId id, const hlo::Values& operands, Form callees) {
    Instruction copy = from_.at(id);
    copy.operands.clear();
    for (const hlo::Value& operand : operands) copy.operands.push_back(operand.id());
    for (ComputationId& called : copy.called) called = all_.version(called, callees);
    if (copy.extras.has_value()) copy.extras.mutate().control_predecessors.clear();
    return copy;
  }

  void write(InstructionId id) {
    const Instruction& old = from_.at(id);
    graph_.set_origin(old);
    hlo::Values operands;
    if (form_ == Form::kWhole) {
      for (InstructionId operand : old.operands) operands.push_back(map_[operand.value]);
      map_[id.value] = graph_.append(copy_of(id, operands, Form::kWhole));
      return;
    }
    const bool has_state = old.opcode == Opcode::kWhile || old.opcode == Opcode::kConditional;
    const bool is_structure =
        has_state || old.opcode == Opcode::kTuple || old.opcode == Opcode::kGetTupleElement ||
        old.opcode == Opcode::kOptBarrier || (old.opcode == Opcode::kCopy && old.shape.is_tuple());
    const auto takes = [&](InstructionId operand) { return holds_complex(old_shape(operand)); };
    const bool is_concerned = holds_complex(old.shape) || std::ranges::any_of(old.operands, takes);
    if (!is_structure && is_concerned && write_parts(id)) return;
    for (InstructionId operand : old.operands) {
      const hlo::Value now = value(operand);
      operands.push_back(is_structure ? now : joined(now, old_shape(operand)));
    }
    Instruction copy = copy_of(id, operands, has_state ? Form::kTuples : Form::kWhole);
    if (is_structure) copy.shape = split(old.shape);
    const hlo::Value now = graph_.append(std::move(copy));
    set(id, is_structure ? now : taken_apart(now, old.shape));
  }

  // The op once for the real parts and once for the imaginary ones.
  bool write_each(InstructionId id, const std::vector<ComputationId>& called = {}) {
    const Instruction& old = from_.at(id);
    const Shape part = part_of(old.shape);
    const auto one = [&](bool is_imag) {
      hlo::Values operands;
      for (InstructionId operand : old.operands) {
        const ComplexParts& parts = parts_[operand.value];
        operands.push_back(!is_complex_array(old_shape(operand)) ? map_[operand.value]
                           : is_imag                             ? parts.im
                                                                 : parts.re);
      }
      return graph_.op(old.opcode, operands, old.attrs, called, &part);
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
      case Opcode::kReduceWindow: return write_combined(id);
      case Opcode::kReduce:
      case Opcode::kScatter: return write_reduce(id);
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
    const auto written = write_complex(old, operands);
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
      return graph_.constant(std::move(out));
    };
    parts_[id.value].re = part(0);
    parts_[id.value].im = part(1);
    return true;
  }

  bool write_convert(InstructionId id) {
    const Instruction& old = from_.at(id);
    const InstructionId operand = old.operands[0];
    const ComplexParts& x = parts_[operand.value];
    if (!is_complex_array(old.shape)) {
      if (old.shape.dtype() == pred) return false;  // not zero in either part
      map_[id.value] = convert(x.re, old.shape.dtype());
      return true;
    }
    const DType part = real_part(old.shape.dtype());
    if (is_complex_array(old_shape(operand))) {
      parts_[id.value] = {convert(x.re, part), convert(x.im, part)};
    } else {
      parts_[id.value].re = convert(map_[operand.value], part);
      parts_[id.value].im = graph_.zeros(part_of(old.shape));
    }
    return true;
  }

  // (a + bi)(c + di) for ops that are linear in each operand.
  bool write_product(InstructionId id) {
    const Instruction& old = from_.at(id);
    if (!is_complex_array(old.shape)) return false;
    const Shape part = part_of(old.shape);
    for (InstructionId operand : old.operands)
      if (old_shape(operand).dtype() != old.shape.dtype()) return false;
    const ComplexParts& x = parts_[old.operands[0].value];
    const ComplexParts& y = parts_[old.operands[1].value];
    const auto product = [&](const hlo::Value& a, const hlo::Value& b) {
      return graph_.op(old.opcode, {a, b}, old.attrs, {}, &part);
    };
    parts_[id.value] = {product(x.re, y.re) - product(x.im, y.im),
                        product(x.re, y.im) + product(x.im, y.re)};
    return true;
  }

  // Of one array, where the function is one of the parts by themselves.
  bool write_combined(InstructionId id) {
    const Instruction& old = from_.at(id);
    const auto opcode = combiner(all_.from().at(old.called[0]));
    if (!is_complex_array(old.shape) || !opcode) return false;
    if (*opcode == Opcode::kParameter && old.opcode != Opcode::kScatter) return false;
    return write_each(id, {all_.into().combiner(*opcode, real_part(old.shape.dtype()))});
  }

  // Any function: of an array for each part.
  bool write_reduce(InstructionId id) {
    const Instruction& old = from_.at(id);
    if (write_combined(id)) return true;
    hlo::Values operands;
    for (InstructionId operand : old.operands) {
      if (is_complex_array(old_shape(operand))) {
        operands.push_back(parts_[operand.value].re);
        operands.push_back(parts_[operand.value].im);
      } else {
        operands.push_back(map_[operand.value]);
      }
    }
    const hlo::Values all = graph_.op_of_many(old.opcode, operands, old.attrs,
                                              {all_.version(old.called[0], Form::kScalars)});
    const std::vector<Shape> results =
        old.shape.is_tuple() ? old.shape.elements() : std::vector<Shape>{old.shape};
    hlo::Values elements;
    auto next = all.begin();
    for (const Shape& shape : results) {
      const hlo::Value first = *next++;
      elements.push_back(is_complex_array(shape) ? tuple_of({first, *next++}) : first);
    }
    set(id, old.shape.is_tuple() ? graph_.tuple(elements) : elements[0]);
    return true;
  }

  Splitting& all_;
  const Computation& from_;
  Form form_;
  hlo::Graph graph_;
  hlo::Values map_;                  // by old instruction; not of complex arrays
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
