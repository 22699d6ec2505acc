// Small factors and triangular systems, written out: every element is a register.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "heddle/cpu/lower/arrays/loops.h"
#include "heddle/cpu/lower/lowering.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

// a = l l^T by columns, for each matrix of a batch, with the roundings of LAPACK's kernels, as
// interpreter/linalg/solve.cc has them; what is not of the factor is zero.
void RegionLowering::emit_cholesky(InstructionId id, BufferId to) {
  const Instruction& cholesky = at(id);
  const bool lower = cholesky.attrs.get<hlo::CholeskyAttrs>().lower;
  const Shape& shape = cholesky.shape;
  const int64_t n = shape.dimension(shape.rank() - 1);
  const std::vector<int64_t>& sizes = shape.dimensions();
  const std::span<const int64_t> batch = std::span(sizes).first(sizes.size() - 2);
  const Scalar scalar = program_.as_lapack ? scalar_type(shape) : Scalar::kF64;
  const Type type = {scalar, 1};
  std::vector<NodeId> at_batch;
  if (std::ranges::count(sizes, 0)) return;
  for_each_nest(b(), batch, at_batch, [&] {
    const PlanBuilder::Exact exact(b());
    Memo memo;
    // Element (i, j) of the factor, i >= j; an upper one is its transpose.
    const auto place = [&](int64_t i, int64_t j) {
      Place at_element = place_at(at_batch);
      at_element.coordinates.push_back({b().index(lower ? i : j)});
      at_element.coordinates.push_back({b().index(lower ? j : i)});
      return at_element;
    };
    const auto count = static_cast<size_t>(n);
    std::vector<std::vector<NodeId>> l(count, std::vector<NodeId>(count));
    // Where a pivot's square is negative or NaN, the whole matrix is NaN; so is a last one of 0.
    NodeId exists = b().bits({Scalar::kPred, 1}, 1);
    for (size_t j = 0; j < count; ++j) {
      const auto element = [&](size_t i) {
        const auto row = static_cast<int64_t>(i), column = static_cast<int64_t>(j);
        return b().cast(Op::kFloatCast, scalar,
                        operand_element(cholesky.operands[0], place(row, column), memo));
      };
      NodeId known = b().bits(type, 0);
      for (size_t k = 0; k < j; ++k) known = b().add(known, b().mul(l[j][k], l[j][k]));
      const NodeId square = b().binary(Op::kSub, element(j), known);
      const NodeId zero = b().number(type, 0);
      exists = b().binary(Op::kAnd, exists, b().compare(Predicate::kGe, square, zero));
      l[j][j] = b().unary(Op::kSqrt, square);
      const NodeId factor = b().binary(Op::kDiv, b().number(type, 1), l[j][j]);
      if (j + 1 == count && count > 1) {
        const NodeId is_zero = b().compare(Predicate::kEq, square, zero);
        l[j][j] = b().select(is_zero, b().number(type, kNan), l[j][j]);
      }
      for (size_t i = j + 1; i < count; ++i) {
        NodeId sum = b().bits(type, 0);
        for (size_t k = 0; k < j; ++k) sum = b().fma(l[i][k], l[j][k], sum);
        l[i][j] = b().mul(b().binary(Op::kSub, element(i), sum), factor);
      }
    }
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const NodeId value =
            j <= i ? l[static_cast<size_t>(i)][static_cast<size_t>(j)] : b().bits(type, 0);
        store_at(to, shape, place(i, j),
                 b().cast(Op::kFloatCast, scalar_type(shape),
                          b().select(exists, value, b().number(type, kNan))));
      }
    }
  });
}

namespace {

// Unknowns that LAPACK kernels solve for together, of f32 with the matrix on the left: 8, and what
// is left by 4, 2 and 1.
std::vector<std::pair<int64_t, int64_t>> blocks_of(int64_t n, bool in_blocks, bool forward) {
  std::vector<std::pair<int64_t, int64_t>> blocks;
  if (!in_blocks) return {{0, n}};
  int64_t first = 0;
  for (int64_t size = 8; size >= 1; size /= 2) {
    for (; n - first >= size; first += size) blocks.emplace_back(first, first + size);
  }
  if (!forward) std::ranges::reverse(blocks);
  return blocks;
}

// A power of two that makes a pivot a normal number; 1 where it is one.
NodeId scale_of(PlanBuilder& b, NodeId pivot) {
  const Type type = b.type(pivot);
  const bool is_f32 = type.scalar == Scalar::kF32;
  const double least =
      is_f32 ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
  const NodeId is_tiny = b.compare(Predicate::kLt, b.unary(Op::kAbs, pivot), b.number(type, least));
  return b.select(is_tiny, b.number(type, is_f32 ? 0x1p25 : 0x1p54), b.number(type, 1));
}

}  // namespace

