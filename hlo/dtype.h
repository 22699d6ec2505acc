// Element types, with XLA's numbers and names. As values in user code: f32, bf16, s32, pred.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string_view>

namespace heddle {

// X(enumerator, text and constant, XLA's PrimitiveType number, bits of information, bytes of
// storage, kind).
// Types under 8 bits are stored one element a byte, value in the low bits (signed ones
// sign-extended).
#define HEDDLE_DTYPES(X)                             \
  X(kPred, pred, 1, 1, 1, kPredicate)                \
  X(kS8, s8, 2, 8, 1, kSigned)                       \
  X(kS16, s16, 3, 16, 2, kSigned)                    \
  X(kS32, s32, 4, 32, 4, kSigned)                    \
  X(kS64, s64, 5, 64, 8, kSigned)                    \
  X(kU8, u8, 6, 8, 1, kUnsigned)                     \
  X(kU16, u16, 7, 16, 2, kUnsigned)                  \
  X(kU32, u32, 8, 32, 4, kUnsigned)                  \
  X(kU64, u64, 9, 64, 8, kUnsigned)                  \
  X(kF16, f16, 10, 16, 2, kFloat)                    \
  X(kF32, f32, 11, 32, 4, kFloat)                    \
  X(kF64, f64, 12, 64, 8, kFloat)                    \
  X(kC64, c64, 15, 64, 8, kComplex)                  \
  X(kBF16, bf16, 16, 16, 2, kFloat)                  \
  X(kC128, c128, 18, 128, 16, kComplex)              \
  X(kF8E5M2, f8e5m2, 19, 8, 1, kFloat)               \
  X(kF8E4M3FN, f8e4m3fn, 20, 8, 1, kFloat)           \
  X(kS4, s4, 21, 4, 1, kSigned)                      \
  X(kU4, u4, 22, 4, 1, kUnsigned)                    \
  X(kF8E4M3B11FNUZ, f8e4m3b11fnuz, 23, 8, 1, kFloat) \
  X(kF8E5M2FNUZ, f8e5m2fnuz, 24, 8, 1, kFloat)       \
  X(kF8E4M3FNUZ, f8e4m3fnuz, 25, 8, 1, kFloat)       \
  X(kS2, s2, 26, 2, 1, kSigned)                      \
  X(kU2, u2, 27, 2, 1, kUnsigned)                    \
  X(kF8E4M3, f8e4m3, 28, 8, 1, kFloat)               \
  X(kF8E3M4, f8e3m4, 29, 8, 1, kFloat)               \
  X(kS1, s1, 30, 1, 1, kSigned)                      \
  X(kU1, u1, 31, 1, 1, kUnsigned)                    \
  X(kF4E2M1FN, f4e2m1fn, 32, 4, 1, kFloat)           \
  X(kF8E8M0FNU, f8e8m0fnu, 33, 8, 1, kFloat)

enum class DType : uint8_t {
  kInvalid = 0,
#define HEDDLE_X(enumerator, text, number, bits, bytes, kind) enumerator = number,
  HEDDLE_DTYPES(HEDDLE_X)
#undef HEDDLE_X
  // Not elements of arrays; shapes use them.
  kTuple = 13,
  kOpaque = 14,
  kToken = 17,
  kBuffer = 34,
};

#define HEDDLE_X(enumerator, text, number, bits, bytes, kind) \
  inline constexpr DType text = DType::enumerator;
HEDDLE_DTYPES(HEDDLE_X)
#undef HEDDLE_X

enum class DTypeKind : uint8_t { kNone, kPredicate, kSigned, kUnsigned, kFloat, kComplex };

// Returns "f32", "pred", "tuple", ...; "invalid" for a number that is no type.
std::string_view to_string(DType dtype);
std::ostream& operator<<(std::ostream& out, DType dtype);  // to_string

// Returns the element type (or token, opaque) named by HLO text, if it is one.
std::optional<DType> parse_dtype(std::string_view text);

// The kind; kNone for what is no array element.
DTypeKind kind_of(DType dtype);

// Bytes that one element takes in a buffer; 0 for what is no array element.
int64_t storage_bytes(DType dtype);

// Bits of information in one element: 4 for s4, 1 for pred.
int64_t bit_width(DType dtype);

inline bool is_array_element(DType t) { return kind_of(t) != DTypeKind::kNone; }
inline bool is_signed(DType t) { return kind_of(t) == DTypeKind::kSigned; }
inline bool is_unsigned(DType t) { return kind_of(t) == DTypeKind::kUnsigned; }
inline bool is_integer(DType t) { return is_signed(t) || is_unsigned(t); }
inline bool is_floating(DType t) { return kind_of(t) == DTypeKind::kFloat; }
inline bool is_complex(DType t) { return kind_of(t) == DTypeKind::kComplex; }

// The type of the real part: f32 for c64, f64 for c128, else the type itself.
DType real_part(DType dtype);

}  // namespace heddle
