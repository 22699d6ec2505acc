#include "heddle/cpu/rewrites/numbers/random_bits.h"

#include <algorithm>
#include <array>

#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/hlo/attributes.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 31;  // the numbers of blocks are 32-bit words
constexpr int64_t kLongRow = 64;

const Shape& bits_of(const Instruction& instruction) {
  return instruction.shape.is_tuple() ? instruction.shape.element(1) : instruction.shape;
}

bool is_threefry(const Instruction& instruction) {
  return instruction.attrs.get<hlo::RngBitGeneratorAttrs>().algorithm ==
         hlo::RandomAlgorithm::kThreeFry;
}

bool is_expanded(const Computation& computation, const Instruction& instruction) {
  if (instruction.opcode != Opcode::kRngBitGenerator) return false;
  const Shape& state = computation.at(instruction.operands[0]).shape;
  const Shape& bits = bits_of(instruction);
  const bool has_words =
      state.dtype() == u64 && state.rank() == 1 &&
      (state.dimension(0) == 2 || (state.dimension(0) == 3 && !is_threefry(instruction)));
  return has_words && bits.is_array() && !bits.is_dynamic() && bits.dtype() != pred &&
         scalar_of(bits.dtype()) && bits.element_count() > 0 &&
         bits.element_count() <= kMostElements;
}

// Writes one generator. A block is one turn of it; each of its words is an array with an element a
// block.
class BitsWriter {
 public:
  BitsWriter(const Instruction& instruction, const hlo::Value& state)
      : graph_(state.graph()),
        state_(state),
        bits_(bits_of(instruction)),
        is_wide_(storage_bytes(bits_.dtype()) == 8) {}

  hlo::Value threefry_bits() {
    if (is_wide_) {
      block_shape_ = {bits_.element_count()};
      const auto [low, high] = threefry();
      return reshape(typed(joined(low, high)), bits_.dimensions());
    }
    // The first even dimension, or the first of the largest, is cut into pairs.
    const std::vector<int64_t>& sizes = bits_.dimensions();
    auto cut = std::ranges::find_if(sizes, [](int64_t size) { return size % 2 == 0; });
    if (cut == sizes.end()) cut = std::ranges::max_element(sizes);
    int64_t outer = 1, inner = 1;
    for (auto d = sizes.begin(); d != sizes.end(); ++d) (d < cut ? outer : inner) *= *d;
    const int64_t size = cut == sizes.end() ? 1 : *cut, half = (size + 1) / 2;
    inner /= size;
    block_shape_ = {outer * half * inner};
    if (inner >= kLongRow) block_shape_ = {outer, half, inner};
    const auto words = threefry();
    const hlo::Value pairs = stacked({words.begin(), words.end()}, {outer, half, 1, inner}, 2);
    const hlo::Value rows = reshape(pairs, {outer, 2 * half, inner});
    return reshape(slice(rows, 1, 0, size), sizes);
  }

  hlo::Value philox_bits() {
    const int64_t count = bits_.element_count(), in_block = is_wide_ ? 2 : 4;
    const int64_t blocks = (count + in_block - 1) / in_block;
    block_shape_ = {blocks};
    const std::array<hlo::Value, 4> words = philox();
    const hlo::Values elements =
        is_wide_ ? hlo::Values{joined(words[0], words[1]), joined(words[2], words[3])}
                 : hlo::Values{words.begin(), words.end()};
    const hlo::Value all = reshape(stacked(elements, {blocks, 1}, 1), {blocks * in_block});
    return reshape(slice(all, 0, 0, count), bits_.dimensions());
  }

  // After the bits: the counter stands behind the last block.
  hlo::Value next_state() {
    int64_t blocks = 1;
    for (int64_t size : block_shape_) blocks *= size;
    const hlo::Value by = graph_.number(u64, static_cast<double>(blocks)), low = state(1) + by;
    hlo::Values words = {state(0), low};
    if (state_.size(0) == 3) words.push_back(state(2) + carry(low, by));
    for (hlo::Value& word : words) word = reshape(word, {1});
    return hlo::concatenate(words, 0);
  }

 private:
  // 1 where the sum passed the end of its type.
  static hlo::Value carry(const hlo::Value& sum, const hlo::Value& summand) {
    return convert(sum < summand, sum.dtype());
  }

  [[nodiscard]] hlo::Value state(int64_t number) const {
    return reshape(slice(state_, 0, number, 1), {});
  }
  // The low and the high word of a number of 64 bits.
  static std::array<hlo::Value, 2> halves(const hlo::Value& number) {
    return {convert(number, u32), convert(number >> 32, u32)};
  }
  static hlo::Value joined(const hlo::Value& low, const hlo::Value& high) {
    return convert(low, u64) | (convert(high, u64) << 32);
  }

