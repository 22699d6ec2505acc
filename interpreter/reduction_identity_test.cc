#include "heddle/interpreter/reduction_identity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "heddle/hlo/text.h"

namespace heddle::interpreter {

using namespace hlo;

namespace {

Computation function_of(const std::string& type, const std::string& body) {
  const Module module = parse_text(base::cat("ENTRY f { a = ", type, "[] parameter(0) b = ", type,
                                             "[] parameter(1) ", body, " }"))
                            .value();
  return module.entry_computation();
}

bool is_f32_identity(double start, const std::string& body) {
  return is_identity(Literal::scalar(f32, start), function_of("f32", body));
}

bool is_s32_identity(int64_t start, const std::string& body) {
  return is_identity(Literal::scalar(s32, start), function_of("s32", body));
}

TEST(Identity, OfOneOp) {
  EXPECT_TRUE(is_f32_identity(0, "ROOT c = f32[] add(a, b)"));
  EXPECT_TRUE(is_f32_identity(-0.0, "ROOT c = f32[] add(b, a)"));
  EXPECT_FALSE(is_f32_identity(1, "ROOT c = f32[] add(a, b)"));
  EXPECT_TRUE(is_s32_identity(INT32_MIN, "ROOT c = s32[] maximum(a, b)"));
  EXPECT_FALSE(is_s32_identity(0, "ROOT c = s32[] maximum(a, b)"));
  EXPECT_FALSE(is_s32_identity(0, "ROOT c = s32[] subtract(a, b)"));
}

TEST(Identity, OfSeveralOps) {
  EXPECT_TRUE(
      is_s32_identity(-1, "o = s32[] constant(1) d = s32[] add(a, o) ROOT c = s32[] add(d, b)"));
  EXPECT_FALSE(
      is_s32_identity(-1, "o = s32[] constant(1) d = s32[] add(a, b) ROOT c = s32[] add(d, o)"));
  EXPECT_TRUE(is_f32_identity(
      0, "h = f32[] constant(0.5) d = f32[] multiply(a, h) ROOT c = f32[] add(d, b)"));
  EXPECT_FALSE(is_f32_identity(
      1, "h = f32[] constant(0.5) d = f32[] multiply(a, h) ROOT c = f32[] add(d, b)"));
}

TEST(Identity, MayRound) {
  EXPECT_TRUE(is_f32_identity(
      0,
      "c = f32[] add(a, b) ROOT r = f32[] reduce-precision(c), exponent_bits=8, mantissa_bits=7"));
  EXPECT_TRUE(is_identity(Literal::scalar(bf16, 0.0),
                          function_of("bf16",
                                      "c = f32[] convert(a) d = f32[] convert(b) e = f32[] "
                                      "add(c, d) ROOT r = bf16[] convert(e)")));
  EXPECT_FALSE(
      is_s32_identity(0, "c = s32[] add(a, b) d = s8[] convert(c) ROOT r = s32[] convert(d)"));
}

// NaN is neither less nor greater: the element must be taken where neither holds.
TEST(Identity, OfComparisons) {
  const std::string greater = "p = pred[] compare(a, b), direction=GT ";
  EXPECT_TRUE(is_f32_identity(-INFINITY, greater + "ROOT r = f32[] select(p, a, b)"));
  EXPECT_FALSE(is_f32_identity(0, greater + "ROOT r = f32[] select(p, a, b)"));
  EXPECT_FALSE(is_f32_identity(INFINITY, greater + "ROOT r = f32[] select(p, a, b)"));
  const std::string less = "p = pred[] compare(a, b), direction=LT ";
  EXPECT_TRUE(is_f32_identity(INFINITY, less + "ROOT r = f32[] select(p, a, b)"));
  EXPECT_FALSE(is_f32_identity(-INFINITY, less + "ROOT r = f32[] select(p, b, a)"));
}

TEST(Identity, OfATupleOfOne) {
  EXPECT_TRUE(is_s32_identity(0, "c = s32[] add(a, b) ROOT t = (s32[]) tuple(c)"));
  EXPECT_FALSE(is_s32_identity(1, "c = s32[] add(a, b) ROOT t = (s32[]) tuple(c)"));
}

// The least and greatest of floats of few bits, with or without infinities and zeros.
TEST(Identity, OfFloatsOfFewBits) {
  EXPECT_EQ(identity_of(Opcode::kMaximum, f8e5m2)->to_double(0), -INFINITY);
  EXPECT_EQ(identity_of(Opcode::kMaximum, f8e4m3fn)->to_double(0), -448);
  EXPECT_EQ(identity_of(Opcode::kMinimum, f4e2m1fn)->to_double(0), 6);
  EXPECT_EQ(identity_of(Opcode::kAdd, f8e4m3fnuz)->to_double(0), 0);
  EXPECT_EQ(identity_of(Opcode::kAdd, f8e8m0fnu), std::nullopt);
  EXPECT_EQ(identity_of(Opcode::kMultiply, f8e8m0fnu)->to_double(0), 1);
}

}  // namespace
}  // namespace heddle::interpreter
