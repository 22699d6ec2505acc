// Safetensors files: named arrays in row-major order, whose header says in JSON what they are. The
// rules are those of the format's own reader. Files are hostile input.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/literal/literal.h"

namespace heddle::hlo {

// Words of its own, which a file has beside arrays.
using SafetensorsMetadata = std::map<std::string, std::string>;

// An array and what it is. F4 and F6 are packed several to a byte, which no dtype of ours is; such
// an array is there, and has no shape.
struct SafetensorsArray {
  std::string name;
  Shape shape;            // invalid: of a type that Heddle has not
  std::string_view type;  // "BF16"
  std::string_view bytes;
};

// What a file has, read without a copy. `bytes` must outlive it.
class SafetensorsFile {
 public:
  // errors: InvalidArgument for what is no such file: a header of more than 100 MB, or that is not
  // the JSON of one; a key that is there twice; arrays of another size than their type takes,
  // outside of the file, on each other's bytes or with holes between them
  static StatusOr<SafetensorsFile> open(std::string_view bytes);

  // In the order of their bytes.
  [[nodiscard]] const std::vector<SafetensorsArray>& arrays() const { return arrays_; }
  [[nodiscard]] const SafetensorsMetadata& metadata() const { return metadata_; }

  // The elements of arrays()[i]: a copy.
  // errors: InvalidArgument for a type that Heddle has not
  [[nodiscard]] StatusOr<Literal> read(size_t i) const;
  // Whether the bytes are as a Literal has them, so that they need no read(): its type is one of
  // ours, and truths are 0 and 1.
  [[nodiscard]] bool is_plain(size_t i) const;

 private:
  std::vector<SafetensorsArray> arrays_;
  SafetensorsMetadata metadata_;
};

struct SafetensorsType {
  std::string name;
  Shape shape;
};

// How a file begins, and which arrays follow: arrays[order[0]], arrays[order[1]], .., the bytes of
// each right behind those of the one before.
struct SafetensorsLayout {
  std::string header;
  std::vector<size_t> order;
};

// Arrays whose sizes are multiples of 64 bytes stand first, in the order given, so that each begins
// at such a multiple of the file, and its pages can be lent to a device; then the others, the
// widest elements first.
// errors: InvalidArgument for names that are there twice, are not UTF-8, or have control
// characters; for what is no array, or of a dtype that the format has not; for a header of more
// than 100 MB
StatusOr<SafetensorsLayout> lay_out_safetensors(std::span<const SafetensorsType> arrays,
                                                const SafetensorsMetadata& metadata);

}  // namespace heddle::hlo
