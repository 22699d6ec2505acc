#include "heddle/hlo/shape.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

#include "heddle/hlo/internal/shape_table.h"

namespace heddle {
namespace {

// Never a permanent one: it has too many dimensions.
Shape counted(int64_t size) { return Shape(f32, {1, 1, 1, 1, 1, 1, 1, 1, size}); }

base::Hash128 hash_of(const Shape& shape) {
  base::Hasher hasher;
  hash_value(hasher, shape);
  return hasher.digest();
}

Shape column_major() {
  Shape shape(f32, {2, 3});
  shape.set_layout({.minor_to_major = {0, 1}});
  return shape;
}

TEST(Shape, IsAPointer) { EXPECT_EQ(sizeof(Shape), sizeof(void*)); }

TEST(Shape, EqualOnesAreOneRecord) {
  const Shape a(f32, {2, 3}), b(f32, std::vector<int64_t>{2, 3});
  EXPECT_EQ(a, b);
  EXPECT_EQ(&a.dimensions(), &b.dimensions());
  EXPECT_EQ(counted(5), counted(5));
  EXPECT_EQ(Shape::tuple({a, counted(5)}), Shape::tuple({b, counted(5)}));
  EXPECT_EQ(column_major(), column_major());
}

TEST(Shape, UnlikeOnesAreUnlike) {
  const Shape a(f32, {2, 3});
  EXPECT_NE(a, Shape(f32, {3, 2}));
  EXPECT_NE(a, Shape(f32, {2, 3, 1}));
  EXPECT_NE(a, Shape(s32, {2, 3}));
  EXPECT_NE(a, Shape::tuple({a}));
  EXPECT_NE(Shape::tuple({a}), Shape::buffer(a));
  EXPECT_NE(a, column_major());
  EXPECT_NE(a, Shape());
  EXPECT_NE(Shape::token(), Shape::opaque());
}

TEST(Shape, OfNoTypeIsInvalidAndReadable) {
  const Shape none;
  EXPECT_FALSE(none.is_valid());
  EXPECT_EQ(none, Shape(DType::kInvalid, {}));
  EXPECT_EQ(none.rank(), 0);
  EXPECT_TRUE(none.elements().empty());
  EXPECT_FALSE(none.has_layout());
  EXPECT_EQ(none.byte_size(), 0);
  EXPECT_TRUE(same_type(none, Shape()));
  EXPECT_FALSE(same_type(none, Shape::token()));
}

TEST(Shape, MovesLeaveNothing) {
  Shape from = counted(7);
  const Shape to = std::move(from);
  EXPECT_FALSE(from.is_valid());  // NOLINT(bugprone-use-after-move)
  from = to;
  from = *&from;
  EXPECT_EQ(from, to);
}

TEST(Shape, SizesAreThoseOfItsParts) {
  EXPECT_EQ(Shape(f64, {2, 3}).byte_size(), 48);
  EXPECT_EQ(Shape(f64, {2, 0}).element_count(), 0);
  EXPECT_EQ(Shape::tuple({Shape(f32, {2}), Shape::token(), Shape::scalar(s8)}).byte_size(), 9);
}

// The type of text that nobody has checked yet.
TEST(Shape, SizesThatOverflowAreRefusedLater) {
  const Shape huge(f64, {INT64_MAX, INT64_MAX, 3});
  EXPECT_FALSE(check_shape(huge).ok());
  EXPECT_FALSE(check_shape(Shape(f32, {-1})).ok());
}

TEST(Shape, ChangesMakeAnother) {
  const Shape before(f32, {2, 3});
  Shape after = before;
  after.set_dynamic_dimension(1, true);
  EXPECT_FALSE(before.is_dynamic());
  EXPECT_TRUE(after.is_dynamic_dimension(1));
  EXPECT_FALSE(same_type(before, after));
  EXPECT_EQ(after.with_dtype(s32).with_dtype(f32), after);
  after.set_dynamic_dimension(1, false);
  EXPECT_EQ(before, after);
}

TEST(Shape, LayoutsAreNoPartOfTheType) {
  const Shape plain(f32, {2, 3});
  Shape shape = column_major();
  EXPECT_EQ(shape.layout().minor_to_major, (std::vector<int64_t>{0, 1}));
  EXPECT_TRUE(same_type(shape, plain));
  EXPECT_EQ(hash_of(shape), hash_of(plain));
  shape.clear_layout();
  EXPECT_EQ(shape, plain);
  shape.set_layout({.minor_to_major = {1, 0}});
  EXPECT_EQ(shape, plain);
}

TEST(Shape, LayoutsOfElementsAreNoPartOfTheType) {
  const Shape plain(f32, {2, 3});
  const Shape nested = Shape::tuple({plain, Shape::tuple({column_major()})});
  const Shape without = Shape::tuple({plain, Shape::tuple({plain})});
  EXPECT_NE(nested, without);
  EXPECT_TRUE(same_type(nested, without));
  EXPECT_EQ(hash_of(nested), hash_of(without));
  Shape cleared = nested;
  cleared.clear_layout();
  EXPECT_EQ(cleared, without);
  EXPECT_TRUE(nested.element(1).element(0).has_layout());
}

TEST(Shape, SmallTuplesOfPlainOnesAreNotCounted) {
  const size_t before = ShapeTable::counted_shapes();
  const Shape plain(f32, {4, 321});
  if (ShapeTable::counted_shapes() != before)
    GTEST_SKIP() << "the process has made too many shapes";
  const Shape tuple = Shape::tuple({plain, Shape::tuple({plain})});
  EXPECT_EQ(ShapeTable::counted_shapes(), before);
  const Shape many = Shape::tuple(std::vector<Shape>(17, plain));
  const Shape of_counted = Shape::tuple({plain, counted(4)});
  EXPECT_EQ(ShapeTable::counted_shapes(), before + 3);
}

TEST(Shape, LastHandlesFreeTheRecord) {
  const size_t before = ShapeTable::counted_shapes();
  for (int64_t i = 0; i < 100'000; ++i) {
    const Shape shape = counted(i), tuple = Shape::tuple({shape, Shape(f32, {i, 1})});
    Shape laid_out = shape;
    laid_out.set_layout({.minor_to_major = {0, 1, 2, 3, 4, 5, 6, 7, 8}, .memory_space = 1});
    ASSERT_EQ(tuple.element(0).dimension(8), i);
    ASSERT_EQ(laid_out.layout().memory_space, 1);
  }
  EXPECT_EQ(ShapeTable::counted_shapes(), before);
}

TEST(Shape, NestedOnesAreFreedWithTheOutermost) {
  const size_t before = ShapeTable::counted_shapes();
  Shape shape = counted(3);
  for (int i = 0; i < 60; ++i) shape = Shape::tuple({shape, shape});
  EXPECT_EQ(ShapeTable::counted_shapes(), before + 61);
  shape = Shape();
  EXPECT_EQ(ShapeTable::counted_shapes(), before);
}

// Threads that make, copy and drop the same few shapes agree on one record of each.
TEST(Shape, IsSafeFromThreads) {
  const size_t before = ShapeTable::counted_shapes();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([] {
      for (int64_t i = 0; i < 20'000; ++i) {
        const Shape a = counted(i % 5), b = a, c = counted(i % 5);
        ASSERT_EQ(b, c);
        ASSERT_EQ(Shape(f32, {i % 3000}), Shape(f32, {i % 3000}));
        ASSERT_EQ(Shape::tuple({a, b}), Shape::tuple({c, a}));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ShapeTable::counted_shapes(), before);
}

// Dropped after main(), when other statics of this file are gone.
struct Late {
  Shape shape = counted(11);
  ~Late() { shape = Shape::tuple({shape, Shape(f32, {12})}); }
};
const Late late;
thread_local Late of_thread;

TEST(Shape, OutlivesThreads) {
  std::thread([] { EXPECT_TRUE(of_thread.shape.is_array()); }).join();
  EXPECT_EQ(late.shape, counted(11));
}

}  // namespace
}  // namespace heddle
