// Ints: the axes, sizes, positions or counts that a public function takes as a list.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/base/int.h"

namespace heddle::base {

// A vector, array or span of numbers, but not text.
template <class T>
concept IntRange = requires(const T& list) {
  std::end(list);
  requires std::is_convertible_v<decltype(*std::begin(list)), int64_t>;
  requires !std::same_as<std::remove_cvref_t<decltype(*std::begin(list))>, char>;
};

template <class... T>
concept AllInts = (std::is_convertible_v<T, int64_t> && ...);

template <class T>
concept HasDimensions = requires(const T& shape) {
  shape.dimensions();
};

// {2, 3}, {}, a range of integers, or one integer, which is a list of one. A bool or a
// floating-point number as an element does not compile, as for an Int; nor does a Shape. Ints
// convert to a vector of int64_t. Braces reach the constructors element by element: beside a
// constructor from a std::initializer_list, g++ 12 ignores the name in {.axis = 1} and takes {1}.
class Ints {
 public:
  using Vector = std::vector<int64_t>;
  using value_type = int64_t;
  using const_iterator = Vector::const_iterator;

  Ints() = default;
  template <class A, class B, class... More>
  requires AllInts<A, B, More...> Ints(A a, B b, More... more)
      : list_{Int(a), Int(b), Int(more)...} {}
  Ints(const Vector& list) : list_(list) {}
  Ints(Vector&& list) : list_(std::move(list)) {}
  template <class T>
  requires std::is_convertible_v<T, int64_t> Ints(T one) : list_{Int(one)} {}
  template <IntRange T>
  Ints(const T& list) {
    for (const auto& each : list) list_.push_back(Int(each));
  }
  template <HasDimensions T>
  Ints(const T&) {
    static_assert(!sizeof(T),
                  "a list of sizes is wanted, and this is a shape: write x.shape().dimensions(), "
                  "or zeros_like(x) for zeros in the shape of x");
  }

  operator const Vector&() const { return list_; }
  [[nodiscard]] const Vector& list() const { return list_; }

  [[nodiscard]] const_iterator begin() const { return list_.begin(); }
  [[nodiscard]] const_iterator end() const { return list_.end(); }
  [[nodiscard]] size_t size() const { return list_.size(); }
  [[nodiscard]] bool empty() const { return list_.empty(); }
  [[nodiscard]] int64_t front() const { return list_.front(); }
  [[nodiscard]] int64_t back() const { return list_.back(); }
  int64_t operator[](size_t i) const { return list_[i]; }
  void push_back(Int one) { list_.push_back(one); }

  friend bool operator==(const Ints& a, const Ints& b) { return a.list_ == b.list_; }

 private:
  Vector list_;
};

}  // namespace heddle::base
