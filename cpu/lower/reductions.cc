// Reductions as loops.
#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <utility>

#include "heddle/cpu/lower/fold_loops.h"
#include "heddle/cpu/lower/folded_together.h"
#include "heddle/cpu/lower/loops.h"
#include "heddle/cpu/lower/lowering.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {

using hlo::Instruction;
using hlo::InstructionId;

namespace {

constexpr int64_t kAccumulators = 4;  // that hide the latency of a reduction's operation
constexpr int64_t kChunk = 16384;     // elements of a scalar's reduction that are folded together
constexpr int64_t kFewestChunks = 4;
constexpr int64_t kShortRow = 4;     // vectors of a row that is folded together with its neighbours
constexpr int64_t kFewestLanes = 4;  // that are worth to be collected with steps
constexpr int64_t kMostWrittenFolds = 8;  // of several results, one after the other
constexpr int64_t kFewestPaired = 8;      // elements of several results that are folded in pairs
constexpr int64_t kPairedVectors = 4;     // of such elements, folded together
constexpr int64_t kFewestParted = 16;     // turns of a fold that is done in parts
constexpr size_t kMostTogether = 8;       // vectors of results that one loop folds

struct ReducedDims {
  std::vector<int64_t> kept;
  std::vector<int64_t> reduced;
};

ReducedDims split_dimensions(const Shape& from, const std::vector<int64_t>& reduced) {
  ReducedDims dims;
  for (int64_t d = 0; d < from.rank(); ++d)
    (std::ranges::count(reduced, d) ? dims.reduced : dims.kept).push_back(d);
  return dims;
}

std::vector<int64_t> sizes_of(const Shape& shape, std::span<const int64_t> dims) {
  std::vector<int64_t> sizes;
  for (int64_t d : dims) sizes.push_back(shape.dimension(d));
  return sizes;
}

// Reduced dimensions but for the one of the lanes.
std::vector<int64_t> outer_dimensions(const ReducedDims& dims, int64_t lane) {
  std::vector<int64_t> outer = dims.reduced;
  std::erase(outer, lane);
  return outer;
}

struct Slab {
  ReducedDims dims;
  int64_t lane;
  std::vector<int64_t> outer;
};
Slab slab_of(const Shape& from, const Instruction& reduce) {
  Slab slab{split_dimensions(from, reduce.attrs.get<hlo::DimensionsAttrs>().dimensions),
            lane_dimension(from.dimensions()),
            {}};
  slab.outer = outer_dimensions(slab.dims, slab.lane);
  return slab;
}

// Of the lanes of one vector, or of two, one after the other, those from `first` on.
NodeId every_second(PlanBuilder& builder, std::span<const NodeId> vectors, int64_t first) {
  const int64_t width = builder.type(vectors[0]).lanes;
  if (std::ssize(vectors) * width == 2) return builder.extract(vectors.back(), first % width);
  std::vector<LaneSource> lanes;
  for (int64_t at = first; at < std::ssize(vectors) * width; at += 2)
    lanes.push_back({static_cast<uint32_t>(at / width), static_cast<uint32_t>(at % width)});
  return builder.shuffle(vectors, std::move(lanes));
}

}  // namespace

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
  std::vector<NodeId> at_outer;
  const auto value_at = [&](NodeId from_lane, int64_t lanes) {
    Place place{.coordinates = std::vector<Coordinate>(from.dimensions().size()),
                .lanes = static_cast<int32_t>(lanes)};
    const auto set = [&](int64_t d, Coordinate c) {
      place.coordinates[static_cast<size_t>(d)] = c;
    };
    for (size_t i = 0; i < slab.dims.kept.size(); ++i) set(slab.dims.kept[i], {kept[i]});
    for (size_t i = 0; i < slab.outer.size(); ++i)
      set(slab.outer[i], {i == 0 ? b().add(at_outer[i], first) : at_outer[i]});
    set(slab.lane, {slab.outer.empty() ? b().add(from_lane, first) : from_lane, 1});
    Memo own;
    Memo& memo = shared != nullptr ? *shared : own;
    return b().splat(operand_element(reduce.operands[0], place, memo), static_cast<int32_t>(lanes));
  };
  std::vector<NodeId> sums(
      static_cast<size_t>(several),
      b().bits({scalar, static_cast<int32_t>(lanes)}, identity_bits(fold, scalar)));
  // The last vector of a row that is no whole number of them.
  const int64_t rest = length - vectors * lanes;
  const auto last_vector = [&] {
    if (is_idempotent(fold)) return value_at(b().index(length - lanes), lanes);
    const NodeId some = value_at(b().index(length - rest), rest);
    const NodeId both[] = {some, b().bits(b().type(some), identity_bits(fold, scalar))};
    std::vector<LaneSource> sources;
    for (int64_t i = 0; i < lanes; ++i)
      sources.push_back(i < rest ? LaneSource{0, static_cast<uint32_t>(i)} : LaneSource{1, 0});
    return b().shuffle(both, std::move(sources));
  };
  const int64_t together = vectors / several * several;
  const auto fold_row = [&](std::vector<NodeId> carried) {
    std::vector<NodeId> inner =
        fold_loop(b(), fold == Op::kAdd, together * lanes, several * lanes, std::move(carried),
                  [&](NodeId from_lane, std::vector<NodeId> folded) {
                    for (int64_t i = 0; i < several; ++i) {
                      NodeId& sum = folded[static_cast<size_t>(i)];
                      sum = b().binary(fold, sum, value_at(b().add(from_lane, i * lanes), lanes));
                    }
                    return folded;
                  });
    for (int64_t i = together; i < vectors; ++i)
      inner[0] = b().binary(fold, inner[0], value_at(b().index(i * lanes), lanes));
    if (rest > 0) inner.back() = b().binary(fold, inner.back(), last_vector());
    return inner;
  };
  sums = fold_nest(b(), fold == Op::kAdd, outer_sizes, at_outer, sums,
                   std::max<int64_t>(together / several, 1), fold_row);
  NodeId sum = sums[0];
  for (int64_t i = 1; i < several; ++i) sum = b().binary(fold, sum, sums[static_cast<size_t>(i)]);
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
  const int64_t size = from.dimension(slab.outer.empty() ? slab.lane : slab.outer[0]);
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
  const ReducedDims dims =
      split_dimensions(from, reduce.attrs.get<hlo::DimensionsAttrs>().dimensions);
  const int64_t lanes = lanes_for(program_.program.plan, widest_scalar(id));
  const int64_t lane = lane_dimension(from.dimensions());
  const std::vector<int64_t> outer = outer_dimensions(dims, lane);
  const int64_t size = from.dimension(outer.empty() ? lane : outer[0]);
  const std::vector<int64_t> kept_sizes(reduce.shape.dimensions().begin(),
                                        reduce.shape.dimensions().end());
  const bool is_flat =
      std::ranges::all_of(outer, [&](int64_t d) { return from.dimension(d) == 1; });
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
  const NodeId sum = fold_loop(b(), fold == Op::kAdd, chunks, 1, {none},
                               [&](NodeId at, std::vector<NodeId> folded) {
                                 folded[0] = b().binary(fold, folded[0], b().load(folds, type, at));
                                 return folded;
                               })[0];
  if (chunks * chunk == size) return sum;
  const NodeId rest = reduce_slab(id, fold, {}, b().index(chunks * chunk), size - chunks * chunk);
  return b().binary(fold, sum, rest);
}

