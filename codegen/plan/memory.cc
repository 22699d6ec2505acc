// Loads and stores, and what is known of memory between them.
#include <algorithm>
#include <cstdlib>

#include "heddle/codegen/plan/builder.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kMaxKnown = 256;      // bytes of a buffer whose elements are followed
constexpr int64_t kMostStep = 4;        // between elements of a vector that is no gather
constexpr int32_t kFewestGathered = 4;  // lanes that are worth an instruction of AVX-512

}  // namespace

PlanBuilder::Still::Still(PlanBuilder& builder, BufferId buffer)
    : builder_(builder), buffer_(buffer) {
  builder.still_.resize(builder.plan_.buffers.size(), std::numeric_limits<size_t>::max());
  size_t& floor = builder.still_[buffer.value];
  outer_ = floor;
  floor = std::min(floor, builder.open_.size() - 1);
}

size_t PlanBuilder::floor_of(BufferId buffer) const {
  const BufferInfo::Kind kind = plan_.buffers[buffer.value].kind;
  if (kind == BufferInfo::Kind::kArgument || kind == BufferInfo::Kind::kConstant) return 0;
  return buffer.value < still_.size() ? std::min(load_floor_, still_[buffer.value]) : load_floor_;
}

void PlanBuilder::remember(BufferId buffer, NodeId at, NodeId value) {
  const int64_t bytes = plan_.buffers[buffer.value].bytes;
  if (!is_constant(at) || bytes > kMaxKnown) return forget(buffer);
  const Type stored = type(value);
  // A branch that is never taken may store anywhere.
  const int64_t size = bytes / bytes_of(stored.scalar);
  if (bits_of(at) < 0 || bits_of(at) > size - stored.lanes) return forget(buffer);
  const auto first = static_cast<size_t>(bits_of(at));
  std::vector<Lane>& lanes = open_.back().contents[buffer];
  lanes.resize(static_cast<size_t>(size));
  for (size_t lane = 0; lane < static_cast<size_t>(stored.lanes); ++lane)
    lanes[first + lane] = {value, static_cast<int32_t>(lane)};
  open_.back().written.insert(buffer);
}

void PlanBuilder::forget(BufferId buffer) {
  open_.back().contents.erase(buffer);
  open_.back().written.insert(buffer);
}

std::vector<PlanBuilder::Lane> PlanBuilder::known_lanes(BufferId buffer, Type type, NodeId at,
                                                        int64_t step) {
  if (!is_constant(at)) return {};
  const NodeId args[] = {at};
  const size_t depth = ordered_ > 0 ? open_.size() - 1 : depth_for(args, floor_of(buffer));
  const auto found = open_[depth].contents.find(buffer);
  if (found == open_[depth].contents.end()) return {};
  std::vector<Lane> lanes;
  for (int64_t lane = 0; lane < type.lanes; ++lane) {
    const int64_t element = bits_of(at) + lane * step;
    if (element < 0 || element >= static_cast<int64_t>(found->second.size())) return {};
    lanes.push_back(found->second[static_cast<size_t>(element)]);
    if (!lanes.back().node.valid() || this->type(lanes.back().node).scalar != type.scalar)
      return {};
  }
  return lanes;
}

NodeId PlanBuilder::join(Type wide, std::span<const Lane> lanes) {
  const NodeId first = lanes[0].node;
  if (wide.lanes == 1) return type(first).lanes == 1 ? first : extract(first, lanes[0].lane);
  const bool is_whole =
      type(first).lanes == wide.lanes && std::ranges::all_of(lanes, [&](const Lane& lane) {
        return lane.node == first && lane.lane == &lane - lanes.data();
      });
  if (is_whole) return first;
  std::vector<NodeId> operands;
  std::vector<LaneSource> sources;
  for (const Lane& lane : lanes) {
    const auto found = std::ranges::find(operands, lane.node);
    sources.push_back(
        {static_cast<uint32_t>(found - operands.begin()), static_cast<uint32_t>(lane.lane)});
    if (found == operands.end()) operands.push_back(lane.node);
  }
  return shuffle(operands, std::move(sources));
}

