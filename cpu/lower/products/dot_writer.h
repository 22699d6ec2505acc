// The loops of a matrix product.
#pragma once

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/arrays/loops.h"
#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/cpu/lower/elements/small_floats.h"
#include "heddle/cpu/lower/folds/fold_loops.h"
#include "heddle/cpu/lower/folds/folded_together.h"
#include "heddle/cpu/lower/lowering.h"
#include "heddle/cpu/lower/products/dot_axes.h"

namespace heddle::cpu {

// Writes the loops of a product. Operands are widened where they are read: small floats, which are
// summed in f32, integers to the type of the result, and those that a view converts.
class DotWriter {
 public:
  static constexpr int64_t kMaxWrittenOut = 64;  // multiplications of vectors, in one product
  // In all products of a region, after which products have loops: machine code of more comes from
  // far caches, and its compilation takes time by the square.
  static constexpr int64_t kMaxWrittenOutInAll = 384;
  static constexpr int64_t kMaxVectors = 8;  // sums that stand in registers
  static constexpr int64_t kNear = 1 << 14;  // bytes that stay in the nearest one
  // Bytes of a matrix that is read row after row, by vectors of 512 bits and shorter ones.
  static constexpr int64_t kStreamed = 1 << 20, kStreamedShort = 1 << 16;
  static constexpr int64_t kRowsTogether = 4;
  static constexpr int64_t kFewestColumns = 4;  // that are worth a loop beside the kernel
  static constexpr int64_t kManyRows = 4096;    // that sums in memory would add one by one
  static constexpr int64_t kLongSum =
      16;  // products that wait for each other where they are scalars

  struct Types {
    DType operands, result;
  };
  DotWriter(PlanBuilder& builder, const Computation& computation, Types types, int64_t vector_bytes,
            const View& lhs, const View& rhs, BufferId to)
      : b_(builder),
        computation_(computation),
        types_(types),
        type_{is_small_float(types.operands) ? Scalar::kF32 : *scalar_of(types.result), 1},
        machine_lanes_(vector_bytes / std::max<int64_t>(bytes_of(type_.scalar), 4)),
        streamed_(vector_bytes < 64 ? kStreamedShort : kStreamed),
        lhs_(lhs.buffer),
        rhs_(rhs.buffer),
        to_(to),
        views_{&lhs, &rhs},
        start_{lhs.offset, rhs.offset, b_.index(0)} {}

  struct Offsets {
    NodeId lhs, rhs, to;
  };

  // What an operand holds as the numbers that are multiplied.
  NodeId widened(const View& from, NodeId x) {
    if (from.convert != nullptr) return apply(b_, computation_, *from.convert, std::span(&x, 1));
    if (is_small_float(types_.operands)) return widen(b_, types_.operands, x);
    if (b_.type(x).scalar == type_.scalar) return x;
    return b_.cast(is_signed(types_.operands) ? Op::kSExtend : Op::kZExtend, type_.scalar, x);
  }

  // Lanes along the last of `outer`, where one operand has step 1 and the other 0; several vectors
  // share what they load of the other, and several rows the vectors.
  void across(std::vector<Axis> outer, const std::vector<Axis>& contracted) {
    const Axis lane = outer.back();
    outer.pop_back();
    const int64_t lanes = std::min(machine_lanes_, lane.size);
    const int64_t vectors = lane.size / lanes;
    const Axis rows = take_rows(outer, lane);
    // What is converted where it is read serves several rows.
    const bool converts = storage_bytes(types_.operands) < 4 && rows.size > 1;
    const int64_t sums = converts ? 2 * kMaxVectors : kMaxVectors;
    const int64_t together = std::min(vectors, converts ? kMaxVectors / 2 : kMaxVectors);
    const int64_t step = std::min(rows.size, sums / together);
    const auto sum_block = [&](const Offsets& base, int64_t count_rows) {
      const Axis block = {.size = count_rows, .lhs = rows.lhs, .rhs = rows.rhs, .to = rows.to};
      const auto chunk = [&](NodeId from, int64_t count, int64_t width) {
        // The last rows are summed as the others are, to the same bits.
        const auto split = in_parts(contracted, step * count);
        sum_vectors(base, block, lane, split, contracted, from, count, width);
      };
      const int64_t rounds = vectors / together;
      auto loop =
          b_.begin_for_each(b_.index(0), b_.index(rounds * together * lanes), together * lanes);
      chunk(loop.parameters[0], together, lanes);
      b_.end_for({});
      int64_t done = rounds * together;
      if (done < vectors) chunk(b_.index(done * lanes), vectors - done, lanes);
      if (vectors * lanes < lane.size)
        chunk(b_.index(vectors * lanes), 1, lane.size - vectors * lanes);
    };
    const int64_t whole = rows.size / step * step;
    each(outer, [&](const Offsets& base) {
      auto loop = b_.begin_for_each(b_.index(0), b_.index(whole), step);
      sum_block(advanced(base, rows, loop.parameters[0]), step);
      b_.end_for({});
      if (whole < rows.size) sum_block(advanced(base, rows, b_.index(whole)), rows.size - whole);
    });
  }