// Calls body(places) with vectors that lie side by side along the last dimension of more than one
// element, so many at a time: what a loop over rows reads of each row is then more than a line.
void RegionLowering::for_each_strip(std::span<const int64_t> sizes, int64_t vectors, int64_t lanes,
                                    const std::function<void(std::span<const Place>)>& body) {
  const auto lane = static_cast<size_t>(lane_dimension(sizes));
  std::vector<int64_t> outer(sizes.begin(), sizes.end());
  outer[lane] = 1;
  std::vector<NodeId> at;
  for_each_nest(b(), outer, at, [&] {
    const auto strip = [&](NodeId from, int64_t count) {
      std::vector<Place> places;
      for (int64_t i = 0; i < count; i += lanes) {
        Place& place = places.emplace_back(place_at(at));
        place.lanes = static_cast<int32_t>(std::min(lanes, count - i));
        place.coordinates[lane] = {b().add(from, i), place.lanes > 1 ? 1 : 0};
      }
      body(places);
    };
    const int64_t width = vectors * lanes, length = sizes[lane], whole = length / width * width;
    auto loop = b().begin_for_each(b().index(0), b().index(whole), width);
    strip(loop.parameters[0], width);
    b().end_for({});
    if (whole < length) strip(b().index(whole), length - whole);
  });
}

