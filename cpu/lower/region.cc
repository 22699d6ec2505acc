#include "heddle/cpu/lower/region.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "heddle/cpu/lower/scalar_ops.h"
#include "heddle/cpu/lower/small_floats.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/calls/debug_calls.h"
#include "heddle/hlo/op.h"

namespace heddle::cpu {
namespace {

using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;

constexpr int64_t kMaxLazy = 256;  // instructions that one step computes

// A function that is computed for one element at a time, since a broadcast repeats each along these
// last dimensions, costs more than a pass over memory where they are so few.
constexpr int64_t kFewRepeats = 32, kManyElements = 8;
// Elements that stand apart are brought together once if they are read so many times.
constexpr int64_t kManyReads = 4;
constexpr int64_t kManyIndices = 32;    // elements
constexpr int64_t kSmallTarget = 1024;  // bytes of an array whose copy costs next to nothing

int64_t leaf_count(const Shape& shape) {
  if (!shape.is_tuple()) return 1;
  int64_t count = 0;
  for (const Shape& element : shape.elements()) count += leaf_count(element);
  return count;
}

bool is_held(const Shape& shape) {
  return shape.is_array() && !shape.is_dynamic() && scalar_of(shape.dtype()).has_value();
}

// The operand is computed where the step reads it, and need not lie in memory.
bool reads_elements(const hlo::Module& module, const hlo::Computation& computation,
                    const Instruction& user, int operand) {
  if (is_scalar_op(computation, user)) return true;
  switch (user.opcode) {
    case Opcode::kReshape:
      return is_degenerate_reshape(computation.at(user.operands[0]).shape, user.shape);
    case Opcode::kPad:
    case Opcode::kComplex:
    case Opcode::kConcatenate:
    case Opcode::kWhile: return true;
    case Opcode::kConditional: return operand > 0;
    case Opcode::kReduce:
    case Opcode::kDot: return is_loop_step(module, computation, user);
    case Opcode::kReduceWindow:  // other windows read an element several times
      return running_fold(module, computation.at(user.operands[0]).shape, user).has_value();
    case Opcode::kGather: return operand > 0;
    case Opcode::kDynamicUpdateSlice:
      return operand > 0 || framed_start(computation, user).has_value();
    case Opcode::kScatter:
      return operand > static_cast<int>(user.operands.size()) / 2 - 1 &&
             is_loop_step(module, computation, user);
    default: return hlo::does(user.opcode, hlo::kPicks);
  }
}

// A function of dozens of operations an element.
bool is_function(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kDivide:
    case Opcode::kRemainder:
    case Opcode::kSqrt:
    case Opcode::kRsqrt: return false;
    default:
      return is_floating(instruction.shape.dtype()) &&
             hlo::facts(instruction.opcode).work == hlo::Work::kMuch;
  }
}

// How many elements of a broadcast stand side by side for one of its operand: 1 where the last
// dimension is the operand's.
int64_t repeats_of(const Instruction& broadcast) {
  const auto& dims = broadcast.attrs.get<hlo::DimensionsAttrs>().dimensions;
  int64_t count = 1;
  for (int64_t d = broadcast.shape.rank(); d-- > 0;) {
    if (std::ranges::find(dims, d) != dims.end()) break;
    count *= broadcast.shape.dimension(d);
  }
  return count;
}

// How often loops over the result come to each index of a gather: the windows' dimensions around
// those of the indices.
int64_t repeats_of_indices(const Instruction& gather) {
  const auto& window = gather.attrs.get<hlo::GatherAttrs>().offset_dims;
  int64_t count = 1, around = 1;
  for (int64_t d = 0; d < gather.shape.rank(); ++d) {
    const int64_t size = gather.shape.dimension(d);
    if (std::ranges::find(window, d) != window.end()) {
      count *= size;
    } else if (size > 1) {
      around = count;
    }
  }
  return around;
}

// A scatter's indices, and updates whose windows are single elements.
bool takes_one_by_one(const Instruction& scatter, int operand) {
  const auto updates = static_cast<int>(updated_operands(scatter)) + 1;
  return operand < updates || scatter.attrs.get<hlo::ScatterAttrs>().update_window_dims.empty();
}

// Elements that stand side by side in the result do not in the operand: a vector of them is read
// one by one.
bool scatters_reads(const hlo::Computation& computation, const Instruction& instruction) {
  const int64_t rank = instruction.shape.rank();
  const auto is_short = [](int64_t size) { return size < kManyElements; };
  switch (instruction.opcode) {
    case Opcode::kGather:
    case Opcode::kReverse: return true;
    case Opcode::kTranspose:
      return instruction.attrs.get<hlo::DimensionsAttrs>().dimensions.back() != rank - 1;
    case Opcode::kSlice: {
      const Shape& from = computation.at(instruction.operands[0]).shape;
      const auto& last = instruction.attrs.get<hlo::SliceAttrs>().slice.back();
      return last.stride != 1 || (is_short(last.limit - last.start) &&
                                  last.limit - last.start != from.dimension(rank - 1));
    }
    default: return false;
  }
}

// Matrices that are worth writing out.
bool is_small_system(const Instruction& instruction) {
  const Shape& shape = instruction.shape;
  if (shape.dtype() != f32 && shape.dtype() != f64) return false;
  const bool is_solve = instruction.opcode == Opcode::kTriangularSolve;
  const bool left = !is_solve || instruction.attrs.get<hlo::TriangularSolveAttrs>().left_side;
  return shape.dimension(shape.rank() - (left ? 2 : 1)) <= kMaxFactorRows;
}

// It is wanted though nobody reads its result.
bool shows_something(const hlo::Module& module, const Instruction& instruction) {
  return hlo::is_debug_call(instruction) ||
         std::ranges::any_of(instruction.called, [&](hlo::ComputationId id) {
           return hlo::has_debug_calls(module, id);
         });
}

}  // namespace

