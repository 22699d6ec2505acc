// Which arguments are gone after a run that failed, on the mock: those that it was given, once it
// was started.
#include <atomic>
#include <chrono>
#include <initializer_list>
#include <optional>
#include <thread>

#include "heddle/pjrt/internal/buffer.h"
#include "heddle/pjrt/support_test.h"
#include "heddle/runtime/mesh.h"

namespace heddle::pjrt {
namespace {

class Donation : public MockTest {
 protected:
  // Calls `between` when a program is compiled that no run was started with: between a run's checks
  // and its start.
  void start_with(std::function<void()>& between) {
    start({.compile = [&](std::string_view code, std::string_view options) {
      if (between) between();
      return evaluated(code, options);
    }});
  }
  void refuse_runs() {
    mock_plugin().settings().failing[abi::Slot::kLoadedExecutableExecute] = {.code = 14,
                                                                             .message = "busy"};
  }
  // A device of both.
  runtime::Device& mesh() {
    return *runtime::mesh_device(std::vector{&device(0), &device(1)}).value();
  }
  BufferPtr on_mesh(std::vector<float> values) {
    return runtime::to_devices(mesh(), vector_of(std::move(values)), hlo::Sharding()).value();
  }
};

constexpr auto kUnavailable = StatusCode::kUnavailable;

// The plugin's words for an error of its own are not those for a full device.
TEST_F(Donation, ARunThatThePluginRefusesWasStarted) {
  start(with_evaluator());
  const BufferPtr x = on_device({1, 2}), y = on_device({10, 20});
  refuse_runs();
  EXPECT_EQ(add(x, y, {.donate = {0}, .only_if_room = true}).status().code(), kUnavailable);
  EXPECT_EQ(x->state(), ValueState::kDonated);
  EXPECT_EQ(y->state(), ValueState::kReady);
}

TEST_F(Donation, ARunWhoseOtherArgumentGoesMeanwhileTakesNothing) {
  std::function<void()> between;
  start_with(between);
  const BufferPtr x = on_device({1, 2}), y = on_device({10, 20});
  ASSERT_TRUE(add(x, y).ok());
  between = [&] { y->release(); };  // while the program of the donation is compiled
  EXPECT_EQ(add(x, y, {.donate = {0}}).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(x->state(), ValueState::kReady);
}

void add_all(std::initializer_list<BufferPtr> read, LaunchPins& pins) {
  for (const BufferPtr& buffer : read)
    pins.add(static_cast<PjrtBuffer&>(*buffer), /*is_donated=*/false);
}

// Plugins may lock up where they are given a buffer that another thread donates just then.
TEST_F(Donation, ALaunchThatDonatesHasTheBufferAlone) {
  start(with_evaluator());
  const BufferPtr x = on_device({1, 2}), y = on_device({10, 20});
  std::atomic<bool> is_alone = false, is_told = false;
  LaunchPins donating;
  add_all({y}, donating);
  donating.add(static_cast<PjrtBuffer&>(*x), /*is_donated=*/true);
  auto reading = std::make_optional<LaunchPins>();
  add_all({x, y}, *reading);
  ASSERT_FALSE(reading->pin().has_value());
  std::thread donor([&] {
    EXPECT_FALSE(donating.pin().has_value());
    is_alone = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(is_alone);
  reading.reset();
  donor.join();

  LaunchPins late, of_y;
  add_all({y, x}, late);
  add_all({y}, of_y);
  EXPECT_FALSE(of_y.pin().has_value());  // y is not donated
  std::thread reader([&] {
    const auto refusal = late.pin();
    EXPECT_TRUE(refusal.has_value() && refusal->place == 1 &&
                refusal->why == SharedBuffer::Pinned::kIsDeleted);
    is_told = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(is_told);
  donating.delete_donated();
  reader.join();
  EXPECT_TRUE(x->is_deleted());
  EXPECT_FALSE(y->is_deleted());
}

// A run that may not wait for room does not wait for one that does.
TEST_F(Donation, ARunOnlyIfThereIsRoomDoesNotWaitForALaunch) {
  start(with_evaluator());
  const BufferPtr x = on_device({1, 2}), y = on_device({10, 20});
  {
    LaunchPins donating;
    donating.add(static_cast<PjrtBuffer&>(*x), /*is_donated=*/true);
    ASSERT_FALSE(donating.pin().has_value());
    const Status status = add(x, y, {.only_if_room = true}).status();
    EXPECT_EQ(status.code(), kUnavailable);
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("argument 0 is donated"));
  }
  {
    LaunchPins reading;
    add_all({y}, reading);
    ASSERT_FALSE(reading.pin().has_value());
    EXPECT_EQ(add(x, y, {.donate = {1}, .only_if_room = true}).status().code(), kUnavailable);
  }
  EXPECT_TRUE(add(x, y, {.donate = {1}, .only_if_room = true}).ok());
}

// Each uses what the other donates.
TEST_F(Donation, LaunchesThatDonateToEachOtherDoNotWaitForEver) {
  start(with_evaluator());
  for (int round = 0; round < 200; ++round) {
    const BufferPtr x = on_device({1, 2}), y = on_device({10, 20});
    std::atomic<int> launched = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        LaunchPins pins;
        pins.add(static_cast<PjrtBuffer&>(*x), t % 2 == 0);
        pins.add(static_cast<PjrtBuffer&>(*y), t % 2 == 1);
        if (pins.pin().has_value()) return;
        ++launched;
        pins.delete_donated();
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(launched, 1);
    EXPECT_NE(x->is_deleted(), y->is_deleted());
  }
}

// PJRT has no function that ends a run.
TEST_F(Donation, ARunOfAPluginCannotBeStopped) {
  start(with_evaluator());
  const BufferPtr x = on_device({1, 2}), y = on_device({10, 20});
  StopSource source;
  const Status status = add(x, y, {.donate = {0}, .stop = source.token()}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("cannot stop a run"));
  EXPECT_EQ(x->state(), ValueState::kReady);
}

TEST_F(Donation, AMeshesRunThatThePluginRefusesWasStarted) {
  start(with_evaluator());
  const auto program = mesh().backend().compile(add_module(), {}, mesh()).value();
  const BufferPtr x = on_mesh({1, 2}), y = on_mesh({10, 20});
  refuse_runs();
  const Status status =
      program->execute(std::vector{x, y}, {.donate = {0}, .only_if_room = true}).status();
  EXPECT_EQ(status.code(), kUnavailable);
  EXPECT_TRUE(x->is_deleted());
  EXPECT_FALSE(y->is_deleted());
}

TEST_F(Donation, AMeshesRunWhoseOtherArgumentGoesMeanwhileTakesNothing) {
  std::function<void()> between;
  start_with(between);
  const auto program = mesh().backend().compile(add_module(), {}, mesh()).value();
  const BufferPtr x = on_mesh({1, 2}), y = on_mesh({10, 20});
  between = [&] { y->release(); };  // while the program of these layouts is compiled
  const Status status = program->execute(std::vector{x, y}, {.donate = {0}}).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_FALSE(x->is_deleted());
}

TEST_F(Donation, AMeshWithoutRoomTakesNothing) {
  start(with_evaluator());
  const auto program = mesh().backend().compile(add_module(), {}, mesh()).value();
  const BufferPtr x = on_mesh({1, 2}), y = on_mesh({10, 20});
  device(1).throttle().set_limits({.launches = 1});
  const runtime::Throttle::Ticket other = device(1).throttle().acquire(0);
  const Status status =
      program->execute(std::vector{x, y}, {.donate = {0}, .only_if_room = true}).status();
  EXPECT_EQ(status.code(), kUnavailable);
  EXPECT_FALSE(x->is_deleted());
}

}  // namespace
}  // namespace heddle::pjrt
