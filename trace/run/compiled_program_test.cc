// Programs for a device, with options: what is compiled, when, and what the errors say.
#include "heddle/trace/run/compiled_program.h"

#include "heddle/base/support_test.h"
#include "heddle/runtime/mesh.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/support_test.h"
#include "heddle/testing.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

using runtime::DefaultDevice;

// A program that no other test traces: `number` is a constant in it.
Program add_number(double number, int64_t size = 2) {
  return trace([&](Tensor a) { return a + number; }, placeholder({size}, f32));
}

Device& evaluator(size_t number) { return *runtime::four_devices()[number]; }

// A device that takes any option and runs nothing. What it compiles outlives every test.
Device& hollow() {
  static runtime::Backend& backend = *new runtime::HollowBackend;
  return *backend.devices()[0];
}

TEST(CompiledProgram, RunsOnTheDefaultDevice) {
  const CompiledProgram program = add_number(1.5).compile();
  EXPECT_EQ(&program.device(), &default_device());
  EXPECT_THAT(program.call<Tensor>(ones({2})).to_vector<float>(), ElementsAre(2.5, 2.5));
  EXPECT_EQ(to_string(program), base::cat("main on ", default_device().name()));
}

TEST(CompiledProgram, RunsOnTheDeviceOfItsName) {
  const CompiledProgram program = add_number(2.5).compile("interpreter:0");
  EXPECT_EQ(program.device().name(), "interpreter:0");
  const Tensor x = device_put(ones({2}), "interpreter:0");
  EXPECT_THAT(program.call<Tensor>(x).to_vector<float>(), ElementsAre(3.5, 3.5));
}

TEST(CompiledProgram, KeepsItsDeviceWhateverTheDefaultIs) {
  const CompiledProgram program = add_number(3.5).compile(evaluator(1));
  EXPECT_EQ(to_string(program), "main on interpreter:1");
  EXPECT_EQ(program.executable()->device().name(), "interpreter:1");
  const DefaultDevice scope(evaluator(1));
  const Tensor x = ones({2});
  const DefaultDevice inner(evaluator(2));
  EXPECT_THAT(program.call<Tensor>(x).to_vector<float>(), ElementsAre(4.5, 4.5));
}

TEST(CompiledProgram, CompilingMovesNothingAndRunningLowersNothing) {
  const Program program = add_number(4.5);
  EXPECT_EQ(effects_of([&] { (void)program.compile(); }),
            (Counters{.lowerings = 1, .compiles = 1}));
  const CompiledProgram compiled = program.compile();
  const Tensor x = ones({2});
  EXPECT_EQ(effects_of([&] { (void)compiled.call<Tensor>(x); }), (Counters{.executions = 1}));
  EXPECT_EQ(effects_of([&] { (void)program.call<Tensor>(x); }), (Counters{.executions = 1}));
}

TEST(CompiledProgram, EqualOptionsAreOneProgramAndOthersAnother) {
  const CompileOptions fast{.backend_options = {{"level", "3"}}};
  const auto first = add_number(5.5).compile(hollow(), fast);
  EXPECT_EQ(effects_of([&] {
              EXPECT_EQ(add_number(5.5).compile(hollow(), fast).executable(), first.executable());
            }),
            (Counters{.traces = 1}));
  for (const CompileOptions& other :
       {CompileOptions{}, CompileOptions{{{"level", "2"}}}, CompileOptions{{{"depth", "3"}}},
        CompileOptions{{{"level", "3"}, {"depth", "3"}}}}) {
    const Effects effects = effects_of([&] {
      EXPECT_NE(add_number(5.5).compile(hollow(), other).executable(), first.executable());
    });
    EXPECT_EQ(effects, (Counters{.traces = 1, .compiles = 1}));  // this backend runs no passes
  }
  EXPECT_EQ(first.options(), fast);
  EXPECT_EQ(to_string(first), "main on hollow:0, level=3");
}

TEST(CompiledProgram, TheSameOptionsOnAnotherDeviceAreAnotherProgram) {
  const auto first = add_number(6.5).compile(evaluator(0));
  expect_zero_compiles([&] { (void)add_number(6.5).compile(evaluator(0)); });
  EXPECT_NE(add_number(6.5).compile(evaluator(1)).executable(), first.executable());
}

TEST(CompiledProgram, AnOptionThatTheBackendDoesNotKnowIsRefusedByName) {
  const Program program = add_number(7.5);
  EXPECT_EQ(
      error_of([&] {
        (void)program.compile("interpreter", {.backend_options = {{"fast", "1"}}});
      }),
      base::cat(
          "compile main: option \"fast\" is not known to backend interpreter, which has none; "
          "leave it out ",
          here()));
}

