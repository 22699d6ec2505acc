#include "heddle/runtime/cache/program_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "heddle/base/metrics/counters.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/backend.h"
#include "heddle/runtime/support_test.h"
#include "heddle/testing.h"

namespace heddle::runtime {
namespace {

using hlo::Opcode;

base::Hash128 always_equal(const hlo::Module&) { return {}; }

class Cache : public ::testing::Test {
 protected:
  std::shared_ptr<Executable> get(const hlo::Module& module) {
    return cache_.compile(module, device_).value();
  }

  HollowBackend backend_;
  Device& device_ = *backend_.devices()[0];
  ProgramCache cache_;
};

TEST_F(Cache, TheSecondCallCompilesNothing) {
  const auto first = get(binary_module(Opcode::kAdd, 4));
  std::shared_ptr<Executable> second;
  expect_zero_compiles([&] { second = get(binary_module(Opcode::kAdd, 4)); });
  EXPECT_EQ(second, first);
}

TEST_F(Cache, TheFirstCallCompilesOnce) {
  EXPECT_EQ(effects_of([&] { get(binary_module(Opcode::kAdd, 4)); }), (Counters{.compiles = 1}));
}

TEST_F(Cache, AnIllegalModuleIsAnError) {
  const auto code_of = [&](const hlo::Module& module) {
    return cache_.compile(module, device_).status().code();
  };
  EXPECT_EQ(code_of({}), StatusCode::kInvalidArgument);
  hlo::Module module = binary_module(Opcode::kAdd, 4);
  hlo::Instruction& root = module.computations[0].instructions.back();
  root.opcode = Opcode::kBitcast;
  EXPECT_EQ(code_of(module), StatusCode::kInvalidArgument);
  root.operands.clear();
  EXPECT_EQ(code_of(module), StatusCode::kInvalidArgument);
  root.opcode = Opcode::kConstant;
  EXPECT_EQ(code_of(module), StatusCode::kInvalidArgument);
  const auto shared = std::make_shared<const hlo::Module>(module);
  EXPECT_EQ(cache_.compile(shared, device_).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(cache_.size(), 0u);
}

TEST_F(Cache, FieldsThatOnlyAProtoHasArePartOfTheKey) {
  hlo::Module plain = binary_module(Opcode::kAdd, 4), other = plain;
  other.computations[0].instructions.back().extras.mutate().unknown_proto = "x";
  EXPECT_NE(cache_.compile(plain, device_).value(), cache_.compile(other, device_).value());
}

TEST_F(Cache, NamesAreNotPartOfTheKey) {
  EXPECT_EQ(get(binary_module(Opcode::kAdd, 4, "loss")),
            get(binary_module(Opcode::kAdd, 4, "another")));
}

TEST_F(Cache, AnotherOpOrShapeIsAnotherProgram) {
  const auto add = get(binary_module(Opcode::kAdd, 4));
  EXPECT_NE(get(binary_module(Opcode::kMultiply, 4)), add);
  EXPECT_NE(get(binary_module(Opcode::kAdd, 5)), add);
}

TEST_F(Cache, AnotherHeaderIsAnotherProgram) {
  hlo::Module partitioned = identity_module(4);
  partitioned.extras.mutate().num_partitions = 2;
  const auto whole = get(identity_module(4));
  EXPECT_NE(get(partitioned), whole);
}

TEST_F(Cache, AnotherDeviceIsAnotherProgram) {
  HollowBackend other;
  const auto here = get(identity_module(4));
  EXPECT_NE(cache_.compile(identity_module(4), *other.devices()[0]).value(), here);
}

TEST_F(Cache, ADeviceAtTheAddressOfADeadOneIsAnotherDevice) {
  std::optional<HollowBackend> backend(std::in_place);
  const auto dead = cache_.compile(identity_module(4), *backend->devices()[0]).value();
  backend.emplace();
  EXPECT_NE(cache_.compile(identity_module(4), *backend->devices()[0]).value(), dead);
}

TEST_F(Cache, OtherOptionsAreAnotherProgram) {
  const auto plain = get(identity_module(4));
  const CompileOptions options = {.backend_options = {{"level", "3"}}};
  const auto with = cache_.compile(identity_module(4), device_, options).value();
  EXPECT_NE(with, plain);
  EXPECT_EQ(cache_.compile(identity_module(4), device_, options).value(), with);
}

TEST_F(Cache, TheLeastRecentlyUsedProgramGoesFirst) {
  cache_.set_capacity(2);
  get(identity_module(1));
  get(identity_module(2));
  get(identity_module(1));  // 2 is the older one now
  get(identity_module(3));
  expect_zero_compiles([&] { get(identity_module(1)); });
  EXPECT_EQ(effects_of([&] { get(identity_module(2)); }).compiles, 1);
}

TEST_F(Cache, ShrinkingTheCapacityDropsTheOldest) {
  for (int64_t n : {1, 2, 3, 4}) get(identity_module(n));
  cache_.set_capacity(1);
  EXPECT_EQ(cache_.size(), 1u);
  expect_zero_compiles([&] { get(identity_module(4)); });
}

TEST_F(Cache, AnEvictedProgramLivesOnWithItsHolder) {
  cache_.set_capacity(1);
  const auto held = get(identity_module(1));
  get(identity_module(2));
  EXPECT_EQ(held->parameter_shapes()[0], f32({1}));
}

TEST_F(Cache, ClearForgetsAll) {
  get(identity_module(1));
  cache_.clear();
  EXPECT_EQ(cache_.size(), 0u);
  EXPECT_EQ(effects_of([&] { get(identity_module(1)); }).compiles, 1);
}

TEST(CacheOfErrors, AnErrorIsReturnedAndNotHeld) {
  int calls = 0;
  HollowBackend backend(
      [&] { return ++calls == 1 ? base::resource_exhausted("compile: no memory") : Status(); });
  ProgramCache cache;
  Device& device = *backend.devices()[0];
  EXPECT_EQ(cache.compile(identity_module(1), device).status(),
            base::resource_exhausted("compile: no memory"));
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_TRUE(cache.compile(identity_module(1), device).ok());
}

TEST(CacheOfErrors, RunningOutOfMemoryIsAnErrorLikeOthers) {
  HollowBackend backend([]() -> Status { throw std::bad_alloc(); });
  ProgramCache cache;
  EXPECT_EQ(cache.compile(identity_module(1), *backend.devices()[0]).status(),
            base::resource_exhausted("compile identity: needs more host memory than there is"));
  EXPECT_EQ(cache.size(), 0u);
  HollowBackend endless([]() -> Status { return std::vector<char>().reserve(SIZE_MAX), Status(); });
  EXPECT_EQ(endless.compile(identity_module(2), {}, *endless.devices()[0]).status(),
            base::resource_exhausted("compile identity: needs more host memory than there is"));
}

TEST(CacheOfErrors, AFailedCompileIsNotCounted) {
  HollowBackend backend([] { return base::resource_exhausted("compile: no memory"); });
  ProgramCache cache;
  expect_zero_compiles(
      [&] { EXPECT_FALSE(cache.compile(identity_module(1), *backend.devices()[0]).ok()); });
}

TEST(CacheUnderCollision, EachModuleGetsItsOwnProgram) {
  const auto backend = interpreter::make_backend();
  Device& device = *backend->devices()[0];
  ProgramCache cache(ProgramCache::kDefaultCapacity, &always_equal);
  const std::vector arguments = {on(device, {2, 3}), on(device, {5, 7})};
  const auto result_of = [&](Opcode op) {
    return values_of(
        *cache.compile(binary_module(op, 2), device).value()->execute(arguments).value()[0]);
  };
  for (int repeat = 0; repeat < 2; ++repeat) {
    EXPECT_EQ(result_of(Opcode::kAdd), (std::vector<float>{7, 10}));
    EXPECT_EQ(result_of(Opcode::kMultiply), (std::vector<float>{10, 21}));
    EXPECT_EQ(result_of(Opcode::kSubtract), (std::vector<float>{-3, -4}));
  }
  EXPECT_EQ(cache.size(), 3u);
}

TEST(CacheUnderCollision, EvictionTakesTheRightOne) {
  HollowBackend backend;
  Device& device = *backend.devices()[0];
  ProgramCache cache(2, &always_equal);
  for (int64_t n : {1, 2, 3}) (void)cache.compile(identity_module(n), device).value();
  expect_zero_compiles([&] { (void)cache.compile(identity_module(2), device).value(); });
  expect_zero_compiles([&] { (void)cache.compile(identity_module(3), device).value(); });
}

// Compiling waits until every thread has asked, or is about to.
TEST(CacheOfManyThreads, ThreadsThatAskAtOnceCompileOnceAndShare) {
  constexpr int kThreads = 4;
  std::atomic<int> arrived = 0, compiles = 0;
  HollowBackend backend([&] {
    ++compiles;
    while (arrived < kThreads) std::this_thread::yield();
    return Status();
  });
  ProgramCache cache;
  std::vector<std::shared_ptr<Executable>> got(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ++arrived;
      got[static_cast<size_t>(t)] =
          cache.compile(identity_module(4), *backend.devices()[0]).value();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compiles, 1);
  EXPECT_EQ(got, std::vector(kThreads, got[0]));
}

TEST(CacheOfManyThreads, ThreadsThatAskAtOnceShareAnError) {
  std::atomic<int> arrived = 0;
  HollowBackend backend([&]() -> Status {
    while (arrived < 2) std::this_thread::yield();
    return base::resource_exhausted("compile: no memory");
  });
  ProgramCache cache;
  const auto ask = [&] {
    ++arrived;
    EXPECT_EQ(cache.compile(identity_module(4), *backend.devices()[0]).status(),
              base::resource_exhausted("compile: no memory"));
  };
  std::thread other(ask);
  ask();
  other.join();
}

TEST(CacheOfManyThreads, AnExceptionOfABackendIsThrownOnceAndLeavesNobodyWaiting) {
  std::atomic<int> arrived = 0, thrown = 0, told = 0;
  HollowBackend backend([&]() -> Status {
    while (arrived < 2) std::this_thread::yield();
    throw std::runtime_error("a backend's own");
  });
  ProgramCache cache;
  const auto ask = [&] {
    ++arrived;
    try {
      const Status status = cache.compile(identity_module(4), *backend.devices()[0]).status();
      EXPECT_EQ(status.code(), StatusCode::kInternal) << status;
      ++told;
    } catch (const std::runtime_error&) {
      ++thrown;
    }
  };
  std::thread other(ask);
  ask();
  other.join();
  EXPECT_GE(thrown, 1);
  EXPECT_EQ(thrown + told, 2);
  EXPECT_EQ(cache.size(), 0u);
}

TEST(CacheOfManyThreads, IsCleanUnderEvictionAndClearing) {
  HollowBackend backend;
  ProgramCache cache(3);
  const auto churn = [&](int64_t seed) {
    for (int64_t i = 0; i < 200; ++i) {
      const int64_t n = 1 + (i * seed) % 7;
      EXPECT_EQ(
          cache.compile(identity_module(n), *backend.devices()[0]).value()->parameter_shapes()[0],
          f32({n}));
      if (i % 50 == 0) cache.clear();
    }
  };
  std::thread other([&] { churn(3); });
  churn(5);
  other.join();
  EXPECT_LE(cache.size(), 3u);
}

// Its first instruction is dead, and the other is of another name.
TEST_F(Cache, WhatComputesTheSameIsTheSameProgram) {
  const auto module = [](std::string_view text) { return hlo::parse_text(text).value(); };
  EXPECT_EQ(get(module("ENTRY main { x = f32[2] parameter(0) y = f32[2] abs(x) "
                       "ROOT z = f32[2] negate(x) }")),
            get(module("ENTRY other { a = f32[2] parameter(0) ROOT b = f32[2] negate(a) }")));
}

TEST(Handle, HasTheProgramUntilTheCacheLetsGoOfIt) {
  const auto backend = interpreter::make_backend();
  Device& device = *backend->devices()[0];
  EXPECT_EQ(ProgramHandle().get(), nullptr);
  ProgramHandle handle;
  const auto module = std::make_shared<const hlo::Module>(identity_module(7));
  const auto program = compile_cached(module, device, {}, &handle).value().get();
  EXPECT_EQ(handle.get().get(), program);
  program_cache().clear();
  EXPECT_EQ(handle.get(), nullptr);
}

// For ThreadSanitizer.
TEST(Handle, MayBeCopiedWhileAnotherThreadReadsIt) {
  const auto backend = interpreter::make_backend();
  const auto module = std::make_shared<const hlo::Module>(identity_module(9));
  ProgramHandle handle;
  (void)compile_cached(module, *backend->devices()[0], {}, &handle);
  {
    const std::jthread reader([&] {
      for (int i = 0; i < 1000; ++i) (void)handle.get();
    });
    for (int i = 0; i < 1000; ++i) {
      const ProgramHandle copy = handle;
      EXPECT_NE(copy.get(), nullptr);
    }
  }
  program_cache().clear();
}

TEST(Handle, WhatRunsOftenIsTheLastToGo) {
  const auto backend = interpreter::make_backend();
  Device& device = *backend->devices()[0];
  program_cache().clear();
  const size_t capacity = program_cache().capacity();
  program_cache().set_capacity(2);
  ProgramHandle often;
  (void)compile_cached(std::make_shared<const hlo::Module>(identity_module(1)), device, {}, &often);
  (void)compile_cached(identity_module(2), device);
  for (int i = 0; i < 100; ++i) EXPECT_NE(often.get(), nullptr);
  (void)compile_cached(identity_module(3), device);
  EXPECT_NE(often.get(), nullptr);
  program_cache().set_capacity(capacity);
  program_cache().clear();
}

TEST(ProcessCache, CompileCachedUsesIt) {
  const auto backend = interpreter::make_backend();
  Device& device = *backend->devices()[0];
  const auto first = compile_cached(identity_module(6), device).value();
  EXPECT_EQ(program_cache().compile(identity_module(6), device).value(), first);
  program_cache().clear();
}

}  // namespace
}  // namespace heddle::runtime
