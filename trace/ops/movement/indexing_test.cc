#include "heddle/trace/ops/movement/indexing.h"

#include <cmath>

#include "heddle/base/support_test.h"
#include "heddle/trace/error.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/run/program.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

Tensor grid() { return reshape(arange(12), {3, 4}); }  // rows 0..3, 4..7, 8..11

TEST(Indexing, PositionsRemoveTheirAxis) {
  EXPECT_THAT(grid()[1].to_vector<int>(), ElementsAre(4, 5, 6, 7));
  EXPECT_EQ((grid()[{-1, -2}].item<int>()), 10);
}

// The vectors of indices lie along the last axis, as in JAX, unless told.
TEST(Indexing, VectorsOfAGatherAndAScatter) {
  const Tensor x = reshape(arange(12.0f), {3, 4}), i = array({{0, 2}, {1, 1}});
  const base::Ints both = {0, 1};
  GatherDims dims{.offset_dims = {}, .collapsed_slice_dims = both, .start_index_map = both};
  EXPECT_THAT(gather(x, i, dims, {1, 1}).to_vector<int>(), ElementsAre(2, 5));
  dims.index_vector_dim = 0;
  EXPECT_THAT(gather(x, i, dims, {1, 1}).to_vector<int>(), ElementsAre(1, 9));
  const ScatterDims to{
      .update_window_dims = {}, .inserted_window_dims = both, .scatter_dims_to_operand_dims = both};
  const Tensor y = scatter(zeros({3, 4}), i, ones({2}), to,
                           [](const Tensor& a, const Tensor& b) { return a + b; });
  EXPECT_THAT(y.to_vector<int>(), ElementsAre(0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0));
}

TEST(Indexing, PositionsMayHaveNames) {
  enum { kFirst, kSecond };
  EXPECT_EQ((grid()[{kSecond, kFirst}].item<int>()), 4);
  EXPECT_THAT(grid()[kSecond].to_vector<int>(), ElementsAre(4, 5, 6, 7));
}

TEST(Indexing, SlicesAsNumpys) {
  Tensor x = arange(10);
  EXPECT_THAT((x[Slice{2, 8, 3}].to_vector<int>()), ElementsAre(2, 5));
  EXPECT_THAT((x[Slice{.step = -4}].to_vector<int>()), ElementsAre(9, 5, 1));
  EXPECT_THAT((x[Slice{-3, std::nullopt}].to_vector<int>()), ElementsAre(7, 8, 9));
  EXPECT_EQ((x[Slice{5, 2}].size()), 0);
  EXPECT_THAT((grid()[{Slice{}, 1}].to_vector<int>()), ElementsAre(1, 5, 9));
}

TEST(Indexing, ValuesAsPositionsAreClamped) {
  EXPECT_THAT(grid()[scalar<int>(1)].to_vector<int>(), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(grid()[scalar<int>(7)].to_vector<int>(), ElementsAre(8, 9, 10, 11));
  EXPECT_THAT(grid()[scalar<int>(-1)].to_vector<int>(), ElementsAre(8, 9, 10, 11));
}

TEST(Indexing, PositionOutsideNamesAxisAndSize) {
  try {
    grid()[{0, 4}].wait();
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(),
                HasSubstr("x[..]: position 4 is outside axis 1 of s32[3,4], which has size 4; it "
                          "must be in [-4, 3]"));
    EXPECT_THAT(e.what(), HasSubstr("indexing_test.cc:"));
  }
}

TEST(Indexing, UpdatesOutsideNameTheTypeOfTheTensor) {
  const Tensor x = zeros({3, 4}, f64);
  for (const auto& update :
       {+[](const At& at) { return at.set(1); }, +[](const At& at) { return at.add(1); }}) {
    EXPECT_THAT(error_of([&] {
                  (void)update(x.at({3, Slice{0, 2}}));
                }),
                HasSubstr(": position 3 is outside axis 0 of f64[3,4], which has size 3"));
    EXPECT_THAT(error_of([&] { (void)update(x.at({3})); }), HasSubstr("axis 0 of f64[3,4]"));
    EXPECT_THAT(error_of([&] {
                  (void)update(x.at({Slice{0, 2}, -5}));
                }),
                HasSubstr(": position -5 is outside axis 1 of f64[3,4]"));
  }
}

