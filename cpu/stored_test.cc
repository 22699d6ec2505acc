#include "heddle/cpu/stored.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "heddle/base/metrics/counters.h"
#include "heddle/base/support_test.h"
#include "heddle/base/text/strings.h"
#include "heddle/cpu/backend.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/text.h"
#include "heddle/runtime/storing_test.h"
#include "heddle/runtime/transfer.h"

namespace heddle::cpu {
namespace {

namespace fs = std::filesystem;
using runtime::BufferPtr;
using runtime::contents_of;
using runtime::DiskCache;

// One of each kind that code reaches outside of itself for: constants, functions of the C library,
// kernels of each kind, loops that threads share.
constexpr const char* kPrograms[] = {
    runtime::kSum,
    R"(HloModule library
  ENTRY main { x = f32[40] parameter(0) y = f32[40] parameter(1)
    big = f32[] constant(3e8) bigs = f32[40] broadcast(big), dimensions={} z = f32[40] multiply(x, bigs)
    r = f32[40] remainder(z, y) s = f32[40] sine(z) a = f32[40] add(r, s) d = f64[40] convert(a)
    ROOT e = f64[40] tan(d) })",
    R"(HloModule sorted
  less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }
  ENTRY main { x = f32[3,33] parameter(0) s = f32[3,33] sort(x), dimensions={1}, to_apply=less
    ROOT n = f32[3,33] negate(s) })",
    R"(HloModule products
  ENTRY main { x = f32[3,96,80] parameter(0) y = f32[3,80,72] parameter(1)
    ROOT d = f32[3,96,72] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2},
      rhs_contracting_dims={1} })",
    R"(HloModule products_of_bf16
  ENTRY main { x = f32[40,64] parameter(0) y = f32[64,48] parameter(1) a = bf16[40,64] convert(x)
    b = bf16[64,48] convert(y)
    ROOT d = bf16[40,48] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} })",
    R"(HloModule convolved
  ENTRY main { x = f32[2,16,16,8] parameter(0) w = f32[3,3,8,16] parameter(1)
    ROOT c = f32[2,14,14,16] convolution(x, w), window={size=3x3}, dim_labels=b01f_01io->b01f })",
    R"(HloModule transformed
  ENTRY main { x = f32[5,48] parameter(0) ROOT c = c64[5,25] fft(x), fft_type=RFFT, fft_length={48} })",
    R"(HloModule shared
  ENTRY main { x = f32[700000] parameter(0) e = f32[700000] exponential(x)
    l = f32[700000] logistic(e) ROOT t = f32[700000] multiply(l, e) })",
    runtime::kSineLoop,
};

// A constant of more elements than text shows.
hlo::Module table_module(int changed_at) {
  hlo::Module module = hlo::parse_text(R"(HloModule table
  ENTRY main { x = f32[1000] parameter(0) t = f32[1000] constant({...}) ROOT s = f32[1000] add(x, t) })")
                           .value();
  std::vector<float> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * i % 97);
  if (changed_at >= 0) values[static_cast<size_t>(changed_at)] += 1;
  for (hlo::Instruction& instruction : module.computations.back().instructions) {
    if (instruction.opcode != hlo::Opcode::kConstant) continue;
    instruction.attrs = hlo::ConstantAttrs{
        Literal::from<float>(Shape(f32, {1000}), std::span<const float>(values))};
  }
  return module;
}

std::vector<hlo::Module> modules() {
  std::vector<hlo::Module> all;
  for (const char* text : kPrograms) all.push_back(hlo::parse_text(text).value());
  all.push_back(table_module(-1));
  return all;
}

