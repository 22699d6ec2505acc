// Mistakes of a new user at run time: what Heddle says, and with which line.
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "heddle/base/support_test.h"
#include "heddle/heddle.h"
#include "heddle/testing.h"
#include "heddle/tests/support/outcomes.h"

namespace heddle {
namespace {

using testing::FloatEq;

using Named = std::map<std::string, Tensor>;
using List = std::vector<Tensor>;
struct Maybe {
  Tensor a;
  std::optional<Tensor> b;
  static constexpr auto kFields = fields(field("a", &Maybe::a), field("b", &Maybe::b));
};

// ---- Typed programs.

TEST(TypedProgram, IsCalledAsTheFunctionWas) {
  const auto twice = trace([](Tensor x) { return x * 2; }, placeholder({2}, f32));
  const Tensor y = twice(ones({2}));
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(2, 2));
  EXPECT_THAT(twice.call(ones({2})).to_vector<float>(), ElementsAre(2, 2));
  EXPECT_THAT(twice.call<Tensor>(ones({2})).to_vector<float>(), ElementsAre(2, 2));
  const Program untyped = twice;
  EXPECT_THAT(untyped.call<Tensor>(ones({2})).to_vector<float>(), ElementsAre(2, 2));
  const auto compiled = twice.compile();
  EXPECT_THAT(compiled(ones({2})).to_vector<float>(), ElementsAre(2, 2));
  const CompiledProgram plain = twice.compile("interpreter:0");
  EXPECT_THAT(plain.call<Tensor>(device_put(ones({2}), "interpreter:0")).to_vector<float>(),
              ElementsAre(2, 2));
}

TEST(TypedProgram, TakesAndReturnsTrees) {
  const auto both = [](const Named& t, Tensor x) { return std::pair(t.at("w") * x, List{x, x}); };
  const auto p = trace(both, Named{{"w", ones({2})}}, ones({2}));
  const auto [product, list] = p(Named{{"w", ones({2})}}, 3 * ones({2}));
  EXPECT_THAT(product.to_vector<float>(), ElementsAre(3, 3));
  EXPECT_EQ(list.size(), 2u);
  const auto none = trace([] { return std::array{ones({2}), zeros({2})}; });
  EXPECT_THAT(none()[0].to_vector<float>(), ElementsAre(1, 1));
  const auto lowered = p.lowered();
  EXPECT_THAT(lowered(Named{{"w", ones({2})}}, ones({2})).first.to_vector<float>(),
              ElementsAre(1, 1));
}

// ---- Functions of Heddle's by their names, which C's math has too.

TEST(ByName, FunctionsAreTakenWhereACallableIs) {
  const Tensor x = ones({2}), half = full({2}, 0.5f);
  const float e = std::exp(1.0f);
  const auto is_small = [](Tensor a) { return all(a < 2); };
  EXPECT_THAT(trace(exp, x)(x).to_vector<float>(), Each(FloatEq(e)));
  EXPECT_THAT(trace(fmod, x, half)(x, half).to_vector<float>(), ElementsAre(0, 0));
  EXPECT_TRUE(try_trace(exp, x).ok());
  EXPECT_TRUE(try_trace(fmod, x, half).ok());
  EXPECT_THAT(tree_map(exp, List{x})[0].to_vector<float>(), Each(FloatEq(e)));
  EXPECT_THAT(tree_map(fmod, List{x}, List{half})[0].to_vector<float>(), ElementsAre(0, 0));
  EXPECT_THAT(cond(true, exp, log, x).to_vector<float>(), Each(FloatEq(e)));
  EXPECT_THAT(cond(false, fmod, hypot, x, 0 * x).to_vector<float>(), ElementsAre(1, 1));
  EXPECT_THAT(cond(
                  false, exp, [](Tensor a) { return a; }, x)
                  .to_vector<float>(),
              ElementsAre(1, 1));
  EXPECT_THAT(cond(
                  true, [](Tensor a) { return a; }, exp, x)
                  .to_vector<float>(),
              ElementsAre(1, 1));
  EXPECT_THAT(switch_case(1, {exp, log}, x).to_vector<float>(), ElementsAre(0, 0));
  EXPECT_THAT(while_loop(is_small, exp, x).to_vector<float>(), Each(FloatEq(e)));
  EXPECT_EQ(while_loop(is_small, exp, 0.0f, {.max_steps = 1}).item<float>(), 1);
  const Function named("exp", exp);
  const Function of_two("fmod", fmod);
  EXPECT_THAT(named(x).to_vector<float>(), Each(FloatEq(e)));
  EXPECT_THAT(of_two(x, half).to_vector<float>(), ElementsAre(0, 0));
  EXPECT_THAT(map(named, x).to_vector<float>(), Each(FloatEq(e)));
}

TEST(ByName, ErrorsHaveTheLineOfTheCall) {
  const Tensor n = arange(2);
  const auto says = AllOf(HasSubstr("exp: x is s32[2]"), HasSubstr("[mistakes_test.cc:"));
  EXPECT_THAT(error_of([&] { trace(exp, n); }), says);
  EXPECT_THAT(error_of([&] { tree_map(exp, n); }), says);
  EXPECT_THAT(error_of([&] { cond(true, exp, exp, n); }), says);
  EXPECT_THAT(error_of([&] { switch_case(0, {exp, exp}, n); }), says);
  EXPECT_THAT(error_of([&] { Function("exp", exp)(n); }), says);
}

TEST(TypedProgram, ErrorsOfACallHaveItsLine) {
  const auto p = trace([](Tensor x) { return x * 2; }, placeholder({2}, f32));
  EXPECT_THAT(error_of([&] { p(ones({3})); }),
              AllOf(StartsWith("call: argument arg0 is f32[3]; the program was traced with f32[2]"),
                    HasSubstr("mistakes_test.cc:")));
  const auto compiled = p.compile();
  EXPECT_THAT(error_of([&] { compiled(ones({3})); }), HasSubstr("mistakes_test.cc:"));
}

TEST(TypedProgram, TryTraceGivesOneToo) {
  const auto p = try_trace([](Tensor x) { return x + 1; }, placeholder({2}, f32));
  ASSERT_TRUE(p.ok());
  EXPECT_THAT((*p)(ones({2})).to_vector<float>(), ElementsAre(2, 2));
  const StatusOr<Program> plain = try_trace([](Tensor x) { return x + 1; }, placeholder({2}, f32));
  EXPECT_TRUE(plain.ok());
}

TEST(TypedProgram, IsACallableInOtherTraces) {
  const auto twice = trace([](Tensor x) { return x * 2; }, placeholder({}, f32));
  EXPECT_THAT(map(twice, arange(3).astype(f32)).to_vector<float>(), ElementsAre(0, 2, 4));
  const auto outer = trace([&](Tensor x) { return twice(x) + 1; }, placeholder({}, f32));
  EXPECT_EQ(outer(scalar(3.0f)).item<float>(), 7);
}

TEST(TypedProgram, HasTheNameOfANamedFunction) {
  const Function step("my step", [](Tensor x) { return x + 1; });
  const auto p = trace(step, placeholder({}, f32));
  EXPECT_EQ(p.signature().name, "my_step");
  EXPECT_THAT(p.hlo_text(), StartsWith("HloModule my_step"));
  EXPECT_EQ(p(scalar(1.0f)).item<float>(), 2);
}

// ---- Moved from.

TEST(MovedFrom, TensorsSaySo) {
  Tensor x = ones({2});
  const Tensor y = std::move(x);
  EXPECT_THAT(error_of([&] { x + 1; }),
              StartsWith("add: operand was moved from and has no value; use the variable"));
  EXPECT_THAT(error_of([&] { (void)x.shape(); }), HasSubstr("was moved from"));
  EXPECT_THAT(error_of([&] { (void)x.item<float>(); }), HasSubstr("was moved from"));
  EXPECT_EQ(to_string(x), "no value (moved from)");
  EXPECT_FALSE(x.is_valid() || x.is_traced() || x.is_placeholder() || x.is_ready());
  EXPECT_EQ(x.id(), 0u);
  x = y;
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(1, 1));
  Tensor& itself = x;
  x = std::move(itself);
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(1, 1));
  Tensor z = y;
  z = std::move(x);
  EXPECT_THAT(error_of([&] { exp(x); }), HasSubstr("was moved from"));
  std::swap(x, z);
  EXPECT_TRUE(x.is_valid());
  EXPECT_EQ(to_string(z), "no value (moved from)");
  EXPECT_EQ(to_string(Tensor()), "no value");
}

