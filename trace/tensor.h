// Tensor: a value that reads like mathematics. It is one of
//   traced       a value inside a running trace: has a shape, no value yet
//   placeholder  a shape, a dtype and an id: takes no memory, may be an argument of trace()
//   concrete     a device buffer: pending (being computed), ready, or donated (given away)
//
// Copies refer to the same value. Tensors are never changed in place: x.at(i).set(v) gives a new
// one. Inside trace(), scan() and the other loops an operation is recorded; outside it runs at once
// on the default device, through the same programs and caches.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/base/containers/ints.h"
#include "heddle/base/int.h"
#include "heddle/base/source_location.h"
#include "heddle/hlo/dtype.h"
#include "heddle/hlo/shape.h"
#include "heddle/trace/compiler_warnings.h"
#include "heddle/trace/host_numbers.h"
#include "heddle/trace/refusals.h"

namespace heddle {

class At;
class IndexEntry;
class Literal;
class Operand;
namespace trace_internal {
struct Node;
extern const Node kMovedFrom;  // what a tensor refers to once it was moved from: no value
}  // namespace trace_internal

class [[nodiscard]] Tensor {
 public:
  Tensor() = default;  // no value: using it is an error that says so
  ~Tensor() = default;
  Tensor(const Tensor&) = default;
  // The other one has no value from then on: using it is an error that says it was moved from.
  Tensor(Tensor&& from) noexcept : node_(std::move(from.node_)) { from.node_ = moved_from(); }
  // Of variables alone: x[0] = y would change nothing but a temporary.
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&& from) & noexcept {
    std::shared_ptr<const trace_internal::Node> node = std::move(from.node_);
    from.node_ = moved_from();  // before the other assignment: it may be this one
    node_ = std::move(node);
    return *this;
  }
  template <class V = Tensor>
  void operator=(V&&) && {
    trace_internal::refuse_write<V>();
  }
  template <class V>
  requires(!std::is_convertible_v<V, Tensor>)  //
      void
      operator=(V&&) & {
    trace_internal::refuse_assignment<V>();
  }

  // Its type. dtype() and shape() never wait or move a byte.
  [[nodiscard]] const Shape& shape(SourceLocation at = SourceLocation::here()) const;
  template <std::integral Axis>
  trace_internal::Refused shape(Axis) const {
    static_assert(!sizeof(Axis), "the size along an axis is x.dim(0)");
    return {};
  }
  [[nodiscard]] DType dtype(SourceLocation at = SourceLocation::here()) const {
    return shape_for("dtype", at).dtype();
  }
  [[nodiscard]] int64_t rank(SourceLocation at = SourceLocation::here()) const {
    return shape_for("rank", at).rank();
  }
  // Size along an axis; negative axes count from the end.
  [[nodiscard]] int64_t dim(base::Int axis, SourceLocation at = SourceLocation::here()) const;
  template <class... None>
  requires(sizeof...(None) == 0) trace_internal::Refused dim(None...)
  const { return trace_internal::refuse_size<None...>(); }
  [[nodiscard]] int64_t size(SourceLocation at = SourceLocation::here()) const {
    return shape_for("size", at).element_count();
  }
  // All sizes: auto [rows, columns] = x.dims<2>(). errors: Error where x has another rank
  template <size_t rank>
  [[nodiscard]] std::array<int64_t, rank> dims(SourceLocation at = SourceLocation::here()) const {
    std::array<int64_t, rank> out;
    copy_dims(out.data(), rank, at);
    return out;
  }

  template <std::integral Axis>
  trace_internal::Refused size(Axis) const {
    static_assert(!sizeof(Axis), "the size along an axis is x.dim(0)");
    return {};
  }

  [[nodiscard]] bool is_valid() const {
    return node_ != nullptr && node_.get() != &trace_internal::kMovedFrom;
  }
  [[nodiscard]] bool is_traced() const;
  [[nodiscard]] bool is_placeholder() const;
  [[nodiscard]] bool is_ready() const;    // concrete, computed, not donated: reading will not wait
  [[nodiscard]] bool is_donated() const;  // concrete, and its buffer was given away

