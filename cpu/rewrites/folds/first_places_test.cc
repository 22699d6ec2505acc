#include "heddle/cpu/rewrites/folds/first_places.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"

namespace heddle::cpu {
namespace {

using base::cat;

// JAX's combiner of argmax (GT) and argmin (LT).
std::string combiner(const std::string& type, const std::string& direction) {
  return cat("f { a = ", type, "[] parameter(0)\n i = s32[] parameter(1)\n b = ", type,
             "[] parameter(2)\n j = s32[] parameter(3)\n better = pred[] compare(a, b), direction=",
             direction,
             "\n nan = pred[] compare(a, a), direction=NE\n keeps = pred[] or(better, nan)\n"
             " x = ",
             type,
             "[] select(keeps, a, b)\n equal = pred[] compare(a, b), direction=EQ\n"
             " lower = pred[] compare(i, j), direction=LT\n tie = pred[] and(equal, lower)\n"
             " first = pred[] or(keeps, tie)\n k = s32[] select(first, i, j)\n ROOT r = (",
             type, "[], s32[]) tuple(x, k) }\n");
}

struct Search {
  std::string type = "f32";
  std::string direction = "GT";
  std::string worst = "-inf";
  int along = 1;
  std::string place = "0";
  std::string lines = "";  // of the combiner in place of JAX's
};

hlo::Module module_of(const Search& s, int wanted = 1) {
  const std::string x = s.type + "[40,500]", rows = s.along == 0 ? "[500]" : "[40]";
  const std::string positions = s.along == 0 ? "[40]" : "[500]";
  const std::string of = (wanted == 1 ? "s32" : s.type) + rows;
  return hlo::parse_text(
             cat("HloModule m\n", s.lines.empty() ? combiner(s.type, s.direction) : s.lines,
                 "ENTRY e {\n x = ", x, " parameter(0)\n i = s32", positions,
                 " iota(), iota_dimension=0\n p = s32[40,500] broadcast(i), dimensions={", s.along,
                 "}\n w = ", s.type, "[] constant(", s.worst, ")\n z = s32[] constant(", s.place,
                 ")\n r = (", s.type, rows, ", s32", rows, ") reduce(x, p, w, z), dimensions={",
                 s.along, "}, to_apply=f\n ROOT k = ", of, " get-tuple-element(r), index=", wanted,
                 "\n}\n"))
      .value();
}

bool is_written(const hlo::Module& module) {
  const hlo::Module written = find_first_places(module).value();
  return std::ranges::none_of(written.entry_computation().instructions, [](const auto& each) {
    return each.opcode == hlo::Opcode::kReduce && each.operands.size() == 4;
  });
}

// Few values, so that many are equal.
template <class T>
Literal numbers(DType dtype, std::initializer_list<T> odd) {
  std::vector<T> values;
  for (int i = 0; i < 20000; ++i) values.push_back(static_cast<T>((i * i) % 7 - 3));
  size_t at = 85;
  for (const T x : odd) values[at += 37] = x;
  return Literal::from<T>(Shape(dtype, {40, 500}), std::span<const T>(values));
}

void expect_same(const hlo::Module& module, const Literal& x) {
  ASSERT_TRUE(is_written(module));
  EXPECT_EQ(interpreter::evaluate(find_first_places(module).value(), {x}).value(),
            interpreter::evaluate(module, {x}).value());
}

TEST(FirstPlaces, AreThoseOfTheCombiner) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const int along : {0, 1}) {
    for (const bool greatest : {true, false}) {
      const std::string direction = greatest ? "GT" : "LT", worst = greatest ? "-inf" : "inf";
      const Search search = {.direction = direction, .worst = worst, .along = along};
      const hlo::Module module = module_of(search);
      expect_same(module, numbers<float>(f32, {}));
      expect_same(module, numbers<float>(f32, {nan, infinity, -infinity, nan, nan, -0.0F}));
      expect_same(module, Literal(Shape(f32, {40, 500})));
      const std::vector<float> same(20000, greatest ? -infinity : infinity);
      expect_same(module, Literal::from<float>(Shape(f32, {40, 500}), std::span(same)));
      expect_same(module_of({.type = "s32",
                             .direction = direction,
                             .worst = greatest ? "-2147483648" : "2147483647",
                             .along = along}),
                  numbers<int32_t>(s32, {INT32_MIN, INT32_MAX}));
    }
  }
}

// Truths at these places of each row but the first, and nowhere else.
Literal mask(std::initializer_list<size_t> places, bool truth) {
  Literal x(Shape(pred, {40, 500}));
  std::byte* bytes = x.mutable_bytes();
  for (size_t i = 0; i < 20000; ++i) {
    const bool is_place = i >= 500 && std::ranges::count(places, i % 500) > 0;
    bytes[i] = std::byte{is_place == truth};
  }
  return x;
}

TEST(FirstPlaces, OfMasks) {
  for (const int along : {0, 1}) {
    for (const bool greatest : {true, false}) {
      const hlo::Module module = module_of({.type = "pred",
                                            .direction = greatest ? "GT" : "LT",
                                            .worst = greatest ? "false" : "true",
                                            .along = along});
      for (const bool truth : {false, true}) {
        expect_same(module, mask({}, truth));
        expect_same(module, mask({0}, truth));
        expect_same(module, mask({499}, truth));
        expect_same(module, mask({3, 4, 77, 300}, truth));
      }
    }
  }
}

TEST(FirstPlaces, AreWantedWithoutTheExtreme) { EXPECT_FALSE(is_written(module_of({}, 0))); }

TEST(FirstPlaces, AreNotThoseOfOtherStarts) {
  EXPECT_FALSE(is_written(module_of({.worst = "0"})));
  EXPECT_FALSE(is_written(module_of({.place = "-1"})));
  EXPECT_TRUE(is_written(module_of({.place = "2147483647"})));
}

// The last one of equals, and a number where there is a NaN.
TEST(FirstPlaces, AreNotThoseOfOtherCombiners) {
  const std::string jax = combiner("f32", "GT");
  const auto with = [&](const std::string& what, const std::string& now) {
    std::string lines = jax;
    lines.replace(lines.find(what), what.size(), now);
    return Search{.lines = lines};
  };
  EXPECT_TRUE(is_written(module_of({.lines = jax})));
  EXPECT_FALSE(
      is_written(module_of(with("compare(i, j), direction=LT", "compare(j, i), direction=LT"))));
  EXPECT_FALSE(
      is_written(module_of(with("compare(a, a), direction=NE", "compare(a, a), direction=LT"))));
  EXPECT_FALSE(is_written(module_of(with("select(first, i, j)", "select(first, j, i)"))));
  EXPECT_FALSE(is_written(module_of(with("select(first, i, j)", "add(i, j)"))));
  EXPECT_FALSE(is_written(module_of(with("select(keeps, a, b)", "select(keeps, b, a)"))));
}

}  // namespace
}  // namespace heddle::cpu
