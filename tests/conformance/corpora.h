// Where the corpora lie, and which of their cases the evaluator is known to fail.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace heddle::conformance {

inline constexpr const char* kOwn = "tests/conformance/apps";
inline constexpr const char* kOwnSpmd = "tests/conformance/spmd";
inline constexpr const char* kShared = "../shared/conformance";

// The packs of those folders that are there.
std::vector<std::string> packs_of(const std::vector<std::string>& folders);
std::vector<std::string> all_packs();

// Of a test of one pack: apps_conds.
std::string test_name(const ::testing::TestParamInfo<std::string>& info);

// Cases whose expected value the evaluator does not give, with the cause: the rows
// "| `name` | cause |" of docs/conformance.md. One that passes after all must leave the table.
std::map<std::string, std::string> known_differences();

}  // namespace heddle::conformance
