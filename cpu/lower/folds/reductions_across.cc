// Reductions whose lanes lie along a dimension that stays, if need be with steps over those that
// are reduced, or that have none: any function, several operands.
#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <utility>

#include "heddle/cpu/lower/arrays/loops.h"
#include "heddle/cpu/lower/folds/fold_loops.h"
#include "heddle/cpu/lower/folds/reductions.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kFewestLanes = 4;       // that are worth to be collected with steps
constexpr int64_t kMostWrittenFolds = 8;  // of several results, one after the other
constexpr int64_t kFewestPaired = 8;      // elements of several results that are folded in pairs
constexpr int64_t kPairedVectors = 4;     // of such elements, folded together
constexpr int64_t kFewestParted = 16;     // turns of a fold that is done in parts
constexpr size_t kMostTogether = 8;       // vectors of results that one loop folds

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

class RegionLowering::AcrossReduction {
 public:
  // `to`: by result; none of them: results are scalars, and values.
  AcrossReduction(RegionLowering& region, InstructionId id, std::span<const BufferId> to)
      : region_(region),
        id_(id),
        to_(to),
        reduce_(region.at(id)),
        from_(region.at(reduce_.operands[0]).shape),
        dims_(from_, reduce_),
        body_(region.program_.module.at(reduce_.called[0])),
        count_(reduce_.operands.size() / 2),
        kept_sizes_(sizes_of(from_, dims_.kept)),
        sizes_(sizes_of(from_, dims_.reduced)),
        fold_(count_ == 1 ? fold_of(body_) : std::nullopt),
        lanes_(lanes_for(region.program_.program.plan, region.widest_scalar(id))),
        is_long_(fold_ && !sizes_.empty() && sizes_.back() >= kFewestParted) {}

  void run() {
    const std::optional<size_t> rows = to_.empty() ? std::nullopt : region_.narrow_reduce(id_);
    if (rows) return write_columns(*rows);
    const int64_t kept_lane = lane_dimension(kept_sizes_);
    const int64_t kept_length = kept_lane < 0 ? 0 : kept_sizes_[static_cast<size_t>(kept_lane)];
    const bool are_neighbours = std::ranges::count(dims_.kept, lane_dimension(from_.dimensions()));
    if (is_long_ && are_neighbours && kept_length >= kAccumulators * lanes_)
      return for_each_strip();
    if (are_neighbours || kept_length >= kFewestLanes) return write_vectors();
    if (std::ranges::count(kept_sizes_, 0)) return;
    std::vector<NodeId> at_kept;
    for_each_nest(b(), kept_sizes_, at_kept, [&] {
      const Place place = place_at(at_kept);
      write_all({&place, 1});
    });
  }

 private:
  PlanBuilder& b() { return region_.b(); }

  // Rows of few columns: lanes lie along the rows.
  void write_columns(size_t rows) {
    region_.write_narrow(kept_sizes_, rows, lanes_, to_, [&](const Place& place) {
      std::vector<NodeId> values = initial_at(place);
      for (int64_t i = 0; i < product_of(sizes_); ++i) {
        at_reduced_ = index_of(b(), sizes_, i);
        Memo memo;
        values = turn(place, values, memo);
      }
      return values;
    });
  }

  // Several vectors that lie side by side along the last dimension of more than one element, at a
  // time: what a loop over rows reads of each row is then more than a line.
  void for_each_strip() {
    const auto lane = static_cast<size_t>(lane_dimension(kept_sizes_));
    std::vector<int64_t> outer = kept_sizes_;
    outer[lane] = 1;
    std::vector<NodeId> at;
    for_each_nest(b(), outer, at, [&] {
      const auto strip = [&](NodeId from, int64_t count) {
        std::vector<Place> places;
        for (int64_t i = 0; i < count; i += lanes_) {
          Place& place = places.emplace_back(place_at(at));
          place.lanes = static_cast<int32_t>(std::min(lanes_, count - i));
          place.coordinates[lane] = {b().add(from, i), place.lanes > 1 ? 1 : 0};
        }
        write_all(places);
      };
      const int64_t width = kAccumulators * lanes_;
      const int64_t length = kept_sizes_[lane], whole = length / width * width;
      auto loop = b().begin_for_each(b().index(0), b().index(whole), width);
      strip(loop.parameters[0], width);
      b().end_for({});
      if (whole < length) strip(b().index(whole), length - whole);
    });
  }

