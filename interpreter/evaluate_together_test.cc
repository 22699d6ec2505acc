#include "heddle/interpreter/evaluate_together.h"

#include "heddle/base/support_test.h"
#include "heddle/interpreter/custom_call.h"
#include "heddle/interpreter/internal/testing.h"

namespace heddle::interpreter {
namespace {

constexpr const char* kAdd =
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n";

StatusOr<std::vector<Literal>> together(const std::string& entry, const DeviceCounts& devices,
                                        std::vector<std::vector<Literal>> arguments) {
  const auto evaluator = Evaluator::prepare(parsed(base::cat(kAdd, entry)));
  return evaluate_together(evaluator.value(), devices, std::move(arguments));
}

// Device i has the argument {i, 10 * i}.
std::vector<std::vector<Literal>> one_each(int64_t devices) {
  std::vector<std::vector<Literal>> out;
  for (int64_t i = 0; i < devices; ++i)
    out.push_back({floats({static_cast<float>(i), static_cast<float>(10 * i)})});
  return out;
}

std::vector<std::vector<double>> results(const std::string& op, const DeviceCounts& devices) {
  const auto got =
      together(base::cat("ENTRY main { p = f32[2] parameter(0) ROOT r = f32[2] ", op, " }"),
               devices, one_each(devices.total()));
  if (!got.ok()) throw std::runtime_error(base::message_of(got.status()));
  std::vector<std::vector<double>> out;
  for (const Literal& each : *got) out.push_back(numbers(each));
  return out;
}

std::string error(const std::string& op, const DeviceCounts& devices) {
  const auto got =
      together(base::cat("ENTRY main { p = f32[2] parameter(0) ROOT r = f32[2] ", op, " }"),
               devices, one_each(devices.total()));
  return base::message_of(got.status());
}

using Rows = std::vector<std::vector<double>>;

// Two replicas of two partitions: devices 0 and 1 are replica 0.
constexpr DeviceCounts kSquare{2, 2};

TEST(Together, WithoutAChannelGroupsAreOfReplicas) {
  EXPECT_EQ(results("all-reduce(p), replica_groups={}, to_apply=add", kSquare),
            (Rows{{2, 20}, {4, 40}, {2, 20}, {4, 40}}));
}

TEST(Together, WithAChannelAllPartitionsTakePart) {
  EXPECT_EQ(results("all-reduce(p), channel_id=1, replica_groups={{0},{1}}, to_apply=add", kSquare),
            (Rows{{1, 10}, {1, 10}, {5, 50}, {5, 50}}));
}

// An all-reduce of arrays of dynamic size: its type, or the error.
std::string with_sizes(const std::string& size) {
  const auto got = together(
      base::cat(
          "ENTRY main { p = f32[2] parameter(0) u = u32[] replica-id() i = s32[] convert(u) two = "
          "s32[] constant(2) one = s32[] constant(1) d = f32[<=2] set-dimension-size(p, ",
          size,
          "), dimensions={0} ROOT r = f32[<=2] all-reduce(d), replica_groups={}, to_apply=add }"),
      {2, 1}, one_each(2));
  return got.ok() ? to_string((*got)[0].shape()) : base::message_of(got.status());
}

TEST(Together, MembersGiveAsManyElementsEach) {
  EXPECT_EQ(with_sizes("two"), "f32[<=2]");
  EXPECT_EQ(with_sizes("one"), "f32[1]");
  EXPECT_THAT(with_sizes("i"), HasSubstr("must be of one size"));
}

TEST(Together, GlobalNumbersCountReplicaByReplica) {
  EXPECT_EQ(results("all-reduce(p), channel_id=1, replica_groups={{0,3},{1,2}}, "
                    "use_global_device_ids=true, to_apply=add",
                    kSquare),
            (Rows{{3, 30}, {3, 30}, {3, 30}, {3, 30}}));
  EXPECT_EQ(results("all-reduce(p), channel_id=1, replica_groups=[2,2]<=[2,2]T(1,0), "
                    "use_global_device_ids=true, to_apply=add",
                    kSquare),
            (Rows{{2, 20}, {4, 40}, {2, 20}, {4, 40}}));
}

TEST(Together, PermutesAndExchangesOfAChannelAreOfPartitions) {
  EXPECT_EQ(results("collective-permute(p), channel_id=1, source_target_pairs={{0,1}}", kSquare),
            (Rows{{0, 0}, {0, 0}, {0, 0}, {2, 20}}));
  EXPECT_EQ(results("all-to-all(p), channel_id=1, replica_groups={{0,1}}, dimensions={0}", kSquare),
            (Rows{{0, 1}, {0, 10}, {2, 3}, {20, 30}}));
}

TEST(Together, OrderInAGroupIsThatOfTheGroup) {
  const auto got = together(
      "ENTRY main { p = f32[2] parameter(0) ROOT r = f32[4] all-gather(p), replica_groups={{1,0}}, "
      "dimensions={0} }",
      {2, 1}, one_each(2));
  EXPECT_THAT(numbers(got.value()[0]), ElementsAre(1, 10, 0, 0));
}

// Everybody holds all of x; inside, each its own half.
TEST(Together, ManualPartsWorkOnTiles) {
  const auto got = together(R"(ENTRY main {
      x = f32[4] parameter(0)
      cut = f32[4] custom-call(x), custom_call_target="Sharding", sharding={devices=[2]<=[2]}
      tile = f32[2] custom-call(cut), custom_call_target="SPMDFullToShardShape", sharding={manual}
      id = u32[] partition-id()
      n = f32[] convert(id)
      b = f32[2] broadcast(n), dimensions={}
      y = f32[2] add(tile, b)
      ROOT out = f32[4] custom-call(y), custom_call_target="SPMDShardToFullShape", sharding={devices=[2]<=[2]} })",
                            {1, 2}, {{floats({1, 2, 3, 4})}, {floats({1, 2, 3, 4})}});
  EXPECT_THAT(numbers(got.value()[0]), ElementsAre(1, 2, 4, 5));
  EXPECT_EQ(got.value()[0], got.value()[1]);
}

