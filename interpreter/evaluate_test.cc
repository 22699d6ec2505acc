// The evaluator itself: order, moves, sharing, errors, threads. What ops compute is tested beside
// each op.
#include "heddle/interpreter/evaluate.h"

#include <algorithm>
#include <thread>

#include "heddle/base/support_test.h"
#include "heddle/hlo/builder.h"
#include "heddle/interpreter/internal/plan.h"
#include "heddle/interpreter/internal/testing.h"

namespace heddle::interpreter {
namespace {

TEST(Evaluate, ReturnsTheRootOfTheEntry) {
  const Literal sum = run(R"(HloModule m
    ENTRY main {
      x = f32[2] parameter(0)
      y = f32[2] parameter(1)
      ROOT sum = f32[2] add(x, y)
    })",
                          {floats({1, 2}), floats({10, 20})});
  EXPECT_THAT(sum.values<float>(), ElementsAre(11, 22));
}

TEST(Evaluate, AValueReadManyTimesKeepsItsValue) {
  const Literal both = run(R"(HloModule m
    ENTRY main {
      x = f32[2] parameter(0)
      double = f32[2] add(x, x)
      square = f32[2] multiply(x, x)
      ROOT both = (f32[2], f32[2], f32[2]) tuple(double, square, x)
    })",
                           {floats({3, 5})});
  EXPECT_THAT(both.element(0).values<float>(), ElementsAre(6, 10));
  EXPECT_THAT(both.element(1).values<float>(), ElementsAre(9, 25));
  EXPECT_THAT(both.element(2).values<float>(), ElementsAre(3, 5));
}

TEST(Evaluate, ArgumentsThatTheCallerKeepsAreNotWrittenTo) {
  const Literal mine = floats({1, 2, 3});
  const Literal updated = run(R"(HloModule m
    ENTRY main {
      x = f32[3] parameter(0)
      u = f32[1] constant({9})
      i = s32[] constant(1)
      ROOT y = f32[3] dynamic-update-slice(x, u, i)
    })",
                              {mine});
  EXPECT_THAT(updated.values<float>(), ElementsAre(1, 9, 3));
  EXPECT_THAT(mine.values<float>(), ElementsAre(1, 2, 3));
}

TEST(Evaluate, ConstantsAreNotWrittenTo) {
  auto evaluator = Evaluator::prepare(parsed(R"(HloModule m
    ENTRY main {
      x = f32[3] constant({1, 2, 3})
      u = f32[1] constant({9})
      i = s32[] parameter(0)
      ROOT y = f32[3] dynamic-update-slice(x, u, i)
    })"));
  ASSERT_TRUE(evaluator.ok());
  for (int32_t i = 0; i < 3; ++i) {
    auto result = evaluator->run({Literal::from<int32_t>(Shape::scalar(s32), {i})});
    EXPECT_EQ(result->values<float>()[static_cast<size_t>((i + 1) % 3)], (i + 1) % 3 + 1);
  }
}

TEST(Evaluate, ElementsOfOneTupleMayBeReadTwiceAndWithTheTuple) {
  const Literal result = run(R"(HloModule m
    ENTRY main {
      p = (f32[2], f32[2]) parameter(0)
      a = f32[2] get-tuple-element(p), index=0
      again = f32[2] get-tuple-element(p), index=0
      b = f32[2] get-tuple-element(p), index=1
      sum = f32[2] add(a, b)
      ROOT all = (f32[2], f32[2], (f32[2], f32[2])) tuple(sum, again, p)
    })",
                             {Literal::tuple({floats({1, 2}), floats({3, 4})})});
  EXPECT_THAT(result.element(0).values<float>(), ElementsAre(4, 6));
  EXPECT_THAT(result.element(1).values<float>(), ElementsAre(1, 2));
  EXPECT_THAT(result.element(2).element(0).values<float>(), ElementsAre(1, 2));
  EXPECT_THAT(result.element(2).element(1).values<float>(), ElementsAre(3, 4));
}

TEST(Evaluate, ElementsOfAConstantTupleAreRead) {
  EXPECT_THAT(run(R"(HloModule m
    ENTRY main {
      p = (f32[2], s32[1]) constant(({1, 2}, {3}))
      ROOT a = s32[1] get-tuple-element(p), index=1
    })")
                  .values<int32_t>(),
              ElementsAre(3));
}

