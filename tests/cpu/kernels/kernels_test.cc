// Transforms, convolutions and complex numbers at sizes around the lanes, tiles and blocks of their
// kernels.
#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/kernels/products/matmul.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

void expect_fft(const std::string& from, const std::string& to, const std::string& type,
                const std::string& length) {
  expect_as_evaluated(cat("HloModule m\nENTRY e { x = ", from, " parameter(0)\n ROOT y = ", to,
                          " fft(x), fft_type=", type, ", fft_length={", length, "} }"),
                      {.share = from.starts_with("c128") || from.starts_with("f64") ? 2e-15 : 1e-6,
                       .any_zero = true});
}

class CpuTransforms : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!set_matmul_isa(GetParam())) GTEST_SKIP() << "the machine lacks this instruction set";
  }
  void TearDown() override { set_matmul_isa(before_); }

 private:
  Isa before_ = matmul_isa();
};

INSTANTIATE_TEST_SUITE_P(EveryIsa, CpuTransforms,
                         ::testing::Values(Isa::kGeneric, Isa::kAvx2, Isa::kAvx512));

TEST_P(CpuTransforms, OfAnyNumberOfRows) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const int rows : {1, 2, 4, 8, 9, 15, 16, 17, 33, 67}) {
    for (const int n : {1, 2, 8, 30, 64, 77, 128, 130, 17, 211}) {
      const std::string whole = cat("[", rows, ",", n, "]"),
                        half = cat("[", rows, ",", n / 2 + 1, "]");
      SCOPED_TRACE(whole);
      expect_fft("c64" + whole, "c64" + whole, "FFT", cat(n));
      expect_fft("c128" + whole, "c128" + whole, "IFFT", cat(n));
      expect_fft("f32" + whole, "c64" + half, "RFFT", cat(n));
      expect_fft("c64" + half, "f32" + whole, "IRFFT", cat(n));
    }
  }
}

TEST_P(CpuTransforms, OfSeveralDimensions) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  expect_fft("c64[3,20,9]", "c64[3,20,9]", "FFT", "20,9");
  expect_fft("c64[4,5,6]", "c64[4,5,6]", "IFFT", "4,5,6");
  expect_fft("c64[18,64]", "c64[18,64]", "IFFT", "18,64");
  expect_fft("c128[16,7,24]", "c128[16,7,24]", "FFT", "16,7,24");
  expect_fft("f32[48,64]", "c64[48,33]", "RFFT", "48,64");
  expect_fft("c64[48,33]", "f32[48,64]", "IRFFT", "48,64");
  expect_fft("f64[2,7,12]", "c128[2,7,7]", "RFFT", "7,12");
  expect_fft("c64[3,8,6,9]", "f32[3,8,6,16]", "IRFFT", "8,6,16");
}

// Up to half of the lanes: each row is a matrix.
TEST_P(CpuTransforms, OfFewLongRows) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const int n : {64, 90, 128, 210, 256, 1000, 1024, 1155, 4096}) {
    const std::string whole = cat(n), half = cat(n / 2 + 1);
    expect_fft(cat("c64[", n, "]"), cat("c64[", n, "]"), "FFT", whole);
    expect_fft(cat("c128[2,", n, "]"), cat("c128[2,", n, "]"), "IFFT", whole);
    expect_fft(cat("f32[3,", n, "]"), cat("c64[3,", half, "]"), "RFFT", whole);
    expect_fft(cat("c64[2,", half, "]"), cat("f32[2,", n, "]"), "IRFFT", whole);
    expect_fft(cat("f64[", n, "]"), cat("c128[", half, "]"), "RFFT", whole);
    expect_fft(cat("c128[", half, "]"), cat("f64[", n, "]"), "IRFFT", whole);
  }
}

// Stages of a large prime, and convolutions with a chirp.
TEST_P(CpuTransforms, OfLengthsWithLargePrimeFactors) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const int rows : {1, 3, 17, 33}) {
    for (const int n : {23, 97, 199, 202, 211, 422, 997, 1081}) {
      const std::string whole = cat("[", rows, ",", n, "]"),
                        half = cat("[", rows, ",", n / 2 + 1, "]");
      SCOPED_TRACE(whole);
      for (const std::string real : {"f32", "f64"}) {
        const std::string complex = real == "f32" ? "c64" : "c128";
        expect_fft(complex + whole, complex + whole, "FFT", cat(n));
        expect_fft(complex + whole, complex + whole, "IFFT", cat(n));
        expect_fft(real + whole, complex + half, "RFFT", cat(n));
        expect_fft(complex + half, real + whole, "IRFFT", cat(n));
      }
    }
  }
  expect_fft("c64[9,16384]", "c64[9,16384]", "IFFT", "16384");  // of long rows, one by one
  expect_fft("f64[5,32768]", "c128[5,16385]", "RFFT", "32768");
  expect_fft("c64[18,211]", "c64[18,211]", "FFT", "18,211");
  expect_fft("c128[211,18]", "c128[211,18]", "IFFT", "211,18");
  expect_fft("f32[17,227,5]", "c64[17,227,3]", "RFFT", "227,5");
}

