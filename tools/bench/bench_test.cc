#include "heddle/tools/bench/bench.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "heddle/base/support_test.h"
#include "heddle/cpu/backend.h"  // makes cpu known
#include "heddle/hlo/numpy/npy.h"
#include "heddle/tools/program.h"

namespace heddle::tools {
namespace {

namespace fs = std::filesystem;

constexpr char kDouble[] = R"(HloModule double
ENTRY main {
  x = f32[4] parameter(0)
  ROOT y = f32[4] add(x, x)
})";

class Bench : public ::testing::Test {
 protected:
  Bench()
      : folder_(::testing::TempDir() + "heddle_bench_" +
                ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                std::to_string(getpid())) {
    fs::create_directories(folder_);
  }
  ~Bench() override { fs::remove_all(folder_); }

  std::string program(const std::string& name, const std::string& meta,
                      const char* text = kDouble) {
    const std::string path = folder_ + "/" + name;
    fs::create_directories(path);
    EXPECT_TRUE(write_file(path + "/module.hlo.txt", text).ok());
    EXPECT_TRUE(write_file(path + "/meta.json", meta).ok());
    return path;
  }

  int run(const std::vector<std::string>& programs, const std::vector<std::string>& backends) {
    const StatusOr<int> code = run_bench({.programs = programs,
                                          .backends = backends,
                                          .times = {.seconds = 1e-3, .rounds = 2},
                                          .json = folder_ + "/lines.json"});
    EXPECT_TRUE(code.ok()) << code.status();
    return code.ok() ? *code : -1;
  }

  std::vector<google::protobuf::Struct> lines() {
    std::vector<google::protobuf::Struct> out;
    std::istringstream text(read_file(folder_ + "/lines.json").value());
    for (std::string line; std::getline(text, line);) {
      const auto status = google::protobuf::util::JsonStringToMessage(line, &out.emplace_back());
      EXPECT_TRUE(status.ok()) << line;
    }
    return out;
  }

  std::string folder_;
};

constexpr char kMeta[] = R"({"name": "twice", "steps": 2, "unit": "step", "donated_parameters": [0],
  "inputs": [{"dtype": "float32", "generator": {"gen": "const", "value": 1.5}}],
  "outputs": [{"sum": 12.0, "abs_sum": 12.0, "l2": 6.0, "stride": 3}]})";

TEST_F(Bench, LineOfEachProgramAndBackendHasTheKeys) {
  EXPECT_EQ(run({program("a", kMeta), program("b", kMeta)}, {"cpu", "interpreter"}), 0);
  const auto found = lines();
  ASSERT_EQ(found.size(), 4);
  for (const auto& line : found) {
    for (const char* key : {"program", "backend", "unit_ns_min", "unit_ns_median", "compile_ms",
                            "peak_bytes", "agrees"})
      EXPECT_TRUE(line.fields().contains(key)) << key;
    EXPECT_EQ(line.fields_size(), 7);
    EXPECT_TRUE(line.fields().at("agrees").bool_value());
    EXPECT_GT(line.fields().at("unit_ns_min").number_value(), 0);
  }
  EXPECT_EQ(found[0].fields().at("program").string_value(), "twice");
  EXPECT_EQ(found[1].fields().at("backend").string_value(), "interpreter");
}

TEST_F(Bench, OtherSamplesAndSumsAreTold) {
  const std::string path = program("a", kMeta);
  const auto samples = Literal::from<float>(Shape(f32, {2}), {3, 4});
  ASSERT_TRUE(write_file(path + "/out0.npy", hlo::write_npy(samples).value()).ok());
  std::string other = kMeta;
  other.replace(other.find("6.0"), 3, "6.1");
  EXPECT_EQ(run({path, program("b", other)}, {"interpreter"}), 1);
  const auto found = lines();
  ASSERT_EQ(found.size(), 2);
  EXPECT_FALSE(found[0].fields().at("agrees").bool_value());
  EXPECT_THAT(found[0].fields().at("error").string_value(), HasSubstr("got 3, want 4"));
  EXPECT_EQ(found[1].fields().at("error").string_value(), "l2 norm is 6, want 6.1");
}

