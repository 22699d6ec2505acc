#include "heddle/transform/lapack/internal/arrays.h"

namespace heddle::transform::lapack {
namespace {

using hlo::Opcode;

// Keeps the dimensions.
Array folded(const Array& x, Opcode opcode, double start, const std::vector<int64_t>& dimensions) {
  std::vector<int64_t> kept = x.sizes();
  for (int64_t d : dimensions) kept[static_cast<size_t>(d)] = 1;
  return reshape(hlo::reduce(x, opcode, start, dimensions), kept);
}

// The integer type of a real type's width.
DType bits_of(DType dtype) { return dtype == f32 ? u32 : u64; }

}  // namespace

// The exponent's bits alone.
Array power_of_two(const Array& x) {
  const DType bits = bits_of(x.dtype());
  const bool is_single = x.dtype() == f32;
  const auto constant = [&](uint64_t value) {
    return x.graph().constant(
        is_single ? Literal::from<uint32_t>(Shape::scalar(u32), {static_cast<uint32_t>(value)})
                  : Literal::from<uint64_t>(Shape::scalar(u64), {value}));
  };
  const int shift = is_single ? 23 : 52;
  const Shape words = x.shape().with_dtype(bits), numbers = x.shape();
  const Array word = x.graph().op(Opcode::kBitcastConvert, {x}, {}, {}, &words);
  const Array exponent = word & constant((is_single ? uint64_t{0xFF} : uint64_t{0x7FF}) << shift);
  const Array normal = maximum(exponent, constant(uint64_t{1} << shift));
  return x.graph().op(Opcode::kBitcastConvert, {normal}, {}, {}, &numbers);
}

Array sum(const Array& x, const std::vector<int64_t>& dimensions) {
  return folded(x, Opcode::kAdd, 0, dimensions);
}
Array greatest(const Array& x, const std::vector<int64_t>& dimensions) {
  return folded(x, Opcode::kMaximum, 0, dimensions);
}
Array any(const Array& x, const std::vector<int64_t>& dimensions) {
  return folded(x, Opcode::kOr, 0, dimensions);
}
Array all(const Array& x, const std::vector<int64_t>& dimensions) {
  return folded(x, Opcode::kAnd, 1, dimensions);
}

Array size_of(const Array& x) {
  return is_complex(x.dtype()) ? abs(real(x)) + abs(imag(x)) : abs(x);
}

Array on_diagonal(Scope& scope, int64_t m, int64_t n) {
  return scope.iota({1, m, n}, 1) == scope.iota({1, m, n}, 2);
}

Array transpose(const Array& x) { return swap_last(x); }
Array adjoint(const Array& x) { return conjugate(transpose(x)); }

}  // namespace heddle::transform::lapack