bool is_alias(const Instruction& instruction) {
  return hlo::does(instruction.opcode, hlo::kHandsOn) ||
         (instruction.opcode == Opcode::kCopy && instruction.shape.is_tuple());
}

bool is_degenerate_reshape(const Shape& from, const Shape& to) {
  auto a = from.dimensions(), b = to.dimensions();
  std::erase(a, 1);
  std::erase(b, 1);
  return a == b;
}

bool is_splat(const Literal& literal) {
  const auto size = static_cast<size_t>(literal.byte_size());
  const auto step = static_cast<size_t>(storage_bytes(literal.shape().dtype()));
  return size > 0 && std::memcmp(literal.bytes(), literal.bytes() + step, size - step) == 0;
}

namespace {

// Of an update at a constant place; of padding that takes nothing away and goes around.
std::optional<std::vector<int64_t>> fixed_start(const hlo::Computation& computation,
                                                const Instruction& instruction) {
  std::vector<int64_t> start;
  if (instruction.opcode == Opcode::kPad) {
    for (const hlo::PadDimension& d : instruction.attrs.get<hlo::PadAttrs>().padding) {
      if (d.low < 0 || d.high < 0 || d.interior != 0) return std::nullopt;
      start.push_back(d.low);
    }
    return start;
  }
  if (instruction.opcode != Opcode::kDynamicUpdateSlice) return std::nullopt;
  const Shape& part = computation.at(instruction.operands[1]).shape;
  for (int64_t d = 0; d < part.rank(); ++d) {
    const int64_t most = instruction.shape.dimension(d) - part.dimension(d);
    const Instruction& from = computation.at(instruction.operands[static_cast<size_t>(d) + 2]);
    if (most > 0 && from.opcode != Opcode::kConstant) return std::nullopt;
    start.push_back(most == 0
                        ? 0
                        : std::clamp<int64_t>(
                              from.attrs.get<hlo::ConstantAttrs>().literal.to_int64(0), 0, most));
  }
  return start;
}

}  // namespace

