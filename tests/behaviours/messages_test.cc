// What Heddle says to a user's mistake: the function as it was called, what is wrong, what mends
// it, and the user's line.
#include <complex>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/base/support_test.h"
#include "heddle/heddle.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/interpreter/custom_call.h"
#include "heddle/tests/support/outcomes.h"

namespace heddle {
namespace {

constexpr char kHere[] = "[messages_test.cc:";

// ---- Nothing to call.

// Numbers that wrapped, or were rounded at each step, in silence.
TEST(Silence, OfWrappedAxesAndOfFunctionsThatGiveAnotherDtypeIsNone) {
  const Tensor x = ones({2, 3});
  const size_t zero = 0;
  EXPECT_THAT(error_of([&] { sum(x, zero - 1); }), StartsWith("sum: axis is 9223372036854775807"));
  EXPECT_THAT(error_of([&] { (void)x[zero - 1]; }),
              StartsWith("x[..]: position 9223372036854775807"));
  const auto wide = [](std::span<const Tensor> s) {
    return std::vector{s[0].astype(f64) + s[1].astype(f64)};
  };
  EXPECT_THAT(
      error_of([&] { reduce({x}, {zeros({})}, wide, {0}); }),
      AllOf(StartsWith("reduce: its function gives f64[]; must give f32[]"), HasSubstr(kHere)));
}

TEST(NothingToCall, IsAnErrorOfEachFunctionThatCalls) {
  using Unary = Tensor(Tensor);
  const Tensor x = ones({3});
  const std::function<Unary> none;
  Unary* const null = nullptr;
  const std::function<Tensor(Tensor, Tensor)> none2;
  const std::function<std::pair<Tensor, Tensor>(Tensor, Tensor)> no_step;
  auto says = [](std::string_view start) {
    return AllOf(StartsWith(base::cat(start, " is a null pointer to a function, or an empty ")),
                 HasSubstr(kHere));
  };
  EXPECT_THAT(error_of([&] { scan(no_step, ones({}), x); }), says("scan: the step"));
  EXPECT_THAT(error_of([&] { map(none, x); }), says("map: the function"));
  EXPECT_THAT(error_of([&] { map(null, x); }), says("map: the function"));
  Tensor (*const unnamed)(Operand) = nullptr;
  EXPECT_THAT(error_of([&] { map(unnamed, x); }), says("map: the function"));
  EXPECT_THAT(error_of([&] { trace(unnamed, x); }), says("trace: the function"));
  EXPECT_THAT(error_of([&] { cond(true, exp, unnamed, x); }), says("cond: the branch on_false"));
  EXPECT_THAT(error_of([&] { Function("none", unnamed); }), says("Function: the callable"));
  EXPECT_THAT(error_of([&] { fori_loop(0, 2, none2, x); }), says("fori_loop: the body"));
  EXPECT_THAT(error_of([&] { while_loop(none, none, x); }), says("while_loop: the condition"));
  EXPECT_THAT(error_of([&] { while_loop([](Tensor c) { return all(c < 3); }, null, x); }),
              says("while_loop: the body"));
  EXPECT_THAT(error_of([&] { cond(true, null, null, x); }), says("cond: the branch on_true"));
  EXPECT_THAT(error_of([&] {
                switch_case(0, std::vector{null, null}, x);
              }),
              says("switch_case: the branch 0"));
  EXPECT_THAT(error_of([&] { switch_case(0, std::tuple(none, null), x); }),
              says("switch_case: the branch 0"));
  EXPECT_THAT(error_of([&] { trace(none, x); }), says("trace: the function"));
  EXPECT_THAT(error_of([&] { tree_map(none, x); }), says("tree_map: the function"));
  EXPECT_THAT(error_of([&] { associative_scan(none2, x); }),
              says("associative_scan: the function"));
  EXPECT_THAT(error_of([&] { scan_layers(none2, x, ones({})); }),
              says("scan_layers: the function"));
  EXPECT_THAT(error_of([&] { Function("f", none); }), says("Function: the callable"));
  const std::function<std::vector<Tensor>(std::span<const Tensor>)> no_reducer;
  EXPECT_THAT(error_of([&] { reduce({x}, {scalar(0.0f)}, no_reducer, {0}); }),
              says("reduce: the function"));
}

TEST(NothingToCall, IsNotSaidOfFunctions) {
  const Tensor x = arange(3.0);
  const std::function<Tensor(Tensor)> twice = [](Tensor t) { return t * 2; };
  EXPECT_THAT(map(twice, x).to_vector<float>(), ElementsAre(0, 2, 4));
  Tensor (*pointer)(Tensor) = [](Tensor t) { return t + 1; };
  EXPECT_THAT(map(pointer, x).to_vector<float>(), ElementsAre(1, 2, 3));
}

TEST(NothingToCall, FunctionsOfHeddleGoByTheirNames) {
  const Tensor x = arange(3.0);
  EXPECT_THAT(map(square, x).to_vector<float>(), ElementsAre(0, 1, 4));
  EXPECT_THAT(map(maximum, x, 1 - x).to_vector<float>(), ElementsAre(1, 1, 2));
  EXPECT_THAT(associative_scan(add, x).to_vector<float>(), ElementsAre(0, 1, 3));
  EXPECT_THAT(error_of([] { map(sqrt, arange(3)); }),
              AllOf(StartsWith("sqrt: x is s32[]"), HasSubstr(kHere)));
}

Tensor greater_one(const Tensor& a, const Tensor& b) { return maximum(a, b); }
std::vector<Tensor> total(std::span<const Tensor> a) { return {a[0] + a[1]}; }

TEST(NothingToCall, FunctionsOfTheUserGoByTheirNames) {
  const Tensor x = array<float>({1, 3, 2});
  EXPECT_THAT(reduce_window(x, 0.0f, greater_one, {.sizes = {2}}).to_vector<float>(),
              ElementsAre(3, 3));
  EXPECT_EQ(reduce({x}, {scalar(0.0f)}, total, {0})[0].item<float>(), 6);
}

// ---- Moved from.

TEST(MovedFrom, ProgramsSayWhatWasCalled) {
  auto p = trace([](Tensor x) { return x + 1; }, ones({2}));
  auto compiled = p.compile();
  const auto q = std::move(p);
  const auto kept = std::move(compiled);
  auto says = [](std::string_view start) {
    return AllOf(StartsWith(base::cat(start, " was moved from and is empty")), HasSubstr(kHere));
  };
  // NOLINTBEGIN(bugprone-use-after-move)
  EXPECT_THAT(error_of([&] { (void)p(ones({2})); }), says("call: the program"));
  EXPECT_THAT(error_of([&] { (void)p.call<Tensor>(ones({2})); }), says("call: the program"));
  EXPECT_THAT(error_of([&] { (void)p.compile(); }), says("compile: the program"));
  EXPECT_THAT(error_of([&] { (void)p.compile("interpreter:0"); }), says("compile: the program"));
  EXPECT_THAT(error_of([&] { (void)p.lowered(); }), says("lowered: the program"));
  EXPECT_THAT(error_of([&] { (void)compiled(ones({2})); }), says("call: the compiled program"));
  EXPECT_THAT(error_of([&] { (void)compiled.with({}); }), says("with: the compiled program"));
  // NOLINTEND(bugprone-use-after-move)
  EXPECT_EQ(to_string(compiled), "a compiled program that was moved from");
  EXPECT_THAT(q(ones({2})).to_vector<float>(), ElementsAre(2, 2));
}

TEST(MovedFrom, FunctionsHaveTheLineOfTheirUse) {
  Function step("step", [](Tensor c, Tensor x) { return std::pair(c + x, x); });
  const auto kept = std::move(step);
  EXPECT_THAT(error_of([&] { scan(step, scalar(0.0f), arange(3.0)); }),
              AllOf(StartsWith("scan: the Function made at messages_test.cc:"),
                    HasSubstr("was moved from"), HasSubstr(kHere)));
}

TEST(MovedFrom, TensorsSayWhatWasAsked) {
  Tensor x = ones({2});
  const Tensor y = std::move(x);
  EXPECT_THAT(error_of([&] { (void)x.dim(0); }), AllOf(StartsWith("dim: "), HasSubstr(kHere)));
  EXPECT_THAT(error_of([&] { (void)x.dtype(); }), AllOf(StartsWith("dtype: "), HasSubstr(kHere)));
  EXPECT_THAT(error_of([&] { (void)x.rank(); }), AllOf(StartsWith("rank: "), HasSubstr(kHere)));
  EXPECT_THAT(error_of([&] { (void)x.size(); }), AllOf(StartsWith("size: "), HasSubstr(kHere)));
  EXPECT_THAT(error_of([&] { (void)x[0]; }),
              AllOf(StartsWith("x[..]: operand was moved from"), HasSubstr(kHere)));
  EXPECT_THAT(error_of([&] { (void)y.dim(3); }),
              AllOf(StartsWith("dim: axis is 3; f32[2] has axes -1 .. 0"), HasSubstr(kHere)));
}

TEST(MovedFrom, LiteralsSaySo) {
  Literal literal = Literal::scalar(f32, 2.0);
  const Literal kept = std::move(literal);
  const auto refuses = [](auto read) {
    try {
      (void)read();
    } catch (const std::logic_error& error) {
      EXPECT_THAT(error.what(), StartsWith("Literal: was moved from and has no value"));
      return true;
    }
    return false;
  };
  EXPECT_TRUE(refuses([&] { return literal.to_double(0); }));
  EXPECT_TRUE(refuses([&] { return literal.values<float>(); }));
  EXPECT_TRUE(refuses([&] { return literal.mutable_bytes(); }));
  EXPECT_EQ(kept.to_double(0), 2.0);
}

// ---- Leaks.

TEST(Leaked, TensorsAreNamedByTheTraceAndThePath) {
  Tensor leak;
  (void)trace([&](Tensor x) { return leak = x * 2; }, ones({}));
  auto says = [](std::string_view start) {
    return AllOf(StartsWith(start),
                 HasSubstr("that escaped from the function traced at messages_test.cc:"),
                 HasSubstr(kHere));
  };
  EXPECT_THAT(error_of([&] {
                fori_loop(
                    0, 2, [](Tensor, Tensor c) { return c; }, leak);
              }),
              says("fori_loop: value is a traced f32[]"));
  EXPECT_THAT(
      error_of([&] { scan([](Tensor c, Tensor x) { return std::pair(c, x); }, leak, ones({2})); }),
      says("scan: carry is a traced f32[]"));
  EXPECT_THAT(error_of([&] { (void)trace([&](Tensor) { return leak; }, ones({})); }),
              says("trace: result is a traced f32[]"));
}

// ---- Loops.

TEST(LoopWords, NameTheNumberThatGivesACarryItsType) {
  EXPECT_THAT(error_of([] {
                fori_loop(
                    0, 3, [](Tensor i, Tensor c) { return c + i; }, 0.0f);
              }),
              AllOf(HasSubstr("the init of fori_loop, the C++ number 0.0f"),
                    HasSubstr("cast the other with astype(f32), or write 0 there"),
                    HasSubstr(kHere)));
  EXPECT_THAT(error_of([] {
                while_loop([](Tensor c) { return c < 5; }, [](Tensor c) { return c * 1.5; }, 1);
              }),
              AllOf(HasSubstr("operand is the C++ number 1.5, which no s32 holds"),
                    HasSubstr("the init of while_loop, the C++ number 1 at messages_test.cc:"),
                    HasSubstr("write 1.0f there")));
}

TEST(LoopWords, NameTheBound) {
  auto body = [](Tensor, Tensor c) { return c; };
  EXPECT_THAT(error_of([&] { fori_loop(0, scalar(2.5f), body, 0); }),
              AllOf(StartsWith("fori_loop: high is f32[]; it must be a scalar of an integer dtype"),
                    HasSubstr(kHere)));
  EXPECT_THAT(error_of([&] { fori_loop(scalar(1), 2.5, body, 0); }),
              StartsWith("fori_loop: high is the C++ number 2.5; it must be an integer"));
  EXPECT_THAT(error_of([&] { fori_loop(0.5, 2, body, 0); }),
              StartsWith("fori_loop: low is the C++ number 0.5; it must be an integer"));
  EXPECT_THAT(error_of([&] { fori_loop(ones({2}, s32), 2, body, 0); }),
              StartsWith("fori_loop: low is s32[2]; it must be a scalar"));
  EXPECT_THAT(error_of([&] { fori_loop(scalar(1), scalar(int64_t{2}), body, 0); }),
              StartsWith("fori_loop: low is s32[] and high s64[]; their dtypes must be equal"));
}

// ---- Donated.

TEST(DonatedWords, CapturesSayWhichAndWhere) {
  const Tensor w = ones({3});
  auto uses = trace([&](Tensor x) { return x * w; }, ones({3}));
  auto takes = trace([](Tensor t) { return t + 1; }, ones({3})).compile().with({.donate = {0}});
  (void)takes(w);
  ASSERT_TRUE(w.is_donated());
  EXPECT_THAT(error_of([&] { (void)uses(ones({3})); }),
              AllOf(HasSubstr(base::cat("tensor #", w.id(), " f32[3], made at messages_test.cc:")),
                    HasSubstr("was donated as arg0 of the program at messages_test.cc:"),
                    HasSubstr(kHere)));
}

// ---- Windows and layouts.

TEST(WindowWords, AWindowLargerThanTheInputIsAnError) {
  const Tensor x = ones({1, 3, 3, 1});
  EXPECT_THAT(error_of([&] {
                max_pool(x, {.sizes = {5, 2}});
              }),
              AllOf(StartsWith("max_pool: the window has size 5 along axis 1; x is f32[1,3,3,1]"),
                    HasSubstr(kHere)));
  EXPECT_THAT(error_of([&] {
                avg_pool(x, {.sizes = {2, 4}});
              }),
              StartsWith("avg_pool: the window"));
  EXPECT_THAT(error_of([&] {
                sum_pool(x, {.sizes = {2, 2}, .window_dilation = {1, 3}});
              }),
              HasSubstr("size 2 along axis 2, dilated by 3"));
  const Tensor fits = max_pool(x, {.sizes = {5, 5}, .padding = {{1, 1}, {1, 1}}});
  EXPECT_EQ(fits.shape(), Shape(f32, {1, 1, 1, 1}));
  EXPECT_EQ(fits.item<float>(), 1);
  EXPECT_EQ(min_pool(x, {.sizes = {5, 5}, .padding = WindowPadding::kSame}).size(), 9);
}

TEST(WindowWords, AKernelLargerThanTheInputIsAnError) {
  const Tensor x = ones({1, 3, 3, 1}), row = ones({3});
  auto add = [](const Tensor& a, const Tensor& b) { return a + b; };
  EXPECT_THAT(error_of([&] {
                conv(x, ones({5, 2, 1, 1}));
              }),
              AllOf(StartsWith("conv: the kernel has size 5 along axis 1; x is f32[1,3,3,1], "
                               "smaller than that, take a smaller kernel, or pad x with "
                               "WindowPadding::kSame"),
                    HasSubstr(kHere)));
  EXPECT_THAT(error_of([&] {
                conv(x, ones({5, 2, 1, 1}), {.padding = {{0, 1}, {0, 0}}});
              }),
              HasSubstr("x is f32[1,3,3,1], there of size 4 with its padding, smaller than that"));
  EXPECT_THAT(error_of([&] {
                conv(x, ones({2, 2, 1, 1}), {.rhs_dilation = {1, 3}});
              }),
              HasSubstr("size 2 along axis 2, dilated by 3; x is"));
  EXPECT_THAT(error_of([&] {
                conv_transpose(ones({1, 3, 1}), ones({2, 1, 1}), {.padding = {{-1, -1}}});
              }),
              StartsWith("conv_transpose: the kernel has size 2 along axis 1; x is f32[1,3,1], "
                         "there of size 1 with its padding"));
  EXPECT_THAT(error_of([&] { reduce_window(row, 0.0f, add, {.sizes = {4}}); }),
              AllOf(StartsWith("reduce_window: the window has size 4 along axis 0; x is f32[3]"),
                    HasSubstr(kHere)));
  EXPECT_EQ(conv(x, ones({5, 3, 1, 1}), {.padding = {{1, 1}, {0, 0}}}).size(), 1);
  // What is empty stays empty.
  EXPECT_EQ(reduce_window(zeros({0}), 0.0f, add, {.sizes = {2}}).shape(), Shape(f32, {0}));
  EXPECT_EQ(conv(zeros({1, 0, 3, 1}), ones({2, 2, 1, 1})).shape(), Shape(f32, {1, 0, 2, 1}));
}

// ---- Counts that are left out, or below 0.

TEST(CountWords, ANegativeCountIsAnError) {
  const Tensor v = arange(3);
  auto says = [](std::string_view start) {
    return AllOf(StartsWith(base::cat(start, "; it must be 0 or more")), HasSubstr(kHere));
  };
  EXPECT_THAT(error_of([] { eye(2, -3); }), says("eye: columns is -3"));
  EXPECT_THAT(error_of([] { eye(2, -1, s32); }), says("eye: columns is -1"));
  EXPECT_THAT(error_of([] { tri(2, -1); }), says("tri: columns is -1"));
  EXPECT_THAT(error_of([] { tril_indices(2, 0, -1); }), says("tril_indices: columns is -1"));
  EXPECT_THAT(error_of([] { triu_indices(2, 0, -2); }), says("triu_indices: columns is -2"));
  EXPECT_THAT(error_of([&] { vander(v, -1); }), says("vander: columns is -1"));
  EXPECT_THAT(error_of([] { random::orthogonal(random::key(0), 2, {}, f32, -1); }),
              says("random::orthogonal: m is -1"));
  EXPECT_EQ(eye(2, 0).shape(), Shape(f32, {2, 0}));
  EXPECT_EQ(eye(2, {}, 1).shape(), Shape(f32, {2, 2}));
  EXPECT_EQ(vander(v).shape(), Shape(s32, {3, 3}));
}

TEST(CountWords, ATransformHasAPointAtLeast) {
  const Tensor x = ones({4}), z = ones({3}, c64);
  EXPECT_THAT(error_of([&] { fft(x, {.n = 0}); }),
              AllOf(StartsWith("fft: n is 0; it must be 1 or more"), HasSubstr(kHere)));
  EXPECT_THAT(error_of([&] { rfft(x, {.n = -2}); }), StartsWith("rfft: n is -2; it must be 1"));
  EXPECT_THAT(error_of([&] { irfft(z, {.n = 0}); }), StartsWith("irfft: n is 0; it must be 1"));
  EXPECT_THAT(error_of([&] { hfft(z, {.n = 0}); }), StartsWith("hfft: n is 0; it must be 1"));
  EXPECT_EQ(fft(x).size(), 4);
  EXPECT_EQ(hfft(z).size(), 4);
  EXPECT_EQ(hfft(z, {.n = 5}).size(), 5);
}

// ---- Comparisons one after the other.

TEST(ChainWords, PredHasNoOrderBesideANumber) {
  const Tensor y = array<float>({-1, 0.5, 2});
  EXPECT_THAT(error_of([&] { (void)((0.0 < y) < 1); }),
              AllOf(StartsWith("less: operands are pred[3] and the C++ number 1; truths have no "
                               "order among numbers: for 0.0 < y < 1 write (0.0 < y) & (y < 1)"),
                    HasSubstr(kHere)));
  EXPECT_THAT(error_of([&] { (void)(1.5 >= (y > 0)); }),
              StartsWith("greater_equal: operands are pred[3] and the C++ number 1.5"));
  EXPECT_THAT(((0.0 < y) & (y < 1)).to_vector<bool>(), ElementsAre(false, true, false));
  EXPECT_THAT(((y > 0) == 1).to_vector<bool>(), ElementsAre(false, true, true));
  EXPECT_THAT(((y > 0) < true).to_vector<bool>(), ElementsAre(true, false, false));
  EXPECT_THAT(((y > 1) < (y > 0)).to_vector<bool>(), ElementsAre(false, true, false));
}

TEST(LayoutWords, SayWhichLayoutIsExpected) {
  EXPECT_THAT(
      error_of([] {
        conv(ones({1, 3, 8, 8}), ones({3, 3, 3, 16}));
      }),
      AllOf(StartsWith("conv: x is f32[1,3,8,8], in the layout NHWC of 8 features, and "
                       "kernel f32[3,3,3,16], which in the layout HWIO takes 3"),
            HasSubstr("{.layout = {.x = \"NCHW\", .kernel = \"OIHW\"}} for arrays of torch"),
            HasSubstr("{.layout = {.x = \"NCHW\"}} where the kernel is in the layout HWIO"),
            HasSubstr(kHere)));
  EXPECT_THAT(error_of([] {
                conv(ones({1, 3, 8, 8}), ones({3, 5, 3, 16}));
              }),
              HasSubstr("write {.layout = {.x = \"NCHW\"}} for x as it is [messages_test.cc:"));
  EXPECT_THAT(error_of([] {
                conv(ones({1, 3, 8, 8}), ones({16, 3, 5, 5}));
              }),
              HasSubstr("{.layout = {.x = \"NCHW\", .kernel = \"OIHW\"}}"));
  EXPECT_EQ(
      conv(ones({1, 3, 8, 8}), ones({16, 3, 5, 5}), {.layout = {.x = "NCHW", .kernel = "OIHW"}})
          .shape(),
      Shape(f32, {1, 16, 4, 4}));
}

// ---- Braces.

TEST(Braces, OfComplexNumbersAreRows) {
  const Tensor rows = array<std::complex<float>>({{1, 2}, {3, 4}});
  EXPECT_EQ(rows.shape(), Shape(c64, {2, 2}));
  EXPECT_THAT(rows.to_vector<std::complex<float>>(), ElementsAre(1, 2, 3, 4));
}

TEST(Braces, AreAListOfAxes) {
  const Tensor m = ones({2, 3});
  EXPECT_EQ(sum(m, {0, 1}).item<float>(), 6);
  EXPECT_EQ(sum(m, {0, 1}, true).shape(), Shape(f32, {1, 1}));
  EXPECT_EQ(mean(m, {1}).shape(), Shape(f32, {2}));
  EXPECT_EQ(sum(m, {}).shape(), Shape(f32, {}));
  EXPECT_EQ(var(m, {0, 1}, 1).item<float>(), 0);
}

// ---- Lines.

StatusOr<Literal> fails(interpreter::CustomCall&) { return base::internal_error("no luck today"); }

TEST(Lines, AreThoseOfTheCallAndNotOfACachedOne) {
  throw_if_error(interpreter::register_custom_call("messages_test_fails", fails), {});
  const Tensor xs = ones({2});
  auto run = [&](auto body, SourceLocation at) { return error_of([&] { map(body, xs, {}, at); }); };
  auto first = [](Tensor x) { return custom_call("messages_test_fails", {x}, {x.shape()})[0]; };
  auto second = [](Tensor x) { return custom_call("messages_test_fails", {x}, {x.shape()})[0]; };
  EXPECT_THAT(run(first, {"first.cc", 1}), AllOf(HasSubstr("no luck"), EndsWith("[first.cc:1]")));
  EXPECT_THAT(run(second, {"second.cc", 2}), EndsWith("[second.cc:2]"));
  EXPECT_THAT(run(second, {"third.cc", 3}), EndsWith("[third.cc:3]"));
  interpreter::unregister_custom_call("messages_test_fails");
}

}  // namespace
}  // namespace heddle
