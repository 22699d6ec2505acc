// Gathers by indices that are known, as slices.
#include "heddle/cpu/rewrites/indexing/sliced_gathers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

bool is_sliced(const std::string& text) {
  const hlo::Module now = slice_gathers(hlo::parse_text(text).value()).value();
  return std::ranges::none_of(now.computations, [](const hlo::Computation& computation) {
    return std::ranges::any_of(computation.instructions, [](const hlo::Instruction& i) {
      return i.opcode == hlo::Opcode::kGather;
    });
  });
}

// x[at] along the last dimension of x: f32[3,n], for `at` computed by `lines` from i: s32[n].
std::string at_each(int n, const std::string& lines) {
  const std::string line = cat("s32[", n, "]"), all = cat("f32[3,", n, "]");
  const auto number = [&](const std::string& name, int value) {
    return cat("  ", name, "0 = s32[] constant(", value, ")\n  ", name, " = ", line, " broadcast(",
               name, "0), dimensions={}\n");
  };
  return cat("HloModule m\nENTRY main {\n  x = ", all, " parameter(0)\n  i = ", line,
             " iota(), iota_dimension=0\n", number("zero", 0), number("one", 1), number("n", n),
             number("last", n - 1), lines, "  ROOT y = ", all,
             " gather(x, at), offset_dims={0}, collapsed_slice_dims={1}, start_index_map={1}, "
             "index_vector_dim=1, slice_sizes={3,1} }");
}

TEST(SlicedGathers, OfNeighbours) {
  for (const int n : {1, 2, 9, 100}) {
    const auto line = [&](const std::string& op) { return cat("s32[", n, "] ", op, "\n"); };
    const std::string next = "  t = " + line("add(i, one)"),
                      before = "  t = " + line("subtract(i, one)");
    for (const std::string& lines :
         {next + "  at = " + line("remainder(t, n)"),
          next + "  at = " + line("clamp(zero, t, last)"),
          before + "  at = " + line("maximum(t, zero)"), before + "  at = " + line("abs(t)"),
          // They count from the end, and a gather moves them into the array.
          cat(before, "  b = pred[", n, "] compare(t, zero), direction=LT\n  u = ",
              line("add(t, n)"), "  at = ", line("select(b, u, t)")),
          next + "  at = " + line("copy(t)"), "  at = " + line("subtract(last, i)")}) {
      const std::string text = at_each(n, lines);
      EXPECT_TRUE(is_sliced(text)) << text;
      expect_as_evaluated(text);
    }
  }
  // No few runs.
  const std::string scattered =
      at_each(100, "  s = s32[100] multiply(i, i)\n  at = s32[100] remainder(s, n)\n");
  EXPECT_FALSE(is_sliced(scattered));
  expect_as_evaluated(scattered);
}

// The indices of a loop's body that come from before it.
TEST(SlicedGathers, InLoops) {
  const std::string text = R"(HloModule m
body { s = (s32[], f32[40], s32[40]) parameter(0)
  k = s32[] get-tuple-element(s), index=0
  x = f32[40] get-tuple-element(s), index=1
  at = s32[40] get-tuple-element(s), index=2
  one = s32[] constant(1)
  k1 = s32[] add(k, one)
  y = f32[40] gather(x, at), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}
  z = f32[40] subtract(x, y)
  ROOT t = (s32[], f32[40], s32[40]) tuple(k1, z, HANDED) }
more { s = (s32[], f32[40], s32[40]) parameter(0)
  k = s32[] get-tuple-element(s), index=0
  five = s32[] constant(5)
  ROOT lt = pred[] compare(k, five), direction=LT }
ENTRY main { x = f32[40] parameter(0)
  zero = s32[] constant(0)
  i = s32[40] iota(), iota_dimension=0
  one = s32[] constant(1)
  ones = s32[40] broadcast(one), dimensions={}
  j = s32[40] add(i, ones)
  n = s32[] constant(40)
  ns = s32[40] broadcast(n), dimensions={}
  at = s32[40] remainder(j, ns)
  t = (s32[], f32[40], s32[40]) tuple(zero, x, at)
  w = (s32[], f32[40], s32[40]) while(t), condition=more, body=body
  ROOT r = f32[40] get-tuple-element(w), index=1 })";
  const auto with = [&](const std::string& handed) {
    std::string out = text;
    return out.replace(out.find("HANDED"), 6, handed);
  };
  EXPECT_TRUE(is_sliced(with("at")));
  expect_as_evaluated(with("at"));
  // They are others in the next turn.
  std::string other = with("next");
  other.insert(other.find("  ROOT t = (s32[], f32[40]"),
               "  next = s32[40] reverse(at), dimensions={0}\n");
  EXPECT_FALSE(is_sliced(other));
  expect_as_evaluated(other);
}

TEST(SlicedGathers, OfGreatNumbersAndOfLongChains) {
  expect_as_evaluated(R"(HloModule m
ENTRY main { x = f32[5] parameter(0)
  i = u64[3] iota(), iota_dimension=0
  two = u64[] constant(2)
  twos = u64[3] broadcast(two), dimensions={}
  j = u64[3] subtract(i, twos)
  ROOT y = f32[3] gather(x, j), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1} })");
  std::string lines = "  i0 = s32[3] iota(), iota_dimension=0\n";
  constexpr int kLinks = 20'000;
  for (int k = 1; k < kLinks; ++k) lines += cat("  i", k, " = s32[3] negate(i", k - 1, ")\n");
  const std::string text = cat("HloModule m\nENTRY main { x = f32[5] parameter(0)\n", lines,
                               "  ROOT y = f32[3] gather(x, i", kLinks - 1,
                               "), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, "
                               "index_vector_dim=1, slice_sizes={1} }");
  EXPECT_TRUE(slice_gathers(hlo::parse_text(text).value()).ok());
}

