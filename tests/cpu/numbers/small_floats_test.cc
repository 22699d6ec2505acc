// Floats of 16 bits: every conversion of them gives the evaluator's bits, by the machine's
// instructions and by formulas.
#include <gtest/gtest.h>

#include <atomic>

#include "heddle/base/text/strings.h"
#include "heddle/codegen/jit/jit.h"
#include "heddle/cpu/kernels/isa.h"
#include "heddle/cpu/lower/lower.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

// A program of one argument and one result, compiled for vectors of so many bytes.
Literal run(const hlo::Module& module, int64_t vector_bytes, const Literal& argument) {
  const LoweredProgram program = lower(module, vector_bytes, /*as_lapack=*/false).value();
  EXPECT_EQ(program.kernel_steps, 0) << "the evaluator computes a part of it";
  // One thread does all of a loop.
  const ShareLoop alone = [](LoopPart part, const void* frame, int64_t from, int64_t to, int64_t) {
    part(frame, from, to);
  };
  const JitResult result = compile_plan({.plan = &program.plan, .share_loop = alone}).value();
  Literal out(module.entry_computation().result_shape());
  Literal arena(Shape(u8, {result.arena_bytes}));
  void* arguments[] = {const_cast<std::byte*>(argument.bytes())};
  void* results[] = {out.mutable_bytes()};
  std::vector<const void*> constants;
  for (const Literal& constant : program.constants) constants.push_back(constant.bytes());
  const std::atomic<bool> stop = false;
  EXPECT_EQ(result.code->entry()(nullptr, arena.mutable_bytes(), arguments, results,
                                 constants.data(), &stop),
            0);
  return out;
}

// `bits` in steps over all patterns, read as `from`, through the op.
void expect_converted(std::string_view bits, int64_t count, std::string_view step,
                      std::string_view from, std::string_view to, std::string_view op = "convert",
                      const Allowed& allowed = {}) {
  const std::string size = "[" + std::to_string(count) + "]";
  const auto array = [&](std::string_view type) { return std::string(type) + size; };
  const std::string text = "HloModule m\nENTRY e {\n  i = " + array(bits) +
                           " iota(), iota_dimension=0\n  s = " + std::string(bits) +
                           "[] parameter(0)\n  sb = " + array(bits) +
                           " broadcast(s), dimensions={}\n  p = " + array(bits) +
                           " multiply(i, sb)\n  x = " + array(from) +
                           " bitcast-convert(p)\n  ROOT y = " + array(to) + " " + std::string(op) +
                           "(x)\n}\n";
  SCOPED_TRACE(text);
  const hlo::Module module = hlo::parse_text(text).value();
  const Shape shape = module.entry_computation().parameter_shape(0);
  const Literal argument = hlo::parse_literal(step, shape).value();
  const Literal want = interpreter::evaluate(module, {argument}).value();
  for (const int64_t bytes : {int64_t{16}, host_vector_bytes()})
    EXPECT_EQ(difference(run(module, bytes, argument), want, allowed), "") << bytes;
}

TEST(SmallFloats, OfEightBitsConvertAsTheEvaluatorDoes) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const char* small : {"f8e4m3fn", "f8e5m2"}) {
    const std::string other = small == std::string("f8e5m2") ? "f8e4m3fn" : "f8e5m2";
    for (const char* to : {"f32", "f64", "bf16", "f16", "s32", "u8", "pred", other.c_str()})
      expect_converted("u8", 256, "1", small, to);
    for (const char* op : {"negate", "abs", "sign", "sqrt", "floor"})
      expect_converted("u8", 256, "1", small, small, op);
    expect_converted("u16", 65536, "1", "bf16", small);
    expect_converted("u16", 65536, "1", "f16", small);
    expect_converted("u32", 300000, "14321", "f32", small);
    expect_converted("u64", 300000, "61489146912365", "f64", small);
    // Halfway between two, and beside it.
    for (const char* step : {"524288", "524287", "1048576"})
      expect_converted("u32", 8192, step, "f32", small);
    expect_converted("u64", 300000, "281474976710656", "f64", small);
    expect_converted("u64", 300000, "281474976710657", "f64", small);
    expect_converted("s32", 300000, "14321", "s32", small);
  }
}