  // A large matrix by a vector, or one for each place of an outer axis: its rows are read from the
  // beginning to the end, some at a time, and added to sums in memory.
  bool by_rows(std::vector<Axis> outer, const std::vector<Axis>& contracted) {
    const Axis lane = outer.back();
    outer.pop_back();
    const int64_t results = total(outer) * lane.size,
                  rows = contracted.empty() ? 0 : contracted[0].size;
    const bool on_rhs = lane.rhs == 1;
    const bool is_streamed = std::ranges::all_of(
        outer, [&](const Axis& axis) { return (on_rhs ? axis.rhs : axis.lhs) != 0; });
    if (contracted.size() != 1 || !is_streamed || is_small_float(types_.result) || lane.to != 1 ||
        lane.size % machine_lanes_ != 0 || results * bytes_of(type_.scalar) > kNear ||
        results * rows * storage_bytes(types_.operands) < streamed_ ||
        (type_.scalar == Scalar::kF32 && rows >= kManyRows &&
         lane.size <= kMaxVectors * machine_lanes_))
      return false;
    // Vectors of an outer place are written one after the other.
    if (outer.size() > (lane.size / machine_lanes_ <= kMaxVectors / 2 ? 1u : 0u)) return false;
    each(outer, [&](const Offsets& base) {
      auto loop = b_.begin_for_each(b_.index(0), b_.index(lane.size), machine_lanes_);
      store(b_.add(base.to, loop.parameters[0]), zero(machine_lanes_));
      b_.end_for({});
    });
    const int64_t most = rows / kRowsTogether * kRowsTogether;
    auto loop = b_.begin_for(b_.index(0), b_.index(most), kRowsTogether, {});
    add_rows(outer, lane, contracted[0], loop.parameters[0], kRowsTogether);
    b_.end_for({});
    for (int64_t row = most; row < rows; ++row)
      add_rows(outer, lane, contracted[0], b_.index(row), 1);
    return true;
  }

  // All of it without a loop, so that what is in registers may stay there: lanes along an axis of
  // the result, and nothing is summed across lanes. Adds to the multiplications `written`.
  bool write_out(const std::vector<Axis>& outer, const std::vector<Axis>& contracted,
                 int64_t& written) {
    const auto lane = std::ranges::find(outer, 1, &Axis::to);
    if (lane == outer.end() || contracted.size() > 1) return false;
    const Axis along = contracted.empty() ? Axis() : contracted[0];
    std::vector<Axis> others = outer;
    others.erase(others.begin() + (lane - outer.begin()));
    const int64_t lanes = std::min(machine_lanes_, lane->size);
    const int64_t vectors = (lane->size + lanes - 1) / lanes, depth = along.size;
    const int64_t count = total(others) * vectors * depth;
    if (count > kMaxWrittenOut) return false;
    if (!is_cheap(lhs_, start_.lhs, lane->lhs, lane->size * depth) ||
        !is_cheap(rhs_, start_.rhs, lane->rhs, lane->size * depth))
      return false;
    for (int64_t place = 0; place < total(others); ++place) {
      const Offsets base = at_place(others, place);
      for (int64_t from = 0; from < lane->size; from += lanes) {
        const Offsets at = advanced(base, *lane, b_.index(from));
        const auto width = static_cast<int32_t>(std::min(lanes, lane->size - from));
        store(at.to, sum_written_out(at, *lane, along, width));
      }
    }
    written += count;
    return true;
  }

