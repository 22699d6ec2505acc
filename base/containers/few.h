// Few<T, N>: a list of plain values. N of them lie in the list itself; it allocates when it has
// more.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace heddle::base {

template <class T, size_t N>
class Few {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  using value_type = T;

  Few() = default;
  Few(const Few&) = default;  // and no move: it would leave a size without its elements
  Few& operator=(const Few&) = default;
  ~Few() = default;

  void push_back(const T& value) {
    if (size_ < N) {
      new (few_ + size_ * sizeof(T)) T(value);
    } else {
      if (size_ == N) many_.assign(begin(), end());
      many_.push_back(value);
    }
    ++size_;
  }
  void clear() {
    size_ = 0;
    many_.clear();
  }
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] const T* data() const {
    return size_ <= N ? reinterpret_cast<const T*>(few_) : many_.data();
  }
  [[nodiscard]] T* data() { return const_cast<T*>(std::as_const(*this).data()); }
  [[nodiscard]] const T* begin() const { return data(); }
  [[nodiscard]] const T* end() const { return data() + size_; }
  [[nodiscard]] const T& operator[](size_t i) const { return data()[i]; }

 private:
  size_t size_ = 0;
  alignas(T) std::byte few_[N * sizeof(T)];  // all of them, if they are at most N
  std::vector<T> many_;                      // else
};

}  // namespace heddle::base