TEST(CompiledProgram, AnErrorOfTheCompilerIsNotKept) {
  const Program program = add_number(8.5);
  const CompileOptions wrong{.backend_options = {{"fast", "1"}}};
  EXPECT_THAT(error_of([&] { (void)program.compile(wrong); }), HasSubstr("\"fast\""));
  EXPECT_THAT(error_of([&] { (void)program.compile(wrong); }), HasSubstr("\"fast\""));
  EXPECT_EQ(error_of([&] { (void)program.compile(); }), "no error");
}

TEST(CompiledProgram, ADeviceThatIsNotThereIsNamed) {
  EXPECT_THAT(error_of([&] { (void)add_number(1).compile("loom:1"); }),
              AllOf(StartsWith("compile main: backend \"loom\" is not known; there are: "),
                    EndsWith(here())));
  EXPECT_THAT(error_of([&] { (void)add_number(1).compile("interpreter:7"); }),
              StartsWith("compile main: device \"interpreter:7\": backend interpreter has 1"));
}

TEST(CompiledProgram, PassesCapturedTensorsAlong) {
  const Tensor captured = array({10.0f, 20.0f});
  const Program program = trace([&](Tensor a) { return a * captured; }, placeholder({2}, f32));
  const CompiledProgram compiled = program.compile();
  EXPECT_THAT(compiled.call<Tensor>(array({1.0f, 2.0f})).to_vector<float>(), ElementsAre(10, 40));
  EXPECT_EQ(compiled.executable()->parameter_shapes().size(), 2u);
  EXPECT_EQ(compiled.cost().argument_bytes, 16);
}

TEST(CompiledProgram, AnUnboundPlaceholderIsAnErrorWhenItRuns) {
  const Tensor hole = placeholder({2}, f32);
  const Program program = trace([&](Tensor a) { return a * hole; }, placeholder({2}, f32));
  const CompiledProgram compiled = program.compile();
  EXPECT_THAT(error_of([&] { compiled.call<Tensor>(ones({2})); }),
              AllOf(HasSubstr("placeholder"), EndsWith(here())));
  const CompiledProgram bound = program.bind(hole, full({2}, 3, f32)).compile();
  EXPECT_EQ(bound.executable(), compiled.executable());
  EXPECT_THAT(bound.call<Tensor>(ones({2})).to_vector<float>(), ElementsAre(3, 3));
}

TEST(CompiledProgram, ErrorsOfACallHaveItsLine) {
  const CompiledProgram program = add_number(9.5).compile();
  EXPECT_THAT(error_of([&] { program.call<Tensor>(ones({3})); }),
              AllOf(StartsWith("call: argument arg0 is f32[3]; the program was traced with f32[2]"),
                    EndsWith(here())));
  EXPECT_THAT(
      error_of([&] { program.call<Tensor>(); }),
      AllOf(StartsWith("call: the program was given 0 arguments; it takes 1"), EndsWith(here())));
  EXPECT_THAT(error_of([&] { program.call<std::vector<Tensor>>(ones({2})); }),
              AllOf(HasSubstr("call<..> must name the type"), EndsWith(here())));
}

TEST(CompiledProgram, ATensorOfAnotherDeviceIsNamedWithBothDevices) {
  const CompiledProgram program = add_number(10.5).compile(evaluator(1));
  const Tensor elsewhere = [] {
    const DefaultDevice scope(evaluator(2));
    return ones({2});
  }();
  EXPECT_THAT(error_of([&] { program.call<Tensor>(elsewhere); }),
              StartsWith("call: argument arg0 is on interpreter:2; the program was compiled for "
                         "interpreter:1; move the tensor with device_put(x, device)"));
  const CompiledProgram capturing =
      trace([&](Tensor a) { return a + elsewhere; }, placeholder({2}, f32)).compile(evaluator(1));
  const DefaultDevice scope(evaluator(1));
  EXPECT_THAT(
      error_of([&] { capturing.call<Tensor>(ones({2})); }),
      StartsWith(base::cat("call: captured #", elsewhere.id(), ", f32[2], is on interpreter:2")));
}

TEST(CompiledProgram, RunsOnAMesh) {
  Device& mesh = *runtime::mesh_device(runtime::four_devices()).value();
  const CompiledProgram program = add_number(11.5, 4).compile(mesh);
  EXPECT_EQ(&program.device(), &mesh);
  const DefaultDevice scope(mesh);
  EXPECT_THAT(program.call<Tensor>(ones({4})).to_vector<float>(), testing::Each(12.5));
}

