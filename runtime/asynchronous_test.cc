// The asynchronous interpreter: pending results, errors that travel with them, donation of what is
// still on its way.
#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <thread>

#include "heddle/base/metrics/counters.h"
#include "heddle/interpreter/backend.h"
#include "heddle/runtime/support_test.h"
#include "heddle/runtime/work_queue.h"
#include "heddle/testing.h"

namespace heddle::runtime {
namespace {

using hlo::Opcode;

Literal filled(int64_t n, float value) {
  Literal literal(f32({n}));
  std::ranges::fill(literal.mutable_values<float>(), value);
  return literal;
}

// A device that runs nothing until open(), and fails its first run where `first_error` says so.
class Asynchronous : public ::testing::Test {
 protected:
  ~Asynchronous() override { open(); }
  void open() {
    if (!gate_.try_wait()) gate_.count_down();
  }
  Status before_run() {
    gate_.wait();
    return std::exchange(first_error_, Status());
  }

  std::latch gate_{1};
  Status first_error_;
  std::unique_ptr<Backend> backend_ = interpreter::make_backend(
      {.asynchronous = true, .before_run = [this] { return before_run(); }});
  Device& device_ = *backend_->devices()[0];
  std::shared_ptr<Executable> add_ = compiled(binary_module(Opcode::kAdd, 2, "add"), device_);
  BufferPtr x_ = on(device_, {1, 2});
};

TEST_F(Asynchronous, AResultIsPendingUntilTheDeviceHasRun) {
  const BufferPtr sum = add_->execute(std::vector{x_, x_}).value()[0];
  EXPECT_EQ(sum->state(), ValueState::kPending);
  EXPECT_FALSE(sum->is_ready());
  open();
  EXPECT_TRUE(sum->await().ok());
  EXPECT_EQ(sum->state(), ValueState::kReady);
  EXPECT_TRUE(sum->is_ready());
}

TEST_F(Asynchronous, APendingResultHasItsTypeAndItsMemory) {
  const BufferPtr sum = add_->execute(std::vector{x_, x_}).value()[0];
  EXPECT_EQ(sum->shape(), f32({2}));
  EXPECT_EQ(device_.live_bytes(), 16);
}

TEST_F(Asynchronous, RunsMayStandOnPendingResults) {
  BufferPtr y = x_;
  for (int i = 0; i < 5; ++i) y = add_->execute(std::vector{y, y}).value()[0];
  EXPECT_EQ(y->state(), ValueState::kPending);
  open();
  EXPECT_EQ(values_of(*y), (std::vector<float>{32, 64}));
}

TEST_F(Asynchronous, AnErrorOfARunComesFromItsResults) {
  first_error_ = base::resource_exhausted("run: no memory");
  const BufferPtr sum = add_->execute(std::vector{x_, x_}).value()[0];
  open();
  EXPECT_EQ(sum->await(), base::resource_exhausted("run: no memory"));
  EXPECT_EQ(sum->state(), ValueState::kReady);
  EXPECT_EQ(to_host(*sum).status(), base::resource_exhausted("run: no memory"));
}

TEST_F(Asynchronous, AnErrorTravelsThroughTheRunsThatStandOnIt) {
  first_error_ = base::resource_exhausted("run: no memory");
  const BufferPtr failed = add_->execute(std::vector{x_, x_}).value()[0];
  const BufferPtr user = add_->execute(std::vector{x_, failed}).value()[0];
  const BufferPtr bystander = add_->execute(std::vector{x_, x_}).value()[0];
  open();
  EXPECT_EQ(user->await(), base::resource_exhausted("run: no memory"));
  EXPECT_EQ(values_of(*bystander), (std::vector<float>{2, 4}));
}

TEST_F(Asynchronous, AFailedDownloadIsNotCounted) {
  first_error_ = base::resource_exhausted("run: no memory");
  const BufferPtr sum = add_->execute(std::vector{x_, x_}).value()[0];
  open();
  expect_zero_bytes_down([&] { EXPECT_FALSE(to_host(*sum).ok()); });
}

TEST_F(Asynchronous, DonationShowsAtOnce) {
  const BufferPtr sum =
      add_->execute(std::vector{x_, on(device_, {10, 20})}, {.donate = {0}}).value()[0];
  EXPECT_EQ(x_->state(), ValueState::kDonated);
  EXPECT_EQ(x_->await(), deleted_error("await", f32({2})));
  open();
  EXPECT_EQ(values_of(*sum), (std::vector<float>{11, 22}));
}

// While it waits for room, after its arguments were seen whole.
TEST_F(Asynchronous, ARunWhoseArgumentIsReleasedMeanwhileLeavesItsDonations) {
  device_.throttle().set_limits({.launches = 1});
  const BufferPtr first = add_->execute(std::vector{x_, x_}).value()[0];
  const BufferPtr donated = on(device_, {10, 20}), other = on(device_, {1, 1});
  StatusOr<std::vector<BufferPtr>> late = base::internal_error("not run");
  std::thread waiting([&] { late = add_->execute(std::vector{donated, other}, {.donate = {0}}); });
  while (device_.throttle().load().waits == 0) std::this_thread::yield();
  const int64_t bytes = device_.live_bytes();
  other->release();
  open();
  waiting.join();
  EXPECT_EQ(late.status(), deleted_error("run add: argument 1", f32({2})));
  EXPECT_EQ(donated->state(), ValueState::kReady);
  EXPECT_EQ(device_.live_bytes(), bytes - 8);
  // Nothing of the run that was none keeps a later one from taking the memory.
  const void* memory = view_on_host(*donated).value().bytes();
  const BufferPtr sum = add_->execute(std::vector{donated, x_}, {.donate = {0}}).value()[0];
  EXPECT_EQ(values_of(*sum), (std::vector<float>{11, 22}));
  EXPECT_EQ(view_on_host(*sum).value().bytes(), memory);
}

TEST_F(Asynchronous, APendingResultMayBeDonated) {
  const BufferPtr first = add_->execute(std::vector{x_, x_}).value()[0];
  const BufferPtr second = add_->execute(std::vector{first, x_}, {.donate = {0}}).value()[0];
  EXPECT_EQ(first->state(), ValueState::kDonated);
  open();
  EXPECT_EQ(values_of(*second), (std::vector<float>{3, 6}));
}

TEST_F(Asynchronous, AnEarlierRunKeepsTheValueThatALaterOneIsGiven) {
  const BufferPtr early = add_->execute(std::vector{x_, x_}).value()[0];
  const BufferPtr late =
      add_->execute(std::vector{x_, on(device_, {10, 20})}, {.donate = {0}}).value()[0];
  open();
  EXPECT_EQ(values_of(*early), (std::vector<float>{2, 4}));
  EXPECT_EQ(values_of(*late), (std::vector<float>{11, 22}));
}

TEST_F(Asynchronous, ADownloadThatWaitsGetsTheValueThatIsDonatedMeanwhile) {
  const BufferPtr sum = add_->execute(std::vector{x_, x_}).value()[0];
  std::latch asked(1);
  StatusOr<Literal> read = base::internal_error("not read");
  std::thread reader([&] {
    asked.count_down();
    read = to_host(*sum);
  });
  asked.wait();
  const BufferPtr next = add_->execute(std::vector{sum, x_}, {.donate = {0}}).value()[0];
  open();
  reader.join();
  // Whichever came first: the whole value, or the news that it is gone.
  const bool gone = read.status() == deleted_error("download", f32({2})) ||
                    read.status() == deleted_error("await", f32({2}));
  EXPECT_TRUE(gone || *read == vector_of({2, 4})) << base::message_of(read.status());
  EXPECT_EQ(values_of(*next), (std::vector<float>{3, 6}));
}

TEST_F(Asynchronous, AReleasedArgumentServesTheRunsThatWereStarted) {
  const BufferPtr sum = add_->execute(std::vector{x_, x_}).value()[0];
  x_->release();
  open();
  EXPECT_EQ(values_of(*sum), (std::vector<float>{2, 4}));
}

TEST_F(Asynchronous, ResultsMayBeDroppedBeforeTheyAreThere) {
  (void)add_->execute(std::vector{x_, x_}).value();
  EXPECT_EQ(device_.live_bytes(), 8);
  open();
}

TEST_F(Asynchronous, ARunOutlivesItsExecutable) {
  const BufferPtr sum = add_->execute(std::vector{x_, x_}).value()[0];
  add_.reset();
  open();
  EXPECT_EQ(values_of(*sum), (std::vector<float>{2, 4}));
}

TEST(AsynchronousBackend, FinishesItsRunsBeforeItGoes) {
  int runs = 0;
  auto backend = interpreter::make_backend(
      {.asynchronous = true, .before_run = [&] { return ++runs, Status(); }});
  Device& device = *backend->devices()[0];
  auto identity = compiled(identity_module(2), device);
  BufferPtr x = on(device, {1, 2});
  for (int i = 0; i < 3; ++i) (void)identity->execute(std::vector{x}).value();
  x.reset();
  identity.reset();
  backend.reset();
  EXPECT_EQ(runs, 3);
}

TEST(WorkQueue, IsIdleWhenAllIsDoneAndWhatItHeldIsGone) {
  WorkQueue queue;
  auto held = std::make_shared<int>(0);
  const std::weak_ptr<int> seen = held;
  queue.submit([&queue, held = std::move(held)] {
    ++*held;
    queue.submit([held] { ++*held; });
  });
  queue.await_idle();
  EXPECT_TRUE(seen.expired());
}

// Two threads add to arrays of their own, in place.
void climb_on(Device& device) {
  const auto add = compiled(binary_module(Opcode::kAdd, 2), device);
  const BufferPtr one = on(device, {1, 1});
  const auto climb = [&] {
    BufferPtr y = on(device, {0, 0});
    for (int i = 0; i < 50; ++i) y = add->execute(std::vector{y, one}, {.donate = {0}}).value()[0];
    EXPECT_EQ(values_of(*y), (std::vector<float>{50, 50}));
  };
  std::thread other(climb);
  climb();
  other.join();
}

TEST(AsynchronousThreads, ManyThreadsRunAndReadOnOneDevice) {
  climb_on(*interpreter::make_backend({.asynchronous = true})->devices()[0]);
}

// The last thread that holds the bytes writes to them in place: only after the other has read them.
TEST(SynchronousThreads, ABufferIsReadByOneThreadAndGivenAwayByAnother) {
  const auto backend = interpreter::make_backend();
  Device& device = *backend->devices()[0];
  const auto add = compiled(binary_module(Opcode::kAdd, 1000), device);
  const BufferPtr one = to_device(device, filled(1000, 1)).value();
  for (int i = 0; i < 100; ++i) {
    const BufferPtr x = to_device(device, filled(1000, 2)).value();
    std::thread reader([&] {
      const auto sum = add->execute(std::vector{x, one});
      if (!sum.ok()) return;  // the buffer was given away before
      EXPECT_EQ(values_of(*(*sum)[0]), std::vector<float>(1000, 3));
    });
    EXPECT_TRUE(add->execute(std::vector{x, one}, {.donate = {0}}).ok());
    reader.join();
  }
}

TEST(SynchronousThreads, ManyThreadsRunAndDonateOnOneDevice) {
  climb_on(*interpreter::make_backend()->devices()[0]);
}

}  // namespace
}  // namespace heddle::runtime
