#include "heddle/cpu/rewrites/numbers/complex_moves.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "heddle/cpu/rewrites/if_any.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/op.h"
#include "heddle/hlo/value.h"

namespace heddle::cpu {
namespace {

bool is_c64(const Shape& shape) {
  return shape.is_array() && shape.dtype() == c64 && !shape.is_dynamic();
}

// Computes nothing: each element of the result is one of its operands.
bool is_move(const hlo::Module& module, const Instruction& x) {
  if (!is_c64(x.shape) || x.shape.is_scalar()) return false;
  if (hlo::does(x.opcode, hlo::kPicks)) return true;
  switch (x.opcode) {
    case Opcode::kConcatenate:
    case Opcode::kCopy:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kPad:
    case Opcode::kSelect: return true;
    case Opcode::kScatter: {
      const Computation& by = module.at(x.called[0]);
      return by.parameters.size() == 2 && by.root == by.parameters[1];
    }
    default: return false;
  }
}

bool is_kernel(const Instruction& x) {
  return x.opcode == Opcode::kFft || x.opcode == Opcode::kCustomCall;
}

// Lies in memory as complex numbers, or is one number, which is put together.
bool lies_whole(const Computation& in, const Instruction& x) {
  if (!is_c64(x.shape)) return false;
  if (x.shape.is_scalar() || x.opcode == Opcode::kConstant) return true;
  if (x.shape.has_layout()) return false;
  if (x.opcode == Opcode::kGetTupleElement) {
    const Instruction& tuple = in.at(x.operands[0]);
    return tuple.opcode == Opcode::kParameter || is_kernel(tuple);
  }
  return x.opcode == Opcode::kParameter || is_kernel(x);
}

// Which moves are of whole numbers: of those, all operands are or lie whole, and all users are, or
// want the numbers whole.
std::vector<bool> whole_moves(const hlo::Module& module, const Computation& in) {
  const size_t size = in.instructions.size();
  std::vector<bool> is_whole(size);
  std::vector<std::vector<size_t>> neighbours(size);  // moves that stand and fall together
  std::vector<size_t> fallen;
  for (size_t i = 0; i < size; ++i) is_whole[i] = is_move(module, in.instructions[i]);
  const auto fall = [&](size_t i) {
    if (!is_whole[i]) return;
    is_whole[i] = false;
    fallen.push_back(i);
  };
  const std::vector<bool> were = is_whole;
  for (size_t i = 0; i < size; ++i) {
    const Instruction& user = in.instructions[i];
    const bool wants_whole =
        is_kernel(user) || (user.opcode == Opcode::kTuple && in.root == InstructionId(i));
    for (const InstructionId id : user.operands) {
      if (were[id.value] && were[i]) {
        neighbours[i].push_back(id.value);
        neighbours[id.value].push_back(i);
      } else if (were[id.value] && !wants_whole) {
        fall(id.value);
      } else if (were[i] && is_complex(in.at(id).shape.dtype()) && !lies_whole(in, in.at(id))) {
        fall(i);
      }
    }
  }
  while (!fallen.empty()) {
    const size_t last = fallen.back();
    fallen.pop_back();
    for (const size_t each : neighbours[last]) fall(each);
  }
  return is_whole;
}

Literal bits_of(const Literal& numbers) {
  Literal bits = Literal::uninitialised(numbers.shape().with_dtype(u64));
  std::memcpy(bits.mutable_bytes(), numbers.bytes(), static_cast<size_t>(bits.shape().byte_size()));
  return bits;
}

class WholeMoves {
 public:
  WholeMoves(const hlo::Module& module, transform::Rebuilder& to, bool is_entry)
      : to_(to),
        is_whole_(is_entry ? whole_moves(module, to.from())
                           : std::vector<bool>(to.from().instructions.size())),
        bits_(is_whole_.size()) {}

  hlo::Value operator()(InstructionId id) {
    if (!is_whole_[id.value]) return {};
    const Instruction& old = to_.old(id);
    Instruction move = old;
    Shape shape = old.shape;
    shape.clear_layout();
    move.shape = shape.with_dtype(u64);
    move.operands.clear();
    if (move.extras.has_value()) move.extras.mutate().control_predecessors.clear();
    for (const InstructionId operand : old.operands)
      move.operands.push_back(bits_of_operand(operand));
    hlo::Graph& graph = to_.in_place_of(id);
    if (old.opcode == Opcode::kScatter)
      move.called = {graph.writer().combiner(Opcode::kParameter, u64)};
    bits_[id.value] = graph.builder().append(std::move(move));
    return graph.wrap(viewed(bits_[id.value], shape));
  }

 private:
  // The same memory as elements of another type of as many bytes.
  InstructionId viewed(InstructionId now, const Shape& as) {
    Instruction view;
    view.opcode = Opcode::kBitcast;
    view.shape = as;
    view.operands = {now};
    return to_.builder().append(std::move(view));
  }

  InstructionId bits_of_operand(InstructionId old) {
    const Instruction& x = to_.old(old);
    if (!is_complex(x.shape.dtype())) return to_[old];
    InstructionId& bits = bits_[old.value];
    if (bits.valid()) return bits;
    hlo::Graph& graph = to_.in_place_of(old);
    if (x.opcode == Opcode::kConstant) {
      bits = graph.constant(bits_of(x.attrs.get<hlo::ConstantAttrs>().literal)).id();
    } else if (x.shape.is_scalar()) {
      const auto part = [&](const hlo::Value& value) {
        return convert(bitcast_convert(value, u32), u64);
      };
      const hlo::Value number = graph.wrap(to_[old]);
      const hlo::Value high = part(imag(number));
      bits = (part(real(number)) | high << high.number(32)).id();
    } else {
      bits = viewed(to_[old], x.shape.with_dtype(u64));
    }
    return bits;
  }

  transform::Rebuilder& to_;
  std::vector<bool> is_whole_;       // by old instruction
  std::vector<InstructionId> bits_;  // its elements as u64; not valid: not written yet
};

}  // namespace

StatusOr<std::optional<hlo::Module>> move_whole_complex(const hlo::Module& module) {
  return rewritten_if_any(module, [&](transform::Rebuilder& to, ComputationId id) {
    return WholeMoves(module, to, id == module.entry);
  });
}

}  // namespace heddle::cpu