Literal argument(const Shape& shape, int64_t seed) {
  std::vector<float> values(static_cast<size_t>(shape.element_count()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((static_cast<int64_t>(i) * 37 + seed * 11) % 101 + 1) / 50 - 1;
  return Literal::from<float>(shape, std::span<const float>(values));
}

std::vector<Literal> arguments_of(const hlo::Module& module) {
  std::vector<Literal> arguments;
  const hlo::Computation& entry = module.entry_computation();
  for (size_t i = 0; i < entry.parameter_count(); ++i)
    arguments.push_back(argument(entry.parameter_shape(i), static_cast<int64_t>(i)));
  return arguments;
}

std::string bytes_of(const Literal& literal) {
  return {reinterpret_cast<const char*>(literal.bytes()), static_cast<size_t>(literal.byte_size())};
}

// The bytes of the results.
std::string run(const hlo::Module& module, runtime::Backend& backend) {
  runtime::Device& device = *backend.devices()[0];
  const auto program = backend.compile(module, {}, device).value();
  std::vector<BufferPtr> buffers;
  for (const Literal& value : arguments_of(module))
    buffers.push_back(to_device(device, value, "test").value());
  std::string bytes;
  const std::vector<BufferPtr> results = program->execute(buffers).value();
  for (const BufferPtr& result : results) bytes += bytes_of(to_host(*result, "test").value());
  return bytes;
}

class StoredTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!find_code_generator().ok()) GTEST_SKIP() << "no LLVM";
#if !defined(__x86_64__) && !defined(__aarch64__)
    GTEST_SKIP() << "no images of code on this machine";
#endif
    std::string name = fs::temp_directory_path() / "heddle_stored_XXXXXX";
    folder_ = fs::path(mkdtemp(name.data()));
    use_new_cache();
  }
  void TearDown() override {
    runtime::set_disk_cache(nullptr);
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  void use_new_cache() {
    cache_ = std::make_shared<DiskCache>(runtime::DiskCacheOptions{.folder = folder_ / "programs"});
    runtime::set_disk_cache(cache_);
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> files;
    if (!fs::exists(folder_ / "programs")) return files;
    for (const auto& entry : fs::directory_iterator(folder_ / "programs"))
      files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
  }

  fs::path folder_;
  std::shared_ptr<DiskCache> cache_;
  std::unique_ptr<runtime::Backend> backend_ = make_cpu();
};

TEST_F(StoredTest, AStoredProgramGivesTheSameBitsAndIsNotCompiled) {
  for (const hlo::Module& module : modules()) {
    SCOPED_TRACE(module.name);
    const Counters before = counters();
    const std::string cold = run(module, *backend_);
    const Counters between = counters();
    const std::string warm = run(module, *backend_);
    EXPECT_EQ(cold, warm);
    EXPECT_EQ((between - before).compiles, 1);
    EXPECT_EQ((between - before).disk_misses, 1);
    EXPECT_GT((between - before).disk_written_bytes, 0);
    EXPECT_EQ((counters() - between).compiles, 0);
    EXPECT_EQ((counters() - between).disk_hits, 1);
    EXPECT_EQ((counters() - between).disk_misses, 0);
  }
}

TEST_F(StoredTest, ThePartsThatPeopleSeeAreThere) {
  const hlo::Module module = hlo::parse_text(kPrograms[3]).value();
  runtime::Device& device = *backend_->devices()[0];
  const auto cold = backend_->compile(module, {}, device).value();
  const auto warm = backend_->compile(module, {}, device).value();
  EXPECT_FALSE(cold->is_from_disk());
  EXPECT_TRUE(warm->is_from_disk());
  EXPECT_EQ(warm->cost().flops, cold->cost().flops);
  EXPECT_EQ(warm->cost().bytes_accessed, cold->cost().bytes_accessed);
  EXPECT_EQ(warm->cost().scratch_bytes, cold->cost().scratch_bytes);
  EXPECT_TRUE(cold->cost().flops.has_value());
  const auto entries = cache_->entries().value();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].about, "cpu products, 3 instructions");
}

TEST_F(StoredTest, ConstantsAreOfTheKeyToTheLastBit) {
  const std::string first = run(table_module(-1), *backend_);
  const Counters before = counters();
  EXPECT_NE(run(table_module(999), *backend_), first);
  EXPECT_NE(run(table_module(0), *backend_), first);
  EXPECT_EQ((counters() - before).disk_hits, 0);
  EXPECT_EQ(run(table_module(-1), *backend_), first);
  EXPECT_EQ((counters() - before).disk_hits, 1);
}

