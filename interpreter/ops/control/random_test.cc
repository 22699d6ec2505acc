// The generators by the known answers of their authors and of XLA, and what rng promises: ranges,
// moments, and that a seed decides.
#include <cmath>
#include <set>

#include "heddle/base/support_test.h"
#include "heddle/hlo/literal/native.h"
#include "heddle/interpreter/internal/testing.h"
#include "heddle/interpreter/ops/control/random_bits.h"
#include "heddle/interpreter/ops/op_testing.h"

namespace heddle::interpreter {
namespace {

using op_testing::evaluate;

// From the file kat_vectors of Random123.
TEST(Threefry, GivesTheKnownAnswers) {
  EXPECT_THAT(threefry({0, 0}, {0, 0}), ElementsAre(0x6b200159u, 0x99ba4efeu));
  EXPECT_THAT(threefry({~0u, ~0u}, {~0u, ~0u}), ElementsAre(0x1cb996fcu, 0xbb002be7u));
  EXPECT_THAT(threefry({0x13198a2eu, 0x03707344u}, {0x243f6a88u, 0x85a308d3u}),
              ElementsAre(0xc4923a9cu, 0x483df7a0u));
}

TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_THAT(philox({0, 0}, {0, 0, 0, 0}),
              ElementsAre(0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u));
  EXPECT_THAT(philox({~0u, ~0u}, {~0u, ~0u, ~0u, ~0u}),
              ElementsAre(0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu));
  EXPECT_THAT(
      philox({0xa4093822u, 0x299f31d0u}, {0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}),
      ElementsAre(0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u));
}

TEST(WideCounters, CarryIntoTheHighWord) {
  const WideCounter next = advanced({~uint64_t{0} - 1, 7}, 3);
  EXPECT_EQ(next.low, 1u);
  EXPECT_EQ(next.high, 8u);
}

Literal state_of(std::initializer_list<uint64_t> words) {
  return Literal::from<uint64_t>(Shape(u64, {static_cast<int64_t>(words.size())}), words);
}
// (next state, bits).
Literal draw(RandomAlgorithm algorithm, const Literal& state, const Shape& bits) {
  return evaluate(Opcode::kRngBitGenerator, {state}, RngBitGeneratorAttrs{algorithm},
                  Shape::tuple({state.shape(), bits}));
}
// The bits of that, and that the state behind them is `next`.
std::vector<uint32_t> words_drawn(RandomAlgorithm algorithm, std::initializer_list<uint64_t> state,
                                  const Shape& bits, std::vector<uint64_t> next) {
  const Literal drawn = draw(algorithm, state_of(state), bits);
  EXPECT_THAT(drawn.element(0).values<uint64_t>(), testing::ElementsAreArray(next));
  const auto words = drawn.element(1).values<uint32_t>();
  return {words.begin(), words.end()};
}
constexpr auto kThreeFry = RandomAlgorithm::kThreeFry;
constexpr auto kPhilox = RandomAlgorithm::kPhilox;

// Of XLA, by way of StableHLO's testdata/rng_bit_generator_uint64_2.
TEST(RngBitGenerator, GivesTheWordOfXla) {
  const Literal drawn = draw(kThreeFry, state_of({3, 3}), Shape::scalar(u64));
  EXPECT_EQ(drawn.element(1).values<uint64_t>()[0], 3349939604322698703u);
  EXPECT_THAT(drawn.element(0).values<uint64_t>(), ElementsAre(3, 4));
}

TEST(RngBitGenerator, ThreeFryPutsTwoWordsAlongTheFirstEvenDimension) {
  const auto words = words_drawn(kThreeFry, {5, 100}, Shape(u32, {3, 4}),
                                 {5, 106});  // pairs along dimension 1: 3 x 2 blocks
  for (uint32_t row = 0; row < 3; ++row) {
    for (uint32_t pair = 0; pair < 2; ++pair) {
      const auto block = threefry({5, 0}, {100 + row * 2 + pair, 0});
      EXPECT_EQ(words[row * 4 + pair * 2], block[0]);
      EXPECT_EQ(words[row * 4 + pair * 2 + 1], block[1]);
    }
  }
}

TEST(RngBitGenerator, ThreeFryMakesTheLargestOddDimensionEven) {
  const auto words = words_drawn(kThreeFry, {5, 0}, Shape(u32, {5, 3}),
                                 {5, 9});  // pairs along dimension 0: 3 x 3 blocks
  for (uint32_t row = 0; row < 5; ++row) {
    for (uint32_t column = 0; column < 3; ++column) {
      EXPECT_EQ(words[row * 3 + column], threefry({5, 0}, {row / 2 * 3 + column, 0})[row % 2]);
    }
  }
}

TEST(RngBitGenerator, PhiloxTakesWordsInTurn) {
  const uint64_t key = 0x100000002;
  const Literal drawn = draw(kPhilox, state_of({key, 40, 50}), Shape(u32, {6}));
  EXPECT_THAT(drawn.element(0).values<uint64_t>(), ElementsAre(key, 42, 50));
  const auto first = philox({2, 1}, {40, 0, 50, 0}), second = philox({2, 1}, {41, 0, 50, 0});
  EXPECT_THAT(drawn.element(1).values<uint32_t>(),
              ElementsAre(first[0], first[1], first[2], first[3], second[0], second[1]));
}

TEST(RngBitGenerator, PhiloxOfTwoWordsTakesItsKeyForTheHighCounterToo) {
  const Literal drawn = draw(kPhilox, state_of({9, 40}), Shape(u64, {3}));
  EXPECT_THAT(drawn.element(0).values<uint64_t>(), ElementsAre(9, 42));
  const auto block = philox({9, 0}, {41, 0, 9, 0});
  EXPECT_EQ(drawn.element(1).values<uint64_t>()[2], block[0] | uint64_t{block[1]} << 32);
}

TEST(RngBitGenerator, NarrowTypesKeepTheLowBits) {
  const auto wide = draw(kPhilox, state_of({1, 2}), Shape(u32, {9})).element(1);
  const auto narrow = draw(kPhilox, state_of({1, 2}), Shape(s8, {9})).element(1);
  const auto half = draw(kPhilox, state_of({1, 2}), Shape(f16, {9})).element(1);
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(narrow.values<int8_t>()[i], static_cast<int8_t>(wide.values<uint32_t>()[i]));
    EXPECT_EQ(half.values<F16>()[i].bits, static_cast<uint16_t>(wide.values<uint32_t>()[i]));
  }
}

