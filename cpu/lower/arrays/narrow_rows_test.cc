#include <gtest/gtest.h>

#include "heddle/cpu/lower/support_test.h"

namespace heddle::cpu {
namespace {

using base::cat;

std::string sum_of_rows(const std::string& kept, const std::string& from, const std::string& dims) {
  return cat(" x = f32", from, " parameter(0)\n z = f32[] constant(0)\n y = f32", from,
             " multiply(x, x)\n ROOT r = f32", kept, " reduce(y, z), dimensions={", dims,
             "}, to_apply=sum");
}

TEST(NarrowRows, AreFoldedSideBySide) {
  const Plan plan = plan_of(sum_of_rows("[2000]", "[2000,5]", "1"));
  EXPECT_EQ(count(plan, Op::kReduceLanes), 0);
  EXPECT_EQ(count(plan, Op::kGather), 0);
  EXPECT_EQ(count(plan, Op::kLoad), 5) << "the vectors of 16 rows";
  EXPECT_EQ(most_lanes(plan, Op::kMul), 16);
}

// Rows that are reversed, and every other row: what is stored is shuffled of neighbours at once.
TEST(NarrowRows, MovedRowsAreShuffledOfLoads) {
  for (const char* move :
       {"[64,5] reverse(x), dimensions={0}", "[32,5] slice(x), slice={[0:64:2], [0:5]}"}) {
    const Plan plan = plan_of(cat(" x = f32[64,5] parameter(0)\n ROOT r = f32", move));
    int64_t stores = 0;
    for (const Node& node : plan.nodes) {
      if (node.op != Op::kStore) continue;
      ++stores;
      const Node& stored = plan.at(plan.args_of(node)[1]);
      ASSERT_EQ(stored.op, Op::kShuffle) << move;
      for (const NodeId from : plan.args_of(stored)) EXPECT_EQ(plan.at(from).op, Op::kLoad) << move;
    }
    EXPECT_EQ(stores, 5) << move;
  }
}

TEST(NarrowRows, ColumnsThatStayAreStoredInTurn) {
  const Plan plan = plan_of(sum_of_rows("[2000,3]", "[2000,2,3]", "1"));
  EXPECT_EQ(count(plan, Op::kScatter), 0);
  EXPECT_EQ(count(plan, Op::kStore), 3);
  EXPECT_EQ(most_lanes(plan, Op::kMul), 16);
}

TEST(NarrowRows, OfWhatIsBroadcast) {
  const Plan plan = plan_of(
      " x = f32[2000,5] parameter(0)\n s = f32[2000] parameter(1)\n"
      " t = f32[2000,5] broadcast(s), dimensions={0}\n ROOT y = f32[2000,5] divide(x, t)");
  EXPECT_EQ(most_lanes(plan, Op::kDiv), 16);
  EXPECT_EQ(count(plan, Op::kScatter), 0);
}

// Rows of colours, each from a place of its own, weighed by columns of one element.
TEST(NarrowRows, ThatAGatherTakesAreColumns) {
  const Plan plan = plan_of(
      " x = f32[500,3] parameter(0)\n s = f32[40,50,1] parameter(1)\n"
      " i = s32[40,50,1] parameter(2)\n g = f32[40,50,3] gather(x, i), offset_dims={2}, "
      "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=2, slice_sizes={1,3}\n"
      " w = f32[40,50] reshape(s)\n t = f32[40,50,3] broadcast(w), dimensions={0,1}\n"
      " ROOT y = f32[40,50,3] multiply(g, t)");
  EXPECT_EQ(most_lanes(plan, Op::kMul), 16);
  EXPECT_EQ(most_lanes(plan, Op::kGather), 16);
}

TEST(NarrowRows, SideBySideAreCopiedAsOne) {
  const std::string x = " x = f32[50,20,3] parameter(0)\n y = f32[50,30,3] parameter(1)\n";
  for (const char* root : {"f32[50,50,3] concatenate(x, y), dimensions={1}",
                           "f32[50,40,3] concatenate(x, x), dimensions={1}"})
    EXPECT_EQ(most_lanes(plan_of(cat(x, " ROOT r = ", root)), Op::kStore), 16) << root;
}

TEST(NarrowRows, UnderWindowsAreOne) {
  const std::string x = " x = f32[50,20,3] parameter(0)\n z = f32[] constant(0)\n";
  const char* const root =
      " ROOT w = f32[48,17,3] reduce-window(x, z), window={size=3x4x1}, to_apply=sum";
  EXPECT_EQ(most_lanes(plan_of(x + root), Op::kStore), 16);
  EXPECT_EQ(most_lanes(plan_of(x + " ROOT w = f32[48,9,3] reduce-window(x, z), window={size=3x4x1 "
                                   "stride=1x2x1}, to_apply=sum"),
                       Op::kStore),
            3);
}

// No padded array is stored, and what two paddings are put around is computed in both places.
TEST(Paddings, AreReadWhereTheyLie) {
  const Plan plan = plan_of(
      " x = f32[20,40] parameter(0)\n y = f32[20,40] parameter(1)\n z = f32[] constant(0)\n"
      " s = f32[20,40] subtract(x, y)\n p = f32[21,41] pad(s, z), padding=1_0x0_1\n"
      " q = f32[21,41] pad(s, z), padding=0_1x1_0\n ROOT r = f32[21,41] add(p, q)");
  EXPECT_EQ(plan.buffers.size(), 3U);
}

TEST(NarrowRows, OfWindowsAreCopiedAsOne) {
  const Plan plan = plan_of(
      " x = f32[9,20,30,3] parameter(0)\n i = s32[9,2] parameter(1)\n"
      " ROOT g = f32[9,16,16,3] gather(x, i), offset_dims={1,2,3}, collapsed_slice_dims={}, "
      "operand_batching_dims={0}, start_indices_batching_dims={0}, start_index_map={1,2}, "
      "index_vector_dim=1, slice_sizes={1,16,16,3}");
  EXPECT_EQ(most_lanes(plan, Op::kLoad), 16);
  EXPECT_EQ(count(plan, Op::kShuffle), 0);
}

// A flag of each image, which is the same for all of its rows.
TEST(NarrowRows, OfImagesOfWhichSomeAreTurned) {
  const Plan plan = plan_of(
      " x = f32[40,9,33,3] parameter(0)\n p = pred[40] parameter(1)\n"
      " f = pred[40,9,33,3] broadcast(p), dimensions={0}\n"
      " r = f32[40,9,33,3] reverse(x), dimensions={2}\n ROOT y = f32[40,9,33,3] select(f, r, x)");
  EXPECT_EQ(most_lanes(plan, Op::kSelect), 16);
}

TEST(NarrowRows, RowsOfManyElementsStay) {
  EXPECT_GT(count(plan_of(sum_of_rows("[2000]", "[2000,100]", "1")), Op::kReduceLanes), 0);
  EXPECT_EQ(count(plan_of(sum_of_rows("[2000]", "[2000,13]", "1")), Op::kReduceLanes), 0);
}

// Rows that lie whole at another place are vectors of their own.
TEST(NarrowRows, WholeRowsAreMovedAsTheyAre) {
  for (const std::string lines :
       {" i = s32[300,1] parameter(1)\n ROOT y = f32[300,16] gather(x, i), offset_dims={1}, "
        "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,16}",
        " ROOT y = f32[1000,16] reverse(x), dimensions={0}",
        " ROOT y = f32[500,16] slice(x), slice={[0:1000:2],[0:16]}"})
    EXPECT_EQ(count(plan_of(" x = f32[1000,16] parameter(0)\n" + lines), Op::kShuffle), 0) << lines;
  const Plan plan = plan_of(
      " x = f32[1000,16,3] parameter(0)\n ROOT y = f32[1000,16,3] reverse(x), dimensions={2}");
  EXPECT_EQ(most_lanes(plan, Op::kStore), 16);
}

TEST(NarrowRows, PartsOfWideRowsStay) {
  const Plan plan = plan_of(
      " x = f32[64,512] parameter(0)\n s = f32[64] parameter(1)\n"
      " p = f32[64,4] slice(x), slice={[0:64],[128:132]}\n"
      " t = f32[64,4] broadcast(s), dimensions={0}\n ROOT y = f32[64,4] divide(p, t)");
  EXPECT_EQ(count(plan, Op::kGather), 0);
  EXPECT_EQ(most_lanes(plan, Op::kDiv), 4);
}

TEST(NarrowRows, ThatATransposeMovesAreCopied) {
  for (int columns : {3, 4}) {
    const Plan plan =
        plan_of(cat(" x = f32[300,16,", columns, "] parameter(0)\n ROOT y = f32[16,300,", columns,
                    "] transpose(x), dimensions={1,0,2}"));
    EXPECT_EQ(count(plan, Op::kGather), 0);
    EXPECT_EQ(count(plan, Op::kShuffle), 0);
    EXPECT_EQ(most_lanes(plan, Op::kStore), columns);
    EXPECT_EQ(most_lanes(plan, Op::kLoad), columns);
  }
}

}  // namespace
}  // namespace heddle::cpu
