// Attrs: the attributes of one instruction, of whichever struct its opcode has in opcodes.def.
// Immutable, so that copies share one struct; compares and hashes by value.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "heddle/base/system/pool.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/opcode.h"

namespace heddle::hlo {

// Which struct of attributes: the first opcode that has it in opcodes.def.
using AttrsTag = Opcode;

// Refuses to compile for what is no opcode's struct.
template <class T>
consteval AttrsTag attrs_tag() {
#define HEDDLE_OP(enumerator, text, Struct, operands, called, traits) \
  if (std::is_same_v<T, Struct>) return Opcode::enumerator;
#include "heddle/hlo/opcodes.def"
#undef HEDDLE_OP
}

class Attrs {
 public:
  Attrs() = default;  // NoAttrs, at no cost

  template <class T>
  requires HasFields<T> Attrs(
      T value) {  // implicit: builder.add(Opcode::kIota, {}, IotaAttrs{.iota_dimension = 1})
    if constexpr (!std::is_same_v<T, NoAttrs>) shared_ = new Of<T>(std::move(value));
  }
  Attrs(const Attrs& other) noexcept : shared_(other.shared_) {
    if (shared_ != nullptr) shared_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  Attrs(Attrs&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
  Attrs& operator=(const Attrs& other) noexcept { return *this = Attrs(other); }
  Attrs& operator=(Attrs&& other) noexcept {
    std::swap(shared_, other.shared_);
    return *this;
  }
  ~Attrs() {
    if (shared_ != nullptr && shared_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete shared_;
  }

  // The struct. Another one than the instruction has is a bug in heddle and ends the process; who
  // does not know the opcode asks holds() first.
  template <class T>
  [[nodiscard]] const T& get() const {
    if (!holds<T>()) wrong_struct(attrs_tag<T>());
    if constexpr (std::is_same_v<T, NoAttrs>) {
      static constexpr NoAttrs kNone;
      return kNone;
    } else {
      return static_cast<const Of<T>*>(shared_)->value;
    }
  }
  template <class T>
  [[nodiscard]] bool holds() const {
    return tag() == attrs_tag<T>();
  }
  [[nodiscard]] AttrsTag tag() const {
    return shared_ == nullptr ? attrs_tag<NoAttrs>() : shared_->tag;
  }

  friend bool operator==(const Attrs& a, const Attrs& b) {
    return a.shared_ == b.shared_ ||
           (a.tag() == b.tag() && a.shared_ != nullptr && a.shared_->equals(*b.shared_));
  }
  friend void hash_value(base::Hasher& hasher, const Attrs& attrs) {
    if (attrs.shared_ != nullptr) attrs.shared_->hash(hasher);
  }

 private:
  struct Shared {
    explicit Shared(AttrsTag of) : tag(of) {}
    virtual ~Shared() = default;
    static void* operator new(size_t bytes) { return base::allocate_pooled(bytes); }
    static void operator delete(void* block, size_t bytes) { base::free_pooled(block, bytes); }
    [[nodiscard]] virtual bool equals(const Shared& other) const = 0;
    virtual void hash(base::Hasher& hasher) const = 0;
    const AttrsTag tag;
    mutable std::atomic<uint32_t> owners = 1;
  };
  template <class T>
  struct Of final : Shared {
    explicit Of(T v) : Shared(attrs_tag<T>()), value(std::move(v)) {}
    [[nodiscard]] bool equals(const Shared& other) const override {
      return value == static_cast<const Of&>(other).value;
    }
    void hash(base::Hasher& hasher) const override { hash_value(hasher, value); }
    const T value;
  };
  [[noreturn]] void wrong_struct(AttrsTag wanted) const;

  const Shared* shared_ = nullptr;
};

// True if `attrs` holds the struct that opcodes.def gives `opcode`.
bool fits(Opcode opcode, const Attrs& attrs);

// Calls visit(std::type_identity<Struct>()) with the struct that opcodes.def gives `opcode`.
template <class Visit>
decltype(auto) visit_struct(Opcode opcode, Visit&& visit) {
  switch (opcode) {
#define HEDDLE_OP(enumerator, text, Struct, operands, called, traits) \
  case Opcode::enumerator:                                            \
    return visit(std::type_identity<Struct>());
#include "heddle/hlo/opcodes.def"
#undef HEDDLE_OP
  }
  return visit(std::type_identity<NoAttrs>());
}

// Calls visit(const Struct&) with the attributes, which fit `opcode`.
template <class Visit>
decltype(auto) visit_attrs(Opcode opcode, const Attrs& attrs, Visit&& visit) {
  return visit_struct(opcode, [&]<class Struct>(std::type_identity<Struct>) -> decltype(auto) {
    return visit(attrs.get<Struct>());
  });
}

}  // namespace heddle::hlo