TEST(MovedFrom, TreesNameThePath) {
  Maybe m{ones({}), ones({})};
  const Tensor taken = std::move(*m.b);
  auto step = [](Maybe c, Tensor) { return std::pair(c, None{}); };
  EXPECT_THAT(error_of([&] { scan(step, m, ones({3})); }),
              StartsWith("scan: carry.b was moved from and has no value; use the variable"));
  const auto p = trace([](Maybe o) { return o.a; }, Maybe{ones({}), ones({})});
  EXPECT_THAT(error_of([&] { p(m); }),
              StartsWith("call: argument arg0.b was moved from and has no value"));
  EXPECT_THAT(error_of([&] { trace([](Maybe o) { return o.a; }, m); }),
              StartsWith("trace: arg0.b was moved from"));
}

TEST(MovedFrom, EveryPublicObjectSaysSo) {
  Program p = trace([](Tensor x) { return x; }, placeholder({2}, f32));
  const Program q = std::move(p);
  const Tensor x = ones({2});
  EXPECT_THAT(error_of([&] { p.call<Tensor>(x); }),
              HasSubstr("the program was moved from and is empty; use the one that it was moved"));
  EXPECT_THAT(error_of([&] { (void)p.hlo_text(); }),
              AllOf(StartsWith("hlo_text: the program was moved"), EndsWith("]")));
  EXPECT_THAT(error_of([&] { (void)p.signature(); }), HasSubstr("moved from"));
  EXPECT_THAT(error_of([&] { (void)p.module(); }), HasSubstr("moved from"));
  EXPECT_THAT(error_of([&] { (void)p.lowered(); }), HasSubstr("moved from"));
  EXPECT_THAT(error_of([&] { (void)p.hlo_proto(); }), HasSubstr("moved from"));
  EXPECT_THAT(error_of([&] { (void)p.result_spec(); }), HasSubstr("moved from"));
  EXPECT_THAT(error_of([&] { (void)p.bind(x, x); }), HasSubstr("moved from"));
  EXPECT_THAT(error_of([&] { (void)p.compile(); }), HasSubstr("moved from"));
  EXPECT_THAT(error_of([&] { (void)p.with_executable(q.compile().executable()); }),
              HasSubstr("moved from"));
  EXPECT_THAT(error_of([&] { p.run({}); }), HasSubstr("moved from"));

  CompiledProgram c = q.compile();
  const CompiledProgram d = std::move(c);
  EXPECT_THAT(error_of([&] { c.call<Tensor>(x); }), HasSubstr("compiled program was moved from"));
  EXPECT_THAT(error_of([&] { (void)c.device(); }), HasSubstr("moved from"));
  EXPECT_THAT(error_of([&] { (void)c.options(); }), HasSubstr("moved from"));
  EXPECT_THAT(error_of([&] { (void)c.cost(); }), HasSubstr("moved from"));
  EXPECT_THAT(error_of([&] { (void)c.executable(); }), HasSubstr("moved from"));
  EXPECT_THAT(error_of([&] { (void)c.with({.donate = {0}}); }), HasSubstr("moved from"));
  EXPECT_EQ(to_string(c), "a compiled program that was moved from");

  Mesh mesh({{"data", 2}});
  const Mesh other = std::move(mesh);
  EXPECT_THAT(error_of([&] { (void)mesh.axes(); }), HasSubstr("mesh was moved from"));
  EXPECT_THAT(error_of([&] { (void)mesh.size(); }), HasSubstr("mesh was moved from"));
  EXPECT_THAT(error_of([&] { (void)mesh.device(); }), HasSubstr("mesh was moved from"));
  EXPECT_THAT(error_of([&] { (void)to_string(mesh); }), HasSubstr("mesh was moved from"));
  EXPECT_THAT(error_of([&] { Sharding(mesh, {"data"}); }), HasSubstr("mesh was moved from"));
  EXPECT_FALSE(mesh == other);
  Sharding cut(other, {"data"});
  const Sharding taken = std::move(cut);
  EXPECT_THAT(error_of([&] { with_sharding(x, cut); }), HasSubstr("mesh was moved from"));
  EXPECT_THAT(error_of([&] { (void)cut.to_hlo(1); }), HasSubstr("mesh was moved from"));

  Function step("step", [](Tensor a, Tensor b) { return std::pair(a + b, None{}); });
  const Function moved = std::move(step);
  EXPECT_THAT(error_of([&] { scan(step, zeros({}), x); }),
              HasSubstr("the Function made at mistakes_test.cc:"));
  EXPECT_THAT(error_of([&] { step(x, x); }), HasSubstr("the Function made at mistakes_test.cc:"));
  EXPECT_EQ(scan(moved, zeros({}), x).first.item<float>(), 2);

  Literal value = x.to_literal();
  const Literal kept = std::move(value);
  EXPECT_THAT(error_of([&] { array(value); }), HasSubstr("literal was moved from"));

  IndexEntry entry(arange(2));
  const IndexEntry gone = std::move(entry);
  EXPECT_THAT(error_of([&] { (void)x[entry]; }), HasSubstr("was moved from"));
  At place = x.at(0);
  const At there = std::move(place);
  EXPECT_THAT(error_of([&] { (void)place.set(1); }), HasSubstr("was moved from"));
  TopK top = top_k(x, 1);
  const TopK best = std::move(top);
  EXPECT_THAT(error_of([&] { top.values + 1; }), HasSubstr("was moved from"));
}

