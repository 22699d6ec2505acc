#include "heddle/cpu/rewrites/folds/short_folds.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/cpu/rewrites/inlined_scalars.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/op.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kMostFoldedPlaces = 16;
constexpr int64_t kFewestFolded = 64;  // results: fewer may stand in registers as they are
constexpr int64_t kMostInARow = 15;    // elements side by side that fill no vector
constexpr int64_t kMostPlaced = 64;    // instructions that compute what is folded
constexpr int64_t kMostOfFold = 256;   // of one fold that reads places at others
constexpr int64_t kMostInlinedInstructions = 64;  // instructions of the computation that folds

bool is_stack(const Computation& in, const Instruction& x, int64_t d) {
  return x.opcode == Opcode::kConcatenate && dimensions_of(x)[0] == d &&
         std::ranges::all_of(
             x.operands, [&](InstructionId piece) { return in.at(piece).shape.dimension(d) == 1; });
}

// Each element is its place along d.
bool is_number(const Computation& in, const Instruction& x, int64_t d) {
  if (x.opcode == Opcode::kIota) return x.attrs.get<hlo::IotaAttrs>().iota_dimension == d;
  return x.opcode == Opcode::kBroadcast && dimensions_of(x) == Dims{d} &&
         in.at(x.operands[0]).opcode == Opcode::kIota;
}

bool is_repeat(const Computation& in, const Instruction& x) {
  return x.opcode == Opcode::kBroadcast && in.at(x.operands[0]).shape.rank() < x.shape.rank();
}

// Where place i along d of a moved array is in its operands: in which one, at which place there.
struct MovedFrom {
  InstructionId operand;
  int64_t place = 0;
};

// What slices, reverses, joins or pads along d alone. Nothing: another op.
std::optional<std::vector<MovedFrom>> moved_from(const Computation& in, const Instruction& x,
                                                 int64_t d) {
  const int64_t size = x.shape.dimension(d);
  std::vector<MovedFrom> from;
  switch (x.opcode) {
    case Opcode::kSlice: {
      const auto& along = x.attrs.get<hlo::SliceAttrs>().slice[static_cast<size_t>(d)];
      const Shape& whole = in.at(x.operands[0]).shape;
      for (int64_t k = 0; k < x.shape.rank(); ++k) {
        if (k != d && whole.dimension(k) != x.shape.dimension(k)) return std::nullopt;
      }
      for (int64_t i = 0; i < size; ++i)
        from.push_back({x.operands[0], along.start + i * along.stride});
      return from;
    }
    case Opcode::kReverse:
      if (dimensions_of(x) != Dims{d}) return std::nullopt;
      for (int64_t i = size; i > 0; --i) from.push_back({x.operands[0], i - 1});
      return from;
    case Opcode::kConcatenate:
      if (dimensions_of(x)[0] != d) return std::nullopt;
      for (const InstructionId piece : x.operands) {
        for (int64_t i = 0; i < in.at(piece).shape.dimension(d); ++i) from.push_back({piece, i});
      }
      return from;
    case Opcode::kPad: {
      const auto& padding = x.attrs.get<hlo::PadAttrs>().padding;
      const int64_t whole = in.at(x.operands[0]).shape.dimension(d);
      for (size_t k = 0; k < padding.size(); ++k) {
        const bool is_along = static_cast<int64_t>(k) == d;
        if (padding[k].interior != 0 || (!is_along && !(padding[k] == hlo::PadDimension())))
          return std::nullopt;
      }
      for (int64_t i = 0; i < size; ++i) {
        const int64_t place = i - padding[static_cast<size_t>(d)].low;
        const bool is_inside = place >= 0 && place < whole;
        from.push_back(is_inside ? MovedFrom{x.operands[0], place} : MovedFrom{x.operands[1], 0});
      }
      return from;
    }
    default: return std::nullopt;
  }
}

// Elements that stand side by side at one place along d.
int64_t inner_count(const Shape& shape, int64_t d) {
  int64_t count = 1;
  for (int64_t k = d + 1; k < shape.rank(); ++k) count *= shape.dimension(k);
  return count;
}

// How often each instruction is read.
std::vector<int> uses_in(const Computation& in) {
  std::vector<int> uses(in.instructions.size());
  for (const Instruction& user : in.instructions) {
    for (const InstructionId operand : user.operands) ++uses[operand.value];
  }
  ++uses[in.root.value];
  return uses;
}

