// Which arguments are gone after a run that failed, on the mock: those that it was given, once it
// was started.
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
