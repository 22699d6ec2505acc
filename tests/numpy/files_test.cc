// Files that numpy wrote, and 2 x 10^5 of them with bytes changed: the array, or an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/numpy/npy.h"
#include "heddle/hlo/numpy/npz.h"
#include "heddle/tests/numpy/mutated.h"
#include "heddle/tests/numpy/reference.h"

namespace heddle::numpy_test {
namespace {

std::vector<File> files() { return files_of("tests/numpy/files.txt"); }

StatusOr<Literal> read(const std::string& bytes, bool is_archive) {
  if (!is_archive) return hlo::read_npy(bytes);
  HEDDLE_ASSIGN_OR_RETURN(hlo::NpzReader archive, hlo::NpzReader::open(bytes));
  for (size_t i = 0; i < archive.names().size(); ++i) {
    if (archive.names()[i] == "x") return archive.read(i);
  }
  return base::not_found("no x");
}

TEST(NumpyFiles, AreReadAsNumpyWroteThem) {
  const std::vector<File> all = files();
  EXPECT_GE(all.size(), 40u);
  for (const File& file : all) {
    StatusOr<Literal> array = read(file.bytes, file.name == "npz");
    ASSERT_TRUE(array.ok()) << file.name << " " << to_string(file.array.shape()) << ": "
                            << array.status();
    EXPECT_EQ(*array, file.array) << file.name << " " << to_string(file.array.shape());
  }
}

TEST(NumpyFiles, AreWrittenAsNumpyWritesThem) {
  for (const File& file : files()) {
    if (file.name == "c_order" || file.name == "shape") {
      EXPECT_EQ(*hlo::write_npy(file.array), file.bytes) << to_string(file.array.shape());
    }
  }
}

constexpr std::string_view kWords[] = {"(", ")",     "9999999999", "-1", "True", ",",
                                       "'", "'<V2'", "'|O'",       "[",  "{",    "}"};

TEST(NumpyFiles, ThatAreDamagedAreAnErrorOrAnArray) {
  const std::vector<File> all = files();
  std::mt19937 random(15);
  int arrays = 0, errors = 0;
  std::set<std::string> messages;
  for (int i = 0; i < 200'000; ++i) {
    const File& file = all[random() % all.size()];
    StatusOr<Literal> array = read(mutated(file.bytes, kWords, random), file.name == "npz");
    if (array.ok()) {
      ++arrays;
      EXPECT_LE(array->byte_size(), 1 << 20);  // a file of at most 40 kB, once deflated
    } else {
      ++errors;
      messages.insert(base::message_of(array.status()).substr(0, 60));
    }
  }
  EXPECT_GT(arrays, 5'000);  // most of an array's bytes may be anything
  EXPECT_GT(errors, 50'000);
  EXPECT_GT(messages.size(), 25u);
}

}  // namespace
}  // namespace heddle::numpy_test
