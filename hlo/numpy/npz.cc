#include "heddle/hlo/numpy/npz.h"

#include <set>

#include "heddle/base/text/utf8.h"
#include "heddle/hlo/numpy/internal/zip.h"
#include "heddle/hlo/numpy/npy.h"

namespace heddle::hlo {
namespace {
constexpr std::string_view kEnding = ".npy";
}  // namespace

StatusOr<NpzReader> NpzReader::open(std::string_view bytes) {
  if (bytes.starts_with("\x93NUMPY"))
    return base::invalid_argument("npz: is one array and no archive; read it with load_npy");
  HEDDLE_ASSIGN_OR_RETURN(std::vector<ZipEntry> entries, read_zip(bytes));
  NpzReader out;
  for (ZipEntry& entry : entries) {
    if (!entry.name.ends_with(kEnding))
      return base::invalid_argument("npz: entry '", entry.name.substr(0, 80), "' is no .npy file");
    if (base::has_control_characters(entry.name))
      return base::invalid_argument("npz: an entry's name has control characters");
    entry.name.resize(entry.name.size() - kEnding.size());
    out.names_.push_back(std::move(entry.name));
    out.places_.push_back({entry.size, entry.stored, entry.is_deflated, entry.crc});
  }
  return out;
}

StatusOr<Literal> NpzReader::read(size_t i, std::optional<DType> dtype) const {
  const Place& place = places_[i];
  std::string inflated;
  StatusOr<std::string_view> bytes =
      content_of({names_[i], place.size, place.stored, place.is_deflated, place.crc}, inflated,
                 [&](std::string_view front) { return check_npy_size(front, place.size, dtype); });
  if (!bytes.ok()) return base::annotate(bytes.status(), names_[i].substr(0, 80), ": ");
  StatusOr<Literal> out = read_npy(*bytes, dtype);
  if (!out.ok()) return base::annotate(out.status(), names_[i].substr(0, 80), ": ");
  return out;
}

Status write_npz(std::span<const NamedLiteral> arrays, bool compress,
                 base::FunctionRef<Status(std::string_view)> sink) {
  ZipWriter zip(sink, {.compress = compress});
  std::set<std::string_view> names;
  for (const NamedLiteral& array : arrays) {
    if (!names.insert(array.name).second)
      return base::invalid_argument("npz: two arrays have the name '", array.name, "'");
    if (base::has_control_characters(array.name))
      return base::invalid_argument("npz: the name of an array has control characters");
    if (array.value.is_elided())
      return base::invalid_argument("npz: ", array.name, " has no value");
    StatusOr<std::string> header = npy_header(array.value.shape());
    if (!header.ok()) return base::annotate(header.status(), array.name, ": ");
    HEDDLE_RETURN_IF_ERROR(
        zip.add(array.name + std::string(kEnding),
                {*header, std::string_view(reinterpret_cast<const char*>(array.value.bytes()),
                                           static_cast<size_t>(array.value.byte_size()))}));
  }
  return zip.finish();
}

}  // namespace heddle::hlo
