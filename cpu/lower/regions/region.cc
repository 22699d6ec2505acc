#include "heddle/cpu/lower/regions/region.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/cpu/lower/elements/small_floats.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/op.h"

namespace heddle::cpu {
namespace {

int64_t leaf_count(const Shape& shape) {
  if (!shape.is_tuple()) return 1;
  int64_t count = 0;
  for (const Shape& element : shape.elements()) count += leaf_count(element);
  return count;
}

// Matrices that are worth writing out.
bool is_small_system(const Instruction& instruction) {
  const Shape& shape = instruction.shape;
  if (shape.dtype() != f32 && shape.dtype() != f64) return false;
  const bool is_solve = instruction.opcode == Opcode::kTriangularSolve;
  const bool left = !is_solve || instruction.attrs.get<hlo::TriangularSolveAttrs>().left_side;
  return shape.dimension(shape.rank() - (left ? 2 : 1)) <= kMaxFactorRows;
}

// Whether instructions have an effect, or call something that has one: they are wanted though
// nobody reads their result.
class EffectsIn {
 public:
  explicit EffectsIn(const hlo::Module& module)
      : module_(module), known_(module.computations.size()) {}

  bool has(const Instruction& instruction) {
    if (has_trait(instruction.opcode, hlo::kSideEffect)) return true;
    if (instruction.opcode == Opcode::kCustomCall)
      return instruction.attrs.get<hlo::CustomCallAttrs>().custom_call_has_side_effect;
    return std::ranges::any_of(instruction.called, [&](ComputationId id) { return has(id); });
  }

 private:
  bool has(ComputationId id) {
    std::optional<bool>& known = known_[id.value];
    if (!known)
      known = std::ranges::any_of(module_.at(id).instructions,
                                  [&](const Instruction& inner) { return has(inner); });
    return *known;
  }