  // All results in registers, of few vectors: lanes along an axis where one operand has step 1 and
  // the other 0.
  bool in_registers(const std::vector<Axis>& outer, const std::vector<Axis>& contracted) {
    // Vectors of a power of two are one load.
    const auto score = [](const Axis& axis) {
      const bool is_lane = axis.lhs + axis.rhs == 1;
      return std::tuple(is_lane, std::has_single_bit(static_cast<uint64_t>(axis.size)), axis.size);
    };
    const auto best = std::ranges::max_element(outer, {}, score);
    if (best == outer.end() || best->lhs + best->rhs != 1 || contracted.empty()) return false;
    const Axis lane = *best;
    std::vector<Axis> others = outer;
    others.erase(others.begin() + (best - outer.begin()));
    const int64_t lanes = std::min(machine_lanes_, lane.size);
    const int64_t results = total(others) * ((lane.size + lanes - 1) / lanes);
    if (lanes < kFewestColumns || results > kMaxVectors) return false;
    std::vector<std::pair<Offsets, int32_t>> places;  // and lanes
    for (int64_t place = 0; place < total(others); ++place) {
      for (int64_t from = 0; from < lane.size; from += lanes)
        places.emplace_back(advanced(at_place(others, place), lane, b_.index(from)),
                            static_cast<int32_t>(std::min(lanes, lane.size - from)));
    }
    const auto [loops, parts] = in_parts(contracted, results);
    std::vector<NodeId> sums;
    for (int64_t part = 0; part < parts; ++part) {
      for (const auto& [place, width] : places) sums.push_back(zero(width));
    }
    const Offsets start = {b_.index(0), b_.index(0), b_.index(0)};
    sums = nest(loops, start, sums, [&](const Offsets& at, std::vector<NodeId> carried) {
      std::map<std::tuple<BufferId, NodeId, int32_t>, NodeId> loaded;
      const auto operand = [&](BufferId from, NodeId where, bool is_vector, int32_t width) {
        const int32_t lanes = is_vector ? width : 1;
        NodeId& node = loaded[{from, where, lanes}];
        if (!node.valid()) node = load(from, lanes, where);
        return b_.splat(node, width);
      };
      for (size_t i = 0; i < carried.size(); ++i) {
        const auto& [place, width] = places[i % places.size()];
        const auto part = static_cast<int64_t>(i / places.size());
        const NodeId lhs = b_.add(b_.add(place.lhs, at.lhs), part * contracted.back().lhs);
        const NodeId rhs = b_.add(b_.add(place.rhs, at.rhs), part * contracted.back().rhs);
        carried[i] = multiply_add(operand(lhs_, lhs, lane.lhs == 1, width),
                                  operand(rhs_, rhs, lane.rhs == 1, width), carried[i]);
      }
      return carried;
    });
    for (size_t i = 0; i < places.size(); ++i) {
      for (size_t k = i + places.size(); k < sums.size(); k += places.size())
        sums[i] = b_.add(sums[i], sums[k]);
      store(places[i].first.to, sums[i], lane.to);
    }
    return true;
  }

  // Lanes along the last contracted axis: best where both operands have step 1.
  void along(std::vector<Axis> outer, std::vector<Axis> contracted) {
    const Axis lane = contracted.back();
    contracted.pop_back();
    const auto side = std::ranges::find_if(outer, [&](const Axis& axis) {
      return axis.to == 1 && axis.size >= machine_lanes_ && axis.lhs * axis.rhs == 0;
    });
    if (side == outer.end() || !contracted.empty() || lane.lhs != 1 || lane.rhs != 1 ||
        lane.size < machine_lanes_)
      return each(outer, [&](const Offsets& base) { sum_row(base, lane, contracted); });
    const Axis rows = *side;
    const int64_t together = rows.size / machine_lanes_ * machine_lanes_;
    outer.erase(side);
    each(outer, [&](const Offsets& base) {
      auto loop = b_.begin_for_each(b_.index(0), b_.index(together), machine_lanes_);
      sum_rows(advanced(base, rows, loop.parameters[0]), rows, lane);
      b_.end_for({});
      if (together == rows.size) return;
      auto rest = b_.begin_for_each(b_.index(together), b_.index(rows.size), 1);
      sum_row(advanced(base, rows, rest.parameters[0]), lane, contracted);
      b_.end_for({});
    });
  }

