#include "heddle/hlo/ops/elementwise.h"

#include <algorithm>
#include <vector>

#include "heddle/hlo/blocks.h"
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

constexpr int64_t kBlock = 256;
constexpr size_t kMaxOperands = ScalarOp::kMaxOperands;

int set_of(DType dtype) {
  switch (kind_of(dtype)) {
    case DTypeKind::kPredicate: return kPreds;
    case DTypeKind::kSigned: return kSigned;
    case DTypeKind::kUnsigned: return kUnsigned;
    case DTypeKind::kFloat: return kFloats;
    case DTypeKind::kComplex: return kComplexes;
    case DTypeKind::kNone: break;
  }
  return 0;
}

// "pred, integers or floats"
std::string describe(int accepts) {
  std::vector<std::string_view> names;
  if (accepts & kPreds) names.push_back("pred");
  if ((accepts & kIntegers) == kSigned) names.push_back("signed integers");
  if ((accepts & kIntegers) == kUnsigned) names.push_back("unsigned integers");
  if ((accepts & kIntegers) == kIntegers) names.push_back("integers");
  if (accepts & kFloats) names.push_back("floats");
  if (accepts & kComplexes) names.push_back("complex numbers");
  std::string_view last = names.back();
  names.pop_back();
  return names.empty() ? std::string(last) : base::cat(base::join(names, ", "), " or ", last);
}

// A `?` agrees with every size.
bool dimensions_agree(const Shape& a, const Shape& b) {
  return std::ranges::equal(a.dimensions(), b.dimensions(), sizes_agree);
}

struct Source {
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
void compute(Block<T> block, std::span<const Source> in, DType from, std::byte* out, DType to,
             int64_t count) {
  // Bytes, since complex<double> would be set to zero.
  alignas(64) std::byte scratch[kMaxOperands + 1][kBlock * sizeof(T)];
  const int bits = static_cast<int>(bit_width(from));
  const int64_t step = storage_bytes(to);
  const T* operands[kMaxOperands] = {};
  for (size_t k = 0; k < in.size(); ++k) {
    auto* values = reinterpret_cast<T*>(scratch[k]);
    operands[k] = values;
    if (in[k].stride > 0) continue;
    load(from, in[k].bytes, 1, values);
    std::fill_n(values, std::min(count, kBlock), values[0]);
  }
  for (int64_t at = 0; at < count; at += kBlock) {
    const int64_t n = std::min(kBlock, count - at);
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

void compute(const ElementwiseRow& row, std::span<const Source> in, DType from, std::byte* out,
             DType to, int64_t count) {
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
  Source sources[kMaxOperands];
  for (size_t k = 0; k < operands.size(); ++k) sources[k] = {operands[k], storage_bytes(op.from)};
  compute(*static_cast<const ElementwiseRow*>(op.function), {sources, operands.size()}, op.from,
          result, op.to, 1);
}

}  // namespace

Status check_elements(const InferArgs& in, size_t i, int accepts) {
  HEDDLE_RETURN_IF_ERROR(check_array(in, i));
  if (set_of(in[i].dtype()) & accepts) return {};
  return in.error(operand_name(in, i), " is ", in[i], "; its elements must be ", describe(accepts));
}

Status check_same(const InferArgs& in, size_t i, size_t like) {
  HEDDLE_RETURN_IF_ERROR(check_array(in, i));
  const bool agree = dimensions_agree(in[i], in[like]);
  if (agree && in[i].dtype() == in[like].dtype()) return {};
  return in.error(operand_name(in, i), " is ", in[i], "; must be ", in[like], " as ",
                  operand_name(in, like), "; ", agree ? "convert" : "broadcast", " it first");
}

Shape result_dimensions(const InferArgs& in) {
  Shape out = in[0];
  for (const Shape* operand : in.operands()) {
    if (!operand->is_dynamic() && !out.is_dynamic()) continue;
    const Shape before = out;
    std::vector<int64_t> sizes = before.dimensions();
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == Shape::kUnbounded) sizes[d] = operand->dimensions()[d];
    }
    out = before.with_dimensions(sizes);
    for (int64_t d = 0; d < out.rank(); ++d) {
      const bool unknown = before.dimension(d) == Shape::kUnbounded;
      const bool other =
          operand->dimension(d) != Shape::kUnbounded && operand->is_dynamic_dimension(d);
      out.set_dynamic_dimension(
          d, unknown ? operand->is_dynamic_dimension(d) : before.is_dynamic_dimension(d) || other);
    }
  }
  return out;
}

StatusOr<Shape> infer_elementwise(const InferArgs& in, const ElementwiseRow& row) {
  HEDDLE_RETURN_IF_ERROR(check_elements(in, 0, row.accepts));
  for (size_t i = 1; i < in.size(); ++i) HEDDLE_RETURN_IF_ERROR(check_same(in, i, 0));
  return result_dimensions(in).with_dtype(row.result(in[0].dtype()));
}

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
  Source sources[kMaxOperands];
  for (size_t k = 0; k < in.size(); ++k) {
    const bool one_for_all = in[k].shape().rank() == 0 && in.result().rank() != 0;
    sources[k] = {in[k].bytes(), one_for_all ? 0 : storage_bytes(from)};
  }
  const std::span<const Source> operands(sources, in.size());
  Literal out = result_buffer(in);
  compute(row, operands, from, out.mutable_bytes(), to, count);
  return out;
}

ScalarOp scalar_elementwise(const ElementwiseRow& row, DType from, DType to) {
  return {.apply = apply_row, .function = &row, .from = from, .to = to};
}

}  // namespace heddle::hlo
