// Derivatives of modules from text: malformed modules are errors, and nothing reads out of bounds.
#include "heddle/transform/derivatives.h"

#include "heddle/base/support_test.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/verify.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/interpreter/evaluate_together.h"
#include "heddle/transform/derivatives/internal/parts.h"

namespace heddle::transform {
namespace {

// The text of the gradient by the parameters in `of`, or the error's message.
std::string gradient_of(std::string_view text, const std::vector<bool>& of) {
  const auto module = hlo::parse_text(text);
  if (!module.ok()) return std::string(module.status().message());
  const auto made = gradient(*module, of);
  if (!made.ok()) return std::string(made.status().message());
  const Status status = hlo::verify(*made);
  return status.ok() ? hlo::print(*made) : std::string(status.message());
}
std::string transpose_of(std::string_view text, const std::vector<bool>& linear) {
  const auto module = hlo::parse_text(text);
  if (!module.ok()) return std::string(module.status().message());
  const auto made = transpose(*module, linear);
  if (!made.ok()) return std::string(made.status().message());
  const Status status = hlo::verify(*made);
  return status.ok() ? hlo::print(*made) : std::string(status.message());
}

constexpr std::string_view kRules = R"(
  fn { ROOT x = f32[] parameter(0) }
  rule {
    x = f32[] parameter(0)
    dx = f32[] parameter(1)
    more = f32[] parameter(2)
    ROOT r = (f32[], f32[]) tuple(x, dx)
  }
  add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
)";

TEST(DerivativesOfText, CustomRulesOfOtherTypesAreRefused) {
  struct Case {
    std::string_view target, called, counts;
  };
  for (const auto& [target, called, counts] : {
           Case{"custom_jvp", "fn, rule", "1,0,0"},
           Case{"custom_jvp", "fn", "1,0,0"},
           Case{"custom_vjp", "fn, rule, rule", "1,0,0,0"},
           Case{"root", "fn, rule, rule", "1,0,0,0"},
           Case{"linear_solve", "fn, rule", "1,0,0"},
           Case{"linear_solve", "fn, rule", "9,9"},
       }) {
    const std::string text =
        base::cat("HloModule m\n", kRules, "ENTRY main {\n  x = f32[] parameter(0)\n",
                  "  y = (f32[]) custom-call(x), custom_call_target=\"heddle.", target,
                  "\", called_computations={", called, "}, backend_config=\"", counts,
                  "\"\n  ROOT z = f32[] get-tuple-element(y), index=0\n}");
    EXPECT_THAT(gradient_of(text, {true}),
                HasSubstr("its operands are not those that its backend_config says"))
        << text;
  }
}

TEST(DerivativesOfText, NamedDerivativesOfOtherTypesAreRefused) {
  for (const std::string_view name : {"qr", "det", "pinv", "none"}) {
    const std::string one = base::cat(R"(HloModule m
      fn { ROOT x = f32[3] parameter(0) }
      ENTRY main {
        x = f32[3] parameter(0)
        y = f32[3] call(x), to_apply=fn, frontend_attributes={heddle.derivative=")",
                                      name, R"("}
        w = f32[1] slice(y), slice={[0:1]}
        ROOT z = f32[] reshape(w)
      })");
    EXPECT_THAT(gradient_of(one, {true}), HasSubstr("derivative")) << name;
    EXPECT_THAT(gradient_of(one, {true}), HasSubstr(name)) << name;
    const std::string two = base::cat(R"(HloModule m
      fn { i = s32[] parameter(0)  ROOT x = f32[] parameter(1) }
      ENTRY main {
        i = s32[] parameter(0)
        x = f32[] parameter(1)
        ROOT y = f32[] call(i, x), to_apply=fn, frontend_attributes={heddle.derivative=")",
                                      name, "\"}\n}");
    EXPECT_THAT(gradient_of(two, {false, true}),
                HasSubstr("its types are not those that heddle.derivative"))
        << name;
  }
}

TEST(DerivativesOfText, AnEmptyWindowIsOneOfOnes) {
  EXPECT_THAT(gradient_of(R"(HloModule m
      add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
      ENTRY main {
        x = f32[4] parameter(0)
        zero = f32[] constant(0)
        y = f32[4] reduce-window(x, zero), to_apply=add
        ROOT z = f32[] reduce(y, zero), dimensions={0}, to_apply=add
      })",
                          {true}),
              HasSubstr("f32[4]"));
}

TEST(TransposeOfText, SaysWhatIsNotLinear) {
  EXPECT_THAT(transpose_of(R"(HloModule m
      ge { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=GE }
      add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
      ENTRY main {
        x = f32[4] parameter(0)
        s = f32[2] parameter(1)
        zero = f32[] constant(0)
        y = f32[4] select-and-scatter(x, s, zero), window={size=2 stride=2}, select=ge, scatter=add
        ROOT r = (f32[4]) tuple(y)
      })",
                           {true, false}),
              HasSubstr("what it compares depends on the argument"));
  EXPECT_THAT(transpose_of(R"(HloModule m
      ENTRY main {
        x = f32[2] parameter(0)
        one = f32[2] constant({1, 1})
        y = f32[4] concatenate(x, one), dimensions={0}
        ROOT r = (f32[4]) tuple(y)
      })",
                           {true}),
              HasSubstr("concatenate: a term does not depend on the argument"));
}

