// Zip archives as numpy's savez and savez_compressed write them: entries stored or deflated, with
// zip64 sizes. Archives are hostile input: every number in them is checked against the bytes there
// are, and memory is taken only as bytes come out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/base/status.h"

namespace heddle::hlo {

struct ZipEntry {
  std::string name;
  uint64_t size = 0;        // of the content
  std::string_view stored;  // its bytes in the archive
  bool is_deflated = false;
  uint32_t crc = 0;
};

// The entries in the order of their directory; they refer to `archive`.
// errors: InvalidArgument for what is no archive; entries that overlap, lie outside, are encrypted,
// or compressed in another way; a name that is there twice
StatusOr<std::vector<ZipEntry>> read_zip(std::string_view archive);

// The content; `inflated` holds it where it was deflated. `check` is asked about its first
// kZipPiece bytes, before the memory for the others is taken.
// errors: those of `check`; InvalidArgument for a stream that is damaged, or has another size or
// checksum than said
inline constexpr size_t kZipPiece = size_t{1} << 18;
StatusOr<std::string_view> content_of(const ZipEntry& entry, std::string& inflated,
                                      base::FunctionRef<Status(std::string_view front)> check);

// Writes an archive piece by piece.
class ZipWriter {
 public:
  using Sink = base::FunctionRef<Status(std::string_view)>;
  struct Options {
    bool compress = false;
    bool zip64 = false;  // everywhere, and not only where a number needs it; for tests
  };
  ZipWriter(Sink sink, Options options) : sink_(sink), options_(options) {}

  // An entry of these parts, one after the other.
  Status add(const std::string& name, const std::vector<std::string_view>& parts);
  // The directory. Once.
  Status finish();

 private:
  struct Written {
    std::string name;
    uint64_t size = 0, stored = 0, offset = 0;
    uint32_t crc = 0;
  };
  Status write(std::string_view bytes);
  [[nodiscard]] bool needs_zip64(uint64_t number) const;
  [[nodiscard]] std::string local_header(const Written& entry) const;
  [[nodiscard]] std::string directory_entry(const Written& entry) const;
  [[nodiscard]] std::string end_of_directory(uint64_t start) const;

  Sink sink_;
  Options options_;
  uint64_t offset_ = 0;
  std::vector<Written> entries_;
};

}  // namespace heddle::hlo
