// Programs for several tests of the passes.
#pragma once

namespace heddle::transform {

// Sums of a prefix: one scan.
inline constexpr char kScan[] = R"(HloModule sums
f {
  x = f32[] parameter(0)
  h = f32[] parameter(1)
  n = f32[] add(x, h)
  ROOT t = (f32[], f32[]) tuple(n, n)
}
ENTRY main {
  xs = f32[5] parameter(0)
  h = f32[] parameter(1)
  ROOT s = (f32[5], f32[]) scan(xs, h), dimensions={0}, num_carries=1, to_apply=f
})";

}  // namespace heddle::transform
