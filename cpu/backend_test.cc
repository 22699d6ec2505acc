#include "heddle/cpu/backend.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "heddle/base/support_test.h"
#include "heddle/base/text/strings.h"
#include "heddle/codegen/jit/jit.h"
#include "heddle/hlo/text.h"
#include "heddle/runtime/storing_test.h"
#include "heddle/runtime/transfer.h"

namespace heddle::cpu {
namespace {

namespace fs = std::filesystem;
using runtime::BufferPtr;
using runtime::kEndless;
using runtime::kSum;

hlo::Module parsed(const char* text) { return hlo::parse_text(text).value(); }

// What a destructor of a static compiles after main runs on the evaluator: LLVM's own have run.
TEST(CpuAtExit, ProgramsAreEvaluated) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // from the start: LLVM is not yet there
  const auto compile_twice = [] {
    static const std::unique_ptr<runtime::Backend> backend = make_cpu();
    static const auto run = [](const char* text) {
      return backend->compile(parsed(text), {}, *backend->devices()[0]).ok();
    };
    std::atexit([] {
      const bool is_compiled = run("HloModule m ENTRY main { x = f32[9] parameter(0) "
                                   "ROOT y = f32[9] tanh(x) }");
      std::fputs(is_compiled ? "it has a program" : "it has none", stderr);
    });
    std::exit(run(kSum) ? 0 : 1);
  };
  EXPECT_EXIT(compile_twice(), testing::ExitedWithCode(0), "it has a program");
}

class CpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!find_code_generator().ok()) GTEST_SKIP() << "no LLVM";
  }
  void use(const CpuOptions& options) { backend_ = make_cpu(options); }
  runtime::Device& device() { return *backend_->devices()[0]; }
  std::shared_ptr<runtime::Executable> compiled(const char* text) {
    return backend_->compile(parsed(text), {}, device()).value();
  }
  BufferPtr up(const Literal& value) { return to_device(device(), value, "test").value(); }
  std::vector<BufferPtr> endless_arguments() {
    return {up(Literal::scalar(s32, int64_t{0})), up(Literal(Shape(f32, {4})))};
  }

  std::unique_ptr<runtime::Backend> backend_ = make_cpu();
};

// Asks after a moment.
class AskLater {
 public:
  AskLater()
      : thread_([this] {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          source_.request_stop();
        }) {}
  ~AskLater() { thread_.join(); }
  AskLater(const AskLater&) = delete;
  AskLater& operator=(const AskLater&) = delete;
  StopToken token() { return source_.token(); }

 private:
  StopSource source_;
  std::thread thread_;
};

TEST_F(CpuTest, AnEndlessLoopEndsAtItsLineWhenAsked) {
  const auto endless = compiled(kEndless);
  AskLater ask;
  const auto result = endless->execute(endless_arguments(), {.stop = ask.token()});
  EXPECT_EQ(result.status().code(), StatusCode::kCancelled);
  EXPECT_EQ(base::message_of(result.status()), "run endless: stopped in forever [train.cc:41]");
}

// Its block is long enough to become several functions.
TEST_F(CpuTest, AnEndlessLoopInALongProgramEndsToo) {
  std::string text = kEndless;
  std::string chain = "v0 = f32[4] sine(x)";
  for (int k = 1; k <= 4000; ++k)
    chain += base::cat(" v", k, " = f32[4] dynamic-update-slice(v", k - 1, ", one, i)");
  text.replace(text.find("t = (s32[], f32[4]) tuple(i, x)\n    forever"), 31,
               base::cat("one = f32[1] slice(x), slice={[1:2]} ", chain,
                         " t = (s32[], f32[4]) tuple(i, v4000)"));
  const auto endless = compiled(text.c_str());
  AskLater ask;
  const auto result = endless->execute(endless_arguments(), {.stop = ask.token()});
  EXPECT_EQ(base::message_of(result.status()), "run endless: stopped in forever [train.cc:41]");
}

// Threads share parts of its rows, and each part takes all turns.
TEST_F(CpuTest, ALongLoopOverRowsEndsWhenAsked) {
  std::string text = R"(HloModule rows
    body { p = (s32[], f32[2048]) parameter(0) i = s32[] get-tuple-element(p), index=0
      x = f32[2048] get-tuple-element(p), index=1 y = f32[2048] multiply(x, x)
      one = s32[] constant(1) j = s32[] add(i, one)
      ROOT t = (s32[], f32[2048]) tuple(j, y) }
    condition { p = (s32[], f32[2048]) parameter(0) i = s32[] get-tuple-element(p), index=0
      n = s32[] constant(2000000000) ROOT c = pred[] compare(i, n), direction=LT }
    ENTRY main { i = s32[] constant(0) x = f32[2048] parameter(0) t = (s32[], f32[2048]) tuple(i, x)
      long = (s32[], f32[2048]) while(t), condition=condition, body=body
      ROOT r = f32[2048] get-tuple-element(long), index=1 })";
  const auto rows = compiled(text.c_str());
  const std::vector arguments = {up(Literal(Shape(f32, {2048})))};
  AskLater ask;
  const auto result = rows->execute(arguments, {.stop = ask.token()});
  EXPECT_EQ(base::message_of(result.status()), "run rows: stopped in long");
}

