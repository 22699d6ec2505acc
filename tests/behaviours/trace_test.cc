// Tracing: leaks, nesting, captures, staging at size, and loops three deep.
#include <fstream>
#include <string>

#include "heddle/base/support_test.h"
#include "heddle/heddle.h"
#include "heddle/testing.h"
#include "heddle/tests/support/llama.h"
#include "heddle/tests/support/outcomes.h"

namespace heddle {
namespace {

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
  EXPECT_THAT(error_of([&] { kept * 2; }),
              HasSubstr("that escaped from the function traced at trace_test.cc:"));
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
              HasSubstr("escaped from the scan at trace_test.cc:"));
}

TEST(Trace, ReadingATracedValueSaysWhatToDo) {
  EXPECT_THAT(
      error_of([] { trace([](Tensor x) { return x * x.item<float>(); }, placeholder({}, f32)); }),
      HasSubstr("item: operand is a traced f32[], which has no value yet; return it"));
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
              HasSubstr("their dtypes must be equal, cast one with astype(f64)"));
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
  EXPECT_THAT(base::message_of(program.status()), HasSubstr("reshape"));
}

TEST(Trace, RunningWithAnUnboundPlaceholderNamesIt) {
  Tensor p = placeholder({2}, f32);
  Program program = trace([&](Tensor x) { return x + p; }, placeholder({2}, f32));
  EXPECT_THAT(error_of([&] { program.call<Tensor>(ones({2})); }),
              HasSubstr(base::cat("placeholder #", p.id(), " f32[2]")));
  EXPECT_THAT(program.bind(p, full({2}, 5.0)).call<Tensor>(ones({2})).to_vector<float>(),
              ElementsAre(6, 6));
}

