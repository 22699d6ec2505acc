// A reduction has its start once, whatever XLA takes it for.
#include <algorithm>
#include <cmath>

#include "heddle/base/support_test.h"
#include "heddle/hlo/verify.h"
#include "heddle/pjrt/internal/program.h"
#include "heddle/pjrt/support_test.h"

namespace heddle::pjrt {
namespace {

// Small whole numbers of any type.
Literal numbers(const Shape& shape) {
  Literal out(shape);
  const int64_t width = storage_bytes(real_part(shape.dtype()));
  int64_t i = 0;
  for (std::byte* to = out.mutable_bytes(); to < out.bytes() + out.byte_size(); to += width, ++i) {
    const int64_t number = shape.dtype() == pred ? i % 2 : (i * 5 + 3) % 7 + 1;
    const DType part = real_part(shape.dtype());
    const Literal one = is_integer(part) || part == pred
                            ? Literal::scalar(part, number)
                            : Literal::scalar(part, static_cast<double>(number));
    std::copy_n(one.bytes(), width, to);
  }
  return out;
}

hlo::Module prepared(const hlo::Module& module) {
  const hlo::Module out = prepare(module, 114).value();
  EXPECT_EQ(hlo::verify(out, hlo::Stage::kHlo), Status()) << hlo::print(out);
  return out;
}

const hlo::Instruction& only(const hlo::Module& module, hlo::Opcode opcode) {
  const auto& all = module.entry_computation().instructions;
  const auto found = std::ranges::find(all, opcode, &hlo::Instruction::opcode);
  EXPECT_NE(found, all.end()) << hlo::print(module);
  return *found;
}

std::string reduce_of(const std::string& type, int64_t size, const std::string& op) {
  return base::cat("f { a = ", type, "[] parameter(0) b = ", type,
                   "[] parameter(1) ROOT c = ", type, "[] ", op, "(a, b) } ENTRY main { x = ", type,
                   "[3,", size, "] parameter(0) i = ", type, "[] parameter(1) ROOT r = ", type,
                   "[3] reduce(x, i), dimensions={1}, to_apply=f }");
}

// The identity that stands in place of the start changes nothing, of each type and function.
TEST(ReduceStarts, AreAppliedOnceBehindTheReduction) {
  const std::vector<std::string> of_numbers = {"add", "multiply"};
  const std::vector<std::string> of_bits = {"and", "or", "xor"};
  const std::vector<std::string> of_order = {"maximum", "minimum"};
  const auto expect_same = [](const std::string& type, const std::vector<std::string>& ops) {
    for (const std::string& op : ops) {
      for (const int64_t size : {0, 1, 2, 3}) {
        const hlo::Module module = module_of(reduce_of(type, size, op));
        const hlo::Module now = prepared(module);
        const Shape scalar = now.entry_computation().parameter_shape(1);
        const std::vector<Literal> x = {numbers(now.entry_computation().parameter_shape(0)),
                                        numbers(scalar)};
        const Literal want = interpreter::evaluate(module, x).value();
        EXPECT_EQ(interpreter::evaluate(now, x).value(), want) << hlo::print(now);
        const hlo::Instruction& reduce = only(now, hlo::Opcode::kReduce);
        EXPECT_EQ(now.entry_computation().at(reduce.operands[1]).opcode, hlo::Opcode::kConstant);
        EXPECT_EQ(hlo::print(prepared(now)), hlo::print(now));
      }
    }
  };
  for (const char* type :
       {"s1", "s2", "s4", "s8", "s16", "s32", "s64", "u1", "u2", "u4", "u8", "u16", "u32", "u64"}) {
    expect_same(type, of_numbers);
    expect_same(type, of_bits);
    expect_same(type, of_order);
  }
  for (const char* type : {"f16", "bf16", "f32", "f64"}) {
    expect_same(type, of_numbers);
    expect_same(type, of_order);
  }
  expect_same("pred", of_bits);
  expect_same("pred", of_order);
  expect_same("c64", of_numbers);
  expect_same("c128", of_numbers);
}

// Negative numbers and zeros of either sign: each identity is below, above or without effect.
TEST(ReduceStarts, OfExtremesKeepThem) {
  for (const char* op : {"maximum", "minimum", "add"}) {
    const hlo::Module module = module_of(reduce_of("f32", 2, op));
    const std::vector<Literal> x = {
        Literal::from<float>(Shape(f32, {3, 2}), {-INFINITY, -INFINITY, INFINITY, 1, -0.0F, -0.0F}),
        Literal::scalar(f32, -0.0)};
    const Literal got = interpreter::evaluate(prepared(module), x).value();
    const Literal want = interpreter::evaluate(module, x).value();
    EXPECT_TRUE(std::equal(got.bytes(), got.bytes() + got.byte_size(), want.bytes())) << op;
  }
}

TEST(ReduceStarts, ThatAreTheIdentityStay) {
  const hlo::Module module = module_of(
      "f { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(b, a) } ENTRY main { "
      "x = f32[3,1] parameter(0) i = f32[] constant(0) ROOT r = f32[3] reduce(x, i), "
      "dimensions={1}, to_apply=f }");
  EXPECT_EQ(hlo::print(prepared(module)), hlo::print(module));
}

TEST(ReduceStarts, OfWindowsAreAppliedOnce) {
  const hlo::Module module = module_of(
      "f { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, b) } ENTRY main { "
      "x = s32[40] parameter(0) i = s32[] constant(7) ROOT r = s32[40] reduce-window(x, i), "
      "window={size=40 pad=39_0}, to_apply=f }");
  const hlo::Module now = prepared(module);
  const std::vector<Literal> x = {numbers(Shape(s32, {40}))};
  EXPECT_EQ(interpreter::evaluate(now, x).value(), interpreter::evaluate(module, x).value());
  const hlo::Instruction& window = only(now, hlo::Opcode::kReduceWindow);
  const hlo::Instruction& start = now.entry_computation().at(window.operands[1]);
  EXPECT_EQ(start.attrs.get<hlo::ConstantAttrs>().literal, Literal::scalar(s32, int64_t{0}));
}

constexpr char kTwo[] =
    "two { a = s32[] parameter(0) b = f32[] parameter(1) x = s32[] parameter(2) y = f32[] "
    "parameter(3) p = pred[] compare(x, a), direction=GT m = s32[] select(p, x, a) n = f32[] "
    "select(p, y, b) ROOT t = (s32[], f32[]) tuple(m, n) } ";

// Of several arrays, over axes of size 1 and over none: a map for each result.
TEST(ReduceStarts, OfOneElementGoThroughTheFunction) {
  const std::vector<std::pair<std::string, std::string>> left = {
      {"1", "3,1"}, {"1,2", "3"}, {"", "3,1,1"}};
  for (const auto& [dimensions, sizes] : left) {
    const std::string text =
        base::cat(kTwo,
                  "ENTRY main { x = s32[3,1,1] parameter(0) y = f32[3,1,1] parameter(1) i = s32[] "
                  "parameter(2) j = f32[] parameter(3) ROOT r = (s32[",
                  sizes, "], f32[", sizes, "]) reduce(x, y, i, j), dimensions={", dimensions,
                  "}, to_apply=two }");
    const hlo::Module module = module_of(text);
    const hlo::Module now = prepared(module);
    EXPECT_THAT(hlo::print(now), Not(HasSubstr(" reduce("))) << dimensions;
    const std::vector<Literal> x = {Literal::from<int32_t>(Shape(s32, {3, 1, 1}), {0, 4, 9}),
                                    Literal::from<float>(Shape(f32, {3, 1, 1}), {1, 2, 3}),
                                    Literal::scalar(s32, int64_t{4}), Literal::scalar(f32, 0.5)};
    const Literal got = interpreter::evaluate(now, x).value();
    EXPECT_EQ(got, interpreter::evaluate(module, x).value()) << hlo::print(now);
    EXPECT_EQ(got.elements()[0].values<int32_t>()[0], 4);
  }
}

// In the body of a loop likewise, and by a function of one array that is no single op.
TEST(ReduceStarts, OfOneElementInALoopGoThroughTheFunction) {
  const hlo::Module module = module_of(
      "f { a = s32[] parameter(0) b = s32[] parameter(1) d = s32[] add(a, a) ROOT c = s32[] add(b, "
      "d) } more { s = (s32[], s32[2]) parameter(0) n = s32[] get-tuple-element(s), index=0 "
      "three = s32[] constant(3) ROOT c = pred[] compare(n, three), direction=LT } "
      "step { s = (s32[], s32[2]) parameter(0) n = s32[] get-tuple-element(s), index=0 "
      "x = s32[2] get-tuple-element(s), index=1 one = s32[] constant(1) m = s32[] add(n, one) "
      "w = s32[2,1] reshape(x) r = s32[2] reduce(w, m), dimensions={1}, to_apply=f "
      "ROOT t = (s32[], s32[2]) tuple(m, r) } "
      "ENTRY main { x = s32[2] parameter(0) z = s32[] constant(0) s = (s32[], s32[2]) tuple(z, x) "
      "w = (s32[], s32[2]) while(s), condition=more, body=step "
      "ROOT y = s32[2] get-tuple-element(w), index=1 }");
  const hlo::Module now = prepared(module);
  EXPECT_THAT(hlo::print(now), HasSubstr(" map("));
  const std::vector<Literal> x = {Literal::from<int32_t>(Shape(s32, {2}), {10, 20})};
  EXPECT_EQ(interpreter::evaluate(now, x).value(),
            Literal::from<int32_t>(Shape(s32, {2}), {10 + 2 + 4 + 6, 20 + 2 + 4 + 6}));
}

// Over more elements several arrays have their starts once on XLA too.
TEST(ReduceStarts, OfSeveralArraysOverMoreElementsStay) {
  const hlo::Module module = module_of(base::cat(
      kTwo,
      "ENTRY main { x = s32[3,2] parameter(0) y = f32[3,2] parameter(1) i = s32[] parameter(2) "
      "j = f32[] parameter(3) r = (s32[3], f32[3]) reduce(x, y, i, j), dimensions={1}, "
      "to_apply=two ROOT m = s32[3] get-tuple-element(r), index=0 }"));
  EXPECT_EQ(hlo::print(prepared(module)), hlo::print(module));
}

// f(a, b) = a + b + 1, whose identity is -1.
std::string one_more(const std::string& start, const std::string& reduction) {
  return base::cat(
      "f { a = s32[] parameter(0) b = s32[] parameter(1) o = s32[] constant(1) d = s32[] add(a, b) "
      "ROOT c = s32[] add(d, o) } ENTRY main { x = s32[3,40] parameter(0) i = s32[] constant(",
      start, ") ROOT r = ", reduction, ", to_apply=f }");
}

constexpr char kRows[] = "s32[3] reduce(x, i), dimensions={1}";
constexpr char kWindows[] = "s32[3,1] reduce-window(x, i), window={size=1x40}";

hlo::Module expect_same_values(const hlo::Module& module) {
  hlo::Module now = prepared(module);
  const std::vector<Literal> x = {numbers(module.entry_computation().parameter_shape(0))};
  EXPECT_EQ(interpreter::evaluate(now, x).value(), interpreter::evaluate(module, x).value())
      << hlo::print(now);
  EXPECT_EQ(hlo::print(prepared(now)), hlo::print(now));
  return now;
}

// XLA neither cuts nor merges reductions of several arrays.
TEST(ReduceStarts, OfOtherFunctionsAreThoseOfTwoArrays) {
  for (const char* reduction : {kRows, kWindows}) {
    const hlo::Module now = expect_same_values(module_of(one_more("7", reduction)));
    EXPECT_EQ(now.entry_computation().root_instruction().opcode, hlo::Opcode::kGetTupleElement);
  }
}

TEST(ReduceStarts, ThatAreAnIdentityByTheFormOfTheFunctionStay) {
  const std::string text =
      "f { a = f32[] parameter(0) b = f32[] parameter(1) p = pred[] compare(a, b), direction=GT "
      "ROOT c = f32[] select(p, a, b) } ENTRY main { x = f32[3,40] parameter(0) i = f32[] "
      "constant(-inf) ROOT r = f32[3] reduce(x, i), dimensions={1}, to_apply=f }";
  EXPECT_EQ(hlo::print(prepared(module_of(text))), hlo::print(module_of(text)));
}

TEST(ReduceStarts, OfRunningWindowsAreAppliedOnce) {
  const std::vector<std::pair<std::string, int>> paddings = {
      {"39_0", 40}, {"0_39", 40}, {"40_0", 41}, {"0_40", 41}};
  for (const auto& [padding, size] : paddings) {
    const hlo::Module now = expect_same_values(
        module_of(one_more("7", base::cat("s32[3,", size, "] reduce-window(x, i), ",
                                          "window={size=1x40 pad=0_0x", padding, "}"))));
    EXPECT_THAT(hlo::print(now), Not(HasSubstr("reduce-window("))) << padding;
  }
}

// Of any start, since XLA ends the process over 257 elements of several arrays.
TEST(ReduceStarts, OfRunningWindowsOfSeveralArraysAreAppliedOnce) {
  const hlo::Module module = module_of(base::cat(
      kTwo,
      "ENTRY main { x = s32[300] parameter(0) y = f32[300] convert(x) i = s32[] constant(4) j = "
      "f32[] constant(2) ROOT r = (s32[300], f32[300]) reduce-window(x, y, i, j), "
      "window={size=300 pad=299_0}, to_apply=two }"));
  EXPECT_THAT(hlo::print(expect_same_values(module)), Not(HasSubstr("reduce-window(")));
}

// A sum in a type wider than the elements' can only be taken in turn.
TEST(ReduceStarts, OfRunningWindowsOfTwoTypesStayInAWindowOfOneMore) {
  const hlo::Module module = module_of(
      "f { a = f32[] parameter(0) b = bf16[] parameter(1) d = f32[] convert(b) e = f32[] add(d, d) "
      "ROOT c = f32[] add(a, e) } ENTRY main { x = bf16[40] parameter(0) i = f32[] constant(7) "
      "ROOT r = f32[40] reduce-window(x, i), window={size=40 pad=39_0}, to_apply=f }");
  const Literal x(Shape(bf16, {40}));
  const hlo::Module now = prepared(module);
  EXPECT_EQ(interpreter::evaluate(now, {x}).value(), interpreter::evaluate(module, {x}).value());
  EXPECT_THAT(hlo::print(now), HasSubstr("window={size=41 pad=40_0}"));
}

}  // namespace
}  // namespace heddle::pjrt
