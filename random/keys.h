// Random numbers without state: a key goes in, numbers come out, and the same key gives the same
// numbers wherever and whenever it is used. Split a key for new ones; never use one twice.
//
//   Tensor key = random::key(0);
//   auto step = [&](std::pair<Tensor, Tensor> s, Tensor) {       // in a scan: the key is carried
//     auto [next, now] = random::split<2>(s.first);
//     ...random::normal(now, {100})...
//
// Keys and bits are those of jax.random with its default generator, threefry2x32, bit for bit.
// source: J. K. Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (2011)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "heddle/base/containers/ints.h"
#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/tensor.h"

namespace heddle::random {

// How many bits small values get. With kLow they are as coarse as the dtype's numbers in [1/2, 1),
// so rare events occur never, or too often. kHigh and kHighest draw twice as many bits, which costs
// about twice as much.
enum class Mode : uint8_t { kLow, kHigh, kHighest };

struct Options {
  // The layout of bits over an array: each element hashes its own position (JAX's
  // jax_threefry_partitionable, on by default), or positions are hashed in pairs (JAX before 0.5).
  base::Flag partitionable = true;
  // For bernoulli (kHighest as kHigh), gumbel, and functions that draw by gumbel: categorical, and
  // choice with p without replacement. Others ignore it. kHighest is for f32; for other dtypes it
  // is kHigh.
  Mode mode = Mode::kLow;
};

// A key: u32[2]. `seed` is a C++ integer or an integer scalar; its 64 bits are the key (32-bit ones
// and shorter: the low word, the other is 0; so a negative C++ number is as in JAX's 64-bit mode).
// errors: Error where it is no integer, or no scalar
Tensor key(Operand seed);

// `count` new keys: u32[count,2]; row i is a key. errors: Error where key is not u32[2]
Tensor split(Operand key, base::Int count = 2, const Options& options = {});
// As many keys as an array of this shape has elements: u32[shape.., 2].
Tensor split(Operand key, std::initializer_list<int64_t> shape, const Options& options = {});
// A new key for an integer, say of a step: u32[2]. `data` is a C++ integer or an integer scalar, of
// which the low 32 bits count.
Tensor fold_in(Operand key, Operand data);

// Uniform bits: of u8, u16, u32 or u64.
Tensor bits(Operand key, const base::Ints& shape = {}, DType dtype = u32,
            const Options& options = {});

namespace random_internal {
void split_to(Operand key, Tensor* out, int64_t count, const Options& options);
}  // namespace random_internal

// `N` new keys, each u32[2], for a structured binding: auto [next, now] = split<2>(key).
template <size_t N>
std::array<Tensor, N> split(Operand key, const Options& options = {}) {
  std::array<Tensor, N> keys;
  random_internal::split_to(key, keys.data(), static_cast<int64_t>(N), options);
  return keys;
}

}  // namespace heddle::random
