#include "heddle/hlo/attrs.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

namespace heddle::hlo {
namespace {

base::Hash128 hash_of(const Attrs& attrs) {
  base::Hasher hasher;
  hash_value(hasher, attrs);
  return hasher.digest();
}

TEST(Attrs, TagsAreKnownWhenCompiling) {
  static_assert(attrs_tag<NoAttrs>() == Opcode(0));
  static_assert(attrs_tag<DimensionsAttrs>() != attrs_tag<IotaAttrs>());
  EXPECT_EQ(Attrs().tag(), attrs_tag<NoAttrs>());
  EXPECT_EQ(Attrs(NoAttrs()).tag(), attrs_tag<NoAttrs>());
  EXPECT_EQ(Attrs(IotaAttrs()).tag(), attrs_tag<IotaAttrs>());
}

TEST(Attrs, CopiesShareTheStruct) {
  const Attrs a = DimensionsAttrs{{1, 0}}, b = a;
  EXPECT_EQ(&a.get<DimensionsAttrs>(), &b.get<DimensionsAttrs>());
  EXPECT_EQ(a, Attrs(DimensionsAttrs{{1, 0}}));
  EXPECT_EQ(hash_of(a), hash_of(DimensionsAttrs{{1, 0}}));
  EXPECT_NE(a, Attrs(DimensionsAttrs{{0, 1}}));
  EXPECT_NE(a, Attrs());
  EXPECT_NE(Attrs(IotaAttrs()), Attrs(TupleIndexAttrs()));
}

TEST(Attrs, AssigningLeavesOthersAlone) {
  Attrs a = IotaAttrs{.iota_dimension = 1};
  const Attrs b = a;
  a = IotaAttrs{.iota_dimension = 2};
  EXPECT_EQ(b.get<IotaAttrs>().iota_dimension, 1);
  const Attrs moved = std::move(a);
  EXPECT_TRUE(a.holds<NoAttrs>());  // NOLINT(bugprone-use-after-move)
  a = *&a;
  EXPECT_EQ(moved.get<IotaAttrs>().iota_dimension, 2);
}

TEST(Attrs, FitTheirOpcode) {
  EXPECT_TRUE(fits(Opcode::kAdd, Attrs()));
  EXPECT_TRUE(fits(Opcode::kReverse, DimensionsAttrs()));
  EXPECT_TRUE(fits(Opcode::kTranspose, DimensionsAttrs()));
  EXPECT_FALSE(fits(Opcode::kReverse, Attrs()));
  EXPECT_FALSE(fits(Opcode::kAdd, DimensionsAttrs()));
  EXPECT_FALSE(fits(Opcode::kIota, TupleIndexAttrs()));
}

TEST(AttrsDeathTest, AnotherStructIsABug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH((void)Attrs(IotaAttrs()).get<DotAttrs>(),
               "bug in heddle: an instruction has IotaAttrs and is read for DotAttrs");
  EXPECT_DEATH((void)Attrs().get<IotaAttrs>(), "has NoAttrs and is read for IotaAttrs");
  EXPECT_DEATH((void)Attrs(IotaAttrs()).get<NoAttrs>(), "is read for NoAttrs");
}

TEST(Attrs, AreSafeFromThreads) {
  const Attrs shared = DimensionsAttrs{{3, 1, 2}};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) {
        const Attrs copy = shared;
        ASSERT_EQ(copy.get<DimensionsAttrs>().dimensions[0], 3);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace heddle::hlo
