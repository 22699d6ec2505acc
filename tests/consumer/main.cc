// What the first program of a user of an installed heddle needs: one include, one library.

#include <iostream>

#include "heddle/heddle.h"

int main() {
  using namespace heddle;
  auto step = [](Tensor total, Tensor x) { return std::pair(total + x, total); };
  const float sum = scan(step, scalar<float>(0), array<float>({1, 2, 3})).first.item<float>();
  std::cout << (sum == 6 ? "consumer: ok\n" : "consumer: not ok\n");
  return sum == 6 ? 0 : 1;
}
