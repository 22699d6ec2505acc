// A recurrent net: its parameters are a struct, its step is a lambda, its loop is one scan.
#include <cstdio>

#include "heddle/heddle.h"

using namespace heddle;

// [rnn]
struct Cell {  // parameters of a recurrent cell
  Tensor w;    // [in + hidden, hidden]
  Tensor b;    // [hidden]
  static constexpr auto kFields = fields(field("w", &Cell::w), field("b", &Cell::b));
};

// Mean squared error of the last state. xs: f32[time, batch, in]; target: f32[batch, hidden].
Tensor loss(const Cell& cell, Tensor xs, Tensor target) {
  auto step = [&](Tensor h, Tensor x) {
    h = tanh(matmul(concat({x, h}, /*axis=*/-1), cell.w) + cell.b);
    return std::pair(h, None{});
  };
  auto [last, ys] = scan(step, /*init=*/zeros_like(target), xs);
  return mean(square(last - target));
}
// [/rnn]

int main() {
  // Staged on placeholders: no memory, no transfer.
  Cell shapes{placeholder({12, 8}, f32), placeholder({8}, f32)};
  Program program = trace(loss, shapes, placeholder({50, 3, 4}, f32), placeholder({3, 8}, f32));
  std::printf("%s\n", to_string(program.signature()).c_str());

  // Run on values.
  Cell cell{full({12, 8}, 0.1), zeros({8})};
  Tensor value = program.call<Tensor>(cell, ones({50, 3, 4}), zeros({3, 8}));
  std::printf("loss %.6f\n", value.item<float>());
  return value.item<float>() > 0.2f && value.item<float>() < 1.0f ? 0 : 1;
}