// So many neighbours of several operands, a power of two, as one: each with the next one, pairs
// with the next pair, and so on. They stay in order, as a first NaN or a first place needs.
std::vector<NodeId> RegionLowering::fold_pairs(InstructionId id, std::span<const NodeId> kept,
                                               NodeId first, int64_t size) {
  const Instruction& reduce = at(id);
  const Shape& from = at(reduce.operands[0]).shape;
  const hlo::Computation& body = program_.module.at(reduce.called[0]);
  const size_t count = reduce.operands.size() / 2;
  const ReducedDims dims =
      split_dimensions(from, reduce.attrs.get<hlo::DimensionsAttrs>().dimensions);
  int64_t lanes = std::min<int64_t>(lanes_for(program_.program.plan, widest_scalar(id)), size);
  std::vector<std::vector<NodeId>> vectors;  // of each, its operands' values
  Memo memo;
  for (int64_t at_vector = 0; at_vector < size; at_vector += lanes) {
    Place place{.coordinates = std::vector<Coordinate>(from.dimensions().size()),
                .lanes = static_cast<int32_t>(lanes)};
    for (size_t i = 0; i < dims.kept.size(); ++i)
      place.coordinates[static_cast<size_t>(dims.kept[i])] = {kept[i]};
    place.coordinates[static_cast<size_t>(dims.reduced[0])] = {b().add(first, at_vector), 1};
    std::vector<NodeId>& values = vectors.emplace_back();
    for (size_t i = 0; i < count; ++i) {
      const NodeId value = operand_element(reduce.operands[i], place, memo);
      values.push_back(b().splat(value, static_cast<int32_t>(lanes)));
    }
  }
  while (lanes > 1 || vectors.size() > 1) {
    const size_t joined = std::min<size_t>(vectors.size(), 2);  // operands of a shuffle
    if (joined == 1) lanes /= 2;
    std::vector<std::vector<NodeId>> half;
    for (size_t v = 0; v < vectors.size(); v += joined) {
      std::vector<NodeId> arguments;
      for (int64_t odd : {0, 1}) {
        for (size_t i = 0; i < count; ++i) {
          const NodeId operands[] = {vectors[v][i], vectors[v + joined - 1][i]};
          arguments.push_back(every_second(b(), std::span(operands).first(joined), odd));
        }
      }
      half.push_back(inline_scalars(b(), body, arguments));
      for (NodeId& value : half.back()) value = b().splat(value, static_cast<int32_t>(lanes));
    }
    vectors = std::move(half);
  }
  return vectors[0];
}