TEST(Trace, WrongArgumentTypeNamesTheLeaf) {
  Program program = trace([](std::pair<Tensor, Tensor> p) { return p.first + p.second; },
                          std::pair(placeholder({2}, f32), placeholder({2}, f32)));
  EXPECT_THAT(error_of([&] { program.call<Tensor>(std::pair(ones({2}), ones({3}))); }),
              HasSubstr("call: argument arg0[1] is f32[3]; the program was traced with f32[2]"));
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

TEST(Trace, UnsetArgumentsAndResultsAreNamedWithTheLine) {
  const auto same = [](std::pair<Tensor, Tensor> p) { return p; };
  EXPECT_THAT(error_of([&] {
                trace([](Tensor x, std::pair<Tensor, Tensor>) { return x; }, ones({2}),
                      std::pair(ones({2}), Tensor()));
              }),
              AllOf(HasSubstr("trace: arg1[1] has no value (a default-constructed Tensor)"),
                    HasSubstr("[trace_test.cc:")));
  EXPECT_THAT(error_of([] {
                trace([](Tensor x) { return std::pair(x, Tensor()); }, placeholder({2}, f32));
              }),
              AllOf(HasSubstr("trace: result[1] has no value"), HasSubstr("[trace_test.cc:")));
  const auto failed = try_trace(same, std::pair(placeholder({2}, f32), Tensor()));
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(base::message_of(failed.status()),
              AllOf(HasSubstr("trace: arg0[1] has no value"), HasSubstr("[trace_test.cc:")));
}

// Programs inside of traces.

Tensor doubled(Tensor x) { return x * 2; }

TEST(NestedTrace, AProgramOnTracedValuesIsACall) {
  const Tensor w = full({2}, 3.0);
  const Program inner = trace([&](Tensor x) { return std::pair(x * w, sum(x)); }, ones({2}));
  int64_t traces = 0;
  const auto outer_fn = [&](Tensor y) {
    std::pair<Tensor, Tensor> out;
    traces = effects_of([&] { out = inner.call<std::pair<Tensor, Tensor>>(y + 1); }).traces;
    const auto [again, total] = inner.call<std::pair<Tensor, Tensor>>(out.first);
    return again + out.second + total;
  };
  const Tensor y = array<float>({1, 2});
  const Program outer = trace(outer_fn, y);
  EXPECT_EQ(traces, 0);
  EXPECT_EQ(occurrences(outer.hlo_text(), " call("), 2u);
  EXPECT_EQ(outer.signature().captures.size(), 1u);  // w, once
  // (y + 1) * 3 is [6, 9]; again: [18, 27] + 5 + 15
  EXPECT_THAT(outer.call<Tensor>(y).to_vector<float>(), ElementsAre(38, 47));
  EXPECT_THAT(outer.lowered().call<Tensor>(y).to_vector<float>(), ElementsAre(38, 47));
}

TEST(NestedTrace, AProgramInAScanBodyRunsAtEachStep) {
  const Program inner = trace(doubled, placeholder({}, f32));
  const auto step = [&](Tensor c, Tensor x) {
    return std::pair(inner.call<Tensor>(c) + x, None{});
  };
  EXPECT_EQ(scan(step, zeros({}), ones({4})).first.item<float>(), 15);
}

TEST(NestedTrace, PlaceholdersOfTheProgramBecomeTheOuterOnes) {
  const Tensor p = placeholder({}, f32);
  const Program inner = trace([&](Tensor x) { return x + p; }, placeholder({}, f32));
  const Program outer = trace([&](Tensor y) { return inner.call<Tensor>(y) * p; }, scalar(1.0f));
  EXPECT_EQ(outer.signature().captures.size(), 1u);
  EXPECT_EQ(outer.bind(p, scalar(3.0f)).call<Tensor>(scalar(4.0f)).item<float>(), 21);
}

TEST(NestedTrace, AProgramThatCapturedTracedValuesRunsInTheirTraceOnly) {
  std::vector<Program> kept;
  const auto outer_fn = [&](Tensor a, Tensor b) {
    kept.push_back(trace([&](Tensor x) { return x * a + b; }, placeholder({}, f32)));
    return kept.back().call<Tensor>(a);
  };
  const Program outer = trace(outer_fn, scalar(1.0f), scalar(1.0f));
  EXPECT_EQ(outer.call<Tensor>(scalar(3.0f), scalar(4.0f)).item<float>(), 13);
  EXPECT_THAT(error_of([&] { kept[0].call<Tensor>(scalar(1.0f)); }),
              HasSubstr("call: the program captured a traced f32[], which has no value outside of "
                        "its trace; call the program inside of it, or bind a value"));
}

TEST(NestedTrace, BindTakesTheTracedCaptureThatItIsGiven) {
  const auto run = [](bool bind_first) {
    const auto outer_fn = [&](Tensor a, Tensor b) {
      const Program inner = trace([&](Tensor x) { return x * a + b; }, placeholder({}, f32));
      return inner.bind(bind_first ? a : b, scalar(10.0f)).call<Tensor>(a * 0 + 2);
    };
    return trace(outer_fn, scalar(1.0f), scalar(1.0f))
        .call<Tensor>(scalar(3.0f), scalar(4.0f))
        .item<float>();
  };
  EXPECT_EQ(run(true), 2 * 10 + 4);
  EXPECT_EQ(run(false), 2 * 3 + 10);
  EXPECT_THAT(error_of([] {
                trace(
                    [](Tensor a, Tensor b) {
                      const Program inner = trace([&](Tensor x) { return x * a; }, a);
                      return inner.bind(b, zeros({})).call<Tensor>(a);
                    },
                    scalar(1.0f), scalar(1.0f));
              }),
              HasSubstr("bind: traced f32[] is not captured by the program"));
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

// Peak of the resident memory since the last reset, in bytes; the reset, and the figure, are
// Linux's.
int64_t status_bytes(std::string_view key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) return std::stoll(line.substr(key.size())) * 1024;
  }
  return -1;
}
bool reset_peak() {
  return static_cast<bool>(std::ofstream("/proc/self/clear_refs") << "5" << std::flush);
}

// 126 stacked layers of Llama 3.1 405B: over 700 GB of placeholders. The time is in
// bench/modules.cc.
TEST(Staging, Llama405BTakesNoByteAndOneTraceOfTheLayer) {
  bool peak_is_known = true;
  for (int64_t layers : {int64_t{2}, llama::kLayers}) {
    clear_combine_cache();  // each round traces the layer, whatever ran before
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
    EXPECT_EQ(done.traces, 2);  // the program, and the layer
    EXPECT_LT(bytes.size(), 100000u);
    if (peak_is_known) {
      EXPECT_GT(resident, 0);
      EXPECT_LT(peak - resident, 50'000'000);
    }
    int64_t staged = 0;
    for (const SignatureLeaf& leaf : program.signature().arguments)
      staged += leaf.shape.byte_size();
    EXPECT_GT(staged, layers == llama::kLayers ? int64_t{700} * 1000 * 1000 * 1000 : 0);
  }
  if (!peak_is_known) GTEST_SKIP() << "memory was not checked: this system does not tell its peak";
}

}  // namespace
}  // namespace heddle