TEST(Together, DevicesThatWaitForEverAreToldSo) {
  // Device 0 leaves the loop before device 1 does.
  const auto got = together(R"(
      body { s = (f32[2], f32[]) parameter(0)
        v = f32[2] get-tuple-element(s), index=0
        n = f32[] get-tuple-element(s), index=1
        w = f32[2] all-reduce(v), replica_groups={{0,1}}, to_apply=add
        one = f32[] constant(1)
        m = f32[] subtract(n, one)
        ROOT t = (f32[2], f32[]) tuple(w, m) }
      cond { s = (f32[2], f32[]) parameter(0)
        n = f32[] get-tuple-element(s), index=1
        zero = f32[] constant(0)
        ROOT c = pred[] compare(n, zero), direction=GT }
      ENTRY main { p = f32[2] parameter(0)
        i = u32[] replica-id()
        n = f32[] convert(i)
        t = (f32[2], f32[]) tuple(p, n)
        w = (f32[2], f32[]) while(t), body=body, condition=cond
        ROOT r = f32[2] get-tuple-element(w), index=0 })",
                            {2, 1}, one_each(2));
  EXPECT_EQ(base::message_of(got.status()),
            "device 1: all-reduce w: waits for devices that never come; all devices of a group "
            "must reach the same collectives in the same order");
}

TEST(Together, TheFirstErrorIsTheCauseNotThoseWhoGaveUp) {
  const auto got = together(
      "ENTRY main { p = f32[2] parameter(0) q = f32[2] custom-call(p), "
      "custom_call_target=\"not_there\" ROOT r = f32[2] all-reduce(q), replica_groups={}, "
      "to_apply=add }",
      {2, 1}, one_each(2));
  EXPECT_THAT(base::message_of(got.status()), HasSubstr("target not_there has no function"));
}

