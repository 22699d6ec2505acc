// Plugins by name: where they are found, and what is said of those that are not usable.
#include "heddle/pjrt/plugin.h"

#include <filesystem>
#include <fstream>
#include <map>

#include "heddle/base/support_test.h"
#include "heddle/pjrt/finder.h"
#include "heddle/pjrt/internal/plugin_file.h"
#include "heddle/pjrt/support_test.h"
#include "heddle/runtime/registry.h"

namespace heddle::pjrt {
namespace {

using ::testing::Field;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::string folder() {
  std::string path = ::testing::TempDir() + "heddle_plugins.d/";
  std::filesystem::create_directories(path);
  return path;
}

void write_file(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST(PluginNames, RegisteredOnesAreBackends) {
  mock_plugin().reset(with_evaluator());
  ASSERT_EQ(register_plugin("registered", {.library = HEDDLE_PJRT_MOCK}), Status());
  const auto device = find_device("pjrt:registered:1");
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ((*device)->name(), "pjrt:registered:1");
  EXPECT_THAT(known_plugins(), Contains(Field(&KnownPlugin::from, "register_plugin")));
}

TEST(PluginNames, APathIsAName) {
  mock_plugin().reset(with_evaluator());
  ASSERT_EQ(enable_plugins(), Status());
  const auto backend = runtime::find_backend(base::cat("pjrt:", HEDDLE_PJRT_MOCK));
  ASSERT_TRUE(backend.ok()) << backend.status();
  EXPECT_EQ((*backend)->devices().size(), 2u);
}

TEST(PluginNames, AreWordsAndTakenOnce) {
  for (const char* name : {"", "a:b", "a/b"}) {
    EXPECT_EQ(base::message_of(register_plugin(name, {})),
              base::cat("register_plugin: plugin name \"", name,
                        "\"; it must be a word without colon and slash"));
  }
  ASSERT_EQ(register_plugin("taken", {.library = "first.so"}), Status());
  EXPECT_EQ(base::message_of(register_plugin("taken", {.library = "second.so"})),
            "register_plugin: plugin name \"taken\" is taken by first.so (register_plugin); choose "
            "another");
}

TEST(PluginNames, AnUnknownOneIsToldWithThoseThatAreKnown) {
  ASSERT_EQ(register_plugin("known", {.library = "known.so"}), Status());
  const auto backend = runtime::find_backend("pjrt:unknown");
  EXPECT_EQ(backend.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(base::message_of(backend.status()),
              HasSubstr("no plugin of this name is known; there are: "));
  EXPECT_THAT(base::message_of(backend.status()), HasSubstr("known"));
  EXPECT_THAT(base::message_of(runtime::find_backend("pjrt:").status()),
              HasSubstr("backend pjrt: names no plugin; there are: "));
}

// The environment is read once in a process; ctest gives each test its own.
#define SKIP_UNLESS_ALONE()                                        \
  if (::testing::UnitTest::GetInstance()->test_to_run_count() > 1) \
  GTEST_SKIP() << "the environment is read once a process"

TEST(PluginEnvironment, ListsAndFoldersAreRead) {
  SKIP_UNLESS_ALONE();
  write_file(folder() + "described.json",
             base::cat(R"({"library": ")", HEDDLE_PJRT_MOCK, R"(", "launches": 3})"));
  write_file(folder() + "broken.json", "{\"libary\": 1}");
  write_file(folder() + "vendor:1.json", base::cat(R"({"library": ")", HEDDLE_PJRT_MOCK, R"("})"));
  write_file(folder() + "listed.json", base::cat(R"({"library": ")", HEDDLE_PJRT_MOCK, R"("})"));
  const std::string settings = folder() + "settings";
  std::filesystem::create_directories(settings + "/heddle_plugins.d");
  write_file(settings + "/heddle_plugins.d/usual.json",
             base::cat(R"({"library": ")", HEDDLE_PJRT_MOCK, R"("})"));
  setenv("XDG_CONFIG_HOME", settings.c_str(), 1);
  setenv("HEDDLE_PLUGINS", base::cat("listed:", HEDDLE_PJRT_MOCK, ",gone:/no/such.so").c_str(), 1);
  setenv("HEDDLE_PLUGIN_PATH", base::cat("/no/such/folder:", folder()).c_str(), 1);
  const std::string package = folder() + "xla_plugins/in_a_package_pjrt/";
  std::filesystem::create_directories(package);
  std::filesystem::remove(package + "some_pjrt.so");
  std::filesystem::create_symlink(HEDDLE_PJRT_MOCK, package + "some_pjrt.so");
  mock_plugin().reset(with_evaluator());
  EXPECT_TRUE(runtime::find_backend("pjrt:listed").ok());
  EXPECT_TRUE(runtime::find_backend("pjrt:usual").ok());
  EXPECT_TRUE(runtime::find_backend("pjrt:in-a-package").ok());
  EXPECT_THAT(base::message_of(runtime::find_backend("pjrt:gone").status()),
              HasSubstr("plugin gone: /no/such.so is no file"));
  EXPECT_THAT(base::message_of(runtime::find_backend("pjrt:broken").status()),
              HasSubstr("broken.json: "));
  EXPECT_THAT(
      passed_plugins(),
      UnorderedElementsAre(HasSubstr("/no/such/folder: No such file"),
                           HasSubstr("vendor:1.json: plugin name \"vendor:1\"; it must be a word"),
                           HasSubstr("listed.json: plugin name \"listed\" is taken")));
  const auto described = find_device("pjrt:described");
  ASSERT_TRUE(described.ok()) << described.status();
  EXPECT_EQ((**described).throttle().limits().launches, 3);
}

TEST(PluginEnvironment, AListThatCannotBeReadIsAnError) {
  SKIP_UNLESS_ALONE();
  setenv("HEDDLE_PLUGINS", "nameless", 1);
  const std::string text =
      "HEDDLE_PLUGINS: \"nameless\"; it must be NAME:PATH, with commas between several";
  for (int i = 0; i < 2; ++i) EXPECT_EQ(base::message_of(enable_plugins()), text);
  EXPECT_EQ(base::message_of(runtime::find_backend("pjrt:x").status()),
            base::cat("backend pjrt:x: ", text));
  EXPECT_THAT(passed_plugins(), Contains(text));
  EXPECT_EQ(register_plugin("registered", {.library = HEDDLE_PJRT_MOCK}), Status());
}

TEST(PluginFile, HoldsAllThatARecordHolds) {
  const std::string path = folder() + "full.json";
  write_file(path, R"({
    "library": "lib/plugin.so",
    "create_options": {"cpu_device_count": 4, "memory_fraction": 1, "allocator": "bfc",
                       "preallocate": false, "visible_devices": [0, 2]},
    "compile_options": {"xla_c": "d", "xla_flag": false, "xla_number": 7, "xla_part": 0.5},
    "launches": 8,
    "bytes": "1000000000000",
    "dtypes": ["f32", "bf16"],
    "rng": "rng_philox",
    "donation": false,
    "expansions": ["lapack_spotrf_ffi"]
  })");
  const auto plugin = read_plugin_file(path);
  ASSERT_TRUE(plugin.ok()) << plugin.status();
  EXPECT_EQ(plugin->library, folder() + "lib/plugin.so");
  std::map<std::string, decltype(CreateOption::value)> options;
  for (const CreateOption& option : plugin->create_options) options[option.name] = option.value;
  EXPECT_EQ(options.size(), 5u);
  EXPECT_EQ(std::get<int64_t>(options["cpu_device_count"]), 4);
  EXPECT_EQ(std::get<float>(options["memory_fraction"]), 1.0f);
  EXPECT_EQ(std::get<std::string>(options["allocator"]), "bfc");
  EXPECT_FALSE(std::get<bool>(options["preallocate"]));
  EXPECT_THAT(std::get<std::vector<int64_t>>(options["visible_devices"]), ElementsAre(0, 2));
  std::map<std::string, std::string> compiled_with;
  for (const auto& [name, value] : plugin->compile_options) compiled_with[name] = value;
  EXPECT_THAT(compiled_with, ElementsAre(Pair("xla_c", "d"), Pair("xla_flag", "false"),
                                         Pair("xla_number", "7"), Pair("xla_part", "0.5")));
  EXPECT_EQ(plugin->limits.launches, 8);
  EXPECT_EQ(plugin->limits.bytes, 1000000000000);
  EXPECT_THAT(plugin->dtypes, ElementsAre(f32, bf16));
  EXPECT_EQ(plugin->rng, hlo::RandomAlgorithm::kPhilox);
  EXPECT_FALSE(plugin->donation);
  EXPECT_THAT(plugin->expansions.value(), ElementsAre("lapack_spotrf_ffi"));
}

TEST(PluginFile, WhatIsNotSaidIsTheDefault) {
  const std::string path = folder() + "small.json";
  write_file(path, R"({"library": "a"})");
  const DevicePlugin small = read_plugin_file(path).value();
  EXPECT_EQ(small.limits.launches, 32);
  EXPECT_EQ(small.limits.bytes, std::nullopt);
  EXPECT_EQ(small.expansions, std::nullopt);
  EXPECT_TRUE(small.donation);
  write_file(path, R"({"library": "a", "bytes": 0, "expansions": []})");
  EXPECT_EQ(read_plugin_file(path)->limits.bytes, INT64_MAX);  // no limit
  EXPECT_TRUE(read_plugin_file(path)->expansions->empty());
}

TEST(PluginFinder, FindsThePluginsOfPythonPackages) {
  const std::filesystem::path root = folder() + "prefix";
  const auto put = [&](const std::string& file) {
    std::filesystem::create_directories((root / file).parent_path());
    write_file(root / file, "");
    return (root / file).string();
  };
  const std::string cpu = put("xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so");
  put("xla_plugins/xla_cpu_pjrt/include/pjrt_c_api.h");
  const std::string packages = "lib/python3.11/site-packages/";
  put(packages + "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so");  // the prefix itself counts first
  put(packages + "jax_plugins/xla_cuda13/__init__.py");
  const std::string cuda = put(packages + "jax_plugins/xla_cuda13/xla_cuda_plugin.so");
  const std::string tpu = put("lib/python3.12/dist-packages/libtpu/libtpu.so");
  put("lib/python2.7/site-packages/libtpu/libtpu.so");
  std::vector<std::string> found;
  for (const FoundPlugin& each : find_plugins(root.string()))
    found.push_back(base::cat(each.name, " ", each.library));
  EXPECT_THAT(found, ElementsAre("tpu " + tpu, "xla-cpu " + cpu, "xla-cuda13 " + cuda));
  EXPECT_TRUE(find_plugins((root / "none").string()).empty());
}

TEST(PluginFile, WhatIsWrongIsTold) {
  const std::string path = folder() + "wrong.json";
  const auto refusal = [&](const std::string& text) {
    write_file(path, text);
    return base::message_of(read_plugin_file(path).status());
  };
  EXPECT_EQ(refusal("{}"), base::cat("plugin file ", path, ": names no \"library\""));
  EXPECT_THAT(refusal("{"), HasSubstr(base::cat("plugin file ", path, ": ")));
  EXPECT_THAT(refusal(R"({"library": "a", "create_options": {"x": [0.5]}})"),
              HasSubstr("create option x is a list of other than integers"));
  EXPECT_THAT(refusal(R"({"library": "a", "create_options": {"x": null}})"),
              HasSubstr("create option x must be a bool"));
  EXPECT_THAT(refusal(R"({"library": "a", "compile_options": {"x": [1]}})"),
              HasSubstr("compile option x must be a bool, a number or a string"));
  EXPECT_THAT(refusal(R"({"library": "a", "launches": 0})"),
              HasSubstr("launches in flight are 0; there must be at least 1"));
  EXPECT_THAT(refusal(R"({"library": "a", "bytes": -1})"), HasSubstr("bytes in flight are -1"));
  EXPECT_THAT(refusal(R"({"library": "a", "dtypes": ["f31"]})"),
              HasSubstr("\"f31\" of dtypes is no element type"));
  EXPECT_THAT(refusal(R"({"library": "a", "rng": "dice"})"),
              HasSubstr("rng is \"dice\"; it must be rng_default, rng_three_fry, rng_philox"));
  EXPECT_THAT(refusal(R"({"library": "a", "expansions": [1]})"),
              HasSubstr("expansions is a list of other than strings"));
  EXPECT_EQ(read_plugin_file("/no/such.json").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace heddle::pjrt
