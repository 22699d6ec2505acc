#include "heddle/random/internal/threefry.h"

#include <utility>

#include "heddle/trace/axes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/shaping.h"

namespace heddle::random::random_internal {
namespace {

// Rotations of the rounds, and the constant that makes the third key word (Skein's, in 32 bits).
constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
constexpr uint32_t kParity = 0x1BD11BDA;

Located rotate_left(const Located& x, int bits) { return (x << bits) | (x >> (32 - bits)); }

Located counter(const Words& key, int64_t value) {
  return key.a.with(constant_like({value, key.a.at()}, u32));
}

Located positions(const Words& key, int64_t count, DType dtype = u32) {
  return key.a.with(iota(dtype, {count}, 0, key.a.at()));
}

Located part(const Located& x, int64_t start, int64_t limit, int64_t stride = 1) {
  if (start == 0 && limit == x.dimensions()[0] && stride == 1) return x;
  return x.with(slice_in_dim(x.operand(), start, limit, stride));
}

Located joined(const Located& x, const Located& y) {
  return x.with(concat({x.tensor(), y.tensor()}, 0, x.at()));
}

Located shaped(const Located& x, const Dimensions& shape) {
  return x.with(reshape(x.operand(), shape));
}

// Hashes the counters 0 .. count - 1 in pairs (i, i + half): the layout before partitionable.
// u32[count], the first words and then the second.
Located hash_in_pairs(const Words& key, int64_t count) {
  int64_t half = (count + 1) / 2;
  Located first = positions(key, half);
  Located second = first + half;
  if (count % 2 != 0) second = where(second == count, 0, second);  // the padding
  Words out = threefry2x32(key, {first, second});
  return part(joined(out.a, out.b), 0, count);
}

// One pair of words a position, of its number in 64 bits.
Words hash_positions(const Words& key, int64_t count) {
  if (count <= int64_t{1} << 32) return threefry2x32(key, {counter(key, 0), positions(key, count)});
  Located all = positions(key, count, u64);
  return threefry2x32(key, {(all >> 32).astype(u32), all.astype(u32)});
}

DType unsigned_of(int64_t width) {
  return width == 8 ? u8 : width == 16 ? u16 : width == 32 ? u32 : u64;
}

Located pasted(const Located& high, const Located& low) {
  return (high.astype(u64) << 32) | low.astype(u64);
}

Located bits_by_position(const Words& keys, int64_t width, const Dimensions& shape) {
  Words out = shape.empty() ? threefry2x32(keys, {counter(keys, 0), counter(keys, 0)})
                            : hash_positions(keys, Shape(u32, shape).element_count());
  Located bits = width == 64 ? pasted(out.a, out.b) : (out.a ^ out.b).astype(unsigned_of(width));
  return shape.empty() ? bits : shaped(bits, shape);
}

// One number a key, which is the first of the stream.
Located first_bits_in_pairs(const Words& keys, int64_t width) {
  Words out = threefry2x32(keys, {counter(keys, 0), counter(keys, width == 64 ? 1 : 0)});
  return width == 64 ? pasted(out.a, out.b) : out.a.astype(unsigned_of(width));
}

// Numbers under 32 bits are the words' parts, the low part first.
Located parts_of_words(const Located& words, int64_t width, int64_t size) {
  int64_t count = words.dimensions()[0];
  int64_t parts = 32 / width;
  Located wide = words.with(broadcast_in_dim(words.operand(), {count, parts}, {0}));
  Located shift = words.with(iota(u32, {count, parts}, 1, words.at())) * width;
  return part(shaped((wide >> shift).astype(unsigned_of(width)), {count * parts}), 0, size);
}

Located bits_in_pairs(const Words& key, int64_t width, const Dimensions& shape) {
  int64_t size = Shape(u32, shape).element_count();
  int64_t words = (width * size + 31) / 32;
  if (words >= UINT32_MAX) {
    throw Error(trace_internal::unimplemented("random", ": shape ", Shape(u32, shape),
                                              " takes 2^32 words or more, which are only made with "
                                              "Options{.partitionable = true}"),
                key.a.at());
  }
  Located all = hash_in_pairs(key, words);
  if (width == 64) return shaped(pasted(part(all, 0, size), part(all, size, 2 * size)), shape);
  return shaped(width == 32 ? all : parts_of_words(all, width, size), shape);
}

}  // namespace

Words threefry2x32(const Words& key, const Words& counters) {
  const Located keys[3] = {key.a, key.b, key.a ^ key.b ^ kParity};
  Located x = counters.a + keys[0];
  Located y = counters.b + keys[1];
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

Words words_of(std::string_view op, const Operand& key) {
  SourceLocation at = key.at();
  Tensor words = as_tensor(key);
  if (words.shape() != Shape(u32, {2})) {
    throw Error(
        trace_internal::invalid_argument(op, ": key is ", words.shape(),
                                         "; it must be u32[2], of random::key(seed) or a row of "
                                         "random::split(key)"),
        at);
  }
  auto word = [&](int64_t i) {
    return Located(squeeze({slice_in_dim({words, at}, i, i + 1), at}), at);
  };
  return {word(0), word(1)};
}

Tensor key_of(const Words& words) {
  return stack({words.a.tensor(), words.b.tensor()}, -1, words.a.at());
}

Words split_many(const Words& key, int64_t count, const Options& options) {
  if (options.partitionable) return hash_positions(key, count);
  Located all = hash_in_pairs(key, 2 * count);
  return {part(all, 0, 2 * count, 2), part(all, 1, 2 * count, 2)};
}

std::vector<Words> split_each(const Words& keys, int64_t count, const Options& options) {
  std::vector<Words> out;
  if (options.partitionable) {
    for (int64_t i = 0; i < count; ++i)
      out.push_back(threefry2x32(keys, {counter(keys, 0), counter(keys, i)}));
    return out;
  }
  // The words of all pairs in a row, first words first: key i is words 2 i and 2 i + 1.
  std::vector<Located> first, second;
  for (int64_t i = 0; i < count; ++i) {
    Words pair = threefry2x32(keys, {counter(keys, i), counter(keys, count + i)});
    first.push_back(pair.a);
    second.push_back(pair.b);
  }
  first.insert(first.end(), second.begin(), second.end());
  for (size_t i = 0; i < first.size(); i += 2) out.push_back({first[i], first[i + 1]});
  return out;
}

Located random_bits(const Words& keys, int64_t width, const Dimensions& shape,
                    const Options& options) {
  if (options.partitionable) return bits_by_position(keys, width, shape);
  return shape.empty() ? first_bits_in_pairs(keys, width) : bits_in_pairs(keys, width, shape);
}

void check_sample_shape(std::string_view op, const Dimensions& shape, SourceLocation at) {
  throw_if_error(base::annotate(check_shape(Shape(f32, shape)),
                                trace_internal::PublicCall::function_or(op), ": "),
                 at);
}

}  // namespace heddle::random::random_internal