// Lanes lie along a dimension that stays, if need be with steps over those that are reduced, or
// there are none; any function, several operands.
void RegionLowering::reduce_across(InstructionId id, std::span<const BufferId> to) {
  const Instruction& reduce = at(id);
  const size_t count = reduce.operands.size() / 2;
  const Shape& from = at(reduce.operands[0]).shape;
  const ReducedDims dims =
      split_dimensions(from, reduce.attrs.get<hlo::DimensionsAttrs>().dimensions);
  const hlo::Computation& body = program_.module.at(reduce.called[0]);
  const int64_t lane = lane_dimension(from.dimensions());
  const std::vector<int64_t> kept_sizes = sizes_of(from, dims.kept);
  const int64_t kept_lane = lane_dimension(kept_sizes);
  const bool has_lanes =
      std::ranges::count(dims.kept, lane) > 0 ||
      (kept_lane >= 0 && kept_sizes[static_cast<size_t>(kept_lane)] >= kFewestLanes);
  const std::optional<size_t> rows = to.empty() ? std::nullopt : narrow_reduce(id);
  const std::vector<int64_t> sizes = sizes_of(from, dims.reduced);
  const auto initial_at = [&](const Place& kept) {
    std::vector<NodeId> initial;
    Memo memo;
    for (size_t i = 0; i < count; ++i) {
      const NodeId value = operand_element(reduce.operands[count + i], {}, memo);
      initial.push_back(b().splat(value, kept.lanes));
    }
    return initial;
  };
  std::vector<NodeId> at_reduced;
  // Folds the elements at `at_reduced` into `carried`.
  const auto turn = [&](const Place& kept, std::span<const NodeId> carried, Memo& memo) {
    Place place{.coordinates = std::vector<Coordinate>(from.dimensions().size()),
                .lanes = kept.lanes};
    for (size_t i = 0; i < dims.kept.size(); ++i)
      place.coordinates[static_cast<size_t>(dims.kept[i])] = kept.coordinates[i];
    for (size_t i = 0; i < dims.reduced.size(); ++i)
      place.coordinates[static_cast<size_t>(dims.reduced[i])] = {at_reduced[i]};
    std::vector<NodeId> arguments(carried.begin(), carried.end());
    for (size_t i = 0; i < count; ++i)
      arguments.push_back(operand_element(reduce.operands[i], place, memo));
    std::vector<NodeId> next = inline_scalars(b(), body, arguments);
    for (NodeId& value : next) value = b().splat(value, kept.lanes);
    return next;
  };
  const auto write = [&](const Place& place, std::span<const NodeId> values) {
    for (size_t i = 0; i < count; ++i) {
      const LeafId leaf = region_.leaves_of(id)[i];
      if (to.empty()) {
        bind(leaf, Value::of(values[i]));
      } else {
        store_at(to[i], shape(leaf), place, values[i]);
      }
    }
  };
  // Results that one loop folds, in a few parts each where they are few: an operation that waited
  // for the last turn's would leave the machine idle.
  const std::optional<Op> fold = count == 1 ? fold_of(body) : std::nullopt;
  const int64_t lanes = lanes_for(program_.program.plan, widest_scalar(id));
  const bool is_long = fold && !sizes.empty() && sizes.back() >= kFewestParted;
  const auto write_all = [&](std::span<const Place> places) {
    const size_t each = places.size() * count;
    std::vector<NodeId> values;
    for (const Place& place : places) {
      for (NodeId value : initial_at(place)) values.push_back(value);
    }
    int64_t parts = 1;
    if (is_long) parts = std::max<int64_t>(kAccumulators / static_cast<int64_t>(each), 1);
    for (int64_t part = 1; part < parts; ++part) {
      for (size_t i = 0; i < each; ++i) {
        const Type type = b().type(values[i]);
        values.push_back(b().bits(type, identity_bits(*fold, type.scalar)));
      }
    }
    const auto add = [&](std::vector<NodeId>& carried, int64_t part) {
      std::map<int32_t, Memo> memos;  // by lanes
      for (size_t i = 0; i < places.size(); ++i) {
        const size_t first = static_cast<size_t>(part) * each + i * count;
        const std::vector<NodeId> next =
            turn(places[i], std::span(carried).subspan(first, count), memos[places[i].lanes]);
        std::ranges::copy(next, carried.begin() + static_cast<std::ptrdiff_t>(first));
      }
    };
    const bool is_paired = count > 1 && places.size() == 1 && places[0].lanes == 1 &&
                           sizes.size() == 1 && dims.reduced[0] == lane &&
                           sizes[0] >= kFewestPaired;
    if (is_paired) {
      std::vector<NodeId> kept;
      for (const Coordinate& c : places[0].coordinates) kept.push_back(c.base);
      int64_t size = kPairedVectors * static_cast<int64_t>(std::bit_floor(uint64_t(lanes)));
      NodeId first = b().index(0);
      const auto join = [&](std::vector<NodeId>& carried) {
        std::vector<NodeId> arguments = carried;
        for (NodeId value : fold_pairs(id, kept, first, size)) arguments.push_back(value);
        carried = inline_scalars(b(), body, arguments);
      };
      const int64_t together = sizes[0] / size * size;
      if (together > 0) {
        auto loop = b().begin_for(b().index(0), b().index(together), size, values);
        first = loop.parameters[0];
        values.assign(loop.parameters.begin() + 1, loop.parameters.end());
        join(values);
        values = b().end_for(values);
      }
      for (int64_t at = together; at < sizes[0]; at += size) {
        size = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(sizes[0] - at)));
        first = b().index(at);
        join(values);
      }
    } else if (product_of(sizes) <= (fold ? 1 : kMostWrittenFolds)) {
      for (int64_t i = 0; i < product_of(sizes); ++i) {
        at_reduced = index_of(b(), sizes, i);
        add(values, 0);
      }
      at_reduced.clear();
    } else {
      const std::span outer = std::span(sizes).first(sizes.size() - 1);
      const int64_t together = sizes.back() / parts * parts;
      const auto fold_last = [&](std::vector<NodeId> carried) {
        carried = fold_loop(b(), fold == Op::kAdd, together, parts, std::move(carried),
                            [&](NodeId index, std::vector<NodeId> folded) {
                              for (int64_t part = 0; part < parts; ++part) {
                                at_reduced.push_back(b().add(index, part));
                                add(folded, part);
                                at_reduced.pop_back();
                              }
                              return folded;
                            });
        for (int64_t i = together; i < sizes.back(); ++i) {
          at_reduced.push_back(b().index(i));
          add(carried, i - together);
          at_reduced.pop_back();
        }
        return carried;
      };
      values = fold_nest(b(), fold == Op::kAdd, outer, at_reduced, values,
                         std::max<int64_t>(together / parts, 1), fold_last);
    }
    for (size_t i = each; i < values.size(); ++i)
      values[i % each] = b().binary(*fold, values[i % each], values[i]);
    for (size_t i = 0; i < places.size(); ++i)
      write(places[i], std::span(values).subspan(i * count, count));
  };
  if (rows) {
    return write_narrow(kept_sizes, *rows, lanes, to, [&](const Place& place) {
      std::vector<NodeId> values = initial_at(place);
      for (int64_t i = 0; i < product_of(sizes); ++i) {
        at_reduced = index_of(b(), sizes, i);
        Memo memo;
        values = turn(place, values, memo);
      }
      return values;
    });
  }
  if (is_long && std::ranges::count(dims.kept, lane) > 0 &&
      kept_sizes[static_cast<size_t>(kept_lane)] >= kAccumulators * lanes) {
    return for_each_strip(kept_sizes, kAccumulators, lanes, write_all);
  }
  if (has_lanes) {
    std::vector<Place> together;
    for_each_place(kept_sizes, widest_scalar(id), [&](const Place& place) {
      const bool is_in_loop = std::ranges::any_of(
          place.coordinates, [&](const Coordinate& c) { return !b().is_constant(c.base); });
      if (is_in_loop) return write_all({&place, 1});
      together.push_back(place);
      if (together.size() == kMostTogether) write_all(std::exchange(together, {}));
    });
    if (!together.empty()) write_all(together);
    return;
  }
  std::vector<NodeId> at_kept;
  if (std::ranges::count(kept_sizes, 0)) return;
  for_each_nest(b(), kept_sizes, at_kept, [&] {
    const Place place = place_at(at_kept);
    write_all({&place, 1});
  });
}

void RegionLowering::emit_reduce(InstructionId id) {
  const Instruction& reduce = at(id);
  const Shape& from = at(reduce.operands[0]).shape;
  const auto leaves = region_.leaves_of(id);
  std::vector<BufferId> to;
  if (!shape(leaves[0]).is_scalar()) {
    for (LeafId leaf : leaves) to.push_back(place_for(leaf, id));
  }
  const std::vector<int64_t>& reduced = reduce.attrs.get<hlo::DimensionsAttrs>().dimensions;
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