TEST(MovedFrom, KeysSaySo) {
  Tensor key = random::key(1);
  const Tensor spent = std::move(key);
  EXPECT_THAT(error_of([&] { random::normal(key, {2}); }), HasSubstr("was moved from"));
}

TEST(NoValue, AKeyThatOperatorBracketsMadeIsNamed) {
  Named t{{"a", ones({})}};
  (void)t["lvl"];
  auto step = [](Named c, Tensor) { return std::pair(c, None{}); };
  EXPECT_THAT(error_of([&] { scan(step, t, ones({3})); }),
              StartsWith("scan: carry['lvl'] has no value: operator[] of a map makes an empty "
                         "Tensor of a key that is missing; assign one first"));
  EXPECT_THAT(error_of([&] { t["level"] + 1; }),
              HasSubstr("add: operand has no value (a default-constructed Tensor), as operator[] "
                        "of a map makes it of a key that is missing"));
}

// ---- Leaks.

TEST(Leak, SaysWhichFunctionAndWhere) {
  Tensor kept;
  const Function predict("predict", [&](Tensor x) { return kept = x * 2; });
  trace(predict, placeholder({}, f32));
  EXPECT_THAT(error_of([&] { kept + 1; }),
              AllOf(HasSubstr("that escaped from the function 'predict' traced at mistakes_test"),
                    HasSubstr("which has ended; return it from the traced function")));
  trace([&](Tensor x) { return kept = x * 2; }, placeholder({}, f32));
  EXPECT_THAT(error_of([&] { kept + 1; }),
              HasSubstr("that escaped from the function traced at mistakes_test.cc:"));
  EXPECT_THAT(error_of([&] { (void)kept.to_vector<float>(); }), StartsWith("to_vector: operand"));
}

