// Box<T>: a T on the heap that compares like a T. Copies share it until one of them is written to
// (copy on write). Reading an empty one gives T{}; it equals only another empty one. It is for
// rare, large members of objects that are copied often: a copy costs a pointer, and instantiates no
// copy of T.
#pragma once

#include <memory>
#include <utility>

#include "heddle/base/containers/sole_owner.h"
#include "heddle/base/hash.h"

namespace heddle::base {

template <class T>
class Box {
 public:
  Box() = default;
  explicit Box(T value) : value_(std::make_shared<T>(std::move(value))) {}

  [[nodiscard]] bool has_value() const { return value_ != nullptr; }
  [[nodiscard]] const T& get() const {
    static const T& kEmpty = *new const T{};  // never destroyed: boxes live to the end of a process
    return value_ ? *value_ : kEmpty;
  }
  const T* operator->() const { return &get(); }
  const T& operator*() const { return get(); }

  // The value to write to, made on first use; this box's own from then on.
  T& mutate() {
    if (!value_) {
      value_ = std::make_shared<T>();
    } else if (!is_sole_owner(value_)) {
      value_ = std::make_shared<T>(*value_);
    }
    return *value_;
  }
  void reset() { value_.reset(); }

  friend bool operator==(const Box& a, const Box& b) {
    if (a.value_ == b.value_) return true;
    return a.value_ && b.value_ && *a.value_ == *b.value_;
  }

 private:
  std::shared_ptr<T> value_;  // written to where it has one owner
};

template <class T>
void hash_value(Hasher& hasher, const Box<T>& box) {
  hash_value(hasher, box.get());
}

}  // namespace heddle::base
