#include "heddle/tools/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

namespace heddle::tools {
namespace {

struct Descr {
  std::string_view text;
  DType dtype;
};

// numpy's names. The first row of a dtype is the one written.
constexpr Descr kDescrs[] = {
    {"|b1", pred}, {"|i1", s8},   {"<i2", s16},   {"<i4", s32},  {"<i8", s64}, {"|u1", u8},
    {"<u2", u16},  {"<u4", u32},  {"<u8", u64},   {"<f2", f16},  {"<f4", f32}, {"<f8", f64},
    {"<c8", c64},  {"|V2", bf16}, {"<c16", c128}, {"<V2", bf16},
};

std::optional<DType> dtype_of(std::string_view descr) {
  for (const Descr& row : kDescrs) {
    if (row.text == descr) return row.dtype;
  }
  return std::nullopt;
}

std::string_view descr_of(DType dtype) {
  for (const Descr& row : kDescrs) {
    if (row.dtype == dtype) return row.text;
  }
  return storage_bytes(dtype) == 1 ? "|u1" : "";
}

// The value after 'key': in the header's dictionary.
std::optional<std::string_view> value_after(std::string_view header, std::string_view key) {
  size_t at = header.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  at = header.find_first_not_of(" :", at + key.size());
  if (at == std::string_view::npos) return std::nullopt;
  return header.substr(at);
}

StatusOr<std::vector<int64_t>> parse_shape(std::string_view text) {
  size_t close = text.find(')');
  if (text.empty() || text[0] != '(' || close == std::string_view::npos)
    return invalid_argument("npy: the header has no shape");
  std::vector<int64_t> shape;
  const char* at = text.data() + 1;
  const char* end = text.data() + close;
  while (true) {
    at = std::find_if(at, end, [](char c) { return c != ' ' && c != ','; });
    if (at == end) return shape;
    int64_t size = 0;
    auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc()) return invalid_argument("npy: the shape is no list of integers");
    shape.push_back(size);
    at = next;
  }
}

struct Header {
  DType dtype;
  std::vector<int64_t> shape;
  bool fortran = false;
  size_t data = 0;  // offset of the first element
};

StatusOr<Header> parse_header(std::string_view bytes) {
  if (bytes.size() < 10 || bytes.substr(0, 6) != "\x93NUMPY")
    return invalid_argument("npy: does not begin with \\x93NUMPY");
  const bool wide = bytes[6] >= 2;
  uint32_t length = 0;
  if (bytes.size() < 12) return invalid_argument("npy: ends inside its header");
  std::memcpy(&length, bytes.data() + 8, wide ? 4 : 2);
  const size_t start = wide ? 12 : 10;
  if (length > bytes.size() - start) return invalid_argument("npy: ends inside its header");
  const std::string_view text = bytes.substr(start, length);
  auto descr = value_after(text, "'descr'");
  auto order = value_after(text, "'fortran_order'");
  auto shape = value_after(text, "'shape'");
  if (!descr || !order || !shape)
    return invalid_argument("npy: the header lacks descr, fortran_order or shape");
  const std::string_view name = descr->substr(1, std::min(descr->find('\'', 1), descr->size()) - 1);
  const std::optional<DType> dtype = dtype_of(name);
  if (!dtype)
    return invalid_argument(
        "npy: dtype is ", name,
        ", which has no counterpart; save it as one of pred, integers, floats or complex");
  HEDDLE_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, parse_shape(*shape));
  return Header{*dtype, std::move(sizes), order->substr(0, 4) == "True", start + length};
}

// Column-major elements in row-major order.
Literal turned(const Literal& columns, const Shape& shape) {
  Literal out = Literal::uninitialised(shape);
  const size_t width = static_cast<size_t>(storage_bytes(shape.dtype()));
  std::vector<int64_t> at(static_cast<size_t>(shape.rank()), 0);
  for (int64_t i = 0; i < shape.element_count(); ++i) {
    int64_t from = 0;
    for (size_t d = at.size(); d-- > 0;) from = from * shape.dimensions()[d] + at[d];
    std::memcpy(out.mutable_bytes() + static_cast<size_t>(i) * width,
                columns.bytes() + static_cast<size_t>(from) * width, width);
    for (size_t d = at.size(); d-- > 0 && ++at[d] == shape.dimensions()[d];) at[d] = 0;
  }
  return out;
}

}  // namespace

StatusOr<Literal> read_npy(std::string_view bytes) {
  HEDDLE_ASSIGN_OR_RETURN(Header header, parse_header(bytes));
  const Shape shape(header.dtype, header.shape);
  HEDDLE_RETURN_IF_ERROR(annotate(check_shape(shape), "npy: "));
  const size_t size = static_cast<size_t>(shape.byte_size());
  if (bytes.size() - header.data < size) {
    return invalid_argument("npy: has ", bytes.size() - header.data, " bytes of data; ", shape,
                            " takes ", size);
  }
  Literal out = Literal::uninitialised(shape);
  std::byte* const to = out.mutable_bytes();
  if (size > 0) std::memcpy(to, bytes.data() + header.data, size);
  // A truth is 0 or 1 to every op; a file may hold any byte.
  const bool is_truth = header.dtype == DType::kPred;
  for (size_t i = 0; is_truth && i < size; ++i) to[i] = std::byte{to[i] != std::byte{0}};
  return header.fortran && shape.rank() > 1 ? turned(out, shape) : out;
}

StatusOr<std::string> write_npy(const Literal& literal) {
  const Shape& shape = literal.shape();
  const std::string_view descr = shape.is_array() ? descr_of(shape.dtype()) : "";
  if (descr.empty()) return invalid_argument("npy: cannot hold ", shape);
  std::string header = cat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (",
                           join(shape.dimensions(), ", "), shape.rank() == 1 ? "," : "", "), }");
  header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ').push_back('\n');
  std::string out("\x93NUMPY\x01\x00", 8);
  const uint16_t length = static_cast<uint16_t>(header.size());
  out.append(reinterpret_cast<const char*>(&length), 2).append(header);
  out.append(reinterpret_cast<const char*>(literal.bytes()),
             static_cast<size_t>(literal.byte_size()));
  return out;
}

}  // namespace heddle::tools
