#include "heddle/cpu/rewrites/shapes/column_groups.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/cpu/lower/regions/region.h"
#include "heddle/hlo/attributes.h"
#include "heddle/transform/trip_count.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kMostSplitColumns = 16;
constexpr int64_t kMostOfAFold = 8;      // columns: more fill a vector as they are
constexpr int64_t kFewestPlaces = 64;    // of a column
constexpr int64_t kMostSplit = 512;      // ops of a group, once it is written
constexpr int64_t kWorkPerCrossing = 4;  // elements that a group computes for one at its border
constexpr int64_t kWorkOfAState = 24;    // the same, of a group that splits a loop's state
constexpr int64_t kFewestTrips = 4;      // of a loop whose state is split, if they are known

bool is_short(const Shape& shape, int64_t axis) {
  const int64_t size = shape.dimension(axis);
  return size >= 2 && size <= kMostSplitColumns && shape.element_count() >= kFewestPlaces * size;
}

bool names(const std::vector<int64_t>& dimensions, int64_t d) {
  return std::ranges::find(dimensions, d) != dimensions.end();
}

int64_t index_of(const Instruction& element) {
  return element.attrs.get<hlo::TupleIndexAttrs>().index;
}

bool reads(const Instruction& instruction, InstructionId id) {
  return std::ranges::find(instruction.operands, id) != instruction.operands.end();
}

// All that reads the tuple is its elements.
bool is_read_by_elements(const Computation& in, InstructionId tuple) {
  return in.root != tuple && std::ranges::none_of(in.instructions, [&](const Instruction& each) {
           return each.opcode != Opcode::kGetTupleElement && reads(each, tuple);
         });
}

bool reads_element(const Computation& in, InstructionId tuple, int64_t index) {
  return std::ranges::any_of(in.instructions, [&](const Instruction& each) {
    return each.opcode == Opcode::kGetTupleElement && each.operands[0] == tuple &&
           index_of(each) == index;
  });
}

}  // namespace

std::optional<int64_t> short_axis(const Shape& shape) {
  if (!is_plain(shape) || shape.rank() < 2) return std::nullopt;
  if (is_short(shape, shape.rank() - 1)) return shape.rank() - 1;
  return is_short(shape, 0) ? std::optional<int64_t>(0) : std::nullopt;
}

ColumnStates::ColumnStates(const hlo::Module& module) : module_(module) {
  std::map<ComputationId, int> calls;
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      for (ComputationId called : instruction.called) ++calls[called];
    }
  }
  for (const Computation& computation : module.computations) {
    for (const Instruction& loop : computation.instructions) {
      if (loop.opcode == Opcode::kWhile && calls[loop.called[0]] == 1 &&
          calls[loop.called[1]] == 1 && may_split(computation, loop))
        loops_[loop.called[0]] = &loop;
    }
  }
}

bool ColumnStates::may_split(const Computation& in, const Instruction& loop) const {
  if (transform::greatest_trip_count(loop).value_or(kFewestTrips) < kFewestTrips) return false;
  const InstructionId id(static_cast<size_t>(&loop - in.instructions.data()));
  const auto is_own_tuple = [](const Computation& computation, InstructionId tuple,
                               std::ptrdiff_t readers) {
    return computation.at(tuple).opcode == Opcode::kTuple &&
           std::ranges::count_if(computation.instructions, [&](const Instruction& each) {
             return reads(each, tuple);
           }) == readers;
  };
  const Computation &body = module_.at(loop.called[0]), &condition = module_.at(loop.called[1]);
  return in.root != loop.operands[0] && is_own_tuple(in, loop.operands[0], 1) &&
         is_own_tuple(body, body.root, 0) && is_read_by_elements(in, id) &&
         is_read_by_elements(body, body.parameters[0]) &&
         is_read_by_elements(condition, condition.parameters[0]);
}

std::set<int64_t> ColumnStates::may_split(ComputationId body) const {
  const auto found = loops_.find(body);
  if (found == loops_.end()) return {};
  const Computation& of = module_.at(body);
  const Computation& condition = module_.at(found->second->called[1]);
  const std::vector<Shape>& shapes = found->second->shape.elements();
  std::set<int64_t> out;
  for (int64_t i = 0; i < std::ssize(shapes); ++i) {
    if (short_axis(shapes[static_cast<size_t>(i)]) && reads_element(of, of.parameters[0], i) &&
        !reads_element(condition, condition.parameters[0], i))
      out.insert(i);
  }
  return out;
}

