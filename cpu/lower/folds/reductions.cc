// Reductions as loops.
#include "heddle/cpu/lower/folds/reductions.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "heddle/cpu/lower/arrays/loops.h"
#include "heddle/cpu/lower/folds/fold_loops.h"
#include "heddle/cpu/lower/folds/folded_together.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/dimensions.h"

namespace heddle::cpu {

namespace {

constexpr int64_t kChunk = 16384;  // elements of a scalar's reduction that are folded together
constexpr int64_t kFewestChunks = 4;
constexpr int64_t kShortRow = 4;  // vectors of a row that is folded together with its neighbours

struct Slab {
  ReducedDims dims;
  int64_t lane;
  std::vector<int64_t> outer;  // reduced dimensions but for the one of the lanes
  int64_t first;               // the dimension along which slabs follow each other
};
Slab slab_of(const Shape& from, const Instruction& reduce) {
  const ReducedDims dims(from, reduce);
  const int64_t lane = lane_dimension(from.dimensions());
  std::vector<int64_t> outer = dims.reduced;
  std::erase(outer, lane);
  return {dims, lane, outer, outer.empty() ? lane : outer[0]};
}

// The lanes of a shorter vector, and what the fold leaves every value as it is in the others.
NodeId filled_up(PlanBuilder& builder, Op fold, NodeId some, int64_t lanes) {
  const Type type = builder.type(some);
  const NodeId both[] = {some, builder.bits(type, identity_bits(fold, type.scalar))};
  std::vector<LaneSource> sources;
  for (int32_t i = 0; i < lanes; ++i)
    sources.push_back(i < type.lanes ? LaneSource{0, static_cast<uint32_t>(i)} : LaneSource{1, 0});
  return builder.shuffle(both, std::move(sources));
}

}  // namespace

ReducedDims::ReducedDims(const Shape& from, const Instruction& reduce)
    : kept(other_dimensions(from.rank(), dimensions_of(reduce))),
      reduced(other_dimensions(from.rank(), kept)) {}

Place ReducedDims::place(std::span<const Coordinate> at_kept,
                         std::span<const Coordinate> at_reduced, int64_t lanes) const {
  Place place{.coordinates = std::vector<Coordinate>(kept.size() + reduced.size()),
              .lanes = static_cast<int32_t>(lanes)};
  for (size_t i = 0; i < kept.size(); ++i)
    place.coordinates[static_cast<size_t>(kept[i])] = at_kept[i];
  for (size_t i = 0; i < reduced.size(); ++i)
    place.coordinates[static_cast<size_t>(reduced[i])] = at_reduced[i];
  return place;
}

std::vector<int64_t> sizes_of(const Shape& shape, std::span<const int64_t> dims) {
  std::vector<int64_t> sizes;
  for (int64_t d : dims) sizes.push_back(shape.dimension(d));
  return sizes;
}

// The fold of a slab of one result's elements, without the initial value: `count` from `first` on,
// along the first reduced dimension. Lanes lie along the last one, and are folded at the end.
NodeId RegionLowering::fold_slab(InstructionId id, Op fold, std::span<const NodeId> kept,
                                 NodeId first, int64_t count, Memo* shared) {
  const Instruction& reduce = at(id);
  const Shape& from = at(reduce.operands[0]).shape;
  const Slab slab = slab_of(from, reduce);
  std::vector<int64_t> outer_sizes = sizes_of(from, slab.outer);
  if (!slab.outer.empty()) outer_sizes[0] = count;
  const int64_t length = slab.outer.empty() ? count : from.dimension(slab.lane);
  const Scalar scalar = scalar_type(reduce.shape);
  const int64_t lanes = std::min(lanes_along(id, length), length);
  const int64_t vectors = length / lanes;
  const int64_t several = std::min(kAccumulators, vectors);
  const int64_t rest = length - vectors * lanes;  // of the last vector of a row
  std::vector<NodeId> at_outer;
  const auto value_at = [&](NodeId from_lane, int64_t lanes) {
    std::vector<Coordinate> reduced;
    for (size_t i = 0; int64_t d : slab.dims.reduced) {
      const bool is_lane = d == slab.lane;
      const NodeId base = is_lane ? from_lane : at_outer[i++];
      reduced.push_back({d == slab.first ? b().add(base, first) : base, is_lane ? 1 : 0});
    }
    Memo own;
    const Place place = slab.dims.place(place_at(kept).coordinates, reduced, lanes);
    return b().splat(operand_element(reduce.operands[0], place, shared != nullptr ? *shared : own),
                     place.lanes);
  };
  const int64_t together = vectors / several * several;
  const auto fold_row = [&](std::vector<NodeId> sums) {
    sums =
        fold_loop(b(), fold == Op::kAdd, together * lanes, several * lanes, std::move(sums),
                  [&](NodeId from_lane, std::vector<NodeId> folded) {
                    for (int64_t i = 0; NodeId & sum : folded)
                      sum = b().binary(fold, sum, value_at(b().add(from_lane, i++ * lanes), lanes));
                    return folded;
                  });
    for (int64_t i = together; i < vectors; ++i)
      sums[0] = b().binary(fold, sums[0], value_at(b().index(i * lanes), lanes));
    if (rest == 0) return sums;
    const NodeId last = is_idempotent(fold)
                            ? value_at(b().index(length - lanes), lanes)
                            : filled_up(b(), fold, value_at(b().index(length - rest), rest), lanes);
    sums.back() = b().binary(fold, sums.back(), last);
    return sums;
  };
  const NodeId none = b().bits({scalar, static_cast<int32_t>(lanes)}, identity_bits(fold, scalar));
  const std::vector<NodeId> sums =
      fold_nest(b(), fold == Op::kAdd, outer_sizes, at_outer,
                std::vector<NodeId>(static_cast<size_t>(several), none),
                std::max<int64_t>(together / several, 1), fold_row);
  NodeId sum = sums[0];
  for (size_t i = 1; i < sums.size(); ++i) sum = b().binary(fold, sum, sums[i]);
  return sum;
}

NodeId RegionLowering::reduce_slab(InstructionId id, Op fold, std::span<const NodeId> kept,
                                   NodeId first, int64_t count) {
  return b().reduce_lanes(fold, fold_slab(id, fold, kept, first, count));
}

NodeId RegionLowering::reduce_along_lanes(InstructionId id, Op fold, std::span<const NodeId> kept) {
  const Instruction& reduce = at(id);
  const Shape& from = at(reduce.operands[0]).shape;
  const Slab slab = slab_of(from, reduce);
  const int64_t size = from.dimension(slab.first);
  const int64_t chunk = std::max<int64_t>(kChunk * size / from.element_count(), 1);
  NodeId sum;
  if (!kept.empty() || size / chunk < kFewestChunks) {
    sum = reduce_slab(id, fold, kept, b().index(0), size);
  } else {
    sum = reduce_chunks(id, fold, size, chunk);
  }
  Memo memo;
  return b().binary(fold, operand_element(reduce.operands[1], {}, memo), sum);
}

// Whether rows are short enough that most of their time would go to folding their lanes.
bool RegionLowering::has_short_rows(InstructionId id) {
  const Instruction& reduce = at(id);
  const Shape& from = at(reduce.operands[0]).shape;
  const int64_t lanes = lanes_for(program_.program.plan, widest_scalar(id));
  const int64_t row = from.element_count() / reduce.shape.element_count();
  const int64_t length = from.dimension(lane_dimension(from.dimensions()));
  return scalar_type(reduce.shape) != Scalar::kPred && lanes > 1 &&
         std::has_single_bit(static_cast<uint64_t>(lanes)) && length >= lanes &&
         row / lanes <= kShortRow && reduce.shape.dimensions().back() >= lanes;
}

// Results that lie side by side, a vector of them at a time.
void RegionLowering::reduce_short_rows(InstructionId id, Op fold, BufferId to) {
  const Instruction& reduce = at(id);
  const Shape& from = at(reduce.operands[0]).shape;
  const Slab slab = slab_of(from, reduce);
  const int64_t lanes = lanes_for(program_.program.plan, widest_scalar(id));
  const int64_t size = from.dimension(slab.first);
  const std::vector<int64_t> kept_sizes(reduce.shape.dimensions().begin(),
                                        reduce.shape.dimensions().end());
  const bool is_flat =
      std::ranges::all_of(slab.outer, [&](int64_t d) { return from.dimension(d) == 1; });
  const int64_t last = kept_sizes.back(), together = last / lanes * lanes;
  std::vector<NodeId> kept;
  for_each_nest(b(), std::span(kept_sizes).first(kept_sizes.size() - 1), kept, [&] {
    const auto write = [&](NodeId at_last, int64_t width, NodeId value) {
      Place place = place_at(kept);
      place.lanes = static_cast<int32_t>(width);
      place.coordinates.push_back({at_last, width > 1 ? 1 : 0});
      store_at(to, reduce.shape, place, value);
    };
    auto block = b().begin_for_each(b().index(0), b().index(together), lanes);
    const NodeId begin = block.parameters[0];
    const Type type{scalar_type(reduce.shape), static_cast<int32_t>(lanes)};
    // Where rows are no loops, what all rows use is read once.
    Memo memo;
    const NodeId sums = fold_together(b(), fold, type, [&](int64_t i) {
      kept.push_back(b().add(begin, i));
      const NodeId vector =
          fold_slab(id, fold, kept, b().index(0), size, is_flat ? &memo : nullptr);
      kept.pop_back();
      return vector;
    });
    Memo of_start;
    const NodeId start = operand_element(reduce.operands[1], {}, of_start);
    write(begin, lanes, b().binary(fold, start, sums));
    b().end_for({});
    if (together == last) return;
    auto rest = b().begin_for_each(b().index(together), b().index(last), 1);
    kept.push_back(rest.parameters[0]);
    const NodeId value = reduce_along_lanes(id, fold, kept);
    kept.pop_back();
    write(rest.parameters[0], 1, value);
    b().end_for({});
  });
}

// All elements, in slabs whose folds stand in memory at first: what the slabs are depends on the
// shape alone, not on who computes them.
NodeId RegionLowering::reduce_chunks(InstructionId id, Op fold, int64_t size, int64_t chunk) {
  const Shape& result = at(id).shape;
  const Type type = {scalar_type(result), 1};
  const int64_t chunks = size / chunk;
  const BufferId folds = program_.allocate(Shape(result.dtype(), {chunks}));
  auto each = b().begin_for_each(b().index(0), b().index(chunks), 1);
  const NodeId number = each.parameters[0];
  b().store(folds, number, reduce_slab(id, fold, {}, b().mul(number, chunk), chunk));
  b().end_for({});
  const NodeId none = b().bits(type, identity_bits(fold, type.scalar));
  constexpr int64_t kTurnsOfChunk = 2;
  const NodeId sum = fold_loop(
      b(), fold == Op::kAdd, chunks, 1, {none},
      [&](NodeId at, std::vector<NodeId> folded) {
        folded[0] = b().binary(fold, folded[0], b().load(folds, type, at));
        return folded;
      },
      kTurnsOfChunk)[0];
  if (chunks * chunk == size) return sum;
  const NodeId rest = reduce_slab(id, fold, {}, b().index(chunks * chunk), size - chunks * chunk);
  return b().binary(fold, sum, rest);
}

void RegionLowering::emit_reduce(InstructionId id) {
  const Instruction& reduce = at(id);
  const Shape& from = at(reduce.operands[0]).shape;
  const auto leaves = region_.leaves_of(id);
  std::vector<BufferId> to;
  if (!shape(leaves[0]).is_scalar()) {
    for (LeafId leaf : leaves) to.push_back(place_for(leaf, id));
  }
  const std::vector<int64_t>& reduced = dimensions_of(reduce);
  const std::optional<Op> fold = fold_of(program_.module.at(reduce.called[0]));
  const int64_t lane = lane_dimension(from.dimensions());
  const bool along = leaves.size() == 1 && fold && lane >= 0 && std::ranges::count(reduced, lane) &&
                     from.element_count() > 0 && scalar_type(from) == scalar_type(shape(leaves[0]));
  if (!along || (!to.empty() && narrow_reduce(id))) {
    reduce_across(id, to);
  } else if (to.empty()) {
    bind(leaves[0], Value::of(reduce_along_lanes(id, *fold, {})));
  } else if (has_short_rows(id)) {
    reduce_short_rows(id, *fold, to[0]);
  } else {
    std::vector<NodeId> kept;
    for_each_nest(b(), reduce.shape.dimensions(), kept, [&] {
      store_at(to[0], reduce.shape, place_at(kept), reduce_along_lanes(id, *fold, kept));
    });
  }
  for (size_t i = 0; i < to.size(); ++i) bind(leaves[i], Value::of(to[i]));
}

}  // namespace heddle::cpu
