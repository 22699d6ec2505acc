// AxisList: the axes that a function goes over: a list, or all that there are.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <vector>

#include "heddle/base/ints.h"

namespace heddle {

// {0, -1} and a vector are those axes, 0 is that one, and {} is none, as numpy's () is; kAllAxes is
// all of them, whatever the rank. Negative axes count from the end. There is no default
// constructor, so that `.axes = {}` is the empty list.
class AxisList {
 public:
  struct All {};
  AxisList(All) {}
  AxisList(std::initializer_list<base::Int> axes) : axes_(base::Ints(axes).list()) {}
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
