#include "heddle/cpu/lower/products/narrow_products.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "heddle/cpu/lower/arrays/loops.h"
#include "heddle/cpu/lower/elements/small_floats.h"

namespace heddle::cpu {
namespace {

// Elements of a row, and vectors that are multiplied for as many rows as lanes.
struct NarrowLimits {
  int64_t row = 16, products = 64;
};
// Where no product has rows enough of its own: the shuffles take long to compile.
constexpr NarrowLimits kWideLimits = {.row = 24, .products = 80};
// Elements of 4 bytes in a row, where each place of a batch has a vector to multiply its rows by.
constexpr int64_t kRowByVector = 12;
constexpr int64_t kFewestOfEach = 4;  // rows of a product for each place of a batch

// What one array has for each of the rows.
struct Row {
  int64_t elements = 1;  // that a product reads or writes, in one block
  int64_t last = 0;      // offset of the last of them from the first
  int64_t width = 0;     // from row to row; 0: all rows read the same elements
  int64_t blocks = 1;    // of all rows, one behind the other
};

// Its places have all rows between them.
bool is_of_blocks(const Axis& axis, int64_t Axis::*step, const Axis& rows) {
  return rows.*step > 0 && axis.*step >= rows.*step * rows.size;
}

Row row_of(int64_t Axis::*step, const Axis& rows, const std::vector<Axis>& others) {
  Row row{.width = rows.*step};
  for (const Axis& axis : others) {
    if (axis.*step == 0) continue;
    if (is_of_blocks(axis, step, rows)) {
      row.blocks *= axis.size;
      continue;
    }
    row.elements *= axis.size;
    row.last += (axis.size - 1) * (axis.*step);
  }
  return row;
}

// Where the blocks begin, ascending.
std::vector<int64_t> blocks_of(int64_t Axis::*step, const Axis& rows,
                               const std::vector<Axis>& others) {
  std::vector<int64_t> begins = {0};
  for (const Axis& axis : others) {
    if (!is_of_blocks(axis, step, rows)) continue;
    const std::vector<int64_t> before = std::exchange(begins, {});
    for (const int64_t begin : before)
      for (int64_t i = 0; i < axis.size; ++i) begins.push_back(begin + i * (axis.*step));
  }
  std::ranges::sort(begins);
  return begins;
}

// A product in whose rows lanes lie: for each place of `loops`, all `others` of some rows at once.
struct NarrowShape {
  std::vector<Axis> loops;
  Axis rows;
  std::vector<Axis> others;
  std::vector<Axis> all;  // others and contracted ones
};

// All that is between the rows' elements can be loaded too.
bool may_load(const PlanBuilder& builder, const View& view, int64_t Axis::*step,
              const NarrowShape& shape, int64_t most) {
  const Row row = row_of(step, shape.rows, shape.all);
  if (row.width <= 1) return true;  // an element for all rows, or one behind the other
  if (row.last + 1 == row.width) return row.width * row.blocks <= most;
  int64_t end = shape.rows.size * row.width;  // behind the last row of the last place
  for (const Axis& loop : shape.loops) end += (loop.size - 1) * (loop.*step);
  const int64_t bytes = builder.plan().buffers[view.buffer.value].bytes;
  return row.blocks == 1 && row.last < row.width && row.width <= most &&
         builder.is_constant(view.offset) &&
         (builder.bits_of(view.offset) + end) * storage_bytes(view.dtype) <= bytes;
}

NarrowShape with_rows(std::vector<Axis> loops, std::vector<Axis> inner,
                      const std::vector<Axis>& contracted) {
  NarrowShape shape{.loops = std::move(loops)};
  const auto longest = std::ranges::max_element(
      inner, {}, [](const Axis& axis) { return std::pair(axis.size, axis.to == 1); });
  shape.rows = *longest;
  inner.erase(longest);
  shape.others = std::move(inner);
  shape.all = shape.others;
  shape.all.insert(shape.all.end(), contracted.begin(), contracted.end());
  return shape;
}

NarrowShape of_all_rows(const std::vector<Axis>& outer, const std::vector<Axis>& contracted) {
  return with_rows({}, outer, contracted);
}

// Each place of the dimensions that both operands have is a product of its own.
NarrowShape of_each_batch(const std::vector<Axis>& outer, const std::vector<Axis>& contracted) {
  std::vector<Axis> loops, inner;
  for (const Axis& axis : outer) (axis.lhs != 0 && axis.rhs != 0 ? loops : inner).push_back(axis);
  if (loops.empty() || inner.empty()) return {};
  return with_rows(std::move(loops), std::move(inner), contracted);
}

bool is_narrow(const PlanBuilder& builder, const View& lhs, const View& rhs,
               const NarrowShape& shape, int64_t lanes, const NarrowLimits& limits = {}) {
  const Axis& rows = shape.rows;
  // Vectors along what lies side by side need no shuffles: along the rows, along whole vectors of
  // columns, or along some in each of a batch.
  const auto is_beside = [](const Axis& axis) { return axis.to == 1 && axis.lhs + axis.rhs == 1; };
  const auto has_lanes = [&](const Axis& axis) {
    return is_beside(axis) &&
           (shape.loops.empty() ? axis.size % lanes == 0 : axis.size >= kFewestLanesInLoops);
  };
  if (shape.loops.empty() ? is_beside(rows) : has_lanes(rows)) return false;
  if (std::ranges::any_of(shape.others, has_lanes)) return false;
  if (rows.size < kFewestOfEach || total(shape.all) > limits.products) return false;
  const Row to_row = row_of(&Axis::to, rows, shape.others);
  const bool fills_rows = to_row.elements == to_row.width && to_row.last + 1 == to_row.width;
  return (rows.to == 1 || fills_rows) && may_load(builder, lhs, &Axis::lhs, shape, limits.row) &&
         may_load(builder, rhs, &Axis::rhs, shape, limits.row);
}

class NarrowProductWriter {
 public:
  NarrowProductWriter(PlanBuilder& builder, Scalar scalar, const View& lhs, const View& rhs,
                      const WidenOperand& widened, BufferId to, NodeId to_start,
                      std::vector<Axis> others, std::vector<Axis> contracted)
      : b_(builder),
        scalar_(scalar),
        lhs_(lhs),
        rhs_(rhs),
        widened_(widened),
        to_(to),
        to_start_(to_start),
        others_(std::move(others)),
        contracted_(std::move(contracted)) {}

