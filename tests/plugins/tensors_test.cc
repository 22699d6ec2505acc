// What a user of Tensor does with real XLA beyond calling programs: options of one program, names
// of devices, donation, programs as bytes, and memory that host and device share. Skipped where the
// plugin is not there: ./dev setup-plugin xla-cpu.
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <optional>
#include <span>
#include <thread>

#include "heddle/base/support_test.h"
#include "heddle/heddle.h"
#include "heddle/hlo/module.h"
#include "heddle/pjrt/serialized.h"
#include "heddle/pjrt/xla_cpu_library_test.h"
#include "heddle/testing.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

constexpr char kName[] = "pjrt:tensors-on-xla";

class TensorsOnXla : public ::testing::Test {
 protected:
  void SetUp() override {
    static const bool there = [] {
      const std::string library = xla_cpu_library();
      return !library.empty() &&
             pjrt::register_plugin(
                 "tensors-on-xla",
                 {.library = library, .create_options = {{"cpu_device_count", int64_t{2}}}})
                 .ok();
    }();
    if (!there) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
    scope_.emplace(*find_device(kName).value());
  }
  std::optional<DefaultDevice> scope_;
};

// Memory of a plugin is none of the host's: a new size compiles a pad and a cut, and not fn.
TEST_F(TensorsOnXla, ABucketPadsAndCutsByPrograms) {
  const auto f = compile(
      [](const Tensor& x) {
        return std::pair(x * 2, sum(where(row_mask(x), x, 0)) / valid_rows(x).astype(f32));
      },
      {.bucket = {.arguments = {0}, .repeat_last = true}});
  const auto runs = [&](int64_t rows) {
    const Tensor x = arange(rows).astype(f32) + 1.0;
    const auto [twice, mean_of_rows] = f(x);
    EXPECT_EQ(twice.to_vector<float>(), (x * 2).to_vector<float>());
    EXPECT_FLOAT_EQ(mean_of_rows.item<float>(), static_cast<float>(rows + 1) / 2);
  };
  for (int64_t rows : {3, 5, 8, 11}) runs(rows);
  EXPECT_EQ(f.stats().compiles, 2);
  const Tensor x = ones({5});
  EXPECT_EQ(effects_of([&] { (void)f(x); }).compiles, 0) << "its pad and its cut are there";
  expect_zero_bytes_up([&] { (void)f(x); });
  EXPECT_EQ(effects_of([&] { (void)f(ones({6})); }).compiles, 3) << "ones, a pad and a cut";
}

Program maximum_of_two() {
  return trace([](Tensor a, Tensor b) { return maximum(a, b); }, placeholder({4}, f32),
               placeholder({4}, f32));
}

// ---- Options.

TEST_F(TensorsOnXla, AnOptionTakesEffect) {
  const Program program = maximum_of_two();
  const Tensor nan = full({4}, NAN, f32), one = ones({4});
  const CompiledProgram exact = program.compile();
  const CompiledProgram fast =
      program.compile({.backend_options = {{"xla_cpu_enable_fast_min_max", "true"}}});
  const auto is_nan = ::testing::ResultOf([](float x) { return std::isnan(x); }, true);
  EXPECT_THAT(exact.call<Tensor>(nan, one).to_vector<float>(), Each(is_nan));
  EXPECT_THAT(exact.call<Tensor>(one, nan).to_vector<float>(), Each(is_nan));
  // XLA's fast form gives one of its operands where a comparison is false.
  const auto either = fast.call<Tensor>(nan, one).to_vector<float>();
  const auto other = fast.call<Tensor>(one, nan).to_vector<float>();
  EXPECT_NE(std::isnan(either[0]), std::isnan(other[0]));
}

TEST_F(TensorsOnXla, EqualOptionsCompileOnce) {
  const auto compile = [](const char* level) {
    return maximum_of_two().compile(
        {.backend_options = {{"xla_backend_optimization_level", level}}});
  };
  const CompiledProgram first = compile("1");
  EXPECT_EQ(effects_of([&] { EXPECT_EQ(compile("1").executable(), first.executable()); }),
            (Counters{.traces = 1}));
  EXPECT_EQ(effects_of([&] { EXPECT_NE(compile("2").executable(), first.executable()); }).compiles,
            1);
}

