#include "heddle/base/hash.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace heddle::base {
namespace {

Hash128 hash_of_words(const std::vector<uint64_t>& words) {
  Hasher hasher;
  for (const uint64_t word : words) hasher.add_word(word);
  return hasher.digest();
}

// Files on disk are named by it.
TEST(Hash, IsTheSameInEveryProcess) {
  EXPECT_EQ(to_string(hash_of_words({})), "99aa06d3014798d86001c324468d497f");  // XXH3's of nothing
  Hasher hasher;
  hash_value(hasher, std::string("heddle"));
  hash_value(hasher, 3.5);
  EXPECT_EQ(to_string(hasher.digest()), "94bb4c52f71f3f04ca632c30a1640c68");
}

// Words are folded now and then; each of them counts, and so do their order and their number.
TEST(Hash, OfWordsTellsThemApart) {
  std::vector<uint64_t> words(100);
  std::set<Hash128> seen;
  for (size_t i = 0; i < words.size(); ++i) {
    words[i] = 1;
    seen.insert(hash_of_words(words));
    words[i] = 0;
    seen.insert(hash_of_words(std::vector<uint64_t>(i)));
  }
  EXPECT_EQ(seen.size(), 200u);
}

TEST(Hash, OfBytesTellsThemApart) {
  std::string bytes(1000, 'x');
  std::set<Hash128> seen;
  const auto add = [&](size_t size) {
    Hasher hasher;
    hasher.add_bytes(bytes.data(), size);
    seen.insert(hasher.digest());
  };
  for (size_t i = 0; i < bytes.size(); ++i) {
    add(i);
    bytes[i] = 'y';
    add(bytes.size());
    bytes[i] = 'x';
  }
  EXPECT_EQ(seen.size(), 2000u);
}

}  // namespace
}  // namespace heddle::base
