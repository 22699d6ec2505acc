// What a device may have in flight: launches, their results and scratch, uploads; on the mock,
// which takes everything at once and holds memory for it.
#include "heddle/runtime/throttle.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "heddle/pjrt/support_test.h"
#include "heddle/runtime/host/host_memory.h"
#include "heddle/runtime/mesh.h"
#include "heddle/testing.h"

namespace heddle::pjrt {
namespace {

using runtime::Throttle;

constexpr int64_t kArray = 4000;  // bytes of f32[1000]

// negate(x: f32[1000]) = -x
hlo::Module negate_module() {
  return module_of(R"(HloModule negate
ENTRY main {
  x = f32[1000] parameter(0)
  ROOT y = f32[1000] negate(x)
})");
}

// A program of one result of 4000 bytes that costs the mock next to nothing.
mock::Program quick(std::string_view code, std::string_view options) {
  mock::Program program = evaluated(code, options);
  program.run = [](const std::vector<const mock::Array*>& arguments) {
    return std::vector<mock::Array>{*arguments[0]};
  };
  return program;
}

class InFlight : public MockTest {
 protected:
  InFlight() { start({.compile = quick, .asynchronous = true, .held = true}); }

  Throttle& throttle() { return device().throttle(); }
  BufferPtr large() { return runtime::to_device(device(), Literal(Shape(f32, {1000}))).value(); }
  // Ends when so many calls have waited.
  void until_waiting(int64_t waits) {
    while (throttle().load().waits < waits) std::this_thread::yield();
  }
};

TEST_F(InFlight, ALaunchHoldsItsResultsAndScratch) {
  start({.compile = quick, .asynchronous = true, .held = true, .scratch_bytes = 100});
  const auto program = compiled(negate_module());
  const BufferPtr x = large();
  const auto results = program->execute(std::vector{x}).value();
  EXPECT_EQ(throttle().load().launches, 1);
  EXPECT_EQ(throttle().load().bytes, kArray + 100);
  mock_plugin().open();
  synchronize(device());
  EXPECT_EQ(throttle().load().launches, 0);
  EXPECT_EQ(throttle().load().bytes, 0);
  EXPECT_EQ(throttle().load().peak_bytes, kArray + 100);
}

TEST_F(InFlight, UploadsCountInTheBytesAndNotInTheLaunches) {
  start({.compile = quick, .asynchronous = true, .held = true, .late_uploads = true});
  throttle().set_limits({.launches = 1, .bytes = 2 * kArray});
  const BufferPtr x = large(), y = large();
  EXPECT_EQ(throttle().load().uploads, 2);
  EXPECT_EQ(throttle().load().launches, 0);
  EXPECT_EQ(throttle().load().bytes, 2 * kArray);
  BufferPtr z;
  const Effects effects = effects_of([&] {
    std::thread other([&] { z = large(); });
    until_waiting(1);
    EXPECT_EQ(z, nullptr);
    mock_plugin().open();
    other.join();
  });
  EXPECT_EQ(effects.throttle_waits, 1);
  synchronize(device());
  EXPECT_EQ(throttle().load().uploads, 0);
  EXPECT_LE(throttle().load().peak_bytes, 2 * kArray);
}

TEST_F(InFlight, LentMemoryCountsNothing) {
  const Literal values(Shape(f32, {1000}));
  const BufferPtr x =
      runtime::lend_to_device(device(), values.bytes(), values.shape(), values.owner()).value();
  EXPECT_EQ(throttle().load().bytes, 0);
}

TEST_F(InFlight, AnUploadThatMayNotWaitIsRefused) {
  start(
      {.compile = quick, .asynchronous = true, .held = true, .copies = true, .late_uploads = true});
  throttle().set_limits({.launches = 8, .bytes = kArray + 100});
  const Literal values(Shape(f32, {1000}));
  const runtime::UploadOptions now = {.only_if_room = true};
  const BufferPtr first = runtime::to_device(device(), values, "", now).value();
  const std::string refused =
      "upload: f32[1000]: pjrt:mock:0 has 0 launches and 4000 bytes in flight, and no room for one "
      "of 4000 bytes; try again later, or let it wait";
  const runtime::StridedArray strided{values.bytes(), values.shape(), {4}};
  const Effects effects = effects_of([&] {
    for (const Status& status :
         {runtime::to_device(device(), values, "", now).status(),
          runtime::to_device(device(), strided, "", now).status(),
          runtime::lend_to_device(device(), values.bytes(), values.shape(), nullptr, "", now)
              .status()}) {
      EXPECT_EQ(status.code(), StatusCode::kUnavailable);
      EXPECT_EQ(base::message_of(status), refused);
    }
  });
  EXPECT_EQ(effects, Effects());
  EXPECT_TRUE(runtime::to_device(device(), Literal(Shape(f32, {25})), "", now).ok());
  mock_plugin().open();
  synchronize(device());
  EXPECT_TRUE(runtime::to_device(device(), strided, "", now).ok());
}

TEST_F(InFlight, AnUploadToAMeshIsRefusedByTheDeviceWithoutRoom) {
  start({.compile = quick, .asynchronous = true, .held = true, .late_uploads = true});
  runtime::Device& mesh = *runtime::mesh_device(std::vector{&device(0), &device(1)}).value();
  const Literal values(Shape(f32, {1000}));
  device(1).throttle().set_limits({.launches = 8, .bytes = kArray});
  const BufferPtr on_second = runtime::to_device(device(1), values).value();
  const auto status = runtime::to_device(mesh, values, "", {.only_if_room = true}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(base::message_of(status), ::testing::HasSubstr("pjrt:mock:1 has 0 launches"));
  EXPECT_EQ(device(0).live_bytes(), 0);
  mock_plugin().open();
  synchronize(mesh);
  EXPECT_TRUE(runtime::to_device(mesh, values, "", {.only_if_room = true}).ok());
}

// 2 x f32[2^30,2^30] are 2^63 bytes.
TEST_F(InFlight, SizesOfResultsAreNotAddedBeyondTheGreatestNumber) {
  const auto program = compiled(module_of(R"(HloModule huge
ENTRY main {
  x = f32[] parameter(0)
  y = f32[1073741824,1073741824] broadcast(x), dimensions={}
  ROOT r = (f32[1073741824,1073741824], f32[1073741824,1073741824]) tuple(y, y)
})"));
  EXPECT_EQ(program->cost().result_bytes, INT64_MAX);
  EXPECT_EQ(program->cost().argument_bytes, 4);
}

TEST_F(InFlight, ALaunchThatMayNotWaitIsRefused) {
  throttle().set_limits({.launches = 1});
  const auto program = compiled(negate_module());
  const BufferPtr x = large();
  const auto first = program->execute(std::vector{x}).value();
  const auto second = program->execute(std::vector{x}, {.donate = {}, .only_if_room = true});
  EXPECT_EQ(second.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(base::message_of(second.status()),
            "run negate: pjrt:mock:0 has 1 launches and 4000 bytes in flight, and no room for one "
            "of 4000 bytes; try again later, or let it wait");
  // What it would have been given is not touched.
  const auto third = program->execute(std::vector{x}, {.donate = {0}, .only_if_room = true});
  EXPECT_EQ(third.status().code(), StatusCode::kUnavailable);
  EXPECT_FALSE(x->is_deleted());
  mock_plugin().open();
  synchronize(device());
  EXPECT_TRUE(program->execute(std::vector{x}, {.donate = {}, .only_if_room = true}).ok());
}

TEST_F(InFlight, ALaunchLargerThanTheBudgetGoesAlone) {
  throttle().set_limits({.launches = 8, .bytes = kArray / 2});
  const auto program = compiled(negate_module());
  const BufferPtr x = large();
  const auto first = program->execute(std::vector{x});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(program->execute(std::vector{x}, {.donate = {}, .only_if_room = true}).ok());
  mock_plugin().open();
  ASSERT_TRUE(program->execute(std::vector{x}).ok());
  synchronize(device());
  EXPECT_EQ(throttle().load().peak_launches, 1);
}

TEST_F(InFlight, SynchronizeWaitsForAllThatWasStarted) {
  const auto program = compiled(negate_module());
  const BufferPtr x = large();
  std::vector<BufferPtr> results;
  for (int i = 0; i < 20; ++i) results.push_back(program->execute(std::vector{x}).value()[0]);
  std::atomic<bool> done = false;
  std::thread waiting([&] {
    synchronize(device());
    done = true;
  });
  EXPECT_FALSE(done);
  mock_plugin().open();
  waiting.join();
  for (const BufferPtr& result : results) EXPECT_TRUE(result->is_ready());
}

TEST_F(InFlight, OneDeviceDoesNotWaitForAnother) {
  const auto program = compiled(negate_module());
  const auto result = program->execute(std::vector{large()}).value();
  synchronize(device(1));
  EXPECT_EQ(device(1).throttle().load().launches, 0);
  EXPECT_EQ(throttle().load().launches, 1);
}

TEST_F(InFlight, AProgramWithoutResultsCountsToo) {
  const auto program = compiled(module_of(R"(HloModule nothing
ENTRY main {
  x = f32[1000] parameter(0)
  ROOT y = () tuple()
})"));
  const auto results = program->execute(std::vector{large()});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(throttle().load().launches, 1);
  mock_plugin().open();
  synchronize(device());
  EXPECT_EQ(throttle().load().launches, 0);
}

TEST_F(InFlight, HalfOfWhatTheDeviceHasFreeIsTheBudgetUnlessOneIsGiven) {
  EXPECT_EQ(throttle().limits().bytes, INT64_MAX);
  EXPECT_EQ(throttle().limits().launches, 32);
  start({.compile = quick, .bytes_limit = 1000000});
  EXPECT_EQ(throttle().limits().bytes, 500000);
  backend_.reset();
  backend_ = make_backend("mock", {.library = HEDDLE_PJRT_MOCK, .limits = {.bytes = 70}}).value();
  EXPECT_EQ(throttle().limits().bytes, 70);
}

// Devices that compute in the host's memory, as those of XLA's CPU plugin, do not tell of it.
TEST_F(InFlight, HalfOfTheHostsMemoryIsTheBudgetOfAllDevicesThere) {
  const std::optional<int64_t> available = runtime::available_host_memory();
  if (!available.has_value()) GTEST_SKIP() << "this system does not say what memory it has";
  start({.compile = quick, .devices = 4, .platform = "cpu"});
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(static_cast<double>(device(i).throttle().limits().bytes),
                static_cast<double>(*available) / 8, static_cast<double>(*available) / 40);
  }
  start({.compile = quick, .bytes_limit = 1000000, .platform = "cpu"});
  EXPECT_EQ(throttle().limits().bytes, 500000);
}

TEST_F(InFlight, ANegativeSizeIsNotCounted) {
  start({.compile = quick, .asynchronous = true, .held = true, .scratch_bytes = -5});
  const auto program = compiled(negate_module());
  EXPECT_EQ(program->cost().scratch_bytes, std::nullopt);
  const auto result = program->execute(std::vector{large()});
  EXPECT_EQ(throttle().load().bytes, kArray);
  mock_plugin().open();
  synchronize(device());
}

TEST_F(InFlight, AProgramOfTheGreatestSizeGoesAlone) {
  start({.compile = quick, .asynchronous = true, .bytes_limit = -5, .scratch_bytes = INT64_MAX});
  EXPECT_EQ(throttle().limits().bytes, 1);
  const auto program = compiled(negate_module());
  EXPECT_TRUE(program->execute(std::vector{large()}).ok());
  synchronize(device());
  EXPECT_GT(throttle().load().peak_bytes, int64_t{1} << 60);
  EXPECT_EQ(throttle().load().bytes, 0);
}

// What the plugin itself counts: the results of runs that are not over are never more than the
// budget. All that its device holds is that, and a result that is there of each thread but the one
// that launches: the argument is memory that is lent, and a thread drops its result before it asks
// for the next. bench/throttle.cc has the figures of it.
TEST_F(InFlight, AHundredThousandLaunchesOfFourThreadsStayWithinTheBudget) {
  start({.compile = quick, .asynchronous = true});
  constexpr int kThreads = 4, kLaunches = 25000;
  constexpr int64_t kBudget = 10 * kArray;
  throttle().set_limits({.launches = 32, .bytes = kBudget});
  const auto program = compiled(negate_module());
  const Literal values(Shape(f32, {1000}));
  const BufferPtr x =
      runtime::lend_to_device(device(), values.bytes(), values.shape(), values.owner()).value();
  mock_plugin().seen().peak_bytes = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      std::vector<BufferPtr> results(1);
      for (int i = 0; i < kLaunches; ++i) {
        results[0].reset();
        ASSERT_EQ(program->execute_into(std::vector{x}, results), Status());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  synchronize(device());
  const Throttle::Load load = throttle().load();
  EXPECT_LE(load.peak_bytes, kBudget);
  EXPECT_EQ(load.launches, 0);
  EXPECT_EQ(load.bytes, 0);
  EXPECT_LE(mock_plugin().seen().peak_in_flight, kBudget);
  EXPECT_GE(mock_plugin().seen().peak_in_flight, kBudget / 2);  // there is something to throttle
  EXPECT_LE(mock_plugin().seen().peak_bytes, kBudget + (kThreads - 1) * kArray);
}

TEST_F(InFlight, EachThreadGetsItsTurn) {
  start({.compile = quick, .asynchronous = true});
  throttle().set_limits({.launches = 2});
  const auto program = compiled(negate_module());
  const BufferPtr x = large();
  std::atomic<bool> stop = false;
  std::array<std::atomic<int>, 4> counts{};
  std::vector<std::thread> threads;
  for (auto& count : counts) {
    threads.emplace_back([&] {
      while (!stop) {
        ASSERT_TRUE(program->execute(std::vector{x}).ok());
        ++count;
      }
    });
  }
  const auto one_is_below = [&](int turns) {
    return std::ranges::any_of(counts, [&](const auto& count) { return count < turns; });
  };
  while (one_is_below(200)) std::this_thread::yield();  // for ever where one starves
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace heddle::pjrt
