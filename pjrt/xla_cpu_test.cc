// Real XLA: the official behaviours of the interface, and ours on top of them. Skipped where the
// plugin is not there: ./dev setup-plugin xla-cpu fetches it.
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "heddle/base/metrics/counters.h"
#include "heddle/base/support_test.h"
#include "heddle/pjrt/xla_cpu_support_test.h"
#include "heddle/testing.h"

namespace heddle::pjrt {
namespace {

TEST_F(XlaCpu, AProgramRunsOnEachDevice) {
  for (const auto& device : backend_->devices()) {
    const auto add = backend_->compile(add_module(), {}, *device);
    ASSERT_TRUE(add.ok()) << add.status();
    const BufferPtr x = runtime::to_device(*device, vector_of({1, 2})).value();
    const auto sum = (*add)->execute(std::vector{x, x});
    ASSERT_TRUE(sum.ok()) << sum.status();
    EXPECT_THAT(*floats_of(*(*sum)[0]), ElementsAre(2, 4));
  }
}

TEST_F(XlaCpu, ThreeParametersGoIntoATuple) {
  const auto program = compiled(module_of(R"(HloModule three
ENTRY e {
  a = f32[] parameter(0)
  b = f32[2] parameter(1)
  c = s32[] parameter(2)
  ROOT all = (f32[], f32[2], s32[]) tuple(a, b, c)
})"));
  const std::vector<Literal> values = {Literal::scalar(f32, 1.5), vector_of({2, 3}),
                                       Literal::scalar(s32, int64_t{4})};
  std::vector<BufferPtr> arguments;
  for (const Literal& value : values) arguments.push_back(on_device(value));
  const auto results = program->execute(arguments);
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_EQ(results->size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(runtime::to_host(*(*results)[i]).value(), values[i]);
}

TEST_F(XlaCpu, EveryTypeGoesThereAndBack) {
#define HEDDLE_X(enumerator, text, number, bits, bytes, kind) DType::enumerator,
  constexpr DType kTypes[] = {HEDDLE_DTYPES(HEDDLE_X)};
#undef HEDDLE_X
  for (DType dtype : kTypes) {
    Literal values(Shape(dtype, {2, 3}));
    for (int64_t i = 0; i < values.byte_size(); ++i) {
      const bool small = bit_width(dtype) < 8;
      values.mutable_bytes()[i] = static_cast<std::byte>(small ? i % 2 : i + 1);
    }
    const auto there = runtime::to_device(device(), values);
    if (dtype == s1 || dtype == u1) {
      EXPECT_EQ(there.status().code(), StatusCode::kUnimplemented);
      continue;
    }
    ASSERT_TRUE(there.ok()) << to_string(dtype) << there.status();
    EXPECT_EQ(runtime::to_host(**there).value(), values) << to_string(dtype);
  }
}

TEST_F(XlaCpu, NegativeIntegersOfFourBitsComeBackNegative) {
  const Literal values = Literal::from<int8_t>(Shape(s4, {3}), {-8, -1, 7});
  EXPECT_EQ(runtime::to_host(*on_device(values)).value(), values);
}

TEST_F(XlaCpu, MaximumKeepsNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto got = run(R"(HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  ROOT m = f32[2] maximum(x, y)
})",
                       {vector_of({nan, 1}), vector_of({1, nan})});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(std::isnan(got->values<float>()[0]) && std::isnan(got->values<float>()[1]));
}

TEST_F(XlaCpu, AnUnknownOptionOfAProgramIsNamed) {
  const auto program =
      backend_->compile(add_module(), {.backend_options = {{"xla_no_such_option", "1"}}}, device());
  EXPECT_THAT(base::message_of(program.status()),
              HasSubstr("compile add: plugin xla-cpu (PJRT 0."));
  EXPECT_THAT(base::message_of(program.status()),
              HasSubstr("No such compile option: 'xla_no_such_option'"));
}

TEST_F(XlaCpu, AScanIsLoweredForIt) {
  const auto got = run(R"(HloModule m
f {
  x = f32[] parameter(0)
  h = f32[] parameter(1)
  n = f32[] add(h, x)
  ROOT t = (f32[], f32[]) tuple(n, n)
}

ENTRY main {
  xs = f32[3] parameter(0)
  h = f32[] parameter(1)
  s = (f32[3], f32[]) scan(xs, h), dimensions={0}, num_carries=1, to_apply=f
  ROOT ys = f32[3] get-tuple-element(s), index=0
})",
                       {vector_of({1, 2, 3}), Literal::scalar(f32, 10.0)});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*got, vector_of({11, 13, 16}));
}