// ---- C++ numbers.

TEST(Numbers, AnInitThatIsACppNumberIsTold) {
  const Tensor xs = ones({3});
  auto sum_up = [](Tensor c, Tensor x) { return std::pair(c + x, None{}); };
  EXPECT_THAT(error_of([&] { scan(sum_up, 0.0, xs); }),
              AllOf(StartsWith("add: operands are f64[] and f32[]; their dtypes must be equal, one "
                               "is the init of scan, the C++ number 0.0 at mistakes_test.cc:"),
                    HasSubstr(", which is f64; write 0.0f there"), Not(HasSubstr("astype"))));
  EXPECT_THAT(error_of([&] { scan(sum_up, 0, xs); }),
              AllOf(HasSubstr("the C++ number 0 at"), HasSubstr("which is s32; write 0.0f there")));
  EXPECT_THAT(
      error_of([&] { scan(sum_up, scalar(0.5), xs); }),
      AllOf(HasSubstr("the init of scan, the C++ number 0.5 at"), HasSubstr("write 0.5f there")));
  EXPECT_THAT(error_of([&] { scalar(2.0) + xs; }),
              AllOf(HasSubstr("one is the C++ number 2.0 at"), HasSubstr("write 2.0f there")));
  EXPECT_THAT(error_of([&] { xs.astype(bf16) * scalar(2.0); }),
              HasSubstr("write full({}, 2, bf16) there"));
  EXPECT_THAT(error_of([&] { trace([&](Tensor x) { return scan(sum_up, 0.0, x).first; }, xs); }),
              HasSubstr("write 0.0f there"));
}

