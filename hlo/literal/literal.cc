#include "heddle/hlo/literal/literal.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

#include "heddle/base/containers/sole_owner.h"
#include "heddle/base/system/pool.h"
#include "heddle/base/text/strings.h"
#include "heddle/hlo/literal/array_memory.h"
#include "heddle/hlo/literal/blocks.h"

namespace heddle {

struct Literal::Storage {
  static constexpr size_t kAlignment = 64;
  const std::byte* data = nullptr;
  std::byte* own = nullptr;  // aligned, in `block`; or null where the bytes are borrowed
  void* block = nullptr;
  size_t block_bytes = 0;
  std::shared_ptr<const void> lender;  // keeps borrowed bytes alive
  bool elided = false;
  base::LazyHash hash;  // of the bytes, where they are many and its own

  // Aligned here: aligned_alloc() is three times slower than malloc() for the few bytes of a loop's
  // scalars.
  explicit Storage(size_t size_bytes)
      : block(allocate_block(size_bytes + kAlignment)), block_bytes(size_bytes + kAlignment) {
    const auto address = reinterpret_cast<uintptr_t>(block);
    own = static_cast<std::byte*>(block) + (kAlignment - address % kAlignment) % kAlignment;
    data = own;
  }
  Storage(const void* bytes, std::shared_ptr<const void> owner)
      : data(static_cast<const std::byte*>(bytes)), lender(std::move(owner)) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage() { free_block(block, block_bytes); }
};

Literal::Literal(const Literal&) = default;
Literal& Literal::operator=(const Literal&) = default;

Literal::Literal(Shape shape) : shape_(std::move(shape)) {
  if (shape_.is_array()) {
    storage_ = base::make_pooled<Storage>(static_cast<size_t>(byte_size()));
    std::memset(storage_->own, 0, static_cast<size_t>(byte_size()));
  }
  for (const Shape& element : shape_.elements()) elements_.emplace_back(element);
}

Literal Literal::tuple(std::vector<Literal> elements, const Shape& likely) {
  Literal out;
  if (likely.is_tuple() && std::ranges::equal(elements, likely.elements(), {}, &Literal::shape)) {
    out.shape_ = likely;
  } else {
    std::vector<Shape> shapes;
    shapes.reserve(elements.size());
    for (const Literal& element : elements) shapes.push_back(element.shape());
    out.shape_ = Shape::tuple(std::move(shapes));
  }
  out.elements_ = std::move(elements);
  return out;
}

Literal Literal::uninitialised(const Shape& shape) {
  Literal out;
  out.shape_ = shape;
  out.storage_ = base::make_pooled<Storage>(static_cast<size_t>(shape.byte_size()));
  return out;
}

Literal Literal::scalar(DType dtype, double value) {
  Literal out = uninitialised(Shape::scalar(dtype));
  store(dtype, &value, 1, out.storage_->own);
  return out;
}

Literal Literal::scalar(DType dtype, int64_t value) {
  Literal out = uninitialised(Shape::scalar(dtype));
  store(dtype, &value, 1, out.storage_->own);
  return out;
}

Literal Literal::borrowed(const Shape& shape, const void* bytes,
                          std::shared_ptr<const void> owner) {
  Literal out;
  out.shape_ = shape;
  out.storage_ = base::make_pooled<Storage>(bytes, std::move(owner));
  return out;
}

// Zeros are not allocated: the text may claim terabytes.
Literal Literal::elided(const Shape& shape) {
  Literal out;
  out.shape_ = shape;
  out.storage_ = base::make_pooled<Storage>(nullptr, nullptr);
  out.storage_->elided = true;
  return out;
}

bool Literal::is_elided() const {
  if (storage_ && storage_->elided) return true;
  for (const Literal& element : elements_) {
    if (element.is_elided()) return true;
  }
  return false;
}

namespace {

// Arrays have bytes until they are moved from.
void refuse_moved_from(const Shape& shape) {
  if (shape.is_array()) {
    throw std::logic_error(
        "Literal: was moved from and has no value; use the one that it was moved to, or copy it "
        "there");
  }
}

}  // namespace

const std::byte* Literal::bytes() const {
  if (!storage_) {
    refuse_moved_from(shape_);
    return nullptr;
  }
  if (storage_->elided) (void)const_cast<Literal*>(this)->mutable_bytes();
  return storage_->data;
}

std::byte* Literal::mutable_bytes() {
  if (is_unique()) {
    storage_->hash.reset();
    return storage_->own;
  }
  if (!storage_) refuse_moved_from(shape_);
  auto fresh = base::make_pooled<Storage>(static_cast<size_t>(byte_size()));
  if (storage_ && storage_->data != nullptr) {
    std::memcpy(fresh->own, storage_->data, static_cast<size_t>(byte_size()));
  } else {
    std::memset(fresh->own, 0, static_cast<size_t>(byte_size()));
  }
  fresh->elided = storage_ && storage_->elided;
  storage_ = std::move(fresh);
  return storage_->own;
}

bool Literal::is_unique() const {
  return storage_ != nullptr && storage_->own != nullptr && base::is_sole_owner(storage_);
}

void Literal::require_width(size_t bytes) const {
  const int64_t own = shape_.is_array() ? storage_bytes(shape_.dtype()) : 0;
  if (static_cast<int64_t>(bytes) == own) return;
  throw std::invalid_argument(base::cat("literal: values<T>() is of elements of ", bytes,
                                        " bytes; those of ", to_string(shape_), " have ", own,
                                        ": T is the native type of the dtype"));
}

void Literal::write(const void* data, size_t size_bytes) {
  if (size_bytes != static_cast<size_t>(byte_size()))
    throw std::invalid_argument(base::cat("literal: the values have ", size_bytes, " bytes; ",
                                          to_string(shape_), " has ", byte_size(),
                                          ": give one for each element"));
  if (size_bytes > 0) std::memcpy(storage_->own, data, size_bytes);
}

double Literal::to_double(int64_t position) const {
  double value = 0;
  load(shape_.dtype(), bytes() + position * storage_bytes(shape_.dtype()), 1, &value);
  return value;
}

int64_t Literal::to_int64(int64_t position) const {
  int64_t value = 0;
  load(shape_.dtype(), bytes() + position * storage_bytes(shape_.dtype()), 1, &value);
  return value;
}

Literal Literal::reshaped(Shape shape) && {
  if (shape.byte_size() != byte_size())
    throw std::invalid_argument(base::cat("literal: ", to_string(shape_), " has ", byte_size(),
                                          " bytes; must have the ", shape.byte_size(), " of ",
                                          to_string(shape)));
  Literal out = std::move(*this);
  out.shape_ = std::move(shape);
  return out;
}

Literal Literal::reshaped(Shape shape) const& { return Literal(*this).reshaped(std::move(shape)); }

bool operator==(const Literal& a, const Literal& b) {
  if (!same_type(a.shape_, b.shape_) || a.is_elided() != b.is_elided()) return false;
  if (a.is_tuple()) return a.elements_ == b.elements_;
  if (!a.shape_.is_array() || a.is_elided()) return true;
  // An empty view may have no memory at all.
  const auto size = static_cast<size_t>(a.byte_size());
  return size == 0 || std::memcmp(a.bytes(), b.bytes(), size) == 0;
}

void Literal::hash_bytes(base::Hasher& hasher) const {
  constexpr size_t kFew = 64;
  const auto size = static_cast<size_t>(byte_size());
  const std::byte* data = bytes();
  if (size <= kFew) return hasher.add_bytes(data, size);
  const auto whole = [&] {
    base::Hasher of_bytes;
    of_bytes.add_bytes(data, size);
    return of_bytes.digest();
  };
  // A lender may change what it lends.
  const bool is_own = storage_->own != nullptr;
  hash_value(hasher, is_own ? storage_->hash.get(whole) : whole());
}

void hash_value(base::Hasher& hasher, const Literal& literal) {
  hash_value(hasher, literal.shape());
  if (literal.is_tuple()) {
    hash_value(hasher, literal.elements());
  } else if (literal.shape().is_array() && !literal.is_elided()) {
    literal.hash_bytes(hasher);
  }
}

}  // namespace heddle
