// What errors say: the function that the user wrote, the operand, what mends it, and his line.
#include "heddle/base/support_test.h"
#include "heddle/numpy/aliases.h"
#include "heddle/numpy/matrices.h"
#include "heddle/numpy/sorting.h"
#include "heddle/trace/ops/contraction/contractions.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/ops/windows/windows.h"
#include "heddle/trace/run/program.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

TEST(ErrorWords, HaveTheLineWhereAMessageEndsWithARange) {
  const Tensor x = ones({2, 3});
  EXPECT_THAT(error_of([&] { slice(x, {0, 0}, {3, 3}); }), EndsWith("must lie in [0:2] " + here()));
  EXPECT_THAT(
      error_of([&] { slice_in_dim(x, 0, 9); }),
      AllOf(StartsWith("slice_in_dim: x is f32[2,3]; range [0:9]"), EndsWith(" " + here())));
  const Program p = trace([](Tensor t) { return t; }, x);
  try {
    (void)p.call<Tensor>(ones({3}));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(std::string(Error(e.status(), {"b.cc", 7}).what()), e.what());  // its line stays
  }
}

TEST(ErrorWords, AskingATensorWithoutAValueHasALine) {
  const Tensor none;
  EXPECT_THAT(error_of([&] { (void)none.shape(); }),
              AllOf(StartsWith("shape: operand has no value"), EndsWith(" " + here())));
  EXPECT_THAT(error_of([&] { (void)none.dtype(); }), EndsWith(" " + here()));
  EXPECT_THAT(error_of([&] { (void)none.rank(); }), EndsWith(" " + here()));
  EXPECT_THAT(error_of([&] { (void)none.size(); }), EndsWith(" " + here()));
  const Tensor x = ones({2, 3});
  EXPECT_THAT(error_of([&] { (void)x[none]; }),
              AllOf(StartsWith("x[..]: operand has no value"), EndsWith(" " + here())));
  EXPECT_THAT(error_of([&] { (void)x.at(none).set(1); }),
              AllOf(StartsWith("at.set: operand has no value"), EndsWith(" " + here())));
  EXPECT_THAT(error_of([&] { (void)none.at(0).add(1); }), StartsWith("at.add: operand has no"));
}

TEST(ErrorWords, NameTheFunctionThatTheUserWrote) {
  const Tensor none, x = ones({2, 3}), y = ones({3, 2}), i = arange(3);
  auto said = [](auto fn) {
    const std::string text = error_of(fn);
    return text.substr(0, text.find(": "));
  };
  EXPECT_EQ(said([&] { abs(none); }), "abs");
  EXPECT_EQ(said([&] { exp(none); }), "exp");
  EXPECT_EQ(said([&] { floor(none); }), "floor");
  EXPECT_EQ(said([&] { einsum("ij,jk->ik", x, none); }), "einsum");
  EXPECT_EQ(said([&] { exp(i); }), "exp");
  EXPECT_EQ(said([&] { concat({x, y}); }), "concat");
  EXPECT_EQ(said([&] { concatenate({x, none}); }), "concatenate");
  EXPECT_EQ(said([&] { stack({x, x.astype(f64)}); }), "stack");
  EXPECT_EQ(said([&] { zeros({-1}); }), "zeros");
  EXPECT_EQ(said([&] { ones({-1}); }), "ones");
  EXPECT_EQ(said([&] { full_like(i, 0.5); }), "full_like");
  EXPECT_EQ(said([&] { clip(i, 0.5, 2); }), "clip");
  EXPECT_EQ(said([&] { inner(x, y); }), "inner");
  EXPECT_EQ(said([&] { tensordot(x, y, {0}, {0}); }), "tensordot");
  EXPECT_EQ(said([&] { dot_general(x, y, {.lhs_contracting = {0}, .rhs_contracting = {0}}); }),
            "dot_general");
  EXPECT_EQ(said([&] {
              sort_by({x, i}, [](std::span<const Tensor> s) { return s[0] < s[1]; });
            }),
            "sort_by");
  EXPECT_EQ(said([&] { conv(ones({1, 4, 4, 3}), ones({3, 3, 4, 8})); }), "conv");
  EXPECT_EQ(said([&] { (void)(i == 3.5); }), "equal");
  EXPECT_EQ(said([&] { (void)(i < 3.5); }), "less");
  EXPECT_EQ(said([&] { ~x; }), "bitwise_not");
  EXPECT_EQ(said([&] { x << 1; }), "shift_left");
  EXPECT_EQ(said([&] { -ones({2}, pred); }), "negative");
  EXPECT_EQ(said([&] { (void)x.at({0}).multiply(ones({4})); }), "at.multiply");
  EXPECT_EQ(said([&] { (void)ones({}, c64).item<float>(); }), "item");
}