// Forward or backward by rows of x, all right-hand sides side by side.
void RegionLowering::emit_triangular_solve(InstructionId id, BufferId to) {
  const Instruction& solve = at(id);
  const auto& attrs = solve.attrs.get<hlo::TriangularSolveAttrs>();
  const Shape& shape = solve.shape;
  const bool transposed = attrs.transpose_a != hlo::TransposeA::kNoTranspose;
  const auto rank = shape.dimensions().size();
  const std::vector<int64_t>& sizes = shape.dimensions();
  // x a = b is a^T x^T = b^T.
  const size_t along = attrs.left_side ? rank - 2 : rank - 1;
  const int64_t n = sizes[along];
  const bool by_transpose = transposed == attrs.left_side;
  const bool forward = attrs.lower != by_transpose;
  std::vector<int64_t> others = sizes;
  others[along] = 1;
  if (std::ranges::count(sizes, 0)) return;
  const Scalar scalar = program_.as_lapack ? scalar_type(shape) : Scalar::kF64;
  for_each_place(others, scalar, [&](const Place& right_side) {
    Memo memo;
    const auto a = [&](int64_t i, int64_t k) {
      Place place;
      for (size_t d = 0; d + 2 < rank; ++d) place.coordinates.push_back(right_side.coordinates[d]);
      place.coordinates.push_back({b().index(by_transpose ? k : i)});
      place.coordinates.push_back({b().index(by_transpose ? i : k)});
      place.lanes = right_side.lanes;
      return b().cast(Op::kFloatCast, scalar, operand_element(solve.operands[0], place, memo));
    };
    const auto at_row = [&](int64_t i) {
      Place place = right_side;
      place.coordinates[along] = {b().index(i)};
      return place;
    };
    const PlanBuilder::Exact exact(b());
    const int32_t lanes = right_side.lanes;
    std::vector<NodeId> x(static_cast<size_t>(n));
    const auto at_x = [&](int64_t i) -> NodeId& { return x[static_cast<size_t>(i)]; };
    for (int64_t i = 0; i < n; ++i) {
      at_x(i) = b().cast(Op::kFloatCast, scalar,
                         b().splat(operand_element(solve.operands[1], at_row(i), memo), lanes));
    }
    const auto quotient = [&](NodeId x, NodeId by) {
      if (!program_.as_lapack) return b().binary(Op::kDiv, x, by);
      // The reciprocal of a number below the least normal one may be infinite.
      const NodeId scale = scale_of(b(), by);
      return b().mul(b().mul(x, scale),
                     b().binary(Op::kDiv, b().number({scalar, 1}, 1), b().mul(by, scale)));
    };
    const bool in_blocks = attrs.left_side && scalar == Scalar::kF32;
    for (const auto& [first, last] : blocks_of(n, in_blocks, forward)) {
      const int64_t known_from = forward ? 0 : last, known_to = forward ? first : n;
      for (int64_t i = first; i < last && known_from < known_to; ++i) {
        NodeId sum = b().bits({scalar, lanes}, 0);
        for (int64_t k = known_from; k < known_to; ++k) sum = b().fma(a(i, k), at_x(k), sum);
        at_x(i) = b().binary(Op::kSub, at_x(i), sum);
      }
      for (int64_t step = 0; step < last - first; ++step) {
        const int64_t k = forward ? first + step : last - 1 - step;
        if (!attrs.unit_diagonal) at_x(k) = quotient(at_x(k), a(k, k));
        for (int64_t i = forward ? k + 1 : first; i < (forward ? last : k); ++i)
          at_x(i) = b().fma(at_x(k), b().unary(Op::kNeg, a(i, k)), at_x(i));
      }
    }
    for (int64_t i = 0; i < n; ++i)
      store_at(to, shape, at_row(i), b().cast(Op::kFloatCast, scalar_type(shape), at_x(i)));
  });
}

}  // namespace heddle::cpu
