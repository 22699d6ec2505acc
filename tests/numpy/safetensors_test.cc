// Files that the safetensors package wrote, and 2 x 10^5 of them with bytes changed: the arrays, or
// an error. Files go to the package, and PyTorch's side of it, where python3 has them.
#include "heddle/hlo/safetensors/safetensors.h"

#include <complex>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "heddle/base/bytes.h"
#include "heddle/base/support_test.h"
#include "heddle/base/text/strings.h"
#include "heddle/tests/numpy/mutated.h"
#include "heddle/tests/numpy/reference.h"
#include "heddle/trace/error.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/creation/files.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/shaping.h"

namespace heddle::numpy_test {
namespace {

using hlo::SafetensorsFile;
using testing::Pair;

std::vector<File> files() { return files_of("tests/numpy/safetensors.txt"); }

std::vector<std::string> names_in(const SafetensorsFile& file) {
  std::vector<std::string> out;
  for (const hlo::SafetensorsArray& array : file.arrays()) out.push_back(array.name);
  return out;
}

// The file of one array, or of several, that we would write.
std::string written(const SafetensorsFile& file) {
  std::vector<hlo::SafetensorsType> types;
  for (const hlo::SafetensorsArray& array : file.arrays())
    types.push_back({array.name, array.shape});
  StatusOr<hlo::SafetensorsLayout> layout = hlo::lay_out_safetensors(types, file.metadata());
  if (!layout.ok()) return base::message_of(layout.status());
  std::string out = layout->header;
  for (const size_t i : layout->order) {
    const Literal value = *file.read(i);
    out.append(reinterpret_cast<const char*>(value.bytes()),
               static_cast<size_t>(value.byte_size()));
  }
  return out;
}

bool have_equal_arrays(const SafetensorsFile& a, const SafetensorsFile& b) {
  std::map<std::string, Literal> first, second;
  for (size_t i = 0; i < a.arrays().size(); ++i) first[a.arrays()[i].name] = *a.read(i);
  for (size_t i = 0; i < b.arrays().size(); ++i) second[b.arrays()[i].name] = *b.read(i);
  return first == second && a.metadata() == b.metadata();
}

TEST(SafetensorsFiles, AreReadAsOthersWroteThem) {
  const std::vector<File> all = files();
  EXPECT_GE(all.size(), 27u);
  for (const File& file : all) {
    StatusOr<SafetensorsFile> opened = SafetensorsFile::open(file.bytes);
    ASSERT_TRUE(opened.ok()) << file.name << ": " << opened.status();
    const std::vector<std::string> names = names_in(*opened);
    const auto x = static_cast<size_t>(std::ranges::find(names, "x") - names.begin());
    ASSERT_LT(x, names.size());
    EXPECT_EQ(*opened->read(x), file.array) << file.name << " " << to_string(file.array.shape());
    EXPECT_TRUE(opened->is_plain(x));
    if (file.name == "several") {
      EXPECT_THAT(opened->metadata(), ElementsAre(Pair("format", "pt"), Pair("é\n", "\"\\\t")));
      EXPECT_THAT(names, testing::UnorderedElementsAre("naïve \"a\"/b", "x", "z", "none"));
    }
    if (file.name == "by_hand") {
      EXPECT_THAT(names, ElementsAre("\U0001F600", "x"));
    }
    const std::string ours = written(*opened);
    StatusOr<SafetensorsFile> again = SafetensorsFile::open(ours);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(have_equal_arrays(*opened, *again)) << file.name;
  }
}

constexpr std::string_view kWords[] = {
    "{",      "}",          "[",       "]",         ",",
    ":",      "\"",         "\\u0041", "\\",        "18446744073709551615",
    "0",      "4294967296", "-1",      "1e9",       "\"BOOL\"",
    "\"F4\"", "null",       "\"x\"",   "\"dtype\"", "\"__metadata__\""};

// A change of a header's length that goes with a change of the header gets further.
std::string with_length(std::string bytes, size_t data) {
  if (bytes.size() < 8 + data) return bytes;
  std::string out;
  base::append_number(bytes.size() - 8 - data, out);
  return out + bytes.substr(8);
}

TEST(SafetensorsFiles, ThatAreDamagedAreAnErrorOrArrays) {
  const std::vector<File> all = files();
  std::mt19937 random(18);
  int arrays = 0, errors = 0;
  std::set<std::string> messages;
  for (int i = 0; i < 200'000; ++i) {
    const File& file = all[random() % all.size()];
    std::string bytes = mutated(file.bytes, kWords, random);
    if (i % 2 == 0) bytes = with_length(bytes, static_cast<size_t>(file.array.byte_size()));
    StatusOr<SafetensorsFile> opened = SafetensorsFile::open(bytes);
    if (!opened.ok()) {
      ++errors;
      messages.insert(base::message_of(opened.status()).substr(0, 50));
      continue;
    }
    bool is_readable = true;
    for (size_t k = 0; k < opened->arrays().size(); ++k) {
      StatusOr<Literal> array = opened->read(k);
      is_readable = is_readable && array.ok();
      if (array.ok()) {
        EXPECT_LE(array->byte_size(), 1 << 12);
      }
    }
    if (!is_readable) continue;
    ++arrays;
    const std::string ours = written(*opened);
    StatusOr<SafetensorsFile> again = SafetensorsFile::open(ours);
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << bytes;
    EXPECT_TRUE(have_equal_arrays(*opened, *again)) << bytes;
  }
  EXPECT_GT(arrays, 5'000);
  EXPECT_GT(errors, 50'000);
  EXPECT_GT(messages.size(), 40u);
}

// How many of the process's mappings and open files are below the folder.
int held(const std::string& folder) {
  int out = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) out += line.find(folder) != line.npos ? 1 : 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string to = std::filesystem::read_symlink(entry, gone).string();
    out += to.find(folder) != to.npos ? 1 : 0;
  }
  return out;
}

TEST(SafetensorsFiles, ThatAreDamagedLeaveNothingBehind) {
  const std::string folder = testing::TempDir() + "heddle_damaged_safetensors";
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/x";
  const std::vector<File> all = files();
  std::mt19937 random(19);
  int loaded = 0, refused = 0;
  for (int i = 0; i < 1'000; ++i) {
    const File& file = all[random() % all.size()];
    std::ofstream(path, std::ios::binary)
        << (i % 8 == 0 ? file.bytes : mutated(file.bytes, kWords, random));
    try {
      const std::map<std::string, Tensor> arrays = load_safetensors(path, {.mapped = i % 2 == 0});
      for (const auto& [name, array] : arrays) (void)array.to_literal();
      ++loaded;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GE(loaded, 125);
  EXPECT_GT(refused, 500);
  EXPECT_EQ(held(folder), 0);
  save_safetensors(path, ones({64}));
  {
    const Tensor lent = load_safetensors<Tensor>(path);
    EXPECT_EQ(held(folder), 1);  // the pages, and no open file
  }
  EXPECT_EQ(held(folder), 0);
  std::filesystem::remove_all(folder);
}

class WithPackage : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string library = GetParam();
    if (std::system(("python3 -c 'import safetensors." + library + "' 2>/dev/null").c_str()) != 0)
      GTEST_SKIP() << "no python3 with safetensors and " << library;
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] bool python(const std::string& verb) const {
    const std::string command =
        "python3 tests/numpy/safetensors_round_trip.py " + verb + " " + folder_ + " " + GetParam();
    return std::system(command.c_str()) == 0;
  }
  const std::string folder_ = testing::TempDir() + "heddle_safetensors_" + GetParam();
};

TEST_P(WithPackage, FilesGoThereAndBack) {
  ASSERT_TRUE(python("write"));
  const std::map<std::string, Tensor> theirs = load_safetensors(folder_ + "/theirs.safetensors");
  EXPECT_EQ(theirs.at("w").shape(), Shape(f32, {2, 3}));
  EXPECT_THAT(theirs.at("w").to_vector<float>(), ElementsAre(0, 0.25, 0.5, 0.75, 1, 1.25));
  EXPECT_THAT(theirs.at("layers.0.b").to_vector<bool>(), ElementsAre(true, false));
  EXPECT_EQ(theirs.at("one").item<int>(), -3);
  EXPECT_EQ(theirs.at("none").shape(), Shape(f64, {0, 3}));
  EXPECT_THAT(load_safetensors_metadata(folder_ + "/theirs.safetensors"),
              ElementsAre(Pair("format", "np")));
  std::map<std::string, Tensor> ours = {{"w", reshape(arange(6, f32) / 4, {2, 3})},
                                        {"layers.0.b", array({true, false})},
                                        {"naïve", scalar(std::complex<float>(1, 2))},
                                        {"none", zeros({0, 3}, f64)},
                                        {"large", arange(100'000)}};
  if (std::string_view(GetParam()) == "torch") {
    EXPECT_EQ(theirs.at("half").dtype(), bf16);
    EXPECT_THAT(theirs.at("half").to_vector<float>(), ElementsAre(1, -2.5));
    EXPECT_EQ(theirs.at("eighth").dtype(), f8e4m3fn);
    EXPECT_THAT(theirs.at("eighth").to_vector<float>(), ElementsAre(1, -2.5));
    ours["half"] = array({1.0f, -2.5f}).astype(bf16);
    ours["eighth"] = array({1.0f, -2.5f}).astype(f8e5m2);
  }
  save_safetensors(folder_ + "/ours.safetensors", ours, {.metadata = {{"by", "é\""}}});
  EXPECT_TRUE(python("check"));
}

INSTANTIATE_TEST_SUITE_P(Libraries, WithPackage, testing::Values("numpy", "torch"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace heddle::numpy_test
