#include "heddle/hlo/dtype.h"

#include <array>
#include <ostream>

namespace heddle {
namespace {

struct DTypeRow {
  std::string_view text;
  int64_t bits = 0;
  int64_t bytes = 0;
  DTypeKind kind = DTypeKind::kNone;
};

constexpr std::array<DTypeRow, 35> make_rows() {
  std::array<DTypeRow, 35> rows;
  for (DTypeRow& row : rows) row.text = "invalid";
#define HEDDLE_X(enumerator, text, number, bits, bytes, kind) \
  rows[number] = DTypeRow{#text, bits, bytes, DTypeKind::kind};
  HEDDLE_DTYPES(HEDDLE_X)
#undef HEDDLE_X
  rows[13].text = "tuple";
  rows[14].text = "opaque";
  rows[17].text = "token";
  rows[34].text = "b";
  return rows;
}

constexpr std::array<DTypeRow, 35> kDTypeRows = make_rows();

// The first 8 letters, which tell nearly all texts apart at the price of one comparison each.
constexpr uint64_t key_of(std::string_view text) {
  uint64_t key = 0;
  for (char c : text.substr(0, 8)) key = key << 8 | static_cast<unsigned char>(c);
  return key;
}

const DTypeRow& row_of(DType dtype) {
  size_t number = static_cast<size_t>(dtype);
  return kDTypeRows[number < kDTypeRows.size() ? number : 0];
}

}  // namespace

std::string_view to_string(DType dtype) { return row_of(dtype).text; }
std::ostream& operator<<(std::ostream& out, DType dtype) { return out << to_string(dtype); }
DTypeKind kind_of(DType dtype) { return row_of(dtype).kind; }
int64_t storage_bytes(DType dtype) { return row_of(dtype).bytes; }
int64_t bit_width(DType dtype) { return row_of(dtype).bits; }

std::optional<DType> parse_dtype(std::string_view text) {
  static constexpr auto kKeys = [] {
    std::array<uint64_t, kDTypeRows.size()> keys;
    for (size_t number = 0; number < keys.size(); ++number)
      keys[number] = key_of(kDTypeRows[number].text);
    return keys;
  }();
  if (text == "invalid") return std::nullopt;
  const uint64_t key = key_of(text);
  for (size_t number = 1; number < kKeys.size(); ++number) {
    if (kKeys[number] == key && kDTypeRows[number].text == text) return static_cast<DType>(number);
  }
  return std::nullopt;
}

DType real_part(DType dtype) {
  if (dtype == c64) return f32;
  if (dtype == c128) return f64;
  return dtype;
}

}  // namespace heddle