NodeId PlanBuilder::load(BufferId buffer, Type type, NodeId at) {
  if (const auto lanes = known_lanes(buffer, type, at, 1); !lanes.empty()) return join(type, lanes);
  if (ordered_ > 0) return effect(Op::kLoad, type, 0, {at}, buffer);
  return pure(Op::kLoad, type, 0, {at}, buffer, floor_of(buffer));
}

// The value, that of an index, is what its lower half says with a sign.
bool PlanBuilder::fits_half(NodeId index) const {
  const Node& node = plan_.at(index);
  const auto args = plan_.args_of(node);
  switch (node.op) {
    case Op::kLanes: return true;
    case Op::kConstant: return node.imm == static_cast<int32_t>(node.imm);
    case Op::kSplat: return fits_half(args[0]);
    case Op::kSExtend: return true;
    case Op::kZExtend: return bytes_of(type(args[0]).scalar) < 4;
    case Op::kSMin:
    case Op::kSMax: return fits_half(args[0]) && fits_half(args[1]);
    default: return false;
  }
}

// The lower 32 bits of indices, computed with so many where these give them.
NodeId PlanBuilder::lower_half(NodeId index) {
  const Node node = plan_.at(index);
  const Type half = {Scalar::kI32, node.type.lanes};
  const auto arg = [&](size_t i) { return plan_.args_of(node)[i]; };
  const auto of_halves = [&] {
    const NodeId x = lower_half(arg(0));
    return binary(node.op, x, lower_half(arg(1)));
  };
  switch (node.op) {
    case Op::kConstant: return bits(half, node.imm);
    case Op::kLanes: return lanes(Scalar::kI32, half.lanes);
    case Op::kSplat: return splat(lower_half(arg(0)), half.lanes);
    case Op::kSExtend:
    case Op::kZExtend: return cast(node.op, Scalar::kI32, arg(0));
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
      if (half.lanes > 1) return of_halves();
      break;
    case Op::kSMin:
    case Op::kSMax:
      if (half.lanes > 1 && fits_half(index)) return of_halves();
      break;
    default: break;
  }
  return cast(Op::kTruncate, Scalar::kI32, index);
}

NodeId PlanBuilder::gather(BufferId buffer, Scalar scalar, NodeId at) {
  const int32_t lanes = type(at).lanes;
  if (lanes == 1) return load(buffer, {scalar, 1}, at);
  const int64_t size = plan_.buffers[buffer.value].bytes;
  const bool is_at_once = plan_.vector_bytes == 64 && lanes >= kFewestGathered &&
                          size <= std::numeric_limits<int32_t>::max();
  if (is_at_once && bytes_of(scalar) < 4 && size % 4 == 0) return gather_narrow(buffer, scalar, at);
  if (is_at_once && bytes_of(scalar) >= 4) at = lower_half(at);
  if (ordered_ > 0) return effect(Op::kGather, {scalar, lanes}, 0, {at}, buffer);
  return pure(Op::kGather, {scalar, lanes}, 0, {at}, buffer, floor_of(buffer));
}

// Out of the words of 32 bits that hold them, since the machine gathers none that are narrower.
NodeId PlanBuilder::gather_narrow(BufferId buffer, Scalar scalar, NodeId at) {
  const int32_t lanes = type(at).lanes;
  const auto constant = [&](int64_t value) { return splat(bits({Scalar::kI32, 1}, value), lanes); };
  at = lower_half(at);
  const int64_t log_bytes = bytes_of(scalar) / 2;
  const NodeId word = gather(buffer, Scalar::kI32, binary(Op::kLShr, at, constant(2 - log_bytes)));
  const NodeId place = binary(Op::kAnd, at, constant(scalar == Scalar::kI16 ? 1 : 3));
  const NodeId shifted = binary(Op::kLShr, word, binary(Op::kShl, place, constant(3 + log_bytes)));
  if (scalar != Scalar::kPred) return cast(Op::kTruncate, scalar, shifted);
  return compare(Predicate::kNe, binary(Op::kAnd, shifted, constant(1)), constant(0));
}

