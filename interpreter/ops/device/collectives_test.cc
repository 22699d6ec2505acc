// Collectives of one device, asynchronous forms, dynamic sizes; and what
// they say where that is not enough.
#include "heddle/base/support_test.h"
#include "heddle/interpreter/internal/testing.h"
#include "heddle/interpreter/ops/op_testing.h"

namespace heddle::interpreter {
namespace {

// A program of one f32[3] parameter, x.
std::string program(const std::string& body, const std::string& header = "") {
  return base::cat(
      "HloModule m", header,
      "\n f { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n",
      "g { p = f32[3] parameter(0) ROOT n = f32[3] negate(p) }\n ENTRY main { x = f32[3] "
      "parameter(0) ",
      body, " }");
}
const Literal kX = floats({1, 2, 3});

TEST(Collectives, OfOneDeviceGiveItsValueBack) {
  for (const char* op : {"all-reduce(x), replica_groups={{0}}, to_apply=f",
                         "all-reduce(x), replica_groups={}, to_apply=f",
                         "reduce-scatter(x), replica_groups={}, dimensions={0}, to_apply=f",
                         "all-gather(x), replica_groups=[1,1]<=[1], dimensions={0}",
                         "all-to-all(x), replica_groups={{0}}, dimensions={0}",
                         "collective-broadcast(x), replica_groups={{0}}",
                         "collective-reduce(x), replica_groups={{0}}, to_apply=f",
                         "collective-reduce(x), replica_groups={}, to_apply=f",
                         "collective-permute(x), source_target_pairs={{0,0}}"}) {
    SCOPED_TRACE(op);
    EXPECT_THAT(numbers(run(program(base::cat("ROOT r = f32[3] ", op)), {kX})),
                ElementsAre(1, 2, 3));
  }
}

TEST(Collectives, SeveralOperandsComeBackAsATuple) {
  const Literal out = run(program("n = f32[3] negate(x) ROOT r = (f32[3], f32[3]) all-reduce(x, "
                                  "n), replica_groups={}, to_apply=f"),
                          {kX});
  EXPECT_THAT(numbers(out.element(0)), ElementsAre(1, 2, 3));
  EXPECT_THAT(numbers(out.element(1)), ElementsAre(-1, -2, -3));
  const Literal tuple = run(program("ROOT r = (f32[3]) all-to-all(x), replica_groups={{0}}"), {kX});
  EXPECT_THAT(numbers(tuple.element(0)), ElementsAre(1, 2, 3));
}

TEST(Collectives, PartsOfSeveralDevicesNeedAMesh) {
  EXPECT_EQ(error_of(program("ROOT r = f32[1] custom-call(x), "
                             "custom_call_target=\"SPMDFullToShardShape\""),
                     {kX}),
            "custom-call: SPMDFullToShardShape: makes f32[1] of f32[3], which is a part on one of "
            "several "
            "devices; put the arguments on those: device_put(x, Sharding(mesh, ..))");
}

TEST(Collectives, ADeviceToWhichNothingIsSentHasZeros) {
  EXPECT_THAT(
      numbers(run(program("ROOT r = f32[3] collective-permute(x), source_target_pairs={}"), {kX})),
      ElementsAre(0, 0, 0));
}

TEST(Collectives, StartsAndDonesGoTogether) {
  for (const char* pair :
       {"s = f32[3] all-reduce-start(x), replica_groups={}, to_apply=f ROOT r = f32[3] "
        "all-reduce-done(s)",
        "s = (f32[3], f32[3]) all-gather-start(x), replica_groups={}, dimensions={0} ROOT r = "
        "f32[3] all-gather-done(s)",
        "s = (f32[3], f32[3], u32[], u32[]) collective-permute-start(x), "
        "source_target_pairs={{0,0}} "
        "ROOT r = f32[3] collective-permute-done(s)",
        "s = (f32[3], f32[3], u32[]) copy-start(x) ROOT r = f32[3] copy-done(s)"}) {
    SCOPED_TRACE(pair);
    EXPECT_THAT(numbers(run(program(pair), {kX})), ElementsAre(1, 2, 3));
  }
}

TEST(Collectives, RaggedSlicesAreWrittenToTheirPlaces) {
  const std::string text =
      "HloModule m\n ENTRY main { x = s32[4] parameter(0) out = s32[5] parameter(1) from = s32[2] "
      "parameter(2) n = s32[2] parameter(3) "
      "to = s32[2] parameter(4) got = s32[2] parameter(5) ROOT r = s32[5] ragged-all-to-all(x, "
      "out, from, n, to, got), replica_groups={{0}} }";
  const Literal x = ints({1, 2, 3, 4}), out = ints({-1, -1, -1, -1, -1});
  EXPECT_THAT(numbers(run(text, {x, out, ints({0, 2}), ints({1, 2}), ints({4, 0}), ints({1, 2})})),
              ElementsAre(3, 4, -1, -1, 1));
  EXPECT_EQ(error_of(text, {x, out, ints({0, 3}), ints({1, 2}), ints({4, 0}), ints({1, 2})}),
            "ragged-all-to-all: slice 1 has 2 rows from 3 to 0; must lie in 4 rows of the input "
            "and 5 of the output");
}

TEST(Collectives, OfSeveralDevicesSayWhatTheyNeed) {
  EXPECT_EQ(
      error_of(program("ROOT r = f32[3] all-reduce(x), replica_groups={{0,1,2,3}}, to_apply=f"),
               {kX}),
      "all-reduce: joins 4 devices, and the interpreter is one; run it on a backend with as many, "
      "or write the module for one");
  EXPECT_EQ(
      error_of(program("ROOT r = f32[6] all-gather(x), replica_groups=[1,2]<=[2], dimensions={0}"),
               {kX}),
      "all-gather: joins 2 devices, and the interpreter is one; run it on a backend with as many, "
      "or write the module for one");
  EXPECT_EQ(
      error_of(program("ROOT r = f32[6] all-gather(x), replica_groups={}, dimensions={0}"), {kX}),
      "all-gather: result is declared as f32[6]; of one device it is f32[3], and the interpreter "
      "is one; run it on a backend with several");
  EXPECT_EQ(
      error_of(program("ROOT r = f32[3] collective-reduce(x), replica_groups={{0,1}}, "
                       "to_apply=f"),
               {kX}),
      "collective-reduce: joins 2 devices, and the interpreter is one; run it on a backend with "
      "as many, or write the module for one");
  EXPECT_THAT(
      error_of(program("ROOT r = f32[3] collective-permute(x), source_target_pairs={{0,1},{1,0}}"),
               {kX}),
      HasSubstr("joins 2 devices"));
  EXPECT_EQ(error_of(program("ROOT r = f32[3] all-reduce(x), replica_groups={}, to_apply=f",
                             ", replica_count=2"),
                     {kX}),
            "all-reduce: r of main is for the module's 2 replicas and 1 partitions, and the "
            "interpreter is one device; run it on a backend "
            "with as many");
  EXPECT_THAT(
      error_of("HloModule m, num_partitions=8\n ENTRY main { ROOT i = u32[] partition-id() }"),
      HasSubstr("8 partitions"));
}

TEST(Collectives, CombinersAreOfTheOperandsTypes) {
  const auto error = [](const std::string& combiner, const std::string& op) {
    return base::message_of(parse_text(base::cat("HloModule m\n f { ", combiner,
                                                 " }\n ENTRY main { x = f32[4] parameter(0) ",
                                                 "ROOT r = f32[4] ", op, " }"))
                                .status());
  };
  const std::string reduce = "all-reduce(x), replica_groups={}, to_apply=f";
  EXPECT_THAT(
      error("a = f64[] parameter(0) b = f64[] parameter(1) ROOT c = f64[] add(a, b)", reduce),
      HasSubstr("all-reduce: to_apply takes f64[] as parameter 0; must take f32[]"));
  EXPECT_THAT(
      error("a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = (f32[]) tuple(a)", reduce),
      HasSubstr("to_apply returns (f32[]); must return f32[]"));
  EXPECT_THAT(error("a = f32[4] parameter(0) b = f32[4] parameter(1) ROOT c = f32[4] add(a, b)",
                    "reduce-scatter(x), replica_groups={}, dimensions={0}, to_apply=f"),
              HasSubstr("reduce-scatter: to_apply takes f32[4] as parameter 0; must take f32[]"));
  EXPECT_THAT(error("ROOT a = f32[] parameter(0)", reduce),
              HasSubstr("to_apply takes 1 parameters; must take 2"));
  EXPECT_THAT(error("a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] parameter(2) ROOT d = "
                    "f32[] add(a, b)",
                    reduce),
              HasSubstr("to_apply returns f32[]; must return (f32[])"));
}

TEST(Collectives, NumbersAtTheEndOfTheirRangeAreNoTrouble) {
  EXPECT_THAT(error_of(program("ROOT r = f32[3] collective-permute(x), "
                               "source_target_pairs={{9223372036854775807,0}}"),
                       {kX}),
              HasSubstr("the interpreter is one"));
}

TEST(Collectives, AModuleForSeveralDevicesRunsWhereNothingAsksForThem) {
  EXPECT_THAT(numbers(run(program("ROOT r = f32[3] negate(x)", ", replica_count=4"), {kX})),
              ElementsAre(-1, -2, -3));
}

TEST(Async, RunsItsComputationAtTheStart) {
  const std::string chain =
      "s = ((f32[3]), f32[3], u32[]) async-start(x), calls=g u = ((f32[3]), f32[3], u32[]) "
      "async-update(s) ROOT r = f32[3] async-done(u)";
  EXPECT_THAT(numbers(run(program(chain), {kX})), ElementsAre(-1, -2, -3));
}

TEST(Async, RefusesAStartWhoseTypesAreOthers) {
  const std::string other = program(
      "s = ((f32[3]), f32[4], u32[]) async-start(x), calls=g ROOT r = f32[4] async-done(s)");
  EXPECT_THAT(base::message_of(parse_text(other).status()),
              HasSubstr("must be a tuple of (f32[3]), f32[3] and contexts"));
}

TEST(Domain, PassesItsValueOn) {
  EXPECT_THAT(numbers(run(program("ROOT r = f32[3] domain(x), domain={kind=\"sharding\", "
                                  "entry={replicated}, exit={maximal device=0}}"),
                          {kX})),
              ElementsAre(1, 2, 3));
}

TEST(Transfers, SayThatNobodyIsThere) {
  const std::string feed =
      "HloModule m\n ENTRY main { t = token[] after-all() ROOT r = (f32[3], token[]) infeed(t) }";
  EXPECT_THAT(error_of(feed),
              HasSubstr("no host program feeds it; pass the values as parameters and results"));
}

TEST(DynamicSizes, UpToTheirBoundsAreEvaluated) {
  const std::string text =
      "HloModule m\n ENTRY main { x = f32[3] parameter(0) n = s32[] parameter(1) d = f32[<=3] "
      "set-dimension-size(x, n), dimensions={0} "
      "size = s32[] get-dimension-size(d), dimensions={0} ROOT r = (f32[<=3], s32[]) tuple(d, "
      "size) }";
  const Literal out = run(text, {kX, s32_of(3)});
  EXPECT_THAT(numbers(out.element(0)), ElementsAre(1, 2, 3));
  EXPECT_THAT(numbers(out.element(1)), ElementsAre(3));
  const Literal less = run(text, {kX, s32_of(2)});
  EXPECT_THAT(numbers(less.element(0)), ElementsAre(1, 2));
  EXPECT_THAT(numbers(less.element(1)), ElementsAre(2));
}

TEST(DynamicSizes, ReshapeToTheBounds) {
  const std::string text =
      "HloModule m\n ENTRY main { x = s32[6] parameter(0) n = s32[] parameter(1) m = s32[] "
      "constant(3) "
      "ROOT r = s32[<=2,3] dynamic-reshape(x, n, m) }";
  EXPECT_THAT(numbers(run(text, {ints({1, 2, 3, 4, 5, 6}), s32_of(2)})),
              ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(
      error_of(text, {ints({1, 2, 3, 4, 5, 6}), s32_of(1)}),
      HasSubstr(
          "dynamic-reshape: x is s32[6]; the sizes give s32[1,3]; must have as many elements"));
}

}  // namespace
}  // namespace heddle::interpreter