  // The id of a placeholder or concrete tensor, process-wide, never reused; 0 for a traced value.
  [[nodiscard]] uint64_t id() const;

  // Waits for a concrete tensor to be computed. errors: of the computation; FailedPrecondition for
  // what has no value
  const Tensor& wait(SourceLocation at = SourceLocation::here()) const;

  // Copies the value to the host: a download, counted. T may differ from the dtype; elements are
  // converted, but complex numbers to complex ones alone. errors: FailedPrecondition for a traced,
  // placeholder or donated tensor
  template <class T>
  [[nodiscard]] std::vector<T> to_vector(SourceLocation at = SourceLocation::here()) const;
  // The only element, likewise. errors: InvalidArgument where there is not exactly one
  template <class T>
  [[nodiscard]] T item(SourceLocation at = SourceLocation::here()) const;
  template <class... None>
  trace_internal::Refused to_vector(None...) const {
    static_assert(sizeof...(None) > 9, "the C++ type to read is named: x.to_vector<float>()");
    return {};
  }
  template <class... None>
  trace_internal::Refused item(None...) const {
    static_assert(sizeof...(None) > 9, "the C++ type to read is named: x.item<float>()");
    return {};
  }
  // The value as it is.
  [[nodiscard]] Literal to_literal(SourceLocation at = SourceLocation::here()) const;

  // Methods of other libraries, refused in words. A macro, since a method's name is no argument.
#define HEDDLE_REFUSED_METHOD(name, refusal)     \
  template <class... Given>                      \
  trace_internal::Refused name(Given...) const { \
    return trace_internal::refusal<Given...>();  \
  }
  HEDDLE_REFUSED_METHOD(sum, refuse_method)
  HEDDLE_REFUSED_METHOD(mean, refuse_method)
  HEDDLE_REFUSED_METHOD(max, refuse_method)
  HEDDLE_REFUSED_METHOD(min, refuse_method)
  HEDDLE_REFUSED_METHOD(abs, refuse_method)
  HEDDLE_REFUSED_METHOD(exp, refuse_method)
  HEDDLE_REFUSED_METHOD(argmax, refuse_method)
  HEDDLE_REFUSED_METHOD(argmin, refuse_method)
  HEDDLE_REFUSED_METHOD(flatten, refuse_method)
  HEDDLE_REFUSED_METHOD(squeeze, refuse_method)
  HEDDLE_REFUSED_METHOD(unsqueeze, refuse_method)
  HEDDLE_REFUSED_METHOD(permute, refuse_method)
  HEDDLE_REFUSED_METHOD(matmul, refuse_method)
  HEDDLE_REFUSED_METHOD(clone, refuse_state)
  HEDDLE_REFUSED_METHOD(detach, refuse_state)
  HEDDLE_REFUSED_METHOD(to, refuse_state)
  HEDDLE_REFUSED_METHOD(backward, refuse_state)
  HEDDLE_REFUSED_METHOD(numpy, refuse_state)
  HEDDLE_REFUSED_METHOD(ndim, refuse_size)
  HEDDLE_REFUSED_METHOD(numel, refuse_size)
#undef HEDDLE_REFUSED_METHOD
  template <class Size = int>
  trace_internal::Refused reshape(std::initializer_list<Size>) const {
    return trace_internal::refuse_method<Size>();
  }
  template <class... Sizes>
  trace_internal::Refused reshape(Sizes...) const {
    return trace_internal::refuse_method<Sizes...>();
  }

  // The same values in another element type (XLA's convert: truncates toward zero, saturates).
  [[nodiscard]] Tensor astype(DType dtype, SourceLocation at = SourceLocation::here()) const;

  // transpose(x): the axes reversed.
  [[nodiscard]] Tensor T(SourceLocation at = SourceLocation::here()) const;

