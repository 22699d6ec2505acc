// A program that includes the headers that it uses and links their libraries alone. consume.cmake
// sees that it loads no protobuf.
#include <cstdio>
#include <utility>

#include "heddle/cpu/backend.h"
#include "heddle/scan/scan.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"

int main() {
  using namespace heddle;
  auto step = [](Tensor total, Tensor x) { return std::pair(total + x, total); };
  auto [total, before] = scan(step, scalar(0.0f), arange(5.0));
  std::printf("%g\n", total.item<float>());
  return total.item<float>() == 10 ? 0 : 1;
}
