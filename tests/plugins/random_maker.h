// Maker: what makes random programs of the public functions: a pool of values of the program that
// is being traced, from which each step takes its operands and to which it adds its results. Every
// value has a bound and an error, so that two devices can be compared without guesses:
//
//   exact    integers, pred, and floats that are whole numbers small enough for every sum of them;
//            only these decide anything (comparisons, sorts, conversions to integers)
//   rough    floats that two devices may round otherwise, by `error` at most
//
// Some programs have NaN and infinities among their floats (`has_specials`). Bounds and errors then
// hold for the other numbers, and steps of which XLA leaves open what they make of these
// (conversions to integers, Fourier transforms, complex products ..) are left out.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/heddle.h"

namespace heddle::random_programs {

struct Value {
  Tensor tensor;
  double bound = 0;  // of floats and of the parts of complex numbers: none is larger
  double error = 0;  // absolute; 0: exact
  [[nodiscard]] DType dtype() const { return tensor.dtype(); }
  [[nodiscard]] const Dimensions& dims() const { return tensor.shape().dimensions(); }
  [[nodiscard]] int64_t rank() const { return tensor.rank(); }
  [[nodiscard]] bool exact() const { return error == 0; }
  [[nodiscard]] bool is_inexact_type() const {
    return is_floating(dtype()) || heddle::is_complex(dtype());
  }
};

// Thrown by a step that finds no operand; the step is left out.
struct NoOperand {};

// Numbers up to which whole floats of the type are kept, with room for sums of them.
double kept_bound(DType dtype);
// Numbers up to which all whole floats of the type exist.
double exact_bound(DType dtype);
double epsilon(DType dtype);

class Maker {
 public:
  using Wanted = std::function<bool(const Value&)>;
  static constexpr int64_t kMostElements = 300;

  Maker(std::mt19937_64& random, bool has_specials, std::vector<std::string>& refused,
        int depth = 0)
      : random_(random), has_specials_(has_specials), refused_(refused), depth_(depth) {}
  // Of a body in this one's program, with a pool of its own.
  [[nodiscard]] Maker inner() const { return {random_, has_specials_, refused_, depth_ + 1}; }

  // Numbers.
  std::mt19937_64& random() { return random_; }
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool one_in(int64_t n) { return below(n) == 0; }
  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[static_cast<size_t>(below(static_cast<int64_t>(all.size())))];
  }
  DType any_dtype();
  DType any_integer();
  Dimensions any_dims(int64_t most_axes = 3);
  int64_t axis_of(const Value& x) {  // of an x that has one
    if (x.rank() == 0) throw NoOperand();
    return below(x.rank());
  }
  std::vector<int64_t> permutation(int64_t n);

  // Operands: any value that is wanted, newer ones rather. errors: throws NoOperand
  Value pick(const Wanted& wanted);
  Value any() {
    return pick([](const Value&) { return true; });
  }
  Value exact() {
    return pick([](const Value& v) { return v.exact(); });
  }
  Value numeric() {
    return pick([](const Value& v) { return v.dtype() != pred; });
  }
  Value integer() {
    return pick([](const Value& v) { return is_integer(v.dtype()); });
  }
  Value floating() {
    return pick([](const Value& v) { return is_floating(v.dtype()); });
  }
  Value with_axes() {
    return pick([](const Value& v) { return v.rank() > 0; });
  }
  // Another of the dtype, exact where x is; x itself at the worst.
  Value like(const Value& x);
  // Another that broadcasts with x, or is made to.
  Value partner(const Value& x);
  // The same elements, repeated or left out, in another shape; likewise in another dtype.
  Value fit(const Value& x, const Dimensions& dims);
  Value cast(const Value& x, DType dtype);
  Value exact_of(DType dtype, const Dimensions& dims);
  // s32[] or another integer scalar; now and then outside of any axis.
  Tensor position(int64_t size);
  // pred of the shape, or pred[].
  Tensor choice(const Dimensions& dims);
  double number(DType dtype);  // a small whole number that the dtype has

  // Results. `bound` and `error` count for floats; what is too large is clamped.
  void add(const Tensor& tensor, double bound = 0, double error = 0);
  void add(const Value& value) { add(value.tensor, value.bound, value.error); }
  // Of ops that move elements.
  void moved(const Value& from, const Tensor& tensor) { add(tensor, from.bound, from.error); }

  [[nodiscard]] int depth() const { return depth_; }
  [[nodiscard]] bool has_specials() const { return has_specials_; }
  void need_finite() const {
    if (has_specials_) throw NoOperand();
  }
  void note_refused(std::string_view step, const Error& error) {
    refused_.push_back(base::cat(step, ": ", error.what()));
  }
  std::vector<Value> pool;
  std::vector<Tensor> loose;  // results of which nothing is known: compared, and no more used

 private:
  std::mt19937_64& random_;
  bool has_specials_;
  std::vector<std::string>& refused_;
  int depth_;
};

struct Step {
  std::string_view name;
  std::function<void(Maker&)> run;
  int weight = 1;
};
std::vector<Step> elementwise_steps();
std::vector<Step> movement_steps();
std::vector<Step> indexing_steps();
std::vector<Step> reduction_steps();
std::vector<Step> control_steps();
std::vector<Step> catalogue_steps();  // of linalg/, nn/, special/, random/: from tests/laws

// Runs so many steps on the maker's pool. Steps that find no operand are left out, and calls that
// the library refuses, which are noted.
void run_steps(Maker& maker, int64_t count);

}  // namespace heddle::random_programs
