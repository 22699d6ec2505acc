// NumPy's .npz files: named arrays in a zip archive, stored or deflated. Files are hostile input.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/base/status.h"
#include "heddle/hlo/literal/literal.h"

namespace heddle::hlo {

// The arrays of an archive, read one by one. `bytes` must outlive it.
class NpzReader {
 public:
  // errors: InvalidArgument for what is no archive, names that are there twice, and entries that
  // are no .npy files
  static StatusOr<NpzReader> open(std::string_view bytes);

  // Names, without the ".npy" of their files, in the order of the archive.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  // The array of names()[i]. errors: as read_npy(); InvalidArgument for bytes that are damaged
  [[nodiscard]] StatusOr<Literal> read(size_t i, std::optional<DType> dtype = {}) const;

 private:
  struct Place {
    uint64_t size = 0;
    std::string_view stored;
    bool is_deflated = false;
    uint32_t crc = 0;
  };
  std::vector<std::string> names_;
  std::vector<Place> places_;
};

struct NamedLiteral {
  std::string name;
  Literal value;
};

// Hands an archive to `sink` piece by piece, deflated where `compress` says so.
// errors: InvalidArgument for names that are there twice, and for what write_npy() refuses; the
// sink's
Status write_npz(std::span<const NamedLiteral> arrays, bool compress,
                 base::FunctionRef<Status(std::string_view)> sink);

}  // namespace heddle::hlo
