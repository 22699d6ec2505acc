// debug_print on the evaluator, cpu and, where it is there,
// XLA's CPU plugin (./dev setup-plugin xla-cpu).
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "heddle/base/support_test.h"
#include "heddle/base/text/strings.h"
#include "heddle/heddle.h"
#include "heddle/interpreter/custom_call.h"
#include "heddle/testing.h"
#include "heddle/tests/debug/support.h"

namespace heddle {
namespace {

INSTANTIATE_TEST_SUITE_P(Backends, Debug, testing::Values("interpreter", "cpu", "xla"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(Debug, PrintsAtOnceOutsideOfATrace) {
  debug_print("x = {}, n = {}, {} {{}} {}", array<float>({1, 2.5}), 3, "text", 0.1f);
  EXPECT_THAT(lines_.take(), ElementsAre("x = [1.  2.5], n = 3, text {} 0.1"));
  debug_print("nothing but this");
  EXPECT_THAT(lines_.take(), ElementsAre("nothing but this"));
}

TEST_P(Debug, PrintsOfEveryDtypeAndRank) {
  const auto show = [](const Tensor& x) {
    debug_print("{}", x);
    return x;
  };
  for (const DType dtype :
       {pred, s8, u8, s16, u16, s32, u32, s64, u64, f16, bf16, f32, f64, c64, c128}) {
    (void)compile(show)(ones({}, dtype));
    const std::string one = dtype == pred        ? "True"
                            : is_complex(dtype)  ? "(1+0j)"
                            : is_floating(dtype) ? "1.0"
                                                 : "1";
    EXPECT_THAT(lines_.take(), ElementsAre(one)) << dtype;
  }
  (void)compile(show)(reshape(arange(4), {2, 2}));
  EXPECT_THAT(lines_.take(), ElementsAre("[[0 1]", " [2 3]]"));
  (void)compile(show)(zeros({0, 3}));
  EXPECT_THAT(lines_.take(), ElementsAre("[]"));
}

TEST_P(Debug, LinesOfACompiledFunctionComeInOrder) {
  const auto fn = compile([](Tensor x) {
    debug_print("a {}", x);
    const Tensor y = exp(x) * 0.0 + 2.0;
    debug_print("b {}", y);
    debug_print("c");
    Tensor z = y;
    for (int i = 0; i < 3; ++i) {
      z = z + 1.0;
      debug_print("{}: {}", i, z);
    }
    return z;
  });
  for (int i = 0; i < 3; ++i) {
    (void)fn(scalar(1.0f)).item<float>();
    EXPECT_THAT(lines_.take(), ElementsAre("a 1.0", "b 2.0", "c", "0: 3.0", "1: 4.0", "2: 5.0"));
  }
}

TEST_P(Debug, LinesOfRunsComeInTheOrderOfTheRuns) {
  const auto fn = compile([](Tensor x) {
    debug_print("{}", x[0]);
    return x + 1;
  });
  Tensor x = zeros({1000}, s32);
  std::vector<std::string> want;
  for (int i = 0; i < 50; ++i) {
    want.push_back(std::to_string(i));
    x = fn(x);
  }
  x.wait();
  EXPECT_EQ(lines_.take(), want);
}

TEST_P(Debug, TheSecondCallTracesAndCompilesNothing) {
  const auto fn = compile([](Tensor x) {
    debug_print("{}", x);
    debug_check(x, "x");
    return x + 1;
  });
  const Tensor one = scalar(1.0f), two = scalar(2.0f);
  fn(one).wait();
  expect_zero_traces([&] { fn(two).wait(); });
  expect_zero_compiles([&] { fn(two).wait(); });
  expect_zero_bytes_down([&] { fn(two).wait(); });
  EXPECT_THAT(lines_.take(), ElementsAre("1.0", "2.0", "2.0", "2.0"));
}

TEST_P(Debug, PrintsOnceAStepOfAScan) {
  const auto step = [](Tensor h, Tensor x) {
    h = h + x;
    debug_print("h {} x {}", h, x);
    return std::pair(h, None{});
  };
  const Tensor xs = arange(3);
  (void)scan(step, scalar(0), xs).first.item<int>();
  EXPECT_THAT(lines_.take(), ElementsAre("h 0 x 0", "h 1 x 1", "h 3 x 2"));
  (void)scan(step, scalar(0), xs, {.reverse = true}).first.item<int>();
  EXPECT_THAT(lines_.take(), ElementsAre("h 2 x 2", "h 3 x 1", "h 3 x 0"));
  (void)scan(step, scalar(0), xs, {.unroll = 2}).first.item<int>();
  EXPECT_THAT(lines_.take(), ElementsAre("h 0 x 0", "h 1 x 1", "h 3 x 2"));
  (void)scan(step, scalar(0), zeros({0}, s32)).first.item<int>();
  EXPECT_THAT(lines_.take(), IsEmpty());
}

TEST_P(Debug, ALoopThatOnlyPrintsIsKept) {
  const auto fn = compile([](Tensor x) {
    const auto step = [](Tensor h, Tensor i) {
      debug_print("{}", i);
      return std::pair(h + i, None{});
    };
    (void)scan(step, scalar(0), arange(2));
    (void)cond(
        x > 0.0,
        [](Tensor t) {
          debug_print("positive {}", t);
          return t;
        },
        [](Tensor t) {
          debug_print("not positive");
          return t;
        },
        x);
    return x * 2.0;
  });
  EXPECT_EQ(fn(scalar(1.0f)).item<float>(), 2);
  EXPECT_THAT(lines_.take(), ElementsAre("0", "1", "positive 1.0"));
  EXPECT_EQ(fn(scalar(-1.0f)).item<float>(), -2);
  EXPECT_THAT(lines_.take(), ElementsAre("0", "1", "not positive"));
}

TEST_P(Debug, PrintsInWhileLoopsAndTheirConditions) {
  const auto fn = compile([](Tensor n) {
    return while_loop(
        [&](Tensor i) {
          debug_print("test {}", i);
          return i < n;
        },
        [](Tensor i) {
          debug_print("step {}", i);
          return i + 1;
        },
        scalar(0));
  });
  EXPECT_EQ(fn(scalar(2)).item<int>(), 2);
  EXPECT_THAT(lines_.take(), ElementsAre("test 0", "step 0", "test 1", "step 1", "test 2"));
}

TEST_P(Debug, PrintsInNestedLoopsInOrder) {
  const auto inner = [](Tensor h, Tensor x) {
    debug_print("  {}", x);
    return std::pair(h + x, None{});
  };
  const auto outer = [&](Tensor h, Tensor x) {
    debug_print("row {}", h);
    auto [sum_of_row, none] = scan(inner, h, x);
    debug_print("end {}", sum_of_row);
    return std::pair(sum_of_row, None{});
  };
  (void)scan(outer, scalar(0), reshape(arange(4), {2, 2})).first.item<int>();
  EXPECT_THAT(lines_.take(),
              ElementsAre("row 0", "  0", "  1", "end 1", "row 1", "  2", "  3", "end 6"));
}

// What is printed is read before it is written over.
TEST_P(Debug, PrintsOfMemoryThatIsUsedAgain) {
  const auto fn = compile(
      [](Tensor x) {
        const Tensor y = x.at({1}).set(7);
        debug_print("{}", x);
        debug_print("{}", y);
        return y;
      },
      {.donate = {0}});
  (void)fn(zeros({3}, s32)).to_vector<int>();
  EXPECT_THAT(lines_.take(), ElementsAre("[0 0 0]", "[0 7 0]"));
  const auto step = [](Tensor h, Tensor i) {
    const Tensor next = h.at({i}).set(i + 1);
    debug_print("{} {}", h, next);
    return std::pair(next, None{});
  };
  (void)scan(step, zeros({2}, s32), arange(2)).first.to_vector<int>();
  EXPECT_THAT(lines_.take(), ElementsAre("[0 0] [1 0]", "[1 0] [1 2]"));
}

TEST_P(Debug, ATextMayBeAnything) {
  const auto fn = compile([](Tensor x) {
    debug_print("ordered = true, lanes = 3}} \"{}\" \\ \n\t\u00e9 %s, masked = true", x);
    return x;
  });
  (void)fn(scalar(1)).item<int>();
  EXPECT_THAT(lines_.take(),
              ElementsAre("ordered = true, lanes = 3} \"1\" \\ ", "\t\u00e9 %s, masked = true"));
}

TEST_P(Debug, EqualLinesAreNotMerged) {
  const auto fn = compile([](Tensor x) {
    debug_print("{}", x);
    debug_print("{}", x);
    return x;
  });
  (void)fn(scalar(1)).item<int>();
  EXPECT_THAT(lines_.take(), ElementsAre("1", "1"));
}

TEST_P(Debug, OtherTextIsAnotherProgram) {
  for (const char* text : {"a {}", "b {}", "a {}"}) {
    (void)trace(
        [&](Tensor x) {
          debug_print(std::string(text), x);
          return x;
        },
        scalar(1))(scalar(1))
        .item<int>();
  }
  EXPECT_THAT(lines_.take(), ElementsAre("a 1", "b 1", "a 1"));
}

// ---- Transforms.

TEST_P(Debug, VmapPrintsALineALane) {
  const auto fn = [](Tensor x, Tensor shared) {
    debug_print("{} {}", x, shared);
    debug_print("all share {}", shared);
    return x + shared;
  };
  (void)vmap(fn, {.in_axes = {0, kNoAxis}})(arange(3), scalar(7)).to_vector<int>();
  EXPECT_THAT(lines_.take(), ElementsAre("0 7", "1 7", "2 7", "all share 7"));
  const auto rows = [&](Tensor x) { return vmap(fn, {.in_axes = {0, kNoAxis}})(x, scalar(7)); };
  (void)vmap(rows)(reshape(arange(4), {2, 2})).to_vector<int>();
  EXPECT_THAT(lines_.take(), ElementsAre("0 7", "1 7", "2 7", "3 7", "all share 7"));
}

TEST_P(Debug, VmapPrintsForTheLanesThatGetThere) {
  const auto fn = [](Tensor x) {
    return cond(
        x > 1,
        [](Tensor t) {
          debug_print("great {}", t);
          return t;
        },
        [](Tensor t) {
          debug_print("small {}", t);
          debug_print("and small");
          return -t;
        },
        x);
  };
  (void)vmap(fn)(arange(4)).to_vector<int>();
  EXPECT_THAT(lines_.take(),
              ElementsAre("great 2", "great 3", "small 0", "small 1", "and small", "and small"));
  const auto count = [](Tensor n) {
    return while_loop([&](Tensor i) { return i < n; },
                      [](Tensor i) {
                        debug_print("step {}", i);
                        return i + 1;
                      },
                      scalar(0));
  };
  EXPECT_THAT(vmap(count)(array<int>({2, 0, 1})).to_vector<int>(), ElementsAre(2, 0, 1));
  EXPECT_THAT(lines_.take(), ElementsAre("step 0", "step 0", "step 1"));
  // The condition is evaluated once a step, and once before the first, in lanes that go on.
  const auto asked = [](Tensor n) {
    return while_loop(
        [&](Tensor i) {
          debug_print("is {} < {}", i, n);
          return i < n;
        },
        [](Tensor i) { return i + 1; }, scalar(0));
  };
  EXPECT_THAT(vmap(asked)(array<int>({1, 0, 2})).to_vector<int>(), ElementsAre(1, 0, 2));
  EXPECT_THAT(lines_.take(),
              ElementsAre("is 0 < 1", "is 0 < 0", "is 0 < 2", "is 1 < 1", "is 1 < 2", "is 2 < 2"));
}

TEST_P(Debug, DerivativesPrintOnce) {
  const auto loss = [](Tensor x) {
    debug_print("x {}", x);
    const Tensor y = sin(x) * x;
    debug_print("y {}", floor(y));
    return y;
  };
  const Tensor two = scalar(2.0f);
  (void)grad(loss)(two).item<float>();
  EXPECT_THAT(lines_.take(), ElementsAre("x 2.0", "y 1.0"));
  (void)pushed(loss, two, two).item<float>();
  EXPECT_THAT(lines_.take(), ElementsAre("x 2.0", "y 1.0"));
  (void)grad(grad(loss))(two).item<float>();
  EXPECT_THAT(lines_.take(), ElementsAre("x 2.0", "y 1.0"));
  auto [value, pull] = vjp(loss, two);
  value.wait();
  EXPECT_THAT(lines_.take(), ElementsAre("x 2.0", "y 1.0"));
  (void)pull(two);
  (void)pull(two);
  EXPECT_THAT(lines_.take(), IsEmpty());
  (void)vmap(grad(loss))(array<float>({2, 0})).to_vector<float>();
  EXPECT_THAT(lines_.take(), ElementsAre("x 2.0", "x 0.0", "y 1.0", "y 0.0"));
}

Tensor sum_of_sines(const Tensor& x, const ScanOptions& options) {
  const auto step = [&](Tensor h, Tensor i) {
    h = sin(h) * x + i;
    debug_print("step {}", i);
    debug_print("{}", floor(h));
    return std::pair(h, h);
  };
  const auto [last, ys] = scan(step, x, arange(3.0f), options);
  return last + sum(ys);
}

TEST_P(Debug, DerivativesOfLoopsPrintOnce) {
  const Tensor x = scalar(0.5f);
  const auto want = ElementsAre("step 0.0", "0.0", "step 1.0", "1.0", "step 2.0", "2.0");
  for (const ScanOptions& options :
       {ScanOptions{}, ScanOptions{.unroll = 2}, ScanOptions{.checkpoint = every(2)},
        ScanOptions{.checkpoint = sqrt_steps()}, ScanOptions{.parallel_backward = true}}) {
    const auto loss = [&](Tensor t) { return sum_of_sines(t, options); };
    (void)loss(x).item<float>();
    EXPECT_THAT(lines_.take(), want);
    (void)grad(loss)(x).item<float>();
    EXPECT_THAT(lines_.take(), want);
    (void)pushed(loss, x, x).item<float>();
    EXPECT_THAT(lines_.take(), want);
    (void)compile(value_and_grad(loss))(x).second.item<float>();
    EXPECT_THAT(lines_.take(), want);
  }
}

TEST_P(Debug, DerivativesOfBranchesAndWhileLoopsPrintOnce) {
  const auto branch = [](Tensor x) {
    return cond(
        x > 0.0,
        [](Tensor t) {
          debug_print("sine of {}", t);
          return sin(t) * t;
        },
        [](Tensor t) {
          debug_print("square of {}", t);
          return t * t;
        },
        x);
  };
  (void)grad(branch)(scalar(1.0f)).item<float>();
  EXPECT_THAT(lines_.take(), ElementsAre("sine of 1.0"));
  (void)pushed(branch, scalar(-1.0f), scalar(1.0f)).item<float>();
  EXPECT_THAT(lines_.take(), ElementsAre("square of -1.0"));
  const auto loop = [](Tensor x) {
    return while_loop([](Tensor t) { return t < 10.0; },
                      [](Tensor t) {
                        debug_print("t {}", t);
                        return t * t;
                      },
                      x, {.max_steps = 5});
  };
  (void)grad(loop)(scalar(2.0f)).item<float>();
  EXPECT_THAT(lines_.take(), ElementsAre("t 2.0", "t 4.0"));
  (void)pushed(loop, scalar(2.0f), scalar(1.0f)).item<float>();
  EXPECT_THAT(lines_.take(), ElementsAre("t 2.0", "t 4.0"));
}

TEST_P(Debug, FunctionsWithDerivativesOfTheirOwnPrint) {
  const auto fn = custom_jvp(
      [](Tensor x) {
        debug_print("fn {}", x);
        return x * x;
      },
      [](std::tuple<Tensor> x, std::tuple<Tensor> dx) {
        debug_print("rule {}", std::get<0>(x));
        return std::pair(std::get<0>(x) * std::get<0>(x), std::get<0>(x) * std::get<0>(dx));
      });
  const Tensor two = scalar(2.0f);
  const auto twice = [&](Tensor x) { return fn(fn(x)); };
  (void)compile(twice)(two).item<float>();
  EXPECT_THAT(lines_.take(), ElementsAre("fn 2.0", "fn 4.0"));
  (void)vmap(twice)(array<float>({1, 2})).to_vector<float>();
  EXPECT_THAT(lines_.take(), ElementsAre("fn 1.0", "fn 2.0", "fn 1.0", "fn 4.0"));
  const auto some = [&](Tensor x) { return cond(x > 1, fn, std::identity(), x); };
  (void)vmap(some)(array<float>({1, 2, 3})).to_vector<float>();
  EXPECT_THAT(lines_.take(), ElementsAre("fn 2.0", "fn 3.0"));
  (void)grad(twice)(two).item<float>();
  EXPECT_THAT(lines_.take(), ElementsAre("rule 2.0", "rule 4.0"));
  const auto own = custom_vjp(
      [](Tensor x) {
        debug_print("fn {}", x);
        return x * x;
      },
      [](Tensor x) {
        debug_print("forward {}", x);
        return std::pair(x * x, x);
      },
      [](Tensor x, Tensor ct) {
        debug_print("backward {}", ct);
        return x * ct;
      });
  (void)grad([&](Tensor x) { return own(x) * 3.0; })(two).item<float>();
  EXPECT_THAT(lines_.take(), ElementsAre("forward 2.0", "backward 3.0"));
}

// An effect of the user's own: neither lost nor run twice.
TEST_P(Debug, CustomCallsWithEffectsRunOnceUnderDerivatives) {
  static int calls = 0;
  const std::string name = std::string("debug_test_effect_") + GetParam();
  ASSERT_TRUE(
      interpreter::register_custom_call(name,
                                        [](interpreter::CustomCall& call) -> StatusOr<Literal> {
                                          ++calls;
                                          return Literal(call.result());
                                        })
          .ok());
  const auto loss = [&](Tensor x) {
    const auto step = [&](Tensor h, Tensor i) {
      (void)custom_call(name, {i}, {Shape(s32, {})}, {.has_side_effect = true, .typed = true});
      return std::pair(sin(h) * x, None{});
    };
    return scan(step, x, arange(3)).first;
  };
  const Tensor x = scalar(0.5f);
  for (const auto& run : std::vector<std::function<Tensor()>>{
           [&] { return loss(x); }, [&] { return grad(loss)(x); },
           [&] { return pushed(loss, x, x); }, [&] { return value_and_grad(loss)(x).second; }}) {
    calls = 0;
    run().wait();
    EXPECT_EQ(calls, 3);
  }
  interpreter::unregister_custom_call(name);
}

// What nobody reads is not run again; what a tangent reads would be, and is an error.
TEST_P(Debug, CustomCallsWithEffectsDoNotRunAgainInACheckpoint) {
  static int calls = 0;
  const std::string name = std::string("debug_test_again_") + GetParam();
  ASSERT_TRUE(
      interpreter::register_custom_call(name,
                                        [](interpreter::CustomCall& call) -> StatusOr<Literal> {
                                          ++calls;
                                          return call[0];
                                        })
          .ok());
  int line = 0;
  const auto note = [&](const Tensor& x) {
    line = __LINE__ + 1;
    return custom_call(name, {x}, {x.shape()}, {.has_side_effect = true, .typed = true})[0];
  };
  const auto loss = [&](const ScanOptions& options) {
    return [&, options](Tensor x) {
      const auto step = [&](Tensor h, Tensor) {
        (void)note(stop_gradient(h));
        return std::pair(sin(h) * x, None{});
      };
      return scan(step, x, arange(4), options).first;
    };
  };
  const auto repeated = [&](const Tensor& x) {
    const auto body = [&](std::pair<Tensor, Tensor> s) {
      (void)note(stop_gradient(s.second));
      return std::pair(s.first + 1, sin(s.second) * x);
    };
    return while_loop([](std::pair<Tensor, Tensor> s) { return s.first < 4; }, body,
                      std::pair(scalar(0), x))
        .second;
  };
  const Tensor x = scalar(0.5f);
  for (const auto& run :
       std::vector<std::function<Tensor()>>{[&] { return grad(checkpoint(loss({})))(x); },
                                            [&] { return grad(loss({.checkpoint = every(2)}))(x); },
                                            [&] { return linearize(loss({}), x).second(x); },
                                            [&] { return linearize(repeated, x).second(x); }}) {
    calls = 0;
    run().wait();
    EXPECT_EQ(calls, 4);
  }
  const auto reads = checkpoint([&](Tensor y) { return y * sin(note(stop_gradient(y))); });
  const std::string told = error_of([&] { (void)grad(reads)(x); });
  EXPECT_EQ(told, base::cat("grad: ", name, ": has an effect, and would run again for its result ",
                            "where the derivative computes that again; call it outside of the ",
                            "checkpoint [debug_test.cc:", line, "]"));
  interpreter::unregister_custom_call(name);
}

TEST_P(Debug, ACheckpointThatComputesAgainPrintsNothingAgain) {
  const auto layer = [](Tensor x) {
    const Tensor y = sin(x);
    debug_print("layer {}", floor(y));
    const auto step = [](Tensor h, Tensor i) {
      debug_print("step {}", i);
      return std::pair(sin(h) * h, None{});
    };
    return sin(scan(step, y, arange(2)).first);
  };
  const auto want = ElementsAre("layer 0.0", "step 0", "step 1");
  (void)grad(checkpoint(layer))(scalar(1.0f)).item<float>();
  EXPECT_THAT(lines_.take(), want);
  const auto kept = checkpoint(layer, {.policy = checkpoint_policies::dots_saveable()});
  (void)grad(kept)(scalar(1.0f)).item<float>();
  EXPECT_THAT(lines_.take(), want);
}

// ---- Mistakes.

TEST(DebugMistakes, AreToldOnTheirLine) {
  const Tensor x = scalar(1.0f);
  EXPECT_THAT(
      error_of([&] { debug_print("{} {}", x); }),
      AllOf(StartsWith("debug_print: the format has 2 places {} for 1 values; write one for "
                       "each"),
            HasSubstr("debug_test.cc:")));
  EXPECT_THAT(error_of([&] { debug_print("{", x); }),
              StartsWith("debug_print: the format has a lone { at 0; a place for a value is {}"));
  EXPECT_THAT(error_of([&] { debug_print("{:3}", x); }), HasSubstr("a lone { at 0"));
  EXPECT_THAT(error_of([&] { debug_print("{}", Tensor()); }), StartsWith("debug_print: "));
  EXPECT_THAT(error_of([&] { debug_check(Tensor(), "x"); }), HasSubstr("debug_check"));
  EXPECT_THAT(error_of([&] { progress(x, 3); }),
              StartsWith("progress: step is f32[]; it must be an integer scalar"));
  EXPECT_THAT(error_of([&] { progress(scalar(1), -1); }),
              StartsWith("progress: total is -1; it must be 0 or more"));
}

// They would show nothing: such a function has no place in the order of effects.
TEST(DebugMistakes, InFunctionsOfSingleElementsAreErrors) {
  const Tensor x = array<float>({3, 1, 2});
  const auto prints = [](const Tensor& a, const Tensor& b) {
    debug_print("a {}", a);
    return a + b;
  };
  const auto checks = [](const Tensor& a, const Tensor& b) {
    debug_check(a, "a");
    return a + b;
  };
  const auto compares = [](std::span<const Tensor> v) {
    progress(scalar(1), 3);
    return v[0] < v[1];
  };
  for (int i = 0; i < 2; ++i) {  // also where the last trace is known
    EXPECT_THAT(error_of([&] { reduce(x, 0.0f, prints, {0}); }),
                AllOf(StartsWith("debug_print: stands in the function of reduce, which runs on"),
                      HasSubstr("[debug_test.cc:")));
    EXPECT_THAT(error_of([&] { reduce_window(x, 0.0f, checks, {.sizes = 2}); }),
                StartsWith("debug_check: stands in the function of reduce_window, which"));
    EXPECT_THAT(error_of([&] { sort_by(std::vector<Tensor>{x}, compares, 0); }),
                StartsWith("progress: stands in the function of sort_by, which"));
  }
}

TEST(DebugSinks, AThrowingOneAndOneThatPrintsDoNoHarm) {
  int calls = 0;
  const DebugSink before = set_debug_sink([&](std::string_view lines) {
    ++calls;
    if (lines == "again\n") return;
    debug_print("again");
    throw std::runtime_error("no");
  });
  debug_print("once");
  EXPECT_EQ(calls, 2);
  set_debug_sink(before);
}

TEST(DebugSinks, LinesOfSeveralThreadsAreWhole) {
  Lines lines;
  const auto fn = compile([](Tensor x) {
    for (int i = 0; i < 20; ++i) debug_print("<{} {}>", i, x);
    return x;
  });
  fn(scalar(0)).wait();
  (void)lines.take();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&fn, t] { (void)fn(scalar(t)).item<int>(); });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<std::string> all = lines.take();
  EXPECT_EQ(all.size(), 80);
  EXPECT_THAT(all, testing::Each(AllOf(StartsWith("<"), EndsWith(">"))));
}

TEST_P(Debug, RulesOfDerivativesShowTheirTangent) {
  using One = std::tuple<Tensor>;
  const auto rule = [](const One& x, const One& dx) {
    debug_print("dx {}", std::get<0>(dx));
    return std::pair(sin(std::get<0>(x)), std::get<0>(dx) * cos(std::get<0>(x)));
  };
  const auto fn = custom_jvp([](Tensor x) { return sin(x); }, rule);
  const Tensor x = scalar(0.5f);
  (void)jvp(fn, One(x), One(scalar(2.0f))).second.item<float>();
  EXPECT_THAT(lines_.take(), ElementsAre("dx 2.0"));
  // Reverse mode has no tangent to show.
  (void)grad(fn)(x).item<float>();
  EXPECT_THAT(lines_.take(), IsEmpty());
}

}  // namespace
}  // namespace heddle
