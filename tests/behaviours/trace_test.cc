// Tracing: leaks, nesting, captures, staging at size, and loops three deep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "heddle/heddle.h"
#include "heddle/tests/support/llama.h"
#include "heddle/tests/support/outcomes.h"

namespace heddle {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Trace, EscapedValueIsAnErrorThatSaysSo) {
  Tensor kept;
  trace(
      [&](Tensor x) {
        kept = x + 1;
        return kept;
      },
      placeholder({3}, f32));
  EXPECT_THAT(error_of([&] { kept * 2; }),
              HasSubstr("multiply: operand is a traced f32[3], made at trace_test.cc:"));
  EXPECT_THAT(error_of([&] { kept * 2; }), HasSubstr("that escaped from a finished main"));
  EXPECT_THAT(error_of([&] { trace([&](Tensor y) { return y + kept; }, placeholder({3}, f32)); }),
              HasSubstr("escaped"));
}

TEST(Trace, ValueOfAScanBodyMayNotLeaveIt) {
  Tensor kept;
  auto step = [&](Tensor c, Tensor x) {
    kept = c + x;
    return std::pair(c, None{});
  };
  EXPECT_THAT(error_of([&] {
                trace(
                    [&](Tensor xs) {
                      scan(step, zeros({}), xs);
                      return kept + 1;
                    },
                    placeholder({3}, f32));
              }),
              HasSubstr("escaped from a finished scan"));
}

TEST(Trace, ReadingATracedValueSaysWhatToDo) {
  EXPECT_THAT(
      error_of([] { trace([](Tensor x) { return x * x.item<float>(); }, placeholder({}, f32)); }),
      HasSubstr("read: operand is a traced f32[], which has no value yet; return it"));
}

TEST(Trace, UninitialisedTensorIsNamed) {
  EXPECT_THAT(error_of([] { static_cast<void>(Tensor().shape()); }),
              HasSubstr("has no value (a default-constructed Tensor)"));
  EXPECT_THAT(error_of([] { Tensor() + ones({2}); }), HasSubstr("add: operand has no value"));
}

TEST(Trace, MistakesNameOpTypesAndLine) {
  Tensor x = ones({2, 3});
  EXPECT_THAT(error_of([&] { x + ones({4}); }), HasSubstr("add: operands are f32[2,3] and f32[4]"));
  EXPECT_THAT(error_of([&] { x + ones({3}, f64); }),
              HasSubstr("their dtypes must be equal, cast one with astype(f32)"));
  EXPECT_THAT(error_of([&] { zeros({2}, s32) + 1.5; }),
              HasSubstr("add: operand is the C++ number 1.5, which no s32 holds"));
  EXPECT_THAT(error_of([&] { matmul(x, x); }),
              HasSubstr("matmul: operands are f32[2,3] and f32[2,3]"));
  EXPECT_THAT(error_of([&] { sum(x, {.axes = {2}}); }),
              HasSubstr("sum: axis is 2; f32[2,3] has axes -2 .. 1"));
  EXPECT_THAT(error_of([&] { reshape(x, {4}); }), HasSubstr("trace_test.cc:"));
}

TEST(Trace, TryTraceGivesTheErrorAsAStatus) {
  auto program = try_trace([](Tensor x) { return reshape(x, {5}); }, placeholder({3}, f32));
  ASSERT_FALSE(program.ok());
  EXPECT_THAT(message_of(program.status()), HasSubstr("reshape"));
}

TEST(Trace, RunningWithAnUnboundPlaceholderNamesIt) {
  Tensor p = placeholder({2}, f32);
  Program program = trace([&](Tensor x) { return x + p; }, placeholder({2}, f32));
  EXPECT_THAT(error_of([&] { program.call<Tensor>(ones({2})); }),
              HasSubstr(cat("placeholder #", p.id(), " f32[2]")));
  EXPECT_THAT(program.bind(p, full({2}, 5.0)).call<Tensor>(ones({2})).to_vector<float>(),
              ElementsAre(6, 6));
}

