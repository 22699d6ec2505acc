// Box<T>: a T on the heap that copies, compares and moves like a T. Reading an empty one gives T{};
// it equals only another empty one. It is for rare, large members, and takes 8 bytes when unused.
#pragma once

#include <memory>
#include <utility>

#include "heddle/base/hash.h"

namespace heddle::base {

template <class T>
class Box {
 public:
  Box() = default;
  explicit Box(T value) : value_(std::make_unique<T>(std::move(value))) {}
  Box(const Box& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Box(Box&&) noexcept = default;
  Box& operator=(const Box& other) {
    if (this != &other) value_ = other.value_ ? std::make_unique<T>(*other.value_) : nullptr;
    return *this;
  }
  Box& operator=(Box&&) noexcept = default;

  [[nodiscard]] bool has_value() const { return value_ != nullptr; }
  [[nodiscard]] const T& get() const {
    static const T kEmpty{};
    return value_ ? *value_ : kEmpty;
  }
  const T* operator->() const { return &get(); }
  const T& operator*() const { return get(); }

  // The value to write to, made on first use.
  T& mutate() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }
  void reset() { value_.reset(); }

  friend bool operator==(const Box& a, const Box& b) {
    if (!a.value_ || !b.value_) return !a.value_ && !b.value_;
    return *a.value_ == *b.value_;
  }

 private:
  std::unique_ptr<T> value_;
};

template <class T>
void hash_value(Hasher& hasher, const Box<T>& box) {
  hash_value(hasher, box.get());
}

}  // namespace heddle::base