TEST(SmallFloats, NibblesConvertAsTheEvaluatorDoes) {
  for (const std::string small : {"s4", "u4"}) {
    for (const std::string from : {"s8", "u8", "s32", "u32", "f32", "bf16", "f8e4m3fn"}) {
      const std::string text =
          cat("HloModule m\nENTRY e {\n  x = ", from, "[600] parameter(0)\n  n = ", small,
              "[600] convert(x)\n  y = f32[600] convert(n)\n  z = s32[600] convert(n)\n"
              "  ROOT t = (f32[600], s32[600], ",
              small, "[600]) tuple(y, z, n)\n}\n");
      SCOPED_TRACE(text);
      expect_as_evaluated(text);
    }
  }
}

TEST(SmallFloats, MantissasAreCutAsTheEvaluatorDoes) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const int mantissa : {1, 7, 10, 22}) {
    const std::string text =
        cat("HloModule m\nENTRY e {\n  i = u32[300000] iota(), "
            "iota_dimension=0\n  s = u32[] parameter(0)\n  sb = u32[300000] "
            "broadcast(s), dimensions={}\n  p = u32[300000] multiply(i, sb)\n"
            "  x = f32[300000] bitcast-convert(p)\n  ROOT y = f32[300000] "
            "reduce-precision(x), exponent_bits=8, mantissa_bits=",
            mantissa, "\n}\n");
    const hlo::Module module = hlo::parse_text(text).value();
    for (const char* step : {"14321", "2048", "2049"}) {
      const Literal argument = hlo::parse_literal(step, Shape(u32, {})).value();
      const Literal want = interpreter::evaluate(module, {argument}).value();
      EXPECT_EQ(difference(run(module, host_vector_bytes(), argument), want, {}), "") << mantissa;
    }
  }
}

TEST(SmallFloats, ConvertAsTheEvaluatorDoes) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const char* small : {"bf16", "f16"}) {
    const std::string other = small == std::string("f16") ? "bf16" : "f16";
    for (const char* to : {"f32", "f64", "s32", "u8", "pred", other.c_str()})
      expect_converted("u16", 65536, "1", small, to);
    expect_converted("u32", 300000, "14321", "f32", small);
    expect_converted("u64", 300000, "61489146912365", "f64", small);
    // Halfway between two, and beside it.
    expect_converted("u32", 300000, "4096", "f32", small);
    expect_converted("u64", 300000, "2199023255552", "f64", small);
    expect_converted("u64", 300000, "2199023255553", "f64", small);
  }
}

// Each of a chain: processors that compute on f16 themselves have the same bits.
TEST(SmallFloats, SumsAndProductsAreRoundedEach) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const std::string small : {"bf16", "f16"}) {
    const std::string all = small + "[65536]";
    const hlo::Module module =
        hlo::parse_text(
            "HloModule m\nENTRY e {\n i = u16[65536] iota(), iota_dimension=0\n x = " + all +
            " bitcast-convert(i)\n f = u16[] parameter(0)\n fs = u16[65536]"
            " broadcast(f), dimensions={}\n j = u16[65536] multiply(i, fs)\n y = " +
            all + " bitcast-convert(j)\n p = " + all + " multiply(x, y)\n s = " + all +
            " add(p, x)\n d = " + all + " subtract(s, y)\n c = " + small +
            "[] constant(1.5)\n cs = " + all + " broadcast(c), dimensions={}\n ROOT r = " + all +
            " multiply(d, cs) }")
            .value();
    for (const char* factor : {"1", "3", "257", "40503"}) {
      const Literal argument = hlo::parse_literal(factor, Shape(u16, {})).value();
      const Literal want = interpreter::evaluate(module, {argument}).value();
      for (const int64_t bytes : {int64_t{16}, host_vector_bytes()})
        EXPECT_EQ(difference(run(module, bytes, argument), want), "") << small << " " << bytes;
    }
  }
}

