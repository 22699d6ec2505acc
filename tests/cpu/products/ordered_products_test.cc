// Products of arrays whose dimensions lie in any order, large enough to be put in order first.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;
using base::join;

// A product of two arrays, transposed.
class Writer {
 public:
  explicit Writer(uint64_t seed) : random_(seed) {}

  std::string text() {
    const std::vector<int64_t> batch = sizes(below(3), 6), rows = sizes(1 + below(2), 40),
                               columns = sizes(1 + below(2), 40),
                               contracted = sizes(1 + below(3), 40);
    const auto [lhs, lhs_dims] = operand("x", batch, rows, contracted, "lhs");
    const auto [rhs, rhs_dims] = operand("y", batch, columns, contracted, "rhs");
    std::vector<int64_t> result = batch;
    result.insert(result.end(), rows.begin(), rows.end());
    result.insert(result.end(), columns.begin(), columns.end());
    const std::vector<int64_t> order = permutation(result.size());
    std::vector<int64_t> turned;
    for (const int64_t d : order) turned.push_back(result[static_cast<size_t>(d)]);
    return cat("HloModule m\nENTRY main {\n", lhs, " parameter(0)\n", rhs,
               " parameter(1)\n p = f32[", join(result, ","), "] dot(x, y), ", lhs_dims, ", ",
               rhs_dims, "\n ROOT r = f32[", join(turned, ","), "] transpose(p), dimensions={",
               join(order, ","), "}\n}\n");
  }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  // Sizes whose product is about `all`.
  std::vector<int64_t> sizes(int64_t count, int64_t all) {
    std::vector<int64_t> out;
    for (; count > 0; --count) {
      out.push_back(count == 1 ? all : below(3) == 0 ? 1 : 2 + below(6));
      all = (all + out.back() - 1) / out.back();
    }
    return out;
  }
  std::vector<int64_t> permutation(size_t count) {
    std::vector<int64_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random_);
    return order;
  }
  // The declaration without its opcode, and the dimensions in the product's words.
  std::pair<std::string, std::string> operand(const std::string& name,
                                              const std::vector<int64_t>& batch,
                                              const std::vector<int64_t>& free,
                                              const std::vector<int64_t>& contracted,
                                              const std::string& side) {
    std::vector<int64_t> own = batch;
    own.insert(own.end(), contracted.begin(), contracted.end());
    own.insert(own.end(), free.begin(), free.end());
    std::vector<int64_t> order = permutation(own.size());
    // Free dimensions keep their order: the product has them in that of the operand.
    std::vector<size_t> places;
    for (size_t d = 0; d < order.size(); ++d)
      if (order[d] >= std::ssize(own) - std::ssize(free)) places.push_back(d);
    for (size_t i = 0; i < places.size(); ++i)
      order[places[i]] = std::ssize(own) - std::ssize(free) + static_cast<int64_t>(i);
    std::vector<int64_t> lies, where(own.size());
    for (size_t d = 0; d < order.size(); ++d) {
      lies.push_back(own[static_cast<size_t>(order[d])]);
      where[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
    }
    const auto batch_end = where.begin() + std::ssize(batch);
    const std::vector<int64_t> batch_dims(where.begin(), batch_end),
        contracting(batch_end, batch_end + std::ssize(contracted));
    return {cat(" ", name, " = f32[", join(lies, ","), "]"),
            cat(side, "_batch_dims={", join(batch_dims, ","), "}, ", side, "_contracting_dims={",
                join(contracting, ","), "}")};
  }

  std::mt19937_64 random_;
};

TEST(CpuOrderedProducts, GiveWhatTheEvaluatorGives) {
  const auto [first, last] = random_numbers(100);
  for (uint64_t seed = first; seed < last; ++seed) {
    const std::string text = Writer(seed).text();
    SCOPED_TRACE(text);
    expect_as_evaluated(text, {.any_zero = true});
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace heddle::cpu
