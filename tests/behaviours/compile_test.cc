// compile(fn): what is traced and compiled when, what is said about it, and where such functions
// may stand.
#include "heddle/compile/compile.h"

#include <barrier>
#include <map>
#include <thread>

#include "heddle/base/support_test.h"
#include "heddle/grad/grad.h"
#include "heddle/grad/vmap.h"
#include "heddle/numpy/sequences.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/support_test.h"
#include "heddle/scan/function.h"
#include "heddle/scan/loops.h"
#include "heddle/scan/scan.h"
#include "heddle/testing.h"
#include "heddle/trace/devices/devices.h"
#include "heddle/trace/devices/mesh.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/device/collectives.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

using runtime::DefaultDevice;
using testing::MatchesRegex;

struct State {
  Tensor level, count;
  static constexpr auto kFields =
      std::tuple(field("level", &State::level), field("count", &State::count));
};

State update(State s, const Tensor& x) { return {s.level * 0.5 + x, s.count + 1}; }

State start(int64_t size = 3) { return {zeros({size}), scalar(0)}; }

TEST(CompiledFunction, ShowsItsTextItsCostAndItsKey) {
  const auto sums = [](const Tensor& xs) {
    return scan([](Tensor c, Tensor x) { return std::pair(c + x, None{}); }, scalar(0.0f), xs)
        .first;
  };
  const auto f = compile(sums, {.name = "sums"}), g = compile(sums);
  EXPECT_THAT(error_of([&] { (void)f.cost(); }), HasSubstr("cost: sums has no graph yet"));
  EXPECT_THAT(error_of([&] { (void)f.memory(); }), HasSubstr("memory: sums has no graph yet"));
  EXPECT_THAT(error_of([&] { (void)f.hlo_text(); }), HasSubstr("hlo_text: sums has no graph yet"));
  EXPECT_THAT(error_of([&] { (void)f.cache_key(); }), HasSubstr("cache_key: sums has no graph"));
  const Tensor x = ones({1000});
  EXPECT_EQ(f(x).item<float>(), 1000);
  EXPECT_THAT(f.hlo_text(),
              testing::AllOf(HasSubstr(" scan("), testing::Not(HasSubstr(" while("))));
  EXPECT_THAT(f.hlo_text(ProgramStage::kLowered),
              testing::AllOf(HasSubstr(" while("), testing::Not(HasSubstr(" scan("))));
  EXPECT_EQ(f.cost().argument_bytes, 4000);
  EXPECT_EQ(f.memory().argument_bytes, 4000);
  EXPECT_EQ(f.cost().result_bytes, 4);
  (void)g(x);
  EXPECT_EQ(f.cache_key().size(), 32);
  EXPECT_EQ(f.cache_key(), g.cache_key());
  (void)g(ones({999}));
  EXPECT_NE(f.cache_key(), g.cache_key());
  const auto inner = compile([](Tensor y) { return y * 2.0; }, {.name = "inner"});
  (void)trace([&](Tensor y) { return inner(y); }, x);
  EXPECT_THAT(error_of([&] { (void)inner.cost(); }), HasSubstr("inner was only called in traces"));
}