TEST(SlicedGathers, OfEmptySlicesAreZeros) {
  expect_as_evaluated(R"(HloModule m
ENTRY main { x = f32[5,0,5,1] parameter(0)
  i = u32[1] parameter(1)
  ROOT y = f32[2] gather(x, i), offset_dims={0}, collapsed_slice_dims={0,1,3}, start_index_map={3}, index_vector_dim=0, slice_sizes={1,0,2,1} })");
  expect_as_evaluated(R"(HloModule m
ENTRY main { x = f64[1,1,4,1] parameter(0)
  i = s32[3,1] parameter(1)
  ROOT y = f64[3] gather(x, i), offset_dims={}, collapsed_slice_dims={0,1,2,3}, start_index_map={2}, index_vector_dim=1, slice_sizes={0,1,1,1} })");
}

// A gather of any dimensions, whose indices are sums of multiples of their places, which are
// clipped, wrapped around or neither.
class GatherWriter {
 public:
  explicit GatherWriter(uint64_t seed) : random_(seed) {}

  std::string text() {
    const int64_t rank = 1 + below(3);
    for (int64_t d = 0; d < rank; ++d) sizes_.push_back(1 + below(9));
    std::vector<int64_t> batch;
    for (int64_t b = 1 + below(3); b > 0; --b) batch.push_back(1 + below(6));
    std::string lines, parts, map, collapsed, slices, offsets;
    std::vector<int64_t> windows;
    int64_t count = 0;
    const std::string one = cat("[", base::join(batch, ","), ",1]");
    for (int64_t d = 0; d < rank; ++d) {
      const bool is_indexed = below(4) > 0 || (count == 0 && d + 1 == rank);
      int64_t slice = is_indexed && below(3) > 0 ? 1 : 1 + below(sizes_[static_cast<size_t>(d)]);
      if (!is_indexed) slice = sizes_[static_cast<size_t>(d)];
      slices += cat(d == 0 ? "" : ",", slice);
      if (is_indexed) {
        lines += part(count, one, batch.size(), sizes_[static_cast<size_t>(d)]);
        parts += cat(count == 0 ? "" : ", ", "p", count);
        map += cat(count == 0 ? "" : ",", d);
        ++count;
      }
      if (slice == 1 && below(2) == 0)
        collapsed += cat(collapsed.empty() ? "" : ",", d);
      else
        windows.push_back(slice);
    }
    // Where the result has the windows.
    std::vector<int64_t> places(batch.size() + windows.size());
    for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int64_t>(i);
    std::ranges::shuffle(places, random_);
    places.resize(windows.size());
    std::ranges::sort(places);
    std::vector<int64_t> result;
    for (size_t i = 0, b = 0, w = 0; i < batch.size() + windows.size(); ++i) {
      const bool is_window = std::ranges::count(places, static_cast<int64_t>(i)) > 0;
      result.push_back(is_window ? windows[w++] : batch[b++]);
    }
    return cat("HloModule m\nENTRY main {\n  x = f32[", base::join(sizes_, ","), "] parameter(0)\n",
               lines, "  at = s32[", base::join(batch, ","), ",", count, "] concatenate(", parts,
               "), dimensions={", batch.size(), "}\n  ROOT y = f32[", base::join(result, ","),
               "] gather(x, at), offset_dims={", base::join(places, ","),
               "}, collapsed_slice_dims={", collapsed, "}, start_index_map={", map,
               "}, index_vector_dim=", batch.size(), ", slice_sizes={", slices, "} }\n");
  }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  std::string part(int64_t k, const std::string& sizes, size_t dimensions, int64_t n) {
    int64_t names = 0;
    std::string lines;
    const auto name = [&] { return cat("p", k, "_", names++); };
    const auto line = [&](const std::string& op) {
      const std::string now = name();
      lines += cat("  ", now, " = s32", sizes, " ", op, "\n");
      return now;
    };
    const auto number = [&](int64_t value) {
      const std::string scalar = name();
      lines += cat("  ", scalar, " = s32[] constant(", value, ")\n");
      return line(cat("broadcast(", scalar, "), dimensions={}"));
    };
    std::string sum = number(below(5) - 1);
    for (size_t b = 0; b < dimensions; ++b) {
      if (below(2) == 0) continue;
      const std::string i = line(cat("iota(), iota_dimension=", b));
      const std::string step = number(below(5) - 2);
      const std::string by = line(cat("multiply(", i, ", ", step, ")"));
      sum = line(cat("add(", sum, ", ", by, ")"));
    }
    const int64_t how = below(4);
    if (how == 1) sum = line(cat("remainder(", sum, ", ", number(n), ")"));
    if (how == 2) sum = line(cat("clamp(", number(0), ", ", sum, ", ", number(n - 1), ")"));
    if (how == 3) sum = line(cat("abs(", sum, ")"));
    lines += cat("  p", k, " = s32", sizes, " copy(", sum, ")\n");
    return lines;
  }

  std::mt19937_64 random_;
  std::vector<int64_t> sizes_;
};

TEST(SlicedGathers, OfAnyDimensions) {
  int sliced = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const std::string text = GatherWriter(seed).text();
    sliced += is_sliced(text) ? 1 : 0;
    expect_as_evaluated(text);
  }
  EXPECT_GT(sliced, 30);
}

}  // namespace
}  // namespace heddle::cpu
