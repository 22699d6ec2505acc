#include "heddle/hlo/dtype.h"

#include <array>

namespace heddle {
namespace {

struct Row {
  std::string_view text;
  int64_t bits = 0;
  int64_t bytes = 0;
  DTypeKind kind = DTypeKind::kNone;
};

constexpr std::array<Row, 35> make_rows() {
  std::array<Row, 35> rows;
  for (Row& row : rows) row.text = "invalid";
#define HEDDLE_X(enumerator, text, number, bits, bytes, kind) \
  rows[number] = Row{#text, bits, bytes, DTypeKind::kind};
  HEDDLE_DTYPES(HEDDLE_X)
#undef HEDDLE_X
  rows[13].text = "tuple";
  rows[14].text = "opaque";
  rows[17].text = "token";
  rows[34].text = "b";
  return rows;
}

constexpr std::array<Row, 35> kRows = make_rows();

const Row& row_of(DType dtype) {
  size_t number = static_cast<size_t>(dtype);
  return kRows[number < kRows.size() ? number : 0];
}

}  // namespace

std::string_view to_string(DType dtype) { return row_of(dtype).text; }
DTypeKind kind_of(DType dtype) { return row_of(dtype).kind; }
int64_t storage_bytes(DType dtype) { return row_of(dtype).bytes; }
int64_t bit_width(DType dtype) { return row_of(dtype).bits; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (size_t number = 1; number < kRows.size(); ++number) {
    if (kRows[number].text == text && text != "invalid") return static_cast<DType>(number);
  }
  return std::nullopt;
}

DType real_part(DType dtype) {
  if (dtype == c64) return f32;
  if (dtype == c128) return f64;
  return dtype;
}

}  // namespace heddle
