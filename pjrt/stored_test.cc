// Programs of plugins that come from the disk.
#include "heddle/pjrt/internal/stored.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "heddle/base/metrics/counters.h"
#include "heddle/base/support_test.h"
#include "heddle/interpreter/custom_call.h"
#include "heddle/pjrt/support_test.h"
#include "heddle/pjrt/xla_cpu_support_test.h"
#include "heddle/runtime/cache/disk_cache.h"
#include "heddle/runtime/storing_test.h"

namespace heddle::pjrt {
namespace {

namespace fs = std::filesystem;
using abi::Slot;

// The process's disk cache, in a folder of its own.
class CacheFolder {
 public:
  CacheFolder() {
    std::string name = fs::temp_directory_path() / "heddle_pjrt_stored_XXXXXX";
    folder_ = mkdtemp(name.data());
    cache_ =
        std::make_shared<runtime::DiskCache>(runtime::DiskCacheOptions{.folder = folder_ / "own"});
    runtime::set_disk_cache(cache_);
  }
  ~CacheFolder() {
    runtime::set_disk_cache(nullptr);
    fs::remove_all(folder_);
  }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;

  [[nodiscard]] std::vector<runtime::DiskCache::Entry> entries() const {
    return cache_->entries().value();
  }
  [[nodiscard]] fs::path file(size_t i) const { return folder_ / "own" / entries().at(i).name; }

 private:
  fs::path folder_;
  std::shared_ptr<runtime::DiskCache> cache_;
};

class StoredPrograms : public MockTest {
 protected:
  StoredPrograms() { start(with_evaluator()); }
  static int calls(Slot slot) { return mock_plugin().seen().calls[static_cast<size_t>(slot)]; }
  StatusOr<std::vector<float>> sum(const std::vector<int>& donated = {}) {
    const auto program = compiled(add_module());
    const BufferPtr x = on_device({1, 2}), y = on_device({10, 20});
    HEDDLE_ASSIGN_OR_RETURN(const auto results,
                            program->execute(std::vector{x, y}, {.donate = donated}));
    return floats_of(*results[0]);
  }

  CacheFolder folder_;
};

TEST_F(StoredPrograms, AreNotCompiledAgain) {
  EXPECT_THAT(*sum(), ElementsAre(11, 22));
  const int compiles = calls(Slot::kClientCompile);
  const Counters before = counters();
  start(with_evaluator());  // another client
  EXPECT_THAT(*sum(), ElementsAre(11, 22));
  EXPECT_TRUE(compiled(add_module())->is_from_disk());
  EXPECT_EQ((counters() - before).compiles, 0);
  EXPECT_EQ((counters() - before).disk_hits, 2);
  EXPECT_EQ(calls(Slot::kClientCompile), 0);
  EXPECT_GT(compiles, 0);
  ASSERT_EQ(folder_.entries().size(), 1u);
  EXPECT_EQ(folder_.entries()[0].about, "pjrt mock add, 3 instructions");
}

TEST_F(StoredPrograms, ThoseOfDonationsToo) {
  EXPECT_THAT(*sum({0}), ElementsAre(11, 22));
  EXPECT_EQ(folder_.entries().size(), 2u);
  const Counters before = counters();
  start(with_evaluator());
  EXPECT_THAT(*sum({0}), ElementsAre(11, 22));
  EXPECT_EQ((counters() - before).compiles, 0);
  EXPECT_THAT(*sum({1}), ElementsAre(11, 22));  // another program
  EXPECT_EQ((counters() - before).compiles, 1);
}

TEST_F(StoredPrograms, OptionsAndDevicesAreOfTheKey) {
  (void)sum();
  const Counters before = counters();
  (void)backend_->compile(add_module(), {}, device(1));
  (void)backend_->compile(add_module(), {.backend_options = {{"xla_a", "b"}}}, device());
  EXPECT_EQ((counters() - before).disk_hits, 0);
}

TEST_F(StoredPrograms, ChangedBytesNeverReachThePlugin) {
  (void)sum();
  const fs::path file = folder_.file(0);
  std::ifstream in(file, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  std::mt19937 random(5);
  const int before = calls(Slot::kExecutableDeserializeAndLoad);
  for (int i = 0; i < 1000; ++i) {
    std::string bytes = whole;
    if (i % 2 == 0) bytes.resize(random() % bytes.size());
    if (i % 2 == 1) bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    chmod(file.c_str(), 0600);
    ASSERT_FALSE(compiled(add_module())->is_from_disk());
  }
  EXPECT_EQ(calls(Slot::kExecutableDeserializeAndLoad), before);
  EXPECT_TRUE(compiled(add_module())->is_from_disk());
}

TEST_F(StoredPrograms, WhatThePluginRefusesIsCompiled) {
  (void)sum();
  mock::Settings settings = with_evaluator();
  settings.failing[Slot::kExecutableDeserializeAndLoad] = {.code = 3, .message = "of another day"};
  const Counters before = counters();
  start(settings);
  EXPECT_THAT(*sum(), ElementsAre(11, 22));
  EXPECT_EQ((counters() - before).compiles, 1);
  EXPECT_EQ((counters() - before).disk_refused, 1);
}

TEST_F(StoredPrograms, APluginThatCannotSerialiseCompiles) {
  mock::Settings settings = with_evaluator();
  settings.absent = {Slot::kExecutableSerialize};
  start(settings);
  const Counters before = counters();
  EXPECT_THAT(*sum(), ElementsAre(11, 22));
  EXPECT_THAT(*sum(), ElementsAre(11, 22));
  EXPECT_EQ((counters() - before).compiles, 2);
  EXPECT_EQ((counters() - before).disk_written_bytes, 0);
}

class StoredByXla : public XlaCpu {
 protected:
  void start_anew() { backend_ = make_backend("xla-cpu", {.library = xla_cpu_library()}).value(); }
  CacheFolder folder_;
};

TEST_F(StoredByXla, AProgramGivesTheSameBits) {
  const std::vector<Literal> arguments = {vector_of(std::vector<float>(16, 0.5F))};
  const Literal cold = run(runtime::kSineLoop, arguments).value();
  const Counters before = counters();
  start_anew();
  EXPECT_EQ(run(runtime::kSineLoop, arguments).value(), cold);
  EXPECT_EQ((counters() - before).compiles, 0);
  EXPECT_EQ((counters() - before).disk_hits, 1);
}

StatusOr<Literal> negated(interpreter::CustomCall& call) {
  HEDDLE_ASSIGN_OR_RETURN(const std::span<const float> x, call.values<float>(0));
  std::vector<float> y;
  for (const float value : x) y.push_back(-value);
  return Literal::from<float>(call.result(), std::span<const float>(y));
}

TEST_F(StoredByXla, AProgramCallsFunctionsOfThisProcess) {
  ASSERT_TRUE(interpreter::register_custom_call("negated_of_stored_test", negated).ok());
  constexpr char kCall[] = R"(HloModule call
    ENTRY main { x = f32[3] parameter(0)
      ROOT y = f32[3] custom-call(x), custom_call_target="negated_of_stored_test" })";
  const Literal cold = run(kCall, {vector_of({1, 2, 3})}).value();
  const Counters before = counters();
  start_anew();
  EXPECT_EQ(run(kCall, {vector_of({1, 2, 3})}).value(), cold);
  EXPECT_EQ(cold, vector_of({-1, -2, -3}));
  EXPECT_EQ((counters() - before).disk_hits, 1);
}

}  // namespace
}  // namespace heddle::pjrt
