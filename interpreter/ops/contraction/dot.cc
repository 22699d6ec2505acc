#include "heddle/interpreter/ops/contraction/dot.h"

#include <algorithm>

#include "heddle/hlo/dimensions.h"
#include "heddle/hlo/literal/blocks.h"
#include "heddle/interpreter/ops/contraction/matmul.h"
#include "heddle/interpreter/ops/movement/elements.h"
#include "heddle/interpreter/ops/movement/permute.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

// One operand as a stack of matrices.
struct Side {
  Literal values;  // [batch.., ..] dense, in the order that matmul() takes
  bool transposed = false;
  int64_t free = 1;  // elements
  int64_t depth = 1;
};

Dims in_order(const Dims& batch, const Dims& middle, const Dims& last) {
  Dims order = batch;
  order.insert(order.end(), middle.begin(), middle.end());
  order.insert(order.end(), last.begin(), last.end());
  return order;
}

bool is_in_place(const Shape& shape, Dims order) {
  std::erase_if(order, [&](int64_t d) { return shape.dimension(d) == 1; });
  return std::ranges::is_sorted(order);
}

// `depth_last`: matmul() takes [free, depth], else [depth, free]. The other order is as good where
// it saves moving elements.
Side arrange(const Literal& x, const Dims& batch, const Dims& contracting, bool depth_last,
             bool may_transpose) {
  const Dims free = other_dimensions(x.shape().rank(), in_order(batch, contracting, {}));
  Side side;
  for (int64_t d : free) side.free *= x.shape().dimension(d);
  for (int64_t d : contracting) side.depth *= x.shape().dimension(d);
  const Dims straight =
      depth_last ? in_order(batch, free, contracting) : in_order(batch, contracting, free);
  const Dims turned =
      depth_last ? in_order(batch, contracting, free) : in_order(batch, free, contracting);
  side.transposed =
      may_transpose && !is_in_place(x.shape(), straight) && is_in_place(x.shape(), turned);
  side.values = permuted(x, side.transposed ? turned : straight);
  return side;
}

// Elements [start, start + count) as T: in place where they are, else converted into `room`.
template <class T>
const T* read(const Literal& x, int64_t start, int64_t count, std::vector<T>& room) {
  const DType dtype = x.shape().dtype();
  const std::byte* from = x.bytes() + start * storage_bytes(dtype);
  if (std::is_same_v<T, double> && dtype == f64) return reinterpret_cast<const T*>(from);
  room.resize(static_cast<size_t>(count));
  load(dtype, from, count, room.data());
  return room.data();
}

// Elements converted at a time, unless one matrix has more.
constexpr int64_t kDotBlock = 1 << 15;

// One product of matrices; `in_f32`: rounded at every step.
template <class T>
void multiply_one(const MatmulSizes& sizes, bool in_f32, const T* left, const T* right,
                  T* product) {
  if constexpr (!std::is_same_v<T, int64_t>) {
    if (in_f32) return matmul_in_f32(sizes, left, right, product);
  }
  matmul(sizes, left, right, product);
}

template <class T>
void multiply_sides(const Side& lhs, const Side& rhs, bool in_f32, Literal& out) {
  const MatmulSizes sizes{lhs.free, rhs.free, lhs.depth, lhs.transposed, rhs.transposed};
  const int64_t m = lhs.free * lhs.depth, n = rhs.free * rhs.depth, size = lhs.free * rhs.free;
  const int64_t batches = out.element_count() / size;
  const int64_t at_once = std::max<int64_t>(1, kDotBlock / std::max<int64_t>(1, m + n + size));
  std::vector<T> left_room, right_room, products;
  for (int64_t b = 0; b < batches; b += at_once) {
    const int64_t count = std::min(at_once, batches - b);
    const T* left = read(lhs.values, b * m, count * m, left_room);
    const T* right = read(rhs.values, b * n, count * n, right_room);
    products.resize(static_cast<size_t>(count * size));
    for (int64_t i = 0; i < count; ++i)
      multiply_one(sizes, in_f32, left + i * m, right + i * n, products.data() + i * size);
    const DType dtype = out.shape().dtype();
    store(dtype, products.data(), count * size,
          out.mutable_bytes() + b * size * storage_bytes(dtype));
  }
}

