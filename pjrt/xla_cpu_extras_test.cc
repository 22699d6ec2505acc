// Real XLA: transfers in other forms, programs as bytes, functions that it calls, what it says of a
// program, and what it has in flight.
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "heddle/base/support_test.h"
#include "heddle/interpreter/custom_call.h"
#include "heddle/pjrt/internal/host_calls.h"
#include "heddle/pjrt/serialized.h"
#include "heddle/pjrt/xla_cpu_support_test.h"
#include "heddle/runtime/dlpack.h"
#include "heddle/testing.h"

namespace heddle::pjrt {
namespace {

// ---- Transfers.

TEST_F(XlaCpu, StridedMemoryArrivesRowMajor) {
  const std::vector<float> m = {1, 2, 3, 4, 5, 6};  // 2 rows of 3
  const auto upload = [&](const float* data, std::vector<int64_t> sizes,
                          std::vector<int64_t> strides) {
    const auto buffer =
        runtime::to_device(device(), runtime::StridedArray{.data = data,
                                                           .shape = Shape(f32, std::move(sizes)),
                                                           .byte_strides = std::move(strides)});
    EXPECT_TRUE(buffer.ok()) << buffer.status();
    return *floats_of(**buffer);
  };
  EXPECT_THAT(upload(m.data(), {3, 2}, {4, 12}), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(upload(m.data() + 5, {6}, {-4}), ElementsAre(6, 5, 4, 3, 2, 1));
  EXPECT_THAT(upload(m.data(), {2, 3}, {0, 4}), ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_THAT(upload(m.data() + 1, {}, {}), ElementsAre(2));
}

TEST_F(XlaCpu, ADownloadOutlivesItsBuffer) {
  const auto add = compiled(add_module());
  const BufferPtr x = on_device(vector_of({1, 2}));
  BufferPtr sum = add->execute(std::vector{x, x}).value()[0];
  runtime::Download download = runtime::start_to_host(*sum).value();
  sum->release();
  sum.reset();
  EXPECT_EQ(download.await().value(), vector_of({2, 4}));
}

TEST_F(XlaCpu, AViewSharesTheMemoryAndSurvivesTheBuffer) {
  const auto add = compiled(add_module());
  const BufferPtr x = on_device(vector_of({1, 2}));
  BufferPtr sum = add->execute(std::vector{x, x}).value()[0];
  Literal view;
  const Effects effects = effects_of([&] { view = runtime::view_on_host(*sum).value(); });
  EXPECT_EQ(effects.aliased_bytes, 8);
  EXPECT_EQ(effects.download_bytes, 0);
  EXPECT_EQ(view.bytes(), runtime::view_on_host(*sum).value().bytes());
  sum.reset();
  EXPECT_EQ(view, vector_of({2, 4}));
}

TEST_F(XlaCpu, ARunThatIsGivenAViewedBufferWritesElsewhere) {
  const auto add = compiled(add_module());
  const BufferPtr x = on_device(vector_of({1, 2})), y = on_device(vector_of({10, 20}));
  const Literal view = runtime::view_on_host(*x).value();
  const auto sum = add->execute(std::vector{x, y}, {.donate = {0}});
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_THAT(*floats_of(*(*sum)[0]), ElementsAre(11, 22));
  EXPECT_EQ(view, vector_of({1, 2}));
}

TEST_F(XlaCpu, PackedElementsAreNotViewed) {
  const BufferPtr x = on_device(Literal(Shape(s4, {3})));
  EXPECT_EQ(base::message_of(runtime::view_on_host(*x).status()),
            "view: s4[3] has its elements packed on the device; copy with to_host()");
}

TEST_F(XlaCpu, ATensorGoesThroughDlpackWithoutACopy) {
  const BufferPtr x = on_device(vector_of({1, 2, 3}));
  const Effects effects = effects_of([&] {
    runtime::dlpack::ManagedTensor* tensor = runtime::to_dlpack(*x).value();
    const BufferPtr y = runtime::from_dlpack(device(1), tensor).value();
    EXPECT_THAT(*floats_of(*y), ElementsAre(1, 2, 3));
  });
  EXPECT_EQ(effects.uploads, 0);
  EXPECT_EQ(effects.aliased_bytes, 24);
}

// ---- Programs as bytes.

TEST_F(XlaCpu, AProgramComesBackFromItsBytes) {
  const std::string bytes = serialize(*compiled(add_module())).value();
  const auto program = load(bytes, add_module(), {}, device());
  ASSERT_TRUE(program.ok()) << program.status();
  const BufferPtr x = on_device(vector_of({1, 2}));
  EXPECT_THAT(*floats_of(*(*program)->execute(std::vector{x, x}).value()[0]), ElementsAre(2, 4));
}

TEST_F(XlaCpu, DamagedBytesNeverReachIt) {
  std::string bytes = serialize(*compiled(add_module())).value();
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string hurt = bytes;
    hurt[random() % hurt.size()] ^= static_cast<char>(1 << random() % 8);
    if (i % 3 == 0) hurt.resize(random() % hurt.size());
    ASSERT_EQ(load(hurt, add_module(), {}, device()).status().code(), StatusCode::kInvalidArgument);
  }
}

// ---- Functions that XLA calls.

// scaled(x: f32[..]) = scale x
StatusOr<Literal> scaled(interpreter::CustomCall& call) {
  HEDDLE_ASSIGN_OR_RETURN(std::span<const float> x, call.values<float>(0));
  HEDDLE_ASSIGN_OR_RETURN(const double scale, call.number("scale"));
  if (!x.empty() && x[0] < 0) return call.error("x begins with a negative number");
  Literal out = Literal::uninitialised(call.result());
  std::ranges::transform(x, out.mutable_values<float>().begin(),
                         [&](float value) { return static_cast<float>(scale) * value; });
  return out;
}

constexpr char kScaled[] = R"(HloModule scaled
ENTRY main {
  x = f32[2,3] parameter(0)
  t = f32[3,2] transpose(x), dimensions={1,0}
  y = f32[3,2] custom-call(t), custom_call_target="test.scaled", backend_config={scale = 3.0 : f64}
  ROOT z = f32[2,3] transpose(y), dimensions={1,0}
})";

class Functions : public XlaCpu {
 protected:
  void SetUp() override {
    XlaCpu::SetUp();
    ASSERT_EQ(interpreter::register_custom_call("test.scaled", scaled), Status());
  }
  void TearDown() override { interpreter::unregister_custom_call("test.scaled"); }
};

TEST_F(Functions, OneRegistrationServesEvaluatorAndPlugin) {
  const Literal x = Literal::from<float>(Shape(f32, {2, 3}), {1, 2, 3, 4, 5, 6});
  const auto got = run(kScaled, {x});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*got, interpreter::evaluate(module_of(kScaled), {x}).value());
  EXPECT_EQ(got->values<float>()[5], 18);
}

TEST_F(Functions, ItsErrorIsTheRuns) {
  const Literal x = Literal::from<float>(Shape(f32, {2, 3}), {-1, 2, 3, 4, 5, 6});
  const auto got = run(kScaled, {x});
  EXPECT_THAT(base::message_of(got.status()),
              HasSubstr("custom-call: test.scaled: x begins with a negative number"));
  EXPECT_THAT(base::message_of(got.status()), HasSubstr("plugin xla-cpu (PJRT 0."));
}

// The plugin is C on that side: an exception that left the function would end the process.
TEST_F(Functions, WhateverOneThrowsIsTheRunsError) {
  const auto throws = [](const auto& what) {
    return [what](interpreter::CustomCall&) -> StatusOr<Literal> { throw what; };
  };
  const auto error_of = [&](interpreter::CustomCallFunction function) {
    interpreter::unregister_custom_call("test.scaled");
    EXPECT_EQ(interpreter::register_custom_call("test.scaled", std::move(function)), Status());
    return base::message_of(run(kScaled, {Literal(Shape(f32, {2, 3}))}).status());
  };
  EXPECT_THAT(error_of(throws(std::runtime_error("no luck"))), HasSubstr("no luck"));
  EXPECT_THAT(error_of(throws(7)), HasSubstr(": threw what is no std::exception"));
}

TEST_F(Functions, TuplesAndComputationsAreHandedOver) {
  ASSERT_EQ(interpreter::register_custom_call(
                "test.twice",
                [](interpreter::CustomCall& call) -> StatusOr<Literal> {
                  HEDDLE_ASSIGN_OR_RETURN(Literal once, call.call(0, call.operands()));
                  HEDDLE_ASSIGN_OR_RETURN(Literal twice, call.call(0, std::vector{once}));
                  return Literal::tuple({once, twice});
                }),
            Status());
  const std::string text = R"(HloModule twice
step {
  p = f32[2] parameter(0)
  two = f32[] constant(2)
  twos = f32[2] broadcast(two), dimensions={}
  ROOT q = f32[2] multiply(p, twos)
}
ENTRY main {
  x = f32[2] parameter(0)
  y = (f32[2], f32[2]) custom-call(x), custom_call_target="test.twice", called_computations={step}
  a = f32[2] get-tuple-element(y), index=0
  b = f32[2] get-tuple-element(y), index=1
  ROOT sum = f32[2] add(a, b)
})";
  const auto got = run(text, {vector_of({1, 2})});
  interpreter::unregister_custom_call("test.twice");
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*got, vector_of({6, 12}));
}

