// Batches of any size need only a few compiles: their rows are padded to powers of two.
#include <cstdio>

#include "heddle/heddle.h"

using namespace heddle;

// [loss]
// Mean squared error over the rows that the caller gave. x: f32[rows, 4]; y: f32[rows].
Tensor loss(const Tensor& w, const Tensor& x, const Tensor& y) {
  Tensor error = where(row_mask(y), square(matmul(x, w) - y), 0);
  return sum(error) / valid_rows(y).astype(f32);
}
// [/loss]

int main() {
  // [train]
  const auto step =
      compile(value_and_grad(loss), {.name = "step", .bucket = {.arguments = {1, 2}}});
  const Tensor truth = array({1.0f, -2.0f, 0.5f, 3.0f});
  Tensor w = zeros({4});
  for (int64_t i = 0; i < 300; ++i) {
    const Tensor x = random::normal(random::key(i), {1 + i * 37 % 200, 4});
    const auto [value, slope] = step(w, x, matmul(x, truth));
    w = w - 0.1 * slope;
  }
  // [/train]
  const std::vector<float> found = w.to_vector<float>();
  std::printf("w: %.3f %.3f %.3f %.3f\n", found[0], found[1], found[2], found[3]);
  const FunctionStats stats = step.stats();
  std::printf("%lld calls of 200 sizes: %lld graphs\n", static_cast<long long>(stats.calls),
              static_cast<long long>(stats.graphs));
  const bool is_right = std::abs(found[0] - 1) < 0.01 && stats.graphs == 6;
  return is_right ? 0 : 1;
}