TEST(Evaluate, RootMayBeAParameterOrAConstant) {
  EXPECT_THAT(run("HloModule m\nENTRY main { ROOT x = f32[2] parameter(0) }", {floats({1, 2})})
                  .values<float>(),
              ElementsAre(1, 2));
  EXPECT_THAT(run("HloModule m\nENTRY main { ROOT x = f32[2] constant({1, 2}) }").values<float>(),
              ElementsAre(1, 2));
}

TEST(Evaluate, NestedTuplesPassThrough) {
  const Literal result =
      run(R"(HloModule m
    ENTRY main {
      p = (f32[1], (f32[1], f32[1])) parameter(0)
      inner = (f32[1], f32[1]) get-tuple-element(p), index=1
      a = f32[1] get-tuple-element(inner), index=0
      b = f32[1] get-tuple-element(inner), index=1
      swapped = (f32[1], f32[1]) tuple(b, a)
      c = f32[1] get-tuple-element(p), index=0
      ROOT r = ((f32[1], f32[1]), f32[1]) tuple(swapped, c)
    })",
          {Literal::tuple({floats({1}), Literal::tuple({floats({2}), floats({3})})})});
  EXPECT_EQ(result.element(0).element(0).values<float>()[0], 3);
  EXPECT_EQ(result.element(0).element(1).values<float>()[0], 2);
  EXPECT_EQ(result.element(1).values<float>()[0], 1);
}

TEST(Evaluate, DeadInstructionsAndUncalledComputationsAreNotLookedAt) {
  EXPECT_THAT(run(R"(HloModule m
    never { ROOT c = f32[9] constant({...}) }
    ENTRY main {
      x = f32[1] parameter(0)
      dead = f32[1] constant({...})
      ROOT y = f32[1] add(x, x)
    })",
                  {floats({2})})
                  .values<float>(),
              ElementsAre(4));
}

TEST(EvaluateErrors, AnElidedConstantIsNamed) {
  EXPECT_EQ(error_of(R"(HloModule m
    ENTRY main {
      weights = f32[3] constant({...})
      ROOT y = f32[3] add(weights, weights)
    })"),
            "constant: weights of main is elided, {...}, so its value is not known; print the "
            "module with all its "
            "constants");
}

TEST(EvaluateErrors, AnOpWithoutEvaluationSaysWhichAndWhy) {
  EXPECT_THAT(error_of(R"(HloModule m
    ENTRY main {
      x = f32[3] constant({1, 2, 3})
      ROOT mixed = f32[3] shuffle(x), dimensions={}
    })"),
              HasSubstr("shuffle: mixed of main "));
}

TEST(EvaluateErrors, TheUsersLineStandsAtTheEnd) {
  Module module;
  ComputationBuilder builder(module, "main");
  builder.set_location({"train.cc", 41});
  const InstructionId weights = builder.constant(Literal::elided(Shape(f32, {3})));
  module.entry = module.add(std::move(builder).finish(weights));
  EXPECT_THAT(base::message_of(Evaluator::prepare(std::move(module)).status()),
              HasSubstr(" [train.cc:41]"));
}

constexpr std::string_view kAdd = R"(HloModule m
  ENTRY main {
    x = f32[2] parameter(0)
    y = f32[2] parameter(1)
    ROOT sum = f32[2] add(x, y)
  })";

TEST(EvaluateErrors, AnArgumentOfAWrongTypeIsNamed) {
  EXPECT_EQ(error_of(kAdd, {floats({1, 2}), floats({1, 2, 3})}),
            "evaluate: parameter 1, y, of m is f32[2]; its argument is f32[3]");
  EXPECT_EQ(error_of(kAdd, {floats({1, 2})}), "evaluate: m takes 2 arguments; got 1");
  EXPECT_EQ(error_of(kAdd, {floats({1, 2}), Literal()}),
            "evaluate: parameter 1, y, of m is f32[2]; its argument is invalid[]");
}