  // `lanes` rows from `first` on.
  void write(const Axis& rows, NodeId first, int32_t lanes) {
    const auto x = elements_of(lhs_, &Axis::lhs, rows, first, lanes);
    const auto y = elements_of(rhs_, &Axis::rhs, rows, first, lanes);
    const int64_t places = total(others_), depth = total(contracted_);
    const std::vector<int64_t> blocks = blocks_of(&Axis::to, rows, others_);
    std::map<int64_t, std::vector<NodeId>> sums;  // of each block, an element of a row each
    for (int64_t place = 0; place < places; ++place) {
      const Axis at = offset_of(others_, place);
      NodeId sum = b_.bits({scalar_, lanes}, 0);
      for (int64_t k = 0; k < depth; ++k) {
        const Axis along = offset_of(contracted_, k);
        const NodeId a = x(at.lhs + along.lhs), b = y(at.rhs + along.rhs);
        sum = is_float(scalar_) ? b_.fma(a, b, sum) : b_.add(sum, b_.mul(a, b));
      }
      if (rows.to == 1 || lanes == 1) {
        b_.store(to_, b_.add(to_start_, b_.add(b_.mul(first, rows.to), at.to)), sum);
      } else {
        const int64_t block = block_with(blocks, at.to);
        auto& row = sums.try_emplace(block, static_cast<size_t>(rows.to)).first->second;
        row[static_cast<size_t>(at.to - block)] = sum;
      }
    }
    for (const auto& [block, row] : sums)
      store_in_turn(b_, to_, b_.add(to_start_, b_.add(b_.mul(first, rows.to), block)), row);
  }

