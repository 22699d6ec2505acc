#include "heddle/random/keys.h"

#include <vector>

#include "heddle/random/internal/threefry.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/public_call.h"

namespace heddle::random {
namespace {

// The bits of an integer scalar or C++ number, as u64 (`wide`) or as u32, the low ones.
Expr integer_bits(std::string_view what, const Operand& x, bool wide) {
  DType dtype = wide ? u64 : u32;
  if (x.is_tensor()) {
    const Shape& shape = trace_internal::node_of(x.tensor()).shape;
    if (shape.is_scalar() && is_integer(shape.dtype())) {
      // 32 bits and fewer fill only the low word, whatever their sign.
      Tensor low = bit_width(shape.dtype()) <= 32 ? x.tensor().astype(u32) : x.tensor();
      return low.astype(dtype);
    }
    trace_internal::refuse(what, " is ", shape, "; it must be an integer scalar, or a C++ integer");
  }
  uint64_t bits = 0;
  if (const int64_t* i = std::get_if<int64_t>(&x.number()))
    bits = static_cast<uint64_t>(*i);
  else if (const uint64_t* u = std::get_if<uint64_t>(&x.number()))
    bits = *u;
  else
    trace_internal::refuse(what, " is the C++ number ", number_text(x), "; it must be an integer");
  return constant_like(wide ? bits : bits & UINT32_MAX, dtype);
}

// The 64 bits of a C++ integer.
Operand as_unsigned(const Operand& x) {
  const int64_t* i = std::get_if<int64_t>(&x.number());
  return i ? Operand(static_cast<uint64_t>(*i), x.at()) : x;
}

}  // namespace

Tensor key(Operand seed) {
  const auto formula = [](Operands in) {
    Expr bits = integer_bits("seed", in[0], true);
    return key_of({(bits >> 32).astype(u32), bits.astype(u32)});
  };
  return one_program("random::key", KnownOptions(), {{as_unsigned(seed), u64}}, formula);
}

Tensor split(Operand key, base::Int count, const Options& options) {
  const PublicCall call("random::split", key.at());
  if (count < 0) trace_internal::refuse("count is ", int64_t{count}, "; it must be 0 or more");
  return one_program("random::split", known(options, count), {key}, [&](Operands in) {
    return key_of(split_many(words_of(in[0]), count, options));
  });
}

Tensor split(Operand key, std::initializer_list<int64_t> shape, const Options& options) {
  const PublicCall call("random::split", key.at());
  Dimensions sizes(shape);
  int64_t count = 1;
  for (const int64_t size : sizes) {
    if (size < 0) trace_internal::refuse("has a size of ", size, "; it must be 0 or more");
    if (__builtin_mul_overflow(count, size, &count))
      trace_internal::refuse("has more keys than a size can count");
  }
  sizes.push_back(2);
  return reshape(split(key, count, options), sizes);
}

Tensor fold_in(Operand key, Operand data) {
  const auto formula = [](Operands in) {
    Words words = words_of(in[0]);
    Expr low = integer_bits("data", in[1], false);
    return key_of(threefry2x32(words, {low ^ low, low}));
  };
  return one_program("random::fold_in", KnownOptions(), {key, {as_unsigned(data), u64}}, formula);
}

Tensor bits(Operand key, const base::Ints& shape, DType dtype, const Options& options) {
  const PublicCall call("random::bits", key.at());
  random_internal::check_sample_shape(shape);
  if (!is_unsigned(dtype) || bit_width(dtype) < 8) {
    trace_internal::refuse("dtype is ", to_string(dtype), "; it must be u8, u16, u32 or u64");
  }
  return one_program("random::bits", known(options, shape, dtype), {key}, [&](Operands in) {
    return random_bits(words_of(in[0]), bit_width(dtype), shape, options).tensor();
  });
}

namespace random_internal {

void split_to(Operand key, Tensor* out, int64_t count, const Options& options) {
  const auto formula = [&](Operands in) {
    std::vector<Tensor> rows;
    for (const Words& words : split_each(words_of(in[0]), count, options))
      rows.push_back(key_of(words));
    return rows;
  };
  const KnownOperand operands[] = {key};
  std::vector<Tensor> keys = trace_internal::in_program(
      "random::split", known(options, count, /*each apart*/ true), operands, formula);
  for (size_t i = 0; i < keys.size(); ++i) out[i] = std::move(keys[i]);
}

}  // namespace random_internal
}  // namespace heddle::random
