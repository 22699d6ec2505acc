// Derivatives of modules from text: malformed modules are errors, and nothing reads out of bounds.
#include "heddle/transform/derivatives.h"

#include <algorithm>
#include <numeric>

#include "heddle/base/support_test.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/verify.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/interpreter/evaluate_together.h"
#include "heddle/transform/batch.h"
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
}

constexpr std::string_view kRagged = R"(HloModule m
    ENTRY main {
      x = f32[3,2] parameter(0)
      before = f32[6,2] parameter(1)
      from = s32[4] parameter(2)
      sizes = s32[4] parameter(3)
      to = s32[4] parameter(4)
      received = s32[4] parameter(5)
      y = f32[6,2] ragged-all-to-all(x, before, from, sizes, to, received), replica_groups={{0,1}}
      ROOT r = (f32[6,2]) tuple(y)
    })";
// Two slices for each of two devices: by device, rows that go to several places, one empty slice,
// and rows that nobody writes.
const std::vector<Rows> kSlices = {{{0, 1, 0, 2}, {1, 2, 1, 0}},   // from
                                   {{1, 2, 2, 0}, {1, 1, 1, 3}},   // sizes
                                   {{5, 0, 3, 3}, {2, 3, 5, 0}},   // to
                                   {{1, 2, 1, 1}, {2, 0, 1, 3}}};  // received

// What each device gives last. Arguments are of the module's parameters' types.
Rows on_two_devices(const hlo::Module& module, const std::vector<Rows>& arguments) {
  const hlo::Computation& entry = module.entry_computation();
  std::vector<std::vector<Literal>> given(2);
  for (size_t device = 0; device < 2; ++device) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      Literal each(entry.at(entry.parameters[i]).shape);
      const std::vector<float>& row = arguments[i][device];
      if (each.shape().dtype() == f32) std::ranges::copy(row, each.mutable_values<float>().begin());
      if (each.shape().dtype() == s32)
        std::ranges::copy(row, each.mutable_values<int32_t>().begin());
      given[device].push_back(std::move(each));
    }
  }
  const auto evaluator = interpreter::Evaluator::prepare(module);
  const auto got = interpreter::evaluate_together(evaluator.value(), {2, 1}, std::move(given));
  EXPECT_TRUE(got.ok()) << got.status();
  Rows out;
  for (const Literal& each : *got) out.push_back(last_of(each));
  return out;
}

float inner(const Rows& a, const Rows& b) {
  float sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum = std::inner_product(a[i].begin(), a[i].end(), b[i].begin(), sum);
  return sum;
}

TEST(RaggedAllToAll, GoesBackToTheRowsThatWereSent) {
  const auto module = hlo::parse_text(kRagged);
  ASSERT_TRUE(module.ok()) << module.status();
  const Rows sizes = {std::vector<float>(6), std::vector<float>(12)};
  Rows ct(2, std::vector<float>(12));
  for (size_t i = 0; i < 24; ++i) ct[i / 12][i % 12] = static_cast<float>(1 + i * i);
  for (size_t operand : {0, 1}) {
    std::vector<Rows> arguments = {Rows(2, sizes[0]), Rows(2, sizes[1])};
    arguments.insert(arguments.end(), kSlices.begin(), kSlices.end());
    const std::vector<bool> of = {operand == 0, operand == 1, false, false, false, false};
    std::vector<Rows> back = arguments;
    back.push_back(ct);
    const Rows gradient = on_two_devices(*vjp(*module, of, {true}), back);
    for (size_t i = 0; i < 2 * sizes[operand].size(); ++i) {
      Rows unit(2, sizes[operand]);
      unit[i / sizes[operand].size()][i % sizes[operand].size()] = 1;
      arguments[operand] = unit;
      EXPECT_EQ(inner(gradient, unit), inner(ct, on_two_devices(*module, arguments)))
          << "operand " << operand << ", element " << i;
    }
  }
}

