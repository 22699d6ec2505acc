// Signs of eigenvectors and singular vectors, and the order of complex eigenvalues, beside those of
// JAX's LAPACK: make_signs.py writes the rows. No rule gives either; they hang on LAPACK's own
// steps, and on their roundings in f32.
#include <gtest/gtest.h>

#include <cmath>

#include "heddle/interpreter/linalg/internal/testing.h"

namespace heddle::interpreter::linalg {
namespace {

using namespace linalg::testing;  // NOLINT: the helpers of these tests

struct Row {
  std::string_view routine;
  char letter;  // s, d, c or z
  int64_t rows, columns;
  uint32_t seed;
  std::string_view answer;
};

// clang-format off
constexpr Row kRows[] = {
    {"eigh_lower", 's', 6, 6, 1, "-+++++"},
    {"eigh_lower", 's', 8, 8, 1, "++--+++-"},
    {"eigh_lower", 's', 10, 10, 1, "--+--++-+-"},
    {"eigh_lower", 's', 12, 12, 2, "++-+-+---+--"},
    {"eigh_lower", 's', 16, 16, 1, "+++++++--+-+--++"},
    {"eigh_lower", 's', 20, 20, 4, "--+--++----+-+---+++"},
    {"eigh_lower", 's', 24, 24, 2, "--++-+--++-+-+++----++++"},
    {"eigh_lower", 'c', 6, 6, 1, "---+-+"},
    {"eigh_lower", 'c', 8, 8, 1, "-++-+-+-"},
    {"eigh_lower", 'c', 10, 10, 1, "+-+-++-+-+"},
    {"eigh_lower", 'c', 12, 12, 1, "+-+--+-+----"},
    {"eigh_lower", 'c', 16, 16, 1, "-+--++++-++-+---"},
    {"eigh_lower", 'c', 20, 20, 1, "+++--+-+--++-++--+++"},
    {"eigh_lower", 'c', 24, 24, 1, "-+-+++-+-----++-++-++--+"},
    {"eigh_lower", 'd', 6, 6, 1, "-+++++"},
    {"eigh_lower", 'd', 8, 8, 1, "----++++"},
    {"eigh_lower", 'd', 10, 10, 1, "--+-+-+-+-"},
    {"eigh_lower", 'd', 12, 12, 1, "---+-+-+-+++"},
    {"eigh_lower", 'd', 16, 16, 1, "----+++-++----++"},
    {"eigh_lower", 'd', 20, 20, 1, "-++-+++------+---+-+"},
    {"eigh_lower", 'd', 24, 24, 2, "---+++-+-++++++-----++++"},
    {"eigh_lower", 'z', 6, 6, 1, "-+++-+"},
    {"eigh_lower", 'z', 8, 8, 1, "-++-+-+-"},
    {"eigh_lower", 'z', 10, 10, 1, "+-+-++-+-+"},
    {"eigh_lower", 'z', 12, 12, 1, "++-+-+-++---"},
    {"eigh_lower", 'z', 16, 16, 1, "-+--++++-++--+--"},
    {"eigh_lower", 'z', 20, 20, 1, "-++---+++--++++-+-++"},
    {"eigh_lower", 'z', 24, 24, 1, "---+--++-+--+-++++++++-+"},
    {"eigh_upper", 's', 6, 6, 1, "--++++"},
    {"eigh_upper", 's', 8, 8, 1, "+++-++++"},
    {"eigh_upper", 's', 10, 10, 1, "----+++-++"},
    {"eigh_upper", 's', 12, 12, 1, "-+++--+-+-++"},
    {"eigh_upper", 's', 16, 16, 2, "---++-++---+++-+"},
    {"eigh_upper", 's', 20, 20, 1, "+++-+-++-+++-++----+"},
    {"eigh_upper", 's', 24, 24, 9, "-+++-++++--+++----+-+--+"},
    {"eigh_upper", 'c', 6, 6, 1, "-+---+"},
    {"eigh_upper", 'c', 8, 8, 1, "+-+--++-"},
    {"eigh_upper", 'c', 10, 10, 2, "++-+-++++-"},
    {"eigh_upper", 'c', 12, 12, 1, "-++++---++-+"},
    {"eigh_upper", 'c', 16, 16, 1, "+-++++---+++-+++"},
    {"eigh_upper", 'c', 20, 20, 1, "++++----+--+---++---"},
    {"eigh_upper", 'c', 24, 24, 1, "+-+-++-++--+-++-+-+++-+-"},
    {"geev", 'c', 6, 6, 1, "cefbda"},
    {"geev", 'c', 8, 8, 1, "ahbdcfge"},
    {"geev", 'c', 10, 10, 1, "icfjdabgeh"},
    {"geev", 'c', 12, 12, 1, "ldabcfkhijge"},
    {"geev", 'c', 16, 16, 1, "nofjadecbikpmghl"},
    {"geev", 'c', 20, 20, 1, "toabcsriqndfhegjmplk"},
    {"geev", 'c', 24, 24, 1, "hatbkcevxrdwlnjfgiuqpsom"},
    {"geev", 'z', 6, 6, 1, "cefbda"},
    {"geev", 'z', 8, 8, 1, "ahbdcfge"},
    {"geev", 'z', 10, 10, 1, "icfjdabgeh"},
    {"geev", 'z', 12, 12, 1, "ldabcfkhijge"},
    {"geev", 'z', 16, 16, 1, "nofjaedcbikghpml"},
    {"geev", 'z', 20, 20, 1, "toabcfdnsrqihegjmplk"},
    {"geev", 'z', 24, 24, 1, "hatbkecdvxrwlnjfgiupqsom"},
    {"gesdd", 's', 6, 6, 1, "---+-+"},
    {"gesdd", 's', 8, 8, 1, "---+--++"},
    {"gesdd", 's', 10, 10, 1, "--+--++---"},
    {"gesdd", 's', 12, 12, 1, "-+++--++-+--"},
    {"gesdd", 's', 16, 16, 2, "----++----+-+-++"},
    {"gesdd", 's', 24, 24, 1, "+---++-+++-++++---++----"},
    {"gesdd", 'c', 6, 6, 1, "----+-"},
    {"gesdd", 'c', 8, 8, 1, "++++-+--"},
    {"gesdd", 'c', 10, 10, 1, "--+--+++++"},
    {"gesdd", 'c', 12, 12, 1, "++-+++---+-+"},
    {"gesdd", 'c', 16, 16, 1, "---+---+-+++-+--"},
    {"gesdd", 'c', 20, 20, 1, "----+++-+--+-+--++-+"},
    {"gesdd", 'c', 24, 24, 1, "---+---+--+--+-+--+++--+"},
    {"gesdd", 'd', 6, 6, 1, "---+-+"},
    {"gesdd", 'd', 8, 8, 1, "---+-+++"},
    {"gesdd", 'd', 10, 10, 1, "--+--++---"},
    {"gesdd", 'd', 12, 12, 1, "-+++--+--++-"},
    {"gesdd", 'd', 16, 16, 1, "-+--+---++-+++++"},
    {"gesdd", 'd', 20, 20, 1, "+----+-++-++---++++-"},
    {"gesdd", 'd', 24, 24, 1, "+---++-+++-++++---++---+"},
    {"gesdd", 'z', 6, 6, 1, "----+-"},
    {"gesdd", 'z', 8, 8, 1, "++++-+--"},
    {"gesdd", 'z', 10, 10, 1, "--+--++++-"},
    {"gesdd", 'z', 12, 12, 1, "++-+++---+--"},
    {"gesdd", 'z', 16, 16, 1, "---+---+-+++-+--"},
    {"gesdd", 'z', 20, 20, 1, "----+++-+--+-+--++-+"},
    {"gesdd", 'z', 24, 24, 1, "---+---+--+--+-+--+++--+"},
    {"gesdd", 's', 12, 7, 1, "--+--+-"},
    {"gesdd", 's', 24, 13, 1, "+-++++-+++-++"},
    {"gesdd", 's', 7, 12, 1, "++---++"},
    {"gesdd", 's', 20, 8, 1, "--+-++++"},
    {"gesdd", 's', 8, 20, 1, "-++++---"},
    {"gesdd", 'c', 12, 7, 1, "+++--++"},
    {"gesdd", 'c', 24, 13, 1, "---+++-++--++"},
    {"gesdd", 'c', 7, 12, 1, "+--+-+-"},
    {"gesdd", 'c', 20, 8, 1, "++-+--+-"},
    {"gesdd", 'c', 8, 20, 1, "+++-++--"},
    {"gesvd", 's', 10, 10, 1, "--+--++---"},
    {"gesvd", 's', 16, 12, 1, "++++--+-++++"},
    {"gesvd", 's', 12, 16, 1, "+-++-+---+++"},
    {"gesvd", 's', 30, 30, 1, "+-+++-+++--+----+++--+++-+-+--"},
    {"gesvd", 'c', 10, 10, 1, "--+--+++++"},
    {"gesvd", 'c', 16, 12, 2, "-----++++-+-"},
    {"gesvd", 'c', 12, 16, 1, "++++-+-+-++-"},
    {"gesvd", 'c', 30, 30, 4, "-+--++++--+++++++----++++++-+-"},
};
// clang-format on

DType dtype_of(char letter) {
  return letter == 's' ? f32 : letter == 'd' ? f64 : letter == 'c' ? c64 : c128;
}

// Multiples of 1/256 below 2 in size, by a linear congruential generator; column after column, the
// real part first.
template <class T>
Literal sample(const Row& row) {
  uint32_t state = row.seed;
  const auto next = [&] {
    state = state * 1664525 + 1013904223;
    return ((state >> 16) % 1024) / 256.0 - 2;
  };
  Matrix<T> out(row.rows, row.columns);
  for (T& x : out.values()) {
    x = next();
    if constexpr (std::is_same_v<T, Complex>) x.imag(next());
  }
  return literal_of<T>(dtype_of(row.letter), {out});
}

// Of the element of each vector whose real part is largest.
template <class T>
std::string signs(const Matrix<T>& vectors) {
  std::string out;
  for (int64_t j = 0; j < vectors.columns(); ++j) {
    double largest = 0;
    for (const T& x : vectors.column(j)) {
      if (std::abs(real_of(x)) > std::abs(largest)) largest = real_of(x);
    }
    out += largest > 0 ? '+' : '-';
  }
  return out;
}

// Where the values stand by their real parts: a is the least.
std::string order(const std::vector<Complex>& values) {
  std::string out;
  for (const Complex& each : values) {
    const auto below = std::ranges::count_if(
        values, [&](const Complex& other) { return other.real() < each.real(); });
    out += static_cast<char>('a' + below);
  }
  return out;
}

template <class T>
std::string eigenvectors(const Row& row) {
  const Literal a = sample<T>(row);
  const bool lower = row.routine == "eigh_lower";
  const Literal out = call(
      target_of(row.letter, std::is_same_v<T, double> ? "syevd" : "heevd"), {a},
      base::cat("(", a.shape(), ", ", real_part(a.shape().dtype()), "[1,", row.rows, "], s32[1])"),
      base::cat("{mode = 86 : ui8, uplo = ", int{lower ? 'L' : 'U'}, " : ui8}"));
  return signs(read_matrix<T>(out.element(0), 0));
}

template <class T>
std::string singular_vectors(const Row& row) {
  const Literal a = sample<T>(row);
  const DType dtype = a.shape().dtype();
  const int64_t size = std::min(row.rows, row.columns);
  const Literal out = call(
      target_of(row.letter, row.routine), {a},
      base::cat("(", a.shape(), ", ", real_part(dtype), "[1,", size, "], ", dtype, "[1,", row.rows,
                ",", size, "], ", dtype, "[1,", size, ",", row.columns, "], s32[1])"),
      "{mode = 83 : ui8}");
  return signs(read_matrix<T>(out.element(2), 0));
}

std::string eigenvalue_order(const Row& row) {
  const Literal a = sample<Complex>(row);
  const Literal out = call(target_of(row.letter, "geev"), {a},
                           base::cat("(", a.shape().dtype(), "[1,", row.rows, "], ", a.shape(),
                                     ", ", a.shape(), ", s32[1])"),
                           "{compute_left = 78 : ui8, compute_right = 78 : ui8}");
  return order(read_matrix<Complex>(out.element(0), 0).values());
}

template <class T>
std::string answer(const Row& row) {
  if (row.routine == "geev") return eigenvalue_order(row);
  return row.routine.starts_with("eigh") ? eigenvectors<T>(row) : singular_vectors<T>(row);
}

TEST(Signs, AreThoseOfJaxsLapack) {
  for (const Row& row : kRows) {
    const bool is_real = row.letter == 's' || row.letter == 'd';
    EXPECT_EQ(is_real ? answer<double>(row) : answer<Complex>(row), row.answer)
        << row.routine << " " << row.letter << " " << row.rows << "x" << row.columns;
  }
}

}  // namespace
}  // namespace heddle::interpreter::linalg
