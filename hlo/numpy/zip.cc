// The layout of archives: PKWARE's APPNOTE.TXT, sections 4.3 to 4.5.
#include "heddle/hlo/numpy/internal/zip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "heddle/base/text/strings.h"

namespace heddle::hlo {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kDirectory = 0x02014b50, kEnd = 0x06054b50,
                   kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr size_t kLocalSize = 30, kDirectorySize = 46, kEndSize = 22, kEnd64Size = 56,
                 kLocatorSize = 20;
constexpr uint32_t kFull32 = 0xffffffff;
constexpr uint16_t kFull16 = 0xffff, kExtra64 = 1;
constexpr uint16_t kStored = 0, kDeflated = 8, kEncrypted = 1, kUtf8 = 1 << 11;
constexpr uint16_t kVersion64 = 45;
constexpr uint16_t kFirstDay = 0x21;  // 1980-01-01: the same arrays give the same bytes

// Reads little-endian numbers from the front of bytes, which has enough of them.
class Numbers {
 public:
  explicit Numbers(std::string_view bytes) : bytes_(bytes) {}
  uint16_t u16() { return static_cast<uint16_t>(take(2)); }
  uint32_t u32() { return static_cast<uint32_t>(take(4)); }
  uint64_t u64() { return take(8); }
  void skip(size_t count) { bytes_.remove_prefix(std::min(count, bytes_.size())); }
  [[nodiscard]] size_t left() const { return bytes_.size(); }

