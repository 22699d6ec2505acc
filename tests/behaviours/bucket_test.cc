// compile(fn, {.bucket = ..}): what is padded, what it costs, and what is no silent mistake.
#include "heddle/compile/bucket.h"

#include <cmath>
#include <numeric>
#include <thread>

#include "heddle/base/support_test.h"
#include "heddle/compile/compile.h"
#include "heddle/grad/grad.h"
#include "heddle/grad/vmap.h"
#include "heddle/numpy/manipulation.h"
#include "heddle/numpy/sequences.h"
#include "heddle/numpy/sorting.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/support_test.h"
#include "heddle/scan/function.h"
#include "heddle/scan/loops.h"
#include "heddle/scan/scan.h"
#include "heddle/testing.h"
#include "heddle/trace/devices/devices.h"
#include "heddle/trace/devices/mesh.h"
#include "heddle/trace/ops/contraction/contractions.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/rows.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

Tensor rows(int64_t count, int64_t columns = 2) {
  std::vector<float> values(static_cast<size_t>(count * columns));
  std::iota(values.begin(), values.end(), 1.0f);
  return array(values, {count, columns});
}

Tensor score(const Tensor& w, const Tensor& x) { return tanh(matmul(x, w)); }

Tensor masked_mean(const Tensor& x) {
  return sum(where(row_mask(x), x, 0)) / (valid_rows(x).astype(f32) * 2.0);
}

// ----- what it costs

TEST(Bucket, CompilesAFewSizesForAThousand) {
  const auto f = compile(score, {.bucket = {.arguments = {1}, .smallest = 1}});
  const Tensor w = array({1.0f, -0.5f});
  const Tensor all = rows(1000);
  std::vector<Tensor> parts;
  for (int64_t n = 1; n <= 1000; ++n) parts.push_back(rows(n));
  const std::vector<float> want = score(w, all).to_vector<float>();
  const auto first = effects_of([&] {
    for (const Tensor& x : parts) (void)f(w, x);
  });
  EXPECT_EQ(first.compiles, 11);
  EXPECT_EQ(first.traces, 22) << "each graph is traced for its bucket, and for one beside it";
  EXPECT_EQ(f.stats().graphs, 11);
  EXPECT_EQ(f.stats().rows, 500500);
  for (const int64_t n : {1, 2, 3, 17, 512, 513, 999}) {
    std::vector<float> have;
    const Tensor& x = parts[static_cast<size_t>(n - 1)];
    expect_nothing_behind_my_back([&] { (void)f(w, x); });
    have = f(w, x).to_vector<float>();
    ASSERT_EQ(have.size(), static_cast<size_t>(n));
    for (size_t i = 0; i < have.size(); ++i) EXPECT_NEAR(have[i], want[i], 1e-6) << n << " " << i;
  }
}

TEST(Bucket, CountsItsPadding) {
  const auto f = compile(exp, {.bucket = {.arguments = {0}}});
  (void)f(rows(11));
  (void)f(rows(16));
  (void)f(rows(3));
  EXPECT_EQ(f.stats().rows, 30);
  EXPECT_EQ(f.stats().padded_rows, 10);
  EXPECT_THAT(to_string(f.stats()), EndsWith(" ms, 30 rows and 10 of padding"));
  EXPECT_EQ(f.stats().graphs, 2);
}

TEST(Bucket, SizesAreWhatTheOptionsSay) {
  const auto sizes = [](Bucket bucket, std::initializer_list<int64_t> counts) {
    bucket.arguments = {0};
    const auto f = compile([](const Tensor& x) { return x * 2; }, {.bucket = bucket});
    std::vector<int64_t> out;
    for (int64_t n : counts) {
      EXPECT_EQ(f(rows(n)).dim(0), n);
      out.push_back(f.program().signature().arguments[0].shape.dimension(0));
    }
    return out;
  };
  EXPECT_THAT(sizes({}, {0, 1, 8, 9, 100}), ElementsAre(8, 8, 8, 16, 128));
  EXPECT_THAT(sizes({.smallest = 3, .largest = 20}, {1, 4, 13, 20}), ElementsAre(3, 6, 20, 20));
  EXPECT_THAT(sizes({.sizes = {5, 7, 40}}, {5, 6, 8}), ElementsAre(5, 7, 40));
}

// ----- values

