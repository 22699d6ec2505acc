// The generator under all distributions: threefry2x32 on the words of keys.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "heddle/random/keys.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/run/known_program.h"

namespace heddle::random::random_internal {

using trace_internal::Expr;
using trace_internal::KnownOperand;
using trace_internal::KnownOptions;

// The two words of a key, u32[]; or of many keys, u32 of any one shape.
struct Words {
  Expr a, b;
};

// 20 rounds of the cipher on two words of counters; all four broadcast.
Words threefry2x32(const Words& key, const Words& counters);

// The words of a user's key. errors: Error if it is not u32[2]
Words words_of(const Operand& key);
// The key of words: u32[..,2].
Tensor key_of(const Words& words);

using Operands = std::span<const Operand>;

// The options and `parts` that a program of a sample depends on.
template <class... Parts>
KnownOptions known(const Options& options, const Parts&... parts) {
  return KnownOptions(bool{options.partitionable}, options.mode, parts...);
}

// `count` keys of one key: words of shape [count].
Words split_many(const Words& key, int64_t count, const Options& options);
// `count` keys of each key.
std::vector<Words> split_each(const Words& keys, int64_t count, const Options& options);

// Uniform bits of width 8, 16, 32 or 64. One key gives an array of the shape. Many keys give one
// number each, so the shape must be {}.
Expr random_bits(const Words& keys, int64_t width, const Dimensions& shape, const Options& options);

// Throws Error if a size is negative or the like.
void check_sample_shape(const Dimensions& shape);

}  // namespace heddle::random::random_internal

namespace heddle::random {

using namespace random_internal;  // NOLINT: what the distributions are written with
using trace_internal::Expr;
using trace_internal::one_program;
using trace_internal::PublicCall;

}  // namespace heddle::random
