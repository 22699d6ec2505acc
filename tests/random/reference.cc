#include "heddle/tests/random/reference.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "heddle/hlo/literal.h"

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
  return cat(row.function, " ", to_string(Shape(row.dtype, row.shape)), " seed ", row.seed,
             row.options.partitionable ? "" : ", not partitionable");
}

std::vector<uint64_t> bits_of(const Literal& literal) {
  auto width = static_cast<size_t>(storage_bytes(literal.shape().dtype()));
  std::vector<uint64_t> out(static_cast<size_t>(literal.element_count()));
  for (size_t i = 0; i < out.size(); ++i) std::memcpy(&out[i], literal.bytes() + i * width, width);
  return out;
}

std::vector<double> floats_of(const std::vector<uint64_t>& bits, DType dtype) {
  Literal literal(Shape(dtype, {static_cast<int64_t>(bits.size())}));
  auto width = static_cast<size_t>(storage_bytes(dtype));
  std::vector<double> out;
  for (size_t i = 0; i < bits.size(); ++i)
    std::memcpy(literal.mutable_bytes() + i * width, &bits[i], width);
  for (size_t i = 0; i < bits.size(); ++i)
    out.push_back(literal.to_double(static_cast<int64_t>(i)));
  return out;
}

}  // namespace heddle::random_test
