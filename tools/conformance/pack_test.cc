#include "heddle/tools/conformance/pack.h"

#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "heddle/base/support_test.h"
#include "heddle/hlo/wire.h"
#include "heddle/tools/proto/hlo_case.pb.h"

namespace heddle::conformance {
namespace {

std::string gzip(const std::string& bytes) {
  std::string out(compressBound(bytes.size()) + 64, '\0');
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// A case whose one argument is its result.
std::string sample_case(const std::string& name) {
  const std::string value = hlo::literal_to_proto(Literal::scalar(f32, 1.5));
  proto::Case item;
  item.set_name(name);
  item.mutable_snapshot()->add_arguments(value);
  item.mutable_snapshot()->set_result(value);
  item.add_tolerance()->set_max_ulp(3);
  item.add_flags("class:exact");
  return item.SerializeAsString();
}

std::string delimited(const std::string& record) {
  std::string length;
  for (size_t left = record.size(); left > 0 || length.empty(); left >>= 7) {
    if (!length.empty()) length.back() = static_cast<char>(length.back() | 0x80);
    length.push_back(static_cast<char>(left & 0x7F));
  }
  return length + record;
}

// A file that goes with the test.
class Packs : public ::testing::Test {
 protected:
  std::string write(const std::string& bytes) {
    path_ = ::testing::TempDir() + "/heddle_pack_" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".cases.gz";
    std::ofstream(path_, std::ios::binary) << bytes;
    return path_;
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::string path_;
};

TEST_F(Packs, CasesAreReadInOrder) {
  const auto cases =
      read_pack(write(gzip(delimited(sample_case("a/1")) + delimited(sample_case("a/2")))));
  ASSERT_TRUE(cases.ok()) << cases.status();
  ASSERT_EQ(cases->size(), 2u);
  EXPECT_EQ((*cases)[1].name, "a/2");
  EXPECT_THAT((*cases)[1].arguments, ElementsAre(Literal::scalar(f32, 1.5)));
  EXPECT_EQ((*cases)[1].expected, Literal::scalar(f32, 1.5));
  EXPECT_EQ((*cases)[1].tolerances[0].max_ulp, 3);
  EXPECT_TRUE((*cases)[1].has_flag("class:exact"));
}

TEST_F(Packs, EmptyStreamHasNoCases) {
  const auto cases = read_pack(write(gzip("")));
  ASSERT_TRUE(cases.ok()) << cases.status();
  EXPECT_TRUE(cases->empty());
}

TEST_F(Packs, MissingFileIsNamed) {
  EXPECT_EQ(base::message_of(read_pack("no/such.cases.gz").status()),
            "no/such.cases.gz: no such file");
}

TEST_F(Packs, FileThatIsNoGzipIsAnError) {
  EXPECT_THAT(base::message_of(read_pack(write("HloModule m")).status()),
              HasSubstr("is no gzip file"));
}

TEST_F(Packs, RecordThatIsCutOffIsAnError) {
  const std::string record = delimited(sample_case("a/1"));
  EXPECT_THAT(
      base::message_of(read_pack(write(gzip(record.substr(0, record.size() - 5)))).status()),
      HasSubstr("record 0: is cut off"));
}

TEST_F(Packs, StreamThatIsCutOffIsAnError) {
  const std::string bytes = gzip(delimited(sample_case("a/1")));
  EXPECT_FALSE(read_pack(write(bytes.substr(0, bytes.size() - 6))).ok());
}

TEST_F(Packs, LengthThatIsALieIsAnErrorAndTakesNoMemory) {
  EXPECT_THAT(base::message_of(read_pack(write(gzip("\xff\xff\xff\xff\x0f"))).status()),
              HasSubstr("at most"));
  EXPECT_THAT(base::message_of(read_pack(write(gzip("\xff\xff\xff\x7f"
                                                    "abc")))
                                   .status()),
              HasSubstr("has 3 of 268435455 bytes"));
}

TEST_F(Packs, ResultThatIsNoLiteralIsAnErrorThatNamesTheCase) {
  proto::Case item;
  item.set_name("a/1");
  item.mutable_snapshot()->set_result("\x0a");
  EXPECT_THAT(
      base::message_of(read_pack(write(gzip(delimited(item.SerializeAsString())))).status()),
      HasSubstr("record 0: case a/1: result: literal: is no serialised LiteralProto"));
}

TEST_F(Packs, DamagedStreamsGiveErrorsOrCases) {
  std::mt19937 random(7);
  const std::string bytes = gzip(delimited(sample_case("a/1")) + delimited(sample_case("a/2")));
  for (int round = 0; round < 500; ++round) {
    std::string damaged = bytes;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    damaged[random() % damaged.size()] = static_cast<char>(random());
    (void)read_pack(write(damaged)).ok();
  }
  SUCCEED();
}

TEST(FindPacks, FoldersAreSearched) {
  const auto packs = find_packs({"tests/conformance/apps"});
  ASSERT_TRUE(packs.ok()) << packs.status();
  EXPECT_THAT(*packs, ::testing::Contains("tests/conformance/apps/conds.cases.gz"));
  EXPECT_TRUE(std::is_sorted(packs->begin(), packs->end()));
}

TEST(FindPacks, PathThatIsNotThereIsNamed) {
  EXPECT_EQ(base::message_of(find_packs({"no/where"}).status()),
            "no/where: no such file or folder");
}

}  // namespace
}  // namespace heddle::conformance