TEST_F(TensorsOnXla, WrongOptionsAreRefusedByName) {
  const auto refusal = [](const char* name, const char* value) {
    return error_of([&] { (void)maximum_of_two().compile({.backend_options = {{name, value}}}); });
  };
  EXPECT_THAT(refusal("xla_no_such_option", "1"),
              AllOf(HasSubstr("xla_no_such_option"), HasSubstr("tensors_test.cc:")));
  EXPECT_THAT(refusal("xla_cpu_enable_fast_min_max", "perhaps"),
              HasSubstr("xla_cpu_enable_fast_min_max"));
}

// ---- Devices by name.

TEST_F(TensorsOnXla, AProgramSaysWhatItWasCompiledFor) {
  const CompiledProgram program = maximum_of_two().compile(base::cat(kName, ":1"));
  EXPECT_EQ(program.device().name(), "pjrt:tensors-on-xla:1");
  EXPECT_EQ(to_string(program), "main on pjrt:tensors-on-xla:1");
  EXPECT_THAT(error_of([&] { program.call<Tensor>(ones({4}), ones({4})); }),
              HasSubstr("argument arg0 is on pjrt:tensors-on-xla:0; the program was compiled for "
                        "pjrt:tensors-on-xla:1"));
  const DefaultDevice second(program.device());
  EXPECT_THAT(program.call<Tensor>(ones({4}), zeros({4})).to_vector<float>(), Each(1));
  EXPECT_THAT(error_of([] { (void)maximum_of_two().compile(base::cat(kName, ":2")); }),
              HasSubstr("has 2 device(s)"));
}

// ---- Donation.

TEST_F(TensorsOnXla, DonatedMemoryIsTheResults) {
  const Program program = trace([](Tensor a, Tensor b) { return a + b; },
                                placeholder({1 << 16}, f32), placeholder({1 << 16}, f32));
  const CompiledProgram adding = program.compile();
  const Tensor b = ones({1 << 16});
  Tensor state = zeros({1 << 16});
  const CompiledProgram taking = adding.with({.donate = {0}});
  const std::byte* memory = host_view(state).bytes();
  for (int i = 0; i < 5; ++i) {
    const Tensor old = state;
    state = taking.call<Tensor>(state, b);
    EXPECT_TRUE(old.is_donated());
  }
  EXPECT_EQ(host_view(state).bytes(), memory);
  EXPECT_FALSE(b.is_donated());
  EXPECT_THAT(state.to_vector<float>(), Each(5));
  EXPECT_NE(host_view(adding.call<Tensor>(state, b)).bytes(), memory);
}

// ---- Programs as bytes.

TEST_F(TensorsOnXla, AProgramGoesThroughBytes) {
  const Tensor scale = full({3}, 2, f32);
  const Program program =
      trace([&](Tensor xs) { return cumsum(xs * scale); }, placeholder({3}, f32)).lowered();
  const CompileOptions options{.backend_options = {{"xla_backend_optimization_level", "1"}}};
  const CompiledProgram compiled = program.compile(options);
  const std::string bytes = pjrt::serialize(*compiled.executable()).value();
  const Tensor xs = ones({3});
  const Effects effects = effects_of([&] {
    const CompiledProgram loaded = program.with_executable(
        pjrt::load(bytes, program.module(), options, compiled.device()).value());
    EXPECT_NE(loaded.executable(), compiled.executable());
    EXPECT_EQ(loaded.device().name(), compiled.device().name());
    EXPECT_THAT(loaded.call<Tensor>(xs).to_vector<float>(), ElementsAre(2, 4, 6));
  });
  EXPECT_EQ(effects, (Counters{.executions = 1, .downloads = 1, .download_bytes = 12}));
}

TEST_F(TensorsOnXla, XlaTellsWhatARunCosts) {
  const CompiledProgram program =
      trace([](Tensor a) { return matmul(a, a); }, placeholder({64, 64}, f32)).compile();
  EXPECT_EQ(program.cost().argument_bytes, 64 * 64 * 4);
  EXPECT_GE(program.cost().flops.value_or(0), 2 * 64 * 64 * 64);
}

// ---- Memory of the host.

