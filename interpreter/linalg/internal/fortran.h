// Calls of LAPACK, which is Fortran: every argument is given by its address, and the
// lengths of letters follow all arguments. Sizes are 32 bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/interpreter/custom_call.h"
#include "heddle/interpreter/linalg/internal/matrix.h"

namespace heddle::interpreter::linalg {

using Fortran = void (*)();  // of any arguments

// A routine of four types.
struct Routine {
  Fortran s, d, c, z;

  template <class T>
  [[nodiscard]] Fortran of() const {
    if constexpr (std::is_same_v<T, float>) return s;
    if constexpr (std::is_same_v<T, double>) return d;
    if constexpr (std::is_same_v<T, SingleComplex>) return c;
    if constexpr (std::is_same_v<T, Complex>) return z;
  }
};

// The routines that are called: their names for real types and for complex ones.
#define HEDDLE_ROUTINES(R) \
  R(gees, gees)            \
  R(geev, geev)            \
  R(gehrd, gehrd)          \
  R(geqp3, geqp3)          \
  R(geqrf, geqrf)          \
  R(gesdd, gesdd)          \
  R(gesvd, gesvd)          \
  R(gtsv, gtsv)            \
  R(orgqr, ungqr)          \
  R(ormqr, unmqr)          \
  R(syevd, heevd)          \
  R(sytrd, hetrd)

struct Lapack {
#define HEDDLE_ROUTINE(real, complex) Routine real;
  HEDDLE_ROUTINES(HEDDLE_ROUTINE)
#undef HEDDLE_ROUTINE
};

// The routines of a shared library, which stays loaded.
//
// errors   NotFound where it cannot be loaded, or has not all of them
StatusOr<Lapack> load_lapack(const char* library);

// The system's, loaded at the first call: most programs never need it, and start without it.
const StatusOr<Lapack>& lapack();

template <class T>
auto address_of(T& x) {
  static_assert(!std::is_same_v<std::remove_const_t<T>, int64_t>, "sizes are Int");
  if constexpr (requires { x.data(); }) {
    return x.data();
  } else if constexpr (requires { x.values(); }) {
    return x.values().data();
  } else if constexpr (std::is_pointer_v<T>) {
    return x;
  } else {
    return &x;
  }
}

// Letters, sizes and scalars; vectors, spans and matrices; pointers as they are.
template <class... Arguments>
void call_fortran(Fortran routine, Arguments&&... arguments) {
  constexpr size_t kLetters =
      (size_t{0} + ... + size_t{std::is_same_v<std::remove_cvref_t<Arguments>, char>});
  [&]<size_t... I>(std::index_sequence<I...>) {
    using Function = void (*)(decltype(address_of(arguments))..., decltype(I)...);
    reinterpret_cast<Function>(routine)(address_of(arguments)..., (I * 0 + 1)...);
  }
  (std::make_index_sequence<kLetters>());
}

// From one column to the next; LAPACK takes no 0. Batch has checked sizes (internal/batch.h).
template <class T>
Int stride_of(const Matrix<T>& a) {
  return static_cast<Int>(std::max<int64_t>(a.rows(), 1));
}

// Workspace of the routines that take some per row or column: as much as their blocks of columns,
// of which a matrix has up to `columns`, can use, and the triangle of a block beside them.
//
// errors   InvalidArgument where LAPACK cannot count it
template <class T>
StatusOr<std::vector<T>> workspace(const CustomCall& call, int64_t lines, int64_t columns) {
  constexpr int64_t kMostColumns = 64, kTriangle = 5000;
  const int64_t size = lines * std::clamp<int64_t>(columns, 1, kMostColumns) + kTriangle;
  if (size <= std::numeric_limits<Int>::max()) return std::vector<T>(static_cast<size_t>(size));
  return call.error("operand 0 is ", call[0].shape(), "; LAPACK counts its workspace in 32 bits");
}

template <class T>
Int size_of(const std::vector<T>& values) {
  return static_cast<Int>(values.size());
}

// What LAPACK found wrong in an argument since the last call of this function, on this thread:
// "DGEHRD, argument 2"; empty where that is nothing. LAPACK's own handler may end the process.
std::string take_refusal();

// Calls run(work, size) twice: with size -1 the routine says how much workspace it takes.
template <class T, class Run>
void with_workspace(const Run& run) {
  T best{};
  run(&best, Int{-1});
  // A size beyond 2^24 may have been rounded down to a float.
  const double size = std::max(1.0, static_cast<double>(real_of(best)) * (1 + 0x1p-23));
  std::vector<T> work(static_cast<size_t>(size) + 1);
  run(work.data(), static_cast<Int>(work.size()));
}

}  // namespace heddle::interpreter::linalg
