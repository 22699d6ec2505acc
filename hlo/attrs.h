// Attrs: the attributes of one instruction, of whichever struct its opcode has in opcodes.def.
// Copies, compares and hashes by value.
#pragma once

#include <memory>
#include <utility>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/opcode.h"

namespace heddle::hlo {

class Attrs {
 public:
  Attrs() = default;  // NoAttrs, at no cost

  template <class T>
  requires HasFields<T> Attrs(
      T value) {  // implicit: builder.add(Opcode::kIota, {}, IotaAttrs{.iota_dimension = 1})
    if constexpr (!std::is_same_v<T, NoAttrs>)
      held_ = std::make_unique<Holder<T>>(std::move(value));
  }
  Attrs(const Attrs& other) : held_(other.held_ ? other.held_->clone() : nullptr) {}
  Attrs(Attrs&&) noexcept = default;
  Attrs& operator=(const Attrs& other) {
    if (this != &other) held_ = other.held_ ? other.held_->clone() : nullptr;
    return *this;
  }
  Attrs& operator=(Attrs&&) noexcept = default;

  // The struct; T{} where another struct (or none) is held, so that a wrong cast reads defaults and
  // never foreign memory.
  template <class T>
  [[nodiscard]] const T& get() const {
    static const T kDefault{};
    if (!held_ || held_->tag() != tag_of<T>()) return kDefault;
    return static_cast<const Holder<T>*>(held_.get())->value;
  }
  template <class T>
  [[nodiscard]] bool holds() const {
    if constexpr (std::is_same_v<T, NoAttrs>) return held_ == nullptr;
    return held_ && held_->tag() == tag_of<T>();
  }

  friend bool operator==(const Attrs& a, const Attrs& b) {
    if (!a.held_ || !b.held_) return !a.held_ && !b.held_;
    return a.held_->tag() == b.held_->tag() && a.held_->equals(*b.held_);
  }
  friend void hash_value(base::Hasher& hasher, const Attrs& attrs) {
    if (attrs.held_) attrs.held_->hash(hasher);
  }

 private:
  using Tag = const void*;
  template <class T>
  static Tag tag_of() {
    static constexpr char kTag = 0;
    return &kTag;
  }
  struct Base {
    virtual ~Base() = default;
    [[nodiscard]] virtual Tag tag() const = 0;
    [[nodiscard]] virtual std::unique_ptr<Base> clone() const = 0;
    [[nodiscard]] virtual bool equals(const Base& other) const = 0;
    virtual void hash(base::Hasher& hasher) const = 0;
  };
  template <class T>
  struct Holder final : Base {
    explicit Holder(T v) : value(std::move(v)) {}
    [[nodiscard]] Tag tag() const override { return tag_of<T>(); }
    [[nodiscard]] std::unique_ptr<Base> clone() const override {
      return std::make_unique<Holder>(value);
    }
    [[nodiscard]] bool equals(const Base& other) const override {
      return value == static_cast<const Holder&>(other).value;
    }
    void hash(base::Hasher& hasher) const override { hash_value(hasher, value); }
    T value;
  };

  std::unique_ptr<Base> held_;
};

// True if `attrs` holds the struct that opcodes.def gives `opcode`.
bool fits(Opcode opcode, const Attrs& attrs);

// Calls visit(const Struct&) with the struct that opcodes.def gives `opcode`.
template <class Visit>
decltype(auto) visit_attrs(Opcode opcode, const Attrs& attrs, Visit&& visit) {
  switch (opcode) {
#define HEDDLE_OP(enumerator, text, Struct, operands, called, traits) \
  case Opcode::enumerator:                                            \
    return visit(attrs.get<Struct>());
#include "heddle/hlo/opcodes.def"
#undef HEDDLE_OP
  }
  return visit(attrs.get<NoAttrs>());
}

}  // namespace heddle::hlo
