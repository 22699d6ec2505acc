// Scalar computations that scatter applies to two elements: those that are a single add, max, ...
// are recognised and run natively.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/hlo/module.h"

namespace heddle::interpreter {

using namespace hlo;

// to[i] = f(to[i], from[i]) for `count` elements; strides in bytes.
using CombineRun = void (*)(std::byte* to, int64_t to_stride, const std::byte* from,
                            int64_t from_stride, int64_t count);

struct Combiner {
  enum class Kind {
    kFirst,   // f(a, b) = a
    kSecond,  // f(a, b) = b
    kNative,  // as `run` does
    kOther,   // to be called
  };
  Kind kind = Kind::kOther;
  CombineRun run = nullptr;
};

// What a computation of two parameters of this element type does.
Combiner recognise_combiner(const Computation& computation, DType dtype);

}  // namespace heddle::interpreter