// Beside a division by a power of two, for which LLVM combines instructions.
TEST(SmallFloats, ExtremesKeepNan) {
  for (const std::string small : {"bf16", "f16"}) {
    const std::string all = small + "[8]";
    for (const std::string zero : {"0", "-0"}) {
      for (const std::string op : {"maximum", "minimum"}) {
        expect_as_evaluated(
            "HloModule m\nENTRY e {\n n = " + all +
            " constant({nan,nan,1,nan,nan,2,nan,3})\n z = " + small + "[] constant(" + zero +
            ")\n zs = " + all + " broadcast(z), dimensions={}\n p = " + all +
            " parameter(0)\n q = " + all + " multiply(p, zs)\n m = " + all + " " + op +
            "(n, q)\n i = s32[] parameter(1)\n four = s32[] constant(4)\n"
            " d = s32[] divide(i, four)\n ROOT r = (" +
            all + ", s32[]) tuple(m, d) }");
      }
    }
  }
}

TEST(SmallFloats, TanhIsOffByAnUlp) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const char* small : {"bf16", "f16"})
    expect_converted("u16", 65536, "1", small, small, "tanh", {.ulp = 1});
}

// Sums of a narrower type's elements, as the fold's computation takes them; of stacked arrays too.
TEST(CpuSmallFloats, FoldsInAWiderType) {
  for (const auto& [narrow, wide] : {std::pair{"bf16", "f32"}, {"f16", "f32"}, {"f32", "f64"}}) {
    const std::string region = cat("HloModule m\nf { a = ", wide, "[] parameter(0)\n b = ", wide,
                                   "[] parameter(1)\n ROOT c = ", wide, "[] add(a, b) }\n");
    const std::string header = cat(region, "ENTRY e {\n i = ", wide,
                                   "[] constant(0)\n x = ", narrow, "[3,70] parameter(0)\n");
    expect_as_evaluated(
        cat(header, " ROOT y = ", wide, "[70] reduce(x, i), dimensions={0}, to_apply=f }\n"));
    expect_as_evaluated(
        cat(header, " ROOT y = ", wide, "[3] reduce(x, i), dimensions={1}, to_apply=f }\n"));
    expect_as_evaluated(cat(header, " ROOT y = ", wide,
                            "[3,66] reduce-window(x, i), window={size=1x5}, to_apply=f }\n"));
    expect_as_evaluated(cat(header, " z = ", narrow, "[3,70] parameter(1)\n a = ", narrow,
                            "[1,3,70] reshape(x)\n b = ", narrow, "[1,3,70] reshape(z)\n s = ",
                            narrow, "[2,3,70] concatenate(a, b), dimensions={0}\n ROOT y = ", wide,
                            "[3,70] reduce(s, i), dimensions={0}, to_apply=f }\n"));
  }
}

// Rounded once: numbers beside the middle between two, by less than f64 tells apart.
TEST(SmallFloats, OfLongIntegers) {
  std::string numbers, naturals;
  for (const int shift : {5, 9, 12, 15, 40, 52, 53, 54, 60, 62}) {
    for (const int64_t step : {-1, 0, 1}) {
      for (const int64_t odd : {1, 3}) {
        const int64_t one = int64_t{1} << shift;
        const int64_t middle = one + odd * std::max<int64_t>(one >> 8, 1) + step;
        base::append(numbers, numbers.empty() ? "" : ", ", middle, ", ", -middle);
        base::append(naturals, naturals.empty() ? "" : ", ", middle, ", ",
                     static_cast<uint64_t>(middle) * 2);
      }
    }
  }
  base::append(numbers, ", 0, 9223372036854775807, -9223372036854775808, -9223372036854775807");
  base::append(naturals, ", 0, 18446744073709551615, 9223372036854775808, 9223372036854775807");
  for (const char* type : {"bf16", "f16", "f8e4m3fn", "f8e5m2"}) {
    for (const auto& [from, list] : {std::pair("s64", numbers), {"u64", naturals}}) {
      const auto count = std::ranges::count(list, ',') + 1;
      expect_as_evaluated(base::cat("HloModule m\nENTRY main {\n k = ", from, "[", count,
                                    "] constant({", list, "})\n x = ", from, "[", count,
                                    "] maximum(k, k)\n ROOT y = ", type, "[", count,
                                    "] convert(x) }"));
    }
  }
}

}  // namespace
}  // namespace heddle::cpu