TEST(Indexing, SetReplacesAndAddAccumulates) {
  Tensor x = zeros({2, 3});
  EXPECT_THAT((x.at({1}).set(5.0).to_vector<float>()), ElementsAre(0, 0, 0, 5, 5, 5));
  EXPECT_THAT((x.at({0, scalar<int>(2)}).add(3.0).to_vector<float>()),
              ElementsAre(0, 0, 3, 0, 0, 0));
  EXPECT_THAT((x.at({Slice{}, Slice{0, 3, 2}}).set(1.0).to_vector<float>()),
              ElementsAre(1, 0, 1, 1, 0, 1));
  Tensor twice = array<int>({1, 1});
  EXPECT_THAT((zeros({3}).at({twice}).add(1.0).to_vector<float>()), ElementsAre(0, 2, 0));
}

// Rows along any axis, one scatter: nothing of x is read for it.
TEST(Indexing, RowsAreUpdatedByOneScatter) {
  Tensor x = zeros({2, 4});
  Tensor columns = array<int>({{1, -1}, {1, 9}});
  Tensor value = reshape(arange(8), {2, 2, 2}).astype(f32);
  EXPECT_THAT((x.at({Slice{}, columns}).add(value).to_vector<float>()),
              ElementsAre(0, 2, 0, 1, 0, 10, 0, 5));  // not at 9
  EXPECT_THAT((x.at({Slice{}, array<int>({2})}).set(7.0).to_vector<float>()),
              ElementsAre(0, 0, 7, 0, 0, 0, 7, 0));
  EXPECT_THAT((x.at({array<int64_t>({1})}).max(3.0).to_vector<float>()),
              ElementsAre(0, 0, 0, 0, 3, 3, 3, 3));
  auto add_rows = [](Tensor t, Tensor rows) { return t.at({rows}).add(1.0); };
  StatusOr<Program> program = trace(add_rows, placeholder({5, 3}, f32), placeholder({2}, s32));
  ASSERT_TRUE(program.ok()) << program.status();
  std::string text = program->hlo_text();
  EXPECT_THAT(text, HasSubstr(" scatter("));
  EXPECT_THAT(text, Not(HasSubstr("gather(")));
  EXPECT_THAT(text, Not(HasSubstr("iota(")));
}

TEST(Indexing, SettingABlockReadsNothing) {
  auto set_row = [](Tensor t, Tensor row) { return t.at({row, Slice{}}).set(1.0); };
  StatusOr<Program> program = trace(set_row, placeholder({5, 3}, f32), placeholder({}, s32));
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_THAT(program->hlo_text(), Not(HasSubstr(" dynamic-slice(")));
  EXPECT_THAT(program->hlo_text(), HasSubstr(" scatter("));
  std::string fixed = trace(
                          [](Tensor t) {
                            return t.at({2, Slice{}}).set(1.0);
                          },
                          placeholder({5, 3}, f32))
                          .hlo_text();
  EXPECT_THAT(fixed, HasSubstr(" dynamic-update-slice("));
}

