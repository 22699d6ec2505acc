// The calls that the rows of the reference table name.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "heddle/tests/random/reference.h"

namespace heddle::random_test {

using Sampler = std::function<Tensor(const Row&, Tensor key)>;

// Whose values are integers, bits, or floats made of bits alone.
const std::map<std::string, Sampler>& exact_samplers();
// Whose floats come of logarithms, roots and the like, which backends round differently.
const std::map<std::string, Sampler>& rounded_samplers();

// The rows of a table that these know.
std::vector<Row> rows_of(const std::map<std::string, Sampler>& samplers,
                         const std::string& table = "tests/random/reference.txt");
Literal sampled(const std::map<std::string, Sampler>& samplers, const Row& row);

}  // namespace heddle::random_test