  // Vectors that are in no loop are folded together.
  void write_vectors() {
    std::vector<Place> together;
    region_.for_each_place(kept_sizes_, region_.widest_scalar(id_), [&](const Place& place) {
      const bool is_in_loop = std::ranges::any_of(
          place.coordinates, [&](const Coordinate& c) { return !b().is_constant(c.base); });
      if (is_in_loop) return write_all({&place, 1});
      together.push_back(place);
      if (together.size() == kMostTogether) write_all(std::exchange(together, {}));
    });
    if (!together.empty()) write_all(together);
  }

  // Results that one loop folds, in a few parts each where they are few: an operation that waited
  // for the last turn's would leave the machine idle.
  void write_all(std::span<const Place> places) {
    const size_t each = places.size() * count_;
    std::vector<NodeId> values;
    for (const Place& place : places) {
      for (NodeId value : initial_at(place)) values.push_back(value);
    }
    int64_t parts = 1;
    if (is_long_) parts = std::max<int64_t>(kAccumulators / static_cast<int64_t>(each), 1);
    for (size_t i = 0; i < (static_cast<size_t>(parts) - 1) * each; ++i) {
      const Type type = b().type(values[i]);
      values.push_back(b().bits(type, identity_bits(*fold_, type.scalar)));
    }
    if (is_paired(places)) {
      values = fold_in_pairs(places[0], std::move(values));
    } else if (product_of(sizes_) <= (fold_ ? 1 : kMostWrittenFolds)) {
      for (int64_t i = 0; i < product_of(sizes_); ++i) {
        at_reduced_ = index_of(b(), sizes_, i);
        fold_in(places, 0, values);
      }
      at_reduced_.clear();
    } else {
      values = fold_in_loops(places, parts, std::move(values));
    }
    for (size_t i = each; i < values.size(); ++i)
      values[i % each] = b().binary(*fold_, values[i % each], values[i]);
    for (size_t i = 0; i < places.size(); ++i)
      write(places[i], std::span(values).subspan(i * count_, count_));
  }

  std::vector<NodeId> initial_at(const Place& kept) {
    std::vector<NodeId> initial;
    Memo memo;
    for (size_t i = 0; i < count_; ++i) {
      const NodeId value = region_.operand_element(reduce_.operands[count_ + i], {}, memo);
      initial.push_back(b().splat(value, kept.lanes));
    }
    return initial;
  }

  void write(const Place& place, std::span<const NodeId> values) {
    for (size_t i = 0; i < count_; ++i) {
      const LeafId leaf = region_.region_.leaves_of(id_)[i];
      if (to_.empty()) {
        region_.bind(leaf, Value::of(values[i]));
      } else {
        region_.store_at(to_[i], region_.shape(leaf), place, values[i]);
      }
    }
  }

  // The body's results for what is folded already and for elements, or folds of such.
  std::vector<NodeId> joined(std::span<const NodeId> carried, std::span<const NodeId> elements) {
    std::vector<NodeId> arguments(carried.begin(), carried.end());
    arguments.insert(arguments.end(), elements.begin(), elements.end());
    return inline_scalars(b(), body_, arguments);
  }

  // Folds the elements at `at_reduced_` into `carried`.
  std::vector<NodeId> turn(const Place& kept, std::span<const NodeId> carried, Memo& memo) {
    const Place place =
        dims_.place(kept.coordinates, place_at(at_reduced_).coordinates, kept.lanes);
    std::vector<NodeId> elements;
    for (size_t i = 0; i < count_; ++i)
      elements.push_back(region_.operand_element(reduce_.operands[i], place, memo));
    std::vector<NodeId> next = joined(carried, elements);
    for (NodeId& value : next) value = b().splat(value, kept.lanes);
    return next;
  }

  // The same of all places, into one part of `carried`.
  void fold_in(std::span<const Place> places, int64_t part, std::vector<NodeId>& carried) {
    std::map<int32_t, Memo> memos;  // by lanes
    size_t first = static_cast<size_t>(part) * places.size() * count_;
    for (const Place& place : places) {
      const std::vector<NodeId> next =
          turn(place, std::span(carried).subspan(first, count_), memos[place.lanes]);
      std::ranges::copy(next, carried.begin() + static_cast<std::ptrdiff_t>(first));
      first += count_;
    }
  }