// Whether places along d of `x` can be written as arrays each: of stacks, numbers and broadcasts,
// so that nothing of x's size is read from memory; of what moves places, and of the arrays in
// memory beside or under it; and elementwise ops on such. A function, such as exp, is not computed
// a second time for another reader.
class PlacedArrays {
 public:
  PlacedArrays(const Computation& in, const std::vector<int>& uses, int64_t d)
      : in_(in), uses_(uses), d_(d) {}

  bool contains(InstructionId id) {
    if (const auto found = known_.find(id); found != known_.end()) return found->second;
    if (std::ssize(known_) >= kMostPlaced) return false;
    known_[id] = false;  // counts, while its operands are looked at
    const bool is_placed = has_places(in_.at(id)) && (uses_[id.value] == 1 || !takes_long(id));
    return known_[id] = is_placed;
  }
  [[nodiscard]] bool has_stack() const { return has_stack_; }
  // Some places are read at other ones.
  [[nodiscard]] bool has_moved() const { return has_moved_; }
  [[nodiscard]] bool has_memory() const { return has_memory_; }
  [[nodiscard]] int64_t size() const { return std::ssize(known_); }
  // Not all places are alike.
  [[nodiscard]] bool varies() const { return varies_; }

 private:
  bool has_places(const Instruction& x) {
    if (x.shape.is_dynamic() || !scalar_of(x.shape.dtype()).has_value()) return false;
    has_stack_ |= is_stack(in_, x, d_);
    varies_ |= has_stack_ || (is_repeat(in_, x) && std::ranges::count(dimensions_of(x), d_) > 0);
    if (x.shape.dimension(d_) == 1 || is_stack(in_, x, d_) || is_number(in_, x, d_) ||
        is_repeat(in_, x))
      return true;
    if (const auto from = moved_from(in_, x, d_)) {
      has_moved_ = varies_ = true;
      return std::ranges::all_of(*from, [&](const MovedFrom& place) {
        return in_.at(place.operand).shape.is_scalar() || contains(place.operand);
      });
    }
    if (!is_scalar_op(in_, x)) {
      has_memory_ = true;
      return x.shape.is_array();
    }
    return std::ranges::all_of(x.operands, [&](InstructionId operand) {
      return in_.at(operand).shape.dimensions() == x.shape.dimensions() && contains(operand);
    });
  }

  // It or what it is computed of is a function; its operands are known.
  bool takes_long(InstructionId id) {
    const Instruction& x = in_.at(id);
    if (!is_scalar_op(in_, x)) return false;
    const bool is_long =
        hlo::facts(x.opcode).work > hlo::Work::kLittle ||
        std::ranges::any_of(x.operands, [&](InstructionId read) { return long_.contains(read); });
    if (is_long) long_.insert(id);
    return is_long;
  }

  const Computation& in_;
  const std::vector<int>& uses_;
  const int64_t d_;
  bool has_stack_ = false, has_moved_ = false, has_memory_ = false, varies_ = false;
  std::map<InstructionId, bool> known_;
  std::set<InstructionId> long_;
};

bool is_short_fold(const hlo::Module& module, const Computation& in, const std::vector<int>& uses,
                   const Instruction& fold) {
  if (dimensions_of(fold).size() != 1) return false;
  const int64_t d = dimensions_of(fold)[0];
  const std::span<const InstructionId> arrays(fold.operands.data(), fold.operands.size() / 2);
  const Shape& first = in.at(arrays[0]).shape;
  const int64_t count = first.dimension(d);
  if (count < 1 || count > kMostFoldedPlaces || first.element_count() / count < kFewestFolded)
    return false;
  PlacedArrays placed(in, uses, d);
  const int64_t row = inner_count(first, d);
  // A part alone is folded where it lies.
  if (std::ranges::any_of(arrays,
                          [&](InstructionId id) { return in.at(id).opcode == Opcode::kSlice; }))
    return false;
  return std::ranges::all_of(arrays, [&](InstructionId id) { return placed.contains(id); }) &&
         placed.varies() && (!placed.has_moved() || placed.size() * count <= kMostOfFold) &&
         (!placed.has_memory() || (placed.has_moved() && row > kMostInARow)) &&
         (placed.has_stack() || placed.has_moved() ||
          (row <= kMostInARow && (row > 1 || arrays.size() > 1))) &&
         module.at(fold.called[0]).size() <= kMostInlinedInstructions &&
         is_scalar_computation(module.at(fold.called[0]));
}

// Writes places along d of arrays that PlacedArrays contains.
class PlaceWriter {
 public:
  PlaceWriter(transform::Rebuilder& to, int64_t d) : to_(to), d_(d) {}

  hlo::Value of(hlo::Graph& graph, InstructionId id, int64_t i) {
    hlo::Value& place = made_[{id, i}];
    if (place.is_absent()) place = make(graph, id, i);
    return place;
  }