TEST(Compile, WithoutAFullGraphCallsThatReadValuesAreEagerAndTold) {
  int runs = 0;
  const auto halve_or_negate = [&](const Tensor& x, Static<bool> reads) {
    ++runs;
    if (reads && sum(x).item<float>() > 0) return x * 0.5;
    return -x;
  };
  const Tensor up = ones({3}), down = full({3}, -1.0f);
  const auto f = compile(halve_or_negate, {.name = "f", .full_graph = false});
  EXPECT_EQ(f(up, Static{true}).to_vector<float>()[0], 0.5f);
  EXPECT_EQ(runs, 2);  // the trace, as far as it came, and the call
  EXPECT_THAT(f.explain_miss(),
              MatchesRegex("f: no graph for the call at .*compile_test.cc:[0-9]+, which runs each "
                           "operation at once: item: operand is a traced f32\\[\\], .*"));
  EXPECT_EQ(f(down, Static{true}).to_vector<float>()[0], 1);
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(f.stats().eager_calls, 2);
  EXPECT_EQ(f.stats().graphs, 0);
  EXPECT_THAT(to_string(f.stats()), HasSubstr("2 calls, 2 of them eager, 0 graphs"));
  EXPECT_THAT(error_of([&] { (void)f.lower(up, Static{true}); }), HasSubstr("is a traced f32[]"));
  EXPECT_EQ(f.explain(up, Static{true}), "");
  EXPECT_THAT(error_of([&] { (void)f.cost(); }),
              HasSubstr("f has no graph: its calls read values"));
  // Other arguments, which choose another path, have a graph.
  EXPECT_EQ(f(up, Static{false}).to_vector<float>()[0], -1);
  EXPECT_EQ(f(down, Static{false}).to_vector<float>()[0], 1);
  EXPECT_EQ(runs, 5);  // one for lower
  EXPECT_EQ(f.stats().eager_calls, 2);
  EXPECT_EQ(f.stats().graphs, 1);
  // A trace around it, and a loop in it, read no values either.
  EXPECT_THAT(error_of([&] { (void)trace([&](Tensor x) { return f(x, Static{true}); }, up); }),
              HasSubstr("is a traced f32[]"));
  const auto outer = compile([&](Tensor x) { return f(x, Static{true}); }, {.full_graph = false});
  EXPECT_EQ(outer(up).to_vector<float>()[0], 0.5f);
  const auto loops = compile(
      [](Tensor x) {
        return fori_loop(
            0, 2, [](Tensor, Tensor y) { return y.item<float>() > 0 ? y : -y; }, x);
      },
      {.full_graph = false});
  EXPECT_THAT(error_of([&] { (void)loops(scalar(1.0f)); }), HasSubstr("is a traced f32[]"));
  // The default.
  const auto full = compile(halve_or_negate);
  EXPECT_THAT(error_of([&] { (void)full(up, Static{true}); }), HasSubstr("is a traced f32[]"));
}

TEST(Compile, WithoutAFullGraphTypesWithoutEndAreTracedEachTime) {
  const auto f = compile([](const Tensor& x) { return x * sum(x).item<float>(); },
                         {.full_graph = false, .max_graphs = 2});
  for (const int64_t size : {1, 2, 3, 3})
    EXPECT_EQ(f(ones({size})).to_vector<float>()[0], static_cast<float>(size));
  EXPECT_EQ(f.explain(ones({2})), "");
  EXPECT_THAT(f.explain(ones({3})), HasSubstr("it is the first call"));
  // To wait is to read nothing.
  const auto waits = compile(
      [](const Tensor& x) {
        x.wait();
        return x;
      },
      {.full_graph = false});
  EXPECT_THAT(error_of([&] { (void)waits(ones({2})); }), HasSubstr("wait: operand is a traced"));
}

TEST(Compile, OptionsThatNeedTheFullGraphAreAnErrorWithoutIt) {
  const auto double_it = [](Tensor x) { return x * 2.0; };
  for (const FunctionOptions& options :
       {FunctionOptions{.donate = {0}}, FunctionOptions{.device = "interpreter:0"},
        FunctionOptions{.check = true}, FunctionOptions{.check_nans = true},
        FunctionOptions{.bucket = {.arguments = {0}}}}) {
    (void)compile(double_it, options);
    FunctionOptions with = options;
    with.full_graph = false;
    EXPECT_THAT(error_of([&] { (void)compile(double_it, with); }),
                HasSubstr("has full_graph = false, and donate, device, check, check_nans or a "
                          "bucket, which need the full graph"));
  }
}

TEST(Compile, TracesAndCompilesOnceForASetOfTypes) {
  const auto step = compile(update);
  State s = start();
  const auto first = effects_of([&] { s = step(s, ones({3})); });
  EXPECT_EQ(first.traces, 1);
  const Tensor x = ones({3});
  expect_nothing_behind_my_back([&] {
    for (int i = 0; i < 3; ++i) s = step(s, x);
  });
  EXPECT_EQ(s.count.item<int>(), 4);
  EXPECT_EQ(s.level.to_vector<float>()[0], 1.875f);
  EXPECT_EQ(step.stats().calls, 4);
  EXPECT_EQ(step.stats().graphs, 1);
  EXPECT_EQ(step.stats().compiles, 1);
  EXPECT_GT(step.stats().trace_seconds, 0);
  EXPECT_THAT(to_string(step.stats()),
              MatchesRegex("4 calls, 1 graph traced in .* ms, 1 compile in .* ms"));
}

