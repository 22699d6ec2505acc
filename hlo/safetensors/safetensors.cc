#include "heddle/hlo/safetensors/safetensors.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include "heddle/base/bytes.h"
#include "heddle/base/text/json.h"
#include "heddle/base/text/strings.h"
#include "heddle/base/text/utf8.h"
#include "heddle/hlo/safetensors/internal/header.h"

namespace heddle::hlo {
namespace {

constexpr size_t kLengthSize = 8;
constexpr uint64_t kMostHeader = 100'000'000;
constexpr int64_t kAlignment = 64;  // what a device wants of memory that is lent to it

struct Type {
  std::string_view name;
  int bits;     // of an element in a file
  DType dtype;  // invalid: Heddle has none
};

constexpr Type kTypes[] = {
    {"BOOL", 8, pred},
    {"U8", 8, u8},
    {"I8", 8, s8},
    {"F8_E5M2", 8, f8e5m2},
    {"F8_E4M3", 8, f8e4m3fn},
    {"F8_E8M0", 8, f8e8m0fnu},
    {"F8_E4M3FNUZ", 8, f8e4m3fnuz},
    {"F8_E5M2FNUZ", 8, f8e5m2fnuz},
    {"I16", 16, s16},
    {"U16", 16, u16},
    {"F16", 16, f16},
    {"BF16", 16, bf16},
    {"I32", 32, s32},
    {"U32", 32, u32},
    {"F32", 32, f32},
    {"C64", 64, c64},
    {"F64", 64, f64},
    {"I64", 64, s64},
    {"U64", 64, u64},
    {"F4", 4, DType::kInvalid},
    {"F6_E2M3", 6, DType::kInvalid},
    {"F6_E3M2", 6, DType::kInvalid},
};

const Type* type_named(std::string_view name) {
  const auto* found = std::ranges::find(kTypes, name, &Type::name);
  return found == std::end(kTypes) ? nullptr : found;
}

template <class... Parts>
Status bad(const Parts&... parts) {
  return base::invalid_argument("safetensors: ", parts...);
}

// A name of a file, as a message shows it.
std::string_view clipped(std::string_view name) { return name.substr(0, 80); }

// The bytes of so many elements; nothing where that is no number of bytes, or none below 2^63.
std::optional<uint64_t> size_of(const std::vector<int64_t>& sizes, const Type& type) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  uint64_t bits = static_cast<uint64_t>(type.bits);
  bool fits = true;
  for (const int64_t size : sizes) {
    if (size == 0) return 0;
    fits = fits && bits <= kMost / static_cast<uint64_t>(size);
    bits *= fits ? static_cast<uint64_t>(size) : 1;
  }
  return fits && bits % 8 == 0 ? std::optional(bits / 8) : std::nullopt;
}

StatusOr<SafetensorsArray> array_of(const HeaderEntry& entry, std::string_view data) {
  const auto fail = [&](const auto&... how) {
    return bad("array '", clipped(entry.name), "' ", how...);
  };
  const Type* type = type_named(entry.type);
  if (type == nullptr) return fail("is of a dtype that the format has not");
  if (entry.begin > entry.end || entry.end > data.size())
    return fail("has its bytes at ", entry.begin, " to ", entry.end, ", and the file has ",
                data.size());
  const std::optional<uint64_t> size = size_of(entry.sizes, *type);
  if (!size || *size != entry.end - entry.begin)
    return fail("has ", entry.end - entry.begin, " bytes, and ", entry.type, "[",
                base::join(entry.sizes, ","), "] takes ",
                size ? std::to_string(*size) : "no whole number of bytes that a file can have");
  SafetensorsArray out{.name = entry.name,
                       .shape = {},
                       .type = type->name,
                       .bytes = data.substr(entry.begin, *size)};
  if (type->dtype == DType::kInvalid) return out;
  out.shape = Shape(type->dtype, entry.sizes);
  if (Status status = check_shape(out.shape); !status.ok())
    return fail("is none: ", base::message_of(status));
  return out;
}

// What else people take for such a file, by how it begins; empty for none of it.
std::string_view what_it_is(std::string_view bytes) {
  if (bytes.starts_with("PK\x03\x04"))
    return "is a zip archive: numpy's is loaded with load_npz, and PyTorch's has to be saved with "
           "safetensors.torch.save_file";
  if (bytes.starts_with("\x93NUMPY")) return "is a .npy file: load it with load_npy";
  if (bytes.starts_with("version https://git-lfs"))
    return "is what Git LFS keeps in the place of a file: fetch that with git lfs pull";
  if (bytes.starts_with("{")) return "is JSON, perhaps an index: load the files that it names";
  return "";
}

bool has_odd_truths(const SafetensorsArray& array) {
  return array.shape.dtype() == pred &&
         std::ranges::any_of(array.bytes, [](char c) { return c != 0 && c != 1; });
}

bool is_lendable(const Shape& shape) { return shape.byte_size() % kAlignment == 0; }

// The type in a file.
StatusOr<const Type*> type_of(const SafetensorsType& array) {
  const Shape& shape = array.shape;
  if (!base::is_valid_utf8(array.name) || base::has_control_characters(array.name))
    return bad("the name of an array is not UTF-8, or has control characters; rename a key");
  if (array.name == "__metadata__")
    return bad("an array has the name __metadata__, which the format keeps for words; rename it");
  if (!shape.is_array()) return bad(array.name, " is ", shape, ", which is no array");
  HEDDLE_RETURN_IF_ERROR(base::annotate(check_shape(shape), "safetensors: ", array.name, ": "));
  const auto* found = std::ranges::find(kTypes, shape.dtype(), &Type::dtype);
  if (found == std::end(kTypes))
    return bad(array.name, " is ", shape, ", and the format has no elements of ", shape.dtype(),
               "; cast it, or save it with save_npz");
  return found;
}

void append_metadata(const SafetensorsMetadata& metadata, std::string& out) {
  if (metadata.empty()) return;
  out += "\"__metadata__\":{";
  for (bool is_first = true; const auto& [key, value] : metadata) {
    if (!std::exchange(is_first, false)) out.push_back(',');
    out += base::json_text(key);
    out.push_back(':');
    out += base::json_text(value);
  }
  out += "},";
}

}  // namespace

