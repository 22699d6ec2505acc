#include <iostream>

#include "heddle/heddle.h"

int main() {
  using namespace heddle;
  auto step = [](Tensor total, Tensor x) { return std::pair(total + x, total); };
  auto [total, before] = scan(step, scalar(0.0f), arange(5.0));
  std::cout << total.item<float>() << "\n";  // 10
}
