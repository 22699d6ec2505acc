#include "heddle/interpreter/ops/reduction/window_taps.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "heddle/hlo/literal/strides.h"
#include "heddle/hlo/window.h"

namespace heddle::interpreter {

bool is_point(const WindowDimension& w) {
  return w.size == 1 && w.stride == 1 && w.padding_low == 0 && w.padding_high == 0 &&
         w.base_dilation == 1;
}

namespace {

using Int128 = __int128;  // holds products of two checked sizes

template <class Int>
int64_t remainder(Int x, int64_t modulus) {
  const auto rest = static_cast<int64_t>(x % modulus);
  return rest < 0 ? rest + modulus : rest;
}

template <class Int>
Int ceiling(Int x, int64_t divisor) {
  return x >= 0 ? (x + divisor - 1) / divisor : -(-x / divisor);
}

// x with a x = 1 modulo m, for a and m without a common factor: Euclid's algorithm.
int64_t inverse(int64_t a, int64_t m) {
  int64_t x = 1, next_x = 0;
  for (int64_t b = m; b != 0;) {
    const int64_t quotient = a / b;
    a = std::exchange(b, a - quotient * b);
    x = std::exchange(next_x, x - quotient * next_x);
  }
  return remainder(x, m);
}

// The k in [0, limit) for which start + k stride is one of 0, spread, 2 spread, .. below base
// spread. Products fit in Int.
template <class Int>
Hits solve_in(Int start, int64_t stride, int64_t limit, int64_t base, int64_t spread) {
  const int64_t common = std::gcd(stride, spread);
  if (base == 0 || start % common != 0) return {};
  Hits hits{.step = spread / common, .position_step = stride / common};
  int64_t class_of = 0;  // of k, modulo the step
  if (hits.step > 1) {
    const int64_t inverse_stride = inverse(hits.position_step % hits.step, hits.step);
    class_of = remainder<Int>(-start / common * inverse_stride, hits.step);
  }
  const Int end = Int{base - 1} * spread;
  const Int least = std::max<Int>(0, ceiling<Int>(-start, stride));
  const Int most = std::min<Int>(limit - 1, (end - start) / stride);
  const Int first =
      class_of + std::max<Int>(0, ceiling<Int>(least - class_of, hits.step)) * hits.step;
  if (end < start || first > most) return {};
  hits.first = static_cast<int64_t>(first);
  hits.count = static_cast<int64_t>((most - first) / hits.step + 1);
  hits.position = static_cast<int64_t>((start + first * stride) / spread);
  return hits;
}

// Divisions of 128 bits take most of the time, and are seldom needed.
Hits solve(Int128 start, int64_t stride, int64_t limit, int64_t base, int64_t spread) {
  constexpr int64_t kSmall = int64_t{1} << 30;
  const bool small =
      std::max({stride, limit, base, spread}) < kSmall && start < kSmall && start > -kSmall;
  if (small) return solve_in<int64_t>(static_cast<int64_t>(start), stride, limit, base, spread);
  return solve_in<Int128>(start, stride, limit, base, spread);
}

// What each tap hits, for those that hit anything. A window may be far larger than what it moves
// over.
std::vector<Hits> taps_that_hit(const WindowDimension& w, int64_t base, int64_t places) {
  std::vector<int64_t> taps;
  if (w.size / std::max<int64_t>(1, places) > base) {
    for (int64_t place = 0; place < places; ++place) {
      const Hits hits = hits_at_place(w, base, place);
      for (int64_t i = 0; i < hits.count; ++i) taps.push_back(hits.first + i * hits.step);
    }
    std::ranges::sort(taps);
    taps.erase(std::unique(taps.begin(), taps.end()), taps.end());
  } else {
    taps.resize(static_cast<size_t>(w.size));
    std::iota(taps.begin(), taps.end(), 0);
  }
  std::vector<Hits> out;
  for (int64_t tap : taps) {
    out.push_back(hits_of_tap(w, base, places, tap));
    if (out.back().count == 0) out.pop_back();
  }
  return out;
}

}  // namespace

Hits hits_at_place(const WindowDimension& w, int64_t base, int64_t place) {
  return solve(Int128{place} * w.stride - w.padding_low, w.window_dilation, w.size, base,
               w.base_dilation);
}

Hits hits_of_tap(const WindowDimension& w, int64_t base, int64_t places, int64_t tap) {
  return solve(Int128{tap} * w.window_dilation - w.padding_low, w.stride, places, base,
               w.base_dilation);
}

Status for_each_tap(const Window& window, const Shape& base, const Shape& places,
                    const std::function<Status(const TapPart&)>& visit) {
  const auto rank = static_cast<size_t>(base.rank());
  const std::vector<WindowDimension> entries = window_entries(window, base.rank());
  std::vector<std::vector<Hits>> taps;
  for (size_t d = 0; d < rank; ++d) {
    const auto dim = static_cast<int64_t>(d);
    taps.push_back(taps_that_hit(entries[d], base.dimension(dim), places.dimension(dim)));
    if (taps.back().empty()) return {};
  }
  const Strides in_base(base), in_places(places);
  for (std::vector<size_t> at(rank);;) {
    TapPart part;
    for (size_t d = 0; d < rank; ++d) {
      const Hits& hits = taps[d][at[d]];
      const int64_t base_stride = in_base[static_cast<int64_t>(d)],
                    place_stride = in_places[static_cast<int64_t>(d)];
      part.sizes.push_back(hits.count);
      part.in_places += hits.first * place_stride;
      part.place_strides.push_back(hits.step * place_stride);
      part.in_base += hits.position * base_stride;
      part.base_strides.push_back(hits.position_step * base_stride);
    }
    HEDDLE_RETURN_IF_ERROR(visit(part));
    size_t d = rank;
    while (d > 0 && ++at[d - 1] == taps[d - 1].size()) at[--d] = 0;
    if (d == 0) return {};
  }
}

}  // namespace heddle::interpreter