  const hlo::Module& module_;
  std::vector<std::optional<bool>> known_;  // by computation
};

}  // namespace

bool is_held(const Shape& shape) {
  return shape.is_array() && !shape.is_dynamic() && scalar_of(shape.dtype()).has_value();
}

bool is_alias(const Instruction& instruction) {
  return hlo::does(instruction.opcode, hlo::kHandsOn) ||
         (instruction.opcode == Opcode::kCopy && instruction.shape.is_tuple());
}

bool is_run(const Shape& part, const Shape& whole, int64_t first) {
  int64_t d = first;
  while (d < part.rank() && part.dimension(d) == 1) ++d;
  for (++d; d < part.rank(); ++d) {
    if (part.dimension(d) != whole.dimension(d)) return false;
  }
  return true;
}

bool is_degenerate_reshape(const Shape& from, const Shape& to) {
  auto a = from.dimensions(), b = to.dimensions();
  std::erase(a, 1);
  std::erase(b, 1);
  return a == b;
}

bool lies_as_operand(const Computation& computation, const Instruction& instruction) {
  if (is_complex_view(computation, instruction)) return true;
  if (instruction.opcode != Opcode::kReshape) return false;
  const Shape& from = computation.at(instruction.operands[0]).shape;
  return !is_degenerate_reshape(from, instruction.shape) && !from.is_scalar();
}

bool joins_repeats(const Computation& computation, const Instruction& reshape) {
  if (reshape.opcode != Opcode::kReshape) return false;
  const Instruction& broadcast = computation.at(reshape.operands[0]);
  if (broadcast.opcode != Opcode::kBroadcast || reshape.shape.element_count() == 0) return false;
  const std::vector<int64_t>&from = broadcast.shape.dimensions(), &to = reshape.shape.dimensions();
  if (from.empty() || to.empty() || from.back() != to.back()) return false;
  size_t d = 0;
  for (const int64_t size : to) {
    int64_t product = 1;
    while (product < size && d < from.size()) product *= from[d++];
    if (product != size) return false;
  }
  return d == from.size() && !is_degenerate_reshape(broadcast.shape, reshape.shape);
}

bool is_zero(const Instruction& instruction) {
  if (instruction.opcode != Opcode::kConstant || !instruction.shape.is_scalar()) return false;
  return instruction.attrs.get<hlo::ConstantAttrs>().literal == Literal(instruction.shape);
}

bool is_splat(const Literal& literal) {
  const auto size = static_cast<size_t>(literal.byte_size());
  const auto step = static_cast<size_t>(storage_bytes(literal.shape().dtype()));
  return size > 0 && std::memcmp(literal.bytes(), literal.bytes() + step, size - step) == 0;
}

size_t updated_operands(const Instruction& instruction) {
  if (instruction.opcode == Opcode::kDynamicUpdateSlice) return 1;
  return instruction.opcode == Opcode::kScatter ? instruction.operands.size() / 2 : 0;
}

std::optional<RunningFold> running_fold(const hlo::Module& module, const Shape& from,
                                        const Instruction& instruction) {
  if (instruction.opcode != Opcode::kReduceWindow || instruction.operands.size() != 2 ||
      from.dimensions() != instruction.shape.dimensions())
    return std::nullopt;
  const Computation& body = module.at(instruction.called[0]);
  const bool is_op = fold_of(body).has_value();
  if (!is_op && !is_scalar_computation(body)) return std::nullopt;
  std::optional<RunningFold> running;
  const auto& dims = instruction.attrs.get<hlo::WindowAttrs>().window.dimensions;
  for (size_t d = 0; d < dims.size(); ++d) {
    const hlo::WindowDimension& w = dims[d];
    const int64_t n = from.dimension(static_cast<int64_t>(d));
    if (w.stride != 1 || w.window_dilation != 1 || w.base_dilation != 1) return std::nullopt;
    if (w.size == 1 && w.padding_low == 0 && w.padding_high == 0) continue;
    const bool forward = w.padding_low == n - 1 && w.padding_high == 0;
    // A window takes its elements from the first one on, which another function may tell.
    const bool reverse = is_op && w.padding_low == 0 && w.padding_high == n - 1;
    if (running || w.size != n || n < 1 || (!forward && !reverse)) return std::nullopt;
    running = RunningFold{static_cast<int64_t>(d), reverse};
  }
  return running;
}

bool is_loop_step(const hlo::Module& module, const Computation& computation,
                  const Instruction& instruction) {
  const auto held = [&](InstructionId id) { return is_held(computation.at(id).shape); };
  if (instruction.opcode == Opcode::kWhile || instruction.opcode == Opcode::kConditional ||
      is_part(computation, instruction) || is_complex_view(computation, instruction))
    return true;
  if (!std::ranges::all_of(instruction.operands, held)) return false;
  switch (instruction.opcode) {
    case Opcode::kConstant: return true;
    case Opcode::kReshape:
    case Opcode::kPad:
    case Opcode::kConcatenate:
    case Opcode::kComplex:
    case Opcode::kDynamicUpdateSlice: return true;
    case Opcode::kScatter: return is_scalar_computation(module.at(instruction.called[0]));
    case Opcode::kCholesky:
    case Opcode::kTriangularSolve: return is_small_system(instruction);
    case Opcode::kReduce: return is_scalar_computation(module.at(instruction.called[0]));
    case Opcode::kDot: return is_plain_dot(computation, instruction);
    case Opcode::kReduceWindow: return is_plain_window(module, computation, instruction);
    case Opcode::kSelectAndScatter: return is_plain_selection(module, computation, instruction);
    case Opcode::kConvolution: return is_direct_convolution(computation, instruction);
    default:
      return is_held(instruction.shape) &&
             (is_scalar_op(computation, instruction) || instruction.opcode == Opcode::kIota ||
              hlo::does(instruction.opcode, hlo::kPicks));
  }
}

bool reads_once(const Computation& computation, const Instruction& dot, int operand) {
  const auto other = static_cast<size_t>(1 - operand);
  const Shape& shape = computation.at(dot.operands[other]).shape;
  const auto& attrs = dot.attrs.get<hlo::DotAttrs>();
  int64_t shared = 1;
  for (int64_t d : other == 0 ? attrs.lhs_batch_dims : attrs.rhs_batch_dims)
    shared *= shape.dimension(d);
  for (int64_t d : other == 0 ? attrs.lhs_contracting_dims : attrs.rhs_contracting_dims)
    shared *= shape.dimension(d);
  return shared > 0 && shape.element_count() == shared;
}

bool is_plain_dot(const Computation& computation, const Instruction& dot) {
  if (dot.opcode != Opcode::kDot || !is_held(dot.shape) || dot.shape.dtype() == pred) return false;
  const DType from = computation.at(dot.operands[0]).shape.dtype();
  const DType to = dot.shape.dtype();
  const bool is_widened =
      (is_small_float(from) && to == f32) ||
      (is_integer(from) && is_integer(to) && storage_bytes(from) < storage_bytes(to));
  return std::ranges::all_of(dot.operands,
                             [&](InstructionId id) {
                               const Shape& shape = computation.at(id).shape;
                               return is_held(shape) && shape.dtype() == from;
                             }) &&
         (from == to || is_widened);
}

bool is_product_convolution(const Computation& computation, const Instruction& instruction) {
  const DType dtype = instruction.shape.dtype();
  if (instruction.opcode != Opcode::kConvolution || (dtype != f32 && dtype != f64)) return false;
  return instruction.shape.element_count() > 0 &&
         std::ranges::all_of(instruction.operands, [&](InstructionId id) {
           const Shape& shape = computation.at(id).shape;
           return shape.dtype() == dtype && !shape.is_dynamic() && shape.element_count() > 0;
         });
}

Region::Region(const hlo::Module& module, const Computation& computation)
    : module_(&module), computation_(&computation) {
  find_leaves();
  find_uses();
  find_products();
  find_lazy();
  order_steps();
}

void Region::find_leaves() {
  const auto count = static_cast<size_t>(computation_->size());
  leaves_of_.resize(count);
  const auto add = [&](const auto& self, const Shape& shape, InstructionId id) -> void {
    if (shape.is_tuple()) {
      for (const Shape& element : shape.elements()) self(self, element, id);
      return;
    }
    leaves_of_[id.value].push_back(LeafId(leaves_.size()));
    leaves_.push_back({&shape, id});
  };
  for (size_t i = 0; i < count; ++i) {
    const Instruction& instruction = computation_->instructions[i];
    const InstructionId id(i);
    std::vector<LeafId>& own = leaves_of_[i];
    switch (instruction.opcode) {
      case Opcode::kTuple:
        for (InstructionId operand : instruction.operands)
          own.insert(own.end(), leaves_of(operand).begin(), leaves_of(operand).end());
        break;
      case Opcode::kGetTupleElement: {
        const InstructionId tuple = instruction.operands[0];
        const auto index = instruction.attrs.get<hlo::TupleIndexAttrs>().index;
        size_t first = 0;
        for (int64_t e = 0; e < index; ++e)
          first += static_cast<size_t>(leaf_count(computation_->at(tuple).shape.element(e)));
        const auto part =
            leaves_of(tuple).subspan(first, static_cast<size_t>(leaf_count(instruction.shape)));
        own.assign(part.begin(), part.end());
        break;
      }
      case Opcode::kOptBarrier:
      case Opcode::kAddDependency: own = leaves_of_[instruction.operands[0].value]; break;
      case Opcode::kCopy:
        if (instruction.shape.is_tuple()) {
          own = leaves_of_[instruction.operands[0].value];
          break;
        }
        [[fallthrough]];
      default: add(add, instruction.shape, id);
    }
  }
  for (InstructionId parameter : computation_->parameters)
    parameters_.insert(parameters_.end(), leaves_of(parameter).begin(), leaves_of(parameter).end());
}

void Region::find_uses() {
  const auto count = static_cast<size_t>(computation_->size());
  is_live_.resize(count);
  uses_.resize(leaves_.size());
  is_result_.resize(leaves_.size());
  is_live_[computation_->root.value] = true;
  has_effect_.resize(count);
  EffectsIn effects(*module_);
  for (size_t i = count; i-- > 0;) {
    const Instruction& instruction = computation_->instructions[i];
    has_effect_[i] = effects.has(instruction);
    if (!is_live_[i] && !has_effect_[i]) continue;
    is_live_[i] = true;
    for (size_t k = 0; k < instruction.operands.size(); ++k) {
      is_live_[instruction.operands[k].value] = true;
      if (is_alias(instruction)) continue;
      for (LeafId leaf : leaves_of(instruction.operands[k]))
        uses_[leaf.value].push_back({InstructionId(i), static_cast<int>(k)});
    }
  }
  for (LeafId leaf : results()) is_result_[leaf.value] = true;
}

void Region::find_products() {
  for (const Instruction& instruction : computation_->instructions) {
    if (instruction.opcode != Opcode::kDot) continue;
    multiplied_.insert(instruction.shape.dimensions());
    for (InstructionId id : instruction.operands)
      multiplied_.insert(computation_->at(id).shape.dimensions());
  }
}

InstructionId Region::product_of(InstructionId transpose) const {
  const Instruction& instruction = computation_->at(transpose);
  if (instruction.opcode != Opcode::kTranspose) return {};
  const LeafId read = leaf(instruction.operands[0]);
  const InstructionId producer = leaves_[read.value].producer;
  const bool is_alone = uses_[read.value].size() == 1 && !is_result_[read.value];
  return is_alone && is_plain_dot(*computation_, computation_->at(producer)) ? producer
                                                                             : InstructionId();
}

void Region::collect(InstructionId id, InstructionId step, std::vector<bool>& seen) {
  for (InstructionId operand : computation_->at(id).operands) {
    for (LeafId leaf : leaves_of(operand)) {
      if (seen[leaf.value]) continue;
      seen[leaf.value] = true;
      if (is_lazy(leaf)) {
        collect(leaves_[leaf.value].producer, step, seen);
      } else {
        reads_[step.value].push_back(leaf);
      }
    }
  }
}

bool Region::depends(InstructionId step, InstructionId on) const {
  if (step.value <= on.value) return step == on;
  std::vector<InstructionId> queue = {step};
  std::vector<bool> seen(step.value + 1);
  while (!queue.empty()) {
    const InstructionId next = queue.back();
    queue.pop_back();
    for (LeafId leaf : reads(next)) {
      const InstructionId producer = leaves_[leaf.value].producer;
      if (producer == on) return true;
      if (producer.value < on.value || seen[producer.value]) continue;
      seen[producer.value] = true;
      queue.push_back(producer);
    }
  }
  return false;
}

// The step and what it needs of those that are not done; without a call for each, since chains are
// long.
std::set<InstructionId> Region::undone(InstructionId step, const std::vector<bool>& done) const {
  std::vector<InstructionId> missing = {step};
  std::set<InstructionId> found = {step};
  for (size_t next = 0; next < missing.size(); ++next) {
    for (LeafId leaf : reads(missing[next])) {
      const InstructionId producer = leaves_[leaf.value].producer;
      if (!done[producer.value] && found.insert(producer).second) missing.push_back(producer);
    }
  }
  return found;
}

// What the step needs comes first, by number.
void Region::visit(InstructionId step, std::vector<bool>& done) {
  if (done[step.value]) return;
  for (InstructionId id : undone(step, done)) visit_alone(id, done);
}

// All that it needs was visited.
void Region::visit_alone(InstructionId step, std::vector<bool>& done) {
  if (done[step.value]) return;
  done[step.value] = true;
  // Who reads an array that is overwritten comes first, where it needs none of the steps that
  // wait.
  waiting_.push_back(step);
  const Instruction& instruction = computation_->at(step);
  for (size_t k = 0; k < updated_operands(instruction); ++k)
    visit_readers(leaf(instruction.operands[k]), step, done);
  if (!is_of_group(step)) {
    for (LeafId now : leaves_of(step)) {
      if (const auto old = replaced_.find(now); old != replaced_.end())
        visit_readers(old->second, step, done);
    }
  }
  waiting_.pop_back();
  order_.push_back(step);
}

// The step before it and this one are elementwise and of one size: they are one loop as long as
// nothing comes between them.
bool Region::is_of_group(InstructionId step) const {
  if (order_.empty()) return false;
  const Instruction &now = computation_->at(step), &before = computation_->at(order_.back());
  return is_scalar_op(*computation_, now) && is_scalar_op(*computation_, before) &&
         now.shape.element_count() == before.shape.element_count();
}

void Region::visit_readers(LeafId target, InstructionId step, std::vector<bool>& done) {
  for (InstructionId other : readers_[target.value]) {
    if (other.value <= step.value || done[other.value]) continue;
    if (std::ranges::any_of(waiting_, [&](InstructionId on) { return depends(other, on); }))
      continue;
    const auto has_effect = [&](InstructionId id) { return has_effect_[id.value]; };
    if (std::ranges::any_of(undone(other, done), has_effect)) continue;  // effects keep their order
    visit(other, done);
  }
}

// The arrays of a loop's state that steps replace: the new ones come to lie where the old ones do.
void Region::find_replaced() {
  const std::span<const LeafId> now = results();
  if (now.size() != parameters_.size()) return;
  for (size_t k = 0; k < now.size(); ++k) {
    const Shape& shape = *leaves_[now[k].value].shape;
    const bool is_array = shape.is_array() && !shape.is_scalar();
    if (is_array && now[k] != parameters_[k] && shape == *leaves_[parameters_[k].value].shape)
      replaced_.emplace(now[k], parameters_[k]);
  }
}

void Region::order_steps() {
  const auto count = static_cast<size_t>(computation_->size());
  reads_.resize(count);
  read_count_.resize(leaves_.size());
  readers_.resize(leaves_.size());
  std::vector<bool> done(count, true);
  for (size_t i = 0; i < count; ++i) {
    const Instruction& instruction = computation_->instructions[i];
    if (!is_live_[i] || is_alias(instruction) || instruction.opcode == Opcode::kParameter) continue;
    const bool gives_nothing = leaves_of_[i].empty();
    if (gives_nothing ? !has_effect_[i] : is_lazy(leaf(InstructionId(i)))) continue;
    done[i] = false;
    std::vector<bool> seen(leaves_.size());
    collect(InstructionId(i), InstructionId(i), seen);
    for (LeafId leaf : reads_[i]) {
      ++read_count_[leaf.value];
      readers_[leaf.value].emplace_back(i);
    }
  }
  for (LeafId leaf : results()) ++read_count_[leaf.value];
  find_replaced();
  for (size_t i = 0; i < count; ++i) visit(InstructionId(i), done);
  turn_.resize(count);
  for (size_t turn = 0; turn < order_.size(); ++turn) turn_[order_[turn].value] = turn;
}

}  // namespace heddle::cpu
