// Structs, maps, vectors and optionals as carry, xs and ys. One kFields line names the members;
// paths in errors use the names.
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "heddle/heddle.h"

using namespace heddle;

struct Moments {
  Tensor count;                        // s32[]
  std::map<std::string, Tensor> sums;  // "x" and "xx": f64[]
  std::optional<Tensor> last;          // f64[]
  static constexpr auto kFields =
      fields(field("count", &Moments::count), field("sums", &Moments::sums),
             field("last", &Moments::last));
};

int main() {
  auto step = [](Moments m, Tensor x) {
    m.count = m.count + 1;
    m.sums["x"] = m.sums["x"] + x;
    m.sums["xx"] = m.sums["xx"] + x * x;
    m.last = x;
    return std::pair(m, std::vector<Tensor>{m.sums["x"], m.sums["xx"]});
  };
  Tensor zero = zeros({}, f64);
  Moments start{zeros({}, s32), {{"x", zero}, {"xx", zero}}, zero};
  auto [m, running] = scan(step, start, linspace(0, 1, 101, f64));
  Tensor n = m.count.astype(f64);
  Tensor average = m.sums["x"] / n;
  Tensor variance = m.sums["xx"] / n - average * average;
  std::printf("mean %.4f, variance %.4f, last %.1f, running sums f64[%lld]\n",
              average.item<double>(), variance.item<double>(), m.last->item<double>(),
              static_cast<long long>(running[0].dim(0)));

  // A carry that changes its type is an error that names the path.
  auto wrong = [](Moments c, Tensor x) {
    c.sums["xx"] = (c.sums["xx"] + x).astype(f32);
    return std::pair(c, None{});
  };
  try {
    scan(wrong, start, linspace(0, 1, 5, f64));
  } catch (const Error& e) {
    std::printf("error, as expected: %s\n", e.what());
    return 0;
  }
  return 1;
}