 private:
  hlo::Value make(hlo::Graph& graph, InstructionId id, int64_t i) {
    const Instruction& x = to_.old(id);
    const Dims sizes = without(x.shape.dimensions());
    const Shape shape(x.shape.dtype(), sizes);
    if (x.shape.dimension(d_) == 1) return drop_dimension(to_.value(id), d_);
    if (const auto from = moved_from(to_.from(), x, d_)) {
      const auto [operand, place] = (*from)[static_cast<size_t>(i)];
      return to_.old(operand).shape.is_scalar() ? broadcast(to_.value(operand), sizes, {})
                                                : of(graph, operand, place);
    }
    if (is_number(to_.from(), x, d_)) return graph.full(shape, static_cast<double>(i));
    if (x.opcode == Opcode::kBroadcast) return broadcast_of(x, to_.operands(id)[0], sizes, i);
    if (!is_scalar_op(to_.from(), x)) return drop_dimension(slice(to_.value(id), d_, i, 1), d_);
    hlo::Values operands;
    for (InstructionId operand : x.operands) operands.push_back(of(graph, operand, i));
    return graph.op(x.opcode, operands, x.attrs, {}, &shape);
  }

  [[nodiscard]] hlo::Value broadcast_of(const Instruction& x, hlo::Value from, const Dims& sizes,
                                        int64_t i) const {
    Dims places = dimensions_of(x);
    if (const auto along = std::ranges::find(places, d_); along != places.end()) {
      const int64_t axis = along - places.begin();
      from = drop_dimension(slice(from, axis, i, 1), axis);
      places.erase(along);
    }
    for (int64_t& place : places) place -= place > d_ ? 1 : 0;
    return broadcast(from, sizes, places);
  }

  [[nodiscard]] Dims without(Dims sizes) const {
    sizes.erase(sizes.begin() + d_);
    return sizes;
  }

  transform::Rebuilder& to_;
  const int64_t d_;
  std::map<std::pair<InstructionId, int64_t>, hlo::Value> made_;
};

hlo::Value folded(const hlo::Module& module, transform::Rebuilder& to, InstructionId id) {
  const Instruction& fold = to.old(id);
  const Computation& by = module.at(fold.called[0]);
  const int64_t d = dimensions_of(fold)[0];
  const size_t count = fold.operands.size() / 2;
  Dims sizes = to.from().at(fold.operands[0]).shape.dimensions();
  const int64_t turns = sizes[static_cast<size_t>(d)];
  sizes.erase(sizes.begin() + d);
  hlo::Graph& graph = to.in_place_of(id);
  const hlo::Values operands = to.operands(id);
  hlo::Values sums;
  for (size_t j = count; j < 2 * count; ++j) sums.push_back(broadcast(operands[j], sizes, {}));
  PlaceWriter places(to, d);
  for (int64_t i = 0; i < turns; ++i) {
    hlo::Values arguments = sums;
    for (size_t j = 0; j < count; ++j) arguments.push_back(places.of(graph, fold.operands[j], i));
    InlinedScalars inlined(by, std::move(arguments));
    const Instruction& root = by.root_instruction();
    if (root.opcode != Opcode::kTuple) {
      sums[0] = inlined.of(by.root);
      continue;
    }
    for (size_t j = 0; j < count; ++j) sums[j] = inlined.of(root.operands[j]);
  }
  return fold.shape.is_tuple() ? graph.tuple(sums) : sums[0];
}

}  // namespace

StatusOr<std::optional<hlo::Module>> unroll_short_folds(const hlo::Module& module) {
  std::set<std::pair<ComputationId, InstructionId>> folds;
  for (size_t c = 0; c < module.computations.size(); ++c) {
    const Computation& in = module.computations[c];
    std::vector<int> uses;
    for (size_t i = 0; i < in.instructions.size(); ++i) {
      if (in.instructions[i].opcode != Opcode::kReduce) continue;
      if (uses.empty()) uses = uses_in(in);
      if (is_short_fold(module, in, uses, in.instructions[i]))
        folds.emplace(ComputationId(c), InstructionId(i));
    }
  }
  if (folds.empty()) return std::optional<hlo::Module>();
  HEDDLE_ASSIGN_OR_RETURN(hlo::Module out, transform::with_rewritten(
                                               module,
                                               [&](auto&, transform::Rebuilder& to, ComputationId c,
                                                   InstructionId id) -> hlo::Value {
                                                 if (!folds.contains({c, id})) return {};
                                                 return folded(module, to, id);
                                               }));
  return std::optional(std::move(out));
}

}  // namespace heddle::cpu