struct Batch {
  Tensor x, ids, flags;
  static constexpr auto kFields =
      std::tuple(field("x", &Batch::x), field("ids", &Batch::ids), field("flags", &Batch::flags));
};

TEST(Bucket, EveryLeafOfAnArgumentHasRows) {
  const auto f = compile(
      [](const Batch& b, const Tensor& table) {
        return std::tuple(where(reshape(b.flags, {b.flags.dim(0), 1}), b.x, -b.x),
                          take(table, b.ids, 0), table * 2);
      },
      {.bucket = {.arguments = {0}}});
  const Batch batch{rows(3), array({2, 0, 1}), array({true, false, true})};
  // As many rows as the bucket: its type does not follow the call's.
  const Tensor table = rows(8, 1);
  const auto [signed_rows, taken, twice] = f(batch, table);
  EXPECT_THAT(signed_rows.to_vector<float>(), ElementsAre(1, 2, -3, -4, 5, 6));
  EXPECT_THAT(taken.to_vector<float>(), ElementsAre(3, 1, 2));
  EXPECT_EQ(twice.dim(0), 8);
}

TEST(Bucket, MasksGiveReductionsOfTheCallersRows) {
  const auto f = compile(masked_mean, {.bucket = {.arguments = {0}}});
  for (int64_t n : {1, 5, 8, 9, 31}) {
    const float want = static_cast<float>(2 * n + 1) / 2;
    EXPECT_FLOAT_EQ(f(rows(n)).item<float>(), want) << n;
    EXPECT_FLOAT_EQ(masked_mean(rows(n)).item<float>(), want) << "outside all rows are valid";
    EXPECT_FLOAT_EQ(compile(masked_mean)(rows(n)).item<float>(), want);
  }
  EXPECT_EQ(f.stats().graphs, 3);
}

TEST(Bucket, NoRowsAreRowsToo) {
  const auto f = compile([](const Tensor& x) { return std::pair(x + 1, valid_rows(x)); },
                         {.bucket = {.arguments = {0}, .repeat_last = true}});
  const auto [y, count] = f(zeros({0, 2}));
  EXPECT_EQ(y.shape(), Shape(f32, {0, 2}));
  EXPECT_EQ(count.item<int>(), 0);
}

TEST(Bucket, RowsAreFilledOrRepeated) {
  const auto whole = [](Bucket bucket, const Tensor& x) {
    bucket.arguments = {0};
    bucket.may_mix_rows = true;
    return compile([](const Tensor& t) { return sum(t, {.axes = {0}}); }, {.bucket = bucket})(x)
        .to_vector<double>();
  };
  EXPECT_THAT(whole({}, rows(3)), ElementsAre(9, 12));
  EXPECT_THAT(whole({.fill = 1}, rows(3)), ElementsAre(14, 17));
  EXPECT_THAT(whole({.repeat_last = true}, rows(3)), ElementsAre(34, 42));
  EXPECT_THAT(whole({.fill = -2}, array({int8_t{1}, int8_t{2}})), ElementsAre(-9));
  EXPECT_THAT(whole({.fill = 0.5}, rows(3).astype(bf16)), ElementsAre(11.5, 14.5));
}

TEST(Bucket, DerivativesGoInside) {
  const auto loss = [](const Tensor& w, const Tensor& x) { return masked_mean(square(x * w)); };
  const auto f = compile(value_and_grad(loss), {.bucket = {.arguments = {1}}});
  const Tensor w = scalar(3.0f), x = rows(5);
  const auto [value, slope] = f(w, x);
  EXPECT_FLOAT_EQ(value.item<float>(), loss(w, x).item<float>());
  EXPECT_FLOAT_EQ(slope.item<float>(), grad(loss)(w, x).item<float>());
}

TEST(Bucket, StepsOfLoopsMayAsk) {
  // The last state of the caller's rows: those behind them are passed over.
  const Function last("last", [](const Tensor& x) {
    const auto step = [](const Tensor& h, const std::pair<Tensor, Tensor>& at) {
      return std::pair(where(at.second, h * 0.5 + at.first, h), None{});
    };
    return scan(step, zeros({2}), std::pair(x, row_mask(x))).first;
  });
  const auto f = compile(last, {.bucket = {.arguments = {0}}});
  for (int64_t n : {3, 8, 11}) {
    EXPECT_EQ(f(rows(n)).to_vector<float>(), last(rows(n)).to_vector<float>()) << n;
  }
  EXPECT_EQ(compile(last)(rows(3)).to_vector<float>(), last(rows(3)).to_vector<float>());
}

