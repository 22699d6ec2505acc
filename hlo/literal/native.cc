#include "heddle/hlo/literal/native.h"

#include "heddle/hlo/internal/small_float.h"

namespace heddle {

double decode_small_float(DType dtype, uint16_t bits) {
  if (dtype == f8e8m0fnu) return small_float::decode_e8m0(bits);
  return small_float::decode(small_float::format_of(dtype), bits);
}

uint16_t encode_small_float(DType dtype, double value) {
  if (dtype == f8e8m0fnu) return small_float::encode_e8m0(value);
  return small_float::encode(small_float::format_of(dtype), value);
}

}  // namespace heddle