// With diagonals of small whole numbers rows change places, and some pivots are 0.
TEST(CpuKernels, TridiagonalEquations) {
  for (const int n : {1, 2, 3, 33, 300}) {
    for (const int columns : {1, 3, 8}) {
      for (const char* batch : {"", "5,", "2,40,"}) {
        for (const char* diagonal : {"add(m, threes)", "copy(m)"}) {
          for (const bool is_double : {false, true}) {
            const std::string type = is_double ? "f64" : "f32", row = cat(type, "[", batch, n, "]"),
                              matrix = cat(type, "[", batch, n, ",", columns, "]"),
                              info = std::string(batch).substr(0, std::string(batch).rfind(',')),
                              result = cat("(", row, ", ", row, ", ", row, ", ", matrix, ", s32[",
                                           info, "])");
            SCOPED_TRACE(cat(matrix, diagonal));
            expect_as_evaluated(
                cat("HloModule m\nENTRY e { l = ", row, " parameter(0)\n m = ", row,
                    " parameter(1)\n u = ", row, " parameter(2)\n b = ", matrix,
                    " parameter(3)\n three = ", type, "[] constant(3)\n threes = ", row,
                    " broadcast(three), dimensions={}\n d = ", row, " ", diagonal, "\n ROOT y = ",
                    result, " custom-call(l, d, u, b), custom_call_target=\"lapack_",
                    is_double ? "d" : "s", "gtsv_ffi\", api_version=API_VERSION_TYPED_FFI }"),
                {});
          }
        }
      }
    }
  }
}

void expect_convolution(const std::string& x, const std::string& w, const std::string& y,
                        const std::string& rest) {
  expect_as_evaluated(cat("HloModule m\nENTRY e { x = ", x, " parameter(0)\n w = ", w,
                          " parameter(1)\n ROOT y = ", y, " convolution(x, w), ", rest, " }"),
                      {.share = 1e-5, .any_zero = true});
}