TEST(Bucket, AreComparedWithoutPaddingWhereAsked) {
  // It asks for the mask, and divides by the size of the bucket.
  const auto wrong = compile(
      [](const Tensor& x) {
        return std::pair(x, sum(where(row_mask(x), x, 0)) / static_cast<double>(x.size()));
      },
      {.name = "wrong", .check = true, .bucket = {.arguments = {0}}});
  EXPECT_FLOAT_EQ(wrong(rows(8)).second.item<float>(), 8.5f) << "the bucket is full";
  EXPECT_THAT(error_of([&] { (void)wrong(rows(4)); }),
              AllOf(StartsWith("wrong: of 4 rows padded to 8, result[1] at 0 is 2.25, and 4.5 "
                               "without padding; use row_mask(x) and valid_rows(x) where rows "
                               "come together ["),
                    EndsWith(here())));
  const auto right = compile(masked_mean, {.check = true, .bucket = {.arguments = {0}}});
  EXPECT_FLOAT_EQ(right(rows(5)).item<float>(), 5.5f);
  EXPECT_FLOAT_EQ(right(rows(6)).item<float>(), 6.5f);
}

TEST(Bucket, BothPartsOfComplexNumbersAreCompared) {
  const auto wrong = compile(
      [](const Tensor& x) {
        const Tensor total = sum(where(row_mask(x), x, 0));
        return complex(total, total / static_cast<double>(x.size()));
      },
      {.name = "wrong", .check = true, .bucket = {.arguments = {0}}});
  EXPECT_THAT(error_of([&] { (void)wrong(rows(4)); }),
              HasSubstr(", the imaginary part of result at 0 is 2.25, and 4.5 without padding"));
}

// ----- inside of traces

TEST(Bucket, InATraceNothingIsPadded) {
  const auto f = compile(masked_mean, {.name = "f", .bucket = {.arguments = {0}}});
  EXPECT_FLOAT_EQ(f(rows(5)).item<float>(), 5.5f);
  const auto outer = trace([&](const Tensor& x) { return f(x) * 2; }, placeholder({5, 2}, f32));
  EXPECT_THAT(outer.hlo_text(), HasSubstr("f32[5,2]"));
  EXPECT_FLOAT_EQ(outer(rows(5)).item<float>(), 11.0f);
  EXPECT_EQ(f.stats().graphs, 2) << "its own, and the exact one of the trace";
  EXPECT_THAT(f.explain_miss(),
              AllOf(StartsWith("f: graph 2 "), HasSubstr("arg0 is f32[5,2]; in graph 1 ")));
  EXPECT_FLOAT_EQ(f(rows(6)).item<float>(), 6.5f);
  EXPECT_EQ(f.stats().graphs, 2);
  const Tensor lanes = stack({rows(5), rows(5) + 1});
  EXPECT_THAT(vmap(f)(lanes).to_vector<float>(), ElementsAre(5.5f, 6.5f));
  EXPECT_THAT(grad(f)(rows(2)).to_vector<float>(), ElementsAre(0.25f, 0.25f, 0.25f, 0.25f));
}

// An exact graph of a trace and one of another bucket's trace have equal types, and other masks.
TEST(Bucket, WhatABucketTracesIsOfThatBucketAlone) {
  const auto inner = compile(masked_mean);
  const Function named("named", masked_mean);
  EXPECT_FLOAT_EQ(inner(rows(8)).item<float>(), 8.5f);
  (void)trace([&](const Tensor& x) { return inner(x); }, placeholder({8, 2}, f32));
  const auto f = compile(
      [&](const Tensor& x) {
        const Tensor counted = fori_loop(
            0, 2, [&](const Tensor&, const Tensor& s) { return s + valid_rows(x).astype(f32); },
            0.0f);
        return std::tuple(inner(x), named(x), counted);
      },
      {.bucket = {.arguments = {0}}});
  for (int64_t n : {5, 6, 8}) {
    const auto [a, b, counted] = f(rows(n));
    EXPECT_FLOAT_EQ(a.item<float>(), static_cast<float>(2 * n + 1) / 2);
    EXPECT_FLOAT_EQ(b.item<float>(), static_cast<float>(2 * n + 1) / 2);
    EXPECT_FLOAT_EQ(counted.item<float>(), static_cast<float>(2 * n));
  }
  EXPECT_FLOAT_EQ(inner(rows(8)).item<float>(), 8.5f) << "not that of the bucket";
}