NodeId PlanBuilder::load_strided(BufferId buffer, Type type, NodeId at, int64_t step) {
  if (step == 1 || type.lanes == 1) return load(buffer, type, at);
  if (const auto lanes = known_lanes(buffer, type, at, step); !lanes.empty())
    return join(type, lanes);
  if (step == 0) return splat(load(buffer, {type.scalar, 1}, at), type.lanes);
  const NodeId loaded =
      std::abs(step) <= kMostStep
          ? load_between(buffer, type, at, step)
          : gather(buffer, type.scalar, add(at, mul(lanes(Scalar::kI64, type.lanes), step)));
  strided_[loaded] = {buffer, at, step};
  return loaded;
}

std::optional<int64_t> PlanBuilder::distance(NodeId from, NodeId to) const {
  // A place as another one and a number; of a number alone the other is not valid.
  const auto parted = [&](NodeId place) {
    int64_t number = 0;
    while (place.valid() && plan_.at(place).op == Op::kAdd) {
      const auto args = plan_.args_of(plan_.at(place));
      if (!is_constant(args[1])) break;
      number += bits_of(args[1]);
      place = args[0];
    }
    if (is_constant(place)) return std::pair(NodeId(), number + bits_of(place));
    return std::pair(place, number);
  };
  const auto [base, number] = parted(from);
  const auto [other, other_number] = parted(to);
  return base == other ? std::optional(other_number - number) : std::nullopt;
}

// From vectors that hold all elements between the first lane's and the last lane's, and no others.
NodeId PlanBuilder::load_between(BufferId buffer, Type type, NodeId at, int64_t step) {
  const int64_t last = (type.lanes - 1) * std::abs(step);
  const int64_t count = last / type.lanes + 1;
  const int64_t low = step < 0 ? -last : 0;
  const auto start = [&](int64_t vector) {
    return std::min(vector * type.lanes, last + 1 - type.lanes);
  };
  std::vector<NodeId> vectors;
  for (int64_t i = 0; i < count; ++i)
    vectors.push_back(load(buffer, type, add(at, low + start(i))));
  std::vector<LaneSource> sources;
  for (int64_t lane = 0; lane < type.lanes; ++lane) {
    const int64_t element = lane * step - low, vector = element / type.lanes;
    sources.push_back(
        {static_cast<uint32_t>(vector), static_cast<uint32_t>(element - start(vector))});
  }
  return shuffle(vectors, std::move(sources));
}

void PlanBuilder::store(BufferId buffer, NodeId at, NodeId value) {
  effect(Op::kStore, type(value), 0, {at, value}, buffer);
  remember(buffer, at, value);
}

void PlanBuilder::scatter(BufferId buffer, NodeId at, NodeId value) {
  effect(Op::kScatter, type(value), 0, {at, value}, buffer);
  forget(buffer);
}

void PlanBuilder::copy(BufferId to, BufferId from, int64_t bytes) {
  if (bytes <= 0 || to == from || copy_known(to, from, bytes)) return;
  effect(Op::kCopy, {}, bytes, {}, to, from);
  forget(to);
}

// As stores of what is known to lie there.
bool PlanBuilder::copy_known(BufferId to, BufferId from, int64_t bytes) {
  const auto found = open_.back().contents.find(from);
  if (found == open_.back().contents.end() || !found->second[0].node.valid()) return false;
  const Scalar scalar = type(found->second[0].node).scalar;
  const auto count = static_cast<int32_t>(bytes / bytes_of(scalar));
  if (known_lanes(from, {scalar, count}, index(0), 1).empty()) return false;
  const auto lanes =
      static_cast<int32_t>(plan_.vector_bytes / std::max<int64_t>(bytes_of(scalar), 4));
  for (int32_t i = 0; i < count; i += lanes)
    store(to, index(i), load(from, {scalar, std::min(lanes, count - i)}, index(i)));
  return true;
}

void PlanBuilder::kernel(std::vector<BufferId> buffers, std::span<const NodeId> offsets,
                         std::string what, double flops) {
  for (BufferId buffer : buffers) forget(buffer);
  plan_.kernels.push_back({std::move(buffers), std::move(what), flops});
  const NodeId id =
      make({.op = Op::kKernel, .imm = static_cast<int64_t>(plan_.kernels.size() - 1)}, offsets);
  plan_.blocks[open_.back().block.value].nodes.push_back(id);
}

}  // namespace heddle::cpu
