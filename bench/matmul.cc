// GF/s of matrix products on one thread: ours, ours with B packed once, Eigen. The three alternate,
// and each figure is the best of many samples. Compile with the -m flags of one instruction set:
// Eigen uses these, and our kernels are set to match.
//
//   matmul_bench [milliseconds a shape, 150] [f64]
#define EIGEN_DONT_PARALLELIZE
#include "heddle/cpu/kernels/products/matmul.h"

#include <Eigen/Core>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <vector>

namespace heddle::cpu {
namespace {

struct Case {
  int64_t m, k, n;
  bool a_columns = false;  // A is column-major
  bool b_columns = false;  // B is column-major
};

constexpr Case kCases[] = {
    {4, 4, 4},
    {8, 8, 8},
    {16, 16, 16},
    {32, 32, 32},
    {64, 64, 64},
    {128, 128, 128},
    {256, 256, 256},
    {512, 512, 512},
    {1024, 1024, 1024},
    {1, 512, 2048},
    {8, 512, 2048},
    {32, 1024, 4096},
    {32, 256, 768},
    {8, 512, 1536},
    {16, 512, 2048},
    {128, 512, 512},
    {1024, 512, 1376},
    {1, 256, 256},
    {1, 256, 256, 0, 1},
    {1, 512, 2048, 0, 1},
    {256, 256, 1},
    {2048, 512, 1},
    {2048, 512, 1, 1},
    {1, 4096, 1},
    {64, 64, 64, 0, 1},
    {8, 512, 1536, 0, 1},
    {32, 256, 768, 0, 1},
    {128, 512, 512, 0, 1},
    {128, 512, 512, 1},
    {512, 512, 8},
    {100, 100, 100},
};

// Time of this thread on a core: other programs on the machine disturb it less than wall time.
double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds(const std::function<void()>& f, int64_t calls) {
  const double start = now();
  for (int64_t i = 0; i < calls; ++i) f();
  return (now() - start) / static_cast<double>(calls);
}

template <class T>
struct Aligned {
  explicit Aligned(size_t count)
      : data(static_cast<T*>(std::aligned_alloc(64, (count * sizeof(T) + 4096) / 64 * 64))) {
    for (size_t i = 0; i < count; ++i) data[i] = static_cast<T>(std::rand() % 2001 - 1000) / 1000;
  }
  ~Aligned() { std::free(data); }
  T* data;
};

template <class T, int kA, int kB>
void eigen(const Case& x, const T* a, const T* b, T* c) {
  using MatrixA = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, kA>;
  using MatrixB = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, kB>;
  using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  using Row = Eigen::Matrix<T, 1, Eigen::Dynamic>;
  using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  if (x.m == 1 && x.n == 1) {
    c[0] = Eigen::Map<const Vector>(a, x.k).dot(Eigen::Map<const Vector>(b, x.k));
  } else if (x.m == 1) {
    Eigen::Map<Row>(c, x.n).noalias() =
        Eigen::Map<const Row>(a, x.k) * Eigen::Map<const MatrixB>(b, x.k, x.n);
  } else if (x.n == 1) {
    Eigen::Map<Vector>(c, x.m).noalias() =
        Eigen::Map<const MatrixA>(a, x.m, x.k) * Eigen::Map<const Vector>(b, x.k);
  } else {
    Eigen::Map<Rows>(c, x.m, x.n).noalias() =
        Eigen::Map<const MatrixA>(a, x.m, x.k) * Eigen::Map<const MatrixB>(b, x.k, x.n);
  }
}

template <class T>
void run(const Case& x, double budget) {
  constexpr int kRow = Eigen::RowMajor, kColumn = Eigen::ColMajor;
  Aligned<T> a(x.m * x.k), b(x.k * x.n), c(x.m * x.n), d(x.m * x.n);
  const MatmulArgs args = {a.data,
                           b.data,
                           c.data,
                           x.m,
                           x.n,
                           x.k,
                           x.a_columns ? 1 : x.k,
                           x.a_columns ? x.m : 1,
                           x.b_columns ? 1 : x.n,
                           x.b_columns ? x.k : 1,
                           x.n,
                           1,
                           false};
  Aligned<T> packed(MatmulOf<T>::packed_size(x.k, x.n) / sizeof(T));
  MatmulOf<T>::pack_b(args, packed.data);
  const auto reference = x.a_columns
                             ? (x.b_columns ? eigen<T, kColumn, kColumn> : eigen<T, kColumn, kRow>)
                         : x.b_columns ? eigen<T, kRow, kColumn>
                                       : eigen<T, kRow, kRow>;
  const std::function<void()> all[3] = {
      [&] { MatmulOf<T>::product(args); },
      [&] { MatmulOf<T>::packed_product(args, packed.data); },
      [&] { reference(x, a.data, b.data, d.data); },
  };
  double best[3] = {1e9, 1e9, 1e9};
  const double flops = 2.0 * static_cast<double>(x.m * x.n * x.k);
  const int64_t calls = std::max<int64_t>(1, static_cast<int64_t>(4e6 / (flops + 2000)));
  for (double spent = 0, samples = 0; spent < budget || samples < 5; ++samples) {
    for (int i = 0; i < 3; ++i) {
      const double time = seconds(all[i], calls);
      best[i] = std::min(best[i], time);
      spent += time * static_cast<double>(calls);
    }
  }
  std::printf("%4ldx%4ldx%4ld %s%s  %8.2f us  %7.2f %7.2f %7.2f   %.2f %.2f\n", x.m, x.k, x.n,
              x.a_columns ? "c" : "r", x.b_columns ? "c" : "r", best[0] * 1e6,
              flops / best[0] / 1e9, flops / best[1] / 1e9, flops / best[2] / 1e9,
              best[2] / best[0], best[2] / best[1]);
  std::fflush(stdout);
}

// The highest rate of fma that this machine shows, in GF/s.
template <class T>
double peak() {
  constexpr int kChains = 12, kSteps = 20000, kBytes = EIGEN_MAX_ALIGN_BYTES;
  typedef T Reg __attribute__((vector_size(kBytes)));
  const auto run = [] {
    Reg acc[kChains] = {}, x = Reg{} + static_cast<T>(0.5);
    for (int i = 0; i < kChains; ++i) acc[i] += static_cast<T>(i);
    for (int p = 0; p < kSteps; ++p) {
#pragma GCC unroll 12
      for (int i = 0; i < kChains; ++i) acc[i] = acc[i] * x + x;
    }
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) __asm__ volatile("" : : "x"(acc[i]));
  };
  double best = 1e9;
  for (int repeat = 0; repeat < 50; ++repeat) best = std::min(best, seconds(run, 1));
  return 2.0 * kChains * (kBytes / sizeof(T)) * kSteps / best / 1e9;
}

}  // namespace
}  // namespace heddle::cpu

int main(int argc, char** argv) {
  using namespace heddle::cpu;
#if defined(__AVX512F__)
  const Isa isa = Isa::kAvx512;
#elif defined(__AVX2__)
  const Isa isa = Isa::kAvx2;
#else
  const Isa isa = Isa::kGeneric;
#endif
  if (!set_matmul_isa(isa)) return std::puts("this machine lacks the instruction set"), 1;
  if (argc > 1 && std::strncmp(argv[1], "--", 2) == 0) argc = 1;  // of Google Benchmark
  const double budget = (argc > 1 ? std::atof(argv[1]) : 150) / 1e3;
  const bool f64 = argc > 2 && std::strcmp(argv[2], "f64") == 0;
  std::printf("fma peak %.1f GF/s\n", f64 ? peak<double>() : peak<float>());
  std::puts("   m    k    n AB        ours     ours  packed   Eigen   ours/Eigen packed/Eigen");
  for (const Case& x : kCases) f64 ? run<double>(x, budget) : run<float>(x, budget);
}
