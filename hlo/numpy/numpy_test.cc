// What .npy and .npz files may not be, in words; zip64; raw bytes. Files that numpy wrote are read
// in tests/numpy.
#include "heddle/base/support_test.h"
#include "heddle/base/text/strings.h"
#include "heddle/hlo/numpy/internal/zip.h"
#include "heddle/hlo/numpy/npy.h"
#include "heddle/hlo/numpy/npz.h"

namespace heddle::hlo {
namespace {

std::string npy(std::string header, std::string_view data = "") {
  header += '\n';
  const char length[] = {static_cast<char>(header.size() & 0xff),
                         static_cast<char>(header.size() >> 8)};
  return base::cat(std::string_view("\x93NUMPY\x01\x00", 8), std::string_view(length, 2), header,
                   data);
}
std::string with_descr(std::string_view descr, std::string_view data = "",
                       std::string_view n = "1") {
  return npy(base::cat("{'descr': ", descr, ", 'fortran_order': False, 'shape': (", n, ",), }"),
             data);
}
std::string error_of(std::string_view bytes, std::optional<DType> dtype = {}) {
  return base::message_of(read_npy(bytes, dtype).status());
}

TEST(Npy, SaysWhatItsElementsAreThatHeddleHasNot) {
  EXPECT_EQ(error_of(with_descr("'|O'")),
            "npy: the elements are Python objects (pickle), which are never read; save numbers");
  EXPECT_EQ(error_of(with_descr("'<U5'")), "npy: the elements are text; save numbers");
  EXPECT_EQ(error_of(with_descr("'<M8[ns]'")),
            "npy: the elements are dates or times; save them as numbers, x.astype('int64')");
  EXPECT_EQ(error_of(with_descr("[('a', '<f4'), ('b', '<i8')]")),
            "npy: the elements are structs (a structured dtype); save each field as an array of "
            "its own");
  EXPECT_EQ(error_of(with_descr("'<f16'")),
            "npy: the elements are of a precision that no dtype has; save it as float64 or "
            "complex128");
  EXPECT_EQ(
      error_of(with_descr("'|V3'")),
      "npy: the elements are raw bytes of a size that no dtype has; save the numbers in them");
  EXPECT_EQ(
      error_of(with_descr("'<V1'")),
      "npy: the elements are raw bytes ('V1'), since numpy has no floats of 8 bits and no integers "
      "of 4 or 2; say which dtype they are, load_npy(path, s4), or load_npz(path, like) with "
      "tensors of that dtype");
}

TEST(Npy, SaysWhatIsDamaged) {
  EXPECT_EQ(error_of(""), "npy: is no .npy file, since it does not begin with \\x93NUMPY");
  EXPECT_EQ(error_of("\x93NUMPY\x01"), "npy: ends inside its header");
  EXPECT_THAT(error_of(std::string("\x93NUMPY\x07\x00\x00\x00\x00\x00", 12)),
              HasSubstr("is of version 7; known are 1 to 3"));
  EXPECT_EQ(error_of(with_descr("'<f4'", "abc")), "npy: has 3 bytes of data; f32[1] takes 4");
  EXPECT_EQ(error_of(with_descr("'<f4'", "abcdefgh")),
            "npy: has 8 bytes of data; f32[1] takes 4, and a file has one array");
  EXPECT_EQ(error_of(with_descr("'<f4'", "", "9999999999999")),
            "npy: has 0 bytes of data; f32[9999999999999] takes 39999999999996");
  EXPECT_THAT(error_of(with_descr("'<f4'", "", "9223372036854775807, 4")), HasSubstr("npy: "));
  EXPECT_THAT(error_of(with_descr("'<f4'", "", "99999999999999999999")),
              HasSubstr("a shape that is no list of sizes"));
  EXPECT_THAT(error_of(with_descr("'<f4'", "", "-1")), HasSubstr("no list of sizes"));
  std::string many = "1";
  for (int i = 0; i < 70; ++i) many += ", 1";
  EXPECT_THAT(error_of(with_descr("'<f4'", "abcd", many)), HasSubstr("more than 64 axes"));
  EXPECT_EQ(error_of(npy("{'descr': '<f4', 'descr': '<f4'}")),
            "npy: the header has the key descr twice");
  EXPECT_EQ(error_of(npy("{'other': 1}")),
            "npy: the header has another key than descr, fortran_order and shape");
  EXPECT_EQ(error_of(npy("{'descr': '<f4', }")),
            "npy: the header lacks descr, fortran_order or shape");
}

TEST(Npy, IsOfTheDtypeAskedFor) {
  EXPECT_EQ(error_of(with_descr("'<f8'", "abcdefgh"), f32),
            "npy: is f64[1]; it must have the dtype f32, load it as it is and cast it with "
            "astype(f32)");
  EXPECT_EQ(read_npy(with_descr("'<V1'", "\x38"), f8e4m3fn)->shape().dtype(), f8e4m3fn);
  EXPECT_EQ(read_npy(with_descr("'<V2'", "\x80\x3f"))->to_double(0), 1);
  EXPECT_EQ(*read_npy(with_descr("'<f1'", "\x3c")),
            Literal::scalar(f8e5m2, 1.0).reshaped(Shape(f8e5m2, {1})));
  EXPECT_THAT(error_of(with_descr("'<V2'", "ab"), f8e5m2),
              HasSubstr("is bf16[1]; it must have the dtype f8e5m2"));
}

TEST(Npy, GivesSmallTypesBytesThatTheyHave) {
  const std::string bytes = with_descr("'<V1'", "\xff", "1");
  EXPECT_EQ(read_npy(bytes, s4)->to_int64(0), -1);
  EXPECT_EQ(read_npy(bytes, u4)->to_int64(0), 15);
  EXPECT_EQ(read_npy(with_descr("'|b1'", "\x07"))->bytes()[0], std::byte{1});
  for (const DType dtype : {bf16, f8e4m3fn, f8e5m2, s4, u2, f4e2m1fn, f8e8m0fnu}) {
    const Literal one = Literal::scalar(dtype, 1.0);
    EXPECT_EQ(*read_npy(*write_npy(one), dtype), one) << to_string(dtype);
  }
}

struct Part {
  std::string name, content;
};

Status takes_all(std::string_view /*front*/) { return {}; }

std::string archive_of(const std::vector<Part>& parts, ZipWriter::Options options = {}) {
  std::string out;
  const auto sink = [&](std::string_view bytes) {
    out += bytes;
    return Status();
  };
  ZipWriter zip(sink, options);
  for (const Part& part : parts) EXPECT_TRUE(zip.add(part.name, {part.content}).ok());
  EXPECT_TRUE(zip.finish().ok());
  return out;
}

std::string zip_error(const std::string& archive) {
  StatusOr<std::vector<ZipEntry>> entries = read_zip(archive);
  if (!entries.ok()) return base::message_of(entries.status());
  for (const ZipEntry& entry : *entries) {
    std::string inflated;
    StatusOr<std::string_view> content = content_of(entry, inflated, takes_all);
    if (!content.ok()) return base::message_of(content.status());
  }
  return "fine";
}

TEST(Zip, ComesBack) {
  const std::string large(1'000'000, 'x');
  for (const bool compress : {false, true}) {
    for (const bool zip64 : {false, true}) {
      const std::string archive =
          archive_of({{"a", "hello"}, {"b", ""}, {"c", large}}, {compress, zip64});
      EXPECT_EQ(archive.size() < 100'000, compress);
      StatusOr<std::vector<ZipEntry>> entries = read_zip(archive);
      ASSERT_TRUE(entries.ok()) << entries.status();
      ASSERT_EQ(entries->size(), 3u);
      std::string inflated;
      EXPECT_EQ(*content_of((*entries)[0], inflated, takes_all), "hello");
      EXPECT_EQ(*content_of((*entries)[1], inflated, takes_all), "");
      EXPECT_EQ(*content_of((*entries)[2], inflated, takes_all), large);
    }
  }
}

TEST(Zip, HasAsManyEntriesAsThereAre) {
  std::vector<Part> parts;
  for (int i = 0; i < 70'000; ++i) parts.push_back({std::to_string(i), ""});
  StatusOr<std::vector<ZipEntry>> entries = read_zip(archive_of(parts));
  ASSERT_TRUE(entries.ok()) << entries.status();
  EXPECT_EQ(entries->size(), 70'000u);
}

TEST(Zip, SaysWhatIsWrongWithIt) {
  const std::string good = archive_of({{"a", "hello"}, {"b", "world"}});
  EXPECT_EQ(zip_error(good), "fine");
  EXPECT_EQ(zip_error("short"), "zip: is too short for an archive");
  EXPECT_EQ(zip_error(good.substr(0, good.size() - 1)),
            "zip: has no directory at its end: it is no archive (a .npy or .safetensors file "
            "is none), or was cut off");
  std::string damaged = good;
  damaged[good.find("world")] = 'W';
  EXPECT_EQ(zip_error(damaged), "zip: an entry's checksum is not that of its bytes: it is damaged");
  EXPECT_EQ(zip_error(archive_of({{"a", "1"}, {"a", "2"}})), "zip: has the name 'a' twice");
  const size_t row = good.find("PK\x01\x02");
  std::string encrypted = good;
  encrypted[row + 8] = 1;
  EXPECT_EQ(zip_error(encrypted), "zip: entry 'a' is encrypted");
  std::string lzma = good;
  lzma[row + 10] = 14;
  EXPECT_EQ(zip_error(lzma),
            "zip: entry 'a' is compressed in another way than numpy's; save it with "
            "savez_compressed");
}

// Both entries of the directory name the bytes of the first.
TEST(Zip, HasNoEntriesThatShareBytes) {
  std::string archive = archive_of({{"a", "hello"}, {"b", "world"}});
  const size_t first = archive.find("PK\x01\x02"), second = archive.find("PK\x01\x02", first + 1);
  for (size_t i = 0; i < second - first; ++i) archive[second + i] = archive[first + i];
  EXPECT_EQ(zip_error(archive), "zip: entries 'a' and 'a' overlap");
}

// The directory says that an entry is small, and its stream goes on.
TEST(Zip, DoesNotInflatePastTheSizeThatItSays) {
  std::string archive = archive_of({{"a", std::string(1'000'000, 'x')}}, {.compress = true});
  archive[archive.find("PK\x01\x02") + 26] = 0;  // 1,000,000 is 0x0f4240
  EXPECT_EQ(zip_error(archive), "zip: an entry is larger than it says");
}

TEST(Npz, ReadsWhatItWrote) {
  const std::vector<NamedLiteral> arrays = {{"w", Literal::scalar(f32, 2.5)},
                                            {"layers[0].b", Literal::scalar(s64, int64_t{7})}};
  std::string bytes;
  const auto sink = [&](std::string_view piece) {
    bytes += piece;
    return Status();
  };
  ASSERT_TRUE(write_npz(arrays, true, sink).ok());
  StatusOr<NpzReader> archive = NpzReader::open(bytes);
  ASSERT_TRUE(archive.ok()) << archive.status();
  EXPECT_THAT(archive->names(), ElementsAre("w", "layers[0].b"));
  EXPECT_EQ(*archive->read(0), arrays[0].value);
  EXPECT_EQ(*archive->read(1), arrays[1].value);
  EXPECT_EQ(base::message_of(archive->read(1, f32).status()),
            "layers[0].b: npy: is s64[]; it must have the dtype f32, load it as it is and cast it "
            "with astype(f32)");
  EXPECT_EQ(base::message_of(NpzReader::open(*write_npy(arrays[0].value)).status()),
            "npz: is one array and no archive; read it with load_npy");
  EXPECT_EQ(base::message_of(NpzReader::open(archive_of({{"readme.txt", "hi"}})).status()),
            "npz: entry 'readme.txt' is no .npy file");
  const std::vector<NamedLiteral> twice = {arrays[0], arrays[0]};
  EXPECT_EQ(base::message_of(write_npz(twice, false, sink)), "npz: two arrays have the name 'w'");
}

// What is no array of the size that its header says is not unpacked.
TEST(Npz, ChecksASizeBeforeItTakesTheMemory) {
  std::string entry = *write_npy(Literal(Shape(f32, {6})));
  entry.resize(size_t{16} << 20);
  const std::string bytes = archive_of({{"w.npy", entry}}, {.compress = true});
  const NpzReader archive = NpzReader::open(bytes).value();
  EXPECT_EQ(base::message_of(archive.read(0).status()),
            "w: npy: has 16777088 bytes of data; f32[6] takes 24, and a file has one array");
  const auto stops = [](std::string_view front) {
    EXPECT_EQ(front.size(), kZipPiece);
    return base::invalid_argument("enough");
  };
  std::string inflated;
  const std::vector<ZipEntry> entries = read_zip(bytes).value();
  EXPECT_EQ(base::message_of(content_of(entries[0], inflated, stops).status()), "enough");
  EXPECT_TRUE(inflated.empty());
}

}  // namespace
}  // namespace heddle::hlo