  // One element after the other.
  void plain(const std::vector<Axis>& outer, const std::vector<Axis>& contracted) {
    each(outer, [&](const Offsets& base) {
      const std::vector<NodeId> sums =
          nest(contracted, base, {zero(1)}, [&](const Offsets& at, std::vector<NodeId> carried) {
            const NodeId x = load(lhs_, 1, at.lhs);
            const NodeId y = load(rhs_, 1, at.rhs);
            return std::vector{multiply_add(x, y, carried[0])};
          });
      store(base.to, sums[0]);
    });
  }

 private:
  // As many rows as there are lanes, of one operand, by a vector of the other.
  void sum_rows(const Offsets& start, const Axis& rows, const Axis& lane) {
    const bool on_lhs = rows.lhs != 0;
    const Type type{type_.scalar, static_cast<int32_t>(machine_lanes_)};
    const std::vector<NodeId> zeros(static_cast<size_t>(machine_lanes_), zero(machine_lanes_));
    const int64_t whole = lane.size / machine_lanes_ * machine_lanes_;
    const auto add = [&](std::vector<NodeId>& sums, NodeId from, int64_t width) {
      const Offsets at = advanced(start, lane, from);
      const NodeId vector = load_padded(on_lhs ? rhs_ : lhs_, width, on_lhs ? at.rhs : at.lhs);
      for (size_t i = 0; i < sums.size(); ++i) {
        const Offsets row = advanced(at, rows, b_.index(static_cast<int64_t>(i)));
        const NodeId x = load_padded(on_lhs ? lhs_ : rhs_, width, on_lhs ? row.lhs : row.rhs);
        sums[i] = multiply_add(x, vector, sums[i]);
      }
    };
    std::vector<NodeId> sums = fold_loop(b_, /*is_sum=*/true, whole, machine_lanes_, zeros,
                                         [&](NodeId from, std::vector<NodeId> carried) {
                                           add(carried, from, machine_lanes_);
                                           return carried;
                                         });
    if (whole < lane.size) add(sums, b_.index(whole), lane.size - whole);
    store(start.to, fold_together(b_, Op::kAdd, type,
                                  [&](int64_t i) { return sums[static_cast<size_t>(i)]; }));
  }

  void sum_row(const Offsets& base, const Axis& lane, const std::vector<Axis>& contracted) {
    const int64_t lanes = std::min(machine_lanes_, lane.size);
    const int64_t vectors = lane.size / lanes;
    const int64_t several = std::min<int64_t>(vectors, 4);
    std::vector<NodeId> sums(static_cast<size_t>(several), zero(lanes));
    sums.push_back(zero(1));
    sums = nest(contracted, base, sums, [&](const Offsets& at, std::vector<NodeId> carried) {
      const auto product = [&](NodeId from, int64_t width, NodeId sum) {
        const Offsets here = advanced(at, lane, from);
        const auto wide = static_cast<int32_t>(width);
        const NodeId x = load_strided(lhs_, wide, here.lhs, lane.lhs);
        const NodeId y = load_strided(rhs_, wide, here.rhs, lane.rhs);
        return multiply_add(x, y, sum);
      };
      const int64_t rounds = vectors / several;
      const auto first = std::span(carried).first(static_cast<size_t>(several));
      std::vector<NodeId> inner =
          fold_loop(b_, /*is_sum=*/true, rounds * several * lanes, several * lanes,
                    {first.begin(), first.end()}, [&](NodeId from, std::vector<NodeId> folded) {
                      for (int64_t i = 0; i < several; ++i) {
                        NodeId& sum = folded[static_cast<size_t>(i)];
                        sum = product(b_.add(from, i * lanes), lanes, sum);
                      }
                      return folded;
                    });
      for (int64_t i = rounds * several; i < vectors; ++i)
        inner[0] = product(b_.index(i * lanes), lanes, inner[0]);
      NodeId rest = carried.back();
      if (const int64_t width = lane.size - vectors * lanes; width > 0) {
        const NodeId part =
            product(b_.index(vectors * lanes), width, zero(static_cast<int32_t>(width)));
        rest = b_.add(rest, b_.reduce_lanes(Op::kAdd, part));
      }
      inner.push_back(rest);
      return inner;
    });
    const NodeId rest = sums.back();
    sums.pop_back();
    NodeId sum = b_.reduce_lanes(Op::kAdd, sum_of(std::move(sums)));
    if (vectors * lanes < lane.size) sum = b_.add(sum, rest);
    store(base.to, sum);
  }

