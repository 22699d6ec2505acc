// Which instructions are computed where they are read.
#include <algorithm>
#include <set>

#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/cpu/lower/regions/region.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/op.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kMaxLazy = 256;    // instructions that one step computes
constexpr size_t kMostRepeated = 6;  // readers that each compute what widens_cheaply()
constexpr int64_t kMostRepeatedOps = 3;
constexpr int64_t kMostTwice = 8;  // cheap ops that one step computes for two paddings of it

// What a broadcast repeats along the last dimensions is computed for one element at a time where it
// is read. That costs more than a pass over memory where it takes so many operations, and one for
// so many elements of the row.
constexpr int64_t kMuchWork = 24, kMostWork = 256, kRepeatsOfOperation = 8;
constexpr int64_t kManyRepeated = 8;
constexpr int64_t kManyTransposed = 1024;  // elements
constexpr int64_t kManyIndices = 32;       // elements
constexpr int64_t kLeastCut = 256;         // bytes of an array that is worth boxes

// The operand is computed where the step reads it, and need not lie in memory.
bool reads_elements(const hlo::Module& module, const Computation& computation,
                    const Instruction& user, int operand) {
  if (is_scalar_op(computation, user)) return true;
  switch (user.opcode) {
    case Opcode::kReshape:
      return is_degenerate_reshape(computation.at(user.operands[0]).shape, user.shape) ||
             joins_repeats(computation, user);
    case Opcode::kPad:
    case Opcode::kComplex:
    case Opcode::kConcatenate:
    case Opcode::kWhile: return true;
    case Opcode::kConditional: return operand > 0;
    case Opcode::kReduce:
    case Opcode::kDot: return is_loop_step(module, computation, user);
    case Opcode::kReduceWindow:  // other windows read an element several times
      return running_fold(module, computation.at(user.operands[0]).shape, user).has_value();
    case Opcode::kGather:  // of few elements; else they are computed once, in vectors
      return operand > 0 || user.shape.element_count() * kManyReads <=
                                computation.at(user.operands[0]).shape.element_count();
    case Opcode::kDynamicUpdateSlice:
      return operand > 0 || framed_start(computation, user).has_value();
    case Opcode::kScatter:
      return operand > static_cast<int>(user.operands.size()) / 2 - 1 &&
             is_loop_step(module, computation, user);
    default: return hlo::does(user.opcode, hlo::kPicks);
  }
}

// A conversion of numbers to floats of no fewer bits: less work than to write and to read them.
bool is_cheap_convert(const Computation& computation, const Instruction& convert) {
  if (convert.opcode != Opcode::kConvert) return false;
  const DType from = computation.at(convert.operands[0]).shape.dtype(), to = convert.shape.dtype();
  return (to == f32 || to == f64) && from != pred && storage_bytes(from) <= storage_bytes(to);
}

// That an element takes, about.
int64_t operations_of(const Instruction& instruction) {
  if (hlo::facts(instruction.opcode).work != hlo::Work::kMuch) return 1;
  switch (instruction.opcode) {
    case Opcode::kDivide:
    case Opcode::kRemainder:
    case Opcode::kSqrt:
    case Opcode::kRsqrt: return 8;
    default: return is_floating(instruction.shape.dtype()) ? kMuchWork : 8;
  }
}

// How many elements of a broadcast stand side by side for one of its operand: 1 where the last
// dimension is the operand's.
int64_t repeats_of(const Instruction& broadcast) {
  const auto& dims = dimensions_of(broadcast);
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
bool scatters_reads(const Computation& computation, const Instruction& instruction) {
  const int64_t rank = instruction.shape.rank();
  const auto is_short = [](int64_t size) { return size < kManyRepeated; };
  switch (instruction.opcode) {
    case Opcode::kGather:
    case Opcode::kReverse: return true;
    case Opcode::kTranspose: return dimensions_of(instruction).back() != rank - 1;
    case Opcode::kSlice: {
      const Shape& from = computation.at(instruction.operands[0]).shape;
      const auto& last = instruction.attrs.get<hlo::SliceAttrs>().slice.back();
      return last.stride != 1 || (is_short(last.limit - last.start) &&
                                  last.limit - last.start != from.dimension(rank - 1));
    }
    default: return false;
  }
}

}  // namespace

