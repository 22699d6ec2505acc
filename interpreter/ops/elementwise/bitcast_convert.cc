#include <algorithm>
#include <cstring>

#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

// The bits of element i, in an array of elements of `bits` bits that take `bytes` bytes each.
uint64_t read_bits(const std::byte* from, int64_t i, int64_t bytes, int64_t bits) {
  uint64_t word = 0;
  std::memcpy(&word, from + i * bytes, static_cast<size_t>(bytes));
  return word << (64 - bits) >> (64 - bits);
}

// Elements under a byte are sign-extended where they are signed.
void write_bits(std::byte* to, int64_t i, DType dtype, uint64_t word) {
  if (is_signed(dtype)) {
    const int64_t unused = 64 - bit_width(dtype);
    word = static_cast<uint64_t>(static_cast<int64_t>(word << unused) >> unused);
  }
  std::memcpy(to + i * storage_bytes(dtype), &word, static_cast<size_t>(storage_bytes(dtype)));
}

// For types of up to 64 bits: each wide element is `ratio` narrow ones, the first in its low bits.
void regroup(const Literal& x, Literal& out) {
  const DType from = x.shape().dtype(), to = out.shape().dtype();
  const int64_t from_bits = bit_width(from), to_bits = bit_width(to);
  const int64_t split = std::max<int64_t>(from_bits / to_bits, 1),
                joined = std::max<int64_t>(to_bits / from_bits, 1);
  std::byte* bytes = out.mutable_bytes();
  for (int64_t i = 0; i < x.element_count() / joined; ++i) {
    uint64_t word = 0;
    for (int64_t part = 0; part < joined; ++part) {
      word |= read_bits(x.bytes(), i * joined + part, storage_bytes(from), from_bits)
              << (part * from_bits);
    }
    for (int64_t part = 0; part < split; ++part) {
      const uint64_t bits = word >> (part * to_bits) << (64 - to_bits) >> (64 - to_bits);
      write_bits(bytes, i * split + part, to, bits);
    }
  }
}

StatusOr<Literal> evaluate_bitcast_convert(EvalArgs& in) {
  Literal& x = in.operands[0];
  const bool whole_bytes = bit_width(x.shape().dtype()) >= 8 && bit_width(in.result().dtype()) >= 8;
  // row-major and little-endian: the bytes stay where they are
  if (whole_bytes) return std::move(x).reshaped(in.result());
  Literal out = Literal::uninitialised(in.result());
  regroup(x, out);
  return out;
}

}  // namespace

const Evaluation kBitcastConvertEvaluation = {.evaluate = evaluate_bitcast_convert};

}  // namespace heddle::interpreter
