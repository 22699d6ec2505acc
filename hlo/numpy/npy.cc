#include "heddle/hlo/numpy/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <vector>

#include "heddle/base/text/strings.h"

namespace heddle::hlo {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxRank = 64;  // of numpy's arrays

struct Descr {
  std::string_view text;  // without the byte order
  DType dtype;
};

// numpy's names.
constexpr Descr kDescrs[] = {
    {"b1", pred}, {"i1", s8},  {"i2", s16}, {"i4", s32}, {"i8", s64}, {"u1", u8},  {"u2", u16},
    {"u4", u32},  {"u8", u64}, {"f2", f16}, {"f4", f32}, {"f8", f64}, {"c8", c64}, {"c16", c128},
};

std::string descr_of(DType dtype) {
  const char order = storage_bytes(dtype) == 1 ? '|' : '<';
  for (const Descr& row : kDescrs) {
    if (row.dtype == dtype) return base::cat(order, row.text);
  }
  return base::cat("<V", storage_bytes(dtype));
}

// The dtypes that numpy has not.
bool is_raw(DType dtype) { return is_array_element(dtype) && descr_of(dtype)[1] == 'V'; }

// What a dtype without counterpart is, for the error.
std::string_view words_for(std::string_view kind) {
  switch (kind.empty() ? '\0' : kind[0]) {
    case 'O': return "Python objects (pickle), which are never read; save numbers";
    case 'U':
    case 'S':
    case 'a': return "text; save numbers";
    case 'M':
    case 'm': return "dates or times; save them as numbers, x.astype('int64')";
    case 'V': return "raw bytes of a size that no dtype has; save the numbers in them";
    case 'f':
    case 'c':
    case 'g': return "of a precision that no dtype has; save it as float64 or complex128";
    default: return "no numbers that Heddle has; save it as bools, integers, floats or complex";
  }
}

struct Header {
  std::string descr;
  std::vector<int64_t> shape;
  bool is_fortran = false;
  size_t data = 0;  // offset of the first element
};

// Reads the header, a Python dictionary of the three keys in any order.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  StatusOr<Header> run() {
    if (!accept('{')) return malformed("has no dictionary");
    while (!accept('}')) {
      HEDDLE_ASSIGN_OR_RETURN(const std::string key, string());
      if (!accept(':')) return malformed("has no value after a key");
      HEDDLE_RETURN_IF_ERROR(value_of(key));
      if (!accept(',') && peek() != '}') return malformed("has no , or } after a value");
    }
    if (!has_descr_ || !has_order_ || !has_shape_)
      return malformed("lacks descr, fortran_order or shape");
    peek();
    if (at_ < text_.size()) return malformed("goes on after its dictionary");
    return std::move(out_);
  }

 private:
  static Status malformed(std::string_view how) {
    return base::invalid_argument("npy: the header ", how);
  }

  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  bool accept(std::string_view word) {
    peek();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  StatusOr<std::string> string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return malformed("has something else where text has to be");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return malformed("ends inside a text");
    std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }

  Status value_of(const std::string& key) {
    bool& has = key == "descr" ? has_descr_ : key == "shape" ? has_shape_ : has_order_;
    if (key != "descr" && key != "shape" && key != "fortran_order")
      return malformed("has another key than descr, fortran_order and shape");
    if (has) return malformed(base::cat("has the key ", key, " twice"));
    has = true;
    if (key == "shape") return shape();
    if (key == "fortran_order") {
      out_.is_fortran = accept(std::string_view("True"));
      if (!out_.is_fortran && !accept(std::string_view("False")))
        return malformed("has a fortran_order that is neither True nor False");
      return {};
    }
    if (peek() == '[' || peek() == '(') {
      return base::invalid_argument(
          "npy: the elements are structs (a structured dtype); save each field as an array of its "
          "own");
    }
    HEDDLE_ASSIGN_OR_RETURN(out_.descr, string());
    return {};
  }

  Status shape() {
    if (!accept('(')) return malformed("has a shape that is no tuple");
    while (!accept(')')) {
      int64_t size = 0;
      peek();
      const char* begin = text_.data() + at_;
      const auto [next, error] = std::from_chars(begin, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0)
        return malformed("has a shape that is no list of sizes");
      at_ += static_cast<size_t>(next - begin);
      accept('L');  // Python 2
      out_.shape.push_back(size);
      if (out_.shape.size() > kMaxRank) return malformed("has a shape of more than 64 axes");
      if (!accept(',') && peek() != ')') return malformed("has a shape without its )");
    }
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  Header out_;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

// An unsigned little-endian number of so many bytes.
uint64_t little_endian(std::string_view bytes) {
  uint64_t out = 0;
  for (size_t i = bytes.size(); i-- > 0;) out = out << 8 | static_cast<unsigned char>(bytes[i]);
  return out;
}

StatusOr<Header> parse_header(std::string_view bytes) {
  if (!bytes.starts_with(kMagic))
    return base::invalid_argument("npy: is no .npy file, since it does not begin with \\x93NUMPY");
  if (bytes.size() < 12) return base::invalid_argument("npy: ends inside its header");
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3)
    return base::invalid_argument("npy: is of version ", version, "; known are 1 to 3");
  const size_t start = version == 1 ? 10 : 12;
  const uint64_t length = little_endian(bytes.substr(8, start - 8));
  if (length > bytes.size() - start) return base::invalid_argument("npy: ends inside its header");
  HEDDLE_ASSIGN_OR_RETURN(Header out, HeaderParser(bytes.substr(start, length)).run());
  out.data = start + length;
  return out;
}

