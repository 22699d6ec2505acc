// Loops over small matrices.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "heddle/bench/baselines/loops.h"

namespace heddle::baselines {
namespace {

template <int kRows, int kColumns>
struct Matrix {
  float at[kRows][kColumns];
  explicit Matrix(const float* from) { std::copy_n(from, kRows * kColumns, &at[0][0]); }
  Matrix() = default;
  void write(float* to) const { std::copy_n(&at[0][0], kRows * kColumns, to); }
};

template <int n, int k, int m>
Matrix<n, m> operator*(const Matrix<n, k>& a, const Matrix<k, m>& b) {
  Matrix<n, m> out;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < m; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l) sum += a.at[i][l] * b.at[l][j];
      out.at[i][j] = sum;
    }
  }
  return out;
}

template <int n, int m>
Matrix<n, m> combine(const Matrix<n, m>& a, const Matrix<n, m>& b, float sign) {
  Matrix<n, m> out;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < m; ++j) out.at[i][j] = a.at[i][j] + sign * b.at[i][j];
  }
  return out;
}

template <int n, int m>
Matrix<m, n> transposed(const Matrix<n, m>& a) {
  Matrix<m, n> out;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < m; ++j) out.at[j][i] = a.at[i][j];
  }
  return out;
}

// F, H, Q, R, x0, P0, zs -> x, P, xs.
void kalman_explicit(const Call& call) {
  constexpr int64_t kSteps = 10'000;
  const Matrix<4, 4> f(call.in(0)), q(call.in(2)), ft = transposed(f);
  const Matrix<2, 4> h(call.in(1));
  const Matrix<4, 2> ht = transposed(h);
  const Matrix<2, 2> r(call.in(3));
  Matrix<4, 1> x(call.in(4));
  Matrix<4, 4> p(call.in(5));
  for (int64_t t = 0; t < kSteps; ++t) {
    x = f * x;
    p = combine(f * p * ft, q, 1);
    const Matrix<4, 2> pht = p * ht;
    const Matrix<2, 2> s = combine(h * pht, r, 1);
    const float scale = 1 / (s.at[0][0] * s.at[1][1] - s.at[0][1] * s.at[1][0]);
    Matrix<2, 2> inverse;
    inverse.at[0][0] = scale * s.at[1][1];
    inverse.at[0][1] = -scale * s.at[0][1];
    inverse.at[1][0] = -scale * s.at[1][0];
    inverse.at[1][1] = scale * s.at[0][0];
    const Matrix<4, 2> gain = pht * inverse;
    x = combine(x, gain * combine(Matrix<2, 1>(call.in(6) + 2 * t), h * x, -1), 1);
    p = combine(p, gain * (h * p), -1);
    x.write(call.out(2) + 4 * t);
  }
  x.write(call.out(0));
  p.write(call.out(1));
}

// Rank-one updates of a Cholesky factor, and the logarithm of its determinant.
void cholesky_update(const Call& call) {
  constexpr int64_t kSteps = 2000;
  Matrix<3, 3> l(call.in(0));
  for (int64_t t = 0; t < kSteps; ++t) {
    const float* x = call.in(1) + 3 * t;
    float v[3] = {x[0], x[1], x[2]};
    float logs = 0;
    for (int k = 0; k < 3; ++k) {
      const float old = 0.995f * l.at[k][k];
      const float diagonal = std::sqrt(old * old + v[k] * v[k]);
      const float c = diagonal / old, s = v[k] / old;
      l.at[k][k] = diagonal;
      for (int i = k + 1; i < 3; ++i) {
        l.at[i][k] = (0.995f * l.at[i][k] + s * v[i]) / c;
        v[i] = c * v[i] - s * l.at[i][k];
      }
      logs += std::log(diagonal);
    }
    call.out(1)[t] = logs;
  }
  for (int i = 0; i < 3; ++i) std::fill(&l.at[i][i + 1], &l.at[i][3], 0.0f);
  l.write(call.out(0));
}

// Eigen's quotient of polynomials, within some ulp.
template <class Lanes>
Lanes tanh_of(Lanes x) {
  constexpr float kMost = 7.90531110763549805f;
  constexpr float kTop[] = {-2.76076847742355e-16f, 2.00018790482477e-13f, -8.60467152213735e-11f,
                            5.12229709037114e-08f,  1.48572235717979e-05f, 6.37261928875436e-04f,
                            4.89352455891786e-03f};
  constexpr float kBottom[] = {1.19825839466702e-06f, 1.18534705686654e-04f, 2.26843463243900e-03f,
                               4.89352518554385e-03f};
  const Lanes most = Lanes{} + kMost;
  x = x > most ? most : x;
  x = x < -most ? -most : x;
  const Lanes square = x * x;
  Lanes top = Lanes{} + kTop[0], bottom = Lanes{} + kBottom[0];
  for (int i = 1; i < 7; ++i) top = top * square + kTop[i];
  for (int i = 1; i < 4; ++i) bottom = bottom * square + kBottom[i];
  return x * top / bottom;
}

template <int kLanes>
struct Vector {
  typedef float Type __attribute__((vector_size(4 * kLanes), aligned(4)));
};

// h = tanh(W h + x): W by columns, so that rows are lanes.
template <int kWidth, int kSteps>
void rnn(const Call& call) {
  constexpr int kLanes = std::min(kWidth, 16), kVectors = kWidth / kLanes;
  constexpr int kSums = kWidth == 64 ? 1 : 4;  // shorter chains of additions
  using Lanes = typename Vector<kLanes>::Type;
  const Matrix<kWidth, kWidth> columns = transposed(Matrix<kWidth, kWidth>(call.in(0)));
  alignas(64) float h[kWidth];
  std::copy_n(call.in(1), kWidth, h);
  for (int64_t t = 0; t < kSteps; ++t) {
    Lanes sums[kSums][kVectors] = {};
    for (int v = 0; v < kVectors; ++v)
      sums[0][v] = *reinterpret_cast<const Lanes*>(call.in(2) + t * kWidth + v * kLanes);
#pragma GCC unroll 16
    for (int j = 0; j < kWidth; ++j) {
      for (int v = 0; v < kVectors; ++v) {
        const auto& column = *reinterpret_cast<const Lanes*>(&columns.at[j][v * kLanes]);
        sums[j % kSums][v] += column * h[j];
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (kSums == 4) sums[0][v] += sums[1][v] + (sums[2][v] + sums[3][v]);
      const Lanes next = tanh_of(sums[0][v]);
      *reinterpret_cast<Lanes*>(h + v * kLanes) = next;
      *reinterpret_cast<Lanes*>(call.out(1) + t * kWidth + v * kLanes) = next;
    }
  }
  std::copy_n(h, kWidth, call.out(0));
}

constexpr NamedLoop kLoops[] = {
    {"kalman_n4m2_explicit", kalman_explicit}, {"chol3_f32", cholesky_update},
    {"rnn_d4_t100000", rnn<4, 100'000>},       {"rnn_d16_t10000", rnn<16, 10'000>},
    {"rnn_d16_t100000", rnn<16, 100'000>},     {"rnn_d64_t10000", rnn<64, 10'000>},
};

}  // namespace

std::span<const NamedLoop> matrix_loops() { return kLoops; }

}  // namespace heddle::baselines