 private:
  uint64_t take(size_t width) {
    uint64_t out = 0;
    for (size_t i = std::min(width, bytes_.size()); i-- > 0;)
      out = out << 8 | static_cast<unsigned char>(bytes_[i]);
    skip(width);
    return out;
  }
  std::string_view bytes_;
};

void put(std::string& out, uint64_t number, int width) {
  for (int i = 0; i < width; ++i) out.push_back(static_cast<char>(number >> (8 * i) & 0xff));
}

Status bad(std::string_view how) { return base::invalid_argument("zip: ", how); }

// A name that people can read: no control characters, and not too long.
std::string shown(std::string_view name) {
  std::string out(name.substr(0, 80));
  std::ranges::replace_if(
      out, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return name.size() > 80 ? out + ".." : out;
}

struct Directory {
  uint64_t count = 0, size = 0, offset = 0;
};

// The last end-of-directory record, whose comment goes to the end of the archive.
StatusOr<size_t> find_end(std::string_view archive) {
  if (archive.size() < kEndSize) return bad("is too short for an archive");
  const size_t last = archive.size() - kEndSize;
  const size_t first = last > kFull16 ? last - kFull16 : 0;
  for (size_t at = last + 1; at-- > first;) {
    if (Numbers(archive.substr(at, 4)).u32() != kEnd) continue;
    if (Numbers(archive.substr(at + 20, 2)).u16() == last - at) return at;
  }
  return bad(
      "has no directory at its end: it is no archive (a .npy or .safetensors file is none), or was "
      "cut off");
}

StatusOr<Directory> read_end(std::string_view archive) {
  HEDDLE_ASSIGN_OR_RETURN(const size_t end, find_end(archive));
  Numbers in(archive.substr(end + 4));
  const uint16_t disk = in.u16(), first_disk = in.u16(), here = in.u16();
  Directory out{.count = in.u16(), .size = in.u32(), .offset = in.u32()};
  const bool wants64 = out.count == kFull16 || out.size == kFull32 || out.offset == kFull32;
  const bool has64 =
      end >= kLocatorSize && Numbers(archive.substr(end - kLocatorSize, 4)).u32() == kLocator64;
  if (wants64 && has64) {
    Numbers locator(archive.substr(end - kLocatorSize + 8, 8));
    const uint64_t at = locator.u64();
    if (at > end || end - at < kEnd64Size + kLocatorSize ||
        Numbers(archive.substr(at, 4)).u32() != kEnd64)
      return bad("has a zip64 locator that points nowhere");
    Numbers wide(archive.substr(at + 24, 32));
    wide.u64();  // entries on this disk
    out.count = wide.u64();
    out.size = wide.u64();
    out.offset = wide.u64();
  } else if (disk != 0 || first_disk != 0 || here != out.count) {
    return bad("is one of several parts");
  }
  if (out.offset > end || out.size > end - out.offset) return bad("has a directory outside of it");
  if (out.count > out.size / kDirectorySize) return bad("says more entries than it has");
  return out;
}

// What a directory's row says; sizes that do not fit 32 bits stand in the extra field.
struct Row {
  uint16_t flags = 0, method = 0;
  uint32_t crc = 0;
  uint64_t stored = 0, size = 0, offset = 0;
  std::string_view name;
};

Status read_extra64(std::string_view extra, Row& row) {
  while (extra.size() >= 4) {
    Numbers head(extra);
    const uint16_t id = head.u16(), size = head.u16();
    if (size > extra.size() - 4) return bad("has an extra field that goes past its end");
    Numbers in(extra.substr(4, size));
    extra.remove_prefix(4 + size);
    if (id != kExtra64) continue;
    for (uint64_t* number : {&row.size, &row.stored, &row.offset}) {
      if (*number != kFull32) continue;
      if (in.left() < 8) return bad("has a zip64 field that is too short");
      *number = in.u64();
    }
  }
  return {};
}

// Takes a row from the front of the directory.
StatusOr<Row> read_row(std::string_view& directory) {
  if (directory.size() < kDirectorySize || Numbers(directory).u32() != kDirectory)
    return bad("has a directory that is damaged");
  Row row;
  Numbers in(directory.substr(8));
  row.flags = in.u16();
  row.method = in.u16();
  in.skip(4);  // time
  row.crc = in.u32();
  row.stored = in.u32();
  row.size = in.u32();
  const size_t name = in.u16(), extra = in.u16(), comment = in.u16();
  in.skip(8);
  row.offset = in.u32();
  if (name + extra + comment > directory.size() - kDirectorySize)
    return bad("has a directory that is damaged");
  row.name = directory.substr(kDirectorySize, name);
  HEDDLE_RETURN_IF_ERROR(read_extra64(directory.substr(kDirectorySize + name, extra), row));
  directory.remove_prefix(kDirectorySize + name + extra + comment);
  return row;
}

StatusOr<ZipEntry> entry_of(const Row& row, std::string_view archive, uint64_t end) {
  const auto fail = [&](std::string_view how) {
    return base::invalid_argument("zip: entry '", shown(row.name), "' ", how);
  };
  if ((row.flags & kEncrypted) != 0) return fail("is encrypted");
  if (row.method != kStored && row.method != kDeflated)
    return fail("is compressed in another way than numpy's; save it with savez_compressed");
  if (row.offset > end || end - row.offset < kLocalSize) return fail("lies outside of the archive");
  Numbers local(archive.substr(row.offset));
  if (local.u32() != kLocal) return fail("has no header where its directory says");
  local.skip(22);
  const uint64_t name = local.u16(), extra = local.u16();
  const uint64_t after = end - row.offset - kLocalSize;
  if (name + extra > after || row.stored > after - name - extra)
    return fail("lies outside of the archive");
  if (archive.substr(row.offset + kLocalSize, name) != row.name)
    return fail("has another name in its header than in the directory");
  if (row.method == kStored && row.stored != row.size)
    return fail("is stored in another size than it has");
  return ZipEntry{.name = std::string(row.name),
                  .size = row.size,
                  .stored = archive.substr(row.offset + kLocalSize + name + extra, row.stored),
                  .is_deflated = row.method == kDeflated,
                  .crc = row.crc};
}

// Entries that share bytes would let a small archive be a great one.
Status check_apart(std::vector<const ZipEntry*> entries) {
  std::ranges::sort(entries, {}, [](const ZipEntry* e) { return e->stored.data(); });
  for (size_t i = 1; i < entries.size(); ++i) {
    const std::string_view before = entries[i - 1]->stored;
    if (before.data() + before.size() + kLocalSize > entries[i]->stored.data())
      return base::invalid_argument("zip: entries '", shown(entries[i - 1]->name), "' and '",
                                    shown(entries[i]->name), "' overlap");
  }
  std::ranges::sort(entries, {}, [](const ZipEntry* e) { return e->name; });
  for (size_t i = 1; i < entries.size(); ++i) {
    if (entries[i - 1]->name == entries[i]->name)
      return base::invalid_argument("zip: has the name '", shown(entries[i]->name), "' twice");
  }
  return {};
}

uint32_t crc_of(uint32_t crc, std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

Bytef* input_of(std::string_view bytes) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
}

// Memory grows with what comes out, never past what the entry says.
StatusOr<std::string> inflate_all(std::string_view stored, uint64_t size,
                                  base::FunctionRef<Status(std::string_view front)> check) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return base::internal_error("zip: zlib does not start");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  std::string out, piece(kZipPiece, '\0');
  int code = Z_OK;
  while (code != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      const std::string_view next = stored.substr(0, kZipPiece);
      stored.remove_prefix(next.size());
      stream.next_in = input_of(next);
      stream.avail_in = static_cast<uInt>(next.size());
    }
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = kZipPiece;
    code = inflate(&stream, Z_NO_FLUSH);
    const size_t made = kZipPiece - stream.avail_out;
    if (code == Z_BUF_ERROR) return bad("an entry's compressed bytes are cut off");
    if (code != Z_OK && code != Z_STREAM_END) return bad("an entry's compressed bytes are damaged");
    if (made == 0 && code == Z_OK && stream.avail_in == 0 && stored.empty())
      return bad("an entry's compressed bytes are cut off");
    if (made > size - out.size()) return bad("an entry is larger than it says");
    if (out.empty() && made > 0 && code == Z_OK)
      HEDDLE_RETURN_IF_ERROR(check(std::string_view(piece).substr(0, made)));
    out.append(piece, 0, made);
  }
  if (stream.avail_in != 0 || !stored.empty())
    return bad("an entry has bytes after its compressed ones");
  return out;
}