TEST(ErrorWords, ACastMendsAnElementType) {
  EXPECT_THAT(error_of([] { sqrt(arange(3)); }),
              StartsWith("sqrt: x is s32[3]; its elements must be floats or complex numbers, cast "
                         "it with astype(f32)"));
  EXPECT_THAT(error_of([] { ~ones({2}); }),
              StartsWith("bitwise_not: x is f32[2]; its elements must be pred or integers, cast it "
                         "with astype(s32)"));
  EXPECT_THAT(error_of([] { -ones({2}, pred); }), HasSubstr("cast it with astype(s32)"));
  EXPECT_THAT(error_of([] { sqrt(ones({2}, f8e8m0fnu)); }), Not(HasSubstr("cast it")));
}

TEST(ErrorWords, SayWhatWasMeant) {
  EXPECT_THAT(
      error_of([] { ones({2}) ^ 2; }),
      StartsWith("^: an operand is f32[2]; ^ is the exclusive or of bits: power(x, y) raises "
                 "x to y"));
  EXPECT_THAT(error_of([] {
                matmul(ones({3, 4}), ones({3}));
              }),
              StartsWith("matmul: operands are f32[3,4] and f32[3]; the last axis of the first has "
                         "size 4, the second 3; they must be equal, as of transpose(x)"));
  EXPECT_THAT(
      error_of([] {
        matmul(ones({2, 4}), ones({3, 5}));
      }),
      StartsWith("matmul: operands are f32[2,4] and f32[3,5]; the last axis of the first has "
                 "size 4, the last but one of the second 3; they must be equal"));
  EXPECT_THAT(error_of([] {
                average(ones({3, 4}), 0);
              }),
              HasSubstr("the second argument is a number; it must be weights, or write mean(x, "
                        "axis)"));
}

TEST(ErrorWords, ShowTheOperandsAsTheyWereGiven) {
  EXPECT_THAT(error_of([] {
                matmul(ones({2, 2, 3}), ones({3, 3, 4}));
              }),
              StartsWith("matmul: operands are f32[2,2,3] and f32[3,3,4]; the sizes of the axes "
                         "before the last two must be equal or 1"));
  EXPECT_THAT(error_of([] {
                take_along_axis(ones({2, 3}), ones({5, 3}, s32), 1);
              }),
              StartsWith("take_along_axis: indices are s32[5,3] and x f32[2,3]; the sizes of all "
                         "axes but 1 must be equal or 1"));
  EXPECT_THAT(error_of([] {
                reshape(ones({2, 3}), {-1, -1});
              }),
              StartsWith("reshape: shape is [-1,-1]; at most one size may be -1"));
  EXPECT_THAT(
      error_of([] {
        reduce({ones({2})}, {scalar(0.0)},
               [](std::span<const Tensor> s) { return std::vector<Tensor>{s[0] + s[1]}; }, {0});
      }),
      StartsWith("reduce: init is f64[] and x f32[2]; their dtypes must be equal, cast init "
                 "with astype(f32)"));
}

TEST(ErrorWords, NameTheFunctionWhoseShapeIsNone) {
  const Tensor m = ones({2, 3});
  const int64_t huge = int64_t{1} << 40;
  EXPECT_THAT(error_of([&] {
                reshape(m, {-2, 3});
              }),
              AllOf(StartsWith("reshape: shape: dimension 0 is -2; "), EndsWith(" " + here())));
  EXPECT_THAT(error_of([&] {
                broadcast_in_dim(m, {huge, huge, 2, 3}, {2, 3});
              }),
              AllOf(StartsWith("broadcast_in_dim: shape: f32["), EndsWith(" " + here())));
  EXPECT_THAT(error_of([&] {
                pad(m, 0, {{huge, huge}, {huge, huge}});
              }),
              AllOf(StartsWith("pad: "), EndsWith(" " + here())));
}

