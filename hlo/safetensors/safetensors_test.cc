// What safetensors files may not be, in words, and how they are laid out. Files that others wrote
// are read in tests/numpy.
#include "heddle/hlo/safetensors/safetensors.h"

#include "heddle/base/bytes.h"
#include "heddle/base/support_test.h"
#include "heddle/base/text/strings.h"

namespace heddle::hlo {
namespace {

using testing::Pair;

std::string file_of(std::string_view json, std::string_view data = "") {
  std::string out;
  base::append_text(json, out);
  return out.append(data);
}
std::string array_json(std::string_view name, std::string_view type, std::string_view shape,
                       uint64_t begin, uint64_t end) {
  return base::cat("\"", name, "\":{\"dtype\":\"", type, "\",\"shape\":[", shape,
                   "],\"data_offsets\":[", begin, ",", end, "]}");
}
std::string error_of(std::string_view file) {
  return base::message_of(SafetensorsFile::open(file).status());
}
std::string one(std::string_view type, std::string_view shape, uint64_t begin, uint64_t end,
                std::string_view data) {
  return file_of(base::cat("{", array_json("w", type, shape, begin, end), "}"), data);
}

TEST(Safetensors, HaveArraysAndWords) {
  const std::string bytes =
      file_of(base::cat("{ \"__metadata__\" : {\"by\":\"\\u00e9\\ud83d\\ude00\\n\"},",
                        array_json("b", "I16", "2", 4, 8), ",",
                        R"("a":{"data_offsets":[0,4],"shape":[],"dtype":"F32"})", ",",
                        array_json("none", "F64", "0, 3", 8, 8), "}  "),
              std::string_view("\x00\x00\x80\x3f\x01\x00\xff\xff", 8));
  StatusOr<SafetensorsFile> file = SafetensorsFile::open(bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->metadata(), ElementsAre(Pair("by", "\u00e9\U0001F600\n")));
  ASSERT_EQ(file->arrays().size(), 3u);
  EXPECT_EQ(file->arrays()[0].name, "a");
  EXPECT_EQ(file->read(0)->to_double(0), 1);
  EXPECT_EQ(file->arrays()[1].shape, Shape(s16, {2}));
  EXPECT_EQ(file->read(1)->to_int64(1), -1);
  EXPECT_EQ(file->read(2)->shape(), Shape(f64, {0, 3}));
  EXPECT_TRUE(SafetensorsFile::open(file_of("{}")).ok());
  EXPECT_TRUE(SafetensorsFile::open(file_of("{\"__metadata__\":null}")).ok());
}

TEST(Safetensors, SayWhatIsDamaged) {
  EXPECT_EQ(error_of(""), "safetensors: is too short for such a file");
  EXPECT_EQ(error_of(std::string("\xff\x00\x00\x00\x00\x00\x00\x00{}", 10)),
            "safetensors: ends inside its header");
  EXPECT_EQ(
      error_of(std::string("\xff\xff\xff\xff\0\0\0\0{}", 10)),
      "safetensors: the header takes 4294967295 bytes, and the format allows 100000000; it is "
      "no such file");
  EXPECT_EQ(error_of("{\"a\": 1} "),
            "safetensors: is JSON, perhaps an index: load the files that it names");
  EXPECT_THAT(error_of("PK\x03\x04 and more"), HasSubstr("numpy's is loaded with load_npz"));
  EXPECT_THAT(error_of("\x93NUMPY and more"), HasSubstr("load it with load_npy"));
  EXPECT_THAT(error_of("version https://git-lfs.github.com/spec/v1"), HasSubstr("git lfs pull"));
  EXPECT_EQ(error_of(file_of(" {}")), "safetensors: the header does not begin with {");
  EXPECT_EQ(error_of(file_of("")), "safetensors: the header does not begin with {");
  EXPECT_EQ(error_of(file_of("{} {}")),
            "safetensors: the header goes on after its end, at its byte 3");
  EXPECT_EQ(error_of(file_of("{\"\xff\":1}")), "safetensors: the header is not UTF-8");
  EXPECT_EQ(error_of(one("F32", "1", 0, 4, "abc")),
            "safetensors: array 'w' has its bytes at 0 to 4, and the file has 3");
  EXPECT_EQ(error_of(one("F32", "2", 0, 4, "abcd")),
            "safetensors: array 'w' has 4 bytes, and F32[2] takes 8");
  EXPECT_EQ(error_of(one("F32", "1", 4, 0, "abcd")),
            "safetensors: array 'w' has its bytes at 4 to 0, and the file has 4");
  EXPECT_EQ(error_of(one("F32", "1", 4, 8, "abcdefgh")),
            "safetensors: array 'w' begins at 4, and the one before it ends at 0; arrays stand one "
            "behind the other");
  EXPECT_EQ(error_of(one("F32", "1", 0, 4, "abcde")),
            "safetensors: its arrays end at 4, and the file has 5 bytes for them");
  EXPECT_EQ(error_of(one("F128", "1", 0, 4, "abcd")),
            "safetensors: array 'w' is of a dtype that the format has not");
  EXPECT_THAT(error_of(one("F32", "4611686018427387904, 4", 0, 0, "")),
              HasSubstr("takes no whole number of bytes that a file can have"));
  EXPECT_THAT(error_of(one("F32", "9223372036854775808", 0, 0, "")),
              HasSubstr("a shape past 2^63"));
  EXPECT_THAT(error_of(one("F32", "-1", 0, 4, "abcd")), HasSubstr("no whole number"));
  EXPECT_THAT(error_of(one("F32", "1.0", 0, 4, "abcd")), HasSubstr("not of whole numbers"));
  EXPECT_THAT(error_of(one("F32", "01", 0, 4, "abcd")), HasSubstr("no whole number"));
  EXPECT_THAT(error_of(one("F4", "3", 0, 2, "ab")), HasSubstr("no whole number of bytes"));
  EXPECT_THAT(error_of(file_of(base::cat("{", array_json("w", "U8", "4", 0, 4), ",",
                                         array_json("v", "U8", "4", 2, 6), "}"),
                               "abcdef")),
              HasSubstr("array 'v' begins at 2, and the one before it ends at 4"));
  EXPECT_EQ(error_of(file_of(base::cat("{", array_json("w", "U8", "1", 0, 1), ",",
                                       array_json("w", "U8", "1", 1, 2), "}"),
                             "ab")),
            "safetensors: the header has the key 'w' twice");
  EXPECT_THAT(
      error_of(file_of(R"({"w":{"dtype":"U8","dtype":"I8","shape":[0],"data_offsets":[0,0]}})")),
      HasSubstr("the key 'dtype' twice"));
  EXPECT_THAT(error_of(file_of(R"({"__metadata__":{"a":"1","a":"2"}})")), HasSubstr("'a' twice"));
  EXPECT_THAT(error_of(file_of(R"({"__metadata__":{"a":1}})")), HasSubstr("where text has to be"));
  EXPECT_THAT(error_of(file_of(R"({"w":{"dtype":"U8","shape":[0]}})")),
              HasSubstr("an array without dtype, shape or data_offsets"));
  EXPECT_THAT(error_of(file_of(R"({"w":{"x":1}})")), HasSubstr("says more of an array than"));
  EXPECT_THAT(error_of(file_of(R"({"w\u0007":{}})")), HasSubstr("control characters"));
  EXPECT_THAT(error_of(file_of(R"({"w\u009b2J":{}})")), HasSubstr("control characters"));
  EXPECT_THAT(error_of(file_of(R"({"\ud800":{}})")), HasSubstr("half of a character"));
  EXPECT_THAT(error_of(file_of(R"({"\udc00":{}})")), HasSubstr("half of a character"));
  EXPECT_THAT(error_of(file_of(R"({"\u12)")), HasSubstr("\\u without 4 digits"));
  EXPECT_THAT(error_of(file_of(R"({"\x":{}})")), HasSubstr("\\ before what JSON has none"));
  EXPECT_THAT(error_of(file_of(R"({"w)")), HasSubstr("ends inside a text"));
  EXPECT_THAT(error_of(file_of(R"({"w")")), HasSubstr("no : after a key"));
  EXPECT_THAT(error_of(file_of(R"({"w":[)")), HasSubstr("where { has to be"));
  EXPECT_THAT(error_of(file_of("{\"a\n\":{}}")), HasSubstr("control character in text"));
  EXPECT_THAT(error_of(file_of(std::string("{}\0", 3))), HasSubstr("goes on after its end"));
}

TEST(Safetensors, PackedTypesAreThereButCannotBeRead) {
  const std::string bytes = file_of(
      base::cat("{", array_json("w", "F4", "4", 0, 2), ",", array_json("v", "U8", "1", 2, 3), "}"),
      "abc");
  StatusOr<SafetensorsFile> file = SafetensorsFile::open(bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(base::message_of(file->read(0).status()),
            "safetensors: array 'w' is of F4, several to a byte, which Heddle has not; save it as "
            "F8_E4M3 or BF16");
  EXPECT_FALSE(file->is_plain(0));
  EXPECT_EQ(file->read(1)->to_int64(0), 'c');
}

TEST(Safetensors, TruthsAreZeroOrOne) {
  const std::string odd = one("BOOL", "3", 0, 3, std::string_view("\x00\x02\x01", 3));
  EXPECT_FALSE(SafetensorsFile::open(odd)->is_plain(0));
  EXPECT_EQ(*SafetensorsFile::open(odd)->read(0),
            Literal::from<bool>(Shape(pred, {3}), {false, true, true}));
  const std::string even = one("BOOL", "2", 0, 2, std::string_view("\x00\x01", 2));
  EXPECT_TRUE(SafetensorsFile::open(even)->is_plain(0));
}

std::string layout_error(std::vector<SafetensorsType> arrays, SafetensorsMetadata words = {}) {
  return base::message_of(lay_out_safetensors(arrays, words).status());
}

// Those that can be lent, and then by the width of their elements.
TEST(Safetensors, ArraysBeginWhereTheirElementsMay) {
  const std::vector<SafetensorsType> arrays = {
      {"a", Shape(u8, {3})},   {"b", Shape(f32, {16})},      {"c\"\\", Shape(c64, {2})},
      {"d", Shape(bf16, {1})}, {"e", Shape(f32, {1000, 8})}, {"f", Shape(f64, {})},
      {"g", Shape(pred, {0})}};
  StatusOr<SafetensorsLayout> layout = lay_out_safetensors(arrays, {{"k", "v\x01"}});
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_THAT(layout->order, ElementsAre(1, 4, 6, 2, 5, 3, 0));
  EXPECT_EQ(layout->header.size() % 64, 0u);
  EXPECT_THAT(layout->header.substr(8),
              StartsWith(R"({"__metadata__":{"k":"v\u0001"},"b":{"dtype":"F32","shape":[16],)"
                         R"("data_offsets":[0,64]},"e":)"));
  std::string bytes = layout->header;
  for (const size_t i : layout->order)
    bytes.append(static_cast<size_t>(arrays[i].shape.byte_size()), '\0');
  StatusOr<SafetensorsFile> file = SafetensorsFile::open(bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  for (size_t i = 0; i < arrays.size(); ++i) {
    const SafetensorsArray& array = file->arrays()[i];
    const auto before = static_cast<size_t>(array.bytes.data() - bytes.data());
    EXPECT_EQ(before % static_cast<size_t>(storage_bytes(array.shape.dtype())), 0u) << array.name;
  }
  EXPECT_EQ(file->metadata().at("k"), "v\x01");
}

// 126 layers of 405 billion parameters: arithmetic, and no byte.
TEST(Safetensors, OffsetsPass32Bits) {
  std::vector<SafetensorsType> arrays;
  for (int i = 0; i < 126; ++i)
    arrays.push_back({base::cat("w", i), Shape(bf16, {16384, 3, 53248})});
  StatusOr<SafetensorsLayout> layout = lay_out_safetensors(arrays, {});
  ASSERT_TRUE(layout.ok()) << layout.status();
  const uint64_t each = uint64_t{2} * 16384 * 3 * 53248;
  EXPECT_THAT(layout->header, HasSubstr(base::cat("\"w125\":{\"dtype\":\"BF16\",\"shape\":[16384,3,"
                                                  "53248],\"data_offsets\":[",
                                                  125 * each, ",", 126 * each, "]}}")));
  EXPECT_EQ(layout_error(std::vector<SafetensorsType>{{"a", Shape(u8, {int64_t{1} << 62})},
                                                      {"b", Shape(u8, {int64_t{1} << 62})}}),
            "safetensors: the arrays take more bytes than a file can have");
}

TEST(Safetensors, SayWhatCannotBeSaved) {
  EXPECT_EQ(
      layout_error({{"a", Shape(c128, {2})}}),
      "safetensors: a is c128[2], and the format has no elements of c128; cast it, or save it "
      "with save_npz");
  EXPECT_THAT(layout_error({{"a", Shape(s4, {2})}}), HasSubstr("no elements of s4"));
  EXPECT_EQ(layout_error({{"a", Shape(f32, {2})}, {"a", Shape(f32, {2})}}),
            "safetensors: two arrays have the name 'a'");
  EXPECT_THAT(layout_error({{"a\n", Shape(f32, {2})}}),
              HasSubstr("control characters; rename a key"));
  EXPECT_THAT(layout_error({{"\xff", Shape(f32, {2})}}), HasSubstr("not UTF-8"));
  EXPECT_THAT(layout_error({{"__metadata__", Shape(f32, {2})}}),
              HasSubstr("keeps for words; rename it"));
  EXPECT_EQ(layout_error({}, {{"a", "\xff"}}), "safetensors: the metadata is not UTF-8");
  EXPECT_EQ(layout_error({}), "");
}

}  // namespace
}  // namespace heddle::hlo
