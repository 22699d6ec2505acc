// Transposes of many small blocks, as [n, 8, 3] to [n, 3, 8]: a block has the same elements before
// and after, so that a few blocks are loaded as they lie, and shuffles of these vectors are the
// result.
#include <algorithm>
#include <optional>
#include <utility>

#include "heddle/cpu/lower/arrays/loops.h"
#include "heddle/cpu/lower/lowering.h"

namespace heddle::cpu {
namespace {

// Vectors that one of the result is shuffled of. AVX-512 takes any lanes of two at a time.
int64_t most_vectors(const Plan& plan) { return plan.vector_bytes >= 64 ? 8 : 4; }

// The last dimensions of a transpose, before which all are in their places.
struct TurnedBlocks {
  int64_t count = 1;
  std::vector<int64_t> sources;  // of a block's elements: their places before
};

// Nothing: blocks of more elements.
std::optional<TurnedBlocks> blocks_of(const Shape& from, std::span<const int64_t> permutation,
                                      int64_t most) {
  size_t first = 0;
  while (first < permutation.size() && permutation[first] == static_cast<int64_t>(first)) ++first;
  std::vector<int64_t> strides(permutation.size());
  int64_t size = 1;
  for (size_t d = permutation.size(); d-- > first;) {
    strides[d] = size;
    size *= from.dimension(static_cast<int64_t>(d));
  }
  if (size == 0 || size > most) return std::nullopt;
  TurnedBlocks blocks{.count = from.element_count() / size, .sources = {0}};
  for (size_t d = first; d < permutation.size(); ++d) {
    const int64_t stride = strides[static_cast<size_t>(permutation[d])];
    std::vector<int64_t> next;
    for (const int64_t source : blocks.sources)
      for (int64_t i = 0; i < from.dimension(permutation[d]); ++i)
        next.push_back(source + i * stride);
    blocks.sources = std::move(next);
  }
  return blocks;
}

// How many blocks fill whole vectors; 1 where one is enough of vectors, the last of which begins
// before the end of the one before it; 0: there is no such number.
int64_t blocks_together(int64_t size, int64_t lanes, int64_t most) {
  for (int64_t count = 1; count * size <= most; ++count)
    if (count * size % lanes == 0) return count;
  return size >= lanes && size <= most ? 1 : 0;
}

// Where vectors of so many lanes begin that cover `count` elements.
std::vector<int64_t> starts_of(int64_t count, int64_t lanes) {
  std::vector<int64_t> starts;
  for (int64_t start = 0; start + lanes <= count; start += lanes) starts.push_back(start);
  if (count % lanes != 0) starts.push_back(count - lanes);
  return starts;
}

}  // namespace

// Returns false where the step is another one.
bool RegionLowering::emit_turned_blocks(InstructionId id, BufferId to) {
  const Instruction& transpose = at(id);
  const Scalar scalar = scalar_type(transpose.shape);
  if (transpose.opcode != Opcode::kTranspose || scalar == Scalar::kPred || bytes_of(scalar) < 4)
    return false;
  const LeafId operand = region_.leaf(transpose.operands[0]);
  if (!values_[operand.value].is_buffer()) return false;
  const BufferId from = values_[operand.value].buffer;
  const int64_t lanes = lanes_for(program_.program.plan, scalar);
  const int64_t most = most_vectors(program_.program.plan) * lanes;  // elements
  const std::optional<TurnedBlocks> blocks =
      blocks_of(shape(operand), dimensions_of(transpose), most);
  if (!blocks) return false;
  const int64_t size = std::ssize(blocks->sources), together = blocks_together(size, lanes, most);
  if (size == 1 || together == 0 || blocks->count < together) return false;
  const auto turn = [&](NodeId base, int64_t count) {
    const int64_t width = std::min(lanes, count);
    const std::vector<int64_t> starts = starts_of(count, width);
    std::vector<NodeId> vectors;
    for (const int64_t start : starts)
      vectors.push_back(
          b().load(from, {scalar, static_cast<int32_t>(width)}, b().add(base, start)));
    for (const int64_t start : starts) {
      std::vector<NodeId> read;
      std::vector<LaneSource> sources;
      for (int64_t i = start; i < start + width; ++i) {
        const int64_t place = i / size * size + blocks->sources[static_cast<size_t>(i % size)];
        const auto number = static_cast<size_t>(std::min(place / width, std::ssize(starts) - 1));
        const auto known = std::ranges::find(read, vectors[number]);
        sources.push_back({static_cast<uint32_t>(known - read.begin()),
                           static_cast<uint32_t>(place - starts[number])});
        if (known == read.end()) read.push_back(vectors[number]);
      }
      b().store(to, b().add(base, start), b().shuffle(read, std::move(sources)));
    }
  };
  const int64_t whole = blocks->count / together * together;
  auto each = b().begin_for_each(b().index(0), b().index(whole), together);
  turn(b().mul(each.parameters[0], b().index(size)), together * size);
  b().end_for({});
  if (whole < blocks->count) turn(b().index(whole * size), (blocks->count - whole) * size);
  return true;
}

}  // namespace heddle::cpu