// To compute one element, and what it needs of operands that have no place, takes as long as a good
// share of a row of `size` elements.
bool Region::takes_as_long_as_row(InstructionId id, int64_t size) const {
  const int64_t much = std::max(kMuchWork, size / kRepeatsOfOperation);
  if (much > kMostWork) return false;
  std::vector<InstructionId> queue = {id};
  std::set<InstructionId> seen = {id};
  int64_t work = 0;
  for (size_t next = 0; next < queue.size() && work < much; ++next) {
    const Instruction& instruction = computation_->at(queue[next]);
    if (!may_be_lazy(queue[next]) || has_place_[queue[next].value]) continue;
    if (is_scalar_op(*computation_, instruction)) work += operations_of(instruction);
    for (InstructionId operand : instruction.operands) {
      if (seen.insert(operand).second) queue.push_back(operand);
    }
  }
  return work >= much;
}

void Region::find_costs() {
  costs_.assign(static_cast<size_t>(computation_->size()), false);
  for (size_t i = 0; i < costs_.size(); ++i) {
    const InstructionId id(i);
    const Instruction& instruction = computation_->instructions[i];
    if (!may_be_lazy(id)) continue;
    if (is_scalar_op(*computation_, instruction) && instruction.opcode != Opcode::kCopy) {
      costs_[i] = true;
      continue;
    }
    for (InstructionId operand : instruction.operands)
      costs_[i] = costs_[i] || (costs_[operand.value] && !has_place_[operand.value] &&
                                !computation_->at(operand).shape.is_scalar());
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
  if (is_cut(instruction)) return instruction.shape.byte_size() >= kLeastCut;
  if (!hlo::does(instruction.opcode, hlo::kPicks)) return false;
  for (InstructionId operand : instruction.operands) {
    if (!is_held(computation_->at(operand).shape)) return false;
  }
  return instruction.opcode != Opcode::kReshape ||
         is_degenerate_reshape(computation_->at(instruction.operands[0]).shape,
                               instruction.shape) ||
         joins_repeats(*computation_, instruction);
}

// Twice: to move elements of what has a place of its own costs nothing.
void Region::find_lazy() {
  has_place_.assign(static_cast<size_t>(computation_->size()), false);
  find_costs();
  choose_lazy();
  for (size_t i = 0; i < has_place_.size(); ++i)
    has_place_[i] = costs_[i] && is_scalar_op(*computation_, computation_->instructions[i]) &&
                    !is_lazy_[leaf(InstructionId(i)).value];
  for (size_t i = 0; i < has_place_.size(); ++i)
    has_place_[i] = has_place_[i] && !is_cheaper_twice(InstructionId(i));
  find_costs();
  choose_lazy();
}

// Elements of memory, or of a part of it, in the order in which they stand.
bool Region::is_memory_in_order(InstructionId id) const {
  while (may_be_lazy(id) && !has_place_[id.value]) {
    const Instruction& instruction = computation_->at(id);
    if (instruction.opcode != Opcode::kSlice || scatters_reads(*computation_, instruction))
      return false;
    id = instruction.operands[0];
  }
  return true;
}

// A number, or an array of them.
bool Region::is_number(InstructionId id) const {
  const Instruction& from = computation_->at(id);
  return from.opcode == Opcode::kConstant ||
         (from.opcode == Opcode::kBroadcast &&
          computation_->at(from.operands[0]).shape.element_count() * 8 <=
              from.shape.element_count());
}

bool Region::is_sum(InstructionId id) const {
  const Opcode opcode = computation_->at(id).opcode;
  return opcode == Opcode::kAdd || opcode == Opcode::kSubtract;
}

// One addition to what is read anyway, of a number or of one array in memory and broadcast numbers;
// or one op on broadcast numbers, as in an outer product: two steps compute it as fast as they
// would read it.
bool Region::is_as_cheap_as_a_read(InstructionId id) const {
  if (!is_sum(id) && computation_->at(id).opcode != Opcode::kMultiply) return false;
  const InstructionId a = computation_->at(id).operands[0], b = computation_->at(id).operands[1];
  const DType dtype = computation_->at(id).shape.dtype();
  if (is_number(a) && is_number(b))
    return !is_complex(dtype) && !(is_floating(dtype) && storage_bytes(dtype) < 4);  // rounding
  if (!is_sum(id)) return false;
  return (is_number(a) && is_memory_in_order(b)) || (is_number(b) && is_memory_in_order(a));
}

// It is a few cheap ops on what lies in memory in order and on numbers.
bool Region::is_cheap(InstructionId id) const {
  std::vector<InstructionId> queue = {id};
  std::set<InstructionId> seen = {id};
  int64_t ops = 0;
  while (!queue.empty()) {
    const InstructionId next = queue.back();
    queue.pop_back();
    if (is_number(next) || is_memory_in_order(next)) continue;
    const Instruction& instruction = computation_->at(next);
    if (!is_scalar_op(*computation_, instruction) || operations_of(instruction) > 1 ||
        ++ops > kMostTwice)
      return false;
    for (const InstructionId operand : instruction.operands)
      if (seen.insert(operand).second) queue.push_back(operand);
  }
  return true;
}

// A few cheap ops on narrower elements that lie in memory in order, and on numbers, as a conversion
// of bytes: several steps compute it as fast as one would write it and they would read it.
bool Region::widens_cheaply(InstructionId id) const {
  const DType dtype = computation_->at(id).shape.dtype();
  if (is_complex(dtype)) return false;
  std::vector<InstructionId> queue = {id};
  std::set<InstructionId> seen = {id};
  int64_t ops = 0, arrays = 0;
  while (!queue.empty()) {
    const InstructionId next = queue.back();
    queue.pop_back();
    if (is_number(next)) continue;
    const Instruction& instruction = computation_->at(next);
    if (is_scalar_op(*computation_, instruction)) {
      if (operations_of(instruction) > 1 || ++ops > kMostRepeatedOps) return false;
      for (const InstructionId operand : instruction.operands)
        if (seen.insert(operand).second) queue.push_back(operand);
      continue;
    }
    const DType from = instruction.shape.dtype();
    if (!is_memory_in_order(next) || from == pred || ++arrays > 1 ||
        storage_bytes(from) * 2 > storage_bytes(dtype))
      return false;
  }
  return arrays == 1;
}

// One step puts padding around it, or around one cheap op on it.
bool Region::is_padded(const Use& use) const {
  const auto is_lazy_pad = [&](InstructionId id) {
    return computation_->at(id).opcode == Opcode::kPad && is_lazy(leaf(id));
  };
  if (is_lazy_pad(use.user)) return true;
  const Instruction& user = computation_->at(use.user);
  if (!is_scalar_op(*computation_, user) || operations_of(user) != 1) return false;
  const std::vector<Use>& next = uses_[leaf(use.user).value];
  return next.size() == 1 && is_lazy_pad(next[0].user);
}

// A few ops on what lies in memory, around which one step puts two paddings: to write the result
// and to read it twice costs more.
bool Region::is_cheaper_twice(InstructionId id) const {
  const std::vector<Use>& uses = uses_[leaf(id).value];
  return uses.size() == 2 && is_cheap(id) &&
         std::ranges::all_of(uses, [&](const Use& use) { return is_padded(use); });
}

// Many neighbours of the last dimension lie further apart than shuffles of a few vectors reach.
bool turns_rows(const Computation& computation, const Instruction& instruction) {
  if (instruction.opcode != Opcode::kTranspose) return false;
  const Shape& from = computation.at(instruction.operands[0]).shape;
  int64_t step = 1;
  for (int64_t d = dimensions_of(instruction).back() + 1; d < from.rank(); ++d)
    step *= from.dimension(d);
  return step > kMostColumns && instruction.shape.dimensions().back() > kMostColumns;
}

// An elementwise op of many operations, or a fold of several arrays.
bool works_much(const Computation& computation, const Instruction& instruction) {
  if (instruction.opcode == Opcode::kReduce) return instruction.operands.size() > 2;
  return is_scalar_op(computation, instruction) &&
         hlo::facts(instruction.opcode).work == hlo::Work::kMuch;
}

// Chooses them one by one, users before what they read.
class Region::LazyChoice {
 public:
  explicit LazyChoice(Region& region)
      : region_(region),
        in_(*region.computation_),
        home_(static_cast<size_t>(in_.size())),
        known_(home_.size()) {}

  void run() {
    for (size_t i = home_.size(); i-- > 0;) choose(InstructionId(i));
  }

 private:
  struct Known {
    int64_t size = 1;        // instructions that the step computes
    int64_t level = 0;       // lazy instructions between it and a step
    int64_t reads = 1;       // of each element, by one step
    bool as_view = false;    // a product reads it by strides
    bool read_once = false;  // that product alone, and each element once
    bool is_here = false;    // computed at the place that its step writes
    bool works = false;      // it, or an elementwise user, works_much()
  };

  [[nodiscard]] const std::vector<Use>& uses(InstructionId id) const {
    return region_.uses_[region_.leaf(id).value];
  }
  [[nodiscard]] const Known& user(const Use& use) const { return known_[use.user.value]; }

  void choose(InstructionId id) {
    const Instruction& instruction = in_.at(id);
    Known& own = known_[id.value];
    home_[id.value] = id;
    if (!region_.is_live_[id.value]) return;
    const bool is_elementwise = is_scalar_op(in_, instruction);
    own.works = works_much(in_, instruction) || (is_elementwise && is_worked_on(id));
    if (const InstructionId product = region_.product_of(id); product.valid()) {
      region_.is_lazy_[region_.leaf(product).value] = true;
      return;
    }
    if (!region_.may_be_lazy(id)) return;
    own.is_here = is_elementwise;
    for (const Use& use : uses(id)) note_use(id, use);
    if (!is_best_lazy(id)) {
      own.as_view = own.read_once = false;
      return;
    }
    // A place of its own ends a long chain.
    for (const Use& use : uses(id)) own.level = std::max(own.level, user(use).level + 1);
    if (own.level > kMaxLazy) {
      own.as_view = false;
      own.level = 0;
      return;
    }
    if (costs(id) && !fits_in_home(id)) return;
    const InstructionId first = home_[uses(id)[0].user.value];
    const bool is_read_here =
        std::ranges::all_of(uses(id), [&](const Use& use) { return user(use).is_here; });
    if (is_cut(instruction) && !(has_one_home(id) && is_read_here && region_.cuts(first, id)))
      return;
    home_[id.value] = has_one_home(id) ? first : InstructionId();
    own.is_here = own.is_here && is_read_here;
    region_.is_lazy_[region_.leaf(id).value] = true;
    // A view converts once: what it converts is in memory.
    if (is_converted(id)) own.read_once = false;
  }

  void note_use(InstructionId id, const Use& use) {
    const Instruction& reader = in_.at(use.user);
    Known& own = known_[id.value];
    own.as_view =
        own.as_view || reader.opcode == Opcode::kDot || (user(use).as_view && use.operand == 0);
    own.read_once =
        uses(id).size() == 1 && (reader.opcode == Opcode::kDot
                                     ? reads_once(in_, reader, use.operand)
                                     : reader.opcode != Opcode::kBroadcast && user(use).read_once);
    const bool is_of_user = region_.leaves_of(use.user).size() == 1 &&
                            region_.is_lazy(region_.leaf(use.user));  // computed there
    int64_t times = is_of_user ? user(use).reads : 1;
    if (reader.opcode == Opcode::kBroadcast)
      times *=
          reader.shape.element_count() / std::max<int64_t>(1, in_.at(id).shape.element_count());
    own.reads = std::max(own.reads, times);
  }

  // Whether it may be computed where this one reads it, and is not better computed once.
  [[nodiscard]] bool allows(InstructionId id, const Use& use) const {
    const Instruction& reader = in_.at(use.user);
    const bool costs = region_.costs_[id.value];
    const int64_t elements = in_.at(id).shape.element_count();
    if (!reads_elements(*region_.module_, in_, reader, use.operand)) return false;
    // As a step it lies where its operand does.
    if (joins_repeats(in_, reader) && !region_.is_lazy(region_.leaf(use.user))) return false;
    if (elements >= kManyTransposed && turns_rows(in_, reader) && computes_much(id)) return false;
    switch (reader.opcode) {
      // A loop's initial value is written to its place at once, and by no other step.
      case Opcode::kWhile: return uses(id).size() == 1 || !costs;
      // What one branch alone needs is written in that branch.
      case Opcode::kConditional: return uses(id).size() == 1 && !in_.at(id).shape.is_scalar();
      case Opcode::kBroadcast: {
        const int64_t repeats = repeats_of(reader);
        if (costs && repeats > 1 && elements >= kManyRepeated &&
            region_.takes_as_long_as_row(id, repeats))
          return false;
        // Computed once all the same where the loops around it stand still.
        const Dims& dims = dimensions_of(reader);
        return !costs || dims == consecutive_dimensions(std::ssize(dims));
      }
      case Opcode::kGather:
        return use.operand != 1 || !costs || elements < kManyRepeated ||
               repeats_of_indices(reader) == 1;
      // One by one a scatter would compute what vectors do.
      case Opcode::kScatter:
        return !costs || elements < kManyIndices || !takes_one_by_one(reader, use.operand);
      default: return true;
    }
  }

  // It takes a function of something. Read across rows, that is computed element by element.
  [[nodiscard]] bool computes_much(InstructionId id) const {
    std::vector<InstructionId> queue = {id};
    std::set<InstructionId> seen = {id};
    for (size_t next = 0; next < queue.size() && next < kMaxLazy; ++next) {
      const Instruction& op = in_.at(queue[next]);
      if (works_much(in_, op)) return true;
      if (!is_scalar_op(in_, op)) continue;
      for (const InstructionId operand : op.operands)
        if (!in_.at(operand).shape.is_scalar() && seen.insert(operand).second)
          queue.push_back(operand);
    }
    return false;
  }

  [[nodiscard]] bool is_best_lazy(InstructionId id) const {
    const Instruction& instruction = in_.at(id);
    const int64_t elements = instruction.shape.element_count();
    const Known& own = known_[id.value];
    if (region_.is_result_[region_.leaf(id).value] || uses(id).empty() ||
        region_.has_place_[id.value] ||
        !std::ranges::all_of(uses(id), [&](const Use& use) { return allows(id, use); }))
      return false;
    // Tiles are stored faster than much work, or several steps, gather their elements.
    if (elements >= kManyTransposed && turns_rows(in_, instruction) &&
        (!has_one_home(id) || is_worked_on(id)))
      return false;
    const bool is_written_once =
        own.reads >= kManyReads &&
        (scatters_reads(in_, instruction) ||
         (has_one_home(id) && region_.is_part_of_target(id, home_[uses(id)[0].user.value])));
    if (is_written_once && elements >= kManyRepeated) return false;
    if (region_.is_part_of_overwritten(id, home_)) return false;
    // What a product reads by strides is computed in its own order, and stored: as many elements.
    // A conversion that is read once is not.
    if (!own.as_view) return true;
    if (joins_repeats(in_, instruction)) return false;
    return is_converted(id) || (!costs(id) && hlo::does(instruction.opcode, hlo::kStrided));
  }

  // Whether its step, or several, may compute an instruction that costs.
  bool fits_in_home(InstructionId id) {
    const bool is_repeated =
        !has_one_home(id) || !home_[uses(id)[0].user.value].valid() || uses(id).size() > 1;
    if (is_repeated && uses(id).size() <= kMostRepeated && region_.widens_cheaply(id)) return true;
    const bool is_moved = std::ranges::any_of(uses(id), [&](const Use& use) {
      const Opcode opcode = in_.at(use.user).opcode;
      return hlo::does(opcode, hlo::kPicks) || opcode == Opcode::kPad;
    });
    if (is_moved && uses(id).size() > 1 && !region_.is_cheaper_twice(id)) return false;
    const InstructionId first = home_[uses(id)[0].user.value];
    if (!has_one_home(id)) return uses(id).size() <= 2 && region_.is_as_cheap_as_a_read(id);
    if (!first.valid() || known_[first.value].size >= kMaxLazy) return false;
    ++known_[first.value].size;
    return true;
  }

  [[nodiscard]] bool costs(InstructionId id) const {
    const Opcode opcode = in_.at(id).opcode;
    const bool is_other_order = opcode == Opcode::kTranspose || opcode == Opcode::kReshape;
    return region_.costs_[id.value] && !(known_[id.value].as_view && is_other_order);
  }
  [[nodiscard]] bool is_converted(InstructionId id) const {
    return known_[id.value].as_view && known_[id.value].read_once &&
           is_cheap_convert(in_, in_.at(id));
  }
  [[nodiscard]] bool is_worked_on(InstructionId id) const {
    return std::ranges::any_of(uses(id), [&](const Use& use) { return user(use).works; });
  }
  [[nodiscard]] bool has_one_home(InstructionId id) const {
    return std::ranges::all_of(uses(id), [&](const Use& use) {
      return home_[use.user.value] == home_[uses(id)[0].user.value];
    });
  }

  Region& region_;
  const Computation& in_;
  std::vector<InstructionId> home_;  // the step that computes it; of several steps: none
  std::vector<Known> known_;
};

void Region::choose_lazy() {
  is_lazy_.assign(leaves_.size(), false);
  cuts_.clear();
  LazyChoice(*this).run();
}

}  // namespace heddle::cpu
