// Named functions: one object, made once, is one computation however often it is used, and HLO has
// its name. A first-order filter whose weight is captured, over blocks of a signal.
#include <cstdio>

#include "heddle/heddle.h"

using namespace heddle;

int main() {
  Tensor signal = sin(arange(400).astype(f64) * 0.1);
  // [named]
  Tensor weight = array<double>({0.9});
  Function smooth("smooth", [weight](Tensor level, Tensor x) {
    Tensor next = weight * level + (1.0 - weight) * x;
    return std::pair(next, next);
  });

  Tensor level = zeros({1}, f64);
  for (int64_t block = 0; block < 4; ++block) {  // traced and compiled in the first round
    Tensor part = slice_in_dim(signal, block * 100, (block + 1) * 100);
    level = scan(smooth, level, part).first;
  }
  Program program = trace([&](Tensor xs) { return scan(smooth, zeros({1}, f64), xs).second; },
                          placeholder({100}, f64));
  // program.lowered().hlo_text() has: while(..), condition=%smooth.while_condition,
  // body=%smooth.while_body
  // [/named]
  const Counters before = counters();
  scan(smooth, level, slice_in_dim(signal, 0, 100));
  const Counters done = counters() - before;
  const bool is_named =
      program.lowered().hlo_text().find("body=%smooth.while_body") != std::string::npos;
  std::printf("level after 400 samples: %.6f; HLO %s the name; traces of another call: %lld\n",
              level.item<double>(), is_named ? "has" : "lacks",
              static_cast<long long>(done.traces));
  return is_named && done.traces == 0 ? 0 : 1;
}
