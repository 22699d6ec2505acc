// Small factors and triangular systems, written out: every element is a register.
#include <algorithm>
#include <limits>

#include "heddle/cpu/lower/loops.h"
#include "heddle/cpu/lower/lowering.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {

using hlo::Instruction;
using hlo::InstructionId;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// a = l l^T by rows, for each matrix of a batch; what is not of the factor is zero.
void RegionLowering::emit_cholesky(InstructionId id, BufferId to) {
  const Instruction& cholesky = at(id);
  const bool lower = cholesky.attrs.get<hlo::CholeskyAttrs>().lower;
  const Shape& shape = cholesky.shape;
  const int64_t n = shape.dimension(shape.rank() - 1);
  const std::vector<int64_t>& sizes = shape.dimensions();
  const std::span<const int64_t> batch = std::span(sizes).first(sizes.size() - 2);
  const Type type = {scalar_type(shape), 1};
  std::vector<NodeId> at_batch;
  if (std::ranges::count(sizes, 0)) return;
  loop_nest(b(), batch, at_batch, {}, [&](const std::vector<NodeId>&) -> std::vector<NodeId> {
    Memo memo;
    // Element (i, j) of the factor, i >= j; an upper one is its transpose.
    const auto place = [&](int64_t i, int64_t j) {
      Place at_element;
      for (NodeId node : at_batch) at_element.coordinates.push_back({node});
      at_element.coordinates.push_back({b().index(lower ? i : j)});
      at_element.coordinates.push_back({b().index(lower ? j : i)});
      return at_element;
    };
    const auto count = static_cast<size_t>(n);
    std::vector<std::vector<NodeId>> l(count, std::vector<NodeId>(count));
    // Where a pivot's square is negative or NaN, the whole matrix is NaN; so is a last one of 0.
    NodeId exists = b().bits({Scalar::kPred, 1}, 1);
    for (size_t j = 0; j < count; ++j) {
      for (size_t i = j; i < count; ++i) {
        const auto row = static_cast<int64_t>(i), column = static_cast<int64_t>(j);
        NodeId sum = operand_element(cholesky.operands[0], place(row, column), memo);
        for (size_t k = 0; k < j; ++k) sum = b().fma(b().unary(Op::kNeg, l[i][k]), l[j][k], sum);
        if (i == j) {
          const bool is_last = j + 1 == count && count > 1;
          exists =
              b().binary(Op::kAnd, exists, b().compare(Predicate::kGe, sum, b().number(type, 0)));
          l[i][j] = b().unary(Op::kSqrt, sum);
          if (is_last)
            l[i][j] = b().select(b().compare(Predicate::kEq, sum, b().number(type, 0)),
                                 b().number(type, kNan), l[i][j]);
        } else {
          l[i][j] = b().binary(Op::kDiv, sum, l[j][j]);
        }
      }
    }
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const NodeId value =
            j <= i ? l[static_cast<size_t>(i)][static_cast<size_t>(j)] : b().bits(type, 0);
        store_at(to, shape, place(i, j), b().select(exists, value, b().number(type, kNan)));
      }
    }
    return {};
  });
}

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
  for_each_place(others, scalar_type(shape), [&](const Place& right_side) {
    Memo memo;
    const auto a = [&](int64_t i, int64_t k) {
      Place place;
      for (size_t d = 0; d + 2 < rank; ++d) place.coordinates.push_back(right_side.coordinates[d]);
      place.coordinates.push_back({b().index(by_transpose ? k : i)});
      place.coordinates.push_back({b().index(by_transpose ? i : k)});
      place.lanes = right_side.lanes;
      return operand_element(solve.operands[0], place, memo);
    };
    const auto at_row = [&](int64_t i) {
      Place place = right_side;
      place.coordinates[along] = {b().index(i)};
      return place;
    };
    std::vector<NodeId> x(static_cast<size_t>(n));
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = forward ? step : n - 1 - step;
      NodeId sum = b().splat(operand_element(solve.operands[1], at_row(i), memo), right_side.lanes);
      for (int64_t done = 0; done < step; ++done) {
        const int64_t k = forward ? done : n - 1 - done;
        sum = b().fma(b().unary(Op::kNeg, a(i, k)), x[static_cast<size_t>(k)], sum);
      }
      if (!attrs.unit_diagonal) sum = b().binary(Op::kDiv, sum, a(i, i));
      x[static_cast<size_t>(i)] = sum;
    }
    for (int64_t i = 0; i < n; ++i) store_at(to, shape, at_row(i), x[static_cast<size_t>(i)]);
  });
}

}  // namespace heddle::cpu
