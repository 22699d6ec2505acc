#include "heddle/interpreter/custom_call.h"

#include <atomic>
#include <stdexcept>
#include <thread>

#include "heddle/base/support_test.h"
#include "heddle/hlo/calls/backend_config.h"
#include "heddle/interpreter/internal/custom_calls.h"
#include "heddle/interpreter/internal/testing.h"

namespace heddle::interpreter {
namespace {

// Registers for one test.
class Registered {
 public:
  Registered(std::string target, CustomCallFunction function) : target_(target) {
    const Status status = register_custom_call(std::move(target), std::move(function));
    if (!status.ok()) throw std::runtime_error(base::message_of(status));
  }
  ~Registered() { unregister_custom_call(target_); }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

 private:
  std::string target_;
};

StatusOr<Literal> doubled(CustomCall& call) {
  HEDDLE_ASSIGN_OR_RETURN(const std::span<const float> x, call.values<float>(0));
  Literal out = Literal::uninitialised(call.result());
  for (size_t i = 0; i < x.size(); ++i) out.mutable_values<float>()[i] = 2 * x[i];
  return out;
}

// One call of `target` on f32[3].
std::string program(std::string_view target, std::string_view config = "{}",
                    std::string_view result = "f32[3]") {
  return base::cat("HloModule m\nENTRY main {\n  x = f32[3] parameter(0)\n  ROOT y = ", result,
                   " custom-call(x), custom_call_target=\"", target, "\", backend_config=", config,
                   "\n}\n");
}

TEST(CustomCall, RunsTheFunctionOfItsTarget) {
  const Registered registered("doubled", doubled);
  EXPECT_THAT(run(program("doubled"), {floats({1, 2, 3})}).values<float>(), ElementsAre(2, 4, 6));
}

TEST(CustomCall, WithoutAFunctionSaysHowToGiveOne) {
  EXPECT_EQ(error_of(program("nobody.knows"), {floats({1, 2, 3})}),
            "custom-call: target nobody.knows has no function; give it one with "
            "interpreter::register_custom_call(\"nobody.knows\", ..) of "
            "heddle/interpreter/custom_call.h");
}

TEST(CustomCall, ATargetHasOneFunctionUntilItIsTakenBack) {
  ASSERT_TRUE(register_custom_call("once", doubled).ok());
  EXPECT_THAT(custom_call_targets(), Contains("once"));
  const Status again = register_custom_call("once", doubled);
  EXPECT_EQ(again.code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(base::message_of(again),
            "register_custom_call: target once has a function; take it back with "
            "unregister_custom_call first");
  EXPECT_TRUE(unregister_custom_call("once"));
  EXPECT_FALSE(unregister_custom_call("once"));
  EXPECT_THAT(error_of(program("once"), {floats({1, 2, 3})}), HasSubstr("has no function"));
}

TEST(CustomCall, BuiltInTargetsStay) {
  EXPECT_EQ(base::message_of(register_custom_call("Sharding", doubled)),
            "register_custom_call: target Sharding is built in; choose another name");
  EXPECT_FALSE(unregister_custom_call("Sharding"));
  EXPECT_EQ(base::message_of(register_custom_call("", doubled)),
            "register_custom_call: target is empty");
  EXPECT_EQ(base::message_of(register_custom_call("f", nullptr)),
            "register_custom_call: function is empty");
  EXPECT_THAT(custom_call_targets(), Contains("lapack_zheevd_ffi"));
  for (const std::string& target : builtin_call_targets())
    EXPECT_NE(find_custom_call(target), nullptr) << target;
  for (std::string_view target :
       {"lapack_", "lapack__ffi", "lapack_spotrf", "lapack_xpotrf_ffi", "lapack_sheevd_ffi"}) {
    EXPECT_EQ(find_custom_call(target), nullptr) << target;
  }
}

TEST(CustomCall, ErrorsOfTheFunctionAreThoseOfTheRun) {
  const Registered refuses("refuses", [](CustomCall& call) -> StatusOr<Literal> {
    return call.error("operand 0 has ", call[0].element_count(), " elements; must have none");
  });
  EXPECT_EQ(error_of(program("refuses"), {floats({1, 2, 3})}),
            "custom-call: refuses: operand 0 has 3 elements; must have none");
  const Registered throws(
      "throws", [](CustomCall&) -> StatusOr<Literal> { throw std::runtime_error("a tantrum"); });
  EXPECT_EQ(error_of(program("throws"), {floats({1, 2, 3})}),
            "custom-call: throws: threw a tantrum");
  const Registered throws_a_number("throws_a_number",
                                   [](CustomCall&) -> StatusOr<Literal> { throw 5; });
  EXPECT_EQ(error_of(program("throws_a_number"), {floats({1, 2, 3})}),
            "custom-call: throws_a_number: threw what is no std::exception");
}

TEST(CustomCall, WrongTypesAreErrors) {
  const Registered registered("doubled", doubled);
  EXPECT_THAT(
      error_of(
          "HloModule m\nENTRY main {\n  x = s32[3] parameter(0)\n  ROOT y = f32[3] custom-call(x), "
          "custom_call_target=\"doubled\"\n}\n",
          {run_testing::ints({1, 2, 3})}),
      HasSubstr("custom-call: doubled: operand 0 is s32[3]; its elements must be f32"));
  const Registered other("other", [](CustomCall& call) { return call.take(0); });
  EXPECT_EQ(error_of(program("other", "{}", "f32[4]"), {floats({1, 2, 3})}),
            "custom-call: other: returned f32[3]; must return f32[4], as the program declares");
  const Registered asks("asks", [](CustomCall& call) -> StatusOr<Literal> {
    HEDDLE_RETURN_IF_ERROR(call.values<float>(1).status());
    return call.take(0);
  });
  EXPECT_THAT(error_of(program("asks"), {floats({1, 2, 3})}),
              HasSubstr("has 1 operands; operand 1 was asked for"));
}

TEST(CustomCall, AnOperandTakenAtItsLastUseIsWrittenInPlace) {
  bool unique = false;
  const Registered registered("in_place", [&](CustomCall& call) -> StatusOr<Literal> {
    HEDDLE_ASSIGN_OR_RETURN(Literal x, call.take(0));
    unique = x.is_unique();
    x.mutable_values<float>()[0] = 7;
    return x;
  });
  std::vector<Literal> arguments;  // not a list in braces, which would keep a copy
  arguments.push_back(floats({1, 2, 3}));
  const Literal got = run(program("in_place"), std::move(arguments));
  EXPECT_THAT(got.values<float>(), ElementsAre(7, 2, 3));
  EXPECT_TRUE(unique);
}

TEST(CustomCall, ReadsItsBackendConfig) {
  std::string seen;
  const Registered registered("reads", [&](CustomCall& call) -> StatusOr<Literal> {
    HEDDLE_ASSIGN_OR_RETURN(const int64_t n, call.integer("n"));
    HEDDLE_ASSIGN_OR_RETURN(const double x, call.number("x"));
    HEDDLE_ASSIGN_OR_RETURN(const bool on, call.boolean("on"));
    HEDDLE_ASSIGN_OR_RETURN(const std::string text, call.text("text"));
    seen = base::cat(n, " ", x, " ", on, " ", text, " | ",
                     base::message_of(call.integer("missing").status()), " | ",
                     base::message_of(call.integer("text").status()));
    return call.take(0);
  });
  ASSERT_EQ(run(program("reads", R"({n = -3 : i64, on, text = "a, \"b\": {", x = 2.5e-1 : f32})"),
                {floats({1, 2, 3})})
                .element_count(),
            3);
  EXPECT_THAT(seen, HasSubstr("-3 0.25 true a, \"b\": { | custom-call: reads: backend_config has "
                              "no entry missing; it is {n"));
  EXPECT_THAT(seen, HasSubstr("must be an integer"));
  ASSERT_EQ(
      run(program("reads", R"({"n": 4, "on": false, "text": "t", "x": 3})"), {floats({1, 2, 3})})
          .element_count(),
      3);
  EXPECT_THAT(seen, HasSubstr("4 3 false t"));
}

TEST(CustomCall, EntriesOfOddDictionaries) {
  for (std::string_view text : {"", "{", "}", "{}", "text", "{=}", "{,}", "{a", "{\"a}"}) {
    EXPECT_FALSE(find_entry(text, "b").found) << text;
  }
  EXPECT_EQ(find_entry("{a = {b = 1}, b = [1, 2]}", "b").value, "[1, 2]");
  EXPECT_EQ(find_entry("{\"b\": {\"c\": 1}}", "b").value, "{\"c\": 1}");
}

TEST(CustomCall, CallsTheComputationsThatItNames) {
  const Registered registered("applies", [](CustomCall& call) -> StatusOr<Literal> {
    const Literal one = Literal::scalar(f32, 1.0);
    HEDDLE_RETURN_IF_ERROR(call.call(0, std::vector<Literal>{call[0], call[0]}).status());
    EXPECT_FALSE(call.call(0, std::vector<Literal>{one}).ok());
    EXPECT_FALSE(call.call(1, std::vector<Literal>{one}).ok());
    return call.call(0, std::vector<Literal>{call[0], one});
  });
  const Literal sum = run(R"(HloModule m
    plus { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
    ENTRY main {
      x = f32[] parameter(0)
      ROOT y = f32[] custom-call(x), custom_call_target="applies", to_apply=plus
    })",
                          {f32_of(4)});
  EXPECT_EQ(sum.values<float>()[0], 5);
}

TEST(CustomCall, ThreadsRegisterAndCallAtOnce) {
  const Registered shared("shared", doubled);
  std::atomic<int> wrong = 0;
  auto work = [&](const std::string& own) {
    for (int i = 0; i < 50; ++i) {
      wrong += !register_custom_call(own, doubled).ok();
      for (const std::string& target : {own, std::string("shared")}) {
        const auto result = evaluate(run_testing::parsed(program(target)), {floats({1, 2, 3})});
        wrong += !result.ok() || result->values<float>()[2] != 6;
      }
      wrong += !unregister_custom_call(own);
    }
  };
  std::thread first(work, "first"), second(work, "second");
  first.join();
  second.join();
  EXPECT_EQ(wrong, 0);
}

TEST(BuiltinCalls, IdentitiesGiveTheirOperand) {
  for (std::string_view target :
       {"Sharding", "xla.sdy.FuncResultSharding", "annotate_device_placement"}) {
    EXPECT_EQ(run(program(target), {floats({1, 2, 3})}), floats({1, 2, 3})) << target;
  }
}

TEST(BuiltinCalls, TopKSortsTheLastDimension) {
  const Literal got = run(R"(HloModule m
    more { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT g = pred[] compare(a, b), direction=GT }
    ENTRY main {
      x = f32[4] parameter(0)
      ROOT y = (f32[2], s32[2]) custom-call(x), custom_call_target="TopK", called_computations={more}
    })",
                          {floats({1, 5, -2, 5})});
  EXPECT_THAT(got.element(0).values<float>(), ElementsAre(5, 5));
  EXPECT_THAT(got.element(1).values<int32_t>(), ElementsAre(1, 3));
  EXPECT_THAT(error_of(program("TopK", "{}", "(f32[4], s32[4])"), {floats({1, 2, 3})}),
              HasSubstr("fewer than the 4"));
}

TEST(BuiltinCalls, ApproxTopKFollowsItsComparator) {
  const Literal got = run(R"(HloModule m
    less { a = f32[] parameter(0)  b = f32[] parameter(1)  i = s32[] parameter(2)  j = s32[] parameter(3)
           ROOT g = pred[] compare(a, b), direction=LT }
    ENTRY main {
      x = f32[3,2] parameter(0)
      i = s32[3,2] iota(), iota_dimension=0
      none = f32[] constant(inf)
      zero = s32[] constant(-1)
      ROOT y = (f32[2,2], s32[2,2]) custom-call(x, i, none, zero), custom_call_target="ApproxTopK",
        called_computations={less}, backend_config={reduction_dim = 0 : i64, top_k = 2 : i64}
    })",
                          {Literal::from<float>(Shape(f32, {3, 2}), {3, 1, 2, 5, 1, 4})});
  EXPECT_THAT(got.element(0).values<float>(), ElementsAre(1, 1, 2, 4));
  EXPECT_THAT(got.element(1).values<int32_t>(), ElementsAre(2, 0, 1, 2));
}