// The result depends on every rounding of 1000 trips.
constexpr char kLogisticMap[] = R"(HloModule logistic_map
body {
  state = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  x = f32[] get-tuple-element(state), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  unit = f32[] constant(1)
  rest = f32[] subtract(unit, x)
  r = f32[] constant(3.9)
  scaled = f32[] multiply(r, x)
  y = f32[] multiply(scaled, rest)
  ROOT out = (s32[], f32[]) tuple(next, y)
}
condition {
  state = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  end = s32[] constant(1000)
  ROOT more = pred[] compare(i, end), direction=LT
}
ENTRY main {
  x = f32[] parameter(0)
  zero = s32[] constant(0)
  state = (s32[], f32[]) tuple(zero, x)
  loop = (s32[], f32[]) while(state), condition=condition, body=body
  ROOT y = f32[] get-tuple-element(loop), index=1
})";

TEST_F(Bench, ChaoticProgramAgreesAsSensitive) {
  const auto meta = [](const char* sum) {
    return base::cat(R"({"inputs": [{"generator": {"gen": "const", "value": 0.3}}],)",
                     R"("outputs": [{"sum": )", sum, "}]}");
  };
  EXPECT_EQ(run({program("a", meta("0.5"), kLogisticMap)}, {"interpreter"}), 0);
  EXPECT_TRUE(lines().at(0).fields().at("sensitive").bool_value());
  EXPECT_EQ(run({program("b", meta("50"), kLogisticMap)}, {"interpreter"}), 1);
}

// It reports the error of a backend on its line, and goes on with the others.
TEST_F(Bench, BackendThatFailsIsToldOnItsLine) {
  const char* text = R"(HloModule unknown
ENTRY main {
  x = f32[] parameter(0)
  ROOT y = f32[] custom-call(x), custom_call_target="nobody_has_this"
})";
  const std::string unknown =
      program("a", R"({"inputs": [{"generator": {"gen": "const", "value": 1}}]})", text);
  EXPECT_EQ(run({unknown, program("b", kMeta)}, {"interpreter", "cpu"}), 1);
  const auto found = lines();
  ASSERT_EQ(found.size(), 4);
  EXPECT_THAT(found[0].fields().at("error").string_value(), HasSubstr("nobody_has_this"));
  EXPECT_TRUE(found[0].fields().at("unit_ns_min").has_null_value());
  EXPECT_TRUE(found[2].fields().at("agrees").bool_value());
}

TEST_F(Bench, OptionThatABackendHasNotIsAnError) {
  EXPECT_THAT(base::message_of(open_bench_backend("interpreter+loops").status()),
              HasSubstr("xla_backend_extra_options"));
}

std::string generated(const char* rest) {
  return base::cat(R"({"inputs": [{"generator": {"gen": "splitmix64_counter", "seed": 26, )",
                   R"("lo": -1.0, "hi": 1.0, )", rest, "}]}");
}

// The numbers are those of a few lines of Python, by the formula of shared/peers/README.md.
TEST_F(Bench, InputsAreMadeByTheirGenerator) {
  const auto made =
      load_bench_program(program("a", generated(R"("floor": false}, "crc32": 2287864313)")));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->name, "a");
  EXPECT_THAT(made->arguments[0].values<float>(),
              ElementsAre(0.627558351f, -0.994394302f, 0.570056438f, -0.848154128f));
  const auto floored = load_bench_program(program("b", generated(R"("floor": true})")));
  ASSERT_TRUE(floored.ok()) << floored.status();
  EXPECT_THAT(floored->arguments[0].values<float>(), ElementsAre(0, -1, 0, -1));
}

TEST_F(Bench, OtherChecksumIsAnError) {
  const std::string path = program("a", generated(R"("floor": false}, "crc32": 7)"));
  EXPECT_EQ(base::message_of(load_bench_program(path).status()),
            path + ": input 0: has the crc32 2287864313; meta.json says 7");
}

TEST_F(Bench, MetaOfAnotherProgramIsAnError) {
  const std::string path = program("a", R"({"inputs": []})");
  EXPECT_EQ(base::message_of(load_bench_program(path).status()),
            path + ": meta.json lists 0 inputs; the program has 1");
}

TEST_F(Bench, GivenProgramAgrees) {
  const std::string given = "../shared/peers/programs/leafgrad_4";
  if (!fs::exists(given)) GTEST_SKIP() << given << " is not there";
  EXPECT_EQ(run({given, "../shared/peers/programs/chol3_f32"}, {"cpu"}), 0);
}

}  // namespace
}  // namespace heddle::tools