TEST(RngBitGenerator, DefaultIsPhiloxAndNothingTakesNothing) {
  EXPECT_EQ(draw(RandomAlgorithm::kDefault, state_of({1, 2}), Shape(u32, {9})),
            draw(kPhilox, state_of({1, 2}), Shape(u32, {9})));
  for (RandomAlgorithm algorithm : {kThreeFry, kPhilox}) {
    const Literal drawn = draw(algorithm, state_of({1, 2}), Shape(u32, {3, 0}));
    EXPECT_THAT(drawn.element(0).values<uint64_t>(), ElementsAre(1, 2));
  }
}

TEST(RngBitGenerator, RefusesOtherStates) {
  auto error = [](RandomAlgorithm algorithm, const Shape& state, const Shape& bits) {
    return base::message_of(op_testing::try_evaluate(Opcode::kRngBitGenerator, {Literal(state)},
                                                     RngBitGeneratorAttrs{algorithm},
                                                     Shape::tuple({state, bits}))
                                .status());
  };
  EXPECT_EQ(error(kThreeFry, Shape(u64, {3}), Shape(u32, {2})),
            "rng-bit-generator: state is u64[3]; must be u64[2] for rng_three_fry");
  EXPECT_EQ(error(kPhilox, Shape(u32, {4}), Shape(u32, {2})),
            "rng-bit-generator: state is u32[4]; must be u64[2] or u64[3]");
  EXPECT_THAT(error(kPhilox, Shape(u64, {2}), Shape(pred, {2})),
              HasSubstr("its bits must be of integers or floats"));
}

Literal run_with_seed(std::string_view text, uint64_t seed) {
  auto evaluator = Evaluator::prepare(run_testing::parsed(text));
  if (!evaluator.ok()) throw std::runtime_error(base::message_of(evaluator.status()));
  auto result = evaluator->run({}, {.seed = seed});
  if (!result.ok()) throw std::runtime_error(base::message_of(result.status()));
  return *std::move(result);
}