TEST(Numbers, SoAreThoseOfOtherLoopsAndOfWhatFollowsFromThem) {
  const Tensor x = ones({});
  EXPECT_THAT(error_of([&] {
                while_loop([](Tensor c) { return c < 3.0; }, [&](Tensor c) { return c + x; }, 0.0);
              }),
              HasSubstr("the init of while_loop, the C++ number 0.0 at"));
  EXPECT_THAT(error_of([&] {
                fori_loop(
                    0, 3, [&](Tensor, Tensor c) { return c + x; }, 0.0);
              }),
              HasSubstr("the init of fori_loop, the C++ number 0.0 at"));
  EXPECT_THAT(error_of([&] {
                cond(
                    true, [&](Tensor c) { return c + x; }, [&](Tensor c) { return c - x; }, 1.5);
              }),
              HasSubstr("an operand of cond, the C++ number 1.5 at"));
  EXPECT_THAT(error_of([&] {
                scan([](Tensor c, Tensor v) { return std::pair(exp(c * 0.5) + v, None{}); }, 0.0,
                     ones({3}));
              }),
              AllOf(HasSubstr("the C++ number 0.0"), HasSubstr("write 0.0f there")));
  // An array that is meant to be f64 has no number to blame.
  const Tensor wide = ones({}, f64);
  EXPECT_THAT(error_of([&] {
                scan([&](Tensor c, Tensor v) { return std::pair((c + wide) * v, None{}); }, 0.0,
                     ones({3}));
              }),
              HasSubstr("cast one with astype(f64)"));
}

TEST(Numbers, ACarryThatStartsAsOneIsTold) {
  auto other = [](Tensor, Tensor x) { return std::pair(x, None{}); };
  EXPECT_THAT(
      error_of([&] { scan(other, 0.0, ones({3})); }),
      AllOf(StartsWith("scan: carry enters as f64[] and leaves as f32[] (dtypes differ); it "
                       "starts as the C++ number 0.0 at mistakes_test.cc:"),
            HasSubstr("which is f64; write 0.0f there")));
}

// ---- Structures.

