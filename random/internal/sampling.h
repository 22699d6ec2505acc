// The samples that others are made of, and what all distributions check first.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "heddle/base/function_ref.h"
#include "heddle/numpy/float_limits.h"
#include "heddle/random/internal/threefry.h"

namespace heddle::random::random_internal {

// A sample as asked for: which words, how many, of what.
struct Request {
  Words words;
  Dimensions shape;
  DType dtype;
  Options options;

  [[nodiscard]] Request of(Words other) const { return {std::move(other), shape, dtype, options}; }
  [[nodiscard]] Request of(Words other, Dimensions sizes) const {
    return {std::move(other), std::move(sizes), dtype, options};
  }
  [[nodiscard]] std::vector<Words> split(int64_t count) const {
    return split_each(words, count, options);
  }
};

// In [0, 1), in steps of the dtype's epsilon; between two numbers or tensors, low included.
Expr uniform_of(const Request& r);
Expr uniform_of(const Request& r, const Expr& low, const Expr& high);
Expr uniform_of(const Request& r, double low, double high);
Expr normal_of(const Request& r);
Expr exponential_of(const Request& r);
Expr gumbel_of(const Request& r);
// pred: true with probability p, a tensor that broadcasts to the shape; its dtype is drawn in.
Expr bernoulli_of(const Request& r, const Expr& p);
Expr rademacher_of(const Request& r);

// Samples without parameters. errors: Error where the key is none, a size is negative, or the dtype
// is no IEEE float
Tensor sample(std::string_view op, const Operand& key, const Dimensions& shape, DType dtype,
              const Options& options, base::FunctionRef<Expr(const Request&)> fn);

// Where the C++ numbers among the parameters, which are known before anything runs, must lie.
enum class Domain : uint8_t { kAny, kNotNegative, kPositive, kProbability, kPositiveProbability };
// errors: throws Error where x is a C++ number outside of the domain; NaN is in all
void require_in(Domain domain, std::string_view name, const Operand& x);
// errors: throws Error where both are C++ numbers and low is not less than high (or equal)
void require_order(std::string_view low_name, const Operand& low, std::string_view high_name,
                   const Operand& high, bool may_be_equal = false);

struct Given {
  std::string_view name;
  Operand value;
  Domain domain = Domain::kAny;
};
// Samples with parameters, broadcast and given to `fn` in the sample's shape, which is theirs where
// `shape` is empty. errors: besides, Error where a tensor is not of `dtype`, a number not in its
// domain, or the parameters do not broadcast to the shape
using WithParameters = base::FunctionRef<Expr(const Request&, std::span<const Expr>)>;
Tensor sample(std::string_view op, const Operand& key, std::initializer_list<Given> parameters,
              const Dimensions& shape, DType dtype, const Options& options, WithParameters fn);

// errors: throws Error unless x, if it is a tensor, is of IEEE floats
void require_floats(std::string_view name, const Operand& x);

// The shape, or, where it is empty, the one that `from` all broadcast to. errors: Error where they
// do not, or not to the shape given
Dimensions sample_shape(const Dimensions& shape, std::span<const Tensor> from);

}  // namespace heddle::random::random_internal