Status deflate_into(std::string& out, z_stream& stream, std::string_view part, int flush) {
  std::string piece(kZipPiece, '\0');
  do {
    const std::string_view next = part.substr(0, kZipPiece);
    part.remove_prefix(next.size());
    stream.next_in = input_of(next);
    stream.avail_in = static_cast<uInt>(next.size());
    const int how = part.empty() ? flush : Z_NO_FLUSH;
    do {
      stream.next_out = reinterpret_cast<Bytef*>(piece.data());
      stream.avail_out = kZipPiece;
      if (deflate(&stream, how) == Z_STREAM_ERROR)
        return base::internal_error("zip: zlib does not deflate");
      out.append(piece, 0, kZipPiece - stream.avail_out);
    } while (stream.avail_out == 0);
  } while (!part.empty());
  return {};
}

StatusOr<std::string> deflate_all(const std::vector<std::string_view>& parts) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    return base::internal_error("zip: zlib does not start");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, deflateEnd);
  std::string out;
  for (const std::string_view part : parts)
    HEDDLE_RETURN_IF_ERROR(deflate_into(out, stream, part, Z_NO_FLUSH));
  HEDDLE_RETURN_IF_ERROR(deflate_into(out, stream, "", Z_FINISH));
  return out;
}

// What both headers of an entry say before its sizes.
void put_facts(std::string& out, bool is_deflated, uint32_t crc) {
  put(out, kVersion64, 2);
  put(out, kUtf8, 2);
  put(out, is_deflated ? kDeflated : kStored, 2);
  put(out, uint64_t{kFirstDay} << 16, 4);
  put(out, crc, 4);
}

}  // namespace

StatusOr<std::vector<ZipEntry>> read_zip(std::string_view archive) {
  HEDDLE_ASSIGN_OR_RETURN(const Directory directory, read_end(archive));
  std::string_view rows = archive.substr(directory.offset, directory.size);
  std::vector<ZipEntry> out;
  for (uint64_t i = 0; i < directory.count; ++i) {
    HEDDLE_ASSIGN_OR_RETURN(const Row row, read_row(rows));
    HEDDLE_ASSIGN_OR_RETURN(ZipEntry entry, entry_of(row, archive, directory.offset));
    out.push_back(std::move(entry));
  }
  if (!rows.empty()) return bad("has more in its directory than it says");
  std::vector<const ZipEntry*> all;
  for (const ZipEntry& entry : out) all.push_back(&entry);
  HEDDLE_RETURN_IF_ERROR(check_apart(std::move(all)));
  return out;
}

StatusOr<std::string_view> content_of(const ZipEntry& entry, std::string& inflated,
                                      base::FunctionRef<Status(std::string_view front)> check) {
  std::string_view content = entry.stored;
  if (entry.is_deflated) {
    HEDDLE_ASSIGN_OR_RETURN(inflated, inflate_all(entry.stored, entry.size, check));
    content = inflated;
  }
  if (content.size() != entry.size) return bad("an entry is smaller than it says");
  if (crc_of(0, content) != entry.crc)
    return bad("an entry's checksum is not that of its bytes: it is damaged");
  return content;
}