struct Model {
  Tensor w;
  [[nodiscard]] Tensor forward(const Tensor& x) const { return w * x; }
  static constexpr auto kFields = std::tuple(field("w", &Model::w));
};

TEST(Compile, TakesAnyCallable) {
  EXPECT_EQ(compile(&Model::forward)(Model{scalar(3.0f)}, scalar(2.0f)).item<float>(), 6);
  EXPECT_EQ(compile(exp)(scalar(0.0f)).item<float>(), 1);
  EXPECT_EQ(compile(maximum)(scalar(7.0f), scalar(4.0f)).item<float>(), 7);
  EXPECT_EQ(compile([] { return ones({2}); })().size(), 2);
  const auto generic = compile([](const auto& tree) {
    Tensor total = scalar(0.0f);
    for_each_leaf(tree, [&](const Tensor& leaf) { total = total + sum(leaf); });
    return total;
  });
  const Tensor x = ones({2});
  EXPECT_EQ(generic(std::vector{x, x, x}).item<float>(), 6);
  EXPECT_EQ(generic(std::map<std::string, Tensor>{{"a", x}}).item<float>(), 2);
  EXPECT_EQ(generic.stats().graphs, 2);
  const auto nine = compile([](const auto&... x) { return (x + ...); });
  EXPECT_EQ(nine.call_at(SourceLocation::here(), x, x, x, x, x, x, x, x, x).to_vector<float>()[0],
            9);
  EXPECT_THAT(error_of([] { (void)compile(static_cast<Tensor (*)(Tensor)>(nullptr)); }),
              AllOf(StartsWith("compile: the function is a null pointer"), EndsWith(here())));
}

// ---- Why there is a new graph.

TEST(ExplainMiss, NamesTheArgumentAndWhatItWas) {
  const auto step = compile(update, {.name = "step"});
  EXPECT_EQ(step.explain_miss(), "");
  const Tensor x = ones({3});
  const int line = __LINE__ + 1;
  (void)step(start(), x);
  EXPECT_EQ(step.explain_miss(), base::cat("step: graph 1 for the call at compile_test.cc:", line,
                                           ": it is the first call"));
  EXPECT_EQ(step.explain(start(), x), "");
  EXPECT_EQ(step.explain(start(), ones({4})), "step: arg1 is f32[4]; in graph 1 it is f32[3]");
  EXPECT_EQ(step.explain(State{ones({3}, f64), scalar(0)}, x),
            "step: arg0.level is f64[3]; in graph 1 it is f32[3]");
  EXPECT_EQ(step.explain(State{ones({1, 3}), scalar(0.0f)}, x),
            "step: arg0.level is f32[1,3], and 1 more differs; in graph 1 it is f32[3]");
  EXPECT_EQ(step.stats().graphs, 1) << "explain() traces nothing";
}

TEST(ExplainMiss, ComparesWithTheNearestGraph) {
  const auto add = compile([](const Tensor& a, const Tensor& b) { return sum(a) + sum(b); });
  (void)add(ones({1}), ones({2}));
  (void)add(ones({3}), ones({4}));
  (void)add(ones({3}), ones({5}));
  EXPECT_THAT(add.explain_miss(),
              HasSubstr(": arg1 is f32[5]; in graph 2, the nearest, it is f32[4]"));
}

TEST(ExplainMiss, NamesStructuresStaticsAndTypes) {
  const auto all = compile([](const auto& tree, const auto&...) { return tree; }, {.name = "all"});
  const Tensor x = ones({2});
  (void)all(std::vector{x, x}, Static{3});
  EXPECT_EQ(all.explain(std::vector{x, x, x}, Static{3}),
            "all: arg0 is a vector of 3; in graph 1 it is a vector of 2");
  EXPECT_EQ(all.explain(std::vector{x, x}, Static{4}),
            "all: arg1.value is the static value 4; in graph 1 it is the static value 3");
  EXPECT_EQ(all.explain(std::vector{x, x}), "all: it has 1 argument; in graph 1 it has 2");
  EXPECT_EQ(
      all.explain(std::vector{x, x}, Static{int64_t{3}}),
      "all: its arguments have other C++ types of equal structure; in graph 1 they have others");
}

