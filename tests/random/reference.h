// The table that tests/random/make_reference.py writes from jax.random.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/heddle.h"

namespace heddle::random_test {

struct Row {
  std::string function;
  DType dtype;
  Dimensions shape;
  random::Options options;
  int64_t seed;
  std::vector<uint64_t> bits;  // of the elements
};

// errors: fails the running test where the file cannot be read
std::vector<Row> read_reference(const std::string& path);

// "normal f32[2,3] seed 7, not partitionable".
std::string describe(const Row& row);

// The elements' bits.
std::vector<uint64_t> bits_of(const Literal& literal);
// Largest distance to the row's floats, in ulps of the greater of |expected| and 1 (what is near 0
// comes from cancelling); infinite for another count of elements.
double distance(const Literal& got, const Row& row);

}  // namespace heddle::random_test