TEST(TransposeOfText, SelectAndScatterIsLinearInItsSourceAndItsStart) {
  constexpr std::string_view kText = R"(HloModule m
      ge { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=GE }
      add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
      ENTRY main {
        x = f32[4] parameter(0)
        s = f32[2] parameter(1)
        start = f32[] parameter(2)
        y = f32[4] select-and-scatter(x, s, start), window={size=2 stride=2}, select=ge, scatter=add
        ROOT r = (f32[4]) tuple(y)
      })";
  EXPECT_THAT(transpose_of(kText, {false, true, true}), HasSubstr("(f32[2]{0}, f32[]) tuple("));
  for (const std::vector<bool>& linear : {std::vector{false, true, false}, {false, false, true}}) {
    EXPECT_THAT(transpose_of(kText, linear),
                HasSubstr("select-and-scatter: a term does not depend on the argument"));
  }
}

using Rows = std::vector<std::vector<float>>;
Literal literal_of(const std::vector<float>& row) {
  return Literal::from<float>(Shape(f32, {static_cast<int64_t>(row.size())}), row);
}
// The last element of a tuple.
std::vector<float> last_of(const Literal& tuple) {
  const auto numbers = tuple.elements().back().values<float>();
  return {numbers.begin(), numbers.end()};
}

// What each device gives last, with its row of each argument.
Rows on_devices(const hlo::Module& module, const interpreter::DeviceCounts& devices,
                const std::vector<Rows>& arguments) {
  const auto evaluator = interpreter::Evaluator::prepare(module);
  std::vector<std::vector<Literal>> given(static_cast<size_t>(devices.total()));
  for (size_t device = 0; device < given.size(); ++device) {
    for (const Rows& each : arguments) given[device].push_back(literal_of(each[device]));
  }
  const auto got = interpreter::evaluate_together(evaluator.value(), devices, std::move(given));
  Rows out;
  for (const Literal& each : got.value()) out.push_back(last_of(each));
  return out;
}

