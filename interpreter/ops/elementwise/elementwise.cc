#include "heddle/interpreter/ops/elementwise/elementwise.h"

#include <algorithm>

#include "heddle/hlo/literal/blocks.h"

namespace heddle::interpreter {
namespace {

constexpr int64_t kElementwiseBlock = 256;
constexpr size_t kMaxOperands = ScalarOp::kMaxOperands;

struct OperandSource {
  const std::byte* bytes = nullptr;
  int64_t stride = 0;  // bytes from element to element: 0 where one element stands for all
};

// The type whose blocks compute on elements of `dtype`.
template <class T>
constexpr bool is_computed_as(DType dtype) {
  if constexpr (std::is_same_v<T, double>) return dtype == DType::kF64;
  if constexpr (std::is_same_v<T, int64_t>) return dtype == DType::kS64 || dtype == DType::kU64;
  return dtype == DType::kC128;
}

template <class T>
void compute(Block<T> block, std::span<const OperandSource> in, DType from, std::byte* out,
             DType to, int64_t count) {
  // Bytes, since complex<double> would be set to zero.
  alignas(64) std::byte scratch[kMaxOperands + 1][kElementwiseBlock * sizeof(T)];
  const int bits = static_cast<int>(bit_width(from));
  const int64_t step = storage_bytes(to);
  const T* operands[kMaxOperands] = {};
  for (size_t k = 0; k < in.size(); ++k) {
    auto* values = reinterpret_cast<T*>(scratch[k]);
    operands[k] = values;
    if (in[k].stride > 0) continue;
    load(from, in[k].bytes, 1, values);
    std::fill_n(values, std::min(count, kElementwiseBlock), values[0]);
  }
  for (int64_t at = 0; at < count; at += kElementwiseBlock) {
    const int64_t n = std::min(kElementwiseBlock, count - at);
    for (size_t k = 0; k < in.size(); ++k) {
      if (in[k].stride == 0) continue;
      const std::byte* bytes = in[k].bytes + at * in[k].stride;
      if (is_computed_as<T>(from)) {
        operands[k] = reinterpret_cast<const T*>(bytes);
      } else {
        load(from, bytes, n, reinterpret_cast<T*>(scratch[k]));
      }
    }
    std::byte* target = out + at * step;
    if (is_computed_as<T>(to)) {
      block(operands, n, bits, reinterpret_cast<T*>(target));
    } else {
      auto* values = reinterpret_cast<T*>(scratch[kMaxOperands]);
      block(operands, n, bits, values);
      store(to, values, n, target);
    }
  }
}

void compute(const ElementwiseRow& row, std::span<const OperandSource> in, DType from,
             std::byte* out, DType to, int64_t count) {
  if (is_complex(from) || is_complex(to)) {
    const bool wide = row.complex.wide != nullptr && (from == c128 || to == c128);
    compute(wide ? row.complex.wide : row.complex.narrow, in, from, out, to, count);
  } else if (is_floating(from)) {
    const bool wide = row.real.wide != nullptr && from == f64;
    compute(wide ? row.real.wide : row.real.narrow, in, from, out, to, count);
  } else {
    compute(is_signed(from) ? row.integer.on_signed : row.integer.on_unsigned, in, from, out, to,
            count);
  }
}

void apply_row(const ScalarOp& op, std::span<const std::byte* const> operands, std::byte* result) {
  OperandSource sources[kMaxOperands];
  for (size_t k = 0; k < operands.size(); ++k) sources[k] = {operands[k], storage_bytes(op.from)};
  compute(*static_cast<const ElementwiseRow*>(op.function), {sources, operands.size()}, op.from,
          result, op.to, 1);
}

}  // namespace

Literal result_buffer(EvalArgs& in) {
  for (Literal& operand : in.operands) {
    if (!operand.is_unique() || operand.shape().dtype() != in.result().dtype()) continue;
    if (operand.shape() == in.result()) return std::move(operand);
    if (same_dimensions(operand.shape(), in.result()))
      return std::move(operand).reshaped(in.result());
  }
  return Literal::uninitialised(in.result());
}

Literal evaluate_elementwise(EvalArgs& in, const ElementwiseRow& row, DType read_as) {
  const DType from = read_as == DType::kInvalid ? in[0].shape().dtype() : read_as;
  const DType to = in.result().dtype();
  const int64_t count = in.result().element_count();
  OperandSource sources[kMaxOperands];
  for (size_t k = 0; k < in.size(); ++k) {
    const bool one_for_all = in[k].shape().rank() == 0 && in.result().rank() != 0;
    sources[k] = {in[k].bytes(), one_for_all ? 0 : storage_bytes(from)};
  }
  const std::span<const OperandSource> operands(sources, in.size());
  Literal out = result_buffer(in);
  compute(row, operands, from, out.mutable_bytes(), to, count);
  return out;
}

ScalarOp scalar_elementwise(const ElementwiseRow& row, DType from, DType to) {
  return {.apply = apply_row, .function = &row, .from = from, .to = to};
}

}  // namespace heddle::interpreter