TEST(CpuKernels, ConvolutionsOfAnyLayout) {
  // Few weights, features last: loops.
  expect_convolution("f32[2,19,23,3]", "f32[3,4,3,8]", "f32[2,10,22,8]",
                     "window={size=3x4 stride=2x1 pad=1_1x1_1}, dim_labels=b01f_01io->b01f");
  expect_convolution("f32[1,300,1]", "f32[9,1,1]", "f32[1,300,1]",
                     "window={size=9 pad=8_8 rhs_dilate=2}, dim_labels=b0f_0io->b0f");
  expect_convolution("f64[1,17,17,1]", "f64[5,5,1,17]", "f64[1,33,33,17]",
                     "window={size=5x5 pad=2_2x2_2 lhs_dilate=2x2 rhs_reversal=1x1}, "
                     "dim_labels=b01f_01io->b01f");
  expect_convolution("f32[3,19,23,5]", "f32[3,4,5,9]", "f32[3,10,21,9]",
                     "window={size=3x4 stride=2x1 pad=1_1x0_1}, dim_labels=b01f_01io->b01f");
  expect_convolution("f32[2,6,17,18]", "f32[16,6,3,3]", "f32[2,16,17,18]",
                     "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01");
  expect_convolution("f64[2,6,7,8]", "f64[16,3,3,3]", "f64[2,16,7,8]",
                     "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, "
                     "feature_group_count=2");
  expect_convolution("f32[16,8,9,9]", "f32[9,9,8,12]", "f32[3,3,16,12]",
                     "window={size=9x9 pad=1_1x1_1}, dim_labels=bf01_01io->01bf");
  expect_convolution("f32[2,40,16]", "f32[5,16,24]", "f32[2,83,24]",
                     "window={size=5 pad=4_4 lhs_dilate=2 rhs_reversal=1}, "
                     "dim_labels=b0f_0io->b0f");
  // Gradients of weights where features are the last axis: of a padded product, one of strides, of
  // groups, of more taps than a block holds, and with the weights the other way round.
  expect_convolution("f32[4,12,11,6]", "f32[4,12,11,9]", "f32[3,3,6,9]",
                     "window={size=12x11 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf");
  expect_convolution("f32[3,33,33,5]", "f32[3,16,16,17]", "f32[3,3,5,17]",
                     "window={size=16x16 rhs_dilate=2x2}, dim_labels=f01b_i01o->01bf");
  expect_convolution("f64[2,400,8]", "f64[2,398,16]", "f64[3,4,16]",
                     "window={size=398}, dim_labels=f0b_i0o->0bf, batch_group_count=2");
  expect_convolution("f32[4,18,18,8]", "f32[4,16,16,12]", "f32[3,3,8,12]",
                     "window={size=16x16}, dim_labels=f01b_i01o->01bf");
  expect_convolution("f32[4,16,16,8]", "f32[4,16,16,12]", "f32[2,3,8,12]",
                     "window={size=16x16 pad=1_0x1_1 rhs_reversal=1x0}, "
                     "dim_labels=f01b_i01o->01bf");
  // A tap each: rows as they lie.
  expect_convolution("f32[3,7,9,33]", "f32[1,1,33,24]", "f32[3,7,9,24]",
                     "window={size=1x1}, dim_labels=b01f_01io->b01f");
  expect_convolution("f32[3,33,7,9]", "f32[24,33,1,1]", "f32[3,24,7,9]",
                     "window={size=1x1}, dim_labels=bf01_oi01->bf01");
  expect_convolution("f64[2,32,90]", "f64[33,32,1]", "f64[2,34,33]",
                     "window={size=1 stride=2 pad=-1_-22}, dim_labels=bf0_oi0->b0f");
  expect_convolution("f32[2,9,9,32]", "f32[1,1,16,48]", "f32[2,5,5,48]",
                     "window={size=1x1 stride=2x2}, dim_labels=b01f_01io->b01f, "
                     "feature_group_count=2");
  // Dilated arrays: phases with other taps, with none, and by steps that share a factor with them.
  expect_convolution("f32[2,9,7,16]", "f32[3,3,16,24]", "f32[2,18,14,24]",
                     "window={size=3x3 pad=2_1x2_1 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f");
  expect_convolution("f64[3,8,9,9]", "f64[20,8,2,4]", "f64[3,20,25,17]",
                     "window={size=2x4 pad=1_0x3_0 lhs_dilate=3x2 rhs_reversal=1x1}, "
                     "dim_labels=bf01_oi01->bf01");
  expect_convolution("f32[2,16,12]", "f32[8,12,16]", "f32[2,29,16]",
                     "window={size=8 stride=4 pad=7_39 lhs_dilate=6 rhs_dilate=3}, "
                     "dim_labels=b0f_0io->b0f");
  expect_convolution("f32[2,9,9,32]", "f32[3,3,8,16]", "f32[2,9,18,16]",
                     "window={size=3x3 stride=2x1 pad=2_1x2_1 lhs_dilate=2x2}, "
                     "dim_labels=b01f_01io->b01f, feature_group_count=4");
  // Few weights, elements last: rows under padding, holes and steps.
  expect_convolution("f32[3,1,300]", "f32[1,1,9]", "f32[3,1,300]",
                     "window={size=9 pad=4_4}, dim_labels=bf0_oi0->bf0");
  expect_convolution("f32[1,1,500]", "f32[1,1,70]", "f32[1,1,500]",
                     "window={size=70 pad=69_0}, dim_labels=bf0_oi0->bf0");
  expect_convolution("f32[2,2,301]", "f32[3,2,7]", "f32[2,3,151]",
                     "window={size=7 stride=2 pad=3_3}, dim_labels=bf0_oi0->bf0");
  expect_convolution("f64[1,1,100]", "f64[1,1,4]", "f64[1,1,200]",
                     "window={size=4 pad=2_2 lhs_dilate=2}, dim_labels=bf0_oi0->bf0");
  expect_convolution("f32[1,1,40,70]", "f32[1,1,5,5]", "f32[1,1,40,70]",
                     "window={size=5x5 pad=2_2x2_2}, dim_labels=bf01_oi01->bf01");
  expect_convolution("s32[1,1,40,70]", "s32[1,1,5,5]", "s32[1,1,37,65]",
                     "window={size=5x5 pad=2_-1x-2_1}, dim_labels=bf01_oi01->bf01");
  // Long windows at few places.
  expect_convolution("f32[4,16,20,20]", "f32[4,9,20,20]", "f32[16,9,3,3]",
                     "window={size=20x20 pad=1_1x1_1}, dim_labels=fb01_io01->bf01");
  expect_convolution("f64[5,3,90]", "f64[5,4,81]", "f64[3,4,6]",
                     "window={size=81 stride=2 pad=1_0}, dim_labels=fb0_io0->bf0");
  expect_convolution("f32[6,10,12,70]", "f32[3,8,10,70]", "f32[10,8,3,4]",
                     "window={size=10x70 pad=0_0x2_1}, dim_labels=fb01_io01->bf01, "
                     "feature_group_count=2");
  expect_convolution("f32[70,33]", "f32[33,20]", "f32[70,20]", "dim_labels=bf_io->bf");
  expect_convolution("f32[2,50,40]", "f32[4,1,80]", "f32[2,50,80]",
                     "window={size=4 pad=3_0}, dim_labels=b0f_0io->b0f, feature_group_count=40");
  expect_convolution("f32[40,50,6]", "f32[50,6,40]", "f32[20,4,40]",
                     "window={size=50 pad=3_0}, dim_labels=b0f_0io->b0f, batch_group_count=2");
}

