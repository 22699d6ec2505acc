// The rows of a function that is compiled with {.bucket = ..} (compile/compile.h), which is run on
// more rows than it was called with. What goes over rows, as a mean does, asks here which of them
// are the caller's:
//
//   Tensor loss(const Tensor& x) {  // x: f32[rows, 4]
//     Tensor total = sum(where(row_mask(x), square(x), 0));
//     return total / valid_rows(x).astype(f32);
//   }
//
// Anywhere else all rows are the caller's, so that the same function runs everywhere.
//
// errors: all throw Error (InvalidArgument) for a tensor without rows, and in a function with a
// bucket for one of another number of rows
#pragma once

#include <cstdint>
#include <string>

#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// How many rows of x the caller gave, as an s32.
Tensor valid_rows(Operand x);
// pred[rows,1,..], of the rank of x: true in the rows that the caller gave.
Tensor row_mask(Operand x);

namespace trace_internal {

// While a function is traced whose arguments are padded to `rows` rows. Of this thread.
class RowScope {
 public:
  // `valid`: a parameter of the running trace, s32[]
  RowScope(int64_t rows, Tensor valid);
  ~RowScope();
  RowScope(const RowScope&) = delete;
  RowScope& operator=(const RowScope&) = delete;

  [[nodiscard]] int64_t rows() const { return rows_; }
  // Notes that the function knows of its padding.
  [[nodiscard]] const Tensor& ask() {
    was_asked_ = true;
    return valid_;
  }
  [[nodiscard]] bool was_asked() const { return was_asked_; }
  // Null outside.
  static RowScope* current();
  // What is traced here is never found from elsewhere: it may have the number of this call's rows.
  static void append(std::string& surroundings);

 private:
  int64_t rows_;
  Tensor valid_;
  uint64_t serial_;
  bool was_asked_ = false;
  RowScope* outer_;
};

}  // namespace trace_internal
}  // namespace heddle