bool ZipWriter::needs_zip64(uint64_t number) const { return options_.zip64 || number >= kFull32; }

Status ZipWriter::write(std::string_view bytes) {
  offset_ += bytes.size();
  return sink_(bytes);
}

Status ZipWriter::add(const std::string& name, const std::vector<std::string_view>& parts) {
  if (name.size() > kFull16) return bad("a name is longer than 65535 bytes");
  Written entry{.name = name, .offset = offset_};
  for (const std::string_view part : parts) {
    entry.size += part.size();
    entry.crc = crc_of(entry.crc, part);
  }
  std::string deflated;
  if (options_.compress) {
    HEDDLE_ASSIGN_OR_RETURN(deflated, deflate_all(parts));
  }
  entry.stored = options_.compress ? deflated.size() : entry.size;
  HEDDLE_RETURN_IF_ERROR(write(local_header(entry)));
  if (options_.compress) {
    HEDDLE_RETURN_IF_ERROR(write(deflated));
  } else {
    for (const std::string_view part : parts) HEDDLE_RETURN_IF_ERROR(write(part));
  }
  entries_.push_back(std::move(entry));
  return {};
}

std::string ZipWriter::local_header(const Written& entry) const {
  const bool wide = needs_zip64(entry.size) || needs_zip64(entry.stored);
  std::string out;
  put(out, kLocal, 4);
  put_facts(out, options_.compress, entry.crc);
  put(out, wide ? kFull32 : entry.stored, 4);
  put(out, wide ? kFull32 : entry.size, 4);
  put(out, entry.name.size(), 2);
  put(out, wide ? 20 : 0, 2);
  out += entry.name;
  if (!wide) return out;
  put(out, kExtra64, 2);
  put(out, 16, 2);
  put(out, entry.size, 8);
  put(out, entry.stored, 8);
  return out;
}

std::string ZipWriter::directory_entry(const Written& entry) const {
  std::string extra;
  for (const uint64_t number : {entry.size, entry.stored, entry.offset}) {
    if (needs_zip64(number)) put(extra, number, 8);
  }
  const auto narrow = [&](uint64_t number) { return needs_zip64(number) ? kFull32 : number; };
  std::string out;
  put(out, kDirectory, 4);
  put(out, kVersion64, 2);
  put_facts(out, options_.compress, entry.crc);
  put(out, narrow(entry.stored), 4);
  put(out, narrow(entry.size), 4);
  put(out, entry.name.size(), 2);
  put(out, extra.empty() ? 0 : 4 + extra.size(), 2);
  put(out, 0, 6);  // comment, disk, what it is
  put(out, 0, 4);
  put(out, narrow(entry.offset), 4);
  out += entry.name;
  if (extra.empty()) return out;
  put(out, kExtra64, 2);
  put(out, extra.size(), 2);
  return out + extra;
}

std::string ZipWriter::end_of_directory(uint64_t start) const {
  const uint64_t count = entries_.size(), size = offset_ - start;
  const bool wide = needs_zip64(start) || needs_zip64(size) || count >= kFull16;
  std::string out;
  if (wide) {
    put(out, kEnd64, 4);
    put(out, kEnd64Size - 12, 8);
    put(out, kVersion64, 2);
    put(out, kVersion64, 2);
    put(out, 0, 8);
    for (const uint64_t number : {count, count, size, start}) put(out, number, 8);
    put(out, kLocator64, 4);
    put(out, 0, 4);
    put(out, offset_, 8);
    put(out, 1, 4);
  }
  put(out, kEnd, 4);
  put(out, 0, 4);
  put(out, wide ? kFull16 : count, 2);
  put(out, wide ? kFull16 : count, 2);
  put(out, wide ? kFull32 : size, 4);
  put(out, wide ? kFull32 : start, 4);
  put(out, 0, 2);
  return out;
}

Status ZipWriter::finish() {
  const uint64_t start = offset_;
  for (const Written& entry : entries_) HEDDLE_RETURN_IF_ERROR(write(directory_entry(entry)));
  return write(end_of_directory(start));
}

}  // namespace heddle::hlo