  std::vector<NodeId> fold_in_loops(std::span<const Place> places, int64_t parts,
                                    std::vector<NodeId> values) {
    const int64_t together = sizes_.back() / parts * parts;
    const auto fold_at = [&](NodeId last, int64_t part, std::vector<NodeId>& carried) {
      at_reduced_.push_back(last);
      fold_in(places, part, carried);
      at_reduced_.pop_back();
    };
    const auto fold_last = [&](std::vector<NodeId> carried) {
      carried = fold_loop(b(), fold_ == Op::kAdd, together, parts, std::move(carried),
                          [&](NodeId index, std::vector<NodeId> folded) {
                            for (int64_t part = 0; part < parts; ++part)
                              fold_at(b().add(index, part), part, folded);
                            return folded;
                          });
      for (int64_t i = together; i < sizes_.back(); ++i)
        fold_at(b().index(i), i - together, carried);
      return carried;
    };
    return fold_nest(b(), fold_ == Op::kAdd, std::span(sizes_).first(sizes_.size() - 1),
                     at_reduced_, std::move(values), std::max<int64_t>(together / parts, 1),
                     fold_last);
  }

  // One result each of several operands, along a row.
  [[nodiscard]] bool is_paired(std::span<const Place> places) const {
    return count_ > 1 && places.size() == 1 && places[0].lanes == 1 && sizes_.size() == 1 &&
           dims_.reduced[0] == lane_dimension(from_.dimensions()) && sizes_[0] >= kFewestPaired;
  }

  std::vector<NodeId> fold_in_pairs(Place kept, std::vector<NodeId> values) {
    for (Coordinate& c : kept.coordinates) c.step = 0;  // lanes lie along the row
    int64_t size = kPairedVectors * static_cast<int64_t>(std::bit_floor(uint64_t(lanes_)));
    const int64_t together = sizes_[0] / size * size;
    if (together > 0) {
      auto loop = b().begin_for(b().index(0), b().index(together), size, values);
      values.assign(loop.parameters.begin() + 1, loop.parameters.end());
      values = b().end_for(joined(values, paired(kept, loop.parameters[0], size)));
    }
    for (int64_t at = together; at < sizes_[0]; at += size) {
      size = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(sizes_[0] - at)));
      values = joined(values, paired(kept, b().index(at), size));
    }
    return values;
  }

  // So many neighbours of several operands, a power of two, as one: each with the next one, pairs
  // with the next pair, and so on. They stay in order, as a first NaN or a first place needs.
  std::vector<NodeId> paired(const Place& kept, NodeId first, int64_t size) {
    int64_t lanes = std::min(lanes_, size);
    std::vector<std::vector<NodeId>> vectors;  // of each, its operands' values
    Memo memo;
    for (int64_t at_vector = 0; at_vector < size; at_vector += lanes) {
      const Coordinate along[] = {{b().add(first, at_vector), 1}};
      const Place place = dims_.place(kept.coordinates, along, lanes);
      std::vector<NodeId>& values = vectors.emplace_back();
      for (size_t i = 0; i < count_; ++i) {
        const NodeId value = region_.operand_element(reduce_.operands[i], place, memo);
        values.push_back(b().splat(value, place.lanes));
      }
    }
    while (lanes > 1 || vectors.size() > 1) {
      const size_t joined = std::min<size_t>(vectors.size(), 2);  // operands of a shuffle
      if (joined == 1) lanes /= 2;
      std::vector<std::vector<NodeId>> half;
      for (size_t v = 0; v < vectors.size(); v += joined) {
        std::vector<NodeId> arguments;
        for (int64_t odd : {0, 1}) {
          for (size_t i = 0; i < count_; ++i) {
            const NodeId operands[] = {vectors[v][i], vectors[v + joined - 1][i]};
            arguments.push_back(every_second(b(), std::span(operands).first(joined), odd));
          }
        }
        half.push_back(inline_scalars(b(), body_, arguments));
        for (NodeId& value : half.back()) value = b().splat(value, static_cast<int32_t>(lanes));
      }
      vectors = std::move(half);
    }
    return vectors[0];
  }

  RegionLowering& region_;
  const InstructionId id_;
  const std::span<const BufferId> to_;
  const Instruction& reduce_;
  const Shape& from_;
  const ReducedDims dims_;
  const Computation& body_;
  const size_t count_;                             // of results
  const std::vector<int64_t> kept_sizes_, sizes_;  // of dimensions: kept, reduced
  const std::optional<Op> fold_;                   // none: another function, or several results
  const int64_t lanes_;
  const bool is_long_;
  std::vector<NodeId> at_reduced_;  // the place along the reduced dimensions
};

void RegionLowering::reduce_across(InstructionId id, std::span<const BufferId> to) {
  AcrossReduction(*this, id, to).run();
}

}  // namespace heddle::cpu
