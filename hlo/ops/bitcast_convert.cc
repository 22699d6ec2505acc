// bitcast-convert(x): the same bits as elements of another type. To narrower elements the parts of
// each element become a new last dimension, least significant first; to wider ones the last
// dimension is joined.
#include <algorithm>
#include <cstring>

#include "heddle/hlo/ops/elementwise.h"

namespace heddle::hlo {
namespace {

StatusOr<Shape> infer(const InferArgs& in) {
  if (!in[0].is_array()) return in.error("x is ", in[0], "; must be an array");
  if (!in.declared()->is_array())
    return in.error("result is declared as ", *in.declared(), "; must be an array");
  const DType from = in[0].dtype(), to = in.declared()->dtype();
  if (from == to) return in[0];
  if (is_complex(from) != is_complex(to)) {
    return in.error("x is ", in[0], " and the result ", to,
                    "; both must be complex, or neither; take real and imag");
  }
  if (from == pred || to == pred) {
    return in.error("x is ", in[0], " and the result ", to,
                    "; pred has no bits of its own; use convert");
  }
  const int64_t narrow = std::min(bit_width(from), bit_width(to));
  const int64_t ratio = std::max(bit_width(from), bit_width(to)) / narrow;
  std::vector<int64_t> dimensions = in[0].dimensions();
  if (bit_width(from) > bit_width(to)) dimensions.push_back(ratio);
  if (bit_width(from) < bit_width(to)) {
    if (dimensions.empty() || dimensions.back() != ratio) {
      return in.error("x is ", in[0], "; its last dimension must be ", ratio, ", the ", from,
                      " that make one ", to);
    }
    dimensions.pop_back();
  }
  Shape out(to, std::move(dimensions));
  for (int64_t d = 0; d < std::min(out.rank(), in[0].rank()); ++d) {
    out.set_dynamic_dimension(d, in[0].is_dynamic_dimension(d));
  }
  return out;
}

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

StatusOr<Literal> evaluate(EvalArgs& in) {
  Literal& x = in.operands[0];
  const bool whole_bytes = bit_width(x.shape().dtype()) >= 8 && bit_width(in.result().dtype()) >= 8;
  // row-major and little-endian: the bytes stay where they are
  if (whole_bytes) return std::move(x).reshaped(in.result());
  Literal out = Literal::uninitialised(in.result());
  regroup(x, out);
  return out;
}

}  // namespace

constinit const OpDef kBitcastConvertDef = {.opcode = Opcode::kBitcastConvert,
                                            .operand_names = kUnaryOperands,
                                            .infer = infer,
                                            .evaluate = evaluate};

}  // namespace heddle::hlo