struct Memory {
  explicit Memory(size_t count)
      : bytes(static_cast<float*>(std::aligned_alloc(64, 64 * (count / 16 + 2))), std::free) {
    for (size_t i = 0; i < count + 16; ++i) bytes.get()[i] = static_cast<float>(i);
  }
  [[nodiscard]] std::span<const float> values(size_t count, size_t from = 0) const {
    return {bytes.get() + from, count};
  }
  std::shared_ptr<float> bytes;
};

// A plugin may say on a thread of its own that it is done.
void expect_released_once(const std::atomic<int>& released) {
  for (int i = 0; i < 5000 && released == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(released, 1);
}

TEST_F(TensorsOnXla, AlignedMemoryIsUsedWhereItIsUntilNobodyReadsIt) {
  const Memory memory(1024);
  std::atomic<int> released = 0;
  {
    Tensor x;
    EXPECT_EQ(effects_of([&] {
                x = lend(memory.values(1024), {32, 32}, [&] { ++released; });
              }),
              (Counters{.aliased_bytes = 4096}));
    Literal view = host_view(x);
    EXPECT_EQ(static_cast<const void*>(view.bytes()), memory.bytes.get());
    const Tensor y = x + 1;
    x = Tensor();
    EXPECT_EQ(y.to_vector<float>()[5], 6);
    EXPECT_EQ(released, 0);
    EXPECT_EQ(view.values<float>()[1023], 1023);
  }
  expect_released_once(released);
}

TEST_F(TensorsOnXla, MisalignedMemoryIsCopied) {
  const Memory memory(1024);
  std::atomic<int> released = 0;
  Tensor x;
  EXPECT_EQ(effects_of([&] { x = lend(memory.values(1024, 1), {1024}, [&] { ++released; }); }),
            (Counters{.uploads = 1, .upload_bytes = 4096}));
  expect_released_once(released);
  EXPECT_EQ(x.to_vector<float>()[0], 1);
}

TEST_F(TensorsOnXla, SmallAndEmptyArraysCanBeLent) {
  const Memory memory(1);
  EXPECT_EQ(lend(memory.values(1), {}, memory.bytes).item<float>(), 0);
  EXPECT_EQ(lend(memory.values(0), {0, 3}, memory.bytes).shape(), Shape(f32, {0, 3}));
}

TEST_F(TensorsOnXla, ALoanThatIsDonatedIsNotWrittenTo) {
  const Memory memory(64);
  const Tensor x = lend(memory.values(64), {64}, memory.bytes);
  const CompiledProgram twice =
      trace([](Tensor a) { return a * 2; }, x).compile().with({.donate = {0}});
  EXPECT_EQ(twice.call<Tensor>(x).to_vector<float>()[3], 6);
  EXPECT_EQ(memory.values(64)[3], 3);
  EXPECT_TRUE(x.is_donated());
}

TEST_F(TensorsOnXla, StridedMemoryBecomesRowMajor) {
  const float m[] = {1, 2, 3, 4, 5, 6};
  EXPECT_THAT(from_strided(m, {3, 2}, {4, 12}).to_vector<float>(), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(from_strided(m + 5, {6}, {-4}).to_vector<float>(), ElementsAre(6, 5, 4, 3, 2, 1));
}

TEST_F(TensorsOnXla, ADownloadStartsBeforeTheValueIsThere) {
  Tensor x = zeros({1 << 14});
  for (int i = 0; i < 20; ++i) x = x + 1;
  HostCopy copy = start_download(x);
  x = Tensor();
  EXPECT_EQ(effects_of([&] { EXPECT_THAT(copy.await().values<float>(), Each(20)); }).download_bytes,
            4 << 14);
}

TEST_F(TensorsOnXla, DlpackMovesNothing) {
  Tensor x = arange(64, f32);
  dlpack::ManagedTensor* out = nullptr;
  EXPECT_EQ(effects_of([&] { out = to_dlpack(x); }), (Counters{.aliased_bytes = 256}));
  EXPECT_EQ(out->tensor.data, static_cast<const void*>(host_view(x).bytes()));
  x = Tensor();
  Tensor back;
  EXPECT_EQ(effects_of([&] { back = from_dlpack(out); }), (Counters{.aliased_bytes = 256}));
  EXPECT_EQ(back.to_vector<float>()[63], 63);
}

}  // namespace
}  // namespace heddle