TEST(EvaluateErrors, AnArgumentWithoutAValueIsNamed) {
  EXPECT_EQ(error_of(kAdd, {floats({1, 2}), Literal::elided(Shape(f32, {2}))}),
            "evaluate: the argument of parameter 1, y, of m is elided, {...}; it has no value");
}

// f0 is the identity; each further computation calls the one before it.
Module nested_calls(int depth) {
  Module module;
  ComputationId callee;
  for (int i = 0; i < depth; ++i) {
    ComputationBuilder builder(module);
    InstructionId root = builder.parameter(Shape::scalar(f32));
    if (i > 0) root = *builder.add(Opcode::kCall, {root}, CallAttrs{}, {callee});
    callee = module.add(std::move(builder).finish(root));
  }
  module.entry = callee;
  return module;
}

TEST(EvaluateErrors, HostileNestingIsRefused) {
  EXPECT_EQ(base::message_of(Evaluator::prepare(nested_calls(100'000)).status()),
            "evaluate: computations call each other more than 512 deep");
}

TEST(Evaluate, NestingUpToTheLimitRuns) {
  auto result = evaluate(nested_calls(512), {Literal::from<float>(Shape::scalar(f32), {3})});
  ASSERT_TRUE(result.ok()) << base::message_of(result.status());
  EXPECT_EQ(result->values<float>()[0], 3);
}

TEST(EvaluateErrors, MoreMemoryThanThereIsIsAnError) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer ends the program at such a request";
#endif
  EXPECT_THAT(error_of(R"(HloModule m
    ENTRY main {
      x = f32[] parameter(0)
      ROOT huge = f32[1073741824,134217728] broadcast(x), dimensions={}
    })",
                       {Literal::from<float>(Shape::scalar(f32), {3})}),
              HasSubstr("needs more memory than there is"));
}

// State (i, x[n]): writes i at position i, until i is `trips`. The slice is read as well, after it
// was updated in the text.
std::string update_loop(int64_t n, int64_t trips) {
  const std::string state = base::cat("(s32[], f32[", n, "], f32[])"),
                    x = base::cat("f32[", n, "]");
  return base::cat(R"(HloModule m
    body {
      s = )",
                   state, R"( parameter(0)
      i = s32[] get-tuple-element(s), index=0
      x = )",
                   x, R"( get-tuple-element(s), index=1
      sum = f32[] get-tuple-element(s), index=2
      one = s32[] constant(1)
      next = s32[] add(i, one)
      value = f32[] convert(i)
      row = f32[1] reshape(value)
      updated = )",
                   x, R"( dynamic-update-slice(x, row, i)
      before = f32[1] dynamic-slice(x, i), dynamic_slice_sizes={1}
      old = f32[] reshape(before)
      total = f32[] add(sum, old)
      ROOT out = )",
                   state, R"( tuple(next, updated, total)
    }
    condition {
      s = )",
                   state, R"( parameter(0)
      i = s32[] get-tuple-element(s), index=0
      n = s32[] constant()",
                   trips, R"()
      ROOT goes_on = pred[] compare(i, n), direction=LT
    }
    ENTRY main {
      zero = s32[] constant(0)
      x = )",
                   x, R"( parameter(0)
      sum = f32[] constant(0)
      s = )",
                   state, R"( tuple(zero, x, sum)
      ROOT end = )",
                   state, R"( while(s), condition=condition, body=body
    })");
}