void ColumnStates::split(ComputationId body, const std::set<int64_t>& elements) {
  split_[body] = split_[loops_.at(body)->called[1]] = elements;
}

const std::set<int64_t>& ColumnStates::of(ComputationId called) const {
  static const std::set<int64_t> kNone;
  const auto found = split_.find(called);
  return found == split_.end() ? kNone : found->second;
}

Shape ColumnStates::shape(const Shape& state, ComputationId called) const {
  if (of(called).empty()) return state;  // which may be an array alone
  std::vector<Shape> elements = state.elements();
  for (const int64_t i : of(called)) {
    Shape& element = elements[static_cast<size_t>(i)];
    const int64_t axis = *short_axis(element);
    std::vector<int64_t> sizes = element.dimensions();
    sizes.erase(sizes.begin() + axis);
    const Shape column(element.dtype(), sizes);
    element =
        Shape::tuple(std::vector<Shape>(static_cast<size_t>(element.dimension(axis)), column));
  }
  return Shape::tuple(elements);
}

ColumnGroups::ColumnGroups(const hlo::Module& module, ComputationId id, ColumnStates& states)
    : module_(module),
      computation_(module.at(id)),
      states_(states),
      own_(states.may_split(id)),
      groups_(computation_.instructions.size()) {
  std::iota(groups_.begin(), groups_.end(), size_t{0});
  find_tuples();
  for (size_t i = 0; i < groups_.size(); ++i) {
    ColumnSplit split = split_of(InstructionId(i));
    const bool is_other = std::ranges::any_of(split.reads, [&](const ColumnSplit::Read& read) {
      return is_split(read.operand) && of(read.operand).axis != read.axis;
    });
    splits_.push_back(is_other ? ColumnSplit() : std::move(split));
  }
  join_groups();
  choose();
  if (!own_.empty()) states.split(id, own_);
}

bool ColumnGroups::has_any() const {
  return !tuples_.empty() || std::ranges::any_of(splits_, [](const ColumnSplit& each) {
    return each.part != Part::kNone;
  });
}

const std::set<int64_t>& ColumnGroups::elements_of(InstructionId tuple) const {
  static const std::set<int64_t> kNone;
  const auto found = tuples_.find(tuple);
  return found == tuples_.end() ? kNone : found->second;
}

// An element of this computation's state that may be columns.
bool ColumnGroups::is_own(const Instruction& element) const {
  return element.opcode == Opcode::kGetTupleElement &&
         at(element.operands[0]).opcode == Opcode::kParameter && own_.contains(index_of(element));
}

// An element of a loop's state that is columns.
bool ColumnGroups::is_given(const Instruction& element) const {
  if (element.opcode != Opcode::kGetTupleElement) return false;
  const Instruction& from = at(element.operands[0]);
  return from.opcode == Opcode::kWhile && states_.of(from.called[0]).contains(index_of(element));
}

// The tuples that loops with columns begin with, and the root where the own state may be columns.
void ColumnGroups::find_tuples() {
  for (const Instruction& loop : computation_.instructions) {
    if (loop.opcode != Opcode::kWhile) continue;
    const std::set<int64_t>& elements = states_.of(loop.called[0]);
    if (!elements.empty()) tuples_[loop.operands[0]] = elements;
  }
  if (!own_.empty()) tuples_[computation_.root] = own_;
}

size_t ColumnGroups::root(size_t i) {
  while (groups_[i] != i) i = groups_[i] = groups_[groups_[i]];
  return i;
}

void ColumnGroups::join_groups() {
  for (size_t i = 0; i < groups_.size(); ++i) {
    const Instruction& instruction = at(InstructionId(i));
    if (is_own(instruction)) {
      const auto index = static_cast<size_t>(index_of(instruction));
      groups_[root(i)] = root(computation_.root_instruction().operands[index].value);
    }
    for (const ColumnSplit::Read& read : splits_[i].reads) {
      if (is_split(read.operand)) groups_[root(i)] = root(read.operand.value);
    }
  }
}