TEST_F(StoredTest, NamesAndLinesAreNotOfTheKey) {
  const hlo::Module named = hlo::parse_text(R"(HloModule other_name
  ENTRY entry { a = f32[64] parameter(0) b = f32[64] parameter(1)
    c = f32[64] add(a, b), metadata={op_name="sum" source_file="x.cc" source_line=7}
    ROOT d = f32[64] multiply(c, b) })")
                                .value();
  run(hlo::parse_text(kPrograms[0]).value(), *backend_);
  const Counters before = counters();
  run(named, *backend_);
  EXPECT_EQ((counters() - before).disk_hits, 1);
}

// The line is that of this program, not of the one that was stored.
TEST_F(StoredTest, AStoppedRunNamesItsOwnLine) {
  const auto endless = [](int line) {
    std::string text = runtime::kEndless;
    text.replace(text.find("41"), 2, std::to_string(line));
    return hlo::parse_text(text).value();
  };
  runtime::Device& device = *backend_->devices()[0];
  ASSERT_TRUE(backend_->compile(endless(41), {}, device).ok());
  const auto program = backend_->compile(endless(42), {}, device).value();
  ASSERT_TRUE(program->is_from_disk());
  StopSource source;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    source.request_stop();
  });
  const BufferPtr arguments[] = {
      to_device(device, Literal::scalar(s32, int64_t{0}), "test").value(),
      to_device(device, Literal(Shape(f32, {4})), "test").value()};
  const auto stopped = program->execute(arguments, {.stop = source.token()});
  later.join();
  EXPECT_EQ(base::message_of(stopped.status()), "run endless: stopped in forever [train.cc:42]");
}

TEST_F(StoredTest, WhatPeopleLookIntoIsCompiled) {
  const hlo::Module module = hlo::parse_text(kPrograms[0]).value();
  run(module, *backend_);
  for (const CpuOptions& options :
       {CpuOptions{.dump_folder = folder_ / "dump"}, CpuOptions{.names_code = true},
        CpuOptions{.checks_bounds = true}}) {
    const Counters before = counters();
    run(module, *make_cpu(options));
    EXPECT_EQ((counters() - before).compiles, 1);
    EXPECT_EQ((counters() - before).disk_hits + (counters() - before).disk_misses, 0);
  }
  fs::remove(base::cat("/tmp/perf-", getpid(), ".map"));
}

// Ten thousand changed files: what is found of them computes what it should.
TEST_F(StoredTest, NoChangedFileGivesAWrongResult) {
  std::vector<hlo::Module> all = modules();
  std::erase_if(all, [](const hlo::Module& module) { return module.name == "shared"; });  // slow
  std::vector<std::string> results, contents;
  std::vector<fs::path> paths;
  for (const hlo::Module& module : all) {
    const auto before = files();
    results.push_back(run(module, *backend_));
    for (const fs::path& file : files()) {
      if (std::ranges::find(before, file) == before.end()) paths.push_back(file);
    }
    ASSERT_EQ(paths.size(), results.size());
    contents.push_back(contents_of(paths.back()));
  }
  std::mt19937 random(18);
  const auto below = [&](size_t n) { return random() % n; };
  int found = 0;
  for (int i = 0; i < 10000; ++i) {
    const size_t which = below(all.size());
    std::string bytes = contents[which];
    switch (i % 6) {
      case 0: bytes.resize(below(bytes.size())); break;
      case 1: bytes[below(bytes.size())] ^= static_cast<char>(1 << below(8)); break;
      case 2: bytes = contents[below(all.size())]; break;
      case 3:
        for (int n = 0; n < 16; ++n) bytes[below(bytes.size())] = static_cast<char>(random());
        break;
      case 4: bytes = std::string(below(5000), static_cast<char>(random())); break;
      default: break;
    }
    runtime::write_anew(paths[which], bytes);
    StoredProgram stored(all[which], cache_);
    if (!stored.find().has_value()) {
      ASSERT_NE(bytes, contents[which]) << i;
      continue;
    }
    ASSERT_EQ(bytes, contents[which]) << i;
    ++found;
    if (i % 20 != 5) continue;
    const Counters before = counters();
    ASSERT_EQ(run(all[which], *backend_), results[which]) << i;
    ASSERT_EQ((counters() - before).compiles, 0);
  }
  EXPECT_GT(found, 1500);
}