  NodeId zero(int64_t lanes) { return b_.bits({type_.scalar, static_cast<int32_t>(lanes)}, 0); }

  // By buffer: operands in one buffer have one type there and one in the product.
  [[nodiscard]] const View& view(BufferId from) const { return *views_[from == lhs_ ? 0 : 1]; }
  NodeId load(BufferId from, int64_t lanes, NodeId at) {
    const Type type{*scalar_of(view(from).dtype), static_cast<int32_t>(lanes)};
    return widened(from, b_.load(from, type, at));
  }
  // Loads `lanes` elements as a whole vector. Its other lanes are zero.
  NodeId load_padded(BufferId from, int64_t lanes, NodeId at) {
    const NodeId some = load(from, lanes, at);
    if (lanes == machine_lanes_) return some;
    std::vector<LaneSource> sources;
    for (uint32_t i = 0; i < machine_lanes_; ++i)
      sources.push_back(i < lanes ? LaneSource{0, i} : LaneSource{1, 0});
    const NodeId both[] = {some, zero(lanes)};
    return b_.shuffle(both, std::move(sources));
  }
  NodeId load_strided(BufferId from, int32_t width, NodeId at, int64_t step) {
    return widened(from, b_.load_strided(from, {*scalar_of(view(from).dtype), width}, at, step));
  }
  NodeId widened(BufferId from, NodeId x) { return widened(view(from), x); }
  // `step`: from lane to lane.
  void store(NodeId at, NodeId sum, int64_t step = 1) {
    const NodeId value = is_small_float(types_.result) ? narrow(b_, types_.result, sum) : sum;
    const int32_t lanes = b_.type(value).lanes;
    if (step == 1 || lanes == 1) return b_.store(to_, at, value);
    b_.scatter(to_, b_.add(at, b_.mul(b_.lanes(Scalar::kI64, lanes), step)), value);
  }

  NodeId multiply_add(NodeId x, NodeId y, NodeId sum) {
    return is_float(type_.scalar) ? b_.fma(x, y, sum) : b_.add(sum, b_.mul(x, y));
  }

  Offsets advanced(const Offsets& from, const Axis& axis, NodeId index) {
    return {b_.add(from.lhs, b_.mul(index, axis.lhs)), b_.add(from.rhs, b_.mul(index, axis.rhs)),
            b_.add(from.to, b_.mul(index, axis.to))};
  }

  Offsets advanced(Offsets offsets, const std::vector<Axis>& axes, std::span<const NodeId> at) {
    for (size_t i = 0; i < axes.size(); ++i) offsets = advanced(offsets, axes[i], at[i]);
    return offsets;
  }
  static std::vector<int64_t> sizes_of(const std::vector<Axis>& axes) {
    std::vector<int64_t> sizes;
    for (const Axis& axis : axes) sizes.push_back(axis.size);
    return sizes;
  }

