// One call of every function of the tracing surface, to be traced: what it lowers to and the dtypes
// that it takes are read off the trace (ops_page.cc). A new public function needs a line here.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "heddle/heddle.h"
#include "heddle/tests/support/joined.h"

namespace heddle::laws {

// The parameters of the trace; `t` is the dtype that is tried.
struct Inputs {
  DType t;
  Tensor x, y;      // t[3,2]
  Tensor v;         // t[3]
  Tensor m;         // t[2,3,3]
  Tensor s;         // t[]
  Tensor image;     // t[1,5,5,2]
  Tensor kernel;    // t[3,3,2,4]
  Tensor heads;     // t[1,4,2,8]
  Tensor rows;      // s32[2]
  Tensor position;  // s32[]
  Tensor key;       // u32[2]
  Tensor choice;    // pred[3,2]
  Tensor yes;       // pred[]
  Tensor square;    // t[3,3]
  Tensor pair;      // t[2]
  static std::vector<Shape> shapes(DType t);
  static Inputs of(DType t, std::span<const Tensor> parameters);
};

// The name of a sample, and the line where it stands.
struct SampleName : std::string_view {
  SampleName(const char* name, SourceLocation at = SourceLocation::here())
      : std::string_view(name), at(at) {}
  SourceLocation at;
};

struct FunctionSample {
  SampleName name;  // "special::erfc"; all overloads of a name share it
  std::function<std::vector<Tensor>(const Inputs&)> call;
  bool typed = true;  // whether a dtype is tried: that of an operand, or asked for
  Tensor (*two)(Operand, Operand) = nullptr;  // of a function of two operands
};
std::vector<FunctionSample> core_samples();       // of trace/ and scan/
std::vector<FunctionSample> everyday_samples();   // of numpy/
std::vector<FunctionSample> catalogue_samples();  // of linalg/, special/, random/ and nn/
std::vector<FunctionSample> every_sample();

// Public functions, or whole headers, that record no operation of their own, and why.
struct Unrecorded {
  std::string_view what;  // "float_limits" or "trace/tree.h"
  std::string_view reason;
};
std::span<const Unrecorded> unrecorded();

// The tensors of a result's struct.
template <class T>
std::vector<Tensor> members_of(const T& result) {
  constexpr size_t kCount = fields_internal::member_count<T>();
  static_assert(kCount >= 2 && kCount <= 5);
  if constexpr (kCount == 2) {
    const auto& [a, b] = result;
    return {a, b};
  } else if constexpr (kCount == 3) {
    const auto& [a, b, c] = result;
    return {a, b, c};
  } else if constexpr (kCount == 4) {
    const auto& [a, b, c, d] = result;
    return {a, b, c, d};
  } else {
    const auto& [a, b, c, d, e] = result;
    return {a, b, c, d, e};
  }
}

// Samples of functions on operands of the tried dtype.
FunctionSample one(const char* name, Tensor (*fn)(Operand));
FunctionSample two(const char* name, Tensor (*fn)(Operand, Operand));

}  // namespace heddle::laws