TEST_F(XlaCpu, MulhiIsExpandedForIt) {
  struct Case {
    DType dtype;
    int64_t x, y;
  };
  const Case kCases[] = {{s8, -128, 127},
                         {u8, 255, 255},
                         {s16, -32768, -32768},
                         {u16, 65535, 3},
                         {s32, INT32_MIN, INT32_MAX},
                         {u32, -1, -1},
                         {s64, INT64_MIN, INT64_MAX},
                         {s64, -1, 1},
                         {s64, INT64_MIN, INT64_MIN},
                         {u64, -1, -1},
                         {u64, 0x123456789abcdef0, -5},
                         {s64, 0x123456789abcdef0, -5}};
  for (const Case& c : kCases) {
    const std::string text =
        base::cat("HloModule m\nENTRY e {\n x = ", c.dtype, "[] parameter(0)\n y = ", c.dtype,
                  "[] parameter(1)\n ROOT m = ", c.dtype, "[] mulhi(x, y)\n}");
    const std::vector<Literal> arguments = {Literal::scalar(c.dtype, c.x),
                                            Literal::scalar(c.dtype, c.y)};
    const auto got = run(text, arguments);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(*got, interpreter::evaluate(module_of(text), arguments).value())
        << text << c.x << " " << c.y;
  }
}

TEST_F(XlaCpu, LentMemoryIsNotCopied) {
  const Literal values = vector_of({1, 2, 3, 4});
  const Effects effects = effects_of([&] {
    const BufferPtr x =
        runtime::lend_to_device(device(), values.bytes(), values.shape(), values.owner()).value();
    EXPECT_THAT(*floats_of(*x), ElementsAre(1, 2, 3, 4));
  });
  EXPECT_EQ(effects.aliased_bytes, 16);
  EXPECT_EQ(effects.upload_bytes, 0);
}

TEST_F(XlaCpu, ADonatedArgumentsMemoryIsTheResults) {
  const auto add = compiled(add_module());
  const BufferPtr x = on_device(vector_of({1, 2})), y = on_device(vector_of({10, 20}));
  const auto sum = add->execute(std::vector{x, y}, {.donate = {0}});
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_THAT(*floats_of(*(*sum)[0]), ElementsAre(11, 22));
  EXPECT_TRUE(x->is_deleted());
  EXPECT_THAT(*floats_of(*y), ElementsAre(10, 20));
}

TEST_F(XlaCpu, ADonatedLoanIsCopiedAndTheHostsMemoryUntouched) {
  const auto add = compiled(add_module());
  const Literal values = vector_of({1, 2});
  const BufferPtr x =
      runtime::lend_to_device(device(), values.bytes(), values.shape(), values.owner()).value();
  const auto sum = add->execute(std::vector{x, on_device(vector_of({10, 20}))}, {.donate = {0}});
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_THAT(*floats_of(*(*sum)[0]), ElementsAre(11, 22));
  EXPECT_EQ(values, vector_of({1, 2}));
}

TEST_F(XlaCpu, ManyThreadsUseAndDonate) {
  const auto add = compiled(add_module());
  const BufferPtr one = on_device(vector_of({1, 1}));
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      BufferPtr y = on_device(vector_of({0, 0}));
      for (int i = 0; i < 50; ++i) {
        runtime::ExecuteOptions options;
        if (t % 2 == 0) options.donate = {0};
        y = add->execute(std::vector{y, one}, options).value()[0];
      }
      EXPECT_THAT(*floats_of(*y), ElementsAre(50, 50));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// All of them read x until one of them is given it; then nobody has it.
TEST_F(XlaCpu, ManyThreadsUseOneBufferUntilItIsDonated) {
  const auto add = compiled(add_module());
  const BufferPtr y = on_device(vector_of({10, 20}));
  for (int round = 0; round < 8; ++round) {
    const BufferPtr x = on_device(vector_of({1, 2}));
    std::atomic<int> sums = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 16; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 40; ++i) {
          runtime::ExecuteOptions options;
          if (t == 7 && i == 20) options.donate = {0};
          const auto sum = add->execute(std::vector{x, y}, options);
          if (sum.ok()) {
            EXPECT_THAT(*floats_of(*(*sum)[0]), ElementsAre(11, 22));
            ++sums;
          } else {
            EXPECT_EQ(sum.status().code(), StatusCode::kFailedPrecondition) << sum.status();
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_GE(sums, 21);
    EXPECT_TRUE(x->is_deleted());
  }
}

TEST_F(XlaCpu, BuffersOutliveTheirProgramsAndRunsTheirArguments) {
  std::vector<BufferPtr> results;
  {
    const auto add = compiled(add_module());
    const BufferPtr x = on_device(vector_of({1, 2}));
    for (int i = 0; i < 100; ++i) results.push_back(add->execute(std::vector{x, x}).value()[0]);
  }
  for (const BufferPtr& result : results) EXPECT_THAT(*floats_of(*result), ElementsAre(2, 4));
}

TEST_F(XlaCpu, ThousandQueuedRunsEnd) {
  const auto add = compiled(add_module());
  BufferPtr y = on_device(vector_of({1, 1}));
  const BufferPtr zero = on_device(vector_of({0, 0}));
  for (int i = 0; i < 1000; ++i) y = add->execute(std::vector{y, zero}).value()[0];
  EXPECT_THAT(*floats_of(*y), ElementsAre(1, 1));
}

TEST_F(XlaCpu, AProgramTellsItsCost) {
  const runtime::ProgramCost cost = compiled(add_module())->cost();
  EXPECT_EQ(cost.argument_bytes, 16);
  EXPECT_TRUE(cost.scratch_bytes.has_value());
}

}  // namespace
}  // namespace heddle::pjrt