// Were each trip to copy into what the last but one left, an even number of trips would end where
// it began; an odd one would not.
TEST(EvaluateSpeed, ALoopUpdatesItsCarryInPlace) {
  for (const int64_t trips : {1, 2, 1000, 1001}) {
    std::vector<Literal> arguments;
    arguments.emplace_back(Shape(f32, {100'000}));
    const std::byte* bytes = arguments[0].bytes();
    const Literal end = run(update_loop(100'000, trips), std::move(arguments));
    EXPECT_EQ(end.element(1).bytes(), bytes) << trips << " trips";
    EXPECT_EQ(end.element(1).values<float>()[trips - 1], static_cast<float>(trips - 1));
    EXPECT_EQ(end.element(1).values<float>()[trips], 0);
    EXPECT_EQ(end.element(2).values<float>()[0], 0);  // read before it was written
  }
}

TEST(EvaluateOrder, AnUpdateWaitsForTheOtherReadersOfItsOperand) {
  const Module module = parsed(update_loop(1000, 1000));
  const Computation& body = module.computations[0];
  const auto order = evaluation_order(body, std::vector<bool>(body.instructions.size(), true),
                                      {false, false, false});
  auto place = [&](std::string_view name) {
    return std::ranges::find_if(order, [&](InstructionId id) { return body.at(id).name == name; }) -
           order.begin();
  };
  EXPECT_EQ(order.size(), body.instructions.size());
  EXPECT_LT(place("before"), place("updated"));
}

TEST(EvaluateSpeed, PassThroughCarriesAreTheSameBytesAtTheEnd) {
  Literal x = Literal(Shape(f32, {1000}));
  const std::byte* bytes = x.bytes();
  std::vector<Literal> arguments;
  arguments.push_back(std::move(x));
  const Literal end = run(R"(HloModule m
    body {
      s = (s32[], f32[1000]) parameter(0)
      i = s32[] get-tuple-element(s), index=0
      x = f32[1000] get-tuple-element(s), index=1
      one = s32[] constant(1)
      next = s32[] add(i, one)
      ROOT out = (s32[], f32[1000]) tuple(next, x)
    }
    condition {
      s = (s32[], f32[1000]) parameter(0)
      i = s32[] get-tuple-element(s), index=0
      n = s32[] constant(10)
      ROOT goes_on = pred[] compare(i, n), direction=LT
    }
    ENTRY main {
      zero = s32[] constant(0)
      x = f32[1000] parameter(0)
      s = (s32[], f32[1000]) tuple(zero, x)
      ROOT end = (s32[], f32[1000]) while(s), condition=condition, body=body
    })",
                          std::move(arguments));
  EXPECT_EQ(end.element(1).bytes(), bytes);
  EXPECT_TRUE(end.element(1).is_unique());
}

// Scalars lie in a table between scalar ops; each way in and out of it once.
TEST(EvaluateScalars, ReachOpsOnArraysTuplesAndCallsAndComeBack) {
  const Literal all =
      run(R"(HloModule m
    twice {
      x = s32[] parameter(0)
      ROOT y = s32[] add(x, x)
    }
    ENTRY main {
      x = f32[4] parameter(0)
      t = (s32[], s32[]) parameter(1)
      one = s32[] constant(1)
      i = s32[] get-tuple-element(t), index=0
      j = s32[] add(i, one)
      slice = f32[1] dynamic-slice(x, j), dynamic_slice_sizes={1}
      picked = f32[] reshape(slice)
      half = f32[] constant(0.5)
      product = f32[] multiply(picked, half)
      line = f32[1] reshape(product)
      y = f32[4] dynamic-update-slice(x, line, i)
      called = s32[] call(j), to_apply=twice
      k = s32[] subtract(called, one)
      pair = (s32[], f32[]) tuple(k, product)
      inner = s32[] get-tuple-element(pair), index=0
      l = s32[] negate(inner)
      ROOT all = ((s32[], f32[]), f32[4], s32[], s32[], s32[]) tuple(pair, y, l, i, one)
    })",
          {floats({1, 2, 3, 4}), Literal::tuple({run_testing::s32_of(1), run_testing::s32_of(7)})});
  EXPECT_EQ(all.element(0).element(0).to_int64(0), 3);
  EXPECT_EQ(all.element(0).element(1).to_double(0), 1.5);
  EXPECT_THAT(all.element(1).values<float>(), ElementsAre(1, 1.5, 3, 4));
  EXPECT_EQ(all.element(2).to_int64(0), -3);
  EXPECT_EQ(all.element(3).to_int64(0), 1);
  EXPECT_EQ(all.element(4).to_int64(0), 1);
}

// A root that the computation reads too lies in a slot, and one that it does not in the result.
TEST(EvaluateScalars, ARootThatIsReadInsideIsReturnedWhole) {
  const Literal both = run(R"(HloModule m
    body {
      t = (s32[], s32[]) parameter(0)
      i = s32[] get-tuple-element(t), index=0
      a = s32[] get-tuple-element(t), index=1
      one = s32[] constant(1)
      j = s32[] add(i, one)
      b = s32[] add(a, i)
      ROOT r = (s32[], s32[]) tuple(j, b)
      k = s32[] get-tuple-element(r), index=0
      seen = s32[] custom-call(k), custom_call_target="Sharding", custom_call_has_side_effect=true
    }
    less {
      t = (s32[], s32[]) parameter(0)
      i = s32[] get-tuple-element(t), index=0
      n = s32[] constant(4)
      ROOT c = pred[] compare(i, n), direction=LT
    }
    ENTRY main {
      t = (s32[], s32[]) parameter(0)
      ROOT w = (s32[], s32[]) while(t), condition=less, body=body
    })",
                           {Literal::tuple({run_testing::s32_of(0), run_testing::s32_of(5)})});
  EXPECT_EQ(both.element(0).to_int64(0), 4);
  EXPECT_EQ(both.element(1).to_int64(0), 11);
}

// The buffers of a loop's states are written to again, so a state must not be one that somebody
// else holds.
TEST(EvaluateScalars, ALoopLeavesTheScalarsOfItsFirstStateAlone) {
  const Literal all = run(R"(HloModule m
    body {
      t = (s32[], s32[]) parameter(0)
      i = s32[] get-tuple-element(t), index=0
      a = s32[] get-tuple-element(t), index=1
      one = s32[] constant(1)
      j = s32[] add(i, one)
      ROOT r = (s32[], s32[]) tuple(j, i)
    }
    less {
      t = (s32[], s32[]) parameter(0)
      i = s32[] get-tuple-element(t), index=0
      n = s32[] constant(5)
      ROOT c = pred[] compare(i, n), direction=LT
    }
    ENTRY main {
      t = (s32[], s32[]) parameter(0)
      w = (s32[], s32[]) while(t), condition=less, body=body
      ROOT all = ((s32[], s32[]), (s32[], s32[])) tuple(t, w)
    })",
                          {Literal::tuple({run_testing::s32_of(0), run_testing::s32_of(9)})});
  EXPECT_EQ(all.element(0).element(0).to_int64(0), 0);
  EXPECT_EQ(all.element(0).element(1).to_int64(0), 9);
  EXPECT_EQ(all.element(1).element(0).to_int64(0), 5);
  EXPECT_EQ(all.element(1).element(1).to_int64(0), 4);
}

TEST(EvaluateThreads, OneEvaluatorRunsInFourThreadsAtOnce) {
  auto evaluator = Evaluator::prepare(parsed(R"(HloModule m
    square { x = f32[] parameter(0) c = f32[] constant(0.5) y = f32[] multiply(x, x) ROOT z = f32[] add(y, c) }
    ENTRY main {
      x = f32[1000] parameter(0)
      ROOT y = f32[1000] map(x), dimensions={0}, to_apply=square
    })"));
  ASSERT_TRUE(evaluator.ok()) << base::message_of(evaluator.status());
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 50; ++round) {
        const std::vector<float> x(1000, static_cast<float>(t + 1));
        auto y = evaluator->run({Literal::from<float>(Shape(f32, {1000}), x)});
        const float want = static_cast<float>((t + 1) * (t + 1)) + 0.5f;
        for (float each : y->values<float>()) wrong[t] += each != want;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
}

// Captured values become parameters in the middle of the table: after other instructions.
TEST(Evaluator, ParameterAfterOtherInstructionsKeepsItsValue) {
  Module module;
  ComputationBuilder builder(module);
  const InstructionId x = builder.parameter(Shape::scalar(f32));
  const InstructionId minus_x = *builder.add(Opcode::kNegate, {x});
  const InstructionId y = builder.parameter(Shape::scalar(f32));
  const InstructionId root = *builder.add(Opcode::kSubtract, {minus_x, y});
  module.entry = module.add(std::move(builder).finish(root));
  const StatusOr<Literal> value =
      evaluate(module, {Literal::scalar(f32, 3.0), Literal::scalar(f32, 4.0)});
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(value->to_double(0), -7.0);
}

}  // namespace
}  // namespace heddle::interpreter
