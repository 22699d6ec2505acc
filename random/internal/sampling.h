// The samples that others are made of, and what all distributions check first.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "heddle/base/function_ref.h"
#include "heddle/random/internal/threefry.h"
#include "heddle/trace/floats.h"

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
  [[nodiscard]] SourceLocation at() const { return words.a.at(); }
};

// In [0, 1), in steps of the dtype's epsilon; between two numbers or tensors, low included.
Located uniform_of(const Request& r);
Located uniform_of(const Request& r, const Located& low, const Located& high);
Located uniform_of(const Request& r, double low, double high);
Located normal_of(const Request& r);
Located exponential_of(const Request& r);
Located gumbel_of(const Request& r);
// pred: true with probability p, a tensor that broadcasts to the shape; its dtype is drawn in.
Located bernoulli_of(const Request& r, const Located& p);
Located rademacher_of(const Request& r);

// Samples without parameters. errors: Error where the key is none, a size is negative, or the dtype
// is no IEEE float
Tensor sample(std::string_view op, const Operand& key, const Dimensions& shape, DType dtype,
              const Options& options, base::FunctionRef<Located(const Request&)> fn);

// Samples with parameters, broadcast and given to `fn` in the sample's shape, which is theirs where
// `shape` is empty. errors: besides, Error where a tensor is not of `dtype` or the parameters do
// not broadcast to the shape
using WithParameters = base::FunctionRef<Located(const Request&, std::span<const Located>)>;
Tensor sample(std::string_view op, const Operand& key, std::initializer_list<Operand> parameters,
              const Dimensions& shape, DType dtype, const Options& options, WithParameters fn);

// Of C++ numbers, which are known before anything runs. errors: throws Error where x is outside of
// 0 .. 1; where low is not less than high
void require_probability(std::string_view op, const Operand& x, SourceLocation at);
void require_order(std::string_view op, std::string_view low_name, const Operand& low,
                   std::string_view high_name, const Operand& high, SourceLocation at);
// errors: throws Error unless x, if it is a tensor, is of IEEE floats
void require_floats(std::string_view op, std::string_view name, const Operand& x,
                    SourceLocation at);

// The shape, or, where it is empty, the one that `from` all broadcast to. errors: Error where they
// do not, or not to the shape given
Dimensions sample_shape(std::string_view op, const Dimensions& shape, std::span<const Tensor> from,
                        SourceLocation at);

}  // namespace heddle::random::random_internal