// Were the checksum right all the same: bytes that are no program are an error and no crash. They
// are not run.
TEST_F(StoredTest, BytesThatAreNoProgramAreAnError) {
  std::mt19937 random(19);
  int errors = 0;
  for (const hlo::Module& module : modules()) {
    run(module, *backend_);
    std::string payload;
    cache_->find(stored_key(module), [&](std::string_view bytes) {
      payload = bytes;
      return true;
    });
    ASSERT_TRUE(decode(payload).ok());
    for (int i = 0; i < 1200; ++i) {
      std::string bytes = payload;
      if (i % 3 == 0) bytes.resize(random() % bytes.size());
      if (i % 3 == 1) bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
      if (i % 3 == 2) {  // behind the code, where the numbers are
        const size_t from = bytes.size() - std::min<size_t>(bytes.size() - 8, 400);
        bytes[from + random() % (bytes.size() - from)] = static_cast<char>(random());
      }
      errors += !decode(bytes).ok();
    }
  }
  EXPECT_GT(errors, 3000);
}

// Runs in another process, with the folder and a file of results from the environment.
TEST(StoredChild, RunsAllPrograms) {
  const char* out = std::getenv("HEDDLE_TEST_STORED_OUT");
  if (out == nullptr) GTEST_SKIP() << "not a child";
  const auto backend = make_cpu();
  std::string results;
  for (const hlo::Module& module : modules()) results += run(module, *backend);
  const bool has_llvm = contents_of("/proc/self/maps").find("libLLVM") != std::string::npos;
  const Counters done = counters();
  std::ofstream(out, std::ios::binary)
      << "compiles " << done.compiles << ", hits " << done.disk_hits << ", refused "
      << done.disk_refused << (has_llvm ? ", LLVM" : "") << "\n"
      << results;
}

// What starts a program of another machine than this one: `./dev cross` sets it.
std::string emulator() {
  const char* command = std::getenv("HEDDLE_TEST_EMULATOR");
  return command != nullptr ? command : "";
}

TEST_F(StoredTest, ASecondProcessCompilesNothing) {
  const auto in_a_process = [&](const std::string& out) {
    const std::string command =
        base::cat("HEDDLE_CACHE=1 HEDDLE_CACHE_DIR='", (folder_ / "shared").string(),
                  "' HEDDLE_TEST_STORED_OUT='", (folder_ / out).string(), "' ", emulator(), " '",
                  fs::read_symlink("/proc/self/exe").string(),
                  "' --gtest_filter=StoredChild.RunsAllPrograms > /dev/null");
    return std::system(command.c_str());
  };
  const auto split = [&](const std::string& out) {
    const std::string text = contents_of(folder_ / out);
    const size_t end = text.find('\n');
    return std::pair(text.substr(0, end), text.substr(end + 1));
  };
  ASSERT_EQ(in_a_process("first"), 0);
  ASSERT_EQ(in_a_process("second"), 0);
  const auto [first, cold] = split("first");
  const auto [second, warm] = split("second");
  const size_t count = modules().size();
  EXPECT_EQ(first, base::cat("compiles ", count, ", hits 0, refused 0, LLVM"));
  EXPECT_EQ(second, base::cat("compiles 0, hits ", count, ", refused 0"));
  EXPECT_EQ(cold, warm);
  EXPECT_GT(cold.size(), 1000u);
}

}  // namespace
}  // namespace heddle::cpu
