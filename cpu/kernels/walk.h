// An odometer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::cpu {

// The positions of a list of sizes, row-major.
class Walk {
 public:
  explicit Walk(const std::vector<int64_t>& sizes) : sizes_(sizes), at_(sizes.size()) {}
  [[nodiscard]] int64_t operator[](size_t d) const { return at_[d]; }
  void next() { step(at_.size()); }
  void next_line() { step(at_.size() - 1); }  // leaves the last one as it is

 private:
  void step(size_t dimensions) {
    for (size_t d = dimensions; d-- > 0;) {
      if (++at_[d] < sizes_[d]) return;
      at_[d] = 0;
    }
  }
  const std::vector<int64_t>& sizes_;
  std::vector<int64_t> at_;
};

}  // namespace heddle::cpu