TEST(CpuKernels, PaddingIsZerosEvenForInfinity) {
  expect_as_evaluated(R"(HloModule m
ENTRY e {
  x = f32[1,1,300] parameter(0)
  w = f32[1,1,3] constant({{{inf, 1, nan}}})
  a = f32[1,1,300] convolution(x, w), window={size=3 pad=1_1}, dim_labels=bf0_oi0->bf0
  v = f32[1,1,3] constant({{{-inf, 1, 2}}})
  ROOT b = f32[1,1,300] convolution(x, v), window={size=3 pad=2_0}, dim_labels=bf0_oi0->bf0
})");
  // As products of rows.
  for (const char* rest : {"f32[4,30,24] convolution(x, w), window={size=3 pad=1_1}",
                           "f32[4,60,24] convolution(x, w), window={size=3 pad=1_2 lhs_dilate=2}",
                           "f32[4,10,24] convolution(x, w), window={size=3 stride=3}"}) {
    expect_as_evaluated(cat(R"(HloModule m
ENTRY e {
  x = f32[4,30,16] parameter(0)
  k = f32[3] constant({inf, 1, 2})
  w = f32[3,16,24] broadcast(k), dimensions={0}
  ROOT y = )",
                            rest, ", dim_labels=b0f_0io->b0f }"));
  }
}