// Sums of more terms are made in f64.
constexpr int64_t kFewTerms = 16;

// A few terms of f32 or c64 are summed in f32, in order: where they cancel, all that is left is the
// roundings, and programs are compared with XLA's. Of many terms XLA's order is its own, and the
// sum that is rounded once is nearer to the truth.
bool is_summed_in_f32(const EvalArgs& in, const DotAttrs& attrs, DType sums) {
  if (sums != f32 && sums != c64) return false;
  int64_t terms = 1;
  for (int64_t d : attrs.lhs_contracting_dims) terms *= in[0].shape().dimension(d);
  const auto is_wide = [](const Literal& x) {
    return x.shape().dtype() == f64 || x.shape().dtype() == c128;
  };
  return terms <= kFewTerms && !is_wide(in[0]) && !is_wide(in[1]);
}

// Other sums are made in f64 (c128, and modulo 2^64 for integers) and rounded once, to `sums`.
Literal sums_of_products(const EvalArgs& in, const DotAttrs& attrs, DType sums) {
  const DType types[] = {in[0].shape().dtype(), in[1].shape().dtype(), sums};
  const bool complex = std::ranges::any_of(types, is_complex);
  const bool floating = std::ranges::any_of(types, is_floating);
  const bool in_f32 = is_summed_in_f32(in, attrs, sums);
  const bool may_transpose = !complex && floating && !in_f32;
  const Side lhs =
      arrange(in[0], attrs.lhs_batch_dims, attrs.lhs_contracting_dims, true, may_transpose);
  const Side rhs =
      arrange(in[1], attrs.rhs_batch_dims, attrs.rhs_contracting_dims, false, may_transpose);
  Literal out = Literal::uninitialised(in.result().with_dtype(sums));
  if (out.element_count() == 0) return out;
  if (complex) {
    multiply_sides<std::complex<double>>(lhs, rhs, in_f32, out);
  } else if (floating) {
    multiply_sides<double>(lhs, rhs, in_f32, out);
  } else {
    multiply_sides<int64_t>(lhs, rhs, false, out);
  }
  return out;
}

// The type of the sums: the result's, but for a result that cannot hold the products of its
// operands. Complex sums keep their real part then, and sums of floats become floats of the
// operands' type before they become integers.
DType type_of_sums(DType lhs, DType rhs, DType result) {
  if (is_complex(lhs) || is_complex(rhs)) {
    if (is_complex(result)) return result;
    return lhs == c128 || rhs == c128 ? c128 : c64;
  }
  const bool to_integers = !is_floating(result) && !is_complex(result);
  return to_integers && is_floating(lhs) && lhs == rhs ? lhs : result;
}

StatusOr<Literal> evaluate_dot(EvalArgs& in) {
  const DType result = in.result().dtype();
  Literal sums = sums_of_products(
      in, in.attrs<DotAttrs>(), type_of_sums(in[0].shape().dtype(), in[1].shape().dtype(), result));
  return converted(sums, result).reshaped(in.result());
}

}  // namespace

StatusOr<Literal> dot(const Literal& x, const Literal& y, const DotAttrs& attrs,
                      const Shape& result, Caller& caller) {
  Instruction instruction;
  instruction.opcode = Opcode::kDot;
  instruction.attrs = attrs;
  instruction.shape = result;
  Literal operands[] = {x, y};
  EvalArgs in{instruction, operands, caller};
  return evaluate_dot(in);
}

const Evaluation kDotEvaluation = {.evaluate = evaluate_dot};

}  // namespace heddle::interpreter
