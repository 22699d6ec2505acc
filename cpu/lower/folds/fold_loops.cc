#include "heddle/cpu/lower/folds/fold_loops.h"

#include <algorithm>
#include <utility>

namespace heddle::cpu {
namespace {

// About `size` turns, and a part of all of them where such a number is: the rest, if there is one,
// is code of its own.
int64_t block_of(int64_t turns, int64_t size) {
  for (int64_t block = 2 * size; 2 * block >= size && block > 0; --block)
    if (turns % block == 0) return block;
  return size;
}

std::vector<NodeId> zeros_like(PlanBuilder& builder, std::span<const NodeId> values) {
  std::vector<NodeId> zeros;
  for (const NodeId value : values)
    zeros.push_back(builder.bits(builder.type(value), identity_bits(Op::kAdd, Scalar::kF32)));
  return zeros;
}

bool are_f32(const PlanBuilder& builder, std::span<const NodeId> values) {
  return !values.empty() && std::ranges::all_of(values, [&](NodeId value) {
    return builder.type(value).scalar == Scalar::kF32;
  });
}

constexpr int64_t kFewestSummed = 256;  // of a sum that is of blocks

}  // namespace

std::vector<NodeId> fold_loop(PlanBuilder& builder, bool is_sum, int64_t to, int64_t step,
                              std::vector<NodeId> carried, const FoldBody& body,
                              int64_t turns_of_body) {
  constexpr int64_t kBlock = 32, kFewestBlocks = 4, kFewestOfBlocks = 64;
  const auto loop_over = [&](NodeId from, int64_t size, std::vector<NodeId> values) {
    auto loop = builder.begin_for(builder.index(0), builder.index(size), step, values);
    values.assign(loop.parameters.begin() + 1, loop.parameters.end());
    return builder.end_for(body(builder.add(from, loop.parameters[0]), std::move(values)));
  };
  is_sum = is_sum && are_f32(builder, carried);
  const int64_t turns = (to + step - 1) / step;
  const int64_t block = block_of(turns, std::max<int64_t>(kBlock / turns_of_body, 1));
  const int64_t blocks = turns / block;
  const int64_t fewest = turns_of_body > 1 ? kFewestOfBlocks : kFewestSummed;
  if (!is_sum || blocks < kFewestBlocks || turns * turns_of_body < fewest)
    return loop_over(builder.index(0), to, carried);
  const std::vector<NodeId> none = zeros_like(builder, carried);
  constexpr int64_t kTurnsOfBlocks = 2;  // of which 16 are a block again
  carried = fold_loop(
      builder, is_sum, blocks, 1, std::move(carried),
      [&](NodeId number, std::vector<NodeId> all) {
        const NodeId from = builder.mul(number, block * step);
        const std::vector<NodeId> sums = loop_over(from, block * step, none);
        for (size_t i = 0; i < all.size(); ++i) all[i] = builder.add(all[i], sums[i]);
        return all;
      },
      kTurnsOfBlocks);
  const int64_t done = blocks * block * step;
  return done < to ? loop_over(builder.index(done), to - done, carried) : carried;
}

std::vector<NodeId> fold_nest(PlanBuilder& builder, bool is_sum, std::span<const int64_t> sizes,
                              std::vector<NodeId>& at, std::vector<NodeId> carried,
                              int64_t turns_of_body, const NestBody& body) {
  if (sizes.empty()) return body(carried);
  if (product_of(sizes) == 0) return carried;
  const std::span<const int64_t> inner = sizes.subspan(1);
  const bool is_longest = sizes[0] == *std::ranges::max_element(sizes);  // one of them is cut
  // The turns of the inner loops are a block where they are many.
  constexpr int64_t kFewestInner = 16;
  const int64_t inner_turns = product_of(inner) * turns_of_body;
  const bool is_of_blocks = is_sum && !is_longest && are_f32(builder, carried) &&
                            inner_turns >= kFewestInner && sizes[0] > 1 &&
                            sizes[0] * inner_turns >= kFewestSummed;
  return fold_loop(
      builder, is_sum && is_longest, sizes[0], 1, std::move(carried),
      [&](NodeId index, std::vector<NodeId> values) {
        at.push_back(index);
        std::vector<NodeId> sums =
            fold_nest(builder, is_sum && !is_longest, inner, at,
                      is_of_blocks ? zeros_like(builder, values) : values, turns_of_body, body);
        at.pop_back();
        for (size_t i = 0; is_of_blocks && i < sums.size(); ++i)
          sums[i] = builder.add(values[i], sums[i]);
        return sums;
      },
      inner_turns);
}

}  // namespace heddle::cpu