TEST(CollectiveBroadcast, GoesBackAsASumToTheFirstOfEachGroup) {
  const Rows x = {{1, 2}, {3, 4}, {5, 6}, {7, 8}}, ct = {{1, 10}, {2, 20}, {3, 30}, {4, 40}};
  for (const auto& [devices, channel] :
       {std::pair(interpreter::DeviceCounts{1, 4}, "channel_id=1, "),
        std::pair(interpreter::DeviceCounts{4, 1}, "")}) {
    for (const auto& [groups, wanted] :
         {std::pair("{{1,0,3},{2}}", Rows{{0, 0}, {7, 70}, {3, 30}, {0, 0}}),
          std::pair("[2,2]<=[4]", Rows{{3, 30}, {0, 0}, {7, 70}, {0, 0}})}) {
      const auto module = hlo::parse_text(
          base::cat("HloModule m\nENTRY main {\n  x = f32[2] parameter(0)\n  y = f32[2] "
                    "collective-broadcast(x), ",
                    channel, "replica_groups=", groups, "\n  ROOT r = (f32[2]) tuple(y)\n}"));
      ASSERT_TRUE(module.ok()) << module.status();
      EXPECT_EQ(on_devices(*vjp(*module, {true}, {true}), devices, {x, ct}), wanted);
      const Rows tangents = on_devices(*jvp(*module, {true}), devices, {x, ct});
      EXPECT_EQ(tangents, on_devices(*module, devices, {ct}));
    }
  }
  EXPECT_THAT(gradient_of("HloModule m\nENTRY main {\n  x = f32[] parameter(0)\n  ROOT y = f32[] "
                          "collective-broadcast(x), replica_groups={}\n}",
                          {true}),
              HasSubstr("collective-broadcast: has no reverse derivative: its replica_groups are "
                        "empty; list the devices"));
}

TEST(RaggedAllToAll, SendsTangentsAsItSendsRows) {
  const auto module = hlo::parse_text(R"(HloModule m
    ENTRY main {
      x = f32[4] parameter(0)
      before = f32[5] parameter(1)
      from = s32[2] constant({0,3})
      sizes = s32[2] constant({2,1})
      to = s32[2] constant({3,0})
      y = f32[5] ragged-all-to-all(x, before, from, sizes, to, sizes), replica_groups={{0}}
      ROOT r = (f32[5]) tuple(y)
    })");
  ASSERT_TRUE(module.ok()) << module.status();
  const auto tangent = [&](const std::vector<bool>& of, const Rows& arguments) {
    const auto evaluator = interpreter::Evaluator::prepare(*jvp(*module, of));
    std::vector<Literal> given;
    for (const auto& row : arguments) given.push_back(literal_of(row));
    return last_of(evaluator->run(std::move(given)).value());
  };
  const std::vector<float> x = {1, 2, 3, 4}, before(5), dx = {10, 20, 30, 40};
  EXPECT_THAT(tangent({true, true}, {x, before, dx, {5, 6, 7, 8, 9}}),
              ElementsAre(40, 6, 7, 10, 20));
  EXPECT_THAT(tangent({true, false}, {x, before, dx}), ElementsAre(40, 0, 0, 10, 20));
  EXPECT_THAT(std::string(vjp(*module, {true, false}, {true}).status().message()),
              HasSubstr("a device does not know where the rows that it got come from"));
}

// A computation that calls the one before twice, and so on: 2^40 calls of 41 computations.
TEST(ComputedAgain, TakesEachComputationOnce) {
  std::string text = R"(HloModule m
  f0 {
    x = f32[] parameter(0)
    y = () custom-call(x), custom_call_target="f", custom_call_has_side_effect=true
    ROOT r = f32[] negate(x)
  })";
  for (int i = 1; i <= 40; ++i) {
    base::append(text, "\n  f", i,
                 " {\n    x = f32[] parameter(0)\n    y = f32[] call(x), to_apply=f", i - 1,
                 "\n    ROOT r = f32[] call(y), to_apply=f", i - 1, "\n  }");
  }
  base::append(text,
               "\n  ENTRY e { x = f32[] parameter(0)  ROOT r = f32[] call(x), to_apply=f40 }");
  Writer writer;
  const auto module = hlo::parse_text(text);
  ASSERT_TRUE(module.ok()) << module.status();
  for (const hlo::Computation& each : module->computations) writer.add(each);
  const size_t before = writer.module().computations.size();
  const auto quiet = computed_again(writer, hlo::ComputationId(before - 1), "");
  ASSERT_TRUE(quiet.ok()) << quiet.status();
  EXPECT_EQ(writer.module().computations.size(), 2 * before);
  const hlo::Computation& last = writer.module().at(*quiet);
  EXPECT_EQ(last.root_instruction().called[0].value, quiet->value - 1);
  const hlo::Computation& first = writer.module().computations[before];
  EXPECT_EQ(first.at(hlo::InstructionId(1)).opcode, hlo::Opcode::kConstant);
}

}  // namespace
}  // namespace heddle::transform