// [[0, 5, 6], [0, 0, 0], [7, 0, 0]]
TEST(BuiltinCalls, SparseMatricesOfRowsTimesDenseOnes) {
  const auto text = [](std::string_view dense, std::string_view result) {
    return base::cat(
        "HloModule m\nENTRY main {\n  data = f32[3] parameter(0)\n  outer = s32[4] parameter(1)\n",
        "  inner = s32[3] parameter(2)\n  dense = ", dense, " parameter(3)\n  ROOT y = ", result,
        " custom-call(data, outer, inner, dense), "
        "custom_call_target=\"cpu_csr_sparse_dense_ffi\"\n}\n");
  };
  const auto indices = [](std::vector<int32_t> values) {
    return Literal::from<int32_t>(Shape(s32, {static_cast<int64_t>(values.size())}), values);
  };
  const Literal data = floats({5, 6, 7}), outer = indices({0, 2, 2, 3}), inner = indices({1, 2, 0});
  EXPECT_THAT(
      run(text("f32[3]", "f32[3]"), {data, outer, inner, floats({1, 10, 100})}).values<float>(),
      ElementsAre(650, 0, 7));
  const Literal matrix = Literal::from<float>(Shape(f32, {3, 2}), {1, 2, 10, 20, 100, 200});
  EXPECT_THAT(run(text("f32[3,2]", "f32[3,2]"), {data, outer, inner, matrix}).values<float>(),
              ElementsAre(650, 1300, 0, 0, 7, 14));
  EXPECT_THAT(
      error_of(text("f32[3]", "f32[3]"), {data, outer, indices({1, 3, 0}), floats({1, 10, 100})}),
      HasSubstr("an index is out of bounds of the 3 elements and 3 columns"));
  EXPECT_THAT(error_of(text("f32[3]", "f32[2]"), {data, outer, inner, floats({1, 10, 100})}),
              HasSubstr("must be f32[3]"));
}

TEST(BuiltinCalls, ShapeAssertionsFailWithTheirMessage) {
  auto text = [](std::string_view ok) {
    return base::cat(
        "HloModule m\nENTRY main {\n  ok = pred[] constant(", ok, ")\n  n = s32[] constant(7)\n",
        "  ROOT y = () custom-call(ok, n), custom_call_target=\"shape_assertion\", ",
        "custom_call_has_side_effect=true, backend_config={error_message = \"b has size "
        "{0}\"}\n}\n");
  };
  EXPECT_EQ(error_of(text("true")), "no error");
  EXPECT_EQ(error_of(text("false")), "custom-call: shape_assertion: b has size 7");
}

}  // namespace
}  // namespace heddle::interpreter
