// MLX's eager operations on its CPU device, those of bench/eager.cc and bench/models.cc. It records
// operations until somebody reads a value: each chain is evaluated at its end. Built and run by
// bench/eager_peers.py, from the C++ part of PyPI's wheel.
#include <mlx/mlx.h>

#include <cstdlib>

#include "heddle/bench/peers/timing.h"

namespace {

namespace mx = mlx::core;
constexpr char kWay[] = "MLX";

void operations(double seconds) {
  for (const int size : {4, 4096}) {
    const mx::array y = mx::ones({size});
    peers::time(kWay, size == 4 ? "add of 4" : "add of 4096", "op", 1000, seconds, [&] {
      mx::array x = y;
      for (int i = 0; i < 1000; ++i) x = x + y;
      x.eval();
    });
  }
  const mx::array x = mx::ones({4});
  double number = 1;
  peers::time(kWay, "x * new number", "op", 1000, seconds, [&] {
    for (int i = 0; i < 1000; ++i) (x * mx::array(static_cast<float>(number += 1e-6))).eval();
  });
  const mx::array b = mx::ones({1024, 4});
  peers::time(kWay, "b[new index]", "op", 1024, seconds, [&] {
    for (int i = 0; i < 1024; ++i) mx::slice(b, {i, 0}, {i + 1, 4}).eval();
  });
  const mx::array init = mx::array(0.0f), xs = mx::ones({10});
  peers::time(kWay, "scan of 10", "call", 100, seconds, [&] {
    for (int i = 0; i < 100; ++i) {
      mx::array c = init;
      for (int j = 0; j < 10; ++j) c = c + mx::slice(xs, {j}, {j + 1});
      c.eval();
    }
  });
  const mx::array half = mx::array(0.5f);
  mx::array which = half < mx::array(1.0f);
  peers::time(kWay, "cond", "call", 100, seconds, [&] {
    for (int i = 0; i < 100; ++i) {
      if (which.item<bool>()) (half + mx::array(1.0f)).eval();
    }
  });
}

void models(double seconds) {
  const auto random = [](mx::Shape shape, float scale) {
    return mx::random::normal(shape) * mx::array(scale);
  };
  const mx::array w = random({64, 128}, 0.1f), b = mx::zeros({128}), v = random({128, 10}, 0.1f),
                  c = mx::zeros({10}), x = random({32, 64}, 1), zero = mx::array(0.0f);
  mx::eval({w, b, v, c, x});
  peers::time(kWay, "dense forward", "step", 100, seconds, [&] {
    for (int i = 0; i < 100; ++i)
      (mx::matmul(mx::maximum(mx::matmul(x, w) + b, zero), v) + c).eval();
  });
  const mx::array p = random({16, 16}, 0.2f), q = random({16, 16}, 0.2f), at = random({1, 16}, 1);
  mx::eval({p, q, at});
  peers::time(kWay, "rnn cell", "step", 10000, seconds, [&] {
    mx::array h = mx::zeros({1, 16});
    for (int i = 0; i < 10000; ++i) {
      h = mx::tanh(mx::matmul(at, p) + mx::matmul(h, q));
      if (i % 100 == 99) h.eval();  // or the record of the chain grows and grows
    }
    h.eval();
  });
}

}  // namespace

int main(int count, char** arguments) {
  const double seconds = count > 1 ? std::atof(arguments[1]) : 1;
  mx::set_default_device(mx::Device::cpu);
  operations(seconds / 4);
  models(seconds);
  return 0;
}