// ---- Donation, only where it is asked for.

Program sum_of_three() {
  return trace([](Tensor a, Tensor b, Tensor c) { return a + b + c; }, placeholder({2}, f32),
               placeholder({2}, f32), placeholder({2}, f32));
}

TEST(CompiledProgram, DonatesWhatItIsToldAndNothingElse) {
  const CompiledProgram keeping = sum_of_three().compile();
  const CompiledProgram taking = keeping.with({.donate = {0, 2}});
  const Tensor a = ones({2}), b = ones({2}), c = ones({2}), copy = c;
  (void)keeping.call<Tensor>(a, b, c);
  EXPECT_FALSE(a.is_donated() || b.is_donated() || c.is_donated());
  EXPECT_THAT(taking.call<Tensor>(a, b, c).to_vector<float>(), ElementsAre(3, 3));
  EXPECT_TRUE(a.is_donated() && c.is_donated() && copy.is_donated());
  EXPECT_FALSE(b.is_donated());
  EXPECT_THAT(error_of([&] { taking.call<Tensor>(a, b, b); }),
              AllOf(HasSubstr("was donated"), EndsWith(here())));
  EXPECT_THAT(
      error_of([&] { (void)copy.to_vector<float>(); }),
      AllOf(StartsWith(base::cat("to_vector: tensor #", c.id(), " f32[2], made at compiled_")),
            HasSubstr("was donated as arg2 of the program at compiled_program_test.cc:")));
  EXPECT_THAT(error_of([&] { (void)keeping.call<Tensor>(b, b, c); }),
              StartsWith(base::cat("call: argument arg2, tensor #", c.id())));
}

struct Level {
  Tensor level, trend;
  static constexpr auto kFields =
      fields(field("level", &Level::level), field("trend", &Level::trend));
};
struct Smoother {
  Level carry;
  std::vector<Tensor> seen;
  static constexpr auto kFields =
      fields(field("carry", &Smoother::carry), field("seen", &Smoother::seen));
};

TEST(CompiledProgram, DonatesByPath) {
  auto make = [] { return Smoother{{ones({2}), ones({2})}, {ones({2}), ones({2})}}; };
  const auto update = [](Smoother s, Tensor x) {
    s.carry.level += x;
    return s;
  };
  const auto step = trace(update, make(), ones({2})).compile();
  const Tensor x = ones({2});
  // Which of carry.level, carry.trend, seen[0], seen[1] and x are taken.
  auto taken = [&](const RunOptions& options) {
    const Smoother s = make();
    const Tensor own = ones({2});
    (void)step.with(options)(s, own);
    std::string out;
    for (const Tensor& t : {s.carry.level, s.carry.trend, s.seen[0], s.seen[1], own})
      out.push_back(t.is_donated() ? '1' : '0');
    return out;
  };
  EXPECT_EQ(taken({.donate = {0}}), "11110");
  EXPECT_EQ(taken({.donate = {1}}), "00001");
  EXPECT_EQ(taken({.donate = {"carry.level"}}), "10000");
  EXPECT_EQ(taken({.donate = {"arg0.carry", 1}}), "11001");
  EXPECT_EQ(taken({.donate = {"arg0.seen[1]", "carry.trend"}}), "01010");
  EXPECT_EQ(taken({.donate = {"arg1"}}), "00001");
  EXPECT_EQ(error_of([&] { (void)step.with({.donate = {"carry.lvl"}}); }),
            base::cat("with: donates \"carry.lvl\"; the program has no such argument, it has "
                      "arg0.carry.level, arg0.carry.trend, arg0.seen[0], arg0.seen[1], arg1 ",
                      here()));
  EXPECT_THAT(error_of([&] {
                (void)step.with({.donate = {"carry", "carry.level"}});
              }),
              StartsWith("with: donates arg0.carry.level twice"));
  const auto both =
      trace([](Level a, Level b) { return a.level + b.level; }, make().carry, make().carry)
          .compile();
  EXPECT_THAT(error_of([&] { (void)both.with({.donate = {"level"}}); }),
              StartsWith("with: donates \"level\", which is in arg0 and in arg1; write "
                         "\"arg0.level\""));
}