TEST(ExplainMiss, NamesShardings) {
  const Mesh mesh({{"data", 4}}, runtime::four_devices());
  const auto id = compile([](const Tensor& x) { return x * 2; }, {.name = "id"});
  const Tensor whole = placeholder({8}, f32),
               cut = placeholder({8}, f32, {.sharding = Sharding(mesh, {"data"})});
  (void)id.lower(whole);
  EXPECT_EQ(id.explain(cut), "id: arg0 has {devices=[4]<=[4]}; in graph 1 it has no sharding");
}

TEST(ExplainMiss, NamesAnotherDevice) {
  const auto twice = compile([](const Tensor& x) { return x * 2; }, {.name = "twice"});
  const DefaultDevice first(*runtime::four_devices()[0]);
  (void)twice(ones({2}));
  const DefaultDevice second(*runtime::four_devices()[1]);
  EXPECT_EQ(twice(ones({2})).to_vector<float>()[0], 2);
  EXPECT_THAT(
      twice.explain_miss(),
      AllOf(StartsWith("twice: graph 1 is compiled for interpreter:1 too, for the call at "),
            EndsWith("its arguments are there, and were on interpreter:0")));
  EXPECT_EQ(twice.stats().graphs, 1);
  EXPECT_EQ(twice.stats().compiles, 2);
}

TEST(Compile, TooManyGraphsAreAnError) {
  const auto f = compile([](const Tensor& x) { return x + 1; }, {.name = "f", .max_graphs = 2});
  (void)f(ones({1}));
  (void)f(ones({2}));
  EXPECT_THAT(
      error_of([&] { (void)f(ones({3})); }),
      AllOf(StartsWith("f: this call needs a graph more, and max_graphs is 2: arg0 is f32[3]; "
                       "in graph 2, the nearest, it is f32[2]; pad what varies"),
            EndsWith(here())));
  EXPECT_EQ(f(ones({2})).size(), 2) << "those that are there still run";
  EXPECT_THAT(error_of([] { (void)compile(exp, {.max_graphs = 0}); }),
              StartsWith("compile: max_graphs is 0; it must be at least 1"));
}

// ---- Options.

TEST(Compile, DonatesByNumberAndByPath) {
  const auto step = compile(update, {.name = "step", .donate = {"level"}});
  const State s = start();
  const State next = step(s, ones({3}));
  EXPECT_TRUE(s.level.is_donated());
  EXPECT_FALSE(s.count.is_donated());
  EXPECT_THAT(error_of([&] { (void)s.level.to_vector<float>(); }),
              HasSubstr("arg0.level of program step"));
  const auto whole = compile(update, {.donate = {0}});
  (void)whole(next, ones({3}));
  EXPECT_TRUE(next.count.is_donated());
}

TEST(Compile, RunsOnTheDeviceThatItIsToldAndElseOnItsArguments) {
  const auto there = compile([](const Tensor& x) { return x + 1; }, {.device = "interpreter:0"});
  const Tensor x = device_put(ones({2}), "interpreter:0");
  EXPECT_EQ(device_of(there(x)).name(), "interpreter:0");
  EXPECT_EQ(device_of(compile([](const Tensor& v) { return v + 1; })(x)).name(), "interpreter:0");
  EXPECT_THAT(error_of([&] {
                const DefaultDevice other(*runtime::four_devices()[1]);
                (void)there(ones({2}));
              }),
              AllOf(HasSubstr("argument arg0 is on interpreter:1"), EndsWith(here())));
}

