// gather and scatter against their definitions, index by index, for random attributes and shapes.
#include <gtest/gtest.h>

#include "heddle/hlo/builder.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/interpreter/ops/movement/index_testing.h"
#include "heddle/interpreter/ops/op_testing.h"

namespace heddle::interpreter {
namespace {

using namespace index_testing;
using op_testing::array;
using op_testing::integers;

// Attributes under gather's names, with shapes that they fit.
struct Case {
  GatherAttrs attrs;
  Dims x;
  Dims indices;
  Dims batched;  // gather's result, scatter's updates
};

void insert_at(Dims& dims, int64_t at, int64_t size) { dims.insert(dims.begin() + at, size); }

Case random_case(Random& random) {
  Case c;
  Dims paired;  // sizes of batching dimensions
  Dims kept;    // sizes of the window's dimensions
  const int64_t rank = random.in(0, 4);
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t size = random.in(1, 5);
    const int64_t role = random.in(0, 4);
    c.x.push_back(size);
    c.attrs.slice_sizes.push_back(role < 2 ? 1 : random.in(0, 9) == 0 ? 0 : random.in(1, size));
    if (role == 0) c.attrs.operand_batching_dims.push_back(d);
    if (role == 0) paired.push_back(size);
    if (role == 1) c.attrs.collapsed_slice_dims.push_back(d);
    if (role >= 2) kept.push_back(c.attrs.slice_sizes.back());
    if (role != 0 && random.in(0, 3) > 0) c.attrs.start_index_map.push_back(d);
  }
  Dims shuffled;
  for (int64_t i : random.permutation(c.attrs.start_index_map.size())) {
    shuffled.push_back(c.attrs.start_index_map[static_cast<size_t>(i)]);
  }
  c.attrs.start_index_map = shuffled;
  // The batch: paired dimensions in any order among others.
  Dims batch = random.dims(2, 4);
  std::vector<int64_t> origin(batch.size(), -1);
  for (size_t p = 0; p < paired.size(); ++p) {
    const int64_t at = random.in(0, static_cast<int64_t>(batch.size()));
    insert_at(batch, at, paired[p]);
    insert_at(origin, at, static_cast<int64_t>(p));
  }
  c.indices = batch;
  c.attrs.index_vector_dim = random.in(0, static_cast<int64_t>(batch.size()));
  const bool implicit = c.attrs.start_index_map.size() == 1 && random.coin();
  if (implicit) c.attrs.index_vector_dim = static_cast<int64_t>(batch.size());
  if (!implicit)
    insert_at(c.indices, c.attrs.index_vector_dim,
              static_cast<int64_t>(c.attrs.start_index_map.size()));
  for (size_t p = 0; p < paired.size(); ++p) {
    int64_t at = std::ranges::find(origin, static_cast<int64_t>(p)) - origin.begin();
    if (!implicit && at >= c.attrs.index_vector_dim) ++at;
    c.attrs.start_indices_batching_dims.push_back(at);
  }
  // The result: the window's dimensions, in order, at random places among the batch's.
  c.batched = batch;
  for (int64_t size : kept) {
    const int64_t low = c.attrs.offset_dims.empty() ? 0 : c.attrs.offset_dims.back() + 1;
    const int64_t at = random.in(low, static_cast<int64_t>(c.batched.size()));
    insert_at(c.batched, at, size);
    c.attrs.offset_dims.push_back(at);
  }
  return c;
}

Literal random_indices(Random& random, const Dims& dims) {
  return build(Shape(s32, dims),
               [&](const Index&) { return at(Literal::scalar(s32, random.in(-2, 6)), {}); });
}

bool has(const Dims& dims, size_t d) {
  return std::ranges::find(dims, static_cast<int64_t>(d)) != dims.end();
}

// For an index of `batched`: the start of its window in x as the indices have it, and its offset in
// the window.
struct Place {
  Index start;
  Index offset;
};

Place place_of(const Case& c, const Literal& indices, const Index& index) {
  Place place{Index(c.x.size()), Index(c.x.size())};
  Index batch;
  Index window;
  for (size_t d = 0; d < index.size(); ++d)
    (has(c.attrs.offset_dims, d) ? window : batch).push_back(index[d]);
  const bool implicit = c.attrs.index_vector_dim == static_cast<int64_t>(c.indices.size());
  for (size_t k = 0; k < c.attrs.start_index_map.size(); ++k) {
    Index vector = batch;
    if (!implicit) insert_at(vector, c.attrs.index_vector_dim, static_cast<int64_t>(k));
    place.start[static_cast<size_t>(c.attrs.start_index_map[k])] =
        indices.to_int64(position(c.indices, vector));
  }
  // indices as start_indices numbers them
  if (!implicit) insert_at(batch, c.attrs.index_vector_dim, 0);
  for (size_t p = 0; p < c.attrs.operand_batching_dims.size(); ++p) {
    place.start[static_cast<size_t>(c.attrs.operand_batching_dims[p])] =
        batch[static_cast<size_t>(c.attrs.start_indices_batching_dims[p])];
  }
  size_t next = 0;
  for (size_t d = 0; d < c.x.size(); ++d) {
    const bool dropped =
        has(c.attrs.collapsed_slice_dims, d) || has(c.attrs.operand_batching_dims, d);
    if (!dropped) place.offset[d] = window[next++];
  }
  return place;
}

class Indexed : public ::testing::TestWithParam<uint32_t> {
 protected:
  Random random{GetParam()};
  Case c = random_case(random);
  Literal indices = random_indices(random, c.indices);
};
INSTANTIATE_TEST_SUITE_P(Random, Indexed, ::testing::Range(0u, 400u));

TEST_P(Indexed, GatherReadsClampedWindows) {
  const Literal x = random.array(Shape(random.width(), c.x));
  const Literal want = build(Shape(x.shape().dtype(), c.batched), [&](const Index& index) {
    Place place = place_of(c, indices, index);
    for (size_t d = 0; d < c.x.size(); ++d) {
      place.start[d] = std::clamp<int64_t>(place.start[d], 0, c.x[d] - c.attrs.slice_sizes[d]);
      place.offset[d] += place.start[d];
    }
    return at(x, place.offset);
  });
  EXPECT_EQ(op_testing::evaluate(Opcode::kGather, {x, indices}, c.attrs), want);
}

ScatterAttrs scatter_attrs(const GatherAttrs& attrs) {
  return {.update_window_dims = attrs.offset_dims,
          .inserted_window_dims = attrs.collapsed_slice_dims,
          .scatter_dims_to_operand_dims = attrs.start_index_map,
          .input_batching_dims = attrs.operand_batching_dims,
          .scatter_indices_batching_dims = attrs.start_indices_batching_dims,
          .index_vector_dim = attrs.index_vector_dim};
}

bool lies_inside(const Case& c, const Place& place) {
  for (size_t d = 0; d < c.x.size(); ++d) {
    if (place.start[d] < 0 || place.start[d] + c.attrs.slice_sizes[d] > c.x[d]) return false;
  }
  return true;
}

// Updates of the windows that lie in x: in the order of the batch, whatever dimensions of updates
// it has. combine(x index, updates index).
template <class Combine>
void for_each_update(const Case& c, const Literal& indices, Combine&& combine) {
  std::vector<std::pair<Index, Index>> updates;  // (position in the batch, index)
  for_each_index(c.batched, [&](const Index& index) {
    Index batch;
    for (size_t d = 0; d < index.size(); ++d) {
      if (!has(c.attrs.offset_dims, d)) batch.push_back(index[d]);
    }
    updates.emplace_back(batch, index);
  });
  std::ranges::stable_sort(updates, {}, &std::pair<Index, Index>::first);
  for (const auto& [batch, index] : updates) {
    Place place = place_of(c, indices, index);
    if (!lies_inside(c, place)) continue;
    for (size_t d = 0; d < c.x.size(); ++d) place.start[d] += place.offset[d];
    combine(place.start, index);
  }
}

// scatter(x.., indices, updates..) of a module whose computation is made by `body` from the
// parameters.
template <class Body>
StatusOr<Literal> run_scatter(const ScatterAttrs& attrs, const std::vector<Literal>& operands,
                              Body&& body) {
  Module module;
  ComputationBuilder combine(module, "combine");
  const size_t n = operands.size() / 2;
  std::vector<InstructionId> parameters;
  for (size_t i = 0; i < 2 * n; ++i)
    parameters.push_back(combine.parameter(Shape::scalar(operands[i % n].shape().dtype())));
  const InstructionId root = body(combine, parameters);
  module.computations.push_back(std::move(combine).finish(root));
  ComputationBuilder entry(module, "main");
  std::vector<InstructionId> ids;
  for (const Literal& operand : operands) ids.push_back(entry.parameter(operand.shape()));
  HEDDLE_ASSIGN_OR_RETURN(InstructionId out,
                          entry.add(Opcode::kScatter, ids, attrs, {ComputationId(0)}));
  module.computations.push_back(std::move(entry).finish(out));
  module.entry = ComputationId(1);
  return evaluate(module, operands);
}

auto binary(Opcode opcode) {
  return [opcode](ComputationBuilder& b, const std::vector<InstructionId>& p) {
    return *b.add(opcode, {p[0], p[1]});
  };
}

TEST_P(Indexed, ScatterReplacesWindowsThatLieInside) {
  const Literal x = random.array(Shape(random.width(), c.x));
  const Literal updates = random.array(Shape(x.shape().dtype(), c.batched));
  Literal want = x;
  for_each_update(c, indices,
                  [&](const Index& to, const Index& from) { set(want, to, at(updates, from)); });
  auto second = [](ComputationBuilder&, const std::vector<InstructionId>& p) { return p[1]; };
  EXPECT_EQ(*run_scatter(scatter_attrs(c.attrs), {x, indices, updates}, second), want);
}

TEST_P(Indexed, ScatterAddsNatively) {
  const Literal x = random.array(Shape(s16, c.x));
  const Literal updates = random.array(Shape(s16, c.batched));
  Literal want = x;
  for_each_update(c, indices, [&](const Index& to, const Index& from) {
    const int64_t sum =
        want.to_int64(position(c.x, to)) + updates.to_int64(position(c.batched, from));
    set(want, to, at(Literal::scalar(s16, static_cast<int64_t>(static_cast<int16_t>(sum))), {}));
  });
  EXPECT_EQ(*run_scatter(scatter_attrs(c.attrs), {x, indices, updates}, binary(Opcode::kAdd)),
            want);
}

// A computation that is not recognised: a - b of one pair, and b - a - 1 of another.
TEST_P(Indexed, ScatterCallsAnyComputationOnSeveralArrays) {
  const Literal x = random.array(Shape(s32, c.x));
  const Literal y = random.array(Shape(s32, c.x));
  const Literal u = random.array(Shape(s32, c.batched));
  const Literal v = random.array(Shape(s32, c.batched));
  Literal want_x = x;
  Literal want_y = y;
  for_each_update(c, indices, [&](const Index& to, const Index& from) {
    const auto difference = [&](const Literal& a, const Literal& b) {
      return static_cast<int32_t>(a.to_int64(position(c.x, to)) -
                                  b.to_int64(position(c.batched, from)));
    };
    const int32_t of_x = difference(want_x, v);
    const int32_t of_y = difference(want_y, u);
    set(want_x, to, at(Literal::scalar(s32, int64_t{of_x}), {}));
    set(want_y, to, at(Literal::scalar(s32, int64_t{of_y}), {}));
  });
  auto body = [](ComputationBuilder& b, const std::vector<InstructionId>& p) {
    const InstructionId first = *b.add(Opcode::kSubtract, {p[0], p[3]});
    return *b.add(Opcode::kTuple, {first, *b.add(Opcode::kSubtract, {p[1], p[2]})});
  };
  const Literal got = *run_scatter(scatter_attrs(c.attrs), {x, y, indices, u, v}, body);
  EXPECT_EQ(got.element(0), want_x);
  EXPECT_EQ(got.element(1), want_y);
}

// Each native combination gives what the op's own definition does, for values that tell them apart.
TEST(Scatter, CombinesNativelyAsTheOpsDo) {
  const std::vector<double> a = {1.5, -0.0, 0.0, op_testing::kNaN, 2, -op_testing::kInf, 1e30,
                                 255, 100,  -3};
  const std::vector<double> b = {-7.25, 0.0, -0.0, 1, op_testing::kNaN, op_testing::kInf,
                                 1e30,  1,   100,  -3};
  const ScatterAttrs attrs{
      .inserted_window_dims = {0}, .scatter_dims_to_operand_dims = {0}, .index_vector_dim = 1};
  const Literal each = array(s32, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  for (Opcode op : {Opcode::kAdd, Opcode::kMultiply, Opcode::kMaximum, Opcode::kMinimum,
                    Opcode::kAnd, Opcode::kOr}) {
    const bool bits = op == Opcode::kAnd || op == Opcode::kOr;
    for (DType type :
         {pred, s8, s16, s32, s64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128, f8e5m2, s4}) {
      if (is_complex(type) && (bits || op == Opcode::kMaximum || op == Opcode::kMinimum)) continue;
      if (is_floating(type) && bits) continue;
      if (type == pred && op == Opcode::kMultiply) continue;
      const Literal x = array(type, a);
      const Literal u = array(type, b);
      const Literal want = op_testing::evaluate(op, {x, u});
      EXPECT_EQ(*run_scatter(attrs, {x, each, u}, binary(op)), want)
          << to_string(op) << " " << to_string(type);
    }
  }
}

TEST(Scatter, AppliesRepeatedIndicesInOrder) {
  const ScatterAttrs attrs{
      .inserted_window_dims = {0}, .scatter_dims_to_operand_dims = {0}, .index_vector_dim = 1};
  auto minus = binary(Opcode::kSubtract);
  const Literal x = array(s32, {100, 50});
  EXPECT_EQ(integers(*run_scatter(attrs, {x, array(s32, {0, 1, 0}), array(s32, {1, 2, 3})}, minus)),
            (std::vector<int64_t>{96, 48}));
}

TEST(Scatter, DropsAWindowOfWhichAPartLiesOutside) {
  const ScatterAttrs attrs{
      .update_window_dims = {1}, .scatter_dims_to_operand_dims = {0}, .index_vector_dim = 1};
  const Literal x = array(s32, {0, 0, 0, 0});
  const Literal updates = array(s32, {1, 2, 3, 4, 5, 6}).reshaped(Shape(s32, {3, 2}));
  EXPECT_EQ(
      integers(*run_scatter(attrs, {x, array(s32, {-1, 3, 1}), updates}, binary(Opcode::kAdd))),
      (std::vector<int64_t>{0, 5, 6, 0}));
}

TEST(Scatter, WithoutIndicesIsX) {
  const ScatterAttrs attrs{
      .inserted_window_dims = {0}, .scatter_dims_to_operand_dims = {0}, .index_vector_dim = 1};
  const Literal x = array(f32, {1, 2});
  EXPECT_EQ(*run_scatter(attrs, {x, array(s32, {}), array(f32, {})}, binary(Opcode::kAdd)), x);
}

TEST(Gather, ReadsHugeUnsignedStartsAsLarge) {
  const GatherAttrs attrs{.collapsed_slice_dims = {0},
                          .start_index_map = {0},
                          .index_vector_dim = 1,
                          .slice_sizes = {1}};
  const Literal starts = Literal::from<uint64_t>(Shape(u64, {2}), {UINT64_MAX, 1});
  EXPECT_EQ(integers(op_testing::evaluate(Opcode::kGather, {array(s32, {5, 6, 7}), starts}, attrs)),
            (std::vector<int64_t>{7, 6}));
}

}  // namespace
}  // namespace heddle::interpreter