TEST(Together, WrongGroupsAreErrors) {
  EXPECT_THAT(error("all-reduce(p), replica_groups={{0}}, to_apply=add", {2, 1}),
              HasSubstr("device 1: all-reduce: replica_groups leave out 1; must name each of 2 "
                        "once"));
  EXPECT_THAT(error("all-reduce(p), replica_groups={{0,1,2}}, to_apply=add", {2, 1}),
              HasSubstr("replica_groups name 2; must be less than 2"));
  EXPECT_THAT(error("all-to-all(p), replica_groups={{0}}, dimensions={0}", {2, 1}),
              HasSubstr("leave out 1"));
  EXPECT_EQ(
      base::message_of(
          together("ENTRY main { ROOT p = f32[2] parameter(0) }", {2, 1}, one_each(1)).status()),
      "evaluate main: has arguments for 1 devices; must have them for 2 replicas of 1 "
      "partitions");
}

// The header of the modules that JAX's partitioned programs are.
TEST(Together, HeadersThatCountDevicesAreTaken) {
  const auto evaluator = Evaluator::prepare(parsed(
      base::cat("HloModule m, num_partitions=2\n", kAdd,
                "ENTRY main { p = f32[2] parameter(0) ROOT r = f32[2] all-reduce(p), channel_id=1, "
                "replica_groups={{0,1}}, use_global_device_ids=true, to_apply=add }")));
  const auto got = evaluate_together(evaluator.value(), {1, 2}, one_each(2));
  ASSERT_EQ(got.status(), Status());
  EXPECT_THAT(numbers(got->at(1)), ElementsAre(1, 10));
  EXPECT_THAT(base::message_of(evaluator->run({floats({1, 2})}).status()),
              HasSubstr("2 partitions, and the interpreter is one device"));
}

TEST(Together, FourDevicesShareInMeshesAndIotas) {
  EXPECT_EQ(results("all-reduce(p), channel_id=1, replica_groups=mesh['a'=2,'b'=2] {'a'}, "
                    "use_global_device_ids=true, to_apply=add",
                    {1, 4}),
            (Rows{{2, 20}, {4, 40}, {2, 20}, {4, 40}}));
  EXPECT_EQ(
      results("all-to-all(p), channel_id=1, replica_groups=[2,2]<=[2,2]T(1,0), dimensions={0}",
              {1, 4}),
      (Rows{{0, 2}, {1, 3}, {0, 20}, {10, 30}}));
}

TEST(Together, BroadcastsAreOfTheFirstOfAGroup) {
  EXPECT_EQ(results("collective-broadcast(p), channel_id=1, replica_groups={{1,0},{2,3}}", {1, 4}),
            (Rows{{1, 10}, {1, 10}, {2, 20}, {2, 20}}));
}

TEST(Together, ReducesGiveTheFirstOfAGroupAllAndTheOthersZeros) {
  EXPECT_EQ(results("collective-reduce(p), replica_groups={{1,0}}, to_apply=add", {2, 1}),
            (Rows{{0, 0}, {1, 10}}));
}

// Rows p of each of two devices, by slices that all devices say alike.
std::string ragged(const std::string& from, const std::string& sizes, const std::string& to,
                   const std::string& received) {
  const auto list = [](const std::string& name, const std::string& values) {
    const auto count = 1 + std::ranges::count(values, ',');
    return base::cat(name, " = s32[", count, "] constant({", values, "})\n");
  };
  const auto got = together(
      base::cat("ENTRY main {\n p = f32[2] parameter(0)\n", list("a", from), list("b", sizes),
                list("c", to), list("d", received),
                "ROOT r = f32[2] ragged-all-to-all(p, p, a, b, c, d), replica_groups={} }"),
      {2, 1}, one_each(2));
  return got.ok() ? base::join(numbers((*got)[0]), ",") : base::message_of(got.status());
}

TEST(Together, RaggedSlicesOfOthersAreErrors) {
  EXPECT_THAT(ragged("0,1", "0,2", "0,0", "0,2"),
              HasSubstr("ragged-all-to-all: device 1 sends 0 rows to device 0, which receives 2; "
                        "must be as many"));
  EXPECT_THAT(ragged("0,1,1", "1,1,1", "0,1,1", "1,1,1"),
              HasSubstr("ragged-all-to-all: has 3 slices for a group of 2; must have as many for "
                        "each"));
  EXPECT_THAT(ragged("0,1", "1,1", "2,1", "1,1"),
              HasSubstr("slice 0 has 1 rows from 0 to 2; must lie in 2 rows of the input and 2 of "
                        "the output"));
}