TEST(Compile, AStaticIsPartOfTheProgram) {
  const auto power = compile([](const Tensor& x, Static<int> n) {
    Tensor y = x;
    for (int i = 1; i < n; ++i) y = y * x;
    return y;
  });
  EXPECT_EQ(power(scalar(2.0f), Static{3}).item<float>(), 8);
  EXPECT_EQ(power(scalar(2.0f), Static{4}).item<float>(), 16);
  EXPECT_EQ(power(scalar(3.0f), Static{3}).item<float>(), 27);
  EXPECT_EQ(power.stats().graphs, 2);
}

// ---- Where it may stand.

TEST(Compile, IsACallInATrace) {
  const auto inner = compile([](const Tensor& x) { return exp(x); }, {.name = "inner"});
  const auto outer = compile([&](const Tensor& x) { return inner(x) + inner(2 * x); });
  EXPECT_EQ(outer(scalar(0.0f)).item<float>(), 2);
  EXPECT_EQ(inner.stats().graphs, 1);
  EXPECT_THAT(outer.program().hlo_text(), HasSubstr("call("));
  const auto counters = effects_of([&] { (void)outer(scalar(1.0f)); });
  EXPECT_EQ(counters.traces, 0);
  EXPECT_EQ(counters.executions, 1) << "the calls are part of the program";
}

TEST(Compile, IsAStepOfALoopThatIsTracedOnce) {
  const auto add = compile([](const Tensor& c, const Tensor& x) { return std::pair(c + x, c); },
                           {.name = "add"});
  const Tensor init = scalar(0.0f), xs = ones({5});
  EXPECT_EQ(scan(add, init, xs).first.item<float>(), 5);
  expect_nothing_behind_my_back([&] { (void)scan(add, init, xs); });
}