TEST(Bucket, LowerGivesThePaddedProgram) {
  const auto f = compile(score, {.bucket = {.arguments = {1}}});
  const auto program = f.lower(ones({2}), placeholder({11, 2}, f32));
  const auto& arguments = program.signature().arguments;
  ASSERT_EQ(arguments.size(), 3u);
  EXPECT_EQ(arguments[1].shape, Shape(f32, {16, 2}));
  EXPECT_EQ(arguments[2].shape, Shape(s32, {}));
  EXPECT_EQ(f.explain(ones({2}), ones({12, 2})), "");
}

// ----- what is said

TEST(Bucket, MissesSayWhatWasPadded) {
  const auto f = compile(score, {.name = "score", .bucket = {.arguments = {1}}});
  const Tensor w = ones({2});
  (void)f(w, rows(11));
  EXPECT_EQ(f.explain(w, rows(20)),
            "score: arg1 is f32[20,2] padded to f32[32,2]; in graph 1 it is f32[16,2]");
  EXPECT_EQ(f.explain(w, rows(9)), "");
}

// The error of fn with a bucket of its first argument, at 5 rows; "no error" where it runs.
template <class Fn>
std::string error_with_bucket(const Fn& fn, Bucket bucket = {}) {
  bucket.arguments = {0};
  const auto f = compile(fn, {.name = "f", .bucket = bucket});
  return error_of([&] { (void)f(rows(5)); });
}

TEST(BucketMixes, AreErrorsThatNameTheLine) {
  const int line = __LINE__ + 1;
  const std::string error = error_with_bucket([](const Tensor& x) { return mean(x); });
  EXPECT_THAT(
      error,
      AllOf(StartsWith(base::cat("f: its rows are padded to a bucket of 8, and mean f32[] at "
                                 "bucket_test.cc:",
                                 line,
                                 " goes over the rows; ask row_mask(x) or "
                                 "valid_rows(x) which rows are the caller's, or, where the padding "
                                 "is right for that, set bucket.may_mix_rows [bucket_test.cc:"))));
}

TEST(BucketMixes, AreNamedAsTheUserCallsThem) {
  const auto expect_name = [](const std::string& name, auto fn) {
    EXPECT_THAT(error_with_bucket(fn), HasSubstr(", and " + name + " "));
  };
  expect_name("max", [](const Tensor& x) { return max(x); });
  expect_name("mean", [](const Tensor& x) { return mean(x); });
  expect_name("roll", [](const Tensor& x) { return roll(x, 1, 0); });
  expect_name("all", [](const Tensor& x) { return all(x > 0); });
  expect_name("any", [](const Tensor& x) { return any(x > 0); });
  expect_name("reduce", [](const Tensor& x) {
    return reduce(x.astype(s32), -1, [](Tensor a, Tensor b) { return a & b; }, {0});
  });
  expect_name("flip", [](const Tensor& x) { return flip(x, 0); });
  expect_name("concat", [](const Tensor& x) { return concat({x, x}, 0); });
}

TEST(BucketMixes, WhatSeesRowsBehindIsAnError) {
  const char* const over = " goes over the rows";
  const auto error = [](auto fn) { return error_with_bucket(fn); };
  EXPECT_THAT(error([](const Tensor& x) { return x - max(x, {.axes = {0}}); }), HasSubstr(over));
  EXPECT_THAT(error([](const Tensor& x) { return sort(x, 0); }), HasSubstr(over));
  EXPECT_THAT(error([](const Tensor& x) { return matmul(x.T(), x); }), HasSubstr(over));
  EXPECT_THAT(error([](const Tensor& x) { return flip(x, 0); }), HasSubstr(over));
  EXPECT_THAT(error([](const Tensor& x) { return x[-1]; }), HasSubstr(over));
  EXPECT_THAT(error([](const Tensor& x) { return x + roll(x, 1, 0); }), HasSubstr("rows"));
  EXPECT_THAT(error([](const Tensor& x) { return reshape(x, {-1}) * 1; }),
              HasSubstr("reshape f32[16] at"));
  EXPECT_THAT(error([](const Tensor& x) { return sum(arange(x.dim(0)).astype(f32)); }),
              HasSubstr(over));
  EXPECT_THAT(
      error([](const Tensor& x) {
        return scan([](const Tensor& h, const Tensor& r) { return std::pair(h + r, None{}); },
                    zeros({2}), x)
            .first;
      }),
      HasSubstr("scan"));
}

