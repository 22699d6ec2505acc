// Hostile input: mutated corpus files give an error or a module, never a crash or a hang.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <random>

#include "heddle/hlo/text.h"
#include "heddle/hlo/wire.h"
#include "heddle/tools/conformance/run.h"

namespace heddle::conformance {
namespace {

constexpr int kMutations = 10000;   // of each form
constexpr size_t kLargest = 20000;  // bytes: small files, so that a mutation is likely to matter

std::vector<Case> small_cases() {
  std::vector<Case> out;
  const auto packs = find_packs({"tests/conformance/apps"});
  EXPECT_TRUE(packs.ok());
  for (const std::string& pack : *packs) {
    auto cases = read_pack(pack);
    EXPECT_TRUE(cases.ok());
    for (Case& item : *cases) {
      if (item.hlo_text.size() < kLargest) out.push_back(std::move(item));
    }
  }
  return out;
}

// One to four edits: a byte changed, a piece removed, repeated, or taken from another file.
std::string mutated(std::string text, const std::string& other, std::mt19937& random) {
  for (uint32_t edits = 1 + random() % 4; edits > 0 && !text.empty(); --edits) {
    const size_t at = random() % text.size();
    const size_t length = std::min<size_t>(1 + random() % 40, text.size() - at);
    switch (random() % 4) {
      case 0: text[at] = static_cast<char>(random()); break;
      case 1: text.erase(at, length); break;
      case 2: text.insert(at, text.substr(at, length)); break;
      default: text.insert(at, other.substr(random() % other.size(), length)); break;
    }
  }
  return text;
}

// Runs `read` on mutations of what `bytes_of` gives; each must end within a second (they take
// microseconds to milliseconds).
template <class BytesOf, class Read>
void survive(BytesOf bytes_of, Read read) {
  const std::vector<Case> cases = small_cases();
  ASSERT_GT(cases.size(), 100u);
  std::mt19937 random(20261121);
  int modules = 0;
  for (int i = 0; i < kMutations; ++i) {
    const Case& one = cases[random() % cases.size()];
    const std::string input =
        mutated(bytes_of(one), bytes_of(cases[random() % cases.size()]), random);
    const auto start = std::chrono::steady_clock::now();
    modules += read(input) ? 1 : 0;
    ASSERT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20))
        << one.name << ", mutation " << i;
  }
  EXPECT_GT(modules, 0) << "mutations should leave some modules whole";
  EXPECT_LT(modules, kMutations);
}

TEST(Mutations, TextGivesAnErrorOrAModule) {
  survive([](const Case& c) { return c.hlo_text; },
          [](const std::string& text) { return hlo::parse_text(text).ok(); });
}

TEST(Mutations, ProtoGivesAnErrorOrAModule) {
  survive([](const Case& c) { return c.module; },
          [](const std::string& bytes) { return hlo::from_proto(bytes).ok(); });
}

}  // namespace
}  // namespace heddle::conformance