TEST(RaggedAllToAll, LanesSendSlicesOfTheirOwn) {
  const auto module = hlo::parse_text(kRagged);
  ASSERT_TRUE(module.ok()) << module.status();
  const std::vector<Rows> x = {{{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}},
                               {{21, 22, 23, 24, 25, 26}, {27, 28, 29, 30, 31, 32}}};
  std::vector<Rows> arguments = {x[0], Rows(2, std::vector<float>(12, -1))};
  arguments.insert(arguments.end(), kSlices.begin(), kSlices.end());
  Rows wanted = on_two_devices(*module, arguments);
  arguments[0] = x[1];
  const Rows second = on_two_devices(*module, arguments);
  for (size_t device : {0, 1}) {
    wanted[device].insert(wanted[device].end(), second[device].begin(), second[device].end());
    arguments[0][device] = x[0][device];
    arguments[0][device].insert(arguments[0][device].end(), x[1][device].begin(),
                                x[1][device].end());
  }
  const auto both = batch(*module, {true, false, false, false, false, false}, 2);
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(on_two_devices(both->module, arguments), wanted);
}

TEST(CollectiveReduce, GivesItsSumToTheFirstAndItsCotangentToAll) {
  const auto module = hlo::parse_text(R"(HloModule m
    add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
    ENTRY main {
      x = f32[2] parameter(0)
      y = f32[2] collective-reduce(x), replica_groups={{1,0}}, to_apply=add
      ROOT r = (f32[2]) tuple(y)
    })");
  ASSERT_TRUE(module.ok()) << module.status();
  const Rows x = {{1, 2}, {10, 20}}, ct = {{3, 4}, {5, 6}};
  EXPECT_EQ(on_two_devices(*module, {x}), (Rows{{0, 0}, {11, 22}}));
  EXPECT_EQ(on_two_devices(*jvp(*module, {true}), {x, ct}), (Rows{{0, 0}, {8, 10}}));
  EXPECT_EQ(on_two_devices(*vjp(*module, {true}, {true}), {x, ct}), (Rows{{5, 6}, {5, 6}}));
  const auto both = batch(*module, {true}, 2);
  EXPECT_EQ(on_two_devices(both->module, {Rows{{1, 2, 3, 4}, {10, 20, 30, 40}}}),
            (Rows{{0, 0, 0, 0}, {11, 22, 33, 44}}));
}

TEST(AllReduce, ProductsHaveDerivativesWhereFactorsAreZero) {
  const auto module = hlo::parse_text(R"(HloModule m
    mul { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] multiply(a, b) }
    ENTRY main {
      x = f32[3] parameter(0)
      y = f32[3] all-reduce(x), replica_groups={{0,1}}, to_apply=mul
      ROOT r = (f32[3]) tuple(y)
    })");
  ASSERT_TRUE(module.ok()) << module.status();
  const Rows x = {{2, 0, 0}, {3, 5, 0}}, one = {{1, 1, 1}, {10, 10, 10}};
  EXPECT_EQ(on_two_devices(*jvp(*module, {true}), {x, one}), (Rows{{23, 5, 0}, {23, 5, 0}}));
  EXPECT_EQ(on_two_devices(*vjp(*module, {true}, {true}), {x, one}),
            (Rows{{33, 55, 0}, {22, 0, 0}}));
}

TEST(AllGather, OfSeveralArraysGoesBackAsOneOfEach) {
  const auto module = hlo::parse_text(R"(HloModule m
    ENTRY main {
      x = f32[1] parameter(0)
      y = f32[2] parameter(1)
      both = (f32[2], f32[4]) all-gather(x, y), replica_groups={{0,1}}, dimensions={0}
      a = f32[2] get-tuple-element(both), index=0
      b = f32[4] get-tuple-element(both), index=1
      all = f32[6] concatenate(a, b), dimensions={0}
      ROOT r = (f32[6]) tuple(all)
    })");
  ASSERT_TRUE(module.ok()) << module.status();
  const Rows x = {{1}, {2}}, y = {{3, 4}, {5, 6}},
             ct = {{1, 2, 3, 4, 5, 6}, {10, 20, 30, 40, 50, 60}};
  EXPECT_EQ(on_two_devices(*vjp(*module, {true, false}, {true}), {x, y, ct}), (Rows{{11}, {22}}));
  EXPECT_EQ(on_two_devices(*vjp(*module, {true, true}, {true}), {x, y, ct}),
            (Rows{{33, 44}, {55, 66}}));
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
