// A plugin as a backend, on the mock: results, states, lifetimes, and what is checked before a
// call.
#include <atomic>
#include <chrono>
#include <thread>

#include "heddle/base/metrics/counters.h"
#include "heddle/base/support_test.h"
#include "heddle/pjrt/internal/client.h"
#include "heddle/pjrt/support_test.h"
#include "heddle/runtime/transfer_guard.h"
#include "heddle/testing.h"

namespace heddle::pjrt {
namespace {

using abi::Slot;

class OnPlugin : public MockTest {
 protected:
  OnPlugin() { start(with_evaluator()); }
};

TEST_F(OnPlugin, DevicesHaveNamesAndKinds) {
  ASSERT_EQ(backend_->devices().size(), 2u);
  EXPECT_EQ(device(1).name(), "pjrt:mock:1");
  EXPECT_EQ(device(1).kind(), "mock device");
  EXPECT_EQ(backend_->version(), "PJRT 0.114, platform mock");
}

TEST_F(OnPlugin, AProgramRuns) {
  const auto sum = add(on_device({1, 2}), on_device({10, 20}));
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_THAT(*floats_of(**sum), ElementsAre(11, 22));
}

TEST_F(OnPlugin, BytesAreAccountedUntilTheBufferIsReleased) {
  const BufferPtr x = on_device({1, 2});
  EXPECT_EQ(device().live_bytes(), 8);
  EXPECT_EQ(mock_plugin().seen().bytes, 8);
  x->release();
  EXPECT_EQ(device().live_bytes(), 0);
  EXPECT_EQ(mock_plugin().seen().bytes, 0);
  EXPECT_EQ(x->state(), ValueState::kDonated);
  EXPECT_EQ(x->await(), runtime::deleted_error("await", x->shape()));
}

TEST_F(OnPlugin, TransfersAreCounted) {
  BufferPtr x;
  const Effects up = effects_of([&] { x = on_device({1, 2}); });
  EXPECT_EQ(up.uploads, 1);
  EXPECT_EQ(up.upload_bytes, 8);
  const Effects down = effects_of([&] { (void)floats_of(*x); });
  EXPECT_EQ(down.download_bytes, 8);
}

TEST_F(OnPlugin, TheGuardForbidsTransfers) {
  const BufferPtr x = on_device({1, 2});
  const TransferGuard guard(TransferGuard::Policy::kForbid);
  EXPECT_EQ(floats_of(*x).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(runtime::to_device(device(), vector_of({1})).status().code(),
            StatusCode::kFailedPrecondition);
}

TEST_F(OnPlugin, EmptyArraysAndScalarsGoThereAndBack) {
  const Literal empty(Shape(f32, {0, 3})), scalar = Literal::scalar(s16, int64_t{-7});
  for (const Literal& value : {empty, scalar}) {
    const BufferPtr there = runtime::to_device(device(), value).value();
    EXPECT_EQ(runtime::to_host(*there).value(), value);
  }
}

TEST_F(OnPlugin, TupleParametersAndNestedResultsAreFlat) {
  const auto program = compiled(module_of(R"(HloModule nested
ENTRY main {
  p = (f32[2], (f32[2], s32[])) parameter(0)
  q = f32[2] parameter(1)
  a = f32[2] get-tuple-element(p), index=0
  inner = (f32[2], s32[]) get-tuple-element(p), index=1
  b = f32[2] get-tuple-element(inner), index=0
  difference = f32[2] subtract(a, b)
  pair = ((f32[2], s32[]), f32[2]) tuple(inner, q)
  ROOT out = (f32[2], ((f32[2], s32[]), f32[2])) tuple(difference, pair)
})"));
  ASSERT_EQ(program->parameter_shapes().size(), 4u);
  const BufferPtr a = on_device({5, 7}), b = on_device({1, 2}), q = on_device({8, 9});
  const BufferPtr n = runtime::to_device(device(), Literal::scalar(s32, int64_t{3})).value();
  const auto results = program->execute(std::vector{a, b, n, q});
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_EQ(results->size(), 4u);
  EXPECT_THAT(*floats_of(*(*results)[0]), ElementsAre(4, 5));
  EXPECT_THAT(*floats_of(*(*results)[1]), ElementsAre(1, 2));
  EXPECT_EQ(runtime::to_host(*(*results)[2])->to_int64(0), 3);
  EXPECT_THAT(*floats_of(*(*results)[3]), ElementsAre(8, 9));
}

TEST_F(OnPlugin, LentMemoryIsUsedInPlaceAndHeldUntilTheBufferGoes) {
  alignas(64) static float values[2] = {3, 4};
  auto owner = std::make_shared<int>(0);
  const std::weak_ptr<int> held = owner;
  BufferPtr x;
  const Effects effects = effects_of([&] {
    x = runtime::lend_to_device(device(), values, Shape(f32, {2}), std::move(owner)).value();
  });
  EXPECT_EQ(effects.aliased_bytes, 8);
  EXPECT_EQ(effects.upload_bytes, 0);
  EXPECT_FALSE(held.expired());
  EXPECT_EQ(device().live_bytes(), 0);
  x.reset();
  EXPECT_TRUE(held.expired());
}

TEST_F(OnPlugin, MemoryThatThePluginCopiesIsCountedAsAnUpload) {
  mock_plugin().settings().copies = true;
  alignas(64) static float values[2] = {3, 4};
  const auto owner = std::make_shared<int>(0);
  for (int i = 0; i < 2; ++i) {
    const Effects effects = effects_of([&] {
      const BufferPtr x = runtime::lend_to_device(device(), values, Shape(f32, {2}), owner).value();
      EXPECT_THAT(*floats_of(*x), ElementsAre(3, 4));
    });
    EXPECT_EQ(effects.aliased_bytes, 0);
    EXPECT_EQ(effects.upload_bytes, 8);
  }
  EXPECT_EQ(owner.use_count(), 1);
}

// The plugin packs them, which says nothing of others.
TEST_F(OnPlugin, ALoanOfFourBitIntegersIsACopyAndLaterLoansAreNot) {
  alignas(64) static const int8_t small[4] = {1, -2, 3, -4};
  alignas(64) static const float values[2] = {3, 4};
  const auto lend = [&](const void* data, const Shape& shape) {
    const Effects effects = effects_of([&] {
      const BufferPtr x = runtime::lend_to_device(device(), data, shape, nullptr).value();
      EXPECT_EQ(std::memcmp(runtime::to_host(*x)->bytes(), data, shape.byte_size()), 0);
    });
    return effects.aliased_bytes;
  };
  EXPECT_EQ(lend(small, Shape(s4, {4})), 0);
  EXPECT_EQ(lend(values, Shape(f32, {2})), 8);
  EXPECT_EQ(lend(small, Shape(s4, {4})), 0);
  EXPECT_EQ(lend(values, Shape(f32, {2})), 8);
}

TEST_F(OnPlugin, MemoryIsNotLentToAPluginThatDoesNotSayWhenItMayGo) {
  mock_plugin().settings().silent_loans = true;
  alignas(64) static const float values[2] = {3, 4};
  const auto owner = std::make_shared<int>(0);
  const Effects effects = effects_of([&] {
    const BufferPtr x = runtime::lend_to_device(device(), values, Shape(f32, {2}), owner).value();
    EXPECT_THAT(*floats_of(*x), ElementsAre(3, 4));
    EXPECT_EQ(owner.use_count(), 1);
  });
  EXPECT_EQ(effects.aliased_bytes, 0);
  EXPECT_EQ(effects.upload_bytes, 8);
}

// Whether the plugin lends is learnt from an array of its own.
TEST_F(OnPlugin, NoLoanIsCopiedTwiceByAPluginThatCopies) {
  start({.compile = evaluated, .copies = true});
  const Literal large(Shape(f32, {1 << 20}));
  const BufferPtr x =
      runtime::lend_to_device(device(), large.bytes(), large.shape(), nullptr).value();
  EXPECT_LT(mock_plugin().seen().peak_bytes, 2 * large.byte_size());
}

TEST_F(OnPlugin, APluginNewerThanHeddleGetsLongerProgramsAndOptions) {
  start({.compile = evaluated, .minor = 120, .nested_longer_by = 16});
  const BufferPtr x = on_device({1, 2});
  const auto sum = add(x, x);
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_THAT(*floats_of(**sum), ElementsAre(2, 4));
  EXPECT_THAT(mock_plugin().seen().kept, ElementsAre(0, 1));
}

// What it writes into a longer structure comes back.
TEST_F(OnPlugin, APluginNewerThanHeddleTellsItsDefaultOptions) {
  start({.compile = evaluated, .minor = 120, .nested_longer_by = 16});
  EXPECT_EQ(
      backend_->compile(add_module(), {{{"xla_backend_extra_options", "a=1"}}}, device()).status(),
      Status());
}

// A plugin need not be safe from two threads that set it up.
TEST_F(OnPlugin, PluginsAreLoadedOneAfterTheOther) {
  std::atomic<int> now = 0, most = 0;
  start({.compile = evaluated, .initialising = [&] {
           most = std::max(most.load(), ++now);
           std::this_thread::sleep_for(std::chrono::milliseconds(20));
           --now;
         }});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      EXPECT_TRUE(make_backend(base::cat("mock", i), {.library = HEDDLE_PJRT_MOCK}).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  mock_plugin().settings().initialising = nullptr;
}

TEST_F(OnPlugin, NothingIsDonatedThatWasNotAskedFor) {
  const BufferPtr x = on_device({1, 2}), y = on_device({10, 20});
  ASSERT_TRUE(add(x, y).ok());
  EXPECT_THAT(mock_plugin().seen().kept, ElementsAre(0, 1));
  EXPECT_EQ(x->state(), ValueState::kReady);
}

TEST_F(OnPlugin, ADonatedArgumentIsGivenWithAnAliasAndIsGone) {
  std::string sent;
  mock_plugin().settings().compile = [&](std::string_view code, std::string_view options) {
    sent = code;
    return evaluated(code, options);
  };
  const BufferPtr x = on_device({1, 2}), y = on_device({10, 20});
  const auto sum = add(x, y, {.donate = {1}});
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_THAT(*floats_of(**sum), ElementsAre(11, 22));
  EXPECT_THAT(mock_plugin().seen().kept, ElementsAre(0));
  EXPECT_EQ(x->state(), ValueState::kReady);
  EXPECT_EQ(y->state(), ValueState::kDonated);
  const hlo::Module module = hlo::from_proto(sent).value();
  ASSERT_EQ(module.extras->input_output_alias.size(), 1u);
  EXPECT_EQ(module.extras->input_output_alias[0].parameter, 1);
}

TEST_F(OnPlugin, DonatingTheSameArgumentsAgainCompilesNothing) {
  const Effects effects = effects_of([&] {
    for (int i = 0; i < 3; ++i)
      ASSERT_TRUE(add(on_device({1, 2}), on_device({1, 2}), {.donate = {0}}).ok());
  });
  EXPECT_EQ(effects.compiles, 2);  // without the donation, and with it
  EXPECT_EQ(mock_plugin().seen().calls[static_cast<size_t>(Slot::kClientCompile)], 2);
}

TEST_F(OnPlugin, ArgumentsOfTheWrongKindNeverReachThePlugin) {
  const BufferPtr x = on_device({1, 2});
  const BufferPtr shorter = on_device({1});
  const BufferPtr integers =
      runtime::to_device(device(), Literal(Shape(s32, {2}))).value();  // as many bytes
  const BufferPtr elsewhere = runtime::to_device(device(1), vector_of({1, 2})).value();
  for (const BufferPtr& wrong : {shorter, integers, elsewhere, BufferPtr()})
    EXPECT_EQ(add(x, wrong).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(add_->execute(std::vector{x}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(add(x, x, {.donate = {0}}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(mock_plugin().seen().calls[static_cast<size_t>(Slot::kLoadedExecutableExecute)], 0);
}

TEST_F(OnPlugin, WhatNoPluginCanHoldIsRefusedByName) {
  const auto program = backend_->compile(
      module_of("HloModule m\nENTRY e { ROOT t = token[] after-all() }"), {}, device());
  EXPECT_EQ(program.status().code(), StatusCode::kUnimplemented);
  EXPECT_EQ(base::message_of(program.status()),
            "compile m: the result: token[] is no array that a plugin can hold");
}

TEST_F(OnPlugin, ATypeThatIsYoungerThanThePluginIsRefused) {
  start({.compile = evaluated, .minor = 54});
  EXPECT_EQ(base::message_of(runtime::to_device(device(), Literal(Shape(f8e4m3, {2}))).status()),
            "upload: arrays of f8e4m3 came with PJRT 0.55; convert to another type, or use a newer "
            "plugin");
}

TEST_F(OnPlugin, AnOptionOfTheWrongTypeNeverReachesThePlugin) {
  backend_.reset();
  mock_plugin().reset({});
  const auto refused = [](CreateOption option) {
    return base::message_of(
        make_backend("mock", {.library = HEDDLE_PJRT_MOCK, .create_options = {std::move(option)}})
            .status());
  };
  EXPECT_EQ(refused({"cpu_device_count", std::string("4")}),
            "plugin mock: create option cpu_device_count is a string; it must be an int64");
  EXPECT_EQ(refused({"cpu_device_count", int64_t{0}}),
            "plugin mock: create option cpu_device_count is 0; it must be at least 1");
  EXPECT_EQ(refused({"preallocate", int64_t{1}}),
            "plugin mock: create option preallocate is an int64; it must be a bool");
  EXPECT_EQ(mock_plugin().seen().calls[static_cast<size_t>(Slot::kClientCreate)], 0);
}

TEST_F(OnPlugin, ManyThreadsUseOneBuffer) {
  const BufferPtr x = on_device({1, 2});
  ASSERT_TRUE(add(x, x).ok());
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) EXPECT_THAT(*floats_of(**add(x, x)), ElementsAre(2, 4));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Some use it and some give it away: a run has its value, or is told that it is gone.
TEST_F(OnPlugin, ManyThreadsUseAndDonateOneBuffer) {
  start({.compile = evaluated, .asynchronous = true});
  const BufferPtr y = on_device({10, 20});
  ASSERT_TRUE(add(y, y).ok());
  for (int round = 0; round < 20; ++round) {
    const BufferPtr x = on_device({1, 2});
    std::atomic<int> done = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 16; ++i) {
      threads.emplace_back([&, i] {
        const runtime::ExecuteOptions how{.donate =
                                              i % 4 == 3 ? std::vector{0} : std::vector<int>()};
        const auto sum = add(x, y, how);
        if (sum.ok()) {
          EXPECT_THAT(*floats_of(**sum), ElementsAre(11, 22));
          ++done;
        } else {
          EXPECT_EQ(sum.status().code(), StatusCode::kFailedPrecondition) << sum.status();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_GE(done, 1);
    EXPECT_TRUE(x->is_deleted());
    EXPECT_EQ(add(x, y).status().code(), StatusCode::kFailedPrecondition);
  }
}

TEST_F(OnPlugin, ABufferIsUsedByOneThreadAndReleasedByAnother) {
  ASSERT_TRUE(add(on_device({1, 2}), on_device({1, 2})).ok());
  for (int i = 0; i < 100; ++i) {
    const BufferPtr x = on_device({1, 2});
    std::thread other([&] { x->release(); });
    const auto sum = add(x, x);
    other.join();
    if (sum.ok()) {
      EXPECT_THAT(*floats_of(**sum), ElementsAre(2, 4));
    } else {
      EXPECT_EQ(sum.status().code(), StatusCode::kFailedPrecondition);
    }
  }
}

// Runs wait until open().
class LatePlugin : public MockTest {
 protected:
  LatePlugin() { start({.compile = evaluated, .asynchronous = true, .held = true}); }
};

TEST_F(LatePlugin, AResultIsPendingUntilThePluginHasRun) {
  const BufferPtr x = on_device({1, 2});
  const BufferPtr sum = add(x, x).value();
  EXPECT_EQ(sum->state(), ValueState::kPending);
  mock_plugin().open();
  EXPECT_TRUE(sum->await().ok());
  EXPECT_EQ(sum->state(), ValueState::kReady);
  EXPECT_THAT(*floats_of(*sum), ElementsAre(2, 4));
}

TEST_F(LatePlugin, RunsStandOnPendingResultsAndOutliveWhatMadeThem) {
  BufferPtr y = on_device({1, 2});
  for (int i = 0; i < 5; ++i) y = add(y, y).value();
  EXPECT_EQ(y->state(), ValueState::kPending);
  add_.reset();
  mock_plugin().open();
  EXPECT_THAT(*floats_of(*y), ElementsAre(32, 64));
}

TEST_F(LatePlugin, PendingResultsMayBeDroppedDonatedAndReleased) {
  const BufferPtr x = on_device({1, 2});
  (void)add(x, x).value();
  const BufferPtr first = add(x, x).value();
  const BufferPtr second = add(first, x, {.donate = {0}}).value();
  EXPECT_EQ(first->state(), ValueState::kDonated);
  x->release();
  mock_plugin().open();
  EXPECT_THAT(*floats_of(*second), ElementsAre(3, 6));
}

// The buffer goes while a run that reads its memory waits; the memory stays until it has.
TEST_F(LatePlugin, LentMemoryStaysForTheRunsThatReadIt) {
  const auto lend = [&](std::weak_ptr<const void>& held) {
    auto memory = std::make_shared<Literal>(vector_of({3, 4}));
    held = memory;
    return runtime::lend_to_device(device(), memory->bytes(), memory->shape(), memory).value();
  };
  std::weak_ptr<const void> dropped, released, donated;
  BufferPtr x = lend(dropped), y = lend(released), z = lend(donated);
  BufferPtr first = add(x, y).value();
  BufferPtr second = add(y, z, {.donate = {1}}).value();
  x.reset();
  y->release();
  z.reset();
  for (const auto* held : {&dropped, &released, &donated}) EXPECT_FALSE(held->expired());
  mock_plugin().open();
  EXPECT_THAT(*floats_of(*first), ElementsAre(6, 8));
  EXPECT_THAT(*floats_of(*second), ElementsAre(6, 8));
  runtime::synchronize(device());
  for (BufferPtr* left : {&y, &first, &second}) left->reset();
  start({});  // waits for the thread of the runs
  for (const auto* held : {&dropped, &released, &donated}) EXPECT_TRUE(held->expired());
}

TEST_F(LatePlugin, ADownloadWaits) {
  const BufferPtr x = on_device({1, 2});
  const BufferPtr sum = add(x, x).value();
  std::thread opener([] { mock_plugin().open(); });
  EXPECT_THAT(*floats_of(*sum), ElementsAre(2, 4));
  opener.join();
}

// The memory that it writes to is freed then.
TEST_F(LatePlugin, ADownloadThatCannotBeWaitedForIsNotLeftBefore) {
  const BufferPtr x = on_device({1, 2});
  const BufferPtr sum = add(x, x).value();
  runtime::Download download = runtime::start_to_host(*sum).value();
  mock_plugin().settings().failing[abi::Slot::kEventAwait] = {.message = "broken"};
  std::atomic<bool> is_open = false;
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    is_open = true;
    mock_plugin().open();
  });
  EXPECT_THAT(base::message_of(download.await().status()), HasSubstr("EventAwait: broken"));
  EXPECT_TRUE(is_open);
  opener.join();
}

TEST_F(LatePlugin, APluginThatCannotWaitIsWaitedForByACallback) {
  start({.compile = evaluated,
         .failing = {{Slot::kEventAwait, {.code = 12, .message = "not implemented"}}},
         .asynchronous = true,
         .held = true});
  const BufferPtr x = on_device({1, 2});
  const BufferPtr sum = add(x, x).value();
  std::thread opener([] { mock_plugin().open(); });
  EXPECT_THAT(*floats_of(*sum), ElementsAre(2, 4));
  opener.join();
}

TEST_F(LatePlugin, AnErrorOfARunComesFromItsResults) {
  start({.compile = evaluated, .asynchronous = true, .held = true, .run_error = "out of memory"});
  const BufferPtr x = on_device({1, 2});
  const BufferPtr sum = add(x, x).value();
  const BufferPtr user = add(sum, x).value();
  mock_plugin().open();
  const std::string want = "plugin mock (PJRT 0.114): EventAwait: out of memory";
  EXPECT_EQ(base::message_of(sum->await()), want);
  EXPECT_EQ(sum->state(), ValueState::kReady);
  EXPECT_EQ(base::message_of(floats_of(*sum).status()), want);
  EXPECT_EQ(base::message_of(user->await()), want);
}

TEST_F(LatePlugin, ALaunchThatFindsNoRoomWaitsForTheOldest) {
  const BufferPtr x = on_device({1, 2});
  device().throttle().set_limits({.launches = 2});
  const BufferPtr a = add(x, x).value(), b = add(x, x).value();
  BufferPtr c;
  std::thread other([&] { c = add(x, x).value(); });
  while (device().throttle().load().waits == 0) std::this_thread::yield();
  EXPECT_EQ(c, nullptr);
  mock_plugin().open();
  other.join();
  EXPECT_THAT(*floats_of(*c), ElementsAre(2, 4));
  EXPECT_EQ(device().throttle().load().peak_launches, 2);
}

// The plugin takes every launch at once, and holds memory for each.
TEST_F(LatePlugin, ManyLaunchesFromManyThreadsStayWithinTheBudget) {
  start({.compile = evaluated, .asynchronous = true});
  constexpr int64_t kArray = 4000;
  const BufferPtr x = runtime::to_device(device(), Literal(Shape(f32, {1000}))).value();
  const auto program = compiled(module_of(R"(HloModule negate
ENTRY main {
  x = f32[1000] parameter(0)
  ROOT y = f32[1000] negate(x)
})"));
  device().throttle().set_limits({.launches = 32, .bytes = 10 * kArray});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) ASSERT_TRUE(program->execute(std::vector{x}).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(device().throttle().load().peak_bytes, 10 * kArray);
  // The argument, what is in flight, and a result in each thread's hands.
  EXPECT_LE(mock_plugin().seen().peak_bytes, (1 + 10 + 4) * kArray);
}

}  // namespace
}  // namespace heddle::pjrt
