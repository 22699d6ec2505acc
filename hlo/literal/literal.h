// Literal: a value on the host. An array of elements in row-major order, or a tuple of literals.
//
// Copies share their bytes until one of them is written (copy on write), so a literal passes
// through loops and modules for the price of a pointer. Element types under 8 bits take a byte
// each. Bytes are 64-byte aligned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/shape.h"

namespace heddle {

template <class T>
class HeldValues;

class Literal {
 public:
  Literal() = default;            // invalid: of no shape
  explicit Literal(Shape shape);  // an array of zeros, a tuple of such, a token
  ~Literal() = default;
  Literal(const Literal&);
  Literal& operator=(const Literal&);
  // The other one keeps its shape and has no value: reading it is an error that says so.
  Literal(Literal&& from) noexcept
      : shape_(from.shape_),
        storage_(std::move(from.storage_)),
        elements_(std::move(from.elements_)) {}
  Literal& operator=(Literal&& from) noexcept {
    shape_ = from.shape_;
    storage_ = std::move(from.storage_);
    elements_ = std::move(from.elements_);
    return *this;
  }

  // `likely` is the type that they are expected to have: where it is theirs, none is looked up.
  static Literal tuple(std::vector<Literal> elements, const Shape& likely = {});

  // An array from values in row-major order; T is the native type of the dtype
  // (hlo/literal/native.h), its element count that of the shape.
  // errors: throws std::invalid_argument where their bytes are not as many as the shape has
  template <class T>
  static Literal from(const Shape& shape, std::span<const T> values) {
    Literal out = uninitialised(shape);
    out.write(values.data(), values.size_bytes());
    return out;
  }
  template <class T>
  static Literal from(const Shape& shape, std::initializer_list<T> values) {
    return from<T>(shape, std::span<const T>(values.begin(), values.size()));
  }
  // A scalar of the given type, the value converted as HLO's convert does from f64 or s64.
  static Literal scalar(DType dtype, double value);
  static Literal scalar(DType dtype, int64_t value);
  // An array whose bytes the caller fills.
  static Literal uninitialised(const Shape& shape);
  // An array that uses `bytes` (row-major, at least byte_size()) without a copy; `owner` keeps them
  // alive. Written to only after a copy.
  static Literal borrowed(const Shape& shape, const void* bytes, std::shared_ptr<const void> owner);
  // The `{...}` of HLO text: has a shape and no value. Reading its bytes gives zeros; evaluating it
  // is an error.
  static Literal elided(const Shape& shape);

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] bool is_valid() const { return shape_.is_valid(); }
  [[nodiscard]] bool is_tuple() const { return shape_.is_tuple(); }
  [[nodiscard]] bool is_elided() const;  // this or, in a tuple, any element
  [[nodiscard]] int64_t byte_size() const { return shape_.byte_size(); }
  [[nodiscard]] int64_t element_count() const { return shape_.element_count(); }

  // Of an array: its bytes. mutable_bytes() first makes them this literal's own; its pointer is for
  // writing until the literal is copied, hashed or read by another thread.
  [[nodiscard]] const std::byte* bytes() const;
  [[nodiscard]] std::byte* mutable_bytes();
  // No other literal shares the bytes, and they are not borrowed: writing costs no copy.
  [[nodiscard]] bool is_unique() const;
  // Both are arrays on one memory. False of one that was moved from.
  [[nodiscard]] bool shares_bytes(const Literal& other) const {
    return storage_ != nullptr && storage_ == other.storage_;
  }
  // What keeps the bytes alive; for lending them to a device.
  [[nodiscard]] std::shared_ptr<const void> owner() const { return storage_; }

  // Elements as their native type. Those of a literal that is about to go hold its memory, so that
  // `for (float x : tensor.to_literal().values<float>())` reads what is there.
  // errors: throws std::invalid_argument where T is not as wide as the dtype's storage
  template <class T>
  [[nodiscard]] std::span<const T> values() const& {
    require_width(sizeof(T));
    return {reinterpret_cast<const T*>(bytes()), static_cast<size_t>(element_count())};
  }
  template <class T>
  [[nodiscard]] HeldValues<T> values() && {
    return HeldValues<T>(std::move(*this));
  }
  template <class T>
  [[nodiscard]] std::span<T> mutable_values() & {
    require_width(sizeof(T));
    return {reinterpret_cast<T*>(mutable_bytes()), static_cast<size_t>(element_count())};
  }

  // Element at a row-major position as a number; complex: the real part. For tests, printing and
  // small indices, not for loops.
  [[nodiscard]] double to_double(int64_t position) const;
  [[nodiscard]] int64_t to_int64(int64_t position) const;

  // Of a tuple.
  [[nodiscard]] const std::vector<Literal>& elements() const& { return elements_; }
  [[nodiscard]] std::vector<Literal> elements() && { return std::move(elements_); }
  [[nodiscard]] std::vector<Literal>& mutable_elements() { return elements_; }
  [[nodiscard]] const Literal& element(int64_t i) const& {
    return elements_[static_cast<size_t>(i)];
  }
  [[nodiscard]] Literal element(int64_t i) && {
    return std::move(elements_[static_cast<size_t>(i)]);
  }

  // The same bytes under another shape of as many bytes; no copy.
  // errors: throws std::invalid_argument for another number of bytes
  [[nodiscard]] Literal reshaped(Shape shape) &&;
  [[nodiscard]] Literal reshaped(Shape shape) const&;

  // Same type and the same bytes (NaN equals a NaN of the same bits; -0 differs from +0).
  friend bool operator==(const Literal& a, const Literal& b);
  // A hash of the type and the bytes. That of many bytes is computed once, whoever shares them.
  friend void hash_value(base::Hasher& hasher, const Literal& literal);

 private:
  struct Storage;
  void write(const void* data, size_t size_bytes);
  void require_width(size_t bytes) const;
  void hash_bytes(base::Hasher& hasher) const;

  Shape shape_;
  std::shared_ptr<Storage> storage_;  // null: of a tuple, a token or nothing
  std::vector<Literal> elements_;
};

// The elements of a literal that nobody else holds: a range of const T in one piece.
template <class T>
class HeldValues {
 public:
  using value_type = T;
  using iterator = const T*;
  using const_iterator = const T*;

  explicit HeldValues(Literal literal)
      : literal_(std::move(literal)), values_(std::as_const(literal_).template values<T>()) {}
  // A copy shares the memory.
  HeldValues(const HeldValues& other) : HeldValues(other.literal_) {}
  HeldValues& operator=(const HeldValues&) = delete;
  ~HeldValues() = default;

  [[nodiscard]] const T* begin() const { return data(); }
  [[nodiscard]] const T* end() const { return data() + size(); }
  [[nodiscard]] const T* data() const { return values_.data(); }
  [[nodiscard]] size_t size() const { return values_.size(); }
  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] const T& operator[](size_t i) const { return values_[i]; }
  [[nodiscard]] const T& front() const { return values_.front(); }
  [[nodiscard]] const T& back() const { return values_.back(); }

 private:
  Literal literal_;
  std::span<const T> values_;  // its memory does not move with it
};

}  // namespace heddle