// Elements that are taken apart for a group, or put together for a reader.
void ColumnGroups::count_crossings(std::map<size_t, Sums>& sums) {
  std::set<std::pair<InstructionId, size_t>> crosses;
  const auto cross = [&](InstructionId operand, size_t of) {
    if (!crosses.emplace(operand, root(of)).second) return;
    sums[root(of)].crossings += at(operand).shape.element_count();
  };
  for (size_t i = 0; i < groups_.size(); ++i) {
    const InstructionId id(i);
    const Instruction& instruction = at(id);
    const ColumnSplit& split = splits_[i];
    for (size_t k = 0; k < instruction.operands.size(); ++k) {
      const InstructionId operand = instruction.operands[k];
      const bool is_read = elements_of(id).contains(static_cast<int64_t>(k)) ||
                           std::ranges::any_of(split.reads, [&](const ColumnSplit::Read& read) {
                             return read.operand == operand;
                           });
      if (is_read == is_split(operand)) continue;
      // A loop inside that has columns takes its first state apart in any case, and the rows of an
      // array that is transposed lie in memory as they are read.
      const bool is_taken = id == computation_.root || split.part != Part::kNone;
      if (!is_read || (is_taken && split.part != Part::kTransposed))
        cross(operand, is_read && split.part != Part::kNone ? i : operand.value);
    }
  }
  if (is_split(computation_.root)) cross(computation_.root, computation_.root.value);
}

void ColumnGroups::add(InstructionId id, Sums& to) const {
  const Instruction& instruction = at(id);
  const ColumnSplit& split = of(id);
  const Shape& shape = gives(split.part) ? instruction.shape : at(split.reads[0].operand).shape;
  const int64_t size =
      std::max(instruction.shape.element_count(),
               split.reads.empty() ? 0 : at(split.reads[0].operand).shape.element_count());
  const bool is_work = split.part == Part::kEach || split.part == Part::kFolded;
  to.work += is_work && instruction.opcode != Opcode::kBroadcast ? size : 0;
  to.written += is_work ? shape.dimension(split.axis) : 1;
  to.has_state |= split.part == Part::kElement;
  to.moves |= split.part == Part::kRange || split.part == Part::kPieces ||
              split.part == Part::kTransposed || split.part == Part::kTurned;
  const bool takes_column =  // half of one at least
      split.part == Part::kTaken &&
      2 * shape.dimension(split.axis) * instruction.shape.element_count() >= shape.element_count();
  to.has_columns |= takes_column || split.part == Part::kUpdate ||
                    (split.part == Part::kPieces && split.reads.empty());
  if (split.axis + 1 < shape.rank() || shape.dimension(split.axis) > kMostOfAFold) return;
  to.has_gain |= split.part == Part::kFolded || instruction.opcode == Opcode::kReduce ||
                 (instruction.opcode == Opcode::kBroadcast && !split.reads.empty() &&
                  size >= 4 * at(split.reads[0].operand).shape.element_count());
}

bool ColumnGroups::Sums::pays() const {
  const bool by_folds = has_gain && !moves && work >= kWorkPerCrossing * crossings;
  const bool by_state = has_state && has_columns && work >= kWorkOfAState * crossings;
  return written <= kMostSplit && (by_folds || by_state);
}

// Drops groups that do not pay.
void ColumnGroups::choose() {
  std::map<size_t, Sums> sums;
  count_crossings(sums);
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (splits_[i].part != Part::kNone) add(InstructionId(i), sums[root(i)]);
  }
  for (size_t i = 0; i < groups_.size(); ++i) {
    const Instruction& instruction = at(InstructionId(i));
    if (sums[root(i)].pays()) continue;
    if (is_own(instruction)) own_.erase(index_of(instruction));
    if (!is_given(instruction)) splits_[i] = {};  // a loop gives columns in any case
  }
  tuples_.erase(computation_.root);
  if (!own_.empty()) tuples_[computation_.root] = own_;
}

ColumnSplit ColumnGroups::split_of(InstructionId id) const {
  const Instruction& instruction = at(id);
  switch (instruction.opcode) {
    case Opcode::kReduce: return split_of_reduce(instruction);
    case Opcode::kSlice: return split_of_slice(instruction);
    case Opcode::kTranspose: return split_of_transpose(instruction);
    default: break;
  }
  const std::optional<int64_t> axis = short_axis(instruction.shape);
  if (!axis) return {};
  switch (instruction.opcode) {
    case Opcode::kBroadcast: return split_of_broadcast(instruction);
    case Opcode::kConcatenate: return split_of_concatenate(instruction);
    case Opcode::kDynamicUpdateSlice: return split_of_update(instruction);
    case Opcode::kGetTupleElement:
      return is_own(instruction) || is_given(instruction) ? ColumnSplit{Part::kElement, *axis, {}}
                                                          : ColumnSplit();
    case Opcode::kReshape: {
      const Shape& from = at(instruction.operands[0]).shape;
      if (!is_plain(from) || from.rank() < 1) return {};
      const int64_t there = *axis == 0 ? 0 : from.rank() - 1;
      if (from.dimension(there) != instruction.shape.dimension(*axis)) return {};
      return {Part::kEach, *axis, {{instruction.operands[0], there}}};
    }
    default: return split_of_each(instruction);
  }
}