  // x[i], x[{i, Slice{1, 4}, j}]: a part of it; entries are C++ integers, slices, new axes, an
  // ellipsis, or integer tensors. x.at({..}).set(v), .add(v), ..: a new tensor with that part
  // changed. Include trace/ops/movement/indexing.h (heddle.h has it).
  [[nodiscard]] Tensor operator[](const IndexEntry& entry) const;
  [[nodiscard]] Tensor operator[](std::initializer_list<IndexEntry> entries) const;
  template <std::integral I, size_t rows, size_t columns>
  auto operator[](const I (&)[rows][columns]) const {
    return trace_internal::refuse_rows<I>();
  }
  template <std::integral I, size_t rows, size_t columns>
  auto at(const I (&)[rows][columns]) const {
    return trace_internal::refuse_rows<I>();
  }
  [[nodiscard]] At at(const IndexEntry& entry,
                      SourceLocation location = SourceLocation::here()) const;
  [[nodiscard]] At at(std::initializer_list<IndexEntry> entries,
                      SourceLocation location = SourceLocation::here()) const;
  template <std::integral I, std::integral... More>
  trace_internal::Refused at(I, I, More...) const {
    static_assert(!sizeof(I), "the entries of an index are one list: write x.at({0, 1})");
    return {};
  }

  // `if (a == b)` has no answer while tracing. A template, so that only a use fails to compile.
  template <std::same_as<bool> B>
  explicit operator B() const {
    static_assert(!std::same_as<B, bool>,
                  "a Tensor is no bool: branch with cond(..) or where(..), or read a value with "
                  "item<bool>()");
    return false;
  }

  // Elementwise, with broadcasting (trace/ops/elementwise/elementwise.h); comparisons give pred.
  friend Tensor operator+(Operand x, Operand y);
  friend Tensor operator-(Operand x, Operand y);
  friend Tensor operator*(Operand x, Operand y);
  friend Tensor operator/(Operand x, Operand y);
  friend Tensor operator%(Operand x, Operand y);
  friend Tensor operator&(Operand x, Operand y);
  friend Tensor operator|(Operand x, Operand y);
  friend Tensor operator^(Operand x, Operand y);
  friend Tensor operator<<(Operand x, Operand y);
  friend Tensor operator>>(Operand x, Operand y);  // of signed integers with sign fill
  friend Tensor operator==(Operand x, Operand y);
  friend Tensor operator!=(Operand x, Operand y);
  friend Tensor operator>(Operand x, Operand y);
  friend Tensor operator>=(Operand x, Operand y);
  friend Tensor operator<(Operand x, Operand y);
  friend Tensor operator<=(Operand x, Operand y);
  friend Tensor operator-(Operand x);
  friend Tensor operator~(Operand x);

  // x += y is x = x + y: this variable refers to a new value, and copies of it stay as they are.
  Tensor& operator+=(Operand y) &;
  Tensor& operator-=(Operand y) &;
  Tensor& operator*=(Operand y) &;
  Tensor& operator/=(Operand y) &;
  Tensor& operator%=(Operand y) &;
  Tensor& operator&=(Operand y) &;
  Tensor& operator|=(Operand y) &;
  Tensor& operator^=(Operand y) &;
  Tensor& operator<<=(Operand y) &;
  Tensor& operator>>=(Operand y) &;
  // Of x[0] they would be lost.
  template <class V>
  void operator+=(V&&) && {
    trace_internal::refuse_write<V>();
  }
  template <class V>
  void operator-=(V&&) && {
    trace_internal::refuse_write<V>();
  }
  template <class V>
  void operator*=(V&&) && {
    trace_internal::refuse_write<V>();
  }
  template <class V>
  void operator/=(V&&) && {
    trace_internal::refuse_write<V>();
  }
  template <class V>
  void operator%=(V&&) && {
    trace_internal::refuse_write<V>();
  }
  template <class V>
  void operator&=(V&&) && {
    trace_internal::refuse_write<V>();
  }
  template <class V>
  void operator|=(V&&) && {
    trace_internal::refuse_write<V>();
  }
  template <class V>
  void operator^=(V&&) && {
    trace_internal::refuse_write<V>();
  }
  template <class V>
  void operator<<=(V&&) && {
    trace_internal::refuse_write<V>();
  }
  template <class V>
  void operator>>=(V&&) && {
    trace_internal::refuse_write<V>();
  }