TEST(Trace, WrongArgumentTypeNamesTheLeaf) {
  Program program = trace([](std::pair<Tensor, Tensor> p) { return p.first + p.second; },
                          std::pair(placeholder({2}, f32), placeholder({2}, f32)));
  EXPECT_THAT(error_of([&] { program.call<Tensor>(std::pair(ones({2}), ones({3}))); }),
              HasSubstr("run: argument arg0[1] is f32[3]; the program was traced with f32[2]"));
}

TEST(Trace, ValuesOfAnOuterTraceAreCapturedByInnerOnes) {
  Program program = trace(
      [](Tensor w, Tensor xs) {
        return scan([&](Tensor c, Tensor x) { return std::pair(c + w * x, None{}); }, zeros({}), xs)
            .first;
      },
      placeholder({}, f32), placeholder({3}, f32));
  EXPECT_EQ(program.signature().captures.size(), 0u);
  EXPECT_EQ(program.call<Tensor>(scalar<float>(2), array<float>({1, 2, 3})).item<float>(), 12);
}

TEST(Trace, LoopsThreeDeepEqualPlainLoops) {
  auto run = [](Tensor m) {
    auto row = [&](Tensor c, Tensor xs) {
      auto inner = [&](Tensor d, Tensor x) {
        Tensor grown = fori_loop(
            0, 3, [&](Tensor i, Tensor v) { return v * 0.5 + x + c * i.astype(f32); }, d);
        return std::pair(grown, grown - x);
      };
      auto [last, ys] = scan(inner, c, xs, {.reverse = true});
      return std::pair(last, ys);
    };
    return scan(row, zeros({}), m);
  };
  std::vector<float> data{1, 2, 3, 4, 5, 6};
  std::vector<float> want(6);
  float c = 0;
  for (int r = 0; r < 2; ++r) {
    float d = c;
    for (int k = 2; k >= 0; --k) {
      float x = data[static_cast<size_t>(3 * r + k)];
      for (int i = 0; i < 3; ++i) d = d * 0.5f + x + c * static_cast<float>(i);
      want[static_cast<size_t>(3 * r + k)] = d - x;
    }
    c = d;
  }
  Tensor m = array(data, {2, 3});
  EXPECT_EQ(run(m).second.to_vector<float>(), want);
  EXPECT_EQ((trace(run, m).lowered().call<std::pair<Tensor, Tensor>>(m).second.to_vector<float>()),
            want);
}

// Peak of the resident memory since the last reset, in bytes; the reset, and the figure, are Linux's.
int64_t status_bytes(std::string_view key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) return std::stoll(line.substr(key.size())) * 1024;
  }
  return -1;
}
bool reset_peak() { return static_cast<bool>(std::ofstream("/proc/self/clear_refs") << "5" << std::flush); }

// 126 stacked layers of Llama 3.1 405B: over 700 GB of placeholders. The time is in bench/modules.cc.
TEST(Staging, Llama405BTakesNoByteAndOneTraceOfTheLayer) {
  bool peak_is_known = true;
  for (int64_t layers : {int64_t{2}, llama::kLayers}) {
    const Counters before = counters();
    const int64_t device_bytes = default_device().live_bytes();
    peak_is_known = reset_peak() && peak_is_known;
    const int64_t resident = status_bytes("VmRSS:");
    Program program = llama::decoder(layers, 128);
    const std::string bytes = program.lowered().hlo_proto();
    const int64_t peak = status_bytes("VmHWM:");
    const Counters done = counters() - before;
    EXPECT_EQ(done.upload_bytes + done.download_bytes + done.aliased_bytes, 0);
    EXPECT_EQ(done.compiles, 0);
    EXPECT_EQ(default_device().live_bytes(), device_bytes);
    EXPECT_LE(done.traces, 2);  // the program, and the layer (none where an equal one was traced)
    EXPECT_LT(bytes.size(), 100000u);
    if (peak_is_known) {
      EXPECT_GT(resident, 0);
      EXPECT_LT(peak - resident, 50'000'000);
    }
    int64_t staged = 0;
    for (const Leaf& leaf : program.signature().arguments) staged += leaf.shape.byte_size();
    EXPECT_GT(staged, layers == llama::kLayers ? int64_t{700} * 1000 * 1000 * 1000 : 0);
  }
  if (!peak_is_known) GTEST_SKIP() << "memory was not checked: this system does not tell its peak";
}

}  // namespace
}  // namespace heddle