TEST(Together, StartsGiveWhatTheirDonesTake) {
  const auto got = together(
      "ENTRY main { p = f32[2] parameter(0) "
      "s = (f32[2], f32[4]) all-gather-start(p), replica_groups={{0,1}}, dimensions={0} "
      "g = f32[4] all-gather-done(s) "
      "t = (f32[2], f32[2], u32[]) collective-permute-start(p), source_target_pairs={{0,1},{1,0}} "
      "c = f32[2] collective-permute-done(t) ROOT r = (f32[4], f32[2]) tuple(g, c) }",
      {2, 1}, one_each(2));
  ASSERT_EQ(got.status(), Status());
  for (const size_t device : {0, 1})
    EXPECT_THAT(numbers(got->at(device).element(0)), ElementsAre(0, 0, 1, 10));
  EXPECT_THAT(numbers(got->at(0).element(1)), ElementsAre(1, 10));
  EXPECT_THAT(numbers(got->at(1).element(1)), ElementsAre(0, 0));
}

// (the largest of all, and which replica has it): the accumulators of both operands come first.
TEST(Together, CombinersMayTakeAllOperandsAtOnce) {
  const auto got = together(
      "both { a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) "
      "j = s32[] parameter(3) more = pred[] compare(b, a), direction=GT "
      "x = f32[] select(more, b, a) k = s32[] select(more, j, i) "
      "ROOT t = (f32[], s32[]) tuple(x, k) }\n"
      "ENTRY main { p = f32[2] parameter(0) id = u32[] replica-id() n = s32[] convert(id) "
      "i = s32[2] broadcast(n), dimensions={} "
      "ROOT r = (f32[2], s32[2]) all-reduce(p, i), replica_groups={}, to_apply=both }",
      {3, 1}, one_each(3));
  ASSERT_EQ(got.status(), Status());
  EXPECT_THAT(numbers(got->at(1).element(0)), ElementsAre(2, 20));
  EXPECT_THAT(numbers(got->at(1).element(1)), ElementsAre(2, 2));
}

TEST(Together, WrongDimensionsOfStartsAreErrors) {
  const auto got = together(
      "ENTRY main { p = f32[2] parameter(0) s = (f32[2], f32[4]) all-gather-start(p), "
      "replica_groups={{0,1}}, dimensions={7} ROOT g = f32[4] all-gather-done(s) }",
      {2, 1}, one_each(2));
  EXPECT_THAT(base::message_of(got.status()),
              HasSubstr("dimensions are {7}; must be one of f32[2]"));
}

TEST(Together, ADeviceThatAGroupNamesTwiceIsAnError) {
  EXPECT_THAT(error("all-reduce(p), replica_groups={{0,0},{1}}, to_apply=add", {2, 1}),
              HasSubstr("replica_groups name 0 twice"));
}

// What a function runs of its own is one device, alone.
TEST(Together, RunsInsideOfACustomCallHaveNoSeat) {
  const auto inner = Evaluator::prepare(parsed(base::cat(
      kAdd,
      "ENTRY main { p = f32[2] parameter(0) ROOT r = f32[2] all-reduce(p), replica_groups={}, "
      "to_apply=add }")));
  ASSERT_EQ(
      register_custom_call("test.alone", [&](CustomCall& call) { return inner->run({call[0]}); }),
      Status());
  const auto got = together(
      "ENTRY main { p = f32[2] parameter(0) q = f32[2] custom-call(p), "
      "custom_call_target=\"test.alone\" ROOT r = f32[2] all-reduce(q), replica_groups={}, "
      "to_apply=add }",
      {2, 1}, one_each(2));
  unregister_custom_call("test.alone");
  ASSERT_EQ(got.status(), Status());
  EXPECT_THAT(numbers(got->at(0)), ElementsAre(1, 10));
}

}  // namespace
}  // namespace heddle::interpreter