  // No && || !, which could not stop early.
  template <class V>
  friend auto operator&&(const Tensor&, const V&) {
    return trace_internal::refuse_logic<V>();
  }
  template <class V>
  requires(!std::is_same_v<V, Tensor>) friend auto operator&&(const V&, const Tensor&) {
    return trace_internal::refuse_logic<V>();
  }
  template <class V>
  friend auto operator||(const Tensor&, const V&) {
    return trace_internal::refuse_logic<V>();
  }
  template <class V>
  requires(!std::is_same_v<V, Tensor>) friend auto operator||(const V&, const Tensor&) {
    return trace_internal::refuse_logic<V>();
  }
  template <std::same_as<Tensor> V>
  friend auto operator!(const V&) {
    return trace_internal::refuse_logic<V>();
  }

  // For Heddle's own code.
  explicit Tensor(std::shared_ptr<const trace_internal::Node> node) : node_(std::move(node)) {}
  [[nodiscard]] const std::shared_ptr<const trace_internal::Node>& node() const { return node_; }

 private:
  // shape(), of whose errors `op` is the function.
  [[nodiscard]] const Shape& shape_for(std::string_view op, SourceLocation at) const;
  void copy_dims(int64_t* to, size_t rank, SourceLocation at) const;

  // Owns nothing, so that it costs two stores.
  static std::shared_ptr<const trace_internal::Node> moved_from() noexcept {
    return {std::shared_ptr<const void>(), &trace_internal::kMovedFrom};
  }

  std::shared_ptr<const trace_internal::Node> node_;
};

// What a tensor is, and not its value: "traced f32[3]", "placeholder #12 bf16[4] made at
// train.cc:41", "ready f32[3]", "no value". Moves no byte: for errors and logs.
std::string to_string(const Tensor& tensor);
// The value as numpy prints it (trace/printing.h has the rules and the options): waits, and is a
// download, counted. What has no value yet or any more is described as by to_string(). errors: as
// array_to_string()
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);
// What GoogleTest prints: to_string(), since it prints also where no test fails. `<< x` in a
// message gives the value.
void PrintTo(const Tensor& tensor, std::ostream* out);

// A tensor that takes no memory: an argument for trace(), to be bound when the program runs.
// Reading it is an error.
Tensor placeholder(const base::Ints& shape, DType dtype,
                   SourceLocation at = SourceLocation::here());
Tensor placeholder(const Shape& shape, SourceLocation at = SourceLocation::here());
template <class T, size_t n>
requires std::is_convertible_v<T, int64_t> Tensor placeholder(const T (&)[n]) {
  static_assert(!sizeof(T), "a placeholder has a dtype: write placeholder({4}, f32)");
  return {};
}
template <class Sizes>
requires std::is_convertible_v<const Sizes&, base::Ints> Tensor placeholder(const Sizes&) {
  static_assert(!sizeof(Sizes), "a placeholder has a dtype: write placeholder({4}, f32)");
  return {};
}

namespace trace_internal {

// `count` elements of `dtype`, row-major. errors: throws Error where the shape takes another count
Literal literal_from_bytes(const void* data, size_t count, DType dtype, std::vector<int64_t> shape);
// `as`: the element type of the result, else `dtype`.
Tensor array_from_bytes(const void* data, size_t count, DType dtype, std::vector<int64_t> shape,
                        SourceLocation at, std::optional<DType> as = {});
// The same of one number, which errors tell as one; scan/ marks those of its inits likewise.
Tensor scalar_from_bytes(const void* data, DType dtype, SourceLocation at);
// Downloads and converts to `dtype`, then writes the bytes; the caller made room for size()
// elements. errors: throws Error for complex numbers that are read as others
void read_as(std::string_view op, const Tensor& tensor, DType dtype, void* out, SourceLocation at);
void require_one_element(const Tensor& tensor, SourceLocation at);

template <class C>
Tensor array_of_list(const C& list, SourceLocation at, std::optional<DType> as = {});

}  // namespace trace_internal

