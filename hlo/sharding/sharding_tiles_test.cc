#include "heddle/hlo/sharding/sharding_tiles.h"

#include <numeric>

#include "heddle/base/support_test.h"
#include "heddle/base/text/text_cursor.h"
#include "heddle/hlo/text.h"

namespace heddle::hlo {
namespace {

// The sharding of this text, read as part of a module.
Sharding sharding(const std::string& text, const std::string& type = "f32[]") {
  const auto module =
      parse_text(base::cat("ENTRY main { ROOT x = ", type, " parameter(0), sharding=", text, " }"));
  if (!module.ok()) throw std::runtime_error(base::message_of(module.status()));
  return *module->entry_computation().root_instruction().extras->sharding;
}

Tiles tiles(const std::string& text, std::vector<int64_t> sizes, int64_t devices) {
  return tiles_of(sharding(text), Shape(f32, std::move(sizes)), devices).value();
}

std::string error(const std::string& text, std::vector<int64_t> sizes, int64_t devices) {
  return base::message_of(tiles_of(sharding(text), Shape(f32, std::move(sizes)), devices).status());
}

Literal counted(std::vector<int64_t> sizes) {
  Literal out(Shape(f32, std::move(sizes)));
  std::iota(out.mutable_values<float>().begin(), out.mutable_values<float>().end(), 0.0f);
  return out;
}

TEST(Tiles, ReplicatedIsOneTileOnEveryDevice) {
  const Tiles whole = tiles("{replicated}", {6, 8}, 4);
  EXPECT_TRUE(whole.is_whole());
  EXPECT_EQ(whole.shape, Shape(f32, {6, 8}));
  EXPECT_THAT(whole.of_device, ElementsAre(0, 0, 0, 0));
}

TEST(Tiles, IotaAndListsAreTheSame) {
  for (const char* text : {"{devices=[2,2]<=[4]}", "{devices=[2,2]0,1,2,3}"}) {
    const Tiles four = tiles(text, {6, 8}, 4);
    EXPECT_EQ(four.shape, Shape(f32, {3, 4}));
    EXPECT_THAT(four.start(1), ElementsAre(0, 4));
    EXPECT_THAT(four.start(2), ElementsAre(3, 0));
  }
}

// JAX's spelling of P(None, "a") on a mesh {a: 2, b: 2}, and of P("b") on it.
TEST(Tiles, CopiesAndTranspositions) {
  const Tiles by_a = tiles("{devices=[1,2,2]<=[4] last_tile_dim_replicate}", {6, 8}, 4);
  EXPECT_EQ(by_a.shape, Shape(f32, {6, 4}));
  EXPECT_THAT(by_a.of_device, ElementsAre(0, 0, 1, 1));
  const Tiles by_b = tiles("{devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}", {6}, 4);
  EXPECT_THAT(by_b.of_device, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(by_b.holders(), ElementsAre(0, 1));
}

TEST(Tiles, ArraysThatDoNotDivideAreCutWithZeros) {
  const Tiles uneven = tiles("{devices=[4]<=[4]}", {5}, 4);
  EXPECT_EQ(uneven.shape, Shape(f32, {2}));
  const Literal x = counted({5});
  Literal back(x.shape());
  for (int64_t device = 0; device < 4; ++device) {
    const Literal tile = cut(x, uneven.start(device), uneven.shape);
    if (device > 1) {
      EXPECT_THAT(tile.values<float>(), ElementsAre(device == 2 ? 4 : 0, 0));
    }
    place(tile, uneven.start(device), back);
  }
  EXPECT_EQ(back, x);
}

TEST(Tiles, CutAndPlacedTheyAreTheArray) {
  const Literal x = counted({4, 6});
  const Tiles six = tiles("{devices=[2,3]<=[3,2]T(1,0)}", {4, 6}, 6);
  EXPECT_THAT(cut(x, six.start(0), six.shape).values<float>(), ElementsAre(0, 1, 6, 7));
  EXPECT_THAT(cut(x, six.start(1), six.shape).values<float>(), ElementsAre(12, 13, 18, 19));
  Literal back(x.shape());
  for (int64_t device = 0; device < 6; ++device)
    place(cut(x, six.start(device), six.shape), six.start(device), back);
  EXPECT_EQ(back, x);
}

TEST(Tiles, ThatDoNotFitAreErrors) {
  EXPECT_EQ(error("{devices=[2,2]<=[4]}", {6}, 4),
            "sharding {devices=[2,2]<=[4]}: is of 2 dimensions; f32[6] has 1");
  EXPECT_EQ(error("{devices=[2]<=[2]}", {6}, 4),
            "sharding {devices=[2]<=[2]}: is of other devices than 0 .. 3; must name each once");
  EXPECT_EQ(error("{devices=[4]0,1,1,3}", {6}, 4),
            "sharding {devices=[4]0,1,1,3}: is of other devices than 0 .. 3; must name each once");
  Sharding twice = sharding("{devices=[4]<=[2,2]}");
  twice.iota_transpose = {0, 0};
  EXPECT_EQ(base::message_of(tiles_of(twice, Shape(f32, {6}), 4).status()),
            "sharding: T(0,0): must name each of 2 dimensions once");
  EXPECT_EQ(error("{manual}", {6}, 4),
            "sharding {manual}: does not place elements on devices; use {replicated} or "
            "{devices=..}");
  EXPECT_EQ(error("{devices=[2,2]<=[4] last_tile_dims={manual}}", {6}, 4),
            "sharding {devices=[2,2]<=[4] last_tile_dims={manual}}: has devices along which values "
            "are not copies; must have none here");
}

TEST(LeafShardings, OfTuplesAreTheirsOrOneForAll) {
  const Shape pair = Shape::tuple({Shape(f32, {4}), Shape(f32, {2})});
  const Sharding two = sharding("{{devices=[2]<=[2]}, {replicated}}", "(f32[4], f32[2])");
  EXPECT_EQ(*leaf_shardings(&two, pair).value()[0], two.tuple[0]);
  const Sharding one = sharding("{manual}");
  EXPECT_EQ(leaf_shardings(&one, pair).value()[1], &one);
  EXPECT_EQ(leaf_shardings(nullptr, pair).value()[1], nullptr);
  EXPECT_EQ(base::message_of(leaf_shardings(&two, Shape(f32, {4})).status()),
            "sharding {{devices=[2]<=[2]}, {replicated}}: is of 2 arrays; f32[4] has 1");
}

}  // namespace
}  // namespace heddle::hlo