  // `count` rows of a matrix, each times its number, to all results.
  void add_rows(const std::vector<Axis>& outer, const Axis& lane, const Axis& along, NodeId row,
                int64_t count) {
    const PlanBuilder::Floor floor(b_);  // sums in memory are read after they were written
    const Offsets start = advanced(start_, along, row);
    const bool on_rhs = lane.rhs == 1;
    const auto numbers_at = [&](const Offsets& at) {
      std::vector<NodeId> numbers;
      for (int64_t r = 0; r < count; ++r) {
        const NodeId one = on_rhs ? load(lhs_, 1, b_.add(at.lhs, r * along.lhs))
                                  : load(rhs_, 1, b_.add(at.rhs, r * along.rhs));
        numbers.push_back(b_.splat(one, static_cast<int32_t>(machine_lanes_)));
      }
      return numbers;
    };
    const auto add = [&](const Offsets& at, const std::vector<NodeId>& numbers, NodeId from) {
      const NodeId place = b_.add(at.to, from);
      NodeId sum = b_.load(to_, b_.type(zero(machine_lanes_)), place);
      for (int64_t r = 0; r < count; ++r) {
        const NodeId base = on_rhs ? b_.add(at.rhs, r * along.rhs) : b_.add(at.lhs, r * along.lhs);
        const NodeId vector = load(on_rhs ? rhs_ : lhs_, machine_lanes_, b_.add(base, from));
        sum = multiply_add(numbers[static_cast<size_t>(r)], vector, sum);
      }
      store(place, sum);
    };
    if (outer.empty()) {
      const std::vector<NodeId> numbers = numbers_at(start);
      auto loop = b_.begin_for_each(b_.index(0), b_.index(lane.size), machine_lanes_);
      add(start, numbers, loop.parameters[0]);
      b_.end_for({});
      return;
    }
    auto loop = b_.begin_for_each(b_.index(0), b_.index(outer[0].size), 1);
    const Offsets at = advanced(start, outer[0], loop.parameters[0]);
    const std::vector<NodeId> numbers = numbers_at(at);
    for (int64_t i = 0; i < lane.size; i += machine_lanes_) add(at, numbers, b_.index(i));
    b_.end_for({});
  }

  // By number, the first axis outermost.
  Offsets at_place(std::span<const Axis> axes, int64_t place) {
    Offsets base = start_;
    for (size_t d = axes.size(); d-- > 0; place /= axes[d].size)
      base = advanced(base, axes[d], b_.index(place % axes[d].size));
    return base;
  }

  // Lanes that lie apart in memory are loaded one by one: few of them.
  bool is_cheap(BufferId buffer, NodeId start, int64_t step, int64_t elements) {
    return step <= 1 || elements <= kMaxApart || (b_.is_constant(start) && b_.is_known(buffer));
  }

  // Sums that depend on nothing else hide the latency of the additions.
  NodeId sum_written_out(const Offsets& at, const Axis& lane, const Axis& along, int32_t width) {
    const int64_t parts = std::clamp<int64_t>(along.size / 2, 1, 4);
    std::vector<NodeId> sums;
    for (int64_t k = 0; k < along.size; ++k) {
      const Offsets here = advanced(at, along, b_.index(k));
      const NodeId x = load_strided(lhs_, width, here.lhs, lane.lhs);
      const NodeId y = load_strided(rhs_, width, here.rhs, lane.rhs);
      if (k < parts) {
        sums.push_back(b_.mul(x, y));
      } else {
        NodeId& sum = sums[static_cast<size_t>(k % parts)];
        sum = multiply_add(x, y, sum);
      }
    }
    return sum_of(std::move(sums));
  }

  // In pairs, for a short wait.
  NodeId sum_of(std::vector<NodeId> sums) {
    while (sums.size() > 1) {
      const size_t half = (sums.size() + 1) / 2;
      for (size_t i = half; i < sums.size(); ++i) sums[i - half] = b_.add(sums[i - half], sums[i]);
      sums.resize(half);
    }
    return sums[0];
  }

  // Places of the result, in any order: threads may share them.
  template <class Body>
  void each(const std::vector<Axis>& axes, const Body& body) {
    std::vector<NodeId> at;
    for_each_nest(b_, sizes_of(axes), at, [&] { body(advanced(start_, axes, at)); });
  }

  template <class Body>
  std::vector<NodeId> nest(const std::vector<Axis>& axes, const Offsets& start,
                           std::vector<NodeId> carried, const Body& body) {
    std::vector<NodeId> at;
    return fold_nest(
        b_, /*is_sum=*/true, sizes_of(axes), at, std::move(carried), 1,
        [&](std::vector<NodeId> sums) { return body(advanced(start, axes, at), std::move(sums)); });
  }