  // The blocks' numbers, in the order of their elements.
  hlo::Value numbers() {
    hlo::Value sum;
    int64_t stride = 1;
    for (size_t d = block_shape_.size(); d-- > 0; stride *= block_shape_[d]) {
      hlo::Value along = graph_.iota(block_shape_, static_cast<int64_t>(d), u32);
      if (stride > 1) along = along * static_cast<double>(stride);
      sum = sum ? sum + along : along;
    }
    return sum;
  }

  // The counter of each block: its words, the low one first, from those of the first block.
  hlo::Values counters(const hlo::Values& first) {
    hlo::Values words;
    hlo::Value add = numbers();
    for (const hlo::Value& word : first) {
      words.push_back(word + add);
      add = carry(words.back(), add);
    }
    return words;
  }

  std::array<hlo::Value, 2> threefry() {
    constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const auto [first, second] = halves(state(0));
    const std::array<hlo::Value, 3> keys = {first, second,
                                            first ^ second ^ graph_.number(u32, 0x1BD11BDA)};
    const auto start = halves(state(1));
    const hlo::Values counter = counters({start.begin(), start.end()});
    hlo::Value x = counter[0] + keys[0], y = counter[1] + keys[1];
    for (size_t group = 0; group < 5; ++group) {
      for (int rotation : kRotations[group % 2]) {
        x = x + y;
        y = rotated(y, rotation) ^ x;
      }
      x = x + keys[(group + 1) % 3];
      y = y + (keys[(group + 2) % 3] + static_cast<double>(group + 1));
    }
    return {x, y};
  }
  static hlo::Value rotated(const hlo::Value& x, int by) { return (x << by) | (x >> (32 - by)); }

  // The counter's high word is the key where the state has none.
  std::array<hlo::Value, 4> philox() {
    const bool has_high = state_.size(0) == 3;
    const auto low = halves(state(1)), high = halves(state(has_high ? 2 : 0));
    const hlo::Values counter = counters({low[0], low[1], high[0], high[1]});
    std::array<hlo::Value, 4> c = {counter[0], counter[1], counter[2], counter[3]};
    std::array<hlo::Value, 2> key = halves(state(0));
    const hlo::Value m0 = graph_.number(u32, 0xD2511F53), m1 = graph_.number(u32, 0xCD9E8D57);
    const auto high_word = [](const hlo::Value& x, const hlo::Value& y) {
      return binary(Opcode::kMulhi, x, y);
    };
    for (int round = 0; round < 10; ++round) {
      c = {high_word(c[2], m1) ^ c[1] ^ key[0], c[2] * m1, high_word(c[0], m0) ^ c[3] ^ key[1],
           c[0] * m0};
      key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
    }
    return c;
  }

  // A word as an element: its low bits.
  [[nodiscard]] hlo::Value typed(const hlo::Value& word) const {
    const DType dtype = bits_.dtype();
    if (is_integer(dtype)) return convert(word, dtype);
    const int64_t bytes = storage_bytes(dtype);
    return bitcast_convert(convert(word, bytes == 8 ? u64 : bytes == 4 ? u32 : u16), dtype);
  }

  // The words of each block side by side along a dimension of size 1.
  [[nodiscard]] hlo::Value stacked(const hlo::Values& words, const std::vector<int64_t>& sizes,
                                   int64_t dimension) const {
    hlo::Values parts;
    for (const hlo::Value& word : words) parts.push_back(reshape(typed(word), sizes));
    return hlo::concatenate(parts, dimension);
  }

  hlo::Graph& graph_;
  const hlo::Value state_;
  const Shape& bits_;
  const bool is_wide_;  // an element is two words
  std::vector<int64_t> block_shape_;
};

hlo::Value expanded(transform::Rebuilder& to, InstructionId id) {
  const Instruction& old = to.old(id);
  hlo::Graph& graph = to.in_place_of(id);
  BitsWriter write(old, to.value(old.operands[0]));
  const hlo::Value bits = is_threefry(old) ? write.threefry_bits() : write.philox_bits();
  return old.shape.is_tuple() ? graph.tuple({write.next_state(), bits}) : bits;
}

}  // namespace

StatusOr<hlo::Module> expand_random_bits(const hlo::Module& module) {
  return transform::with_rewritten(module, [](transform::Rebuilder& to, InstructionId id) {
    return is_expanded(to.from(), to.old(id)) ? expanded(to, id) : hlo::Value();
  });
}

}  // namespace heddle::cpu