StatusOr<SafetensorsFile> SafetensorsFile::open(std::string_view bytes) {
  uint64_t length = 0;
  std::string_view rest = bytes;
  if (!base::read_number(rest, length)) return bad("is too short for such a file");
  if (length > kMostHeader) {
    if (const std::string_view known = what_it_is(bytes); !known.empty()) return bad(known);
    return bad("the header takes ", length, " bytes, and the format allows ", kMostHeader,
               "; it is no such file");
  }
  if (length > rest.size()) return bad("ends inside its header");
  StatusOr<SafetensorsHeader> header = parse_safetensors_header(rest.substr(0, length));
  if (!header.ok()) return base::annotate(header.status(), "safetensors: ");
  const std::string_view data = rest.substr(length);
  std::ranges::sort(header->entries, {},
                    [](const HeaderEntry& e) { return std::pair(e.begin, e.end); });
  SafetensorsFile out;
  uint64_t end = 0;
  for (const HeaderEntry& entry : header->entries) {
    HEDDLE_ASSIGN_OR_RETURN(out.arrays_.emplace_back(), array_of(entry, data));
    if (entry.begin != end)
      return bad("array '", clipped(entry.name), "' begins at ", entry.begin,
                 ", and the one before it ends at ", end, "; arrays stand one behind the other");
    end = entry.end;
  }
  if (end != data.size())
    return bad("its arrays end at ", end, ", and the file has ", data.size(), " bytes for them");
  out.metadata_ = std::move(header->metadata);
  return out;
}

StatusOr<Literal> SafetensorsFile::read(size_t i) const {
  const SafetensorsArray& array = arrays_[i];
  if (!array.shape.is_valid())
    return bad("array '", clipped(array.name), "' is of ", array.type,
               ", several to a byte, which Heddle has not; save it as F8_E4M3 or BF16");
  Literal out = Literal::uninitialised(array.shape);
  if (!array.bytes.empty())
    std::memcpy(out.mutable_bytes(), array.bytes.data(), array.bytes.size());
  if (has_odd_truths(array)) {
    std::byte* const bytes = out.mutable_bytes();
    std::transform(bytes, bytes + out.byte_size(), bytes,
                   [](std::byte b) { return b == std::byte{0} ? b : std::byte{1}; });
  }
  return out;
}

bool SafetensorsFile::is_plain(size_t i) const {
  return arrays_[i].shape.is_valid() && !has_odd_truths(arrays_[i]);
}

StatusOr<SafetensorsLayout> lay_out_safetensors(std::span<const SafetensorsType> arrays,
                                                const SafetensorsMetadata& metadata) {
  std::vector<const Type*> types;
  std::set<std::string_view> names;
  for (const SafetensorsType& array : arrays) {
    HEDDLE_ASSIGN_OR_RETURN(types.emplace_back(), type_of(array));
    if (!names.insert(array.name).second)
      return bad("two arrays have the name '", clipped(array.name), "'");
  }
  SafetensorsLayout out;
  out.order.resize(arrays.size());
  std::iota(out.order.begin(), out.order.end(), size_t{0});
  std::ranges::stable_sort(out.order, {}, [&](size_t i) {
    const bool lendable = is_lendable(arrays[i].shape);
    return std::pair(!lendable, lendable ? 0 : -types[i]->bits);
  });
  std::string json = "{";
  for (const auto& [key, value] : metadata) {
    if (!base::is_valid_utf8(key) || !base::is_valid_utf8(value))
      return bad("the metadata is not UTF-8");
  }
  append_metadata(metadata, json);
  uint64_t end = 0;
  for (const size_t i : out.order) {
    const uint64_t begin = end, size = static_cast<uint64_t>(arrays[i].shape.byte_size());
    end += size;
    if (end > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return bad("the arrays take more bytes than a file can have");
    json += base::json_text(arrays[i].name);
    base::append(json, ":{\"dtype\":\"", types[i]->name, "\",\"shape\":[",
                 base::join(arrays[i].shape.dimensions(), ","), "],\"data_offsets\":[", begin, ",",
                 end, "]},");
  }
  if (json.size() > 1) json.pop_back();  // the last comma
  json.push_back('}');
  json.resize((kLengthSize + json.size() + kAlignment - 1) / kAlignment * kAlignment - kLengthSize,
              ' ');
  if (json.size() > kMostHeader)
    return bad("the header takes ", json.size(), " bytes, and the format allows ", kMostHeader);
  base::append_number(json.size(), out.header);
  out.header += json;
  return out;
}

}  // namespace heddle::hlo
