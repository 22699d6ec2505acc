#include "heddle/interpreter/backend.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "heddle/base/metrics/counters.h"
#include "heddle/hlo/text.h"
#include "heddle/runtime/support_test.h"
#include "heddle/testing.h"

namespace heddle::runtime {
namespace {

using hlo::Opcode;

class InterpreterTest : public ::testing::Test {
 protected:
  std::unique_ptr<Backend> backend_ = interpreter::make_backend({.devices = 2});
  Device& device_ = *backend_->devices()[0];
  std::shared_ptr<Executable> add_ = compiled(binary_module(Opcode::kAdd, 2, "add"), device_);
};

// swap(pair: (f32[n], f32[n])) = (pair.1, (pair.0, pair.1))
hlo::Module nested_tuple_module(int64_t n) {
  hlo::Module module{.name = "swap"};
  hlo::ComputationBuilder builder(module);
  const auto pair = builder.parameter(Shape::tuple({f32({n}), f32({n})}));
  const auto a =
      builder.add(Opcode::kGetTupleElement, {pair}, hlo::TupleIndexAttrs{.index = 0}).value();
  const auto b =
      builder.add(Opcode::kGetTupleElement, {pair}, hlo::TupleIndexAttrs{.index = 1}).value();
  const auto inner = builder.add(Opcode::kTuple, {a, b}).value();
  const auto root = builder.add(Opcode::kTuple, {b, inner}).value();
  module.entry = module.add(std::move(builder).finish(root));
  return module;
}

TEST_F(InterpreterTest, RunsAProgram) {
  const auto sum = add_->execute(std::vector{on(device_, {1, 2}), on(device_, {10, 20})}).value();
  ASSERT_EQ(sum.size(), 1u);
  EXPECT_EQ(values_of(*sum[0]), (std::vector<float>{11, 22}));
}

TEST_F(InterpreterTest, ARunCountsOneExecutionAndMovesNothing) {
  const std::vector arguments = {on(device_, {1, 2}), on(device_, {10, 20})};
  EXPECT_EQ(effects_of([&] { (void)add_->execute(arguments).value(); }),
            (Counters{.executions = 1}));
}

TEST_F(InterpreterTest, AnEndlessLoopEndsAtItsLineWhenAsked) {
  hlo::Module module = hlo::parse_text(R"(HloModule endless
    body { ROOT p = s32[] parameter(0) }
    condition { p = s32[] parameter(0) z = s32[] constant(0)
      ROOT c = pred[] compare(p, z), direction=EQ }
    ENTRY main { x = s32[] parameter(0) ROOT w = s32[] while(x), condition=condition, body=body })")
                           .value();
  module.computations[module.entry.value].instructions.back().at = {"some/train.cc", 41};
  const auto endless = compiled(module, device_);
  const BufferPtr zero = to_device(device_, Literal::scalar(s32, int64_t{0}), "test").value();
  StopSource source;
  std::thread ask([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    source.request_stop();
  });
  const auto result = endless->execute(std::vector{zero}, {.stop = source.token()});
  ask.join();
  EXPECT_EQ(result.status().code(), StatusCode::kCancelled);
  EXPECT_EQ(base::message_of(result.status()), "run endless: stopped in w [train.cc:41]");
}

// A buffer is of its type: what a value of dynamic size leaves of that is zeros.
TEST_F(InterpreterTest, ResultsOfDynamicSizeFillTheirBounds) {
  const auto module = hlo::parse_text(R"(HloModule m
    ENTRY main { n = s32[] constant(1) x = f32[3] constant({1,2,3})
      d = f32[<=3] set-dimension-size(x, n), dimensions={0} r = f32[<=3] negate(d)
      u = (f32[<=3], s32[]) tuple(d, n)
      ROOT t = (f32[<=3], (f32[<=3], s32[])) tuple(r, u) })");
  ASSERT_TRUE(module.ok()) << module.status();
  const auto results = compiled(*module, device_)->execute(std::vector<BufferPtr>()).value();
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(values_of(*results[0]), (std::vector<float>{-1, 0, 0}));
  EXPECT_EQ(values_of(*results[1]), (std::vector<float>{1, 0, 0}));
}

TEST_F(InterpreterTest, DeclaresItsFlatTypes) {
  const auto swap = compiled(nested_tuple_module(2), device_);
  EXPECT_EQ(swap->parameter_shapes(), (std::vector{f32({2}), f32({2})}));
  EXPECT_EQ(swap->result_shapes(), (std::vector{f32({2}), f32({2}), f32({2})}));
  EXPECT_EQ(swap->name(), "swap");
}

TEST_F(InterpreterTest, TuplesTakeAndGiveOneBufferPerLeaf) {
  const auto swap = compiled(nested_tuple_module(2), device_);
  const auto results = swap->execute(std::vector{on(device_, {1, 2}), on(device_, {3, 4})}).value();
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(values_of(*results[0]), (std::vector<float>{3, 4}));
  EXPECT_EQ(values_of(*results[1]), (std::vector<float>{1, 2}));
  EXPECT_EQ(values_of(*results[2]), (std::vector<float>{3, 4}));
}

TEST_F(InterpreterTest, CostCountsArgumentsAndResults) {
  EXPECT_EQ(add_->cost().argument_bytes, 16);
  EXPECT_EQ(add_->cost().result_bytes, 8);
}

TEST_F(InterpreterTest, AWrongNumberOfArgumentsIsNamed) {
  EXPECT_EQ(add_->execute(std::vector{on(device_, {1, 2})}).status(),
            base::invalid_argument("run add: got 1 arguments; it takes 2"));
}

TEST_F(InterpreterTest, AnArgumentOfAnotherTypeIsNamed) {
  EXPECT_EQ(add_->execute(std::vector{on(device_, {1, 2}), on(device_, {1, 2, 3})}).status(),
            base::invalid_argument("run add: argument 1 is f32[3]; it must be f32[2]"));
}

TEST_F(InterpreterTest, AMissingArgumentIsNamed) {
  EXPECT_EQ(
      add_->execute(std::vector<BufferPtr>{on(device_, {1, 2}), nullptr}).status(),
      base::invalid_argument("run add: argument 1 is no buffer; it must be one of type f32[2]"));
}

TEST_F(InterpreterTest, AnArgumentOnAnotherDeviceIsNamed) {
  Device& other = *backend_->devices()[1];
  EXPECT_EQ(
      add_->execute(std::vector{on(other, {1, 2}), on(device_, {1, 2})}).status(),
      base::invalid_argument(
          "run add: argument 0 is on interpreter:1; it must be on interpreter:0; copy it there, or "
          "compile the program for interpreter:1"));
}

// 2 x f32[2^30,2^30] are 2^63 bytes.
TEST_F(InterpreterTest, SizesAreNotAddedBeyondTheGreatestNumber) {
  const Shape huge = f32({1 << 30, 1 << 30});
  EXPECT_EQ(huge.byte_size(), int64_t{1} << 62);
  EXPECT_EQ(Shape::tuple({huge, huge}).byte_size(), INT64_MAX);
  EXPECT_EQ(Shape::tuple({huge, Shape::tuple({huge, huge})}).byte_size(), INT64_MAX);
  const auto module = hlo::parse_text(R"(HloModule huge
    ENTRY main { x = f32[] parameter(0)
      y = f32[1073741824,1073741824] broadcast(x), dimensions={}
      ROOT r = (f32[1073741824,1073741824], f32[1073741824,1073741824]) tuple(y, y) })");
  const auto late = interpreter::make_backend({.asynchronous = true});
  Device& device = *late->devices()[0];
  const auto program = compiled(*module, device);
  EXPECT_EQ(program->cost().result_bytes, INT64_MAX);
  const Literal one = Literal::scalar(DType::kF32, 1.0);
  const auto results = program->execute(std::vector{to_device(device, one).value()}).value();
  EXPECT_EQ(device.peak_bytes(), INT64_MAX);
  EXPECT_EQ(results[1]->await().code(), StatusCode::kResourceExhausted);
  synchronize(device);
  EXPECT_EQ(device.throttle().load().peak_bytes, INT64_MAX);
  EXPECT_EQ(device.throttle().load().bytes, 0);
}

// The sums of 1, 2, 3 so far.
TEST_F(InterpreterTest, TakesAScanAsItWasTraced) {
  const auto module = hlo::parse_text(R"(HloModule m
    step { x = f32[] parameter(0) c = f32[] parameter(1) s = f32[] add(c, x)
      ROOT r = (f32[], f32[]) tuple(s, s) }
    ENTRY main { xs = f32[3] parameter(0) c = f32[] constant(0)
      ROOT r = (f32[3], f32[]) scan(xs, c), dimensions={0}, num_carries=1, to_apply=step })");
  ASSERT_EQ(module.status(), Status());
  std::shared_ptr<Executable> program;
  EXPECT_EQ(effects_of([&] { program = compiled(*module, device_); }),
            (Counters{.lowerings = 1, .compiles = 1}));
  const auto results = program->execute(std::vector{on(device_, {1, 2, 3})}).value();
  EXPECT_EQ(values_of(*results[0]), (std::vector<float>{1, 3, 6}));
  EXPECT_EQ(values_of(*results[1]), (std::vector<float>{6}));
}

TEST_F(InterpreterTest, ADeviceOfAnotherBackendIsRefused) {
  HollowBackend hollow;
  EXPECT_EQ(
      backend_->compile(identity_module(2), {}, *hollow.devices()[0]).status(),
      base::invalid_argument("compile identity: device hollow:0 is not of backend interpreter; "
                             "compile with the device's "
                             "own backend"));
}

TEST_F(InterpreterTest, AnUnknownOptionIsRefused) {
  const CompileOptions options = {.backend_options = {{"level", "3"}}};
  EXPECT_EQ(
      backend_->compile(identity_module(2), options, device_).status(),
      base::invalid_argument(
          "compile identity: option \"level\" is not known to backend interpreter, which has none; "
          "leave it out"));
}

TEST_F(InterpreterTest, AFailedRunIsExecutesError) {
  const auto failing = interpreter::make_backend(
      {.before_run = [] { return base::resource_exhausted("run: no memory"); }});
  Device& device = *failing->devices()[0];
  const auto identity = compiled(identity_module(2), device);
  EXPECT_EQ(identity->execute(std::vector{on(device, {1, 2})}).status(),
            base::resource_exhausted("run: no memory"));
}

TEST_F(InterpreterTest, OneBufferMayBeTwoArguments) {
  const BufferPtr x = on(device_, {1, 2});
  EXPECT_EQ(values_of(*add_->execute(std::vector{x, x}).value()[0]), (std::vector<float>{2, 4}));
}

// Donation.

TEST_F(InterpreterTest, ADonatedArgumentIsDeleted) {
  const BufferPtr x = on(device_, {1, 2}), y = on(device_, {10, 20});
  const auto sum = add_->execute(std::vector{x, y}, {.donate = {0}}).value();
  EXPECT_EQ(x->state(), ValueState::kDonated);
  EXPECT_EQ(y->state(), ValueState::kReady);
  EXPECT_EQ(values_of(*sum[0]), (std::vector<float>{11, 22}));
}

TEST_F(InterpreterTest, RunningADonatedArgumentAgainNamesItAndTheRepair) {
  const BufferPtr x = on(device_, {1, 2}), y = on(device_, {10, 20});
  (void)add_->execute(std::vector{x, y}, {.donate = {0}}).value();
  EXPECT_EQ(
      add_->execute(std::vector{x, y}).status(),
      base::failed_precondition("run add: argument 0: the buffer of type f32[2] was donated to a "
                                "run or released; use the "
                                "result of that run, or do not donate it"));
}

TEST_F(InterpreterTest, DonatingOneBufferThatIsPassedTwiceIsRefused) {
  const BufferPtr x = on(device_, {1, 2});
  EXPECT_EQ(add_->execute(std::vector{x, x}, {.donate = {1}}).status(),
            base::invalid_argument(
                "run add: donated argument 1 is passed twice; pass it once, or do not donate it"));
  EXPECT_EQ(x->state(), ValueState::kReady);
}

TEST_F(InterpreterTest, DonatingAnArgumentThatIsNotThereIsRefused) {
  const BufferPtr x = on(device_, {1, 2});
  EXPECT_EQ(add_->execute(std::vector{x, x}, {.donate = {2}}).status(),
            base::invalid_argument("run add: donates argument 2; it has 2"));
}

TEST_F(InterpreterTest, DonationThroughALoopOfRunsHoldsNoMoreThanOneState) {
  BufferPtr state = on(device_, {0, 0});
  const BufferPtr step = on(device_, {1, 2});
  device_.reset_peak();
  for (int i = 0; i < 10; ++i)
    state = add_->execute(std::vector{state, step}, {.donate = {0}}).value()[0];
  EXPECT_EQ(values_of(*state), (std::vector<float>{10, 20}));
  EXPECT_EQ(device_.peak_bytes(), 16);
}

TEST_F(InterpreterTest, AnIdentityOnADonatedBufferKeepsItsBytes) {
  const auto identity = compiled(identity_module(2), device_);
  const auto out = identity->execute(std::vector{on(device_, {1, 2})}, {.donate = {0}}).value();
  EXPECT_EQ(values_of(*out[0]), (std::vector<float>{1, 2}));
}

// Memory.

TEST_F(InterpreterTest, LiveBytesFollowBuffers) {
  BufferPtr x = on(device_, {1, 2, 3});
  EXPECT_EQ(device_.live_bytes(), 12);
  const BufferPtr y = on(device_, {4});
  EXPECT_EQ(device_.live_bytes(), 16);
  x.reset();
  EXPECT_EQ(device_.live_bytes(), 4);
  y->release();
  EXPECT_EQ(device_.live_bytes(), 0);
  EXPECT_EQ(device_.peak_bytes(), 16);
}

TEST_F(InterpreterTest, ReleasingTwiceGivesBytesBackOnce) {
  const BufferPtr x = on(device_, {1, 2, 3}), y = on(device_, {4});
  x->release();
  x->release();
  EXPECT_EQ(device_.live_bytes(), 4);
}

TEST_F(InterpreterTest, ResetPeakStartsFromWhatIsLive) {
  (void)on(device_, {1, 2, 3});
  const BufferPtr x = on(device_, {1});
  device_.reset_peak();
  EXPECT_EQ(device_.peak_bytes(), 4);
}

}  // namespace
}  // namespace heddle::runtime
