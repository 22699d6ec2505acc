#include "heddle/cpu/loop_clock.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "heddle/base/metrics/profile.h"
#include "heddle/base/support_test.h"
#include "heddle/cpu/backend.h"
#include "heddle/hlo/text.h"
#include "heddle/runtime/backend.h"
#include "heddle/runtime/transfer.h"

namespace heddle::cpu {
namespace {

constexpr char kModule[] = R"(HloModule sums
ENTRY main {
  x = f32[100,100] parameter(0)
  doubled = f32[100,100] add(x, x), metadata={source_file="src/train.cc" source_line=41}
  ROOT turned = f32[100,100] sort(doubled), dimensions={1}, to_apply=less
}
)";

const runtime::CompileOptions kProfiled{.backend_options = {{"profile_loops", "true"}}};

std::shared_ptr<runtime::Executable> compiled(runtime::Backend& backend,
                                              const runtime::CompileOptions& options) {
  const std::string less =
      "less {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
      "  ROOT c = pred[] compare(a, b), direction=LT\n}\n";
  std::string text = kModule;
  text.insert(text.find("ENTRY"), less);
  const auto module = hlo::parse_text(text);
  EXPECT_TRUE(module.ok()) << module.status();
  auto executable = backend.compile(*module, options, *backend.devices()[0]);
  EXPECT_TRUE(executable.ok()) << executable.status();
  return executable.value_or(nullptr);
}

std::vector<float> run(runtime::Executable& executable) {
  std::vector<float> values(10'000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 101);
  const Literal x = Literal::from<float>(Shape(f32, {100, 100}), values);
  const auto argument = runtime::to_device(executable.device(), x, "test", {});
  const auto results = executable.execute(std::vector{*argument});
  EXPECT_TRUE(results.ok()) << results.status();
  const auto back = runtime::to_host(*(*results)[0], "test");
  const auto sorted = back->values<float>();
  return {sorted.begin(), sorted.end()};
}

std::string profile_of(runtime::Executable& executable) {
  const std::string path = ::testing::TempDir() + "heddle_loops.json";
  Profile profile(path);
  (void)run(executable);
  EXPECT_EQ(profile.finish(), Status());
  std::ifstream in(path);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  std::filesystem::remove(path);
  return text;
}

TEST(LoopClocks, TellLoopsAndKernelsWithTheirLines) {
  const auto backend = make_cpu();
  const auto executable = compiled(*backend, kProfiled);
  const std::string text = profile_of(*executable);
  EXPECT_THAT(text, HasSubstr("\"cat\": \"loop\", \"name\": \"loop doubled\", "
                              "\"args\": {\"line\": \"train.cc:41\"}"));
  EXPECT_THAT(text, HasSubstr("\"cat\": \"loop\", \"name\": \"loop turned\""));
}

// A turn sorts and doubles.
constexpr char kLoop[] = R"(HloModule scan
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT
}
body {
  s = (s32[], f32[100,100]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[100,100] get-tuple-element(s), index=1
  sorted = f32[100,100] sort(x), dimensions={1}, to_apply=less
  doubled = f32[100,100] add(sorted, sorted)
  ROOT t = (s32[], f32[100,100]) tuple(next, doubled)
}
below {
  s = (s32[], f32[100,100]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY main {
  x = f32[100,100] parameter(0)
  zero = s32[] constant(0)
  s = (s32[], f32[100,100]) tuple(zero, x)
  loop = (s32[], f32[100,100]) while(s), condition=below, body=body
  ROOT y = f32[100,100] get-tuple-element(loop), index=1
}
)";

TEST(LoopClocks, SumUpWhatStandsInALoop) {
  const auto backend = make_cpu();
  const auto module = hlo::parse_text(kLoop);
  ASSERT_TRUE(module.ok()) << module.status();
  const auto looped = backend->compile(*module, kProfiled, *backend->devices()[0]);
  const auto plain = backend->compile(*module, {}, *backend->devices()[0]);
  ASSERT_TRUE(looped.ok() && plain.ok()) << looped.status() << plain.status();
  const std::string text = profile_of(**looped);
  EXPECT_THAT(text, HasSubstr("\"name\": \"loop loop\""));
  EXPECT_THAT(text, HasSubstr("\"name\": \"loop sorted x5\""));
  EXPECT_EQ(run(**looped), run(**plain));
}

TEST(LoopClocks, ChangeNoValues) {
  const auto backend = make_cpu();
  EXPECT_EQ(run(*compiled(*backend, kProfiled)), run(*compiled(*backend, {})));
}

TEST(LoopClocks, AreInProgramsThatWereCompiledWithThemAlone) {
  const auto backend = make_cpu();
  EXPECT_THAT(profile_of(*compiled(*backend, {})), Not(HasSubstr("\"loop\"")));
  const auto always = make_cpu({.profiles_loops = true});
  EXPECT_THAT(profile_of(*compiled(*always, {})), HasSubstr("\"loop\""));
}

TEST(LoopClocks, OptionsThatAreNoneAreNamed) {
  const auto backend = make_cpu();
  const auto module = hlo::parse_text("HloModule m\nENTRY e { ROOT x = f32[] parameter(0) }\n");
  const auto wrong = backend->compile(*module, {.backend_options = {{"profile_loops", "yes"}}},
                                      *backend->devices()[0]);
  EXPECT_EQ(base::message_of(wrong.status()),
            "compile m: option \"profile_loops\" = \"yes\" is not known to backend cpu, which has "
            "profile_loops, true or false");
}

}  // namespace
}  // namespace heddle::cpu
