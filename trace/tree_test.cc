// Trees: static fields, lists by a function, and several trees at once.
#include "heddle/trace/tree.h"

#include <string>
#include <utility>
#include <vector>

#include "heddle/base/support_test.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/run/program.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

enum class Kind { kFull, kCausal };

struct Attention {
  Tensor w;
  int heads = 4;
  bool biased = false;
  double scale = 0.1;
  std::string name = {};
  Kind kind = Kind::kFull;
  uint64_t seed = ~uint64_t{0};
  static constexpr auto kFields =
      fields(field("w", &Attention::w), static_field("heads", &Attention::heads),
             static_field("biased", &Attention::biased), static_field("scale", &Attention::scale),
             static_field("name", &Attention::name), static_field("kind", &Attention::kind),
             static_field("seed", &Attention::seed));
};

TEST(StaticFields, ComeBackAsTheyWere) {
  const Attention before{ones({2}), 8, true, 1.0 / 3, "a, b", Kind::kCausal, 1};
  const Attention after = tree_map([](const Tensor& x) { return x * 2; }, before);
  EXPECT_THAT(after.w.to_vector<float>(), ElementsAre(2, 2));
  EXPECT_EQ(after.heads, 8);
  EXPECT_TRUE(after.biased);
  EXPECT_EQ(after.scale, 1.0 / 3);
  EXPECT_EQ(after.name, "a, b");
  EXPECT_EQ(after.kind, Kind::kCausal);
  EXPECT_EQ(after.seed, 1U);
  EXPECT_EQ(tree_map([](const Tensor& x) { return x; }, Attention{ones({})}).seed, ~uint64_t{0});
}

TEST(StaticFields, ArePartOfTheStructureAndNoLeaves) {
  const Attention four{ones({2}), 4}, eight{ones({2}), 8};
  EXPECT_EQ(flatten(four).size(), 1U);
  EXPECT_THAT(leaf_paths(tree_spec(four)), ElementsAre(".w"));
  EXPECT_NE(tree_spec(four), tree_spec(eight));
  EXPECT_TRUE(has_structure(four, tree_spec(four)));
  EXPECT_FALSE(has_structure(eight, tree_spec(four)));
  EXPECT_THAT(first_difference(tree_spec(four), tree_spec(eight), "", ""),
              HasSubstr(".heads is the static value 4 and the static value 8"));
}

TEST(StaticFields, OfAProgramAreThoseThatItWasTracedWith) {
  const Attention four{ones({2}), 4}, eight{ones({2}), 8};
  const auto program = trace([](const Attention& a) { return a.w * a.heads; }, four);
  EXPECT_THAT(program.call<Tensor>(four).to_vector<float>(), ElementsAre(4, 4));
  EXPECT_THAT(error_of([&] { program.call<Tensor>(eight); }),
              HasSubstr("heads is the static value 8; it must be the static value 4"));
}

TEST(TreeMap, OfStructsInFunctions) {
  struct Local {
    Tensor a, b;
    static constexpr auto fields() {
      return heddle::fields(field("a", &Local::a), field("b", &Local::b));
    }
  };
  const Local sum = tree_map([](Tensor x, Tensor y) { return x + y; }, Local{ones({}), ones({})},
                             Local{full({}, 2.0f), ones({})});
  EXPECT_EQ(sum.a.item<float>(), 3);
  EXPECT_EQ(sum.b.item<float>(), 2);
  EXPECT_THAT(leaf_paths(tree_spec(sum)), ElementsAre(".a", ".b"));
}

TEST(TreeMap, OfSeveralTreesNamesThePathWhereTheyDiffer) {
  using Tree = std::pair<Tensor, std::vector<Tensor>>;
  const Tree a{ones({}), {ones({}), ones({})}}, b{ones({}), {ones({})}};
  const auto add = [](Tensor x, Tensor y, Tensor z) { return x + y + z; };
  EXPECT_EQ(tree_map(add, a, a, a).second[1].item<float>(), 3);
  const std::string error = error_of([&] { tree_map(add, a, a, b); });
  EXPECT_THAT(error, HasSubstr("tree_map: tree 2[1] is a vector of 1; it must be a vector of 2"));
  EXPECT_THAT(error, HasSubstr("tree_test.cc"));
}

}  // namespace
}  // namespace heddle