TEST_F(Functions, SeveralThreadsCallThem) {
  const auto program = compiled(module_of(kScaled));
  const BufferPtr x = on_device(Literal(Shape(f32, {2, 3})));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i)
        EXPECT_EQ(program->execute(std::vector{x}).value()[0]->await(), Status());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Functions, AProgramThatCallsThemComesBackFromItsBytes) {
  const hlo::Module module = module_of(kScaled);
  const std::string bytes = serialize(*compiled(module)).value();
  const auto program = load(bytes, module, {}, device());
  ASSERT_TRUE(program.ok()) << program.status();
  const BufferPtr x = on_device(Literal::from<float>(Shape(f32, {2, 3}), {1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(*floats_of(*(*program)->execute(std::vector{x}).value()[0]),
              ElementsAre(3, 6, 9, 12, 15, 18));
}

TEST_F(Functions, OneThatNobodyRegisteredIsNamed) {
  const auto got = run(R"(HloModule m
ENTRY main {
  x = f32[2] parameter(0)
  ROOT y = f32[2] custom-call(x), custom_call_target="test.nobody"
})",
                       {vector_of({1, 2})});
  EXPECT_EQ(got.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(base::message_of(got.status()), HasSubstr("the plugin has no function test.nobody"));
}

// ---- What it takes for something else.

TEST_F(XlaCpu, ConstantsThatCountFromMinusZeroAreWhatTheyAre) {
  const Literal counted = vector_of({-0.0F, 1, 2, 3});
  EXPECT_EQ(
      run("ENTRY main { c = f32[4] constant({-0, 1, 2, 3}) ROOT r = f32[4] copy(c) }", {}).value(),
      counted);
  const std::string dot = R"(ENTRY main {
  c = f8e3m4[4] constant({-0, 1, 2, 3})
  d = f8e3m4[4] constant({1, 1, 1, 2})
  ROOT r = f8e3m4[] dot(c, d), lhs_contracting_dims={0}, rhs_contracting_dims={0}
})";
  const StatusOr<Literal> product = run(dot, {});
  ASSERT_TRUE(product.ok()) << product.status();
  EXPECT_EQ(product->to_double(0), 9);
}

// ---- What it says of a program.

TEST_F(XlaCpu, ItsAnalysisOfAProgramIsTheCost) {
  const runtime::ProgramCost cost = compiled(module_of(R"(HloModule product
ENTRY main {
  a = f32[8,16] parameter(0)
  b = f32[16,4] parameter(1)
  ROOT c = f32[8,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})"))
                                        ->cost();
  EXPECT_EQ(cost.argument_bytes, 4 * (8 * 16 + 16 * 4));
  EXPECT_EQ(cost.result_bytes, 4 * 8 * 4);
  ASSERT_TRUE(cost.flops.has_value());
  EXPECT_EQ(*cost.flops, 2 * 8 * 16 * 4);
  ASSERT_TRUE(cost.bytes_accessed.has_value());
  EXPECT_GE(*cost.bytes_accessed, static_cast<double>(cost.argument_bytes + cost.result_bytes));
  EXPECT_TRUE(cost.peak_bytes.has_value());
  EXPECT_FALSE(cost.properties.empty());
}

// ---- What it has in flight.

TEST_F(XlaCpu, LaunchesOfSeveralThreadsStayWithinTheBudget) {
  const auto program = compiled(module_of(R"(HloModule steps
ENTRY main {
  x = f32[65536] parameter(0)
  y = f32[65536] exponential(x)
  z = f32[65536] sine(y)
  ROOT out = f32[65536] multiply(z, z)
})"));
  const runtime::ProgramCost cost = program->cost();
  const int64_t launch = cost.result_bytes + cost.scratch_bytes.value_or(0);
  runtime::Throttle& throttle = device().throttle();
  throttle.set_limits({.launches = 32, .bytes = 5 * launch});
  const BufferPtr x = on_device(Literal(Shape(f32, {65536})));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      std::vector<BufferPtr> results(1);
      for (int i = 0; i < 200; ++i)
        ASSERT_EQ(program->execute_into(std::vector{x}, results), Status());
    });
  }
  for (std::thread& thread : threads) thread.join();
  synchronize(device());
  EXPECT_LE(throttle.load().peak_bytes, 5 * launch);
  EXPECT_LE(throttle.load().peak_launches, 5);
  EXPECT_EQ(throttle.load().launches, 0);
}

TEST_F(XlaCpu, ALaunchLargerThanTheBudgetGoesAlone) {
  device().throttle().set_limits({.launches = 32, .bytes = 1});
  const auto add = compiled(add_module());
  BufferPtr y = on_device(vector_of({0, 0}));
  const BufferPtr one = on_device(vector_of({1, 1}));
  for (int i = 0; i < 100; ++i) y = add->execute(std::vector{y, one}).value()[0];
  EXPECT_THAT(*floats_of(*y), ElementsAre(100, 100));
  EXPECT_EQ(device().throttle().load().peak_launches, 1);
}

}  // namespace
}  // namespace heddle::pjrt
