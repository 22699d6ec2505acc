// Slot: a rule of an op, or the reason for having none.
#pragma once

namespace heddle::hlo {

// Why a slot has no rule.
struct No {
  const char* reason;
};

// A rule or the reason for having none.
template <class Fn>
class Slot {
 public:
  constexpr Slot(Fn rule) : rule_(rule) {}
  constexpr Slot(No no) : reason_(no.reason) {}
  constexpr explicit operator bool() const { return rule_ != nullptr; }
  [[nodiscard]] constexpr Fn rule() const { return rule_; }
  [[nodiscard]] constexpr const char* reason() const { return reason_; }

 private:
  Fn rule_ = nullptr;
  const char* reason_ = "";
};

}  // namespace heddle::hlo
