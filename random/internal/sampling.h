// The basic samples of other distributions, and the checks of all distributions.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/numpy/float_limits.h"
#include "heddle/random/internal/threefry.h"

namespace heddle::random::random_internal {

// The request for a sample: words, shape, dtype.
struct Request {
  Words words;
  Dimensions shape;
  DType dtype;
  Options options;
  DType result = DType::kInvalid;  // for counts that are drawn in floats

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
// pred: true with probability p, a tensor that broadcasts to the shape; numbers are drawn in its
// dtype.
Expr bernoulli_of(const Request& r, const Expr& p);
Expr rademacher_of(const Request& r);

// Samples without parameters. errors: Error if it is no key, a size is negative, or the dtype is no
// IEEE float
Tensor sample(std::string_view op, const Operand& key, const Dimensions& shape, DType dtype,
              const Options& options, base::FunctionRef<Expr(const Request&)> fn);

// The domain of C++ numbers among the parameters: they are known before anything runs.
enum class Domain : uint8_t { kAny, kNotNegative, kPositive, kProbability, kPositiveProbability };
// errors: throws Error if x is a C++ number outside of the domain; NaN is in every domain
void require_in(Domain domain, std::string_view name, const Operand& x);
// errors: throws Error if both are C++ numbers and low is not less than high (or equal)
void require_order(std::string_view low_name, const Operand& low, std::string_view high_name,
                   const Operand& high, bool may_be_equal = false);

struct Given {
  std::string_view name;
  Operand value;
  Domain domain = Domain::kAny;
};
// Samples with parameters, which `fn` gets in the sample's shape; that is the parameters' own if
// `shape` is empty. errors: also Error if a tensor does not have `dtype`, a number is not in its
// domain, or the parameters do not broadcast to the shape
using WithParameters = base::FunctionRef<Expr(const Request&, std::span<const Expr>)>;
Tensor sample(std::string_view op, const Operand& key, std::initializer_list<Given> parameters,
              const Dimensions& shape, DType dtype, const Options& options, WithParameters fn,
              DType result = DType::kInvalid);

// errors: throws Error if x is a tensor without IEEE floats
void require_floats(std::string_view name, const Operand& x);

// The shape, or, if it is empty, the one that all of `from` broadcast to. errors: Error if they do
// not broadcast, or not to the given shape
Dimensions sample_shape(const Dimensions& shape, std::span<const Tensor> from);

}  // namespace heddle::random::random_internal
