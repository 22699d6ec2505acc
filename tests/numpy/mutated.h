// Files that were damaged, the same ones in each run.
#pragma once

#include <algorithm>
#include <random>
#include <span>
#include <string>
#include <string_view>

namespace heddle::numpy_test {

// The file with some bytes changed, cut, doubled or moved, or with one of `words` put in.
inline std::string mutated(std::string bytes, std::span<const std::string_view> words,
                           std::mt19937& random) {
  const auto below = [&](size_t n) { return n == 0 ? size_t{0} : random() % n; };
  const int count = 1 + static_cast<int>(below(4));
  for (int i = 0; i < count; ++i) {
    const size_t at = below(bytes.size());
    switch (below(8)) {
      case 0: bytes.resize(at); break;
      case 1: bytes.insert(at, bytes.substr(at, below(40))); break;
      case 2: bytes.erase(at, below(20)); break;
      case 3:
        for (size_t k = at; k < std::min(bytes.size(), at + 8); ++k) bytes[k] = '\xff';
        break;
      case 4: bytes.insert(at, words[below(words.size())]); break;
      case 5:
        if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      default:
        if (!bytes.empty()) bytes[at] = static_cast<char>(below(256));
    }
  }
  return bytes;
}

}  // namespace heddle::numpy_test
