#include "heddle/tests/random/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "heddle/hlo/literal/literal.h"

namespace heddle::random_test {
namespace {

std::vector<std::string> pieces_of(const std::string& text, char separator) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string piece; std::getline(in, piece, separator);) out.push_back(piece);
  return out;
}

}  // namespace

std::vector<Row> read_reference(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << "cannot read " << path << "; run from the project's root";
  std::vector<Row> rows;
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> fields = pieces_of(line, ';');
    EXPECT_GE(fields.size(), 5u) << line;
    if (fields.size() < 5) continue;
    fields.resize(6);
    Row row{.function = fields[0],
            .dtype = *parse_dtype(fields[1]),
            .shape = {},
            .options = {.partitionable = fields[3] == "1"},
            .seed = std::stoll(fields[4]),
            .bits = {}};
    for (const std::string& size : pieces_of(fields[2], ',')) row.shape.push_back(std::stoll(size));
    for (const std::string& bits : pieces_of(fields[5], ' '))
      row.bits.push_back(std::stoull(bits, nullptr, 16));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string describe(const Row& row) {
  return base::cat(row.function, " ", to_string(Shape(row.dtype, row.shape)), " seed ", row.seed,
                   row.options.partitionable ? "" : ", not partitionable");
}

std::vector<uint64_t> bits_of(const Literal& literal) {
  auto width = static_cast<size_t>(storage_bytes(literal.shape().dtype()));
  std::vector<uint64_t> out(static_cast<size_t>(literal.element_count()));
  for (size_t i = 0; i < out.size(); ++i) std::memcpy(&out[i], literal.bytes() + i * width, width);
  return out;
}

double distance(const Literal& got, const Row& row) {
  if (got.element_count() != static_cast<int64_t>(row.bits.size())) return INFINITY;
  Literal want(Shape(row.dtype, {got.element_count()}));
  const auto width = static_cast<size_t>(storage_bytes(row.dtype));
  for (size_t i = 0; i < row.bits.size(); ++i)
    std::memcpy(want.mutable_bytes() + i * width, &row.bits[i], width);
  double worst = 0;
  for (int64_t i = 0; i < want.element_count(); ++i) {
    const double expected = want.to_double(i), value = got.to_double(i);
    if (value == expected) continue;
    double size = std::max(1.0, std::abs(expected));
    double ulp = std::ldexp(float_limits(row.dtype).epsilon, std::ilogb(size));
    double ulps = std::abs(value - expected) / ulp;
    worst = std::isnan(ulps) ? INFINITY : std::max(worst, ulps);
  }
  return worst;
}

}  // namespace heddle::random_test