// Of '<f4': the order, or 0, and the rest.
std::pair<char, std::string_view> split_order(std::string_view descr) {
  const bool has_order = !descr.empty() && std::string_view("<>|=").find(descr[0]) != descr.npos;
  return has_order ? std::pair(descr[0], descr.substr(1)) : std::pair('\0', descr);
}

StatusOr<DType> dtype_of(std::string_view descr, std::optional<DType> wanted) {
  const std::string_view kind = split_order(descr).second;
  if (kind == "V2") return bf16;
  if (kind == "f1") return f8e5m2;  // ml_dtypes writes it; numpy cannot read it
  if (kind == "V1") {
    if (wanted && is_raw(*wanted) && storage_bytes(*wanted) == 1) return *wanted;
    return base::invalid_argument(
        "npy: the elements are raw bytes ('V1'), since numpy has no floats of 8 bits and no "
        "integers of 4 or 2",
        wanted ? base::cat(", and ", *wanted, " is none of these") : "",
        "; say which dtype they are, load_npy(path, s4), or load_npz(path, like) with tensors of "
        "that dtype");
  }
  for (const Descr& row : kDescrs) {
    if (row.text == kind) return row.dtype;
  }
  return base::invalid_argument("npy: the elements are ", words_for(kind));
}

// Big-endian numbers as the host has them, each part of a complex one by itself.
void turn_bytes(Literal& literal) {
  const DType part = real_part(literal.shape().dtype());
  const auto width = static_cast<size_t>(storage_bytes(part));
  std::byte* const bytes = literal.mutable_bytes();
  const auto size = static_cast<size_t>(literal.byte_size());
  for (size_t i = 0; i < size; i += width) std::reverse(bytes + i, bytes + i + width);
}

// Column-major elements in row-major order.
Literal turned(const Literal& columns, const Shape& shape) {
  Literal out = Literal::uninitialised(shape);
  const size_t width = static_cast<size_t>(storage_bytes(shape.dtype()));
  const size_t rank = static_cast<size_t>(shape.rank());
  std::vector<size_t> strides(rank), at(rank, 0);
  size_t stride = width;
  for (size_t d = 0; d < rank; ++d) {
    strides[d] = stride;
    stride *= static_cast<size_t>(shape.dimensions()[d]);
  }
  std::byte* to = out.mutable_bytes();
  size_t from = 0;
  for (int64_t i = 0; i < shape.element_count(); ++i, to += width) {
    std::memcpy(to, columns.bytes() + from, width);
    for (size_t d = rank; d-- > 0;) {
      from += strides[d];
      if (++at[d] < static_cast<size_t>(shape.dimensions()[d])) break;
      from -= strides[d] * at[d];
      at[d] = 0;
    }
  }
  return out;
}

