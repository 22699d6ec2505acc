#include "heddle/random/internal/threefry.h"

#include <utility>

#include "heddle/trace/axes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/public_call.h"

namespace heddle::random::random_internal {
namespace {

// Rotations of the rounds, and the constant in the third key word (Skein's, in 32 bits).
constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
constexpr uint32_t kParity = 0x1BD11BDA;

Expr rotate_left(const Expr& x, int bits) { return (x << bits) | (x >> (32 - bits)); }

Expr counter(int64_t value) { return constant_like(value, u32); }

Expr positions(int64_t count, DType dtype = u32) { return iota(dtype, {count}, 0); }

Expr part(const Expr& x, int64_t start, int64_t limit, int64_t stride = 1) {
  if (start == 0 && limit == x.dimensions()[0] && stride == 1) return x;
  return slice_in_dim(x.operand(), start, limit, stride);
}

Expr joined(const Expr& x, const Expr& y) { return concat({x.tensor(), y.tensor()}, 0); }

Expr shaped(const Expr& x, const Dimensions& shape) { return reshape(x.operand(), shape); }

// Hashes the counters 0 .. count - 1 in pairs (i, i + half): the layout before partitionable.
// u32[count], the first words and then the second.
Expr hash_in_pairs(const Words& key, int64_t count) {
  int64_t half = (count + 1) / 2;
  Expr first = positions(half);
  Expr second = first + half;
  if (count % 2 != 0) second = where(second == count, 0, second);  // the padding
  Words out = threefry2x32(key, {first, second});
  return part(joined(out.a, out.b), 0, count);
}

// One pair of words for each position, from its number in 64 bits.
Words hash_positions(const Words& key, int64_t count) {
  if (count <= int64_t{1} << 32) return threefry2x32(key, {counter(0), positions(count)});
  Expr all = positions(count, u64);
  return threefry2x32(key, {(all >> 32).astype(u32), all.astype(u32)});
}

DType unsigned_of(int64_t width) {
  return width == 8 ? u8 : width == 16 ? u16 : width == 32 ? u32 : u64;
}

Expr pasted(const Expr& high, const Expr& low) {
  return (high.astype(u64) << 32) | low.astype(u64);
}

Expr bits_by_position(const Words& keys, int64_t width, const Dimensions& shape) {
  Words out = shape.empty() ? threefry2x32(keys, {counter(0), counter(0)})
                            : hash_positions(keys, Shape(u32, shape).element_count());
  Expr bits = width == 64 ? pasted(out.a, out.b) : (out.a ^ out.b).astype(unsigned_of(width));
  return shape.empty() ? bits : shaped(bits, shape);
}

// One number for each key, the first of its stream.
Expr first_bits_in_pairs(const Words& keys, int64_t width) {
  Words out = threefry2x32(keys, {counter(0), counter(width == 64 ? 1 : 0)});
  return width == 64 ? pasted(out.a, out.b) : out.a.astype(unsigned_of(width));
}

// Numbers under 32 bits are parts of words, the low part first.
Expr parts_of_words(const Expr& words, int64_t width, int64_t size) {
  int64_t count = words.dimensions()[0];
  int64_t parts = 32 / width;
  Expr wide = broadcast_in_dim(words.operand(), {count, parts}, {0});
  Expr shift = Expr(iota(u32, {count, parts}, 1)) * width;
  return part(shaped((wide >> shift).astype(unsigned_of(width)), {count * parts}), 0, size);
}

Expr bits_in_pairs(const Words& key, int64_t width, const Dimensions& shape) {
  int64_t size = Shape(u32, shape).element_count();
  int64_t words = (width * size + 31) / 32;
  if (words >= UINT32_MAX) {
    throw Error(trace_internal::unimplemented("random", ": shape ", Shape(u32, shape),
                                              " takes 2^32 words or more, which are only made with "
                                              "Options{.partitionable = true}"),
                {});
  }
  Expr all = hash_in_pairs(key, words);
  if (width == 64) return shaped(pasted(part(all, 0, size), part(all, size, 2 * size)), shape);
  return shaped(width == 32 ? all : parts_of_words(all, width, size), shape);
}

}  // namespace

Words threefry2x32(const Words& key, const Words& counters) {
  const Expr keys[3] = {key.a, key.b, key.a ^ key.b ^ kParity};
  Expr x = counters.a + keys[0];
  Expr y = counters.b + keys[1];
  for (int group = 0; group < 5; ++group) {
    for (int rotation : kRotations[group % 2]) {
      x = x + y;
      y = rotate_left(y, rotation) ^ x;
    }
    x = x + keys[(group + 1) % 3];
    y = y + keys[(group + 2) % 3] + (group + 1);
  }
  return {x, y};
}

Words words_of(const Operand& key) {
  Tensor words = as_tensor(key);
  if (words.shape() != Shape(u32, {2})) {
    trace_internal::refuse("key is ", words.shape(),
                           "; it must be u32[2], of random::key(seed) or a row of "
                           "random::split(key)");
  }
  auto word = [&](int64_t i) { return Expr(squeeze(slice_in_dim(words, i, i + 1))); };
  return {word(0), word(1)};
}

Tensor key_of(const Words& words) { return stack({words.a.tensor(), words.b.tensor()}, -1); }

Words split_many(const Words& key, int64_t count, const Options& options) {
  if (options.partitionable) return hash_positions(key, count);
  Expr all = hash_in_pairs(key, 2 * count);
  return {part(all, 0, 2 * count, 2), part(all, 1, 2 * count, 2)};
}

std::vector<Words> split_each(const Words& keys, int64_t count, const Options& options) {
  std::vector<Words> out;
  if (options.partitionable) {
    for (int64_t i = 0; i < count; ++i) out.push_back(threefry2x32(keys, {counter(0), counter(i)}));
    return out;
  }
  // The words of all pairs in a row, first words first: key i is words 2 i and 2 i + 1.
  std::vector<Expr> first, second;
  for (int64_t i = 0; i < count; ++i) {
    Words pair = threefry2x32(keys, {counter(i), counter(count + i)});
    first.push_back(pair.a);
    second.push_back(pair.b);
  }
  first.insert(first.end(), second.begin(), second.end());
  for (size_t i = 0; i < first.size(); i += 2) out.push_back({first[i], first[i + 1]});
  return out;
}

Expr random_bits(const Words& keys, int64_t width, const Dimensions& shape,
                 const Options& options) {
  if (options.partitionable) return bits_by_position(keys, width, shape);
  return shape.empty() ? first_bits_in_pairs(keys, width) : bits_in_pairs(keys, width, shape);
}

void check_sample_shape(const Dimensions& shape) {
  throw_if_error(base::annotate(check_shape(Shape(f32, shape)),
                                trace_internal::PublicCall::function_or("random"), ": "),
                 {});
}

}  // namespace heddle::random::random_internal
