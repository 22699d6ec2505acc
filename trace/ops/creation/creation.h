// Tensors from nothing: constants and ranges. Each is a few HLO instructions, never host data.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "heddle/base/containers/ints.h"
#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle {

using Dimensions = std::vector<int64_t>;

namespace trace_internal {
// Sizes that are no list, in an overload that only says so.
template <class First, class Second>
concept SizesApart = std::is_arithmetic_v<First> && std::is_arithmetic_v<Second>;
}  // namespace trace_internal

// A shape is a list of sizes, {2, 3} or a vector; a number is a list of one.

// `value` everywhere. Without a dtype that of a tensor is kept, numbers give f32, true and false
// pred.
// errors: Error where `dtype` cannot hold the number
Tensor full(const base::Ints& shape, Operand value, std::optional<DType> dtype = {});
// 0 everywhere; `pred`: false.
Tensor zeros(const base::Ints& shape, DType dtype = f32,
             SourceLocation at = SourceLocation::here());
// 1 everywhere; `pred`: true.
Tensor ones(const base::Ints& shape, DType dtype = f32, SourceLocation at = SourceLocation::here());
template <class First, class Second, class... More>
requires trace_internal::SizesApart<First, Second> Tensor zeros(First, Second, More...) {
  static_assert(!sizeof(First), "the sizes of a shape are one list: write zeros({2, 3})");
  return {};
}
template <class First, class Second, class... More>
requires trace_internal::SizesApart<First, Second> Tensor ones(First, Second, More...) {
  static_assert(!sizeof(First), "the sizes of a shape are one list: write ones({2, 3})");
  return {};
}
template <std::same_as<Tensor> X, class... More>
Tensor zeros(const X&, const More&...) {
  static_assert(!sizeof(X), "a list of sizes is wanted, and this is a tensor: write zeros_like(x)");
  return {};
}
template <std::same_as<Tensor> X, class... More>
Tensor ones(const X&, const More&...) {
  static_assert(!sizeof(X), "a list of sizes is wanted, and this is a tensor: write ones_like(x)");
  return {};
}
template <class T>
requires trace_internal::kIsNumber<T> Tensor zeros(const base::Ints& /*shape*/) {
  static_assert(!sizeof(T), "the element type is an argument: write zeros({2, 3}, f64)");
  return {};
}
template <class T>
requires trace_internal::kIsNumber<T> Tensor ones(const base::Ints& /*shape*/) {
  static_assert(!sizeof(T), "the element type is an argument: write ones({2, 3}, f64)");
  return {};
}
// `value` in the shape and dtype of x, or in another dtype. errors: Error where the dtype cannot
// hold the number, or where the value is on another device than x
Tensor full_like(Operand x, Operand value, std::optional<DType> dtype = {});
Tensor zeros_like(Operand x, std::optional<DType> dtype = {});  // 0 likewise
Tensor ones_like(Operand x, std::optional<DType> dtype = {});   // 1 likewise

namespace trace_internal {
// Numbers, one of them of floating point at least.
template <class A, class B>
inline constexpr bool kHasPoint = std::is_arithmetic_v<A>&& std::is_arithmetic_v<B> &&
                                  (std::floating_point<A> || std::floating_point<B>);
}  // namespace trace_internal

// 0, 1, .. along `axis` of an array.
Tensor iota(DType dtype, const base::Ints& shape, base::Int axis,
            SourceLocation at = SourceLocation::here());
Tensor arange_integers(int64_t start, int64_t stop, int64_t step, SourceLocation at);  // of arange
// start, start + step, .. below stop (numpy's count: ceil((stop - start) / step)). Integers give
// s32, or s64 where start and stop do not fit; floating-point numbers f32, or the dtype that is
// given.
// errors: Error for a step of 0, a count that is not finite, and an integer dtype that does not
// hold the first or the last value
template <std::integral Stop>
Tensor arange(Stop stop, SourceLocation at = SourceLocation::here()) {
  return arange_integers(0, base::Int(stop), 1, at);
}
template <std::integral Start, std::integral Stop, std::integral Step = int>
Tensor arange(Start start, Stop stop, Step step = 1, SourceLocation at = SourceLocation::here()) {
  return arange_integers(base::Int(start), base::Int(stop), base::Int(step), at);
}
Tensor arange(double start, double stop, double step, DType dtype = f32,
              SourceLocation at = SourceLocation::here());
template <class Stop>
requires std::is_arithmetic_v<Stop> Tensor arange(Stop stop, DType dtype,
                                                  SourceLocation at = SourceLocation::here()) {
  return arange(0.0, static_cast<double>(stop), 1.0, dtype, at);
}
template <std::floating_point Stop>
Tensor arange(Stop stop, SourceLocation at = SourceLocation::here()) {
  return arange(0.0, stop, 1.0, f32, at);
}
template <class Start, class Stop>
requires trace_internal::kHasPoint<Start, Stop> Tensor
arange(Start start, Stop stop, SourceLocation at = SourceLocation::here()) {
  return arange(static_cast<double>(start), static_cast<double>(stop), 1.0, f32, at);
}
template <class Start, class Stop>
requires std::is_arithmetic_v<Start> && std::is_arithmetic_v<Stop> Tensor
arange(Start start, Stop stop, DType dtype, SourceLocation at = SourceLocation::here()) {
  return arange(static_cast<double>(start), static_cast<double>(stop), 1.0, dtype, at);
}
template <class... More>
trace_internal::Refused arange(trace_internal::RefusedTensor /*stop*/, More...) {
  static_assert(!sizeof(std::type_identity<trace_internal::Refused(More...)>),
                "a size is no value of the program: write arange(x.dim(0)), or arange(8) < n for "
                "the places below a value n");
  return {};
}
// `count` values evenly from start to stop, both included. For integers they are computed in f32
// (f64 for 64 bits) and rounded down.
Tensor linspace(double start, double stop, base::Int count = 50, DType dtype = f32,
                SourceLocation at = SourceLocation::here());
// The same, without stop where `endpoint` is false: the points of a grid with that period.
Tensor linspace(double start, double stop, base::Int count, base::Flag endpoint, DType dtype = f32,
                SourceLocation at = SourceLocation::here());
// Ones on diagonal k of a rows x columns matrix; as many columns as rows unless given.
// errors: Error where one of them is below 0
Tensor eye(base::Int rows, std::optional<base::Int> columns = {}, base::Int k = 0,
           DType dtype = f32, SourceLocation at = SourceLocation::here());
// The same on the main diagonal, of a square matrix and of another one.
Tensor eye(base::Int rows, DType dtype, SourceLocation at = SourceLocation::here());
Tensor eye(base::Int rows, base::Int columns, DType dtype,
           SourceLocation at = SourceLocation::here());
// indices[..] -> [.., classes]: one at the index, zero elsewhere; indices out of range give zeros.
Tensor one_hot(Operand indices, base::Int classes, DType dtype = f32);
// The lower (upper) triangle of the last two axes, up to diagonal k; zero elsewhere.
Tensor tril(Operand x, base::Int k = 0);
// The upper triangle of the last two axes, from diagonal k on; zero elsewhere.
Tensor triu(Operand x, base::Int k = 0);

}  // namespace heddle