 private:
  // What gives the element at an offset of a row, in each lane.
  std::function<NodeId(int64_t)> elements_of(const View& view, int64_t Axis::*step,
                                             const Axis& rows, NodeId first, int32_t lanes) {
    const int64_t width = rows.*step;
    const Scalar stored = *scalar_of(view.dtype);
    if (width == 0) {
      return [=, this](int64_t offset) {
        const NodeId one = b_.load(view.buffer, {stored, 1}, b_.add(view.offset, offset));
        return b_.splat(widened_(view, one), lanes);
      };
    }
    const NodeId begin = b_.add(view.offset, b_.mul(first, width));
    if (width == 1) {
      return [=, this](int64_t offset) {
        return widened_(view, b_.load(view.buffer, {stored, lanes}, b_.add(begin, offset)));
      };
    }
    std::vector<Axis> all = others_;
    all.insert(all.end(), contracted_.begin(), contracted_.end());
    const std::vector<int64_t> blocks = blocks_of(step, rows, all);
    std::map<int64_t, std::vector<NodeId>> columns;  // of each block, an element of all rows each
    for (const int64_t block : blocks) {
      std::vector<NodeId> vectors;
      for (int64_t i = 0; i < width; ++i)
        vectors.push_back(widened_(
            view, b_.load(view.buffer, {stored, lanes}, b_.add(begin, block + i * lanes))));
      columns[block] = lanes > 1 ? b_.columns_of(vectors) : vectors;
    }
    return [=](int64_t offset) {
      const int64_t block = block_with(blocks, offset);
      return columns.at(block)[static_cast<size_t>(offset - block)];
    };
  }

  // Where the block of an element begins.
  static int64_t block_with(const std::vector<int64_t>& blocks, int64_t offset) {
    return *std::prev(std::ranges::upper_bound(blocks, offset));
  }

  // The steps from the beginning to a place, by number, the first axis outermost.
  static Axis offset_of(const std::vector<Axis>& axes, int64_t place) {
    Axis at;
    for (size_t d = axes.size(); d-- > 0; place /= axes[d].size) {
      const int64_t i = place % axes[d].size;
      at.lhs += i * axes[d].lhs;
      at.rhs += i * axes[d].rhs;
      at.to += i * axes[d].to;
    }
    return at;
  }

  PlanBuilder& b_;
  Scalar scalar_;
  const View &lhs_, &rhs_;
  const WidenOperand& widened_;
  BufferId to_;
  NodeId to_start_;
  std::vector<Axis> others_, contracted_;
};

}  // namespace

bool write_narrow_product(PlanBuilder& builder, DType dtype, const View& lhs, const View& rhs,
                          const WidenOperand& widened, BufferId to, const std::vector<Axis>& outer,
                          const std::vector<Axis>& contracted) {
  const auto scalar = scalar_of(dtype);
  if (outer.empty() || !scalar || is_small_float(dtype) || bytes_of(*scalar) < 4) return false;
  const int64_t lanes = builder.plan().vector_bytes / bytes_of(*scalar);
  const NarrowShape all = of_all_rows(outer, contracted), each = of_each_batch(outer, contracted);
  const auto takes_all = [&](const NarrowLimits& limits) {
    return all.rows.size >= 2 * lanes && is_narrow(builder, lhs, rhs, all, lanes, limits);
  };
  // By one vector each, short rows alone.
  const int64_t vector_row = bytes_of(*scalar) == 4 ? kRowByVector : kRowByVector / 2;
  const NarrowLimits each_limits =
      each.others.empty() ? NarrowLimits{.row = vector_row} : NarrowLimits{};
  const bool is_all = takes_all({});
  const bool is_each = !is_all && is_narrow(builder, lhs, rhs, each, lanes, each_limits);
  const bool may_be_wide = !all.others.empty() && bytes_of(*scalar) == 4;
  if (!is_all && !is_each && !(may_be_wide && takes_all(kWideLimits))) return false;
  const NarrowShape& shape = is_each ? each : all;
  std::vector<int64_t> sizes;
  for (const Axis& axis : shape.loops) sizes.push_back(axis.size);
  std::vector<NodeId> at;
  for_each_nest(builder, sizes, at, [&] {
    View left = lhs, right = rhs;
    NodeId start = builder.index(0);
    for (size_t i = 0; i < at.size(); ++i) {
      left.offset = builder.add(left.offset, builder.mul(at[i], shape.loops[i].lhs));
      right.offset = builder.add(right.offset, builder.mul(at[i], shape.loops[i].rhs));
      start = builder.add(start, builder.mul(at[i], shape.loops[i].to));
    }
    NarrowProductWriter writer(builder, *scalar, left, right, widened, to, start, shape.others,
                               contracted);
    const Axis& rows = shape.rows;
    const int64_t together = rows.size / lanes * lanes;
    if (together > 0) {
      auto loop = builder.begin_for_each(builder.index(0), builder.index(together), lanes);
      writer.write(rows, loop.parameters[0], static_cast<int32_t>(lanes));
      builder.end_for({});
    }
    if (together < rows.size)
      writer.write(rows, builder.index(together), static_cast<int32_t>(rows.size - together));
  });
  return true;
}

}  // namespace heddle::cpu
