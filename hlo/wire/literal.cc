#include <algorithm>
#include <bit>
#include <cstring>

#include "heddle/hlo/wire.h"
#include "heddle/hlo/wire/internal/codec.h"
#include "heddle/hlo/wire/proto/heddle_hlo.pb.h"

namespace heddle::hlo::wire {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the wire is little-endian, and so are literals in memory");

// X(dtype, field, numbers an element)
#define HEDDLE_NUMBER_FIELDS(X) \
  X(kPred, preds, 1)            \
  X(kS32, s32s, 1)              \
  X(kS64, s64s, 1)              \
  X(kU32, u32s, 1)              \
  X(kU64, u64s, 1)              \
  X(kF32, f32s, 1)              \
  X(kF64, f64s, 1)              \
  X(kC64, c64s, 2)              \
  X(kC128, c128s, 2)
#define HEDDLE_BYTES_FIELDS(X)      \
  X(kS8, s8s)                       \
  X(kU8, u8s)                       \
  X(kS16, s16s)                     \
  X(kU16, u16s)                     \
  X(kF16, f16s)                     \
  X(kBF16, bf16s)                   \
  X(kF8E5M2, f8e5m2s)               \
  X(kF8E4M3FN, f8e4m3fns)           \
  X(kF8E4M3B11FNUZ, f8e4m3b11fnuzs) \
  X(kF8E5M2FNUZ, f8e5m2fnuzs)       \
  X(kF8E4M3FNUZ, f8e4m3fnuzs)       \
  X(kF8E4M3, f8e4m3s)               \
  X(kF8E3M4, f8e3m4s)               \
  X(kF8E8M0FNU, f8e8m0fnus)         \
  X(kS4, s4s)                       \
  X(kU4, u4s)                       \
  X(kS2, s2s)                       \
  X(kU2, u2s)                       \
  X(kS1, s1s)                       \
  X(kU1, u1s)                       \
  X(kF4E2M1FN, f4e2m1fns)

using ConstBytes = std::span<const std::byte>;
using Bytes = std::span<std::byte>;

// The elements of the dtype in the message.
ConstBytes payload(const proto::LiteralProto& from, DType dtype) {
  switch (dtype) {
#define HEDDLE_X(enumerator, field, numbers) \
  case DType::enumerator:                    \
    return std::as_bytes(std::span(from.field().data(), static_cast<size_t>(from.field().size())));
    HEDDLE_NUMBER_FIELDS(HEDDLE_X)
#undef HEDDLE_X
#define HEDDLE_X(enumerator, field) \
  case DType::enumerator: return std::as_bytes(std::span(from.field().data(), from.field().size()));
    HEDDLE_BYTES_FIELDS(HEDDLE_X)
#undef HEDDLE_X
    default: return {};
  }
}

// Room for the elements in the message, to be filled.
Bytes make_payload(proto::LiteralProto& to, DType dtype, int64_t elements) {
  const auto fit = [](auto& field, int64_t count) {
    field.Resize(static_cast<int>(count), {});
    return std::as_writable_bytes(std::span(field.mutable_data(), static_cast<size_t>(count)));
  };
  const auto fit_bytes = [](std::string& field, int64_t count) {
    field.resize(static_cast<size_t>(count));
    return std::as_writable_bytes(std::span(field.data(), field.size()));
  };
  switch (dtype) {
#define HEDDLE_X(enumerator, field, numbers) \
  case DType::enumerator: return fit(*to.mutable_##field(), elements * numbers);
    HEDDLE_NUMBER_FIELDS(HEDDLE_X)
#undef HEDDLE_X
#define HEDDLE_X(enumerator, field) \
  case DType::enumerator: return fit_bytes(*to.mutable_##field(), elements * storage_bytes(dtype));
    HEDDLE_BYTES_FIELDS(HEDDLE_X)
#undef HEDDLE_X
    default: return {};
  }
}

// Calls copy(row_major_position, physical_position) for every element of a layout, in physical
// order.
template <class Copy>
void for_each_place(const Shape& shape, const std::vector<int64_t>& minor_to_major, Copy&& copy) {
  const std::vector<int64_t> strides = row_major_strides(shape.dimensions());
  std::vector<int64_t> at(strides.size(), 0);
  const int64_t count = shape.element_count();
  int64_t logical = 0;
  for (int64_t physical = 0; physical < count; ++physical) {
    copy(logical, physical);
    for (int64_t d : minor_to_major) {
      size_t i = static_cast<size_t>(d);
      logical += strides[i];
      if (++at[i] < shape.dimension(d)) break;
      logical -= strides[i] * shape.dimension(d);
      at[i] = 0;
    }
  }
}

bool is_row_major(const Shape& shape) {
  if (!shape.has_layout()) return true;
  const auto& order = shape.layout().minor_to_major;
  return std::ranges::is_sorted(order, std::greater<>());
}

void to_row_major(const Shape& shape, ConstBytes from, std::byte* to) {
  if (from.empty()) return;
  if (is_row_major(shape)) {
    std::memcpy(to, from.data(), from.size());
    return;
  }
  const int64_t width = storage_bytes(shape.dtype());
  for_each_place(shape, shape.layout().minor_to_major, [&](int64_t logical, int64_t physical) {
    std::memcpy(to + logical * width, from.data() + physical * width, static_cast<size_t>(width));
  });
}

void to_physical(const Shape& shape, const std::byte* from, Bytes to) {
  if (to.empty()) return;
  if (is_row_major(shape)) {
    std::memcpy(to.data(), from, to.size());
    return;
  }
  const int64_t width = storage_bytes(shape.dtype());
  for_each_place(shape, shape.layout().minor_to_major, [&](int64_t logical, int64_t physical) {
    std::memcpy(to.data() + physical * width, from + logical * width, static_cast<size_t>(width));
  });
}

// In memory the value of a signed type under 8 bits fills its byte; on the wire the bits above it
// are 0.
void extend_bits(DType dtype, Bytes bytes) {
  const int unused = 8 - static_cast<int>(bit_width(dtype));
  for (std::byte& byte : bytes) {
    auto shifted = static_cast<uint8_t>(static_cast<uint8_t>(byte) << unused);
    byte = is_signed(dtype) ? static_cast<std::byte>(static_cast<int8_t>(shifted) >> unused)
                            : static_cast<std::byte>(shifted >> unused);
  }
}

void clear_unused_bits(DType dtype, Bytes bytes) {
  const auto mask = static_cast<std::byte>((1u << bit_width(dtype)) - 1);
  for (std::byte& byte : bytes) byte &= mask;
}

bool is_packed_type(DType dtype) { return bit_width(dtype) < 8 && dtype != pred; }

StatusOr<Literal> read_array(const proto::LiteralProto& from, const Shape& shape) {
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (shape.dimension(i) < 0)
      return base::invalid_argument("literal: ", to_string(shape), " has no size");
  }
  const ConstBytes bytes = payload(from, shape.dtype());
  if (static_cast<int64_t>(bytes.size()) != shape.byte_size()) {
    return base::invalid_argument("literal: ", to_string(shape), " comes with ", bytes.size(),
                                  " bytes; takes ", shape.byte_size());
  }
  Literal out = Literal::uninitialised(shape);
  to_row_major(shape, bytes, out.mutable_bytes());
  if (is_packed_type(shape.dtype()))
    extend_bits(shape.dtype(), {out.mutable_bytes(), bytes.size()});
  return out;
}

// The shape was checked, so its nesting is bounded, and so is the recursion.
StatusOr<Literal> read_as(const proto::LiteralProto& from, const Shape& shape) {
  if (shape.is_array()) return read_array(from, shape);
  if (shape.is_token()) return Literal(shape);
  if (!shape.is_tuple())
    return base::invalid_argument("literal: ", to_string(shape), " has no values");
  if (from.tuple_literals_size() != shape.element_shapes()) {
    return base::invalid_argument("literal: ", to_string(shape), " comes with ",
                                  from.tuple_literals_size(), " elements");
  }
  std::vector<Literal> elements;
  elements.reserve(static_cast<size_t>(from.tuple_literals_size()));
  for (int i = 0; i < from.tuple_literals_size(); ++i) {
    HEDDLE_ASSIGN_OR_RETURN(elements.emplace_back(),
                            read_as(from.tuple_literals(i), shape.element(i)));
  }
  return Literal::tuple(std::move(elements));
}

}  // namespace

void write_literal(const Literal& literal, const Shape& as, proto::LiteralProto& to) {
  write_shape(as, *to.mutable_shape());
  for (int64_t i = 0; i < as.element_shapes(); ++i) {
    write_literal(literal.element(i), as.element(i), *to.add_tuple_literals());
  }
  if (!as.is_array() || literal.is_elided() || literal.byte_size() > INT32_MAX) return;
  const Bytes bytes = make_payload(to, as.dtype(), as.element_count());
  to_physical(as, literal.bytes(), bytes);
  if (is_packed_type(as.dtype())) clear_unused_bits(as.dtype(), bytes);
}

StatusOr<Literal> read_literal(const proto::LiteralProto& from) {
  if (!from.has_shape()) return base::invalid_argument("literal: has no shape");
  HEDDLE_ASSIGN_OR_RETURN(Shape shape, read_shape(from.shape()));
  return read_as(from, shape);
}

}  // namespace heddle::hlo::wire

namespace heddle::hlo {

std::string literal_to_proto(const Literal& literal) {
  proto::LiteralProto message;
  wire::write_literal(literal, literal.shape(), message);
  return wire::bytes_of(message);
}

StatusOr<Literal> literal_from_proto(std::string_view bytes) {
  proto::LiteralProto message;
  if (bytes.size() > INT32_MAX ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return base::invalid_argument("literal: is no serialised LiteralProto");
  }
  return wire::read_literal(message);
}

}  // namespace heddle::hlo