// Bytes that no element of the dtype has are made ones that it has: a truth is 0 or 1, and a number
// of few bits is extended from them.
void make_canonical(Literal& literal) {
  const DType dtype = literal.shape().dtype();
  const int bits = static_cast<int>(bit_width(dtype));
  if (bits >= 8) return;
  std::byte* const bytes = literal.mutable_bytes();
  for (int64_t i = 0; i < literal.byte_size(); ++i) {
    const int value = std::to_integer<int>(bytes[i]);
    int low = dtype == pred ? (value != 0 ? 1 : 0) : value & ((1 << bits) - 1);
    if (is_signed(dtype) && low >> (bits - 1) != 0) low -= 1 << bits;
    bytes[i] = static_cast<std::byte>(low);
  }
}

// The array that a header announces, of `size` bytes with it.
StatusOr<Shape> announced(const Header& header, uint64_t size, std::optional<DType> dtype) {
  HEDDLE_ASSIGN_OR_RETURN(const DType found, dtype_of(header.descr, dtype));
  Shape shape(found, header.shape);
  HEDDLE_RETURN_IF_ERROR(base::annotate(check_shape(shape), "npy: "));
  if (dtype && *dtype != found) {
    return base::invalid_argument(
        "npy: is ", shape, "; it must have the dtype ", *dtype,
        is_raw(*dtype) ? ", which numpy has not and a file has as raw bytes" : "",
        ", load it as it is and cast it with astype(", *dtype, ")");
  }
  const auto takes = static_cast<uint64_t>(shape.byte_size()), there = size - header.data;
  if (there == takes) return shape;
  return base::invalid_argument("npy: has ", there, " bytes of data; ", shape, " takes ", takes,
                                there > takes ? ", and a file has one array" : "");
}

}  // namespace

Status check_npy_size(std::string_view front, uint64_t size, std::optional<DType> dtype) {
  HEDDLE_ASSIGN_OR_RETURN(const Header header, parse_header(front));
  return announced(header, size, dtype).status();
}

StatusOr<Literal> read_npy(std::string_view bytes, std::optional<DType> dtype) {
  HEDDLE_ASSIGN_OR_RETURN(const Header header, parse_header(bytes));
  HEDDLE_ASSIGN_OR_RETURN(const Shape shape, announced(header, bytes.size(), dtype));
  const auto size = static_cast<size_t>(shape.byte_size());
  Literal out = Literal::uninitialised(shape);
  if (size > 0) std::memcpy(out.mutable_bytes(), bytes.data() + header.data, size);
  if (split_order(header.descr).first == '>') turn_bytes(out);
  make_canonical(out);
  return header.is_fortran && shape.rank() > 1 ? turned(out, shape) : out;
}

StatusOr<std::string> npy_header(const Shape& shape) {
  if (!shape.is_array() || !is_array_element(shape.dtype()))
    return base::invalid_argument("npy: ", shape, " is no array");
  if (shape.rank() > int64_t{kMaxRank})
    return base::invalid_argument("npy: ", shape, " has more than 64 axes, which numpy has not");
  std::string header =
      base::cat("{'descr': '", descr_of(shape.dtype()), "', 'fortran_order': False, 'shape': (",
                base::join(shape.dimensions(), ", "), shape.rank() == 1 ? "," : "", "), }");
  header.append((64 - (kMagic.size() + 4 + header.size() + 1) % 64) % 64, ' ').push_back('\n');
  const char length[] = {static_cast<char>(header.size() & 0xff),
                         static_cast<char>(header.size() >> 8)};
  return base::cat(kMagic, std::string_view("\x01\x00", 2), std::string_view(length, 2), header);
}

StatusOr<std::string> write_npy(const Literal& literal) {
  if (literal.is_elided()) return base::invalid_argument("npy: ", literal.shape(), " has no value");
  HEDDLE_ASSIGN_OR_RETURN(std::string out, npy_header(literal.shape()));
  out.append(reinterpret_cast<const char*>(literal.bytes()),
             static_cast<size_t>(literal.byte_size()));
  return out;
}

}  // namespace heddle::hlo