TEST(CompiledProgram, ARunThatIsRefusedTakesNothing) {
  const CompiledProgram taking = sum_of_three().compile().with({.donate = {0}});
  const Tensor a = ones({2}), b = ones({2});
  EXPECT_THAT(error_of([&] { taking.call<Tensor>(a, b, ones({3})); }), HasSubstr("argument arg2"));
  EXPECT_THAT(error_of([&] { taking.call<Tensor>(a, a, b); }),
              AllOf(StartsWith("call: arg0 is donated and passed again as arg1; pass copy(x)"),
                    EndsWith(here())));
  EXPECT_FALSE(a.is_donated());
  const Tensor same = copy(a);
  EXPECT_THAT(taking.call<Tensor>(a, same, b).to_vector<float>(), ElementsAre(3, 3));
  EXPECT_TRUE(a.is_donated());
  EXPECT_THAT(same.to_vector<float>(), ElementsAre(1, 1));
}

TEST(CompiledProgram, OnlyArgumentsCanBeDonated) {
  const Tensor captured = ones({2});
  const CompiledProgram program =
      trace([&](Tensor a) { return a * captured; }, placeholder({2}, f32)).compile();
  EXPECT_THAT(error_of([&] { (void)program.with({.donate = {1}}); }),
              StartsWith("with: donates argument 1; the program has 1, counted from 0, and what it "
                         "captures cannot be donated: pass it"));
  EXPECT_THAT(error_of([&] { (void)program.with({.donate = {-1}}); }), EndsWith(here()));
  EXPECT_THAT(error_of([&] {
                (void)program.with({.donate = {0, 0}});
              }),
              StartsWith("with: donates arg0 twice; name it once"));
}

TEST(CompiledProgram, WithoutRoomARunIsUnavailableAndTakesNothing) {
  static runtime::Backend& backend = *interpreter::make_backend().release();
  Device& device = *backend.devices()[0];
  const CompiledProgram program =
      add_number(12.5).compile(device).with({.donate = {0}, .only_if_room = true});
  const DefaultDevice scope(device);
  const Tensor x = ones({2});
  device.throttle().set_limits({.launches = 1});
  {
    const runtime::Throttle::Ticket other = device.throttle().acquire(0);
    try {
      program.call<Tensor>(x);
      ADD_FAILURE() << "there was room";
    } catch (const Error& e) {
      EXPECT_EQ(e.status().code(), StatusCode::kUnavailable) << e.what();
    }
  }
  EXPECT_FALSE(x.is_donated());
  EXPECT_THAT(program.call<Tensor>(x).to_vector<float>(), ElementsAre(13.5, 13.5));
  EXPECT_TRUE(x.is_donated());
}

TEST(CompiledProgram, AProgramSaysWhatItCostsOnTheDefaultDevice) {
  EXPECT_EQ(add_number(12.5).cost().argument_bytes, 8);
  EXPECT_EQ(add_number(12.5).cost().result_bytes, 8);
  EXPECT_EQ(add_number(12.5).memory().result_bytes, 8);
}

TEST(CompiledProgram, ARunThatIsAskedToStopIsCancelledAndTakesNothing) {
  StopSource source;
  const CompiledProgram program =
      add_number(12.5).compile().with({.donate = {0}, .stop = source.token()});
  const Tensor x = ones({2}), y = ones({2});
  EXPECT_THAT(program.call<Tensor>(x).to_vector<float>(), ElementsAre(13.5, 13.5));
  source.request_stop();
  EXPECT_THAT(error_of([&] { program.call<Tensor>(y); }),
              StartsWith("run main: it was asked to stop before it began"));
  EXPECT_FALSE(y.is_donated());
}

// ---- Executables that were made elsewhere.

TEST(CompiledProgram, TakesAnExecutableOfTheSameTypes) {
  const Program program = add_number(13.5);
  const CompiledProgram made = program.compile();
  const CompiledProgram taken = add_number(13.5).with_executable(made.executable());
  EXPECT_EQ(taken.executable(), made.executable());
  EXPECT_THAT(taken.call<Tensor>(ones({2})).to_vector<float>(), ElementsAre(14.5, 14.5));
}

TEST(CompiledProgram, RefusesAnExecutableOfOtherTypes) {
  const auto other = add_number(14.5, 3).compile().executable();
  EXPECT_THAT(error_of([&] { (void)add_number(14.5).with_executable(other); }),
              AllOf(StartsWith("with_executable: of the parameters of the executable number 0 is "
                               "f32[3]; arg0 of the program is f32[2]"),
                    EndsWith(here())));
  EXPECT_THAT(error_of([&] { (void)sum_of_three().with_executable(other); }),
              StartsWith("with_executable: the executable has 1 parameters; the program has 3"));
  EXPECT_THAT(error_of([&] { (void)add_number(1).with_executable(nullptr); }),
              StartsWith("with_executable: there is no executable"));
}

}  // namespace
}  // namespace heddle