TEST(Structures, ACarryThatGrowsNamesThePath) {
  const Tensor xs = ones({3});
  EXPECT_THAT(
      error_of([&] {
        scan(
            [](Maybe c, Tensor x) {
              c.b = x;
              return std::pair(c, None{});
            },
            Maybe{ones({}), {}}, xs);
      }),
      StartsWith("scan: carry.b enters as an empty optional and leaves as f32[]; return the "
                 "structure that carry started with"));
  EXPECT_THAT(error_of([&] {
                scan(
                    [](Named c, Tensor x) {
                      c["seen"] = x;
                      return std::pair(c, None{});
                    },
                    Named{{"level", ones({})}}, xs);
              }),
              StartsWith("scan: carry['seen'] enters as nothing and leaves as f32[]"));
  EXPECT_THAT(error_of([&] {
                scan(
                    [](List c, Tensor x) {
                      c.push_back(x);
                      return std::pair(c, None{});
                    },
                    List{ones({})}, xs);
              }),
              StartsWith("scan: carry enters as a vector of 1 and leaves as a vector of 2"));
  EXPECT_THAT(error_of([&] {
                scan_layers([](Maybe m, Tensor x) { return m.b ? x + *m.b : x; },
                            std::vector{Maybe{ones({}), {}}, Maybe{ones({}), ones({})}}, ones({}));
              }),
              StartsWith("scan_layers: layer.b is an empty optional in layer 0 and a tensor in "
                         "layer 1"));
}

// ---- Ops.

TEST(Empty, HasNoGreatestAndNoLeast) {
  const Tensor x = zeros({0, 3});
  EXPECT_THAT(error_of([&] { max(x, {.axes = {0}}); }),
              StartsWith("max: axis 0 of f32[0,3] has size 0; there is no greatest"));
  EXPECT_THAT(error_of([&] { min(x); }), StartsWith("min: axis 0 of f32[0,3] has size 0"));
  EXPECT_THAT(error_of([&] { ptp(x); }), StartsWith("ptp: axis 0 of f32[0,3] has size 0"));
  EXPECT_THAT(error_of([&] { nan_max(x); }), StartsWith("nan_max: axis 0 of f32[0,3] has size 0"));
  EXPECT_THAT(error_of([&] { nan_min(x); }), StartsWith("nan_min: axis 0"));
  EXPECT_THAT(error_of([&] { argmax(x, 0); }), StartsWith("argmax: axis 0"));
  EXPECT_THAT(error_of([&] { nan_argmin(x, 0); }), StartsWith("nan_argmin: axis 0"));
  EXPECT_EQ(max(x, {.axes = {1}}).shape(), Shape(f32, {0}));  // three of each of no rows
  EXPECT_EQ(sum(x).item<float>(), 0);
  EXPECT_EQ(prod(x).item<float>(), 1);
  EXPECT_EQ(logsumexp(x).item<float>(), -INFINITY);
  EXPECT_EQ(softmax(x, 0).shape(), Shape(f32, {0, 3}));
}

TEST(Sort, DescendingPutsNaNFirstAsJaxDoes) {
  const Tensor x = array<float>({1, NAN, 3, -INFINITY, 2});
  EXPECT_THAT(argsort(x, 0, true).to_vector<int>(), ElementsAre(1, 2, 4, 0, 3));
  EXPECT_THAT(argsort(x, 0).to_vector<int>(), ElementsAre(3, 0, 4, 2, 1));
  const std::vector<float> sorted = sort(x, 0, true).to_vector<float>();
  EXPECT_TRUE(std::isnan(sorted[0]));
  EXPECT_EQ(sorted[1], 3);
  EXPECT_EQ(sorted[4], -INFINITY);
  EXPECT_THAT(top_k(x, 2).indices.to_vector<int>(), ElementsAre(1, 2));
}

#ifndef __SANITIZE_ADDRESS__
TEST(Memory, AnArrayThatIsTooLargeIsNamedWithItsBytesAndLine) {
  EXPECT_THAT(error_of([] {
                const Tensor x = ones({1 << 24, 1 << 24});
                (void)x.wait();
              }),
              AllOf(HasSubstr("needs more memory than there is: f32[16777216,16777216] alone takes "
                              "1125899906842624 bytes, the machine has "),
                    HasSubstr("; make it in parts, or reduce it in the loop that gives it"),
                    HasSubstr("[mistakes_test.cc:")));
}
#endif

}  // namespace
}  // namespace heddle
