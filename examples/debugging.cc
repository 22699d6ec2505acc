// A program shows lines, the first NaN, and how far it is.
#include <cstdio>

#include "heddle/heddle.h"

using namespace heddle;

namespace {

// [step]
// Newton's steps toward the root of each of some numbers.
Tensor roots(Tensor xs) {
  const auto newton = [](Tensor r, Tensor x) {
    const auto step = [&](Tensor i, Tensor root) {
      root = 0.5 * (root + x / root);
      debug_print("x {} step {} root {}", x, i, root);
      return root;
    };
    r = fori_loop(0, 3, step, r);
    debug_check(r, "the root");
    return std::pair(r, r);
  };
  return scan(newton, scalar(1.0f), xs, {.progress = "roots"}).second;
}
// [/step]

}  // namespace

int main() {
  const auto fn = compile(roots);
  std::fprintf(stderr, "%s\n", array_to_string(fn(array<float>({4, 9}))).c_str());
  try {
    fn(array<float>({1, -1, 4})).wait();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  const auto checked = compile([](Tensor x) { return sum(x * log(x)); }, {.check_nans = true});
  try {
    checked(array<float>({1, 0})).wait();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
}
