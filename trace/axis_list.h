// AxisList: the axes that a function goes over: a list, or all that there are.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/base/containers/ints.h"

namespace heddle {

// {0, -1} and a vector are those axes, 0 is that one, and {} is none, as numpy's () is; kAllAxes is
// all of them, whatever the rank. Negative axes count from the end.
class AxisList {
 public:
  struct All {};
  AxisList() : axes_(std::in_place) {}  // {}
  AxisList(All) {}
  template <class A, class B, class... More>  // in braces
  requires base::AllInts<A, B, More...> AxisList(A a, B b, More... more)
      : axes_(base::Ints(a, b, more...).list()) {}
  template <class Axes>  // a vector or another range of integers, or one axis
  requires std::is_convertible_v<const Axes&, base::Ints> AxisList(const Axes& axes)
      : axes_(base::Ints(axes).list()) {}

  [[nodiscard]] bool is_all() const { return !axes_; }
  // The list; every axis of an array of that rank where it is all.
  [[nodiscard]] std::vector<int64_t> of_rank(int64_t rank) const {
    if (axes_) return *axes_;
    std::vector<int64_t> all;
    for (int64_t i = 0; i < rank; ++i) all.push_back(i);
    return all;
  }
  // errors: std::bad_optional_access where it is all
  [[nodiscard]] const std::vector<int64_t>& list() const { return axes_.value(); }

 private:
  std::optional<std::vector<int64_t>> axes_;  // none: all
};
inline constexpr AxisList::All kAllAxes;

}  // namespace heddle