TEST(BucketMixes, TheNumberOfRowsIsNoConstant) {
  EXPECT_THAT(error_with_bucket([](const Tensor& x) { return x / static_cast<double>(x.dim(0)); }),
              HasSubstr("constant f32[] at bucket_test.cc"));
  EXPECT_THAT(error_with_bucket([](const Tensor& x) {
                Tensor y = x;
                for (int64_t i = 0; i < x.dim(0); ++i) y = y * 0.5;
                return y;
              }),
              HasSubstr("computes something else for 5 rows"));
}

TEST(BucketMixes, WhatKeepsRowsIsNone) {
  const auto runs = [](auto fn) { EXPECT_EQ(error_with_bucket(fn), "no error"); };
  const Tensor w = ones({2, 3}), table = rows(40);
  runs([&](const Tensor& x) { return matmul(x, w) + arange(3).astype(f32); });
  runs([&](const Tensor& x) { return sum(x, {.axes = {1}, .keep_dims = true}) * x; });
  runs([&](const Tensor& x) { return reshape(x, {x.dim(0), 1, 2})[{Slice{}, 0, 1}]; });
  runs([&](const Tensor& x) { return x + table[Slice{0, x.dim(0)}]; });
  runs([&](const Tensor& x) { return x * reshape(arange(x.dim(0)).astype(f32), {-1, 1}); });
  runs([&](const Tensor& x) { return concat({x, x}, 1); });
  runs([&](const Tensor& x) { return sort(x, 1); });
  runs([&](const Tensor& x) { return softmax(x, 1); });
  runs([&](const Tensor& x) {
    return log_softmax(x, 1) + logsumexp(x, {.axes = {1}, .keep_dims = true});
  });
  runs([&](const Tensor& x) { return stop_gradient(x) + bitcast_convert(x, u32).astype(f32); });
  runs([&](const Tensor& x) { return map([](const Tensor& row) { return row / sum(row); }, x); });
  runs([&](const Tensor& x) { return vmap([&](const Tensor& row) { return dot(row, row); })(x); });
  // Row i of a scan that begins with the first has seen none behind it.
  runs([&](const Tensor& x) {
    return scan([](const Tensor& h, const Tensor& r) { return std::pair(h + r, h); }, zeros({2}), x)
        .second;
  });
  runs([&](const Tensor& x) {
    return scan([&](const Tensor& h, None) { return std::pair(tanh(h) * 2, None{}); }, x, None{},
                {.length = 3})
        .first;
  });
}

// To ask once is no promise for the rest.
TEST(BucketMixes, WithoutAMaskAreErrorsBesideThoseWithOne) {
  const auto two = [](const Tensor& x) { return std::pair(masked_mean(x), mean(x)); };
  EXPECT_THAT(error_with_bucket(two),
              HasSubstr(" goes over the rows, and what it takes has no mask; ask row_mask(x) or "));
  EXPECT_EQ(error_with_bucket(two, {.may_mix_rows = true}), "no error");
}

TEST(BucketMixes, MayBeAllowed) {
  EXPECT_EQ(error_with_bucket([](const Tensor& x) { return sum(x); }, {.may_mix_rows = true}),
            "no error");
}

// A branch or a number of C++ goes by the padded rows, and eagerly by the caller's.
TEST(BucketErrors, OfWhatCppMakesOfTheNumberOfRows) {
  const auto branch = compile([](const Tensor& x) { return x.dim(0) > 4 ? x * 2 : x; },
                              {.name = "f", .bucket = {.arguments = {0}}});
  EXPECT_THAT(error_of([&] { (void)branch(ones({3})); }), StartsWith("f: its rows are padded to a "
                                                                     "bucket of 8, and "));
  const auto number = compile([](const Tensor& x) { return x + static_cast<double>(x.dim(0) % 2); },
                              {.name = "f", .bucket = {.arguments = {0}}});
  EXPECT_THAT(error_of([&] { (void)number(ones({3})); }), StartsWith("f: its rows are padded to a "
                                                                     "bucket of 8, and "));
  EXPECT_THAT(compile([](const Tensor& x) { return x.dim(0) > 0 ? x * 2 : x; },
                      {.bucket = {.arguments = {0}}})(ones({3}))
                  .to_vector<float>(),
              ElementsAre(2, 2, 2));
}