TEST(CpuKernels, WindowsOverPaddedArrays) {
  expect_as_evaluated(R"(HloModule m
f { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
ENTRY e { x = f32[4,1] parameter(0)
  z = f32[] constant(0)
  ROOT o = f32[5,0] reduce-window(x, z), window={size=2x1 pad=1_1x-1_-1}, to_apply=f })");
  const std::pair<const char*, const char*> windows[] = {
      {"20,100", "size=1x5 pad=0_0x2_2"},
      {"20,100", "size=3x3 pad=1_1x1_1"},
      {"10,34", "size=3x4 stride=2x3 pad=1_1x0_3"},
      {"20,98", "size=2x2 pad=0_1x1_0 rhs_dilate=1x3"},
      {"39,100", "size=2x2 pad=1_0x0_1 lhs_dilate=2x1"}};
  for (const char* fold : {"add", "maximum", "minimum", "multiply"}) {
    for (const auto& [sizes, window] : windows) {
      expect_as_evaluated(
          cat("HloModule m\nf { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] ",
              fold,
              "(a, b) }\nENTRY e { x = f32[20,100] parameter(0)\n half = f32[] constant(0.5)\n",
              " ROOT y = f32[", sizes, "] reduce-window(x, half), window={", window,
              "}, to_apply=f }"),
          {.share = 1e-5, .any_zero = true});
    }
  }
}

// From the first element to each one, by a function that is no op and not associative, along each
// dimension. Windows that end with the last element begin with another one each.
TEST(CpuKernels, RunningFoldsOfFunctions) {
  const std::vector<int64_t> all_sizes[] = {{70}, {1}, {3, 70}, {70, 3}, {20, 33, 2}, {5, 0}};
  for (const std::vector<int64_t>& sizes : all_sizes) {
    const Shape shape(f32, sizes);
    for (size_t along = 0; along < sizes.size(); ++along) {
      if (sizes[along] == 0) continue;
      for (const bool forward : {true, false}) {
        std::string window, padding;
        for (size_t d = 0; d < sizes.size(); ++d) {
          const int64_t size = d == along ? sizes[d] : 1;
          const char* const by = d > 0 ? "x" : "";
          base::append(window, by, size);
          base::append(padding, by, forward ? size - 1 : 0, "_", forward ? 0 : size - 1);
        }
        expect_as_evaluated(
            cat("HloModule m\nf { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
                " q = f32[] constant(0.25)\n c = f32[] multiply(a, q)\n"
                " ROOT r = f32[] subtract(b, c) }\nENTRY e { x = ",
                shape, " parameter(0)\n i = f32[] parameter(1)\n ROOT y = ", shape,
                " reduce-window(x, i), window={size=", window, " pad=", padding, "}, to_apply=f }"),
            {.share = 1e-5, .any_zero = true});
      }
    }
  }
}

// Several vectors of columns at a time, with some left over; results that are reshapes lie where
// they are wanted, and are read again.
TEST(CpuKernels, SumsOfColumnsAndReshapedResults) {
  for (const int columns : {15, 16, 64, 70, 128, 200}) {
    for (const char* fold : {"add", "maximum"}) {
      expect_as_evaluated(
          cat("HloModule m\nf { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] ",
              fold, "(a, b) }\nENTRY e { x = f32[3,40,", columns,
              "] parameter(0)\n h = f32[] parameter(1)\n y = f32[3,", columns,
              "] reduce(x, h), dimensions={1}, to_apply=f\n z = f32[", columns,
              "] reduce(x, h), dimensions={0,1}, to_apply=f\n n = f32[3,", columns,
              "] negate(y)\n r = f32[", 3 * columns, "] reshape(n)\n t = f32[", columns,
              ",3] reshape(r)\n ROOT all = (f32[3,", columns, "], f32[", columns, "], f32[",
              3 * columns, "], f32[", columns, ",3], f32[3,", columns, "]) tuple(y, z, r, t, n) }"),
          {.share = 1e-5, .any_zero = true});
    }
  }
}

TEST(CpuKernels, ComplexNumbersThroughLoopsAndBranches) {
  expect_as_evaluated(R"(HloModule m
times { a = c64[] parameter(0)
  b = c64[] parameter(1)
  ROOT r = c64[] multiply(a, b) }
less { s = (s32[], c64[7], c64[], f32[7,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT r = pred[] compare(i, n), direction=LT }
left { ROOT x = c64[7] parameter(0) }
right { x = c64[7] parameter(0)
  ROOT y = c64[7] negate(x) }
turn { s = (s32[], c64[7], c64[], f32[7,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = c64[7] get-tuple-element(s), index=1
  p = c64[] get-tuple-element(s), index=2
  f = f32[7,3] get-tuple-element(s), index=3
  one = s32[] constant(1)
  next = s32[] add(i, one)
  c = c64[7] conditional(i, x, x), branch_computations={left, right}
  u = c64[] constant((0.5, -0.25))
  ub = c64[7] broadcast(u), dimensions={}
  q = c64[7] multiply(c, ub)
  z = c64[] constant((1, 0))
  r = c64[] reduce(q, z), dimensions={0}, to_apply=times
  t = c64[7] fft(q), fft_type=FFT, fft_length={7}
  re = f32[7] real(t)
  rb = f32[7,3] broadcast(re), dimensions={0}
  g = f32[7,3] add(f, rb)
  ROOT n = (s32[], c64[7], c64[], f32[7,3]) tuple(next, q, r, g) }
ENTRY e { x = c64[7] parameter(0)
  p = c64[] parameter(1)
  f = f32[7,3] parameter(2)
  zero = s32[] constant(0)
  s = (s32[], c64[7], c64[], f32[7,3]) tuple(zero, x, p, f)
  ROOT w = (s32[], c64[7], c64[], f32[7,3]) while(s), condition=less, body=turn })",
                      {.share = 1e-5, .any_zero = true});
}

// Of parts that are any floats, and of parts of about one size.
TEST(CpuKernels, AbsOfComplexNumbersIsOffByTwoUlp) {
  expect_as_evaluated(R"(HloModule m
ENTRY e { i = s32[60000] iota(), iota_dimension=0  p = s32[] constant(-1640531527)
  ps = s32[60000] broadcast(p), dimensions={}  a = s32[60000] multiply(i, ps)
  b = s32[60000] multiply(a, ps)  r = f32[60000] bitcast-convert(a)
  s = f32[60000] bitcast-convert(b)  z = c64[60000] complex(r, s)
  q = s32[] constant(20011)  qs = s32[60000] broadcast(q), dimensions={}
  c = s32[60000] multiply(i, qs)  d = s32[60000] add(a, c)  t = f32[60000] bitcast-convert(d)
  w = c64[60000] complex(r, t)  u = f32[60000] abs(z)  v = f32[60000] abs(w)
  ROOT all = (f32[60000], f32[60000]) tuple(u, v) })",
                      {.ulp = 2});
}

}  // namespace
}  // namespace heddle::cpu
