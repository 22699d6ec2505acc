// What make_reference.py and make_safetensors.py wrote.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/hlo/literal/literal.h"

namespace heddle::numpy_test {

inline std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << "cannot read " << path << "; run from the project's root";
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

inline std::vector<std::string> split(std::string_view text, std::string_view separator) {
  std::vector<std::string> out;
  while (true) {
    const size_t at = text.find(separator);
    out.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + separator.size());
  }
}

inline std::string bytes_of(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    out.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return out;
}

inline Shape shape_of(std::string_view dtype, std::string_view sizes) {
  std::vector<int64_t> dimensions;
  if (!sizes.empty()) {
    for (const std::string& size : split(sizes, ",")) dimensions.push_back(std::stoll(size));
  }
  return Shape(*parse_dtype(dtype), dimensions);
}

// Zeros where there is no hex.
inline Literal literal_of(const Shape& shape, std::string_view hex) {
  Literal out(shape);
  const std::string bytes = bytes_of(hex);
  if (hex.empty()) return out;
  EXPECT_EQ(static_cast<int64_t>(bytes.size()), out.byte_size());
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(out.mutable_bytes()));
  return out;
}

// A file that another package wrote, and the array in it.
struct File {
  std::string name;
  Literal array;
  std::string bytes;
};
// Of lines "name;dtype;sizes;the array's bytes;the file's bytes".
inline std::vector<File> files_of(const std::string& path) {
  std::vector<File> out;
  for (const std::string& line : lines_of(path)) {
    const std::vector<std::string> f = split(line, ";");
    out.push_back({f[0], literal_of(shape_of(f[1], f[2]), f[3]), bytes_of(f[4])});
  }
  return out;
}

}  // namespace heddle::numpy_test