std::optional<std::vector<int64_t>> framed_start(const hlo::Computation& computation,
                                                 const Instruction& instruction) {
  auto start = fixed_start(computation, instruction);
  if (!start) return std::nullopt;
  const size_t part = instruction.opcode == Opcode::kPad ? 0 : 1;
  const int64_t kept = computation.at(instruction.operands[part]).shape.element_count();
  if (!is_mostly(kept, instruction.shape)) return std::nullopt;
  return start;
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
  const hlo::Computation& body = module.at(instruction.called[0]);
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

bool is_loop_step(const hlo::Module& module, const hlo::Computation& computation,
                  const Instruction& instruction) {
  const auto held = [&](InstructionId id) { return is_held(computation.at(id).shape); };
  if (instruction.opcode == Opcode::kWhile || instruction.opcode == Opcode::kConditional ||
      is_part(computation, instruction))
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

bool is_plain_dot(const hlo::Computation& computation, const Instruction& dot) {
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

bool is_product_convolution(const hlo::Computation& computation, const Instruction& instruction) {
  const DType dtype = instruction.shape.dtype();
  if (instruction.opcode != Opcode::kConvolution || (dtype != f32 && dtype != f64)) return false;
  return instruction.shape.element_count() > 0 &&
         std::ranges::all_of(instruction.operands, [&](InstructionId id) {
           const Shape& shape = computation.at(id).shape;
           return shape.dtype() == dtype && !shape.is_dynamic() && shape.element_count() > 0;
         });
}

Region::Region(const hlo::Module& module, const hlo::Computation& computation)
    : module_(&module), computation_(&computation) {
  find_leaves();
  find_uses();
  find_costs();
  find_products();
  choose_lazy();
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
  for (size_t i = count; i-- > 0;) {
    const Instruction& instruction = computation_->instructions[i];
    if (!is_live_[i] && !shows_something(*module_, instruction)) continue;
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

void Region::find_costs() {
  costs_.resize(static_cast<size_t>(computation_->size()));
  for (size_t i = 0; i < costs_.size(); ++i) {
    const InstructionId id(i);
    const Instruction& instruction = computation_->instructions[i];
    if (!may_be_lazy(id)) continue;
    if (is_scalar_op(*computation_, instruction) && instruction.opcode != Opcode::kCopy) {
      costs_[i] = true;
      continue;
    }
    for (InstructionId operand : instruction.operands)
      costs_[i] =
          costs_[i] || (costs_[operand.value] && !computation_->at(operand).shape.is_scalar());
  }
}

// Scalars are nodes: they are steps, but for constants.
bool Region::may_be_lazy(InstructionId id) const {
  const Instruction& instruction = computation_->at(id);
  if (!is_held(instruction.shape)) return false;
  if (instruction.opcode == Opcode::kConstant)
    return is_splat(instruction.attrs.get<hlo::ConstantAttrs>().literal);
  if (instruction.shape.is_scalar()) return false;
  if (is_scalar_op(*computation_, instruction)) return true;
  if (instruction.opcode == Opcode::kIota || is_part(*computation_, instruction)) return true;
  if (!hlo::does(instruction.opcode, hlo::kPicks)) return false;
  for (InstructionId operand : instruction.operands) {
    if (!is_held(computation_->at(operand).shape)) return false;
  }
  return instruction.opcode != Opcode::kReshape ||
         is_degenerate_reshape(computation_->at(instruction.operands[0]).shape, instruction.shape);
}

void Region::choose_lazy() {
  is_lazy_.resize(leaves_.size());
  // The step that computes a lazy instruction; of several steps: none.
  std::vector<InstructionId> home(static_cast<size_t>(computation_->size()));
  std::vector<int64_t> size(home.size(), 1);
  std::vector<bool> as_view(home.size());      // a product reads it by strides
  std::vector<int64_t> level(home.size());     // lazy instructions between it and a step
  std::vector<bool> is_single(home.size());    // computed for one element at a time
  std::vector<int64_t> reads(home.size(), 1);  // of each element, by one step
  for (size_t i = home.size(); i-- > 0;) {
    const InstructionId id(i);
    home[i] = id;
    if (!is_live_[i]) continue;
    if (const InstructionId product = product_of(id); product.valid()) {
      is_lazy_[leaf(product).value] = true;
      continue;
    }
    if (!may_be_lazy(id)) continue;
    const LeafId leaf = this->leaf(id);
    const std::vector<Use>& uses = uses_[leaf.value];
    const Shape& own = computation_->at(id).shape;
    bool lazy = !is_result_[leaf.value] && !uses.empty();
    bool one_home = !uses.empty(), is_moved = false;
    for (const Use& use : uses) {
      const Instruction& user = computation_->at(use.user);
      lazy = lazy && reads_elements(*module_, *computation_, user, use.operand);
      as_view[i] = as_view[i] || user.opcode == Opcode::kDot ||
                   (as_view[use.user.value] && use.operand == 0);
      // A loop's initial value is written to its place at once, and by no other step.
      if (user.opcode == Opcode::kWhile && uses.size() > 1) lazy = lazy && !costs_[i];
      // What one branch alone needs is written in that branch.
      if (user.opcode == Opcode::kConditional)
        lazy = lazy && uses.size() == 1 && !leaves_[leaf.value].shape->is_scalar();
      one_home = one_home && home[use.user.value] == home[uses[0].user.value];
      is_moved = is_moved || hlo::does(user.opcode, hlo::kPicks);
      const bool is_of_user =
          leaves_of(use.user).size() == 1 && is_lazy(this->leaf(use.user));  // computed there
      int64_t times = is_of_user ? reads[use.user.value] : 1;
      is_single[i] = is_single[i] || (is_of_user && is_single[use.user.value]);
      if (user.opcode == Opcode::kBroadcast) {
        const int64_t repeats = repeats_of(user);
        is_single[i] = is_single[i] || (repeats > 1 && repeats <= kFewRepeats);
        times *= user.shape.element_count() / std::max<int64_t>(1, own.element_count());
      }
      if (user.opcode == Opcode::kGather && use.operand == 1 && costs_[i] &&
          own.element_count() >= kManyElements)
        lazy = lazy && repeats_of_indices(user) == 1;
      // One by one a scatter would compute what vectors do.
      if (user.opcode == Opcode::kScatter && costs_[i] && own.element_count() >= kManyIndices)
        lazy = lazy && !takes_one_by_one(user, use.operand);
      reads[i] = std::max(reads[i], times);
      if (user.opcode == Opcode::kBroadcast && costs_[i]) {
        // Computed once all the same where the loops around it stand still.
        const auto& dims = user.attrs.get<hlo::DimensionsAttrs>().dimensions;
        for (size_t d = 0; d < dims.size(); ++d) lazy = lazy && dims[d] == static_cast<int64_t>(d);
      }
    }
    const bool is_read_often = reads[i] >= kManyReads;
    const bool is_written_once =
        (is_single[i] && is_function(computation_->at(id))) ||
        (is_read_often && (scatters_reads(*computation_, computation_->at(id)) ||
                           (one_home && is_part_of_target(id, home[uses[0].user.value]))));
    if (is_written_once && own.element_count() >= kManyElements) lazy = false;
    if (one_home && is_part_of_overwritten(id, home[uses[0].user.value])) lazy = false;
    // What a product reads by strides is computed in its own order, and stored: as many elements.
    const hlo::Opcode opcode = computation_->instructions[i].opcode;
    const bool is_other_order = opcode == Opcode::kTranspose || opcode == Opcode::kReshape;
    const bool costs = costs_[i] && !(as_view[i] && is_other_order);
    if (as_view[i] && (costs || !hlo::does(opcode, hlo::kStrided))) lazy = false;
    if (!lazy) {
      as_view[i] = false;
      continue;
    }
    // A place of its own ends a long chain.
    int64_t levels = 0;
    for (const Use& use : uses) levels = std::max(levels, level[use.user.value]);
    if (levels >= kMaxLazy) {
      as_view[i] = false;
      continue;
    }
    level[i] = levels + 1;
    const InstructionId first = home[uses[0].user.value];
    if (costs) {
      if (!one_home || !first.valid() || (is_moved && uses.size() > 1)) continue;
      if (size[first.value] >= kMaxLazy) continue;
      ++size[first.value];
    }
    home[i] = one_home ? first : InstructionId();
    is_lazy_[leaf.value] = true;
  }
}

// A part of a carried array, which the step replaces element by element: it may do so in place once
// the part has a place of its own.
bool Region::is_part_of_target(InstructionId part, InstructionId step) const {
  const Instruction& slice = computation_->at(part);
  if (slice.opcode != Opcode::kDynamicSlice && slice.opcode != Opcode::kSlice) return false;
  const Shape& whole = computation_->at(slice.operands[0]).shape;
  return step.valid() && std::ranges::count(parameters_, leaf(slice.operands[0])) > 0 &&
         computation_->at(step).shape == whole && whole.byte_size() > kSmallTarget &&
         slice.shape.element_count() * kManyReads <= whole.element_count();
}

// Elements of an array that another step than theirs overwrites: that may be in place once they
// have a place of their own.
bool Region::is_part_of_overwritten(InstructionId part, InstructionId step) const {
  const Instruction& gather = computation_->at(part);
  if (gather.opcode != Opcode::kGather) return false;
  const Shape& whole = computation_->at(gather.operands[0]).shape;
  const auto overwrites = [&](const Use& use) {
    return use.user != step &&
           use.operand < static_cast<int>(updated_operands(computation_->at(use.user)));
  };
  return whole.byte_size() > kSmallTarget &&
         gather.shape.element_count() * kManyReads <= whole.element_count() &&
         std::ranges::any_of(uses_[leaf(gather.operands[0]).value], overwrites);
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

// What the step needs comes first, by number; without a call for each, since chains are long.
void Region::visit(InstructionId step, std::vector<bool>& done) {
  if (done[step.value]) return;
  std::vector<InstructionId> missing = {step};
  std::set<InstructionId> found = {step};
  for (size_t next = 0; next < missing.size(); ++next) {
    for (LeafId leaf : reads(missing[next])) {
      const InstructionId producer = leaves_[leaf.value].producer;
      if (!done[producer.value] && found.insert(producer).second) missing.push_back(producer);
    }
  }
  for (InstructionId id : found) visit_alone(id, done);
}

// All that it needs was visited.
void Region::visit_alone(InstructionId step, std::vector<bool>& done) {
  if (done[step.value]) return;
  done[step.value] = true;
  // Who reads an array that is overwritten comes first, where it needs none of the steps that
  // wait.
  waiting_.push_back(step);
  const Instruction& instruction = computation_->at(step);
  for (size_t k = 0; k < updated_operands(instruction); ++k) {
    const LeafId target = leaf(instruction.operands[k]);
    for (InstructionId other : readers_[target.value]) {
      if (other.value <= step.value || done[other.value]) continue;
      if (std::ranges::any_of(waiting_, [&](InstructionId on) { return depends(other, on); }))
        continue;
      visit(other, done);
    }
  }
  waiting_.pop_back();
  order_.push_back(step);
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
    if (gives_nothing ? !shows_something(*module_, instruction) : is_lazy(leaf(InstructionId(i))))
      continue;
    done[i] = false;
    std::vector<bool> seen(leaves_.size());
    collect(InstructionId(i), InstructionId(i), seen);
    for (LeafId leaf : reads_[i]) {
      ++read_count_[leaf.value];
      readers_[leaf.value].emplace_back(i);
    }
  }
  for (LeafId leaf : results()) ++read_count_[leaf.value];
  for (size_t i = 0; i < count; ++i) visit(InstructionId(i), done);
}

}  // namespace heddle::cpu
