// ragged-dot and scaled-dot: against loops.
#include "heddle/base/support_test.h"
#include "heddle/interpreter/ops/movement/index_testing.h"
#include "heddle/interpreter/ops/op_testing.h"

namespace heddle::interpreter {
namespace {

using index_testing::Random;
using namespace op_testing;

Literal whole_numbers(Random& random, std::vector<int64_t> dims) {
  Literal out(Shape(f32, std::move(dims)));
  for (float& value : out.mutable_values<float>()) value = static_cast<float>(random.in(-5, 5));
  return out;
}

// The group that index i falls into; -1 past the last.
int64_t group_of(const std::vector<int32_t>& sizes, int64_t i) {
  int64_t end = 0;
  for (size_t group = 0; group < sizes.size(); ++group) {
    end += sizes[group];
    if (i < end) return static_cast<int64_t>(group);
  }
  return -1;
}

struct Sizes {
  int64_t b, m, k, n, g;
  std::vector<int32_t> groups;  // g of them, or b times g
  [[nodiscard]] std::vector<int32_t> of_batch(int64_t batch) const {
    if (static_cast<int64_t>(groups.size()) == g) return groups;
    return {groups.begin() + batch * g, groups.begin() + (batch + 1) * g};
  }
  [[nodiscard]] Literal literal() const {
    const bool shared = static_cast<int64_t>(groups.size()) == g;
    return Literal::from<int32_t>(shared ? Shape(s32, {g}) : Shape(s32, {b, g}), groups);
  }
};

Sizes random_sizes(Random& random) {
  Sizes s{.b = random.in(1, 3),
          .m = random.in(1, 6),
          .k = random.in(1, 6),
          .n = random.in(1, 3),
          .g = random.in(1, 3),
          .groups = {}};
  s.groups.resize(static_cast<size_t>(random.coin() && s.b > 1 ? s.b * s.g : s.g));
  for (int32_t& size : s.groups) size = static_cast<int32_t>(random.in(0, 3));
  return s;
}

double at(const Literal& x, const std::vector<int64_t>& index) {
  return x.to_double(index_testing::position(x.shape().dimensions(), index));
}

TEST(RaggedDot, RowsMeetTheMatrixOfTheirGroup) {
  Random random(11);
  for (int round = 0; round < 100; ++round) {
    const Sizes s = random_sizes(random);
    const Literal x = whole_numbers(random, {s.b, s.m, s.k}),
                  y = whole_numbers(random, {s.g, s.b, s.k, s.n});
    const RaggedDotAttrs attrs{.lhs_batch_dims = {0},
                               .lhs_contracting_dims = {2},
                               .rhs_batch_dims = {1},
                               .rhs_contracting_dims = {2},
                               .lhs_ragged_dims = {1},
                               .rhs_group_dims = {0}};
    const Literal out =
        evaluate(Opcode::kRaggedDot, {x, y, s.literal()}, attrs, Shape(f32, {s.b, s.m, s.n}));
    index_testing::for_each_index({s.b, s.m, s.n}, [&](const std::vector<int64_t>& i) {
      const int64_t group = group_of(s.of_batch(i[0]), i[1]);
      double sum = 0;
      for (int64_t k = 0; k < s.k && group >= 0; ++k)
        sum += at(x, {i[0], i[1], k}) * at(y, {group, i[0], k, i[2]});
      EXPECT_EQ(at(out, i), sum) << "round " << round;
    });
  }
}

TEST(RaggedDot, SumsOverEachGroupOfAContractingDimension) {
  Random random(12);
  for (int round = 0; round < 100; ++round) {
    const Sizes s = random_sizes(random);
    const Literal x = whole_numbers(random, {s.b, s.m, s.k}),
                  y = whole_numbers(random, {s.b, s.k, s.n});
    const RaggedDotAttrs attrs{.lhs_batch_dims = {0},
                               .lhs_contracting_dims = {2},
                               .rhs_batch_dims = {0},
                               .rhs_contracting_dims = {1},
                               .lhs_ragged_dims = {2}};
    const Literal out =
        evaluate(Opcode::kRaggedDot, {x, y, s.literal()}, attrs, Shape(f32, {s.g, s.b, s.m, s.n}));
    index_testing::for_each_index({s.g, s.b, s.m, s.n}, [&](const std::vector<int64_t>& i) {
      double sum = 0;
      for (int64_t k = 0; k < s.k; ++k) {
        if (group_of(s.of_batch(i[1]), k) == i[0])
          sum += at(x, {i[1], i[2], k}) * at(y, {i[1], k, i[3]});
      }
      EXPECT_EQ(at(out, i), sum) << "round " << round;
    });
  }
}

TEST(RaggedDot, OfABatchIsADot) {
  Random random(13);
  const Literal x = whole_numbers(random, {4, 2, 3}), y = whole_numbers(random, {4, 3, 5});
  const RaggedDotAttrs attrs{.lhs_batch_dims = {0},
                             .lhs_contracting_dims = {2},
                             .rhs_batch_dims = {0},
                             .rhs_contracting_dims = {1},
                             .lhs_ragged_dims = {0}};
  const DotAttrs plain{.lhs_batch_dims = {0},
                       .lhs_contracting_dims = {2},
                       .rhs_batch_dims = {0},
                       .rhs_contracting_dims = {1}};
  const Literal sizes = Literal::from<int32_t>(Shape(s32, {2}), {1, 3});
  const Shape result(f32, {4, 2, 5});
  EXPECT_EQ(evaluate(Opcode::kRaggedDot, {x, y, sizes}, attrs, result),
            evaluate(Opcode::kDot, {x, y}, plain, result));
}

TEST(ScaledDot, EachScaleIsForABlock) {
  Random random(14);
  const Literal x = whole_numbers(random, {2, 6}), y = whole_numbers(random, {6, 4});
  const Literal x_scale = whole_numbers(random, {2, 3}), y_scale = whole_numbers(random, {2, 1});
  const DotAttrs attrs{.lhs_contracting_dims = {1}, .rhs_contracting_dims = {0}};
  const Literal out =
      evaluate(Opcode::kScaledDot, {x, y, x_scale, y_scale}, attrs, Shape(f32, {2, 4}));
  index_testing::for_each_index({2, 4}, [&](const std::vector<int64_t>& i) {
    double sum = 0;
    for (int64_t k = 0; k < 6; ++k)
      sum += at(x, {i[0], k}) * at(x_scale, {i[0], k / 2}) * at(y, {k, i[1]}) *
             at(y_scale, {k / 3, 0});
    EXPECT_EQ(at(out, i), sum);
  });
}

TEST(ScaledDot, TakesNarrowFloatsAndAScalarScale) {
  const Literal x = array(f8e4m3fn, {1, 2}), y = array(f8e5m2, {3, 4});
  const Literal scale = Literal::scalar(f8e8m0fnu, 0.25), one = Literal::scalar(f8e8m0fnu, 1.0);
  const DotAttrs attrs{.lhs_contracting_dims = {0}, .rhs_contracting_dims = {0}};
  EXPECT_THAT(numbers(evaluate(Opcode::kScaledDot, {x, y, scale, one}, attrs, Shape(f32, {}))),
              ElementsAre(2.75));
}

}  // namespace
}  // namespace heddle::interpreter