TEST(BucketErrors, OfResults) {
  EXPECT_THAT(
      error_with_bucket([](const Tensor& x) { return std::pair(x, x.T()); }),
      StartsWith(
          "f: result[1] is f32[2,8] in the bucket of 8 rows and f32[2,5] of 5 rows; a result "
          "has the rows as axis 0, or nothing of them ["));
}

TEST(BucketErrors, OfTheOtherTrace) {
  const Tensor table = rows(8);
  EXPECT_THAT(
      error_with_bucket([&](const Tensor& x) { return x + table; }),
      StartsWith("f: traced for 5 rows beside 8, which tells what follows the rows: add: "));
}

TEST(BucketErrors, OfTheTrace) {
  const auto f = compile([](const Tensor& x, const Tensor& y) { return x + y; },
                         {.name = "f", .bucket = {.arguments = {0}}});
  EXPECT_THAT(error_of([&] { (void)f(rows(3), rows(3)); }),
              StartsWith("f: traced for a bucket of 8 rows: add: operands are f32[8,2] and "
                         "f32[3,2]; "));
  // The line once.
  EXPECT_THAT(error_of([&] { (void)f(rows(3), rows(3)); }),
              Not(ContainsRegex("\\[bucket_test.cc:[0-9]+\\] \\[")));
}

TEST(BucketErrors, OfFills) {
  const auto error = [](double fill, const Tensor& x) {
    const auto f = compile([](const Tensor& t) { return t; },
                           {.name = "f", .bucket = {.arguments = {0}, .fill = fill}});
    return error_of([&] { (void)f(x); });
  };
  EXPECT_THAT(error(-1, array({uint8_t{1}})),
              StartsWith("f: bucket.fill is -1, which is no u8 of arg0; give it one, or "
                         "repeat_last ["));
  EXPECT_THAT(error(0.5, array({1, 2})), HasSubstr("is 0.5, which is no s32 of arg0"));
  EXPECT_THAT(error(2, array({true})), HasSubstr("is 2, which is no pred of arg0"));
  EXPECT_EQ(error(0.1, rows(2).astype(bf16)), "no error") << "rounded, as numbers are";
}

TEST(BucketErrors, OfTooManyGraphs) {
  const auto f = compile([](const Tensor& x) { return x + 1; },
                         {.name = "f", .max_graphs = 1, .bucket = {.arguments = {0}}});
  (void)f(rows(3));
  EXPECT_THAT(error_of([&] { (void)f(rows(9)); }),
              StartsWith("f: this call needs a graph more, and max_graphs is 1: arg0 is f32[9,2] "
                         "padded to f32[16,2]; in graph 1 it is f32[8,2]; give its bucket fewer "
                         "sizes, pass a Static"));
}

TEST(BucketErrors, OfArguments) {
  const auto f = compile([](const Tensor& x, const Tensor& y) { return std::pair(x, y); },
                         {.name = "f", .bucket = {.arguments = {0, 1}, .largest = 64}});
  EXPECT_THAT(error_of([&] { (void)f(rows(5), rows(6)); }),
              AllOf(StartsWith("f: arg1 is f32[6,2], and arg0 has 5 rows; all in bucket.arguments "
                               "must have as many"),
                    EndsWith(here())));
  EXPECT_THAT(error_of([&] { (void)f(rows(5), scalar(1.0f)); }),
              StartsWith("f: arg1 is f32[]; rows are axis 0, and it has none; name the parts that "
                         "have rows in bucket.arguments ["));
  EXPECT_THAT(error_of([&] { (void)f(rows(65), rows(65)); }),
              StartsWith("f: the call has 65 rows, and the largest bucket has 64; give compile a "
                         "larger bucket, or call it with parts ["));
  EXPECT_THAT(error_of([&] { (void)f(rows(5), Tensor()); }), StartsWith("f: arg1: operand has no"));
  EXPECT_THAT(error_of([&] { (void)f(rows(5), placeholder({5, 2}, f32)); }), HasSubstr("arg1"));
  const Mesh mesh({{"data", 4}}, runtime::four_devices());
  EXPECT_THAT(error_of([&] {
                const Tensor cut = placeholder({8}, f32, {.sharding = Sharding(mesh, {"data"})});
                (void)f(cut, cut);
              }),
              StartsWith("f: arg0 is f32[8] with the sharding {devices=[4]<=[4]}; what has rows "
                         "must not be sharded: pad it yourself ["));
}

