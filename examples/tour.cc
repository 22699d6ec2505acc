// The snippets of docs/README.md, one after the other: make, loop, branch, compile, look, move.
#include <cstdio>
#include <map>
#include <utility>

#include "heddle/heddle.h"

using namespace heddle;

// [struct]
struct Level {
  Tensor mean;    // f32[]
  Tensor weight;  // f32[]
  static constexpr auto kFields =
      fields(field("mean", &Level::mean), field("weight", &Level::weight));
};
// [/struct]

int main() {
  // [make]
  Tensor x = array<float>({1, 2, 3});  // an upload of 12 bytes, counted
  Tensor ramp = arange(3) * 2;         // s32[3]: no upload
  Tensor m = reshape(arange(6.0), {2, 3});
  Tensor row = m[0], corner = m[{1, -1}], column = m[{Slice{}, 1}];
  m = m.at({0, 1}).set(5.0);           // a new tensor; the old one is as it was
  float total = sum(x).item<float>();  // waits; a download of 4 bytes, counted
  // [/make]

  // [loop]
  auto step = [](Level level, Tensor value) {
    Level next{level.mean + level.weight * (value - level.mean), level.weight * 0.9};
    return std::pair(next, next.mean);
  };
  auto [last, means] = scan(step, Level{scalar(0.0f), scalar(0.5f)}, x);  // ys: f32[3]

  Tensor root = while_loop([](Tensor r) { return abs(r * r - 2.0) > 1e-3; },
                           [](Tensor r) { return 0.5 * (r + 2.0 / r); }, scalar(1.0f));
  // [/loop]

  // [early]
  // Adds elements of x until their sum is 2.5 or more: how many, and the sum.
  using Place = std::pair<Tensor, Tensor>;
  auto not_done = [&](Place p) { return (p.first < x.dim(0)) & (p.second < 2.5); };
  auto add_next = [&](Place p) { return Place{p.first + 1, p.second + x[p.first]}; };
  auto [count, enough] = while_loop(not_done, add_next, Place{scalar(0), scalar(0.0f)});
  // [/early]

  // [branch]
  auto keep = [](Tensor r) { return r; };
  auto turn = [](Tensor r) { return -r; };
  Tensor signed_root = cond(x[0] > 0.0, keep, turn, root);  // one of them runs
  // [/branch]

  // [random]
  auto [draw, later] = random::split<2>(random::key(7));
  Tensor noise = random::normal(draw, {3});  // the same numbers at each run of the program
  // [/random]

  // [compile]
  auto energy = [](Tensor v) { return sum(v * v); };
  auto program = trace(energy, x);                // runs `energy` once; moves nothing
  std::printf("%s", program.hlo_text().c_str());  // what will be compiled
  auto compiled = program.compile();              // for the default device
  Tensor first = compiled(x);                     // traces, lowers and compiles nothing
  Tensor again = compiled(x + noise);
  // [/compile]

  // [moves]
  {
    TransferGuard guard(TransferGuard::Policy::kForbid);  // a transfer in here is an error
    first = compiled(again * x);
  }
  Counters before = counters();
  (void)compiled(x);
  long long uploads = counters().uploads - before.uploads;  // 0; heddle/testing.h has tests for it
  // [/moves]

  std::printf("%lld uploads; mean %.3f, root %.4f and %.4f, sum %.1f, ramp %d, %.1f %.1f %.1f\n",
              uploads, last.mean.item<float>(), root.item<float>(), signed_root.item<float>(),
              total, sum(ramp).item<int>(), sum(row).item<float>(), corner.item<float>(),
              column.to_vector<float>()[1]);
  return uploads == 0 && means.dim(0) == 3 && count.item<int>() == 2 && enough.item<float>() == 3 &&
                 later.dim(0) == 2
             ? 0
             : 1;
}