// Tensors from host data: outside a trace an upload (counted), inside one an HLO constant. Element
// type: that of T (float -> f32, double -> f64, int -> s32, int64_t -> s64, bool -> pred,
// std::complex<float> -> c64, ...), or `dtype`, as in array({1, 2.5}, bf16).
// `shape` is row-major; without one it is that of the lists. Values come in braces, up to three
// deep, or from std::vector, std::array, std::span and C arrays, which may hold each other.
// errors: InvalidArgument for another number of values than `shape` takes, for a row of another
// length than the first, which it names, and for a value that no integer of `dtype` is
template <class T>
Tensor array(const std::vector<T>& values, const base::Ints& shape,
             SourceLocation at = SourceLocation::here());
template <class T>
Tensor array(const std::vector<T>& values, SourceLocation at = SourceLocation::here()) {
  return trace_internal::array_of_list(values, at);
}
template <class T>
Tensor array(std::initializer_list<T> values, SourceLocation at = SourceLocation::here()) {
  return trace_internal::array_of_list(values, at);
}
template <trace_internal::HostList C>
Tensor array(const C& values, SourceLocation at = SourceLocation::here()) {
  return trace_internal::array_of_list(values, at);
}
// std::same_as: {} is a shape.
template <trace_internal::HostList C, std::same_as<DType> D>
Tensor array(const C& values, D dtype, SourceLocation at = SourceLocation::here()) {
  return trace_internal::array_of_list(values, at, dtype);
}
template <class T, std::same_as<DType> D>
Tensor array(std::initializer_list<T> values, D dtype, SourceLocation at = SourceLocation::here()) {
  return trace_internal::array_of_list(values, at, dtype);
}
template <std::same_as<DType> D>
Tensor array(std::initializer_list<trace_internal::AnyReal> values, D dtype,
             SourceLocation at = SourceLocation::here()) {
  return trace_internal::array_of_list(std::vector<double>(values.begin(), values.end()), at,
                                       dtype);
}
template <trace_internal::NumberList C>
Tensor array(const C& values, const base::Ints& shape, SourceLocation at = SourceLocation::here()) {
  return trace_internal::array_from_bytes(
      std::data(values), std::size(values),
      trace_internal::dtype_of<typename trace_internal::ListOf<C>::Item>(), shape, at);
}
template <class T>
requires trace_internal::kIsNumber<T> Tensor array(std::initializer_list<T> values,
                                                   std::initializer_list<base::Int> shape,
                                                   SourceLocation at = SourceLocation::here()) {
  return array<T>(std::vector<T>(values), shape, at);
}
// Rank 0: one number, of T's dtype.
template <class T>
requires trace_internal::kIsNumber<T> Tensor scalar(T value,
                                                    SourceLocation at = SourceLocation::here()) {
  return trace_internal::scalar_from_bytes(&value, trace_internal::dtype_of<T>(), at);
}
// The same as scalar(value).
template <class T>
requires trace_internal::kIsNumber<T> Tensor array(T value,
                                                   SourceLocation at = SourceLocation::here()) {
  return scalar(value, at);
}
template <class T, class... Ts>
requires(sizeof...(Ts) > 0 && (trace_internal::kIsNumber<T> && ... &&
                               trace_internal::kIsNumber<Ts>)) trace_internal::Refused
    array(T, Ts...) {
  static_assert(!sizeof(T), "the values of an array stand in braces: write array({1, 2, 3})");
  return {};
}
// Neither a pointer nor two iterators say what they are of.
template <class Pointer>
requires(std::is_pointer_v<std::remove_cvref_t<Pointer>>) trace_internal::Refused
    array(Pointer&&, std::initializer_list<base::Int>) {
  static_assert(!sizeof(Pointer),
                "a pointer does not know its size: write array(std::span(p, n), {3})");
  return {};
}
template <std::input_iterator Iterator>
trace_internal::Refused array(Iterator, Iterator) {
  static_assert(!sizeof(Iterator),
                "array() takes a range: write array(std::span(first, last)), or a std::vector");
  return {};
}
// A list of integers and floats does not compile.
template <class Refused = trace_internal::Refused>
Refused array(std::initializer_list<trace_internal::MixedNumber> /*values*/) {
  static_assert(!sizeof(Refused),
                "the values of an array are of one C++ type: write array({1.0, 2.5}) for f64, "
                "array({1.0f, 2.5f}) for f32; INFINITY and NAN are floats: write double(NAN)");
  return {};
}
// Rank 2, row by row, and rank 3: inner braces are rows, of complex numbers too, so that
// array<std::complex<float>>({{1, 2}, {3, 4}}) is 2 x 2. errors: InvalidArgument for rows of
// unequal length
template <class T>
Tensor array(std::initializer_list<std::initializer_list<T>> rows,
             SourceLocation at = SourceLocation::here()) {
  return trace_internal::array_of_list(rows, at);
}
template <class T, std::same_as<DType> D>
Tensor array(std::initializer_list<std::initializer_list<T>> rows, D dtype,
             SourceLocation at = SourceLocation::here()) {
  return trace_internal::array_of_list(rows, at, dtype);
}
template <class T>
Tensor array(std::initializer_list<std::initializer_list<std::initializer_list<T>>> rows,
             SourceLocation at = SourceLocation::here()) {
  return trace_internal::array_of_list(rows, at);
}
Tensor array(const Literal& literal, SourceLocation at = SourceLocation::here());  // as it is

