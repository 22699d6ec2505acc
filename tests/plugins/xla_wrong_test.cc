// Where XLA's CPU is wrong (docs/conformance.md): the evaluator gives what HLO defines, and where
// the plugin is there, the program as it is written for it gives that too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/pjrt/xla_cpu_library_test.h"
#include "heddle/tools/conformance/against.h"
#include "heddle/tools/conformance/backend.h"
#include "heddle/tools/conformance/compare.h"

namespace heddle {
namespace {

runtime::Device* xla() {
  static runtime::Backend* backend =
      xla_cpu_library().empty()
          ? nullptr
          : pjrt::make_backend("xla-cpu", {.library = xla_cpu_library()})->release();
  return backend == nullptr ? nullptr : backend->devices()[0].get();
}

Literal s32s(std::vector<int32_t> values) {
  return Literal::from<int32_t>(Shape(s32, {static_cast<int64_t>(values.size())}), values);
}

Literal evaluated(const std::string& text, const std::vector<Literal>& arguments) {
  return interpreter::evaluate(hlo::parse_text(text).value(), arguments).value();
}

Literal on_xla(const std::string& text, const std::vector<Literal>& arguments) {
  return conformance::run_on_device(*xla(), hlo::parse_text(text).value(), arguments).value();
}

// Expects `want` of the evaluator, and of XLA where it is there. `what`: for the failure's text.
void expect_of_both(const std::string& program, const std::vector<Literal>& arguments,
                    const Literal& want, const std::string& what = "") {
  EXPECT_EQ(evaluated(program, arguments), want) << program << what;
  if (xla() == nullptr) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
  EXPECT_EQ(on_xla(program, arguments), want) << program << what;
}

// x^y modulo 2^32.
uint32_t power_of(uint32_t x, int y) {
  uint32_t power = 1;
  for (int i = 0; i < y; ++i) power *= x;
  return power;
}

const std::vector<Literal>& starts(int32_t inner, int32_t outer) {
  static std::vector<Literal> out;
  out = {Literal::scalar(s32, int64_t{inner}), Literal::scalar(s32, int64_t{outer})};
  return out;
}

constexpr char kSliceOfSlice[] =
    "ENTRY main { x = s32[5] iota(), iota_dimension=0 i = s32[] parameter(0) j = s32[] "
    "parameter(1) "
    "a = s32[3] dynamic-slice(x, i), dynamic_slice_sizes={3} "
    "ROOT b = s32[2] dynamic-slice(a, j), dynamic_slice_sizes={2} }";

TEST(XlaIsWrong, AboutComplexNumbersAsOthersUnlessTheyAreParted) {
  using Complex = std::complex<float>;
  const std::vector<Complex> values = {{0, 1}, {-2, 0}, {INFINITY, 0}, {300, 0}, {0, 0}, {NAN, 0}};
  const Literal z = Literal::from<Complex>(Shape(c64, {6}), values);
  const auto converted = [](const std::string& type) {
    return "ENTRY main { z = c64[6] parameter(0) ROOT r = " + type + "[6] convert(z) }";
  };
  const Literal truths =
      Literal::from<bool>(Shape(pred, {6}), {true, true, true, true, false, true});
  expect_of_both(converted("pred"), {z}, truths);
  for (const char* type : {"u8", "s8", "s32", "s64", "u32"})
    expect_of_both(converted(type), {z}, evaluated(converted(type), {z}), type);
}

TEST(XlaIsWrong, AboutPowersOfIntegersUnlessExponentsAreCut) {
  const std::vector<int32_t> x = {0, 2, 3, -3, 1, -1, 7, -1, 2, 0},
                             y = {64, 64, 65, 127, 4096, 65537, 0, -3, -1, 0};
  expect_of_both(
      "ENTRY main { x = s32[10] parameter(0) y = s32[10] parameter(1) "
      "ROOT r = s32[10] power(x, y) }",
      {s32s(x), s32s(y)},
      s32s({0, 0, static_cast<int32_t>(power_of(3, 65)),
            static_cast<int32_t>(power_of(static_cast<uint32_t>(-3), 127)), 1, -1, 1, -1, 0, 1}));
}

// Written for plugins so that XLA is right too.
TEST(XlaIsWrong, AboutSlicesOfSlicesUnlessTheirStartsAreClamped) {
  expect_of_both(kSliceOfSlice, starts(4, 0), s32s({2, 3}), "from 4, 0");
  expect_of_both(kSliceOfSlice, starts(1, 5), s32s({2, 3}), "from 1, 5");
  expect_of_both(kSliceOfSlice, starts(-2, 1), s32s({1, 2}), "from -2, 1");
}

// A gather of one index is a slice to it.
TEST(XlaIsWrong, AboutGathersOfOneIndexAsAboutSlices) {
  const std::string start =
      "ENTRY main { x = s32[5] iota(), iota_dimension=0 i = s32[] parameter(0) j = s32[] "
      "parameter(1) is = s32[1] reshape(i) js = s32[1] reshape(j) ";
  const std::string as_gather =
      ", offset_dims={0}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=0, "
      "slice_sizes={";
  for (const bool gathers_inner : {true, false}) {
    for (const bool gathers_outer : {true, false}) {
      const std::string program =
          base::cat(start, "a = s32[3] ",
                    gathers_inner ? base::cat("gather(x, is)", as_gather, "3}")
                                  : "dynamic-slice(x, i), dynamic_slice_sizes={3}",
                    " ROOT b = s32[2] ",
                    gathers_outer ? base::cat("gather(a, js)", as_gather, "2}")
                                  : "dynamic-slice(a, j), dynamic_slice_sizes={2}",
                    " }");
      for (const int32_t inner : {-2, 1, 4}) {
        for (const int32_t outer : {-1, 0, 1, 5}) {
          const Literal want = evaluated(program, starts(inner, outer));
          if (xla() == nullptr) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
          EXPECT_EQ(on_xla(program, starts(inner, outer)), want) << inner << " " << outer << "\n"
                                                                 << program;
        }
      }
    }
  }
}

// It would end the process: bounds are broadcast for plugins.
TEST(XlaIsWrong, AboutClampsOfReshapesAndTransposesUnlessTheirBoundsAreArrays) {
  const Literal x = Literal::from<float>(Shape(f32, {2, 2}), {-3, 0.5, 2, -1});
  for (const char* moved : {"f32[4] reshape(x)", "f32[2,2] transpose(x), dimensions={1,0}"}) {
    const std::string text = moved;
    const std::string type = text.substr(0, text.find(' '));
    const std::string program = base::cat(
        "ENTRY main { x = f32[2,2] parameter(0) low = f32[] constant(-1) high = f32[] "
        "constant(1) y = ",
        text, " ROOT c = ", type, " clamp(low, y, high) }");
    const Literal want = evaluated(program, {x});
    if (xla() == nullptr) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
    EXPECT_EQ(on_xla(program, {x}), want) << moved;
  }
}

// A function that XLA has as an opcode and does not compile, and the most units in the last place
// that its expansion is off by there: of real numbers, and of the larger part of complex ones.
struct Function {
  const char* name;
  double real, complex;
};

constexpr Function kFunctions[] = {
    {"acos", 1, 2},  {"acosh", 1, 2}, {"asin", 1, 2}, {"asinh", 1, 2}, {"atan", 0, 2},
    {"atanh", 1, 2}, {"cosh", 2, 3},  {"sinh", 2, 3}, {"cbrt", 1, 2},
};

// Parts -7 .. 20 with the cuts and what is near 0 and 1.
Literal arguments_of(DType dtype) {
  const double numbers[] = {0.5, -0.25, 1, 0, 1e-3, -0.75, 3, 1e-6, 20, -7, 0.1, 2, -1.5, 0.9};
  const DType part = real_part(dtype);
  std::vector<double> parts;
  for (const double a : numbers) {
    if (!is_complex(dtype)) parts.push_back(a);
    for (const double b : numbers)
      if (is_complex(dtype)) parts.insert(parts.end(), {a, b});
  }
  Literal x(Shape(dtype, {static_cast<int64_t>(parts.size()) / (is_complex(dtype) ? 2 : 1)}));
  std::byte* to = x.mutable_bytes();
  for (size_t i = 0; i < parts.size(); ++i, to += storage_bytes(part))
    std::copy_n(Literal::scalar(part, parts[i]).bytes(), storage_bytes(part), to);
  return x;
}

template <class T>
double worst_ulps(const Literal& got, const Literal& want) {
  const T* g = reinterpret_cast<const T*>(got.bytes());
  const T* w = reinterpret_cast<const T*>(want.bytes());
  const bool pairs = is_complex(want.shape().dtype());
  double worst = 0;
  for (size_t i = 0; i < static_cast<size_t>(want.byte_size()) / sizeof(T); ++i) {
    if (g[i] == w[i] || (std::isnan(g[i]) && std::isnan(w[i]))) continue;
    const T size = std::max(std::abs(w[i]), pairs ? std::abs(w[i ^ 1]) : T(0));
    const T unit = std::nextafter(size, std::numeric_limits<T>::infinity()) - size;
    const double off = static_cast<double>(std::abs(g[i] - w[i]) / unit);
    worst = std::max(worst, std::isnan(off) ? INFINITY : off);
  }
  return worst;
}

TEST(XlaIsWrong, AboutFunctionsUnlessTheyAreWrittenByOthers) {
  if (xla() == nullptr) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
  for (const Function& function : kFunctions) {
    for (const DType dtype : {f32, f64, c64, c128}) {
      const Literal x = arguments_of(dtype);
      const std::string program =
          base::cat("ENTRY main { x = ", x.shape(), " parameter(0) ROOT y = ", x.shape(), " ",
                    function.name, "(x) }");
      const Literal got = on_xla(program, {x}), want = evaluated(program, {x});
      const double off =
          real_part(dtype) == f32 ? worst_ulps<float>(got, want) : worst_ulps<double>(got, want);
      EXPECT_LE(off, is_complex(dtype) ? function.complex : function.real) << program;
    }
  }
}

// Narrow types are computed in f32, and rounded as the evaluator's.
TEST(XlaIsWrong, AboutFunctionsOfNarrowTypesUnlessTheyAreWrittenByOthers) {
  if (xla() == nullptr) GTEST_SKIP() << "no plugin: ./dev setup-plugin xla-cpu";
  for (const Function& function : kFunctions) {
    for (const DType dtype : {bf16, f16}) {
      const Literal x = arguments_of(dtype);
      const std::string program =
          base::cat("ENTRY main { x = ", x.shape(), " parameter(0) ROOT y = ", x.shape(), " ",
                    function.name, "(x) }");
      const Literal want = evaluated(program, {x});
      const conformance::Tolerance allowed =
          conformance::tolerance_of(hlo::parse_text(program).value(), want);
      EXPECT_EQ(conformance::difference(on_xla(program, {x}), want, {&allowed, 1}), "") << program;
    }
  }
}

constexpr char kReduceOfOne[] =
    "two { a = s32[] parameter(0) b = s32[] parameter(1) x = s32[] parameter(2) y = s32[] "
    "parameter(3) m = s32[] maximum(a, x) n = s32[] add(b, y) ROOT t = (s32[], s32[]) tuple(m, n) "
    "} "
    "ENTRY main { x = s32[3,1] parameter(0) i = s32[] constant(4) z = s32[] constant(0) "
    "r = (s32[3], s32[3]) reduce(x, x, i, z), dimensions={1}, to_apply=two "
    "ROOT m = s32[3] get-tuple-element(r), index=0 }";

// Over one element XLA drops the start, and of a sum over more than 32 it takes it more than once.
TEST(XlaIsWrong, AboutStartsOfReductionsUnlessTheyAreAppliedBehindThem) {
  const Literal one = Literal::from<int32_t>(Shape(s32, {3, 1}), {0, 1, 9});
  expect_of_both(kReduceOfOne, {one}, s32s({4, 4, 9}));
  const auto sum = [](const std::string& type, const std::string& reduction) {
    return base::cat(
        "f { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, b) } ENTRY main { "
        "x = ",
        type, " parameter(0) i = s32[] constant(7) ROOT r = ", reduction, ", to_apply=f }");
  };
  expect_of_both(sum("s32[3,1]", "s32[3] reduce(x, i), dimensions={1}"), {one}, s32s({7, 8, 16}));
  const Literal ones = s32s(std::vector<int32_t>(100, 1));
  expect_of_both(sum("s32[100]", "s32[] reduce(x, i), dimensions={0}"), {ones},
                 Literal::scalar(s32, int64_t{107}));
  expect_of_both(sum("s32[100]", "s32[1] reduce-window(x, i), window={size=100}"), {ones},
                 s32s({107}));
}

// f(a, b) = a + b + 1 of any type, from 7.
std::string one_more(const std::string& type, const std::string& shape, const std::string& rest) {
  return base::cat("f { a = ", type, "[] parameter(0) b = ", type, "[] parameter(1) o = ", type,
                   "[] constant(1) d = ", type, "[] add(a, b) ROOT c = ", type,
                   "[] add(d, o) } ENTRY main { x = ", type, shape, " parameter(0) i = ", type,
                   "[] constant(7) ", rest, ", to_apply=f }");
}

// A function that is no single op: a reduction of one array over more than 32 elements, and one of
// a reduction, which becomes one with it.
TEST(XlaIsWrong, AboutStartsOfOtherFunctionsUnlessTwoArraysAreReduced) {
  const Literal ones = s32s(std::vector<int32_t>(100, 1));
  const Literal floats = Literal::from<float>(Shape(f32, {100}), std::vector<float>(100, 1));
  expect_of_both(one_more("s32", "[100]", "ROOT r = s32[] reduce(x, i), dimensions={0}"), {ones},
                 Literal::scalar(s32, int64_t{207}));
  expect_of_both(one_more("f32", "[100]", "ROOT r = f32[] reduce(x, i), dimensions={0}"), {floats},
                 Literal::scalar(f32, 207.0));
  expect_of_both(one_more("s32", "[100]", "ROOT r = s32[1] reduce-window(x, i), window={size=100}"),
                 {ones}, s32s({207}));
  expect_of_both(one_more("s32", "[100]",
                          "y = s32[20,5] reshape(x) q = s32[20] reduce(y, i), dimensions={1}, "
                          "to_apply=f ROOT r = s32[] reduce(q, i), dimensions={0}"),
                 {ones}, Literal::scalar(s32, int64_t{20 * (7 + 10) + 20 + 7}));
}

// It cuts running reductions into blocks of 16, each with a start.
TEST(XlaIsWrong, AboutStartsOfRunningReductionsUnlessTheyAreMaps) {
  const Literal ones = s32s(std::vector<int32_t>(100, 1));
  std::vector<int32_t> up, down;
  for (int32_t i = 1; i <= 100; ++i) {
    up.push_back(7 + 2 * i);
    down.push_back(7 + 2 * (101 - i));
  }
  const auto along = [](const std::string& padding) {
    return one_more(
        "s32", "[100]",
        base::cat("ROOT r = s32[100] reduce-window(x, i), window={size=100 pad=", padding, "}"));
  };
  expect_of_both(along("99_0"), {ones}, s32s(up));
  expect_of_both(along("0_99"), {ones}, s32s(down));
}

// Of several arrays over more than 256 elements it ends the process, whatever the start.
TEST(XlaIsWrong, AboutRunningReductionsOfSeveralArraysUnlessTheyAreMaps) {
  const auto program = [](int size) {
    const std::string type = base::cat("s32[", size, "]");
    return base::cat(
        "both { a = s32[] parameter(0) b = s32[] parameter(1) x = s32[] parameter(2) y = s32[] "
        "parameter(3) m = s32[] add(a, x) n = s32[] maximum(b, y) ROOT t = (s32[], s32[]) tuple(m, "
        "n) } ENTRY main { x = ",
        type, " parameter(0) i = s32[] constant(0) r = (", type, ", ", type,
        ") reduce-window(x, x, i, i), window={size=", size, " pad=", size - 1,
        "_0}, to_apply=both ROOT s = ", type, " get-tuple-element(r), index=0 }");
  };
  for (const int size : {100, 300}) {
    std::vector<int32_t> want(static_cast<size_t>(size));
    for (int32_t i = 0; i < size; ++i) want[static_cast<size_t>(i)] = i + 1;
    expect_of_both(program(size), {s32s(std::vector<int32_t>(want.size(), 1))}, s32s(want));
  }
}

// XLA writes in place, and reads elements that it has written, once a reshape of the result is in
// the same kernel.
constexpr char kUpdateByItself[] =
    "ENTRY main { x = s32[2,4] parameter(0) i = s32[] parameter(1) j = s32[] parameter(2) "
    "d = s32[2,3] PART "
    "u = s32[2,4] dynamic-update-slice(x, d, i, j) "
    "ROOT b = s32[1,2,4] MOVED }";

TEST(XlaIsWrong, AboutAnUpdateByAPartOfTheSameArrayUnlessTheyAreKeptApart) {
  const std::vector<Literal> arguments = {
      Literal::from<int32_t>(Shape(s32, {2, 4}), {5, 6, 7, 8, 1, 2, 3, 4}),
      Literal::scalar(s32, int64_t{0}), Literal::scalar(s32, int64_t{1})};
  const Literal right = Literal::from<int32_t>(Shape(s32, {1, 2, 4}), {5, 5, 6, 7, 1, 1, 2, 3});
  const auto with = [](std::string text, const std::string& word, const std::string& by) {
    return text.replace(text.find(word), word.size(), by);
  };
  for (const char* part :
       {"dynamic-slice(x, i, i), dynamic_slice_sizes={2,3}", "slice(x), slice={[0:2],[0:3]}"}) {
    for (const char* moved : {"reshape(u)", "broadcast(u), dimensions={1,2}"}) {
      const std::string program = with(with(kUpdateByItself, "PART", part), "MOVED", moved);
      expect_of_both(program, arguments, right);
    }
  }
}

constexpr char kSetAndSum[] =
    "set { a = s32[] parameter(0) ROOT b = s32[] parameter(1) } "
    "sum { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, b) } ";

// A scatter of one index is such an update to it.
TEST(XlaIsWrong, AboutAScatterOfOneIndexByAPartOfTheSameArrayUnlessTheyAreKeptApart) {
  const auto block = [](const std::string& index, const std::string& function) {
    return base::cat(kSetAndSum, "ENTRY main { x = s32[2,4] parameter(0) i = s32[2] ", index,
                     " d = s32[2,3] slice(x), slice={[0:2],[0:3]} u = s32[2,4] scatter(x, i, d), "
                     "update_window_dims={0,1}, inserted_window_dims={}, "
                     "scatter_dims_to_operand_dims={0,1}, index_vector_dim=0, to_apply=",
                     function, " ROOT r = s32[1,2,4] reshape(u) }");
  };
  const Literal x = Literal::from<int32_t>(Shape(s32, {2, 4}), {5, 6, 7, 8, 1, 2, 3, 4});
  const Literal m = Literal::from<int32_t>(Shape(s32, {4, 4}),
                                           {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  const Literal set = Literal::from<int32_t>(Shape(s32, {1, 2, 4}), {5, 5, 6, 7, 1, 1, 2, 3});
  const Literal sum = Literal::from<int32_t>(Shape(s32, {1, 2, 4}), {5, 11, 13, 15, 1, 3, 5, 7});
  // What m.at({i}).set(m[{.., 0}]) becomes.
  const std::string row = base::cat(
      kSetAndSum,
      "ENTRY main { q = s32[4,4] parameter(0) i = s32[1] parameter(1) c = s32[4,1] slice(q), "
      "slice={[0:4],[0:1]} d = s32[4] reshape(c) u = s32[4,4] scatter(q, i, d), "
      "update_window_dims={0}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
      "index_vector_dim=0, to_apply=set ROOT r = s32[1,4,4] reshape(u) }");
  expect_of_both(block("constant({0, 1})", "set"), {x}, set);
  expect_of_both(block("constant({0, 1})", "sum"), {x}, sum);
  expect_of_both(block("parameter(1)", "set"), {x, s32s({0, 1})}, set);
  expect_of_both(block("parameter(1)", "sum"), {x, s32s({0, 1})}, sum);
  expect_of_both(row, {m, s32s({0})},
                 Literal::from<int32_t>(Shape(s32, {1, 4, 4}),
                                        {1, 5, 9, 13, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
}

// It finds that a loop has one trip, which then is no loop.
TEST(XlaIsWrong, AboutAnUpdateInALoopOfOneTripUnlessItIsKeptApart) {
  const auto program = [](const std::string& trips) {
    return base::cat(
        "more { s = (s32[], s32[2,4], s32[2,4]) parameter(0) n = s32[] get-tuple-element(s), "
        "index=0 last = s32[] constant(",
        trips,
        ") ROOT c = pred[] compare(n, last), direction=LT } "
        "step { s = (s32[], s32[2,4], s32[2,4]) parameter(0) n = s32[] get-tuple-element(s), "
        "index=0 x = s32[2,4] get-tuple-element(s), index=1 y = s32[2,4] get-tuple-element(s), "
        "index=2 one = s32[] constant(1) zero = s32[] constant(0) m = s32[] add(n, one) "
        "d = s32[2,3] slice(y), slice={[0:2],[0:3]} "
        "u = s32[2,4] dynamic-update-slice(x, d, zero, one) "
        "ROOT t = (s32[], s32[2,4], s32[2,4]) tuple(m, u, y) } "
        "ENTRY main { q = s32[2,4] parameter(0) zero = s32[] constant(0) "
        "s = (s32[], s32[2,4], s32[2,4]) tuple(zero, q, q) "
        "w = (s32[], s32[2,4], s32[2,4]) while(s), condition=more, body=step "
        "b = s32[2,4] get-tuple-element(w), index=1 ROOT r = s32[1,2,4] reshape(b) }");
  };
  const Literal x = Literal::from<int32_t>(Shape(s32, {2, 4}), {5, 6, 7, 8, 1, 2, 3, 4});
  const Literal want = Literal::from<int32_t>(Shape(s32, {1, 2, 4}), {5, 5, 6, 7, 1, 1, 2, 3});
  for (const char* trips : {"1", "2"}) {
    expect_of_both(program(trips), {x}, want);
  }
}

}  // namespace
}  // namespace heddle