TEST(Compile, IsTransparentToDerivatives) {
  const auto square = compile([](const Tensor& x) { return x * x; });
  EXPECT_EQ(grad([&](const Tensor& x) { return sum(square(x)); })(array<float>({1, 2, 3}))
                .to_vector<float>(),
            (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(square.stats().graphs, 1);
  const auto slope = compile(grad([](const Tensor& x) { return sum(x * x * x); }));
  EXPECT_EQ(slope(ones({2})).to_vector<float>()[1], 3);
  const Tensor x = ones({2});
  expect_nothing_behind_my_back([&] { (void)slope(x); });
}

TEST(Compile, WhatCapturesValuesOfATraceIsTracedInEach) {
  const auto run = [](float number) {
    return trace(
               [](const Tensor& x) {
                 const auto f = compile([x](const Tensor& y) { return x * y; });
                 return f(x) + f(2 * x);
               },
               scalar(number))
        .call<Tensor>(scalar(number))
        .item<float>();
  };
  EXPECT_EQ(run(1), 3);
  EXPECT_EQ(run(2), 12);
}

TEST(Compile, WhatCapturedValuesOfATraceIsNotUsedInTheNext) {
  Tensor w;
  const auto f = compile([&](const Tensor& y) { return w * y; });
  const auto run = [&](float number) {
    return trace(
               [&](const Tensor& x) {
                 w = x;
                 return f(ones({})) + f(2 * ones({}));
               },
               scalar(number))
        .call<Tensor>(scalar(number))
        .item<float>();
  };
  EXPECT_EQ(run(1), 3);
  EXPECT_EQ(run(5), 15);
}

// ---- Promises and mistakes.

TEST(Compile, AStaleCaptureIsToldByCheck) {
  Tensor w = ones({2});
  double rate = 2;
  const auto f =
      compile([&](const Tensor& x) { return rate * x + w; }, {.name = "f", .check = true});
  const Tensor x = ones({2});
  (void)f(x);
  (void)f(x);
  const int line = __LINE__ - 2;
  rate = 10;
  EXPECT_THAT(
      error_of([&] { (void)f(x); }),
      AllOf(StartsWith(base::cat("f: it is another function than when graph 1 was traced at "
                                 "compile_test.cc:",
                                 line, ": a number or an attribute of constant f32[] is another")),
            HasSubstr("pass it as an argument"), EndsWith(here())));
  rate = 2;
  const ValueId before = w.id();
  w = zeros({2});
  EXPECT_THAT(error_of([&] { (void)f(x); }),
              HasSubstr(base::cat(": it captures #", w.id(), " f32[2], and captured #", before,
                                  " f32[2]; what a compiled function reads must not change")));
}

TEST(Compile, ReadingAValueInsideIsAnErrorOnItsLine) {
  const auto f = compile([](const Tensor& x) { return x * x.item<float>(); });
  const int line = __LINE__ - 1;
  EXPECT_THAT(error_of([&] { (void)f(scalar(1.0f)); }),
              AllOf(StartsWith("item: operand is a traced f32[], which has no value yet"),
                    EndsWith(base::cat("[compile_test.cc:", line, "]"))));
  EXPECT_EQ(f.stats().graphs, 0) << "an error is not kept";
}

TEST(Compile, OneThatCallsItselfIsAnError) {
  std::function<Tensor(Tensor)> self;
  const auto f = compile([&](const Tensor& x) { return self(x); }, {.name = "f"});
  self = [&](const Tensor& x) { return f(x + 1); };
  EXPECT_THAT(error_of([&] { (void)f(ones({2})); }),
              StartsWith("f: calls itself, with arguments of the same types"));
}

TEST(Compile, IsEmptyOnceItWasMovedFrom) {
  auto f = compile([](const Tensor& x) { return x; });
  const auto g = std::move(f);
  EXPECT_EQ(g(ones({2})).size(), 2);
  EXPECT_THAT(error_of([&] { (void)f(ones({2})); }),  // NOLINT
              AllOf(HasSubstr("compiled function was moved from"), EndsWith(here())));
  EXPECT_EQ(g.program().signature().arguments.size(), 1u);
  EXPECT_THAT(error_of([] { (void)compile(exp, {.name = "e"}).program(); }),
              StartsWith("program: e has no graph yet; call it first"));
}

TEST(Compile, AnArgumentWithoutAValueIsNamed) {
  const auto f = compile(update);
  EXPECT_THAT(error_of([&] {
                (void)f(State{Tensor(), scalar(0)}, ones({2}));
              }),
              HasSubstr("arg0.level"));
  EXPECT_THAT(error_of([&] {
                (void)f(State{placeholder({2}, f32), scalar(0)}, ones({2}));
              }),
              HasSubstr("argument arg0.level"));
}

TEST(Compile, EightThreadsTraceOnce) {
  std::atomic<int> traced = 0;
  const auto f = compile([&](const Tensor& x) {
    ++traced;
    return x + 1;
  });
  std::barrier ready(8);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      ready.arrive_and_wait();
      for (int i = 0; i < 20; ++i) right += f(full({1 + i % 3}, i)).to_vector<float>()[0] == i + 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(traced, 3);
  EXPECT_EQ(right, 160);
  EXPECT_EQ(f.stats().compiles, 3);
}

TEST(Compile, LowerGivesTheProgramWithoutARun) {
  const auto f = compile(update, {.name = "step"});
  expect_zero_bytes_up([&] {
    (void)f.lower(State{placeholder({3}, f32), placeholder({}, s32)}, placeholder({3}, f32));
  });
  const auto program = f.lower(start(), ones({3}));
  EXPECT_EQ(f.stats().graphs, 1);
  EXPECT_THAT(program.hlo_text(), HasSubstr("ENTRY %step"));
  EXPECT_EQ(program(start(), ones({3})).count.item<int>(), 1);
  EXPECT_GE(program.compile().cost().argument_bytes, 12);
}

// The size of a named axis is part of what is traced.
TEST(Compile, NamedAxesOfAnotherSizeAreAnotherGraph) {
  const auto f = compile([](Tensor x) { return pmean(x, "i"); });
  const auto mean_of = [&](int64_t n) {
    return vmap(f, {.axis_name = "i"})(arange(n, f32)).to_vector<float>()[0];
  };
  EXPECT_EQ(mean_of(3), 1);
  EXPECT_EQ(mean_of(5), 2);
  EXPECT_EQ(mean_of(3), 1);
  EXPECT_EQ(f.stats().graphs, 2);
  EXPECT_THAT(f.explain_miss(), HasSubstr("it is called inside of i#0=5"));
}

}  // namespace
}  // namespace heddle
