// Reshapes of what is computed of arrays, broadcasts and repeated elements, under ops and sums.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "heddle/base/text/strings.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;
using base::join;
using Sizes = std::vector<int64_t>;

// Ops on arrays of a few dimensions at random, of which a reshape splits each one or joins all; it
// is added to an array of its sizes, or folded, and what is left is folded again. The first
// dimension may be long.
class ReshapeWriter {
 public:
  explicit ReshapeWriter(uint64_t seed) : random_(seed) {
    static constexpr const char* kTypes[] = {"f32", "f64", "s32", "u8"};
    type_ = kTypes[below(4)];
    const bool has_many_rows = below(2) == 0;
    for (int64_t d = 1 + below(3); d > 0; --d) {
      Sizes parts;
      int64_t size = 1;
      const int64_t most = d == 1 ? 9 : has_many_rows && whole_.empty() ? 40 : 4;
      for (int64_t i = 1 + below(3); i > 0; --i) parts.push_back(1 + below(most));
      for (const int64_t part : parts) size *= part;
      whole_.push_back(size);
      all_.insert(all_.end(), parts.begin(), parts.end());
    }
  }

  std::string text() {
    lines_ = cat(" n = ", type({}), " constant(3)\n zero = ", type({}), " constant(0)\n");
    const std::string tree = whole_tree(1 + below(3));
    Sizes sizes = all_;
    if (below(4) == 0) sizes = {elements(all_)};
    std::string value = tree;
    if (below(3) == 0) {
      sizes = whole_;
    } else {
      value = line(sizes, cat("reshape(", tree, ")"));
    }
    if (below(3) > 0) value = line(sizes, cat("add(", value, ", ", parameter(sizes), ")"));
    for (int64_t folds = below(3); folds > 0 && !sizes.empty(); --folds) {
      Sizes dims, left;
      for (size_t d = 0; d < sizes.size(); ++d)
        below(2) == 0 ? dims.push_back(static_cast<int64_t>(d)) : left.push_back(sizes[d]);
      value = line(
          left, cat("reduce(", value, ", zero), dimensions={", join(dims, ","), "}, to_apply=f"));
      sizes = left;
      if (below(2) == 0) continue;
      sizes = {elements(sizes)};
      value = line(sizes, cat("reshape(", value, ")"));
    }
    const std::string t = type({});
    return cat("HloModule m\nf { a = ", t, " parameter(0)\n b = ", t,
               " parameter(1)\n ROOT c = ", t, " add(a, b) }\nENTRY main {\n", lines_,
               " ROOT r = ", type(sizes), " negate(", value, ")\n}\n");
  }

 private:
  std::string whole_tree(int64_t depth) {
    if (depth == 0) return leaf();
    const std::string a = whole_tree(depth - 1), b = below(4) == 0 ? a : whole_tree(depth - 1);
    static constexpr const char* kOps[] = {"add(", "subtract(", "maximum("};
    return line(whole_, cat(kOps[below(3)], a, ", ", b, ")"));
  }
  std::string leaf() {
    switch (below(4)) {
      case 0: return parameter(whole_);
      case 1: return line(whole_, "broadcast(n), dimensions={}");
      case 2: return spread(whole_);
      default: return line(whole_, cat("reshape(", spread(all_), ")"));
    }
  }
  // A parameter of some of the dimensions.
  std::string spread(const Sizes& sizes) {
    Sizes dims, own;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (below(2) == 0) continue;
      dims.push_back(static_cast<int64_t>(d));
      own.push_back(sizes[d]);
    }
    return line(sizes, cat("broadcast(", parameter(own), "), dimensions={", join(dims, ","), "}"));
  }
  std::string parameter(const Sizes& sizes) {
    return line(sizes, cat("parameter(", parameters_++, ")"));
  }
  std::string line(const Sizes& sizes, const std::string& op) {
    const std::string name = cat("v", values_++);
    lines_ += cat(" ", name, " = ", type(sizes), " ", op, "\n");
    return name;
  }
  std::string type(const Sizes& sizes) const { return cat(type_, "[", join(sizes, ","), "]"); }
  static int64_t elements(const Sizes& sizes) {
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    return count;
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  std::mt19937_64 random_;
  std::string type_, lines_;
  Sizes whole_, all_;
  int64_t parameters_ = 0, values_ = 0;
};

TEST(CpuEarlyReshapes, OfRandomOpsGiveWhatTheEvaluatorGives) {
  const auto [first, last] = random_numbers(300);
  for (uint64_t seed = first; seed < last; ++seed) {
    const std::string text = ReshapeWriter(seed).text();
    SCOPED_TRACE(text);
    expect_as_evaluated(text);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace heddle::cpu