TEST_F(CpuTest, APendingResultTellsThatItsRunWasStopped) {
  use({.asynchronous = true});
  const auto endless = compiled(kEndless);
  AskLater ask;
  auto arguments = endless_arguments();
  const auto result = endless->execute(arguments, {.donate = {1}, .stop = ask.token()}).value();
  EXPECT_TRUE(arguments[1]->is_deleted()) << "as of any run that was started";
  EXPECT_EQ(result[0]->await().code(), StatusCode::kCancelled);
}

TEST_F(CpuTest, ARunThatIsStoppedBeforeItBeginsTakesNothing) {
  const auto endless = compiled(kEndless);
  StopSource source;
  source.request_stop();
  auto arguments = endless_arguments();
  const auto result = endless->execute(arguments, {.donate = {1}, .stop = source.token()});
  EXPECT_EQ(result.status().code(), StatusCode::kCancelled);
  EXPECT_FALSE(arguments[1]->is_deleted());
}

TEST_F(CpuTest, ModulesWithElidedConstantsDoNotRun) {
  const char* text = R"(HloModule m
ENTRY main { weights = f32[64] constant({...})
  x = f32[64] parameter(0)
  ROOT y = f32[64] add(x, weights) })";
  const auto program = backend_->compile(parsed(text), {}, device());
  EXPECT_EQ(base::message_of(program.status()),
            "constant: weights of main is elided, {...}, so its value is not known; print the "
            "module with all its constants");
}

TEST_F(CpuTest, SaysWhatAProgramCosts) {
  const runtime::ProgramCost cost = compiled(kSum)->cost();
  EXPECT_EQ(cost.argument_bytes, 512);
  EXPECT_EQ(cost.result_bytes, 256);
  EXPECT_EQ(cost.scratch_bytes, 0);
  EXPECT_EQ(cost.peak_bytes, 768);
  EXPECT_EQ(cost.flops, 128);
  EXPECT_EQ(cost.bytes_accessed, 768);
  EXPECT_EQ(compiled(kEndless)->cost().flops, std::nullopt) << "nobody knows how many turns";
}

std::string text_of(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST_F(CpuTest, DumpsEachStage) {
  const fs::path folder = fs::path(::testing::TempDir()) / base::cat("dump", getpid());
  use({.dump_folder = folder});
  (void)compiled(kEndless);
  std::map<std::string, std::string> texts;  // by ending
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    texts[name.substr(name.find('.') + 1)] = text_of(entry.path());
    EXPECT_THAT(name, HasSubstr("-endless."));
  }
  EXPECT_EQ(texts.size(), 5u);
  EXPECT_THAT(texts["before.hlo"], HasSubstr("while("));
  EXPECT_THAT(texts["flat.hlo"], HasSubstr("while("));
  EXPECT_THAT(texts["plan"],
              HasSubstr("forever [train.cc:41]: while of an unknown number of turns"));
  EXPECT_THAT(texts["ll"], AllOf(HasSubstr("define"), HasSubstr("forever [train.cc:41]")));
  EXPECT_THAT(texts["s"], HasSubstr("forever [train.cc:41]"));
  fs::remove_all(folder);
}

TEST_F(CpuTest, NamesItsCodeForPerf) {
  use({.names_code = true});
  (void)compiled(kSum);
  const fs::path map = base::cat("/tmp/perf-", getpid(), ".map");
  EXPECT_THAT(text_of(map), HasSubstr(" heddle:sum s\n"));
  fs::remove(map);
}

TEST_F(CpuTest, CheckedCodeGivesTheSame) {
  use({.checks_bounds = true});
  const Literal x = Literal::from<float>(Shape(f32, {64}), std::vector<float>(64, 2.0f));
  const auto result = compiled(kSum)->execute(std::vector{up(x), up(x)}).value();
  EXPECT_EQ(to_host(*result[0], "test")->values<float>()[63], 8);
}

}  // namespace
}  // namespace heddle::cpu
