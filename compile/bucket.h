// Bucket: the option of compile(fn, {.bucket = ..}) for arguments of many sizes. It pads arguments
// along axis 0 to one of a few sizes, so that fn is compiled only for these.
//
//   auto score = compile(fn, {.bucket = {.arguments = {1}}});
//   Tensor out = score(w, x);   // x: f32[11,4] is run as f32[16,4]; out: f32[11]
//
// fn must keep rows apart, or ask which of them are the caller's (trace/rows.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heddle/base/int.h"
#include "heddle/base/source_location.h"
#include "heddle/trace/run/compiled_program.h"
#include "heddle/trace/tensor.h"
#include "heddle/trace/tree.h"

namespace heddle {

struct Bucket {
  // The arguments with rows along axis 0, the same number in all: arguments by number, all leaves
  // of each, or parts by path, as for .donate. None: there are no buckets.
  DonatedParts arguments = {};
  // Rows are padded to the smallest size, its double, and so on up to the largest.
  std::optional<base::Int> smallest = {};  // unset: 8
  std::optional<base::Int> largest = {};  // unset: no limit; a call with more rows is an Error
  std::vector<int64_t> sizes = {};        // the sizes themselves, instead; ascending
  // The elements of the added rows, as numbers; or the caller's last row once more.
  double fill = 0;
  bool repeat_last = false;
  // fn may mix rows without a mask, since the padding is right for that: a sum over rows of zeros.
  // Otherwise that is an Error.
  bool may_mix_rows = false;
};

namespace compile_internal {

// The leaves of a call that have rows.
struct RowLeaves {
  std::vector<bool> have;  // by leaf
  std::vector<std::string> paths;
  size_t first = 0;
};

// The checked contents of a Bucket.
class Buckets {
 public:
  // `label`: the function's name in errors. errors: Error for invalid sizes
  Buckets(Bucket options, std::string label, SourceLocation at);

  [[nodiscard]] bool are_used() const { return !options_.arguments.empty(); }
  [[nodiscard]] const Bucket& options() const { return options_; }
  // errors: Error for an argument that does not exist, or that is donated too
  [[nodiscard]] RowLeaves leaves_of(const std::vector<TreeSpec>& structure,
                                    const std::vector<Donated>& donate) const;
  // How many rows these have. errors: Error naming the leaf that has none, or has another number
  [[nodiscard]] int64_t rows_of(const RowLeaves& rows, std::span<const Tensor> leaves) const;
  // The size for so many rows. errors: Error if they are more than the largest
  [[nodiscard]] int64_t size_for(int64_t rows) const;
  // Another size, near: what differs between the two follows the rows.
  [[nodiscard]] int64_t beside(int64_t size) const;

  // errors: Error if such a tensor cannot have the fill
  void check_fill(DType dtype, const std::string& path) const;
  // x with so many rows, and back. errors: Error of the run that should have made x
  [[nodiscard]] Tensor pad(const Tensor& x, int64_t rows, const std::string& path) const;
  [[nodiscard]] static Tensor cut(const Tensor& x, int64_t rows);

 private:
  Bucket options_;
  std::string label_;
};

// The type of x with so many rows.
Shape of_rows(const Shape& shape, int64_t rows);

}  // namespace compile_internal
}  // namespace heddle
