#include "heddle/base/text/near_name.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace heddle::base {
namespace {

size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, row(b.size() + 1), next(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    next[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      next[j + 1] = std::min({row[j] + (a[i] != b[j]), row[j + 1] + 1, next[j] + 1});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j])
        next[j + 1] = std::min(next[j + 1], before[j - 1] + 1);
    }
    before = std::exchange(row, next);
  }
  return row[b.size()];
}

}  // namespace

std::string_view near_name(std::string_view name, std::span<const std::string_view> known,
                           size_t shared) {
  constexpr size_t kMostLetters = 100;
  std::string_view nearest;
  if (name.size() > kMostLetters) return nearest;
  size_t least = 1 + std::clamp<size_t>((name.size() - std::min(shared, name.size())) / 3, 1, 4);
  for (std::string_view each : known) {
    const size_t apart = distance(name, each);
    if (apart < least) least = apart, nearest = each;
  }
  return nearest;
}

}  // namespace heddle::base
