#include "heddle/cpu/lower/random_bits.h"

#include <algorithm>
#include <array>

#include "heddle/cpu/lower/scalar_ops.h"
#include "heddle/hlo/attributes.h"
#include "heddle/transform/emitter.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;
using transform::Emitter;

using Words = std::vector<InstructionId>;

constexpr int64_t kMostElements = int64_t{1} << 31;  // the numbers of blocks are 32-bit words
constexpr int64_t kLongRow = 64;

const Shape& bits_of(const Instruction& instruction) {
  return instruction.shape.is_tuple() ? instruction.shape.element(1) : instruction.shape;
}

bool is_threefry(const Instruction& instruction) {
  return instruction.attrs.get<hlo::RngBitGeneratorAttrs>().algorithm ==
         hlo::RandomAlgorithm::kThreeFry;
}

bool is_expanded(const hlo::Computation& computation, const Instruction& instruction) {
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
  BitsWriter(hlo::ComputationBuilder& to, const Instruction& instruction, InstructionId state)
      : emit_(to, instruction),
        state_(state),
        bits_(bits_of(instruction)),
        is_wide_(storage_bytes(bits_.dtype()) == 8) {}

  InstructionId threefry_bits() {
    if (is_wide_) {
      block_shape_ = {bits_.element_count()};
      const auto [low, high] = threefry();
      return reshaped(typed(joined(low, high)), bits_.dimensions());
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
    const InstructionId pairs = stacked({words.begin(), words.end()}, {outer, half, 1, inner}, 2);
    const InstructionId rows = reshaped(pairs, {outer, 2 * half, inner});
    return reshaped(emit_.slice(rows, 1, 0, size), sizes);
  }

  InstructionId philox_bits() {
    const int64_t count = bits_.element_count(), in_block = is_wide_ ? 2 : 4;
    const int64_t blocks = (count + in_block - 1) / in_block;
    block_shape_ = {blocks};
    const std::array<InstructionId, 4> words = philox();
    const Words elements = is_wide_ ? Words{joined(words[0], words[1]), joined(words[2], words[3])}
                                    : Words{words.begin(), words.end()};
    const InstructionId all = stacked(elements, {blocks, 1}, 1);
    return reshaped(emit_.slice(reshaped(all, {blocks * in_block}), 0, 0, count),
                    bits_.dimensions());
  }

  // After the bits: the counter stands behind the last block.
  InstructionId next_state() {
    int64_t blocks = 1;
    for (int64_t size : block_shape_) blocks *= size;
    const InstructionId by = emit_.scalar(u64, blocks), low = binary(Opcode::kAdd, state(1), by);
    Words words = {state(0), low};
    if (emit_.shape(state_).dimension(0) == 3)
      words.push_back(binary(Opcode::kAdd, state(2), carry(low, by)));
    for (InstructionId& word : words) word = reshaped(word, {1});
    return emit_.concatenate(words, 0);
  }

 private:
  InstructionId binary(Opcode opcode, InstructionId x, InstructionId y) {
    return emit_.op(opcode, emit_.shape(x), {x, y});
  }
  InstructionId convert(InstructionId x, DType dtype) {
    if (emit_.shape(x).dtype() == dtype) return x;
    return emit_.op(Opcode::kConvert, emit_.shape(x).with_dtype(dtype), {x});
  }
  InstructionId reshaped(InstructionId x, std::vector<int64_t> sizes) {
    if (emit_.shape(x).dimensions() == sizes) return x;
    return emit_.op(Opcode::kReshape, Shape(emit_.shape(x).dtype(), std::move(sizes)), {x},
                    hlo::ReshapeAttrs());
  }
  // A scalar for every block.
  InstructionId each(InstructionId scalar) {
    return emit_.op(Opcode::kBroadcast, Shape(emit_.shape(scalar).dtype(), block_shape_), {scalar},
                    hlo::DimensionsAttrs());
  }
  InstructionId each(DType dtype, uint64_t number) {
    return each(emit_.scalar(dtype, static_cast<int64_t>(number)));
  }
  // 1 where the sum passed the end of its type.
  InstructionId carry(InstructionId sum, InstructionId summand) {
    const Shape& shape = emit_.shape(sum);
    const InstructionId passed =
        emit_.op(Opcode::kCompare, shape.with_dtype(pred), {sum, summand},
                 hlo::CompareAttrs{.direction = hlo::ComparisonDirection::kLt});
    return convert(passed, emit_.shape(sum).dtype());
  }

  InstructionId state(int64_t number) { return reshaped(emit_.slice(state_, 0, number, 1), {}); }
  // The low and the high word of a number of 64 bits.
  std::array<InstructionId, 2> halves(InstructionId number) {
    const InstructionId high = binary(Opcode::kShiftRightLogical, number, emit_.scalar(u64, 32));
    return {convert(number, u32), convert(high, u32)};
  }
  InstructionId joined(InstructionId low, InstructionId high) {
    const InstructionId shifted = binary(Opcode::kShiftLeft, convert(high, u64), each(u64, 32));
    return binary(Opcode::kOr, convert(low, u64), shifted);
  }

  // The blocks' numbers, in the order of their elements.
  InstructionId numbers() {
    InstructionId sum;
    int64_t stride = 1;
    for (size_t d = block_shape_.size(); d-- > 0; stride *= block_shape_[d]) {
      InstructionId along = emit_.op(Opcode::kIota, Shape(u32, block_shape_), {},
                                     hlo::IotaAttrs{.iota_dimension = static_cast<int64_t>(d)});
      if (stride > 1)
        along = binary(Opcode::kMultiply, along, each(u32, static_cast<uint64_t>(stride)));
      sum = sum.valid() ? binary(Opcode::kAdd, sum, along) : along;
    }
    return sum;
  }

  // The counter of each block: its words, the low one first, from those of the first block.
  Words counters(const Words& first) {
    Words words;
    InstructionId add = numbers();
    for (InstructionId word : first) {
      words.push_back(binary(Opcode::kAdd, each(word), add));
      add = carry(words.back(), add);
    }
    return words;
  }

  std::array<InstructionId, 2> threefry() {
    constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const auto [first, second] = halves(state(0));
    const InstructionId third =
        binary(Opcode::kXor, binary(Opcode::kXor, first, second), emit_.scalar(u32, 0x1BD11BDA));
    const std::array<InstructionId, 3> keys = {first, second, third};
    const auto start = halves(state(1));
    const Words counter = counters({start.begin(), start.end()});
    InstructionId x = binary(Opcode::kAdd, counter[0], each(keys[0]));
    InstructionId y = binary(Opcode::kAdd, counter[1], each(keys[1]));
    for (size_t group = 0; group < 5; ++group) {
      for (int rotation : kRotations[group % 2]) {
        x = binary(Opcode::kAdd, x, y);
        y = binary(Opcode::kXor, rotated(y, static_cast<uint64_t>(rotation)), x);
      }
      const InstructionId number = emit_.scalar(u32, static_cast<int64_t>(group) + 1);
      x = binary(Opcode::kAdd, x, each(keys[(group + 1) % 3]));
      y = binary(Opcode::kAdd, y, each(binary(Opcode::kAdd, keys[(group + 2) % 3], number)));
    }
    return {x, y};
  }
  InstructionId rotated(InstructionId x, uint64_t by) {
    return binary(Opcode::kOr, binary(Opcode::kShiftLeft, x, each(u32, by)),
                  binary(Opcode::kShiftRightLogical, x, each(u32, 32 - by)));
  }

  // The counter's high word is the key where the state has none.
  std::array<InstructionId, 4> philox() {
    const bool has_high = emit_.shape(state_).dimension(0) == 3;
    const auto low = halves(state(1)), high = halves(state(has_high ? 2 : 0));
    const Words counter = counters({low[0], low[1], high[0], high[1]});
    std::array<InstructionId, 4> c = {counter[0], counter[1], counter[2], counter[3]};
    std::array<InstructionId, 2> key = halves(state(0));
    const InstructionId m0 = each(u32, 0xD2511F53), m1 = each(u32, 0xCD9E8D57);
    const auto mixed = [&](InstructionId x, InstructionId y, InstructionId k) {
      return binary(Opcode::kXor, binary(Opcode::kXor, x, y), each(k));
    };
    for (int round = 0; round < 10; ++round) {
      c = {mixed(binary(Opcode::kMulhi, c[2], m1), c[1], key[0]),
           binary(Opcode::kMultiply, c[2], m1),
           mixed(binary(Opcode::kMulhi, c[0], m0), c[3], key[1]),
           binary(Opcode::kMultiply, c[0], m0)};
      key = {binary(Opcode::kAdd, key[0], emit_.scalar(u32, 0x9E3779B9)),
             binary(Opcode::kAdd, key[1], emit_.scalar(u32, 0xBB67AE85))};
    }
    return c;
  }

  // A word as an element: its low bits.
  InstructionId typed(InstructionId word) {
    const DType dtype = bits_.dtype();
    if (is_integer(dtype)) return convert(word, dtype);
    const int64_t bytes = storage_bytes(dtype);
    const InstructionId kept = convert(word, bytes == 8 ? u64 : bytes == 4 ? u32 : u16);
    return emit_.op(Opcode::kBitcastConvert, emit_.shape(kept).with_dtype(dtype), {kept});
  }

  // The words of each block side by side along a dimension of size 1.
  InstructionId stacked(const Words& words, const std::vector<int64_t>& sizes, int64_t dimension) {
    Words parts;
    for (InstructionId word : words) parts.push_back(reshaped(typed(word), sizes));
    return emit_.concatenate(parts, dimension);
  }

  Emitter emit_;
  InstructionId state_;
  const Shape& bits_;
  const bool is_wide_;  // an element is two words
  std::vector<int64_t> block_shape_;
};

InstructionId expanded(transform::Rebuilder& to, InstructionId id) {
  const Instruction& old = to.old(id);
  BitsWriter write(to.builder(), old, to[old.operands[0]]);
  const InstructionId bits = is_threefry(old) ? write.threefry_bits() : write.philox_bits();
  if (!old.shape.is_tuple()) return bits;
  return Emitter(to.builder(), old).tuple({write.next_state(), bits});
}

}  // namespace

StatusOr<hlo::Module> expand_random_bits(const hlo::Module& module) {
  return transform::with_rewritten(
      module, [](auto&, transform::Rebuilder& to, auto, InstructionId id) {
        return is_expanded(to.from(), to.old(id)) ? to.in_place_of(id).wrap(expanded(to, id))
                                                  : hlo::Value();
      });
}

}  // namespace heddle::cpu
