#include "heddle/interpreter/ops/elementwise/combine.h"

#include <cmath>
#include <complex>
#include <cstring>
#include <type_traits>

#include "heddle/hlo/literal/native.h"

namespace heddle::interpreter {
namespace {

// The ops give what the definitions of add, maximum, ... give: integers wrap, floats are rounded
// once, NaN wins, -0 < +0.
template <class T>
T add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

template <class T>
T multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

template <class T>
T maximum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a < b ? b : a;
  } else {
    if (a != a) return a;
    if (b != b || b > a) return b;
    return a == b && std::signbit(a) ? b : a;
  }
}

template <class T>
T minimum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return b < a ? b : a;
  } else {
    if (a != a) return a;
    if (b != b || b < a) return b;
    return a == b && std::signbit(b) ? b : a;
  }
}

template <class T>
T bit_and(T a, T b) {
  return static_cast<T>(a & b);
}

template <class T>
T bit_or(T a, T b) {
  return static_cast<T>(a | b);
}

// Stored as T. Floats of 16 bits are computed in f64, where +, * are exact enough to be rounded
// only once.
template <class T, auto kOp>
void run(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
         int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, to + i * to_stride, sizeof(T));
    std::memcpy(&b, from + i * from_stride, sizeof(T));
    a = kOp(a, b);
    std::memcpy(to + i * to_stride, &a, sizeof(T));
  }
}

template <DType kType, auto kOp>
void run_small(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
               int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    Native<kType> a, b;
    std::memcpy(&a, to + i * to_stride, sizeof(a));
    std::memcpy(&b, from + i * from_stride, sizeof(b));
    a.bits = encode_small_float(kType, kOp(to_f64(a), to_f64(b)));
    std::memcpy(to + i * to_stride, &a, sizeof(a));
  }
}

template <class T>
CombineRun of_floats(Opcode opcode) {
  if (opcode == Opcode::kAdd) return run<T, add<T>>;
  if (opcode == Opcode::kMultiply) return run<T, multiply<T>>;
  if (opcode == Opcode::kMaximum) return run<T, maximum<T>>;
  if (opcode == Opcode::kMinimum) return run<T, minimum<T>>;
  return nullptr;
}

template <class T>
CombineRun of_integers(Opcode opcode) {
  if (opcode == Opcode::kAnd) return run<T, bit_and<T>>;
  if (opcode == Opcode::kOr) return run<T, bit_or<T>>;
  return of_floats<T>(opcode);
}

template <DType kType>
CombineRun of_small_floats(Opcode opcode) {
  if (opcode == Opcode::kAdd) return run_small<kType, add<double>>;
  if (opcode == Opcode::kMultiply) return run_small<kType, multiply<double>>;
  if (opcode == Opcode::kMaximum) return run_small<kType, maximum<double>>;
  if (opcode == Opcode::kMinimum) return run_small<kType, minimum<double>>;
  return nullptr;
}

CombineRun of_preds(Opcode opcode) {
  if (opcode == Opcode::kAnd || opcode == Opcode::kMinimum) return run<uint8_t, bit_and<uint8_t>>;
  if (opcode == Opcode::kOr || opcode == Opcode::kMaximum) return run<uint8_t, bit_or<uint8_t>>;
  return nullptr;
}

template <class T>
CombineRun of_complexes(Opcode opcode) {
  return opcode == Opcode::kAdd ? run<T, add<T>> : nullptr;
}

CombineRun native_run(Opcode opcode, DType dtype) {
  if (dtype == pred) return of_preds(opcode);
  if (dtype == s8) return of_integers<int8_t>(opcode);
  if (dtype == s16) return of_integers<int16_t>(opcode);
  if (dtype == s32) return of_integers<int32_t>(opcode);
  if (dtype == s64) return of_integers<int64_t>(opcode);
  if (dtype == u8) return of_integers<uint8_t>(opcode);
  if (dtype == u16) return of_integers<uint16_t>(opcode);
  if (dtype == u32) return of_integers<uint32_t>(opcode);
  if (dtype == u64) return of_integers<uint64_t>(opcode);
  if (dtype == f16) return of_small_floats<f16>(opcode);
  if (dtype == bf16) return of_small_floats<bf16>(opcode);
  if (dtype == f32) return of_floats<float>(opcode);
  if (dtype == f64) return of_floats<double>(opcode);
  if (dtype == c64) return of_complexes<std::complex<float>>(opcode);
  if (dtype == c128) return of_complexes<std::complex<double>>(opcode);
  return nullptr;
}

// The number of the parameter that the instruction is, or -1.
int64_t parameter_number(const Computation& computation, InstructionId id) {
  const Instruction& instruction = computation.at(id);
  if (instruction.opcode != Opcode::kParameter) return -1;
  return instruction.attrs.get<ParameterAttrs>().number;
}

}  // namespace

Combiner recognise_combiner(const Computation& computation, DType dtype) {
  const int64_t itself = parameter_number(computation, computation.root);
  if (itself == 0) return {.kind = Combiner::Kind::kFirst};
  if (itself == 1) return {.kind = Combiner::Kind::kSecond};
  const Instruction& root = computation.root_instruction();
  if (root.operands.size() != 2) return {};
  const int64_t a = parameter_number(computation, root.operands[0]);
  const int64_t b = parameter_number(computation, root.operands[1]);
  const bool both = (a == 0 && b == 1) || (a == 1 && b == 0);  // the ops above commute
  CombineRun run = both ? native_run(root.opcode, dtype) : nullptr;
  return run == nullptr ? Combiner{} : Combiner{Combiner::Kind::kNative, run};
}

}  // namespace heddle::interpreter
