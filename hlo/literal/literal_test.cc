#include "heddle/hlo/literal/literal.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace heddle {
namespace {

base::Hash128 hash_of(const Literal& literal) {
  base::Hasher hasher;
  hash_value(hasher, literal);
  return hasher.digest();
}

Literal counting(int64_t size) {
  std::vector<int32_t> values(static_cast<size_t>(size));
  std::iota(values.begin(), values.end(), 0);
  return Literal::from<int32_t>(Shape(s32, {size}), values);
}

TEST(LiteralHash, IsOfTheBytes) {
  for (int64_t size : {1, 16, 17, 1000}) {
    EXPECT_EQ(hash_of(counting(size)), hash_of(counting(size)));
    EXPECT_NE(hash_of(counting(size)), hash_of(counting(size + 1)));
    EXPECT_NE(hash_of(counting(size)), hash_of(counting(size).reshaped(Shape(s32, {size, 1}))));
  }
}

TEST(LiteralHash, FollowsWhatIsWritten) {
  Literal literal = counting(1000);
  const Literal before = literal;
  const base::Hash128 first = hash_of(literal);
  literal.mutable_values<int32_t>()[999] = -1;
  EXPECT_NE(hash_of(literal), first);
  EXPECT_EQ(hash_of(before), first);
  literal.mutable_values<int32_t>()[999] = 999;  // its own by now
  EXPECT_EQ(hash_of(literal), first);
}

TEST(LiteralHash, OfBorrowedBytesFollowsTheLender) {
  std::vector<int32_t> lent(1000, 1);
  const Literal literal = Literal::borrowed(Shape(s32, {1000}), lent.data(), nullptr);
  const base::Hash128 first = hash_of(literal);
  EXPECT_EQ(first, hash_of(Literal::from<int32_t>(literal.shape(), lent)));
  lent[500] = 2;
  EXPECT_NE(hash_of(literal), first);
}

TEST(LiteralHash, IsSafeFromThreads) {
  const Literal literal = counting(100'000);
  std::vector<base::Hash128> hashes(4);
  std::vector<std::thread> threads;
  for (base::Hash128& hash : hashes) threads.emplace_back([&] { hash = hash_of(literal); });
  for (std::thread& thread : threads) thread.join();
  for (const base::Hash128& hash : hashes) EXPECT_EQ(hash, hash_of(literal));
}

TEST(Literal, MovedFromHasAShapeAndNoValue) {
  Literal from = counting(100);
  const Literal to = std::move(from);
  EXPECT_EQ(from.shape(), to.shape());  // NOLINT(bugprone-use-after-move)
  EXPECT_THROW((void)from.bytes(), std::logic_error);
  EXPECT_THROW((void)hash_of(from), std::logic_error);
  from = to;
  EXPECT_EQ(from, to);
}

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
}

TEST(Literal, RefusesOtherWidthsAndCounts) {
  Literal x = counting(6);
  EXPECT_EQ(refusal_of([&] { (void)x.values<double>(); }),
            "literal: values<T>() is of elements of 8 bytes; those of s32[6] have 4: T is the "
            "native type of the dtype");
  EXPECT_NE(refusal_of([&] { (void)x.mutable_values<int8_t>(); }), "none");
  EXPECT_NE(refusal_of([] { (void)Literal().values<float>(); }), "none");
  EXPECT_EQ(refusal_of([] {
              (void)Literal::from<float>(Shape(f32, {8}), {1, 2});
            }),
            "literal: the values have 8 bytes; f32[8] has 32: give one for each element");
  EXPECT_NE(refusal_of([] { (void)Literal::from<float>(Shape(f32, {1}), {1, 2}); }), "none");
  EXPECT_NE(refusal_of([&] { (void)x.reshaped(Shape(s32, {5})); }), "none");
  EXPECT_EQ(x.values<int32_t>().size(), 6u);
  EXPECT_EQ(x.reshaped(Shape(s32, {2, 3})).values<int32_t>()[5], 5);
}

Literal counted(int64_t count) {
  Literal out(Shape(s32, {count}));
  std::iota(out.mutable_values<int32_t>().begin(), out.mutable_values<int32_t>().end(), 0);
  return out;
}

// A range-based for keeps what its range expression gives, and nothing else of it.
TEST(Literal, ValuesOfATemporaryHoldItsMemory) {
  int32_t next = 0;
  for (const int32_t value : counted(1000).values<int32_t>()) ASSERT_EQ(value, next++);
  EXPECT_EQ(next, 1000);
  const auto held = counted(3).values<int32_t>();
  const Literal other = counted(3);  // would lie where that one lay
  const HeldValues<int32_t> copy = held;
  EXPECT_EQ(copy.data(), held.data());
  const std::span<const int32_t> all = copy;
  EXPECT_EQ(all.size(), 3u);
  EXPECT_EQ(all.back(), 2);
  for (const Literal& element : Literal::tuple({counted(2), counted(5)}).elements())
    EXPECT_EQ(element.values<int32_t>().back(), element.element_count() - 1);
  const Literal& first = Literal::tuple({counted(7)}).element(0);
  EXPECT_EQ(first.values<int32_t>()[6], 6);
}

}  // namespace
}  // namespace heddle