TEST(Indexing, SlicesAreUpdatedByOneBlock) {
  const Tensor x = zeros({3, 4});
  EXPECT_THAT((x.at({Slice{-2, {}}, Slice{1, 3}}).set(array({1.0F, 2.0F})).to_vector<float>()),
              ElementsAre(0, 0, 0, 0, 0, 1, 2, 0, 0, 1, 2, 0));
  EXPECT_THAT((x.at({Ellipsis{}, Slice{2, 9}}).add(3.0).to_vector<float>()),
              ElementsAre(0, 0, 3, 3, 0, 0, 3, 3, 0, 0, 3, 3));
  EXPECT_THAT((x.at({0, Slice{2, 2}}).set(5.0).to_vector<float>()), Each(0));
  EXPECT_THAT((x.at({0, Slice{5, 9}}).min(-5.0).to_vector<float>()), Each(0));
  const auto text_of = [](const Shape& type, const Slice& rows) {
    return trace([&](Tensor t) { return t.at({rows}).multiply(2.0); },
                 placeholder(type.dimensions(), type.dtype()))
        .hlo_text();
  };
  const std::string text = text_of(Shape(f32, {5, 3}), {1, 4});
  EXPECT_THAT(text, HasSubstr(" dynamic-update-slice("));
  EXPECT_THAT(text, Not(HasSubstr(" scatter(")));
  EXPECT_THAT(text_of(Shape(f32, {4'000'000'000}), {3'000'000'000, 3'000'000'002}),
              HasSubstr("s64[] constant(3000000000)"));
}

// As in JAX: nothing is written, neither to the last element nor from the end twice over.
TEST(Indexing, UpdatesOutsideAreLeftOut) {
  Tensor x = zeros({3}), square = zeros({2, 2});
  auto at = [](int i) { return scalar<int>(i); };
  EXPECT_THAT(x.at({at(5)}).set(1.0).to_vector<float>(), ElementsAre(0, 0, 0));
  EXPECT_THAT(x.at({at(-4)}).add(1.0).to_vector<float>(), ElementsAre(0, 0, 0));
  EXPECT_THAT(x.at({at(-1)}).set(1.0).to_vector<float>(), ElementsAre(0, 0, 1));
  EXPECT_THAT(x.at({array<int>({1, 7, -9})}).add(1.0).to_vector<float>(), ElementsAre(0, 1, 0));
  EXPECT_THAT((square.at({1, at(2)}).set(1.0).to_vector<float>()), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT((square.at({at(1), scalar<int64_t>(-2)}).max(1.0).to_vector<float>()),
              ElementsAre(0, 0, 1, 0));
  EXPECT_THAT((square.at({at(2), Slice{}}).set(1.0).to_vector<float>()), ElementsAre(0, 0, 0, 0));
  // With parts of axes.
  EXPECT_THAT((square.at({Slice{0, 1}, at(2)}).set(1.0).to_vector<float>()),
              ElementsAre(0, 0, 0, 0));
  EXPECT_THAT((square.at({array<int>({0, 2}), Slice{1, 2}}).add(1.0).to_vector<float>()),
              ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(
      (square.at({scalar<int64_t>(int64_t{1} << 32), Slice{0, 1}}).set(1.0).to_vector<float>()),
      ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(zeros({0}).at({at(0)}).set(1.0).size(), 0);
}

TEST(Indexing, TakeClipsOrFills) {
  Tensor x = array<float>({10, 20, 30});
  Tensor i = array<int>({2, -3, 9});
  EXPECT_THAT(take(x, i).to_vector<float>(), ElementsAre(30, 10, 30));
  std::vector<float> filled = take(x, i, 0, IndexMode::kFill).to_vector<float>();
  EXPECT_EQ(filled[1], 10);
  EXPECT_TRUE(std::isnan(filled[2]));
}

TEST(Indexing, SortPutsNanLastAndArgsortIsStable) {
  Tensor x = array<float>({3, NAN, 1, 3, -2});
  std::vector<float> sorted = sort(x).to_vector<float>();
  EXPECT_EQ(sorted[0], -2);
  EXPECT_EQ(sorted[3], 3);
  EXPECT_TRUE(std::isnan(sorted[4]));
  EXPECT_THAT(argsort(x).to_vector<int>(), ElementsAre(4, 2, 0, 3, 1));
}

}  // namespace
}  // namespace heddle