TEST(BucketErrors, OfOptions) {
  const auto error = [](FunctionOptions options) {
    return error_of(
        [&] { (void)compile([](const Tensor& x) { return x; }, std::move(options))(rows(3)); });
  };
  EXPECT_THAT(error({.name = "f", .bucket = {.arguments = {2}}}),
              StartsWith("compile: bucket has argument 2; f has 1, counted from 0 ["));
  EXPECT_THAT(error({.name = "f", .bucket = {.arguments = {"y"}}}),
              StartsWith("compile: bucket has \"y\"; f has no such argument, it has arg0 ["));
  EXPECT_THAT(error({.name = "f", .donate = {0}, .bucket = {.arguments = {0}}}),
              StartsWith("f: arg0 is donated and has rows, of which the run takes a copy; leave it "
                         "out of .donate ["));
  EXPECT_THAT(error({.bucket = {.smallest = 8}}),  // as many as there are without it
              StartsWith("compile: bucket has no arguments; write which have rows: "));
  EXPECT_THAT(error({.bucket = {.smallest = 4}}),
              StartsWith("compile: bucket has no arguments; write which have rows: "));
  EXPECT_THAT(error({.bucket = {.arguments = {0}, .smallest = 0}}),
              StartsWith("compile: bucket.smallest is 0; it must be at least 1 ["));
  EXPECT_THAT(error({.bucket = {.arguments = {0}, .smallest = 9, .largest = 3}}),
              StartsWith("compile: bucket.largest is 3; it must be at least bucket.smallest, 9 ["));
  EXPECT_THAT(error({.bucket = {.arguments = {0}, .sizes = {4, 4}}}),
              StartsWith("compile: bucket.sizes[1] is 4; it must be greater than 4: "));
  EXPECT_THAT(error({.bucket = {.arguments = {0}, .smallest = 4, .sizes = {4}}}),
              StartsWith("compile: bucket has sizes, and a smallest or a largest one; "));
  EXPECT_THAT(error({.bucket = {.arguments = {0}, .fill = 1, .repeat_last = true}}),
              StartsWith("compile: bucket has fill = 1 and repeat_last; "));
}

TEST(RowMask, NeedsTheRowsOfTheBucket) {
  EXPECT_THAT(error_with_bucket([](const Tensor& x) { return where(row_mask(ones({3})), 1.0, x); }),
              StartsWith("f: traced for a bucket of 8 rows: row_mask: x is f32[3], and the bucket "
                         "has 8 rows; give it a tensor with all of them [bucket_test.cc:"));
  EXPECT_THAT(error_of([] { (void)valid_rows(scalar(1.0f)); }),
              StartsWith("valid_rows: x is f32[]; the rows are its first axis, and it has none ["));
  EXPECT_EQ(row_mask(ones({3, 2})).shape(), Shape(pred, {3, 1}));
  EXPECT_EQ(valid_rows(ones({3, 2})).item<int>(), 3);
}

// ----- where it runs

TEST(Bucket, RunsWhereMemoryIsPending) {
  const runtime::DefaultDevice device(*runtime::four_devices()[1]);
  const auto f = compile(masked_mean, {.bucket = {.arguments = {0}}});
  EXPECT_FLOAT_EQ(f(rows(5)).item<float>(), 5.5f);
  const auto id = compile([](const Tensor& x) { return x * 2; }, {.bucket = {.arguments = {0}}});
  EXPECT_THAT(id(rows(2) + 1).to_vector<float>(), ElementsAre(4, 6, 8, 10));
  EXPECT_EQ(device_of(id(rows(2))).name(), runtime::four_devices()[1]->name());
}

TEST(Bucket, ThreadsShareItsGraphs) {
  const auto f = compile(masked_mean, {.bucket = {.arguments = {0}, .smallest = 4}});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&f, t] {
      for (int64_t n = 1 + t; n < 40; n += 3)
        EXPECT_FLOAT_EQ(f(rows(n)).item<float>(), static_cast<float>(2 * n + 1) / 2);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(f.stats().graphs, 5);
}

}  // namespace
}  // namespace heddle