// rng of a type between two bounds.
std::string program(std::string_view type, std::string_view size, std::string_view a,
                    std::string_view b, std::string_view distribution = "rng_uniform") {
  return base::cat("HloModule m\nENTRY main {\n  a = ", type, "[] constant(", a, ")\n  b = ", type,
                   "[] constant(", b, ")\n  ROOT x = ", type, "[", size,
                   "] rng(a, b), distribution=", distribution, "\n}");
}

TEST(Rng, TheSeedDecides) {
  const std::string text = program("f32", "100", "0", "1");
  EXPECT_EQ(run_with_seed(text, 7), run_with_seed(text, 7));
  EXPECT_FALSE(run_with_seed(text, 7) == run_with_seed(text, 8));
}

TEST(Rng, TheSecondOfARunDiffersFromTheFirst) {
  const Literal two = run_with_seed(R"(HloModule m
    ENTRY main {
      a = f32[] constant(0)
      b = f32[] constant(1)
      x = f32[9] rng(a, b), distribution=rng_uniform
      y = f32[9] rng(a, b), distribution=rng_uniform
      ROOT both = (f32[9], f32[9]) tuple(x, y)
    })",
                                    1);
  EXPECT_FALSE(two.element(0) == two.element(1));
}

TEST(Rng, UniformNumbersFillTheirRangeAndStayBelowIt) {
  for (std::string_view type : {"f32", "f64", "bf16", "f16", "f8e4m3fn"}) {
    const Literal x = run_with_seed(program(type, "4000", "-2", "3"), 3);
    double sum = 0, least = op_testing::kInf, most = -op_testing::kInf;
    for (double each : op_testing::numbers(x)) {
      sum += each;
      least = std::min(least, each);
      most = std::max(most, each);
    }
    EXPECT_GE(least, -2) << type;
    EXPECT_LT(most, 3) << type;
    EXPECT_LT(least, -1.9) << type;
    EXPECT_GT(most, 2.7) << type;
    EXPECT_NEAR(sum / 4000, 0.5, 0.12) << type;  // 5 deviations of the mean, and the rounding of f8
  }
}

TEST(Rng, UniformIntegersTakeEachValue) {
  const Literal x = run_with_seed(program("s8", "1000", "-3", "4"), 3);
  const std::vector<int64_t> values = op_testing::integers(x);
  EXPECT_THAT(std::set<int64_t>(values.begin(), values.end()), ElementsAre(-3, -2, -1, 0, 1, 2, 3));
}

TEST(Rng, NormalNumbersHaveTheirMoments) {
  const Literal x = run_with_seed(program("f32", "20001", "10", "2", "rng_normal"), 3);
  double sum = 0, squares = 0;
  for (double each : op_testing::numbers(x)) {
    sum += each;
    squares += (each - 10) * (each - 10);
  }
  EXPECT_NEAR(sum / 20001, 10, 5 * 2 / std::sqrt(20001.0));
  EXPECT_NEAR(squares / 20001, 4, 5 * 4 * std::sqrt(2 / 20001.0));
}

TEST(Rng, RefusesWhatHasNoSuchDistribution) {
  EXPECT_THAT(run_testing::error_of(program("s32", "3", "0", "1", "rng_normal")),
              HasSubstr("rng: result is s32[3]; must be of floats for rng_normal"));
  EXPECT_THAT(run_testing::error_of(program("pred", "3", "false", "true")),
              HasSubstr("must be of floats or integers"));
}

TEST(RngState, CountsOnWithinARun) {
  const Literal two = run_with_seed(R"(HloModule m
    ENTRY main {
      x = u64[2] rng-get-and-update-state(), delta=5
      y = u64[2] rng-get-and-update-state(), delta=5
      ROOT both = (u64[2], u64[2]) tuple(x, y)
    })",
                                    1);
  EXPECT_THAT(two.element(0).values<uint64_t>(), ElementsAre(0, 0));
  EXPECT_THAT(two.element(1).values<uint64_t>(), ElementsAre(5, 0));
}

}  // namespace
}  // namespace heddle::interpreter