  // Parts of so many sums, and the loops whose turns each give a product to every part: sums that
  // depend on nothing else hide the latency of the additions.
  static std::pair<std::vector<Axis>, int64_t> in_parts(const std::vector<Axis>& contracted,
                                                        int64_t sums) {
    const int64_t length = contracted.empty() ? 1 : contracted.back().size;
    int64_t parts = 1;
    while (parts * 2 * sums <= kMaxVectors && length % (parts * 2) == 0) parts *= 2;
    std::vector<Axis> loops = contracted;
    if (parts > 1) {
      Axis& last = loops.back();
      last.size /= parts;
      last.lhs *= parts;
      last.rhs *= parts;
    }
    return {std::move(loops), parts};
  }

  // Takes the last axis along which the vectors of the lane axis are the same out of the list: one
  // of size 1 where there is none.
  static Axis take_rows(std::vector<Axis>& outer, const Axis& lane) {
    for (size_t i = outer.size(); i-- > 0;) {
      const Axis axis = outer[i];
      if ((lane.rhs == 1 ? axis.rhs : axis.lhs) != 0) continue;
      outer.erase(outer.begin() + static_cast<std::ptrdiff_t>(i));
      return axis;
    }
    return {.size = 1};
  }

  // `count` vectors of `width` lanes, `from` elements along the lane axis, of each row.
  void sum_vectors(const Offsets& base, const Axis& rows, const Axis& lane,
                   const std::pair<std::vector<Axis>, int64_t>& split,
                   const std::vector<Axis>& contracted, NodeId from, int64_t count, int64_t width) {
    const bool on_rhs = lane.rhs == 1;
    const int64_t results = rows.size * count;
    const auto& [loops, parts] = split;
    const Offsets start = {b_.add(base.lhs, on_rhs ? b_.index(0) : from),
                           b_.add(base.rhs, on_rhs ? from : b_.index(0)), base.to};
    std::vector<NodeId> sums(static_cast<size_t>(results * parts), zero(width));
    sums = nest(loops, start, sums, [&](const Offsets& at, std::vector<NodeId> carried) {
      for (int64_t p = 0; p < parts; ++p) {
        Offsets here = at;
        if (p > 0) {
          here.lhs = b_.add(at.lhs, p * contracted.back().lhs);
          here.rhs = b_.add(at.rhs, p * contracted.back().rhs);
        }
        std::vector<NodeId> vectors;
        for (int64_t i = 0; i < count; ++i)
          vectors.push_back(
              load(on_rhs ? rhs_ : lhs_, width, b_.add(on_rhs ? here.rhs : here.lhs, i * width)));
        for (int64_t row = 0; row < rows.size; ++row) {
          const NodeId one = on_rhs ? load(lhs_, 1, b_.add(here.lhs, row * rows.lhs))
                                    : load(rhs_, 1, b_.add(here.rhs, row * rows.rhs));
          const NodeId all = b_.splat(one, static_cast<int32_t>(width));
          for (int64_t i = 0; i < count; ++i) {
            NodeId& sum = carried[static_cast<size_t>(p * results + row * count + i)];
            sum = multiply_add(all, vectors[static_cast<size_t>(i)], sum);
          }
        }
      }
      return carried;
    });
    for (int64_t k = 0; k < results; ++k) {
      NodeId sum = sums[static_cast<size_t>(k)];
      for (int64_t p = 1; p < parts; ++p)
        sum = b_.add(sum, sums[static_cast<size_t>(p * results + k)]);
      const NodeId place =
          b_.add(b_.mul(b_.add(from, k % count * width), lane.to), k / count * rows.to);
      store(b_.add(base.to, place), sum, lane.to);
    }
  }

  PlanBuilder& b_;
  const Computation& computation_;
  Types types_;
  Type type_;  // that products are summed in
  int64_t machine_lanes_;
  int64_t streamed_;  // bytes of a matrix that is read faster row by row
  BufferId lhs_, rhs_, to_;
  const View* views_[2];  // of lhs_ and of rhs_
  Offsets start_;
};

}  // namespace heddle::cpu