ColumnSplit ColumnGroups::split_of_each(const Instruction& instruction) const {
  if (!is_scalar_op(computation_, instruction)) return {};
  ColumnSplit out{Part::kEach, *short_axis(instruction.shape), {}};
  for (InstructionId operand : instruction.operands) {
    const Shape& shape = at(operand).shape;
    if (shape.is_scalar()) continue;
    if (shape.dimensions() != instruction.shape.dimensions()) return {};
    out.reads.push_back({operand, out.axis});
  }
  return out;
}

ColumnSplit ColumnGroups::split_of_broadcast(const Instruction& broadcast) const {
  const int64_t axis = *short_axis(broadcast.shape);
  const Dims& dimensions = dimensions_of(broadcast);
  if (!names(dimensions, axis)) return {Part::kAlike, axis, {}};
  const Shape& from = at(broadcast.operands[0]).shape;
  const bool is_outer = (axis == 0 ? dimensions.front() : dimensions.back()) == axis;
  if (!is_plain(from) || !is_outer) return {};
  return {Part::kEach, axis, {{broadcast.operands[0], axis == 0 ? 0 : from.rank() - 1}}};
}

ColumnSplit ColumnGroups::split_of_reduce(const Instruction& reduce) const {
  const Shape& from = at(reduce.operands[0]).shape;
  const std::optional<int64_t> axis = short_axis(from);
  if (!axis || reduce.operands.size() != 2 || !is_plain(reduce.shape) ||
      !fold_of(module_.at(reduce.called[0])).has_value())
    return {};
  const ColumnSplit::Read read{reduce.operands[0], *axis};
  if (names(dimensions_of(reduce), *axis)) return {Part::kFolded, *axis, {read}};
  const int64_t now = *axis == 0 ? 0 : reduce.shape.rank() - 1;
  if (short_axis(reduce.shape).value_or(now) != now) return {};
  return {Part::kEach, now, {read}};
}

ColumnSplit ColumnGroups::split_of_concatenate(const Instruction& pieces) const {
  ColumnSplit out{Part::kPieces, *short_axis(pieces.shape), {}};
  if (dimensions_of(pieces)[0] != out.axis) return {};
  for (InstructionId piece : pieces.operands) {
    if (at(piece).shape.dimension(out.axis) > 1) out.reads.push_back({piece, out.axis});
  }
  return out;
}

ColumnSplit ColumnGroups::split_of_slice(const Instruction& slice) const {
  const InstructionId from = slice.operands[0];
  if (!is_split(from)) return {};
  const int64_t axis = of(from).axis;
  if (slice.shape.dimension(axis) == 1) return {Part::kTaken, axis, {{from, axis}}};
  if (short_axis(slice.shape) != axis) return {};
  return {Part::kRange, axis, {{from, axis}}};
}

// One column at a known place. Starts in one array, the older form, are left alone.
ColumnSplit ColumnGroups::split_of_update(const Instruction& update) const {
  const int64_t axis = *short_axis(update.shape);
  if (std::ssize(update.operands) != 2 + update.shape.rank()) return {};
  const InstructionId start = update.operands[static_cast<size_t>(2 + axis)];
  const bool is_one =
      at(update.operands[1]).shape.dimension(axis) == 1 && at(start).opcode == Opcode::kConstant;
  return is_one ? ColumnSplit{Part::kUpdate, axis, {{update.operands[0], axis}}} : ColumnSplit();
}

ColumnSplit ColumnGroups::split_of_transpose(const Instruction& transpose) const {
  const InstructionId from = transpose.operands[0];
  const auto axis = short_axis(transpose.shape);
  if (axis) {
    const int64_t there = dimensions_of(transpose)[static_cast<size_t>(*axis)];
    if (!is_split(from) || of(from).axis == there)
      return {Part::kTransposed, *axis, {{from, there}}};
  }
  if (!is_split(from)) return {};
  return {Part::kTurned, of(from).axis, {{from, of(from).axis}}};
}

}  // namespace heddle::cpu