template <class T>
std::vector<T> Tensor::to_vector(SourceLocation at) const {
  if constexpr (std::is_same_v<T, bool>) {
    std::vector<uint8_t> bytes(static_cast<size_t>(size()));
    trace_internal::read_as("to_vector", *this, pred, bytes.data(), at);
    return {bytes.begin(), bytes.end()};
  } else {
    std::vector<T> out(static_cast<size_t>(size()));
    trace_internal::read_as("to_vector", *this, trace_internal::dtype_of<T>(), out.data(), at);
    return out;
  }
}

template <class T>
T Tensor::item(SourceLocation at) const {
  trace_internal::require_one_element(*this, at);
  if constexpr (std::is_same_v<T, bool>) {
    uint8_t byte = 0;
    trace_internal::read_as("item", *this, pred, &byte, at);
    return byte != 0;
  } else {
    T value{};
    trace_internal::read_as("item", *this, trace_internal::dtype_of<T>(), &value, at);
    return value;
  }
}

template <class T>
Tensor array(const std::vector<T>& values, const base::Ints& shape, SourceLocation at) {
  if constexpr (std::is_same_v<T, bool>) {
    std::vector<uint8_t> bytes(values.begin(), values.end());
    return trace_internal::array_from_bytes(bytes.data(), bytes.size(), pred, shape, at);
  } else {
    return trace_internal::array_from_bytes(values.data(), values.size(),
                                            trace_internal::dtype_of<T>(), shape, at);
  }
}

namespace trace_internal {

template <class C>
Tensor array_of_list(const C& list, SourceLocation at, std::optional<DType> as) {
  using Number = typename NumberIn<C>::Type;
  static_assert(kIsNumber<Number>,
                "array takes C++ numbers: join tensors with stack or concat, and convert other "
                "types first");
  static_assert(!std::is_array_v<C> || !std::is_same_v<Number, char>,
                "text is no array: write signed char or int8_t for numbers of 8 bits");
  if constexpr (kIsNumber<Number>) {
    using Item = typename ListOf<C>::Item;
    if constexpr (kIsNumber<Item> && !std::is_same_v<C, std::vector<bool>>) {
      const auto count = static_cast<int64_t>(std::size(list));
      return array_from_bytes(std::data(list), std::size(list), dtype_of<Number>(), {count}, at,
                              as);
    } else {
      // Of bools a vector has no bytes.
      using Stored = std::conditional_t<std::is_same_v<Number, bool>, uint8_t, Number>;
      std::vector<Stored> values;
      NestedShape shape(at);
      append_list(list, values, shape);
      shape.fill(depth_of<C>());
      return array_from_bytes(values.data(), values.size(), dtype_of<Number>(), shape.sizes(), at,
                              as);
    }
  } else {
    return {};
  }
}

}  // namespace trace_internal

}  // namespace heddle