TEST(ErrorWords, OfFunctionsOnOperandsHaveNameAndLine) {
  const Tensor none, x = ones({2, 3});
  EXPECT_THAT(error_of([&] { as_tensor(none); }),
              AllOf(StartsWith("as_tensor: operand has no value"), EndsWith(" " + here())));
  EXPECT_THAT(
      error_of([&] { constant_like(1.5, s32); }),
      AllOf(StartsWith("constant_like: operand is the C++ number 1.5"), EndsWith(" " + here())));
  EXPECT_THAT(error_of([&] { unify(x, ones({4})); }),
              AllOf(StartsWith("unify: operands are f32[2,3] and f32[4]"), EndsWith(" " + here())));
  EXPECT_THAT(error_of([&] { broadcast_shapes(x.shape(), Shape(f32, {4})); }),
              AllOf(StartsWith("broadcast_shapes: operands are f32[2,3] and f32[4]"),
                    EndsWith(" " + here())));
}

TEST(ErrorWords, SayThatTheResultOfAFunctionIsNone) {
  using Tensors = std::vector<Tensor>;
  const Tensor x = ones({3}), zero = zeros({});
  const auto said = [&](auto fn, const std::vector<Tensor>& xs) {
    return error_of([&] { reduce(xs, std::vector<Tensor>(xs.size(), zero), fn, {0}); });
  };
  const auto valueless = [](std::span<const Tensor>) { return Tensors{Tensor()}; };
  EXPECT_THAT(said(valueless, {x}),
              StartsWith("reduce: the result of its function has no value (a default-constructed"));
  EXPECT_THAT(
      said([](std::span<const Tensor>) { return Tensors(); }, {x}),
      StartsWith("reduce: its function gives 0 results; must give 1, one for each operand"));
  EXPECT_THAT(said([](std::span<const Tensor> t) { return Tensors{t[0]}; }, {x, x}),
              StartsWith("reduce: its function gives 1 result; must give 2, one for each operand"));
  EXPECT_THAT(said([](std::span<const Tensor>) { return Tensors{ones({2})}; }, {x}),
              StartsWith("reduce: its function gives f32[2]; must give f32[]"));
  EXPECT_THAT(error_of([&] { sort_by({x}, [](std::span<const Tensor>) { return Tensor(); }); }),
              AllOf(StartsWith("sort_by: the result of its function has no value"),
                    EndsWith(" " + here())));
  EXPECT_THAT(said([](Tensor a, Tensor b) { return a + b; }, {x, x}),
              StartsWith("reduce: has 2 operands and a function of two tensors; give one of a "));
}

TEST(ErrorWords, SayOfWhichFunctionOfScalarsAValueIs) {
  const Tensor x = ones({3});
  Tensor leak;
  sort_by({x}, [&](std::span<const Tensor> t) { return leak = t[0] < t[1]; });
  EXPECT_THAT(error_of([&] { ~leak; }),
              HasSubstr("that escaped from the function of sort_by at error_words_test.cc:"));
  reduce(x, 0.0f, [&](Tensor a, Tensor b) { return leak = a + b; }, {0});
  EXPECT_THAT(error_of([&] { -leak; }),
              HasSubstr("that escaped from the function of reduce at error_words_test.cc:"));
}

TEST(ErrorWords, SayWhatToDoWithATracedValue) {
  auto branch = [](Tensor x) { return x.item<float>() > 0 ? x : -x; };
  EXPECT_THAT(error_of([&] { trace(branch, placeholder({}, f32)); }),
              HasSubstr("or branch on it with cond(..) or where(..)"));
  Tensor leak;
  trace([&](Tensor x) { return leak = x * 2; }, placeholder({}, f32));
  EXPECT_THAT(error_of([&] { (void)leak.item<float>(); }),
              AllOf(HasSubstr("that escaped from the function traced at error_words_test.cc:"),
                    Not(HasSubstr("cond("))));
}

}  // namespace
}  // namespace heddle
